/*
 * The smallest device: measure, learn, contact, listen, save. Write the board_ functions for your
 * board; nothing else here depends on it.
 */
#define PAOFED_FLEET_HERE
#include "paofed_fleet.h"

/* Return the device's number k in the fleet, as in its topics NAME/k/u and NAME/k/d. */
uint32_t board_number(void);
/* Return the milliseconds since the board was started, with those that it slept. */
uint32_t board_milliseconds(void);
/* Sleep until there is something to measure; put inputs and target, as measured, into x and y:
 * texts as `paofed_place` says, and the time, where it matters, in seconds since 1970. */
void board_measure(paofed_value *x, paofed_value *y);
/* Return whether the radio may be used now: by the battery, a plan, a quiet hour. */
bool board_may_talk(void);
/* Publish to NAME/k/u at quality of service 0; the message may be lost. */
void board_send(const uint8_t *message, size_t size);
/* Read what came on NAME/k/d since the last call; return its size, or 0. */
size_t board_heard(uint8_t *message, size_t most);
/* Read the next piece of what is retained under NAME/c2; return its size, or 0 at its end, or if
 * it cannot be had now. */
size_t board_manifest(char *text, size_t most);
/* Write and read one of two places of the flash, each as large as struct paofed_kept. */
bool board_write(unsigned slot, const void *bytes, size_t size);
bool board_read(unsigned slot, void *bytes, size_t size);

static uint32_t milliseconds(void *context)
{
    (void)context;
    return board_milliseconds();
}

static void send(void *context, const uint8_t *message, size_t size)
{
    (void)context;
    board_send(message, size);
}

static bool write(void *context, unsigned slot, const void *bytes, size_t size)
{
    (void)context;
    return board_write(slot, bytes, size);
}

static bool read(void *context, unsigned slot, void *bytes, size_t size)
{
    (void)context;
    return board_read(slot, bytes, size);
}

static const struct paofed_port port = {NULL, milliseconds, send, write, read};
static struct paofed device;
static uint8_t heard[PAOFED_LARGEST_HEARD];

enum { SELDOM = 64 }; /* samples between two saves, since flash wears out, or two reads */

/* Follow the manifest, if it needs no new firmware. Returns whether that is so. */
static bool read_manifest(void)
{
    struct paofed_manifest manifest;
    char piece[64];
    size_t size = board_manifest(piece, sizeof piece);

    paofed_manifest_begin(&manifest);
    while (size > 0u) {
        paofed_manifest_read(&manifest, piece, size);
        size = board_manifest(piece, sizeof piece);
    }
    return paofed_manifest_follow(&device, &manifest);
}

int main(void)
{
    paofed_value x[PAOFED_INPUTS];
    paofed_value y;
    unsigned samples = 0u;
    bool followed = true;
    size_t size;

    (void)paofed_begin(&device, &paofed_fleet, &port, board_number());
    for (;;) {
        board_measure(x, &y);
        (void)paofed_predict(&device, x);
        (void)paofed_learn(&device, x, y);
        if (board_may_talk()) {
            /* A manifest is long, so one that needs a new firmware is read seldom. */
            if (device.outdated && (followed || (samples % (unsigned)SELDOM == 0u))) {
                followed = read_manifest();
            }
            if (!device.outdated) {
                (void)paofed_contact(&device);
            }
        }
        size = board_heard(heard, sizeof heard);
        while (size > 0u) {
            (void)paofed_receive(&device, heard, size);
            size = board_heard(heard, sizeof heard);
        }
        samples++;
        if (samples % (unsigned)SELDOM == 0u) {
            (void)paofed_save(&device);
        }
    }
}
