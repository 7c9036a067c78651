// Events are cut from a file as a parser of JSON would, wherever their bytes lie.

#include "imports/event_cutter.hpp"

#include "imports/kineto_text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>
#include <string>
#include <vector>

using namespace trainyard;
using Json = nlohmann::json;

namespace {

std::string random_text() {
  const auto letters = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 9));
  std::string text;
  constexpr const char* parts[] = {"a", "\"", "\\", "{", "}", "[", "]", ",", "a longer word "};
  for (const int letter : letters) text += parts[letter];
  return text;
}

std::vector<std::string> cut(const std::string& text) {
  const testing::ProfileFile file(text);
  ByteStream stream(file.path());
  EventCutter cutter(stream, "profile.json", 64);
  std::vector<std::string> events;
  while (const auto event = cutter.next()) events.emplace_back(*event);
  CHECK_FALSE(cutter.is_cut_off());
  return events;
}

}  // namespace

TEST_CASE("property: events are the objects of the array, whatever their strings hold") {
  CHECK(rc::check([] {
    std::vector<std::string> expected;
    std::string text = R"({"before": {"traceEvents": "no, \"not\" [this]"}, "traceEvents": [)";
    const int count = *rc::gen::inRange(0, 12);
    for (int i = 0; i < count; ++i) {
      const Json event{{random_text(), random_text()},
                       {"args", {{"list", {1, Json::array({random_text()})}}}}};
      expected.push_back(event.dump(*rc::gen::inRange(-1, 3)));
      text += (i > 0 ? ",\n" : "\n") + expected.back();
    }
    RC_ASSERT(cut(text + R"(], "behind": [1]})") == expected);
  }));
}

TEST_CASE("what stands around the events is kept") {
  const testing::ProfileFile file(R"({"a": 1, "traceEvents": [{"x": "]"}], "b": {"c": 2}})");
  ByteStream stream(file.path());
  EventCutter cutter(stream, "profile.json", 64);
  CHECK(cutter.next() == R"({"x": "]"})");
  CHECK(cutter.offset() == 25);
  CHECK_FALSE(cutter.next());
  CHECK(Json::parse(cutter.rest()) == Json{{"a", 1}, {"traceEvents", Json::array()}, {"b", {{"c", 2}}}});
}
