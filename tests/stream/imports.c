/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The stream check where memory has two names: arrays, and imports of what they lie in. */
#include "tests/stream/order.h"

/* An array, and an import of elements from..from + n of its memory. */
typedef struct {
    nd_array *own, *import;
    nd_stream *other;
    bool ordered;
} two_names;

static two_names make_names(int64_t from, int64_t n)
{
    const int64_t shape[1] = {n}, all[1] = {64};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = shape};
    two_names t = {.other = new_stream(0)};
    void *data;
    DO(nd_full(sim[0], ND_F32, 1, all, nd_float(1), &t.own));
    DO(nd_data(t.own, &data));
    DO(nd_wrap(&layout, (float *)data + from, sim[0], NULL, NULL, &t.import));
    return t;
}

/* Elements 0 to 31 are written by the one name, the import is read by the other. */
static void both_names(void *arg)
{
    const two_names *t = arg;
    const nd_index lower[1] = {nd_range(0, 32, 1)};
    nd_array *half = NULL, *out = NULL;
    DO(nd_slice(t->own, lower, 1, &half));
    DO(nd_fill(half, nd_float(2)));
    if (t->ordered) {
        nd_stream *now = NULL;
        DO(nd_stream_current(sim[0], &now));
        DO(nd_stream_wait_stream(t->other, now));
        nd_stream_release(now);
    }
    DO(nd_stream_push(t->other));
    DO(nd_exp(t->import, &out));
    DO(nd_stream_pop(t->other));
    nd_release(half);
    nd_release(out);
}

/* The check must be on when the import is made. */
static int64_t races_of_names(int64_t from, int64_t n, bool ordered)
{
    nd_stream_check_set(1);
    two_names t = make_names(from, n);
    t.ordered = ordered;
    verdict v = judge(both_names, &t);
    DO(nd_synchronize(sim[0]));
    nd_release(t.import);
    nd_release(t.own);
    nd_stream_release(t.other);
    free(v.text);
    return v.core;
}

static void test_imports(void)
{
    is_int(races_of_names(0, 64, false), 1, "S14: an array and an import of its memory race");
    is_int(races_of_names(31, 8, false), 1, "S14: where one element is of both");
    is_int(races_of_names(32, 32, false), 0, "S14: not where the import lies beside");
    is_int(races_of_names(0, 64, true), 0, "S14: nor where a wait orders them");
}

/* ---- imports and frees while the check is off ---- */
static nd_array *import_of(const nd_array *a)
{
    const nd_layout layout = {
        .size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = nd_shape(a)};
    nd_array *import = NULL;
    void *data = NULL;
    DO(nd_data(a, &data));
    DO(nd_wrap(&layout, data, sim[0], NULL, NULL, &import));
    return import;
}

/* One array is written, the others are read on another stream, which nothing orders. */
enum { READ = 8 };
typedef struct {
    nd_array *written, *read[READ];
} accesses;

static void write_and_read(void *arg)
{
    const accesses *of = arg;
    nd_stream *s = new_stream(0);
    nd_array *out[READ] = {NULL};
    DO(nd_fill(of->written, nd_float(2)));
    DO(nd_stream_push(s));
    for (int i = 0; i < READ && of->read[i]; i++)
        DO(nd_exp(of->read[i], &out[i]));
    DO(nd_stream_pop(s));
    nd_release_all(READ, out);
    nd_stream_release(s);
}

/* Of its memory's other name the check does not know, but of the import itself. */
static void test_import_before(void)
{
    nd_array *own = filled(sim[0], 64, 1), *import = import_of(own);
    accesses of = {import, {import}};
    expect(write_and_read, &of, 1, "S14: an import made before the check was on");
    nd_release(import);
    nd_release(own);
    settle();
}

/* What the check knows of an import or a block ends with it, also where that is while the check is
 * off: the next one may have its name, and lies elsewhere. */
static void test_names_again(void)
{
    enum { LARGE = 1 << 20 };
    nd_array *other = filled(sim[0], 64, 1), *own = filled(sim[0], LARGE, 1), *import = NULL;
    accesses of = {own, {other}};
    nd_stream_check_set(1);
    import = import_of(own);
    expect(write_and_read, &of, 0, "S14: two blocks, one of which has two names");
    nd_release(import);
    nd_release(own);
    settle(); /* the large block goes back to the device */
    for (int i = 0; i < READ; i++)
        of.read[i] = import_of(other);           /* under all names that are free now */
    of.written = own = filled(sim[0], LARGE, 1); /* where the large block was */
    nd_stream_check_set(1);
    import = import_of(own);
    expect(write_and_read, &of, 0, "S14: other memory under the names of what is gone");
    nd_release(import);
    nd_release(own);
    nd_release_all(READ, of.read);
    nd_release(other);
    settle();
}

TAP_MAIN({"imports", test_imports}, {"import_before", test_import_before},
         {"names_again", test_names_again})
