/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Stacks that hand the processor to each other without the kernel: swapcontext asks it about signals
 * twice a time, which was half of the seconds of the programs that emulate kernels. */
#ifndef NDOCK_TESTS_CUDA_FIBRE_H
#define NDOCK_TESTS_CUDA_FIBRE_H
/* The checked longjmp knows one stack alone. */
#undef _FORTIFY_SOURCE
#include <setjmp.h>
#include <stddef.h>
#include <ucontext.h>

/* All zeros for the stack of the program itself, which fibre_switch leaves before it comes back. */
struct fibre {
    ucontext_t begin;
    jmp_buf where;
    bool made, waits; /* at where */
};

/* run must not return; its last deed is to switch. */
static inline void fibre_make(struct fibre *f, char *stack, size_t nbytes, void (*run)(void))
{
    getcontext(&f->begin);
    f->begin.uc_stack.ss_sp = stack;
    f->begin.uc_stack.ss_size = nbytes;
    f->begin.uc_link = NULL;
    makecontext(&f->begin, run, 0);
    f->made = true;
    f->waits = false;
}

static inline void fibre_switch(struct fibre *from, struct fibre *to)
{
    if (_setjmp(from->where) != 0)
        return;
    from->waits = true;
    if (to->waits)
        _longjmp(to->where, 1);
    setcontext(&to->begin);
}
#endif
