#!/usr/bin/env python3
"""Compares layouts of published runs with the best layout that `trainyard plan` finds for the same job.

usage: plan_layouts.py PROGRAM RESULT [--seconds 120] [--only WORD]

A job is what published rows have in common: machine, GPUs, model, software, precision, samples per step. Of its
published layouts the one with the shortest measured step is taken. RESULT (CSV) gets a row for each job as soon as
it is done; those that it has are not planned again. At the end the counts of docs/plan.md are printed. Exits with 1 if
a published layout is faster although it fits and was searched.

--seconds: longest search for a job; one that did not end by then is not proved and counts apart.
"""

from __future__ import annotations

import argparse
import collections
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import yaml

SEARCHED = ("batch_per_gpu", "accumulation", "memory", "nodes", "gpus")
SEARCHED_OF_LAYOUT = ("tensor", "pipeline", "virtual_stages", "context", "expert", "sequence", "recompute", "shard",
                      "stages")
COLUMNS = ("run", "published_layout", "published_step_s", "published_fits", "published_searched", "plan_step_s",
           "plan_layout", "proved", "ratio", "failure")
AS_FAST = 1 + 1e-6  # of two steps that are the same
NEAR = 1.05
UNEXPLAINED = "of no known reason: a fault of the search"


class Published:
    """An experiment that `validate --experiments` wrote."""

    def __init__(self, file: pathlib.Path):
        text = file.read_text()
        self.file = file
        self.measured = float(re.search(r"^# Published: (\S+) samples/s", text, re.M)[1])
        self.experiment = yaml.safe_load(text)

    def has_layout(self) -> bool:
        return "parallelism" in self.experiment

    def samples(self) -> int:
        """Of a step of all GPUs."""
        its = self.experiment["parallelism"]
        replicas = self.experiment["gpus"] // (its["tensor"] * its["pipeline"] * its["context"])
        return self.experiment["batch_per_gpu"] * self.experiment["accumulation"] * replicas

    def job(self) -> dict:
        """The experiment without what is searched."""
        job = {key: value for key, value in self.experiment.items() if key not in SEARCHED}
        its = job["parallelism"]
        return job | {"parallelism": {key: value for key, value in its.items() if key not in SEARCHED_OF_LAYOUT}}

    def identity(self) -> str:
        return json.dumps([self.job(), self.experiment["gpus"], self.samples()], sort_keys=True)

    def words(self) -> str:
        its = self.experiment["parallelism"]
        chosen = [f"{key} {its[key]}" for key in ("tensor", "pipeline", "virtual_stages", "context", "expert") if
                  its[key] > 1]
        chosen += ["sequence"] * its["sequence"] + [f"recompute {its['recompute']}"] * (its["recompute"] != "none")
        chosen += [f"shard {its['shard']}"] * (its["shard"] != "none")
        return "; ".join(chosen + [f"batch {self.experiment['batch_per_gpu']} x {self.experiment['accumulation']}"])


def run(program: str, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([program, *words], capture_output=True, text=True)


def planned(program: str, published: Published, folder: pathlib.Path, *words: str) -> subprocess.CompletedProcess:
    job = folder / "job.yaml"
    job.write_text(yaml.safe_dump(published.job()))
    return run(program, "plan", str(job), "--gpus", str(published.experiment["gpus"]), "--global-batch",
               str(published.samples()), "--quick", "--gap", "0", *words)


def is_searched(program: str, published: Published, folder: pathlib.Path, *words: str) -> bool:
    """Whether the search has every value of the published layout; it says which it tries."""
    text = planned(program, published, folder, *words).stdout
    tried = re.search(r"^  space +(.*?)\n\n", text, re.M | re.S)[1]
    values = dict(axis.split(" ", 1) for axis in " ".join(tried.split()).split("; "))
    its = published.experiment["parallelism"] | {"batch_per_gpu": published.experiment["batch_per_gpu"]}
    return not its["stages"] and all(str(its[key]).lower() in numbers.split(", ") for key, numbers in values.items())


def compared(program: str, published: Published, seconds: int, folder: pathlib.Path) -> dict:
    """A row of the result."""
    row = dict.fromkeys(COLUMNS, "") | {"run": published.file.stem, "published_layout": published.words()}
    simulated = run(program, "run", str(published.file), "--json")
    limit = ("--max-time", f"{seconds}s")
    plan = planned(program, published, folder, *limit, "--json")
    for side, ended in (("run", simulated), ("plan", plan)):
        if ended.returncode:
            words = " ".join(ended.stderr.replace(f"{folder}/", "").split())
            return row | {"failure": f"{side}: {words[:200]}"}
    step = json.loads(simulated.stdout)["step_time_s"]
    answer = json.loads(plan.stdout)
    if answer["best"] is None:
        return row | {"failure": "plan: no layout fits"}
    fits = run(program, "memory", str(published.file), "--json")
    ratio = answer["best"]["step_time_s"] / step
    return row | {
        "published_step_s": step,
        "published_fits": "yes" if fits.returncode == 0 and json.loads(fits.stdout)["fits"] else "no",
        "published_searched": "" if ratio <= AS_FAST else "yes" if is_searched(program, published, folder, *limit)
        else "no",
        "plan_step_s": answer["best"]["step_time_s"],
        "plan_layout": answer["best"]["layout"],
        "proved": "yes" if answer["groups"][0]["left"] == 0 else "no",
        "ratio": f"{ratio:.6g}",
    }


def why_slower(row: dict) -> str:
    if row["published_fits"] == "no":
        return "its memory is predicted not to suffice"
    if row["published_searched"] == "no":
        return "it is not among the layouts that are searched"
    return UNEXPLAINED


def summary(rows: list[dict]) -> str:
    compared_rows = [row for row in rows if not row["failure"]]
    proved = [row for row in compared_rows if row["proved"] == "yes"]
    ratios = [float(row["ratio"]) for row in proved]
    slower = collections.Counter(why_slower(row) for row in proved if float(row["ratio"]) > AS_FAST)
    lines = [f"{len(rows)} jobs, {len(rows) - len(compared_rows)} without a result (column failure), "
             f"{len(proved)} searched to the end",
             f"the plan is at least as fast as the published layout: {len(proved) - slower.total()}",
             f"the published layout is within 5 % of the plan: {sum(1 / ratio <= NEAR for ratio in ratios)}",
             f"median of published step / planned step: {sorted(1 / ratio for ratio in ratios)[len(ratios) // 2]:.3f}"]
    return "\n".join(lines + [f"the published layout is faster: {n}, since {why}" for why, n in sorted(slower.items())])


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rows = list(csv.DictReader(options.result.open())) if options.result.exists() else []
    done = {row["run"] for row in rows}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        experiments = folder / "published"
        if run(options.program, "validate", "--summary", "--fit", "software", "--experiments",
               str(experiments)).returncode:
            return 1
        jobs: dict[str, list[Published]] = collections.defaultdict(list)
        for file in sorted(experiments.glob("*.yaml")):
            published = Published(file)
            if published.has_layout() and options.only in file.name:
                jobs[published.identity()].append(published)
        for same in jobs.values():
            fastest = max(same, key=lambda published: published.measured)
            if fastest.file.stem in done:
                continue
            row = compared(options.program, fastest, options.seconds, folder)
            rows.append(row)
            with options.result.open("a", newline="") as out:
                writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
                if out.tell() == 0:
                    writer.writeheader()
                writer.writerow(row)
    text = summary(rows)
    print(text)
    return UNEXPLAINED in text


if __name__ == "__main__":
    sys.exit(main())
