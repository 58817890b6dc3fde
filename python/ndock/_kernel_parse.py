# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The subset of C that formulas of kernels are written in, read to trees of tuples:

expressions  ("number", value, dtype) ("name", text) ("unary", op, x) ("binary", op, x, y) ("choose", c, x, y)
             ("call", name, [arguments]) ("cast", type, x) ("index", name, x)
statements   ("declare", type, name, x or None) ("set", name, op, x) ("put", name, index, op, x) ("if", c, [then], [else])
             ("loop", c or None, [body], [step]) ("break",) ("continue",)"""
from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Any, Optional

TYPES = {"bool": "bool", "char": "int8", "short": "int16", "int": "int32", "long": "int64", "float": "float32", "double": "float64",
         "size_t": "uint64", "ptrdiff_t": "int64", "unsigned": "uint32",
         **{name: name for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()},
         **{name + "_t": name for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()}}
_TOKEN = re.compile(r"""\s+|//[^\n]*|/\*.*?\*/
    |(?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[uUlLfF]*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<op><<=|>>=|\+\+|--|&&|\|\||<<|>>|[-+*/%&|^<>=!]=|[-+*/%&|^~!<>=?:;,(){}\[\].])""", re.X | re.S)
_BINARY = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", "<=", ">", ">="], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]]
_SET = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}


class NotUnderstood(Exception):
    """The text is no statement of the subset."""


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    while at < len(text):
        m = _TOKEN.match(text, at)
        if not m:
            raise NotUnderstood(f"{text[at]!r}")
        at = m.end()
        if m.lastgroup:
            found.append((m.lastgroup, m.group()))
    found.append(("end", ""))
    return found


class Parser:
    """Reads one text; types: names of placeholders with their dtypes."""

    def __init__(self, text: str, types: dict[str, str]) -> None:
        self.tokens = _tokens(text)
        self.at = 0
        self.types = {**TYPES, **types}

    # ---- tokens ----
    def peek(self) -> str:
        return self.tokens[self.at][1]

    def take(self, text: Optional[str] = None) -> str:
        token = self.tokens[self.at][1]
        if text is not None and token != text:
            raise NotUnderstood(f"{token or 'the end'!r} where {text!r} is expected")
        if self.tokens[self.at][0] == "end":
            raise NotUnderstood("the end where something is expected")
        self.at += 1
        return token

    def accept(self, *texts: str) -> Optional[str]:
        if self.peek() in texts and self.tokens[self.at][0] != "end":
            return self.take()
        return None

    def type(self) -> Optional[str]:
        """The dtype of a type that stands here, which is taken; or None."""
        start = self.at
        words = []
        while self.tokens[self.at][0] == "name" and (self.peek() in self.types or self.peek() in ("const", "signed")):
            words.append(self.take())
        words = [w for w in words if w not in ("const", "signed")]
        if not words:
            self.at = start
            return None
        unsigned = "unsigned" in words and len(words) > 1
        rest = [w for w in words if not (unsigned and w == "unsigned")]
        dtype = self.types["long" if "long" in rest else "double" if "double" in rest else rest[0]]
        return "u" + dtype if unsigned else dtype

    # ---- statements ----
    def program(self) -> list[Any]:
        found: list[Any] = []
        while self.tokens[self.at][0] != "end":
            found += self.statement()
        return found

    def block(self) -> list[Any]:
        if not self.accept("{"):
            return self.statement()
        found: list[Any] = []
        while not self.accept("}"):
            found += self.statement()
        return found

    def statement(self) -> list[Any]:
        if self.accept(";"):
            return []
        if self.peek() == "{":
            return self.block()
        word = self.accept("if", "for", "while", "break", "continue", "do", "return", "switch", "goto")
        if word in ("break", "continue"):
            self.take(";")
            return [(word,)]
        if word == "if":
            return [self._if()]
        if word == "while":
            return [("loop", self._condition(), self.block(), [])]
        if word == "for":
            return self._for()
        if word:
            raise NotUnderstood(f"{word!r}")
        found = self.simple()
        self.take(";")
        return found

    def _condition(self) -> Any:
        self.take("(")
        c = self.expression()
        self.take(")")
        return c

    def _if(self) -> Any:
        c, then = self._condition(), self.block()
        return ("if", c, then, self.block() if self.accept("else") else [])

    def _for(self) -> list[Any]:
        self.take("(")
        first = [] if self.peek() == ";" else self.simple()
        self.take(";")
        c = None if self.peek() == ";" else self.expression()
        self.take(";")
        step = [] if self.peek() == ")" else self.simple()
        self.take(")")
        return [*first, ("loop", c, self.block(), step)]

    def simple(self) -> list[Any]:
        """Declarations or assignments, separated by commas."""
        found = []
        dtype = self.type()
        while True:
            found.append(self._declare(dtype) if dtype else self._set())
            if not self.accept(","):
                return found

    def _declare(self, dtype: str) -> Any:
        kind, name = self.tokens[self.at]
        if kind != "name":
            raise NotUnderstood(f"{name!r} as a name")
        self.take()
        return ("declare", dtype, name, self.assigned() if self.accept("=") else None)

    def _set(self) -> Any:
        step = self.accept("++", "--")
        kind, name = self.tokens[self.at]
        if kind != "name":
            raise NotUnderstood(f"{name or 'the end'!r} where an assignment is expected")
        self.take()
        index = None
        if self.accept("["):
            index = self.expression()
            self.take("]")
        op = step or self.take()
        one = ("number", 1, "int32")
        if op in ("++", "--"):
            value: Any = one
            op = op[0] + "="
        elif op in _SET:
            value = self.assigned()
        else:
            raise NotUnderstood(f"{op!r} behind {name}")
        return ("set", name, op[:-1], value) if index is None else ("put", name, index, op[:-1], value)

    # ---- expressions ----
    def expression(self) -> Any:
        return self.assigned()

    def assigned(self) -> Any:
        c = self.binary(0)
        if not self.accept("?"):
            return c
        x = self.expression()
        self.take(":")
        return ("choose", c, x, self.assigned())

    def binary(self, level: int) -> Any:
        if level == len(_BINARY):
            return self.unary()
        x = self.binary(level + 1)
        while True:
            op = self.accept(*_BINARY[level])
            if not op:
                return x
            x = ("binary", op, x, self.binary(level + 1))

    def unary(self) -> Any:
        op = self.accept("-", "+", "!", "~")
        if op:
            return ("unary", op, self.unary())
        if self.peek() == "(":
            start = self.at
            self.take()
            dtype = self.type()
            if dtype and self.accept(")"):
                return ("cast", dtype, self.unary())
            self.at = start
        return self.primary()

    def primary(self) -> Any:
        kind, text = self.tokens[self.at]
        if self.accept("("):
            x = self.expression()
            self.take(")")
            return x
        if kind == "number":
            return number(self.take())
        if kind != "name":
            raise NotUnderstood(f"{text or 'the end'!r}")
        dtype = self.type()
        if dtype is None:
            self.take()
        if self.accept("("):
            args = self.arguments()
            if dtype is not None and len(args) == 1:
                return ("cast", dtype, args[0])
            return ("call", text, args)
        if dtype is not None:
            raise NotUnderstood(f"the type {text!r}")
        if self.accept("["):
            x = self.expression()
            self.take("]")
            return ("index", text, x)
        if text in ("true", "false"):
            return ("number", text == "true", "bool")
        return ("name", text)

    def arguments(self) -> list[Any]:
        found: list[Any] = []
        while not self.accept(")"):
            found.append(self.expression())
            if self.peek() != ")":
                self.take(",")
        return found


def number(text: str) -> Any:
    """A literal with its type."""
    hexadecimal = text[:2] in ("0x", "0X")
    bare = text.rstrip("uUlL" if hexadecimal else "uUlLfF")
    suffix = text[len(bare):].lower()
    if not hexadecimal and ("." in bare or "e" in bare.lower()):
        return ("number", float(bare), "float32" if "f" in suffix else "float64")
    try:
        value = int(bare, 16 if hexadecimal else 8 if len(bare) > 1 and bare[0] == "0" else 10)
    except ValueError:
        value = 1 << 64
    if value >= 1 << 64:
        raise NotUnderstood(f"{text[:40]}, which is no integer of C")
    unsigned = "u" in suffix
    if "l" not in suffix and value < (1 << 32 if unsigned or hexadecimal and value >= 1 << 31 else 1 << 31):
        return ("number", value, "uint32" if unsigned or value >= 1 << 31 else "int32")
    return ("number", value, "uint64" if unsigned or value >= 1 << 63 else "int64")


def _read(parser: Parser, rule: Any) -> Any:
    """What the rule reads; the parser calls itself for what is nested, as deep as Python lets it."""
    try:
        return rule()
    except RecursionError:
        raise NotUnderstood(f"nesting too deep at token {parser.at}") from None


def statements(text: str, types: dict[str, str]) -> list[Any]:
    """The statements of a text; a last one may lack its semicolon."""
    parser = Parser(text + ";", types)
    found: list[Any] = _read(parser, parser.program)
    return found


def expression(text: str, types: dict[str, str]) -> Any:
    """The expression that a text is."""
    parser = Parser(text, types)
    found = _read(parser, parser.expression)
    if parser.tokens[parser.at][0] != "end":
        raise NotUnderstood(f"{parser.peek()!r} behind an expression")
    return found
