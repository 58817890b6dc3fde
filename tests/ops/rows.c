/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise operations of which one operand has an element a row, beside small integers' exact
 * products and sums: rows around the lengths of segments and blocks. */
#include <stdbool.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

enum { ROWS = 37, MOST = 1030 };

/* An array of rows x cols integers below 13, of which element (i, k) is
 * (i * of_row + k * of_col) % 13; a factor of 0 makes its extent 1. `apart`: every second column of
 * one twice as wide. */
static nd_array *integers(nd_dtype dtype, int64_t rows, int64_t cols, int of_row, int of_col,
                          bool apart)
{
    static double value[ROWS * MOST * 2];
    nd_array *wide = NULL, *r = NULL, *part = NULL;
    const int64_t shape[2] = {of_row ? rows : 1, (of_col ? cols : 1) * (apart ? 2 : 1)};
    for (int64_t i = 0; i < shape[0]; i++)
        for (int64_t k = 0; k < shape[1]; k++)
            value[i * shape[1] + k] = (double)((i * of_row + k / (apart ? 2 : 1) * of_col) % 13);
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F64, .ndim = 2, .shape = shape};
    const nd_index every[2] = {nd_range(0, shape[0], 1), nd_range(0, shape[1], apart ? 2 : 1)};
    if (nd_from_host(&layout, value, NULL, &wide) != ND_OK || nd_astype(wide, dtype, &r) != ND_OK ||
        nd_slice(r, every, 2, &part) != ND_OK)
        bail(nd_last_error()->message);
    nd_release(wide);
    nd_release(r);
    return part;
}

/* The elements of a*b (`columns_first`: of b*a), and of a + b, that are not those of integers. a has
 * an element a row. */
static int wrong_elements(nd_op op, nd_dtype dtype, int64_t rows, int64_t cols, bool columns_first,
                          bool apart)
{
    static double got[ROWS * MOST];
    int wrong = 0;
    nd_array *a = integers(dtype, rows, cols, 5, 0, false),
             *b = integers(dtype, rows, cols, apart ? 3 : 0, 2, apart), *r = NULL, *wide = NULL;
    const nd_arg args[2] = {{.array = columns_first ? b : a}, {.array = columns_first ? a : b}};
    if (nd_apply(op, args, 2, NULL, &r) != ND_OK || nd_astype(r, ND_F64, &wide) != ND_OK ||
        nd_to_host(wide, got, (size_t)(rows * cols) * sizeof *got) != ND_OK)
        bail(nd_last_error()->message);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < cols; k++) {
            const int64_t x = i * 5 % 13, y = (i * (apart ? 3 : 0) + k * 2) % 13;
            wrong += got[i * cols + k] != (double)(op == ND_OP_multiply ? x * y : x + y);
        }
    nd_release(a);
    nd_release(b);
    nd_release(r);
    nd_release(wide);
    return wrong;
}

static void an_element_a_row(void)
{
    static const nd_dtype dtypes[] = {ND_F16, ND_F32, ND_F64, ND_I16, ND_I32};
    static const int64_t cols[] = {31, 255, 256, 257, 511, 512, 513, 1000, 1024, 1025};
    for (int d = 0; d < 5; d++)
        for (int c = 0; c < 10; c++) {
            int wrong = 0;
            for (int64_t rows = 1; rows <= ROWS; rows += 6)
                for (int how = 0; how < 8; how++)
                    wrong += wrong_elements(how & 1 ? ND_OP_add : ND_OP_multiply, dtypes[d], rows,
                                            cols[c], how & 2, how & 4);
            ok(wrong == 0, "%s, rows of %d: %d elements are wrong", nd_dtype_name(dtypes[d]),
               (int)cols[c], wrong);
        }
}

TAP_MAIN({"an_element_a_row", an_element_a_row})
