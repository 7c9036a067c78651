#include "units/csv.hpp"

#include "units/quantity.hpp"

#include <doctest/doctest.h>
#include <optional>

using namespace trainyard;

TEST_CASE("cells are quoted only where they must be") {
  CHECK(csv_cell("layer1.0") == "layer1.0");
  CHECK(csv_cell("a,b") == "\"a,b\"");
  CHECK(csv_cell("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(csv_cell(" x") == "\" x\"");
  CHECK(csv_cell("x\t") == "\"x\t\"");
  CHECK(csv_cell("#x") == "\"#x\"");
  CHECK(csv_cell("").empty());
}

TEST_CASE("a row has texts, numbers in SI base units, and empty cells for what is missing") {
  CsvText csv("a,b,c,d,e");
  csv.row("x, y", 1, 0.1 + 0.2, Seconds(1e-3), std::optional<double>());
  csv.add("=1");
  csv.add(true);
  csv.end_row();
  CHECK(csv.text() == "a,b,c,d,e\n\"x, y\",1,0.3,0.001,\n'=1,1\n");
}
