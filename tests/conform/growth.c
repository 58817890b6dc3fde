/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: a kernel that runs again and again keeps no memory and no file of the host. */
#include <dirent.h>
#include <malloc.h>
#include "tests/conform/works.h"

enum { ROWS = 6, COLUMNS = 10, WARM = 40, RUNS = 250, QUEUED = 25, LEAST_BLOCK = 16, ROUNDS = 5 };

/* Bytes of malloc in use by the process; 0 where that cannot be told. */
static int64_t heap_bytes(void)
{
#if defined(__GLIBC_PREREQ) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 m = mallinfo2();
    return (int64_t)(m.uordblks + m.hblkhd);
#endif
#endif
    return 0;
}

static int open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

typedef struct {
    const char *name;
    const work *work; /* or an operation of one or two arrays */
    nd_op op;
    int n_in;
} subject;

static nd_status call_once(const subject *s, const works_in *in, nd_array **out)
{
    const nd_arg args[2] = {nd_array_arg(in->a), nd_array_arg(in->b)};
    return s->work ? s->work->call(in, out) : nd_apply(s->op, args, s->n_in, NULL, out);
}

static bool run_often(const subject *s, const works_in *in, int runs)
{
    for (int i = 0; i < runs; i++) {
        nd_array *out = NULL;
        if (!good(call_once(s, in, &out), s->name))
            return false;
        nd_release(out);
        if (i % QUEUED == 0 && !good(nd_synchronize(run.device), "synchronize"))
            return false;
    }
    return good(nd_synchronize(run.device), "synchronize");
}

/* Some rounds, since caches grow once in a while, and on a busy machine more than once: how much is
 * queued at a time depends on who gets the processor. What leaks grows always. */
static void check_subject(const subject *s, const works_in *in)
{
    int64_t grown = 0;
    int files = 0;
    if (!run_often(s, in, WARM))
        return;
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t before = heap_bytes();
        const int open_before = open_files();
        if (!run_often(s, in, RUNS))
            return;
        grown = heap_bytes() - before;
        files = open_files() - open_before;
        if (grown < RUNS * LEAST_BLOCK && files <= 0)
            return;
    }
    if (files > 0)
        fail_case("%d runs of %s leave %d more files open", RUNS, s->name, files);
    else
        fail_case("%d runs of %s leave %lld more bytes of the host's memory in use, %lld each",
                  RUNS, s->name, (long long)grown, (long long)(grown / RUNS));
}

static void check_elementwise(const works_in *in)
{
    for (nd_op op = 1; op < ND_OP_END && !failing(); op++) {
        const nd_op_info *info = nd_op_get(op);
        const subject s = {info->name, NULL, op, info->op_class == ND_CLASS_BINARY ? 2 : 1};
        const bool fits = info->op_class == ND_CLASS_UNARY || info->op_class == ND_CLASS_BINARY;
        if (fits && (nd_op_dtypes(op) >> ND_F32 & 1) && begin_case(FIXED_CASE + op))
            check_subject(&s, in);
    }
}

static void check_works(const works_in *in)
{
    for (int i = 0; works[i].name && !failing(); i++) {
        const subject s = {works[i].name, &works[i], 0, 0};
        if (begin_case(i))
            check_subject(&s, in);
    }
}

void conform_growth(void)
{
    works_in in;
    if (run.probing || !wanted("growth"))
        return;
    begin_op("growth");
    if (heap_bytes() == 0)
        skip_op("this C library, or the sanitizer, does not tell how much memory is in use");
    if (works_make(&in, ROWS, COLUMNS)) {
        check_works(&in);
        check_elementwise(&in);
    }
    works_release(&in);
    end_op();
}
