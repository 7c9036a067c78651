#include "strategy/repeated_rows.hpp"

#include "workload/feature_tables.hpp"
#include "workload/make_trace.hpp"
#include "workload/transformer_layers.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

constexpr int batch = 100;

Model tables_and_top(double most_frequent) {
  return {.name = "m",
          .title = {},
          .layers = {tables_layer(
                         "tables",
                         {.entries = {1000}, .features = 4, .lookups = 2, .most_frequent = most_frequent}),
                     linear_layer("top", 8, 1)},
          .samples_per_epoch = {}};
}

Trace trace_with(const Model& model, const Stack& stack) {
  Trace trace = make_trace(model, batch, Precision::fp32, Optimizer::adam);
  add_repeated_rows(trace, model.layers, stack);
  return trace;
}

}  // namespace

TEST_CASE("gradients of the most frequent row are added one after the other behind the table's backward op") {
  Stack stack;
  stack.repeated_rows = {.value = Seconds(1e-6), .provenance = Provenance::fitted, .source = {}};
  const Trace trace = trace_with(tables_and_top(0.5), stack);
  const auto added = std::ranges::find(trace.ops, "tables.repeated_rows", &Op::layer);
  REQUIRE(added != trace.ops.end());
  CHECK(added->phase == Phase::backward);
  CHECK(added->duration->si() == doctest::Approx(50e-6));
  CHECK(added->source == ComputeSource::fitted);
  const Op& table = *std::prev(added);
  CHECK(table.layer == "tables");
  CHECK(table.gradients.empty());  // complete only when all have been added
  REQUIRE(added->gradients.size() == 1);
  CHECK(added->gradients[0].tensor == "tables.weight");
}

TEST_CASE("nothing is added for tables without a frequent row, or in stacks that add gradients at once") {
  Stack stack;
  const Model frequent = tables_and_top(0.5);
  const Model rare = tables_and_top(0);
  CHECK(trace_with(frequent, stack) == make_trace(frequent, batch, Precision::fp32, Optimizer::adam));
  stack.repeated_rows = {.value = Seconds(1e-6), .provenance = Provenance::fitted, .source = {}};
  CHECK(trace_with(rare, stack) == make_trace(rare, batch, Precision::fp32, Optimizer::adam));
}
