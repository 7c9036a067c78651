#include "pages/sweep_page.hpp"

#include "../sweep/hand_made.hpp"
#include "document/writers.hpp"
#include "pages/sweep_curves.hpp"
#include "pages/sweep_points.hpp"
#include "sweep/sweep_groups.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

using namespace trainyard;

namespace {

/// Ignores the elements that keep numbers and their units on a line.
bool page_has(std::string text, std::string_view part) {
  constexpr std::string_view begin = "<span class=\"n\">";
  constexpr std::string_view end = "</span>";
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    text.erase(at, begin.size());
    text.erase(text.find(end, at), end.size());
  }
  return text.find(part) != std::string::npos;
}

std::string sweep_html(const SweepResult& result, const SweepOrigin& origin,
                       const std::optional<std::string>& by = {}) {
  return doc::html(sweep_document(result, {.by = by}, &origin));
}

std::string section_of(const std::string& page, const std::string& id) {
  const std::size_t begin = page.find("<section id=\"" + id + "\">");
  REQUIRE(begin != std::string::npos);
  return page.substr(begin, page.find("</section>", begin) - begin);
}

/// The data of the page's script.
nlohmann::ordered_json points_of(const SweepResult& result, const std::optional<std::string>& by = {}) {
  return doc::json(doc::Part(points_chart(result, by)));
}

/// Two models on 1 and 2 nodes, one point of which fails.
SweepResult two_models() {
  SweepResult result = made_result(
      {"model", "nodes"},
      {{.values = {"a", "1"}, .ranks = 4, .throughput = 100, .epoch = 7200, .rent = 10, .power = 500},
       {.values = {"a", "2"},
        .ranks = 8,
        .throughput = 150,
        .efficiency = 0.75,
        .epoch = 4800,
        .rent = 20,
        .power = 1000},
       {.values = {"b", "1"}, .ranks = 4, .throughput = 60, .epoch = 9000, .rent = 10, .power = 500},
       {.values = {"b", "2"},
        .status = PointStatus::impossible,
        .reason = "does not fit: \"room\" for <1>"}});
  result.sweep.title = "made <by hand>";
  result.sweep.goal.deadline = Seconds(10000);
  return result;
}

/// A sweep of so many values of the first key and of the second, on two numbers of nodes.
SweepResult series_of_size(int first, int second) {
  std::vector<MadeRow> rows;
  for (int i = 0; i < first; ++i) {
    for (int k = 0; k < second; ++k) {
      for (const double ranks : {1.0, 2.0}) {
        rows.push_back({.values = {"m" + std::to_string(i), "b" + std::to_string(k),
                                   std::to_string(static_cast<int>(ranks))},
                        .ranks = ranks,
                        .throughput = 10 * ranks});
      }
    }
  }
  return made_result({"model", "batch_per_gpu", "nodes"}, rows);
}

}  // namespace

TEST_CASE("a sweep's page has its points, curves, choices and failures") {
  const std::string page = sweep_html(two_models(), {.version = "1.2.3", .sweep = "experiment: none\n"});
  for (const char* const id : {"answer", "points", "failures", "scaling", "what", "errors", "sweep"})
    CHECK(page_has(page, "<section id=\"" + std::string(id) + "\">"));
  CHECK(page_has(page, "made &lt;by hand&gt;"));
  CHECK(page_has(page, ">impossible [1]</td>"));
  CHECK(page_has(page, "<li>[1] does not fit: &quot;room&quot; for &lt;1&gt;</li>"));
  CHECK(page_has(page, "<strong>model=a</strong>: 4 GPUs (100.0 %); 75.0 % on 8 GPUs"));
  CHECK(page_has(page, "deadline of 2 h 47 min"));
  CHECK(page_has(page, "experiment: none\n"));
  CHECK(page_has(page, "trainyard 1.2.3"));
}

TEST_CASE("hostile values stay text on a sweep's page") {
  SweepResult result = two_models();
  result.sweep.name = result.sweep.experiment = "</script><script>x";
  for (PointValues& values : result.sweep.points) values[0] += "<script>";
  result.rows.back().reason = "</section><!--";
  const std::string page = sweep_html(result, {.sweep = "</pre>"});
  CHECK(page.find("<script>") == page.rfind("<script>"));
  CHECK_FALSE(page_has(page, "<!--"));
  CHECK(page_has(page, "&lt;/pre&gt;"));
}

TEST_CASE("a sweep's page names an experiment's file without its folder") {
  SweepResult result =
      made_result({}, {{.values = {}, .ranks = 1, .throughput = 2, .epoch = 7200, .rent = 10, .power = 500}});
  result.sweep.experiment = "elsewhere/my.yaml";
  const std::string page = sweep_html(result, {});
  CHECK(page_has(page, "<td>experiment</td><td>my</td>"));
  CHECK(page_has(page, "<td>fastest</td><td>my: an epoch in "));
  CHECK_FALSE(page_has(page, "elsewhere"));
  CHECK_FALSE(page_has(page, "Pareto front of"));  // one point is no front
}

TEST_CASE("a chart says GPU of one and GPUs of more") {
  const std::string page = sweep_html(series_of_size(1, 1), {});
  CHECK(page_has(page, "samples/s on 1 GPU<"));
  CHECK(page_has(page, "100.0 % on 2 GPUs<"));
  CHECK_FALSE(page_has(page, "on 1 GPUs"));
}

TEST_CASE("efficiency means the same in the chart, the table and where scaling stops of strong scaling") {
  SweepResult result =
      made_result({"ranks"}, {{.values = {"4"}, .ranks = 4, .throughput = 100, .efficiency = 0.9},
                              {.values = {"16"}, .ranks = 16, .throughput = 200, .efficiency = 0.85}});
  result.sweep.set = {{"global_batch", "512"}};
  const std::string page = sweep_html(result, {});
  CHECK(page_has(page, "50.0 % on 16 GPUs"));
  CHECK(page_has(page, "; 50.0 % on 16 GPUs</li>"));
  CHECK(page_has(page, "<td>2.0</td><td>50.0 %</td>"));
  CHECK(page_has(page, "relative to the smallest run of each series"));
  CHECK_FALSE(page_has(page, "85.0 %"));
}

TEST_CASE("where ranks share a model, the page tells scaling against the smallest run") {
  const std::string page = sweep_html(
      made_result({"nodes"}, {{.values = {"1"}, .ranks = 8, .throughput = 100, .efficiency = std::nullopt},
                              {.values = {"2"}, .ranks = 16, .throughput = 100, .efficiency = std::nullopt}}),
      {});
  CHECK(page_has(page, "50.0 % on 16 GPUs"));
  CHECK(page_has(page, "; 50.0 % on 16 GPUs</li>"));
  CHECK(page_has(page, "<td>1.0</td><td>50.0 %</td>"));
  CHECK(page_has(page, "relative to the smallest run of each series"));
}

TEST_CASE("of runs on as many GPUs all are marked, told apart, and the best is in the line") {
  const std::string page =
      sweep_html(made_result({"nodes", "gpus_per_node"},
                             {{.values = {"1", "4"}, .ranks = 4, .throughput = 100},
                              {.values = {"1", "8"}, .ranks = 8, .throughput = 190, .efficiency = 0.95},
                              {.values = {"2", "4"}, .ranks = 8, .throughput = 160, .efficiency = 0.8}}),
                 {});
  CHECK(page_has(page, "160 samples/s on 8 GPUs (nodes=2, gpus_per_node=4)<"));
  CHECK(page_has(page, "95.0 % on 8 GPUs (nodes=1, gpus_per_node=8)<"));
  CHECK(page_has(page, "100 samples/s on 4 GPUs<"));
  const std::string line = "<polyline class=\"series0\" points=\"";
  std::size_t lines = 0;
  for (std::size_t at = page.find(line); at != std::string::npos; at = page.find(line, at + 1)) {
    const std::size_t begin = at + line.size();
    const std::string points = page.substr(begin, page.find('"', begin) - begin);
    CHECK(std::ranges::count(points, ',') == 2);  // one per number of GPUs
    ++lines;
  }
  CHECK(lines == 3);  // throughput, throughput per GPU, efficiency
}

TEST_CASE("a sweep of no points, or without numbers of GPUs, has a page without curves") {
  CHECK(page_has(sweep_html(made_result({}, {}), {}), "<section id=\"what\">"));
  const std::string page = sweep_html(made_result({"batch_per_gpu"}, {{.values = {"1"}, .throughput = 2},
                                                                      {.values = {"2"}, .throughput = 3}}),
                                      {});
  CHECK_FALSE(page_has(page, "<section id=\"scaling\">"));
  CHECK(page_has(page, "<section id=\"points\">"));
}

TEST_CASE("up to eight series are drawn together, more are parted by their first keys") {
  const std::vector<CurvePanel> few = curve_panels(series_of_size(2, 4));
  REQUIRE(few.size() == 1);
  CHECK(few[0].title.empty());
  CHECK(few[0].names.front() == "model=m0, batch_per_gpu=b0");
  const std::vector<CurvePanel> many = curve_panels(series_of_size(3, 4));
  REQUIRE(many.size() == 3);
  CHECK(many[1].title == "model=m1");
  CHECK(many[1].names == std::vector<std::string>{"batch_per_gpu=b0", "batch_per_gpu=b1", "batch_per_gpu=b2",
                                                  "batch_per_gpu=b3"});
  CHECK(curve_panels(series_of_size(2, 9)).size() == 18);
}

TEST_CASE("a sweep's page has the sources of its files, and says where they could not be read") {
  const SweepOrigin origin{.sources = {{"platform a<b>", "its data sheet"}},
                           .point = 7,
                           .experiment = "model: resnet50\n",
                           .unread = "cannot read 'c.yaml'"};
  const std::string page = sweep_html(two_models(), origin);
  CHECK(page_has(page, "<section id=\"trust\">"));
  CHECK(page_has(page, "<td>platform a&lt;b&gt;</td><td>its data sheet</td>"));
  CHECK(page_has(page, "Experiment of point 7"));
  CHECK(page_has(page, "model: resnet50\n"));
  CHECK(page_has(page, "could not be read again for this page: cannot read &#39;c.yaml&#39;"));
  CHECK_FALSE(page_has(sweep_html(two_models(), {}), "<section id=\"trust\">"));
}

TEST_CASE("a panel's names have only the keys in which its own series differ") {
  std::vector<MadeRow> rows;
  for (const char* const ranks : {"1", "2"}) {
    for (int batch = 0; batch < 9; ++batch)
      rows.push_back(
          {.values = {"a", std::to_string(batch), ranks}, .ranks = ranks[0] - '0' + 0.0, .throughput = 1});
    for (const char* const batch : {"7", "8"})
      rows.push_back({.values = {"b", batch, ranks}, .ranks = ranks[0] - '0' + 0.0, .throughput = 1});
  }
  for (MadeRow& row : rows) row.values.insert(row.values.begin() + 1, row.values[0] == "a" ? "x" : "y");
  const std::vector<CurvePanel> panels =
      curve_panels(made_result({"model", "precision", "batch_per_gpu", "nodes"}, rows));
  REQUIRE(panels.size() == 11);  // nine series do not fit into one
  CHECK(panels.front().title == "model=a, precision=x, batch_per_gpu=0");
  std::erase_if(rows, [](const MadeRow& row) { return row.values[0] == "a" && row.values[2] < "5"; });
  rows.push_back({.values = {"c", "x", "5", "1"}, .ranks = 1, .throughput = 1});
  rows.push_back({.values = {"d", "x", "5", "1"}, .ranks = 1, .throughput = 1});
  rows.push_back({.values = {"e", "x", "5", "1"}, .ranks = 1, .throughput = 1});
  const std::vector<CurvePanel> few =
      curve_panels(made_result({"model", "precision", "batch_per_gpu", "nodes"}, rows));
  REQUIRE(few.size() == 5);
  CHECK(few[0].title == "model=a, precision=x");
  CHECK(few[0].names ==
        std::vector<std::string>{"batch_per_gpu=5", "batch_per_gpu=6", "batch_per_gpu=7", "batch_per_gpu=8"});
  CHECK(few[2].title == "model=c, precision=x, batch_per_gpu=5");
  CHECK(few[2].names == std::vector<std::string>{few[2].title});
}

TEST_CASE("a sweep's page begins with its answer") {
  const std::string page = sweep_html(two_models(), {});
  CHECK(page.find("<section id=\"answer\">") < page.find("<section id=\"points\">"));
  CHECK(page.find("<section id=\"points\">") < page.find("<section id=\"scaling\">"));
  const std::string answer = section_of(page, "answer");
  CHECK(page_has(answer, "within 2 h 47 min"));
  CHECK(page_has(answer, "<td>fastest</td><td>model=a, nodes=2: an epoch in 1 h 20 min"));
  CHECK(page_has(answer, "<td>cheapest</td><td>model=a, nodes=1: an epoch in 2 h 00 min"));
  SweepResult slow = two_models();
  slow.sweep.goal.deadline = Seconds(1);
  CHECK(page_has(section_of(sweep_html(slow, {}), "answer"), "no point is within these limits"));
}

TEST_CASE("every form of a sweep has the same facts, and one that is added is in all of them") {
  const auto add = [](doc::Document page) {
    page.sections.front().shown = doc::Shown::everywhere;
    page.sections.front().fact("moons", "3 of them");
    return page;
  };
  const doc::Document sweep = add(sweep_document(two_models()));
  const SweepOrigin origin;
  for (const std::string& form : {doc::text(sweep), doc::markdown(sweep), doc::json(sweep).dump(),
                                  doc::html(add(sweep_document(two_models(), {}, &origin)))}) {
    CAPTURE(form);
    for (const char* const fact :
         {"moons", "3 of them", "model=a, nodes=2: an epoch in 1 h 20 min", "within 2 h 47 min", "13.33 ms",
          "4 GPUs (100.0 %); 75.0 % on 8 GPUs", "does not fit: "})
      CHECK(page_has(form, fact));
  }
}

TEST_CASE("the page of a sweep by a key has a section for each value") {
  const std::string page = sweep_html(two_models(), {}, "nodes");
  CHECK(page_has(page, "<h2>nodes=1: 2 points</h2>"));
  CHECK(page_has(page, "<h2>nodes=2: 2 points, 1 failed</h2>"));
  CHECK(page_has(section_of(page, "short"), "<td>nodes=1</td><td>fastest: model=a: an epoch in 2 h 00 min"));
  CHECK(page_has(section_of(page, "group1"), "model=a: an epoch in 2 h 00 min"));
  CHECK(page_has(section_of(page, "group2"), "model=a: an epoch in 1 h 20 min"));
  const std::string all = section_of(page, "answer");
  CHECK(page_has(all, "All values of nodes"));
  CHECK(page_has(all, "<td>fastest</td><td>model=a, nodes=2: an epoch in 1 h 20 min"));
  CHECK_FALSE(page_has(all, "Where scaling stops"));
  CHECK(page_has(page, "trainyard sweep sweep.resolved.yaml --out again --by nodes"));
  CHECK_FALSE(page_has(sweep_html(two_models(), {}), "id=\"group1\""));
  // Points of a group stand together and have one colour.
  CHECK(page.find("<td>2</td><td>b</td>") < page.find("<td>1</td><td>a</td>"));
  const nlohmann::ordered_json json = points_of(sorted_by_group(two_models(), "nodes"), "nodes");
  CHECK(json["keys"][1]["of"] == nlohmann::ordered_json({0, 0, 1, 1}));
  CHECK(json["colour"] == "nodes");
  const std::string curves = section_of(sweep_html(series_of_size(2, 2), {}, "model"), "group1");
  CHECK(page_has(curves, "batch_per_gpu=b1</li>"));
}

TEST_CASE("the answer of a page names machines without a price") {
  SweepResult result = two_models();
  result.rows[2].figures[9].reset();
  CHECK(page_has(sweep_html(result, {}), "<td>no price</td><td>model=b, nodes=1</td>"));
  CHECK_FALSE(page_has(sweep_html(two_models(), {}), "no price"));
}

TEST_CASE(
    "without epochs the answer is the highest throughput, also per GPU; without finished points there is "
    "none") {
  const SweepResult result = made_result(
      {"batch_per_gpu"},
      {{.values = {"1"}, .ranks = 4, .throughput = 20}, {.values = {"2"}, .ranks = 4, .throughput = 30}});
  CHECK(page_has(section_of(sweep_html(result, {}), "answer"),
                 "<td>batch_per_gpu=2</td><td>30.0 samples/s</td><td>7.50 per GPU</td>"));
  CHECK_FALSE(page_has(
      sweep_html(made_result({"batch_per_gpu"}, {{.values = {"1"}, .status = PointStatus::wrong}}), {}),
      "<section id=\"answer\">"));
}

TEST_CASE("the points of a page read back as JSON: keys, figures, and what the table's columns are") {
  SweepResult result = two_models();
  result.sweep.points[2][0] = "b</script>\"";
  const nlohmann::ordered_json json = points_of(result);
  CHECK(json["all"] == 4);
  CHECK(json["keys"][0]["name"] == "model");
  CHECK(json["keys"][0]["values"] == nlohmann::ordered_json({"a", "b</script>\"", "b"}));
  CHECK(json["keys"][0]["of"] == nlohmann::ordered_json({0, 0, 1, 2}));
  CHECK(json["keys"][1]["is_scale"] == true);
  const auto named = [&](const std::string& name) {
    const auto& figures = json["figures"];
    const auto found = std::ranges::find_if(figures, [&](const auto& one) { return one["name"] == name; });
    REQUIRE(found != figures.end());
    return *found;
  };
  CHECK(named("throughput_per_gpu_samples_per_s")["values"] ==
        nlohmann::ordered_json({25, 18.75, 15, nullptr}));
  CHECK(named("throughput_samples_per_s")["unit"] == "samples/s");
  CHECK(json["x"] == "ranks");
  CHECK(json["columns"][0] == "point");
  CHECK(json["columns"][2] == "nodes");
  // As many columns as the table has heads, but for the bars.
  const std::string table = section_of(sweep_html(result, {}), "points");
  std::size_t heads = 0;
  for (std::size_t at = table.find("<th"); at != std::string::npos; at = table.find("<th", at + 1)) ++heads;
  CHECK(json["columns"].size() + 2 == heads);  // the bars, and <thead>
  CHECK(page_has(table, "<th>samples/s</th><th>samples/s per GPU</th>"));
  CHECK_FALSE(page_has(sweep_html(result, {}), "b</script>"));
  CHECK_FALSE(page_has(sweep_html(made_result({"nodes"}, {{.values = {"1"}, .throughput = 1}}), {}),
                       "id=\"points-data\""));  // one point is no chart
}

TEST_CASE("what is the same in every series is in no name") {
  const std::vector<CurvePanel> panels = curve_panels(series_of_size(1, 3));
  REQUIRE(panels.size() == 1);
  CHECK(panels[0].names.front() == "batch_per_gpu=b0");
}

TEST_CASE("a sweep of many points has a page that a browser can hold, and says what is left out") {
  std::vector<MadeRow> rows;
  for (int i = 1; i <= 3000; ++i) {
    rows.push_back({.values = {std::to_string(i), "1"},
                    .ranks = 4,
                    .throughput = 100.0 + i,
                    .epoch = 7200.0 - i,
                    .rent = 10.0 + i % 7,
                    .power = 500});
  }
  const std::string page = sweep_html(made_result({"batch_per_gpu", "nodes"}, rows), {});
  CHECK(page.size() < 2000000);
  for (int i = 0; i < 2001; ++i)
    rows.push_back({.values = {"1", std::to_string(i)}, .ranks = 4, .throughput = 1});
  CHECK(page_has(sweep_html(made_result({"batch_per_gpu", "nodes"}, rows), {}),
                 "The first 5,000 of 5,001 points"));
  CHECK(page_has(page, ", 40, ...</td>"));
  std::size_t marks = 0;
  for (std::size_t at = page.find("\"mark others\""); at != std::string::npos;
       at = page.find("\"mark others\"", at + 1))
    ++marks;
  CHECK(marks > 900);
  CHECK(marks <= 1001);  // one in the legend
  CHECK(page_has(page, " other points</li>"));
}

TEST_CASE("published figures have marks on the curves, or a plot of their own, and a table with sources") {
  const auto rings = [](const std::string& page) {
    std::size_t found = 0;
    for (std::size_t at = page.find("class=\"mark published\""); at != std::string::npos;
         at = page.find("class=\"mark published\"", at + 1))
      ++found;
    return found;
  };
  SweepResult result = two_models();
  CHECK(rings(sweep_html(result, {})) == 0);
  CHECK_FALSE(page_has(sweep_html(result, {}), "<section id=\"published\">"));
  const auto publish = [&](std::string figure, double value, std::optional<std::size_t> reference) {
    result.sweep.published.push_back({.point = 1,
                                      .reference = reference,
                                      .figure = std::move(figure),
                                      .value = value,
                                      .source = "a <paper>",
                                      .keys = {"model", "nodes"}});
  };
  publish("throughput_samples_per_s", 180, std::nullopt);
  std::string page = sweep_html(result, {});
  CHECK(page_has(page, "<section id=\"published\">"));
  CHECK(page_has(page, "published: 180 samples/s<"));
  CHECK(page_has(page, "-16.7 %"));
  CHECK(page_has(page, "a &lt;paper&gt;"));
  CHECK(rings(page) == 2);  // on the curve of throughputs, and in its legend
  publish("step_time_s", 0.6, 0);
  page = sweep_html(result, {});
  CHECK(rings(page) == 4);
  CHECK(page_has(page, "step time, relative to nodes=1 over GPUs, predicted and published"));
  CHECK(page_has(page, "predicted: 66.7 %"));
}

TEST_CASE("published figures of points that no number of GPUs connects are drawn against predictions") {
  SweepResult result =
      made_result({"platform"}, {{.values = {"a"}, .throughput = 100}, {.values = {"b"}, .throughput = 150}});
  for (const std::size_t point : {0U, 1U}) {
    result.sweep.published.push_back({.point = point,
                                      .reference = {},
                                      .figure = "throughput_samples_per_s",
                                      .value = 120,
                                      .source = "a paper",
                                      .keys = {"platform"}});
  }
  const std::string page = sweep_html(result, {});
  CHECK(page_has(page, "throughput, predicted against published"));
  CHECK(page_has(page, "platform=b: predicted: 150 samples/s, published: 120 samples/s, +25.0 %"));
  result.sweep.published.pop_back();
  CHECK_FALSE(page_has(sweep_html(result, {}), "predicted against published"));  // one point is no picture
}

TEST_CASE("a sweep that learns draws the final loss of its points, with the front; others do not") {
  SweepResult result = made_result({"sync.update"}, {{.values = {"sync"}, .throughput = 1},
                                                     {.values = {"async"}, .throughput = 4},
                                                     {.values = {"k_sync"}, .throughput = 2}});
  result.sweep.has_learning = true;
  result.figures.insert(result.figures.end(),
                        {"time_to_target_s", "final_loss", "final_loss_low", "final_loss_high"});
  const double times[] = {40, 10, 20};
  const double losses[] = {0.8, 0.9, 0.7};
  for (std::size_t i = 0; i < 3; ++i)
    result.rows[i].figures.insert(result.rows[i].figures.end(),
                                  {times[i], losses[i], losses[i] - 0.05, losses[i] + 0.05});
  const std::string page = sweep_html(result, {.version = "1.2.3", .sweep = "experiment: none\n"});
  CHECK(page_has(page, "<section id=\"learning\">"));
  CHECK(page_has(page, "final loss and time of an update"));
  CHECK(page_has(page, "final loss and time to target"));
  const std::string learning = section_of(page, "learning");
  CHECK(page_has(learning, "<strong>sync.update=async</strong>: target in 10"));
  CHECK(page_has(learning, "<strong>sync.update=k_sync</strong>: "));
  CHECK_FALSE(page_has(learning, "<strong>sync.update=sync</strong>"));  // slower and worse than k_sync
  CHECK_FALSE(page_has(sweep_html(two_models(), {}), "<section id=\"learning\">"));
}
