/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of the check share. Functions that judge return true when a rule is broken and the
 * call is to fail for it. */
#ifndef NDOCK_CORE_HOOK_CHECK_H
#define NDOCK_CORE_HOOK_CHECK_H
#include "core/plugin/hook/hook.h"

/* Logs it. true, with the result set to ND_ERR_PLUGIN: NDOCK_HOOK_CHECK is error. */
bool nd__hook_violated(hook_call *c, const char *rule, const char *fmt, ...) ND_PRINTF(3, 4);
/* check_call.c: a call record and its operands. */
bool nd__hook_check_call(hook_call *c, const ndp_call *call);
/* Small outputs that the host can see are as before when run() says UNSUPPORTED or INDEX. */
void nd__hook_check_outputs(hook_call *c, const ndp_call *call, bool before);
/* check_result.c: values that the plug-in wrote. */
void nd__hook_results_enter(hook_call *c);
bool nd__hook_check_results(hook_call *c);
/* check_time.c: event times against the host's clock. */
bool nd__hook_check_time(hook_call *c);
/* check_growth.c: kernels that keep host memory. */
void nd__hook_growth_enter(hook_call *c);
bool nd__hook_check_growth(hook_call *c);
/* check_slow.c: calls that do not return. Around the plug-in's function. */
void nd__hook_slow_enter(hook_call *c);
void nd__hook_slow_leave(hook_call *c);
/* check_find.c */
bool nd__hook_check_find(hook_call *c);
#endif
