# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers in text files of rows and columns, with NumPy's names and keywords. They are read and written in no locale:
floats correctly rounded, integers in all 64 bits."""
from __future__ import annotations

from . import _ndock
from ._creation import asarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Array, ArrayLike, DeviceLike, DTypeLike, Optional, Sequence, Union

__all__ = ["loadtxt", "savetxt"]

UTF8 = (None, "bytes", "ascii", "utf-8", "utf8", "UTF-8")
OPENERS = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma", ".lzma": "lzma"}


def _opener(file: Any) -> Any:
    """The module whose open reads and writes the file by its ending, as with NumPy; None: plain."""
    import os
    if not isinstance(file, (str, os.PathLike)):
        return None
    ending = os.path.splitext(os.fsdecode(file))[1]
    if ending not in OPENERS:
        return None
    import importlib
    return importlib.import_module(OPENERS[ending])


def _as_bytes(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)


def _content(file: Any, encoding: Optional[str]) -> Optional[bytes]:
    """What is to be read as UTF-8; None: the file itself, by its path."""
    import os
    if not isinstance(file, (str, bytes, os.PathLike)):
        whole = file.read() if hasattr(file, "read") else None
        if whole is not None:
            return _as_bytes(whole)
        try:
            lines = [_as_bytes(line).rstrip(b"\r\n") for line in file]
        except TypeError:
            raise TypeError("loadtxt(): fname is a path, an open file, or lines as str or bytes, not "
                            f"{type(file).__name__}") from None
        return b"".join(line + b"\n" for line in lines)
    module = _opener(file)
    if module is None and encoding in UTF8:
        return None
    with (module or __import__("io")).open(file, "rb") as f:
        data: bytes = f.read()
    return data if encoding in UTF8 else data.decode(encoding or "utf-8").encode()


def _comments(comments: Any) -> str:
    """One text a line, as the library takes them."""
    if comments is None:
        return ""
    texts = [c.decode("latin1") if isinstance(c, bytes) else c
             for c in ([comments] if isinstance(comments, (str, bytes)) else comments)]
    if "" in texts:
        raise ValueError("loadtxt(): comments cannot be an empty string; comments=None is for none")
    return "\n".join(texts)


def _shaped(x: Array, ndmin: int) -> Array:
    """Without axes of one, down to ndmin dimensions, as NumPy has it."""
    if x.ndim > ndmin:
        x = x.reshape(tuple(n for n in x.shape if n != 1))
    if x.ndim >= ndmin:
        return x
    return x.reshape((-1, 1)) if ndmin == 2 and x.ndim == 1 else x.reshape((1,) * ndmin)


def _counts(skiprows: int, max_rows: Optional[int], ndmin: int, quotechar: Optional[str]) -> None:
    if ndmin not in (0, 1, 2):
        raise ValueError(f"loadtxt(): ndmin is 0, 1 or 2, not {ndmin!r}")
    for name, count in (("skiprows", skiprows), ("max_rows", max_rows)):
        if count is not None and count < 0:
            raise ValueError(f"loadtxt(): {name} is {count}; it must not be negative")
    if quotechar is not None and (len(quotechar) != 1 or not quotechar.isascii()):
        raise ValueError(f"loadtxt(): quotechar is one ASCII character, not {quotechar!r}")


def loadtxt(fname: Any, dtype: DTypeLike = float, comments: Union[str, Sequence[str], None] = "#",
            delimiter: Optional[str] = None, converters: None = None, skiprows: int = 0,
            usecols: Union[int, Sequence[int], None] = None, unpack: bool = False, ndmin: int = 0,
            encoding: Optional[str] = None, max_rows: Optional[int] = None, *, quotechar: Optional[str] = None,
            device: Optional[DeviceLike] = None) -> Array:
    """The numbers of a text file, as an Array (rows, columns) without axes of one, but of at least ndmin dimensions.

    fname: a path (of .gz, .bz2 and .xz it is what they hold), an open file, or lines. dtype: of the elements; integers
    are exact in 64 bits, complex numbers are 1+2j, truth values true, false or integers. comments: texts after which the
    rest of a line counts no more. delimiter: between cells; None: blanks. quotechar: what may be around cells. skiprows:
    lines to leave out at the beginning, whatever they are. max_rows: rows to read at most. usecols: which columns, from 0,
    or from the end where negative. unpack: transpose the result. encoding: of the file; None: UTF-8. Nothing to read gives
    an empty Array and a UserWarning. converters, which call Python for each cell, are refused: read, then compute.

    Errors: ValueError with the line and the column (both from 1) and the text of a cell that is no such number, and for
    rows of different lengths; OSError for a failed system call.

    >>> nd.loadtxt(["# x, y", "1, 2", "3, 4"], delimiter=",")
    array([[1., 2.],
           [3., 4.]], dtype=float64, device='cpu:0')
    """
    if converters is not None:
        raise NotImplementedError("loadtxt(): converters are not supported; read the numbers, then compute with the array")
    _counts(skiprows, max_rows, ndmin, quotechar)
    columns = None if usecols is None else tuple(usecols) if hasattr(usecols, "__iter__") else (usecols,)
    text = b"" if max_rows == 0 else _content(fname, encoding)
    x = _ndock._csv_load(fname, text, dtype, device, skiprows, max_rows or 0, "" if delimiter is None else delimiter,
                         _comments(comments), quotechar, columns)
    if x.shape[0] == 0:
        import warnings
        warnings.warn(f"loadtxt: input contained no data: {fname!r}", UserWarning, stacklevel=2)
    x = _shaped(x, ndmin)
    return x.T if unpack and x.ndim == 2 else x


def _row_format(fmt: Union[str, Sequence[str], None], delimiter: str, columns: int) -> Optional[str]:
    if fmt is None or isinstance(fmt, str):
        return fmt
    if len(fmt) != columns:
        raise ValueError(f"savetxt(): fmt has {len(fmt)} formats for {columns} columns")
    return delimiter.join(fmt)


def savetxt(fname: Any, X: ArrayLike, fmt: Union[str, Sequence[str], None] = "%.18e", delimiter: str = " ",
            newline: str = "\n", header: str = "", footer: str = "", comments: str = "# ",
            encoding: Optional[str] = None) -> None:
    """Write X, an Array of one (a column) or two dimensions, as text that loadtxt reads, NumPy's too.

    fname: a path (.gz, .bz2 and .xz are compressed), or an open file. fmt: one conversion of Python's % for every cell, a
    sequence of one a column, or the text of a row with all of them, where delimiter does not count; None: the shortest
    text that is read back as the same value, integers in full. Complex cells of one conversion are " (re+imj)". delimiter:
    between cells. newline: after each row. header, footer: texts before and after the rows, comments before each line of
    them. encoding: of these texts; None: UTF-8. A file of that path is whole or untouched.

    Errors: ValueError for 0 or more than 2 dimensions, a fmt that does not fit, and values that it cannot write; OSError
    for a failed system call.

    >>> import sys
    >>> nd.savetxt(sys.stdout, nd.asarray([[1.0, 0.1], [2.0, 1e-20]]), fmt=None, delimiter=",", header="x,y")
    # x,y
    1.0,0.1
    2.0,1e-20
    """
    x = X if isinstance(X, _ndock.Array) else asarray(X)
    columns = x.shape[1] if x.ndim == 2 else 1
    options = (_row_format(fmt, delimiter, columns), delimiter, newline, header, footer, comments)
    module = _opener(fname)
    if not hasattr(fname, "write") and module is None and (encoding in UTF8 or all(t is None or t.isascii() for t in options)):
        _ndock._csv_save(fname, x, *options)
        return
    text = _ndock._csv_save(None, x, *options)
    if not hasattr(fname, "write"):
        with (module or __import__("io")).open(fname, "wb") as f:
            f.write(text.encode(encoding if encoding not in UTF8 else "utf-8"))
        return
    try:
        fname.write(text)
    except TypeError:
        fname.write(text.encode(encoding if encoding not in UTF8 else "utf-8"))
