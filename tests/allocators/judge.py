# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Judges files of snapshots and pictures from outside the library, with Python's own readers.

judge.py snapshot FOLDER            what tests/allocators/snapshot.c wrote there
judge.py picture SNAPSHOT PICTURE   well-formed, self-contained, and of the snapshot's sizes
judge.py whole FILE DEVICE ALLOCATOR NBYTES
                                    what tests/allocators/whole.c left: NBYTES of weights, and a trace
judge.py info                       the JSON of `ndock info --json --memory` on standard input
judge.py kills N FILE COMMAND...    kill -9 at random moments leaves FILE absent or whole
"""
import html.parser
import json
import os
import pickle
import pickletools
import random
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

ACTIONS = """segment_alloc alloc segment_alloc alloc free_requested free_completed segment_free
segment_alloc alloc user oom segment_alloc alloc free_requested snapshot""".split()


# Of MemoryViz.js in PyTorch, whose reader knows no others.
VIEWER = """PROTO STOP MARK EMPTY_LIST EMPTY_DICT APPEND APPENDS SETITEM SETITEMS BININT BININT1 BININT2
LONG1 BINFLOAT BINUNICODE SHORT_BINUNICODE NEWTRUE NEWFALSE NONE TUPLE EMPTY_TUPLE TUPLE1 TUPLE2 TUPLE3
BINGET LONG_BINGET BINPUT LONG_BINPUT MEMOIZE FRAME""".split()
VIEWER = set(VIEWER)


def same(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


def load(folder, name):
    with open(os.path.join(folder, name), "rb") as f:
        return json.load(f)


def check_segment(s):
    at = s["address"]
    for b in s["blocks"]:
        same("blocks tile the segment", b["address"], at)
        at += b["size"]
    same("up to its end", at, s["address"] + s["total_size"])
    sums = {state: sum(b["size"] for b in s["blocks"] if b["state"] == state)
            for state in ("active_allocated", "active_pending_free")}
    same("allocated_size", s["allocated_size"], sums["active_allocated"])
    same("active_size", s["active_size"], sum(sums.values()))
    for key, kind in (("frames", list), ("segment_pool_id", list), ("is_expandable", bool),
                      ("stream", int), ("requested_size", int)):
        same(key, type(s[key]), kind)


def snapshot(folder):
    whole, one = load(folder, "all.json"), load(folder, "one.json")
    for s in whole["segments"]:
        check_segment(s)
    blocks = [(s["device"], s["stream"], s["segment_type"], b["size"], b["state"], b["tag"])
              for s in whole["segments"] for b in s["blocks"]]
    same("blocks", sorted(blocks), sorted([
        (0, 12, "small", 1000, "active_allocated", "weights"),
        (0, 0, "large", 2 << 20, "active_allocated", "activations \xe4"),
        (0, 12, "small", 300, "active_pending_free", "late"),
        (1, 0, "small", 5, "active_allocated", "not UTF-8 ?")]))
    same("devices", [d["name"] for d in whole["devices"]], ["mock:0", "mock:1"])
    same("one device", {s["device"] for s in one["segments"]}, {0})
    trace = one["device_traces"][0]
    same("actions", [e["action"] for e in trace], ACTIONS)
    same("a tag with every kind of character", trace[3]["tag"], 'scratch "quoted" \\ \n line')
    same("the note", trace[9]["text"], "epoch 1")
    same("out of memory", (trace[10]["size"], trace[10]["device_free"]),
         (3 << 20, (4 << 20) - (2 << 20) - 1000))
    same("times go on", [e["time_us"] for e in trace], sorted(e["time_us"] for e in trace))
    assert abs(trace[0]["time_us"] / 1e6 - time.time()) < 3600, "the time is not now"
    same("an address of a block", trace[1]["addr"] in [s["address"] for s in one["segments"]], True)
    with open(os.path.join(folder, "all.pickle"), "rb") as f:
        pickled = pickle.load(f)
        f.seek(0)
        opcodes = {op.name for op, _, _ in pickletools.genops(f)}
    same("opcodes that PyTorch's viewer does not read", opcodes - VIEWER, set())
    for key in ("segments", "devices", "allocator_settings", "schema", "version"):
        same(f"the pickle's {key}", pickled[key], whole[key])
    for p, w in zip(pickled["device_traces"], whole["device_traces"]):
        same("the pickle's trace", p[:len(w)], w)
        same("and nothing but its own snapshot", [e["action"] for e in p[len(w):]], ["snapshot"])
    final = load(folder, "exit.json")
    same("the file written at the end", final["segments"], whole["segments"])


class Tags(html.parser.HTMLParser):
    """Elements that are opened are closed, in order."""
    void = {"meta", "link", "br", "hr", "img"}

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        same("closing tag", tag, self.open.pop() if self.open else None)


def picture(snapshot_path, path):
    with open(snapshot_path, "rb") as f:
        snap = json.load(f)
    text = open(path, encoding="utf-8").read()
    if path.endswith(".html"):
        tags = Tags()
        tags.feed(text)
        same("every element is closed", tags.open, [])
        images = re.findall(r"<svg .*?</svg>", text, re.S)
    else:
        images = [text]
    outside = re.sub(r'xmlns="http://www.w3.org/2000/svg"', "", text)
    same("nothing from outside", re.findall(r"https?://|url\((?!#)|<script|@import", outside), [])
    blocks, events = {}, 0
    for image in images:
        for e in ET.fromstring(image).iter():
            if "data-state" in e.attrib:
                key = (int(e.get("data-device")), e.get("data-state"))
                blocks[key] = blocks.get(key, 0) + int(e.get("data-bytes"))
            events += "data-events" in e.attrib
    want = {}
    for s in snap["segments"]:
        for b in s["blocks"]:
            key = (s["device"], b["state"])
            want[key] = want.get(key, 0) + b["size"]
    same("the sizes drawn", blocks, want)
    same("a picture over time for each device with a trace", events,
         sum(any(e["action"] == "alloc" for e in t) for t in snap["device_traces"]))
    same("for light and dark", "prefers-color-scheme: dark" in text, True)


def whole(path, device, allocator, nbytes):
    with open(path, "rb") as f:
        snap = (pickle if path.endswith(".pickle") else json).load(f)
    by_name = {d["name"]: d for d in snap["devices"]}
    same("the allocator", by_name[device]["allocator"], allocator)
    number = by_name[device]["device"]
    segments = [s for s in snap["segments"] if s["device"] == number]
    for s in segments:
        check_segment(s)
    same("bytes of the live blocks", sum(s["requested_size"] for s in segments), int(nbytes))
    trace = snap["device_traces"][number]
    live = {}
    for e in trace:
        if e["action"] == "alloc":
            same("no block where one is", e["addr"] in live, False)
            live[e["addr"]] = (e["size"], e["tag"])
        elif e["action"] == "free_requested":
            same("a free of a live block, whole", live.pop(e["addr"])[0], e["size"])
    same("the trace's live blocks", sorted(live),
         sorted(b["address"] for s in segments for b in s["blocks"] if b["state"] == "active_allocated"))
    same("their tags", {tag for _, tag in live.values()}, {"weights"})
    same("the notes", [e["text"] for e in trace if e["action"] == "user"], [f"step {k}" for k in range(4)])


def info():
    for d in json.load(sys.stdin)["devices"]:
        m = d["memory"]
        same(f"settings of {d['name']}", "backend" in m["settings"], True)
        for key in ("allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes"):
            parts = [m[key][k]["current"] for k in ("all", "small_pool", "large_pool")]
            same(key, parts[0], parts[1] + parts[2])
        same("a count", type(m["num_device_alloc"]), int)


def kills(n, path, command):
    whole = absent = 0
    for i in range(int(n)):
        p = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        patience = time.time() + 60  # a busy machine, or a sanitizer, starts the first one late
        while i == 0 and not os.path.exists(path) and time.time() < patience:
            time.sleep(0.01)
        time.sleep(random.uniform(0.001, 0.12))
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        if not os.path.exists(path):
            absent += 1
            continue
        text = open(path, encoding="utf-8").read()
        if path.endswith(".json"):
            json.loads(text)
        elif not text.rstrip().endswith("</html>" if path.endswith(".html") else "</svg>"):
            sys.exit(f"{path} is cut after {len(text)} characters (kill {i})")
        whole += 1
    print(f"# {n} kills: {whole} times a whole file, {absent} times none")
    if whole == 0:
        sys.exit("no file was ever written")


if __name__ == "__main__":
    mode, args = sys.argv[1], sys.argv[2:]
    if mode == "kills":
        kills(args[0], args[1], args[2:])
    else:
        {"snapshot": snapshot, "picture": picture, "whole": whole, "info": info}[mode](*args)
