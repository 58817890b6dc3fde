# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Math modes from Python: levels, scopes, and the names of other libraries for the same record."""
import threading

import ndock as nd
from ndock import math
from tap import main, raises

DEFAULTS = {"f32_matmul": "ieee", "f16_reduction": "off", "f16_split_k": "on", "bf16_reduction": "off",
            "bf16_split_k": "on", "f16_accumulate": "f32", "f64_matmul": "native", "fp8_fast": "off",
            "deterministic": "off", "strict": "off"}


def test_defaults():
    assert {name: math.get_mode(name) for name in DEFAULTS} == DEFAULTS


def test_scopes():
    with math.mode(f32_matmul="tf32", deterministic=True):
        assert math.get_mode("f32_matmul") == "tf32" and math.get_mode("deterministic") == "on"
        assert math.allow_tf32() and math.matmul_precision() == "high" and math.fp32_precision("cuda.matmul") == "tf32"
        with math.mode("cuda", f32_matmul="ieee"):
            assert math.get_mode("f32_matmul", "cuda") == "ieee" and math.get_mode("f32_matmul", "sim") == "tf32"
        seen = []
        thread = threading.Thread(target=lambda: seen.append(math.get_mode("f32_matmul")))
        thread.start()
        thread.join()
        assert seen == ["ieee"]
    assert not math.allow_tf32() and math.get_mode("deterministic") == "off"

    @math.mode(op="matmul", f32_matmul="bf16x9")
    def inside():
        return math.get_mode("f32_matmul", op="matmul"), math.get_mode("f32_matmul")
    assert inside() == ("bf16x9", "ieee")


def test_a_scope_that_fails_leaves_nothing():
    with raises(ValueError):
        with math.mode(f32_matmul="tf32", f64_matmul="tf32"):
            pass
    assert math.get_mode("f32_matmul") == "ieee"
    with raises(nd.Error):
        nd._ndock._math_pop()


def test_the_process():
    try:
        math.set_mode(f32_matmul="tf32")
        assert math.allow_tf32()
        math.set_mode(f32_matmul="unset")
        math.set_allow_tf32(True)
        assert math.get_mode("f32_matmul") == "tf32"
        math.set_matmul_precision("highest")
        assert not math.allow_tf32()
        math.set_fp32_precision("cuda.matmul", "bf16x9")
        assert math.fp32_precision("cuda.matmul") == "bf16x9" and math.fp32_precision("") == "ieee"
        math.set_fp32_precision("cuda.matmul", "none")
        assert math.fp32_precision("cuda.matmul") == "ieee"
    finally:
        math.set_mode(f32_matmul="unset")


def test_what_is_refused():
    for call in (lambda: math.set_mode(f32_matmul="fast"), lambda: math.set_mode(nonsense="on"),
                 lambda: math.mode(op="nonsense", f32_matmul="tf32"), lambda: math.set_matmul_precision("most"),
                 lambda: math.set_fp32_precision("cuda.matmul", "most"), lambda: math.get_mode("nonsense"),
                 lambda: math.effective_precision("matmul", nd.float32, mnk=(1, 2)),
                 lambda: math.effective_precision("nonsense", nd.float32)):
        with raises(ValueError):
            call()


def test_what_really_runs():
    assert math.effective_precision("matmul", nd.float32, "cpu") == "ieee"
    with math.mode(f32_matmul="tf32"):
        assert math.effective_precision("matmul", nd.float32, "cpu", mnk=(4, 4, 4)) == "ieee"


if __name__ == "__main__":
    main(globals())
