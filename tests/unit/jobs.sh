# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Three jobs of scientists, examples/heat, denoise and pca, by facts that no part of ndock knows: the error of finite differences falls with
# the square of the cells' width, the noise that was added is found and taken out, and by Eckart and Young's theorem what singular
# values say is lost is what the images themselves lack.
. "$srcdir/tests/tap.sh"
NDOCK_PLUGIN_PATH=$PWD/backends/cpu/.libs:$PWD/plugins/sim/.libs
export NDOCK_PLUGIN_PATH

refuses() { examples/"$@" >"$tap_dir/out" 2>&1; [ $? = 2 ]; }
fails() { examples/"$@" >"$tap_dir/out" 2>&1; [ $? = 1 ]; }

# The ratios of errors at 64 to 32 and 128 to 64 cells come near 4.
second_order() {
    examples/heat --cells 128 --device "$1" >"$tap_dir/heat-$1" || return
    awk '{ print } $1 == 64 { early = $6 } $1 == 128 { late = $6 } END { exit !(early > 3 && early < 4.5 && late > 3.8 && late < 4.2) }' "$tap_dir/heat-$1"
}
differences() { awk '$1 ~ /^[0-9]+$/ { print $1, $2, $5 }' "$1"; }
same_errors() { differences "$tap_dir/heat-cpu" >"$tap_dir/a"; differences "$tap_dir/heat-sim:0" >"$tap_dir/b"; cmp "$tap_dir/a" "$tap_dir/b"; }

# quiet DEVICE SIDE NOISE: the deviation is found within 4 %, and at least 8 dB are won.
quiet() {
    examples/denoise --device "$1" --side "$2" --noise "$3" >"$tap_dir/denoise" || return
    sed -n 's/.*deviation \([0-9.]*\), found \([0-9.]*\): \([0-9.]*\) dB before, \([0-9.]*\) dB after.*/\1 \2 \3 \4/p' "$tap_dir/denoise" |
        awk '{ print; found = $2/$1; won = $4 - $3 } END { exit !(NR == 1 && found > 0.96 && found < 1.04 && won > 8) }'
}

# 800 images of numbers as text, in the IDX format: 00 00 08 03, then the extents, big-endian.
make_images() {
    { printf '\000\000\010\003\000\000\003\040\000\000\000\034\000\000\000\034'; seq 1 200000 | head -c 627200; } >"$tap_dir/train-images-idx3-ubyte"
}
# Both columns agree, grow, and end near 100 %.
as_the_images() {
    examples/pca --device "$1" --data "$tap_dir" --images 800 >"$tap_dir/pca" || return
    awk '{ print } $1 ~ /^[0-9]+$/ && $3 == "%" { if ($2 - $4 > 0.015 || $4 - $2 > 0.015 || $2 < last) exit bad = 1; last = $2; n++ } END { exit !(n == 5 && last > 90 && !bad) }' "$tap_dir/pca"
}

# width HEIGHT CHANNELS: what the header of a PNG says, and that all its pixels can be read.
is_png() {
    [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ] || return
    # shellcheck disable=SC2046 # numbers
    set -- "$1" "$2 $3 $4" $(tail -c +17 "$1" | head -c 10 | od -An -tu1)
    [ $(($5 * 256 + $6))" "$(($9 * 256 + ${10}))" "${12} = "$2" ]
}
# Colour type 0 is grey, 2 is red, green and blue. Without the library the message says what to install, and nothing is written.
pictured() {
    file=$tap_dir/$1.png size=$2
    shift 2
    if examples/"$@" --picture "$file" >"$tap_dir/out" 2>&1; then
        # shellcheck disable=SC2086 # three words
        is_png "$file" $size && grep "$file: " "$tap_dir/out"
    else
        cat "$tap_dir/out"
        grep 'install libpng16-16' "$tap_dir/out" && [ ! -e "$file" ]
    fi
}
no_place() { fails heat --cells 32 --picture "$tap_dir/none/heat.png" && grep -E "$tap_dir/none/heat.png|libpng16-16" "$tap_dir/out"; }

for job in heat denoise pca; do
    check "$job --help" "examples/$job" --help
    check "$job: an unknown option ends with status 2" refuses $job --bad
    check "$job: a word too many" refuses $job word
    check "$job: an unknown device ends with status 1" fails $job --device nothing:0
done
check 'heat: too few cells' refuses heat --cells 8
check 'heat: no number' refuses heat --time soon
check 'heat: differences are of second order' second_order cpu
check 'heat: the same on sim:0' second_order sim:0
check 'heat: with the same errors' same_errors
check 'denoise: noise found and taken out' quiet cpu 256 0.3
check 'denoise: much noise, an odd side' quiet cpu 333 0.5
check 'denoise: on sim:0' quiet sim:0 128 1
check 'denoise: a file that is not there' fails denoise --image "$tap_dir/none.npy"
check 'pca: images' make_images
check 'pca: as good as the singular values say' as_the_images cpu
check 'pca: on sim:0' as_the_images sim:0
check 'pca: no images' fails pca --data "$tap_dir/none"
check 'heat: a picture' pictured heat '96 32 2' heat --cells 32
check 'denoise: a picture' pictured denoise '192 64 0' denoise --side 64
check 'pca: a picture' pictured pca '672 336 0' pca --data "$tap_dir" --images 800
check 'a picture that cannot be written' no_place
finish
