/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The header of a .npy file: magic, version, length, and a Python dict literal, which is read by a
 * strict reader of just that dict and never evaluated. */
#include <string.h>
#include "core/ops/ops.h"
#include "core/base/json.h"
#include "core/io/npy_header.h"

static const char magic[6] = "\x93NUMPY";
enum { MAX_NESTING = 16, ALIGN = 64, GROWTH_DIGITS = 21 };

typedef struct {
    const char *op, *path;
    const unsigned char *file, *at, *end; /* start of the file; what is left of the header */
} reader;

static nd_status bad(const reader *r, const char *what)
{
    return nd__fail(ND_ERR_FORMAT, r->op, 0, "%s: the header is malformed at byte %zu: %s", r->path,
                    (size_t)(r->at - r->file), what);
}

static int peek(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || (*r->at >= '\t' && *r->at <= '\r')))
        r->at++;
    return r->at < r->end ? *r->at : 0;
}

static int take(reader *r, char c)
{
    if (peek(r) != c)
        return 0;
    r->at++;
    return 1;
}

/* A quoted text without escapes: none is needed for keys and plain dtypes. */
static nd_status read_text(reader *r, const unsigned char **text, size_t *n)
{
    int quote = peek(r);
    if (quote != '\'' && quote != '"')
        return bad(r, "expected a quoted text");
    *text = ++r->at;
    while (r->at < r->end && *r->at != quote && *r->at != '\\')
        r->at++;
    if (r->at == r->end || *r->at != quote)
        return bad(r, "expected the end of a quoted text");
    *n = (size_t)(r->at++ - *text);
    return ND_OK;
}

/* Past a bracketed value, to be able to name it. */
static nd_status skip_brackets(reader *r)
{
    int depth = 0;
    do {
        int c = peek(r);
        const unsigned char *text;
        size_t n;
        if (c == '\'' || c == '"') {
            ND_RETURN_IF(read_text(r, &text, &n));
            continue;
        }
        if (!c || depth > MAX_NESTING)
            return bad(r, "expected the end of a bracket");
        depth += (c == '[' || c == '(' || c == '{') - (c == ']' || c == ')' || c == '}');
        r->at++;
    } while (depth > 0);
    return ND_OK;
}

static nd_status bad_descr(const reader *r, const unsigned char *descr, size_t n, const char *why)
{
    char text[96];
    return nd__fail(ND_ERR_DTYPE, r->op, 0, "%s: dtype %s: %s", r->path,
                    nd__quote(text, sizeof text, (const char *)descr, n), why);
}

/* The dtype of a kind character and a size as NumPy has them; 0 if there is none. */
static nd_dtype dtype_of(char kind, int nbytes)
{
    static const struct {
        char kind;
        int8_t nbytes;
        nd_dtype dtype;
    } table[] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) {numpy, nbytes, id},
#include <ndock/dtype.def>
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].kind == kind && table[i].nbytes == nbytes && kind != 'V')
            return table[i].dtype;
    return 0;
}

/* What to do about the kinds that NumPy has and ndock has not; NULL: they are no such kind. */
static const char *advice(char kind)
{
    switch (kind) {
    case 'O':
        return "Python objects, which are pickled in the file; ndock reads numbers alone: save "
               "a.astype(float) in NumPy";
    case 'U':
    case 'S':
    case 'a':
        return "texts; ndock reads numbers alone: save them as numbers in NumPy, by "
               "a.astype(float) "
               "or by codes";
    case 'M':
    case 'm':
        return "dates or spans of time; save a.view(\"i8\") in NumPy: their counts as int64";
    default:
        return NULL;
    }
}

/* "<f4": byte order (may be left out), kind, bytes. */
static nd_status parse_descr(const reader *r, const unsigned char *s, size_t n, nd__npy_header *h)
{
    size_t i = 0;
    char order = '|';
    int nbytes = 0;
    if (i < n && strchr("<>|=", s[i]))
        order = (char)s[i++];
    char kind = i < n ? (char)s[i++] : 0;
    if (advice(kind))
        return bad_descr(r, s, n, advice(kind));
    size_t digits = i;
    for (; i < n && s[i] >= '0' && s[i] <= '9' && nbytes < 1 << 20; i++)
        nbytes = nbytes * 10 + (s[i] - '0');
    if (kind == '?' && i == n && i == digits) {
        kind = 'b';
        nbytes = 1;
    } else if (!kind || i == digits || i < n || s[digits] == '0') {
        return bad_descr(r, s, n, "not the name of a plain dtype");
    }
    h->elements.dtype = dtype_of(kind, nbytes);
    h->opaque = kind == 'V' ? nbytes : 0;
    if (!h->elements.dtype && !h->opaque)
        return bad_descr(r, s, n, "ndock has no such dtype; convert the array in NumPy first");
    h->elements.swap = order == (ND__HOST_IS_BIG ? '<' : '>');
    if (h->opaque && h->elements.swap)
        return bad_descr(r, s, n, "opaque bytes have no such byte order");
    return ND_OK;
}

static nd_status read_descr(reader *r, nd__npy_header *h)
{
    const unsigned char *text;
    size_t n;
    int c = peek(r);
    if (c == '[' || c == '(' || c == '{') {
        text = r->at;
        ND_RETURN_IF(skip_brackets(r));
        return bad_descr(r, text, (size_t)(r->at - text),
                         "structured dtypes are not supported; save each field by itself");
    }
    ND_RETURN_IF(read_text(r, &text, &n));
    return parse_descr(r, text, n, h);
}

static nd_status read_fortran(reader *r, nd__npy_header *h)
{
    peek(r);
    size_t left = (size_t)(r->end - r->at);
    if (left >= 4 && memcmp(r->at, "True", 4) == 0) {
        h->fortran = 1;
        r->at += 4;
    } else if (left >= 5 && memcmp(r->at, "False", 5) == 0) {
        h->fortran = 0;
        r->at += 5;
    } else {
        return bad(r, "expected True or False for fortran_order");
    }
    return ND_OK;
}

static nd_status read_extent(reader *r, int64_t *extent)
{
    int64_t v = 0;
    int c = peek(r), digits = 0;
    if (c == '-')
        return bad(r, "an extent of the shape is negative");
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++, digits++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *r->at - '0', &v))
            return bad(r, "an extent of the shape does not fit 64 bits");
    if (digits == 0)
        return bad(r, "expected an integer in the shape");
    if (r->at < r->end && *r->at == 'L') /* Python 2 */
        r->at++;
    *extent = v;
    return ND_OK;
}

static nd_status read_shape(reader *r, nd__npy_header *h)
{
    nd__elements *e = &h->elements;
    int comma = 1;
    e->ndim = 0;
    if (!take(r, '('))
        return bad(r, "expected a tuple for shape");
    while (!take(r, ')')) {
        if (!comma)
            return bad(r, "expected ',' or ')' in the shape");
        if (e->ndim == ND_MAX_NDIM)
            return bad(r, "the shape has more than 64 axes");
        ND_RETURN_IF(read_extent(r, &e->shape[e->ndim]));
        e->ndim++;
        comma = take(r, ',');
    }
    if (e->ndim == 1 && !comma)
        return bad(r, "expected a tuple for shape; a tuple of one has a comma");
    return ND_OK;
}

static int text_is(const unsigned char *text, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(text, word, n) == 0;
}

static nd_status read_dict(reader *r, nd__npy_header *h)
{
    enum { DESCR = 1, FORTRAN = 2, SHAPE = 4 };
    int seen = 0, comma = 1;
    if (!take(r, '{'))
        return bad(r, "expected '{'");
    while (!take(r, '}')) {
        const unsigned char *key;
        size_t n;
        if (!comma)
            return bad(r, "expected ',' or '}'");
        ND_RETURN_IF(read_text(r, &key, &n));
        int which = text_is(key, n, "descr")           ? DESCR
                    : text_is(key, n, "fortran_order") ? FORTRAN
                    : text_is(key, n, "shape")         ? SHAPE
                                                       : 0;
        if (!which || (seen & which))
            return bad(r, which ? "a key comes twice" : "unknown key");
        seen |= which;
        if (!take(r, ':'))
            return bad(r, "expected ':'");
        ND_RETURN_IF(which == DESCR     ? read_descr(r, h)
                     : which == FORTRAN ? read_fortran(r, h)
                                        : read_shape(r, h));
        comma = take(r, ',');
    }
    if (seen != (DESCR | FORTRAN | SHAPE))
        return bad(r, "descr, fortran_order and shape are needed");
    if (peek(r) || r->at < r->end)
        return bad(r, "expected nothing after '}'");
    return ND_OK;
}

nd_status nd__npy_header_read(const char *op, const char *path, const unsigned char *data,
                              size_t size, nd__npy_header *out)
{
    memset(out, 0, sizeof *out);
    if (size >= 4 && memcmp(data, "PK\3\4", 4) == 0)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: a zip archive, as np.savez writes (.npz); nd_npz_open opens it", path);
    if (size < sizeof magic || memcmp(data, magic, sizeof magic) != 0)
        return nd__fail(ND_ERR_FORMAT, op, 0, "%s: not a .npy file: it lacks the first 6 bytes",
                        path);
    if (size < 8)
        return nd__fail(ND_ERR_FORMAT, op, 0, "%s: cut short: it lacks the version at byte 6",
                        path);
    if (data[6] < 1 || data[6] > 3 || data[7] != 0)
        return nd__fail(ND_ERR_FORMAT, op, 0, "%s: version %u.%u; 1.0, 2.0 and 3.0 can be read",
                        path, data[6], data[7]);
    size_t field = data[6] == 1 ? 2 : 4, start = 8 + field;
    if (size < start)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: cut short: it lacks the header's length at "
                        "byte 8",
                        path);
    size_t length = data[8] | (size_t)data[9] << 8;
    if (field == 4)
        length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (length > size - start)
        return nd__fail(ND_ERR_FORMAT, op, 0,
                        "%s: cut short: the header lacks %zu of its %zu bytes", path,
                        length - (size - start), length);
    reader r = {op, path, data, data + start, data + start + length};
    out->data = start + length;
    return read_dict(&r, out);
}

static void add_descr(nd_text *out, nd_dtype dtype)
{
    static const char kinds[] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = numpy,
#include <ndock/dtype.def>
    };
    int nbytes = (int)nd_dtype_size(dtype);
    nd__text_add(out, "{'descr': '%c%c%d', ",
                 nbytes == 1       ? '|'
                 : ND__HOST_IS_BIG ? '>'
                                   : '<',
                 kinds[dtype], nbytes);
}

void nd__npy_header_write(nd_text *out, nd_dtype dtype, int fortran, int ndim, const int64_t *shape)
{
    size_t before = out->len, grow = 0;
    nd__text_bytes(out, magic, sizeof magic);
    nd__text_bytes(out, "\1\0\0\0", 4); /* 64 extents of 20 digits fit the 64 KiB of version 1.0 */
    add_descr(out, dtype);
    nd__text_add(out, "'fortran_order': %s, 'shape': (", fortran ? "True" : "False");
    for (int i = 0; i < ndim; i++) {
        size_t start = out->len;
        nd__text_add(out, "%lld", (long long)shape[i]);
        /* NumPy leaves room for the slowest extent to grow in place to 21 digits. */
        if (i == (fortran ? ndim - 1 : 0))
            grow = GROWTH_DIGITS - (out->len - start);
        nd__text_puts(out, ndim == 1 ? "," : i < ndim - 1 ? ", " : "");
    }
    nd__text_puts(out, "), }");
    /* With the newline, and so that the elements start at a multiple of 64. */
    size_t filled = out->len - before + grow + 1;
    grow += ALIGN - filled % ALIGN;
    while (grow-- > 0)
        nd__text_bytes(out, " ", 1);
    nd__text_bytes(out, "\n", 1);
    if (out->failed)
        return;
    size_t length = out->len - before - 10;
    out->data[before + 8] = (char)(length & 0xFF);
    out->data[before + 9] = (char)(length >> 8);
}
