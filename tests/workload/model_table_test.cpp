#include "workload/model_table.hpp"

#include "config/diagnostic.hpp"
#include "workload/resnet.hpp"

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
        "forward per sample        130,240 MAC of matrix work, 261.1 kFLOP in all\n"
        "backward per sample       522.1 kFLOP\n"
        "forward per batch         260,480 MAC\n"
        "saved activations         2.048 kB per sample, 4.096 kB per batch in fp32\n"
        "                          1.024 kB per sample, 2.048 kB per batch in 16 bits\n"
        "samples per epoch         50,000\n");
}

TEST_CASE("the totals of ResNet-50 are the published ones") {
  const Model model{"resnet50", "ResNet-50 v1.5", resnet_layers({.blocks = {3, 4, 6, 3}}), std::nullopt};
  const std::string table = model_table(model, 128);
  const std::string totals =
      "parameters                25,557,032 in 161 tensors, 102.2 MB in fp32\n"
      "forward per sample        4,089,184,256 MAC of matrix work, 8.24 GFLOP in all\n"
      "backward per sample       16.22 GFLOP\n"
      "forward per batch         523,415,584,768 MAC\n"
      "saved activations         85.51 MB per sample, 10.95 GB per batch in fp32\n"
      "                          43.56 MB per sample, 5.576 GB per batch in 16 bits\n";
  REQUIRE(table.size() > totals.size());
  CHECK(table.substr(table.size() - totals.size()) == totals);
}

TEST_CASE("a table for a batch below one is an input error") {
  CHECK_THROWS_AS(model_table(Model{}, 0), InputError);
}
