#include "learn/absences.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <vector>

namespace trainyard {

namespace {

/// A worker, as the order of the log passes.
struct Presence {
  std::vector<Absence> coming;  ///< by date, the next one last
  bool is_absent = false;
  Seconds back;                 ///< if absent
  std::int32_t fresh_from = 0;  ///< steps before this one were lost
};

std::vector<Presence> presences(int workers, std::span<const Absence> absences) {
  std::vector<Presence> all(at(workers));
  for (const Absence& absence : absences) all[at(absence.worker)].coming.push_back(absence);
  for (Presence& one : all)
    std::ranges::stable_sort(one.coming, [](auto& a, auto& b) { return a.from > b.from; });
  return all;
}

/// Lets time pass for a worker.
void pass(Presence& worker, Seconds now) {
  while (!worker.coming.empty() && worker.coming.back().from <= now) {
    const Seconds until = worker.coming.back().until;
    worker.back = worker.is_absent ? std::max(worker.back, until) : until;
    worker.is_absent = true;
    worker.coming.pop_back();
  }
}

}  // namespace

OrderLog without_absent(const OrderLog& log, std::span<const Absence> absences) {
  OrderLog kept{.workers = log.workers, .shards = log.shards, .reads = {}, .uses = {}, .updates = {}};
  std::vector<Presence> workers = presences(log.workers, absences);
  std::vector<std::int64_t> versions(at(log.shards), 0);
  std::size_t next_read = 0;
  Seconds now;
  for (const ShardUpdate& update : log.updates) {
    for (; next_read < update.reads_before; ++next_read) {
      const ShardRead& read = log.reads[next_read];
      Presence& worker = workers[at(read.worker)];
      pass(worker, now);
      if (worker.is_absent && now < worker.back) continue;
      if (worker.is_absent) worker.fresh_from = read.step;
      worker.is_absent = false;
      kept.reads.push_back(read);
    }
    now = update.at;
    const GradientUse& use = log.uses[update.first_use];
    Presence& worker = workers[at(use.worker)];
    pass(worker, now);
    if (worker.is_absent || use.first_step < worker.fresh_from) continue;
    kept.uses.push_back(use);
    kept.updates.push_back({.at = update.at,
                            .version = ++versions[at(update.shard)],
                            .first_use = kept.uses.size() - 1,
                            .last_use = kept.uses.size(),
                            .reads_before = kept.reads.size(),
                            .shard = update.shard});
  }
  return kept;
}

}  // namespace trainyard
