#include "strategy/update_rule.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {

namespace {

constexpr std::int64_t none = -1;  // no gradients summed yet

}  // namespace

UpdateRules::UpdateRules(const UpdateSettings& settings)
    : settings_(settings),
      based_on_(at(settings.workers), 0),
      sum_from_(at(settings.workers), none),
      clocks_(at(settings.workers), 0),
      waits_(at(settings.workers), false) {}

void UpdateRules::computed(int worker) {
  std::int64_t& from = sum_from_[at(worker)];
  if (from == none) from = based_on_[at(worker)];
}

std::int64_t UpdateRules::pushed(int worker) { return std::exchange(sum_from_[at(worker)], none); }

const UpdateDecision& UpdateRules::gradient(int worker, std::int64_t from) {
  decision_.is_update = false;
  decision_.others_cancelled = false;
  decision_.contributors.clear();
  decision_.staleness.clear();
  decision_.released.clear();
  ++clocks_[at(worker)];
  collected_.push_back(worker);
  collected_from_.push_back(from);
  const bool is_enough = static_cast<int>(collected_.size()) >= gradients_per_update(settings_);
  if (is_enough) update();
  switch (settings_.rule) {
    case UpdateRule::sync:
    case UpdateRule::local_sgd:
      if (is_enough) release_all();
      break;
    case UpdateRule::k_sync:
      if (is_enough) release_all();
      decision_.others_cancelled = is_enough;
      break;
    case UpdateRule::k_batch_sync:
      if (is_enough)
        release_all();
      else
        release(worker);
      decision_.others_cancelled = is_enough;
      break;
    case UpdateRule::k_async:
      if (is_enough) {
        decision_.released = decision_.contributors;
        std::ranges::sort(decision_.released);
      }
      break;
    case UpdateRule::async:
    case UpdateRule::k_batch_async:
    case UpdateRule::downpour:
      release(worker);
      break;
    case UpdateRule::ssp:
      waits_[at(worker)] = true;
      release_within_bound();
      break;
  }
  return decision_;
}

int UpdateRules::awaited() const { return gradients_per_update(settings_); }

bool UpdateRules::goes_on(int worker) const {
  const std::int64_t least = clocks_[at(worker)] + 1 - settings_.bound;
  for (int other = 0; other < settings_.workers; ++other) {
    if (other != worker && clocks_[at(other)] < least) return false;
  }
  return true;
}

void UpdateRules::update() {
  ++version_;
  decision_.is_update = true;
  decision_.contributors.swap(collected_);
  for (const std::int64_t base : collected_from_) decision_.staleness.push_back(version_ - base);
  collected_.clear();
  collected_from_.clear();
}

void UpdateRules::release_all() {
  for (int worker = 0; worker < settings_.workers; ++worker) release(worker);
}

void UpdateRules::release_within_bound() {
  const std::int64_t slowest = *std::ranges::min_element(clocks_);
  for (int worker = 0; worker < settings_.workers; ++worker) {
    if (!waits_[at(worker)] || clocks_[at(worker)] - slowest > settings_.bound) continue;
    waits_[at(worker)] = false;
    lead_ = std::max(lead_, clocks_[at(worker)] - slowest);
    release(worker);
  }
}

bool takes_k(UpdateRule rule) {
  return rule == UpdateRule::k_sync || rule == UpdateRule::k_batch_sync || rule == UpdateRule::k_async ||
         rule == UpdateRule::k_batch_async;
}

int gradients_per_update(const UpdateSettings& settings) {
  if (takes_k(settings.rule)) return settings.k;
  return is_synchronous(settings.rule) ? settings.workers : 1;
}

bool is_synchronous(UpdateRule rule) {
  return rule == UpdateRule::sync || rule == UpdateRule::k_sync || rule == UpdateRule::k_batch_sync ||
         rule == UpdateRule::local_sgd;
}

}  // namespace trainyard
