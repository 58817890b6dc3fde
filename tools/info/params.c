/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock info --params`: everything that the environment sets, with what holds now. */
#include <string.h>
#include "tools/tool.h"

static const char *type_name(int32_t type)
{
    static const char *const names[] = {"?", "integer", "number", "bool", "text", "choice"};
    return type > 0 && type <= ND_PARAM_CHOICE ? names[type] : names[0];
}

static void print_heading(const char *owner)
{
    if (strcmp(owner, "core") == 0)
        puts("Variables of the library");
    else if (strcmp(owner, "alloc") == 0)
        puts("\nKeys of NDOCK_ALLOC_CONF=key:value,key:value");
    else
        printf("\nOf %s%s\n", strcmp(owner, "python") == 0 ? "" : "plug-in ",
               strcmp(owner, "python") == 0 ? "the Python package" : owner);
}

static void print_one(const nd_param_info *p)
{
    const bool set = strcmp(p->source, "default") != 0;
    printf("%c %-30s %s", set ? '*' : ' ', p->name, p->value[0] ? p->value : "-");
    if (set && strcmp(p->source, p->name) != 0)
        printf("  (by %s)", p->source);
    if (set && p->initial[0])
        printf("  (default %s)", p->initial);
    printf("\n      %s%s%s%s\n", p->help, p->values[0] ? " [" : "", p->values,
           p->values[0] ? "]" : "");
    if (p->problem[0])
        printf("      ! %s\n", p->problem);
}

static void json_one(json_writer *w, const nd_param_info *p)
{
    json_open(w, NULL, '{');
    json_text(w, "name", p->name);
    json_text(w, "owner", p->owner);
    json_text(w, "type", type_name(p->type));
    json_text(w, "help", p->help);
    json_text(w, "values", p->values);
    json_text(w, "default", p->initial);
    json_text(w, "value", p->value);
    json_text(w, "source", p->source);
    json_text(w, "problem", p->problem);
    json_close(w, '}');
}

int tool_json_unknown(json_writer *w)
{
    const char *name, *nearest;
    int n = 0;
    json_open(w, "unknown_variables", '[');
    for (; nd_param_unknown(n, &name, &nearest) == ND_OK; n++) {
        json_open(w, NULL, '{');
        json_text(w, "name", name);
        json_text(w, "nearest", nearest);
        json_close(w, '}');
    }
    json_close(w, ']');
    return n;
}

int tool_print_unknown(void)
{
    const char *name, *nearest;
    int n = 0;
    for (; nd_param_unknown(n, &name, &nearest) == ND_OK; n++)
        printf("! nothing reads the variable %s%s%s%s\n", name, nearest[0] ? "; did you mean " : "",
               nearest, nearest[0] ? "?" : "");
    return n;
}

static void print_all(void)
{
    nd_param_info p = {.size = sizeof p};
    const char *owner = "";
    for (int32_t i = 0; nd_param_get(i, &p) == ND_OK; i++) {
        if (strcmp(owner, p.owner) != 0)
            print_heading(p.owner);
        owner = p.owner;
        print_one(&p);
    }
    puts("\n* is set; - is empty. See ndock(7).");
    tool_print_unknown();
}

int tool_info_params(bool json)
{
    nd_param_info p = {.size = sizeof p};
    json_writer w = {.out = stdout};
    int32_t n;
    if (nd_device_list(NULL, 0, &n) != ND_OK) /* loads plug-ins, so that they tell theirs */
        return tool_failed("info");
    if (!json) {
        print_all();
        return 0;
    }
    json_open(&w, NULL, '{');
    json_integer(&w, "schema", TOOL_INFO_SCHEMA);
    json_text(&w, "version", nd_version());
    json_open(&w, "parameters", '[');
    for (int32_t i = 0; nd_param_get(i, &p) == ND_OK; i++)
        json_one(&w, &p);
    json_close(&w, ']');
    tool_json_unknown(&w);
    json_close(&w, '}');
    return 0;
}
