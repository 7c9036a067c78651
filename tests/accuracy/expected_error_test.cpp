// Expected errors: which runs are comparable, the interval they give, and how many runs lie in theirs.

#include "accuracy/expected_error.hpp"

#include "accuracy/run_change.hpp"
#include "config/read_file.hpp"
#include "errors_of.hpp"
#include "random/generator.hpp"
#include "units/statistics.hpp"
#include "workload/csv.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>
#include <string>

using namespace trainyard;

namespace {

PublishedError run_of(const std::string& platform, double ratio, int series) {
  PublishedError run;
  run.of.platform = platform;
  run.of.use = {.framework = "pytorch",
                .stack = "pytorch_ddp",
                .generation = "volta",
                .gpu = "v100",
                .model = "resnet50",
                .precision = "fp32"};
  run.series = series;
  run.predicted = 100;
  run.measured = 100 * ratio;
  run.place = fmt::format("rows.csv:{}", series);
  return run;
}

/// Runs on two machines: on the first measured / predicted spreads by 10 %, on the second by 1 %.
PublishedErrors two_machines(int runs) {
  PublishedErrors errors;
  for (int i = 0; i < runs; ++i) {
    random::Generator generator(7, {static_cast<std::uint64_t>(i)});
    const double position = 2 * generator.uniform() - 1;
    errors.runs.push_back(run_of("wide", std::exp(0.1 * position), 2 * i));
    errors.runs.push_back(run_of("narrow", std::exp(0.01 * position), 2 * i + 1));
  }
  return errors;
}

}  // namespace

TEST_CASE("an interval made symmetric has its larger error on both sides") {
  const auto check = [](double low, double high, double factor) {
    ExpectedError one;
    one.low = low;
    one.high = high;
    const ExpectedError both = either_way(one);
    CHECK(both.is_either_way);
    CHECK(both.low == doctest::Approx(1 / factor - 1).epsilon(1e-12));
    CHECK(both.high == doctest::Approx(factor - 1).epsilon(1e-12));
  };
  check(-0.30, -0.11, 1 / 0.7);  // -30 to +43 %
  check(-0.05, 0.25, 1.25);
  check(0.10, 0.20, 1.2);
}

TEST_CASE(
    "a job on processors has the error of runs on its machine, not of runs on GPUs or other processors") {
  PublishedErrors errors = two_machines(100);
  PublishedError nodes = run_of("theta", 0.75, 1000);
  nodes.of.use.generation = of_processors;
  for (std::size_t i = 0; i < least_on_processors; ++i) {
    CHECK_FALSE(expected_error(errors, nodes.of));
    nodes.of.gpus = 25 << i;
    nodes.measured = 75 + static_cast<double>(i);
    errors.runs.push_back(nodes);
  }
  const auto expected = expected_error(errors, nodes.of);
  REQUIRE(expected);
  CHECK(expected->runs == static_cast<int>(least_on_processors));
  CHECK(expected->low < -0.2);
  CHECK(expected->high < -0.15);
  PublishedError other = nodes;
  other.of.platform = "xeon_cluster";
  const auto assumed = expected_error(errors, other.of);
  REQUIRE(assumed);
  CHECK(assumed->is_of_other_machines);
  CHECK(assumed->low == doctest::Approx(-0.5));
  CHECK(assumed->high == doctest::Approx(1));
  CHECK(assumed->nearest.of.platform == "theta");
  CHECK_FALSE(expected->is_of_other_machines);
  CHECK_FALSE(expected_error(errors, other.of, 1000));  // nothing is left to compare with
  errors.runs.back().measured = 30;
  CHECK(expected_error(errors, other.of)->low == doctest::Approx(-0.7));  // not narrower than a known error
  errors.runs.back().measured = nodes.measured;
  for (const PublishedError& run : errors.runs) {
    if (run.of.platform != "wide") continue;
    CHECK(expected_error(errors, run.of)->nearest.of.platform == "wide");
    break;
  }
}

TEST_CASE("the interval comes from the nearest runs: those of the same machine") {
  PublishedErrors errors = two_machines(100);
  const auto wide = expected_error(errors, errors.runs[0].of);
  const auto narrow = expected_error(errors, errors.runs[1].of);
  REQUIRE(wide);
  REQUIRE(narrow);
  CHECK(wide->nearest.of.platform == "wide");
  CHECK(narrow->nearest.of.platform == "narrow");
  CHECK(wide->high - wide->low > 2 * (narrow->high - narrow->low));
  CHECK(narrow->low < 0);
  CHECK(narrow->high > 0);
  errors.widening = 2;
  const auto wider = expected_error(errors, errors.runs[0].of);
  CHECK(std::log1p(wider->high) - std::log1p(wider->low) ==
        doctest::Approx(2 * (std::log1p(wide->high) - std::log1p(wide->low))));
}

TEST_CASE("runs that were all predicted too fast move the interval below zero") {
  PublishedErrors errors;
  for (int i = 0; i < 30; ++i) errors.runs.push_back(run_of("slow", 0.8, i));
  const auto expected = expected_error(errors, errors.runs[0].of);
  REQUIRE(expected);
  CHECK(expected->high < -0.15);
  CHECK(expected->low > -0.25);
}

TEST_CASE("the widening makes 80 % of the scored runs lie in intervals that the others give") {
  PublishedErrors errors = two_machines(200);
  errors.widening = widening_of(errors);
  int covered = 0;
  for (const PublishedError& run : errors.runs)
    covered += covers(*expected_error(errors, run.of, run.series), run.measured / run.predicted - 1);
  REQUIRE(errors.runs.size() == 400);
  CHECK(covered >= 316);
  CHECK(covered <= 324);
}

TEST_CASE("runs that are not scored are comparable, but the widening does not depend on their own errors") {
  PublishedErrors errors = two_machines(50);
  const double before = widening_of(errors);
  PublishedError odd = run_of("elsewhere", 3, 1000);
  odd.is_scored = false;
  errors.runs.push_back(odd);
  CHECK(widening_of(errors) == doctest::Approx(before));
  errors.runs.back().is_scored = true;
  CHECK(widening_of(errors) != before);
}

TEST_CASE("a series that is left out gives no neighbours; too few runs give no interval") {
  PublishedErrors errors = two_machines(10);
  const auto expected = expected_error(errors, errors.runs[4].of, errors.runs[4].series);
  REQUIRE(expected);
  CHECK(expected->nearest.series != errors.runs[4].series);
  errors.runs.resize(5);
  CHECK_FALSE(expected_error(errors, errors.runs[0].of));
}

TEST_CASE("a published run of the very job is named") {
  const PublishedErrors errors = two_machines(20);
  CHECK(expected_error(errors, errors.runs[0].of)->same);
  Circumstances other = errors.runs[0].of;
  other.gpus = 2;
  CHECK_FALSE(expected_error(errors, other)->same);
}

TEST_CASE(
    "errors of published runs are read in the form in which they are written, mistakes with their place") {
  PublishedErrors errors = two_machines(2);
  errors.fit = "software";
  errors.widening = 1.25;
  errors.ratio_widening[index_of(RunChange::batch)] = 0.5;
  const std::string text = published_errors_text(errors);
  const PublishedErrors read = read_published_errors("e.csv", text);
  CHECK(published_errors_text(read) == text);
  CHECK(read.fit == "software");
  CHECK(read.widening == 1.25);
  CHECK(read.ratio_widening == errors.ratio_widening);
  CHECK(read.runs[1].of == errors.runs[1].of);
  for (const char* const nodes : {"x", "-1", "1.5", "1e10"}) {  // the last two are no counts of nodes
    CAPTURE(nodes);
    const auto wrong = errors_of(
        [&] { read_published_errors("e.csv", text + text.substr(text.rfind("wide")).replace(5, 1, nodes)); });
    REQUIRE_FALSE(wrong.empty());
    CHECK(wrong.front().line == 9);
  }
}

TEST_CASE(
    "an interval of a layout takes at most five runs of each family, and says of how many families it is") {
  PublishedErrors errors;
  for (int family = 1; family <= 4; ++family) {
    for (int i = 0; i < 20; ++i) {
      errors.runs.push_back(run_of("same", family == 1 ? 1.5 : 1.0, family));
      errors.runs.back().of.layout = LayoutUse{.tensor = 8, .tokens = 2048, .sharded = "none"};
    }
  }
  const auto expected = expected_error(errors, errors.runs.front().of);
  REQUIRE(expected);
  CHECK(expected->runs == 15);
  CHECK(expected->series == 3);
  CHECK(expected->low < 0.01);
  CHECK(expected->high > 0.4);
  std::erase_if(errors.runs, [](const PublishedError& run) { return run.series > 2; });
  CHECK_FALSE(expected_error(errors, errors.runs.front().of));
  for (PublishedError& run : errors.runs) run.of.layout.reset();
  CHECK(expected_error(errors, errors.runs.front().of)->series == 1);
}

TEST_CASE("runs are as far apart as the ways in which their ranks share the model, whatever its name") {
  Circumstances a = run_of("same", 1, 1).of;
  a.layout = LayoutUse{.tensor = 8, .pipeline = 4, .tokens = 2048, .sharded = "none"};
  Circumstances b = a;
  b.use.model = "another";
  b.layout->pipeline = 16;
  b.layout->tensor = 4;
  CHECK(distance(a, b) == 0);
  b.layout->pipeline = 1;
  CHECK(distance(a, b) == 1);
  b.layout->sharded = "parameters";
  CHECK(distance(a, b) == 2);
  b.layout->has_experts = true;
  CHECK(distance(a, b) == 4);
  b.layout->tensor = 1;
  CHECK(distance(a, b) == 5);
  b.layout->context = 2;
  CHECK(distance(a, b) == 4);
  b.layout->tokens = 8192;
  CHECK(distance(a, b) == doctest::Approx(4.6));
}

TEST_CASE("a run whose products are in 8 bits is another job than one in 16, a precision apart") {
  PublishedErrors errors = two_machines(20);
  for (PublishedError& run : errors.runs) {
    run.of.use.precision = "16bit";
    run.of.layout = LayoutUse{.tensor = 8, .sharded = "none"};
  }
  Circumstances of = errors.runs[0].of;
  CHECK(expected_error(errors, of)->same);
  of.has_fp8 = true;
  CHECK(distance(of, errors.runs[0].of) == 1);
  CHECK_FALSE(expected_error(errors, of)->same);
  CHECK(changes_between(of, errors.runs[0].of) == std::vector<RunChange>{RunChange::precision});
  Circumstances fp32 = of;
  fp32.use.precision = "fp32";
  fp32.has_fp8 = false;
  CHECK(distance(of, fp32) == 1);
}

TEST_CASE("errors of layouts are read in the form in which they are written") {
  PublishedErrors errors = two_machines(1);
  errors.fit = "software";
  for (PublishedError& run : errors.runs) {
    run.of.layout = LayoutUse{.tensor = 8,
                              .context = 2,
                              .pipeline = 4,
                              .virtual_stages = 3,
                              .expert = 16,
                              .micro_batches = 32,
                              .tokens = 4096,
                              .parameters = 175e9,
                              .has_experts = true,
                              .schedule = "interleaved",
                              .recompute = "full",
                              .sharded = "optimizer"};
  }
  errors.runs[1].of.has_fp8 = true;
  const std::string text = published_errors_text(errors);
  const PublishedErrors read = read_published_errors("e.csv", text);
  CHECK(published_errors_text(read) == text);
  CHECK(read.runs[1].of == errors.runs[1].of);
}

TEST_CASE("the nearest run that is named has the software of the job, if one of the interval's runs has it") {
  PublishedErrors errors = two_machines(10);
  Circumstances of = errors.runs[0].of;
  for (PublishedError& run : errors.runs) run.of.use.stack = "other";
  errors.runs[10].of.use.stack = of.use.stack;
  errors.runs[10].of.batch_per_gpu *= 16;  // farther than the other stack
  const auto expected = expected_error(errors, of);
  CHECK(expected->nearest.place == errors.runs[10].place);
  of.use.stack = "of nobody";
  CHECK(expected_error(errors, of)->nearest.of.use.stack == "other");
}

TEST_CASE("runs whose replicas divide layers are nearer to each other than to plain replicas") {
  Circumstances plain = two_machines(1).runs[0].of;
  Circumstances divided = plain;
  divided.divides_layers = true;
  CHECK(distance(plain, divided) == doctest::Approx(1));
  CHECK(distance(divided, divided) == 0);
  PublishedErrors errors = two_machines(2);
  errors.fit = "software";
  errors.runs[1].of.divides_layers = true;
  const PublishedErrors read = read_published_errors("e.csv", published_errors_text(errors));
  CHECK_FALSE(read.runs[0].of.divides_layers);
  CHECK(read.runs[1].of.divides_layers);
}

TEST_CASE("the shipped errors of layouts give intervals that cover 80 % of families that they do not know") {
  for (const char* fit : {"nothing", "software"}) {
    const std::string file =
        std::string(TRAINYARD_SOURCE_DIR "/workloads/published/errors/layouts_") + fit + ".csv";
    PublishedErrors errors = read_published_errors(file, config::read_file(file, largest_csv));
    CHECK(errors.fit == fit);
    CHECK(errors.widening == doctest::Approx(widening_of(errors)).epsilon(1e-3));
    const std::string bounds = TRAINYARD_SOURCE_DIR "/workloads/published/errors/new_circumstances.csv";
    errors.new_circumstances = read_new_circumstances(bounds, config::read_file(bounds, largest_csv));
    std::map<int, PublishedErrors> without;  // a family, which has no part in the widening either
    for (const PublishedError& run : errors.runs) without.try_emplace(run.series, errors);
    for (auto& [family, rest] : without) {
      std::erase_if(rest.runs, [&](const PublishedError& run) { return run.series == family; });
      rest.widening = widening_of(rest);
    }
    int covered = 0;
    for (const PublishedError& run : errors.runs) {
      REQUIRE(run.of.layout);
      covered += covers(*expected_error(without.at(run.series), run.of), run.measured / run.predicted - 1);
    }
    const double share = static_cast<double>(covered) / static_cast<double>(errors.runs.size());
    CHECK(share > 0.76);
    CHECK(share < 0.84);
  }
}

TEST_CASE("errors of published runs without the lines at their top, or with wrong ones, are refused") {
  PublishedErrors errors = two_machines(2);
  errors.fit = "software";
  const std::string text = published_errors_text(errors);
  const auto lines_of = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    std::vector<int> lines;
    for (const Diagnostic& one : errors_of([&] { read_published_errors("e.csv", changed); }))
      lines.push_back(one.line);
    return lines;
  };
  using Lines = std::vector<int>;
  CHECK(lines_of("# fit: software\n", "# fit: \n") == Lines{1});
  CHECK(lines_of("# widening: 1\n", "# widening: 0\n") == Lines{2});
  CHECK(lines_of("machine 1", "machine -1") == Lines{3});
  CHECK(lines_of("gpus 1, ", "") == Lines(config::Names<RunChange>::table.size(), 3));
  CHECK(lines_of("platform,nodes", "nodes,platform") == Lines{4});
  CHECK_FALSE(lines_of("# widening of ratios", "# wide").empty());
}

TEST_CASE("16 bits gain on one V100 what published pairs gained, though neither run was fitted to") {
  const std::string file = TRAINYARD_SOURCE_DIR "/workloads/published/errors/software.csv";
  const PublishedErrors errors = read_published_errors(file, config::read_file(file, largest_csv));
  const auto is_pair = [](const Circumstances& half, const Circumstances& single) {
    Circumstances same = single;
    same.use.precision = half.use.precision;
    same.mean_op = half.mean_op;
    same.batch_per_gpu = half.batch_per_gpu;
    return same == half && half.gpus == 1 && half.use.generation == "volta" &&
           half.use.precision == "16bit" && single.use.precision == "fp32" &&
           (half.batch_per_gpu == single.batch_per_gpu || half.batch_per_gpu == 2 * single.batch_per_gpu);
  };
  std::vector<double> wrong;
  for (const PublishedError& half : errors.runs) {
    for (const PublishedError& single : errors.runs) {
      if (is_pair(half.of, single.of))
        wrong.push_back(std::log(half.predicted / single.predicted * single.measured / half.measured));
    }
  }
  REQUIRE(wrong.size() > 100);
  CHECK(std::abs(quantile(wrong, 0.5)) < 0.03);
  CHECK(quantile(wrong, 0.1) > -0.3);
  CHECK(quantile(wrong, 0.9) < 0.3);
}

TEST_CASE("of the shipped runs, each without its series, 75 to 85 % lie in their intervals") {
  for (const std::string fit : {"software", "1gpu", "nothing"}) {
    CAPTURE(fit);
    const std::string file = TRAINYARD_SOURCE_DIR "/workloads/published/errors/" + fit + ".csv";
    const PublishedErrors errors = read_published_errors(file, config::read_file(file, largest_csv));
    int scored = 0;
    int covered = 0;
    for (const PublishedError& run : errors.runs) {
      if (!run.is_scored) continue;
      const auto error = expected_error(errors, run.of, run.series);
      if (!error) continue;  // too few others
      ++scored;
      covered += covers(*error, run.measured / run.predicted - 1);
    }
    REQUIRE(scored > 500);
    CHECK(covered >= 0.75 * scored);
    CHECK(covered <= 0.85 * scored);
  }
}
