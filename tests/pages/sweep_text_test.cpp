#include "../sweep/hand_made.hpp"
#include "document/writers.hpp"
#include "pages/sweep_page.hpp"
#include "report/sweep_groups.hpp"
#include "report/sweep_published.hpp"
#include "report/sweep_report.hpp"
#include "report/sweep_words.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>

using namespace trainyard;

namespace {

std::string sweep_text(const SweepResult& result, std::size_t most_rows, const PrintStyle& style = {},
                       const std::optional<std::string>& by = {}) {
  return doc::text(sweep_document(result, {.most_rows = most_rows, .width = style.width, .by = by}), style);
}

bool has_text(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("where scaling stops has a range of counts if the errors of the efficiencies are known") {
  SweepResult result = sample_sweep();
  const auto words = [&] {
    return scaling_range_in_words(result, efficiencies(result), series_of(result).front());
  };
  const auto error = [&] { return sweep_json(result)["series"][0]["scales_to"]["error"]; };
  CHECK(words().empty());
  result.efficiency_errors = {ErrorBounds{-0.05, 0.01}, ErrorBounds{-0.1, 0.05}, {}, {}};
  CHECK(words() == "4 within the expected error");
  CHECK(error()["ranks_low"] == 4);
  CHECK(error()["ranks_high"] == 4);
  CHECK(error()["is_open"] == false);
  result.efficiency_errors[1] = ErrorBounds{-0.1, 0.1};
  CHECK(words() == "4 to at least 8 within the expected error");
  CHECK(has_text(sweep_text(result, 60),
                 "model=a: 4 GPUs (100.0 %), 4 to at least 8 within the expected error; 75.0 % on 8 GPUs\n"));
  CHECK(error()["ranks_high"] == 8);
  CHECK(error()["is_open"] == true);
  CHECK(error()["share"] == 0.8);
  result.efficiency_errors[0] = ErrorBounds{-0.3, 0};
  CHECK(words() == "fewer than 4 to at least 8 within the expected error");
  CHECK(error()["ranks_low"].is_null());
  result.efficiency_errors[1].reset();
  CHECK(words().empty());
  CHECK(error().is_null());
}

TEST_CASE("a sweep for people: rows with their reasons, where scaling stops, and the best points") {
  CHECK(sweep_text(sample_sweep(), 60) == R"(made: 4 points, 2 failed; made by hand

best points
  fastest         model=a, nodes=2: an epoch in 1 h 20 min, 26.7 USD, 4.80 MJ
  cheapest        model=a, nodes=1: an epoch in 2 h 00 min, 20.0 USD, 3.60 MJ
  least energy    model=a, nodes=1: an epoch in 2 h 00 min, 20.0 USD, 3.60 MJ
  Pareto front    2 points, in time, cost and energy: 1, 0

     model  nodes  GPUs      step  samples/s  speedup  efficiency       epoch
         a      1     4  20.00 ms        100      4.0     100.0 %  2 h 00 min
         a      2     8  13.33 ms        150      6.0      75.0 %  1 h 20 min
  b, large      1  impossible [1]
  b, large      2  wrong [2]

  [1] does not fit: "room" for 1
  [2] no such model

where scaling stops  largest GPU count with at least 80 % efficiency up to there
  model=a: 4 GPUs (100.0 %); 75.0 % on 8 GPUs
)");
}

TEST_CASE("models of different sections of a report do not compete for the best point") {
  SweepResult result = made_result(
      {"model", "ranks"},
      {{.values = {"a", "1"}, .ranks = 1, .throughput = 100, .epoch = 100, .rent = 1, .power = 500},
       {.values = {"a", "4"},
        .ranks = 4,
        .throughput = 300,
        .efficiency = 0.75,
        .epoch = 33,
        .rent = 4,
        .power = 2000},
       {.values = {"b", "1"}, .ranks = 1, .throughput = 1, .epoch = 9000, .rent = 1, .power = 500},
       {.values = {"b", "4"},
        .ranks = 4,
        .throughput = 3.6,
        .efficiency = 0.9,
        .epoch = 2500,
        .rent = 4,
        .power = 2000},
       {.values = {"c", "1"}, .ranks = 1, .throughput = 100},
       {.values = {"c", "4"}, .ranks = 4, .throughput = 300, .efficiency = 0.75}});
  result.sweep.report = {
      .section = "model", .rows = "ranks", .columns = "ranks", .figures = {}, .names = {{"b", "Model B"}}};
  result.sweep.goal.efficiency_min = 0.8;
  const std::string text = sweep_text(result, 60);
  CHECK(has_text(text, R"(best points  with at least 80.0 % scaling efficiency
a
  fastest         ranks=1: an epoch in 1 min 40 s)"));
  CHECK(has_text(text, R"(Model B
  fastest         ranks=4: an epoch in 41 min 40 s)"));
  CHECK(has_text(text, R"(c
  highest throughput ranks=1: 100 samples/s)"));
  const nlohmann::ordered_json sections = sweep_json(result)["sections"];
  REQUIRE(sections.size() == 3);
  CHECK(sections[1]["value"] == "b");
  CHECK(sections[1]["best"]["fastest"] == 3);
  CHECK(sections[1]["best"]["cheapest"] == 2);
  const std::string cut = sweep_text(result, 3);
  CHECK(has_text(cut, "only points on the Pareto front of time, cost and energy of each model"));
  result.sweep.report.reset();
  CHECK_FALSE(sweep_json(result).contains("sections"));
}

TEST_CASE("machines without a price or a power are named beside the best points") {
  const auto made = [](std::vector<std::string> keys, std::vector<MadeRow> rows) {
    for (MadeRow& row : rows) {
      row.throughput = 100;
      row.epoch = 3600;
    }
    return sweep_text(made_result(std::move(keys), rows), 60);
  };
  const std::string some = made({"platform", "nodes"}, {{.values = {"a", "1"}, .rent = 10, .power = 500},
                                                        {.values = {"b", "1"}, .power = 500},
                                                        {.values = {"c", "1"}},
                                                        {.values = {"b", "2"}, .power = 500}});
  CHECK(has_text(some, "\n  no price        b, c\n"));
  CHECK(has_text(some, "\n  energy unknown  c\n"));
  // the same machine with and without a price: which points lack it
  const std::string mixed = made({"platform", "gpus"}, {{.values = {"a", "8"}, .rent = 10, .power = 500},
                                                        {.values = {"a", "4"}, .power = 500}});
  CHECK(has_text(mixed, "\n  no price        platform=a, gpus=4\n"));
  CHECK_FALSE(has_text(mixed, "energy unknown"));
  const std::string by_file =
      made({"experiment"}, {{.values = {"e"}, .rent = 10, .power = 500}, {.values = {"f"}}});
  CHECK(has_text(by_file, "\n  no price        f\n"));
  CHECK(
      has_text(made({"nodes"}, {{.values = {"1"}}, {.values = {"2"}}}), "\n  no price        all points\n"));
  std::vector<MadeRow> many{{.values = {"first"}, .rent = 10, .power = 500}};
  for (int i = 0; i < 11; ++i) many.push_back({.values = {std::to_string(i)}, .power = 500});
  CHECK(has_text(made({"platform"}, many), "\n  no price        0, 1, 2, 3, 4, 5, 6, 7 and 3 more\n"));
  // more points than can be read: how many
  std::vector<MadeRow> unpriced{{.values = {"a", "1"}, .rent = 10, .power = 500}};
  for (int gpus = 2; gpus < 6; ++gpus)
    unpriced.push_back({.values = {"a", std::to_string(gpus)}, .power = 500});
  CHECK(has_text(made({"platform", "gpus"}, unpriced), "\n  no price        4 of 5 points\n"));
  CHECK_FALSE(has_text(sweep_text(sample_sweep(), 60), "no price"));
}

TEST_CASE("--by repeats table and conclusions for each value of a key, which is no column then") {
  SweepResult result = sample_sweep();
  const std::string text = sweep_text(result, 60, {}, "nodes");
  const std::size_t one = text.find("\nnodes=1: 2 points, 1 failed\n");
  const std::size_t two = text.find("\nnodes=2: 2 points, 1 failed\n");
  const std::size_t all = text.find("\nall values of nodes\n");
  REQUIRE(one != std::string::npos);
  REQUIRE(two != std::string::npos);
  REQUIRE(all != std::string::npos);
  CHECK(one < two);
  CHECK(two < all);
  const std::string first = text.substr(one, two - one);
  CHECK(has_text(first, "model  GPUs"));
  CHECK(has_text(first, "20.00 ms"));
  CHECK_FALSE(has_text(first, "13.33 ms"));
  CHECK(has_text(first, "  fastest         model=a: an epoch in 2 h 00 min"));
  CHECK(has_text(first, "does not fit"));
  CHECK_FALSE(has_text(first, "where scaling stops"));  // one number of nodes
  CHECK(has_text(text.substr(two, all - two), "  cheapest        model=a: an epoch in 1 h 20 min"));
  const std::string last = text.substr(all);
  CHECK(has_text(last, "  fastest         model=a, nodes=2: "));
  CHECK(has_text(last, "  cheapest        model=a, nodes=1: "));
  // scaling of the group alone
  const std::string by_model = sweep_text(result, 60, {}, "model");
  CHECK(has_text(by_model, "model=a: 2 points\n"));
  CHECK(has_text(by_model, "\n  4 GPUs (100.0 %); 75.0 % on 8 GPUs\n"));
  CHECK(has_text(by_model, "model=b, large: 2 points, 2 failed\n"));
}

TEST_CASE("below the table stands the widest expected error of the points") {
  SweepResult result = sample_sweep();
  CHECK_FALSE(has_text(sweep_text(result, 60), "expected error"));
  for (const auto& [figure, of_first, of_second] : {std::tuple("throughput_low_samples_per_s", 80, 141),
                                                    std::tuple("throughput_high_samples_per_s", 105, 180)}) {
    result.figures.emplace_back(figure);
    result.rows[0].figures.emplace_back(of_first);
    result.rows[1].figures.emplace_back(of_second);
  }
  const std::string text = sweep_text(result, 60);
  CHECK(has_text(text, "expected error of samples/s: within -20 to +20 %"));
  CHECK(has_text(text, "for every\npoint; sweep.csv"));
  CHECK_FALSE(has_text(text, "does not contain 0"));
  SweepResult one_sided = result;  // 100 of 80 to 95 expected
  one_sided.rows[0].figures[one_sided.figures.size() - 1] = 95;
  std::string one_line = sweep_text(one_sided, 60);
  std::ranges::replace(one_line, '\n', ' ');
  CHECK(has_text(one_line, "where that does not contain 0, such runs were nearly all slower than predicted"));
  SweepResult partly = result;
  for (std::size_t i = partly.figures.size() - 2; i < partly.figures.size(); ++i)
    partly.rows[1].figures[i].reset();
  CHECK(has_text(sweep_text(partly, 200), " points, unknown for the others; sweep.csv"));
  CHECK(has_text(text, "an epoch in 2 h 00 min (1 h 54 min to 2 h 30 min)"));  // 100 / 105, 100 / 80
  CHECK(has_text(text, "80 % of runs are expected to lie within the ranges in brackets."));
  const nlohmann::ordered_json row = sweep_json(result)["rows"][0];
  CHECK(row["training_time_low_s"].get<double>() == doctest::Approx(7200 / 1.05));
  CHECK(row["training_time_high_s"].get<double>() == doctest::Approx(9000));
}

TEST_CASE("a sweep's table has each reason once, and no line is wider than 100 columns") {
  SweepResult result = sample_sweep();
  std::string reason = "does not fit:";
  for (int i = 0; i < 40; ++i) reason += " words";
  result.rows[2].reason = result.rows[3].reason = reason;
  result.rows[3].status = result.rows[2].status;
  const std::string text = sweep_text(result, 60);
  std::size_t marks = 0;
  std::size_t reasons = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CHECK(columns(line) <= 100);
    marks += line.ends_with("impossible [1]") ? 1 : 0;
    reasons += line.find("does not fit") != std::string::npos ? 1 : 0;
  }
  CHECK(marks == 2);
  CHECK(reasons == 1);
}

TEST_CASE("under strong scaling the columns are against the smallest run, as where scaling stops is") {
  SweepResult result = sample_sweep();
  const std::string weak = sweep_text(result, 60);
  CHECK(has_text(weak, "100      4.0     100.0 %"));
  CHECK(has_text(weak, "150      6.0      75.0 %"));
  result = made_result({"ranks"}, {{.values = {"4"}, .ranks = 4, .throughput = 100, .efficiency = 0.9},
                                   {.values = {"16"}, .ranks = 16, .throughput = 200, .efficiency = 0.85}});
  result.sweep.set = {{"global_batch", "512"}};
  const std::string strong = sweep_text(result, 60);
  CHECK(has_text(strong, "100      1.0     100.0 %"));
  CHECK(has_text(strong, "200      2.0      50.0 %"));
  CHECK(has_text(strong, "  4 GPUs (100.0 %); 50.0 % on 16 GPUs\n"));
  CHECK(sweep_line(result, result.rows[1]).starts_with("ranks=16: 10.0 ms, 200 samples/s, 85.0 % "));
}

TEST_CASE("where ranks share a model, the columns are against the smallest run") {
  const SweepResult result =
      made_result({"nodes"}, {{.values = {"1"}, .ranks = 8, .throughput = 100, .efficiency = std::nullopt},
                              {.values = {"2"}, .ranks = 16, .throughput = 150, .efficiency = std::nullopt}});
  const std::string text = sweep_text(result, 60);
  CHECK(has_text(text, "100      1.0     100.0 %"));
  CHECK(has_text(text, "150      1.5      75.0 %"));
  CHECK(has_text(text, "  8 GPUs (100.0 %); 75.0 % on 16 GPUs\n"));
  CHECK(sweep_line(result, result.rows[1]) == "nodes=2: 13.3 ms, 150 samples/s");
  CHECK(sweep_json(result)["series"][0]["scales_to"]["ranks"] == 8);
  CHECK(sweep_csv(result).ends_with(",8,1.5,0.75,0\n"));
}

TEST_CASE("next to each of several precisions is the memory of a GPU, however narrow the page") {
  const auto with_memory = [](const char* other) {
    SweepResult result =
        made_result({"platform.node.memory.of_the_cpu", "precision", "ranks"},
                    {{.values = {"a long value of a key", "fp32", "4"}, .ranks = 4, .throughput = 100},
                     {.values = {"a long value of a key", other, "4"}, .ranks = 4, .throughput = 200}});
    result.figures.emplace_back("memory_peak_bytes");
    result.rows[0].figures.emplace_back(8e9);
    result.rows[1].figures.emplace_back(5e9);
    return result;
  };
  for (const int width : {80, 100}) {
    const std::string text = sweep_text(with_memory("amp"), 60, {.width = static_cast<std::size_t>(width)});
    CAPTURE(text);
    CHECK(has_text(text, "memory/GPU"));
    CHECK(has_text(text, "7.45 GB"));
  }
  CHECK_FALSE(has_text(sweep_text(with_memory("fp32"), 60, {.width = 200}), "memory/GPU"));
}

TEST_CASE("named groups have their findings, in text and JSON") {
  const SweepResult result =
      made_result({"group", "model", "precision"}, {{.values = {"small", "a", "fp32"}, .throughput = 100},
                                                    {.values = {"small", "a", "amp"}, .throughput = 150},
                                                    {.values = {"large", "b", "fp32"}, .throughput = 10},
                                                    {.values = {"large", "b", "amp"}, .throughput = 5}});
  const std::string text = sweep_text(result, 60, {.width = 100});
  CAPTURE(text);
  CHECK(has_text(text, "small: 2 points of model=a"));
  CHECK(has_text(text, "fastest with precision=amp: 1.50 x"));
  CHECK(has_text(text, "slowest with precision=amp: 0.50 x"));
  CHECK(has_text(text, "precision: fp32 to amp"));
  const auto json = sweep_json(result)["groups"];
  REQUIRE(json.size() == 2);
  CHECK(json[1]["group"] == "large");
  CHECK(json[1]["effects"][0]["throughput_ratio"]["median"] == 0.5);
  CHECK(json[1]["effects"][0]["memory_ratio"].is_null());
  CHECK(groups_csv(group_findings(result)).find("\nlarge,precision,amp,fp32,1,0.5,0.5,0.5,") !=
        std::string::npos);
}

TEST_CASE("points that are left out are told with their reason, in text and JSON") {
  SweepResult result = sample_sweep();
  result.sweep.left_out = {{{"c", "1"}, "no such machine"}, {{"c", "2"}, "no such machine"}};
  CHECK(has_text(sweep_text(result, 60), "left out: 2 points: no such machine"));
  CHECK(sweep_json(result)["left_out"][0]["points"] == 2);
}

TEST_CASE("limits that no point keeps to are said with them") {
  SweepResult result = sample_sweep();
  result.sweep.goal.deadline = Seconds(3600);
  result.sweep.goal.gpus_max = 8;
  const std::string text = sweep_text(result, 60);
  CHECK(has_text(text, "  within 1 h 00 min, on at most 8 GPUs\n"));
  CHECK(text.find("fastest") == std::string::npos);
}

TEST_CASE("of more rows than are shown, those on the Pareto front are") {
  const std::string text = sweep_text(sample_sweep(), 3);
  CHECK(has_text(text, "sweep.csv"));
  CHECK(text.find("impossible") == std::string::npos);
  CHECK(text.find("13.33 ms") != std::string::npos);
}

TEST_CASE("published figures are beside predictions in the table, published.csv and JSON") {
  SweepResult result = sample_sweep();
  CHECK(published_csv(result).empty());
  CHECK(sweep_json(result)["published"].empty());
  CHECK_FALSE(has_text(sweep_text(result, 60), "published"));
  result.sweep.published = {{.point = 1,
                             .reference = {},
                             .figure = "throughput_samples_per_s",
                             .value = 120,
                             .source = "a, paper",
                             .keys = {"nodes"}},
                            {.point = 1,
                             .reference = 0,
                             .figure = "scaling_efficiency",
                             .value = 0.8,
                             .source = "another",
                             .keys = {"nodes"}},
                            {.point = 2,
                             .reference = {},
                             .figure = "step_time_s",
                             .value = 0.02,
                             .source = "another",
                             .keys = {"nodes"}}};
  result.relative_errors = {{}, ErrorBounds{-0.1, 0.04}, {}};
  CHECK(published_csv(result) ==
        "point,relative_to,figure,predicted,predicted_low,predicted_high,published,difference,"
        "relative_difference,source\n"
        "1,,throughput_samples_per_s,150,,,120,30,0.25,\"a, paper\"\n"
        "1,0,scaling_efficiency,0.75,0.675,0.78,0.8,-0.05,-0.0625,another\n"
        "2,,step_time_s,,,,0.02,,,another\n");
  const nlohmann::ordered_json json = sweep_json(result)["published"];
  CHECK(json[0]["predicted"] == 150);
  CHECK(json[0]["predicted_low"].is_null());
  CHECK(json[0]["relative_to"].is_null());
  CHECK(json[1]["relative_to"] == 0);
  CHECK(json[1]["predicted_low"] == 0.675);
  CHECK(json[1]["predicted_high"] == 0.78);
  CHECK(json[2]["predicted"].is_null());
  const doc::Table narrow = published_table(result, PublishedKeys::behind_figure).first;
  CHECK(narrow.rows[0].cells[0].value.text == "throughput, samples/s; nodes=2");
  CHECK(narrow.rows[0].cells[1].value.text == "150");
  const std::string text = sweep_text(result, 60);
  CAPTURE(text);
  CHECK(has_text(
      text,
      "\npredicted and published\n"
      "  figure                             nodes  predicted   expected error  published      differs  ref.\n"
      "  throughput, samples/s                  2        150                -        120      +25.0 %   [1]\n"
      "  scaling efficiency, relative to        2     75.0 %  -8 to +3 points     80.0 %  -5.0 points   [2]\n"
      "  nodes=1\n"
      "  step time                              1          -                -    20.0 ms            -   [2]\n"
      "  Predictions differ by 15.6 % on average, from -6.2 % to +25.0 %; 0 of 1 are within the expected\n"
      "  error.\n"
      "  [1] a, paper\n"
      "  [2] another\n"));
}
