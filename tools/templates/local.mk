# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What authors of plug-ins get: the linker's version script, which ndock-plugin.pc names relative to itself.
pluginmapdir = $(libdir)/ndock
dist_pluginmap_DATA = %reldir%/plugin.map
pkgconfig_DATA += ndock-plugin.pc
