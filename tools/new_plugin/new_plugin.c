/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock new-plugin`: what was asked for, checked; and what to do next. */
#include <getopt.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/new_plugin/new_plugin.h"
#include "tools/tool.h"

enum { PATH = 4096, LONGEST_NAME = 31 };

static const char usage_text[] =
    "Usage: ndock new-plugin NAME [OPTION]...\n"
    "Write a project that builds a plug-in for the device NAME:0 with the installed ndock, and\n"
    "whose tests pass at once.\n\n"
    "  --lang LANG      c (default), c++, or cuda: a device over the CUDA runtime\n"
    "  --build SYSTEM   make (default), autotools or meson\n"
    "  --tier N         0 (default): memory alone, what is computed runs on the CPU;\n"
    "                   1: kernels too; 2: and streams (not with --lang cuda)\n"
    "  -o, --output DIR the project's folder, which must not exist yet (default ndock-NAME)\n"
    "  --templates DIR  templates of your own, in place of those that came with ndock\n"
    "  --help           this text\n\n"
    "See the plug-in guide, plugin-guide.md, in ndock's folder of documents.\n";

static int refuse(const char *what, const char *value, const char *right)
{
    fprintf(stderr, "ndock new-plugin: %s \"%s\": %s\n", what, value, right);
    return EXIT_USAGE;
}

static int check_name(const char *name)
{
    static const char *const taken[] = {"auto", "cpu", "cuda", "opencl", "sim"};
    const char *first = "abcdefghijklmnopqrstuvwxyz";
    const char *others = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t n = strlen(name);
    if (n == 0 || !strchr(first, name[0]) || strspn(name, others) != n)
        return refuse("the name", name,
                      "it begins with a letter of a-z, and has letters of a-z, digits and _");
    if (n > LONGEST_NAME)
        return refuse("the name", name, "it has at most 31 characters");
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(name, taken[i]) == 0)
            return refuse("the name", name, "it is one of ndock's own; take another");
    return 0;
}

static int check_choices(new_plugin *p)
{
    static const char *const tiers[] = {"tier0", "tier1", "tier2"};
    if (strcmp(p->lang, "c") != 0 && strcmp(p->lang, "c++") != 0 && strcmp(p->lang, "cuda") != 0)
        return refuse("--lang", p->lang, "it takes c, c++ or cuda");
    if (strcmp(p->build, "make") != 0 && strcmp(p->build, "autotools") != 0 &&
        strcmp(p->build, "meson") != 0)
        return refuse("--build", p->build, "it takes make, autotools or meson");
    if (strlen(p->tier) != 1 || p->tier[0] < '0' || p->tier[0] > '2')
        return refuse("--tier", p->tier, "it takes 0, 1 or 2");
    if (p->tier[0] == '2' && strcmp(p->lang, "cuda") == 0)
        return refuse("--tier", p->tier,
                      "with --lang cuda it takes 0 or 1; the streams of --lang c show what CUDA's "
                      "are to do");
    p->tier = tiers[p->tier[0] - '0'];
    return 0;
}

/* Beside the command, wherever the installation was moved to; else where it was configured to be.
 */
static const char *installed_templates(char *path, size_t n)
{
    static const char share[] = "/../share/ndock/templates";
    struct stat st;
    ssize_t length = readlink("/proc/self/exe", path, n - sizeof share);
    char *slash = NULL;
    if (length > 0) {
        path[length] = 0;
        slash = strrchr(path, '/');
    }
    if (slash) {
        memcpy(slash, share, sizeof share);
        if (stat(path, &st) == 0)
            return path;
    }
    return ND_TEMPLATESDIR;
}

/* As a word of the shell. */
static void print_quoted(const char *word)
{
    if (word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./")] ==
        0) {
        fputs(word, stdout);
        return;
    }
    putchar('\'');
    for (; *word; word++)
        *word == '\'' ? (void)fputs("'\\''", stdout) : (void)putchar(*word);
    putchar('\'');
}

static void print_result(const new_plugin *p)
{
    static const struct {
        const char *build, *first, *second, *third;
    } next[] = {
        {"make", "", "make", "make check"},
        {"autotools", " && autoreconf -i && ./configure", "make", "make check"},
        {"meson", " && meson setup _build", "meson compile -C _build", "meson test -C _build"},
    };
    char path[PATH];
    print_quoted(p->dir);
    puts("/");
    for (int i = 0; new_plugin_file(p, i, path, sizeof path); i++)
        printf("  %s\n", path);
    for (size_t i = 0; i < sizeof next / sizeof *next; i++) {
        if (strcmp(next[i].build, p->build) != 0)
            continue;
        fputs("\nNext:\n  cd ", stdout);
        print_quoted(p->dir);
        printf("%s\n  %s\n  %s\n", next[i].first, next[i].second, next[i].third);
    }
}

static int usage(FILE *out, int status)
{
    fputs(usage_text, out);
    return status;
}

/* 0, or the exit status; -1 after --help. */
static int parse(int argc, char **argv, new_plugin *p)
{
    enum { LANG = 256, BUILD, TIER, TEMPLATES };
    static const struct option known[] = {
        {"lang", required_argument, NULL, LANG},
        {"build", required_argument, NULL, BUILD},
        {"tier", required_argument, NULL, TIER},
        {"templates", required_argument, NULL, TEMPLATES},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    for (int c; (c = getopt_long(argc, argv, "o:", known, NULL)) != -1;) {
        switch (c) {
        case LANG:
            p->lang = optarg;
            break;
        case BUILD:
            p->build = optarg;
            break;
        case TIER:
            p->tier = optarg;
            break;
        case TEMPLATES:
            p->templates = optarg;
            break;
        case 'o':
            p->dir = optarg;
            break;
        case 'h':
            usage(stdout, 0);
            return -1;
        default:
            return usage(stderr, EXIT_USAGE);
        }
    }
    if (optind + 1 != argc) {
        fprintf(stderr, "ndock new-plugin: it takes one name, %d are given\n", argc - optind);
        return usage(stderr, EXIT_USAGE);
    }
    p->name = argv[optind];
    return 0;
}

int tool_new_plugin(int argc, char **argv)
{
    new_plugin p = {.lang = "c", .build = "make", .tier = "0"};
    char templates[PATH], dir[LONGEST_NAME + sizeof "ndock-"];
    int status = parse(argc, argv, &p);
    if (status)
        return status < 0 ? 0 : status;
    status = check_name(p.name);
    if (!status)
        status = check_choices(&p);
    if (status)
        return status;
    if (!p.templates)
        p.templates = installed_templates(templates, sizeof templates);
    if (!p.dir) {
        snprintf(dir, sizeof dir, "ndock-%s", p.name);
        p.dir = dir;
    }
    status = new_plugin_write(&p);
    if (status == 0)
        print_result(&p);
    return status ? status : fflush(stdout) != 0;
}
