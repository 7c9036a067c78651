// Figures of timelines of Horovod.

#include "convert/horovod_report.hpp"

#include "document/writers.hpp"
#include "imports/horovod_timeline.hpp"
#include "imports/kineto_text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <string>

using namespace trainyard;

namespace {

HorovodTimeline timeline_of(const std::string& text) {
  return read_horovod_timeline(testing::ProfileFile(text).path());
}

}  // namespace

TEST_CASE("negotiations have a mean of their own, and unknown figures are empty") {
  const HorovodTimeline timeline = timeline_of(
      R"([{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 0, "pid": 1}, {"ph": "E", "ts": 4000, "pid": 1},)"
      R"({"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 5000, "pid": 1}, {"ph": "E", "ts": 7000, "pid": 1},)"
      R"({"ph": "B", "name": "BROADCAST", "ts": 8000, "pid": 1}, {"ph": "E", "ts": 9000, "pid": 1}])");
  CHECK(timeline.collectives.at("ALLREDUCE").negotiations == 2);
  CHECK(doc::text(horovod_document(timeline)).find("3.00 ms") != std::string::npos);
  const auto json = horovod_json(timeline);
  CHECK(json["collectives"]["ALLREDUCE"]["negotiations"] == 2);
  CHECK(json["collectives"]["BROADCAST"]["bytes"].is_null());
}

TEST_CASE("long names of a timeline stay apart in JSON") {
  const std::string name(70, 'A');
  std::string text = "[";
  for (const char* last : {"1", "2"}) {
    text += R"({"ph": "B", "ts": 10, "pid": 1, "name": ")";
    text += name;
    text += last;
    text += R"("}, {"ph": "E", "ts": 16, "pid": 1},)";
  }
  const auto json = horovod_json(timeline_of(text));
  CHECK(json["activities"].size() == 2);
  CHECK(json["collectives"].contains(name + "2"));
}
