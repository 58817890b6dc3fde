/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * GGUF: files of the PyPI package gguf (tests/data/gguf_seeds.py), round trips, the bytes of a file,
 * and files that lie. */
#include <math.h>
#include "tests/unit/io_files.h"

static const char *seed(const char *name)
{
    static char path[600];
    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/fuzz/seeds/gguf/%s", srcdir ? srcdir : ".", name);
    return path;
}

/* ---- files of gguf ---- */

static nd_gguf_value find(const nd_gguf *f, const char *key, int32_t type)
{
    nd_gguf_value v = {.size = sizeof v};
    ok(nd_gguf_find(f, key, &v) == ND_OK && v.type == type, "the key %s has its type", key);
    return v;
}

static void test_metadata(void)
{
    nd_gguf *f = NULL;
    nd_gguf_value v, item;
    is_int(nd_gguf_open(seed("plain"), &f), ND_OK, "a file of the package gguf");
    is_int(nd_gguf_key_count(f), 18, "has its keys");
    is_str(nd_gguf_key(f, 0), "general.architecture", "in order");
    ok(!nd_gguf_key(f, 18) && !nd_gguf_key(f, -1), "out of range is NULL");
    ok(find(f, "u8", ND_GGUF_U8).v.u == 255 && find(f, "i8", ND_GGUF_I8).v.i == -128 &&
           find(f, "u16", ND_GGUF_U16).v.u == 65535 && find(f, "i16", ND_GGUF_I16).v.i == -32768 &&
           find(f, "u32", ND_GGUF_U32).v.u == UINT32_MAX &&
           find(f, "i32", ND_GGUF_I32).v.i == INT32_MIN &&
           find(f, "u64", ND_GGUF_U64).v.u == UINT64_MAX &&
           find(f, "i64", ND_GGUF_I64).v.i == INT64_MIN,
       "integers of every width");
    ok(find(f, "f32", ND_GGUF_F32).v.f == (double)0.1f && find(f, "f64", ND_GGUF_F64).v.f == 0.1 &&
           find(f, "bool", ND_GGUF_BOOL).v.u == 1,
       "floats and a truth value");
    v = find(f, "text", ND_GGUF_STRING);
    ok(v.nbytes == 6 && memcmp(v.data, "h\xC3\xA9llo", 6) == 0, "a text");
    v = find(f, "texts", ND_GGUF_ARRAY);
    ok(v.item == ND_GGUF_STRING && v.count == 3, "an array of texts");
    is_int(nd_gguf_next(&v, &item), ND_OK, "item by item");
    is_int(nd_gguf_next(&v, &item), ND_OK, "the second");
    ok(item.nbytes == 2 && memcmp(item.data, "bc", 2) == 0, "is as it was");
    v = find(f, "nested", ND_GGUF_ARRAY);
    is_int(nd_gguf_next(&v, &item), ND_OK, "an array in an array");
    ok(item.type == ND_GGUF_ARRAY && item.count == 2, "has two items");
    nd_gguf_value inner = item;
    ok(nd_gguf_next(&inner, &item) == ND_OK && nd_gguf_next(&inner, &item) == ND_OK &&
           item.v.i == 2,
       "of which the last is 2");
    io_fails(nd_gguf_next(&inner, &item), ND_ERR_INDEX, "no more", "and there are no more");
    io_fails(nd_gguf_find(f, "other", &v), ND_ERR_INDEX, "\"other\"", "a key that is not there");
    nd_gguf_close(f);
}

static void test_tensors(void)
{
    nd_gguf *f = NULL;
    nd_array *a = NULL;
    nd_qarray *q = NULL;
    nd_gguf_tensor t = {.size = sizeof t};
    is_int(nd_gguf_open(seed("plain"), &f), ND_OK, "plain tensors");
    is_int(nd_gguf_count(f), 7, "are counted");
    is_int(nd_gguf_describe(f, 3, &t), ND_OK, "and described");
    ok(strcmp(t.name, "int8") == 0 && t.dtype == ND_I8 && !t.format && t.ndim == 2 &&
           t.shape[0] == 2 && t.shape[1] == 3 && t.nbytes == 6,
       "in C order");
    is_int(nd_gguf_load(f, "float32", NULL, &a), ND_OK, "one is loaded");
    ok(nd_is_readonly(a) && nd_dtype_of(a) == ND_F32, "as the file itself");
    io_fails(nd_gguf_load_quant(f, "float32", NULL, &q), ND_ERR_DTYPE, "plain f32",
             "not as a quantised one");
    nd_gguf_close(f);
    float x[6];
    is_int(nd_to_host(a, x, sizeof x), ND_OK, "and stays when the file is closed");
    ok(x[0] == floorf(x[0]) && fabsf(x[0]) <= 50, "with its values");
    nd_release(a);

    is_int(nd_gguf_open(seed("blocks"), &f), ND_OK, "quantised tensors");
    is_int(nd_gguf_load_quant(f, "Q4_1", NULL, &q), ND_OK, "one is loaded");
    ok(nd_qarray_format(q) == ND_Q4_1 && nd_qarray_shape(q)[0] == 2 && nd_qarray_shape(q)[1] == 64,
       "with its shape in elements");
    nd_qarray_release(q);
    a = NULL;
    io_fails(nd_gguf_load(f, "Q4_1", NULL, &a), ND_ERR_DTYPE, "q4_1", "not as a plain one");
    io_fails(nd_gguf_load(f, "x", NULL, &a), ND_ERR_INDEX, "\"BF16\", \"Q4_0\"",
             "an unknown name lists the others");
    nd_gguf_close(f);

    is_int(nd_gguf_open(seed("other"), &f), ND_OK, "a type that ndock lacks");
    io_fails(nd_gguf_load(f, "ternary", NULL, &a), ND_ERR_DTYPE, "35", "is refused by its number");
    is_int(nd_gguf_load(f, "float32", NULL, &a), ND_OK, "the others load");
    nd_release(a);
    nd_gguf_close(f);
}

/* ---- writing ---- */

static void test_bytes(void)
{
    static const unsigned char want[] =
        "GGUF\3\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
        "\1\0\0\0\0\0\0\0k\4\0\0\0\7\0\0\0"
        "\1\0\0\0\0\0\0\0w\2\0\0\0\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\x18\0\0\0\0\0\0\0\0\0\0\0"
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
        "\1\2\3\4\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    static const unsigned char seven[] = {7, 0, 0, 0};
    const nd_gguf_item item = {"w", io_array(ND_I8, 2, (int64_t[]){2, 3}, "\1\2\3\4\5\6"), NULL};
    const nd_gguf_pair pair = {
        "k",
        {.size = sizeof pair.value, .type = ND_GGUF_U32, .count = 1, .data = seven, .nbytes = 4}};
    is_int(nd_gguf_save(io_path("b"), 1, &item, 1, &pair, NULL), ND_OK, "a tensor and a key");
    ok(io_same(io_path("b"), want, sizeof want), "have these bytes");
    nd_release((nd_array *)(uintptr_t)item.array);
    is_int(nd_gguf_save(io_path("n"), 0, NULL, 0, NULL, NULL), ND_OK, "nothing");
    nd_gguf *f = NULL;
    is_int(nd_gguf_open(io_path("n"), &f), ND_OK, "is a file");
    is_int(nd_gguf_count(f), 0, "of no tensors");
    nd_gguf_close(f);
}

/* Everything in the file saved again. */
static void copy_of(const char *from, const char *to)
{
    nd_gguf *f = NULL;
    nd_gguf_item items[16];
    nd_gguf_pair pairs[32];
    if (nd_gguf_open(from, &f) != ND_OK)
        bail(nd_last_error()->message);
    for (int i = 0; i < nd_gguf_count(f); i++) {
        nd_gguf_tensor t = {.size = sizeof t};
        nd_array *a = NULL;
        nd_qarray *q = NULL;
        if (nd_gguf_describe(f, i, &t) != ND_OK ||
            (t.format ? nd_gguf_load_quant(f, t.name, NULL, &q)
                      : nd_gguf_load(f, t.name, NULL, &a)) != ND_OK)
            bail(nd_last_error()->message);
        items[i] = (nd_gguf_item){t.name, a, q};
    }
    for (int i = 0; i < nd_gguf_key_count(f); i++) {
        pairs[i] = (nd_gguf_pair){nd_gguf_key(f, i), {.size = sizeof pairs[i].value}};
        if (nd_gguf_find(f, pairs[i].key, &pairs[i].value) != ND_OK)
            bail(nd_last_error()->message);
    }
    is_int(nd_gguf_save(to, nd_gguf_count(f), items, nd_gguf_key_count(f), pairs, NULL), ND_OK,
           "what was read is saved");
    for (int i = 0; i < nd_gguf_count(f); i++) {
        nd_release((nd_array *)(uintptr_t)items[i].array);
        nd_qarray_release((nd_qarray *)(uintptr_t)items[i].quant);
    }
    nd_gguf_close(f);
}

static void test_round_trip(void)
{
    static const char *const names[] = {"plain", "blocks", "aligned"};
    static unsigned char bytes[4096];
    for (int i = 0; i < 3; i++) {
        copy_of(seed(names[i]), io_path(names[i]));
        const long n = io_get(seed(names[i]), bytes, sizeof bytes);
        ok(n > 0 && io_same(io_path(names[i]), bytes, (size_t)n), "byte for byte: %s", names[i]);
    }
}

static void test_refused_saves(void)
{
    nd_array *a = io_array(ND_U8, 1, (int64_t[]){2}, "xy"),
             *b = io_array(ND_I8, 1, (int64_t[]){2}, "xy");
    nd_array *deep = io_array(ND_I8, 5, (int64_t[]){1, 1, 1, 1, 2}, "xy");
    nd_gguf_item items[2] = {{"a", a, NULL}, {"a", b, NULL}};
    nd_gguf_pair pair = {"k", {.type = ND_GGUF_U32, .count = 1, .data = "abcde", .nbytes = 5}};
    const char *path = io_path("r");
    io_fails(nd_gguf_save(path, 1, items, 0, NULL, NULL), ND_ERR_DTYPE, "u8", "a dtype GGUF lacks");
    items[0].array = b;
    io_fails(nd_gguf_save(path, 2, items, 0, NULL, NULL), ND_ERR_ARGUMENT, "twice", "a name twice");
    items[0].name = "0123456789012345678901234567890123456789012345678901234567890123";
    io_fails(nd_gguf_save(path, 1, items, 0, NULL, NULL), ND_ERR_ARGUMENT, "64", "a long name");
    items[0].name = "\xff";
    io_fails(nd_gguf_save(path, 1, items, 0, NULL, NULL), ND_ERR_ARGUMENT, "UTF-8", "odd bytes");
    items[0] = (nd_gguf_item){"a", deep, NULL};
    io_fails(nd_gguf_save(path, 1, items, 0, NULL, NULL), ND_ERR_SHAPE, "rank 5", "five axes");
    items[0].array = NULL;
    io_fails(nd_gguf_save(path, 1, items, 0, NULL, NULL), ND_ERR_ARGUMENT, "neither", "nothing");
    io_fails(nd_gguf_save(path, 0, NULL, 1, &pair, NULL), ND_ERR_ARGUMENT, "5 bytes",
             "more bytes than the type has");
    pair.value.nbytes = 3;
    io_fails(nd_gguf_save(path, 0, NULL, 1, &pair, NULL), ND_ERR_FORMAT, "takes 4", "or fewer");
    pair.value.type = 13;
    io_fails(nd_gguf_save(path, 0, NULL, 1, &pair, NULL), ND_ERR_ARGUMENT, "type 13", "no type");
    pair = (nd_gguf_pair){"general.alignment",
                          {.type = ND_GGUF_U32, .count = 1, .data = "\x30\0\0", .nbytes = 4}};
    io_fails(nd_gguf_save(path, 0, NULL, 1, &pair, NULL), ND_ERR_ARGUMENT, "48",
             "an odd alignment");
    is_int(access(path, F_OK), -1, "and nothing is written");
    nd_release_all(3, (nd_array *[]){a, b, deep});
}

/* ---- files that lie ---- */

static unsigned char file[4096];
static size_t length;
static void start(void)
{
    length = (size_t)io_get(seed("plain"), file, sizeof file);
}
static void set(size_t at, uint64_t value, int nbytes)
{
    for (int i = 0; i < nbytes; i++)
        file[at + (size_t)i] = (unsigned char)(value >> 8 * i);
}
/* Where a text stands in the file. */
static size_t place_of(const char *text)
{
    const unsigned char *p = memmem(file, length, text, strlen(text));
    if (!p)
        bail(text);
    return (size_t)(p - file);
}
static void lies(const char *word, const char *what)
{
    nd_gguf *f = (nd_gguf *)file;
    io_fails(nd_gguf_open(io_put("l", file, length), &f), ND_ERR_FORMAT, word, what);
    ok(!f, "there is no file");
    start();
}

static void test_cut(void)
{
    int refused = 0;
    start();
    for (size_t n = 0; n < length - 20; n++) { /* the last tensor has 16 bytes of padding */
        nd_gguf *f = NULL;
        refused += nd_gguf_open(io_put("c", file, n), &f) == ND_ERR_FORMAT && !f;
        nd_gguf_close(f);
    }
    is_int(refused, (long long)length - 20, "cut anywhere it is refused");
}

static void test_lies(void)
{
    start();
    set(0, 'X', 1);
    lies("does not begin with GGUF", "another magic");
    set(4, 1, 4);
    lies("byte 4: version 1", "version 1");
    set(4, 0x03000000, 4);
    lies("big-endian", "big-endian");
    set(8, UINT64_MAX, 8);
    lies("byte 8: the number of tensors is 18446744073709551615", "tensors without end");
    set(16, 1 << 20, 8);
    lies("byte 16: the number of keys is 1048576", "keys without end");
    set(24, 1 << 16, 8);
    lies("byte 24: a key has 65536 bytes", "a key without end");
    set(place_of("u8"), 'i', 1);
    lies("\"i8\" comes twice", "a key twice");
    set(place_of("u8"), 0, 1);
    lies("zero byte", "a key with a zero byte");
    set(place_of("u8"), 0xff, 1);
    lies("UTF-8", "a key that is no UTF-8");
    set(place_of("u8") + 2, 13, 4);
    lies("\"u8\" has type 13", "a type that there is not");
    set(place_of("bool") + 8, 2, 1);
    lies("a truth value is 2", "a truth value of 2");
    set(place_of("text") + 8, (uint64_t)1 << 40, 8);
    lies("a text takes 1099511627776 bytes", "a text without end");
    set(place_of("numbers") + 7 + 8, UINT64_MAX, 8);
    lies("18446744073709551615 items", "an array without end");
    set(place_of("texts") + 5 + 8, UINT64_MAX, 8);
    lies("at byte", "texts without end");
    set(place_of("numbers") + 7 + 4, 77, 4);
    lies("an array's item has type 77", "items of no type");
    const size_t tensor = place_of("float32");
    set(tensor + 7, 5, 4);
    lies("rank 5", "five axes");
    set(tensor + 7, UINT32_MAX, 4);
    lies("rank 4294967295", "a rank without end");
    set(tensor + 11, (uint64_t)1 << 63, 8);
    lies("extent 9223372036854775808", "an extent without end");
    set(tensor + 11, (uint64_t)1 << 62, 8);
    lies("63 bits", "a shape without end");
    set(tensor + 11, (uint64_t)1 << 62, 8);
    set(tensor + 19, 0, 8);
    lies("63 bits", "a shape without end and without elements");
    set(tensor + 11, 20, 8);
    lies("overlaps", "a tensor that is too large");
    set(tensor + 27, 2, 4);
    lies("whole number of blocks", "a quantised row that is too short");
    set(tensor + 31, 1, 8);
    lies("no multiple of the alignment", "an odd offset");
    set(place_of("int64") + 29, UINT64_MAX - 31, 8);
    lies("cut short", "an offset without end");
    set(place_of("float16") + 31, 0, 8);
    lies("overlaps", "two tensors at one place");
    set(place_of("float16") + 31, 64, 8);
    lies("hole", "a hole");
    set(place_of("float64") + 5, '3' | '2' << 8, 2);
    lies("same name", "a name twice");
    length += 32;
    lies("32 bytes belong to no tensor", "bytes at the end");
    start();
}

/* Arrays in arrays in arrays: refused before they take the stack. */
static void test_deep(void)
{
    length = 0;
    memcpy(file, "GGUF\3", 6);
    memset(file + 5, 0, sizeof file - 5);
    set(16, 1, 8);
    set(24, 1, 8);
    set(32, 'k', 1);
    set(33, ND_GGUF_ARRAY, 4);
    for (int i = 0; i < 300; i++) {
        set(37 + 12 * (size_t)i, ND_GGUF_ARRAY, 4);
        set(41 + 12 * (size_t)i, 1, 8);
    }
    length = 37 + 300 * 12;
    lies("deeper than 4", "three hundred arrays in each other");
}

TAP_MAIN({"metadata", test_metadata}, {"tensors", test_tensors}, {"bytes", test_bytes},
         {"round_trip", test_round_trip}, {"refused_saves", test_refused_saves}, {"cut", test_cut},
         {"lies", test_lies}, {"deep", test_deep})
