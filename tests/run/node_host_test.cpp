// The host of a node as a resource: ranks that launch kernels, and the loader, share its cores.

#include "experiment/node_host.hpp"

#include "experiment/data_loading.hpp"
#include "experiment/lowered_stack.hpp"
#include "run/simulate.hpp"
#include "shipped_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

/// A small BERT whose steps wait for eager PyTorch's launches, on nodes with 8 GPUs and 2 CPUs of so many
/// cores each.
ResolvedExperiment with_cores(int nodes, const char* cores, const Overrides& more = {}) {
  return shipped_experiment("resnet50_dgx2", joined({{"platform", "dgx_h100"},
                                                     {"platform.node.devices.cpu.cores", cores},
                                                     {"nodes", std::to_string(nodes)},
                                                     {"model", "bert_base"},
                                                     {"precision", "pure_bf16"},
                                                     {"optimizer", "sgd"},
                                                     {"batch_per_gpu", "1"},
                                                     {"stack", "pytorch"}},
                                                    more));
}

Run on_node(const ResolvedExperiment& resolved, Fidelity fidelity = Fidelity::closed) {
  return simulate_step(resolved, {.fidelity = fidelity});
}

double node_time(const ResolvedExperiment& resolved) { return on_node(resolved).pace.time.si(); }

Seconds time_of_launches(const ResolvedExperiment& resolved, Phase phase) {
  Seconds sum;
  for (const Op& op : resolved.classes.front().trace.ops) {
    if (op.phase == phase) sum += op.host;
  }
  return sum;
}

bool has_host_note(const ResolvedExperiment& resolved, const char* text) {
  return std::ranges::any_of(resolved.notes,
                             [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

const Overrides one_process{{"sync.kind", "dataparallel_gpu0"}};
const Overrides decoded_images{
    {"model", "resnet50"}, {"optimizer", "momentum"}, {"batch_per_gpu", "64"}, {"input.data", "real"}};

}  // namespace

TEST_CASE("eight ranks on four cores take twice as long to launch, one GPU alone does not") {
  const ResolvedExperiment enough = with_cores(1, "4");
  const ResolvedExperiment half = with_cores(1, "2");
  CHECK(shared_host(enough) == SharedHost{});
  CHECK(shared_host(half) == SharedHost{.forward = 2, .backward = 2, .rest = 2});
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::optimizer})
    CHECK(time_of_launches(half, phase) == 2 * time_of_launches(enough, phase));
  const Pace pace = on_node(half).pace;
  CHECK(pace.time.si() ==
        doctest::Approx(node_time(with_cores(1, "4", {{"platform.node.host.launch", "2"}}))).epsilon(1e-9));
  CHECK(pace.one_rank.si() == doctest::Approx(on_node(enough).pace.one_rank.si()).epsilon(1e-9));
  CHECK(has_host_note(half, "8 threads"));
  CHECK(!has_host_note(enough, "threads that launch"));
}

TEST_CASE("cores that no thread wants change nothing") {
  CHECK(node_time(with_cores(1, "4")) == node_time(with_cores(1, "56")));
  CHECK(node_time(with_cores(1, "1", {{"stack", "pytorch_ddp"}})) ==
        node_time(with_cores(1, "56", {{"stack", "pytorch_ddp"}})));  // no lowering, no host
}

TEST_CASE("on several nodes each GPU has a thread for the network as well") {
  CHECK(shared_host(with_cores(1, "4")) == SharedHost{});
  CHECK(shared_host(with_cores(2, "4")).backward == 2);
  CHECK(shared_host(with_cores(2, "8")) == SharedHost{});
}

TEST_CASE("all fidelities give the same step on few cores") {
  const ResolvedExperiment few = with_cores(1, "1");
  const double closed = node_time(few);
  CHECK(closed > 3 * node_time(with_cores(1, "4")));
  CHECK(on_node(few, Fidelity::flow).pace.time.si() == doctest::Approx(closed).epsilon(1e-3));
}

TEST_CASE("ranks that share a model take turns on few cores, too") {
  const Overrides divided{{"parallelism.shard", "optimizer"}, {"optimizer", "adam"}};
  const double whole = node_time(with_cores(1, "2", {{"optimizer", "adam"}}));
  CHECK(node_time(with_cores(1, "2", divided)) == doctest::Approx(whole).epsilon(0.05));
  CHECK(node_time(with_cores(1, "2", divided)) > 1.8 * node_time(with_cores(1, "4", divided)));
}

TEST_CASE("one process with many GPUs launches their forward passes under one lock") {
  const ResolvedExperiment separate = with_cores(1, "56");
  const ResolvedExperiment together = with_cores(1, "56", one_process);
  const SharedHost shared = shared_host(together);
  CHECK(shared.forward == doctest::Approx(8 * (1 - 12.2 / 36)));
  CHECK(shared.backward == 1);
  CHECK(shared.rest == 1);
  CHECK(time_of_launches(together, Phase::forward).si() ==
        doctest::Approx(shared.forward * time_of_launches(separate, Phase::forward).si()));
  CHECK(time_of_launches(together, Phase::backward) == time_of_launches(separate, Phase::backward));
  CHECK(node_time(together) > 1.9 * node_time(separate));
  CHECK(shared_host(with_cores(1, "56", joined(one_process, {{"gpus", "1"}}))) == SharedHost{});
  CHECK(has_host_note(together, "one process"));
}

TEST_CASE("the loader has the cores that launches leave") {
  const ResolvedExperiment eager = with_cores(1, "2", decoded_images);
  const ResolvedExperiment fused = with_cores(1, "2", joined(decoded_images, {{"stack", "pytorch_ddp"}}));
  const Seconds load = launching_load(eager, 8);
  // 8 ranks, 4 cores: what the launches of one rank take, had it the node for itself, twice.
  CHECK(load.si() ==
        doctest::Approx(2 * launches_of_step(eager, eager.classes.front()).host.si() / 2).epsilon(1e-9));
  CHECK(launching_load(fused, 8) == Seconds());
  const Seconds decode = data_loading(fused, *fused.cluster).value().decode;
  CHECK(decode.si() == doctest::Approx(8 * 64 * 4e-3 / 4));
  CHECK(data_loading(eager, *eager.cluster).value().decode.si() ==
        doctest::Approx((decode + load).si()).epsilon(1e-9));
  CHECK(data_loading(eager, 1, 1).value().busy < data_loading(eager, *eager.cluster).value().busy);
  const ResolvedExperiment waiting =
      with_cores(1, "2", joined(decoded_images, {{"input.prefetch", "false"}}));
  CHECK(data_loading(waiting, *waiting.cluster).value().decode == decode);
}
