# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `make check-wheel`: the wheels in a fresh environment without compiler, NumPy and variables, as a new user would have them.
. "$srcdir/tests/tap.sh"
work=$tap_dir/work
python=$work/venv/bin/python
mkdir -p "$work/wheels"

pip() { "$PYTHON" -m pip -q --disable-pip-version-check --python "$python" "$@"; }
# run ARGUMENTS...: Python with an environment that holds nothing, in a folder that holds nothing.
mkdir "$work/empty"
run() { (cd "$work/empty" && exec env -i HOME="$work" PATH=/nonexistent "$python" -B -W error "$@"); }

fresh() { "$PYTHON" -m venv --without-pip "$work/venv" && ! run -c 'import numpy' 2>/dev/null; }
site=$work/venv/lib
left_over() { find "$site" -iname '*ndock*'; }

# Everything that RECORD names is there as it says, and nothing else.
cat >"$work/record.py" <<'END'
import base64, csv, hashlib, os, sys, sysconfig
site = sysconfig.get_path("platlib")
for record in sys.argv[1:]:
    with open(os.path.join(site, record + ".dist-info", "RECORD"), newline="") as f:
        rows = list(csv.reader(f))
    for path, digest, size in rows:
        if digest and not path.startswith(record):
            with open(os.path.join(site, path), "rb") as f:
                data = f.read()
            assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), path
            assert int(size) == len(data), path
    here = {os.path.relpath(os.path.join(d, n), site) for d, _, names in os.walk(os.path.join(site, record.split("-")[0]))
            for n in names if not d.endswith("__pycache__")}
    assert here <= {path for path, _, _ in rows}, here
END
# The README's Python block, as a session; $1: more of Python's options.
awk '/^```python$/ { inside = 1; next } inside && /^```/ { print ""; exit } inside' "$srcdir/README.md" >"$work/readme.txt"
readme() {
    grep -q '>>> import ndock' "$work/readme.txt" &&
        run -c 'import doctest, sys; r = doctest.testfile(sys.argv[1], module_relative=False); sys.exit(r.failed or not r.attempted)' "$work/readme.txt"
}
cat >"$work/mapped.py" <<'END'
import ctypes, re, sys
if sys.argv[2] == "first":
    ctypes.CDLL(sys.argv[1])
import ndock as nd
x = nd.ones((300, 300), device="cpu")
x + 1
with open("/proc/self/maps") as f:
    maps = {line.split()[-1] for line in f if re.search(r"ndock|libgomp", line)}
libgomp = {path for path in maps if "libgomp" in path}
ours = {path for path in maps if "ndock" in path.rsplit("/", 1)[1]}
assert len(libgomp) <= 1, libgomp
assert all(path.startswith(sys.prefix) for path in ours) and len(ours) == 3, ours
if libgomp:
    assert libgomp.pop().startswith(sys.prefix) == (sys.argv[2] == "own"), maps
END
outer_gomp=$($CC -print-file-name=libgomp.so.1 2>/dev/null)
[ -z "$outer_gomp" ] || outer_gomp=$(readlink -f "$outer_gomp")
# What another library of the process has loaded has the same SONAME.
shares_libgomp() { run "$work/mapped.py" "$outer_gomp" first; }

sim() { run -c 'import ndock as nd; x = nd.ones(3, device="sim:0") + 1; assert "2., 2., 2." in repr(x) and "sim:0" in repr(x), repr(x)'; }
no_sim() { ! sim 2>/dev/null; }

if ! "$PYTHON" -m pip --version >/dev/null 2>&1 || ! "$PYTHON" -m pip --help | grep -q -e --python; then
    skip 'the wheels' 'no pip (22.3 or later) to install them with'
    finish
fi
check 'a fresh environment without NumPy' fresh
check 'the wheels are made' ${MAKE:-make} -s wheel wheel-sim WHEEL_DIR="$work/wheels"
core=$(echo "$work"/wheels/ndock-[0-9]*) sim=$(echo "$work"/wheels/ndock_sim-*)
echo "# ${core##*/}, $(wc -c <"$core") bytes; ${sim##*/}"
mkdir "$work/again"
same_bytes() { ${MAKE:-make} -s wheel WHEEL_DIR="$work/again" && cmp "$core" "$work/again/${core##*/}"; }
check 'made again they have the same bytes' same_bytes
check 'ndock is installed' pip install --no-index "$core"
check "the README's example" readme
check 'its own library, plug-in and libgomp are used' run "$work/mapped.py" "$outer_gomp" own
check 'but a libgomp that the process has is used instead' shares_libgomp
check 'it has no simulated device' no_sim
check 'ndock-sim is installed' pip install --no-index "$sim"
check "its plug-in is found by the entry point" sim
check 'RECORD' run "$work/record.py" ndock-"$VERSION" ndock_sim-"$VERSION"
check 'uninstalled' pip uninstall -y ndock ndock-sim
check 'nothing is left' test -z "$(left_over)"
finish
