# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For shell tests that need a CUDA device; to be sourced after tap.sh.
NDOCK_PLUGIN_PATH=$NDOCK_PLUGIN_PATH:$PWD/backends/cuda/.libs
export NDOCK_PLUGIN_PATH

# need_cuda NAME: without cuda:0 NAME is skipped, with the reason that `ndock info` gives, and the script ends.
need_cuda() {
    tools/ndock info | grep -q '^[* ] cuda:0 ' && return
    reason=$(tools/ndock info | sed -n '/^  cuda  /{n;s/^ *//p;}')
    skip "$1" "${reason:-the CUDA plug-in was not built: nvcc was not found}"
    finish
}

# What the plug-in has no kernels of, which the conformance suite lets the CPU compute, and fails as soon as there is one.
NDOCK_CONFORM_STAGED=quantize
export NDOCK_CONFORM_STAGED
