/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the NDOCK_HOOK variables say. A malformed one is an error of everything that would be
 * hooked: a test that injects nothing would pass for the wrong reason. */
#include <errno.h>
#include <stdlib.h>
#include "core/plugin/hook/hook.h"

static nd_status parse_hooks(const char *text, uint32_t *hooks)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } known[] = {{"trace", HOOK_TRACE}, {"check", HOOK_CHECK}, {"fault", HOOK_FAULT}};
    for (const char *p = text; *p; p += *p == ',') {
        size_t n = strcspn(p, ","), i = 0;
        while (i < 3 && (strlen(known[i].name) != n || strncmp(p, known[i].name, n) != 0))
            i++;
        if (i == 3)
            return nd__fail(ND_ERR_ARGUMENT, NULL, -1,
                            "NDOCK_HOOK=%s: \"%.*s\" is no hook; there are trace, check and fault",
                            text, (int)n, p);
        *hooks |= known[i].bit;
        p += n;
    }
    return ND_OK;
}

static nd_status parse_check(hook_strictness *out)
{
    static const char *const words[] = {"error", "warn", "before"};
    const char *text = nd__getenv("NDOCK_HOOK_CHECK");
    for (int i = 0; i < 3; i++)
        if (strcmp(text ? text : words[0], words[i]) == 0) {
            *out = (hook_strictness)i;
            return ND_OK;
        }
    return nd__fail(ND_ERR_ARGUMENT, NULL, -1,
                    "NDOCK_HOOK_CHECK=%s is none of error, warn and before", text);
}

static nd_status parse_slow(uint64_t *out)
{
    enum { DEFAULT_SECONDS = 10, MOST_SECONDS = 86400 };
    const char *text = nd__getenv("NDOCK_HOOK_SLOW");
    char *end = NULL;
    *out = DEFAULT_SECONDS;
    if (!text)
        return ND_OK;
    if (text[0] >= '0' && text[0] <= '9')
        *out = strtoull(text, &end, 10);
    if (end && !*end && *out >= 1 && *out <= MOST_SECONDS)
        return ND_OK;
    return nd__fail(ND_ERR_ARGUMENT, NULL, -1,
                    "NDOCK_HOOK_SLOW=%s is no number of seconds from 1 to %d", text, MOST_SECONDS);
}

static nd_status parse_fault(hook_conf *conf)
{
    const char *text = nd__getenv("NDOCK_HOOK_FAULT"), *seed = nd__getenv("NDOCK_HOOK_SEED");
    char *end = NULL;
    conf->seed = 1;
    if (!text)
        return nd__fail(ND_ERR_ARGUMENT, NULL, -1,
                        "NDOCK_HOOK asks for faults, and NDOCK_HOOK_FAULT does not say which, for "
                        "example alloc:3=MEMORY");
    errno = 0;
    if (seed)
        conf->seed = strtoull(seed, &end, 10);
    if (seed && (*end || errno || seed[0] < '0' || seed[0] > '9'))
        return nd__fail(ND_ERR_ARGUMENT, NULL, -1, "NDOCK_HOOK_SEED=%s is no number from 0", seed);
    return nd__hook_rules(conf, text);
}

static nd_status read_all(hook_conf *conf)
{
    const char *text = nd__getenv("NDOCK_HOOK");
    if (!text)
        return ND_OK;
    ND_RETURN_IF(parse_hooks(text, &conf->hooks));
    conf->plugins = nd__getenv("NDOCK_HOOK_PLUGINS");
    if (conf->hooks & HOOK_CHECK)
        ND_RETURN_IF(parse_check(&conf->strictness));
    if (conf->hooks & HOOK_CHECK)
        ND_RETURN_IF(parse_slow(&conf->slow_seconds));
    if (conf->hooks & HOOK_FAULT)
        ND_RETURN_IF(parse_fault(conf));
    return conf->hooks & HOOK_TRACE ? nd__hook_trace_open() : (nd_status)ND_OK;
}

nd_status nd__hook_read_settings(void)
{
    static nd_status status = -1; /* under the loader's lock */
    static const char *said = "";
    if (status >= 0)
        return status == ND_OK ? status : nd__fail(status, NULL, -1, "%s", said);
    status = read_all(&nd__hook_settings);
    if (status == ND_OK)
        return status;
    said = nd__text_keep(nd_last_error()->message);
    nd__log(ND_LOG_ERROR, "%s", said);
    return status;
}
