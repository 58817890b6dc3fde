/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * CUDA C++ compiled by NVRTC, for the exact device where it knows that, and kept by the core's
 * kernel cache. NDOCK_CUDA_DUMP_DIR=FOLDER writes every source that is compiled there. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "host/nvrtc.h"

/* Its header may be missing where the driver's is there, so the few that are needed are declared
 * here. */
typedef int nvrtc_result;
typedef struct nvrtc_program_ *nvrtc_program;
typedef struct {
    nvrtc_result (*version)(int *major, int *minor);
    const char *(*error_text)(nvrtc_result);
    nvrtc_result (*create)(nvrtc_program *, const char *source, const char *name, int n_headers,
                           const char *const *headers, const char *const *names);
    nvrtc_result (*destroy)(nvrtc_program *);
    nvrtc_result (*compile)(nvrtc_program, int n, const char *const *options);
    nvrtc_result (*log_size)(nvrtc_program, size_t *);
    nvrtc_result (*log)(nvrtc_program, char *);
    nvrtc_result (*cubin_size)(nvrtc_program, size_t *);
    nvrtc_result (*cubin)(nvrtc_program, char *);
    nvrtc_result (*ptx_size)(nvrtc_program, size_t *);
    nvrtc_result (*ptx)(nvrtc_program, char *);
    nvrtc_result (*n_archs)(int *);
    nvrtc_result (*archs)(int *);
} functions;

enum {
    OK = 0,
    OUT_OF_MEMORY = 1,
    COMPILATION = 6,
    MAX_OPTIONS = 64,
    MAX_HEADERS = 64,
    MAX_ARCHS = 128 /* of cuda_nvrtc_known */
};

static int32_t version_text(const void *table, char *text, size_t n)
{
    int major = 0, minor = 0;
    ((const functions *)table)->version(&major, &minor);
    snprintf(text, n, "%d.%d", major, minor);
    return NDP_OK;
}

static functions fn; /* whole once opened is set */
static int opened;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static int32_t open_library(functions *out)
{
    static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
    static const ndh_symbol symbols[] = {
        {"nvrtcVersion", offsetof(functions, version), 1},
        {"nvrtcGetErrorString", offsetof(functions, error_text), 1},
        {"nvrtcCreateProgram", offsetof(functions, create), 1},
        {"nvrtcDestroyProgram", offsetof(functions, destroy), 1},
        {"nvrtcCompileProgram", offsetof(functions, compile), 1},
        {"nvrtcGetProgramLogSize", offsetof(functions, log_size), 1},
        {"nvrtcGetProgramLog", offsetof(functions, log), 1},
        {"nvrtcGetCUBINSize", offsetof(functions, cubin_size), 1},
        {"nvrtcGetCUBIN", offsetof(functions, cubin), 1},
        {"nvrtcGetPTXSize", offsetof(functions, ptx_size), 1},
        {"nvrtcGetPTX", offsetof(functions, ptx), 1},
        {"nvrtcGetNumSupportedArchs", offsetof(functions, n_archs), 1},
        {"nvrtcGetSupportedArchs", offsetof(functions, archs), 1},
    };
    static const ndh_library library = {
        .size = sizeof library,
        .n_sonames = sizeof sonames / sizeof *sonames,
        .n_symbols = sizeof symbols / sizeof *symbols,
        .name = "NVRTC",
        .install = "install the CUDA toolkit's libnvrtc (Debian and Ubuntu: cuda-nvrtc-13-0), or "
                   "put its folder into LD_LIBRARY_PATH",
        .sonames = sonames,
        .symbols = symbols,
        .version = version_text,
    };
    return cuda_open_library(&library, out);
}

static int32_t need_library(void)
{
    pthread_mutex_lock(&open_lock);
    int32_t status = opened ? NDP_OK : open_library(&fn);
    opened = status == NDP_OK;
    pthread_mutex_unlock(&open_lock);
    return status;
}

/* ---- what to compile for ---- */
/* The file that the functions are of. */
static void describe_file(cuda_nvrtc_known *k)
{
    Dl_info info;
    struct stat st;
    void *function;
    memcpy(&function, &fn.version, sizeof function);
    if (!dladdr(function, &info) || !info.dli_fname || strlen(info.dli_fname) >= sizeof k->path ||
        info.dli_fname[0] != '/' || stat(info.dli_fname, &st) != 0)
        return;
    snprintf(k->path, sizeof k->path, "%s", info.dli_fname);
    k->nbytes = (uint64_t)st.st_size;
    k->inode = (uint64_t)st.st_ino;
    k->seconds = (int64_t)st.st_mtim.tv_sec;
    k->nanoseconds = (int64_t)st.st_mtim.tv_nsec;
}

int32_t cuda_nvrtc_describe(cuda_nvrtc_known *k)
{
    int count = 0;
    int32_t status = need_library();
    memset(k, 0, sizeof *k);
    if (status != NDP_OK)
        return status;
    if (fn.n_archs(&count) != OK || count < 1 || count > MAX_ARCHS || fn.archs(k->arch) != OK)
        return cuda_error(NDP_ERR_UNSUPPORTED, "NVRTC does not say what it compiles for");
    k->n_archs = count;
    snprintf(k->version, sizeof k->version, "nvrtc ");
    version_text(&fn, k->version + 6, sizeof k->version - 6);
    describe_file(k);
    return NDP_OK;
}

/* Machine code for the device itself, or PTX of the newest architecture below it. */
static int32_t choose_arch(const ndp_dev *dev, const cuda_nvrtc_known *k, char *arch, size_t n,
                           int *ptx)
{
    int best = 0;
    for (int i = 0; i < k->n_archs; i++)
        if (k->arch[i] <= dev->capability && k->arch[i] > best)
            best = k->arch[i];
    if (best == 0)
        return cuda_error(NDP_ERR_UNSUPPORTED,
                          "this NVRTC compiles for compute capability %d.%d and above, cuda:%u has "
                          "%d.%d: install an older CUDA toolkit's libnvrtc",
                          k->arch[0] / 10, k->arch[0] % 10, dev->index, dev->capability / 10,
                          dev->capability % 10);
    *ptx = best != dev->capability;
    snprintf(arch, n, "%s_%d", *ptx ? "compute" : "sm", best);
    return NDP_OK;
}

/* ---- compiling: called by the kernel cache ---- */
typedef struct {
    const char *name, *source, *options, *arch, *compiler;
    int ptx, other; /* other: another NVRTC was opened than the key names */
    const cuda_nvrtc_headers *headers;
} job;

/* Cuts text, in place, at its blanks. */
static int split(char *text, const char **out, int n, int most)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t\n", &rest); word && n < most;
         word = strtok_r(NULL, " \t\n", &rest))
        out[n++] = word;
    return n;
}

/* A copy of one of the program's texts; NULL if there is none, or no memory. */
static char *text_of(nvrtc_program p, nvrtc_result (*size)(nvrtc_program, size_t *),
                     nvrtc_result (*get)(nvrtc_program, char *), uint64_t *nbytes)
{
    size_t n = 0;
    char *text = NULL;
    *nbytes = 0;
    if (size(p, &n) == OK && n > 0)
        text = cuda_host->alloc(cuda_host->ctx, n + 1, 16);
    if (!text)
        return NULL;
    if (get(p, text) != OK) {
        cuda_host->free(cuda_host->ctx, text);
        return NULL;
    }
    text[n] = 0;
    *nbytes = n;
    return text;
}

static int32_t compile_failed(const job *j, nvrtc_result r, const char *log)
{
    if (r == COMPILATION)
        return cuda_error(NDP_ERR_ARGUMENT, "%s does not compile for %s: %s", j->name, j->arch,
                          log ? log : "NVRTC gave no log");
    return cuda_error(r == OUT_OF_MEMORY ? NDP_ERR_MEMORY : NDP_ERR_ARGUMENT,
                      "%s does not compile for %s: %s (options \"%s\")", j->name, j->arch,
                      log && log[0] ? log : fn.error_text(r), j->options);
}

static int32_t compile_program(const job *j, nvrtc_program p, ndh_compiled *out)
{
    char arch[64], options[2048];
    const char *list[MAX_OPTIONS];
    uint64_t n;
    if (strlen(j->options) >= sizeof options)
        return cuda_error(NDP_ERR_ARGUMENT, "%s: the options have %zu bytes; %zu are the most",
                          j->name, strlen(j->options), sizeof options - 1);
    snprintf(arch, sizeof arch, "--gpu-architecture=%s", j->arch);
    snprintf(options, sizeof options, "%s", j->options);
    list[0] = arch;
    nvrtc_result r = fn.compile(p, split(options, list, 1, MAX_OPTIONS), list);
    out->log = text_of(p, fn.log_size, fn.log, &n);
    if (r != OK)
        return compile_failed(j, r, out->log);
    out->code = j->ptx ? text_of(p, fn.ptx_size, fn.ptx, &out->nbytes)
                       : text_of(p, fn.cubin_size, fn.cubin, &out->nbytes);
    return out->code
               ? NDP_OK
               : cuda_error(NDP_ERR_MEMORY, "%s: NVRTC gave no code for %s", j->name, j->arch);
}

void cuda_dump_source(const char *name, const char *kind, const char *source)
{
    const char *folder = NULL;
    static atomic_uint number;
    char path[1024];
    cuda_host->param(cuda_host->ctx, "DUMP_DIR", NDP_PARAM_TEXT,
                     "folder for the sources that are compiled at run time", &folder);
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%u-%.64s.%s", folder, atomic_fetch_add(&number, 1), name, kind);
    FILE *f = strchr(name, '/') ? NULL : fopen(path, "we");
    int written = f && fputs(source, f) >= 0;
    if ((f && fclose(f) != 0) || !written)
        cuda_host->log(cuda_host->ctx, NDP_LOG_WARN, "the source of %s is not written to %s: %s",
                       name, path, strerror(errno));
}

static int32_t compile_texts(const job *j, const char *const *text, ndh_compiled *out)
{
    nvrtc_program p = NULL;
    const cuda_nvrtc_headers *h = j->headers;
    nvrtc_result r = fn.create(&p, j->source, j->name, h->n, text, h->name);
    if (r != OK)
        return compile_failed(j, r, NULL);
    int32_t status = compile_program(j, p, out);
    fn.destroy(&p);
    return status;
}

/* With the headers' short form, without what this kind of source never uses of the language, and
 * without passes of the optimiser that find nothing in it; of failures nothing is left. */
static int32_t compile_short(const job *j, ndh_compiled *out)
{
    const char *text[MAX_HEADERS];
    char *room = NULL, options[256];
    job quick = *j;
    int major = 0, minor = 0;
    if (!j->headers->shorten || j->headers->n > MAX_HEADERS ||
        !j->headers->shorten(j->source, text, &room))
        return NDP_ERR_UNSUPPORTED;
    fn.version(&major, &minor);
    snprintf(options, sizeof options, "%s -minimal%s", j->options,
             j->headers->simple && major >= 13 ? " --Ofast-compile=min" : "");
    quick.options = options;
    int32_t status = compile_texts(&quick, text, out);
    free(room);
    if (status != NDP_OK) {
        cuda_host->log(cuda_host->ctx, NDP_LOG_INFO, "%s: its short form does not compile: %s",
                       j->name, out->log ? out->log : "no log");
        if (out->log)
            cuda_host->free(cuda_host->ctx, out->log);
        out->log = NULL;
    }
    return status;
}

static int32_t compile(void *arg, ndh_compiled *out)
{
    job *j = arg;
    cuda_nvrtc_known is;
    int32_t status = cuda_nvrtc_describe(&is);
    if (status != NDP_OK)
        return status;
    j->other = strcmp(is.version, j->compiler) != 0;
    if (j->other) {
        cuda_nvrtc_correct(&is);
        return cuda_error(NDP_ERR_STATE, "%s was opened, %s was there before", is.version,
                          j->compiler);
    }
    cuda_dump_source(j->name, "cu", j->source);
    status = compile_short(j, out);
    return status == NDP_OK ? status : compile_texts(j, j->headers->text, out);
}

int32_t cuda_nvrtc_compile(const ndp_dev *dev, const char *name, const char *source,
                           const char *options, cuda_nvrtc_code *out)
{
    static const cuda_nvrtc_headers none;
    return cuda_nvrtc_compile_with(dev, name, source, options, &none, out);
}

static int32_t compile_by(const ndp_dev *dev, const ndh_kernel_1 *cache, job *j,
                          cuda_nvrtc_code *out)
{
    char arch[32];
    cuda_nvrtc_known known;
    int32_t status = cuda_nvrtc_find(&known);
    if (status == NDP_OK)
        status = choose_arch(dev, &known, arch, sizeof arch, &j->ptx);
    if (status != NDP_OK)
        return status;
    const ndh_kernel_key key = {.size = sizeof key,
                                .source = j->source,
                                .options = j->options,
                                .arch = arch,
                                .compiler = known.version,
                                .library = "ndock-cuda " PACKAGE_VERSION};
    j->arch = arch;
    j->compiler = known.version;
    j->other = 0;
    /* A failure that the cache remembers is told with its log. */
    return cache->get(cuda_host->ctx, &key, 0, compile, j, &out->kept, &out->code, &out->nbytes);
}

int32_t cuda_nvrtc_compile_with(const ndp_dev *dev, const char *name, const char *source,
                                const char *options, const cuda_nvrtc_headers *headers,
                                cuda_nvrtc_code *out)
{
    const ndh_kernel_1 *cache = cuda_host->service(cuda_host->ctx, "ndh.kernel/1");
    job j = {.name = name, .source = source, .options = options, .headers = headers};
    if (!cache)
        return cuda_error(NDP_ERR_UNSUPPORTED, "this ndock keeps no compiled kernels");
    int32_t status = compile_by(dev, cache, &j, out);
    return status != NDP_OK && j.other ? compile_by(dev, cache, &j, out) : status;
}

void cuda_nvrtc_release(cuda_nvrtc_code *code)
{
    const ndh_kernel_1 *cache = cuda_host->service(cuda_host->ctx, "ndh.kernel/1");
    if (cache)
        cache->release(cuda_host->ctx, code->kept);
    code->kept = NULL;
}
