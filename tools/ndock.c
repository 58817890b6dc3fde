/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The `ndock` command: picks the sub-command. */
#include <string.h>
#include "tools/tool.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"info", tool_info,
     "devices, plug-ins and why some were refused, SIMD, threads, BLAS, environment"},
    {"conform", tool_conform, "says whether the plug-in in a file keeps the contract"},
    {"new-plugin", tool_new_plugin, "writes a project that builds a plug-in for a device"},
    {"cache", tool_cache, "shows and clears the kernels that were compiled at run time"},
    {"mem", tool_mem, "draws a snapshot of memory as a picture, or prints its sums"},
    {"graph", tool_graph, "shows what is in the dump of a graph, as text or as a picture"},
    {"replay", tool_replay, "makes the calls of a trace (NDOCK_HOOK=trace) again on a plug-in"},
    {"run", tool_run, "starts a program several times, as the ranks of one communicator"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

int tool_failed(const char *what)
{
    const nd_error *e = nd_last_error();
    fprintf(stderr, "ndock: %s: %s\n", what,
            e->message[0] ? e->message : nd_status_text(e->status));
    return 1;
}

static void log_line(void *ctx, int32_t level, const char *message)
{
    static const char *const names[] = {"", "error", "warning", "note", "debug", "trace"};
    (void)ctx;
    fprintf(stderr, "ndock: %s: %s\n", level > 0 && level <= ND_LOG_TRACE ? names[level] : "",
            message);
}

static void help(FILE *out)
{
    fputs("Usage: ndock COMMAND [OPTION]...\n\nCommands:\n", out);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].help);
    fputs("\nOptions:\n  --help       this text (also after a command)\n  --version    the "
          "version\n\nSee ndock(1), and ndock(7) for device names and the environment.\n",
          out);
}

int main(int argc, char **argv)
{
    nd_log_set(log_line, NULL, -1);
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        help(stdout);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("ndock %s\n", nd_version());
        return 0;
    }
    for (int i = 0; argc > 1 && i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    if (argc > 1)
        fprintf(stderr, "ndock: there is no command \"%s\"\n", argv[1]);
    help(stderr);
    return EXIT_USAGE;
}
