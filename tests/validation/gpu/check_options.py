"""Checks the runs with options and the lent order, for check.py, which runs them with its own."""

from __future__ import annotations

import io
import pathlib
import re
import tempfile
import unittest

import op_trace
import plan
import plan_models
import plan_rules
import program
from compare import comments, measured
from fitted_steps import fitted_steps
from recording import DONE, TIME_WAS_UP, work_through

LENT_S = 700  # of the 15 minutes that the GPU is lent, those that train_steps.py gets
START_S = 30  # until PyTorch is imported and the GPU answers
FIRST_COMPILATION_S = 240  # so much of the order is measured before anything is compiled


def stated() -> list[plan.Run]:
    """The shipped runs with options."""
    return [run for run in plan.read_plan() if run.variant == "options"]


class TheOptions(unittest.TestCase):
    def problems_after(self, model: str, **changed: str) -> list[str]:
        """What is said of the shipped plan with cells changed in the model's first row with options."""
        lines = plan.RUNS.read_text().splitlines()
        index = next(i for i, line in enumerate(lines) if line.startswith(f"{model},") and ",options," in line)
        cells = dict(zip(plan.COLUMNS, lines[index].split(","))) | changed
        lines[index] = ",".join(cells.values())
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "runs.csv")
            file.write_text("\n".join(lines) + "\n")
            return plan_rules.problems(plan.read_plan(file))

    def test_the_plan_holds_all_that_people_use_today(self) -> None:
        runs = stated()
        self.assertEqual({run.family for run in runs}, set(plan_models.FAMILIES.values()) - {"vgg"})
        self.assertEqual({run.precision for run in runs}, {"amp_bf16", "amp", "pure_bf16", "tf32"})
        for column, words in (
            ("runtime", {"eager", "compiled", "cuda_graph"}),
            ("optimizer_kernels", {"foreach", "fused"}),
            ("attention", {"sdpa", "eager", ""}),
            ("recompute", {"none", "full"}),
        ):
            self.assertEqual({getattr(run.options, column) for run in runs}, words, column)
        self.assertTrue(any(run.options.accumulation > 1 for run in runs))

    def test_runs_are_fit_where_the_lowering_was_fitted_to_their_step(self) -> None:
        fitted = fitted_steps(plan.WORKLOADS)
        self.assertGreaterEqual(len(fitted), 33)
        self.assertEqual({run.key for run in stated() if run.split == "fit"} - fitted, set())
        self.assertEqual({run.key for run in stated() if run.split == "report"} & fitted, set())
        found = self.problems_after("qwen3_0_6b", split="report", trace="no")
        self.assertTrue(any("is report, by gpu_steps.csv fit" in problem for problem in found), found)
        found = self.problems_after("qwen3_0_6b", batch_per_gpu="3")
        self.assertTrue(any("is fit, by gpu_steps.csv report" in problem for problem in found), found)

    def test_a_traced_run_that_is_reported_is_found(self) -> None:
        found = self.problems_after("qwen3_0_6b", batch_per_gpu="3", split="report", trace="yes")
        self.assertTrue(any("only fitted batch sizes are traced" in problem for problem in found), found)

    def test_a_run_that_is_there_twice_is_found(self) -> None:
        found = self.problems_after("gpt2_small", batch_per_gpu="1", trace="no")
        self.assertTrue(any("is there twice" in problem for problem in found), found)

    def test_lengths_are_those_that_the_model_can_have(self) -> None:
        for model, length, said in (
            ("llama3_8b", "8193", "sequence_length is not 1 to 8192"),
            ("llama3_8b", "", "sequence_length is not 1 to 8192"),
            ("vit_b_16", "197", "sequence_length is not empty"),
            ("bert_base", "256", "has no predictions for 256 tokens"),
        ):
            found = self.problems_after(model, sequence_length=length)
            self.assertTrue(any(said in problem for problem in found), found)

    def test_an_option_that_the_model_or_the_variant_lacks_is_an_error_with_its_line(self) -> None:
        for model, changed, said in (
            ("resnet50", {"attention": "sdpa"}, r"runs\.csv:\d+: attention 'sdpa' of resnet50 is none of empty"),
            ("vit_b_16", {"recompute": "full"}, r"recompute 'full' of vit_b_16 is none of empty"),
            ("vit_b_16", {"attention": "eager"}, r"attention 'eager' of vit_b_16 is none of sdpa"),
            ("llama3_8b", {"runtime": "fast"}, r"runtime 'fast' of llama3_8b is none of eager, compiled, cuda_graph"),
            ("llama3_8b", {"layers": "32"}, r"layers '32' of llama3_8b is not below 32"),
            ("bert_base", {"layers": "4"}, r"layers '4': bert_base runs with all only"),
            ("bert_base", {"accumulation": "1"}, r"accumulation '1' is written as nothing"),
            ("bert_base", {"accumulation": "2", "runtime": "cuda_graph"}, r"a graph overwrites the gradients"),
            ("bert_base", {"lent_s": "soon"}, r"lent_s 'soon' is no positive number"),
            ("bert_base", {"variant": "default"}, r"attention 'sdpa' needs the variant 'options'"),
            ("t5_base", {"variant": "default"}, r"variant 'default' of t5_base is none of options"),
        ):
            with self.assertRaisesRegex(plan.PlanError, said):
                self.problems_after(model, **changed)

    def test_other_variants_are_eager_with_the_difference_that_they_name(self) -> None:
        by_variant = {run.variant: run.options for run in plan.read_plan() if run.model == "bert_large"}
        self.assertEqual(by_variant["default"].cells, ("eager", "eager", "foreach", "", "", ""))
        self.assertEqual(by_variant["sdpa"].attention, "sdpa")
        self.assertEqual(by_variant["fused_optimizer"].optimizer_kernels, "fused")

    def test_titles_and_names_of_traces_tell_all_runs_apart(self) -> None:
        runs = plan.read_plan()
        self.assertEqual(len({run.title for run in runs}), len(runs))
        self.assertEqual(len({op_trace.file_name(run) for run in runs}), len(runs))

    def test_recordings_without_options_are_still_read_and_named_alike(self) -> None:
        for name in ("h100_steps.csv", "h200_steps.csv"):
            pairs = list(measured(plan.HERE / name))
            self.assertGreater(len(pairs), 60, name)
            for run, cells in pairs:
                self.assertEqual((run.split, str(run.batch_per_gpu)), (cells["split"], cells["batch_per_gpu"]))
        files = [op_trace.file_name(run) for run in plan.read_plan() if run.trace and run.variant == "default"]
        folder = plan.HERE / "h200_traces"
        self.assertEqual(sorted(files), sorted(file.name.removesuffix(".gz") for file in folder.glob("*.csv*")))
        titles = {run.title for run in plan.read_plan()}
        self.assertEqual({comments(file)["run"] for file in folder.glob("*.csv*")} - titles, set())

    def test_decoders_have_the_parameters_of_their_layers(self) -> None:
        for model, (layers, _, _) in plan_models.LAYERS.items():
            for count in (0, 4):
                expected = decoder_parameters(model, count or layers)
                self.assertEqual(plan_models.parameters(model, count), expected, model)
        self.assertEqual(plan_models.parameters("llama3_8b", 4), (1_923_125_248, 39))  # as PyTorch has built it


def decoder_parameters(model: str, layers: int) -> tuple[int, int]:
    """Parameters and tensors by the sizes in the model's file: no biases, gated, a norm before each half."""
    text = (plan.WORKLOADS / "models" / f"{model}.yaml").read_text()
    sizes = {key: int(value) for key, value in re.findall(r"^  (\w+): *(\d+)$", text, flags=re.M)}
    hidden, heads = sizes["hidden"], sizes["heads"]
    head_dim = sizes.get("head_dim", hidden // heads)
    kv_heads = sizes.get("kv_heads", heads)
    attention = 2 * hidden * head_dim * (heads + kv_heads)
    norms = 2 * hidden
    tensors = 4 + 3 + 2
    if "  qk_norm: heads" in text:
        norms += 2 * head_dim
        tensors += 2
    tables = 1 if "  tied: true" in text else 2
    each = attention + 3 * hidden * sizes["ffn"] + norms
    return layers * each + tables * sizes["vocabulary"] * hidden + hidden, layers * tensors + tables + 1


class TheLentOrder(unittest.TestCase):
    def setUp(self) -> None:
        self.runs = program.in_order(plan.read_plan(), "lent")
        self.now = 0.0
        self.begun: list[tuple[float, plan.Run]] = []
        self.out = io.StringIO()

    def measure(self, seconds: float, slower: float = 1.0) -> int:
        """Works through the order as train_steps.py does, with runs that take their estimate times `slower`."""

        def step(run: plan.Run) -> str:
            self.begun.append((self.now, run))
            self.now += slower * run.lent_s
            return "done"

        todo = [run for run in self.runs if run not in [run for _, run in self.begun]]
        started, self.now = self.now, self.now + START_S
        estimate = program.estimate(program._parse(["new", "--order", "lent"], program.TRAINING_STEPS, ""))
        return work_through(todo, step, seconds, started, lambda: self.now, self.out, estimate)

    def test_all_that_has_options_is_in_it_and_nothing_else(self) -> None:
        self.assertEqual(self.runs, stated())
        self.assertEqual(program.in_order(plan.read_plan(), "plan"), plan.read_plan())

    def test_the_time_is_used_and_not_passed(self) -> None:
        for slower in (1.0, 1.5):
            self.setUp()
            self.assertEqual(self.measure(LENT_S, slower), TIME_WAS_UP)
            self.assertLessEqual(self.now, LENT_S)
            self.assertGreater(self.now, LENT_S - 10 * slower)

    def test_a_slow_machine_is_expected_to_stay_slow(self) -> None:
        for seconds in range(100, LENT_S, 25):
            self.setUp()
            self.measure(seconds, slower=2)
            self.assertLessEqual(self.now, seconds)

    def test_a_machine_that_is_twice_as_fast_measures_all(self) -> None:
        self.assertEqual(self.measure(LENT_S, 0.5), DONE)
        self.assertEqual([run for _, run in self.begun], self.runs)

    def test_one_loan_measures_every_model_precision_and_option(self) -> None:
        self.measure(LENT_S)
        done = [run for _, run in self.begun]
        for name in ("model", "precision"):
            self.assertEqual({getattr(run, name) for run in done}, {getattr(run, name) for run in self.runs}, name)
        for column in ("attention", "runtime", "optimizer_kernels", "recompute"):
            expected = {getattr(run.options, column) for run in self.runs}
            self.assertEqual({getattr(run.options, column) for run in done}, expected, column)
        self.assertTrue(any(run.options.accumulation > 1 for run in done))
        self.assertGreaterEqual(sum(run.split == "report" for run in done), 8)

    def test_what_takes_seconds_comes_before_what_is_compiled(self) -> None:
        self.measure(LENT_S)
        first = min(begun for begun, run in self.begun if run.options.runtime != "eager")
        self.assertGreater(first, FIRST_COMPILATION_S)
        for run in self.runs:
            self.assertEqual(run.lent_s >= 40, run.options.runtime != "eager", run.title)

    def test_a_run_that_is_too_long_is_passed_over_and_measured_next_time(self) -> None:
        self.measure(LENT_S)
        done = [run for _, run in self.begun]
        missed = [run for run in self.runs[: self.runs.index(done[-1])] if run not in done]
        self.assertTrue(missed)
        self.assertIn(f"time is up: {len(self.runs) - len(done)} left", self.out.getvalue())
        self.assertEqual(self.measure(LENT_S), DONE)
        self.assertEqual(len(self.begun), len(self.runs))
        self.assertEqual(self.begun[len(done)][1], missed[0])
