#include "schedule/stage_collectives.hpp"

#include "schedule/launches.hpp"
#include "schedule/layout_collectives.hpp"
#include "schedule/replica_collectives.hpp"
#include "schedule/token_collectives.hpp"
#include "schedule/unit_collectives.hpp"
#include "strategy/buckets.hpp"
#include "strategy/shard.hpp"
#include "strategy/vocabulary.hpp"

#include <algorithm>
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
        replicas_(resolved, collectives),
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
        if (is_deduplicated(resolved_, what)) {
          add_deduplicated(resolved_, what, op, one, collectives_, made);
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
             .is_exchange = is_exchange(resolved_, what)});
      }
    }
  }

  /// The collectives by which replicas exchange gradients and, if they share state, parameters.
  void add_gradients(const RankClass& one, StageCollectives& made) {
    if (has_units(resolved_.stack, layout_.parallelism.shard)) {
      add_unit_collectives(resolved_, one, replicas_, collectives_, made);
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
        const auto [reduce, across] = replicas_.add_reduction(axis, one.stage, bucket.bytes, use);
        made.gradients.push_back(
            {.chunk = chunk, .ready_op = bucket.ready_after, .collective = reduce, .across = across});
        if (!replicas_.is_divided(axis, one.stage)) continue;
        const int gathered =
            replicas_.add_gather(axis, one.stage, bucket.bytes * (replicas_.weight / replicas_.gradient),
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
      const BucketLimits limits = bucket_limits(resolved_.stack, replicas_.gradient, replicas, is_first);
      for (Bucket& bucket : ddp_buckets(gradients, limits, resolved_.stack.overlap, replicas_.gradient))
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
          collectives_.add(Operation::all_reduce, Axis::tensor, one.stage, partial * replicas_.gradient,
                           {.name = "layer norm gradients", .purpose = "gradients"}));
    }
    for (SharedTable& table : shared_tables_) {
      if (one.stage != table.first && one.stage != table.last) continue;
      if (table.collective < 0)
        table.collective =
            collectives_.add_between(table.first, table.last, table.elements * replicas_.gradient,
                                     {.name = table.name + " gradients", .purpose = "gradients"});
      made.before_update.push_back(table.collective);
    }
    if (!resolved_.stack.clip_gradients) return;
    if (!norm_) {
      const bool is_sharded = layout_.parallelism.shard != Sharded::none;
      norm_ = collectives_.add_norm(is_sharded ? std::optional(replicas_.shards) : std::nullopt);
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
  ReplicaCollectives replicas_;
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
