/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The host's table, which the entry sets, its service of libraries, and what the tables of the
 * headers say of ops, once for all files. */
#include <stdio.h>
#include "host/backend.h"

const ndp_host *cuda_host;

int32_t cuda_open_library(const ndh_library *library, void *out)
{
    const ndh_library_1 *service = cuda_host->service(cuda_host->ctx, "ndh.library/1");
    return service ? service->open(cuda_host->ctx, library, out)
                   : cuda_error(NDP_ERR_UNSUPPORTED, "this ndock opens no vendor libraries");
}

int32_t cuda_optional_open(cuda_optional *o)
{
    pthread_mutex_lock(&o->lock);
    if (o->status == NDP_ERR_NOT_READY) {
        o->status = o->open() == NDP_OK ? NDP_OK : NDP_ERR_UNSUPPORTED;
        if (o->status != NDP_OK && o->without)
            cuda_host->log(cuda_host->ctx, o->level, "%s", o->without);
    }
    const int32_t status = o->status;
    pthread_mutex_unlock(&o->lock);
    return status;
}

int32_t cuda_version_text(int result, int version, char *text, size_t n)
{
    const int v = result == 0 ? version : 0;
    snprintf(text, n, "%d.%d.%d", v / 1000, v % 1000 / 100, v % 100);
    return NDP_OK;
}

int32_t cuda_op_class(int32_t op)
{
    return ndp_op_class(op);
}

const char *cuda_op_name(int32_t op)
{
    return ndp_op_name(op);
}

/* The dtypes that kernels compute in, and those that they move and convert alone. */
static uint64_t known_dtypes(void)
{
    return ndp_dtypes_of_kinds(NDP_DOMAIN_BIUFC | NDP_KIND_FLOAT8);
}

int cuda_knows(int32_t dtype)
{
    return dtype > 0 && known_dtypes() >> dtype & 1;
}

uint64_t cuda_domain_dtypes(int32_t op)
{
    return ndp_op_dtypes(op) & known_dtypes();
}

int32_t cuda_unsupported(const ndp_call *like, char *why, size_t n)
{
    snprintf(why, n, "the CUDA plug-in has no kernel for %s (op %d) with dtype %d",
             cuda_op_name(like->op), (int)like->op, (int)ndp_call_dtype(like));
    return NDP_ERR_UNSUPPORTED;
}
