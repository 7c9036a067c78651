#pragma once
// Layers whose parameters the replicas of a model divide among themselves: each computes its share for the
// samples of all of them. Fully connected layers of large networks, the classes of face recognition and
// embedding tables are divided in this way, while all other layers are replicated. Sources: Krizhevsky 2014,
// One weird trick for parallelizing convolutional neural networks, arXiv 1404.5997, section 4;
// deepinsight/insightface, recognition/arcface_torch/partial_fc_v2.py; Naumov et al. 2019, DLRM, arXiv
// 1906.00091, section 3.

#include "strategy/grid.hpp"
#include "strategy/layer_rule.hpp"
#include "strategy/shard.hpp"
#include "units/quantity.hpp"

#include <vector>

namespace trainyard {

/// An index of an embedding or a label of a sample: PyTorch's torch.long, the default of datasets and losses.
inline constexpr Bytes index_size{8};

/// Rows of a sample in a layer of features: its tokens, or 1.
int rows_of(const Layer& layer);

/// The replicas that divide layers: all of them, or those of a group, while other groups hold copies.
struct DividingRanks {
  int count = 1;
  bool has_copies = false;
  [[nodiscard]] Axis axis() const { return has_copies ? Axis::layer : Axis::data; }
};

/// The dividing ranks of a grid without context groups, which exclude divided layers.
inline DividingRanks dividing_ranks(const Grid& grid) { return {grid.layer, grid.layer < grid.data}; }

/// Divides every layer that a rule matches (the first one that does) among n ranks, which have equal shares:
/// the last entries are padding where they do not divide. The samples of these n replicas are B = n b.
/// - linear, columns: all-gather of the inputs of all B samples before the forward op; the op has B rows and
///   1/n of the outputs. Layers that work on single values follow with their share. In backward a
///   reduce-scatter of the input's gradient, of the size of the all-gather, after the layer.
/// - the loss after such a layer: all-gather of the labels, 8 bytes each, and three all-reduces of one fp32
///   value per row of all samples: maximum, sum of exponentials, loss. A model whose layers end without the
///   loss has these as well.
/// - any other layer after it: an all-to-all of its inputs, which gives every rank all values of its own
///   samples, and one of their gradients in backward.
/// - embedding, columns: all-gather of the indices, 8 bytes each; the rank looks up its features, or its
///   tables, for all samples. The all-to-all and its counterpart follow as above, within the embedding.
/// - embedding, rows: as by columns, but with a reduce-scatter instead of the all-to-all, since a rank has
///   zeros for the rows of other ranks, and an all-gather of the gradient.
/// - embedding, hash: as by rows, but each rank has as many rows as the layer, room for its share of the keys
///   (HugeCTR's max_vocabulary_size_per_gpu). Its host gives it those keys of all samples; no indices are
///   gathered. Source: NVIDIA-Merlin/HugeCTR v2.2, distributed_slot_sparse_embedding_hash.hpp.
/// - convolution or locally connected layer, space: the maps are cut into a grid (space_division.hpp). The
///   first gets its part of the maps of all B samples, with the edges that its windows need, by an all-to-all
///   of its inputs, and returns their gradients in the same way. Each later layer with windows gets the edges
///   from neighbours, rows then columns, by two send_recv before its forward op, and returns their gradients.
///   Poolings and layers that work on single values or on the channels of a place follow with their part; a
///   linear layer by columns gathers its inputs as usual, any other layer gets whole samples by an
///   all-to-all. Ranks hold the weights of their part of a locally connected layer, and all of a convolution,
///   whose gradients all replicas sum.
/// - sigmoid and loss of each value after a linear layer: all-gather of the labels, one all-reduce of an fp32
///   value per row.
/// All transfers hold up the next op. An embedding's vectors, too, are awaited at once, since trainyard's
/// models are chains: DLRM's bottom MLP, which hides this exchange, is not modelled.
///
/// With turns, the layers from the first linear one with them to the end of the model work on the samples of
/// one turn: b samples of one replica, or b/n of each, and have the shapes of these. The transfers are those
/// of one turn, without the first layer's inputs, their gradients and the labels, which take_turns()
/// (strategy/layer_turns.hpp) adds. That layer keeps its inputs three or four times: the rank's own ones, or
/// already their gradients, those of this turn, those of the next, and gradients on their way back.
///
/// With `sample` q, the layer computes floor(q C/n) of a rank's C/n columns, and so do the layers after it;
/// the parameters stay. The labels are gathered before it, since their classes are always drawn
/// (strategy/class_sampling.hpp).
///
/// No other rank has the parameters, so that no gradient is reduced, or with copies the ranks of other
/// groups, which sum the gradients (Axis::layer_data). With one rank layers draw their outputs, and nothing
/// else changes. Throws InputError, at the key of the rule, if a rule counts for no layer, or for one that
/// cannot be divided: of another kind, with weights shared with another layer, divided by tensor parallelism,
/// or before a sum of two inputs; if a layer after the first one with turns is not divided in the same turns,
/// or needs more than its share without being the loss; if classes are drawn in turns, of a layer that is not
/// the last linear one, or none at all.
ShardedModel divide_among_replicas(ShardedModel model, const std::vector<LayerRule>& rules,
                                   DividingRanks among);

}  // namespace trainyard
