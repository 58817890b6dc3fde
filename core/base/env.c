/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Variables of the environment, read by param.def's rows. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/base/env.h"

const nd_env_row nd__env_rows[ND_ENVS] = {
#define ND_PARAM(name, owner, TYPE, initial, values, help) \
    {"NDOCK_" #name, owner, ND_PARAM_##TYPE, initial, values, help},
#include "core/base/param.def"
};

const char *nd__getenv(const char *name)
{
    const char *value = secure_getenv(name);
    return value && value[0] ? value : NULL;
}

const char *nd__env(nd_env id)
{
    return nd__getenv(nd__env_rows[id].name);
}

int nd__word_index(const char *words, const char *text)
{
    size_t n = strlen(text);
    for (int i = 0; *words; i++) {
        size_t length = strcspn(words, "|");
        if (length == n && strncmp(words, text, n) == 0)
            return i;
        words += length + (words[length] == '|');
    }
    return -1;
}

static bool parse_integer(const char *text, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    *out = v;
    return !*end && end != text && !errno && text[strcspn(text, " \t\n\v\f\r")] == 0;
}

static bool parse_bool(const char *text, int32_t *out)
{
    int word = nd__word_index("off|on|no|yes|false|true|False|True", text);
    int64_t number = word & 1;
    if (word < 0 && !parse_integer(text, &number))
        return false;
    *out = number != 0;
    return true;
}

/* With a point in every locale's language. */
static bool parse_real(const char *text, double *out)
{
    char *end = NULL;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return false;
    *out = strtod_l(text, &end, c);
    freelocale(c);
    return end != text && !*end && isfinite(*out);
}

bool nd__param_parse(const nd_param_rule *rule, const char *text, void *out)
{
    int64_t i = 0;
    double f = 0;
    int32_t b = 0;
    bool good;
    switch (rule->type) {
    case ND_PARAM_I64:
        good = parse_integer(text, &i) &&
               (rule->low >= rule->high || (i >= rule->low && i <= rule->high));
        if (good && out)
            *(int64_t *)out = i;
        return good;
    case ND_PARAM_F64:
        good = parse_real(text, &f) &&
               (rule->low >= rule->high || (f >= (double)rule->low && f <= (double)rule->high));
        if (good && out)
            *(double *)out = f;
        return good;
    case ND_PARAM_BOOL:
        good = parse_bool(text, &b);
        if (good && out)
            *(int32_t *)out = b;
        return good;
    default:
        good = !rule->words || nd__word_index(rule->words, text) >= 0;
        if (good && out)
            *(const char **)out = text;
        return good;
    }
}

nd_param_rule nd__env_rule(const nd_env_row *row)
{
    nd_param_rule r = {.type = row->type};
    const char *dots = strstr(row->values, "..");
    if (row->type == ND_PARAM_CHOICE)
        r.words = row->values;
    if (row->type == ND_PARAM_I64 && dots) {
        r.low = dots == row->values ? INT64_MIN : strtoll(row->values, NULL, 10);
        r.high = dots[2] ? strtoll(dots + 2, NULL, 10) : INT64_MAX;
    }
    return r;
}

/* What of the text a CHOICE's words are compared with: NDOCK_LOG may name a file, "warn:FILE". */
static const char *choice_of(nd_env id, const char *text, char *buf, size_t n)
{
    if (id != ND_ENV_LOG || !text || !strchr(text, ':'))
        return text;
    snprintf(buf, n, "%.*s", (int)strcspn(text, ":"), text);
    return buf;
}

const char *nd__env_problem(nd_env id)
{
    const nd_env_row *row = &nd__env_rows[id];
    const nd_param_rule rule = nd__env_rule(row);
    const char *text = nd__env(id);
    char problem[512], word[64];
    if (!text || nd__param_parse(&rule, choice_of(id, text, word, sizeof word), NULL))
        return "";
    snprintf(problem, sizeof problem, "%s=%s is not understood and counts as unset: it takes %s",
             row->name, text, row->values);
    return nd__text_keep(problem);
}

bool nd__env_bool(nd_env id)
{
    const char *text = nd__env(id);
    int32_t value = 0;
    if (!text || !parse_bool(text, &value))
        (void)parse_bool(nd__env_rows[id].initial, &value);
    return value;
}

int64_t nd__env_integer(nd_env id)
{
    const nd_param_rule rule = nd__env_rule(&nd__env_rows[id]);
    const char *text = nd__env(id);
    int64_t value = 0;
    if (!text || !nd__param_parse(&rule, text, &value))
        (void)nd__param_parse(&rule, nd__env_rows[id].initial, &value);
    return value;
}

int nd__env_choice(nd_env id)
{
    const nd_env_row *row = &nd__env_rows[id];
    char word[64];
    const char *text = choice_of(id, nd__env(id), word, sizeof word);
    int i = text ? nd__word_index(row->values, text) : -1;
    return i >= 0 ? i : nd__word_index(row->values, row->initial);
}
