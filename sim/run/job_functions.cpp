#include "run/job_functions.hpp"

#include "run/figures.hpp"
#include "run/run.hpp"
#include "run/whole_job.hpp"

#include <algorithm>
#include <cassert>
#include <variant>

namespace trainyard {

namespace {

class Functions {
public:
  explicit Functions(const WholeJob& job) : job_(job) {}

  [[nodiscard]] Seconds time(JobPhase phase) const {
    Seconds sum;
    for (const JobPart& part : job_.parts)
      if (part.phase == phase) sum += part.time;
    return sum;
  }
  [[nodiscard]] double times(JobPhase phase) const {
    const auto found = std::ranges::find(job_.parts, phase, &JobPart::phase);
    return found == job_.parts.end() ? 0 : found->times;
  }
  /// Leaves out what the job does not have.
  void add(std::string name, int depth, double calls, Seconds cumulative) {
    if (cumulative > Seconds{}) all_.push_back({std::move(name), depth, calls, cumulative, cumulative});
  }
  /// Takes the time of each call from the function in which it is made.
  std::vector<FunctionTime> with_own_times() && {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      for (std::size_t j = i + 1; j < all_.size() && all_[j].depth > all_[i].depth; ++j)
        if (all_[j].depth == all_[i].depth + 1) all_[i].own -= all_[j].cumulative;
      assert(all_[i].own >= -1e-9 * all_[i].cumulative);  // rounding
      all_[i].own = std::max(all_[i].own, Seconds{});
    }
    return std::move(all_);
  }

private:
  const WholeJob& job_;
  std::vector<FunctionTime> all_;
};

/// The time for which rank 0 waits for collectives in a step; none for runs of many updates.
Seconds exposed(const Run& run) {
  const Known<FigureValue> value = figures()[index_of("exposed_communication_s")].of(run);
  return value ? Seconds{std::get<double>(*value)} : Seconds{};
}

}  // namespace

std::vector<FunctionTime> time_by_function(const Run& run) {
  const Stack& stack = run.experiment.stack;
  const bool is_horovod = stack.fusion && !has_servers(run.experiment.settings.sync);
  if (!run.job || !is_horovod || stack.framework != "tensorflow") return {};
  const WholeJob& job = *run.job;
  Functions functions(job);
  const Seconds start = functions.time(JobPhase::negotiation) + functions.time(JobPhase::broadcast);
  const Seconds training = functions.time(JobPhase::training);
  functions.add("the job", 0, 1, job.time);
  functions.add("imports, set-up and end", 1, 1, functions.time(JobPhase::launch));
  functions.add("pandas.read_csv", 1, functions.times(JobPhase::load), functions.time(JobPhase::load));
  functions.add("keras Model.fit", 1, 1, time_of_fit(job));
  functions.add("Horovod's callbacks", 2, 1, start + functions.time(JobPhase::callbacks));
  functions.add("negotiation: wait for the slowest reader", 3, 1, functions.time(JobPhase::negotiation));
  functions.add("hvd.broadcast", 3, 1, functions.time(JobPhase::broadcast));
  functions.add("MetricAverageCallback", 3, functions.times(JobPhase::callbacks),
                functions.time(JobPhase::callbacks));
  functions.add("TensorFlow session, training", 2, job.steps, training);
  functions.add("DistributedOptimizer: hvd.allreduce", 3, job.steps, job.steps * exposed(run));
  functions.add("TensorFlow session, validation", 2, functions.times(JobPhase::evaluation),
                functions.time(JobPhase::evaluation));
  functions.add("checkpoints", 1, functions.times(JobPhase::checkpoint),
                functions.time(JobPhase::checkpoint));
  return std::move(functions).with_own_times();
}

}  // namespace trainyard
