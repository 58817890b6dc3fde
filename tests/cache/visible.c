/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * CUDA_VISIBLE_DEVICES: the table of requirement D8, and UUIDs. */
#include "core/plugin/service/service.h"
#include "tests/tap.h"

static const char *const uuids[3] = {"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
                                     "GPU-8932aaaa-0000-4106-c12f-20bd9faed9f7",
                                     "GPU-1a2b3c4d-0000-1111-2222-333344445555"};

/* The indices as text: "0,1", "" for none, "?" when only the driver knows. */
static const char *shown(const char *text, int32_t count, const char *const *ids)
{
    static char result[64];
    int32_t out[8], n = 99;
    result[0] = 0;
    if (nd__visible_devices(text, count, ids, out, &n) != ND_OK)
        return "error";
    if (n == NDH_VISIBLE_UNKNOWN)
        return "?";
    for (int32_t i = 0; i < n; i++)
        snprintf(result + strlen(result), sizeof result - strlen(result), "%s%d", i ? "," : "",
                 (int)out[i]);
    return result;
}

static void is_shown(const char *text, int32_t count, const char *const *ids, const char *want)
{
    char what[160];
    snprintf(what, sizeof what, "D8 %s of %d shows \"%s\"",
             text ? text[0] ? text : "\"\"" : "unset", (int)count, want);
    is_str(shown(text, count, ids), want, what);
}

static void table(void)
{
    static const char *const rows[][2] = {
        {NULL, "0,1"},          {"", ""},     {"0", "0"},     {"0,1", "0,1"}, {"-1", ""},
        {"0,-1,1", "0"},        {"5", ""},    {"0,5,1", "0"}, {"0,0", ""},    {" 1 , 0 ", "1,0"},
        {"1gpu2,2ampere", "1"}, {"junk", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        is_shown(rows[i][0], 2, NULL, rows[i][1]);
}

static void ordinals(void)
{
    is_shown("2,0", 3, NULL, "2,0");
    is_shown("0,5,0", 3, NULL, "0");
    is_shown("1,,0", 3, NULL, "1");
    is_shown("0,", 3, NULL, "0");
    is_shown("99999999999999999999", 3, NULL, "");
    is_shown("4294967296", 3, NULL, "");
    is_shown("+1", 3, NULL, "1");
    is_shown(NULL, 0, NULL, "");
    is_shown("0", 0, NULL, "");
}

static void by_uuid(void)
{
    is_shown(uuids[1], 3, uuids, "1");
    is_shown("GPU-1a", 3, uuids, "2");
    is_shown("GPU-1a, GPU-8932f", 3, uuids, "2,0");
    is_shown("GPU-8932", 3, uuids, "");
    is_shown("GPU-1a,GPU-8932,GPU-8932f", 3, uuids, "2");
    is_shown("GPU-1a,GPU-ffff,GPU-8932f", 3, uuids, "2");
    is_shown("GPU-1a,GPU-1a2b", 3, uuids, "");
    is_shown("GPU-8932F937", 3, uuids, "");
    is_shown("gpu-1a", 3, uuids, "");
    is_shown("GPU-1a,0", 3, uuids, "2");
    is_shown("0,GPU-1a", 3, uuids, "0");
    is_shown("GPU-", 3, uuids, "");
    is_shown("GPU-", 1, uuids, "0");
    is_shown("GPU-1a2b3c4d-0000-1111-2222-333344445555-and-more", 3, uuids, "");
    is_shown("GPU-1a", 3, NULL, "?");
    is_shown("MIG-8932f937-d72c-4106-c12f-20bd9faed9f6", 3, uuids, "?");
    is_shown("MIG-GPU-8932f937/1/0", 3, uuids, "?");
}

static void arguments(void)
{
    int32_t n = 7;
    is_int(nd__visible_devices("0", -1, NULL, NULL, &n), ND_ERR_ARGUMENT, "a negative count");
    is_int(nd__visible_devices("0", 2, NULL, NULL, &n), ND_ERR_ARGUMENT, "no room for the result");
    is_int(n, 0, "nothing is shown then");
}

TAP_MAIN({"table", table}, {"ordinals", ordinals}, {"by_uuid", by_uuid}, {"arguments", arguments})
