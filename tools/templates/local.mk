# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What authors of plug-ins get: the files of `ndock new-plugin`, and the linker's version script, which ndock-plugin.pc
# names relative to itself.
templatesdir = $(datadir)/ndock/templates
dist_templates_DATA = %reldir%/device.c.tmpl %reldir%/device.cu.tmpl %reldir%/device.h.tmpl %reldir%/value.h.tmpl \
  %reldir%/queue.h.tmpl %reldir%/queue.c.tmpl %reldir%/event.c.tmpl %reldir%/stream.c.tmpl \
  %reldir%/kernels.c.tmpl %reldir%/kernels_tmpl.h.tmpl %reldir%/Makefile.tmpl %reldir%/Makefile.am.tmpl \
  %reldir%/configure.ac.tmpl %reldir%/meson.build.tmpl %reldir%/README.md.tmpl %reldir%/LICENSE.tmpl \
  %reldir%/gitignore.tmpl %reldir%/ci.sh.tmpl %reldir%/ci.yml.tmpl
pluginmapdir = $(libdir)/ndock
dist_pluginmap_DATA = %reldir%/plugin.map
pkgconfig_DATA += ndock-plugin.pc
