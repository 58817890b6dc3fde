/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Streams of two plug-ins that both have events: neither knows the other's, so the host waits for
 * one before the other goes on. The second is that of tests/broken, unbroken. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tests/asleep.h"
#include "tests/stream/harness.h"

enum { N = 5 };
static nd_device *sound;

__attribute__((constructor)) static void open_sound(void)
{
    char path[4096];
    if (!getcwd(path, sizeof path - 64))
        bail("no current folder");
    strcat(path, "/tests/stream/.libs/ndock-sound.so");
    if (nd_plugin_load(path) != ND_OK || nd_device_get("sound:0", &sound) != ND_OK)
        bail(nd_last_error()->message);
}

static nd_stream *sound_stream(void)
{
    nd_stream *s = NULL;
    DO(nd_stream_create(sound, NULL, &s));
    return s;
}

/* ---- the other plug-in waits for sim's streams, which stand still until somebody waits ---- */
static void waits_for_sim(void)
{
    nd_stream *of_sim = new_stream(0), *of_sound = sound_stream();
    nd_event *e = NULL;
    nd_array *a = filled(sim[0], N, 1);
    DO(nd_synchronize(sim[0]));
    DO(nd_event_create(sim[0], NULL, &e));
    for (int with_event = 0; with_event < 2; with_event++) {
        DO(nd_stream_push(of_sim));
        DO(nd_add_into(a, a, a));
        DO(nd_stream_pop(of_sim));
        DO(nd_event_record(e, of_sim));
        ok(pending(0, of_sim) > 0, "work of one plug-in's stream is queued");
        is_int(with_event ? nd_stream_wait_event(of_sound, e)
                          : nd_stream_wait_stream(of_sound, of_sim),
               ND_OK, with_event ? "another's stream waits for its event" : "another's waits");
        is_int(pending(0, of_sim), 0, "and it is done when the call returns");
    }
    ok(value_of(a) == 4, "as it should be");
    nd_event_release(e);
    nd_release(a);
    nd_stream_release(of_sim);
    nd_stream_release(of_sound);
    settle();
}

/* ---- sim waits for the other's: a host function there that ends when this thread sleeps ---- */
typedef struct {
    sem_t go;
    atomic_int done;
    _Atomic pid_t waiter;
} held;

static void hold(void *arg)
{
    held *h = arg;
    while (sem_wait(&h->go) != 0)
        ;
    h->done = 1;
}

static void *let_go(void *arg)
{
    held *h = arg;
    until_asleep(&h->waiter);
    sem_post(&h->go);
    return NULL;
}

static void sim_waits(void)
{
    nd_stream *of_sim = new_stream(0), *of_sound = sound_stream();
    nd_event *e = NULL;
    DO(nd_event_create(sound, NULL, &e));
    for (int with_event = 0; with_event < 2; with_event++) {
        held h = {.waiter = (pid_t)syscall(SYS_gettid)};
        pthread_t t;
        sem_init(&h.go, 0, 0);
        DO(nd_stream_launch_host(of_sound, hold, &h));
        DO(nd_event_record(e, of_sound));
        pthread_create(&t, NULL, let_go, &h);
        is_int(with_event ? nd_stream_wait_event(of_sim, e)
                          : nd_stream_wait_stream(of_sim, of_sound),
               ND_OK, with_event ? "sim's stream waits for the other's event" : "sim's waits");
        is_int(h.done, 1, "and that is done when the call returns");
        pthread_join(t, NULL);
        DO(nd_stream_synchronize(of_sound));
        sem_destroy(&h.go);
    }
    nd_event_release(e);
    nd_stream_release(of_sim);
    nd_stream_release(of_sound);
    settle();
}

/* ---- arrays from one to the other and back ---- */
static void copies(void)
{
    nd_array *a = filled(sim[0], N, 3), *there = NULL, *twice = NULL, *back = NULL;
    DO(nd_copy(a, sound, &there));
    DO(nd_add(there, there, &twice));
    DO(nd_copy(twice, sim[0], &back));
    ok(value_of(back) == 6, "arrays go from one plug-in to the other and back");
    nd_release(a);
    nd_release(there);
    nd_release(twice);
    nd_release(back);
    settle();
}

TAP_MAIN({"waits_for_sim", waits_for_sim}, {"sim_waits", sim_waits}, {"copies", copies})
