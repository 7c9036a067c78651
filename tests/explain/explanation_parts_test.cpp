// Single parts of an explanation: under settings that leave one out or bring one in, and what holds a
// connection below its links.

#include "explain/explain_step.hpp"
#include "run/child_processes.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

struct ExplainedCase {
  std::string experiment;
  Overrides overrides;
};

/// Of each case the parts in their order, then how the longest collective on the path is held, its rate and
/// the lower bound.
std::vector<std::vector<double>> explained(const std::vector<ExplainedCase>& cases) {
  const auto numbers = [&](int i) {
    const ExplainedCase& one = cases[static_cast<std::size_t>(i)];
    const auto [run, explanation] =
        simulate_and_explain(testing::shipped_experiment(one.experiment, one.overrides));
    std::vector<double> answer(config::Names<GapPart>::table.size());
    for (const GapTime& gap : explanation->gap) answer[static_cast<std::size_t>(gap.part)] = gap.time.si();
    const std::vector<CollectivePace>& paces = explanation->paces;
    const auto longest = std::ranges::max_element(paces, {}, &CollectivePace::transfer);
    answer.push_back(longest == paces.end() ? -1 : static_cast<double>(longest->held_by));
    answer.push_back(longest == paces.end() ? 0 : longest->edge.si());
    answer.push_back(step_of(run).lower_bound.si());
    return packed(answer);
  };
  std::vector<std::vector<double>> all;
  for (const std::string& bytes : in_children(static_cast<int>(cases.size()), 2, numbers))
    all.push_back(unpacked(bytes));
  return all;
}

double part(const std::vector<double>& numbers, GapPart part) {
  return numbers[static_cast<std::size_t>(part)];
}

ConnectionLimit holder(const std::vector<double>& numbers) {
  return static_cast<ConnectionLimit>(static_cast<int>(numbers[numbers.size() - 3]));
}

double rate(const std::vector<double>& numbers) { return numbers[numbers.size() - 2]; }

}  // namespace

TEST_CASE("each condition of the step has its own part") {
  const std::string boxes = "resnet50_p3_16xlarge_x2";
  const auto all = explained({
      {boxes, {}},
      {boxes, {{"stack.overlap_slows", "false"}}},
      {boxes, {{"background", "[{from: node0, to: node1, rate: 2 GB/s}]"}}},
      {boxes, {{"events", "[{at: 20 ms, link: node0.nic0->fabric, bandwidth: 1 GB/s}]"}}},
      // message by message, the broadcasts of buffers run one behind the other
      {boxes, {{"fidelity", "steps"}, {"sync.algorithm", "tree"}, {"stack.broadcast_buffers", "false"}}},
      {boxes, {{"gpus", "1"}}},
      {"resnet50_p3_8xlarge_dataparallel", {}},
  });
  const std::vector<double>& plain = all[0];
  CHECK(part(plain, GapPart::kernel_slowdown) > 0);
  CHECK(part(plain, GapPart::network) == 0);
  CHECK(part(plain, GapPart::framework) > 0);  // copies of buffers
  CHECK(part(all[1], GapPart::kernel_slowdown) == 0);
  for (const std::size_t i : {2UL, 3UL}) {
    CAPTURE(i);
    CHECK(part(all[i], GapPart::network) > 1e-3);
    // what comes before it does not know of others
    for (const GapPart same :
         {GapPart::kernels, GapPart::bound, GapPart::algorithm, GapPart::kernel_slowdown})
      CHECK(part(all[i], same) == doctest::Approx(part(plain, same)).epsilon(1e-9));
  }
  CHECK(part(all[4], GapPart::network) == 0);  // rounding alone
  for (const GapPart none :
       {GapPart::framework, GapPart::bound, GapPart::algorithm, GapPart::kernel_slowdown, GapPart::network})
    CHECK(part(all[5], none) == 0);
  CHECK(part(all[6], GapPart::framework) > 1e-4);  // one thread serves all its GPUs
  CHECK(part(all[5], GapPart::kernels) == doctest::Approx(part(plain, GapPart::kernels)).epsilon(1e-9));
}

TEST_CASE("a connection is held by its protocol, by the fabric or by host memory") {
  const auto all = explained({
      {"resnet50_p3_16xlarge_x2", {}},
      {"resnet50_p3_16xlarge_x2",
       {{"platform", "p3_2xlarge"}, {"platform.fabric.per_flow", "5 Gbps"}, {"batch_per_gpu", "64"}}},
      {"resnet50_dgx2", {{"platform", "workstation_3090"}, {"batch_per_gpu", "16"}}},
      {"resnet50_p3_8xlarge_dataparallel", {}},
  });
  CHECK(holder(all[0]) == ConnectionLimit::none);
  CHECK(holder(all[1]) == ConnectionLimit::fabric);
  CHECK(rate(all[1]) == doctest::Approx(625e6));
  CHECK(holder(all[2]) == ConnectionLimit::host_memory);
  CHECK(rate(all[2]) == doctest::Approx(7.9e9));
  CHECK(holder(all[3]) == ConnectionLimit::protocol);
}

TEST_CASE("waiting for the host that launches is a part of its own, and a faster host shortens it") {
  Overrides keys{{"platform", "dgx_h100"},  {"model", "bert_base"}, {"batch_per_gpu", "8"},
                 {"precision", "amp_bf16"}, {"stack", "pytorch"},   {"gpus", "1"}};
  Overrides faster = keys;
  faster.emplace_back("platform.node.host.launch", "0.5");
  Overrides eight = keys;
  eight.back().second = "8";
  const auto all = explained(
      {{std::string(no_file), keys}, {std::string(no_file), faster}, {std::string(no_file), eight}});
  CHECK(part(all[0], GapPart::host) > 0.01);
  CHECK(part(all[0], GapPart::framework) == 0);
  CHECK(part(all[1], GapPart::host) < 0.6 * part(all[0], GapPart::host));
  CHECK(part(all[1], GapPart::kernels) == doctest::Approx(part(all[0], GapPart::kernels)).epsilon(1e-9));
  CHECK(part(all[2], GapPart::host) == doctest::Approx(part(all[0], GapPart::host)).epsilon(1e-9));
}
