/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The core's own keys of NDOCK_ALLOC_CONF: one table says how each is parsed and printed. */
#include <ctype.h>
#include "core/memory/conf/conf.h"

#define MIB 1048576.0

typedef struct setting setting;
struct setting {
    const char *name, *values, *help; /* values says in messages what is allowed */
    bool (*parse)(const setting *setting, const char **at, nd_conf *conf);
    void (*print)(const setting *setting, const nd_conf *conf, nd_text *out);
    size_t offset;
    double low, high;
    const char *const *words; /* of a choice; NULL follows the last */
};
#define FIELD(type, s, conf) ((type *)((char *)(conf) + (s)->offset))
#define FIELD_CONST(type, s, conf) ((const type *)((const char *)(conf) + (s)->offset))

static bool word(const char **at, const char *text)
{
    size_t n = strlen(text);
    if (strncmp(*at, text, n) != 0 || isalnum((unsigned char)(*at)[n]) || (*at)[n] == '_')
        return false;
    *at += n;
    return true;
}

static bool parse_mib(const setting *s, const char **at, nd_conf *conf)
{
    double value;
    if (!nd__conf_number(at, s->low, s->high, &value))
        return false;
    *FIELD(uint64_t, s, conf) = (uint64_t)(value * MIB + 0.5);
    return true;
}

static void print_mib(const setting *s, const nd_conf *conf, nd_text *out)
{
    nd__text_add(out, "%.17g", (double)*FIELD_CONST(uint64_t, s, conf) / MIB);
}

/* The word "none" stands for a value that is no number of bytes, as "auto" does below. */
static bool parse_split(const setting *s, const char **at, nd_conf *conf)
{
    if (!word(at, "none"))
        return parse_mib(s, at, conf);
    *FIELD(uint64_t, s, conf) = UINT64_MAX;
    return true;
}

static void print_split(const setting *s, const nd_conf *conf, nd_text *out)
{
    if (*FIELD_CONST(uint64_t, s, conf) == UINT64_MAX)
        nd__text_add(out, "none");
    else
        print_mib(s, conf, out);
}

static bool parse_cached(const setting *s, const char **at, nd_conf *conf)
{
    if (!word(at, "auto"))
        return parse_mib(s, at, conf);
    *FIELD(int64_t, s, conf) = -1;
    return true;
}

static void print_cached(const setting *s, const nd_conf *conf, nd_text *out)
{
    if (*FIELD_CONST(int64_t, s, conf) < 0)
        nd__text_add(out, "auto");
    else
        print_mib(s, conf, out);
}

static bool parse_real(const setting *s, const char **at, nd_conf *conf)
{
    return nd__conf_number(at, s->low, s->high, FIELD(double, s, conf));
}

static void print_real(const setting *s, const nd_conf *conf, nd_text *out)
{
    nd__text_add(out, "%.17g", *FIELD_CONST(double, s, conf));
}

static bool parse_integer(const setting *s, const char **at, nd_conf *conf)
{
    double value;
    if (!nd__conf_number(at, s->low, s->high, &value) || value != (double)(int64_t)value)
        return false;
    *FIELD(int64_t, s, conf) = (int64_t)value;
    return true;
}

static void print_integer(const setting *s, const nd_conf *conf, nd_text *out)
{
    nd__text_add(out, "%lld", (long long)*FIELD_CONST(int64_t, s, conf));
}

static bool parse_bool(const setting *s, const char **at, nd_conf *conf)
{
    static const char *const yes[] = {"True", "true", "on", "1"};
    static const char *const no[] = {"False", "false", "off", "0"};
    for (int i = 0; i < 4; i++)
        for (int value = 0; value < 2; value++)
            if (word(at, (value ? yes : no)[i])) {
                *FIELD(int32_t, s, conf) = value;
                return true;
            }
    return false;
}

static void print_bool(const setting *s, const nd_conf *conf, nd_text *out)
{
    nd__text_add(out, *FIELD_CONST(int32_t, s, conf) ? "true" : "false");
}

/* Each row has our word and PyTorch's, so that its settings may be used as they are. */
static const char *const pytorch_words[][2] = {{"caching", "native"}, {"async", "cudaMallocAsync"}};

static bool choice_word(const char **at, const char *text)
{
    if (word(at, text))
        return true;
    for (size_t i = 0; i < sizeof pytorch_words / sizeof *pytorch_words; i++)
        if (strcmp(pytorch_words[i][0], text) == 0)
            return word(at, pytorch_words[i][1]);
    return false;
}

static bool parse_choice(const setting *s, const char **at, nd_conf *conf)
{
    for (int32_t i = 0; s->words[i]; i++)
        if (choice_word(at, s->words[i])) {
            *FIELD(int32_t, s, conf) = i;
            return true;
        }
    return false;
}

static void print_choice(const setting *s, const nd_conf *conf, nd_text *out)
{
    nd__text_add(out, "%s", s->words[*FIELD_CONST(int32_t, s, conf)]);
}

static bool parse_divisions(const setting *s, const char **at, nd_conf *conf)
{
    return nd__conf_parse_divisions(at, FIELD(uint32_t, s, conf));
}

static void print_divisions(const setting *s, const nd_conf *conf, nd_text *out)
{
    nd__conf_print_divisions(FIELD_CONST(uint32_t, s, conf), out);
}

static const char *const steal_words[] = {"never", "before_oom", "before_grow", NULL};

#define ROW(field, kind, allowed, ...)                                                    \
    {                                                                                     \
        .parse = parse_##kind, .print = print_##kind, .offset = offsetof(nd_conf, field), \
        .values = allowed, __VA_ARGS__                                                    \
    }
#define MIB_TEXT "a number of MiB"
static const setting settings[] = {
    ROW(max_split_size, split, "none or at least 20 MiB", .name = "max_split_size_mb",
        .help = "larger blocks are never split", .low = 20, .high = 1e12),
    ROW(max_non_split_rounding, mib, "at least 20 MiB", .name = "max_non_split_rounding_mb",
        .help = "how much larger such a block may be than what is asked for", .low = 20,
        .high = 1e12),
    ROW(large_segment_size, mib, "4 to 1024 MiB", .name = "large_segment_size_mb",
        .help = "what is taken of the device at a time for blocks of 1 to 10 MiB", .low = 4,
        .high = 1024),
    ROW(roundup_power2_divisions, divisions,
        "a power of two up to 64, or [MiB:divisions,...,>:divisions] in ascending order",
        .name = "roundup_power2_divisions",
        .help = "sizes are rounded up to this many steps between powers of two"),
    ROW(garbage_collection_threshold, real, "0 (off) to 1", .name = "garbage_collection_threshold",
        .help = "above this part of the memory, old free blocks go first", .low = 0, .high = 1),
    ROW(per_process_memory_fraction, real, "0 (no cap) to 1", .name = "per_process_memory_fraction",
        .help = "the part of the memory that this process may take", .low = 0, .high = 1),
    ROW(expandable_segments, bool, "true or false", .name = "expandable_segments",
        .help = "segments grow in place, by virtual addresses"),
    ROW(expandable_segments_reserve, real, "a multiple of the device's memory, or bytes above 64",
        .name = "expandable_segments_reserve", .help = "addresses that such a segment reserves",
        .low = 0.001, .high = 1e18),
    ROW(throw_early, bool, "true or false", .name = "throw_on_device_alloc_oom",
        .help = "a refusal of the device is the error, without giving cached blocks back"),
    ROW(steal, choice, "never, before_oom or before_grow", .name = "cross_stream",
        .help = "when a free block of another stream is taken", .words = steal_words),
    ROW(backend, choice, "caching, debug, none or async", .name = "backend",
        .help = "which allocator serves new blocks", .words = nd__kind_names),
    ROW(thread_cache, bool, "true or false", .name = "thread_cache",
        .help = "small blocks are kept per thread"),
    ROW(max_cached, cached, "auto, or a number of MiB (0: no limit)", .name = "max_cached_mb",
        .help = "free memory kept on the CPU", .low = 0, .high = 1e12),
    ROW(quarantine_blocks, integer, "a whole number", .name = "quarantine_blocks",
        .help = "backend debug: freed blocks that are watched for late writes", .low = 0,
        .high = 1e9),
    ROW(pinned_reserve, mib, MIB_TEXT, .name = "pinned_reserve_mb",
        .help = "pinned memory that is taken ahead", .low = 0, .high = 1e12),
    ROW(pinned_exact_above, mib, MIB_TEXT, .name = "pinned_exact_above_mb",
        .help = "pinned blocks above this are not rounded up", .low = 0, .high = 1e12),
    ROW(pinned_cap, mib, MIB_TEXT, .name = "pinned_cap_mb",
        .help = "the most pinned memory; 0: no limit", .low = 0, .high = 1e12),
    ROW(pinned_background, bool, "true or false", .name = "pinned_background",
        .help = "a thread looks which pinned blocks are free again"),
};
#define SETTINGS (int)(sizeof settings / sizeof settings[0])

static nd_status refuse(const char *what, const char *at, size_t n, const setting *s)
{
    return nd__conf_refuse(what, at, n, s ? s->name : NULL, s ? s->values : NULL);
}

static bool is_key(const char *at, size_t n, const char *name)
{
    return strlen(name) == n && strncmp(name, at, n) == 0;
}

/* PyTorch's names of keys of ours; conf_pytorch.c has those of its keys that are none of ours. */
static const struct {
    const char *pytorch, *ours;
} pytorch_keys[] = {{"pinned_use_background_threads", "pinned_background"},
                    {"pinned_reserve_segment_size_mb", "pinned_reserve_mb"}};

static const setting *find_setting(const char *at, size_t n)
{
    const char *ours = NULL;
    for (size_t i = 0; i < sizeof pytorch_keys / sizeof *pytorch_keys; i++)
        if (is_key(at, n, pytorch_keys[i].pytorch))
            ours = pytorch_keys[i].ours;
    for (int i = 0; i < SETTINGS; i++)
        if (ours ? strcmp(ours, settings[i].name) == 0 : is_key(at, n, settings[i].name))
            return &settings[i];
    return NULL;
}

nd_status nd__conf_parse_own(const char **at, size_t n, nd_conf *conf)
{
    const setting *s = find_setting(*at, n);
    if (!s)
        return refuse("unknown key", *at, n, NULL);
    if ((*at)[n] != ':')
        return refuse("no value for", *at, n, s);
    const char *value = *at + n + 1;
    *at = value;
    if (!s->parse(s, at, conf))
        return refuse("bad value", value, strcspn(value, *value == '[' ? "]" : ","), s);
    if (**at && **at != ',')
        return refuse("unexpected text", *at, strlen(*at), s);
    return ND_OK;
}

void nd__conf_own_names(nd_text *t)
{
    for (int i = 0; i < SETTINGS; i++)
        nd__text_add(t, "%s%s", i ? ", " : "", settings[i].name);
}

void nd__conf_own_values(const nd_conf *conf, nd_text *t)
{
    for (int i = 0; i < SETTINGS; i++) {
        nd__text_add(t, "%s%s:", i ? "," : "", settings[i].name);
        settings[i].print(&settings[i], conf, t);
    }
}

static int32_t type_of(const setting *s)
{
    return s->print == print_bool      ? ND_PARAM_BOOL
           : s->print == print_choice  ? ND_PARAM_TEXT
           : s->print == print_real    ? ND_PARAM_F64
           : s->print == print_integer ? ND_PARAM_I64
           : s->print == print_mib     ? ND_PARAM_F64
                                       : ND_PARAM_TEXT;
}

int nd__conf_own_count(void)
{
    return SETTINGS;
}

bool nd__conf_own_key(int i, const nd_conf *conf, nd_param_info *out, nd_text *value)
{
    if (i >= SETTINGS)
        return false;
    const setting *s = &settings[i];
    *out = (nd_param_info){.type = type_of(s),
                           .name = s->name,
                           .owner = "alloc",
                           .help = s->help,
                           .values = s->values};
    s->print(s, conf, value);
    return true;
}
