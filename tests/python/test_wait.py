# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A13: every wait releases the GIL and answers Ctrl-C within 100 ms, and nothing is lost by that."""
import os
import signal
import threading
import time

import ndock as nd
from tap import cases, main, raises

# What runs in the background of a shell inherits that SIGINT is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

LIMIT_S = 0.1  # what A13 asks for
TRIES = 5  # the best of which counts: a busy machine may hold any one up


def best_of_tries(seconds, limit=LIMIT_S):
    """What seconds() tells is less than the limit, on a machine that lets it."""
    took = []
    while len(took) < TRIES and (not took or min(took) >= limit):
        took.append(seconds())
    assert min(took) < limit, took


class Held:
    """A stream whose work waits for open(): a function that waits for an event is in its way. `with` makes it current;
    whatever happens, it is let go at the end."""

    def __init__(self, device="sim:0", limit=10):
        self.gate = threading.Event()
        self.stream = nd.Stream(device)
        self.stream.launch_host(self.gate.wait, limit)

    def __enter__(self):
        self.guard = nd.stream(self.stream)
        self.guard.__enter__()
        return self

    def __exit__(self, *error):
        self.guard.__exit__(*error)
        self.gate.set()
        self.stream.synchronize()


def interrupted(wait, after=0.2):
    """Seconds from SIGINT to the KeyboardInterrupt that ends wait()."""
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, interrupt)
    timer.start()
    try:
        wait()
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    finally:
        timer.join()
    raise AssertionError("the wait ended before it was interrupted")


def waits(held):
    """Every call that waits for the held stream, by name."""
    x = nd.arange(4, dtype=nd.float64, device="sim:0")
    one = x + 1  # on the held stream
    event = held.stream.record_event()
    calls = {"Stream.synchronize": held.stream.synchronize, "Event.synchronize": event.synchronize,
             "nd.synchronize": lambda: nd.synchronize("sim:0"), "Device.synchronize": nd.Device("sim:0").synchronize,
             "wait_stream of another plug-in": lambda: nd.default_stream("cpu").wait_stream(held.stream)}
    pending = nd.empty_pinned(4, device="sim:0")
    nd.copy_to(one, pending, non_blocking=True)
    calls.update({"item": nd.zeros((), device="sim:0").item, "tolist": one.tolist, "repr": lambda: repr(one),
                  "to_device": lambda: one.to_device("cpu"), "astype": lambda: nd.astype(one, nd.int8, device="cpu"),
                  "copy_to": lambda: nd.copy_to(one, nd.zeros(4, device="cpu")),
                  "a pending host array": pending.tolist, "its buffer": lambda: memoryview(pending)})
    return calls


@cases("Stream.synchronize", "Event.synchronize", "nd.synchronize", "Device.synchronize",
       "wait_stream of another plug-in", "item", "tolist", "repr", "to_device", "astype", "copy_to",
       "a pending host array", "its buffer")
def test_A13_ctrl_c_ends(name):
    def once():
        with Held() as held:
            return interrupted(waits(held)[name])
    best_of_tries(once)


def test_A13_nothing_is_lost():
    with Held() as held:
        y = nd.arange(4, dtype=nd.float64, device="sim:0") + 1
        interrupted(held.stream.synchronize, 0.05)
        assert not held.stream.query()
        held.gate.set()
        held.stream.synchronize()
        assert held.stream.query()
        assert repr(y).startswith("array([1., 2., 3., 4.]")


def test_A13_synchronize_of_a_device_waits_for_a_stream_that_is_gone():
    with Held() as held:
        other = nd.Stream("sim:0")
        other.wait_stream(held.stream)
        with other:
            nd.ones(3, device="sim:0") + 1
        del other
        best_of_tries(lambda: interrupted(lambda: nd.synchronize("sim:0")))
        threading.Timer(0.05, held.gate.set).start()
        nd.synchronize("sim:0")
        assert held.gate.is_set()


def test_A13_other_threads_go_on():
    with Held() as held:
        count, stop = [0], threading.Event()

        def work():  # which ends the wait, when it has gone on beside it
            while not stop.is_set():
                if waiting.is_set():
                    count[0] += 1
                if count[0] > 100000:
                    held.gate.set()
        worker, waiting = threading.Thread(target=work), threading.Event()
        worker.start()
        signal.alarm(600)  # ends the program where it cannot go on
        waiting.set()
        held.stream.synchronize()
        signal.alarm(0)
        stop.set()
        worker.join()
        assert count[0] > 100000, f"{count[0]} rounds"


def test_A13_signal_handlers_run_and_the_wait_goes_on():
    sent, seen, opened, held = [], [], [], []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGUSR1)
        for _ in range(3000):
            if seen:
                break
            time.sleep(0.01)
        time.sleep(0.05)
        opened.append(time.monotonic())
        held[0].gate.set()

    def once():
        del sent[:], seen[:], opened[:], held[:]
        with Held() as here:
            held.append(here)
            threading.Timer(0.05, send).start()
            here.stream.synchronize()
            assert opened and seen and time.monotonic() >= opened[0]
        return seen[0] - sent[0]
    before = signal.signal(signal.SIGUSR1, lambda *a: seen.append(time.monotonic()))
    try:
        best_of_tries(once)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_A13_a_wait_in_a_thread_ends_with_the_work():
    def once():
        with Held() as held:
            ended = []
            waiter = threading.Thread(target=lambda: (held.stream.synchronize(), ended.append(time.monotonic())))
            waiter.start()
            time.sleep(0.05)
            assert not ended
            now = time.monotonic()
            held.gate.set()
            waiter.join()
            return ended[0] - now
    best_of_tries(once, 0.05)


def test_A2_a_forbidden_wait_is_refused_before_it_waits():
    with Held() as held:
        with nd.sync_watch("error"), raises(nd.Error, "forbids waiting"):
            held.stream.synchronize()
        assert not held.stream.query()


def test_waiting_for_the_cpu_costs_little():
    d = nd.Device("cpu")
    d.synchronize()

    def each():
        start = time.perf_counter()
        for _ in range(10000):
            d.synchronize()
        return (time.perf_counter() - start) / 10000
    best_of_tries(each, 20e-6)


if __name__ == "__main__":
    main(globals())
