/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Files of a new plug-in from templates: into a folder beside the wanted one, which then gets its
 * name, so that no half of a project is ever seen. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/new_plugin/new_plugin.h"

#include <ndock/version.h>

static const struct {
    const char *template, *file; /* the latter with marks */
    const char *when;            /* a line of a template that is kept or not */
} files[] = {
    {"device.c.tmpl", "device.@EXT@", "@c,c++@+"},
    {"device.cu.tmpl", "device.cu", "@cuda@+"},
    {"device.h.tmpl", "device.h", "@tier1,tier2@+"},
    {"queue.h.tmpl", "queue.h", "@tier2@+"},
    {"queue.c.tmpl", "queue.@EXT@", "@tier2@+"},
    {"event.c.tmpl", "event.@EXT@", "@tier2@+"},
    {"stream.c.tmpl", "stream.@EXT@", "@tier2@+"},
    {"kernels.c.tmpl", "kernels.@EXT@", "@tier1,tier2@+"},
    {"kernels_tmpl.h.tmpl", "kernels_tmpl.h", "@tier1,tier2@+"},
    {"value.h.tmpl", "value.h", "@tier1,tier2@+"},
    {"Makefile.tmpl", "Makefile", "@make@+"},
    {"configure.ac.tmpl", "configure.ac", "@autotools@+"},
    {"Makefile.am.tmpl", "Makefile.am", "@autotools@+"},
    {"meson.build.tmpl", "meson.build", "@meson@+"},
    {"README.md.tmpl", "README.md", "+"},
    {"LICENSE.tmpl", "LICENSE", "+"},
    {"gitignore.tmpl", ".gitignore", "+"},
    {"ci.sh.tmpl", "ci.sh", "+"},
    {"ci.yml.tmpl", ".github/workflows/ci.yml", "+"},
};
enum { FILES = sizeof files / sizeof *files };

/* ---- templates ---- */

static bool is_word(const char *word, size_t n, const char *choice)
{
    return n == strlen(choice) && memcmp(word, choice, n) == 0;
}

/* One of the words up to the closing @ is a choice of the request. */
static bool any_chosen(const new_plugin *p, const char *words)
{
    for (;;) {
        size_t n = strcspn(words, ",@");
        if (is_word(words, n, p->lang) || is_word(words, n, p->build) || is_word(words, n, p->tier))
            return true;
        if (words[n] != ',')
            return false;
        words += n + 1;
    }
}

/* What of the line is kept, or NULL. Words of conditions are small letters, those of marks large
 * ones. */
static const char *kept_part(const new_plugin *p, const char *line)
{
    while (line[0] == '@') {
        size_t n = 1 + strspn(line + 1, "abcdefghijklmnopqrstuvwxyz012+,");
        if (n == 1 || line[n] != '@')
            return line;
        if (!any_chosen(p, line + 1))
            return NULL;
        line += n + 1;
    }
    return line;
}

static const char *extension(const new_plugin *p)
{
    return strcmp(p->lang, "c") == 0 ? "c" : strcmp(p->lang, "c++") == 0 ? "cc" : "cu";
}

/* The mark's value, and its length in *n; NULL: it is none of ours. */
static const char *mark_value(const new_plugin *p, const char *mark, size_t *n)
{
    const struct {
        const char *mark, *value;
    } marks[] = {{"@NAME@", p->name},     {"@EXT@", extension(p)}, {"@LANG@", p->lang},
                 {"@TIER@", p->tier + 4}, {"@BUILD@", p->build},   {"@VERSION@", ND_VERSION}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        *n = strlen(marks[i].mark);
        if (strncmp(mark, marks[i].mark, *n) == 0)
            return marks[i].value;
    }
    return NULL;
}

static void expand_marks(const new_plugin *p, const char *line, const char *end, nd_text *out)
{
    while (line < end) {
        const char *at = memchr(line, '@', (size_t)(end - line));
        size_t n;
        nd__text_bytes(out, line, (size_t)((at ? at : end) - line));
        if (!at)
            return;
        const char *value = mark_value(p, at, &n);
        if (value)
            nd__text_puts(out, value);
        else
            nd__text_bytes(out, at, n = 1);
        line = at + n;
    }
}

void new_plugin_expand(const new_plugin *p, const char *text, nd_text *out)
{
    while (*text) {
        const char *newline = strchr(text, '\n');
        const char *end = newline ? newline + 1 : text + strlen(text);
        const char *kept = kept_part(p, text);
        if (kept)
            expand_marks(p, kept, end, out);
        text = end;
    }
}

static bool is_wanted(const new_plugin *p, int i)
{
    return kept_part(p, files[i].when) != NULL;
}

const char *new_plugin_file(const new_plugin *p, int i, char *path, size_t n)
{
    nd_text name = {0};
    for (int f = 0; f < FILES; f++) {
        if (!is_wanted(p, f) || i-- > 0)
            continue;
        new_plugin_expand(p, files[f].file, &name);
        snprintf(path, n, "%s", name.data ? name.data : "");
        free(name.data);
        return path;
    }
    return NULL;
}

/* ---- files ---- */

static int fail(const char *doing, const char *path, int err)
{
    fprintf(stderr, "ndock new-plugin: %s %s: %s\n", doing, path, strerror(err));
    return 1;
}

/* The file's text with a 0 after it, to be freed; NULL with errno. */
static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    nd_text text = {0};
    char buffer[4096];
    if (!f)
        return NULL;
    nd__text_puts(&text, "");
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
        nd__text_bytes(&text, buffer, n);
    int err = ferror(f) ? EIO : text.failed ? ENOMEM : 0;
    fclose(f);
    if (!err)
        return text.data;
    free(text.data);
    errno = err;
    return NULL;
}

static int write_text(const char *path, const nd_text *text)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return -1;
    bool failed = fwrite(text->data, 1, text->len, f) != text->len;
    failed |= fclose(f) != 0;
    return failed ? -1 : 0;
}

/* dir/file, to be freed; NULL when there is no memory. */
static char *join(const char *dir, const char *file)
{
    nd_text path = {0};
    nd__text_add(&path, "%s/%s", dir, file);
    if (!path.failed)
        return path.data;
    free(path.data);
    errno = ENOMEM;
    return NULL;
}

/* The folders of path below dir. */
static int make_folders(const char *dir, char *path)
{
    for (char *slash = strchr(path + strlen(dir) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int failed = mkdir(path, 0777) != 0 && errno != EEXIST;
        *slash = '/';
        if (failed)
            return -1;
    }
    return 0;
}

/* By all who may read it. */
static int make_executable(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return -1;
    return chmod(path, (st.st_mode | (st.st_mode & 0444) >> 2) & 0777);
}

/* Path and text of the i-th file. */
static int expand_file(const new_plugin *p, int i, const char *dir, char **path, nd_text *text)
{
    nd_text name = {0};
    char *from = join(p->templates, files[i].template), *template = from ? read_text(from) : NULL;
    if (!template) {
        int status = fail("cannot read the template (see --templates)",
                          from ? from : files[i].template, errno);
        free(from);
        return status;
    }
    nd__text_puts(text, "");
    new_plugin_expand(p, template, text);
    new_plugin_expand(p, files[i].file, &name);
    *path = name.failed || text->failed ? NULL : join(dir, name.data);
    free(from);
    free(template);
    free(name.data);
    return *path ? 0 : fail("cannot write", files[i].file, ENOMEM);
}

static int write_file(const new_plugin *p, int i, const char *dir)
{
    char *path = NULL;
    nd_text text = {0};
    int status = expand_file(p, i, dir, &path, &text);
    if (status == 0 && (make_folders(dir, path) != 0 || write_text(path, &text) != 0 ||
                        (strncmp(text.data, "#!", 2) == 0 && make_executable(path) != 0)))
        status = fail("cannot write", path, errno);
    free(path);
    free(text.data);
    return status;
}

/* What write_file left, and the folder; of a project that is given up. */
static void remove_files(const new_plugin *p, const char *dir)
{
    char file[64], *path;
    for (int i = 0; new_plugin_file(p, i, file, sizeof file) && (path = join(dir, file)); i++) {
        (void)unlink(path);
        for (char *slash; (slash = strrchr(path, '/')) > path + strlen(dir);) {
            *slash = 0;
            (void)rmdir(path);
        }
        free(path);
    }
    (void)rmdir(dir);
}

/* The finished folder gets the wanted name: an empty one's place, never that of one with anything
 * in it. */
static int hand_over(const new_plugin *p, const char *dir)
{
    mode_t mask = umask(0); /* mkdtemp's folders are for their owner alone */
    umask(mask);
    if (chmod(dir, 0777 & ~mask) == 0 && rename(dir, p->dir) == 0)
        return 0;
    return fail(errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR
                    ? "will not overwrite; give another folder by -o:"
                    : "cannot make",
                p->dir, errno);
}

int new_plugin_write(const new_plugin *p)
{
    int status = 0;
    size_t n = strlen(p->dir);
    nd_text dir = {0};
    while (n > 1 && p->dir[n - 1] == '/')
        n--;
    nd__text_bytes(&dir, p->dir, n);
    nd__text_puts(&dir, ".XXXXXX");
    if (dir.failed || !mkdtemp(dir.data)) {
        status = fail("cannot make a folder beside", p->dir, dir.failed ? ENOMEM : errno);
        free(dir.data);
        return status;
    }
    for (int i = 0; i < FILES && status == 0; i++)
        if (is_wanted(p, i))
            status = write_file(p, i, dir.data);
    if (status == 0)
        status = hand_over(p, dir.data);
    if (status != 0)
        remove_files(p, dir.data);
    free(dir.data);
    return status;
}
