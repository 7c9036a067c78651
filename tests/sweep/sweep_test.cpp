#include "sweep/sweep.hpp"

#include "errors_of.hpp"
#include "sweep/read_point.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fstream>
#include <rapidcheck.h>
#include <set>

using namespace trainyard;

namespace {

using Points = std::vector<PointValues>;

SweepFile file_of(const std::string& lines) {
  return load_sweep(config::parse("s.yaml", "experiment: resnet50_dgx2\n" + lines));
}

Sweep sweep_of(const std::string& lines, const SweepOverrides& overrides = {}) {
  return make_sweep("s", with_overrides(file_of(lines), overrides));
}

/// Line, column and key of each error in the file.
std::vector<std::string> places_of_errors(const std::string& lines) {
  std::vector<std::string> places;
  for (const Diagnostic& error : errors_of([&] { file_of(lines); }))
    places.push_back(std::to_string(error.line) + ":" + std::to_string(error.column) + " " + error.key_path);
  return places;
}

std::string message_of(const std::string& lines, const SweepOverrides& overrides = {}) {
  const auto errors = errors_of([&] { sweep_of(lines, overrides); });
  return errors.empty() ? "" : errors.front().message;
}

/// The experiment of the sweep's only point, with these keys set.
ResolvedExperiment point_with(const Overrides& set, const std::string& experiment = "resnet50_dgx2") {
  Sweep sweep;
  sweep.experiment = experiment;
  sweep.set = set;
  InputFiles files;
  return read_point({{TRAINYARD_SOURCE_DIR}}, sweep, {}, files);
}

std::string error_of_point(const Overrides& set) {
  const auto errors = errors_of([&] { point_with(set); });
  return errors.empty() ? "" : errors.front().message;
}

int gpus_of(const ResolvedExperiment& resolved) { return resolved.cluster->ranks(); }

}  // namespace

TEST_CASE("every value meets every other, and the last key changes fastest") {
  const Sweep sweep = sweep_of("vary:\n  precision: [fp32, amp]\n  nodes: [1..2, 4]\n");
  CHECK(sweep.keys == std::vector<std::string>{"precision", "nodes"});
  CHECK(sweep.lists == std::vector<std::vector<std::string>>{{"fp32", "amp"}, {"1", "2", "4"}});
  CHECK(sweep.points ==
        Points{{"fp32", "1"}, {"fp32", "2"}, {"fp32", "4"}, {"amp", "1"}, {"amp", "2"}, {"amp", "4"}});
}

TEST_CASE("zipped lists go side by side, and meet what is varied beside them") {
  const Sweep sweep =
      sweep_of("vary:\n  nodes: [1, 2]\nzip:\n  - {platform: [dgx2, ac922], batch_per_gpu: [128, 64]}\n");
  CHECK(sweep.keys == std::vector<std::string>{"nodes", "platform", "batch_per_gpu"});
  CHECK(sweep.points ==
        Points{{"1", "dgx2", "128"}, {"1", "ac922", "64"}, {"2", "dgx2", "128"}, {"2", "ac922", "64"}});
  CHECK(message_of("zip:\n  - {nodes: [1, 2], gpus: [1, 2, 3]}\n").starts_with("gpus has 3 values"));
  CHECK(sweep_of("zip:\n  - {nodes: [1..4], gpus: [8..32 step 8]}\n").points.size() == 4);
}

TEST_CASE("only keeps what meets one of its patterns, exclude drops what meets one of its own") {
  const std::string vary = "vary:\n  model: [a, b]\n  nodes: [1, 2, 3]\nset: {precision: amp}\n";
  CHECK(sweep_of(vary + "only:\n  - {model: a, nodes: <= 2}\n  - {model: b, nodes: 3}\n").points ==
        Points{{"a", "1"}, {"a", "2"}, {"b", "3"}});
  CHECK(sweep_of(vary + "exclude:\n  - {model: a}\n  - {nodes: \"> 1\"}\n").points == Points{{"b", "1"}});
  CHECK(sweep_of(vary + "only:\n  - {nodes: 2 | 3}\nexclude:\n  - {nodes: 3}\n").points ==
        Points{{"a", "2"}, {"b", "2"}});
  CHECK(sweep_of(vary + "exclude:\n  - {precision: fp32}\n").points.size() == 6);
  CHECK(message_of(vary + "exclude:\n  - {precision: amp}\n") == "no point of the sweep is left");
}

TEST_CASE("a pattern that names no value of its key is refused, since it would select nothing") {
  const std::string groups = "vary:\n  nodes: [1..4]\nzip:\n  - {group: [small, large], gpus: [8, 64]}\n";
  CHECK(sweep_of(groups + "exclude:\n  - {group: small}\n").points.size() == 4);
  CHECK(places_of_errors(groups + "exclude:\n  - {group: smal}\n") ==
        std::vector<std::string>{"7:13 exclude[0].group"});
  CHECK(places_of_errors(groups + "only:\n  - {nodes: 5 | 6}\n").size() == 1);
  CHECK(places_of_errors(groups + "left_out:\n  - {at: {group: medium}, reason: none}\n").size() == 1);
  // One of several names is enough, and so is a bound.
  CHECK(sweep_of(groups + "exclude:\n  - {group: small | medium}\n").points.size() == 4);
  CHECK(sweep_of(groups + "exclude:\n  - {nodes: \"> 8\"}\n").points.size() == 8);
}

TEST_CASE("points that are left out keep their reason, and are no points") {
  const std::string lines =
      "vary:\n  nodes: [1, 2]\n  precision: [fp32, amp]\n"
      "left_out:\n  - {at: {nodes: 2, precision: amp}, reason: no such card}\n  - {at: {nodes: 1}, reason: "
      "b}\n";
  const Sweep sweep = sweep_of(lines);
  CHECK(sweep.points == Points{{"2", "fp32"}});
  using Reasons = std::vector<std::pair<std::string, std::size_t>>;
  CHECK(left_out_by_reason(sweep) == Reasons{{"b", 2}, {"no such card", 1}});
  CHECK(left_out_by_reason(sweep_of(lines, {{"nodes", {"2"}}})) == Reasons{{"no such card", 1}});
  const auto none = errors_of([&] { sweep_of(lines, {{"precision", {"amp"}}}); });
  REQUIRE(none.size() == 1);
  CHECK(none.front().message == "no point of the sweep is left");
  CHECK(none.front().hint.ends_with("; 1 point: b; 1 point: no such card"));
  CHECK(places_of_errors("vary: {nodes: [1]}\nleft_out:\n  - {at: {gpus: 1}, reason: b}\n") ==
        std::vector<std::string>{"4:17 left_out[0].at.gpus"});
}

TEST_CASE("a group names values of other keys, and is no key of the experiment") {
  const std::string lines = "zip:\n  - {group: [small, large], model: [resnet18, bert_base]}\n";
  const Sweep sweep = sweep_of(lines);
  CHECK(sweep.points == Points{{"small", "resnet18"}, {"large", "bert_base"}});
  InputFiles files;
  const PointSource source = source_of_point({{TRAINYARD_SOURCE_DIR}}, sweep, sweep.points[1], files);
  CHECK(source.overrides == Overrides{{"model", "bert_base"}});
}

TEST_CASE("mistakes in lists taken in parallel and in groups are errors at their place, each with a hint") {
  const struct {
    const char *lines, *place, *message;
  } table[] = {
      {"zip:\n  - {group: [a, b]}\n", "3:5 zip[0]", "varied in parallel"},
      {"vary:\n  group: [a, b]\n  nodes: [1, 2]\n", "3:10 vary.group", "varied in parallel"},
      {"set:\n  group: a\n", "3:10 set.group", "varied in parallel"},
      {"zip:\n  - {group: [a, \"\"], nodes: [1, 2]}\n", "3:17 zip[0].group[1]", "has no name"},
      {"zip:\n  - {nodes: [1, 2]}\n  - {platform: [dgx2, ac922], gpus: [1, 2, 3]}\n", "4:37 zip[1].gpus",
       "gpus has 3 values, but platform has 2"},
      {"zip:\n  - {nodes: [1..4], gpus: [8]}\n", "3:27 zip[0].gpus", "gpus has 1 value, but nodes has 4"},
      {"zip:\n  - {nodes: [], gpus: [8]}\n", "3:13 zip[0].nodes", "the list is empty"},
      {"zip:\n  - {nodes: [4..1], gpus: [8]}\n", "3:14 zip[0].nodes[0]", "4..1"},
      {"zip: [{}]\n", "2:7 zip[0]", "no key"}};
  for (const auto& [lines, place, message] : table) {
    CAPTURE(lines);
    CHECK(places_of_errors(lines) == std::vector<std::string>{place});
    CHECK(message_of(lines).find(message) != std::string::npos);
    const auto errors = errors_of([&] { file_of(lines); });
    REQUIRE_FALSE(errors.empty());
    CHECK_FALSE(errors.front().hint.empty());
  }
  // the command line has no places
  CHECK(message_of("", {{"group", {"a"}}}) == group_alone);
  CHECK(message_of("", {{"group", {"a", "b"}}}) == group_alone);
  CHECK(message_of("zip:\n  - {nodes: [1, 2], gpus: [1, 2]}\n", {{"gpus", {"1"}}}) ==
        "gpus has 1 value, but nodes has 2");
}

TEST_CASE("a report's keys are varied and differ, and its figures are figures of sweeps") {
  const std::string vary = "vary: {model: [resnet18], stack: [horovod], nodes: [1, 2]}\n";
  CHECK(file_of(vary + "report: {section: model, rows: nodes, columns: stack, figures: [step_time_s]}\n")
            .report->compared.size() == 2);
  CHECK(places_of_errors(vary +
                         "report:\n  section: model\n  rows: model\n  columns: gpus\n  figures: [speed]\n") ==
        std::vector<std::string>{"5:9 report.rows", "6:12 report.columns", "7:13 report.figures[0]"});
}

TEST_CASE("a sweep that varies nothing has one point") { CHECK(sweep_of("").points == Points{{}}); }

TEST_CASE("the command line replaces values, sets keys, and varies new ones behind the file's") {
  const std::string lines = "set: {precision: amp}\nvary:\n  nodes: [1, 2]\n";
  Sweep sweep = sweep_of(lines, {{"nodes", {"2..4"}}});
  CHECK(sweep.points == Points{{"2"}, {"3"}, {"4"}});
  CHECK(sweep.set == Overrides{{"precision", "amp"}});
  sweep = sweep_of(lines, {{"precision", {"fp32"}}, {"batch_per_gpu", {"64"}}});
  CHECK(sweep.set == Overrides{{"batch_per_gpu", "64"}, {"precision", "fp32"}});
  CHECK(sweep.points.size() == 2);
  sweep = sweep_of(lines, {{"precision", {"fp32", "amp"}}, {"gpus", {"1..2"}}});
  CHECK(sweep.set.empty());
  CHECK(sweep.keys == std::vector<std::string>{"nodes", "precision", "gpus"});
  CHECK(sweep.points.size() == 8);
  sweep = sweep_of("zip:\n  - {nodes: [1, 2], gpus: [3, 4]}\n", {{"gpus", {"5", "6"}}});
  CHECK(sweep.points == Points{{"1", "5"}, {"2", "6"}});
  CHECK(sweep_of(lines, {{"experiment", {"resnet50_ac922"}}}).experiment == "resnet50_ac922");
  CHECK(sweep_of(lines, {{"experiment", {"a", "b"}}}).keys ==
        std::vector<std::string>{"nodes", "experiment"});
  CHECK(message_of(lines, {{"nodes", {"4..1"}}}).starts_with("'4..1' "));
}

TEST_CASE("more keys than a store has columns are refused") {
  std::string lines = "zip:\n  - {";
  for (int key = 0; key < 3000; ++key) lines += "random.gpu.values." + std::to_string(key) + ": [1, 2], ";
  CHECK(message_of(lines + "batch_per_gpu: [1, 2]}\n") == "the sweep varies 3001 keys");
}

TEST_CASE("more than a million points are refused, whatever their number overflows to") {
  std::string lines = "vary:\n";
  for (int key = 0; key < 30; ++key) lines += "  k" + std::to_string(key) + ": [1..10]\n";
  CHECK(message_of(lines) == "the sweep has more than 1000000 points");
  CHECK(message_of("vary: {a: [1..1001], b: [1..1000]}\n") == "the sweep has more than 1000000 points");
}

TEST_CASE("all that is wrong with a sweep's file is told at its place") {
  using Places = std::vector<std::string>;
  CHECK(places_of_errors("vary:\n  nodes: [8..1]\n  gpus: []\nset: {nodes: 2}\nonly:\n  - {modle: a}\n"
                         "exclude:\n  - {gpus: < many}\nzip:\n  - {}\n") ==
        Places{"3:10 vary.nodes", "3:11 vary.nodes[0]", "4:9 vary.gpus", "7:13 only[0].modle",
               "9:12 exclude[0].gpus", "11:5 zip[0]"});
  CHECK(places_of_errors("vary: {nodes: 4}\n") == Places{"2:15 vary.nodes"});
  CHECK(places_of_errors("goal: {deadline: 5, gpus_max: 0, efficiency_min: 80, accuracy_min: 76}\n") ==
        Places{"2:18 goal.deadline", "2:31 goal.gpus_max", "2:50 goal.efficiency_min",
               "2:68 goal.accuracy_min"});
  CHECK(places_of_errors("goal: {figures: {cpu_use: < 1, cpu_utilization: < 90 %}}\n") ==
        Places{"2:27 goal.figures.cpu_use", "2:49 goal.figures.cpu_utilization"});
  CHECK(places_of_errors("vari: {nodes: [4]}\n") == Places{"2:1 vari"});
}

TEST_CASE("a product has every combination once, in the order of counting") {
  CHECK(rc::check([] {
    const auto keys = static_cast<std::size_t>(*rc::gen::inRange(1, 6));
    const auto sizes = *rc::gen::container<std::vector<int>>(keys, rc::gen::inRange(1, 5));
    SweepFile file;
    for (std::size_t key = 0; key < sizes.size(); ++key)
      file.vary.emplace_back(std::string(1, static_cast<char>('a' + key)),
                             std::vector<std::string>{"1.." + std::to_string(sizes[key])});
    const Points points = make_sweep("s", file).points;
    std::size_t expected = 1;
    for (const int size : sizes) expected *= static_cast<std::size_t>(size);
    RC_ASSERT(points.size() == expected);
    // values of one digit: their order as texts is that of counting
    for (std::size_t i = 1; i < points.size(); ++i) RC_ASSERT(points[i - 1] < points[i]);
  }));
}

TEST_CASE("every point is in exactly one of any number of shards, and shards are of alike size") {
  CHECK(rc::check([] {
    const int shards = *rc::gen::inRange(1, 40);
    const auto points = static_cast<std::size_t>(*rc::gen::inRange(0, 300));
    std::vector<std::size_t> sizes(static_cast<std::size_t>(shards));
    for (std::size_t point = 0; point < points; ++point) {
      int owners = 0;
      for (int shard = 1; shard <= shards; ++shard) {
        if (!is_in_shard(point, shard, shards)) continue;
        ++owners;
        ++sizes[static_cast<std::size_t>(shard - 1)];
      }
      RC_ASSERT(owners == 1);
    }
    RC_ASSERT(std::ranges::max(sizes) - std::ranges::min(sizes) <= 1);
  }));
}

TEST_CASE("ranks are taken on as few nodes as have them, whatever the experiment had") {
  const auto nodes_and_gpus = [](const Overrides& set) {
    const ResolvedExperiment resolved = point_with(set);
    return std::pair(resolved.settings.nodes, gpus_of(resolved));
  };
  CHECK(nodes_and_gpus({{"ranks", "1"}}) == std::pair(1, 1));
  CHECK(nodes_and_gpus({{"ranks", "16"}}) == std::pair(1, 16));
  CHECK(nodes_and_gpus({{"ranks", "17"}}) == std::pair(2, 17));
  CHECK(nodes_and_gpus({{"ranks", "40"}, {"gpus_per_node", "8"}}) == std::pair(5, 40));
  CHECK(nodes_and_gpus({{"platform", "p3_16xlarge"}, {"ranks", "24"}}) == std::pair(3, 24));
}

TEST_CASE("ranks are found where an experiment says something of its second node") {
  const ResolvedExperiment resolved =
      point_with({{"background", "[{from: node0, to: node1, rate: 1 GB/s}]"}, {"ranks", "12"}},
                 "resnet50_p3_16xlarge_x2");
  CHECK(resolved.settings.nodes == 2);
  CHECK(gpus_of(resolved) == 12);
}

TEST_CASE("a file of factors is one of those that were read") {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "seen.csv") << "factor\n1\n1.5\n";
  std::ofstream(folder.path / "e.yaml")
      << "platform: dgx2\nmodel: alexnet\nstack: pytorch_ddp\nbatch_per_gpu: "
         "8\nrandom: {step: {kind: empirical, file: seen.csv}}\n";
  Sweep sweep;
  sweep.experiment = (folder.path / "e.yaml").string();
  InputFiles files;
  read_point({{TRAINYARD_SOURCE_DIR}}, sweep, {}, files);
  CHECK(files.paths.contains(std::filesystem::weakly_canonical(folder.path / "seen.csv").string()));
}

TEST_CASE("a global batch is split evenly among ranks and micro-batches, or not at all") {
  const auto batch = [](const Overrides& set) { return point_with(set).settings.batch_per_gpu; };
  CHECK(batch({{"global_batch", "1024"}, {"gpus", "8"}}) == 128);
  CHECK(batch({{"global_batch", "1024"}, {"ranks", "32"}}) == 32);
  CHECK(batch({{"global_batch", "1024"}, {"gpus", "8"}, {"accumulation", "2"}}) == 64);
  CHECK(error_of_point({{"global_batch", "100"}, {"gpus", "8"}}) ==
        "a global batch of 100 samples cannot be split evenly into 8 parts: 8 ranks");
}

TEST_CASE("a sweep's own keys are counts, and contradict no key of the experiment") {
  CHECK(error_of_point({{"ranks", "0"}}) == "ranks is '0', not a whole number of at least 1");
  CHECK(error_of_point({{"ranks", "many"}}) == "ranks is 'many', not a whole number of at least 1");
  CHECK(error_of_point({{"global_batch", "1.5"}}) ==
        "global_batch is '1.5', not a whole number of at least 1");
  CHECK(error_of_point({{"ranks", "8"}, {"gpus", "8"}}) == "ranks and gpus are both given");
  CHECK(error_of_point({{"ranks", "8"}, {"nodes", "1"}}) == "ranks and nodes are both given");
  CHECK(error_of_point({{"global_batch", "8"}, {"batch_per_gpu", "1"}, {"accumulation", "1"}}) ==
        "global_batch, batch_per_gpu and accumulation are all given");
  CHECK_FALSE(error_of_point({{"gqus", "8"}}).empty());
}

TEST_CASE("a global batch sets the micro-batches of replicas whose ranks share a model") {
  InputFiles files;
  const auto point = [&](const std::string& global_batch, const std::string& pipeline) {
    Sweep sweep;
    sweep.experiment = "gpt3_175b_dgx_a100";
    sweep.keys = {"global_batch", "parallelism.pipeline"};
    return read_point({{TRAINYARD_SOURCE_DIR}}, sweep, {global_batch, pipeline}, files);
  };
  for (const auto& [pipeline, replicas_of_model] : {std::pair{"8", 16}, std::pair{"16", 8}}) {
    const ResolvedExperiment resolved = point("1536", pipeline);
    CHECK(replicas(resolved) == replicas_of_model);
    CHECK(resolved.settings.batch_per_gpu == 1);
    CHECK(resolved.settings.accumulation == 1536 / replicas_of_model);
  }
  CHECK_THROWS_AS(point("1530", "8"), InputError);
  CHECK(point("1536", "4").settings.accumulation ==
        48);  // no multiple of the experiment's 8 stages is needed
  Sweep both;
  both.experiment = "gpt3_175b_dgx_a100";
  both.keys = {"global_batch", "accumulation"};
  // the micro-batches are set: their size follows
  CHECK(read_point({{TRAINYARD_SOURCE_DIR}}, both, {"1536", "8"}, files).settings.batch_per_gpu == 12);
}

TEST_CASE("a global batch is split among the replicas of a job of traces, which are fewer than its ranks") {
  InputFiles files;
  const auto point = [&](const std::string& global_batch) {
    Sweep sweep;
    sweep.experiment = "gpipe_traces_dgx2";
    sweep.keys = {"global_batch"};
    return read_point({{TRAINYARD_SOURCE_DIR}}, sweep, {global_batch}, files);
  };
  const ResolvedExperiment resolved = point("8");
  CHECK(resolved.cluster->ranks() == 4);
  CHECK(replicas(resolved) == 2);
  CHECK(resolved.settings.accumulation == 4);
  CHECK(resolved.settings.batch_per_gpu == 1);
  CHECK_THROWS_AS(point("12"), InputError);
  CHECK_THROWS_AS(point("16"), InputError);  // two samples on each GPU: the traces are of one
}

TEST_CASE("all points of a sweep over layouts keep the micro-batch, also those whose ranks share nothing") {
  InputFiles files;
  for (const auto& [tensor, accumulation] : {std::pair{"1", 4}, std::pair{"2", 8}, std::pair{"8", 32}}) {
    Sweep sweep;
    sweep.experiment = "bert_large_dgx_a100";
    sweep.set = {{"global_batch", "256"}, {"batch_per_gpu", "8"}, {"nodes", "1"}};
    sweep.keys = {"parallelism.tensor"};
    const ResolvedExperiment resolved = read_point({{TRAINYARD_SOURCE_DIR}}, sweep, {tensor}, files);
    CHECK(resolved.cluster->ranks() == 8);
    CHECK(resolved.settings.batch_per_gpu == 8);
    CHECK(resolved.settings.accumulation == accumulation);
  }
}

TEST_CASE("default leaves a key as the experiment has it, and experiment is another one") {
  const ResolvedExperiment resolved =
      point_with({{"experiment", "resnet50_ac922"}, {"batch_per_gpu", "default"}});
  CHECK(resolved.platform.name == "ac922");
  CHECK(resolved.settings.batch_per_gpu ==
        resolve({{TRAINYARD_SOURCE_DIR}}, "resnet50_ac922", {}).settings.batch_per_gpu);
  CHECK(point_with({{"ranks", "default"}}).settings.nodes == 1);
}

TEST_CASE("points that are read one after the other are those that are read alone") {
  const Sweep sweep =
      make_sweep("s", file_of("vary:\n  precision: [fp32, amp]\n  platform.fabric.nic: [25 Gbps, 100 Gbps]\n"
                              "  stack.bucket_cap: [default, 1 MiB]\n  model: [resnet50, vgg16]\n"));
  InputFiles files;
  for (const PointValues& values : sweep.points) {
    const ResolvedExperiment kept = read_point({{TRAINYARD_SOURCE_DIR}}, sweep, values, files);
    InputFiles none;
    const ResolvedExperiment alone = read_point({{TRAINYARD_SOURCE_DIR}}, sweep, values, none);
    CHECK(kept.settings.set == alone.settings.set);
    CHECK(kept.platform.fabric.nic.value == alone.platform.fabric.nic.value);
    CHECK(kept.model->name == alone.model->name);
    CHECK(only_class(kept).trace.ops.size() == only_class(alone).trace.ops.size());
  }
  CHECK(files.paths.contains(TRAINYARD_SOURCE_DIR "/workloads/models/vgg16.yaml"));
}

TEST_CASE("points keep the factor of one_gpu that the unvaried experiment has, unless it is varied") {
  const config::Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  const auto scales_of = [&](const std::string& lines) {
    const Sweep sweep = sweep_of(lines);
    InputFiles files;
    std::vector<double> scales;
    for (const PointValues& values : sweep.points)
      scales.push_back(read_point(catalogue, sweep, values, files).settings.one_gpu_scale.value());
    return scales;
  };
  const auto scale_with = [&](Overrides overrides) {
    return *resolve(catalogue, "resnet50_dgx2", overrides).settings.one_gpu_scale;
  };
  const double base = scale_with({{"one_gpu", "300 samples/s"}});
  CHECK(scales_of(
            "set: {one_gpu: 300 samples/s}\nvary: {batch_per_gpu: [1, default], precision: [fp32, amp]}\n") ==
        std::vector(4, base));
  CHECK(scales_of("set: {one_gpu: 300 samples/s}\nvary: {ranks: [1, 16]}\n") == std::vector(2, base));
  CHECK(scales_of("set: {one_gpu: 300 samples/s, global_batch: 2048}\nvary: {gpus: [8, 16]}\n") ==
        std::vector(2, base));
  CHECK(scales_of("set: {one_gpu: 700 samples/s, precision: amp}\nvary: {batch_per_gpu: [64]}\n") ==
        std::vector{scale_with({{"one_gpu", "700 samples/s"}, {"precision", "amp"}})});
  CHECK(scales_of("zip:\n- {one_gpu: [300 samples/s, 600 samples/s], precision: [fp32, amp]}\n") ==
        std::vector{base, scale_with({{"one_gpu", "600 samples/s"}, {"precision", "amp"}})});
  CHECK(scales_of("set: {one_gpu: 300 samples/s}\nvary: {experiment: [resnet50_dgx2, resnet50_dgx1v]}\n") ==
        std::vector{
            base,
            *resolve(catalogue, "resnet50_dgx1v", {{"one_gpu", "300 samples/s"}}).settings.one_gpu_scale});
}
