# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels in PTX run here, a thread after another up to where they meet: as much of PTX as kernels of expressions have. Approximations
(rcp.approx, ex2.approx) are the exact functions, fma rounds once from long double: values are near a GPU's, not its bits."""
import re

import numpy as np

np.seterr(all="ignore")
BYTES = {"b8": 1, "u8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4, "u32": 4, "s32": 4, "f32": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8}


# ---- numbers: registers hold their bits ----
def value(bits, kind):
    """The number that the bits are."""
    n = BYTES[kind]
    bits &= (1 << 8 * n) - 1
    if kind == "bf16":
        return np.uint32(bits << 16).view(np.float32)
    if kind in ("f16", "f32", "f64"):
        return np.dtype(f"u{n}").type(bits).view(f"f{n}")
    return bits - (1 << 8 * n) if kind[0] == "s" and bits >> (8 * n - 1) else bits


def bits_of(x, kind):
    """The bits of a number, rounded to nearest even; a NaN is the canonical one, but of a double the processor's."""
    if kind == "bf16":
        u = int(np.float32(x).view(np.uint32))
        return 0x7FFF if np.isnan(x) else (u + 0x7FFF + (u >> 16 & 1)) >> 16 & 0xFFFF
    if kind in ("f16", "f32", "f64"):
        n = BYTES[kind]
        return {2: 0x7FFF, 4: 0x7FFFFFFF}[n] if np.isnan(x) and n < 8 else int(np.dtype(f"f{n}").type(x).view(f"u{n}"))
    return int(x) & (1 << 8 * BYTES[kind]) - 1


def extreme(greater, a, b):
    if np.isnan(a) or np.isnan(b):
        return np.float32("nan")
    if a == b == 0:
        return b if np.signbit(a) == greater else a
    return max(a, b) if greater else min(a, b)


def to_zero(x):
    """float32 of a double, rounded to zero."""
    y = np.float32(x)
    return np.nextafter(y, np.float32(0)) if abs(np.float64(y)) > abs(x) else y


FLOATING = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "neg": lambda a: -a, "abs": abs,
    "fma": lambda a, b, c: np.longdouble(a) * np.longdouble(b) + np.longdouble(c), "rcp": lambda a: 1 / a, "ex2": np.exp2, "lg2": np.log2,
    "sqrt": np.sqrt, "rsqrt": lambda a: 1 / np.sqrt(a), "copysign": lambda sign, a: np.copysign(a, sign), "max": np.fmax, "min": np.fmin}
INTEGER = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
           "shl": lambda a, b: a << b, "shr": lambda a, b: a >> b, "min": min, "max": max}
COMPARE = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
           "ge": lambda a, b: a >= b}


# ---- text ----
class Kernel:
    """The entry of a text, as a list of (predicate, operation, operands); registers of inner scopes have names of their own."""

    def __init__(self, text):
        self.code, self.labels, self.scopes, self.registers = [], {}, [{}], 0
        body = text[re.search(r"\.visible \.entry [^{]*\{", text).end(): text.rindex("}")]
        for line in re.sub(r"//.*", "", body).split("\n"):
            line = line.strip()
            inner = re.fullmatch(r"\{ (.*;)\}", line)
            for statement in (["{", *inner[1].split(";"), "}"] if inner else line.split(";")):
                self.add(statement.strip())

    def add(self, text):
        if text == "{":
            self.scopes.append({})
        elif text == "}":
            self.scopes.pop()
        elif text.endswith(":"):
            self.labels[text[:-1]] = len(self.code)
        elif text.startswith(".reg"):
            self.declare(text.split(None, 2)[2])
        elif text and text[0] != ".":
            self.add_instruction(text)

    def declare(self, names):
        self.registers += 1
        for name in (n.strip() for n in names.split(",")):
            many = re.fullmatch(r"(%\w+)<(\d+)>", name)
            for one in [f"{many[1]}{i}" for i in range(int(many[2]))] if many else [name]:
                self.scopes[-1][one] = f"{one}@{self.registers}"

    def add_instruction(self, text):
        def renamed(match):
            return next((s[match[0]] for s in reversed(self.scopes) if match[0] in s), match[0])
        text = re.sub(r"%\w+(\.\w+)?", renamed, text)
        guard = re.fullmatch(r"@(!?)(\S+) (.*)", text)
        operation, _, rest = (guard[3] if guard else text).partition(" ")
        operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", rest)
        self.code.append(((guard[2], not guard[1]) if guard else None, operation, operands))


class Thread:
    """run() is a generator: it gives ("shfl", bits, distance) or ("bar",) where threads meet, and gets what a shuffle brings."""

    def __init__(self, kernel, number, block, spaces, symbols):
        self.kernel, self.spaces, self.registers = kernel, spaces, {}
        self.names = {"%tid.x": number, "%ctaid.x": block, **symbols}

    def get(self, operand):
        if operand in self.registers:
            return self.registers[operand]
        if operand in self.names:
            return self.names[operand]
        return int(operand[2:], 16) if operand[:2] in ("0f", "0d") else int(operand, 0)

    def run(self):
        at = 0
        while at < len(self.kernel.code):
            guard, operation, operands = self.kernel.code[at]
            at += 1
            if guard and bool(self.get(guard[0])) != guard[1]:
                continue
            name, *parts = operation.split(".")
            if name == "ret":
                return
            if name == "bra":
                at = self.kernel.labels[operands[0]]
            elif name == "bar":
                yield ("bar",)
            elif name == "shfl":
                self.registers[operands[0]] = yield "shfl", self.get(operands[1]), self.get(operands[2])
            elif name != "griddepcontrol":
                getattr(self, "do_" + name, self.compute)(name, parts, operands)

    # ---- memory ----
    def place(self, operand, nbytes):
        base, _, offset = operand[1:-1].partition("+")
        at = int(offset or 0) + (0 if base == "p" else self.get(base))
        assert at % nbytes == 0, f"{operand}: {at} is no multiple of {nbytes}"
        return at

    def do_ld(self, name, parts, operands):
        n = BYTES[parts[-1]]
        names = operands[0].strip("{}").replace(" ", "").split(",")
        at, space = self.place(operands[1], n * len(names)), self.spaces[parts[0]]
        for i, register in enumerate(names):
            assert at + n * len(names) <= len(space)
            self.registers[register] = int.from_bytes(space[at + i * n: at + (i + 1) * n], "little")

    def do_st(self, name, parts, operands):
        n = BYTES[parts[-1]]
        names = operands[1].strip("{}").replace(" ", "").split(",")
        at, space = self.place(operands[0], n * len(names)), self.spaces[parts[0]]
        assert at + n * len(names) <= len(space)
        for i, register in enumerate(names):
            space[at + i * n: at + (i + 1) * n] = (self.get(register) & (1 << 8 * n) - 1).to_bytes(n, "little")

    def do_cp(self, name, parts, operands):
        if operands:
            to, at = self.place(operands[0], 16), self.place(operands[1], 16)
            self.spaces["shared"][to: to + 16] = self.spaces["global"][at: at + 16]

    # ---- registers ----
    def do_mov(self, name, parts, operands):
        to, source = operands
        n = 8 * BYTES[parts[-1]]
        if to[0] == "{":
            halves = to[1:-1].replace(" ", "").split(",")
            for i, register in enumerate(halves):
                self.registers[register] = self.get(source) >> i * n // 2 & (1 << n // 2) - 1
        elif source[0] == "{":
            low, high = (self.get(s) & (1 << n // 2) - 1 for s in source[1:-1].replace(" ", "").split(","))
            self.registers[to] = low | high << n // 2
        else:
            self.registers[to] = self.get(source) & (1 << n) - 1

    def do_setp(self, name, parts, operands):
        kind = parts[-1].replace("b", "u")
        a, b = (value(self.get(o), kind) for o in operands[1:3])
        unordered = kind[0] == "f" and bool(np.isnan(a) or np.isnan(b))
        if parts[0] in ("nan", "num"):
            holds = unordered == (parts[0] == "nan")
        else:
            holds = len(parts[0]) == 3 if unordered else bool(COMPARE[parts[0][:2]](a, b))
        self.registers[operands[0]] = int(holds and ("and" not in parts or bool(self.get(operands[3]))))

    def do_selp(self, name, parts, operands):
        self.registers[operands[0]] = self.get(operands[1] if self.get(operands[3]) else operands[2])

    def do_cvt(self, name, parts, operands):
        to, source = parts[-2:]
        if to.endswith("x2"):
            high, low = (bits_of(value(self.get(o), source), to[:-2]) for o in operands[1:])
            self.registers[operands[0]] = low | high << 16
            return
        x = value(self.get(operands[1]), source)
        mode = {"rzi": np.trunc, "rni": np.rint, "rmi": np.floor, "rpi": np.ceil, "rz": to_zero}
        x = next((mode[p](x) for p in parts if p in mode), x)
        if to == "f32" and source == "f64" and np.isnan(x):
            self.registers[operands[0]] = int(np.float32(x).view(np.uint32))  # it is not made the canonical one (an H100 does not)
            return
        self.registers[operands[0]] = bits_of(x, to)

    def compute(self, name, parts, operands):
        kind, to = parts[-1], operands[0]
        given = [self.get(o) for o in operands[1:]]
        if kind == "pred":
            self.registers[to] = INTEGER[name](*given)
        elif kind.endswith("x2"):
            half = kind[:-2]
            function = FLOATING[name] if name == "fma" else lambda a, b: extreme(name == "max", a, b)
            self.registers[to] = sum(bits_of(function(*(value(g >> s, half) for g in given)), half) << s for s in (0, 16))
        elif kind in ("f32", "f64"):
            function = (lambda a, b: extreme(name == "max", a, b)) if "NaN" in parts else FLOATING[name]
            self.registers[to] = bits_of(function(*(value(g, kind) for g in given)), kind)
        else:
            self.registers[to] = self.whole(name, parts, kind, given)

    @staticmethod
    def whole(name, parts, kind, given):
        n = 8 * BYTES[kind]
        kind = kind.replace("b", "u")
        if name in ("mul", "mad"):
            product = value(given[0], kind) * value(given[1], kind)
            product = product >> n if "hi" in parts else product
            return (product + sum(given[2:])) & (1 << (2 * n if "wide" in parts else n)) - 1
        if name == "prmt":
            both = given[0] & 0xFFFFFFFF | (given[1] & 0xFFFFFFFF) << 32
            return sum((both >> 8 * (given[2] >> 4 * i & 7) & 255) << 8 * i for i in range(4))
        return INTEGER[name](value(given[0], kind), *(g if name in ("shl", "shr") else value(g, kind) for g in given[1:])) & (1 << n) - 1


# ---- launches ----
def step(threads, state, alive, numbers, sent):
    for t in numbers:
        try:
            state[t] = threads[t].send(sent(t))
        except StopIteration:
            alive[t] = False


def run_block(threads):
    """Warps meet in shuffles; all that are left, at barriers."""
    n = len(threads)
    state, alive = [None] * n, [True] * n
    step(threads, state, alive, range(n), lambda t: None)
    while any(alive):
        shuffled = False
        for warp in range(0, n, 32):
            lanes = [t for t in range(warp, min(warp + 32, n)) if alive[t]]
            if lanes and all(state[t][0] == "shfl" for t in lanes):
                brought = {t: state[t ^ state[t][2]][1] for t in lanes}
                step(threads, state, alive, lanes, brought.get)
                shuffled = True
        if not shuffled:
            waiting = [t for t in range(n) if alive[t]]
            assert all(state[t][0] == "bar" for t in waiting), "threads meet in different places"
            step(threads, state, alive, waiting, lambda t: None)


def launch(kernel, parameters, memory, blocks, threads, shared_bytes=1 << 16):
    """memory: a bytearray, whose places are addresses."""
    for block in range(blocks):
        spaces = {"param": parameters, "global": memory, "shared": bytearray(shared_bytes)}
        symbols = {"states": 0, "rows_kept": 1024}
        run_block([Thread(kernel, t, block, spaces, symbols).run() for t in range(threads)])
