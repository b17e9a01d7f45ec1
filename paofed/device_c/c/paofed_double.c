/*
 * Logarithm, exponential, sine and cosine in 64 bits, for fleets whose models see them.
 *
 * They are within a unit in the last place of the right value, as those of a host's library are.
 * After rounding to float32, about one result in ten million is another than from that library.
 */
#include "paofed.h"

#if PAOFED_TRANSFORMS

#include <float.h>
#include <string.h>

static const double LOG_2_HIGH = 6.93147180369123816490e-01; /* k times this is exact */
static const double LOG_2_LOW = 1.90821492927058770002e-10;

/* Return NaN, which stands for a value that is missing. */
double paofed_missing(void)
{
    const uint64_t bits = 0x7FF8000000000000u;
    double none;

    (void)memcpy(&none, &bits, sizeof none);
    return none;
}

/* Return the largest whole number that is not above a value. */
int64_t paofed_floor(double value)
{
    const int64_t whole = (int64_t)value;

    return ((double)whole > value) ? whole - 1 : whole;
}

/* Return 2 to the power of a whole number that is in the range of double. */
static double power_of_2(int32_t exponent)
{
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;

    (void)memcpy(&power, &bits, sizeof power);
    return power;
}

/* Return log(1 + x) of a number above -1: 1 + x is 2^k (1 + f), and f is near 0. */
double paofed_log1p(double x)
{
    const double sum = 1.0 + x;
    const double lost = (x >= 1.0) ? 1.0 - (sum - x) : x - (sum - 1.0); /* by rounding */
    uint64_t bits;
    int32_t k;
    double m;
    double f;
    double s;
    double z;
    double half;
    double series;

    (void)memcpy(&bits, &sum, sizeof bits);
    k = (int32_t)(bits >> 52) - 1023;
    bits = (bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u;
    (void)memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m = 0.5 * m;
        k = k + 1;
    }
    f = m - 1.0;
    s = f / (2.0 + f);
    z = s * s;
    half = 0.5 * f * f;
    series = z * (6.666666666666735130e-01 + z * (3.999999999940941908e-01
        + z * (2.857142874366239149e-01 + z * (2.222219843214978396e-01
        + z * (1.818357216161805012e-01 + z * (1.531383769920937332e-01
        + z * 1.479819860511658591e-01))))));
    return (double)k * LOG_2_HIGH
        - ((half - (s * (half + series) + ((double)k * LOG_2_LOW + lost / sum))) - f);
}

/* Return exp(x) - 1: x is k log 2 + r, and r is near 0. */
double paofed_expm1(double x)
{
    int32_t k;
    int32_t i;
    double r;
    double series = 0.0;
    double power;

    if (!((x > -40.0) && (x < 709.0))) { /* nothing, or more than all, or NaN */
        return (x <= -40.0) ? -1.0 : ((x >= 709.0) ? DBL_MAX : x);
    }
    k = (int32_t)(x * 1.4426950408889634 + ((x < 0.0) ? -0.5 : 0.5));
    r = (x - (double)k * LOG_2_HIGH) - (double)k * LOG_2_LOW;
    for (i = 14; i > 0; i--) {
        series = r / (double)i * (1.0 + series);
    }
    power = power_of_2(k);
    return power * series + (power - 1.0);
}

/* Find sine and cosine of 2 pi turns, of fewer than 6e7 of them. */
void paofed_turn(double turns, double *sine, double *cosine)
{
    /* A quarter turn, pi / 2, in pieces: three of 25 bits, and what is left. */
    const double angle = 6.283185307179586 * turns;
    const double quarters = angle * 0.6366197723675814;
    const int32_t n = (int32_t)(quarters + ((quarters < 0.0) ? -0.5 : 0.5));
    const double near = angle - (double)n * 1.5707963109016418 - (double)n * 1.5893254712295857e-08;
    const double r = near - (double)n * 6.123232939436859e-17 - (double)n * 1.0562999066987428e-23;
    const double z = r * r;
    const double s = r + r * z * (-1.66666666666666324348e-01 + z * (8.33333333332248946124e-03
        + z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06
        + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
    const double half = 0.5 * z;
    const double most = 1.0 - half;
    const double c = most + (((1.0 - most) - half)
        + z * z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03
        + z * (2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07
        + z * (2.08757232129817482790e-09 - z * 1.13596475577881948265e-11))))));

    switch ((uint32_t)n & 3u) {
    case 0u:
        *sine = s;
        *cosine = c;
        break;
    case 1u:
        *sine = c;
        *cosine = -s;
        break;
    case 2u:
        *sine = -s;
        *cosine = -c;
        break;
    default:
        *sine = -c;
        *cosine = s;
        break;
    }
}
#endif
