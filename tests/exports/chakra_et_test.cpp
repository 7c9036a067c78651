// Execution traces of simulated steps, read back.

#include "exports/chakra_et.hpp"

#include "exports/kineto_json.hpp"
#include "exports/rank_step.hpp"
#include "imports/chakra_trace.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <fstream>
#include <set>

using namespace trainyard;
using testing::shipped_experiment;

namespace {

ChakraGraph graph_again(const std::string& bytes) {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "resnet50.0.et", std::ios::binary) << bytes;
  return read_chakra(folder.path / "resnet50.0.et");
}

}  // namespace

TEST_CASE("an execution trace of a data-parallel ResNet-50 has its ops, collectives, durations and bytes") {
  const Run run =
      simulate(shipped_experiment("resnet50_dgx2", {{"gpus", "2"}}), {.fidelity = Fidelity::closed});
  const Step& step = step_of(run);
  const std::vector<OpRow>& rows = step.classes.front().ops;
  const ChakraGraph graph = graph_again(chakra_et(run, Rank{0}));
  CHECK(graph.schema == "0.0.4");
  const std::vector<SideKernel> copies = side_kernels(run, Rank{0});
  CHECK(graph.nodes.size() == rows.size() + step.collectives.size() + copies.size());
  double sum_us = 0;
  double sum_s = 0;
  std::size_t op = 0;
  std::size_t collective = 0;
  std::uint64_t last_op = 0;
  std::set<std::uint64_t> collectives;  // the last node of each
  std::set<std::uint64_t> sides;
  for (const ChakraNode& node : graph.nodes) {
    CAPTURE(node.name);
    if (node.type == chakra::NodeType::collective) {
      const CollectiveRow& row = step.collectives.at(collective++);
      const bool is_broadcast = collective <= 2;  // of buffers, before the first op
      CHECK(node.comm_type == (is_broadcast ? 5 : 0));
      CHECK(node.comm_size == static_cast<std::uint64_t>(row.size.si()));
      CHECK(node.group == "0");
      CHECK(node.is_cpu_op == false);
      if (node.data_parents != std::vector{last_op}) {  // a copy
        const bool is_first = collective == 1 && node.data_parents.empty();
        CHECK((is_first || (node.data_parents.size() == 1 && sides.contains(node.data_parents.front()))));
      }
      collectives.insert(node.id);
      continue;
    }
    REQUIRE(node.type == chakra::NodeType::compute);
    if (!node.num_ops) {  // a copy around a collective
      sides.insert(node.id);
      sum_us += static_cast<double>(node.duration_us);
      if (!node.data_parents.empty() && collectives.erase(node.data_parents.front()) > 0)
        collectives.insert(node.id);  // others wait for it, too
      continue;
    }
    const OpRow& row = rows.at(op++);
    CHECK(node.num_ops == static_cast<std::uint64_t>(std::llround(row.flops.si())));
    CHECK(node.tensor_size == static_cast<std::uint64_t>(std::llround(row.bytes.si())));
    CHECK(node.duration_ns == static_cast<std::uint64_t>(std::llround(row.duration.si() * 1e9)));
    CHECK(std::abs(static_cast<double>(node.duration_us) - row.duration.si() * 1e6) <= 1);
    if (row.phase == Phase::optimizer) {
      const std::set<std::uint64_t> parents(node.data_parents.begin(), node.data_parents.end());
      for (const std::uint64_t one : collectives) CHECK(parents.contains(one));
    }
    sum_us += static_cast<double>(node.duration_us);
    sum_s += row.duration.si();
    last_op = node.id;
  }
  CHECK(collectives.size() == step.collectives.size());
  CHECK(sides.size() == copies.size());
  for (const SideKernel& copy : copies) sum_s += copy.duration.si();
  CHECK(std::abs(sum_us - sum_s * 1e6) <= 1);
}

TEST_CASE("an execution trace is imported as the trace it was made of") {
  const Run run =
      simulate(shipped_experiment("bert_base_p3dn", {{"gpus", "4"}}), {.fidelity = Fidelity::closed});
  const std::vector<OpRow>& rows = step_of(run).classes.front().ops;
  const ChakraImport back = trace_of(graph_again(chakra_et(run, Rank{1})));
  CHECK(back.left_out.empty());
  CHECK(back.warnings.empty());
  REQUIRE(back.trace.ops.size() == rows.size());
  int collectives = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Op& op = back.trace.ops[i];
    CHECK(op.phase == rows[i].phase);
    CHECK(std::abs(op.duration->si() - rows[i].duration.si()) <= 1e-9);
    CHECK(op.flops.si() == std::round(rows[i].flops.si()));
    for (const OpCommunication& one : op.communications) {
      const Collective& sent =
          step_of(run).plan.graph.collectives.at(static_cast<std::size_t>(collectives++));
      CHECK(sent.label.ready_op == static_cast<int>(i));
      CHECK(one.size.si() == sent.size.si());
      CHECK_FALSE(one.waits);
    }
  }
  CHECK(static_cast<std::size_t>(collectives) == step_of(run).collectives.size());
}

TEST_CASE("copies around collectives are nodes, and keep their durations when they are read back") {
  for (const std::string stack : {"horovod", "pytorch_ddp"}) {
    CAPTURE(stack);
    const Run run = simulate(shipped_experiment("resnet50_dgx2", {{"gpus", "2"}, {"stack", stack}}),
                             {.fidelity = Fidelity::closed});
    const std::vector<SideKernel> copies = side_kernels(run, Rank{0});
    REQUIRE_FALSE(copies.empty());
    const ChakraImport back = trace_of(graph_again(chakra_et(run, Rank{0})));
    CHECK(back.warnings.empty());
    const std::vector<OpRow>& rows = step_of(run).classes.front().ops;
    REQUIRE(back.trace.ops.size() == rows.size() + copies.size());
    std::multiset<double> written, read;  // ns
    for (const OpRow& row : rows) written.insert(std::round(row.duration.si() * 1e9));
    for (const SideKernel& copy : copies) written.insert(std::round(copy.duration.si() * 1e9));
    for (const Op& op : back.trace.ops) read.insert(std::round(op.duration->si() * 1e9));
    CHECK(written == read);
    CHECK(static_cast<std::size_t>(back.collectives) == step_of(run).collectives.size());
  }
}

TEST_CASE("an op that a collective holds up depends on it in the execution trace") {
  const TemporaryFolder folder;
  const std::string trace = (folder.path / "step.csv").string();
  std::ofstream(trace) << "phase,layer,duration_s,communication,communication_bytes,waits\n"
                          "forward,a,0.001,all_gather,4096,1\n"
                          "forward,b,0.001,,,\n"
                          "forward,c,0.001,,,\n"
                          "backward,a,0.001,all_reduce,8192,\n"
                          "optimizer,a,0.001,,,\n";
  const config::Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  const Run run =
      simulate(resolve(catalogue, no_file,
                       {{"platform", "dgx2"}, {"gpus", "2"}, {"batch_per_gpu", "1"}, {"trace", trace}}),
               {.fidelity = Fidelity::closed});
  const ChakraGraph graph = graph_again(chakra_et(run, Rank{0}));
  REQUIRE(graph.nodes.size() == 7);
  CHECK(graph.nodes[1].type == chakra::NodeType::collective);
  CHECK(graph.nodes[1].comm_size == 2048);  // a rank's part
  CHECK(trace_of(graph, 2).trace.ops[0].communications.front().size.si() == 4096);
  CHECK(trace_of(graph, 2).warnings.empty());
  CHECK(trace_of(graph).trace.ops[0].communications.front().size.si() == 2048);
  CHECK(trace_of(graph).warnings.size() == 1);
  CHECK(graph.nodes[2].data_parents == std::vector<std::uint64_t>{1});     // b runs beside it
  CHECK(graph.nodes[3].data_parents == std::vector<std::uint64_t>{3, 2});  // c waits
  CHECK(graph.nodes[6].data_parents.size() == 3);  // the optimizer: c, and both collectives
  CHECK(kineto_json(run, Rank{0}, 2).find("_allgather_base") != std::string::npos);
}

TEST_CASE("gathers and scatters come back from an execution trace") {
  const TemporaryFolder folder;
  const std::string trace = (folder.path / "step.csv").string();
  std::ofstream(trace) << "phase,layer,duration_s,communication,communication_bytes,waits\n"
                          "forward,a,0.001,gather,4096,1\n"
                          "backward,a,0.001,scatter,8192,\n";
  const config::Catalogue catalogue{{TRAINYARD_SOURCE_DIR}};
  const Run run =
      simulate(resolve(catalogue, no_file,
                       {{"platform", "dgx2"}, {"gpus", "2"}, {"batch_per_gpu", "1"}, {"trace", trace}}),
               {.fidelity = Fidelity::closed});
  const ChakraImport back = trace_of(graph_again(chakra_et(run, Rank{0})), 2);
  CHECK(back.warnings.empty());
  CHECK(back.left_out.empty());
  const std::vector<Op>& ops = back.trace.ops;
  REQUIRE(ops.size() == 2);
  CHECK(ops[0].communications.front().operation == Operation::gather);
  CHECK(ops[0].communications.front().size.si() == 4096);
  CHECK(ops[1].communications.front().operation == Operation::scatter);
  CHECK(ops[1].communications.front().size.si() == 8192);
}
