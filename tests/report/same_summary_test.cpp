// A block `parallelism` that changes nothing.

#include "document/json_text.hpp"
#include "report/summary_json.hpp"
#include "run/simulate.hpp"
#include "shipped_layout.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <string>

using namespace trainyard;
using namespace trainyard::testing;

TEST_CASE("a block that changes nothing leaves every byte of the summary as it is") {
  const Overrides plain{{"batch_per_gpu", "2"}, {"accumulation", "2"}};
  const auto summary = [&](const Overrides& block) {
    const ResolvedExperiment resolved = shipped_experiment("bert_large_dgx_a100", joined(plain, block));
    nlohmann::ordered_json json = summary_json(simulate(resolved, {.fidelity = Fidelity::closed}), {});
    json.erase("changed_keys");  // they name the block
    return json_text(json);
  };
  const std::string without = summary({});
  for (const auto& [key, value] : Overrides{{"tensor", "1"},
                                            {"pipeline", "1"},
                                            {"virtual_stages", "1"},
                                            {"context", "1"},
                                            {"expert", "1"},
                                            {"order", "[tensor, context, data, pipeline]"},
                                            {"sequence", "false"},
                                            {"schedule", "1f1b"},
                                            {"stages", "[]"},
                                            {"recompute", "none"},
                                            {"shard", "none"}}) {
    CAPTURE(key);
    CHECK(summary({{"parallelism." + key, value}}) == without);
  }
}
