#include "calibration/fit_collectives.hpp"

#include "calibration/fit_constants.hpp"
#include "published/curve_model.hpp"
#include "published/published_files.hpp"
#include "published/published_text.hpp"
#include "shipped_catalogue.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace trainyard;

namespace {

/// Rows of curves on dgx2 and on a cube mesh, as the given constants have them.
std::string synthetic_rows(const Protocols& constants) {
  std::string lines;
  const MachineRules rules = read_machine_rules(testing::shipped_catalogue(), "published");
  const auto add = [&](const std::map<std::string, std::string>& cells) {
    std::string empty;
    for (double size = 1024; size < 1e9; size *= 8) {
      auto with_size = cells;
      with_size["model"] = fmt::format("allreduce {:.0f} B", size);
      with_size["split"] = "calibrate";
      empty += published_line(with_size);
    }
    const auto rows = rows_of(empty);
    const CollectiveCurves curves = collective_curves(data_of(rows, rules));
    CurveModel model(testing::shipped_catalogue(), curves.curves.front());
    const std::vector<Seconds> times = model.times(constants, 1);
    for (std::size_t i = 0; i < times.size(); ++i) {
      auto with_time = cells;
      with_time["model"] = fmt::format("allreduce {:.0f} B", curves.curves.front().points[i].size().si());
      with_time["split"] = "calibrate";
      with_time["value"] = fmt::format("{:.17g}", times[i].si());
      with_time["unit"] = "s";
      lines += published_line(with_time);
    }
  };
  for (const std::string count : {"2", "4", "8"}) add({{"gpus_per_node", count}, {"gpus_total", count}});
  add({{"gpu", "V100-SXM3-32GB"},
       {"interconnect_intra", "NVSwitch"},
       {"gpus_per_node", "16"},
       {"gpus_total", "16"}});
  return lines;
}

}  // namespace

TEST_CASE("constants that made curves are found again from the curves") {
  Protocols truth = assumed_protocols();
  truth.base.simple.value = Seconds{21e-6};
  truth.base.ll.value = Seconds{5e-6};
  truth.paths.nvlink2.step.simple.value = Seconds{2.5e-6};
  truth.paths.nvlink2.step.ll.value = Seconds{1.2e-6};
  truth.paths.nvlink2.step.ll128.value = Seconds{2.2e-6};
  truth.paths.nvlink2.efficiency.ll.value = 0.2;
  truth.paths.nvlink2.efficiency.ll128.value = 0.7;
  const MachineRules rules = read_machine_rules(testing::shipped_catalogue(), "published");
  const auto rows = rows_of(synthetic_rows(truth));
  const CollectiveFit fit =
      fit_collectives(testing::shipped_catalogue(), collective_curves(data_of(rows, rules)), false);
  const MediumOverheads& found = fit.constants.paths.nvlink2;
  CHECK(fit.constants.base.simple.value.si() == doctest::Approx(21e-6).epsilon(0.02));
  CHECK(found.step.simple.value.si() == doctest::Approx(2.5e-6).epsilon(0.02));
  CHECK(found.efficiency.ll128.value == doctest::Approx(0.7).epsilon(0.02));
  CHECK(found.efficiency.ll.value == doctest::Approx(0.2).epsilon(0.02));
  for (const FittedCurve& curve : fit.curves) {
    CHECK(curve.large.value() < 0.01);
    CHECK(curve.small.value() < 0.01);
  }
  for (const FittedRate& rate : fit.rates)
    CHECK(rate.fitted.si() == doctest::Approx(rate.in_file.si()).epsilon(0.01));
}

TEST_CASE("what no curve tells stays assumed, and rows of other splits tell nothing") {
  const MachineRules rules = read_machine_rules(testing::shipped_catalogue(), "published");
  const auto rows = rows_of(synthetic_rows(assumed_protocols()) + published_line({{"value", "1"}}));
  const CollectiveFit fit =
      fit_collectives(testing::shipped_catalogue(), collective_curves(data_of(rows, rules)), false);
  CHECK(fit.constants.paths.nvlink2.step.simple.provenance == Provenance::fitted);
  CHECK(fit.constants.paths.phb.step.simple.provenance == Provenance::assumed);
  CHECK(fit.constants.networks.tcp.step.ll.provenance == Provenance::assumed);
  REQUIRE(fit.excluded.size() == 1);
  CHECK(fit.excluded.begin()->second == 1);
}

TEST_CASE("a fit without a row to fit to is an error") {
  const MachineRules rules = read_machine_rules(testing::shipped_catalogue(), "published");
  const auto rows = rows_of(published_line());
  const CollectiveCurves curves = collective_curves(data_of(rows, rules));
  CHECK_THROWS_AS(fit_collectives(testing::shipped_catalogue(), curves, false), InputError);
}
