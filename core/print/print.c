/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays as text, laid out like NumPy's: nested brackets, wrapped lines, the middle of long axes
 * left out. Only what is shown is brought to the host. */
#include <stdio.h>
#include <stdlib.h>
#include "core/print/print.h"

typedef struct {
    nd_print_opts o;
    nd_dtype dtype;
    int ndim;
    bool summarise;
    const int64_t *shape;       /* of the whole array */
    int64_t shown[ND_MAX_NDIM]; /* extents of the part shown */
    int64_t step[ND_MAX_NDIM];  /* bytes between its elements */
    char *data;                 /* the part shown, dense */
    nd_number_format format[2]; /* real (or only), imaginary */
    const char *separator;
} printer;

static bool cut(const printer *p, int axis)
{
    return p->summarise && p->shape[axis] > 2 * p->o.edge_items;
}

/* First and last edge items of every long axis, put together. */
static nd_status edges(const printer *p, const nd_array *a, nd_array **out)
{
    nd_array *now = nd_retain((nd_array *)a);
    nd_status status = ND_OK;
    for (int d = 0; d < a->ndim && status == ND_OK; d++) {
        nd_array *part[2] = {NULL, NULL}, *joined = NULL;
        nd_index idx[ND_MAX_NDIM];
        if (!cut(p, d))
            continue;
        for (int e = 0; e < d; e++)
            idx[e] = nd_all_of();
        idx[d] = nd_range(0, p->o.edge_items, 1);
        status = nd_slice(now, idx, d + 1, &part[0]);
        idx[d] = nd_range(a->shape[d] - p->o.edge_items, ND_END_OPEN, 1);
        if (status == ND_OK)
            status = nd_slice(now, idx, d + 1, &part[1]);
        if (status == ND_OK)
            status = nd_concat(2, (const nd_array *const *)part, d, &joined);
        nd_release(part[0]);
        nd_release(part[1]);
        nd_release(now);
        now = joined;
    }
    if (status == ND_OK)
        *out = now;
    else
        nd_release(now);
    return status;
}

static nd_status fetch(printer *p, const nd_array *a)
{
    nd_array *part = NULL;
    ND_RETURN_IF(edges(p, a, &part));
    size_t nbytes = (size_t)(part->size * nd__itemsize(a->dtype));
    memcpy(p->shown, part->shape, (size_t)part->ndim * sizeof *p->shown);
    nd__c_strides(part->ndim, part->shape, p->step);
    for (int d = 0; d < part->ndim; d++)
        p->step[d] *= nd__itemsize(a->dtype);
    p->data = malloc(nbytes ? nbytes : 1);
    nd_status status = p->data ? nd_to_host(part, p->data, nbytes)
                               : nd__fail(ND_ERR_MEMORY, "format", -1,
                                          "no %zu bytes for the elements shown", nbytes);
    if (status == ND_OK)
        for (int i = 0; i < 2; i++) {
            p->format[i] = nd__number_format(a->dtype, i && nd__kind(a->dtype) == ND_KIND_COMPLEX,
                                             p->data, part->size, p->o.precision, p->o.suppress);
            if (a->dtype == ND_BOOL && a->ndim > 0)
                p->format[i].left = 5; /* as if there were always a False */
        }
    nd_release(part);
    return status;
}

static void add_text(nd_text *b, const char *text)
{
    nd__text_add(b, "%s", text);
}

static void add_spaces(nd_text *b, int n)
{
    nd__text_add(b, "%*s", n, "");
}

static void element_text(const printer *p, const char *element, char *buf)
{
    if (p->ndim == 0 && p->o.style == ND_PRINT_STR) {
        nd__lone_text(p->dtype, element, buf);
        return;
    }
    nd__number_text(&p->format[0], 0, element, false, buf);
    if (nd__kind(p->dtype) != ND_KIND_COMPLEX)
        return;
    char imaginary[ND_NUMBER_TEXT];
    nd__number_text(&p->format[1], 1, element, true, imaginary);
    /* The j stands right behind the digits; what was padding goes behind it. */
    size_t n = strlen(imaginary), end = n;
    while (end > 0 && imaginary[end - 1] == ' ')
        end--;
    snprintf(buf + strlen(buf), ND_NUMBER_TEXT + 2, "%.*sj%s", (int)end, imaginary,
             imaginary + end);
}

static int width_of_line(const nd_text *b)
{
    size_t at = b->len;
    while (at > 0 && b->data[at - 1] != '\n')
        at--;
    return (int)(b->len - at);
}

static void strip_spaces(nd_text *b)
{
    while (b->len > 0 && b->data[b->len - 1] == ' ')
        b->data[--b->len] = 0;
}

/* A word on the innermost level; begins a new line where it would stick out. */
static void add_word(nd_text *b, const char *word, int indent, int width)
{
    int used = width_of_line(b);
    if (used + (int)strlen(word) > width && used > indent) {
        strip_spaces(b);
        add_text(b, "\n");
        add_spaces(b, indent);
    }
    add_text(b, word);
}

static void innermost(const printer *p, nd_text *b, const char *data, int indent, int width)
{
    int axis = p->ndim - 1;
    char word[2 * ND_NUMBER_TEXT + 8];
    int room = width - 1; /* for the bracket, or the separator's comma */
    for (int64_t i = 0; i < p->shown[axis]; i++) {
        if (cut(p, axis) && i == p->o.edge_items) {
            add_word(b, "...", indent, room);
            add_text(b, p->separator);
        }
        element_text(p, data + i * p->step[axis], word);
        add_word(b, word, indent, room);
        if (i + 1 < p->shown[axis])
            add_text(b, p->separator);
    }
}

static void nested(const printer *p, nd_text *b, int axis, const char *data, int indent, int width)
{
    if (axis == p->ndim) {
        char word[2 * ND_NUMBER_TEXT + 8];
        element_text(p, data, word);
        add_text(b, word);
        return;
    }
    add_text(b, "[");
    if (axis == p->ndim - 1) {
        innermost(p, b, data, indent, width);
    } else {
        for (int64_t i = 0; i < p->shown[axis]; i++) {
            bool gap = cut(p, axis) && i == p->o.edge_items;
            for (int pass = gap ? 0 : 1; pass < 2; pass++) {
                if (i > 0 || pass == 0) {
                    if (p->separator[0] == ',')
                        add_text(b, ",");
                    for (int n = p->ndim - axis - 1; n > 0; n--)
                        add_text(b, "\n");
                    add_spaces(b, indent);
                }
                if (pass == 0)
                    add_text(b, "...");
                else
                    nested(p, b, axis + 1, data + i * p->step[axis], indent + 1, width - 1);
            }
        }
    }
    add_text(b, "]");
}

static void read_opts(const nd_print_opts *opts, nd_print_opts *o)
{
    *o = (nd_print_opts){
        .size = sizeof *o, .precision = 8, .edge_items = 3, .line_width = 75, .threshold = 1000};
    if (opts)
        memcpy(o, opts, opts->size < sizeof *o ? opts->size : sizeof *o);
    o->precision = o->precision < 0 ? 0 : o->precision > 17 ? 17 : o->precision;
    o->edge_items = o->edge_items < 1 ? 1 : o->edge_items;
    o->line_width = o->line_width < 10 ? 10 : o->line_width;
}

/* ", dtype=float32, device='cpu:0')" on the last line, or below it where it would stick out. */
static void add_tail(nd_text *b, const nd_array *a, const nd_print_opts *o)
{
    char tail[256], shape[ND_SHAPE_TEXT];
    int n = 0;
    if (a->size == 0 && !(a->ndim == 1))
        n = snprintf(tail, sizeof tail, "shape=%s, ",
                     nd__shape_text(a->ndim, a->shape, shape, sizeof shape));
    snprintf(tail + n, sizeof tail - (size_t)n, "dtype=%s, device='%s')",
             nd_dtype_get(a->dtype)->standard, a->storage->device->name);
    add_text(b, ",");
    if (width_of_line(b) + 1 + (int)strlen(tail) > o->line_width) {
        add_text(b, "\n");
        add_spaces(b, (int)strlen("array("));
    } else {
        add_text(b, " ");
    }
    add_text(b, tail);
}

nd_status nd_format(const nd_array *a, const nd_print_opts *opts, char **out)
{
    printer p = {0};
    nd_text b = {0};
    nd_status status;
    ND_OUT("format", 2, out, NULL);
    ND_RETURN_IF(nd__check_array("format", a, 0));
    if (opts && opts->size < NDP_END(nd_print_opts, style))
        return nd__fail(ND_ERR_ARGUMENT, "format", 1,
                        "the options' size field is %u; set it to sizeof", opts->size);
    read_opts(opts, &p.o);
    bool repr = p.o.style == ND_PRINT_REPR;
    p.dtype = a->dtype;
    p.ndim = a->ndim;
    p.shape = a->shape;
    p.summarise = a->size > p.o.threshold;
    p.separator = repr ? ", " : " ";
    ND_GOTO_IF(done, fetch(&p, a));
    if (repr)
        add_text(&b, "array(");
    if (a->size == 0)
        add_text(&b, "[]");
    else
        nested(&p, &b, 0, p.data, repr ? (int)strlen("array([") : 1, p.o.line_width - repr);
    if (repr)
        add_tail(&b, a, &p.o);
    if (b.failed)
        ND_GOTO_IF(done, nd__fail(ND_ERR_MEMORY, "format", -1, "no memory for the text"));
    *out = b.data;
    b.data = NULL;
done:
    free(b.data);
    free(p.data);
    return status;
}
