#include "experiment/scaled_trace.hpp"

#include "accuracy/replay_error.hpp"
#include "config/document.hpp"
#include "config/read_file.hpp"
#include "experiment/experiment_notes.hpp"
#include "experiment/prediction_error.hpp"
#include "experiment/resolve.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"
#include "workload/csv.hpp"
#include "workload/trace_csv.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <numbers>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

/// A GPU whose kernels are rooflines at full rates.
GpuProfile roofline_gpu(const std::string& fp16, const std::string& bandwidth, const std::string& t0) {
  return load_gpu_profile(config::parse("gpu", fmt::format(R"(name: gpu
memory: {{capacity: 16 GB, bandwidth: {1}}}
tdp: 300 W
matrix: {{fp32: {{peak: 10 TFLOP/s}}, fp16: {{peak: {0}}}}}
vector:
  elementwise: &all {{value: 1, assumed: "a test"}}
  batch_norm: *all
  layer_norm: *all
  pooling: *all
  softmax: *all
  embedding: *all
  optimizer: *all
  t0: {{value: {2}, assumed: "a test"}}
roofline: {{value: {{efficiency: 1, bandwidth_fraction: 1, t0: 0 s}}, assumed: "a test"}}
)",
                                                           fp16, bandwidth, t0)));
}

Op recorded_op(OpKind kind, double seconds) {
  Op op;
  op.kind = kind;
  op.duration = Seconds(seconds);
  return op;
}

double ratio(const Op& op, const GpuProfile& from, const GpuProfile& to) {
  return time_ratio(op, {from, Precision::amp, Layout::nchw}, {to, Precision::amp, Layout::nchw});
}

ResolvedExperiment replayed(const std::string& trace, const std::string& platform,
                            const Overrides& more = {}) {
  Overrides keys{{"platform", platform}, {"trace", trace}, {"stack", "pytorch_ddp"}};
  keys.insert(keys.end(), more.begin(), more.end());
  return resolve({{TRAINYARD_SOURCE_DIR}}, no_file, keys);
}

Seconds sum_of(const Trace& trace) {
  Seconds sum;
  for (const Op& op : trace.ops) sum += *op.duration;
  return sum;
}

/// A measured step whose trace is shipped, and the settings that the trace states.
struct ShippedTrace {
  MeasuredReplay step;
  std::string path, precision, batch;
};

std::vector<ShippedTrace> read_shipped_traces() {
  std::vector<ShippedTrace> traces;
  for (const MeasuredReplay& step : measured_replays()) {
    if (step.trace.empty()) continue;
    std::string path = TRAINYARD_SOURCE_DIR "/workloads/traces/" + step.trace + ".csv";
    const Trace trace = read_trace(path, config::read_file(path, largest_csv));
    traces.push_back({.step = step,
                      .path = std::move(path),
                      .precision = std::string(config::name_of(trace.precision.value())),
                      .batch = std::to_string(trace.batch_per_gpu)});
  }
  return traces;
}

const std::vector<ShippedTrace>& shipped_traces() {
  static const std::vector<ShippedTrace> traces = read_shipped_traces();
  return traces;
}

const ShippedTrace& shipped_trace(const std::string& name) {
  return *std::ranges::find(shipped_traces(), name,
                            [](const ShippedTrace& one) -> const std::string& { return one.step.trace; });
}

}  // namespace

TEST_CASE("products scale with the peaks of two rooflines, vector ops with their bandwidths") {
  const GpuProfile fast = roofline_gpu("400 TFLOP/s", "3 TB/s", "0 s");
  const GpuProfile slow = roofline_gpu("100 TFLOP/s", "1 TB/s", "0 s");
  Op product = recorded_op(OpKind::gemm, 1e-3);
  product.shape = GemmShape{.m = 8192, .n = 8192, .k = 8192};
  CHECK(ratio(product, fast, slow) == doctest::Approx(4).epsilon(1e-9));
  CHECK(ratio(recorded_op(OpKind::attention, 1e-3), fast, slow) == doctest::Approx(4).epsilon(1e-9));
  for (const OpKind kind : {OpKind::elementwise, OpKind::optimizer, OpKind::layer_norm, OpKind::measured})
    CHECK(ratio(recorded_op(kind, 1e-3), fast, slow) == doctest::Approx(3).epsilon(1e-9));
  // the fixed time of a kernel does not scale: 3 GB take 1 ms here, 3 ms + 1 ms there
  const GpuProfile launching = roofline_gpu("100 TFLOP/s", "1 TB/s", "1 ms");
  CHECK(ratio(recorded_op(OpKind::elementwise, 1e-3), fast, launching) == doctest::Approx(4).epsilon(1e-9));
  CHECK(ratio(product, fast, fast) == 1);
}

TEST_CASE("values say how large a vector op is: by the passes of its kind, or a read and a write") {
  const GpuProfile fast = roofline_gpu("400 TFLOP/s", "3 TB/s", "0 s");
  const GpuProfile slow = roofline_gpu("100 TFLOP/s", "1 TB/s", "1 ms");
  const auto ratio_of = [&](OpKind kind, Phase phase, double values) {
    Op op = recorded_op(kind, 1e-3);  // at 3 TB/s 3 GB, as of an op without values
    op.phase = phase;
    op.shape = VectorShape{values};
    return ratio(op, fast, slow);
  };
  // GB of 1e9 values of 2 bytes: at 3 TB/s there, at 1 TB/s and 1 ms here
  const auto by_bytes = [](double gb) { return doctest::Approx((gb + 1) / (gb / 3)).epsilon(1e-9); };
  CHECK(ratio_of(OpKind::elementwise, Phase::forward, 1e9) == by_bytes(4));
  CHECK(ratio_of(OpKind::elementwise, Phase::forward, 1e8) == by_bytes(0.4));
  CHECK(ratio_of(OpKind::pooling, Phase::backward, 1e9) == by_bytes(4));
  CHECK(ratio_of(OpKind::batch_norm_forward, Phase::forward, 1e9) == by_bytes(6));
  CHECK(ratio_of(OpKind::batch_norm_backward, Phase::backward, 1e9) == by_bytes(10));
  CHECK(ratio_of(OpKind::layer_norm, Phase::backward, 1e9) == by_bytes(6));
  // the state of an optimizer and a table's gradient do not follow from the number of values
  CHECK(ratio_of(OpKind::optimizer, Phase::optimizer, 1e9) == by_bytes(3));
  CHECK(ratio_of(OpKind::embedding, Phase::backward, 1e9) == by_bytes(3));
}

TEST_CASE("a GPU without bf16 runs recorded kernels in fp16") {
  const GpuProfile volta =
      load_gpu_profile(config::load(TRAINYARD_SOURCE_DIR "/platforms/gpus/v100_sxm2_16gb.yaml"));
  CHECK(precision_on(volta, Precision::amp_bf16) == Precision::amp);
  CHECK(precision_on(volta, Precision::pure_bf16) == Precision::fp16);
  CHECK(precision_on(volta, Precision::fp32) == Precision::fp32);
  const ShippedTrace& resnet = shipped_trace("resnet50_h100");
  const ResolvedExperiment there =
      replayed(resnet.path, "p3_16xlarge",
               {{"precision", "amp_bf16"}, {"batch_per_gpu", "128"}, {"trace_times", "scaled"}});
  CHECK(there.settings.precision == Precision::amp);
  CHECK(std::ranges::any_of(there.notes, [](const std::string& note) {
    return note.find("recorded on h100_sxm_80gb") != std::string::npos &&
           note.find("has no bf16") != std::string::npos;
  }));
  CHECK(std::ranges::none_of(experiment_notes(there, true), [](const std::string& note) {
    return note.find("the GPU profile, optimizer") != std::string::npos;  // it scales them
  }));
  const std::optional<Seconds> first = there.classes.front().trace.ops.front().duration;
  const ResolvedExperiment same =
      replayed(resnet.path, "p3_16xlarge",
               {{"precision", "amp"}, {"batch_per_gpu", "128"}, {"trace_times", "scaled"}});
  CHECK(same.classes.front().trace.ops.front().duration == first);
}

TEST_CASE("products of odd rows are scaled as those of profiles of one kind") {
  const ShippedTrace& gpt2 = shipped_trace("gpt2_small_h100");
  const auto output = [&](const char* platform, const char* precision) {  // the largest: of 50,257 tokens
    const Trace trace =
        replayed(gpt2.path, platform,
                 {{"precision", precision}, {"batch_per_gpu", gpt2.batch}, {"trace_times", "scaled"}})
            .classes.front()
            .trace;
    return *std::ranges::max_element(trace.ops, {}, [](const Op& op) { return op.flops; })->duration;
  };
  const double slower = output("dgx2", "amp") / output("dgx_h100", "amp_bf16");
  CHECK(slower > 4);  // both at half of their peaks: 7.9
  CHECK(slower < 9);
}

TEST_CASE("notes on a scaled trace say that durations follow from the profiles, also of faster GPUs") {
  const ShippedTrace& resnet = shipped_trace("resnet50_h100");
  const auto notes_with = [&](const Overrides& more, const std::string& text) {
    Overrides set{{"precision", "amp"}, {"batch_per_gpu", "128"}, {"trace_times", "scaled"}};
    set.insert(set.end(), more.begin(), more.end());
    const ResolvedExperiment there = replayed(resnet.path, "p3_16xlarge", set);
    return std::ranges::count_if(
        there.notes, [&](const std::string& note) { return note.find(text) != std::string::npos; });
  };
  CHECK(notes_with({}, "the GPU profile,") == 0);
  CHECK(notes_with({}, "scaled by the GPU profiles") == 1);
  CHECK(notes_with({}, "what-if") == 0);
  CHECK(notes_with({{"gpu.speed", "2"}}, "what-if: every kernel") == 1);
  CHECK(notes_with({{"stack", "horovod"}}, "XLA fuses nothing in a trace") == 0);
  CHECK(notes_with({{"stack", "horovod"}, {"stack.xla", "true"}}, "XLA fuses nothing in a trace") == 1);
}

TEST_CASE("a scaled trace has the kind of the shipped model that it names, and the errors of two profiles") {
  const std::map<std::string, ModelKind> kinds{{"resnet50", ModelKind::convolutional},
                                               {"bert_base", ModelKind::encoder},
                                               {"gpt2_small", ModelKind::decoder},
                                               {"llama3_8b", ModelKind::decoder}};
  for (const ShippedTrace& one : shipped_traces()) {
    CAPTURE(one.step.trace);
    const ResolvedExperiment there =
        replayed(one.path, "dgx_a100",
                 {{"precision", one.precision}, {"batch_per_gpu", one.batch}, {"trace_times", "scaled"}});
    const Circumstances of = circumstances_of(there);
    CHECK(of.kind == kinds.at(one.step.model));
    const auto single = expected_error(*there.published_errors, of);
    const auto both = prediction_error(there);
    REQUIRE(single);
    REQUIRE(both);
    const double larger = std::max({std::abs(std::log1p(single->low)), std::abs(std::log1p(single->high))});
    CHECK(std::log1p(both->high) == doctest::Approx(std::numbers::sqrt2 * larger).epsilon(1e-9));
    CHECK(std::log1p(both->low) == doctest::Approx(-std::numbers::sqrt2 * larger).epsilon(1e-9));
  }
}

TEST_CASE("a hypothesis makes the interval symmetric, and a note says what it is") {
  const ResolvedExperiment usual = testing::shipped_experiment("resnet50_dgx2");
  const ResolvedExperiment supposed =
      testing::shipped_experiment("resnet50_dgx2", {{"hypothesis", "gradients travel twice"}});
  const auto error = prediction_error(usual);
  const auto symmetric = prediction_error(supposed);
  REQUIRE(error);
  REQUIRE(symmetric);
  CHECK_FALSE(error->is_either_way);
  CHECK(symmetric->is_either_way);
  CHECK((1 + symmetric->low) * (1 + symmetric->high) == doctest::Approx(1).epsilon(1e-9));
  CHECK(symmetric->low <= error->low + 1e-12);
  CHECK(symmetric->high >= error->high - 1e-12);
  CHECK(supposed.notes.size() == usual.notes.size() + 1);
  CHECK(std::ranges::any_of(supposed.notes, [](const std::string& note) {
    return note.find("gradients travel twice") != std::string::npos;
  }));
}

TEST_CASE("shipped traces replay on their own GPU with the measured time of their kernels") {
  CHECK(shipped_traces().size() == 7);
  for (const ShippedTrace& one : shipped_traces()) {
    CAPTURE(one.step.trace);
    const std::string gpu = one.step.trace.ends_with("_h100") ? "h100_measured" : "h200_measured";
    for (const char* times : {"recorded", "scaled"}) {
      const ResolvedExperiment there = replayed(one.path, "dgx_h100",
                                                {{"precision", one.precision},
                                                 {"batch_per_gpu", one.batch},
                                                 {"platform.node.gpus.profile", gpu},
                                                 {"gpus", "1"},
                                                 {"trace_times", times}});
      CHECK(sum_of(there.classes.front().trace) / one.step.replayed == doctest::Approx(1).epsilon(1e-5));
      CHECK_FALSE(there.scaled_from);
      const Circumstances of = circumstances_of(there);
      CHECK(of.mean_op / one.step.mean_op == doctest::Approx(1).epsilon(1e-3));
      const auto expected = prediction_error(there);
      REQUIRE(expected);
      CHECK(bounds_of(*expected) ==
            one_gpu_replay_bounds(measured_replays(), one.step.model, of.mean_op).bounds);
    }
  }
}

TEST_CASE("the sweep of measured traces states the measured times of the table of steps") {
  const config::Document sweep = config::load(TRAINYARD_SOURCE_DIR "/workloads/sweeps/measured_traces.yaml");
  std::map<std::string, int> rows;
  for (const config::Node& figure : sweep.nearest("published").items) {
    for (const config::Node& row : figure.find("rows")->items) {
      const std::string& name = row.find("at")->find("experiment")->scalar;
      CAPTURE(name);
      const MeasuredReplay& step = shipped_trace(name.substr(0, name.rfind("_trace"))).step;
      CHECK(std::stod(row.find("value")->scalar) == step.measured.si());
      ++rows[name];
    }
  }
  CHECK(rows.size() == shipped_traces().size());
}

TEST_CASE("the error of a replay is known where all of its times were measured on this GPU") {
  const TemporaryFolder folder;
  const auto error_of = [&](const std::string& text, const char* platform, const char* ranks) {
    const std::string file = (folder.path / "t.csv").string();
    std::ofstream(file) << "# batch_per_gpu: 32\n" << text;
    return prediction_error(replayed(file, platform, {{"batch_per_gpu", "32"}, {"gpus", ranks}}));
  };
  const std::string timed = "phase,layer,duration_s,parameter_bytes\nforward,a,0.01,\nbackward,a,0.02,1000\n";
  const std::string of_h100 = "# gpu: h100_sxm_80gb\n" + timed;
  const auto alone = error_of(of_h100, "dgx_h100", "1");
  const auto eight = error_of(of_h100, "dgx_h100", "8");
  REQUIRE(alone);
  REQUIRE(eight);
  CHECK(alone->is_of_replays);
  const auto factor = [](const ExpectedError& of) { return (1 + of.high) / (1 + of.low); };
  CHECK(factor(*eight) > factor(*alone));
  CHECK(eight->pairs > 0);
  const std::string part =
      "# gpu: h100_sxm_80gb\nphase,layer,kind,bytes,duration_s\n"
      "forward,a,elementwise,1000,\nbackward,a,,,0.02\n";
  for (const auto& [text, platform, why] : {std::tuple{timed, "dgx_h100", "does not name the GPU"},
                                            std::tuple{of_h100, "dgx_a100", "measured on h100_sxm_80gb"},
                                            std::tuple{part, "dgx_h100", "not all of its times"}}) {
    const auto none = error_of(text, platform, "1");
    REQUIRE_FALSE(none);
    CHECK(none.error().find(why) != std::string::npos);
  }
}

TEST_CASE("what cannot be scaled is refused") {
  const TemporaryFolder folder;
  const auto replay = [&](const std::string& text) {
    const std::string file = (folder.path / "t.csv").string();
    std::ofstream(file) << "# batch_per_gpu: 32\n" << text;
    return replayed(file, "dgx_a100", {{"batch_per_gpu", "32"}, {"trace_times", "scaled"}});
  };
  const std::string timed = "phase,layer,duration_s\nforward,a,0.01\nbackward,a,0.02\n";
  CHECK_THROWS_AS(replay(timed), InputError);  // of which GPU?
  CHECK_THROWS_AS(replay("# gpu: no_such_gpu\n" + timed), InputError);
  CHECK_THROWS_AS(replay("# gpu: h100_sxm_80gb\nphase,layer,kind,bytes\nforward,a,elementwise,1000\n"),
                  InputError);  // the profile computes it anyway
  CHECK(replay("# gpu: h100_sxm_80gb\n" + timed).scaled_from.has_value());
  CHECK_THROWS_AS(testing::shipped_experiment("resnet50_dgx2", {{"trace_times", "scaled"}}), InputError);
}
