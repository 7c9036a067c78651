// The memory of ranks that share a model, against sizes of the papers.

#include "run/memory_verdict.hpp"
#include "shipped_layout.hpp"

#include <doctest/doctest.h>
#include <map>
#include <string>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

double activations(const Overrides& layout, std::size_t stage = 0) {
  return memory_reports(gpt3_layout(layout))[stage].terms.activations.si();
}

/// Bytes that one more block keeps on the only stage of eight tensor ranks.
double kept_by_block(const std::string& model, const Overrides& layout) {
  const auto with_blocks = [&](const char* blocks) {
    return activations(joined({{"model", model},
                               {"nodes", "1"},
                               {"accumulation", "1"},
                               {"parallelism.pipeline", "1"},
                               {"model.decoder.layers", blocks}},
                              layout));
  };
  return with_blocks("4") - with_blocks("3");
}

const Overrides sequence{{"parallelism.sequence", "true"}};
const Overrides selective{{"parallelism.sequence", "true"}, {"parallelism.recompute", "selective"}};
const Overrides full{{"parallelism.recompute", "full"}};

}  // namespace

TEST_CASE("64 replicas divide the 16 bytes of a parameter as in figure 1 of ZeRO's paper") {
  // Rajbhandari et al. 2020, arXiv 1910.02054, figure 1: 120, 31.4, 16.6 and 1.9 GB.
  constexpr double of_paper = 7.5e9;
  const std::map<std::string, double> gigabytes{
      {"none", 120}, {"optimizer", 31.40625}, {"gradients", 16.640625}, {"parameters", 1.875}};
  for (const auto& [shard, expected] : gigabytes) {
    CAPTURE(shard);
    const ResolvedExperiment resolved = small_decoder(
        "dgx_a100", 8,
        {{"precision", "bf16"}, {"parallelism.shard", shard}, {"parallelism.recompute", "full"}});
    double parameters = 0;
    double root = 0;
    double block = 0;
    for (const Layer& layer : resolved.classes.front().layers) {
      parameters += parameter_elements(layer);
      (layer.block ? block : root) += parameter_elements(layer);
    }
    const MemoryTerms terms = memory_reports(resolved).front().terms;
    Bytes state = terms.parameters + terms.gradients + terms.optimizer_state;
    if (shard == "parameters")
      state -= Bytes(2 * (root + 2 * block / 8));  // gathered: the root and two blocks
    CHECK(state.si() * of_paper / parameters == doctest::Approx(expected * 1e9).epsilon(1e-12));
  }
}

TEST_CASE("a block keeps as many activations as Korthikanti et al. 2022 count, in MB") {
  // arXiv 2205.05198, equation 2 and table 2: sbh(10 + 24/t + 5as/(ht)), sbh(34 + 5as/h)/t, 34 sbh/t, 2 sbh.
  struct Row {
    const char* model;
    double batch, hidden, heads;
  };
  for (const Row& row : {Row{"megatron_22b", 4, 6144, 64}, Row{"gpt3_175b", 1, 12288, 96},
                         Row{"megatron_1t", 1, 25600, 160}}) {
    INFO(row.model);
    constexpr double tokens = 2048;
    constexpr double ranks = 8;
    const double sbh = tokens * row.batch * row.hidden;
    const double scores = 5 * row.heads * tokens / row.hidden;
    const auto kept = [&](const Overrides& layout) {
      const std::string batch = std::to_string(static_cast<int>(row.batch));
      return kept_by_block(row.model, joined({{"batch_per_gpu", batch}}, layout));
    };
    CHECK(kept({}) == doctest::Approx(sbh * (10 + (24 + scores) / ranks)).epsilon(1e-9));
    CHECK(kept(sequence) == doctest::Approx(sbh * (34 + scores) / ranks).epsilon(1e-9));
    CHECK(kept(selective) == doctest::Approx(sbh * 34 / ranks).epsilon(1e-9));
    CHECK(kept(full) == doctest::Approx(2 * sbh).epsilon(1e-9));
  }
}

TEST_CASE("the first stage of GPT-3 175B in 24 chunks keeps 31 times four blocks, 13.26 GB") {
  const Overrides layout = joined(selective, {{"parallelism.virtual_stages", "3"}});
  constexpr double block = 34.0 * 2048 * 12288 / 8;
  constexpr double of_blocks = 31 * 4 * block;
  CHECK(of_blocks == doctest::Approx(13.26e9).epsilon(1e-3));
  constexpr double scores = 80.0 * 2048 * 12288 / 8;            // of the block that is computed again
  constexpr double gradients = 2.0 * 2 * 96 / 8 * 2048 * 2048;  // of the softmax: its input's and output's
  constexpr double mask = 2048.0 * 12288 / 8;                   // of the dropout after the embedding
  CHECK(activations(layout) ==
        doctest::Approx(of_blocks + scores + gradients + 31.0 / 3 * mask).epsilon(1e-9));
}
