/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Plans: the tables of twiddles and chirps, kept in the device's plan cache. A plan depends on
 * length, precision and kind alone; it is not written to once it is made, so any number of threads
 * use it at once. */
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include "fft/fft.h"

/* What transforms of chirps are computed in: a few more bits keep their rounding out of the result.
 * Where long double is made by software, double has to do. */
#if LDBL_MANT_DIG == 64
typedef long double wide;
#else
typedef double wide;
#endif
typedef struct {
    wide r, i;
} wide_complex;

static void put(void *table, int32_t dtype, int64_t at, double x)
{
    if (dtype == NDP_F32)
        ((float *)table)[at] = (float)x;
    else
        ((double *)table)[at] = x;
}

/* The root's parts into two arrays of a table, `apart` numbers from each other. */
static void put_apart(const cpu_fft_roots *r, int64_t k, int32_t dtype, void *table, int64_t at,
                      int64_t apart)
{
    double part[4];
    cpu_fft_root(r, k, part);
    put(table, dtype, at, part[0]);
    put(table, dtype, at + apart, part[2]);
}

static void fill_leaf(const cpu_fft_node *node, const cpu_fft_roots *roots, cpu_fft_plan *plan)
{
    int64_t at = node->table, inner = node->n, l1 = 1;
    double part[4];
    for (int p = 0; p < node->passes; p++) {
        const int32_t r = node->radix[p];
        inner /= r;
        for (int64_t i = 1; i < inner; i++)
            for (int c = 1; c < r; c++, at += 2)
                put_apart(roots, i * c * l1, plan->dtype, plan->table, at, 1);
        for (int j = 1; r > 5 && r != 8 && j <= r / 2; j++) {
            cpu_fft_root(roots, node->n / r * j, part);
            put(plan->table, plan->dtype, at + j - 1, part[0]);
            put(plan->table, plan->dtype, at + r / 2 + j - 1, -part[2]);
        }
        at += r > 5 && r != 8 ? r - 1 : 0;
        l1 *= r;
    }
}

static void fill_split(const cpu_fft_node *node, const cpu_fft_roots *roots, cpu_fft_plan *plan)
{
    const int64_t n1 = plan->shape.node[node->first].n, n2 = node->n / n1;
    const int64_t blocks = (n2 + CPU_FFT_BLOCK - 1) / CPU_FFT_BLOCK,
                  b = node->table + 2 * n1 * blocks;
    for (int64_t k = 0; k < n1; k++) {
        if (node->n < CPU_FFT_TWO_TABLES) {
            for (int64_t j = 0; j < n2; j++)
                put_apart(roots, k * j, plan->dtype, plan->table, node->table + k * n2 + j,
                          node->n);
            continue;
        }
        for (int64_t j = 0; j < blocks; j++)
            put_apart(roots, k * j * CPU_FFT_BLOCK, plan->dtype, plan->table,
                      node->table + k * blocks + j, n1 * blocks);
        for (int64_t j = 0; j < CPU_FFT_BLOCK; j++)
            put_apart(roots, k * j % node->n, plan->dtype, plan->table, b + k * CPU_FFT_BLOCK + j,
                      n1 * CPU_FFT_BLOCK);
    }
}

/* ---- chirps ---- */

/* One pass of Stockham's algorithm with a radix of 2 to 5, by sums as they stand. */
static void wide_pass(const wide_complex *in, wide_complex *out, const wide_complex *root,
                      int64_t m, int64_t l1, int r)
{
    const int64_t inner = m / l1 / r;
    for (int64_t k = 0; k < l1; k++)
        for (int c = 0; c < r; c++)
            for (int64_t i = 0; i < inner; i++) {
                wide_complex sum = {0, 0};
                for (int b = 0; b < r; b++) {
                    const wide_complex x = in[i + inner * (b + r * k)];
                    const wide_complex w = root[(i + inner * b) * c * l1 % m];
                    sum.r += x.r * w.r - x.i * w.i;
                    sum.i += x.r * w.i + x.i * w.r;
                }
                out[i + inner * (k + l1 * c)] = sum;
            }
}

/* Returns which of the two buffers has the transform of a[0]. */
static int wide_transform(wide_complex *a[2], const wide_complex *root, int64_t m)
{
    int from = 0;
    for (int64_t l1 = 1, r; l1 < m; l1 *= r, from = !from) {
        const int64_t left = m / l1;
        r = left % 4 == 0 ? 4 : left % 2 == 0 ? 2 : left % 3 == 0 ? 3 : 5;
        wide_pass(a[from], a[!from], root, m, l1, (int)r);
    }
    return from;
}

static void wide_root(const cpu_fft_roots *roots, int64_t k, wide_complex *out)
{
    double part[4];
    cpu_fft_root(roots, k, part);
    *out = (wide_complex){(wide)part[0] + (wide)part[1], (wide)part[2] + (wide)part[3]};
}

/* The chirp of 2n-th roots, and the transform of its conjugate divided by m. */
static int32_t fill_chirp(const cpu_fft_node *node, const cpu_fft_roots *roots, cpu_fft_plan *plan)
{
    const int64_t n = node->n, m = plan->shape.node[node->first].n, spectrum = node->table + 2 * n;
    cpu_fft_roots *of_m = cpu_fft_roots_new(m);
    wide_complex *memory = calloc((size_t)m * 3, sizeof *memory), *root = memory + 2 * m;
    wide_complex *a[2] = {memory, memory + m};
    for (int64_t j = 0, square = 0; of_m && memory && j < n; j++) {
        put_apart(roots, square, plan->dtype, plan->table, node->table + j, n);
        wide_root(roots, square, &a[0][j]);
        a[0][j].i = -a[0][j].i;
        a[0][j ? m - j : 0] = a[0][j];
        square = (square + 2 * j + 1) % (2 * n);
    }
    if (of_m && memory) {
        for (int64_t k = 0; k < m; k++)
            wide_root(of_m, k, &root[k]);
        const wide_complex *s = a[wide_transform(a, root, m)];
        for (int64_t k = 0; k < m; k++) {
            put(plan->table, plan->dtype, spectrum + k, (double)(s[k].r / (wide)m));
            put(plan->table, plan->dtype, spectrum + m + k, (double)(s[k].i / (wide)m));
        }
    }
    int32_t status = of_m && memory ? NDP_OK : NDP_ERR_MEMORY;
    cpu_fft_roots_free(of_m);
    free(memory);
    return status;
}

/* ---- whole plans ---- */

static int32_t fill_node(const cpu_fft_node *node, cpu_fft_plan *plan)
{
    int32_t status = NDP_OK;
    cpu_fft_roots *roots = cpu_fft_roots_new(node->kind == CPU_FFT_CHIRP ? 2 * node->n : node->n);
    if (!roots)
        return NDP_ERR_MEMORY;
    if (node->kind == CPU_FFT_LEAF)
        fill_leaf(node, roots, plan);
    else if (node->kind == CPU_FFT_SPLIT)
        fill_split(node, roots, plan);
    else
        status = fill_chirp(node, roots, plan);
    cpu_fft_roots_free(roots);
    return status;
}

/* As odd_tmpl.h has it. */
static void fill_odd(const cpu_fft_roots *roots, int64_t parts, cpu_fft_plan *plan)
{
    const int64_t m = plan->n / parts, each = m / 2 + 1, numbers = (parts - 1) * each;
    const int64_t sums = plan->real_table + 2 * numbers;
    double part[4];
    for (int64_t b = 1; b < parts; b++)
        for (int64_t k = 0; k < each; k++)
            put_apart(roots, b * k, plan->dtype, plan->table, plan->real_table + (b - 1) * each + k,
                      numbers);
    for (int64_t j = 1; j <= parts / 2; j++) {
        cpu_fft_root(roots, j * m, part);
        put(plan->table, plan->dtype, sums + j - 1, part[0]);
        put(plan->table, plan->dtype, sums + parts / 2 + j - 1, -part[2]);
    }
}

static int32_t fill_real(cpu_fft_plan *plan)
{
    cpu_fft_roots *roots = cpu_fft_roots_new(plan->n);
    const int64_t parts = cpu_fft_odd_parts(plan->n);
    if (!roots)
        return NDP_ERR_MEMORY;
    if (parts)
        fill_odd(roots, parts, plan);
    for (int64_t k = 0; !parts && k <= plan->n / 4; k++)
        put_apart(roots, k, plan->dtype, plan->table, plan->real_table + k, plan->n / 4 + 1);
    cpu_fft_roots_free(roots);
    return NDP_OK;
}

static void plan_free(void *value)
{
    cpu_fft_plan *plan = value;
    if (plan)
        cpu_host->free(cpu_host->ctx, plan->table);
    free(plan);
}

typedef struct {
    char kind[8];
    int64_t n;
    int32_t dtype, real;
} plan_key;

static int32_t plan_make(void *arg, void **value, uint64_t *nbytes)
{
    const plan_key *key = arg;
    const size_t size = key->dtype == NDP_F32 ? sizeof(float) : sizeof(double);
    const int64_t n = key->real ? cpu_fft_complex(key->n) : key->n;
    cpu_fft_plan *plan = calloc(1, sizeof *plan);
    int32_t status = NDP_ERR_MEMORY;
    if (plan && cpu_fft_cut(n, &plan->shape)) {
        plan->n = key->n;
        plan->dtype = key->dtype;
        plan->real = key->real;
        plan->real_table = plan->shape.numbers;
        const int64_t numbers = plan->real_table + (key->real ? cpu_fft_real_numbers(key->n) : 0);
        *nbytes = sizeof *plan + (uint64_t)(numbers + CPU_FFT_LANES) * size;
        plan->table = cpu_host->alloc(cpu_host->ctx, (size_t)(numbers + CPU_FFT_LANES) * size, 64);
        status = plan->table ? NDP_OK : NDP_ERR_MEMORY;
        if (status == NDP_OK)
            memset(plan->table, 0, (size_t)(numbers + CPU_FFT_LANES) * size);
        for (int i = 0; i < plan->shape.count && status == NDP_OK; i++)
            status = fill_node(&plan->shape.node[i], plan);
        if (status == NDP_OK && cpu_fft_real_numbers(key->n) && key->real)
            status = fill_real(plan);
    }
    if (status != NDP_OK) {
        plan_free(plan);
        return cpu_error(status, "no memory for the tables of Fourier transforms of length %lld",
                         (long long)key->n);
    }
    *value = plan;
    return NDP_OK;
}

static const ndh_plan_1 *plan_service(void)
{
    const ndh_plan_1 *s = cpu_host->size >= NDP_END(ndp_host, service) && cpu_host->service
                              ? cpu_host->service(cpu_host->ctx, "ndh.plan/1")
                              : NULL;
    return s && s->size >= NDP_END(ndh_plan_1, release) ? s : NULL;
}

int32_t cpu_fft_acquire(int64_t n, int32_t dtype, int32_t real, cpu_fft_use *use)
{
    plan_key key;
    uint64_t nbytes;
    void *value = NULL;
    const ndh_plan_1 *service = plan_service();
    memset(&key, 0, sizeof key);
    memcpy(key.kind, "fft", 4);
    key.n = n;
    key.dtype = dtype;
    key.real = real;
    use->use = NULL;
    int32_t status = NDP_ERR_DEVICE;
    if (service)
        status = service->acquire(cpu_host->ctx, &cpu_device, &key, sizeof key, plan_make,
                                  plan_free, &key, &use->use, &value);
    /* A plug-in that borrows our kernels may have opened the device without the core. */
    if (status == NDP_ERR_DEVICE)
        status = plan_make(&key, &value, &nbytes);
    use->plan = value;
    return status;
}

void cpu_fft_release(cpu_fft_use *use)
{
    if (use->use)
        plan_service()->release(cpu_host->ctx, use->use, NULL);
    else
        plan_free((void *)(uintptr_t)use->plan);
    use->plan = NULL;
    use->use = NULL;
}
