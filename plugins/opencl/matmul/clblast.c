/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Matrix products by CLBlast, where it is installed: opened when a product first asks for it. It
 * takes what a BLAS takes; everything else is left to our own kernels. Source of the functions and
 * of their constants: CLBlast's documentation of its C interface. */
#include "matmul/product.h"

enum { ROW_MAJOR = 101, AS_IT_IS = 111, TRANSPOSED = 112 };

/* The precisions: CLBlast's letter, and how a factor is passed. */
#define PRECISIONS(_) _(S, cl_float) _(D, cl_double) _(C, cl_float2) _(Z, cl_double2)

typedef struct {
#define FUNCTIONS(P, T)                                                                            \
    int (*P)(int layout, int a_order, int b_order, size_t m, size_t n, size_t k, T alpha,          \
             cl_mem a, size_t a_offset, size_t a_ld, cl_mem b, size_t b_offset, size_t b_ld,       \
             T beta, cl_mem c, size_t c_offset, size_t c_ld, cl_command_queue *, cl_event *);      \
    int (*P##_batched)(int layout, int a_order, int b_order, size_t m, size_t n, size_t k,         \
                       T alpha, cl_mem a, size_t a_offset, size_t a_ld, size_t a_stride, cl_mem b, \
                       size_t b_offset, size_t b_ld, size_t b_stride, T beta, cl_mem c,            \
                       size_t c_offset, size_t c_ld, size_t c_stride, size_t n_batch,              \
                       cl_command_queue *, cl_event *);
    PRECISIONS(FUNCTIONS)
} clblast;
static clblast blas;

static int there;

static void open_it(void)
{
#define SYMBOLS(P, T)                               \
    {"CLBlast" #P "gemm", offsetof(clblast, P), 1}, \
        {"CLBlast" #P "gemmStridedBatched", offsetof(clblast, P##_batched), 1},
    static const ndh_symbol symbols[] = {PRECISIONS(SYMBOLS)};
    static const char *const sonames[] = {"libclblast.so.1"};
    static const ndh_library library = {
        .size = sizeof library,
        .n_sonames = 1,
        .n_symbols = sizeof symbols / sizeof *symbols,
        .name = "CLBlast",
        .install = "install CLBlast (Debian and Ubuntu: libclblast1)",
        .sonames = sonames,
        .symbols = symbols,
    };
    const ndh_library_1 *service = ocl_library_service();
    there = service && service->open(ocl_host->ctx, &library, &blas) == NDP_OK;
}

int ocl_clblast_there(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_it);
    return there;
}

/* A matrix as BLAS sees it, row by row or column by column. */
typedef struct {
    int order;
    size_t ld;
} matrix;

static int describe(matrix *m, cl_long rows, cl_long columns, cl_long row, cl_long column)
{
    if ((column == 1 || columns == 1) && (row >= columns || rows == 1)) {
        *m = (matrix){AS_IT_IS, (size_t)(rows == 1 ? columns : row)};
        return 1;
    }
    if ((row == 1 || rows == 1) && (column >= rows || columns == 1)) {
        *m = (matrix){TRANSPOSED, (size_t)(columns == 1 ? rows : column)};
        return 1;
    }
    return 0;
}

/* Steps of the batch that CLBlast takes: one, of equal strides, none backwards. */
static int even_batch(const ocl_product *p)
{
    if (p->batch.n == 1)
        return 1;
    return p->batch.ndim == 1 && p->batch.stride[0][0] >= 0 && p->batch.stride[1][0] >= 0 &&
           p->batch.stride[2][0] > 0;
}

#define GEMM(P, alpha, beta)                                                                       \
    (p->batch.n == 1 ? blas.P(ROW_MAJOR, a.order, b.order, m, n, k, alpha, from[0], at[0], a.ld,   \
                              from[1], at[1], b.ld, beta, from[2], at[2], c.ld, &queue, NULL)      \
                     : blas.P##_batched(ROW_MAJOR, a.order, b.order, m, n, k, alpha, from[0],      \
                                        at[0], a.ld, step[0], from[1], at[1], b.ld, step[1], beta, \
                                        from[2], at[2], c.ld, step[2], p->batch.n, &queue, NULL))

int32_t ocl_clblast_product(ndp_dev *dev, ndp_stream *s, const ndp_call *call, const ocl_product *p)
{
    const ndp_matmul *given = call->params;
    const int32_t dtype = call->out[0].dtype;
    const size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k,
                 item = (size_t)ndp_dtype_size(dtype);
    const size_t at[] = {(size_t)p->a / item, (size_t)p->b / item, (size_t)p->out / item},
                 step[] = {(size_t)p->batch.stride[0][0], (size_t)p->batch.stride[1][0],
                           (size_t)p->batch.stride[2][0]};
    cl_mem from[] = {call->in[0].mem->buffer, call->in[1].mem->buffer, call->out[0].mem->buffer};
    cl_command_queue queue = ocl_stream(dev, s)->queue;
    matrix a, b, c;
    int r;
    if (given->epilogue || given->has_bias || call->in[0].dtype != dtype || k == 0 ||
        !even_batch(p) || !describe(&a, p->m, p->k, p->a_row, p->a_col) ||
        !describe(&b, p->k, p->n, p->b_row, p->b_col) ||
        !describe(&c, p->m, p->n, p->out_row, p->out_col) || c.order != AS_IT_IS ||
        !ocl_clblast_there())
        return NDP_ERR_UNSUPPORTED;
    const double alpha = given->alpha, beta = given->beta;
    switch (dtype) {
    case NDP_F32:
        r = GEMM(S, (cl_float)alpha, (cl_float)beta);
        break;
    case NDP_F64:
        r = GEMM(D, alpha, beta);
        break;
    case NDP_C64:
        r = GEMM(C, ((cl_float2){{(cl_float)alpha, 0}}), ((cl_float2){{(cl_float)beta, 0}}));
        break;
    case NDP_C128:
        r = GEMM(Z, ((cl_double2){{alpha, 0}}), ((cl_double2){{beta, 0}}));
        break;
    default:
        return NDP_ERR_UNSUPPORTED;
    }
    if (r != 0) /* it does not compile, or has no room, there: our own kernels are left */
        return NDP_ERR_UNSUPPORTED;
    ocl_queued(ocl_stream(dev, s));
    return NDP_OK;
}
