/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Settings of arithmetic: defaults, inheritance, names of other libraries, threads, strictness; on
 * the CPU, which honours none of them. */
#include <ndock/ndock.h>
#include <pthread.h>
#include "tests/tap.h"

enum { F32 = ND_MATH_F32_MATMUL };

static void clear(void)
{
    static const char *const plugins[] = {NULL, "cuda", "cpu"};
    static const nd_op ops[] = {ND_OP_NONE, ND_OP_matmul};
    for (int s = 0; s < ND_MATH_SETTINGS; s++)
        for (int i = 0; i < 6; i++)
            if (nd_math_set(s, plugins[i % 3], ops[i / 3], ND_MATH_UNSET) != ND_OK)
                diag("setting %d cannot be cleared", s);
}

static void defaults(void)
{
    static const int32_t want[ND_MATH_SETTINGS] = {
        ND_MATH_IEEE, ND_MATH_OFF,    ND_MATH_ON,  ND_MATH_OFF, ND_MATH_ON,
        ND_MATH_F32,  ND_MATH_NATIVE, ND_MATH_OFF, ND_MATH_OFF, ND_MATH_OFF};
    for (int s = 0; s < ND_MATH_SETTINGS; s++) {
        int32_t got = nd_math_get(s, "cuda", ND_OP_matmul);
        ok(got == want[s], "M1 default of setting %d: %d", s, (int)got);
    }
    is_int(nd_math_get(-1, NULL, 0), ND_MATH_UNSET, "M2 a read never fails");
    is_int(nd_math_get(99, "nobody", 1 << 20), ND_MATH_UNSET, "M2 nor for anything unknown");
    is_int(nd_math_get(F32, "nobody", 1 << 20), ND_MATH_IEEE, "M2 an unknown plug-in inherits");
}

/* Every subset of the four levels: the most specific one that is set answers. */
static void inheritance(void)
{
    static const struct {
        const char *plugin;
        nd_op op;
    } levels[4] = {{"cuda", ND_OP_matmul}, {NULL, ND_OP_matmul}, {"cuda", 0}, {NULL, 0}};
    static const int32_t values[4] = {ND_MATH_TF32, ND_MATH_BF16X9, ND_MATH_IEEE, ND_MATH_TF32};
    /* Which levels a reader of level r asks, in order. */
    static const int asked[4][5] = {{0, 1, 2, 3, -1}, {1, 3, -1}, {2, 3, -1}, {3, -1}};
    int bad = 0;
    for (unsigned set = 0; set < 16; set++) {
        for (int i = 0; i < 4; i++)
            bad += nd_math_set(F32, levels[i].plugin, levels[i].op,
                               set >> i & 1 ? values[i] : ND_MATH_UNSET) != ND_OK;
        for (int r = 0; r < 4; r++) {
            int32_t want = ND_MATH_IEEE;
            for (int i = 0; asked[r][i] >= 0; i++)
                if (set >> asked[r][i] & 1) {
                    want = values[asked[r][i]];
                    break;
                }
            bad += nd_math_get(F32, levels[r].plugin, levels[r].op) != want;
        }
        bad += nd_math_get(ND_MATH_F16_REDUCTION, "cuda", ND_OP_matmul) != ND_MATH_OFF;
    }
    is_int(bad, 0, "M2 sixteen sets of levels, each read at four");
    clear();
}

static void views(void)
{
    const char *text;
    is_str(nd_math_matmul_precision(), "highest", "M3 highest by default");
    is_int(nd_math_set_allow_tf32(1), 0, "M3 allow_tf32");
    is_str(nd_math_matmul_precision(), "high", "M3 shows as high");
    is_int(nd_math_set_fp32_precision("cuda.matmul", "ieee"), 0, "M3 cuda.matmul ieee");
    ok(nd_math_allow_tf32(), "M3 leaves the global setting");
    is_int(nd_math_fp32_precision("cuda", &text), 0, "M3 cuda reads");
    is_str(text, "tf32", "M3 what it inherits");
    is_int(nd_math_fp32_precision("cuda.matmul", &text), 0, "M3 cuda.matmul reads");
    is_str(text, "ieee", "M3 its own");
    is_int(nd_math_set_fp32_precision("cuda.matmul", "none"), 0, "M3 none");
    is_int(nd_math_set_matmul_precision("medium"), 0, "M3 medium");
    is_int(nd_math_get(F32, "cuda", ND_OP_matmul), ND_MATH_TF32, "M3 inherits again");
    is_int(nd_math_set_matmul_precision("highest"), 0, "M3 highest");
    ok(!nd_math_allow_tf32(), "M3 takes tf32 away");
    is_int(nd_math_set_fp32_precision("", "bf16x9"), 0, "M3 bf16x9 for everything");
    is_str(nd_math_matmul_precision(), "highest", "M3 has f32's accuracy");
    is_int(nd_math_set_matmul_precision("best"), ND_ERR_ARGUMENT, "M3 an unknown word");
    is_int(nd_math_set_fp32_precision("cuda.nothing", "ieee"), ND_ERR_ARGUMENT, "M3 unknown op");
    is_int(nd_math_set_fp32_precision("cuda", "fast"), ND_ERR_ARGUMENT, "M3 unknown precision");
    clear();
}

static void *other_thread(void *seen)
{
    *(int32_t *)seen = nd_math_get(F32, NULL, 0);
    return NULL;
}

static void threads(void)
{
    pthread_t t;
    int32_t seen = 0;
    is_int(nd_math_push(F32, NULL, 0, ND_MATH_TF32), 0, "M4 push");
    is_int(nd_math_push(F32, NULL, 0, ND_MATH_BF16X9), 0, "M4 push again");
    is_int(nd_math_get(F32, "cuda", ND_OP_matmul), ND_MATH_BF16X9, "M4 the last one counts");
    if (pthread_create(&t, NULL, other_thread, &seen) == 0)
        pthread_join(t, NULL);
    is_int(seen, ND_MATH_IEEE, "M4 another thread sees none of it");
    is_int(nd_math_pop(), 0, "M4 pop");
    is_int(nd_math_get(F32, NULL, 0), ND_MATH_TF32, "M4 the one below");
    is_int(nd_math_pop(), 0, "M4 pop again");
    is_int(nd_math_get(F32, NULL, 0), ND_MATH_IEEE, "M4 the process's");
    is_int(nd_math_pop(), ND_ERR_STATE, "M4 nothing left to pop");
    int pushed = 0;
    while (pushed < 100 && nd_math_push(F32, NULL, 0, ND_MATH_TF32) == ND_OK)
        pushed++;
    is_int(pushed, 32, "M4 32 deep");
    while (pushed-- > 0)
        if (nd_math_pop() != ND_OK)
            diag("pop failed");
}

static void legality(void)
{
    int bad = 0;
    static const int32_t allowed[ND_MATH_SETTINGS] = {0xf,  0x31,  0x31, 0x31, 0x31,
                                                      0xc1, 0x301, 0x31, 0x31, 0x31};
    for (int s = 0; s < ND_MATH_SETTINGS; s++)
        for (int v = 0; v < 12; v++) {
            nd_status want = allowed[s] >> v & 1 ? ND_OK : ND_ERR_ARGUMENT;
            bad += nd_math_set(s, NULL, 0, v) != want;
            bad += nd_math_set(s, NULL, 0, ND_MATH_UNSET) != ND_OK;
        }
    is_int(bad, 0, "M12 each setting takes its own values alone");
    is_int(nd_math_set(ND_MATH_SETTINGS, NULL, 0, 1), ND_ERR_ARGUMENT, "M12 no such setting");
    is_int(nd_math_set(F32, NULL, 1 << 20, 1), ND_ERR_ARGUMENT, "M12 no such op");
    is_int(nd_math_set(ND_MATH_F16_SPLIT_K, NULL, 0, ND_MATH_OFF), 0, "M12 no split k");
    is_int(nd_math_set(ND_MATH_F16_REDUCTION, NULL, 0, ND_MATH_ON), ND_ERR_STATE,
           "M12 refuses reduced sums of it");
    is_int(nd_math_set(ND_MATH_BF16_REDUCTION, NULL, 0, ND_MATH_ON), 0, "M12 bf16 is another pair");
    is_int(nd_math_set(ND_MATH_BF16_SPLIT_K, NULL, 0, ND_MATH_OFF), ND_ERR_STATE,
           "M12 the other way round");
    clear();
}

static void cpu(void)
{
    const float x[4] = {1, 2, 3, 4};
    const int64_t shape[2] = {2, 2};
    nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 2, .shape = shape};
    nd_device *dev = NULL;
    nd_array *a = NULL, *r = NULL;
    const char *text = "";
    is_int(nd_device_get("cpu", &dev), 0, "cpu");
    is_int(nd_from_host(&layout, x, dev, &a), 0, "an array");
    is_int(nd_math_set_allow_tf32(1), 0, "tf32 allowed");
    is_int(nd_effective_precision(ND_OP_matmul, ND_F32, dev, NULL, &text), 0, "M6 asked");
    is_str(text, "ieee", "M10 the CPU answers ieee");
    is_int(nd_effective_precision(ND_OP_matmul, ND_BOOL, dev, NULL, &text), ND_ERR_DTYPE,
           "M6 a dtype that it has not");
    is_int(nd_effective_precision(-5, ND_F32, dev, NULL, &text), ND_ERR_ARGUMENT, "M6 no such op");
    is_int(nd_matmul(a, a, NULL, &r), 0, "M10 a hint to the CPU");
    nd_release(r);
    is_int(nd_math_set(ND_MATH_STRICT, "cpu", 0, ND_MATH_ON), 0, "strict");
    is_int(nd_matmul(a, a, NULL, &r), ND_ERR_UNSUPPORTED, "M10 an error where strict");
    ok(strstr(nd_last_error()->message, "f32 matmul") != NULL, "M10 that names the setting: %s",
       nd_last_error()->message);
    is_int(nd_math_set_allow_tf32(0), 0, "ieee again");
    is_int(nd_math_set(ND_MATH_DETERMINISTIC, NULL, 0, ND_MATH_ON), 0, "M13 deterministic");
    is_int(nd_matmul(a, a, NULL, &r), 0, "M13 the CPU always is");
    nd_release(r);
    nd_release(a);
    clear();
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"defaults", defaults},       {"views", views},
                                     {"inheritance", inheritance}, {"threads", threads},
                                     {"legality", legality},       {"cpu", cpu}};
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
