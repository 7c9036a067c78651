#!/usr/bin/env python3
"""Checks left_out.py, plots.py and worse.py with made runs, without trainyard.

usage: check.py
"""

import contextlib
import io
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True  # the sources stay as they are

import left_out
import plots
import worse

HEADER = ("platform,nodes,gpus,batch_per_gpu,framework,stack,generation,gpu,model,precision,kind,recorded,op_us,"
          "{series},scored,measured,predicted,row")
ERRORS = "workloads/published/errors"


def validate(command, **_):
    """Answers left_out.py as trainyard would: errors are larger if more than series is left out."""
    assert command[1] == "validate" and {"--force", "--json"} <= set(command), command
    level, folder = (command[command.index(option) + 1] for option in ("--left-out", "--errors"))
    wrong = 1.25 if level == "series" else 1.5
    for name, series in (("", "series"), ("layouts_", "family")):
        lines = ["# fit: software", HEADER.format(series=series)]
        for i, generation in enumerate(["volta", "ampere", "volta", "processor"]):
            predicted = 100 * wrong * (100 if generation == "processor" else 1)
            lines.append(f"p,1,8,4,torch,s{i},{generation},g,m,fp32,encoder,0,1e9,{i},1,100,{predicted},a.csv:{i}")
        (pathlib.Path(folder) / f"{name}software.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    inside = {"rows": 3, "held_out": {"coverage": 0.75, "median_half_width": 0.125}}
    return subprocess.CompletedProcess(command, 0, json.dumps({
        "overall": {"mape": wrong - 1}, "expected_error": {"overall": inside},
        "layouts": {"expected_error": {"overall": {**inside, "held_out": None}}}}))


def status_of(main, *args):
    """What the program prints, and its exit status."""
    printed = io.StringIO()
    with mock.patch.object(sys, "argv", ["x", *map(str, args)]), contextlib.redirect_stdout(printed), \
            contextlib.redirect_stderr(printed):
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code
    return printed.getvalue(), status


class Bounds(unittest.TestCase):
    def test_quantile_of_weighted_values(self):
        values = [(1, 1), (2, 1), (3, 8)]
        self.assertEqual([left_out.quantile(values, share) for share in (0.1, 0.2, 0.5, 1)], [1, 2, 3, 3])

    def test_bounds_hold_eight_tenths_and_find_the_part_of_every_op(self):
        random.seed(1)
        means = [random.choice((5, 10, 50, 500)) for _ in range(1000)]
        errors = [(math.log1p(20 * random.random() / mean) + 0.3 * random.random(), mean, 1) for mean in means]
        part, op = left_out.bound(errors, 0.9)
        below = sum(error <= part + math.log1p(op / mean) for error, mean, _ in errors)
        self.assertAlmostEqual(below / len(errors), 0.9, delta=0.02)
        self.assertTrue(8 <= op <= 20, op)
        mirrored = [(-error, mean, weight) for error, mean, weight in errors]
        faster, op_faster = left_out.bound(mirrored, 0.1)
        self.assertAlmostEqual(faster, part, delta=0.005)
        self.assertEqual(op_faster, op)

    def test_runs_of_a_group_weigh_as_the_root_of_their_number(self):
        def row(stack, ratio):
            return {"stack": stack, "measured": str(ratio), "predicted": "1", "op_us": "1e9"}

        many = [row("a", 1.0)] * 16
        alone = [row(f"b{i}", 2.0) for i in range(4)]  # as heavy together as the sixteen
        self.assertEqual(left_out.bounds_line("stack", many + alone, ("stack",)).split(",")[3], "0.693")
        self.assertEqual(left_out.bounds_line("stack", many, ("stack",)), "stack,-0,0,0,0,16")


class LeftOut(unittest.TestCase):
    def test_files_are_compared_and_written(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            source = folder / "source"
            (source / ERRORS).mkdir(parents=True)
            (source / "docs").mkdir()
            page = source / "docs/accuracy.md"
            page.write_text(f"before\n{left_out.BEGIN}\nold\n{left_out.END}\nafter\n", encoding="utf-8")
            for prefix, series in (("", "series"), ("layouts_", "family")):
                line = "p,1,8,4,torch,s,volta,g,m,fp32,encoder,0,20,1,1,200,100,a.csv:1"
                (source / ERRORS / f"{prefix}nothing.csv").write_text(f"{HEADER.format(series=series)}\n{line}\n",
                                                                      encoding="utf-8")
            with mock.patch.object(left_out.subprocess, "run", validate):
                self.assertEqual(status_of(left_out.main, "x", source)[1], 1)
                self.assertFalse((source / ERRORS / "new_circumstances.csv").exists())
                self.assertEqual(status_of(left_out.main, "x", source, "--update")[1], 0)
                self.assertEqual(status_of(left_out.main, "x", source)[1], 0)
            bounds = (source / ERRORS / "new_circumstances.csv").read_text(encoding="utf-8").splitlines()
            self.assertEqual([line.split(",")[0] for line in bounds[2:]], list(left_out.BOUNDS))
            stack = dict(zip(bounds[1].split(","), bounds[3].split(",")))
            self.assertEqual(stack["runs"], "6")  # none on processors
            self.assertAlmostEqual(float(stack["slower"]), math.log(1.5), delta=0.001)
            text = page.read_text(encoding="utf-8")
            self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"))
            self.assertIn("| its framework and stack | 3 | 50.0 | 75.0 | 12.5 |  |  |", text)
            self.assertNotIn("old", text)

    def test_a_failing_program_ends_with_2(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(status_of(left_out.main, "/bin/false", folder)[1], 2)


class Plots(unittest.TestCase):
    def test_families_have_the_scored_runs_that_linear_scaling_can_begin_with(self):
        keys = ("family", "scored", "gpus", "measured", "linear_from_one_gpu", "error", "incomplete")
        rows = [dict(zip(keys, row)) for row in (
            ("a", "true", "4", "100", "110", "0.05", "false"), ("a", "true", "8", "200", "240", "-0.1", "true"),
            ("a", "false", "8", "200", "240", "9", "false"), ("one GPU", "true", "1", "100", "", "0", "false"))]
        families = plots.training_runs(rows)
        self.assertEqual(families, {"a": [(4, 1.05, 1.1, False), (8, 0.9, 1.2, True)]})
        self.assertEqual(plots.caption(families["a"]), "5.0 %, linear 10.0 %, 1 runs; 1 incomplete 10.0 %")

    def test_curves_of_fewer_than_three_sizes_are_left_out(self):
        row = {"metric": "allreduce_time", "operation": "all_reduce", "gpus": 4, "size_bytes": 10**9, "measured": 0.1, "predicted": 0.2}
        curve = {"family": "nvlink", "name": "n", "fitted": True, "mape_from_1_mib": 0.5, "mape_below_1_mib": None}
        found = plots.curves({"rows": [{**row, "curve": n} for n in (0, 0, 0, 1)], "curves": [curve, curve]})
        self.assertEqual(found, [("nvlink", "n", "fitted: 50.0 % from 1 MiB up", [(10**9, 15.0, 7.5)] * 3)])

    def test_a_picture_of_other_numbers_is_told_by_its_digest(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder, "p.svg")
            picture.write_text(f"<svg>{plots.digest([1])}</svg>", encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertTrue(plots.is_settled(picture, [1], None, False))
                self.assertFalse(plots.is_settled(picture, [2], None, False))


class Worse(unittest.TestCase):
    def test_runs_are_known_by_what_their_rows_state(self):
        def table(runs):
            lines = [HEADER.format(series="series")]
            lines += [f"p,1,{gpus},4,torch,s,volta,g,m,fp32,encoder,0,20,1,1,100,{predicted},a.csv:{line}"
                      for line, (gpus, predicted) in enumerate(runs, 2)]
            return "# fit: nothing\n" + "\n".join(lines) + "\n"

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / ERRORS / "nothing.csv"
            path.parent.mkdir(parents=True)
            path.write_text(table([(1, 101), (2, 104), (4, 95), (4, 120)]), encoding="utf-8")
            git = ["git", "-C", folder, "-c", "user.name=t", "-c", "user.email=t@t"]
            for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "t"]):
                subprocess.run([*git, *words], check=True)
            path.write_text(table([(8, 150), (1, 101), (2, 103), (4, 95), (4, 130)]), encoding="utf-8")
            printed, status = status_of(worse.main, folder)
            self.assertEqual(status, 0)
            self.assertEqual(printed.splitlines(), [
                "nothing.csv: 1 of 5 rows are 2 points or more worse than in HEAD, 1 are new, 0 gone",
                "   +20.0 ->  +30.0 %  a.csv:6"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
