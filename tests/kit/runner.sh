# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The runner of `ndock conform` on programs that stand in for those of the kit: what they say, crashes, hangs, expect files, reports, certificates.
. "$srcdir/tests/tap.sh"
NDOCK_CONFORM_DIR="$tap_dir/kit one:$tap_dir/kit two" XDG_STATE_HOME=$tap_dir/state
export NDOCK_CONFORM_DIR XDG_STATE_HOME
mkdir -p "$tap_dir/kit one" "$tap_dir/kit two" "$tap_dir/a folder's"
plugin="$tap_dir/a folder's/ndock-sim.so"
cp plugins/sim/.libs/ndock-sim.so "$plugin"

# program NAME: its text from standard input; $group and $args are set there
program() {
    dir=$tap_dir/kit\ one
    [ "$1" = conform-ops ] && dir=$tap_dir/kit\ two
    { printf '#!/bin/sh\nargs="$*"\ncase $args in *--group*) group=${args#*--group } group=${group%%%% *};; esac\n'; cat; } >"$dir/$1"
    chmod +x "$dir/$1"
}
all_pass() {
    program conform-abi <<'EOF'
[ $group = P ] && { echo "ok 1 - P.speed: of it"; echo "# 42 things a second"; echo 1..1; exit; }
echo "TAP version 14"; echo "ok 1 - $group.one: the first"; echo "ok 2 - $group.two: the second"; echo 1..2
EOF
    program conform-ops <<'EOF'
echo "ok 1 - D.add: 3 cases"; echo "ok 2 - D.sort # SKIP by the CPU"; echo "ok 3 - D.tier1: all"; echo 1..3
EOF
}
# conform STATUS OPTION...
conform() {
    want=$1
    shift
    tools/ndock conform "$@" "$plugin" >"$tap_dir/out" 2>"$tap_dir/err"
    got=$?
    cat "$tap_dir/out" "$tap_dir/err"
    [ $got = "$want" ] || { echo "exit status $got, not $want"; return 1; }
}
says() { grep -q -e "$1" "$tap_dir/out" || { echo "nothing says $1"; return 1; }; }

passes() { all_pass && conform 0 && says 'sim conforms, tier 2' && says 'D  operations *2 passed, 1 skipped' && says '42 things'; }
usage() {
    for bad in --tier=3 --group=X --count=0 --seed=x --timeout=0 --replay=Z.x --bad --expect; do
        conform 2 $bad && grep -q Usage "$tap_dir/err" || return
    done
    tools/ndock conform 2>/dev/null
    [ $? = 2 ] && tools/ndock conform --help | grep -q -e --junit
}
chosen() { conform 0 --group B,E && says '^  B' && says '^  E' && ! says '^  D' && says 'as far as was asked'; }
told() { # what programs are asked
    program conform-ops <<'EOF'
echo "ok 1 - D.args: $args"; echo 1..1
EOF
    conform 0 --group D --seed 7 --count 9 --large --filter 'D.a*' --tap &&
        says "group D --seed 7 --count 9 --filter D.a\* --large .*ndock-sim.so" &&
        conform 0 --replay D:add:7:3 --group D && says 'replay D:add:7:3 .*ndock-sim.so'
}
filtered() { # the programs of B and C know no patterns
    all_pass
    conform 0 --filter 'C.*o' --tap && says 'ok 1 - C.two' && ! says 'C.one' && ! says ' B.' && ! says ' D.'
}
fails() {
    all_pass
    program conform-ops <<'EOF'
echo "not ok 1 - D.add: 3 cases"; echo "# 1 + 1 is 3"; echo "# replay: D:add:1:2"; echo "ok 2 - D.tier1: all"; echo 1..2; exit 1
EOF
    conform 1 && says 'does not conform: 1 check failed' && says 'FAILED D.add' && says '1 + 1 is 3' &&
        says "ndock conform --replay D:add:1:2 '.*/a folder'\\\\''s/ndock-sim.so'"
}
crashes() { # with a last word; the checks after it still run, and those before do not run twice
    program conform-ops <<'EOF'
case $args in *--except*D.bad*) echo "ok 1 - D.tier1: all"; echo 1..1; exit;; esac
echo "ok 1 - D.add: 3 cases"; echo "# in D.bad"; echo "# replay: D:bad:1:17"; echo "broken drive" >&2; kill -SEGV $$
EOF
    conform 1 && says 'D  operations *2 passed, 1 failed' && says 'FAILED D.bad: crashed: signal 11' && says D:bad:1:17 &&
        says 'broken drive' && says '^  E .*2 passed'
}
dies_quietly() { # without one: the next in its list is named
    program conform-abi <<'EOF'
case $args in *--list*) echo "$group.one: x"; echo "$group.two: y"; exit;; esac
echo "ok 1 - $group.one: the first"; [ $group = C ] && exit 3; echo "ok 2 - $group.two: the second"; echo 1..2
EOF
    conform 1 --group B,C,E && says 'FAILED C.two: ended early with status 3' && says '^  E .*2 passed'
}
hangs() {
    program conform-abi <<'EOF'
echo "ok 1 - $group.one: the first"
[ $group = E ] && { trap 'echo "# in E.two"; exit 9' TERM; sleep 60 & wait; }
echo 1..1
EOF
    conform 1 --group B,E,F --timeout 5 && says 'FAILED E.two: silent for 5 seconds' && says '^  F .*1 passed'
}
deaf() { # to the first signal, with a child that keeps the pipe
    program conform-abi <<'EOF'
trap '' TERM; sleep 60 & sleep 61
EOF
    conform 1 --group B --timeout 0.5 && says 'silent for'
}
at_once() { # before it looks at what to leave out: no endless repetition
    program conform-ops <<'EOF'
echo "# in D.load"; kill -ABRT $$
EOF
    conform 1 --group D && says 'FAILED D.load: crashed: signal 6' && says '1 failed '
}
dishonest() { # a status or a plan that does not fit the lines
    program conform-ops <<'EOF'
echo "ok 1 - D.add: x"; echo 1..1; exit 1
EOF
    conform 1 --group D || return
    program conform-ops <<'EOF'
echo "ok 1 - D.add: x"; echo 1..5
EOF
    conform 1 --group D && says 'ended early'
}
not_there() {
    all_pass
    rm "$tap_dir/kit two/conform-ops"
    conform 2 && says 'D .*did not run: conform-ops is not in' && says 'is not judged'
}
no_device() {
    all_pass
    program conform-ops <<'EOF'
echo "1..0 # SKIP NO_DEVICE: no driver"
EOF
    conform 2 && says 'did not run: NO_DEVICE: no driver' && says 'not judged: 1 group'
}
tiers() {
    all_pass
    program conform-ops <<'EOF'
echo "ok 1 - D.add: x"; echo "ok 2 - D.tier1 # SKIP for tier 1, f32 lacks pow"; echo 1..2
EOF
    conform 0 --tier 0 && says 'conforms, tier 0' && conform 0 && says 'f32 lacks pow' &&
        conform 1 --tier 1 && says 'tier 1 was asked for, tier 0 is reached' && conform 2 --tier 1 --group B
}

mixed() { # D.good passes, D.bad and D.worse fail
    all_pass
    program conform-ops <<'EOF'
echo "ok 1 - D.good: x"; echo "not ok 2 - D.bad: y"; echo "not ok 3 - D.worse: <&>"; echo "# a < b"; echo "ok 4 - D.tier1: all"; echo 1..4; exit 1
EOF
}
expect() { cat >"$tap_dir/expect"; }
expected() {
    mixed
    expect <<'EOF'
# known
xfail D.bad waits for issue 7
unsupported D.w*   the chip has none
EOF
    conform 0 --strict --expect "$tap_dir/expect" && says 'conforms, tier 2, with 1 expected failure' &&
        says '1 skipped, 1 failed as expected' && says 'expected failure D.bad: waits for issue 7'
}
xpass() {
    expect <<'EOF'
xfail D.[bgw]* all of them
EOF
    conform 0 --expect "$tap_dir/expect" && says 'XPASS D.good' && conform 1 --strict --expect "$tap_dir/expect" &&
        says 'does not conform: 1 check failed'
}
unused() {
    expect <<'EOF'
unsupported D.bad     here
unsupported D.worse   here
xfail       D.nothing there
EOF
    conform 0 --expect "$tap_dir/expect" && says 'expect:3: "D.nothing" met nothing' && conform 1 --strict --expect "$tap_dir/expect"
}
bad_expect() {
    for line in 'xfail D.bad' 'maybe D.bad why' 'xfail' 'unsupported D.bad   # why'; do
        echo "$line" | expect
        conform 2 --expect "$tap_dir/expect" && grep -q 'expect:1: ' "$tap_dir/err" || return
    done
    conform 2 --expect "$tap_dir/no such file"
}

tap_output() {
    mixed
    conform 1 --tap && says '^TAP version 14$' && says '^1\.\.[0-9]*$' && says '^not ok .* - D.bad: y' && says '^  \.\.\.$' &&
        [ "$(grep -c '^\(not \)\?ok ' "$tap_dir/out")" = "$(sed -n 's/^1\.\.//p' "$tap_dir/out")" ]
}
to_pipe() {
    mkfifo "$tap_dir/pipe"
    cat "$tap_dir/pipe" >"$tap_dir/piped" & reader=$!
    conform 1 --json "$tap_dir/pipe" || return
    wait $reader && [ -p "$tap_dir/pipe" ] && grep -q '"groups"' "$tap_dir/piped"
}
files() {
    : >"$tap_dir/none"
    conform 1 --junit "$tap_dir/j.xml" --json "$tap_dir/j.json" --html "$tap_dir/h.html" --expect "$tap_dir/none" || return
    grep -q 'errors="0" skipped="0"' "$tap_dir/j.xml" && grep -q 'a &lt; b' "$tap_dir/j.xml" && grep -q '&lt;&amp;&gt;' "$tap_dir/h.html" &&
        ! grep -q '<script\|http' "$tap_dir/h.html" && grep -q 'prefers-color-scheme' "$tap_dir/h.html" &&
        [ "$(grep -n 'D.worse' "$tap_dir/h.html" | head -1 | cut -d: -f1)" -lt "$(grep -n 'D.good' "$tap_dir/h.html" | head -1 | cut -d: -f1)" ]
}
xml_of_python() { "$PYTHON" -c 'import sys, xml.etree.ElementTree as e; assert e.parse(sys.argv[1]).getroot().tag == "testsuites"' "$tap_dir/j.xml"; }
xml() { xmllint --noout "$tap_dir/j.xml" && xmllint --html --noout "$tap_dir/h.html" 2>"$tap_dir/err"; ! grep 'error' "$tap_dir/err" | grep -v 'Tag details\|Tag summary'; }
json() { "$PYTHON" -c 'import json,sys; d=json.load(open(sys.argv[1])); assert d["conforms"] is False and len([c for c in d["cases"] if c["outcome"]=="failed"])==2, d' "$tap_dir/j.json"; }
on_stdout() { conform 1 --json - && [ "$(head -c 1 "$tap_dir/out")" = '{' ] && ! says 'does not conform:.*failed$'; }
not_writable() { conform 2 --junit "$tap_dir/none/x.xml" && grep 'none/x.xml' "$tap_dir/err"; }

certified() {
    all_pass
    conform 0 && file=$(sed -n 's/^  certificate: //p' "$tap_dir/out") && [ -f "$file" ] &&
        case $file in "$XDG_STATE_HOME"/ndock/conform/*.json) ;; *) false ;; esac && grep -q '"tier": 2' "$file" && ! ls "$XDG_STATE_HOME"/ndock/conform | grep tmp
}
shown() { tools/ndock info >"$tap_dir/info"; cat "$tap_dir/info"; grep -q "conforms, tier 2, ndock [0-9.]*, $(date -u +%Y)-" "$tap_dir/info"; }
elsewhere() { conform 0 -o "$tap_dir/cert.json" && grep -q '"plugin": "sim"' "$tap_dir/cert.json"; }
helpers() { # files in the folder beside the plug-in are certified too, and told of when they change
    mkdir -p "${plugin%.so}.d" && echo one >"${plugin%.so}.d/compiler" && all_pass && conform 0 || return
    grep '"compiler"' "$(sed -n 's/^  certificate: //p' "$tap_dir/out")" || return
    info() { NDOCK_PLUGIN_PATH="$plugin:$PWD/backends/cpu/.libs" tools/ndock info | tee "$tap_dir/info"; }
    info && grep -q 'conforms, tier 2' "$tap_dir/info" || return
    echo two >"${plugin%.so}.d/compiler"
    info && grep -q 'conformed on .*, but its file compiler has changed since' "$tap_dir/info"
    status=$?
    rm -r "${plugin%.so}.d"
    return $status
}
none() { # for a part, a short run, or a failure
    rm -rf "$XDG_STATE_HOME" "$tap_dir/cert.json"
    conform 0 --group B -o "$tap_dir/cert.json" && says 'no certificate' && conform 0 --count 5 && conform 0 --filter '[A-Z]*' && mixed &&
        conform 1 -o "$tap_dir/cert.json" && says 'no certificate' && ! [ -e "$tap_dir/cert.json" ] && ! [ -e "$XDG_STATE_HOME" ]
}
no_home() { all_pass && HOME=/proc/none XDG_STATE_HOME= conform 0 && says 'no certificate is kept: /proc/none'; }
interrupted() { # our end takes the program with it
    program conform-abi <<'EOF'
echo $$ >"$PIDFILE"; sleep 60
EOF
    PIDFILE=$tap_dir/pid tools/ndock conform --group B "$plugin" >/dev/null & us=$!
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -s "$tap_dir/pid" ] && break; sleep 0.2; done
    # the tool itself, not libtool's wrapper around it, which has become it by exec
    kill -TERM $us; wait $us
    [ $? -gt 128 ] || return
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do kill -0 "$(cat "$tap_dir/pid")" 2>/dev/null || return 0; sleep 0.2; done
    return 1
}

check 'a whole run that passes' passes
check 'wrong options: status 2 and the usage' usage
check 'groups by letter' chosen
check 'what the programs are told' told
check 'checks by a pattern' filtered
check 'a failure, with a command that repeats it, for a shell' fails
check 'a crash is a failed case; the rest still run' crashes
check 'an early end without a last word' dies_quietly
check 'a hang is a failed case; the other groups still run' hangs
check 'a hang that ignores the first signal' deaf
check 'a crash at once, again and again' at_once
check 'lines, plan and status must fit' dishonest
check 'a program that is not installed: status 2' not_there
check 'no device here: status 2' no_device
check 'tiers asked for and reached' tiers
check 'expected failures and what is not judged' expected
check 'an unexpected pass is shown, and a failure under --strict' xpass
check 'an unused line is shown, and a failure under --strict' unused
check 'a malformed expect file: status 2, with the line' bad_expect
check 'TAP 14' tap_output
check 'JUnit, JSON and HTML' files
check 'a report goes into a pipe, which stays one' to_pipe
if command -v xmllint >/dev/null; then check 'XML and HTML are well formed' xml
elif "$PYTHON" -c pass 2>/dev/null; then check 'XML is well formed' xml_of_python
else skip 'XML is well formed' 'neither xmllint nor Python'; fi
if "$PYTHON" -c pass 2>/dev/null; then check 'JSON is well formed' json; else skip 'JSON is well formed' 'no Python'; fi
check 'a report on standard output is alone there' on_stdout
check 'a report that cannot be written: status 2' not_writable
check 'a certificate' certified
check 'ndock info shows it' shown
check 'a certificate elsewhere' elsewhere
check 'a certificate of helper files' helpers
check 'no certificate of less' none
check 'a home that cannot be written' no_home
check 'an interrupt ends the program of the group too' interrupted
finish
