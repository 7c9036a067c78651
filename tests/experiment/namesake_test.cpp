#include "experiment/resolve.hpp"
#include "temporary_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>

using namespace trainyard;

namespace {

/// The name of the model in a run of a configuration of Hugging Face that calls itself gpt2_small.
std::string name_with(int layers, const Overrides& more = {}) {
  const TemporaryFolder folder;
  const std::string file = (folder.path / "config.json").string();
  std::ofstream(file) << fmt::format(
      R"({{"_name_or_path": "someone/gpt2_small", "model_type": "gpt2", "n_layer": {}, "n_embd": 768,
          "n_head": 12, "vocab_size": 50257, "n_positions": 1024}})",
      layers);
  Overrides set{{"platform", "dgx2"}, {"model", file}, {"batch_per_gpu", "1"}};
  set.insert(set.end(), more.begin(), more.end());
  return resolve({{TRAINYARD_SOURCE_DIR}}, no_file, set).model->name;
}

}  // namespace

TEST_CASE("a model with the name of a shipped one keeps it if it is that model, and not with other sizes") {
  CHECK(name_with(12) == "gpt2_small");
  CHECK(name_with(12, {{"model.decoder.sequence_length", "256"}}) == "gpt2_small");
  CHECK(name_with(13) == "gpt2_small_of_other_sizes");
}
