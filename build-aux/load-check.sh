#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# load-check.sh RUNS LOAD: `make check` so many times in this build tree, while LOAD busy processes for each processor compete with
# it: tests that rely on time fail now and then. The logs of what failed stay in _load/RUN/. The status is 1 if anything failed.
set -u
runs=$1 load=$2 busy='' failed=0 run=0
mkdir -p _load
# shellcheck disable=SC2086  # a list of numbers
stop() { [ -z "$busy" ] || kill $busy 2>/dev/null; }
trap stop EXIT
trap 'exit 1' INT TERM HUP
while [ "$(echo $busy | wc -w)" -lt $((load * $(nproc))) ]; do
  sh -c 'while :; do :; done' &
  busy="$busy $!"
done
while [ $run -lt "$runs" ]; do
  run=$((run + 1))
  rm -rf "_load/$run"
  status=passed
  ${MAKE:-make} -k check >_load/log 2>&1 || status=FAILED
  echo "run $run of $runs: $status, $(sh "$(dirname "$0")/../tests/totals.sh" .)"
  [ $status = FAILED ] || continue
  failed=1
  mkdir -p "_load/$run"
  mv _load/log "_load/$run/make.log"
  for trs in $(find . -path './_*' -prune -o -name '*.trs' -print | xargs grep -lE '^:test-result: (FAIL|ERROR|XPASS)'); do
    cp "${trs%.trs}.log" "_load/$run/"
    sed -nE "s#^:test-result: (FAIL|ERROR|XPASS)#  ${trs%.trs}:#p" "$trs"
  done
done
exit $failed
