/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * NDOCK_DEBUG=handles, and writes past the end under backend:debug: what a program does wrong is
 * told on the standard error output, with the function that made the array and the place. Each case
 * is a process of its own. */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

static char said[16384];
static char program[512];

static void run_case(const char *name, const char *debug, const char *conf)
{
    int ends[2], status = -1;
    size_t n = 0;
    if (pipe(ends) != 0)
        bail("no pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        unsetenv("NDOCK_LOG");
        setenv("NDOCK_DEBUG", debug, 1);
        setenv("NDOCK_ALLOC_CONF", conf, 1);
        execl(program, program, "--child", name, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], said + n, sizeof said - 1 - n)) > 0;)
        n += (size_t)got;
    said[n] = 0;
    close(ends[0]);
    ok(child > 0 && waitpid(child, &status, 0) == child && status == 0, "%s ends by itself", name);
}

/* ---- what a child does; 0: as expected ---- */
static const int64_t shape[2] = {2, 3};

enum { LINE_OF_ONES = __LINE__ + 5 };
ND_API nd_array *make_ones(nd_device *cpu); /* not static: so it has a name in the reports */
__attribute__((noinline)) nd_array *make_ones(nd_device *cpu)
{
    nd_array *a = NULL;
    return nd_ones(cpu, ND_F32, 2, shape, &a) == ND_OK ? a : NULL;
}

static int use_after_release(nd_device *cpu)
{
    nd_array *a = make_ones(cpu), *b = make_ones(cpu), *sum = NULL, *view = NULL;
    if (nd_add(a, b, &sum) != ND_OK)
        return 1;
    nd_release(sum);
    int wrong = nd_add(a, sum, &view) != ND_ERR_ARGUMENT || view != NULL ||
                nd_add_into(a, b, sum) != ND_ERR_ARGUMENT ||
                nd_reshape(sum, 2, shape, &view) != ND_ERR_ARGUMENT || nd_ndim(sum) != 0 ||
                nd_shape(sum) != NULL || nd_sum(sum, NULL, &view) != ND_ERR_ARGUMENT;
    nd_release(a);
    nd_release(b);
    return wrong;
}

static int release_twice(nd_device *cpu)
{
    nd_array *a = make_ones(cpu), *view = NULL;
    if (nd_transpose(a, &view) != ND_OK)
        return 1;
    nd_release(a);
    nd_release(view);
    nd_release(view);
    nd_release(view);
    return 0;
}

static int leak(nd_device *cpu)
{
    nd_array *a = make_ones(cpu), *sum[3] = {NULL};
    for (int i = 0; i < 3; i++)
        if (nd_add(a, a, &sum[i]) != ND_OK)
            return 1;
    nd_release(sum[2]);
    return 0;
}

static int clean(nd_device *cpu)
{
    nd_array *a = make_ones(cpu), *b = NULL;
    for (int i = 0; i < 300; i++) {
        if (nd_add(a, a, &b) != ND_OK)
            return 1;
        nd_release(b);
    }
    nd_release(a);
    return 0;
}

static int write_past_end(nd_device *cpu)
{
    nd_array *a = make_ones(cpu);
    void *data;
    if (!a || nd_data(a, &data) != ND_OK)
        return 1;
    ((volatile float *)data)[6] = 7; /* it has six elements */
    return 0;
}

static const struct {
    const char *name;
    int (*run)(nd_device *cpu);
} children[] = {{"use after release", use_after_release},
                {"release twice", release_twice},
                {"leak", leak},
                {"clean", clean},
                {"write past the end", write_past_end}};

static int be_child(const char *name)
{
    nd_device *cpu;
    if (nd_device_get("cpu", &cpu) != ND_OK)
        return 2;
    for (size_t i = 0; i < sizeof children / sizeof children[0]; i++)
        if (strcmp(children[i].name, name) == 0)
            return children[i].run(cpu);
    return 3;
}

/* ---- what the parent sees ---- */
static void used(void)
{
    run_case("use after release", "handles", "");
    has_text(said, "add uses an array f32 (2, 3) that was released", "the use is told");
    has_text(said, "made by nd_add called at", "with the function that made it");
    has_text(said, "released by nd_release called at", "and the release");
    has_text(said, "handles", "the place is in this program");
}

/* Runs it where addr2line is this script; "": where there is none. */
static void run_with_tool(const char *script, const char *name)
{
    char folder[] = "/tmp/ndock-handles.XXXXXX", tool[64];
    const char *path = getenv("PATH");
    char *before = strdup(path ? path : "");
    if (!mkdtemp(folder))
        bail("no folder");
    snprintf(tool, sizeof tool, "%s/addr2line", folder);
    FILE *f = script[0] ? fopen(tool, "w") : NULL;
    if (f) {
        fprintf(f, "#!/bin/sh\n%s\n", script);
        fclose(f);
        (void)!chmod(tool, 0700);
    }
    setenv("PATH", folder, 1);
    run_case(name, "handles", "");
    setenv("PATH", before, 1);
    unlink(tool);
    rmdir(folder);
    free(before);
}

/* Whether this program was compiled with -g, which CFLAGS may lack. */
static int has_debug_info(void)
{
    char command[sizeof program + 64];
    snprintf(command, sizeof command, "readelf -S '%s' | grep -q debug_line", program);
    return system(command) == 0;
}

static void lines(void)
{
    char want[128];
    snprintf(want, sizeof want, "handles.c:%d in make_ones < ", (int)LINE_OF_ONES);
    if (has_debug_info()) {
        run_case("leak", "handles", "");
        has_text(said, want, "with debug info the place is a line");
        ok(!strstr(said, "addr2line"), "and no command is needed");
    } else {
        skip(2, "compiled without debug info");
    }
    run_with_tool("", "leak");
    has_text(said, "`addr2line -fe FILE OFFSET` tells", "without addr2line its command is told");
    has_text(said, "make_ones+0x", "and the place in the file");
    run_with_tool("echo '??:0'", "leak");
    has_text(said, "`addr2line -fe FILE OFFSET` tells", "and where it knows no line");
    run_with_tool("echo '/src/job.c:7 (discriminator 3)'", "leak");
    has_text(said, "called at /src/job.c:7 in make_ones <", "what follows a line is left out");
    run_with_tool("exec /bin/sleep 50", "leak");
    has_text(said, "`addr2line -fe FILE OFFSET` tells", "one that hangs is ended");
}

static void twice(void)
{
    run_case("release twice", "handles", "");
    has_text(said, "double release, by nd_release", "the double release is told");
    has_text(said, "made by nd_transpose called at", "with the function that made the view");
    run_case("release twice", "handles", "backend:debug");
    has_text(said, "double release, by nd_release", "with the debug allocator too");
}

static void leaks(void)
{
    run_case("leak", "handles", "");
    has_text(said, "1 array was never released: f32 (2, 3), made by nd_ones", "one leak");
    has_text(said, "make_ones", "names the function that called");
    has_text(said, "2 arrays were never released", "leaks of one place are one line");
    has_text(said, "made by nd_add", "which names their maker");
    has_text(said, "3 arrays were alive at the end", "and their sum");
    run_case("leak", "off", "");
    is_str(said, "", "nothing is told without the mode");
}

static void right(void)
{
    run_case("clean", "handles", "");
    is_str(said, "", "a program without mistakes hears nothing");
    run_case("clean", "handles", "backend:debug");
    is_str(said, "", "nor with the debug allocator");
}

static void written(void)
{
    run_case("write past the end", "off", "backend:debug");
    has_text(said, "written past the end", "a write past the end is told without being asked");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"used", used},   {"lines", lines}, {"twice", twice},
                                     {"leaks", leaks}, {"right", right}, {"written", written}};
    if (argc == 3 && strcmp(argv[1], "--child") == 0)
        return be_child(argv[2]);
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0)
        bail("the program does not find itself");
    return tap_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
