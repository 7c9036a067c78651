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
    return simulate(resolve({{TRAINYARD_SOURCE_DIR}}, "resnet50_dgx2", all), {.fidelity = Fidelity::closed});
  };
  for (const char* precision : {"fp32", "amp"}) {
    INFO(precision);
    const Run listed = run({{"model", file.string()}, {"precision", precision}});
    const Run family = run({{"precision", precision}});
    CHECK(listed.pace.time == family.pace.time);
    CHECK(listed.pace.throughput == family.pace.throughput);
  }
}
