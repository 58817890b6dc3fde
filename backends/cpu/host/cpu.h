/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of the CPU plug-in share. Everything here computes on host memory, in the caller's
 * thread or the team of threads. */
#ifndef NDOCK_CPU_H
#define NDOCK_CPU_H
#include <ndock/op_expand.h>
#include <ndock/plugin_facts.h>

/* How many steps n takes, the last one perhaps in part. */
static inline int64_t cpu_ceil_div(int64_t n, int64_t step)
{
    return (n + step - 1) / step;
}

/* A block of memory: ours, or foreign (map.wrap). */
struct ndp_mem {
    char *base;
    uint64_t nbytes;
    int foreign;
};

/* The one device. */
struct ndp_dev {
    int32_t index;
};
extern struct ndp_dev cpu_device; /* plugin.c */

/* ---- host.c ---- */
extern const ndp_host *cpu_host; /* set by the entry */
/* Legal dtypes of an op by the op table: mask of its domain. */
uint64_t cpu_domain_dtypes(int32_t op);
int32_t cpu_op_class(int32_t op);
const char *cpu_op_name(int32_t op);

/* params.c: what the environment sets, read by probe(). */
typedef struct {
    int64_t num_threads; /* 0: OpenMP says */
    const char *isa;     /* NULL: the best there is */
    const char *blas;
    const char *lapack;
    const char *cc;
} cpu_parameters;
extern cpu_parameters cpu_set;
void cpu_read_parameters(void);

/* plugin.c: an error with printf text; returns status. */
#define cpu_error(status, ...) cpu_host->error(cpu_host->ctx, (status), 0, __VA_ARGS__)

/* Address of the element at index zero of an operand (not for scalars). */
static inline char *cpu_ptr(const ndp_view *v)
{
    return v->mem->base + v->offset_bytes;
}

/* ---- scalar.c ---- */
/* Store a scalar as an element of its own dtype; element has room for 16 bytes. */
void cpu_store_scalar(const ndp_scalar *s, void *element);

/* ---- threads.c ---- */
/* Threads a parallel region may use; 1 in a forked child and without OpenMP. NDOCK_NUM_THREADS,
 * else OMP_NUM_THREADS, else processors allowed by affinity and by the control group's quota. */
int cpu_threads(void);
/* The calling thread's number in the team; 0: it does not belong to it. */
int cpu_thread(void);
int cpu_team(void);          /* the same in a process and its forked children */
void cpu_threads_stop(void); /* the next region starts them again */
/* fn(ctx, begin, end) over [0, n) cut into chunks of grain (the last may be shorter). Where chunks
 * begin depends on n and grain alone, never on the number of threads, so that what a chunk computes
 * has the same bits always. One chunk, or one thread: runs in the caller without waking anybody.
 * Chunks run in any order. */
void cpu_parallel(int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t begin, int64_t end),
                  void *ctx);

/* ---- isa.c ---- */
/* Code is built once per level from the same sources, up to the level that configure was given
 * (CPU_ISA_HIGHEST); the level is picked when the plug-in opens (NDOCK_CPU_ISA=baseline|avx2|avx512|
 * avx512vnni lowers it). All levels give the same bits. Code that has sums of integer products is built for
 * avx512vnni as well; all other code is that of avx512. */
enum {
    CPU_ISA_BASELINE = 0,
    CPU_ISA_AVX2 = 1,
    CPU_ISA_AVX512 = 2,
    CPU_ISA_VNNI = 3,
    CPU_ISA_COUNT = 4
};
int cpu_isa(void);
const char *cpu_isa_name(void);
/* In files built per level: CPU_ISA_FN(name) is name_baseline, name_avx2, name_avx512 or
 * name_avx512vnni. */
#define CPU_CAT_(a, b) a##_##b
#define CPU_CAT(a, b) CPU_CAT_(a, b)
#ifdef CPU_ISA_SUFFIX
#define CPU_ISA_FN(name) CPU_CAT(name, CPU_ISA_SUFFIX)
#endif
/* Declares a table or function of each level, and picks one: CPU_ISA_DECLARE(extern const cpu_x,
 * cpu_x_table) then CPU_ISA_PICK(cpu_x_table). */
#if CPU_ISA_HIGHEST == 0
#define CPU_ISA_DECLARE(type, name) type name##_baseline
#define CPU_ISA_PICK(name) (&name##_baseline)
#elif CPU_ISA_HIGHEST == 1
#define CPU_ISA_DECLARE(type, name) \
    type name##_baseline;           \
    type name##_avx2
#define CPU_ISA_PICK(name) (cpu_isa() == CPU_ISA_AVX2 ? &name##_avx2 : &name##_baseline)
#else
#define CPU_ISA_DECLARE(type, name) \
    type name##_baseline;           \
    type name##_avx2;               \
    type name##_avx512
#define CPU_ISA_PICK(name)                        \
    (cpu_isa() >= CPU_ISA_AVX512 ? &name##_avx512 \
     : cpu_isa() == CPU_ISA_AVX2 ? &name##_avx2   \
                                 : &name##_baseline)
#endif
/* The same of what is built for avx512vnni too. */
#if CPU_ISA_HIGHEST < 2
#define CPU_ISA_DECLARE_VNNI CPU_ISA_DECLARE
#define CPU_ISA_PICK_VNNI CPU_ISA_PICK
#else
#define CPU_ISA_DECLARE_VNNI(type, name) \
    CPU_ISA_DECLARE(type, name);         \
    type name##_avx512vnni
#define CPU_ISA_PICK_VNNI(name) \
    (cpu_isa() == CPU_ISA_VNNI ? &name##_avx512vnni : CPU_ISA_PICK(name))
#endif

/* Kinds of dtype that operations compute in. CPU_OF_KIND(KIND, row) is the macro row for these; for
 * dtypes that are only stored and converted it is one that drops its arguments. */
#define CPU_COMPUTES_BOOL ND_EXPAND_YES
#define CPU_COMPUTES_INT ND_EXPAND_YES
#define CPU_COMPUTES_UINT ND_EXPAND_YES
#define CPU_COMPUTES_FLOAT ND_EXPAND_YES
#define CPU_COMPUTES_COMPLEX ND_EXPAND_YES
#define CPU_OF_KIND(KIND, row) ND_EXPAND_IF(CPU_COMPUTES_##KIND, row, CPU_NO_ROW)
#define CPU_NO_ROW(...)

/* ---- op.c, and the tables of the classes ---- */
typedef struct {
    /* Mask of dtypes (of the first input; of the output for ops without inputs) the op runs in. */
    uint64_t (*dtypes)(int32_t op);
    /* The kernel for calls like this one, or NULL with the reason in why. */
    const ndp_kernel *(*find)(const ndp_call *like, char *why, size_t n);
} cpu_class;
#define CPU_CLASS(CLASS, table) extern const cpu_class table;
#include "classes.def"
extern const ndp_op_1 cpu_op_group;

/* ---- matmul/blas.c: which BLAS serves, for info ("libopenblas.so.0", "own kernels"); opens it if that
 * was not done yet. */
const char *cpu_blas_name(void);
/* The same of linalg/lapack.c. */
const char *cpu_lapack_name(void);

/* ---- memory.c ---- */
int32_t cpu_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out);
void cpu_free(ndp_dev *dev, ndp_mem *mem);
extern const ndp_map_1 cpu_map_group;
extern const ndp_pointer_1 cpu_pointer_group;
extern const ndp_code_1 cpu_code_group;   /* code.c */
extern const ndp_comm_1 cpu_comm_group;   /* comm/collective.c */
extern const ndp_fused_1 cpu_fused_group; /* program/compile.c */

#endif
