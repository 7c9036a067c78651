#include "sweep/efficiency_error.hpp"

#include "accuracy/ratio_error.hpp"
#include "config/diagnostic.hpp"
#include "experiment/prediction_error.hpp"
#include "sweep/read_point.hpp"
#include "sweep/scaling.hpp"
#include "units/memo.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

namespace trainyard {
namespace {

/// All that an error comes from.
struct ComparedJobs {
  const PublishedPairs* pairs = nullptr;
  Circumstances reference = {}, of = {};
  friend bool operator==(const ComparedJobs&, const ComparedJobs&) = default;
};

struct ComparedJobsHash {
  std::size_t operator()(const ComparedJobs& jobs) const {
    return hash_of_all(jobs.pairs, CircumstancesHash()(jobs.reference), CircumstancesHash()(jobs.of));
  }
};

class EfficiencyErrors {
public:
  EfficiencyErrors(const config::Catalogue& catalogue, SweepResult& result)
      : catalogue_(catalogue),
        result_(result),
        is_strong_(is_strong_scaling(result.sweep)),
        is_relative_(is_relative_to_smallest(result)) {}

  void add(const Series& series) {
    const SweepRow& first = result_.rows[series.rows.front()];
    const ResolvedExperiment resolved =
        read_point(catalogue_, result_.sweep, result_.sweep.points[first.point], files_);
    const Known<PredictedJob> job = predicted_job(resolved);
    // a measurement of one GPU with another batch than a run's says little about that run
    if (!job || !resolved.published_errors || (is_strong_ && job->fit == one_gpu_fit)) return;
    const PublishedPairs& pairs = pairs_of(resolved.published_errors);
    Circumstances one = job->of;
    if (!is_relative_) one.gpus = one.nodes = 1;
    for (const std::size_t row : series.rows)
      result_.efficiency_errors[row] = error_of(pairs, one, at(row, job->of));
    for (std::size_t i = 0; i < result_.sweep.published.size(); ++i) {
      const PublishedPoint& published = result_.sweep.published[i];
      const auto row = row_in(series, published.point);
      const auto reference = published.reference ? row_in(series, *published.reference) : std::nullopt;
      if (row && reference)
        result_.relative_errors[i] = error_of(pairs, at(*reference, job->of), at(*row, job->of));
    }
  }

private:
  /// The job of a row, given that of the first one of its series.
  [[nodiscard]] Circumstances at(std::size_t row, const Circumstances& first) const {
    Circumstances of = first;
    of.gpus = whole(row, "ranks");
    of.nodes = whole(row, "nodes");
    // the batch per GPU is in proportion to the samples per GPU, whatever the accumulation
    if (is_strong_) of.batch_per_gpu = std::max(1, first.batch_per_gpu * first.gpus / of.gpus);
    return of;
  }

  std::optional<ErrorBounds> error_of(const PublishedPairs& pairs, const Circumstances& reference,
                                      const Circumstances& of) {
    if (of == reference) return ErrorBounds{};
    return errors_.get({&pairs, reference, of}, [&]() -> std::optional<ErrorBounds> {
      const auto ratio = ratio_error(pairs, reference, of);
      return ratio ? std::optional(ErrorBounds{.low = ratio->low, .high = ratio->high}) : std::nullopt;
    });
  }

  [[nodiscard]] std::optional<std::size_t> row_in(const Series& series, std::size_t point) const {
    const auto found =
        std::ranges::find(series.rows, point, [&](std::size_t row) { return result_.rows[row].point; });
    return found == series.rows.end() ? std::nullopt : std::optional(*found);
  }

  [[nodiscard]] int whole(std::size_t row, std::string_view name) const {
    return static_cast<int>(std::lround(figure(result_, result_.rows[row], name).value()));
  }

  const PublishedPairs& pairs_of(const std::shared_ptr<const PublishedErrors>& errors) {
    std::unique_ptr<PublishedPairs>& known = pairs_[errors.get()];
    if (!known) {
      std::vector<RunChange> changes{RunChange::gpus};
      if (is_strong_) changes.push_back(RunChange::batch);
      known = std::make_unique<PublishedPairs>(published_pairs(*errors, changes));
    }
    return *known;
  }

  const config::Catalogue& catalogue_;
  SweepResult& result_;
  bool is_strong_;
  bool is_relative_;  ///< to the smallest run
  InputFiles files_;  // keeps the published errors, so that their addresses stay unique
  std::map<const PublishedErrors*, std::unique_ptr<PublishedPairs>> pairs_;
  /// Points that differ in the network alone have the same.
  static constexpr std::size_t most_kept = 1U << 14U;
  Memo<ComparedJobs, std::optional<ErrorBounds>, ComparedJobsHash> errors_{most_kept};
};

}  // namespace

void add_efficiency_errors(const config::Catalogue& catalogue, SweepResult& result) {
  result.efficiency_errors.assign(result.rows.size(), std::nullopt);
  result.relative_errors.assign(result.sweep.published.size(), std::nullopt);
  EfficiencyErrors errors(catalogue, result);
  for (const Series& series : series_of(result)) {
    if (series.rows.size() < 2) continue;
    try {
      errors.add(series);
    } catch (const InputError&) {
      continue;  // the files have changed, or are on the machine from which the rows were merged
    } catch (const FileError&) {
      continue;
    }
  }
}

}  // namespace trainyard
