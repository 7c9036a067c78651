#include "report/validation_table.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace trainyard;

namespace {

/// Two curves of three sizes each, 10 and 40 % off.
struct SampleValidation {
  PublishedRow row;
  MachineRule machine{.when = {}, .platform = "dgx2", .set = {}, .kin = {}, .note = "a <note>"};
  CollectiveCurve one, other;
  Validation validation;

  SampleValidation() {
    row.file = "rows.csv";
    row.metric = "allreduce_time";
    one = curve("8 V100, all_reduce: one & only", "calibrate");
    other = curve("16 V100, all_reduce: other", "validate");
    validation.curves = {scored(one, 0.1), scored(other, 0.4)};
    validation.excluded = {{"another library than NCCL", 3}};
    validation.scored = 6;
  }

  CollectiveCurve curve(const std::string& name, const std::string& split) {
    CollectiveCurve made;
    made.name = name;
    made.machine = &machine;
    made.nccl = NcclVersion::v2_12;
    made.gpus = 8;
    made.split = split;
    for (const double size : {1024.0, 65536.0, 16777216.0}) {
      CurvePoint point;
      point.row = &row;
      point.sizes = {Bytes{size}};
      point.measured = size / 1e10 + 1e-5;
      made.points.push_back(point);
    }
    return made;
  }

  static ScoredCurve scored(const CollectiveCurve& curve, double error) {
    ScoredCurve made;
    made.curve = &curve;
    made.large = error;
    made.small = error;
    for (const CurvePoint& point : curve.points)
      made.points.push_back({&point, point.measured * (1 + error), error, "ring", "LL"});
    return made;
  }
};

}  // namespace

TEST_CASE("the table of a validation has sizes, curves, families, outliers and what was left out") {
  const SampleValidation sample;
  const std::string table = validation_table(sample.validation, false);
  for (const std::string part :
       {"16777216", "+10.0  ring/LL", "one & only", "nvlink", "unseen", "curves off by more than 30 %",
        "3  another library than NCCL", "6 scored, 3 left out"}) {
    CAPTURE(part);
    CHECK(table.find(part) != std::string::npos);
  }
  const std::string summary = validation_table(sample.validation, true);
  CHECK(summary.size() < table.size());
  CHECK(summary.find("16777216") == std::string::npos);
}

TEST_CASE("JSON has errors as ratios, every row and the reasons") {
  const SampleValidation sample;
  const auto json = validation_json(sample.validation);
  CHECK(json["rows"].size() == 6);
  CHECK(json["rows"][0]["error"] == 0.1);
  CHECK(json["rows"][3]["curve"] == 1);
  CHECK(json["overall"]["rows"] == 6);
  CHECK(json["overall"]["mape"].get<double>() == doctest::Approx(0.25));
  CHECK(json["overall"]["worst"].get<double>() == doctest::Approx(0.4));
  CHECK(json["overall"]["unseen"]["curves"] == 1);
  CHECK(json["overall"]["coverage"].get<double>() == doctest::Approx(6.0 / 9));
  CHECK(json["families"]["pcie"]["mape"].is_null());
  CHECK(json["excluded"]["another library than NCCL"] == 3);
}

TEST_CASE("a picture draws every curve and escapes what it writes") {
  const SampleValidation sample;
  const std::string svg = validation_plot(sample.validation);
  CHECK(svg.starts_with("<svg"));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(svg.find("8 V100, all_reduce") != std::string::npos);
  std::size_t dots = 0;
  for (std::size_t at = svg.find("<circle cx"); at != std::string::npos; at = svg.find("<circle cx", at + 1))
    ++dots;
  CHECK(dots == 6);
  CHECK(svg.find("nan") == std::string::npos);
}

TEST_CASE("the table of a fit says where a platform file differs") {
  CollectiveFit fit;
  fit.rates = {{"dgx2", PathType::nvlink2, Bandwidth{20e9}, Bandwidth{20.1e9}, 2},
               {"dgx1v", PathType::nvlink2, Bandwidth{25e9}, Bandwidth{22.5e9}, 9}};
  fit.curves = {{"a curve", PathType::nvlink2, 0.03, std::nullopt, 0.08, std::nullopt}};
  const std::string table = fit_table(fit);
  const std::size_t first = table.find("says otherwise");
  REQUIRE(first != std::string::npos);
  CHECK(table.find("says otherwise", first + 1) == std::string::npos);
  CHECK(table.find("dgx1v") < first);
  CHECK(table.find("3.0 fitted, 8.0 left out") != std::string::npos);
}
