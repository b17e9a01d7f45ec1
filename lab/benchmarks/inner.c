/* The inner loop and nothing else: map one input, then one LMS step for each algorithm.
 * No world, no messages, no server: the floor under which no engine can go on this machine.
 * usage: inner ROUNDS; prints nanoseconds per client update and algorithm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { D = 200, K = 256, A = 8 };
static float frequencies[4][D], phases[D], z[D], local[K][A][D], inputs[K][4];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* cos(2 pi t) = sin(2 pi s), s = 1/4 - |t - round(t)|, as an odd polynomial. */
static void map(const float *x) {
    for (int j = 0; j < D; j++) {
        float t = phases[j] + x[0] * frequencies[0][j] + x[1] * frequencies[1][j]
                  + x[2] * frequencies[2][j] + x[3] * frequencies[3][j];
        float s = 0.25f - fabsf(t - rintf(t)), u = s * s;
        z[j] = 0.1f * s * (6.2831853f + u * (-41.341702f + u * (81.605249f
               + u * (-76.705859f + u * (42.058694f - 15.094642f * u)))));
    }
}

static void lms_step(float *w, float y, float mu) {
    float prediction = 0;
    for (int j = 0; j < D; j++) prediction += w[j] * z[j];
    float gain = mu * (y - prediction);
    for (int j = 0; j < D; j++) w[j] += gain * z[j];
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    for (int j = 0; j < D; j++) {
        phases[j] = rand() / (float)RAND_MAX;
        for (int i = 0; i < 4; i++) frequencies[i][j] = rand() / (float)RAND_MAX - 0.5f;
    }
    for (int k = 0; k < K; k++)
        for (int i = 0; i < 4; i++) inputs[k][i] = rand() / (float)RAND_MAX;
    double begin = now(), sum = 0;
    for (long n = 0; n < rounds; n++)
        for (int k = 0; k < K; k++) {
            map(inputs[k]);
            for (int a = 0; a < A; a++) lms_step(local[k][a], 0.3f, 0.4f);
        }
    double seconds = now() - begin;
    for (int a = 0; a < A; a++) sum += local[3][a][5]; /* or it would be optimised away */
    printf("%g %g\n", 1e9 * seconds / ((double)rounds * K * A), sum);
    return 0;
}
