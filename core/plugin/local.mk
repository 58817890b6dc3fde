# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Plug-ins: where they come from, what their files say, whether they are trusted, tried and loaded, their devices;
# hook/: the layer that NDOCK_HOOK puts between the core and plug-ins; service/: what plug-ins are served.
core_plugin_sources = %reldir%/acl.c %reldir%/advice.c %reldir%/choose.c %reldir%/device.c %reldir%/device.h %reldir%/device_find.c \
  %reldir%/discover.c %reldir%/host.c %reldir%/loader.c %reldir%/loader.h %reldir%/note.c %reldir%/note.h %reldir%/note_fit.c \
  %reldir%/param.c %reldir%/param.h %reldir%/param_names.c %reldir%/plugins.c %reldir%/registry.c %reldir%/trial.c \
  %reldir%/trial_run.c %reldir%/trust.c %reldir%/watch.c %reldir%/hook/check.c %reldir%/hook/check.h \
  %reldir%/hook/check_call.c %reldir%/hook/check_find.c %reldir%/hook/check_growth.c %reldir%/hook/check_result.c \
  %reldir%/hook/check_slow.c %reldir%/hook/check_time.c %reldir%/hook/common.c %reldir%/hook/conf.c %reldir%/hook/each.def \
  %reldir%/hook/fault.c %reldir%/hook/handle.c %reldir%/hook/hook.h %reldir%/hook/kind.def %reldir%/hook/rules.c \
  %reldir%/hook/slot.def %reldir%/hook/slots.c %reldir%/hook/trace.c %reldir%/hook/trace_text.c %reldir%/hook/undef.def \
  %reldir%/hook/violated.c %reldir%/hook/wrap.c %reldir%/hook/wrap.h %reldir%/hook/wrapper_tmpl.h %reldir%/hook/wrappers.c \
  %reldir%/service/kernel.c %reldir%/service/kernel_host.c %reldir%/service/library.c %reldir%/service/plan.c \
  %reldir%/service/service.h %reldir%/service/visible.c
