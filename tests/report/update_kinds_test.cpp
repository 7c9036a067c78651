// What the reports say of kinds of synchronisation that are collectives of one step.

#include "report/limits.hpp"
#include "report/trace_json.hpp"
#include "run/simulate.hpp"
#include "run_forms.hpp"
#include "sample.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

Run result_of(const Overrides& overrides) {
  return simulate(testing::shipped_experiment("resnet50_dgx2", overrides), {.fidelity = Fidelity::closed});
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("through GPU 0: the title names the kind, the trace what it sends and does beside it") {
  const Run run = result_of({{"stack", "dataparallel_gpu0"}, {"sync.kind", "dataparallel_gpu0"}});
  CHECK(says(summary_text(run), "; dataparallel_gpu0, fp32"));
  const std::string trace = trace_json(run);
  CHECK(says(trace, "(parameters 0)"));
  CHECK(says(trace, "broadcast 1"));
  CHECK(says(trace, "\"flatten (gradients 0)\""));
  CHECK_FALSE(says(trace, "fusion copy"));
}

TEST_CASE("communication without concurrent compute is exposed") {
  const Run run = result_of({{"stack", "dataparallel_gpu0"}, {"sync.kind", "dataparallel_gpu0"}});
  CHECK(says(summary_text(run), " 0.0 % of it overlaps"));
  CHECK(says(limit_in_words(run), "All communication ("));
}

TEST_CASE("to all peers: the title names the compression, the trace the kernels that it takes") {
  const Run run =
      result_of({{"sync.kind", "peer_to_peer"}, {"sync.compression", "top_k"}, {"sync.keep", "0.01"}});
  CHECK(says(summary_text(run), "pytorch_ddp, peer_to_peer with 1.0 % of the values, fp32"));
  const std::string trace = trace_json(run);
  CHECK(says(trace, "\"compress (bucket 0)\""));
  CHECK(says(trace, "\"sum (bucket 0)\""));
  const Run halves = result_of({{"sync.kind", "peer_to_peer"}, {"sync.compression", "fp16"}});
  CHECK(says(summary_text(halves), "peer_to_peer in fp16, fp32"));
}

TEST_CASE("where kernels around collectives cost more than the wire, these are named") {
  Run run = result_of({{"sync.kind", "peer_to_peer"}, {"sync.compression", "fp16"}});
  run.pace.time = compute_time(run) * 1.5;
  step_in(run).classes.front().exposed = compute_time(run) * 0.5;
  step_in(run).network_gain = compute_time(run) * 0.1;
  CHECK(says(limit_in_words(run), "compressing updates"));
  run.experiment.settings.sync = {.kind = SyncKind::dataparallel_gpu0};
  CHECK(says(limit_in_words(run), "copying tensors into buffers"));
  run.experiment.settings.sync = {};
  CHECK(says(limit_in_words(run), "cycles or negotiation"));
}
