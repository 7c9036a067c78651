#include "schedule/step_program.hpp"

#include "strategy/micro_batches.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {

namespace {

/// The streams of a step, with an event for each launch, one for the end of all launches and one for the end
/// of those at the beginning of the step.
class StepProgram {
public:
  StepProgram(const Trace& trace, std::span<const OpTime> times, std::span<const Launch> launches, Role role)
      : trace_(trace),
        times_(times),
        launches_(launches),
        role_(role),
        count_(static_cast<int>(launches.size())) {
    while (first_ < count_ && launches_[at(first_)].ready_op < 0) ++first_;
  }

  Program write() {
    const bool has_micro_batches = std::ranges::any_of(launches_, &Launch::holds_next_micro_batch);
    program_.events = (has_micro_batches ? 3 : 2) * count_ + 2;
    write_compute();
    for (int k = 0; k < count_; ++k) write_launch(k);
    if (count_ > 0) stream(Stream::communication).emplace_back(Record{all_ended()});
    return std::move(program_);
  }

private:
  [[nodiscard]] int all_ended() const { return 2 * count_; }
  [[nodiscard]] int first_ended() const { return 2 * count_ + 1; }
  [[nodiscard]] int ended(int launch) const { return 2 * count_ + 2 + launch; }
  [[nodiscard]] int released(int launch) const { return count_ + launch; }
  std::vector<Task>& stream(Stream which) { return program_.streams[static_cast<int>(which)]; }

  void write_compute() {
    std::vector<Task>& compute = stream(Stream::compute);
    if (first_ > 0) compute.emplace_back(Wait{first_ended()});
    int next = first_;
    bool has_waited = count_ == 0;
    for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
      if (begins_micro_batch(trace_, i) && next > 0 && launches_[at(next - 1)].holds_next_micro_batch)
        compute.emplace_back(Wait{ended(next - 1)});
      if (trace_.ops[i].phase == Phase::optimizer) {
        if (!role_.is_updated) continue;
        if (!has_waited) compute.emplace_back(Wait{all_ended()});
        has_waited = true;
      }
      compute.emplace_back(Compute{.duration = times_[i].duration,
                                   .op = static_cast<int>(i),
                                   .use = times_[i].use,
                                   .overhead = times_[i].overhead});
      for (; next < count_ && launches_[at(next)].ready_op <= static_cast<int>(i); ++next) {
        compute.emplace_back(Record{next});
      }
    }
  }

  void write_launch(int k) {
    const Launch& launch = launches_[at(k)];
    std::vector<Task>& communication = stream(Stream::communication);
    int start = k;
    if (launch.held > Seconds()) {
      if (launch.ready_op >= 0) stream(Stream::host).emplace_back(Wait{k});
      stream(Stream::host).emplace_back(Compute{.duration = launch.held, .collective = k});
      stream(Stream::host).emplace_back(Record{released(k)});
      start = released(k);
    }
    if (launch.ready_op >= 0 || start != k) communication.emplace_back(Wait{start});
    write_work(launch.before, k);
    communication.emplace_back(Join{k, launch.use});
    write_work(launch.after, k);
    if (launch.holds_next_micro_batch) communication.emplace_back(Record{ended(k)});
    if (k + 1 == first_) communication.emplace_back(Record{first_ended()});
  }

  void write_work(const SideWork& work, int k) {
    if (work.duration <= Seconds() || (work.is_of_root && !role_.is_root)) return;
    stream(Stream::communication)
        .emplace_back(Compute{.duration = work.duration, .collective = k, .use = work.use});
  }

  const Trace& trace_;
  std::span<const OpTime> times_;
  std::span<const Launch> launches_;
  Role role_;
  int count_;
  int first_ = 0;  ///< launches at the beginning of the step
  Program program_;
};

}  // namespace

Program step_program(const Trace& trace, std::span<const OpTime> times, std::span<const Launch> launches,
                     Role role) {
  return StepProgram(trace, times, launches, role).write();
}

}  // namespace trainyard
