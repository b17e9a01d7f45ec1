/* What survives a power cut, and what a device keeps when the fleet agrees on something else. */
#include "paofed.h"

#include <string.h>

static const uint32_t MARK = 0x70616F32u; /* the size of struct paofed_kept is added to it */

/* Return the CRC-32 of bytes that follow others with the checksum `sum`; 0: none before. */
uint32_t paofed_checksum(uint32_t sum, const void *bytes, size_t size)
{
    const uint8_t *byte = bytes;
    size_t i;
    int bit;

    sum = ~sum;
    for (i = 0u; i < size; i++) {
        sum ^= byte[i];
        for (bit = 0; bit < 8; bit++) {
            sum = (sum >> 1) ^ (((sum & 1u) != 0u) ? 0xEDB88320u : 0u);
        }
    }
    return ~sum;
}

static uint32_t checksum(const struct paofed_kept *kept)
{
    const size_t from = offsetof(struct paofed_kept, sequence);

    return paofed_checksum(0u, (const uint8_t *)kept + from, sizeof *kept - from);
}

static uint32_t mark(void)
{
    return MARK + (uint32_t)sizeof(struct paofed_kept);
}

bool paofed_save(struct paofed *device)
{
    struct paofed_kept *kept = &device->kept;
    bool written;

    kept->mark = mark();
    kept->sequence++;
    kept->sum = checksum(kept);
    written = device->port->write(device->port->context, kept->sequence & 1u, kept, sizeof *kept);
    if (!written) {
        kept->sequence--; /* write this slot again next time: the other has the last save */
    }
    return written;
}

/* Read a slot into the device; return whether the slot is whole. */
static bool load(struct paofed *device, unsigned slot)
{
    struct paofed_kept *kept = &device->kept;

    return device->port->read(device->port->context, slot, kept, sizeof *kept)
        && (kept->mark == mark()) && (kept->sum == checksum(kept));
}

/* Return the slot that was written last; if that was cut off, the other one is whole. */
static unsigned newest_slot(const struct paofed_port *port)
{
    uint32_t headers[PAOFED_SLOTS][3] = {{0u, 0u, 0u}, {0u, 0u, 0u}}; /* mark, sum, sequence */
    unsigned i;

    for (i = 0u; i < (unsigned)PAOFED_SLOTS; i++) {
        if (!port->read(port->context, i, headers[i], sizeof headers[i])
            || (headers[i][0] != mark())) {
            return 1u - i;
        }
    }
    return (headers[1][2] - headers[0][2] < 0x80000000u) ? 1u : 0u;
}

static void forget(struct paofed *device)
{
    device->unanswered = 0u;
    device->restarts = 0u;
    device->passed_over = 0u;
#if PAOFED_PAST > 0
    device->unknown_past = 0u;
#endif
    device->doubt_left = 0u;
    device->has_clock = false;
    device->outdated = false;
}

static void begin_level(struct paofed_kept *kept)
{
    kept->samples = 0.0f;
    kept->square = 0.0f;
    kept->implausible = 0.0f;
}

static bool is_within(float value, float most)
{
    return (value >= 0.0f) && (value <= most); /* false for NaN */
}

/* Whether a device can have saved this; the checksum is right wherever somebody made a new one. */
static bool is_possible(const struct paofed_kept *kept)
{
    return (kept->waiting <= (uint8_t)PAOFED_WAITING) && is_within(kept->samples, 32.0f)
        && is_within(kept->square, 2e30f) && is_within(kept->implausible, 1.0f)
#if PAOFED_PAST > 0
        && (kept->origin >= 0.0) && (kept->origin < 5e10)
#endif
        && paofed_is_sane(kept->w, PAOFED_FEATURES);
}

/* Remember which agreement the kept values belong to. */
static void note_agreed(struct paofed *device)
{
    struct paofed_kept *kept = &device->kept;
    const struct paofed_agreed *agreed = device->agreed;

    kept->fleet = agreed->fleet;
    kept->rules = agreed->rules;
    kept->meaning = agreed->meaning;
    kept->learner = agreed->learner;
}

/* `sequence` is that of the newest slot, of whatever device; the next save must be newer. */
static void begin_anew(struct paofed *device, uint32_t number, uint32_t sequence)
{
    struct paofed_kept *kept = &device->kept;

    (void)memset(kept, 0, sizeof *kept);
    note_agreed(device);
    kept->sequence = sequence;
    kept->device = number;
    kept->lineage = device->agreed->lineage;
    kept->epoch = device->agreed->epoch;
    kept->merged = -1;
    kept->stamped = -1;
    paofed_begin_learning(device);
#if PAOFED_PAST > 0
    paofed_forget_past(device);
#endif
}

/* Go on in another epoch; updates of earlier epochs are not sent any more. */
void paofed_go_on(struct paofed *device, uint8_t epoch, uint32_t lineage)
{
    struct paofed_kept *kept = &device->kept;
    const struct paofed_agreed *agreed = device->agreed;
    const bool same = kept->meaning == agreed->meaning;
    const bool untold = (kept->waiting > 0u) || (kept->joined > (uint8_t)PAOFED_JOINED);

    forget(device);
    kept->waiting = 0u;
    kept->merged = -1;
    if (!same || (kept->lineage != lineage)) {
        kept->joined = (uint8_t)PAOFED_APART;
    }
    if (!same) {
        paofed_begin_learning(device);
    } else if ((kept->joined == (uint8_t)PAOFED_APART) || (kept->learner != agreed->learner)) {
        paofed_forget_errors(device);
    } else {
        /* The model is the same, so its errors still say what is usual. */
    }
    if (kept->joined == (uint8_t)PAOFED_APART) {
        begin_level(kept);
    } else if (untold) {
        paofed_begin_sweep(device);
    } else {
        /* The server has all that was learned. */
    }
#if PAOFED_PAST > 0
    paofed_forget_past(device); /* ticks may begin at other times now */
#endif
    note_agreed(device);
    kept->epoch = epoch;
    kept->lineage = lineage;
}

void paofed_adopt(struct paofed *device, const struct paofed_agreed *agreed)
{
    device->agreed = agreed;
    paofed_go_on(device, agreed->epoch, agreed->lineage);
}

/* Whether the header is newer than what was saved; epochs begin again after 255. */
static bool is_news(const struct paofed_kept *kept, const struct paofed_agreed *agreed)
{
    const uint8_t later = (uint8_t)(agreed->epoch - kept->epoch);

    return (kept->rules != agreed->rules) || ((later > 0u) && (later < 128u));
}

bool paofed_begin(struct paofed *device, const struct paofed_agreed *agreed,
                  const struct paofed_port *port, uint32_t number)
{
    struct paofed_kept *kept = &device->kept;
    const unsigned slot = newest_slot(port);
    bool found;
    unsigned i;

    device->agreed = agreed;
    device->port = port;
    device->patience = 1u;
    device->doubt = 256u;
    device->clock_tick = 0u;
    device->clock_ms = 0u;
    device->doubt_ms = 0u;
    forget(device);
    found = load(device, slot) || load(device, 1u - slot);
    if (!found || (kept->device != number) || (kept->fleet != agreed->fleet)
        || !is_possible(kept)) {
        begin_anew(device, number, found ? kept->sequence : 0u);
        return false;
    }
    for (i = 0u; i < kept->waiting; i++) {
        kept->updates[i].carried = 0u; /* what messages before the restart carried is not known */
    }
    if (is_news(kept, agreed)) {
        paofed_adopt(device, agreed);
    }
    return true;
}
