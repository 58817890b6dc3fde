/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group H: communicators, as far as one rank can tell: one alone, one that the others do not join,
 * and one that was aborted. */
#include <stdio.h>
#include <string.h>
#include "abi.h"

enum { COUNT = 1000, LIMIT_MS = 300 };
typedef int32_t (*exchange_fn)(ndp_dev *, ndp_stream *, ndp_comm *, const ndp_exchange *);

static ndp_comm_1 comm;

static void take_comm(void)
{
    const void *table = abi_group(abi.dev, "ndp.comm/1");
    uint32_t size = 0;
    if (!table)
        abi_skip("the device has no ndp.comm/1");
    memcpy(&size, table, sizeof size);
    memcpy(&comm, table, size < sizeof comm ? size : sizeof comm);
    abi_need(size >= NDP_END(ndp_comm_1, group_end), "its table says %u bytes, and needs %zu", size,
             NDP_END(ndp_comm_1, group_end));
}

static ndp_comm *join_alone(uint64_t timeout_ms)
{
    unsigned char id[NDP_COMM_ID_BYTES];
    ndp_comm *c = NULL;
    abi_call(comm.unique_id(abi.dev, id), "unique_id");
    abi_call(comm.init(abi.dev, 0, 1, id, timeout_ms, &c), "init as rank 0 of 1");
    abi_need(c != NULL, "init gives no communicator");
    return c;
}

static ndp_view view_of(ndp_mem *mem, const int64_t *shape, int32_t ndim)
{
    static const int64_t stride[2] = {COUNT, 1};
    return (ndp_view){.mem = mem,
                      .shape = shape,
                      .stride = stride + (2 - ndim),
                      .dtype = NDP_F32,
                      .ndim = ndim,
                      .flags = NDP_VIEW_CONTIGUOUS};
}

static ndp_mem *values(float first)
{
    float v[COUNT];
    ndp_mem *m = abi_alloc(sizeof v);
    for (int i = 0; i < COUNT; i++)
        v[i] = first < 0 ? -1 : first + (float)i;
    abi_write(NULL, m, 0, v, sizeof v);
    return m;
}

static void expect_values(ndp_mem *m, float first, const char *what)
{
    float v[COUNT];
    abi_read(NULL, m, 0, v, sizeof v);
    for (int i = 0; i < COUNT; i++)
        if (!abi_expect(v[i] == first + (float)i, "%s: element %d of one rank is %g, not %g", what,
                        i, v[i], first + (float)i))
            return;
}

/* What one rank alone gets is what it gave. rows: in, out have an axis of the ranks. */
static void exchange_alone(ndp_comm *c, const char *what, exchange_fn f, int in_rows, int out_rows,
                           int32_t reduce)
{
    static const int64_t shape[2] = {1, COUNT};
    if (!f)
        return;
    ndp_mem *in = values(3), *out = values(-1);
    ndp_exchange x = {.size = sizeof x, .reduce = reduce};
    x.in = view_of(in, in_rows ? shape : shape + 1, in_rows ? 2 : 1);
    x.out = view_of(out, out_rows ? shape : shape + 1, out_rows ? 2 : 1);
    abi_call(f(abi.dev, NULL, c, &x), what);
    expect_values(out, 3, what);
    expect_values(in, 3, "the operand");
    abi_free(in);
    abi_free(out);
}

static void reductions_alone(ndp_comm *c)
{
    for (int32_t r = 0; r < NDP_COMM_OPS; r++) {
        const uint64_t mask = comm.dtypes(abi.dev, r);
        abi_expect((mask & 1) == 0 && mask >> NDP_DTYPE_END == 0,
                   "dtypes of reduction %d are bits 0x%llx, some of no dtype", (int)r,
                   (unsigned long long)mask);
        if (!(mask >> NDP_F32 & 1))
            continue;
        exchange_alone(c, "all_reduce", comm.all_reduce, 0, 0, r);
        exchange_alone(c, "reduce", comm.reduce, 0, 0, r);
        exchange_alone(c, "reduce_scatter", comm.reduce_scatter, 1, 0, r);
    }
}

static void alone(void)
{
    take_comm();
    ndp_comm *c = join_alone(20000);
    abi_expect(comm.all_gather || comm.broadcast || (comm.send && comm.recv),
               "it has none of all_gather, broadcast, and send with recv");
    abi_expect(!comm.group_begin == !comm.group_end, "it has one of group_begin and group_end");
    reductions_alone(c);
    exchange_alone(c, "all_gather", comm.all_gather, 0, 1, 0);
    exchange_alone(c, "all_to_all", comm.all_to_all, 1, 1, 0);
    if (comm.barrier)
        abi_call(comm.barrier(abi.dev, NULL, c), "barrier");
    abi_call(abi.p.sync(abi.dev, NULL), "sync");
    abi_call(comm.async_error(abi.dev, c), "async_error");
    comm.destroy(abi.dev, c);
    comm.destroy(abi.dev, NULL);
}

static void to_itself(void)
{
    static const int64_t shape[1] = {COUNT};
    take_comm();
    if (!comm.send || !comm.recv || !comm.group_begin)
        abi_skip("its ranks send no messages in groups");
    ndp_comm *c = join_alone(20000);
    ndp_mem *in = values(5), *out = values(-1);
    ndp_exchange send = {.size = sizeof send}, recv = {.size = sizeof recv};
    send.in = view_of(in, shape, 1);
    recv.out = view_of(out, shape, 1);
    abi_call(comm.group_begin(abi.dev), "group_begin");
    abi_call(comm.send(abi.dev, NULL, c, &send), "send to itself");
    abi_call(comm.recv(abi.dev, NULL, c, &recv), "recv from itself");
    abi_call(comm.group_end(abi.dev), "group_end");
    expect_values(out, 5, "a message to itself");
    comm.destroy(abi.dev, c);
    abi_free(in);
    abi_free(out);
}

static void names(void)
{
    unsigned char one[NDP_COMM_ID_BYTES], other[NDP_COMM_ID_BYTES];
    ndp_comm *c = NULL;
    take_comm();
    abi_call(comm.unique_id(abi.dev, one), "unique_id");
    abi_call(comm.unique_id(abi.dev, other), "unique_id");
    abi_expect(memcmp(one, other, sizeof one) != 0, "two names of communicators are equal");
    abi_refused(comm.init(abi.dev, 1, 1, one, 1000, &c), 0, "init as rank 1 of 1");
    abi_refused(comm.init(abi.dev, -1, 2, one, 1000, &c), 0, "init as rank -1");
    abi_refused(comm.init(abi.dev, 0, 0, one, 1000, &c), 0, "init of no ranks");
    abi_expect(c == NULL, "a refused init gives a communicator");
}

static void time_limit(void)
{
    unsigned char id[NDP_COMM_ID_BYTES];
    ndp_comm *c = NULL;
    take_comm();
    abi_call(comm.unique_id(abi.dev, id), "unique_id");
    const double since = abi_seconds();
    abi_refused(comm.init(abi.dev, 0, 2, id, LIMIT_MS, &c), NDP_ERR_COMM,
                "init as rank 0 of 2, where rank 1 does not come");
    const double took = abi_seconds() - since;
    abi_expect(took < 15, "the time limit is %d ms, and init took %.1f s", LIMIT_MS, took);
    abi_expect(c == NULL, "and gives a communicator");
}

static void aborted(void)
{
    static const int64_t shape[1] = {COUNT};
    take_comm();
    ndp_comm *c = join_alone(20000);
    ndp_mem *m = values(1);
    ndp_exchange x = {.size = sizeof x};
    x.in = x.out = view_of(m, shape, 1);
    const exchange_fn f = comm.all_reduce ? comm.all_reduce : comm.broadcast;
    abi_call(comm.abort(abi.dev, c), "abort");
    abi_refused(comm.async_error(abi.dev, c), NDP_ERR_COMM, "async_error after abort");
    if (f)
        abi_refused(f(abi.dev, NULL, c, &x), NDP_ERR_COMM, "a call after abort");
    comm.destroy(abi.dev, c);
    abi_free(m);
}

const abi_check abi_comm_checks[] = {
    {"H.alone", "one rank alone gets what it gives, by every exchange", alone, ABI_DEVICE},
    {"H.to_itself", "a rank sends to itself in a group", to_itself, ABI_DEVICE},
    {"H.names", "names of communicators differ, and ranks that cannot be are refused", names,
     ABI_DEVICE},
    {"H.time_limit", "who waits for a rank that does not join gets an error in time", time_limit,
     ABI_DEVICE},
    {"H.aborted", "after an abort every call is refused", aborted, ABI_DEVICE},
    {NULL, NULL, NULL, 0}};
