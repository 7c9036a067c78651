// `trainyard sweep` from the outside: the same bytes whatever way the points were simulated, each row what
// `trainyard run` says of its point, and how sweeps end that cannot be finished.

#include "process.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

using Words = std::vector<std::string>;

/// Sixteen points: six do not fit into memory, four want more GPUs than there are.
std::string sixteen_points(const Scratch& scratch) {
  std::ignore = scratch.put("tiny.yaml", experiment_with(""));
  return scratch.put("s.yaml",
                     "experiment: tiny.yaml\nset: {platform: p3_16xlarge, nodes: 1}\n"
                     "vary:\n  precision: [fp32, amp]\n  gpus: [1, 2, 8, 9]\n  batch_per_gpu: [32, 65536]\n");
}

Ended sweep(const Words& words) {
  Words all{"sweep"};
  all.insert(all.end(), words.begin(), words.end());
  return run_program(all);
}

/// The sweep with files of at most so many KiB.
Ended sweep_with_files_up_to(int kib, const Words& words) {
  Words all{"-c", "ulimit -f " + std::to_string(2 * kib) + "; exec \"$0\" sweep \"$@\"", TRAINYARD_PROGRAM};
  all.insert(all.end(), words.begin(), words.end());
  return Process(all, {}, {.program = "/bin/sh", .data = TRAINYARD_SOURCE_DIR}).wait();
}

/// What a sweep leaves for people but its page, which says what the sweep's file is called; one after the
/// other.
std::string tables_in(const std::string& dir) {
  std::string text;
  for (const char* const name : {"/sweep.csv", "/failures.csv", "/sweep.resolved.yaml"}) {
    REQUIRE(std::filesystem::is_regular_file(dir + name));
    text += content(dir + name);
  }
  return text;
}

std::string files_in(const std::string& dir) {
  REQUIRE(std::filesystem::is_regular_file(dir + "/report.html"));
  return tables_in(dir) + content(dir + "/report.html");
}

}  // namespace

TEST_CASE("the page of a sweep names the sources of all machines in it, and one point's experiment") {
  const Scratch scratch;
  const std::string dir = scratch / "out";
  REQUIRE(sweep({"resnet50_dgx2", "--set", "platform=dgx2,dgx1v", "--set", "gpus=1,8", "--out", dir}).code ==
          0);
  const std::string page = content(dir + "/report.html");
  CHECK(contains(page, "<td>platform dgx2</td>"));
  CHECK(contains(page, "<td>platform dgx1v</td>"));
  CHECK(contains(page, "<td>stack pytorch_ddp</td>"));
  CHECK(contains(page, "Experiment of point 0"));
  CHECK(contains(page, "optimizer: momentum"));
}

TEST_CASE("a sweep leaves the same bytes for any -j, in shards, and resumed in the middle") {
  const Scratch scratch;
  const std::string file = sixteen_points(scratch);
  const std::string whole = scratch / "j1";
  const Ended first = sweep({file, "-j", "1", "--out", whole});
  CAPTURE(first.err);
  REQUIRE(first.code == 4);
  CHECK(contains(first.err, "100 %: 16 of 16 points"));
  CHECK(contains(first.err, "10 of 16 points failed: " + whole + "/failures.csv"));
  CHECK(contains(first.out, "s: 16 points, 10 failed"));
  const std::string expected = files_in(whole);
  CHECK(scratch.names("j1") ==
        std::set<std::string>{"sweep.db", "sweep.csv", "failures.csv", "sweep.resolved.yaml", "report.html"});
  for (const char* const jobs : {"2", "5"}) {
    const Ended ended = sweep({file, "-j", jobs, "--out", scratch / jobs});
    CHECK(ended.out == first.out);
    CHECK(files_in(scratch / jobs) == expected);
  }

  const std::string parts = scratch / "parts";
  for (const char* const shard : {"3/3", "1/3", "2/3"}) {
    const Ended ended = sweep({file, "--shard", shard, "--out", parts});
    CHECK(ended.code == 4);
    CHECK(ended.out.empty());
    CHECK(contains(ended.err, "each with its reason in " + parts + "/shard-" + shard[0] + "-of-3.db"));
  }
  const Ended merged = sweep({file, "--merge", "--out", parts});
  CHECK(merged.code == 4);
  CHECK(merged.out == first.out);
  CHECK(files_in(parts) == expected);
  const Ended by_gpus = sweep({file, "--merge", "--force", "--out", parts, "--by", "gpus"});
  CHECK(by_gpus.code == 4);
  CHECK(contains(by_gpus.out, "\nall values of gpus\n"));

  // A shard's store, as the store of a sweep that got as far.
  std::filesystem::create_directory(scratch.path() / "half");
  std::filesystem::copy_file(parts + "/shard-2-of-3.db", scratch / "half/sweep.db");
  const Ended resumed = sweep({file, "--resume", "--out", scratch / "half"});
  CHECK(contains(resumed.err, "5 of 16 points were already finished"));
  CHECK(resumed.out == first.out);
  CHECK(files_in(scratch / "half") == expected);

  const Ended again = sweep({file, "--resume", "--out", scratch / "half"});
  CHECK(contains(again.err, "16 of 16 points were already finished"));
  CHECK(again.out == first.out);
  CHECK(files_in(scratch / "half") == expected);
}

TEST_CASE("every row of a sweep is what trainyard run says of its point, and every failure how it ends") {
  const Scratch scratch;
  const Ended ended = sweep({sixteen_points(scratch), "--json"});
  REQUIRE(ended.code == 4);
  const Json result = Json::parse(ended.out);
  const auto run = [&](const Json& point) {
    Words words{"run", scratch / "tiny.yaml", "--json", "--set", "platform=p3_16xlarge", "--set", "nodes=1"};
    for (const auto& [key, value] : point["keys"].items()) {
      words.emplace_back("--set");
      words.push_back(key + "=" + value.get<std::string>());
    }
    return run_program(words);
  };
  CHECK(result["points"] == 16);
  REQUIRE(result["rows"].size() == 6);
  REQUIRE(result["failures"].size() == 10);
  const std::set<std::string> own{"point",
                                  "keys",
                                  "rent_usd_per_h",
                                  "training_time_s",
                                  "training_time_low_s",
                                  "training_time_high_s",
                                  "training_cost_usd",
                                  "training_energy_j",
                                  "baseline_ranks",
                                  "relative_speedup",
                                  "relative_efficiency"};
  for (const std::size_t index : {0U, 2U, 5U}) {
    const Json& row = result["rows"][index];
    const Json reference = Json::parse(run(row).out);
    int compared = 0;
    for (const auto& [name, value] : row.items()) {
      CAPTURE(name);
      if (own.contains(name)) continue;
      const auto of_run = reference.find(name);
      CHECK(value == (of_run == reference.end() ? Json() : *of_run));
      compared += of_run != reference.end() && !value.is_null() ? 1 : 0;
    }
    CHECK(compared > 20);
    CHECK(row["training_time_s"] == reference["epoch_time_s"]);
    CHECK(row["training_cost_usd"].get<double>() ==
          doctest::Approx(reference["cost_per_epoch_usd"].get<double>()));
    CHECK(row["rent_usd_per_h"] == 24.48);
  }
  for (const std::size_t index : {0U, 3U, 9U}) {
    const Json& failure = result["failures"][index];
    const Ended alone = run(failure);
    CHECK(alone.code == failure["exit_code"]);
    const auto reason = failure["reason"].get<std::string>();
    CHECK(contains(alone.err, reason.substr(0, reason.find(" ("))));
  }
}

TEST_CASE("where scaling stops has a range of GPU counts, for weak and for strong scaling") {
  const auto error_of = [](Words arguments) {
    arguments.insert(arguments.begin(), "resnet50_dgx2");
    arguments.emplace_back("--json");
    const Ended ended = sweep(arguments);
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    return Json::parse(ended.out)["series"][0]["scales_to"];
  };
  for (const Words& batch : {Words{}, Words{"--set", "global_batch=2048"}}) {
    Words arguments{"--set", "ranks=1..1024 times 4", "--set", "software=ideal"};
    if (!batch.empty()) arguments[1] = "ranks=16..1024 times 4";
    arguments.insert(arguments.end(), batch.begin(), batch.end());
    const Json scales = error_of(arguments);
    CAPTURE(scales.dump());
    REQUIRE(scales["error"].is_object());
    REQUIRE(scales["ranks"].is_number());
    REQUIRE(scales["error"]["ranks_low"].is_number());
    CHECK(scales["error"]["ranks_low"] <= scales["ranks"]);
    CHECK(scales["error"]["ranks_high"] >= scales["ranks"]);
    CHECK(scales["error"]["is_open"] == (scales["error"]["ranks_high"] == 1024));
  }
}

TEST_CASE("a sweep that is done ends with 0; an experiment's name and its resolved file do as well") {
  const Scratch scratch;
  const Ended ended = sweep({"resnet50_dgx2", "--set", "gpus=1..4 times 2", "--set", "precision=fp32,amp",
                             "--out", scratch / "a", "--epochs", "90", "--gpus-max", "2"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(contains(ended.out, "on at most 2 GPUs"));
  CHECK(contains(ended.out, "gpus=2, precision=amp: 90 epochs in "));
  const Ended resolved = sweep({scratch / "a/sweep.resolved.yaml", "--out", scratch / "b"});
  CHECK(resolved.code == 0);
  CHECK(tables_in(scratch / "b") == tables_in(scratch / "a"));
  const auto answer = [](const std::string& out) { return out.substr(out.find("\nbest points")); };
  CHECK(answer(resolved.out) == answer(ended.out));
}

TEST_CASE("a sweep's experiments are found beside its file, whatever folder it is started from") {
  const Scratch scratch;
  std::ignore = scratch.put("a.yaml", experiment_with("gpus: 1\n"));
  std::ignore = scratch.put("b.yaml", experiment_with("gpus: 2\n"));
  const Ended ended =
      sweep({scratch.put("s.yaml", "experiment: a.yaml\nvary: {experiment: [a.yaml, b.yaml]}\n"), "--json"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  const Json rows = Json::parse(ended.out)["rows"];
  CHECK(rows[0]["ranks"] == 1);
  CHECK(rows[1]["ranks"] == 2);
}

TEST_CASE("a sweep of an experiment's file is the same however its path is spelled") {
  const Scratch scratch;
  std::ignore = scratch.put("tiny.yaml", experiment_with(""));
  std::filesystem::create_directory(scratch.path() / "below");
  for (const auto& [spelling, out] : {std::pair("tiny.yaml", "a"), std::pair("below/.././tiny.yaml", "b")})
    REQUIRE(sweep({scratch / spelling, "--set", "gpus=1,2", "--out", scratch / out}).code == 0);
  const std::string files = files_in(scratch / "a");
  CHECK(files == files_in(scratch / "b"));
  CHECK(contains(files, "<td>experiment</td><td>tiny</td>"));
}

TEST_CASE("a sweep over traces gives each its own batch, and goes on behind one that cannot be read") {
  const Scratch scratch;
  const std::string small = scratch / "small.csv";
  const std::string large = scratch / "large.csv";
  REQUIRE(run_program({"trace", "resnet50_dgx2", "--batch", "32", "-o", small}).code == 0);
  REQUIRE(run_program({"trace", "resnet50_dgx2", "--batch", "64", "-o", large}).code == 0);
  const Ended ended = sweep({"--platform", "dgx2", "--gpus", "2", "--json", "--set",
                             "trace=" + small + "," + scratch / "none.csv" + "," + large});
  CHECK(ended.code == 4);
  const Json result = Json::parse(ended.out);
  CHECK(result["failed"] == 1);
  REQUIRE(result["rows"].size() == 2);
  CHECK(result["rows"][0]["global_batch"] == 64);
  CHECK(result["rows"][1]["global_batch"] == 128);
}

TEST_CASE("--by groups what a sweep prints and its page; rows and JSON stay as they are") {
  const Scratch scratch;
  const std::string file = sixteen_points(scratch);
  const auto at = [&](const std::string& dir, const Words& more) {
    Words words{file, "--out", scratch / dir};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = sweep(words);
    CHECK(ended.code == 4);  // points fail
    return ended.out;
  };
  const std::string plain = at("plain", {});
  const std::string grouped = at("grouped", {"--by", "precision"});
  CHECK(tables_in(scratch / "plain") == tables_in(scratch / "grouped"));
  CHECK_FALSE(contains(plain, "precision=fp32: "));
  const std::size_t first = grouped.find("\nprecision=fp32: 8 points");
  const std::size_t second = grouped.find("\nprecision=amp: 8 points");
  REQUIRE(first != std::string::npos);
  REQUIRE(second != std::string::npos);
  CHECK(first < second);
  const std::string page = content(scratch / "grouped/report.html");
  CHECK(contains(page, "<h2>precision=amp: 8 points"));
  CHECK_FALSE(contains(content(scratch / "plain/report.html"), "<h2>precision=amp"));
  CHECK(at("plain_json", {"--json"}) == at("grouped_json", {"--by", "precision", "--json"}));
  CHECK(at("by_gpus", {"--by", "gpus"}).find("\ngpus=9: 4 points, 4 failed\n") != std::string::npos);
}

TEST_CASE("sweeps that cannot begin end with the code of what is wrong, and write nothing") {
  const Scratch scratch;
  const std::string file = sixteen_points(scratch);
  const std::string out = scratch / "out";
  const auto ends = [&](const Words& words, int code, const std::string& message) {
    const Ended ended = sweep(words);
    CAPTURE(ended.err);
    CHECK(ended.code == code);
    CHECK(ended.out.empty());
    CHECK(contains(ended.err, message));
    CHECK_FALSE(std::filesystem::exists(out));
  };
  ends({}, 2, "SWEEP is required");
  ends({file, "-j", "0"}, 2, "-j");
  for (const char* const option : {"--resume", "--force", "--merge", "--shard=1/2", "--slurm"})
    ends({file, option}, 2, "requires --out DIR");
  ends({file, "--out", out, "--resume", "--force"}, 2, "--resume");
  ends({file, "--out", out, "--merge", "--shard", "1/2"}, 2, "--merge");
  ends({file, "--out", out, "--shard", "4/3"}, 2, "--shard");
  ends({file, "--out", out, "--shard", "3"}, 2, "'3' is not I/N");
  ends({file, "--out", out, "--shards", "3"}, 2, "requires --slurm");
  ends({file, "--out", out, "--submit"}, 2, "requires --slurm");
  ends({file, "--out", out, "--by", "model"}, 2,
       "'model' is not varied; varied: precision, gpus, batch_per_gpu");
  ends({"resnet50_dgx2", "--by", "gpus"}, 2, "this sweep varies no key");
  ends({file, "--by", ""}, 2, "'' is not varied");
  ends({file, "--by", "gpus", "--json"}, 2, "--by");
  ends({file, "--markdown", "--json"}, 2, "--markdown");
  ends({file, "--out", out, "--by", "gpus", "--shard", "1/2"}, 2, "--by");
  ends({file, "--out", out, "--deadline", "5"}, 2, "needs a unit");
  ends({file, "--out", out, "--budget", "-5 USD"}, 2, "--budget");
  ends({file, "--out", out, "--efficiency-min", "80"}, 2, "is not above 0 and at most 1");
  ends({"resnet50_dgx3", "--out", out}, 3, "unknown sweep 'resnet50_dgx3'");
  ends({file, "--out", out, "--set", "gpus=8..1"}, 3, "'8..1' is not a range");
  ends({file, "--out", out, "--set", "gpus=1,,2"}, 3, "has an empty value");
  ends({scratch.put("w.yaml", "experiment: tiny.yaml\nvary: {gpus: 4}\n"), "--out", out}, 3, "w.yaml:2:14");
  ends({scratch / "none.yaml", "--out", out}, 3, "none.yaml");
  ends({file, "--out", file + "/below"}, 5, "cannot write");
}

TEST_CASE("a folder that holds a sweep is gone on with, begun anew or left alone, as asked") {
  const Scratch scratch;
  const std::string file = scratch.put("s.yaml", "experiment: tiny.yaml\nvary: {gpus: [1, 2]}\n");
  const std::string tiny = scratch.put("tiny.yaml", experiment_with(""));
  const std::string out = scratch / "out";
  const auto ends = [&](const Words& more, int code, const std::string& message) {
    Words words{file, "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = sweep(words);
    CAPTURE(ended.err);
    CHECK(ended.code == code);
    CHECK(contains(ended.err, message));
  };
  ends({}, 0, "2 of 2 points");
  const std::string before = files_in(out);
  ends({}, 5, "sweep.db' exists: ");
  ends({"--resume", "--set", "gpus=1,2,4"}, 3, "sweep.db' belongs to another sweep");
  ends({"--merge", "--force"}, 5, "has no shards");
  CHECK(files_in(out) == before);
  ends({"--resume"}, 0, "2 of 2 points were already finished");
  std::ignore = scratch.put("tiny.yaml", experiment_with("precision: amp\n"));
  ends({"--resume"}, 3, "has changed since points were simulated with it");
  CHECK(files_in(out) == before);
  ends({"--force"}, 0, "100 %: 2 of 2 points");
  CHECK(files_in(out) != before);

  // Nobody's sweep: files of these names that are somebody else's.
  std::filesystem::remove(out + "/sweep.db");
  const std::string theirs = files_in(out);
  ends({}, 5, "sweep.csv': the file exists");
  CHECK(files_in(out) == theirs);
  std::ignore = scratch.put("out/sweep.db", "not a database, and long enough to be read as one's header ...");
  ends({"--resume"}, 5, "file is not a database");
}

TEST_CASE("a damaged store is refused, and --force simulates its points again") {
  const Scratch scratch;
  const std::string file = scratch.put("tiny.yaml", experiment_with(""));
  const Words words{file, "--set", "batch_per_gpu=1..200", "--out", scratch / "out"};
  const auto with = [&](const char* option) {
    Words all = words;
    all.emplace_back(option);
    return sweep(all);
  };
  const Ended first = sweep(words);
  REQUIRE(first.code == 0);
  const std::string store = scratch / "out/sweep.db";
  const std::string before = content(scratch / "out/sweep.csv");
  std::fstream(store, std::ios::in | std::ios::out | std::ios::binary).seekp(5 * 4096)
      << std::string(4096, 'x');
  const Ended refused = with("--resume");
  CHECK(refused.code == 5);
  CHECK(contains(refused.err, "is damaged"));
  CHECK(contains(refused.err, "--force"));
  CHECK(with("--force").out == first.out);
  CHECK(content(scratch / "out/sweep.csv") == before);
}

TEST_CASE("a disk that is full ends a sweep with 5, and what was finished is gone on with") {
  const Scratch scratch;
  std::ignore = scratch.put("tiny.yaml", experiment_with(""));
  const std::string file =
      scratch.put("s.yaml", "experiment: tiny.yaml\nvary: {batch_per_gpu: [1..24], gpus: [2]}\n");
  const Ended full = sweep_with_files_up_to(64, {file, "-j", "2", "--out", scratch / "out"});
  CAPTURE(full.err);
  CHECK(full.code == 5);
  CHECK(full.out.empty());
  CHECK(contains(full.err, "cannot store the sweep in '" + (scratch / "out/sweep.db") + "'"));
  const Ended resumed = sweep({file, "--resume", "--out", scratch / "out"});
  CAPTURE(resumed.err);
  CHECK(resumed.code == 0);
  CHECK(contains(resumed.err, "of 24 points were already finished"));
  const Ended undisturbed = sweep({file, "--out", scratch / "whole"});
  CHECK(undisturbed.out == resumed.out);
  CHECK(files_in(scratch / "out") == files_in(scratch / "whole"));
}

TEST_CASE("Ctrl-C ends a sweep with 130 when the points begun are finished, and they are kept") {
  const Scratch scratch;
  std::ignore = scratch.put("tiny.yaml", experiment_with(""));
  const std::string file =
      scratch.put("s.yaml", "experiment: tiny.yaml\nvary: {batch_per_gpu: [1..48], gpus: [4]}\n");
  Process process({"sweep", file, "-j", "1", "--out", scratch / "out"});
  const std::string journal = scratch / "out/sweep.db-wal";
  const auto has_rows = [&] {
    std::error_code error;
    const auto size = std::filesystem::file_size(journal, error);
    return !error && size > 64'000;
  };
  while (process.is_running() && !has_rows()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  process.send(SIGINT);
  const Ended ended = process.wait();
  CAPTURE(ended.err);
  CHECK(ended.code == 130);
  CHECK(ended.out.empty());
  CHECK(contains(ended.err, "trainyard: interrupted"));
  CHECK(scratch.names("out") == std::set<std::string>{"sweep.db"});
  const Ended resumed = sweep({file, "--resume", "--out", scratch / "out"});
  CHECK(resumed.code == 0);
  CHECK(contains(resumed.err, "of 48 points were already finished"));
  const std::string csv = content(scratch / "out/sweep.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 49);
}

TEST_CASE("an accuracy is a limit where points have one, and an error where none can have") {
  const Scratch scratch;
  const std::vector<std::string> sweep{"sweep", "resnet50_dgx2",  "--set", "batch_per_gpu=16,256", "--epochs",
                                       "90",    "--accuracy-min", "0.76"};
  const Ended refused = run_program(sweep);
  CHECK(refused.code == 3);
  CHECK(contains(refused.err, "goal.accuracy_min"));
  const std::string job =
      scratch.put("job.yaml",
                  "platform: dgx2\nnodes: 16\nmodel: resnet50\nstack: pytorch_ddp\nprecision: amp\n"
                  "batch_per_gpu: 32\noptimizer: momentum\njob: {epochs: 90}\n");
  const Ended done = run_program({"sweep", job, "--set", "batch_per_gpu=16,256", "--accuracy-min", "0.76"});
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  CHECK(contains(done.out, "best points  with at least 76.0 % accuracy"));
  CHECK(contains(done.out, "fastest         batch_per_gpu=16: the job in"));
  CHECK(contains(done.out, "most accurate   batch_per_gpu=16: the job in"));
}

TEST_CASE("a table of points never leaves out or cuts the varied keys and the figures of its goal") {
  const auto table_of = [](const std::string& sweep) {
    const Ended ended = run_program({"sweep", sweep});
    CAPTURE(ended.err);
    return ended.out;
  };
  const Scratch scratch;
  // The keys of the shipped digits_trade_off, with four of its points.
  const std::string learnt = table_of(scratch.put("rules.yaml", R"(experiment: digits_stragglers
zip:
  - sync.update: [sync, k_sync]
    sync.backups: [default, default]
    sync.k: [default, "2"]
    sync.bound: [default, default]
  - batch_per_gpu: [16, 64]
    learn.batch: [4, 16]
vary:
  learn.rate.rule: [fixed]
)"));
  for (const char* const head : {"final loss", "error floor", "to target"})
    CHECK(learnt.find(head) < learnt.find("left out"));
  CHECK(has(learnt, "update=k_sync"));
  const std::string ddl = table_of("powerai_ddl");
  CHECK(ddl.find("efficiency") < ddl.find("left out"));
  for (const std::string& text : {learnt, ddl, table_of("gpu_types")})
    CHECK(text.substr(0, text.find("left out")).find("...") == std::string::npos);
}

TEST_CASE("a sweep's answer stands before its points, and a file gets all of them") {
  const Ended swept = run_program({"sweep", "resnet50_dgx2", "--batch", "1..70"});
  CHECK(swept.code == 0);
  CHECK(swept.out.find("best points") < swept.out.find("samples/s  "));
  CHECK(std::count(swept.out.begin(), swept.out.end(), '\n') > 70);
  CHECK(swept.out.find("only points on the Pareto front") == std::string::npos);
}

TEST_CASE("a figure with two bounds is refused: one of them would be ignored") {
  const Ended ended = run_program({"sweep", "resnet50_dgx2", "--set", "ranks=2,4", "--goal",
                                   "scaling_efficiency >= 0.9", "--goal", "scaling_efficiency <= 0.99"});
  CHECK(ended.code != 0);
  CHECK(contains(ended.err, "scaling_efficiency has two bounds"));
}
