# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `make graph`: the layers of core/, who uses whom, and in which circles; `make graph GRAPH=--dot` for Graphviz.
GRAPH =
graph: all
	$(AM_V_at)$(PYTHON) -B $(srcdir)/%reldir%/graph.py --build . $(GRAPH)
.PHONY: graph
EXTRA_DIST += %reldir%/graph.py %reldir%/layers.txt

# The folders of python/src/.
TESTS += %reldir%/python.sh
EXTRA_DIST += %reldir%/folders.py %reldir%/python.sh
