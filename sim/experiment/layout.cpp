#include "experiment/layout.hpp"

#include "config/diagnostic.hpp"
#include "experiment/layout_needs.hpp"
#include "experiment/lowered_stack.hpp"
#include "lowering/lower.hpp"
#include "lowering/typed_layers.hpp"
#include "strategy/class_sampling.hpp"
#include "strategy/context.hpp"
#include "strategy/experts.hpp"
#include "strategy/layer_copies.hpp"
#include "strategy/layer_division.hpp"
#include "strategy/layer_turns.hpp"
#include "strategy/layer_work.hpp"
#include "strategy/layout_checks.hpp"
#include "strategy/layout_refusal.hpp"
#include "strategy/recompute.hpp"
#include "strategy/repeated_rows.hpp"
#include "strategy/shard.hpp"
#include "strategy/split_backward.hpp"
#include "strategy/stack_ops.hpp"
#include "strategy/stages.hpp"
#include "strategy/transfer.hpp"
#include "strategy/unit_copies.hpp"
#include "strategy/vocabulary.hpp"
#include "workload/accumulate.hpp"
#include "workload/eight_bits.hpp"
#include "workload/fuse_elementwise.hpp"
#include "workload/make_trace.hpp"
#include "workload/transformer_layers.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace trainyard {

namespace {

/// One chunk of the model: the ops of its passes and of its update.
struct ChunkTrace {
  std::vector<Op> forward, backward, weights, update;

  [[nodiscard]] std::size_t size() const {
    return forward.size() + backward.size() + weights.size() + update.size();
  }

  std::vector<Op>& of(Phase phase) {
    if (phase == Phase::forward) return forward;
    return phase == Phase::backward ? backward : update;
  }
};

/// A copy of each shared table of which these layers read, but which another rank has: the first reader has
/// it, and shares it with the others. `has_table` tells whether this rank has a layer's table.
template <class HasTable>
void own_tied_tables(std::vector<Layer>& layers, HasTable has_table) {
  std::vector<std::size_t> without_table;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].tied_elements > 0 && !has_table(layers[i])) without_table.push_back(i);
  }
  std::set<std::string> copied;
  for (const std::size_t i : without_table) {
    Layer& layer = layers[i];
    if (!copied.insert(layer.tied_to).second) continue;
    const double elements = std::exchange(layer.tied_elements, 0);
    layer.parameters.insert(layer.parameters.begin(), {layer.name + ".weight", elements});
    if (layer.kind == LayerKind::embedding) continue;  // its traffic is that of rows, and of a whole gradient
    layer.weight_rw_elements = elements;
    layer.forward_rw_elements += elements;
    layer.backward_rw_elements += 2 * elements;
  }
}

/// The transfers of some of the model's layers, numbered from the first of these.
std::vector<Transfer> transfers_of(const std::vector<Transfer>& all, const LayerRange& range) {
  std::vector<Transfer> some;
  for (Transfer transfer : all) {
    if (transfer.layer < range.first || transfer.layer >= range.end) continue;
    transfer.layer -= range.first;
    some.push_back(transfer);
  }
  return some;
}

/// The number of a layer's block, counted from that of the first layer; none for a layer outside blocks.
std::optional<int> place_of(const Layer& layer, std::optional<int> first) {
  if (!layer.block) return std::nullopt;
  return *layer.block - first.value_or(0);
}

/// A rank's share of every layer.
ShardedModel shared_model(const Model& whole, const Parallelism& parallelism, const Stack& stack,
                          int micro_batches) {
  const ExpertSetting experts = expert_setting(parallelism, stack.dispatcher);
  require_expert_tensor(whole.layers, parallelism);
  require_experts(whole.layers, experts);
  require_context(whole.layers, parallelism);
  require_use_of_experts(whole.layers, parallelism, stack);
  require_pairs(parallelism, stack, micro_batches);
  ShardedModel model = share_experts(shard(whole, {.tensor = parallelism.tensor,
                                                   .sequence = parallelism.sequence,
                                                   .whole_experts = experts.whole_experts}),
                                     experts);
  share_tokens(model, parallelism);
  return model;
}

/// A micro-batch of a rank on a stack with a lowering.
LoweredStep lowered_step(const LayoutRequest& request) {
  LoweredStep step = lowered_step(request.stack, request.micro_batch, request.precision, request.optimizer,
                                  request.host_times);
  step.wide_shares =
      request.parallelism.dispatcher.value_or(request.stack.dispatcher) == TokenDispatcher::deepep;
  return step;
}

/// Values of the parts of parameters whose state the rank has, tensor by tensor.
std::vector<double> own_tensors(const RankLayout& layout, const RankClass& one, const Lowering& rules) {
  std::vector<double> tensors;
  for (const Layer& layer : one.layers) {
    const auto shards =
        layer.summed_over ? layout.state_shards.find(*layer.summed_over) : layout.state_shards.end();
    const int ranks = shards == layout.state_shards.end() ? 1 : shards->second;
    for (const double values : tensors_of(layer, rules)) tensors.push_back(values / ranks);
  }
  return tensors;
}

class LayoutTraces {
public:
  LayoutTraces(const LayoutRequest& request, const RankLayout& layout)
      : request_(request),
        layout_(layout),
        model_(shared_model(request.model, layout.parallelism, request.stack, layout.micro_batches)),
        ranges_(cut(model_.layers, layout.grid.pipeline * layout.parallelism.virtual_stages,
                    {.blocks_of_chunk = layout.parallelism.stages,
                     .may_be_unequal = layout.parallelism.unequal_stages,
                     .first_layers = layout.parallelism.first_layers})) {
    require_blocks(layout.parallelism, most_blocks());
    find_streams();
    for (std::size_t i = 0; i + 1 < ranges_.size(); ++i) {  // before layers gather the inputs of all replicas
      boundaries_.push_back(request_.micro_batch * boundary_elements(model_.layers, ranges_[i]) *
                            streams_[at(ranges_[i].end)].before);
    }
    const DividingRanks among = dividing_ranks(layout.grid);
    model_ = divide_among_replicas(std::move(model_), layout.parallelism.layers, among);
    turns_ = turn_section(model_.layers, layout.parallelism.layers, among);
    if (turns_) require_slices(*turns_, model_.layers, request_.micro_batch);
  }

  [[nodiscard]] const std::vector<Bytes>& boundaries() const { return boundaries_; }

  /// The class of a stage; its update is that of all parameters.
  [[nodiscard]] RankClass stage(int stage) const {
    RankClass made{.name = layout_.grid.pipeline == 1 ? "all ranks" : fmt::format("stage {}", stage),
                   .ranks = ranks_of_stage(layout_.grid, stage),
                   .trace = {.model = request_.model.name,
                             .batch_per_gpu = request_.micro_batch,
                             .precision = request_.precision,
                             .sequence_length = request_.model.sequence_length,
                             .samples_per_epoch = samples_per_epoch(request_.model),
                             .ops = {}},
                   .stage = stage};
    std::vector<ChunkTrace> chunks;
    for (int k = 0; k < layout_.parallelism.virtual_stages; ++k) chunks.push_back(chunk(stage, k, made));
    std::size_t count = 0;
    for (const ChunkTrace& one : chunks) count += one.size();
    constexpr std::size_t of_stack = 8;  // that add_stack_ops() may add
    made.trace.ops.reserve(count + of_stack);
    const auto add = [&](PassKind kind, std::vector<Op> ChunkTrace::*ops) {
      for (int k = 0; at(k) < chunks.size(); ++k) {
        const auto first = static_cast<int>(made.trace.ops.size());
        std::ranges::move(chunks[at(k)].*ops, std::back_inserter(made.trace.ops));
        made.passes.push_back({kind, k, first, static_cast<int>(made.trace.ops.size())});
      }
    };
    add(PassKind::forward, &ChunkTrace::forward);
    add(PassKind::backward, &ChunkTrace::backward);
    if (traits(layout_.schedule).splits_backward) add(PassKind::weights, &ChunkTrace::weights);
    if (request_.lowering == nullptr)
      add_update(chunks, made.trace);
    else
      add_lowered_update(made);
    made.trace.accumulation = layout_.micro_batches;
    add_stack_ops(made.trace, request_.stack);
    return made;
  }

  /// Whether two stages do the same on other blocks, so that their classes would differ in names alone.
  [[nodiscard]] bool do_the_same(int a, int b) const {
    for (int k = 0; k < layout_.parallelism.virtual_stages; ++k) {
      const LayerRange& of_a = range_of(a, k);
      const LayerRange& of_b = range_of(b, k);
      const auto layers = [&](const LayerRange& range) { return layers_of(range); };
      const auto first_a = layers(of_a).front().block;
      const auto first_b = layers(of_b).front().block;
      const auto are_alike = [&](const Layer& one, const Layer& other) {
        return trainyard::do_the_same(one, other) && place_of(one, first_a) == place_of(other, first_b);
      };
      if (!std::ranges::equal(layers(of_a), layers(of_b), are_alike) ||
          transfers_of(model_.transfers, of_a) != transfers_of(model_.transfers, of_b))
        return false;
    }
    return true;
  }

private:
  [[nodiscard]] const LayerRange& range_of(int stage, int number) const {
    return ranges_[at(chunk_places(layout_).of_model(stage, number))];
  }

  [[nodiscard]] std::span<const Layer> layers_of(const LayerRange& range) const {
    return std::span(model_.layers).subspan(at(range.first), at(range.end - range.first));
  }

  /// Blocks of the virtual stage with most of them.
  [[nodiscard]] int most_blocks() const {
    std::size_t most = 0;
    for (const LayerRange& range : ranges_) {
      std::set<int> blocks;
      for (const Layer& layer : layers_of(range)) {
        if (layer.block) blocks.insert(*layer.block);
      }
      most = std::max(most, blocks.size());
    }
    return static_cast<int>(most);
  }

  /// Whether a chunk of the stage has the table to which a layer is tied.
  [[nodiscard]] bool has_table_of(const Layer& tied, int stage) const {
    const auto is_table = [&](const Layer& table) { return is_table_of(table, tied); };
    for (int k = 0; k < layout_.parallelism.virtual_stages; ++k) {
      if (std::ranges::any_of(layers_of(range_of(stage, k)), is_table)) return true;
    }
    return false;
  }

  /// The trace of a chunk; its layers join those of the class.
  [[nodiscard]] ChunkTrace chunk(int stage, int number, RankClass& made) const {
    const LayerRange& range = range_of(stage, number);
    Model part{.name = request_.model.name, .title = {}, .layers = {}, .samples_per_epoch = {}};
    part.layers.assign(model_.layers.begin() + range.first, model_.layers.begin() + range.end);
    own_tied_tables(part.layers, [&](const Layer& layer) { return has_table_of(layer, stage); });
    Trace trace = request_.lowering == nullptr ? fused_trace(part) : lowered_part(part, range.first);
    add_transfers(trace, part.layers, transfers_of(model_.transfers, range));
    if (request_.lowering != nullptr)
      await_counts(trace, part.layers, expert_setting(layout_.parallelism, request_.stack.dispatcher));
    add_layer_copies(trace, request_.stack, dividing_ranks(layout_.grid), request_.ranks_per_node,
                     request_.host_rate);
    add_sampling(trace, part.layers);
    add_rings(trace, part.layers, layout_.parallelism);
    recompute(trace, part.layers, layout_.parallelism.recompute,
              {.first = layout_.parallelism.recompute_layers,
               .every = layout_.parallelism.recompute_every,
               .stops_early = request_.stack.recompute_stops_early,
               .modules = recomputed_modules(layout_.parallelism)});
    for (Op& op : trace.ops) {
      if (request_.lowering != nullptr && op.role == OpRole::recompute)
        launch_again(op, *request_.lowering, lowered_step(request_));
    }
    if (request_.lowering != nullptr)
      launch_parts_as_graphs(trace, part.layers, request_.stack.graphs,
                             request_.host_times * request_.lowering->host.graph);
    ChunkTrace ops;
    for (const Phase phase : {Phase::forward, Phase::backward})
      ops.of(phase).reserve(static_cast<std::size_t>(std::ranges::count(trace.ops, phase, &Op::phase)) + 1);
    for (Op& op : trace.ops) ops.of(op.phase).push_back(std::move(op));
    if (turns_) repeat_in_turns(ops, part.layers);
    if (traits(layout_.schedule).splits_backward) ops.weights = split_backward(ops.backward, part.layers);
    if (layout_.micro_batches > 1 && !request_.stack.fused_accumulation) add_gradients(ops);
    const auto offset = static_cast<int>(made.layers.size());
    for (auto pass : {&ChunkTrace::forward, &ChunkTrace::backward, &ChunkTrace::weights}) {
      for (Op& op : ops.*pass) op.of_layer = op.of_layer < 0 ? -1 : op.of_layer + offset;
    }
    std::ranges::move(part.layers, std::back_inserter(made.layers));
    return ops;
  }

  [[nodiscard]] Trace fused_trace(const Model& part) const {
    Trace trace = make_trace(part, request_.micro_batch, request_.precision, request_.optimizer);
    if (request_.stack.fused_elementwise) fuse_elementwise(trace, part.layers);
    add_layer_work(trace, part.layers, request_.stack.layer_work);
    add_repeated_rows(trace, part.layers, request_.stack);
    return trace;
  }

  /// `first`: the number of its first layer.
  [[nodiscard]] Trace lowered_part(const Model& part, int first) const {
    LoweredStep step = lowered_step(request_);
    step.part.emplace(PartOfModel{.traits = traits_of(request_.model.layers)});
    step.part->traits.is_tied = traits_of(part.layers).is_tied;  // another rank may have the table
    if (first > 0) step.part->before = streams_[at(first)];
    return lowered_passes(part, *request_.lowering, step);
  }

  void find_streams() {
    const ElementSizes sizes = element_sizes(request_.precision);
    streams_.assign(model_.layers.size() + 1, {sizes.activation, sizes.activation});
    if (request_.lowering == nullptr) return;
    for (const TypedLayer& typed :
         typed_layers(model_.layers, traits_of(request_.model.layers), *request_.lowering, sizes))
      streams_[at(typed.of_layer + 1)] = {typed.result, typed.other};
  }

  /// Layers that take turns exclude a pipeline, so that the chunk is the whole model.
  void repeat_in_turns(ChunkTrace& ops, const std::vector<Layer>& layers) const {
    TurnOps turns = take_turns({std::move(ops.forward), std::move(ops.backward)}, layers, *turns_,
                               {.micro_batch = request_.micro_batch,
                                .precision = request_.precision,
                                .adds_gradients = !request_.stack.fused_accumulation});
    ops.forward = std::move(turns.forward);
    ops.backward = std::move(turns.backward);
  }

  /// Gradients are added to those of earlier micro-batches at the end of the passes that complete them.
  void add_gradients(ChunkTrace& chunk) const {
    const Bytes value = element_sizes(request_.precision).gradient;
    for (std::vector<Op>* pass : {&chunk.backward, &chunk.weights}) {
      auto addition = gradient_addition(*pass, value);
      if (!addition) continue;
      if (request_.lowering != nullptr) {
        int tensors = 0;
        for (const Op& op : *pass) tensors += static_cast<int>(op.gradients.size());
        lower_addition(*addition, tensors, *request_.lowering, lowered_step(request_));
      }
      pass->push_back(*std::move(addition));
    }
  }

  void add_lowered_update(RankClass& made) const {
    made.trace.host = launching_host(*request_.lowering, request_.host_times);
    std::ranges::move(lowered_update(own_tensors(layout_, made, *request_.lowering), *request_.lowering,
                                     lowered_step(request_), weights_in_8_bits(made.layers)),
                      std::back_inserter(made.trace.ops));
  }

  /// One update of all chunks.
  static void add_update(std::span<ChunkTrace> chunks, Trace& trace) {
    Op update = std::move(chunks.front().update.front());
    double parameters = std::get<VectorShape>(update.shape).elements;
    for (const ChunkTrace& chunk : chunks.subspan(1)) {
      update.flops += chunk.update.front().flops;
      update.bytes += chunk.update.front().bytes;
      parameters += std::get<VectorShape>(chunk.update.front().shape).elements;
    }
    update.shape = VectorShape{parameters};
    trace.ops.push_back(std::move(update));
    add_casts(chunks, trace);
  }

  /// The casts of whole weights to 8 bits after the update of all chunks, even if other ranks update them.
  static void add_casts(std::span<ChunkTrace> chunks, Trace& trace) {
    std::optional<Op> all;
    for (ChunkTrace& chunk : chunks) {
      for (Op& op : std::span(chunk.update).subspan(1)) {
        if (all) {
          op.flops += all->flops;
          op.bytes += all->bytes;
          op.shape = VectorShape{std::get<VectorShape>(op.shape).elements +
                                 std::get<VectorShape>(all->shape).elements};
        }
        all = std::move(op);
      }
    }
    if (all) trace.ops.push_back(*std::move(all));
  }

  const LayoutRequest& request_;
  const RankLayout& layout_;
  ShardedModel model_;
  std::vector<LayerRange> ranges_;
  std::vector<StreamSizes> streams_;       ///< by layer: the types of the layer's inputs
  std::vector<Bytes> boundaries_;          ///< as RankLayout's
  std::optional<TurnSection> turns_ = {};  ///< of divided layers
};

/// Number of all replicas along an axis, or of those on one node. Throws InputError if nodes have different
/// numbers of a group's replicas: shards would differ in size, and so would memory and messages of stages.
int state_shards(const Parallelism& parallelism, const Grid& grid, Axis axis, int ranks_per_node) {
  if (parallelism.shard_over == ShardOver::data) return group_size(grid, axis);
  int on_first = 0;
  for (const std::vector<Rank>& group : groups(grid, axis)) {
    for (auto begin = group.begin(); begin != group.end();) {
      const int node = index(*begin) / ranks_per_node;
      const auto end =
          std::find_if(begin, group.end(), [&](Rank rank) { return index(rank) / ranks_per_node != node; });
      const auto here = static_cast<int>(end - begin);
      if (on_first == 0) on_first = here;
      if (here != on_first) {
        refuse_layout("shard_over",
                      fmt::format("replicas divide state inside nodes, but one node has {} of a group, "
                                  "another {}",
                                  std::max(here, on_first), std::min(here, on_first)),
                      "shard_over: data, or as many replicas of every group on every node");
      }
      begin = end;
    }
  }
  return on_first;
}

/// Throws InputError if nodes with one replica each are to divide its state.
void require_shards(const RankLayout& layout) {
  const Parallelism& parallelism = layout.parallelism;
  const int replicas = layout.grid.data * layout.grid.context;
  if (parallelism.shard == Sharded::none || layout.state_shards.at(Axis::data) > 1 || replicas == 1) return;
  refuse_layout(
      "shard_over",
      fmt::format("each node has 1 of {} replicas, so that none can divide state inside a node", replicas),
      "shard_over: data, or shard: none");
}

/// Throws InputError if nothing of the model can be computed again.
void require_recomputable(const LayoutRequest& request) {
  const Recompute what = request.parallelism.recompute;
  const auto has = [&](auto is_one) { return std::ranges::any_of(request.model.layers, is_one); };
  const auto is_attention = [](const Layer& layer) {
    return is_attention_core(layer) || layer.kind == LayerKind::flash_attention;
  };
  const bool is_of_blocks = what == Recompute::full || what == Recompute::alternate;
  if (what == Recompute::none || (is_of_blocks && block_count(request.model.layers) > 0) ||
      (what == Recompute::selective && has(is_attention)))
    return;
  refuse_layout(
      "recompute",
      fmt::format("'{}' finds nothing to compute again: the model has no {}", config::name_of(what),
                  is_of_blocks ? "blocks" : "attention"),
      is_of_blocks || block_count(request.model.layers) == 0 ? "recompute: none" : "recompute: full");
}

/// The part of an update whose state the rank has.
Op own_part(const Op& update, const RankClass& one, const LayoutRequest& request, const RankLayout& layout) {
  const double parameters = std::get<VectorShape>(update.shape).elements;
  Op part_done = update;
  double own = 0;
  part_done.flops = {};
  part_done.bytes = {};
  for (const auto& [axis, elements] : gradients_by_axis(one.layers, request.micro_batch)) {
    const auto shards = axis ? layout.state_shards.find(*axis) : layout.state_shards.end();
    const int ranks = shards == layout.state_shards.end() ? 1 : shards->second;
    const double part = elements / parameters;
    own += elements / ranks;
    part_done.flops += update.flops * part / ranks;
    part_done.bytes += update.bytes * part / ranks;
  }
  part_done.shape = VectorShape{own};
  return part_done;
}

/// The layout as far as the model's layers do not matter.
RankLayout layout_of(const LayoutRequest& request) {
  std::vector<Diagnostic> errors = layout_errors(request.parallelism, request.ranks, request.micro_batches);
  if (!errors.empty()) throw InputError(std::move(errors));
  RankLayout layout{.parallelism = request.parallelism,
                    .grid = make_grid(request.parallelism, request.ranks),
                    .schedule = schedule_of(request.parallelism),
                    .micro_batches = request.micro_batches,
                    .state_shards = {},
                    .boundaries = {}};
  if (request.parallelism.shard != Sharded::none) {
    for (const auto& axis : parallel_axes) {
      const bool has_groups = axis.traits.key != "layer_group" || request.parallelism.layer_group;
      if (axis.traits.are_replicas() && has_groups)
        layout.state_shards[axis.value] =
            state_shards(request.parallelism, layout.grid, axis.value, request.ranks_per_node);
    }
  }
  require_shards(layout);
  require_recomputable(request);
  return layout;
}

/// Whether an op is the optimizer's, whatever the stack does before and after it.
bool is_update(const Op& op) {
  return op.phase == Phase::optimizer && op.role == OpRole::layer && op.kind != OpKind::host;
}

void divide_updates(const LayoutRequest& request, std::span<const Op> updates, const RankLayout& layout,
                    std::vector<RankClass>& classes) {
  for (std::size_t i = 0; i < classes.size(); ++i) {
    std::vector<Op>& ops = classes[i].trace.ops;
    const auto update = std::ranges::find_if(ops, is_update);
    if (update == ops.end()) continue;  // of a stage without parameters
    if (request.lowering == nullptr) {
      *update = own_part(updates[i], classes[i], request, layout);
      continue;
    }
    const auto next = ops.erase(update, std::find_if_not(update, ops.end(), is_update));
    std::vector<Op> own =
        lowered_update(own_tensors(layout, classes[i], *request.lowering), *request.lowering,
                       lowered_step(request), weights_in_8_bits(classes[i].layers));
    ops.insert(next, std::move_iterator(own.begin()), std::move_iterator(own.end()));
  }
}

/// Gives the classes the copies that the sharding of the layout brings.
void set_unit_ops(const LayoutRequest& request, const RankLayout& layout, std::vector<RankClass>& classes) {
  const HostCosts host = request.lowering == nullptr ? HostCosts{} : request.lowering->host;
  for (RankClass& one : classes)
    set_unit_ops(one, request.stack, request.parallelism.shard, layout.state_shards, request.precision,
                 request.host_times * host.forward, host.gap);
}

}  // namespace

LaidOut laid_out(const LayoutRequest& request) {
  LaidOut laid{.layout = layout_of(request), .classes = {}, .updates = {}};
  const LayoutTraces traces(request, laid.layout);
  laid.layout.boundaries = traces.boundaries();
  for (int stage = 0; stage < laid.layout.grid.pipeline; ++stage) {
    const auto same = std::ranges::find_if(laid.classes, [&](const RankClass& one) {
      return request.merge_stages && traces.do_the_same(one.stage, stage);
    });
    if (same != laid.classes.end())
      same->further_stages.push_back(stage);
    else
      laid.classes.push_back(traces.stage(stage));
  }
  std::ranges::sort(laid.classes, {}, [](const RankClass& one) { return one.ranks.front(); });
  set_unit_ops(request, laid.layout, laid.classes);
  if (request.lowering != nullptr) return laid;
  for (const RankClass& one : laid.classes)
    laid.updates.push_back(*std::ranges::find_if(one.trace.ops, is_update));
  divide_updates(request, laid.updates, laid.layout, laid.classes);
  return laid;
}

void share_state(const LayoutRequest& request, std::span<const Op> updates, RankLayout& layout,
                 std::vector<RankClass>& classes) {
  RankLayout shared = layout_of(request);
  shared.boundaries = std::move(layout.boundaries);
  layout = std::move(shared);
  set_unit_ops(request, layout, classes);
  divide_updates(request, updates, layout, classes);
}

}  // namespace trainyard
