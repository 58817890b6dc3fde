/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quotas of control groups: cpu.max of version 2, cpu.cfs_quota_us and cpu.cfs_period_us of 1. See
 * the kernel's Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst. */
#include "host/quota.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096

/* The words of a small file; 0 where there is none. */
static int read_file(const char *path, char *text, size_t room)
{
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    size_t n = fread(text, 1, room - 1, f);
    fclose(f);
    text[n] = 0;
    return n > 0;
}

/* quota of each period, in microseconds, as processors. */
static int processors(long long quota, long long period)
{
    if (quota <= 0 || period <= 0 || quota > 4096 * period)
        return 0;
    return (int)((quota + period - 1) / period);
}

static int least(int a, int b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static int quota_2(const char *folder)
{
    char path[PATH_BYTES + 32], text[64];
    long long quota = 0, period = 0;
    (void)snprintf(path, sizeof path, "%s/cpu.max", folder);
    return read_file(path, text, sizeof text) && sscanf(text, "%lld %lld", &quota, &period) == 2
               ? processors(quota, period)
               : 0;
}

static int quota_1(const char *folder)
{
    char path[PATH_BYTES + 32], quota[64], period[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_file(path, quota, sizeof quota))
        return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    return read_file(path, period, sizeof period) ? processors(atoll(quota), atoll(period)) : 0;
}

/* The least quota of the group `below` its root and of those around it, the root's own included: a
 * container often sees its own group as the root, under a path that is not there. */
static int least_quota(const char *root, const char *below, int (*quota)(const char *))
{
    char folder[PATH_BYTES];
    size_t base = strlen(root);
    int length = snprintf(folder, sizeof folder, "%s%s", root, below);
    if (length < 0 || length >= (int)sizeof folder)
        return 0;
    int n = quota(folder);
    for (size_t end = strlen(folder); end-- > base;)
        if (folder[end] == '/') {
            folder[end] = 0;
            n = least(n, quota(folder));
        }
    return n;
}

/* Whether a comma-separated list has the controller. */
static int has_cpu(const char *list)
{
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, "cpu", 3) == 0 && (at[3] == 0 || at[3] == ','))
            return 1;
    return 0;
}

int cpu_quota(const char *self, const char *root)
{
    char line[PATH_BYTES], folder[PATH_BYTES];
    FILE *f = fopen(self, "re");
    int n = 0;
    if (!f)
        return 0;
    while (fgets(line, sizeof line, f)) { /* number:controllers:path */
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        list++;
        path[strcspn(path, "\n")] = 0;
        if (*list == 0) {
            n = least(n, least_quota(root, path, quota_2));
        } else if (has_cpu(list)) {
            snprintf(folder, sizeof folder, "%s/cpu", root);
            n = least(n, least_quota(folder, path, quota_1));
        }
    }
    fclose(f);
    return n;
}
