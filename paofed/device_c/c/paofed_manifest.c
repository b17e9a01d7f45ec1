/*
 * Reads a manifest, JSON of any length, byte by byte.
 *
 * Most of what people do to a fleet changes epoch and lineage alone for its devices: going back,
 * restoring, other bounds of the server. Such a manifest can be followed without a new header. It
 * has the same `rules` as the header: the sum of the checksums of all its members but those below.
 */
#include "paofed.h"

#include <string.h>

/* Members that a device reads from the text, does not need, or has checked before. */
static const char *const OTHERS[] = {
    "epoch", "lineage", "from_tick", "from_time", "clip", "aside", "first_interval", "probes",
};

static bool is_key(const struct paofed_manifest *manifest, const char *name)
{
    size_t i = 0u;

    while ((name[i] != '\0') && (manifest->key[i] == name[i])) {
        i++;
    }
    return manifest->key[i] == name[i];
}

static void begin_member(struct paofed_manifest *manifest)
{
    manifest->sum = 0u;
    manifest->number = 0u;
    manifest->length = 0u;
    manifest->in_value = false;
#if PAOFED_PAST > 0
    manifest->before = 0.0;
    manifest->behind = 0.0;
    manifest->unit = 0.0;
#endif
    (void)memset(manifest->key, 0, sizeof manifest->key);
}

static void end_member(struct paofed_manifest *manifest)
{
    bool counts = true;
    size_t i;

    for (i = 0u; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
        counts = counts && !is_key(manifest, OTHERS[i]);
    }
    if (counts) {
        manifest->rules += manifest->sum;
    } else if (is_key(manifest, OTHERS[0])) {
        manifest->has_epoch = manifest->number < 256u;
        manifest->epoch = (uint8_t)(manifest->number & 0xFFu);
    } else if (is_key(manifest, OTHERS[1])) {
        manifest->has_lineage = true;
        manifest->lineage = manifest->number;
#if PAOFED_PAST > 0
    } else if (is_key(manifest, OTHERS[3])) {
        const double unit = (manifest->unit > 0.0) ? manifest->unit : 1.0;

        manifest->origin = manifest->before + manifest->behind / unit;
        manifest->has_origin = (manifest->origin > 0.0) && (manifest->origin < 5e10); /* or null */
#endif
    } else {
        /* This member is not needed. */
    }
    begin_member(manifest);
}

#if PAOFED_PAST > 0
/* Take one character of a number such as 1711846790.1234567. All 17 digits in one double would be
 * rounded before the point is set, and the number once more: so both sides of it are kept apart. */
static void take_digit(struct paofed_manifest *manifest, char c)
{
    const bool is_digit = (c >= '0') && (c <= '9');

    if (c == '.') {
        manifest->unit = 1.0;
    } else if (is_digit && !(manifest->unit > 0.0)) {
        manifest->before = 10.0 * manifest->before + (double)(c - '0');
    } else if (is_digit && (manifest->unit < 1e15)) {
        manifest->behind = 10.0 * manifest->behind + (double)(c - '0');
        manifest->unit *= 10.0;
    } else {
        /* Nothing is told by this one. */
    }
}
#endif

/* Take one byte of a key or of a value. */
static void take(struct paofed_manifest *manifest, char c, bool quoted)
{
    manifest->sum = paofed_checksum(manifest->sum, &c, 1u);
    if (manifest->in_value) {
        if ((c >= '0') && (c <= '9')) {
            manifest->number = 10u * manifest->number + (uint32_t)(c - '0');
        }
#if PAOFED_PAST > 0
        take_digit(manifest, c);
#endif
    } else if ((c == ':') && !quoted) {
        manifest->in_value = true;
    } else if ((c != '"') && (manifest->length < sizeof manifest->key - 1u)) {
        manifest->key[manifest->length] = c;
        manifest->length++;
    } else {
        /* No key that matters is so long. */
    }
}

static bool is_space(char c)
{
    return (c == ' ') || (c == '\n') || (c == '\r') || (c == '\t');
}

static void read_one(struct paofed_manifest *manifest, char c)
{
    const bool quoted = manifest->in_string;

    if (!quoted && is_space(c)) {
        return;
    }
    if (!quoted && (manifest->depth == 1u) && ((c == ',') || (c == '}'))) {
        end_member(manifest);
        if (c == '}') {
            manifest->depth = 0u;
            manifest->whole = true;
        }
        return;
    }
    if (!quoted && ((c == '{') || (c == '['))) {
        manifest->broken = manifest->broken || manifest->whole || (manifest->depth > 100u);
        manifest->depth++;
        if (manifest->depth == 1u) {
            begin_member(manifest);
            return;
        }
    }
    if (manifest->depth == 0u) {
        manifest->broken = true; /* text before or behind the object */
        return;
    }
    if (!quoted && ((c == '}') || (c == ']'))) {
        manifest->depth--;
    }
    if ((c == '"') && !manifest->escaped) {
        manifest->in_string = !quoted;
    }
    manifest->escaped = quoted && (c == '\\') && !manifest->escaped;
    take(manifest, c, quoted);
}

void paofed_manifest_begin(struct paofed_manifest *manifest)
{
    (void)memset(manifest, 0, sizeof *manifest);
}

void paofed_manifest_read(struct paofed_manifest *manifest, const char *text, size_t size)
{
    size_t i;

    for (i = 0u; (i < size) && !manifest->broken; i++) {
        read_one(manifest, text[i]);
    }
}

bool paofed_manifest_follow(struct paofed *device, const struct paofed_manifest *manifest)
{
    if (manifest->broken || !manifest->whole || !manifest->has_epoch || !manifest->has_lineage
        || (manifest->rules != device->agreed->rules)) {
        return false;
    }
    if (manifest->epoch != device->kept.epoch) {
        paofed_go_on(device, manifest->epoch, manifest->lineage);
#if PAOFED_PAST > 0
        device->kept.origin = manifest->has_origin ? manifest->origin : device->kept.origin;
#endif
    }
    device->outdated = false; /* if the server still disagrees, it will say so again */
    return true;
}
