#!/usr/bin/env python3
"""Changes the input of the program in ways whose effect is known, and compares the output.

    metamorphic.py PROGRAM SOURCE_DIR [--all | --sample N] [--seed S] [--jobs J]

| relation | expected |
|---|---|
| other units, keys in another order | the same bytes |
| all rates x 2, all times / 2 | half the time, 1e-9 |
| a faster link, with a fixed algorithm | no longer |
| sizes in equal steps, a ring without software | times in equal steps; bus bandwidth as nccl-tests define it |
| figures of one run | related as their definitions say |
| links.csv | bytes out of every node as the algorithm sends, and as many into it |
| fidelities, without contention | equal to 1e-9 (sim/engine/README.md) |
| fidelities of layouts, whose collectives overlap | flow and rounds equal to 1e-9, messages within 1 % |
| fidelities of many updates with servers | flow and rounds equal to 1e-9, messages (SimGrid) to 1e-6 |

By default a sample of shipped experiments and platforms, drawn from one seed; --all: every one."""

import argparse
import concurrent.futures
import csv
import decimal
import io
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import yaml

SAMPLE = 6  # cases of each relation
CLOSE = 1e-9
QUANTITY = re.compile(r"^(-?\d+(?:\.\d+)?) ?([A-Za-z/]+)$")
# Units that differ by a power of ten, or of two: the text of a number is moved without rounding.
SCALES = [("s", "ms", "us", "ns"), ("TB/s", "GB/s", "MB/s", "kB/s"), ("Tbps", "Gbps", "Mbps", "kbps"),
          ("TFLOP/s", "GFLOP/s", "MFLOP/s"), ("TB", "GB", "MB", "kB"), ("kW", "W", "mW")]
BINARY_SCALES = [("GiB", "MiB", "KiB")]
TIMES, RATES = ("s", "ms", "us", "ns"), ("B/s", "bps", "FLOP/s")
FOLDERS = {"platform": "platforms", "gpu": "platforms/gpus", "protocols": "platforms/protocols", "model": "workloads/models",
           "stack": "workloads/stacks", "experiment": "workloads/experiments"}
# Algorithms whose messages do not meet each other, by operation.
ALGORITHMS = {"all_reduce": ("ring", "tree"), "reduce_scatter": ("ring",), "all_gather": ("ring",),
              "broadcast": ("ring", "chain", "tree"), "reduce": ("ring", "chain", "tree"), "all_to_all": ("direct",)}


def is_close(a, b, tolerance=CLOSE):
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def nodes_of(node):
    """Every node of a tree once, though aliases share them."""
    seen, waiting = set(), [node]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, yaml.MappingNode):
            waiting += [value for _, value in one.value]
        elif isinstance(one, yaml.SequenceNode):
            waiting += one.value


def plain(number):
    return format(number.normalize(), "f")


def other_unit(rng, text):
    match = QUANTITY.match(text)
    if not match:
        return text
    number, unit = decimal.Decimal(match.group(1)), match.group(2)
    for scales, step in [(scales, 1000) for scales in SCALES] + [(scales, 1024) for scales in BINARY_SCALES]:
        if unit in scales:
            at = scales.index(unit)
            to = rng.randrange(at, len(scales))  # smaller units: a whole factor
            return f"{plain(number * step ** (to - at))} {scales[to]}"
    return text


def scaled(text):
    """Twice a rate, half a time."""
    match = QUANTITY.match(text)
    if not match:
        return text
    number, unit = decimal.Decimal(match.group(1)), match.group(2)
    if unit in TIMES:
        return f"{plain(number / 2)} {unit}"
    return f"{plain(number * 2)} {unit}" if unit.endswith(RATES) else text


def properties_of(schema):
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "properties":
                yield from value
            yield from properties_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from properties_of(value)


class Rewriter:
    """Shipped files in other words."""

    def __init__(self, call):
        self.keys = {kind: set(properties_of(json.loads(call("schema", kind)))) for kind in FOLDERS}

    def rewritten(self, kind, text, rng=None):
        """With `rng` in other units and another order of keys, otherwise twice as fast."""
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        for node in nodes_of(root):
            if isinstance(node, yaml.ScalarNode) and node.style is None:
                node.value = other_unit(rng, node.value) if rng else scaled(node.value)
            # names chosen by users, in an order that counts, are no keys of the schema
            if rng and isinstance(node, yaml.MappingNode) and all(key.value in self.keys[kind] for key, _ in node.value):
                rng.shuffle(node.value)
        return yaml.serialize(root, Dumper=yaml.SafeDumper, allow_unicode=True, width=1e9)


class Relations:
    def __init__(self, program, source, folder):
        self.program, self.source, self.folder = program, source, folder
        self.rewriter = Rewriter(self.call)
        self.experiments = sorted(file.stem for file in (source / FOLDERS["experiment"]).glob("*.yaml"))
        self.platforms = sorted(file.stem for file in (source / FOLDERS["platform"]).glob("*.yaml"))
        self.faults, self.checked = [], 0
        self.counter = itertools.count()

    def call(self, *words, data=None, codes=(0,)):
        environment = dict(os.environ, TRAINYARD_DATA=str(data)) if data else None
        ended = subprocess.run([self.program, *words], capture_output=True, text=True, encoding="utf-8", check=False,
                               cwd=self.folder, env=environment)
        if ended.returncode not in codes:
            raise RuntimeError(f"{' '.join(words)}: exit code {ended.returncode}: {ended.stderr[:600]}")
        return ended.stdout

    def json(self, *words, **options):
        text = self.call(*words, "--json", codes=(0, 3, 4), **options)
        return json.loads(text) if text else None

    def collective(self, operation, platform, *words, data=None):
        """Rows of the sizes; nothing where the machine cannot run it."""
        result = self.json("collective", operation, "--platform", platform, *words, data=data)
        return result and result["rows"]

    def text(self, kind, name):
        return (self.source / FOLDERS[kind] / f"{name}.yaml").read_text(encoding="utf-8")

    def has_nics(self, platform):
        return "fabric:" in self.text("platform", platform)

    @staticmethod
    def change(old, new):
        return f"{old['time_s']} s became {new['time_s']} s for {old['size_bytes']} bytes"

    def fault(self, relation, what):
        self.faults.append(f"{relation}: {what}")

    def require(self, is_right, relation, what):
        self.checked += 1
        if not is_right:
            self.fault(relation, what)

    def data_folder(self):
        """To be searched before the shipped files: it must have these folders."""
        folder = self.folder / f"data{next(self.counter)}"
        for name in ("platforms", "workloads"):
            (folder / name).mkdir(parents=True)
        return folder

    def put(self, data, kind, name, text):
        file = data / FOLDERS[kind] / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        for table in (self.source / FOLDERS[kind]).glob("*.csv"):  # named relative to the file
            if table.name in text and not (file.parent / table.name).exists():
                (file.parent / table.name).symlink_to(table)

    def files_of(self, experiment):
        """Kind and name of the shipped files that an experiment consists of."""
        files = [("experiment", experiment)]
        text = self.text("experiment", experiment)
        for kind in ("platform", "model", "stack"):
            named = re.search(rf"^{kind}: ([\w.-]+)", text, re.M)
            if named and (self.source / FOLDERS[kind] / f"{named.group(1)}.yaml").exists():
                files.append((kind, named.group(1)))
        for kind, name in list(files):
            profile = kind == "platform" and re.search(r"profile: ([\w.-]+)", self.text(kind, name))
            if profile and (self.source / FOLDERS["gpu"] / f"{profile.group(1)}.yaml").exists():
                files.append(("gpu", profile.group(1)))
        return files

    # The relations. Each takes a case and a generator of its own.

    def same_bytes(self, experiment, rng):
        if re.search(r"^[^#]*(\.\./|\.csv)", self.text("experiment", experiment), re.M):
            return  # paths in a file are relative to it
        data = self.data_folder()
        for kind, name in self.files_of(experiment):
            self.put(data, kind, name, self.rewriter.rewritten(kind, self.text(kind, name), rng))

        def result(folder):
            run = self.json("run", experiment, "--no-usage", data=folder)
            run.pop("resolved_experiment")  # has the texts of `set` as they were written
            for assumed in run.get("assumed_inputs", []):
                for text in ("low", "high", "value"):  # likewise
                    assumed.pop(text)
            return json.dumps(run)

        self.require(result(None) == result(data), "same bytes", f"{experiment} in other units, keys shuffled")

    def half_the_time(self, platform, rng):
        if "gpus:" not in self.text("platform", platform):
            return  # sums take as long as the profile of the processor says
        data = self.data_folder()
        self.put(data, "platform", platform, self.rewriter.rewritten("platform", self.text("platform", platform)))
        self.put(data, "protocols", "nccl", self.rewriter.rewritten("protocols", self.text("protocols", "nccl")))
        operation = rng.choice(sorted(ALGORITHMS))
        algorithm = rng.choice(ALGORITHMS[operation])
        words = ["--nodes", rng.choice("1234") if self.has_nics(platform) else "1", "-b", "1K", "-e", "64M", "-f", "256",
                 "--algorithm", algorithm, "--protocol", rng.choice(["LL", "Simple"])]
        before, after = (self.collective(operation, platform, *words, data=folder) for folder in (None, data))
        if before is None and after is None:
            return
        for old, new in zip(before, after):
            self.require(is_close(old["time_s"], 2 * new["time_s"]), "half the time",
                         f"{operation} {platform} {' '.join(words)}: {self.change(old, new)}")

    def links(self, platform):
        """Keys of the machine's bandwidths, with their values."""
        tree = yaml.safe_load(self.text("platform", platform))

        def value(entry):
            return entry["value"] if isinstance(entry, dict) else entry

        links = tree["node"].get("links", [])
        found = [(f"node.links[{i}].bandwidth", value(link["bandwidth"]))
                 for i, link in enumerate(links) if "bandwidth" in link]
        if "nic" in tree.get("fabric", {}):
            found.append(("fabric.nic", value(tree["fabric"]["nic"])))
        return [(key, text) for key, text in found if QUANTITY.match(str(text))]

    def faster_link(self, platform, rng):
        operation = rng.choice(sorted(ALGORITHMS))
        algorithm = rng.choice(ALGORITHMS[operation])
        links = self.links(platform)
        if not links:
            return
        key, text = rng.choice(links)
        number, unit = QUANTITY.match(text).groups()
        factor = decimal.Decimal(rng.choice(["1.01", "1.3", "2", "10"]))
        faster = f"{plain(decimal.Decimal(number) * factor)} {unit}"
        words = ["--nodes", rng.choice("1248") if self.has_nics(platform) else "1", "-b", "4K", "-e", "64M", "-f", "128",
                 "--algorithm", algorithm, "--protocol", rng.choice(["LL", "LL128", "Simple"])]
        before = self.collective(operation, platform, *words)
        after = self.collective(operation, platform, *words, "--set", f"platform.{key}={faster}")
        for old, new in zip(before or [], after or []):
            self.require(new["time_s"] <= old["time_s"] * (1 + CLOSE), "a faster link",
                         f"{operation} {platform} {' '.join(words)}, {key} {text} -> {faster}: {self.change(old, new)}")

    def formula(self, platform, rng):
        ranks = rng.choice(["2", "3", "4", "8"])
        words = ["--gpus", ranks, "--nodes", ranks if self.has_nics(platform) and rng.random() < 0.5 else "1", "-b", "16M",
                 "-e", "48M", "-i", "16M", "--algorithm", "ring", "--nccl", "none", "--library", "nccl"]
        if words[3] != "1":
            words += ["--gpus-per-node", "1"]
        rows = self.collective("all_reduce", platform, *words)
        if rows is None:
            return
        first, second, third = (row["time_s"] for row in rows)
        case = f"{platform} {' '.join(words)}"
        self.require(is_close(third - second, second - first, 1e-6), "formula",
                     f"{case}: {first}, {second}, {third} s for 16, 32 and 48 MiB")
        for row in rows:
            n, algbw = int(ranks), row["algbw_bytes_per_s"]
            self.require(is_close(algbw, row["size_bytes"] / row["time_s"]), "formula", f"{case}: algbw")
            self.require(is_close(row["busbw_bytes_per_s"], algbw * 2 * (n - 1) / n), "formula", f"{case}: busbw")
            self.require(row["time_s"] >= row["bound_s"] * (1 - CLOSE), "formula", f"{case}: faster than its bound")

    def figures(self, experiment, rng):
        batch = rng.choice([1, 2, 8])
        run = self.json("run", experiment, "--no-usage", "--set", f"batch_per_gpu={batch}", "--set", "memory=ignore")
        if run is None:
            return
        related = [("scaling_efficiency", run["speedup"] and run["speedup"] / run["ranks"])]
        if not run.get("update_rule"):
            related.append(("throughput_samples_per_s", run["global_batch"] / run["step_time_s"]))
        if run.get("energy_per_step_j") and run.get("average_power_w"):
            related.append(("energy_per_step_j", run["average_power_w"] * run["step_time_s"]))
        for name, value in related:
            if run.get(name) is not None and value is not None:
                self.require(is_close(run[name], value), "figures",
                             f"{experiment}, batch {batch}: {name} is {run[name]}, not {value}")

    def bytes_of_links(self, platform, rng):
        """A ring over whole nodes enters and leaves each node once, with all of its channels together."""
        if not self.has_nics(platform):
            return
        operation, rounds = rng.choice([("all_reduce", 2), ("reduce_scatter", 1), ("all_gather", 1)])
        nodes = rng.choice([2, 3, 4])
        file = f"links{next(self.counter)}.csv"
        run = self.json("collective", operation, "--platform", platform, "--nodes", str(nodes), "-b", "15M", "-e", "15M",
                        "--algorithm", "ring", "--links", file)
        if run is None:
            return
        text = (self.folder / file).read_text(encoding="utf-8")
        links = [(link["link"], float(link["bytes"])) for link in csv.DictReader(io.StringIO(text))]
        expected = rounds * (run["ranks"] - 1) / run["ranks"] * run["rows"][0]["size_bytes"]
        for node in range(nodes):
            inside = rf"(node{node}\.|cpu|pcie|gpu|nvswitch|nic)"
            for direction, pattern in (("out of", rf"node{node}\.nic\d+->(?!{inside})"), ("into", rf"\S+->node{node}\.nic\d+$")):
                total = sum(sent for name, sent in links if re.match(pattern, name))
                self.require(is_close(total, expected, 1e-6), "bytes of links",
                             f"{operation} {platform}, {nodes} nodes: {total} bytes {direction} node {node}, not {expected}")

    def fidelities(self, platform, rng):
        operation = rng.choice(sorted(ALGORITHMS))
        words = ["--nodes", rng.choice("12") if self.has_nics(platform) else "1", "-b", "3M", "-e", "3M", "--algorithm",
                 rng.choice(ALGORITHMS[operation]), "--nccl", rng.choice(["none", "2.7.8"])]
        times = {}
        for fidelity in ("closed", "flow", "rounds", "messages"):
            rows = self.collective(operation, platform, *words, "--fidelity", fidelity)
            times[fidelity] = rows and rows[0]["time_s"]
        for fidelity, time in times.items():
            self.require(time == times["closed"] or is_close(time, times["closed"]), "fidelities",
                         f"{operation} {platform} {' '.join(words)}: {fidelity} {time} s, closed {times['closed']} s")

    def compared(self, relation, words, tolerance):
        """The step in the fidelities that simulate a network; nothing where the machine cannot run it."""
        times = {}
        for fidelity in ("flow", "rounds", "messages"):
            run = self.json("run", *words, "--fidelity", fidelity, "--no-usage")
            if run is None:
                return
            times[fidelity] = run["step_time_s"]
        for fidelity, allowed in (("rounds", CLOSE), ("messages", tolerance)):
            self.require(is_close(times["flow"], times[fidelity], allowed), relation, f"run {' '.join(words)}: {times}")

    def nodes_and_gpus(self, platform, gpus):
        return ["--nodes", "2", "--gpus", gpus, "--set", f"gpus_per_node={int(gpus) // 2}"] if self.has_nics(platform) else [
            "--nodes", "1", "--gpus", gpus]

    def layouts(self, platform, rng):
        layout = rng.choice(["tensor: 2", "pipeline: 2", "tensor: 2, pipeline: 2", "tensor: 2, shard: optimizer", "shard: parameters"])
        self.compared("layouts", ["--model", "gpt2_small", "--platform", platform, *self.nodes_and_gpus(platform, "8"), "--batch", "1",
                                  "--set", f"accumulation={rng.choice('124')}", "--set", f"parallelism={{{layout}}}",
                                  "--set", "memory=ignore"], 0.01)

    def servers(self, platform, rng):
        update = rng.choice(["sync", "async", "k_sync, k: 2", "ssp, bound: 2"])
        self.compared("servers", ["--model", "alexnet", "--platform", platform, *self.nodes_and_gpus(platform, "4"), "--batch", "8",
                                  "--stack", rng.choice(["byteps", "mxnet_kvstore", "tf_parameter_server"]),
                                  "--set", f"sync={{kind: parameter_server, update: {update}}}", "--set",
                                  f"random={{seed: {rng.randrange(100)}, step: {{kind: log_normal, sd: 0.1}}}}",
                                  "--set", "steps={warmup: 1, measured: 5, repeats: 1}", "--set", "memory=ignore"], 1e-6)

    def relations(self):
        return [(self.same_bytes, self.experiments), (self.half_the_time, self.platforms), (self.faster_link, self.platforms),
                (self.formula, self.platforms), (self.figures, self.experiments), (self.bytes_of_links, self.platforms),
                (self.fidelities, self.platforms), (self.layouts, self.platforms), (self.servers, self.platforms)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="every experiment and platform, not a sample")
    parser.add_argument("--sample", type=int, default=SAMPLE, help=f"cases of each relation (default: {SAMPLE})")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-j", "--jobs", type=int, default=2, help="cases at once (default: 2)")
    arguments = parser.parse_args()
    with (tempfile.TemporaryDirectory(prefix="trainyard-metamorphic-") as folder,
          concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool):
        program = str(pathlib.Path(arguments.program).resolve())
        relations = Relations(program, arguments.source.resolve(), pathlib.Path(folder))
        for relation, names in relations.relations():
            title, before = relation.__name__, relations.checked
            if not arguments.all:
                names = random.Random(f"{arguments.seed}.{title}").sample(names, min(arguments.sample, len(names)))
            results = [pool.submit(relation, name, random.Random(f"{arguments.seed}.{title}.{name}")) for name in names]
            for result, name in zip(results, names):
                try:
                    result.result()
                except (RuntimeError, KeyError, TypeError) as error:
                    relations.fault(title, f"{name}: {error!r}")
            print(f"{title}: {len(names)} cases, {relations.checked - before} comparisons", flush=True)
    for fault in relations.faults[:100]:
        print(fault, file=sys.stderr)
    if relations.faults or not relations.checked:
        sys.exit(f"{len(relations.faults)} of {relations.checked} comparisons failed")


if __name__ == "__main__":
    main()
