#pragma once
// Reads an order log as a replay does: which version every gradient was computed from.

#include "strategy/order_log.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace trainyard::testing {

/// Of one shard, the number of gradients by age in updates, counted from the log alone. Gradients that cannot
/// be told, since their worker had not read the shard, count at age 0.
inline std::vector<std::int64_t> staleness_in(const OrderLog& log, int shard = 0) {
  // By worker, its reads as (step, version), from the one before its last used step on.
  std::vector<std::deque<std::pair<std::int32_t, std::int64_t>>> versions_read(
      static_cast<std::size_t>(log.workers));
  std::vector<std::int64_t> histogram;
  std::int64_t version = 0;
  std::size_t next_read = 0;
  for (const ShardUpdate& update : log.updates) {
    for (; next_read < update.reads_before; ++next_read) {
      const ShardRead& read = log.reads[next_read];
      if (read.shard == shard)
        versions_read[static_cast<std::size_t>(read.worker)].emplace_back(read.step, version);
    }
    if (update.shard != shard) continue;
    version = update.version;
    for (std::size_t i = update.first_use; i < update.last_use; ++i) {
      const GradientUse& use = log.uses[i];
      auto& reads = versions_read[static_cast<std::size_t>(use.worker)];
      while (reads.size() > 1 && reads[1].first <= use.first_step) reads.pop_front();
      const bool has_read = !reads.empty() && reads.front().first <= use.first_step;
      const std::int64_t age = has_read ? version - reads.front().second : 0;
      if (static_cast<std::size_t>(age) >= histogram.size())
        histogram.resize(static_cast<std::size_t>(age) + 1);
      ++histogram[static_cast<std::size_t>(age)];
    }
  }
  return histogram;
}

inline double mean_age(const std::vector<std::int64_t>& histogram) {
  double sum = 0;
  double count = 0;
  for (std::size_t age = 0; age < histogram.size(); ++age) {
    sum += static_cast<double>(age) * static_cast<double>(histogram[age]);
    count += static_cast<double>(histogram[age]);
  }
  return sum / count;
}

inline bool are_equal(const OrderLog& one, const OrderLog& other) {
  const auto same_reads = [](const ShardRead& a, const ShardRead& b) {
    return a.worker == b.worker && a.shard == b.shard && a.step == b.step;
  };
  const auto same_uses = [](const GradientUse& a, const GradientUse& b) {
    return a.worker == b.worker && a.first_step == b.first_step && a.steps == b.steps;
  };
  const auto same_updates = [](const ShardUpdate& a, const ShardUpdate& b) {
    return a.at == b.at && a.version == b.version && a.first_use == b.first_use && a.last_use == b.last_use &&
           a.reads_before == b.reads_before && a.shard == b.shard;
  };
  return one.workers == other.workers && one.shards == other.shards &&
         std::equal(one.reads.begin(), one.reads.end(), other.reads.begin(), other.reads.end(), same_reads) &&
         std::equal(one.uses.begin(), one.uses.end(), other.uses.begin(), other.uses.end(), same_uses) &&
         std::equal(one.updates.begin(), one.updates.end(), other.updates.begin(), other.updates.end(),
                    same_updates);
}

}  // namespace trainyard::testing
