// Steps in which NCCL's choice of an algorithm or a protocol costs time, and steps in which it does not.

#include "explain/library_choice.hpp"

#include "run/simulate.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

using namespace trainyard;

namespace {

constexpr const char* model = R"(
name: small
title: Small decoder
family: decoder
decoder: {layers: 12, hidden: 1024, heads: 16, vocabulary: 1000, sequence_length: 1024, attention: flash, gated: true, norm: rms_norm, bias: false, position: rope, tied: true, dropout: false}
source: [made for this test]
)";

struct Files {
  TemporaryFolder folder;
  Files() { std::ofstream(folder.path / "small.yaml") << model; }
  [[nodiscard]] Run run(const Overrides& more) const {
    Overrides keys{{"platform", "gcp_a3_megagpu"},
                   {"model", (folder.path / "small.yaml").string()},
                   {"nodes", "2"},
                   {"batch_per_gpu", "1"},
                   {"accumulation", "3"},
                   {"optimizer", "adam"},
                   {"fidelity", "closed"}};
    keys.insert(keys.end(), more.begin(), more.end());
    return simulate(testing::shipped_experiment(no_file, keys),
                    {.timeline = false, .rows = false, .learn = false});
  }
};

/// Groups of two ranks on two nodes, as the worst that a user can ask for.
Overrides tensor_across_nodes(const std::string& nic) {
  return {{"stack", "torchtitan"},
          {"precision", "fp16"},
          {"platform.fabric.nic", nic},
          {"parallelism.tensor", "2"},
          {"parallelism.context", "8"},
          {"parallelism.context_exchange", "a2a"},
          {"parallelism.shard", "optimizer"},
          {"parallelism.recompute", "selective"},
          {"parallelism.order", "[pipeline, context, data, tensor]"}};
}

}  // namespace

TEST_CASE("with a faster NIC, NCCL's choice of a protocol makes a step longer, and is named") {
  const Files files;
  const Run slow = files.run(tensor_across_nodes("100 Gbps"));
  const Run fast = files.run(tensor_across_nodes("200 Gbps"));
  REQUIRE(fast.pace.time > 1.1 * slow.pace.time);
  CHECK_FALSE(costly_choice(slow));
  const std::optional<CostlyChoice> found = costly_choice(fast);
  REQUIRE(found);
  CHECK(found->operation == Operation::all_reduce);
  CHECK(found->chosen == NcclChoice{Algorithm::ring, Protocol::ll});
  CHECK(found->better == NcclChoice{Algorithm::ring, Protocol::ll128});
  CHECK(found->better_time < found->time);
  // The faster NIC is faster with the better choice.
  CHECK(fast.pace.time - found->gain < slow.pace.time);
  CHECK(found->remedy == ChoiceRemedy::no_key);  // no key sets a protocol
}

TEST_CASE("the key that makes NCCL take the faster algorithm is named, with the step that it gives") {
  const auto step_of_two_nodes = [](Overrides more) {
    more.insert(more.end(), {{"platform", "p3_16xlarge"},
                             {"model", "resnet50"},
                             {"nodes", "2"},
                             {"batch_per_gpu", "8"},
                             {"fidelity", "closed"}});
    return simulate(testing::shipped_experiment(no_file, more),
                    {.timeline = false, .rows = false, .learn = false});
  };
  const Run chosen_by_nccl = step_of_two_nodes({});
  const std::optional<CostlyChoice> found = costly_choice(chosen_by_nccl);
  REQUIRE(found);
  CHECK(found->chosen.algorithm == Algorithm::ring);
  CHECK(found->better.algorithm == Algorithm::tree);
  CHECK(found->remedy == ChoiceRemedy::found);
  REQUIRE(found->set == Overrides{{"sync.algorithm", "tree"}});
  const Run with_tree = step_of_two_nodes(found->set);
  CHECK(found->step_time_with_set.si() == doctest::Approx(with_tree.pace.time.si()).epsilon(1e-9));
  CHECK(with_tree.pace.time < (1 - least_gain_of_choice) * chosen_by_nccl.pace.time);
  CHECK_FALSE(costly_choice(with_tree));  // and NCCL then has no better one
}
