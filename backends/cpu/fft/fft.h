/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of Fourier transforms share: how a length is cut up, the tables of a plan, and the
 * loops of each SIMD level.
 *
 * A transform computes in lanes: a vector holds the same element of several transforms, its real
 * and imaginary parts in two vectors (a "cell"). What the lanes are does not matter to the
 * arithmetic: rows of a batch, or columns and then rows of one long transform that is cut into
 * n = n1*n2 (Bailey's four steps, J. Supercomputing 4, 1990). How a length is cut up depends on the
 * length alone, so every element has the same bits for every batch, thread count and SIMD level. */
#ifndef NDOCK_CPU_FFT_H
#define NDOCK_CPU_FFT_H
#include "host/cpu.h"

enum {
    CPU_FFT_DIRECT = 61, /* the largest prime whose sums are computed as they stand */
    CPU_FFT_PASSES = 12, /* of a leaf */
    CPU_FFT_NODES = 64,
    CPU_FFT_LANES = 16,           /* the most that any vector has */
    CPU_FFT_TWO_TABLES = 1 << 20, /* cuts of such a length multiply two factors for a twiddle */
    CPU_FFT_BLOCK = 16,           /* columns that share the first of them */
    CPU_FFT_ODD_MOST = 1048575    /* real numbers whose transform is made of those of parts */
};

/* ---- how a length is cut up (shape.c) ---- */
enum { CPU_FFT_LEAF = 1, CPU_FFT_SPLIT = 2, CPU_FFT_CHIRP = 3 };
typedef struct {
    int64_t n;
    int32_t kind, as_root;
    int32_t first, second; /* SPLIT: nodes of n1 and n2. CHIRP: first, that of the convolution */
    int32_t passes, radix[CPU_FFT_PASSES]; /* LEAF */
    int64_t work;                          /* cells that it needs beside its own */
    int64_t table;                         /* where its numbers begin in the plan's table */
} cpu_fft_node;
typedef struct {
    int32_t count, root;
    int64_t numbers; /* in the table */
    cpu_fft_node node[CPU_FFT_NODES];
} cpu_fft_shape;
/* How a transform of n >= 1 elements is cut up. Zero if n is too large to be. */
int cpu_fft_cut(int64_t n, cpu_fft_shape *shape);
/* Into how many parts every so-manieth of an odd number of real numbers goes, whose transforms are
 * computed two at a time as a complex one (odd_tmpl.h): a prime factor of n, which has small ones
 * alone, since convolutions of parts would round more; 0: into none. */
static inline int64_t cpu_fft_odd_parts(int64_t n)
{
    static const int primes[] = {7, 5, 11, 13, 3}; /* of many parts less is wasted, but sums grow */
    int64_t parts = 0, rest = n;
    for (int i = 0; i < 5 && n % 2 && n <= CPU_FFT_ODD_MOST; i++)
        for (; rest % primes[i] == 0; rest /= primes[i])
            parts = parts ? parts : primes[i];
    if (parts == 5 && n % 9 == 0) /* measured: 45 to 3,375 take a tenth less */
        parts = 3;
    return rest == 1 && parts < n ? parts : 0;
}
/* Extra table numbers of the transform of n real numbers by those of cpu_fft_complex(n). */
static inline int64_t cpu_fft_real_numbers(int64_t n)
{
    const int64_t parts = cpu_fft_odd_parts(n);
    if (parts)
        return (parts - 1) * (2 * (n / parts / 2 + 1) + 1);
    return n % 2 ? 0 : 2 * (n / 4 + 1);
}
/* The length of the complex transforms that one of n real numbers is made of. */
static inline int64_t cpu_fft_complex(int64_t n)
{
    const int64_t parts = cpu_fft_odd_parts(n);
    return parts ? n / parts : n % 2 ? n : n / 2;
}
/* Cells that they take. */
static inline int64_t cpu_fft_real_cells(int64_t n)
{
    const int64_t parts = cpu_fft_odd_parts(n);
    return parts ? (parts + 1) / 2 * (n / parts) : n % 2 ? n : n / 2 + 1;
}

/* What a transform is and needs, of its shape. */
typedef struct {
    int64_t n;            /* of the complex transform */
    int32_t kind, zero;   /* of the root */
    int64_t work;         /* cells, where the root is computed in lanes */
    int64_t shared, slot; /* bytes, where it is one line (line.h) */
} cpu_fft_needs;
void cpu_fft_find_needs(const cpu_fft_shape *, int64_t lanes, int64_t size, cpu_fft_needs *out);

/* ---- plans (plan.c) ---- */
typedef struct {
    cpu_fft_shape shape;
    int64_t n;           /* of the transform, of which the shape's root is half if real */
    int32_t dtype, real; /* NDP_F32 or NDP_F64 */
    int64_t real_table;  /* exp(-2 pi i k/n) for k up to n/4, or what odd_tmpl.h has */
    void *table;         /* float or double */
} cpu_fft_plan;
typedef struct {
    const cpu_fft_plan *plan;
    ndh_plan *use; /* NULL: the host keeps no plans, and this one goes with the use */
} cpu_fft_use;
/* The device's plan, from its plan cache. */
int32_t cpu_fft_acquire(int64_t n, int32_t dtype, int32_t real, cpu_fft_use *use);
void cpu_fft_release(cpu_fft_use *use);

/* ---- roots of unity (roots.c) ---- */
typedef struct cpu_fft_roots cpu_fft_roots;
cpu_fft_roots *cpu_fft_roots_new(int64_t n); /* NULL without memory */
void cpu_fft_roots_free(cpu_fft_roots *);
/* exp(-2 pi i k/n), 0 <= k < n: part[0] + part[1] and part[2] + part[3], to about 2^-100. */
void cpu_fft_root(const cpu_fft_roots *, int64_t k, double part[4]);
/* Rounded to the dtype, into table[at] and table[at + 1]. */
void cpu_fft_root_store(const cpu_fft_roots *, int64_t k, int32_t dtype, void *table, int64_t at);

/* ---- memory as lanes ---- */
/* Where the elements of up to CPU_FFT_LANES transforms are: element j of lane l has its parts at
 * re + lane[l] + j*step and im + the same. A part that is NULL reads as zero, and is not written.
 * Exchanging the two turns a forward transform into an inverse one. */
typedef struct {
    char *re, *im;
    int64_t step; /* bytes */
    int32_t lanes, zero;
    double scale[2]; /* what is written is multiplied by: parts of re and im */
    int64_t lane[CPU_FFT_LANES];
} cpu_fft_io;
/* Elements part, part + parts ... of real numbers as real parts, those from the next one on as
 * imaginary ones, or exchanged; of part 0 alone. */
cpu_fft_io cpu_fft_io_of_part(const cpu_fft_io *io, int64_t parts, int64_t part, int exchanged);

/* ---- loops, built once per SIMD level (fft_f32_isa.c, fft_f64_isa.c) ---- */
typedef struct {
    int64_t lanes; /* of a vector */
    /* Elements of up to `lanes` transforms to n cells, and n cells to elements. */
    void (*load)(void *cells, const cpu_fft_io *io, int64_t n);
    void (*store)(const void *cells, const cpu_fft_io *io, int64_t n);
    /* The forward transform of the node over cells in place; work: as many cells as it says. */
    void (*cells)(const cpu_fft_plan *, int32_t node, void *cells, void *work);
    /* After the half-length transform of real numbers: n/2 cells become n/2 + 1. */
    void (*part)(const cpu_fft_plan *, void *cells);
    /* Before the one that gives real numbers: n/2 + 1 cells, imaginary parts times sign, become n/2
     * with exchanged parts. */
    void (*join)(const cpu_fft_plan *, void *cells, double sign);
    /* The same of an odd number n: n/2 + 1 cells become n. */
    void (*mirror)(void *cells, int64_t n, double sign);
    /* The same of an odd number that goes into parts, whose cells follow each other: they are loaded
     * at once, where that is faster (else 0 is returned); their transforms become n/2 + 1 cells, or n/2 + 1 cells become what gives the parts, parts
     * exchanged; and of a line. */
    int (*load_odd)(const cpu_fft_plan *, void *cells, const cpu_fft_io *io);
    void (*part_odd)(const cpu_fft_plan *, void *cells);
    void (*join_odd)(const cpu_fft_plan *, void *cells, double sign);
    void (*part_odd_line)(const cpu_fft_plan *, void *re, void *im);
    void (*join_odd_line)(const cpu_fft_plan *, void *re, void *im, double sign);
    /* One long transform, a SPLIT node: vectors of columns, then blocks of rows (line_tmpl.h). */
    void (*columns)(const cpu_fft_plan *, int32_t node, const cpu_fft_io *in, int64_t begin,
                    int64_t end, void *rows, void *work);
    void (*rows)(const cpu_fft_plan *, int32_t node, void *rows, int64_t begin, int64_t end,
                 const cpu_fft_io *out, void *work);
    /* Elements begin to end of a line, in two dense arrays of parts. */
    void (*load_line)(const cpu_fft_io *, int64_t begin, int64_t end, void *re, void *im);
    void (*store_line)(const void *re, const void *im, int64_t begin, int64_t end,
                       const cpu_fft_io *);
    void (*multiply_line)(void *re, void *im, const void *wr, const void *wi, int64_t begin,
                          int64_t end, int exchange);
    /* part and join of the pairs begin to end, of (n/2 + 1)/2 from 0 on. */
    void (*part_line)(const cpu_fft_plan *, void *re, void *im, int64_t begin, int64_t end);
    void (*join_line)(const cpu_fft_plan *, void *re, void *im, int64_t begin, int64_t end,
                      double sign);
} cpu_fft_table;
#define CPU_FFT_TABLE                                                                            \
    {                                                                                            \
        LANES, load, store, run_cells, part_cells, join_cells, mirror_cells, load_odd_cells,     \
            part_odd_cells, join_odd_cells, part_odd_line, join_odd_line, run_columns, run_rows, \
            load_line, store_line, multiply_line, part_line, join_line                           \
    }
CPU_ISA_DECLARE(extern const cpu_fft_table, cpu_fft_f32);
CPU_ISA_DECLARE(extern const cpu_fft_table, cpu_fft_f64);

#endif
