#include "explain/comparison.hpp"

#include "config/diagnostic.hpp"
#include "config/keys.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <map>

namespace trainyard {

namespace {

/// Converts seconds to whole numbers of a power of ten.
class TimeGrid {
public:
  /// The finest unit in which `longest` has at most twelve digits, as many as JSON shows.
  explicit TimeGrid(Seconds longest) {
    constexpr double most = 1e12;
    constexpr double finest = 1e22;  // powers of ten up to here are exact
    while (per_second_ < finest && longest.si() * per_second_ * 10 < most) per_second_ *= 10;
  }

  [[nodiscard]] std::int64_t whole(Seconds time) const { return std::llround(time.si() * per_second_); }
  [[nodiscard]] Seconds seconds(std::int64_t number) const {
    return Seconds{static_cast<double>(number) / per_second_};
  }
  [[nodiscard]] ComparedTime times(std::int64_t a, std::int64_t b) const {
    return {.a = seconds(a), .b = seconds(b), .difference = seconds(b - a)};
  }

private:
  double per_second_ = 1;
};

/// A separately measured piece of a step: a part, or a collective of the part `communication`.
struct Leaf {
  StepPart part{};
  std::string operation = {}, purpose = {}, collective = {};
  Seconds time = {};
  std::int64_t whole = 0;
};

/// Runs of many updates have all kernels in one part, and all exchanges in another.
bool is_by_update(const RunSummary& run) {
  return std::ranges::find(run.parts, StepPart::compute, &PartTime::part) != run.parts.end();
}

bool is_of_kernels(StepPart part) {
  return part == StepPart::forward || part == StepPart::backward || part == StepPart::recompute ||
         part == StepPart::optimizer || part == StepPart::decoding || part == StepPart::kernel_slowdown;
}

/// `in_few_parts`: the other run is of many updates, so all kernels are one part here as well.
std::vector<Leaf> leaves_of(const RunSummary& run, const TimeGrid& grid, bool in_few_parts) {
  std::vector<Leaf> leaves;
  for (const PartTime& part : run.parts) {
    if (in_few_parts && is_of_kernels(part.part)) {
      leaves.push_back({.part = StepPart::compute, .time = part.time});
    } else if (part.part == StepPart::communication && !run.collectives.empty() && !in_few_parts) {
      for (const NamedExposure& one : run.collectives)
        leaves.push_back({part.part, one.operation, one.purpose, one.collective, one.exposed});
    } else {
      leaves.push_back({.part = part.part, .time = part.time});
    }
  }
  // no part is much longer than the step: its whole number would not fit
  const auto is_sensible = [&](const Leaf& leaf) {
    return std::abs(leaf.time.si()) < 2 * step_time(run).si();
  };
  bool is_sum = !leaves.empty() && std::ranges::all_of(leaves, is_sensible);
  Seconds sum;
  for (const Leaf& leaf : leaves) sum += leaf.time;
  constexpr double rounding = 1e-8;
  is_sum = is_sum && std::abs(sum / step_time(run) - 1) < rounding;
  if (!is_sum) {
    throw InputError(
        fmt::format("the parts of the step of '{}' do not add up to its time", text_of(run, "experiment")),
        "run the experiment again");
  }
  std::int64_t whole = 0;
  for (Leaf& leaf : leaves) whole += leaf.whole = grid.whole(leaf.time);
  // The remainder of rounding goes to the largest piece, where it is the smallest share.
  std::ranges::max_element(leaves, {}, &Leaf::whole)->whole += grid.whole(step_time(run)) - whole;
  return leaves;
}

struct Pair {
  std::int64_t a = 0, b = 0;
};

void add_parts(const std::vector<Leaf>& a, const std::vector<Leaf>& b, const TimeGrid& grid,
               Comparison& result) {
  std::map<StepPart, Pair> sums;
  for (const Leaf& leaf : a) sums[leaf.part].a += leaf.whole;
  for (const Leaf& leaf : b) sums[leaf.part].b += leaf.whole;
  for (const auto& [part, sum] : sums) {
    if (sum.a != 0 || sum.b != 0) result.parts.push_back({part, grid.times(sum.a, sum.b)});
  }
}

/// Collectives of one operation and purpose, by name, in order of first appearance.
struct Group {
  std::string operation, purpose;
  std::vector<std::pair<std::string, Pair>> collectives;
};

Pair& pair_of(std::vector<Group>& groups, const Leaf& leaf) {
  const auto is_group_of_leaf = [&](const Group& group) {
    return group.operation == leaf.operation && group.purpose == leaf.purpose;
  };
  auto group = std::ranges::find_if(groups, is_group_of_leaf);
  if (group == groups.end()) group = groups.insert(groups.end(), {leaf.operation, leaf.purpose, {}});
  auto one = std::ranges::find(group->collectives, leaf.collective, &std::pair<std::string, Pair>::first);
  if (one == group->collectives.end())
    one = group->collectives.insert(group->collectives.end(), {leaf.collective, {}});
  return one->second;
}

void add_groups(const std::vector<Leaf>& a, const std::vector<Leaf>& b, const TimeGrid& grid,
                Comparison& result) {
  std::vector<Group> groups;
  for (const Leaf& leaf : a) {
    if (leaf.part == StepPart::communication && leaf.whole != 0) pair_of(groups, leaf).a += leaf.whole;
  }
  for (const Leaf& leaf : b) {
    if (leaf.part == StepPart::communication && leaf.whole != 0) pair_of(groups, leaf).b += leaf.whole;
  }
  for (const Group& group : groups) {
    ComparedGroup& compared =
        result.groups.emplace_back(ComparedGroup{group.operation, group.purpose, {}, {}});
    Pair sum;
    for (const auto& [name, one] : group.collectives) {
      sum.a += one.a;
      sum.b += one.b;
      if (!name.empty()) compared.collectives.push_back({name, grid.times(one.a, one.b)});
    }
    compared.time = grid.times(sum.a, sum.b);
  }
}

std::vector<ComparedKey> different_keys(const RunSummary& a, const RunSummary& b) {
  std::map<std::string, ComparedKey> keys;
  for (const auto& [path, value] : a.experiment_keys) keys[path].a = value;
  for (const auto& [path, value] : b.experiment_keys) keys[path].b = value;
  std::vector<ComparedKey> different;
  for (auto& [path, key] : keys) {
    if (key.a == key.b) continue;
    key.path = path;
    different.push_back(std::move(key));
  }
  return different;
}

std::optional<double> number_in(const std::optional<FigureValue>& value) {
  return value ? std::optional(std::get<double>(*value)) : std::nullopt;
}

/// The key figures first.
std::vector<ComparedFigure> compared_figures(const RunSummary& a, const RunSummary& b) {
  std::vector<ComparedFigure> figures;
  for (std::size_t i = 0; i < a.table.size(); ++i) {
    const Figure& one = a.table[i];
    if (!one.shown.in_comparison || one.unit == FigureUnit::text) continue;
    const std::optional<double> of_a = number_in(a.figures[i]);
    const std::optional<double> of_b = number_in(b.figures[i]);
    if (!of_a && !of_b) continue;
    ComparedFigure& figure = figures.emplace_back(ComparedFigure{
        .figure = &one, .a = of_a, .b = of_b, .difference = {}, .ratio = ratio_of(of_a, of_b)});
    if (of_a && of_b) figure.difference = *of_b - *of_a;
  }
  std::ranges::stable_partition(figures, [](const ComparedFigure& one) { return one.figure->shown.as_tile; });
  return figures;
}

}  // namespace

std::optional<double> ratio_of(std::optional<double> a, std::optional<double> b) {
  if (!a || !b || *a == 0) return std::nullopt;
  return *b / *a;
}

namespace {

Comparison compare_in_parts(RunSummary a, RunSummary b, bool in_few_parts) {
  const TimeGrid grid(std::max(step_time(a), step_time(b)));
  const std::vector<Leaf> leaves_a = leaves_of(a, grid, in_few_parts);
  const std::vector<Leaf> leaves_b = leaves_of(b, grid, in_few_parts);
  Comparison result;
  result.keys = different_keys(a, b);
  result.figures = compared_figures(a, b);
  result.step = grid.times(grid.whole(step_time(a)), grid.whole(step_time(b)));
  add_parts(leaves_a, leaves_b, grid, result);
  add_groups(leaves_a, leaves_b, grid, result);
  result.step_ratio = step_time(b) / step_time(a);
  result.throughput_ratio = throughput(b) / throughput(a);
  result.a = std::move(a);
  result.b = std::move(b);
  return result;
}

}  // namespace

Comparison compare(RunSummary a, RunSummary b) {
  const bool in_few_parts = is_by_update(a) || is_by_update(b);
  return compare_in_parts(std::move(a), std::move(b), in_few_parts);
}

std::vector<Comparison> compare_with_first(const std::vector<RunSummary>& runs) {
  const bool in_few_parts = std::ranges::any_of(runs, is_by_update);
  std::vector<Comparison> all;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    all.push_back(compare_in_parts(runs.front(), runs[i], in_few_parts));
    all.back().letter = letter_of(i);
  }
  return all;
}

std::string letter_of(std::size_t run) { return {static_cast<char>('A' + run)}; }

}  // namespace trainyard
