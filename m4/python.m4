dnl SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
dnl The Python package: built where the interpreter has headers, in the limited API unless it has no GIL.

dnl PYTHON, if it is not given: the first that has NumPy, else the first there is.
AC_DEFUN([ND_PROG_PYTHON],
[AC_ARG_VAR([PYTHON], [Python interpreter that the package is built for and that runs the tests; default: the first with NumPy])
AC_MSG_CHECKING([for Python])
nd_py_what='import numpy'
for nd_py in python3 /usr/bin/python3 python3 /usr/bin/python3; do
  test -z "$PYTHON" || break
  dnl The interpreter itself: a shim of pyenv or the like would start a shell first, each time.
  PYTHON=`$nd_py -c "$nd_py_what
import sys; print(sys.executable)" 2>/dev/null`
  test $nd_py = python3 || nd_py_what=
done
nd_py_summary=${PYTHON:-none: comparisons with NumPy will be skipped}
test -z "$PYTHON" || "$PYTHON" -c 'import numpy' 2>/dev/null || nd_py_summary="$PYTHON, without NumPy: comparisons with it will be skipped"
AC_MSG_RESULT([${PYTHON:-no}])])

dnl PYTHON_SANITIZED: variables of the interpreter's environment in a sanitizer build. The run time must come first, while the
dnl interpreter is not linked with it; GCC has it as a library, clang links its own into programs alone. Python's objects come from
dnl malloc, where the sanitizer sees them. The interpreter's own leaks would be reported: test_leaks.py looks for ours.
AC_DEFUN([ND_PYTHON_SANITIZED],
[PYTHON_SANITIZED=
AS_CASE([$enable_sanitizer], [''|no], [nd_runtime=], [address*], [nd_runtime=libasan.so], [undefined], [nd_runtime=libubsan.so],
  [nd_runtime=libtsan.so])
AS_IF([test -n "$nd_runtime" && test "x$enable_python" != xno], [
  nd_preload=`$CC -print-file-name=$nd_runtime`
  dnl A compiler that has no such file repeats the name alone.
  AS_CASE([$nd_preload],
    [*/*], [PYTHON_SANITIZED="LD_PRELOAD=$nd_preload PYTHONMALLOC=malloc ASAN_OPTIONS=\"\$\$ASAN_OPTIONS:detect_leaks=0\""],
    [enable_python=no nd_python_summary="no: $CC has no $nd_runtime to load before the interpreter"])])
AC_SUBST([PYTHON_SANITIZED])])

dnl ND_PYTHON: HAVE_PYTHON_HEADERS, PYTHON_CPPFLAGS, PYTHON_SUFFIX, pyexecdir. PYTHON and the sanitizer are known.
AC_DEFUN([ND_PYTHON],
[AC_ARG_ENABLE([python], [AS_HELP_STRING([--disable-python], [do not build the Python package; default: built where the interpreter (3.11 or later) has headers])], [], [enable_python=auto])
AC_ARG_VAR([pyexecdir], [where the Python package goes; default: the interpreter's platlib below exec_prefix])
nd_python_summary="no: --disable-python" PYTHON_CPPFLAGS= PYTHON_SUFFIX= nd_has_python=no
ND_PYTHON_SANITIZED
AS_IF([test "x$enable_python" != xno], [
  nd_python_summary="no: ${PYTHON:-no Python} is older than 3.11 or has no headers (Debian's python3-dev)"
  AC_MSG_CHECKING([for the headers of ${PYTHON:-Python}])
  nd_py_answer=`${PYTHON:-false} -c '
import os, sys, sysconfig
assert sys.version_info >= (3, 11)
include, free = sysconfig.get_path("include"), bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
assert os.path.exists(os.path.join(include, "Python.h"))
print("-isystem " + include + ("" if free else " -DPy_LIMITED_API=0x030B0000"))
print(sysconfig.get_config_var("EXT_SUFFIX") if free else ".abi3.so")
folder = os.path.relpath(sysconfig.get_path("platlib"), sys.prefix)
if "deb_system" in sysconfig.get_scheme_names() and sys.prefix == sys.base_prefix: # what Debian looks into
    folder = "lib/python3/dist-packages" if sys.argv[[1]] == "/usr" else "lib/python%d.%d/dist-packages" % sys.version_info[[:2]]
print(folder)' "$prefix" 2>/dev/null`
  AS_IF([test -n "$nd_py_answer"], [
    nd_has_python=yes nd_python_summary="for $PYTHON"
    PYTHON_CPPFLAGS=`AS_ECHO(["$nd_py_answer"]) | sed -n 1p`
    PYTHON_SUFFIX=`AS_ECHO(["$nd_py_answer"]) | sed -n 2p`
    nd_py_lib=`AS_ECHO(["$nd_py_answer"]) | sed -n 3p`
    test -n "$pyexecdir" || pyexecdir="\${exec_prefix}/$nd_py_lib"])
  AC_MSG_RESULT([$nd_has_python])])
AS_IF([test "x$enable_python:$nd_has_python" = xyes:no], [AC_MSG_ERROR([--enable-python: $nd_python_summary])])
AM_CONDITIONAL([HAVE_PYTHON_HEADERS], [test $nd_has_python = yes])
AC_SUBST([PYTHON_CPPFLAGS])
AC_SUBST([PYTHON_SUFFIX])])
