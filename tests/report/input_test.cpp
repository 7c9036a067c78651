// Samples that are read and decoded while a job trains, against sums that can be made by hand.

#include "experiment/data_loading.hpp"
#include "platform/load.hpp"
#include "random/order_statistics.hpp"
#include "report/limits.hpp"
#include "report/summary_json.hpp"
#include "run/simulate.hpp"
#include "run/update_setup.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <string>

using namespace trainyard;

namespace {

ResolvedExperiment input_job(Overrides overrides, const std::string& experiment = "resnet50_dgx2") {
  return testing::shipped_experiment(experiment, overrides);
}

Run input_run(const Overrides& overrides) {
  return simulate(input_job(overrides), {.fidelity = Fidelity::closed});
}

/// 16 ranks with 128 samples each: what a node's cores, its storage or its memory take for them is
/// 2,048 times this.
constexpr double step_samples = 16 * 128;

std::string refusal_of_input(const Overrides& overrides, const std::string& experiment = "resnet50_dgx2") {
  try {
    (void)input_job(overrides, experiment);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

bool is_in(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("synthetic data changes nothing, and the result says that hosts were left out") {
  const Run run = input_run({{"input.data", "synthetic"}});
  CHECK(run.pace.time == input_run({}).pace.time);
  CHECK_FALSE(run.input);
  CHECK(summary_json(run, {})["cpu_utilization"].is_null());
}

TEST_CASE("a step takes the longer of its own time and its input's, without prefetching both") {
  const double step = input_run({}).pace.time.si();
  const auto with = [](const std::string& decode, const std::string& prefetch) {
    return input_run({{"input.data", "real"}, {"input.prefetch", prefetch}, {"model.input.decode", decode}});
  };
  CHECK(with("4 ms", "true").pace.time.si() == step);
  const double loading = step_samples * 20e-3 / 48;
  REQUIRE(loading > step);
  const Run limited = with("20 ms", "true");
  CHECK(limited.pace.time.si() == doctest::Approx(loading).epsilon(1e-12));
  CHECK(with("20 ms", "false").pace.time.si() == doctest::Approx(step + loading).epsilon(1e-12));
  CHECK(limited.input->exposed.si() == doctest::Approx(loading - step).epsilon(1e-12));
  CHECK(limited.input->cpu->share == doctest::Approx(1));
  CHECK(step_of(limited).network_gain == Seconds{0});
  CHECK(exposed_communication(limited) == exposed_communication(input_run({})));
  CHECK(limited.links.mean == doctest::Approx(input_run({}).links.mean * step / loading));
  CHECK(is_in(limit_in_words(limited), "48 of 48 cores of a node decode 2,400 samples/s"));
  CHECK(summary_json(limited, {})["input_limit"] == "cores");
  // a GPU alone has all cores
  CHECK(limited.pace.one_rank == input_run({}).pace.one_rank);
}

TEST_CASE(
    "workers are cores of each rank, storage and memory are limits too, and nodes share a file system") {
  const auto real = [](Overrides more) {
    more.emplace_back("input.data", "real");
    return input_run(more);
  };
  CHECK(real({{"input.workers", "1"}}).pace.time.si() == doctest::Approx(step_samples * 4e-3 / 16));
  const Overrides slow{{"platform.node.storage.bandwidth", "200 MB/s"}};
  const Run stored = real(slow);
  CHECK(stored.pace.time.si() == doctest::Approx(step_samples * 115e3 / 200e6));
  CHECK(stored.input->storage->share == doctest::Approx(1));
  CHECK(is_in(limit_in_words(stored), "reads 1,740 samples/s from its storage"));
  CHECK(real({{"nodes", "4"}, {"platform.node.storage.shared", "400 MB/s"}}).pace.time.si() ==
        doctest::Approx(4 * step_samples * 115e3 / 400e6));
  CHECK(real({{"platform.node.devices.cpu.memory_bandwidth", "2 GB/s"}}).pace.time.si() ==
        doctest::Approx(step_samples * (3.8e6 + 602e3) / 4e9));
}

TEST_CASE("GPUs decode beside their kernels where they have a decoder, and tokens need none") {
  const Run decoded = simulate(input_job({{"model", "resnet50"},
                                          {"input", "{data: real, decode: gpu}"},
                                          {"batch_per_gpu", "64"},
                                          {"optimizer", "momentum"},
                                          {"gpu.image_decoder", "10 ms"}},
                                         "bert_large_dgx_a100"),
                               {.fidelity = Fidelity::closed});
  CHECK(decoded.pace.time.si() == doctest::Approx(64 * 10e-3));
  CHECK(is_in(limit_in_words(decoded), "the decoders of a node's GPUs decode 800"));
  CHECK(summary_json(decoded, {})["cpu_utilization"] == 0);
  const ResolvedExperiment text = input_job({{"input.data", "real"}}, "bert_large_dgx_a100");
  const DataLoading read = data_loading(text, *text.cluster).value();
  CHECK(read.cores == 0);
  CHECK(read.time == read.storage);
  CHECK(read.time.si() == doctest::Approx(read.samples * *text.model->sequence_length * 6 / 25e9));
}

TEST_CASE("input that cannot be is refused with what would be possible") {
  const Overrides real{{"input.data", "real"}};
  const auto with = [&](Overrides more) {
    more.insert(more.end(), real.begin(), real.end());
    return refusal_of_input(more);
  };
  CHECK(is_in(refusal_of_input({{"input.workers", "2"}}), "'workers' applies only to real data"));
  CHECK(is_in(refusal_of_input({{"input.prefetch", "true"}}), "'prefetch' applies only to real data"));
  CHECK(is_in(with({{"input.decode", "gpu"}}), "v100_sxm3_32gb states no hardware decoder"));
  CHECK(is_in(with({{"input.workers", "4"}}), "more than the 48 cores of a node"));
  CHECK(is_in(with({{"platform.node.devices.cpu.cores", "none"}}), "node.devices.cpu.cores"));
  CHECK(is_in(with({{"model.input", "{bytes_per_token: 2 B}"}}), "samples have no tokens"));
  CHECK(is_in(with({{"platform.node.storage", "{}"}}), "(in node.storage)"));
  CHECK(is_in(refusal_of_input({{"input.data", "real"}, {"input.decode", "gpu"}}, "bert_large_dgx_a100"),
              "need no decoding"));
}

TEST_CASE("a job of many updates waits for samples as a steady step does") {
  Overrides overrides{{"input.data", "real"},
                      {"model.input.decode", "20 ms"},
                      {"random.slow", "[{node: 0, factor: 1.0000001}]"},
                      {"steps", "{warmup: 5, measured: 20, repeats: 1}"}};
  const Run run = input_run(overrides);
  const double loading = step_samples * 20e-3 / 48;
  CHECK(run.pace.time.si() == doctest::Approx(loading));
  CHECK(run.input->exposed.si() / loading ==
        doctest::Approx(1 - input_run({}).pace.time.si() / loading).epsilon(0.01));
  CHECK(run.input->cpu->share == doctest::Approx(1));
  CHECK(is_in(limit_in_words(run), "Input: "));
}

TEST_CASE("what servers on a host add up is missing for its loader") {
  const Cluster hosts = make_cluster(load_platform(config::parse("box.yaml", R"(name: box
node:
  gpus: {count: 2, profile: some_gpu}
  devices: {cpu: {count: 1, cores: 4, memory_bandwidth: 100 GB/s}}
  links: [{between: ["gpu[0-1]", cpu0], kind: pcie4, bandwidth: 10 GB/s, latency: 1 us}]
)")),
                                     1);
  ServerMessage message;
  message.bytes = Bytes{1e9};
  message.shards = {0};
  ServerRules rules;
  rules.sum_per_core = Sourced<Bandwidth>{Bandwidth{1e9}};
  const ServerPlan plan = plan_servers(hosts, 2, 1, ServerPlacement::hosts, {message}, rules);
  const HostLoad load = host_load(plan, 1, 1, 1);
  CHECK(load.cores.si() == doctest::Approx(2 * 1e9 / 4e9));               // two ranks push a gigabyte
  CHECK(load.memory.si() == doctest::Approx(2 * (4 + 1) * 1e9 / 100e9));  // each five times through memory
  CHECK(host_load(plan, 1, 1, 5).cores.si() == doctest::Approx(load.cores.si() / 5));
  const ResolvedExperiment job = input_job({{"input.data", "real"}});
  CHECK(data_loading(job, 16, 1, load)->decode.si() == doctest::Approx(step_samples * 4e-3 / 48 + 0.5));
}

TEST_CASE("GPUs differ as their profile says where an experiment asks for it") {
  const double step = input_run({}).pace.time.si();
  const double compute = compute_time(input_run({})).si();
  const Run spread =
      input_run({{"random.gpus", "profile"}, {"steps", "{warmup: 1, measured: 1, repeats: 401}"}});
  // each repeat has other GPUs; the median of a largest draw lies a little below its mean
  const double excess = (spread.pace.time.si() - step) / compute;
  CHECK(excess == doctest::Approx(random::expected_maximum(16, 0.015)).epsilon(0.06));
  CHECK(is_in(refusal_of_input({{"random", "{gpus: profile, step: {kind: normal, sd: 0.1}}"}}),
              "(in random.gpus)"));
  CHECK(is_in(refusal_of_input({{"random.gpus", "profile"}, {"gpu.variation", "{}"}}),
              "does not state how much GPUs"));
}
