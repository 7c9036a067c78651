// What the reports say of kinds of synchronisation that are collectives of one step.

#include "report/limits.hpp"
#include "report/summary_text.hpp"
#include "report/trace_json.hpp"
#include "run/simulate.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

Result result_of(const Overrides& overrides) {
  return simulate(read_inputs(config::Catalogue{{TRAINYARD_SOURCE_DIR}}, "resnet50_dgx2", overrides),
                  {.fidelity = Fidelity::closed});
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("through GPU 0: the title names the kind, the trace what it sends and does beside it") {
  const Result result = result_of({{"stack", "dataparallel_gpu0"}, {"sync.kind", "dataparallel_gpu0"}});
  CHECK(says(summary_text(result, false), "; dataparallel_gpu0, fp32"));
  const std::string trace = trace_json(result);
  CHECK(says(trace, "(parameters 0)"));
  CHECK(says(trace, "broadcast 1"));
  CHECK(says(trace, "\"flatten (gradients 0)\""));
  CHECK_FALSE(says(trace, "fusion copy"));
}

TEST_CASE("communication behind which nothing is computed hides nothing") {
  const Result result = result_of({{"stack", "dataparallel_gpu0"}, {"sync.kind", "dataparallel_gpu0"}});
  CHECK(says(summary_text(result, false), "in all, 0.0 % of it hidden behind compute"));
  CHECK(says(limit_in_words(result), "of communication are exposed."));
}

TEST_CASE("to all peers: the title names the compression, the trace the kernels that it takes") {
  const Result result =
      result_of({{"sync.kind", "peer_to_peer"}, {"sync.compression", "top_k"}, {"sync.keep", "0.01"}});
  CHECK(says(summary_text(result, false), "pytorch_ddp, peer_to_peer with 1.0 % of the values, fp32"));
  const std::string trace = trace_json(result);
  CHECK(says(trace, "\"compress (bucket 0)\""));
  CHECK(says(trace, "\"sum (bucket 0)\""));
  const Result halves = result_of({{"sync.kind", "peer_to_peer"}, {"sync.compression", "fp16"}});
  CHECK(says(summary_text(halves, false), "peer_to_peer in fp16, fp32"));
}

TEST_CASE("where kernels around collectives cost more than the wire, these are named") {
  Result result = result_of({{"sync.kind", "peer_to_peer"}, {"sync.compression", "fp16"}});
  result.step_time = result.compute_time * 1.5;
  result.exposed_communication = result.compute_time * 0.5;
  result.network_gain = result.compute_time * 0.1;
  CHECK(says(limit_in_words(result), "compressing updates and adding up those of all ranks"));
  result.resolved.sync = {.kind = SyncKind::dataparallel_gpu0};
  CHECK(says(limit_in_words(result), "copying tensors into buffers"));
  result.resolved.sync = {};
  CHECK(says(limit_in_words(result), "waiting for the stack's cycle"));
}
