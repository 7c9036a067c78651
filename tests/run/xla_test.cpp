// Steps of stacks with the XLA compiler.

#include "run/dgx2_runs.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

TEST_CASE("with XLA there are fewer kernels, and each has one launch") {
  std::size_t kernels_without = 0;
  for (const char* const xla : {"false", "true"}) {
    const auto run_with = [&](const char* overhead) {
      return closed(resolved({{"gpus", "1"},
                              {"software", "ideal"},
                              {"model", "bert_base"},
                              {"batch_per_gpu", "8"},
                              {"stack", "tf2_bert"},
                              {"stack.xla", xla},
                              {"stack.op_overhead", overhead}}));
    };
    const Run late = run_with("20 us");
    const Run prompt = run_with("0 us");
    const auto& ops = slowest_class(step_of(late)).ops;
    const auto kernels = static_cast<std::size_t>(
        std::ranges::count_if(ops, [](const auto& op) { return op.layer != "step_overhead"; }));
    CHECK(late.pace.time.si() - prompt.pace.time.si() ==
          doctest::Approx(20e-6 * static_cast<double>(kernels)).epsilon(1e-9));
    if (kernels_without > 0) CHECK(kernels < kernels_without);
    kernels_without = kernels;
  }
}

TEST_CASE("XLA is what its stack says of it: the same step to the bit") {
  struct Case {
    const char* stack;
    Overrides same;
  };
  for (const Case& each :
       {Case{"horovod_0_20", {{"stack.fused_elementwise", "true"}, {"stack.overlap", "false"}}},
        Case{"horovod", {{"stack.fused_elementwise", "true"}, {"stack.fusion.cycle_time", "0 ms"}}},
        Case{"tf2_mirrored", {{"stack.fused_elementwise", "true"}}},
        Case{"oneflow", {{"stack.fused_elementwise", "true"}}}}) {
    CAPTURE(each.stack);
    const Overrides job{{"gpus", "8"}, {"precision", "amp"}, {"stack", each.stack}};
    const auto run_with = [&](const Overrides& more) {
      Overrides all = job;
      all.insert(all.end(), more.begin(), more.end());
      return closed(resolved(all));
    };
    const Run xla = run_with({{"stack.xla", "true"}});
    CHECK(xla.pace.time == run_with(each.same).pace.time);
    CHECK(xla.pace.time != run_with({}).pace.time);
  }
}
