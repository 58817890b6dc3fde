# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The public headers.
ndockincludedir = $(includedir)/ndock
dist_ndockinclude_DATA = \
  %reldir%/ndock/array.h %reldir%/ndock/base.h %reldir%/ndock/cai.h %reldir%/ndock/cache.h %reldir%/ndock/create.h %reldir%/ndock/custom.h %reldir%/ndock/device.h \
  %reldir%/ndock/dlpack.h %reldir%/ndock/dtype.def %reldir%/ndock/dtype.h %reldir%/ndock/fft.h %reldir%/ndock/indexing.h \
  %reldir%/ndock/io.h %reldir%/ndock/linalg.h %reldir%/ndock/manip.h %reldir%/ndock/math.h %reldir%/ndock/memory.h \
  %reldir%/ndock/ndock.h \
  %reldir%/ndock/note.h %reldir%/ndock/op.def %reldir%/ndock/op.h %reldir%/ndock/opclass.def %reldir%/ndock/opdomain.def %reldir%/ndock/plugin.h \
  %reldir%/ndock/random.h %reldir%/ndock/random_count_tmpl.h %reldir%/ndock/random_real_tmpl.h \
  %reldir%/ndock/random_tmpl.h %reldir%/ndock/random_urn_tmpl.h %reldir%/ndock/distribution.def %reldir%/ndock/distribution.h \
  %reldir%/ndock/reduce.h %reldir%/ndock/scalar_complex_log_tmpl.h \
  %reldir%/ndock/scalar_complex_tmpl.h %reldir%/ndock/scalar_special_bessel_tmpl.h \
  %reldir%/ndock/scalar_special_erf_tmpl.h %reldir%/ndock/scalar_special_everyday_tmpl.h %reldir%/ndock/scalar_special_fits_tmpl.h \
  %reldir%/ndock/scalar_special_gamma_tmpl.h %reldir%/ndock/scalar_special_integer_tmpl.h %reldir%/ndock/scalar_special_tmpl.h \
  %reldir%/ndock/scalar_special_zeta_tmpl.h %reldir%/ndock/scalar_tmpl.h %reldir%/ndock/sim.h %reldir%/ndock/sorting.h \
  %reldir%/ndock/special.h %reldir%/ndock/status.def %reldir%/ndock/status.h %reldir%/ndock/stream.h %reldir%/ndock/view.h
dist_ndockinclude_DATA += %reldir%/ndock/op_expand.h %reldir%/ndock/opparam.def %reldir%/ndock/param.h %reldir%/ndock/plugin_facts.h %reldir%/ndock/plugin_params.h %reldir%/ndock/plugin_service.h %reldir%/ndock/plugin_order.h %reldir%/ndock/plugin_code.h %reldir%/ndock/plugin_exchange.h %reldir%/ndock/comm.h %reldir%/ndock/plugin_comm.h %reldir%/ndock/check.h
dist_ndockinclude_DATA += %reldir%/ndock/calculus.h %reldir%/ndock/signal.h %reldir%/ndock/compare.h %reldir%/ndock/histogram.h %reldir%/ndock/statistics.h
dist_ndockinclude_DATA += %reldir%/ndock/graph.h %reldir%/ndock/peer.h
dist_ndockinclude_DATA += %reldir%/ndock/expr.h
dist_ndockinclude_DATA += %reldir%/ndock/conv.h %reldir%/ndock/pool.h %reldir%/ndock/windows.h
dist_ndockinclude_DATA += %reldir%/ndock/normalization.h %reldir%/ndock/loss.h %reldir%/ndock/attention.h %reldir%/ndock/neural.h
dist_ndockinclude_DATA += %reldir%/ndock/gguf.h %reldir%/ndock/quant.def %reldir%/ndock/quant.h %reldir%/ndock/quant_tmpl.h
nodist_ndockinclude_DATA = %reldir%/ndock/version.h
DISTCLEANFILES += %reldir%/ndock/version.h
CONFIG_STATUS_DEPENDENCIES = $(srcdir)/%reldir%/ndock/version.h.in
