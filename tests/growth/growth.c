/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How the ABI grows: a plug-in with shorter tables on this core, one with longer tables on this
 * core, and this tree's plug-ins and the mocks on hosts with shorter and longer tables. All such
 * tables end at memory that nobody may touch, so that a byte too much is a crash. */
#include <dlfcn.h>
#include <sys/wait.h>
#include <ndock/ndock.h>
#include <ndock/plugin.h>
#include "tests/growth/guard.h"
#include "tests/tap.h"

/* The verdict of look() in a process of its own. */
static int in_child(int (*look)(const void *), const void *arg)
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(600);
        int verdict = look(arg);
        if (verdict)
            printf("# %d: %s\n", verdict, nd_last_error()->message);
        fflush(NULL);
        _exit(verdict);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static void path_of(const char *name, char *out, size_t n)
{
    char here[2048];
    const char *at = strcmp(name, "cpu") == 0   ? "backends/cpu"
                     : strcmp(name, "sim") == 0 ? "plugins/sim"
                                                : "tests/growth";
    snprintf(out, n, "%s/%s/.libs/ndock-%s.so", getcwd(here, sizeof here), at, name);
}

/* ---- old and new plug-ins on this core ---- */
static int sum_on(nd_device *d, float *out)
{
    const int64_t shape[1] = {4};
    const float one[4] = {1, 2, 3, 4};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = shape};
    nd_array *a = NULL, *b = NULL, *c = NULL;
    int bad = nd_from_host(&layout, one, d, &a) != ND_OK || nd_add(a, a, &b) != ND_OK ||
              nd_multiply(b, a, &c) != ND_OK || nd_to_host(b, out, 16) != ND_OK ||
              nd_to_host(c, out + 4, 16) != ND_OK;
    nd_release(a);
    nd_release(b);
    nd_release(c);
    return bad;
}

static int look_at_plugin(const void *name)
{
    char path[4096], device[16], key[32], value[32];
    nd_device *d = NULL;
    float sum[8];
    int is_new = strcmp(name, "new") == 0;
    uint64_t free_bytes, total;
    path_of(name, path, sizeof path);
    snprintf(device, sizeof device, "%s:0", (const char *)name);
    setenv("NDOCK_FALLBACK", "allow", 1);
    if (nd_plugin_load(path) != ND_OK || nd_device_get(device, &d) != ND_OK)
        return 1;
    if (sum_on(d, sum))
        return 2;
    for (int i = 0; i < 4; i++) {
        float want = 2.0f * (float)(i + 1) + (is_new ? 1000.0f : 0.0f);
        if (sum[i] != want || sum[4 + i] != want * (float)(i + 1))
            return 3; /* add by its own kernel if it has one, multiply by the CPU */
    }
    if ((nd_device_fact(d, 0, key, value, sizeof value) == ND_OK) != is_new)
        return 4;
    if (nd_memory_usage(d, &free_bytes, &total) != ND_OK ||
        (is_new ? free_bytes != 5 || total != 7 : total != 0))
        return 5;
    return nd_synchronize(d) == ND_OK ? 0 : 6;
}

static void plugins(void)
{
    is_int(in_child(look_at_plugin, "old"), 0,
           "a plug-in whose tables end with the required part works on this core");
    is_int(in_child(look_at_plugin, "new"), 0,
           "one whose tables go on behind ours does, and the unknown part is never touched");
}

/* ---- plug-ins on older and newer hosts ---- */
static int32_t host_error(void *ctx, int32_t status, int64_t native, const char *fmt, ...)
{
    (void)native;
    (void)fmt;
    ++*(int *)ctx;
    return status;
}
static void host_log(void *ctx, int32_t level, const char *fmt, ...)
{
    (void)ctx;
    (void)level;
    (void)fmt;
}
static void *host_alloc(void *ctx, size_t nbytes, size_t align)
{
    void *p = NULL;
    (void)ctx;
    return posix_memalign(&p, align < 16 ? 16 : align, nbytes) == 0 ? p : NULL;
}
static void host_free(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}
static int32_t host_param(void *ctx, const char *name, int32_t type, const char *help, void *out)
{
    (void)ctx;
    (void)name;
    (void)type;
    (void)help;
    (void)out;
    return NDP_OK;
}
static int32_t host_reclaim(void *ctx, ndp_dev *dev, uint64_t need)
{
    (void)ctx;
    (void)dev;
    (void)need;
    return 0;
}

static ndp_entry_fn entry_in(const char *name)
{
    char path[4096];
    path_of(name, path, sizeof path);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = so ? dlsym(so, "ndock_plugin_entry_0") : NULL;
    ndp_entry_fn entry = NULL;
    if (so && !symbol)
        symbol = dlsym(so, "ndock_plugin_entry_1");
    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

static const ndp_plugin *host_plugin(void *ctx, const char *name);
static int errors;
static const ndp_host whole = {.size = sizeof whole,
                               .major = NDP_ABI_MAJOR,
                               .minor = NDP_ABI_MINOR,
                               .ctx = &errors,
                               .error = host_error,
                               .log = host_log,
                               .alloc = host_alloc,
                               .free = host_free,
                               .param = host_param,
                               .reclaim = host_reclaim,
                               .plugin = host_plugin};

/* The host of size bytes: cut, or with poison behind it. */
static const ndp_host *host_of(uint32_t size)
{
    ndp_host *h = at_the_edge(NULL, size);
    if (!h)
        bail("no memory");
    memcpy(h, &whole, size < sizeof whole ? size : sizeof whole);
    h->size = size;
    return h;
}

static uint32_t host_size;
static const ndp_plugin *host_plugin(void *ctx, const char *name)
{
    (void)ctx;
    ndp_entry_fn entry = entry_in(name);
    const ndp_plugin *p = entry ? entry(host_of(host_size)) : NULL;
    uint32_t count;
    char why[256];
    return p && p->probe(&count, why, sizeof why) == NDP_OK ? p : NULL;
}

/* An add of two views on raw tables, by a call record with more behind it than we know. */
static int add_once(const ndp_plugin *p, ndp_dev *dev)
{
    const int64_t four = 4, one = 1;
    const float in[4] = {1, 2, 3, 4};
    float out[4] = {0};
    char why[256] = "";
    ndp_mem *mem = NULL;
    const ndp_kernel *k = NULL;
    const ndp_op_1 *op =
        p->size >= NDP_END(ndp_plugin, group) && p->group ? p->group(dev, "ndp.op/1") : NULL;
    ndp_view v[3];
    struct {
        ndp_call call;
        unsigned char poison[64];
    } longer;
    if (p->alloc(dev, 64, &mem) != NDP_OK || p->write(dev, NULL, mem, 0, in, 16) != NDP_OK)
        return 1;
    for (int i = 0; i < 3; i++)
        v[i] = (ndp_view){.mem = mem,
                          .offset_bytes = 16 * i / 2 * 2,
                          .shape = &four,
                          .stride = &one,
                          .dtype = NDP_F32,
                          .ndim = 1,
                          .flags = NDP_VIEW_CONTIGUOUS};
    v[1].offset_bytes = 0;
    memset(&longer, 0x5a, sizeof longer);
    longer.call = (ndp_call){
        .size = sizeof longer, .op = NDP_OP_add, .n_in = 2, .n_out = 1, .in = v, .out = v + 2};
    if (op && (op->find(dev, &longer.call, &k, why, sizeof why) != NDP_OK ||
               k->run(k, NULL, &longer.call) != NDP_OK || p->sync(dev, NULL) != NDP_OK ||
               p->read(dev, NULL, mem, 32, out, 16) != NDP_OK))
        return 2;
    float want = p->major == 1 ? 1008.0f : 8.0f;
    p->free(dev, mem);
    return !op || out[3] == want ? 0 : 3;
}

typedef struct {
    const char *plugin;
    uint32_t size;
    int may_refuse;
} hosting;

static int look_at_host(const void *arg)
{
    const hosting *h = arg;
    ndp_dev *dev = NULL;
    uint32_t count = 0;
    char why[256] = "";
    host_size = h->size;
    ndp_entry_fn entry = entry_in(h->plugin);
    const ndp_plugin *p = entry ? entry(host_of(h->size)) : NULL;
    if (!entry)
        return 90;
    if (!p)
        return h->may_refuse && errors ? 0 : 91; /* in words */
    if (p->probe(&count, why, sizeof why) != NDP_OK || count < 1)
        return 92;
    return p->open(0, &dev) == NDP_OK ? add_once(p, dev) : 93;
}

static void hosts(void)
{
    static const char *const names[] = {"old", "new", "cpu", "sim"};
    char what[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const hosting older = {names[i], NDP_END(ndp_host, plugin), 0},
                      oldest = {names[i], NDP_END(ndp_host, param), 1},
                      newer = {names[i], sizeof(ndp_host) + 128, 0};
        snprintf(what, sizeof what, "%s computes on a host that ends before the services",
                 names[i]);
        is_int(in_child(look_at_host, &older), 0, what);
        snprintf(what, sizeof what, "%s works on, or refuses, one that ends at param", names[i]);
        is_int(in_child(look_at_host, &oldest), 0, what);
        snprintf(what, sizeof what, "%s computes on a host that goes on behind ours", names[i]);
        is_int(in_child(look_at_host, &newer), 0, what);
    }
}

/* ---- structs that the caller sizes ---- */
static int wrote_beyond(const unsigned char *at, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (at[i] != 0x5a)
            return 1;
    return 0;
}

typedef int32_t (*fill_struct)(const ndp_plugin *p, ndp_dev *dev, void *out);

static int32_t fill_info(const ndp_plugin *p, ndp_dev *dev, void *out)
{
    (void)dev;
    return p->info(0, out);
}
static int32_t fill_limits(const ndp_plugin *p, ndp_dev *dev, void *out)
{
    const ndp_code_1 *code = p->group(dev, "ndp.code/1");
    return code ? code->limits(dev, out) : NDP_OK;
}
static int32_t fill_pointer(const ndp_plugin *p, ndp_dev *dev, void *out)
{
    const ndp_pointer_1 *pointer = p->group(dev, "ndp.pointer/1");
    const ndp_map_1 *map = p->group(dev, "ndp.map/1");
    ndp_mem *mem = NULL;
    uint64_t address = 0;
    if (!pointer || p->alloc(dev, 64, &mem) != NDP_OK || map->address(dev, mem, &address) != NDP_OK)
        return NDP_OK;
    int32_t status = pointer->info(dev, address, out);
    p->free(dev, mem);
    return status;
}

/* Every size from the field "size" alone to what we know, at the edge; and more, with poison. */
static int look_at_struct(const ndp_plugin *p, ndp_dev *dev, fill_struct fill, uint32_t nbytes)
{
    unsigned char longer[2048];
    for (uint32_t size = 8; size <= nbytes; size += 8) { /* the edge is where it is aligned */
        uint32_t *edge = at_the_edge(NULL, size);
        if (!edge)
            return 80;
        *edge = size;
        (void)fill(p, dev, edge);
    }
    memset(longer, 0x5a, sizeof longer);
    uint32_t claimed = nbytes + 64;
    memcpy(longer, &claimed, sizeof claimed);
    if (fill(p, dev, longer) != NDP_OK)
        return 81;
    return wrote_beyond(longer, nbytes, sizeof longer) ? 82 : 0;
}

static int look_at_structs(const void *name)
{
    ndp_dev *dev = NULL;
    uint32_t count;
    char why[256];
    host_size = sizeof(ndp_host);
    ndp_entry_fn entry = entry_in(name);
    const ndp_plugin *p = entry ? entry(host_of(host_size)) : NULL;
    if (!p || p->probe(&count, why, sizeof why) != NDP_OK || p->open(0, &dev) != NDP_OK)
        return 90;
    int bad = look_at_struct(p, dev, fill_info, NDP_END(ndp_device_info, unique_id));
    if (bad || p->size < NDP_END(ndp_plugin, group) || !p->group)
        return bad;
    bad = look_at_struct(p, dev, fill_limits, NDP_END(ndp_code_limits, shared_bytes));
    return bad ? 10 + bad
               : look_at_struct(p, dev, fill_pointer, NDP_END(ndp_pointer_info, context));
}

static void structs(void)
{
    static const char *const names[] = {"old", "new", "cpu", "sim"};
    char what[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(what, sizeof what, "%s writes into structs of any size within that size",
                 names[i]);
        is_int(in_child(look_at_structs, names[i]), 0, what);
    }
}

TAP_MAIN({"plugins", plugins}, {"hosts", hosts}, {"structs", structs})
