#include "strategy/stages.hpp"

#include "config/suggest.hpp"
#include "strategy/layout_refusal.hpp"
#include "units/ids.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <string>
#include <utility>

namespace trainyard {

namespace {

/// Stages that would do, as a key of the experiment.
std::string proposal(int blocks, int chunks) {
  if (blocks + chunks_without_blocks < chunks)
    return fmt::format("pipeline x virtual stages: {} at most", blocks);
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

/// Whether one tensor passes from the layer before to this one. Outside blocks, a layer whose input is not
/// just the output of the layer before is one of several that read the output of an earlier layer.
bool is_cut_place(const std::vector<Layer>& layers, std::size_t layer) {
  const Layer& before = layers[layer - 1];
  if (layers[layer].block || before.block) return before.block != layers[layer].block;
  return before.out_elements == layers[layer].in_elements;
}

/// First layers that divide the arithmetic into parts as equal as possible, as a key of the experiment.
std::string proposed_layers(const std::vector<Layer>& layers, int chunks) {
  const auto work = [](const Layer& layer) {
    return (layer.forward_flops + layer.backward_flops) / Flops(1);
  };
  double all = 0;
  for (const Layer& layer : layers) all += work(layer);
  std::vector<std::string> names;
  double before = work(layers.front());
  for (std::size_t i = 1; i < layers.size() && std::ssize(names) + 1 < chunks; ++i) {
    const double goal = all * static_cast<double>(names.size() + 1) / chunks;
    const bool is_nearest = before + work(layers[i]) / 2 >= goal;
    if (is_cut_place(layers, i) && is_nearest && layers[i].forward_macs > 0) names.push_back(layers[i].name);
    before += work(layers[i]);
  }
  if (std::ssize(names) + 1 < chunks) return "fewer stages";
  return fmt::format("first_layers: [{}]", fmt::join(names, ", "));
}

/// The index of the layer that begins a chunk. The one before it began at `before`.
int named_layer(const std::vector<Layer>& layers, const std::string& name, int before) {
  const auto found = std::ranges::find(layers, name, &Layer::name);
  const auto refuse = [](std::string message, std::string hint) {
    refuse_layout("first_layers", std::move(message), std::move(hint));
  };
  if (found == layers.end()) {
    std::vector<std::string> names;
    for (const Layer& layer : layers) names.push_back(layer.name);
    refuse(fmt::format("the model has no layer '{}'", name), config::did_you_mean(name, names));
  }
  const auto number = static_cast<int>(found - layers.begin());
  if (number <= before) {
    refuse(fmt::format("layer '{}' does not follow layer '{}', the first of the virtual stage before", name,
                       layers[at(before)].name),
           "write the layers in the model's order");
  }
  if (!found->block && !is_cut_place(layers, at(number)))
    refuse(
        fmt::format("layer '{}' does not read what layer '{}' before it writes: more than one tensor passes",
                    name, layers[at(number) - 1].name),
        "use the first layer of a block");
  if (!is_cut_place(layers, at(number))) {
    const auto is_outside = [&](const Layer& layer) { return layer.block != found->block; };
    const auto next = std::find_if(found, layers.end(), is_outside);
    int first = number;
    while (first > 0 && layers[at(first - 1)].block == found->block) --first;
    refuse(fmt::format("layer '{}' is inside a block, where more than one tensor passes from layer to layer",
                       name),
           next == layers.end() ? fmt::format("use '{}', with which the block begins", layers[at(first)].name)
                                : fmt::format("use '{}' or '{}', at the ends of the block",
                                              layers[at(first)].name, next->name));
  }
  return number;
}

std::vector<LayerRange> cut_before(const std::vector<Layer>& layers, int chunks, const CutPlaces& places) {
  if (!places.blocks_of_chunk.empty())
    refuse_layout("first_layers", "'first_layers' and 'stages' both say where to cut the model",
                  "leave out one of them");
  if (std::ssize(places.first_layers) != chunks - 1) {
    refuse_layout("first_layers",
                  fmt::format("'first_layers' has {} names for {} virtual stages (pipeline x virtual_stages)",
                              places.first_layers.size(), chunks),
                  chunks > 1 ? fmt::format("{} names: of all virtual stages but the first", chunks - 1)
                             : "leave out 'first_layers'");
  }
  std::vector<LayerRange> ranges;
  int first = 0;
  for (const std::string& name : places.first_layers) {
    const int next = named_layer(layers, name, first);
    ranges.push_back({first, next});
    first = next;
  }
  ranges.push_back({first, static_cast<int>(layers.size())});
  return ranges;
}

void check_given(const std::vector<int>& given, int chunks, int blocks) {
  if (given.size() != at(chunks)) {
    refuse_layout("stages",
                  fmt::format("'stages' has {} numbers for {} virtual stages (pipeline x virtual_stages)",
                              given.size(), chunks),
                  blocks > 0 ? proposal(blocks, chunks) : "leave out 'stages'");
  }
  const auto negative = std::ranges::find_if(given, [](int count) { return count < 0; });
  if (negative != given.end()) {
    refuse_layout("stages", fmt::format("'stages' has a stage of {} blocks", *negative),
                  proposal(blocks, chunks));
  }
  const auto sum = std::accumulate(given.begin(), given.end(), 0LL);
  if (sum != blocks) {
    refuse_layout("stages", fmt::format("'stages' has {} blocks in all, but the model has {}", sum, blocks),
                  proposal(blocks, chunks));
  }
}

std::vector<int> found_parts(int blocks, int chunks, bool may_be_unequal) {
  const bool enough = chunks <= blocks + chunks_without_blocks;
  if (blocks % chunks != 0 && !(may_be_unequal && enough)) {
    refuse_layout(
        "pipeline",
        fmt::format("{} blocks do not divide into {} equal virtual stages (pipeline x virtual_stages)",
                    blocks, chunks),
        (enough ? "unequal_stages: true, or " : "") + proposal(blocks, chunks));
  }
  return nearly_equal(blocks, chunks);
}

/// The output of an encoder passes all blocks of the decoder besides their own.
void require_one_chain(const std::vector<Layer>& layers) {
  const auto reader = std::ranges::find_if(layers, &Layer::reads_encoder);
  if (reader == layers.end()) return;
  refuse_layout(
      "pipeline",
      fmt::format("stages pass on one tensor, but layer '{}' and those like it in later blocks also "
                  "read the encoder's output, so each later stage would need the encoder's output too",
                  reader->name),
      "leave out 'pipeline' and 'virtual_stages'; use tensor, or shard: parameters");
}

}  // namespace

std::vector<int> nearly_equal(int blocks, int chunks) {
  std::vector<int> parts(at(chunks), blocks / chunks);
  const int larger = blocks % chunks;
  const int first = (chunks - larger) / 2;
  for (int i = first; i < first + larger; ++i) ++parts[at(i)];
  return parts;
}

int block_count(const std::vector<Layer>& layers) { return static_cast<int>(blocks_of(layers).first.size()); }

std::vector<LayerRange> cut(const std::vector<Layer>& layers, int chunks, const CutPlaces& places) {
  if (chunks > 1) require_one_chain(layers);
  if (!places.first_layers.empty()) return cut_before(layers, chunks, places);
  const Blocks found = blocks_of(layers);
  const auto blocks = static_cast<int>(found.first.size());
  const auto end = static_cast<int>(layers.size());
  if (blocks == 0 && chunks > 1) {
    refuse_layout(
        "pipeline",
        fmt::format("a model without blocks cannot be cut into {} virtual stages (pipeline x virtual_stages)",
                    chunks),
        proposed_layers(layers, chunks));
  }
  if (!places.blocks_of_chunk.empty()) check_given(places.blocks_of_chunk, chunks, blocks);
  if (chunks == 1) return {{0, end}};
  const std::vector<int> parts = places.blocks_of_chunk.empty()
                                     ? found_parts(blocks, chunks, places.may_be_unequal)
                                     : places.blocks_of_chunk;
  std::vector<LayerRange> ranges;
  int block = 0;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int first = ranges.empty() ? 0 : ranges.back().end;
    block += parts[at(chunk)];
    const bool is_last = chunk == chunks - 1;
    const int next = is_last ? end : block < blocks ? found.first[at(block)] : found.end;
    if (next <= first) {
      refuse_layout("stages", fmt::format("virtual stage {} of {} has no layers", chunk, chunks),
                    proposal(blocks, chunks));
    }
    ranges.push_back({first, next});
  }
  return ranges;
}

double boundary_elements(const std::vector<Layer>& layers, const LayerRange& chunk) {
  return layers[at(chunk.end)].in_elements;
}

}  // namespace trainyard
