#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The official test suite of the Python array API (data-apis/array-api-tests, MIT), run beside the repository and never part
# of it. From the top of a build tree, by `make check-array-api`, or anywhere with the package on PYTHONPATH.
#
#   ARRAY_API_TESTS           folder of the suite, its submodule array-api included; unset: cloned into ./_array-api-tests
#   ARRAY_API_TESTS_PYTHON    an interpreter with the suite's requirements; unset: a venv is made beside the suite
#   ARRAY_API_TESTS_EXAMPLES  examples a test; by default 20
#   NDOCK_DEVICE              the device the arrays are on, "cpu" or "cuda" say
#
# Arguments go to pytest in place of array_api_tests/, the whole suite. What fails must be listed in array_api_xfails.txt.
tag=2026.02.26
here=`cd "\`dirname "$0"\`" && pwd` || exit 1
suite=${ARRAY_API_TESTS-}
if test -z "$suite"; then
  suite=`pwd`/_array-api-tests
  test -d "$suite" ||
    git clone -q --depth 1 -b $tag --recurse-submodules https://github.com/data-apis/array-api-tests "$suite" || {
    echo "array_api.sh: cannot clone the suite; get tag $tag with its submodule and set ARRAY_API_TESTS to its folder" >&2
    exit 1
  }
fi
if test ! -f "$suite/array_api_tests/test_has_names.py" || test ! -d "$suite/array-api/src"; then
  echo "array_api.sh: $suite is not array-api-tests with its submodule array-api (git submodule update --init)" >&2
  exit 1
fi
python=${ARRAY_API_TESTS_PYTHON-}
if test -z "$python"; then
  python=$suite/_venv/bin/python
  test -x "$python" || {
    ${PYTHON:-python3} -m venv "$suite/_venv" &&
      "$python" -m pip install -q 'hypothesis>=6.151' ndindex pytest pytest-json-report numpy
  } || {
    echo "array_api.sh: cannot make a venv; set ARRAY_API_TESTS_PYTHON to a Python with $suite/requirements.txt" >&2
    exit 1
  }
fi
test $# -gt 0 || set -- array_api_tests/
ARRAY_API_TESTS_MODULE="exec('import ndock as xp')"
export ARRAY_API_TESTS_MODULE
cd "$suite" || exit 1
exec "$python" -m pytest -q -rfEX -o xfail_strict=True -p no:cacheprovider --disable-warnings --disable-deadline \
  --max-examples "${ARRAY_API_TESTS_EXAMPLES:-20}" --xfails-file "$here/array_api_xfails.txt" "$@"
