#include "learn/batches.hpp"

#include "config/diagnostic.hpp"
#include "learn/streams.hpp"

#include <cstdint>
#include <fmt/format.h>

namespace trainyard {

Batches::Batches(DataPerWorker division, int count, int workers, int batch, random::Generator stream)
    : division_(division),
      count_(count),
      workers_(workers),
      stream_(stream),
      batch_(static_cast<std::size_t>(batch)),
      epochs_(static_cast<std::size_t>(workers)) {
  if (division == DataPerWorker::sharded && count < workers)
    throw InputError(fmt::format("{} training samples cannot be divided among {} workers", count, workers),
                     "data_per_worker: sampled, or more samples");
}

const std::vector<int>& Batches::at(int worker, int step) {
  if (division_ == DataPerWorker::sampled) {
    random::Generator generator =
        stream_.of(static_cast<std::uint64_t>(worker)).of(static_cast<std::uint64_t>(step));
    for (int& sample : batch_) sample = learning::below(count_, generator);
    return batch_;
  }
  const bool is_sharded = division_ == DataPerWorker::sharded;
  const auto boundary = [&](long long part) { return static_cast<int>(count_ * part / workers_); };
  const int own = is_sharded ? boundary(worker + 1) - boundary(worker) : count_;
  long long next = static_cast<long long>(step) * static_cast<long long>(batch_.size());
  for (int& sample : batch_) {
    sample = order(worker, next / own)[static_cast<std::size_t>(next % own)];
    if (is_sharded) sample += boundary(worker);
    ++next;
  }
  return batch_;
}

const std::vector<int>& Batches::order(int worker, long long epoch) {
  Epoch& kept = epochs_[static_cast<std::size_t>(worker)];
  if (kept.number == epoch) return kept.order;
  const bool is_sharded = division_ == DataPerWorker::sharded;
  const auto boundary = [&](long long part) { return static_cast<int>(count_ * part / workers_); };
  const int own = is_sharded ? boundary(worker + 1) - boundary(worker) : count_;
  kept.number = epoch;
  kept.order = learning::shuffled(
      own, stream_.of(static_cast<std::uint64_t>(worker)).of(static_cast<std::uint64_t>(epoch)));
  return kept.order;
}

}  // namespace trainyard
