#!/usr/bin/env python3
"""Checks what can be checked of this folder without PyTorch and without a GPU: the plans, the recordings and their
resumption, the way to time, the reading of a profiler's trace, that the programs say so in one line where PyTorch is
missing; with PROGRAM, the built trainyard, also that it fits a profile to a recording of vector ops, and counts their
bytes as the plan does, and that the traces made of kernel tables are the shipped ones.

usage: check.py [PROGRAM]
"""

from __future__ import annotations

import csv
import io
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter

sys.dont_write_bytecode = True  # the sources stay as they are

import plan
import plan_models
import plan_rules
import program
import train_steps
import vector_ops
from check_options import TheLentOrder, TheOptions  # unittest finds them here
from check_tables import TheMeasuredReplays, TheTraces
from gpu_timer import HostNotHidden, time_on_gpu
from kernel_table import read_kernels, to_csv
from recording import CANNOT_WRITE, DONE, FAILED, INTERRUPTED, TIME_WAS_UP
from recording import Recording, RecordingError, work_through
from vector_plan import vector_plan

TRAINYARD = sys.argv[1] if len(sys.argv) > 1 else ""
FACTS = {"gpu": "NVIDIA Made Up", "torch": "2.11.0", "date": "2026-01-01"}


class Clock:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def recorded_rows(path: pathlib.Path) -> list[dict[str, str]]:
    return list(csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")))


class ThePlan(unittest.TestCase):
    def setUp(self) -> None:
        self.lines = plan.RUNS.read_text().splitlines()

    def problems_after(self, old: str, new: str) -> list[str]:
        """What is said of the shipped plan with one word changed in its first row that has it."""
        index = next(i for i, line in enumerate(self.lines) if old in line)
        changed = [*self.lines[:index], self.lines[index].replace(old, new), *self.lines[index + 1 :]]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "runs.csv")
            file.write_text("\n".join(changed) + "\n")
            return plan_rules.problems(plan.read_plan(file))

    def test_the_shipped_plan_is_right(self) -> None:
        self.assertEqual(plan_rules.problems(plan.read_plan()), [])

    def test_every_configuration_has_both_splits_and_no_batch_size_is_in_both(self) -> None:
        batches: dict[tuple[str, ...], dict[str, set[int]]] = {}
        for run in plan.read_plan():
            if run.variant == "options":
                continue  # their split is another: check_options.py
            splits = batches.setdefault(run.configuration, {"fit": set(), "report": set(), "apart": set()})
            splits[run.split].add(run.batch_per_gpu)
        self.assertEqual(len(batches), 24)
        for splits in batches.values():
            self.assertGreaterEqual(len(splits["fit"]), 2)
            self.assertGreaterEqual(len(splits["report"]), 2)
            self.assertFalse(splits["fit"] & splits["report"])

    @unittest.skipUnless(TRAINYARD, "needs the built trainyard")
    def test_parameters_are_those_that_trainyard_counts(self) -> None:
        for model, (parameters, tensors) in plan_models.PARAMETERS.items():
            counted = subprocess.run([TRAINYARD, "model", model], capture_output=True, text=True, check=True).stdout
            apart = plan_models.FAMILIES[model] == "decoder"  # PyTorch's queries, keys and values are tensors of their own
            self.assertRegex(counted, rf"\nparameters +{parameters:,} in {r'[0-9]+' if apart else tensors} tensors", model)

    def test_a_split_against_the_rule_is_found(self) -> None:
        found = self.problems_after(",128,momentum,fit,yes", ",128,momentum,report,yes")
        self.assertTrue(any("is report, by the rule fit" in problem for problem in found), found)
        self.assertTrue(any("only fitted batch sizes are traced" in problem for problem in found), found)

    def test_a_run_that_is_there_twice_is_found(self) -> None:
        found = self.problems_after(",64,momentum,report,no", ",128,momentum,fit,no")
        self.assertTrue(any("is there twice" in problem for problem in found), found)

    def test_another_sequence_length_than_the_model_has_is_found(self) -> None:
        found = self.problems_after(",default,1024,", ",default,512,")
        self.assertTrue(any("sequence_length is not 1024" in problem for problem in found), found)

    def test_an_unknown_word_is_an_error_with_its_line(self) -> None:
        for old, new, said in (
            ("amp_bf16", "bf8", r"runs\.csv:2: precision 'bf8' of resnet50 is none of fp32, tf32, amp_bf16"),
            ("resnet50", "resnet51", r"runs\.csv:2: unknown model 'resnet51'"),
            (",128,", ",many,", r"runs\.csv:2: batch_per_gpu 'many' is no positive number"),
            (",fit,yes", ",fit", r"runs\.csv:2: too many or too few values"),
            ("model,", "models,", r"runs\.csv:1: the columns must be"),
        ):
            with self.assertRaisesRegex(plan.PlanError, said):
                self.problems_after(old, new)


class TheRecording(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "steps.csv")
        self.runs = plan.read_plan()[:10]
        self.clock = Clock()
        self.out = io.StringIO()

    def work(self, seconds: float = 500, broken: dict[str, BaseException] | None = None) -> int:
        """Works through the runs that are left with a step that only takes 30 s; `broken` titles raise instead."""
        broken = broken or {}
        recording = Recording(self.path, FACTS, train_steps.FORM)

        def step(run: plan.Run) -> str:
            self.clock.now += 30
            if run.title in broken:
                raise broken[run.title]
            recording.append(run, {"status": "ok", "step_time_s": "0.25"})
            return "250 ms"

        todo = [run for run in self.runs if not recording.has(run)]
        return work_through(todo, step, seconds, clock=self.clock, out=self.out)

    def test_chunks_end_in_time_and_go_on_where_they_stopped(self) -> None:
        started = self.clock.now
        self.assertEqual(self.work(seconds=100), TIME_WAS_UP)
        self.assertLessEqual(self.clock.now - started, 100)
        self.assertEqual(len(recorded_rows(self.path)), 3)
        self.assertIn("7 left; the same command goes on", self.out.getvalue())
        self.assertEqual(self.work(), DONE)
        rows = recorded_rows(self.path)
        self.assertEqual([row["batch_per_gpu"] for row in rows], [str(run.batch_per_gpu) for run in self.runs])
        self.assertEqual([row["split"] for row in rows], [run.split for run in self.runs])
        self.assertEqual(self.path.read_text().count("# gpu: NVIDIA Made Up\n"), 1)
        self.assertEqual(self.work(), DONE)
        self.assertEqual(len(recorded_rows(self.path)), 10)

    def test_progress_says_how_long_it_will_last(self) -> None:
        self.work()
        self.assertIn("[4/10] " + self.runs[3].title + ": 250 ms; about 180 s left\n", self.out.getvalue())

    def test_a_run_that_fails_costs_no_other_and_is_tried_again(self) -> None:
        self.assertEqual(self.work(broken={self.runs[2].title: RuntimeError("no engine\nat all")}), FAILED)
        self.assertIn("failed: RuntimeError: no engine;", self.out.getvalue())
        self.assertEqual(len(recorded_rows(self.path)), 9)
        self.assertEqual(self.work(), DONE)
        self.assertEqual(len(recorded_rows(self.path)), 10)

    def test_what_was_finished_before_an_interruption_is_kept(self) -> None:
        self.assertEqual(self.work(broken={self.runs[5].title: KeyboardInterrupt()}), INTERRUPTED)
        self.assertEqual(len(recorded_rows(self.path)), 5)
        self.assertEqual(self.work(broken={self.runs[6].title: OSError("disk full")}), CANNOT_WRITE)
        self.assertEqual(len(recorded_rows(self.path)), 6)

    def test_out_of_memory_is_a_row_with_empty_times(self) -> None:
        Recording(self.path, FACTS, train_steps.FORM).append(self.runs[0], {"status": "oom"})
        (row,) = recorded_rows(self.path)
        self.assertEqual(tuple(row), train_steps.FORM.columns)
        self.assertEqual((row["status"], row["step_time_s"], row["peak_allocated_bytes"]), ("oom", "", ""))
        self.assertTrue(Recording(self.path, FACTS, train_steps.FORM).has(self.runs[0]))

    def test_a_row_cut_off_while_it_was_written_is_measured_again(self) -> None:
        self.work()
        text = self.path.read_text()
        self.path.write_text(text[:-20])
        self.assertFalse(Recording(self.path, FACTS, train_steps.FORM).has(self.runs[9]))
        self.work()
        self.assertEqual(self.path.read_text(), text)

    def test_a_recording_of_another_machine_is_not_continued(self) -> None:
        self.work()
        Recording(self.path, FACTS | {"date": "2026-01-02"}, train_steps.FORM)
        with self.assertRaisesRegex(RecordingError, "made with gpu 'NVIDIA Made Up', here it is 'Another'"):
            Recording(self.path, FACTS | {"gpu": "Another"}, train_steps.FORM)

    def test_a_file_of_something_else_is_left_alone(self) -> None:
        self.path.write_text("a,b\n1,2\n")
        with self.assertRaisesRegex(RecordingError, "is no recording"):
            Recording(self.path, FACTS, train_steps.FORM)
        self.assertEqual(self.path.read_text(), "a,b\n1,2\n")


class TheVectorPlan(unittest.TestCase):
    def setUp(self) -> None:
        self.rows = vector_plan()

    def test_every_row_is_there_once_and_a_coarse_grid_in_fp32_comes_first(self) -> None:
        self.assertEqual(max(Counter(row.key for row in self.rows).values()), 1)
        largest = max(row.bytes for row in self.rows[:100])
        self.assertTrue(200 << 20 < largest <= 256 << 20, largest)
        self.assertEqual({row.dtype for row in self.rows[:100]}, {"fp32"})

    def test_every_curve_of_a_profile_has_kernels_of_many_sizes(self) -> None:
        sizes: dict[str, set[int]] = {}
        for row in self.rows:
            kind = row.op.op.removesuffix("_forward").removesuffix("_backward")
            is_wide = kind == "softmax" and row.op.sample[-1] > 1024
            sizes.setdefault("softmax_wide" if is_wide else kind, set()).add(row.bytes.bit_length())
        curves = "elementwise batch_norm layer_norm pooling softmax softmax_wide embedding optimizer"
        self.assertEqual(set(sizes), set(curves.split()))
        for curve, of_curve in sizes.items():
            self.assertGreaterEqual(len(of_curve), 5, curve)

    def test_a_call_moves_no_more_than_its_size_and_whole_samples(self) -> None:
        for row in self.rows:
            self.assertLessEqual(row.bytes, 1 << 30, row.title)
            self.assertEqual(row.values % math.prod(row.op.sample), 0, row.title)

    def test_bytes_count_operands_and_results_once(self) -> None:
        bytes_of = {row.key[:4]: row.bytes for row in self.rows}
        self.assertEqual(bytes_of["elementwise", "add", "fp32", "e87381"], 3 * 4 * 87381)
        self.assertEqual(bytes_of["elementwise", "dropout", "bf16", "e52428"], (2 * 2 + 1) * 52428)
        self.assertEqual(bytes_of["optimizer", "adam", "fp32", "e37449"], 28 * 37449)
        scattered = [row for row in self.rows if row.title.startswith("embedding backward w768, fp32")]
        self.assertTrue(scattered)
        for row in scattered:
            self.assertEqual(row.bytes, 4 * (row.values + 30522 * 768))

    @unittest.skipUnless(TRAINYARD, "needs the built trainyard")
    def test_bytes_are_those_that_traces_count(self) -> None:
        compared = 0
        for experiment in ("resnet50_p3_2xlarge", "bert_base_p3dn", "gpt2_small_dgx2"):
            for precision, dtype in (("fp32", "fp32"), ("amp", "fp16")):
                planned = self.bytes_per_value(dtype)
                for op in traced(experiment, precision):
                    is_table = (op["kind"], op["phase"]) == ("embedding", "backward")  # each has another size
                    if not op["shape"].startswith("e") or op["layer"] == "loss" or is_table:
                        continue
                    each = float(op["bytes"]) / float(op["shape"].split()[0][1:])
                    phase = "forward" if op["layer"].endswith(".cast") else op["phase"]
                    self.assertTrue(any(abs(each / known - 1) < 0.01 for known in planned[op["kind"], phase]), op)
                    compared += 1
        self.assertGreater(compared, 1000)

    def bytes_per_value(self, dtype: str) -> dict[tuple[str, str], set[float]]:
        """What the plan's calls move in this type, by kind and phase; updates are fp32 always."""
        found: dict[tuple[str, str], set[float]] = {}
        for row in self.rows:
            is_update = row.op.op == "optimizer"
            if row.dtype == dtype or is_update:
                each = (row.bytes - row.op.bytes_of(0, row.dtype)) / row.values
                phase = "optimizer" if is_update else "backward" if row.op.backward else "forward"
                found.setdefault((row.op.op, phase), set()).add(each)
        return found


def traced(experiment: str, precision: str) -> list[dict[str, str]]:
    """The ops of a step, as the built trainyard writes them."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "trace.csv")
        command = [TRAINYARD, "trace", experiment, "--set", f"precision={precision}", "--output", str(file)]
        subprocess.run(command, check=True, capture_output=True)
        return recorded_rows(file)


class MadeUpGpu:
    """A GPU and its host, each with a clock: a call costs the host `host_us` and then keeps the GPU for `gpu_us`."""

    def __init__(self, host_us: float, gpu_us: float, waits: bool = False, queue: int = 1024) -> None:
        self.host_us, self.gpu_us, self.waits, self.queue = host_us, gpu_us, waits, queue
        self.host = self.gpu = 0.0
        self.ends: list[float] = []  # of the calls in the launch queue

    def call(self, repetition: int) -> None:
        self.host += self.host_us
        self.ends = [end for end in self.ends if end > self.host]
        if len(self.ends) >= self.queue:
            self.host = self.ends[-self.queue]
        self.gpu = max(self.gpu, self.host) + self.gpu_us
        self.ends.append(self.gpu)
        if self.waits:
            self.host = self.gpu

    def hold(self, microseconds: float) -> None:
        self.gpu = max(self.gpu, self.host) + microseconds

    def mark(self) -> float:
        self.gpu = max(self.gpu, self.host)
        return self.gpu

    def has_passed(self, event: float) -> bool:
        return event <= self.host

    def microseconds(self, begin: float, end: float) -> float:
        self.host = max(self.host, end)
        return end - begin

    def seconds(self) -> float:
        return 1e-6 * self.host


class TheTimer(unittest.TestCase):
    def timed(self, gpu: MadeUpGpu, warm_up: int = 0) -> float:
        return time_on_gpu(gpu, gpu.call, warm_up, gpu.seconds).median_us

    def test_a_call_takes_what_the_gpu_needs_for_it_however_slow_the_host_is(self) -> None:
        for host_us in (1, 40, 900):
            for gpu_us in (2, 30, 5000):
                self.assertAlmostEqual(self.timed(MadeUpGpu(host_us, gpu_us)), gpu_us, places=6)

    def test_a_full_launch_queue_is_no_part_of_the_time(self) -> None:
        self.assertAlmostEqual(self.timed(MadeUpGpu(10, 1, queue=7)), 1, places=6)

    def test_a_call_that_waits_for_the_gpu_is_not_timed(self) -> None:
        with self.assertRaises(HostNotHidden):
            self.timed(MadeUpGpu(10, 20, waits=True))

    def test_calls_are_numbered_and_warmed_up(self) -> None:
        gpu = MadeUpGpu(10, 200)
        numbers: list[int] = []
        timing = time_on_gpu(gpu, lambda number: (numbers.append(number), gpu.call(number)), 32, gpu.seconds)
        self.assertEqual(numbers, list(range(len(numbers))))
        self.assertGreaterEqual(len(numbers), 32 + timing.repetitions)
        self.assertTrue(10 <= timing.repetitions <= 100)
        self.assertEqual(timing.spread_us, 0)


class TheVectorRecording(unittest.TestCase):
    FACTS = {
        "gpu": "NVIDIA Made Up",
        "compute_capability": "9.0",
        "sm_count": "132",
        "memory_capacity": "85520809984 B",
        "memory_bandwidth": "3352 GB/s",
        "driver": "580.65.06",
        "sm_clock": "1980 MHz",
        "power_limit": "700.00 W",
        "cpu": "2 x Some Processor",
        "torch": "2.11.0",
        "date": "2026-01-01",
        "timing": "kernels",
        "source": "PyTorch 2.11.0",
    }

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "vectors.csv"
        self.recording = Recording(self.path, self.FACTS, vector_ops.FORM)
        self.rows = vector_plan()
        for row in self.rows:  # half of the bandwidth after 5 us
            time_us = f"{row.bytes / (0.5 * 3352e3) + 5:.6g}"
            self.recording.append(row, {"time_us": time_us, "spread_us": "0.1", "repetitions": 100})

    def test_a_row_says_what_was_timed(self) -> None:
        first = recorded_rows(self.path)[0]
        self.assertEqual(list(first), "op variant dtype shape bytes time_us spread_us repetitions".split())
        self.assertEqual(list(first.values())[:5], ["elementwise", "add", "fp32", "e87381", "1048572"])

    def test_what_is_recorded_is_not_measured_again(self) -> None:
        again = Recording(self.path, self.FACTS, vector_ops.FORM)
        self.assertTrue(all(again.has(row) for row in self.rows))

    @unittest.skipUnless(TRAINYARD, "needs the built trainyard")
    def test_a_profile_gets_all_its_vector_curves_from_it(self) -> None:
        command = [TRAINYARD, "calibrate", "gpu", str(self.path), "--name", "made_up", "--out", str(self.folder)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        profile = (self.folder / "made_up.yaml").read_text()
        self.assertIn("vector_kernels: vectors.csv\n", profile)
        curves = "elementwise batch_norm layer_norm pooling softmax softmax_wide embedding optimizer"
        for curve in curves.split():
            fraction = re.search(rf"\n  {curve}:\s*{{?value: ([\d.]+),?\s+fitted: ", profile)
            self.assertIsNotNone(fraction, curve)
            self.assertAlmostEqual(float(fraction[1]), 0.5, places=2)
        self.assertRegex(profile, r"\n  t0: {value: 5 us, fitted: ")


class TheTrace(unittest.TestCase):
    def setUp(self) -> None:
        def event(category: str, name: str, ts: float, dur: float, **arguments: object) -> dict:
            return {"ph": "X", "cat": category, "name": name, "ts": ts, "dur": dur, "args": arguments}

        sizes = {"External id": 7, "Input Dims": [[768], [8, 768], [768, 768], [], [[4], [5]]]}
        gemm = "void cutlass::Kernel2<sm90>(Params)"
        relu = "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::relu>()"
        self.trace = {
            "traceEvents": [
                {"ph": "M", "name": "process_name"},
                event("user_annotation", "forward", 0, 50),
                event("user_annotation", "backward", 50, 50),
                event("cpu_op", "aten::addmm", 10, 8, **sizes),
                event("cuda_runtime", "cudaLaunchKernel", 12, 3, correlation=1),
                event("cuda_driver", "cuLaunchKernel", 70, 3, **{"correlation": 2, "External id": 9}),
                event("cpu_op", "aten::threshold_backward", 69, 8, **{"External id": 9}),
                event("kernel", relu, 230.25, 4, correlation=2),
                event("kernel", gemm, 200, 25.5, **{"correlation": 1, "External id": 7}),
                event("gpu_memset", "Memset (Device)", 300, 1, correlation=3),
                event("gpu_user_annotation", "forward", 200, 26),
            ]
        }

    def test_kernels_come_in_order_with_op_shapes_and_phase(self) -> None:
        gemm, relu, fill = read_kernels(self.trace)
        self.assertEqual((gemm.index, gemm.phase, gemm.op), (0, "forward", "aten::addmm"))
        self.assertEqual((gemm.shapes, gemm.start_us, gemm.duration_us), ("768;8x768;768x768", 0, 25.5))
        self.assertEqual((relu.phase, relu.op, relu.start_us), ("backward", "aten::threshold_backward", 30.25))
        self.assertEqual(relu.kernel, "vectorized_elementwise_kernel<4, relu>()")
        self.assertEqual((fill.phase, fill.op, fill.kernel), ("", "", "Memset (Device)"))

    def test_files_stay_small(self) -> None:
        kernels = read_kernels(self.trace) * 1000
        text = to_csv(kernels, FACTS, 150_000)
        self.assertLessEqual(len(text), 150_000)
        self.assertGreater(len(to_csv(kernels, FACTS)), len(text))
        self.assertEqual(text.splitlines()[3], "index,phase,op,shapes,kernel,start_us,duration_us")


class ThePrograms(unittest.TestCase):
    def run_without_torch(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "torch.py").write_text("raise ImportError('no torch')\n")
            command = [sys.executable, str(plan.HERE / name), *arguments]
            environment = {**os.environ, "PYTHONPATH": folder}
            return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)

    def test_without_torch_they_say_so_in_one_line(self) -> None:
        for name in ("train_steps.py", "op_trace.py"):
            ended = self.run_without_torch(name, "new")
            self.assertEqual((ended.returncode, ended.stdout), (program.NO_GPU, ""))
            self.assertRegex(ended.stderr, r"\Aerror: needs torch, torchvision, transformers and PyYAML: .*\n\Z")
        ended = self.run_without_torch("vector_ops.py", "new")
        self.assertEqual((ended.returncode, ended.stdout), (program.NO_GPU, ""))
        self.assertRegex(ended.stderr, r"\Aerror: needs torch: .*\n\Z")

    def test_the_plan_is_checked_without_torch(self) -> None:
        ended = self.run_without_torch("train_steps.py", "--check")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(ended.stdout, r"\A\d+ runs of 24 configurations and 53 with options: \d+ fit, ")
        self.assertRegex(ended.stdout, r"\d+ apart; 30 traced; lent order 53 runs, about \d+ s\n\Z")

        ended = self.run_without_torch("vector_ops.py", "--check")
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertRegex(ended.stdout, r"\A\d+ rows of 38 calls\n\Z")

    def test_words_choose_runs(self) -> None:
        chosen = program.selected(plan.read_plan(), ["gpt2_small", "tf32", "batch 4"])
        self.assertEqual([run.variant for run in chosen], ["default", "sdpa", "gelu_new"])
        chosen = program.selected(plan.read_plan(), ["llama3_8b", "compiled"])
        self.assertEqual([run.options.layers for run in chosen], [4])
        chosen = program.selected(vector_plan(), ["layer_norm", "backward w768", "bf16"])
        self.assertEqual({row.op.variant for row in chosen}, {"backward w768"})
        self.assertEqual(len(chosen), 4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
