// `run --verify`: the step message by message, whole or in part, and which differences are documented.

#include "run/verification.hpp"

#include "experiment/keys_meant.hpp"
#include "run/child_processes.hpp"
#include "run/simulate.hpp"
#include "shipped_catalogue.hpp"

#include <doctest/doctest.h>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

struct Asked {
  Overrides overrides;
  ResolvedExperiment resolved;
  Known<Verification> verified;
};

Asked verified(const std::string& experiment, const Overrides& set) {
  InputFiles files;
  const Overrides overrides = without_totals(shipped_catalogue(), experiment, set, files);
  ResolvedExperiment resolved = resolve(shipped_catalogue(), experiment, overrides, files);
  Known<Verification> found = verify(shipped_catalogue(), experiment, overrides, resolved, files);
  return {overrides, std::move(resolved), std::move(found)};
}

/// The time in collectives of this algorithm, or of any, over the step by messages. In a child, since SimGrid
/// in this process would forbid others.
double part_in_collectives(const Asked& asked, std::optional<Algorithm> algorithm = {}) {
  const std::string sum = in_children(1, 1, [&](int) {
                            const Run run = simulate(ResolvedExperiment(asked.resolved), {});
                            const Step& step = step_of(run);
                            double seconds = 0;
                            for (std::size_t i = 0; i < step.timeline.collectives.size(); ++i) {
                              const CollectiveSpan& span = step.timeline.collectives[i];
                              const Algorithm used = step.plan.graph.collectives[i].label.algorithm;
                              if (!algorithm || used == *algorithm) seconds += (span.end - span.start).si();
                            }
                            return packed({seconds});
                          }).front();
  return unpacked(sum).front() / asked.verified->step_time_by_messages.si();
}

/// Two edges over their own links of 10 and `second` bytes/s, and a third link that is not used.
bool is_uneven(double second, std::vector<LinkId> second_route) {
  Pattern pattern;
  const LinkId first_route[] = {LinkId{0}};
  pattern.add_edge({Rank{0}, Rank{1}}, first_route);
  pattern.add_edge({Rank{1}, Rank{0}}, second_route);
  LinkValues<Bandwidth> capacities;
  const Bandwidth rates[] = {Bandwidth(10), Bandwidth(second), Bandwidth(1)};
  capacities.append(rates, 1);
  return shares_links_unevenly(pattern, capacities);
}

}  // namespace

TEST_CASE("edges share links unevenly if one of them gets more than another") {
  CHECK_FALSE(is_uneven(10, {LinkId{1}}));
  CHECK(is_uneven(20, {LinkId{1}}));
  CHECK_FALSE(is_uneven(20, {LinkId{0}, LinkId{1}}));  // both get half of the first link
  CHECK(is_uneven(4, {LinkId{0}, LinkId{1}}));         // 5 and 4
}

TEST_CASE("a whole job without causes of differences equals its messages to 1e-9") {
  const Asked job = verified("bert_base_p3dn", {});
  REQUIRE(job.verified);
  const Verification& it = *job.verified;
  CHECK(it.part.empty());
  CHECK(it.ranks == 32);
  CHECK(it.nodes == 4);
  // 14 rings of 32 ranks with 62 rounds: every rank sends once in each.
  CHECK(it.messages == 14 * 62 * 32);
  CHECK(it.causes.empty());
  CHECK(it.limit == rounding_limit);
  CHECK(it.is_within());
  CHECK(it.step_time == simulate(job.resolved, {.timeline = false}).pace.time);
}

TEST_CASE("of a job with too many ranks fewer nodes are compared") {
  const Asked wide = verified("resnet50_dgx2", {{"nodes", "24"}});
  REQUIRE(wide.verified);
  REQUIRE(wide.verified->part.size() == 1);
  CHECK(wide.verified->part.front().first == "nodes");
  CHECK(wide.verified->ranks == 16 * wide.verified->nodes);
  CHECK(wide.verified->nodes < 24);
  CHECK(wide.verified->messages <= most_messages);
  CHECK(wide.verified->is_within());
}

TEST_CASE("causes of differences are named and widen the limit") {
  const Asked uneven = verified("resnet50_dgx2", {{"nodes", "3"}, {"sync.algorithm", "halving_doubling"}});
  REQUIRE(uneven.verified);
  const double in_rounds = part_in_collectives(uneven, Algorithm::halving_doubling);
  CHECK(in_rounds > 0);
  CHECK(in_rounds < 1);
  const double arriving = uneven.verified->causes.size() > 1 ? part_in_collectives(uneven) : 0;
  CHECK(uneven.verified->limit ==
        doctest::Approx(rounding_limit + sharing_limit * arriving + uneven_limit * in_rounds).epsilon(1e-9));
  CHECK(uneven.verified->difference > rounding_limit);
  CHECK(uneven.verified->is_within());
  CHECK(uneven.verified->step_time > uneven.verified->step_time_by_messages);

  const Asked shared = verified("alexnet_one_weird_trick", {});
  REQUIRE(shared.verified);
  CHECK(shared.verified->causes.front() == "collectives share links");
  CHECK(shared.verified->limit ==
        doctest::Approx(rounding_limit + sharing_limit * part_in_collectives(shared)).epsilon(1e-9));
}

TEST_CASE("messages to servers are compared over a few steps, asynchronous ones to 1e-6") {
  const Asked job = verified("resnet50_p2_16xlarge_async", {});
  REQUIRE(job.verified);
  CHECK(job.verified->limit == server_limit);
  CHECK(job.verified->difference > 0);  // another order of additions
  CHECK(job.verified->is_within());
  CHECK(job.verified->step_time > Seconds{});
  // 48 workers whose short steps keep the servers busy: after 20 steps rounding decides who comes first
  const Asked busy = verified("resnet50_p2_16xlarge_async", {{"platform", "dgx_a100"},
                                                             {"nodes", "6"},
                                                             {"model", "alexnet"},
                                                             {"batch_per_gpu", "3"},
                                                             {"memory", "ignore"}});
  REQUIRE(busy.verified);
  CHECK(busy.verified->is_within());
}

TEST_CASE("one rank sends nothing that could be compared") {
  const Asked job = verified("resnet50_p3_2xlarge", {});
  REQUIRE_FALSE(job.verified);
  CHECK(job.verified.error().find("nothing is sent") != std::string::npos);
}

TEST_CASE("a difference above the limit is not within it") {
  Verification it{.where = {}, .limit = rounding_limit};
  it.difference = 2 * rounding_limit;
  CHECK_FALSE(it.is_within());
}
