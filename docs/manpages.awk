# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A man page for every public function, from the text of the headers: the comment above a declaration is its
# description, the comment at the top of the header its notes. Functions that share a comment share a page.
# Usage: awk -v out=FOLDER -v version=V -f manpages.awk op.def array.h op.h ...

function trim(s) { gsub(/[ \t]+/, " ", s); sub(/^ /, "", s); sub(/ $/, "", s); return s }
function roff(s) { gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s); return s ~ /^[.']/ ? "\\\\&" s : s }

# The words of a comment, without its marks. Paragraphs and indented lines keep their breaks.
function plain(comment,    n, line, i, s, text, kept) {
    sub(/^[ \t]*\/\*[ ]?/, "", comment)
    sub(/[ ]*\*\/[ \t]*$/, "", comment)
    n = split(comment, line, "\n")
    text = ""
    for (i = 1; i <= n; i++) {
        s = line[i]
        sub(/^[ \t]*\*?/, "", s)
        kept = s ~ /^    /
        sub(/^ /, "", s)
        if (s ~ /^SPDX-/)
            continue
        if (s ~ /^[ \t]*$/)
            text = text ".PP\n"
        else
            text = text (kept ? ".br\n" : "") roff(trim(s)) "\n"
    }
    return text
}

function summary(text,    s) {
    s = text
    gsub(/\.(PP|br)\n/, "", s)
    gsub(/\n/, " ", s)
    s = trim(s)
    if (match(s, /[.;:] /))
        s = substr(s, 1, RSTART - 1)
    sub(/[.;:]$/, "", s)
    return s == "" ? "a function of ndock" : s
}

function name_of(prototype) {
    return match(prototype, /nd_[a-z0-9_]+\(/) ? substr(prototype, RSTART, RLENGTH - 1) : ""
}

function begin_group(text) { finish_group(); description = text; members = 0 }

function add_member(prototype, remark) {
    gsub(/ND_API |ND_MUST_USE |ND_PRINTF\([0-9, ]*\)/, "", prototype)
    member[++members] = trim(prototype)
    if (remark != "")
        description = description ".PP\n" name_of(prototype) ": " plain(remark)
}

# Structs that the prototypes speak of, as the header has them.
function put_structs(file,    s, k, said) {
    said = 0
    for (s in struct) {
        for (k = 1; k <= members; k++)
            if (index(member[k], s " ") || index(member[k], s "\n"))
                break
        if (k > members)
            continue
        if (!said++)
            print ".SH STRUCTS\n.nf" > file
        print roff(struct[s]) > file
    }
    if (said)
        print ".fi" > file
}

function finish_group(    k, name, first, file, names) {
    if (!members)
        return
    first = name_of(member[1])
    for (k = 1; k <= members; k++)
        names = names (k > 1 ? ", " : "") name_of(member[k])
    file = out "/" first ".3"
    printf ".\\\" made from include/ndock/%s by docs/manpages.awk\n", header > file
    printf ".TH %s 3 \"\" \"ndock %s\" \"ndock\"\n.SH NAME\n%s \\- %s\n", first, version, names, \
        summary(description != "" ? description : notes) > file
    printf ".SH SYNOPSIS\n.nf\n.B #include <ndock/%s>\n.PP\n", header > file
    for (k = 1; k <= members; k++)
        print roff(member[k]) > file
    printf ".fi\n.SH DESCRIPTION\n%s", description != "" ? description : notes > file
    put_structs(file)
    printf ".SH NOTES\n%s", notes > file
    print ".PP\nA function that returns an nd_status returns ND_OK, or an error that" > file
    print ".BR nd_last_error (3)\ndescribes. NULL is refused where it has no meaning." > file
    print ".SH SEE ALSO\n.BR ndock (3),\n.BR ndock (7),\n.BR ndock\\-debugging (7)" > file
    close(file)
    for (k = 2; k <= members; k++) {
        name = name_of(member[k])
        if (name == first)
            continue
        printf ".so man3/%s.3\n", first > (out "/" name ".3")
        close(out "/" name ".3")
    }
    members = 0
}

function operation(name, class, text,    a) {
    begin_group(roff(text) ".\n.PP\nAn elementwise operation.\n")
    a = class == "UNARY" ? "const nd_array *a" : class == "BINARY" ? "const nd_array *a, const nd_array *b" : \
        "const nd_array *a, const nd_array *b, const nd_array *c"
    add_member("nd_status nd_" name "(" a ", nd_array **out);", "")
    add_member("nd_status nd_" name "_into(" a ", const nd_array *dst);", "")
    if (class == "BINARY") {
        add_member("nd_status nd_" name "_scalar(const nd_array *a, nd_scalar b, nd_array **out);", "")
        add_member("nd_status nd_" name "_scalar_into(const nd_array *a, nd_scalar b, const nd_array *dst);", "")
    }
    finish_group()
}

function reduction(name, text) {
    begin_group(roff(text) ".\n.PP\nA reduction.\n")
    add_member("nd_status nd_" name "(const nd_array *a, const nd_reduce_opts *opts, nd_array **out);", "")
    add_member("nd_status nd_" name "_into(const nd_array *a, const nd_reduce_opts *opts, const nd_array *dst);", "")
    finish_group()
}

function finish_header(    i) {
    finish_group()
    for (i = 1; i <= operations; i++)
        if (op_class[i] ~ /REDUCE$/ && header == "reduce.h")
            reduction(op_name[i], op_text[i])
        else if (op_class[i] !~ /REDUCE$/ && header == "op.h")
            operation(op_name[i], op_class[i], op_text[i])
}

FNR == 1 {
    if (header != "")
        finish_header()
    n = split(FILENAME, path, "/")
    header = path[n]
    state = notes = comment = declaration = structure = ""
    members = 0
    delete struct
}

header ~ /\.def$/ {
    if (match($0, /^ND_OP\([a-z0-9_]+/)) {
        name = substr($0, 7, RLENGTH - 6)
        rest = $0
        sub(/^[^,]*,[ ]*/, "", rest)
        class = rest
        sub(/,.*/, "", class)
        text = $0
        sub(/^.*\), "/, "", text)
        sub(/"\)[ ]*$/, "", text)
        op_doc[name] = text
        if (class ~ /^(UNARY|BINARY|TERNARY|REDUCE|ARGREDUCE)$/) {
            op_name[++operations] = name
            op_class[operations] = class
            op_text[operations] = text
        }
    }
    next
}

# A comment of its own line or lines.
state == "" && /^\/\*/ { state = "comment"; comment = "" }
state == "comment" {
    comment = comment (comment == "" ? "" : "\n") $0
    if ($0 ~ /\*\//) {
        state = ""
        text = plain(comment)
        if (notes == "")
            notes = text
        else if (comment !~ /^\/\* ----/)
            begin_group(text)
        else
            begin_group("")
    }
    next
}
state == "" && /^typedef struct( [a-z_]+)? \{$/ { state = "struct"; structure = "" }
state == "struct" {
    structure = structure (structure == "" ? "" : "\n") $0
    if ($0 ~ /^}/) {
        state = ""
        name = $0
        gsub(/[};]|\/\*.*/, "", name)
        struct[trim(name)] = structure
    }
    next
}
state == "" && (/^ND_API / || /^static inline nd_status nd_/) && !/\\$/ { state = "declaration"; declaration = "" }
state == "declaration" {
    declaration = declaration (declaration == "" ? "" : "\n") $0
    if ($0 ~ /;/ || $0 ~ /^\{/) {
        state = ""
        remark = ""
        if (match(declaration, /\/\*.*$/)) {
            remark = substr(declaration, RSTART)
            declaration = substr(declaration, 1, RSTART - 1)
            if (remark !~ /\*\//)
                state = "remark"
        }
        sub(/\n\{$/, ";", declaration)
        gsub(/\n/, " ", declaration)
        if (state == "")
            add_member(declaration, remark)
    }
    next
}
state == "remark" {
    remark = remark "\n" $0
    if ($0 ~ /\*\//) {
        state = ""
        add_member(declaration, remark)
    }
    next
}
END { finish_header() }
