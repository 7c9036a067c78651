// Words and tables of explanations made by hand.

#include "report/explanation.hpp"

#include <doctest/doctest.h>
#include <string>
#include <utility>

using namespace trainyard;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void add(Result& result, PathKind kind, double length, int rank, const std::string& first = "conv1",
         const std::string& last = "conv1") {
  PathSegment& segment = result.explanation->path.emplace_back();
  segment.kind = kind;
  segment.rank = Rank{rank};
  segment.start = result.step_time;
  segment.length = Seconds{length};
  segment.first = first;
  segment.last = last;
  segment.ops = 2;
  result.step_time += segment.length;
}

void add_collective(Result& result, double length, int rank, Seconds alone, const std::string& link) {
  const auto number = static_cast<int>(result.collectives.size());
  CollectiveRow& row = result.collectives.emplace_back();
  row.name = "bucket " + std::to_string(number);
  row.algorithm = "ring";
  row.protocol = "Simple";
  row.size = Bytes{1e6};
  row.start = result.step_time;
  row.end = row.start + Seconds{length};
  add(result, PathKind::collective, length, rank);
  result.explanation->path.back().ops = 0;
  result.explanation->path.back().collective = number;
  CollectivePace& pace = result.explanation->paces.emplace_back();
  pace.collective = number;
  pace.transfer = alone;
  pace.link = link;
  pace.alike = pace.crossed = 1;
  pace.capacity = pace.edge = Bandwidth{1e9};
}

Result empty_result() {
  Result result;
  result.explanation.emplace();
  result.ranks = 4;
  return result;
}

std::string page(Result result) { return explanation_page({std::move(result), {}, {}, "x"}, false); }

}  // namespace

TEST_CASE("every change of rank is counted, samples are of no rank") {
  Result result = empty_result();
  add(result, PathKind::input, 1, 0);
  add(result, PathKind::forward, 1, 2);
  CHECK_FALSE(has(path_in_words(result), "the path is that of"));
  add(result, PathKind::backward, 1, 1);
  CHECK(has(path_in_words(result), "Until 2 s the path is that of rank 2, for which rank 1 waits."));
  CHECK_FALSE(has(path_in_words(result), "more, and ends on"));
  add(result, PathKind::backward, 1, 2);
  add(result, PathKind::update, 1, 0);
  CHECK(has(path_in_words(result), "After that it changes ranks 2 times more, and ends on rank 0."));
}

TEST_CASE("why a collective takes longer than alone is said where the run shows it") {
  Result result = empty_result();
  add_collective(result, 2, 0, Seconds{1}, "a->b");
  CHECK(has(path_in_words(result), " Here it takes 2 s."));
  result.resolved.events.emplace_back();
  CHECK(has(path_in_words(result), " Here it takes 2 s, while links change."));
  CHECK(how_obtained(result, GapPart::network) == "the step itself: links that change");
  result.resolved.background.emplace_back();
  CHECK(has(path_in_words(result), " Here it takes 2 s, while others use the network and links change."));
  result.resolved.background.clear();
  result.resolved.events.clear();
  CollectiveRow other = result.collectives.front();
  other.start = other.end;
  result.collectives.push_back(other);  // behind it, not beside it
  CHECK(has(path_in_words(result), " Here it takes 2 s."));
  result.collectives.back().start = Seconds{1};
  CHECK(has(path_in_words(result), " Here it takes 2 s, while others use the network."));
  CHECK(how_obtained(result, GapPart::network) == "the step itself: collectives that share links");
}

TEST_CASE("a connection's limit says whose it is") {
  CollectivePace pace;
  pace.link = "a->b";
  pace.alike = pace.crossed = 1;
  pace.capacity = Bandwidth{2e9};
  pace.edge = Bandwidth{1e9};
  pace.is_connection = true;
  pace.held_by = ConnectionLimit::fabric;
  CHECK_FALSE(has(limit_in_words(pace, "LL"), "protocol"));
  pace.held_by = ConnectionLimit::host_memory;
  CHECK(has(limit_in_words(pace, "LL"), "through host memory, 1 GB/s"));
  pace.held_by = ConnectionLimit::protocol;
  CHECK(has(limit_in_words(pace, "LL"), "with protocol LL, 1 GB/s"));
}

TEST_CASE("a long path shows its collectives and the optimizer, and its layers keep their beginnings") {
  Result result = empty_result();
  for (int i = 0; i < 30; ++i) {
    add(result, PathKind::backward, 1, 0, "layer" + std::to_string(10 + i) + ".attention.output",
        "layer" + std::to_string(10 + i) + ".attention.qkv");
  }
  add_collective(result, 1e-3, 1, Seconds{1e-3}, "node0.pcieswitch8->cpu0.with.a.long.name");
  add(result, PathKind::update, 1e-4, 0);
  const std::string text = page(result);
  CHECK(has(text, "bucket 0, 1 MB, ring Simple"));
  CHECK(has(text, "\n  update "));
  CHECK(has(text, "9 shorter ones, in --json"));
  CHECK(has(text, " layer10.atte... to layer10.atte..."));
  CHECK(has(text, " layer11.atte... to "));
  CHECK(has(text, "... rank 1\n") == false);
  CHECK(has(text, "long.name rank 1\n"));
}
