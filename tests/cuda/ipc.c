/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays and events shared between processes (C32): what the other sees and writes, how long memory stays, and
 * what is told of owners and importers that have ended. On a driver that pretends; with --look
 * alone on a GPU. */
#include <ndock/ndock.h>
#include <signal.h>
#include "tests/cuda/stubs.h"

static nd_device *device;

static void fine(nd_status status)
{
    if (status == ND_OK)
        return;
    printf("%s: %s\n", nd_status_name(status), nd_last_error()->message);
    exit(1);
}

static void told(const char *what, nd_status status)
{
    printf("%s: %s %s\n", what, nd_status_name(status),
           status == ND_OK ? "" : nd_last_error()->message);
}

/* ---- the process that imports: it does what its standard input says ---- */
static nd_ipc_handle from_file(const char *path)
{
    nd_ipc_handle h;
    FILE *f = fopen(path, "rb");
    if (!f || fread(h.bytes, sizeof h.bytes, 1, f) != 1)
        memset(&h, 0, sizeof h);
    if (f)
        fclose(f);
    return h;
}

static void look_at(nd_array *a)
{
    double v[12];
    fine(nd_to_host(a, v, (size_t)nd_size(a) * sizeof *v));
    printf("shape %lld of %d, stride %lld, elements %g %g %g on %s\n", (long long)nd_shape(a)[0],
           (int)nd_ndim(a), (long long)nd_strides(a)[0], v[0], v[1], v[nd_size(a) - 1],
           nd_device_name(nd_device_of(a)));
}

static void write_to(const nd_array *a, double from)
{
    double v[12];
    nd_array *b = NULL;
    const nd_layout layout = {
        .size = sizeof layout, .dtype = ND_F64, .ndim = nd_ndim(a), .shape = nd_shape(a)};
    for (int i = 0; i < 12; i++)
        v[i] = from + i;
    fine(nd_from_host(&layout, v, device, &b));
    fine(nd_assign(b, a));
    fine(nd_synchronize(device));
    nd_release(b);
}

static nd_event_handle event_from(const char *path)
{
    nd_event_handle h;
    char name[64];
    snprintf(name, sizeof name, "%s.event", path);
    FILE *f = fopen(name, "rb");
    if (!f || fread(h.bytes, sizeof h.bytes, 1, f) != 1)
        memset(&h, 0, sizeof h);
    if (f)
        fclose(f);
    return h;
}

/* Work of this process after the owner's record; then a record of its own for the owner. */
static void follow(const char *path, nd_array *a)
{
    const nd_event_handle h = event_from(path);
    nd_event *e = NULL;
    nd_stream *s = NULL;
    int32_t done = -1;
    nd_event_handle again;
    told("event", nd_event_import(&h, &e));
    if (!e)
        return;
    fine(nd_stream_current(device, &s));
    fine(nd_stream_wait_event(s, e));
    look_at(a);
    fine(nd_event_query(e, &done));
    printf("done %d\n", (int)done);
    write_to(a, 20);
    fine(nd_event_record(e, s));
    fine(nd_event_synchronize(e));
    told("passed on", nd_event_export(e, &again));
    nd_event_release(e);
    nd_stream_release(s);
}

static int import_side(const char *path)
{
    nd_ipc_handle h = from_file(path);
    nd_array *a[2] = {NULL, NULL};
    int32_t alive = -1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int c; (c = getchar()) != EOF;) {
        if (c == 'i')
            told("import", nd_ipc_import(&h, &a[0]));
        if (c == 'j')
            told("again", nd_ipc_import(&h, &a[1]));
        if (c == 'l')
            look_at(a[0]);
        if (c == 'w')
            write_to(a[0], 100);
        if (c == 'a' && nd_ipc_is_alive(a[0], &alive) == ND_OK)
            printf("alive %d\n", (int)alive);
        if (c == 'e')
            follow(path, a[0]);
        if (c == 'r')
            nd_release(a[0]);
        if (c == 's')
            nd_release(a[1]);
        if (c == 'o')
            printf("open %d\n", counted("libcuda.so.1", "stub_opened"));
        puts(".");
    }
    return 0;
}

/* ---- the process that exports ---- */
typedef struct {
    pid_t pid;
    FILE *to, *from;
} other;

static other start(const char *path)
{
    int in[2], out[2];
    other o = {0};
    if (pipe(in) != 0 || pipe(out) != 0)
        exit(1);
    fflush(NULL);
    o.pid = fork();
    if (o.pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execl("/proc/self/exe", "ipc", "--import", path, (char *)NULL);
        _exit(9);
    }
    close(in[0]);
    close(out[1]);
    o.to = fdopen(in[1], "w");
    o.from = fdopen(out[0], "r");
    return o;
}

/* Sends one command and repeats what is answered. */
static void tell(const other *o, char command)
{
    char line[300];
    fputc(command, o->to);
    fflush(o->to);
    while (fgets(line, sizeof line, o->from) && strcmp(line, ".\n") != 0)
        printf("  %s", line);
}

static void end(other *o)
{
    fclose(o->to);
    fclose(o->from);
    waitpid(o->pid, NULL, 0);
}

static void used(nd_ipc *x)
{
    int32_t yes = -1;
    fine(nd_ipc_is_used(x, &yes));
    printf("used %d\n", (int)yes);
}

static nd_ipc *export_to(const char *path, const nd_array *a)
{
    nd_ipc_handle h;
    nd_ipc *x = NULL;
    nd_array *own = NULL;
    fine(nd_ipc_export(a, &h, &x));
    told("own", nd_ipc_import(&h, &own));
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(h.bytes, sizeof h.bytes, 1, f) != 1)
        exit(1);
    fclose(f);
    return x;
}

/* The last two of four rows: dense, and not where the block begins. */
static nd_array *two_rows(nd_array **whole)
{
    double v[12];
    const int64_t shape[2] = {4, 3};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F64, .ndim = 2, .shape = shape};
    const nd_index rows = nd_range(2, ND_END_OPEN, 1);
    nd_array *a = NULL;
    for (int i = 0; i < 12; i++)
        v[i] = i;
    fine(nd_from_host(&layout, v, device, whole));
    fine(nd_slice(*whole, &rows, 1, &a));
    return a;
}

static void shared(const char *path)
{
    double v[12];
    nd_array *whole = NULL, *a = two_rows(&whole);
    nd_ipc *x = export_to(path, a);
    other o = start(path);
    used(x);
    for (const char *c = "ilwaj"; *c; c++)
        tell(&o, *c);
    used(x);
    fine(nd_to_host(whole, v, sizeof v));
    printf("owner sees %g %g %g\n", v[5], v[6], v[11]);
    tell(&o, 'r');
    used(x);
    tell(&o, 's');
    tell(&o, 'o');
    used(x);
    tell(&o, 'i');
    nd_release(a);
    nd_release(whole);
    nd_ipc_release(x); /* the other process still has it */
    tell(&o, 'l');
    tell(&o, 'a');
    tell(&o, 'j');
    end(&o);
}

static void killed(const char *path)
{
    nd_array *whole = NULL, *a = two_rows(&whole);
    nd_ipc *x = export_to(path, whole);
    other o = start(path);
    tell(&o, 'i');
    used(x);
    kill(o.pid, SIGKILL);
    end(&o);
    used(x);
    nd_ipc_release(x);
    o = start(path);
    tell(&o, 'i');
    end(&o);
    nd_release(a);
    nd_release(whole);
}

/* The owner's work, then the other's behind its record, then the owner's behind that one's. */
static void in_order(const char *path)
{
    double v[12];
    char name[64];
    nd_event_handle h;
    nd_event *e = NULL, *plain = NULL, *own = NULL;
    nd_stream *s = NULL;
    const nd_event_opts opts = {.size = sizeof opts, .flags = ND_EVENT_INTERPROCESS};
    nd_array *whole = NULL, *a = two_rows(&whole);
    nd_ipc *x = export_to(path, whole);
    fine(nd_event_create(device, NULL, &plain));
    told("plain", nd_event_export(plain, &h));
    fine(nd_event_create(device, &opts, &e));
    fine(nd_event_export(e, &h));
    told("own event", nd_event_import(&h, &own));
    snprintf(name, sizeof name, "%s.event", path);
    FILE *f = fopen(name, "wb");
    if (!f || fwrite(h.bytes, sizeof h.bytes, 1, f) != 1)
        exit(1);
    fclose(f);
    fine(nd_stream_current(device, &s));
    other o = start(path);
    tell(&o, 'i');
    write_to(whole, 10);
    fine(nd_event_record(e, s));
    tell(&o, 'e');
    fine(nd_stream_wait_event(s, e));
    fine(nd_to_host(whole, v, sizeof v));
    printf("its work: %g %g\n", v[0], v[11]);
    nd_event_release(e);
    tell(&o, 'e');
    end(&o);
    h.bytes[100] ^= 1;
    told("broken", nd_event_import(&h, &own));
    unlink(name);
    nd_event_release(plain);
    nd_ipc_release(x);
    nd_stream_release(s);
    nd_release(a);
    nd_release(whole);
}

static int look(void)
{
    char path[] = "/tmp/ndock-ipc-test-XXXXXX";
    nd_ipc_handle h = {{0}};
    nd_array *none = NULL;
    close(mkstemp(path));
    alarm(600);
    fine(nd_device_get("cuda:0", &device));
    shared(path);
    puts("-");
    killed(path);
    puts("-");
    in_order(path);
    told("garbage", nd_ipc_import(&h, &none));
    int32_t yes = -1;
    fine(nd_device_can_access_peer(device, device, &yes));
    printf("itself %d\n", (int)yes);
    unlink(path);
    return 0;
}

/* ---- the one that judges ---- */
#define ONE "STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=shared"
#define SAYS(word, what)                   \
    do                                     \
        if (!has_text(answer, word, what)) \
            diag("%s", answer);            \
    while (0)

static void arrays(void)
{
    ask(MACHINE(ONE), NO_NVML);
    SAYS("own: ND_ERR_STATE ipc_import: this process has exported the array itself",
         "the process itself uses the array");
    SAYS("used 0\n  import: ND_OK \n  shape 2 of 2, stride 3, elements 6 7 11 on cuda:0\n",
         "another one sees the view");
    SAYS("alive 1\n  again: ND_OK \nused 1\nowner sees 5 100 105\n",
         "what it writes is seen by the owner, and nothing beside it changes");
    SAYS("used 1\n  open 0\nused 0\n", "the memory is closed with the last array over it");
    SAYS("import: ND_OK \n  shape 2 of 2, stride 3, elements 100 101 105 on cuda:0\n  alive 0\n  "
         "again: ND_ERR_STATE",
         "released by the owner the memory stays for those that have it, who can ask, and nobody "
         "else gets it");
    SAYS("-\nown: ND_ERR_STATE ipc_import: this process has exported the array itself, and can use "
         "that\n  import: ND_OK \nused 1\nused 0\n",
         "a process that is killed uses it no more");
    SAYS(
        "  import: ND_ERR_STATE ipc_import: the array was released by the process that exported it",
        "after the release there is nothing to import");
    SAYS("garbage: ND_ERR_ARGUMENT", "bytes that are no handle");
    SAYS("itself 1\n", "a device reaches itself");
}

static void events(void)
{
    ask(MACHINE(ONE), NO_NVML);
    SAYS("plain: ND_ERR_ARGUMENT event_export: the event was made without ND_EVENT_INTERPROCESS",
         "the flag is asked for");
    SAYS("own event: ND_ERR_STATE event_import: this process has exported the event itself",
         "the process itself uses the event");
    SAYS("event: ND_OK \n  shape 4 of 2, stride 3, elements 10 11 21 on cuda:0\n  done 1\n",
         "another one comes after its record");
    SAYS("passed on: ND_ERR_STATE event_export: the event is another process's", "and has it lent");
    SAYS("its work: 20 31\n", "the owner comes after the record of the other");
    SAYS("event: ND_ERR_STATE", "released it is not to be had any more");
    SAYS("broken: ND_ERR_ARGUMENT event_import: these bytes are no handle", "bytes that are none");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"arrays", arrays}, {"events", events}};
    if (argc > 2 && strcmp(argv[1], "--import") == 0) {
        fine(nd_device_get("cuda:0", &device));
        return import_side(argv[2]);
    }
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
