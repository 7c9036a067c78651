#include "report/expected_error.hpp"

#include "document/page.hpp"
#include "report/figure_text.hpp"
#include "run/expected_bounds.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace trainyard {
namespace {

/// Models of layouts are often made from the sizes that a row states, so that their name says little.
std::string model_in_words(const PublishedError& run) {
  const std::string& model = run.of.use.model;
  if (!run.of.layout) return model.substr(0, model.find('@'));
  constexpr double billion = 1e9;
  return fmt::format("{} billion parameters", rounded(run.of.layout->parameters / billion));
}

/// "fp32", "16bit", "fp8"
std::string precision_in_words(const Circumstances& of) { return of.has_fp8 ? "fp8" : of.use.precision; }

/// "tensor 8, pipeline 4, "
std::string degrees_in_words(const LayoutUse& layout) {
  std::string text;
  const auto add = [&](std::string_view name, int degree) {
    if (degree > 1) text += fmt::format("{} {}, ", name, degree);
  };
  add("tensor", layout.tensor);
  add("context", layout.context);
  add("pipeline", layout.pipeline);
  add("expert", layout.expert);
  if (layout.sharded != "none") text += fmt::format("sharded {}, ", layout.sharded);
  return text;
}

}  // namespace

std::string published_run_in_words(const PublishedError& run) {
  const std::string_view model = run.of.use.model;
  const std::size_t at = model.find('@');
  const std::string length =
      at == std::string_view::npos ? std::string() : fmt::format(" with {} tokens", model.substr(at + 1));
  return fmt::format("{} of {}, {}{} in {}, {}, {}batch {} ({})", count(run.of.gpus, "GPU"), run.of.platform,
                     model_in_words(run), length, precision_in_words(run.of), run.of.use.stack,
                     run.of.layout ? degrees_in_words(*run.of.layout) : "", grouped(run.of.batch_per_gpu),
                     run.place);
}

nlohmann::ordered_json published_run_json(const PublishedError& run) {
  nlohmann::ordered_json json{{"row", run.place},
                              {"platform", run.of.platform},
                              {"gpus", run.of.gpus},
                              {"stack", run.of.use.stack},
                              {"model", run.of.use.model},
                              {"precision", precision_in_words(run.of)},
                              {"batch_per_gpu", run.of.batch_per_gpu},
                              {"measured_samples_per_s", run.measured},
                              {"predicted_samples_per_s", run.predicted}};
  if (const auto& layout = run.of.layout) {
    json["parameters"] = layout->parameters;
    json["layout"] = {{"tensor", layout->tensor},     {"context", layout->context},
                      {"pipeline", layout->pipeline}, {"virtual_stages", layout->virtual_stages},
                      {"expert", layout->expert},     {"micro_batches", layout->micro_batches},
                      {"schedule", layout->schedule}, {"recompute", layout->recompute},
                      {"sharded", layout->sharded}};
  }
  return json;
}

std::string error_range(const ErrorBounds& bounds) {
  return fmt::format("{} to {} %", whole_percent(bounds.low), whole_percent(bounds.high));
}

std::string error_range(const ExpectedError& expected) { return error_range(bounds_of(expected)); }

std::string_view one_side_of(const ErrorBounds& throughput) {
  constexpr double printed_as_0 = 0.005;
  if (throughput.high < -printed_as_0) return "slower";
  return throughput.low > printed_as_0 ? "faster" : "";
}

namespace {

std::string replay_error_in_words(const ExpectedError& expected) {
  std::string text = fmt::format(
      "as the kernels were measured; of hosts, gaps and input, which a replay lacks: 80 % of {} steps of "
      "other "
      "models, measured and replayed on one H100 or H200",
      expected.runs);
  if (expected.pairs > 0)
    text += fmt::format(
        "; and of communication, from {} published pairs of runs on one and on several GPUs; "
        "nearest: {}",
        expected.pairs, published_run_in_words(expected.nearest));
  return text;
}

}  // namespace

std::string expected_error_in_words(const ExpectedError& expected) {
  if (expected.is_of_replays) return replay_error_in_words(expected);
  const std::string families =
      expected.nearest.of.layout ? fmt::format(" of {} families", expected.series) : "";
  std::string text =
      expected.is_of_other_machines
          ? fmt::format(
                "assumed: no published run on this machine has a known error; all {} on other "
                "machines of processors are within it",
                expected.runs)
      : expected.unmeasured.empty()
          ? fmt::format("measured relative to predicted in 80 % of comparable published runs ({} runs{})",
                        expected.runs, families)
          : fmt::format(
                "no published {} of {} has a known error; measured relative to predicted in 80 % of "
                "published runs, each predicted without those of its own software, GPU generation or "
                "kind of model",
                expected.nearest.of.layout ? "run whose ranks share a model" : "data-parallel run",
                fmt::join(expected.unmeasured, ", nor of "));
  if (const std::string_view side = one_side_of(bounds_of(expected)); !side.empty())
    text += fmt::format("; does not contain 0: such runs were nearly all {} than predicted", side);
  if (expected.is_either_way)
    text += "; interval made symmetric: those runs were predicted without this hypothesis";
  if (expected.same) {
    return text + fmt::format(
                      "; published for this machine, model and software: batch {} ({}), {} samples/s "
                      "measured, {} predicted for that run",
                      grouped(expected.same->of.batch_per_gpu), expected.same->place,
                      rounded(expected.same->measured), rounded(expected.same->predicted));
  }
  return text + fmt::format("; nearest: {}, {} samples/s measured, {} predicted for that run",
                            published_run_in_words(expected.nearest), rounded(expected.nearest.measured),
                            rounded(expected.nearest.predicted));
}

nlohmann::ordered_json expected_error_json(const ExpectedError& expected) {
  nlohmann::ordered_json json{
      {"low", expected.low}, {"high", expected.high}, {"share", expected_share}, {"runs", expected.runs}};
  if (expected.nearest.of.layout) json["families"] = expected.series;
  json["unmeasured"] = expected.unmeasured;
  if (expected.is_either_way) json["either_way"] = true;
  if (expected.is_of_other_machines) json["assumed"] = true;
  if (expected.is_of_replays) json["pairs"] = expected.pairs;
  const bool has_nearest = !expected.is_of_replays || expected.pairs > 0;
  json["nearest"] = has_nearest ? published_run_json(expected.nearest) : nlohmann::ordered_json();
  json["published"] = expected.same ? published_run_json(*expected.same) : nlohmann::ordered_json();
  return json;
}

std::string bounds_in_words(const Run& run, std::string_view field) {
  const std::optional<FigureBounds> bounds = expected_bounds(run, field);
  if (!bounds) return {};
  const FigureUnit unit = figures()[index_of(field)].unit;
  return fmt::format("{} to {} expected", in_unit(bounds->low, unit), in_unit(bounds->high, unit));
}

nlohmann::ordered_json expected_bounds_json(const Run& run) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [field, low, high] : expected_bounds(run)) json[field] = {{"low", low}, {"high", high}};
  return json;
}

}  // namespace trainyard
