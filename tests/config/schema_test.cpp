#include "config/schema.hpp"

#include "config/samples.hpp"

#include <doctest/doctest.h>
#include <regex>

using namespace trainyard;
using namespace trainyard::config;

TEST_CASE("the schema lists the keys with meaning, type, bounds and default") {
  const nlohmann::ordered_json yard = schema<Yard>("Yard");
  CHECK(yard["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  CHECK(yard["title"] == "Yard");
  CHECK(yard["type"] == "object");
  CHECK(yard["additionalProperties"] == false);
  CHECK(yard["required"] == nlohmann::ordered_json{"title"});
  const auto& keys = yard["properties"];
  CHECK(keys.size() == 14);
  CHECK(keys["gpus"].dump() == R"({"type":"integer","minimum":1,"description":"in one node","default":8})");
  CHECK(
      keys["share"].dump() ==
      R"({"type":"number","minimum":0,"maximum":1,"description":"of the peak that is reached","default":0.5})");
  CHECK(keys["open"].dump() ==
        R"({"type":"boolean","description":"whether it may be entered","default":true})");
  CHECK(keys["colour"]["enum"] == nlohmann::ordered_json{"red", "blue", "green"});
  CHECK(keys["colour"]["default"] == "red");
  CHECK(keys["colour"]["description"] == "of the drawing (colour: red = as blood; blue = as the sky; green)");
  CHECK(keys["sizes"].dump() == R"({"type":"array","items":{"type":"integer","minimum":1,"maximum":4096},)"
                                R"("description":"batch sizes to try","default":[1,2]})");
  CHECK(keys["samples"]["exclusiveMinimum"] == 0);
  CHECK_FALSE(keys["memory"].contains("default"));
  CHECK(keys["peak"]["default"] == "15.7 TFLOP/s");
}

TEST_CASE("a quantity is text with a unit, its bounds told in words") {
  const auto lane = schema<Yard>("Yard")["properties"]["links"]["items"];
  CHECK(lane["required"] == nlohmann::ordered_json{"name", "bandwidth"});
  const auto latency = lane["properties"]["latency"];
  CHECK(latency["type"] == "string");
  CHECK(latency["description"] ==
        "of a message of zero bytes (time with its unit, for example 1.2 us; at least 0 s, at most 1 s)");
  const std::regex pattern(latency["pattern"].get<std::string>());
  CHECK(std::regex_match("1.2 us", pattern));
  CHECK_FALSE(std::regex_match("1.2", pattern));
  CHECK_FALSE(std::regex_match("1.2 GB", pattern));
}

TEST_CASE("a sourced value is a value, or a mapping with one source; an assumed number may have a range") {
  const auto bandwidth = schema<Yard>("Yard")["properties"]["links"]["items"]["properties"]["bandwidth"];
  REQUIRE(bandwidth["anyOf"].size() == 2);
  CHECK(bandwidth["anyOf"][0]["type"] == "string");
  const auto& mapping = bandwidth["anyOf"][1];
  CHECK(mapping["properties"]["value"] == bandwidth["anyOf"][0]);
  CHECK(mapping["required"] == nlohmann::ordered_json{"value"});
  CHECK(mapping["minProperties"] == 2);
  CHECK(mapping["maxProperties"] == 3);
  for (const char* key : {"measured", "fitted", "specified", "assumed"}) {
    CHECK(mapping["properties"][key]["minLength"] == 1);
  }
  CHECK(mapping["properties"]["range"]["type"] == "string");
}

TEST_CASE("short forms are alternatives, and a type that contains itself is defined once") {
  const nlohmann::ordered_json pane = schema<Pane>("Pane");
  CHECK(pane["$ref"] == "#/$defs/pane");
  const auto& defined = pane["$defs"]["pane"]["anyOf"];
  REQUIRE(defined.size() == 2);
  CHECK(defined[0]["enum"] == nlohmann::ordered_json{"shut"});
  const auto& keys = defined[1]["properties"];
  CHECK(keys["panes"]["items"]["$ref"] == "#/$defs/pane");
  const auto& window = keys["window"]["anyOf"];
  REQUIRE(window.size() == 3);
  CHECK(window[0].dump() == R"({"type":"integer","minimum":1})");
  CHECK(window[1]["minItems"] == 2);
  CHECK(window[2]["type"] == "object");
}
