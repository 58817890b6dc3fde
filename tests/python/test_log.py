# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library's messages in Python's logging: none takes the GIL, none is lost unsaid."""
import logging
import threading

import ndock as nd
from tap import main, raises
from test_device import child


class Kept(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)


class Watched:
    """Messages of the logger "ndock" while the block runs."""

    def __enter__(self):
        self.handler, self.logger = Kept(), logging.getLogger("ndock")
        self.before = self.logger.propagate
        self.logger.propagate = False
        self.logger.addHandler(self.handler)
        return self.handler.records

    def __exit__(self, *error):
        nd._ndock._flush_log()
        self.logger.removeHandler(self.handler)
        self.logger.propagate = self.before


def warn(times=1):
    """Each call of a watched wait is one warning."""
    with nd.sync_watch("warn"):
        for _ in range(times):
            nd.synchronize("sim:0")


nd.synchronize("sim:0")  # which opens it: that is a wait of its own


def test_messages_come_as_records():
    with Watched() as records:
        warn()
        nd._ndock._flush_log()
        assert [(r.name, r.levelno, r.getMessage()) for r in records] == [
            ("ndock", logging.WARNING, "synchronize waits for sim:0: synchronize")]


def test_they_come_by_themselves():
    with Watched() as records:
        warn()
        for _ in range(1000):  # the interpreter looks for pending calls now and then
            len(records)
            if records:
                break
        assert records


def test_messages_of_other_threads_come_in_the_main_one():
    seen = []

    class Here(logging.Handler):
        def emit(self, record):
            seen.append(threading.current_thread())
    handler, logger = Here(), logging.getLogger("ndock")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        threads = [threading.Thread(target=warn, args=(5,)) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        nd._ndock._flush_log()
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
    assert len(seen) == 20 and set(seen) == {threading.main_thread()}


def test_levels():
    with Watched() as records:
        nd.set_log_level("error")
        warn()
        nd._ndock._flush_log()
        assert records == []
        nd.set_log_level("warn")
        warn()
        nd._ndock._flush_log()
        assert len(records) == 1
    for level in ("loud", 3, None):
        with raises(ValueError, "off, error, warn"):
            nd.set_log_level(level)


def test_too_many_are_counted():
    with Watched() as records:
        thread = threading.Thread(target=warn, args=(1000,))  # no pending call runs there
        done = threading.Event()
        thread.start()
        thread.join()
        nd._ndock._flush_log()
        said = [r.getMessage() for r in records if "dropped" in r.getMessage()]
        dropped = sum(int(s.split()[0]) for s in said)
        assert len(records) - len(said) + dropped == 1000, (len(records), said)
        assert not done.is_set()


def test_a_handler_that_fails_stops_nothing():
    out = child("""
import logging, sys, ndock as nd
class Bad(logging.Handler):
    def emit(self, record): raise KeyError(record.getMessage())
logging.getLogger("ndock").addHandler(Bad())
got = []
sys.unraisablehook = lambda u: got.append(type(u.exc_value))
nd.synchronize("sim:0")
with nd.sync_watch("warn"):
    nd.synchronize("sim:0"); nd.synchronize("sim:0")
nd._ndock._flush_log()
print(got == [KeyError, KeyError])
""")
    assert out.strip() == "True", out


def test_the_environment_and_the_end_of_the_process():
    code = """
import sys, ndock as nd
sys.stderr = sys.stdout
print("logging" in sys.modules)
with nd.sync_watch("warn"):
    nd.synchronize("sim:0")
"""
    assert child(code, NDOCK_LOG="off").split() == ["False"]
    assert "synchronize waits for sim:0" in child(code, NDOCK_LOG="warn")


if __name__ == "__main__":
    main(globals())
