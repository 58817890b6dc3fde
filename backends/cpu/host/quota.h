/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How many processors' time a control group leaves to this process, as containers set it. */
#ifndef NDOCK_CPU_QUOTA_H
#define NDOCK_CPU_QUOTA_H

/* Rounded up to whole processors; 0: there is no quota, or it cannot be read. self:
 * /proc/self/cgroup, root: /sys/fs/cgroup. The least of the group and those around it counts, of
 * version 2 or 1. */
int cpu_quota(const char *self, const char *root);

#endif
