// Words and tables of explanations made by hand.

#include "document/writers.hpp"
#include "explain/explain_step.hpp"
#include "report/explanation.hpp"
#include "sample.hpp"

#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void add(Explained& explained, PathKind kind, double length, int rank, const std::string& first = "conv1",
         const std::string& last = "conv1") {
  Run& run = explained.run;
  PathSegment& segment = explained.explanation->path.emplace_back();
  segment.kind = kind;
  segment.rank = Rank{rank};
  segment.start = run.pace.time;
  segment.length = Seconds{length};
  segment.first = first;
  segment.last = last;
  segment.ops = 2;
  run.pace.time += segment.length;
}

void add_collective(Explained& explained, double length, int rank, Seconds alone, const std::string& link) {
  Run& run = explained.run;
  const auto number = static_cast<int>(step_in(run).collectives.size());
  CollectiveRow& row = step_in(run).collectives.emplace_back();
  row.name = "bucket " + std::to_string(number);
  row.algorithm = "ring";
  row.protocol = "Simple";
  row.size = Bytes{1e6};
  row.start = run.pace.time;
  row.end = row.start + Seconds{length};
  add(explained, PathKind::collective, length, rank);
  explained.explanation->path.back().ops = 0;
  explained.explanation->path.back().collective = number;
  CollectivePace& pace = explained.explanation->paces.emplace_back();
  pace.collective = number;
  pace.transfer = alone;
  pace.link = link;
  pace.alike = pace.crossed = 1;
  pace.capacity = pace.edge = Bandwidth{1e9};
}

Explained empty_result() {
  Explained explained;
  explained.explanation.emplace();
  explained.run.ranks = 4;
  return explained;
}

std::string page(Explained run) {
  return doc::text(explanation_document({std::move(run.run), std::move(run.explanation), {}, {}, "x"}));
}

std::string path_of(const Explained& run) { return path_in_words(run.run, *run.explanation); }

}  // namespace

TEST_CASE("every change of rank is counted, samples are of no rank") {
  Explained explained = empty_result();
  add(explained, PathKind::input, 1, 0);
  add(explained, PathKind::forward, 1, 2);
  CHECK_FALSE(has(path_of(explained), "rank"));
  add(explained, PathKind::backward, 1, 1);
  CHECK(has(path_of(explained), "Until 2.00 s the path is on rank 2, and rank 1 waits for it."));
  CHECK_FALSE(has(path_of(explained), "ends on"));
  add(explained, PathKind::backward, 1, 2);
  add(explained, PathKind::optimizer, 1, 0);
  CHECK(has(path_of(explained), "2 times and ends on rank 0."));
}

TEST_CASE("why a collective takes longer than alone is said where the run shows it") {
  Explained explained = empty_result();
  add_collective(explained, 2, 0, Seconds{1}, "a->b");
  Run& run = explained.run;
  CHECK(has(path_of(explained), " takes 2.00 s."));
  run.experiment.settings.events.emplace_back();
  CHECK(has(path_of(explained), " takes 2.00 s (changing links)."));
  CHECK(how_obtained(run, GapPart::network) == "added by changing links");
  run.experiment.settings.background.emplace_back();
  CHECK(has(path_of(explained), " takes 2.00 s (concurrent traffic, changing links)."));
  run.experiment.settings.background.clear();
  run.experiment.settings.events.clear();
  std::vector<CollectiveRow>& collectives = step_in(run).collectives;
  CollectiveRow other = collectives.front();
  other.start = other.end;
  collectives.push_back(other);  // behind it, not beside it
  CHECK(has(path_of(explained), " takes 2.00 s."));
  collectives.back().start = Seconds{1};
  CHECK(has(path_of(explained), " takes 2.00 s (concurrent traffic)."));
  CHECK(how_obtained(run, GapPart::network) == "added by collectives that share links");
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
  CHECK(has(limit_in_words(pace, "LL"), "through host memory (1.00 GB/s;"));
  pace.held_by = ConnectionLimit::protocol;
  CHECK(has(limit_in_words(pace, "LL"), "with protocol LL (1.00 GB/s;"));
}

TEST_CASE("a long path shows its collectives and the optimizer, and its layers keep their beginnings") {
  Explained explained = empty_result();
  for (int i = 0; i < 30; ++i) {
    add(explained, PathKind::backward, 1, 0, "layer" + std::to_string(10 + i) + ".attention.output",
        "layer" + std::to_string(10 + i) + ".attention.qkv");
  }
  add_collective(explained, 1e-3, 1, Seconds{1e-3}, "node0.pcieswitch8->cpu0.with.a.long.name");
  add(explained, PathKind::optimizer, 1e-4, 0);
  const std::string text = page(explained);
  CHECK(has(text, "bucket 0, 1 MB, ring Simple"));
  CHECK(has(text, "\n  optimizer "));
  CHECK(has(text, "9 shorter segments"));
  CHECK(has(text, " layer10.atte... to"));
  CHECK(has(text, " layer11.atte... to "));
  CHECK(has(text, "... rank 1\n") == false);
  CHECK(has(text, "long.name rank 1\n"));
}
