#include "engine/tensor_pulls.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <numeric>

namespace trainyard::engine {

TensorPulls::TensorPulls(const UpdateSettings& settings, int messages)
    : rule_(traits(settings.rule)),
      counts_versions_(rule_.release == Release::sender && rule_.takes_k()),
      workers_(settings.workers),
      arrivals_(at(messages)),
      senders_(at(messages)),
      versions_(at(messages)),
      held_(at(settings.workers), std::vector<std::int64_t>(at(messages))),
      goes_on_(at(settings.workers)) {}

const std::vector<int>& TensorPulls::received(int worker, int message, const UpdateRules& rules) {
  receivers_.clear();
  if (rule_.in_background) return receivers_;  // a worker fetches when it is due, with or without a push
  switch (rule_.release) {
    case Release::all:
    case Release::all_or_sender:
      if (++arrivals_[at(message)] != rules.awaited()) break;
      if (!rule_.cancels()) arrivals_[at(message)] = 0;
      receivers_.resize(at(workers_));
      std::iota(receivers_.begin(), receivers_.end(), 0);
      break;
    case Release::contributors:
      join_senders(worker, message, rules.awaited());
      break;
    case Release::sender:
      if (counts_versions_)
        count_arrival(worker, message, rules.awaited());
      else
        receivers_.push_back(worker);
      break;
    case Release::within_bound:
      goes_on_[at(worker)] = static_cast<char>(goes_on_[at(worker)] != 0 || rules.goes_on(worker));
      if (goes_on_[at(worker)] != 0) receivers_.push_back(worker);
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
  if (!counts_versions_) return true;
  std::int64_t& held = held_[at(worker)][at(message)];
  if (held == versions_[at(message)]) return false;
  held = versions_[at(message)];
  return true;
}

void TensorPulls::used(const std::vector<int>& workers) {
  if (rule_.release != Release::contributors) return;
  for (std::vector<int>& senders : senders_) {
    std::erase_if(senders, [&](int sender) { return std::ranges::find(workers, sender) != workers.end(); });
  }
}

void TensorPulls::cancelled() { std::ranges::fill(arrivals_, 0); }

}  // namespace trainyard::engine
