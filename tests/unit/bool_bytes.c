/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Bools in memory of others, whose bytes may be any: every byte but 0 is true where the library
 * itself looks at elements. What operations make of them is in tests/conform/bools.c. */
#include "tests/unit/io_files.h"

enum { N = 6 };
static unsigned char bytes[N] = {0, 1, 2, 0x80, 0xff, 0};
static const unsigned char truth[N] = {0, 1, 1, 1, 1, 0};

static nd_array *wrapped(void)
{
    const int64_t n = N;
    nd_layout layout = {.size = sizeof layout, .dtype = ND_BOOL, .ndim = 1, .shape = &n};
    nd_array *a = NULL;
    if (nd_wrap(&layout, bytes, NULL, NULL, NULL, &a) != ND_OK)
        bail(nd_last_error()->message);
    return a;
}

static void test_items(void)
{
    nd_array *a = wrapped();
    for (int i = 0; i < N; i++) {
        nd_index at = nd_at(i);
        nd_array *element = NULL;
        nd_scalar s = nd_int(7);
        ok(nd_slice(a, &at, 1, &element) == ND_OK && nd_item(element, &s) == ND_OK &&
               s.kind == ND_BOOL && s.v.u == truth[i],
           "the item of byte %02x is %d", bytes[i], truth[i]);
        nd_release(element);
    }
    nd_release(a);
}

static void test_text(void)
{
    nd_array *a = wrapped();
    char *text = NULL;
    ok(nd_format(a, NULL, &text) == ND_OK &&
           strstr(text, "[False,  True,  True,  True,  True, False]"),
       "printed by its truth: %s", text ? text : "");
    free(text);
    nd_release(a);
}

/* Whether the file ends with these elements. */
static int ends_with(const char *path, const unsigned char *want)
{
    unsigned char all[1024];
    long n = io_get(path, all, sizeof all);
    return n >= N && memcmp(all + n - N, want, N) == 0;
}

static void test_files(void)
{
    unsigned char backwards[N];
    nd_array *a = wrapped(), *reversed = NULL;
    const nd_named_array tensor = {.name = "t", .array = a};
    for (int i = 0; i < N; i++)
        backwards[i] = truth[N - 1 - i];
    is_int(nd_npy_save(io_path("b"), a, NULL), ND_OK, "saved as .npy");
    ok(ends_with(io_path("b"), truth), "with bytes of 0 and 1");
    is_int(nd_safetensors_save(io_path("t"), 1, &tensor, NULL, NULL), ND_OK, "as safetensors");
    ok(ends_with(io_path("t"), truth), "with bytes of 0 and 1");
    is_int(nd_flip(a, 0, NULL, &reversed), ND_OK, "a view that is not dense");
    is_int(nd_npy_save(io_path("v"), reversed, NULL), ND_OK, "is saved");
    ok(ends_with(io_path("v"), backwards), "with bytes of 0 and 1");
    ok(bytes[2] == 2 && bytes[4] == 0xff, "the memory itself is as it was");
    nd_release(a);
    nd_release(reversed);
}

TAP_MAIN({"items", test_items}, {"text", test_text}, {"files", test_files})
