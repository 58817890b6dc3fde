/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A libnvrtc.so.13 that compiles nothing: STUB_NVRTC_ARCHS are the architectures that it knows, the
 * machine code and the PTX that it makes are its options as text, and source with the word "wrong"
 * has a mistake in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

enum { OK = 0, COMPILATION = 6, ROOM = 512 };
typedef struct {
    char log[ROOM], machine[ROOM], ptx[ROOM];
    int wrong;
} program;

int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return OK;
}

const char *nvrtcGetErrorString(int result);
const char *nvrtcGetErrorString(int result)
{
    return result == COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_SUCCESS";
}

int nvrtcCreateProgram(program **, const char *source, const char *name, int n,
                       const char *const *headers, const char *const *names);
int nvrtcCreateProgram(program **out, const char *source, const char *name, int n,
                       const char *const *headers, const char *const *names)
{
    (void)name, (void)n, (void)headers, (void)names;
    *out = calloc(1, sizeof **out);
    if (*out)
        (*out)->wrong = strstr(source, "wrong") != NULL;
    return *out ? OK : 1;
}

int nvrtcDestroyProgram(program **p);
int nvrtcDestroyProgram(program **p)
{
    free(*p);
    *p = NULL;
    return OK;
}

int nvrtcCompileProgram(program *p, int n, const char *const *options);
int nvrtcCompileProgram(program *p, int n, const char *const *options)
{
    char all[ROOM / 2] = "";
    for (int i = 0; i < n; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), " %s", options[i]);
    snprintf(p->machine, ROOM, "machine code%s", all);
    snprintf(p->ptx, ROOM, "ptx%s", all);
    snprintf(p->log, ROOM, "%s", p->wrong ? "line 3: \"wrong\" is undefined" : "");
    return p->wrong ? COMPILATION : OK;
}

/* A text's size counts its end. */
#define TEXT(size_name, get_name, field)    \
    int size_name(program *p, size_t *out); \
    int size_name(program *p, size_t *out)  \
    {                                       \
        *out = strlen(p->field) + 1;        \
        return OK;                          \
    }                                       \
    int get_name(program *p, char *out);    \
    int get_name(program *p, char *out)     \
    {                                       \
        strcpy(out, p->field);              \
        return OK;                          \
    }
TEXT(nvrtcGetProgramLogSize, nvrtcGetProgramLog, log)
TEXT(nvrtcGetCUBINSize, nvrtcGetCUBIN, machine)
TEXT(nvrtcGetPTXSize, nvrtcGetPTX, ptx)

static int read_archs(int *out)
{
    const char *text = getenv("STUB_NVRTC_ARCHS");
    int n = 0;
    for (char *end; text && *text; text = *end ? end + 1 : end, n++) {
        long arch = strtol(text, &end, 10);
        if (out)
            out[n] = (int)arch;
    }
    return n;
}

int nvrtcGetNumSupportedArchs(int *n);
int nvrtcGetNumSupportedArchs(int *n)
{
    *n = read_archs(NULL);
    return OK;
}

int nvrtcGetSupportedArchs(int *archs);
int nvrtcGetSupportedArchs(int *archs)
{
    (void)read_archs(archs);
    return OK;
}
