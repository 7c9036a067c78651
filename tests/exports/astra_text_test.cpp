// Workloads of ASTRA-sim, read back.

#include "exports/astra_text.hpp"

#include "errors_of.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <numeric>
#include <string>
#include <vector>

using namespace trainyard;
using testing::shipped_experiment;

namespace {

Run simulated_for_astra(const std::string& name, const Overrides& overrides) {
  return simulate(shipped_experiment(name, overrides), {.fidelity = Fidelity::closed});
}

}  // namespace

TEST_CASE("a workload has the time of each pass, and every byte behind the layer that completes it") {
  for (const std::string name : {"resnet50_dgx2", "bert_base_p3dn"}) {
    const Run run = simulated_for_astra(name, {{"gpus", "2"}});
    const AstraWorkloadText written = astra_workload_text(run, WorkloadTime::ns);
    const AstraWorkload back = read_astra_workload(plain_input("workload.txt", written.text));
    CHECK(back.parallelism == "DATA");
    const Step& step = step_of(run);
    std::array<double, 3> of_phase{};
    for (const OpRow& row : step.classes.front().ops)
      of_phase[static_cast<std::size_t>(row.phase)] += row.duration.si() * 1e9;
    std::array<double, 3> of_file{};
    double bytes = 0;
    for (const WorkloadLayer& layer : back.layers) {
      of_file[0] += static_cast<double>(layer.forward.time);
      of_file[1] += static_cast<double>(layer.input_gradient.time + layer.weight_gradient.time);
      of_file[2] += static_cast<double>(layer.update);
      bytes += static_cast<double>(layer.weight_gradient.size);
    }
    CHECK(std::abs(of_file[0] - of_phase[0]) <= 1);
    CHECK(std::abs(of_file[1] - of_phase[1]) <= 2);
    CHECK(std::abs(of_file[2] - of_phase[2]) <= 1);
    std::vector<double> reduced;
    double broadcast = 0;
    for (const CollectiveRow& row : step.collectives) {
      if (row.operation == Operation::broadcast)
        broadcast += row.size.si();
      else
        reduced.push_back(row.size.si());
    }
    CHECK(bytes == std::accumulate(reduced.begin(), reduced.end(), 0.0));
    CHECK(written.broadcasts == (name == "resnet50_dgx2" ? 2 : 0));  // buffers of batch norms
    CHECK(written.broadcast_bytes == Bytes(broadcast));
    // Buckets are full in the order in which backward reaches their layers.
    std::size_t collective = 0;
    for (auto layer = back.layers.rbegin(); layer != back.layers.rend(); ++layer) {
      if (!layer->weight_gradient.operation) continue;
      CHECK(layer->weight_gradient.size == static_cast<std::int64_t>(reduced.at(collective++)));
    }
    CHECK(collective == reduced.size());
  }
}

TEST_CASE("a step that a workload has no place for is refused") {
  const auto refused = [](const Overrides& overrides, std::string_view part) {
    const auto errors = errors_of([&] {
      astra_workload_text(simulated_for_astra("resnet50_p3_8xlarge", overrides), WorkloadTime::us);
    });
    REQUIRE(errors.size() == 1);
    CAPTURE(errors.front().message);
    CHECK(errors.front().message.find(part) != std::string::npos);
  };
  refused({{"accumulation", "2"}}, "several");
  refused({{"sync.kind", "dataparallel_gpu0"}}, "no place for");
}
