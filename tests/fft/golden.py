#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes tests/fft/golden.inc: transforms by mpmath with 60 digits, as sums of the definition, of numbers that a generator of a
few lines makes. Usage: pip install mpmath; python3 tests/fft/golden.py > tests/fft/golden.inc"""
import mpmath

mpmath.mp.dps = 60
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 30, 61, 64, 67, 100, 127, 251]


def numbers(n):
    """Fractions of 24 bits in [-1, 1), the upper bits of Knuth's 64-bit linear congruential generator (TAOCP 2, 3.3.4)."""
    state = n
    for _ in range(2 * n):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield ((state >> 40) - 2**23) / 2**23


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception")
    print(" * Made by tests/fft/golden.py with mpmath: transforms as hi and lo of real, then of imaginary part.")
    print(" * GOLDEN(length), then ROW(element, four doubles) for some of its elements. */")
    for n in LENGTHS:
        values = list(numbers(n))
        x = [mpmath.mpc(values[2 * j], values[2 * j + 1]) for j in range(n)]
        print(f"GOLDEN({n})")
        for k in sorted({0, 1 % n, n // 3, n // 2, n - 1}):
            total = mpmath.fsum([x[j] * mpmath.expjpi(mpmath.mpf(-2 * (j * k % n)) / n) for j in range(n)])
            parts = []
            for part in (total.real, total.imag):
                hi = float(part)
                parts += [hi, float(part - mpmath.mpf(hi))]
            print(f"ROW({k}, {', '.join(p.hex() for p in parts)})")
    print("#undef GOLDEN\n#undef ROW")


if __name__ == "__main__":
    main()
