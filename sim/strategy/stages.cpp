#include "strategy/stages.hpp"

#include "config/diagnostic.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <string>
#include <utility>

namespace trainyard {

namespace {

[[noreturn]] void refuse_cut(const char* key, std::string message, std::string hint) {
  Diagnostic diagnostic;
  diagnostic.key_path = std::string("parallelism.") + key;
  diagnostic.message = std::move(message);
  diagnostic.hint = std::move(hint);
  throw InputError({std::move(diagnostic)});
}

/// As equal as possible, the larger parts in the middle: the first chunk also has the embedding, the last one
/// the loss.
std::vector<int> nearly_equal(int blocks, int chunks) {
  std::vector<int> parts(at(chunks), blocks / chunks);
  const int larger = blocks % chunks;
  const int first = (chunks - larger) / 2;
  for (int i = first; i < first + larger; ++i) ++parts[at(i)];
  return parts;
}

/// Stages that would do, as a key of the experiment.
std::string proposal(int blocks, int chunks) {
  if (blocks + 2 < chunks) return fmt::format("pipeline x virtual stages: {} at most", blocks);
  const std::vector<int> parts = nearly_equal(blocks, chunks);
  constexpr int most_listed = 32;
  if (chunks <= most_listed) return fmt::format("stages: [{}]", fmt::join(parts, ", "));
  const int larger = blocks % chunks;
  return fmt::format("stages: {} numbers, {} of them {} and the others {}", chunks, larger,
                     blocks / chunks + 1, blocks / chunks);
}

/// The first layer of each block, and the end of the last one.
struct Blocks {
  std::vector<int> first;
  int end = 0;
};

Blocks blocks_of(const std::vector<Layer>& layers) {
  Blocks blocks;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].block) continue;
    const bool is_new = blocks.first.empty() || layers[at(blocks.end) - 1].block != layers[i].block;
    if (is_new) blocks.first.push_back(static_cast<int>(i));
    blocks.end = static_cast<int>(i) + 1;
  }
  return blocks;
}

void check_given(const std::vector<int>& given, int chunks, int blocks) {
  if (given.size() != at(chunks)) {
    refuse_cut("stages",
               fmt::format("'stages' has {} numbers for {} chunks (pipeline x virtual stages)", given.size(),
                           chunks),
               blocks > 0 ? proposal(blocks, chunks) : "leave out 'stages'");
  }
  const auto negative = std::ranges::find_if(given, [](int count) { return count < 0; });
  if (negative != given.end()) {
    refuse_cut("stages", fmt::format("'stages' has a chunk of {} blocks", *negative),
               proposal(blocks, chunks));
  }
  const auto sum = std::accumulate(given.begin(), given.end(), 0LL);
  if (sum != blocks) {
    refuse_cut("stages", fmt::format("'stages' has {} blocks in all, but the model has {}", sum, blocks),
               proposal(blocks, chunks));
  }
}

}  // namespace

int block_count(const std::vector<Layer>& layers) { return static_cast<int>(blocks_of(layers).first.size()); }

std::vector<LayerRange> cut(const std::vector<Layer>& layers, int chunks,
                            const std::vector<int>& blocks_of_chunk) {
  const Blocks found = blocks_of(layers);
  const auto blocks = static_cast<int>(found.first.size());
  const auto end = static_cast<int>(layers.size());
  if (blocks == 0 && chunks > 1) {
    refuse_cut("pipeline",
               fmt::format("a model without blocks cannot be cut into {} chunks (pipeline x virtual stages)",
                           chunks),
               "pipeline: 1, or a model of blocks, such as a transformer");
  }
  if (!blocks_of_chunk.empty()) check_given(blocks_of_chunk, chunks, blocks);
  if (chunks == 1) return {{0, end}};
  if (blocks_of_chunk.empty() && blocks % chunks != 0) {
    refuse_cut("pipeline",
               fmt::format("{} blocks do not divide into {} equal chunks (pipeline x virtual stages)", blocks,
                           chunks),
               proposal(blocks, chunks));
  }
  std::vector<LayerRange> ranges;
  int block = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int first = ranges.empty() ? 0 : ranges.back().end;
    block += blocks_of_chunk.empty() ? blocks / chunks : blocks_of_chunk[at(chunk)];
    const bool is_last = chunk == chunks - 1;
    const int next = is_last ? end : block < blocks ? found.first[at(block)] : found.end;
    if (next <= first) {
      refuse_cut("stages", fmt::format("chunk {} of {} has no layers", chunk, chunks),
                 proposal(blocks, chunks));
    }
    ranges.push_back({first, next});
  }
  return ranges;
}

double boundary_elements(const std::vector<Layer>& layers, const LayerRange& chunk) {
  return layers[at(chunk.end) - 1].out_elements;
}

}  // namespace trainyard
