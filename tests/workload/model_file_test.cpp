#include "workload/model_file.hpp"

#include "config/document.hpp"
#include "errors_of.hpp"
#include "shipped_model.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

Model load_text(const std::string& text) { return load_model(config::parse("m.yaml", text)); }

Model load_family(const std::string& family) { return load_text("name: m\nfamily: " + family + "\n"); }

}  // namespace

TEST_CASE("the shipped resnet50.yaml is ResNet-50 v1.5") {
  const Model model = testing::shipped_model("resnet50");
  CHECK(model.name == "resnet50");
  CHECK(model.title == "ResNet-50 v1.5");
  CHECK(totals(model.layers).parameters == 25'557'032);
  CHECK(totals(model.layers).forward_macs == 4'089'184'256);
  REQUIRE(model.samples_per_epoch);
  CHECK(model.samples_per_epoch->value == 1'281'167);
  CHECK(model.samples_per_epoch->provenance == Provenance::specified);
}

TEST_CASE("hyper-parameters a model file leaves out are ResNet-50's") {
  const Model model = load_family("resnet\nresnet: {blocks: [3, 4, 23, 3]}");
  CHECK(totals(model.layers).parameters == 44'549'160);
  CHECK(model.title == "m");
}

TEST_CASE("a family that cannot be made is an error at the key that is wrong") {
  const std::string many =
      "blocks: [1000, 1000, 1000, 1000], width: 4096, image_size: 8192, classes: 10000000";
  const std::string bert = "bert\nbert: {layers: 2, hidden: 64, heads: 4";
  const std::string decoder =
      "decoder\ndecoder: {layers: 2, hidden: 64, heads: 12, vocabulary: 100, sequence_length: 16";
  check_errors({{"resnet", "family"},
                {"resnet\nresnet: {blocks: [3, 4, 6]}", "resnet.blocks", "3 "},
                {"resnet\nresnet: {blocks: [3, 0, 6, 3]}", "resnet.blocks[1]"},
                {"resnet\nresnet: {" + many + "}", "resnet"},  // beyond 1e13 parameters
                {bert + "}\nresnet: {blocks: [3, 4, 6, 3]}", "resnet", "'family: resnet'"},
                {"alexnet\nalexnet: {convs: [64, 192, 384, 256]}", "alexnet.convs", "4 "},
                {"alexnet\nalexnet: {convs: [1, 1, 1, 1, 1], image_size: 32}", "alexnet", "image_size"},
                {"inception_v3\ninception_v3: {image_size: 64}", "inception_v3", "image_size"},
                {"vgg\nvgg: {convs: [1, 1, 1, 1, 1], image_size: 16}", "vgg", "image_size"},
                {"vgg\nvgg: {convs: []}", "vgg.convs"},
                {"gpt2\ngpt2: {layers: 2, hidden: 64, heads: 5}", "gpt2.heads", "5 heads"},
                {bert + ", sequence_length: 1024}", "bert.sequence_length", "512"},
                {bert + ", predictions: {short: 20}}", "bert.predictions", "'short'"},
                {bert + ", predictions: {128: 20, 64: 65}}", "bert.predictions.64", "64"},
                {bert + ", predictions: 20}", "bert.predictions"},
                {decoder + "}", "decoder.heads"},
                {decoder + ", head_dim: 8, kv_heads: 5}", "decoder.kv_heads"},
                {decoder + ", head_dim: 8, position: rope, positions: 32}", "decoder.positions"},
                {decoder + ", head_dim: 8, positions: 8}", "decoder.sequence_length"}},
               load_family);
  load_family(bert + ", predictions: {128: 20, 512: 80}}");
  load_family(decoder + ", head_dim: 8, kv_heads: 3}");
  CHECK(load_family(bert + ", sequence_length: 1024, positions: 1024}").sequence_length == 1024);
}

TEST_CASE("all errors of a model file are reported at once") {
  const auto errors = errors_of([] {
    load_family("resnext\nresnet: {blocks: [3, 4, 6, 3], image_size: 4, clases: 10}\nsamples_per_epoch: -1");
  });
  REQUIRE(errors.size() == 4);
  CHECK(errors[0].key_path == "family");
  CHECK(errors[0].hint.find("resnet") != std::string::npos);
  CHECK(errors[1].key_path == "resnet.image_size");
  CHECK(errors[2].hint == "did you mean 'classes'?");
  CHECK(errors[3].key_path == "samples_per_epoch");
}

TEST_CASE("every family says what it needs") {
  for (const std::string family : {"resnet", "vgg", "alexnet", "inception_v3", "bert", "gpt2"}) {
    const Diagnostic error = only_error([&] { load_family(family); });
    CHECK(error.key_path == "family");
    const std::string& hint = error.hint;  // add 'vgg: {convs: [2, 2, 3, 3, 3]}'
    REQUIRE(hint.starts_with("add '"));
    const std::string mapping = hint.substr(5, hint.size() - 6);
    CHECK_FALSE(load_family(family + "\n" + mapping).layers.empty());
  }
}

TEST_CASE("a sequence length can be set from outside, with its predictions") {
  config::Document document = testing::shipped_model_file("bert_base");
  config::set(document, "bert.sequence_length", "256");
  config::set(document, "bert.predictions.256", "40");
  const Model model = load_model(document);
  CHECK(model.sequence_length == 256);
  CHECK(model.layers.back().in_shape == std::vector<int>{40, 30522});
}
