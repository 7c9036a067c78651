// The sections of whole jobs and of power on a page for a browser.

#include "document/writers.hpp"
#include "report/run_words.hpp"
#include "run/simulate.hpp"
#include "run_forms.hpp"
#include "shipped_layout.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

Run run_with_power(Overrides overrides) {
  overrides.insert(overrides.begin(), {"platform.node.power.overhead", "1 kW"});
  return simulate(testing::shipped_experiment("resnet50_p3_16xlarge_x2", overrides),
                  {.fidelity = Fidelity::closed});
}

std::size_t occurrences_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("the page has a row for each phase of a job, and its total") {
  const std::string page =
      html_of(run_with_power({{"job", "{epochs: 2, launch: 30 s, evaluation: {samples: 50000}}"}}), add_job);
  CAPTURE(page);
  for (const char* phase : {">launch<", ">training<", ">evaluation<", ">total<"}) {
    CAPTURE(phase);
    CHECK(occurrences_of(page, phase) == 1);
  }
  CHECK(page.find("626 steps") != std::string::npos);
  CHECK(html_of(run_with_power({}), add_job).empty());
}

TEST_CASE("the page draws the power over the step, with its mean") {
  Run run = run_with_power({});
  const std::string chart = html_of(run, add_power);
  CHECK(occurrences_of(chart, "<polyline class=\"series0\"") == 1);
  CHECK(occurrences_of(chart, "<line class=\"least\"") == 2);  // in the plot and in the legend
  CHECK(chart.find("kW") != std::string::npos);
  run.energy = unknown("why");
  CHECK(html_of(run, add_power).empty());
}
