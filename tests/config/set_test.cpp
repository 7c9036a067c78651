#include "config/samples.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::config;

namespace {

Document yard_document() {
  return parse("yard.yaml", "title: x\ngpus: 3\nlinks:\n  - {name: a, bandwidth: 3 GB/s}\n");
}

Yard with(std::string_view path, std::string_view text) {
  Document document = yard_document();
  set(document, path, text);
  return read<Yard>(document);
}

std::string set_error(std::string_view path, std::string_view text) {
  try {
    with(path, text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("an override replaces a value, adds a key, reaches into lists and makes mappings on the way") {
  CHECK(with("gpus", "5").gpus == 5);
  CHECK(with("memory", "32 GiB").memory == Bytes(34359738368.0));
  CHECK(with("links[0].bandwidth", "100 Gbps").links.at(0).bandwidth.value == Bandwidth(12.5e9));
  CHECK(with("links[0].lanes", "6").links.at(0).lanes == 6);
  CHECK(with("power.idle", "{value: 3 W, assumed: a guess}").power.at("idle").provenance ==
        Provenance::assumed);
  CHECK(with("power[\"a.b\"]", "3 W").power.at("a.b").value == Watts(3));
  CHECK(with("sizes", "[4, 8]").sizes == std::vector<int>{4, 8});
  CHECK(with("title", "\"a: b\"").title == "a: b");
}

TEST_CASE("a later override of the same key wins") {
  Document document = yard_document();
  set(document, "gpus", "x");
  set(document, "gpus", "6");
  CHECK(read<Yard>(document).gpus == 6);
}

TEST_CASE("an error about an overridden value is shown in the override") {
  CHECK(set_error("gpus", "many") ==
        "--set: error: 'many' is not a whole number (in gpus)\n"
        "  --set gpus=many\n"
        "             ^^^^");
  CHECK(set_error("power", "{idle: 3 W, max: {value: 4 GB, measured: \u00e9}}") ==
        "--set: error: '4 GB' is a size, not a power (in power.max.value)\n"
        "  --set power={idle: 3 W, max: {value: 4 GB, measured: \u00e9}}\n"
        "                                       ^^^^ for example 300 W");
  CHECK(set_error("gpsu", "3") ==
        "--set: error: unknown key 'gpsu' (in gpsu)\n"
        "  --set gpsu=3\n"
        "        ^^^^ did you mean 'gpus'?");
}

TEST_CASE("errors of the file come before errors of overrides") {
  Document document = parse("yard.yaml", "title: x\ngpus: 0\n");
  set(document, "share", "7");
  try {
    read<Yard>(document);
    FAIL("no error");
  } catch (const InputError& error) {
    REQUIRE(error.diagnostics().size() == 2);
    CHECK(error.diagnostics()[0].file == "yard.yaml");
    CHECK(error.diagnostics()[1].file == "--set");
  }
}

TEST_CASE("a text that is no YAML value is an error in the override") {
  CHECK(set_error("sizes", "[1") ==
        "--set: error: this bracket is never closed\n"
        "  --set sizes=[1\n"
        "              ^ expected ',' or ']'");
  CHECK(set_error("gpus", "") ==
        "--set: error: the value is missing\n"
        "  --set gpus=\n"
        "             ^");
  CHECK(set_error("gpus", "1\n2") ==
        "--set: error: the value must be one line\n"
        "  --set gpus=1 2\n"
        "        ^");
  CHECK(set_error("title", "{a: 1, a: 2}") ==
        "--set: error: key 'a' is repeated\n"
        "  --set title={a: 1, a: 2}\n"
        "                     ^ first on line 1");
}

TEST_CASE("a key of more levels than a file may have is an error, however many") {
  for (const int levels : {33, 300000}) {
    std::string key = "platform";
    for (int i = 0; i < levels; ++i) key += ".a";
    CHECK(set_error(key, "1").starts_with("--set: error: a key deeper than 32 levels\n"));
  }
}

TEST_CASE("a path that leads nowhere is an error") {
  CHECK(set_error("a..b", "1") ==
        "--set: error: a key is missing\n"
        "  --set a..b=1\n"
        "          ^ a path looks like links[0].bandwidth");
  CHECK(set_error("links[x]", "1") ==
        "--set: error: '[' takes an index: [0]\n"
        "  --set links[x]=1\n"
        "             ^ a path looks like links[0].bandwidth");
  CHECK(set_error("", "1").starts_with("--set: error: a key is missing\n"));
  CHECK(set_error("links[0", "1").starts_with("--set: error: '[' takes an index: [0]\n"));
  CHECK(set_error("links[\"a", "1").starts_with("--set: error: '[\"' is never closed\n"));
  CHECK(set_error("links[3].lanes", "1").starts_with("--set: error: 'links' has 1 item, the last is [0]\n"));
  CHECK(set_error("links.lanes", "1") ==
        "--set: error: 'links' is a list\n"
        "  --set links.lanes=1\n"
        "        ^ write links[0]");
  CHECK(set_error("gpus.count", "1").starts_with("--set: error: 'gpus' is a single value without keys\n"));
  CHECK(set_error("gpus[0]", "1").starts_with("--set: error: 'gpus' is not a list\n"));
}
