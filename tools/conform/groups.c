/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A group's program: where it is, what it is asked, what becomes of a crash or a hang, and how the
 * checks after it get their turn. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tools/conform/conform.h"

enum { MOST_RESTARTS = 20, MOST_ARGS = 24 };

static bool runnable(const char *dir, size_t n, const char *program, char *path, size_t room)
{
    int len = snprintf(path, room, "%.*s/%s", (int)n, dir, program);
    return n > 0 && len > 0 && (size_t)len < room && access(path, X_OK) == 0;
}

/* NDOCK_CONFORM_DIR (folders, separated by colons), ../libexec/ndock seen from this program, and
 * where it was configured to be installed. */
static bool find_program(const char *program, char *path, size_t room)
{
    const char *dirs = getenv("NDOCK_CONFORM_DIR");
    char self[PATH_MAX];
    for (const char *at = dirs; at && *at; at += strcspn(at, ":"), at += *at == ':')
        if (runnable(at, strcspn(at, ":"), program, path, room))
            return true;
    if (dirs && *dirs)
        return false;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = 0;
        for (int up = 0; up < 2; up++) {
            char *slash = strrchr(self, '/');
            if (slash)
                *slash = 0;
        }
        size_t len = strlen(self);
        snprintf(self + len, sizeof self - len, "/libexec/ndock");
        if (runnable(self, strlen(self), program, path, room))
            return true;
    }
    return runnable(ND_KITDIR, strlen(ND_KITDIR), program, path, room);
}

typedef struct {
    char program[PATH_MAX], letter[2];
    nd_text except; /* ids that had their turn */
    char *argv[MOST_ARGS];
    int n;
} command;

static void put(command *c, const char *name, const char *value)
{
    c->argv[c->n++] = (char *)(uintptr_t)name;
    if (value)
        c->argv[c->n++] = (char *)(uintptr_t)value;
    c->argv[c->n] = NULL;
}

static void compose(const conform_run *r, const conform_group *g, command *c)
{
    c->n = 0;
    snprintf(c->letter, sizeof c->letter, "%c", g->letter);
    put(c, c->program, NULL);
    put(c, "--group", c->letter);
    if (r->seed)
        put(c, "--seed", r->seed);
    if (r->count)
        put(c, "--count", r->count);
    if (g->excepts) {
        if (r->filter)
            put(c, "--filter", r->filter);
        if (c->except.data && c->except.len)
            put(c, "--except", c->except.data);
        if (r->large)
            put(c, "--large", NULL);
    }
    put(c, r->path, NULL);
}

/* The id that the program would have come to after last. */
typedef struct {
    const char *last;
    bool take;
    char next[128];
} successor;

static void list_line(void *ctx, const char *line)
{
    successor *s = ctx;
    size_t n = strcspn(line, ": \t");
    if (line[0] == '#' || n == 0 || s->next[0])
        return;
    if (s->take)
        snprintf(s->next, sizeof s->next, "%.*s", (int)n, line);
    s->take = strlen(s->last) == n && strncmp(s->last, line, n) == 0;
}

static void find_next(const conform_run *r, command *c, const char *last, char *id, size_t room)
{
    successor s = {.last = last, .take = last[0] == 0};
    char *argv[] = {c->program,
                    (char *)(uintptr_t) "--group",
                    c->letter,
                    (char *)(uintptr_t) "--list",
                    (char *)(uintptr_t)r->path,
                    NULL};
    conform_spawn(argv, 10, list_line, &s);
    snprintf(id, room, "%s", s.next);
}

/* ---- what a hang is in ---- */

enum { LOOK_SECONDS = 20 };

/* The plug-in's function in a line of the program about a call that does not return. */
static void slow_line(void *ctx, const char *line)
{
    static const char mark[] = "# contract: ", rule[] = "(rule slow)";
    nd_text *found = ctx;
    const char *end = strstr(line, ": it has not returned"), *name = strstr(line, ", ");
    if (strncmp(line, mark, strlen(mark)) != 0 || !strstr(line, rule) || !end || !name ||
        name > end)
        return;
    nd__text_add(found, "%s%.*s", found->len ? " and " : "", (int)(end - name - 2), name + 2);
}

/* The case is made once more, with calls checked: that tells of each that does not return. Appends
 * what it was in to how. */
static void look_into_hang(const conform_run *r, const command *c, const char *replay, double limit,
                           nd_text *how)
{
    const char *const argv[] = {"/usr/bin/env",
                                "NDOCK_HOOK=check",
                                "NDOCK_HOOK_CHECK=warn",
                                "NDOCK_HOOK_SLOW=2",
                                "NDOCK_HOOK_PLUGINS=",
                                "NDOCK_CONFORM_CONTRACT=1",
                                c->program,
                                "--group",
                                c->letter,
                                "--replay",
                                replay,
                                r->path,
                                NULL};
    nd_text found = {0};
    const conform_end end =
        conform_spawn((char *const *)(uintptr_t)argv, limit < LOOK_SECONDS ? limit : LOOK_SECONDS,
                      slow_line, &found);
    if (found.len)
        nd__text_add(how, "; made again, it hangs inside the plug-in's %s", found.data);
    else if (end.timed_out)
        nd__text_puts(how, "; made again, it hangs, and in no function of the plug-in's");
    else
        nd__text_puts(how, "; made again, it does not hang");
    free(found.data);
}

static void how_it_ended(const conform_end *end, double limit, nd_text *out)
{
    int status = end->status;
    if (end->timed_out)
        nd__text_add(out, "silent for %g seconds, so it was ended", limit);
    else if (WIFSIGNALED(status))
        nd__text_add(out, "crashed: signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        nd__text_add(out, "ended early with status %d", WEXITSTATUS(status));
}

/* The case in hand when the program died. */
static void add_death(conform_run *r, const conform_group *g, command *c, conform_reader *reader,
                      const conform_end *end, double limit)
{
    const double seconds = conform_now() - reader->since;
    char id[128];
    nd_text how = {0}, replay = {0};
    snprintf(id, sizeof id, "%s", reader->in);
    if (!id[0])
        find_next(r, c, reader->last_id, id, sizeof id);
    if (!id[0])
        snprintf(id, sizeof id, "%s.end", c->letter);
    how_it_ended(end, limit, &how);
    nd__text_puts(&replay, reader->last_words[0] ? reader->last_words : id);
    if (end->timed_out && g->hooked && reader->last_words[0])
        look_into_hang(r, c, replay.data, limit, &how);
    conform_case *d = conform_add(r, c->letter[0], CASE_FAIL, id, how.data);
    d->died = true;
    d->seconds = seconds;
    conform_set(&d->replay, replay.data);
    if (end->errors[0])
        conform_append(&d->said, end->errors);
    if (!reader->in[0])
        conform_append(&d->said, reader->last_id[0] ? "the last check that came to its end:"
                                                    : "no check came to its end");
    if (!reader->in[0] && reader->last_id[0])
        conform_append(&d->said, reader->last_id);
    free(how.data);
    free(replay.data);
}

static void note_turns(const conform_run *r, size_t first, nd_text *except)
{
    for (size_t i = first; i < r->n; i++)
        nd__text_add(except, "%s%s", except->len ? "," : "", r->cases[i].id);
}

static bool any_failed(const conform_run *r, size_t first)
{
    for (size_t i = first; i < r->n; i++)
        if (r->cases[i].outcome == CASE_FAIL)
            return true;
    return false;
}

static void take_line(void *ctx, const char *line)
{
    conform_line(ctx, line);
}

/* Whether the program came to its end in good order. */
static bool whole(const conform_run *r, const conform_reader *reader, const conform_end *end)
{
    if (end->timed_out || !WIFEXITED(end->status) || reader->planned < 0 ||
        (!reader->skipped && reader->planned != reader->seen))
        return false;
    int status = WEXITSTATUS(end->status);
    return status == 0 || (status == 1 && any_failed(r, reader->first));
}

/* One process; whether another one may bring more. */
static bool run_once(conform_run *r, conform_group *g, command *c)
{
    double limit = r->timeout > 0 ? r->timeout : g->limit;
    conform_reader reader = {
        .run = r, .group = g, .first = r->n, .planned = -1, .since = conform_now()};
    compose(r, g, c);
    conform_end end = conform_spawn(c->argv, limit, take_line, &reader);
    if (end.status == -1) {
        conform_set(&g->why_not, end.why);
        return false;
    }
    g->ran = !reader.skipped;
    if (whole(r, &reader, &end))
        return false;
    if (reader.seen == 0 && WIFEXITED(end.status) && WEXITSTATUS(end.status) == EXIT_USAGE) {
        g->ran = false;
        conform_set(&g->why_not, end.errors[0] ? end.errors : "its program refused");
        return false;
    }
    bool same = reader.seen == 0 && r->n > 0 && r->cases[r->n - 1].died &&
                strcmp(r->cases[r->n - 1].id, reader.in) == 0;
    if (same) /* it dies before it looks at what to leave out */
        return false;
    add_death(r, g, c, &reader, &end, limit);
    note_turns(r, reader.first, &c->except);
    return g->excepts;
}

void conform_run_group(conform_run *r, conform_group *g)
{
    command c = {.n = 0};
    double start = conform_now();
    const size_t first = r->n;
    if (!find_program(g->program, c.program, sizeof c.program)) {
        nd_text why = {0};
        const char *dirs = getenv("NDOCK_CONFORM_DIR");
        nd__text_add(&why, "%s is not in %s%s", g->program, dirs && *dirs ? dirs : ND_KITDIR,
                     dirs && *dirs ? " (NDOCK_CONFORM_DIR)" : "");
        conform_set(&g->why_not, why.data);
        free(why.data);
        return;
    }
    for (int i = 0; i < MOST_RESTARTS && run_once(r, g, &c); i++)
        continue;
    if (r->filter)
        conform_keep(r, first, r->filter);
    free(c.except.data);
    g->seconds = conform_now() - start;
}

int conform_replay(conform_run *r)
{
    command c = {.n = 0};
    conform_group *g = conform_group_of(r, r->replay[0]);
    if (!find_program(g->program, c.program, sizeof c.program)) {
        fprintf(stderr, "ndock conform: %s is not installed\n", g->program);
        return EXIT_CANNOT;
    }
    compose(r, g, &c);
    c.n--;
    put(&c, "--replay", r->replay);
    put(&c, r->path, NULL);
    conform_end end = conform_spawn(c.argv, 0, NULL, NULL);
    if (end.status == -1) {
        fprintf(stderr, "ndock conform: %s\n", end.why);
        return EXIT_CANNOT;
    }
    if (WIFEXITED(end.status))
        return WEXITSTATUS(end.status);
    fprintf(stderr, "ndock conform: crashed: signal %d (%s)\n", WTERMSIG(end.status),
            strsignal(WTERMSIG(end.status)));
    return 1;
}
