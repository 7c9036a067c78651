// System configurations of ASTRA-sim.

#include "imports/astra_system.hpp"

#include "errors_of.hpp"

#include <doctest/doctest.h>
#include <string>
#include <string_view>

using namespace trainyard;

namespace {

AstraSystem system_in_text(const std::string& text) {
  return read_astra_system(plain_input("system.json", text));
}

/// Settings with an algorithm in each dimension.
AstraSettings settings_with(const std::string& algorithms, const std::string& optimization = "localBWAware") {
  return settings_of(
      system_in_text("{\n\t\"scheduling-policy\": \"LIFO\",\n\"all-reduce-implementation\": [" + algorithms +
                     "],\n\"collective-optimization\": \"" + optimization + "\", \"peak-perf\": 700}"));
}

}  // namespace

TEST_CASE("the algorithm of a system configuration is ours where there is the same") {
  CHECK(settings_with("\"ring\"").algorithm == Algorithm::ring);
  CHECK(settings_with("\"direct\"").algorithm == Algorithm::direct);
  CHECK(settings_with("\"halvingDoubling\"").algorithm == Algorithm::halving_doubling);
  CHECK(settings_with("\"doubleBinaryTree\"").algorithm == Algorithm::tree);
  CHECK(settings_with("\"oneRing\", \"oneRing\"", "baseline").algorithm == Algorithm::ring);
  CHECK(settings_with("\"ring\", \"ring\"").algorithm == Algorithm::hierarchical);
  CHECK(settings_with("\"ring\", \"doubleBinaryTree\"").algorithm == Algorithm::hierarchical_tree);
  for (const char* other : {"\"halvingDoubling\", \"ring\"", "\"direct\", \"direct\"", "\"direct4\""}) {
    CAPTURE(other);
    CHECK(settings_with(other).algorithm == Algorithm::automatic);
    CHECK(settings_with(other).why.find("not used") != std::string::npos);
  }
  CHECK(settings_with("\"ring\", \"ring\"", "baseline").algorithm == Algorithm::automatic);
}

TEST_CASE("every other key of a system configuration is named with its value") {
  const AstraSettings settings = settings_with("\"ring\", \"ring\"");
  CHECK(settings.not_used == std::vector<std::string>{"scheduling-policy: LIFO", "peak-perf: 700"});
  CHECK(settings.why == "all-reduce-implementation: [ring, ring], collective-optimization: localBWAware");
  const AstraSettings auto_settings = settings_with("\"direct\", \"ring\"");
  CHECK(auto_settings.not_used.size() == 3);  // the optimization, too
}

TEST_CASE("the lines of ASTRA-sim 1.0 are read") {
  const AstraSystem system = system_in_text(
      "scheduling-policy: FIFO\nendpoint-delay: 10\nall-reduce-implementation: ring_ring\n"
      "all-to-all-implementation: direct_direct\ncollective-optimization: localBWAware\n");
  CHECK(system.all_reduce == std::vector<std::string>{"ring", "ring"});
  const AstraSettings settings = settings_of(system);
  CHECK(settings.algorithm == Algorithm::hierarchical);
  CHECK(settings.used.size() == 1);
  CHECK(settings.not_used ==
        std::vector<std::string>{"endpoint-delay: 10", "all-to-all-implementation: direct_direct"});
}

TEST_CASE("an unknown algorithm of a system configuration is an error at its line") {
  const auto errors = errors_of([] {
    system_in_text("{\"scheduling-policy\": \"LIFO\",\n\"all-reduce-implementation\": [\"rign\"]}");
  });
  REQUIRE(errors.size() == 1);
  CHECK(errors.front().line == 2);
  CHECK(errors.front().message.find("'rign'") != std::string::npos);
  CHECK(errors_of([] { system_in_text("{\"scheduling-policy\": \"LIFO\"}"); }).size() == 1);
}
