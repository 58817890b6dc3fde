/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a plug-in must not do to the process; without a break, nothing. */
#include <fcntl.h>
#include <fenv.h>
#include <link.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "device.h"

static void *idle(void *arg)
{
    for (;;)
        pause();
    return arg;
}

void start_idle_thread(void)
{
    static bool started;
    pthread_t t;
    if (!started)
        pthread_create(&t, NULL, idle, NULL);
    started = true;
}

static pid_t loader;

void misbehave_in_entry(const ndp_host *h)
{
    loader = getpid();
    if (broken(break_entry_thread))
        start_idle_thread();
    if (broken(break_entry_file))
        (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (broken(break_host_constant))
        *(volatile uint32_t *)(uintptr_t)&h->size = h->size;
}

void misbehave_in_probe(void)
{
    if (broken(break_probe_thread))
        start_idle_thread();
}

static int count_plugins(struct dl_phdr_info *info, size_t size, void *n)
{
    (void)size;
    *(int *)n += info->dlpi_name && strstr(info->dlpi_name, "/ndock-") != NULL;
    return 0;
}

static void hang(void)
{
    for (;;)
        pause();
}

static void nothing(int signal)
{
    (void)signal;
}

static void change_settings(void)
{
    if (broken(break_environment))
        setenv("SOUND_WAS_HERE", "1", 1);
    if (broken(break_folder) && chdir("/") != 0)
        abort();
    if (broken(break_locale))
        setlocale(LC_ALL, "C.UTF-8");
    if (broken(break_rounding))
        fesetround(FE_UPWARD);
#if defined(__x86_64__)
    if (broken(break_denormals))
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
    if (broken(break_handler))
        signal(SIGUSR1, nothing);
}

int32_t misbehave_in_open(void)
{
    static void *volatile left;
    static int opened;
    int n = 0;
    change_settings();
    if (broken(break_open_file))
        (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (broken(break_open_thread) && ++opened == 20)
        start_idle_thread();
    if (broken(break_open_memory))
        left = malloc(200);
    if (broken(break_malloc_null)) {
        left = malloc(16);
        *(char *)left = 1;
        free(left);
    }
    if (broken(break_shutdown_thread))
        start_idle_thread();
    if (broken(break_fork_hangs))
        pthread_atfork(NULL, NULL, hang);
    if (broken(break_output))
        fputs("sound: opened\n", stderr);
    if (broken(break_fork_probe) && getpid() != loader)
        return host->error(host->ctx, NDP_ERR_DEVICE, 0, "the driver was loaded in process %d",
                           (int)loader);
    dl_iterate_phdr(count_plugins, &n);
    if (broken(break_many) && n > 1)
        return host->error(host->ctx, NDP_ERR_DEVICE, 0, "another plug-in is loaded");
    return NDP_OK;
}

__attribute__((destructor)) static void at_end(void)
{
    if (broken(break_exit_hangs))
        while (devices[0].opened || devices[1].opened)
            usleep(1000);
    if (broken(break_exit_dies) && was_shut_down)
        abort();
}
