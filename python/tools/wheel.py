# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes wheels: `make wheel`, `make wheel-cuda` and backend.py use it. Only Python and binutils' readelf are needed.

A wheel is a zip file with the package's files and a folder NAME-VERSION.dist-info (packaging.python.org, "Binary
distribution format"). Its platform tag is computed: manylinux_2_N, N being the newest glibc symbol version that any of
its files asks for (PEP 600). Every shared library that a file needs is in the wheel or on PEP 600's list."""
import argparse
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import zipfile

# Of every Linux with glibc. libstdc++ is missing on purpose: nothing of ours is C++.
SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[-\w]*)\.so\.\d+$")


def _readelf(path, *options):
    env = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(["readelf", "-W", *options, path], check=True, capture_output=True, text=True, env=env).stdout


def needed(path):
    """The shared libraries that an ELF file names."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", _readelf(path, "-d"))


def glibc(path):
    """The newest glibc symbol version that an ELF file asks for, (2, N)."""
    versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", _readelf(path, "-V"))
    return max([(int(a), int(b)) for a, b in versions], default=(2, 17))


def python_tag():
    """The interpreter's part of the tag: the limited API's where there is a GIL."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "cp{0}{1}-cp{0}{1}t".format(*sys.version_info)
    return "cp311-abi3"


def platform_tag(files):
    """manylinux_2_N_MACHINE for a wheel of these files (name in the wheel: path); an error names what it lacks."""
    libraries = {name: path for name, path in files.items() if re.search(r"\.so(\.|$)", name)}
    carried = {os.path.basename(name) for name in libraries}
    newest = (2, 5)
    for name, path in libraries.items():
        for library in needed(path):
            if library not in carried and not SYSTEM.match(library):
                sys.exit(f"wheel: {name} needs {library}, which is neither in the wheel nor on every Linux; give it with --bundle")
        newest = max(newest, glibc(path))
    machine = sysconfig.get_platform().rsplit("-", 1)[1].replace("-", "_")
    return "manylinux_{}_{}_{}".format(*newest, machine)


def _record(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def write(folder, name, version, tag, files, headers, info=None):
    """NAME-VERSION-TAG.whl in the folder, with `files` (name in the wheel: path or bytes) and more lines for METADATA.
    `info`: further files of dist-info. Returns the file's name. The same input gives the same bytes."""
    distribution = name.replace("-", "_")
    dist = f"{distribution}-{version}.dist-info"
    metadata = "".join(f"{line}\n" for line in ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}",
                                                "License: Apache-2.0 WITH LLVM-exception", *headers])
    tags = "".join(f"Tag: {python}-{abi}-{platform}\n" for python, abi, platform in [tag.split("-")])
    own = {"METADATA": metadata.encode(),
           "WHEEL": f"Wheel-Version: 1.0\nGenerator: ndock\nRoot-Is-Purelib: false\n{tags}".encode(), **(info or {})}
    contents = {**files, **{f"{dist}/{key}": value for key, value in own.items()}}
    target = f"{distribution}-{version}-{tag}.whl"
    record = ""
    with zipfile.ZipFile(os.path.join(folder, target + ".part"), "w", zipfile.ZIP_DEFLATED) as z:
        for path, content in sorted(contents.items()):
            if not isinstance(content, bytes):
                with open(content, "rb") as f:
                    content = f.read()
            record += _record(path, content)
            _add(z, path, content)
        _add(z, f"{dist}/RECORD", f"{record}{dist}/RECORD,,\n".encode())
    os.replace(os.path.join(folder, target + ".part"), os.path.join(folder, target))
    return target


def _add(z, name, data):
    entry = zipfile.ZipInfo(name)  # of 1980: the time of building is no part of it
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if ".so" in name else 0o100644) << 16
    z.writestr(entry, data)


def modules(root):
    """The package's files below python/ndock (name in the wheel: path)."""
    found = {}
    for folder, folders, names in os.walk(root, followlinks=True):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        for name in names:
            if name.endswith((".py", ".pyi", ".typed")):
                path = os.path.join(folder, name)
                found["ndock/" + os.path.relpath(path, root)] = path
    return found


def core_headers(top, version):
    """Lines of METADATA for the package ndock itself, with README.md as its description."""
    minor = ".".join(version.split(".")[:2])
    with open(os.path.join(top, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    return ["Summary: N-dimensional arrays whose devices are plug-ins", "Requires-Python: >=3.11",
            "Provides-Extra: cuda", f'Requires-Dist: ndock-cuda13=={minor}.*; extra == "cuda"',
            "Description-Content-Type: text/markdown", "", readme]


def licences(top, bundled):
    """Files of dist-info: ours, and those of bundled libraries where Debian keeps them."""
    found = {"licenses/LICENSE": os.path.join(top, "LICENSE")}
    for library in bundled:
        package = os.path.basename(library).split(".so")[0] + library.rsplit(".", 1)[1]
        notice = f"/usr/share/doc/{package}/copyright"
        if os.path.exists(notice):
            found[f"licenses/{package}.txt"] = notice
    if bundled and os.path.exists("/usr/share/common-licenses/GPL-3"):
        found["licenses/GPL-3.txt"] = "/usr/share/common-licenses/GPL-3"
    return found


def core(args):
    """The package with the library, the CPU plug-in, and what these need beyond the system."""
    files = modules(args.package)
    files["ndock/" + os.path.basename(args.extension)] = args.extension
    files["ndock/lib/libndock.so.0"] = args.library
    files["ndock/lib/ndock/plugins-0/ndock-cpu.so"] = args.plugin
    for library in args.bundle:
        files["ndock/lib/" + os.path.basename(library)] = library
    for folder in args.headers:
        for name in sorted(os.listdir(folder)):
            if name.endswith((".h", ".def")):
                files["ndock/include/ndock/" + name] = os.path.join(folder, name)
    tag = f"{python_tag()}-{platform_tag(files)}"
    return write(args.out, "ndock", args.version, tag, files, core_headers(args.top, args.version), licences(args.top, args.bundle))


def plugin(args):
    """A plug-in alone, as the distribution ndock-NAME, found through the entry point group ndock.plugins."""
    package, file = f"ndock_{args.name}", os.path.basename(args.plugin)
    minor = ".".join(args.version.split(".")[:2])
    source = (f'"""The plug-in {file} for ndock, which finds it by the entry point."""\n'
              f'import os\n\n\ndef path() -> str:\n    """The plug-in\'s file."""\n'
              f'    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "{file}")\n')
    files = {f"{package}/__init__.py": source.encode(), f"{package}/{file}": args.plugin}
    tag = "py3-none-" + platform_tag({f"{package}/{file}": args.plugin})
    info = {"entry_points.txt": f"[ndock.plugins]\n{args.name} = {package}:path\n".encode(), **licences(args.top, [])}
    headers = [f"Summary: {file}, a plug-in of ndock", "Requires-Python: >=3.11", f"Requires-Dist: ndock=={minor}.*"]
    return write(args.out, f"ndock-{args.name}", args.version, tag, files, headers, info)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["core", "plugin"])
    for option in ("top", "version", "plugin", "out"):
        parser.add_argument("--" + option, required=True)
    for option in ("name", "package", "extension", "library"):
        parser.add_argument("--" + option)
    for option in ("headers", "bundle"):
        parser.add_argument("--" + option, nargs="*", default=[])
    args = parser.parse_args()
    print(os.path.join(args.out, core(args) if args.what == "core" else plugin(args)))


if __name__ == "__main__":
    main()
