#include "workload/model_table.hpp"

#include "config/diagnostic.hpp"
#include "workload/resnet.hpp"
#include "workload/transformer_layers.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

TEST_CASE("the model table groups layers by name and ends in totals") {
  Model model{"tiny", "Tiny net", {}, Sourced<double>{50'000}};
  model.layers = {conv_layer("stem", {3, 8, 8}, {4, 3, 2, 1}),
                  conv_layer("block.0.conv", {4, 4, 4}, {8, 1, 1, 0}),
                  batch_norm_layer("block.0.bn", {8, 4, 4}), relu_layer("block.1", {8, 4, 4}),
                  linear_layer("fc", 128, 1000)};
  CHECK(model_table(model, 2) ==
        "Tiny net (tiny), batch 2\n"
        "\n"
        "layer     kind       input         output        window  parameters     MACs\n"
        "----------------------------------------------------------------------------\n"
        "stem      conv       [2, 3, 8, 8]  [2, 4, 4, 4]  3x3 /2         108    3,456\n"
        "block                                                            48    1,024\n"
        "  0                                                              48    1,024\n"
        "    conv  conv       [2, 4, 4, 4]  [2, 8, 4, 4]  1x1 /1          32    1,024\n"
        "    bn    batchnorm  [2, 8, 4, 4]  [2, 8, 4, 4]                  16        -\n"
        "  1       relu       [2, 8, 4, 4]  [2, 8, 4, 4]                   -        -\n"
        "fc        linear     [2, 1, 128]   [2, 1, 1000]             129,000  256,000\n"
        "----------------------------------------------------------------------------\n"
        "parameters                129,156 in 6 tensors, 516.6 kB in fp32\n"
        "forward per sample        130,240 MACs of matrix work, 261.1 kFLOP in total\n"
        "backward per sample       522.1 kFLOP\n"
        "forward per batch         260,480 MACs\n"
        "saved activations         2.048 kB per sample, 4.096 kB per batch in fp32\n"
        "                          1.024 kB per sample, 2.048 kB per batch in 16 bits\n"
        "samples per epoch         50,000\n");
}

TEST_CASE("the totals of ResNet-50 are the published ones") {
  const Model model{"resnet50", "ResNet-50 v1.5", resnet_layers({.blocks = {3, 4, 6, 3}}), std::nullopt};
  const std::string table = model_table(model, 128);
  for (const char* figure :
       {" 25,557,032 ", " 161 ", " 102.2 MB ", " 4,089,184,256 ", " 8.24 GFLOP ", " 16.22 GFLOP\n",
        " 523,415,584,768 ", " 85.51 MB ", " 10.95 GB ", " 43.56 MB ", " 5.576 GB "}) {
    CAPTURE(figure);
    CHECK(table.find(figure) != std::string::npos);
  }
}

TEST_CASE("the table of a sequence model has rows of tokens, no windows, and says how many tokens") {
  Model model{"tiny", "Tiny transformer", {}, std::nullopt, 4};
  model.layers = {embedding_layer("wte", {.rows = 4, .entries = 100, .features = 6})};
  append_attention(model.layers, "h0", {.sequence = 4, .hidden = 6, .heads = 2, .intermediate = 24},
                   linear_layer("h0.attn.qkv", {4, 6, 18}));
  model.layers.push_back(tied_linear_layer("lm_head", {4, 6, 100}, false));
  CHECK(model_table(model, 2) ==
        "Tiny transformer (tiny), batch 2\n"
        "\n"
        "layer        kind       input         output        parameters   MACs\n"
        "---------------------------------------------------------------------\n"
        "wte          embedding  [2, 4]        [2, 4, 6]            600      -\n"
        "h0                                                         168  1,536\n"
        "  attn                                                     168  1,536\n"
        "    qkv      linear     [2, 4, 6]     [2, 4, 18]           126    864\n"
        "    qk       bmm        [2, 2, 4, 3]  [2, 2, 4, 4]           -    192\n"
        "    softmax  softmax    [2, 2, 4, 4]  [2, 2, 4, 4]           -      -\n"
        "    dropout  dropout    [2, 2, 4, 4]  [2, 2, 4, 4]           -      -\n"
        "    av       bmm        [2, 2, 4, 4]  [2, 2, 4, 3]           -    192\n"
        "    proj     linear     [2, 4, 6]     [2, 4, 6]             42    288\n"
        "  drop1      dropout    [2, 4, 6]     [2, 4, 6]              -      -\n"
        "  add1       add        [2, 4, 6]     [2, 4, 6]              -      -\n"
        "lm_head      linear     [2, 4, 6]     [2, 4, 100]            -  4,800\n"
        "---------------------------------------------------------------------\n"
        "parameters                768 in 5 tensors, 3.072 kB in fp32\n"
        "tied weights              600 of the embedding, also used by lm_head\n"
        "forward per sample        3,168 MACs of matrix work, 6.576 kFLOP in total\n"
        "backward per sample       12.88 kFLOP\n"
        "forward per batch         6,336 MACs\n"
        "saved activations         888 B per sample, 1.776 kB per batch in fp32\n"
        "                          472 B per sample, 944 B per batch in 16 bits\n"
        "tokens                    4 per sample, 8 per batch\n");
}

TEST_CASE("a table for a batch below one is an input error") {
  CHECK_THROWS_AS(model_table(Model{}, 0), InputError);
}
