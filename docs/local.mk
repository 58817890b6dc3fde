# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
dist_doc_DATA += %reldir%/fuse.md
dist_doc_DATA += %reldir%/graphs.md
dist_doc_DATA += %reldir%/kernels.md
dist_doc_DATA += %reldir%/neural.md
dist_doc_DATA += %reldir%/python.md
dist_doc_DATA += %reldir%/random.md
dist_doc_DATA += %reldir%/science.md
dist_doc_DATA += %reldir%/special.md
dist_doc_DATA += %reldir%/speed.md %reldir%/speed-one.png %reldir%/speed-cuda.png
dist_man_MANS += %reldir%/man/ndock.1 %reldir%/man/ndock.3 %reldir%/man/ndock.7
dist_doc_DATA += %reldir%/hooks.md
dist_doc_DATA += %reldir%/plugin-guide.md
dist_doc_DATA += %reldir%/scaling.md
dist_man_MANS += %reldir%/man/ndock-new-plugin.1
dist_man_MANS += %reldir%/man/ndock-conform.1
dist_man_MANS += %reldir%/man/ndock-debugging.7

# A man page for every public function, from the headers. What is in the folder is the headers' affair, so no list of it is here.
man3_headers = op.def status.h dtype.h device.h param.h stream.h memory.h cache.h math.h array.h \
  view.h comm.h create.h op.h custom.h reduce.h expr.h linalg.h fft.h signal.h indexing.h sorting.h manip.h random.h graph.h distribution.h special.h dlpack.h cai.h peer.h io.h check.h \
  statistics.h histogram.h compare.h calculus.h conv.h pool.h normalization.h loss.h attention.h neural.h \
  quant.h gguf.h
noinst_DATA = %reldir%/man3/stamp
%reldir%/man3/stamp: $(srcdir)/%reldir%/local.mk $(srcdir)/%reldir%/manpages.awk $(dist_ndockinclude_DATA) include/ndock/version.h
	$(AM_V_GEN)$(MKDIR_P) %reldir%/man3 && rm -f %reldir%/man3/*.3 && cp include/ndock/version.h %reldir%/man3/ && \
	  out=`pwd`/%reldir%/man3 && script=`cd $(srcdir) && pwd`/%reldir%/manpages.awk && (cd $(srcdir)/include/ndock && \
	  $(AWK) -v out="$$out" -v version=$(VERSION) -f "$$script" $(man3_headers) "$$out/version.h") && \
	  rm -f %reldir%/man3/version.h && touch $@
EXTRA_DIST += %reldir%/manpages.awk
CLEANFILES += %reldir%/man3/*.3 %reldir%/man3/stamp
install-data-hook:
	$(AM_V_at)$(MKDIR_P) '$(DESTDIR)$(mandir)/man3' && $(INSTALL_DATA) %reldir%/man3/*.3 '$(DESTDIR)$(mandir)/man3'
uninstall-local:
	$(AM_V_at)cd %reldir%/man3 && for page in *.3; do rm -f '$(DESTDIR)$(mandir)/man3/'"$$page"; done
