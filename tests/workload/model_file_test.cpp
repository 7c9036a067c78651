#include "workload/model_file.hpp"

#include "config/document.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

Model load_text(const std::string& text) { return load_model(config::parse("m.yaml", text)); }

std::vector<Diagnostic> model_errors(const std::string& text) {
  try {
    load_text(text);
  } catch (const InputError& error) {
    return error.diagnostics();
  }
  return {};
}

}  // namespace

TEST_CASE("the shipped resnet50.yaml is ResNet-50 v1.5") {
  const Model model = load_model(config::load(TRAINYARD_SOURCE_DIR "/workloads/models/resnet50.yaml"));
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
  CHECK(three[0].message == "3 stages");
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
