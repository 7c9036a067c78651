#!/usr/bin/env python3
"""Trains every model on every platform: one node, a batch of one per GPU, the narrowest precision that both have.

    pairs.py PROGRAM SOURCE_DIR [--all] [-j N]

Each pair is an experiment of its own. A sweep simulates them with `memory: ignore`, so that models that are too large
are simulated as well: each point must succeed, with a step no shorter than its lower bound. `check` must accept each
file. `run` decides on memory: it must succeed, or end with 4 because the step does not fit.

By default a sample in which every platform and every model occurs; --all: every pair (5,000 in some two minutes on two
processors), with `run` for the sample only."""

import argparse
import collections
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import yaml

NO_ROOM = 4  # exit code of a job that does not fit
FILES_PER_CHECK = 500


def files_of(folder):
    return {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.yaml"))}


def has_fp16(node, gpus):
    return "gpus" in node and "fp16" in gpus[node["gpus"]["profile"]]["matrix"]


def ranks_of(node):
    count = node["gpus"]["count"] if "gpus" in node else node["devices"]["cpu"]["count"]
    return count["value"] if isinstance(count, dict) else count


def sparse_tables(layers):
    """The names of tables with sparse gradients, which ranks can only divide."""
    entries = [layer for layer in layers if isinstance(layer, dict) and isinstance(layer.get("tables"), dict)]
    return [layer["name"] for layer in entries if layer["tables"].get("sparse")]


def experiment(platform, model, gpus):
    """The text of an experiment that a user would try first."""
    name, node = platform[0], platform[1]["node"]
    keys = {
        "platform": name,
        "nodes": 1,
        "model": model[0],
        "stack": "pytorch_ddp" if "gpus" in node else "pytorch_gloo",
        "precision": "amp" if has_fp16(node, gpus) else "fp32",
        "batch_per_gpu": 1,
    }
    tables = sparse_tables(model[1].get("layers", []))
    if tables and ranks_of(node) > 1:
        keys["parallelism"] = {"layers": [{"match": table, "split": "rows"} for table in tables]}
    return yaml.safe_dump(keys, sort_keys=False)


def pairs_of(platforms, models, is_all):
    if is_all:
        return [(platform, model) for platform in platforms for model in models]
    most = max(len(platforms), len(models))
    return [(platforms[i % len(platforms)], models[i % len(models)]) for i in range(most)]


class Pairs:
    def __init__(self, program, source, folder, is_all):
        self.program, self.folder = program, folder
        platforms, models = files_of(source / "platforms"), files_of(source / "workloads" / "models")
        gpus = files_of(source / "platforms" / "gpus")
        self.names, self.sample = [], []
        sample = set(pairs_of(list(platforms), list(models), False))
        for platform, model in pairs_of(list(platforms), list(models), is_all):
            name = f"{platform}.{model}.yaml"
            text = experiment((platform, platforms[platform]), (model, models[model]), gpus)
            (folder / name).write_text(text, encoding="utf-8")
            self.names.append(name)
            if (platform, model) in sample:
                self.sample.append(name)
        self.faults = []
        self.outcomes = collections.Counter()

    def call(self, *arguments):
        return subprocess.run(
            [self.program, *arguments], cwd=self.folder, capture_output=True, text=True, encoding="utf-8", check=False
        )

    def fault(self, name, what):
        self.faults.append(f"{name}: {what}")

    def sweep(self, jobs):
        text = yaml.safe_dump(
            {"experiment": self.names[0], "set": {"memory": "ignore"}, "vary": {"experiment": self.names}}, width=1e9
        )
        (self.folder / "all.sweep.yaml").write_text(text, encoding="utf-8")
        ended = self.call("sweep", "all.sweep.yaml", "--json", "-j", str(jobs))
        if not ended.stdout:
            self.fault("sweep", f"exit code {ended.returncode}: {ended.stderr[-2000:]}")
            return
        result = json.loads(ended.stdout)
        for row in result["rows"]:
            self.check_row(pathlib.Path(row["keys"]["experiment"]).name, row)
        for row in result["failures"]:
            self.fault(pathlib.Path(row["keys"]["experiment"]).name, f"exit code {row['exit_code']}: {row['reason']}")
        missing = len(self.names) - len(result["rows"]) - len(result["failures"])
        if missing:
            self.fault("sweep", f"{missing} points are missing")

    def check_row(self, name, row):
        for figure in ("step_time_s", "throughput_samples_per_s", "lower_bound_s", "memory_peak_bytes"):
            value = row[figure]
            if value is None or not math.isfinite(value) or value <= 0:
                self.fault(name, f"{figure} is {value}")
                return
        if row["step_time_s"] < row["lower_bound_s"] * (1 - 1e-9):
            self.fault(name, "the step is shorter than its lower bound")
        self.outcomes["simulated"] += 1

    def check(self):
        for first in range(0, len(self.names), FILES_PER_CHECK):
            ended = self.call("check", *self.names[first : first + FILES_PER_CHECK])
            if ended.returncode != 0:
                self.fault("check", f"exit code {ended.returncode}: {ended.stderr[:2000]}")
            self.outcomes["checked"] += len(self.names[first : first + FILES_PER_CHECK])

    def run(self):
        for name in self.sample:
            ended = self.call("run", name, "--json")
            if ended.returncode == 0:
                json.loads(ended.stdout)
                self.outcomes["run"] += 1
            elif ended.returncode == NO_ROOM and re.search("does not fit", ended.stderr):
                self.outcomes["refused by run, for memory"] += 1
            else:
                self.fault(name, f"run: exit code {ended.returncode}: {ended.stderr[:500]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="every pair, not a sample")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="points of the sweep at once (default: 2)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trainyard-pairs-") as folder:
        program = str(pathlib.Path(arguments.program).resolve())
        pairs = Pairs(program, arguments.source, pathlib.Path(folder), arguments.all)
        for act in (lambda: pairs.sweep(arguments.jobs), pairs.check, pairs.run):
            begun = time.monotonic()
            act()
            counts = ", ".join(f"{count} {what}" for what, count in pairs.outcomes.items())
            print(f"{len(pairs.names)} pairs: {counts} ({time.monotonic() - begun:.0f} s)", flush=True)
    for fault in pairs.faults[:100]:
        print(fault, file=sys.stderr)
    if pairs.faults:
        sys.exit(f"{len(pairs.faults)} of {len(pairs.names)} pairs failed")


if __name__ == "__main__":
    main()
