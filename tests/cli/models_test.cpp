// Model files from the outside: what takes too long for the sanitized tests of workload.

#include "process.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("a list of layers that repeats too much ends with an error") {
  const Scratch scratch;
  const auto error_of = [&](const std::string& layers) {
    const Ended ended = run_program(
        {"check", scratch.put("model.yaml", "name: model\nlayers:\n  - input: [3, 8, 8]\n" + layers)});
    CHECK(ended.code == 3);
    return ended.err;
  };
  CHECK(contains(
      error_of("  - repeat: 10000\n    layers:\n      - repeat: 10000\n        layers:\n          - relu\n"),
      "100000 layers"));
  const auto nested = [&](const std::string& inner) {
    return error_of(
        "  - repeat: 10000\n    layers:\n      - repeat: 10000\n        layers:\n          - {repeat: 10000, "
        "layers: [" +
        inner + "]}\n");
  };
  CHECK(contains(nested(""), "layers[1].layers[0].layers[0].layers"));
  CHECK(contains(nested("crop: 8"), "300000 entries"));
}
