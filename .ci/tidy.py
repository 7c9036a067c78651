#!/usr/bin/env python3
"""clang-tidy on the sources whose text, or that of a header they include, changed since it last found nothing in them.

usage: tidy.py BUILD_FOLDER CLANG_TIDY JOBS [--fresh | --update]     from the root of the repository

A unity source stands for its folder of sim/. A checksum of each that passed is in .ci/tidy_passed, which is committed:
a fresh clone checks only the sources that changed since. --fresh checks all of them; --update, of ./dev lint, writes the file.
"""

import concurrent.futures
import hashlib
import json
import pathlib
import re
import subprocess
import sys

# Headers that the build precompiles, perhaps later, and sources that it compiles again, watched by sanitizers.
PRECOMPILED = re.compile(r"-Winvalid-pch|-fpch-\S+|-Xclang -fno-pch-timestamp|-Xclang -include(?:-pch)? -Xclang \S+")
AGAIN = re.compile(r"/(?:headers_|watched_)\w+\.dir/")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def closure(source, root):
    """The files of the repository that a source includes, itself among them."""
    found, open_files = set(), [source]
    while open_files:
        file = open_files.pop()
        if file in found or not file.is_file():
            continue
        found.add(file)
        for name in INCLUDE.findall(file.read_text()):
            open_files += [root / "sim" / name, file.parent / name]  # an absolute name stays what it is
    return found


def read_record(path):
    lines = path.read_text().splitlines() if path.is_file() else []
    return dict(line.split() for line in lines if not line.startswith("#"))


def write_record(path, digests):
    lines = ["# checksums of the sources that clang-tidy passed, by folder of sim/: ./dev lint writes them"]
    lines += [f"{name} {digest}" for name, digest in sorted(digests.items())]
    path.write_text("\n".join(lines) + "\n")


def main():
    build, tidy, jobs, options = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    root = pathlib.Path.cwd()
    record = root / ".ci/tidy_passed"
    everything = [root / ".clang-tidy"]  # a change of it concerns all sources
    version = subprocess.run([tidy, "--version"], capture_output=True, check=True).stdout
    passed = {} if "--fresh" in options else read_record(record)

    digests, waiting, commands = {}, [], []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        parts = source.relative_to(root).parts
        is_made = build.name in parts and source.suffix != ".cxx"
        if "sim" not in parts or is_made or AGAIN.search(entry["command"].split(" -o ")[1]):
            continue
        commands.append({**entry, "command": PRECOMPILED.sub("", entry["command"])})
        files = closure(source, root)
        digest = hashlib.sha256(version)
        # Options do not count, nor what lies in the build folder: lists of sources.
        for file in sorted(file for file in files if build.name not in file.relative_to(root).parts) + everything:
            digest.update(f"{file.relative_to(root)}\n".encode() + file.read_bytes())
        # build/sim/CMakeFiles/trainyard_report.dir/Unity/unity_0_cxx.cxx is the folder "trainyard_report"
        name = source.parent.parent.name.removesuffix(".dir") if source.suffix == ".cxx" else source.stem
        digests[name] = digest.hexdigest()
        if passed.get(name) == digests[name]:
            continue
        own = sum(file.stat().st_size for file in files if file.suffix == ".cpp")
        waiting.append((own, name, source))

    database = build / "tidy"
    database.mkdir(exist_ok=True)
    (database / "compile_commands.json").write_text(json.dumps(commands))

    def check(one):
        _, name, source = one
        return name, subprocess.run([tidy, "-p", str(database), "--quiet", str(source)], capture_output=True, text=True, check=False)

    faults = []
    waiting.sort(reverse=True)  # the longest first
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, result in pool.map(check, waiting):
            if result.returncode != 0:
                faults.append(name)
                print(f"{name}:\n{result.stdout}{result.stderr}", flush=True)
    if "--update" in options:
        write_record(record, {name: digest for name, digest in digests.items() if name not in faults})
    print(f"{len(waiting)} of {len(digests)} sources checked, {len(faults)} with faults")
    return 1 if faults else 0


sys.exit(main())
