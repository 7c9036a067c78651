#include "strategy/layout_checks.hpp"

#include "facts_in.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

using Found = std::vector<std::string>;

Found facts_of(const std::vector<Diagnostic>& diagnostics, Severity severity) {
  Found found;
  for (const Diagnostic& diagnostic : diagnostics) {
    CHECK(diagnostic.severity == severity);
    CHECK_FALSE(diagnostic.hint.empty());
    found.push_back(diagnostic.key_path.substr(diagnostic.key_path.find('.') + 1) + " " +
                    facts_in(diagnostic.message));
  }
  return found;
}

Found errors_in(const Parallelism& parallelism, int ranks, int micro_batches) {
  return facts_of(layout_errors(parallelism, ranks, micro_batches), Severity::error);
}

Found warnings_in(const Parallelism& parallelism, int ranks, int ranks_per_node, int micro_batches) {
  return facts_of(layout_warnings(parallelism, make_grid(parallelism, ranks), ranks_per_node, micro_batches),
                  Severity::warning);
}

}  // namespace

TEST_CASE("a usual layout has no errors and no warnings") {
  const Parallelism megatron{
      .tensor = 8, .pipeline = 8, .virtual_stages = 3, .sequence = true, .shard = Sharded::optimizer};
  CHECK(errors_in(megatron, 1024, 96).empty());
  CHECK(warnings_in(megatron, 1024, 8, 96).empty());
  CHECK(errors_in({}, 7, 1).empty());
  CHECK(warnings_in({}, 7, 4, 1).empty());
}

TEST_CASE("impossible layouts are refused at their keys with the numbers") {
  CHECK(errors_in({.pipeline = 3}, 8, 12) == Found{"pipeline 8 1 1 3 = 3"});
  CHECK(errors_in({.virtual_stages = 2}, 8, 8) == Found{"virtual_stages 2 1"});
  CHECK(errors_in({.pipeline = 4, .virtual_stages = 2}, 8, 10) == Found{"virtual_stages 'interleaved' 4 10"});
  CHECK(errors_in({.pipeline = 4, .schedule = PipelineSchedule::interleaved}, 8, 8) ==
        Found{"schedule 'interleaved' 1"});
  CHECK(errors_in({.pipeline = 4, .virtual_stages = 2, .schedule = PipelineSchedule::one_f_one_b}, 8, 8) ==
        Found{"schedule '1f1b' 1 2"});
  CHECK(errors_in({.pipeline = 4, .virtual_stages = 2, .schedule = PipelineSchedule::zb_h1}, 8, 8) ==
        Found{"schedule 'zb_h1' 1 2"});
  CHECK(errors_in({.pipeline = 2, .stages = {1, 2, 3}}, 8, 8) == Found{"stages 'stages' 3 2 1 = 2"});
  CHECK(errors_in({.pipeline = 2, .stages = {1, 2}, .unequal_stages = true}, 8, 8) ==
        Found{"unequal_stages 'unequal_stages' 'stages'"});
  CHECK(errors_in({.pipeline = 2, .unequal_stages = true, .first_layers = {"fc6"}}, 8, 8) ==
        Found{"unequal_stages 'unequal_stages' 'first_layers'"});
  CHECK(errors_in({.unequal_stages = true}, 8, 8) == Found{"unequal_stages 'unequal_stages' 1"});
  CHECK(errors_in({.sequence = true}, 8, 1) == Found{"sequence 'sequence' 1"});
  CHECK(errors_in({.pipeline = 2, .shard = Sharded::gradients}, 8, 8) == Found{"shard 'gradients' 2"});
  CHECK(errors_in({.pipeline = 2, .shard = Sharded::parameters}, 8, 8) == Found{"shard 'parameters' 2"});
  CHECK(errors_in({.shard = Sharded::parameters}, 8, 8).empty());
  CHECK(errors_in({.tensor = 4, .pipeline = 2, .shard = Sharded::gradients}, 8, 8)
            .empty());  // nothing to shard
  const std::vector<LayerRule> turns{{.match = "fc*", .turns = LayerTurns::by_slice}};
  CHECK(errors_in({.pipeline = 2, .layers = turns}, 8, 8) == Found{"layers[0].turns 2"});
  CHECK(errors_in({.schedule = PipelineSchedule::gpipe, .layers = turns}, 8, 8) ==
        Found{"layers[0].turns 'gpipe'"});
  CHECK(errors_in({.layers = turns}, 8, 8).empty());
  CHECK(errors_in({.layer_group = 2}, 8, 1) == Found{"layer_group 'layer_group'"});
  CHECK(errors_in({.expert = 2, .layers = {{.match = "fc*"}}, .layer_group = 2}, 8, 1) ==
        Found{"layer_group 'layer_group' 2"});
}

TEST_CASE("all errors of a layout are found at once") {
  CHECK(errors_in({.pipeline = 3, .virtual_stages = 2, .shard = Sharded::gradients}, 8, 4).size() == 3);
}

TEST_CASE("slow layouts have warnings with the numbers") {
  CHECK(warnings_in({.tensor = 16}, 32, 8, 1) == Found{"tensor 16 2 8"});
  CHECK(warnings_in({.tensor = 2, .order = {Axis::data, Axis::tensor, Axis::context, Axis::pipeline}}, 16, 8,
                    1) == Found{"tensor 2 2 8"});
  CHECK(warnings_in({.pipeline = 4}, 8, 8, 15) == Found{"pipeline 15 4 20 %"});
  CHECK(warnings_in({.pipeline = 4}, 8, 8, 16).empty());
  CHECK(warnings_in({.pipeline = 4, .schedule = PipelineSchedule::zb_h1}, 8, 8, 4).empty());
}
