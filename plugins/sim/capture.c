/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Capture. */
#include "simulator.h"
int32_t sim_capture_forbids(const char *what, const sim_queue *q)
{
    (void)what;
    (void)q;
    return NDP_OK;
}
int32_t sim_capture_check_push(sim_queue *q)
{
    (void)q;
    return NDP_OK;
}
int32_t sim_capture_add(sim_queue *q, sim_body *body)
{
    (void)q;
    (void)body;
    return NDP_OK;
}
void sim_capture_record(sim_queue *q, sim_record *r)
{
    (void)q;
    (void)r;
}
int32_t sim_capture_wait(sim_queue *q, sim_record *r, int32_t *queue_it)
{
    (void)q;
    (void)r;
    *queue_it = 1;
    return NDP_OK;
}
int32_t sim_capture_event(const ndp_event *e, const char *what)
{
    (void)e;
    (void)what;
    return NDP_OK;
}
void sim_capture_unref(sim_capture *c)
{
    (void)c;
}
void sim_capture_abandon(sim_queue *q)
{
    (void)q;
}
uint64_t sim_graph_size(const ndp_graph *g)
{
    (void)g;
    return 0;
}
int32_t sim_graph_launch(ndp_dev *dev, ndp_graph *g, ndp_stream *s)
{
    (void)dev;
    (void)g;
    (void)s;
    return NDP_ERR_UNSUPPORTED;
}
