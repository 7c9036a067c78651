// A model written as a list of layers runs as the family's.

#include "run/simulate.hpp"
#include "shipped_experiment.hpp"
#include "temporary_folder.hpp"
#include "workload/listed_resnet50.hpp"

#include <doctest/doctest.h>
#include <fstream>

using namespace trainyard;

TEST_CASE("ResNet-50 as a list of layers takes the family's step time, memory and epoch on 16 GPUs") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path / "listed.yaml";
  std::ofstream(file) << testing::listed_resnet50();
  const auto run = [](const Overrides& overrides) {
    // the fitted software has factors for published models, by name
    Overrides all{{"software", "ideal"}};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return simulate(testing::shipped_experiment("resnet50_dgx2", all), {.fidelity = Fidelity::closed});
  };
  for (const char* precision : {"fp32", "amp"}) {
    INFO(precision);
    const Run listed = run({{"model", file.string()}, {"precision", precision}});
    const Run family = run({{"precision", precision}});
    CHECK(listed.pace.time == family.pace.time);
    CHECK(listed.pace.throughput == family.pace.throughput);
  }
}

TEST_CASE("a list with branches behind a divided layer is refused, not divided wrongly") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path / "branches.yaml";
  std::ofstream(file) << R"(name: branches
layers:
  - input: [64]
  - {name: wide, linear: 256}
  - {name: a, relu: {}}
  - {name: b, from: wide, gelu: {}}
  - concat: [a, b]
  - linear: 10
  - softmax_cross_entropy
)";
  const auto refused = [&](const std::string& match) {
    const Overrides overrides{{"model", file.string()}, {"parallelism.layers", "[{match: " + match + "}]"}};
    try {
      simulate(testing::shipped_experiment("resnet50_dgx2", overrides), {.fidelity = Fidelity::closed});
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused("wide").find("'a'") != std::string::npos);
  CHECK(refused("linear1").empty());
}
