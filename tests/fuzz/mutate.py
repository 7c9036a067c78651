#!/usr/bin/env python3
"""Runs the whole program on shipped files that were changed with knowledge of their structure: keys, values, units,
nesting, types, options, rows of sweep.db.

    mutate.py PROGRAM SOURCE_DIR [--seconds N] [--seed S] [--jobs J] [--out DIR] [--case I]

Every case must end with a documented exit code, never by a signal or as a bug (70), and without control characters in
what it prints. Errors say where they are; figures of a run are finite and obey what holds of all runs (`check_figures`).
A case depends on its seed and number alone: --case repeats one and keeps its folder in --out."""

import argparse
import collections
import contextlib
import html
import itertools
import json
import math
import multiprocessing
import os
import pathlib
import queue
import random
import re
import resource
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import yaml

EXIT_CODES = {0, 1, 2, 3, 4, 5}
WRONG_INPUT, BUG = 3, 70
# A simulation may be made as long as one likes; it is ended then and counts as nothing.
CPU_LIMIT_S = 20
MEMORY_LIMIT = 4 << 30
LARGEST_OUTPUT = 8 << 20
WRONG_MEMORY = "too little memory"
SANITIZED_LIMIT = "hard rss limit exhausted"
ANNOUNCED_MEMORY = re.compile(r"note: [0-9,]+ [^;]* take [0-9.]+ GB")
QUANTITY = re.compile(r"^(-?[0-9.]+(?:e[-+]?[0-9]+)?) ?([a-zA-Z%/]+)$")
EDGES = ["0", "-1", "1", "2", "3", "7", "0.5", "1e-9", "1e-300", "1e300", "1e999", "65536", "2147483647", "2147483648",
         "9223372036854775808", "18446744073709551616", ".nan", ".inf", "", "~", "true", "none", "auto", "x", "0x10", "1_000",
         "../x", "/dev/null", "/", "a" * 300, "1..8", "1..8 times 2", "gpu[0-7]", "-0", "1e", "\x1b[31m", "\u009b", "\ud7ff", "=1+1"]
UNITS = ["GB/s", "Gbps", "MB/s", "TB/s", "us", "ms", "ns", "s", "h", "GiB", "MiB", "B", "GB", "TFLOP/s", "GFLOP", "W", "kW",
         "USD", "samples/s", "tokens/s", "%", "J", "pJ"]
KINDS = {"platform": "platforms", "gpu": "platforms/gpus", "processor": "platforms/processors",
         "protocols": "platforms/protocols", "machines": "workloads/published/machines",
         "runs": "workloads/published/runs", "model": "workloads/models", "stack": "workloads/stacks",
         "software": "workloads/software", "experiment": "workloads/experiments", "sweep": "workloads/sweeps"}


class Tree:
    """Changes of a YAML tree, as yaml.compose() makes it. JSON is YAML, too."""

    def __init__(self, rng, words, root):
        self.rng, self.words, self.root = rng, words, root

    def nodes(self, node=None, depth=0):
        node = node or self.root
        if depth < 20:
            yield node
            if isinstance(node, yaml.MappingNode):
                for _, value in node.value:
                    yield from self.nodes(value, depth + 1)
            elif isinstance(node, yaml.SequenceNode):
                for value in node.value:
                    yield from self.nodes(value, depth + 1)

    def scalar(self, text, style=None):
        return yaml.ScalarNode("tag:yaml.org,2002:str", text, style=style)

    def other_value(self, text):
        match, rng = QUANTITY.match(text), self.rng
        if rng.random() < 0.15 or not text:
            return rng.choice(EDGES)
        if match:
            number, unit = match.groups()
            if rng.random() < 0.1:
                unit = rng.choice(UNITS)
            else:
                number = self.other_number(number)
            return f"{number} {unit}"
        with contextlib.suppress(ValueError):
            float(text)
            return self.other_number(text)
        return rng.choice(self.words) if rng.random() < 0.7 else text[: rng.randrange(len(text) + 1)]

    def other_number(self, text):
        try:
            number = float(text) * self.rng.choice([0, -1, 0.5, 0.5, 2, 2, 3, 10, 10, 0.1, 1000, 1e-3, 1e6, 1e-6, 1e-12, 1e12])
        except ValueError:
            return text
        return str(int(number)) if abs(number) < 1e15 and number == int(number) else repr(number)

    def replacement(self):
        rng = self.rng
        return rng.choice([
            lambda: self.scalar(rng.choice(EDGES)),
            lambda: yaml.SequenceNode("tag:yaml.org,2002:seq", [self.scalar(rng.choice(EDGES)) for _ in range(rng.randrange(4))], flow_style=True),
            lambda: yaml.MappingNode("tag:yaml.org,2002:map", [(self.scalar(rng.choice(self.words)), self.scalar(rng.choice(EDGES)))], flow_style=True),
            lambda: rng.choice(list(self.nodes())),
        ])()

    def change_mapping(self, node):
        rng, entries = self.rng, node.value
        at = rng.randrange(len(entries)) if entries else 0
        change = rng.randrange(6)
        if change == 0 or not entries:
            entries.insert(at, (self.scalar(rng.choice(self.words)), self.replacement()))
        elif change == 1:
            del entries[at]
        elif change == 2:
            entries.append(entries[at])
        elif change == 3:
            other = rng.randrange(len(entries))
            (a, b), (c, d) = entries[at], entries[other]
            entries[at], entries[other] = (a, d), (c, b)
        elif change == 4:
            entries[at] = (self.scalar(rng.choice(self.words)), entries[at][1])
        else:
            entries[at] = (entries[at][0], self.replacement())

    def change_sequence(self, node):
        rng, items = self.rng, node.value
        at = rng.randrange(len(items)) if items else 0
        change = rng.randrange(4)
        if change == 0 or not items:
            items.insert(at, self.replacement())
        elif change == 1:
            del items[at]
        elif change == 2:
            items.extend(items[at : at + 1] * rng.choice([1, 2, 40]))
        else:
            items[at] = self.replacement()

    def change(self):
        """Values most of the time: what is wrong in form is refused early."""
        nodes = list(self.nodes())
        scalars = [node for node in nodes if isinstance(node, yaml.ScalarNode)]
        node = self.rng.choice(scalars if scalars and self.rng.random() < 0.7 else nodes)
        if isinstance(node, yaml.MappingNode):
            self.change_mapping(node)
        elif isinstance(node, yaml.SequenceNode):
            self.change_sequence(node)
        else:
            node.value = self.other_value(node.value)
            node.tag = "tag:yaml.org,2002:str"
            node.style = node.style if self.rng.random() < 0.5 else None


class PlainDumper(yaml.SafeDumper):
    """Writes scalars as they were, without the quotes that a text called '12' would need."""

    def choose_scalar_style(self):
        text = self.event.value
        is_plain = self.event.style is None and re.fullmatch(r"[\w./%=+-][\w ./%=+-]*", text, re.ASCII) and text == text.strip()
        return "" if is_plain else super().choose_scalar_style()


def changed_yaml(rng, text, words, changes):
    tree = Tree(rng, words, yaml.compose(text, Loader=yaml.SafeLoader))
    for _ in range(changes):
        tree.change()
    try:
        return yaml.serialize(tree.root, Dumper=PlainDumper, allow_unicode=True, width=1e9)
    except (RecursionError, yaml.YAMLError, ValueError):  # a node below itself
        return text


def changed_json(rng, value, changes):
    """A JSON value in which some parts were replaced, removed or repeated."""
    for _ in range(changes):
        parents = []

        def walk(node, parents=parents):
            if isinstance(node, (dict, list)) and node:
                parents.append(node)
                for one in node.values() if isinstance(node, dict) else node:
                    walk(one)

        walk(value)
        if not parents:
            return value
        parent = rng.choice(parents)
        key = rng.choice(list(parent)) if isinstance(parent, dict) else rng.randrange(len(parent))
        old = parent[key]
        change = rng.randrange(5)
        if change == 0:
            del parent[key]
        elif change == 1 and isinstance(old, (int, float)) and not isinstance(old, bool):
            parent[key] = rng.choice([0, -1, old * 2, old * 1000, -old, 1e300, 2**63, 2**64, 0.5])
        elif change == 2:
            other = rng.choice(parents)
            parent[key] = json.loads(json.dumps(rng.choice(list(other.values()) if isinstance(other, dict) else other)))
        elif change == 3 and isinstance(parent, list):
            parent.insert(key, json.loads(json.dumps(old)))
        else:
            parent[key] = rng.choice([None, True, "", "x" * 50, [], {}, 1.5, -3, "\x1b[2J", 2**53])
    return value


def changed_lines(rng, text, words):
    """Lines and cells of a text without structure."""
    lines = text.split("\n")[:400]
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(lines))
        cells = lines[at].split(",")
        cell = rng.randrange(len(cells))
        change = rng.randrange(6)
        if change == 0:
            del lines[at : at + rng.choice([1, 3])]
        elif change == 1:
            lines.insert(at, rng.choice(lines))
        elif change == 2:
            del cells[cell]
            lines[at] = ",".join(cells)
        elif change == 3:
            cells[cell] = rng.choice(EDGES + words)
            lines[at] = ",".join(cells)
        elif change == 4:
            cells.insert(cell, rng.choice(cells))
            lines[at] = ",".join(cells)
        else:
            cells[cell] = cells[cell][: rng.randrange(len(cells[cell]) + 1)]
            lines[at] = ",".join(cells)
        lines = lines or [""]
    return "\n".join(lines)


def words_of(schema):
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "properties":
                yield from value
            if key in ("enum", "examples"):
                yield from (word for word in value if isinstance(word, str))
            yield from words_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from words_of(value)


class Case:
    """A folder, and the commands to run in it one after the other."""

    def __init__(self, rng, folder):
        self.rng, self.folder = rng, folder
        self.commands, self.environment = [], {}

    def put(self, name, content):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return name

    def search_here(self):
        """Files in this folder's platforms/ and workloads/ replace shipped ones."""
        for name in ("platforms", "workloads"):
            (self.folder / name).mkdir(exist_ok=True)
        self.environment["TRAINYARD_DATA"] = "."

    def call(self, *words):
        self.commands.append(list(words))


class Cases:
    """What is shipped, and how cases are made of it."""

    def __init__(self, program, source, folder):
        self.program, self.source, self.folder = program, source, folder
        self.files = {kind: sorted((source / place).glob("*.yaml")) for kind, place in KINDS.items()}
        self.words = {kind: sorted(set(words_of(json.loads(self.ask("schema", kind))))) for kind in KINDS}
        self.keys = [(key["key"], key["value"]) for key in json.loads(self.ask("keys", "--json"))["keys"]]
        self.commands = [line.split("\t")[0] for line in self.ask("__complete", "").splitlines()[1:]]
        self.options = {command: self.options_of(command) for command in self.commands}
        self.kinds = [(self.experiment, 5), (self.named_file, 7), (self.set_keys, 4), (self.platform, 3), (self.model, 2),
                      (self.sweep, 2), (self.store, 2), (self.saved_run, 2), (self.trace, 2), (self.measurements, 1),
                      (self.profile, 3), (self.arguments, 3), (self.rules, 1), (self.simgrid, 1)]
        self.make_saved()

    def ask(self, *words, cwd=None):
        return subprocess.run([self.program, *words], capture_output=True, text=True, check=True, cwd=cwd).stdout

    def options_of(self, command):
        lines = self.ask("__complete", command, "--").splitlines()[1:]
        return [line.split("\t")[0] for line in lines if line.split("\t")[0] not in ("--slurm", "--submit")]

    def make_saved(self):
        """A run, a run of many updates and a sweep, as the program writes them."""
        for name, sync in (("run", "{}"), ("updates", "{kind: parameter_server, update: async}")):
            self.ask("run", "--model", "alexnet", "--platform", "ac922", "--batch", "8", "--set", f"sync={sync}", "--set",
                     "steps={warmup: 2, measured: 5, repeats: 2}" if name == "updates" else "nodes=2", "--out", name,
                     "--no-page", "--no-usage", cwd=self.folder)
        self.small_sweep = "experiment: resnet50_ac922\nset: {nodes: 2, fidelity: closed}\nvary:\n  batch_per_gpu: [8, 16]\n  gpus: [1, 2, 9]\n"
        (self.folder / "s.yaml").write_text(self.small_sweep, encoding="utf-8")
        subprocess.run([self.program, "sweep", "s.yaml", "--out", "sweep"], cwd=self.folder, capture_output=True, check=False)

    def make(self, rng, folder):
        case = Case(rng, folder)
        makers, weights = zip(*self.kinds)
        rng.choices(makers, weights)[0](case)
        return case

    # Each of the following makes one kind of case.

    def changed(self, rng, kind, file):
        text = file.read_text(encoding="utf-8")
        if rng.random() < 0.1:
            return changed_lines(rng, text, self.words[kind])
        return changed_yaml(rng, text, self.words[kind], rng.choice([1, 1, 1, 1, 2, 2, 3, 8]))

    def simulate(self, case, name, more=()):
        """One of the commands that take an experiment."""
        fidelity = case.rng.choice([[], [], ["--fidelity", "closed"], ["--fidelity", "rounds"], ["--fidelity", "messages"]])
        case.call(*case.rng.choices([
            ["run", name, "--json", "--no-usage", *fidelity, *more],
            ["run", name, "--out", "out", "--no-page", "--force", *more],
            ["memory", name, *more], ["trace", name, "-o", "t.csv", "--force", *more], ["explain", name, *more],
            ["run", name, *more], ["export", "chakra", name, "-o", "et", *more], ["export", "hta", name, "-o", "hta", *more],
        ], [10, 2, 2, 2, 2, 2, 1, 1])[0])

    def experiment(self, case):
        file = case.rng.choice(self.files["experiment"])
        name = case.put("workloads/experiments/e.yaml", self.changed(case.rng, "experiment", file))
        case.search_here()
        case.call("check", name)
        self.simulate(case, name)

    def named_file(self, case):
        """A file of the catalogue that an experiment uses, replaced by a changed copy."""
        rng = case.rng
        experiment = rng.choice(self.files["experiment"])
        kind = rng.choice(["platform", "gpu", "protocols", "model", "stack", "software"])
        used = experiment.read_text(encoding="utf-8")
        name = re.search(rf"^{kind}: (\w+)", used, re.M)
        if kind == "gpu":
            platform = re.search(r"^platform: (\w+)", used, re.M)
            text = (self.source / KINDS["platform"] / f"{platform.group(1)}.yaml").read_text(encoding="utf-8") if platform else ""
            name = re.search(r"profile: (\w+)", text)
        file = self.source / KINDS[kind] / f"{name.group(1) if name else 'none'}.yaml"
        if not file.exists():
            file = rng.choice(self.files[kind])
        copy = case.put(f"{KINDS[kind]}/{file.name}", self.changed(rng, kind, file))
        for table in file.parent.glob("*.csv"):  # named relative to the file
            if table.name in file.read_text(encoding="utf-8"):
                (case.folder / KINDS[kind] / table.name).symlink_to(table)
        case.search_here()
        case.call("check", copy)
        self.simulate(case, experiment.stem)

    def value_for(self, rng, description):
        whole = re.match(r"whole number, (-?\d+) to ([\d.e+]+)", description)
        if rng.random() < 0.15:
            return rng.choice(EDGES)
        if whole:
            low = int(whole.group(1))
            return str(rng.choice([low, low + 1, 2, 3, 4, 8, 16, 64, int(float(whole.group(2)))]))
        if "," in description and not description.startswith(("number", "text")):
            return rng.choice([word.strip() for word in description.split(",")])
        return rng.choice([f"{rng.choice(['0', '1', '2.5', '100', '1e-3', '1e6'])} {rng.choice(UNITS)}",
                           rng.choice(["0", "0.5", "1", "2", "100"]), rng.choice(self.words["experiment"]), "[1, 2]", "{}"])

    def overrides(self, rng):
        for _ in range(rng.choice([1, 2, 2, 3, 5])):
            key, description = rng.choice(self.keys)
            key = re.sub(r"\[\]|\[N\]", lambda _: f"[{rng.randrange(3)}]", key)
            yield from ("--set", f"{key}={self.value_for(rng, description)}")

    def set_keys(self, case):
        name = case.rng.choice(self.files["experiment"]).stem
        self.simulate(case, name, list(self.overrides(case.rng)))

    def platform(self, case):
        rng = case.rng
        file = rng.choice(self.files["platform"])
        copy = case.put(f"platforms/{file.name}", self.changed(rng, "platform", file))
        case.search_here()
        operation = rng.choice(["all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "send_recv"])
        algorithm = rng.choice(["auto", "auto", "ring", "tree", "chain", "torus2d", "hierarchical", "halving_doubling", "direct", "nvls"])
        case.call("topology", copy, *rng.choice([[], ["--dot"]]))
        case.call("collective", operation, "--platform", copy, "--nodes", rng.choice(["1", "2", "3", "8"]), "-b", "8", "-e", "64M",
                  "-f", "64", "--algorithm", algorithm, *rng.choice([[], ["--nccl", "none"], ["--fidelity", "closed"]]), "--json")

    def model(self, case):
        file = case.rng.choice(self.files["model"])
        copy = case.put(f"workloads/models/{file.name}", self.changed(case.rng, "model", file))
        case.call("model", copy, "--batch", case.rng.choice(["1", "2", "64"]))
        self.simulate(case, "resnet50_dgx2", ["--set", f"model={copy}"])

    def sweep(self, case):
        rng = case.rng
        text = changed_yaml(rng, self.small_sweep, self.words["sweep"] + self.words["experiment"], rng.choice([1, 1, 2, 4]))
        case.put("s.yaml", text)
        case.call("check", "s.yaml")
        case.call("sweep", "s.yaml", "-j", "1", *rng.choice([["--json"], ["--out", "o"], []]))

    def store(self, case):
        rng = case.rng
        shutil.copytree(self.folder / "sweep", case.folder / "o")
        case.put("s.yaml", self.small_sweep)
        file = case.folder / "o" / "sweep.db"
        if rng.random() < 0.3:
            content = bytearray(file.read_bytes())
            for _ in range(rng.choice([1, 3, 20])):
                content[rng.randrange(len(content))] = rng.randrange(256)
            file.write_bytes(content[: rng.choice([len(content)] * 4 + [rng.randrange(len(content))])])
        else:
            self.change_rows(rng, file)
        case.call("sweep", "s.yaml", "--out", "o", "-j", "1", rng.choice(["--resume", "--merge"]))

    def change_rows(self, rng, file):
        with contextlib.closing(sqlite3.connect(file)) as database:
            columns = [row[1] for row in database.execute("PRAGMA table_info(points)")]
            for _ in range(rng.choice([1, 2])):
                value = rng.choice(["NULL", "1e999", "-1", "0", "x'00ff'", "'a'", "9223372036854775807", "point + 100", "0.1", "char(27)"])
                statement = rng.choice([
                    f"UPDATE points SET \"{rng.choice(columns)}\" = {value} WHERE point = {rng.randrange(6)}",
                    f"DELETE FROM points WHERE point = {rng.randrange(6)}",
                    f"UPDATE files SET hash = {value}", f"UPDATE sweep SET value = {value} WHERE rowid = {rng.randrange(1, 5)}",
                    f"ALTER TABLE points DROP COLUMN \"{rng.choice(columns)}\"", "DROP TABLE files",
                    f"INSERT INTO points(point, status) VALUES({rng.randrange(9)}, {value})",
                    "CREATE TRIGGER t BEFORE INSERT ON points BEGIN DELETE FROM points; END",
                    "ALTER TABLE points RENAME TO p; CREATE VIEW points AS SELECT * FROM p",
                ])
                with contextlib.suppress(sqlite3.Error):
                    database.executescript(statement)
            database.commit()

    def saved_run(self, case):
        rng = case.rng
        name = rng.choice(["run", "updates"])
        shutil.copytree(self.folder / name, case.folder / name)
        summary = case.folder / name / "summary.json"
        value = changed_json(rng, json.loads(summary.read_text(encoding="utf-8")), rng.choice([1, 1, 2, 5]))
        summary.write_text(json.dumps(value), encoding="utf-8")
        if rng.random() < 0.3:
            text = (case.folder / name / "experiment.resolved.yaml").read_text(encoding="utf-8")
            case.put(f"{name}/experiment.resolved.yaml", changed_yaml(rng, text, self.words["experiment"], 1))
        case.call("compare", name, str(self.folder / "run"), *rng.choice([[], ["--json"]]))
        case.call("explain", name)

    def trace(self, case):
        rng = case.rng
        folder, pattern = rng.choice([("workloads/traces", "*.csv"), ("tests/validation/gpu/h200_traces", "vgg*.csv")])
        file = rng.choice(sorted((self.source / folder).glob(pattern)))
        case.put("t.csv", changed_lines(rng, file.read_text(encoding="utf-8"), self.words["experiment"]))
        case.call("check", "t.csv")
        self.replay(case)

    def replay(self, case):
        case.call("run", "resnet50_dgx2", "--set", "model=none", "--set", "trace=t.csv", "--json", "--no-usage")

    def measurements(self, case):
        rng = case.rng
        file = rng.choice(sorted((self.source / "workloads/published").glob("*.csv")))
        case.put("p.csv", changed_lines(rng, file.read_text(encoding="utf-8")[:6000], ["all_reduce", "V100-SXM2-16GB"]))
        case.call("validate", "p.csv", *rng.choice([[], ["--json"], ["--summary"]]))

    def profile(self, case):
        rng = case.rng
        command, file = rng.choice([("kineto", "worker0.pt.trace.json"), ("et", "execution_trace.json"), ("horovod", "timeline.json")])
        written = (self.source / "tests/imports" / file).read_text(encoding="utf-8").rstrip().rstrip(",")
        value = json.loads(written if command != "horovod" else written + "]")  # Horovod never closes its list
        text = json.dumps(changed_json(rng, value, rng.choice([1, 2, 5, 20])))
        case.put(file, text if rng.random() < 0.9 else text[: rng.randrange(len(text))])
        out = [] if command == "horovod" else ["-o", "t.csv", *rng.choice([[], ["--host-gaps"]]), *rng.choice([[], ["--batch", "8"]])]
        case.call("import", command, file, *out, *rng.choice([[], ["--json"]]))
        if out:
            self.replay(case)

    def simgrid(self, case):
        """Values and lines of a platform of SimGrid, which ends its process at some mistakes."""
        rng = case.rng
        text = rng.choice(sorted((self.source / "tests/fuzz/corpus/simgrid").glob("*.xml"))).read_text(encoding="utf-8")
        tree = Tree(rng, re.findall(r'"([^"]*)"', text), None)
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            value = rng.choice(list(re.finditer(r'"([^"]*)"', text)))
            text = text[: value.start(1)] + html.escape(tree.other_value(value[1])) + text[value.end(1) :]
        case.put("x.xml", text if rng.random() < 0.8 else changed_lines(rng, text, ["<link_ctn id=\"l1\"/>", "</zone>"]))
        case.call("init", "platform", "x.xml", "--gpu", "v100_sxm2_16gb", "-o", "own.yaml")
        case.call("topology", "own.yaml")

    def rules(self, case):
        kind = case.rng.choice(["machines", "runs", "processor", "sweep"])
        copy = case.put(f"{KINDS[kind]}/x.yaml", self.changed(case.rng, kind, case.rng.choice(self.files[kind])))
        case.call("check", copy)

    def arguments(self, case):
        """Any command with any of its options, and values that are offered for them, or not."""
        rng = case.rng
        command = rng.choice([name for name in self.commands if name not in ("calibrate", "validate", "learn")])
        words = [command]
        positional = {"run": "resnet50_dgx2", "memory": "bert_base_tianshu", "topology": "dgx2", "model": "alexnet", "collective": "all_reduce",
                      "schema": "stack", "keys": "sync", "list": "gpus", "explain": "bert_base_p3dn", "completion": "zsh"}
        if rng.random() < 0.8 and command in positional:
            words.append(positional[command])
        if command == "collective" and rng.random() < 0.9:
            words += ["--platform", rng.choice(self.files["platform"]).stem]
        for _ in range(rng.randrange(5)):
            option = rng.choice(self.options[command] or ["--x"])
            words.append(option)
            offered = [line.split("\t")[0] for line in self.ask("__complete", *words, "").splitlines()[1:]]
            if rng.random() < 0.85:
                words.append(rng.choice(EDGES if rng.random() < 0.4 or not offered else offered))
        words = [word.encode("utf-8", "replace").decode() for word in words]
        words = [word if not word.startswith("/") and ".." not in word else "x" for word in words]
        if rng.random() < 0.1:
            words.insert(0, "__complete")
        case.call(*words)


class Program:
    """Runs commands with limits, and says what is wrong with their ends."""

    def __init__(self, program):
        self.program = program
        limited = subprocess.run([program, "--version"], capture_output=True, check=False, preexec_fn=self.limit)
        self.is_sanitized = limited.returncode != 0  # it reserves terabytes of addresses

    def limit(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S + 5))
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_OUTPUT * 64, LARGEST_OUTPUT * 64))
        if not getattr(self, "is_sanitized", False):
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))

    def run(self, words, folder, environment):
        """Exit code (None: took too long), stdout and stderr."""
        options = "malloc_context_size=8:quarantine_size_mb=16:hard_rss_limit_mb=4096:allocator_may_return_null=0"
        environment = {**os.environ, "ASAN_OPTIONS": options, **environment}
        with (folder / ".stdout").open("w+b") as out, (folder / ".stderr").open("w+b") as err:
            process = subprocess.Popen([self.program, *words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err, start_new_session=True, preexec_fn=self.limit)
            try:
                code = process.wait(timeout=6 * CPU_LIMIT_S)
            except subprocess.TimeoutExpired:
                code = None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            out.seek(0)
            err.seek(0)
            return (None if code == -signal.SIGXCPU or code == -signal.SIGKILL else code), out.read(LARGEST_OUTPUT), err.read(LARGEST_OUTPUT)


SHARES = ["gpu_utilization", "network_utilization", "link_utilization_max", "cpu_utilization", "storage_utilization",
          "memory_utilization", "bubble_share"]


def check_figures(text):
    """What is wrong with the figures of a run, or nothing."""
    def refuse(word):
        raise ValueError(word)

    try:
        summary = json.loads(text, parse_constant=refuse)
    except ValueError as error:
        return f"not JSON: {error}"
    for name, value in summary.items():
        if isinstance(value, float) and not math.isfinite(value):
            return f"{name} is {value}"
    for name in SHARES:
        if not 0 <= (summary.get(name) or 0) <= 1 + 1e-9:
            return f"{name} is {summary[name]}"
    step, bound = summary.get("step_time_s"), summary.get("lower_bound_s")
    if step is None or step <= 0:
        return f"step_time_s is {step}"
    if bound is not None and step < bound * (1 - 1e-9):
        return f"the step of {step} s is shorter than its bound of {bound} s"
    for name in ("compute_time_s", "communication_time_s", "energy_per_step_j", "memory_peak_bytes", "exposed_input_s"):
        if (summary.get(name) or 0) < 0:
            return f"{name} is {summary[name]}"
    rate = summary.get("throughput_samples_per_s")
    if rate and abs(rate * step / summary["global_batch"] - 1) > 1e-6 and not summary.get("update_rule"):
        return "throughput is not global_batch / step_time_s"
    return None


def judge(words, code, out, err):
    """What is wrong with the end of a command, or nothing."""
    text = err.decode("utf-8", "replace")
    if code == BUG and WRONG_MEMORY in text:
        return None
    if SANITIZED_LIMIT in text and ANNOUNCED_MEMORY.search(" ".join(text.split())):
        return None  # it said that it would need gigabytes
    if code not in EXIT_CODES:
        return f"exit code {code}"
    if "Sanitizer" in text or "runtime error:" in text:
        return "a sanitizer's report"
    if code == WRONG_INPUT and "error:" not in text:
        return "exit code 3 without an error"
    for name, stream in (("stdout", out), ("stderr", err)):
        if words[0] not in ("__complete", "manual") and re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", stream):
            return f"control characters on {name}"
    if code == 0 and words[0] == "run" and "--json" in words:
        return check_figures(out)
    return None


class Fuzzer:
    def __init__(self, program, source, out, seed):
        self.program, self.source, self.out, self.seed = Program(program), source, out, seed
        self.scratch = tempfile.TemporaryDirectory(prefix="trainyard-mutate-")
        self.cases = Cases(program, source, pathlib.Path(self.scratch.name))
        self.findings, self.outcomes, self.slow = [], collections.Counter(), []

    def case(self, number, is_kept=False):
        rng = random.Random(f"{self.seed}.{number}")
        with tempfile.TemporaryDirectory(prefix="trainyard-case-") as name:
            folder = pathlib.Path(name)
            case = self.cases.make(rng, folder)
            script = "".join(f"{shlex.join([self.program.program, *words])}\n" for words in case.commands)
            (folder / "command.sh").write_text(
                "".join(f"export {key}={value}\n" for key, value in case.environment.items()) + script, encoding="utf-8")
            for words in case.commands:
                code, out, err = self.program.run(words, folder, case.environment)
                wrong = None if code is None else judge(words, code, out, err)
                self.outcomes["too long" if code is None else code] += 1
                if code is None:
                    self.slow.append(f"case {number}: {shlex.join(words)}")
                if is_kept:
                    print(shlex.join(words), "->", code, wrong or "")
                if wrong is None and words[0] == "check" and code == WRONG_INPUT:
                    break
                if wrong:
                    self.keep(number, folder, words, f"{wrong}: {err.decode('utf-8', 'replace')[:300]}")
                    break
            if is_kept:
                shutil.copytree(folder, self.out / f"case-{self.seed}.{number}", symlinks=True, dirs_exist_ok=True)

    def keep(self, number, folder, words, wrong):
        kept = self.out / f"case-{self.seed}.{number}"
        shutil.copytree(folder, kept, symlinks=True, dirs_exist_ok=True)
        self.findings.append(f"{kept}: {shlex.join(words)}\n  {wrong}")

    def work(self, first, jobs, end, results):
        """Every jobs-th case, until `end`; its own process, so that limits can be set between fork and exec."""
        for number in itertools.count(first, jobs):
            if time.monotonic() > end:
                break
            self.case(number)
        results.put((self.findings, self.outcomes, self.slow))

    def run(self, seconds, jobs):
        end, context = time.monotonic() + seconds, multiprocessing.get_context("fork")
        results = context.Queue()
        workers = [context.Process(target=self.work, args=(first, jobs, end, results)) for first in range(jobs)]
        for worker in workers:
            worker.start()
        done = 0
        while done < jobs:
            try:
                findings, outcomes, slow = results.get(timeout=1)
            except queue.Empty:
                if any(worker.exitcode for worker in workers):
                    sys.exit("mutate.py: a worker failed")
                continue
            self.findings += findings
            self.outcomes.update(outcomes)
            self.slow += slow
            done += 1
        for worker in workers:
            worker.join()


def fuzz_program(program, source, out, seconds, seed, jobs):
    """The findings, one text each."""
    begun = time.monotonic()
    fuzzer = Fuzzer(program, source, out, seed)
    fuzzer.run(seconds, jobs)
    ends = ", ".join(f"{code}: {count}" for code, count in sorted(fuzzer.outcomes.items(), key=str))
    print(f"program: {sum(fuzzer.outcomes.values())} runs in {time.monotonic() - begun:.0f} s; exit codes {ends}", flush=True)
    for slow in fuzzer.slow:
        print(f"  more than {CPU_LIMIT_S} s: {slow[:200]}", flush=True)
    return fuzzer.findings


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("findings"))
    parser.add_argument("--case", type=int, help="only this case, kept in --out")
    arguments = parser.parse_args()
    program, source, out = str(pathlib.Path(arguments.program).resolve()), arguments.source.resolve(), arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if arguments.case is not None:
        Fuzzer(program, source, out, arguments.seed).case(arguments.case, is_kept=True)
        return
    findings = fuzz_program(program, source, out, arguments.seconds, arguments.seed, arguments.jobs)
    for finding in findings:
        print(finding, file=sys.stderr)
    if findings:
        sys.exit(f"{len(findings)} findings")


if __name__ == "__main__":
    main()
