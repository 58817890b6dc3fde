/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Keys of PyTorch's that choose nothing in the core. Their values are checked all the same. How
 * memory is locked (C30) is the business of the plug-in "cuda", whose keys two of them become. */
#include "core/memory/conf/conf.h"

static bool is(const char *value, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(word, value, n) == 0;
}

/* The plug-in's word for the value; NULL: the value is none of PyTorch's. */
static const char *truth(const char *value, size_t n)
{
    static const char *const words[][2] = {{"True", "true"}, {"true", "true"},   {"on", "true"},
                                           {"1", "true"},    {"False", "false"}, {"false", "false"},
                                           {"off", "false"}, {"0", "false"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(value, n, words[i][0]))
            return words[i][1];
    return NULL;
}

static const char *threads(const char *value, size_t n)
{
    static const char *const numbers[] = {"1", "2", "4", "8", "16", "32", "64", "128"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (is(value, n, numbers[i]))
            return numbers[i];
    return NULL;
}

static const struct locking {
    const char *name, *values;
    const char *(*word)(const char *value, size_t n);
    const char *plugin_key; /* NULL: no plug-in has such a key */
} keys[] = {
    {"pinned_use_cuda_host_register", "true or false", truth, "cuda.pinned_use_host_register"},
    {"pinned_num_register_threads", "1, 2, 4, 8, 16, 32, 64 or 128", threads,
     "cuda.pinned_num_register_threads"},
    {"release_lock_on_cudamalloc", "true or false", truth, NULL},
};

static const struct locking *find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (is(name, n, keys[i].name))
            return &keys[i];
    return NULL;
}

bool nd__conf_is_pytorch(const char *name, size_t n)
{
    return find(name, n) != NULL;
}

nd_status nd__conf_parse_pytorch(const char **at, size_t n, bool environment, nd_conf_change **list)
{
    const struct locking *key = find(*at, n);
    if ((*at)[n] != ':')
        return nd__conf_refuse("no value for", *at, n, key->name, key->values);
    const char *value = *at + n + 1;
    size_t length = strcspn(value, ",");
    const char *word = key->word(value, length);
    if (!word)
        return nd__conf_refuse("bad value", value, length, key->name, key->values);
    *at = value + length;
    return key->plugin_key ? nd__conf_hand_on(key->plugin_key, word, environment, list)
                           : (nd_status)ND_OK;
}
