#include "accuracy/ratio_error.hpp"

#include "accuracy/expected_error.hpp"
#include "units/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <utility>

namespace trainyard {
namespace {

/// An interval needs as many independent pairs; up to nearest_count are used.
constexpr std::size_t fewest_pairs = 8;

/// Weight of a change of GPUs or batch by another factor, for each doubling.
constexpr double octave_weight = 0.5;

/// Weight of another batch to begin with, for each doubling, if the batch changes: whether kernels are small
/// matters then, also across models.
constexpr double batch_weight = 0.3;

/// Distances that differ by less are the same, whatever the order of sums.
constexpr double rounding = 1e-9;

/// Two jobs, or two published runs, and their distances from all runs.
struct Ends {
  const std::vector<double>* from_a = nullptr;
  const std::vector<double>* from_b = nullptr;
  double octaves = 0;
  int smaller_batch = 1;
  bool is_reversed = false;  ///< B comes before A in the order of the property
};

/// Before the widening: of the logarithm of measured over predicted ratio.
struct LocalRatio {
  double centre = 0, half = 0;
  std::size_t pairs = 0;
  std::size_t nearest_a = 0, nearest_b = 0;  ///< runs
};

struct Candidate {
  double distance = 0;
  double error = 0;          ///< of going in A's and B's direction
  bool has_no_side = false;  ///< neither end is nearer to A: either direction is as good
  std::size_t a = 0, b = 0;
};

bool has_order(RunChange change) { return change == RunChange::gpus || change == RunChange::batch; }

/// A pair in the direction of A to B. Pairs without an order have the direction in which they are nearer.
Candidate candidate_of(const PublishedPairs& pairs, RunChange change, const RunPair& pair, const Ends& ends) {
  const auto mean_distance = [&](std::size_t a, std::size_t b) {
    return ((*ends.from_a)[a] + (*ends.from_b)[b]) / 2;
  };
  const Candidate forward{mean_distance(pair.a, pair.b), pair.error, false, pair.a, pair.b};
  const Candidate back{mean_distance(pair.b, pair.a), -pair.error, false, pair.b, pair.a};
  if (!has_order(change)) {
    Candidate nearer = back.distance < forward.distance ? back : forward;
    nearer.has_no_side = std::abs(back.distance - forward.distance) < rounding;
    return nearer;
  }
  Candidate candidate = ends.is_reversed ? back : forward;
  candidate.distance += octave_weight * std::abs(std::abs(ends.octaves) - pair.octaves);
  if (change == RunChange::batch) {
    candidate.distance +=
        batch_weight * std::abs(std::log2(1.0 * ends.smaller_batch / pairs.runs[pair.a].of.batch_per_gpu));
  }
  return candidate;
}

/// Whether a candidate comes later in a stable sort by distance; for a heap whose top is the nearest.
struct IsFurther {
  std::span<const Candidate> candidates;
  bool operator()(std::size_t a, std::size_t b) const {
    return std::pair(candidates[a].distance, a) > std::pair(candidates[b].distance, b);
  }
};

/// Nearest first, each series once: pairs that share a run have a part of their errors in common.
std::vector<Candidate> nearest_pairs(const PublishedPairs& pairs, RunChange change, const Ends& ends,
                                     std::set<int> taken) {
  std::vector<Candidate> candidates;
  candidates.reserve(pairs.by_change[index_of(change)].size());
  for (const RunPair& pair : pairs.by_change[index_of(change)]) {
    candidates.push_back(candidate_of(pairs, change, pair, ends));
    candidates.back().distance = std::round(candidates.back().distance / rounding) * rounding;
  }
  // A heap: of thousands of pairs, few are looked at.
  std::vector<std::size_t> left(candidates.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  const IsFurther is_further{candidates};
  std::ranges::make_heap(left, is_further);
  std::vector<Candidate> nearest;
  for (; !left.empty() && nearest.size() < nearest_count; left.pop_back()) {
    std::ranges::pop_heap(left, is_further);
    const Candidate& one = candidates[left.back()];
    const int a = pairs.runs[one.a].series;
    const int b = pairs.runs[one.b].series;
    if (taken.contains(a) || taken.contains(b)) continue;
    taken.insert({a, b});
    nearest.push_back(one);
  }
  return nearest;
}

/// `is_symmetric`: the pairs say how large errors are, but not in which direction.
std::optional<LocalRatio> local_ratio(const PublishedPairs& pairs, RunChange change, const Ends& ends,
                                      bool is_symmetric, const std::set<int>& without_series) {
  const std::vector<Candidate> nearest = nearest_pairs(pairs, change, ends, without_series);
  if (nearest.size() < fewest_pairs) return std::nullopt;
  std::vector<double> errors;
  std::vector<double> distances;
  for (const Candidate& one : nearest) {
    errors.push_back(one.error);
    errors.push_back(is_symmetric || one.has_no_side ? -one.error : one.error);
    distances.push_back(one.distance);
  }
  const double low = quantile(errors, (1 - expected_share) / 2);
  const double high = quantile(errors, (1 + expected_share) / 2);
  return LocalRatio{.centre = (low + high) / 2,
                    .half = half_width(low, high, mean(distances)),
                    .pairs = nearest.size(),
                    .nearest_a = nearest.front().a,
                    .nearest_b = nearest.front().b};
}

/// The ratio for all changes together, before the widening of `settings` and `several`. A single change needs
/// it, too.
struct JointRatio {
  LocalRatio sum = {};
  RunChange kind = RunChange::settings;
};

std::optional<JointRatio> joint_ratio(const PublishedPairs& pairs, const Circumstances& a,
                                      const Circumstances& b, const std::vector<double>& from_a,
                                      const std::vector<double>& from_b,
                                      const std::set<int>& without_series) {
  const std::vector<RunChange> between = changes_between(a, b);
  JointRatio joint{.sum = {}, .kind = kind_of(between)};
  double squares = 0;
  for (const RunChange change : changes_used(a, b)) {
    const Ends ends{&from_a, &from_b, octaves_between(change, a, b),
                    std::min(a.batch_per_gpu, b.batch_per_gpu), is_reversed(change, a, b)};
    const auto local = local_ratio(pairs, change, ends, between.empty(), without_series);
    if (!local) return std::nullopt;
    if (joint.sum.pairs == 0) joint.sum = {.nearest_a = local->nearest_a, .nearest_b = local->nearest_b};
    const double factor = joint.kind == RunChange::several ? pairs.widening[index_of(change)] : 1;
    joint.sum.pairs += local->pairs;
    joint.sum.centre += local->centre;
    squares += std::pow(factor * local->half, 2);
  }
  joint.sum.half = std::sqrt(squares);
  return joint;
}

std::vector<double> distances_from(const PublishedPairs& pairs, const Circumstances& of) {
  std::vector<double> distances;
  distances.reserve(pairs.runs.size());
  for (const PublishedError& run : pairs.runs) distances.push_back(distance(of, run.of));
  return distances;
}

/// A published pair and the interval that the series of neither run give.
struct ScoredPair {
  RunPair pair = {};
  LocalRatio local = {};
};

/// Runs on one GPU are not scored alone because software is fitted to them; each is predicted without its
/// series, so that pairs with them count.
bool is_pair_end(const PublishedError& run) { return run.is_scored || run.of.gpus == 1; }

class Scoring {
public:
  explicit Scoring(const PublishedErrors& errors)
      : errors_(errors), pairs_(published_pairs(errors, all_pairs())), from_(pairs_.runs.size()) {}

  PublishedPairs& pairs() { return pairs_; }

  [[nodiscard]] std::vector<ScoredPair> scored(RunChange change) {
    std::vector<ScoredPair> all;
    for (const RunPair& pair :
         change == RunChange::several ? pairs_of_two_changes() : pairs_.by_change[index_of(change)]) {
      const PublishedError& a = pairs_.runs[pair.a];
      const PublishedError& b = pairs_.runs[pair.b];
      if (!is_pair_end(a) || !is_pair_end(b)) continue;
      const auto joint = joint_ratio(pairs_, a.of, b.of, from(pair.a), from(pair.b), {a.series, b.series});
      if (joint) all.push_back({pair, joint->sum});
    }
    return all;
  }

private:
  static std::vector<RunChange> all_pairs() {
    std::vector<RunChange> all(single_changes.begin(), single_changes.end());
    all.push_back(RunChange::settings);
    return all;
  }

  const std::vector<double>& from(std::size_t run) {
    if (from_[run].empty()) from_[run] = distances_from(pairs_, pairs_.runs[run].of);
    return from_[run];
  }

  /// Pairs within one publication. There are tens of thousands, which a few thousand represent.
  [[nodiscard]] std::vector<RunPair> pairs_of_two_changes() const {
    constexpr std::size_t every = 11;  // prime, so that it is in step with no order of a table
    std::vector<RunPair> all;
    std::size_t found = 0;
    for (std::size_t i = 0; i < errors_.runs.size(); ++i) {
      for (std::size_t j = i + 1; j < errors_.runs.size(); ++j) {
        const PublishedError& a = errors_.runs[i];
        const PublishedError& b = errors_.runs[j];
        if (publication_of(a) != publication_of(b) || changes_between(a.of, b.of).size() != 2) continue;
        if (found++ % every == 0) all.push_back(run_pair(pairs_, RunChange::several, i, j));
      }
    }
    return all;
  }

  const PublishedErrors& errors_;
  PublishedPairs pairs_;
  std::vector<std::vector<double>> from_;
};

double needed_widening(const ScoredPair& one) {
  return std::abs(one.pair.error - one.local.centre) / one.local.half;
}

/// Sets the widenings of the pairs.
void fit_widenings(Scoring& scoring) {
  NumberByChange& widenings = scoring.pairs().widening;
  widenings = all_ones();
  for (const auto& change : config::Names<RunChange>::table) {  // `several` last: it uses those of the others
    std::vector<double> needed;
    for (const ScoredPair& one : scoring.scored(change.value)) needed.push_back(needed_widening(one));
    if (!needed.empty()) widenings[index_of(change.value)] = quantile(needed, expected_share);
  }
}

/// How well the widenings of `scoring` hold. `scored`: by change, in the order of the enumeration.
std::vector<RatioCoverage> coverages_of(const PublishedErrors& errors, Scoring& scoring,
                                        const std::vector<std::vector<ScoredPair>>& scored) {
  std::vector<double> run_halves;
  for (const PublishedError& run : errors.runs) {
    const auto expected = expected_error(errors, run.of, run.series);
    run_halves.push_back(expected ? (expected->high - expected->low) / 2 : 0);
  }
  run_halves.resize(scoring.pairs().runs.size());  // predicted exactly
  std::vector<RatioCoverage> all;
  for (std::size_t i = 0; i < scored.size(); ++i) {
    const RunChange change = config::Names<RunChange>::table[i].value;
    const double widening = scoring.pairs().widening[index_of(change)];
    std::vector<double> halves;
    std::vector<double> wider;
    int covered = 0;
    for (const ScoredPair& one : scored[i]) {
      covered += needed_widening(one) <= widening ? 1 : 0;
      const double half = widening * one.local.half;
      halves.push_back(std::exp(one.local.centre) * std::sinh(half));
      wider.push_back(std::max(run_halves[one.pair.a], run_halves[one.pair.b]));
    }
    if (halves.empty()) continue;
    all.push_back({.change = change,
                   .pairs = static_cast<int>(halves.size()),
                   .covered = 1.0 * covered / static_cast<double>(halves.size()),
                   .half_width = quantile(halves, 0.5),
                   .run_half_width = quantile(wider, 0.5)});
  }
  return all;
}

}  // namespace

std::vector<RunChange> changes_used(const Circumstances& a, const Circumstances& b) {
  std::vector<RunChange> changes = changes_between(a, b);
  if (changes.empty()) changes = {RunChange::gpus};
  return changes;
}

namespace {

/// Whether whatever is new about two jobs is the same.
bool is_new_alike(const Circumstances& a, const Circumstances& b) {
  return a.use.framework == b.use.framework && a.use.stack == b.use.stack &&
         a.use.generation == b.use.generation && a.kind == b.kind &&
         a.has_recorded_kernels == b.has_recorded_kernels;
}

/// Bounds beyond those of known jobs, of the logarithm of measured over predicted.
LogBounds beyond_known(const PublishedPairs& pairs, const Circumstances& of) {
  const NewCircumstances& errors = *pairs.new_circumstances;
  const auto properties = new_properties(pairs.runs, of);
  if (properties.empty()) return {};
  const LogBounds known = errors.bounds({}, of.mean_op);
  const LogBounds all = errors.bounds(bounding_properties(pairs.fit, of, properties), of.mean_op);
  return {.low = std::min(0.0, all.low - known.low), .high = std::max(0.0, all.high - known.high)};
}

/// The error that new properties add to both sides of the logarithm of B over A.
LogBounds of_new_properties(const PublishedPairs& pairs, const Circumstances& a, const Circumstances& b) {
  if (!pairs.new_circumstances) return {};
  const LogBounds of_a = beyond_known(pairs, a);
  const LogBounds of_b = beyond_known(pairs, b);
  if (is_new_alike(a, b)) {  // their errors differ by as much as their bounds do
    const double low = of_b.low - of_a.low;
    const double high = of_b.high - of_a.high;
    return {.low = std::min({0.0, low, high}), .high = std::max({0.0, low, high})};
  }
  return {.low = -std::hypot(of_b.low, of_a.high), .high = std::hypot(of_b.high, of_a.low)};
}

}  // namespace

std::optional<RatioError> ratio_error(const PublishedPairs& pairs, const Circumstances& a,
                                      const Circumstances& b, OtherChange other) {
  const auto joint = joint_ratio(pairs, a, b, distances_from(pairs, a), distances_from(pairs, b), {});
  if (!joint) return std::nullopt;
  const bool is_communication = joint->kind == RunChange::settings && other == OtherChange::communication;
  const RunChange kind = is_communication ? RunChange::gpus : joint->kind;
  const double half = pairs.widening[index_of(kind)] * joint->sum.half;
  const LogBounds added = of_new_properties(pairs, a, b);
  return RatioError{.changes = changes_between(a, b),
                    .low = std::exp(joint->sum.centre - std::hypot(half, added.low)) - 1,
                    .high = std::exp(joint->sum.centre + std::hypot(half, added.high)) - 1,
                    .pairs = static_cast<int>(joint->sum.pairs),
                    .nearest_a = pairs.runs[joint->sum.nearest_a],
                    .nearest_b = pairs.runs[joint->sum.nearest_b]};
}

NumberByChange ratio_widenings(const PublishedErrors& errors) {
  Scoring scoring(errors);
  fit_widenings(scoring);
  return scoring.pairs().widening;
}

std::vector<RatioCoverage> ratio_coverage(const PublishedErrors& errors) {
  Scoring scoring(errors);
  std::vector<std::vector<ScoredPair>> scored;
  for (const auto& change : config::Names<RunChange>::table) scored.push_back(scoring.scored(change.value));
  return coverages_of(errors, scoring, scored);
}

}  // namespace trainyard
