/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Numbers as text in rows and columns, into a file or into memory. */
#include <stdlib.h>
#include <string.h>
#include "core/ops/ops.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/io/csv_format.h"
#include "core/io/elements.h"

enum { FULL = 1 << 18 }; /* bytes that are written at a time */

typedef struct {
    const char *op;
    int32_t argument; /* of the options */
    const nd_csv_save_opts *opts;
    nd_text text;
    nd__writer *file; /* NULL: the text stays in memory */
    nd_dtype dtype;
    nd_float_format format;
    nd__csv_format row;
} writer;

static nd_status flush(writer *w, size_t most)
{
    if (w->text.failed)
        return nd__fail(ND_ERR_MEMORY, w->op, -1, "no memory for the text");
    if (!w->file || w->text.len <= most)
        return ND_OK;
    const size_t n = w->text.len;
    w->text.len = 0;
    return nd__writer_put(w->file, w->text.data, n);
}

/* Part 0 or 1 of an element. */
static nd__number number_of(const writer *w, const char *p, int part)
{
    nd__number x = {.kind = ND__NUMBER_REAL, .format = w->format};
    const nd_scalar s = nd__scalar_load(w->dtype, p);
    if (s.kind == ND_C128)
        x.real = s.v.c[part];
    else if (s.kind == ND_F64)
        x.real = s.v.f;
    else if (s.kind == ND_I64)
        x = (nd__number){.kind = ND__NUMBER_INT, .i = s.v.i};
    else
        x = (nd__number){.kind = w->dtype == ND_BOOL ? ND__NUMBER_BOOL : ND__NUMBER_UINT,
                         .u = s.v.u};
    return x;
}

/* "+-" of a complex cell becomes "-", as NumPy writes it. */
static void join_signs(nd_text *t, size_t begin)
{
    size_t to = begin;
    for (size_t i = begin; i < t->len; i++)
        if (t->data[i] != '+' || i + 1 == t->len || t->data[i + 1] != '-')
            t->data[to++] = t->data[i];
    t->len = to;
    t->data[to] = 0;
}

static nd_status put_row(writer *w, const char *p, int64_t row)
{
    const nd__csv_format *f = &w->row;
    const bool is_complex = nd_dtype_get(w->dtype)->kind == ND_KIND_COMPLEX;
    const size_t item = nd_dtype_size(w->dtype), begin = w->text.len;
    const char *literals = f->literals.data ? f->literals.data : "";
    for (int64_t i = 0; i < f->n_steps; i++) {
        char cell[ND__NUMBER_ROOM];
        const char *why = "";
        const int64_t column = is_complex ? i / 2 : i;
        const nd__number x = number_of(w, p + (size_t)column * item, is_complex ? i % 2 : 0);
        const int n = nd__number_write(&f->steps[i].spec, &x, cell, &why);
        if (n < 0)
            return nd__fail(ND_ERR_ARGUMENT, w->op, w->argument,
                            "the element at row %lld, column %lld is %s", (long long)row,
                            (long long)column, why);
        nd__text_bytes(&w->text, literals + f->steps[i].text, f->steps[i].n);
        nd__text_bytes(&w->text, cell, (size_t)n);
    }
    nd__text_bytes(&w->text, literals + f->text, f->n);
    if (is_complex && f->n_steps && !w->text.failed)
        join_signs(&w->text, begin);
    nd__text_puts(&w->text, w->opts->newline ? w->opts->newline : "\n");
    return flush(w, FULL);
}

/* Each line of the text after what begins comments. */
static void put_comment(writer *w, const char *text)
{
    const char *before = w->opts->comments ? w->opts->comments : "# ";
    if (!text || !*text)
        return;
    for (;;) {
        const size_t n = strcspn(text, "\n");
        nd__text_puts(&w->text, before);
        nd__text_bytes(&w->text, text, n);
        text += n;
        if (!*text)
            break;
        nd__text_bytes(&w->text, text++, 1);
    }
    nd__text_puts(&w->text, w->opts->newline ? w->opts->newline : "\n");
}

static nd_status put_rows(writer *w, const nd_array *a)
{
    const int64_t rows = nd_shape(a)[0], columns = nd_ndim(a) == 2 ? nd_shape(a)[1] : 1;
    const bool is_complex = nd_dtype_get(w->dtype)->kind == ND_KIND_COMPLEX;
    nd__host_copy copy = {0};
    nd_status status;
    ND_GOTO_IF(done,
               nd__csv_format_make(w->op, w->argument, w->opts, columns, is_complex, &w->row));
    ND_GOTO_IF(done, nd__host_copy_open(w->op, a, ND__HOST_IS_BIG, &copy));
    put_comment(w, w->opts->header);
    const char *p = copy.data;
    for (int64_t i = 0; i < rows; i++, p += (size_t)columns * nd_dtype_size(w->dtype))
        ND_GOTO_IF(done, put_row(w, p, i));
    put_comment(w, w->opts->footer);
    status = flush(w, 0);
done:
    nd__csv_format_end(&w->row);
    nd__host_copy_close(&copy);
    return status;
}

/* Whatever the caller's options are; *usual stands in for none. */
static nd_status prepare(writer *w, const nd_array *a, const nd_csv_save_opts *usual)
{
    if (!w->opts)
        w->opts = usual;
    if (w->opts->size < sizeof *w->opts)
        return nd__fail(ND_ERR_ARGUMENT, w->op, w->argument,
                        "opts->size is %u: set it to sizeof(nd_csv_save_opts), %zu",
                        (unsigned)w->opts->size, sizeof *w->opts);
    if (nd_ndim(a) < 1 || nd_ndim(a) > 2)
        return nd__fail(ND_ERR_SHAPE, w->op, w->argument - 1,
                        "the array has %d dimensions; rows and columns are 1 or 2", nd_ndim(a));
    w->dtype = nd_dtype_of(a);
    if (nd_dtype_get(w->dtype)->kind & (ND_KIND_FLOAT | ND__KINDS_STORED | ND_KIND_COMPLEX))
        w->format = nd__float_format(w->dtype);
    return ND_OK;
}

nd_status nd_csv_save(const char *path, const nd_array *a, const nd_csv_save_opts *opts)
{
    static const nd_csv_save_opts usual = {.size = sizeof usual};
    writer w = {.op = "csv_save", .argument = 2, .opts = opts};
    nd__writer file;
    nd_status status;
    ND_NEED(w.op, 1, a);
    ND_RETURN_IF(prepare(&w, a, &usual));
    const nd_save_opts save = {sizeof save, w.opts->sync};
    ND_RETURN_IF(nd__writer_open(w.op, path, &file));
    w.file = &file;
    ND_GOTO_IF(done, put_rows(&w, a));
    ND_GOTO_IF(done, nd__writer_commit(&file, &save));
done:
    nd__writer_close(&file);
    free(w.text.data);
    return status;
}

nd_status nd_csv_text(const nd_array *a, const nd_csv_save_opts *opts, char **out)
{
    static const nd_csv_save_opts usual = {.size = sizeof usual};
    writer w = {.op = "csv_text", .argument = 1, .opts = opts};
    ND_OUT(w.op, 2, out, NULL);
    ND_NEED(w.op, 0, a);
    ND_RETURN_IF(prepare(&w, a, &usual));
    nd_status status = put_rows(&w, a);
    if (status == ND_OK && !w.text.data && !(w.text.data = calloc(1, 1)))
        status = nd__fail(ND_ERR_MEMORY, w.op, -1, "no memory for the text");
    if (status == ND_OK)
        *out = w.text.data;
    else
        free(w.text.data);
    return status;
}
