# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The convolutional network: it learns, with the same bits for every number of threads and on a simulated device.
. "$srcdir/tests/tap.sh"
data=${NDOCK_FASHION_DATA:-/usr/share/datasets/fashion-mnist}
NDOCK_PLUGIN_PATH=$PWD/backends/cpu/.libs
export NDOCK_PLUGIN_PATH

# train NAME [OPTION...]
train() {
    name=$1
    shift
    examples/convnet --data "$tap_dir/cut" --device cpu --epochs 1 --batch 16 --save "$tap_dir/$name" "$@" >"$tap_dir/$name.log"
}
images=3000 least=60 most=1.3
learnt() { awk -v least=$least -v most=$most '/^ +1  / { print; exit !($3 > least && $2 < most) }' "$tap_dir/first.log"; }
same_bits() { cmp "$tap_dir/one" "$tap_dir/$1"; }
on_threads() { NDOCK_NUM_THREADS=$1 train "t$1" --limit 40 && same_bits "t$1"; }
# Nothing is staged, whatever order the streams of the device run in.
on_sim() {
    NDOCK_FALLBACK=error NDOCK_PLUGIN_PATH=$NDOCK_PLUGIN_PATH:$PWD/plugins/sim/.libs train sim --limit 40 --device sim:0 && same_bits sim
}
refuses() { examples/convnet "$@" >"$tap_dir/out" 2>&1; [ $? = 2 ]; }
explains_missing_data() {
    examples/convnet --data "$tap_dir/none" 2>"$tap_dir/err"
    [ $? = 1 ] && grep "$tap_dir/none" "$tap_dir/err"
}

check 'an unknown option ends with status 2' refuses --bad
check 'a malformed number ends with status 2' refuses --limit ten
check 'a batch of one image: status 2' refuses --batch 1
check '--help' examples/convnet --help
check 'missing data: status 1 and the path' explains_missing_data
if [ ! -e "$data/train-images-idx3-ubyte.gz" ] && [ ! -e "$data/train-images-idx3-ubyte" ]; then
    skip 'training' "no $data (Debian: dataset-fashion-mnist)"
    finish
fi
check 'the first images' sh "$srcdir/tests/fashion_cut.sh" "$data" "$tap_dir/cut"
# Kernels of a slice may be those of sanitizers, ten times slower.
[ -z "$NDOCK_TEST_SLICE" ] || images=300 least=25 most=2.2
check "an epoch of $images images" train first --limit $images --batch 25
check 'it has learnt' learnt
check 'an epoch of 40 images' train one --limit 40
for n in 1 3; do
    check "the same bits with $n threads" on_threads "$n"
done
check 'the same bits on sim:0, nothing staged' on_sim
finish
