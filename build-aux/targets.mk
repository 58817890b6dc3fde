# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Targets for developers: sanitizers, format, lint, and what distcheck configures with.
EXTRA_DIST += %reldir%/tap-driver.sh quickstart .clang-format .clang-tidy .editorconfig

AM_DISTCHECK_CONFIGURE_FLAGS = --enable-werror --without-cuda --disable-static

# Each sanitizer gets a build tree of its own, so that the normal one stays as it is. SANITIZER_GOALS are made there.
SANITIZER_GOALS = check
check-asan: ; $(AM_V_at)$(sanitizer_check) $@ address $(SANITIZER_GOALS)
check-ubsan: ; $(AM_V_at)$(sanitizer_check) $@ undefined $(SANITIZER_GOALS)
check-asan-ubsan: ; $(AM_V_at)$(sanitizer_check) $@ address,undefined $(SANITIZER_GOALS)
check-tsan: ; $(AM_V_at)$(sanitizer_check) $@ thread $(SANITIZER_GOALS)
sanitizer_check = MAKE='$(MAKE)' $(SHELL) $(srcdir)/build-aux/sanitizer-check.sh $(abs_srcdir)
EXTRA_DIST += %reldir%/sanitizer-check.sh %reldir%/tsan.supp

# check-threads: the tests in which threads meet, for a slice of check-tsan (SANITIZER_GOALS=check-threads); check-sanitized: those that
# say something under a sanitizer. Only their own programs are compiled, and what scripts call; for the former, which are no scripts,
# neither examples nor the tools of the kit.
threads_use = libndock.la $(plugin_LTLIBRARIES) $(bin_PROGRAMS) tools/ndock-probe
if HAVE_PYTHON_HEADERS
threads_use += python/package.stamp
endif
check-threads: $(threads_use)
	$(AM_V_at)tests=`$(SHELL) $(srcdir)/tests/threaded.sh $(srcdir) $$($(SHELL) $(srcdir)/tests/sanitized.sh $(TESTS))`; goal=check-TESTS; $(check_some)
check-sanitized: all
	$(AM_V_at)tests=`$(SHELL) $(srcdir)/tests/sanitized.sh $(TESTS)`; goal=check; $(check_some)
check_some = $(MAKE) $(AM_MAKEFLAGS) $$goal TESTS="`echo $$tests`" \
  check_PROGRAMS="`{ printf '%s\n' $$tests | grep '\.t$$'; printf '%s\n' $(check_PROGRAMS) | grep -v '\.t$$'; } | tr '\n' ' '`"
EXTRA_DIST += tests/sanitized.sh

# The suite again and again beside processes that take the processors from it.
LOAD_RUNS = 10
LOAD = 2
check-load: all
	$(AM_V_at)MAKE='$(MAKE)' $(SHELL) $(srcdir)/build-aux/load-check.sh $(LOAD_RUNS) $(LOAD)
EXTRA_DIST += .ci/config.site .ci/run .ci/skips
EXTRA_DIST += %reldir%/load-check.sh tests/threaded.sh

FORMAT_FILES = git ls-files '*.c' '*.h' '*.cu' '*.cuh'
format: ; cd $(srcdir) && clang-format -i $$($(FORMAT_FILES))
format-check: ; cd $(srcdir) && clang-format --dry-run -Werror $$($(FORMAT_FILES))
lint: ; cd $(srcdir) && cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --language=c \
  --enable=warning,portability --suppress=missingInclude -Iinclude -I. -I$(abs_builddir)/include core backends/cpu tools

.PHONY: check-asan check-ubsan check-asan-ubsan check-tsan check-threads check-sanitized check-load format format-check lint

# What libndock exports against tests/data/libndock.abi.gz; skipped, with the reason, where abigail-tools are not installed. Types
# are read from debugging information: where CFLAGS gave none, the library is built once more with it.
abidiff = $(SHELL) $(srcdir)/build-aux/abidiff.sh
abidiff_args = "`cat _abi-library`" $(srcdir)/tests/data/libndock.abi.gz $(abs_srcdir)/include/ndock
abi-library: libndock.la
	$(AM_V_at)if readelf -S .libs/libndock.so | grep -q '\.debug_info'; then echo .libs/libndock.so; \
	else echo _check-abi/.libs/libndock.so; fi >_abi-library
	$(AM_V_at)case `cat _abi-library` in _check-abi/*) \
	  $(MKDIR_P) _check-abi && cd _check-abi && { test -f Makefile || $(abs_srcdir)/configure -q --without-cuda \
	    --disable-cpu-variants --disable-static --disable-python CC='$(CC)' CFLAGS='-g -O0'; } && \
	  $(MAKE) $(AM_MAKEFLAGS) libndock.la ;; esac
check-abidiff: abi-library ; $(AM_V_at)$(abidiff) compare $(abidiff_args)
update-abi: abi-library ; $(AM_V_at)$(abidiff) update $(abidiff_args)
CLEANFILES += _abi-library
EXTRA_DIST += %reldir%/abidiff.sh tests/data/libndock.abi.gz
.PHONY: abi-library check-abidiff update-abi
