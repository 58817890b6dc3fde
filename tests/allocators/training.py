# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""training.py STEPS SEED FILE: a snapshot as a caching allocator would leave it after some steps of training.

A model of its own, so that pictures and sums are judged on what the library has not computed.
"""
import json
import random
import sys

MIB = 1 << 20
INACTIVE, ALLOCATED, PENDING = range(3)
STATES = ["inactive", "active_allocated", "active_pending_free"]


class Segment:
    def __init__(self, address, total, large, stream):
        self.address, self.total, self.large, self.stream = address, total, large, stream
        self.blocks = [[0, total, INACTIVE, "", 0]]  # offset, size, state, tag, requested


class Device:
    def __init__(self):
        self.now = 1795263540000000
        self.next_address = 0x7F1200000000
        self.segments, self.events = [], []

    def event(self, action, address=0, size=0, stream=0, tag="", **more):
        self.events.append(dict(action=action, addr=address, size=size, stream=stream,
                                time_us=self.now, frames=[], tag=tag, **more))

    def grow(self, size):
        large = size > MIB
        total = 2 * MIB if not large else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        s = Segment(self.next_address, total, large, random.choice([1, 1, 1, 2]))
        self.next_address += total + 2 * MIB
        self.segments.append(s)
        self.event("segment_alloc", s.address, total, s.stream)
        return s, s.blocks[0]

    def find(self, size):
        for s in self.segments:
            if s.large == (size > MIB):
                for b in s.blocks:
                    if b[2] == INACTIVE and b[1] >= size:
                        return s, b
        return self.grow(size)

    def alloc(self, requested, tag):
        self.now += random.randint(20, 900)
        size = -(-requested // 512) * 512
        s, b = self.find(size)
        if b[1] > size:
            s.blocks.insert(s.blocks.index(b) + 1, [b[0] + size, b[1] - size, INACTIVE, "", 0])
        b[1:] = [size, ALLOCATED, tag, requested]
        self.event("alloc", s.address + b[0], size, s.stream, tag)
        return s, b

    def free(self, block, pending=False):
        s, b = block
        self.now += random.randint(5, 200)
        self.event("free_requested", s.address + b[0], b[1], s.stream)
        if pending:
            b[2] = PENDING
            return
        self.event("free_completed", s.address + b[0], b[1], s.stream)
        b[2:] = [INACTIVE, "", 0]
        i = s.blocks.index(b)
        if i + 1 < len(s.blocks) and s.blocks[i + 1][2] == INACTIVE:
            b[1] += s.blocks.pop(i + 1)[1]
        if i > 0 and s.blocks[i - 1][2] == INACTIVE:
            s.blocks[i - 1][1] += s.blocks.pop(i)[1]

    def segment(self, s):
        def total(*states):
            return sum(b[1] for b in s.blocks if b[2] in states)
        return dict(device=0, address=s.address, total_size=s.total, allocated_size=total(ALLOCATED),
                    active_size=total(ALLOCATED, PENDING),
                    requested_size=sum(b[4] for b in s.blocks if b[2] == ALLOCATED), stream=s.stream,
                    segment_type="large" if s.large else "small", segment_pool_id=[0, 0],
                    is_expandable=False, frames=[],
                    blocks=[dict(address=s.address + b[0], size=b[1], requested_size=b[4],
                                 state=STATES[b[2]], frames=[], tag=b[3]) for b in s.blocks])


def step(d):
    batch = d.alloc(6 * MIB, "input batch")
    activations, gradients = [], []
    for _ in range(7):
        activations.append(d.alloc(random.randint(200000, 9 * MIB), "activations"))
        d.free(d.alloc(random.randint(1000, 3 * MIB), "workspace <&>"))
    for _ in range(7):
        gradients.append(d.alloc(random.randint(100000, 7 * MIB), "gradients"))
        d.free(activations.pop())
        for _ in range(3):
            d.free(d.alloc(random.randint(100, 60000), ""))
    for g in gradients:
        d.free(g)
    d.free(batch)


def train(d, steps):
    weights = [d.alloc(random.randint(1, 12) * MIB + random.randint(0, 9999), "weights") for _ in range(6)]
    for _, b in weights:
        d.alloc(b[4], "optimizer state")
    for k in range(steps):
        if k % max(1, steps // 4) == 0:
            d.event("user", text=f"step {k}")
        step(d)
    d.event("oom", size=900 * MIB, stream=1, device_free=1)
    for _ in range(30):
        d.alloc(random.randint(100, 90000), "metrics")
    left = [d.alloc(random.randint(100000, 6 * MIB), "activations") for _ in range(9)]
    for block in left[::2]:
        d.free(block)
    d.free(left[1], pending=True)


def main(steps, seed, path):
    random.seed(int(seed))
    d = Device()
    train(d, int(steps))
    with open(path, "w", encoding="utf-8") as f:
        json.dump(dict(schema=1, version="0", time_us=d.now + 100, segments=[d.segment(s) for s in d.segments],
                       devices=[dict(device=0, name="sim:0", allocator="caching", memory_bytes=1 << 30)],
                       device_traces=[d.events], allocator_settings={"NDOCK_ALLOC_CONF": "backend:caching"}), f)


if __name__ == "__main__":
    main(*sys.argv[1:])
