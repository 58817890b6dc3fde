/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A call of one rank: from the core's views to the words of NCCL, and to its stream. Minima and
 * maxima of floating dtypes are left to the core, since NCCL's pass over NaN; so are reductions of
 * 16-bit integers, which NCCL has none of, and products of complex numbers. */
#include <stdio.h>
#include <string.h>
#include "comm/comm.h"

enum { SUM, PROD, MAX, MIN, AVG }; /* ncclRedOp_t */
enum { INT8, UINT8, INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64, BFLOAT16 };

#define BIT(name) ((uint64_t)1 << NDP_##name)
#define INTEGERS (BIT(I8) | BIT(U8) | BIT(I32) | BIT(U32) | BIT(I64) | BIT(U64))
#define FLOATS (BIT(F16) | BIT(BF16) | BIT(F32) | BIT(F64))

/* How NCCL sees the elements of a dtype, `parts` of them for one; bool: or and and of bytes are the
 * greatest and the least. */
static const struct {
    uint64_t dtype;
    int seen, parts;
    size_t item;
} dtypes[] = {{BIT(BOOL), UINT8, 1, 1},  {BIT(I8), INT8, 1, 1},     {BIT(U8), UINT8, 1, 1},
              {BIT(I32), INT32, 1, 4},   {BIT(U32), UINT32, 1, 4},  {BIT(I64), INT64, 1, 8},
              {BIT(U64), UINT64, 1, 8},  {BIT(F16), FLOAT16, 1, 2}, {BIT(BF16), BFLOAT16, 1, 2},
              {BIT(F32), FLOAT32, 1, 4}, {BIT(F64), FLOAT64, 1, 8}, {BIT(C64), FLOAT32, 2, 4},
              {BIT(C128), FLOAT64, 2, 8}};

uint64_t cuda_comm_dtypes(ndp_dev *dev, int32_t reduce)
{
    static const uint64_t masks[NDP_COMM_OPS] = {[NDP_COMM_SUM] = INTEGERS | FLOATS | BIT(BOOL) |
                                                                  BIT(C64) | BIT(C128),
                                                 [NDP_COMM_PROD] = INTEGERS | FLOATS | BIT(BOOL),
                                                 [NDP_COMM_MIN] = INTEGERS | BIT(BOOL),
                                                 [NDP_COMM_MAX] = INTEGERS | BIT(BOOL),
                                                 [NDP_COMM_AVG] = FLOATS | BIT(C64) | BIT(C128)};
    (void)dev;
    return reduce >= 0 && reduce < NDP_COMM_OPS ? masks[reduce] : 0;
}

static int op_of(int32_t reduce, int32_t dtype)
{
    static const int ops[NDP_COMM_OPS] = {SUM, PROD, MIN, MAX, AVG};
    static const int of_bool[NDP_COMM_OPS] = {MAX, MIN, MIN, MAX, MAX};
    return dtype == NDP_BOOL ? of_bool[reduce] : ops[reduce];
}

static int64_t elements(const ndp_view *v)
{
    int64_t n = 1;
    for (int32_t d = 0; d < v->ndim; d++)
        n *= v->shape[d];
    return n;
}

int cuda_comm_is_message(const cuda_part *p)
{
    return p->kind == CUDA_SEND || p->kind == CUDA_RECV;
}

static int reduces(cuda_exchange_kind kind)
{
    return kind == CUDA_ALL_REDUCE || kind == CUDA_REDUCE || kind == CUDA_REDUCE_SCATTER;
}

static void describe(cuda_part *p, int32_t dtype, int64_t n, int32_t reduce)
{
    static const char *const kinds[CUDA_EXCHANGES] = {
        "all_reduce",     "reduce",     "broadcast", "all_gather",
        "reduce_scatter", "all_to_all", "send",      "recv"};
    static const char *const ops[NDP_COMM_OPS] = {"sum", "prod", "min", "max", "avg"};
    const char *by = reduces(p->kind) ? ops[reduce] : NULL;
    int at = snprintf(p->text, sizeof p->text, "%s of %lld %s%s%s", kinds[p->kind], (long long)n,
                      ndp_dtype_name(dtype), by ? " by " : "", by ? by : "");
    if (p->kind == CUDA_REDUCE || p->kind == CUDA_BROADCAST)
        snprintf(p->text + at, sizeof p->text - (size_t)at, ", root %d", p->peer);
    if (p->kind == CUDA_SEND || p->kind == CUDA_RECV)
        snprintf(p->text + at, sizeof p->text - (size_t)at, ", %s rank %d",
                 p->kind == CUDA_SEND ? "to" : "from", p->peer);
}

static const void *address(const ndp_view *v)
{
    return v->mem ? (const void *)(uintptr_t)cuda_ptr(v) : NULL;
}

static void read_exchange(const ndp_comm *c, cuda_exchange_kind kind, const ndp_exchange *x,
                          cuda_part *p)
{
    const ndp_view *v = x->in.mem && kind != CUDA_REDUCE_SCATTER ? &x->in : &x->out;
    const int64_t n = elements(v) / (kind == CUDA_ALL_TO_ALL ? c->n : 1);
    *p = (cuda_part){.kind = kind,
                     .peer = x->peer,
                     .in = address(&x->in),
                     .out = (void *)(uintptr_t)address(&x->out),
                     .count = (size_t)n * (size_t)ndp_dtype_size(v->dtype),
                     .item = 1,
                     .dtype = UINT8};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes && reduces(kind); i++)
        if (dtypes[i].dtype >> v->dtype & 1) {
            p->dtype = dtypes[i].seen;
            p->item = dtypes[i].item;
            p->count = (size_t)(n * dtypes[i].parts);
            p->op = op_of(x->reduce, v->dtype);
        }
    describe(p, v->dtype, n, x->reduce);
}

/* ---- to NCCL ---- */
static int all_to_all(const ndp_comm *c, const cuda_part *p, CUstream s)
{
    int r = cuda_nccl.ncclGroupStart();
    const size_t nbytes = p->count * p->item;
    for (int32_t i = 0; i < c->n && r == NCCL_SUCCESS; i++) {
        const size_t at = nbytes * (size_t)i;
        r = cuda_nccl.ncclSend((const char *)p->in + at, p->count, p->dtype, i, c->handle, s);
        if (r == NCCL_SUCCESS || r == NCCL_IN_PROGRESS)
            r = cuda_nccl.ncclRecv((char *)p->out + at, p->count, p->dtype, i, c->handle, s);
        r = r == NCCL_IN_PROGRESS ? NCCL_SUCCESS : r;
    }
    const int ended = cuda_nccl.ncclGroupEnd();
    return r == NCCL_SUCCESS ? ended : r;
}

int cuda_comm_issue(ndp_comm *c, const cuda_part *p, CUstream s)
{
    const nccl_handle h = c->handle;
    switch (p->kind) {
    case CUDA_ALL_REDUCE:
        return cuda_nccl.ncclAllReduce(p->in, p->out, p->count, p->dtype, p->op, h, s);
    case CUDA_REDUCE:
        return cuda_nccl.ncclReduce(p->in, p->out, p->count, p->dtype, p->op, p->peer, h, s);
    case CUDA_BROADCAST:
        return cuda_nccl.ncclBroadcast(p->in ? p->in : p->out,
                                       p->out ? p->out : (void *)(uintptr_t)p->in, p->count,
                                       p->dtype, p->peer, h, s);
    case CUDA_ALL_GATHER:
        return cuda_nccl.ncclAllGather(p->in, p->out, p->count, p->dtype, h, s);
    case CUDA_REDUCE_SCATTER:
        return cuda_nccl.ncclReduceScatter(p->in, p->out, p->count, p->dtype, p->op, h, s);
    case CUDA_ALL_TO_ALL:
        return all_to_all(c, p, s);
    case CUDA_SEND:
        return cuda_nccl.ncclSend(p->in, p->count, p->dtype, p->peer, h, s);
    default:
        return cuda_nccl.ncclRecv(p->out, p->count, p->dtype, p->peer, h, s);
    }
}

/* ---- a call ---- */
int32_t cuda_comm_enter(ndp_comm *c, const cuda_part *p)
{
    pthread_mutex_lock(&cuda_comm_lock);
    const int failed = c->failed;
    if (!failed) {
        memcpy(c->latest, p->text, sizeof c->latest);
        c->in_call_ms = cuda_comm_now_ms();
        c->in_call = cuda_comm_is_message(p) ? 0 : p->number;
        cuda_keeper_wake();
    }
    pthread_mutex_unlock(&cuda_comm_lock);
    return failed ? cuda_comm_error(c) : NDP_OK;
}

void cuda_comm_leave(ndp_comm *c)
{
    pthread_mutex_lock(&cuda_comm_lock);
    c->in_call_ms = 0;
    cuda_keeper_wake();
    pthread_mutex_unlock(&cuda_comm_lock);
}

int cuda_comm_until_queued(ndp_comm *c, int r)
{
    while (r == NCCL_IN_PROGRESS && cuda_comm_error(c) == NDP_OK)
        if (cuda_nccl.ncclCommGetAsyncError(c->handle, &r) != NCCL_SUCCESS)
            break;
    return r;
}

static int32_t run_alone(ndp_comm *c, const cuda_part *p)
{
    int32_t status = cuda_comm_enter(c, p);
    if (status != NDP_OK)
        return status;
    const int r = cuda_comm_until_queued(c, cuda_comm_issue(c, p, p->stream));
    status = cuda_comm_said(c, r, p->text);
    if (status == NDP_OK)
        status = cuda_comm_watch(c, p, p->stream);
    cuda_comm_leave(c);
    return status;
}

/* Ranks that share a process may call in one group or in one each, which only its end tells. */
static int32_t run_in_group(ndp_comm *c, const cuda_part *p)
{
    if (cuda_team_local(c) > 1)
        return cuda_comm_group_part(c, p, 0);
    int32_t status = cuda_comm_enter(c, p);
    if (status != NDP_OK)
        return status;
    const int r = cuda_comm_issue(c, p, p->stream);
    status = cuda_comm_said(c, r == NCCL_IN_PROGRESS ? NCCL_SUCCESS : r, p->text);
    return status == NDP_OK ? cuda_comm_group_part(c, p, 1) : status;
}

/* Ranks may capture as often as they like, so that only calls which exchange are counted. */
static void number(ndp_comm *c, cuda_part *p)
{
    if (cuda_comm_is_message(p))
        p->number = ++c->messages;
    else if (!cuda_comm_is_captured(p->stream))
        cuda_board_note(c->board, p->number = ++c->calls, p->text);
}

int32_t cuda_comm_call(ndp_dev *dev, ndp_stream *s, ndp_comm *c, cuda_exchange_kind kind,
                       const ndp_exchange *x)
{
    cuda_scope scope;
    cuda_part part;
    int32_t status = cuda_patch_refuse("a collective");
    if (status == NDP_OK && c->dev != dev)
        status = cuda_error(NDP_ERR_DEVICE,
                            "the communicator's device is cuda:%u, the stream's "
                            "cuda:%u",
                            c->dev->index, dev->index);
    if (status == NDP_OK)
        status = cuda_comm_error(c);
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    read_exchange(c, kind, x, &part);
    part.stream = cuda_stream(dev, s);
    number(c, &part);
    status = cuda_comm_grouped()      ? run_in_group(c, &part)
             : cuda_team_local(c) > 1 ? cuda_team_call(c, &part)
                                      : run_alone(c, &part);
    cuda_leave(&scope);
    return status;
}
