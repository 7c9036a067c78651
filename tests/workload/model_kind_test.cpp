// The kind of a model, by its layers.

#include "workload/model_kind.hpp"

#include "shipped_model.hpp"
#include "workload/bert.hpp"

#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;

TEST_CASE("shipped models have the kind that they are known for") {
  const std::vector<std::pair<std::string, ModelKind>> models{
      {"resnet50", ModelKind::convolutional}, {"alexnet_tf", ModelKind::convolutional},
      {"bert_large", ModelKind::encoder},     {"vit_b_16", ModelKind::encoder},
      {"gpt2_small", ModelKind::decoder},     {"llama3_8b", ModelKind::decoder},
      {"t5_base", ModelKind::decoder},        {"mixtral_8x7b", ModelKind::experts},
      {"wide_deep", ModelKind::recommender}};
  for (const auto& [name, kind] : models) {
    CAPTURE(name);
    CHECK(kind_of(testing::shipped_model(name).layers) == kind);
  }
  CHECK(kind_of({}) == ModelKind::other);
}

TEST_CASE("BERT is an encoder, however many tokens its head predicts") {
  for (const int predicted : {1, 20, 128}) {
    CAPTURE(predicted);
    BertHyperparameters parameters;
    parameters.layers = 2;
    parameters.hidden = 64;
    parameters.heads = 4;
    parameters.positions = 128;
    parameters.vocabulary = 1000;
    parameters.sequence_length = 128;
    parameters.predictions = {{"128", predicted}};
    CHECK(kind_of(bert_layers(parameters)) == ModelKind::encoder);
  }
}
