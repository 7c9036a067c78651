// What report.html is put together from: escaped texts, tables, axes, charts.

#include "document/html.hpp"

#include "document/fluid_plot.hpp"
#include "document/html_page.hpp"
#include "document/page_files.hpp"
#include "document/time_unit.hpp"
#include "document/writers.hpp"
#include "report/known_errors.hpp"
#include "report/known_errors_file.hpp"
#include "report/links_with_same_load.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

std::size_t times_in(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::vector<double> values_of(const PlotAxis& axis) {
  std::vector<double> values;
  for (const AxisTick& tick : axis.ticks) values.push_back(tick.value);
  return values;
}

std::string plain(double number) { return rounded_tick(number); }

}  // namespace

TEST_CASE("a text becomes markup with nothing in it that is markup") {
  CHECK(as_text("<b>&\"it's\"</b>").markup == "&lt;b&gt;&amp;&quot;it&#39;s&quot;&lt;/b&gt;");
  CHECK(as_text("caf\xC3\xA9 \xE2\x86\x92").markup == "caf\xC3\xA9 \xE2\x86\x92");
  CHECK(as_text(std::string("a\0b\x1b[1m", 7)).markup ==
        "a\xEF\xBF\xBD"
        "b\xEF\xBF\xBD[1m");
  CHECK(as_text("two\nlines\tand a tab").markup == "two\nlines\tand a tab");
}

TEST_CASE("bytes that are not UTF-8 become one replacement character each") {
  CHECK(as_text("\xFF<\xC3(").markup == "\xEF\xBF\xBD&lt;\xEF\xBF\xBD(");
  CHECK(as_text("end \xE2\x86").markup == "end \xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("commands in prose stand between backticks") {
  CHECK(prose("run `a <b>` in 5 ms, `then").markup ==
        "run <code>a &lt;b&gt;</code> in <span class=\"n\">5 ms,</span> `then");
}

TEST_CASE("an attribute's value cannot end it") {
  CHECK(attribute("title", "\"><script>") == " title=\"&quot;&gt;&lt;script&gt;\"");
}

TEST_CASE("a table aligns its first texts as one, escapes cells and counts rows") {
  HtmlTable table("a \"name\"", {{"what", true}, {"time"}, {"remark", true}});
  table.row({as_text("<x>"), as_text("1 s"), as_text("slow")});
  table.row({as_text("y"), as_text("failed & gone")});
  CHECK(table.rows() == 2);
  const std::string html = table.html().markup;
  CHECK(html.find("<table class=\"t1\">") != std::string::npos);
  CHECK(html.find("aria-label=\"a &quot;name&quot;\"") != std::string::npos);
  CHECK(html.find("<tr><td>&lt;x&gt;</td><td>1 s</td><td class=\"l\">slow</td></tr>") != std::string::npos);
  CHECK(html.find("<td class=\"l\" colspan=\"2\">failed &amp; gone</td>") != std::string::npos);
  CHECK(html.find("class=\"scroll\"") != std::string::npos);
  CHECK(table.html(true).markup.find("class=\"scroll tall\"") != std::string::npos);
}

TEST_CASE("heads break after a slash, a table without heads has none, and a ratio stays") {
  CHECK(HtmlTable("t", {{"a /b", true}, {"B / A"}}).html().markup.find("<th>a/<wbr/>b</th><th>B / A</th>") !=
        std::string::npos);
  CHECK(HtmlTable("t", {{"", true}, {""}}).html().markup.find("<th") == std::string::npos);
}

TEST_CASE("more columns of text than the style sheet has classes for are aligned as text too") {
  std::vector<HtmlColumn> columns(10, {"key", true});
  columns.push_back({"number"});
  HtmlTable table("many", columns);
  table.row(std::vector<Html>(11, as_text("x")));
  const std::string html = table.html().markup;
  CHECK(html.find("<table class=\"t8\">") != std::string::npos);
  CHECK(report_css.find(".t8 ") != std::string_view::npos);
  CHECK(report_css.find(".t9 ") == std::string_view::npos);
  CHECK(report_css.find(".k,") != std::string_view::npos);
  CHECK(times_in(html, "<td>x</td>") == 9);
  CHECK(times_in(html, "<td class=\"k\">x</td>") == 2);
  CHECK(times_in(html, "<th class=\"k\">key</th>") == 2);
}

TEST_CASE(
    "a page has its style and script inside, leaves out empty sections, and data cannot end its element") {
  const std::string text =
      html_text({.title = "a <title>",
                 .lead = paragraph("lead"),
                 .sections = {{"first", "First", paragraph("text")}, {"none", "None", {}}},
                 .points = R"({"name":"</script><!--"})",
                 .version = "1.2"});
  CHECK(text.starts_with("<!DOCTYPE html>\n"));
  CHECK(text.find("<title>a &lt;title&gt;</title>") != std::string::npos);
  CHECK(text.find(report_css) != std::string::npos);
  CHECK(text.find(report_js) != std::string::npos);
  CHECK(text.find("<section id=\"first\">") != std::string::npos);
  CHECK(text.find("<a href=\"#first\">First</a>") != std::string::npos);
  CHECK(text.find("id=\"none\"") == std::string::npos);
  CHECK(text.find(R"({"name":"\u003c/script>\u003c!--"})") != std::string::npos);
  CHECK(times_in(text, "</script>") == 2);
}

TEST_CASE("nothing in the style sheet or the script could load or end anything") {
  for (const std::string_view text : {report_css, report_js}) {
    for (const std::string_view word : {"</", "http:", "https:", "@import", "fetch(", "innerHTML", "eval("})
      CHECK(text.find(word) == std::string_view::npos);
  }
}

TEST_CASE("the errors that are known are those of the file the build took in, totals first") {
  const auto all = known_errors(known_errors_csv);
  REQUIRE(all.size() > 10);
  CHECK(all.front()[0].starts_with("all "));
  CHECK_FALSE(all.back()[0].starts_with("all "));
  const std::string html = [] {
    doc::Document page;
    add_known_errors(page, "");
    return doc::html(page);
  }();
  for (const auto& line : all) {
    CHECK(line.size() == 13);
    CHECK(html.find("<td>" + as_text(line[0]).markup + "</td><td>" + line[1] + "</td><td>" + line[2]) !=
          std::string::npos);
  }
}

TEST_CASE("known errors are read by fit; an unknown one is a mistake of ours") {
  const auto all =
      known_errors("family,protocol,rows,mape,p90\n\"a, b\",1node,1,0.5,0.6\n\"a, b\",nothing,3,1.5,2.5\n");
  REQUIRE(all.size() == 1);
  CHECK(all[0] ==
        std::vector<std::string>{"a, b", "3", "1.5", "2.5", "", "", "", "", "", "", "1", "0.5", "0.6"});
  CHECK_THROWS_AS(known_errors("family,protocol,rows,mape,p90\nx,2gpu,1,1,1\n"), std::logic_error);
}

TEST_CASE("links that differ in numbers only are one group, told by their busiest") {
  const std::vector<LinkRow> rows{{"node0.gpu0->nvswitch0", Bandwidth(1e9), Bytes(10), 0.1},
                                  {"node12.gpu3->nvswitch1", Bandwidth(1e9), Bytes(30), 0.3},
                                  {"node0.gpu1->nvswitch0", Bandwidth(2e9), Bytes(20), 0.9},
                                  {"nic0->fabric", Bandwidth(1e9), Bytes(5), 0.2}};
  const std::vector<LinksWithSameLoad> groups = links_with_same_load(rows);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].busiest == &rows[2]);  // another capacity
  CHECK(groups[1].kind == "node#.gpu#->nvswitch#");
  CHECK(groups[1].busiest == &rows[1]);
  CHECK(groups[1].links == 2);
  CHECK(groups[1].least == Bytes(10));
  CHECK(groups[1].most == Bytes(30));
  CHECK(groups[2].kind == "nic#->fabric");
}

TEST_CASE("a linear axis begins at 0 unless told otherwise and ends at ticks around its values") {
  const PlotAxis axis = linear_axis({3, 9}, 0, 100, 6, plain);
  CHECK(values_of(axis) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(axis.at(5) == doctest::Approx(50));
  CHECK(values_of(linear_axis({30.55, 32.04}, 0, 100, 5, plain, false)) ==
        std::vector<double>{30.5, 31, 31.5, 32, 32.5});
  CHECK(values_of(linear_axis({1}, 0, 1, 6, plain)).back() == 1);  // no tick beyond
  CHECK(values_of(linear_axis({0}, 0, 1, 5, plain)).size() >= 2);
  CHECK(values_of(linear_axis({7}, 0, 1, 5, plain, false)).size() >= 2);
  const PlotAxis one = linear_axis({1, std::nextafter(1.0, 2.0)}, 0, 1, 8, plain, false);
  CHECK(one.ticks.size() >= 2);
  CHECK(one.ticks.size() <= 8);
  CHECK(one.ticks.back().value == doctest::Approx(2));
}

TEST_CASE("an axis of decades takes values below 1 and as few ticks as it may have") {
  CHECK(values_of(decades_axis({0.15, 0.9}, 0, 100, 8, plain)) == std::vector<double>{0.1, 0.2, 0.5, 1});
  const PlotAxis wide = decades_axis({0.02, 3e5}, 0, 100, 8, plain);
  CHECK(wide.ticks.size() <= 9);
  CHECK(wide.ticks.front().value <= 0.02);
  CHECK(wide.ticks.back().value >= 3e5);
  CHECK(values_of(decades_axis({5}, 0, 100, 8, plain)).size() == 2);
}

TEST_CASE("ticks are short numbers; times on an axis share a unit") {
  CHECK(rounded_tick(0.03) == "0.03");
  CHECK(rounded_tick(100000) == "100,000");
  CHECK(rounded_tick(5e6) == "5 M");
  CHECK(time_unit(Seconds(86400 * 3)).name == "days");
  CHECK(time_unit(Seconds(7200)).name == "hours");
  CHECK(time_unit(Seconds(1.5)).name == "ms");
  CHECK(time_unit(Seconds(0)).name == "us");
}

TEST_CASE("a bar's parts lie beside each other, and what is nothing is not drawn") {
  const std::string bar =
      stacked_bar("parts",
                  {{"forward", "a", 0.25, "1 s"}, {"waiting", "b", 0, "0 s"}, {"update", "c", 0.5, "2 s"}})
          .markup;
  CHECK(bar.find("class=\"forward\" x=\"0.000%\" width=\"25.000%\"") != std::string::npos);
  CHECK(bar.find("class=\"update\" x=\"25.000%\" width=\"50.000%\"") != std::string::npos);
  CHECK(bar.find("waiting") == std::string::npos);
  CHECK(bar.find("<title>a: 1 s</title>") != std::string::npos);
}

TEST_CASE("a plot has its axes, lines and marks where their values are") {
  FluidPlot plot("<name>", linear_axis({0, 10}, FluidPlot::across_begin, FluidPlot::across_length, 6, plain),
                 "GPUs", linear_axis({0, 100}, FluidPlot::up_begin, FluidPlot::up_length, 6, plain), "rate");
  plot.line("series0", {{0, 0, {}}, {10, 100, {}}});
  plot.marks("series0", 2, {{5, 50, "the <middle>"}});
  const std::string html = plot.html().markup;
  CHECK(html.find("aria-label=\"&lt;name&gt;\"") != std::string::npos);
  CHECK(html.find("points=\"3.00,232.0 97.00,12.0 \"") != std::string::npos);
  CHECK(html.find("href=\"#m2\" x=\"50.00%\" y=\"122.0\"><title>the &lt;middle&gt;</title>") !=
        std::string::npos);
}
