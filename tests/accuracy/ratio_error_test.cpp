// Expected errors of comparisons: which pairs are comparable, the interval they give, and how many lie in it.

#include "accuracy/ratio_error.hpp"

#include "accuracy/expected_error.hpp"
#include "config/read_file.hpp"
#include "random/generator.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>

using namespace trainyard;

namespace {

/// Runs of machines whose kernel times are off by up to 20 % each, which cancels within a machine; from one
/// number of GPUs or batch to twice as many the error changes by up to 2 % more.
class Publication {
public:
  Publication(int machines, std::string fit) {
    errors_.fit = std::move(fit);
    for (int machine = 0; machine < machines; ++machine) {
      const double kernels = 0.2 * uniform();
      for (const int batch : {32, 64}) {
        const int series = 1 + 2 * machine + (batch == 64 ? 1 : 0);
        const double of_batch = kernels + (batch == 64 ? 0.02 * uniform() : 0);
        for (const int gpus : {1, 2, 4, 8}) {
          const double slower = gpus == 1 ? 0 : -0.03 + 0.02 * uniform();
          add(fmt::format("machine{}", machine), gpus, batch, series, of_batch + slower);
        }
      }
    }
  }

  [[nodiscard]] const PublishedErrors& errors() const { return errors_; }
  [[nodiscard]] PublishedErrors& errors() { return errors_; }

private:
  double uniform() {
    random::Generator generator(11, {draws_++});
    return 2 * generator.uniform() - 1;
  }

  void add(const std::string& platform, int gpus, int batch, int series, double error) {
    PublishedError& run = errors_.runs.emplace_back();
    run.of = {.use = {.framework = "pytorch",
                      .stack = "ddp",
                      .generation = "volta",
                      .gpu = "v100",
                      .model = "resnet50",
                      .precision = "fp32"},
              .platform = platform,
              .gpus = gpus,
              .nodes = 1,
              .batch_per_gpu = batch};
    run.series = series;
    run.predicted = 100.0 * gpus;
    run.measured = run.predicted * std::exp(error);
    run.place = fmt::format("made.csv:{}", errors_.runs.size());
  }

  std::uint64_t draws_ = 0;
  PublishedErrors errors_;
};

RatioError error_between(const PublishedErrors& errors, const Circumstances& a, const Circumstances& b) {
  const auto error = ratio_error(published_pairs(errors, changes_used(a, b)), a, b);
  REQUIRE(error);
  return *error;
}

double width(const RatioError& error) { return std::log1p(error.high) - std::log1p(error.low); }

const Publication& twenty() {
  static const Publication made = [] {
    Publication publication(20, "software");
    publication.errors().widening = widening_of(publication.errors());
    publication.errors().ratio_widening = ratio_widenings(publication.errors());
    return publication;
  }();
  return made;
}

Circumstances job(int gpus = 4, int batch = 32) {
  Circumstances of = twenty().errors().runs.front().of;
  of.platform = "another";
  of.gpus = gpus;
  of.batch_per_gpu = batch;
  return of;
}

}  // namespace

TEST_CASE("the properties in which two runs differ are told apart") {
  Circumstances other = job();
  CHECK(changes_between(job(), other).empty());
  CHECK(kind_of(std::vector<RunChange>{}) == RunChange::settings);
  other.nodes = 2;
  CHECK(changes_between(job(), other) == std::vector{RunChange::gpus});
  other.use.stack = "horovod";
  other.use.model = "bert_base@128";
  CHECK(changes_between(job(), other) == std::vector{RunChange::gpus, RunChange::software, RunChange::model});
  CHECK(kind_of(changes_between(job(), other)) == RunChange::several);
}

TEST_CASE("pairs differ in one property, the smaller number first; pairs of GPUs are of one series") {
  const PublishedPairs pairs = published_pairs(twenty().errors(), {RunChange::gpus, RunChange::batch});
  CHECK(pairs.by_change[index_of(RunChange::gpus)].size() == 20 * 2 * 6);
  CHECK(pairs.by_change[index_of(RunChange::batch)].size() == 20 * 4);
  CHECK(pairs.by_change[index_of(RunChange::machine)].empty());
  for (const RunPair& pair : pairs.by_change[index_of(RunChange::gpus)]) {
    CHECK(pairs.runs[pair.a].series == pairs.runs[pair.b].series);
    CHECK(pairs.runs[pair.a].of.gpus < pairs.runs[pair.b].of.gpus);
    CHECK(pair.octaves >= 1);
  }
}

TEST_CASE("what both predictions have in common cancels in their ratio") {
  const PublishedErrors& errors = twenty().errors();
  const auto alone = expected_error(errors, job());
  REQUIRE(alone);
  const double of_one = std::log1p(alone->high) - std::log1p(alone->low);
  const RatioError gpus = error_between(errors, job(2), job(8));
  CHECK(gpus.pairs == static_cast<int>(nearest_count));
  CHECK(width(gpus) < of_one / 2);
  CHECK(width(error_between(errors, job(4, 32), job(4, 64))) < of_one / 2);
}

TEST_CASE("an interval has the direction of its pairs: more GPUs were slower than predicted") {
  const RatioError more = error_between(twenty().errors(), job(1), job(8));
  CHECK(more.low < -0.03);
  CHECK(more.high < 0.03);
  CHECK(more.nearest_a.of.gpus == 1);
  CHECK(more.nearest_b.of.gpus == 8);
}

TEST_CASE("B against A has the reciprocal interval of A against B, whatever differs") {
  Circumstances everything = job(16, 64);
  everything.nodes = 2;
  everything.platform = "machine3";
  for (const Circumstances& other : {job(8), job(4, 64), job(8, 64), everything, job()}) {
    const RatioError there = error_between(twenty().errors(), job(), other);
    const RatioError back = error_between(twenty().errors(), other, job());
    CHECK((1 + there.low) * (1 + back.high) == doctest::Approx(1).epsilon(1e-12));
    CHECK((1 + there.high) * (1 + back.low) == doctest::Approx(1).epsilon(1e-12));
    CHECK(there.changes == back.changes);
    if (!there.changes.empty()) CHECK(there.nearest_a.place == back.nearest_b.place);
  }
}

TEST_CASE("no property differs: pairs of other numbers of GPUs, without their direction") {
  const RatioError same = error_between(twenty().errors(), job(), job());
  CHECK(same.changes.empty());
  CHECK(same.low < 0);
  CHECK((1 + same.low) * (1 + same.high) == doctest::Approx(1));
}

TEST_CASE("several properties differ: the errors add up as independent ones") {
  PublishedErrors errors = twenty().errors();
  errors.ratio_widening = all_ones();
  const RatioError gpus = error_between(errors, job(4, 32), job(8, 32));
  const RatioError batch = error_between(errors, job(4, 32), job(4, 64));
  const RatioError both = error_between(errors, job(4, 32), job(8, 64));
  CHECK(both.changes == std::vector{RunChange::gpus, RunChange::batch});
  CHECK(both.pairs == static_cast<int>(2 * nearest_count));
  CHECK(width(both) > std::max(width(gpus), width(batch)));
  CHECK(width(both) < width(gpus) + width(batch));
}

TEST_CASE("each series counts once, so that a long one does not decide alone") {
  PublishedErrors errors = twenty().errors();
  for (int i = 0; i < 100; ++i) {
    errors.runs.push_back(errors.runs[0]);
    errors.runs.back().of.gpus = 2 + i;
    errors.runs.back().measured *= 3;
  }
  CHECK(error_between(errors, job(2), job(8)).high < 0.2);
}

TEST_CASE("with a fit to one GPU, runs are compared with it as with an exact prediction") {
  PublishedErrors errors = twenty().errors();
  errors.fit = one_gpu_fit;
  std::erase_if(errors.runs, [](const PublishedError& run) { return run.of.gpus == 1; });
  for (PublishedError& run : errors.runs) run.measured = 0.9 * run.predicted;
  const RatioError from_one = error_between(errors, job(1), job(4));
  CHECK(from_one.nearest_a.of.gpus == 1);
  CHECK((from_one.low + from_one.high) / 2 == doctest::Approx(-0.1).epsilon(0.02));
  const RatioError between = error_between(errors, job(2), job(4));
  CHECK(between.high > -0.05);
  const PublishedPairs pairs = published_pairs(errors, {RunChange::batch});
  for (const RunPair& pair : pairs.by_change[index_of(RunChange::batch)])
    CHECK(pairs.runs[pair.a].of.gpus > 1);
}

TEST_CASE("too few independent pairs give no interval") {
  const Publication few(3, "software");
  const PublishedPairs pairs = published_pairs(few.errors(), {RunChange::gpus, RunChange::batch});
  CHECK_FALSE(ratio_error(pairs, job(1), job(4)));
  CHECK_FALSE(ratio_error(pairs, job(4, 32), job(4, 64)));
}

TEST_CASE("the widenings make 80 % of the pairs of each change lie in their intervals") {
  const auto coverages = ratio_coverage(twenty().errors());
  std::vector<RunChange> changes;
  for (const RatioCoverage& its : coverages) {
    CAPTURE(config::name_of(its.change));
    changes.push_back(its.change);
    CHECK(its.covered == doctest::Approx(expected_share).epsilon(0.01));
    CHECK(its.half_width > 0);
    if (its.change == RunChange::gpus) CHECK(its.pairs == 240);
    if (its.change == RunChange::gpus || its.change == RunChange::batch)
      CHECK(its.half_width < its.run_half_width / 2);
  }
  CHECK(changes == std::vector{RunChange::gpus, RunChange::batch, RunChange::machine, RunChange::several});
}

TEST_CASE("the widenings are the same again, and those of changes without pairs are 1") {
  const NumberByChange again = ratio_widenings(twenty().errors());
  CHECK(again == twenty().errors().ratio_widening);
  CHECK(again[index_of(RunChange::precision)] == 1);
  CHECK(again[index_of(RunChange::settings)] == 1);
}

TEST_CASE("of the shipped pairs, each without its series, 75 to 85 % lie in their intervals") {
  for (const std::string fit : {"software", "1gpu"}) {
    CAPTURE(fit);
    const std::string file = TRAINYARD_SOURCE_DIR "/workloads/published/errors/" + fit + ".csv";
    const PublishedErrors errors = read_published_errors(file, config::read_file(file, largest_csv));
    CHECK(errors.fit == fit);
    const auto coverages = ratio_coverage(errors);
    CHECK(coverages.size() == change_count);
    for (const RatioCoverage& its : coverages) {
      CAPTURE(config::name_of(its.change));
      CHECK(its.pairs > 50);
      CHECK(its.covered > 0.75);
      CHECK(its.covered < 0.85);
    }
    const auto of = [&](RunChange change) {
      return *std::ranges::find(coverages, change, &RatioCoverage::change);
    };
    // With one GPU measured, a ratio to it has the error of the run alone.
    if (fit == "software") CHECK(of(RunChange::gpus).half_width < of(RunChange::gpus).run_half_width);
  }
}
