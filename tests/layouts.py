#!/usr/bin/env python3
"""Draws layouts of jobs whose ranks share a model, and simulates them in every fidelity.

    layouts.py PROGRAM SOURCE_DIR [--count N] [--seed S] [-j N] [--only PART] [--keep DIR]

| part | what must hold |
|---|---|
| sweeps | every shipped experiment with `parallelism`, over nodes and over GPUs: text, JSON and --out |
| platforms | tensor, pipeline, shard and expert layouts on every shipped platform, in every fidelity |
| random | N random layouts: model, machine, nodes, axes, shard values, switches of the stack (default: a few) |

A layout is refused (exit code 3), impossible (4), or simulated; nothing else happens: no other exit code, no deadlock. Of
simulated ones flow and rounds agree to 1e-9 (where trees or chains share links, which rounds cuts finer, to 0.2 %),
messages with them to 1 % (of random ones at most one in 50 does not, and none is as far off as UNEVEN), and no step
is shorter than its lower bound. The same seed draws the same layouts; each has a number, by which it is drawn alone."""

import argparse
import concurrent.futures
import csv
import json
import math
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

SAMPLE = 40  # random layouts of the test
PER_SWEEP = 50  # experiments that one process simulates
CLOSE = 1e-9
MESSAGES = 0.01
CHUNKED = 0.002  # flow from rounds, where chunks run down trees or chains
UNEVEN = 0.12  # messages from flow, where edges of a collective share links unevenly: sim/engine/README.md
MOST_UNEVEN = 0.02  # share of the random layouts
CHUNKS = ("tree", "chain", "hierarchical_tree")
FIDELITIES = ("closed", "flow", "rounds", "messages")
# More ranks take long message by message.
MOST_RANKS = 48


def loaded(file):
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def plain(entry):
    return entry["value"] if isinstance(entry, dict) else entry


def divisors(number):
    return [n for n in range(1, number + 1) if number % n == 0]


def relative(a, b):
    return abs(a - b) / max(abs(a), abs(b))


class Machines:
    """The shipped platforms with GPUs."""

    def __init__(self, source):
        self.precisions, self.gpus, self.has_fabric = {}, {}, {}
        for file in sorted((source / "platforms").glob("*.yaml")):
            node = loaded(file)
            gpus = node["node"].get("gpus")
            if not gpus:
                continue
            profile = loaded(source / "platforms" / "gpus" / f"{gpus['profile']}.yaml")
            self.gpus[file.stem] = plain(gpus["count"])
            self.has_fabric[file.stem] = "fabric" in node
            self.precisions[file.stem] = [p for p in ("fp32", "fp16", "bf16") if p in profile["matrix"]] or ["fp32"]
        self.stacks = sorted(file.stem for file in (source / "workloads" / "stacks").glob("*.yaml"))


def decoder(shape):
    return {"name": "model", "title": "Model", "family": "decoder", "decoder": shape, "input": {"bytes_per_token": "2 B"}, "source": ["x"]}


def drawn_model(rng):
    heads = rng.choice([2, 4, 6, 8, 12])
    shape = {
        "layers": rng.choice([1, 2, 3, 4, 6, 8]),
        "hidden": 64 * heads,
        "heads": heads,
        "kv_heads": rng.choice(divisors(heads)),
        "vocabulary": rng.choice([32000, 50257]),
        "sequence_length": rng.choice([128, 512, 1024]),
        "attention": rng.choice(["flash", "unfused"]),
    }
    if rng.random() < 0.3:
        shape |= {"experts": rng.choice([2, 4, 6, 8]), "experts_per_token": rng.choice([1, 2])}
    if rng.random() < 0.2:
        shape |= {"gated": True, "norm": "rms_norm", "bias": False, "position": "rope", "tied": False, "dropout": False}
    return decoder(shape)


def drawn_part(rng, ranks, of=0):
    """A number of ranks along an axis: nearly always one that divides them, and what they share."""
    return rng.choice(divisors(math.gcd(ranks, of))) if rng.random() < 0.97 else rng.randrange(1, 9)


def drawn_axes(rng, ranks, shape):
    axes = {}
    shared = {"tensor": shape["heads"], "pipeline": shape["layers"], "context": shape["sequence_length"]}
    for axis in rng.sample(sorted(shared), 3):
        has_it = shape["attention"] == "flash" and rng.random() < 0.3 if axis == "context" else rng.random() < 0.55
        if has_it:
            axes[axis] = drawn_part(rng, ranks, shared[axis])
            ranks //= min(ranks, axes[axis])
    if "experts" in shape and rng.random() < 0.8:
        axes["expert"] = drawn_part(rng, ranks, shape["experts"])
    return axes


def drawn_pipeline(rng, job, stages, layers):
    if rng.random() < 0.3:
        chunks = [n for n in divisors(layers // stages) if n > 1] or [2]
        job["accumulation"] = stages * rng.choice([1, 2, 3])
        return {"virtual_stages": rng.choice(chunks)}
    return {"schedule": rng.choice(["1f1b", "1f1b", "gpipe", "zb_h1"]), "unequal_stages": rng.random() < 0.4}


def drawn_parallelism(rng, job, ranks, shape):
    chosen = drawn_axes(rng, ranks, shape)
    stages = chosen.get("pipeline", 1)
    if chosen.get("context", 1) > 1:
        chosen["context_exchange"] = rng.choice(["p2p", "all_gather", "a2a"])
    if chosen.get("tensor", 1) > 1:
        chosen["sequence"] = "expert" in chosen or rng.random() < 0.4
        if "expert" in chosen and rng.random() < 0.3:
            chosen["expert_tensor"] = 1
    if stages > 1:
        chosen |= drawn_pipeline(rng, job, stages, shape["layers"])
    chosen["recompute"] = rng.choice(["none", "none", "selective", "full"])
    chosen["shard"] = rng.choice(["none", "optimizer", "optimizer"] + (["gradients", "parameters"] if stages == 1 else []))
    if chosen["shard"] != "none" and rng.random() < 0.25:
        chosen["shard_over"] = "node"
    if rng.random() < 0.15:
        chosen["order"] = rng.sample(["tensor", "context", "data", "pipeline"], 4)
    return chosen


def drawn_stack(rng, name):
    """The stack, or one like it with other switches."""
    switches = ["overlap", "overlap_parameters", "clip_gradients"]
    return {"base": name, **{key: rng.random() < 0.5 for key in switches if rng.random() < 0.3}}


def drawn_experiment(rng, machines):
    platform = rng.choice(sorted(machines.gpus))
    per_node = machines.gpus[platform]
    nodes = rng.choice([1, 1, 2, 2, 3, 4, 5]) if machines.has_fabric[platform] else 1
    job = {"platform": platform, "nodes": nodes}
    if rng.random() < 0.15:
        per_node = job["gpus_per_node"] = rng.randrange(1, per_node + 1)
    while nodes * per_node > MOST_RANKS:
        per_node = job["gpus_per_node"] = per_node // 2
    model = drawn_model(rng)
    stack = drawn_stack(rng, rng.choice(machines.stacks))
    job |= {
        "model": "./model.yaml",
        "stack": stack.pop("base"),
        "precision": rng.choice(machines.precisions[platform]),
        "batch_per_gpu": rng.choice([1, 1, 2, 3]),
        "accumulation": rng.choice([1, 2, 3, 4, 6, 8, 12]),
        "optimizer": rng.choice(["adam", "momentum"]),
        "memory": "ignore",
    }
    job["parallelism"] = drawn_parallelism(rng, job, nodes * per_node, model["decoder"])
    return job, model, stack


class Layouts:
    def __init__(self, program, source, folder, jobs):
        self.program, self.source, self.folder, self.jobs = program, source, folder, jobs
        self.machines = Machines(source)
        self.faults, self.simulated, self.refused = [], 0, 0
        self.largest = {"rounds": (0, ""), "messages": (0, "")}  # difference from flow
        self.uneven = []

    def call(self, *words, folder=None):
        return subprocess.run([self.program, *words], cwd=folder or self.folder, capture_output=True, text=True,
                              encoding="utf-8", check=False)

    def fault(self, name, what):
        self.faults.append(f"{name}: {what}")

    # Experiments, each in a folder of its own, in every fidelity

    def put(self, name, job, model, stack):
        folder = self.folder / name
        folder.mkdir()
        if stack:
            text = (self.source / "workloads" / "stacks" / f"{job['stack']}.yaml").read_text(encoding="utf-8")
            stack = stack | {"name": "stack"}
            keys = "|".join(stack)
            kept = [line for line in text.splitlines() if not re.match(rf"({keys}):", line)]
            (folder / "stack.yaml").write_text("\n".join(kept) + "\n" + yaml.safe_dump(stack), encoding="utf-8")
            job = job | {"stack": "./stack.yaml"}
        (folder / "model.yaml").write_text(yaml.safe_dump(model), encoding="utf-8")
        (folder / "job.yaml").write_text(yaml.safe_dump(job, sort_keys=False), encoding="utf-8")

    def compare(self, names):
        """All experiments in all fidelities, in one process."""
        sweep = {"experiment": f"{names[0]}/job.yaml",
                 "vary": {"experiment": [f"{name}/job.yaml" for name in names], "fidelity": list(FIDELITIES)}}
        file = f"{names[0]}.sweep.yaml"
        (self.folder / file).write_text(yaml.safe_dump(sweep, width=1e9), encoding="utf-8")
        ended = self.call("sweep", file, "--json", "-j", "1")
        if ended.returncode not in (0, 4) or not ended.stdout:
            if len(names) > 1:  # which one?
                for name in names:
                    self.compare([name])
            else:
                self.fault(names[0], f"exit code {ended.returncode}: {ended.stderr[-600:]}")
            return
        result = json.loads(ended.stdout)
        for name in names:
            def its(rows):
                return {row["keys"]["fidelity"]: row for row in rows
                        if pathlib.Path(row["keys"]["experiment"]).parent.name == name}
            self.check(name, its(result["rows"]), its(result["failures"]))

    def check(self, name, rows, failures):
        for fidelity, row in failures.items():
            if row["exit_code"] not in (3, 4):
                self.fault(name, f"{fidelity}: exit code {row['exit_code']}: {row['reason']}")
        if failures:
            self.refused += 1
            if rows and not all("messages" in row["reason"] for row in failures.values()):
                self.fault(name, f"only {', '.join(rows)} end; {next(iter(failures.values()))['reason']}")
            return
        self.simulated += 1
        times = {fidelity: rows[fidelity]["step_time_s"] for fidelity in FIDELITIES}
        off = {fidelity: relative(times["flow"], times[fidelity]) for fidelity in self.largest}
        for fidelity in self.largest:
            self.largest[fidelity] = max(self.largest[fidelity], (off[fidelity], name))
        if off["rounds"] > CLOSE and (off["rounds"] > CHUNKED or not self.has_chunks(name)):
            self.fault(name, f"rounds is {off['rounds']:.2g} from flow: {times}")
        if off["messages"] > MESSAGES:
            self.uneven.append(name)
        if off["messages"] > UNEVEN:
            self.fault(name, f"messages is {off['messages']:.2g} from flow: {times}")
        for fidelity in ("closed", "flow", "rounds"):
            if times[fidelity] < rows[fidelity]["lower_bound_s"] * (1 - CLOSE):
                self.fault(name, f"{fidelity}: {times[fidelity]} s is below the bound {rows[fidelity]['lower_bound_s']} s")

    def has_chunks(self, name):
        ended = self.call("run", f"{name}/job.yaml", "--out", f"{name}/out", "--no-usage")
        with open(self.folder / name / "out" / "collectives.csv", encoding="utf-8") as table:
            return ended.returncode == 0 and any(row["algorithm"] in CHUNKS for row in csv.DictReader(table))

    def require_even(self, title, most, before):
        uneven = self.uneven[before:]
        if len(uneven) > most:
            self.fault(title, f"messages is more than 1 % from flow in {len(uneven)}, more than {most}: {', '.join(uneven)}")

    def compare_all(self, names):
        each = min(PER_SWEEP, -(-len(names) // self.jobs)) if names else 1
        parts = [names[first : first + each] for first in range(0, len(names), each)]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for done in pool.map(self.compare, parts):
                del done

    def random(self, numbers, seed):
        names = []
        for number in numbers:
            names.append(f"random{number}")
            self.put(names[-1], *drawn_experiment(random.Random(f"{seed}.{number}"), self.machines))
        before = len(self.uneven)
        self.compare_all(names)
        self.require_even("random", max(2, int(MOST_UNEVEN * len(names))), before)

    def platforms(self):
        mixture = {"layers": 4, "hidden": 256, "heads": 4, "vocabulary": 32000, "sequence_length": 128}
        layouts = {"tensor": {"tensor": 2}, "pipeline": {"pipeline": 4}, "shard": {"shard": "parameters"},
                   "expert": {"expert": 2, "shard": "optimizer"}}
        names = []
        for platform, per_node in self.machines.gpus.items():
            for title, layout in layouts.items():
                nodes = 3 if self.machines.has_fabric[platform] and title != "tensor" else 1
                if nodes * min(per_node, 8) % (4 if title == "pipeline" else 2) != 0:
                    continue
                names.append(f"{platform}.{title}")
                more = {"experts": 4, "experts_per_token": 2} if title == "expert" else {}
                job = {"platform": platform, "nodes": nodes, "model": "./model.yaml", "stack": "megatron_lm",
                       "precision": self.machines.precisions[platform][-1], "batch_per_gpu": 1, "accumulation": 4,
                       "parallelism": layout, "memory": "ignore"}
                if per_node > 8:
                    job["gpus_per_node"] = 8
                self.put(names[-1], job, decoder(mixture | more), {})
        before, uneven = self.simulated, len(self.uneven)
        self.compare_all(names)
        self.require_even("platforms", 0, uneven)
        if self.simulated - before != len(names):
            self.fault("platforms", f"{self.simulated - before} of {len(names)} layouts were simulated")

    # Sweeps of what is shipped

    def sweeps(self):
        experiments = [file for file in sorted((self.source / "workloads" / "experiments").glob("*.yaml"))
                       if "parallelism" in loaded(file) and loaded(file)["platform"] in self.machines.gpus]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for done in pool.map(self.sweep_both_ways, experiments):
                del done

    def sweep_both_ways(self, file):
        job = loaded(file)
        nodes = job.get("nodes", 1)
        ranks = job.get("gpus", nodes * self.machines.gpus[job["platform"]])
        self.sweep(file.stem, "nodes", [nodes, 2 * nodes] if self.machines.has_fabric[job["platform"]] else [nodes])
        self.sweep(file.stem, "gpus", [ranks, ranks // 2])

    def sweep(self, experiment, key, values):
        name = f"sweep of {experiment} over {key}"
        words = ["sweep", experiment, "--set", f"{key}={','.join(map(str, values))}", "--set", "fidelity=closed",
                 "--set", "memory=ignore", "-j", "1"]
        out = f"{experiment}.{key}"
        outcomes = {"text": self.call(*words), "JSON": self.call(*words, "--json"), "--out": self.call(*words, "--out", out),
                    "--resume": self.call(*words, "--out", out, "--resume")}
        for way, ended in outcomes.items():
            if ended.returncode not in (0, 4):
                self.fault(name, f"{way}: exit code {ended.returncode}: {ended.stderr[-600:]}")
                return
        rows = json.loads(outcomes["JSON"].stdout)["rows"]
        self.simulated += len(rows)
        if not any(row["keys"][key] == str(values[0]) for row in rows):
            self.fault(name, f"the shipped layout did not run: {outcomes['text'].stdout[-600:]}")
        for wanted in ("sweep.csv", "report.html", "sweep.resolved.yaml"):
            if not (self.folder / out / wanted).exists():
                self.fault(name, f"--out has no {wanted}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=SAMPLE, help=f"random layouts (default: {SAMPLE})")
    parser.add_argument("--number", type=int, default=0, help="the first one's number (default: 0)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["sweeps", "platforms", "random"])
    parser.add_argument("--keep", type=pathlib.Path, help="a new folder for the experiments, to be looked at")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="processes at once (default: 2)")
    arguments = parser.parse_args()
    folder = arguments.keep or pathlib.Path(tempfile.mkdtemp(prefix="trainyard-layouts-"))
    folder.mkdir(exist_ok=True)
    layouts = Layouts(str(pathlib.Path(arguments.program).resolve()), arguments.source.resolve(), folder.resolve(), arguments.jobs)
    numbers = range(arguments.number, arguments.number + arguments.count)
    parts = {"sweeps": layouts.sweeps, "platforms": layouts.platforms, "random": lambda: layouts.random(numbers, arguments.seed)}
    for title, part in parts.items():
        if arguments.only not in (None, title):
            continue
        begun, before = time.monotonic(), (layouts.simulated, layouts.refused)
        part()
        print(f"{title}: {layouts.simulated - before[0]} simulated, {layouts.refused - before[1]} refused "
              f"({time.monotonic() - begun:.0f} s)", flush=True)
    for fidelity, (off, name) in layouts.largest.items():
        print(f"largest difference of {fidelity} from flow: {off:.2g}{' ' + name if name else ''}")
    print(f"messages more than 1 % from flow: {len(layouts.uneven)}")
    if not arguments.keep:
        shutil.rmtree(folder)
    for fault in layouts.faults[:100]:
        print(fault, file=sys.stderr)
    if layouts.faults or not layouts.simulated:
        sys.exit(f"{len(layouts.faults)} faults")


if __name__ == "__main__":
    main()
