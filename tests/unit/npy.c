/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * .npy: round trips, files as NumPy 2.4.6 writes them, foreign byte orders, and malformed files.
 * Golden bytes were printed by numpy.save of the array that each comment names. */
#include "tests/unit/io_files.h"

/* magic, version, length, the dict and its padding to 128 bytes, the elements. */
static size_t file_of(unsigned char *file, int version, const char *dict, const void *data,
                      size_t n)
{
    size_t start = version == 1 ? 10 : 12, length = 128 - start;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (unsigned char)version;
    memset(file + 7, 0, 5);
    file[8] = (unsigned char)length;
    memset(file + start, ' ', length);
    memcpy(file + start, dict, strlen(dict));
    file[127] = '\n';
    memcpy(file + 128, data, n);
    return 128 + n;
}

static const int64_t shape_34[] = {3, 4};

static void test_golden(void)
{
    /* np.arange(12, dtype='<f4').reshape(3, 4), np.float64(1.5), the first as Fortran order */
    static const char d34[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
    static const char f34[] = "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }";
    static const char d0[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (), }";
    static const char d5[] = "{'descr': '|i1', 'fortran_order': False, 'shape': (5,), }";
    float c[12], f[12];
    double half = 1.5;
    unsigned char want[512];
    nd_array *a, *t, *b = NULL;
    for (int i = 0; i < 12; i++) {
        c[i] = (float)i;
        f[(i % 4) * 3 + i / 4] = (float)i;
    }
    a = io_array(ND_F32, 2, shape_34, c);
    is_int(nd_npy_save(io_path("a"), a, NULL), ND_OK, "a matrix is saved");
    ok(io_same(io_path("a"), want, file_of(want, 1, d34, c, sizeof c)), "as numpy.save does");
    nd_release(a);

    a = io_array(ND_F32, 2, (int64_t[]){4, 3}, f);
    is_int(nd_transpose(a, &t), ND_OK, "the same matrix in Fortran order");
    is_int(nd_npy_save(io_path("f"), t, NULL), ND_OK, "is saved");
    ok(io_same(io_path("f"), want, file_of(want, 1, f34, f, sizeof f)), "as numpy.save does");
    is_int(nd_npy_load(io_path("f"), NULL, &b), ND_OK, "and loaded");
    ok(io_is(b, ND_F32, 2, shape_34, c), "with the same elements");
    ok(nd_strides(b)[0] == 1 && nd_strides(b)[1] == 3, "and Fortran strides");
    nd_release(b);
    nd_release(t);
    nd_release(a);

    a = io_array(ND_F64, 0, NULL, &half);
    is_int(nd_npy_save(io_path("s"), a, NULL), ND_OK, "an array without axes is saved");
    ok(io_same(io_path("s"), want, file_of(want, 1, d0, &half, 8)), "as numpy.save does");
    nd_release(a);
    a = io_array(ND_I8, 1, (int64_t[]){5}, "hello");
    is_int(nd_npy_save(io_path("v"), a, NULL), ND_OK, "a vector of bytes is saved");
    ok(io_same(io_path("v"), want, file_of(want, 1, d5, "hello", 5)), "as numpy.save does");
    nd_release(a);
}

static void test_round_trips(void)
{
    static const struct {
        int ndim;
        int64_t shape[5];
    } shapes[] = {{0, {0}}, {1, {0}}, {1, {7}}, {2, {3, 5}}, {3, {2, 0, 4}}, {5, {2, 1, 3, 2, 2}}};
    static const char kinds[ND_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = numpy,
#include <ndock/dtype.def>
    };
    unsigned char data[16 * 24];
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++) {
        int good = 0, n = (int)(sizeof shapes / sizeof shapes[0]);
        io_fill(d, data, sizeof data);
        for (int i = 0; i < n; i++) {
            nd_array *a = io_array(d, shapes[i].ndim, shapes[i].shape, data), *b = NULL;
            nd_status saved = nd_npy_save(io_path("r"), a, NULL);
            nd_status loaded = kinds[d] == 'V' ? nd_npy_load_as(io_path("r"), d, NULL, &b)
                                               : nd_npy_load(io_path("r"), NULL, &b);
            good += saved == ND_OK && loaded == ND_OK &&
                    io_is(b, d, shapes[i].ndim, shapes[i].shape, data);
            nd_release(a);
            nd_release(b);
        }
        is_int(good, n, nd_dtype_name(d));
    }
}

static void test_byte_orders(void)
{
    static const unsigned char big[] = {0x3F, 0x80, 0, 0, 0xC0, 0x20, 0, 0}; /* 1, -2.5 */
    static const unsigned char small[] = {0, 0, 0x80, 0x3F, 0, 0, 0x20, 0xC0};
    static const float want[] = {1, -2.5f};
    static const int16_t want16[] = {0x0102, -2};
    static const double want64[] = {1, -2.5};
    unsigned char file[256];
    nd_array *a;

    const char *const f4[] = {"'>f4'", "'<f4'", "\"<f4\""};
    for (int i = 0; i < 3; i++) {
        char dict[120];
        snprintf(dict, sizeof dict, "{'descr': %s, 'fortran_order': False, 'shape': (2,), }",
                 f4[i]);
        io_put("o", file, file_of(file, 1, dict, i ? small : big, 8));
        a = NULL;
        is_int(nd_npy_load(io_path("o"), NULL, &a), ND_OK, f4[i]);
        ok(io_is(a, ND_F32, 1, (int64_t[]){2}, want), "has the values");
        nd_release(a);
    }
    io_put("o", file,
           file_of(file, 1, "{'descr': '>c8', 'fortran_order': False, 'shape': (1,)}", big, 8));
    is_int(nd_npy_load(io_path("o"), NULL, &a), ND_OK, "'>c8'");
    ok(io_is(a, ND_C64, 1, (int64_t[]){1}, want), "swaps each part");
    nd_release(a);
    io_put("o", file,
           file_of(file, 1, "{'descr': '>i2', 'fortran_order': True, 'shape': (2,)}",
                   "\1\2\377\376", 4));
    is_int(nd_npy_load(io_path("o"), NULL, &a), ND_OK, "'>i2'");
    ok(io_is(a, ND_I16, 1, (int64_t[]){2}, want16), "has the values");
    nd_release(a);
    io_put("o", file,
           file_of(file, 1, "{'descr': '>c16', 'fortran_order': False, 'shape': ()}",
                   "\x3F\xF0\0\0\0\0\0\0\xC0\4\0\0\0\0\0\0", 16));
    is_int(nd_npy_load(io_path("o"), NULL, &a), ND_OK, "'>c16'");
    ok(io_is(a, ND_C128, 0, NULL, want64), "swaps each part");
    nd_release(a);
}

static void test_accepted(void)
{
    static const char *const dicts[] = {
        "{'shape':(3,4),'fortran_order':False,'descr':'<f4'}",
        "  { \"descr\" : '<f4' ,\n\t'fortran_order' : False , 'shape' : ( 3 , 4 , ) , }  \n",
        "{'descr': 'f4', 'fortran_order': False, 'shape': (3L, 4L), }",
        "{'descr': '=f4', 'fortran_order': False, 'shape': (03, 4), }"};
    unsigned char file[256];
    float data[13];
    nd_array *a;
    for (int i = 0; i < 13; i++)
        data[i] = (float)i / 4;
    for (int version = 1; version <= 3; version++)
        for (size_t i = 0; i < sizeof dicts / sizeof dicts[0]; i++) {
            a = NULL;
            io_put("d", file, file_of(file, version, dicts[i], data, sizeof data));
            nd_status got = nd_npy_load(io_path("d"), NULL, &a);
            ok(got == ND_OK && io_is(a, ND_F32, 2, shape_34, data),
               "version %d.0, with a byte group more: %zu", version, i);
            nd_release(a);
        }
    io_put("d", file,
           file_of(file, 1, "{'descr': '?', 'fortran_order': False, 'shape': (3,)}", "\0\2\1", 3));
    a = NULL;
    is_int(nd_npy_load(io_path("d"), NULL, &a), ND_OK, "bool bytes above 1");
    ok(io_is(a, ND_BOOL, 1, (int64_t[]){3}, "\0\1\1"), "are true");
    nd_release(a);
}

static void test_opaque(void)
{
    static const char v2[] = "{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }";
    static const unsigned char halves[] = {0x80, 0x3F, 0x20, 0xC0}; /* bf16 1, -2.5 */
    unsigned char file[256];
    nd_array *a = NULL;
    size_t n = file_of(file, 1, v2, halves, 4);
    io_put("v", file, n);
    io_fails(nd_npy_load(io_path("v"), NULL, &a), ND_ERR_DTYPE, "nd_npy_load_as", "V2 by itself");
    is_int(nd_npy_load_as(io_path("v"), ND_BF16, NULL, &a), ND_OK, "V2 as bf16");
    ok(io_is(a, ND_BF16, 1, (int64_t[]){2}, halves), "has the values");
    is_int(nd_npy_save(io_path("w"), a, NULL), ND_OK, "bf16 is saved");
    ok(io_same(io_path("w"), file, n), "as V2");
    nd_release(a);
    io_fails(nd_npy_load_as(io_path("v"), ND_F32, NULL, &a), ND_ERR_DTYPE, "2 bytes",
             "V2 as a dtype of another size");
    io_fails(nd_npy_load_as(io_path("v"), 99, NULL, &a), ND_ERR_DTYPE, "99", "an unknown dtype");
}

static void test_truncated(void)
{
    unsigned char file[256];
    for (int version = 1; version <= 3; version++) {
        size_t n =
            file_of(file, version, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }",
                    "0123456789ab0123456789ab0123456789ab0123456789ab", 48);
        int refused = 0;
        for (size_t cut = 0; cut < n; cut++) {
            nd_array *a = (nd_array *)file;
            io_put("t", file, cut);
            refused += nd_npy_load(io_path("t"), NULL, &a) == ND_ERR_FORMAT && !a;
            if (cut == n - 5)
                has_text(nd_last_error()->message, "lack 5 of their 48", "says what is missing");
        }
        is_int(refused, n, "cut at every byte");
    }
}

static void test_malformed(void)
{
#define HEAD "{'descr': '<f4', 'fortran_order': False, 'shape': "
#define TAIL ", 'fortran_order': False, 'shape': (1,)}"
    static const struct {
        const char *dict;
        nd_status status;
        const char *word;
    } cases[] = {
        {"", ND_ERR_FORMAT, "expected '{'"},
        {"[1, 2]", ND_ERR_FORMAT, "expected '{'"},
        {"{}", ND_ERR_FORMAT, "are needed"},
        {"{'descr': '<f4', 'shape': (1,)}", ND_ERR_FORMAT, "are needed"},
        {HEAD "(1,)", ND_ERR_FORMAT, "expected ',' or '}'"},
        {HEAD "(1,)} x", ND_ERR_FORMAT, "nothing after"},
        {HEAD "(1,), 'shape': (1,)}", ND_ERR_FORMAT, "twice"},
        {HEAD "(1,), 'other': 1}", ND_ERR_FORMAT, "unknown key"},
        {HEAD "(1,) 'x'}", ND_ERR_FORMAT, "expected ',' or '}'"},
        {HEAD "[1]}", ND_ERR_FORMAT, "expected a tuple"},
        {HEAD "(1)}", ND_ERR_FORMAT, "comma"},
        {HEAD "1}", ND_ERR_FORMAT, "expected a tuple"},
        {HEAD "(-1,)}", ND_ERR_FORMAT, "negative"},
        {HEAD "(1.5,)}", ND_ERR_FORMAT, "','"},
        {HEAD "(1 2)}", ND_ERR_FORMAT, "','"},
        {HEAD "(,)}", ND_ERR_FORMAT, "integer"},
        {HEAD "(9223372036854775808,)}", ND_ERR_FORMAT, "64 bits"},
        {HEAD "(9223372036854775807,)}", ND_ERR_FORMAT, "63 bits"},
        {HEAD "(4294967296, 4294967296, 4)}", ND_ERR_FORMAT, "63 bits"},
        {HEAD "(1099511627776,)}", ND_ERR_FORMAT, "lack"},
        {HEAD "__import__('os')}", ND_ERR_FORMAT, "tuple"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", ND_ERR_FORMAT, "True or False"},
        {"{'descr': '<f4\\n'" TAIL, ND_ERR_FORMAT, "quoted"},
        {"{'descr': '<f4", ND_ERR_FORMAT, "quoted"},
        {"{'descr': None" TAIL, ND_ERR_FORMAT, "quoted"},
        {"{'descr': '|O'" TAIL, ND_ERR_DTYPE, "|O"},
        {"{'descr': '|O8'" TAIL, ND_ERR_DTYPE, "|O8"},
        {"{'descr': '<U7'" TAIL, ND_ERR_DTYPE, "<U7"},
        {"{'descr': '<M8[ns]'" TAIL, ND_ERR_DTYPE, "<M8[ns]"},
        {"{'descr': '<f16'" TAIL, ND_ERR_DTYPE, "<f16"},
        {"{'descr': '<f04'" TAIL, ND_ERR_DTYPE, "<f04"},
        {"{'descr': '<f4294967300'" TAIL, ND_ERR_DTYPE, "<f4294967300"},
        {"{'descr': '<V0'" TAIL, ND_ERR_DTYPE, "<V0"},
        {"{'descr': '>V2'" TAIL, ND_ERR_DTYPE, "byte order"},
        {"{'descr': ''" TAIL, ND_ERR_DTYPE, "plain"},
        {"{'descr': [('x', '<f4'), ('y', '<i4', (2,))]" TAIL, ND_ERR_DTYPE, "('y', '<i4', (2,))"},
        {"{'descr': [[[[[[[[[[[[[[[[[[[[[[", ND_ERR_FORMAT, "bracket"},
    };
    unsigned char file[256], many[600];
    nd_array *a;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        io_put("m", file, file_of(file, 1, cases[i].dict, "abcd", 4));
        io_fails(nd_npy_load(io_path("m"), NULL, &a), cases[i].status, cases[i].word,
                 cases[i].dict);
    }
    file_of(file, 1, HEAD "(1,)}", "abcd", 4);
    file[6] = 4;
    io_fails(nd_npy_load(io_put("m", file, 132), NULL, &a), ND_ERR_FORMAT, "version 4.0",
             "version");
    file[6] = 2;
    file[11] = 0xFF;
    io_fails(nd_npy_load(io_put("m", file, 132), NULL, &a), ND_ERR_FORMAT, "cut short",
             "a header longer than the file");
    memset(many, 0, sizeof many);
    int n = snprintf((char *)many + 10, 590, HEAD "(");
    for (int i = 0; i < 65; i++)
        n += snprintf((char *)many + 10 + n, (size_t)(590 - n), "1,");
    n += snprintf((char *)many + 10 + n, (size_t)(590 - n), ")}");
    memcpy(many, "\x93NUMPY\1\0", 8);
    many[8] = (unsigned char)(n & 0xFF);
    many[9] = (unsigned char)(n >> 8);
    io_fails(nd_npy_load(io_put("m", many, (size_t)n + 14), NULL, &a), ND_ERR_FORMAT, "64 axes",
             "65 axes");
}

static void test_strided(void)
{
    int32_t data[24], want[6];
    nd_array *a, *s, *b = NULL;
    for (int i = 0; i < 24; i++)
        data[i] = i;
    for (int i = 0; i < 6; i++)
        want[i] = (i / 2) * 8 + 5 - 4 * (i % 2);
    a = io_array(ND_I32, 2, (int64_t[]){3, 8}, data);
    nd_index idx[2] = {nd_all_of(), {ND_INDEX_RANGE, 0, 5, 0, -4}};
    is_int(nd_slice(a, idx, 2, &s), ND_OK, "a view with a negative stride");
    is_int(nd_npy_save(io_path("n"), s, NULL), ND_OK, "is saved");
    is_int(nd_npy_load(io_path("n"), NULL, &b), ND_OK, "and loaded");
    ok(io_is(b, ND_I32, 2, (int64_t[]){3, 2}, want), "with its elements");
    nd_release(b);
    nd_release(s);
    nd_release(a);
}

static void test_arguments(void)
{
    nd_array *a = NULL, *b = io_array(ND_U8, 1, (int64_t[]){3}, "abc");
    nd_save_opts opts = {0};
    io_fails(nd_npy_load(io_path("none"), NULL, &a), ND_ERR_IO, "none", "a file that is not there");
    ok(nd_last_error()->native != 0, "has an errno");
    io_fails(nd_npy_load(io_folder, NULL, &a), ND_ERR_IO, io_folder, "a folder");
    mkfifo(io_path("pipe"), 0600);
    io_fails(nd_npy_load(io_path("pipe"), NULL, &a), ND_ERR_IO, "regular",
             "a pipe, without a wait");
    io_fails(nd_npy_load(NULL, NULL, &a), ND_ERR_ARGUMENT, "path", "no path");
    io_fails(nd_npy_load("x", NULL, NULL), ND_ERR_ARGUMENT, "out", "no result");
    io_fails(nd_npy_save(NULL, b, NULL), ND_ERR_ARGUMENT, "path", "no path to save to");
    io_fails(nd_npy_save("", b, NULL), ND_ERR_ARGUMENT, "path", "an empty path");
    io_fails(nd_npy_save("x", NULL, NULL), ND_ERR_ARGUMENT, "array", "no array");
    io_fails(nd_npy_save("x", b, &opts), ND_ERR_ARGUMENT, "size", "options without a size");
    nd_release(b);
}

TAP_MAIN({"golden", test_golden}, {"round_trips", test_round_trips},
         {"byte_orders", test_byte_orders}, {"accepted", test_accepted}, {"opaque", test_opaque},
         {"truncated", test_truncated}, {"malformed", test_malformed}, {"strided", test_strided},
         {"arguments", test_arguments})
