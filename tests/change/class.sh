# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The operation of class.patch where a device has a subtraction but no kernel of the class: derived on the device, since staging is an
# error. Run in the build tree of the copy; the conformance suite of cpu and sim is among the patch's tests.
# shellcheck disable=SC2086 # the name of make may have options behind it
${MAKE:-make} --no-print-directory tests/loader/ndock-tier1.la >>make.log 2>&1 || { tail -n 20 make.log; exit 1; }
NDOCK_PLUGIN_PATH=$PWD/backends/cpu/.libs:$PWD/tests/loader/.libs/ndock-tier1.so NDOCK_FALLBACK=error NDOCK_CONFORM_COUNT=200 \
    ./tests/conform/conform.t tier1 --only frobnicate
