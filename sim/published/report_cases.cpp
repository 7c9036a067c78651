#include "published/report_cases.hpp"

#include "config/diagnostic.hpp"
#include "experiment/experiment.hpp"
#include "experiment/keys_meant.hpp"
#include "experiment/known_keys.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

/// A metric: its figure, and the first words that its unit may have.
struct Metric {
  std::string_view name;
  CaseFigure figure{};
  StatedSpeed stated = StatedSpeed::samples;
  double factor = 1;  ///< from the unit to that of the figure
  std::array<std::string_view, 3> units = {};
};

constexpr std::array report_metrics{
    Metric{"samples_s",
           CaseFigure::throughput,
           StatedSpeed::samples,
           1,
           {"samples/s", "sequences/s", "images/s"}},
    Metric{"tok_s", CaseFigure::throughput, StatedSpeed::tokens, 1, {"tokens/s"}},
    Metric{"tok_s_gpu", CaseFigure::throughput, StatedSpeed::gpu_tokens, 1, {"tokens/s/GPU"}},
    Metric{"step_ms", CaseFigure::throughput, StatedSpeed::step_time, 1e-3, {"ms"}},
    Metric{"iter_ms", CaseFigure::throughput, StatedSpeed::step_time, 1e-3, {"ms"}},
    Metric{"tflops_gpu", CaseFigure::throughput, StatedSpeed::gpu_flops, 1e12, {"TFLOP/s/GPU"}},
    Metric{"mfu_pct", CaseFigure::throughput, StatedSpeed::utilization, 1e-2, {"%"}},
    Metric{"busbw", CaseFigure::bus_bandwidth, StatedSpeed::samples, 1e9, {"GB/s"}},
    Metric{"mem_GB", CaseFigure::memory_allocated, StatedSpeed::samples, 1e9, {"GB"}},
    Metric{"fits", CaseFigure::within_memory, StatedSpeed::samples, 1, {"verdict"}}};

/// A figure that no metric above describes: it is only kept.
constexpr std::string_view other_metric = "other";

constexpr std::string_view one_gpu_family = "one GPU";
constexpr std::string_view one_node_family = "replicas on one node";
constexpr std::string_view several_nodes_family = "replicas on several nodes";
constexpr std::string_view unknown_size_family = "number of GPUs not stated";
constexpr std::string_view shared_family = "ranks share a model";
constexpr std::string_view collective_family = "collectives";

const Metric* metric_named(std::string_view name) {
  const auto* const found = std::ranges::find(report_metrics, name, &Metric::name);
  return found == report_metrics.end() ? nullptr : found;
}

InputError error_at(const PublishedRow& row, std::string column, std::string message, std::string hint) {
  return InputError(std::vector{Diagnostic{.file = row.file,
                                           .line = row.line,
                                           .column = 1,
                                           .key_path = std::move(column),
                                           .message = std::move(message),
                                           .hint = std::move(hint),
                                           .source_line = {}}});
}

/// The experiment's file.
std::string file_of(const config::Catalogue& catalogue, const PublishedRow& row) {
  const std::string& named = row.report->experiment;
  const fs::path table = row.file;
  std::error_code ignored;  // a file that cannot be looked at is not there
  for (const fs::path& folder : {table.parent_path() / table.stem(), table.parent_path()}) {
    if (const fs::path file = folder / named; fs::is_regular_file(file, ignored)) return file.string();
  }
  try {
    return config::find(catalogue, config::Kind::experiment, named).string();
  } catch (const InputError& error) {
    throw error_at(row, "experiment", error.diagnostics().front().message,
                   fmt::format("a file in the folder '{}', or next to the table", table.stem().string()));
  }
}

/// "dgx_a100" of "platforms/dgx_a100.yaml".
std::string name_of_file(const std::string& named) { return fs::path(named).stem().string(); }

/// Fills in the precision, batch and names that the experiment states.
void read_experiment(Case& of, std::string file) {
  const Experiment experiment = load_experiment(config::load(file));
  of.precision = experiment.precision;
  of.batch_per_gpu = experiment.batch_per_gpu;
  of.micro_batches = experiment.accumulation;
  CaseExperiment& named = of.experiment.emplace();
  named.file = std::move(file);
  named.platform = name_of_file(experiment.platform);
  named.model = name_of_file(experiment.model.value_or(experiment.trace.value_or("")));
  named.stack = name_of_file(experiment.stack);
  if (of.row->report->ranges.empty()) return;
  Overrides low;
  Overrides high;
  for (const ReportRange& range : of.row->report->ranges) {
    const std::string key = key_meant(range.key);
    if (config::UnknownKey unknown = unknown_experiment_key(key); !unknown.message.empty())
      throw error_at(*of.row, "ranges", std::move(unknown.message), std::move(unknown.hint));
    low.emplace_back(key, range.low);
    high.emplace_back(key, range.high);
  }
  named.ends = {std::move(low), std::move(high)};
}

std::string reason_without_experiment(const PublishedRow& row) {
  constexpr std::string_view begin = "cannot be said: ";
  if (row.notes.starts_with(begin)) return row.notes;
  return "no experiment is named: write one for `trainyard run`, and its file into the column 'experiment'";
}

}  // namespace

std::string unit_problem(std::string_view metric, std::string_view unit) {
  if (metric == other_metric) return {};
  const Metric* const named = metric_named(metric);
  if (named == nullptr) return fmt::format("the metric '{}' is none of those of reports", metric);
  const std::string_view first = unit.substr(0, unit.find(' '));
  if (std::ranges::any_of(named->units,
                          [&](std::string_view known) { return !known.empty() && known == first; }))
    return {};
  return fmt::format("the unit of the metric '{}' is {}, not '{}'", metric, named->units.front(), unit);
}

std::string_view report_family(const PublishedRow& row) {
  if (row.metric == "busbw") return collective_family;
  constexpr std::array<std::string_view, 6> words{"FSDP", "TP", "PP", "CP", "EP", "ZeRO"};
  const std::string& layout = row.report->layout;
  if (std::ranges::any_of(words,
                          [&](std::string_view word) { return layout.find(word) != std::string::npos; }))
    return shared_family;
  if (row.gpus_total == 0 && row.nodes <= 1) return unknown_size_family;
  if (row.gpus_total == 1) return one_gpu_family;
  return row.nodes > 1 ? several_nodes_family : one_node_family;
}

bool is_about_collectives(std::string_view family) { return family == collective_family; }

bool states_a_speed(const PublishedRow& row) {
  const Metric* const named = metric_named(row.metric);
  return named != nullptr && !is_memory(named->figure) && row.value > 0;
}

std::variant<Case, std::string> report_case_of(const config::Catalogue& catalogue,
                                               const std::shared_ptr<const PublishedData>& data,
                                               const PublishedRow& row) {
  if (row.report->experiment.empty()) return reason_without_experiment(row);
  Case of{.data = data, .row = &row, .series = row.source};
  read_experiment(of, file_of(catalogue, row));
  const Metric* const named = metric_named(row.metric);
  if (named == nullptr) return fmt::format("the metric '{}' is not compared", row.metric);
  of.figure = named->figure;
  of.stated = named->stated;
  of.measured = row.value * named->factor;
  if (of.figure == CaseFigure::within_memory && row.value == 0) of.figure = CaseFigure::out_of_memory;
  if (!is_verdict(of.figure) && row.value <= 0) return "no value above 0";
  if (row.value > 0) of.rounding = row.last_digit / 2 / row.value;
  return of;
}

}  // namespace trainyard
