#pragma once
// Cuts a model into the chunks that the stages of a pipeline hold, at the boundaries of its blocks.

#include "workload/layer.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Layers `first` to `end` - 1 of a model.
struct LayerRange {
  int first = 0;
  int end = 0;
  friend bool operator==(const LayerRange&, const LayerRange&) = default;
};

/// Number of blocks of a model: distinct values of Layer::block.
int block_count(const std::vector<Layer>& layers);

/// The first and the last chunk may be without: they have the embedding and the loss.
constexpr int chunks_without_blocks = 2;

/// Blocks of each chunk as equal as possible, the larger ones in the middle: the first chunk also has the
/// embedding, the last one the loss.
std::vector<int> nearly_equal(int blocks, int chunks);

/// Where a model is cut: at most one of the three; none: into equal numbers of blocks.
struct CutPlaces {
  std::vector<int> blocks_of_chunk = {};       ///< blocks of each chunk
  bool may_be_unequal = false;                 ///< nearly_equal() where equal parts do not exist
  std::vector<std::string> first_layers = {};  ///< name of the first layer of each chunk but the first
};

/// The layers of each chunk, in the model's order, which cover all of them. A model is cut between layers
/// that pass on one tensor: not inside a block. Without named layers, layers before the first block belong to
/// the first chunk, those after the last block to the last one. Throws InputError, with the key of the wrong
/// value, if equal parts are required and do not exist (with a key that would do), if `places` has another
/// number of chunks or of blocks, if a chunk is left without layers, if a layer is unknown, inside a block,
/// or not after the one named before it, if a model without blocks is to be cut and no layers are named, or
/// if layers of an encoder-decoder are to be cut. One chunk is the whole model, with or without blocks.
std::vector<LayerRange> cut(const std::vector<Layer>& layers, int chunks, const CutPlaces& places = {});

/// Values of one sample that a chunk passes on to the next, whose first layer reads them. Their gradient,
/// which comes back, has as many.
double boundary_elements(const std::vector<Layer>& layers, const LayerRange& chunk);

/// Where the stages have the chunks of the model: all in the same order, or, if they form a V, every second
/// time in reverse.
struct ChunkPlaces {
  int stages = 1;
  bool is_v = false;

  /// The place of a stage's chunk among all chunks of the model.
  [[nodiscard]] constexpr int of_model(int stage, int chunk) const {
    return chunk * stages + (is_v && chunk % 2 == 1 ? stages - 1 - stage : stage);
  }
  /// The stage of a chunk of the model.
  [[nodiscard]] constexpr int stage_of(int chunk) const {
    const int place = chunk % stages;
    return is_v && number_of(chunk) % 2 == 1 ? stages - 1 - place : place;
  }
  /// Its number among the chunks of the stage.
  [[nodiscard]] constexpr int number_of(int chunk) const { return chunk / stages; }
};

}  // namespace trainyard
