/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Making the call of a line: its words become arguments by the kinds of core/hook/slot.def. */
#include <stdio.h>
#include <stdlib.h>
#include "tools/replay/replay.h"

/* What a plug-in may write to, for the time of a call. */
typedef struct {
    void *handle[HOOK_ARGUMENTS];
    union {
        uint64_t number;
        ndp_device_info info;
        ndp_pointer_info pointer;
        ndp_code_limits limits;
        char text[1024];
    } result[HOOK_ARGUMENTS];
} outputs;
typedef struct {
    replay_state *r;
    const replay_line *line;
    const hook_slot *slot;
    replay_device *device;
    replay_record *record;
    outputs *out;
} making;

static const hook_slot *slot_of(const char *function)
{
    for (int i = 0; i < HOOK_SLOTS; i++) {
        const hook_slot *s = &nd__hook_slots[i];
        size_t n = strlen(s->table);
        if (strncmp(s->table, function, n) == 0 && function[n] == '.' &&
            strcmp(s->name, function + n + 1) == 0)
            return s;
    }
    return NULL;
}

/* Calls that belong to the one who keeps the device open, or to somebody outside. */
static const char *left_out(const hook_slot *s)
{
    static const char *const names[][2] = {
        {"plugin.open", "the device is open"},
        {"plugin.close", "the device stays open"},
        {"plugin.shutdown", "the device stays open"},
        {"stream.wrap", "it wraps a stream of somebody else"},
        {"pointer.info", "it asks about an address of that process"},
        {"map.is_pinned", "it asks about an address of that process"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slot_of(names[i][0]) == s)
            return names[i][1];
    return NULL;
}

static void no_function(void *arg)
{
    (void)arg;
}

static uint64_t unsigned_of(const making *m, const char *key)
{
    const char *text = replay_value(m->line, key, 0);
    return text && text[0] == '-' ? (uint64_t)strtoll(text, NULL, 10)
           : text                 ? strtoull(text, NULL, 0)
                                  : 0;
}

static const char *handle(const making *m, int i, uint64_t *word)
{
    char type = nd__hook_object(m->slot->arg[i].kind);
    const char *text = replay_value(m->line, m->slot->arg[i].name, 0);
    *word = 0;
    if (!text || strcmp(text, "0") == 0)
        return NULL;
    replay_object *o = text[0] == type
                           ? replay_object_at(m->r, type, (uint32_t)strtoul(text + 1, NULL, 10))
                           : NULL;
    if (!o || !o->handle)
        return "it uses an object that was not made";
    *word = (uint64_t)(uintptr_t)o->handle;
    if (nd__hook_family(m->slot->arg[i].kind) == HOOK_END)
        o->handle = NULL;
    return NULL;
}

/* Memory of the device's own plays the part of foreign memory. */
static const char *address(const making *m, uint64_t *word)
{
    const void *p = NULL, *map = NULL;
    ndp_dev *dev;
    ndp_mem *mem = NULL;
    uint64_t nbytes = unsigned_of(m, "nbytes");
    if (nd_device_group(m->device->device, "ndp.plugin/0", &p, &dev) != ND_OK ||
        nd_device_group(m->device->device, "ndp.map/1", &map, &dev) != ND_OK || !map ||
        ((const ndp_plugin *)p)->alloc(dev, nbytes ? nbytes : 1, &mem) != NDP_OK ||
        ((const ndp_map_1 *)map)->address(dev, mem, word) != NDP_OK)
        return "there is no memory to wrap";
    return NULL;
}

static const char *peer(const making *m, int i, uint64_t *word)
{
    char name[80];
    const char *index = replay_value(m->line, m->slot->arg[i].name, 0);
    snprintf(name, sizeof name, "%.*s:%s", (int)strcspn(m->line->device, ":"), m->line->device,
             index ? index : "");
    replay_device *d = replay_device_get(m->r, name);
    *word = d ? (uint64_t)(uintptr_t)d->dev : 0;
    return d ? NULL : "its other device is not there";
}

static const char *output(const making *m, int i, uint64_t *word)
{
    *word = (uint64_t)(uintptr_t)&m->out->result[i];
    m->out->result[i].number = 0;
    if (m->slot->arg[i].kind == HOOK_KIND_OUT_INFO)
        m->out->result[i].info.size = sizeof m->out->result[i].info;
    if (m->slot->arg[i].kind == HOOK_KIND_OUT_POINTER)
        m->out->result[i].pointer.size = sizeof m->out->result[i].pointer;
    if (m->slot->arg[i].kind == HOOK_KIND_OUT_LIMITS)
        m->out->result[i].limits.size = sizeof m->out->result[i].limits;
    if (nd__hook_family(m->slot->arg[i].kind) == HOOK_OUT) {
        m->out->handle[i] = NULL;
        *word = (uint64_t)(uintptr_t)&m->out->handle[i];
    }
    return NULL;
}

static const char *buffer(const making *m, uint64_t *word)
{
    uint64_t nbytes = unsigned_of(m, "nbytes");
    *word = (uint64_t)(uintptr_t)replay_bytes(m->r, nbytes);
    return *word ? NULL : "there is no memory for its bytes";
}

static const char *record(const making *m, hook_kind kind, uint64_t *word)
{
    if (kind == HOOK_KIND_CALL) {
        *word = (uint64_t)(uintptr_t)&m->record->call;
        return replay_call_record(m->r, m->line, m->record);
    }
    if (kind == HOOK_KIND_LAUNCH) {
        *word = (uint64_t)(uintptr_t)&m->record->launch;
        return replay_launch_record(m->r, m->line, m->record);
    }
    *word = (uint64_t)(uintptr_t)&m->record->source;
    return replay_source_record(m->line, m->record);
}

static uint64_t mnk(const making *m)
{
    const char *text = replay_value(m->line, "mnk", 0);
    long long a, b, c;
    if (!text || sscanf(text, "[%lld,%lld,%lld]", &a, &b, &c) != 3)
        return 0;
    m->record->mnk[0] = a;
    m->record->mnk[1] = b;
    m->record->mnk[2] = c;
    return (uint64_t)(uintptr_t)m->record->mnk;
}

static const char *argument(const making *m, int i, uint64_t *word)
{
    hook_kind kind = m->slot->arg[i].kind;
    const char *name = m->slot->arg[i].name;
    if (nd__hook_family(kind) >= HOOK_OUT)
        return output(m, i, word);
    switch (kind) {
    case HOOK_KIND_DEV:
        *word = (uint64_t)(uintptr_t)m->device->dev;
        return NULL;
    case HOOK_KIND_PEER:
        return peer(m, i, word);
    case HOOK_KIND_CALL:
    case HOOK_KIND_LAUNCH:
    case HOOK_KIND_SOURCE:
        return record(m, kind, word);
    case HOOK_KIND_SRC:
    case HOOK_KIND_DST:
        return buffer(m, word);
    case HOOK_KIND_HOST: /* locked from now on, so it stays */
        *word = (uint64_t)(uintptr_t)malloc((size_t)unsigned_of(m, "nbytes"));
        return NULL;
    case HOOK_KIND_ADDRESS:
        return address(m, word);
    case HOOK_KIND_FUNCTION_OF_HOST:
        *word = (uint64_t)(uintptr_t)no_function;
        return NULL;
    case HOOK_KIND_TEXT:
        *word = (uint64_t)(uintptr_t)replay_value(m->line, name, 0);
        return NULL;
    case HOOK_KIND_OP:
        *word = (uint64_t)nd_op_find(replay_value(m->line, name, 0));
        return NULL;
    case HOOK_KIND_MNK:
        *word = mnk(m);
        return NULL;
    case HOOK_KIND_SIZE: /* of texts: our own room */
        *word = unsigned_of(m, name) < 1024 ? unsigned_of(m, name) : 1024;
        return NULL;
    default:
        if (nd__hook_family(kind) != HOOK_IN)
            return handle(m, i, word);
        *word = unsigned_of(m, name);
        return NULL;
    }
}

/* The table that has the function; a kernel is its own. */
static const char *table(const making *m, const uint64_t *word, const void **out)
{
    const char *id = nd__hook_tables[m->slot->in].id;
    ndp_dev *dev;
    void (*function)(void) = NULL;
    *out = (const void *)(uintptr_t)word[0];
    if (m->slot->in != HOOK_TABLE_kernel &&
        (nd_device_group(m->device->device, id[0] ? id : "ndp.plugin/0", out, &dev) != ND_OK ||
         !*out || *(const uint32_t *)*out < m->slot->offset + sizeof function))
        return "the plug-in lacks it";
    memcpy(&function, (const char *)*out + m->slot->offset, sizeof function);
    return function ? NULL : "the plug-in lacks it";
}

static void keep(const making *m)
{
    for (uint32_t i = 0; i < m->slot->n; i++) {
        char type = nd__hook_object(m->slot->arg[i].kind);
        const char *text = replay_result(m->line, m->slot->arg[i].name);
        if (nd__hook_family(m->slot->arg[i].kind) != HOOK_OUT || !text || text[0] != type)
            continue;
        replay_object *o = replay_object_at(m->r, type, (uint32_t)strtoul(text + 1, NULL, 10));
        if (o)
            *o = (replay_object){m->out->handle[i], m->device};
    }
}

static const char *make(const making *m, uint64_t *result)
{
    uint64_t word[HOOK_ARGUMENTS] = {0};
    const void *own, *plugin;
    ndp_dev *dev;
    const char *wrong = NULL;
    for (uint32_t i = 0; !wrong && i < m->slot->n; i++)
        wrong = argument(m, (int)i, &word[i]);
    if (!wrong)
        wrong = table(m, word, &own);
    if (wrong)
        return wrong;
    bool outside = strcmp(m->line->status, "INDEX") == 0;
    if (strcmp(m->slot->name, "run") == 0 &&
        nd_device_group(m->device->device, "ndp.plugin/0", &plugin, &dev) == ND_OK)
        replay_tame(plugin, dev, (ndp_stream *)(uintptr_t)word[1], &m->record->call, outside);
    *result = m->slot->call(own, word);
    if (m->slot->status && (int32_t)*result == NDP_OK)
        keep(m);
    return NULL;
}

const char *replay_make(replay_state *r, const replay_line *line, const hook_slot **slot,
                        uint64_t *result)
{
    static replay_record record;
    static outputs out;
    making m = {r, line, slot_of(line->function), NULL, &record, &out};
    *slot = m.slot;
    if (!m.slot)
        return "this ndock knows no such function";
    const char *why = left_out(m.slot);
    if (why || line->injected || line->refused)
        return why ? why : "the plug-in was not asked then either";
    m.device = replay_device_get(r, line->device);
    return m.device ? make(&m, result) : "its device is not there";
}
