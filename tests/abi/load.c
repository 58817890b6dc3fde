/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group B: loading. The entry, the table, the note, what devices say, opening and closing. */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ndock/note.h>
#include "abi.h"
#include "load.h"

static void entry_pure(void)
{
    abi_entry_fn entry = abi_entry(abi.file);
    int threads = abi_threads(), fds = abi_fds();
    unsigned char before[sizeof(ndp_plugin)];
    const ndp_plugin *t = entry(&abi_host);
    abi_need(t != NULL, "its entry refuses this host: %s", abi_error_text());
    size_t n = t->size < sizeof before ? t->size : sizeof before;
    memcpy(before, t, n);
    const ndp_plugin *again = entry(&abi_host);
    abi_expect(again == t, "the second call of the entry gives another table: %p, not %p",
               (const void *)again, (const void *)t);
    abi_expect(memcmp(before, t, n) == 0, "the second call of the entry changes the table");
    abi_expect(abi_threads() <= threads, "the entry starts %d threads", abi_threads() - threads);
    abi_expect(abi_fds() == fds, "the entry leaves %d more files open", abi_fds() - fds);
}

static void check_name(const char *name)
{
    bool good = name && name[0] >= 'a' && name[0] <= 'z';
    for (const char *p = name; good && *p; p++)
        good = (*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '_';
    abi_expect(good, "its name is \"%s\", not of the form [a-z][a-z0-9_]*", name ? name : "NULL");
}

static void table(void)
{
#define REQUIRED(field)                     \
    {                                       \
#field, offsetof(ndp_plugin, field) \
    }
    static const struct {
        const char *name;
        size_t offset;
    } required[] = {REQUIRED(probe), REQUIRED(info),    REQUIRED(open),  REQUIRED(close),
                    REQUIRED(alloc), REQUIRED(free),    REQUIRED(write), REQUIRED(read),
                    REQUIRED(sync),  REQUIRED(shutdown)};
    abi_load();
    abi_expect(abi.p.major == NDP_ABI_MAJOR && abi.p.minor == NDP_ABI_MINOR,
               "its table is of ABI %u.%u, this kit's is %d.%d; before 1.0 they must be equal",
               abi.p.major, abi.p.minor, NDP_ABI_MAJOR, NDP_ABI_MINOR);
    check_name(abi.p.name);
    abi_expect(abi.p.version && abi.p.version[0], "its table has no version");
    abi_expect(abi.p.vendor && abi.p.vendor[0], "its table has no vendor");
    abi_expect(abi.table->size < 65536 && abi.table->size % sizeof(void *) == 0,
               "the size of its table is %u bytes", abi.table->size);
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        void *slot;
        memcpy(&slot, (char *)&abi.p + required[i].offset, sizeof slot);
        abi_expect(slot != NULL, "the required function %s is NULL", required[i].name);
    }
}

static int find_note(struct dl_phdr_info *info, size_t size, void *out)
{
    char full[4096];
    (void)size;
    if (!info->dlpi_name || !realpath(info->dlpi_name, full) || strcmp(full, abi.file) != 0)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        const char *p = (const char *)(uintptr_t)(info->dlpi_addr + ph->p_vaddr);
        const char *begin = p, *end = p + ph->p_memsz;
        size_t align = ph->p_align == 8 ? 8 : 4; /* of contents and of the next note */
        while (ph->p_type == PT_NOTE && end - p >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) h;
            memcpy(&h, p, sizeof h);
            const char *owner = p + sizeof h;
            size_t at = (size_t)(owner - begin) + h.n_namesz;
            const char *desc = begin + (at + align - 1) / align * align;
            if (desc + h.n_descsz > end)
                break;
            if (h.n_type == NDP_NOTE_TYPE && h.n_namesz == sizeof NDP_NOTE_OWNER &&
                memcmp(owner, NDP_NOTE_OWNER, sizeof NDP_NOTE_OWNER) == 0)
                memcpy(out, desc, h.n_descsz < sizeof(ndp_note) ? h.n_descsz : sizeof(ndp_note));
            at = (size_t)(desc - begin) + h.n_descsz;
            p = begin + (at + align - 1) / align * align;
        }
    }
    return 1;
}

/* The note lists the id, as a whole word. */
static bool noted(const ndp_note *note, const char *id)
{
    size_t n = strlen(id);
    for (const char *p = note->groups; (p = strstr(p, id)) != NULL; p += n)
        if ((p == note->groups || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0))
            return true;
    return false;
}

static void note(void)
{
    ndp_note n = {0};
    abi_load();
    dl_iterate_phdr(find_note, &n);
    abi_need(n.size != 0, "the file has no note; see NDP_PLUGIN_NOTE of <ndock/note.h>");
    n.name[sizeof n.name - 1] = n.version[sizeof n.version - 1] = 0;
    n.groups[sizeof n.groups - 1] = 0;
    abi_expect(n.abi_major == abi.p.major && n.abi_minor == abi.p.minor,
               "the note says ABI %u.%u, the table %u.%u", n.abi_major, n.abi_minor, abi.p.major,
               abi.p.minor);
    abi_expect(abi.p.name && strcmp(n.name, abi.p.name) == 0,
               "the note says name \"%s\", the table \"%s\"", n.name,
               abi.p.name ? abi.p.name : "NULL");
    abi_expect(abi.p.version && strncmp(n.version, abi.p.version, sizeof n.version - 1) == 0,
               "the note says version \"%s\", the table \"%s\"", n.version,
               abi.p.version ? abi.p.version : "NULL");
    abi_open();
    abi_expect(n.priority == abi.info.priority, "the note says priority %d, the device %d",
               (int)n.priority, (int)abi.info.priority);
    uint64_t dtypes = n.dtypes[0] | (uint64_t)n.dtypes[1] << 32;
    abi_expect((abi.info.dtypes & ~dtypes) == 0,
               "the device has dtypes that the note leaves out: bits 0x%llx",
               (unsigned long long)(abi.info.dtypes & ~dtypes));
    for (const abi_group_rule *g = abi_group_rules; g->id; g++)
        if (abi_group(abi.dev, g->id))
            abi_expect(noted(&n, g->id), "the device offers %s, and the note does not list it",
                       g->id);
}

static void bad_index(void)
{
    const uint32_t wrong[] = {abi.n_devices, abi.n_devices + 1, INT32_MAX, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char what[64];
        ndp_dev *dev = NULL;
        ndp_device_info info = {.size = NDP_END(ndp_device_info, unique_id)};
        snprintf(what, sizeof what, "info(%u) of %u devices", wrong[i], abi.n_devices);
        abi_refused(abi.p.info(wrong[i], &info), 0, what);
        snprintf(what, sizeof what, "open(%u) of %u devices", wrong[i], abi.n_devices);
        abi_refused(abi.p.open(wrong[i], &dev), 0, what);
    }
}

static void info(void)
{
    for (uint32_t i = 0; i < abi.n_devices; i++) {
        ndp_device_info d = {.size = NDP_END(ndp_device_info, unique_id)};
        abi_call(abi.p.info(i, &d), "info");
        uint64_t a = d.align_bytes;
        abi_expect(a && !(a & (a - 1)), "device %u: align_bytes is %llu, no power of two", i,
                   (unsigned long long)a);
        abi_expect(d.dtypes && !(d.dtypes >> NDP_DTYPE_END) && !(d.dtypes & 1),
                   "device %u: dtypes is 0x%llx; bits 1 to %d are dtypes", i,
                   (unsigned long long)d.dtypes, NDP_DTYPE_END - 1);
        abi_expect(d.max_alloc_bytes > 0 && d.memory_bytes > 0,
                   "device %u: memory_bytes is %llu, max_alloc_bytes %llu; neither is 0", i,
                   (unsigned long long)d.memory_bytes, (unsigned long long)d.max_alloc_bytes);
        abi_expect(memchr(d.name, 0, sizeof d.name) && d.name[0], "device %u has no name", i);
        abi_expect(memchr(d.unique_id, 0, sizeof d.unique_id) != NULL,
                   "device %u: its unique_id has no end", i);
        abi_expect(!(d.flags & ~(NDP_DEV_HOST_VISIBLE | NDP_DEV_ASYNC)),
                   "device %u: flags has bits 0x%x, which mean nothing", i, d.flags);
    }
}

static void info_sizes(void)
{
    const uint32_t sizes[] = {
        NDP_END(ndp_device_info, flags),     NDP_END(ndp_device_info, align_bytes),
        NDP_END(ndp_device_info, dtypes),    NDP_END(ndp_device_info, name),
        NDP_END(ndp_device_info, unique_id), NDP_END(ndp_device_info, unique_id) + 64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        union {
            ndp_device_info info;
            unsigned char bytes[sizeof(ndp_device_info) + 128];
        } d;
        memset(&d, 0xa5, sizeof d);
        d.info.size = sizes[i];
        int32_t status = abi.p.info(0, &d.info);
        size_t own = sizes[i] < sizeof d.info ? sizes[i] : sizeof d.info, k = own;
        while (k < sizeof d && d.bytes[k] == 0xa5)
            k++;
        abi_expect(k == sizeof d, "info with size %u writes byte %zu", sizes[i], k);
        abi_expect(d.info.size == sizes[i], "info changes size from %u to %u", sizes[i],
                   d.info.size);
        abi_expect(status == NDP_OK || abi_error_text()[0],
                   "info with size %u answers %d without a text", sizes[i], (int)status);
        abi_expect(status == NDP_OK || sizes[i] < NDP_END(ndp_device_info, unique_id),
                   "info refuses size %u: %s", sizes[i], abi_error_text());
        abi_error_clear();
    }
}

/* What probe says where there is nothing, in room of any size. */
static void why(void)
{
    char room[300], none[512] = "";
    uint32_t count = 0, again = 0;
    int32_t status = abi.p.probe(&count, none, sizeof none);
    if (status != NDP_OK || count == 0)
        abi_expect(none[0] || abi_error_text()[0], "probe finds nothing and says no reason");
    for (size_t n = 1; n <= 256; n *= 4) {
        memset(room, 0x5a, sizeof room);
        room[0] = 0;
        abi.p.probe(&again, room, n);
        size_t k = n;
        while (k < sizeof room && room[k] == 0x5a)
            k++;
        abi_expect(k == sizeof room, "probe writes byte %zu of a why of %zu", k, n);
        abi_expect(status != NDP_OK || count == 0 || again == count,
                   "probe counts %u devices, then %u", count, again);
    }
}

/* ---- opening and closing ---- */
static void one_cycle(void)
{
    ndp_dev *dev = NULL;
    ndp_mem *mem = NULL;
    char byte = 1;
    abi_call(abi.p.open(0, &dev), "open(0) after close");
    abi_call(abi.p.alloc(dev, 4096, &mem), "alloc after close and open");
    abi_call(abi.p.write(dev, NULL, mem, 7, &byte, 1), "write after close and open");
    abi.p.free(dev, mem);
    abi.p.close(dev);
}

/* Up to 1000 cycles, fewer where they are slow; the first tenth may fill caches. */
static void open_close(void)
{
    int cycles = 0, threads = 0, fds = 0;
    int64_t heap = 0, live = 0;
    double end = abi_seconds() + abi.timeout_s / 4.0;
    abi_close();
    for (; cycles < 1000 && (abi_seconds() < end || cycles < 20); cycles++) {
        one_cycle();
        if (cycles != 10)
            continue;
        threads = abi_threads();
        fds = abi_fds();
        heap = abi_heap_bytes();
        live = abi_host_live();
    }
    int64_t grown = abi_heap_bytes() - heap, n = cycles - 11;
    int more = abi_threads_above(threads);
    abi_expect(abi_fds() <= fds, "%lld cycles left %d more files open", (long long)n,
               abi_fds() - fds);
    abi_expect(more == 0, "%lld cycles left %d more threads", (long long)n, more);
    abi_expect(abi_host_live() <= live, "%lld cycles left %lld more blocks of host->alloc",
               (long long)n, (long long)(abi_host_live() - live));
    /* Where cycles are slow there is a driver, which keeps a little of each context. */
    abi_expect(grown < 65536 && grown < (cycles < 1000 ? 1024 : 64) * n + 4096,
               "%lld cycles left %lld more bytes in use", (long long)n, (long long)grown);
    abi_diag("%d cycles", cycles);
}

static void shutdown_twice(void)
{
    abi_close();
    abi_life(false);
    abi.p.shutdown();
    for (int i = 0; i < 2000 && abi_plugin_threads() > 0; i++)
        abi_sleep_ms(1);
    abi_expect(abi_plugin_threads() <= 0, "after shutdown %d threads of the plug-in still run",
               abi_plugin_threads());
    abi.p.shutdown();
}

const abi_check abi_load_checks[] = {
    {"B.entry_pure", "the entry may be called twice, and starts no thread and opens no file",
     entry_pure, 0},
    {"B.table", "the table has its required functions, a name, a version and this ABI", table, 0},
    {"B.note", "the note in the file agrees with the table and the device", note, 0},
    {"B.host_truncated", "a shorter host table is refused with a text, or not read past its end",
     abi_check_host_truncated, 0},
    {"B.host_extended", "a longer host table is taken", abi_check_host_extended, 0},
    {"B.host_constant", "the host table is not written to", abi_check_host_constant, 0},
    {"B.no_services", "absent services and plug-ins are lived without, or a reason given",
     abi_check_no_services, 0},
    {"B.bad_index", "a device that is not there is refused with a text", bad_index, ABI_DEVICE},
    {"B.info", "what info says of each device makes sense", info, ABI_DEVICE},
    {"B.info_sizes", "info writes within the size it is given", info_sizes, ABI_DEVICE},
    {"B.why", "probe gives a reason where it finds nothing, and keeps to its room", why,
     ABI_LOADED},
    {"B.groups", "groups are the same table each time, complete, and NULL for unknown ids",
     abi_check_groups, ABI_DEVICE},
    {"B.race", "groups may be asked for by several threads at once", abi_check_race, ABI_LOADED},
    {"B.open_close", "opening and closing many times leaves nothing behind", open_close,
     ABI_DEVICE},
    {"B.shutdown_twice", "shutdown ends the plug-in's threads and may be called twice",
     shutdown_twice, ABI_DEVICE},
    {NULL, NULL, NULL, 0}};
