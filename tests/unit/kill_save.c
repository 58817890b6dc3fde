/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What kill_save.sh kills: saves the network of the Fashion-MNIST job over and over, version after
 * version; or once, with --once; or, with --check, says whether a file holds one whole version. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ndock/ndock.h>

static const int64_t shapes[4][2] = {{784, 128}, {128, 1}, {128, 10}, {10, 1}};
static const char *const names[4] = {"w1", "b1", "w2", "b2"};

static int complain(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, nd_last_error()->message);
    return 1;
}

/* Every element of every tensor is the version. */
static int save(const char *path, int version)
{
    nd_named_array tensors[4] = {{0}};
    nd_status status = ND_OK;
    for (int i = 0; i < 4 && status == ND_OK; i++) {
        nd_array *a = NULL;
        status = nd_full(NULL, ND_F32, 2, shapes[i], nd_int(version), &a);
        tensors[i] = (nd_named_array){names[i], a};
    }
    if (status == ND_OK)
        status = nd_safetensors_save(path, 4, tensors, NULL, NULL);
    for (int i = 0; i < 4; i++)
        nd_release((nd_array *)tensors[i].array);
    return status == ND_OK ? 0 : complain("saving");
}

static int same_everywhere(const nd_array *a, float version)
{
    size_t n = (size_t)nd_size(a);
    float *values = malloc(n * sizeof *values);
    int same = values && nd_to_host(a, values, n * sizeof *values) == ND_OK;
    for (size_t i = 0; same && i < n; i++)
        same = values[i] == version;
    free(values);
    return same;
}

static int first_value(const nd_array *a, float *out)
{
    const nd_index at[2] = {nd_at(0), nd_at(0)};
    nd_scalar value = {0};
    nd_array *one = NULL;
    int fine = nd_slice(a, at, 2, &one) == ND_OK && nd_item(one, &value) == ND_OK;
    nd_release(one);
    *out = (float)value.v.f;
    return fine;
}

static int check(const char *path)
{
    nd_safetensors *file;
    float version = 0, first;
    int whole = 1;
    if (nd_safetensors_open(path, &file) != ND_OK)
        return complain("opening");
    for (int i = 0; i < 4 && whole; i++) {
        nd_array *a = NULL;
        whole = nd_safetensors_load(file, names[i], NULL, &a) == ND_OK && first_value(a, &first);
        version = i == 0 ? first : version;
        whole = whole && same_everywhere(a, version);
        nd_release(a);
    }
    nd_safetensors_close(file);
    if (!whole)
        fprintf(stderr, "not the tensors of one version (%s)\n", nd_last_error()->message);
    return !whole;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--check") == 0)
        return check(argv[2]);
    if (argc == 3 && strcmp(argv[1], "--once") == 0)
        return save(argv[2], 1);
    for (int version = 1; argc == 2; version++)
        if (save(argv[1], version) != 0)
            return 1;
    return 2;
}
