/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The grammar of NDOCK_HOOK_FAULT: rules with commas between them, each
 *   [PLUGIN[:INDEX]/][TABLE.]FUNCTION[(OP)]:WHEN=STATUS[(NATIVE)]
 * WHEN is N (that call alone), N+ (that one and all later), /N (every N-th), * (all), or *:P (each
 * with chance P). */
#include <stdio.h>
#include <stdlib.h>
#include "core/plugin/hook/hook.h"

typedef struct {
    char *text; /* a copy, cut up */
    hook_rule *rule;
    char said[160];
} parser;

static bool refuse(parser *p, const char *what, const char *word)
{
    snprintf(p->said, sizeof p->said, what, word);
    return false;
}

static bool number(const char *text, uint64_t least, uint64_t *out)
{
    char *end;
    if (text[0] < '0' || text[0] > '9' || strlen(text) > 18)
        return false;
    *out = strtoull(text, &end, 10);
    return !*end && *out >= least;
}

/* "sim:0/" before the function. */
static bool parse_plugin(parser *p, char **function)
{
    char *slash = strchr(p->text, '/'), *colon;
    uint64_t index;
    *function = p->text;
    p->rule->index = -1;
    if (!slash || slash == p->text || slash[-1] == ':')
        return true; /* none, or the one of "/N" */
    *slash = 0;
    *function = slash + 1;
    colon = strchr(p->text, ':');
    if (colon && !number(colon + 1, 0, &index))
        return refuse(p, "\"%s\" is no index of a device", colon + 1);
    if (colon) {
        *colon = 0;
        p->rule->index = (int64_t)index;
    }
    p->rule->plugin = strdup(p->text);
    return true;
}

static bool parse_function(parser *p, char *text)
{
    char *op = strchr(text, '('), *dot = strchr(text, '.');
    int found = 0, void_ones = 0, computing = 0;
    if (op && text[strlen(text) - 1] != ')')
        return refuse(p, "\"%s\" lacks its )", text);
    if (op) {
        op[strlen(op) - 1] = 0;
        *op++ = 0;
        p->rule->op = nd_op_find(op);
        if (!p->rule->op)
            return refuse(p, "there is no operation \"%s\"", op);
    }
    if (dot)
        *dot = 0;
    for (int i = 0; i < HOOK_SLOTS; i++) {
        const hook_slot *s = &nd__hook_slots[i];
        if (strcmp(s->name, dot ? dot + 1 : text) != 0 || (dot && strcmp(s->table, text) != 0))
            continue;
        void_ones += !s->status;
        found += s->status;
        computing += i == HOOK_SLOT_kernel_run || i == HOOK_SLOT_op_find;
        if (s->status)
            p->rule->slots[i / 64] |= UINT64_C(1) << i % 64;
    }
    if (op && found && !computing)
        return refuse(p, "run and find have an operation in (), \"%s\" has not", text);
    return found > 0 || refuse(p,
                               void_ones ? "\"%s\" returns no status, so it cannot fail"
                                         : "a plug-in has no function \"%s\"",
                               dot ? dot + 1 : text);
}

static bool parse_when(parser *p, char *text)
{
    hook_rule *r = p->rule;
    size_t n = strlen(text);
    char *end = NULL;
    r->when = HOOK_WHEN_NTH;
    if (strcmp(text, "*") == 0) {
        r->when = HOOK_WHEN_EVERY;
        r->n = 1;
        return true;
    }
    if (strncmp(text, "*:", 2) == 0) {
        r->when = HOOK_WHEN_CHANCE;
        r->chance = strtod(text + 2, &end);
        return (end != text + 2 && !*end && r->chance >= 0 && r->chance <= 1) ||
               refuse(p, "\"%s\" is no chance from 0 to 1", text + 2);
    }
    if (text[0] == '/') {
        r->when = HOOK_WHEN_EVERY;
        text++;
    } else if (n && text[n - 1] == '+') {
        r->when = HOOK_WHEN_FROM;
        text[n - 1] = 0;
    }
    return number(text, 1, &r->n) ||
           refuse(p, "\"%s\" does not say when: it is 3, 3+, /3, * or *:0.01", text);
}

static bool parse_status(parser *p, char *text)
{
    char *native = strchr(text, '('), *end = NULL;
    if (native && text[strlen(text) - 1] != ')')
        return refuse(p, "\"%s\" lacks its )", text);
    if (native) {
        native[strlen(native) - 1] = 0;
        *native++ = 0;
        p->rule->native = strtoll(native, &end, 10);
        if (!*native || *end)
            return refuse(p, "\"%s\" is no native code", native);
    }
    for (int32_t i = 1; i < ND_STATUS_END; i++)
        if (strcmp(nd_status_name(i) + strlen("ND_ERR_"), text) == 0)
            p->rule->status = i;
    return p->rule->status > 0 || refuse(p, "\"%s\" is no status, as MEMORY or DEVICE are", text);
}

static bool parse_rule(parser *p)
{
    char *function, *when, *status = strchr(p->text, '=');
    if (!status)
        return refuse(p, "\"%s\" lacks =STATUS", p->text);
    *status++ = 0;
    if (!parse_plugin(p, &function))
        return false;
    when = strchr(function, ':');
    if (!when)
        return refuse(p, "\"%s\" lacks :WHEN", function);
    *when++ = 0;
    return parse_function(p, function) && parse_when(p, when) && parse_status(p, status);
}

nd_status nd__hook_rules(hook_conf *conf, const char *text)
{
    char *copy = strdup(text), *rest = copy, *one;
    parser p = {0};
    bool good = copy != NULL;
    while (good && (one = strsep(&rest, ",")) != NULL) {
        hook_rule *more = realloc(conf->rules, (size_t)(conf->n_rules + 1) * sizeof *more);
        good = more != NULL;
        if (!good)
            break;
        conf->rules = more;
        p.text = one;
        p.rule = &more[conf->n_rules++];
        memset(p.rule, 0, sizeof *p.rule);
        good = parse_rule(&p);
    }
    free(copy);
    if (good)
        return ND_OK;
    return nd__fail(ND_ERR_ARGUMENT, NULL, -1, "NDOCK_HOOK_FAULT=%s: %s", text,
                    p.said[0] ? p.said : "no memory");
}
