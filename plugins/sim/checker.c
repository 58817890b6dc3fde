/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The happens-before checker. */
#include <stdlib.h>
#include "simulator.h"
int32_t sim_checking;
void sim_clock_free(sim_clock *c)
{
    free(c->t);
}
void sim_host_saw(const sim_clock *c)
{
    (void)c;
}
void sim_check_op(sim_queue *q, const sim_op *op)
{
    (void)q;
    (void)op;
}
void sim_check_host(const ndp_mem *mem, const char *what)
{
    (void)mem;
    (void)what;
}
void sim_checker_reset(int32_t on)
{
    (void)on;
}
void sim_accesses_free(ndp_mem *mem)
{
    (void)mem;
}
uint64_t sim_race_count(void)
{
    return 0;
}
const char *sim_race_text(uint64_t i)
{
    (void)i;
    return NULL;
}
void sim_race_clear(void) {}
