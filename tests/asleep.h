/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Whether another thread waits, asked instead of guessed by a pause. */
#ifndef NDOCK_TESTS_ASLEEP_H
#define NDOCK_TESTS_ASLEEP_H
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static const struct timespec asleep_pause = {0, 2000000};

/* 'S' of a thread that sleeps; 0: there is none of that id. */
static char asleep_state(pid_t tid)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
    FILE *f = tid ? fopen(path, "re") : NULL;
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    if (f)
        fclose(f);
    return state;
}

/* Returns when the thread of that id, 0 as long as it has not told it, has been asleep at several
 * looks: it waits for what will not come by itself. The caller's alarm ends this otherwise. */
__attribute__((unused)) static void until_asleep(const _Atomic pid_t *tid)
{
    for (int seen = 0; seen < 5; nanosleep(&asleep_pause, NULL))
        seen = asleep_state(*tid) == 'S' ? seen + 1 : 0;
}

/* How many other threads of this process do not sleep. */
static int others_awake(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int awake = 0;
    for (struct dirent *d; tasks && (d = readdir(tasks));) {
        const pid_t tid = (pid_t)atoi(d->d_name);
        const char state = tid && tid != gettid() ? asleep_state(tid) : 0;
        awake += state && state != 'S';
    }
    if (tasks)
        closedir(tasks);
    return awake;
}

/* Whether every other thread of this process is asleep at each of several looks: whoever was on the way
 * here has come and waits, or waits for something else. */
__attribute__((unused)) static int others_sleep(void)
{
    int looks = 0;
    while (looks < 5 && others_awake() == 0) {
        nanosleep(&asleep_pause, NULL);
        looks++;
    }
    nanosleep(&asleep_pause, NULL);
    return looks == 5;
}

#endif
