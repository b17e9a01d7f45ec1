/*
 * Many messages and saved bytes that nobody would send or save, for sanitizers to look at.
 *
 * words[1] says how many, words[2] with which seed. Whatever comes, a device has a model that can
 * travel, keeps no more updates than it may, and what it sends has the length of a message.
 */
#include "paofed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct paofed device;
static struct paofed_number numbers[3] = {
    {0.0f, 1.0f, -9.0f, 9.0f}, {0.5f, 2.0f, -9.0f, 9.0f}, {1.0f, 4.0f, -99.0f, 99.0f}};
static float table[16];
#if PAOFED_TRANSFORMS
/* The second input is the time; the target is looked back at. */
static const struct paofed_column columns[3] = {
    {.kind = PAOFED_CYCLIC, .scale = 3.0},
    {.logarithm = 1u, .place = 2u, .lag = 2u, .scale = 1.0},
    {.place = 2u, .scale = 4.0}};
static const uint16_t remembered[1] = {2u};
static const struct paofed_seen seen = {
    .origin = 5.0, .count = 2u, .timed = true, .columns = columns, .remembered = remembered};
#endif
static struct paofed_agreed agreed = {
    .features = 8u, .shared = 3u, .inputs = 2u, .sees = 2u, .waves = 8u, .heard = 8u, .epoch = 3u,
    .max_age = 4u, .ahead = 1u, .learner = PAOFED_TWO_SPEED_LEARNER, .bits = 32u, .down_bits = 32u, .tick_ms = 1000u,
    .meaning = 1u, .fleet = 1u, .rules = 12345u, .step_size = 0.5f, .bound = 6.0f, .forgetting = 0.9f,
    .wave_scale = 0.5f, .frequency_scale = 0.16f, .seed = {7u, 9u}, .frequencies = table,
    .phases = table, .numbers = numbers,
#if PAOFED_TRANSFORMS
    .seen = &seen,
#endif
};

static uint8_t slots[PAOFED_SLOTS][sizeof(struct paofed_kept)];
static size_t slot_size;
static uint32_t now;
static uint64_t chance;
static unsigned confirmed, replies, kept, begun, forged; /* how often it came to that */

static uint32_t random_word(void)
{
    chance = chance * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(chance >> 32);
}

static void require(bool right, const char *what)
{
    if (!right) {
        (void)printf("%s\n", what);
        exit(1);
    }
}

static uint32_t milliseconds(void *context)
{
    (void)context;
    return now;
}

static void send(void *context, const uint8_t *message, size_t size)
{
    const size_t block = paofed_block_size(agreed.shared, agreed.bits);
    const size_t over = size - (7u + block);
    const int kind = message[0] & 15;

    (void)context;
    require((message[0] >> 4) == 2, "version");
    require((kind == 2) ? (size == 6u) : ((kind == 5) ? (size == 7u)
            : ((over % (2u + block) == 0u) && (size <= PAOFED_LONGEST))), "length");
}

static bool write(void *context, unsigned slot, const void *bytes, size_t size)
{
    (void)context;
    (void)memcpy(slots[slot], bytes, size);
    slot_size = size;
    return true;
}

static bool read(void *context, unsigned slot, void *bytes, size_t size)
{
    (void)context;
    if (size > slot_size) {
        return false;
    }
    (void)memcpy(bytes, slots[slot], size);
    return true;
}

static const struct paofed_port port = {NULL, milliseconds, send, write, read};

/* A message that is nearly right, in a block of its own size. */
static void receives(void)
{
    static const uint8_t kinds[] = {0x20u, 0x21u, 0x21u, 0x22u, 0x23u, 0x23u, 0x24u, 0x11u};
    const size_t reply = 7u + paofed_block_size(agreed.shared, agreed.down_bits);
    const size_t usual = (random_word() & 1u) ? reply : 6u + 4u * agreed.features;
    const size_t size = (random_word() % 8u == 0u) ? random_word() % 64u : usual;
    uint8_t *message = malloc(size + 1u);
    int64_t merged;
    size_t i;

    require(message != NULL, "memory");
    for (i = 0u; i < size; i++) {
        const uint32_t word = random_word();

        /* The highest bytes of the values of a model, and of a reply: most are of usual size. */
        message[i + 1u] = (uint8_t)(((i % 4u == 1u) || (i % 4u == 2u)) ? word & 0x43u : word);
    }
    if (size >= 6u) {
        message[1] = kinds[random_word() % sizeof kinds];
        message[2] = (random_word() % 8u == 0u) ? message[2] : 3u;
        if (random_word() % 4u != 0u) {
            const uint32_t tick = device.clock_tick + random_word() % 5u - 2u;

            (void)memset(&message[3], 0, 4u);
            message[3] = (uint8_t)tick;
            message[4] = (uint8_t)(tick >> 8);
        }
    }
    merged = device.kept.merged;
    confirmed += paofed_receive(&device, message + 1, size);
    replies += (device.kept.merged > merged) ? 1u : 0u;
    free(message);
}

/* Text that is nearly a manifest. */
static void reads(void)
{
    static const char letters[] = "{}[]:,\"\\ 0123456789epochlinag_";
    struct paofed_manifest manifest;
    char text[80];
    size_t i;

    for (i = 0u; i < sizeof text; i++) {
        text[i] = letters[random_word() % (sizeof letters - 1u)];
    }
    if (random_word() & 1u) {
        (void)memcpy(text, "{\"epoch\":4,\"lineage\":1,\"x\":{\"", 29u);
    }
    paofed_manifest_begin(&manifest);
    paofed_manifest_read(&manifest, text, random_word() % sizeof text);
    require(!paofed_manifest_follow(&device, &manifest), "manifest");
}

/* Save a number that no device has, with a right checksum, and begin with it. */
static void forges(void)
{
    static const float numbers_of_nobody[] = {-1.0f, -0.5f, 33.0f, 1e38f, -1e38f};
    const float number = numbers_of_nobody[random_word() % 5u];

    switch (random_word() % 5u) {
    case 0: device.kept.samples = number; break;
    case 1: device.kept.square = (number < 1e30f) ? -1.0f : number; break;
    case 2: device.kept.implausible = number; break;
    case 3: device.kept.w[random_word() % agreed.features] = (number < 0.0f) ? -1e7f : 1e7f; break;
    default: device.kept.waiting = 200u; break;
    }
    (void)paofed_save(&device);
    require(!paofed_begin(&device, &agreed, &port, 3u), "forged");
    forged++;
}

static void lives(void)
{
    static const paofed_value values[] = {
        (paofed_value)0.5f, (paofed_value)-3.0f, (paofed_value)1e30f,
        (paofed_value)8.0f, (paofed_value)-1e-30f, (paofed_value)99.0f};
    paofed_value x[2];

    x[0] = values[random_word() % 6u];
    x[1] = values[random_word() % 6u];
    switch (random_word() % 7u) {
    case 0:
        (void)paofed_learn(&device, x, values[random_word() % 6u]);
        break;
    case 1:
        now += random_word() % 3000u;
        if (random_word() % 4u != 0u) { /* something to tell; otherwise it mostly reads */
            x[0] = values[0];
            x[1] = values[1];
            (void)paofed_learn(&device, x, values[3]);
        }
        (void)paofed_contact(&device);
        break;
    case 2:
        if (random_word() % 8u == 0u) {
            (void)paofed_save(&device);
        }
        break;
    case 3:
        if (random_word() % 16u == 0u) { /* a bit of what was saved turns */
            const uint32_t place = random_word();

            slots[place & 1u][(place >> 1) % sizeof slots[0]] ^= (uint8_t)(1u << (place >> 29));
            if (paofed_begin(&device, &agreed, &port, 3u)) {
                kept++;
            } else {
                begun++;
            }
        }
        break;
    case 4:
        if (random_word() % 64u == 0u) {
            forges();
        } else {
            reads();
        }
        break;
    default:
        receives();
        break;
    }
}

int main(int count, char **words)
{
    const unsigned long times = (count > 1) ? strtoul(words[1], NULL, 10) : 1000u;
    unsigned long i;
    unsigned j;

    chance = (count > 2) ? strtoul(words[2], NULL, 10) : 1u;
    if (chance % 2u == 0u) { /* values of few bits, in blocks of another length */
        agreed.bits = 5u;
        agreed.down_bits = 10u;
    }
    for (j = 0u; j < 16u; j++) {
        table[j] = (float)(random_word() % 1000u) / 1000.0f;
    }
    (void)paofed_begin(&device, &agreed, &port, 3u);
    for (i = 0u; i < times; i++) {
        lives();
        require(device.kept.waiting <= PAOFED_WAITING, "waiting");
        require(paofed_is_sane(device.kept.w, agreed.features), "model");
        for (j = 1u; j < device.kept.waiting; j++) {
            require(device.kept.updates[j - 1u].tick < device.kept.updates[j].tick, "order");
        }
    }
    (void)printf("confirmed %u replies %u kept %u begun %u forged %u restarts %u\n", confirmed,
                 replies, kept, begun, forged, (unsigned)device.restarts);
    return 0;
}
