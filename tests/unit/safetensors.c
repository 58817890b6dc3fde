/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * safetensors: round trips, the bytes of a file, metadata, and headers that lie. */
#include "tests/unit/io_files.h"

/* Writes a file of a header and n bytes of data 0, 1, 2, ...; returns its path. */
static const char *file_of(const char *header, size_t n)
{
    static unsigned char file[100000];
    size_t length = strlen(header);
    for (int i = 0; i < 8; i++)
        file[i] = (unsigned char)(length >> 8 * i);
    memcpy(file + 8, header, length);
    for (size_t i = 0; i < n; i++)
        file[8 + length + i] = (unsigned char)i;
    return io_put("s", file, 8 + length + n);
}

static void test_bytes(void)
{
    static const char head[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                               "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[8,11]},"
                               "\"w\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]}}";
    static const float w[] = {1, -2.5f};
    static const char *const metadata[] = {"format", "pt", NULL};
    unsigned char want[400] = {0};
    size_t length = (sizeof head - 1 + 7) / 8 * 8;
    want[0] = (unsigned char)length;
    memset(want + 8, ' ', length);
    memcpy(want + 8, head, sizeof head - 1);
    memcpy(want + 8 + length, w, 8);
    memcpy(want + 16 + length, "abc", 3);
    nd_named_array arrays[] = {{"b", io_array(ND_U8, 1, (int64_t[]){3}, "abc")},
                               {"w", io_array(ND_F32, 2, (int64_t[]){2, 1}, w)}};
    is_int(nd_safetensors_save(io_path("g"), 2, arrays, metadata, NULL), ND_OK, "two arrays");
    ok(io_same(io_path("g"), want, 8 + length + 11), "have these bytes, larger elements first");
    nd_release((nd_array *)arrays[0].array);
    nd_release((nd_array *)arrays[1].array);

    is_int(nd_safetensors_save(io_path("e"), 0, NULL, NULL, NULL), ND_OK, "no arrays");
    ok(io_same(io_path("e"), "\x8\0\0\0\0\0\0\0{}      ", 16), "are a header");
    nd_safetensors *f = NULL;
    is_int(nd_safetensors_open(io_path("e"), &f), ND_OK, "that can be opened");
    is_int(nd_safetensors_count(f), 0, "and has none");
    ok(!nd_safetensors_metadata(f, "x") && !nd_safetensors_name(f, 0), "of anything");
    nd_safetensors_close(f);
}

static void test_round_trips(void)
{
    static const struct {
        int ndim;
        int64_t shape[3];
    } shapes[] = {{0, {0}}, {1, {0}}, {1, {7}}, {2, {3, 5}}, {3, {2, 0, 4}}};
    enum { SHAPES = 5, MOST = (ND_DTYPE_END - 1) * SHAPES };
    static char names[MOST][16];
    unsigned char data[MOST][16 * 15];
    nd_named_array arrays[MOST];
    nd_safetensors *f = NULL;
    int n = 0, good = 0;
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
        for (int i = 0; i < SHAPES && d != ND_C128; i++, n++) {
            snprintf(names[n], sizeof names[n], "%s.%d", nd_dtype_name(d), i);
            io_fill(d, data[n], sizeof data[n]);
            arrays[n].name = names[n];
            arrays[n].array = io_array(d, shapes[i].ndim, shapes[i].shape, data[n]);
        }
    is_int(nd_safetensors_save(io_path("r"), n, arrays, NULL, NULL), ND_OK, "every dtype");
    is_int(nd_safetensors_open(io_path("r"), &f), ND_OK, "is opened");
    is_int(nd_safetensors_count(f), n, "with all arrays");
    for (int i = 0; i < n; i++) {
        nd_array *b = NULL;
        nd_status got = nd_safetensors_load(f, names[i], NULL, &b);
        good += got == ND_OK && io_is(b, nd_dtype_of(arrays[i].array), shapes[i % SHAPES].ndim,
                                      shapes[i % SHAPES].shape, data[i]);
        nd_release(b);
        nd_release((nd_array *)arrays[i].array);
    }
    is_int(good, n, "which have their values");
    nd_safetensors_close(f);
}

static void test_names(void)
{
    static const char *const odd[] = {"a\"b\\c/d\n\t\x01 e", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80",
                                      ""};
    static const char *const metadata[] = {"k\"\n", "v\\\x1F\xC3\xA9", "", "empty", NULL};
    nd_named_array arrays[3];
    nd_safetensors *f = NULL;
    nd_array *b = NULL;
    for (int i = 0; i < 3; i++) {
        arrays[i].name = odd[i];
        arrays[i].array = io_array(ND_U8, 1, (int64_t[]){2}, "xy");
    }
    is_int(nd_safetensors_save(io_path("o"), 3, arrays, metadata, NULL), ND_OK, "odd names");
    is_int(nd_safetensors_open(io_path("o"), &f), ND_OK, "are read");
    for (int i = 0; i < 3; i++)
        is_str(nd_safetensors_name(f, i), odd[i], "as they were");
    ok(!nd_safetensors_name(f, 3) && !nd_safetensors_name(f, -1), "out of range is NULL");
    is_str(nd_safetensors_metadata(f, metadata[0]), metadata[1], "metadata");
    is_str(nd_safetensors_metadata(f, ""), "empty", "with an empty key");
    ok(!nd_safetensors_metadata(f, "other"), "a key that is not there");
    io_fails(nd_safetensors_load(f, "zz", NULL, &b), ND_ERR_INDEX, "\"a\"b\\c/d??? e\"",
             "an unknown name lists the others");
    nd_safetensors_close(f);
    for (int i = 0; i < 3; i++)
        nd_release((nd_array *)arrays[i].array);

    is_int(nd_safetensors_open(
               file_of("{\"\\u00e9\\ud83d\\ude00\\n\\/\":{\"shape\":[2],\"data_offsets\":[0,2],"
                       "\"dtype\":\"I8\",\"more\":[{\"x\":-1.5e+3},true,null,\"\"]}} ",
                       2),
               &f),
           ND_OK, "escapes, any order of keys, unknown keys");
    is_str(nd_safetensors_name(f, 0), "\xC3\xA9\xF0\x9F\x98\x80\n/", "are decoded");
    nd_safetensors_close(f);
}

#define T(name, dtype, shape, begin, end)                                                        \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end \
    "]}"

static void test_order(void)
{
    nd_safetensors *f = NULL;
    nd_array *a = NULL;
    is_int(nd_safetensors_open(
               file_of("{" T("c", "U8", "[2]", "4", "6") "," T("z", "F32", "[0]", "4", "4") "," T(
                           "a", "F8_E8M0", "[3]", "1", "4") "," T("d", "BOOL", "[1]", "0", "1") "}",
                       6),
               &f),
           ND_OK, "tensors in any order");
    is_str(nd_safetensors_name(f, 0), "d", "are listed");
    is_str(nd_safetensors_name(f, 1), "a", "in the order");
    is_str(nd_safetensors_name(f, 2), "z", "of their");
    is_str(nd_safetensors_name(f, 3), "c", "data");
    io_fails(nd_safetensors_load(f, "a", NULL, &a), ND_ERR_DTYPE, "F8_E8M0", "a dtype ndock lacks");
    is_int(nd_safetensors_load(f, "c", NULL, &a), ND_OK, "the others load");
    ok(io_is(a, ND_U8, 1, (int64_t[]){2}, "\4\5"), "with their values");
    nd_release(a);
    nd_safetensors_close(f);
}

static void test_truncated(void)
{
    static const char head[] = "{" T("a", "I16", "[2,2]", "0", "8") "}";
    unsigned char file[200];
    size_t n = (size_t)io_get(file_of(head, 8), file, sizeof file);
    int refused = 0;
    for (size_t cut = 0; cut < n; cut++) {
        nd_safetensors *f = (nd_safetensors *)file;
        refused += nd_safetensors_open(io_put("t", file, cut), &f) == ND_ERR_FORMAT && !f;
    }
    is_int(refused, n, "cut at every byte");
    n = (size_t)io_get(file_of(head, 9), file, sizeof file);
    nd_safetensors *f;
    io_fails(nd_safetensors_open(io_path("s"), &f), ND_ERR_FORMAT, "belong to none", "a byte more");
}

static void test_malformed(void)
{
#define A T("a", "U8", "[2]", "0", "2")
    static const struct {
        const char *header, *word;
    } cases[] = {
        {"", "expected '{'"},
        {" {" A "}", "expected '{'"},
        {"[]", "expected '{'"},
        {"{", "ends within"},
        {"{" A, "expected ','"},
        {"{" A "} x", "nothing more"},
        {"{" A ",}", "expected a text"},
        {"{,}", "expected a text"},
        {"{\"a\" 1}", "expected ':'"},
        {"{'a':1}", "expected a text"},
        {"{\"a\":1}", "expected an object"},
        {"{\"a\":{}}", "needs"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2]}}", "needs"},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
         "twice"},
        {"{\"a\":{\"dtype\":8,\"shape\":[2],\"data_offsets\":[0,2]}}", "expected a text"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":2,\"data_offsets\":[0,2]}}", "expected an array"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0]}}", "two integers"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2,2]}}", "two integers"},
        {"{" A "," A "}", "same name"},
        {"{" A "," T("\\u0061", "U8", "[0]", "2", "2") "}", "same name"},
        {"{" T("a", "U8", "[2.0]", "0", "2") "}", "integer"},
        {"{" T("a", "U8", "[2e0]", "0", "2") "}", "integer"},
        {"{" T("a", "U8", "[02]", "0", "2") "}", "integer"},
        {"{" T("a", "U8", "[+2]", "0", "2") "}", "integer"},
        {"{" T("a", "U8", "[\"2\"]", "0", "2") "}", "integer"},
        {"{" T("a", "U8", "[-2]", "0", "2") "}", "negative"},
        {"{" T("a", "U8", "[2,]", "0", "2") "}", "integer"},
        {"{" T("a", "U8", "[2 1]", "0", "2") "}", "','"},
        {"{" T("a", "U8", "[9223372036854775808]", "0", "2") "}", "64 bits"},
        {"{" T("a", "U8", "[4294967296,4294967296]", "0", "2") "}", "63 bits"},
        {"{" T("a", "F64", "[2305843009213693952]", "0", "2") "}", "63 bits"},
        {"{" T("a", "U8", "[3]", "0", "2") "}", "shape and dtype"},
        {"{" T("a", "U16", "[2]", "0", "2") "}", "shape and dtype"},
        {"{" T("a", "U8", "[2]", "2", "0") "}", "end before"},
        {"{" T("a", "U8", "[2]", "-1", "1") "}", "negative"},
        {"{" T("a", "U8", "[3]", "0", "3") "}", "cut short"},
        {"{" T("a", "U8", "[1]", "1", "2") "}", "hole"},
        {"{" T("a", "U8", "[0]", "1", "1") "," T("b", "U8", "[2]", "0", "2") "}", "overlap"},
        {"{" A "," T("b", "U8", "[1]", "1", "2") "}", "overlap"},
        {"{" T("a", "U8", "[1]", "0", "1") "}", "belong to none"},
        {"{}", "belong to none"},
        {"{\"__metadata__\":{\"k\":1}," A "}", "expected a text"},
        {"{\"__metadata__\":[]," A "}", "expected an object"},
        {"{\"__metadata__\":{\"k\":\"v\",\"k\":\"v\"}," A "}", "twice"},
        {"{\"__metadata__\":{},\"__metadata__\":{}," A "}", "twice"},
        {"{\"\\x\":1}", "escape"},
        {"{\"\\u00\":1}", "escape"},
        {"{\"\\u0000\":1}", "NUL"},
        {"{\"\\ud800\":1}", "escape"},
        {"{\"\\udc00\":1}", "escape"},
        {"{\"\\ud800\\u0041\":1}", "escape"},
        {"{\"\xFF\":1}", "UTF-8"},
        {"{\"\xC0\x80\":1}", "UTF-8"},
        {"{\"\xED\xA0\x80\":1}", "UTF-8"},
        {"{\"\xF5\x80\x80\x80\":1}", "UTF-8"},
        {"{\"\xE2\x82\":1}", "UTF-8"},
        {"{\"a\n\":1}", "control"},
        {"{\"a", "within quotes"},
        {"{\"a\":{\"x\":01}}", "expected a value"},
        {"{\"a\":{\"x\":1.}}", "digit"},
        {"{\"a\":{\"x\":1e}}", "digit"},
        {"{\"a\":{\"x\":tru}}", "expected a value"},
        {"{\"a\":{\"x\":-}}", "expected a value"},
        {"{\"a\":{\"x\":NaN}}", "expected a value"},
    };
    static char deep[3000];
    nd_safetensors *f = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        io_fails(nd_safetensors_open(file_of(cases[i].header, 2), &f), ND_ERR_FORMAT, cases[i].word,
                 cases[i].word);
    strcpy(deep, "{\"a\":{\"x\":");
    memset(deep + strlen(deep), '[', 2000);
    io_fails(nd_safetensors_open(file_of(deep, 2), &f), ND_ERR_FORMAT, "deeply", "2000 brackets");
    strcpy(deep, "{\"a\":{\"shape\":[");
    for (int i = 0; i < 65; i++)
        strcat(deep, "1,");
    io_fails(nd_safetensors_open(file_of(deep, 2), &f), ND_ERR_FORMAT, "64 axes", "65 axes");
    io_put("h", "\0\xE1\xF5\x05\0\0\0\0{", 9);
    io_fails(nd_safetensors_open(io_path("h"), &f), ND_ERR_FORMAT, "lacks", "100 MB of header");
    io_put("h", "\1\xE1\xF5\x05\0\0\0\0{", 9);
    io_fails(nd_safetensors_open(io_path("h"), &f), ND_ERR_FORMAT, "above 100000000", "and more");
    io_put("h", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{", 9);
    io_fails(nd_safetensors_open(io_path("h"), &f), ND_ERR_FORMAT, "above", "2^64 - 1");
}

static void test_many(void)
{
    enum { N = 20000 };
    static char names[N][12];
    static nd_named_array arrays[N];
    nd_array *a = io_array(ND_U8, 1, (int64_t[]){1}, "q"), *b = NULL;
    nd_safetensors *f = NULL;
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "%d", i * 7919 % N);
        arrays[i] = (nd_named_array){names[i], a};
    }
    is_int(nd_safetensors_save(io_path("many"), N, arrays, NULL, NULL), ND_OK, "20000 arrays");
    is_int(nd_safetensors_open(io_path("many"), &f), ND_OK, "are opened");
    is_int(nd_safetensors_count(f), N, "all of them");
    is_str(nd_safetensors_name(f, 3), names[3], "in their order");
    io_fails(nd_safetensors_load(f, "none", NULL, &b), ND_ERR_INDEX, "more",
             "an unknown name lists some of them");
    nd_safetensors_close(f);
    nd_release(a);
}

static void test_arguments(void)
{
    nd_array *a = io_array(ND_U8, 1, (int64_t[]){2}, "xy"), *b = NULL;
    nd_array *c = io_array(ND_C128, 1, (int64_t[]){1}, "0123456789abcdef");
    nd_named_array twice[] = {{"a", a}, {"a", a}}, bad = {"\xFF", a}, key = {"__metadata__", a};
    nd_named_array c128 = {"c", c}, none = {"n", NULL}, nameless = {NULL, a}, good = {"a", a};
    const char *const half[] = {"k", NULL}, *const same[] = {"k", "1", "k", "2", NULL};
    const char *const latin[] = {"k", "\xE9", NULL};
    const char *path = io_path("arguments");
    nd_safetensors *f = NULL;
#define SAVE(n, arrays, metadata) nd_safetensors_save(path, n, arrays, metadata, NULL)
    io_fails(SAVE(2, twice, NULL), ND_ERR_ARGUMENT, "twice", "a name twice");
    io_fails(SAVE(1, &bad, NULL), ND_ERR_ARGUMENT, "UTF-8", "a name that is not UTF-8");
    io_fails(SAVE(1, &key, NULL), ND_ERR_ARGUMENT, "__metadata__", "the reserved name");
    io_fails(SAVE(1, &c128, NULL), ND_ERR_DTYPE, "C64", "c128");
    io_fails(SAVE(1, &none, NULL), ND_ERR_ARGUMENT, "arrays[0].array", "no array");
    io_fails(SAVE(1, &nameless, NULL), ND_ERR_ARGUMENT, "arrays[0].name", "no name");
    io_fails(SAVE(1, NULL, NULL), ND_ERR_ARGUMENT, "NULL", "no arrays");
    io_fails(SAVE(-1, NULL, NULL), ND_ERR_ARGUMENT, "negative", "fewer than none");
    io_fails(SAVE(1, &good, half), ND_ERR_ARGUMENT, "no value", "a key without value");
    io_fails(SAVE(1, &good, same), ND_ERR_ARGUMENT, "twice", "a key twice");
    io_fails(SAVE(1, &good, latin), ND_ERR_ARGUMENT, "UTF-8", "a value that is not UTF-8");
    ok(access(path, F_OK) != 0, "none of these made a file");
    io_fails(nd_safetensors_open(path, &f), ND_ERR_IO, "arguments", "a file that is not there");
    io_fails(nd_safetensors_open(NULL, &f), ND_ERR_ARGUMENT, "path", "no path");
    io_fails(nd_safetensors_load(NULL, "a", NULL, &b), ND_ERR_ARGUMENT, "file", "no file");
    nd_safetensors_close(NULL);
    nd_release(a);
    nd_release(c);
}

TAP_MAIN({"bytes", test_bytes}, {"round_trips", test_round_trips}, {"names", test_names},
         {"order", test_order}, {"truncated", test_truncated}, {"malformed", test_malformed},
         {"many", test_many}, {"arguments", test_arguments})
