/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a thread has of its own: current device and streams, guards, labels, its sync watch. Made
 * with the first use, gone with the thread. */
#include <stdlib.h>
#include "core/base/base.h"

_Thread_local nd_thread *nd__self;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void thread_end(void *arg)
{
    nd_thread *t = arg;
    nd__on_thread_ended(t);
    nd__self = NULL;
    free(t->current);
    free(t->guards);
    free(t->tags);
    free(t->math);
    free(t->suspects);
    free(t->expr_reason);
    free(t);
}

static void make_key(void)
{
    (void)pthread_key_create(&key, thread_end);
}

nd_thread *nd__thread(void)
{
    if (nd__self)
        return nd__self;
    pthread_once(&once, make_key);
    nd__self = calloc(1, sizeof *nd__self);
    if (nd__self)
        (void)pthread_setspecific(key, nd__self);
    else
        (void)nd__fail(ND_ERR_MEMORY, NULL, -1, "no memory for the thread's state");
    return nd__self;
}

nd_status nd__refuse_inside(const char *op)
{
    if (!nd__self || !nd__self->in_host_function)
        return ND_OK;
    return nd__fail(ND_ERR_STATE, op, -1,
                    "a function launched on a stream may not use devices; record an event after "
                    "it and wait for that");
}

const char *nd__tag(void)
{
    return nd__self && nd__self->n_tags ? nd__self->tags[nd__self->n_tags - 1] : "";
}

nd_status nd_tag_push(const char *text)
{
    nd_thread *t = nd__thread();
    if (!t)
        return ND_ERR_MEMORY;
    if (!text)
        return nd__fail(ND_ERR_ARGUMENT, "tag_push", 0, "the text is NULL");
    if (t->n_tags == t->tag_room) {
        int room = t->tag_room ? 2 * t->tag_room : 8;
        void *tags = realloc(t->tags, (size_t)room * sizeof *t->tags);
        if (!tags)
            return nd__fail(ND_ERR_MEMORY, "tag_push", -1, "no memory for %d labels", room);
        t->tags = tags;
        t->tag_room = room;
    }
    char *tag = t->tags[t->n_tags++];
    memset(tag, 0, ND_TAG_SIZE);
    memcpy(tag, text, strnlen(text, ND_TAG_SIZE - 1));
    return ND_OK;
}

nd_status nd_tag_pop(void)
{
    if (!nd__self || !nd__self->n_tags)
        return nd__fail(ND_ERR_STATE, "tag_pop", -1, "no label was pushed on this thread");
    nd__self->n_tags--;
    return ND_OK;
}
