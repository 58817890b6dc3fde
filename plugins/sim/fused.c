/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.fused/1": programs that the CPU plug-in compiles, their calls copied and queued like
 * those of its kernels. */
#include <stdio.h>
#include "simulator.h"

static int32_t compile(ndp_dev *dev, const ndp_program *program, const ndp_kernel **out, char *why,
                       size_t n)
{
    sim_call c = {.entry = SIM_find, .dev = dev, .op = "expression"};
    const ndp_kernel *inner = NULL;
    int32_t status = sim_enter(&c);
    *out = NULL;
    if (status == NDP_OK && !sim_cpu_fused) {
        snprintf(why, n, "the cpu plug-in has no group ndp.fused/1");
        status = NDP_ERR_UNSUPPORTED;
    }
    if (status == NDP_OK)
        status = sim_cpu_fused->compile(sim_cpu_dev, program, &inner, why, n);
    if (status == NDP_OK && (*out = sim_wrap_kernel(dev, inner)) == NULL) {
        sim_cpu_fused->discard(sim_cpu_dev, inner);
        status = sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a kernel");
    }
    return sim_leave(&c, status);
}

/* The wrapper stays in the device's list: it serves whatever kernel has the address next. */
static void discard(ndp_dev *dev, const ndp_kernel *kernel)
{
    (void)dev;
    sim_cpu_fused->discard(sim_cpu_dev, sim_inner_kernel(kernel));
}

/* As devices do that read rows 16 bytes at a time, sim takes them where that can be. */
static int32_t takes(ndp_dev *dev, const ndp_kernel *kernel, const ndp_call *call)
{
    (void)dev;
    for (uint32_t i = 0; i < call->n_in; i++)
        if (call->in[i].mem &&
            ((uintptr_t)call->in[i].mem->address + (uintptr_t)call->in[i].offset_bytes) % 16)
            return NDP_ERR_UNSUPPORTED;
    return sim_cpu_fused->takes(sim_cpu_dev, sim_inner_kernel(kernel), call);
}

const ndp_fused_1 sim_fused_group = {
    .size = sizeof(ndp_fused_1), .compile = compile, .discard = discard, .takes = takes};
