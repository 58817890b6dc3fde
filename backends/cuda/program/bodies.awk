# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From bodies.ptx, which nvcc makes of bodies.cu, to the texts that ptx.c puts into kernels: of each
# function its body, in which #0 is the first operand, #r the result
# and #u a number that no other body of the kernel has. Functions that need memory of their own, or
# others, are left out: kernels with these are compiled. Into
# the file that INDEX names: where each text begins and how long it is. The first entry is nobody's, so that the table is
# never empty: a compiler that is told not to optimise may leave no function that can be used.
BEGIN {
    at = texts = 0
    print "{\"\", 0, 0}," > INDEX
}
function say(text) {
    print text
    at += length(text) + 1
}
function begin(name) {
    first = at
    entry = name
}
function end() {
    printf "{\"%s\", %d, %d},\n", entry, first, at - first > INDEX
    texts++
}
function finish(   i, last) {
    if (wanted && n < 400) {
        begin(name)
        for (i = 0; i < n; i++) {
            if (line[i] != "ret;")
                say(line[i])
            else if (i + 1 < n) {
                say("bra.uni $E#u;")
                last = 1
            }
        }
        if (last)
            say("$E#u:")
        end()
    }
    inside = wanted = n = 0
}
{ sub(/^[ \t]+/, ""); sub(/[ \t]*\/\/.*/, ""); gsub(/[ \t]+/, " ") }
/^$/ { next }
/^(\.visible )?\.func / {
    name = $0
    sub(/\($/, "", name)
    sub(/.* /, "", name)
    wanted = $1 == ".visible"
    inside = n = 0
    next
}
$0 == "{" && !inside { inside = depth = 1; next }
!inside { next }
$0 ~ /^\{/ && $0 !~ /\}/ { depth++ }
$0 == "}" { if (--depth == 0) { finish(); next } }
/\.local|\.const|__local_depot/ || /^mov\.u64 %rd[0-9]+, [A-Za-z_]/ || /^brx/ { wanted = 0 }
/^call/ { wanted = 0 }
/^ld\.param\..*_param_[0-9]+\];$/ {
    type = $1
    sub(/^ld\.param\./, "", type)
    which = $0
    sub(/.*_param_/, "", which)
    sub(/\];/, "", which)
    bits = substr(type, 2)
    if (bits == 8)
        $0 = "cvt.u16.u8 " $2 " #" which ";"
    else if (bits == 16)
        $0 = "cvt.u16.u32 " $2 " #" which ";"
    else
        $0 = "mov.b" bits " " $2 " #" which ";"
}
/^st\.param\.[a-z]+[0-9]+ \[func_retval0/ {
    type = $1
    sub(/^st\.param\../, "", type)
    value = $0
    sub(/.*\], */, "", value)
    $0 = "mov.b" type " #r, " value
}
/_param_[0-9]|func_retval/ { wanted = 0 }
{ gsub(/\$L__BB[0-9]+_/, "$L#u_"); line[n++] = $0 }
END {
    if (!texts)
        print "bodies.awk: nvcc made no formula that can be used; kernels of expressions will all be compiled by NVRTC" > "/dev/stderr"
}
