#include "run/worker_messages.hpp"

#include "experiment/workers.hpp"
#include "strategy/buckets.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace trainyard {

namespace {

/// The class of a rank of a worker.
const RankClass& class_of_member(const ResolvedExperiment& resolved, int rank) {
  return shares_model(resolved) ? class_of(resolved, Rank{rank}) : only_class(resolved);
}

/// The first ops of a class that read each of its parameters.
std::map<std::string, int> first_uses(const RankClass& one) {
  std::vector<int> first_op(one.layers.size(), 0);
  for (std::size_t op = one.trace.ops.size(); op-- > 0;) {
    const int layer = one.trace.ops[op].of_layer;
    if (layer >= 0) first_op[at(layer)] = static_cast<int>(op);
  }
  std::map<std::string, int> uses;
  for (std::size_t layer = 0; layer < one.layers.size(); ++layer) {
    for (const Parameter& parameter : one.layers[layer].parameters)
      uses.try_emplace(parameter.name, first_op[layer]);
  }
  return uses;
}

/// The tensors of a class in the order in which they are complete.
std::vector<ReadyGradient> gradients_of(const RankClass& one) {
  const std::map<std::string, int> uses = first_uses(one);
  std::vector<ReadyGradient> gradients = ready_gradients(one.trace);
  for (ReadyGradient& ready : gradients) {
    if (const auto use = uses.find(ready.gradient.tensor); use != uses.end()) ready.needed_op = use->second;
  }
  return gradients;
}

/// The messages of a replica's ranks.
class ReplicaMessages {
public:
  ReplicaMessages(const ResolvedExperiment& resolved, Bytes value)
      : resolved_(resolved),
        grid_(resolved.layout->grid),
        ranks_(ranks_per_worker(resolved)),
        shards_(shards_of(resolved.settings.sync)),
        value_(value) {
    for (const Layer& layer : resolved.model->layers) {
      for (const Parameter& parameter : layer.parameters)
        whole_.try_emplace(parameter.name, parameter.elements);
    }
    for (const RankClass& one : resolved.classes) of_class_.push_back(gradients_of(one));
    for (int rank = 0; rank < ranks_; ++rank) {
      for (const ReadyGradient& ready : gradients(rank)) holders_[part_of(rank, ready)].push_back(rank);
    }
    int number = 0;
    for (const auto& [part, holders] : holders_) homes_[part] = holders[at(number++) % holders.size()];
  }

  std::vector<ServerMessage> messages() {
    for (int rank = 0; rank < ranks_; ++rank) add_own(rank);
    const std::size_t own = all_.size();
    for (int rank = 0; rank < ranks_; ++rank) add_copies(rank);
    return ordered(own);
  }

private:
  /// A part of a parameter: ranks with the same part hold copies.
  struct Part {
    int stage = 0;
    std::string tensor;
    int tensor_rank = 0;  ///< 0 if all hold it
    int layer_rank = 0;   ///< the same for the replicas that divide layers
    auto operator<=>(const Part&) const = default;
  };

  [[nodiscard]] const std::vector<ReadyGradient>& gradients(int rank) const {
    return of_class_[class_index(resolved_.classes, Rank{rank})];
  }

  [[nodiscard]] Part part_of(int rank, const ReadyGradient& ready) const {
    const Coordinates place = coordinates(grid_, Rank{rank});
    const auto whole = whole_.find(ready.gradient.tensor);
    const bool is_whole = whole == whole_.end() || whole->second == ready.gradient.elements;
    const bool is_of_all = ready.gradient.summed_over == Axis::data;
    return {.stage = place.pipeline,
            .tensor = ready.gradient.tensor,
            .tensor_rank = is_of_all && is_whole ? 0 : place.tensor,
            .layer_rank = is_of_all ? 0 : place.data % grid_.layer};
  }

  /// The shards of a rank's part.
  [[nodiscard]] std::vector<int> shards_of_rank(int rank) const {
    if (shards_ < ranks_) return {rank % shards_};
    std::vector<int> own;
    for (int shard = rank; shard < shards_; shard += ranks_) own.push_back(shard);
    return own;
  }

  void add_own(int rank) {
    std::vector<ReadyGradient> own;
    for (const ReadyGradient& ready : gradients(rank)) {
      if (homes_.at(part_of(rank, ready)) == rank) own.push_back(ready);
    }
    const std::vector<int> shards = shards_of_rank(rank);
    for (ServerMessage& message :
         server_messages(own, value_, static_cast<int>(shards.size()), resolved_.stack.servers)) {
      for (int& shard : message.shards) shard = shards[at(shard)];
      message.rank = rank;
      messages_of_part_[part_of(rank, own[at(message.turn)])].push_back(static_cast<int>(all_.size()));
      all_.push_back(std::move(message));
    }
  }

  void add_copies(int rank) {
    for (const ReadyGradient& ready : gradients(rank)) {
      const Part part = part_of(rank, ready);
      const int home = homes_.at(part);
      if (home == rank) continue;
      const auto tensor_rank = [&](int one) { return coordinates(grid_, Rank{one}).tensor; };
      for (const int original : messages_of_part_[part]) {
        ServerMessage copy = all_[at(original)];
        copy.rank = rank;
        copy.ready_op = ready.op;
        copy.needed_op = ready.needed_op;
        copy.copy_of = original;
        copy.is_pushed = tensor_rank(rank) == tensor_rank(home);
        all_.push_back(std::move(copy));
      }
    }
  }

  /// By rank, in the order in which gradients are complete. `own`: messages that are no copies.
  std::vector<ServerMessage> ordered(std::size_t own) {
    std::vector<std::size_t> order(all_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {},
                             [&](std::size_t i) { return std::pair(all_[i].rank, all_[i].ready_op); });
    std::vector<int> number(own, -1);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] < own) number[order[i]] = static_cast<int>(i);
    }
    std::vector<ServerMessage> sorted;
    for (const std::size_t i : order) {
      ServerMessage& message = sorted.emplace_back(std::move(all_[i]));
      if (message.copy_of >= 0) message.copy_of = number[at(message.copy_of)];
    }
    return sorted;
  }

  const ResolvedExperiment& resolved_;
  const Grid& grid_;
  int ranks_;
  int shards_;
  Bytes value_;
  std::map<std::string, double> whole_;  ///< values of the model's parameters
  std::vector<std::vector<ReadyGradient>> of_class_;
  std::map<Part, std::vector<int>> holders_;
  std::map<Part, int> homes_;  ///< the holder whose shards have it
  std::map<Part, std::vector<int>> messages_of_part_;
  std::vector<ServerMessage> all_;
};

}  // namespace

std::vector<ServerMessage> worker_messages(const ResolvedExperiment& resolved) {
  const Bytes value = size_of(resolved.stack.gradient_dtype, resolved.settings.precision);
  if (resolved.layout) return ReplicaMessages(resolved, value).messages();
  return server_messages(ready_gradients(only_class(resolved).trace), value,
                         shards_of(resolved.settings.sync), resolved.stack.servers);
}

MessageParts message_parts(const ResolvedExperiment& resolved, const Step& steady,
                           const std::vector<ServerMessage>& messages) {
  std::vector<Seconds> ends;
  Seconds now;
  for (const OpRow& op : slowest_class(steady).ops) ends.push_back(now += op.duration);
  MessageParts parts;
  for (const ServerMessage& message : messages) {
    const bool is_first = message.needed_op == 0;
    parts.ready.push_back(resolved.stack.overlap ? ends[at(message.ready_op)] / now : 1);
    parts.needed.push_back(resolved.stack.overlap && !is_first ? ends[at(message.needed_op - 1)] / now : 0);
  }
  return parts;
}

MessageParts message_parts(const ResolvedExperiment& resolved, const ReplicaStep& step,
                           const std::vector<ServerMessage>& messages) {
  MessageParts parts;
  for (const ServerMessage& message : messages) {
    const ReplicaStep::ClassDates& dates = step.classes[class_index(resolved.classes, Rank{message.rank})];
    const bool overlaps = resolved.stack.overlap;
    parts.ready.push_back(overlaps ? std::min(1.0, dates.ends[at(message.ready_op)] / step.time) : 1);
    parts.needed.push_back(overlaps ? dates.starts[at(message.needed_op)] / step.time : 0);
  }
  return parts;
}

std::optional<LoadedShard> loaded_shard(const ResolvedExperiment& resolved,
                                        const std::vector<ServerMessage>& messages) {
  constexpr double much_more = 1.5;
  const int shards = shards_of(resolved.settings.sync);
  std::vector<Bytes> bytes(at(shards));
  LoadedShard loaded{.shard = 0, .shards = shards, .bytes = {}, .all = {}, .layer = {}, .of_layer = {}};
  for (const ServerMessage& message : messages) {
    if (!message.is_pushed) continue;
    for (const int shard : message.shards) bytes[at(shard)] += message.bytes;
    loaded.all += static_cast<double>(message.shards.size()) * message.bytes;
  }
  const auto most = std::ranges::max_element(bytes);
  if (*most * static_cast<double>(shards) <= much_more * loaded.all) return std::nullopt;
  loaded.shard = static_cast<int>(most - bytes.begin());
  loaded.bytes = *most;
  std::map<std::string, Bytes> layers;
  for (const ServerMessage& message : messages) {
    if (!message.is_pushed || std::ranges::find(message.shards, loaded.shard) == message.shards.end())
      continue;
    const Trace& trace = class_of_member(resolved, message.rank).trace;
    const std::string& layer = trace.ops[at(message.ready_op)].layer;
    Bytes& of_layer = layers[layer];
    of_layer += message.bytes;
    if (of_layer <= loaded.of_layer) continue;
    loaded.of_layer = of_layer;
    loaded.layer = layer;
  }
  return loaded;
}

}  // namespace trainyard
