# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From the preprocessed public headers to a table of every function in C: one wrapper that takes its arguments
# from an array of values, and one row (tests/calls/calls.h). Usage: cc -E -P ndock.h | awk -f prototypes.awk

function trim(s) { gsub(/[ \t]+/, " ", s); sub(/^ /, "", s); sub(/ $/, "", s); return s }

# The declaration without __attribute__((...)), whose parentheses nest.
function without_attributes(s,    at, depth, i, c) {
    while ((at = index(s, "__attribute__")) > 0) {
        depth = 0
        for (i = at + 13; i <= length(s); i++) {
            c = substr(s, i, 1)
            depth += (c == "(") - (c == ")")
            if (c == ")" && depth == 0)
                break
        }
        s = substr(s, 1, at - 1) substr(s, i + 1)
    }
    return trim(s)
}

# Splits a parameter list at the commas that are in no parentheses; returns the count.
function split_parameters(s, out,    n, depth, i, c, word) {
    n = depth = 0
    word = ""
    for (i = 1; i <= length(s); i++) {
        c = substr(s, i, 1)
        depth += (c == "(") - (c == ")")
        if (c == "," && depth == 0) {
            out[++n] = trim(word)
            word = ""
        } else
            word = word c
    }
    out[++n] = trim(word)
    return n == 1 && out[1] == "void" ? 0 : n
}

# Sets type and name of one parameter: "int64_t n", "char out[8]", "void (*release)(void *ctx)".
function split_name(p,    at) {
    if (match(p, /\(\*[a-z_0-9]+\)/)) {
        name = substr(p, RSTART + 2, RLENGTH - 3)
        type = substr(p, 1, RSTART + 1) substr(p, RSTART + RLENGTH - 1)
        return
    }
    dimension = match(p, /\[[^]]*\]$/) ? substr(p, RSTART) : ""
    if (dimension != "")
        p = substr(p, 1, RSTART - 1)
    match(p, /[A-Za-z_0-9]+$/)
    name = substr(p, RSTART)
    type = trim(substr(p, 1, RSTART - 1)) (dimension == "" ? "" : " *")
}

# How a value of the type travels: which member of nd_value holds it.
function member(type) {
    if (type in callbacks || type ~ /\(\*\)/)
        return "f"
    if (type ~ /\*$/)
        return "p"
    if (type == "nd_scalar")
        return "s"
    if (type == "double")
        return "d"
    return "i"
}

function declare(s,    open, head, fn, result, list, n, i, args, rows, call, m) {
    open = index(s, "(")
    head = trim(substr(s, 1, open - 1))
    match(head, /nd_[a-z_0-9]+$/)
    fn = substr(head, RSTART)
    result = trim(substr(head, 1, RSTART - 1))
    n = split_parameters(substr(s, open + 1, length(s) - open - 1), list)
    args = rows = ""
    if (n && list[n] == "...")
        n--
    for (i = 1; i <= n; i++) {
        split_name(list[i])
        m = member(type)
        args = args (i > 1 ? ", " : "") "(" type ")v[" i - 1 "]." m
        if (m == "s" || m == "p")
            args = substr(args, 1, length(args) - length("(" type ")v[" i - 1 "]." m)) "v[" i - 1 "]." m
        rows = rows (i > 1 ? ", " : "") "{\"" type "\", \"" name "\", '" m "'}"
    }
    call = fn "(" args ")"
    if (result == "void")
        call = call ";"
    else if (result ~ /\*$/)
        call = "r->p = (void *)(uintptr_t)" call ";"
    else
        call = "r->i = (int64_t)" call ";"
    print "static void call_" fn "(const nd_value *v, nd_value *r) { (void)v; (void)r; " call " }"
    table[++count] = "    {\"" fn "\", \"" result "\", call_" fn ", " n ", {" (n ? rows : "{0}") "}},"
}

/^#/ { next }
{ text = text " " $0 }
END {
    rest = text
    while (match(rest, /typedef [a-z_0-9 ]+\*?\(\*[a-z_0-9]+\)/)) {
        word = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        match(word, /\(\*[a-z_0-9]+\)$/)
        callbacks[substr(word, RSTART + 2, RLENGTH - 3)] = 1
    }
    print "#pragma GCC diagnostic ignored \"-Wformat-security\"" # nd_custom_error without further arguments
    n = split(text, part, /__attribute__\(\(visibility\("default"\)\)\)/)
    for (i = 2; i <= n; i++) {
        sub(/;.*/, "", part[i])
        declare(without_attributes(part[i]))
    }
    print "static const nd_call nd_calls[] = {"
    for (i = 1; i <= count; i++)
        print table[i]
    print "};"
    print "enum { ND_CALLS = sizeof nd_calls / sizeof nd_calls[0] };"
}
