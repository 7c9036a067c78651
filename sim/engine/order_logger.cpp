#include "engine/order_logger.hpp"

#include <algorithm>
#include <utility>

namespace trainyard::engine {

namespace {

constexpr auto never = static_cast<std::size_t>(-1);

// Room is made at once for logs of up to this number of gradients; longer ones grow.
constexpr std::int64_t most_reserved = 20'000'000;

}  // namespace

OrderLogger::OrderLogger(const UpdateSettings& settings, const TrainingOptions& options, int shards)
    : options_(options.log),
      push_every_(settings.push_every),
      has_local_steps_(traits(settings.rule).sums_steps),
      has_end_(options_.until > Seconds{} || options_.updates > 0),
      is_open_(static_cast<bool>(options_.take)) {
  if (!is_open_) shards = 0;
  log_.workers = settings.workers;
  log_.shards = std::max(1, shards);
  steps_.assign(at(settings.workers), 0);
  read_at_.assign(at(settings.workers), never);
  last_push_.resize(at(settings.workers));
  versions_.assign(at(shards), 0);
  if (!is_open_) return;
  const std::int64_t updates = options_.updates > 0 ? options_.updates : options.warmup + options.measured;
  const std::int64_t uses = updates * gradients_per_update(settings) * shards;
  if (uses <= most_reserved) {
    log_.updates.reserve(static_cast<std::size_t>(updates * shards));
    log_.uses.reserve(static_cast<std::size_t>(uses));
    log_.reads.reserve(static_cast<std::size_t>(uses + settings.workers * shards));
  }
}

void OrderLogger::read(int worker) {
  if (!is_open_) return;
  if (!has_local_steps_ && read_at_[at(worker)] == log_.updates.size()) return;
  read_at_[at(worker)] = log_.updates.size();
  for (int shard = 0; shard < log_.shards; ++shard)
    log_.reads.push_back({.worker = worker, .shard = shard, .step = steps_[at(worker)]});
}

void OrderLogger::pushed(int worker) {
  last_push_[at(worker)] = {
      .worker = worker, .first_step = steps_[at(worker)] - push_every_, .steps = push_every_};
}

void OrderLogger::gradient(int worker) {
  if (is_open_) waiting_.push_back(last_push_[at(worker)]);
}

void OrderLogger::append(int shard, double date, std::size_t first_use) {
  log_.updates.push_back({.at = Seconds{date},
                          .version = ++versions_[at(shard)],
                          .first_use = first_use,
                          .last_use = log_.uses.size(),
                          .reads_before = log_.reads.size(),
                          .shard = shard});
}

void OrderLogger::update(double date) {
  if (!is_open_) return;
  if (options_.until > Seconds{} && Seconds{date} > options_.until) return;
  // A fixed order, so that rules which differ only in the order of arrival give the same sums.
  std::ranges::sort(waiting_, {},
                    [](const GradientUse& use) { return std::pair(use.worker, use.first_step); });
  const std::size_t first_use = log_.uses.size();
  log_.uses.insert(log_.uses.end(), waiting_.begin(), waiting_.end());
  waiting_.clear();
  for (int shard = 0; shard < log_.shards; ++shard) append(shard, date, first_use);
}

void OrderLogger::update_shard(int worker, int shard, double date) {
  if (!is_open_) return;
  if (options_.until > Seconds{} && Seconds{date} > options_.until) return;
  if (options_.updates > 0 && versions_[at(shard)] == options_.updates) return;
  const std::size_t first_use = log_.uses.size();
  log_.uses.push_back(last_push_[at(worker)]);
  append(shard, date, first_use);
}

void OrderLogger::reached(std::int64_t version, double date) {
  const bool is_past = options_.until > Seconds{} && Seconds{date} >= options_.until;
  if (is_past || (options_.updates > 0 && version >= options_.updates)) is_open_ = false;
}

void OrderLogger::finish() {
  is_open_ = false;
  if (!options_.take) return;
  // Nothing is computed from copies read after the last update.
  log_.reads.resize(log_.updates.empty() ? 0 : log_.updates.back().reads_before);
  options_.take(std::move(log_));
}

}  // namespace trainyard::engine
