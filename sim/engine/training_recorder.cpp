#include "engine/training_recorder.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace trainyard {

std::string_view name_of(Activity activity) {
  constexpr std::array<std::string_view, 5> names{"computing", "communicating", "waiting", "loading",
                                                  "wasted"};
  return names.at(static_cast<std::size_t>(activity));
}

namespace engine {

namespace {

// Limits of the recorded timeline.
constexpr int most_workers = 16;
constexpr std::size_t most_spans = 4000;

}  // namespace

TrainingRecorder::TrainingRecorder(int workers, const TrainingOptions& options) : options_(options) {
  record_.workers.resize(at(workers));
}

Seconds TrainingRecorder::measured(double from, double to) const {
  return Seconds{std::max(0.0, to - std::max(from, record_.begun.si()))};
}

void TrainingRecorder::show(int worker, Activity activity, double from, double to) {
  if (worker >= most_workers || record_.spans.size() >= most_spans || to <= record_.begun.si()) return;
  const Seconds begun = std::max(Seconds{}, Seconds{from} - record_.begun);
  if (to > from) record_.spans.push_back({worker, activity, begun, Seconds{to} - record_.begun});
}

void TrainingRecorder::spent(int worker, Activity activity, double from, double to) {
  if (is_finished_) return;
  WorkerRecord& mine = record_.workers[at(worker)];
  show(worker, activity, from, to);
  constexpr std::array totals{&WorkerRecord::computing, &WorkerRecord::communicating, &WorkerRecord::waiting,
                              &WorkerRecord::loading, &WorkerRecord::wasted};
  mine.*totals.at(static_cast<std::size_t>(activity)) += measured(from, to);
}

bool TrainingRecorder::update(const UpdateDecision& decision, std::int64_t version, double date) {
  if (is_finished_) return false;
  if (version > options_.warmup) {
    ++record_.updates;
    record_.dates.push_back(date);
    record_.gradients += static_cast<std::int64_t>(decision.contributors.size());
    for (const int worker : decision.contributors) ++record_.workers[at(worker)].gradients;
    std::vector<std::int64_t>& histogram = record_.staleness;
    for (const std::int64_t staleness : decision.staleness) {
      const auto age = static_cast<std::size_t>(staleness);
      if (age >= histogram.size()) histogram.resize(age + 1, 0);
      ++histogram[age];
    }
  }
  if (version == options_.warmup) {
    const std::size_t workers = record_.workers.size();
    record_ = {};
    record_.begun = Seconds{date};
    record_.workers.resize(workers);
  }
  return version >= options_.warmup + options_.measured;
}

void TrainingRecorder::lead(std::int64_t steps) {
  if (!is_finished_) record_.lead = std::max(record_.lead, steps);
}

TrainingRecord TrainingRecorder::finish(double date, std::uint64_t events) {
  record_.ended = Seconds{date};
  record_.events = events;
  is_finished_ = true;
  return std::move(record_);
}

}  // namespace engine
}  // namespace trainyard
