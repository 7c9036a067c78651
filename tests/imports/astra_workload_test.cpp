// Workloads of ASTRA-sim as traces.

#include "imports/astra_workload.hpp"

#include "errors_of.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>
#include <string_view>

using namespace trainyard;

namespace {

Trace workload_trace(const std::string& text, WorkloadTime unit = WorkloadTime::us,
                     std::optional<Bytes> value = {}) {
  return trace_of(read_astra_workload(plain_input("workload.txt", text)), unit, value);
}

constexpr std::string_view two_layers =
    "DATA\n"
    "2\n"
    "conv1\t-1\t1200\tNONE\t0\t900\tNONE\t0\t1100\tALLREDUCE\t37632\t10\n"
    "fc -1 300 NONE 0 280 NONE 0 310 ALLREDUCE 8196000 20\r\n\n";

}  // namespace

TEST_CASE("a workload runs forward, backward from the last layer on, and then the updates") {
  const Trace trace = workload_trace(std::string(two_layers), WorkloadTime::us, Bytes(4));
  REQUIRE(trace.ops.size() == 8);
  const auto check = [&](std::size_t i, Phase phase, std::string_view layer, double us) {
    CHECK(trace.ops[i].phase == phase);
    CHECK(trace.ops[i].layer == layer);
    CHECK(trace.ops[i].duration->si() == doctest::Approx(us * 1e-6));
  };
  check(0, Phase::forward, "conv1", 1200);
  check(1, Phase::forward, "fc", 300);
  check(2, Phase::backward, "fc.wgrad", 310);
  check(3, Phase::backward, "fc.dgrad", 280);
  check(4, Phase::backward, "conv1.wgrad", 1100);
  check(5, Phase::backward, "conv1.dgrad", 900);
  check(6, Phase::optimizer, "conv1", 10);
  check(7, Phase::optimizer, "fc", 20);
  REQUIRE(trace.ops[2].communications.size() == 1);
  CHECK(trace.ops[2].communications.front().operation == Operation::all_reduce);
  CHECK(trace.ops[2].communications.front().size.si() == 8'196'000);
  CHECK_FALSE(trace.ops[2].communications.front().waits);
  CHECK(trace.ops[2].gradients.front().elements == 2'049'000);
  CHECK(workload_trace(std::string(two_layers)).ops[2].gradients.empty());
  CHECK(workload_trace(std::string(two_layers), WorkloadTime::ns).ops[0].duration->si() ==
        doctest::Approx(1.2e-6));
}

TEST_CASE("a workload that no trace of all ranks can hold is refused at its line") {
  const auto refused = [](const std::string& text, int line, std::string_view part) {
    const auto errors = errors_of([&] { workload_trace(text); });
    REQUIRE(errors.size() == 1);
    CAPTURE(errors.front().message);
    CHECK(errors.front().message.find(part) != std::string::npos);
    CHECK(errors.front().line == line);
  };
  const std::string layer = "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n";
  refused("HYBRID_TRANSFORMER model_parallel_NPU_group: 8\n1\na -1 5 ALLREDUCE 64 5 NONE 0 5 NONE 0 5\n", 3,
          "'a': all_reduce holds up the forward pass");
  refused("DATA\n1\na -1 5 NONE 0 5 ALLTOALL 64 5 NONE 0 5\n", 3, "input gradient");
  refused("DATA\n1\na -1 5 NONE 0 5 NONE 0 5 ALLGATHER 64 5\n", 3, "a rank's part");
  refused("MODEL\n1\n" + layer, 1, "no data parallelism");
  refused("HYBRID_CUSTOMIZED\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1 MODEL\n", 3, "parallelism 'MODEL'");
  refused("DATA\n2\n" + layer, 2, "2 layers are stated, but there are 1");
  refused("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8\n", 3, "11 columns; expected: 12");
  refused("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE_EP 8 1\n", 3, "unknown collective 'ALLREDUCE_EP'");
  refused("DATA\n1\na -1 1.5 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n", 3, "'1.5' is no time");
  refused("DATA\n1\na -1 1 NONE 8 1 NONE 0 1 ALLREDUCE 8 1\n", 3, "sent by NONE");
  refused("DATA\n", 2, "number of layers is missing");
  refused("comm_type,comm_group,msg_size\nall_reduce,dp,8\n", 1, "no workload of ASTRA-sim");
  refused("DATA\n1\na -1 0 NONE 0 0 NONE 0 0 NONE 0 0\n", 0, "no layer takes time");
}

TEST_CASE("each layer of a customized workload may say that it is data-parallel") {
  CHECK(workload_trace("HYBRID_CUSTOMIZED\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1 DATA\n").ops.size() ==
        4);
}

TEST_CASE("a damaged workload is read or refused at a line, never more") {
  CHECK(rc::check([] {
    std::string text(two_layers);
    const auto changes = *rc::gen::inRange(1, 6);
    for (int i = 0; i < changes; ++i)
      text[*rc::gen::inRange<std::size_t>(0, text.size())] =
          *rc::gen::elementOf(std::string(" \n\t-0129ANE."));
    try {
      RC_ASSERT(!workload_trace(text).ops.empty());
    } catch (const InputError& error) {
      RC_ASSERT(!error.diagnostics().front().message.empty());
    }
  }));
}
