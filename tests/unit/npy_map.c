/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Mapped .npy files: the array is the file, in three modes; what cannot be mapped is refused. */
#include "tests/unit/io_files.h"

static const int64_t shape23[] = {2, 3};

/* A .npy file with this dictionary and these elements. */
static const char *put(const char *dict, const void *data, size_t nbytes)
{
    unsigned char file[1024] = "\x93NUMPY\x01";
    const size_t header = 128;
    memset(file + 10, ' ', header - 10);
    memcpy(file + 10, dict, strlen(dict));
    file[header - 1] = '\n';
    file[8] = (unsigned char)(header - 10);
    memcpy(file + header, data, nbytes);
    return io_put("put.npy", file, header + nbytes);
}

static float element(const char *path, int i)
{
    nd_array *a = NULL;
    float v[6] = {0};
    if (nd_npy_load(path, NULL, &a) != ND_OK || nd_to_host(a, v, sizeof v) != ND_OK)
        bail("cannot read it again");
    nd_release(a);
    return v[i];
}

static void modes(void)
{
    const float v[] = {1, 2, 3, 4, 5, 6};
    const char *path = io_path("modes.npy");
    nd_array *a = io_array(ND_F32, 2, shape23, v), *m = NULL;
    is_int(nd_npy_save(path, a, NULL), ND_OK, "saved");
    is_int(nd_npy_map(path, ND_MAP_READ, 0, NULL, &m), ND_OK, "mapped");
    ok(io_is(m, ND_F32, 2, shape23, v), "it is the file's array");
    is_int(nd_is_readonly(m), 1, "and read-only");
    io_fails(nd_fill(m, nd_int(0)), ND_ERR_READONLY, "read-only", "so that nothing writes it");
    nd_release(m);
    is_int(nd_npy_map(path, ND_MAP_PRIVATE, 0, NULL, &m), ND_OK, "mapped with private pages");
    ok(nd_fill(m, nd_int(9)) == ND_OK && element(path, 0) == 1, "writes stay in memory");
    nd_release(m);
    is_int(nd_npy_map(path, ND_MAP_WRITE, 0, NULL, &m), ND_OK, "mapped for writing");
    nd_array *view = NULL;
    ok(nd_transpose(m, &view) == ND_OK, "a view");
    nd_release(m); /* the view keeps the mapping */
    ok(nd_fill(view, nd_int(9)) == ND_OK && element(path, 5) == 9, "writes go into the file");
    nd_release(view);
    is_int(element(path, 0) == 9, 1, "and stay there");
    io_fails(nd_npy_map(path, 3, 0, NULL, &m), ND_ERR_ARGUMENT, "mode is 3", "no mode");
    chmod(path, 0444);
    if (geteuid() != 0)
        io_fails(nd_npy_map(path, ND_MAP_WRITE, 0, NULL, &m), ND_ERR_IO, "writing",
                 "a file that is write-protected");
    nd_release(a);
}

/* A file that is replaced meanwhile stays as it was for who has mapped it. */
static void replaced(void)
{
    const float v[] = {1, 2, 3, 4, 5, 6}, other[] = {7, 7, 7, 7, 7, 7};
    const char *path = io_path("replaced.npy");
    nd_array *a = io_array(ND_F32, 2, shape23, v), *b = io_array(ND_F32, 2, shape23, other),
             *m = NULL;
    ok(nd_npy_save(path, a, NULL) == ND_OK && nd_npy_map(path, ND_MAP_READ, 0, NULL, &m) == ND_OK &&
           nd_npy_save(path, b, NULL) == ND_OK,
       "mapped, then replaced");
    ok(io_is(m, ND_F32, 2, shape23, v), "the mapping is of the old file");
    nd_release_all(3, (nd_array *[]){a, b, m});
}

static void layouts(void)
{
    const int32_t v[] = {0, 1, 2, 3, 4, 5}, turned[] = {0, 2, 4, 1, 3, 5};
    nd_array *m = NULL;
    const char *path =
        put("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }", v, sizeof v);
    is_int(nd_npy_map(path, ND_MAP_READ, 0, NULL, &m), ND_OK, "Fortran order");
    ok(io_is(m, ND_I32, 2, shape23, turned) && nd_strides(m)[0] == 1 && nd_strides(m)[1] == 2,
       "is strides");
    nd_release(m);
    path = put("{'descr': '<i4', 'fortran_order': False, 'shape': (), }", v + 3, 4);
    ok(nd_npy_map(path, ND_MAP_WRITE, 0, NULL, &m) == ND_OK && io_is(m, ND_I32, 0, NULL, v + 3),
       "an array without axes");
    nd_release(m);
    path = put("{'descr': '<i4', 'fortran_order': True, 'shape': (0, 3), }", v, 0);
    ok(nd_npy_map(path, ND_MAP_PRIVATE, 0, NULL, &m) == ND_OK && nd_size(m) == 0, "no elements");
    nd_release(m);
    path = put("{'descr': '|V2', 'fortran_order': False, 'shape': (3,), }", v, 6);
    io_fails(nd_npy_map(path, ND_MAP_READ, 0, NULL, &m), ND_ERR_DTYPE, "V2", "opaque elements");
    ok(nd_npy_map(path, ND_MAP_READ, ND_BF16, NULL, &m) == ND_OK && nd_dtype_of(m) == ND_BF16,
       "which may be bf16");
    nd_release(m);
    path = put("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\0\1\1", 3);
    ok(nd_npy_map(path, ND_MAP_READ, 0, NULL, &m) == ND_OK, "truth values");
    nd_release(m);
}

static void refused(void)
{
    const double v[] = {1, 2, 3};
    nd_array *m = NULL;
    const char *path =
        put("{'descr': '>f8', 'fortran_order': False, 'shape': (3,), }", v, sizeof v);
    io_fails(nd_npy_map(path, ND_MAP_READ, 0, NULL, &m), ND_ERR_FORMAT, "byte order", "big-endian");
    path = put("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\0\2\1", 3);
    io_fails(nd_npy_map(path, ND_MAP_READ, 0, NULL, &m), ND_ERR_FORMAT, "truth value",
             "a bool of 2");
    path = put("{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", v, sizeof v);
    io_fails(nd_npy_map(path, ND_MAP_READ, 0, NULL, &m), ND_ERR_FORMAT, "lack 8",
             "one element short");
    path =
        put("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", v, 0);
    io_fails(nd_npy_map(path, ND_MAP_READ, 0, NULL, &m), ND_ERR_FORMAT, "63 bits", "2^67 bytes");
    static const char odd[] =
        "\x93NUMPY\x01\0\x3a\0{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}   \n........";
    io_fails(nd_npy_map(io_put("odd.npy", odd, sizeof odd - 1), ND_MAP_READ, 0, NULL, &m),
             ND_ERR_FORMAT, "multiple of 8", "elements at an odd place");
    io_fails(nd_npy_map(io_path("absent.npy"), ND_MAP_READ, 0, NULL, &m), ND_ERR_IO, "cannot open",
             "no file");
    io_fails(nd_npy_map(io_put("none.npy", "", 0), ND_MAP_WRITE, 0, NULL, &m), ND_ERR_FORMAT,
             "not a .npy", "no bytes");
    nd_device *sim = NULL;
    if (nd_device_get("sim:0", &sim) != ND_OK) {
        skip(1, "no sim");
        return;
    }
    path = put("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", v, sizeof v);
    io_fails(nd_npy_map(path, ND_MAP_READ, 0, sim, &m), ND_ERR_DEVICE, "sim:0",
             "a device with memory of its own");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {
        {"modes", modes}, {"replaced", replaced}, {"layouts", layouts}, {"refused", refused}};
    return tap_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
