# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
dist_doc_DATA += %reldir%/python.md
dist_man_MANS += %reldir%/man/ndock.1 %reldir%/man/ndock.3 %reldir%/man/ndock.7
dist_doc_DATA += %reldir%/hooks.md
dist_doc_DATA += %reldir%/plugin-guide.md
dist_man_MANS += %reldir%/man/ndock-new-plugin.1
dist_man_MANS += %reldir%/man/ndock-conform.1
