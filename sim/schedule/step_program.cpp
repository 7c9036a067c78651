#include "schedule/step_program.hpp"

#include "schedule/program_writer.hpp"
#include "schedule/steady_launches.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace trainyard {

namespace {

/// Groups have communicators, and so streams, of their own. Messages to one side follow each other, and so do
/// those from there.
Stream stream_of(const Launch& launch) {
  if (launch.message) {
    const bool is_ahead = launch.message->peer.place > 0;
    if (launch.message->sends) return is_ahead ? Stream::send_forward : Stream::send_backward;
    return is_ahead ? Stream::receive_backward : Stream::receive_forward;
  }
  const Axis axis = launch.axis;
  return axis == Axis::all || is_of_replicas(axis) ? Stream::communication : Stream::layers;
}

/// Whether it is a message of the op after its ready_op.
bool starts_with_op(const Launch& launch) { return launch.message && launch.op > launch.ready_op; }

/// Writes the streams of a step from its ops and its launches.
class StepProgram {
public:
  StepProgram(const Trace& trace, std::span<const OpTime> times, std::span<const Launch> launches, Role role)
      : trace_(trace),
        times_(times),
        launches_(launches),
        role_(role),
        lead_(has_host(trace) ? steady_launches(trace, times).lead : Seconds()),
        before_launch_(has_host(trace) ? ops_before_launch(trace) : std::vector<int>()),
        is_awaited_(trace.ops.size()),
        begun_(trace.ops.size(), -1) {
    for (std::size_t i = 0; i < before_launch_.size(); ++i) {
      if (trace.ops[i].host > Seconds() && before_launch_[i] >= 0) is_awaited_[at(before_launch_[i])] = true;
    }
  }

  Program write() {
    if (has_host(trace_)) add_host_work(trace_.between_steps, 0);
    launch_up_to(-1, false);
    for (int i = 0; at(i) < trace_.ops.size(); ++i) write_op(i);
    return writer_.take();
  }

private:
  void write_op(int i) {
    const bool is_update = trace_.ops[at(i)].phase == Phase::optimizer;
    if (is_update && !role_.is_updated) return;
    wait_for_launches(i, is_update);
    if (begins_with_op()) {
      launch_up_to(i - 1, true);
      wait_for_launches(i, is_update);
    }
    launch(i);
    if (is_awaited_[at(i)]) begun_[at(i)] = writer_.record(Stream::compute);
    writer_.add(Stream::compute, Compute{.duration = times_[at(i)].duration,
                                         .op = i,
                                         .use = times_[at(i)].use,
                                         .overhead = times_[at(i)].overhead});
    synchronise(i);
    launch_up_to(i, false);
  }

  /// The host's work in this step, without what it did before the step began.
  void add_host_work(Seconds duration, int op) {
    const Seconds done = std::min(duration, lead_);
    lead_ -= done;
    if (duration > done) writer_.add(Stream::launch, Compute{.duration = duration - done, .op = op});
  }

  /// The host launches an op, which waits for that, unless this was before the step.
  void launch(int i) {
    const Seconds host = trace_.ops[at(i)].host;
    if (host <= Seconds()) return;
    constexpr double rounding = 1e-9;
    const bool is_done = (1 - rounding) * host <= lead_;
    add_host_work(is_done ? std::min(host, lead_) : host, i);
    const int before = before_launch_.empty() ? -1 : before_launch_[at(i)];
    if (is_done && before < 0) return;
    if (before >= 0) writer_.wait(Stream::launch, begun_[at(before)]);
    writer_.order(Stream::launch, Stream::compute);
  }

  /// The host waits for an op, and its next launch reaches the GPU later.
  void synchronise(int i) {
    if (!trace_.ops[at(i)].synchronises) return;
    lead_ = {};
    writer_.order(Stream::compute, Stream::launch);
    add_host_work(trace_.queue.latency, i);
  }

  /// Whether the next launch is a message of the op about to run, which begins once the op's waits have
  /// ended.
  [[nodiscard]] bool begins_with_op() const {
    return ended_.size() < launches_.size() && starts_with_op(launches_[ended_.size()]);
  }

  /// The collectives of a stream run one after the other: the last one needed stands for those before it.
  void wait_for_launches(int op, bool is_update) {
    std::array<int, stream_count> last{};
    for (int k = 0; at(k) < ended_.size(); ++k) {
      const Launch& launch = launches_[at(k)];
      if (is_update || (launch.needed_by && *launch.needed_by <= op))
        last[static_cast<std::size_t>(stream_of(launch))] = k + 1;
    }
    for (std::size_t stream = 0; stream < last.size(); ++stream) {
      if (last[stream] <= waited_[stream]) continue;
      waited_[stream] = last[stream];
      writer_.wait(Stream::compute, ended_[at(last[stream] - 1)]);
    }
  }

  /// Writes the launches of the ops up to this one. Without `with_next` messages that begin with the next op
  /// are left to it.
  void launch_up_to(int op, bool with_next) {
    while (ended_.size() < launches_.size() && launches_[ended_.size()].ready_op <= op &&
           (with_next || !begins_with_op()))
      ended_.push_back(write_launch(static_cast<int>(ended_.size())));
  }

  /// Returns the event of its end.
  int write_launch(int k) {
    const Launch& launch = launches_[at(k)];
    const Stream stream = stream_of(launch);
    std::optional<int> start;
    if (launch.ready_op >= 0) start = writer_.record(Stream::compute);
    if (launch.held > Seconds()) {
      if (start) writer_.wait(Stream::host, *start);
      writer_.add(Stream::host, Compute{.duration = launch.held, .collective = launch.collective});
      start = writer_.record(Stream::host);
    }
    if (start) writer_.wait(stream, *start);
    write_work(launch.before, stream, launch.collective);
    writer_.add(stream, Join{launch.collective, launch.use});
    write_work(launch.after, stream, launch.collective);
    return writer_.record(stream);
  }

  void write_work(const SideWork& work, Stream stream, int collective) {
    if (work.duration <= Seconds() || (work.is_of_root && !role_.is_root)) return;
    writer_.add(stream, Compute{.duration = work.duration, .collective = collective, .use = work.use});
  }

  const Trace& trace_;
  std::span<const OpTime> times_;
  std::span<const Launch> launches_;
  Role role_;
  Seconds lead_;                    ///< of the host: work of this step that it has done before
  std::vector<int> before_launch_;  ///< ops_before_launch()
  std::vector<bool> is_awaited_;    ///< by op: whether a launch of this step waits for its begin
  std::vector<int> begun_;          ///< by op: the event of its begin, if one does
  ProgramWriter writer_;
  std::vector<int> ended_;                  ///< by launch written so far: the event of its end
  std::array<int, stream_count> waited_{};  ///< by stream: 1 + the last launch that compute has waited for
};

}  // namespace

Program step_program(const Trace& trace, std::span<const OpTime> times, std::span<const Launch> launches,
                     Role role) {
  return StepProgram(trace, times, launches, role).write();
}

}  // namespace trainyard
