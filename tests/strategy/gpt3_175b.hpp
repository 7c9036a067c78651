#pragma once
// GPT-3 175B as in Korthikanti et al. 2022, arXiv 2205.05198, table 3, for tests of parallelism.

#include "workload/decoder.hpp"
#include "workload/model.hpp"

inline trainyard::DecoderHyperparameters gpt3_175b_sizes(int layers = 96) {
  trainyard::DecoderHyperparameters gpt;
  gpt.layers = layers;
  gpt.hidden = 12288;
  gpt.heads = 96;
  gpt.vocabulary = 51200;
  gpt.sequence_length = 2048;
  return gpt;
}

inline trainyard::Model gpt3_175b(int layers = 96) {
  return {"gpt3_175b", "GPT-3 175B", trainyard::decoder_layers(gpt3_175b_sizes(layers)), std::nullopt};
}
