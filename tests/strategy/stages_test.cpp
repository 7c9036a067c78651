#include "strategy/stages.hpp"

#include "errors_of.hpp"
#include "units/ids.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

/// `before` layers, then blocks of two layers each, then `after` layers; layer i has i values.
std::vector<Layer> blocks_of_two(int before, int blocks, int after) {
  std::vector<Layer> layers(at(before + 2 * blocks + after));
  for (int i = 0; i < 2 * blocks; ++i) layers[at(before + i)].block = i / 2;
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i].out_elements = static_cast<double>(i);
  return layers;
}

std::string refusal_of(const std::vector<Layer>& layers, int chunks, const std::vector<int>& stages = {}) {
  const auto errors = errors_of([&] { static_cast<void>(cut(layers, chunks, stages)); });
  if (errors.empty()) return "";
  return errors.front().key_path + " " + facts_in(errors.front().message) + " | " + errors.front().hint;
}

using Ranges = std::vector<LayerRange>;

}  // namespace

TEST_CASE("equal chunks; the embedding belongs to the first and the loss to the last") {
  const std::vector<Layer> layers = blocks_of_two(1, 4, 3);
  CHECK(block_count(layers) == 4);
  CHECK(cut(layers, 2) == Ranges{{0, 5}, {5, 12}});
  CHECK(cut(layers, 4) == Ranges{{0, 3}, {3, 5}, {5, 7}, {7, 12}});
  CHECK(boundary_elements(layers, {0, 5}) == 4);
}

TEST_CASE("stages of given sizes, also without blocks where there is an embedding or a loss") {
  const std::vector<Layer> layers = blocks_of_two(1, 4, 3);
  CHECK(cut(layers, 2, {3, 1}) == Ranges{{0, 7}, {7, 12}});
  CHECK(cut(layers, 4, {0, 2, 2, 0}) == Ranges{{0, 1}, {1, 5}, {5, 9}, {9, 12}});
}

TEST_CASE("one chunk is the whole model, with or without blocks") {
  CHECK(cut(blocks_of_two(2, 3, 1), 1) == Ranges{{0, 9}});
  CHECK(cut(blocks_of_two(5, 0, 0), 1) == Ranges{{0, 5}});
}

TEST_CASE("chunk k of stage r is chunk k p + r of the model") {
  CHECK(global_chunk(4, 0, 0) == 0);
  CHECK(global_chunk(4, 3, 0) == 3);
  CHECK(global_chunk(4, 1, 2) == 9);
}

TEST_CASE("a cut that does not work is refused with its numbers and with stages that would") {
  const std::vector<Layer> layers = blocks_of_two(1, 10, 1);
  CHECK(refusal_of(layers, 4) == "parallelism.pipeline 10 4 | stages: [2, 3, 3, 2]");
  CHECK(refusal_of(layers, 12) ==
        "parallelism.pipeline 10 12 | stages: [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]");
  CHECK(refusal_of(layers, 16) == "parallelism.pipeline 10 16 | pipeline x virtual stages: 10 at most");
  CHECK(refusal_of(layers, 4, {5, 5}) == "parallelism.stages 'stages' 2 4 | stages: [2, 3, 3, 2]");
  CHECK(refusal_of(layers, 2, {5, 6}) == "parallelism.stages 'stages' 11 10 | stages: [5, 5]");
  CHECK(refusal_of(layers, 2, {-1, 11}) == "parallelism.stages 'stages' -1 | stages: [5, 5]");
  CHECK(refusal_of(layers, 3, {5, 0, 5}) == "parallelism.stages 1 3 | stages: [3, 4, 3]");
  CHECK(refusal_of(layers, 1, {9}) == "parallelism.stages 'stages' 9 10 | stages: [10]");
  CHECK(refusal_of(blocks_of_two(1, 0, 0), 2) ==
        "parallelism.pipeline 2 | pipeline: 1, or a model of blocks, such as a transformer");
  CHECK(refusal_of(blocks_of_two(1, 50, 0), 40) ==
        "parallelism.pipeline 50 40 | stages: 40 numbers, 10 of them 2 and the others 1");
}

TEST_CASE("chunks cover all layers in order, and only whole blocks") {
  CHECK(rc::check([] {
    const int chunks = *rc::gen::inRange(1, 9);
    std::vector<int> stages;
    int blocks = 0;
    for (int i = 0; i < chunks; ++i) {
      stages.push_back(*rc::gen::inRange(1, 5));
      blocks += stages.back();
    }
    const std::vector<Layer> layers = blocks_of_two(*rc::gen::inRange(0, 3), blocks, *rc::gen::inRange(0, 3));
    const std::vector<LayerRange> ranges = cut(layers, chunks, stages);
    RC_ASSERT(ranges.size() == at(chunks));
    int next = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      RC_ASSERT(ranges[i].first == next);
      next = ranges[i].end;
      int blocks_here = 0;
      for (int layer = ranges[i].first; layer < ranges[i].end; ++layer)
        blocks_here += layers[at(layer)].block ? 1 : 0;
      RC_ASSERT(blocks_here == 2 * stages[i]);
    }
    RC_ASSERT(next == static_cast<int>(layers.size()));
  }));
}
