/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Workspaces: their sizes as text, and their life. */
#include <pthread.h>
#include "core/run/workspace.h"
#include "tests/tap.h"

/* ---- W1 ---- */
static void is_size(const char *text, uint64_t want)
{
    uint64_t n = 1;
    nd_status status = nd__workspace_parse(text, &n);
    ok(status == ND_OK && n == want, "W1 \"%s\" is %llu bytes", text, (unsigned long long)want);
}

static void is_refused(const char *text)
{
    uint64_t n = 1;
    char quoted[128];
    snprintf(quoted, sizeof quoted, "\"%s\"", text);
    is_int(nd__workspace_parse(text, &n), ND_ERR_ARGUMENT, "W1 a malformed size is refused");
    has_text(nd_last_error()->message, quoted, "W1 and quoted");
    is_int(n, 0, "W1 the size is 0 then");
}

static void sizes(void)
{
    is_size(":4096:2:16:8", UINT64_C(8519680));
    is_size(":0:0", 0);
    is_size(":16:8", UINT64_C(131072));
    is_size(":4096:8", UINT64_C(33554432));
    is_size(":1:1:2:2:3:3", UINT64_C(14336));
    static const char *const malformed[] = {
        "",      "4096:2", ":4096", ":4096:", ":4096:2:",   "::",   ":a:1",    ":1:b",
        ":-1:2", ":1:2 ",  ": 1:2", ":1.5:2", ":4096:2:16", "4MiB", ":0x10:1", ":+1:1",
    };
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        is_refused(malformed[i]);
    is_refused(":18446744073709551616:1");
    is_refused(":18446744073709551615:2");
    is_refused(":18446744073709551615:1");
    is_refused(":9223372036854775808:1:9223372036854775808:1");
}

static void defaults(void)
{
    for (int32_t major = 5; major <= 13; major++) {
        bool large = major == 9 || major == 10 || major == 12;
        ok(nd__workspace_default(major) == (large ? UINT64_C(33554432) : UINT64_C(8519680)),
           "W1 capability %d", (int)major);
    }
}

/* ---- W2 ---- */
static nd_device *cpu(void)
{
    nd_device *d;
    if (nd_device_get("cpu", &d) != ND_OK)
        bail(nd_last_error()->message);
    return d;
}

static int64_t in_use(void)
{
    nd_memory_stat s;
    nd__workspace_stats(cpu(), &s);
    return s.current;
}

static nd_storage *get(const void *handle, uint64_t stream, uint64_t n)
{
    ndh_workspace *w;
    if (nd__workspace_acquire(cpu(), handle, stream, n, &w) != ND_OK)
        bail(nd_last_error()->message);
    nd_storage *s = nd__workspace_storage(w);
    nd__workspace_release(w);
    return s;
}

static int handles[3];

static void keyed(void)
{
    nd_storage *first = get(&handles[0], 1, 1 << 20);
    ok(first->used >= 1 << 20, "W2 a workspace of the size that was asked for");
    ok(get(&handles[0], 1, 1 << 20) == first, "W2 the same handle and stream: the same one");
    ok(get(&handles[0], 1, 1000) == first, "W2 also when less is asked for");
    ok(get(&handles[0], 2, 1 << 20) != first, "W2 another stream: another one");
    ok(get(&handles[1], 1, 1 << 20) != first, "W2 another handle: another one");
    ok(in_use() >= 3 << 20, "W2 their bytes are counted apart");
    nd_memory_stats all = {.size = sizeof all};
    is_int(nd_memory_stats_get(cpu(), &all), ND_OK, "W2 in the device's statistics");
    is_int(all.workspace_bytes.current, in_use(), "W2 as workspace bytes");
    ok(get(&handles[0], 1, 1 << 21)->used >= 1 << 21, "W2 a larger one replaces the smaller");
    ok(in_use() >= 4 << 20 && in_use() < 5 << 20, "W2 which is gone");
    nd_clear_workspaces();
    is_int(in_use(), 0, "W2 nd_clear_workspaces leaves none");
    nd_memory_stat s;
    nd__workspace_stats(cpu(), &s);
    ok(s.peak >= 4 << 20 && s.allocated == s.freed && s.allocated >= 5 << 20,
       "W2 peak %lld, sums %lld and %lld", (long long)s.peak, (long long)s.allocated,
       (long long)s.freed);
    if (nd_memory_reset_peak(cpu()) != ND_OK || nd_memory_reset_accumulated(cpu()) != ND_OK)
        bail(nd_last_error()->message);
    nd__workspace_stats(cpu(), &s);
    ok(s.peak == 0 && s.allocated == 0 && s.freed == 0, "W2 statistics are reset");
}

static void gone(void)
{
    get(&handles[0], 1, 1000), get(&handles[0], 2, 1000), get(&handles[1], 1, 1000);
    int64_t three = in_use();
    nd__workspace_stream_gone(cpu(), 2);
    is_int(in_use(), three / 3 * 2, "W2 it goes with its stream");
    nd__workspace_handle_gone(cpu(), &handles[0]);
    is_int(in_use(), three / 3, "W2 and with its handle");
    nd__workspace_stream_gone(cpu(), 1);
    is_int(in_use(), 0, "W2 all are gone");
    ndh_workspace *w = NULL;
    is_int(nd__workspace_acquire(cpu(), NULL, 1, 10, &w), ND_ERR_ARGUMENT, "W2 no handle");
    is_int(nd__workspace_acquire(cpu(), &handles[0], 1, 0, &w), ND_ERR_ARGUMENT, "W2 no bytes");
}

static void held(void)
{
    ndh_workspace *w;
    if (nd__workspace_acquire(cpu(), &handles[0], 1, 1 << 20, &w) != ND_OK)
        bail(nd_last_error()->message);
    nd_storage *s = nd__workspace_storage(w);
    nd_clear_workspaces();
    is_int(s->refs, 1, "W2 one that a call is using stays while it does");
    memset(s->host, 1, 1 << 20);
    ok(get(&handles[0], 1, 1 << 20) != s, "W2 but is not given to the next");
    nd__workspace_release(w);
    nd__workspace_release(NULL);
    nd_clear_workspaces();
}

static void *ask_and_end(void *arg)
{
    get(&handles[0], 7, 4096);
    if (arg)
        get(&handles[1], 7, 4096);
    return NULL;
}

static void thread_ends(void)
{
    pthread_t t;
    pthread_create(&t, NULL, ask_and_end, handles);
    pthread_join(t, NULL);
    is_int(in_use(), 0, "W2 they go with the thread");
    pthread_create(&t, NULL, ask_and_end, handles);
    pthread_join(t, NULL);
    get(&handles[1], 7, 4096);
    int64_t one = in_use();
    pthread_create(&t, NULL, ask_and_end, NULL);
    pthread_join(t, NULL);
    is_int(in_use(), one, "W2 but not with a thread that did not use them last");
    nd_clear_workspaces();
}

enum { THREADS = 8, ROUNDS = 3000 };
static atomic_int wrong;
static void *work(void *arg)
{
    const int me = (int)(intptr_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        ndh_workspace *w;
        const uint64_t n = 1000 + (uint64_t)(i % 7) * 500;
        if (nd__workspace_acquire(cpu(), &handles[i % 3], (uint64_t)me + 1, n, &w) != ND_OK) {
            wrong++;
            continue;
        }
        char *p = nd__workspace_storage(w)->host; /* nobody else has it: each has its own stream */
        memset(p, me, n);
        for (uint64_t b = 0; b < n; b++)
            wrong += p[b] != me;
        nd__workspace_release(w);
        if (i % 50 == me)
            nd_clear_workspaces();
        if (i % 70 == me)
            nd__workspace_handle_gone(cpu(), &handles[i % 3]);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    is_int(wrong, 0, "W2 threads on streams of their own, and clearing: nobody shares memory");
    is_int(in_use(), 0, "W2 nothing is left when they have ended");
}

TAP_MAIN({"sizes", sizes}, {"defaults", defaults}, {"keyed", keyed}, {"gone", gone}, {"held", held},
         {"thread_ends", thread_ends}, {"threads", threads})
