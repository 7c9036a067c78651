#include "schedule/step_program.hpp"

#include "schedule/launch_program.hpp"
#include "schedule/program_writer.hpp"

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
  return traits(launch.axis).share_model() ? Stream::layers : Stream::communication;
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
        host_(hosted_ops(trace, times, launches), trace.host, writer_) {}

  Program write() {
    launch_up_to(-1, false);
    for (int i = 0; at(i) < trace_.ops.size(); ++i) write_op(i);
    return writer_.take();
  }

private:
  /// The ops with the host's work for the collectives after each op.
  static std::vector<LaunchedOp> hosted_ops(const Trace& trace, std::span<const OpTime> times,
                                            std::span<const Launch> launches) {
    if (!has_host(trace)) return {};
    std::vector<LaunchedOp> ops = launched_ops(trace, times);
    for (const Launch& launch : launches) ops[at(std::max(launch.ready_op, 0))].then += trace.host.collective;
    return ops;
  }

  void write_op(int i) {
    const bool is_update = trace_.ops[at(i)].phase == Phase::optimizer;
    if (is_update && !role_.is_updated) return;
    wait_for_launches(i, is_update);
    if (begins_with_op()) {
      launch_up_to(i - 1, true);
      wait_for_launches(i, is_update);
    }
    host_.before(i);
    writer_.add(Stream::compute, Compute{.duration = times_[at(i)].duration,
                                         .op = i,
                                         .use = times_[at(i)].use,
                                         .overhead = times_[at(i)].overhead});
    host_.after();
    launch_up_to(i, false);
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
    host_.join(stream, Join{launch.collective, launch.use});
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
  ProgramWriter writer_;
  LaunchProgram host_;
  std::vector<int> ended_;                  ///< by launch written so far: the event of its end
  std::array<int, stream_count> waited_{};  ///< by stream: 1 + the last launch that compute has waited for
};

}  // namespace

Program step_program(const Trace& trace, std::span<const OpTime> times, std::span<const Launch> launches,
                     Role role) {
  return StepProgram(trace, times, launches, role).write();
}

}  // namespace trainyard
