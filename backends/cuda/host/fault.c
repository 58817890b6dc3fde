/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Failures of streams that the driver does not know of: work that NCCL was told to give up leaves its
 * stream in order, and its results in none. Whoever waits for the stream next is told. */
#include <stdio.h>
#include <stdlib.h>
#include "host/backend.h"

typedef struct fault {
    CUstream stream;
    char why[400];
    struct fault *next;
} fault;
static fault *faults;
static atomic_int some; /* how many: nobody takes the lock where there are none */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static fault *take(CUstream stream)
{
    pthread_mutex_lock(&lock);
    fault **at = &faults, *found;
    while (*at && (*at)->stream != stream)
        at = &(*at)->next;
    found = *at;
    if (found) {
        *at = found->next;
        atomic_fetch_sub(&some, 1);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void cuda_stream_fault(CUstream stream, const char *why)
{
    fault *f = take(stream); /* the latest is told */
    if (!f && (f = malloc(sizeof *f)) == NULL)
        return;
    f->stream = stream;
    snprintf(f->why, sizeof f->why, "%s", why);
    pthread_mutex_lock(&lock);
    f->next = faults;
    faults = f;
    atomic_fetch_add(&some, 1);
    pthread_mutex_unlock(&lock);
}

int32_t cuda_stream_look(CUstream stream)
{
    fault *f = atomic_load(&some) ? take(stream) : NULL;
    if (!f)
        return NDP_OK;
    const int32_t status =
        cuda_host->error(cuda_host->ctx, NDP_ERR_ASYNC, NDP_ERR_COMM, "%s", f->why);
    free(f);
    return status;
}

void cuda_stream_forget(CUstream stream)
{
    if (atomic_load(&some))
        free(take(stream));
}
