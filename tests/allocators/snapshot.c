/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Snapshots (C25): files for tests/allocators/snapshot.sh, which has Python judge them. Modes:
 *   write FOLDER    a scripted life of memory, saved as JSON, pickle and by the environment
 *   loop FILE       saves again and again until it is killed */
#include "tests/allocators/mock.h"

static nd_block *take(mock *m, mock_stream *s, uint64_t n, const char *tag)
{
    nd_backend *backend;
    nd_block *b;
    must(nd_tag_push(tag));
    must(nd__device_backend(&m->device, &backend));
    must(backend->type->alloc(backend, s ? &s->s : NULL, n, &b));
    must(nd_tag_pop());
    return b;
}

static void give(nd_block *b)
{
    b->backend->type->free(b);
}

/* 3 blocks live, of 1000, 2 MiB and 5 bytes; one of 300 pending; a note, a failure. */
static mock *script(void)
{
    mock *m = mock_device(0), *other = mock_device(1);
    mock_stream *s = mock_stream_new(m, 12);
    nd_allocator *none;
    nd_block *b;
    nd_backend *backend;
    must(nd_allocator_named("none", &none));
    must(nd_allocator_set(&m->device, none));
    must(nd_allocator_set(&other->device, none));
    (void)take(m, s, 1000, "weights");
    give(take(m, s, 77, "scratch \"quoted\" \\ \n line"));
    (void)take(m, NULL, 2 << 20, "activations \xc3\xa4");
    (void)take(other, NULL, 5, "not UTF-8 \xff");
    must(nd_memory_trace_note(&m->device, "epoch 1"));
    m->limit = 4 << 20;
    must(nd__device_backend(&m->device, &backend));
    if (backend->type->alloc(backend, NULL, 3 << 20, &b) != ND_ERR_MEMORY)
        bail("3 MiB fitted");
    b = take(m, s, 300, "late");
    mock_work(s);
    give(b);
    return m;
}

static int write_files(const char *folder)
{
    char path[512];
    mock *m;
    snprintf(path, sizeof path, "%s/exit.json", folder);
    setenv("NDOCK_MEMORY_SNAPSHOT", path, 1);
    m = script();
    snprintf(path, sizeof path, "%s/one.json", folder);
    must(nd_memory_snapshot_save(&m->device, path, ND_SNAPSHOT_JSON));
    snprintf(path, sizeof path, "%s/all.json", folder);
    must(nd_memory_snapshot_save(NULL, path, ND_SNAPSHOT_JSON));
    snprintf(path, sizeof path, "%s/all.pickle", folder);
    must(nd_memory_snapshot_save(NULL, path, ND_SNAPSHOT_PICKLE));
    is_int(nd_memory_snapshot_save(NULL, path, 2), ND_ERR_ARGUMENT, "an unknown format");
    is_int(nd_memory_snapshot_save(NULL, "/nowhere/x", 0), ND_ERR_IO, "a folder that is not there");
    is_int(nd_memory_snapshot_save(NULL, NULL, 0), ND_ERR_ARGUMENT, "no path");
    return tap_failures != 0;
}

_Noreturn static void loop(const char *path)
{
    must(nd_memory_trace_set(1000));
    mock *m = script();
    for (int i = 0; i < 500; i++)
        must(nd_memory_trace_note(&m->device, "filling the file with a line that takes some time"));
    for (;;)
        must(nd_memory_snapshot_save(NULL, path, ND_SNAPSHOT_JSON));
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "write") == 0)
        return write_files(argv[2]);
    if (argc == 3 && strcmp(argv[1], "loop") == 0)
        loop(argv[2]);
    fprintf(stderr, "Usage: snapshot write FOLDER | loop FILE\n");
    return 2;
}
