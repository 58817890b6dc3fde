# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ndock under the name of array-api-strict, for test suites whose lists of array libraries are closed. A client that asks an
array for its namespace gets ndock itself, so that what is tested is ndock alone."""
import ndock

__version__ = "2.4.1"


def set_array_api_strict_flags(**flags):
    """Which version of the standard is asked for; ndock has but one."""


def __getattr__(name):
    return getattr(ndock, name)
