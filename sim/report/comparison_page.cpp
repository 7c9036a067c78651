#include "report/comparison_page.hpp"

#include "document/page.hpp"
#include "explain/comparison_error.hpp"
#include "report/comparison_heads.hpp"
#include "report/expected_error.hpp"
#include "report/figure_text.hpp"
#include "report/known_errors.hpp"
#include "report/part_fill.hpp"
#include "report/ratio_error.hpp"
#include "units/text.hpp"
#include "units/text_layout.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>

namespace trainyard {

namespace {

using AllCompared = std::span<const Comparison>;

/// The widest head, in columns, and the widest usual label with its blank.
constexpr std::size_t head_width = 17;
constexpr std::size_t label_columns = 24;
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

std::vector<doc::Labelled> keys_of(AllCompared comparisons) {
  std::vector<doc::Labelled> texts;
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

/// A table without rows. `change`: head of the last column for each run, such as "B / A". With two runs a
/// narrow page drops the column of differences; with more, the columns go on below.
doc::Table empty_table(AllCompared comparisons, std::string key, const std::string& title,
                       const std::function<std::string(const Comparison&)>& change) {
  constexpr std::size_t ratio_width = 9;  // "0.0405 x", "-35.3 %"
  const std::vector<std::string> heads = run_heads(comparisons, head_width);
  std::vector<doc::Column> columns{
      {.head = title, .layout = text_column(label_columns).wraps(14), .most = label_columns - 1},
      {.head = heads.front(), .layout = number_column(head_width)}};
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    columns.push_back({.head = heads[i + 1], .layout = number_column(head_width)});
    if (are_two(comparisons)) columns.push_back({.head = "B - A", .layout = number_column(18).drops(1)});
    columns.push_back(
        {.head = change(comparisons[i]), .layout = number_column(are_two(comparisons) ? 13 : ratio_width)});
  }
  return {.key = std::move(key),
          .title = title,
          .columns = std::move(columns),
          .shape = {.indent = 2,
                    .gap = 1,
                    .goes_on_below = !are_two(comparisons),
                    .head_hangs = true,
                    .elsewhere = "--json"},
          .is_heading = true};
}

/// The figures of all runs: a row for each that at least one of them has, in the order of the longest list.
doc::Table figures_of(AllCompared comparisons) {
  doc::Table table = empty_table(comparisons, "figures", "side by side",
                                 [](const Comparison& one) { return one.letter + " / A"; });
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
      const ComparedFigure compared = of(one, figure);
      largest = std::max({largest, std::abs(compared.a.value_or(0)), std::abs(compared.b.value_or(0))});
    }
    // The numbers of a line have one unit and the same decimals.
    const auto cell = [&](const std::optional<double>& value) {
      return value ? doc::Value(in_unit_like(*value, largest, figure->unit), *value) : doc::Value("-");
    };
    std::optional<double> a;
    for (const Comparison& one : comparisons) a = a ? a : of(one, figure).a;
    doc::Row row{.cells = {std::string(figure->label), cell(a)}};
    for (const Comparison& one : comparisons) {
      const ComparedFigure compared = of(one, figure);
      row.cells.emplace_back(cell(compared.b));
      if (are_two(comparisons)) {
        doc::Value difference = cell(compared.difference);
        if (compared.difference && figure->unit == FigureUnit::share)
          difference.text = fmt::format("{:.1f} points", 100 * *compared.difference);
        if (compared.difference) difference.text = with_sign(difference.text);
        row.cells.emplace_back(std::move(difference));
      }
      row.cells.emplace_back(compared.ratio ? doc::Value(rounded(*compared.ratio) + " x", *compared.ratio)
                                            : doc::Value("-"));
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

doc::Row time_row(AllCompared comparisons, std::string label, const TimesOfRuns& times, int depth) {
  constexpr double rounding = 1e-10;  // relative error that exact sums may leave in the last digit
  const Seconds whole = comparisons.front().step.a;
  Seconds a;
  for (const ComparedTime& time : times) a = std::max(a, time.a);
  doc::Row row{.cells = {std::move(label), doc::Value(human_like(a, whole), a)}, .depth = depth};
  for (const ComparedTime& time : times) {
    const bool is_same = std::abs(time.difference.si()) <= rounding * whole.si();
    const Seconds difference = is_same ? Seconds{} : time.difference;
    row.cells.emplace_back(doc::Value(human_like(time.b, whole), time.b));
    if (are_two(comparisons))
      row.cells.emplace_back(doc::Value(with_sign(human_like(difference, whole)), difference));
    row.cells.emplace_back(doc::Value(signed_percent(difference / whole), difference / whole));
  }
  return row;
}

/// A group of collectives in all comparisons.
struct GroupOfRuns {
  std::string operation, purpose;
  TimesOfRuns times;
};

void add_groups(doc::Table& table, AllCompared comparisons) {
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
    const auto compared = std::ranges::find_if(comparisons.front().groups, [&](const ComparedGroup& one) {
      return one.operation == group.operation && one.purpose == group.purpose;
    });
    std::vector<ComparedCollective> sorted = compared->collectives;
    std::ranges::stable_sort(sorted, std::greater{}, [](const ComparedCollective& one) {
      return std::abs(one.time.difference.si());
    });
    const std::size_t shown = std::min(most_collectives, sorted.size());
    for (std::size_t i = 0; i < shown; ++i)
      table.rows.push_back(time_row(comparisons, sorted[i].name, {sorted[i].time}, 2));
    if (shown < sorted.size())
      table.rows.push_back({.cells = {fmt::format("{} more in --json", sorted.size() - shown)}, .depth = 3});
  }
}

/// The parts of the step of the first run and of each other.
std::map<StepPart, TimesOfRuns> times_of_parts(AllCompared comparisons) {
  std::map<StepPart, TimesOfRuns> parts;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    for (const ComparedPart& part : comparisons[i].parts)
      parts.try_emplace(part.part, comparisons.size()).first->second[i] = part.time;
  }
  return parts;
}

doc::Table parts_of(AllCompared comparisons) {
  const std::string_view share = are_two(comparisons) ? "of A's step" : "of A step";
  doc::Table table = empty_table(comparisons, "parts", "step time by part",
                                 [&](const Comparison&) { return std::string(share); });
  for (const auto& [part, times] : times_of_parts(comparisons)) {
    table.rows.push_back(time_row(comparisons, label_of(part, is_of_updates(comparisons.front())), times, 0));
    if (part == StepPart::communication) add_groups(table, comparisons);
  }
  TimesOfRuns steps;
  for (const Comparison& one : comparisons) steps.push_back(one.step);
  table.rows.push_back(time_row(comparisons, "step time (sum)", steps, 0));
  return table;
}

/// A bar for the step of each run, as long as its time.
doc::Bars bars_of(AllCompared comparisons) {
  const std::vector<std::string> heads = run_heads(comparisons, head_width);
  Seconds longest = comparisons.front().step.a;
  for (const Comparison& one : comparisons) longest = std::max(longest, one.step.b);
  doc::Bars bars{.key = "steps", .title = "step time by part", .bars = {}, .has_legend = true};
  for (const std::string& head : heads) bars.bars.push_back({head, {}});
  for (const auto& [part, times] : times_of_parts(comparisons)) {
    const std::string label = label_of(part, is_of_updates(comparisons.front()));
    const auto add = [&](std::size_t bar, Seconds time) {
      if (time / longest > 1e-9)
        bars.bars[bar].parts.push_back({fill_of(part), label, time / longest, human_like(time, longest)});
    };
    add(0, std::ranges::max(times, {}, &ComparedTime::a).a);
    for (std::size_t i = 0; i < times.size(); ++i) add(i + 1, times[i].b);
  }
  return bars;
}

/// "1.84 predicted; 1.72 to 1.99 (-7 to +8 %) expected". The error must be known.
std::string ratio_in_words(const Comparison& comparison) {
  const double high = highest_ratio(comparison);
  return fmt::format("{} predicted; {} to {} ({} to {} %) expected",
                     rounded_like(comparison.throughput_ratio, high),
                     rounded_like(lowest_ratio(comparison), high), rounded(high),
                     whole_percent(comparison.ratio_error->low), whole_percent(comparison.ratio_error->high));
}

std::vector<doc::Labelled> error_of(AllCompared comparisons) {
  std::vector<doc::Labelled> texts;
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

std::vector<doc::Labelled> ranking_of(AllCompared comparisons) {
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
  std::vector<doc::Labelled> texts;
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

doc::Document comparison_document(AllCompared comparisons) {
  doc::Document page{.title = fmt::format("Comparison of {} runs", comparisons.size() + 1),
                     .version = version()};
  doc::Section& runs = page.section("runs", "runs");
  runs.is_untitled_in_text = true;
  doc::List list{.items = {{"A", description_of(comparisons.front().a)}}, .indent = 0};
  for (const Comparison& one : comparisons) list.items.push_back({one.letter, description_of(one.b)});
  runs.add(std::move(list));
  page.section("input", "differences in the input").add(doc::List{.items = keys_of(comparisons)});
  doc::Section& figures = page.section("figures", "side by side");
  figures.is_untitled_in_text = true;
  figures.add(figures_of(comparisons));
  doc::Section& parts = page.section("parts", "step time by part");
  parts.is_untitled_in_text = true;
  parts.add(bars_of(comparisons));
  parts.add(parts_of(comparisons));
  doc::Section& trust = page.section("trust", "expected error of the comparison");
  for (const doc::Labelled& row : error_of(comparisons)) trust.fact(row.label, row.text);
  if (!are_two(comparisons)) {
    doc::Section& ranking = page.section("ranking", "ranking by samples per second");
    ranking.is_answer = true;
    ranking.add(doc::List{.items = ranking_of(comparisons), .kind = doc::List::Kind::ordered});
  }
  doc::Section& answer = page.section("answer", "in short");
  answer.is_untitled_in_text = answer.is_answer = true;
  for (const Comparison& one : comparisons)
    answer.add(doc::Sentence{.text = comparison_in_words(one), .is_main = true, .indent = 0});
  add_known_errors(page);
  page.sections.back().shown = doc::Shown::browser;
  return page;
}

}  // namespace trainyard
