/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What mocks that borrow the CPU plug-in's device share: its memory under their name, as memory
 * that the host does not see, and its kernels, found in cpu_op, to put around what they test. */
#ifndef TESTS_BORROWED_H
#define TESTS_BORROWED_H
#include <stdio.h>
#include <string.h>
#include <ndock/note.h>

static const ndp_host *host;
static const ndp_plugin *cpu;
static const ndp_op_1 *cpu_op;

static int32_t borrowed_probe(uint32_t *count, char *why, size_t n)
{
    cpu = host->plugin(host->ctx, "cpu");
    *count = cpu ? 1 : 0;
    if (!cpu)
        snprintf(why, n, "it borrows its kernels from the cpu plug-in, which is not there");
    return NDP_OK;
}

static int32_t borrowed_info(uint32_t index, ndp_device_info *out)
{
    ndp_device_info own = {.size = sizeof own};
    int32_t status = cpu->info(index, &own);
    own.size = out->size;
    own.flags = 0; /* the host does not see its memory */
    own.priority = -2;
    memcpy(out, &own, own.size < sizeof own ? own.size : sizeof own);
    return status;
}

static int32_t borrowed_open(uint32_t index, ndp_dev **out)
{
    int32_t status = cpu->open(index, out);
    if (status == NDP_OK)
        cpu_op = cpu->group(*out, "ndp.op/1");
    return status;
}

static void borrowed_close(ndp_dev *dev)
{
    cpu->close(dev);
}
static int32_t borrowed_alloc(ndp_dev *dev, uint64_t n, ndp_mem **out)
{
    return cpu->alloc(dev, n, out);
}
static void borrowed_free(ndp_dev *dev, ndp_mem *mem)
{
    cpu->free(dev, mem);
}
static int32_t borrowed_write(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset,
                              const void *src, uint64_t n)
{
    return cpu->write(dev, s, mem, offset, src, n);
}
static int32_t borrowed_read(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, void *dst,
                             uint64_t n)
{
    return cpu->read(dev, s, mem, offset, dst, n);
}
static int32_t borrowed_sync(ndp_dev *dev, ndp_stream *s)
{
    return cpu->sync(dev, s);
}
static void borrowed_shutdown(void) {}

/* Of a table: the slots above but probe and open, which a mock may have its own of. */
#define BORROWED_SLOTS                                                                            \
    .info = borrowed_info, .close = borrowed_close, .alloc = borrowed_alloc,                      \
    .free = borrowed_free, .write = borrowed_write, .read = borrowed_read, .sync = borrowed_sync, \
    .shutdown = borrowed_shutdown

#endif
