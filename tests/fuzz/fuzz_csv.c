/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: text as numbers of every dtype, and formats of rows. The first bytes choose the
 * options; what is read is written, and read again as the same bytes. */
#include "tests/fuzz/fuzz.h"

/* The array's shortest text is read as the same elements, NaN's bits apart. */
static void again(nd_array *a, nd_dtype dtype)
{
    char *text = NULL, *second = NULL;
    nd_array *b = NULL;
    const nd_csv_opts o = {.size = sizeof o, .dtype = dtype};
    if (nd_csv_text(a, NULL, &text) != ND_OK)
        abort();
    if (nd_size(a) > 0) {
        if (nd_csv_read(text, strlen(text), &o, NULL, &b) != ND_OK ||
            nd_csv_text(b, NULL, &second) != ND_OK || strcmp(text, second) != 0)
            abort();
        nd_release(b);
    }
    free(text);
    free(second);
}

static void formats(const nd_array *a, const uint8_t *data, size_t size)
{
    char format[64], *text = NULL;
    const size_t n = size < sizeof format - 1 ? size : sizeof format - 1;
    memcpy(format, data, n);
    format[n] = 0;
    const nd_csv_save_opts o = {.size = sizeof o, .format = format};
    nd_status status = nd_csv_text(a, &o, &text);
    if ((status == ND_OK) != (text != NULL))
        abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const delimiters[] = {NULL, "", ";", "::"};
    static const int64_t columns[] = {0, -1};
    if (size < 2)
        return 0;
    nd_csv_opts o = {.size = sizeof o,
                     .dtype = 1 + data[0] % (ND_DTYPE_END - 1),
                     .delimiter = delimiters[data[1] & 3],
                     .comments = data[1] & 4 ? "%\n//" : NULL,
                     .skip_rows = data[1] >> 3 & 1,
                     .max_rows = data[1] & 16 ? 3 : 0,
                     .quote = data[1] & 32 ? '"' : 0};
    if (data[1] & 64) {
        o.columns = columns;
        o.n_columns = 2;
    }
    nd_array *a = NULL;
    nd_status status = nd_csv_read(data + 2, size - 2, &o, NULL, &a);
    if (a) {
        again(a, o.dtype);
        formats(a, data + 2, size - 2);
    }
    fuzz_result(status, a);
    return 0;
}
