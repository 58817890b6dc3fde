/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Class FACTOR: cholesky, lu, qr of each matrix of a batch. */
#include "linalg/factor.h"

/* Rows and columns, both, from which on a matrix alone is the library's: a block leaves most
 * multiprocessors without work. On an H100, f64, one block took .124 ms for the Cholesky factor of 96 rows and
 * .052 for 64, the library .061 for 128; for q and r of 128 rows 1.15, the library .59. */
enum { CHOLESKY_ALONE = 65, QR_ALONE = LIN_QR_ALONE };

static lin_way way_of(const lin_job *j)
{
    const ndp_view *a = &j->call->in[0];
    const int32_t op = j->call->op;
    const int64_t m = a->shape[1], n = a->shape[2], least = m < n ? m : n;
    if (j->count == 1 &&
        ((op == NDP_OP_cholesky && n >= CHOLESKY_ALONE) || (op == NDP_OP_qr && least >= QR_ALONE)))
        return LIN_BY_LIBRARY;
    return lin_way_of(j, m, n,
                      op == NDP_OP_cholesky ? lin_cholesky_room(j)
                      : op == NDP_OP_lu     ? lin_lu_room(j)
                                            : lin_qr_room(j));
}

static uint64_t scratch(const ndp_kernel *base, const ndp_call *call)
{
    lin_job j;
    uint64_t work = 0;
    lin_begin(&j, base, NULL, call);
    if (way_of(&j) != LIN_BY_LIBRARY)
        return j.total;
    if (call->op == NDP_OP_cholesky)
        lin_cholesky_work(&j, &work);
    else if (call->op == NDP_OP_lu)
        lin_lu_work(&j, &work);
    else
        lin_qr_work(&j, &work);
    return j.total + work;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    lin_job j;
    lin_begin(&j, base, s, call);
    const lin_way way = way_of(&j);
    if (call->op == NDP_OP_cholesky)
        return lin_cholesky_run(&j, way);
    return call->op == NDP_OP_lu ? lin_lu_run(&j, way) : lin_qr_run(&j, way);
}

static int32_t make(cuda_kernel *k, const ndp_call *like)
{
    const int cholesky = like->op == NDP_OP_cholesky, lu = like->op == NDP_OP_lu;
    const lin_function list[] = {{LIN_F_SMALL, "small",
                                  cholesky ? "lin_cholesky"
                                  : lu     ? "lin_lu"
                                           : "lin_qr"},
                                 {LIN_F_BLOCK, "block",
                                  cholesky ? "lin_block_cholesky"
                                  : lu     ? "lin_block_lu"
                                           : "lin_block_qr"},
                                 {LIN_F_MOVE, "large", "lin_move"},
                                 {LIN_F_REPORT, "large", "lin_report"},
                                 {LIN_F_EXAMINE, "large", "lin_examine"},
                                 {LIN_F_OTHER, "large", cholesky ? "lin_excuse" : "lin_pivots"}};
    const lin_function half = {LIN_F_BLOCK_HALF, "block",
                               cholesky ? "lin_block_cholesky_half" : "lin_block_lu_half"};
    k->base.run = run;
    k->base.scratch = scratch;
    int32_t status = lin_find_all(k, like->in[0].dtype, (int)(sizeof list / sizeof *list), list);
    return status == NDP_OK && (cholesky || lu) ? lin_find(k, half, like->in[0].dtype) : status;
}

static uint64_t dtypes(int32_t op)
{
    return op == NDP_OP_cholesky || op == NDP_OP_lu || op == NDP_OP_qr ? lin_dtypes() : 0;
}

static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const int32_t dtype = like->in[0].dtype;
    const uint32_t last = like->n_out - 1;
    const int known = (dtypes(like->op) >> dtype & 1) && like->out[0].dtype == dtype &&
                      (like->op != NDP_OP_qr || like->out[last].dtype == dtype);
    return lin_kernel(dev, like, known, make, out, why, n);
}

const cuda_class cuda_factor = {.dtypes = dtypes, .find = find};
