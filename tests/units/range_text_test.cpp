// Numbers and quantities of any kind, and ranges of them.

#include "units/range_text.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("a number and a quantity of any kind are told apart") {
  CHECK(plain_value("0.5")->number == 0.5);
  CHECK(plain_value("0.5")->kind.empty());
  CHECK(plain_value("100 Gbps")->number == plain_value("12.5 GB/s")->number);
  CHECK(plain_value("100 Gbps")->kind == plain_value("12.5 GB/s")->kind);
  CHECK(plain_value("2 us")->kind != plain_value("2 GB")->kind);
  CHECK_FALSE(plain_value("fat_tree"));
}

TEST_CASE("the ends of a range have its unit, and lie in order") {
  const auto range = plain_range("5 .. 20 GB/s");
  REQUIRE(range);
  CHECK(range->low == "5 GB/s");
  CHECK(range->high == "20 GB/s");
  CHECK(lies_in("100 Gbps", *range));
  CHECK(lies_in("5 GB/s", *range));
  CHECK_FALSE(lies_in("21 GB/s", *range));
  CHECK_FALSE(lies_in("10", *range));
  CHECK(plain_range("1..8")->low == "1");
  for (const char* const text : {"8..1", "1..1", "a..b", "1..", "..8", "1", "1 us..8 GB/s", "1..8 miles"})
    CHECK_FALSE(plain_range(text));
}
