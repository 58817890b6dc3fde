/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * NDOCK_DEBUG=handles: use after release, double release, and arrays that are never released, each
 * with the function that made the array and the place of the call. */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/array/handles.h"
#include "core/base/env.h"

#define FRAMES 24
#define KEPT 65536 /* released headers that are remembered; then the oldest is freed */
#define CALLERS 3  /* of which a report names so many */

/* A place in the program that called the library. */
typedef struct {
    const char *function; /* of the library; "" if unknown */
    void *frame[CALLERS]; /* return addresses outside of it, the innermost first; then NULL */
    char *text;           /* of the frames, from the first report on; under text_lock */
} place;

typedef struct handle {
    struct handle *before, *after; /* in the list of live or of released ones */
    place made, released;
    bool is_released;
    int32_t told;       /* reports about it so far */
    nd_storage storage; /* of a released one: looks as if a device still wrote to it */
    nd_array array;     /* the last member: it has a flexible end */
} handle;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t text_lock = PTHREAD_MUTEX_INITIALIZER; /* may be taken while lock is held */
static handle *live, *oldest, *newest; /* released ones from the oldest to the newest */
static int n_released;
const char nd__dead_mark; /* its address is the `pending` of released ones */
bool nd__handles_mode;

void nd__fork_handles(nd_fork now)
{
    nd__fork_mutex(&lock, now);
    nd__fork_mutex(&text_lock, now);
}

static handle *handle_of(const nd_array *a)
{
    return (handle *)(void *)((char *)(uintptr_t)a - offsetof(handle, array));
}

static handle *handle_of_storage(const nd_storage *s)
{
    return (handle *)(void *)((char *)(uintptr_t)s - offsetof(handle, storage));
}

/* ---- who called ---- */
static bool is_ours(const void *address)
{
    Dl_info own, of;
    return dladdr(&nd__dead_mark, &own) && dladdr(address, &of) && own.dli_fbase == of.dli_fbase;
}

/* The function that the call before this return address went to. A frame's own symbol does not
 * say: public functions often end in a jump to an internal one. */
static const char *called_at(const unsigned char *back)
{
#if defined(__x86_64__)
    const unsigned char *target = NULL;
    Dl_info of;
    int32_t offset;
    memcpy(&offset, back - 4, sizeof offset);
    if (back[-5] == 0xe8) /* call target */
        target = back + offset;
    else if (back[-6] == 0xff && back[-5] == 0x15) /* call *slot(%rip) */
        memcpy(&target, back + offset, sizeof target);
    if (!target || !dladdr(target, &of))
        return "";
    for (int i = 0; !is_ours(target) && i < 8; i++) /* a stub: jmp *slot(%rip) */
        if (target[i] == 0xff && target[i + 1] == 0x25) {
            memcpy(&offset, target + i + 2, sizeof offset);
            memcpy(&target, target + i + 6 + offset, sizeof target);
            break;
        }
    if (is_ours(target) && dladdr(target, &of) && of.dli_sname)
        return of.dli_sname;
#else
    (void)back;
#endif
    return "";
}

static void note_place(place *p)
{
    void *frame[FRAMES];
    Dl_info of;
    int n = backtrace(frame, FRAMES), i = 0, k = 0;
    memset(p, 0, sizeof *p);
    while (i < n && is_ours(frame[i]))
        i++;
    p->function = i < n ? called_at(frame[i]) : "";
    if (!p->function[0] && i > 0 && dladdr(frame[i - 1], &of) && of.dli_sname)
        p->function = of.dli_sname;
    while (i < n && k < CALLERS)
        p->frame[k++] = frame[i++];
}

#define ADDR2LINE "; `addr2line -fe FILE OFFSET` tells the line of FILE+OFFSET"

/* "FILE:LINE in FUNCTION" where that is known, else where it lies in its file. Whether it is. */
static bool put_frame(nd_text *t, const char *at)
{
    Dl_info of = {0};
    char line[1024];
    if (!dladdr(at, &of) || !of.dli_fname) {
        nd__text_add(t, "%p", (const void *)at);
        return false;
    }
    const bool known = nd__source_line(at, line, sizeof line);
    const unsigned long long in_file = nd__file_address(at, of.dli_fbase);
    if (known)
        nd__text_add(t, "%s%s%s", line, of.dli_sname ? " in " : "",
                     of.dli_sname ? of.dli_sname : "");
    else if (of.dli_sname)
        nd__text_add(t, "%s+0x%zx (%s+0x%llx)", of.dli_sname,
                     (size_t)(at - (const char *)of.dli_saddr), of.dli_fname, in_file);
    else
        nd__text_add(t, "%s+0x%llx", of.dli_fname, in_file);
    return known;
}

/* Made once, since it may start a program. The innermost caller is whom it is about. */
static char *place_text(const place *p)
{
    nd_text t = {0};
    bool known = false;
    nd__text_puts(&t, "");
    for (int i = 0; i < CALLERS && p->frame[i]; i++) {
        nd__text_puts(&t, i ? " < " : " called at ");
        const bool line = put_frame(&t, (const char *)p->frame[i] - 1); /* within the call */
        known |= line && i == 0;
    }
    if (!known)
        nd__text_puts(&t, ADDR2LINE);
    return t.data;
}

static void put_place(nd_text *t, place *p)
{
    nd__text_puts(t, p->function[0] ? p->function : "a function of ndock");
    pthread_mutex_lock(&text_lock);
    if (!p->text)
        p->text = place_text(p);
    nd__text_puts(t, p->text ? p->text : "");
    pthread_mutex_unlock(&text_lock);
}

/* ---- reports ---- */
static void put_array(nd_text *t, const handle *h)
{
    char shape[ND_SHAPE_TEXT];
    const nd_array *a = &h->array;
    nd__text_add(t, "%s %s", nd_dtype_name(a->dtype),
                 nd__shape_text(a->ndim, a->shape, shape, sizeof shape));
}

static void put_history(nd_text *t, handle *h)
{
    put_array(t, h);
    nd__text_puts(t, " that was released: made by ");
    put_place(t, &h->made);
    nd__text_puts(t, "; released by ");
    put_place(t, &h->released);
}

nd_status nd__handle_used(const char *op, const nd_storage *s)
{
    handle *h = handle_of_storage(s);
    nd_text t = {0};
    put_history(&t, h);
    const char *text = t.data && !t.failed ? t.data : "an array that was released";
    if (h->told++ == 0)
        nd__log(ND_LOG_ERROR, "%s uses an array %s", op, text);
    nd_status status = nd__fail(ND_ERR_ARGUMENT, op, -1, "it uses an array %s", text);
    free(t.data);
    return status;
}

void nd__handle_released_again(const nd_storage *s)
{
    place now;
    nd_text t = {0};
    note_place(&now);
    nd__text_puts(&t, "double release, by ");
    put_place(&t, &now);
    nd__text_puts(&t, ", of an array ");
    put_history(&t, handle_of_storage(s));
    nd__log(ND_LOG_ERROR, "%s", t.data && !t.failed ? t.data : "double release of an array");
    free(t.data);
    free(now.text);
}

static bool same_place(const place *a, const place *b)
{
    return strcmp(a->function, b->function) == 0 &&
           memcmp(a->frame, b->frame, sizeof a->frame) == 0;
}

/* One line for all arrays that were made at one place. */
static void report_leaks(void)
{
    int64_t all = 0;
    pthread_mutex_lock(&lock);
    for (handle *h = live; h; h = h->after) {
        nd_text t = {0};
        int64_t n = 0;
        all++;
        if (h->told)
            continue;
        for (handle *other = h; other; other = other->after)
            if (!other->told && same_place(&h->made, &other->made)) {
                other->told = 1;
                n++;
            }
        nd__text_add(&t, "%lld %s never released: ", (long long)n,
                     n == 1 ? "array was" : "arrays were");
        put_array(&t, h);
        nd__text_puts(&t, n == 1 ? ", made by " : " and others, made by ");
        put_place(&t, &h->made);
        nd__log(ND_LOG_ERROR, "%s", t.data && !t.failed ? t.data : "leaks");
        free(t.data);
    }
    pthread_mutex_unlock(&lock);
    if (all)
        nd__log(ND_LOG_ERROR, "%lld arrays were alive at the end of the process", (long long)all);
}

/* ---- headers ---- */
static void turn_on(void)
{
    nd__handles_mode = nd__env_choice(ND_ENV_DEBUG) == 1;
    if (nd__handles_mode)
        (void)atexit(report_leaks);
}

bool nd__handles_on(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, turn_on);
    return nd__handles_mode;
}

nd_array *nd__handle_alloc(int room)
{
    handle *h = calloc(1, sizeof *h + 2 * sizeof(int64_t) * (size_t)room);
    if (!h)
        return NULL;
    note_place(&h->made);
    pthread_mutex_lock(&lock);
    h->after = live;
    if (live)
        live->before = h;
    live = h;
    pthread_mutex_unlock(&lock);
    return &h->array;
}

static void leave_live(handle *h)
{
    if (h->before)
        h->before->after = h->after;
    else
        live = h->after;
    if (h->after)
        h->after->before = h->before;
}

/* Returns what is to be freed in exchange. */
static handle *join_released(handle *h)
{
    handle *gone = NULL;
    h->before = h->after = NULL;
    if (newest)
        newest->after = h;
    else
        oldest = h;
    newest = h;
    if (++n_released > KEPT) {
        gone = oldest;
        oldest = gone->after;
        n_released--;
    }
    return gone;
}

void nd__handle_free(nd_array *a)
{
    handle *h = handle_of(a);
    if (h->is_released)
        return;
    note_place(&h->released);
    h->is_released = true;
    h->storage.block = (struct nd_block *)h; /* no foreign memory, which a release might wait for */
    atomic_init(&h->storage.refs, 1);
    atomic_init(&h->storage.pending, ND_DEAD);
    a->storage = &h->storage;
    a->flags = ND_FLAG_READONLY;
    atomic_store(&a->refs, 1);
    pthread_mutex_lock(&lock);
    leave_live(h);
    handle *gone = join_released(h);
    pthread_mutex_unlock(&lock);
    if (gone) {
        free(gone->made.text);
        free(gone->released.text);
    }
    free(gone);
}
