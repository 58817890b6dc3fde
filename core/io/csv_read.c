/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Text files of numbers: lines are cut at the first comment, into cells, and each cell is read
 * straight into the array's memory. A line without cells is no row. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/ops/ops.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/io/number.h"

enum { COMMENTS_MAX = 16 };

typedef struct {
    const char *text;
    size_t n;
} piece;

typedef struct {
    const char *op, *path;          /* path NULL: memory */
    const char *at, *end, *newline; /* newline: the next \n, or the end */
    int64_t line;                   /* of the row that is being read, from 1 */
    nd_dtype dtype;
    piece delimiter; /* empty: blanks */
    piece comments[COMMENTS_MAX];
    int n_comments;
    char quote;
    const int64_t *columns;
    int64_t n_columns;
    piece *cells; /* of one line */
    int64_t n_cells, room_cells;
    char *data; /* rows of width elements */
    size_t item;
    int64_t rows, width, room_rows;
    char *unquoted; /* a quoted cell without its quotes */
    size_t unquoted_room;
} reader;

static nd_status no_memory(const reader *r)
{
    return nd__fail(ND_ERR_MEMORY, r->op, -1, "no memory for the rows");
}

/* "FILE: line 3" in a caller's buffer. */
static const char *place(const reader *r, char *buf, size_t n)
{
    snprintf(buf, n, "%s%sline %" PRId64, r->path ? r->path : "", r->path ? ": " : "", r->line);
    return buf;
}

/* ---- lines ---- */
/* The next line without its end; false at the end of the text. */
static bool next_line(reader *r, piece *line)
{
    if (r->at == r->end)
        return false;
    if (!r->newline || r->newline < r->at) /* looked for once, also where \r alone ends lines */
        r->newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    if (!r->newline)
        r->newline = r->end;
    const char *end = r->newline, *cr = memchr(r->at, '\r', (size_t)(end - r->at));
    *line = (piece){r->at, (size_t)((cr ? cr : end) - r->at)};
    /* A \r before \n belongs to it; others end a line themselves. */
    r->at = cr && cr + 1 < end ? cr + 1 : end < r->end ? end + 1 : end;
    r->line++;
    return true;
}

static const char *find(const char *text, size_t n, piece what)
{
    return what.n == 1 ? memchr(text, what.text[0], n) : memmem(text, n, what.text, what.n);
}

static void cut_comment(const reader *r, piece *line)
{
    for (int i = 0; i < r->n_comments; i++) {
        const char *at = line->n ? find(line->text, line->n, r->comments[i]) : NULL;
        if (at)
            line->n = (size_t)(at - line->text);
    }
}

/* ---- cells ---- */
static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static piece trimmed(const char *text, const char *end)
{
    while (text < end && is_blank(*text))
        text++;
    while (end > text && is_blank(end[-1]))
        end--;
    return (piece){text, (size_t)(end - text)};
}

static nd_status add_cell(reader *r, piece cell)
{
    if (r->n_cells == r->room_cells) {
        const int64_t room = r->room_cells ? 2 * r->room_cells : 64;
        piece *cells = realloc(r->cells, (size_t)room * sizeof *cells);
        if (!cells)
            return no_memory(r);
        r->cells = cells;
        r->room_cells = room;
    }
    r->cells[r->n_cells++] = cell;
    return ND_OK;
}

static nd_status split_blanks(reader *r, piece line)
{
    const char *p = line.text, *end = p + line.n;
    for (;;) {
        while (p < end && is_blank(*p))
            p++;
        if (p == end)
            return ND_OK;
        const char *begin = p;
        while (p < end && !is_blank(*p))
            p++;
        ND_RETURN_IF(add_cell(r, (piece){begin, (size_t)(p - begin)}));
    }
}

static nd_status split_delimiter(reader *r, piece line)
{
    const char *p = line.text, *end = p + line.n;
    const piece whole = trimmed(p, end);
    if (whole.n == 0)
        return ND_OK;
    for (;;) {
        const char *next = p < end ? find(p, (size_t)(end - p), r->delimiter) : NULL;
        ND_RETURN_IF(add_cell(r, trimmed(p, next ? next : end)));
        if (!next)
            return ND_OK;
        p = next + r->delimiter.n;
    }
}

static bool begins(const char *p, const char *end, piece what)
{
    return what.n && (size_t)(end - p) >= what.n && memcmp(p, what.text, what.n) == 0;
}

static bool ends_cell(const reader *r, const char *p, const char *end)
{
    if (p == end)
        return true;
    for (int i = 0; i < r->n_comments; i++)
        if (begins(p, end, r->comments[i]))
            return true;
    return begins(p, end, r->delimiter) || (!r->delimiter.n && is_blank(*p));
}

/* One cell from p on, in which quotes hold what would end it, and two of them are one. */
static const char *quoted_cell(const reader *r, const char *p, const char *end, char **to)
{
    bool inside = false;
    for (; p < end && (inside || !ends_cell(r, p, end)); p++) {
        if (*p != r->quote) {
            *(*to)++ = *p;
        } else if (inside && p + 1 < end && p[1] == r->quote) {
            *(*to)++ = *++p;
        } else {
            inside = !inside;
        }
    }
    return p;
}

/* The same with quotes; the cells' texts lie in a buffer as long as the line. */
static nd_status split_quoted(reader *r, piece line)
{
    if (line.n + 1 > r->unquoted_room) {
        char *larger = realloc(r->unquoted, line.n + 1);
        if (!larger)
            return no_memory(r);
        r->unquoted = larger;
        r->unquoted_room = line.n + 1;
    }
    const char *p = line.text, *end = p + line.n;
    char *to = r->unquoted;
    for (;;) {
        while (p < end && is_blank(*p) && !begins(p, end, r->delimiter))
            p++;
        const bool over = p == end || (ends_cell(r, p, end) && !begins(p, end, r->delimiter));
        if (over && (!r->delimiter.n || r->n_cells == 0))
            return ND_OK;
        char *begin = to;
        p = quoted_cell(r, p, end, &to);
        ND_RETURN_IF(add_cell(r, trimmed(begin, to)));
        if (r->delimiter.n && !begins(p, end, r->delimiter))
            return ND_OK;
        p += r->delimiter.n;
    }
}

/* ---- rows ---- */
static nd_status grow(reader *r)
{
    if (r->rows < r->room_rows)
        return ND_OK;
    const int64_t room = r->room_rows ? 2 * r->room_rows : 256;
    size_t nbytes;
    if (__builtin_mul_overflow((size_t)room, (size_t)r->width * r->item, &nbytes))
        return no_memory(r);
    char *data = realloc(r->data, nbytes ? nbytes : 1);
    if (!data)
        return no_memory(r);
    r->data = data;
    r->room_rows = room;
    return ND_OK;
}

static nd_status bad_cell(const reader *r, int64_t column, piece cell, const char *why)
{
    char where[320], text[80];
    return nd__fail(ND_ERR_FORMAT, r->op, 0, "%s, column %" PRId64 ": \"%s\" as %s: %s",
                    place(r, where, sizeof where), column + 1,
                    nd__quote(text, sizeof text, cell.text, cell.n), nd_dtype_name(r->dtype),
                    cell.n ? why : "the cell is empty");
}

/* Which cell goes to place i of the row. */
static nd_status column_of(const reader *r, int64_t i, int64_t *column)
{
    char where[320];
    *column = r->columns ? r->columns[i] : i;
    if (*column < 0)
        *column += r->n_cells;
    if (*column >= 0 && *column < r->n_cells)
        return ND_OK;
    return nd__fail(ND_ERR_FORMAT, r->op, 0,
                    "%s has %" PRId64 " columns; column %" PRId64 ", counted from 0, is wanted",
                    place(r, where, sizeof where), r->n_cells, r->columns[i]);
}

static nd_status read_row(reader *r)
{
    char where[320];
    if (r->rows == 0)
        r->width = r->columns ? r->n_columns : r->n_cells;
    if (!r->columns && r->n_cells != r->width)
        return nd__fail(ND_ERR_FORMAT, r->op, 0,
                        "%s has %" PRId64 " columns, the rows before it have %" PRId64
                        "; choose columns that all have",
                        place(r, where, sizeof where), r->n_cells, r->width);
    ND_RETURN_IF(grow(r));
    char *to = r->data + (size_t)r->rows * (size_t)r->width * r->item;
    for (int64_t i = 0; i < r->width; i++, to += r->item) {
        int64_t column;
        ND_RETURN_IF(column_of(r, i, &column));
        const piece cell = r->cells[column];
        const char *why = nd__number_read(cell.text, cell.text + cell.n, r->dtype, to);
        if (why)
            return bad_cell(r, column, cell, why);
    }
    r->rows++;
    return ND_OK;
}

static nd_status read_rows(reader *r, int64_t skip, int64_t most)
{
    piece line;
    for (int64_t i = 0; i < skip; i++)
        if (!next_line(r, &line))
            return ND_OK;
    while ((!most || r->rows < most) && next_line(r, &line)) {
        r->n_cells = 0;
        if (!r->quote)
            cut_comment(r, &line);
        ND_RETURN_IF(r->quote         ? split_quoted(r, line)
                     : r->delimiter.n ? split_delimiter(r, line)
                                      : split_blanks(r, line));
        if (r->n_cells)
            ND_RETURN_IF(read_row(r));
    }
    return ND_OK;
}

/* ---- options ---- */
static nd_status take_comments(reader *r, const char *text, int32_t argument)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        if (n && r->n_comments == COMMENTS_MAX)
            return nd__fail(ND_ERR_ARGUMENT, r->op, argument, "more than %d texts begin comments",
                            COMMENTS_MAX);
        if (n)
            r->comments[r->n_comments++] = (piece){text, n};
        text += n + (text[n] == '\n');
    }
    return ND_OK;
}

static nd_status check_delimiter(const reader *r, int32_t argument)
{
    const piece d = r->delimiter;
    if (d.n && (memchr(d.text, '\n', d.n) || memchr(d.text, '\r', d.n)))
        return nd__fail(ND_ERR_ARGUMENT, r->op, argument, "the delimiter has an end of a line");
    for (int i = 0; i < r->n_comments; i++)
        if (d.n == r->comments[i].n && memcmp(d.text, r->comments[i].text, d.n) == 0)
            return nd__fail(ND_ERR_ARGUMENT, r->op, argument,
                            "the delimiter is also what begins a comment");
    if (r->quote && d.n == 1 && d.text[0] == r->quote)
        return nd__fail(ND_ERR_ARGUMENT, r->op, argument, "the delimiter is also the quote");
    return ND_OK;
}

static nd_status take_options(reader *r, const nd_csv_opts *o, int32_t argument)
{
    static const nd_csv_opts usual = {.size = sizeof usual};
    if (!o)
        o = &usual;
    if (o->size < sizeof *o)
        return nd__fail(ND_ERR_ARGUMENT, r->op, argument,
                        "opts->size is %u: set it to sizeof(nd_csv_opts), %zu", (unsigned)o->size,
                        sizeof *o);
    r->dtype = o->dtype ? o->dtype : ND_F64;
    if (!nd_dtype_get(r->dtype))
        return nd__fail(ND_ERR_DTYPE, r->op, argument, "there is no dtype %d", (int)r->dtype);
    if (o->skip_rows < 0 || o->max_rows < 0 || o->n_columns < 0)
        return nd__fail(ND_ERR_ARGUMENT, r->op, argument,
                        "skip_rows, max_rows or n_columns is negative");
    if (o->n_columns && !o->columns)
        return nd__fail(ND_ERR_ARGUMENT, r->op, argument, "columns is NULL");
    const char *delimiter = o->delimiter ? o->delimiter : ",";
    r->delimiter = (piece){delimiter, strlen(delimiter)};
    r->quote = o->quote;
    r->columns = o->n_columns ? o->columns : NULL;
    r->n_columns = o->n_columns;
    r->width = r->columns ? r->n_columns : 1;
    r->item = nd_dtype_size(nd__number_held(r->dtype));
    ND_RETURN_IF(take_comments(r, o->comments ? o->comments : "#", argument));
    return check_delimiter(r, argument);
}

static nd_status make_array(const reader *r, nd_device *device, nd_array **out)
{
    const int64_t shape[] = {r->rows, r->width};
    const nd_dtype held = nd__number_held(r->dtype);
    const nd_layout layout = {.size = sizeof layout, .dtype = held, .ndim = 2, .shape = shape};
    nd_array *wide = NULL;
    ND_RETURN_IF(nd__from_host(r->op, &layout, r->data, device, &wide));
    if (held == r->dtype) {
        *out = wide;
        return ND_OK;
    }
    nd_status status = nd_astype(wide, r->dtype, out);
    nd_release(wide);
    return status;
}

static nd_status read_text(reader *r, const nd_csv_opts *opts, nd_device *device, nd_array **out)
{
    nd_status status;
    device = nd__or_current(device, &status);
    ND_RETURN_IF(status);
    if (r->end - r->at >= 3 && memcmp(r->at, "\xEF\xBB\xBF", 3) == 0)
        r->at += 3; /* the mark that some editors put before UTF-8 */
    ND_GOTO_IF(done, read_rows(r, opts ? opts->skip_rows : 0, opts ? opts->max_rows : 0));
    ND_GOTO_IF(done, make_array(r, device, out));
done:
    free(r->cells);
    free(r->data);
    free(r->unquoted);
    return status;
}

nd_status nd_csv_load(const char *path, const nd_csv_opts *opts, nd_device *device, nd_array **out)
{
    reader r = {.op = "csv_load", .path = path};
    nd__map map;
    ND_OUT(r.op, 3, out, NULL);
    ND_NEED(r.op, 0, path);
    ND_RETURN_IF(take_options(&r, opts, 1));
    ND_RETURN_IF(nd__map_open(r.op, path, &map));
    r.at = (const char *)map.data;
    r.end = r.at + map.size;
    nd_status status = read_text(&r, opts, device, out);
    nd__map_close(&map);
    return status;
}

nd_status nd_csv_read(const void *text, size_t nbytes, const nd_csv_opts *opts, nd_device *device,
                      nd_array **out)
{
    reader r = {.op = "csv_read", .at = text};
    ND_OUT(r.op, 4, out, NULL);
    if (nbytes)
        ND_NEED(r.op, 0, text);
    if (nbytes > SIZE_MAX / 2)
        return nd__fail(ND_ERR_ARGUMENT, r.op, 1, "nbytes is %zu: no text is that long", nbytes);
    ND_RETURN_IF(take_options(&r, opts, 2));
    r.at = text ? text : "";
    r.end = r.at + nbytes;
    return read_text(&r, opts, device, out);
}
