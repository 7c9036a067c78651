#!/usr/bin/env python3
"""clang-tidy on the sources whose text, or that of a header they include, changed since it last found nothing in them.

usage: tidy.py BUILD_FOLDER CLANG_TIDY JOBS        from the root of the repository

A unity source stands for its folder of sim/. Where nothing is recorded in BUILD_FOLDER/passed/ (a fresh clone), the
sources checked are those that changed on this branch, where it has a known origin/main, and all of them where not.
"""

import concurrent.futures
import hashlib
import json
import pathlib
import re
import subprocess
import sys

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


def changed_on_branch(root):
    """Paths that differ from where the branch left origin/main; None where that is not known or is here."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False).stdout.split("\n")

    base, head = git("merge-base", "HEAD", "origin/main")[0], git("rev-parse", "HEAD")[0]
    if not base or base == head:
        return None
    names = git("diff", "--name-only", base) + git("ls-files", "--others", "--exclude-standard")
    return {root / name for name in names if name}


def main():
    build, tidy, jobs = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    root = pathlib.Path.cwd()
    passed = build / "passed" / "tidy"
    everything = [root / ".clang-tidy", root / ".ci/tidy.py"]  # a change of these concerns all sources
    version = subprocess.run([tidy, "--version"], capture_output=True, check=True).stdout
    changed = None if passed.is_dir() else changed_on_branch(root)
    if changed is not None and any(file in changed for file in everything):
        changed = None
    passed.mkdir(parents=True, exist_ok=True)

    waiting = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        if "sim" not in source.relative_to(root).parts or source.name == "page_files.cpp":
            continue
        files = closure(source, root)
        digest = hashlib.sha256(version + entry["command"].encode())
        for file in sorted(files) + everything:
            digest.update(f"{file}\n".encode() + file.read_bytes())
        # build/sim/CMakeFiles/trainyard_report.dir/Unity/unity_0_cxx.cxx is the folder "trainyard_report"
        name = source.parent.parent.name.removesuffix(".dir") if source.suffix == ".cxx" else source.stem
        record = passed / name
        if record.exists() and record.read_text() == digest.hexdigest():
            continue
        if changed is not None and not files & changed:
            continue
        own = sum(file.stat().st_size for file in files if file.suffix == ".cpp")
        waiting.append((own, name, source, record, digest.hexdigest()))

    def check(one):
        _, name, source, record, digest = one
        result = subprocess.run([tidy, "-p", str(build), "--quiet", str(source)], capture_output=True, text=True, check=False)
        if result.returncode == 0:
            record.write_text(digest)
        return name, result

    faults = 0
    waiting.sort(reverse=True)  # the longest first
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, result in pool.map(check, waiting):
            if result.returncode != 0:
                faults += 1
                print(f"{name}:\n{result.stdout}{result.stderr}", flush=True)
    print(f"{len(waiting)} sources checked, {faults} with faults")
    return 1 if faults else 0


sys.exit(main())
