#include "published/validate.hpp"

#include "published/collective_rows.hpp"
#include "published/published_files.hpp"
#include "published/published_text.hpp"
#include "sanitized.hpp"
#include "shipped_catalogue.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <utility>

using namespace trainyard;

namespace {

Protocols shipped_constants() {
  return load_protocols(
      config::load(config::find(testing::shipped_catalogue(), config::Kind::protocols, "nccl")));
}

CollectiveValidation validated(std::vector<PublishedRow> rows) {
  const auto data = data_of(std::move(rows), read_machine_rules(testing::shipped_catalogue(), "published"));
  return validate_collectives(testing::shipped_catalogue(), collective_curves(data), shipped_constants());
}

std::vector<PublishedRow> about_collectives() {
  std::vector<PublishedRow> rows = read_published_files(testing::shipped_catalogue(), {});
  std::erase_if(rows, [](const PublishedRow& row) { return !is_about_a_collective(row); });
  return rows;
}

const CollectiveValidation& shipped() {
  static const CollectiveValidation all = validated(about_collectives());
  return all;
}

/// The mean error of the curves whose names have `word`, from 1 MiB on.
double mean_of(const std::string& word) {
  double sum = 0;
  int count = 0;
  for (const ScoredCurve& curve : shipped().curves) {
    if (curve.curve.name.find(word) == std::string::npos || !curve.large) continue;
    sum += *curve.large;
    ++count;
  }
  REQUIRE(count > 0);
  return sum / count;
}

/// The largest mean error below 1 MiB of a curve over NVLink, leaving out all-to-alls.
double worst_small_nvlink() {
  double worst = 0;
  int count = 0;
  for (const ScoredCurve& curve : shipped().curves) {
    if (curve.family != CurveFamily::nvlink || curve.curve.operation == Operation::all_to_all || !curve.small)
      continue;
    worst = std::max(worst, *curve.small);
    ++count;
  }
  REQUIRE(count > 0);
  return worst;
}

}  // namespace

TEST_CASE("an error is predicted over measured less one, of a bandwidth the other way round") {
  const CollectiveValidation twice =
      validated(rows_of(published_line({{"value", "100"}}) +
                        published_line({{"metric", "allreduce_busbw"}, {"value", "10"}, {"unit", "GB/s"}})));
  REQUIRE(twice.curves.size() == 1);
  const ScoredCurve& curve = twice.curves.front();
  CHECK(curve.family == CurveFamily::nvlink);
  const ScoredPoint& time = curve.points[0];
  CHECK(time.error == doctest::Approx(time.predicted / 100e-6 - 1));
  const ScoredPoint& rate = curve.points[1];
  CHECK(rate.error == doctest::Approx(10e9 / rate.predicted - 1));
  CHECK(rate.predicted == doctest::Approx(1048576 * 1.75 / time.predicted));
}

TEST_CASE("more GPUs than the platform has are counted, not dropped") {
  const CollectiveValidation too_many =
      validated(rows_of(published_line({{"gpus_per_node", "9"}, {"gpus_total", "9"}})));
  CHECK(too_many.curves.empty());
  REQUIRE(too_many.excluded.size() == 1);
  CHECK(too_many.excluded.begin()->second == 1);
}

TEST_CASE("shipped rows are all scored or counted" * doctest::skip(testing::is_sanitized)) {
  int rows = shipped().scored;
  for (const auto& [reason, count] : shipped().excluded) rows += count;
  CHECK(rows == static_cast<int>(about_collectives().size()));
}

TEST_CASE("published curves are met within what README says" * doctest::skip(testing::is_sanitized)) {
  const CollectiveValidation& all = shipped();
  const SplitSummary nvlink = summary_of(all, CurveFamily::nvlink);
  // Was 0.04, before the constants of NVLink 3 were fitted to vTrain's curves on A100 and those of
  // ai-dynamo/aiconfigurator together: this fit is 6 % off vTrain's A100 curves, the former was 4 %.
  CHECK(mean_of("vTrain") <= 0.05);
  CHECK(mean_of("12 V100-SXM3-32GB, all_reduce") <= 0.06);
  CHECK(mean_of("12 V100-SXM3-32GB, broadcast") <= 0.06);
  CHECK(nvlink.large.mape.value() <= 0.08);
  CHECK(nvlink.small.mape.value() <= 0.12);
  // All-to-alls apart. Was 0.15, before curves of B300, GB200 and GB300 took part in the fit.
  CHECK(worst_small_nvlink() <= 0.17);
  CHECK(nvlink.small.p90.value() <= 0.3);
  CHECK(mean_of("TITAN X Pascal, all_reduce") <= 0.06);
  CHECK(mean_of("AWS EKS") <= 0.12);
  CHECK(mean_of("GKE") <= 0.12);
  CHECK(mean_of("issue #65") <= 0.12);
  const SplitSummary together = summary_of(all);
  CHECK(together.large.median.value() <= 0.04);
  CHECK(together.small.median.value() <= 0.10);
}

TEST_CASE("curves that no constant was fitted to are met within 12 % on average, 90 % of sizes within 25 %" *
          doctest::skip(testing::is_sanitized)) {
  const ErrorSummary unseen = summary_of(shipped(), std::nullopt, true).large;
  CHECK(unseen.mape.value() <= 0.12);
  CHECK(unseen.p90.value() <= 0.25);
}

TEST_CASE("settings that only a curve's own times suggest are not in force for it" *
          doctest::skip(testing::is_sanitized)) {
  // No source says how long NCCL's copies by elements take, nor whether access control was on.
  CHECK(mean_of("12 V100-SXM3-32GB, all_gather") > 0.3);
  CHECK(mean_of("BM.GPU4.8") > 0.4);
}

TEST_CASE("coverage is scored over all that should be, by family and in all" *
          doctest::skip(testing::is_sanitized)) {
  const CollectiveValidation half = validated(
      rows_of(published_line() + published_line({{"interconnect_intra", "unknown NVLink"}, {"gpu", "X"}}) +
              published_line({{"interconnect_intra", "PCIe"}, {"gpu", "X"}}) +
              published_line({{"metric", "throughput"}}) +
              published_line({{"gpus_per_node", "9"}, {"gpus_total", "9"}})));
  CHECK(coverage_of(half).value() == doctest::Approx(1.0 / 4));
  CHECK(coverage_of(half, CurveFamily::nvlink).value() == doctest::Approx(1.0 / 3));
  CHECK(coverage_of(half, CurveFamily::pcie).value() == 0);
  CHECK_FALSE(coverage_of(half, CurveFamily::several_nodes));
  CHECK(coverage_of(shipped()).value() >= 0.85);
}

TEST_CASE("curves far off are named, and those that rules always name, however near they are") {
  ScoredCurve scored;
  CHECK_FALSE(is_named(scored));
  scored.large = 0.1;
  scored.small = 0.21;
  CHECK(worst_mean(scored) == 0.21);
  CHECK(is_named(scored));
  scored.small = 0.19;
  CHECK_FALSE(is_named(scored));
  OutlierRule rule{.when = {}, .reason = "known", .always_named = false};
  scored.curve.outlier = &rule;
  CHECK_FALSE(is_named(scored));
  rule.always_named = true;
  CHECK(is_named(scored));
}

TEST_CASE("a curve taken out of a validation keeps its row and its rules") {
  const ScoredCurve curve = validated(rows_of(published_line())).curves.front();
  CHECK(curve.curve.data.use_count() == 1);
  CHECK(curve.points.front().point.row == &curve.curve.data->rows.front());
  CHECK(curve.curve.machine->platform == "dgx1v");
}

TEST_CASE("every shipped curve that is far off has its suspected reason in the rules" *
          doctest::skip(testing::is_sanitized)) {
  for (const ScoredCurve& scored : shipped().curves) {
    CAPTURE(scored.curve.name);
    if (is_named(scored)) CHECK(scored.curve.outlier != nullptr);
  }
}

TEST_CASE("a row's protocol and algorithm are those it was told to use") {
  const CollectiveValidation told =
      validated(rows_of(published_line({{"notes", "NCCL_PROTO=LL"}}) +
                        published_line({{"notes", "NCCL_PROTO=Simple; NCCL_ALGO=Tree"}})));
  REQUIRE(told.curves.size() == 2);
  CHECK(told.curves[0].points.front().protocol == "LL");
  CHECK(told.curves[1].points.front().protocol == "Simple");
  CHECK(told.curves[1].points.front().algorithm == "tree");
}

TEST_CASE("unseen curves are those that no fit may use" * doctest::skip(testing::is_sanitized)) {
  const SplitSummary unseen = summary_of(shipped(), {}, true);
  const SplitSummary all = summary_of(shipped());
  CHECK(unseen.all.curves > 0);
  CHECK(unseen.all.curves < all.all.curves);
}
