#include "workload/convergence.hpp"

#include "config/document.hpp"
#include "errors_of.hpp"
#include "shipped_model.hpp"
#include "workload/model_file.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

constexpr double imagenet = 1281167;

/// The newest reference points of a shipped model.
Convergence newest(const std::string& model) {
  const std::vector<Convergence> curves = testing::shipped_model(model).convergence;
  REQUIRE(!curves.empty());
  return curves.back();
}

Convergence with_points(std::vector<ConvergencePoint> points) {
  Convergence curve;
  curve.target = "75.9 % top-1";
  curve.optimizer = "lars";
  curve.points = std::move(points);
  return curve;
}

double log_width(const SamplesToTarget& its) { return std::log(its.high / its.low); }

void load_curve(const std::string& text) {
  const std::string model = "name: m\nfamily: resnet\nresnet: {blocks: [3, 4, 6, 3]}\nconvergence:\n  - ";
  load_model(config::parse("m.yaml", model + text + "\n"));
}

}  // namespace

TEST_CASE("the law's two numbers are recovered from points that follow it") {
  // B_c = 1000: batches of 250, 1000 and 4000 take 1.25, 2 and 5 times the fewest samples
  const ConvergenceLaw law = law_of(
      {{.batch = 250, .samples = 1.25e6}, {.batch = 1000, .samples = 2e6}, {.batch = 4000, .samples = 5e6}});
  CHECK(law.fewest == doctest::Approx(1e6).epsilon(1e-9));
  CHECK(law.critical.value() == doctest::Approx(1000).epsilon(1e-9));
  CHECK(law.worst_error < 1e-9);
  CHECK(law.left_out_error.value() < 1e-9);
  CHECK(samples_at(law, 3000) == doctest::Approx(4e6).epsilon(1e-9));
}

TEST_CASE("steps and samples of the law lie on one hyperbola") {
  const ConvergenceLaw law = law_of({{.batch = 256, .samples = 3e6}, {.batch = 4096, .samples = 7e6}});
  const double fewest_steps = law.fewest / *law.critical;
  for (const double batch : {32.0, 500.0, 9000.0}) {
    const double samples = samples_at(law, batch);
    CHECK((samples / batch / fewest_steps - 1) * (samples / law.fewest - 1) ==
          doctest::Approx(1).epsilon(1e-9));
  }
}

TEST_CASE("points that need fewer samples at larger batches have no critical batch") {
  const ConvergenceLaw law = law_of({{.batch = 100, .samples = 2e6}, {.batch = 1000, .samples = 1e6}});
  CHECK_FALSE(law.critical);
  CHECK(samples_at(law, 50) == samples_at(law, 5000));
}

TEST_CASE("the law of MLPerf's reference points is that of the published study of them") {
  // relative least squares over the last round of each; errors in %: mean, worst, with each point left out
  struct Studied {
    const char* model;
    std::size_t points;
    double samples, epoch, critical, mean, worst, left_out;
  };
  for (const Studied& its : {Studied{"resnet50", 10, 34.53, imagenet, 46760, 3.4, 5.8, 4.2},
                             Studied{"bert_large", 13, 2.317e6, 1, 12710, 5.2, 12.8, 6.1},
                             Studied{"gpt3_175b", 6, 512800, 1, 16840, 2.6, 4.1, 4.2}}) {
    CAPTURE(its.model);
    const Convergence curve = newest(its.model);
    CHECK(curve.points.size() == its.points);
    const ConvergenceLaw law = law_of(curve.points);
    CHECK(law.fewest / its.epoch == doctest::Approx(its.samples).epsilon(0.001));
    CHECK(law.critical.value() == doctest::Approx(its.critical).epsilon(0.001));
    CHECK(std::abs(100 * law.mean_error - its.mean) < 0.051);
    CHECK(std::abs(100 * law.worst_error - its.worst) < 0.051);
    CHECK(std::abs(100 * law.left_out_error.value() - its.left_out) < 0.051);
  }
}

TEST_CASE("between measured batches the samples are interpolated, and points left out are met") {
  const Convergence curve = newest("resnet50");
  CHECK(samples_to_target(curve, 3264)->samples == 45037948);
  const double between = samples_to_target(curve, (32768 + 49152) / 2.0)->samples;
  CHECK(between == doctest::Approx((71745352.0 + 87119356.0) / 2));
  CHECK(samples_to_target(curve, 3264)->range == BatchRange::measured);
  // MLPerf's rule, leaving each inner point out: 3.9 %
  CHECK(std::abs(100 * left_out_error(curve.points).value() - 3.9) < 0.051);
  CHECK_FALSE(left_out_error({curve.points[0], curve.points[1]}));
}

TEST_CASE("below the measured batches no samples are saved, beyond them the law holds up to twice") {
  const Convergence curve = newest("resnet50");
  const SamplesToTarget small = samples_to_target(curve, 256).value();
  CHECK(small.samples == curve.points.front().samples);
  CHECK(small.range == BatchRange::below);
  const double last = curve.points.back().batch;
  const SamplesToTarget large = samples_to_target(curve, 2 * last).value();
  CHECK(large.range == BatchRange::beyond);
  // it goes on where the last point is
  const ConvergenceLaw law = law_of(curve.points);
  CHECK(large.samples / curve.points.back().samples ==
        doctest::Approx(samples_at(law, 2 * last) / samples_at(law, last)).epsilon(1e-12));
  CHECK(samples_to_target(curve, last + 1)->samples ==
        doctest::Approx(curve.points.back().samples).epsilon(1e-4));
  CHECK_FALSE(samples_to_target(curve, 2 * last + 1));
  const Convergence two = with_points({{.batch = 256, .samples = 1e6}, {.batch = 512, .samples = 2e6}});
  CHECK(samples_to_target(two, 512));
  CHECK_FALSE(samples_to_target(two, 513));
}

TEST_CASE("a batch that is refused is written with thousands separators") {
  const Known<SamplesToTarget> refused = samples_to_target(newest("resnet50"), 1e6);
  CHECK(refused.error().find("1,000,000") != std::string::npos);
  CHECK(refused.error().find("67,840") != std::string::npos);
}

TEST_CASE("more samples are expected at larger batches wherever the points grow") {
  const Convergence curve = newest("bert_large");
  double before = 0;
  for (double batch = 4608; batch < 30000; batch += 700) {
    const double its = samples_to_target(curve, batch)->samples;
    CHECK(its >= before);
    before = its;
  }
}

TEST_CASE("the interval has the deviation from run to run and the error of the interpolation") {
  const std::vector<ConvergencePoint> exact{{.batch = 100, .samples = 1e6, .runs = 20, .deviation = 1e5},
                                            {.batch = 200, .samples = 2e6, .runs = 20, .deviation = 2e5},
                                            {.batch = 300, .samples = 3e6, .runs = 20, .deviation = 3e5}};
  // 1.2816 deviations of 10 %, of one run and of the mean of 20
  const double of_runs = 1.28155157 * 0.1 * std::sqrt(1.05);
  const double beyond = 2 * 0.02;  // at both ends, for what the recipe leaves open
  const SamplesToTarget its = samples_to_target(with_points(exact), 200).value();
  CHECK(log_width(its) == doctest::Approx(2 * of_runs + beyond).epsilon(1e-6));
  CHECK(its.low * its.high == doctest::Approx(its.samples * its.samples).epsilon(1e-9));
  const SamplesToTarget mean = samples_to_target(with_points(exact), 200, 5).value();
  CHECK(log_width(mean) == doctest::Approx(2 * 0.128155157 * std::sqrt(0.25) + beyond).epsilon(1e-6));
  // one error, log(2 / 2.4), with Student's t of one degree of freedom
  std::vector<ConvergencePoint> bent = exact;
  bent[1].samples = 2.4e6;
  bent[1].deviation = 2.4e5;
  CHECK(log_width(samples_to_target(with_points(bent), 200).value()) ==
        doctest::Approx(2 * std::hypot(of_runs, 3.0776835372 * std::log(1.2)) + beyond).epsilon(1e-6));
  std::vector<ConvergencePoint> bare = exact;
  for (ConvergencePoint& point : bare) point.deviation.reset();
  const SamplesToTarget known = samples_to_target(with_points(bare), 200).value();
  CHECK(log_width(known) == doctest::Approx(beyond).epsilon(1e-6));
  bare[0].deviation = 1e5;  // what one point states holds for those that state none
  CHECK(log_width(samples_to_target(with_points(bare), 300).value()) ==
        doctest::Approx(2 * of_runs + beyond).epsilon(1e-6));
}

TEST_CASE("intervals widen below and beyond the published batches") {
  for (const char* const model :
       {"resnet50", "bert_large", "gpt3_175b", "llama31_405b", "llama3_8b", "dlrm"}) {
    CAPTURE(model);
    Convergence curve = newest(model);
    curve.evaluate.reset();  // at least one evaluation on both sides, however near the batch is
    const double first = curve.points.front().batch;
    const double last = curve.points.back().batch;
    const double inside = log_width(samples_to_target(curve, (first + last) / 2).value());
    CHECK(inside > 0.02);
    const double beyond = log_width(samples_to_target(curve, 1.2 * last).value());
    CHECK(log_width(samples_to_target(curve, 2 * last).value()) > beyond);
    const double at_the_end = log_width(samples_to_target(curve, last).value());
    CHECK(log_width(samples_to_target(curve, 1.001 * last).value()) >= at_the_end * (1 - 1e-9));
    const double below = log_width(samples_to_target(curve, first / 2).value());
    CHECK(log_width(samples_to_target(curve, first / 8).value()) > below);
    CHECK(below > log_width(samples_to_target(curve, first).value()));
  }
}

TEST_CASE("few points give wide intervals") {
  const Convergence two = with_points({{.batch = 256, .samples = 1e6}, {.batch = 512, .samples = 2e6}});
  const SamplesToTarget its = samples_to_target(two, 300).value();
  const double beyond = std::exp(0.02);
  CHECK(its.high / its.samples == doctest::Approx(2 * beyond).epsilon(1e-9));
  CHECK(its.samples / its.low == doctest::Approx(2 * beyond).epsilon(1e-9));
  // with one point, a smaller batch takes at least as many updates
  const Convergence one = with_points({{.batch = 256, .samples = 1e6}});
  CHECK(samples_to_target(one, 64)->low == doctest::Approx(0.25e6 / beyond).epsilon(1e-9));
  CHECK(samples_to_target(one, 64)->high == doctest::Approx(1e6 * beyond).epsilon(1e-9));
}

TEST_CASE("runs that all ended at one evaluation do not make an exact prediction") {
  // six runs of 405B at batch 1,152 ended at 322,560 samples: evaluations are 46,080 apart
  const Convergence curve = testing::shipped_model("llama31_405b").convergence.front();
  const SamplesToTarget its = samples_to_target(curve, 1152).value();
  CHECK(its.samples == 322560);
  CHECK(its.high >= 322560 + 46080);
  CHECK(its.low <= 322560 - 46080);
}

TEST_CASE("no run ends before the first evaluation, however far apart these are") {
  Convergence curve =
      with_points({{.batch = 256, .samples = 1e5, .runs = 9}, {.batch = 512, .samples = 1e5, .runs = 9}});
  curve.evaluate = TargetEvaluation{.every_samples = 6e4};
  CHECK(samples_to_target(curve, 300)->low == doctest::Approx(6e4));
  curve.evaluate->every_samples = 15e4;
  CHECK(samples_to_target(curve, 300)->low == doctest::Approx(1e5 * std::exp(-0.02)));
  CHECK(samples_to_target(curve, 300)->high == doctest::Approx(25e4));
}

TEST_CASE("evaluations of language models come in whole updates, the first of them may be left out") {
  const TargetEvaluation gpt3 = newest("gpt3_175b").evaluate.value();
  CHECK(samples_between(gpt3, 1536, {}) == 24576);
  CHECK(samples_between(gpt3, 5000, {}) == 25000);  // ceil(24,576 / 5,000) updates
  const std::vector<Convergence> llama = testing::shipped_model("llama31_405b").convergence;
  CHECK(samples_between(*llama.front().evaluate, 6912, {}) == 48384);
  // every point's runs ended at an evaluation
  for (const ConvergencePoint& point : {llama.front().points[0], llama.front().points[1]}) {
    const double between = samples_between(*llama.front().evaluate, point.batch, {}).value();
    CHECK(std::fmod(point.samples, between) == 0);
  }
  // since round 5.1 the first floor(0.0026 x 1,152 + 12) are skipped
  const TargetEvaluation later = *llama.back().evaluate;
  CHECK(evaluations_until(later, 313344, 18432, 1152) == 17 - 14);
  CHECK(evaluations_until(later, 18432, 18432, 1152) == 1);
  CHECK(evaluations_until(*llama.front().evaluate, 322560, 46080, 1152) == 7);
}

TEST_CASE("training ends at an evaluation") {
  CHECK(at_evaluation(9.5, 4) == 12);
  CHECK(at_evaluation(8, 4) == 8);
  CHECK(at_evaluation(0.1, 4) == 4);
  // Runs that are evaluated every 4 epochs end 2 epochs too late on average.
  CHECK(on_other_grid(40, 4, 1) == 38);
  CHECK(on_other_grid(40, 4, 10) == 40);
  CHECK(on_other_grid(1, 4, 3) == 3);
}

TEST_CASE("BERT is evaluated less often at larger batches, as MLPerf's rules have it") {
  const TargetEvaluation its = newest("bert_large").evaluate.value();
  for (const double batch : {256.0, 448.0, 3072.0, 12288.0, 16384.0}) {
    CHECK(samples_between(its, batch, {}) == std::floor(0.05 * (230.23 * batch + 3000000) / 25000) * 25000);
  }
}

TEST_CASE("an interval in epochs needs their size") {
  const TargetEvaluation its = newest("resnet50").evaluate.value();
  CHECK(samples_between(its, 3264, imagenet) == 4 * imagenet);
  CHECK_FALSE(samples_between(its, 3264, {}));
}

TEST_CASE("a curve is chosen by target, optimizer and round") {
  const std::vector<Convergence> curves = testing::shipped_model("resnet50").convergence;
  CHECK(convergence_for(curves, "75.9% Top-1", "momentum") == &curves.back());
  CHECK(convergence_for(curves, "76 % top-1", "lars") == nullptr);
  std::vector<Convergence> both = curves;
  both.front().optimizer = "momentum";
  CHECK(convergence_for(both, "75.9 % top-1", "momentum") == &both.front());
  CHECK(convergence_for(both, "75.9 % top-1", "lars") == &both.back());
  CHECK(convergence_of_round(curves, "1.1", "lars")->points.size() == 9);
  CHECK(convergence_of_round(curves, "3.1", "lars")->points.size() == 10);
  CHECK(convergence_of_round(curves, "3.1", "sgd") == nullptr);
  CHECK(convergence_of_round(curves, "0.5", "lars") == nullptr);
  CHECK(convergence_of_round(curves, "3.1", "") == &curves.back());  // a row that states none
  std::vector<Convergence> of_one_round(2, curves.back());
  CHECK(convergence_of_round(of_one_round, "3.1", "") == nullptr);
  CHECK(targets_of(curves) == std::vector<std::string>{"75.9 % top-1"});
}

TEST_CASE("a curve with wrong points or intervals is an error at its place") {
  const std::string head = "{target: t, optimizer: sgd, source: s, points: ";
  const std::string evaluate = head + "[{batch: 8, samples: 100}], evaluate: {samples: 10, ";
  load_curve(head + "[{batch: 8, samples: 100}]}");
  check_errors(
      {{head + "[]}", "convergence[0].points"},
       {head + "[{batch: 8, samples: 100}, {batch: 8, samples: 90}]}", "convergence[0].points[1].batch"},
       {head + "[{batch: 0, samples: 100}]}", "convergence[0].points[0].batch"},
       {evaluate + "every_epochs: 1, every_samples: 5}}", "convergence[0].evaluate"},
       {evaluate + "every_epochs: 1, multiple: 5}}", "convergence[0].evaluate"},
       {evaluate + "every_samples: 9, multiple: 5, whole_updates: true}}", "convergence[0].evaluate"},
       {"{target: t, optimizer: sgd, points: [{batch: 8, samples: 100}]}", "convergence[0].source"}},
      load_curve);
}
