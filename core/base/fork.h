/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a file with a lock does around a fork. A forked child must find every lock free and what it
 * guards whole, so the parent takes all of them before; core/lib/lifecycle.def has their order. */
#ifndef NDOCK_CORE_FORK_H
#define NDOCK_CORE_FORK_H

typedef enum { ND_FORK_TAKE, ND_FORK_DROP, ND_FORK_CHILD } nd_fork; /* CHILD: DROP, in the child */

/* For locks that need nothing else. */
#define nd__fork_mutex(lock, now) \
    (void)((now) == ND_FORK_TAKE ? pthread_mutex_lock(lock) : pthread_mutex_unlock(lock))

#endif
