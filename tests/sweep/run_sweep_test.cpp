#include "sweep/run_sweep.hpp"

#include "config/diagnostic.hpp"
#include "run/figures.hpp"
#include "run/simulate.hpp"
#include "sweep/sweep_store.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

using namespace trainyard;

namespace {

using RowFigures = std::vector<std::optional<double>>;

/// A sweep of an experiment in `folder` over one key.
Sweep sweep_over(const TemporaryFolder& folder, const std::string& key,
                 const std::vector<std::string>& values) {
  Sweep sweep;
  sweep.name = "s";
  sweep.experiment = (folder.path / "e.yaml").string();
  sweep.keys = {key};
  for (const std::string& value : values) sweep.points.push_back({value});
  return sweep;
}

struct Ran {
  std::map<std::size_t, SweepRow> rows;
  SweepOutcome outcome;
};

/// All points; rows are kept in `store` too, with the files that were read.
Ran run_all(const Sweep& sweep, const std::function<RowFigures(const ResolvedExperiment&)>& figures,
            SweepStore* store = nullptr) {
  std::vector<std::size_t> points(sweep.points.size());
  std::iota(points.begin(), points.end(), 0);
  Ran ran;
  ran.outcome = run_points(
      {{TRAINYARD_SOURCE_DIR}}, sweep, points,
      {.parallel = 2,
       .figures = [&](std::size_t, const ResolvedExperiment& resolved) { return figures(resolved); },
       .done =
           [&](const SweepRow& row, const std::vector<std::string>& files) {
             ran.rows[row.point] = row;
             if (store != nullptr) store->add(row, files);
           },
       .is_interrupted = {}});
  return ran;
}

std::vector<PointStatus> statuses(const Ran& ran) {
  std::vector<PointStatus> all;
  for (const auto& [point, row] : ran.rows) all.push_back(row.status);
  return all;
}

constexpr const char* head = "platform: dgx2\nstack: pytorch_ddp\nbatch_per_gpu: 8\nmodel: alexnet\n";

}  // namespace

TEST_CASE("a point that names a file that cannot be read is a row, and the others are simulated") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "a.csv") << "factor\n2\n";
  std::ofstream(folder.path / "e.yaml") << head << "random: {step: {kind: empirical, file: a.csv}}\n";
  const Sweep sweep =
      sweep_over(folder, "random.step.file", {"a.csv", "missing.csv", std::string(300, 'x'), ".", "./a.csv"});
  const Ran ran = run_all(sweep, [](const ResolvedExperiment& resolved) {
    return RowFigures{resolved.settings.random.step->seen.front()};
  });
  using enum PointStatus;
  CHECK(statuses(ran) == std::vector{done, unreadable, unreadable, unreadable, done});
  CHECK(ran.rows.at(4).figures == RowFigures{2});
  CHECK(ran.rows.at(1).reason.find("missing.csv") != std::string::npos);
  CHECK(ran.outcome.broken.empty());
}

TEST_CASE("the reason of a wrong point names the key and the correction") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "e.yaml") << head;
  const Ran ran = run_all(sweep_over(folder, "sync.algorithm", {"rign"}),
                          [](const ResolvedExperiment&) { return RowFigures{1}; });
  const std::string reason = ran.rows.at(0).reason;
  CAPTURE(reason);
  CHECK(reason.find("(in sync.algorithm)") != std::string::npos);
  CHECK(reason.find("'ring'") != std::string::npos);
}

TEST_CASE("what a point's simulation throws decides its row; what is no result of ours breaks it") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "e.yaml") << head;
  const Sweep sweep = sweep_over(folder, "gpus", {"1", "2", "3", "5", "6", "7", "0"});
  const Ran ran = run_all(sweep, [](const ResolvedExperiment& resolved) -> RowFigures {
    switch (resolved.settings.gpus.value()) {
      case 2:
        throw InputError("wrong");
      case 3:
        throw JobImpossible("impossible");
      case 5:
        throw std::runtime_error("a bug");
      case 6:
        return {std::numeric_limits<double>::infinity()};
      case 7:
        return {std::numeric_limits<double>::quiet_NaN()};
      default:
        return {std::nullopt, 1};
    }
  });
  using enum PointStatus;
  CHECK(statuses(ran) == std::vector{done, wrong, impossible, wrong});
  CHECK(ran.rows.at(0).figures == RowFigures{std::nullopt, 1});
  CHECK(ran.outcome.broken.size() == 3);
}

TEST_CASE("what the program itself cannot open ends the sweep: it says nothing about the point") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "e.yaml") << head;
  const Sweep sweep = sweep_over(folder, "gpus", {"1", "2"});
  CHECK_THROWS_AS(run_all(sweep,
                          [](const ResolvedExperiment& resolved) -> RowFigures {
                            if (resolved.settings.gpus == 2) throw FileError("cannot load SimGrid");
                            return {1};
                          }),
                  FileError);
}

TEST_CASE("a sweep with an unreadable file is gone on with until the file can be read") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "a.csv") << "factor\n2\n";
  std::ofstream(folder.path / "e.yaml") << head << "random: {step: {kind: empirical, file: a.csv}}\n";
  const StoredSweep what{.sweep = sweep_over(folder, "random.step.file", {"a.csv", "missing.csv"}),
                         .figures = {"step_time_s"},
                         .version = "1"};
  const std::filesystem::path file = folder.path / "sweep.db";
  {
    SweepStore store(file, what);
    run_all(
        what.sweep, [](const ResolvedExperiment&) { return RowFigures{1}; }, &store);
  }
  const std::vector<SweepRow> rows = SweepStore(file, what).rows();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].status == PointStatus::done);
  CHECK(rows[1].status == PointStatus::unreadable);
  std::ofstream(folder.path / "missing.csv") << "factor\n1\n";
  CHECK_THROWS_AS(SweepStore(file, what), InputError);
}

TEST_CASE("points that a worker simulates one after another are, to the bit, those simulated alone") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "e.yaml") << "platform: p3_8xlarge\nstack: horovod\nmodel: alexnet\n"
                                           "batch_per_gpu: 8\n";
  Sweep sweep = sweep_over(folder, "nodes", {});
  sweep.keys = {"nodes", "model", "batch_per_gpu", "precision", "platform.fabric.nic"};
  for (const char* const nodes : {"1", "2"}) {
    for (const char* const model : {"resnet50", "bert_base"}) {
      for (const char* const batch : {"8", "2000"}) {  // the second does not fit
        for (const char* const precision : {"fp32", "amp"}) {
          for (const char* const nic : {"10 Gbps", "25 Gbps"})
            sweep.points.push_back({nodes, model, batch, precision, nic});
        }
      }
    }
  }
  const auto figures = [](const ResolvedExperiment& resolved) {
    return sweep_row(simulate(resolved, {.timeline = false, .rows = false}), {});
  };
  const Ran together = run_all(sweep, figures);
  REQUIRE(together.rows.size() == sweep.points.size());
  std::set<RowFigures> different;
  for (const auto& [point, row] : together.rows) {
    Sweep one = sweep;
    one.points = {sweep.points[point]};
    const Ran alone = run_all(one, figures);
    CAPTURE(point_in_words(sweep, point));
    CHECK(row.status == alone.rows.at(0).status);
    CHECK(row.reason == alone.rows.at(0).reason);
    CHECK(row.figures == alone.rows.at(0).figures);
    if (row.status == PointStatus::done) different.insert(row.figures);
  }
  CHECK(different.size() > 10);
}

TEST_CASE("a warning of several workers is given once") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "e.yaml")
      << "platform: dgx_a100\nstack: megatron\nmodel: gpt2_small\nprecision: bf16\ngpus: 2\naccumulation: 2\n"
         "batch_per_gpu: 1\nparallelism: {pipeline: 2}\n";
  const Sweep sweep = sweep_over(folder, "batch_per_gpu", {"1", "2", "3", "4"});
  const Ran ran = run_all(sweep, [](const ResolvedExperiment& resolved) {
    return RowFigures{static_cast<double>(resolved.warnings.size())};
  });
  REQUIRE(ran.rows.size() == 4);
  for (const auto& [point, row] : ran.rows) CHECK(row.figures == RowFigures{1});
  CHECK(ran.outcome.warnings.size() == 1);
}

TEST_CASE("files that only some points read are kept with their rows") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "a.csv") << "factor\n2\n";
  std::ofstream(folder.path / "b.csv") << "factor\n3\n";
  std::ofstream(folder.path / "e.yaml") << head << "random: {step: {kind: empirical, file: a.csv}}\n";
  const Sweep sweep = sweep_over(folder, "random.step.file", {"a.csv", "a.csv", "a.csv", "b.csv"});
  std::vector<std::size_t> points(sweep.points.size());
  std::iota(points.begin(), points.end(), 0);
  run_points({{TRAINYARD_SOURCE_DIR}}, sweep, points,
             {.parallel = 1,
              .figures = [](std::size_t, const ResolvedExperiment&) { return RowFigures{1}; },
              .done =
                  [&](const SweepRow& row, const std::vector<std::string>& files) {
                    const std::set<std::string> its(files.begin(), files.end());
                    CHECK(its.contains((folder.path / "a.csv").string()));
                    CHECK(its.contains((folder.path / "b.csv").string()) == (row.point == 3));
                  },
              .is_interrupted = {}});
}
