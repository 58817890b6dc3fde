/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The small add from C: sums of 16 f32, made and released, as often as the first argument says. Run
 * by small_add.sh under callgrind, which counts the instructions of one. */
#include <ndock/ndock.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    const int64_t shape[1] = {16};
    nd_array *a = NULL, *b = NULL, *c = NULL;
    nd_status status = nd_ones(NULL, ND_F32, 1, shape, &a);
    if (status == ND_OK)
        status = nd_ones(NULL, ND_F32, 1, shape, &b);
    for (long i = 0; i < rounds && status == ND_OK; i++) {
        status = nd_add(a, b, &c);
        nd_release(c);
    }
    if (status != ND_OK)
        fprintf(stderr, "small_add: %s\n", nd_last_error()->message);
    nd_release(b);
    nd_release(a);
    return status == ND_OK ? 0 : 1;
}
