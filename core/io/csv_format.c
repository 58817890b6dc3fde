/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reads the format of a row, in the language of Python's %. It is checked here once, so that what
 * goes to printf later is ours. */
#include <stdlib.h>
#include <string.h>
#include "core/base/base.h"
#include "core/base/json.h"
#include "core/io/csv_format.h"

enum { WIDTH_MAX = 400, PRECISION_MAX = 120 };

typedef struct {
    const char *op;
    int32_t argument;
    const char *format;
} source;

static nd_status bad(const source *s, const char *what)
{
    char quoted[80];
    return nd__fail(ND_ERR_ARGUMENT, s->op, s->argument, "format \"%s\": %s",
                    nd__quote(quoted, sizeof quoted, s->format, strlen(s->format)), what);
}

static nd_status no_memory(const source *s)
{
    return nd__fail(ND_ERR_MEMORY, s->op, -1, "no memory for the format");
}

/* A number of at most `most`; -1 without digits, most + 1 where it is larger. */
static int read_count(const char **p, int most)
{
    int v = -1;
    for (; **p >= '0' && **p <= '9'; ++*p) {
        v = (v < 0 ? 0 : v) * 10 + (**p - '0');
        v = v > most ? most + 1 : v;
    }
    return v;
}

/* What follows a '%'; *p ends behind it. */
static nd_status read_spec(const source *s, const char **p, nd__spec *spec)
{
    size_t n = 0;
    *spec = (nd__spec){.precision = -1};
    while (**p && strchr("-+ #0", **p)) {
        if (!strchr(spec->flags, **p) && n + 1 < sizeof spec->flags)
            spec->flags[n++] = **p;
        ++*p;
    }
    spec->width = read_count(p, WIDTH_MAX);
    if (**p == '.') {
        ++*p;
        spec->precision = read_count(p, PRECISION_MAX);
        spec->precision = spec->precision < 0 ? 0 : spec->precision;
    }
    if (spec->width > WIDTH_MAX || spec->precision > PRECISION_MAX)
        return bad(s, "a width above 400, or a precision above 120");
    if (**p == '*')
        return bad(s, "a width or precision of * has nothing to stand for");
    while (**p == 'l' || **p == 'h' || **p == 'L')
        ++*p;
    if (!**p || !strchr("diuoxXeEfFgGsr", **p))
        return bad(s, "a conversion is none of d i u o x X e E f F g G s r");
    spec->conversion = *(*p)++;
    spec->signs = strchr(spec->flags, '+') != NULL;
    spec->plain = !n && spec->width < 0;
    return ND_OK;
}

/* A step behind the others, whose text is what lies at the end of the literals. */
static nd_status add_step(const source *s, nd__csv_format *f, size_t begin, const nd__spec *spec)
{
    if (f->n_steps == f->room) {
        const int64_t room = f->room ? 2 * f->room : 16;
        nd__csv_step *steps = realloc(f->steps, (size_t)room * sizeof *steps);
        if (!steps)
            return no_memory(s);
        f->steps = steps;
        f->room = room;
    }
    f->steps[f->n_steps++] = (nd__csv_step){begin, f->literals.len - begin, *spec};
    return ND_OK;
}

/* Adds the steps of a text to f; what follows the last becomes the text before the next. */
static nd_status read_format(const source *s, const char *p, nd__csv_format *f, size_t *begin)
{
    while (*p) {
        const size_t n = strcspn(p, "%");
        nd__text_bytes(&f->literals, p, n);
        p += n;
        if (p[0] == '%' && p[1] == '%') {
            nd__text_bytes(&f->literals, "%", 1);
            p += 2;
        } else if (*p == '%') {
            nd__spec spec;
            p++;
            ND_RETURN_IF(read_spec(s, &p, &spec));
            ND_RETURN_IF(add_step(s, f, *begin, &spec));
            *begin = f->literals.len;
        }
    }
    return ND_OK;
}

/* How many conversions the format has; -1 after an error. */
static nd_status count_steps(const source *s, int64_t *n)
{
    nd__csv_format f = {0};
    size_t begin = 0;
    nd_status status = read_format(s, s->format, &f, &begin);
    *n = f.n_steps;
    nd__csv_format_end(&f);
    return status;
}

/* The same conversion for every cell: " (re+imj)" where it is complex, as NumPy has it. */
static nd_status repeat(const source *s, const char *delimiter, int64_t columns, bool is_complex,
                        nd__csv_format *f, size_t *begin)
{
    const char *format = s->format;
    for (int64_t i = 0; i < columns; i++) {
        nd__text_puts(&f->literals, i ? delimiter : "");
        nd__text_puts(&f->literals, is_complex && format ? " (" : is_complex ? "(" : "");
        ND_RETURN_IF(read_format(s, format ? format : "%s", f, begin));
        if (!is_complex)
            continue;
        nd__text_puts(&f->literals, format ? "+" : "");
        ND_RETURN_IF(read_format(s, format ? format : "%+s", f, begin));
        nd__text_puts(&f->literals, "j)");
    }
    return ND_OK;
}

nd_status nd__csv_format_make(const char *op, int32_t argument, const nd_csv_save_opts *opts,
                              int64_t columns, bool is_complex, nd__csv_format *out)
{
    const source s = {op, argument, opts->format};
    const int64_t parts = is_complex ? 2 * columns : columns;
    int64_t n = 1;
    size_t begin = 0;
    memset(out, 0, sizeof *out);
    if (s.format)
        ND_RETURN_IF(count_steps(&s, &n));
    if (n != 1 && n != parts)
        return nd__fail(ND_ERR_ARGUMENT, op, argument,
                        "the format has %lld conversions; a row of %lld %scells has one, or %lld",
                        (long long)n, (long long)columns, is_complex ? "complex " : "",
                        (long long)parts);
    nd_status status = n == 1 ? repeat(&s, opts->delimiter ? opts->delimiter : ",", columns,
                                       is_complex, out, &begin)
                              : read_format(&s, s.format, out, &begin);
    out->text = begin;
    out->n = out->literals.len - begin;
    if (status == ND_OK && out->literals.failed)
        status = no_memory(&s);
    if (status != ND_OK)
        nd__csv_format_end(out);
    return status;
}

void nd__csv_format_end(nd__csv_format *f)
{
    free(f->steps);
    free(f->literals.data);
    memset(f, 0, sizeof *f);
}
