/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Code made of the rows of op.def whose class is asked for, and nothing of the others, so that
 * nobody lists the classes. The includer names a macro for each class it wants, and undefines these
 * names afterwards:
 *
 *     #define ND_EXPAND_UNARY ND_EXPAND_BY(WRAP_ONE)
 *     #define ND_EXPAND_BINARY ND_EXPAND_BY(WRAP_TWO)
 *     #include <ndock/op_expand.h>
 *     #undef ND_EXPAND_UNARY
 *     #undef ND_EXPAND_BINARY
 *
 * Each row of class UNARY becomes WRAP_ONE(name, DOMAIN, RESULT, ulp, doc), each of class BINARY
 * WRAP_TWO(the same). Where ND_EXPAND_KIND is defined, as one kind of dtype by its bit in
 * opdomain.def (bool 1, int 2, uint 4, float 8, complex 16), rows that are not legal for this kind
 * become nothing as well; this header undefines it. For the common subset of C11, C++11 and
 * CUDA C++; deliberately no include guard around what expands. */
#ifndef NDOCK_OP_EXPAND_H
#define NDOCK_OP_EXPAND_H

/* ND_EXPAND_CHOOSE(NAME, other) is what ND_EXPAND_BY() gave the macro NAME; where there is no such
 * macro it is `other`, since NAME is then one argument and not two. ND_EXPAND_IF(NAME, then, other)
 * is `then` where NAME is a macro that stands for ND_EXPAND_YES. */
#define ND_EXPAND_BY(macro) ~, macro
#define ND_EXPAND_YES ~,
#define ND_EXPAND_SECOND_(a, b, ...) b
#define ND_EXPAND_SECOND(...) ND_EXPAND_SECOND_(__VA_ARGS__)
#define ND_EXPAND_CHOOSE(probe, other) ND_EXPAND_SECOND(probe, other, ~)
#define ND_EXPAND_IF(probe, then, other) ND_EXPAND_SECOND(probe then, other, ~)
#define ND_EXPAND_NOTHING(name, DOMAIN, RESULT, ulp, doc)
#endif

#ifdef ND_EXPAND_KIND
/* The domains that hold the kind: the numbers of opdomain.def. */
#if ND_EXPAND_KIND & 8
#define ND_EXPAND_IN_F ND_EXPAND_YES
#endif
#if ND_EXPAND_KIND & 24
#define ND_EXPAND_IN_FC ND_EXPAND_YES
#endif
#if ND_EXPAND_KIND & 6
#define ND_EXPAND_IN_IU ND_EXPAND_YES
#endif
#if ND_EXPAND_KIND & 7
#define ND_EXPAND_IN_BIU ND_EXPAND_YES
#endif
#if ND_EXPAND_KIND & 14
#define ND_EXPAND_IN_IUF ND_EXPAND_YES
#endif
#if ND_EXPAND_KIND & 15
#define ND_EXPAND_IN_BIUF ND_EXPAND_YES
#endif
#if ND_EXPAND_KIND & 30
#define ND_EXPAND_IN_IUFC ND_EXPAND_YES
#endif
#if ND_EXPAND_KIND & 31
#define ND_EXPAND_IN_BIUFC ND_EXPAND_YES
#endif
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc)                                            \
    ND_EXPAND_IF(ND_EXPAND_IN_##DOMAIN, ND_EXPAND_CHOOSE(ND_EXPAND_##CLASS, ND_EXPAND_NOTHING), \
                 ND_EXPAND_NOTHING)                                                             \
    (name, DOMAIN, RESULT, ulp, doc)
#else
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) \
    ND_EXPAND_CHOOSE(ND_EXPAND_##CLASS, ND_EXPAND_NOTHING)(name, DOMAIN, RESULT, ulp, doc)
#endif
#include <ndock/op.def>
#ifdef ND_EXPAND_KIND
#undef ND_EXPAND_KIND
#undef ND_EXPAND_IN_F
#undef ND_EXPAND_IN_FC
#undef ND_EXPAND_IN_IU
#undef ND_EXPAND_IN_BIU
#undef ND_EXPAND_IN_IUF
#undef ND_EXPAND_IN_BIUF
#undef ND_EXPAND_IN_IUFC
#undef ND_EXPAND_IN_BIUFC
#endif
