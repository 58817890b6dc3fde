/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Visibility, attributes and language glue of every public header. */
#ifndef NDOCK_BASE_H
#define NDOCK_BASE_H
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ND_API __attribute__((visibility("default")))
#define ND_MUST_USE __attribute__((warn_unused_result))
#define ND_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define ND_API
#define ND_MUST_USE
#define ND_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
#define ND_BEGIN_DECLS extern "C" {
#define ND_END_DECLS }
#else
#define ND_BEGIN_DECLS
#define ND_END_DECLS
#endif

#define ND_MAX_NDIM 64
#define ND_NO_AXES (-1) /* naxes of an options struct: no axis at all, where 0 means all */

typedef int32_t nd_status; /* ND_OK or ND_ERR_* of status.h */
typedef int32_t nd_dtype;  /* ND_F32 ... of dtype.h; 0 = by the operation's rule */
typedef int32_t nd_op;     /* ND_OP_add ... of op.h */

typedef struct nd_array nd_array;   /* counted: nd_retain, nd_release */
typedef struct nd_device nd_device; /* immortal, compare pointers */
typedef struct nd_stream
    nd_stream; /* counted; NULL: the current stream of the operation's device */

#endif
