/*
 * From a sample, as measured, to the numbers that the model sees, and back.
 *
 * Where a model sees more than scaled numbers, values have 64 bits here, as they have in the device
 * in Python: what was computed is rounded to float32 once, at the end.
 */
#include "paofed.h"

bool paofed_is_number(paofed_value value)
{
    static const paofed_value too_large = (paofed_value)3e38f;

    return (value > -too_large) && (value < too_large);
}

bool paofed_is_within(const struct paofed_number *number, paofed_value value)
{
    return paofed_is_number(value) && (value >= number->low) && (value <= number->high);
}

bool paofed_is_plausible(const struct paofed_agreed *agreed, const paofed_value *x, paofed_value y)
{
    bool plausible = paofed_is_within(&agreed->numbers[agreed->inputs], y);
    uint16_t i;

    for (i = 0u; i < agreed->inputs; i++) {
        plausible = plausible && paofed_is_within(&agreed->numbers[i], x[i]);
    }
#if PAOFED_TRANSFORMS
    for (i = 0u; i <= agreed->seen->count; i++) {
        const struct paofed_column *column = &agreed->seen->columns[i];
        const paofed_value value = (column->place < agreed->inputs) ? x[column->place] : y;

        plausible = plausible && ((column->logarithm == 0u) || (value > -1.0));
    }
#endif
    return plausible;
}

#if !PAOFED_TRANSFORMS

bool paofed_see(const struct paofed *device, const paofed_value *x, float *seen)
{
    const struct paofed_agreed *agreed = device->agreed;
    uint16_t i;

    for (i = 0u; i < agreed->inputs; i++) {
        seen[i] = (x[i] - agreed->numbers[i].offset) / agreed->numbers[i].scale;
    }
    return true;
}

float paofed_see_target(const struct paofed_agreed *agreed, paofed_value y)
{
    const struct paofed_number *target = &agreed->numbers[agreed->inputs];

    return (y - target->offset) / target->scale;
}

paofed_value paofed_measured(const struct paofed_agreed *agreed, float seen)
{
    const struct paofed_number *target = &agreed->numbers[agreed->inputs];

    return target->offset + target->scale * seen;
}

#else

enum { DIRECTIONS = 16 };

static const double DAY = 86400.0;    /* seconds */
static const double MOST_TURNS = 6e7; /* beyond, too few digits tell where in a turn a value is */

/* Return the nearest float32, or NaN where there is none. */
static float narrowed(double value)
{
    return (float)(paofed_is_number(value) ? value : paofed_missing());
}

/* Return whether a text is a name, in small or large letters if it is a direction. */
static bool is_same(const char *text, const char *name, bool any_case)
{
    size_t i;

    for (i = 0u; text[i] != '\0'; i++) {
        const bool small = any_case && (text[i] >= 'a') && (text[i] <= 'z');

        if ((small ? (char)(text[i] - 'a' + 'A') : text[i]) != name[i]) {
            return false;
        }
    }
    return name[i] == '\0';
}

/* Return the first column that is made of an input's texts, or NULL. */
static const struct paofed_column *text_column(const struct paofed_agreed *agreed, uint16_t input)
{
    uint16_t i;

    for (i = 0u; i < agreed->seen->count; i++) {
        const struct paofed_column *column = &agreed->seen->columns[i];

        if ((column->place == input)
            && ((column->kind == PAOFED_COMPASS) || (column->kind == PAOFED_ONE_HOT))) {
            return column;
        }
    }
    return NULL;
}

bool paofed_is_text(const struct paofed_agreed *agreed, uint16_t input)
{
    return text_column(agreed, input) != NULL;
}

paofed_value paofed_place(const struct paofed_agreed *agreed, uint16_t input, const char *text)
{
    static const char *const compass[DIRECTIONS] = {
        "N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE",
        "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW",
    };
    const struct paofed_column *column = text_column(agreed, input);
    const bool directions = (column != NULL) && (column->kind == PAOFED_COMPASS);
    uint16_t i;

    if ((column == NULL) || (text[0] == '\0')) {
        return paofed_missing();
    }
    for (i = 0u; i < (directions ? (uint16_t)DIRECTIONS : column->count); i++) {
        if (is_same(text, directions ? compass[i] : column->texts[i], directions)) {
            return (double)i;
        }
    }
    return directions ? paofed_missing() : -1.0; /* an unknown category is none of them */
}

/* Put sine and cosine of turns, 0 at the beginning and 1 at the end of each, into a pair. */
static void turn(double turns, float *pair)
{
    double sine = paofed_missing();
    double cosine = paofed_missing();

    if ((turns > -MOST_TURNS) && (turns < MOST_TURNS)) {
        paofed_turn(turns, &sine, &cosine);
    }
    pair[0] = narrowed(sine);
    pair[1] = narrowed(cosine);
}

/* Return the time by the clocks of a column's zone. */
static double local(const struct paofed_column *column, double time)
{
    uint16_t i = column->count;

    while ((i > 0u) && !(time >= column->clocks[i - 1u].from)) {
        i--;
    }
    return (i == 0u) ? time : time + column->clocks[i - 1u].ahead;
}

/* Return the days from 1970 to 1 January of a year above 0. */
static int64_t first_day(int64_t year)
{
    const int64_t past = year - 1;

    return 365 * (year - 1970) + past / 4 - past / 100 + past / 400 - 477; /* leap years to 1970 */
}

/* Return which part of its year a day is at, 0 on 1 January. */
static double part_of_year(int64_t day)
{
    int64_t year = 1970 + paofed_floor((double)day / 365.2425);

    while (first_day(year) > day) {
        year--;
    }
    while (first_day(year + 1) <= day) {
        year++;
    }
    return (double)(day - first_day(year)) / (double)(first_day(year + 1) - first_day(year));
}

static double part_of_week(int64_t day)
{
    const int64_t rest = (day + 3) % 7; /* 1970 began on a Thursday */

    return (double)((rest < 0) ? rest + 7 : rest) / 7.0;
}

static double part_of_day(double time)
{
    double rest = time - (double)paofed_floor(time / DAY) * DAY;

    if (rest < 0.0) { /* the quotient was rounded up */
        rest += DAY;
    }
    return rest / DAY;
}

/* Return the day of a time, counted from 1970. */
static int64_t day_of(double time)
{
    return paofed_floor(time / DAY);
}

/* Return the value of a column in the sample itself, which has no target yet. */
static double now(const struct paofed *device, const struct paofed_column *column,
                  const paofed_value *x)
{
    return (column->place < device->agreed->inputs) ? x[column->place] : paofed_missing();
}

/* Return a value or its logarithm; a value without a logarithm gives NaN. */
static double plain(const struct paofed_column *column, double value)
{
    if (column->logarithm == 0u) {
        return value;
    }
    return (value > -1.0) ? paofed_log1p(value) : paofed_missing();
}

/* Return a number, its logarithm, its lag or its difference, scaled. */
static double number(const struct paofed *device, const struct paofed_column *column,
                     const paofed_value *x)
{
    double value = plain(column, now(device, column, x));

#if PAOFED_PAST > 0
    if (column->lag > 0u) {
        const double time = x[device->agreed->inputs - 1u];
        const double then = plain(column, paofed_before(device, column, time));

        value = (column->differs != 0u) ? value - then : then;
    }
#endif
    return (value - column->offset) / column->scale;
}

/* Put the numbers of a column into `seen`; return how many these are. */
static uint16_t see_column(const struct paofed *device, const struct paofed_column *column,
                           const paofed_value *x, float *seen)
{
    const double value = now(device, column, x);
    uint16_t i;

    switch (column->kind) {
    case PAOFED_CYCLIC:
        turn(value / column->scale, seen);
        return 2u;
    case PAOFED_COMPASS:
        turn(value / (double)DIRECTIONS, seen);
        return 2u;
    case PAOFED_ONE_HOT:
        for (i = 0u; i < column->count; i++) {
            seen[i] = (value == (double)i) ? 1.0f : 0.0f;
        }
        return column->count;
    case PAOFED_HOUR:
        turn(part_of_day(local(column, value)), seen);
        return 2u;
    case PAOFED_WEEKDAY:
        turn(part_of_week(day_of(local(column, value))), seen);
        return 2u;
    case PAOFED_YEARDAY:
        turn(part_of_year(day_of(local(column, value))), seen);
        return 2u;
    default:
        seen[0] = narrowed(number(device, column, x));
        return 1u;
    }
}

/* Return whether an input is a number or a place, and the time one that calendars have. */
static bool is_complete(const struct paofed_agreed *agreed, const paofed_value *x)
{
    uint16_t i;

    for (i = 0u; i < agreed->inputs; i++) {
        if (!paofed_is_number(x[i])) {
            return false;
        }
    }
    return !agreed->seen->timed
        || paofed_is_within(&agreed->numbers[agreed->inputs - 1u], x[agreed->inputs - 1u]);
}

bool paofed_see(const struct paofed *device, const paofed_value *x, float *seen)
{
    const struct paofed_agreed *agreed = device->agreed;
    const bool complete = is_complete(agreed, x);
    float *next = seen;
    bool known = true;
    uint16_t i;

    for (i = 0u; complete && (i < agreed->seen->count); i++) {
        next += see_column(device, &agreed->seen->columns[i], x, next);
    }
    for (i = 0u; i < agreed->sees; i++) {
        seen[i] = complete ? seen[i] : narrowed(paofed_missing());
        known = known && (seen[i] == seen[i]);
    }
    return known;
}

float paofed_see_target(const struct paofed_agreed *agreed, paofed_value y)
{
    const struct paofed_column *target = &agreed->seen->columns[agreed->seen->count];

    return narrowed((plain(target, y) - target->offset) / target->scale);
}

paofed_value paofed_measured(const struct paofed_agreed *agreed, float seen)
{
    const struct paofed_column *target = &agreed->seen->columns[agreed->seen->count];
    const double value = (double)seen * target->scale + target->offset;

    return (target->logarithm != 0u) ? paofed_expm1(value) : value;
}
#endif
