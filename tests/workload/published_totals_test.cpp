// Totals of shipped models against figures that others published.

#include "shipped_model.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>
#include <string>
#include <vector>

using namespace trainyard;
using testing::shipped_model;

namespace {

double parameters_of(const Model& model, const std::string& without = {}) {
  double sum = 0;
  for (const Layer& layer : model.layers) {
    if (layer.name != without) sum += parameter_elements(layer);
  }
  return sum;
}

double macs_of(const Model& model, const std::string& without = {}) {
  double sum = 0;
  for (const Layer& layer : model.layers) {
    if (layer.name != without) sum += layer.forward_macs;
  }
  return sum;
}

/// Multiply-accumulates of fully connected layers of these widths.
double macs_of(const std::vector<double>& widths) {
  return std::inner_product(widths.begin(), widths.end() - 1, widths.begin() + 1, 0.0);
}

}  // namespace

TEST_CASE("shipped models have the parameters that were published for them, and the samples of their sets") {
  struct Published {
    std::string name;
    double parameters = 0, samples = 0;
  };
  const std::vector<Published> published{
      // NVIDIA/apex tests/L0/run_optimizers: "MLPerf GNMT has 160671297 parameters"
      {"gnmt", 160'671'297, 4'500'000},
      // epfml/powersgd's runs of NVIDIA's NCF: 31832577
      {"ncf", 31'832'577, 99'308'850},
      // facebookresearch/fairseq, transformer_wmt_en_de(_big), shared embeddings of 32,768 entries
      {"transformer_base", 60'915'712, 4'500'000},
      {"transformer_big", 209'911'808, 4'500'000},
      // huggingface/transformers, BertForQuestionAnswering
      {"bert_base_squad", 108'893'186, 88'524},
      {"bert_large_squad", 334'094'338, 88'524},
      // ECP-CANDLE/Benchmarks, NT3: "Total params: 154,922,918" (Pilot1/NT3)
      {"nt3", 154'922'918, 1'120},
      // two tables of 2,322,444 rows, and eight fully connected layers behind 429 features
      {"wide_deep", 46'220'493, 45'840'617}};
  for (const Published& row : published) {
    INFO(row.name);
    const Model model = shipped_model(row.name);
    CHECK(parameters_of(model) == row.parameters);
    REQUIRE(model.samples_per_epoch);
    CHECK(model.samples_per_epoch->value == row.samples);
    CHECK(model.samples_per_epoch->source.empty() == false);
  }
}

TEST_CASE("the Transformer has the parameters of Vaswani et al. 2017 with their vocabulary") {
  // table 3: 65 and 213 million, about 37,000 word pieces (section 5.1)
  for (const auto& [name, millions] :
       {std::pair{"transformer_base", 65.0}, std::pair{"transformer_big", 213.0}}) {
    INFO(name);
    const Model model = shipped_model(name, "encoder_decoder.vocabulary", "37000");
    CHECK(parameters_of(model) / 1e6 == doctest::Approx(millions).epsilon(0.03));
  }
}

TEST_CASE("InsightFace's ResNet-100 has iresnet100's parameters, and a weight for each class and feature") {
  const Model model = shipped_model("insightface_r100");
  // deepinsight/insightface, recognition/arcface_torch: iresnet100, 65.2 M parameters, 12.1 G MACs (README)
  CHECK(parameters_of(model, "classes") == 65'156'160);
  CHECK(macs_of(model, "classes") == 12'089'606'144);
  CHECK(parameters_of(model) == 65'156'160 + 512.0 * 85'742);
  CHECK(std::ranges::count(model.layers, LayerKind::conv, &Layer::kind) == 103);
  CHECK(std::ranges::find(model.layers, "classes", &Layer::name)->normalises_weights);
  REQUIRE(model.samples_per_epoch);
  CHECK(model.samples_per_epoch->value == 5'822'653);
}

TEST_CASE("DLRM has MLPerf's tables and layers, and the small one the 540 million parameters of its paper") {
  const Model dlrm = shipped_model("dlrm");
  const double rows = 187'767'399;  // of all tables: vocabulary_size of NVIDIA/HugeCTR's tests for Criteo 1TB
  const double bottom = macs_of({13, 512, 256, 128});
  const double top = macs_of({479, 1024, 1024, 512, 256, 1});
  constexpr double biases = 512 + 256 + 128 + 1024 + 1024 + 512 + 256 + 1;
  CHECK(parameters_of(dlrm) == rows * 128 + bottom + top + biases);
  CHECK(macs_of(dlrm) == bottom + top + 27 * 27 * 128);
  REQUIRE(dlrm.samples_per_epoch);
  CHECK(dlrm.samples_per_epoch->value == 4'195'197'692);  // days 0 to 22
  // Naumov et al. 2019, arXiv 1906.00091, section 5: "around 540M parameters"
  const Model small = shipped_model("dlrm_kaggle");
  CHECK(parameters_of(small) / 1e6 == doctest::Approx(540).epsilon(0.002));
  CHECK(macs_of(small) == macs_of({13, 512, 256, 64, 16}) + macs_of({367, 512, 256, 1}) + 27 * 27 * 16);
}

TEST_CASE("multiply-accumulates of recommendation and genomics models follow from their layers") {
  CHECK(macs_of(shipped_model("wide_deep")) == macs_of({429, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 1}));
  CHECK(macs_of(shipped_model("ncf")) == macs_of({256, 256, 128, 64}) + 128);
  // outputs x window x channels of both convolutions, and three fully connected layers
  CHECK(macs_of(shipped_model("nt3")) ==
        60'464.0 * 128 * 20 + 60'455.0 * 128 * 10 * 128 + macs_of({6'045.0 * 128, 200, 20, 2}));
}

TEST_CASE("multiply-accumulates of translation models are those of their matrices for every token") {
  constexpr double tokens = 32;
  const Model gnmt = shipped_model("gnmt");
  const double lstm = 4 * 1024 * (1024.0 + 1024);     // of 1024 inputs
  const double wide = 4 * 1024 * (2048.0 + 1024);     // of 2048 inputs
  const double encoder = 2 * lstm + wide + 2 * lstm;  // the first one in both directions
  const double decoder = lstm + 3 * wide + 1024 * 32320.0;
  const double attention = 2 * 1024 * 1024.0 + tokens * 1024;  // projections, weighted sum
  CHECK(macs_of(gnmt) == tokens * (encoder + decoder + attention));

  const Model big = shipped_model("transformer_big");
  const double hidden = 1024;
  const double half = 4 * hidden * hidden + 2 * tokens * hidden;  // projections, scores and context
  const double feed_forward = 2 * hidden * 4096;
  CHECK(macs_of(big) ==
        tokens * (6 * (half + feed_forward) + 6 * (2 * half + feed_forward) + hidden * 32768));
}

TEST_CASE("a question answering head has two outputs for each token, in place of BERT's other heads") {
  const Model model = shipped_model("bert_large_squad");
  const Layer& head = model.layers[model.layers.size() - 2];
  CHECK(head.out_shape == std::vector<int>{384, 2});
  CHECK(model.layers.back().in_shape == std::vector<int>{2, 384});
  CHECK(std::ranges::find(model.layers, "pooler", &Layer::name) == model.layers.end());
  CHECK(model.sequence_length == 384);
}
