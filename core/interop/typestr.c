/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Typestrs: dtypes as the array interfaces of Python name them. Source: NumPy, "The array interface
 * protocol". */
#include <stdio.h>
#include <stdlib.h>
#include "core/interop/interop.h"

static const char kinds[ND_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = numpy,
#include <ndock/dtype.def>
};

/* The dtype of a kind's letter, which is not V, and the bytes of an element; 0: there is none. */
static nd_dtype dtype_of(char kind, int64_t nbytes)
{
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
        if (kinds[d] == kind && nd__itemsize(d) == nbytes)
            return d;
    return 0;
}

static char native_order(void)
{
    const uint16_t one = 1;
    return *(const char *)&one ? '<' : '>';
}

nd_status nd_typestr(nd_dtype dtype, char out[8])
{
    ND_NEED("typestr", 1, out);
    memset(out, 0, 8);
    ND_RETURN_IF(nd__check_dtype("typestr", dtype));
    int nbytes = (int)nd_dtype_size(dtype);
    if (kinds[dtype] == 'V')
        return nd__fail(
            ND_ERR_DTYPE, "typestr", 0,
            "no typestr says %s (\"<f2\" is float16); use DLPack, or the vendor's dtype "
            "names (ND_CAI_VENDOR_DTYPES)",
            nd_dtype_name(dtype));
    snprintf(out, 8, "%c%c%d", nbytes == 1 ? '|' : native_order(), kinds[dtype], nbytes);
    return ND_OK;
}

static nd_status malformed(const char *typestr)
{
    return nd__fail(ND_ERR_DTYPE, "typestr", 0,
                    "\"%.20s\" is no typestr: it is byte order, kind and bytes an element, as "
                    "\"<f4\"",
                    typestr);
}

static nd_status vendor_dtype(const char *name, int64_t nbytes, nd_dtype *out)
{
    for (nd_dtype d = 1; d < ND_DTYPE_END && name; d++)
        if (strcmp(nd_dtype_name(d), name) == 0 && nd__itemsize(d) == nbytes) {
            *out = d;
            return ND_OK;
        }
    return nd__fail(ND_ERR_DTYPE, "typestr", 0,
                    "elements of %lld bytes of kind V are of no dtype here%s%.15s%s; ndock's own "
                    "exports name it beside, as \"bf16\"",
                    (long long)nbytes, name && name[0] ? ", nor is \"" : "",
                    name && name[0] ? name : "", name && name[0] ? "\" one of them" : "");
}

/* Of one to three digits; -1: t has another form. */
static int64_t itemsize_of(const char *t)
{
    int64_t nbytes = 0;
    int n = 0;
    if (!t[0] || !strchr("<>|=", t[0]) || !t[1])
        return -1;
    for (; n < 3 && t[2 + n] >= '0' && t[2 + n] <= '9'; n++)
        nbytes = 10 * nbytes + (t[2 + n] - '0');
    return n > 0 && !t[2 + n] ? nbytes : -1;
}

nd_status nd_dtype_of_typestr(const char *t, const char *vendor, nd_dtype *out)
{
    ND_OUT("dtype_of_typestr", 2, out, 0);
    const char *typestr = t;
    ND_NEED("dtype_of_typestr", 0, typestr);
    const int64_t nbytes = itemsize_of(t);
    if (nbytes < 0)
        return malformed(t);
    if (t[1] == 'V')
        return vendor_dtype(vendor, nbytes, out);
    bool foreign = t[0] != '=' && t[0] != native_order() && !(t[0] == '|' && nbytes == 1);
    const nd_dtype dtype = dtype_of(t[1], nbytes);
    if (!dtype)
        return nd__fail(ND_ERR_DTYPE, "typestr", 0, "\"%s\" is of no dtype here", t);
    if (foreign && nbytes > 1)
        return nd__fail(ND_ERR_DTYPE, "typestr", 0,
                        "\"%s\" is not in this machine's byte order (\"%c%s\"); convert where "
                        "it comes from",
                        t, native_order(), t + 1);
    *out = dtype;
    return ND_OK;
}
