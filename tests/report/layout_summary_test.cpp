#include "report/layout_summary.hpp"

#include "report/timeline_chart.hpp"
#include "run/simulate.hpp"
#include "shipped_experiment.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

std::string words_with(const std::string& rules) {
  return layout_in_words(
      simulate(shipped_experiment("alexnet_one_weird_trick",
                                  {{"parallelism.layers", rules}, {"parallelism.layer_group", "4"}}),
               {.fidelity = Fidelity::closed}));
}

}  // namespace

TEST_CASE("a layout in words names the ranks that divide layers, their turns and the drawn share") {
  CHECK(words_with("[{match: \"fc*\"}]") == "data 8; layers over 4");
  CHECK(words_with("[{match: \"fc*\", turns: by_slice}]") == "data 8; layers over 4 by_slice");
  CHECK(words_with("[{match: fc8, sample: 0.1}]") == "data 8; layers over 4, 10.0 % drawn");
}

TEST_CASE("a chart shows replayed backward passes of layers that take turns as backward") {
  const Run run = simulate(shipped_experiment("alexnet_one_weird_trick", {{"accumulation", "3"}}),
                           {.fidelity = Fidelity::closed});
  constexpr int width = 76;
  const std::string chart = stage_chart(run, step_of(run).classes.front(), width);
  CHECK(std::ranges::count(chart, 'f') < width / 2);
  CHECK(std::ranges::count(chart, 'b') > width / 2);
}
