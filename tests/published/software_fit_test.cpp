// The fit of software: it finds factors that made the data, keeps factors with few runs near 1, and predicts
// runs that are left out as a fit without them would.

#include "published/software_fit.hpp"

#include "random/functions.hpp"
#include "random/generator.hpp"
#include "strategy/software.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <vector>

using namespace trainyard;

namespace {

/// Runs of frameworks on GPUs whose convolutions take 1.5 times as long as their kernels, other kernels twice
/// as long, and in framework "slow" everything 1.2 times as long; 20 us for every op. The share of the
/// convolutions differs from run to run.
struct MadeRuns {
  std::vector<PublishedRow> rows;
  std::vector<KernelTimes> runs;
};

MadeRuns made_runs(int count, double noise = 0) {
  MadeRuns made;
  made.rows.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    random::Generator generator(3, {static_cast<std::uint64_t>(i)});
    PublishedRow& row = made.rows[static_cast<std::size_t>(i)];
    row.file = "made.csv";
    row.line = i + 2;
    KernelTimes run{.row = &row, .rest = 0.001};
    run.series = fmt::format("series {}", i / 2);
    const bool is_slow = i % 2 == 1;
    run.of.use = {.framework = is_slow ? "slow" : "fast",
                  .stack = is_slow ? "slow_stack" : "fast_stack",
                  .generation = "volta",
                  .gpu = "v100",
                  .model = fmt::format("model{}", i % 5),
                  .precision = "fp32"};
    const double convolutions = 0.01 + 0.1 * generator.uniform();
    const double others = 0.01 + 0.1 * generator.uniform();
    run.kernels[OpGroup::convolution] = convolutions;
    run.kernels[OpGroup::other] = others;
    run.ops = std::floor(1000 * generator.uniform());
    run.measured = (1.5 * convolutions + 2 * others) * (is_slow ? 1.2 : 1) + run.ops * 20e-6 + run.rest;
    run.measured *= std::exp(noise * (2 * generator.uniform() - 1));
    made.runs.push_back(run);
  }
  return made;
}

SoftwareUse unknown_job(const std::string& framework) {
  return {.framework = framework,
          .stack = "other",
          .generation = "ampere",
          .gpu = "a100",
          .model = "new",
          .precision = "fp32"};
}

}  // namespace

TEST_CASE("factors that made the runs are found, up to how they are shared between levels") {
  const MadeRuns made = made_runs(400);
  const SoftwareFit fit(made.runs);
  const Software software = fit.software();
  for (const KernelTimes& run : made.runs) {
    const OpSlowdown slowdown = slowdown_of(software, run.of.use);
    const double framework = run.of.use.framework == "slow" ? 1.2 : 1;
    CHECK(slowdown.factor[OpGroup::convolution] == doctest::Approx(1.5 * framework).epsilon(0.02));
    CHECK(slowdown.factor[OpGroup::other] == doctest::Approx(2 * framework).epsilon(0.02));
    CHECK(slowdown.launch.si() == doctest::Approx(20e-6).epsilon(0.05));
    CHECK(step_time(run, software) == doctest::Approx(run.measured).epsilon(0.005));
  }
}

TEST_CASE("one run moves the factors of its own kind and hardly those of other frameworks") {
  const MadeRuns made = made_runs(1);
  const Software software = SoftwareFit(made.runs).software();
  const double own = slowdown_of(software, made.runs[0].of.use).factor[OpGroup::other];
  const double other = slowdown_of(software, unknown_job("another")).factor[OpGroup::other];
  CHECK(own > 1.2);
  CHECK(other > 1);
  CHECK(other < own);
  // nobody ran a matrix product
  CHECK(slowdown_of(software, made.runs[0].of.use).factor[OpGroup::matrix_product] > 1);
  CHECK(slowdown_of(software, made.runs[0].of.use).factor[OpGroup::matrix_product] < own);
}

TEST_CASE("what was measured of a property does not matter where the property is left out") {
  const MadeRuns made = made_runs(60, 0.1);
  const SoftwareFit fit(made.runs);
  for (const GroupLeftOut left_out : {GroupLeftOut::series, GroupLeftOut::stack, GroupLeftOut::model}) {
    const auto property = [&](const KernelTimes& run) {
      return property_of(left_out, run.of, run.row->source, run.series);
    };
    std::vector<KernelTimes> changed = made.runs;
    for (KernelTimes& run : changed) {
      if (property(run) == property(made.runs.front())) run.measured *= 3;
    }
    const SoftwareFit other(changed);
    const KernelTimes& first = made.runs.front();
    const double without = step_time(first, fit.without(left_out, property(first)));
    CHECK(step_time(first, other.without(left_out, property(first))) == without);
    CHECK(step_time(first, other.software()) > 1.01 * step_time(first, fit.software()));
    CHECK(without != step_time(first, fit.software()));
  }
  const KernelTimes& any = made.runs.front();
  CHECK(step_time(any, fit.without(GroupLeftOut::stack, "none has it")) == step_time(any, fit.software()));
}

TEST_CASE("of many factors those stay that the runs need") {
  MadeRuns made = made_runs(480, 0.02);
  for (std::size_t i = 0; i < made.runs.size(); ++i) {
    made.runs[i].of.use.model = fmt::format("model{}", i % 120);
    if (i % 120 == 7) made.runs[i].measured *= 1.4;
  }
  const std::vector<SoftwareFactor> table = SoftwareFit(made.runs).software().table;
  CHECK(table.size() == 150);
  const auto is_seventh = [](const SoftwareFactor& line) { return line.use.model == "model7"; };
  const auto seventh = std::ranges::find_if(table, is_seventh);
  REQUIRE(seventh != table.end());
  CHECK(seventh->factor > 1.05);
}

TEST_CASE("errors of runs left out are those of runs that the fit has not seen") {
  const MadeRuns made = made_runs(60, 0.1);
  const SoftwareFit fit(made.runs);
  const LeftOutError by_series = fit.left_out_error(GroupLeftOut::series);
  const LeftOutError all = fit.left_out_error(GroupLeftOut::publication);  // they are of one
  CHECK(by_series.left_out == "series");
  CHECK(by_series.runs == 60);
  CHECK(fit.left_out_error(GroupLeftOut::stack).mape > by_series.mape);  // whose launches cost as much
  CHECK(by_series.mape > 0.02);                                          // the noise
  CHECK(by_series.mape < 0.10);
  CHECK(all.mape > 0.3);  // nothing is known without all runs
  CHECK(all.bias > 0.3);  // kernels alone are too fast
}

TEST_CASE("a table names the rows of every factor") {
  const MadeRuns made = made_runs(6);
  for (const SoftwareFactor& line : SoftwareFit(made.runs).software().table) {
    if (line.use.framework == "slow" && line.ops == FactorOps::launch) {
      CHECK(line.runs == 3);
      CHECK(line.rows == "made.csv 3 5 7");
    }
    if (line.use == SoftwareUse{.precision = "fp32"} && line.ops == FactorOps::matrix_product)
      CHECK(line.runs == 0);
    CHECK(line.factor > 0);
  }
}

TEST_CASE("no run is an error") { CHECK_THROWS_AS(SoftwareFit({}), InputError); }
