/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Accounts of what fell back, their report, and NDOCK_FALLBACK_REPORT. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "core/run/fallback.h"
#include "core/base/file.h"
#include "core/base/env.h"

static _Atomic uint64_t staged_calls, staged_bytes, derived_calls;
ND_TLS uint64_t moved; /* by this thread's stagings */

void nd_fallback_get(nd_fallback_stats *out)
{
    if (!out) {
        (void)nd__refuse_null("fallback_get", 0, "out");
        return;
    }
    out->staged_calls = atomic_load(&staged_calls);
    out->staged_bytes = atomic_load(&staged_bytes);
    out->derived_calls = atomic_load(&derived_calls);
}

void nd__count_derived(void)
{
    atomic_fetch_add(&derived_calls, 1);
}

void nd__count_staged(void)
{
    atomic_fetch_add(&staged_calls, 1);
}

void nd__count_staged_bytes(uint64_t nbytes)
{
    atomic_fetch_add(&staged_bytes, nbytes);
    moved += nbytes;
}

/* ---- accounts; never removed, and all of them under the lock ---- */
typedef struct account {
    nd_fallback_item item;
    nd_op op; /* 0: a program's, which its name tells */
    const nd_device *device;
    uint64_t dtypes;             /* 5 bits each, with the numbers of operands */
    struct account *next, *same; /* in order; in the bucket */
} account;
enum { BUCKETS = 256 };
static account *accounts, **last_account = &accounts, *buckets[BUCKETS];
static pthread_mutex_t accounts_lock = PTHREAD_MUTEX_INITIALIZER;

static void clear_totals(void)
{
    atomic_store(&staged_calls, 0);
    atomic_store(&staged_bytes, 0);
    atomic_store(&derived_calls, 0);
}

static void clear(account *a)
{
    a->item.calls = a->item.bytes = a->item.time_ns = a->item.longest_ns = 0;
}

void nd_fallback_reset(void)
{
    clear_totals();
    pthread_mutex_lock(&accounts_lock);
    for (account *a = accounts; a; a = a->next)
        clear(a);
    pthread_mutex_unlock(&accounts_lock);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

nd_fallback_clock nd__fallback_begin(void)
{
    return (nd_fallback_clock){now_ns(), moved};
}

static uint64_t dtypes_key(const ndp_call *call)
{
    uint64_t key = call ? call->n_in | call->n_out << 3 : 0;
    for (uint32_t i = 0; call && i < call->n_in; i++)
        key = key << 5 | (uint64_t)call->in[i].dtype;
    for (uint32_t i = 0; call && i < call->n_out; i++)
        key = key << 5 | (uint64_t)call->out[i].dtype;
    return key;
}

static const char *dtypes_text(const ndp_call *call)
{
    nd_text t = {0};
    for (uint32_t i = 0; call && i < call->n_in; i++)
        nd__text_add(&t, "%s%s", i ? "," : "", nd_dtype_name(call->in[i].dtype));
    for (uint32_t i = 0; call && i < call->n_out; i++)
        nd__text_add(&t, "%s%s", i ? "," : "->", nd_dtype_name(call->out[i].dtype));
    const char *kept = nd__text_keep(t.data ? t.data : "");
    free(t.data);
    return kept;
}

static bool is_account(const account *a, const account *like)
{
    return a->op == like->op && a->device == like->device && a->dtypes == like->dtypes &&
           a->item.rung == like->item.rung && strcmp(a->item.op, like->item.op) == 0 &&
           strcmp(a->item.why, like->item.why) == 0;
}

/* NULL when there is no memory: then it is not told. Under the lock. */
static account *find_account(const account *like, const ndp_call *call)
{
    uint64_t hash = (like->dtypes ^ (uint64_t)like->op << 40 ^ (uint64_t)(uintptr_t)like->device) *
                    UINT64_C(0x9e3779b97f4a7c15);
    account **bucket = &buckets[hash >> 56], *a = *bucket;
    while (a && !is_account(a, like))
        a = a->same;
    if (a || (a = malloc(sizeof *a)) == NULL)
        return a;
    *a = *like;
    a->item.dtypes = dtypes_text(call);
    a->item.why = nd__text_keep(like->item.why);
    a->same = *bucket;
    *bucket = a;
    *last_account = a;
    last_account = &a->next;
    return a;
}

static void save_sometimes(uint64_t now);

void nd__fallback_end(const nd_fallback_clock *clock, int32_t rung, const nd_device *device,
                      const char *op, const ndp_call *call, const char *why)
{
    const uint64_t now = now_ns(), took = now - clock->since_ns;
    const account like = {.op = call ? call->op : 0,
                          .device = device,
                          .dtypes = dtypes_key(call),
                          .item = {.rung = rung, .op = op, .device = device->name, .why = why}};
    pthread_mutex_lock(&accounts_lock);
    account *a = find_account(&like, call);
    if (a) {
        a->item.calls++;
        a->item.bytes += moved - clock->moved_before;
        a->item.time_ns += took;
        a->item.longest_ns = took > a->item.longest_ns ? took : a->item.longest_ns;
    }
    pthread_mutex_unlock(&accounts_lock);
    save_sometimes(now);
}

nd_status nd_fallback_describe(int32_t i, nd_fallback_item *out)
{
    if (!out || out->size < NDP_END(nd_fallback_item, longest_ns))
        return nd__fail(ND_ERR_ARGUMENT, "fallback_describe", 1,
                        "set the size field to sizeof(nd_fallback_item) first");
    uint32_t size = out->size;
    pthread_mutex_lock(&accounts_lock);
    const account *a = i < 0 ? NULL : accounts;
    for (int32_t k = 0; a && k < i; k++)
        a = a->next;
    if (a)
        memcpy(out, &a->item, size < sizeof a->item ? size : sizeof a->item);
    pthread_mutex_unlock(&accounts_lock);
    out->size = size;
    return a ? ND_OK
             : nd__fail(ND_ERR_INDEX, "fallback_describe", 0, "there is no item number %d", (int)i);
}

/* ---- the report ---- */
static uint64_t begin_ns;

static int by_time(const void *a, const void *b)
{
    const nd_fallback_item *x = a, *y = b;
    return x->time_ns < y->time_ns ? 1 : x->time_ns > y->time_ns ? -1 : strcmp(x->op, y->op);
}

/* Those with calls, the most costly first; malloc'ed. */
static nd_status collect(nd_fallback_item **out, size_t *n)
{
    size_t count = 0;
    *n = 0;
    pthread_mutex_lock(&accounts_lock);
    for (const account *a = accounts; a; a = a->next)
        count++;
    *out = calloc(count + 1, sizeof **out);
    for (const account *a = *out ? accounts : NULL; a; a = a->next)
        if (a->item.calls)
            (*out)[(*n)++] = a->item;
    pthread_mutex_unlock(&accounts_lock);
    if (!*out)
        return nd__fail(ND_ERR_MEMORY, "fallback_save", -1, "no memory for the report");
    qsort(*out, *n, sizeof **out, by_time);
    return ND_OK;
}

static void add_text(nd_text *t, const char *key, const char *value)
{
    nd__text_add(t, "\"%s\": ", key);
    nd__text_json(t, value);
    nd__text_puts(t, ", ");
}

static void add_item(nd_text *t, const nd_fallback_item *item, bool first)
{
    nd__text_puts(t, first ? "\n    {" : ",\n    {");
    add_text(t, "op", item->op);
    add_text(t, "dtypes", item->dtypes);
    add_text(t, "device", item->device);
    add_text(t, "rung", item->rung == ND_FALLBACK_STAGED ? "staged" : "derived");
    add_text(t, "why", item->why);
    nd__text_add(t, "\"calls\": %llu, \"bytes\": %llu, \"time_ns\": %llu, \"longest_ns\": %llu}",
                 (unsigned long long)item->calls, (unsigned long long)item->bytes,
                 (unsigned long long)item->time_ns, (unsigned long long)item->longest_ns);
}

static nd_status build_report(nd_text *t)
{
    nd_fallback_item *items;
    nd_fallback_stats s;
    size_t n;
    ND_RETURN_IF(collect(&items, &n));
    nd_fallback_get(&s);
    nd__text_add(t, "{\n  \"ndock_fallback\": 1,\n  \"version\": ");
    nd__text_json(t, nd_version());
    nd__text_add(t,
                 ",\n  \"process\": %lld,\n  \"elapsed_ns\": %llu,\n  \"staged_calls\": %llu,\n"
                 "  \"staged_bytes\": %llu,\n  \"derived_calls\": %llu,\n  \"items\": [",
                 (long long)getpid(), (unsigned long long)(begin_ns ? now_ns() - begin_ns : 0),
                 (unsigned long long)s.staged_calls, (unsigned long long)s.staged_bytes,
                 (unsigned long long)s.derived_calls);
    for (size_t i = 0; i < n; i++)
        add_item(t, &items[i], i == 0);
    nd__text_puts(t, n ? "\n  ]\n}\n" : "]\n}\n");
    free(items);
    return t->failed ? nd__fail(ND_ERR_MEMORY, "fallback_save", -1, "no memory for the report")
                     : ND_OK;
}

nd_status nd_fallback_save(const char *path)
{
    const nd_save_opts opts = {.size = sizeof opts};
    nd_text t = {0};
    nd__writer w;
    nd_status status;
    if (!path || !path[0])
        return nd__fail(ND_ERR_ARGUMENT, "fallback_save", 0, "the path is NULL or empty");
    ND_GOTO_IF(done, build_report(&t));
    ND_GOTO_IF(done, nd__writer_open("fallback_save", path, &w));
    status = nd__writer_put(&w, t.data, t.len);
    if (status == ND_OK)
        status = nd__writer_commit(&w, &opts);
    nd__writer_close(&w);
done:
    free(t.data);
    return status;
}

/* ---- NDOCK_FALLBACK_REPORT ---- */
static char *report_path; /* absolute; set once, before `armed` */
static atomic_bool armed;
static pid_t report_pid;
static _Atomic uint64_t saved_ns;

/* A forked child has its parent's settings, but without %p the file is the parent's. */
static void save_now(void)
{
    const char *mark = strstr(report_path, "%p");
    char *path = NULL;
    nd_text t = {0};
    if (mark)
        nd__text_add(&t, "%.*s%lld%s", (int)(mark - report_path), report_path, (long long)getpid(),
                     mark + 2);
    else if (getpid() == report_pid)
        nd__text_puts(&t, report_path);
    path = t.data;
    if (path && nd_fallback_save(path) != ND_OK)
        nd__log(ND_LOG_ERROR, "NDOCK_FALLBACK_REPORT: %s", nd_last_error()->message);
    free(path);
}

/* One of the threads that come by, once a second. */
static void save_sometimes(uint64_t now)
{
    uint64_t before = atomic_load_explicit(&saved_ns, memory_order_relaxed);
    if (atomic_load_explicit(&armed, memory_order_acquire) && now - before > 1000000000u &&
        atomic_compare_exchange_strong(&saved_ns, &before, now))
        save_now();
}

/* A child that writes a report of its own begins at nothing. */
void nd__fork_fallback(nd_fork now)
{
    if (now == ND_FORK_CHILD && atomic_load(&armed) && strstr(report_path, "%p")) {
        for (account *a = accounts; a; a = a->next)
            clear(a);
        clear_totals();
    }
    nd__fork_mutex(&accounts_lock, now);
}

/* The program may change its folder until then, so the path becomes absolute now. */
static void start_from_environment(void)
{
    const char *path = nd__env(ND_ENV_FALLBACK_REPORT);
    nd_text t = {0};
    if (!path)
        return;
    char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0);
    nd__text_add(&t, "%s%s%s", folder ? folder : "", folder ? "/" : "", path);
    free(folder);
    report_path = t.data;
    report_pid = getpid();
    begin_ns = now_ns();
    if (!report_path)
        return;
    if (atexit(save_now) != 0)
        nd__log(ND_LOG_ERROR, "NDOCK_FALLBACK_REPORT: no room for another exit handler");
    atomic_store_explicit(&armed, true, memory_order_release);
}

nd_status nd__fallback_from_environment(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_from_environment);
    return ND_OK;
}
