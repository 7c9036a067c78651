#include "published/target_cases.hpp"

#include "errors_of.hpp"
#include "published/case_intervals.hpp"
#include "published/published_text.hpp"
#include "published/references.hpp"
#include "published/scores.hpp"
#include "published/target_rows.hpp"
#include "published/validation.hpp"
#include "shipped_catalogue.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <doctest/doctest.h>
#include <string>

namespace trainyard {
namespace {

const std::string target_header =
    "round,submitter,system,benchmark,accelerator,accelerators_per_node,nodes,accelerators,host_networking,"
    "accelerator_interconnect,framework,global_batch,accumulation,optimizer,samples_mean,time_to_train_score_"
    "s,"
    "split\n";

/// ResNet-50 on one box of eight A100.
const std::string one_box =
    "v2.0,Somebody,box,resnet,NVIDIA A100-SXM4-80GB,8,1,8,,NVLink,MXNet,3264,1,lars,45037948,1700,validate\n";

const std::string energy_header = "round,submitter,system,benchmark,nodes,global_batch,energy_mean_j,split\n";

std::vector<PublishedRow> target_rows_of(const std::string& lines) {
  return read_published_rows("rows.csv", target_header + lines);
}

Validation validated_targets(std::vector<PublishedRow> rows) {
  const ShippedRules& rules = rules_shipped_as("to_target");
  return validate_rows(testing::shipped_catalogue(), RowKind::targets,
                       data_of(std::move(rows), rules.machines, rules.runs), 1,
                       {.fits = fits_of(RowKind::targets)});
}

Validation validated_targets(const std::string& lines) { return validated_targets(target_rows_of(lines)); }

std::string with_text(std::string line, const std::string& from, const std::string& to) {
  const std::size_t place = line.find(from);
  REQUIRE(place != std::string::npos);
  return line.replace(place, from.size(), to);
}

const ScoredCase& figure_in(const Validation& validation, CaseFigure figure, std::size_t number = 0) {
  for (const ScoredCase& scored : validation.cases) {
    if (scored.of.figure == figure && number-- == 0) return scored;
  }
  FAIL("no such figure");
  return validation.cases.front();
}

double predicted(const ScoredCase& scored, Fit fit) { return scored.predicted.by_fit[fit].value.value(); }

/// Whether the only row's figure is left out and lowers the coverage of its family.
bool is_missed(const Validation& validation, CaseFigure figure) {
  return std::ranges::any_of(validation.missed, [&](const MissedRow& missed) {
    return missed.family->name.starts_with(config::name_of(figure)) &&
           errors_of(validation, Fit::software, {.family = missed.family->name}).coverage == 0.0;
  });
}

TEST_CASE("a header with times to train makes rows of trainings to a target") {
  const auto rows = target_rows_of(one_box);
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].to_target);
  CHECK(rows[0].gpu == "NVIDIA A100-SXM4-80GB");
  CHECK(rows[0].gpus_total == 8);
  CHECK(rows[0].interconnect_intra == "NVLink");
  CHECK(rows[0].year == "2022");
  CHECK(rows[0].to_target->round == "2.0");
  CHECK(rows[0].to_target->samples == 45037948);
  CHECK(rows[0].to_target->time_s == 1700);
}

TEST_CASE("a missing column or a bad number of such a file is an error at its place") {
  const auto missing =
      ::errors_of([] { read_published_rows("rows.csv", "benchmark,time_to_train_score_s\nresnet,5\n"); });
  CHECK(missing.size() == 9);
  const Diagnostic bad = ::only_error([] { target_rows_of(with_text(one_box, "1700", "-17")); });
  CHECK(bad.line == 2);
  CHECK(::errors_of([] { target_rows_of(with_text(one_box, ",8,1,8,", ",8,1.5,8,")); }).size() == 1);
}

TEST_CASE("counts of such a file may be 0 or have decimals, and errors name its own column") {
  CHECK(target_rows_of(with_text(one_box, ",8,1,8,", ",0,1,0,"))[0].gpus_total == 0);
  CHECK(target_rows_of(with_text(one_box, ",8,1,8,", ",8.0,1.0,8.0,"))[0].gpus_total == 8);
  const Diagnostic bad = ::only_error([] { target_rows_of(with_text(one_box, ",8,1,8,", ",8,1,8.5,")); });
  CHECK(bad.key_path == "accelerators");
}

TEST_CASE("columns of reports and layouts do not change a table of trainings to a target") {
  for (const std::string columns : {"experiment,", "id,software,layout,batch,", "tp,pp,"}) {
    CAPTURE(columns);
    const std::string cells(static_cast<std::size_t>(std::ranges::count(columns, ',')), ',');
    const auto rows = read_published_rows("rows.csv", columns + target_header + cells + one_box);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].to_target);
    CHECK_FALSE(rows[0].report);
    CHECK_FALSE(rows[0].layout);
  }
}

TEST_CASE("joules take the machine of the result that they belong to") {
  std::vector<PublishedRow> rows =
      read_published_rows("energy.csv", energy_header + "v2.0,Somebody,box,resnet,1,3264,9e6,validate\n" +
                                            "v2.1,Somebody,box,resnet,1,3264,9e6,validate\n");
  const auto others = target_rows_of(one_box);
  complete_energy_rows(rows, others);
  CHECK(rows[0].gpu == others[0].gpu);
  CHECK(rows[0].gpus_total == 8);
  CHECK(rows[0].to_target->optimizer == "lars");
  CHECK(rows[1].gpu.empty());  // another round
}

TEST_CASE("joules of another submitter take a result only if it is the same run") {
  const std::string header =
      "round,submitter,system,benchmark,nodes,global_batch,time_mean_s,energy_mean_j,split\n";
  const auto completed = [&](const std::string& line, const std::string& results) {
    std::vector<PublishedRow> rows = read_published_rows("energy.csv", header + line);
    complete_energy_rows(rows, target_rows_of(results));
    return rows.front();
  };
  const std::string metered = "v2.0,Somebody else,box,resnet,1,3264,1702,9e6,validate\n";
  CHECK(completed(metered, one_box).gpus_total == 8);
  CHECK(completed(metered, one_box).to_target->result_submitter == "Somebody");
  CHECK(completed(with_text(metered, "1702", "1802"), one_box).gpu.empty());
  CHECK(completed(with_text(metered, "3264", "1632"), one_box).gpu.empty());
  CHECK(completed(with_text(metered, "1702", ""), one_box).gpu.empty());  // nothing says that it is the same
  // two results of others: which one is not known
  CHECK(completed(metered, one_box + with_text(one_box, "Somebody", "Others")).gpu.empty());
  // a second one of the same submitter with another batch does not take the place of its own
  const std::string own = with_text(metered, "Somebody else", "Somebody");
  CHECK(completed(own, with_text(one_box, "3264", "1632") + one_box).gpus_total == 8);
}

TEST_CASE("several meters of one run count once") {
  const std::string header =
      "round,submitter,system,benchmark,nodes,global_batch,time_mean_s,energy_mean_j,split\n";
  std::vector<PublishedRow> rows =
      read_published_rows("energy.csv", header + "v2.0,Somebody,box,resnet,1,3264,1700,9e6,validate\n" +
                                            "v2.0,Somebody at DC,box,resnet,1,3264,1700,8.9e6,validate\n");
  complete_energy_rows(rows, target_rows_of(one_box));
  const auto its = validated_targets(std::move(rows));
  CHECK(its.cases.size() == 1);
  CHECK(its.cases.front().of.measured == 9e6);
  CHECK(its.excluded.size() == 1);
}

TEST_CASE("without a time of its system a row has no factor, and says so") {
  std::vector<PublishedRow> rows =
      read_published_rows("energy.csv", energy_header + "v2.0,Somebody,box,resnet,1,3264,9e6,validate\n");
  complete_energy_rows(rows, target_rows_of(one_box));
  const auto its = validated_targets(std::move(rows));
  REQUIRE(its.cases.size() == 1);
  CHECK(its.cases.front().is_scored(Fit::software));
  CHECK_FALSE(its.cases.front().predicted.by_fit[Fit::one_system].value);
  CHECK_FALSE(its.cases.front().is_scored(Fit::one_system));
  CHECK_FALSE(its.cases.front().verdicts[Fit::one_system].excluded.empty());
}

TEST_CASE("the energy of a result is not scored if its time is fitted") {
  std::vector<PublishedRow> rows =
      read_published_rows("energy.csv", energy_header + "v2.0,Somebody,box,resnet,1,3264,9e6,validate\n");
  const auto others = target_rows_of(one_box);
  complete_energy_rows(rows, others);
  rows.push_back(others.front());
  const auto its = validated_targets(std::move(rows));
  for (const CaseFigure figure : {CaseFigure::time_to_train, CaseFigure::energy_to_train}) {
    CAPTURE(config::name_of(figure));
    const ScoredCase& scored = figure_in(its, figure);
    CHECK_FALSE(scored.verdicts[Fit::one_system].is_asked);
    CHECK_FALSE(scored.verdicts[Fit::one_system].excluded.empty());
    CHECK_FALSE(scored.is_scored(Fit::one_system));
    CHECK(scored.is_scored(Fit::software));
  }
}

TEST_CASE("the interval of a row is that of the mean of its runs") {
  const std::string header_of_runs = with_text(target_header, "samples_mean", "converged,samples_mean");
  const auto highest_with = [&](const char* runs) {
    const std::string line = with_text(one_box, ",lars,", std::string(",lars,") + runs + ",");
    const auto its = validated_targets(read_published_rows("rows.csv", header_of_runs + line));
    const ScoredCase& samples = figure_in(its, CaseFigure::samples_to_target);
    const auto place = static_cast<std::size_t>(&samples - its.cases.data());
    const CaseInterval interval = case_intervals(its, Fit::software)[place].value();
    CHECK(interval.ratio == doctest::Approx(1 / (1 + samples.error(Fit::software)) - 1));
    CHECK(interval.low < 0);
    CHECK(interval.low == samples.of.target->low / predicted(samples, Fit::software) - 1);
    CHECK(interval.high == samples.of.target->high / predicted(samples, Fit::software) - 1);
    return interval.high;
  };
  CHECK(highest_with("5") > 0);
  CHECK(highest_with("1") > highest_with("5"));
}

TEST_CASE("DAWNBench's rows give their epochs: time and dollars are predicted") {
  const std::string header =
      "round,submitter,system,benchmark,year,accelerator,accelerators_per_node,nodes,accelerators,framework,"
      "precision,global_batch,optimizer,epochs,time_to_train_score_s,cost_usd,notes,split\n";
  const std::string line =
      "DAWNBench,somebody,box,resnet50,2018,V100-SXM2-16GB of AWS p3.16xlarge,8,1,8,tensorpack (TensorFlow "
      "1.5),fp32,512,momentum,81,50000,350,,validate\n";
  const auto validated = [&](const std::string& row) {
    return validated_targets(read_published_rows("rows.csv", header + row));
  };
  const auto its = validated(line);
  REQUIRE(its.cases.size() == 2);
  const ScoredCase& time = figure_in(its, CaseFigure::time_to_train);
  CHECK(time.family->name == "time to train, DAWNBench");
  CHECK(time.of.machine->platform == "p3_16xlarge");
  const double seconds = predicted(time, Fit::software);
  const ScoredCase& cost = figure_in(its, CaseFigure::cost_to_train);
  CHECK(predicted(cost, Fit::software) == doctest::Approx(24.48 * seconds / 3600).epsilon(1e-9));
  const auto half = validated(with_text(line, ",81,", ",40.5,"));
  CHECK(predicted(figure_in(half, CaseFigure::time_to_train), Fit::software) ==
        doctest::Approx(seconds / 2).epsilon(1e-9));
  const auto grows = validated(with_text(line, ",350,,", ",350,images grow during the run,"));
  CHECK(is_missed(grows, CaseFigure::time_to_train));
  REQUIRE(grows.excluded.size() == 1);
  CHECK(grows.excluded.begin()->first.find("images grow") != std::string::npos);
  CHECK(is_missed(validated(with_text(line, ",512,", ",,")), CaseFigure::time_to_train));
}

TEST_CASE("a row that states no optimizer takes the round's only recipe") {
  const auto its = validated_targets(
      "v2.0,Somebody,box,dlrm,NVIDIA A100-SXM-80GB,8,1,8,,,hugectr,55296,,,7970477100,95.8,validate\n");
  CHECK(predicted(figure_in(its, CaseFigure::samples_to_target), Fit::nothing) == 7978644500);
  CHECK(is_missed(its, CaseFigure::time_to_train));
}

TEST_CASE("samples are those of the reference points of the row's own round") {
  // round 1.0 had 57,194,955 samples at a batch of 13,056, later rounds 58,293,098
  const std::string large = with_text(with_text(one_box, "3264", "13056"), ",8,1,8,", ",8,4,32,");
  const auto later = validated_targets(large);
  CHECK(predicted(figure_in(later, CaseFigure::samples_to_target), Fit::software) == 58293098);
  const auto first = validated_targets(with_text(large, "v2.0", "v1.0"));
  CHECK(predicted(figure_in(first, CaseFigure::samples_to_target), Fit::software) == 57194955);
}

TEST_CASE("samples do not depend on the accelerator, times need a platform") {
  const auto its = validated_targets(with_text(one_box, "NVIDIA A100-SXM4-80GB", "TPU-v4"));
  CHECK(figure_in(its, CaseFigure::samples_to_target).error(Fit::software) == doctest::Approx(0));
  CHECK(is_missed(its, CaseFigure::time_to_train));
}

TEST_CASE("a time to train is that of the samples and of the evaluations") {
  const auto its = validated_targets(one_box);
  const ScoredCase& time = figure_in(its, CaseFigure::time_to_train);
  REQUIRE(time.is_scored(Fit::software));
  CHECK(time.of.machine->platform == "dgx_a100");
  const double seconds = predicted(time, Fit::software);
  CHECK(std::abs(seconds / 1700 - 1) < 0.3);
  // by rule, its software has no fitted factors
  CHECK(predicted(time, Fit::nothing) == seconds);
  const auto larger = validated_targets(with_text(one_box, "3264", "65536"));
  CHECK(predicted(figure_in(larger, CaseFigure::time_to_train), Fit::software) > 2 * seconds);
}

TEST_CASE("the factor of a system is that of its row on the fewest GPUs, which is not scored") {
  const std::string two_boxes =
      with_text(with_text(with_text(one_box, ",8,1,8,,", ",8,2,16,8x ConnectX-6 IB HDR,"), "1700", "900"),
                "box", "boxes");
  const auto its = validated_targets(two_boxes + one_box);
  const ScoredCase& large = figure_in(its, CaseFigure::time_to_train, 0);
  const ScoredCase& small = figure_in(its, CaseFigure::time_to_train, 1);
  CHECK(large.is_scored(Fit::one_system));
  CHECK_FALSE(small.is_scored(Fit::one_system));
  CHECK_FALSE(small.verdicts[Fit::one_system].excluded.empty());
  const double scale = large.predicted.by_fit[Fit::one_system].compute_scale;
  // The factor is of the steps that the row took, so that more samples do not make it larger.
  const auto more = validated_targets(two_boxes + with_text(one_box, "45037948,1700", "90075896,3400"));
  CHECK(figure_in(more, CaseFigure::time_to_train).predicted.by_fit[Fit::one_system].compute_scale ==
        doctest::Approx(scale).epsilon(1e-6));
  CHECK(errors_of(its, Fit::one_system, {.family = small.family->name}).rows == 1);
  CHECK(errors_of(its, Fit::software, {.family = small.family->name}).rows == 2);
  // with it the row itself takes as long as it took
  std::deque<Case> kept;
  const std::vector<AskedCase> asked = asked_targets(its.cases, kept);
  REQUIRE(kept.size() == 1);
  AskedCase itself{.of = &kept.front()};
  itself.references[Fit::one_system] = {&kept.front()};
  const auto fitted = predict_cases(testing::shipped_catalogue(), {itself}, 1, {.fits = {Fit::one_system}});
  CHECK(fitted.front().by_fit[Fit::one_system].compute_scale == doctest::Approx(scale).epsilon(1e-9));
  CHECK(fitted.front().by_fit[Fit::one_system].value.value() ==
        doctest::Approx(1700).epsilon(0.002));  // steps jump with Horovod's cycles
}

TEST_CASE("what cannot be claimed is left out by rule") {
  const auto is_left_out = [](const std::string& from, const std::string& to, CaseFigure figure) {
    return is_missed(validated_targets(with_text(one_box, from, to)), figure);
  };
  CHECK(is_left_out("resnet", "minigo", CaseFigure::samples_to_target));
  CHECK(is_left_out("lars", "sgd", CaseFigure::samples_to_target));
  CHECK(is_left_out("v2.0", "v0.5", CaseFigure::samples_to_target));
  CHECK(is_left_out(",3264,", ",,", CaseFigure::samples_to_target));
  CHECK(is_left_out("3264", "200000", CaseFigure::samples_to_target));  // far beyond the points
  CHECK(is_left_out(",8,1,8,", ",8,1,7,", CaseFigure::time_to_train));  // 3264 / 7
  CHECK(is_left_out(",8,1,8,", ",8,2,8,", CaseFigure::time_to_train));
  CHECK_FALSE(is_left_out("lars", "LARS", CaseFigure::samples_to_target));
  const auto calibrate = validated_targets(with_text(one_box, "validate", "calibrate"));
  CHECK(calibrate.cases.empty());
  CHECK(calibrate.missed.empty());
  CHECK(calibrate.excluded.size() == 1);
}

TEST_CASE("errors are above 0 if predictions are too large") {
  const auto its = validated_targets(with_text(one_box, "45037948", "40000000"));
  const CaseErrors errors = errors_of(its, Fit::software, {.family = "samples to target, ResNet-50"});
  CHECK(errors.rows == 1);
  CHECK(errors.coverage == 1.0);
  CHECK(errors.bias.value() == doctest::Approx(45037948.0 / 4e7 - 1));
  CHECK(errors.mape.value() == doctest::Approx(errors.bias.value()));
  const auto coverage = interval_coverage(its, Fit::software);
  REQUIRE(coverage.families.size() == 2);  // of samples and of the time
  const auto samples =
      std::ranges::find(coverage.families, "samples to target, ResNet-50", &IntervalCoverage::name);
  REQUIRE(samples != coverage.families.end());
  CHECK(samples->covered == 0);
  CHECK(coverage.all->rows == 2);
}

TEST_CASE("a time to train has the interval that `run` prints for it, the energy a wider one") {
  std::vector<PublishedRow> rows =
      read_published_rows("energy.csv", energy_header + "v2.0,Somebody,box,resnet,1,3264,9e6,validate\n");
  const auto others = target_rows_of(one_box);
  complete_energy_rows(rows, others);
  rows.push_back(others.front());
  const auto its = validated_targets(std::move(rows));
  const auto intervals = case_intervals(its, Fit::software);
  const auto width_of = [&](CaseFigure figure) {
    const ScoredCase& scored = figure_in(its, figure);
    const auto& interval = intervals.at(static_cast<std::size_t>(&scored - its.cases.data()));
    REQUIRE(interval);
    CHECK(interval->low == scored.predicted.bounds->low);
    CHECK(interval->high == scored.predicted.bounds->high);
    return std::log((1 + interval->high) / (1 + interval->low));
  };
  const double time = width_of(CaseFigure::time_to_train);
  const double of_power = std::log((1 + power_bounds.high) / (1 + power_bounds.low));
  CHECK(width_of(CaseFigure::energy_to_train) == doctest::Approx(std::hypot(time, of_power)).epsilon(1e-9));
  // other fits have no interval of times
  const auto others_of = case_intervals(its, Fit::nothing);
  CHECK_FALSE(
      others_of.at(static_cast<std::size_t>(&figure_in(its, CaseFigure::time_to_train) - its.cases.data())));
}

TEST_CASE("the energy of a training is that of its steps and evaluations") {
  std::vector<PublishedRow> rows =
      read_published_rows("energy.csv", energy_header + "v2.0,Somebody,box,resnet,1,3264,9e6,validate\n");
  const auto others = target_rows_of(one_box);
  complete_energy_rows(rows, others);
  rows.push_back(others.front());
  const auto its = validated_targets(std::move(rows));
  const double energy = predicted(figure_in(its, CaseFigure::energy_to_train), Fit::software);
  const double time = predicted(figure_in(its, CaseFigure::time_to_train), Fit::software);
  CHECK(energy / time > 2000);  // a box of eight A100, in W
  CHECK(energy / time < 6500);
}

}  // namespace
}  // namespace trainyard
