#include "workload/layer_graph.hpp"

#include "config/diagnostic.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <utility>

namespace trainyard {
namespace {

/// Whether a layer has a gradient of weights: its own, or those of a table that it shares.
bool has_weights(const Layer& layer) { return !layer.parameters.empty() || layer.tied_elements > 0; }

/// Whether a layer keeps its input for backward, the whole tensor that it reads.
bool keeps_input(const Layer& layer) { return traits(layer.kind).keeps_input && layer.saved_elements > 0; }

/// A layer that no parameter precedes: it has no gradient of its input.
void remove_input_gradient(Layer& layer) {
  if (is_convolution(layer) || layer.kind == LayerKind::linear || layer.kind == LayerKind::local) {
    set_reads_data(layer);
  } else if (!has_weights(layer)) {
    layer.has_input_gradient = false;
    layer.backward_flops = Flops();
    layer.backward_rw_elements = 0;
    layer.saved_elements = 0;
    layer.saved_fixed = Bytes();
  }
}

/// Whether a layer keeps everything that it reads, one tensor or several.
bool keeps_all_inputs(const Layer& layer) { return keeps_input(layer) || traits(layer.kind).keeps_inputs; }

}  // namespace

void refuse_key(std::string path, std::string message, std::string hint) {
  Diagnostic error;
  error.key_path = std::move(path);
  error.message = std::move(message);
  error.hint = std::move(hint);
  throw InputError(std::vector{std::move(error)});
}

int LayerGraph::add_input(double elements) {
  tensors_.push_back({.elements = elements});
  return static_cast<int>(tensors_.size()) - 1;
}

int LayerGraph::add_slice(int tensor, double elements) {
  if (elements == tensors_[at(whole(tensor))].elements) return whole(tensor);
  slices_.push_back({.of = whole(tensor), .elements = elements});
  return -static_cast<int>(slices_.size());
}

int LayerGraph::add(Layer layer, const std::vector<int>& reads, std::string path) {
  const int number = static_cast<int>(layers_.size());
  bool has_gradient = false;
  bool is_continued = false;
  for (const int read : reads) {
    if (read < 0) ++slices_[at(-1 - read)].readers;
    Tensor& tensor = tensors_[at(whole(read))];
    tensor.readers.push_back(number);
    has_gradient = has_gradient || tensor.has_gradient;
    is_continued = is_continued || tensor.writer == number - 1;
  }
  layer.split = TensorSplit::none;  // nothing says how ranks would divide it
  layer.continues_previous = is_continued;
  if (!has_gradient) remove_input_gradient(layer);
  keep_inputs(layer, reads);
  has_gradient = has_gradient || has_weights(layer);
  layers_.push_back(std::move(layer));
  paths_.push_back(std::move(path));
  const bool keeps_output = layers_.back().kind == LayerKind::recurrence;
  tensors_.push_back({.writer = number,
                      .elements = layers_.back().out_elements,
                      .readers = {},
                      .has_gradient = has_gradient,
                      .is_kept = keeps_output});
  return static_cast<int>(tensors_.size()) - 1;
}

void LayerGraph::keep_inputs(Layer& layer, const std::vector<int>& reads) {
  const bool is_product = layer.kind == LayerKind::multiply && layer.saved_elements > 0;
  if (!is_product && !keeps_input(layer)) return;
  layer.saved_elements = 0;
  for (const int read : reads) {
    Tensor& tensor = tensors_[at(whole(read))];
    if (!std::exchange(tensor.is_kept, true)) layer.saved_elements += tensor.elements;  // also behind a crop
  }
}

bool LayerGraph::is_loss(int tensor) const {
  const int writer = tensors_[at(whole(tensor))].writer;
  return writer >= 0 && traits(layers_[at(writer)].kind).is_loss;
}

int LayerGraph::joined_in(int tensor) const {
  const int writer = tensors_[at(whole(tensor))].writer;
  return writer < 0 ? 1 : std::max(1, layers_[at(writer)].joins);
}

void LayerGraph::add_group(std::size_t first) { groups_.push_back({first, layers_.size()}); }

void LayerGraph::require_readers() const {
  const int last = static_cast<int>(layers_.size()) - 1;
  for (const Tensor& tensor : tensors_) {
    if (!tensor.readers.empty() || (last >= 0 && tensor.writer == last)) continue;
    if (tensor.writer < 0) refuse_key("layers", "no layer reads the input", "add layers");
    const Layer& writer = layers_[at(tensor.writer)];
    if (traits(writer.kind).is_loss) continue;
    refuse_key(paths_[at(tensor.writer)], fmt::format("no layer reads the output of '{}'", writer.name),
               "name it in 'from', 'add' or 'concat' of a later layer, or remove it");
  }
}

std::vector<bool> LayerGraph::inner_positions() const {
  constexpr double small = 1.0 / 64;
  const std::size_t count = layers_.size();
  // By position, of tensors written before and read at or after it: the values of the largest, and how many
  // there are that are not small in comparison.
  std::vector<double> largest(count + 1, 0);
  std::vector<int> alive(count + 1, 0);
  const auto for_each_position = [&](auto visit) {
    for (const Tensor& tensor : tensors_) {
      if (tensor.readers.empty() || tensor.writer < 0) continue;  // every part of a model can read its input
      for (int position = tensor.writer + 1; position <= tensor.readers.back(); ++position)
        visit(tensor, at(position));
    }
  };
  for_each_position([&](const Tensor& tensor, std::size_t position) {
    largest[position] = std::max(largest[position], tensor.elements);
  });
  // A small tensor that blocks read one after the other (the condition of a diffusion model) does not join
  // them; one that a block writes and reads (squeeze and excitation) is inside it.
  const auto is_for_several_groups = [&](const Tensor& tensor) {
    return std::ranges::none_of(groups_, [&](const Group& group) {
      const auto is_inside = [&](int layer) { return at(layer) >= group.first && at(layer) < group.end; };
      return is_inside(tensor.readers.front()) && is_inside(tensor.readers.back());
    });
  };
  for_each_position([&](const Tensor& tensor, std::size_t position) {
    if (tensor.elements > small * largest[position] || !is_for_several_groups(tensor)) ++alive[position];
  });
  std::vector<bool> inner(count + 1, false);
  for (std::size_t position = 1; position < count; ++position) inner[position] = alive[position] > 1;
  return inner;
}

void LayerGraph::set_blocks() {
  std::vector<bool> inner = inner_positions();
  for (const Group& group : groups_) {
    const auto begin = inner.begin() + static_cast<std::ptrdiff_t>(group.first) + 1;
    const auto end = inner.begin() + static_cast<std::ptrdiff_t>(group.end);
    if (begin < end && std::find(begin, end, true) != end) std::fill(begin, end, true);
  }
  int block = -1;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const bool begins = i + 1 < layers_.size() && inner[i + 1] && !inner[i];
    if (begins) ++block;
    if (begins || inner[i]) layers_[i].block = block;
  }
}

void LayerGraph::set_precisions() {
  std::set<std::optional<int>> transformer_blocks;
  for (const Layer& layer : layers_) {
    constexpr std::size_t of_heads = 3;  // heads, queries, keys: not the scores of additive attention
    const bool is_softmax = layer.kind == LayerKind::softmax && layer.in_shape.size() == of_heads;
    if (is_softmax || layer.kind == LayerKind::flash_attention) transformer_blocks.insert(layer.block);
  }
  for (Layer& layer : layers_) layer.stays_in_16_bits = !transformer_blocks.contains(layer.block);
}

void LayerGraph::keep_read_outputs() {
  for (const Tensor& tensor : tensors_) {
    if (tensor.writer < 0 || tensor.is_kept || !tensor.has_gradient) continue;
    Layer& writer = layers_[at(tensor.writer)];
    const bool is_kept_by_reader = std::ranges::any_of(
        tensor.readers, [&](int reader) { return keeps_all_inputs(layers_[at(reader)]); });
    const LayerTraits& traits_of_writer = traits(writer.kind);
    const bool is_reread = traits_of_writer.is_elementwise && traits_of_writer.rereads_output;
    if (is_reread && !is_kept_by_reader) writer.saved_elements = writer.out_elements;
  }
}

void LayerGraph::add_gradients(int number) {
  const Tensor& tensor = tensors_[at(number)];
  Layer& first = layers_[at(tensor.readers.front())];
  const auto add_sums = [&](int gradients, double elements) {
    if (gradients < 2) return;
    first.input_sums += gradients - 1;
    first.summed_elements += (gradients - 1) * elements;
  };
  int gradients = static_cast<int>(tensor.readers.size());
  int slices = 0;
  double in_slices = 0;
  for (const Slice& slice : slices_) {
    if (slice.of != number || slice.readers == 0) continue;
    add_sums(slice.readers, slice.elements);
    gradients -= slice.readers;
    ++slices;
    in_slices += slice.elements;
  }
  SliceGradients& parts = first.slice_gradients;
  if (slices > 1 && in_slices == tensor.elements) {
    parts.joined = tensor.elements;
    ++gradients;
  } else if (slices > 0) {
    parts.slices = slices;
    parts.zeros = slices * tensor.elements;
    parts.copied = in_slices;
    gradients += slices;
  }
  add_sums(gradients, tensor.elements);
}

std::vector<Layer> LayerGraph::finished() {
  set_blocks();
  set_precisions();
  keep_read_outputs();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& tensor = tensors_[i];
    if (tensor.has_gradient && !tensor.readers.empty()) add_gradients(static_cast<int>(i));
    if (tensor.readers.size() < 2) continue;
    for (const int reader : tensor.readers) {
      if (reader == tensor.writer + 1) layers_[at(reader)].continues_previous = false;
    }
  }
  return std::move(layers_);
}

}  // namespace trainyard
