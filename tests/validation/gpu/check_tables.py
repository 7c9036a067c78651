"""Checks the traces that are made of kernel tables, and the table of measured and replayed steps: a part of check.py."""

from __future__ import annotations

import csv
import gzip
import pathlib
import sys
import tempfile
import unittest
from collections import Counter

from fitted_steps import MODELS
from plan import WORKLOADS, read_plan
from table_profile import Call, TableError, add_gradients, calls_of, is_host_copy, read_table
from table_traces import SHIPPED, imported, rows, step_of, tables, trace_text

TRAINYARD = sys.argv[1] if len(sys.argv) > 1 else ""
REPLAYS = WORKLOADS / "published" / "errors" / "replays.csv"


def kernel_seconds(path: pathlib.Path) -> float:
    """Of a table, without copies to and from the host."""
    return 1e-6 * sum(kernel.duration_us for kernel in read_table(path)[1] if not is_host_copy(kernel))


class TheTraces(unittest.TestCase):
    def test_shipped_traces_last_as_long_as_the_kernels_of_their_tables(self) -> None:
        for shipped in SHIPPED:
            ops = rows(WORKLOADS / "traces" / f"{shipped.name}.csv")
            total = sum(float(op["duration_s"]) for op in ops)
            self.assertAlmostEqual(total / kernel_seconds(tables()[shipped.run]), 1, places=9, msg=shipped.name)

    def test_gradients_are_those_of_the_same_model_on_another_gpu(self) -> None:
        def tensors(name: str) -> Counter[str]:
            ops = rows(WORKLOADS / "traces" / f"{name}.csv")
            listed = [one for op in ops if op["gradients"] for one in op["gradients"].split(";")]
            return Counter(one.rpartition(":")[2] for one in listed)

        for shipped in SHIPPED:
            self.assertEqual(tensors(shipped.name), tensors(shipped.name.replace("_h200", "_h100")))

    @unittest.skipUnless(TRAINYARD, "needs the built trainyard")
    def test_shipped_traces_are_what_table_traces_writes(self) -> None:
        for shipped in SHIPPED:
            file = WORKLOADS / "traces" / f"{shipped.name}.csv"
            self.assertEqual(trace_text(TRAINYARD, shipped), file.read_text(), shipped.name)

    def test_kernels_of_a_call_are_one_call(self) -> None:
        table = (
            "index,phase,op,shapes,kernel,start_us,duration_us\n"
            "0,forward,aten::copy_,8x8;8x8,cast,0,1\n"
            "1,forward,aten::mm,4x8;8x8,gemm,1,1\n"
            "2,forward,aten::copy_,4x8;4x8,cast,2,1\n"
            "3,forward,aten::gelu,4x8,gelu,3,1\n"
            "4,backward,aten::embedding_dense_backward,4x8;4,sort,4,1\n"
            "5,backward,aten::fill_,10x8,fill,5,1\n"
            "6,backward,aten::embedding_dense_backward,4x8;4,add,6,1\n"
            "7,backward,aten::copy_,8x8;8x8,cast,7,1\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "table.csv.gz")
            file.write_bytes(gzip.compress(table.encode()))
            kernels = read_table(file)[1]
        calls = calls_of(kernels)
        self.assertEqual([len(call.kernels) for call in calls], [2, 1, 1, 3, 1])
        self.assertEqual(sum(len(call.kernels) for call in calls), len(kernels))
        add_gradients(calls, Counter({80: 1, 64: 1}))
        self.assertEqual([call.gradients for call in calls], [[], [], [], [80], [64]])
        for left_over in ({80: 2}, {7: 1}):
            with self.assertRaises(TableError):
                add_gradients([Call(call.phase, call.op, call.shapes, filled=call.filled) for call in calls], Counter(left_over))


class TheMeasuredReplays(unittest.TestCase):
    def setUp(self) -> None:
        self.steps = rows(REPLAYS)

    def test_steps_of_the_h100_are_the_published_rows(self) -> None:
        with (WORKLOADS / "published" / "gpu_steps.csv").open(newline="") as file:
            published = list(csv.DictReader(file))
        steps = [step for step in self.steps if step["gpu"] == "h100_sxm_80gb"]
        self.assertEqual(len(steps), len(published))
        for step, row in zip(steps, published):
            self.assertEqual(step["model"], MODELS.get(row["model"], row["model"]))
            self.assertEqual(step["step_time_s"], row["step_time_s"])
            # kernels that run at the same time count once in a trace, copies from the host not at all
            self.assertAlmostEqual(float(step["kernel_time_s"]) / float(row["kernel_time_s"]), 1, delta=0.006)

    def test_steps_of_the_h200_are_all_tables_of_kernels(self) -> None:
        steps = {step["recording"]: step for step in self.steps if step["gpu"] == "h200_sxm_141gb"}
        plan = {run.title: run for run in read_plan()}
        traces = {shipped.run: shipped.name for shipped in SHIPPED}
        self.assertEqual(len(steps), len(tables()))
        for title, file in tables().items():
            step = steps[file.name.partition(".")[0]]
            self.assertEqual((step["model"], step["trace"]), (plan[title].model, traces.get(title, "")))
            self.assertEqual(step["step_time_s"], step_of(plan[title])["step_time_s"])
            self.assertEqual(step["kernel_time_s"], f"{kernel_seconds(file):.6g}")

    @unittest.skipUnless(TRAINYARD, "needs the built trainyard")
    def test_ops_are_those_that_import_kineto_makes(self) -> None:
        steps = {step["recording"]: step for step in self.steps}
        plan = {run.title: run for run in read_plan()}
        for title, file in tables().items():
            ops = imported(TRAINYARD, calls_of(read_table(file)[1]), plan[title].batch_per_gpu)
            times = [float(op["duration_s"]) for op in ops if op["phase"] != "optimizer"]
            stated = steps[file.name.partition(".")[0]]["mean_op_us"]
            self.assertEqual(stated, f"{1e6 * sum(times) / len(times):.4g}", title)
