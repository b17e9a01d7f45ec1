/* A board for example.c that has nothing: to measure what the example takes itself. */
#include "paofed.h"

static volatile uint32_t port[8];

int main(void);
void begin_program(void);

uint32_t board_number(void)
{
    return port[0];
}

uint32_t board_milliseconds(void)
{
    return port[1];
}

void board_measure(paofed_value *x, paofed_value *y)
{
    x[0] = (paofed_value)port[2];
    *y = (paofed_value)port[3];
}

bool board_may_talk(void)
{
    return port[4] != 0u;
}

void board_send(const uint8_t *message, size_t size)
{
    port[5] = message[size - 1u];
}

size_t board_heard(uint8_t *message, size_t most)
{
    message[0] = (uint8_t)port[6];
    return port[6] + most;
}

size_t board_manifest(char *text, size_t most)
{
    text[0] = (char)port[6];
    return port[6] + most;
}

bool board_write(unsigned slot, const void *bytes, size_t size)
{
    port[7] = slot + (uint32_t)(uintptr_t)bytes + size;
    return port[7] != 0u;
}

bool board_read(unsigned slot, void *bytes, size_t size)
{
    port[7] = slot + (uint32_t)(uintptr_t)bytes + size;
    return port[7] != 0u;
}

void begin_program(void)
{
    (void)main();
}
