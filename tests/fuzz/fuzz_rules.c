/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: the rules of NDOCK_HOOK_FAULT. */
#include "core/plugin/hook/hook.h"
#include "tests/fuzz/fuzz.h"

static void check_rule(const hook_rule *r)
{
    uint64_t slots = 0;
    for (size_t i = 0; i < sizeof r->slots / sizeof *r->slots; i++)
        slots |= r->slots[i];
    if (!slots || r->status <= 0 || r->status >= ND_STATUS_END || r->index < -1)
        abort();
    if (r->when == HOOK_WHEN_CHANCE ? !(r->chance >= 0 && r->chance <= 1) : r->n < 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hook_conf conf = {0};
    char text[512];
    size_t n = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, data, n);
    text[n] = 0;
    nd_status status = nd__hook_rules(&conf, text);
    for (int i = 0; i < conf.n_rules; i++) {
        if (status == ND_OK)
            check_rule(&conf.rules[i]);
        free(conf.rules[i].plugin);
    }
    free(conf.rules);
    if (status != ND_OK && !nd_last_error()->message[0])
        abort();
    return 0;
}
