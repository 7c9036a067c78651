// The page of a plan made by hand: two groups, of which the larger is the best.

#include "pages/plan_page.hpp"

#include "document/writers.hpp"
#include "pages/plan_sections.hpp"
#include "sweep/point_figures.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

using namespace trainyard;

namespace {

bool part_is_in(const Html& html, std::string_view part) {
  return html.markup.find(part) != std::string::npos;
}

/// What `add` adds to a page, as HTML.
template <class Add>
Html added(const Add& add) {
  doc::Document page;
  add(page);
  Html html;
  for (const doc::Section& section : page.sections)
    html += as_text(section.title + " " + section.remark) + doc::content_html(section);
  return html;
}

Html plan_map_html(const PlanAnswer& answer) {
  return added([&](doc::Document& page) { add_plan_map(page, answer); });
}
Html plan_next_html(const PlanAnswer& answer) {
  return added([&](doc::Document& page) { add_next_plans(page, answer, {}); });
}
Html plan_progress_html(const PlanAnswer& answer) {
  return added([&](doc::Document& page) { add_plan_search(page, answer); });
}

struct MadeLayout {
  std::size_t group = 0;
  int tensor = 1, pipeline = 1;
  double bound_s = 0;
  std::optional<double> step_s = {};  ///< none: not simulated
  double power_w = 1000;
};

/// Of a step that long with 32 samples and 36 USD an hour, in the order of figures_of_points().
std::vector<std::optional<double>> made_figures_of(double step_s, double power_w) {
  const double rate = 32 / step_s;
  const std::map<std::string, double> known{{"global_batch", 32},
                                            {"step_time_s", step_s},
                                            {"throughput_samples_per_s", rate},
                                            {"throughput_low_samples_per_s", 0.9 * rate},
                                            {"throughput_high_samples_per_s", 1.1 * rate},
                                            {"rent_usd_per_h", 36},
                                            {"average_power_w", power_w},
                                            {"energy_per_step_j", power_w * step_s},
                                            {"memory_peak_bytes", 1e9}};
  std::vector<std::optional<double>> figures;
  for (const std::string& name : figures_of_points({})) {
    const auto its = known.find(name);
    figures.push_back(its == known.end() ? std::nullopt : std::optional(its->second));
  }
  return figures;
}

/// Points are in the order of the layouts; those with a step were simulated in this order.
/// Bounds of energy are those of the step at 1 kW.
PlanAnswer made_plan(const std::vector<MadeLayout>& layouts, PlanGoal goal = PlanGoal::time) {
  PlanSpace space;
  space.request.settings.goal = goal;
  space.request.name = "made <by hand>";
  space.group_keys = {"gpus"};
  for (const int gpus : {8, 16})
    space.groups.push_back({.values = {std::to_string(gpus)},
                            .gpus = gpus,
                            .nodes = 1,
                            .global_batch = 32,
                            .layouts = 9,
                            .too_large = 2,
                            .impossible = {{"why </td><script>", 3}}});
  space.axes = {{"parallelism.tensor", {"1", "2"}}};
  SweepResult result;
  result.figures = figures_of_points({});
  std::vector<GroupSearch> searches(2);
  for (std::size_t point = 0; point < layouts.size(); ++point) {
    const MadeLayout& made = layouts[point];
    PlanLayout layout{.parallelism = {}, .micro_batch = 1, .micro_batches = 4};
    layout.parallelism.tensor = made.tensor;
    layout.parallelism.pipeline = made.pipeline;
    space.layouts.push_back(layout);
    space.bounds.push_back({.group = made.group, .step_s = made.bound_s, .energy_j = 1000 * made.bound_s});
    space.sweep.points.emplace_back();
    GroupSearch& search = searches[made.group];
    if (!made.step_s) {
      ++search.bounded;
      search.least_open = std::min(search.least_open.value_or(made.bound_s), made.bound_s);
      continue;
    }
    result.rows.push_back({.point = point,
                           .status = PointStatus::done,
                           .reason = {},
                           .figures = made_figures_of(*made.step_s, made.power_w)});
    ++search.simulated;
    const double value = goal == PlanGoal::energy ? made.power_w * *made.step_s : *made.step_s;
    if (!search.best || value < search.value) {
      search.best = point;
      search.value = value;
    }
    search.steps.push_back(
        {.point = point, .value = made.step_s, .best = search.value, .least_open = made.bound_s});
  }
  result.sweep = space.sweep;
  PlanOutcome outcome{
      .result = std::move(result), .searches = std::move(searches), .bounds = space.bounds, .broken = {}};
  return plan_answer(std::move(space), std::move(outcome));
}

const std::vector<MadeLayout> usual{{.group = 0, .bound_s = 3, .step_s = 4},
                                    {.group = 1, .bound_s = 1.8, .step_s = 2.5},
                                    {.group = 1, .tensor = 2, .bound_s = 1.9, .step_s = 2},
                                    {.group = 1, .pipeline = 2, .bound_s = 2.1}};

}  // namespace

TEST_CASE("The map of a plan tells the best, simulated layouts, lower bounds and empty cells apart") {
  const Html map = plan_map_html(made_plan(usual));
  CHECK(part_is_in(map, R"(class="cell heat0 chosen" title="tensor 2, 1 stage: tensor 2 x data 8; 4 micro)"));
  CHECK(part_is_in(map,
                   R"(class="cell heat2" title="tensor 1, 1 stage: data 16; 4 micro-batches of 1, 2.50 s")"));
  CHECK(part_is_in(map, R"(class="cell heat1 bound")"));
  CHECK(part_is_in(map, "+25.0 %"));
  CHECK(part_is_in(map, R"(class="cell" title="no layout is possible)"));
  CHECK(plan_map_html(made_plan({usual[1]})).markup.empty());  // a map of one place
}

TEST_CASE("The map of a plan tells places that are impossible, too large for the memory and failed apart") {
  PlanAnswer answer = made_plan(usual);
  const Html before = plan_map_html(answer);
  CHECK(part_is_in(before, "&quot;-&quot;: none is possible"));
  CHECK(!part_is_in(before, "none fits into memory"));
  answer.full = {{4, 1}};  // a row of its own, with nothing at two stages
  const Html map = plan_map_html(answer);
  CHECK(
      part_is_in(map, R"(class="cell" title="layouts are possible here, but none fits into memory">full<)"));
  CHECK(part_is_in(map, R"(class="cell" title="no layout is possible here">-<)"));
  CHECK(part_is_in(map, "none fits into memory"));
  answer.cells.push_back({.tensor = 4, .pipeline = 2});
  CHECK(part_is_in(plan_map_html(answer),
                   R"(title="every simulation of a layout here ended with an error">failed<)"));
  CHECK(plan_json(answer, {})["too_large"][0]["tensor"] == 4);
}

TEST_CASE("The map and the next best of the cheapest plan are in dollars of a million samples") {
  // The larger group costs 36 USD an hour: 2 s for 32 samples are 625 USD for a million.
  const PlanAnswer answer = made_plan(usual, PlanGoal::cost);
  REQUIRE(answer.best == 2);
  const Html map = plan_map_html(answer);
  CHECK(part_is_in(
      map, R"(heat0 chosen" title="tensor 2, 1 stage: tensor 2 x data 8; 4 micro-batches of 1, 625)"));
  CHECK(part_is_in(map, "cost at least 656"));
  CHECK(part_is_in(map, "rent of a million samples by tensor ranks and stages"));
  CHECK(!part_is_in(map, "2.00 s"));
  const Html next = plan_next_html(answer);
  CHECK(part_is_in(next, "dearer"));
  CHECK(part_is_in(next, "781"));
  const nlohmann::ordered_json cell = plan_json(answer, {})["layouts"][0];
  CHECK(cell["sample_cost_usd"].get<double>() == doctest::Approx(2.5 * 36 / 3600 / 32));
  CHECK(cell["bound_usd"].is_null());
  CHECK(!cell.contains("step_time_s"));
}

TEST_CASE("The map and the next best of the most frugal plan are in joules, also where they are faster") {
  std::vector<MadeLayout> layouts = usual;
  layouts[2].power_w = 1500;  // the fastest needs 3 kJ a step, the best 2.5 kJ
  const PlanAnswer answer = made_plan(layouts, PlanGoal::energy);
  REQUIRE(answer.best == 1);
  const Html map = plan_map_html(answer);
  CHECK(
      part_is_in(map, R"(heat0 chosen" title="tensor 1, 1 stage: data 16; 4 micro-batches of 1, 2.50 kJ")"));
  CHECK(part_is_in(map, "4 micro-batches of 1, 3.00 kJ"));
  CHECK(part_is_in(map, "need at least 2.10 kJ"));
  CHECK(part_is_in(map, "+20.0 %"));
  const nlohmann::ordered_json plan = plan_json(answer, {});
  CHECK(plan["layouts"][2]["energy_per_step_j"] == 3000);
  CHECK(plan["others"][0]["excess"].get<double>() == doctest::Approx(0.2));
}

TEST_CASE("The progress of a plan has a dot for each simulated layout of the best group") {
  const Html progress = plan_progress_html(made_plan(usual));
  const std::string dot = R"(<use class="mark others")";
  const std::size_t first = progress.markup.find(dot);
  REQUIRE(first != std::string::npos);
  CHECK(progress.markup.find(dot, first + 1) != std::string::npos);
  CHECK(part_is_in(progress, "1: 2.50 s, data 16; 4 micro-batches of 1"));
  CHECK(part_is_in(progress, "The two lines meet"));
  PlanAnswer interrupted = made_plan(usual);
  interrupted.searches[1].least_open = 1.5;
  CHECK(part_is_in(plan_progress_html(interrupted), "a layout that was not simulated may be better"));
}

TEST_CASE("The next best of a plan are called ties if their intervals overlap") {
  std::vector<MadeLayout> layouts = usual;
  CHECK(!part_is_in(plan_next_html(made_plan(layouts)), ">a tie<"));
  layouts[1].step_s = 2.2;
  CHECK(part_is_in(plan_next_html(made_plan(layouts)), ">a tie<"));
}

TEST_CASE("A plan's page counts every layout, and names stay text on it") {
  PlanAnswer answer = made_plan(usual);
  answer.space.request.set = {{"model", "</td><script>x"}};
  const std::string page =
      doc::html(plan_document(answer, {}, {.version = "1.2.3", .warnings = {}, .sources = {}}));
  for (const char* const id : {"answer", "map", "next", "groups", "search", "errors"})
    CHECK(page.find("<section id=\"" + std::string(id) + "\">") != std::string::npos);
  CHECK(page.find("<script>") == page.rfind("<script>"));
  CHECK(page.find("Plan: made &lt;by hand&gt;") != std::string::npos);
  CHECK(page.find("6: why &lt;/td&gt;&lt;script&gt;</td>") != std::string::npos);
}
