"""Tests of notebooks/trainyard.py against the program that $TRAINYARD names.

usage: TRAINYARD=PROGRAM /usr/bin/python3 -m unittest tests/notebooks/trainyard_test.py
"""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "notebooks"))
import trainyard as ty


class Run(unittest.TestCase):
    def test_settings_reach_the_program(self):
        summary = ty.run("resnet50_dgx2", {"stack.bucket_cap": "5 MiB"}, gpus=4, batch_per_gpu=32)
        self.assertEqual((summary["ranks"], summary["global_batch"]), (4, 128))
        self.assertEqual(summary["resolved_experiment"]["stack.bucket_cap"], "5 MiB")

    def test_booleans_are_yaml(self):
        summary = ty.run("resnet50_dgx2", {"stack.overlap": False})
        self.assertEqual(summary["resolved_experiment"]["stack.overlap"], "false")

    def test_an_error_carries_message_and_exit_code(self):
        with self.assertRaisesRegex(ty.ProgramError, "did you mean 'nic'") as caught:
            ty.run("resnet50_dgx2", {"platform.fabric.nci": "25 Gbps"})
        self.assertEqual(caught.exception.exit_code, 3)
        with self.assertRaises(ty.ProgramError) as caught:
            ty.run("resnet50_dgx2", batch_per_gpu=4096)
        self.assertEqual(caught.exception.exit_code, 4)

    def test_tables_add_up_to_the_summary(self):
        tables = ty.run_tables("resnet50_dgx2", {"random.gpus": "none"})
        self.assertEqual(len(tables["ranks"]), 16)
        self.assertAlmostEqual(tables["ops"]["duration_s"].sum(), tables["summary"]["one_rank_step_time_s"], places=9)
        self.assertEqual(len(tables["collectives"]), 2 + 5)  # broadcasts of buffers, all-reduces
        self.assertGreater(tables["links"]["bytes"].sum(), 0)

    def test_the_timeline_has_every_pass_of_every_stage(self):
        layout = {"nodes": 1, "gpus": 2, "model": "gpt3_126m", "precision": "amp", "batch_per_gpu": 1, "accumulation": 4}
        tables = ty.run_tables("resnet50_dgx2", {**layout, "parallelism.pipeline": 2})
        passes = tables["timeline"].query("lane == 'compute' and category in ('forward', 'backward')")
        self.assertEqual(passes.groupby(["process", "category"]).size().tolist(), [4, 4, 4, 4])
        first = passes[passes.process.str.startswith("stage 0")]
        parts = tables["summary"]["stages"][0]["step_parts_s"]
        self.assertAlmostEqual(
            first.duration_s.sum(), parts["forward"] + parts["backward"] + parts["kernel_slowdown"] + parts["layers"], places=5
        )

    def test_runs_of_many_updates_have_workers(self):
        tables = ty.run_tables("inception_v3_dgx1_p100_server", {"steps.measured": 3, "steps.warmup": 1})
        self.assertEqual(len(tables["workers"]), tables["summary"]["ranks"])

    def test_runs_that_learn_have_their_evaluations(self):
        few = {"sync.placement": "free", "steps.measured": 3, "steps.repeats": 2, "learn.points": 4, "learn.until.time": "4 s"}
        tables = ty.run_tables("digits_stragglers", few)
        self.assertEqual(tables["learning"].groupby("repeat")["time_s"].agg(list).tolist(), [[0, 1, 2, 3, 4]] * 2)


class Sweep(unittest.TestCase):
    def test_lists_are_varied(self):
        rows = ty.sweep("resnet50_dgx2", ranks=[1, 4], batch_per_gpu=[32, 64])
        self.assertEqual(sorted(zip(rows["ranks"], rows["batch_per_gpu"])), [(1, 32), (1, 64), (4, 32), (4, 64)])
        one = ty.run("resnet50_dgx2", gpus=4, batch_per_gpu=64)
        self.assertEqual(rows.query("ranks == 4 and batch_per_gpu == 64")["step_time_s"].item(), one["step_time_s"])

    def test_a_point_that_cannot_run_is_a_row_with_its_reason(self):
        rows = ty.sweep("resnet50_dgx2", batch_per_gpu=[32, 4096])
        self.assertEqual(rows["step_time_s"].isna().tolist(), [False, True])
        self.assertIn("GB", rows["reason"].tolist()[1])

    def test_a_sweep_without_a_point_is_an_error(self):
        with self.assertRaises(ty.ProgramError):
            ty.sweep("no_such_sweep")


class Plan(unittest.TestCase):
    def test_the_keys_of_the_best_plan_run_to_its_step(self):
        over = {"batch_per_gpu": [8, 16]}
        answer = ty.plan("gpt2_xl", {"parallelism.recompute": "full"}, over, on="dgx_a100", gpus=8, global_batch=64, quick=True)
        best = answer["best"]
        self.assertIn(best["keys"]["batch_per_gpu"], ("8", "16"))
        job = {"model": "gpt2_xl", "platform": "dgx_a100", "stack": "megatron_lm", "precision": "bf16"}
        once = ty.run(None, {**job, "parallelism.recompute": "full", **best["keys"]})
        self.assertAlmostEqual(once["step_time_s"], best["step_time_s"], places=9)
        self.assertEqual(answer["changes"], [])  # --quick reached the program

    def test_a_model_that_fits_in_no_way_is_an_error(self):
        with self.assertRaises(ty.ProgramError) as raised:
            ty.plan("gpt3_175b", on="dgx_a100", gpus=8, global_batch=8)
        self.assertEqual(raised.exception.exit_code, 4)


class Others(unittest.TestCase):
    def test_sizes_of_a_collective(self):
        rows = ty.collective("all_reduce", "dgx2", "1M", "4M", gpus=4, algorithm="ring")
        self.assertEqual(rows["size_bytes"].tolist(), [2**20, 2**21, 2**22])
        self.assertEqual(set(rows["algorithm"]), {"ring"})

    def test_two_groups_of_a_collective(self):
        rows = ty.collective("all_reduce", "dgx2", "1M", "1M", group=["0-7", "8-15"])
        self.assertEqual(rows["group"].tolist(), [0, 1])

    def test_a_trace_replays_to_the_same_step(self):
        ops = ty.trace("resnet50_dgx2")
        with tempfile.TemporaryDirectory() as folder:
            ty.write_trace(ops, pathlib.Path(folder, "t.csv"))
            pathlib.Path(folder, "e.yaml").write_text(
                "platform: dgx2\ntrace: t.csv\nstack: pytorch_ddp\nbatch_per_gpu: 128\n"
            )
            again = ty.run(str(pathlib.Path(folder, "e.yaml")))
        self.assertAlmostEqual(again["step_time_s"], ty.run("resnet50_dgx2")["step_time_s"], places=12)

    def test_names_are_names_alone(self):
        self.assertIn("v100_sxm3_32gb", ty.names("gpus"))
        self.assertNotIn("Errors", ty.names("gpus"))

    def test_published_rows_and_those_of_validate(self):
        self.assertIn("throughput", set(ty.published("nvidia_dle")["metric"]))
        file = ty.data() / "workloads" / "published" / "fastai_imagenet18.csv"
        rows = ty.validate("spec", file)["rows"]
        self.assertGreater(len(rows), 0)
        of_frame = ty.validate("spec", ty.published("fastai_imagenet18"))["rows"]
        self.assertEqual([(row["line"], row["error"]) for row in of_frame], [(row["line"], row["error"]) for row in rows])

    def test_ticks_are_plain_numbers_and_no_others(self):
        _, axes = plt.subplots()
        axes.set(xscale="log", xlim=(1, 1000))
        ty.plain_ticks(axes.xaxis, [1, 30, 1000])
        self.assertEqual([label.get_text() for label in axes.get_xticklabels()], ["1", "30", "1,000"])
        self.assertEqual(len(axes.get_xticks(minor=True)), 0)

    def verdict(self, *arguments, **options):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            ty.check(*arguments, **options)
        return printed.getvalue()

    def test_the_errors_of_published_runs_are_those_of_the_readme(self):
        rows = ty.errors("1gpu")
        scored = rows[rows.is_scored]
        totals = ty.family_errors().query("family == 'all runs' and protocol == '1gpu'").iloc[0]
        self.assertEqual((len(scored), round(100 * scored.error.abs().mean(), 1)), (totals.rows, totals.mape))
        measured = ty.published("dlperf").value[scored[scored.publication == "dlperf"].line.iloc[0] - 2]
        self.assertEqual(measured, scored[scored.publication == "dlperf"].measured.iloc[0])

    def test_settings_can_stand_without_an_experiment(self):
        alone = {"model": "resnet50", "platform": "dgx2", "batch_per_gpu": 32}
        one = ty.run(None, alone)
        self.assertEqual((one["model"], one["platform"]), ("resnet50", "dgx2"))
        self.assertEqual(ty.sweep(None, alone, nodes=[1]).step_time_s.tolist(), [one["step_time_s"]])

    def test_a_blank_is_no_error_and_asks_for_a_guess(self):
        self.assertTrue(self.verdict(None, lambda: 1 / 0).startswith("write your guess first"))

    def test_check_explains_what_is_near_or_wrong(self):
        self.assertEqual(self.verdict(0.95, 1.0), "near: 0.95 is a little too low (within 2 % is right)\n")
        self.assertEqual(self.verdict(250.0, 0.25), "250 is too high by a factor of 1,000: check the unit\n")
        self.assertEqual(self.verdict(25, 200), "25 is too low by a factor of 8 (bits or bytes?): check the unit\n")
        self.assertEqual(self.verdict("ring", 3), "not 'ring': the answer is a number\n")
        self.assertEqual(self.verdict(2, 3, mistakes={2: "twice"}), "2 is too low\ntwice\n")
        self.assertEqual(self.verdict(3, 3, mistakes={2: "twice"}), "right: the program says 3\n")
        self.assertEqual(self.verdict(5, 2, within=0, choices=[1, 2, 4]), "5 is not a choice: write one of 1, 2, 4\n")
        self.assertEqual(self.verdict(4, 2, within=0, explain=lambda guess: f"{guess} is much"), "4 is too high\n4 is much\n")

    def test_check_says_which_way_a_guess_is_off_and_keeps_the_answer(self):
        self.assertIn("right", self.verdict(1.01, 1.0))
        self.assertEqual(self.verdict(0.8, 1.0), "0.8 is too low\n")
        self.assertEqual(self.verdict(1.3, 1.0), "1.3 is too high\n")
        self.assertIn("right", self.verdict(1.1, 1.0, within=0.2))
        self.assertEqual(self.verdict(11_000, 10_986, within=0.05), "right: the program says 10,990\n")
        self.assertIn("right", self.verdict(101, pandas.Series([100])[0]))  # an integer, though not Python's
        self.assertEqual(self.verdict("ring", "tree"), "not ring\n")


if __name__ == "__main__":
    unittest.main()
