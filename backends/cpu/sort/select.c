/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements of a row's sorted order, without sorting the row.
 *
 * Two keys of a sorted sample enclose the wanted elements (Floyd and Rivest, Communications of the
 * ACM 18(3), 1975): one pass over the row counts what is below and collects what is in between,
 * which alone is narrowed down further and sorted. Where the sample misled, the caller sorts. */
#include <math.h>
#include <string.h>
#include "sort/select.h"

#define BLOCK SELECT_BLOCK
#define SAMPLE_MAX 8192
#define ENOUGH 128 /* keys are sorted, not narrowed down */

static int64_t sample_size(int64_t n)
{
    return n < 1024 ? 64 : n < 16384 ? 256 : n < 1048576 ? 1024 : SAMPLE_MAX;
}

/* Words of memory that keys between two samples may take in a buffer, by chunk. */
static int64_t chunk_room(const selection *s)
{
    return (s->grain * s->nbytes / 8 / BLOCK + 2) * BLOCK;
}

/* ---- the sample ---- */
/* A place in [0, n) by multiplication with the golden ratio, so that a period of the data meets no
 * period of the sample: Knuth, The Art of Computer Programming 3, 6.4. */
static int64_t scattered(int64_t i, int64_t step)
{
    return (int64_t)(((uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) >> 33) % (uint64_t)step);
}

static void choose_bounds(selection *s, int64_t first, int64_t last)
{
    const sort_row *r = s->r;
    const int64_t size = sample_size(r->n), step = r->n / size;
    const int64_t margin = (int64_t)(1.5 * sqrt((double)size));
    const double share = (double)size / (double)r->n;
    const int64_t below = (int64_t)((double)first * share) - margin,
                  above = (int64_t)((double)last * share) + margin + 1;
    uint64_t *sample = (uint64_t *)r->buffer[1];
    for (int64_t i = 0; i < size; i++) {
        int64_t at = i * step + scattered(i, step);
        s->k->keys(r->a + at * r->stride * s->nbytes, r->stride, 1, s->flip, sample + i);
    }
    sample = sort_u64(sample, sample + size, size, 0, 8 * (int)s->nbytes, r->counts);
    s->low = below < 0 ? 0 : sample[below];
    s->high = above >= size ? UINT64_MAX >> (64 - 8 * s->nbytes) : sample[above];
}

/* ---- one pass ---- */
static void collect_chunk(void *ctx, int64_t begin, int64_t end)
{
    selection *s = ctx;
    const sort_row *r = s->r;
    uint64_t block[BLOCK]; /* of keys of nbytes */
    const int64_t c = begin / s->grain, room = chunk_room(s);
    uint64_t *inside = (uint64_t *)r->buffer[0] + c * room;
    sort_between counts = {0};
    void (*const between)(const void *, int64_t, uint64_t, uint64_t, uint64_t *, sort_between *) =
        CPU_ISA_PICK(sort_table_of)->between[s->nbytes];
    for (; begin < end; begin += BLOCK) {
        int64_t n = end - begin < BLOCK ? end - begin : BLOCK;
        if (counts.inside + BLOCK > room) {
            atomic_store_explicit(&s->full, 1, memory_order_relaxed);
            break;
        }
        s->k->load(r->a + begin * r->stride * s->nbytes, r->stride, n, s->flip, 0, block);
        between(block, n, s->low, s->high, inside + counts.inside, &counts);
    }
    s->chunk[c] = counts;
}

static void gather(selection *s)
{
    uint64_t *to = (uint64_t *)s->r->buffer[0];
    const int64_t room = chunk_room(s);
    s->sum = (sort_between){0};
    for (int64_t c = 0; c * s->grain < s->r->n; c++) {
        const sort_between *x = &s->chunk[c];
        memmove(to + s->sum.inside, to + c * room, (size_t)x->inside * sizeof *to);
        s->sum.below += x->below;
        s->sum.at_low += x->at_low;
        s->sum.inside += x->inside;
        s->sum.at_high += x->at_high;
    }
    s->sorted = to;
    s->kept = NULL;
    const int64_t words = select_nbytes(s->r->dtype, s->r->n) / 8;
    if (s->keeps && 2 * (s->sum.inside + BLOCK) <= words) { /* below is room for narrow */
        s->first_low = s->low;
        s->first_high = s->high;
        s->n_kept = s->sum.inside;
        s->kept = (uint64_t *)s->r->buffer[1] + words - s->sum.inside;
        memcpy(s->kept, to, (size_t)s->sum.inside * sizeof *to);
    }
}

void select_count_kept(const selection *s, int64_t c, const uint64_t *kept, uint64_t key,
                       int64_t *below, int64_t *equal)
{
    const sort_between *x = &s->chunk[c];
    uint64_t none[BLOCK];
    sort_between counts = {0};
    *below = x->below + (key > s->first_low ? x->at_low : 0);
    for (int64_t i = 0; i < x->inside; i += BLOCK)
        CPU_ISA_PICK(sort_table_of)
            ->between[8](kept + i, x->inside - i < BLOCK ? x->inside - i : BLOCK, key, key, none,
                         &counts);
    *below += counts.below;
    *equal = key == s->first_low ? x->at_low : key == s->first_high ? x->at_high : counts.at_low;
}

/* ---- again, while much is in between ---- */
/* Bounds around elements first to last of n keys, by few of them. */
static void bounds_of_keys(selection *s, const uint64_t *keys, int64_t n, int64_t first,
                           int64_t last)
{
    enum { SIZE = 64, MARGIN = 12 };
    uint64_t sample[2][SIZE], *sorted;
    for (int64_t i = 0; i < SIZE; i++)
        sample[0][i] = keys[i * (n / SIZE) + scattered(i, n / SIZE)];
    sorted = sort_u64(sample[0], sample[1], SIZE, 0, 64, NULL);
    const int64_t below = first * SIZE / n - MARGIN, above = last * SIZE / n + MARGIN + 1;
    s->low = below < 0 ? 0 : sorted[below];
    s->high = above >= SIZE ? UINT64_MAX : sorted[above];
}

/* Elements first to last lie among the keys in s->sorted, more than a few. Whether fewer do now; all
 * is as it was where not. */
static int narrow(selection *s, int64_t first, int64_t last)
{
    const uint64_t low = s->low, high = s->high;
    const int64_t start = s->sum.below + s->sum.at_low;
    char *const *buffer = s->r->buffer;
    uint64_t *other = (uint64_t *)buffer[(char *)s->sorted == buffer[0]];
    sort_between counts = {0};
    if (first < start || last >= start + s->sum.inside)
        return 0;
    bounds_of_keys(s, s->sorted, s->sum.inside, first - start, last - start);
    CPU_ISA_PICK(sort_table_of)
        ->between[8](s->sorted, s->sum.inside, s->low, s->high, other, &counts);
    if (first >= start + counts.below && counts.inside < s->sum.inside &&
        last < start + counts.below + counts.at_low + counts.inside + counts.at_high) {
        counts.below += start;
        s->sum = counts;
        s->sorted = other;
        return 1;
    }
    s->low = low;
    s->high = high;
    return 0;
}

static void sort_rest(selection *s)
{
    char *const *buffer = s->r->buffer;
    void *other = buffer[(char *)s->sorted == buffer[0]];
    s->sorted = sort_u64(s->sorted, other, s->sum.inside, 0, 8 * (int)s->nbytes, s->r->counts);
}

void select_begin(selection *s, const sort_row *r, sort_between *chunk)
{
    s->r = r;
    s->k = sort_keys_of(r->dtype);
    s->flip = s->k->bias ^ r->descending;
    s->nbytes = ndp_dtype_size(r->dtype);
    s->grain = sort_grain(r->n);
    s->chunk = chunk;
    s->keeps = 0;
    s->kept = NULL;
    atomic_init(&s->full, 0);
}

int select_enclose(selection *s, int64_t first, int64_t last)
{
    choose_bounds(s, first, last);
    cpu_parallel(s->r->n, s->grain, collect_chunk, s);
    if (atomic_load(&s->full))
        return 0;
    gather(s);
    if (first < s->sum.below ||
        last >= s->sum.below + s->sum.at_low + s->sum.inside + s->sum.at_high) {
        s->kept = NULL;
        return 0;
    }
    while (s->sum.inside > ENOUGH && s->sum.inside > 8 * (last - first) && narrow(s, first, last))
        ;
    sort_rest(s);
    return 1;
}

uint64_t select_key_at(const selection *s, int64_t rank, int64_t *below)
{
    const sort_between *x = &s->sum;
    int64_t at = rank - x->below - x->at_low;
    *below = at < 0 ? x->below : x->below + x->at_low + x->inside;
    if (at < 0 || at >= x->inside)
        return at < 0 ? s->low : s->high;
    int64_t from = 0, to = at; /* the first that is equal */
    while (from < to) {
        int64_t middle = from + (to - from) / 2;
        if (s->sorted[middle] < s->sorted[at])
            from = middle + 1;
        else
            to = middle;
    }
    *below = x->below + x->at_low + from;
    return s->sorted[at];
}

int64_t select_nbytes(int32_t dtype, int64_t n)
{
    const int64_t size = ndp_dtype_size(dtype);
    int64_t least = 2 * 8 * sample_size(n), nbytes = n * (size == 2 ? 4 : size); /* sort_narrow */
    nbytes = (nbytes + 63) / 64 * 64 + sort_chunks(n) * 8 * (2 * BLOCK + 8);
    return n <= SORT_SMALL ? SORT_SMALL * 8 : nbytes > least ? nbytes : least;
}
