/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group C: memory, by the required functions and copy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "map.h"

static void zero_size(void)
{
    unsigned char bytes[64], back[64];
    ndp_mem *m = abi_alloc(sizeof bytes), *none = NULL;
    abi_fill(bytes, sizeof bytes, 1);
    abi_write(NULL, m, 0, bytes, sizeof bytes);
    abi_call(abi.p.write(abi.dev, NULL, m, 0, back, 0), "write of 0 bytes");
    abi_call(abi.p.write(abi.dev, NULL, m, sizeof bytes, back, 0), "write of 0 bytes at the end");
    abi_call(abi.p.read(abi.dev, NULL, m, 0, back, 0), "read of 0 bytes");
    abi_call(abi.p.read(abi.dev, NULL, m, sizeof bytes, back, 0), "read of 0 bytes at the end");
    if (abi.p.copy)
        abi_call(abi.p.copy(abi.dev, NULL, m, 0, m, sizeof bytes, 0), "copy of 0 bytes");
    abi_read(NULL, m, 0, back, sizeof back);
    abi_filled(back, sizeof back, 1, 0, "a block after calls of 0 bytes");
    /* The core never asks for a block of 0 bytes; either answer will do. */
    int32_t status = abi.p.alloc(abi.dev, 0, &none);
    abi_expect(status == NDP_OK || abi_error_text()[0], "alloc of 0 bytes fails without a text");
    if (status == NDP_OK && none)
        abi_free(none);
}

static void alignment(void)
{
    uint64_t state = abi.seed, address = 0;
    if (!abi.map.address)
        abi_skip("the device has no ndp.map/1 with addresses");
    for (int i = 0; i < 64; i++) {
        uint64_t n = i < 32 ? (uint64_t)i + 1 : 1 + abi_below(&state, 1 << 20);
        ndp_mem *m = abi_alloc(n);
        int32_t status = abi.map.address(abi.dev, m, &address);
        if (status == NDP_ERR_UNSUPPORTED)
            abi_skip("blocks of this device have no addresses");
        abi_call(status, "address");
        abi_expect(address % abi.info.align_bytes == 0,
                   "a block of %llu bytes is at 0x%llx, no multiple of align_bytes %llu",
                   (unsigned long long)n, (unsigned long long)address,
                   (unsigned long long)abi.info.align_bytes);
        if (i & 1)
            abi_free(m);
    }
}

/* Blocks of all sizes at once: what is written to one changes no other. */
static void blocks(void)
{
    enum { N = 40, MOST = 3000 };
    ndp_mem *mem[N];
    size_t n[N];
    uint64_t state = abi.seed;
    unsigned char bytes[MOST], back[MOST];
    for (int i = 0; i < N; i++) {
        n[i] = 1 + abi_below(&state, MOST);
        mem[i] = abi_alloc(n[i]);
        abi_fill(bytes, n[i], (uint64_t)i);
        abi_write(NULL, mem[i], 0, bytes, n[i]);
        for (int k = 0; k < i; k++) {
            abi_read(NULL, mem[k], 0, back, n[k]);
            abi_fill(bytes, n[k], (uint64_t)k);
            if (memcmp(back, bytes, n[k]) == 0)
                continue;
            abi_fail("writing to a block of %zu bytes changes another block, of %zu bytes: blocks "
                     "%d and %d that alloc gave overlap",
                     n[i], n[k], i, k);
            return;
        }
    }
    for (int i = 0; i < N; i++)
        abi_free(mem[i]);
}

/* Small reads and writes far into a block, about each power of two and anywhere: an offset has 64
 * bits on every way to the device. */
static void far(void)
{
    enum { BYTES = 1 << 21, ROUNDS = 200 };
    unsigned char *bytes = abi_bytes(BYTES), some[16], back[16];
    ndp_mem *m = abi_alloc(BYTES);
    uint64_t state = abi.seed;
    abi_fill(bytes, BYTES, 1);
    abi_write(NULL, m, 0, bytes, BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        const size_t n = 1 + abi_below(&state, sizeof some);
        const size_t near = (size_t)1 << (4 + round % 17);
        const size_t at = round % 2 ? near - n / 2 : abi_below(&state, BYTES - n);
        abi_read(NULL, m, at, back, n);
        abi_need(memcmp(back, bytes + at, n) == 0, "a read of %zu bytes at offset %zu gives others",
                 n, at);
        abi_fill(some, n, (uint64_t)round);
        memcpy(bytes + at, some, n);
        abi_write(NULL, m, at, some, n);
    }
    unsigned char *now = abi_bytes(BYTES);
    abi_read(NULL, m, 0, now, BYTES);
    size_t k = 0;
    while (k < BYTES && now[k] == bytes[k])
        k++;
    abi_expect(k == BYTES, "after small writes at far offsets byte %zu of the block is wrong", k);
    abi_free(m);
    free(bytes);
    free(now);
}

/* A block and what it should hold. */
typedef struct {
    ndp_mem *mem;
    unsigned char *mirror;
    size_t n;
} twin;

static twin twin_new(size_t n, uint64_t tag)
{
    twin t = {abi_alloc(n), abi_bytes(n), n};
    abi_fill(t.mirror, n, tag);
    abi_write(NULL, t.mem, 0, t.mirror, n);
    return t;
}

static bool twin_check(const twin *t, const char *what)
{
    unsigned char *back = abi_bytes(t->n);
    abi_read(NULL, t->mem, 0, back, t->n);
    size_t i = 0;
    while (i < t->n && back[i] == t->mirror[i])
        i++;
    bool ok = abi_expect(i == t->n, "%s: byte %zu of %zu is 0x%02x, and should be 0x%02x", what, i,
                         t->n, i < t->n ? back[i] : 0, i < t->n ? t->mirror[i] : 0);
    free(back);
    return ok;
}

static void twin_free(twin *t)
{
    abi_free(t->mem);
    free(t->mirror);
}

static void odd_offsets(void)
{
    twin t = twin_new(4096, 2);
    unsigned char bytes[256];
    char what[96];
    for (size_t n = 1; n <= 19; n++)
        for (size_t offset = 1; offset <= 65; offset += 4) {
            size_t at = offset + n * 100;
            abi_fill(bytes, n, n * 1000 + offset);
            memcpy(t.mirror + at, bytes, n);
            abi_write(NULL, t.mem, at, bytes, n);
            memset(bytes, 0, n);
            abi_read(NULL, t.mem, at, bytes, n);
            snprintf(what, sizeof what, "%zu bytes at offset %zu", n, at);
            if (!abi_filled(bytes, n, n * 1000 + offset, 0, what))
                return;
        }
    twin_check(&t, "the whole block after writes at odd offsets");
}

static void huge(void)
{
    twin t = twin_new(1 << 16, 3);
    const uint64_t sizes[] = {UINT64_MAX,      UINT64_MAX - 63,         (uint64_t)INT64_MAX + 1,
                              INT64_MAX - 127, UINT64_C(1) << 62,       abi.info.max_alloc_bytes,
                              UINT64_MAX / 2,  abi.info.max_alloc_bytes};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ndp_mem *m = NULL;
        char what[64];
        uint64_t n = sizes[i] + (i == 5);
        if (n < abi.info.max_alloc_bytes || (n < UINT64_C(1) << 60 && i == 7))
            continue; /* it might even be there */
        snprintf(what, sizeof what, "alloc of %llu bytes", (unsigned long long)n);
        abi_refused(abi.p.alloc(abi.dev, n, &m), NDP_ERR_MEMORY, what);
    }
    twin_check(&t, "another block after a refused alloc");
    twin after = twin_new(1 << 16, 4);
    twin_check(&after, "a block allocated after a refused one");
    twin_check(&t, "another block after a refused alloc");
}

/* Zones around what is written, and blocks beside it, stay. */
static void guard(void)
{
    enum { ZONE = 256, N = 12 };
    uint64_t state = abi.seed;
    twin blocks[N];
    char what[96];
    for (int i = 0; i < N; i++)
        blocks[i] = twin_new(2 * ZONE + 1 + abi_below(&state, 5000), (uint64_t)i + 10);
    for (uint64_t round = 0; round < abi.count; round++) {
        twin *t = &blocks[abi_below(&state, N)];
        size_t n = 1 + abi_below(&state, t->n - 2 * ZONE);
        size_t at = ZONE + abi_below(&state, t->n - 2 * ZONE - n + 1);
        abi_fill(t->mirror + at, n, round + 100);
        abi_write(NULL, t->mem, at, t->mirror + at, n);
    }
    for (int i = 0; i < N; i++) {
        snprintf(what, sizeof what, "block %d, zones and all", i);
        twin_check(&blocks[i], what);
        twin_free(&blocks[i]);
    }
}

static void roundtrip(void)
{
    enum { N = 16 };
    uint64_t state = abi.seed;
    twin blocks[N] = {0};
    for (uint64_t round = 0; round < 4 * abi.count; round++) {
        twin *t = &blocks[abi_below(&state, N)];
        if (!t->mem) {
            *t = twin_new(1 + abi_below(&state, abi_below(&state, 8) ? 4096 : 1 << 20), round);
            continue;
        }
        size_t at = abi_below(&state, t->n), n = 1 + abi_below(&state, t->n - at);
        if (abi_below(&state, 3)) {
            abi_fill(t->mirror + at, n, round);
            abi_write(NULL, t->mem, at, t->mirror + at, n);
        } else if (!twin_check(t, "a block after random writes")) {
            return;
        } else if (abi_below(&state, 4) == 0) {
            twin_free(t);
            t->mem = NULL;
        }
    }
    for (int i = 0; i < N; i++)
        if (blocks[i].mem)
            twin_check(&blocks[i], "a block after random writes");
}

static void copy(void)
{
    uint64_t state = abi.seed;
    twin a = twin_new(10007, 20), b = twin_new(10007, 21);
    for (uint64_t round = 0; round < abi.count; round++) {
        size_t n = 1 + abi_below(&state, abi_below(&state, 4) ? 64 : 4000);
        size_t from = abi_below(&state, a.n - n + 1), to = abi_below(&state, b.n - n + 1);
        abi_copy(NULL, b.mem, to, a.mem, from, n);
        memcpy(b.mirror + to, a.mirror + from, n);
        from = abi_below(&state, a.n / 2 - n + 1);
        to = a.n / 2 + abi_below(&state, a.n / 2 - n + 1);
        abi_copy(NULL, a.mem, to, a.mem, from, n); /* in one block, side by side */
        memcpy(a.mirror + to, a.mirror + from, n);
    }
    twin_check(&a, "a block after copies within it");
    twin_check(&b, "a block after copies into it");
}

static void a_moment(void *arg)
{
    (void)arg;
    abi_sleep_ms(3);
}

/* write has read the host's bytes when it returns, read has written them. */
static void host_reuse(void)
{
    static const size_t sizes[] = {1, 100, 4096, 65536, 1 << 20, 8 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        unsigned char *host = abi_bytes(n);
        ndp_mem *m[4];
        char what[96];
        for (uint64_t k = 0; k < 4; k++)
            m[k] = abi_alloc(n);
        for (uint64_t k = 0; k < 4; k++) {
            abi_fill(host, n, k + 30);
            if (abi.stream.launch_host) /* so that a write that is put off is not done by chance */
                abi_call(abi.stream.launch_host(abi.dev, NULL, a_moment, NULL), "launch_host");
            abi_write(NULL, m[k], 0, host, n);
            memset(host, 0xee, n);
        }
        for (uint64_t k = 0; k < 4; k++) {
            memset(host, 0xdd, n);
            abi_read(NULL, m[k], 0, host, n);
            snprintf(what, sizeof what, "%zu bytes whose source changed after write", n);
            if (!abi_filled(host, n, k + 30, 0, what))
                return;
            abi_free(m[k]);
        }
        free(host);
    }
}

/* Whose allocations fail: host->alloc's, or those that the plug-in makes by itself. */
typedef struct {
    int64_t (*total)(void);
    void (*fail_at)(int64_t n);
    const char *what;
} source;
static const source from_host = {abi_host_total, abi_host_fail_at, "host->alloc"};
static const source from_malloc = {abi_own_total, abi_own_fail_at, "its own malloc"};

typedef struct {
    const source *from;
    int64_t n;       /* the one that fails; 0: none */
    int64_t *allocs; /* of one life; shared with the children */
} faulty;

/* In a child of its own each, since what is open does not survive a fork. */
static void faulty_life(void *arg)
{
    const faulty *f = arg;
    uint32_t count = 0;
    char why[256] = "";
    abi_load();
    if (abi.p.probe(&count, why, sizeof why) != NDP_OK || count == 0)
        abi_skip("it has no device here: %s", why[0] ? why : abi_error_text());
    int64_t before = f->from->total();
    f->from->fail_at(f->n);
    abi_life(f->n > 0);
    f->from->fail_at(0);
    if (f->n == 0)
        *f->allocs = f->from->total() - before;
    else
        abi_life(false); /* with memory there again, all is well */
    abi.p.shutdown();
}

/* A life of a device for each allocation in it, which fails. */
static void each_fails(const source *from)
{
    char what[96];
    double end = abi_seconds() + abi.timeout_s / 2.0;
    faulty f = {from, 0, NULL};
    f.allocs =
        mmap(NULL, sizeof *f.allocs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    abi_need(f.allocs != MAP_FAILED, "conform-abi itself has no memory");
    for (; f.n <= *f.allocs && f.n <= 200 && abi_seconds() < end; f.n++) {
        snprintf(what, sizeof what, "allocation %lld by %s failed", (long long)f.n, from->what);
        abi_child_must_end(faulty_life, &f, f.n ? what : "a life with all its memory");
    }
    abi_diag("%lld allocations in a life, %lld of which failed in turn", (long long)*f.allocs,
             (long long)f.n - 1);
}

static void host_alloc_fault(void)
{
    each_fails(&from_host);
}

static void malloc_fault(void)
{
    abi_entry(abi.file);
    if (!abi_own_seen())
        abi_skip("this build of conform-abi cannot see who calls malloc");
    each_fails(&from_malloc);
}

/* Lives until there were most of them, or for some seconds; how many. */
static int live_on(int most)
{
    double end = abi_seconds() + abi.timeout_s / 8.0;
    int n = 0;
    for (; n < most && (n < 5 || abi_seconds() < end); n++)
        abi_life(false);
    return n;
}

/* A leak shows each time; a cache or a driver's thread, which had not given back yet, does not. */
static void leaks(void)
{
    int64_t live = 0, heap = 0, most = 0;
    int n = 0;
    abi_close();
    int warm = live_on(100); /* caches fill, the allocator's own among them */
    for (int attempt = 0; attempt < 4; attempt++) {
        live = abi_host_live();
        heap = abi_heap_bytes();
        n = live_on(50);
        live = abi_host_live() - live;
        heap = abi_heap_bytes() - heap;
        most = n * 32 + (warm < 100 ? 65536 : 0);
        if (live <= 0 && heap < most)
            break;
        abi_diag("%d lives: %lld more blocks of host->alloc, %lld more bytes in use", n,
                 (long long)live, (long long)heap);
    }
    abi_expect(live <= 0, "%d lives of a device left %lld blocks of host->alloc, time and again", n,
               (long long)live);
    abi_expect(heap < most, "%d lives of a device left %lld bytes in use, time and again", n,
               (long long)heap);
    abi_diag("%d lives, then %d", warm, n);
}

const abi_check abi_memory_checks[] = {
    {"C.zero_size", "transfers of no bytes are nothing", zero_size, ABI_DEVICE},
    {"C.alignment", "blocks are aligned to align_bytes", alignment, ABI_DEVICE},
    {"C.odd_offsets", "bytes are read and written at any offset", odd_offsets, ABI_DEVICE},
    {"C.far", "small reads and writes reach every offset", far, ABI_DEVICE},
    {"C.huge", "what cannot be there is refused with MEMORY and a text, and nothing is lost", huge,
     ABI_DEVICE},
    {"C.blocks", "blocks do not overlap", blocks, ABI_DEVICE},
    {"C.guard", "bytes around what is written stay", guard, ABI_DEVICE},
    {"C.roundtrip", "random writes to random blocks are read back", roundtrip, ABI_DEVICE},
    {"C.copy", "copies move the bytes they name and no others", copy, ABI_DEVICE | ABI_COPY},
    {"C.host_reuse", "host memory is the caller's again when write and read return", host_reuse,
     ABI_DEVICE},
    {"C.host_alloc_fault", "the plug-in lives through each failure of host->alloc",
     host_alloc_fault, 0},
    {"C.malloc_fault", "the plug-in lives through each failure of its own malloc", malloc_fault, 0},
    {"C.leaks", "the life of a device leaves no host memory behind", leaks, ABI_DEVICE},
    {"C.map", "a mapped block and its bytes are the same", abi_check_map, ABI_DEVICE},
    {"C.wrap", "memory that was wrapped is used, and not freed", abi_check_wrap, ABI_DEVICE},
    {"C.pin", "pinned memory is copied to and from the device", abi_check_pin,
     ABI_DEVICE | ABI_COPY},
    {"C.register_host", "memory of the program's own is locked, and left as it was",
     abi_check_register, ABI_DEVICE | ABI_COPY},
    {"C.pool", "a pool's blocks are of the order of their stream, and counted", abi_check_pool,
     ABI_DEVICE},
    {"C.reserve", "addresses get memory and lose it again", abi_check_reserve, ABI_DEVICE},
    {NULL, NULL, NULL, 0}};
