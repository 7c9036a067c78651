#include "workload/readme_keys.hpp"
#include "workload/trace_columns.hpp"
#include "workload/trace_csv.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace trainyard;

TEST_CASE("docs/traces.md names every column of a trace and every kind of op") {
  const std::string readme = readme_text("docs/traces.md");
  for (const auto& column : trace_columns) {
    INFO("column ", column.text);
    CHECK(readme.find("| `" + std::string(column.text) + "` |") != std::string::npos);
  }
  for (const auto& kind : config::Names<OpKind>::table) {
    INFO("kind ", kind.text);
    CHECK(readme.find("`" + std::string(kind.text) + "`") != std::string::npos);
  }
}

TEST_CASE("the trace that docs/traces.md shows reads as it says") {
  const std::string readme = readme_text("docs/traces.md");
  const std::size_t begin = readme.find("    phase,layer,duration_s,parameter_bytes\n");
  REQUIRE(begin != std::string::npos);
  std::string text;
  for (std::size_t at = begin; readme.compare(at, 4, "    ") == 0;) {
    const std::size_t end = readme.find('\n', at);
    text += readme.substr(at + 4, end - at - 3);
    at = end + 1;
  }
  const Trace trace = read_trace("traces.md", text);
  REQUIRE(trace.ops.size() == 4);
  CHECK(trace.ops[0].duration == Seconds(0.112));
  REQUIRE(trace.ops[2].gradients.size() == 1);
  CHECK(trace.ops[1].gradients[0].elements + trace.ops[2].gradients[0].elements == 25'557'032);
}
