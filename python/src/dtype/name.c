/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a text means as a dtype: the array API's names, and NumPy's names and codes (its manual,
 * "Data type objects"). The short names of ndock's C interface are refused, because "i8" has eight
 * bits there and eight bytes in NumPy. */
#include <string.h>
#include "python/src/dtype/dtype.h"

static const struct {
    const char *text;
    nd_dtype dtype;
} codes[] = {{"?", ND_BOOL},   {"b1", ND_BOOL},       {"bool_", ND_BOOL},  {"b", ND_I8},
             {"i1", ND_I8},    {"h", ND_I16},         {"i2", ND_I16},      {"i", ND_I32},
             {"i4", ND_I32},   {"l", ND_I64},         {"q", ND_I64},       {"i8", ND_I64},
             {"int", ND_I64},  {"longlong", ND_I64},  {"intc", ND_I32},    {"B", ND_U8},
             {"u1", ND_U8},    {"H", ND_U16},         {"u2", ND_U16},      {"I", ND_U32},
             {"u4", ND_U32},   {"L", ND_U64},         {"Q", ND_U64},       {"u8", ND_U64},
             {"uint", ND_U64}, {"ulonglong", ND_U64}, {"e", ND_F16},       {"f2", ND_F16},
             {"half", ND_F16}, {"f", ND_F32},         {"f4", ND_F32},      {"single", ND_F32},
             {"d", ND_F64},    {"f8", ND_F64},        {"double", ND_F64},  {"float", ND_F64},
             {"F", ND_C64},    {"c8", ND_C64},        {"csingle", ND_C64}, {"D", ND_C128},
             {"c16", ND_C128}, {"cdouble", ND_C128},  {"complex", ND_C128}};

/* Finds a standard name or a code; 0 for any other text. */
static nd_dtype known(const char *text)
{
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
        if (strcmp(text, nd_dtype_get(d)->standard) == 0)
            return d;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(text, codes[i].text) == 0)
            return codes[i].dtype;
    return 0;
}

static void refuse(const char *text)
{
    static const char names[] =
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) ", " standard
#include <ndock/dtype.def>
        ;
    nd_dtype dtype;
    if (*text == '>' && known(text + 1)) {
        PyErr_Format(PyExc_TypeError,
                     "dtype '%s' is big-endian; elements of ndock's arrays are in the machine's "
                     "byte order: say '%s'",
                     text, text + 1);
    } else if (nd_dtype_parse(text, &dtype) == ND_OK) {
        const char *name = nd_dtype_get(dtype)->standard;
        PyErr_Format(PyExc_TypeError,
                     "'%s' is a name of ndock's C interface, which counts bits where NumPy's codes "
                     "count bytes: say '%s', or ndock.%s",
                     text, name, name);
    } else {
        PyErr_Format(PyExc_TypeError,
                     "'%s' is no dtype of ndock; say ndock.float32, 'float32' or NumPy's 'f4' (%s)",
                     text, names + 2);
    }
}

nd_dtype py_dtype_known(const char *text)
{
    bool prefixed = *text == '<' || *text == '=' || *text == '|';
    return known(text + prefixed);
}

int py_dtype_named(const char *text, nd_dtype *out)
{
    *out = py_dtype_known(text);
    if (*out == 0)
        refuse(text);
    return *out ? 0 : -1;
}
