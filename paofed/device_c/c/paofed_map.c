/*
 * The random Fourier map, and the few functions of mathematics that a device needs.
 *
 * Angles are in turns: a whole turn is taken away without rounding, however large the angle is. All
 * functions are sums and products of float32 in a fixed order, so that every processor with IEEE
 * arithmetic finds the same bits.
 */
#include "paofed.h"

#include <float.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "this compiler computes float with other digits than float32: see docs/device-in-c.md"
#endif
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && (__FINITE_MATH_ONLY__ != 0))
#error "-ffast-math and -ffinite-math-only let numbers pass that are none: compile without them"
#endif

/* Return cos(2 pi turns), as the sine of a quarter turn less the angle, by a polynomial. */
static float cosine(float turns)
{
    float rest;
    float u;
    float square;

    if (!((turns > -8388608.0f) && (turns < 8388608.0f))) {
        /* A float this large is a whole number of turns; NaN has no cosine. */
        return 1.0f + (turns - turns);
    }
    rest = turns - (float)(int32_t)turns;
    if (rest < 0.0f) {
        rest = -rest;
    }
    if (rest > 0.5f) {
        rest = 1.0f - rest;
    }
    u = 0.25f - rest;
    square = u * u;
    return u * ((((39.5367012f * square - 76.5497818f) * square + 81.6010056f) * square
                 - 41.3416557f) * square + 6.28318501f);
}

/* Return the logarithm to base 2 of a number above 0 that is not subnormal. */
float paofed_log2(float x)
{
    uint32_t bits;
    int32_t exponent;
    float m;
    float t;
    float square;

    (void)memcpy(&bits, &x, sizeof bits);
    exponent = (int32_t)(bits >> 23) - 127;
    bits = (bits & 0x007FFFFFu) | 0x3F800000u;
    (void)memcpy(&m, &bits, sizeof m);
    if (m > 1.41421354f) {
        m = 0.5f * m;
        exponent = exponent + 1;
    }
    t = (m - 1.0f) / (m + 1.0f);
    square = t * t;
    return (float)exponent
        + t * (((0.434256047f * square + 0.576584518f) * square + 0.961800754f) * square
               + 2.88539004f);
}

#if PAOFED_DRAWS || PAOFED_FEW_BITS
/* Replace a counter of four words by four random words: Philox4x32-10. */
void paofed_philox(const uint32_t *key, uint32_t *words)
{
    uint32_t low = key[0];
    uint32_t high = key[1];
    int i;

    for (i = 0; i < 10; i++) {
        const uint64_t first = (uint64_t)0xD2511F53u * words[0];
        const uint64_t second = (uint64_t)0xCD9E8D57u * words[2];

        words[0] = (uint32_t)(second >> 32) ^ words[1] ^ low;
        words[1] = (uint32_t)second;
        words[2] = (uint32_t)(first >> 32) ^ words[3] ^ high;
        words[3] = (uint32_t)first;
        low += 0x9E3779B9u;
        high += 0xBB67AE85u;
    }
}
#endif

#if PAOFED_DRAWS
static float square_root(float x)
{
    uint32_t bits;
    float root;
    int i;

    (void)memcpy(&bits, &x, sizeof bits);
    bits = 0x1FBD1DF5u + (bits >> 1);
    (void)memcpy(&root, &bits, sizeof root);
    for (i = 0; i < 3; i++) {
        root = 0.5f * (root + x / root);
    }
    return root;
}

/* Return the normal quantile at (word + 1/2) 2^-32, by Wichura's AS241 (PPND7). */
static float normal(uint32_t word)
{
    const uint32_t middle = 0x80000000u;
    const bool below = word < middle;
    const uint32_t outside = below ? word : ~word; /* the distance to the nearer end of the range */
    const uint32_t inside = (middle - 1u) - outside;
    const float size = ((float)inside + 0.5f) * 2.32830644e-10f;
    float found;
    float r;

    if (size <= 0.425f) {
        r = 0.180625f - size * size;
        found = size * (((59.1093747f * r + 159.291132f) * r + 50.4342719f) * r + 3.38713272f)
            / (((67.1875636f * r + 78.7577577f) * r + 17.8951695f) * r + 1.0f);
    } else {
        const float tail = ((float)outside + 0.5f) * 2.32830644e-10f;

        r = square_root(-0.693147181f * paofed_log2(tail)) - 1.6f;
        found = (((0.170238211f * r + 1.30672848f) * r + 2.75681539f) * r + 1.42343728f)
            / ((0.12021133f * r + 0.737001643f) * r + 1.0f);
    }
    return below ? -found : found;
}

/* Return random word n of the map for a purpose; every fourth call draws a block of four words. */
static uint32_t drawn_word(const struct paofed_agreed *agreed, uint32_t n, uint32_t purpose,
                           uint32_t *words)
{
    if ((n & 3u) == 0u) {
        words[0] = n >> 2;
        words[1] = 0u;
        words[2] = 0u;
        words[3] = purpose;
        paofed_philox(agreed->seed, words);
    }
    return words[n & 3u];
}

/* Compute the angles, with frequencies and phases drawn on the fly. */
static void drawn_angles(const struct paofed_agreed *agreed, const float *x, float *z)
{
    uint32_t words[4] = {0u, 0u, 0u, 0u};
    uint32_t number = 0u;
    uint16_t i;
    uint16_t j;

    for (j = 0u; j < agreed->waves; j++) {
        z[j] = (float)drawn_word(agreed, j, 1u, words) * 2.32830644e-10f;
    }
    for (i = 0u; i < agreed->sees; i++) {
        for (j = 0u; j < agreed->waves; j++) {
            const float frequency = normal(drawn_word(agreed, number, 0u, words));

            z[j] += x[i] * (frequency * agreed->frequency_scale);
            number++;
        }
    }
}
#endif

static void angles(const struct paofed_agreed *agreed, const float *x, float *z)
{
    const float *frequency = agreed->frequencies;
    uint16_t i;
    uint16_t j;

#if PAOFED_DRAWS
    if (frequency == NULL) {
        drawn_angles(agreed, x, z);
        return;
    }
#endif
    for (j = 0u; j < agreed->waves; j++) {
        z[j] = agreed->phases[j];
    }
    for (i = 0u; i < agreed->sees; i++) {
        for (j = 0u; j < agreed->waves; j++) {
            z[j] += x[i] * *frequency;
            frequency++;
        }
    }
}

/* Compute the features z of inputs x, given as the model sees them. */
void paofed_map(const struct paofed_agreed *agreed, const float *x, float *z)
{
    uint16_t i;

    angles(agreed, x, z);
    for (i = 0u; i < agreed->waves; i++) {
        z[i] = agreed->wave_scale * cosine(z[i]);
    }
    if (agreed->linear != NULL) {
        float *term = &z[agreed->waves];

        for (i = 0u; i < agreed->sees; i++) {
            const struct paofed_linear *range = &agreed->linear[i];
            float kept = (x[i] < range->low) ? range->low : x[i];

            kept = (kept > range->high) ? range->high : kept;
            *term = (kept - range->middle) * range->gain;
            term++;
        }
        *term = agreed->constant;
    }
}
