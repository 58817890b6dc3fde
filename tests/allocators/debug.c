/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The debug allocator (C20): planted mistakes are found and told with the block's tag. */
#include "tests/allocators/mock.h"

static nd_backend *new_debug(mock *m)
{
    nd_hooks hooks = mock_hooks(m);
    nd_backend *backend;
    must(nd__debug_create(&m->device, &hooks, &backend));
    atomic_fetch_add(&backend->refs, 1); /* the registry's */
    nd__backend_register(backend);
    return backend;
}

static nd_block *take(nd_backend *m, uint64_t n, const char *tag)
{
    nd_block *b;
    must(nd_tag_push(tag));
    must(m->type->alloc(m, NULL, n, &b));
    must(nd_tag_pop());
    return b;
}

static char *bytes(const nd_block *b)
{
    return b->mem->p + b->offset;
}

static int64_t report(mock *m, char **text)
{
    int64_t n = -1;
    must(nd_memory_debug_report(&m->device, text, &n));
    return n;
}

/* One planted write of each kind, on a device that the host may touch and one that it may not. */
static void stray_writes(int hidden)
{
    mock *m = mock_device(hidden);
    nd_backend *backend = new_debug(m);
    char *text;
    m->hide = hidden;
    nd_block *a = take(backend, 1000, "past"), *b = take(backend, 1000, "before"),
             *c = take(backend, 100, "after"), *d = take(backend, 1, "innocent");
    ok(!hidden == (a->host != NULL), hidden ? "no host address" : "a host address");
    is_int((uintptr_t)bytes(a) % 512, 0, "C3: aligned to 512");
    is_int((unsigned char)bytes(a)[999], 0xCB, "C20: fresh memory is poisoned");
    memset(bytes(a), 0, 1000);
    memset(bytes(d), 0, 1);
    is_int(report(m, &text), 4, "C20: four live blocks, no mistake");
    has_text(text, "live, block of 1 bytes", "C20: the leak report names each");
    has_text(text, "tag \"innocent\"", "C20: with its tag");
    free(text);
    bytes(a)[1000] = 1;
    bytes(b)[-1] = 2;
    char *freed = bytes(c);
    backend->type->free(c);
    is_int((unsigned char)freed[99], 0xDB, "C20: freed memory is poisoned");
    freed[40] = 3;
    is_int(report(m, &text), 3 + 3, "C20: three live blocks and three mistakes");
    has_text(text, "written past the end: byte 1000 is 0x01, block of 1000 bytes", "C20: past");
    has_text(text, "tag \"past\"", "C20: with the tag");
    has_text(text, "written before the beginning: byte -1 is 0x02", "C20: before");
    has_text(text, "written after free: byte 40 is 0x03, block of 100 bytes", "C20: after free");
    ok(!strstr(text, "written past the end: byte 1 "), "C20: nothing said of the innocent");
    free(text);
    is_int(report(m, &text), 6, "C20: told once");
    free(text);
    backend->type->free(a);
    backend->type->free(b);
    backend->type->free(d);
    is_int(report(m, &text), 3, "C20: the mistakes stay, the live blocks are gone");
    free(text);
    must(backend->type->empty_cache(backend));
    is_int(m->in_use, 0, "empty_cache gives the quarantine back");
}

static void visible(void)
{
    stray_writes(0);
}
static void hidden(void)
{
    stray_writes(1);
}

static void frees(void)
{
    mock *m = mock_device(0);
    nd_backend *backend = new_debug(m);
    char *text;
    int64_t before = report(m, &text);
    free(text);
    nd_block *a = take(backend, 64, "twice"), copy = *a;
    backend->type->free(a);
    backend->type->free(a);
    is_int(report(m, &text), before + 1, "C20: one mistake");
    has_text(text, "double free, block of 64 bytes", "C20: double free");
    has_text(text, "tag \"twice\"", "C20: with the tag");
    free(text);
    backend->type->free(&copy);
    is_int(report(m, &text), before + 2, "C20: another");
    has_text(text, "foreign free", "C20: foreign free");
    free(text);
    must(backend->type->empty_cache(backend));
    backend->type->free(a);
    is_int(report(m, &text), before + 3, "C20: a double free is found after the memory has gone");
    free(text);
    is_int(m->in_use, 0, "nothing is left");
}

static void quarantine(void)
{
    mock *m = mock_device(0);
    nd_backend *backend = new_debug(m);
    int64_t keep = nd__conf()->quarantine_blocks;
    nd_block *first = take(backend, 512, "first");
    ndp_mem *mem = first->mem;
    backend->type->free(first);
    int reused = 0;
    for (int64_t i = 1; i < keep; i++) {
        nd_block *b = take(backend, 512, "next");
        reused += b->mem == mem;
        backend->type->free(b);
    }
    is_int(reused, 0, "C20: kept memory is not used again");
    is_int(m->in_use, keep * 1536, "C20: the last N frees are kept");
    backend->type->free(take(backend, 512, "one more"));
    is_int(m->in_use, keep * 1536, "C20: and no more than N");
    must(backend->type->empty_cache(backend));
    is_int(m->in_use, 0, "all back");
}

static void pending(void)
{
    mock *m = mock_device(0);
    nd_backend *backend = new_debug(m);
    mock_stream *s = mock_stream_new(m, 1);
    nd_block *b;
    nd_memory_stats st;
    must(backend->type->alloc(backend, &s->s, 256, &b));
    char *p = bytes(b);
    memset(p, 0, 256);
    mock_work(s);
    backend->type->free(b);
    is_int(p[0], 0, "a block that a stream still uses is not poisoned yet");
    backend->type->stats(backend, &st);
    is_int(st.active.all.current, 1, "it is active");
    mock_finish(s);
    must(backend->type->empty_cache(backend));
    is_int(m->in_use, 0, "and goes when the stream is done");
    m->limit = 4096;
    must(backend->type->alloc(backend, &s->s, 2000, &b));
    mock_work(s);
    backend->type->free(b);
    must(backend->type->alloc(backend, &s->s, 2000, &b));
    is_int(m->waits, 1, "C10: without room the stream is waited for and the quarantine emptied");
    backend->type->free(b);
    s->capture = 1;
    is_int(backend->type->alloc(backend, &s->s, 1, &b), ND_ERR_CAPTURE, "refused in a capture");
    s->capture = 0;
    mock_finish(s);
    must(backend->type->empty_cache(backend));
    free(s);
}

static void errors(void)
{
    char *text = (char *)1;
    int64_t n;
    static mock fresh;
    snprintf(fresh.device.name, sizeof fresh.device.name, "mock:9");
    is_int(nd_memory_debug_report(&fresh.device, &text, &n), ND_ERR_STATE, "no debug allocator");
    has_text(nd_last_error()->message, "backend:debug", "the message says how to get one");
    ok(text == NULL, "no text");
}

TAP_MAIN({"visible", visible}, {"hidden", hidden}, {"frees", frees}, {"quarantine", quarantine},
         {"pending", pending}, {"errors", errors})
