#include "experiment/job_accuracy.hpp"

#include "figure_of.hpp"
#include "run/simulate.hpp"
#include "run/whole_job.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

/// Two boxes of eight V100, 16 x 256 = 4,096 images a step.
Run run_of_epochs(Overrides overrides) {
  overrides.emplace_back("platform.node.power.overhead", "1 kW");
  return simulate(testing::shipped_experiment("resnet50_p3_16xlarge_x2", overrides),
                  {.fidelity = Fidelity::closed});
}

Known<FigureValue> accuracy_of(const Run& run) { return figures()[index_of("expected_accuracy")].of(run); }

}  // namespace

TEST_CASE("a job of as many epochs as the published runs has their accuracy") {
  const Run run = run_of_epochs({{"job.epochs", "90"}});
  CHECK(figure_of(run, "expected_accuracy") == doctest::Approx(0.7644).epsilon(1e-12));  // Goyal, 4,096
  CHECK(figure_of(run, "expected_accuracy_low") < 0.7644);
  CHECK(figure_of(run, "expected_accuracy_high") > 0.7644);
  CHECK(std::get<std::string>(figures()[index_of("accuracy_range")].of(run).value()) == "measured");
  CHECK(std::get<std::string>(figures()[index_of("accuracy_metric")].of(run).value()) == "top-1");
}

TEST_CASE("other lengths, optimizers, updates and models have no accuracy, and say why if they might") {
  for (const Overrides& others :
       {Overrides{{"job.epochs", "30"}}, Overrides{{"job.epochs", "90"}, {"optimizer", "adam"}}}) {
    const Run run = run_of_epochs(others);
    CHECK_FALSE(accuracy_of(run));
    CHECK_FALSE(accuracy_of(run).error().empty());
  }
  for (const Overrides& others :
       {Overrides{}, Overrides{{"job.epochs", "90"}, {"model", "vgg16"}, {"memory", "ignore"}},
        Overrides{{"job.target", "75.9 % top-1"}}}) {
    const Run run = run_of_epochs(others);
    CHECK_FALSE(accuracy_of(run));
    CHECK(accuracy_of(run).error().empty());
  }
}
