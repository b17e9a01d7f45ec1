/*
 * A device of a paofed fleet, for microcontrollers: C99, float32, no heap, recursion or library.
 * Where a model sees logarithms, angles or calendars, these alone are computed with 64 bits.
 *
 * The device learns from every sample, predicts at any time, and sends the fleet's server a few
 * numbers whenever the application says that it may. docs/device-in-c.md says how to port it and
 * docs/live.md what travels and why. Names begin with paofed_.
 *
 * Compile with -std=c99 or -ffp-contract=off: a compiler that joins a multiplication and an
 * addition gives other last bits on one processor than on another.
 */
#ifndef PAOFED_H
#define PAOFED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "paofed_fleet.h" /* made by `paofed device c`: the sizes of the arrays below */

enum {
    PAOFED_WAITING = 4, /* updates that a device keeps until they are confirmed */
    PAOFED_ERRORS = 16, /* the usual error is the median of so many last errors */
    PAOFED_HEADER = 6,  /* bytes before the values of every message */
    PAOFED_LONGEST = PAOFED_HEADER + 1 + PAOFED_BLOCK
        + (PAOFED_WAITING - 1) * (2 + PAOFED_BLOCK), /* bytes of the longest message sent */
    /* Bytes of the largest message from the server: a whole model, or a reply with an age and all
     * parameters. */
    PAOFED_LARGEST_HEARD = PAOFED_HEADER + 1 + 4 * PAOFED_FEATURES,
    PAOFED_PLAIN = 32, /* bits of a value that is a float32 */
    PAOFED_SLOTS = 2 /* places of the storage, written in turn */
};

/* How a device stands to its fleet: it never had the fleet's model; or it has, and the updates that
 * it still makes before its contacts only read are added to PAOFED_JOINED. A sample gives a device
 * updates for one sweep over its model, and so does an update that is given up. */
enum { PAOFED_APART = 0, PAOFED_JOINED = 1, PAOFED_MOST_NEWS = 254 };

/* How a device learns. */
enum { PAOFED_LMS = 0, PAOFED_BOUNDED = 1, PAOFED_TWO_SPEED_LEARNER = 2 };

/* A value of a sample, as measured: with 64 bits where the model sees more than scaled numbers. */
#if PAOFED_TRANSFORMS
typedef double paofed_value;
#else
typedef float paofed_value;
#endif

/* One number of a sample: the model sees (value - offset) / scale; values from low to high are
 * plausible. */
struct paofed_number {
    paofed_value offset;
    paofed_value scale;
    paofed_value low;
    paofed_value high;
};

#if PAOFED_TRANSFORMS
/* What the model sees of a value: itself, scaled; or sine and cosine of a turn that a value, a
 * direction or the time makes; or 1 for the one of some categories that a text is, and else 0. */
enum {
    PAOFED_NUMBER = 0,
    PAOFED_CYCLIC = 1,
    PAOFED_COMPASS = 2,
    PAOFED_ONE_HOT = 3,
    PAOFED_HOUR = 4,
    PAOFED_WEEKDAY = 5,
    PAOFED_YEARDAY = 6
};

/* The clocks of a zone are so many seconds ahead of UTC from a time on. */
struct paofed_clocks {
    double from;
    double ahead;
};

/* One column of the model's inputs; paofed/core/columns has the same in Python. */
struct paofed_column {
    uint8_t kind;
    uint8_t logarithm; /* whether a number is log(1 + value) before it is scaled */
    uint8_t differs;   /* whether a number is the value of now less that of before */
    uint16_t place;    /* of the value among the inputs, or behind them the target's */
    uint16_t past;     /* of the value among those remembered */
    uint16_t lag;      /* ticks from then to now; 0: the value is of now */
    uint16_t count;    /* of categories or clocks */
    double offset;
    double scale; /* or the period of a turn */
    const char *const *texts;
    const struct paofed_clocks *clocks; /* those of UTC if there are none */
};

/* How the inputs of a sample become the numbers of the model. */
struct paofed_seen {
    double origin; /* when a tick began, in seconds since 1970 */
    uint16_t count;
    bool timed; /* whether the last input is the time, in seconds since 1970 */
    const struct paofed_column *columns; /* of the inputs, then that of the target */
    const uint16_t *remembered; /* places among the inputs, or behind them that of the target */
};
#endif

#if PAOFED_PAST > 0
/* What is remembered of a tick; NaN: nothing. */
struct paofed_past {
    int64_t tick;
    double values[PAOFED_PAST];
};
#endif

/* One linear term: gain (x - middle), where x is an input as the model sees it, cut to the range
 * from low to high. */
struct paofed_linear {
    float low;
    float high;
    float middle;
    float gain;
};

/* What the fleet has agreed on; the header that `paofed device c` writes has one such record. */
struct paofed_agreed {
    uint16_t features; /* D, at most PAOFED_FEATURES */
    uint16_t shared;   /* m: coordinates of a window */
    uint16_t inputs;   /* of a sample */
    uint16_t sees;     /* d: numbers that the model sees of them */
    uint16_t waves;    /* how many of the features are cosines; the others are linear terms */
    uint16_t heard;    /* how many coordinates, from the first on, a reply may overwrite */
    uint8_t epoch;
    uint8_t max_age;
    uint8_t ahead;       /* by how many windows the uplink is ahead of the downlink */
    uint8_t coordinated; /* whether all devices have the same window */
    uint8_t learner;
    uint8_t bits;      /* bits of a value on the uplink: PAOFED_PLAIN, or 2 to 16 */
    uint8_t down_bits; /* bits of a value on the downlink */
    uint32_t tick_ms;
    uint32_t lineage;
    uint32_t meaning; /* equal where a model's parameters mean the same */
    uint32_t fleet;   /* tells the fleet from others */
    uint32_t rules;   /* equal where all that a device needs is equal, but for epoch and lineage */
    float step_size;
    float bound;      /* an error counts as at most so many usual errors; 0: no bound */
    float forgetting; /* the part of its lead that the quick model of two speeds keeps */
    float wave_scale;
    float constant;           /* the last linear term */
    float frequency_scale;    /* scale of frequencies that are drawn on the device */
    uint32_t key[2];          /* key of the random numbers that round values of few bits */
    uint32_t seed[2];         /* seed of frequencies and phases that are drawn, low word first */
    const float *frequencies; /* sees x waves, in turns; NULL: drawn, as are the phases */
    const float *phases;      /* waves, in turns */
    const float *start;       /* features: the model to begin with; NULL: zeros */
    const struct paofed_linear *linear; /* sees; NULL: no linear terms */
    const struct paofed_number *numbers; /* the inputs, then the target */
#if PAOFED_TRANSFORMS
    const struct paofed_seen *seen;
#endif
};

/* What the application provides; `context` is handed back to each function. */
struct paofed_port {
    void *context;
    /* Return a clock that nobody sets and that goes on while the device sleeps; it may wrap. */
    uint32_t (*milliseconds)(void *context);
    /* Send a message to the server; the message may be lost, the device will send again. */
    void (*send)(void *context, const uint8_t *message, size_t size);
    /* Write slot 0 to PAOFED_SLOTS - 1 of the storage; return false if that failed. */
    bool (*write)(void *context, unsigned slot, const void *bytes, size_t size);
    /* Read the first `size` bytes of a slot; return false if the slot has fewer. */
    bool (*read)(void *context, unsigned slot, void *bytes, size_t size);
};

/* An update that is not confirmed yet, with the bytes of its values as they travel. */
struct paofed_update {
    uint32_t tick;
    uint32_t left; /* tick of the last message that carried this update */
    uint8_t level;
    /* A bit for each waiting update that was in every message which began with this update. */
    uint8_t carried;
    uint8_t block[PAOFED_BLOCK];
};

/* What survives a power cut. */
struct paofed_kept {
    uint32_t mark; /* marks this record and its size */
    uint32_t sum;  /* checksum of all that follows */
    uint32_t sequence;
    uint32_t device;
    uint32_t fleet;
    uint32_t rules;
    uint32_t meaning;
    uint32_t lineage;
    int64_t merged;  /* tick of the newest reply whose values were taken; -1: none */
    int64_t stamped; /* the last tick that an update was sent for; -1: none */
    uint8_t epoch;
    uint8_t learner;
    uint8_t joined;  /* PAOFED_APART, or PAOFED_JOINED and the updates still to be made */
    uint8_t waiting; /* how many updates wait */
    float samples;   /* the level is computed from these three */
    float square;
    float implausible;
    float errors[PAOFED_ERRORS]; /* sizes of the last errors, the newest last; 0: none */
    struct paofed_update updates[PAOFED_WAITING]; /* the oldest first */
    float w[PAOFED_FEATURES];
#if PAOFED_PAST > 0
    double origin; /* when a tick began, by the manifest that was followed */
    struct paofed_past past[PAOFED_REACH + 1];
#endif
#if PAOFED_TWO_SPEED
    float lead[PAOFED_FEATURES];
    float trust[4];
#endif
};

/* A device. The application may read every field, and set `patience` and `doubt`. */
struct paofed {
    const struct paofed_agreed *agreed;
    const struct paofed_port *port;
    struct paofed_kept kept;
    float z[PAOFED_FEATURES];
    uint32_t clock_tick; /* a tick of the server */
    uint32_t clock_ms;   /* what the device's own clock showed at that tick */
    uint32_t doubt_ms;
    uint32_t doubt_left; /* ticks until no message from before the last start is on its way */
    uint32_t unanswered; /* contacts since the last message from the server */
    uint32_t restarts;   /* how often the model was too large to send and began again */
    uint32_t passed_over; /* samples that were not plausible */
#if PAOFED_PAST > 0
    uint32_t unknown_past; /* samples whose values of before were not known */
#endif
    uint32_t confirmed[PAOFED_WAITING]; /* ticks of the updates that the last message confirmed */
    uint16_t patience;   /* ticks to wait before an update is sent again */
    uint16_t doubt;      /* ticks that a doubt lasts */
    bool has_clock;
    bool outdated; /* the fleet has agreed on something else, which its manifest says */
};

/* What was read of a manifest so far. */
struct paofed_manifest {
    uint32_t rules;
    uint32_t lineage;
    uint32_t number;
    uint32_t sum; /* checksum of the member that is being read */
    uint8_t epoch;
    uint8_t depth;
    uint8_t length; /* characters of the key */
    char key[16];
    bool in_string;
    bool escaped;
    bool in_value;
    bool has_epoch;
    bool has_lineage;
#if PAOFED_PAST > 0
    double before; /* of a number, what stands before its point */
    double behind; /* what stands behind the point, in the unit of its last digit */
    double unit;   /* how often that unit is in one; 0: no point has come */
    double origin;
    bool has_origin;
#endif
    bool whole;
    bool broken;
};

/* Begin, or go on from what was saved. Returns whether the storage held anything of this device.
 * What `agreed` and `port` point to must stay in memory: it is not copied. */
bool paofed_begin(struct paofed *device, const struct paofed_agreed *agreed,
                  const struct paofed_port *port, uint32_t number);

/* Go on with another header, after the fleet has agreed on something else. */
void paofed_adopt(struct paofed *device, const struct paofed_agreed *agreed);

/* Read the manifest that is retained under NAME/c2, in pieces of any size; then follow it.
 * `paofed_manifest_follow` returns false where more differs than epoch and lineage, or the text is
 * no manifest: the device then goes on alone, and needs a new header. */
void paofed_manifest_begin(struct paofed_manifest *manifest);
void paofed_manifest_read(struct paofed_manifest *manifest, const char *text, size_t size);
bool paofed_manifest_follow(struct paofed *device, const struct paofed_manifest *manifest);

/* Return whether this device maps inputs as the fleet does. Call it once when a firmware is new,
 * with the `paofed_probes` of the fleet's header. */
bool paofed_has_the_map(struct paofed *device, const float *probes);

/* Predict the target at the inputs of a sample, as measured; NaN where a value that they look back
 * at is not known. */
paofed_value paofed_predict(struct paofed *device, const paofed_value *x);

/* Learn from one sample, as measured. Returns false for a sample that is not plausible, or that
 * looks back at a value that is not known. */
bool paofed_learn(struct paofed *device, const paofed_value *x, paofed_value y);

#if PAOFED_TRANSFORMS
/* Return what stands for a text among the inputs: its place among directions or categories, -1 for
 * an unknown category, NaN for no direction, no text, or an input that is a number. */
paofed_value paofed_place(const struct paofed_agreed *agreed, uint16_t input, const char *text);

/* Return whether an input is a text. */
bool paofed_is_text(const struct paofed_agreed *agreed, uint16_t input);
#endif

#if PAOFED_PAST > 0
/* Remember a sample for inputs that look back, and learn nothing; NaN stands for what is missing.
 * `paofed_learn` remembers by itself. */
void paofed_remember(struct paofed *device, const paofed_value *x, paofed_value y);
#endif

/* Send what was learned, or ask for the server's values where nothing was. Returns false where
 * the server has all that was learned, and the device the values of this tick. */
bool paofed_contact(struct paofed *device);

/* Take a message from the server. Returns how many updates the message says to be on the server's
 * disk; their ticks are the first entries of `device->confirmed`. */
unsigned paofed_receive(struct paofed *device, const uint8_t *message, size_t size);

/* Save what must survive a power cut. Returns whether it could be written. */
bool paofed_save(struct paofed *device);

/* Return the server's tick by the device's own clock, or -1 if it is unknown. Call it at least once
 * in two weeks, since the clock wraps. */
int64_t paofed_tick(struct paofed *device);

/* Return how well the device predicts, as the server is told: docs/live.md, "The level". */
uint8_t paofed_level(const struct paofed *device);

/* For use between the files of this library alone. */
bool paofed_is_number(paofed_value value);
bool paofed_is_within(const struct paofed_number *number, paofed_value value);
bool paofed_is_plausible(const struct paofed_agreed *agreed, const paofed_value *x, paofed_value y);
bool paofed_see(const struct paofed *device, const paofed_value *x, float *seen);
float paofed_see_target(const struct paofed_agreed *agreed, paofed_value y);
paofed_value paofed_measured(const struct paofed_agreed *agreed, float seen);
void paofed_map(const struct paofed_agreed *agreed, const float *x, float *z);
float paofed_log2(float x);
void paofed_philox(const uint32_t *key, uint32_t *words);
size_t paofed_block_size(uint16_t shared, uint8_t bits);
void paofed_write_block(const struct paofed *device, uint32_t tick, uint32_t from, uint8_t *block);
bool paofed_block_is_sane(const uint8_t *block, uint16_t shared, uint8_t bits);
float paofed_value_at(const uint8_t *block, uint16_t place, uint8_t bits);
void paofed_put_word(uint8_t *to, uint32_t word);
uint32_t paofed_word_at(const uint8_t *from);
void paofed_begin_learning(struct paofed *device);
void paofed_forget_errors(struct paofed *device);
bool paofed_is_sane(const float *values, uint16_t count);
uint32_t paofed_checksum(uint32_t sum, const void *bytes, size_t size);
void paofed_go_on(struct paofed *device, uint8_t epoch, uint32_t lineage);
void paofed_begin_sweep(struct paofed *device);
#if PAOFED_TRANSFORMS
double paofed_missing(void);
int64_t paofed_floor(double value);
double paofed_log1p(double x);
double paofed_expm1(double x);
void paofed_turn(double turns, double *sine, double *cosine);
#endif
#if PAOFED_PAST > 0
bool paofed_is_whole(const struct paofed_agreed *agreed, const paofed_value *x, paofed_value y);
double paofed_before(const struct paofed *device, const struct paofed_column *column, double time);
void paofed_forget_past(struct paofed *device);
#endif

#ifdef __cplusplus
}
#endif

#endif
