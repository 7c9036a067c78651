#include "report/target_validation.hpp"

#include "published/published_rows.hpp"

#include <doctest/doctest.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

using namespace trainyard;

namespace {

/// Two results: one with a prediction of each figure, one that no rule claims.
TargetValidation two_results() {
  PublishedData data;
  data.rows = read_published_rows(
      "rows.csv",
      "round,submitter,system,benchmark,accelerator,accelerators_per_node,nodes,accelerators,framework,"
      "global_batch,samples_mean,time_to_train_score_s\n"
      "v2.0,Somebody,box,resnet,A100,8,1,8,MXNet,3264,45000000,1700\n"
      "v2.0,Somebody,other,resnet,TPU,8,1,8,JAX,3264,45000000,1700\n");
  TargetValidation validation;
  validation.data = std::make_shared<const PublishedData>(std::move(data));
  const PublishedRow* const row = validation.data->rows.data();
  ScoredTarget& samples = validation.rows.emplace_back();
  samples.row = row;
  samples.family = "samples to target, ResNet-50";
  samples.measured = 45e6;
  samples.predicted.fill(4.5e7);
  samples.low = 44e6;
  samples.high = 46e6;
  ScoredTarget& time = validation.rows.emplace_back();
  time.row = row;
  time.figure = TargetFigure::time;
  time.family = "time to train, ResNet-50";
  time.measured = 1700;
  time.predicted = {1360.0, 1870.0, 1700.0};
  time.is_fitted = true;
  time.platform = "dgx_a100";
  ScoredTarget& other = validation.rows.emplace_back(time);
  other.row = row + 1;
  other.predicted = {};
  other.is_fitted = false;
  other.excluded = "no profile describes the accelerator";
  return validation;
}

}  // namespace

TEST_CASE("the JSON of trainings to a target has every figure, with its error or the reason against it") {
  const auto json = target_validation_json(two_results(), TargetFit::software);
  CHECK(json["families"].size() == 2);
  CHECK(json["families"]["time to train, ResNet-50"]["rows"] == 1);
  CHECK(json["families"]["time to train, ResNet-50"]["coverage"] == 0.5);
  CHECK(json["families"]["time to train, ResNet-50"]["mape"].get<double>() == doctest::Approx(0.1));
  CHECK(json["families"]["samples to target, ResNet-50"]["inside"] == 1);
  REQUIRE(json["rows"].size() == 3);
  CHECK(json["rows"][0]["low"] < json["rows"][0]["high"]);
  CHECK(json["rows"][1]["scored"] == true);
  CHECK(json["rows"][2]["error"].is_null());
  CHECK(json["rows"][2]["excluded"] == "no profile describes the accelerator");
  CHECK(json["excluded"].size() == 1);
  // the row that its system's factor is fitted to
  CHECK(target_validation_json(two_results(), TargetFit::one_system)["rows"][1]["scored"] == false);
}

TEST_CASE("the table of trainings to a target has a line for each family and fit") {
  const std::string text =
      target_validation_table(two_results(), {TargetFit::nothing, TargetFit::software}, true);
  CHECK(text.find("-20.0") != std::string::npos);
  CHECK(text.find("+10.0") != std::string::npos);
  CHECK(text.find("rows.csv:2") == std::string::npos);
  const std::string all = target_validation_table(two_results(), {TargetFit::software}, false);
  CHECK(all.find("rows.csv:2") != std::string::npos);
  CHECK(all.find("fitted") != std::string::npos);
}
