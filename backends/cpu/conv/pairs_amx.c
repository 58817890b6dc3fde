/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sums of pairs by AMX: see pairs.h. Built for processors with AMX-BF16, and called on these alone. */
#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "conv/pairs.h"

/* Tiles in registers: 0 to 3 sums, 4 and 5 rows of a, 6 and 7 columns of b. */
typedef struct {
    unsigned char palette, start, reserved[14];
    uint16_t row_bytes[16];
    unsigned char rows[16];
} tile_configuration;

/* Requests permission for the tiles' state (bit 18 of XCR0), which Linux grants to a process; without it their first
 * use is a signal. Refused where a thread's signal stack has no room for them. */
static int system_allows(void)
{
#if defined(__linux__) && defined(SYS_arch_prctl)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0;
#else
    return 0;
#endif
}

static int there;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void look(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 22 & 1) || !(d >> 24 & 1))
        return; /* AMX-BF16, AMX-TILE */
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1))
        return; /* XGETBV */
    there = (_xgetbv(0) >> 17 & 3) == 3 && system_allows();
}

int cv_amx_there(void)
{
    pthread_once(&once, look);
    return there;
}

void cv_amx_begin(void)
{
    /* Written once: the compiler does not see that the instruction reads all of it. */
    static const tile_configuration all = {
        .palette = 1,
        .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
        .rows = {16, 16, 16, 16, 16, 16, 16, 16},
    };
    _tile_loadconfig(&all);
}

void cv_amx_end(void)
{
    _tile_release();
}

/* Of m by n tiles; the numbers of tile registers are constants of the instructions. */
static inline __attribute__((always_inline)) void block(const cv_pairs_block *b, const int m,
                                                        const int n)
{
    const size_t bytes = (size_t)b->pitch * sizeof(float);
    float *low = b->sum + CV_PAIRS_TILE * b->pitch;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (b->add) {
        _tile_loadd(0, b->sum, bytes);
        if (n == 2)
            _tile_loadd(1, b->sum + CV_PAIRS_TILE, bytes);
        if (m == 2)
            _tile_loadd(2, low, bytes);
        if (m == 2 && n == 2)
            _tile_loadd(3, low + CV_PAIRS_TILE, bytes);
    }
    for (int64_t k = 0; k < b->steps; k++) {
        const int64_t at = b->step[k].at;
        _tile_loadd(6, b->b[0] + k * CV_PAIRS_BYTES, 64);
        if (n == 2)
            _tile_loadd(7, b->b[1] + k * CV_PAIRS_BYTES, 64);
        _tile_loadd(4, b->a[0] + at, (size_t)b->a_row);
        _tile_dpbf16ps(0, 4, 6);
        if (n == 2)
            _tile_dpbf16ps(1, 4, 7);
        if (m == 2) {
            _tile_loadd(5, b->a[1] + at, (size_t)b->a_row);
            _tile_dpbf16ps(2, 5, 6);
            if (n == 2)
                _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, b->sum, bytes);
    if (n == 2)
        _tile_stored(1, b->sum + CV_PAIRS_TILE, bytes);
    if (m == 2)
        _tile_stored(2, low, bytes);
    if (m == 2 && n == 2)
        _tile_stored(3, low + CV_PAIRS_TILE, bytes);
}

void cv_amx_block(const cv_pairs_block *b)
{
    if (b->m == 2 && b->n == 2)
        block(b, 2, 2);
    else if (b->m == 2)
        block(b, 2, 1);
    else if (b->n == 2)
        block(b, 1, 2);
    else
        block(b, 1, 1);
}
