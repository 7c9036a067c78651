// Machines and algorithms of runs as configurations of ASTRA-sim.

#include "exports/astra_configs.hpp"

#include "errors_of.hpp"
#include "imports/astra_system.hpp"
#include "interchange/astra_platform.hpp"
#include "interchange/platform_text.hpp"
#include "platform/load.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using testing::shipped_experiment;

namespace {

AstraNetwork network_again(const AstraNetwork& network) {
  return read_astra_network(plain_input("network.yml", astra_network_text(network, {})));
}

/// The network of the platform that a configuration becomes.
AstraNetwork by_way_of_a_platform(const std::string& text) {
  const AstraNetwork network = read_astra_network(plain_input("network.yml", text));
  PlatformAnswers answers;
  answers.name = "mine";
  answers.gpu = "a100_sxm4_40gb";
  const PlatformDraft draft = make_platform(network, answers);
  const Platform platform = load_platform(config::parse("mine.yaml", platform_text(draft)));
  return network_again(astra_network_of(make_cluster(platform, nodes_of(network))));
}

}  // namespace

TEST_CASE("a configuration keeps its counts, rates and latencies by way of a platform") {
  const std::string texts[] = {
      "topology: [ Switch ]\nnpus_count: [ 16 ]\nbandwidth: [ 122.4 ]\nlatency: [ 936.25 ]\n",
      "topology: [ Ring ]\nnpus_count: [ 5 ]\nbandwidth: [ 80 ]\nlatency: [ 50 ]\n",
      "topology: [ FullyConnected ]\nnpus_count: [ 8 ]\nbandwidth: [ 33.3 ]\nlatency: [ 700 ]\n",
      "topology: [ Switch, Switch ]\nnpus_count: [ 8, 4 ]\nbandwidth: [ 400, 50 ]\nlatency: [ 900, 1000 ]\n",
      "topology: [ Ring, Ring ]\nnpus_count: [ 4, 8 ]\nbandwidth: [ 80, 80 ]\nlatency: [ 1000, 1000 ]\n",
      "topology: [ Switch, Ring ]\nnpus_count: [ 8, 2 ]\nbandwidth: [ 400, 50 ]\nlatency: [ 936.25, 1000 ]\n",
      "topology: [ Switch, Ring, Ring ]\nnpus_count: [ 8, 3, 4 ]\nbandwidth: [ 300, 25, 25 ]\nlatency: [ 9, "
      "7, 7 ]\n"};
  for (const std::string& text : texts) {
    CAPTURE(text);
    const AstraNetwork network = read_astra_network(plain_input("network.yml", text));
    const AstraNetwork again = by_way_of_a_platform(text);
    REQUIRE(again.dimensions.size() == network.dimensions.size());
    for (std::size_t i = 0; i < network.dimensions.size(); ++i) {
      const AstraDimension& one = network.dimensions[i];
      const AstraDimension& other = again.dimensions[i];
      CHECK(other.topology == one.topology);
      CHECK(other.count == one.count);
      CHECK(other.bandwidth / one.bandwidth == doctest::Approx(1).epsilon(1e-11));
      CHECK(other.latency / one.latency == doctest::Approx(1).epsilon(1e-11));
    }
  }
}

TEST_CASE("a shipped machine has a network of ASTRA-sim if its links are equal") {
  const AstraNetwork network =
      astra_network_of(*shipped_experiment("resnet50_dgx2", {{"gpus", "16"}}).cluster);
  REQUIRE(network.dimensions.size() == 1);
  CHECK(network.dimensions[0].topology == AstraTopology::switched);
  CHECK(network.dimensions[0].count == 16);
  CHECK(network.dimensions[0].bandwidth.si() == doctest::Approx(6 * 20.4e9));
  const auto refused = [](const Overrides& overrides) {
    const auto errors =
        errors_of([&] { astra_network_of(*shipped_experiment("resnet50_dgx2", overrides).cluster); });
    return errors.empty() ? std::string() : errors.front().message;
  };
  CHECK(refused({{"platform", "dgx1v"}, {"gpus", "8"}}).find("pairs of GPUs") != std::string::npos);
  CHECK(refused({{"platform", "piz_daint"}, {"nodes", "8"}, {"gpus", "8"}}).find("dragonfly") !=
        std::string::npos);
}

TEST_CASE("four cards for eight GPUs halve the rate of a GPU between nodes") {
  const AstraNetwork all = astra_network_of(
      *shipped_experiment("resnet50_dgx2", {{"platform", "dgx_a100"}, {"nodes", "2"}}).cluster);
  const AstraNetwork half = astra_network_of(
      *shipped_experiment("resnet50_dgx2",
                          {{"platform", "dgx_a100"}, {"nodes", "2"}, {"platform.node.nics", "4"}})
           .cluster);
  REQUIRE(all.dimensions.size() == 2);
  CHECK(all.dimensions[1].topology == AstraTopology::switched);
  CHECK(all.dimensions[1].count == 2);
  CHECK(half.dimensions[1].bandwidth.si() == doctest::Approx(all.dimensions[1].bandwidth.si() / 2));
}

TEST_CASE("the system configuration of a run has its algorithm, which reads back") {
  const auto algorithm = [](const std::string& name, const std::string& nodes, int dimensions) {
    const Run run =
        simulate(shipped_experiment("resnet50_dgx2",
                                    {{"platform", "dgx_a100"}, {"nodes", nodes}, {"sync.algorithm", name}}),
                 {.fidelity = Fidelity::closed});
    const AstraSystemText written = astra_system_text(run, dimensions);
    CHECK(written.comments.empty() == (name != "tree"));
    return settings_of(read_astra_system(plain_input("system.json", written.text))).algorithm;
  };
  CHECK(algorithm("ring", "1", 1) == Algorithm::ring);
  CHECK(algorithm("ring", "2", 2) == Algorithm::ring);
  CHECK(algorithm("halving_doubling", "2", 2) == Algorithm::halving_doubling);
  CHECK(algorithm("hierarchical", "2", 2) == Algorithm::hierarchical);
  CHECK(algorithm("tree", "2", 2) == Algorithm::ring);
}
