/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * X2: of many threads that want one plug-in, device or kernel at once, one loads, opens or looks it
 * up, and all have it; a failure is told to all, and may be tried again. */
#include <pthread.h>
#include "tests/loader/needy.h"
#include "tests/loader/sandbox.h"

enum { THREADS = 16 };
static pthread_barrier_t begin;
static nd_device *got[THREADS];
static nd_status status[THREADS];
static int told[THREADS];
static char trace[300];

static void together(void *(*run)(void *))
{
    pthread_t t[THREADS];
    pthread_barrier_init(&begin, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, run, (void *)(intptr_t)i) != 0)
            _exit(99);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    pthread_barrier_destroy(&begin);
}

static int lines_of(const char *word)
{
    char line[32];
    int n = 0;
    FILE *f = fopen(trace, "r");
    while (f && fgets(line, sizeof line, f))
        n += strncmp(line, word, strlen(word)) == 0;
    if (f)
        fclose(f);
    return n;
}

static void *get_device(void *arg)
{
    const int i = (int)(intptr_t)arg;
    pthread_barrier_wait(&begin);
    status[i] = nd_device_get("needy:0", &got[i]);
    told[i] = status[i] != ND_OK && strstr(nd_last_error()->message, "busy") != NULL;
    return NULL;
}

static int one_opens(void)
{
    together(get_device);
    for (int i = 0; i < THREADS; i++)
        if (status[i] != ND_OK || got[i] != got[0])
            return 1;
    return lines_of("loaded") == 1 && lines_of("opening") == 1 ? 0 : 2;
}

static int all_fail_then_one_opens(void)
{
    setenv("NEEDY_BUSY", "1", 1);
    together(get_device);
    for (int i = 0; i < THREADS; i++)
        if (status[i] != ND_ERR_DEVICE || got[i] || !told[i])
            return 1;
    const int tries = lines_of("opening");
    unsetenv("NEEDY_BUSY");
    together(get_device);
    for (int i = 0; i < THREADS; i++)
        if (status[i] != ND_OK || got[i] != got[0])
            return 2;
    return lines_of("loaded") == 1 && lines_of("opening") == tries + 1 ? 0 : 3;
}

/* Each its own operands; the same operation, dtype and layout. */
static void *add_first(void *arg)
{
    const int i = (int)(intptr_t)arg;
    const int64_t n = 8;
    nd_array *a = NULL, *r = NULL;
    nd_scalar v = {0};
    nd_index at = nd_at(7);
    nd_array *last = NULL;
    status[i] = nd_full(got[0], ND_F32, 1, &n, nd_float(i), &a);
    pthread_barrier_wait(&begin);
    if (status[i] == ND_OK)
        status[i] = nd_add(a, a, &r);
    if (status[i] == ND_OK)
        status[i] = nd_slice(r, &at, 1, &last);
    if (status[i] == ND_OK)
        status[i] = nd_item(last, &v);
    told[i] = v.v.f == 2.0 * i;
    nd_release(last);
    nd_release(r);
    nd_release(a);
    return NULL;
}

static int one_looks_up(void)
{
    const void *table = NULL;
    struct ndp_dev *dev;
    if (nd_device_get("needy:0", &got[0]) != ND_OK ||
        nd_device_group(got[0], NEEDY_GROUP, &table, &dev) != ND_OK || !table)
        return 1;
    needy_state *state = (needy_state *)(uintptr_t)table;
    atomic_store(&state->slow_find, 1);
    const int before = atomic_load(&state->finds);
    together(add_first);
    for (int i = 0; i < THREADS; i++)
        if (status[i] != ND_OK || !told[i])
            return 2;
    return atomic_load(&state->finds) == before + 1 ? 0 : 3;
}

static void x2(void)
{
    static const struct {
        int (*look)(void);
        const char *what;
    } cases[] = {
        {one_opens, "X2: sixteen threads: one load, one device for all"},
        {all_fail_then_one_opens, "X2: a failure is told to all; tried again, one opens it"},
        {one_looks_up, "X2: a kernel is looked up once"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fresh_folder();
        install("needy", "needy");
        path_in(trace, sizeof trace, "trace");
        setenv("NEEDY_TRACE", trace, 1);
        is_int(in_child(cases[i].look, folder), 0, cases[i].what);
        remove_folder();
    }
}

TAP_MAIN({"x2", x2})
