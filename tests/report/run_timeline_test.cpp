// Timelines, collectives and groups of ranks on the page of a run.

#include "report/csv.hpp"
#include "run/simulate.hpp"
#include "run/timeline_tracks.hpp"
#include "run_forms.hpp"
#include "sample.hpp"
#include "shipped_layout.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

using namespace trainyard;
using Json = nlohmann::json;

TEST_CASE("the timeline's data reads back: bars end where the result's do, alike ranks are one track") {
  const Run run = sample_result();
  const Json json = timeline_json(run);
  CHECK(json["end"] == 13000000);
  REQUIRE(json["tracks"].size() == 1);
  CHECK(json["tracks"][0][0] == "ranks 0 to 1, identical to the nanosecond");
  const Json& compute = json["tracks"][0][1][0];
  CHECK(compute[0] == "compute");
  REQUIRE(compute[1].size() == 16);  // four bars of gap, length, kind, item
  std::int64_t end = 0;
  for (std::size_t i = 0; i < compute[1].size(); i += 4) {
    const OpRow& row = slowest_class(step_of(run)).ops[i / 4];
    end += compute[1][i].get<std::int64_t>() + compute[1][i + 1].get<std::int64_t>();
    CHECK(end == static_cast<std::int64_t>(row.end.si() * 1e9 + 0.5));
    const Json& item = json["items"].at(compute[1][i + 3].get<std::size_t>());
    CHECK(item[0].get<std::string>().starts_with(row.layer));
    CHECK(json["kinds"].at(compute[1][i + 2].get<std::size_t>())[1] == config::name_of(row.phase));
  }
  CHECK(json["tracks"][0][1][1][0] == "communication");
}

TEST_CASE("ranks that differ by a nanosecond are tracks of their own") {
  Run run = sample_result();
  step_in(run).bars.back().end += Seconds(1e-9);
  const Json json = timeline_json(run);
  REQUIRE(json["tracks"].size() == 2);
  CHECK(json["tracks"][0][0] == "rank 0 (node 0, gpu0)");
}

TEST_CASE("a run of traces has a lane for each class, its bubble, and how often collectives run") {
  const Run run =
      simulate(testing::shipped_experiment("gpipe_traces_dgx2", {}), {.fidelity = Fidelity::closed});
  const std::string timeline = html_of(run, add_timeline);
  REQUIRE(run.experiment.classes.size() == 2);
  int lanes = 0;
  for (std::size_t at = timeline.find("class=\"stack thin\""); at != std::string::npos;
       at = timeline.find("class=\"stack thin\"", at + 1))
    ++lanes;
  CHECK(lanes == 2);
  for (const RankClass& one : run.experiment.classes) {
    CHECK(shows(timeline, fmt::format("aria-label=\"{}\"", one.name)));
    CHECK(shows(track_name(run, one.ranks.front()), one.name + ": rank "));
  }
  CHECK(shows(timeline, "the first rank of each class of ranks"));
  CHECK(shows(timeline, "class=\"bubble\""));
  CHECK(shows(html_of(run, add_collectives), "Times: how often a step runs it."));
  CHECK(shows(html_of(run, add_where), "bubble</td>"));
  CHECK(shows(ops_csv(run), ",stage,runs\n"));
}

TEST_CASE("a pass that computes activations again has a bar for it, and gaps are bubbles") {
  const auto names_of = [](const Overrides& keys) {
    const Run run = simulate(testing::small_layout("dgx_a100", 2, keys), {.fidelity = Fidelity::closed});
    const Json timeline = timeline_json(run);
    std::set<std::string> names;
    for (const Json& kind : timeline["kinds"]) names.insert(kind[1]);
    return names;
  };
  const Overrides pipeline{{"parallelism.pipeline", "2"}, {"parallelism.tensor", "4"}, {"accumulation", "4"}};
  Overrides again = pipeline;
  again.emplace_back("parallelism.recompute", "full");
  CHECK(names_of(pipeline).contains("bubble"));
  CHECK_FALSE(names_of(pipeline).contains("recomputation"));
  CHECK(names_of(again).contains("recomputation"));
}

TEST_CASE("the picture of groups has a dot for every rank of a group, and one node of each kind") {
  const Run run = simulate(testing::small_layout("dgx_a100", 2, {{"parallelism.tensor", "4"}}),
                           {.fidelity = Fidelity::closed});
  const std::string picture = html_of(run, add_groups);
  const auto count = [&](const std::string& part) {
    int found = 0;
    for (std::size_t at = picture.find(part); at != std::string::npos; at = picture.find(part, at + 1))
      ++found;
    return found;
  };
  CHECK(count("Node 0 (x 2)") == 1);
  CHECK(count("<svg class=\"groups\"") == 1);
  CHECK(count("<circle") == 16);  // eight ranks, each in a group of tensor and one of data
  CHECK(count("<path") == 4);     // groups of data go on to the other node
  CHECK(count("class=\"socket\"") == 2);
  CHECK(html_of(sample_result(), add_groups).empty());
}
