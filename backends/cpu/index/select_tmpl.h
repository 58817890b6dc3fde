/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inner loops of compress and nonzero for one kind of element. The includer sets T, NONZERO(x),
 * TYPE(name), ACC, an unsigned type of T's width if there is one, MOVES (compress wanted too),
 * and for bytes that count as they are BY_EIGHT. */

static int64_t TYPE(count)(const char *a, int64_t stride, int64_t n)
{
    const T *x = (const T *)a;
    int64_t count = 0;
    int64_t i = 0;
    if (stride == 1)
        for (; i + 128 <= n;
             i += 128) { /* short sums in T's own width vectorise without widening */
            ACC few = 0;
            for (int64_t j = 0; j < 128; j++)
                few = (ACC)(few + NONZERO(x[i + j]));
            count += (int64_t)few;
        }
    for (; stride == 1 && i + 16 <= n; i += 16) {
        ACC few = 0;
        for (int64_t j = 0; j < 16; j++)
            few = (ACC)(few + NONZERO(x[i + j]));
        count += (int64_t)few;
    }
    for (; i < n; i++)
        count += NONZERO(x[i * stride]);
    return count;
}

/* Coordinates along the last dimension, from first on, of nonzero elements into out[position*step],
 * up to position end. Returns the next position. Each is stored before it is known whether it
 * counts: no branch to mispredict. */
static int64_t TYPE(positions)(const char *a, int64_t stride, int64_t first, int64_t n,
                               int64_t *out, int64_t step, int64_t position, int64_t end)
{
    const T *x = (const T *)a;
    int64_t i = 0;
    if (stride == 1 && step == 1) {
#ifdef BY_EIGHT
        for (; i + 8 <= n && position + 8 <= end; i += 8)
            position += eight_positions(a + i, first + i, out + position);
#endif
        for (; i + 4 <= n && position + 4 <= end; i += 4) {
            out[position] = first + i;
            position += NONZERO(x[i]);
            out[position] = first + i + 1;
            position += NONZERO(x[i + 1]);
            out[position] = first + i + 2;
            position += NONZERO(x[i + 2]);
            out[position] = first + i + 3;
            position += NONZERO(x[i + 3]);
        }
    }
    for (; i < n && position < end; i++) {
        out[position * step] = first + i;
        position += NONZERO(x[i * stride]);
    }
    return position;
}

#if MOVES
/* Elements where the mask is true, from out[position*step] on, up to position end. */
static void TYPE(compress)(const char *a, int64_t stride, const uint8_t *mask, int64_t mask_stride,
                           int64_t n, char *to, int64_t step, int64_t position, int64_t end)
{
    const T *x = (const T *)a;
    T *out = (T *)to;
    int64_t i = 0;
    if (stride == 1 && step == 1 && mask_stride == 1)
        for (; i + 8 <= n && position + 8 <= end; i += 8) {
            uint64_t eight;
            memcpy(&eight, mask + i, 8);
            if (eight == 0)
                continue;
            for (int j = 0; j < 8; j++) {
                out[position] = x[i + j];
                position += mask[i + j] != 0;
            }
        }
    for (; i < n && position < end; i++) {
        out[position * step] = x[i * stride];
        position += mask[i * mask_stride] != 0;
    }
}
#endif
#undef T
#undef NONZERO
#undef ACC
#undef TYPE
#undef MOVES
#undef BY_EIGHT
