dnl SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
dnl The CUDA plug-in: whether it is built, for which architectures, and one rule for each row of backends/cuda/host/modules.def.

dnl ND_CUDA: NVCC, ND_CUDA_CPPFLAGS, ND_CUDA_GENCODE, ND_CUDA_GENCODE_WIDE, ND_CUDA_ARCH_LIST, and the file that ND_CUDA_RULES names.
AC_DEFUN([ND_CUDA],
[AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@], [build the CUDA plug-in with the toolkit in DIR; default: where nvcc is found])], [], [with_cuda=auto])
AC_ARG_WITH([cuda-arch], [AS_HELP_STRING([--with-cuda-arch=LIST], [compute capabilities to compile kernels for, such as "80 90" (the lowest as PTX too), or compute_90: PTX alone, in a third of the time; default: those the toolkit knows of 75 80 86 89 90 100 120])])
AC_ARG_VAR([NVCC], [CUDA compiler])
AS_CASE(["$with_cuda"],
  [no], [NVCC=],
  [auto|yes], [test -n "$NVCC" || AC_PATH_PROG([NVCC], [nvcc], [], [$PATH:/usr/local/cuda/bin])],
  [NVCC=$with_cuda/bin/nvcc])
nd_cuda_summary="no: nvcc was not found in PATH and /usr/local/cuda/bin" ND_CUDART= ND_CUDA_CPPFLAGS=
test "$with_cuda" != no || nd_cuda_summary="no: --without-cuda"
AS_IF([test -n "$NVCC"], [
  nd_lacks="a compiler that runs: $NVCC"
  AS_IF(["$NVCC" --version >/dev/null 2>&1], [
    nd_lacks="cuda.h and cublasLt.h of its toolkit"
    for nd_cuda_home in "`dirname "$NVCC"`/.." "`readlink -f "$NVCC" | sed 's,/bin/nvcc$,,'`"; do
      AS_IF([test -f "$nd_cuda_home/include/cuda.h" && test -f "$nd_cuda_home/include/cublasLt.h"],
            [ND_CUDA_CPPFLAGS="-isystem $nd_cuda_home/include" nd_lacks=; break])
    done])
  AS_IF([test -z "$nd_lacks"], [
    for nd_a in "$nd_cuda_home"/lib64 "$nd_cuda_home"/lib "$nd_cuda_home"/targets/*/lib; do
      AS_IF([test -z "$ND_CUDART" && test -f "$nd_a/libcudart_static.a"], [ND_CUDART=$nd_a/libcudart_static.a])
    done
    test -n "$ND_CUDART" || nd_lacks="libcudart_static.a below $nd_cuda_home (NVIDIA's package cuda-cudart-dev)"])
  AS_IF([test -n "$nd_lacks"], [NVCC= nd_cuda_summary="no: without $nd_lacks"])])
AS_CASE(["$with_cuda:$NVCC"], [no:*|auto:*], [], [*:], [AC_MSG_ERROR([--with-cuda: $nd_cuda_summary])])
ND_CUDA_GENCODE= ND_CUDA_GENCODE_WIDE= ND_CUDA_ARCH_LIST= ND_CUDA_FATBINS=
ND_CUDA_RULES=/dev/null
AS_IF([test -n "$NVCC"], [
  nd_known=`"$NVCC" --list-gpu-arch 2>/dev/null | sed 's/compute_//'`
  AS_IF([test -z "$with_cuda_arch"],
    [for nd_a in 75 80 86 89 90 100 120; do AS_CASE([" "`echo $nd_known`" "], [*" $nd_a "*], [with_cuda_arch="$with_cuda_arch $nd_a"]); done])
  nd_lowest=
  for nd_a in `echo $with_cuda_arch | tr , ' '`; do
    dnl The driver compiles PTX when a kernel is first used.
    AS_CASE([$nd_a], [compute_*], [nd_code=$nd_a nd_a=`echo $nd_a | sed 's/compute_//'`], [nd_code=sm_$nd_a])
    AS_CASE([" "`echo $nd_known`" "], [*" $nd_a "*], [], [AC_MSG_ERROR([--with-cuda-arch: $NVCC does not know $nd_a; it knows `echo $nd_known`])])
    AS_CASE([$nd_code], [sm_*], [ND_CUDA_GENCODE="$ND_CUDA_GENCODE -gencode arch=compute_$nd_a,code=$nd_code"])
    ND_CUDA_ARCH_LIST="$ND_CUDA_ARCH_LIST${ND_CUDA_ARCH_LIST:+ }$nd_code"
    AS_IF([test -z "$nd_lowest" || test "$nd_a" -lt "$nd_lowest"], [nd_lowest=$nd_a])
  done
  ND_CUDA_GENCODE="$ND_CUDA_GENCODE -gencode arch=compute_$nd_lowest,code=compute_$nd_lowest"
  dnl A quarter of the size, for a few milliseconds when a module is first loaded. PTX alone is small however it is compressed, and
  dnl to compress it most takes as long as to compile it.
  AS_ECHO(["__global__ void k() {}"]) >conftest.cu
  AS_CASE([" $ND_CUDA_ARCH_LIST"],
    [*" sm_"*], [nd_compress=size],
    [nd_compress=default])
  AS_IF([$NVCC -fatbin --compress-mode=$nd_compress -o conftest.fatbin conftest.cu >/dev/null 2>&1],
        [nd_compress=--compress-mode=$nd_compress], [nd_compress="-Xfatbin -compress-all"])
  ND_CUDA_GENCODE="$ND_CUDA_GENCODE $nd_compress"
  dnl Instructions of one architecture alone: of 9.0 where it is asked for and nvcc knows its own; else what is made of them is empty.
  ND_CUDA_GENCODE_WIDE="-gencode arch=compute_$nd_lowest,code=compute_$nd_lowest" nd_has_90a=0
  nd_code=; AS_CASE([" $ND_CUDA_ARCH_LIST "], [*" sm_90 "*], [nd_code=sm_90a], [*" compute_90 "*], [nd_code=compute_90a])
  AS_IF([test -n "$nd_code" && $NVCC -fatbin -gencode arch=compute_90a,code=$nd_code -o conftest.fatbin conftest.cu >/dev/null 2>&1],
        [ND_CUDA_GENCODE_WIDE="-gencode arch=compute_90a,code=$nd_code" nd_has_90a=1])
  ND_CUDA_GENCODE_WIDE="$ND_CUDA_GENCODE_WIDE $nd_compress"
  ND_CUDA_CPPFLAGS="$ND_CUDA_CPPFLAGS -DCUDA_HAS_90A=$nd_has_90a"
  rm -f conftest.cu conftest.fatbin
  ND_CUDA_RULES=cuda-rules.mk
  : >$ND_CUDA_RULES
  for nd_row in `sed -n 's/^CUDA_MODULE(\(.*\), *\(.*\), *\(.*\))$/\1,\2,\3/p' "$srcdir/backends/cuda/host/modules.def"`; do
    nd_folder=${nd_row%%,*} nd_dtype=${nd_row##*,} nd_file=${nd_row%,*} nd_file=${nd_file#*,}
    ND_CUDA_FATBINS="$ND_CUDA_FATBINS backends/cuda/$nd_file-$nd_dtype.fatbin"
    nd_rule=nvcc_fatbin; AS_CASE([$nd_file], [*_wide*], [nd_rule=nvcc_fatbin_wide])
    nd_define=; test $nd_dtype = ANY || nd_define=" -DCUDA_DTYPE=$nd_dtype"
    AS_ECHO(["backends/cuda/$nd_file-$nd_dtype.fatbin: backends/cuda/$nd_folder/$nd_file.cu
	\$($nd_rule)$nd_define -o \$[@] \$(srcdir)/backends/cuda/$nd_folder/$nd_file.cu
-include backends/cuda/$nd_file-$nd_dtype.fatbin.d"]) >>$ND_CUDA_RULES
  done
  AS_ECHO(["backends/cuda/sort/cub.o: backends/cuda/sort/cub.cu
	\$(nvcc_object) -o \$[@] \$(srcdir)/backends/cuda/sort/cub.cu
-include backends/cuda/sort/cub.o.d"]) >>$ND_CUDA_RULES
  dnl Not in local.mk: automake would take it for a rule that replaces its own.
  AS_ECHO(["backends/cuda/host/ndock_cuda_la-module.lo: $ND_CUDA_FATBINS"]) >>$ND_CUDA_RULES])
test -z "$NVCC" || nd_cuda_summary="$ND_CUDA_ARCH_LIST, by $NVCC"
AM_CONDITIONAL([HAVE_CUDA], [test -n "$NVCC"])
AC_SUBST([ND_CUDA_CPPFLAGS])
AC_SUBST([ND_CUDA_GENCODE])
AC_SUBST([ND_CUDA_GENCODE_WIDE])
AC_SUBST([ND_CUDA_ARCH_LIST])
AC_SUBST([ND_CUDA_FATBINS])
AC_SUBST([ND_CUDART])
AC_SUBST_FILE([ND_CUDA_RULES])])
