#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# clients.sh [scipy|sklearn|xarray|extra|opt_einsum|needle|blocks|mpi4py]...: the array API tests of libraries that take any array, with ndock's arrays. By `make
# check-clients` from the top of a build tree, or anywhere with the package on PYTHONPATH. README.md has the counts.
#
#   CLIENTS_VENV   a venv with requirements.txt; unset: made in ./_clients by pip, of the interpreter PYTHON
#   CLIENTS_ARGS   more arguments for pytest, "-n 2" say
#   NEEDLE_HW4     of needle alone: the folder of a solved homework 4 of Deep Learning Systems (github.com/dlsyscourse/hw4), with its tests
#                  as they are there. It is none of ours to hand out, so that this client runs where it is asked for
#   NDOCK_DEVICE   the device the arrays are on, "cpu" or "cuda" say
#
# Ends with one line for each client: its name and pytest's counts. Status 0 where all of them could be counted: what fails is
# explained in README.md, and is compared there by eye.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
venv=${CLIENTS_VENV-$PWD/_clients/venv}
[ -x "$venv/bin/python" ] || {
    "${PYTHON:-python3}" -m venv "$venv" && "$venv/bin/python" -m pip install -q -r "$here/requirements.txt"
} || {
    echo "clients.sh: pip could not make $venv; set CLIENTS_VENV to a venv with $here/requirements.txt" >&2
    exit 1
}
PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
python=$venv/bin/python

tests() { # ARGUMENT...: of pytest
    "$python" -m pytest -q -p no:cacheprovider --disable-warnings -rfE --tb=line $CLIENTS_ARGS "$@"
}

# Those tests of SciPy that run once for each array library.
scipy() {
    SCIPY_ARRAY_API='["array_api_strict"]' tests --pyargs -m array_api_backends scipy.special scipy.stats scipy.cluster scipy.fft \
        scipy.integrate scipy.optimize scipy.differentiate scipy.interpolate scipy.spatial scipy.ndimage scipy.signal scipy._lib
}
sklearn() { SCIPY_ARRAY_API=1 tests "$here/test_sklearn.py"; }
xarray() { tests --pyargs xarray.tests.test_array_api; }
# Dask and xarray on ndock's blocks need NumPy 2.4, which takes other libraries' dtypes: a venv of their own.
blocks() {
    python=$(dirname "$venv")/blocks/bin/python
    [ -x "$python" ] || {
        "${PYTHON:-python3}" -m venv "$(dirname "$venv")/blocks" && "$python" -m pip install -q -r "$here/requirements-blocks.txt"
    } || return
    tests "$here/test_dask.py" "$here/test_xarray_blocks.py"
}
# By the mpirun that is there, two and three ranks.
mpi4py() {
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe
    for n in 2 3; do "${MPIRUN:-mpirun}" -n $n "$python" -B "$here/mpi4py_ranks.py" $n || return; done
    echo "2 passed"
}
opt_einsum() { tests -p opt_einsum_arrays --pyargs opt_einsum; }
# Its tests are not installed, but in its release of the same version.
extra() {
    version=$(sed -n 's/^array-api-extra==//p' "$here/requirements.txt")
    sources=$(dirname "$venv")/array_api_extra-$version
    [ -d "$sources" ] || {
        "$python" -m pip download -q --no-deps --no-binary :all: -d "$(dirname "$venv")" "array-api-extra==$version" &&
            tar -C "$(dirname "$venv")" -xzf "$sources.tar.gz"
    } || return
    cd "$sources" && tests -k 'array_api_strict and not strictest' tests
}

# The course's tests of convolution and of sequence models, which need PyTorch; without a GPU those of its cuda() skip.
needle() {
    cd "${NEEDLE_HW4:?names the folder of a solved homework 4}" && tests -p needle_ndock tests/hw4
}

[ $# -gt 0 ] || set -- mpi4py blocks xarray extra opt_einsum sklearn scipy
log=$(mktemp) counts=$(mktemp)
trap 'rm -f "$log" "$counts"' EXIT
for client; do
    case $client in scipy | sklearn | xarray | extra | opt_einsum | needle | blocks | mpi4py) ;; *) echo "clients.sh: $client is no client: scipy, sklearn, xarray, extra, opt_einsum, needle, blocks, mpi4py" >&2; exit 2 ;; esac
    ("$client") 2>&1 | tee "$log"
    echo "$client: $(grep -E '^(=+ )?[0-9]+ (passed|failed|skipped)' "$log" | tail -n 1)" >>"$counts"
done
echo
cat "$counts"
! grep -q ': $' "$counts"
