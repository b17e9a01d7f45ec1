/*
 * A device that does what it is told, line by line, and says what came of it: for tests on this
 * machine and on emulated boards. Numbers are hexadecimal words; floats are their bits.
 *
 *   A numbers...      what a fleet has agreed on, for the next B or N
 *   B k p d           power comes on: device k, patience p, doubt d        -> 1: it had been saved
 *   N d               adopts what A said, doubt d                          -> 0
 *   J text            reads a manifest, in pieces, and follows it          -> 1: it can
 *   L x... y          learns                                               -> 1: learned from
 *   P x...            predicts                                             -> bits
 *   V x...            what the model sees of inputs                        -> bits
 *   O x... y          remembers                                            -> 0
 *   W i text          what stands for a text of input i                    -> bits
 *   U                 how many samples had an unknown past                 -> number
 *   C                 contacts                                             -> message or -
 *   R bytes           receives                                             -> ticks confirmed
 *   M ms              sets the clock (also with C and R in mind)           -> 0
 *   S n               saves; only n bytes are written                      -> 1: written
 *   Q n               n saves were made before                             -> 0
 *   F                 forgets what was saved                               -> 0
 *   T t               the tick is t further on; T - loses the clock        -> 0
 *   D d               a doubt lasts d ticks                                -> 0
 *   Z                                                                      -> 1: it has the map
 *   ?                 tells                                                -> its state
 */
#define PAOFED_FLEET_HERE
#include "paofed_fleet.h" /* of one fleet, if its model sees transforms; else sizes alone */

#include "paofed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct paofed device;
static struct paofed_agreed agreed[2];
static float tables[2][PAOFED_SEEN * PAOFED_FEATURES + 2 * PAOFED_FEATURES];
static float probes[2][3 * PAOFED_FEATURES];
static struct paofed_number numbers[2][PAOFED_INPUTS + 1];
static struct paofed_linear linear[2][PAOFED_SEEN];
static uint8_t slots[PAOFED_SLOTS][sizeof(struct paofed_kept)];
static size_t slot_sizes[PAOFED_SLOTS];
static size_t most_written;
static uint32_t now;
static int next;
static char line[65536];
static char *rest;
static uint8_t sent[PAOFED_LONGEST];
static size_t sent_size;

static uint32_t milliseconds(void *context)
{
    (void)context;
    return now;
}

static void send(void *context, const uint8_t *message, size_t size)
{
    (void)context;
    (void)memcpy(sent, message, size);
    sent_size = size;
}

static bool write(void *context, unsigned slot, const void *bytes, size_t size)
{
    const size_t written = (size < most_written) ? size : most_written;

    (void)context;
    (void)memcpy(slots[slot], bytes, written);
    slot_sizes[slot] = (written > slot_sizes[slot]) ? written : slot_sizes[slot];
    return written == size;
}

static bool read(void *context, unsigned slot, void *bytes, size_t size)
{
    (void)context;
    if (slot_sizes[slot] < size) {
        return false;
    }
    (void)memcpy(bytes, slots[slot], size);
    return true;
}

static const struct paofed_port port = {NULL, milliseconds, send, write, read};

static uint32_t word(void)
{
    return (uint32_t)strtoul(rest, &rest, 16);
}

static float number(void)
{
    const uint32_t bits = word();
    float value;

    (void)memcpy(&value, &bits, sizeof value);
    return value;
}

static void floats(float *to, unsigned count)
{
    unsigned i;

    for (i = 0u; i < count; i++) {
        to[i] = number();
    }
}

/* Values of samples, which have 64 bits where the model sees transforms. */
static void values(paofed_value *to, unsigned count)
{
#if PAOFED_TRANSFORMS
    unsigned i;

    for (i = 0u; i < count; i++) {
        const uint64_t bits = strtoull(rest, &rest, 16);

        (void)memcpy(&to[i], &bits, sizeof bits);
    }
#else
    floats(to, count);
#endif
}

static unsigned long long bits_of(paofed_value value)
{
    unsigned long long found = 0u;

    (void)memcpy(&found, &value, sizeof value); /* all machines of the tests are little-endian */
    return found;
}

static unsigned long bits(float value)
{
    uint32_t found;

    (void)memcpy(&found, &value, sizeof found);
    return found;
}

/* In the order of struct paofed_agreed; each array after a word that says whether it is there. */
static void agree(struct paofed_agreed *a, int place)
{
    float *table = tables[place];

    a->features = (uint16_t)word();
    a->shared = (uint16_t)word();
    a->inputs = (uint16_t)word();
    a->sees = (uint16_t)word();
    a->waves = (uint16_t)word();
    a->heard = (uint16_t)word();
    a->epoch = (uint8_t)word();
    a->max_age = (uint8_t)word();
    a->ahead = (uint8_t)word();
    a->coordinated = (uint8_t)word();
    a->learner = (uint8_t)word();
    a->bits = (uint8_t)word();
    a->down_bits = (uint8_t)word();
    a->tick_ms = word();
    a->lineage = word();
    a->meaning = word();
    a->fleet = word();
    a->rules = word();
    a->step_size = number();
    a->bound = number();
    a->forgetting = number();
    a->wave_scale = number();
    a->constant = number();
    a->frequency_scale = number();
    a->key[0] = word();
    a->key[1] = word();
    a->seed[0] = word();
    a->seed[1] = word();
    a->frequencies = NULL;
    if (word() != 0u) {
        floats(table, (unsigned)a->sees * a->waves);
        a->frequencies = table;
    }
    a->phases = NULL;
    table += PAOFED_SEEN * PAOFED_FEATURES;
    if (word() != 0u) {
        floats(table, a->waves);
        a->phases = table;
    }
    a->start = NULL;
    table += PAOFED_FEATURES;
    if (word() != 0u) {
        floats(table, a->features);
        a->start = table;
    }
    a->linear = NULL;
    if (word() != 0u) {
        floats(&linear[place][0].low, 4u * a->sees);
        a->linear = linear[place];
    }
    (void)word();
    values(&numbers[place][0].offset, 4u * (a->inputs + 1u));
    a->numbers = numbers[place];
#if PAOFED_TRANSFORMS
    a->seen = paofed_fleet.seen;
#endif
    (void)word();
    floats(probes[place], 3u * a->features);
}

static void say_tick(int64_t tick)
{
    if (tick < 0) {
        (void)printf(" -");
    } else {
        (void)printf(" %lx", (unsigned long)tick);
    }
}

static void tell(void)
{
    const struct paofed_kept *kept = &device.kept;
    unsigned i;

    (void)printf("%x %x %x %x", (unsigned)kept->epoch, (unsigned)kept->joined,
                 (unsigned)device.outdated, (unsigned)paofed_level(&device));
    (void)printf(" %lx %lx %lx", (unsigned long)device.unanswered, (unsigned long)device.restarts,
                 (unsigned long)device.passed_over);
    say_tick(paofed_tick(&device));
    say_tick(kept->merged);
    say_tick(kept->stamped);
    (void)printf(" |");
    for (i = 0u; i < kept->waiting; i++) {
        (void)printf(" %lx", (unsigned long)kept->updates[i].tick);
    }
    (void)printf(" |");
    for (i = 0u; i < device.agreed->features; i++) {
        (void)printf(" %lx", bits(kept->w[i]));
    }
    (void)printf(" | %lx %lx %lx", bits(kept->samples), bits(kept->square),
                 bits(kept->implausible));
    for (i = 0u; i < (unsigned)PAOFED_ERRORS; i++) {
        (void)printf(" %lx", bits(kept->errors[i]));
    }
}

static void receive(void)
{
    static uint8_t message[32768];
    size_t size = 0u;
    uint8_t *exact;
    unsigned confirmed;
    unsigned i;

    while (*rest == ' ') {
        rest++;
    }
    while ((rest[0] > ' ') && (rest[1] > ' ')) {
        const char pair[3] = {rest[0], rest[1], '\0'};

        message[size] = (uint8_t)strtoul(pair, NULL, 16);
        size++;
        rest += 2;
    }
    exact = malloc(size + 1u); /* so that a byte too far is noticed */
    if (exact == NULL) {
        abort();
    }
    (void)memmove(exact + 1, message, size);
    confirmed = paofed_receive(&device, exact + 1, size);
    for (i = 0u; i < confirmed; i++) {
        (void)printf("%lx ", (unsigned long)device.confirmed[i]);
    }
    free(exact);
}

static void follow(void)
{
    struct paofed_manifest manifest;
    size_t size = strcspn(rest, "\n");
    size_t piece = 1u;

    paofed_manifest_begin(&manifest);
    while (size > 0u) {
        piece = (piece < size) ? piece : size;
        paofed_manifest_read(&manifest, rest, piece);
        rest += piece;
        size -= piece;
        piece = piece % 13u + 1u;
    }
    (void)printf("%x", (unsigned)paofed_manifest_follow(&device, &manifest));
}

static void contact(void)
{
    size_t i;

    if (!paofed_contact(&device)) {
        (void)printf("-");
        return;
    }
    for (i = 0u; i < sent_size; i++) {
        (void)printf("%02x", (unsigned)sent[i]);
    }
}

#if PAOFED_TRANSFORMS
static void say_seen(const paofed_value *x)
{
    float seen[PAOFED_SEEN];
    unsigned i;

    (void)paofed_see(&device, x, seen);
    for (i = 0u; i < device.agreed->sees; i++) {
        (void)printf("%lx ", bits(seen[i]));
    }
}

static void say_place(void)
{
    const uint16_t input = (uint16_t)word();

    rest[strcspn(rest, "\n")] = '\0';
    (void)printf("%llx", bits_of(paofed_place(device.agreed, input, rest + 1)));
}
#endif

static void obey(char command)
{
    paofed_value x[PAOFED_INPUTS];
    paofed_value y;
    uint32_t device_number;

    switch (command) {
    case 'A':
        next = 1 - next;
        agree(&agreed[next], next);
        (void)printf("0");
        break;
    case 'B':
        device_number = word();
        (void)memset(&device, 0xA5, sizeof device); /* what a memory holds when power comes on */
        (void)printf("%x", (unsigned)paofed_begin(&device, &agreed[next], &port, device_number));
        device.patience = (uint16_t)word();
        device.doubt = (uint16_t)word();
        break;
    case 'N':
        paofed_adopt(&device, &agreed[next]);
        device.doubt = (uint16_t)word();
        (void)printf("0");
        break;
    case 'J':
        follow();
        break;
    case 'L':
        values(x, device.agreed->inputs);
        values(&y, 1u);
        (void)printf("%x", (unsigned)paofed_learn(&device, x, y));
        break;
    case 'P':
        values(x, device.agreed->inputs);
        (void)printf("%llx", bits_of(paofed_predict(&device, x)));
        break;
#if PAOFED_TRANSFORMS
    case 'V':
        values(x, device.agreed->inputs);
        say_seen(x);
        break;
    case 'W':
        say_place();
        break;
#endif
#if PAOFED_PAST > 0
    case 'O':
        values(x, device.agreed->inputs);
        values(&y, 1u);
        paofed_remember(&device, x, y);
        (void)printf("0");
        break;
    case 'U':
        (void)printf("%lx", (unsigned long)device.unknown_past);
        break;
#endif
    case 'C':
        contact();
        break;
    case 'R':
        receive();
        break;
    case 'M':
        now = word();
        (void)printf("0");
        break;
    case 'S':
        most_written = word();
        (void)printf("%x", (unsigned)paofed_save(&device));
        break;
    case 'Q':
        device.kept.sequence = word();
        (void)printf("0");
        break;
    case 'F':
        slot_sizes[0] = 0u;
        slot_sizes[1] = 0u;
        (void)printf("0");
        break;
    case 'T':
        if (strchr(rest, '-') != NULL) {
            device.has_clock = false;
        } else {
            device.clock_tick += word();
        }
        (void)printf("0");
        break;
    case 'D':
        device.doubt = (uint16_t)word();
        (void)printf("0");
        break;
    case 'Z':
        (void)printf("%x", (unsigned)paofed_has_the_map(&device, probes[next]));
        break;
    default:
        tell();
        break;
    }
    (void)printf("\n");
    (void)fflush(stdout);
}

int main(int count, char **words)
{
    FILE *from = (count > 1) ? fopen(words[1], "r") : stdin;

    while ((from != NULL) && (fgets(line, sizeof line, from) != NULL)) {
        rest = &line[1];
        obey(line[0]);
    }
    return 0;
}
