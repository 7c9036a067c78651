#pragma once
// The layers of a list as they are added, with the tensors that they read and write: finds which layer keeps
// a tensor for backward, which layers need no gradient, and the blocks at whose ends one tensor passes.

#include "workload/layer.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace trainyard {

/// Throws InputError for the key at `path`.
[[noreturn]] void refuse_key(std::string path, std::string message, std::string hint);

class LayerGraph {
public:
  /// An input of the model, with this many values per sample. Returns its tensor.
  int add_input(double elements);
  /// A part of a tensor, or of another slice, that layers may read. Returns it; slices have numbers below 0.
  int add_slice(int tensor, double elements);
  /// A layer that reads these tensors. Returns the tensor that it writes. `path`: its key, for errors.
  int add(Layer layer, const std::vector<int>& reads, std::string path);
  /// The layers from `first` on are one group.
  void add_group(std::size_t first);

  [[nodiscard]] bool has_tensors() const { return !tensors_.empty(); }
  [[nodiscard]] bool is_input(int tensor) const { return tensors_[at(whole(tensor))].writer < 0; }
  /// Whether a tensor is a loss.
  [[nodiscard]] bool is_loss(int tensor) const;
  /// Tensors that a concatenation, if one wrote this tensor, has joined; otherwise 1.
  [[nodiscard]] int joined_in(int tensor) const;
  [[nodiscard]] std::size_t size() const { return layers_.size(); }

  /// Throws InputError at a layer, other than the last and losses, whose output nobody reads.
  void require_readers() const;
  /// The layers with their blocks and kept values. Call it once, at the end.
  std::vector<Layer> finished();

private:
  struct Tensor {
    int writer = -1;      ///< number of the layer; -1: the model's input
    double elements = 0;  ///< of the whole tensor, of which layers may read slices
    std::vector<int> readers = {};
    bool has_gradient = false;  ///< of parameters before it
    bool is_kept = false;       ///< for backward, by a reader
  };
  struct Slice {
    int of = 0;
    double elements = 0;
    int readers = 0;
  };
  struct Group {
    std::size_t first = 0, end = 0;
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  /// The tensor that a number below 0 is a slice of, or that of the number.
  [[nodiscard]] int whole(int tensor) const { return tensor < 0 ? slices_[at(-1 - tensor)].of : tensor; }
  /// Sets the values that a layer keeps of its inputs: whole tensors that no earlier layer keeps.
  void keep_inputs(Layer& layer, const std::vector<int>& reads);
  /// Whether two or more tensors pass from before layer `position` to it or beyond. The model's inputs do not
  /// count, nor tensors of at most 1/64 of the values of the largest that several groups read: conditions, as
  /// the embedding of the time in diffusion, do not join these parts.
  [[nodiscard]] std::vector<bool> inner_positions() const;
  void set_blocks();
  /// Linear layers in blocks without attention stay in 16 bits.
  void set_precisions();
  void keep_read_outputs();
  /// Notes how the gradients of a tensor that several layers read become one.
  void add_gradients(int tensor);

  std::vector<Layer> layers_;
  std::vector<std::string> paths_;
  std::vector<Tensor> tensors_;
  std::vector<Slice> slices_;
  std::vector<Group> groups_;
};

}  // namespace trainyard
