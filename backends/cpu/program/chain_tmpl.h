/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The loop of one type, CHAIN_T. Text included by program/chain_isa.c; ends its two macros. */
typedef CHAIN_T CHAIN_FN(chain_vector) __attribute__((vector_size(VECTOR)));
/* As it may lie in memory. */
typedef CHAIN_T CHAIN_FN(chain_loose)
    __attribute__((vector_size(VECTOR), aligned(sizeof(CHAIN_T)), may_alias));

/* By name, so that they are in registers. */
typedef struct {
    CHAIN_FN(chain_vector) v0, v1, v2, v3;
} CHAIN_FN(chain_strip);

#define CHAIN_V(k) v.v##k
#define CHAIN_X(k) (*(const CHAIN_FN(chain_loose) *)(x + k * VECTOR))
#define CHAIN_S(k) s
#define CHAIN_W(k) aside.v##k
#define CHAIN_CASE(op, form, left, sign, right) \
    case CPU_LINK(op, form):                    \
        CHAIN_V(0) = left(0) sign right(0);     \
        CHAIN_V(1) = left(1) sign right(1);     \
        CHAIN_V(2) = left(2) sign right(2);     \
        CHAIN_V(3) = left(3) sign right(3);     \
        break
#define CHAIN_OP(op, sign)                                         \
    CHAIN_CASE(op, CPU_LINK_ARRAY, CHAIN_V, sign, CHAIN_X);        \
    CHAIN_CASE(op, CPU_LINK_SCALAR, CHAIN_V, sign, CHAIN_S);       \
    CHAIN_CASE(op, CPU_LINK_ARRAY_FIRST, CHAIN_X, sign, CHAIN_V);  \
    CHAIN_CASE(op, CPU_LINK_SCALAR_FIRST, CHAIN_S, sign, CHAIN_V); \
    CHAIN_CASE(op, CPU_LINK_SELF, CHAIN_V, sign, CHAIN_V);         \
    CHAIN_CASE(op, CPU_LINK_ASIDE_FIRST, CHAIN_W, sign, CHAIN_V);  \
    CHAIN_CASE(op, CPU_LINK_ASIDE, CHAIN_V, sign, CHAIN_W)

/* The strip at byte at of every array; ahead: its array's later ones are fetched meanwhile. */
static inline __attribute__((always_inline)) CHAIN_FN(chain_strip)
    CHAIN_FN(chain_at)(const uint8_t *link, int n_links, char *const *p, int64_t at, int ahead)
{
    const char *x = p[0] + at;
    if (ahead)
        fetch_ahead(x);
    CHAIN_FN(chain_strip) v = {CHAIN_X(0), CHAIN_X(1), CHAIN_X(2), CHAIN_X(3)}, aside = v;
    for (int i = 1; i < n_links; i++) {
        const CHAIN_T s = *(const CHAIN_T *)p[i];
        x = p[i] + at;
        if (ahead && CPU_LINK_READS(link[i]))
            fetch_ahead(x);
        switch (link[i]) {
        case CPU_LINK(LOAD, CPU_LINK_ARRAY):
            aside = v;
            v = (CHAIN_FN(chain_strip)){CHAIN_X(0), CHAIN_X(1), CHAIN_X(2), CHAIN_X(3)};
            break;
            CHAIN_OP(add, +);
            CHAIN_OP(subtract, -);
            CHAIN_OP(multiply, *);
            CHAIN_OP(divide, /);
        }
    }
    return v;
}

static inline __attribute__((always_inline)) void CHAIN_FN(chain_put)(
    char *to, const CHAIN_FN(chain_strip) * v, int stream)
{
    if (stream) {
        put_past_cache(to, (chain_word)v->v0);
        put_past_cache(to + VECTOR, (chain_word)v->v1);
        put_past_cache(to + 2 * VECTOR, (chain_word)v->v2);
        put_past_cache(to + 3 * VECTOR, (chain_word)v->v3);
    } else {
        CHAIN_FN(chain_loose) *out = (CHAIN_FN(chain_loose) *)to;
        out[0] = v->v0;
        out[1] = v->v1;
        out[2] = v->v2;
        out[3] = v->v3;
    }
}

/* Less than a strip: by way of one. */
static void CHAIN_FN(chain_part)(const uint8_t *link, int n_links, char *const *p, int64_t at,
                                 int64_t nbytes)
{
    _Alignas(VECTOR) char room[CPU_CHAIN_LINKS][STRIP];
    char *q[CPU_CHAIN_LINKS] = {room[0]};
    memset(room, 0, sizeof room);
    for (int i = 0; i < n_links; i++) {
        const int form = link[i] % 8,
                  scalar = form == CPU_LINK_SCALAR || form == CPU_LINK_SCALAR_FIRST;
        q[i] = scalar ? p[i] : room[i];
        if (!scalar)
            memcpy(room[i], p[i] + at, (size_t)nbytes);
    }
    const CHAIN_FN(chain_strip) v = CHAIN_FN(chain_at)(link, n_links, q, 0, 0);
    memcpy(p[n_links] + at, &v, (size_t)nbytes);
}

static void CHAIN_FN(chain)(const uint8_t *link, int n_links, char *const *p, int64_t n, int stream)
{
    char *const out = p[n_links];
    const int64_t nbytes = n * (int64_t)sizeof(CHAIN_T);
    int64_t at = stream ? (int64_t)(-(uintptr_t)out & 63) : 0;
    at = at < nbytes ? at : nbytes;
    for (int64_t i = 0; i < at; i += STRIP)
        CHAIN_FN(chain_part)(link, n_links, p, i, at - i < STRIP ? at - i : STRIP);
    for (; at + STRIP <= nbytes; at += STRIP) {
        const CHAIN_FN(chain_strip) v = CHAIN_FN(chain_at)(link, n_links, p, at, stream);
        CHAIN_FN(chain_put)(out + at, &v, stream);
    }
    if (at < nbytes)
        CHAIN_FN(chain_part)(link, n_links, p, at, nbytes - at);
}
#undef CHAIN_V
#undef CHAIN_CASE
#undef CHAIN_X
#undef CHAIN_S
#undef CHAIN_W
#undef CHAIN_OP
#undef CHAIN_T
#undef CHAIN_FN
