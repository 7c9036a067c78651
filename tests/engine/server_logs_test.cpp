// Runs with servers: their logs, versions of shards, and loaders.

#include "engine/order_log_cases.hpp"
#include "engine/server_setup.hpp"
#include "every_rule.hpp"

#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <string>

using namespace trainyard;
using namespace trainyard::testing;

namespace {

/// What a run with a log and the same one without have to say about each other.
struct LogCheck {
  bool has_same_record = false;  ///< for each repeat
  bool has_same_ages = false;    ///< the log's are those that the engine counted, for each repeat
  double logs = 0;
  double shards = 0;
  double updates_of_first = 0, updates_of_last = 0;  ///< by shard, in the last log
  double most_apart = 0;                             ///< versions of two shards at one date
  double mean_age = 0, mean_age_counted = 0;         ///< of the last repeat; of its last shard
  double mean_age_of_first = 0;                      ///< of its first shard
  double ends = 0;                                   ///< date of the last update in the last log
};

/// Numbers of the first repeat that a log must not change.
using Digest = std::array<double, 9>;
Digest digest_of(const ServerRecord& record) {
  const TrainingRecord& first = record.repeats.front();
  Digest digest{first.begun.si(), first.ended.si(), static_cast<double>(first.updates),
                static_cast<double>(first.events), mean_age(first.staleness)};
  for (const WorkerRecord& worker : first.workers) {
    digest[5] += worker.computing.si();
    digest[6] += worker.communicating.si();
    digest[7] += worker.waiting.si();
    digest[8] += worker.wasted.si();
  }
  return digest;
}

LogCheck check_log(Setup setup, Seconds until = {}) {
  struct Alone {
    Digest digest;
    double bytes, flows;
  };
  const auto alone = in_child<Alone>([&] {
    const ServerRecord record = train(setup);
    const auto flows = static_cast<double>(record.flows);
    return Alone{digest_of(record), std::accumulate(record.link_bytes.begin(), record.link_bytes.end(), 0.0),
                 flows};
  });
  return in_child<LogCheck>([&] {
    std::vector<OrderLog> logs;
    setup.log = {.take = [&](OrderLog log) { logs.push_back(std::move(log)); }, .until = until};
    const ServerRecord record = train(setup);
    const OrderLog& last = logs.back();
    const double bytes = std::accumulate(record.link_bytes.begin(), record.link_bytes.end(), 0.0);
    const bool has_same_traffic = bytes == alone.bytes && static_cast<double>(record.flows) == alone.flows;
    LogCheck check{
        .has_same_record = digest_of(record) == alone.digest && (until > Seconds{} || has_same_traffic),
        .has_same_ages = true,
        .logs = static_cast<double>(logs.size()),
        .shards = static_cast<double>(last.shards),
        .ends = last.updates.back().at.si()};
    for (std::size_t repeat = 0; repeat < logs.size(); ++repeat)
      check.has_same_ages =
          check.has_same_ages && staleness_in(logs[repeat]) == record.repeats[repeat].staleness;
    std::vector<std::int64_t> versions(static_cast<std::size_t>(last.shards), 0);
    for (const ShardUpdate& update : last.updates) {
      versions[static_cast<std::size_t>(update.shard)] = update.version;
      const auto [least, most] = std::ranges::minmax(versions);
      check.most_apart = std::max(check.most_apart, static_cast<double>(most - least));
    }
    check.updates_of_first = static_cast<double>(versions.front());
    check.updates_of_last = static_cast<double>(versions.back());
    check.mean_age = mean_age(staleness_in(last, last.shards - 1));
    check.mean_age_of_first = mean_age(staleness_in(last));
    check.mean_age_counted = mean_age(record.repeats.back().staleness);
    return check;
  });
}

Randomness exponential_steps() {
  Randomness random;
  random.step = random::Distribution{
      .kind = random::Kind::exponential, .sd = {}, .shift = {}, .shape = {}, .file = {}, .seen = {}};
  return random;
}

}  // namespace

TEST_CASE("with servers a log has the ages that the engine counted, and changes nothing") {
  for (const UpdateSettings& rule : every_rule({.k = 3, .bound = 1, .push_every = 2, .fetch_every = 3})) {
    CAPTURE(config::name_of(rule.rule));
    const LogCheck found = check_log({.compute = 0.01,
                                      .rule = rule,
                                      .random = exponential_steps(),
                                      .repeats = 2,
                                      .warmup = 0,
                                      .measured = 200,
                                      .ready = {0.5, 0.9},
                                      .needed = {0.25, 0}});
    CHECK(found.has_same_record);
    CHECK(found.has_same_ages);
    CHECK(found.logs == 2);
    CHECK(found.shards == 1);
  }
}

TEST_CASE("a log longer than the measurement leaves the first repeat as it is") {
  const Setup setup{.compute = 0.01,
                    .rule = {.rule = UpdateRule::async},
                    .random = exponential_steps(),
                    .repeats = 2,
                    .measured = 20};
  const LogCheck found = check_log(setup, Seconds{2});
  CHECK(found.has_same_record);
  CHECK(found.ends == doctest::Approx(2).epsilon(0.01));
  CHECK(found.ends <= 2);
}

TEST_CASE("shards apply asynchronous gradients on arrival, and are versions apart") {
  for (const UpdateSettings& rule :
       {UpdateSettings{.rule = UpdateRule::async}, UpdateSettings{.rule = UpdateRule::ssp, .bound = 2},
        UpdateSettings{.rule = UpdateRule::downpour, .push_every = 2, .fetch_every = 2}}) {
    CAPTURE(config::name_of(rule.rule));
    // each tensor is a message to its own shard, complete at another part of the step
    Setup setup{.shards = 2,
                .bytes = 64e6,
                .compute = 0.01,
                .rule = rule,
                .random = exponential_steps(),
                .warmup = 0,
                .measured = 2000,
                .ready = {0.3, 1},
                .needed = {0, 0}};
    setup.is_message_of_one_shard = true;
    const LogCheck found = check_log(setup);
    CHECK(found.has_same_record);
    CHECK(found.shards == 2);
    CHECK(found.most_apart >= 1);
    CHECK(std::abs(found.updates_of_first - 2000) <= 8);
    CHECK(std::abs(found.updates_of_last - 2000) <= 8);
    // The engine counts up to the arrival at the last shard. What is sent earlier is applied earlier.
    CHECK(found.mean_age == doctest::Approx(found.mean_age_counted).epsilon(0.1));
    CHECK(found.mean_age_of_first > 1);
    CHECK(found.mean_age_of_first <= found.mean_age * 1.01);
  }
  const LogCheck together = check_log({.shards = 2,
                                       .compute = 0.01,
                                       .rule = {.rule = UpdateRule::k_async, .k = 2},
                                       .random = exponential_steps(),
                                       .warmup = 0,
                                       .measured = 100});
  CHECK(together.shards == 1);
}

TEST_CASE("with servers a loader runs beside computing and sending, or before them") {
  Setup setup{.compute = 0.1, .warmup = 20};
  const double alone = numbers(setup).time_per_update;
  REQUIRE(alone > 0.1);
  setup.loading.per_step.assign(4, Seconds{0.9 * alone});
  CHECK(numbers(setup).time_per_update == doctest::Approx(alone));
  setup.loading.per_step.assign(4, Seconds{2 * alone});
  CHECK(numbers(setup).time_per_update == doctest::Approx(2 * alone));
  setup.loading.is_prefetched = false;
  const double both = numbers(setup).time_per_update;
  CHECK(both > 2 * alone + 0.1);  // parameters may arrive while samples are read
  CHECK(both < 3 * alone * (1 + 1e-9));
}
