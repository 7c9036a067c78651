#include "schedule/stage_collectives.hpp"

#include "schedule/launches.hpp"
#include "schedule/layout_collectives.hpp"
#include "strategy/buckets.hpp"
#include "strategy/experts.hpp"
#include "strategy/routing.hpp"
#include "strategy/shard.hpp"
#include "strategy/unit_copies.hpp"
#include "strategy/vocabulary.hpp"
#include "workload/make_trace.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <optional>
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
    if (!has_servers(resolved_.settings.sync)) {  // which sum gradients, also those of copies in a replica
      add_gradients(one, made);
      add_end(one, made);
    }
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
        if (is_deduplicated(what)) {
          add_deduplicated(what, op, one, made);
          continue;
        }
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
             .in_order = what.in_order,
             .is_exchange = is_exchange(what)});
      }
    }
  }

  [[nodiscard]] TokenDispatcher dispatcher() const {
    return layout_.parallelism.dispatcher.value_or(resolved_.stack.dispatcher);
  }

  /// Whether tokens are exchanged, not their numbers, for which kernels wait in any case.
  [[nodiscard]] bool is_exchange(const OpCommunication& what) const {
    return what.axis == Axis::expert &&
           (what.operation != Operation::all_gather || dispatcher() == TokenDispatcher::all_gather);
  }

  /// Whether each token is sent once to a rank, whatever the number of its experts there. Sums of experts
  /// return likewise.
  [[nodiscard]] bool is_deduplicated(const OpCommunication& what) const {
    return dispatcher() == TokenDispatcher::deepep && what.operation == Operation::all_to_all &&
           what.axis == Axis::expert;
  }

  /// Tokens go once to each node, to the rank with the same place there, which forwards them to the others as
  /// they arrive: both take place at the same time. Groups that are spread unequally over nodes exchange
  /// directly. Source: deepseek-ai/DeepEP docs/legacy.md (commit dd758caf), normal kernels with NVLink and
  /// RDMA forwarding. The rate is that of calls from PyTorch, with the preparation of the routing and copies
  /// to the library's buffers: 450 to 490 of 799 GB/s that pass a rank's NVLinks with 8 to 36 ranks of a
  /// GB200 NVL72, 27 to 38 of 50 GB/s a network card of H100s with 2 to 8 nodes. Source: that of tokens
  /// received, a rank's own included, in docs/README_Hybrid-EP.md (branch hybrid-ep, commit 94a9f8f6), Torch
  /// API, BF16, 32 and 16 multiprocessors, mean of dispatch and combine.
  void add_deduplicated(const OpCommunication& what, int op, const RankClass& one, StageCollectives& made) {
    constexpr int multiprocessors = 20;  // Megatron-Core's moe_flex_dispatcher_num_sms; DeepEP's own default
    constexpr double of_links = 0.6;
    const ExpertGroups experts = experts_of(one, what.axis);
    const int ranks = collectives_.group_size(what.axis, one.stage);
    const int nodes = collectives_.nodes_of_groups(what.axis, one.stage).value_or(1);
    const Bytes tokens = what.size / experts.per_token;  // if each went to one rank
    const CollectiveUse use{
        .name = one.trace.ops[at(op)].layer,
        .purpose = one.trace.ops[at(op)].phase == Phase::forward ? "activations" : "activation gradients",
        .ready_op = op,
        .of_layers = true,
        .blocks = multiprocessors,
        .share = of_links};
    const bool is_hierarchical = nodes > 1 && nodes < ranks;
    OpLaunch launch{.op = op,
                    .at = what.at,
                    .needed_by = (what.at == LaunchTime::end ? op + 1 : op) + what.waits.value_or(0),
                    .is_exchange = true};
    if (is_hierarchical) {
      launch.collective =
          collectives_.add(what.operation, what.axis, one.stage, tokens * visited_parts(experts, nodes), use,
                           GroupScope::across_nodes);
      launch.stream = Stream::tokens;
      launch.in_order = true;
      made.of_ops.push_back(launch);
    }
    launch.collective =
        collectives_.add(what.operation, what.axis, one.stage, tokens * visited_parts(experts, ranks), use,
                         is_hierarchical ? GroupScope::inside_nodes : GroupScope::whole);
    launch.stream = Stream::layers;
    launch.in_order = what.in_order;
    made.of_ops.push_back(launch);
  }

  /// Of the first mixture of experts.
  [[nodiscard]] ExpertGroups experts_of(const RankClass& one, Axis axis) {
    const auto copies = std::ranges::find_if(one.layers, copies_tokens);
    const auto first =
        std::ranges::find_if(copies, one.layers.end(), [](const Layer& layer) { return layer.experts > 0; });
    const Routing& routing = layout_.parallelism.routing;
    ExpertGroups of{.experts = first->experts * collectives_.group_size(axis, one.stage),
                    .per_token = static_cast<int>(std::lround(copies->out_elements / copies->in_elements)),
                    .groups = routing.groups.value_or(1)};
    of.limit = routing.group_limit.value_or(of.groups);
    return of;
  }

  /// The collectives by which replicas exchange gradients and, if they share state, parameters.
  void add_gradients(const RankClass& one, StageCollectives& made) {
    if (has_units(resolved_.stack, layout_.parallelism.shard)) {
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
    made.unit_rules = unit_rules(resolved_.stack, layout_.parallelism.shard);
    const std::vector<ShardUnit> units = shard_units(one, made.unit_rules);
    for (std::size_t i = 0; i < units.size(); ++i) {
      const ShardUnit& unit = units[i];
      const std::string name = unit.is_root ? "root" : fmt::format("unit {}", i);
      UnitLaunch& launch = made.units.emplace_back(UnitLaunch{.unit = unit});
      launch.gathered = gathered_parameters(unit, layout_.state_shards);
      add_gathers(one, made.unit_rules, name, launch);
    }
    add_unit_reductions(one, made);
    add_side_work(made);
    add_gathers_of_whole(one, made);
  }

  void add_gathers(const RankClass& one, const UnitRules& rules, const std::string& name,
                   UnitLaunch& launch) {
    const bool is_node = rules.reshard_after_forward == ReshardAfterForward::node &&
                         shards_ == GroupScope::whole && !launch.unit.is_kept;
    for (const auto& [axis, parameters] : launch.unit.parameters) {
      if (!is_divided(axis, one.stage)) continue;
      const auto whole = launch.unit.whole.find(axis);
      const double gathered = parameters - (whole == launch.unit.whole.end() ? 0 : whole->second);
      if (gathered <= 0) continue;
      const CollectiveUse use{.name = name, .purpose = "parameters"};
      if (rules.each_tensor) {
        for (const auto& [along, values] : launch.unit.tensors) {
          if (along == axis && values >= rules.whole_below)
            launch.gathers.push_back(add_gather(axis, one.stage, values * weight_, use));
        }
        continue;
      }
      launch.gathers.push_back(add_gather(axis, one.stage, gathered * weight_, use));
      if (!is_node) continue;
      const bool has_parts = collectives_.group_size(axis, one.stage, GroupScope::inside_nodes) > 1;
      if (has_parts)
        launch.gathers_again.push_back(collectives_.add(Operation::all_gather, axis, one.stage,
                                                        gathered * weight_, use, GroupScope::inside_nodes));
    }
  }

  /// Gradients of units that backward completes one after the other, up to reduced_parameters, are reduced
  /// together, when the last of them has ended.
  void add_unit_reductions(const RankClass& one, StageCollectives& made) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < made.units.size(); ++i) {
      if (made.units[i].unit.last_backward >= 0) order.push_back(i);
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return made.units[i].unit.last_backward; });
    const auto count_of = [](const std::map<Axis, double>& values) {
      double sum = 0;
      for (const auto& [axis, count] : values) sum += count;
      return sum;
    };
    std::map<Axis, double> open;
    std::vector<std::pair<Axis, double>> tensors;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const ShardUnit& unit = made.units[order[i]].unit;
      for (const auto& [axis, count] : unit.parameters) open[axis] += count;
      if (made.unit_rules.each_tensor)
        tensors.insert(tensors.end(), unit.tensors.begin(), unit.tensors.end());
      const double next = i + 1 < order.size() ? count_of(made.units[order[i + 1]].unit.parameters) : 0;
      const bool is_open = i + 1 < order.size() && made.unit_rules.reduced_parameters &&
                           count_of(open) + next <= *made.unit_rules.reduced_parameters;
      if (is_open) continue;
      if (!made.unit_rules.each_tensor) tensors.assign(open.begin(), open.end());
      open.clear();
      reduce_unit(one, std::exchange(tensors, {}), order[i], made.units[order[i]]);
    }
  }

  /// `gradients`: values of each reduction, and the axis along which they are summed.
  void reduce_unit(const RankClass& one, const std::vector<std::pair<Axis, double>>& gradients,
                   std::size_t number, UnitLaunch& launch) {
    const std::string name = launch.unit.is_root ? "root" : fmt::format("unit {}", number);
    for (const auto& [axis, parameters] : gradients) {
      if (collectives_.group_size(axis, one.stage) == 1) continue;
      const auto [reduce, across] =
          add_reduction(axis, one.stage, parameters * gradient_,
                        {.name = name, .purpose = "gradients", .ready_op = launch.unit.last_backward});
      launch.reductions.push_back(reduce);
      launch.reduced += parameters;
      if (across >= 0) launch.sums_of_copies.push_back(across);
    }
  }

  /// The copies next to the collectives of units.
  void add_side_work(StageCollectives& made) {
    const UnitValues values = unit_values(resolved_.stack, resolved_.settings.precision);
    const auto work = [&](const char* name, Bytes moved) {
      if (moved <= Bytes()) return SideWork{};
      return SideWork{.name = name,
                      .duration = moving_time(resolved_.gpu, resolved_.settings.precision, moved),
                      .use = resolved_.stack.overlap_slows ? moving_bytes : GpuUse{}};
    };
    for (UnitLaunch& launch : made.units) {
      int ranks = 1;
      for (const auto& [axis, count] : launch.unit.parameters) {
        const auto found = layout_.state_shards.find(axis);
        if (found != layout_.state_shards.end()) ranks = std::max(ranks, found->second);
      }
      if (made.unit_rules.part) launch.preparation = ranks * made.unit_rules.part->value;
      const UnitCopies copies = unit_copies(made.unit_rules, launch.reduced, launch.gathered, ranks, values);
      launch.joins_gradients = made.unit_rules.buffers == UnitBuffers::tensors && copies.joined > Bytes();
      if (!launch.gathers.empty()) {
        launch.before_gather = work("copy", copies.before_gather);
        launch.after_gather = work("copy out", copies.after_gather);
        for (const std::vector<int>& gathers : {launch.gathers, launch.gathers_again}) {
          if (gathers.empty()) continue;
          collectives_.label(gathers.front()).before = launch.before_gather.name;
          collectives_.label(gathers.back()).after = launch.after_gather.name;
        }
      }
      if (launch.reductions.empty()) continue;
      launch.before_reduction = work("copy", copies.before_reduction);
      launch.after_reduction = work("convert", copies.after_reduction);
      collectives_.label(launch.reductions.front()).before = launch.before_reduction.name;
      const int last =
          launch.sums_of_copies.empty() ? launch.reductions.back() : launch.sums_of_copies.back();
      collectives_.label(last).after = launch.after_reduction.name;
    }
  }

  /// Tensors that units do not gather are gathered once they are updated.
  void add_gathers_of_whole(const RankClass& one, StageCollectives& made) {
    std::map<Axis, double> whole;
    for (const UnitLaunch& launch : made.units) {
      for (const auto& [axis, count] : launch.unit.whole) whole[axis] += count;
    }
    for (const auto& [axis, count] : whole) {
      if (is_divided(axis, one.stage))
        made.after_update.push_back(
            add_gather(axis, one.stage, count * weight_, {.name = "small tensors", .purpose = "parameters"}));
    }
  }

  /// Whether the replicas along an axis divide the state of their parameters.
  [[nodiscard]] bool is_divided(Axis axis, int stage) const {
    return layout_.parallelism.shard != Sharded::none && collectives_.group_size(axis, stage, shards_) > 1;
  }

  /// Adds a reduction of gradients to the whole sum, or to a shard of it, which nodes with copies add up.
  std::pair<int, int> add_reduction(Axis axis, int stage, Bytes size, const CollectiveUse& use) {
    const bool is_whole = sums_all_gradients(resolved_.stack, layout_.parallelism.shard);
    if (is_whole || !is_divided(axis, stage))
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
      const int replicas = collectives_.group_size(Axis::data, one.stage);
      const bool is_first = one.stage == 0 && chunk == 0;
      const BucketLimits limits = bucket_limits(resolved_.stack, gradient_, replicas, is_first);
      for (Bucket& bucket : ddp_buckets(gradients, limits, resolved_.stack.overlap, gradient_))
        all.push_back({axis, std::move(bucket)});
    }
    std::ranges::stable_sort(all, {}, [](const AxisBucket& made) { return made.bucket.ready_after; });
    return all;
  }

  /// Gradients by axis, in the order of the ops that complete them in the last micro-batch.
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

  /// The first op of each layer in forward.
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

/// The messages between the chunks of the model, by stage and chunk of the stage. Divided ones go to the rank
/// with the same place in the tensor group of the other stage, one part from each. Sources: Narayanan et al.
/// 2021, arXiv 2104.04473, section 4.1; NVIDIA/Megatron-LM v2.5, megatron/p2p_communication.py
/// (scatter_gather_tensors_in_pipeline); microsoft/DeepSpeed, deepspeed/runtime/pipe/engine.py
/// (is_pipe_partitioned, is_grad_partitioned).
std::vector<StageCollectives::Messages> messages_of(const RankLayout& layout, bool are_divided,
                                                    LayoutCollectives& collectives) {
  const int parts = are_divided && !layout.parallelism.sequence ? layout.grid.tensor : 1;
  const int v = layout.parallelism.virtual_stages;
  const int chunks = layout.grid.pipeline * v;
  const ChunkPlaces places = chunk_places(layout);
  std::vector<StageCollectives::Messages> all(at(chunks));
  for (int chunk = 0; chunk + 1 < chunks; ++chunk) {
    const int from = places.stage_of(chunk);
    const int to = places.stage_of(chunk + 1);
    if (from == to) continue;  // where a V turns
    const Bytes size = layout.boundaries[at(chunk)];
    const auto add = [&](int sender, int receiver, const char* purpose) {
      return collectives.add_message(
          sender, receiver, size / parts,
          {.name = fmt::format("stage {} to stage {}", sender, receiver), .purpose = purpose});
    };
    const auto gather = [&](int stage, const char* purpose) {
      return collectives.add(Operation::all_gather, Axis::tensor, stage, size,
                             {.name = "parts of a message", .purpose = purpose});
    };
    const int forward = add(from, to, "activations");
    const int backward = add(to, from, "activation gradients");
    StageCollectives::Messages& sender = all[at(from * v + places.number_of(chunk))];
    StageCollectives::Messages& receiver = all[at(to * v + places.number_of(chunk + 1))];
    sender.send_forward = receiver.receive_forward = forward;
    receiver.send_backward = sender.receive_backward = backward;
    if (parts == 1) continue;
    receiver.gather_forward = gather(to, "activations");
    sender.gather_backward = gather(from, "activation gradients");
  }
  return all;
}

}  // namespace

std::vector<StageCollectives> stage_collectives(const ResolvedExperiment& resolved,
                                                LayoutCollectives& collectives) {
  StagePlanner planner(resolved, collectives);
  const std::vector<StageCollectives::Messages> messages =
      messages_of(*resolved.layout, resolved.stack.divided_messages, collectives);
  std::vector<StageCollectives> all;
  for (const RankClass& one : resolved.classes)
    all.push_back(planner.plan(one, &messages[at(one.stage * resolved.layout->parallelism.virtual_stages)]));
  return all;
}

}  // namespace trainyard
