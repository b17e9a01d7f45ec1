/*
 * What a device takes on an emulated board: instructions of each call, and the deepest stack.
 *
 * QEMU runs with -icount shift=0, so that its clock goes on by a nanosecond with every instruction;
 * the board's timer counts one of 40 of them.
 */
#define PAOFED_FLEET_HERE
#include "paofed_fleet.h"

#include <string.h>

void begin_program(void);

enum { PER_COUNT = 40, TIMES = 64, PAINTED = 16384 };

static struct paofed device;
static uint8_t slots[PAOFED_SLOTS][sizeof(struct paofed_kept)];
static uint8_t heard[PAOFED_LARGEST_HEARD];
static uint32_t now;
static volatile uint32_t *const timer = (volatile uint32_t *)0xE000E010u; /* SysTick */

static uint32_t milliseconds(void *context)
{
    (void)context;
    return now;
}

static void send(void *context, const uint8_t *message, size_t size)
{
    (void)context;
    (void)message;
    (void)size;
}

static bool write(void *context, unsigned slot, const void *bytes, size_t size)
{
    (void)context;
    (void)memcpy(slots[slot], bytes, size);
    return true;
}

static bool read(void *context, unsigned slot, void *bytes, size_t size)
{
    (void)context;
    (void)memcpy(bytes, slots[slot], size);
    return true;
}

static const struct paofed_port port = {NULL, milliseconds, send, write, read};

static int ask_host(int what, const void *with)
{
    register int r0 __asm("r0") = what;
    register const void *r1 __asm("r1") = with;

    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void say(const char *name, uint32_t number)
{
    char digits[12];
    int place = 11;

    digits[place] = '\0';
    do {
        place--;
        digits[place] = (char)('0' + number % 10u);
        number /= 10u;
    } while (number > 0u);
    (void)ask_host(4, name); /* SYS_WRITE0 */
    (void)ask_host(4, " ");
    (void)ask_host(4, &digits[place]);
    (void)ask_host(4, "\n");
}

/* Calls, of which each is measured alone. */

static paofed_value x[PAOFED_INPUTS];

static void begins(void)
{
    (void)paofed_begin(&device, &paofed_fleet, &port, 3u);
}

static void learns(void)
{
    x[0] += (paofed_value)0.01f;
    (void)paofed_learn(&device, x, (paofed_value)11.0f);
}

static void predicts(void)
{
    (void)paofed_predict(&device, x);
}

static void contacts(void)
{
    now += paofed_fleet.tick_ms;
    device.unanswered = 0u; /* nobody answers here, and a device that is lost says less */
    device.kept.joined = (uint8_t)(PAOFED_JOINED + 1); /* as does one that has told all it learned */
    (void)paofed_contact(&device);
}

static void hears_reply(void)
{
    const size_t size = 7u + 4u * (size_t)paofed_fleet.shared;

    heard[0] = 0x21u;
    heard[1] = paofed_fleet.epoch;
    heard[2] = (uint8_t)device.clock_tick; /* of ticks below 256 */
    (void)paofed_receive(&device, heard, size);
}

static void hears_model(void)
{
    heard[0] = 0x23u;
    heard[1] = paofed_fleet.epoch;
    (void)paofed_receive(&device, heard, 6u + 4u * (size_t)paofed_fleet.features);
}

static void saves(void)
{
    (void)paofed_save(&device);
}

__attribute__((noinline)) static uint32_t depth(void (*call)(void))
{
    volatile uint32_t *end;
    int i;

    __asm volatile("mov %0, sp" : "=r"(end)); /* nothing below is in use */
    for (i = 1; i <= PAINTED / 4; i++) {
        end[-i] = 0xC0FFEEu;
    }
    call();
    for (i = PAINTED / 4; (i > 0) && (end[-i] == 0xC0FFEEu); i--) {
    }
    return 4u * (uint32_t)i;
}

static uint32_t measured(const char *name, void (*call)(void))
{
    const uint32_t before = timer[2];
    int i;

    for (i = 0; i < TIMES; i++) {
        call();
    }
    say(name, ((before - timer[2]) & 0xFFFFFFu) * PER_COUNT / TIMES);
    return depth(call);
}

void begin_program(void)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } calls[] = {
        {"begin", begins},     {"model", hears_model}, {"learn", learns}, {"predict", predicts},
        {"contact", contacts}, {"reply", hears_reply}, {"save", saves},   {"restart", begins},
    };
    uint32_t deepest = 0u;
    size_t i;

    timer[1] = 0xFFFFFFu;
    timer[2] = 0u;
    timer[0] = 5u; /* enabled, by the processor's clock */
    for (i = 0u; i < sizeof calls / sizeof calls[0]; i++) {
        const uint32_t stack = measured(calls[i].name, calls[i].call);

        deepest = (stack > deepest) ? stack : deepest;
    }
    say("stack", deepest);
    (void)ask_host(0x18, (const void *)0x20026); /* SYS_EXIT, as all is well */
}
