/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Exchange with the shared array as each operand of a call in turn: an export knows of the use
 * (I5), an import is read behind its producer (I10), whose next write lies behind our use (I11);
 * and two imports of two producers in one call. Under the race checker of the simulated device. */
#include "core/ops/ops.h"
#include "tests/interop/exchange.h"

enum { N = 96, ROWS = 8, COLUMNS = 12, MOST = 3 };

/* What an operand is: v a vector, b of bool, i of indices (zeros), m a matrix, t its transpose's
 * shape, r a row of it, c of the product's. A capital letter is written to. */
typedef struct {
    const char *name, *operands;
    nd_status (*call)(nd_array *const *x, nd_array **out);
} operation;

static nd_status add(nd_array *const *x, nd_array **out)
{
    return nd_add(x[0], x[1], out);
}
static nd_status add_into(nd_array *const *x, nd_array **out)
{
    (void)out;
    return nd_add_into(x[0], x[1], x[2]);
}
static nd_status where(nd_array *const *x, nd_array **out)
{
    return nd_where(x[0], x[1], x[2], out);
}
static nd_status fma_of(nd_array *const *x, nd_array **out)
{
    return nd_fma(x[0], x[1], x[2], out);
}
static nd_status biased_product(nd_array *const *x, nd_array **out)
{
    const nd_matmul_opts opts = {.size = sizeof opts, .bias = x[2]};
    return nd_matmul(x[0], x[1], &opts, out);
}
static nd_status product_into(nd_array *const *x, nd_array **out)
{
    (void)out;
    return nd_matmul_into(x[0], x[1], NULL, x[2]);
}
static nd_status take(nd_array *const *x, nd_array **out)
{
    return nd_take(x[0], x[1], 0, out);
}
static nd_status scatter(nd_array *const *x, nd_array **out)
{
    return nd_scatter(x[0], x[1], x[2], 0, 0, out);
}
static nd_status scatter_into(nd_array *const *x, nd_array **out)
{
    (void)out;
    return nd_scatter_into(x[0], x[1], 0, 0, x[2]);
}
static nd_status index_add(nd_array *const *x, nd_array **out)
{
    return nd_index_add(x[0], x[1], x[2], 0, out);
}
static nd_status take_along(nd_array *const *x, nd_array **out)
{
    return nd_take_along_axis(x[0], x[1], 0, out);
}
static nd_status concat(nd_array *const *x, nd_array **out)
{
    return nd_concat(3, (const nd_array *const *)x, 0, out);
}
static nd_status stack(nd_array *const *x, nd_array **out)
{
    return nd_stack(3, (const nd_array *const *)x, 0, out);
}
static nd_status assign(nd_array *const *x, nd_array **out)
{
    (void)out;
    return nd_assign(x[0], x[1]);
}
static nd_status searchsorted(nd_array *const *x, nd_array **out)
{
    return nd_searchsorted(x[0], x[1], 0, NULL, out);
}
static nd_status layer_norm(nd_array *const *x, nd_array **out)
{
    return nd_layer_norm(x[0], x[1], x[2], NULL, out);
}
static nd_status rms_norm(nd_array *const *x, nd_array **out)
{
    return nd_rms_norm(x[0], x[1], NULL, out);
}
static const operation operations[] = {
    {"add", "vv", add},
    {"add_into", "vvV", add_into},
    {"where", "bvv", where},
    {"fma", "vvv", fma_of},
    {"matmul with a bias", "mtc", biased_product},
    {"matmul_into", "mtP", product_into},
    {"take", "vi", take},
    {"scatter", "viv", scatter},
    {"scatter_into", "ivV", scatter_into},
    {"index_add", "viv", index_add},
    {"take_along_axis", "vi", take_along},
    {"concat", "vvv", concat},
    {"stack", "vvv", stack},
    {"assign", "vV", assign},
    {"searchsorted", "vv", searchsorted},
    {"layer_norm", "mrr", layer_norm},
    {"rms_norm", "mr", rms_norm},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static nd_array *operand(char kind)
{
    static const struct {
        char kind;
        nd_dtype dtype;
        int ndim;
        int64_t shape[2];
    } kinds[] = {{'v', ND_F32, 1, {N}},
                 {'b', ND_BOOL, 1, {N}},
                 {'i', ND_I64, 1, {N}},
                 {'m', ND_F32, 2, {ROWS, COLUMNS}},
                 {'t', ND_F32, 2, {COLUMNS, ROWS}},
                 {'r', ND_F32, 1, {COLUMNS}},
                 {'c', ND_F32, 1, {ROWS}},
                 {'p', ND_F32, 2, {ROWS, ROWS}}};
    size_t k = 0;
    nd_array *a = NULL;
    while (k + 1 < sizeof kinds / sizeof *kinds && kinds[k].kind != (kind | 0x20))
        k++;
    DO(nd_zeros(sim[0], kinds[k].dtype, kinds[k].ndim, kinds[k].shape, &a));
    return a;
}

static void operands(const operation *o, nd_array **x)
{
    for (int i = 0; o->operands[i]; i++)
        x[i] = operand(o->operands[i]);
}

/* Work of a stranger on what the array holds: zeros again, so that indices stay good. */
static void strangers_write(uint64_t handle, const nd_array *a)
{
    nd_stream *s = NULL;
    DO(nd_stream_wrap(sim[0], handle, NULL, NULL, &s));
    DO(nd_stream_push(s));
    DO(nd_fill(a, nd_int(0)));
    DO(nd_stream_pop(s));
    nd_stream_release(s);
}

static nd_array *import_from(const nd_array *theirs, uint64_t producer)
{
    nd_cai c = {.size = sizeof c};
    const nd_cai_export_opts described = {.size = sizeof described, .policy = ND_CAI_EXPORT_NONE};
    const nd_cai_import_opts opts = {.size = sizeof opts, .sync = ND_CAI_SYNC_ON, .device = sim[0]};
    nd_array *a = NULL;
    DO(nd_cai_export(theirs, &described, &c));
    c.stream = (int64_t)producer;
    DO(nd_cai_import(&c, &opts, &a));
    return a;
}

/* What a call needs at first, kernels and status words, is there, and the checker begins anew. */
static void warm_up(const operation *o, nd_stream *s)
{
    nd_array *x[MOST] = {NULL}, *r = NULL;
    operands(o, x);
    DO(nd_synchronize(sim[0]));
    DO(nd_stream_push(s));
    DO(o->call(x, &r));
    DO(nd_stream_pop(s));
    nd_release(r);
    for (int i = 0; i < MOST; i++)
        nd_release(x[i]);
    DO(nd_synchronize(sim[0]));
}

/* Both ways of the exchange with operand k; how many races, -1 where the export names no stream. */
static int exported(const operation *o, int k, nd_stream *s)
{
    nd_array *x[MOST] = {NULL}, *r = NULL;
    nd_cai c = {.size = sizeof c};
    operands(o, x);
    DO(nd_synchronize(sim[0]));
    check_on();
    DO(nd_stream_push(s));
    DO(o->call(x, &r));
    DO(nd_stream_pop(s));
    DO(nd_cai_export(x[k], NULL, &c));
    strangers_write(1, x[k]);
    int found = c.stream == 1 ? (int)races() : -1;
    show_races();
    nd_release(r);
    for (int i = 0; i < MOST; i++)
        nd_release(x[i]);
    return found;
}

static int imported(const operation *o, uint32_t which, nd_stream *s, const uint64_t *producers)
{
    nd_array *x[MOST] = {NULL}, *theirs[MOST] = {NULL}, *r = NULL;
    operands(o, x);
    memcpy(theirs, x, sizeof x);
    DO(nd_synchronize(sim[0]));
    check_on();
    DO(nd_stream_push(s)); /* which the imports put behind their producers */
    for (int i = 0; i < MOST; i++)
        if (which >> i & 1) {
            strangers_write(producers[i], theirs[i]);
            x[i] = import_from(theirs[i], producers[i]);
        }
    DO(o->call(x, &r));
    DO(nd_stream_pop(s));
    for (int i = 0; i < MOST; i++)
        if (which >> i & 1)
            strangers_write(producers[i], theirs[i]);
    const int found = (int)races();
    show_races();
    nd_release(r);
    for (int i = 0; i < MOST; i++) {
        if (theirs[i] != x[i])
            nd_release(theirs[i]);
        nd_release(x[i]);
    }
    return found;
}

static void i5_every_operand(void)
{
    nd_stream *s = new_stream(0);
    for (int i = 0; i < OPERATIONS; i++) {
        const operation *o = &operations[i];
        warm_up(o, s);
        for (int k = 0; o->operands[k]; k++)
            if (!ok(exported(o, k, s) == 0, "I5: %s: a use as operand %d is pending work", o->name,
                    k + 1))
                diag("-1: the export named no stream; else races");
    }
    nd_stream_release(s);
    settle();
}

/* Each operand alone, each pair, all of them; every one of a producer of its own. */
static void i10_i11_every_operand(void)
{
    nd_stream *s = new_stream(0);
    uint64_t producers[MOST];
    for (int i = 0; i < MOST; i++)
        producers[i] = strangers_stream();
    for (int i = 0; i < OPERATIONS; i++) {
        const operation *o = &operations[i];
        warm_up(o, s);
        for (uint32_t which = 1; which < 1u << strlen(o->operands); which++)
            ok(imported(o, which, s, producers) == 0,
               "I10 I11: %s: imports as operands %s%s%s: between what their producers write",
               o->name, which & 1 ? "1 " : "", which & 2 ? "2 " : "", which & 4 ? "3" : "");
    }
    nd_stream_release(s);
    settle();
}

/* More imports than the table of producers has places. */
static void i11_many_imports(void)
{
    enum { IMPORTS = 150 };
    static nd_array *theirs[IMPORTS], *a[IMPORTS], *r[IMPORTS];
    const uint64_t producers[2] = {strangers_stream(), strangers_stream()};
    nd_stream *s = new_stream(0);
    for (int i = 0; i < IMPORTS; i++)
        theirs[i] = operand('v');
    DO(nd_synchronize(sim[0]));
    check_on();
    DO(nd_stream_push(s));
    for (int i = 0; i < IMPORTS; i++)
        a[i] = import_from(theirs[i], producers[i % 2]);
    for (int i = 0; i < IMPORTS; i++) {
        DO(nd_negative(a[i], &r[i]));
        strangers_write(producers[i % 2], theirs[i]); /* before the next one's use */
    }
    DO(nd_stream_pop(s));
    no_race("I11: of many imports, each one's producer lies behind its use");
    for (int i = 0; i < IMPORTS; i++) {
        nd_release(r[i]);
        nd_release(a[i]);
        nd_release(theirs[i]);
    }
    nd_stream_release(s);
    settle();
}

/* A program's kernel, whose memory accesses the checker does not see: the export does. */
static void three(const uint32_t grid[3], const uint32_t block[3], void *const *x)
{
    (void)grid;
    (void)block;
    for (int i = 0; i < N; i++)
        ((float *)x[2])[i] = ((const float *)x[0])[i] + ((const float *)x[1])[i];
}

static void i5_launch(void)
{
    static const ndp_host_function functions[] = {{"three", three}};
    const nd_module_opts opts = {
        .size = sizeof opts, .kind = ND_CODE_HOST, .code = functions, .nbytes = sizeof functions};
    const nd_launch_opts shape = {.size = sizeof shape, .grid = {1, 1, 1}, .block = {1, 1, 1}};
    nd_module *m = NULL;
    nd_function *f = NULL;
    nd_array *x[MOST];
    nd_stream *s = new_stream(0);
    DO(nd_module_get(sim[0], &opts, &m));
    DO(nd_module_function(m, "three", &f));
    for (int i = 0; i < MOST; i++)
        x[i] = filled(sim[0], N, i + 1);
    DO(nd_synchronize(sim[0]));
    for (int i = 0; i < MOST; i++) {
        nd_cai c = {.size = sizeof c};
        DO(nd_cai_export(x[i], NULL, &c));
        ok(c.stream == ND_CAI_NO_STREAM, "I4: nothing is pending before the launch");
    }
    const nd_launch_arg args[MOST] = {nd_launch_in(x[0]), nd_launch_in(x[1]), nd_launch_out(x[2])};
    DO(nd_stream_push(s));
    DO(nd_launch(f, args, MOST, &shape));
    DO(nd_stream_pop(s));
    for (int i = MOST - 1; i >= 0; i--) {
        nd_cai c = {.size = sizeof c};
        DO(nd_cai_export(x[i], NULL, &c));
        ok(c.stream == 1, "I5: a launch's argument %d is pending work", i + 1);
    }
    ok(value_of(x[2]) == 3, "I5: what the kernel wrote is there");
    for (int i = 0; i < MOST; i++)
        nd_release(x[i]);
    nd_stream_release(s);
    nd_module_release(m);
    settle();
}

TAP_MAIN({"i5_every_operand", i5_every_operand}, {"i10_i11_every_operand", i10_i11_every_operand},
         {"i11_many_imports", i11_many_imports}, {"i5_launch", i5_launch})
