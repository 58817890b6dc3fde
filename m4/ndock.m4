dnl SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
dnl Compiler flags, CPU variants and sanitizers.

dnl ND_TRY_CFLAG(FLAG, IF-ACCEPTED, [IF-NOT]). With -Wall, without which some warnings are refused.
AC_DEFUN([ND_TRY_CFLAG],
[AS_VAR_PUSHDEF([nd_cache], [nd_cv_cflag_$1])
AC_CACHE_CHECK([whether $CC accepts $1], [nd_cache],
  [nd_save_CFLAGS=$CFLAGS
   CFLAGS="$CFLAGS -Werror -Wall $1"
   AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [AS_VAR_SET([nd_cache], [yes])], [AS_VAR_SET([nd_cache], [no])])
   CFLAGS=$nd_save_CFLAGS])
AS_VAR_IF([nd_cache], [yes], [$2], [$3])
AS_VAR_POPDEF([nd_cache])])

dnl ND_CFLAGS: warnings and hidden symbols for everything; calls go straight to their function, and nobody is to put another in its place. ND_KERNEL_CFLAGS: what decides results and speed of kernels. Contraction is off, since a fused a*b+c would
dnl change bits from one SIMD level to the next. The user's CFLAGS come last, and their -O2 would undo -O3, so what kernels need of it is named; -ffast-math is never used, since it deletes NaN tests.
AC_DEFUN([ND_COMPILER_FLAGS],
[ND_CFLAGS=
for nd_flag in -std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -Wundef -Wformat-security -Wno-psabi -fvisibility=hidden -fno-plt -fno-semantic-interposition; do
  ND_TRY_CFLAG([$nd_flag], [ND_CFLAGS="$ND_CFLAGS $nd_flag"])
done
ND_KERNEL_CFLAGS=
for nd_flag in -O3 -ftree-vectorize -fvect-cost-model=dynamic -fpeel-loops -ffp-contract=off -fno-math-errno -fno-trapping-math; do
  ND_TRY_CFLAG([$nd_flag], [ND_KERNEL_CFLAGS="$ND_KERNEL_CFLAGS $nd_flag"])
done
AC_SUBST([ND_CFLAGS])
AC_SUBST([ND_KERNEL_CFLAGS])
dnl Of libndock alone, where a config.site sets it: CI compiles only what the ABI is compared by with symbols.
AC_SUBST([ND_LIBRARY_CFLAGS])
nd_save_LDFLAGS=$LDFLAGS
LDFLAGS="$LDFLAGS -Wl,--version-script=$srcdir/core/libndock.map"
AC_CACHE_CHECK([whether the linker takes a version script], [nd_cv_version_script],
  [AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [nd_cv_version_script=yes], [nd_cv_version_script=no])])
LDFLAGS=$nd_save_LDFLAGS
AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test "$nd_cv_version_script" = yes])])

dnl The CPU variants that are built; which one runs is decided when the plug-in opens. --disable-cpu-variants leaves the one of the
dnl compiler's own target (CFLAGS=-march=native), --enable-cpu-variants=avx2 those up to AVX2.
AC_DEFUN([ND_CPU_ISA],
[AC_ARG_ENABLE([cpu-variants], [AS_HELP_STRING([--enable-cpu-variants=LEVEL], [build the CPU kernels for processors up to LEVEL, avx2 or avx512 (the default), beside the compiler's target; --disable-cpu-variants: for that alone])], [], [enable_cpu_variants=yes])
AS_CASE([$enable_cpu_variants],
  [no], [nd_isa_highest=0], [avx2], [nd_isa_highest=1], [yes|avx512], [nd_isa_highest=2],
  [AC_MSG_ERROR([--enable-cpu-variants=$enable_cpu_variants: the levels are avx2 and avx512])])
ND_AVX2_CFLAGS="-mavx2 -mfma -mf16c -mbmi2"
ND_AVX512_CFLAGS="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mbmi2 -mprefer-vector-width=512"
AC_CACHE_CHECK([whether $CC builds for x86-64 with AVX2 and AVX-512], [nd_cv_isa_x86],
  [nd_save_CFLAGS=$CFLAGS
   CFLAGS="$CFLAGS -Werror $ND_AVX512_CFLAGS"
   AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#ifndef __x86_64__
#error not x86-64
#endif
#include <immintrin.h>]], [[__builtin_cpu_init(); return __builtin_cpu_supports("avx2");]])], [nd_cv_isa_x86=yes], [nd_cv_isa_x86=no])
   CFLAGS=$nd_save_CFLAGS])
AS_IF([test "$nd_cv_isa_x86" = no], [nd_isa_highest=0])
ND_AMX_CFLAGS="$ND_AVX512_CFLAGS -mxsave -mamx-tile -mamx-bf16"
AC_CACHE_CHECK([whether $CC builds for AMX], [nd_cv_amx],
  [nd_save_CFLAGS=$CFLAGS
   CFLAGS="$CFLAGS -Werror $ND_AMX_CFLAGS"
   AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <immintrin.h>]], [[_tile_dpbf16ps(0, 1, 2); return (int)_xgetbv(0);]])],
     [nd_cv_amx=yes], [nd_cv_amx=no])
   CFLAGS=$nd_save_CFLAGS])
AS_IF([test "$nd_cv_amx" = yes && test $nd_isa_highest -ge 2], [ND_AMX=1], [ND_AMX=0])
AC_SUBST([ND_AMX])
AC_SUBST([ND_AMX_CFLAGS])
AM_CONDITIONAL([HAVE_AMX], [test $ND_AMX = 1])
AS_CASE([$nd_isa_highest], [0], [nd_isa_list=], [1], [nd_isa_list=", AVX2"], [nd_isa_list=", AVX2, AVX-512"])
AC_SUBST([ND_CPU_ISA_HIGHEST], [$nd_isa_highest])
AM_CONDITIONAL([HAVE_AVX2_VARIANT], [test $nd_isa_highest -ge 1])
AM_CONDITIONAL([HAVE_AVX512_VARIANT], [test $nd_isa_highest -ge 2])
dnl With -Og GCC 14 inlines no function that is passed to one that is inlined, and fails where it has to.
ND_CPU_CALLS=
AS_CASE([" $CFLAGS "], [*" -Og "*], [ND_CPU_CALLS=-DCPU_KEEPS_CALLS])
AC_SUBST([ND_CPU_CALLS])
AC_SUBST([ND_AVX2_CFLAGS])
AC_SUBST([ND_AVX512_CFLAGS])])

dnl --enable-sanitizer=address|undefined|address,undefined|thread
AC_DEFUN([ND_SANITIZER],
[AC_ARG_ENABLE([sanitizer], [AS_HELP_STRING([--enable-sanitizer=KIND], [build with the address, undefined ("address,undefined": both) or thread sanitizer])])
AS_CASE(["$enable_sanitizer"],
  [''|no], [],
  [address|undefined|address,undefined|thread], [ND_CFLAGS="$ND_CFLAGS -g -fno-omit-frame-pointer -fsanitize=$enable_sanitizer"
    AS_CASE(["$enable_sanitizer"], [*undefined], [ND_CFLAGS="$ND_CFLAGS -fno-sanitize-recover=undefined"])
    dnl libgomp is not built for the thread sanitizer, which would report its internals.
    AS_IF([test "$enable_sanitizer" = thread], [OPENMP_CFLAGS=])
    LDFLAGS="$LDFLAGS -fsanitize=$enable_sanitizer"],
  [AC_MSG_ERROR([--enable-sanitizer takes address, undefined or thread, not $enable_sanitizer])])
AM_CONDITIONAL([HAVE_SANITIZER], [test -n "$enable_sanitizer" && test "$enable_sanitizer" != no])])
