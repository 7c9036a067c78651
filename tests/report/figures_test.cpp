// A figure is declared once: every output finds it in the table of run/figures.hpp.

#include "run/figures.hpp"

#include "../workload/readme_keys.hpp"
#include "document/json_text.hpp"
#include "document/writers.hpp"
#include "learn/learn.hpp"
#include "report/comparison_page.hpp"
#include "report/figure_text.hpp"
#include "report/summary_json.hpp"
#include "run_forms.hpp"
#include "sample.hpp"

#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;
using OrderedJson = nlohmann::ordered_json;

namespace {

/// All figures and one that no run has but in this test: 1 kW times the step time, unknown on three ranks.
const std::vector<Figure>& longer_table() {
  static const std::vector<Figure> table = [] {
    std::vector<Figure> all(figures().begin(), figures().end());
    all.push_back({.field = "made_up_w",
                   .label = "made up",
                   .unit = FigureUnit::power,
                   .doc = "a figure of this test",
                   .topic = "what is made up",
                   .shown = everywhere,
                   .of = [](const Run& run) -> Known<FigureValue> {
                     if (run.ranks == 3) return unknown("three ranks are too many");
                     return FigureValue(1000 * run.pace.time.si());
                   }});
    return all;
  }();
  return table;
}

Run three_ranks() {
  Run run = sample_result();
  run.ranks = 3;
  return run;
}

/// The sample without its 1 ms of optimizer.
Run faster_sample() {
  Run run = sample_result();
  Step& step = step_in(run);
  run.pace.time = step.time = Seconds(0.012);
  step.classes.front().ops.pop_back();
  std::erase_if(step.bars, [](const TimelineEvent& bar) { return bar.op == 3; });
  return run;
}

RunSummary read_back(const Run& run, std::span<const Figure> table) {
  return read_summary("summary.json", json_text(summary_json(run, {}, table)), table);
}

/// The rows of docs/json.md: each figure, whether it is a column of sweep.csv, and its definition.
std::string figures_markdown(std::span<const Figure> table = figures()) {
  const std::vector<std::string> columns = sweep_columns(everything, table);
  std::string rows;
  for (const Figure& figure : table) {
    const bool is_column = std::ranges::find(columns, figure.field) != columns.end();
    rows += fmt::format("| `{}` | {} | {} |\n", figure.field, is_column ? "yes" : "", figure.doc);
  }
  return rows;
}

/// Every field that summary.json can have: of a steady step, of many updates, of real data and of jobs with
/// faults.
std::set<std::string> all_fields() {
  Run many = sample_result();
  updates_in(many).settings.rule = UpdateRule::ssp;
  InputReport& input = many.input.emplace();
  input.samples_per_s_and_node = 100;
  input.cpu = input.host_memory = input.storage = Utilization{.share = 0.5, .is_assumed = true};
  input.exposed = Seconds(1);
  many.links.is_assumed = input.loading.is_assumed = true;
  many.memory->front().server.emplace();
  many.faults.emplace();
  many.learning = std::make_shared<const Learning>();
  many.experiment.settings.learn.emplace();
  many.experiment.settings.learn->until.job = true;
  many.experiment.changed = {{"accumulation", "2"}};
  many.experiment.platform.price.hour =
      Sourced<Dollars>{.value = Dollars(1), .provenance = Provenance::assumed};
  WholeJob& job = many.job.emplace();
  job.energy = Joules(1);
  job.rent = Dollars(1);
  job.target = {.target = "t", .samples = 1, .samples_low = 1, .samples_high = 1, .epochs = 1};
  job.accuracy = JobAccuracy{};
  InputRanges ranges;
  ranges.inputs.emplace_back().key = "platform.node.nics";
  many.assumed = many.ranges = ranges;
  std::set<std::string> fields;
  for (const Run& run : {sample_result(), many}) {
    const OrderedJson json = summary_json(run, {});
    for (const auto& [field, value] : json.items()) fields.insert(field);
  }
  fields.merge(std::set<std::string>{"layout", "stages", "bubble_s"});  // of jobs whose ranks share a model
  fields.merge(std::set<std::string>{"kernel_launches", "launch_wait_s"});  // of stacks with a lowering
  return fields;
}

std::string section_of(const std::string& readme, const std::string& title) {
  const std::size_t begin = readme.find("\n## " + title + "\n");
  REQUIRE(begin != std::string::npos);
  return readme.substr(begin, readme.find("\n## ", begin + 1) - begin);
}

}  // namespace

TEST_CASE("a figure of the table is in summary.json, and read back from it") {
  CHECK(summary_json(sample_result(), {}, longer_table())["made_up_w"] == 13);
  const RunSummary summary = read_back(sample_result(), longer_table());
  CHECK(number_of(summary, "made_up_w") == 13);
  CHECK(summary.figures.size() == longer_table().size());
}

TEST_CASE("a figure that is not known is null everywhere, with its reason and its topic") {
  const Run run = three_ranks();
  const OrderedJson json = summary_json(run, {}, longer_table());
  CHECK(json["made_up_w"].is_null());
  CHECK(json["unmodelled"]["made_up_w"] == "three ranks are too many");
  CHECK(unmodelled(run, longer_table()).at("made_up_w") == "three ranks are too many");
  const std::vector<std::string> topics = unmodelled_topics(run, longer_table());
  CHECK(std::ranges::count(topics, "what is made up") == 1);
  CHECK_FALSE(unmodelled(sample_result(), longer_table()).contains("made_up_w"));
  CHECK(std::ranges::count(unmodelled_topics(sample_result(), longer_table()), "what is made up") == 0);
  CHECK_FALSE(read_back(run, longer_table()).figures.back().has_value());
  CHECK_FALSE(sweep_row(run, {}, longer_table()).back().has_value());
}

TEST_CASE("a figure without a reason is of another kind of run: no field of it") {
  std::vector<Figure> table = longer_table();
  table.back().of = [](const Run&) { return unknown({}); };
  const OrderedJson json = summary_json(sample_result(), {}, table);
  CHECK_FALSE(json.contains("made_up_w"));
  CHECK_FALSE(json["unmodelled"].contains("made_up_w"));
}

TEST_CASE("a figure of the table is a column of sweeps, a text never") {
  CHECK(sweep_columns({}, longer_table()).back() == "made_up_w");
  const auto row = sweep_row(sample_result(), {}, longer_table());
  CHECK(row.size() == sweep_columns({}, longer_table()).size());
  CHECK(row.back() == 13);
  std::vector<Figure> table = longer_table();
  table.back().unit = FigureUnit::text;
  table.back().of = [](const Run&) -> Known<FigureValue> { return FigureValue("words"); };
  CHECK(sweep_columns({}, table) == sweep_columns());
  CHECK(sweep_row(sample_result(), {}, table).size() == sweep_columns().size());
  CHECK(summary_json(sample_result(), {}, table)["made_up_w"] == "words");
}

TEST_CASE("for runs of many updates, communication, exposed and in total, is per update") {
  Run run = sample_result();
  Updates& updates = updates_in(run);
  updates.measured_updates = 10;
  for (const int rank : {0, 1})
    updates.workers.push_back({.rank = Rank{rank},
                               .node = NodeId{0},
                               .computing = Seconds(0.075),
                               .communicating = Seconds(0.025),
                               .waiting = {},
                               .loading = {},
                               .wasted = {},
                               .gradients = 5});
  updates.time.median = run.pace.time = Seconds(0.01);
  const OrderedJson json = summary_json(run, {});
  CHECK(json["exposed_communication_s"] == 0.0025);
  CHECK(json["step_parts_s"]["communication"] == 0.0025);
  CHECK(json["communication_time_s"] == 0.0025);
}

TEST_CASE("an update of downpour counts all gradients whose sums it is made of") {
  Run run = sample_result();
  Updates& updates = updates_in(run);
  updates.gradients_per_update = 1;
  updates.time.median = Seconds(0.1);
  CHECK(summary_text(run).find("  1.00 gradients per update") != std::string::npos);
  updates.settings.push_every = 5;
  CHECK(summary_text(run).find("  5.00 gradients per update") != std::string::npos);
}

TEST_CASE("topics of 'not modelled' are words, not field names") {
  for (const Figure& figure : figures()) CHECK(figure.topic.find('_') == std::string_view::npos);
}

TEST_CASE("a figure of the table is compared, a key figure before those that are none") {
  const Comparison comparison =
      compare(read_back(sample_result(), longer_table()), read_back(faster_sample(), longer_table()));
  const auto is_made_up = [](const ComparedFigure& one) { return one.figure->field == "made_up_w"; };
  const auto found = std::ranges::find_if(comparison.figures, is_made_up);
  REQUIRE(found != comparison.figures.end());
  CHECK(found->a == 13);
  CHECK(found->b == 12);
  CHECK(found->difference == -1);
  const std::string page = doc::text(comparison_document({&comparison, 1}));
  CAPTURE(page);
  const std::size_t line = page.find("\n  made up ");
  REQUIRE(line != std::string::npos);
  CHECK(page.find("13.00 W", line) < page.find('\n', line + 1));
  CHECK(page.find("-1.00 W", line) < page.find('\n', line + 1));
  CHECK(page.find("\n  step time ") < line);
  CHECK(line < page.find("\n  ranks "));
  CHECK(comparison_json(comparison)["figures"]["made_up_w"]["ratio"] == doctest::Approx(12.0 / 13));
}

TEST_CASE("fields and labels tell figures apart, and every figure has a definition") {
  std::set<std::string_view> fields;
  for (const Figure& figure : figures()) {
    CAPTURE(figure.field);
    CHECK(fields.insert(figure.field).second);
    CHECK(index_of(figure.field) == static_cast<std::size_t>(&figure - figures().data()));
    CHECK_FALSE(figure.label.empty());
    CHECK_FALSE(figure.doc.empty());
    CHECK(figure.doc.find_first_of("|\n") == std::string::npos);  // it is a cell of a table
    CHECK(figure.of != nullptr);
  }
  CHECK_THROWS_AS(index_of("made_up_w"), std::out_of_range);
}

TEST_CASE("the text of a figure has its unit, and long times are in minutes and hours") {
  CHECK(in_unit(0.0125, FigureUnit::time) == "12.5 ms");
  CHECK(in_unit(200.0, FigureUnit::time) == "3 min 20 s");
  CHECK(in_unit(0.971, FigureUnit::share) == "97.1 %");
  CHECK(in_unit(6076.0, FigureUnit::samples_per_s) == "6,080 samples/s");
  CHECK(in_unit(1.0, FigureUnit::gpus) == "1 GPU");
  CHECK(in_unit(2.0, FigureUnit::gpus) == "2 GPUs");
  CHECK(in_unit("words", FigureUnit::text) == "words");
}

TEST_CASE("docs/json.md has a row for each figure with its definition, in the table's order") {
  CHECK(figures_markdown(std::span(longer_table()).last(1)) ==
        "| `made_up_w` | yes | a figure of this test |\n");
  const std::string page = readme_text("docs/json.md");
  const std::string head = "\n|---|---|---|\n";
  const std::size_t begin = page.find(head) + head.size();
  std::string wanted = page;
  wanted.replace(begin, page.find("\n\n", begin) + 1 - begin, figures_markdown());
  if (std::getenv("TRAINYARD_UPDATE") != nullptr)
    std::ofstream(TRAINYARD_SOURCE_DIR "/docs/json.md") << wanted;
  INFO("TRAINYARD_UPDATE=1 ./dev room report writes the rows");
  CHECK(page == wanted);
}

TEST_CASE("docs/json.md has one row for each field of summary.json, and none for what is no field") {
  const std::string section = section_of(readme_text("docs/json.md"), "summary.json");
  std::vector<std::string> documented;
  const std::regex row("\n\\| `([^`]+)` \\|");
  for (std::sregex_iterator at(section.begin(), section.end(), row), end; at != end; ++at)
    documented.push_back((*at)[1].str());
  std::ranges::sort(documented);
  std::vector<std::string> different;  // missing, superfluous or twice
  std::ranges::set_symmetric_difference(documented, all_fields(), std::back_inserter(different));
  CHECK(fmt::format("{}", fmt::join(different, " ")) == "");
}
