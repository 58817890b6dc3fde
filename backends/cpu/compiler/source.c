/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A program's text becomes a library: from the kernel cache, or by the compiler. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compiler/compiler.h"

typedef struct {
    const char *compiler, *name, *source, *options;
} job;

static int32_t compile(void *arg, ndh_compiled *out)
{
    const job *j = arg;
    const int32_t status =
        cpu_compile(j->compiler, j->source, j->options, &out->code, &out->nbytes, &out->log);
    if (status == NDP_ERR_ARGUMENT)
        return cpu_error(NDP_ERR_ARGUMENT, "%s does not compile by %s: %s", j->name, j->compiler,
                         out->log ? out->log : "it left no object");
    return status;
}

static unsigned long long header_hash;
static pthread_once_t hashed = PTHREAD_ONCE_INIT;

/* The header is part of what was compiled. FNV-1a, for telling versions apart alone; once, since it
 * takes as long as a fifth of all else where the kernel comes from its file. */
static void hash_header(void)
{
    header_hash = 0xcbf29ce484222325u;
    for (const char *p = cpu_kernel_header; *p; p++)
        header_hash = (header_hash ^ (unsigned char)*p) * 0x100000001b3u;
}

static int32_t open_code(const job *j, const void *code, uint64_t nbytes, void **library)
{
    char why[400];
    *library = cpu_object_open(code, nbytes, why, sizeof why);
    return *library ? NDP_OK
                    : cpu_error(NDP_ERR_UNSUPPORTED, "%s was compiled, but cannot be opened: %s",
                                j->name, why);
}

static int32_t open_cached(const job *j, const char *stamp, const ndh_kernel_1 *cache,
                           void **library)
{
    char version[80];
    const void *code;
    uint64_t nbytes;
    ndh_code *kept = NULL;
    pthread_once(&hashed, hash_header);
    snprintf(version, sizeof version, "ndock-cpu %s %016llx", PACKAGE_VERSION, header_hash);
    ndh_kernel_key key = {.size = sizeof key,
                          .source = j->source,
                          .options = j->options,
                          .arch = cpu_isa_name(),
                          .compiler = stamp,
                          .library = version};
    int32_t status =
        cache->get(cpu_host->ctx, &key, 0, compile, (void *)(uintptr_t)j, &kept, &code, &nbytes);
    if (status == NDP_OK)
        status = open_code(j, code, nbytes, library);
    cache->release(cpu_host->ctx, kept);
    return status;
}

int32_t cpu_compiler_open(const ndp_module_source *s, void **library)
{
    char stamp[4200];
    const ndh_kernel_1 *cache = cpu_host->size >= NDP_END(ndp_host, service) && cpu_host->service
                                    ? cpu_host->service(cpu_host->ctx, "ndh.kernel/1")
                                    : NULL;
    char *compiler = cpu_compiler(stamp, sizeof stamp);
    const job j = {compiler, s->name, s->code, s->options};
    int32_t status;
    *library = NULL;
    if (!compiler)
        return cpu_error(NDP_ERR_UNSUPPORTED,
                         "%s is C, and there is no compiler for it (%s): install gcc or clang, or "
                         "name one by NDOCK_CPU_CC",
                         s->name, cpu_set.cc ? cpu_set.cc : "auto");
    if (cache) {
        status = open_cached(&j, stamp, cache, library);
    } else {
        ndh_compiled made = {.size = sizeof made};
        status = compile((void *)(uintptr_t)&j, &made);
        if (status == NDP_OK)
            status = open_code(&j, made.code, made.nbytes, library);
        cpu_host->free(cpu_host->ctx, made.code);
        cpu_host->free(cpu_host->ctx, made.log);
    }
    free(compiler);
    return status;
}
