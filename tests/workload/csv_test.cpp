#include "workload/csv.hpp"

#include "errors_of.hpp"
#include "facts_in.hpp"
#include "units/spreadsheet_text.hpp"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace trainyard;

namespace {

std::vector<Diagnostic> csv_errors(const std::string& text) {
  CsvProblems problems("t.csv", text);
  parse_csv(text, problems);
  return errors_of([&] { problems.finish(); });
}

CsvFile parse(const std::string& text) {
  CsvProblems problems("t.csv", text);
  CsvFile file = parse_csv(text, problems);
  CHECK(problems.empty());
  return file;
}

}  // namespace

TEST_CASE("cells are split, trimmed and unquoted, and know where they stand") {
  const CsvFile file = parse("\xEF\xBB\xBF# made by: hand\r\n\r\na, b ,c\r\n1,\"x, \"\"y\"\"\",\xC3\xA9\r\n");
  REQUIRE(file.comments.size() == 1);
  CHECK(file.comments[0].key == "made by");
  CHECK(file.comments[0].value.text == "hand");
  CHECK(file.comments[0].value.column == 12);
  REQUIRE(file.header.cells.size() == 3);
  CHECK(file.header.cells[1].text == "b");
  REQUIRE(file.rows.size() == 1);
  CHECK(file.rows[0].line == 4);
  CHECK(file.rows[0].cells[1].text == "x, \"y\"");
  CHECK(file.rows[0].cells[1].column == 3);
  CHECK(file.rows[0].cells[2].text == "\xC3\xA9");
  CHECK(file.rows[0].cells[2].column == 14);
  CHECK(file.rows[0].cells[2].width == 1);
}

TEST_CASE("a last line without a line break counts, empty cells too") {
  const CsvFile file = parse("a,b\n1,\n,2");
  REQUIRE(file.rows.size() == 2);
  CHECK(file.rows[0].cells[1].text.empty());
  CHECK(file.rows[1].cells[1].text == "2");
}

TEST_CASE("control characters in a line are refused: names of layers are printed") {
  const auto errors = csv_errors(
      "a,b\n1,\x1b[31mred\n2,x\xC2\x9B"
      "31m\n");
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].line == 2);
  CHECK(errors[0].column == 3);
  CHECK(facts_in(errors[0].message) == "U+001B");
  CHECK(errors[1].column == 4);
}

TEST_CASE("files that are no CSV are reported, not guessed at") {
  for (const char* text : {"", "\n\n", "# only: comments\n", "\xEF\xBB\xBF"}) {
    const auto errors = csv_errors(text);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].message == "the file is empty");
  }
  const auto latin = csv_errors("a,b\n1,caf\xE9\n");
  REQUIRE(latin.size() == 1);
  CHECK(latin[0].line == 2);
  CHECK(latin[0].message.find("byte 9 ") != std::string::npos);
  CHECK(csv_errors(std::string((64U << 20U) + 1, 'a')).at(0).message.find("67108865 bytes") !=
        std::string::npos);
}

TEST_CASE("all broken rows are reported with their lines") {
  const auto errors = csv_errors("a,b\n1\n1,2\n1,2,3\n\"x,1\n\"x\"y,1\n");
  REQUIRE(errors.size() == 4);
  CHECK(errors[0].line == 2);
  CHECK(errors[0].message.find("1 cells") != std::string::npos);
  CHECK(errors[1].line == 4);
  CHECK(errors[1].message.find("3 cells") != std::string::npos);
  CHECK(errors[2].line == 5);
  CHECK(errors[3].line == 6);
  CHECK(errors[3].message != errors[2].message);
  CHECK(errors[3].source_line == "\"x\"y,1");
}

TEST_CASE("the errors of a hopeless file are counted, not all printed") {
  std::string text = "a,b\n";
  for (int i = 0; i < 60; ++i) text += "1\n";
  const auto errors = csv_errors(text);
  REQUIRE(errors.size() == 51);
  CHECK(errors.back().message.find(" 10 ") != std::string::npos);
}

TEST_CASE("a line of thousands of cells is one error, whose line is not kept if it is long") {
  const auto errors = csv_errors(std::string(200'000, ','));
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].column == 1001);
  CHECK(errors[0].source_line.empty());
  CHECK(parse(std::string(999, ',')).header.cells.size() == 1000);
}

TEST_CASE("cells that a spreadsheet would execute are read as they were written") {
  for (const std::string text : {"=1+1", "a,=b", "-x;y", "'=1", "@", "a \"b\",+c"}) {
    CAPTURE(text);
    CHECK(csv_cell(text).find("'") != std::string::npos);
    const CsvFile file = parse("#key: " + with_apostrophes(text) + "\na,b\n" + csv_cell(text) + ",1\n");
    CHECK(file.rows[0].cells[0].text == text);
    CHECK(file.comments[0].value.text == text);
  }
  CHECK(csv_cell("-1.5") == "-1.5");
}
