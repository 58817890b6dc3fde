# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every public header (templates of formulas and op_expand.h are text for includers) compiles alone, as C11 and C++17, without a warning; the one of plug-ins as C99 too.
. "$srcdir/tests/tap.sh"
if [ "$ND_INSTALLED" = yes ]; then
    flags=-I$includedir headers=$includedir/ndock
else
    flags="-I$srcdir/include -Iinclude" headers="$srcdir/include/ndock include/ndock"
fi
strict='-fsyntax-only -pedantic -Wall -Wextra -Werror'

# compile_alone COMPILER STANDARD LANGUAGE HEADER
compile_alone() {
    echo "#include <ndock/$4>" | $1 -std="$2" -x "$3" $strict $flags -
}

for header in $(find $headers -name '*.h' ! -name '*_tmpl.h' ! -name op_expand.h -exec basename {} \; | sort -u); do
    check "$header as C11" compile_alone "$CC" c11 c "$header"
    if [ -n "$CXX" ] && echo 'int main() {}' | $CXX -x c++ -fsyntax-only - 2>/dev/null; then
        check "$header as C++17" compile_alone "$CXX" c++17 c++ "$header"
    else
        skip "$header as C++17" 'no C++ compiler'
    fi
done
check 'plugin.h as C99' compile_alone "$CC" c99 c plugin.h
check 'ndock.h as C99' compile_alone "$CC" c99 c ndock.h
finish
