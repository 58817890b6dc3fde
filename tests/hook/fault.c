/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * NDOCK_HOOK=fault: calls fail when the rules say so, as if the plug-in had, and nothing is lost by
 * it; a malformed rule is an error that names the word. */
#include "tests/hook/child.h"

static nd_device *device(const char *name)
{
    nd_device *d = NULL;
    return nd_device_get(name, &d) == ND_OK ? d : NULL;
}

static int look_at_third(const void *arg)
{
    ndp_dev *dev = NULL;
    const ndp_plugin *p = table_of(device("defect:0"), "ndp.plugin/0", &dev);
    (void)arg;
    for (int i = 1; p && i <= 6; i++) {
        ndp_mem *mem = (ndp_mem *)(uintptr_t)1;
        int32_t status = p->alloc(dev, 64, &mem);
        if (status != (i == 3 ? NDP_ERR_MEMORY : NDP_OK) || !mem != (i == 3))
            return i;
        if (i == 3 && (!strstr(nd_last_error()->message, "made call 3 of plugin.alloc") ||
                       strcmp(nd_last_error()->plugin, "defect") != 0))
            return 10;
        if (mem)
            p->free(dev, mem);
    }
    return p ? 0 : 11;
}

/* Which of calls 1 to 12 of sync fail. */
static int fails(const ndp_plugin *p, ndp_dev *dev)
{
    int mask = 0;
    for (int i = 0; i < 12; i++)
        mask |= (p->sync(dev, NULL) != NDP_OK) << i;
    return mask;
}

static int look_at_syncs(const void *mask)
{
    ndp_dev *dev = NULL;
    const ndp_plugin *p = table_of(device("defect:0"), "ndp.plugin/0", &dev);
    return p && fails(p, dev) == *(const int *)mask ? 0 : 1;
}

static int look_at_lost(const void *arg)
{
    ndp_dev *dev[2] = {NULL};
    const ndp_plugin *p[2];
    uint64_t used, total;
    (void)arg;
    for (int i = 0; i < 2; i++)
        p[i] = table_of(device(i ? "sim:1" : "sim:0"), "ndp.plugin/0", &dev[i]);
    const ndp_memory_1 *m = table_of(device("sim:1"), "ndp.memory/1", &dev[1]);
    if (!p[0] || !p[1] || p[1]->sync(dev[1], NULL) != NDP_OK ||
        p[1]->sync(dev[1], NULL) != NDP_ERR_LOST || nd_last_error()->native != 719)
        return 1;
    if (p[1]->sync(dev[1], NULL) != NDP_ERR_LOST || m->usage(dev[1], &used, &total) != NDP_ERR_LOST)
        return 2; /* for good */
    return fails(p[0], dev[0]) == 0 && m->usage(dev[0], &used, &total) == NDP_OK ? 0 : 3;
}

/* Low bits of a sum of which of 1000 calls failed. */
static int look_at_chance(const void *arg)
{
    ndp_dev *dev = NULL;
    const ndp_plugin *p = table_of(device("defect:0"), "ndp.plugin/0", &dev);
    uint32_t sum = 0;
    int failed = 0;
    (void)arg;
    for (uint32_t i = 0; p && i < 1000; i++)
        if (p->sync(dev, NULL) != NDP_OK) {
            failed++;
            sum = sum * 31 + i;
        }
    return failed > 200 && failed < 300 ? (int)(sum % 97) + 1 : 0;
}

static int look_at_op(const void *arg)
{
    nd_device *d = device(arg);
    nd_array *a = NULL, *b = NULL;
    const int64_t shape[1] = {3};
    if (!d || nd_full(d, ND_F32, 1, shape, nd_float(1), &a) != ND_OK)
        return 9;
    for (int i = 1; i <= 4; i++) {
        nd_status status = nd_add(a, a, &b);
        if (status != (i == 2 ? ND_ERR_DEVICE : ND_OK) || !b != (i == 2) ||
            (i == 2 && (nd_last_error()->native != 77 || strcmp(nd_last_error()->op, "add") != 0)))
            return i;
        nd_release(b);
        b = NULL;
        if (nd_negative(a, &b) != ND_OK)
            return 10;
        nd_release(b);
        b = NULL;
    }
    nd_release(a);
    return 0;
}

/* ---- nothing is lost ---- */
static void work(nd_device *d)
{
    const int64_t shape[2] = {30, 30};
    nd_array *a = NULL, *b = NULL, *c = NULL, *host = NULL;
    nd_device *cpu = device("cpu");
    if (nd_full(d, ND_F32, 2, shape, nd_float(2), &a) == ND_OK && nd_add(a, a, &b) == ND_OK &&
        nd_matmul(a, b, NULL, &c) == ND_OK)
        (void)!nd_copy(c, cpu, &host);
    (void)!nd_synchronize(d);
    nd_release(a);
    nd_release(b);
    nd_release(c);
    nd_release(host);
}

static int look_at_leaks(const void *arg)
{
    nd_device *d = device(arg);
    nd_memory_stats stats = {.size = sizeof stats};
    if (!d)
        return 9;
    for (int i = 0; i < 300; i++)
        work(d);
    (void)!nd_synchronize(d);
    if (nd_memory_stats_get(d, &stats) != ND_OK || stats.allocated_bytes.all.current != 0)
        return 10;
    (void)!nd_memory_empty_cache(d);
    return strstr(log_text, "(rule ") ? 11 : 0;
}

/* ---- operations of many steps: any of these may fail ---- */
static nd_status transform(const nd_array *a, int i, nd_array **r)
{
    const nd_dct_opts o = {.size = sizeof o,
                           .type = 1 + i / 2 % 4,
                           .norm = i / 8 % 2 ? ND_FFT_ORTHO : ND_FFT_BACKWARD};
    return (i % 2 ? nd_dst : nd_dct)(a, &o, r);
}

static nd_status count(const nd_array *a, int i, nd_array **r)
{
    const nd_bins bins = {.size = sizeof bins, .count = 7, .low = 1, .high = 3, .has_range = i % 2};
    return nd_histogram(a, &bins, NULL, i / 2 % 2, r, NULL);
}

/* Succeeds with a result, or fails without one and without memory. */
static int is_sound(nd_status status, nd_array *r)
{
    nd_release(r);
    return status == ND_OK ? r != NULL : status == ND_ERR_MEMORY && !r;
}

static int look_at_steps(const void *arg)
{
    static const int64_t shape[3][2] = {{40, 500}, {500, 32}, {3, 5}};
    nd_device *d = device(arg);
    int failed = 0, done = 0;
    for (int i = 0; i < 1200; i++) {
        nd_array *a = NULL, *r = (nd_array *)(uintptr_t)1;
        if (nd_full(d, ND_F32, 2, shape[i / 16 % 3], nd_float(2), &a) != ND_OK)
            continue;
        const nd_status status = (i < 600 ? transform : count)(a, i, &r);
        nd_release(a);
        if (!is_sound(status, r))
            return 9;
        *(status == ND_OK ? &done : &failed) += 1;
    }
    return done > 40 && failed > 40 ? 0 : 10;
}

static void steps(void)
{
    const char *const env[] = {"NDOCK_HOOK=fault", "NDOCK_NO_CACHE=1", "NDOCK_LOG=off",
                               "NDOCK_HOOK_FAULT=cpu/alloc:*:0.06=MEMORY", NULL};
    is_int(in_child(look_at_steps, "cpu", env), 0,
           "transforms by cosines and histograms without memory for some step fail, and no more");
}

static void rules(void)
{
    const char *env[] = {"NDOCK_HOOK=fault", NULL, NULL, NULL};
    static const struct {
        const char *text;
        int mask;
    } when[] = {{"NDOCK_HOOK_FAULT=sync:2=LOST", 0xffe},
                {"NDOCK_HOOK_FAULT=sync:2=ASYNC", 0x002},
                {"NDOCK_HOOK_FAULT=sync:5+=ASYNC", 0xff0},
                {"NDOCK_HOOK_FAULT=sync:/3=ASYNC", 0x924},
                {"NDOCK_HOOK_FAULT=plugin.sync:*=ASYNC", 0xfff},
                {"NDOCK_HOOK_FAULT=stream.sync:*=ASYNC", 0},
                {"NDOCK_HOOK_FAULT=sim/sync:*=ASYNC,defect:1/sync:*=ASYNC", 0},
                {"NDOCK_HOOK_FAULT=defect:0/sync:1=ASYNC,sync:3=TIMEOUT", 0x005}};
    env[1] = "NDOCK_HOOK_FAULT=alloc:3=MEMORY";
    is_int(in_child(look_at_third, NULL, env), 0, "the third allocation fails, and no other");
    for (size_t i = 0; i < sizeof when / sizeof *when; i++) {
        env[1] = when[i].text;
        is_int(in_child(look_at_syncs, &when[i].mask, env), 0, when[i].text);
    }
    env[1] = "NDOCK_HOOK_FAULT=sim:1/sync:2=LOST(719)";
    is_int(in_child(look_at_lost, NULL, env), 0, "a lost device stays lost, and no other is");
    env[1] = "NDOCK_HOOK_FAULT=run(add):2=DEVICE(77)";
    is_int(in_child(look_at_op, "cpu", env), 0, "the second add on cpu fails with its native code");
    is_int(in_child(look_at_op, "sim:2", env), 0, "and on sim:2");
}

static void chance(void)
{
    const char *env[] = {"NDOCK_HOOK=fault", "NDOCK_HOOK_FAULT=sync:*:0.25=ASYNC", NULL, NULL};
    int one = in_child(look_at_chance, NULL, env), again = in_child(look_at_chance, NULL, env);
    env[2] = "NDOCK_HOOK_SEED=2";
    int other = in_child(look_at_chance, NULL, env);
    ok(one > 0 && other > 0, "a quarter of a thousand calls fails with a chance of 0.25");
    ok(one == again && one != other, "the same ones for a seed, others for another");
}

static void leaks(void)
{
    const char *const env[] = {
        "NDOCK_HOOK=fault,check", "NDOCK_LOG=off",
        "NDOCK_HOOK_FAULT=alloc:*:0.1=MEMORY,read:*:0.05=DEVICE,write:*:0.05=DEVICE,"
        "run:*:0.1=DEVICE,find:*:0.2=INTERNAL,event_create:*:0.1=MEMORY,copy:*:0.1=DEVICE,"
        "commit:*:0.1=MEMORY,reserve:*:0.1=MEMORY",
        NULL};
    is_int(in_child(look_at_leaks, "cpu", env), 0, "300 rounds with faults leave nothing on cpu");
    is_int(in_child(look_at_leaks, "sim:0", env), 0, "and nothing on sim:0");
}

/* ---- texts that are wrong ---- */
static int look_at_refusal(const void *word)
{
    nd_device *d = NULL;
    return nd_device_get("cpu", &d) == ND_ERR_DEVICE && !d &&
                   strstr(nd_last_error()->message, word) &&
                   strstr(nd_last_error()->message, "HOOK") && strstr(log_text, word)
               ? 0
               : 1;
}

static void malformed(void)
{
    static const char *const texts[][2] = {
        {"NDOCK_HOOK_FAULT=alloc", "\"alloc\" lacks =STATUS"},
        {"NDOCK_HOOK_FAULT=alloc=MEMORY", "\"alloc\" lacks :WHEN"},
        {"NDOCK_HOOK_FAULT=alloc:3=MEMOIRS", "\"MEMOIRS\" is no status"},
        {"NDOCK_HOOK_FAULT=alloc:3=OK", "\"OK\" is no status"},
        {"NDOCK_HOOK_FAULT=aloc:3=MEMORY", "no function \"aloc\""},
        {"NDOCK_HOOK_FAULT=pool.open:3=MEMORY", "no function \"open\""},
        {"NDOCK_HOOK_FAULT=free:3=MEMORY", "returns no status"},
        {"NDOCK_HOOK_FAULT=alloc:0=MEMORY", "\"0\" does not say when"},
        {"NDOCK_HOOK_FAULT=alloc:-1=MEMORY", "does not say when"},
        {"NDOCK_HOOK_FAULT=alloc:=MEMORY", "does not say when"},
        {"NDOCK_HOOK_FAULT=alloc:*:1.5=MEMORY", "\"1.5\" is no chance"},
        {"NDOCK_HOOK_FAULT=alloc:*:=MEMORY", "is no chance"},
        {"NDOCK_HOOK_FAULT=run(ad):1=DEVICE", "no operation \"ad\""},
        {"NDOCK_HOOK_FAULT=alloc(add):1=DEVICE", "\"alloc\" has not"},
        {"NDOCK_HOOK_FAULT=run(add:1=DEVICE", "lacks its )"},
        {"NDOCK_HOOK_FAULT=alloc:1=DEVICE(x)", "\"x\" is no native code"},
        {"NDOCK_HOOK_FAULT=sim:x/alloc:1=DEVICE", "\"x\" is no index"},
        {"NDOCK_HOOK_FAULT=alloc:1=MEMORY,,", "lacks =STATUS"},
        {"NDOCK_HOOK_SEED=1", "does not say which"},
        {"NDOCK_HOOK=fault,chek", "\"chek\" is no hook"},
        {"NDOCK_HOOK_CHECK=loud", "none of error, warn and before"},
        {"NDOCK_HOOK_SLOW=soon", "no number of seconds from 1 to 86400"},
        {"NDOCK_HOOK_SLOW=0", "no number of seconds from 1 to 86400"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *const env[] = {"NDOCK_HOOK=fault,check", texts[i][0], NULL};
        is_int(in_child(look_at_refusal, texts[i][1], env), 0, texts[i][0]);
    }
}

TAP_MAIN({"rules", rules}, {"chance", chance}, {"leaks", leaks}, {"steps", steps},
         {"malformed", malformed})
