/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention by tensor cores: which kernel, how rows and keys are shared among blocks, and its
 * parameters. */
#include <stdio.h>
#include "neural/flash_widths.h"

/* Functions of a kernel: the class's own come first. */
enum { ROWS = ATTENTION_OWN, SPREAD = ROWS + WIDTHS, JOIN = SPREAD + WIDTHS, WIDE };
enum { WIDE_ANY = WIDE + WIDTHS, WIDE_SHORT = WIDE_ANY + WIDTHS, FORWARDS = WIDE_SHORT + WIDTHS };
_Static_assert((int)FORWARDS <= (int)CUDA_FUNCTIONS, "there is room for them");
/* Percent of the time of as many rows by a wider shape that rows by one of fewer warpgroups take, which wait more: 512
 * rows of 64 columns by two warpgroups took longer than by three, 256 less. */
enum { SHORT_COST = 130 };
enum { PACKED = 64 }; /* rows of heads that share keys, at most */
const int flash_widths[WIDTHS] = {32, 64, 80, 96, 128, 256};
typedef struct {
    int groups, keys, stages;
} wide_shape;
static const wide_shape wide_shapes[WIDTHS] = {
#define FLASH_WIDE(columns, groups, keys, stages) [WIDTH_##columns] = {groups, keys, stages},
#include "neural/flash_wide.def"
};
static const wide_shape short_shapes[WIDTHS] = {
#define FLASH_WIDE_SHORT(columns, groups, keys, stages) [WIDTH_##columns] = {groups, keys, stages},
#include "neural/flash_wide.def"
};
/* Bytes that blocks of heads that begin together share. */
enum { TOGETHER_BYTES = 16 << 20 };

/* Bytes of shared memory that a block can be given. */
static uint32_t most_shared(const ndp_dev *dev)
{
    switch (dev->capability) {
    case 80:
    case 87:
        return 163 << 10;
    case 86:
    case 89:
    case 120:
    case 121:
        return 99 << 10;
    default:
        return 227 << 10;
    }
}

static int rows_of(int width, int spread)
{
    return spread ? FLASH_SPREAD_ROWS : width > 128 ? 64 : 128;
}

/* Queries, and two steps of keys and values. */
static uint32_t shared_of(int width, int spread)
{
    return (uint32_t)((rows_of(width, spread) + 4 * FLASH_KEYS) * (width + 8) * 2);
}

/* Queries, steps of keys and values, their gates, and what stages begin with. */
static uint32_t wide_shared_of(int i, const wide_shape *shape)
{
    const int slabs = (flash_widths[i] + 63) / 64, stages = shape->stages;
    const int queries = FLASH_WIDE_PLACES(flash_widths[i]) * 64 * shape->groups;
    return (uint32_t)(slabs * (queries + 2 * stages * shape->keys) * 128 + 1024 + 32 * stages);
}

int32_t flash_function(cuda_kernel *k, int module, const char *name, uint32_t shared,
                       CUfunction *out)
{
    CUfunction f;
    int version = 80;
    *out = NULL;
    if (k->dev->capability < 80 || shared > most_shared(k->dev))
        return NDP_OK;
    int32_t status = cuda_function(k->dev, module, name, &f);
    if (status == NDP_OK)
        status = cuda_fail(cu.cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, f),
                           "the architecture of %s", name);
    if (status != NDP_OK || version < 80)
        return status;
    *out = f;
    return cuda_fail(
        cu.cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared),
        "shared memory for %s", name);
}

/* Kernels for compute capability 9.0 alone, where the plug-in was built with them: one of each width, of a kind that
 * their names say. `shared` has bytes of each width, 0: none. */
static int32_t make_kind(cuda_kernel *k, const char *file, const char *kind, int32_t dtype,
                         int first, const uint32_t *shared)
{
    char name[48];
    int32_t status = NDP_OK;
    for (int i = 0; i < WIDTHS && status == NDP_OK; i++) {
        k->function[first + i] = NULL;
        if (!CUDA_HAS_90A || k->dev->capability != 90 || !shared[i])
            continue;
        snprintf(name, sizeof name, "%s_%s%d_%s", file, kind, flash_widths[i],
                 dtype == NDP_F16 ? "F16" : "BF16");
        status = flash_function(k, cuda_module_of(file, dtype), name, shared[i],
                                &k->function[first + i]);
    }
    return status;
}
int32_t flash_make_wide(cuda_kernel *k, const char *file, int32_t dtype, int first,
                        const uint32_t *shared)
{
    const int32_t status = make_kind(k, file, "", dtype, first, shared);
    return status == NDP_OK ? make_kind(k, file, "any_", dtype, first + WIDTHS, shared) : status;
}
static int32_t make_wide_forward(cuda_kernel *k, int32_t dtype)
{
    uint32_t shared[WIDTHS], of_short[WIDTHS];
    for (int i = 0; i < WIDTHS; i++) {
        shared[i] = wide_shapes[i].groups ? wide_shared_of(i, &wide_shapes[i]) : 0;
        of_short[i] = short_shapes[i].groups ? wide_shared_of(i, &short_shapes[i]) : 0;
    }
    const int32_t status = flash_make_wide(k, "flash_wide", dtype, WIDE, shared);
    return status == NDP_OK ? make_kind(k, "flash_wide", "short_", dtype, WIDE_SHORT, of_short)
                            : status;
}

int flash_is_plain(const attention_params *p)
{
    return p->mask_kind == ATTENTION_NO_MASK && p->least == 0 &&
           (float)(p->scale * 1.4426950408889634) >= 0x1p-100f;
}

int32_t flash_make(cuda_kernel *k, const ndp_call *like)
{
    char name[32];
    const int32_t dtype = like->in[0].dtype;
    const int module = cuda_module_of("flash", dtype);
    const char *suffix = dtype == NDP_F16 ? "F16" : "BF16";
    int32_t status = NDP_OK;
    if (like->op == NDP_OP_attention_grad)
        return flash_grad_make(k, dtype);
    for (int i = 0; i < WIDTHS && status == NDP_OK; i++) {
        snprintf(name, sizeof name, "flash_%d_%s", flash_widths[i], suffix);
        status =
            flash_function(k, module, name, shared_of(flash_widths[i], 0), &k->function[ROWS + i]);
        if (status != NDP_OK)
            break;
        snprintf(name, sizeof name, "flash_spread_%d_%s", flash_widths[i], suffix);
        status = flash_function(k, module, name, shared_of(flash_widths[i], 1),
                                &k->function[SPREAD + i]);
    }
    snprintf(name, sizeof name, "flash_join_%s", suffix);
    status = status == NDP_OK ? flash_function(k, module, name, 0, &k->function[JOIN]) : status;
    return status == NDP_OK ? make_wide_forward(k, dtype) : status;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Heads whose rows a block takes together: all that share keys, where queries are few. */
static int64_t pack_of(const attention_params *p)
{
    const int64_t group = p->key_heads ? p->heads / p->key_heads : 1;
    return p->m * group <= PACKED ? group : 1;
}

/* Cuts the keys, of which a step takes so many, into so many parts that the device has enough blocks;
 * returns how many. */
static int64_t split(const cuda_kernel *k, attention_params *p, int64_t blocks, int keys)
{
    const int64_t steps = flash_steps_of(p->n, keys), sms = k->dev->sm_count;
    int64_t splits = 1;
    if (blocks > 0 && blocks < sms && steps > 3)
        splits = least_of(flash_steps_of(2 * sms, blocks), steps / 2);
    const int64_t each = steps > 0 ? flash_steps_of(steps, splits) : 1;
    p->keys_each = (int32_t)(each * keys);
    p->splits = (int32_t)(steps > 0 ? flash_steps_of(steps, each) : 1);
    return p->splits;
}

/* Whether rows of an operand can be copied 16 bytes, `chunk` elements, at a time. */
static int is_whole(const attention_view *v, const int64_t *extents, int64_t columns, int chunk)
{
    if (columns % chunk || v->stride[3] != 1 || v->at % 16)
        return 0;
    for (int d = 0; d < 3; d++)
        if (extents[d] > 1 && v->stride[d] % chunk)
            return 0;
    return 1;
}

void flash_set_whole(attention_params *p, int chunk)
{
    const int64_t queries[3] = {p->batch, p->heads, p->m}, keys[3] = {p->batch, p->key_heads, p->n};
    p->whole_result = is_whole(&p->out[0], queries, p->e, chunk);
    p->whole = is_whole(&p->q, queries, p->d, chunk) && is_whole(&p->k, keys, p->d, chunk) &&
               is_whole(&p->v, keys, p->e, chunk) &&
               (!p->g.at || is_whole(&p->g, queries, p->e, chunk));
}

int flash_width_of(const attention_params *p)
{
    const int64_t columns = p->d > p->e ? p->d : p->e;
    int i = 0;
    if (columns > FLASH_WIDEST || p->d == 0 || p->e == 0 || p->m > INT32_MAX - 256 ||
        p->n > INT32_MAX - 256 || p->heads > INT32_MAX)
        return WIDTHS;
    while (flash_widths[i] < columns)
        i++;
    return i;
}

/* Whether a shape of fewer warpgroups has less to do: in turns of all multiprocessors, times a tile's rows, of which some
 * are none of queries. */
static int is_short(const cuda_kernel *k, const attention_params *p, int i, int64_t heads)
{
    const int64_t sms = k->dev->sm_count, wide = 64 * wide_shapes[i].groups,
                  few = 64 * short_shapes[i].groups;
    if (few == 0 || !k->function[WIDE_SHORT + i])
        return 0;
    return flash_steps_of(heads * flash_steps_of(p->rows, few), sms) * few * SHORT_COST <
           flash_steps_of(heads * flash_steps_of(p->rows, wide), sms) * wide * 100;
}

int flash_plans(const cuda_kernel *k, attention_params *p, flash_plan *plan)
{
    const int64_t pack = pack_of(p), rows = p->m * pack;
    const int i = flash_width_of(p);
    if (i == WIDTHS)
        return 0;
    const int wide = rows > PACKED && k->function[WIDE + i];
    const int spread = !wide && (rows <= FLASH_SPREAD_ROWS || !k->function[ROWS + i]);
    p->pack = (int32_t)pack;
    p->rows = (int32_t)rows;
    const int64_t heads = p->heads / pack * p->batch;
    const int few = wide && flash_is_plain(p) && is_short(k, p, i, heads);
    const wide_shape *const shape = few ? &short_shapes[i] : &wide_shapes[i];
    const int function = (few      ? WIDE_SHORT
                          : wide   ? flash_is_plain(p) ? WIDE : WIDE_ANY
                          : spread ? SPREAD
                                   : ROWS) +
                         i;
    if (!k->function[function])
        return 0;
    p->row_blocks =
        (int32_t)flash_steps_of(rows, wide ? 64 * shape->groups : rows_of(flash_widths[i], spread));
    const int64_t blocks = heads * p->row_blocks,
                  tiles = blocks * split(k, p, blocks, wide ? shape->keys : FLASH_KEYS);
    *plan = (flash_plan){
        .function = function,
        .threads = wide ? 128 * (shape->groups + 1) : FLASH_THREADS,
        .blocks = wide && FLASH_WIDE_PLACES(flash_widths[i]) > 1 ? least_of(tiles, k->dev->sm_count)
                                                                 : tiles,
        .shared = wide ? wide_shared_of(i, shape) : shared_of(flash_widths[i], spread)};
    p->blocks = (int32_t)tiles;
    p->parts = p->splits * (spread ? FLASH_WARPS : 1);
    if (p->parts > 1)
        plan->scratch = (uint64_t)(p->parts * p->batch * p->heads * p->m * (p->e + 1)) * 4;
    return tiles <= INT32_MAX / 2; /* numbers of tiles that are not there pass them by little */
}

void flash_set_together(attention_params *p, int64_t bytes)
{
    p->together = (int32_t)least_of(bytes > 0 ? 1 + TOGETHER_BYTES / bytes : 1, INT32_MAX);
}

void flash_set_place(attention_params *p)
{
    flash_set_together(p, p->causal ? (p->m > p->n ? p->m : p->n) * (p->d + p->e) * 2 : 0);
}

int32_t flash_run(const cuda_kernel *k, ndp_stream *s, const ndp_call *call, attention_params *p,
                  const flash_plan *plan)
{
    const int64_t results = p->batch * p->heads * p->m;
    if (plan->blocks == 0)
        return NDP_OK;
    flash_set_whole(p, 8);
    flash_set_place(p);
    if (p->parts > 1) {
        p->part = cuda_ptr(&call->scratch);
        p->part_lse = p->part + (uint64_t)(p->parts * results * p->e) * 4;
    }
    int32_t status = cuda_launch(k, k->function[plan->function], s, (uint32_t)plan->blocks,
                                 plan->threads, plan->shared, p);
    if (status != NDP_OK || p->parts == 1)
        return status;
    return cuda_launch(k, k->function[JOIN], s, (uint32_t)results, FLASH_JOIN_THREADS, 0, p);
}
