# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sessions in README.md and the pages of docs/ print what they say; the first of README.md is also run by wheel.sh."""
import doctest
import os
import re

import ndock as nd
from tap import Skip, cases, main

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGES = ("README.md", "docs/python.md", "docs/kernels.md", "docs/graphs.md", "docs/neural.md", "docs/science.md")


def blocks(page):
    with open(os.path.join(TOP, page), encoding="utf-8") as f:
        return re.findall(r"^```python\n(.*?)^```", f.read(), re.MULTILINE | re.DOTALL)


@cases(*((page, n) for page in PAGES for n in range(len(blocks(page)))))
def test_session(page, n):
    text = blocks(page)[n]
    try:
        if "import numpy" in text:
            import numpy  # noqa: F401
    except ImportError:
        raise Skip("no numpy") from None
    test = doctest.DocTestParser().get_doctest(text, {"nd": nd}, f"{page} {n}", page, 0)
    said = []
    failed, attempted = doctest.DocTestRunner().run(test, out=said.append)
    assert attempted and not failed, "".join(said)


if __name__ == "__main__":
    nd.set_default_device("cpu")
    main(globals())
