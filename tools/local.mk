# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The command: public API only.
bin_PROGRAMS += %reldir%/ndock
%canon_reldir%_ndock_SOURCES = %reldir%/ndock.c %reldir%/info.c %reldir%/info_ops.c %reldir%/json.c %reldir%/tool.h
%canon_reldir%_ndock_LDADD = libndock.la
