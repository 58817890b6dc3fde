#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small transformer language model from a GGUF file writes text, one byte a token, and tokens a second beside the same model in
eager PyTorch where that is installed.

    examples/generate.py --make model.gguf [--format f16|q8_0|q4_K] [--size tiny|small|large]   writes a model of random weights
    examples/generate.py model.gguf [--device auto] [--prompt TEXT] [--tokens 64] [--sample] [--seed 1] [--torch]

The model is one of llama's kind: rotary positions, grouped heads of keys, SwiGLU, root mean square norms. Weights are random with a
fixed seed, since none are there to be downloaded, so the text is noise that is the same each time. Keys and values are kept in place;
a token stays on the device until all are made, so that nothing waits for the host. --sample draws from the probabilities by nd.random
in place of taking the likeliest."""
import argparse
import math
import sys
import time

import ndock as nd

# Width, layers, heads, heads of keys, width of the feed-forward part, longest text.
SIZES = {"tiny": (256, 2, 8, 2, 512, 256), "small": (1024, 8, 16, 4, 2816, 1024), "large": (2048, 16, 16, 4, 5632, 1024)}
VOCABULARY = 256


def quantise(w, form):
    """A matrix in the file's format."""
    return w.astype(nd.float16) if form == "f16" else nd.quantize(w, form)


def make(path, form, size):
    """Writes a model whose weights are normal numbers of a fixed seed."""
    width, layers, heads, key_heads, inner, context = SIZES[size]
    nd.random.seed(20)
    key_width = width // heads * key_heads

    def matrix(rows, columns):
        return quantise((nd.random.normal(size=(rows, columns)) / math.sqrt(columns)).astype(nd.float32), form)
    tensors = {"token_embd.weight": matrix(VOCABULARY, width), "output_norm.weight": nd.ones(width, dtype=nd.float32),
               "output.weight": matrix(VOCABULARY, width)}
    for i in range(layers):
        part = {"attn_q": (width, width), "attn_k": (key_width, width), "attn_v": (key_width, width), "attn_output": (width, width),
                "ffn_gate": (inner, width), "ffn_up": (inner, width), "ffn_down": (width, inner)}
        tensors.update({f"blk.{i}.{name}.weight": matrix(*shape) for name, shape in part.items()})
        tensors.update({f"blk.{i}.{name}.weight": nd.ones(width, dtype=nd.float32) for name in ("attn_norm", "ffn_norm")})
    nd.save_gguf(path, tensors, metadata={
        "general.architecture": "llama", "general.name": f"{size} noise", "llama.block_count": layers, "llama.context_length": context,
        "llama.embedding_length": width, "llama.feed_forward_length": inner, "llama.attention.head_count": heads,
        "llama.attention.head_count_kv": key_heads, "llama.rope.freq_base": 10000.0})


class Model:
    """The weights of a file on a device, and the keys and values of the text so far."""

    def __init__(self, path, device):
        with nd.load(path, device=device) as f:
            get = f.metadata
            self.layers, self.heads = int(get["llama.block_count"]), int(get["llama.attention.head_count"])
            self.key_heads, self.context = int(get["llama.attention.head_count_kv"]), int(get["llama.context_length"])
            self.base = float(get["llama.rope.freq_base"])
            self.w = {name[:-len(".weight")]: f[name] for name in f}
        self.device = device = self.w["output_norm"].device
        self.dtype = nd.float16 if str(device).startswith("cuda") else nd.float32
        for name, w in self.w.items():
            if isinstance(w, nd.Array):
                self.w[name] = w.astype(self.dtype)
        self.width = self.w["token_embd"].shape[1]
        self.depth = self.width // self.heads
        angles = [[t * self.base ** (-2 * i / self.depth) for i in range(self.depth // 2)] for t in range(self.context)]
        self.cos, self.sin = (nd.asarray([[f(a) for a in row] for row in angles], dtype=self.dtype, device=device)
                              for f in (math.cos, math.sin))
        shape = (self.layers, 2, self.key_heads, self.context, self.depth)
        self.cache, self.at = nd.zeros(shape, dtype=self.dtype, device=device), 0

    def product(self, x, name):
        w = self.w[name]
        return nd.matmul(x, w.T) if isinstance(w, nd.Array) else nd.matmul_q(x, w)

    def heads_of(self, x, name, heads):
        """(heads, tokens, depth)"""
        made = nd.reshape(self.product(x, name), (x.shape[0], heads, self.depth))
        return nd.permute_dims(made, (1, 0, 2))

    def attend(self, x, layer, start, end):
        at = f"blk.{layer}."
        turn = self.cos[start:end], self.sin[start:end]
        q = nd.nn.rope(self.heads_of(x, at + "attn_q", self.heads), *turn)
        keys, values = self.cache[layer, 0], self.cache[layer, 1]
        keys[:, start:end] = nd.nn.rope(self.heads_of(x, at + "attn_k", self.key_heads), *turn)
        values[:, start:end] = self.heads_of(x, at + "attn_v", self.key_heads)
        made = nd.nn.scaled_dot_product_attention(q, keys[:, :end], values[:, :end], is_causal="last")
        return self.product(nd.reshape(nd.permute_dims(made, (1, 0, 2)), x.shape), at + "attn_output")

    def feed(self, x, layer):
        at = f"blk.{layer}."
        return self.product(nd.silu(self.product(x, at + "ffn_gate")) * self.product(x, at + "ffn_up"), at + "ffn_down")

    def norm(self, x, name):
        return nd.nn.rms_norm(x, (self.width,), self.w[name], eps=1e-5)

    def step(self, tokens):
        """The scores (1, vocabulary) of what follows the tokens, a 1-d array on the device, which join the text."""
        start, end = self.at, self.at + tokens.shape[0]
        table = self.w["token_embd"]
        x = nd.nn.embedding(tokens, table) if isinstance(table, nd.Array) else nd.embedding_q(table, tokens, dtype=self.dtype)
        for layer in range(self.layers):
            x = x + self.attend(self.norm(x, f"blk.{layer}.attn_norm"), layer, start, end)
            x = x + self.feed(self.norm(x, f"blk.{layer}.ffn_norm"), layer)
        self.at = end
        return self.product(self.norm(x[-1:], "output_norm"), "output")

    def next(self, scores, sample):
        if not sample: # the likeliest; else by Gumbel's trick, which stays on the device
            return nd.argmax(scores, axis=-1)
        u = nd.random.uniform(1e-6, 1.0, scores.shape, device=self.device).astype(nd.float32)
        return nd.argmax(scores.astype(nd.float32) - nd.log(-nd.log(u)), axis=-1)

    def write(self, prompt, count, sample=False):
        """(bytes, seconds of each token after the first)"""
        scores = self.step(nd.asarray(list(prompt), dtype=nd.int64, device=self.device))
        made = [self.next(scores, sample)]
        nd.synchronize(self.device)
        start = time.perf_counter()
        for _ in range(count - 1):
            made.append(self.next(self.step(made[-1]), sample))
        tokens = nd.concat(made).tolist()
        return bytes(tokens), (time.perf_counter() - start) / max(1, count - 1)


def torch_twin(model, prompt, count):
    """The same in eager PyTorch, its weights dequantised: (bytes, seconds of a token)."""
    import torch
    from torch.nn import functional as F
    device = "cuda" if model.dtype == nd.float16 else "cpu"
    dtype = torch.float16 if device == "cuda" else torch.float32

    def load(w):
        w = w if isinstance(w, nd.Array) else nd.dequantize(w, dtype=nd.float32)
        return torch.from_dlpack(w.astype(nd.float32).to_device("cpu")).to(device=device, dtype=dtype)
    w = {name: load(x) for name, x in model.w.items()}
    cos, sin = load(model.cos), load(model.sin)
    cache = torch.zeros((model.layers, 2, model.key_heads, model.context, model.depth), device=device, dtype=dtype)

    def turned(x, start, end):
        a, b = x.chunk(2, -1)
        c, s = cos[start:end], sin[start:end]
        return torch.cat([a * c - b * s, a * s + b * c], -1)

    def norm(x, name):
        return F.rms_norm(x, (model.width,), w[name], 1e-5)

    def step(tokens, start):
        end = start + len(tokens)
        x = F.embedding(tokens, w["token_embd"])
        for i in range(model.layers):
            at, n = f"blk.{i}.", norm(x, f"blk.{i}.attn_norm")
            q, k, v = ((n @ w[at + name].T).view(len(tokens), -1, model.depth).transpose(0, 1) for name in ("attn_q", "attn_k", "attn_v"))
            cache[i, 0, :, start:end], cache[i, 1, :, start:end] = turned(k, start, end), v
            mask = torch.ones(len(tokens), end, dtype=torch.bool, device=device).tril(start) if len(tokens) > 1 else None
            made = F.scaled_dot_product_attention(turned(q, start, end)[None], cache[i, 0, :, :end][None], cache[i, 1, :, :end][None],
                                                  attn_mask=mask, enable_gqa=True)[0]
            x = x + made.transpose(0, 1).reshape(len(tokens), -1) @ w[at + "attn_output"].T
            n = norm(x, at + "ffn_norm")
            x = x + (F.silu(n @ w[at + "ffn_gate"].T) * (n @ w[at + "ffn_up"].T)) @ w[at + "ffn_down"].T
        return norm(x[-1:], "output_norm") @ w["output"].T
    with torch.no_grad():
        made = [step(torch.tensor(list(prompt), device=device), 0).argmax(-1)]
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        for i in range(count - 1):
            made.append(step(made[-1], len(prompt) + i).argmax(-1))
        tokens = torch.cat(made).tolist()
    return bytes(tokens), (time.perf_counter() - start) / max(1, count - 1)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", nargs="?")
    p.add_argument("--make", metavar="FILE")
    p.add_argument("--format", default="q8_0", choices=("f16", "q8_0", "q4_K"))
    p.add_argument("--size", default="tiny", choices=SIZES)
    p.add_argument("--device", default="auto")
    p.add_argument("--prompt", default="Once upon a time")
    p.add_argument("--tokens", type=int, default=64)
    p.add_argument("--sample", action="store_true")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--torch", action="store_true")
    o = p.parse_args()
    if o.make:
        make(o.make, o.format, o.size)
        print(f"{o.make}: a {o.size} model in {o.format}")
    path = o.model or o.make
    if not path:
        p.error("a model, or --make, is wanted")
    model = Model(path, o.device)
    prompt = o.prompt.encode()
    if not prompt or len(prompt) + 2 * o.tokens > model.context:
        p.error(f"the prompt is empty, or it and twice {o.tokens} tokens do not fit into {model.context}")
    nd.random.seed(o.seed)
    model.write(prompt, o.tokens, o.sample)  # kernels are found and memory is taken
    model.at = 0
    nd.random.seed(o.seed)
    text, took = model.write(prompt, o.tokens, o.sample)
    print(f"{o.prompt}{''.join(chr(b) if 32 <= b < 127 else '.' for b in text)}")
    print(f"{model.device}: {1 / took:.1f} tokens a second")
    if o.torch and not o.sample:
        try:
            torch_twin(model, prompt, o.tokens)
            theirs, twin = torch_twin(model, prompt, o.tokens)
        except ImportError:
            print("PyTorch is not installed")
            return
        same = next((i for i, (a, b) in enumerate(zip(text, theirs)) if a != b), len(text))
        print(f"PyTorch: {1 / twin:.1f} tokens a second, {twin / took:.2f} of its time; the first {same} of {len(text)} tokens agree")


if __name__ == "__main__":
    sys.exit(main())
