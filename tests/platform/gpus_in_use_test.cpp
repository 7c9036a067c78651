#include "platform/gpus_in_use.hpp"

#include "config/diagnostic.hpp"
#include "errors_of.hpp"
#include "platform/load.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>

using namespace trainyard;

namespace {

/// Four GPUs with NVLinks to each other and PCIe to a CPU; `count`: in the file, `set`: from outside it.
Platform four_gpus(int count, const std::string& set = {}) {
  config::Document document = config::parse("four.yaml", fmt::format(R"(
name: four
node:
  gpus: {{count: {}, profile: v100_sxm2_16gb}}
  devices: {{cpu: {{count: 1}}, nic: {{count: 1}}}}
  links:
    - {{between: ["gpu[0-3]", "gpu[0-3]"], kind: nvlink2, bandwidth: 25 GB/s, latency: 1 us}}
    - {{between: ["gpu[0-3]", cpu0], kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}}
    - {{between: [nic0, cpu0], kind: pcie3, bandwidth: 15.75 GB/s, latency: 0.2 us}}
fabric: {{kind: single_switch, nic: 100 Gbps, latency: 2 us}}
)",
                                                                     count));
  if (!set.empty()) config::set(document, gpu_count_key, set);
  return load_platform(document);
}

}  // namespace

TEST_CASE("a count from outside the file leaves out the last GPUs with their links") {
  for (const int count : {1, 2, 3, 4}) {
    const Platform platform = four_gpus(4, std::to_string(count));
    CHECK(platform.gpus.size() == static_cast<std::size_t>(count));
    CHECK(num_edges(platform.node) == static_cast<std::size_t>(count * (count - 1) / 2 + count + 1));
  }
}

TEST_CASE(
    "in the file itself a link to a GPU that is not there stays an error, and so is a count beyond the "
    "links") {
  const auto in_file = errors_of([] { four_gpus(3); });
  REQUIRE(!in_file.empty());
  CHECK(in_file.front().message == "gpu3 does not exist");
  const auto too_many = errors_of([] { four_gpus(4, "5"); });
  REQUIRE(!too_many.empty());
  CHECK(too_many.front().message == "the node's links name gpu0 to gpu3");
  CHECK(too_many.front().hint == "1 to 4; more need links");
}
