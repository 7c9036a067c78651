#include "report/comparison_report.hpp"

#include "explain/comparison_error.hpp"
#include "report/comparison_heads.hpp"
#include "report/comparison_table.hpp"
#include "report/expected_error.hpp"
#include "report/figure_text.hpp"
#include "report/page.hpp"
#include "report/ratio_error.hpp"
#include "report/text_layout.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>

namespace trainyard {

namespace {

using AllCompared = std::span<const Comparison>;

/// Shows this number of a group's collectives, those with the largest changes.
constexpr std::size_t most_collectives = 4;

bool are_two(AllCompared comparisons) { return comparisons.size() == 1; }

std::string description_of(const RunSummary& run) {
  const auto whole = [&](std::string_view field) { return std::llround(number_of(run, field)); };
  const std::string batch = whole("accumulation") > 1 ? fmt::format("{} x ", whole("accumulation")) : "";
  std::string text = fmt::format(
      "{}, {} on {} of {} x {}; {}, {}, {}, batch {}{} per GPU, fidelity {}", text_of(run, "experiment"),
      text_of(run, "model"), count(whole("ranks"), "GPU"), grouped(whole("nodes")), text_of(run, "platform"),
      text_of(run, "stack"), text_of(run, "precision"), text_of(run, "optimizer"), batch,
      grouped(whole("batch_per_gpu")), text_of(run, "fidelity"));
  if (const auto gpu = run.experiment_keys.find("platform.node.gpus.profile");
      gpu != run.experiment_keys.end())
    text += "; its GPUs are " + gpu->second;
  const auto figure_of = [&](std::string_view field) { return run.figures.at(index_of(field, run.table)); };
  if (figure_of("one_gpu_scale") && figure_of("one_gpu_samples_per_s")) {
    text += fmt::format("; one GPU measured: {} samples/s; kernels x {}",
                        rounded(number_of(run, "one_gpu_samples_per_s")),
                        rounded(number_of(run, "one_gpu_scale")));
  }
  const std::string changed = text_of(run, "changed_keys");
  if (!changed.empty()) text += "; set on the command line: " + changed;
  return text;
}

std::string value_of_key(const std::optional<std::string>& value) { return value ? *value : "not set"; }

std::vector<LabelledText> keys_of(AllCompared comparisons) {
  std::vector<LabelledText> texts;
  for (const Comparison& one : comparisons) {
    const std::string letter = are_two(comparisons) ? "" : one.letter;
    if (one.keys.empty())
      texts.push_back(
          {letter, are_two(comparisons) ? "none: the experiments are the same" : "none: the same as A"});
    for (const ComparedKey& key : one.keys)
      texts.push_back(
          {letter, fmt::format("{}: {} -> {}", key.path, value_of_key(key.a), value_of_key(key.b))});
  }
  return texts;
}

/// The columns of a table. `change`: head of the last column for each run, such as "B / A".
std::vector<std::string> heads_of_table(AllCompared comparisons,
                                        const std::function<std::string(const Comparison&)>& change) {
  const std::vector<std::string> heads = run_heads(comparisons, head_width);
  std::vector<std::string> columns{heads.front()};
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    columns.push_back(heads[i + 1]);
    if (are_two(comparisons)) columns.emplace_back("B - A");
    columns.push_back(change(comparisons[i]));
  }
  return columns;
}

/// The figures of all runs: a row for each that at least one of them has, in the order of the longest list.
ComparedTable figures_of(AllCompared comparisons) {
  ComparedTable table{
      .title = "side by side",
      .columns = heads_of_table(comparisons, [](const Comparison& one) { return one.letter + " / A"; }),
      .rows = {}};
  std::vector<const Figure*> figures;
  for (const Comparison& one : comparisons) {
    for (const ComparedFigure& figure : one.figures) {
      if (std::ranges::find(figures, figure.figure) == figures.end()) figures.push_back(figure.figure);
    }
  }
  const auto of = [](const Comparison& one, const Figure* figure) {
    const auto found = std::ranges::find(one.figures, figure, &ComparedFigure::figure);
    return found == one.figures.end() ? ComparedFigure{} : *found;
  };
  for (const Figure* figure : figures) {
    double largest = 0;
    for (const Comparison& one : comparisons) {
      const ComparedFigure its = of(one, figure);
      largest = std::max({largest, std::abs(its.a.value_or(0)), std::abs(its.b.value_or(0))});
    }
    // The numbers of a line have one unit and the same decimals.
    const auto text = [&](const std::optional<double>& value) {
      return value ? in_unit_like(*value, largest, figure->unit) : std::string("-");
    };
    std::optional<double> a;
    for (const Comparison& one : comparisons) a = a ? a : of(one, figure).a;
    ComparedTable::Row row{.label = std::string(figure->label), .cells = {text(a)}};
    for (const Comparison& one : comparisons) {
      const ComparedFigure its = of(one, figure);
      row.cells.push_back(text(its.b));
      if (are_two(comparisons)) {
        const bool is_share = its.difference && figure->unit == FigureUnit::share;
        const std::string difference =
            is_share ? fmt::format("{:.1f} points", 100 * *its.difference) : text(its.difference);
        row.cells.push_back(its.difference ? with_sign(difference) : difference);
      }
      row.cells.push_back(its.ratio ? rounded(*its.ratio) + " x" : "-");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string label_of(StepPart part, bool of_updates) {
  if (part == StepPart::communication) return std::string(communication_word(of_updates));
  std::string label(config::name_of(part));
  std::ranges::replace(label, '_', ' ');
  return label;
}

/// The same time in all comparisons; zero in those that lack it.
using TimesOfRuns = std::vector<ComparedTime>;

ComparedTable::Row time_row(AllCompared comparisons, std::string label, const TimesOfRuns& times, int depth) {
  constexpr double rounding = 1e-10;  // relative error that exact sums may leave in the last digit
  const Seconds whole = comparisons.front().step.a;
  Seconds a;
  for (const ComparedTime& time : times) a = std::max(a, time.a);
  ComparedTable::Row row{.label = std::move(label), .cells = {human_like(a, whole)}, .depth = depth};
  for (const ComparedTime& time : times) {
    const bool is_same = std::abs(time.difference.si()) <= rounding * whole.si();
    const Seconds difference = is_same ? Seconds{} : time.difference;
    row.cells.push_back(human_like(time.b, whole));
    if (are_two(comparisons)) row.cells.push_back(with_sign(human_like(difference, whole)));
    row.cells.push_back(signed_percent(difference / whole));
  }
  return row;
}

/// A group of collectives in all comparisons.
struct GroupOfRuns {
  std::string operation, purpose;
  TimesOfRuns times;
};

void add_groups(ComparedTable& table, AllCompared comparisons) {
  std::vector<GroupOfRuns> groups;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    for (const ComparedGroup& group : comparisons[i].groups) {
      if (group.operation.empty()) continue;
      auto known = std::ranges::find_if(groups, [&](const GroupOfRuns& one) {
        return one.operation == group.operation && one.purpose == group.purpose;
      });
      if (known == groups.end())
        known =
            groups.insert(groups.end(), {group.operation, group.purpose, TimesOfRuns(comparisons.size())});
      known->times[i] = group.time;
    }
  }
  for (const GroupOfRuns& group : groups) {
    table.rows.push_back(
        time_row(comparisons, fmt::format("{}, {}", group.operation, group.purpose), group.times, 1));
    if (!are_two(comparisons)) continue;
    const auto its = std::ranges::find_if(comparisons.front().groups, [&](const ComparedGroup& one) {
      return one.operation == group.operation && one.purpose == group.purpose;
    });
    std::vector<ComparedCollective> sorted = its->collectives;
    std::ranges::stable_sort(sorted, std::greater{}, [](const ComparedCollective& one) {
      return std::abs(one.time.difference.si());
    });
    const std::size_t shown = std::min(most_collectives, sorted.size());
    for (std::size_t i = 0; i < shown; ++i)
      table.rows.push_back(time_row(comparisons, sorted[i].name, {sorted[i].time}, 2));
    if (shown < sorted.size())
      table.rows.push_back(
          {.label = fmt::format("{} more in --json", sorted.size() - shown), .cells = {}, .depth = 3});
  }
}

ComparedTable parts_of(AllCompared comparisons) {
  const bool are_many = !are_two(comparisons);
  ComparedTable table{.title = "step time by part",
                      .columns = heads_of_table(comparisons,
                                                [&](const Comparison&) {
                                                  return std::string(are_many ? "of A step" : "of A's step");
                                                }),
                      .rows = {}};
  std::map<StepPart, TimesOfRuns> parts;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    for (const ComparedPart& part : comparisons[i].parts)
      parts.try_emplace(part.part, comparisons.size()).first->second[i] = part.time;
  }
  for (const auto& [part, times] : parts) {
    table.rows.push_back(time_row(comparisons, label_of(part, is_of_updates(comparisons.front())), times, 0));
    if (part == StepPart::communication) add_groups(table, comparisons);
  }
  TimesOfRuns steps;
  for (const Comparison& one : comparisons) steps.push_back(one.step);
  table.rows.push_back(time_row(comparisons, "step time (sum)", steps, 0));
  return table;
}

/// "1.84 predicted; 1.72 to 1.99 (-7 to +8 %) expected". The error must be known.
std::string ratio_in_words(const Comparison& comparison) {
  const double high = highest_ratio(comparison);
  return fmt::format("{} predicted; {} to {} ({} to {} %) expected",
                     rounded_like(comparison.throughput_ratio, high),
                     rounded_like(lowest_ratio(comparison), high), rounded(high),
                     whole_percent(comparison.ratio_error->low), whole_percent(comparison.ratio_error->high));
}

std::vector<LabelledText> error_of(AllCompared comparisons) {
  std::vector<LabelledText> texts;
  if (are_two(comparisons)) {
    const Comparison& one = comparisons.front();
    if (!one.ratio_error) return {{"unknown", one.ratio_error.error()}};
    return {{"verdict", verdict_in_words(one)},
            {"samples/s, B/A", ratio_in_words(one)},
            {"comes from", ratio_source_in_words(*one.ratio_error)}};
  }
  for (const Comparison& one : comparisons) {
    texts.push_back({fmt::format("samples/s, {}/A", one.letter),
                     one.ratio_error ? fmt::format("{}; {}", ratio_in_words(one), verdict_in_words(one))
                                     : "unknown: " + one.ratio_error.error()});
  }
  return texts;
}

std::vector<LabelledText> ranking_of(AllCompared comparisons) {
  struct Ranked {
    std::string head;
    double ratio = 1;
    const Comparison* comparison = nullptr;  ///< none for the first run
  };
  const std::vector<std::string> heads = run_heads(comparisons, head_width);
  std::vector<Ranked> ranked{{heads.front()}};
  for (std::size_t i = 0; i < comparisons.size(); ++i)
    ranked.push_back({heads[i + 1], comparisons[i].throughput_ratio, &comparisons[i]});
  std::ranges::stable_sort(ranked, std::greater{}, &Ranked::ratio);
  std::vector<LabelledText> texts;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const Comparison* const one = ranked[i].comparison;
    std::string text = ranked[i].head;
    const double samples = throughput(one == nullptr ? comparisons.front().a : one->b);
    text += fmt::format(": {} samples/s", rounded(samples));
    if (one != nullptr) {
      text += fmt::format(", {} x A", rounded(one->throughput_ratio));
      if (one->ratio_error)
        text += fmt::format(" ({} to {} expected, {} the expected error)",
                            rounded_like(lowest_ratio(*one), highest_ratio(*one)),
                            rounded(highest_ratio(*one)), verdict_word(*one));
      else
        text += " (expected error unknown)";
    }
    texts.push_back({fmt::format("{}.", i + 1), std::move(text)});
  }
  return texts;
}

}  // namespace

std::string in_one_line(const LabelledText& labelled) {
  return labelled.label.empty() ? labelled.text : labelled.label + ": " + labelled.text;
}

ComparisonReport comparison_report(AllCompared comparisons) {
  ComparisonReport report;
  report.runs.push_back({"A", description_of(comparisons.front().a)});
  for (const Comparison& one : comparisons) report.runs.push_back({one.letter, description_of(one.b)});
  report.keys = keys_of(comparisons);
  report.tables = {figures_of(comparisons), parts_of(comparisons)};
  report.error = error_of(comparisons);
  if (!are_two(comparisons)) report.ranking = ranking_of(comparisons);
  for (const Comparison& one : comparisons) report.conclusion.push_back(comparison_in_words(one));
  return report;
}

}  // namespace trainyard
