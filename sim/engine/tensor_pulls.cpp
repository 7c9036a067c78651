#include "engine/tensor_pulls.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <numeric>

namespace trainyard::engine {

TensorPulls::TensorPulls(const UpdateSettings& settings, bool cancels, int messages)
    : rule_(settings.rule),
      cancels_(cancels),
      workers_(settings.workers),
      arrivals_(at(messages)),
      senders_(at(messages)),
      versions_(at(messages)),
      held_(at(settings.workers), std::vector<std::int64_t>(at(messages))),
      goes_on_(at(settings.workers)) {}

const std::vector<int>& TensorPulls::received(int worker, int message, const UpdateRules& rules) {
  receivers_.clear();
  switch (rule_) {
    case UpdateRule::sync:
    case UpdateRule::local_sgd:
    case UpdateRule::k_sync:
    case UpdateRule::k_batch_sync:
      if (++arrivals_[at(message)] != rules.awaited()) break;
      if (!cancels_) arrivals_[at(message)] = 0;
      receivers_.resize(at(workers_));
      std::iota(receivers_.begin(), receivers_.end(), 0);
      break;
    case UpdateRule::async:
      receivers_.push_back(worker);
      break;
    case UpdateRule::k_async:
      join_senders(worker, message, rules.awaited());
      break;
    case UpdateRule::k_batch_async:
      count_arrival(worker, message, rules.awaited());
      break;
    case UpdateRule::ssp:
      goes_on_[at(worker)] = static_cast<char>(goes_on_[at(worker)] != 0 || rules.goes_on(worker));
      if (goes_on_[at(worker)] != 0) receivers_.push_back(worker);
      break;
    case UpdateRule::downpour:  // it fetches when it is due, whatever it pushes
      break;
  }
  return receivers_;
}

void TensorPulls::join_senders(int worker, int message, int awaited) {
  std::vector<int>& senders = senders_[at(message)];
  senders.push_back(worker);
  if (static_cast<int>(senders.size()) < awaited) return;
  std::ranges::sort(senders);
  receivers_.swap(senders);
  senders.clear();
}

void TensorPulls::count_arrival(int worker, int message, int awaited) {
  if (++arrivals_[at(message)] >= awaited) {
    arrivals_[at(message)] = 0;
    ++versions_[at(message)];
  }
  if (fetch(worker, message)) receivers_.push_back(worker);
}

void TensorPulls::began_push(int worker) { goes_on_[at(worker)] = 0; }

bool TensorPulls::fetch(int worker, int message) {
  if (rule_ != UpdateRule::k_batch_async) return true;
  std::int64_t& held = held_[at(worker)][at(message)];
  if (held == versions_[at(message)]) return false;
  held = versions_[at(message)];
  return true;
}

void TensorPulls::used(const std::vector<int>& workers) {
  if (rule_ != UpdateRule::k_async) return;
  for (std::vector<int>& senders : senders_) {
    std::erase_if(senders, [&](int sender) { return std::ranges::find(workers, sender) != workers.end(); });
  }
}

void TensorPulls::cancelled() { std::ranges::fill(arrivals_, 0); }

}  // namespace trainyard::engine
