#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the numbers of test_norms.EXPM by mpmath (pip install mpmath), 40 digits."""
from mpmath import expm, matrix, mp

mp.dps = 40
for a in ([[0.0, 1.0], [-1.0, 0.0]], [[1.0, 2.0], [3.0, 4.0]], [[-20.0, 5.0], [0.0, 1.0]]):
    e = expm(matrix(a), method="pade")
    print(f"    ({a}, {[[float(e[i, j]) for j in range(2)] for i in range(2)]}),")
