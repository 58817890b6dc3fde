# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The PEP 517 build backend of `pip install ./python`; it needs nothing but the standard library and a compiler.

Where pkg-config finds an installed ndock of this version, the extension module alone is compiled against it, and the
wheel is good for this machine. Otherwise the library is built from the tree that this folder lies in, in a temporary
folder, and the wheel carries it, as that of `make wheel` does. Settings (pip's -C): configure=ARGUMENTS for ./configure,
library=installed|own to choose. Variables: CC, CFLAGS, PKG_CONFIG_PATH as usual."""
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import wheel

PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOP = os.path.dirname(PYTHON)


def version():
    """The project's, from configure.ac."""
    with open(os.path.join(TOP, "configure.ac"), encoding="utf-8") as f:
        return re.search(r"^AC_INIT\(\[ndock\], \[([^]]+)\]", f.read(), re.MULTILINE).group(1)


def _run(*command, **options):
    print("ndock:", shlex.join(command), flush=True)
    if subprocess.run(command, **options).returncode != 0:
        sys.exit(f"ndock: this failed: {shlex.join(command)}")


def _pkg_config(*what):
    """Its answer as words; None where it, or this version of ndock, is missing."""
    command = [os.environ.get("PKG_CONFIG", "pkg-config"), *what, f"ndock = {version()}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return None
    return shlex.split(done.stdout) if done.returncode == 0 else None


def _suffix_and_flags():
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return sysconfig.get_config_var("EXT_SUFFIX"), []
    return ".abi3.so", ["-DPy_LIMITED_API=0x030B0000"]


def _against_installed(work, target):
    """A wheel of the modules and the extension, which finds the installed library by its RUNPATH."""
    suffix, limited = _suffix_and_flags()
    extension = os.path.join(work, "_ndock" + suffix)
    sources = sorted(os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(PYTHON, "src"))
                     for name in names if name.endswith(".c"))
    library = _pkg_config("--variable=libdir")[0]
    _run(*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-D_GNU_SOURCE",
         *shlex.split(os.environ.get("CFLAGS", "")), *limited, "-I" + TOP, "-isystem", sysconfig.get_path("include"), *_pkg_config("--cflags"),
         "-o", extension, *sources, *_pkg_config("--libs"), f"-Wl,-rpath,{library}")
    files = {**wheel.modules(os.path.join(PYTHON, "ndock")), "ndock/" + os.path.basename(extension): extension}
    tag = f"{wheel.python_tag()}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    return wheel.write(target, "ndock", version(), tag, files, wheel.core_headers(TOP, version()), wheel.licences(TOP, []))


def _with_own(work, target, arguments):
    """The wheel of `make wheel`, built in `work`."""
    if os.path.exists(os.path.join(TOP, "config.status")):
        sys.exit(f"ndock: {TOP} itself is configured, so nothing else can be built from it: `make distclean` there first")
    if not os.path.exists(os.path.join(TOP, "configure")):
        _run("autoreconf", "-fi", cwd=TOP)
    _run(os.path.join(TOP, "configure"), "-q", "--disable-static", "--without-cuda", "--enable-python", f"PYTHON={sys.executable}",
         *shlex.split(arguments), cwd=work)
    # Only what `work` holds is installed: not what an outer make passes on.
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DESTDIR")}
    made = os.path.join(work, "wheel")
    _run("make", "-s", f"-j{len(os.sched_getaffinity(0))}", "wheel", f"WHEEL_DIR={made}", cwd=work, env=env)
    name = os.listdir(made)[0]
    shutil.copy(os.path.join(made, name), target)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517."""
    settings = config_settings or {}
    which = settings.get("library") or ("own" if _pkg_config("--libs") is None else "installed")
    with tempfile.TemporaryDirectory(prefix="ndock-build.") as work:
        if which == "installed":
            if _pkg_config("--libs") is None:
                sys.exit(f"ndock: pkg-config finds no ndock {version()}; set PKG_CONFIG_PATH to the folder of ndock.pc")
            return _against_installed(work, os.path.abspath(wheel_directory))
        return _with_own(work, os.path.abspath(wheel_directory), settings.get("configure", ""))


def build_sdist(sdist_directory, config_settings=None):
    """PEP 517."""
    sys.exit("ndock: a source distribution is what `make dist` makes: it holds the library that this package needs")
