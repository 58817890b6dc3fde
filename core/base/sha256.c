/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * SHA-256, names of cached kernels and checksums of their files. Source: FIPS PUB 180-4, sections
 * 4.1.2, 4.2.2, 5.3.3 and 6.2, whose names are used here. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/base/store.h"
#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#define HAVE_INSTRUCTIONS 1
#endif

/* Fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void schedule(const uint8_t block[64], uint32_t W[64])
{
    for (int t = 0; t < 16; t++)
        W[t] = big_endian(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        uint32_t sigma0 = rotr(W[t - 15], 7) ^ rotr(W[t - 15], 18) ^ W[t - 15] >> 3,
                 sigma1 = rotr(W[t - 2], 17) ^ rotr(W[t - 2], 19) ^ W[t - 2] >> 10;
        W[t] = sigma1 + W[t - 7] + sigma0 + W[t - 16];
    }
}

static void compress(uint32_t h[8], const uint8_t block[64])
{
    uint32_t W[64], v[8]; /* v: a to h */
    schedule(block, W);
    memcpy(v, h, sizeof v);
    for (int t = 0; t < 64; t++) {
        uint32_t Sigma1 = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25),
                 Ch = (v[4] & v[5]) ^ (~v[4] & v[6]), T1 = v[7] + Sigma1 + Ch + K[t] + W[t],
                 Sigma0 = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22),
                 Maj = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += T1;
        v[0] = T1 + Sigma0 + Maj;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

static void compress_blocks(uint32_t h[8], const uint8_t *block, size_t n)
{
    for (; n; n--, block += 64)
        compress(h, block);
}

/* The same by the processor's own instructions, four rounds at a time: some ten times sooner, which
 * is what loading a kernel from its file took longest. Their states are a, b, e, f and c, d, g, h. */
#ifdef HAVE_INSTRUCTIONS
__attribute__((target("sha,sse4.1"))) static void compress_fast(uint32_t h[8], const uint8_t *block,
                                                                size_t n)
{
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i *const k = (const __m128i *)(const void *)K;
    __m128i *const to = (__m128i *)(void *)h;
    const __m128i dcba = _mm_shuffle_epi32(_mm_loadu_si128(to), 0xb1);
    const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(to + 1), 0x1b);
    __m128i abef = _mm_alignr_epi8(dcba, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, dcba, 0xf0);
    for (; n; n--, block += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[4];
        for (int t = 0; t < 16; t++) {
            __m128i *const now = &w[t % 4];
            const __m128i last = w[(t + 3) % 4];
            if (t < 4)
                *now = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)block + t),
                                        order);
            else
                *now =
                    _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(*now, w[(t + 1) % 4]),
                                                       _mm_alignr_epi8(last, w[(t + 2) % 4], 4)),
                                         last);
            const __m128i wk = _mm_add_epi32(*now, _mm_loadu_si128(k + t));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128(to, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(to + 1, _mm_alignr_epi8(dchg, feba, 8));
}

static bool has_instructions(void)
{
    unsigned a, b = 0, c = 0, d;
    const unsigned sha = 1u << 29, ssse3 = 1u << 9, sse41 = 1u << 19;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & ssse3) && (c & sse41) &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & sha);
}

static atomic_int instructions; /* 0: not looked yet, 1: there are none, 2: there are */

bool nd__sha256_instructions(bool use)
{
    const bool there = use && has_instructions();
    atomic_store_explicit(&instructions, there ? 2 : 1, memory_order_relaxed);
    return there;
}

static void compress_all(uint32_t h[8], const uint8_t *block, size_t n)
{
    int how = atomic_load_explicit(&instructions, memory_order_relaxed);
    if (how == 0)
        how = nd__sha256_instructions(true) ? 2 : 1;
    (how == 2 ? compress_fast : compress_blocks)(h, block, n);
}
#else
bool nd__sha256_instructions(bool use)
{
    (void)use;
    return false;
}

static void compress_all(uint32_t h[8], const uint8_t *block, size_t n)
{
    compress_blocks(h, block, n);
}
#endif

void nd__sha256_init(nd_sha256 *s)
{
    /* Fractional parts of the square roots of the first eight primes. */
    static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->h, initial, sizeof initial);
    s->nbytes = 0;
}

void nd__sha256_add(nd_sha256 *s, const void *data, size_t n)
{
    const uint8_t *p = data;
    while (n) {
        size_t have = s->nbytes % 64, take = n < 64 - have ? n : 64 - have;
        if (have == 0 && n >= 64) {
            take = n / 64 * 64;
            compress_all(s->h, p, n / 64);
        } else {
            memcpy(s->block + have, p, take);
            if (have + take == 64)
                compress_all(s->h, s->block, 1);
        }
        s->nbytes += take;
        p += take;
        n -= take;
    }
}

void nd__sha256_end(nd_sha256 *s, uint8_t digest[32])
{
    static const uint8_t padding[64] = {0x80};
    const uint64_t bits = s->nbytes * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    nd__sha256_add(s, padding, 1 + (119 - s->nbytes % 64) % 64);
    nd__sha256_add(s, length, sizeof length);
    for (int i = 0; i < 32; i++)
        digest[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

bool nd__sha256_file(const char *path, uint8_t digest[32])
{
    uint8_t bytes[16384];
    nd_sha256 s;
    ssize_t n = -1;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us */
    bool is_file = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    nd__sha256_init(&s);
    while (is_file && ((n = read(fd, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR)))
        nd__sha256_add(&s, bytes, n > 0 ? (size_t)n : 0);
    if (fd >= 0)
        close(fd);
    nd__sha256_end(&s, digest);
    return n == 0;
}
