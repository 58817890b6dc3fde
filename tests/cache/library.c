/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Libraries opened on first need, with stubs in the place of a vendor's. */
#include <limits.h>
#include <unistd.h>
#include "core/plugin/service/service.h"
#include "tests/tap.h"

typedef struct {
    int (*version)(void);
    int (*add)(int, int);
    int (*scale)(int);
} stub;
static const ndh_symbol symbols[] = {{"stub_version", offsetof(stub, version), 1},
                                     {"stub_add", offsetof(stub, add), 1},
                                     {"stub_scale", offsetof(stub, scale), 0}};
static const ndh_symbol few[] = {{"stub_version", offsetof(stub, version), 1}};

static int32_t version_text(const void *table, char *text, size_t n)
{
    snprintf(text, n, "stub %d.0", ((const stub *)table)->version());
    return ND_OK;
}

static char path13[PATH_MAX + 64], path12[PATH_MAX + 64];
static const char *const both[] = {path13, path12, "libndock-stub.so.11"};

static void paths(void)
{
    char here[PATH_MAX];
    if (!getcwd(here, sizeof here))
        bail("no folder");
    snprintf(path13, sizeof path13, "%s/tests/cache/.libs/stub13.so", here);
    snprintf(path12, sizeof path12, "%s/tests/cache/.libs/stub12.so", here);
    if (access(path12, R_OK) != 0)
        bail("the stub libraries are not built here");
}

static ndh_library library(const char *name, const char *const *sonames, uint32_t n_sonames,
                           const ndh_symbol *s, uint32_t n_symbols)
{
    return (ndh_library){.size = sizeof(ndh_library),
                         .n_sonames = n_sonames,
                         .n_symbols = n_symbols,
                         .name = name,
                         .install = "install the package libstub12",
                         .sonames = sonames,
                         .symbols = s,
                         .version = version_text};
}

static nd_library_report report_of(const char *name)
{
    nd_library_report r[16] = {{0}}, none = {"", "", "", "", ""};
    int32_t n;
    if (nd_library_list(r, 16, &n) != ND_OK)
        bail("no list");
    for (int32_t i = 0; i < n && i < 16; i++)
        if (strcmp(r[i].name, name) == 0)
            return r[i];
    return none;
}

static void first_that_serves(void)
{
    paths();
    stub t = {0};
    const ndh_library l = library("stub", both, 3, symbols, 3);
    is_str(report_of("stub").soname, "", "W14 nothing is opened before it is needed");
    is_int(nd__library_open(&l, &t), ND_OK, "W14 the first library that serves is taken");
    is_int(t.version(), 12, "W14 not the newer one, which lacks a required symbol");
    is_int(t.add(2, 3), 5, "W14 its functions work");
    ok(!t.scale, "W14 an optional symbol that is absent is NULL");
    nd_library_report r = report_of("stub");
    is_str(r.soname, path12, "W14 the list has the name it was found by");
    has_text(r.path, "stub12.so", "W14 its file");
    is_str(r.version, "stub 12.0", "W14 its version");
    is_str(r.reason, "", "W14 and no reason why not");
    const ndh_library newer = library("newer", both, 3, few, 1);
    is_int(nd__library_open(&newer, &t), ND_OK, "W14 with fewer wants");
    is_int(t.version(), 13, "W14 the newer one serves");
}

static void missing(void)
{
    static const char *const names[] = {"libndock-stub.so.9", "libndock-stub.so.8"};
    const ndh_library l = library("stub nine", names, 2, symbols, 3);
    stub t;
    memset(&t, 0xff, sizeof t);
    is_int(nd__library_open(&l, &t), ND_ERR_UNSUPPORTED, "W14 a library that is not there");
    const char *text = nd_last_error()->message;
    has_text(text, "stub nine", "W14 the error names it");
    has_text(text, "libndock-stub.so.9", "W14 the names that were tried");
    has_text(text, "libndock-stub.so.8", "W14 all of them");
    has_text(text, "install the package libstub12", "W14 and what to install");
    ok(!t.version && !t.add && !t.scale, "W14 nothing is left in the table");
    nd_library_report r = report_of("stub nine");
    is_str(r.path, "", "W14 the list has no file for it");
    has_text(r.reason, "libndock-stub.so.8", "W14 but the reason");
}

static void lacking(void)
{
    paths();
    stub t;
    const ndh_library l = library("stub lacking", both, 1, symbols, 3);
    is_int(nd__library_open(&l, &t), ND_ERR_UNSUPPORTED, "W14 a library without what is required");
    has_text(nd_last_error()->message, "stub_add", "W14 the error names the symbol");
    ok(!t.version, "W14 nothing is left in the table");
    static const char *const relative[] = {"tests/cache/.libs/stub12.so"};
    const ndh_library r = library("relative", relative, 1, few, 1);
    is_int(nd__library_open(&r, &t), ND_ERR_UNSUPPORTED, "W14 a relative path is not opened");
    const ndh_library old = {.size = 8};
    is_int(nd__library_open(&old, &t), ND_ERR_ARGUMENT, "W14 a short description is refused");
}

static void again(void)
{
    char link[] = "/tmp/ndock-stub.XXXXXX", file[64];
    const char *names[1] = {file};
    stub t;
    paths();
    if (!mkdtemp(link))
        bail("no temporary folder");
    snprintf(file, sizeof file, "%s/libstub.so.1", link);
    const ndh_library l = library("installed later", names, 1, few, 1);
    is_int(nd__library_open(&l, &t), ND_ERR_UNSUPPORTED, "W14 not there yet");
    const char *reason = report_of("installed later").reason;
    if (symlink(path12, file) != 0)
        bail("no link");
    is_int(nd__library_open(&l, &t), ND_OK, "W14 installed meanwhile: it is tried again");
    has_text(report_of("installed later").path, "stub12.so",
             "W14 the file behind the link is told");
    has_text(reason, "libstub.so.1", "W14 texts of earlier lists stay");
    unlink(file);
    rmdir(link);
}

TAP_MAIN({"first_that_serves", first_that_serves}, {"missing", missing}, {"lacking", lacking},
         {"again", again})
