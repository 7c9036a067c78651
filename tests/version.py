#!/usr/bin/env python3
"""One version everywhere: what the program prints, writes into results and pages, CHANGELOG.md's first heading,
CITATION.cff, pyproject.toml.

usage: version.py PROGRAM SOURCE_DIR VERSION        VERSION: CMake's, the definition
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile


def first(pattern, text):
    found = re.search(pattern, text, flags=re.M)
    return found and found.group(1)


def main():
    program, source, version = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]

    def printed(*words):
        return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        printed("run", str(source / "workloads/experiments/resnet50_dgx2.yaml"), "--out", f"{folder}/out", "--set", "gpus=2")
        out = pathlib.Path(folder, "out")
        found = {
            "trainyard --version": printed("--version").removeprefix("trainyard ").strip(),
            "the manual page": first(r'^\.TH .*"trainyard ([^"]*)"', printed("manual")),
            "summary.json, trainyard_version": json.loads((out / "summary.json").read_text()).get("trainyard_version"),
            "report.html": first(r"trainyard ([0-9]+\.[0-9]+\.[0-9]+)", (out / "report.html").read_text()),
            "CHANGELOG.md, first heading": first(r"^## \[(.*?)\]", (source / "CHANGELOG.md").read_text()),
            "CITATION.cff": first(r"^version: (.*)$", (source / "CITATION.cff").read_text()),
            "pyproject.toml": first(r'^version = "(.*)"$', (source / "pyproject.toml").read_text()),
        }
    wrong = {where: what for where, what in found.items() if what != version}
    for where, what in wrong.items():
        print(f"{where}: {what}, and CMakeLists.txt says {version}")
    return 1 if wrong else 0


sys.exit(main())
