#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Killed at random moments while saving the job's network, the file is the old version or the new one, never half;
# and what is not whole has no name, but for the instant before it is renamed: one file at most is left, until the next save. NDOCK_KILLS times (20; make check-kill: 200).
. "$srcdir/tests/tap.sh"
file=$tap_dir/weights.st kills=${NDOCK_KILLS:-20}

# The first one is left alone until it has saved once: a busy machine starts it late.
first_save() {
    ./tests/unit/kill_save "$file" &
    pid=$! tries=0
    while [ ! -e "$file" ] && [ $tries -lt 300 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    kill -9 $pid
    wait $pid 2>/dev/null
    ./tests/unit/kill_save --check "$file"
}

kill_often() {
    i=0
    while [ $i -lt "$kills" ]; do
        i=$((i + 1))
        ./tests/unit/kill_save "$file" &
        pid=$!
        sleep "0.$(awk -v seed="$i$$" 'BEGIN { srand(seed); printf "%03d", 5 + rand() * 150 }')"
        kill -9 $pid
        wait $pid 2>/dev/null
        ./tests/unit/kill_save --check "$file" || return
    done
}

left_over() { find "$tap_dir" -type f ! -name weights.st ! -name log | wc -l; }

check 'a first version' first_save
check "$kills kills leave a whole file" kill_often
# Where files can be without a name: as of the folders of tests, but for some network file systems.
one_at_most() { [ "$(left_over)" -le 1 ] || { find "$tap_dir" -type f; return 1; }; }
none_after_a_save() { ./tests/unit/kill_save --once "$file" && [ "$(left_over)" = 0 ] || { find "$tap_dir" -type f; return 1; }; }
check "the killed leave one temporary file at most" one_at_most
check "which the next save removes" none_after_a_save
finish
