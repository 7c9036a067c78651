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
  return read_astra_workload(plain_input("workload.txt", text), unit, value).trace;
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

TEST_CASE("a transformer's collectives are of groups, and hold up forward and the input gradient") {
  const std::string text =
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 4 pp: 3 vpp: 8 ga: 24 all_gpus: 48 "
      "checkpoints: 0 checkpoint_initiates: 0 pp_comm 50331648\n2\n"
      "attention\t-1\t1200\tALLGATHER\t4096\t900\tREDUCESCATTER\t4096\t1100\tNONE\t0\t10\n"
      "moe\t-1\t1\tALLTOALL_EP\t64\t1\tNONE\t0\t1\tREDUCESCATTER_DP_EP\t128\t100\n";
  const AstraWorkload workload = read_astra_workload(plain_input("workload.txt", text), WorkloadTime::ns, {});
  CHECK(workload.groups.ranks == 48);
  CHECK(workload.not_used == std::vector<std::string>{"vpp 8", "ga 24", "pp_comm 50331648"});
  CHECK(workload.groups.size(Axis::data) == 8);
  CHECK(workload.groups.size(Axis::expert_data) == 2);
  REQUIRE(workload.warnings.size() == 1);
  CHECK(workload.warnings.front().starts_with("the trace is one of 3 stages alone"));
  const Trace& trace = workload.trace;
  REQUIRE(trace.ops.size() == 8);
  const auto check = [&](std::size_t i, std::string_view layer, Operation operation, Axis axis, bool waits) {
    CAPTURE(layer);
    CHECK(trace.ops[i].layer == layer);
    REQUIRE(trace.ops[i].communications.size() == 1);
    const OpCommunication& its = trace.ops[i].communications.front();
    CHECK(its.operation == operation);
    CHECK(its.axis == axis);
    CHECK(its.waits == (waits ? std::optional(0) : std::nullopt));
  };
  check(0, "attention", Operation::all_gather, Axis::tensor, true);
  CHECK(trace.ops[0].communications.front().size == Bytes(4096));  // the whole, as SimAI counts
  check(1, "moe", Operation::all_to_all, Axis::expert, true);
  CHECK(trace.ops[2].layer == "moe.dgrad");  // before the weight gradient
  check(3, "moe.wgrad", Operation::reduce_scatter, Axis::expert_data, false);
  check(4, "attention.dgrad", Operation::reduce_scatter, Axis::tensor, true);
  CHECK(trace.ops[5].communications.empty());
}

TEST_CASE("the size of an all-gather is a rank's part, but in SimAI's workloads") {
  const std::string layer = "1\na -1 5 ALLGATHER 64 5 NONE 0 5 NONE 0 5\n";
  const auto gathered = [&](const std::string& head) {
    return workload_trace(head + "\n" + layer).ops.front().communications.front().size;
  };
  CHECK(gathered("HYBRID_TRANSFORMER model_parallel_NPU_group: 8") == Bytes(512));
  CHECK(gathered("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8") == Bytes(64));
}

TEST_CASE("groups of one rank, and collectives of an unknown number of replicas, are warned of") {
  const AstraWorkload workload =
      read_astra_workload(plain_input("workload.txt",
                                      "HYBRID_TRANSFORMER model_parallel_NPU_group: 1\n1\n"
                                      "a -1 5 ALLREDUCE 64 5 NONE 0 5 REDUCESCATTER 64 5\n"),
                          WorkloadTime::ns, {});
  REQUIRE(workload.warnings.size() == 2);
  CHECK(workload.warnings.front().ends_with("take no time: tensor"));
  CHECK(workload.warnings.back().find("all_gpus") != std::string::npos);
}

TEST_CASE("a workload that no trace of all ranks can hold is refused at its line") {
  const std::string layer = "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n";
  const auto refused = [](const std::string& text, int line, std::string_view part) {
    const auto errors = errors_of([&] { workload_trace(text); });
    REQUIRE(errors.size() == 1);
    CAPTURE(errors.front().message);
    CHECK(errors.front().message.find(part) != std::string::npos);
    CHECK(errors.front().line == line);
  };
  refused("DATA\n1\na -1 5 ALLREDUCE 64 5 NONE 0 5 NONE 0 5\n", 3,
          "'a': all_reduce holds up the forward pass");
  refused("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 checkpoints: 1 0\n1\n" + layer, 1,
          "backward repeats");
  refused("HYBRID_TRANSFORMER model_parallel_NPU_group: eight\n1\n" + layer, 1, "'eight' is no number");
  refused("HYBRID_TRANSFORMER model_parallel_NPU_group:\n1\n" + layer, 1, "no number behind it");
  refused("HYBRID_TRANSFORMER model_parallel_NPU_group: 8 all_gpus: 12\n1\n" + layer, 1, "cannot be divided");
  refused("HYBRID_TRANSFORMER model_parallel_NPU_group: 8\n1\na -1 5 NONE 0 5 NONE 0 5 ALLGATHER 64 5\n", 3,
          "a rank's part");
  refused("HYBRID_TRANSFORMER model_parallel_NPU_group: 8\n1\na -1 5 ALLREDUCE_TP 64 5 NONE 0 5 NONE 0 5\n",
          3, "unknown collective 'ALLREDUCE_TP'");
  refused("HYBRID_DLRM\n1\na -1 5 ALLTOALL 64 5 NONE 0 5 NONE 0 5\n", 1, "dimensions of a network");
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
