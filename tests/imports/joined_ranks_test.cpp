// The profiles of a job's ranks beside each other.

#include "imports/joined_ranks.hpp"

#include "errors_of.hpp"
#include "imports/kineto_text.hpp"
#include "imports/read_kineto.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard;
using testing::ProfileFile;

namespace {

RankCollective reduction(double start, double end, double bytes = 1000) {
  return {.what = "all_reduce",
          .operation = Operation::all_reduce,
          .bytes = bytes,
          .start = static_cast<std::int64_t>(start * 1000),
          .end = static_cast<std::int64_t>(end * 1000)};
}

/// A rank of two with a step.
RankProfile rank_with(int rank, std::vector<RankCollective> collectives, std::int64_t computing = 0) {
  RankProfile its;
  its.file = fmt::format("rank{}.json", rank);
  its.rank = rank;
  its.ranks = 2;
  its.computing = computing;
  its.has_steps = true;
  its.steps = {{.number = 4, .collectives = std::move(collectives)}};
  return its;
}

std::string refusal(std::vector<RankProfile> profiles) {
  const auto errors = errors_of([&] { (void)join_ranks(std::move(profiles)); });
  return errors.empty() ? "" : errors.front().file + ": " + errors.front().message;
}

}  // namespace

TEST_CASE("a collective transfers from the last start to the last end; before that ranks wait") {
  // rank 0 comes 60 us before rank 1 to the first, and 10 us after it to the second
  const JoinedRanks joined = join_ranks({rank_with(1, {reduction(70, 90), reduction(100, 140)}, 500),
                                         rank_with(0, {reduction(10, 91), reduction(110, 140)}, 400)});
  REQUIRE(joined.ranks.size() == 2);
  CHECK(joined.ranks[0].rank == 0);
  CHECK(joined.steps == std::vector<int>{4});
  REQUIRE(joined.operations.size() == 1);
  const JoinedOperation& its = joined.operations.front();
  CHECK(its.what == "all_reduce");
  CHECK(its.count == 2);
  CHECK(its.bytes == 2000);
  CHECK(its.transfer == 21'000 + 30'000);
  CHECK(its.kernels == (81'000 + 30'000 + 20'000 + 40'000) / 2);
  CHECK(its.waiting == (60'000 + 10'000) / 2);
  CHECK(joined.ranks[0].waiting == 60'000);
  CHECK(joined.ranks[1].waiting == 10'000);
  CHECK(joined.slowest() == 1);
  CHECK(joined.clocks == 1);
  CHECK(joined.notes.empty());
}

TEST_CASE("clocks of several nodes are aligned by the ends of collectives") {
  constexpr double ahead = 5e6;  // us
  const JoinedRanks joined =
      join_ranks({rank_with(0, {reduction(10, 91), reduction(110, 140), reduction(200, 240)}),
                  rank_with(1, {reduction(ahead + 70, ahead + 90), reduction(ahead + 100, ahead + 140),
                                reduction(ahead + 220, ahead + 240)})},
                 {.ranks_per_node = 1});
  CHECK(joined.clocks == 2);
  CHECK(joined.ranks[0].shift == 0);
  CHECK(joined.ranks[1].shift == doctest::Approx(-ahead * 1000).epsilon(1e-6));
  CHECK(joined.alignment_error <= 1000);
  CHECK(joined.operations.front().transfer == doctest::Approx(21'000 + 30'000 + 20'000).epsilon(0.05));
  CHECK(joined.notes.empty());
  // by the hosts in the names of the files
  RankProfile a = rank_with(0, {reduction(10, 91)});
  RankProfile b = rank_with(1, {reduction(ahead + 70, ahead + 90)});
  a.host = "node0";
  b.host = "node1";
  CHECK(join_ranks({a, b}).clocks == 2);
  b.host = "node0";
  const JoinedRanks wrong = join_ranks({a, b});
  CHECK(wrong.clocks == 1);
  REQUIRE(wrong.notes.size() == 1);
  CHECK(wrong.notes.front().find("rank 0 ends a collective 5.00 s before rank 1 begins it") == 0);
}

TEST_CASE("groups of ranks have their own collectives") {
  const auto in_group = [](std::string group, RankCollective one) {
    one.group = std::move(group);
    one.group_size = 1;
    return one;
  };
  const JoinedRanks joined = join_ranks(
      {rank_with(0, {in_group("a", reduction(0, 10))}), rank_with(1, {in_group("b", reduction(50, 70))})});
  CHECK(joined.operations.front().count == 1);
  CHECK(joined.operations.front().transfer == 15'000);  // the mean of both
  CHECK(joined.operations.front().waiting == 0);
}

TEST_CASE("ranks that are no job are refused with the first difference") {
  const std::vector<RankCollective> one{reduction(0, 10)};
  CHECK(refusal({rank_with(0, one), rank_with(0, one)}) == "rank0.json: it is of rank 0, as 'rank0.json' is");
  RankProfile other = rank_with(1, one);
  other.ranks = 4;
  CHECK(refusal({rank_with(0, one), other}) == "rank1.json: rank 1 is one of 4 ranks, rank 0 one of 2");
  CHECK(refusal({rank_with(0, one), rank_with(5, one)}) == "rank5.json: rank 5 is not one of 2 ranks");
  CHECK(refusal({rank_with(0, {reduction(0, 10), reduction(20, 30, 64)}),
                 rank_with(1, {reduction(0, 10), reduction(20, 30, 32)})}) ==
        "rank1.json: collective 2 in step 4 differs: on rank 0 all_reduce of 64 B, on rank 1 all_reduce of "
        "32 B");
  CHECK(refusal({rank_with(0, {reduction(0, 10), reduction(20, 30, 64)}), rank_with(1, one)}) ==
        "rank1.json: collective 2 in step 4 differs: on rank 0 all_reduce of 64 B, on rank 1 there is none");
  CHECK(refusal({rank_with(0, one), rank_with(1, {})}) ==
        "rank1.json: rank 1 has no collective in step 4, rank 0 has 1: all_reduce of 1000 B");
  other = rank_with(1, one);
  other.steps.front().number = 9;
  CHECK(refusal({rank_with(0, one), other}) == "rank0.json: no step is in the profiles of all ranks");
  CHECK(refusal({rank_with(0, one), rank_with(1, {reduction(0, 10), reduction(4e14, 4e14)})}) ==
        "rank1.json: the collectives of rank 1 are more than 115 days apart");
  other = rank_with(1, one);
  other.rank.reset();
  CHECK(refusal({rank_with(0, one), other}) == "rank1.json: the profile does not say its rank, others do");
}

TEST_CASE("a rank's collectives are those of its profile, in the order of launches") {
  const Profile profile = read_kineto(ProfileFile(testing::three_steps()).path());
  const RankProfile its = rank_profile_of(profile, join_launches(profile));
  CHECK(its.rank == 0);
  CHECK(its.ranks == 2);
  CHECK(its.computing == 44'000);
  REQUIRE(its.steps.size() == 3);
  CHECK(its.steps[1].number == 4);
  REQUIRE(its.steps[1].collectives.size() == 1);
  CHECK(its.steps[1].collectives.front().what == "all_reduce");
  CHECK(its.steps[1].collectives.front().bytes == 272);
  CHECK(its.steps[1].collectives.front().end - its.steps[1].collectives.front().start == 15'000);
}
