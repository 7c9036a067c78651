// Every shipped experiment runs and says what its file promises.

#include "process.hpp"

#include <map>
#include <nlohmann/json.hpp>

using namespace trainyard;
using Json = nlohmann::json;

TEST_CASE("every shipped experiment runs, fits into memory and reports as many ranks as its machines hold") {
  const std::map<std::string, int> ranks{{"bert_base_p3dn", 32},
                                         {"bert_large_dgx_a100", 8},
                                         {"bert_large_dgx_a100_faults", 1024},
                                         {"gpt2_small_dgx2", 16},
                                         {"resnet50_ac922", 4},
                                         {"resnet50_ac922_x16", 64},
                                         {"resnet50_dgx1v", 8},
                                         {"resnet50_dgx2", 16},
                                         {"resnet50_dgx2_input", 16},
                                         {"resnet50_dlperf", 32},
                                         {"resnet50_p3_16xlarge_x2", 16},
                                         {"resnet50_p3_2xlarge", 1},
                                         {"resnet50_p3_8xlarge", 4},
                                         {"resnet50_p3_8xlarge_dataparallel", 4},
                                         {"resnet50_p3_16xlarge_x2_top_k", 16},
                                         {"inception_v3_dgx1_p100", 8},
                                         {"alexnet_p2_16xlarge", 16},
                                         {"inception_v3_dgx1_p100_server", 8},
                                         {"resnet50_p2_16xlarge_async", 16}};
  const std::filesystem::path folder =
      std::filesystem::path(TRAINYARD_SOURCE_DIR) / "workloads" / "experiments";
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    REQUIRE(ranks.contains(name));
    ++found;
    const Ended ended = run_program({"run", name, "--json"});
    CAPTURE(ended.err);
    REQUIRE(ended.code == 0);
    const Json json = Json::parse(ended.out);
    CHECK(json["ranks"] == ranks.at(name));
    if (json["updates_per_s"].is_null()) CHECK(json["step_time_s"] >= json["lower_bound_s"]);
    CHECK(json["scaling_efficiency"] > 0.5);
    CHECK(json["scaling_efficiency"] <= 1);
    CHECK(json["memory_peak_bytes"] < json["memory_capacity_bytes"]);
    CHECK(content(entry.path()).find("\n# ") != std::string::npos);  // the question it answers
  }
  CHECK(found == ranks.size());
}
