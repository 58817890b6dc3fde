/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * SHA-256 against the examples that NIST publishes with FIPS 180-4 (and the longer ones of FIPS
 * 180-2, appendix B). */
#include "core/base/store.h"
#include "tests/tap.h"

static const struct {
    const char *message;
    int repeat;
    const char *digest, *name;
} examples[] = {
    {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "nothing"},
    {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "abc"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1", "448 bits"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
     "qrsmnopqrstnopqrstu",
     1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1", "896 bits"},
    {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
     "a million times a"},
};

/* In pieces of n bytes. */
static void digest_of(int i, size_t n, char hex[65])
{
    const size_t length = strlen(examples[i].message), all = length * (size_t)examples[i].repeat;
    char *text = malloc(all + 1);
    uint8_t digest[32];
    nd_sha256 sha;
    for (int r = 0; r < examples[i].repeat; r++)
        memcpy(text + (size_t)r * length, examples[i].message, length);
    nd__sha256_init(&sha);
    for (size_t at = 0; at < all; at += n)
        nd__sha256_add(&sha, text + at, n < all - at ? n : all - at);
    nd__sha256_end(&sha, digest);
    for (int b = 0; b < 32; b++)
        snprintf(hex + 2 * b, 3, "%02x", digest[b]);
    free(text);
}

static void published_by(const char *how)
{
    static const size_t pieces[] = {1 << 20, 1, 7, 63, 64, 65};
    char hex[65], what[80];
    for (int i = 0; i < (int)(sizeof examples / sizeof *examples); i++)
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
            digest_of(i, pieces[p], hex);
            snprintf(what, sizeof what, "W9 FIPS 180-4: %s, in pieces of %zu, %s", examples[i].name,
                     pieces[p], how);
            is_str(hex, examples[i].digest, what);
        }
}

static void published(void)
{
    nd__sha256_instructions(false);
    published_by("in C");
    if (nd__sha256_instructions(true))
        published_by("by the processor's instructions");
}

TAP_MAIN({"published", published})
