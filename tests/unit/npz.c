/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * .npz archives: what is written is read, and archives that lie are refused with what is wrong.
 * NumPy and zipfile are the judges of the format in tests/python/test_npz.py. */
#include <dlfcn.h>
#include <stdbool.h>
#include "tests/unit/io_files.h"

static const int64_t shape23[] = {2, 3};
static int no_zlib;

/* Stands before libc's, for the library as well: without zlib when asked. */
__attribute__((visibility("default"))) void *dlopen(const char *name, int flags)
{
    static void *(*real)(const char *, int);
    if (!real) {
        void *symbol = dlsym(RTLD_NEXT, "dlopen");
        memcpy(&real, &symbol, sizeof symbol);
    }
    return no_zlib && name && strcmp(name, "libz.so.1") == 0 ? NULL : real(name, flags);
}

/* First of all cases, since zlib once opened stays open. */
static void without_zlib(void)
{
    float v[6] = {1};
    nd_array *a = io_array(ND_F32, 2, shape23, v);
    nd_named_array named[] = {{"a", a}};
    no_zlib = 1;
    io_fails(nd_npz_save(io_path("z.npz"), 1, named, 6, NULL), ND_ERR_UNSUPPORTED, "zlib1g",
             "without zlib nothing is deflated");
    is_int(nd_npz_save(io_path("z.npz"), 1, named, 0, NULL), ND_OK, "but stored");
    no_zlib = 0;
    nd_release(a);
}

static nd_array *numbers(nd_dtype dtype, int ndim, const int64_t *shape)
{
    unsigned char bytes[4096];
    io_fill(dtype, bytes, sizeof bytes);
    return io_array(dtype, ndim, shape, bytes);
}

static nd_status one(const char *path, const char *name, nd_array **out)
{
    nd_npz *f = NULL;
    nd_status status = nd_npz_open(path, &f);
    *out = NULL;
    if (status == ND_OK)
        status = nd_npz_load(f, name, NULL, out);
    nd_npz_close(f);
    return status;
}

/* Every dtype in three shapes, stored and deflated; those that NumPy has no name for are opaque in
 * the file (V1, V2), so the reader is told which they are. */
static void round_trips(void)
{
    static const char kinds[ND_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = numpy,
#include <ndock/dtype.def>
    };
    static const int64_t shapes[][2] = {{0, 0}, {4, 5}, {0, 3}};
    static const int ndims[] = {0, 2, 2};
    const char *path = io_path("all.npz");
    for (int32_t level = 0; level <= 9; level += 3) {
        nd_named_array named[3 * ND_DTYPE_END];
        char names[3 * ND_DTYPE_END][32];
        int n = 0;
        for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
            for (int s = 0; s < 3; s++, n++) {
                snprintf(names[n], sizeof names[n], "folder/%s-%d", nd_dtype_name(d), s);
                named[n] = (nd_named_array){names[n], numbers(d, ndims[s], shapes[s])};
            }
        is_int(nd_npz_save(path, n, named, level, NULL), ND_OK, "saved");
        nd_npz *f = NULL;
        is_int(nd_npz_open(path, &f), ND_OK, "opened");
        is_int(nd_npz_count(f), n, "with as many arrays");
        int same = 0;
        for (int i = 0; i < n; i++) {
            nd_array *a = NULL;
            unsigned char want[4096];
            nd_dtype d = nd_dtype_of(named[i].array);
            io_fill(d, want, sizeof want);
            nd_status status = nd_npz_load_as(f, names[i], kinds[d] == 'V' ? d : 0, NULL, &a);
            same += status == ND_OK && strcmp(nd_npz_name(f, i), names[i]) == 0 &&
                    io_is(a, d, ndims[i % 3], shapes[i % 3], want);
            nd_release(a);
            nd_release((nd_array *)(uintptr_t)named[i].array);
        }
        ok(same == n, "and each of them is the same, level %d", (int)level);
        nd_npz_close(f);
    }
}

static void names(void)
{
    const char *path = io_path("names.npz");
    nd_array *a = numbers(ND_F32, 2, shape23), *got = NULL;
    nd_named_array two[] = {{"w", a}, {"ä b", a}};
    nd_npz *f = NULL;
    ok(nd_npz_save(path, 2, two, 0, NULL) == ND_OK && nd_npz_open(path, &f) == ND_OK, "saved");
    is_str(nd_npz_name(f, 1), "ä b", "a name without .npy");
    ok(!nd_npz_name(f, 2) && !nd_npz_name(f, -1), "there is no third one");
    ok(nd_npz_load(f, "w.npy", NULL, &got) == ND_OK, "a name with .npy will do");
    nd_release(got);
    io_fails(nd_npz_load(f, "v", NULL, &got), ND_ERR_INDEX, "\"w\"", "others are named");
    nd_npz_close(f);
    const char *bad[] = {"", "../w", "a/../b", "a\\..", "\xff"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        two[1].name = bad[i];
        io_fails(nd_npz_save(path, 2, two, 0, NULL), ND_ERR_ARGUMENT, "the name", bad[i]);
    }
    two[1].name = "w";
    io_fails(nd_npz_save(path, 2, two, 0, NULL), ND_ERR_ARGUMENT, "same name", "a name twice");
    two[1].name = "a..b";
    is_int(nd_npz_save(path, 2, two, 0, NULL), ND_OK, "dots within a name are none of that");
    io_fails(nd_npz_save(path, 2, two, 10, NULL), ND_ERR_ARGUMENT, "level is 10", "no level");
    io_fails(nd_npz_save(path, -1, two, 0, NULL), ND_ERR_ARGUMENT, "n is -1", "a negative count");
    two[0].array = NULL;
    io_fails(nd_npz_save(path, 2, two, 0, NULL), ND_ERR_ARGUMENT, "array 0", "an array is NULL");
    is_int(nd_npz_save(path, 0, NULL, 0, NULL), ND_OK, "no array at all");
    ok(nd_npz_open(path, &f) == ND_OK && nd_npz_count(f) == 0, "is an archive too");
    nd_npz_close(f);
    nd_release(a);
}

/* An archive of one array "a" with bytes changed; central: counted from the directory's entry, else
 * from the file's start. */
typedef struct {
    bool central;
    int at, n;
    const char *bytes, *word, *what;
} change;

static unsigned char archive[2][4096];
static size_t archive_nbytes[2], entry[2]; /* stored, deflated; where the directory begins */

static void make_archives(void)
{
    nd_array *a = numbers(ND_F64, 2, shape23);
    for (int i = 0; i < 2; i++) {
        const char *path = io_path("one.npz");
        if (nd_npz_save(path, 1, &(nd_named_array){"a", a}, i ? 6 : 0, NULL) != ND_OK)
            bail("cannot save");
        archive_nbytes[i] = (size_t)io_get(path, archive[i], sizeof archive[i]);
        const unsigned char *end = archive[i] + archive_nbytes[i] - 22;
        entry[i] = end[16] | (size_t)end[17] << 8;
    }
    nd_release(a);
}

static void refused(int deflated, const change *c)
{
    unsigned char bytes[4096];
    nd_array *a = NULL;
    memcpy(bytes, archive[deflated], archive_nbytes[deflated]);
    memcpy(bytes + (c->central ? entry[deflated] : 0) + c->at, c->bytes, (size_t)c->n);
    const char *path = io_put("changed.npz", bytes, archive_nbytes[deflated]);
    nd_status status = one(path, "a", &a);
    if (status == ND_OK)
        nd_release(a);
    io_fails(status, ND_ERR_FORMAT, c->word, c->what);
}

static void lies(void)
{
    static const change both[] = {
        {true, 0, 4, "PK\1\3", "entry of the directory", "no entry"},
        {true, 16, 4, "\0\0\0\0", "", "another checksum in the directory"},
        {true, 28, 2, "\377\377", "beyond the directory", "a name that is too long"},
        {true, 30, 2, "\1\0", "", "an extra field that is not there"},
        {true, 42, 4, "\377\377\377\176", "not within the file", "a header beyond the end"},
        {true, 42, 4, "\1\0\0\0", "no header", "a header elsewhere"},
        {true, 10, 2, "\14\0", "method", "another method in the directory"},
        {true, 46, 1, "\0", "NUL", "a NUL in the name"},
        {true, 46, 2, "..", "", "a folder above"},
        {true, 46, 1, "\377", "UTF-8", "no UTF-8"},
        {false, 30, 1, "b", "another name", "two names"},
        {false, 26, 2, "\377\377", "not within the file", "a local name beyond the end"},
        {true, 20, 4, "\377\377\377\176", "not within the file", "more bytes than there are"},
    };
    static const change stored[] = {
        {true, 24, 4, "\1\0\0\0", "sizes", "another size"},
        {false, 14, 4, "\0\0\0\0", "checksum", "another checksum in the member's header"},
        {false, 130, 1, "\7", "", "a byte of the .npy header"},
        {false, 175, 1, "\7", "checksum", "a byte of an element"},
    };
    static const change deflated[] = {
        {true, 24, 4, "\377\377\377\176", "cannot hold", "a bomb's size"},
        {true, 24, 4, "\377\0\0\0", "promises", "another size than the header's"},
        {true, 24, 4, "\4\0\0\0", "", "a size within the header"},
        {true, 20, 4, "\4\0\0\0", "", "fewer compressed bytes"},
        {false, 36, 1, "\377", "", "no deflate"},
    };
    make_archives();
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof both / sizeof *both; k++)
            refused(i, &both[k]);
    for (size_t k = 0; k < sizeof stored / sizeof *stored; k++)
        refused(0, &stored[k]);
    for (size_t k = 0; k < sizeof deflated / sizeof *deflated; k++)
        refused(1, &deflated[k]);
}

/* Any prefix is refused, and any byte that is changed harms nobody. */
static void cuts_and_bytes(void)
{
    nd_array *a = NULL;
    int opened = 0, wrong = 0;
    for (int i = 0; i < 2; i++) {
        for (size_t n = 0; n < archive_nbytes[i]; n++)
            opened += one(io_put("cut.npz", archive[i], n), "a", &a) == ND_OK;
        for (size_t at = 0; at < archive_nbytes[i]; at++) {
            unsigned char bytes[4096];
            memcpy(bytes, archive[i], archive_nbytes[i]);
            bytes[at] ^= 0x41;
            nd_status status = one(io_put("byte.npz", bytes, archive_nbytes[i]), "a", &a);
            if (status != ND_OK)
                continue;
            unsigned char want[48];
            io_fill(ND_F64, want, sizeof want);
            wrong += !io_is(a, ND_F64, 2, shape23, want);
            nd_release(a);
        }
    }
    is_int(opened, 0, "no archive that is cut short can be read");
    is_int(wrong, 0, "no changed byte changes an element");
}

/* The directory names one member's bytes twice, and one name twice. */
static void twice(void)
{
    nd_array *a = numbers(ND_U8, 2, shape23);
    nd_npz *f = NULL;
    unsigned char bytes[4096];
    nd_named_array two[] = {{"a", a}, {"b", a}};
    const char *path = io_path("two.npz");
    is_int(nd_npz_save(path, 2, two, 0, NULL), ND_OK, "two arrays");
    size_t n = (size_t)io_get(path, bytes, sizeof bytes);
    const size_t first = bytes[n - 6] | (size_t)bytes[n - 5] << 8, second = first + 46 + 5;
    memset(bytes + second + 42, 0, 4);
    io_fails(nd_npz_open(io_put("overlap.npz", bytes, n), &f), ND_ERR_FORMAT, "",
             "members that share bytes");
    bytes[second + 46] = 'a';
    io_fails(nd_npz_open(io_put("overlap.npz", bytes, n), &f), ND_ERR_FORMAT, "overlaps",
             "the same member twice");
    (void)!nd_npz_save(path, 2, two, 0, NULL);
    n = (size_t)io_get(path, bytes, sizeof bytes);
    bytes[second + 46] = 'a';
    bytes[bytes[second + 42] + 256 * bytes[second + 43] + 30] = 'a';
    io_fails(nd_npz_open(io_put("same.npz", bytes, n), &f), ND_ERR_FORMAT, "same name",
             "two members of one name");
    bytes[n - 12] = 3; /* entries */
    io_fails(nd_npz_open(io_put("count.npz", bytes, n), &f), ND_ERR_FORMAT, "counts of entries",
             "two counts");
    nd_release(a);
}

static void others(void)
{
    nd_npz *f = NULL;
    nd_array *a = NULL;
    io_fails(nd_npz_open(io_put("no.npz", "hello", 5), &f), ND_ERR_FORMAT, "no zip archive",
             "five bytes");
    io_fails(nd_npz_open(io_put("no.npz", "", 0), &f), ND_ERR_FORMAT, "no zip archive", "no bytes");
    io_fails(nd_npz_open(io_path("absent.npz"), &f), ND_ERR_IO, "cannot open", "no file");
    is_int(nd_npz_count(NULL), 0, "nothing has no arrays");
    nd_npz_close(NULL);
    io_fails(nd_npz_load(NULL, "a", NULL, &a), ND_ERR_ARGUMENT, "NULL", "no archive");
    nd_array *x = numbers(ND_BF16, 2, shape23);
    is_int(nd_npz_save(io_path("bf16.npz"), 1, &(nd_named_array){"x", x}, 0, NULL), ND_OK, "bf16");
    io_fails(one(io_path("bf16.npz"), "x", &a), ND_ERR_DTYPE, "V2", "opaque elements are refused");
    nd_release(x);
}

/* A failed save leaves the file as it was. */
static void atomic(void)
{
    nd_array *a = numbers(ND_F32, 2, shape23);
    nd_npz *f = NULL;
    nd_named_array named[] = {{"a", a}, {"..", a}};
    const char *path = io_path("kept.npz");
    const int before = io_entries();
    ok(nd_npz_save(path, 1, named, 6, &(nd_save_opts){sizeof(nd_save_opts), 1}) == ND_OK &&
           nd_npz_save(path, 2, named, 6, NULL) != ND_OK,
       "a save that fails");
    ok(nd_npz_open(path, &f) == ND_OK && nd_npz_count(f) == 1, "leaves the file before it");
    nd_npz_close(f);
    is_int(io_entries(), before + 1, "and none beside it");
    nd_release(a);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {
        {"without_zlib", without_zlib},
        {"round_trips", round_trips},
        {"names", names},
        {"lies", lies},
        {"cuts_and_bytes", cuts_and_bytes},
        {"twice", twice},
        {"others", others},
        {"atomic", atomic},
    };
    return tap_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
