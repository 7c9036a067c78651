#include "strategy/stages.hpp"

#include "errors_of.hpp"
#include "units/ids.hpp"
#include "workload/bert.hpp"
#include "workload/inception_v3.hpp"
#include "workload/resnet.hpp"
#include "workload/vgg.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

namespace {

using Ranges = std::vector<LayerRange>;

/// `before` layers, then blocks of two layers each, then `after` layers; layer i reads i values.
std::vector<Layer> blocks_of_two(int before, int blocks, int after) {
  std::vector<Layer> layers(at(before + 2 * blocks + after));
  for (int i = 0; i < 2 * blocks; ++i) layers[at(before + i)].block = i / 2;
  for (std::size_t i = 0; i < layers.size(); ++i) layers[i].in_elements = static_cast<double>(i);
  return layers;
}

std::string refusal_of(const std::vector<Layer>& layers, int chunks, const CutPlaces& places) {
  const auto errors = errors_of([&] { static_cast<void>(cut(layers, chunks, places)); });
  if (errors.empty()) return "";
  return errors.front().key_path + " " + facts_in(errors.front().message) + " | " + errors.front().hint;
}

std::string refusal_of(const std::vector<Layer>& layers, int chunks, const std::vector<int>& stages = {}) {
  return refusal_of(layers, chunks, CutPlaces{.blocks_of_chunk = stages});
}

/// A small VGG: convolutions conv0, conv2 ..., poolings, fc6 to fc8; no blocks.
std::vector<Layer> vgg() {
  return vgg_layers({.convs = {1, 1}, .width = 8, .hidden = 64, .image_size = 32, .classes = 10});
}

/// Bottlenecks layer1.0, layer1.1 and layer2.0.
std::vector<Layer> resnet() {
  return resnet_layers({.blocks = {2, 1}, .width = 8, .image_size = 32, .classes = 10});
}

std::vector<std::string> first_names(const std::vector<Layer>& layers, const Ranges& ranges) {
  std::vector<std::string> names;
  for (const LayerRange& range : ranges) names.push_back(layers[at(range.first)].name);
  return names;
}

}  // namespace

TEST_CASE("equal chunks; the embedding belongs to the first and the loss to the last") {
  const std::vector<Layer> layers = blocks_of_two(1, 4, 3);
  CHECK(block_count(layers) == 4);
  CHECK(cut(layers, 2) == Ranges{{0, 5}, {5, 12}});
  CHECK(cut(layers, 4) == Ranges{{0, 3}, {3, 5}, {5, 7}, {7, 12}});
  CHECK(boundary_elements(layers, {0, 5}) == 5);
}

TEST_CASE("stages of given sizes, also without blocks where there is an embedding or a loss") {
  const std::vector<Layer> layers = blocks_of_two(1, 4, 3);
  CHECK(cut(layers, 2, {.blocks_of_chunk = {3, 1}}) == Ranges{{0, 7}, {7, 12}});
  CHECK(cut(layers, 4, {.blocks_of_chunk = {0, 2, 2, 0}}) == Ranges{{0, 1}, {1, 5}, {5, 9}, {9, 12}});
}

TEST_CASE("chunks that may be unequal are as equal as possible, the larger ones in the middle") {
  const std::vector<Layer> layers = blocks_of_two(1, 10, 1);
  CHECK(cut(layers, 4, {.may_be_unequal = true}) == cut(layers, 4, {.blocks_of_chunk = {2, 3, 3, 2}}));
  CHECK(cut(layers, 5, {.may_be_unequal = true}) == cut(layers, 5));
  CHECK(cut(layers, 12, {.may_be_unequal = true}).front() == LayerRange{0, 1});
  CHECK(refusal_of(layers, 13, CutPlaces{.may_be_unequal = true}) ==
        "parallelism.pipeline 10 13 virtual_stages | pipeline x virtual stages: 10 at most");
}

TEST_CASE("one chunk is the whole model, with or without blocks") {
  CHECK(cut(blocks_of_two(2, 3, 1), 1) == Ranges{{0, 9}});
  CHECK(cut(blocks_of_two(5, 0, 0), 1) == Ranges{{0, 5}});
}

TEST_CASE("chunk k of stage r is chunk k p + r of the model") {
  const ChunkPlaces in_order{.stages = 4};
  CHECK(in_order.of_model(0, 0) == 0);
  CHECK(in_order.of_model(3, 0) == 3);
  CHECK(in_order.of_model(1, 2) == 9);
  const ChunkPlaces v{.stages = 4, .is_v = true};
  CHECK(v.of_model(1, 0) == 1);
  CHECK(v.of_model(3, 1) == 4);
  CHECK(v.of_model(0, 1) == 7);
  for (const ChunkPlaces& places : {in_order, v}) {
    for (int chunk = 0; chunk < 8; ++chunk)
      CHECK(places.of_model(places.stage_of(chunk), places.number_of(chunk)) == chunk);
  }
}

TEST_CASE("a cut that does not work is refused with its numbers and with stages that would") {
  const std::vector<Layer> layers = blocks_of_two(1, 10, 1);
  CHECK(refusal_of(layers, 4) ==
        "parallelism.pipeline 10 4 virtual_stages | unequal_stages: true, or stages: [2, 3, 3, 2]");
  CHECK(refusal_of(layers, 12) ==
        "parallelism.pipeline 10 12 virtual_stages | unequal_stages: true, or stages: [0, 1, 1, 1, 1, 1, 1, "
        "1, 1, 1, 1, 0]");
  CHECK(refusal_of(layers, 16) ==
        "parallelism.pipeline 10 16 virtual_stages | pipeline x virtual stages: 10 at most");
  CHECK(refusal_of(layers, 4, {5, 5}) ==
        "parallelism.stages 'stages' 2 4 virtual_stages | stages: [2, 3, 3, 2]");
  CHECK(refusal_of(layers, 2, {5, 6}) == "parallelism.stages 'stages' 11 10 | stages: [5, 5]");
  CHECK(refusal_of(layers, 2, {-1, 11}) == "parallelism.stages 'stages' -1 | stages: [5, 5]");
  CHECK(refusal_of(layers, 3, {5, 0, 5}) == "parallelism.stages 1 3 | stages: [3, 4, 3]");
  CHECK(refusal_of(layers, 1, {9}) == "parallelism.stages 'stages' 9 10 | stages: [10]");
  CHECK(refusal_of(blocks_of_two(1, 50, 0), 40) ==
        "parallelism.pipeline 50 40 virtual_stages | unequal_stages: true, or stages: 40 numbers, 10 of them "
        "2 and the "
        "others 1");
}

TEST_CASE("named layers begin chunks, in models with and without blocks") {
  const std::vector<Layer> plain = vgg();
  const Ranges parts = cut(plain, 3, {.first_layers = {"conv2", "fc6"}});
  CHECK(first_names(plain, parts) == std::vector<std::string>{"conv0", "conv2", "fc6"});
  CHECK(parts.front().end == parts[1].first);
  CHECK(parts.back().end == std::ssize(plain));
  CHECK(boundary_elements(plain, parts[0]) == 8 * 16 * 16);
  CHECK(boundary_elements(plain, parts[1]) == 16 * 8 * 8);

  const std::vector<Layer> blocks = resnet();
  CHECK(first_names(blocks, cut(blocks, 2, {.first_layers = {"layer2.0.conv1"}})) ==
        std::vector<std::string>{"conv1", "layer2.0.conv1"});
  CHECK(first_names(blocks, cut(blocks, 2, {.first_layers = {"avgpool"}})) ==
        std::vector<std::string>{"conv1", "avgpool"});
  CHECK(block_count(blocks) == 3);
}

TEST_CASE("the branches of a block of Inception v3 reach the next chunk together") {
  const std::vector<Layer> layers = inception_v3_layers({.image_size = 299, .classes = 1000});
  const Ranges parts = cut(layers, 2, {.first_layers = {"5c.1x1.conv"}});
  CHECK(boundary_elements(layers, parts.front()) == 256 * 35 * 35);
}

TEST_CASE("named layers that cannot begin a chunk are refused with those that can") {
  const std::vector<Layer> plain = vgg();
  CHECK(refusal_of(plain, 2, CutPlaces{.first_layers = {"fc66"}}) ==
        "parallelism.first_layers 'fc66' | did you mean 'fc6'?");
  CHECK(refusal_of(plain, 3, CutPlaces{.first_layers = {"fc6"}}) ==
        "parallelism.first_layers 'first_layers' 1 3 virtual_stages | 2 names: of all virtual stages but the "
        "first");
  CHECK(refusal_of(plain, 3, CutPlaces{.first_layers = {"fc6", "conv2"}}) ==
        "parallelism.first_layers 'conv2' 'fc6' | write the layers in the model's order");
  CHECK(refusal_of(plain, 2, CutPlaces{.first_layers = {"conv0"}}) ==
        "parallelism.first_layers 'conv0' 'conv0' | write the layers in the model's order");
  CHECK(refusal_of(plain, 2, CutPlaces{.blocks_of_chunk = {1, 1}, .first_layers = {"fc6"}}) ==
        "parallelism.first_layers 'first_layers' 'stages' | leave out one of them");
  CHECK(refusal_of(resnet(), 2, CutPlaces{.first_layers = {"layer1.0.bn2"}}) ==
        "parallelism.first_layers 'layer1.0.bn2' | use 'layer1.0.conv1' or 'layer1.1.conv1', at the ends of "
        "the "
        "block");
}

TEST_CASE("the heads of BERT are not cut apart, since both read the encoder's output") {
  BertHyperparameters bert;
  bert.layers = 2;
  bert.hidden = 64;
  bert.heads = 4;
  const std::vector<Layer> layers = bert_layers(bert);
  for (const char* name : {"cls.transform", "cls.nsp", "loss"})
    CHECK(refusal_of(layers, 2, CutPlaces{.first_layers = {name}}).starts_with("parallelism.first_layers"));
  CHECK(refusal_of(layers, 2, CutPlaces{.first_layers = {"layer1.attn.qkv"}}).empty());
}

TEST_CASE("a model without blocks is cut where its layers are named; the hint divides the arithmetic") {
  const std::vector<Layer> plain = vgg();
  CHECK(refusal_of(plain, 2) == "parallelism.pipeline 2 virtual_stages | first_layers: [conv2]");
  CHECK(refusal_of(blocks_of_two(1, 0, 0), 2) == "parallelism.pipeline 2 virtual_stages | fewer stages");
  CHECK(refusal_of(plain, 40) == "parallelism.pipeline 40 virtual_stages | fewer stages");
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
    const std::vector<LayerRange> ranges = cut(layers, chunks, {.blocks_of_chunk = stages});
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
