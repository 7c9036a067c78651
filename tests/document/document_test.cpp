#include "document/writers.hpp"
#include "has_all.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <string>

using namespace trainyard;

namespace {

doc::Document sample() {
  doc::Document page{.title = "A run", .version = "1"};
  page.section("limits", "what limits it").fact("network", "busy for 80 %");
  return page;
}

}  // namespace

TEST_CASE("a fact is one line and appears in every form") {
  doc::Document page = sample();
  page.sections.front().add(doc::Fact{"moon_j", "energy of the moon", doc::Value("3 J", 3.0), "per step"});
  CHECK(has_all(doc::text(page), "what limits it\n", "  energy of the moon 3 J               per step\n"));
  CHECK(has_all(doc::markdown(page), "#### What limits it\n\n", "- energy of the moon: 3 J; per step\n"));
  CHECK(has_all(doc::html(page), "<h2>What limits it</h2>", "<td>energy of the moon</td>",
                "<span class=\"n\">3 J</span>", "per step"));
  const auto fact = doc::json(page)["sections"][0]["parts"][1];
  CHECK(fact["key"] == "moon_j");
  CHECK(fact["value"]["number"] == 3);
  CHECK(fact["value"]["text"] == "3 J");
}

TEST_CASE("a label wider than its column leaves the remark the rest of the line") {
  doc::Document page = sample();
  const std::string remark = "717 samples/s with the whole model and the samples of all ranks that divide it";
  page.sections.front().add(doc::Fact{"a", "one processor alone", doc::Value("357 ms", 0.357), remark});
  page.sections.front().add(doc::Fact{"b", "parameters of the network", {}, remark + ", " + remark});
  const std::string text = doc::text(page, {.width = 80});
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    CHECK(text.find('\n', at) - at <= 80);
  CHECK(has_all(text, "  one processor alone 357 ms            717 samples/s with the whole model and\n"));
}

TEST_CASE("details are on pages alone, and charts of letters in the terminal alone") {
  doc::Document page = sample();
  page.sections.front().add(doc::Sentence{.text = "a detail", .shown = doc::Shown::pages});
  page.sections.front().add(doc::Listing{.text = "===---", .shown = doc::Shown::text});
  CHECK(doc::text(page).find("a detail") == std::string::npos);
  CHECK(has_all(doc::text(page), "===---"));
  for (const std::string& form : {doc::html(page), doc::markdown(page)}) {
    CHECK(has_all(form, "a detail"));
    CHECK(form.find("<pre") == std::string::npos);
  }
}

TEST_CASE("sections for a browser are on its page alone") {
  doc::Document page = sample();
  page.section("more", "more").fact("dear", "fact");
  page.sections.back().shown = doc::Shown::browser;
  CHECK(doc::text(page).find("dear") == std::string::npos);
  CHECK(doc::markdown(page).find("dear") == std::string::npos);
  CHECK(has_all(doc::html(page), "<h2>More</h2>", "dear"));
}

TEST_CASE("pages begin with the answer, the terminal keeps the order") {
  doc::Document page = sample();
  doc::Section& answer = page.section("answer", "in short");
  answer.is_answer = answer.is_untitled_in_text = true;
  answer.add(doc::Sentence{.text = "B is faster", .is_main = true, .indent = 0});
  CHECK(doc::markdown(page).starts_with("### A run\n\n**B is faster**\n\n#### What limits it\n"));
  CHECK(doc::text(page).ends_with("busy for 80 %\n\nB is faster\n"));
  const std::string html = doc::html(page);
  CHECK(html.find("In short</h2>") < html.find("What limits it</h2>"));
}

TEST_CASE("a row of a table may be a part of the one above, hold commands, or one remark") {
  doc::Document page = sample();
  doc::Table table{
      .key = "t",
      .title = "times",
      .columns = {{.head = "part"}, {.head = "time", .layout = number_column()}, {.head = "set"}}};
  table.rows.push_back({.cells = {"all", doc::Value("2 s", 2.0)}});
  table.rows.push_back({.cells = {"half", doc::Value("1 s", 1.0)}, .depth = 1});
  doc::Row changed{.cells = {"less", doc::Value("1 s", 1.0), ""}};
  changed.cells.back().code = {"--set a=1", "--set b=2"};
  table.rows.push_back(changed);
  table.rows.push_back({.cells = {"none"}, .rest = "it does not fit"});
  page.sections.front().add(table);
  const std::string text = doc::text(page);
  CAPTURE(text);
  CHECK(has_all(text, "    half   1 s\n", "--set a=1\n", "--set b=2\n", "none"));
  CHECK(has_all(doc::markdown(page), "| part | time | set |\n| --- | ---: | --- |\n",
                "| &nbsp;&nbsp;half | 1 s |  |\n", "`--set a=1` `--set b=2`",
                "| none | it does not fit |  |\n"));
  CHECK(has_all(doc::html(page), "\u2003half", "<code>--set a=1</code>", "colspan=\"2\">it does not fit"));
  CHECK(doc::json(page)["sections"][0]["parts"][1]["rows"][1]["cells"][1]["number"] == 1);
}

TEST_CASE("Markdown separates blocks by blank lines, and lines of one list by none") {
  doc::Document page{.title = "x", .lead = {"about x"}, .warnings = {"x.yaml:1: beware"}};
  doc::Section& section = page.section("s", "parts", "of x");
  section.fact("a", "1");
  section.add(doc::Share{.label = "b", .part = 0, .whole = 0, .text = "0 s", .fill = "compute"});
  for (int i = 0; i < 2; ++i)
    section.add(doc::Table{.key = "t", .title = "t", .columns = {{.head = "c"}}, .rows = {{.cells = {"1"}}}});
  section.add(doc::Sentence{"a sentence"});
  section.add(doc::Heading{"more", "a remark"});
  CHECK(doc::markdown(page) ==
        "### x\n\nabout x\n\nx.yaml:1: beware\n\n#### Parts\n\nof x\n\n- a: 1\n- b: 0 s (0.0 %)\n\n"
        "| c |\n| --- |\n| 1 |\n\n| c |\n| --- |\n| 1 |\n\na sentence\n\n##### More\n\na remark\n");
}

TEST_CASE("no form reads names as markup") {
  doc::Document page = sample();
  page.sections.front().fact("<b>|", "`x </script>");
  CHECK(has_all(doc::markdown(page), "\\<b>\\|", "\\`x \\</script>"));
  const std::string html = doc::html(page);
  CHECK(html.find("<b>") == std::string::npos);
  CHECK(has_all(html, "&lt;b&gt;|"));
}

TEST_CASE("shares are bars in the terminal, and one bar and a table on a page") {
  doc::Document page = sample();
  for (const char* const name : {"work", "lost"})
    page.sections.front().add(
        doc::Share{.label = name, .part = 1, .whole = 2, .text = "1 s", .fill = "compute"});
  CHECK(has_all(doc::text(page), "  work            1 s          50.0 % ####"));
  CHECK(has_all(doc::markdown(page), "- lost: 1 s (50.0 %)\n"));
  const std::string html = doc::html(page);
  CHECK(html.find("class=\"stack\"") == html.rfind("class=\"stack\""));
  CHECK(has_all(html, "work: 1 s, 50.0 %", "lost: 1 s, 50.0 %"));
  CHECK(doc::json(page)["sections"][0]["parts"][2]["whole"] == 2);
}

TEST_CASE("lanes are a picture and data for the script on a page; letters are for the terminal") {
  doc::Document page = sample();
  doc::Section& section = page.sections.front();
  section.add(
      doc::Letters{.key = "l",
                   .lines = {{"compute", "compute", [](int width) { return std::string(width, 'f'); }}, {}},
                   .end = "5 ns"});
  doc::Lanes lanes{.key = "t", .title = "times", .kinds = {{"forward", "forward"}}, .caption = "rank 0"};
  lanes.items = {{.title = "</script>", .details = "d", .flops = 2e9, .bytes = 3, .alone = 4}};
  lanes.tracks = {{"rank 0", {{"compute", {{1, 3, 0, 0}, {4, 5, 0, -1}}}}}};
  lanes.still = lanes.tracks.front().lanes;
  section.add(lanes);
  const std::string text = doc::text(page, {.width = 60});
  CHECK(has_all(text, "\n  compute         |ffff", "|\n  ...\n", " 0", "5 ns\n"));
  CHECK(doc::text(page).find("rank 0") == std::string::npos);
  const std::string html = doc::html(page);
  CHECK(has_all(html, "id=\"timeline-view\"", "<rect class=\"forward\" x=\"20.000%\" width=\"40.000%\"",
                "<figcaption>rank 0</figcaption>", "id=\"timeline-data\"", "\\u003c/script>"));
  CHECK(html.find("ffff|") == std::string::npos);
  const auto parts = doc::json(page)["sections"][0]["parts"];
  CHECK(parts[1]["lines"].size() == 1);
  CHECK(parts[2]["end"] == 5);
  CHECK(parts[2]["items"][0] == nlohmann::json::parse(R"(["</script>", "d", 2000000000, 3, 4])"));
  CHECK(parts[2]["tracks"][0][1][0][1] == nlohmann::json::parse("[1, 2, 0, 0, 1, 1, 0, -1]"));
}

TEST_CASE("a bar too short to be seen is drawn alone, not next to one of another kind") {
  doc::Lanes lanes{.key = "t", .title = "times", .kinds = {{"forward", "forward"}, {"update", "update"}}};
  // half a pixel is 5; joined with the first, next to it, far from it
  lanes.tracks = {
      {"rank 0",
       {{"compute", {{0, 100, 0}, {102, 104, 0}, {105, 107, 1}, {500, 502, 1}, {9000, 10000, 0}}}}}};
  lanes.still = lanes.tracks.front().lanes;
  doc::Document page = sample();
  page.sections.front().add(lanes);
  const std::string html = doc::html(page);
  CHECK(has_all(html, "<rect class=\"forward\" x=\"0.000%\" width=\"1.040%\"",
                "<rect class=\"update\" x=\"5.000%\" width=\"0.020%\""));
  CHECK(html.find("<rect class=\"update\" x=") == html.rfind("<rect class=\"update\" x="));
}

TEST_CASE("a blank line is no part in JSON") {
  doc::Document page = sample();
  const auto before = doc::json(page);
  page.sections.front().add(doc::gap());
  CHECK(doc::json(page) == before);
}

TEST_CASE("rows of a table are objects by the keys of its columns, and missing numbers are null") {
  doc::Table table{
      .columns = {{.head = "long name"}, {.key = "time_s", .head = "time", .layout = number_column()}, {}}};
  table.rows.push_back({.cells = {"a", doc::Value("2 ms", 0.002), "the first"}});
  table.rows.push_back({.is_rule = true});
  table.rows.push_back({.cells = {"", "unknown"}});
  const auto rows = doc::rows_json(table);
  CHECK(rows.dump() == R"([{"long_name":"a","time_s":0.002},{"long_name":"","time_s":null}])");
}

TEST_CASE("facts of an account begin at the margin of the terminal, with labels of one width") {
  doc::Document page;
  page.account("a", "title", 8).fact("label", "text");
  page.account("b", "title", 8).fact("", "more");
  CHECK(doc::text(page) == "label   text\n\n        more\n");
  CHECK(doc::markdown(page).find("- label: text") != std::string::npos);
}
