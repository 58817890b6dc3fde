/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The headers without what a program does not use: a compiler takes three quarters of its time for
 * functions that it drops again. Each text is cut, once, into pieces that stand outside all braces.
 * Functions, structures, macros and one-name calls of macros ("CM_CORE_F32(sin)") count as used where a piece
 * that is used names them; names that the macros of the formulas paste together agree but for known
 * prefixes, so names are compared without these. Everything else is kept. */
#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "program/text.h"

enum { MAX_NAMES = 16384, MAX_PIECES = 4096, MAX_USES = 65536 };
typedef enum { KEPT, FUNCTION, MACRO, DIRECTIVE } piece_kind;
typedef struct {
    const char *begin, *end;
    int text, name;        /* of cuda_program_texts(); a function's or macro's, else -1 */
    int first_use, n_uses; /* in uses */
    piece_kind kind;
} piece;

static struct {
    const char *at;
    int n;
} names[MAX_NAMES]; /* an open hash table */
static piece pieces[MAX_PIECES];
static int uses[MAX_USES], n_pieces, n_uses, n_names, full;

/* ---- names ---- */
/* As in the C locale, without a look into a table: each character is asked for several times. */
static inline int starts_name(char c)
{
    return (unsigned)((c | 32) - 'a') < 26 || c == '_';
}

static inline int in_name(char c)
{
    return starts_name(c) || (unsigned)(c - '0') < 10;
}

/* Without what the macros put before and behind it. */
static void shorten(const char **at, int *n)
{
    static const char *const prefixes[] = {"ND_FORMULA_", "cuda_f32_",  "cuda_f64_", "cuda_half_",
                                           "cm_f32_",     "cm_f64_",    "cm_half_",  "cm_f16_",
                                           "cm_bf16_",    "cuda_part_", "cuda_",     "cm_"};
    static const char suffix[] = "_formula";
    const int tail = (int)sizeof suffix - 1;
    const size_t n_prefixes = **at == 'N' || **at == 'c' ? sizeof prefixes / sizeof *prefixes : 0;
    for (size_t i = 0; i < n_prefixes; i++) {
        int k = (int)strlen(prefixes[i]);
        if (*n < k || memcmp(*at, prefixes[i], (size_t)k) != 0)
            continue;
        *at += k;
        *n -= k;
        break;
    }
    if (*n > tail && memcmp(*at + *n - tail, suffix, (size_t)tail) == 0)
        *n -= tail;
}

/* The place of a name in the table; add: if it is not there yet. Negative: there is none. */
static int name_of(const char *at, int n, int add)
{
    uint32_t h = 2166136261u;
    shorten(&at, &n);
    if (n == 0)
        return -1;
    for (int i = 0; i < n; i++)
        h = (h ^ (unsigned char)at[i]) * 16777619u;
    for (h %= MAX_NAMES; names[h].at; h = (h + 1) % MAX_NAMES)
        if (names[h].n == n && memcmp(names[h].at, at, (size_t)n) == 0)
            return (int)h;
    if (!add)
        return -1;
    if (n_names == MAX_NAMES / 2) {
        full = 1;
        return -1;
    }
    n_names++;
    names[h].at = at;
    names[h].n = n;
    return (int)h;
}

/* ---- words ---- */
/* Past a comment, string, character, number or name, or one character. */
static const char *next_word(const char *at)
{
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end ? end + 2 : at + strlen(at);
    }
    if (at[0] == '/' && at[1] == '/') {
        const char *end = strchr(at, '\n');
        return end ? end : at + strlen(at);
    }
    if (*at == '"' || *at == '\'') {
        const char quote = *at++;
        while (*at && *at != quote)
            at += at[0] == '\\' && at[1] ? 2 : 1;
        return *at ? at + 1 : at;
    }
    if (!in_name(*at))
        return at + 1;
    while (in_name(*at))
        at++;
    return at;
}

static const char *past_blanks(const char *at)
{
    for (;;) {
        while (isspace((unsigned char)*at))
            at++;
        if (at[0] != '/' || (at[1] != '*' && at[1] != '/'))
            return at;
        at = next_word(at);
    }
}

static void add_uses(piece *p)
{
    p->first_use = n_uses;
    for (const char *at = p->begin, *end; at < p->end; at = end) {
        end = next_word(at);
        int name = starts_name(*at) ? name_of(at, (int)(end - at), 1) : -1;
        if (name < 0)
            continue;
        if (n_uses == MAX_USES) {
            full = 1;
            return;
        }
        uses[n_uses++] = name;
    }
    p->n_uses = n_uses - p->first_use;
}

/* ---- pieces ---- */
/* A directive's end: that of its line, and of those that go on with it. */
static const char *directive_end(const char *at)
{
    while (*at && *at != '\n') {
        if (at[0] == '\\' && at[1] == '\n')
            at += 2;
        else
            at = *at == '/' && at[1] == '*' ? next_word(at) : at + 1;
    }
    return at;
}

static int is_word(const char *at, const char *end, const char *word)
{
    return (size_t)(end - at) == strlen(word) && memcmp(at, word, strlen(word)) == 0;
}

/* The name behind "struct", or behind "struct alignas(8)". */
static int struct_name(const char *at)
{
    const char *end = next_word(at);
    if (is_word(at, end, "alignas")) {
        while (*end && *end != ')')
            end++;
        at = past_blanks(*end ? end + 1 : end);
        end = next_word(at);
    }
    return starts_name(*at) ? name_of(at, (int)(end - at), 1) : -1;
}

/* The name of the function or structure that the text up to its first brace declares: of a function
 * what stands before the first parenthesis, or inside it in "NAME(add)(float a)". Negative: it declares none. */
static int function_name(const char *at, const char *brace)
{
    static const char *const others[] = {"union", "enum", "namespace", "typedef", "operator"};
    const char *name = NULL, *end;
    int n = 0;
    for (; at < brace && *at != '('; at = end) {
        end = next_word(at);
        if (*at == '=')
            return -1;
        if (is_word(at, end, "struct"))
            return struct_name(past_blanks(end));
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            if (is_word(at, end, others[i]))
                return -1;
        if (isspace((unsigned char)*at))
            continue;
        name = starts_name(*at) ? at : NULL;
        n = (int)(end - at);
    }
    if (at == brace || !name)
        return -1;
    end = next_word(at + 1);
    if (starts_name(at[1]) && end[0] == ')' && end[1] == '(')
        return name_of(at + 1, (int)(end - at - 1), 1);
    return isupper((unsigned char)*name) && memcmp(name, "ND_FORMULA_", 11) != 0
               ? -1
               : name_of(name, n, 1);
}

/* "CM_CORE_F32(sin)" on a line of its own: what follows it, and its name; else NULL. */
static const char *macro_call(const char *at, int *name)
{
    const char *open = next_word(at), *close;
    if (!isupper((unsigned char)*at) || *open != '(' || !islower((unsigned char)open[1]))
        return NULL;
    close = next_word(open + 1);
    if (close[0] != ')' || close[1] != '\n')
        return NULL;
    *name = name_of(open + 1, (int)(close - open - 1), 1);
    return close + 1;
}

/* What stands outside braces up to a semicolon, or a function with its body. */
static const char *definition_end(piece *p)
{
    const char *at = p->begin, *brace = NULL;
    int depth = 0;
    while (*at) {
        const char *end = *at == '#' ? directive_end(at) : next_word(at);
        depth += (*at == '{') - (*at == '}');
        brace = *at == '{' && !brace ? at : brace;
        if (*at == '{' && at == brace)
            p->name = function_name(p->begin, brace);
        if (depth == 0 && (*at == ';' || (*at == '}' && p->name >= 0)))
            return end;
        at = end;
    }
    full |= depth != 0;
    return at;
}

static void set_directive(piece *p)
{
    const char *word = p->begin + 1;
    p->end = directive_end(p->begin);
    p->kind = DIRECTIVE;
    if (!is_word(word, next_word(word), "define"))
        return;
    word = past_blanks(next_word(word));
    p->kind = MACRO;
    p->name = name_of(word, (int)(next_word(word) - word), 1);
}

static void cut(int text, const char *at)
{
    while (*(at = past_blanks(at)) && !full) {
        if (n_pieces == MAX_PIECES) {
            full = 1;
            return;
        }
        piece *p = &pieces[n_pieces++];
        *p = (piece){.begin = at, .text = text, .name = -1};
        if (*at == '#')
            set_directive(p);
        else if ((p->end = macro_call(at, &p->name)) == NULL)
            p->end = definition_end(p);
        if (p->kind == KEPT && p->name >= 0)
            p->kind = FUNCTION;
        if (p->kind != DIRECTIVE)
            add_uses(p);
        at = p->end;
    }
}

static void cut_all(void)
{
    const cuda_texts *texts = cuda_program_texts();
    for (int i = 0; i < texts->n; i++)
        cut(i, texts->text[i]);
}

/* ---- what a program uses ---- */
/* Texts that a program without the word includes nothing of. */
static int is_left_out(const char *name, const char *source)
{
    static const char *const only[][2] = {
        {"complex", "CUDA_DTYPE C"},         {"special", "PROGRAM_SPECIAL"},
        {"math/half", "math/half.cuh"},      {"copy/convert", "copy/convert.cuh"},
        {"reduce/", "program/rows.cuh"},     {"program/rows", "program/rows.cuh"},
        {"program/pair", "program/rows.cuh"}};
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (strstr(name, only[i][0]) && !strstr(source, only[i][1]))
            return 1;
    return 0;
}

typedef struct {
    unsigned char used[MAX_NAMES], taken[MAX_PIECES], left_out[CUDA_TEXTS];
} choice;

static void use_words(choice *c, const char *source)
{
    for (const char *at = source, *end; *at; at = end) {
        end = next_word(at);
        int name = starts_name(*at) ? name_of(at, (int)(end - at), 0) : -1;
        if (name >= 0)
            c->used[name] = 1;
    }
}

/* Takes what is used by what is taken, until there is nothing more; macros' definitions stay in any
 * case, and directives. */
static void choose(choice *c)
{
    for (int more = 1; more;) {
        more = 0;
        for (int i = 0; i < n_pieces; i++) {
            const piece *p = &pieces[i];
            if (c->taken[i] || c->left_out[p->text] || p->kind == DIRECTIVE ||
                (p->kind != KEPT && !(p->name >= 0 && c->used[p->name])))
                continue;
            c->taken[i] = 1;
            more = 1;
            for (int k = 0; k < p->n_uses; k++)
                c->used[uses[p->first_use + k]] = 1;
        }
    }
}

/* One after another, each with its end. */
static void write_texts(const choice *c, int n_texts, cuda_text *to, size_t *start)
{
    for (int text = 0, i = 0; text < n_texts; text++) {
        start[text] = to->n;
        for (; i < n_pieces && pieces[i].text == text; i++)
            if (c->taken[i] || pieces[i].kind >= MACRO)
                cuda_text_add(to, "%.*s\n", (int)(pieces[i].end - pieces[i].begin),
                              pieces[i].begin);
        cuda_text_add(to, "%c", 0);
    }
}

int cuda_program_prune(const char *source, cuda_texts *out, cuda_text *room)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const cuda_texts *whole = cuda_program_texts();
    size_t start[CUDA_TEXTS];
    if (!whole)
        return 0;
    pthread_once(&once, cut_all);
    choice *c = full ? NULL : calloc(1, sizeof *c);
    if (!c)
        return 0;
    for (int i = 0; i < whole->n; i++)
        c->left_out[i] = (unsigned char)is_left_out(whole->name[i], source);
    use_words(c, source);
    choose(c);
    write_texts(c, whole->n, room, start);
    free(c);
    *out = *whole;
    for (int i = 0; i < whole->n && !room->failed; i++)
        out->text[i] = room->data + start[i];
    return !room->failed;
}
