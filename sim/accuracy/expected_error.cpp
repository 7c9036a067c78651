#include "accuracy/expected_error.hpp"

#include "units/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

/// Assumed costs: the more two runs differ, the less their errors have in common.
double weight(bool differs, double cost) { return differs ? cost : 0; }

double octaves(double a, double b) { return std::abs(std::log2(a / b)); }

bool has_sequences(std::string_view model) { return model.find('@') != std::string_view::npos; }

double log_ratio(const PublishedError& run) { return std::log(run.measured / run.predicted); }

bool is_on_processors(const Circumstances& of) { return of.use.generation == of_processors; }

/// Whether two runs have anything in common: of processors, errors of another machine say nothing.
bool is_comparable(const Circumstances& a, const Circumstances& b) {
  return is_on_processors(a) == is_on_processors(b) && (!is_on_processors(a) || a.platform == b.platform);
}

/// A run and its distance.
using Near = std::pair<double, const PublishedError*>;

/// Before the widening: of log(measured / predicted).
struct LocalInterval {
  double centre = 0, half = 0;
  double mean_distance = 0;
  std::vector<Near> nearest;
};

void keep_few_of_each_family(std::vector<Near>& nearest) {
  std::map<int, std::size_t> kept;
  std::erase_if(nearest, [&](const Near& near) { return ++kept[near.second->series] > most_of_a_family; });
}

std::optional<LocalInterval> local_interval(const PublishedErrors& errors, const Circumstances& of,
                                            std::optional<int> without_series) {
  LocalInterval local;
  for (const PublishedError& run : errors.runs) {
    if (run.series != without_series && is_comparable(run.of, of))
      local.nearest.emplace_back(distance(run.of, of), &run);
  }
  const std::size_t least = is_on_processors(of) ? least_on_processors : nearest_count;
  if (local.nearest.size() < least) return std::nullopt;
  std::ranges::stable_sort(local.nearest, {}, [](const auto& near) { return near.first; });
  if (of.layout) keep_few_of_each_family(local.nearest);
  if (local.nearest.size() < least) return std::nullopt;
  local.nearest.resize(std::min(local.nearest.size(), nearest_count));
  std::vector<double> ratios;
  std::vector<double> distances;
  for (const auto& [far, run] : local.nearest) {
    ratios.push_back(log_ratio(*run));
    distances.push_back(far);
  }
  const double low = quantile(ratios, (1 - expected_share) / 2);
  const double high = quantile(ratios, (1 + expected_share) / 2);
  local.centre = (low + high) / 2;
  local.mean_distance = mean(distances);
  local.half = half_width(low, high, local.mean_distance);
  return local;
}

/// Whether machine, software and scale are the same.
bool is_same(const Circumstances& a, const Circumstances& b) {
  return a.platform == b.platform && a.nodes == b.nodes && a.gpus == b.gpus && a.use == b.use &&
         a.has_fp8 == b.has_fp8 && a.layout == b.layout && a.divides_layers == b.divides_layers;
}

double distance(const LayoutUse& a, const LayoutUse& b) {
  const auto divides_layers = [](const LayoutUse& layout) { return layout.tensor * layout.context > 1; };
  return weight(divides_layers(a) != divides_layers(b), 1) + weight((a.pipeline > 1) != (b.pipeline > 1), 1) +
         weight(a.sharded != b.sharded, 1) + weight(a.has_experts != b.has_experts, 2) +
         0.3 * octaves(std::max(a.tokens, 1), std::max(b.tokens, 1));
}

}  // namespace

double distance(const Circumstances& a, const Circumstances& b) {
  const SoftwareUse& x = a.use;
  const SoftwareUse& y = b.use;
  double far = weight(a.platform != b.platform, 1) + weight(x.generation != y.generation, 1) +
               weight(x.framework != y.framework, 1) + weight(x.stack != y.stack, 0.7) +
               weight(x.precision != y.precision || a.has_fp8 != b.has_fp8, 1) +
               weight(has_sequences(x.model) != has_sequences(y.model), 1);
  const bool is_same_model = without_length(x.model) == without_length(y.model);
  if (!a.layout || !b.layout) far += weight(!is_same_model, 0.7);
  far += weight((a.nodes > 1) != (b.nodes > 1), 1) + weight((a.gpus > 1) != (b.gpus > 1), 0.5) +
         0.5 * octaves(a.gpus, b.gpus);
  if (a.layout && b.layout) return far + distance(*a.layout, *b.layout);
  far += weight(a.divides_layers != b.divides_layers, 1);
  if (is_same_model) far += 0.3 * octaves(a.batch_per_gpu, b.batch_per_gpu);
  return far;
}

namespace {

/// The first run with the same software, otherwise the first of all.
const PublishedError& nearest_of(const std::vector<Near>& nearest, const SoftwareUse& use) {
  const auto found = std::ranges::find_if(nearest, [&](const Near& near) {
    const SoftwareUse& other = near.second->of.use;
    return other.framework == use.framework && other.stack == use.stack;
  });
  return *(found == nearest.end() ? nearest.front() : *found).second;
}

/// For a machine of processors without runs of its own.
std::optional<ExpectedError> error_on_other_processors(const PublishedErrors& errors,
                                                       const Circumstances& of) {
  std::vector<Near> nearest;
  double largest = std::log(factor_on_other_processors);
  for (const PublishedError& run : errors.runs) {
    if (!is_on_processors(run.of)) continue;
    nearest.emplace_back(distance(run.of, of), &run);
    largest = std::max(largest, std::abs(log_ratio(run)));
  }
  if (nearest.size() < least_on_processors) return std::nullopt;
  std::ranges::stable_sort(nearest, {}, [](const auto& near) { return near.first; });
  std::set<int> series;
  double sum = 0;
  for (const auto& [far, run] : nearest) {
    series.insert(run->series);
    sum += far;
  }
  return ExpectedError{.low = std::exp(-largest) - 1,
                       .high = std::exp(largest) - 1,
                       .runs = static_cast<int>(nearest.size()),
                       .series = static_cast<int>(series.size()),
                       .mean_distance = sum / static_cast<double>(nearest.size()),
                       .nearest = nearest_of(nearest, of.use),
                       .is_of_other_machines = true};
}

std::optional<ExpectedError> found_error(const PublishedErrors& errors, const Circumstances& of,
                                         std::optional<int> without_series) {
  const auto local = local_interval(errors, of, without_series);
  if (!local && is_on_processors(of) && !without_series) return error_on_other_processors(errors, of);
  if (!local) return std::nullopt;
  const double half = errors.widening * local->half;
  LogBounds bounds{.low = local->centre - half, .high = local->centre + half};
  std::vector<NewProperty> unmeasured;
  if (errors.new_circumstances && !is_on_processors(of))
    unmeasured = new_properties(errors.runs, of, without_series);
  if (!unmeasured.empty()) {
    const std::vector<NewProperty> bounding = bounding_properties(errors.fit, of, unmeasured);
    const LogBounds unmeasured_bounds = errors.new_circumstances->bounds(bounding, of.mean_op);
    if (is_of_kernels_alone(bounding))
      bounds = unmeasured_bounds;
    else
      bounds = {.low = std::min(unmeasured_bounds.low, bounds.low),
                .high = std::max(unmeasured_bounds.high, bounds.high)};
  }
  ExpectedError expected{.low = std::exp(bounds.low) - 1,
                         .high = std::exp(bounds.high) - 1,
                         .runs = static_cast<int>(local->nearest.size()),
                         .series = 0,
                         .mean_distance = local->mean_distance,
                         .nearest = nearest_of(local->nearest, of.use),
                         .same = std::nullopt,
                         .unmeasured = {}};
  // the framework on a generation, if the generation is new, says no more
  if (std::ranges::find(unmeasured, NewProperty::generation) != unmeasured.end())
    std::erase(unmeasured, NewProperty::framework);
  for (const NewProperty each : unmeasured) expected.unmeasured.push_back(property_in_words(each, of));
  std::set<int> series;
  for (const auto& [far, run] : local->nearest) series.insert(run->series);
  expected.series = static_cast<int>(series.size());
  for (const auto& [far, run] : local->nearest) {
    if (expected.same || !is_same(run->of, of)) continue;
    expected.same = *run;
  }
  return expected;
}

}  // namespace

std::optional<ExpectedError> expected_error(const PublishedErrors& errors, const Circumstances& of,
                                            std::optional<int> without_series) {
  if (!errors.known || without_series) return found_error(errors, of, without_series);
  return errors.known->by_job.get(of, [&] { return found_error(errors, of, without_series); });
}

void keep_expected_errors(PublishedErrors& errors) { errors.known = std::make_shared<ExpectedErrorMemo>(); }

double widening_of(const PublishedErrors& errors) {
  const bool has_bounds = errors.fit != one_gpu_fit;
  std::vector<double> needed;
  for (const PublishedError& run : errors.runs) {
    if (!run.is_scored) continue;
    if (has_bounds && !new_properties(errors.runs, run.of, run.series).empty()) continue;
    if (const auto local = local_interval(errors, run.of, run.series))
      needed.push_back(std::abs(log_ratio(run) - local->centre) / local->half);
  }
  return needed.empty() ? 1 : quantile(needed, expected_share);
}

ExpectedError either_way(ExpectedError expected) {
  const double factor =
      std::max({1 / (1 + expected.low), 1 + expected.low, 1 / (1 + expected.high), 1 + expected.high});
  expected.low = 1 / factor - 1;
  expected.high = factor - 1;
  expected.is_either_way = true;
  return expected;
}

bool covers(const ExpectedError& interval, double ratio) {
  return ratio >= interval.low && ratio <= interval.high;
}

}  // namespace trainyard
