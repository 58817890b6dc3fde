/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sums of a snapshot, and numbers for people. */
#include <math.h>
#include <stdio.h>
#include "tools/mem/mem.h"

static void add_segment(const mem_segment *s, mem_sums *out)
{
    bool used = s->bytes[MEM_ALLOCATED] + s->bytes[MEM_PENDING] > 0;
    out->reserved += s->total;
    out->allocated += s->bytes[MEM_ALLOCATED];
    out->pending += s->bytes[MEM_PENDING];
    out->inactive += s->bytes[MEM_INACTIVE];
    out->inactive_split += used ? s->bytes[MEM_INACTIVE] : 0;
    for (size_t i = 0; i < s->n; i++) {
        const mem_block *b = &s->blocks[i];
        out->blocks[b->state]++;
        if (b->state == MEM_ALLOCATED)
            out->requested += b->requested;
        if (b->state == MEM_INACTIVE && b->size > out->largest_free)
            out->largest_free = b->size;
    }
}

void mem_sum(const mem_device *d, mem_sums *out)
{
    *out = (mem_sums){0};
    for (size_t i = 0; i < d->n_segments; i++)
        add_segment(&d->segments[i], out);
    if (out->inactive)
        out->fragmentation = 1 - (double)out->largest_free / (double)out->inactive;
}

const char *mem_size(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    static char texts[8][32];
    static int next;
    char *text = texts[next++ % 8];
    int u = 0;
    while (bytes >= 1023.5 && u < 6) {
        bytes /= 1024;
        u++;
    }
    int digits = u == 0 || bytes >= 99.95 || bytes == floor(bytes) ? 0 : bytes >= 9.995 ? 1 : 2;
    snprintf(text, sizeof texts[0], "%.*f %s", digits, bytes, units[u]);
    return text;
}

const char *mem_number(double value, int digits)
{
    static char texts[8][128];
    static int next;
    char plain[40], *text = texts[next++ % 8], *to = text;
    int n = snprintf(plain, sizeof plain, "%.*f", digits, value);
    int whole = digits ? n - digits - 1 : n;
    for (int i = 0; i < n && i < (int)sizeof plain - 1; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0 && whole > 4)
            to += snprintf(to, 4, "\xe2\x80\xaf");
        *to++ = plain[i];
    }
    *to = 0;
    return text;
}

double mem_byte_step(double limit, int n)
{
    double step = 1;
    while (limit / step > n)
        step *= 2;
    return step;
}

double mem_step(double limit, int n)
{
    double ten = pow(10, floor(log10(limit / n)));
    static const double factors[] = {1, 2, 5, 10};
    for (int i = 0; i < 4; i++)
        if (limit / (ten * factors[i]) <= n)
            return ten * factors[i];
    return ten * 20;
}
