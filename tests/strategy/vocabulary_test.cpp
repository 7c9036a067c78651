#include "strategy/vocabulary.hpp"

#include "workload/bert.hpp"
#include "workload/decoder.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

DecoderHyperparameters with_vocabulary(int entries, bool tied) {
  DecoderHyperparameters sizes;
  sizes.layers = 2;
  sizes.hidden = 64;
  sizes.heads = 4;
  sizes.vocabulary = entries;
  sizes.sequence_length = 32;
  sizes.tied = tied;
  return sizes;
}

}  // namespace

TEST_CASE("a padded model has the layers of a model with that vocabulary") {
  for (const bool tied : {true, false}) {
    std::vector<Layer> layers = decoder_layers(with_vocabulary(50257, tied));
    const auto made = pad_vocabulary(layers, 4);
    REQUIRE(made);
    CHECK(made->entries == 50257);
    CHECK(made->padded == 50688);
    const std::vector<Layer> expected = decoder_layers(with_vocabulary(50688, tied));
    REQUIRE(layers.size() == expected.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      CAPTURE(expected[i].name);
      CHECK(layers[i].name == expected[i].name);
      CHECK(layers[i].parameters == expected[i].parameters);
      CHECK(layers[i].tied_elements == expected[i].tied_elements);
      CHECK(layers[i].out_shape == expected[i].out_shape);
      CHECK(layers[i].forward_flops == expected[i].forward_flops);
      CHECK(layers[i].backward_flops == expected[i].backward_flops);
      CHECK(layers[i].forward_rw_elements == expected[i].forward_rw_elements);
      CHECK(layers[i].backward_rw_elements == expected[i].backward_rw_elements);
      CHECK(layers[i].saved_elements == expected[i].saved_elements);
      CHECK(layers[i].gemm == expected[i].gemm);
      CHECK(layers[i].split == expected[i].split);
      CHECK(layers[i].block == expected[i].block);
      CHECK(layers[i].has_input_gradient == expected[i].has_input_gradient);
    }
  }
}

TEST_CASE("BERT's projection keeps its bias when its vocabulary is padded") {
  BertHyperparameters sizes;
  sizes.layers = 1;
  sizes.hidden = 64;
  sizes.heads = 4;
  sizes.intermediate = 256;
  sizes.vocabulary = 30522;
  sizes.positions = 512;
  sizes.segments = 2;
  sizes.sequence_length = 128;
  std::vector<Layer> layers = bert_layers(sizes);
  const auto made = pad_vocabulary(layers, 8);
  REQUIRE(made);
  CHECK(made->padded == 30720);
  for (const Layer& layer : layers) {
    if (layer.tied_elements == 0) continue;
    REQUIRE(layer.parameters.size() == 1);
    CHECK(layer.parameters.front().elements == 30720);
  }
}

TEST_CASE("a vocabulary that the ranks divide, and a model without one, stay as they are") {
  std::vector<Layer> divided = decoder_layers(with_vocabulary(51200, true));
  CHECK_FALSE(pad_vocabulary(divided, 8));
  CHECK_FALSE(pad_vocabulary(divided, 1));
  std::vector<Layer> none{linear_layer("fc", 10, 10)};
  CHECK_FALSE(pad_vocabulary(none, 3));
}
