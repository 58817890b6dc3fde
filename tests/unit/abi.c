/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The ABI lock: offsets and sizes of every public struct and values of every constant, compared
 * with tests/data/abi-0.lst. `abi.t --print` prints the list; new lines go to the end of that file,
 * those of rows appended to a .def table with the release at the latest: what
 * was never released is no promise yet. */
#include <stdbool.h>
#include <ndock/ndock.h>
#include <ndock/plugin_facts.h>
#include <ndock/note.h>
#include "tests/tap.h"

typedef struct {
    const char *owner, *field; /* field NULL: a constant */
    int64_t value, size;
    int64_t whole;     /* bytes of the struct that a field is of */
    const char *table; /* whose row has this id; NULL: it is written in a header */
} row;

#define CONSTANT(name) {#name, NULL, name, 0, 0, NULL},
#define APPENDED(table, name) {#name, NULL, name, 0, 0, #table},
#define FIELD(type, field) \
    {#type, #field, offsetof(type, field), sizeof(((type *)0)->field), sizeof(type), NULL},
/* Of structs without a size field: they can never grow. */
#define FROZEN(type) {#type, "sizeof", sizeof(type), 0, 0, NULL},

static const row rows[] = {
#include "tests/unit/abi_rows.inc"
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void row_key(const row *r, char *buf, size_t n)
{
    snprintf(buf, n, "%s%s%s", r->owner, r->field ? "." : "", r->field ? r->field : "");
}

static void row_text(const row *r, char *buf, size_t n)
{
    char key[128];
    row_key(r, key, sizeof key);
    if (r->field && r->size)
        snprintf(buf, n, "%s %lld %lld", key, (long long)r->value, (long long)r->size);
    else
        snprintf(buf, n, "%s %lld", key, (long long)r->value);
}

static int find_row(const char *line)
{
    char key[128];
    for (int i = 0; i < ROWS; i++) {
        row_key(&rows[i], key, sizeof key);
        size_t n = strlen(key);
        if (strncmp(line, key, n) == 0 && line[n] == ' ')
            return i;
    }
    return -1;
}

static int compare(FILE *list, char *seen)
{
    char line[256], now[256];
    int lines = 0;
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#')
            continue;
        int i = find_row(line);
        if (i < 0) {
            ok(0, "\"%s\" is still there", line);
            continue;
        }
        row_text(&rows[i], now, sizeof now);
        if (seen[i]++)
            ok(0, "\"%s\" is listed once", line);
        if (strcmp(line, now) != 0)
            ok(0, "frozen \"%s\" is now \"%s\"", line, now);
        lines++;
    }
    return lines;
}

static FILE *open_source(const char *name)
{
    char path[1024];
    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/%s", srcdir ? srcdir : ".", name);
    FILE *file = fopen(path, "r");
    ok(file != NULL, "%s is readable", path);
    return file;
}

/* Whether the changes at the top of CHANGELOG.md are not released yet. */
static bool is_unreleased(void)
{
    char line[256];
    bool found = false;
    FILE *log = open_source("CHANGELOG.md");
    while (log && !found && fgets(line, sizeof line, log))
        found = strncmp(line, "## ", 3) == 0;
    if (log)
        fclose(log);
    return found && strstr(line, "Unreleased") != NULL;
}

/* Whether row i is one that was appended to its table, behind all that the list has of it. */
static bool is_appended(int i, const char *seen)
{
    if (!rows[i].table)
        return false;
    for (int j = 0; j < ROWS; j++)
        if (seen[j] && rows[j].table && strcmp(rows[j].table, rows[i].table) == 0 &&
            rows[j].value >= rows[i].value)
            return false;
    return true;
}

static void locked(void)
{
    static char seen[ROWS];
    char now[256];
    bool unreleased = is_unreleased();
    FILE *list = open_source("tests/data/abi-0.lst");
    int before = tap_failures;
    if (!list)
        return;
    int lines = compare(list, seen);
    fclose(list);
    for (int i = 0; i < ROWS; i++) {
        row_text(&rows[i], now, sizeof now);
        if (!seen[i] && unreleased && is_appended(i, seen))
            printf("# new, to be frozen with the release: %s\n", now);
        else if (!seen[i])
            ok(0, "new \"%s\" is listed (append it to tests/data/abi-0.lst)", now);
    }
    ok(tap_failures == before, "%d lines of the list hold", lines);
}

/* Where the next field of the struct begins, or the struct ends. */
static int64_t next_offset(const row *r)
{
    int64_t next = r->whole;
    for (int i = 0; i < ROWS; i++)
        if (rows[i].whole && strcmp(rows[i].owner, r->owner) == 0 && rows[i].value > r->value &&
            rows[i].value < next)
            next = rows[i].value;
    return next;
}

/* A field that is added may never fall into what was padding in an older struct, which nobody has
 * set: so there is none, between fields or behind the last. It also shows fields that rows lack. */
static void unpadded(void)
{
    int before = tap_failures, fields = 0;
    for (int i = 0; i < ROWS; i++) {
        const row *r = &rows[i];
        bool grows = strncmp(r->owner, "ndp_", 4) == 0 || strncmp(r->owner, "ndh_", 4) == 0;
        if (!r->whole || !grows)
            continue;
        fields++;
        int64_t end = r->value + r->size, next = next_offset(r);
        if (end != next)
            ok(0, "%s.%s is followed by %lld bytes that are no field", r->owner, r->field,
               (long long)(next - end));
    }
    ok(tap_failures == before, "between %d fields of the plug-in ABI there is no padding", fields);
}

/* The two headers number alike, or a plug-in would answer for the wrong op. */
static void agrees(void)
{
    int same = 1;
#define ND_STATUS(name, value, text, python) same &= (int)ND_ERR_##name == (int)NDP_ERR_##name;
#include <ndock/status.def>
    ok(same, "status codes of ndock.h and plugin.h are the same");
    same = (int)ND_DTYPE_END == (int)NDP_DTYPE_END;
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    same &= (int)ND_##NAME == (int)NDP_##NAME;
#include <ndock/dtype.def>
    ok(same, "dtypes of ndock.h and plugin.h are the same");
    same = (int)ND_OP_RUNTIME == (int)NDP_OP_RUNTIME && (int)ND_OP_END == (int)NDP_OP_END;
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) \
    same &= (int)ND_OP_##name == (int)NDP_OP_##name;
#include <ndock/op.def>
    ok(same, "ops of ndock.h and plugin.h are the same");
    same = (int)ND_CLASS_END == (int)NDP_CLASS_END;
#define ND_OP_CLASS(NAME, id, doc) same &= (int)ND_CLASS_##NAME == (int)NDP_CLASS_##NAME;
#include <ndock/opclass.def>
    ok(same, "op classes of ndock.h and plugin.h are the same");
    same = 1;
#define ND_DTYPE_KIND(NAME, bit, rank, word) same &= (int)ND_KIND_##NAME == (int)NDP_KIND_##NAME;
#include <ndock/opdomain.def>
    ok(same, "kinds of dtypes of ndock.h and plugin_facts.h are the same");
    is_int(sizeof(nd_scalar), sizeof(ndp_scalar), "scalars of both are of one size");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {
        {"locked", locked}, {"unpadded", unpadded}, {"agrees", agrees}};
    char text[256];
    if (argc > 1 && strcmp(argv[1], "--print") == 0) {
        for (int i = 0; i < ROWS; i++) {
            row_text(&rows[i], text, sizeof text);
            puts(text);
        }
        return 0;
    }
    if (sizeof(void *) != 8) {
        puts("1..0 # SKIP the list is for 64-bit pointers");
        return 0;
    }
    return tap_main(argc, argv, cases, 3);
}
