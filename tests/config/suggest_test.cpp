#include "config/suggest.hpp"

#include <array>
#include <doctest/doctest.h>

using namespace trainyard::config;

TEST_CASE("the distance counts inserts, deletes, replacements and swaps of neighbours") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("gpsu", "gpus") == 1);
  CHECK(edit_distance("ca", "abc") == 3);
  CHECK(edit_distance("GPUs", "gpus") == 0);
  CHECK(edit_distance("all-reduce", "all_reduce") == 0);
}

TEST_CASE("only close names are suggested, the closest first") {
  constexpr std::array<std::string_view, 4> names{"bandwidth", "latency", "lanes", "kind"};
  CHECK(did_you_mean("bandwith", names) == "did you mean 'bandwidth'?");
  CHECK(did_you_mean("lane", names) == "did you mean 'lanes'?");
  CHECK(did_you_mean("colour", names).empty());
  CHECK(did_you_mean(std::string(100'000, 'x'), names).empty());
  CHECK(did_you_mean("", names).empty());
  CHECK(suggest("colour", names) == "one of bandwidth, latency, lanes, kind");
  constexpr std::array<std::string_view, 2> models{"resnet50", "resnet101"};
  CHECK(did_you_mean("resnet", models) == "did you mean 'resnet50'?");
}
