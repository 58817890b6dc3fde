/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The locks of the core around a fork. A forked child must find every lock free and what it guards
 * whole, so the parent takes them all before; fork.c has their order. */
#ifndef NDOCK_CORE_FORK_H
#define NDOCK_CORE_FORK_H

typedef enum { ND_FORK_TAKE, ND_FORK_DROP, ND_FORK_CHILD } nd_fork; /* CHILD: DROP, in the child */

/* For locks that need nothing else. */
#define nd__fork_mutex(lock, now) \
    (void)((now) == ND_FORK_TAKE ? pthread_mutex_lock(lock) : pthread_mutex_unlock(lock))

void nd__fork_watch(void); /* once, before there is anything to guard */

void nd__fork_registry(nd_fork now);
void nd__fork_kernels(nd_fork now); /* of devices */
void nd__fork_caches(nd_fork now);
void nd__fork_makers_start(nd_fork now);
void nd__fork_makers(nd_fork now);
void nd__fork_pinned(nd_fork now);
void nd__fork_registered(nd_fork now);
void nd__fork_callbacks(nd_fork now);
void nd__fork_stream_pools(nd_fork now);
void nd__fork_streams(nd_fork now); /* lists of devices */
void nd__fork_captures(nd_fork now);
void nd__fork_sharing(nd_fork now);
void nd__fork_pending(nd_fork now); /* events of copies to the host */
void nd__fork_stage(nd_fork now);
void nd__fork_fallback(nd_fork now);
void nd__fork_ops(nd_fork now);
void nd__fork_custom(nd_fork now);
void nd__fork_code(nd_fork now);
void nd__fork_conf(nd_fork now);
void nd__fork_params(nd_fork now);
void nd__fork_texts(nd_fork now);
void nd__fork_hook(nd_fork now);
void nd__fork_trace(nd_fork now);
void nd__fork_told(nd_fork now);
void nd__fork_handles(nd_fork now);
void nd__fork_log(nd_fork now);

#endif
