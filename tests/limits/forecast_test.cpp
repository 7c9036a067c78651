#include "limits/forecast.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

TEST_CASE("every kind of work takes time, and twice the work twice of it") {
  for (const auto kind :
       {&Work::listed_ops, &Work::simulated_ops, &Work::traced_ops, &Work::messages, &Work::crowding,
        &Work::rounds, &Work::server_flows, &Work::server_ways, &Work::worker_steps, &Work::drawn_ops,
        &Work::explained_ranks, &Work::page_ranks, &Work::written_ranks, &Work::written_bars,
        &Work::judged_layouts, &Work::judged_ranks, &Work::predicted_runs, &Work::predicted_layouts}) {
    Work work;
    work.*kind = 1e6;
    CHECK(cost_of(work).time > Seconds{});
    Work twice;
    twice.*kind = 2e6;
    CHECK(cost_of(twice).time.si() == doctest::Approx(2 * cost_of(work).time.si()));
  }
  CHECK(cost_of({}).time == Seconds{});
  CHECK(cost_of({.listed_ops = 1e6}).memory > Bytes(1e8));
}

TEST_CASE("a cost in words has two digits, and memory from a gigabyte on") {
  CHECK(in_words({Seconds(41.77), Bytes(1e6)}) == "about 42 s");
  CHECK(in_words({Seconds(0.2), Bytes(3.21e9)}) == "about 1 s and 3.2 GB");
  CHECK(in_words({Seconds(123.4), Bytes{}}) == "about 2 min 00 s");
  CHECK(in_words({Seconds(1e7), Bytes(5e11)}) == "about 2,777 h 47 min and 500 GB");
}
