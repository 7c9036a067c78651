#include "report/sweep_words.hpp"

#include "report/expected_error.hpp"
#include "report/figure_text.hpp"
#include "report/limits.hpp"
#include "run/figures.hpp"
#include "sweep/choice.hpp"
#include "sweep/run_sweep.hpp"
#include "units/plural.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

std::string as_time(double seconds, double longest) { return human_like(Seconds(seconds), Seconds(longest)); }
std::string as_count(double number, double) { return count_text(number); }
std::string as_speedup(double ratio, double) { return fmt::format("{:.1f}", ratio); }
std::string as_percent(double ratio, double) { return percent(ratio); }

constexpr const char* speedup_figure = "speedup";
constexpr std::string_view precision_key = "precision";
constexpr const char* memory_figure = "memory_peak_bytes";

std::string as_memory(double bytes, double) { return in_unit_like(bytes, bytes, FigureUnit::bytes); }

constexpr SweepColumn table_columns[] = {{"GPUs", "ranks", as_count, 8},
                                         {"step", "step_time_s", as_time, 0},
                                         {"samples/s", throughput_figure, rounded_like, 0},
                                         {"goodput", "goodput_samples_per_s", rounded_like, 0},
                                         {"samples/s per GPU", per_gpu_figure, rounded_like, 3},
                                         {"speedup", speedup_figure, as_speedup, 5},
                                         {"efficiency", efficiency_figure, as_percent, 11},
                                         {"exposed comm.", "exposed_communication_s", as_time, 4},
                                         {"MFU", "model_flops_utilization", as_percent, 2},
                                         {"memory", "memory_utilization", as_percent, 1},
                                         {"memory/GPU", memory_figure, as_memory, 1}};

// On pages, and for sweeps that name them under `report` or as a goal.
constexpr SweepColumn further_columns[] = {{"per sample", "sample_time_s", as_time, 1},
                                           {"p50", "step_time_p50_s", as_time, 1},
                                           {"p90", "step_time_p90_s", as_time, 1},
                                           {"p99", "step_time_p99_s", as_time, 1},
                                           {"GPUs busy", "gpu_utilization", as_percent, 1},
                                           {"cores busy", "cpu_utilization", as_percent, 1},
                                           {"memory busy", "host_memory_utilization", as_percent, 1},
                                           {"storage busy", "storage_utilization", as_percent, 1},
                                           {"network busy", "network_utilization", as_percent, 1}};

// The last columns: of an epoch, of the training to a target, and of a learner.
constexpr SweepColumn epoch_columns[] = {{"epoch", "epoch_time_s", as_time, 9},
                                         {"USD/epoch", "cost_per_epoch_usd", rounded_like, 7}};
constexpr const char* samples_range = "samples_range";
constexpr const char* accuracy_range = "accuracy_range";

/// Whether the published runs have batches like the point's.
std::string as_samples_range(double place, double) { return std::string(sweep_name(samples_range, place)); }
std::string as_accuracy_range(double place, double) { return std::string(sweep_name(accuracy_range, place)); }

constexpr SweepColumn target_columns[] = {{"batch is", samples_range, as_samples_range, 6},
                                          {"to target", "time_to_target_s", as_time, 12},
                                          {"USD", "cost_to_target_usd", rounded_like, 7}};
constexpr SweepColumn accuracy_columns[] = {{"accuracy", "expected_accuracy", as_percent, 10},
                                            {"batch is", accuracy_range, as_accuracy_range, 6}};
constexpr SweepColumn learning_columns[] = {{"staleness", "staleness_mean", rounded_like, 6},
                                            {"to target", "time_to_target_s", as_time, 12},
                                            {"final loss", "final_loss", rounded_like, 13},
                                            {"error floor", "error_floor", as_percent, 9},
                                            {"loss at end", "loss_at_end", rounded_like, 8},
                                            {"accuracy at end", "accuracy_at_end", as_percent, 13},
                                            {"diverged", "diverged", as_count, 7}};

/// Whether points differ in their precision, so that each has its memory next to it.
bool compares_precisions(const SweepResult& result) {
  const auto& keys = result.sweep.keys;
  const auto place = std::ranges::find(keys, precision_key) - keys.begin();
  if (place == std::ssize(keys)) return false;
  const auto precision = [&](const SweepRow& row) -> const std::string& {
    return result.sweep.points[row.point][static_cast<std::size_t>(place)];
  };
  return std::ranges::any_of(
      result.rows, [&](const SweepRow& row) { return precision(row) != precision(result.rows.front()); });
}

bool is_in_report(const Sweep& sweep, std::string_view figure) {
  return sweep.report && std::ranges::find(sweep.report->figures, figure) != sweep.report->figures.end();
}

std::vector<SweepColumn> columns_of(const SweepResult& result, bool is_page) {
  const Sweep& sweep = result.sweep;
  std::vector<SweepColumn> columns(std::begin(table_columns), std::end(table_columns));
  const auto is_left_out = [&](const SweepColumn& column) {
    const std::string_view figure = column.figure;
    if (figure == per_gpu_figure) return !is_page;
    return figure == memory_figure && !is_page && !compares_precisions(result);
  };
  std::erase_if(columns, is_left_out);
  const auto add = [&](std::span<const SweepColumn> more) {
    columns.insert(columns.end(), more.begin(), more.end());
  };
  std::ranges::copy_if(further_columns, std::back_inserter(columns), [&](const SweepColumn& column) {
    return is_page || is_in_report(sweep, column.figure) || sweep.goal.figures.contains(column.figure);
  });
  if (sweep.is_of_targets)
    add(target_columns);
  else
    add(epoch_columns);
  if (sweep.has_accuracy) add(accuracy_columns);
  if (sweep.has_learning) add(learning_columns);
  return columns;
}

}  // namespace

std::string assumed_mark_of(const SweepResult& result, const SweepRow& row, std::string_view figure) {
  return figure_if_stored(result, row, fmt::format("assumed_{}", figure)) ? " (assumed)" : "";
}

std::optional<double> throughput_per_gpu(const SweepResult& result, const SweepRow& row) {
  const std::optional<double> throughput = figure_if_stored(result, row, "throughput_samples_per_s");
  const std::optional<double> ranks = figure_if_stored(result, row, "ranks");
  if (!throughput || !ranks || *ranks <= 0) return std::nullopt;
  return *throughput / *ranks;
}

SweepColumns::SweepColumns(const SweepResult& result, bool is_page) : result_(result) {
  if (is_relative_to_smallest(result)) {
    const std::vector<std::optional<RelativeScaling>> scaling = relative_scaling(result);
    for (std::size_t i = 0; i < scaling.size(); ++i) {
      if (scaling[i]) relative_.emplace(result.rows[i].point, *scaling[i]);
    }
  }
  for (const SweepColumn& column : columns_of(result, is_page)) {
    const auto has = [&](const SweepRow& row) { return number(row, column).has_value(); };
    const bool is_per_gpu = column.figure == std::string_view(per_gpu_figure);
    if (!is_per_gpu && !has_figure(result, column.figure)) continue;
    const bool is_key = std::ranges::find(result.sweep.keys, column.figure) != result.sweep.keys.end();
    if (is_key || std::ranges::none_of(result.rows, has)) continue;
    columns_.push_back(column);
    double& largest = largest_.emplace_back(0);
    for (const SweepRow& row : result.rows) largest = std::max(largest, number(row, column).value_or(0));
  }
}

std::optional<double> SweepColumns::number(const SweepRow& row, const SweepColumn& column) const {
  if (const auto relative = relative_.find(row.point); relative != relative_.end()) {
    if (column.figure == std::string_view(speedup_figure)) return relative->second.speedup;
    if (column.figure == std::string_view(efficiency_figure)) return relative->second.efficiency;
  }
  if (column.figure == std::string_view(per_gpu_figure)) return throughput_per_gpu(result_, row);
  return figure(result_, row, column.figure);
}

namespace {

/// The figures that a sweep is about: its goal, what was published, what is learnt, and how well it scales.
bool is_of_purpose(const Sweep& sweep, std::string_view figure) {
  const Goal& goal = sweep.goal;
  if (goal.figures.contains(std::string(figure))) return true;
  const auto is_published = [&](const PublishedPoint& one) { return one.figure == figure; };
  if (std::ranges::any_of(sweep.published, is_published)) return true;
  if (figure == efficiency_figure) {
    const auto is_size = [](const std::string& key) {
      return key == "nodes" || key == "gpus" || key == ranks_key;
    };
    return goal.efficiency_min || std::ranges::any_of(sweep.keys, is_size);
  }
  if (figure == memory_figure) return std::ranges::find(sweep.keys, precision_key) != sweep.keys.end();
  if (figure == "epoch_time_s") return goal.deadline.has_value();
  if (figure == "cost_per_epoch_usd" || figure == "cost_to_target_usd") return goal.budget.has_value();
  if (figure == "expected_accuracy") return goal.accuracy_min.has_value();
  if (figure == "time_to_target_s") return sweep.is_of_targets || sweep.has_learning;
  return sweep.has_learning && (figure == "final_loss" || figure == "error_floor");
}

}  // namespace

std::vector<doc::Column> SweepColumns::columns() const {
  std::vector<doc::Column> columns;
  for (const SweepColumn& column : columns_) {
    const int dropped = is_of_purpose(result_.sweep, column.figure) ? 0 : column.dropped;
    columns.push_back({.key = column.figure, .head = column.head, .layout = number_column().drops(dropped)});
  }
  return columns;
}

doc::Value SweepColumns::value(const SweepRow& row, std::size_t index) const {
  const auto known = number(row, columns_.at(index));
  if (!known) return doc::Value("-");
  return {
      columns_[index].text(*known, largest_[index]) + assumed_mark_of(result_, row, columns_[index].figure),
      *known};
}

std::string point_in_a_cell(const Sweep& sweep, const PointValues& values) {
  const auto last_word = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == default_value) continue;
    const std::string word = last_word(sweep.keys[i]);
    const auto is_same = [&](const std::string& key) { return last_word(key) == word; };
    const bool is_unique = std::ranges::count_if(sweep.keys, is_same) == 1;
    const bool is_name = sweep.keys[i].find('.') == std::string::npos && !parse_number(values[i]) &&
                         values[i] != "true" && values[i] != "false" &&
                         values[i].find('{') == std::string::npos;
    text += text.empty() ? "" : ", ";
    text += is_name ? values[i] : fmt::format("{}={}", is_unique ? word : sweep.keys[i], values[i]);
  }
  return text.empty() ? default_value : text;
}

std::string one_gpu_in_words(const SweepResult& result) {
  const auto range_of = [&](const char* name) {
    std::pair<double, double> range{};
    if (!has_figure(result, name)) return range;
    for (const SweepRow& row : result.rows) {
      const double value = figure(result, row, name).value_or(0);
      if (value <= 0) continue;
      range = {range.first > 0 ? std::min(range.first, value) : value, std::max(range.second, value)};
    }
    return range;
  };
  const auto in_words = [](std::pair<double, double> range) {
    const std::string least = rounded(range.first);
    const std::string most = rounded(range.second);
    return least == most ? least : least + " to " + most;
  };
  const auto scales = range_of("one_gpu_scale");
  if (scales.first <= 0) return {};
  return fmt::format("one GPU measured: {} samples/s; kernels x {}",
                     in_words(range_of("one_gpu_samples_per_s")), in_words(scales));
}

std::string above_peak_in_words(const SweepResult& result) {
  const auto is_above = [&](const SweepRow& row) {
    return figure_if_stored(result, row, "model_flops_utilization").value_or(0) > 1;
  };
  if (std::ranges::none_of(result.rows, is_above)) return {};
  return fmt::format("MFU above 100 %: {}", above_peak_reason);
}

std::string sweep_line(const SweepResult& result, const SweepRow& row) {
  std::string text = point_in_words(result.sweep, row.point) + ": ";
  if (row.status != PointStatus::done) return text + fmt::format("{}: {}", name_of(row.status), row.reason);
  const auto value = [&](const char* name) { return figure(result, row, name).value(); };
  text += fmt::format("{}, {} samples/s", estimate(Seconds(value("step_time_s"))),
                      rounded(value("throughput_samples_per_s")));
  const std::optional<double> efficiency = figure(result, row, "scaling_efficiency");
  if (!efficiency) return text;  // ranks share a model
  return text + fmt::format(", {} efficiency{}", percent(*efficiency),
                            is_strong_scaling(result.sweep) ? " relative to one GPU with this batch" : "");
}

std::string training_in_words(const SweepResult& result) {
  const Sweep& sweep = result.sweep;
  if (is_of_learners(result)) return "the learner's target";
  if (sweep.goal.target) return *sweep.goal.target;
  if (sweep.is_of_jobs && !sweep.goal.epochs) return "the job";
  const double epochs = sweep.goal.epochs.value_or(1);
  return epochs == 1 ? "an epoch"
                     : (epochs == std::floor(epochs) ? count_text(epochs) : shortest(epochs)) + " epochs";
}

std::string needs_in_words(const SweepResult& result, const Needs& needs) {
  std::string text = fmt::format("{} in {}", training_in_words(result), estimate(Seconds(*needs.time_s)));
  if (const auto& range = needs.time_range; range && range->high_s != range->low_s) {
    text += fmt::format(" ({} to {})", estimate(Seconds(range->low_s)),
                        range->high_s ? estimate(Seconds(*range->high_s)) : "never");
  }
  if (needs.cost_usd) text += ", " + cost_in_words(*needs.cost_usd, needs.is_rent_assumed);
  if (needs.energy_j) text += ", " + estimate(Joules(*needs.energy_j));
  if (needs.accuracy) text += fmt::format(", {} accuracy", percent(*needs.accuracy));
  if (needs.accuracy_low && needs.accuracy_high)
    text += fmt::format(" ({} to {})", percent(*needs.accuracy_low), percent(*needs.accuracy_high));
  if (needs.is_beyond) text += ", batch beyond the published ones";
  return text;
}

std::string needs_compared(const std::vector<Needs>& needs) {
  const bool has_accuracy =
      std::ranges::any_of(needs, [](const Needs& row) { return row.accuracy.has_value(); });
  return has_accuracy ? "time, cost, energy and accuracy" : "time, cost and energy";
}

std::string intervals_in_words(const SweepResult& result, const std::vector<Needs>& needs) {
  const bool has_any =
      std::ranges::any_of(needs, [](const Needs& row) { return row.time_range.has_value(); });
  if (!has_any) return {};
  return is_of_learners(result) ? "Half of the repeats lie within the ranges in brackets."
                                : "80 % of runs are expected to lie within the ranges in brackets.";
}

std::string limits_in_words(const Goal& goal) {
  std::vector<std::string> limits;
  if (goal.deadline) limits.push_back("within " + human(*goal.deadline));
  if (goal.budget) limits.push_back(fmt::format("for at most {} USD", shortest(goal.budget->si())));
  if (goal.gpus_max) limits.push_back("on at most " + count(*goal.gpus_max, "GPU"));
  if (goal.efficiency_min)
    limits.push_back(fmt::format("with at least {} scaling efficiency", percent(*goal.efficiency_min)));
  if (goal.accuracy_min)
    limits.push_back(fmt::format("with at least {} accuracy", percent(*goal.accuracy_min)));
  for (const auto& [figure, condition] : goal.figures)
    limits.push_back(fmt::format("with {} {}", figure, condition));
  return fmt::format("{}", fmt::join(limits, ", "));
}

std::vector<std::pair<const char*, std::size_t>> best_rows(const Choice& choice) {
  std::vector<std::pair<const char*, std::size_t>> rows;
  for (const auto& [label, row] :
       {std::pair("fastest", choice.fastest), std::pair("cheapest", choice.cheapest),
        std::pair("least energy", choice.least_energy), std::pair("most accurate", choice.most_accurate)}) {
    if (row) rows.emplace_back(label, *row);
  }
  return rows;
}

namespace {

/// Names the rows: by their machines if no other row has one of these, otherwise one by one, or only how
/// many they are if there are more than three. `rows` and `others` are indices.
std::string machines_in_words(const SweepResult& result, const std::vector<std::size_t>& rows,
                              const std::vector<std::size_t>& others) {
  constexpr std::size_t most_named = 8;
  constexpr std::size_t most_points_named = 3;
  const auto values = [&](const std::vector<std::size_t>& of, std::string_view key) {
    std::vector<std::string> all;
    for (const std::size_t row : of) {
      std::string value(value_at(result.sweep, result.sweep.points[result.rows[row].point], key));
      if (std::ranges::find(all, value) == all.end()) all.push_back(std::move(value));
    }
    return all;
  };
  std::vector<std::string> names;
  for (const char* const key : {"platform", experiment_key}) {
    names = values(rows, key);
    const std::vector<std::string> known = values(others, key);
    const auto tells_nothing = [&](const std::string& name) {
      return name.empty() || name == default_value || std::ranges::find(known, name) != known.end();
    };
    if (std::ranges::none_of(names, tells_nothing)) break;
    names.clear();
  }
  if (names.empty() && others.empty()) return "all points";
  if (names.empty() && rows.size() > most_points_named)
    return fmt::format("{} of {} points", rows.size(), rows.size() + others.size());
  if (names.empty()) {
    for (const std::size_t row : rows) names.push_back(point_in_words(result.sweep, result.rows[row].point));
  }
  const std::size_t more = names.size() - std::min(names.size(), most_named);
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace

std::vector<std::pair<const char*, std::string>> unknown_needs_in_words(const SweepResult& result,
                                                                        const std::vector<Needs>& needs) {
  std::vector<std::pair<const char*, std::string>> all;
  for (const auto& [label, need] :
       {std::pair("no price", &Needs::cost_usd), std::pair("energy unknown", &Needs::energy_j)}) {
    std::vector<std::size_t> unknown;
    std::vector<std::size_t> known;
    for (std::size_t row = 0; row < needs.size(); ++row) {
      if (needs[row].time_s) (needs[row].*need ? known : unknown).push_back(row);
    }
    if (!unknown.empty()) all.emplace_back(label, machines_in_words(result, unknown, known));
  }
  std::vector<std::size_t> assumed;
  std::vector<std::size_t> others;
  for (std::size_t row = 0; row < needs.size(); ++row) {
    if (needs[row].cost_usd) (needs[row].is_rent_assumed ? assumed : others).push_back(row);
  }
  if (!assumed.empty()) all.emplace_back("assumed price", machines_in_words(result, assumed, others));
  return all;
}

std::string scaling_in_words(const SweepResult& result, const Efficiencies& reached, const Series& series) {
  const auto ranks = [&](std::size_t row) {
    return count_text(figure(result, result.rows[row], "ranks").value());
  };
  const auto efficiency = [&](std::size_t row) { return percent(reached[row].value()); };
  const std::optional<std::size_t> last = efficient_up_to(reached, series, scales_well);
  const auto gpus = [&](std::size_t row) { return ranks(row) + (ranks(row) == "1" ? " GPU" : " GPUs"); };
  std::string text = last ? fmt::format("{} ({})", gpus(*last), efficiency(*last)) : "none";
  if (const std::string range = scaling_range_in_words(result, reached, series); !range.empty())
    text += ", " + range;
  const std::size_t largest = series.rows.back();
  if (!last || *last != largest) text += fmt::format("; {} on {}", efficiency(largest), gpus(largest));
  return text;
}

std::string expected_errors_in_words(const SweepResult& result, std::string_view of_each) {
  constexpr std::string_view lowest = "throughput_low_samples_per_s";
  if (!has_figure(result, lowest)) return {};  // an older store
  std::optional<ErrorBounds> widest;
  std::set<std::string_view> sides;
  int points = 0, known = 0;
  for (const SweepRow& row : result.rows) {
    const auto throughput = figure(result, row, "throughput_samples_per_s");
    const auto low = figure(result, row, lowest);
    const auto high = figure(result, row, "throughput_high_samples_per_s");
    if (!throughput) continue;
    ++points;
    if (!low || !high) continue;
    ++known;
    const ErrorBounds bounds{.low = *low / *throughput - 1, .high = *high / *throughput - 1};
    if (!widest) widest = bounds;
    widest->low = std::min(widest->low, bounds.low);
    widest->high = std::max(widest->high, bounds.high);
    if (const std::string_view side = one_side_of(bounds); !side.empty()) sides.insert(side);
  }
  if (!widest) return {};
  const std::string one_sided =
      sides.empty()
          ? ""
          : fmt::format("; where that does not contain 0, such runs were nearly all {} than predicted",
                        fmt::join(sides, " or all "));
  return fmt::format(
      "expected error of samples/s: within {} in 80 % of comparable published runs, for {}; {} has the "
      "interval of each{}",
      error_range(*widest),
      known == points ? "every point" : fmt::format("{} of {} points, unknown for the others", known, points),
      of_each, one_sided);
}

std::string scaling_range_in_words(const SweepResult& result, const Efficiencies& reached,
                                   const Series& series) {
  const std::optional<EfficientRange> range = efficient_range(result, reached, series, scales_well);
  if (!range) return {};
  const auto ranks = [&](std::size_t row) {
    return count_text(figure(result, result.rows[row], "ranks").value());
  };
  const auto in_words = [&](const std::optional<std::size_t>& row) {
    return row ? ranks(*row) : "fewer than " + ranks(series.rows.front());
  };
  const std::string low = in_words(range->low);
  std::string high = in_words(range->high);
  if (range->is_open) high = "at least " + high;
  if (range->low == range->high) return high + " within the expected error";
  return fmt::format("{} to {} within the expected error", low, high);
}

std::string name_in_words(const GainSeries& series) {
  return series.key + (series.other_keys.empty() ? "" : " with " + series.other_keys);
}

std::string gain_in_words(const GainSeries& series) {
  std::string text = series.values.front();
  for (std::size_t i = 0; i < series.gains.size(); ++i)
    text +=
        fmt::format("{}to {} {}", i == 0 ? " " : ", ", series.values[i + 1], signed_percent(series.gains[i]));
  if (const auto end = gain_ends_at(series); end && series.gains.size() > 1)
    text += fmt::format(": less than {} from {} on", percent(little_gain), series.values[*end]);
  return text;
}

std::string scaling_rule_in_words(const SweepResult& result) {
  return is_relative_to_smallest(result)
             ? "largest GPU count with at least 80 % of the smallest run's throughput per GPU up to there"
             : "largest GPU count with at least 80 % efficiency up to there";
}

}  // namespace trainyard
