/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Memory over time: a band for each large block from its allocation to its free, stacked, so that
 * the top is what was live. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/mem/mem.h"

enum { COLUMNS = 900, HEIGHT = 340, AXIS = 84, SIDE = 292, TOP = 30 };

/* A column of the picture, and the event whose state it shows: the one with most memory in it, so
 * that no peak is lost between two columns. */
typedef struct {
    double x0, x1;
    size_t event;
} column;

typedef struct {
    const mem_device *device;
    const mem_life *life;
    mem_axis axis;
    nd_text *out;
    double left, right, top, bottom, limit; /* limit: bytes at the top */
    column *columns;
    size_t n;
    double *floor; /* of the next band, by column; bytes */
    bool fine;     /* too many columns for lines around bands */
} chart;

static double x_of(const chart *c, int64_t t)
{
    return c->left + (c->right - c->left) * mem_axis_at(&c->axis, t);
}

static double y_of(const chart *c, double bytes)
{
    return c->bottom - (c->bottom - c->top) * bytes / c->limit;
}

/* ---- columns ---- */
static void column_per_event(chart *c)
{
    const mem_life *l = c->life;
    for (size_t i = 0; i < l->n_events; i++) {
        int64_t end = i + 1 < l->n_events ? l->time_us[i + 1] : l->end_us;
        if (end > l->time_us[i])
            c->columns[c->n++] = (column){x_of(c, l->time_us[i]), x_of(c, end), i};
    }
}

static void even_columns(chart *c)
{
    const mem_life *l = c->life;
    double width = (c->right - c->left) / COLUMNS;
    size_t i = 0;
    for (int k = 0; k < COLUMNS; k++) {
        double x1 = c->left + (k + 1) * width;
        size_t best = i;
        for (; i + 1 < l->n_events && x_of(c, l->time_us[i + 1]) < x1; i++)
            if (l->total[i + 1] > l->total[best])
                best = i + 1;
        c->columns[c->n++] = (column){x1 - width, x1, best};
    }
}

/* ---- bands ---- */
static void outline(const chart *c, const double *base, const double *size, size_t from, size_t to)
{
    nd__text_add(c->out, "M%.1f %.1f", c->columns[from].x0, y_of(c, base[from] + size[from]));
    for (size_t i = from; i < to; i++) {
        if (i > from && base[i] + size[i] != base[i - 1] + size[i - 1])
            nd__text_add(c->out, "H%.1fV%.1f", c->columns[i].x0, y_of(c, base[i] + size[i]));
    }
    nd__text_add(c->out, "H%.1fV%.1f", c->columns[to - 1].x1, y_of(c, base[to - 1]));
    for (size_t i = to - 1; i-- > from;)
        if (base[i] != base[i + 1])
            nd__text_add(c->out, "H%.1fV%.1f", c->columns[i].x1, y_of(c, base[i]));
    nd__text_add(c->out, "H%.1fZ", c->columns[from].x0);
}

static void draw_single(chart *c, const mem_span *s, double *size, int shade)
{
    const mem_life *l = c->life;
    size_t from = 0, to;
    while (from < c->n && c->columns[from].event < s->birth)
        from++;
    for (to = from; to < c->n && c->columns[to].event < s->death; to++)
        size[to] = (double)s->size;
    if (from == to)
        return;
    nd__text_add(c->out, "<path class=\"%s g%d%s\" d=\"", c->fine ? "f" : "b",
                 l->groups[s->group].colour, shade ? " s" : "");
    outline(c, c->floor, size, from, to);
    nd__text_puts(c->out, "\"><title>");
    mem_text(c->out, s->tag[0] ? s->tag : "no tag");
    nd__text_add(c->out, ", %s (%llu bytes) at 0x%llx, stream %llu, ", mem_size((double)s->size),
                 (unsigned long long)s->size, (unsigned long long)s->address,
                 (unsigned long long)s->stream);
    if (s->birth)
        nd__text_add(c->out, "from %.3f ms ", (double)(l->time_us[s->birth] - l->begin_us) / 1000);
    if (s->death < l->n_events)
        nd__text_add(c->out, "to %.3f ms", (double)(l->time_us[s->death] - l->begin_us) / 1000);
    else
        nd__text_puts(c->out, "still live");
    nd__text_puts(c->out, "</title></path>\n");
    for (size_t i = from; i < to; i++)
        c->floor[i] += size[i];
}

/* The blocks of a group that are not drawn one by one, as one band. */
static void draw_rest(chart *c, int group, double *size)
{
    const mem_life *l = c->life;
    uint64_t *change = calloc(l->n_events + 1, sizeof *change);
    size_t n = 0, event = 0, from = 0;
    uint64_t live = 0; /* wraps and comes back */
    for (size_t i = 0; change && i < l->n_spans; i++) {
        const mem_span *s = &l->spans[i];
        if (s->single || s->group != group)
            continue;
        change[s->birth] += s->size;
        if (s->death < l->n_events)
            change[s->death] -= s->size;
        n++;
    }
    for (size_t i = 0; n && i < c->n; i++) {
        for (; event <= c->columns[i].event; event++)
            live += change[event];
        size[i] = (double)live;
    }
    free(change);
    if (!n)
        return;
    while (from < c->n && size[from] == 0)
        from++;
    if (from < c->n) {
        nd__text_add(c->out, "<path class=\"%s g%d\" d=\"", c->fine ? "f" : "b",
                     l->groups[group].colour);
        outline(c, c->floor, size, from, c->n);
        nd__text_add(c->out, "\"><title>%zu smaller blocks, ", n);
        mem_text(c->out, l->groups[group].text);
        nd__text_puts(c->out, "</title></path>\n");
    }
    for (size_t i = from; i < c->n; i++)
        c->floor[i] += size[i];
}

/* Whether the block is there for most of the time: such bands lie below, where nothing moves them.
 */
static bool lasting(const mem_life *l, const mem_span *s)
{
    int64_t end = s->death < l->n_events ? l->time_us[s->death] : l->end_us;
    return 2 * (end - l->time_us[s->birth]) > l->end_us - l->begin_us;
}

static void draw_bands(chart *c)
{
    const mem_life *l = c->life;
    int shade[MEM_GROUPS] = {0};
    double *size = calloc(c->n + 1, sizeof *size);
    for (int pass = 0; size && pass < 2; pass++)
        for (size_t i = 0; i < l->n_spans; i++)
            if (l->spans[i].single && lasting(l, &l->spans[i]) == (pass == 0))
                draw_single(c, &l->spans[i], size, shade[l->spans[i].group]++ & 1);
    for (int g = 0; size && g < l->n_groups; g++)
        draw_rest(c, g, size);
    free(size);
}

static void draw_line(const chart *c, const char *class, const uint64_t *value)
{
    double last = -1;
    nd__text_add(c->out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < c->n; i++) {
        double y = y_of(c, (double)value[c->columns[i].event]);
        if (i == 0)
            nd__text_add(c->out, "M%.1f %.1f", c->columns[i].x0, y);
        else if (y != last)
            nd__text_add(c->out, "H%.1fV%.1f", c->columns[i].x0, y);
        last = y;
    }
    nd__text_add(c->out, "H%.1f\"/>\n", c->n ? c->columns[c->n - 1].x1 : c->right);
}

/* ---- axes ---- */
static void draw_byte_axis(const chart *c)
{
    double bytes = mem_byte_step(c->limit, 6);
    for (double v = 0; v <= c->limit * 1.0001; v += bytes)
        nd__text_add(
            c->out,
            "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text class=\"tick end\" x=\"%.1f\" "
            "y=\"%.1f\">%s</text>\n",
            c->left, y_of(c, v), c->right, c->left - 10, y_of(c, v) + 4, mem_size(v));
}

/* Hatching over a pause, and how long it was. */
static void draw_pause(const chart *c, const mem_pause *p)
{
    double x = x_of(c, p->from_us), width = x_of(c, p->to_us) - x;
    double ms = (double)(p->to_us - p->from_us) / 1000;
    nd__text_add(c->out,
                 "<g><title>nothing happened for %s ms: drawn shorter than it was</title><rect "
                 "class=\"pause\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                 mem_number(ms, 3), x, c->top, width, c->bottom - c->top);
    for (double at = x + 5; at < x + width - 2; at += 10)
        nd__text_add(c->out, "<path class=\"axis\" d=\"M%.1f %.1fl5 -10\"/>", at, c->bottom + 5);
    if (width > 44)
        nd__text_add(c->out, "<text class=\"small mid\" x=\"%.1f\" y=\"%.1f\">%s ms</text>",
                     x + width / 2, c->bottom - 8, mem_number(ms, ms < 10 ? 2 : 0));
    nd__text_puts(c->out, "</g>\n");
}

/* Ticks of a stretch between two pauses, at round times of the whole axis. */
static double draw_ticks(const chart *c, int64_t from_us, int64_t to_us, double step, double room)
{
    const int64_t begin = c->axis.begin_us;
    int digits = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
    double to = (double)(to_us - begin) / 1000;
    for (double k = ceil((double)(from_us - begin) / 1000 / step - 1e-9); k * step <= to + 1e-9;
         k++) {
        double x = x_of(c, begin + (int64_t)(k * step * 1000 + 0.5));
        if (x < room)
            continue;
        nd__text_add(c->out,
                     "<path class=\"axis\" d=\"M%.1f %.1fv5\"/><text class=\"tick mid\" x=\"%.1f\" "
                     "y=\"%.1f\">%s</text>\n",
                     x, c->bottom, x, c->bottom + 20, mem_number(fabs(k * step), digits));
        room = x + 44;
    }
    return room;
}

static void draw_time_axis(const chart *c)
{
    const mem_axis *a = &c->axis;
    double step = mem_step((double)a->shown_us / 1000, 10), room = 0;
    int64_t from = a->begin_us;
    for (int i = 0; i < a->n; i++) {
        room = draw_ticks(c, from, a->pauses[i].from_us, step, room);
        from = a->pauses[i].to_us;
    }
    (void)draw_ticks(c, from, a->end_us, step, room);
    nd__text_add(c->out,
                 "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/><text class=\"tick\" x=\"%.1f\" "
                 "y=\"%.1f\">ms</text>\n",
                 c->left, c->bottom, c->right, c->right + 6, c->bottom + 4);
    for (int i = 0; i < a->n; i++)
        draw_pause(c, &a->pauses[i]);
}

/* ---- marks ---- */
static void draw_peak(const chart *c)
{
    const mem_life *l = c->life;
    double x = x_of(c, l->time_us[l->peak]), y = y_of(c, (double)l->total[l->peak]);
    double ms = (double)(l->time_us[l->peak] - l->begin_us) / 1000;
    bool late = x > (c->left + c->right) / 2;
    nd__text_add(c->out,
                 "<path class=\"peakline\" d=\"M%.1f %.1fV%.1f\"/><circle class=\"peak\" "
                 "cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>\n",
                 x, c->top - 8, c->bottom, x, y);
    nd__text_add(
        c->out, "<text class=\"peaktext%s\" x=\"%.1f\" y=\"%.1f\">peak %s at %s ms</text>\n",
        late ? " end" : "", late ? x - 8 : x + 8, c->top - 12, mem_size((double)l->total[l->peak]),
        mem_number(ms, ms < 10    ? 2
                       : ms < 100 ? 1
                                  : 0));
}

/* Notes of the program below the axis where there is room, failures above the plot. */
static void draw_events(const chart *c)
{
    double free_from = 0;
    for (size_t i = 0; i < c->device->n_events; i++) {
        const mem_event *e = &c->device->events[i];
        double x = x_of(c, c->life->time_us[i + 1]);
        if (e->action == MEM_OOM) {
            nd__text_add(c->out,
                         "<path class=\"oom\" d=\"M%.1f %.1fl-6 -11h12z\"><title>out of memory: "
                         "%s asked for</title></path>\n",
                         x, c->top, mem_size((double)e->size));
        } else if (e->action == MEM_NOTE) {
            bool room = x >= free_from && x < c->right - 20;
            nd__text_add(c->out, "<path class=\"note\" d=\"M%.1f %.1fV%.1f\"><title>", x, c->top,
                         c->bottom + (room ? 32 : 6));
            mem_text(c->out, e->text);
            nd__text_puts(c->out, "</title></path>\n");
            if (!room)
                continue;
            const char *shown = mem_cut(e->text, 150, 11);
            nd__text_add(c->out, "<text class=\"notetext\" x=\"%.1f\" y=\"%.1f\">", x + 4,
                         c->bottom + 38);
            mem_text(c->out, shown);
            nd__text_puts(c->out, "</text>\n");
            free_from = x + 14 + 6.4 * (double)strlen(shown);
        }
    }
}

/* ---- beside the chart ---- */
static double draw_legend(const chart *c, double x, double y)
{
    const mem_life *l = c->life;
    nd__text_add(c->out,
                 "<text class=\"head\" x=\"%.1f\" y=\"%.1f\">%s</text><text class=\"small end\" "
                 "x=\"%d\" y=\"%.1f\">at the peak</text>\n",
                 x, y, l->by_tag ? "By tag" : "By size of block", MEM_WIDTH - MEM_MARGIN, y);
    for (int k = 0; k < l->n_groups; k++) {
        if (!l->groups[k].highest)
            continue;
        y += 20;
        nd__text_add(c->out,
                     "<rect class=\"b g%d\" x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" "
                     "rx=\"2\"/><text class=\"item\" x=\"%.1f\" y=\"%.1f\">",
                     l->groups[k].colour, x, y - 10, x + 20, y);
        mem_text(c->out, mem_cut(l->groups[k].text, SIDE - 130, 12.5));
        nd__text_add(c->out, "</text><text class=\"item end\" x=\"%d\" y=\"%.1f\">%s</text>\n",
                     MEM_WIDTH - MEM_MARGIN, y, mem_size((double)l->groups[k].at_peak));
    }
    y += 20;
    nd__text_add(c->out,
                 "<path class=\"reserved\" d=\"M%.1f %.1fh12\"/><text class=\"item\" x=\"%.1f\" "
                 "y=\"%.1f\">reserved</text><text class=\"item end\" x=\"%d\" "
                 "y=\"%.1f\">%s</text>\n",
                 x, y - 4, x + 20, y, MEM_WIDTH - MEM_MARGIN, y,
                 mem_size((double)l->reserved[l->peak]));
    return y;
}

static double draw_top_blocks(const chart *c, double x, double y)
{
    enum { TOPS = 5 };
    const mem_life *l = c->life;
    const mem_span *top[TOPS] = {0};
    for (size_t i = 0; i < l->n_spans; i++) {
        const mem_span *s = &l->spans[i];
        if (s->birth > l->peak || s->death <= l->peak)
            continue;
        for (int k = 0; k < TOPS; k++)
            if (!top[k] || s->size > top[k]->size) {
                memmove(&top[k + 1], &top[k], (size_t)(TOPS - 1 - k) * sizeof *top);
                top[k] = s;
                break;
            }
    }
    nd__text_add(c->out, "<text class=\"head\" x=\"%.1f\" y=\"%.1f\">Largest at the peak</text>\n",
                 x, y);
    for (int k = 0; k < TOPS && top[k]; k++) {
        y += 20;
        nd__text_add(c->out,
                     "<g><title>at 0x%llx, stream %llu, %llu bytes</title><rect class=\"b g%d\" "
                     "x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" rx=\"2\"/>"
                     "<text class=\"item\" x=\"%.1f\" y=\"%.1f\">",
                     (unsigned long long)top[k]->address, (unsigned long long)top[k]->stream,
                     (unsigned long long)top[k]->size, l->groups[top[k]->group].colour, x, y - 10,
                     x + 20, y);
        mem_text(c->out, mem_cut(top[k]->tag[0] ? top[k]->tag : "no tag", SIDE - 130, 12.5));
        nd__text_add(c->out, "</text><text class=\"item end\" x=\"%d\" y=\"%.1f\">%s</text></g>\n",
                     MEM_WIDTH - MEM_MARGIN, y, mem_size((double)top[k]->size));
    }
    return y;
}

double mem_draw_chart(const mem_device *d, const mem_life *l, double y, nd_text *out)
{
    chart c = {.device = d, .life = l, .out = out};
    uint64_t highest = l->total[l->peak];
    mem_axis_of(l, &c.axis);
    for (size_t i = 0; i < l->n_events; i++)
        highest = l->reserved[i] > highest ? l->reserved[i] : highest;
    c.left = MEM_MARGIN + AXIS;
    c.right = MEM_WIDTH - MEM_MARGIN - SIDE - 36;
    c.top = y + TOP;
    c.bottom = c.top + HEIGHT;
    double step = mem_byte_step(highest ? (double)highest : 1, 6);
    c.limit = ceil((highest ? (double)highest : 1) / step) * step;
    c.columns = calloc((l->n_events < COLUMNS ? l->n_events : COLUMNS) + 1, sizeof *c.columns);
    if (!c.columns)
        return y;
    c.fine = l->n_events >= COLUMNS;
    if (!c.fine)
        column_per_event(&c);
    else
        even_columns(&c);
    c.floor = calloc(c.n + 1, sizeof *c.floor);
    nd__text_add(out, "<g data-events=\"%zu\">\n", d->n_events);
    if (c.floor && c.n) {
        draw_byte_axis(&c);
        draw_bands(&c);
        draw_time_axis(&c);
        draw_line(&c, "reserved", l->reserved);
        draw_line(&c, c.fine ? "live thin" : "live", l->total);
        draw_peak(&c);
        draw_events(&c);
    }
    double x = c.right + 36, end = draw_legend(&c, x, c.top + 4);
    end = draw_top_blocks(&c, x, end + 34);
    nd__text_puts(out, "</g>\n");
    free(c.columns);
    free(c.floor);
    return end > c.bottom + 44 ? end : c.bottom + 44;
}
