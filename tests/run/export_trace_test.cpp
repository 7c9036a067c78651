#include "run/export_trace.hpp"

#include "experiment/op_times.hpp"
#include "run/simulate.hpp"
#include "shipped_layout.hpp"
#include "temporary_folder.hpp"
#include "workload/trace_csv.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

using testing::joined;
using testing::shipped_experiment;

const Overrides own;
const Overrides on_one{{"nodes", "1"}, {"gpus", "1"}};
const Overrides on_two{{"nodes", "1"}, {"gpus", "2"}};
const Overrides on_two_nodes{{"nodes", "2"}};

/// Empty for an experiment that cannot be exported: its ranks share a model, or replay traces.
std::optional<std::string> exported(const std::string& name, const Overrides& overrides) {
  try {
    return write_trace(export_trace(shipped_experiment(name, overrides), true));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

struct Times {
  Seconds step, one_rank, compute;
  friend bool operator==(const Times&, const Times&) = default;
};

/// Empty where the job itself cannot be: a machine of one GPU, or updates that are not a steady step. Also
/// with real data: a trace does not state the size of a sample.
std::optional<Times> times_of(const std::string& name, const Overrides& overrides) {
  try {
    const ResolvedExperiment resolved = shipped_experiment(name, overrides);
    if (is_multi_update(resolved.settings) || resolved.settings.input.data == InputData::real)
      return std::nullopt;
    const Pace pace = closed_pace(resolved);
    Seconds sum;
    for (const OpTime& time : op_times(resolved.classes.front().trace, resolved.gpu, resolved.stack))
      sum += time.duration;
    return Times{pace.time, pace.one_rank, sum};
  } catch (const InputError&) {
    return std::nullopt;
  } catch (const JobImpossible&) {
    return std::nullopt;  // too large for one GPU
  }
}

/// Exports with one number of ranks, replays with another.
void check_replay(const std::string& name, const Overrides& from, const Overrides& to, int& checked) {
  const auto text = exported(name, from);
  const std::optional<Times> first = times_of(name, to);
  if (!text || !first) return;
  const TemporaryFolder folder;
  const std::string file = (folder.path / "t.csv").string();
  std::ofstream(file) << *text;
  const std::optional<Times> again = times_of(name, joined(to, {{"trace", file}}));
  REQUIRE(again);
  CHECK(*again == *first);
  ++checked;
}

}  // namespace

TEST_CASE("every shipped experiment that can be exported replays to the bit on its own GPUs and on one") {
  int checked = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(TRAINYARD_SOURCE_DIR "/workloads/experiments")) {
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    check_replay(name, own, own, checked);
    check_replay(name, own, on_one, checked);
  }
  CHECK(checked > 50);
}

TEST_CASE("a trace replays to the bit on more and on fewer GPUs than it was exported on") {
  int checked = 0;
  for (const char* const name : {"resnet50_dgx2", "resnet50_p3_16xlarge_x2", "bert_large_dgx_a100"}) {
    CAPTURE(name);
    check_replay(name, own, on_two, checked);
    check_replay(name, on_one, own, checked);
    check_replay(name, on_two, on_two_nodes, checked);
  }
  // host time of each GPU and of rings between nodes; copies of samples that GPUs share; gradients that
  // Horovod fuses by their dates
  for (const Overrides& stack :
       {Overrides{{"stack", "tf2_bert"}, {"accumulation", "2"}}, Overrides{{"stack", "mxnet_kvstore"}},
        Overrides{{"stack", "horovod_0_20"}}, Overrides{{"stack", "mxnet_horovod"}},
        Overrides{{"stack", "horovod"}, {"accumulation", "2"}}}) {
    for (const Overrides& from : {own, on_one, on_two_nodes}) {
      for (const Overrides& to : {own, on_one, on_two, on_two_nodes})
        check_replay("resnet50_dgx2", joined(stack, from), joined(stack, to), checked);
    }
  }
  CHECK(checked == 9 + 60);
}

TEST_CASE("kernels of an exported trace are those of a mean GPU, durations that are stated alone stay") {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "t.csv").string();
  const auto compute = [&](const Overrides& more) {
    return times_of("resnet50_dgx2", joined({{"trace", file}}, more)).value().compute;
  };
  const std::string text = exported("resnet50_dgx2", own).value();
  std::ofstream(file) << text;
  CHECK(compute(own) / compute(on_one) > 1.02);
  const std::string measured = (folder.path / "measured.csv").string();
  std::ofstream(measured) << "phase,layer,duration_s,parameter_bytes\nforward,a,0.1,\nbackward,a,0.2,4000\n";
  for (const Overrides& ranks : {own, on_one})
    CHECK(times_of("resnet50_dgx2", joined({{"trace", measured}, {"batch_per_gpu", "1"}}, ranks))->compute ==
          Seconds{0.1} + Seconds{0.2});
}
