/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Host memory that the plug-in takes by itself: this program's malloc comes before the C library's,
 * sees by the return address who calls, and can refuse. Sanitizers have a malloc themselves, and
 * other C libraries no second name for theirs. */
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "abi.h"

static uintptr_t code_begin, code_end;

static int find_code(struct dl_phdr_info *info, size_t size, void *file)
{
    char full[4096];
    (void)size;
    if (!info->dlpi_name || !realpath(info->dlpi_name, full) || strcmp(full, file) != 0)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
            continue;
        code_begin = info->dlpi_addr + ph->p_vaddr;
        code_end = code_begin + ph->p_memsz;
    }
    return 1;
}

void abi_own_code(const char *file)
{
    dl_iterate_phdr(find_code, (void *)(uintptr_t)file);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static atomic_llong total, fail_at;

static bool refuse(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (at < code_begin || at >= code_end)
        return false;
    atomic_fetch_add(&total, 1);
    return atomic_load(&fail_at) > 0 && atomic_fetch_sub(&fail_at, 1) == 1;
}

static void *none(void)
{
    errno = ENOMEM;
    return NULL;
}

#define EXPORTED __attribute__((visibility("default")))
EXPORTED void *malloc(size_t n)
{
    return refuse(__builtin_return_address(0)) ? none() : __libc_malloc(n);
}

EXPORTED void *calloc(size_t n, size_t each)
{
    return refuse(__builtin_return_address(0)) ? none() : __libc_calloc(n, each);
}

EXPORTED void *realloc(void *p, size_t n)
{
    return refuse(__builtin_return_address(0)) ? none() : __libc_realloc(p, n);
}

EXPORTED void *aligned_alloc(size_t align, size_t n)
{
    return refuse(__builtin_return_address(0)) ? none() : __libc_memalign(align, n);
}

EXPORTED int posix_memalign(void **out, size_t align, size_t n)
{
    void *p = refuse(__builtin_return_address(0)) ? NULL : __libc_memalign(align, n);
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

bool abi_own_seen(void)
{
    return code_end > code_begin;
}

int64_t abi_own_total(void)
{
    return atomic_load(&total);
}

void abi_own_fail_at(int64_t n)
{
    atomic_store(&fail_at, n);
}
#else
bool abi_own_seen(void)
{
    return false;
}

int64_t abi_own_total(void)
{
    return 0;
}

void abi_own_fail_at(int64_t n)
{
    (void)n;
}
#endif
