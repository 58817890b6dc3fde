/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Names NDOCK_... of the environment that nobody knows, with the nearest one that somebody does. */
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/auxv.h>
#include "core/plugin/param.h"

extern char **environ;

#define START "NDOCK_"
enum { MOST_NAME = 96, FAR = 99 };

static int least(int a, int b, int c)
{
    int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Letters to insert, remove, replace or swap with their neighbour; case does not count. Optimal
 * string alignment: Damerau, "A technique for computer detection and correction of spelling
 * errors", CACM 7 (1964). */
static int distance(const char *a, const char *b)
{
    int row[3][MOST_NAME + 1];
    int n = (int)strlen(a), m = (int)strlen(b);
    int *before = row[0], *above = row[1], *now = row[2];
    if (n > MOST_NAME || m > MOST_NAME)
        return FAR;
    for (int j = 0; j <= m; j++)
        above[j] = j;
    for (int i = 1; i <= n; i++) {
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int x = toupper((unsigned char)a[i - 1]), y = toupper((unsigned char)b[j - 1]);
            now[j] = least(above[j] + 1, now[j - 1] + 1, above[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == toupper((unsigned char)b[j - 2]) &&
                y == toupper((unsigned char)a[i - 2]) && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        int *spare = before;
        before = above;
        above = now;
        now = spare;
    }
    return above[m];
}

/* A name that lies whole in the other (THREADS in NUM_THREADS) counts as two letters away. */
static int far_apart(const char *a, const char *b)
{
    int d = distance(a, b);
    bool part = strlen(a) >= 3 && strlen(b) >= 3 && (strcasestr(a, b) || strcasestr(b, a));
    return part && d > 2 ? 2 : d;
}

static void nearer(const char *wrong, const char *name, int *best, const char **nearest)
{
    int d = far_apart(wrong + strlen(START), name + strlen(START));
    if (d < *best) {
        *best = d;
        *nearest = name;
    }
}

/* "" if nothing is near: more than a third of the letters would differ. */
static const char *nearest_name(const char *wrong)
{
    nd_param p;
    const char *nearest = "";
    int length = (int)strlen(wrong) - (int)strlen(START);
    int best = length / 3 + 1 > 2 ? length / 3 + 1 : 3;
    for (int row = 0; row < ND_ENVS; row++)
        if (strcmp(nd__env_rows[row].owner, "tests") != 0)
            nearer(wrong, nd__env_rows[row].name, &best, &nearest);
    for (int32_t i = 0; nd__param_at(i, &p); i++)
        nearer(wrong, p.name, &best, &nearest);
    return nearest;
}

/* The i-th unknown name; NULL past the last. A copy that stays. */
static const char *unknown_name(int32_t i)
{
    char name[256];
    if (getauxval(AT_SECURE))
        return NULL; /* none of them is read */
    for (char **e = environ; e && *e; e++) {
        size_t n = strcspn(*e, "=");
        if (strncasecmp(*e, START, strlen(START)) != 0 || n >= sizeof name)
            continue;
        memcpy(name, *e, n);
        name[n] = 0;
        if (nd__param_name_state(name) == ND_NAME_UNKNOWN && i-- == 0)
            return nd__text_keep(name);
    }
    return NULL;
}

nd_status nd_param_unknown(int32_t i, const char **name, const char **nearest)
{
    ND_OUT("param_unknown", 1, name, NULL);
    ND_OUT("param_unknown", 2, nearest, "");
    *name = i < 0 ? NULL : unknown_name(i);
    if (!*name)
        return nd__fail(ND_ERR_INDEX, "param_unknown", 0, "there is no unknown name number %d",
                        (int)i);
    *nearest = nearest_name(*name);
    return ND_OK;
}

/* Texts that were logged: kept ones, so that pointers tell them apart. */
typedef struct told {
    const char *text;
    struct told *next;
} told;
static told *all_told;
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;

void nd__fork_told(nd_fork now)
{
    nd__fork_mutex(&told_lock, now);
}

void nd__params_tell(const char *kept)
{
    pthread_mutex_lock(&told_lock);
    told *t = all_told;
    while (t && t->text != kept)
        t = t->next;
    const bool fresh = t == NULL;
    if (fresh && (t = malloc(sizeof *t)) != NULL) {
        *t = (told){kept, all_told};
        all_told = t;
    }
    pthread_mutex_unlock(&told_lock);
    if (fresh)
        nd__log(ND_LOG_WARN, "%s", kept);
}

static void tell_unknown(const char *name)
{
    const char *nearest = nearest_name(name);
    nd_text t = {0};
    nd__text_add(&t, "nothing reads the variable %s", name);
    if (nearest[0])
        nd__text_add(&t, "; did you mean %s?", nearest);
    if (t.data)
        nd__params_tell(nd__text_keep(t.data));
    free(t.data);
}

void nd__params_report(void)
{
    nd_param p;
    const char *name, *problem;
    for (int32_t i = 0; (name = unknown_name(i)) != NULL; i++)
        tell_unknown(name);
    for (int row = 0; row < ND_ENVS; row++)
        if ((problem = nd__env_problem((nd_env)row))[0])
            nd__params_tell(problem);
    for (int32_t i = 0; nd__param_at(i, &p); i++)
        if (p.problem[0])
            nd__params_tell(p.problem);
}
