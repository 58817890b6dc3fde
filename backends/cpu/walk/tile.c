/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Copies between strided and dense tiles, by element size. */
#include <stdbool.h>
#include <string.h>
#include "walk/tile.h"

typedef struct {
    uint64_t half[2];
} tile_16;

#define TILE_T uint8_t
#define TILE_FN(name) name##_1
#include "walk/tile_tmpl.h"
#define TILE_T uint16_t
#define TILE_FN(name) name##_2
#include "walk/tile_tmpl.h"
#define TILE_T uint32_t
#define TILE_FN(name) name##_4
#include "walk/tile_tmpl.h"
#define TILE_T uint64_t
#define TILE_FN(name) name##_8
#include "walk/tile_tmpl.h"
#define TILE_T tile_16
#define TILE_FN(name) name##_16
#include "walk/tile_tmpl.h"

static void copy(char *to, const char *from, int64_t rows, int64_t cols, const int64_t *to_step,
                 const int64_t *from_step, int64_t nbytes)
{
    switch (nbytes) {
    case 1:
        copy_1(to, from, rows, cols, to_step, from_step);
        break;
    case 2:
        copy_2(to, from, rows, cols, to_step, from_step);
        break;
    case 4:
        copy_4(to, from, rows, cols, to_step, from_step);
        break;
    case 8:
        copy_8(to, from, rows, cols, to_step, from_step);
        break;
    default:
        copy_16(to, from, rows, cols, to_step, from_step);
        break;
    }
}

/* 16 bytes of one element after the other. */
static tile_16 repeated_16(const char *from, int64_t nbytes)
{
    tile_16 all;
    uint8_t one;
    uint16_t two;
    uint32_t four;
    switch (nbytes) {
    case 1:
        memcpy(&one, from, sizeof one);
        all.half[0] = one * UINT64_C(0x0101010101010101);
        break;
    case 2:
        memcpy(&two, from, sizeof two);
        all.half[0] = two * UINT64_C(0x0001000100010001);
        break;
    case 4:
        memcpy(&four, from, sizeof four);
        all.half[0] = four * UINT64_C(0x0000000100000001);
        break;
    case 8:
        memcpy(&all.half[0], from, sizeof all.half[0]);
        break;
    default:
        memcpy(&all, from, sizeof all);
        return all;
    }
    all.half[1] = all.half[0];
    return all;
}

/* One element n times, by pieces that are stored whole: compilers make a store an element of a
 * loop. */
enum { PIECE = 64 };
static void repeat(char *to, const char *from, int64_t n, int64_t nbytes)
{
    const tile_16 some = repeated_16(from, nbytes);
    const tile_16 piece[PIECE / sizeof some] = {some, some, some, some};
    const int64_t all = n * nbytes;
    int64_t at = 0;
    for (; at + PIECE <= all; at += PIECE)
        memcpy(to + at, piece, PIECE);
    if (at < all)
        memcpy(to + at, piece, (size_t)(all - at));
}

void cpu_tile_pack(char *to, const char *from, int64_t rows, int64_t cols, int64_t row_bytes,
                   int64_t col_bytes, int64_t nbytes)
{
    const int64_t to_step[2] = {cols * nbytes, nbytes}, from_step[2] = {row_bytes, col_bytes};
    if (col_bytes != 0 || cols * nbytes < PIECE) {
        copy(to, from, rows, cols, to_step, from_step, nbytes);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        repeat(to + i * to_step[0], from + i * row_bytes, cols, nbytes);
}

/* Swapping the dimensions lets the transposing copy serve where the destination is the transposed
 * side: it wants the destination's last stride to be the unit. */
void cpu_tile_unpack(char *to, const char *from, int64_t rows, int64_t cols, int64_t row_bytes,
                     int64_t col_bytes, int64_t nbytes)
{
    const int64_t to_step[2] = {row_bytes, col_bytes}, from_step[2] = {cols * nbytes, nbytes};
    const int64_t to_swapped[2] = {col_bytes, row_bytes}, from_swapped[2] = {nbytes, cols * nbytes};
    if (row_bytes == nbytes)
        copy(to, from, cols, rows, to_swapped, from_swapped, nbytes);
    else
        copy(to, from, rows, cols, to_step, from_step, nbytes);
}
