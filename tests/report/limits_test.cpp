// The sentence on the limit of a step, for jobs on shipped machines.

#include "report/limits.hpp"

#include "config/catalogue.hpp"
#include "experiment/resolve.hpp"
#include "explain/explain_step.hpp"
#include "has_all.hpp"
#include "report/explanation.hpp"
#include "report/summary_json.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

using namespace trainyard;

namespace {

Run closed(const std::string& platform, const Overrides& more = {}) {
  Overrides keys{{"platform", platform}, {"model", "vgg16"},       {"batch_per_gpu", "8"},
                 {"precision", "fp32"},  {"stack", "pytorch_ddp"}, {"sync.algorithm", "ring"},
                 {"fidelity", "closed"}};
  keys.insert(keys.end(), more.begin(), more.end());
  return simulate(testing::shipped_experiment(no_file, keys), {.learn = false});
}

}  // namespace

TEST_CASE("on every shipped machine the limit is marked where its rate is assumed") {
  int assumed = 0;
  int others = 0;
  for (const std::string& name : config::names({{TRAINYARD_SOURCE_DIR}}, config::Kind::platform)) {
    CAPTURE(name);
    std::optional<Run> run;
    try {
      run = closed(name);
    } catch (const InputError&) {
      continue;  // ranks on processors, which NCCL does not join
    }
    const std::string words = network_limit_in_words(*run);
    if (!has_all(words, "The limit is bandwidth")) continue;
    const nlohmann::ordered_json limit = network_limit_json(*run);
    CHECK(has_all(words, ", assumed") == limit["is_assumed"].get<bool>());
    ++(limit["is_assumed"].get<bool>() ? assumed : others);
    CHECK(has_all(limit_in_words(*run), "Communication") == has_all(limit_in_words(*run), words));
  }
  CHECK(assumed > 5);
  CHECK(others > 5);
}

TEST_CASE("run and explain name the same limit, with its key") {
  const ResolvedExperiment resolved = closed("ts4").experiment;
  const Explained explained = simulate_and_explain(resolved);
  const std::string words = network_limit_in_words(explained.run);
  CHECK(has_all(words, "through host memory"));
  CHECK(has_all(words, "--set platform.node.effective.staged="));
  CHECK(has_all(limit_in_words(explained.run), words));
  CHECK(has_all(path_in_words(explained.run, *explained.explanation), words));
}

TEST_CASE("BERT on tianshu is limited by an assumed rate, and every output says so") {
  const Explained explained =
      simulate_and_explain(testing::shipped_experiment("bert_base_tianshu", {{"nodes", "4"}}));
  const Run& run = explained.run;
  REQUIRE(model_name(run) == "bert_base");
  const std::string words = network_limit_in_words(run);
  CHECK(has_all(words, "GB/s, assumed"));
  CHECK(has_all(limit_in_words(run), words));
  CHECK(has_all(path_in_words(run, *explained.explanation), words));
  CHECK(summary_json(run, {})["network_limit"]["is_assumed"] == true);
}

TEST_CASE("a step of short kernels is limited by the host that launches them") {
  const Run run = simulate(testing::shipped_experiment(no_file, {{"platform", "dgx_h100"},
                                                                 {"model", "bert_base"},
                                                                 {"batch_per_gpu", "8"},
                                                                 {"precision", "amp_bf16"},
                                                                 {"stack", "pytorch"},
                                                                 {"gpus", "1"}}),
                           {.learn = false});
  CHECK(has_all(limit_in_words(run), "Host: the GPU waits for the host during"));
}
