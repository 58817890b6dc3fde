/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a plug-in's author asks of the tables: facts of dtypes and ops by their ids, and small
 * questions about views and calls. Everything is static inline, for C and C++, and links nothing of
 * ndock. A file that asks for names of ops has a copy of them; plug-ins of many files ask in
 * one. */
#ifndef NDOCK_PLUGIN_FACTS_H
#define NDOCK_PLUGIN_FACTS_H
#include <ndock/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { /* kinds of dtypes, NDP_KIND_BOOL ...; an op's domain is a mask of them */
#define ND_DTYPE_KIND(NAME, bit, rank, word) NDP_KIND_##NAME = bit,
#include <ndock/opdomain.def>
};
enum { /* rules for an op's result; op.def describes them */
       NDP_RESULT_SAME = 1,
       NDP_RESULT_BOOL,
       NDP_RESULT_REAL,
       NDP_RESULT_INDEX,
       NDP_RESULT_SUM,
       NDP_RESULT_GIVEN
};
enum { /* domains of ops as masks of kinds; NDP_DOMAIN_BIUF ... */
#define ND_OP_DOMAIN(NAME, kinds) NDP_DOMAIN_##NAME = kinds,
#include <ndock/opdomain.def>
       NDP_DOMAIN_NONE = 0
};

/* ---- dtypes ---- */

/* Whether the id is one of the dtypes that were there when the plug-in was compiled. */
static inline int ndp_dtype_known(int32_t dtype)
{
    return dtype > 0 && dtype < NDP_DTYPE_END;
}

/* Bytes of an element of a known dtype. */
static inline int64_t ndp_dtype_size(int32_t dtype)
{
    static const uint8_t nbytes[NDP_DTYPE_END] = {
        0,
#define ND_DTYPE(NAME, id, size, KIND, name, standard, numpy, dlpack, doc) size,
#include <ndock/dtype.def>
    };
    return nbytes[dtype];
}

/* NDP_KIND_* of a dtype; 0 of one that is not known. */
static inline int32_t ndp_dtype_kind(int32_t dtype)
{
    static const uint8_t kinds[NDP_DTYPE_END] = {
        0,
#define ND_DTYPE(NAME, id, size, KIND, name, standard, numpy, dlpack, doc) NDP_KIND_##KIND,
#include <ndock/dtype.def>
    };
    return ndp_dtype_known(dtype) ? kinds[dtype] : 0;
}

/* A dtype's name, such as "f32"; "?" for one that is not known. */
static inline const char *ndp_dtype_name(int32_t dtype)
{
    static const char names[NDP_DTYPE_END][8] = {
        "?",
#define ND_DTYPE(NAME, id, size, KIND, name, standard, numpy, dlpack, doc) #name,
#include <ndock/dtype.def>
    };
    return names[ndp_dtype_known(dtype) ? dtype : 0];
}

/* The known dtypes whose kind is one of a mask's, as a mask of bits 1 << dtype. */
static inline uint64_t ndp_dtypes_of_kinds(int32_t kinds)
{
    uint64_t mask = 0;
    for (int32_t d = 1; d < NDP_DTYPE_END; d++)
        if (ndp_dtype_kind(d) & kinds)
            mask |= (uint64_t)1 << d;
    return mask;
}

/* ---- ops ---- */

/* Whether the id is a row of the op table that was there when the plug-in was compiled; ops that
 * programs register at run time are not. */
static inline int ndp_op_known(int32_t op)
{
    return op > NDP_OP_NONE && op < NDP_OP_END;
}

/* An op's name, such as "add"; "operation" for one that is not known. */
static inline const char *ndp_op_name(int32_t op)
{
    static const char names[NDP_OP_END][24] = {
        "operation",
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) #name,
#include <ndock/op.def>
    };
    return names[ndp_op_known(op) ? op : 0];
}

/* NDP_CLASS_* of an op; 0 of one that is not known. */
static inline int32_t ndp_op_class(int32_t op)
{
    static const uint8_t classes[NDP_OP_END] = {
        0,
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) NDP_CLASS_##CLASS,
#include <ndock/op.def>
    };
    return ndp_op_known(op) ? classes[op] : 0;
}

/* The kinds of dtypes that an op is legal for: bits NDP_KIND_*. */
static inline int32_t ndp_op_domain(int32_t op)
{
    static const uint8_t domains[NDP_OP_END] = {
        0,
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) NDP_DOMAIN_##DOMAIN,
#include <ndock/op.def>
    };
    return ndp_op_known(op) ? domains[op] : 0;
}

/* The dtypes that an op is legal for, as a mask of bits 1 << dtype. */
static inline uint64_t ndp_op_dtypes(int32_t op)
{
    return ndp_dtypes_of_kinds(ndp_op_domain(op));
}

/* NDP_RESULT_* of an op; 0 of one that is not known. */
static inline int32_t ndp_op_result(int32_t op)
{
    static const uint8_t results[NDP_OP_END] = {
        0,
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) NDP_RESULT_##RESULT,
#include <ndock/op.def>
    };
    return ndp_op_known(op) ? results[op] : 0;
}

/* The dtype of an op's result, by its rule, when it computes in dtype. Where the destination gives
 * it, that is dtype itself. */
static inline int32_t ndp_result_dtype(int32_t op, int32_t dtype)
{
    int32_t kind = ndp_dtype_kind(dtype);
    switch (ndp_op_result(op)) {
    case NDP_RESULT_BOOL:
        return NDP_BOOL;
    case NDP_RESULT_REAL:
        return dtype == NDP_C64 ? NDP_F32 : dtype == NDP_C128 ? NDP_F64 : dtype;
    case NDP_RESULT_INDEX:
        return NDP_I64;
    case NDP_RESULT_SUM:
        return kind & (NDP_KIND_BOOL | NDP_KIND_INT) ? NDP_I64
               : kind == NDP_KIND_UINT               ? NDP_U64
                                                     : dtype;
    default:
        return dtype;
    }
}

/* ---- views and calls ---- */

/* Elements of a view. */
static inline int64_t ndp_view_size(const ndp_view *v)
{
    int64_t n = 1;
    for (int32_t d = 0; d < v->ndim; d++)
        n *= v->shape[d];
    return n;
}

/* A stride without its direction; that of an extent of one may be -2^63. */
static inline uint64_t ndp_magnitude(int64_t stride)
{
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

/* The dtype that names a call: of the first input, or of the output where there is none. */
static inline int32_t ndp_call_dtype(const ndp_call *call)
{
    return call->n_in ? call->in[0].dtype : call->out[0].dtype;
}

#ifdef __cplusplus
}
#endif
#endif
