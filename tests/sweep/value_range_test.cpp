#include "sweep/value_range.hpp"

#include "errors_of.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace trainyard;

using Texts = std::vector<std::string>;

namespace {

std::string error_of(const std::string& text) {
  const auto errors = errors_of([&] { values_of_range(text); });
  return errors.empty() ? "" : errors.front().message;
}

std::string error_of_list(const std::string& text) {
  const auto errors = errors_of([&] { split_list(text); });
  return errors.empty() ? "" : errors.front().message;
}

}  // namespace

TEST_CASE(
    "a range goes up in steps of one, of its own, or by a factor, to the last value not above its end") {
  CHECK(values_of_range("1..4") == Texts{"1", "2", "3", "4"});
  CHECK(values_of_range("8..30 step 8") == Texts{"8", "16", "24"});
  CHECK(values_of_range("1..16 times 2") == Texts{"1", "2", "4", "8", "16"});
  CHECK(values_of_range("1..100 times 10") == Texts{"1", "10", "100"});
  CHECK(values_of_range("3..3") == Texts{"3"});
  CHECK(values_of_range(" 1e2..3e2 step 100 ") == Texts{"100", "200", "300"});
  CHECK(values_of_range("-2..1") == Texts{"-2", "-1", "0", "1"});
}

TEST_CASE("every value of a range has its unit as written") {
  CHECK(values_of_range("100..400 Gbps times 2") == Texts{"100 Gbps", "200 Gbps", "400 Gbps"});
  CHECK(values_of_range("1..2us") == Texts{"1us", "2us"});
  CHECK(values_of_range("0.5..1 GB/s step 0.25") == Texts{"0.5 GB/s", "0.75 GB/s", "1 GB/s"});
}

TEST_CASE("tenths add up to the end, and are printed as tenths") {
  CHECK(values_of_range("0.1..0.5 step 0.1") == Texts{"0.1", "0.2", "0.3", "0.4", "0.5"});
  CHECK(values_of_range("0..1 step 0.1").size() == 11);
  CHECK(values_of_range("-0.3..0 step 0.1").back() == "0");
  CHECK(values_of_range("1..2 times 1.1").size() == 8);
}

TEST_CASE("what is no range is the value it is") {
  for (const std::string text : {"64", "fp32", "25 Gbps", "../models/mine.yaml", "./a..b", "a..b", "[1, 2]",
                                 "", "1.5", "default", "1/..2"}) {
    CAPTURE(text);
    CHECK(values_of_range(text) == Texts{text});
  }
}

TEST_CASE("what means to be a range and is none is an error that says why") {
  for (const std::string text :
       {"8..1", "1..", "1..x", "1..8 by 2", "1..8 times 1", "0..8 times 2", "1..8 step 0", "1..8 step -1",
        "1..100001", "1..2 step 1e-300", "1..1e999", "1..8 step two"}) {
    CAPTURE(text);
    CHECK(error_of(text).starts_with("'" + text + "' is not a range: "));
  }
}

TEST_CASE("a text of a million letters is no range, and ends nothing") {
  const std::string text = "1" + std::string(1'000'000, 'a') + "..2";
  CHECK(values_of_range(text) == Texts{text});
}

TEST_CASE("the values of any range of whole numbers are those of a loop") {
  CHECK(rc::check([] {
    const int from = *rc::gen::inRange(-1000, 1000);
    const int to = from + *rc::gen::inRange(0, 500);
    const int step = *rc::gen::inRange(1, 60);
    const Texts values =
        values_of_range(std::to_string(from) + ".." + std::to_string(to) + " step " + std::to_string(step));
    Texts expected;
    for (int value = from; value <= to; value += step) expected.push_back(std::to_string(value));
    RC_ASSERT(values == expected);
  }));
}

TEST_CASE("a list is cut at the commas outside brackets, braces and quotes") {
  CHECK(split_list("32,64") == Texts{"32", "64"});
  CHECK(split_list(" 25 Gbps , 100 Gbps ") == Texts{"25 Gbps", "100 Gbps"});
  CHECK(split_list("[a, b],c") == Texts{"[a, b]", "c"});
  CHECK(split_list("{kind: ring, k: [1,2]},x") == Texts{"{kind: ring, k: [1,2]}", "x"});
  CHECK(split_list("\"a,b\",'c,d'") == Texts{"\"a,b\"", "'c,d'"});
  CHECK(split_list("1..8 step 2,16") == Texts{"1..8 step 2", "16"});
  CHECK(error_of_list("32,,64") == "'32,,64' has an empty value");
  CHECK(error_of_list("") == "'' has an empty value");
  CHECK(error_of_list("32, ") == "'32, ' has an empty value");
}
