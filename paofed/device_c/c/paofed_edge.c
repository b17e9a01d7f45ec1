/* The device's part of the protocol: what it sends, and what it makes of what it hears. */
#include "paofed.h"

#include <string.h>

enum { UPDATE = 0, REPLY = 1, HELLO = 2, MODEL = 3, REREAD = 4, READ = 5 };
enum { WIRE_VERSION = 2, LOST_AFTER = 5, ALL = (1 << PAOFED_WAITING) - 1 };
enum { AHEAD = 240 }; /* the least age byte of an answer to an update ahead of the server */

static const uint32_t LAST_TICK = 0xFFFFFFFFu;

static uint8_t *put_header(uint8_t *to, int kind, uint8_t epoch, uint32_t tick)
{
    to[0] = (uint8_t)((WIRE_VERSION << 4) | kind);
    to[1] = epoch;
    paofed_put_word(&to[2], tick);
    return &to[PAOFED_HEADER];
}

/* Return the first coordinate of the window of a tick. */
static uint32_t window(const struct paofed *device, uint32_t tick, uint32_t ahead)
{
    const struct paofed_agreed *agreed = device->agreed;
    const uint32_t features = agreed->features;
    const uint32_t further = (agreed->coordinated != 0u) ? 0u : device->kept.device % features;
    const uint32_t steps = (tick % features + ahead + further) % features;

    return agreed->shared * steps % features;
}

/* Updates that wait for confirmation. */

static void drop(struct paofed_kept *kept, unsigned place)
{
    const unsigned before = (1u << place) - 1u;
    unsigned i;

    kept->waiting--;
    for (i = place; i < kept->waiting; i++) {
        kept->updates[i] = kept->updates[i + 1u];
    }
    for (i = 0u; i < kept->waiting; i++) {
        const unsigned carried = kept->updates[i].carried;

        kept->updates[i].carried = (uint8_t)((carried & before) | ((carried >> 1) & ~before));
    }
}

/* Let a device that has joined make updates for one sweep over its model. */
void paofed_begin_sweep(struct paofed *device)
{
    const uint32_t shared = device->agreed->shared;
    const uint32_t sweep = ((uint32_t)device->agreed->features + shared - 1u) / shared;
    const uint32_t most = (uint32_t)PAOFED_MOST_NEWS;

    if (device->kept.joined != (uint8_t)PAOFED_APART) {
        device->kept.joined = (uint8_t)(PAOFED_JOINED + ((sweep < most) ? sweep : most));
    }
}

/* Drop an update that was not confirmed; a new sweep tells what it told. */
static void give_up(struct paofed *device, unsigned place)
{
    drop(&device->kept, place);
    paofed_begin_sweep(device);
}

static void stamp(struct paofed *device, uint32_t now)
{
    struct paofed_kept *kept = &device->kept;
    const struct paofed_agreed *agreed = device->agreed;
    struct paofed_update *update;

    if (kept->waiting == (uint8_t)PAOFED_WAITING) {
        give_up(device, 0u);
    }
    update = &kept->updates[kept->waiting];
    kept->waiting++;
    kept->stamped = (int64_t)now;
    kept->joined--;
    update->tick = now;
    update->left = now;
    update->level = paofed_level(device);
    update->carried = (uint8_t)ALL;
    paofed_write_block(device, now, window(device, now, agreed->ahead), update->block);
}

/* Time. */

static uint32_t ticks_since(const struct paofed *device, uint32_t *since)
{
    const uint32_t passed = device->port->milliseconds(device->port->context) - *since;
    const uint32_t ticks = (passed < 0x80000000u) ? passed / device->agreed->tick_ms : 0u;

    *since += ticks * device->agreed->tick_ms;
    return ticks;
}

/* Read the clock, and move the tick and the doubt on by the time that has passed. */
static void pass_time(struct paofed *device)
{
    uint32_t ticks;

    if (device->has_clock) {
        ticks = ticks_since(device, &device->clock_ms);
        device->clock_tick += (ticks < LAST_TICK - device->clock_tick)
            ? ticks : LAST_TICK - device->clock_tick;
    }
    if (device->doubt_left > 0u) {
        ticks = ticks_since(device, &device->doubt_ms);
        device->doubt_left -= (ticks < device->doubt_left) ? ticks : device->doubt_left;
    }
}

int64_t paofed_tick(struct paofed *device)
{
    pass_time(device);
    return device->has_clock ? (int64_t)device->clock_tick : -1;
}

/* Set the clock, also back: no update has left later than now. */
static void set_clock(struct paofed *device, uint32_t tick)
{
    struct paofed_kept *kept = &device->kept;
    unsigned i;

    device->has_clock = true;
    device->clock_tick = tick;
    device->clock_ms = device->port->milliseconds(device->port->context);
    for (i = 0u; i < kept->waiting; i++) {
        kept->updates[i].left = (kept->updates[i].left < tick) ? kept->updates[i].left : tick;
    }
}

static void follow_clock(struct paofed *device, uint32_t tick)
{
    if ((int64_t)tick > paofed_tick(device)) {
        set_clock(device, tick);
    }
}

static bool is_lost(const struct paofed *device)
{
    const uint32_t most = (uint32_t)device->agreed->max_age + (uint32_t)LOST_AFTER;

    return !device->has_clock || (device->unanswered > most);
}

/* What goes up. */

static void send_hello(struct paofed *device)
{
    uint8_t message[PAOFED_HEADER];

    (void)put_header(message, HELLO, device->kept.epoch, 0u);
    device->port->send(device->port->context, message, sizeof message);
}

static void send_read(struct paofed *device)
{
    uint8_t message[PAOFED_HEADER + 1];

    *put_header(message, READ, device->kept.epoch, 0u) = paofed_level(device);
    device->port->send(device->port->context, message, sizeof message);
}

static void send_updates(struct paofed *device, uint32_t now)
{
    struct paofed_kept *kept = &device->kept;
    const struct paofed_agreed *agreed = device->agreed;
    const size_t size = paofed_block_size(agreed->shared, agreed->bits);
    const unsigned last = kept->waiting - 1u;
    struct paofed_update *head = &kept->updates[last];
    unsigned carried = 1u << last;
    uint8_t message[PAOFED_LONGEST];
    uint8_t *end = put_header(message, UPDATE, kept->epoch, head->tick);
    unsigned i;

    end[0] = head->level;
    (void)memcpy(&end[1], head->block, size);
    end += 1u + size;
    for (i = 0u; i < last; i++) {
        struct paofed_update *update = &kept->updates[i];

        if ((int64_t)now - (int64_t)update->left >= (int64_t)device->patience) {
            update->left = now;
            carried |= (device->doubt_left > 0u) ? 0u : 1u << i;
            end[0] = (uint8_t)(head->tick - update->tick);
            end[1] = update->level;
            (void)memcpy(&end[2], update->block, size);
            end += 2u + size;
        }
    }
    /* A reply names the first update of the message it answers, and several messages may begin with
     * the same update: it confirms only the updates that all of them carried. */
    head->carried = (uint8_t)(head->carried & carried);
    device->port->send(device->port->context, message, (size_t)(end - message));
}

bool paofed_contact(struct paofed *device)
{
    struct paofed_kept *kept = &device->kept;
    const int64_t now = paofed_tick(device);

    if (is_lost(device) || (kept->joined == (uint8_t)PAOFED_APART)) {
        device->unanswered++;
        send_hello(device);
        return true;
    }
    while ((kept->waiting > 0u)
           && (now - (int64_t)kept->updates[0].tick > (int64_t)device->agreed->max_age)) {
        give_up(device, 0u); /* too old: the server would drop this update */
    }
    if ((kept->joined > (uint8_t)PAOFED_JOINED) && (now > kept->stamped)) {
        stamp(device, (uint32_t)now);
    }
    if ((kept->waiting == 0u) && (now <= kept->merged)) {
        return false;
    }
    device->unanswered++;
    if (kept->waiting == 0u) {
        send_read(device);
    } else {
        send_updates(device, (uint32_t)now);
    }
    return true;
}

/* What comes down. */

static unsigned confirm(struct paofed *device, int64_t tick, uint8_t age)
{
    struct paofed_kept *kept = &device->kept;
    const int64_t answers = tick - ((age < (uint8_t)AHEAD) ? (int64_t)age : (int64_t)age - 256);
    const int64_t oldest = tick - (int64_t)device->agreed->max_age;
    unsigned carried = 0u;
    unsigned confirmed = 0u;
    unsigned i;

    for (i = 0u; i < kept->waiting; i++) {
        if ((int64_t)kept->updates[i].tick == answers) {
            carried = kept->updates[i].carried;
        }
    }
    for (i = kept->waiting; i > 0u; i--) {
        const bool safe = (int64_t)kept->updates[i - 1u].tick >= oldest;

        if (safe && ((carried & (1u << (i - 1u))) != 0u)) {
            device->confirmed[confirmed] = kept->updates[i - 1u].tick;
            confirmed++;
            drop(kept, i - 1u);
        }
    }
    return confirmed;
}

static void take(struct paofed *device, uint32_t coordinate, float value)
{
    device->kept.w[coordinate] = value;
#if PAOFED_TWO_SPEED
    device->kept.lead[coordinate] = 0.0f;
#endif
}

static unsigned reply(struct paofed *device, uint32_t tick, const uint8_t *body)
{
    const struct paofed_agreed *agreed = device->agreed;
    uint32_t coordinate = window(device, tick, 0u);
    unsigned confirmed;
    uint16_t i;

    device->unanswered = 0u;
    confirmed = confirm(device, (int64_t)tick, body[0]);
    if ((int64_t)tick > device->kept.merged) {
        for (i = 0u; i < agreed->shared; i++) {
            if (coordinate < agreed->heard) {
                take(device, coordinate, paofed_value_at(&body[1], i, agreed->down_bits));
            }
            coordinate++;
            coordinate = (coordinate == agreed->features) ? 0u : coordinate;
        }
        device->kept.merged = (int64_t)tick;
        if (body[0] >= (uint8_t)AHEAD) { /* made in a tick that the server has not come to */
            set_clock(device, tick);
        }
    }
    follow_clock(device, tick);
    return confirmed;
}

/* Set the clock of a device that was lost: only here may ticks be used again. */
static void set_back(struct paofed *device, uint32_t tick)
{
    struct paofed_kept *kept = &device->kept;
    unsigned i;

    set_clock(device, tick);
    device->doubt_left = device->doubt;
    device->doubt_ms = device->clock_ms;
    kept->stamped = (kept->stamped < (int64_t)tick) ? kept->stamped : (int64_t)tick;
    kept->merged = (kept->merged < (int64_t)tick) ? kept->merged : (int64_t)tick;
    for (i = kept->waiting; i > 0u; i--) {
        if (kept->updates[i - 1u].tick > tick) {
            give_up(device, i - 1u);
        }
    }
}

static void whole_model(struct paofed *device, uint32_t tick, const uint8_t *body)
{
    const bool lost = is_lost(device);
    uint16_t j;

    device->unanswered = 0u;
    if (lost) {
        set_back(device, tick);
    }
    if (device->kept.joined == (uint8_t)PAOFED_APART) {
        for (j = 0u; j < device->agreed->features; j++) {
            take(device, j, paofed_value_at(body, j, (uint8_t)PAOFED_PLAIN));
        }
        device->kept.joined = (uint8_t)PAOFED_JOINED;
    }
    follow_clock(device, tick);
}

unsigned paofed_receive(struct paofed *device, const uint8_t *message, size_t size)
{
    const struct paofed_agreed *agreed = device->agreed;
    const uint8_t *body;
    uint32_t tick;
    int kind;

    if ((size < (size_t)PAOFED_HEADER) || ((message[0] >> 4) != WIRE_VERSION)) {
        return 0u;
    }
    kind = message[0] & 15;
    tick = paofed_word_at(&message[2]);
    body = &message[PAOFED_HEADER];
    size -= (size_t)PAOFED_HEADER;
    if ((kind == REREAD) && (size == 0u) && (tick == 0u)) {
        device->outdated = device->outdated || (message[1] != device->kept.epoch);
    }
    if (message[1] != device->kept.epoch) {
        return 0u;
    }
    if ((kind == REPLY) && (size == 1u + paofed_block_size(agreed->shared, agreed->down_bits))
        && paofed_block_is_sane(&body[1], agreed->shared, agreed->down_bits)) {
        return reply(device, tick, body);
    }
    if ((kind == MODEL) && (size == 4u * (size_t)agreed->features)
        && paofed_block_is_sane(body, agreed->features, (uint8_t)PAOFED_PLAIN)) {
        whole_model(device, tick, body);
    }
    return 0u;
}
