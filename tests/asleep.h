/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Whether another thread waits, asked instead of guessed by a pause. */
#ifndef NDOCK_TESTS_ASLEEP_H
#define NDOCK_TESTS_ASLEEP_H
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

/* Returns when the thread of that id, 0 as long as it has not told it, has been asleep at several
 * looks: it waits for what will not come by itself. The caller's alarm ends this otherwise. */
__attribute__((unused)) static void until_asleep(const _Atomic pid_t *tid)
{
    const struct timespec pause = {0, 2000000};
    for (int seen = 0; seen < 5; nanosleep(&pause, NULL)) {
        char path[64], state = 0;
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)*tid);
        FILE *f = *tid ? fopen(path, "re") : NULL;
        if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
            state = 0;
        if (f)
            fclose(f);
        seen = state == 'S' ? seen + 1 : 0;
    }
}

#endif
