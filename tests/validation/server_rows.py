#!/usr/bin/env python3
"""Compares the simulator with published training throughputs that scale with parameter servers.

usage: server_rows.py PROGRAM CSV... [--data synthetic|real] [--spread] [--rows] [--json] [--limit PERCENT]

Reads rows in the format of README.md here. A series is what one publication measured on one kind of machine with one
framework, model, batch per GPU and kind of data, on more and more GPUs. The one number fitted is the stack's
compute_scale: the value with which the prediction for the series' own one-GPU row (split calibrate) equals that row.
Every other row of split validate is then predicted and compared; linear scaling from the same one-GPU row stands
beside. What is simulated follows from the rules of server_mapping.py.

GPUs of one kind are not alike: one-GPU rows that different series have of the same GPU, framework, model, batch and
data differ. With --spread their standard deviation, pooled for each kind of GPU, is that of a rank's steps in the
predictions: how much of the errors that explains.

--data leaves the other rows out, --rows prints every row, --json one object. With --limit the exit status is 1 unless
every family that is scored has a mean absolute error of at most PERCENT and a smaller one than linear scaling. Exit
status 2: a wrong command line, 5: a file cannot be read.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import csv
import dataclasses
import hashlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the sources stay as they are

from server_mapping import NOT_SOLVED, Excluded, Setup, check_row, data_of, family_of, is_tensorflow
from server_mapping import model_of, platform_of, series_key, sync_of

ENOUGH = 1e-4  # relative difference at which a scale counts as found
WARMUP = 2  # steps before the measurement
ALIKE, VARYING = 2, 20  # measured steps that are all alike, and that vary


@dataclasses.dataclass
class Prediction:
    row: dict
    family: str
    measured: float
    predicted: float
    linear: float

    @property
    def error(self):
        return self.predicted / self.measured - 1

    @property
    def linear_error(self):
        return self.linear / self.measured - 1


# ---------------------------------------------------------------------------------------------------------- simulation


class Simulator:
    """Runs the program on experiments in a folder of their own."""

    def __init__(self, program, folder, spread):
        self.program = program
        self.folder = folder
        self.spread = spread
        self.known = {}

    def names(self, kind):
        listed = subprocess.run([self.program, "list", kind], capture_output=True, text=True, check=True).stdout
        return {line.split()[0] for line in listed.splitlines() if line.strip()}

    def throughput(self, experiment, overrides):
        """Samples per second. Raises Excluded where the program refuses the job."""
        text = json.dumps(experiment | {"set": overrides})  # JSON is YAML
        if text in self.known:
            return self.known[text]
        path = self.folder / f"{hashlib.sha1(text.encode()).hexdigest()}.yaml"
        path.write_text(text + "\n", encoding="utf-8")
        run = subprocess.run([self.program, "run", str(path), "--json"], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise Excluded("refused: " + run.stderr.strip().splitlines()[0].rpartition("error: ")[2])
        self.known[text] = json.loads(run.stdout)["throughput_samples_per_s"]
        return self.known[text]


def experiment_of(row, setup, plan, spread):
    stack, stack_overrides, sync = plan
    experiment = {
        "platform": setup.platform,
        "nodes": int(row["nodes"]),
        "gpus_per_node": int(row["gpus_per_node"]),
        "model": setup.model,
        "stack": stack,
        "precision": row["precision"],
        "batch_per_gpu": int(row["batch_per_gpu"]),
        "optimizer": setup.optimizer,
        "sync": sync,
    }
    if data_of(row) == "real":
        experiment["input"] = {"data": "real"}
    varies = int(row["gpus_total"]) > 1 and spread > 0
    if varies:
        experiment["random"] = {"step": {"kind": "normal", "sd": spread}}
    if varies or sync["kind"] == "parameter_server":
        experiment["steps"] = {"warmup": WARMUP, "measured": VARYING if varies else ALIKE, "repeats": 1}
    return experiment, {f"stack.{key}": value for key, value in stack_overrides.items()}


def fit_scale(measured, throughput):
    """The compute_scale with which `throughput` is `measured`; its inverse is almost linear in the scale."""
    points = []
    scale = 1.0
    for _ in range(8):
        points.append((scale, 1 / throughput(scale)))
        wanted = 1 / measured
        if abs(points[-1][1] / wanted - 1) < ENOUGH:
            return scale
        if len(points) == 1:
            scale *= wanted / points[-1][1]
        else:
            (s0, t0), (s1, t1) = points[-2:]
            scale = s1 + (wanted - t1) * (s1 - s0) / (t1 - t0)
        if not 0.01 <= scale <= 100:
            break
    raise Excluded("no compute_scale explains the one-GPU row")


# ---------------------------------------------------------------------------------------------------------------- rows


def read_rows(paths):
    rows = []
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            rows += csv.DictReader(line for line in file if not line.startswith("#"))
    return rows


def gather(rows):
    """Series by key, and how many rows each rule leaves out."""
    series, excluded = {}, {}
    for row in rows:
        try:
            check_row(row)
            series.setdefault(series_key(row), []).append(row)
        except Excluded as reason:
            if row["split"] == "validate":
                excluded[str(reason)] = excluded.get(str(reason), 0) + 1
    return series, excluded


def spread_of(rows):
    """By GPU: the standard deviation of what its one-GPU rows of the same job reached, relative to their mean."""
    jobs = {}
    for row in rows:
        if int(row["gpus_total"]) == 1 and row["split"] == "calibrate":
            framework = row["framework"].split()[0]
            job = (row["gpu"], framework, row["model"], row["precision"], row["batch_per_gpu"], data_of(row))
            jobs.setdefault(job, []).append(math.log(float(row["value"])))
    squares, freedom = {}, {}
    for job, logs in jobs.items():
        squares[job[0]] = squares.get(job[0], 0) + statistics.pvariance(logs) * len(logs)
        freedom[job[0]] = freedom.get(job[0], 0) + len(logs) - 1
    return {gpu: round(math.sqrt(squares[gpu] / freedom[gpu]), 4) for gpu in squares if freedom[gpu] > 0}


def predict_series(rows, simulator, stacks):
    """(predictions, scale, exclusions by reason) of one series."""
    to_predict = [row for row in rows if row["split"] == "validate"]
    first = [row for row in rows if int(row["gpus_total"]) == 1 and row["split"] == "calibrate"]
    excluded = {}

    def leave_out(reason, count):
        if count > 0:
            excluded[reason] = excluded.get(reason, 0) + count

    if not first:
        leave_out("no one-GPU row in the series", len(to_predict))
        return [], None, excluded
    one = first[0]
    widest = max(int(row["gpus_per_node"]) for row in rows)
    try:
        optimizer = "sgd" if is_tensorflow(one) else "momentum"
        setup = Setup(platform_of(one, widest), model_of(one), optimizer, family_of(one))

        def simulated(row, scale):
            plan = sync_of(row, setup.platform, stacks)
            experiment, overrides = experiment_of(row, setup, plan, simulator.spread.get(row["gpu"], 0))
            return simulator.throughput(experiment, overrides | {"stack.compute_scale": scale})

        measured = float(one["value"])
        scale = fit_scale(measured, lambda value: simulated(one, value))
    except Excluded as reason:
        leave_out(str(reason), len(to_predict))
        return [], None, excluded
    predictions = []
    for row in to_predict:
        try:
            predicted = simulated(row, scale)
        except Excluded as reason:
            leave_out(str(reason), 1)
            continue
        linear = measured * int(row["gpus_total"])
        predictions.append(Prediction(row, setup.family, float(row["value"]), predicted, linear))
    return predictions, scale, excluded


# -------------------------------------------------------------------------------------------------------------- report


def errors_of(values):
    values = sorted(abs(value) for value in values)
    return {
        "mape": statistics.fmean(values),
        "p90": values[min(len(values) - 1, int(0.9 * len(values)))],
        "worst": values[-1],
    }


def summary(predictions):
    return {
        "rows": len(predictions),
        **errors_of(prediction.error for prediction in predictions),
        "linear": errors_of(prediction.linear_error for prediction in predictions),
    }


def families_of(predictions):
    families = {}
    for prediction in predictions:
        families.setdefault(prediction.family, []).append(prediction)
    return {name: summary(its) for name, its in sorted(families.items())}


def missed(families, limit):
    """Families that are scored and do not meet the limit or do no better than linear scaling."""
    return [
        name
        for name, its in families.items()
        if name not in NOT_SOLVED and not (its["mape"] <= limit and its["mape"] < its["linear"]["mape"])
    ]


def print_rows(predictions):
    for prediction in predictions:
        row = prediction.row
        where = f"{row['system'][:22]:22} {row['gpus_per_node']:>2} x {row['nodes']:>2}"
        print(
            f"{prediction.family[:42]:42} {where}  {row['model']:12} {row['batch_per_gpu']:>3}  "
            f"{prediction.measured:8.1f} {prediction.predicted:8.1f} {100 * prediction.error:+6.1f} % "
            f"{100 * prediction.linear_error:+7.1f} %"
        )


def print_table(families, scored, predictions, excluded):
    header = f"{'family':48} rows   MAPE    p90  worst   linear: MAPE    p90  worst"
    print(header)

    def line(name, its):
        linear = its["linear"]
        print(
            f"{name:48} {its['rows']:4} {100 * its['mape']:6.2f} {100 * its['p90']:6.2f} {100 * its['worst']:6.2f}"
            f"         {100 * linear['mape']:6.2f} {100 * linear['p90']:6.2f} {100 * linear['worst']:6.2f}"
        )

    for name, its in families.items():
        line(name, its)
    if scored:
        line("all but those named below", summary(scored))
        line("all", summary(predictions))
    for name, why in NOT_SOLVED.items():
        if name in families:
            print(f"not solved: {name}: {why}")
    for reason, count in sorted(excluded.items()):
        print(f"excluded {count:3}: {reason}")
    total = len(predictions) + sum(excluded.values())
    if total:
        print(f"coverage: {len(predictions)} of {total} rows that could be predicted")


def parse(arguments):
    parser = argparse.ArgumentParser(description="compares the simulator with published parameter-server rows")
    parser.add_argument("program")
    parser.add_argument("csv", nargs="+", type=pathlib.Path)
    parser.add_argument("--data", choices=("synthetic", "real"), help="these rows only")
    parser.add_argument("--spread", action="store_true", help="GPUs differ as the one-GPU rows of their kind do")
    parser.add_argument("--rows", action="store_true", help="print every row")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--limit", type=float, help="largest mean absolute error of a family, in percent")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    try:
        rows = read_rows(options.csv)
    except OSError as error:
        print(f"server_rows.py: {error.filename}: {error.strerror}", file=sys.stderr)
        return 5
    series, excluded = gather(rows)
    spread = spread_of([row for its in series.values() for row in its]) if options.spread else {}
    if options.data:
        series, excluded = gather([row for row in rows if data_of(row) == options.data])
    with tempfile.TemporaryDirectory() as folder:
        simulator = Simulator(options.program, pathlib.Path(folder), spread)
        stacks = simulator.names("stacks")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda its: predict_series(its, simulator, stacks), series.values()))
    predictions = [prediction for its, _, _ in results for prediction in its]
    for _, _, left_out in results:
        for reason, count in left_out.items():
            excluded[reason] = excluded.get(reason, 0) + count
    families = families_of(predictions)
    scored = [prediction for prediction in predictions if prediction.family not in NOT_SOLVED]
    if options.json:
        scales = {" | ".join(filter(None, key)): its[1] for key, its in zip(series, results)}
        rows = [
            {"family": p.family, "measured": p.measured, "predicted": p.predicted, "linear": p.linear} | p.row
            for p in predictions
        ]
        result = {"families": families, "excluded": excluded, "spread": spread, "scales": scales, "rows": rows}
        json.dump(result, sys.stdout, indent=1)
        print()
    else:
        if options.rows:
            print_rows(predictions)
        print_table(families, scored, predictions, excluded)
        for gpu, deviation in sorted(spread.items()):
            print(f"{gpu}: steps vary by {100 * deviation:.2f} %, as its one-GPU rows do")
    if options.limit is None:
        return 0
    failed = missed(families, options.limit / 100)
    for name in failed:
        error, linear = (100 * its["mape"] for its in (families[name], families[name]["linear"]))
        print(f"{name}: {error:.2f} %; limit {options.limit:g} %, linear scaling {linear:.2f} %", file=sys.stderr)
    return 1 if failed or not scored else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
