#include "workload/bert.hpp"

#include "workload/layer_rows.hpp"
#include "workload/model.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

BertHyperparameters bert_base(int sequence_length) {
  BertHyperparameters parameters;
  parameters.layers = 12;
  parameters.hidden = 768;
  parameters.heads = 12;
  parameters.sequence_length = sequence_length;
  return parameters;
}

}  // namespace

TEST_CASE("every column of every layer of BERT-base equals the reference table") {
  check_layers(bert_layers(bert_base(128)), "layers_bert_base_s128.csv");
}

TEST_CASE("BERT predicts what the key says for its length, else 15 % of the tokens, rounded up") {
  BertHyperparameters parameters = bert_base(512);
  CHECK(predicted_tokens(parameters) == 77);
  parameters.predictions = {{"128", 20}, {"512", 80}};
  CHECK(predicted_tokens(parameters) == 80);
  parameters.sequence_length = 100;
  CHECK(predicted_tokens(parameters) == 15);
  parameters.sequence_length = 1;
  CHECK(predicted_tokens(parameters) == 1);
}

TEST_CASE("BERT's attention registers q, k and v one after the other") {
  const std::vector<Layer> layers = bert_layers(bert_base(128));
  std::vector<std::string> names;
  for (const Parameter& parameter : layers[5].parameters) {
    names.push_back(parameter.name);
    CHECK(parameter.elements == (names.size() % 2 == 1 ? 768 * 768 : 768));
  }
  CHECK(names == std::vector<std::string>{"layer0.attn.qkv.q.weight", "layer0.attn.qkv.q.bias",
                                          "layer0.attn.qkv.k.weight", "layer0.attn.qkv.k.bias",
                                          "layer0.attn.qkv.v.weight", "layer0.attn.qkv.v.bias"});
}

TEST_CASE("the decoder uses the word embedding, which is counted once") {
  const std::vector<Layer> layers = bert_layers(bert_base(128));
  const Layer& decoder = layers[layers.size() - 3];
  CHECK(decoder.name == "cls.decoder");
  CHECK(parameter_elements(decoder) == 30'522);
  CHECK(decoder.tied_elements == parameter_elements(layers[0]));
  for (const Layer& layer : layers) CHECK((layer.tied_elements == 0 || &layer == &decoder));
}

TEST_CASE("BERT's MACs are the textbook's at any length, and its parameters do not depend on it") {
  CHECK(rc::check([] {
    const int s = *rc::gen::inRange(1, 512);
    const BertHyperparameters parameters = bert_base(s);
    const ModelTotals sum = totals(bert_layers(parameters));
    const double h = 768;
    const double predictions = predicted_tokens(parameters);
    // per block: q, k, v and projection, scores and context, two linear layers
    const double blocks = 12 * (4 * s * h * h + 2.0 * s * s * h + 8 * s * h * h);
    const double heads = h * h + 2 * h + predictions * (h * h + 30'522 * h);
    RC_ASSERT(sum.forward_macs == blocks + heads);
    RC_ASSERT(sum.parameters == 110'106'428);
    RC_ASSERT(sum.tensors == 206);
  }));
}
