// What a plan says about layouts whose simulation ended with an error.

#include "report/plan_words.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

/// Two simulated layouts, one or both with an error.
PlanAnswer answer_with(std::size_t failed) {
  PlanAnswer answer;
  answer.space.groups.resize(1);
  answer.space.groups.front().layouts = 2;
  GroupSearch search;
  search.simulated = 2;
  search.failed = failed;
  answer.searches = {search};
  answer.result.rows = {
      {.point = 0,
       .status = failed > 1 ? PointStatus::wrong : PointStatus::done,
       .reason = failed > 1 ? "gpu1 cannot reach gpu2" : "",
       .figures = {}},
      {.point = 1, .status = PointStatus::wrong, .reason = "gpu3 cannot reach gpu4", .figures = {}}};
  return answer;
}

}  // namespace

TEST_CASE("layouts that ended with an error are counted with the first reason, and no proof covers them") {
  const LayoutCounts one = layout_counts(answer_with(1));
  CHECK(counts_in_words(one).find("1 of them with an error (the first: gpu3 cannot reach gpu4)") !=
        std::string::npos);
  CHECK(proof_in_words(one).find("every other layout, but those that ended with an error,") !=
        std::string::npos);
  const LayoutCounts both = layout_counts(answer_with(2));
  CHECK(both.first_error == "gpu1 cannot reach gpu2");
  CHECK(proof_in_words(both) == "none: every simulation ended with an error");
}
