#include "units/table.hpp"

#include "units/lines.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

namespace {

Table times() {
  Table table(
      {text_column().wraps(6), number_column(6), number_column(6).drops(1), number_column(6).drops(2)},
      {.indent = 2, .gap = 1, .elsewhere = "--json"});
  table.row("kernel", "count", "mean", "p90");
  table.row("a long name", 1, 22, 333);
  return table;
}

}  // namespace

TEST_CASE("a table that fits keeps the widths of its columns") {
  CHECK(times().text(60) ==
        "  kernel       count   mean    p90\n"
        "  a long name      1     22    333\n");
}

TEST_CASE("a table first loses its spare blanks, then wraps text, then leaves out columns and says so") {
  CHECK(times().text(30) ==
        "  kernel      count mean p90\n"
        "  a long name     1   22 333\n");
  CHECK(times().text(25) ==
        "  kernel   count mean p90\n"
        "  a long       1   22 333\n"
        "  name\n");
  CHECK(times().text(21) ==
        "  kernel    count p90\n"
        "  a long        1 333\n"
        "  name\n"
        "  left out: mean (in\n"
        "  --json or a wider\n"
        "  terminal)\n");
}

TEST_CASE("a matrix goes on below, with its first column") {
  Table table({text_column(), number_column(), number_column(), number_column()},
              {.indent = 0, .gap = 1, .goes_on_below = true});
  table.row("", "a", "b", "c");
  table.row("one", 1, 2, 3);
  CHECK(table.text(7) ==
        "    a b\n"
        "one 1 2\n"
        "\n"
        "    c\n"
        "one 3\n");
}

TEST_CASE("a text in place of the last cells stands behind the first, or below them") {
  Table table({number_column(), number_column(5)}, {.indent = 2, .gap = 2});
  table.row("ranks", "step");
  table.add_and_rest({"8"}, "does not fit [1]");
  CHECK(table.text(40) == "  ranks   step\n      8  does not fit [1]\n");
  CHECK(table.text(18) == "  ranks   step\n      8\n      does not fit\n      [1]\n");
}

TEST_CASE("a rule ends with the last column of numbers; a column without a cell is none") {
  Table table({text_column(4), text_column(9), number_column(3), text_column()}, {.indent = 0, .gap = 1});
  table.row("term", "", "GB", "");
  table.rule();
  table.row("peak", "", "1.5", "at the end");
  CHECK(table.text(60) == "term  GB\n--------\npeak 1.5 at the end\n");
}

TEST_CASE("a rest stays on its row's line where cells of other columns go below it") {
  Table table({text_column(), number_column(), text_column().drops(-1)}, {.indent = 0, .gap = 1});
  table.row("a", "b", "note");
  table.row("x", "1", "a note that is too long for a line");
  table.add_and_rest({"y"}, "rest");
  const std::string text = table.text(20);
  CAPTURE(text);
  CHECK(text.find("\ny rest\n") != std::string::npos);
}

TEST_CASE("a matrix of one column is printed though it is wider than the page") {
  Table table({text_column()}, {.indent = 0, .gap = 1, .goes_on_below = true});
  table.row("a-word-that-is-wider-than-the-page");
  CHECK(!table.text(20).empty());
}

TEST_CASE("commands are broken so that they can be pasted") {
  CHECK(command_lines("trainyard run a --set x=1", 2, 60) == "trainyard run a --set x=1");
  CHECK(command_lines("trainyard run a --set x=\"25 Gbps\" --batch 8", 2, 36) ==
        "trainyard run a --set \\\n      x=\"25 Gbps\" --batch 8");
}

TEST_CASE("wide lines are wrapped below their indent, words whole; others stay") {
  CHECK(fitted_lines("short  line\n  a longer line here\n", 16) ==
        "short  line\n  a longer\n    line here\n");
  CHECK(fitted_lines("/a/path/that/is/too/long here", 10) == "/a/path/that/is/too/long\n  here");
}

TEST_CASE("a text begins below a label that leaves it no room") {
  CHECK(hanging("label  ", "one two three", 40) == "label  one two three\n");
  CHECK(hanging("a label of a certain length  ", "one two three four five", 40) ==
        "a label of a certain length\n        one two three four five\n");
  CHECK(comment("one two three", 9) == "# one two\n# three\n");
}
