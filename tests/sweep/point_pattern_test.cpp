#include "sweep/point_pattern.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

using namespace trainyard;

TEST_CASE("a value is met by itself, and by one of several") {
  CHECK(meets("resnet50", "resnet50"));
  CHECK_FALSE(meets("resnet50", "resnet101"));
  CHECK(meets("bert_base | bert_large", "bert_large"));
  CHECK(meets("bert_base|bert_large", "bert_base"));
  CHECK_FALSE(meets("bert_base | bert_large", "bert"));
  CHECK(meets("default", "default"));
}

TEST_CASE("numbers and quantities are met however they are written") {
  CHECK(meets("64", "64.0"));
  CHECK(meets("1000", "1e3"));
  CHECK(meets("0.1 GB/s", "100 MB/s"));
  CHECK(meets("0.3 GB/s", "300 MB/s"));
  CHECK(meets("100 Gbps", "12.5 GB/s"));
  CHECK(meets("25 us | 30 us", "0.03 ms"));
  CHECK_FALSE(meets("100 Gbps", "100 GB/s"));
  CHECK_FALSE(meets("64", "64 GB"));
}

TEST_CASE("a bound is met by what is smaller or larger, and by nothing of another kind") {
  CHECK(meets("<= 64", "64"));
  CHECK_FALSE(meets("< 64", "64"));
  CHECK(meets("<65", "64"));
  CHECK(meets("> 32", "64"));
  CHECK(meets(">= 25 Gbps", "100 Gbps"));
  CHECK_FALSE(meets(">= 25 Gbps", "1 GB/s"));
  CHECK_FALSE(meets("< 64", "fp32"));
  CHECK_FALSE(meets(">= 64", "fp32"));
  CHECK_FALSE(meets("< 64", "default"));
  CHECK_FALSE(meets("< 64 GB", "32"));
  CHECK_FALSE(meets("< 64 GB", "32 us"));
}

TEST_CASE("a bound and its opposite share out all numbers between them") {
  CHECK(rc::check([] {
    const int bound = *rc::gen::inRange(-1000, 1000);
    const std::string value = std::to_string(*rc::gen::inRange(-1000, 1000));
    RC_ASSERT(meets(fmt::format("< {}", bound), value) != meets(fmt::format(">= {}", bound), value));
    RC_ASSERT(meets(fmt::format("> {}", bound), value) != meets(fmt::format("<= {}", bound), value));
    RC_ASSERT(meets(std::to_string(bound), value) ==
              (meets(fmt::format(">= {}", bound), value) && meets(fmt::format("<= {}", bound), value)));
  }));
}

TEST_CASE("a condition that says nothing, or compares with no number, is wrong") {
  CHECK(wrong_condition("fp32 | amp").empty());
  CHECK(wrong_condition("<= 25 Gbps").empty());
  CHECK(wrong_condition(" ") == "the condition is empty");
  CHECK(wrong_condition("") == "the condition is empty");
  CHECK(wrong_condition("< amp") == "'amp' is not a number to compare with");
  CHECK(wrong_condition(">=") == "'' is not a number to compare with");
}

TEST_CASE("a pattern asks for all of its conditions") {
  const std::map<std::string, std::string> values{{"model", "resnet50"}, {"nodes", "4"}};
  const auto value_of = [&](const std::string& key) -> std::string_view { return values.at(key); };
  CHECK(meets(PointPattern{{"model", "resnet50"}, {"nodes", "> 2"}}, value_of));
  CHECK_FALSE(meets(PointPattern{{"model", "resnet50"}, {"nodes", "> 4"}}, value_of));
  CHECK(meets(PointPattern{}, value_of));
}
