/*
 * The values of a window as they travel: a block of float32, or of few bits a value.
 *
 * A block of few bits is a scale and then whole numbers, the highest bit first: docs/live.md,
 * "Values of few bits".
 */
#include "paofed.h"

#include <string.h>

/* Words in a message have the lowest byte first, whatever the processor's order is. */

void paofed_put_word(uint8_t *to, uint32_t word)
{
    to[0] = (uint8_t)(word & 0xFFu);
    to[1] = (uint8_t)((word >> 8) & 0xFFu);
    to[2] = (uint8_t)((word >> 16) & 0xFFu);
    to[3] = (uint8_t)((word >> 24) & 0xFFu);
}

uint32_t paofed_word_at(const uint8_t *from)
{
    return (uint32_t)from[0] | ((uint32_t)from[1] << 8) | ((uint32_t)from[2] << 16)
        | ((uint32_t)from[3] << 24);
}

static void put_float(uint8_t *to, float value)
{
    uint32_t word;

    (void)memcpy(&word, &value, sizeof word);
    paofed_put_word(to, word);
}

static float float_at(const uint8_t *from)
{
    const uint32_t word = paofed_word_at(from);
    float value;

    (void)memcpy(&value, &word, sizeof value);
    return value;
}

#if PAOFED_FEW_BITS
static const float LARGEST = 1e6f; /* the largest parameter that a message may hold */

/* Return the largest whole number of so many bits; the smallest is its opposite. */
static int32_t levels(uint8_t bits)
{
    return (int32_t)((1u << (bits - 1u)) - 1u);
}

/* Access the bits of a block from a place on, counted from the end of the scale. */
static uint32_t bits_at(const uint8_t *block, uint32_t place, uint32_t count)
{
    uint32_t found = 0u;
    uint32_t i;

    for (i = place; i < place + count; i++) {
        found = (found << 1) | (((uint32_t)block[4u + i / 8u] >> (7u - i % 8u)) & 1u);
    }
    return found;
}

static float size_of(float value)
{
    return (value < 0.0f) ? -value : value;
}

/* Return a value as a whole number of steps, rounded up or down by chance: right on average. */
static int32_t rounded(float value, float scale, int32_t most, float chance)
{
    int32_t size = 0;

    if (scale > 0.0f) {
        size = (int32_t)((float)most * size_of(value) / scale + chance);
        size = (size > most) ? most : size;
    }
    return (value > 0.0f) ? size : -size;
}

static void write_few_bits(const struct paofed *device, uint32_t tick, uint32_t from,
                           uint8_t *block)
{
    const struct paofed_agreed *agreed = device->agreed;
    const int32_t most = levels(agreed->bits);
    uint32_t words[4] = {0u, 0u, 0u, 0u};
    uint32_t place = 0u;
    float scale = 0.0f;
    uint16_t i;

    for (i = 0u; i < agreed->shared; i++) {
        const float size = size_of(device->kept.w[(from + i) % agreed->features]);

        scale = (size > scale) ? size : scale;
    }
    scale = scale * 1.00000012f; /* not below the largest value, also after rounding */
    (void)memset(block, 0, paofed_block_size(agreed->shared, agreed->bits));
    put_float(block, scale);
    for (i = 0u; i < agreed->shared; i++) {
        const float value = device->kept.w[(from + i) % agreed->features];
        uint32_t number;
        uint32_t bit;

        if ((i & 3u) == 0u) {
            words[0] = (uint32_t)i >> 2;
            words[1] = device->kept.device;
            words[2] = tick;
            words[3] = 0u;
            paofed_philox(agreed->key, words);
        }
        number = (uint32_t)(most
            + rounded(value, scale, most, (float)(words[i & 3u] >> 8) * 5.96046448e-8f));
        for (bit = agreed->bits; bit > 0u; bit--) {
            const uint32_t one = (number >> (bit - 1u)) & 1u;

            block[4u + place / 8u] |= (uint8_t)(one << (7u - place % 8u));
            place++;
        }
    }
}

static bool few_bits_are_sane(const uint8_t *block, uint16_t shared, uint8_t bits)
{
    const float scale = float_at(block);
    const uint32_t used = (uint32_t)shared * bits;
    const uint32_t most = 2u * (uint32_t)levels(bits);
    uint16_t i;

    if (!((scale >= 0.0f) && (scale < 3.4e38f))) {
        return false;
    }
    if (bits_at(block, used, (8u - used % 8u) % 8u) != 0u) {
        return false; /* bits are set behind the last number */
    }
    for (i = 0u; i < shared; i++) {
        const uint32_t number = bits_at(block, (uint32_t)i * bits, bits);
        /* The sender rounds the scale up, which makes a value a little larger. */
        const float value = scale * ((float)number - (float)levels(bits)) / (float)levels(bits);

        if ((number > most) || !(size_of(value) <= 1000000.95f)) {
            return false;
        }
    }
    return true;
}
#endif

size_t paofed_block_size(uint16_t shared, uint8_t bits)
{
    if (bits == (uint8_t)PAOFED_PLAIN) {
        return 4u * (size_t)shared;
    }
    return 4u + ((size_t)shared * bits + 7u) / 8u;
}

/* Write the part of the model that goes up: the window that begins at coordinate `from`. */
void paofed_write_block(const struct paofed *device, uint32_t tick, uint32_t from, uint8_t *block)
{
    const struct paofed_agreed *agreed = device->agreed;
    uint16_t i;

#if PAOFED_FEW_BITS
    if (agreed->bits != (uint8_t)PAOFED_PLAIN) {
        write_few_bits(device, tick, from, block);
        return;
    }
#endif
    (void)tick;
    for (i = 0u; i < agreed->shared; i++) {
        put_float(&block[4u * i], device->kept.w[(from + i) % agreed->features]);
    }
}

/* Return whether a block from the server holds values that a model may have. */
bool paofed_block_is_sane(const uint8_t *block, uint16_t shared, uint8_t bits)
{
    uint16_t i;

#if PAOFED_FEW_BITS
    if (bits != (uint8_t)PAOFED_PLAIN) {
        return few_bits_are_sane(block, shared, bits);
    }
#endif
    for (i = 0u; i < shared; i++) {
        const float value = paofed_value_at(block, i, bits);

        if (!paofed_is_sane(&value, 1u)) {
            return false;
        }
    }
    return true;
}

/* Return the value at a place of a block. */
float paofed_value_at(const uint8_t *block, uint16_t place, uint8_t bits)
{
#if PAOFED_FEW_BITS
    if (bits != (uint8_t)PAOFED_PLAIN) {
        const float most = (float)levels(bits);
        const float number = (float)bits_at(block, (uint32_t)place * bits, bits) - most;
        const float value = float_at(block) * number / most;
        const float bounded = (value > LARGEST) ? LARGEST : value;

        return (bounded < -LARGEST) ? -LARGEST : bounded;
    }
#endif
    (void)bits;
    return float_at(&block[4u * place]);
}
