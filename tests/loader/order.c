/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which plug-in is taken: sources, + in NDOCK_PLUGIN_PATH, versions, links and copies, files of
 * plugins.d, priorities, NDOCK_DEVICE, two plug-ins for one piece of hardware. */
#include "core/plugin/loader.h"
#include "tests/loader/sandbox.h"

/* The details of the candidate whose path ends so; false if there is none. */
static bool details(const char *end, int32_t look, nd_plugin_details *d)
{
    d->size = sizeof *d;
    for (int32_t i = 0; nd_plugin_describe(i, look, d) == ND_OK; i++) {
        size_t n = strlen(d->path), m = strlen(end);
        if (n >= m && strcmp(d->path + n - m, end) == 0)
            return true;
    }
    return false;
}

static bool is(const char *end, int32_t look, const char *state, const char *word)
{
    nd_plugin_details d;
    bool fine = details(end, look, &d) && strcmp(d.state, state) == 0 && strstr(d.reason, word);
    if (!fine)
        fprintf(stderr, "# %s: %s: %s: %s\n", end, d.path, d.state, d.reason);
    return fine;
}

static int newer_wins(void)
{
    nd_plugin_details d;
    if (!is("ndock-a.so", ND_PLUGIN_NOTES, "SHADOWED", "ndock-b.so (version 1.10") ||
        !is("ndock-b.so", ND_PLUGIN_NOTES, "FOUND", ""))
        return 1;
    if (!details("ndock-a.so", ND_PLUGIN_NOTES, &d) || !strstr(d.shadowed_by, "ndock-b.so") ||
        d.loaded || strcmp(d.version, "1.9") != 0)
        return 2;
    nd_device *device;
    if (nd_device_get("versions", &device) != ND_OK)
        return 3;
    return is("ndock-b.so", ND_PLUGIN_NOTES, "LOADED", "") &&
                   is("ndock-a.so", ND_PLUGIN_OPEN, "SHADOWED", "stays until the process ends")
               ? 0
               : 4;
}

static int plus_wins(void)
{
    nd_plugin_details d;
    return is("ndock-b.so", ND_PLUGIN_OPEN, "SHADOWED", "ndock-a.so") &&
                   is("ndock-a.so", ND_PLUGIN_OPEN, "LOADED", "") &&
                   details("ndock-a.so", ND_PLUGIN_OPEN, &d) && d.preferred && d.named
               ? 0
               : 1;
}

static int call_wins(void)
{
    char path[512];
    path_in(path, sizeof path, "ndock-a.so");
    if (nd_plugin_load(path) != ND_OK)
        return 1;
    path_in(path, sizeof path, "ndock-b.so");
    return nd_plugin_load(path) == ND_ERR_PLUGIN && strstr(nd_last_error()->message, "SHADOWED") &&
                   is("ndock-a.so", ND_PLUGIN_OPEN, "LOADED", "")
               ? 0
               : 2;
}

/* The winner's file is cut after the scan: its name goes to the next. */
static int next_serves(void)
{
    char path[512];
    nd_device *device;
    path_in(path, sizeof path, "ndock-b.so");
    if (!is("ndock-b.so", ND_PLUGIN_NOTES, "FOUND", ""))
        return 1;
    if (unlink(path) != 0 || nd_device_get("versions:1", &device) != ND_OK)
        return 2;
    return is("ndock-b.so", ND_PLUGIN_OPEN, "DLOPEN", "ndock-b.so") &&
                   is("ndock-a.so", ND_PLUGIN_OPEN, "LOADED", "")
               ? 0
               : 3;
}

static int link_and_copy(void)
{
    char path[512];
    path_in(path, sizeof path, "ndock-zlink.so");
    return is("ndock-a.so", ND_PLUGIN_NOTES, "FOUND", "") &&
                   is("ndock-zcopy.so", ND_PLUGIN_NOTES, "SHADOWED", "by its build-id") &&
                   is("ndock-zlink.so", ND_PLUGIN_OPEN, "SHADOWED", "the same file as") &&
                   nd_plugin_load(path) == ND_OK && is("ndock-a.so", ND_PLUGIN_OPEN, "LOADED", "")
               ? 0
               : 1;
}

/* The link leads elsewhere under its own name: its neighbour is not looked for there. */
static int link_elsewhere(void)
{
    nd_plugin_details d;
    if (!details("/ndock-a.so", ND_PLUGIN_NOTES, &d) || !strstr(d.file, "/sub/ndock-a.so"))
        return 1;
    return details("/ndock-b.so", ND_PLUGIN_NOTES, &d) && strcmp(d.file, d.path) == 0 &&
                   strcmp(d.state, "FOUND") == 0
               ? 0
               : 2;
}

/* The second folder's name is where the first one's begins. */
static int folders_alike(void)
{
    nd_plugin_details d;
    if (!is("/plugins/ndock-a.so", ND_PLUGIN_NOTES, "SHADOWED", "/plug/ndock-a.so (version 1.10") ||
        !is("/plug/ndock-a.so", ND_PLUGIN_NOTES, "FOUND", ""))
        return 1;
    return details("/plug/ndock-a.so", ND_PLUGIN_NOTES, &d) && strstr(d.file, "/plug/ndock-a.so")
               ? 0
               : 2;
}

static int folder_open(void)
{
    return is("/plugins/ndock-a.so", ND_PLUGIN_NOTES, "FOUND", "") &&
                   is("/plug/ndock-a.so", ND_PLUGIN_NOTES, "PERMISSION", "/plug'")
               ? 0
               : 1;
}

/* What was found of a folder is not said of one that is called nearly the same. */
static void alike(void)
{
    static const char *const names[2][2] = {{"plugins", "old"}, {"plug", "new"}};
    char path[700], *top;
    fresh_folder();
    top = strdup(folder);
    for (int i = 0; i < 2; i++) {
        snprintf(folder, sizeof folder, "%s/%s", top, names[i][0]);
        if (mkdir(folder, 0755) != 0)
            bail("mkdir");
        install(names[i][1], "a");
    }
    snprintf(path, sizeof path, "%s/plugins:%s/plug", top, top);
    is_int(in_child(folders_alike, path), 0, "two folders, the second named as the first begins");
    chmod(folder, 0777);
    is_int(in_child(folder_open, path), 0, "one of which everyone can write to: it alone is left");
    snprintf(folder, sizeof folder, "%s", top);
    free(top);
    remove_folder();
}

static void links(void)
{
    char from[600], to[600];
    fresh_folder();
    path_in(from, sizeof from, "sub");
    if (mkdir(from, 0755) != 0)
        bail("mkdir");
    install("old", "x");
    install("new", "b");
    path_in(from, sizeof from, "ndock-x.so");
    path_in(to, sizeof to, "sub/ndock-a.so");
    if (rename(from, to) != 0)
        bail("rename");
    path_in(from, sizeof from, "ndock-a.so");
    if (symlink("sub/ndock-a.so", from) != 0)
        bail("symlink");
    is_int(in_child(link_elsewhere, folder), 0, "a link into another folder, and its neighbour");
    remove_folder();
}

static void names(void)
{
    char from[600], to[600], path[1300];
    fresh_folder();
    install("old", "a");
    install("new", "b");
    is_int(in_child(newer_wins, folder), 0, "of one source the higher version wins, 1.10 over 1.9");
    path_in(from, sizeof from, "ndock-a.so");
    snprintf(path, sizeof path, "%s:+%s", folder, from);
    is_int(in_child(plus_wins, path), 0, "+file wins over the higher version");
    is_int(in_child(call_wins, folder), 0, "nd_plugin_load wins over both, once");
    is_int(in_child(next_serves, folder), 0, "a winner that cannot be opened leaves its name");
    path_in(to, sizeof to, "ndock-zlink.so");
    if (symlink(from, to) != 0)
        bail("symlink");
    install("old", "zcopy");
    is_int(in_child(link_and_copy, folder), 0,
           "a link and a copy are known as such, and loading the link is no error");
    remove_folder();
}

static void refusals(void)
{
    static const struct {
        const char *plugin, *state, *word;
    } all[] = {{"liar", "SHORT", "1073741824 bytes"},
               {"many", "NO_DEVICE", "counted 4294967295 devices"},
               {"misnamed", "NOTE", "calls it somebody, its table misnamed"}};
    char file[64], what[128];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        fresh_folder();
        install(all[i].plugin, all[i].plugin);
        snprintf(file, sizeof file, "ndock-%s.so", all[i].plugin);
        want_state = all[i].state;
        want_word = all[i].word;
        want_path = file;
        snprintf(what, sizeof what, "%s ends as %s, saying \"%s\"", file, all[i].state,
                 all[i].word);
        is_int(in_child(look_at_state, folder), 0, what);
        remove_folder();
    }
}

/* ---- plugins.d ---- */
static char conf_folder[300];

static void write_conf(const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", conf_folder, name);
    FILE *f = fopen(path, "w");
    if (!f)
        bail(path);
    fputs(text, f);
    fclose(f);
}

static int reads_conf(void)
{
    nd_plugin_details d;
    nd_device *device;
    nd_plugin_slot **slots = nd__registry_enter();
    nd__discover_conf(slots, conf_folder);
    nd__settle_names(*slots);
    nd__registry_leave();
    if (!details("with blanks/ndock-a.so", ND_PLUGIN_NOTES, &d) || d.priority != 7 ||
        strcmp(d.source, "plugins.d") != 0 || strcmp(d.state, "FOUND") != 0)
        return 1;
    if (!is("20-wrong.conf", ND_PLUGIN_NOTES, "CONF", "line 2") ||
        !is("30-relative.conf", ND_PLUGIN_NOTES, "CONF", "absolute") ||
        !is("40-empty.conf", ND_PLUGIN_NOTES, "CONF", "no path=") ||
        !is("50-open.conf", ND_PLUGIN_NOTES, "PERMISSION", "chmod o-w") ||
        !is("55-%s%n.conf", ND_PLUGIN_NOTES, "PERMISSION", "55-%s%n.conf") ||
        !is("/nowhere/ndock-x.so", ND_PLUGIN_NOTES, "MISSING", "No such file"))
        return 2;
    /* its priority is above the CPU's 0, although its note says -1 */
    return nd_device_get("auto", &device) == ND_OK &&
                   strcmp(nd_device_name(device), "versions:0") == 0
               ? 0
               : 3;
}

static void confs(void)
{
    char text[900], path[600], *top;
    fresh_folder();
    top = strdup(folder);
    snprintf(conf_folder, sizeof conf_folder, "%s/plugins.d", top);
    snprintf(path, sizeof path, "%s/with blanks", top);
    if (mkdir(conf_folder, 0755) != 0 || mkdir(path, 0755) != 0)
        bail("mkdir");
    snprintf(folder + strlen(folder), sizeof folder - strlen(folder), "/with blanks");
    install("old", "a");
    snprintf(text, sizeof text, "# a package's plug-in\n\n path = %s/ndock-a.so \npriority=7\n",
             folder);
    write_conf("10-good.conf", text);
    write_conf("20-wrong.conf", "path=/x\npriority=high\n");
    write_conf("30-relative.conf", "path=ndock-a.so\n");
    write_conf("40-empty.conf", "# nothing\n");
    write_conf("50-open.conf", text);
    write_conf("55-%s%n.conf", text);
    write_conf("60-gone.conf", "path=/nowhere/ndock-x.so\n");
    write_conf("readme", "not a conf\n");
    snprintf(path, sizeof path, "%s/50-open.conf", conf_folder);
    chmod(path, 0666);
    snprintf(path, sizeof path, "%s/55-%%s%%n.conf", conf_folder);
    chmod(path, 0666);
    is_int(
        in_child(reads_conf, "/nowhere"), 0,
        "files of plugins.d: path with blanks and priority; wrong ones say the line or the file");
    snprintf(folder, sizeof folder, "%s", top);
    free(top);
    remove_folder();
}

static int load_in_blanks(void)
{
    nd_device *d;
    return nd_device_get("versions", &d) == ND_OK ? 0 : 1;
}

static void blanks(void)
{
    char *top;
    fresh_folder();
    top = strdup(folder);
    snprintf(folder + strlen(folder), sizeof folder - strlen(folder), "/a b  c");
    if (mkdir(folder, 0755) != 0)
        bail("mkdir");
    install("new", "b");
    is_int(in_child(load_in_blanks, folder), 0, "a path with blanks");
    snprintf(folder, sizeof folder, "%s", top);
    free(top);
    remove_folder();
}

/* ---- devices ---- */
static char trace[300];

static int one_hardware(void)
{
    const char *name;
    nd_device *d;
    size_t n;
    if (nd_device_get("auto", &d) != ND_OK || strcmp(nd_device_name(d), "twinb:0") != 0)
        return 1;
    char *opened = read_file(trace, &n);
    if (strcmp(opened, "twinb\n") != 0)
        return 2; /* the lower one was opened too */
    if (nd_device_preferred("twina:1", &name) != ND_OK || strcmp(name, "twinb:1") != 0)
        return 3;
    if (nd_device_preferred("twinb:1", &name) != ND_OK || strcmp(name, "twinb:1") != 0 ||
        nd_device_preferred("cpu:0", &name) != ND_OK || strcmp(name, "cpu:0") != 0 ||
        nd_device_preferred("twina:2", &name) != ND_ERR_DEVICE || name ||
        nd_device_preferred(NULL, &name) != ND_ERR_ARGUMENT)
        return 4;
    const char *names[16];
    int32_t listed = 0;
    if (nd_device_list(names, 16, &listed) != ND_OK || listed != 5)
        return 5;
    free(opened);
    return 0;
}

static const char *order, *wanted, *words;
static int follows_order(void)
{
    nd_device *d;
    setenv("NDOCK_DEVICE", order, 1);
    nd_status status = nd_device_current(&d);
    if (!wanted)
        return status == ND_ERR_DEVICE && strstr(nd_last_error()->message, words) ? 0 : 1;
    if (status != ND_OK || strcmp(nd_device_name(d), wanted) != 0)
        return 2;
    return nd_device_get("auto", &d) == ND_OK && strcmp(nd_device_name(d), wanted) == 0 ? 0 : 3;
}

static void by_user(const char *list, const char *name, const char *text, const char *what)
{
    order = list;
    wanted = name;
    words = text;
    is_int(in_child(follows_order, folder), 0, what);
}

static void devices(void)
{
    fresh_folder();
    install("twina", "twina");
    install("twinb", "twinb");
    path_in(trace, sizeof trace, "trace");
    setenv("MOCK_TRACE", trace, 1);
    is_int(in_child(one_hardware, folder), 0,
           "two plug-ins for one PCI address: one default, the better; both are listed");
    by_user("twina:1,cpu", "twina:1", "", "NDOCK_DEVICE: the first of a list");
    by_user("nonsense,twina:7,cpu", "cpu:0", "", "NDOCK_DEVICE: the first that there is");
    by_user("nonsense,auto", "twinb:0", "", "NDOCK_DEVICE: auto within a list");
    by_user("twina", "twina:0", "", "NDOCK_DEVICE: one name");
    by_user("nonsense", NULL, "\"nonsense\"", "NDOCK_DEVICE: one wrong name is its error");
    by_user("nonsense,twina:7", NULL, "NDOCK_DEVICE=nonsense,twina:7", "... and of a list of them");
    remove_folder();
}

static void hardware(void)
{
    ok(nd__same_hardware("0000:3b:00.0", "00000000:3B:00.0") &&
           nd__same_hardware("3b:00.0", "0:3B:00.0"),
       "PCI addresses with and without a domain");
    ok(!nd__same_hardware("0000:3b:00.0", "0000:3b:00.1") &&
           !nd__same_hardware("1:3b:00.0", "3b:00.0"),
       "another function, another domain");
    ok(nd__same_hardware("GPU-12ab", "gpu-12AB") && !nd__same_hardware("", "") &&
           !nd__same_hardware("GPU-12ab", "GPU-12abc"),
       "UUIDs; no id is nobody's");
}

/* ---- permissions of what the program itself names ---- */
static int loads_open_file(void)
{
    char path[512];
    path_in(path, sizeof path, "ndock-b.so");
    if (!is("ndock-b.so", ND_PLUGIN_OPEN, "PERMISSION", "chmod o-w"))
        return 1;
    return nd_plugin_load(path) == ND_OK ? 0 : 2;
}

static int strict_refuses(void)
{
    char path[512];
    setenv("NDOCK_PLUGIN_STRICT", "1", 1);
    path_in(path, sizeof path, "ndock-b.so");
    return nd_plugin_load(path) == ND_ERR_PLUGIN && strstr(nd_last_error()->message, "chmod o-w")
               ? 0
               : 1;
}

static void explicitly(void)
{
    char path[512];
    fresh_folder();
    install("new", "b");
    path_in(path, sizeof path, "ndock-b.so");
    chmod(path, 0666);
    is_int(in_child(loads_open_file, folder), 0,
           "a file that everyone can write: refused in a scan, warned about for nd_plugin_load");
    is_int(in_child(strict_refuses, "/nowhere"), 0, "NDOCK_PLUGIN_STRICT=1 refuses it there too");
    remove_folder();
}

TAP_MAIN({"names", names}, {"links", links}, {"alike", alike}, {"refusals", refusals},
         {"confs", confs}, {"blanks", blanks}, {"devices", devices}, {"hardware", hardware},
         {"explicitly", explicitly})
