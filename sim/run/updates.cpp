#include "run/updates.hpp"

#include "units/statistics.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace trainyard {

namespace {

Seconds time_per_update(const TrainingRecord& record) {
  return Seconds{(record.ended - record.begun).si() / static_cast<double>(record.updates)};
}

/// Index of the repeat with the median time; the lower of the two middle ones for an even number.
std::size_t median_of(const std::vector<TrainingRecord>& repeats) {
  std::vector<std::size_t> order(repeats.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return time_per_update(repeats[i]); });
  return order[(order.size() - 1) / 2];
}

UpdateTimes times_of(const std::vector<TrainingRecord>& repeats, const TrainingRecord& median) {
  UpdateTimes times{.median = time_per_update(median), .low = time_per_update(median), .high = {}};
  for (const TrainingRecord& repeat : repeats) {
    times.low = std::min(times.low, time_per_update(repeat));
    times.high = std::max(times.high, time_per_update(repeat));
  }
  // The probability that all of n independent runs lie on one side of the median is 2 in 2^n.
  times.confidence = repeats.size() > 1 ? 1 - std::ldexp(1.0, 1 - static_cast<int>(repeats.size())) : 0;
  return times;
}

UpdateQuantiles quantiles_of(const std::vector<TrainingRecord>& repeats) {
  std::vector<double> times;
  for (const TrainingRecord& repeat : repeats) {
    double before = repeat.begun.si();
    for (const double date : repeat.dates) times.push_back(date - std::exchange(before, date));
  }
  const auto below = [&](double part) { return Seconds{quantile(times, part)}; };
  return {.p50 = below(0.5), .p90 = below(0.9), .p99 = below(0.99)};
}

Staleness staleness_of(const TrainingRecord& record) {
  double sum = 0;
  for (std::size_t age = 0; age < record.staleness.size(); ++age)
    sum += static_cast<double>(age) * static_cast<double>(record.staleness[age]);
  return {.gradients = record.staleness,
          .mean = sum / static_cast<double>(record.gradients),
          .max = static_cast<int>(record.staleness.size()) - 1};
}

void add_workers(const TrainingRecord& record, const Cluster& cluster, Updates& updates) {
  for (int number = 0; number < updates.settings.workers * updates.ranks_per_worker; ++number) {
    const WorkerRecord& worker = record.workers[at(number / updates.ranks_per_worker)];
    const Rank rank{number};
    updates.workers.push_back({.rank = rank,
                               .node = cluster.node_of(rank),
                               .computing = worker.computing,
                               .communicating = worker.communicating,
                               .waiting = worker.waiting,
                               .loading = worker.loading,
                               .wasted = worker.wasted,
                               .gradients = worker.gradients});
    updates.wasted += worker.wasted / static_cast<double>(record.updates);
  }
}

}  // namespace

WorkerRow sum_of(const std::vector<WorkerRow>& workers) {
  WorkerRow sum;
  for (const WorkerRow& worker : workers) {
    sum.computing += worker.computing;
    sum.communicating += worker.communicating;
    sum.waiting += worker.waiting;
    sum.loading += worker.loading;
    sum.wasted += worker.wasted;
    sum.gradients += worker.gradients;
  }
  return sum;
}

Seconds mean_per_update(const Updates& updates, Seconds of_all) {
  return of_all /
         (static_cast<double>(updates.workers.size()) * static_cast<double>(updates.measured_updates));
}

Updates updates_from(const std::vector<TrainingRecord>& repeats, const Cluster& cluster,
                     const UpdateSettings& settings, int ranks_per_worker, const StepCounts& counts) {
  const TrainingRecord& median = repeats[median_of(repeats)];
  Updates updates;
  updates.settings = settings;
  updates.ranks_per_worker = ranks_per_worker;
  updates.counts = counts;
  updates.measured_updates = median.updates;
  updates.time = times_of(repeats, median);
  updates.each = quantiles_of(repeats);
  updates.measured = median.ended - median.begun;
  updates.gradients_per_update = static_cast<double>(median.gradients) / static_cast<double>(median.updates);
  updates.staleness = staleness_of(median);
  updates.lead = median.lead;
  updates.spans = median.spans;
  add_workers(median, cluster, updates);
  for (const WorkerSpan& span : updates.spans) {
    updates.bars.push_back({.rank = Rank{span.worker * ranks_per_worker},
                            .stream = span.activity == Activity::wasted ? Stream::host : Stream::compute,
                            .category = std::string(name_of(span.activity)),
                            .start = span.begun,
                            .end = span.ended});
  }
  return updates;
}

const ServerRow* busiest_server(const Updates& updates) {
  const auto most = std::ranges::max_element(updates.servers, {}, &ServerRow::utilization);
  return most == updates.servers.end() ? nullptr : &*most;
}

double gradients_in_update(const Updates& updates) {
  return updates.gradients_per_update * updates.settings.push_every;
}

double steps_of(const Updates& updates) {
  return static_cast<double>(updates.measured_updates) * gradients_in_update(updates) *
         updates.ranks_per_worker;
}

std::optional<Seconds> shown_until(const Updates& updates) {
  constexpr double all = 0.999;  // of the measured time: unfinished activities are not kept
  if (updates.spans.empty() || updates.spans.back().ended >= all * updates.measured) return std::nullopt;
  return updates.spans.back().ended;
}

}  // namespace trainyard
