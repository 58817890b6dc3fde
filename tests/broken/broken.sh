# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The kit's own proof: a plug-in that does all that is asked passes every check, and each way of breaking it (breaks.def) is
# found by the check meant for it. It is built as it would be anywhere, by one compiler call with the flags of ndock-plugin.pc; the
# broken ones share the objects of all files, but for those whose tables are what is broken. NDOCK_TEST_LONG=1 runs all groups on each,
# and so shows that no other check fails than those listed; NDOCK_TEST_BREAKS names the rows to run.
. "$srcdir/tests/tap.sh"
# Checks of the kit end processes with work pending and blocks in use, on purpose.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
kit=tests/abi/conform-abi
here=$srcdir/tests/broken
includes="-Iinclude -I$srcdir/include"
flags="-std=c11 -O1 -D_GNU_SOURCE -fPIC -fvisibility=hidden -w"
link="-Wl,--version-script=$here/plugin.map -Wl,-z,nodelete -Wl,-z,relro,-z,now"
NDOCK_PLUGIN_PATH=$PWD/backends/cpu/.libs
export NDOCK_PLUGIN_PATH

# build NAME FLAGS...: the plug-in, in a folder of its own.
build() {
    mkdir -p "$tap_dir/$1" && out=$tap_dir/$1/ndock-sound.so && shift &&
        $CC $CFLAGS $flags -shared "$@" $includes -o "$out" "$here"/*.c $link $LDFLAGS -lm -lpthread
}

# What the broken ones share, whose breaks are asked for when they run: break_now of device.h.
compile_shared() {
    mkdir "$tap_dir/shared" || return
    for source in "$here"/*.c; do
        $CC $CFLAGS -g0 $flags -DBREAK_IN_FILE $includes -c -o "$tap_dir/shared/$(basename "$source" .c).o" "$source" || return
    done
}
# build_broken NAME: of the shared objects and one file that says which it is.
build_broken() {
    mkdir -p "$tap_dir/$1" && printf '#include "device.h"\nconst int break_now = break_%s;\n' "$1" >"$tap_dir/$1/now.c" &&
        $CC $CFLAGS -g0 $flags -shared -DBREAK_IN_FILE -I"$here" $includes -o "$tap_dir/$1/ndock-sound.so" "$tap_dir/$1/now.c" \
            "$tap_dir"/shared/*.o $link $LDFLAGS -lm -lpthread
}

# Like a linker, a sanitizer's runtime may be no shared library's own affair: without one, nothing is undefined.
case " $CFLAGS " in *-fsanitize*) ;; *) link="$link -Wl,-z,defs" ;; esac

passes_all() {
    build none || return 1
    for group in B C E F G H; do
        $kit --group $group "$tap_dir/none/ndock-sound.so" >"$tap_dir/none/out" && continue
        grep -A9 '^not ok' "$tap_dir/none/out"
        return 1
    done
}

# The ids of failed checks.
failed() { sed -n 's/^not ok [0-9]* - \([A-Z]\.[a-z_0-9]*\).*/\1/p' "$1"; }

# unlisted OUTPUT CHECK PATTERNS: what else failed than CHECK and those whose names fit a pattern.
unlisted() {
    for id in $(failed "$1"); do
        [ "$id" != "$2" ] || continue
        listed=
        for pattern in $3; do
            case $id in $pattern) listed=1 ;; esac
        done
        [ -n "$listed" ] || echo "$id fails as well:" "$(grep -A2 "^not ok.* $id:" "$1")"
    done
}

# found NAME CHECK OTHERS: CHECK fails, and of all groups no other but those.
found() (
    set -f
    name=$1 check=$2 others=$3
    case $name in
    note_version) set -- build "$name" -DNOTE_VERSION ;;
    note_groups) set -- build "$name" -DNOTE_GROUPS ;;
    table_name | table_minor | table_null | groups_null) set -- build "$name" -DBREAK_NOW="break_$name" ;;
    *) set -- build_broken "$name" ;;
    esac
    set +f
    "$@" || return 1
    set -f
    out=$tap_dir/$name/out
    which="--replay $check"
    [ -n "$NDOCK_TEST_LONG" ] && which=
    # Seconds; few for those that hang on purpose, and more where a busy machine let another check run out of them.
    limits=40
    case $name in unrecorded | wrap_destroys | exit_hangs | fork_hangs | table_null) limits='6 40' ;; esac
    for limit in $limits; do
        $kit $which --timeout $limit "$tap_dir/$name/ndock-sound.so" >"$out"
        unlisted "$out" "$check" "$others" >"$tap_dir/$name/said"
        [ -s "$tap_dir/$name/said" ] || break
    done
    rm -f "$tap_dir/$name/ndock-sound.so"
    cat "$tap_dir/$name/said"
    failed "$out" | grep -qx "$check" || { echo "$check does not find it"; return 1; }
    [ ! -s "$tap_dir/$name/said" ]
)

check "the plug-in that is not broken passes every check" passes_all
sed -n 's/^BREAK(\([a-z_]*\), "\([A-Z]\.[a-z_]*\)", "\([^"]*\)", "\([^"]*\)")$/\1|\2|\3|\4/p' "$here/breaks.def" \
    >"$tap_dir/rows"
check "every row of breaks.def is understood" [ "$(grep -c '^BREAK(' "$here/breaks.def")" = "$(wc -l <"$tap_dir/rows")" ]

# Many of the checks wait, so several rows are tried side by side; $tap_dir/NAME.said and .status then hold what came of each.
side_by_side=4
try_rows() {
    while IFS='|' read -r name id others what; do
        [ -n "$NDOCK_TEST_BREAKS" ] && case " $NDOCK_TEST_BREAKS " in *" $name "*) ;; *) continue ;; esac
        found "$name" "$id" "$others" >"$tap_dir/$name.said" 2>&1 </dev/null
        echo $? >"$tap_dir/$name.status"
    done
}
came_of() { # NAME
    cat "$tap_dir/$1.said"
    return "$(cat "$tap_dir/$1.status")"
}
if [ -z "$NDOCK_TEST_SLICE" ]; then
    check "what broken ones share is compiled" compile_shared
    part=0
    while [ $part -lt $side_by_side ]; do
        awk -v part=$part -v of=$side_by_side 'NR % of == part' "$tap_dir/rows" >"$tap_dir/rows.$part"
        try_rows <"$tap_dir/rows.$part" &
        part=$((part + 1))
    done
    wait
fi
while IFS='|' read -r name id others what; do
    if [ -n "$NDOCK_TEST_SLICE" ]; then
        skip "$id finds $name: $what" "what a check finds is the same under sanitizers"
    elif [ -e "$tap_dir/$name.status" ]; then
        check "$id finds $name: $what" came_of "$name"
    fi
done <"$tap_dir/rows"

# A hang names the plug-in's function that it is in.
hang_is_named() {
    build hang -DBREAK_NOW=break_unrecorded || return 1
    $kit --replay E.unrecorded_event --timeout 3 "$tap_dir/hang/ndock-sound.so" >"$tap_dir/hang/out"
    cat "$tap_dir/hang/out"
    grep -q "inside the plug-in's stream.sync, for [0-9.]* s" "$tap_dir/hang/out"
}
check "a hang names the plug-in's function" hang_is_named

# Every check of the kit but the figures of P has a row.
missing() {
    $kit --list | sed -n 's/^\([BCEFGH]\.[a-z_]*\): .*/\1/p' | while read -r id; do
        grep -q "|$id|" "$tap_dir/rows" || echo "no broken plug-in is meant for $id"
    done
}
check "every check has a broken plug-in" test -z "$(missing)"
finish
