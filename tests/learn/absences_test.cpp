// A dead replica changes the data that is seen, not the job.
#include "learn/absences.hpp"

#include "learn/learn.hpp"
#include "order_logs.hpp"
#include "quadratic.hpp"

#include <algorithm>
#include <doctest/doctest.h>

using namespace trainyard;

namespace {

constexpr int workers_of_job = 4;
constexpr double died = 20, back = 30;

std::vector<double> dates_of(const OrderLog& log, int worker) {
  std::vector<double> dates;
  for (const ShardUpdate& update : log.updates)
    if (log.uses[update.first_use].worker == worker) dates.push_back(update.at.si());
  return dates;
}

OrderLog order_of(const UpdateSettings& rule, int shards = 1) {
  return order_log(rule, exponential_steps(1), {.time = 60}, shards);
}

}  // namespace

TEST_CASE("a dead worker's gradients are missing until it has read anew; the others keep theirs") {
  for (const UpdateSettings& rule :
       {UpdateSettings{.rule = UpdateRule::async, .workers = workers_of_job},
        UpdateSettings{
            .rule = UpdateRule::downpour, .workers = workers_of_job, .push_every = 2, .fetch_every = 4}}) {
    CAPTURE(config::name_of(rule.rule));
    const OrderLog log = order_of(rule, 2);
    const Absence absence{.worker = 1, .from = Seconds{died}, .until = Seconds{back}};
    const OrderLog kept = without_absent(log, {&absence, 1});
    for (const int other : {0, 2, 3}) CHECK(dates_of(kept, other) == dates_of(log, other));
    const std::vector<double> dates = dates_of(kept, 1);
    REQUIRE(dates.size() > 4);
    CHECK(dates.size() < dates_of(log, 1).size());
    CHECK(std::ranges::none_of(dates, [](double date) { return date >= died && date <= back; }));
    CHECK(dates.back() > back);
    for (std::size_t i = 0; i < 2; ++i) {  // versions have no gaps
      std::int64_t version = 0;
      for (const ShardUpdate& update : kept.updates)
        if (update.shard == static_cast<int>(i)) CHECK(update.version == ++version);
    }
    // the first gradient after the return belongs to a step that began with a read after it
    for (std::size_t i = 0; i < kept.updates.size(); ++i) {
      const ShardUpdate& update = kept.updates[i];
      const GradientUse& use = kept.uses[update.first_use];
      if (use.worker != 1 || update.at.si() <= back) continue;
      std::int32_t read_step = -1;
      for (std::size_t r = 0; r < update.reads_before; ++r)
        if (kept.reads[r].worker == 1) read_step = kept.reads[r].step;
      CHECK(use.first_step >= read_step);
      break;
    }
  }
}

TEST_CASE("nothing changes for a worker that dies after the end, or comes back at once") {
  const OrderLog log = order_of({.rule = UpdateRule::async, .workers = workers_of_job});
  const Absence late{.worker = 0, .from = Seconds{100}, .until = Seconds{200}};
  CHECK(without_absent(log, {&late, 1}).updates.size() == log.updates.size());
  // even then its step under way is lost
  const Absence brief{.worker = 0, .from = Seconds{died}, .until = Seconds{died}};
  CHECK(without_absent(log, {&brief, 1}).updates.size() == log.updates.size() - 1);
}

TEST_CASE("a job without one of its replicas learns on, with fewer samples") {
  const OrderLog log =
      order_of({.rule = UpdateRule::downpour, .workers = workers_of_job, .push_every = 2, .fetch_every = 2});
  const Absence absence{.worker = 2, .from = Seconds{10}, .until = Seconds{1e9}};
  const OrderLog kept = without_absent(log, {&absence, 1});
  const LearnSettings settings = quadratic_settings(0.05);
  const LearningRun whole = learn_once(log, UpdateRule::downpour, settings, nullptr, 1, 0, Seconds{60});
  const LearningRun left = learn_once(kept, UpdateRule::downpour, settings, nullptr, 1, 0, Seconds{60});
  CHECK(left.curve.back().samples < whole.curve.back().samples);
  CHECK(left.curve.back().train_loss < 0.5 * left.curve.front().train_loss);
  CHECK(left.verdict == LearningVerdict::learnt);
  // until it dies, all is the same
  CHECK(left.curve[16].at == Seconds{9.6});
  CHECK(left.curve[16].train_loss == whole.curve[16].train_loss);
}
