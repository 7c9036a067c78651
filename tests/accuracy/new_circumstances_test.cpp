// Expected errors of jobs with a property that no published run has.

#include "accuracy/new_circumstances.hpp"

#include "accuracy/expected_error.hpp"
#include "accuracy/ratio_error.hpp"
#include "errors_of.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

constexpr const char* table =
    "new,slower,slower_op_us,faster,faster_op_us,runs\n"
    "nothing,0.1,0,0.1,0,90\n"
    "stack,0.2,30,0.15,0,80\n"
    "framework,0.3,50,0.2,5,70\n"
    "generation,0.25,2,0.2,0,60\n"
    "gpu,0.15,0,0.12,0,60\n"
    "kind,0.3,15,0.2,12,50\n"
    "model,0.2,0,0.14,0,50\n"
    "kernels,0.4,50,-0.05,0,40\n";

Circumstances usual_job() {
  return {.use = {.framework = "pytorch",
                  .stack = "pytorch_ddp",
                  .generation = "volta",
                  .gpu = "v100",
                  .model = "resnet50",
                  .precision = "fp32"},
          .platform = "dgx1v",
          .gpus = 8,
          .kind = ModelKind::convolutional,
          .mean_op = Seconds{100e-6}};
}

/// Published runs of the job with small errors, two of each series.
PublishedErrors errors_with_bounds() {
  PublishedErrors errors{.fit = "software"};
  for (int i = 0; i < 40; ++i) {
    errors.runs.push_back({.of = usual_job(),
                           .series = i / 2,
                           .measured = 100 + 0.1 * i,
                           .predicted = 100,
                           .place = fmt::format("rows.csv:{}", i)});
    errors.runs.back().of.batch_per_gpu = 32 << (i % 4);
  }
  errors.new_circumstances = read_new_circumstances("new.csv", table);
  return errors;
}

}  // namespace

TEST_CASE("a job with a property that no run has takes the bounds of runs predicted without theirs") {
  const PublishedErrors errors = errors_with_bounds();
  const auto known = expected_error(errors, usual_job());
  REQUIRE(known);
  CHECK(known->unmeasured.empty());
  CHECK(known->high - known->low < 0.1);
  Circumstances of = usual_job();
  of.use.stack = "horovod";
  const auto new_stack = expected_error(errors, of);
  CHECK(new_stack->unmeasured == std::vector<std::string>{"horovod on volta"});
  CHECK(std::log1p(new_stack->low) == doctest::Approx(-0.2 - std::log(1.3)));
  CHECK(std::log1p(new_stack->high) == doctest::Approx(0.15));
  of.mean_op = Seconds{10e-6};  // of short kernels, more of the step is missing
  CHECK(std::log1p(expected_error(errors, of)->low) == doctest::Approx(-0.2 - std::log(4.0)));
  of.kind = ModelKind::decoder;  // another independent error
  const double both = std::sqrt(0.01 + 0.03 + 0.08);
  CHECK(std::log1p(expected_error(errors, of)->low) == doctest::Approx(-both - std::log(4.0)));
  CHECK(expected_error(errors, of)->unmeasured ==
        std::vector<std::string>{"a decoder with attention", "horovod on volta"});
}

TEST_CASE("a new generation is named once, not with the framework too") {
  const PublishedErrors errors = errors_with_bounds();
  Circumstances of = usual_job();
  of.use.generation = "hopper";
  CHECK(expected_error(errors, of)->unmeasured == std::vector<std::string>{"any software on hopper"});
}

TEST_CASE("a new GPU counts in a known generation, a new model in a known kind and without a layout") {
  const PublishedErrors errors = errors_with_bounds();
  Circumstances of = usual_job();
  of.use.gpu = "titan_v";
  CHECK(std::log1p(expected_error(errors, of)->low) == doctest::Approx(-0.15));
  CHECK(expected_error(errors, of)->unmeasured == std::vector<std::string>{"titan_v"});
  of.use.generation = "ampere";
  CHECK(expected_error(errors, of)->unmeasured == std::vector<std::string>{"any software on ampere"});
  of = usual_job();
  of.use.model = "resnet50@128";  // of another length
  CHECK(expected_error(errors, of)->unmeasured.empty());
  of.use.model = "vgg16";
  CHECK(std::log1p(expected_error(errors, of)->high) == doctest::Approx(0.14));
  CHECK(expected_error(errors, of)->unmeasured == std::vector<std::string>{"vgg16"});
  of.kind = ModelKind::decoder;
  CHECK(expected_error(errors, of)->unmeasured == std::vector<std::string>{"a decoder with attention"});
  of = usual_job();
  of.use.model = "vgg16";
  of.layout.emplace();
  CHECK(new_properties(errors.runs, of).empty());
}

TEST_CASE("without factors that hold for the job's kernels, the error is that of kernels alone") {
  PublishedErrors errors = errors_with_bounds();
  Circumstances of = usual_job();
  of.use.generation = "hopper";
  of.has_recorded_kernels = true;
  const auto recorded = expected_error(errors, of);
  CHECK(std::log1p(recorded->low) == doctest::Approx(-0.4 - std::log(1.5)));
  CHECK(std::log1p(recorded->high) == doctest::Approx(-0.05));  // all such runs were slower
  of.has_recorded_kernels = false;
  errors.fit = no_fit;
  CHECK(expected_error(errors, of)->low == recorded->low);
  of = usual_job();
  of.has_recorded_kernels = true;  // but nothing is new
  CHECK(expected_error(errors, of)->unmeasured.empty());
}

TEST_CASE("a series that alone has a property leaves it new when it is left out, and out of the widening") {
  PublishedErrors errors = errors_with_bounds();
  const double before = widening_of(errors);
  errors.runs.front().of.use.stack = errors.runs[1].of.use.stack = "horovod";
  const Circumstances of = errors.runs.front().of;
  CHECK(expected_error(errors, of)->unmeasured.empty());
  CHECK(expected_error(errors, of, errors.runs.front().series)->unmeasured.size() == 1);
  for (std::size_t i = 0; i < 16; ++i) {  // eight series, each with a stack of its own
    errors.runs[i].of.use.stack = fmt::format("stack {}", i / 2);
    errors.runs[i].measured = 300;
  }
  CHECK(widening_of(errors) < 1.2 * before);
  errors.fit = one_gpu_fit;  // whose intervals come from the nearest runs, whatever is new
  CHECK(widening_of(errors) > 1.5 * before);
}

TEST_CASE(
    "a comparison adds the error of a property that one of the jobs has alone, and little of a common one") {
  PublishedErrors errors = errors_with_bounds();
  Circumstances a = usual_job();
  Circumstances b = usual_job();
  b.batch_per_gpu = 64;
  const auto ratio = [&](const Circumstances& from, const Circumstances& to) {
    const PublishedPairs pairs = published_pairs(errors, changes_used(from, to));
    return ratio_error(pairs, from, to).value();
  };
  errors.new_circumstances.reset();
  a.use.stack = b.use.stack = "horovod";
  const RatioError known = ratio(a, b);
  errors.new_circumstances = read_new_circumstances("new.csv", table);
  CHECK(ratio(a, b).low == doctest::Approx(known.low));  // both have it, with equal kernels
  b.mean_op = Seconds{20e-6};
  const double shift = std::log(2.5 / 1.3);  // more of the second step is missing, or of the first
  CHECK(std::log1p(ratio(a, b).low) < std::log1p(known.low) - shift / 2);
  const RatioError there = ratio(a, b);
  const RatioError back = ratio(b, a);  // the reciprocal interval
  CHECK(std::log1p(back.high) == doctest::Approx(-std::log1p(there.low)).epsilon(0.02));
  b = a;
  a.use.stack = "pytorch_ddp";
  errors.runs.clear();
  for (int i = 0; i < 40; ++i) {  // pairs of two known stacks
    PublishedError run{
        .of = usual_job(), .series = i, .measured = 100 + 0.1 * i, .predicted = 100, .place = "r.csv:1"};
    if (i % 2 == 1) run.of.use.stack = "dgl";
    errors.runs.push_back(run);
  }
  errors.new_circumstances.reset();
  const RatioError without = ratio(a, b);
  errors.new_circumstances = read_new_circumstances("new.csv", table);
  CHECK(ratio(a, b).low < without.low - 0.2);
  CHECK(ratio(a, b).high > without.high);
  CHECK(ratio(b, a).high > without.high + 0.2);  // the other way round
}

TEST_CASE("a table of new circumstances without a line, a column or a number is refused") {
  const std::string text = table;
  const auto problems = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return errors_of([&] { read_new_circumstances("new.csv", changed); });
  };
  CHECK(problems("kind,0.3,15,0.2,12,50\n", "").front().message == "not a line for each property");
  CHECK(problems("stack,0.2", "stack,x").front().line == 3);
  CHECK(problems("slower,slower_op_us", "slower_op_us,slower").front().line == 1);
  CHECK(problems("model,", "gpu,").front().message == "a second line of 'gpu'");
  CHECK(problems("model,0.2,0,0.14", "model,0.2,0,-0.3").front().message ==
        "the lower bound is above the upper one");
  CHECK(problems("kernels", "kernel").front().message == "unknown property 'kernel'");
}
