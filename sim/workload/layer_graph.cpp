#include "workload/layer_graph.hpp"

#include "config/diagnostic.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

/// Whether what a layer keeps for backward is its input.
bool keeps_input(const Layer& layer) {
  switch (layer.kind) {
    case LayerKind::conv:
    case LayerKind::conv_transpose:
    case LayerKind::linear:
    case LayerKind::batch_norm:
    case LayerKind::layer_norm:
    case LayerKind::rms_norm:
    case LayerKind::gelu:
    case LayerKind::prelu:
    case LayerKind::swish:
    case LayerKind::silu:
    case LayerKind::geglu:
    case LayerKind::max_pool:
      return true;
    default:
      return false;
  }
}

/// A layer that no parameter precedes: it has no gradient of its input.
void remove_input_gradient(Layer& layer) {
  if (is_convolution(layer) || layer.kind == LayerKind::linear) {
    set_reads_data(layer);
  } else if (layer.parameters.empty()) {
    layer.has_input_gradient = false;
    layer.backward_flops = Flops();
    layer.backward_rw_elements = 0;
    layer.saved_elements = 0;
    layer.saved_fixed = Bytes();
  }
}

/// Whether a layer writes other values than it reads and keeps none of them.
bool copies(const Layer& layer) {
  return layer.kind == LayerKind::add || layer.kind == LayerKind::concat || layer.kind == LayerKind::dropout;
}

}  // namespace

void refuse_key(std::string path, std::string message, std::string hint) {
  Diagnostic error;
  error.key_path = std::move(path);
  error.message = std::move(message);
  error.hint = std::move(hint);
  throw InputError(std::vector{std::move(error)});
}

int LayerGraph::add_input() {
  tensors_.push_back({});
  return static_cast<int>(tensors_.size()) - 1;
}

int LayerGraph::add(Layer layer, const std::vector<int>& reads, std::string path) {
  const int number = static_cast<int>(layers_.size());
  bool has_gradient = false;
  bool is_continued = false;
  for (const int read : reads) {
    Tensor& tensor = tensors_[at(read)];
    tensor.readers.push_back(number);
    has_gradient = has_gradient || tensor.has_gradient;
    is_continued = is_continued || tensor.writer == number - 1;
  }
  layer.split = TensorSplit::none;  // nothing says how ranks would divide it
  layer.continues_previous = is_continued;
  if (!has_gradient) remove_input_gradient(layer);
  if (keeps_input(layer) && layer.saved_elements > 0) {
    Tensor& input = tensors_[at(reads.front())];
    if (std::exchange(input.is_kept, true)) layer.saved_elements = 0;
  }
  has_gradient = has_gradient || !layer.parameters.empty();
  layers_.push_back(std::move(layer));
  paths_.push_back(std::move(path));
  const bool keeps_output = layers_.back().kind == LayerKind::recurrence;
  tensors_.push_back(
      {.writer = number, .readers = {}, .has_gradient = has_gradient, .is_kept = keeps_output});
  return static_cast<int>(tensors_.size()) - 1;
}

void LayerGraph::add_group(std::size_t first) { groups_.push_back({first, layers_.size()}); }

void LayerGraph::require_readers() const {
  const int last = static_cast<int>(layers_.size()) - 1;
  for (const Tensor& tensor : tensors_) {
    if (!tensor.readers.empty() || (last >= 0 && tensor.writer == last)) continue;
    if (tensor.writer < 0) refuse_key("layers", "no layer reads the input", "add layers");
    const Layer& writer = layers_[at(tensor.writer)];
    if (is_loss(writer.kind)) continue;
    refuse_key(paths_[at(tensor.writer)], fmt::format("no layer reads the output of '{}'", writer.name),
               "name it in 'from', 'add' or 'concat' of a later layer, or remove it");
  }
}

std::vector<bool> LayerGraph::inner_positions() const {
  const std::size_t count = layers_.size();
  std::vector<int> alive(count + 1, 0);  // by position: tensors written before and read at or after it
  for (const Tensor& tensor : tensors_) {
    if (tensor.readers.empty()) continue;
    for (int position = tensor.writer + 1; position <= tensor.readers.back(); ++position)
      ++alive[at(position)];
  }
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

void LayerGraph::keep_read_outputs() {
  for (const Tensor& tensor : tensors_) {
    if (tensor.writer < 0 || tensor.is_kept || !tensor.has_gradient) continue;
    Layer& writer = layers_[at(tensor.writer)];
    const bool is_copied =
        std::ranges::any_of(tensor.readers, [&](int reader) { return copies(layers_[at(reader)]); });
    if (writer.kind == LayerKind::relu && is_copied) writer.saved_elements = writer.out_elements;
  }
}

std::vector<Layer> LayerGraph::finished() {
  set_blocks();
  keep_read_outputs();
  for (const Tensor& tensor : tensors_) {
    if (tensor.readers.size() < 2) continue;
    for (const int reader : tensor.readers) {
      if (reader == tensor.writer + 1) layers_[at(reader)].continues_previous = false;
    }
  }
  return std::move(layers_);
}

}  // namespace trainyard
