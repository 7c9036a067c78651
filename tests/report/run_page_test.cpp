#include "report/run_page.hpp"

#include "document/html.hpp"
#include "has_all.hpp"
#include "report/csv.hpp"
#include "report/expected_error.hpp"
#include "run/simulate.hpp"
#include "run/timeline_tracks.hpp"
#include "run_forms.hpp"
#include "sample.hpp"
#include "shipped_layout.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

const PageOrigin origin{.version = "9.8.7",
                        .warnings = {"tiny.yaml:3:1: warning: <odd>"},
                        .sources = {{.file = "platform pair", .source = "a page & its \"date\""}}};

std::string report_html(const Run& run, const PageOrigin& from, const PageChanges& changes = {}) {
  const PageDetails details{from, changes};
  return doc::html(run_document(run, &details));
}

/// "min 05 s", after a number.
bool is_duration(const std::string& unit) {
  return std::regex_match(unit, std::regex("h [0-9]{2} min|min [0-9]{2} s"));
}

/// A time below a minute with at least two digits, or zero: a number with its decimals, and its unit.
bool is_short_time(const std::string& number, const std::string& unit) {
  return (unit == "s" || unit == "ms" || unit == "us") &&
         (number == "0" || std::ranges::count_if(number, [](char c) { return c >= '0' && c <= '9'; }) > 1);
}

/// The unit and the number of decimals of the numbers in each column of a page's tables: "ms 2", or "minutes"
/// for a column with long times. Of columns headed "value" or "number", which have several quantities, none.
std::map<std::string, std::set<std::string>> forms_of_columns(const std::string& page) {
  std::map<std::string, std::set<std::string>> forms;
  int number = 0;
  for (std::size_t at = page.find("<table"); at != std::string::npos; at = page.find("<table", at + 1)) {
    const std::string text = page.substr(at, page.find("</table>", at) - at);
    ++number;
    std::vector<std::string> heads;
    const std::regex head(R"(<th[^>]*>([^<]*)</th>)");
    for (std::sregex_iterator one(text.begin(), text.end(), head), end; one != end; ++one)
      heads.push_back((*one)[1]);
    const std::regex cell(R"(<tr>|<td[^>]*>((?:\+|-)?[0-9][0-9,]*)(\.[0-9]+)? ([^<]*)</td>|<td)");
    std::size_t column = 0;
    std::set<std::size_t> has_durations;
    for (std::sregex_iterator one(text.begin(), text.end(), cell), end; one != end; ++one) {
      column = (*one)[0] == "<tr>" ? 0 : column + 1;
      if ((*one)[3].matched && is_duration((*one)[3])) has_durations.insert(column);
    }
    for (std::sregex_iterator one(text.begin(), text.end(), cell), end; one != end; ++one) {
      if ((*one)[0] == "<tr>") {
        column = 0;
        continue;
      }
      const std::string name = column < heads.size() ? heads[column] : "";
      ++column;
      if (!(*one)[3].matched || name == "value" || name == "number") continue;
      const std::string unit = (*one)[3];
      const bool is_long = has_durations.contains(column);
      forms[fmt::format("{} of table {}", name, number)].insert(
          is_duration(unit) || (is_long && is_short_time((*one)[1].str() + (*one)[2].str(), unit))
              ? "minutes"
              : fmt::format("{} {}", unit, (*one)[2].length()));
    }
  }
  return forms;
}

/// The sample with names that are markup wherever a user gives one.
Run hostile_result() {
  const std::string name = "</title></script><script>alert('x')</script><!--\"&";
  Run run = sample_result();
  run.experiment.name = run.experiment.platform.title = run.experiment.model->name =
      run.experiment.settings.stack = run.experiment.settings.platform = name;
  for (OpRow& row : step_in(run).classes.front().ops) row.layer = row.shape = name;
  for (CollectiveRow& row : step_in(run).collectives)
    row.name = row.ready_after = row.algorithm = row.protocol = name;
  for (LinkRow& row : run.links.rows) row.name = name;
  for (RankRow& row : run.rank_rows) row.gpu = name;
  run.links.busiest = name;
  run.notes = {name};
  run.calibrated_on = {name};
  run.energy = unknown(name);
  run.memory->front().gpu = name;
  run.cost->date = name;
  return run;
}

}  // namespace

TEST_CASE("a run's page has every section that the run has, and says where it comes from") {
  const std::string page = report_html(sample_result(), origin);
  for (const char* const id : {"figures", "limits", "where", "timeline", "collectives", "links", "layers",
                               "ranks", "memory", "needs", "trust", "errors", "experiment"})
    CHECK(shows(page, "<section id=\"" + std::string(id) + "\">"));
  CHECK_FALSE(shows(page, "<section id=\"updates\">"));
  CHECK_FALSE(shows(page, "<section id=\"faults\">"));
  CHECK(shows(page, "trainyard 9.8.7"));
  CHECK(shows(page, ">tiny.yaml:3:1: warning: &lt;odd&gt;</pre>"));
  CHECK(shows(page, "a page &amp; its &quot;date&quot;"));
  CHECK(shows(page, "trainyard run experiment.resolved.yaml --out again"));
}

TEST_CASE("the parts of the step on the page are those of the text, each with its meaning") {
  const std::string page = report_html(sample_result(), origin);
  for (const char* const row :
       {"forward</td><td>4.00 ms</td><td>30.8 %</td>", "backward</td><td>6.00 ms</td><td>46.2 %</td>",
        "optimizer</td><td>1.00 ms</td><td>7.7 %</td>",
        "exposed comm.</td><td>2.00 ms</td><td>15.4 %</td><td class=\"l\">collectives, and work"})
    CHECK(shows(page, row));
}

TEST_CASE("more FLOPs than the peak lets through are explained") {
  Run run = sample_result();
  CHECK_FALSE(shows(report_html(run, origin), "Winograd"));
  run.matrix->utilization = 1.03;
  CHECK(shows(report_html(run, origin), "Winograd"));
}

TEST_CASE("the numbers of a column have one unit and the same decimals") {
  Run faults = sample_result();
  faults.faults.emplace();
  faults.faults->wall = faults.faults->work = Seconds(36000);
  faults.faults->writing = Seconds(40);
  faults.faults->intervals = {{Seconds(90), Seconds(41000), Seconds(41010)}, {Seconds(9000), {}, {}}};
  Run uneven = sample_result();
  uneven.rank_rows[1].compute = Seconds(8.25e-4);
  uneven.links.rows.push_back(
      {.name = "nic", .capacity = Bandwidth(1.25e8), .bytes = Bytes(12345), .utilization = 0.01});
  step_in(uneven).collectives.push_back(step_of(uneven).collectives.front());
  step_in(uneven).collectives.back().bound = Seconds(61.349e-6);
  int columns = 0;
  for (const Run& run : {sample_result(), two_class_result(), faults, uneven}) {
    for (const auto& [column, forms] : forms_of_columns(report_html(run, origin))) {
      CAPTURE(column);
      CAPTURE(fmt::format("{}", fmt::join(forms, ", ")));
      CHECK(forms.size() == 1);
      ++columns;
    }
  }
  CHECK(columns > 50);
}

TEST_CASE("every class of ranks has its parts, its kernels and its memory") {
  const std::string page = report_html(two_class_result(), origin);
  for (const char* const part :
       {"<p>rank 0 (stage 0), share of the step</p>", "<p>rank 1 (stage 1), share of the step</p>",
        "Kernels of stage 1, the longest first", "<h3>Stage 1</h3>"})
    CHECK(shows(page, part));
  CHECK_FALSE(shows(report_html(sample_result(), origin), "(all ranks)"));
  const Json json = timeline_json(two_class_result());
  REQUIRE(json["tracks"].size() == 2);
  CHECK(json["items"].size() ==
        8);  // 4 ops, 3 ops and the collective: the ops of two classes are not one item
}

TEST_CASE("a key figure of the table is a fact with its definition in every form, where the run has it") {
  std::vector<Figure> table(figures().begin(), figures().end());
  table.push_back({.field = "made_up_w",
                   .label = "made up",
                   .unit = FigureUnit::power,
                   .doc = "a figure of this test",
                   .topic = {},
                   .shown = everywhere,
                   .of = [](const Run& run) -> Known<FigureValue> {
                     if (run.ranks == 3) return unknown("three ranks are too many");
                     return FigureValue(13.0);
                   }});
  Run run = sample_result();
  const auto page = [&](std::span<const Figure> of) {
    doc::Document whole = run_document(run);
    add_figures(whole, run, of);
    return whole;
  };
  const doc::Document whole = page(table);
  CHECK(shows(doc::html(whole), "<td>made up</td><td>13.0 W</td><td>a figure of this test</td>"));
  CHECK(shows(doc::markdown(whole), "- made up: 13.0 W; a figure of this test\n"));
  const Json fact = doc::json(whole)["sections"].back()["parts"].back();
  CHECK(fact["key"] == "made_up_w");
  CHECK(fact["value"]["number"] == 13);
  CHECK_FALSE(shows(doc::html(page(figures())), "made up"));
  run.ranks = 3;
  CHECK_FALSE(shows(doc::html(page(table)), "made up"));
  run.ranks = 2;
  table.back().shown = in_tables;
  CHECK_FALSE(shows(doc::html(page(table)), "made up"));
}

TEST_CASE("a fact of a run is one line and appears in every form") {
  Run run = sample_result();
  run.notes = {"the moon was full"};
  const doc::Document page = run_document(run);
  CHECK(shows(doc::text(page), "\n  note            the moon was full\n"));
  CHECK(shows(doc::markdown(page), "- note: the moon was full\n"));
  CHECK(shows(report_html(run, origin), "<td>note</td><td>the moon was full</td>"));
  CHECK(shows(doc::json(page).dump(),
              R"({"kind":"fact","key":"note","label":"note","value":"","remark":"the moon)"));
}

TEST_CASE("every sentence, fact and share of the text is on the page, in the same words") {
  for (const Run& run : {sample_result(), two_class_result()}) {
    const doc::Document document = run_document(run);
    const std::string page = report_html(run, origin);
    int parts = 0;
    for (const doc::Section& section : document.sections) {
      for (const doc::Part& part : section.parts) {
        std::string words;
        if (const auto* const fact = std::get_if<doc::Fact>(&part)) words = fact->value.text + fact->remark;
        if (const auto* const one = std::get_if<doc::Share>(&part)) words = one->label;
        if (words.find("--json") != std::string::npos) words.clear();  // the page has the reasons
        if (words.empty()) continue;
        CAPTURE(words);
        const auto* const fact = std::get_if<doc::Fact>(&part);
        CHECK(shows(page, as_text(fact != nullptr ? fact->remark : words).markup));
        ++parts;
      }
    }
    CHECK(parts > 14);
  }
}

TEST_CASE("figures that a page says elsewhere are not among the others") {
  const Run run = sample_result();
  doc::Document page = run_document(run);
  add_figures(page, run);
  const std::string rest = doc::content_html(page.sections.back()).markup;
  for (const char* const said : {"<td>step time</td>", "<td>throughput</td>", "<td>memory per GPU</td>"})
    CHECK_FALSE(shows(rest, said));
  CHECK(shows(rest, "<td>epoch</td><td>2 min 10 s</td>"));
}

TEST_CASE("ranks are alike by their times, not by what is printed of them") {
  Run run = sample_result();
  CHECK_FALSE(shows(report_html(run, origin), "aria-label=\"ranks\""));
  run.rank_rows[1].compute = (1 + 1e-6) * run.rank_rows[1].compute;
  CHECK(shows(report_html(run, origin), "aria-label=\"ranks\""));
}

TEST_CASE("what predictions a page's is compared with depends on what was fitted or measured") {
  Run run = sample_result();
  CHECK(shows(report_html(run, origin), "the fit nothing"));
  PageOrigin measured = origin;
  measured.has_measured_times = true;
  CHECK(shows(report_html(run, measured), "compare with 1gpu, the error of adding GPUs"));
  run.experiment.stack.slowdown.source = "runs on one GPU";
  CHECK(shows(report_html(run, origin), "the fit software"));
  run.experiment.settings.one_gpu = "803 samples/s";
  run.experiment.settings.one_gpu_scale = 1.1;
  CHECK(shows(report_html(run, origin), "the fit 1gpu"));
}

TEST_CASE("a page with hostile names has no element more than one with tame names") {
  const std::string tame = report_html(sample_result(), origin);
  const std::string hostile = report_html(hostile_result(), origin);
  const auto count_of = [](const std::string& text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  };
  for (const char* const tag : {"<script", "</script", "<title>", "<!--", "<section"})
    CHECK(count_of(hostile, tag) == count_of(tame, tag));
  CHECK(shows(hostile, "&lt;script&gt;alert(&#39;x&#39;)"));
}

TEST_CASE("hostile names survive the timeline's JSON") {
  const Run run = hostile_result();
  const Json json = timeline_json(run);
  CHECK(json["items"][0][0] == slowest_class(step_of(run)).ops[0].layer);
  CHECK(report_html(run, origin).find("\"title\":\"timeline\"") != std::string::npos);
}

TEST_CASE("without a timeline there is no script data and no section of it") {
  Run run = sample_result();
  step_in(run).bars.clear();
  CHECK(html_of(run, add_timeline).empty());
  const std::string page = report_html(run, origin);
  CHECK_FALSE(shows(page, "id=\"timeline-data\""));
  CHECK_FALSE(shows(page, "<section id=\"timeline\">"));
}

TEST_CASE("a result with almost nothing in it still has a page") {
  Run run;
  run.ranks = 1;
  run.nodes = 1;
  run.pace.time = Seconds(1);
  const std::string page = report_html(run, {.version = "1", .warnings = {}, .sources = {}});
  CHECK(shows(page, "<section id=\"answer\">"));
  for (const char* const number : {">nan", ">-nan", " nan ", "\"nan", ">inf", ">-inf", " inf ", "\"inf"})
    CHECK_FALSE(shows(page, number));
}

TEST_CASE("a run of many updates shows its workers, servers and how old gradients were") {
  Run run = sample_result();
  Updates& updates = updates_in(run);
  updates.counts.repeats = 1;
  updates.measured_updates = 10;
  updates.measured = Seconds(2);
  updates.time = {.median = Seconds(0.2), .low = Seconds(0.2), .high = Seconds(0.2)};
  updates.gradients_per_update = 2;
  updates.staleness.gradients = {0, 12, 8};
  updates.staleness.mean = 1.4;
  updates.staleness.max = 2;
  for (const int rank : {0, 1})
    updates.workers.push_back({.rank = Rank{rank},
                               .node = NodeId{0},
                               .computing = Seconds(1),
                               .communicating = Seconds(0.5),
                               .waiting = Seconds(0.5),
                               .loading = {},
                               .wasted = {},
                               .gradients = 10});
  updates.servers.push_back({.name = "memory of node0.cpu0", .utilization = 0.25});
  const std::string page = report_html(run, origin);
  CHECK(shows(page, "<title>1: 12 gradients, 60.0 %</title>"));
  // The axis runs from 0 to 2.5 over 94 % of the width from 3 % on: the bar of 1 is from 0.55 to 1.45.
  CHECK(shows(page, "<rect class=\"compute\" x=\"23.68%\" width=\"33.84%\""));
  CHECK(shows(page, "<title>2: 8 gradients, 40.0 %</title>"));
  CHECK_FALSE(shows(page, "of the measured 2.00 s."));
  updates.bars = updates.steady.bars;
  updates.spans = {{.worker = 0, .activity = Activity::computing, .begun = Seconds(0), .ended = Seconds(1)}};
  CHECK(shows(report_html(run, origin), "The first 1.00 s of the measured 2.00 s."));
  updates.spans.back().ended = Seconds(2);
  CHECK_FALSE(shows(report_html(run, origin), "of the measured 2.00 s."));
  CHECK(shows(page, "memory of node0.cpu0"));
  CHECK(shows(page, "<section id=\"updates\">"));
  CHECK(shows(page, "<td>staleness</td><td>1.40</td>"));
  CHECK(shows(page, "updates on average, 2 at most (1 is fresh)"));
  CHECK_FALSE(shows(page, "<section id=\"ranks\">"));
}

TEST_CASE("a page begins with the time, its expected error and the best three changes, then the limit") {
  const Run run = sample_result();
  const auto change = [&](std::string name, Overrides set, double factor) {
    return WhatIfRow{
        .what = {.change = std::move(name), .set = std::move(set), .remark = "a <remark>", .reason = {}},
        .step_time = run.pace.time / factor,
        .throughput = run.pace.throughput * factor};
  };
  PageChanges changes;
  changes.rows = {change("GPUs four times as fast", {{"gpu.speed", "4"}}, 4),
                  change("GPUs twice as fast", {{"gpu.speed", "2"}}, 2.5),
                  change("NICs of 50 Gbps", {{"platform.fabric.nic", "50 Gbps"}}, 1.25),
                  change("<i>buckets</i>", {{"stack.bucket_cap", "1 MiB"}}, 1.125),
                  change("a fourth", {{"batch_per_gpu", "2"}}, 1.0625),
                  {.what = {.change = "tree", .set = {}, .remark = {}, .reason = "tree needs <two>"},
                   .step_time = {},
                   .throughput = {}}};
  const std::string page = report_html(run, origin, changes);
  for (const auto& [before, after] : {std::pair("answer", "limits"), std::pair("limits", "changes")})
    CHECK(page.find(fmt::format("<section id=\"{}\">", before)) <
          page.find(fmt::format("<section id=\"{}\">", after)));
  // 13 ms over 1.08 and over 0.88
  CHECK(shows(page, "<td>step time</td><td><strong>13.0 ms</strong></td>"));
  CHECK(shows(page, "<td>expected time</td><td>12.0 ms to 14.8 ms</td>"));
  CHECK(shows(page, "<td>-12 to +8 %</td>"));
  CHECK(shows(
      page,
      "class=\"verdict\">Largest gains: GPUs four times as fast (4.00 times samples/s), then NICs of 50 "
      "Gbps (+25.0 % samples/s), then &lt;i&gt;buckets&lt;/i&gt; (+12.5 % samples/s).</p>"));
  for (const char* const part :
       {"GPUs twice as fast", "a fourth", "<h2>Not tried</h2>", "a &lt;remark&gt;",
        "<code>platform.fabric.nic=&quot;50 Gbps&quot;</code>", "tree needs &lt;two&gt;",
        "trainyard run experiment.resolved.yaml --set KEY=VALUE",
        "<td>unchanged</td><td>13.00 ms</td><td>9,850</td>"}) {
    CAPTURE(part);
    CHECK(shows(page, part));
  }
}

TEST_CASE("a page without tried changes says why, or nothing") {
  CHECK(shows(report_html(sample_result(), origin, {.why_none = "None, because <it> takes long."}),
              "None, because &lt;it&gt; takes long."));
  CHECK_FALSE(shows(report_html(sample_result(), origin), "Changes that help"));
  Run run = sample_result();
  run.expected_error = unknown("no run is <like> it");
  CHECK(shows(report_html(run, origin),
              "<td>expected error</td><td>unknown</td><td>no run is &lt;like&gt; it"));
}

TEST_CASE("a number stays on a line with its unit, and texts that are copied have ordinary blanks") {
  CHECK(prose("takes 2 min 10 s, or 5.3 % of (4.1 ms).").markup ==
        "takes <span class=\"n\">2 min 10 s,</span> or <span class=\"n\">5.3 %</span> of "
        "<span class=\"n\">(4.1 ms).</span>");
  CHECK(prose("batch 128 <b> layer1 of 3").markup == "batch 128 &lt;b&gt; layer1 of 3");
  CHECK(prose(" 8 h").markup == " <span class=\"n\">8 h</span>");
  CHECK(prose("x.nic=10 Gbps, n=4: 15 comparable runs").markup ==
        "x.nic=<span class=\"n\">10 Gbps,</span> n=4: 15 comparable runs");
  CHECK(prose("").markup.empty());
}

TEST_CASE("collectives that keep ranks from computing come first") {
  Run run = sample_result();
  Step& step = step_in(run);
  CollectiveRow hidden = step.collectives.front();
  hidden.name = "hidden one";
  step.collectives.insert(step.collectives.begin(), hidden);
  for (TimelineEvent& event : step.bars) event.collective += event.collective >= 0 ? 1 : 0;
  const std::string table = html_of(run, add_collectives);
  CHECK(table.find(step.collectives.back().name) < table.find("hidden one"));
}

TEST_CASE("a job with faults shows where its time goes and the intervals that were simulated") {
  Run run = sample_result();
  FaultReport& faults = run.faults.emplace();
  faults.runs = 3;
  faults.work = Seconds(36000);
  faults.wall = Seconds(40000);
  faults.lost = Seconds(3000);
  faults.writing = Seconds(1000);
  faults.share = 0.9;
  faults.share_low = 0.85;
  faults.share_high = 0.93;
  faults.every = faults.daly = Seconds(1800);
  faults.young = Seconds(1900);
  faults.is_daly = true;
  faults.intervals = {{Seconds(900), Seconds(41000), Seconds(41010)},
                      {Seconds(1800), Seconds(40000), {}},
                      {Seconds(9000), {}, {}}};
  const std::string page = report_html(run, origin);
  CHECK(shows(page, "of work take 11 h 07 min"));
  CHECK(shows(page, "90.0 % of the throughput (95 % confidence: 85.0 % to 93.0 %)"));
  CHECK(shows(page, "never finishes"));
  CHECK(shows(page, "Daly&#39;s interval: 30 min 00 s"));
  CHECK(shows(page, "</svg> simulated"));
  for (IntervalRow& row : faults.intervals) row.wall.reset();
  CHECK_FALSE(shows(report_html(run, origin), "</svg> simulated"));
}

TEST_CASE("an expected error on one side of 0 says to which side published runs were") {
  ExpectedError expected{.low = -0.35, .high = -0.03, .runs = 8};
  const auto has = [&](const std::string& part) {
    return expected_error_in_words(expected).find(part) != std::string::npos;
  };
  CHECK(has("does not contain 0: such runs were nearly all slower than predicted"));
  expected = {.low = 0.01, .high = 0.2, .runs = 8};
  CHECK(has("does not contain 0: such runs were nearly all faster than predicted"));
  expected = {.low = 0.004, .high = 0.2, .runs = 8};  // printed as 0 to +20 %
  CHECK_FALSE(has("does not contain 0"));
}
