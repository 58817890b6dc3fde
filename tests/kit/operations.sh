# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Group D of `ndock conform`: it passes sim and cpu, and each defect of a plug-in's kernels fails the check that is meant for it.
. "$srcdir/tests/tap.sh"
NDOCK_CONFORM_DIR=$PWD/tests/conform:$PWD/tests/abi XDG_STATE_HOME=$tap_dir/state
export NDOCK_CONFORM_DIR XDG_STATE_HOME
count=${NDOCK_CONFORM_COUNT:-5}
plugin=tests/kit/.libs/ndock-opdefect.so

groups=A,B,C,D,E,F,G
# What the other groups do to processes is no work for sanitizers, and tests/conform goes through the cases of D.
[ -n "$NDOCK_TEST_SLICE" ] && groups=A,D,E count=2

conforms() { # FILE TIER
    tools/ndock conform --count "$count" --group $groups --tier "$2" "$1" >"$tap_dir/out"
    status=$?
    cat "$tap_dir/out"
    [ $status = 0 ] && grep -q "conforms as far as was asked, tier $2" "$tap_dir/out"
}
# defect KIND CHECK WORDS [OPTION...]: that check fails, with these words, and its replay fails too
defect() {
    kind=$1 id=$2 words=$3
    shift 3
    NDOCK_OPDEFECT_KIND=$kind tools/ndock conform --group D --tap --filter "$id" "$@" $plugin >"$tap_dir/out"
    status=$?
    cat "$tap_dir/out"
    [ $status = 1 ] && grep -q "^not ok [0-9]* - $id: " "$tap_dir/out" && grep -q -e "$words" "$tap_dir/out" || return
    replay=$(sed -n 's/^  replay: "\(.*\)"$/\1/p' "$tap_dir/out" | head -1)
    echo "replay $replay"
    NDOCK_OPDEFECT_KIND=$kind tools/ndock conform --timeout 20 --replay "$replay" $plugin >"$tap_dir/again" 2>&1
    status=$?
    cat "$tap_dir/again"
    [ $status = 1 ] && { ! grep -q 'D:' "$tap_dir/again" || grep -q "replay: $replay" "$tap_dir/again"; }
}
# Sanitizers would see the same again and again: a slice has a few of them.
check_defect() { # TEXT, then as defect
    defect_text=$1
    shift
    case $NDOCK_TEST_SLICE,$1 in
    ,* | *,wrong | *,past | *,shared) check "$defect_text" defect "$@" ;;
    *) skip "$defect_text" 'what a check finds is the same under sanitizers' ;;
    esac
}
crashed() { defect crash D.log 'crashed: signal 11'; }
rest_runs() { NDOCK_OPDEFECT_KIND=crash tools/ndock conform --group D --filter 'D.lo*' --count 3 $plugin | grep 'passed, 1 failed'; }
hung() {
    NDOCK_OPDEFECT_KIND=hang tools/ndock conform --group D --timeout 5 --filter 'D.ma[tx]*' --count 3 $plugin >"$tap_dir/out"
    [ $? = 1 ] && cat "$tap_dir/out" && grep -q 'FAILED D.matmul: silent for 5 seconds' "$tap_dir/out" &&
        grep -q "made again, it hangs inside the plug-in's kernel.run of matmul$" "$tap_dir/out" && grep -q 'replay D:matmul:1:' "$tap_dir/out"
}
other_tier() {
    NDOCK_OPDEFECT_KIND=no_pow tools/ndock conform --group D --filter 'D.tier1' --tier 1 $plugin >"$tap_dir/out"
    [ $? = 1 ] && cat "$tap_dir/out" && grep -q 'lacks kernels of pow' "$tap_dir/out"
}
modes_alone() { # multiply changes them, and the matrix products after it are right
    NDOCK_OPDEFECT_KIND=subnormals tools/ndock conform --group D --filter 'D.m*' --count 20 --tap $plugin >"$tap_dir/out"
    cat "$tap_dir/out"
    [ "$(grep -c '^not ok' "$tap_dir/out")" = 1 ]
}
lost_device() {
    NDOCK_OPDEFECT_KIND=lost tools/ndock conform --group D --filter 'D.[se]*' --count 5 --tap $plugin >"$tap_dir/out" 2>&1
    [ $? = 1 ] && cat "$tap_dir/out" && [ "$(grep -c '^not ok' "$tap_dir/out")" = 1 ] && grep -q 'the device was lost in case' "$tap_dir/out"
}
says_how_many() {
    NDOCK_OPDEFECT_KIND=wrong tools/ndock conform --group D --filter 'D.add' --count 20 $plugin >"$tap_dir/out"
    cat "$tap_dir/out"
    grep -q 'FAILED D.add: [0-9]* of [0-9]* cases failed on opdefect:0, then it gave up' "$tap_dir/out"
}
counted() { # what has no kernel is right by the CPU, and a skip that says so
    NDOCK_OPDEFECT_KIND=no_pow tools/ndock conform --group D --filter 'D.pow' --tap $plugin >"$tap_dir/out" &&
        cat "$tap_dir/out" && grep -q '^ok 1 - D.pow # SKIP right, but by the CPU' "$tap_dir/out"
}
no_device() { NDOCK_OPDEFECT_KIND=no_device tools/ndock conform --group D $plugin >"$tap_dir/out"; [ $? = 2 ] && grep 'NO_DEVICE' "$tap_dir/out"; }
seeds() { # another seed, other cases; the same seed, the same
    for seed in 1 2 1; do
        NDOCK_OPDEFECT_KIND=wrong tools/ndock conform --group D --tap --filter D.add --seed $seed $plugin | grep 'message' >"$tap_dir/$seed.$(ls "$tap_dir" | grep -c "^$seed\.")"
    done
    cmp "$tap_dir/1.0" "$tap_dir/1.1" && ! cmp -s "$tap_dir/1.0" "$tap_dir/2.0"
}

check 'sim conforms, tier 2' conforms plugins/sim/.libs/ndock-sim.so 2
check 'cpu conforms, tier 1' conforms backends/cpu/.libs/ndock-cpu.so 1
check_defect 'D.add: a wrong element' wrong D.add 'add(' --count 10
check_defect 'D.add: wrong in arrays of 1009 and more' tail D.add 'add(' --count 128
check_defect 'D.subtract: wrong where strides are negative' strides D.subtract 'subtract(' --count 60
check_defect 'D.multiply: writes beside its destination' beside D.multiply 'beside' --count 100
check_defect 'D.maximum: loses NaN' nan D.maximum 'nan' --count 300
check_defect 'D.special_values: loses NaN' nan D.special_values 'maximum('
check_defect 'D.copy: wrong casts' cast D.copy 'of .* to' --count 30
check_defect 'D.sum: wrong over several axes' reduce D.sum 'sum' --count 100
check_defect 'D.sqrt: UNSUPPORTED after find' late D.sqrt 'unsupported\|not today' --count 20
check_defect 'D.untouched: writes, then UNSUPPORTED' touch D.untouched 'refused operation'
check_defect 'D.claims: a dtype without a kernel' claims D.claims 'exp of f16' --filter 'D.[ec][xl]*' --count 30
check_defect 'D.load: the device cannot be opened' open D.load 'the defect called open'
check_defect 'D.errors_index_writes: writes before it tells of a bad index' early D.errors_index_writes 'changed its destination'
check_defect 'D.softmax: of several axes the last one alone' softmax_axes D.softmax 'softmax' --count 60
check_defect 'D.layer_norm: without eps' norm_eps D.layer_norm 'layer_norm' --count 60
check_defect 'D.rms_norm: without its scale' norm_scale D.rms_norm 'rms_norm' --count 60
check_defect 'D.softmax_grad: of several axes the last one alone' softmax_grad_axes D.softmax_grad 'softmax_grad' --count 60
check_defect 'D.rms_norm_grad: without eps' norm_grad_eps D.rms_norm_grad 'rms_norm_grad' --count 60
check_defect 'D.layer_norm_grad: without its scale' norm_grad_scale D.layer_norm_grad 'layer_norm_grad' --count 60
check_defect 'D.cross_entropy: another class is ignored' entropy_ignore D.cross_entropy 'cross_entropy' --count 60
check_defect 'D.cross_entropy: without weights' entropy_weights D.cross_entropy 'cross_entropy' --count 60
check_defect 'D.cross_entropy_grad: without smoothing' entropy_smoothing D.cross_entropy_grad 'cross_entropy_grad' --count 60
check_defect 'D.attention: causal by one key more' attention_causal D.attention 'attention' --count 60
check_defect 'D.attention: without its mask' attention_mask D.attention 'attention' --count 60
check_defect 'D.attention: other weights are dropped' attention_dropout D.attention 'attention' --count 60
check_defect 'D.attention_grad: another scale' attention_scale D.attention_grad 'attention_grad' --count 60
check_defect 'D.rope: pairs of the other layout' rope_pairs D.rope 'rope' --count 60
check_defect 'D.rope: turned the other way' rope_inverse D.rope 'rope' --count 60
check_defect 'D.dropout: half of the counter' dropout_counter D.dropout 'dropout' --count 60
check_defect 'D.quantize: a wrong code' quantize D.quantize 'quantize to' --count 60
check_defect 'D.dequantize: a wrong element' dequantize D.dequantize 'dequantize' --count 60
check_defect 'D.matmul_q: a wrong element' matmul_q D.matmul_q 'matmul_q of' --count 60
check_defect 'D.conv: dilation is ignored' conv_dilation D.conv 'conv of' --count 60
check_defect 'D.conv: without its bias' conv_bias D.conv 'conv of' --count 60
check_defect 'D.conv_grad_input: the stride is ignored' conv_input_stride D.conv_grad_input 'conv_grad_input of' --count 60
check_defect 'D.conv_grad_weight: the padding is ignored' conv_weight_padding D.conv_grad_weight 'conv_grad_weight of' --count 60
check_defect 'D.max_pool: dilation is ignored' max_pool_dilation D.max_pool 'max_pool of' --count 60
check_defect 'D.max_pool: adaptive windows of one element' max_pool_adaptive D.max_pool 'max_pool of' --count 60
check_defect 'D.max_pool: a wrong position' max_pool_position D.max_pool 'max_pool: position' --count 60
check_defect 'D.max_pool_grad: the padding is ignored' max_pool_grad_padding D.max_pool_grad 'max_pool_grad of' --count 60
check_defect 'D.avg_pool: padding counts where it should not' avg_pool_exclude D.avg_pool 'avg_pool of' --count 60
check_defect 'D.avg_pool_grad: the divisor is ignored' avg_pool_grad_divisor D.avg_pool_grad 'avg_pool_grad of' --count 60
check_defect 'D.upsample: corners are not aligned' upsample_corners D.upsample 'upsample of' --count 60
check_defect 'D.upsample: the ratio is that of the extents' upsample_ratio D.upsample 'upsample of' --count 60
check_defect 'D.upsample_grad: linear in place of cubic' upsample_grad_method D.upsample_grad 'upsample_grad of' --count 60
check_defect 'D.unfold: dilation is ignored' unfold_dilation D.unfold 'unfold of' --count 60
check_defect 'D.fold: the padding is ignored' fold_padding D.fold 'fold of' --count 60
check_defect 'D.fused: the first scalars are part of the code' fused_scalar D.fused 'of the program of' --count 60
check_defect 'D.fused: results change places' fused_result D.fused 'of the program of' --count 60
check_defect 'D.take, of embeddings: wrong for five indices and more' take D.take 'take' --count 60
check_defect 'D.scatter_add, of their gradients: wrong for five and more' scatter D.scatter_add 'scatter_add\|index_add' --count 60
check_defect 'D.fft: the inverse is the forward transform' fft_sign D.fft 'ifft' --count 20
check_defect 'D.fft_r2c: the scale is off by one in 100,000' fft_scale D.fft_r2c 'fft of' --count 60
check_defect 'D.fft: two axes of three are transformed' fft_axes D.fft 'fftn' --count 100
check_defect 'D.fft_c2r: its operand is written to' fft_operand D.fft_c2r 'of its operand' --count 20
check_defect 'D.long_sums: f16 is summed in f16' halves D.long_sums 'sum of 30000 ones in f16 is 2048, not 30000'
check_defect 'D.divisions: by zero it gives -1' by_zero D.divisions 'floor_divide by zero'
check_defect 'D.margins: stores past a dense destination' past D.margins 'multiply of .* beside its destination'
check_defect 'D.modes: rounding is changed' rounding D.modes 'rounded upwards' --filter 'D.m[uo]*' --count 20
check_defect 'D.threads: one buffer of all threads' shared D.threads 'other bits when it runs in 4 threads'
check_defect 'D.contract: find depends on extents' extents D.contract 'op.find: .*(rule find_depends)'
case $CFLAGS in
*-fsanitize*) skip 'D.growth: a run keeps memory' 'the sanitizer has the heap' ;;
*) check_defect 'D.growth: a run keeps memory' leak D.growth 'runs of exp leave [0-9]* more bytes' ;;
esac
case $(uname -m) in
x86_64) check_defect 'D.modes: subnormal numbers become zero' subnormals D.modes 'subnormal numbers become zero' --filter 'D.m[uo]*' --count 20 ;;
*) skip 'D.modes: subnormal numbers become zero' 'the defect is made for x86-64' ;;
esac
check 'the modes that one operation changes fail no other' modes_alone
check 'a lost device ends the group with one sentence' lost_device
check 'a failure says how many cases failed' says_how_many
case $CFLAGS in
*-fsanitize*)
    for text in 'a crash names its case' 'the operations after it still run' 'a hang names its case and the function of the plug-in'; do
        skip "$text" 'the sanitizer ends the program its own way, and in its own time'
    done
    ;;
*)
    check 'a crash names its case' crashed
    check 'the operations after it still run' rest_runs
    check 'a hang names its case and the function of the plug-in' hung
    ;;
esac
check 'tier 1 asks for pow' other_tier
check 'an operation without a kernel is a skip that says so' counted
check 'no device: status 2' no_device
check 'cases are those of the seed' seeds
finish
