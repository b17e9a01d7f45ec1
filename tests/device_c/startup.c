/* What a board does before main: its vectors, and the unit for floats where it has one. */
#include <stdint.h>

extern uint32_t __stack;
void begin_program(void);
void reset(void);

void reset(void)
{
#if defined(__ARM_FP)
    *(volatile uint32_t *)0xE000ED88u |= 0xF00000u; /* CPACR: coprocessors 10 and 11 */
    __asm volatile("dsb\n isb");
#endif
    begin_program();
    for (;;) {
    }
}

/* The C library of the emulated driver calls both. */
void _init(void);
void _fini(void);

void _init(void)
{
}

void _fini(void)
{
}

static void fault(void)
{
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    &__stack, reset, fault, fault, fault, fault, fault,
};
