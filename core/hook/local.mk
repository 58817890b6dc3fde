# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The layer that NDOCK_HOOK puts between the core and plug-ins.
core_hook_sources = %reldir%/hook.h %reldir%/wrap.h %reldir%/check.h %reldir%/slot.def %reldir%/kind.def \
  %reldir%/each.def %reldir%/undef.def %reldir%/front_tmpl.h %reldir%/slots.c %reldir%/fronts.c %reldir%/wrap.c \
  %reldir%/handle.c %reldir%/conf.c %reldir%/rules.c %reldir%/fault.c %reldir%/trace.c %reldir%/trace_text.c \
  %reldir%/check.c %reldir%/check_call.c %reldir%/check_result.c %reldir%/check_find.c \
  %reldir%/check_time.c %reldir%/check_growth.c %reldir%/check_slow.c
