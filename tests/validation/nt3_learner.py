#!/usr/bin/env python3
"""The learner of NT3, fitted to all published accuracies but one or two: its `accuracy_error` in nt3_theta.yaml and
nt3_theta_learning.yaml.

usage: nt3_learner.py PROGRAM SOURCE_DIR

Layers, first weights and rate with the least squares of the accuracies are chosen without each row, which they then
predict; the row's error of the learner is the root mean square of those of the other rows, each predicted by what is
fitted to neither row. Two or three minutes; not a test. Exit status 1: the files have other numbers, or a learner other
than theirs is the best without a row.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

import yaml

LEARNERS = [("[20]", 1), ("[20, 10]", 1), ("[20, 10]", 0.3), ("[40, 20, 10]", 1)]
COARSE = [0.003, 0.01, 0.03]
SHIPPED = ("[40, 20, 10]", 0.3)
FINE = [0.025, 0.03, 0.035, 0.04, 0.045, 0.05, 0.055, 0.06, 0.07]


def accuracies(program, epochs):
    """Accuracy after the job by learner (layers, scale of first weights, rate) and nodes."""
    learners = [(*one, rate) for one in LEARNERS for rate in COARSE] + [(*SHIPPED, rate) for rate in FINE]
    layers, scales, rates = (list(column) for column in zip(*learners))
    sweep = {"title": "learners of NT3", "experiment": "nt3_theta",
             "zip": [{"nodes": list(epochs), "job.epochs": list(epochs.values())},
                     {"learn.model.hidden": layers, "learn.model.initial_scale": scales, "learn.rate": rates}]}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "learners.yaml"
        path.write_text(yaml.safe_dump(sweep), encoding="utf-8")
        result = subprocess.run([program, "sweep", path, "--set", "learn.points=4", "--json"], check=True, capture_output=True)
    found = {}
    for row in json.loads(result.stdout)["rows"]:
        keys = row["keys"]
        learner = keys["learn.model.hidden"], float(keys["learn.model.initial_scale"]), float(keys["learn.rate"])
        found.setdefault(learner, {})[int(keys["nodes"])] = row["accuracy_at_end"]
    return found


def main():
    if len(sys.argv) != 3:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        sys.exit(2)
    workloads = pathlib.Path(sys.argv[2]) / "workloads"
    sweep = yaml.safe_load((workloads / "sweeps/nt3_theta_learning.yaml").read_text(encoding="utf-8"))
    shipped = yaml.safe_load((workloads / "experiments/nt3_theta.yaml").read_text(encoding="utf-8"))["learn"]
    jobs = sweep["zip"][0]
    published = {row["at"]["nodes"]: row["value"] for row in sweep["published"][0]["rows"]}
    found = accuracies(sys.argv[1], dict(zip(jobs["nodes"], jobs["job.epochs"])))

    def best(*without):
        return min(found, key=lambda one: sum((found[one][n] - published[n]) ** 2 for n in published if n not in without))

    def error(nodes, *without):
        return published[nodes] - found[best(nodes, *without)][nodes]

    def root_mean_square(errors):
        return math.sqrt(sum(one * one for one in errors) / len(errors))

    right = root_mean_square([error(n) for n in published])
    same = abs(right - shipped["accuracy_error"]) < 0.001
    print(f"all rows: error of the learner {100 * right:.1f} points")
    for nodes, stated in zip(jobs["nodes"], jobs["learn.accuracy_error"]):
        learner = best(nodes)
        of_others = root_mean_square([error(other, nodes) for other in published if other != nodes])
        same &= abs(of_others - stated) < 0.001 and learner == (*SHIPPED, shipped["rate"])
        print(f"without {nodes} nodes: {learner[0]}, first weights x {learner[1]:g}, rate {learner[2]:g}: "
              f"{100 * found[learner][nodes]:.1f} %, published {100 * published[nodes]:.1f} %; "
              f"error of the other rows {100 * of_others:.1f} points")
    sys.exit(not same)


if __name__ == "__main__":
    main()
