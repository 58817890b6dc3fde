/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Channels that lie side by side, apart and together again. The includer defines CV_NAME, f32 or f64, and
 * CV_T, an unsigned integer as wide: elements are only moved. */
#define CV_FN(name) CPU_CAT(cv_##name, CV_NAME)
typedef CV_T CV_FN(four) __attribute__((vector_size(4 * sizeof(CV_T))));
typedef CV_T CV_FN(any_four) __attribute__((vector_size(4 * sizeof(CV_T)), aligned(4), may_alias));
typedef CV_T CV_FN(word) __attribute__((may_alias));

/* Rows of four elements, `from_step` apart, as columns. */
static inline __attribute__((always_inline)) void CV_FN(turn_four)(const CV_FN(word) * from,
                                                                   int64_t from_step,
                                                                   CV_FN(word) * to,
                                                                   int64_t to_step)
{
    const CV_FN(four) a = *(const CV_FN(any_four) *)from,
                      b = *(const CV_FN(any_four) *)(from + from_step),
                      c = *(const CV_FN(any_four) *)(from + 2 * from_step),
                      d = *(const CV_FN(any_four) *)(from + 3 * from_step);
    const CV_FN(four) ab = MM_SHUFFLE(a, b, 0, 4, 1, 5), cd = MM_SHUFFLE(c, d, 0, 4, 1, 5);
    const CV_FN(four) ab2 = MM_SHUFFLE(a, b, 2, 6, 3, 7), cd2 = MM_SHUFFLE(c, d, 2, 6, 3, 7);
    *(CV_FN(any_four) *)to = MM_SHUFFLE(ab, cd, 0, 1, 4, 5);
    *(CV_FN(any_four) *)(to + to_step) = MM_SHUFFLE(ab, cd, 2, 3, 6, 7);
    *(CV_FN(any_four) *)(to + 2 * to_step) = MM_SHUFFLE(ab2, cd2, 0, 1, 4, 5);
    *(CV_FN(any_four) *)(to + 3 * to_step) = MM_SHUFFLE(ab2, cd2, 2, 3, 6, 7);
}

static void CV_FN(apart)(const cv_turn *t)
{
    const CV_FN(word) *from = t->beside;
    CV_FN(word) *to = t->rows;
    for (int64_t c = 0; c < t->channels; c++) {
        int64_t i = 0;
        if (c + 4 <= t->channels) {
            for (; i + 4 <= t->n; i += 4)
                CV_FN(turn_four)(from + i * t->step + c, t->step, to + c * t->plane + i, t->plane);
            for (; i < t->n; i++)
                for (int k = 0; k < 4; k++)
                    to[(c + k) * t->plane + i] = from[i * t->step + c + k];
            c += 3;
        } else
            for (; i < t->n; i++)
                to[c * t->plane + i] = from[i * t->step + c];
    }
}

static void CV_FN(together)(const cv_turn *t)
{
    const CV_FN(word) *from = t->rows;
    CV_FN(word) *to = t->beside;
    for (int64_t c = 0; c < t->channels; c++) {
        int64_t i = 0;
        if (c + 4 <= t->channels) {
            for (; i + 4 <= t->n; i += 4)
                CV_FN(turn_four)(from + c * t->plane + i, t->plane, to + i * t->step + c, t->step);
            for (; i < t->n; i++)
                for (int k = 0; k < 4; k++)
                    to[i * t->step + c + k] = from[(c + k) * t->plane + i];
            c += 3;
        } else
            for (; i < t->n; i++)
                to[i * t->step + c] = from[c * t->plane + i];
    }
}

#undef CV_FN
#undef CV_NAME
#undef CV_T
