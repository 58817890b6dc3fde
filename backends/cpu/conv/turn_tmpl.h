/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Channels that lie side by side, apart and together again. The includer defines CV_NAME, f32, f64 or bf16, and
 * CV_T, an unsigned integer as wide: elements are only moved. */
#define CV_FN(name) CPU_CAT(cv_##name, CV_NAME)
typedef CV_T CV_FN(four) __attribute__((vector_size(4 * sizeof(CV_T))));
typedef CV_T CV_FN(any_four)
    __attribute__((vector_size(4 * sizeof(CV_T)), aligned(sizeof(CV_T) > 4 ? 4 : sizeof(CV_T)),
                   may_alias));
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

/* Of so many channels, those that are turned at a time. */
static inline int64_t CV_FN(most)(int64_t channels)
{
#ifdef CV_TURN_SIXTEEN
    if (sizeof(CV_T) == 4 && channels >= 16)
        return 16;
#endif
#ifdef CV_TURN_EIGHT
    if (sizeof(CV_T) == 4 && channels >= 8)
        return 8;
#endif
    return channels >= 4 ? 4 : 1;
}

/* Element i of channel c goes from i*at.element + c*at.channel to i*into.element + c*into.channel. Of
 * both steps of a place one is 1, and the other one is `across`. */
typedef struct {
    int64_t element, channel, across;
} CV_FN(steps);
static inline __attribute__((always_inline)) void CV_FN(turn_some)(const CV_FN(word) * from,
                                                                   const CV_FN(steps) at,
                                                                   CV_FN(word) * to,
                                                                   const CV_FN(steps) into,
                                                                   int64_t n, int64_t channels)
{
    int64_t i = 0;
#ifdef CV_TURN_SIXTEEN
    for (; sizeof(CV_T) == 4 && channels == 16 && i + 16 <= n; i += 16)
        CV_TURN_SIXTEEN(from + i * at.element, at.across, to + i * into.element, into.across);
#endif
#ifdef CV_TURN_EIGHT
    for (; sizeof(CV_T) == 4 && channels == 8 && i + 8 <= n; i += 8)
        CV_TURN_EIGHT(from + i * at.element, at.across, to + i * into.element, into.across);
#endif
    for (; channels >= 4 && i + 4 <= n; i += 4)
        for (int64_t k = 0; k < channels; k += 4)
            CV_FN(turn_four)
    (from + i * at.element + k * at.channel, at.across, to + i * into.element + k * into.channel,
     into.across);
    for (; i < n; i++)
        for (int64_t k = 0; k < channels; k++)
            to[i * into.element + k * into.channel] = from[i * at.element + k * at.channel];
}

/* Some elements of all channels, then the next ones: where channels lie side by side is gone through once. */
static inline __attribute__((always_inline)) void CV_FN(turn)(const cv_turn *t,
                                                              const CV_FN(word) * from,
                                                              const CV_FN(steps) at,
                                                              CV_FN(word) * to,
                                                              const CV_FN(steps) into)
{
    for (int64_t i = 0; i < t->n; i += 16)
        for (int64_t c = 0, some; c < t->channels; c += some) {
            some = CV_FN(most)(t->channels - c);
            CV_FN(turn_some)
            (from + i * at.element + c * at.channel, at, to + i * into.element + c * into.channel,
             into, t->n - i < 16 ? t->n - i : 16, some);
        }
}

static void CV_FN(apart)(const cv_turn *t)
{
    CV_FN(turn)
    (t, t->beside, (CV_FN(steps)){t->step, 1, t->step}, t->rows,
     (CV_FN(steps)){1, t->plane, t->plane});
}

static void CV_FN(together)(const cv_turn *t)
{
    CV_FN(turn)
    (t, t->rows, (CV_FN(steps)){1, t->plane, t->plane}, t->beside,
     (CV_FN(steps)){t->step, 1, t->step});
}

#undef CV_FN
#undef CV_NAME
#undef CV_T
