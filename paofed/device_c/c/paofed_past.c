/* What is remembered of earlier ticks, for inputs that look back. */
#include "paofed.h"

#if PAOFED_PAST > 0

/* Return whether nothing of a sample is missing or no number. */
bool paofed_is_whole(const struct paofed_agreed *agreed, const paofed_value *x, paofed_value y)
{
    bool whole = paofed_is_number(y);
    uint16_t i;

    for (i = 0u; i < agreed->inputs; i++) {
        whole = whole && paofed_is_number(x[i]);
    }
    return whole;
}

/* Whether a * b is above a limit. Where the rounded product is the limit, the part that was rounded
 * away decides: it is exact, by Dekker, for factors as small as ticks and their length. */
static bool above(double a, double b, double limit)
{
    const double product = a * b;
    const double wide_a = 134217729.0 * a; /* 2^27 + 1 splits the 53 bits of a double in two */
    const double wide_b = 134217729.0 * b;
    const double high_a = wide_a - (wide_a - a);
    const double high_b = wide_b - (wide_b - b);
    const double low_a = a - high_a;
    const double low_b = b - high_b;
    const double rest =
        (((high_a * high_b) - product) + (high_a * low_b) + (low_a * high_b)) + (low_a * low_b);

    return (product > limit) || ((product >= limit) && (rest > 0.0));
}

/* Return the tick of a sample; only differences of such ticks matter. */
static int64_t tick_of(const struct paofed *device, double time)
{
    const double length = (double)device->agreed->tick_ms / 1000.0;
    const double passed = time - device->kept.origin;
    const int64_t tick = paofed_floor(passed / length);

    return above((double)tick, length, passed) ? tick - 1 : tick; /* the quotient was rounded up */
}

static unsigned place_of(int64_t tick)
{
    const int64_t rest = tick % (PAOFED_REACH + 1);

    return (unsigned)((rest < 0) ? rest + PAOFED_REACH + 1 : rest);
}

/* Return the value that a column looks back at; NaN where it is not known. */
double paofed_before(const struct paofed *device, const struct paofed_column *column, double time)
{
    const int64_t tick = tick_of(device, time) - column->lag;
    const struct paofed_past *past = &device->kept.past[place_of(tick)];

    return (past->tick == tick) ? past->values[column->past] : paofed_missing();
}

static void forget_tick(struct paofed_past *past, int64_t tick)
{
    unsigned i;

    past->tick = tick;
    for (i = 0u; i < (unsigned)PAOFED_PAST; i++) {
        past->values[i] = paofed_missing();
    }
}

void paofed_forget_past(struct paofed *device)
{
    unsigned i;

    device->kept.origin = device->agreed->seen->origin;
    for (i = 0u; i <= (unsigned)PAOFED_REACH; i++) {
        forget_tick(&device->kept.past[i], 0);
    }
}

void paofed_remember(struct paofed *device, const paofed_value *x, paofed_value y)
{
    const struct paofed_agreed *agreed = device->agreed;
    struct paofed_past *past;
    int64_t tick;
    unsigned i;

    if (!paofed_is_within(&agreed->numbers[agreed->inputs - 1u], x[agreed->inputs - 1u])) {
        return; /* this is no time */
    }
    tick = tick_of(device, x[agreed->inputs - 1u]);
    for (i = 0u; i <= (unsigned)PAOFED_REACH; i++) {
        past = &device->kept.past[i];
        if ((past->tick > tick + PAOFED_REACH) || (past->tick < tick - PAOFED_REACH)) {
            forget_tick(past, past->tick);
        }
    }
    past = &device->kept.past[place_of(tick)];
    if (past->tick != tick) {
        forget_tick(past, tick);
    }
    for (i = 0u; i < (unsigned)PAOFED_PAST; i++) {
        const uint16_t place = agreed->seen->remembered[i];
        const double value = (place == agreed->inputs) ? y : x[place];

        if (paofed_is_within(&agreed->numbers[place], value)) {
            past->values[i] = value;
        }
    }
}
#endif
