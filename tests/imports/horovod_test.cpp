// Timelines of Horovod.

#include "errors_of.hpp"
#include "imports/horovod_timeline.hpp"
#include "imports/kineto_text.hpp"

#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>

using namespace trainyard;

namespace {

HorovodTimeline read_timeline(const std::string& text) {
  return read_horovod_timeline(testing::ProfileFile(text).path());
}

std::string timeline_sample() {
  std::ifstream file(TRAINYARD_SOURCE_DIR "/tests/imports/timeline.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string timeline_problem(const std::string& text) {
  const auto errors = errors_of([&] { (void)read_timeline(text); });
  return errors.empty() ? "" : errors.front().message;
}

}  // namespace

TEST_CASE("a timeline of Horovod has fusion, sizes, cycles and the waiting of ranks") {
  const HorovodTimeline timeline = read_timeline(timeline_sample());
  CHECK_FALSE(timeline.is_closed);
  CHECK(timeline.tensors == 3);
  CHECK(timeline.still_open == 0);
  CHECK(timeline.odd == 0);
  CHECK(timeline.span == 28'520);
  const HorovodCollective& reduces = timeline.collectives.at("ALLREDUCE");
  CHECK(reduces.collectives == 4);  // in each of two steps one of two tensors, and one of a single tensor
  CHECK(reduces.tensors == 6);
  CHECK(reduces.largest == 2);
  CHECK(reduces.bytes == 2 * 4.0 * (256 * 256 + 256 + 1024 * 1024));
  CHECK(reduces.unsized == 0);
  CHECK(reduces.negotiated == 6 * 5000);
  CHECK(timeline.activities.at("NCCL_ALLREDUCE").count == 6);
  CHECK(timeline.activities.at("NCCL_ALLREDUCE").total == 2 * (300 + 300 + 3000));
  CHECK(timeline.activities.at("NCCL_ALLREDUCE").longest == 3000);
  CHECK(timeline.cycles == 4);
  CHECK(timeline.cycle == 5000);
  REQUIRE(timeline.ranks.size() == 2);
  CHECK(timeline.ranks[0].last == 6);
  CHECK(timeline.ranks[0].waiting == 0);
  CHECK(timeline.ranks[1].last == 0);
  CHECK(timeline.ranks[1].waiting == 6 * 4999);
}

TEST_CASE("a closed timeline is the same, and one that is cut off has spans without an end") {
  std::string text = timeline_sample();
  text.resize(text.find_last_of(','));
  const HorovodTimeline closed = read_timeline(text + "\n]\n");
  CHECK(closed.is_closed);
  CHECK(closed.activities.at("NCCL_ALLREDUCE").count == 6);
  const HorovodTimeline cut = read_timeline(text.substr(0, text.size() - 100));
  CHECK(cut.still_open > 0);
}

TEST_CASE("broadcasts are collectives, too") {
  const HorovodTimeline timeline = read_timeline(
      R"([{"ph": "B", "name": "BROADCAST", "ts": 10, "pid": 1}, {"ph": "B", "name": "MPI_BCAST", "ts": 11, "pid": 1},)"
      R"({"ph": "E", "ts": 15, "pid": 1}, {"ph": "E", "ts": 16, "pid": 1}])");
  CHECK(timeline.collectives.at("BROADCAST").collectives == 1);
  CHECK(timeline.collectives.at("BROADCAST").unsized == 1);
}

TEST_CASE("work of a library carries out a collective whose name it has in it") {
  for (const auto& [kind, work] : {std::pair{"ALLGATHER", "MPI_ALLGATHERV"},
                                   {"ALLREDUCE", "MPI_ADASUM_ALLREDUCE"},
                                   {"ALLTOALL", "NCCL_ALLTOALLV"}}) {
    const HorovodTimeline timeline =
        read_timeline(std::string(R"([{"ph": "B", "ts": 10, "pid": 1, "name": ")") + kind +
                      R"("}, {"ph": "B", "ts": 11, "pid": 1, "name": ")" + work +
                      R"("}, {"ph": "E", "ts": 15, "pid": 1}, {"ph": "E", "ts": 16, "pid": 1}])");
    CHECK(timeline.collectives.at(kind).collectives == 1);
  }
}

TEST_CASE("negotiations are counted apart from collectives") {
  const HorovodTimeline timeline = read_timeline(
      R"([{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 0, "pid": 1}, {"ph": "E", "ts": 4000, "pid": 1},)"
      R"({"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 5000, "pid": 1}, {"ph": "E", "ts": 7000, "pid": 1},)"
      R"({"ph": "B", "name": "BROADCAST", "ts": 8000, "pid": 1}, {"ph": "E", "ts": 9000, "pid": 1}])");
  CHECK(timeline.collectives.at("ALLREDUCE").negotiations == 2);
  CHECK(timeline.collectives.at("BROADCAST").sized == 0);
}

TEST_CASE("spans of more than 7 days, early arrivals and events that name no rank are odd") {
  const std::string head =
      R"([{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 10, "pid": 1},)"
      R"({"ph": "X", "name": "0", "ts": 5, "pid": 1}, {"ph": "X", "name": "one", "ts": 12, "pid": 1},)"
      R"({"ph": "E", "ts": 30, "pid": 1})";
  std::string text = head;
  for (int i = 0; i < 3000; ++i)
    text += R"(,{"ph": "B", "name": "X", "ts": -3e15, "pid": 2}, {"ph": "E", "ts": 3e15, "pid": 2})";
  const HorovodTimeline timeline = read_timeline(text + "]");
  CHECK(timeline.odd == 3002);
  CHECK(timeline.ranks.empty());
  CHECK_FALSE(timeline.activities.contains("X"));
}

TEST_CASE("odd events of a timeline are counted") {
  const std::string begin = R"([{"ph": "B", "name": "ALLREDUCE", "ts": 10, "pid": 1},)";
  const std::string end =
      R"({"ph": "E", "ts": 30, "pid": 1, "args": {"dtype": "float16", "shape": "[2, 3]"}},)";
  CHECK(read_timeline(begin + end).collectives.at("ALLREDUCE").bytes == 12);
  CHECK(read_timeline(begin + end + R"({"ph": "E", "ts": 31, "pid": 1},)").odd == 1);
  CHECK(read_timeline(begin + end + R"({"ph": "B", "name": "X", "ts": "soon", "pid": 1},)").odd == 1);
  CHECK(read_timeline(begin + end + R"({"ph": "B", "name": "X", "ts": 40},)").odd == 1);
  CHECK(read_timeline(begin + end +
                      R"({"ph": "B", "name": "X", "ts": 40, "pid": 1}, {"ph": "E", "ts": 39, "pid": 1},)")
            .odd == 1);
  CHECK(
      read_timeline(begin + R"({"ph": "E", "ts": 30, "pid": 1, "args": {"dtype": "float", "shape": "[x]"}}])")
          .collectives.at("ALLREDUCE")
          .unsized == 1);
}

TEST_CASE("what is no timeline of Horovod is refused") {
  CHECK(timeline_problem("[]") == "no timeline of Horovod: nothing is negotiated or carried out");
  CHECK(timeline_problem("").find("no array of events") == 0);
  CHECK(errors_of([] { (void)read_timeline(""); }).front().hint ==
        "horovodrun --timeline-filename timeline.json writes one");
  CHECK(timeline_problem(R"({"nodes": []})").find("no array of events") == 0);
  CHECK_THROWS_AS((void)read_horovod_timeline("/nonexistent/timeline.json"), FileError);
  std::mt19937 random(3);
  const std::string text = timeline_sample();
  for (int i = 0; i < 300; ++i) {
    std::string damaged = text;
    for (int k = 0; k < 4; ++k) damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    try {
      (void)read_timeline(damaged);
    } catch (const InputError&) {
    }
  }
}
