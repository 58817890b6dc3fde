/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The reducer of a family that sweeps by blocks of columns: T, FN(lanes), STATE_BYTES, FN(init),
 * FN(inner), FN(merge), and FN(block)(f, rows, nrows, j, n) for lanes columns of which n are kept. */
static void FN(sweep)(const cpu_fold *f, const void *const *rows, int nrows, int64_t n)
{
    const T *at[CPU_SWEEP_ROWS];
    T padded[CPU_SWEEP_ROWS][FN(lanes)];
    int64_t j = 0, rest = n % FN(lanes);
    for (; j + FN(lanes) <= n; j += FN(lanes)) {
        for (int r = 0; r < nrows; r++)
            at[r] = (const T *)rows[r] + j;
        FN(block)(f, at, nrows, j, FN(lanes));
    }
    for (int r = 0; rest && r < nrows; r++) {
        at[r] = padded[r];
        for (int64_t l = 0; l < FN(lanes); l++)
            padded[r][l] = l < rest ? ((const T *)rows[r])[j + l] : 0;
    }
    if (rest)
        FN(block)(f, at, nrows, j, (int)rest);
}

static const cpu_reducer FN(reducer) = {
    .state_bytes = STATE_BYTES,
    .init = FN(init),
    .inner = FN(inner),
    .sweep = FN(sweep),
    .merge = FN(merge),
};
#undef STATE_BYTES
#undef OP
