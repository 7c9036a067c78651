#include "schedule/layout_plan.hpp"

#include "experiment/op_times.hpp"
#include "limits/run_limits.hpp"
#include "schedule/collective_use.hpp"
#include "schedule/layout_collectives.hpp"
#include "schedule/layout_program.hpp"
#include "strategy/batch_norm_buffers.hpp"
#include "strategy/buckets.hpp"
#include "strategy/shard.hpp"
#include "strategy/vocabulary.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

/// The stage of a layer of the model, and the layer as a rank of that stage has it.
std::pair<int, const Layer*> place_of(const ResolvedExperiment& resolved, const std::string& name) {
  for (const RankClass& one : resolved.classes) {
    const auto layer = std::ranges::find(one.layers, name, &Layer::name);
    if (layer != one.layers.end()) return {one.stage, &*layer};
  }
  throw std::logic_error(fmt::format("no stage has the layer '{}'", name));
}

/// Plans the collectives of each stage.
class StagePlanner {
public:
  StagePlanner(const ResolvedExperiment& resolved, LayoutCollectives& collectives)
      : resolved_(resolved),
        layout_(*resolved.layout),
        collectives_(collectives),
        gradient_(size_of(resolved.stack.gradient_dtype, resolved.settings.precision)),
        weight_(element_sizes(resolved.settings.precision).compute_weight),
        shards_(layout_.parallelism.shard_over == ShardOver::node ? GroupScope::inside_nodes
                                                                  : GroupScope::whole),
        shared_tables_(shared_tables(resolved)) {}

  StageCollectives plan(const RankClass& one, const StageCollectives::Messages* messages) {
    StageCollectives made;
    add_launches(one, made);
    add_gradients(one, made);
    add_end(one, made);
    made.messages.assign(messages, messages + layout_.parallelism.virtual_stages);
    return made;
  }

private:
  /// Collectives of the layers themselves.
  void add_launches(const RankClass& one, StageCollectives& made) {
    const std::vector<Op>& ops = one.trace.ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const auto op = static_cast<int>(i);
      std::vector<OpCommunication> launched = ops[i].communications;
      std::ranges::stable_sort(launched, {}, &OpCommunication::at);  // in the order in which they begin
      for (const OpCommunication& what : launched) {
        const int next = what.at == LaunchTime::end ? op + 1 : op;
        made.of_ops.push_back(
            {.op = op,
             .at = what.at,
             .needed_by = next + what.waits.value_or(0),
             .collective = collectives_.add(
                 what.operation, what.axis, one.stage, what.size,
                 {.name = what.of.empty() ? ops[i].layer : what.of,
                  .purpose = ops[i].phase == Phase::forward ? "activations" : "activation gradients",
                  .ready_op = op,
                  .of_layers = true,
                  .root = what.root}),
             .in_order = what.in_order});
      }
    }
  }

  /// The collectives by which replicas exchange gradients and, if they share state, parameters.
  void add_gradients(const RankClass& one, StageCollectives& made) {
    if (layout_.parallelism.shard == Sharded::parameters) {
      add_units(one, made);
      return;
    }
    made.reduces_each_micro_batch = layout_.parallelism.shard == Sharded::gradients;
    const std::map<int, int> first_use = first_uses(one.trace);
    int number = 0;
    for (int chunk = 0; chunk < layout_.parallelism.virtual_stages; ++chunk) {
      for (const auto& [axis, bucket] : buckets_of(one, chunk)) {
        const CollectiveUse use{.name = fmt::format("bucket {}", number++),
                                .purpose = "gradients",
                                .tensors = static_cast<int>(bucket.gradients.size()),
                                .ready_op = bucket.ready_after};
        const auto [reduce, across] = add_reduction(axis, one.stage, bucket.bytes, use);
        made.gradients.push_back(
            {.chunk = chunk, .ready_op = bucket.ready_after, .collective = reduce, .across = across});
        if (!is_divided(axis, one.stage)) continue;
        const int gathered = add_gather(axis, one.stage, bucket.bytes * (weight_ / gradient_),
                                        {.name = use.name, .purpose = "parameters", .tensors = use.tensors});
        if (resolved_.stack.overlap_parameters)
          made.parameters.push_back(
              {.needed_by = first_use_of(bucket, one, first_use), .collective = gathered});
        else
          made.after_update.push_back(gathered);
      }
    }
    std::ranges::stable_sort(made.parameters, {}, &ParameterLaunch::needed_by);
  }

  /// Units whose parameters are gathered while they are used.
  void add_units(const RankClass& one, StageCollectives& made) {
    const std::vector<ShardUnit> units = shard_units(one);
    for (std::size_t i = 0; i < units.size(); ++i) {
      const ShardUnit& unit = units[i];
      const std::string name = unit.is_root ? "root" : fmt::format("unit {}", i);
      UnitLaunch& launch = made.units.emplace_back(UnitLaunch{.unit = unit});
      for (const auto& [axis, parameters] : unit.parameters) {
        if (collectives_.group_size(axis, one.stage) == 1) continue;
        const auto [reduce, across] =
            add_reduction(axis, one.stage, parameters * gradient_,
                          {.name = name, .purpose = "gradients", .ready_op = unit.last_backward});
        launch.reductions.push_back(reduce);
        if (across >= 0) launch.reductions.push_back(across);
        if (!is_divided(axis, one.stage)) continue;
        launch.gathers.push_back(
            add_gather(axis, one.stage, parameters * weight_, {.name = name, .purpose = "parameters"}));
      }
    }
  }

  /// Whether the replicas along an axis divide the state of their parameters.
  [[nodiscard]] bool is_divided(Axis axis, int stage) const {
    return layout_.parallelism.shard != Sharded::none && collectives_.group_size(axis, stage, shards_) > 1;
  }

  /// What a reduction of gradients leaves: the whole sum, or a shard of it, which nodes with copies add up.
  std::pair<int, int> add_reduction(Axis axis, int stage, Bytes size, const CollectiveUse& use) {
    if (!is_divided(axis, stage))
      return {collectives_.add(Operation::all_reduce, axis, stage, size, use), -1};
    const int reduce = collectives_.add(Operation::reduce_scatter, axis, stage, size, use, shards_);
    if (shards_ == GroupScope::whole || collectives_.group_size(axis, stage, GroupScope::across_nodes) == 1)
      return {reduce, -1};
    const int parts = collectives_.group_size(axis, stage, shards_);
    return {reduce, collectives_.add(Operation::all_reduce, axis, stage, size / parts, use,
                                     GroupScope::across_nodes)};
  }

  int add_gather(Axis axis, int stage, Bytes size, const CollectiveUse& use) {
    return collectives_.add(Operation::all_gather, axis, stage, size, use, shards_);
  }

  /// Gradients that the same ranks sum.
  struct AxisBucket {
    Axis axis{};
    Bucket bucket;
  };

  /// The buckets of a chunk in the order in which they become ready. Gradients with other replicas go into
  /// buckets of their own.
  [[nodiscard]] std::vector<AxisBucket> buckets_of(const RankClass& one, int chunk) const {
    std::vector<AxisBucket> all;
    for (const auto& [axis, gradients] : gradients_of(one, chunk)) {
      if (collectives_.group_size(axis, one.stage) == 1) continue;
      for (Bucket& bucket : ddp_buckets(gradients, resolved_.stack, gradient_))
        all.push_back({axis, std::move(bucket)});
    }
    std::ranges::stable_sort(all, {}, [](const AxisBucket& made) { return made.bucket.ready_after; });
    return all;
  }

  /// By axis, in the order of the ops that complete them in the last micro-batch.
  static std::map<Axis, std::vector<ReadyGradient>> gradients_of(const RankClass& one, int chunk) {
    std::map<Axis, std::vector<ReadyGradient>> gradients;
    for (const PassOps& pass : one.passes) {
      for (int op = pass.first; pass.chunk == chunk && op < pass.end; ++op) {
        for (const Gradient& gradient : one.trace.ops[at(op)].gradients) {
          if (gradient.summed_over) gradients[*gradient.summed_over].push_back({gradient, op});
        }
      }
    }
    return gradients;
  }

  /// By layer: its first op in forward.
  static std::map<int, int> first_uses(const Trace& trace) {
    std::map<int, int> uses;
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
      if (trace.ops[i].phase == Phase::forward) uses.try_emplace(trace.ops[i].of_layer, static_cast<int>(i));
    }
    return uses;
  }

  /// The first forward op that reads a parameter of the bucket.
  static int first_use_of(const Bucket& bucket, const RankClass& one, const std::map<int, int>& uses) {
    int first = one.passes.front().first;
    bool is_found = false;
    for (const auto& [layer, op] : uses) {
      if (layer < 0) continue;
      const auto owns = [&](const Gradient& gradient) {
        return std::ranges::find(one.layers[at(layer)].parameters, gradient.tensor, &Parameter::name) !=
               one.layers[at(layer)].parameters.end();
      };
      if (!std::ranges::any_of(bucket.gradients, owns)) continue;
      first = is_found ? std::min(first, op) : op;
      is_found = true;
    }
    return first;
  }

  void add_end(const RankClass& one, StageCollectives& made) {
    const double partial = layout_.parallelism.sequence ? partial_gradients(one.layers) : 0;
    if (partial > 0) {
      made.before_update.push_back(
          collectives_.add(Operation::all_reduce, Axis::tensor, one.stage, partial * gradient_,
                           {.name = "layer norm gradients", .purpose = "gradients"}));
    }
    for (SharedTable& table : shared_tables_) {
      if (one.stage != table.first && one.stage != table.last) continue;
      if (table.collective < 0)
        table.collective =
            collectives_.add_between(table.first, table.last, table.elements * gradient_,
                                     {.name = table.name + " gradients", .purpose = "gradients"});
      made.before_update.push_back(table.collective);
    }
    if (!resolved_.stack.clip_gradients) return;
    if (!norm_) {
      const bool is_sharded = layout_.parallelism.shard != Sharded::none;
      norm_ = collectives_.add_norm(is_sharded ? std::optional(shards_) : std::nullopt);
    }
    if (*norm_ >= 0) made.before_update.push_back(*norm_);
  }

  /// A table with a copy on each of two stages: one has the table, the other a layer that is tied to it.
  struct SharedTable {
    std::string name;
    int first = 0, last = 0;  ///< the stages
    double elements = 0;      ///< on a rank
    int collective = -1;      ///< the all-reduce between the two; -1: none yet
  };

  /// One for each stage whose layers are tied to a table of another. A table with copies on several other
  /// stages is reduced with one after the other.
  static std::vector<SharedTable> shared_tables(const ResolvedExperiment& resolved) {
    std::vector<SharedTable> tables;
    for (const Layer& tied : resolved.model->layers) {
      if (tied.tied_elements <= 0) continue;
      const auto table = std::ranges::find_if(resolved.model->layers,
                                              [&](const Layer& layer) { return is_table_of(layer, tied); });
      if (table == resolved.model->layers.end()) continue;
      const auto [own, share] = place_of(resolved, table->name);
      const int other = place_of(resolved, tied.name).first;
      const SharedTable shared{.name = tied.tied_to.empty() ? "word embedding" : tied.tied_to,
                               .first = std::min(own, other),
                               .last = std::max(own, other),
                               .elements = parameter_elements(*share)};
      const auto is_same = [&](const SharedTable& one) {
        return one.name == shared.name && one.first == shared.first && one.last == shared.last;
      };
      if (own != other && std::ranges::none_of(tables, is_same)) tables.push_back(shared);
    }
    return tables;
  }

  const ResolvedExperiment& resolved_;
  const RankLayout& layout_;
  LayoutCollectives& collectives_;
  Bytes gradient_;     ///< per value, as reduced
  Bytes weight_;       ///< per value, as gathered
  GroupScope shards_;  ///< the ranks that divide state
  std::vector<SharedTable> shared_tables_;
  std::optional<int> norm_ = {};  ///< the sum of the gradients' norm, -1 if it needs none
};

bool has_batch_norms(const RankClass& one) { return !batch_norm_channels(one.trace).empty(); }

/// The messages between the chunks of the model, by stage and chunk of the stage.
std::vector<StageCollectives::Messages> messages_of(const RankLayout& layout,
                                                    LayoutCollectives& collectives) {
  const int p = layout.grid.pipeline;
  const int v = layout.parallelism.virtual_stages;
  std::vector<StageCollectives::Messages> all(at(p * v));
  for (int chunk = 0; chunk + 1 < p * v; ++chunk) {
    const int from = chunk % p;
    const int to = (chunk + 1) % p;
    const Bytes size = layout.boundaries[at(chunk)];
    const auto add = [&](int sender, int receiver, const char* purpose) {
      return collectives.add_message(
          sender, receiver, size,
          {.name = fmt::format("stage {} to stage {}", sender, receiver), .purpose = purpose});
    };
    const int forward = add(from, to, "activations");
    const int backward = add(to, from, "activation gradients");
    StageCollectives::Messages& sender = all[at(from * v + chunk / p)];
    StageCollectives::Messages& receiver = all[at(to * v + (chunk + 1) / p)];
    sender.send_forward = receiver.receive_forward = forward;
    receiver.send_backward = sender.receive_backward = backward;
  }
  return all;
}

LayoutOverlap overlap_of(const ResolvedExperiment& resolved) {
  const RankLayout& layout = *resolved.layout;
  const auto is_pass = [](const Op& op) {
    return op.role == OpRole::gradient_pass && op.phase == Phase::backward;
  };
  const bool has_passes = std::ranges::any_of(resolved.classes.front().trace.ops, is_pass);
  return {.gradients = resolved.stack.overlap && !has_passes,
          .parameters = false,
          .messages = traits(layout.schedule).hides_messages};
}

/// Adds one for each time that a program, with its segments, joins a collective.
void count_joins(const TaskGraph& graph, const Program& program, std::vector<int>& joins) {
  for (const std::vector<Task>& stream : program.streams) {
    for (const Task& task : stream) {
      if (const auto* join = std::get_if<Join>(&task)) ++joins[at(join->collective)];
      if (const auto* run = std::get_if<RunSegment>(&task))
        count_joins(graph, graph.segments[at(run->segment)].program, joins);
    }
  }
}

/// All programs that join a collective do so equally often.
void set_rounds(TaskGraph& graph) {
  for (const Program& program : graph.programs) {
    std::vector<int> joins(graph.collectives.size());
    count_joins(graph, program, joins);
    for (std::size_t i = 0; i < joins.size(); ++i)
      graph.collectives[i].rounds = std::max(graph.collectives[i].rounds, joins[i]);
  }
}

/// Sets the use of the GPUs by all collectives but messages, which occupy one or two percent of a GPU.
void set_layout_uses(const ResolvedExperiment& resolved, StepPlan& plan) {
  const std::vector<GpuUse> uses = collective_uses(plan, resolved.gpu, resolved.library);
  for_each_task<Join>(plan.graph, [&](Join& join) {
    if (plan.graph.collectives[at(join.collective)].operation != Operation::send_recv)
      join.use = uses[at(join.collective)];
  });
}

/// Leaves a segment undisturbed only if nothing else can use the links of its collectives meanwhile: all
/// users of such a link involve the segment's own stage, whose ranks take part in one at a time.
class LinkUsers {
public:
  LinkUsers(const TaskGraph& graph, const LayoutCollectives& collectives, bool messages_overlap)
      : users_(graph.links.size(), unused) {
    for (const Pattern& pattern : graph.patterns) uses_.push_back(link_uses(pattern));
    std::set<std::pair<int, int>> known;  // pattern and first stage
    for (std::size_t i = 0; i < graph.collectives.size(); ++i) {
      const Collective& collective = graph.collectives[i];
      const bool is_beside = messages_overlap && collective.one_way;
      const LayoutCollectives::Ends of_stages = collectives.stages_of(static_cast<int>(i));
      if (of_stages.from < 0) continue;  // no rank is in a pass any more
      const LayoutCollectives::Ends ends = is_beside ? nobody : of_stages;
      for (const CollectivePhase& phase : collective.phases) {
        if (!known.emplace(phase.pattern, ends.from).second) continue;
        for (const LinkUse& use : uses_[at(phase.pattern)]) add(users_[index(use.link)], ends);
      }
    }
  }

  /// Whether all users of the collective's links involve the stage.
  [[nodiscard]] bool are_of(int stage, const Collective& collective) {
    for (const CollectivePhase& phase : collective.phases) {
      const auto [entry, is_new] = known_.try_emplace({phase.pattern, stage}, true);
      if (is_new) {
        entry->second = std::ranges::all_of(
            uses_[at(phase.pattern)], [&](const LinkUse& use) { return users_[index(use.link)].has(stage); });
      }
      if (!entry->second) return false;
    }
    return true;
  }

private:
  static constexpr LayoutCollectives::Ends nobody{-1, -1};
  static constexpr LayoutCollectives::Ends unused{-2, -2};

  /// Keeps the stages that all users of a link involve.
  static void add(LayoutCollectives::Ends& common, LayoutCollectives::Ends ends) {
    if (common == unused) {
      common = ends;
      return;
    }
    if (!ends.has(common.from)) common.from = common.to;
    if (!ends.has(common.to)) common.to = common.from;
    if (!ends.has(common.from)) common = nobody;
  }

  std::vector<std::vector<LinkUse>> uses_;      ///< by pattern
  std::vector<LayoutCollectives::Ends> users_;  ///< by link: the stages that all its users involve
  std::map<std::pair<int, int>, bool> known_;   ///< by pattern and stage
};

/// Whether a collective on another stream may run while the compute stream is in one, or another stream is:
/// then they share links, and the segment alone does not take its closed form.
bool has_joins_at_once(const Program& program) {
  constexpr auto compute = static_cast<std::size_t>(Stream::compute);
  std::map<int, int> begins;  // by event of the compute stream: streams with a collective that waits for it
  std::set<int> ends;         // events of the other streams after a collective
  for (std::size_t stream = 0; stream < program.streams.size(); ++stream) {
    if (stream == compute) continue;
    int awaited = -1;
    bool has_joined = false;
    for (const Task& task : program.streams[stream]) {
      if (const auto* wait = std::get_if<Wait>(&task)) awaited = wait->event;
      if (std::holds_alternative<Join>(task)) {
        ++begins[awaited];
        has_joined = true;
      }
      if (const auto* record = std::get_if<Record>(&task);
          record != nullptr && std::exchange(has_joined, false))
        ends.insert(record->event);
    }
  }
  int under_way = begins[-1];
  for (const Task& task : program.streams[compute]) {
    if (const auto* record = std::get_if<Record>(&task)) {
      if (const auto found = begins.find(record->event); found != begins.end()) under_way += found->second;
    }
    if (const auto* wait = std::get_if<Wait>(&task); wait != nullptr && ends.contains(wait->event))
      --under_way;
    if (under_way > 0 && std::holds_alternative<Join>(task)) return true;
  }
  return false;
}

void check_segments(const LayoutCollectives& collectives, bool messages_overlap, StepPlan& plan) {
  const auto has_joins = [](const Segment& segment) {
    return std::ranges::any_of(segment.program.streams, [](const std::vector<Task>& stream) {
      return std::ranges::any_of(stream, [](const Task& task) { return std::holds_alternative<Join>(task); });
    });
  };
  if (std::ranges::none_of(plan.graph.segments, has_joins)) return;
  LinkUsers users(plan.graph, collectives, messages_overlap);
  for (Segment& segment : plan.graph.segments) {
    segment.is_undisturbed = segment.is_undisturbed && !has_joins_at_once(segment.program);
    for_each_task<Join>(segment.program, [&](const Join& join) {
      const int stage = collectives.stages_of(join.collective).from;
      segment.is_undisturbed =
          segment.is_undisturbed && users.are_of(stage, plan.graph.collectives[at(join.collective)]);
    });
  }
}

void set_times(std::span<const OpTime> times, Program& program) {
  for_each_task<Compute>(program, [&](Compute& kernel) {
    const OpTime& time = times[at(kernel.op)];
    kernel.duration = time.duration;
    kernel.use = time.use;
    kernel.overhead = time.overhead;
  });
}

/// A host launches the passes of all micro-batches.
void expect_launches(const ResolvedExperiment& resolved) {
  if (!resolved.lowering) return;
  double ops = 0;
  for (const RankClass& one : resolved.classes)
    ops += 1.0 * resolved.layout->micro_batches * static_cast<double>(one.trace.ops.size());
  expect_ops(ops, "a host launches every op of every micro-batch, and a smaller 'accumulation' has fewer");
}

}  // namespace

StepPlan plan_layout_step(const ResolvedExperiment& resolved) {
  const RankLayout& layout = *resolved.layout;
  StepPlan plan;
  plan.graph.links = link_capacities(*resolved.network);
  LayoutCollectives collectives(resolved, plan);
  StagePlanner planner(resolved, collectives);
  const std::vector<StageCollectives::Messages> messages = messages_of(layout, collectives);
  const LayoutOverlap overlap = overlap_of(resolved);
  plan.graph.program_of_rank.resize(at(resolved.cluster->ranks()));
  expect_launches(resolved);
  for (const RankClass& one : resolved.classes) {
    plan.op_times.push_back(op_times(one.trace, resolved.gpu, resolved.stack));
    const StageCollectives of_stage =
        planner.plan(one, &messages[at(one.stage * layout.parallelism.virtual_stages)]);
    for (const Rank rank : one.ranks)
      plan.graph.program_of_rank[at(index(rank))] = static_cast<int>(plan.graph.programs.size());
    plan.graph.programs.push_back(
        stage_program(one, layout, plan.op_times.back(), of_stage, overlap, plan.graph));
  }
  if (resolved.stack.broadcast_buffers && std::ranges::any_of(resolved.classes, has_batch_norms)) {
    plan.notes.emplace_back(
        "the stack's broadcast_buffers is not simulated for ranks that share a model: each keeps the "
        "statistics of its own batch norms");
  }
  set_rounds(plan.graph);
  check_segments(collectives, overlap.messages, plan);
  if (resolved.stack.overlap_slows) set_layout_uses(resolved, plan);
  return plan;
}

void set_op_times(const ResolvedExperiment& resolved, StepPlan& plan) {
  if (resolved.lowering) {  // when a host launches what depends on the times
    plan = plan_layout_step(resolved);
    return;
  }
  std::vector<bool> is_set(plan.graph.segments.size());  // each belongs to one program
  for (std::size_t i = 0; i < resolved.classes.size(); ++i) {
    plan.op_times[i] = op_times(resolved.classes[i].trace, resolved.gpu, resolved.stack);
    Program& program = plan.graph.programs[i];
    set_times(plan.op_times[i], program);
    for (const Task& task : program.of(Stream::compute)) {
      const auto* run = std::get_if<RunSegment>(&task);
      if (run == nullptr || is_set[at(run->segment)]) continue;
      is_set[at(run->segment)] = true;
      set_times(plan.op_times[i], plan.graph.segments[at(run->segment)].program);
    }
  }
}

}  // namespace trainyard
