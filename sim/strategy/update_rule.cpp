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
  decision_.contributors.clear();
  decision_.staleness.clear();
  decision_.released.clear();
  ++clocks_[at(worker)];
  collected_.push_back(worker);
  collected_from_.push_back(from);
  const bool is_enough = static_cast<int>(collected_.size()) >= gradients_per_update(settings_);
  if (is_enough) update();
  const UpdateRuleTraits& rule = traits(settings_.rule);
  decision_.drops_unfinished = is_enough && rule.cancels();
  switch (rule.release) {
    case Release::all:
      if (is_enough) release_all();
      break;
    case Release::all_or_sender:
      if (is_enough)
        release_all();
      else
        release(worker);
      break;
    case Release::contributors:
      if (is_enough) {
        decision_.released = decision_.contributors;
        std::ranges::sort(decision_.released);
      }
      break;
    case Release::sender:
      release(worker);
      break;
    case Release::within_bound:
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

int gradients_per_update(const UpdateSettings& settings) {
  switch (traits(settings.rule).awaited) {
    case Awaited::of_all:
      return settings.workers;
    case Awaited::k:
      return settings.k;
    case Awaited::one:
      break;
  }
  return 1;
}

int workers_needed(const UpdateSettings& settings) {
  const UpdateRuleTraits& rule = traits(settings.rule);
  if (rule.waits_for_all() || rule.is_bounded()) return settings.workers;
  return rule.counts_workers() ? settings.k : 1;
}

}  // namespace trainyard
