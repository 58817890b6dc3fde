/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C15, C16: settings of memory: parsed, refused, printed, and what some of them do. */
#include <locale.h>
#include "tests/memory/audit.h"
#include "tests/memory/mock.h"

static const char defaults[] =
    "max_split_size_mb:none,max_non_split_rounding_mb:20,large_segment_size_mb:20,"
    "roundup_power2_divisions:0,garbage_collection_threshold:0,per_process_memory_fraction:0,"
    "expandable_segments:false,expandable_segments_reserve:1.125,"
    "throw_on_device_alloc_oom:false,cross_stream:before_oom,backend:caching,thread_cache:true,"
    "max_cached_mb:auto,quarantine_blocks:256,pinned_reserve_mb:0,pinned_exact_above_mb:0,"
    "pinned_cap_mb:0,pinned_background:false";

static void reset(void)
{
    if (nd_memory_conf_set(defaults) != ND_OK)
        bail(nd_last_error()->message);
}

static void the_defaults(void)
{
    char *text = NULL;
    is_int(nd_memory_conf_get(&text), ND_OK, "C16 the settings as text");
    is_str(text, defaults, "C16 the defaults, all keys");
    free(text);
}

static const char *const accepted[] = {
    "",
    " max_split_size_mb : 200 ",
    "max_split_size_mb:33.5",
    "garbage_collection_threshold:0.8,max_split_size_mb:64",
    "garbage_collection_threshold:.3",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
    "roundup_power2_divisions: [ 1:64 , 4096:2 ] , thread_cache: off",
    "roundup_power2_divisions:[>:16]",
    "expandable_segments:True,expandable_segments_reserve:0.1",
    "expandable_segments_reserve:1073741824",
    "cross_stream:never,backend:debug",
    "per_process_memory_fraction:0.123456789012345",
    "throw_on_device_alloc_oom:1,large_segment_size_mb:40,max_non_split_rounding_mb:64",
    "max_cached_mb:100,quarantine_blocks:3,pinned_reserve_mb:8,pinned_exact_above_mb:64,"
    "pinned_cap_mb:512,pinned_background:on"};

static void printing(void)
{
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        char *first = NULL, *second = NULL;
        reset();
        is_int(nd_memory_conf_set(accepted[i]), ND_OK, accepted[i]);
        nd_conf before = *nd__conf();
        if (nd_memory_conf_get(&first) != ND_OK)
            bail("conf_get");
        reset();
        is_int(nd_memory_conf_set(first), ND_OK, "C16 what is printed is accepted");
        ok(memcmp(&before, nd__conf(), sizeof before) == 0, "C16 and means the same");
        ok(nd_memory_conf_get(&second) == ND_OK && strcmp(first, second) == 0,
           "C16 and prints the same");
        free(first);
        free(second);
    }
    reset();
}

static const struct {
    const char *text, *named;
} refused[] = {{"max_split_size", "max_split_size"},
               {"max_split:20", "unknown key \"max_split\""},
               {"max_split_size_mb", "no value for"},
               {"max_split_size_mb:", "bad value"},
               {"max_split_size_mb:abc", "\"abc\""},
               {"max_split_size_mb:19", "at least 20 MiB"},
               {"max_split_size_mb:-20", "\"-20\""},
               {"max_split_size_mb:200x", "unexpected text \"x\""},
               {"max_split_size_mb:1e400", "bad value"},
               {"max_split_size_mb:nan", "bad value"},
               {"garbage_collection_threshold:1.5", "0 (off) to 1"},
               {"garbage_collection_threshold:0,8", "unknown key \"8\""},
               {"expandable_segments:perhaps", "true or false"},
               {"expandable_segments:Trueish", "bad value"},
               {"cross_stream:always", "never, before_oom or before_grow"},
               {"roundup_power2_divisions:3", "power of two"},
               {"roundup_power2_divisions:[256:1", "bad value"},
               {"roundup_power2_divisions:[256:1,]", "bad value"},
               {"roundup_power2_divisions:[300:1]", "bad value"},
               {"roundup_power2_divisions:[512:1,256:2]", "ascending"},
               {"roundup_power2_divisions:[256:1]]", "unexpected text \"]\""},
               {"thread_cache:1,", "a key is missing"},
               {",thread_cache:1", "unknown key \"\""},
               {"quarantine_blocks:2.5", "a whole number"},
               {"thread_cache:false,nonsense:1", "unknown key \"nonsense\""}};

static void refusing(void)
{
    reset();
    nd_conf before = *nd__conf();
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        nd_status status = nd_memory_conf_set(refused[i].text);
        const char *message = nd_last_error()->message;
        ok(status == ND_ERR_ARGUMENT && strstr(message, refused[i].named) &&
               strstr(message, "valid keys: max_split_size_mb, ") &&
               strstr(message, "pinned_background"),
           "C16 \"%s\" is refused with the valid keys", refused[i].text);
        if (!strstr(message, refused[i].named))
            diag("%s", message);
    }
    ok(memcmp(&before, nd__conf(), sizeof before) == 0, "C16 nothing changes on failure");
    is_int(nd_memory_conf_set(NULL), ND_ERR_ARGUMENT, "C16 no text");
}

static void languages(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
    bool found = false;
    for (int i = 0; i < 3 && !found; i++)
        found = setlocale(LC_ALL, names[i]) != NULL;
    if (!found) {
        skip(2, "no locale with a decimal comma is installed");
        return;
    }
    char *text = NULL;
    is_int(nd_memory_conf_set("garbage_collection_threshold:0.25"), ND_OK, "C16 a decimal point");
    ok(nd_memory_conf_get(&text) == ND_OK && strstr(text, "garbage_collection_threshold:0.25,"),
       "C16 in every language");
    free(text);
    (void)setlocale(LC_ALL, "C");
    reset();
}

/* ---- C15 ---- */
static void divisions(void)
{
    is_int(nd__round_divisions(1200, 4), 1280, "C15 1200 with 4 divisions is 1280");
    is_int(nd__round_divisions(1025, 4), 1280, "C15 1025 with 4 divisions is 1280");
    is_int(nd__round_divisions(1024, 4), 1024, "C15 a power of two stays");
    is_int(nd__round_divisions(1900, 4), 2048, "C15 1900 with 4 divisions is 2048");
    is_int(nd__round_divisions(1200, 1), 1200, "C15 one division is none");
    if (nd_memory_conf_set("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]") != ND_OK)
        bail(nd_last_error()->message);
    const nd_conf *c = nd__conf();
    is_int(nd__round_size(c, MIB(300)), MIB(300), "C15 256 to 512 MiB: 1 division");
    is_int(nd__round_size(c, MIB(600)), MIB(768), "C15 512 to 1024 MiB: 2");
    is_int(nd__round_size(c, MIB(1100)), MIB(1280), "C15 1 to 2 GiB: 4");
    is_int(nd__round_size(c, MIB(2100)), MIB(2304), "C15 above: 8");
    is_int(nd__round_size(c, 1200), 1536, "C15 below the first: as the first");
    if (nd_memory_conf_set("roundup_power2_divisions:4") != ND_OK)
        bail(nd_last_error()->message);
    is_int(nd__round_size(nd__conf(), 1200), 1536,
           "C3 C15 a block is a multiple of 512 all the same");
    is_int(nd__round_size(nd__conf(), MIB(5)), MIB(5), "C15 5 MiB is a division");
    is_int(nd__round_size(nd__conf(), MIB(5) + 1), MIB(6), "C15 a byte more goes to the next");
    reset();
}

static void splitting(void)
{
    mock *m = mock_new(MIB(1000));
    if (nd_memory_conf_set("max_split_size_mb:64,max_non_split_rounding_mb:30") != ND_OK)
        bail(nd_last_error()->message);
    nd_backend *k = mock_backend(m);
    nd_block *a = take(k, m, 1, MIB(100)), *b;
    uint64_t at = place(a);
    give(k, m, a);
    b = take(k, m, 1, MIB(40));
    ok(place(b) != at, "C15 a small request may not take a block at or over max_split_size");
    give(k, m, b);
    a = take(k, m, 1, MIB(71));
    ok(place(a) == at && a->nbytes == MIB(100), "C15 a large one gets it whole, 29 MiB too large");
    give(k, m, a);
    a = take(k, m, 1, MIB(70));
    ok(place(a) != at, "C15 but not from max_non_split_rounding on");
    give(k, m, a);
    nd__backend_release(k);
    mock_end(m, "C15");
    reset();
}

static void segments(void)
{
    mock *m = mock_new(MIB(1000));
    if (nd_memory_conf_set("large_segment_size_mb:64") != ND_OK)
        bail(nd_last_error()->message);
    nd_backend *k = mock_backend(m);
    nd_block *a = take(k, m, 1, MIB(20)), *b = take(k, m, 1, MIB(34));
    is_str(m->log, "alloc 67108864;",
           "C15 large_segment_size_mb: below half of it, a segment of it");
    nd_block *c = take(k, m, 1, MIB(33));
    ok(strstr(m->log, "alloc 35651584;"), "C15 above, one of its own size");
    give(k, m, a);
    give(k, m, b);
    give(k, m, c);
    nd__backend_release(k);
    mock_end(m, "C15 segments");
    reset();
}

TAP_MAIN({"the_defaults", the_defaults}, {"printing", printing}, {"refusing", refusing},
         {"languages", languages}, {"divisions", divisions}, {"splitting", splitting},
         {"segments", segments})
