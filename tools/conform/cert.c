/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Certificates: a whole run that passed leaves one in the user's folder of state, named by the
 * file's build-id (or its SHA-256, if the linker gave none), and `ndock info` shows it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "tools/conform/conform.h"
#include "core/base/store.h"
#include "core/base/json.h"
#include "tools/elf.h"
#include "tools/tool.h"

enum { MOST_BYTES = 1 << 16 };

bool conform_sha256(const char *path, char text[65])
{
    uint8_t digest[32];
    text[0] = 0;
    if (!nd__sha256_file(path, digest))
        return false;
    for (int i = 0; i < 32; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return true;
}

void conform_read_host(conform_run *r)
{
    struct utsname u;
    struct tm tm;
    const time_t now = time(NULL);
    if (gmtime_r(&now, &tm))
        strftime(r->date, sizeof r->date, "%Y-%m-%dT%H:%M:%SZ", &tm);
    if (uname(&u) == 0)
        snprintf(r->host, sizeof r->host, "%s %s %s %s", u.nodename, u.sysname, u.release,
                 u.machine);
}

/* The XDG base directory specification's folder of state, where relative paths are ignored. */
static bool certificate_path(const char *key, char *path, size_t n)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int len = state && state[0] == '/' ? snprintf(path, n, "%s/ndock/conform/%s.json", state, key)
              : home && home[0] == '/'
                  ? snprintf(path, n, "%s/.local/state/ndock/conform/%s.json", home, key)
                  : 0;
    return len > 0 && (size_t)len < n;
}

/* The folders of a path, which stays as it was. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)mkdir(path, 0755); /* what cannot be made is told when the file is written */
        *slash = '/';
    }
}

/* ---- files that belong to the plug-in: all that ndock-NAME.d beside it holds ---- */

/* "/usr/lib/.../ndock-x.d" of ".../ndock-x.so"; false: the name ends otherwise. */
static bool helper_folder(const char *file, char *out, size_t n)
{
    const size_t length = strlen(file);
    return length > 3 && strcmp(file + length - 3, ".so") == 0 &&
           (size_t)snprintf(out, n, "%.*s.d", (int)(length - 3), file) < n;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static void write_helpers(json_writer *w, const char *file)
{
    char folder[PATH_MAX], path[2 * PATH_MAX], sha256[65];
    struct dirent **names = NULL;
    int n = helper_folder(file, folder, sizeof folder)
                ? scandir(folder, &names, is_visible, by_name)
                : 0;
    json_open(w, "helpers", '[');
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (conform_sha256(path, sha256)) {
            json_open(w, NULL, '{');
            json_text(w, "file", names[i]->d_name);
            json_text(w, "sha256", sha256);
            json_close(w, '}');
        }
        free(names[i]);
    }
    free(names);
    json_close(w, ']');
}

/* What D.training says that the CPU computes. */
static const char *staged_in_training(const conform_run *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->cases[i].id, "D.training") == 0)
            return r->cases[i].reason;
    return "";
}

static void write_body(json_writer *w, const conform_run *r)
{
    json_open(w, NULL, '{');
    conform_json_head(w, r);
    json_open(w, "groups", '{');
    for (int i = 0; i < CONFORM_GROUPS; i++) {
        char letter[2] = {r->group[i].letter, 0};
        json_open(w, letter, '{');
        conform_json_counts(w, &r->group[i]);
        json_close(w, '}');
    }
    json_close(w, '}');
    json_text(w, "training", staged_in_training(r));
    write_helpers(w, r->path);
    json_open(w, "expected_failures", '[');
    for (size_t i = 0; i < r->n; i++)
        if (r->cases[i].outcome == CASE_XFAIL) {
            json_open(w, NULL, '{');
            json_text(w, "id", r->cases[i].id);
            json_text(w, "reason", r->cases[i].reason);
            json_close(w, '}');
        }
    json_close(w, ']');
    json_close(w, '}');
}

int conform_write_certificate(conform_run *r)
{
    char path[PATH_MAX];
    nd_text t = {0};
    json_writer w = {.out = open_memstream(&t.data, &t.len)};
    if (!w.out)
        return conform_write("the certificate", &t);
    write_body(&w, r);
    t.failed = fclose(w.out) != 0;
    int failed = 0;
    if (r->certificate) {
        failed = conform_write(r->certificate, &t);
    } else if (certificate_path(r->build_id[0] ? r->build_id : r->sha256, path, sizeof path)) {
        make_folders(path);
        failed = tool_replace_file(path, t.data, t.len);
        nd__text_add(&r->trouble, failed ? "no certificate is kept: %s: %s\n" : "certificate: %s\n",
                     path, strerror(errno));
        failed = 0; /* a home that cannot be written makes no plug-in worse */
    } else {
        nd__text_puts(&r->trouble,
                      "no certificate is kept: neither XDG_STATE_HOME nor HOME names a folder\n");
    }
    free(t.data);
    return failed;
}

/* What `ndock info` shows of a certificate. */
typedef struct {
    const char *plugin, *kit, *date;
    const char *changed; /* a helper file that is not what was certified, or "" */
    int64_t tier;
} facts;

/* The next object of "helpers"; false: it is no such list. */
static bool read_helper(nd__json *j, const char *file, facts *out)
{
    char folder[PATH_MAX], path[2 * PATH_MAX], now[65];
    const char *key, *name = "", *sha256 = "";
    int first = 1;
    for (nd__json_enter(j, '{'); nd__json_next(j, '{', &first);) {
        if (!nd__json_key(j, &key))
            return false;
        nd__json_text(j, strcmp(key, "file") == 0 ? &name : &sha256);
    }
    if (!helper_folder(file, folder, sizeof folder))
        return true;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!conform_sha256(path, now) || strcmp(now, sha256) != 0)
        out->changed = name;
    return true;
}

static bool read_helpers(nd__json *j, const char *file, facts *out)
{
    int first = 1;
    for (nd__json_enter(j, '['); nd__json_next(j, '[', &first);)
        if (!read_helper(j, file, out))
            return false;
    return true;
}

static bool read_facts(const char *text, size_t n, const char *file, char *arena, facts *out)
{
    nd__json j;
    int first = 1;
    const char *key;
    nd__json_start(&j, text, n, arena);
    *out = (facts){"", "", "", "", -1};
    for (nd__json_enter(&j, '{'); nd__json_next(&j, '{', &first);) {
        if (!nd__json_key(&j, &key))
            return false;
        const char **value = strcmp(key, "plugin") == 0 ? &out->plugin
                             : strcmp(key, "kit") == 0  ? &out->kit
                             : strcmp(key, "date") == 0 ? &out->date
                                                        : NULL;
        if (value)
            nd__json_text(&j, value);
        else if (strcmp(key, "helpers") == 0) {
            if (!read_helpers(&j, file, out))
                return false;
        } else if (strcmp(key, "tier") == 0)
            nd__json_int(&j, &out->tier);
        else
            nd__json_skip(&j);
    }
    return nd__json_end(&j) && out->kit[0] && out->tier >= 0;
}

static bool key_of(const char *file, char *key, size_t n)
{
    elf_file e;
    char error[256];
    if (!elf_open(file, &e, error, sizeof error))
        return false;
    elf_build_id(&e, key, n);
    elf_close(&e);
    return key[0] || (n >= 65 && conform_sha256(file, key));
}

static void tell(const facts *f, char *out, size_t n)
{
    if (f->changed[0])
        snprintf(out, n, "conformed on %.10s, but its file %s has changed since", f->date,
                 f->changed);
    else
        snprintf(out, n, "conforms, tier %d, ndock %s, %.10s", (int)f->tier, f->kit, f->date);
}

const char *tool_conform_line(const char *file, const char *name, char *out, size_t n)
{
    static char text[MOST_BYTES], arena[MOST_BYTES];
    char key[256], path[PATH_MAX];
    facts f;
    out[0] = 0;
    if (!key_of(file, key, sizeof key) || !certificate_path(key, path, sizeof path))
        return out;
    const char *why;
    FILE *stream = tool_open_quietly(path, &why);
    size_t size = stream ? fread(text, 1, sizeof text, stream) : 0;
    if (stream)
        fclose(stream);
    if (size > 0 && size < sizeof text && read_facts(text, size, file, arena, &f) &&
        strcmp(f.plugin, name) == 0)
        tell(&f, out, n);
    return out;
}
