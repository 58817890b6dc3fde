/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock conform`: what its files share. The program itself never runs a plug-in's code: group A
 * reads the file, the other groups run in programs of the kit, a process each. */
#ifndef NDOCK_TOOL_CONFORM_H
#define NDOCK_TOOL_CONFORM_H
#include <limits.h>
#include "core/base/text.h"
#include "tools/tool.h"

enum { CONFORM_GROUPS = 9, EXIT_CANNOT = 2 };

typedef enum {
    CASE_PASS,
    CASE_FAIL,
    CASE_SKIP,
    CASE_XFAIL, /* failed, as the expect file says */
    CASE_XPASS, /* passed, though the expect file says that it fails */
    CASE_OUTCOMES
} conform_outcome;

typedef struct {
    char group;
    conform_outcome outcome;
    bool died;      /* a crash or a hang rather than a wrong answer */
    double seconds; /* since the one before */
    char *id;       /* "D.add" */
    char *text;     /* what was checked */
    char *reason;   /* of a skip or an expected failure, "" */
    char *said;     /* of a failure, lines, "" */
    char *replay;   /* for --replay, "" */
} conform_case;

typedef struct {      /* a line of the expect file */
    bool fails, used; /* xfail, else unsupported; some case met it */
    int line;
    char *glob, *reason;
} conform_expectation;

typedef struct {
    char letter;
    const char *title, *program; /* program NULL: in this process */
    bool excepts;                /* the program takes --except, so it can go on after a crash */
    bool hooked;                 /* it calls the plug-in by libndock, so NDOCK_HOOK holds */
    double limit;                /* seconds a check may take */
    bool wanted, ran;
    char *why_not; /* why it did not run, or NULL */
    double seconds;
    int count[CASE_OUTCOMES];
} conform_group;

typedef struct {
    /* what was asked */
    const char *file, *expect, *filter, *replay, *junit, *json, *html, *certificate;
    const char *seed, *count; /* as given, NULL: the program's own */
    int tier;                 /* at least; -1: whatever it reaches */
    double timeout;           /* 0: each group's own */
    bool strict, tap, large, some_groups;
    /* what is known of the file */
    char path[PATH_MAX];
    char name[64], version[64], build_id[129], sha256[65];
    char date[32], host[512];
    /* what came out */
    conform_group group[CONFORM_GROUPS];
    conform_case *cases;
    size_t n, room;
    conform_expectation *expected;
    size_t n_expected;
    int reached;     /* tier, -1: not even 0, or not known */
    bool quiet;      /* standard output is another's */
    nd_text trouble; /* lines: why the run says nothing, or less than was asked for */
} conform_run;

/* ---- case.c: cases and lines of TAP ---- */
conform_group *conform_group_of(conform_run *r, char letter);
/* A new case, its texts copied; NULL texts are "". The result is valid until the next one. */
conform_case *conform_add(conform_run *r, char group, conform_outcome outcome, const char *id,
                          const char *text);
/* The text is replaced; what it was is freed. */
void conform_set(char **text, const char *value);
void conform_append(char **text, const char *line);
/* Of the cases from first on those alone whose ids match. */
void conform_keep(conform_run *r, size_t first, const char *pattern);
const char *conform_outcome_name(conform_outcome outcome); /* "passed", "failed" ... */
void conform_free(conform_run *r);

typedef struct { /* what one program of the kit says */
    conform_run *run;
    conform_group *group;
    size_t first;         /* the first case of this process */
    int planned, seen;    /* planned -1: no plan yet */
    bool skipped;         /* the plan skips all */
    char in[128];         /* the check in hand when it died, by its own last words, or "" */
    char last_id[128];    /* of the latest line */
    char last_words[256]; /* the replay text that came with in */
    double since;         /* of the latest line */
} conform_reader;
void conform_line(conform_reader *reader, const char *line);

/* ---- child.c: one program ---- */
typedef struct {
    int status; /* as waitpid has it; -1: it did not start, and why says why */
    bool timed_out;
    char why[256];
    char errors[4096]; /* the end of what it wrote to standard error */
} conform_end;
/* Runs argv to its end, or until it has been silent for limit seconds. line NULL: its output goes
 * where ours goes, and there is no limit. */
conform_end conform_spawn(char *const *argv, double limit,
                          void (*line)(void *ctx, const char *text), void *ctx);
double conform_now(void); /* seconds */

/* ---- groups.c ---- */
void conform_run_group(conform_run *r, conform_group *g);
/* One case again, everything it says shown. An exit status. */
int conform_replay(conform_run *r);

/* ---- static.c ---- */
/* Group A. False: the file is nothing that the other groups could load. */
bool conform_run_static(conform_run *r, conform_group *g);
/* Name, version and build-id out of the file, as far as it has them. */
void conform_read_file(conform_run *r);

/* ---- expect.c ---- */
bool conform_expect_read(conform_run *r); /* false after a message */
/* To the cases of a group that has run. */
void conform_expect_apply(conform_run *r, char group);
int conform_expect_unused(conform_run *r); /* lines, named in trouble */
void conform_expect_free(conform_run *r);

/* ---- judge.c ---- */
/* Counts, the tier reached, what else is wrong. Whether it conforms; *status: the exit status. */
void conform_count(conform_run *r, conform_group *g);
bool conform_judge(conform_run *r, int *status);
/* All that a certificate speaks of was run. */
bool conform_is_whole(const conform_run *r);
/* The words of the verdict. */
void conform_verdict(const conform_run *r, bool conforms, nd_text *out);

/* ---- print.c ---- */
void conform_print_head(const conform_run *r);
void conform_print_group(const conform_run *r, const conform_group *g);
void conform_print_end(const conform_run *r, bool conforms);
void conform_print_tap(const conform_run *r);
/* The command that repeats a case, for a shell: quoted where needed. */
void conform_replay_command(nd_text *out, const conform_run *r, const conform_case *c);

/* ---- report.c, html.c; 0, or -1 after a message ---- */
int conform_write(const char *path, const nd_text *t); /* "-": standard output */
void conform_markup(nd_text *out, const char *text);   /* escaped for XML and HTML */
int conform_write_junit(const conform_run *r);
int conform_write_json(const conform_run *r, bool conforms);
int conform_write_html(const conform_run *r, bool conforms);
void conform_json_head(json_writer *w, const conform_run *r);
void conform_json_counts(json_writer *w, const conform_group *g);

/* ---- cert.c ---- */
bool conform_sha256(const char *path, char text[65]);
void conform_read_host(conform_run *r); /* and the date */
int conform_write_certificate(conform_run *r);
#endif
