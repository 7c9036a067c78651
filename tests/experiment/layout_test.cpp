// Blocks `parallelism` of experiments: what they resolve to, and what is refused at which key.

#include "experiment/layout.hpp"

#include "errors_of.hpp"
#include "shipped_layout.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

using Found = std::vector<std::string>;

/// "KEY FACTS" of each error of GPT-3 175B on 1,024 GPUs with these overrides.
Found layout_errors_with(const Overrides& overrides) {
  Found found;
  for (const Diagnostic& error : errors_of([&] { gpt3_layout(overrides); })) {
    CHECK_FALSE(error.hint.empty());
    found.push_back(error.key_path + ": " + facts_in(error.message));
  }
  return found;
}

bool has_note(const ResolvedExperiment& resolved, const std::string& text) {
  return std::ranges::any_of(resolved.notes,
                             [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a block that changes nothing is as if it were absent") {
  const Overrides plain{{"batch_per_gpu", "4"}, {"accumulation", "2"}};
  const ResolvedExperiment without = shipped_experiment("bert_large_dgx_a100", plain);
  for (const Overrides& block :
       {Overrides{{"parallelism.tensor", "1"}}, Overrides{{"parallelism.schedule", "1f1b"}},
        Overrides{{"parallelism.pipeline", "1"}, {"parallelism.shard", "none"}},
        Overrides{{"parallelism.order", "[tensor, context, data, pipeline]"}}}) {
    const ResolvedExperiment resolved = shipped_experiment("bert_large_dgx_a100", joined(plain, block));
    CHECK(!resolved.layout);
    CHECK(!resolved.settings.parallelism);
    REQUIRE(resolved.classes.size() == 1);
    CHECK(resolved.classes.front().trace == without.classes.front().trace);
    CHECK(resolved.notes == without.notes);
    CHECK(resolved.warnings.empty());
  }
}

TEST_CASE("a block that changes nothing forbids nothing") {
  const Overrides random{{"parallelism.tensor", "1"}, {"random.gpu", "{kind: normal, sd: 0.01}"}};
  CHECK_NOTHROW(shipped_experiment("bert_large_dgx_a100", random));
  const Overrides shared{{"parallelism.tensor", "2"}, {"random.gpu", "{kind: normal, sd: 0.01}"}};
  CHECK_THROWS_AS(shipped_experiment("bert_large_dgx_a100", shared), InputError);
}

TEST_CASE("GPT-3 175B on 1,024 GPUs has eight classes of 128 ranks") {
  const ResolvedExperiment resolved = gpt3_layout();
  REQUIRE(resolved.layout);
  CHECK(resolved.layout->grid.data == 16);
  CHECK(replicas(resolved) == 16);
  CHECK(shares_model(resolved));
  REQUIRE(resolved.classes.size() == 8);
  for (int stage = 0; stage < 8; ++stage) {
    const RankClass& one = resolved.classes[at(stage)];
    CHECK(one.stage == stage);
    CHECK(one.ranks.size() == 128);
    CHECK(one.ranks.front() == Rank{128 * stage});
    CHECK(one.trace.accumulation == 96);
  }
}

TEST_CASE("an impossible division is an error of its key, with the numbers") {
  CHECK(layout_errors_with({{"parallelism.tensor", "5"}, {"nodes", "125"}, {"parallelism.pipeline", "4"}}) ==
        Found{"parallelism.tensor: 5 'h0.attn.qk' 96 5"});
  CHECK(layout_errors_with({{"parallelism.tensor", "16"}, {"model.decoder.ffn", "12296"}}) ==
        Found{"parallelism.tensor: 16 'h0.mlp.fc1' 12296 16"});
  CHECK(layout_errors_with({{"parallelism.tensor", "16"}, {"model.decoder.kv_heads", "12"}}) ==
        Found{"parallelism.tensor: 16 'h0.attn.qkv' 12"});
  CHECK(layout_errors_with({{"parallelism.sequence", "true"}, {"model.decoder.sequence_length", "2044"}}) ==
        Found{"parallelism.sequence: 8 'wpe' 2044 8"});
  CHECK(layout_errors_with({{"parallelism.tensor", "1"}, {"parallelism.sequence", "true"}}) ==
        Found{"parallelism.sequence: 'sequence' 1"});
}

TEST_CASE("an impossible pipeline is an error of its key, with the numbers") {
  CHECK(layout_errors_with({{"parallelism.pipeline", "16"}, {"parallelism.virtual_stages", "4"}}) ==
        Found{"parallelism.pipeline: 96 64 virtual_stages"});
  CHECK(layout_errors_with({{"parallelism.stages", "[12, 12, 12, 12, 12, 12, 12, 13]"}}) ==
        Found{"parallelism.stages: 'stages' 97 96"});
  CHECK(layout_errors_with({{"parallelism.stages", "[48, 48]"}}) ==
        Found{"parallelism.stages: 'stages' 2 8 1 = 8"});
  CHECK(layout_errors_with({{"parallelism.virtual_stages", "3"}, {"accumulation", "100"}}) ==
        Found{"parallelism.virtual_stages: 'interleaved' 8 100"});
  CHECK(layout_errors_with({{"parallelism.pipeline", "1"}, {"parallelism.virtual_stages", "3"}}) ==
        Found{"parallelism.virtual_stages: 3 1"});
  CHECK(layout_errors_with({{"parallelism.schedule", "interleaved"}}) ==
        Found{"parallelism.schedule: 'interleaved' 1"});
  CHECK(layout_errors_with({{"model", "vgg16"}, {"parallelism.tensor", "1"}, {"precision", "fp16"}}) ==
        Found{"parallelism.pipeline: 8 virtual_stages"});
}

TEST_CASE("ranks that make no grid, and sharding that a pipeline forbids, are errors of their keys") {
  CHECK(layout_errors_with({{"parallelism.pipeline", "12"}}) ==
        Found{"parallelism.pipeline: 1024 8 1 12 = 96"});
  CHECK(layout_errors_with({{"parallelism.shard", "parameters"}}) ==
        Found{"parallelism.shard: 'parameters' 8"});
  CHECK(layout_errors_with({{"parallelism.shard", "optimizer"}, {"parallelism.shard_over", "node"}}) ==
        Found{"parallelism.shard_over: 1 16"});
  // two replicas of 12 ranks on nodes of 8: some groups are on one node, others on two
  CHECK(layout_errors_with({{"platform", "dgx1v"},
                            {"nodes", "3"},
                            {"precision", "fp16"},
                            {"parallelism.tensor", "3"},
                            {"parallelism.pipeline", "4"},
                            {"parallelism.shard", "optimizer"},
                            {"parallelism.shard_over", "node"}}) == Found{"parallelism.shard_over: 2 1"});
  CHECK(layout_errors_with({{"parallelism.order", "[tensor, data]"}}) ==
        Found{"parallelism.order: 'order' 2"});
  CHECK(layout_errors_with({{"parallelism.context", "2"}}) ==
        Found{"parallelism.context: 2 'h0.attn.softmax'"});
  CHECK(layout_errors_with({{"parallelism.context_exchange", "a2a"}}) ==
        Found{"parallelism.context_exchange: 'context_exchange' 1"});
  CHECK(layout_errors_with({{"parallelism.expert", "4"}}) == Found{"parallelism.expert: 4"});
}

TEST_CASE("all errors of a layout are reported at once") {
  CHECK(layout_errors_with({{"parallelism.pipeline", "12"},
                            {"parallelism.virtual_stages", "2"},
                            {"accumulation", "10"},
                            {"parallelism.shard", "gradients"}}) ==
        Found{"parallelism.pipeline: 1024 8 1 12 = 96", "parallelism.virtual_stages: 'interleaved' 12 10",
              "parallelism.shard: 'gradients' 12"});
}

TEST_CASE("a vocabulary that the ranks cannot divide is padded to a multiple of 128 x tensor") {
  const Overrides layout{{"parallelism.tensor", "4"}};
  const ResolvedExperiment resolved = shipped_experiment(
      "gpt2_small_dgx2", joined({{"gpus", "8"}, {"nodes", "1"}, {"memory", "ignore"}}, layout));
  CHECK(has_note(resolved, "50257 to 50688"));
  double table = 0;
  for (const Layer& layer : resolved.classes.front().layers) {
    if (layer.split == TensorSplit::table) table = parameter_elements(layer);
    if (layer.split == TensorSplit::loss) CHECK(layer.in_shape.back() == 50688 / 4);
    if (layer.tied_elements > 0) CHECK(layer.out_shape.back() == 50688 / 4);
  }
  CHECK(table == 50688.0 / 4 * 768);
  CHECK_FALSE(has_note(gpt3_layout(), "vocabulary"));
}

TEST_CASE("with zb_h1 nothing that the stage before waits for is sent in a pass of weights' gradients") {
  const ResolvedExperiment resolved = small_decoder("dgx_a100", 2,
                                                    {{"parallelism.pipeline", "4"},
                                                     {"parallelism.schedule", "zb_h1"},
                                                     {"parallelism.layers", "[{match: \"h*.mlp.fc1\"}]"}});
  int sent = 0;
  for (const RankClass& one : resolved.classes) {
    for (const PassOps& pass : one.passes) {
      for (int op = pass.first; op < pass.end; ++op) {
        const auto count = static_cast<int>(one.trace.ops[at(op)].communications.size());
        CHECK((pass.kind != PassKind::weights || count == 0));
        sent += count;
      }
    }
  }
  CHECK(sent > 0);
}

TEST_CASE("a rank whose stage has positions, but not the table of its tied projection, has a copy of that") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path / "tied_list.yaml";
  std::ofstream(file)
      << "name: tied_list\nlayers: [{input: [16]}, {name: e, embedding: {entries: 128, "
         "features: 64}}, {repeat: 4, layers: [linear: 64, add: [previous, input]]}, positions, "
         "{name: top, linear: {out: 128, tied: e, bias: false}}, softmax_cross_entropy]\n";
  const ResolvedExperiment resolved = shipped_experiment("gpt2_small_dgx2", {{"gpus", "8"},
                                                                             {"nodes", "1"},
                                                                             {"memory", "ignore"},
                                                                             {"model", file.string()},
                                                                             {"parallelism.pipeline", "2"}});
  REQUIRE(resolved.classes.size() == 2);
  const std::vector<Layer>& last = resolved.classes.back().layers;
  REQUIRE(std::ranges::find(last, "positions1", &Layer::name) != last.end());
  REQUIRE(std::ranges::find(last, "e", &Layer::name) == last.end());
  const auto top = std::ranges::find(last, "top", &Layer::name);
  REQUIRE(top != last.end());
  CHECK(top->tied_elements == 0);
  CHECK(parameter_elements(*top) == 128 * 64);
}
