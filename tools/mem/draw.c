/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The picture of a snapshot: one SVG, by itself or in a page. Only classes and plain attributes, so
 * that every renderer shows it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tools/mem/mem.h"

enum { LABELS = 226, TALL = 34, LOW = 22, THIN = 11, MOST_ROWS = 240 };

static const char style[] =
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
    "fill:#1b1f24}"
    ".bg{fill:#fff}.title{font-size:24px;font-weight:650}.sub{font-size:13px;fill:#667085}"
    ".tile{fill:#f6f7f9}.name{font-size:12px;fill:#667085}.value{font-size:21px;font-weight:600}"
    ".head{font-size:13px;font-weight:650}.h2{font-size:16px;font-weight:650}"
    ".item{font-size:12.5px}.small,.tick,.notetext{font-size:11.5px;fill:#667085}"
    ".end{text-anchor:end}.mid{text-anchor:middle}"
    ".grid{stroke:#e7e9ed;fill:none}.axis{stroke:#98a1ae;fill:none}"
    ".b{stroke:#fff;stroke-width:.6}.f{stroke:none}.s{opacity:.82}"
    ".live{fill:none;stroke:#1b1f24;stroke-width:1.2}.thin{stroke-width:.7}"
    ".reserved{fill:none;stroke:#667085;stroke-width:1.4;stroke-dasharray:5 3}"
    ".peakline{stroke:#d1242f;stroke-dasharray:2 3;fill:none}.peak{fill:#d1242f;stroke:#fff}"
    ".peaktext{font-size:12.5px;font-weight:650;fill:#d1242f}.oom{fill:#d1242f}"
    ".note{stroke:#8250df;stroke-dasharray:1 3;fill:none}.notetext{fill:#8250df}"
    ".pause{fill:#fff;fill-opacity:.55}.row{fill:#f1f2f5;stroke:#c9ced6}.free{fill:#f1f2f5;stroke:#"
    "c9ced6;stroke-width:.8}"
    ".used{fill:#3568c9;stroke:#fff;stroke-width:.8}"
    ".wait{fill:#e8a317;stroke:#fff;stroke-width:.8}"
    ".onused{fill:#fff}.onwait{fill:#1b1f24}.onfree{fill:#667085}.in{font-size:11px}"
    ".g0{fill:#4269d0}.g1{fill:#efb118}.g2{fill:#ff725c}.g3{fill:#6cc5b0}.g4{fill:#3ca951}"
    ".g5{fill:#ff8ab7}.g6{fill:#a463f2}.g7{fill:#97bbf5}.g8{fill:#9c6b4e}.g9{fill:#9498a0}.g10{"
    "fill:#c4c8ce}"
    "@media (prefers-color-scheme: dark){text{fill:#e6e9ee}.bg{fill:#14171b}"
    ".sub,.name,.small,.tick,.onfree{fill:#98a1ae}.tile{fill:#1e232a}.grid{stroke:#2a3038}"
    ".b,.used,.wait,.peak{stroke:#14171b}.live{stroke:#e6e9ee}.reserved{stroke:#98a1ae}"
    ".axis{stroke:#667085}.pause{fill:#14171b}.row,.free{fill:#1e232a;stroke:#3a424d}.onused{fill:#"
    "fff}.onwait{fill:#"
    "1b1f24}"
    ".peakline{stroke:#ff6b6b}.peak,.peaktext,.oom{fill:#ff6b6b}.note{stroke:#b794f6}"
    ".notetext{fill:#b794f6}}";

void mem_text(nd_text *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        const char *name = *p == '<' ? "&lt;" : *p == '>' ? "&gt;" : *p == '&' ? "&amp;" : NULL;
        if (name)
            nd__text_puts(out, name);
        else if ((unsigned char)*p < 0x20 || *p == 0x7f)
            nd__text_puts(out, " "); /* XML has no such characters */
        else
            nd__text_bytes(out, p, 1);
    }
}

/* By an average width of characters: fonts differ, and a little room is left everywhere. */
const char *mem_cut(const char *text, double width, double size)
{
    static char cut[256];
    size_t most = width > 0 ? (size_t)(width / (size * 0.56)) : 0, bytes = 0, characters = 0,
           fits = 0;
    for (; text[bytes] && bytes < sizeof cut - 4; bytes++)
        if (((unsigned char)text[bytes] & 0xC0) != 0x80) {
            if (++characters > most)
                break;
            fits = characters < most ? bytes : fits;
        }
    if (!text[bytes])
        return text;
    snprintf(cut, sizeof cut, "%.*s\xe2\x80\xa6", (int)fits, text);
    return cut;
}

/* ---- the heading ---- */
static void draw_tile(nd_text *out, int i, double y, const char *name, const char *value,
                      const char *more)
{
    const double gap = 12, width = (MEM_WIDTH - 2 * MEM_MARGIN - 6 * gap) / 7.0;
    double x = MEM_MARGIN + i * (width + gap);
    nd__text_add(out,
                 "<rect class=\"tile\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"76\" "
                 "rx=\"8\"/><text class=\"name\" x=\"%.1f\" y=\"%.1f\">%s</text>"
                 "<text class=\"value\" x=\"%.1f\" y=\"%.1f\">%s</text>"
                 "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                 x, y, width, x + 12, y + 20, name, x + 12, y + 46, value, x + 12, y + 65, more);
}

static double draw_tiles(const mem_device *d, const mem_life *l, double y, nd_text *out)
{
    mem_sums s;
    char more[7][64], percent[32];
    mem_sum(d, &s);
    double reserved = s.reserved ? (double)s.reserved : 1;
    snprintf(more[0], sizeof more[0], "%zu segment%s", d->n_segments,
             d->n_segments == 1 ? "" : "s");
    snprintf(more[1], sizeof more[1], "%zu block%s, %.0f %%", s.blocks[MEM_ALLOCATED],
             s.blocks[MEM_ALLOCATED] == 1 ? "" : "s", 100 * (double)s.allocated / reserved);
    snprintf(more[2], sizeof more[2], "%s pending", mem_size((double)s.pending));
    snprintf(more[3], sizeof more[3], "in segments in use");
    snprintf(more[4], sizeof more[4], "of %s free", mem_size((double)s.inactive));
    snprintf(percent, sizeof percent, "%.0f %%", 100 * s.fragmentation);
    snprintf(more[5], sizeof more[5], "of the free bytes");
    snprintf(more[6], sizeof more[6], "in %s events", mem_number((double)d->n_events, 0));
    draw_tile(out, 0, y, "Reserved", mem_size((double)s.reserved), more[0]);
    draw_tile(out, 1, y, "Allocated", mem_size((double)s.allocated), more[1]);
    draw_tile(out, 2, y, "Active", mem_size((double)(s.allocated + s.pending)), more[2]);
    draw_tile(out, 3, y, "Inactive split", mem_size((double)s.inactive_split), more[3]);
    draw_tile(out, 4, y, "Largest free", mem_size((double)s.largest_free), more[4]);
    draw_tile(out, 5, y, "Fragmentation", percent, more[5]);
    draw_tile(out, 6, y, "Peak", mem_size((double)l->total[l->peak]), more[6]);
    return y + 76;
}

static double draw_heading(const mem_snapshot *s, const mem_device *d, double y, nd_text *out)
{
    char when[64] = "";
    time_t t = (time_t)(s->time_us / 1000000);
    struct tm utc;
    if (s->time_us && gmtime_r(&t, &utc))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &utc);
    nd__text_add(out, "<text class=\"title\" x=\"%d\" y=\"%.1f\">Memory of ", MEM_MARGIN, y + 24);
    if (d->name[0])
        mem_text(out, d->name);
    else
        nd__text_add(out, "device %d", d->number);
    nd__text_add(out, "</text><text class=\"sub\" x=\"%d\" y=\"%.1f\">%s", MEM_MARGIN, y + 46,
                 when);
    if (d->allocator[0]) {
        nd__text_puts(out, " \xc2\xb7 allocator ");
        mem_text(out, d->allocator);
    }
    if (d->memory)
        nd__text_add(out, " \xc2\xb7 device of %s", mem_size((double)d->memory));
    if (s->version[0]) {
        nd__text_puts(out, " \xc2\xb7 ndock ");
        mem_text(out, s->version);
    }
    if (s->settings[0]) {
        nd__text_puts(out, "<title>");
        mem_text(out, s->settings);
        nd__text_puts(out, "</title>");
    }
    nd__text_puts(out, "</text>\n");
    return y + 64;
}

/* ---- segments ---- */
typedef struct {
    const mem_device *device;
    nd_text *out;
    double left, scale, y, height; /* scale: of a byte */
} rows;

static const char *const classes[] = {"used", "wait", "free"};
static const char *const state_names[] = {"active_allocated", "active_pending_free", "inactive"};
static const char *const in_class[] = {"onused", "onwait", "onfree"};
static const char *const said[] = {"allocated", "freed, waits for a stream", "free"};

/* Blocks [from, to) of one state: one block, or several that are too narrow to be seen. */
static void draw_piece(const rows *r, const mem_segment *s, size_t from, size_t to)
{
    const mem_block *b = &s->blocks[from];
    uint64_t bytes = 0;
    for (size_t i = from; i < to; i++)
        bytes += s->blocks[i].size;
    double x = r->left + (double)(b->address - s->address) * r->scale,
           width = (double)bytes * r->scale;
    nd__text_add(r->out,
                 "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" "
                 "data-device=\"%d\" data-state=\"%s\" data-bytes=\"%llu\"><title>",
                 classes[b->state], x, r->y, width, r->height, r->device->number,
                 state_names[b->state], (unsigned long long)bytes);
    if (to - from > 1)
        nd__text_add(r->out, "%zu blocks, %s, %s", to - from, said[b->state],
                     mem_size((double)bytes));
    else
        nd__text_add(r->out, "%s (%llu bytes), %s, at 0x%llx", mem_size((double)bytes),
                     (unsigned long long)bytes, said[b->state], (unsigned long long)b->address);
    if (to - from == 1 && b->state != MEM_INACTIVE && b->requested)
        nd__text_add(r->out, ", %llu asked for", (unsigned long long)b->requested);
    if (b->tag[0] && to - from == 1 && b->state != MEM_INACTIVE) {
        nd__text_puts(r->out, ", ");
        mem_text(r->out, b->tag);
    }
    nd__text_puts(r->out, "</title></rect>\n");
    if (width < 50 || r->height < 18)
        return;
    nd__text_add(r->out, "<text class=\"in %s\" pointer-events=\"none\" x=\"%.1f\" y=\"%.1f\">%s",
                 in_class[b->state], x + 6, r->y + r->height / 2 + 4, mem_size((double)bytes));
    if (b->tag[0] && b->state != MEM_INACTIVE && width > 90) {
        nd__text_puts(r->out, "  ");
        mem_text(r->out, mem_cut(b->tag, width - 66, 11));
    }
    nd__text_puts(r->out, "</text>\n");
}

static void draw_blocks(const rows *r, const mem_segment *s)
{
    for (size_t i = 0, to; i < s->n; i = to) {
        double width = (double)s->blocks[i].size * r->scale;
        for (to = i + 1; to < s->n && width < 0.8 && s->blocks[to].state == s->blocks[i].state &&
                         (double)s->blocks[to].size * r->scale < 0.8;
             to++)
            width += (double)s->blocks[to].size * r->scale;
        draw_piece(r, s, i, to);
    }
}

static void draw_label(const rows *r, const mem_segment *s)
{
    double middle = r->y + r->height / 2;
    if (r->height < LOW)
        return;
    nd__text_add(r->out, "<text class=\"item\" x=\"%d\" y=\"%.1f\">%s</text>", MEM_MARGIN,
                 r->height < TALL ? middle + 4 : middle - 2, mem_size((double)s->total));
    nd__text_add(r->out, "<text class=\"small\" x=\"%d\" y=\"%.1f\">%s%s%s",
                 MEM_MARGIN + (r->height < TALL ? 72 : 0),
                 r->height < TALL ? middle + 4 : middle + 13, s->large ? "large" : "small",
                 s->expandable ? ", expandable" : "", s->stream ? "" : ", default stream");
    if (s->stream)
        nd__text_add(r->out, ", stream %llu", (unsigned long long)s->stream);
    if (s->pool)
        nd__text_add(r->out, ", pool %llu", (unsigned long long)s->pool);
    nd__text_puts(r->out, "</text>\n");
}

static double draw_ruler(const rows *r, double most, double y)
{
    double step = mem_byte_step(most, 8);
    for (double v = 0; v <= most * 1.0001; v += step)
        nd__text_add(r->out,
                     "<path class=\"axis\" d=\"M%.1f %.1fv5\"/><text class=\"tick%s\" x=\"%.1f\" "
                     "y=\"%.1f\">%s</text>\n",
                     r->left + v * r->scale, y + 18,
                     v == 0            ? ""
                     : v + step > most ? " end"
                                       : " mid",
                     r->left + v * r->scale, y + 12, mem_size(v));
    return y + 26;
}

/* What has no row, in words; the sums are in the picture all the same. */
static double draw_remainder(const mem_device *d, size_t from, double y, nd_text *out)
{
    uint64_t bytes[MEM_STATES] = {0}, total = 0;
    for (size_t i = from; i < d->n_segments; i++) {
        total += d->segments[i].total;
        for (int k = 0; k < MEM_STATES; k++)
            bytes[k] += d->segments[i].bytes[k];
    }
    nd__text_add(out, "<text class=\"small\" x=\"%d\" y=\"%.1f\">and %zu smaller segments, %s:",
                 MEM_MARGIN, y + 18, d->n_segments - from, mem_size((double)total));
    for (int k = 0; k < MEM_STATES; k++)
        nd__text_add(out,
                     "<tspan data-device=\"%d\" data-state=\"%s\" data-bytes=\"%llu\"> %s %s%s"
                     "</tspan>",
                     d->number, state_names[k], (unsigned long long)bytes[k],
                     mem_size((double)bytes[k]), said[k], k + 1 < MEM_STATES ? ";" : "");
    nd__text_puts(out, "</text>\n");
    return y + 26;
}

static void draw_key(double y, nd_text *out)
{
    static const int widths[] = {100, 200, 60};
    double x = MEM_WIDTH - MEM_MARGIN;
    for (int k = MEM_STATES - 1; k >= 0; k--) {
        x -= widths[k];
        nd__text_add(out,
                     "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" "
                     "rx=\"2\"/><text class=\"item\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                     classes[k], x, y - 10, x + 18, y, said[k]);
    }
}

static double draw_segments(const mem_device *d, double y, nd_text *out)
{
    size_t shown = d->n_segments < MOST_ROWS ? d->n_segments : MOST_ROWS;
    rows r = {.device = d, .out = out, .left = MEM_MARGIN + LABELS};
    nd__text_add(out, "<text class=\"h2\" x=\"%d\" y=\"%.1f\">Segments, to scale</text>\n",
                 MEM_MARGIN, y + 16);
    if (!d->n_segments) {
        nd__text_add(out,
                     "<text class=\"sub\" x=\"%d\" y=\"%.1f\">None: nothing is taken from the "
                     "device.</text>\n",
                     MEM_MARGIN, y + 42);
        return y + 54;
    }
    draw_key(y + 16, out);
    double most = d->segments[0].total ? (double)d->segments[0].total : 1;
    r.height = shown <= 28 ? TALL : shown <= 90 ? LOW : THIN;
    r.scale = (MEM_WIDTH - MEM_MARGIN - r.left) / most;
    r.y = draw_ruler(&r, most, y + 26);
    for (size_t i = 0; i < shown; i++) {
        const mem_segment *s = &d->segments[i];
        draw_label(&r, s);
        nd__text_add(out,
                     "<rect class=\"row\" x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"/>"
                     "\n",
                     r.left, r.y, (double)s->total * r.scale, r.height);
        draw_blocks(&r, s);
        r.y += r.height + (r.height < LOW ? 3 : 6);
    }
    return shown < d->n_segments ? draw_remainder(d, shown, r.y, out) : r.y;
}

/* ---- the whole ---- */
static double draw_device(const mem_snapshot *s, const mem_device *d, double y, nd_text *out)
{
    mem_life life;
    y = draw_heading(s, d, y, out);
    if (mem_life_of(s, d, &life) != 0) {
        mem_life_free(&life);
        out->failed = 1;
        return y;
    }
    y = draw_tiles(d, &life, y, out) + 34;
    nd__text_add(out, "<text class=\"h2\" x=\"%d\" y=\"%.1f\">Live blocks over time</text>\n",
                 MEM_MARGIN, y + 16);
    bool any = false;
    for (size_t i = 0; i < d->n_events; i++)
        any |= d->events[i].action == MEM_ALLOC;
    if (any) {
        y = mem_draw_chart(d, &life, y + 24, out) + 30;
    } else {
        nd__text_add(out,
                     "<text class=\"sub\" x=\"%d\" y=\"%.1f\">No trace was kept: "
                     "nd_memory_trace_set(n) or NDOCK_MEMORY_SNAPSHOT=FILE keeps one.</text>\n",
                     MEM_MARGIN, y + 42);
        y += 76;
    }
    mem_life_free(&life);
    return draw_segments(d, y, out) + 30;
}

void mem_draw(const mem_snapshot *s, bool html, nd_text *out)
{
    nd_text body = {0};
    double y = MEM_MARGIN;
    for (size_t i = 0; i < s->n_devices; i++)
        y = draw_device(s, &s->devices[i], y, &body) + 24;
    if (!s->n_devices) {
        nd__text_add(&body,
                     "<text class=\"title\" x=\"%d\" y=\"60\">No device has been used"
                     "</text>\n",
                     MEM_MARGIN);
        y = 100;
    }
    if (html)
        nd__text_add(out,
                     "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width\">\n"
                     "<title>Memory of devices</title>\n<style>body{margin:0;background:#fff}"
                     "svg{display:block;max-width:%dpx;width:100%%;height:auto;margin:0 auto}"
                     "@media (prefers-color-scheme: dark){body{background:#14171b}}</style>\n"
                     "</head>\n<body>\n",
                     MEM_WIDTH * 4 / 3);
    nd__text_add(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" "
                 "width=\"%d\" height=\"%.0f\" role=\"img\">\n<title>Memory of devices</title>\n"
                 "<style>%s</style>\n<rect class=\"bg\" width=\"100%%\" height=\"100%%\"/>\n",
                 MEM_WIDTH, y, MEM_WIDTH, y, style);
    nd__text_bytes(out, body.data ? body.data : "", body.len);
    nd__text_puts(out, html ? "</svg>\n</body>\n</html>\n" : "</svg>\n");
    out->failed |= body.failed;
    free(body.data);
}
