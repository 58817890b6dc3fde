/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Making the call of a line: its words become arguments by the kinds of core/plugin/hook/slot.def. */
#include <stdio.h>
#include <stdlib.h>
#include "tools/replay/replay.h"
#include "tools/tool.h"

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
    return s->in == HOOK_TABLE_comm ? "it needs the other ranks" : NULL;
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

/* The object that argument i names, as "m1" does; NULL: it names none. */
static replay_object *object(const making *m, int i)
{
    char type = nd__hook_object(m->slot->arg[i].kind);
    const char *text = replay_value(m->line, m->slot->arg[i].name, 0);
    return text && text[0] == type
               ? replay_object_at(m->r, type, (uint32_t)strtoul(text + 1, NULL, 10))
               : NULL;
}

static const char *handle(const making *m, int i, uint64_t *word)
{
    char type = nd__hook_object(m->slot->arg[i].kind);
    const char *text = replay_value(m->line, m->slot->arg[i].name, 0);
    *word = 0;
    if (!text || strcmp(text, "0") == 0)
        return NULL;
    replay_object *o = object(m, i);
    if (text[0] != type || !o || !o->handle)
        return replay_blame(m->r, "it uses an object that was not made");
    *word = (uint64_t)(uintptr_t)o->handle;
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
    case HOOK_KIND_PROGRAM:
        return "its program is an expression's, which is not replayed";
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

/* A block of the slot is followed by an offset in it, and the call has one number of bytes. What is
 * too much for the block is not even made room for. */
static const char *ranges(const making *m)
{
    int n = -1;
    for (int i = 0; i < (int)m->slot->n; i++)
        n = m->slot->arg[i].kind == HOOK_KIND_NBYTES ? i : n;
    for (int i = 0; n >= 0 && i + 1 < (int)m->slot->n; i++) {
        if (m->slot->arg[i].kind != HOOK_KIND_MEM || m->slot->arg[i + 1].kind != HOOK_KIND_OFFSET)
            continue;
        const replay_object *o = object(m, i);
        uint64_t offset = unsigned_of(m, m->slot->arg[i + 1].name);
        uint64_t nbytes = unsigned_of(m, m->slot->arg[n].name);
        if (!o || !o->handle)
            return replay_blame(m->r, "it uses a block that was not made");
        if (offset > o->nbytes || nbytes > o->nbytes - offset)
            return replay_blame(m->r, "it reaches out of its block");
    }
    return NULL;
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

/* ---- what the trace makes and ends ---- */
static bool is_end_of(const hook_slot *s, char type)
{
    const hook_argument *last = s->n ? &s->arg[s->n - 1] : NULL;
    return last && nd__hook_family(last->kind) == HOOK_END && nd__hook_object(last->kind) == type;
}

/* The function that ends such objects: the one in the table that made it, else any. */
static const hook_slot *end_of(char type, hook_table by)
{
    const hook_slot *found = NULL;
    for (int i = 0; i < HOOK_SLOTS; i++) {
        const hook_slot *s = &nd__hook_slots[i];
        if (is_end_of(s, type) && (!found || s->in == by))
            found = s;
    }
    return found;
}

static void end_object(replay_object *o, char type)
{
    const hook_slot *s = o->handle && o->of ? end_of(type, o->by) : NULL;
    const char *id = s ? nd__hook_tables[s->in].id : "";
    uint64_t word[HOOK_ARGUMENTS] = {0};
    const void *own = NULL;
    ndp_dev *dev;
    if (s && nd_device_group(o->of->device, id[0] ? id : "ndp.plugin/0", &own, &dev) == ND_OK &&
        own) {
        word[0] = (uint64_t)(uintptr_t)o->of->dev;
        word[s->n - 1] = (uint64_t)(uintptr_t)o->handle;
        (void)s->call(own, word);
    }
    *o = (replay_object){0};
}

/* Graphs and events before the memory and the streams that they may use. */
void replay_end(replay_state *r)
{
    static const char order[] = "xgecms";
    for (replay_device *d = r->devices; d; d = d->next)
        if (d->dev && nd_synchronize(d->device) != ND_OK)
            tool_failed(d->name);
    for (const char *type = order; *type; type++)
        for (uint32_t i = 0; i < r->n_objects[(unsigned char)*type]; i++)
            end_object(&r->objects[(unsigned char)*type][i], *type);
}

/* What a kernel may count on: the operation and the dtypes that it was found for. */
static uint64_t signature(const ndp_call *call)
{
    uint64_t h = (uint64_t)call->op << 32 | call->n_in << 16 | call->n_out;
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++) {
        const ndp_view *v = i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
        h = (h ^ (uint64_t)(2 * v->dtype + (v->mem == NULL))) * UINT64_C(0x100000001b3);
    }
    return h;
}

static bool was_found(const replay_state *r, const void *kernel, uint64_t key)
{
    for (size_t i = 0; i < r->n_found; i++)
        if (r->found[i].kernel == kernel && r->found[i].key == key)
            return true;
    return false;
}

static void keep_found(const making *m, const void *kernel)
{
    replay_state *r = m->r;
    const uint64_t key = signature(&m->record->call);
    if (was_found(r, kernel, key))
        return;
    if (r->n_found == r->room_found) {
        size_t room = r->room_found ? 2 * r->room_found : 64;
        void *more = realloc(r->found, room * sizeof *r->found);
        if (!more)
            return; /* its calls are refused later */
        r->found = more;
        r->room_found = room;
    }
    r->found[r->n_found].kernel = kernel;
    r->found[r->n_found++].key = key;
}

static void keep(const making *m)
{
    for (uint32_t i = 0; i < m->slot->n; i++) {
        char type = nd__hook_object(m->slot->arg[i].kind);
        const char *text = replay_result(m->line, m->slot->arg[i].name);
        int family = nd__hook_family(m->slot->arg[i].kind);
        if (family == HOOK_END && object(m, (int)i))
            *object(m, (int)i) = (replay_object){0};
        if (family != HOOK_OUT || !text || text[0] != type)
            continue;
        replay_object *o = replay_object_at(m->r, type, (uint32_t)strtoul(text + 1, NULL, 10));
        if (!o)
            continue;
        if (o->handle != m->out->handle[i])
            end_object(o, type); /* a trace that gives two objects one number */
        if (type == 'k')
            keep_found(m, m->out->handle[i]);
        *o = (replay_object){m->out->handle[i], m->device, m->slot->in, unsigned_of(m, "nbytes")};
    }
}

/* A kernel that was found for another call may read operands that this one does not have. */
static const char *kernel(const making *m, const uint64_t *word)
{
    if (m->slot->in != HOOK_TABLE_kernel ||
        was_found(m->r, (const void *)(uintptr_t)word[0], signature(&m->record->call)))
        return NULL;
    return replay_blame(m->r, "its kernel was not found for such operands");
}

static const char *make(const making *m, uint64_t *result)
{
    uint64_t word[HOOK_ARGUMENTS] = {0};
    const void *own, *plugin;
    ndp_dev *dev;
    const char *wrong = ranges(m);
    for (uint32_t i = 0; !wrong && i < m->slot->n; i++)
        wrong = argument(m, (int)i, &word[i]);
    wrong = wrong ? wrong : kernel(m, word);
    wrong = wrong ? wrong : table(m, word, &own);
    if (wrong)
        return wrong;
    bool outside = strcmp(m->line->status, "INDEX") == 0;
    if (strcmp(m->slot->name, "run") == 0 &&
        nd_device_group(m->device->device, "ndp.plugin/0", &plugin, &dev) == ND_OK)
        replay_tame(plugin, dev, (ndp_stream *)(uintptr_t)word[1], &m->record->call, outside);
    *result = m->slot->call(own, word);
    if (!m->slot->status || (int32_t)*result == NDP_OK)
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
