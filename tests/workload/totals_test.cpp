#include "config/document.hpp"
#include "shipped_model.hpp"
#include "units/text.hpp"
#include "workload/layer_rows.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

/// A row of layers_totals.csv, its shipped model, the table of its layers, and a key that differs from that
/// file.
struct ShippedModel {
  std::string row, file, layers, key = {}, value = {};
};

Model load_shipped(const ShippedModel& shipped) {
  return testing::shipped_model(shipped.file, shipped.key, shipped.value);
}

/// A model as a row of layers_totals.csv: counts, then millions and billions.
std::vector<std::string> totals_row(const std::string& name, const std::vector<Layer>& layers) {
  const ModelTotals sum = totals(layers);
  const auto convs = std::count_if(layers.begin(), layers.end(),
                                   [](const Layer& layer) { return layer.kind == LayerKind::conv; });
  return {name,
          std::to_string(layers.size()),
          shortest(sum.parameters),
          std::to_string(sum.tensors),
          shortest(sum.forward_macs / 1e9),
          shortest(sum.forward_flops.si() / 1e9),
          shortest(sum.backward_flops.si() / 1e9),
          shortest(sum.saved_elements / 1e6),
          shortest(sum.saved_fixed.si() / 1e6),
          shortest(sum.forward_rw_elements / 1e6),
          shortest(sum.backward_rw_elements / 1e6),
          std::to_string(convs)};
}

const std::vector<ShippedModel> shipped_models{
    {"resnet50_v1.5", "resnet50", "resnet50_v15"},
    {"resnet101", "resnet101", "resnet101"},
    {"resnet152", "resnet152", "resnet152"},
    {"vgg16", "vgg16", "vgg16"},
    {"alexnet", "alexnet", "alexnet"},
    {"inception_v3", "inception_v3", "inception_v3", "inception_v3.auxiliary", "true"},
    {"inception_v3_noaux", "inception_v3", "inception_v3_noaux"},
    {"bert_base_s128", "bert_base", "bert_base_s128"},
    {"bert_base_s512", "bert_base", "bert_base_s512", "bert.sequence_length", "512"},
    {"bert_large_s128", "bert_large", "bert_large_s128"},
    {"bert_large_s512", "bert_large", "bert_large_s512", "bert.sequence_length", "512"},
    {"gpt2_117M(124M)", "gpt2_small", "gpt2_117M"},
    {"gpt2_345M(355M)", "gpt2_medium", "gpt2_345M"},
    {"gpt2_762M(774M)", "gpt2_large", "gpt2_762M"},
    {"gpt2_1542M(1558M)", "gpt2_xl", "gpt2_1542M"}};

}  // namespace

TEST_CASE("every column of every shipped model's totals equals the reference table") {
  const auto table = reference_table("layers_totals.csv");
  REQUIRE(table.size() == shipped_models.size() + 1);
  for (std::size_t i = 0; i < shipped_models.size(); ++i) {
    const Model model = load_shipped(shipped_models[i]);
    const std::vector<std::string> row = totals_row(shipped_models[i].row, model.layers);
    REQUIRE(row.size() == table[0].size());
    for (std::size_t c = 0; c < row.size(); ++c) {
      INFO(shipped_models[i].row, ", column ", table[0][c]);
      CHECK(row[c] == table[i + 1][c]);
    }
  }
}

TEST_CASE("every column of every layer of every shipped model equals the reference tables") {
  for (const ShippedModel& shipped : shipped_models) {
    check_layers(load_shipped(shipped).layers, "layers_" + shipped.layers + ".csv");
  }
}

TEST_CASE("shipped decoders have the parameters that were published for them") {
  const std::vector<std::pair<std::string, double>> published{
      {"gpt3_175b", 174'615'846'912},    {"llama2_7b", 6'738'415'616},  {"llama2_13b", 13'015'864'320},
      {"llama2_70b", 68'976'648'192},    {"llama3_8b", 8'030'261'248},  {"llama3_70b", 70'553'706'496},
      {"llama31_405b", 405'853'388'800}, {"mistral_7b", 7'241'732'096}, {"bloom_176b", 176'247'271'424},
      {"gpt_neox_20b", 20'554'567'680},  {"mpt_125m", 125'311'488},     {"mpt_350m", 355'985'408},
      {"mpt_760m", 760'470'528},         {"mpt_1b", 1'315'950'592},     {"mpt_3b", 2'651'837'440},
      {"mpt_7b", 6'658'859'008},         {"mpt_13b", 12'853'954'560},   {"mpt_30b", 29'975'214'080},
      {"mpt_70b", 64'862'437'376},       {"t5_base", 222'903'552},      {"t5_large", 737'668'096},
      {"t5_3b", 2'851'598'336},          {"t5_11b", 11'307'321'344},    {"t5_v1_1_base", 247'577'856},
      {"t5_v1_1_large", 783'150'080},    {"t5_v1_1_xl", 2'849'757'184}, {"t5_v1_1_xxl", 11'135'332'352}};
  for (const auto& [name, parameters] : published) {
    INFO(name);
    const Model model = load_shipped({"", name, ""});
    CHECK(totals(model.layers).parameters == parameters);
    CHECK(model.name == name);
    CHECK(model.sequence_length.has_value());
  }
  // rounded figures
  CHECK(totals(load_shipped({"", "megatron_22b", ""}).layers).parameters ==
        doctest::Approx(22e9).epsilon(0.005));
  CHECK(totals(load_shipped({"", "megatron_530b", ""}).layers).parameters ==
        doctest::Approx(529.6e9).epsilon(1e-4));
  CHECK(totals(load_shipped({"", "megatron_1t", ""}).layers).parameters ==
        doctest::Approx(1008e9).epsilon(1e-4));
}

TEST_CASE("shipped models say where they come from, and sequence models how long a sample is") {
  for (const ShippedModel& shipped : shipped_models) {
    INFO(shipped.file);
    const config::Document document = testing::shipped_model_file(shipped.file);
    CHECK(document.root.find("source") != nullptr);
    const Model model = load_shipped(shipped);
    CHECK(model.name == shipped.file);
    const bool is_transformer = shipped.file.starts_with("bert") || shipped.file.starts_with("gpt2");
    CHECK(model.sequence_length.has_value() == is_transformer);
    CHECK(model.samples_per_epoch.has_value() != is_transformer);
  }
  CHECK(load_shipped({"", "bert_base", "", "bert.sequence_length", "512"}).sequence_length == 512);
  CHECK(load_shipped({"", "gpt2_xl", ""}).sequence_length == 1024);
}
