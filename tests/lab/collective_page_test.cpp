#include "document/writers.hpp"
#include "lab/pages.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <string>

using namespace trainyard;

namespace {

/// Two curves of three sizes each, 10 and 40 % off.
struct SampleValidation {
  PublishedRow row;
  MachineRule machine{.when = {}, .platform = "dgx2", .set = {}, .kin = {}, .note = "a <note>"};
  OutlierRule outlier{.when = {}, .reason = "a <reason>", .always_named = true};
  CollectiveValidation validation;

  SampleValidation() {
    row.file = "rows.csv";
    row.metric = "allreduce_time";
    const CollectiveCurve one = curve("8 V100, all_reduce: one & only", "calibrate");
    CollectiveCurve other = curve("16 V100, all_reduce: other", "validate");
    other.outlier = &outlier;
    validation.curves = {scored(one, 0.1), scored(other, 0.4)};
    validation.excluded = {{"another library than NCCL", 3}};
    validation.missed = {{CurveFamily::pcie, 2}};
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
    made.curve = curve;
    made.large = error;
    made.small = error;
    for (const CurvePoint& point : curve.points)
      made.points.push_back({point, point.measured * (1 + error), error, "ring", "LL"});
    return made;
  }
};

std::string text_of(const CollectiveValidation& validation, bool only_curves) {
  doc::Document page;
  add_collectives(page, validation, only_curves);
  return doc::text(page);
}

}  // namespace

TEST_CASE("the table of a validation has sizes, curves, families, outliers and what was left out") {
  const SampleValidation sample;
  const std::string table = text_of(sample.validation, false);
  for (const std::string part : {"16777216", "+10.0  ring/LL", "one & only", "nvlink", "unseen",
                                 "nvlink         fitted", "nvlink         unseen", ": a <reason>\n",
                                 "       3  another library than NCCL\n", "6 scored, 3 left out; 75.0 %"}) {
    CAPTURE(part);
    CHECK(table.find(part) != std::string::npos);
  }
  const std::string summary = text_of(sample.validation, true);
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
  CHECK(json["overall"]["coverage"] == 0.75);
  CHECK(json["families"]["nvlink"]["coverage"] == 1);
  CHECK(json["families"]["nvlink"]["unseen"]["curves"] == 1);
  CHECK(json["families"]["pcie"]["coverage"] == 0);
  CHECK(json["families"]["several_nodes"]["coverage"].is_null());
  CHECK(json["families"]["pcie"]["mape"].is_null());
  CHECK(json["excluded"]["another library than NCCL"] == 3);
}

TEST_CASE("JSON says units, what was fitted, why curves are far off and why there is no baseline") {
  const SampleValidation sample;
  const auto json = validation_json(sample.validation);
  CHECK(json["rows"][0]["unit"] == "s");
  CHECK(json["rows"][0]["fitted"] == true);
  CHECK(json["rows"][3]["fitted"] == false);
  CHECK(json["curves"][0]["fitted"] == true);
  REQUIRE(json["outliers"].size() == 1);
  CHECK(json["outliers"][0]["curve"] == 1);
  CHECK(json["outliers"][0]["reason"] == "a <reason>");
  CHECK(json["outliers"][0]["always_named"] == true);
  REQUIRE(json["baselines"].size() == 2);
  for (const auto& [name, value] : json["baselines"].items()) {
    CAPTURE(name);
    CHECK(value.is_null());
    CHECK(json["unmodelled"]["baselines." + name].is_string());
  }
}

TEST_CASE("the table of a fit says where a platform file differs") {
  CollectiveFit fit;
  fit.rates = {{"dgx2", PathType::nvlink2, Bandwidth{20e9}, Bandwidth{20.1e9}},
               {"dgx1v", PathType::nvlink2, Bandwidth{25e9}, Bandwidth{22.5e9}}};
  fit.curves = {{"a curve", PathType::nvlink2, 0.03, std::nullopt, 0.08, std::nullopt}};
  const std::string table = doc::text(fit_document(fit));
  const std::size_t first = table.find("<-");
  REQUIRE(first != std::string::npos);
  CHECK(table.find("<-", first + 1) == std::string::npos);
  CHECK(table.find("dgx1v") < first);
  CHECK(table.find("3.0 fitted, 8.0 left out") != std::string::npos);
  CHECK(table.find("      3.0         -        8.0         -  a curve") != std::string::npos);
}
