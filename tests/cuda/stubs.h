/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * For tests of the CUDA plug-in on libraries that only pretend: a folder of them, and processes
 * that are started with it in their path. */
#ifndef NDOCK_TESTS_CUDA_STUBS_H
#define NDOCK_TESTS_CUDA_STUBS_H
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/tap.h"

static char here[512], folder[600], answer[4096];

enum {
    NO_DRIVER = 1,
    NO_NVML = 2,
    SYSTEM = 4,
    NO_BLASLT = 8,
    NO_CUFFT = 16,
    NO_CUSOLVER = 32,
    NO_NCCL = 64,
    NO_CUDNN = 128
};
enum { STUBS = 12 };
static const struct {
    const char *soname, *file;
    int absent; /* the flag of ask() that takes it away */
} stubs[STUBS] = {{"libcuda.so.1", "libcudastub.so", NO_DRIVER},
                  {"libnvidia-ml.so.1", "libnvmlstub.so", NO_NVML},
                  {"libcublasLt.so.13", "libblasltstub.so", NO_BLASLT},
                  {"libcufft.so.12", "libcufftstub.so", NO_CUFFT},
                  {"libcufft.so.11", "libcufftstub.so", NO_CUFFT},
                  {"libcusolver.so.12", "libcusolverstub.so", NO_CUSOLVER},
                  {"libcusolver.so.11", "libcusolverstub.so", NO_CUSOLVER},
                  {"libcublas.so.13", "libcusolverstub.so", NO_CUSOLVER},
                  {"libcublas.so.12", "libcusolverstub.so", NO_CUSOLVER},
                  {"libnccl.so.2", "libncclstub.so", NO_NCCL},
                  {"libcudnn.so.9", "libcudnnstub.so", NO_CUDNN},
                  {"libnvrtc.so.13", "libnvrtcstub.so", 0}};

/* How many of the kernels that the pretended driver has were never launched, by its function of this name, and the names
 * of the first; -1: there is no such function. */
static inline int idle_kernels(const char *function, const char **name)
{
    int (*idle)(const char **);
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&idle = library ? dlsym(library, function) : NULL;
    return idle ? idle(name) : -1;
}

/* A link to nothing would be passed over, and the search go on to the machine's own driver. */
static const char *missing_stub(void)
{
    static char path[700];
    for (int i = 0; i < STUBS; i++) {
        snprintf(path, sizeof path, "%s/tests/cuda/.libs/%s", here, stubs[i].file);
        if (access(path, R_OK) != 0)
            return path;
    }
    return NULL;
}

static void place(const char *name, const char *stub, int broken)
{
    char path[700], target[700];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(target, sizeof target, "%s/tests/cuda/.libs/%s", here, stub);
    unlink(path);
    FILE *f = broken ? fopen(path, "w") : NULL; /* an empty file is no library */
    if (f)
        fclose(f);
    else if (symlink(target, path) != 0)
        bail("no link to a stub library");
}

static void child(char *const *settings, int what)
{
    char path[4096];
    const char *before = getenv("LD_LIBRARY_PATH");
    if (!(what & SYSTEM)) {
        snprintf(path, sizeof path, "%s%s%s", folder, before ? ":" : "", before ? before : "");
        setenv("LD_LIBRARY_PATH", path, 1);
    }
    snprintf(path, sizeof path, "%s/backends/cpu/.libs:%s/backends/cuda/.libs", here, here);
    setenv("NDOCK_PLUGIN_PATH", path, 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    for (; *settings; settings++)
        putenv(*settings);
    execl("/proc/self/exe", "look", "--look", (char *)NULL);
    _exit(99);
}

/* What the pretending library counts under that name; -1: it is not loaded. */
__attribute__((unused)) static int counted(const char *soname, const char *name)
{
    void *library = dlopen(soname, RTLD_NOW | RTLD_NOLOAD);
    const int *n = library ? dlsym(library, name) : NULL;
    return n ? *n : -1;
}

/* What a process of this program, started with --look on such a machine, prints: in answer. */
static void ask(char *const *settings, int what)
{
    int ends[2];
    size_t n = 0;
    for (int i = 0; i < STUBS; i++)
        place(stubs[i].soname, stubs[i].file, what & stubs[i].absent);
    fflush(NULL);
    if (pipe(ends) != 0)
        bail("no pipe");
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        child(settings, what);
    }
    close(ends[1]);
    for (ssize_t got = 1; got > 0 && n<sizeof answer - 1; n += got> 0 ? (size_t)got : 0)
        got = read(ends[0], answer + n, sizeof answer - 1 - n);
    answer[n] = 0;
    close(ends[0]);
    waitpid(pid, NULL, 0);
}
#define MACHINE(...) ((char *[]){__VA_ARGS__, NULL})

static int stubs_main(int argc, char **argv, const tap_case *cases, int n)
{
    char path[700];
    const char *tmp = getenv("TMPDIR"), *lacking;
    if (!getcwd(here, sizeof here))
        bail("no current folder");
    if ((lacking = missing_stub()) != NULL) {
        printf("1..0 # SKIP %s is not built: make check builds it\n", lacking);
        return 0;
    }
    snprintf(folder, sizeof folder, "%s/ndock-stubs-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        bail("no folder for the stub libraries");
    int status = tap_main(argc, argv, cases, n);
    for (int i = 0; i < STUBS; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, stubs[i].soname);
        unlink(path);
    }
    rmdir(folder);
    return status;
}
#endif
