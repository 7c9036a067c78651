// Times in text.

#include "imports/kineto_parser.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

using namespace trainyard;

TEST_CASE("microseconds are read to the nanosecond, whatever they are counted from") {
  CHECK(nanoseconds_of_us("0") == 0);
  CHECK(nanoseconds_of_us("12") == 12'000);
  CHECK(nanoseconds_of_us("12.5") == 12'500);
  CHECK(nanoseconds_of_us("1623142623460111") == 1'623'142'623'460'111'000);
  CHECK(nanoseconds_of_us("4458676522690.655") == 4'458'676'522'690'655);
  CHECK(nanoseconds_of_us("0.0004") == 0);
  CHECK(nanoseconds_of_us("0.0005") == 1);
  CHECK(nanoseconds_of_us("-1.25") == -1'250);
  CHECK(nanoseconds_of_us("1.5e3") == 1'500'000);
  CHECK(nanoseconds_of_us("\"42.001\"") == 42'001);
}

TEST_CASE("what is no time is none") {
  for (const char* text : {"", "\"\"", "NaN", "nan", "-", ".5", "1.2.3", "1,5", "12us", "0x10", "inf",
                           "1e400", "99999999999999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(nanoseconds_of_us(text));
  }
}

TEST_CASE("property: whole nanoseconds survive as text") {
  CHECK(rc::check([] {
    const auto ns = *rc::gen::inRange<std::int64_t>(-4'000'000'000'000'000'000, 4'000'000'000'000'000'000);
    const std::int64_t size = ns < 0 ? -ns : ns;
    RC_ASSERT(nanoseconds_of_us(fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000)) ==
              ns);
  }));
}
