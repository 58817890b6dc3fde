# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The first real job: the same bits twice and with any number of threads, and the loss of its NumPy twin.
. "$srcdir/tests/tap.sh"
data=${NDOCK_FASHION_DATA:-/usr/share/datasets/fashion-mnist}
NDOCK_PLUGIN_PATH=$PWD/backends/cpu/.libs
export NDOCK_PLUGIN_PATH

# train NAME THREADS
train() {
    OPENBLAS_NUM_THREADS=$2 NDOCK_NUM_THREADS=$2 examples/fashion --data "$data" --epochs 1 --save "$tap_dir/$1" >"$tap_dir/$1.log"
}
same_bits() { cmp "$tap_dir/first" "$tap_dir/$1"; }
least=80 most=0.6
learnt() { awk -v least=$least -v most=$most '/^ +1  / { print; exit !($3 > least && $2 < most) }' "$tap_dir/first.log"; }
# f32 sums in another order: over an epoch the difference grows to about 1e-4.
agrees() {
    "$PYTHON" "$srcdir/examples/fashion_numpy.py" --data "$data" --epochs 1 >"$tap_dir/twin.log" || return
    awk '/^ +1  / { print; loss[n++] = $2 } END { d = loss[0] - loss[1]; exit !(n == 2 && d < 1e-3 && d > -1e-3) }' \
        "$tap_dir/first.log" "$tap_dir/twin.log"
}
# Uploads and steps on four streams of a device that runs them in any order.
on_streams() {
    NDOCK_SIM_LATENCY_US=50 NDOCK_SIM_SEED=$1 NDOCK_FALLBACK=error NDOCK_PLUGIN_PATH=$NDOCK_PLUGIN_PATH:$PWD/plugins/sim/.libs \
        examples/fashion --device sim:0 --streams 4 --data "$data" --epochs 1 --save "$tap_dir/streams" >"$tap_dir/streams.log" &&
        same_bits streams
}
# The step as a graph, captured by the device or recorded by the core.
as_graph() {
    NDOCK_PLUGIN_PATH=$NDOCK_PLUGIN_PATH:$PWD/plugins/sim/.libs \
        examples/fashion --device "$1" --graph --data "$data" --epochs 1 --save "$tap_dir/graph" >"$tap_dir/graph.log" &&
        grep 'us as a graph' "$tap_dir/graph.log" && same_bits graph
}
refuses() { examples/fashion "$@" >"$tap_dir/out" 2>&1; [ $? = 2 ]; }
explains_missing_data() {
    examples/fashion --data "$tap_dir/none" 2>"$tap_dir/err"
    [ $? = 1 ] && grep "$tap_dir/none" "$tap_dir/err"
}

check 'an unknown option ends with status 2' refuses --bad
check 'a malformed number ends with status 2' refuses --epochs ten
check '--help' examples/fashion --help
check 'missing data: status 1 and the path' explains_missing_data
if [ ! -e "$data/train-images-idx3-ubyte.gz" ] && [ ! -e "$data/train-images-idx3-ubyte" ]; then
    skip 'training' "no $data (Debian: dataset-fashion-mnist)"
    finish
fi
# A slice trains on a tenth of the images.
if [ -n "$NDOCK_TEST_SLICE" ]; then
    check 'the first images' sh "$srcdir/tests/fashion_cut.sh" "$data" "$tap_dir/cut"
    data=$tap_dir/cut least=70 most=1.1
fi
check 'an epoch of training' train first 2
check 'it has learnt' learnt
if [ -z "$NDOCK_TEST_SLICE" ]; then
    check 'again' train again 2
    check 'the same bits again' same_bits again
    for n in 1 3; do
        check "$n threads" train "t$n" "$n"
        check "the same bits with $n threads" same_bits "t$n"
    done
fi
check 'too many streams: status 2' refuses --streams 9
check 'the same bits on sim:0 with four streams' on_streams 1
check 'the same bits with the step as a graph' as_graph cpu
check 'the same bits on sim:0 with the step as a graph' as_graph sim:0
check 'a graph of several streams: status 2' refuses --graph --streams 2
if [ -n "$PYTHON" ] && "$PYTHON" -c 'import numpy' 2>/dev/null; then
    check 'the loss of the NumPy twin' agrees
else
    skip 'the loss of the NumPy twin' 'no Python with NumPy'
fi
finish
