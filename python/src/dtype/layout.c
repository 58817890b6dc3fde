/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How elements lie in memory, in the terms of others: formats of the buffer protocol (PEP 3118),
 * the kinds of NumPy's array interface, byte orders, and sizes. */
#include "python/src/dtype/dtype.h"

static bool is_little_endian(void)
{
    const union {
        uint16_t word;
        uint8_t byte;
    } probe = {1};
    return probe.byte;
}

bool py_is_swapped(char order)
{
    if (order == '>' || order == '!')
        return is_little_endian();
    return order == '<' && !is_little_endian();
}

nd_dtype py_dtype_of_kind(char kind, Py_ssize_t itemsize)
{
    static const char kinds[ND_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = numpy,
#include <ndock/dtype.def>
    };
    for (nd_dtype d = 1; d < ND_DTYPE_END && kind != 'V'; d++)
        if (kinds[d] == kind && nd_dtype_get(d)->nbytes == itemsize)
            return d;
    return 0;
}

/* The format's letter gives the kind, the item's size the rest. */
nd_dtype py_dtype_of_format(const char *format, Py_ssize_t itemsize, bool *swapped)
{
    static const char *const kinds[] = {"b?", "ibhilqn", "uBHILQN", "fefd"};
    const char *f = format ? format : "B";
    *swapped = itemsize > 1 && py_is_swapped(*f);
    f += *f && strchr("@=<>!^", *f) != NULL;
    if (*f == 'Z' && f[1] && strchr("fd", f[1]) && !f[2])
        return py_dtype_of_kind('c', itemsize);
    if (!*f || f[1])
        return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strchr(kinds[i] + 1, *f))
            return py_dtype_of_kind(kinds[i][0], itemsize);
    return 0;
}

const char *py_format_of_dtype(nd_dtype dtype)
{
    static const char *const formats[ND_DTYPE_END] = {
        [ND_BOOL] = "?", [ND_I8] = "b",  [ND_I16] = "h",  [ND_I32] = "i",
        [ND_U8] = "B",   [ND_U16] = "H", [ND_U32] = "I",  [ND_F16] = "e",
        [ND_F32] = "f",  [ND_F64] = "d", [ND_C64] = "Zf", [ND_C128] = "Zd"};
    if (dtype == ND_I64)
        return sizeof(long) == 8 ? "l" : "q"; /* what NumPy calls int64 itself */
    if (dtype == ND_U64)
        return sizeof(long) == 8 ? "L" : "Q";
    return formats[dtype];
}

int64_t py_nbytes(nd_dtype dtype, int ndim, const int64_t *shape)
{
    int64_t nbytes = (int64_t)nd_dtype_size(dtype);
    for (int i = 0; i < ndim; i++)
        if (shape[i] == 0)
            return 0;
    for (int i = 0; i < ndim; i++)
        if (__builtin_mul_overflow(nbytes, shape[i], &nbytes))
            return -1;
    return nbytes;
}
