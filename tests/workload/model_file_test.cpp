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

std::vector<Diagnostic> model_errors(const std::string& text) {
  return errors_of([&] { load_text(text); });
}

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
  const Model model = load_text("name: m\nfamily: resnet\nresnet: {blocks: [3, 4, 23, 3]}\n");
  CHECK(totals(model.layers).parameters == 44'549'160);
  CHECK(model.title == "m");
}

TEST_CASE("a family without its hyper-parameters is an error at the family") {
  const auto errors = model_errors("name: m\nfamily: resnet\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].line == 2);
  CHECK(errors[0].key_path == "family");
}

TEST_CASE("a ResNet has four stages of at least one block") {
  const auto three = model_errors("name: m\nfamily: resnet\nresnet: {blocks: [3, 4, 6]}\n");
  REQUIRE(three.size() == 1);
  CHECK(three[0].key_path == "resnet.blocks");
  CHECK(three[0].message.starts_with("3 "));
  const auto zero = model_errors("name: m\nfamily: resnet\nresnet: {blocks: [3, 0, 6, 3]}\n");
  REQUIRE(zero.size() == 1);
  CHECK(zero[0].key_path == "resnet.blocks[1]");
}

TEST_CASE("all errors of a model file are reported at once") {
  const auto errors = model_errors(
      "name: m\nfamily: resnext\nresnet: {blocks: [3, 4, 6, 3], image_size: 4, clases: 10}\n"
      "samples_per_epoch: -1\n");
  REQUIRE(errors.size() == 4);
  CHECK(errors[0].key_path == "family");
  CHECK(errors[0].hint.find("resnet") != std::string::npos);
  CHECK(errors[1].key_path == "resnet.image_size");
  CHECK(errors[2].hint == "did you mean 'classes'?");
  CHECK(errors[3].key_path == "samples_per_epoch");
}

TEST_CASE("a model beyond 1e13 parameters is an error, not an overflow") {
  const auto errors = model_errors(
      "name: m\nfamily: resnet\n"
      "resnet: {blocks: [1000, 1000, 1000, 1000], width: 4096, image_size: 8192, classes: 10000000}\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].key_path == "resnet");
}

TEST_CASE("hyper-parameters of another family are an error") {
  const auto errors = model_errors(
      "name: m\nfamily: bert\nbert: {layers: 2, hidden: 64, heads: 4}\nresnet: {blocks: [3, 4, 6, 3]}\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].key_path == "resnet");
  CHECK(errors[0].hint.find("'family: resnet'") != std::string::npos);
}

TEST_CASE("every family says what it needs") {
  for (const std::string family : {"resnet", "vgg", "alexnet", "inception_v3", "bert", "gpt2"}) {
    const auto errors = model_errors("name: m\nfamily: " + family + "\n");
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].key_path == "family");
    const std::string& hint = errors[0].hint;  // add 'vgg: {convs: [2, 2, 3, 3, 3]}'
    REQUIRE(hint.starts_with("add '"));
    const std::string mapping = hint.substr(5, hint.size() - 6);
    CHECK_FALSE(load_text("name: m\nfamily: " + family + "\n" + mapping + "\n").layers.empty());
  }
}

TEST_CASE("an AlexNet has five convolutions, and an image that its windows fit in") {
  const auto four = model_errors("name: m\nfamily: alexnet\nalexnet: {convs: [64, 192, 384, 256]}\n");
  REQUIRE(four.size() == 1);
  CHECK(four[0].key_path == "alexnet.convs");
  CHECK(four[0].message.starts_with("4 "));
  const auto small =
      model_errors("name: m\nfamily: alexnet\nalexnet: {convs: [1, 1, 1, 1, 1], image_size: 32}\n");
  REQUIRE(small.size() == 1);
  CHECK(small[0].key_path == "alexnet");
  CHECK(small[0].hint.find("image_size") != std::string::npos);
}

TEST_CASE("an image too small for Inception v3 is an error at the family's mapping") {
  const auto errors = model_errors("name: m\nfamily: inception_v3\ninception_v3: {image_size: 64}\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].key_path == "inception_v3");
  CHECK(errors[0].hint.find("image_size") != std::string::npos);
}

TEST_CASE("heads share a token's features, and a sequence has positions") {
  const auto heads = model_errors("name: m\nfamily: gpt2\ngpt2: {layers: 2, hidden: 64, heads: 5}\n");
  REQUIRE(heads.size() == 1);
  CHECK(heads[0].key_path == "gpt2.heads");
  CHECK(heads[0].message.starts_with("5 heads"));
  const auto length =
      model_errors("name: m\nfamily: bert\nbert: {layers: 2, hidden: 64, heads: 4, sequence_length: 1024}\n");
  REQUIRE(length.size() == 1);
  CHECK(length[0].key_path == "bert.sequence_length");
  CHECK(length[0].message.find("512") != std::string::npos);
  CHECK(load_text("name: m\nfamily: bert\n"
                  "bert: {layers: 2, hidden: 64, heads: 4, sequence_length: 1024, positions: 1024}\n")
            .sequence_length == 1024);
}

TEST_CASE("a decoder's heads share features and keys, and only learned positions have a table") {
  const auto with = [](const std::string& more) {
    return model_errors(
        "name: m\nfamily: decoder\ndecoder: {layers: 2, hidden: 64, heads: 12, vocabulary: 100, "
        "sequence_length: 16" +
        more + "}\n");
  };
  REQUIRE(with("").size() == 1);
  CHECK(with("")[0].key_path == "decoder.heads");
  CHECK(with(", head_dim: 8, kv_heads: 3").empty());
  REQUIRE(with(", head_dim: 8, kv_heads: 5").size() == 1);
  CHECK(with(", head_dim: 8, kv_heads: 5")[0].key_path == "decoder.kv_heads");
  REQUIRE(with(", head_dim: 8, position: rope, positions: 32").size() == 1);
  CHECK(with(", head_dim: 8, position: rope, positions: 32")[0].key_path == "decoder.positions");
  REQUIRE(with(", head_dim: 8, positions: 8").size() == 1);
  CHECK(with(", head_dim: 8, positions: 8")[0].key_path == "decoder.sequence_length");
}

TEST_CASE("BERT's predictions are at most the tokens of a length") {
  const std::string bert = "name: m\nfamily: bert\nbert: {layers: 2, hidden: 64, heads: 4, predictions: ";
  const auto word = model_errors(bert + "{short: 20}}\n");
  REQUIRE(word.size() == 1);
  CHECK(word[0].key_path == "bert.predictions");
  CHECK(word[0].message.find("'short'") != std::string::npos);
  const auto many = model_errors(bert + "{128: 20, 64: 65}}\n");
  REQUIRE(many.size() == 1);
  CHECK(many[0].key_path == "bert.predictions.64");
  CHECK(many[0].hint.find("64") != std::string::npos);
  CHECK(model_errors(bert + "20}\n").size() == 1);
  CHECK(model_errors(bert + "{128: 20, 512: 80}}\n").empty());
}

TEST_CASE("a sequence length can be set from outside, with its predictions") {
  config::Document document = testing::shipped_model_file("bert_base");
  config::set(document, "bert.sequence_length", "256");
  config::set(document, "bert.predictions.256", "40");
  const Model model = load_model(document);
  CHECK(model.sequence_length == 256);
  CHECK(model.layers.back().in_shape == std::vector<int>{40, 30522});
}

TEST_CASE("an image too small for a VGG is an error at the family's mapping") {
  const auto errors = model_errors("name: m\nfamily: vgg\nvgg: {convs: [1, 1, 1, 1, 1], image_size: 16}\n");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].key_path == "vgg");
  CHECK(errors[0].hint.find("image_size") != std::string::npos);
  CHECK(model_errors("name: m\nfamily: vgg\nvgg: {convs: []}\n").size() == 1);
}
