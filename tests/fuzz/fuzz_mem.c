/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: what `ndock mem` does with a snapshot: reads, sums, and draws it. */
#include "tests/fuzz/fuzz.h"
#include "tools/mem/mem.h"

static void use(const mem_snapshot *s, const mem_device *d)
{
    mem_sums sums;
    mem_life life;
    mem_sum(d, &sums);
    /* of all, a part; not a number would fail too */
    if (!(sums.fragmentation >= 0 && sums.fragmentation <= 1))
        abort();
    if (mem_life_of(s, d, &life) == 0 && life.peak > life.n_events)
        abort();
    mem_life_free(&life);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mem_snapshot s;
    nd_text page = {0};
    fuzz_mute(1);
    if (mem_read(fuzz_file(data, size), &s) == 0) {
        for (size_t i = 0; i < s.n_devices; i++)
            use(&s, &s.devices[i]);
        mem_draw(&s, size % 2, &page);
        if (!page.failed && page.len == 0)
            abort();
    }
    free(page.data);
    mem_free(&s);
    fuzz_mute(0);
    return 0;
}
