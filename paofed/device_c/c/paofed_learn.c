/* Learning and predicting: LMS, bounded steps, two speeds; and how well the device predicts. */
#include "paofed.h"

#include <string.h>

static const float LARGEST = 1e6f; /* a parameter beyond this is a fault, not a model */
static const float TOO_LARGE = 3e38f;
static const float FORGET = 1.0f / 32.0f;

bool paofed_is_sane(const float *values, uint16_t count)
{
    uint16_t j;

    for (j = 0u; j < count; j++) {
        if (!((values[j] >= -LARGEST) && (values[j] <= LARGEST))) {
            return false;
        }
    }
    return true;
}

void paofed_forget_errors(struct paofed *device)
{
    struct paofed_kept *kept = &device->kept;

    (void)memset(kept->errors, 0, sizeof kept->errors);
#if PAOFED_TWO_SPEED
    (void)memset(kept->lead, 0, sizeof kept->lead);
    (void)memset(kept->trust, 0, sizeof kept->trust);
    kept->trust[0] = 1.0f;
#endif
}

/* Begin with the model that the fleet began with. */
void paofed_begin_learning(struct paofed *device)
{
    const struct paofed_agreed *agreed = device->agreed;
    uint16_t j;

    for (j = 0u; j < agreed->features; j++) {
        device->kept.w[j] = (agreed->start == NULL) ? 0.0f : agreed->start[j];
    }
    paofed_forget_errors(device);
}

static float dot(const float *a, const float *b, uint16_t count)
{
    float sum = 0.0f;
    uint16_t j;

    for (j = 0u; j < count; j++) {
        sum += a[j] * b[j];
    }
    return sum;
}

static bool is_finite(float value)
{
    return (value > -TOO_LARGE) && (value < TOO_LARGE);
}

/* Map the inputs of a sample, as measured, into `device->z`. Returns whether all were known. */
static bool see(struct paofed *device, const paofed_value *x)
{
    float seen[PAOFED_SEEN];
    const bool known = paofed_see(device, x, seen);

    paofed_map(device->agreed, seen, device->z);
    return known;
}

paofed_value paofed_predict(struct paofed *device, const paofed_value *x)
{
    const struct paofed_agreed *agreed = device->agreed;

    (void)see(device, x);
    return paofed_measured(agreed, dot(device->kept.w, device->z, agreed->features));
}

bool paofed_has_the_map(struct paofed *device, const float *probes)
{
    const struct paofed_agreed *agreed = device->agreed;
    const float *probe = probes;
    float x[PAOFED_SEEN];
    int row;
    uint16_t j;

    for (row = -1; row <= 1; row++) {
        for (j = 0u; j < agreed->sees; j++) {
            x[j] = (float)row;
        }
        paofed_map(agreed, x, device->z);
        for (j = 0u; j < agreed->features; j++) {
            const float difference = device->z[j] - *probe;

            if (!((difference >= -1e-5f) && (difference <= 1e-5f))) {
                return false;
            }
            probe++;
        }
    }
    return true;
}

/* Return the median of the last errors, or 0 where there are none. */
static float usual_error(const float *errors)
{
    float sorted[PAOFED_ERRORS] = {0.0f};
    int count = 0;
    int i;

    for (i = 0; i < PAOFED_ERRORS; i++) {
        int place = count;

        if (errors[i] > 0.0f) {
            while ((place > 0) && (sorted[place - 1] > errors[i])) {
                sorted[place] = sorted[place - 1];
                place--;
            }
            sorted[place] = errors[i];
            count++;
        }
    }
    return (count == 0) ? 0.0f : 0.5f * (sorted[(count - 1) / 2] + sorted[count / 2]);
}

/* Return how much of an error counts; the error itself is remembered uncut. */
static float counted(struct paofed *device, float error)
{
    float *errors = device->kept.errors;
    const float size = (error < 0.0f) ? -error : error;
    float usual;
    float most;

    if ((size == 0.0f) || (device->agreed->learner == PAOFED_LMS)) {
        return error;
    }
    usual = usual_error(errors);
    most = device->agreed->bound * ((usual > 0.0f) ? usual : size);
    (void)memmove(&errors[0], &errors[1], (PAOFED_ERRORS - 1) * sizeof errors[0]);
    errors[PAOFED_ERRORS - 1] = size;
    if ((device->agreed->bound > 0.0f) && (size > most)) {
        return (error < 0.0f) ? -most : most;
    }
    return error;
}

static void note_error(struct paofed_kept *kept, float error)
{
    const float square = error * error;

    kept->samples = (kept->samples + 1.0f > 32.0f) ? 32.0f : kept->samples + 1.0f;
    kept->square += (((square > 1e30f) ? 1e30f : square) - kept->square) / kept->samples;
    kept->implausible -= FORGET * kept->implausible;
}

uint8_t paofed_level(const struct paofed *device)
{
    const struct paofed_kept *kept = &device->kept;
    const float square = (kept->square > 1e-30f) ? kept->square : 1e-30f;
    float level;

    if (kept->implausible > 1.0f / 24.0f) {
        return 255u;
    }
    if (!(kept->samples > 0.0f)) {
        return 0u;
    }
    level = 128.5f + 4.01373307f * paofed_log2(square); /* steps of 0.75 dB */
    if (level < 1.0f) {
        return 1u;
    }
    return (level >= 254.0f) ? 254u : (uint8_t)level;
}

#if PAOFED_TWO_SPEED
/* A step with a slow and a quick model; docs/live.md has the equations under "Other learners". */
static void two_speed_step(struct paofed *device, float error)
{
    struct paofed_kept *kept = &device->kept;
    const struct paofed_agreed *agreed = device->agreed;
    const uint16_t features = agreed->features;
    const float *z = device->z;
    float *trust = kept->trust;
    const float believed = trust[0];
    const float ahead = dot(kept->lead, z, features);
    const float missing = error + believed * ahead;
    const float slow_step = agreed->step_size * missing;
    const float norm = dot(z, z, features);
    const float quick_step = (missing - ahead) / ((norm > 1e-12f) ? norm : 1e-12f) - slow_step;
    float best;
    float part;
    uint16_t j;

    trust[1] = 0.99f * trust[1] + missing * ahead;
    trust[2] = 0.99f * trust[2] + ahead * ahead;
    trust[3] = 0.99f * trust[3] + 1.0f;
    best = (trust[2] > 0.0f) ? trust[1] / trust[2] : 1.0f;
    part = (trust[3] * best + 4.0f) / (trust[3] + 4.0f);
    part = (part > 0.0f) ? part : 0.0f;
    trust[0] = (part < 1.0f) ? part : 1.0f;
    for (j = 0u; j < features; j++) {
        const float slow = kept->w[j] - believed * kept->lead[j] + slow_step * z[j];

        kept->lead[j] = agreed->forgetting * (kept->lead[j] + quick_step * z[j]);
        kept->w[j] = slow + trust[0] * kept->lead[j];
    }
}
#endif

static void lms_step(struct paofed *device, float error)
{
    const float step = device->agreed->step_size * error;
    uint16_t j;

    for (j = 0u; j < device->agreed->features; j++) {
        device->kept.w[j] += step * device->z[j];
    }
}

static bool learn(struct paofed *device, const paofed_value *x, paofed_value y)
{
    const struct paofed_agreed *agreed = device->agreed;
    struct paofed_kept *kept = &device->kept;
    const bool plausible = paofed_is_plausible(agreed, x, y);
    float error = 0.0f;

    if (plausible) {
        const bool known = see(device, x);

#if PAOFED_PAST > 0
        if (!known) {
            device->unknown_past++;
            return false;
        }
#else
        (void)known; /* where nothing looks back, all is */
#endif
        error = paofed_see_target(agreed, y) - dot(kept->w, device->z, agreed->features);
    }
    if (!plausible || !is_finite(error)) { /* not finite where a number is too large to be scaled */
        kept->implausible += FORGET * (1.0f - kept->implausible);
        device->passed_over++;
        return false;
    }
    paofed_begin_sweep(device);
    note_error(kept, error);
    error = counted(device, error);
#if PAOFED_TWO_SPEED
    if (agreed->learner == PAOFED_TWO_SPEED_LEARNER) {
        two_speed_step(device, error);
    } else {
        lms_step(device, error);
    }
#else
    lms_step(device, error);
#endif
    if (!paofed_is_sane(kept->w, agreed->features)) {
        /* The server would refuse such a model again and again: begin with the fleet's model. */
        paofed_begin_learning(device);
        kept->joined = (uint8_t)PAOFED_APART;
        device->restarts++;
    }
    return true;
}

bool paofed_learn(struct paofed *device, const paofed_value *x, paofed_value y)
{
    const bool learned = learn(device, x, y);

#if PAOFED_PAST > 0
    if (paofed_is_whole(device->agreed, x, y)) {
        paofed_remember(device, x, y);
    }
#endif
    return learned;
}
