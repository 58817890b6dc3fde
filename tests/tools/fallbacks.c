/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A program whose operations fall back in a known way, for info.sh: `fallbacks DEVICE [crash|fork]`
 * computes exp three times and square five times on f32 arrays of 1000 elements, and prints what
 * the library's own accounts say. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <ndock/ndock.h>

static void must(nd_status status)
{
    if (status == ND_OK)
        return;
    fprintf(stderr, "%s\n", nd_last_error()->message);
    exit(1);
}

static void repeat(nd_status (*fn)(const nd_array *, nd_array **), const nd_array *a, int times)
{
    for (int i = 0; i < times; i++) {
        nd_array *out;
        must(fn(a, &out));
        nd_release(out);
    }
}

static void print_accounts(void)
{
    nd_fallback_item item = {.size = sizeof item};
    for (int32_t i = 0; nd_fallback_describe(i, &item) == ND_OK; i++)
        printf("%s %s %s %s calls %llu bytes %llu timed %d why %s\n", item.op, item.dtypes,
               item.device, item.rung == ND_FALLBACK_STAGED ? "staged" : "derived",
               (unsigned long long)item.calls, (unsigned long long)item.bytes,
               item.time_ns > 0 && item.longest_ns <= item.time_ns, item.why);
}

int main(int argc, char **argv)
{
    const int64_t shape[1] = {1000};
    nd_device *device;
    nd_array *a;
    const char *end = argc > 2 ? argv[2] : "";
    if (argc < 2)
        return 2;
    must(nd_device_get(argv[1], &device));
    must(nd_zeros(device, ND_F32, 1, shape, &a));
    nd_fallback_reset();
    repeat(nd_exp, a, 3);
    repeat(nd_square, a, 5);
    if (strcmp(end, "crash") == 0) { /* the report of a second later is there all the same */
        const struct timespec pause = {1, 100000000};
        nanosleep(&pause, NULL);
        repeat(nd_exp, a, 1);
        raise(SIGKILL);
    }
    if (strcmp(end, "fork") == 0) {
        pid_t child = fork();
        if (child == 0)
            exit(0); /* with its exit handlers */
        waitpid(child, NULL, 0);
    }
    print_accounts();
    nd_release(a);
    return 0;
}
