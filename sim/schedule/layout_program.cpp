#include "schedule/layout_program.hpp"

#include "schedule/launch_program.hpp"
#include "schedule/program_writer.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <utility>

namespace trainyard {

namespace {

constexpr int no_message = -1;

constexpr auto nothing = [](int) {};

/// Writes ops with the collectives that they launch.
class OpWriter {
public:
  OpWriter(std::span<const OpTime> times, std::span<const OpLaunch> launches)
      : times_(times), launches_(launches) {}

  /// Ops `first` to `end` - 1. `before` and `after` are called with each op's number.
  template <class Before, class After>
  void write(ProgramWriter& writer, LaunchProgram& host, int first, int end, Before before,
             After after) const {
    std::vector<std::pair<int, int>> awaited;  // the op that waits, and the event
    auto launch = std::ranges::lower_bound(launches_, first, {}, &OpLaunch::op);
    const auto launch_at = [&](int op, LaunchTime time) {
      for (; launch != launches_.end() && launch->op == op && launch->at == time; ++launch)
        begin(writer, host, *launch, awaited);
    };
    for (int op = first; op < end; ++op) {
      before(op);
      launch_at(op, LaunchTime::start);
      wait(writer, op, awaited);
      write_op(writer, host, op);
      launch_at(op, LaunchTime::end);
      after(op);
    }
    assert(launch == launches_.end() || launch->op >= end);  // none was left out
    wait(writer, end, awaited);
  }

  /// Ops of two passes: each runs until it waits for an exchange of tokens, then the other one does. `before`
  /// and `after` are called with each op's number.
  template <class Before, class After>
  void write_both(ProgramWriter& writer, LaunchProgram& host, std::pair<int, int> first,
                  std::pair<int, int> second, Before before, After after) const {
    std::array<Cursor, 2> cursors{cursor(first), cursor(second)};
    while (cursors[0].op < cursors[0].end || cursors[1].op < cursors[1].end) {
      for (Cursor& one : cursors) advance(writer, host, one, before, after);
    }
    for (Cursor& one : cursors) wait(writer, one.end, one.awaited);
  }

private:
  /// A pass whose ops are partly written.
  struct Cursor {
    int op = 0, end = 0;
    bool has_begun = false;  ///< collectives before the op
    std::vector<OpLaunch>::size_type launch = 0;
    std::vector<std::pair<int, int>> awaited = {};  ///< the op that waits, and the event
  };

  [[nodiscard]] Cursor cursor(std::pair<int, int> ops) const {
    const auto launch = std::ranges::lower_bound(launches_, ops.first, {}, &OpLaunch::op);
    return {
        .op = ops.first, .end = ops.second, .launch = static_cast<std::size_t>(launch - launches_.begin())};
  }

  /// Returns whether an exchange is among the collectives that an op launches.
  bool launch_at(ProgramWriter& writer, LaunchProgram& host, Cursor& pass, LaunchTime time) const {
    bool has_exchange = false;
    for (; pass.launch < launches_.size() && launches_[pass.launch].op == pass.op &&
           launches_[pass.launch].at == time;
         ++pass.launch) {
      OpLaunch launch = launches_[pass.launch];
      launch.in_order |= launch.is_exchange;
      has_exchange |= launch.is_exchange;
      begin(writer, host, launch, pass.awaited);
    }
    return has_exchange;
  }

  template <class Before, class After>
  void advance(ProgramWriter& writer, LaunchProgram& host, Cursor& pass, Before before, After after) const {
    while (pass.op < pass.end) {
      if (!std::exchange(pass.has_begun, true)) {
        before(pass.op);
        if (launch_at(writer, host, pass, LaunchTime::start)) return;
      }
      wait(writer, pass.op, pass.awaited);
      write_op(writer, host, pass.op);
      const bool is_waiting = launch_at(writer, host, pass, LaunchTime::end);
      after(pass.op++);
      pass.has_begun = false;
      if (is_waiting) return;
    }
  }

  void write_op(ProgramWriter& writer, LaunchProgram& host, int op) const {
    const OpTime& time = times_[at(op)];
    host.before(op);
    writer.add(Stream::compute,
               Compute{.duration = time.duration, .op = op, .use = time.use, .overhead = time.overhead});
    host.after();
  }

  static void begin(ProgramWriter& writer, LaunchProgram& host, const OpLaunch& launch,
                    std::vector<std::pair<int, int>>& awaited) {
    const int next = launch.at == LaunchTime::start ? launch.op : launch.op + 1;
    if (launch.needed_by <= next && !launch.in_order) {
      host.join(Stream::compute, Join{launch.collective});
      return;
    }
    writer.order(Stream::compute, launch.stream);
    host.join(launch.stream, Join{launch.collective});
    awaited.emplace_back(launch.needed_by, writer.record(launch.stream));
  }

  static void wait(ProgramWriter& writer, int op, std::vector<std::pair<int, int>>& awaited) {
    std::erase_if(awaited, [&](const auto& one) {
      if (one.first > op) return false;
      writer.wait(Stream::compute, one.second);
      return true;
    });
  }

  std::span<const OpTime> times_;
  std::span<const OpLaunch> launches_;
};

class StageProgram {
  using Ops = std::pair<int, int>;  ///< the first, and the end
  static constexpr Ops no_ops{-1, -1};

public:
  StageProgram(const RankClass& one, const RankLayout& layout, std::span<const OpTime> times,
               const StageCollectives& collectives, const LayoutOverlap& overlap, TaskGraph& graph)
      : one_(one),
        layout_(layout),
        collectives_(collectives),
        overlap_(overlap),
        graph_(graph),
        ops_(times, collectives.of_ops),
        order_(pass_order(layout.schedule, layout.grid.pipeline, layout.parallelism.virtual_stages,
                          layout.micro_batches, one.stage, passes_ahead(layout.parallelism))),
        host_(late_launches(times), one.trace.host, writer_),
        units_(collectives.units, collectives.unit_rules, writer_, host_) {
    // Its stages form a ring, in which all could wait for the next one to receive.
    assert(overlap.messages || !traits(layout.schedule).has_virtual_stages);
  }

  Program write() {
    gather_parameters();
    if (!overlap_.messages) receive_for(0);
    for (int i = 0; at(i) < order_.size(); ++i) {
      if (is_pair(i)) {
        run_pair(i++);
        continue;
      }
      if (overlap_.messages) receive_for(i);
      run(i);
      if (!overlap_.gradients && collectives_.reduces_each_micro_batch && ends_chunk(order_[at(i)]))
        reduce_now(order_[at(i)].chunk);
      send_after(i);
    }
    end_step();
    return writer_.take();
  }

private:
  /// The ops of the step, if their host is ever late. A host that is never late where kernels wait for
  /// nothing else is never late: a collective only delays kernels further behind their launches, and with
  /// them the begins that free places in the queue.
  [[nodiscard]] std::vector<LaunchedOp> late_launches(std::span<const OpTime> times) const {
    if (!has_host(one_.trace)) return {};
    std::vector<LaunchedOp> ops = hosted_ops(times);
    const SteadyLaunches steady = steady_launches(ops, one_.trace.host);
    constexpr double rounding = 1e-9;
    return steady.waits > rounding * steady.step ? std::move(ops) : std::vector<LaunchedOp>();
  }

  /// All ops of the step in order, with the host's work for the collectives that the layers launch; that for
  /// collectives of replicas and messages counts in the program alone.
  [[nodiscard]] std::vector<LaunchedOp> hosted_ops(std::span<const OpTime> times) const {
    std::vector<LaunchedOp> of_trace = launched_ops(one_.trace, times);
    for (const OpLaunch& launch : collectives_.of_ops)
      of_trace[at(launch.op)].then += one_.trace.host.collective;
    std::vector<LaunchedOp> ops;
    const auto add = [&](int first, int end) {
      ops.insert(ops.end(), of_trace.begin() + first, of_trace.begin() + end);
    };
    for (int i = 0; at(i) < order_.size(); ++i) {
      if (!is_pair(i)) {
        add(ops_of(order_[at(i)]).first, end_of(order_[at(i)]));
        continue;
      }
      ProgramWriter unused;
      LaunchProgram no_host(unused);
      ops_.write_both(unused, no_host, ops_from(order_[at(i + 1)]), ops_from(order_[at(i)]), nothing,
                      [&](int op) { ops.push_back(of_trace[at(op)]); });
      ++i;
    }
    add(one_.passes.back().end, static_cast<int>(of_trace.size()));
    return ops;
  }

  [[nodiscard]] std::pair<int, int> ops_from(const Pass& pass) const {
    return {ops_of(pass).first, end_of(pass)};
  }

  /// The first micro-batch adds its gradients to none.
  [[nodiscard]] int end_of(const Pass& pass) const {
    const PassOps& ops = ops_of(pass);
    const bool is_shorter = pass.micro_batch == 0 && ops.end > ops.first &&
                            is_of_later_micro_batches(one_.trace.ops[at(ops.end - 1)]);
    return is_shorter ? ops.end - 1 : ops.end;
  }

  [[nodiscard]] const PassOps& ops_of(const Pass& pass) const {
    return *std::ranges::find_if(
        one_.passes, [&](const PassOps& ops) { return ops.kind == pass.kind && ops.chunk == pass.chunk; });
  }

  /// Whether the gradients that a pass completes are reduced. With zb_h1 those of norms and embeddings are
  /// complete before the gradients of weights.
  [[nodiscard]] bool reduces_gradients(const Pass& pass) const {
    return pass.kind != PassKind::forward &&
           (collectives_.reduces_each_micro_batch || pass.micro_batch == layout_.micro_batches - 1);
  }

  /// Whether it is the last pass of a micro-batch through its chunk.
  [[nodiscard]] bool ends_chunk(const Pass& pass) const {
    return pass.kind == (traits(layout_.schedule).splits_backward ? PassKind::weights : PassKind::backward);
  }

  /// Whether its chunk is in the second half of a model whose chunks form a V.
  [[nodiscard]] bool is_on_way_back(const Pass& pass) const {
    return traits(layout_.schedule).is_v && pass.chunk == 1;
  }

  /// The message that a pass needs, and its stream.
  [[nodiscard]] std::pair<int, Stream> input_of(const Pass& pass) const {
    const StageCollectives::Messages& messages = collectives_.messages[at(pass.chunk)];
    const bool comes_back = is_on_way_back(pass);
    if (pass.kind == PassKind::forward)
      return {messages.receive_forward, comes_back ? Stream::receive_forward_back : Stream::receive_forward};
    if (pass.kind == PassKind::backward)
      return {messages.receive_backward,
              comes_back ? Stream::receive_backward_back : Stream::receive_backward};
    return {no_message, Stream::compute};
  }

  [[nodiscard]] std::pair<int, Stream> output_of(const Pass& pass) const {
    const StageCollectives::Messages& messages = collectives_.messages[at(pass.chunk)];
    const bool comes_back = is_on_way_back(pass);
    if (pass.kind == PassKind::forward)
      return {messages.send_forward, comes_back ? Stream::send_forward_back : Stream::send_forward};
    if (pass.kind == PassKind::backward)
      return {messages.send_backward, comes_back ? Stream::send_backward_back : Stream::send_backward};
    return {no_message, Stream::compute};
  }

  /// Receives run ahead of the passes if messages overlap, so that only the pass waits for them.
  void receive_for(int i) {
    const auto [message, stream] = input_of(order_[at(i)]);
    if (message == no_message) return;
    if (!overlap_.messages) writer_.order(Stream::compute, stream);
    host_.join(stream, Join{message});
    writer_.order(stream, Stream::compute);
    gather_input(order_[at(i)]);
  }

  /// Ranks of a tensor group gather the parts of a message before the pass that needs it.
  void gather_input(const Pass& pass) {
    const StageCollectives::Messages& messages = collectives_.messages[at(pass.chunk)];
    const int gather = pass.kind == PassKind::forward    ? messages.gather_forward
                       : pass.kind == PassKind::backward ? messages.gather_backward
                                                         : no_message;
    if (gather != no_message) host_.join(Stream::compute, Join{gather});
  }

  /// Without overlap, kernels wait for the message after a pass and for the one before the next pass. Both
  /// run at once if they are exchanged with the same neighbour, as in Megatron's send_forward_recv_backward.
  /// Source: NVIDIA/Megatron-LM megatron/core/pipeline_parallel/schedules.py.
  void send_after(int i) {
    const auto [sent, out] = output_of(order_[at(i)]);
    const bool has_next = at(i) + 1 < order_.size();
    const auto [received, in] =
        has_next ? input_of(order_[at(i) + 1]) : std::pair{no_message, Stream::compute};
    if (overlap_.messages) {
      if (sent == no_message) return;
      writer_.order(Stream::compute, out);
      host_.join(out, Join{sent});
      return;
    }
    const bool is_exchange = sent != no_message && received != no_message &&
                             (out == Stream::send_forward) == (in == Stream::receive_backward);
    if (is_exchange) writer_.order(Stream::compute, in);
    if (sent != no_message) {
      writer_.order(Stream::compute, out);
      host_.join(out, Join{sent});
      writer_.order(out, Stream::compute);
    }
    if (received == no_message) return;
    if (!is_exchange) writer_.order(Stream::compute, in);
    host_.join(in, Join{received});
    writer_.order(in, Stream::compute);
    gather_input(order_[at(i) + 1]);
  }

  /// Whether a forward pass runs with the backward pass behind it.
  [[nodiscard]] bool is_pair(int i) const {
    if (!overlap_.exchanges || at(i) + 1 >= order_.size()) return false;
    const Pass& pass = order_[at(i)];
    const Pass& next = order_[at(i + 1)];
    const bool is_same = pass.micro_batch == next.micro_batch && pass.chunk == next.chunk;
    return pass.kind == PassKind::forward && next.kind == PassKind::backward && !is_same;
  }

  /// Both passes receive before and send after them.
  void run_pair(int i) {
    for (const int pass : {i, i + 1}) receive_for(pass);
    const Pass& forward = order_[at(i)];
    const Pass& backward = order_[at(i + 1)];
    const Ops first = ops_from(backward);
    const Ops second = ops_from(forward);
    const bool reduces = overlap_.gradients && reduces_gradients(backward);
    is_reducing_ = is_reducing_ || (reduces && !collectives_.gradients.empty());
    if (!is_reducing_ && gathered_.empty() && !host_.has_host() && !overlap_.writes_ops) {
      writer_.add(Stream::compute, RunSegment{segment(first, second)});
    } else {
      ops_.write_both(
          writer_, host_, first, second,
          [&](int op) {
            if (op < second.second) await_parameters(op);
          },
          [&](int op) {
            if (reduces) reduce_after(op);
          });
    }
    if (!overlap_.gradients && collectives_.reduces_each_micro_batch) reduce_now(backward.chunk);
    for (const int pass : {i, i + 1}) send_after(pass);
  }

  void run(int i) {
    const Pass& pass = order_[at(i)];
    const PassOps& ops = ops_of(pass);
    if (ops.first == ops.end) return;
    if (!collectives_.units.empty()) {
      ops_.write(
          writer_, host_, ops.first, end_of(pass), [&](int op) { units_.before(op); },
          [&](int op) { units_.after(op); });
      return;
    }
    const bool reduces = overlap_.gradients && reduces_gradients(pass);
    // every kind of pass: layers that take turns first read their parameters in a backward pass
    const bool gathers = pass.micro_batch == 0 && !gathered_.empty();
    is_reducing_ = is_reducing_ || (reduces && !collectives_.gradients.empty());
    if (!is_reducing_ && !gathers && !host_.has_host() && !overlap_.writes_ops) {
      writer_.add(Stream::compute, RunSegment{segment(ops, end_of(pass))});
      return;
    }
    ops_.write(
        writer_, host_, ops.first, end_of(pass), [&](int op) { await_parameters(op); },
        [&](int op) {
          if (reduces) reduce_after(op);
        });
  }

  int segment(const PassOps& ops, int end) {
    const auto [entry, is_new] = segments_.try_emplace(std::pair{Ops{ops.first, end}, no_ops}, new_segment());
    if (is_new) {
      ProgramWriter writer;
      LaunchProgram no_host(writer);
      ops_.write(writer, no_host, ops.first, end, nothing, nothing);
      const Phase phase = ops.kind == PassKind::forward ? Phase::forward : Phase::backward;
      graph_.segments.push_back({.program = writer.take(), .phase = phase, .is_undisturbed = true});
    }
    return entry->second;
  }

  /// Of two passes.
  int segment(std::pair<int, int> first, std::pair<int, int> second) {
    const auto [entry, is_new] = segments_.try_emplace(std::pair{first, second}, new_segment());
    if (is_new) {
      ProgramWriter writer;
      LaunchProgram no_host(writer);
      ops_.write_both(writer, no_host, first, second, nothing, nothing);
      graph_.segments.push_back({.program = writer.take(), .phase = Phase::backward, .is_undisturbed = true});
    }
    return entry->second;
  }

  [[nodiscard]] int new_segment() const { return static_cast<int>(graph_.segments.size()); }

  void gather_parameters() {
    for (const ParameterLaunch& launch : collectives_.parameters) {
      host_.join(Stream::parameters, Join{launch.collective});
      gathered_.emplace_back(launch.needed_by, writer_.record(Stream::parameters));
    }
  }

  /// The first micro-batch's ops wait for the parameters that they read.
  void await_parameters(int op) {
    int last = no_message;
    std::erase_if(gathered_, [&](const auto& one) {
      if (one.first > op) return false;
      last = one.second;
      return true;
    });
    if (last != no_message) writer_.wait(Stream::compute, last);
  }

  void reduce_after(int op) {
    for (const GradientLaunch& launch : collectives_.gradients) {
      if (launch.ready_op != op) continue;
      writer_.order(Stream::compute, Stream::communication);
      reduce(launch);
    }
  }

  void reduce(const GradientLaunch& launch) {
    host_.join(Stream::communication, Join{launch.collective});
    if (launch.across >= 0) host_.join(Stream::communication, Join{launch.across});
  }

  /// Kernels wait for the reduction of a chunk's gradients.
  void reduce_now(int chunk) {
    writer_.order(Stream::compute, Stream::communication);
    for (const GradientLaunch& launch : collectives_.gradients) {
      if (launch.chunk == chunk) reduce(launch);
    }
    writer_.order(Stream::communication, Stream::compute);
  }

  void end_step() {
    const int end = one_.passes.back().end;
    int update = end;
    while (at(update) < one_.trace.ops.size() && one_.trace.ops[at(update)].phase != Phase::optimizer)
      ++update;
    ops_.write(writer_, host_, end, update, nothing, nothing);
    if (!overlap_.gradients && !collectives_.reduces_each_micro_batch && !collectives_.gradients.empty()) {
      writer_.order(Stream::compute, Stream::communication);
      for (const GradientLaunch& launch : collectives_.gradients) reduce(launch);
    }
    if (!collectives_.gradients.empty() || !collectives_.units.empty())
      writer_.order(Stream::communication, Stream::compute);
    if (!collectives_.units.empty()) writer_.order(Stream::parameters, Stream::compute);
    for (const int collective : collectives_.before_update) host_.join(Stream::compute, Join{collective});
    ops_.write(writer_, host_, update, static_cast<int>(one_.trace.ops.size()), nothing, nothing);
    for (const int collective : collectives_.after_update) host_.join(Stream::compute, Join{collective});
  }

  const RankClass& one_;
  const RankLayout& layout_;
  const StageCollectives& collectives_;
  const LayoutOverlap& overlap_;
  TaskGraph& graph_;
  OpWriter ops_;
  ProgramWriter writer_;
  std::vector<Pass> order_;
  LaunchProgram host_;
  UnitProgram units_;
  std::map<std::pair<Ops, Ops>, int> segments_;  ///< by the ops of its passes
  std::vector<std::pair<int, int>> gathered_;    ///< parameters under way: the op that reads them, the event
  bool is_reducing_ = false;                     ///< the last backward passes have begun
};

}  // namespace

Program stage_program(const RankClass& one, const RankLayout& layout, std::span<const OpTime> times,
                      const StageCollectives& collectives, const LayoutOverlap& overlap, TaskGraph& graph) {
  return StageProgram(one, layout, times, collectives, overlap, graph).write();
}

}  // namespace trainyard
