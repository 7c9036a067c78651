#include "workload/encoder_decoder.hpp"

#include "workload/make_trace.hpp"
#include "workload/model.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

struct T5Size {
  int layers = 0, hidden = 0, heads = 0, head_dim = 0, ffn = 0;
};

EncoderDecoderHyperparameters t5(const T5Size& size) {
  EncoderDecoderHyperparameters parameters;
  parameters.layers = size.layers;
  parameters.hidden = size.hidden;
  parameters.heads = size.heads;
  parameters.head_dim = size.head_dim;
  parameters.ffn = size.ffn;
  parameters.vocabulary = 32128;
  parameters.sequence_length = 512;
  parameters.decoder_sequence_length = 128;
  return parameters;
}

EncoderDecoderHyperparameters t5_v1_1(const T5Size& size) {
  EncoderDecoderHyperparameters parameters = t5(size);
  parameters.gated = true;
  parameters.tied = false;
  parameters.dropout = false;
  return parameters;
}

double parameters_of(const EncoderDecoderHyperparameters& parameters) {
  return totals(encoder_decoder_layers(parameters)).parameters;
}

const Layer& t5_layer(const std::vector<Layer>& layers, const std::string& name) {
  const auto found = std::ranges::find(layers, name, &Layer::name);
  REQUIRE(found != layers.end());
  return *found;
}

}  // namespace

TEST_CASE("T5 has the published numbers of parameters") {
  // Counts of the checkpoints on the Hugging Face Hub, as public code lists them ('t5-11b': 11307321344).
  CHECK(parameters_of(t5({6, 512, 8, 64, 2048})) == 60'506'624);
  CHECK(parameters_of(t5({12, 768, 12, 64, 3072})) == 222'903'552);
  CHECK(parameters_of(t5({24, 1024, 16, 64, 4096})) == 737'668'096);
  CHECK(parameters_of(t5({24, 1024, 32, 128, 16384})) == 2'851'598'336);
  CHECK(parameters_of(t5({24, 1024, 128, 128, 65536})) == 11'307'321'344);
}

TEST_CASE("T5 v1.1 has the published numbers of parameters") {
  // Wikipedia, T5 (language model), table of T5 v1.1
  CHECK(parameters_of(t5_v1_1({12, 768, 12, 64, 2048})) == 247'577'856);
  CHECK(parameters_of(t5_v1_1({24, 1024, 16, 64, 2816})) == 783'150'080);
  CHECK(parameters_of(t5_v1_1({24, 2048, 32, 64, 5120})) == 2'849'757'184);
  CHECK(parameters_of(t5_v1_1({24, 4096, 64, 64, 10240})) == 11'135'332'352);
}

TEST_CASE("T5-large has the tensors of its public implementation") {
  // KwangryeolPark/Model.Summary, legacy/docs/image_model_info/t5-large.md lists 509
  const std::vector<Layer> layers = encoder_decoder_layers(t5({24, 1024, 16, 64, 4096}));
  CHECK(totals(layers).tensors == 509);
  CHECK(t5_layer(layers, "encoder.h0.attn.bias").parameters[0].elements == 32 * 16);
  CHECK(t5_layer(layers, "encoder.h1.attn.bias").parameters.empty());
  CHECK(t5_layer(layers, "lm_head").tied_elements == 32128.0 * 1024);
}

TEST_CASE("the decoder attends to the encoder's tokens") {
  const std::vector<Layer> layers = encoder_decoder_layers(t5({2, 64, 4, 8, 96}));
  const Layer& scores = t5_layer(layers, "decoder.h1.cross.qk");
  CHECK(scores.gemm == LayerGemm{4, 128, 512, 8, true});
  CHECK(t5_layer(layers, "decoder.h1.cross.av").gemm == LayerGemm{4, 128, 8, 512, false});
  CHECK(t5_layer(layers, "decoder.h1.attn.qk").gemm == LayerGemm{4, 128, 128, 8, true});
  CHECK(t5_layer(layers, "encoder.h1.attn.qk").gemm == LayerGemm{4, 512, 512, 8, true});
  const Layer& keys = t5_layer(layers, "decoder.h1.cross.kv");
  CHECK(keys.reads_encoder);
  CHECK(keys.in_elements == 512 * 64);
  CHECK(keys.forward_macs == 512.0 * 64 * 2 * 4 * 8);
  // only the encoder's last layers keep what all blocks of the decoder read
  CHECK(keys.saved_elements == 0);
}

TEST_CASE("the FLOPs of an encoder-decoder follow from its matrix products") {
  const EncoderDecoderHyperparameters parameters = t5({24, 1024, 128, 128, 65536});
  constexpr double h = 1024, w = 128 * 128, f = 65536, s = 512, d = 128;
  const double encoder = 4 * s * h * w + 2 * s * h * f + 2 * s * s * w;
  const double cross = 2 * d * h * w + 2 * s * h * w + 2 * d * s * w;
  const double decoder = 4 * d * h * w + 2 * d * h * f + 2 * d * d * w + cross;
  CHECK(totals(encoder_decoder_layers(parameters)).forward_macs ==
        doctest::Approx(24 * (encoder + decoder) + d * h * 32128).epsilon(1e-14));
}

TEST_CASE("gradients of an encoder-decoder are complete once each, those of the shared table last") {
  Model model{.name = "t5",
              .title = {},
              .layers = encoder_decoder_layers(t5({2, 64, 4, 8, 96})),
              .samples_per_epoch = {}};
  const Trace trace = make_trace(model, 4, Precision::fp32, Optimizer::adam);
  double elements = 0;
  std::string last;
  for (const Op& op : trace.ops) {
    for (const Gradient& gradient : op.gradients) {
      elements += gradient.elements;
      last = gradient.tensor;
    }
  }
  CHECK(elements == totals(model.layers).parameters);
  CHECK(last == "shared.weight");
}

TEST_CASE("the original Transformer has dropout of the parts' outputs and of the embeddings' sums alone") {
  const auto dropouts = [](EncoderDecoderStyle style) {
    EncoderDecoderHyperparameters parameters = t5({2, 64, 4, 16, 256});
    parameters.style = style;
    return std::ranges::count(encoder_decoder_layers(parameters), LayerKind::dropout, &Layer::kind);
  };
  constexpr int blocks = 2;
  constexpr int outputs = blocks * (2 + 3);  // of an encoder's block two, of a decoder's three
  CHECK(dropouts(EncoderDecoderStyle::transformer) == 2 + outputs);
  constexpr int probabilities = blocks * (1 + 2);
  constexpr int inside = 2 * blocks;
  CHECK(dropouts(EncoderDecoderStyle::t5) == 2 + 2 + outputs + probabilities + inside);
}
