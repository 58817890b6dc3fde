/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * SHA-256, names of cached kernels and checksums of their files. Source: FIPS PUB 180-4, sections
 * 4.1.2, 4.2.2, 5.3.3 and 6.2, whose names are used here. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/base/store.h"

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
        memcpy(s->block + have, p, take);
        s->nbytes += take;
        p += take;
        n -= take;
        if (have + take == 64)
            compress(s->h, s->block);
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
