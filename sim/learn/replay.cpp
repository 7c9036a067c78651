#include "learn/replay.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <utility>

namespace trainyard {

namespace {

double squared_norm(const std::vector<double>& values, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += values[i] * values[i];
  return sum;
}

}  // namespace

void check_learning_rule(const LearnSettings& settings, UpdateRule rule, const std::string& path,
                         config::Problems& problems) {
  if (!traits(rule).averages) {
    if (settings.starts == WorkerStarts::different)
      problems.error(
          config::join(path, "starts"),
          fmt::format("with {} workers read their parameters before the first step", config::name_of(rule)),
          "starts: same, or sync.update: local_sgd");
    return;
  }
  const RateRule rate = settings.rate.rule;
  if (rate == RateRule::adagrad || rate == RateRule::by_distance)
    problems.error(config::join(config::join(path, "rate"), "rule"),
                   fmt::format("{} averages parameters; {} is for gradients", config::name_of(rule),
                               config::name_of(rate)),
                   "rule: fixed");
  if (settings.momentum > 0)
    problems.error(config::join(path, "momentum"),
                   fmt::format("{} averages parameters; momentum is for gradients", config::name_of(rule)),
                   "leave out 'momentum'");
}

Replay::Replay(const OrderLog& log, UpdateRule rule, const LearnSettings& settings, Objective& objective)
    : log_(log),
      settings_(settings),
      objective_(objective),
      has_local_steps_(traits(rule).sums_steps),
      batch_(batch_of(settings)),
      parameters_(at(objective.parameters())),
      velocity_(settings.momentum > 0 ? parameters_.size() : 0, 0.0),
      squares_(settings.rate.rule == RateRule::adagrad ? parameters_.size() : 0, 0.0),
      change_(parameters_.size()),
      step_gradient_(parameters_.size()),
      versions_(at(log.shards), 0),
      workers_(at(log.workers)) {
  objective.start(0, parameters_);
  for (Worker& worker : workers_) {
    worker.copy = parameters_;
    worker.versions = versions_;
    if (has_local_steps_) worker.rates.assign(squares_.size(), 0.0);
  }
  if (settings.starts == WorkerStarts::different) start_differently();
  if (!log.updates.empty()) gradients_per_update_ = log.updates[0].last_use - log.updates[0].first_use;
  for (const GradientUse& use : log.uses)
    workers_[at(use.worker)].needed.push_back({use.first_step, use.steps, 1});
  for (Worker& worker : workers_) {  // one gradient is used once by each shard
    std::ranges::stable_sort(worker.needed, {}, &Needed::first);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < worker.needed.size(); ++i) {
      if (i > 0 && worker.needed[i].first == worker.needed[kept - 1].first)
        ++worker.needed[kept - 1].shards;
      else
        worker.needed[kept++] = worker.needed[i];
    }
    worker.needed.resize(kept);
  }
}

void Replay::start_differently() {
  std::ranges::fill(parameters_, 0.0);
  for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
    std::vector<double>& copy = workers_[worker].copy;
    objective_.start(static_cast<int>(worker), copy);
    for (std::size_t i = 0; i < copy.size(); ++i)
      parameters_[i] += copy[i] / static_cast<double>(workers_.size());
  }
}

const ShardUpdate* Replay::upcoming() const {
  return next_update_ < log_.updates.size() ? &log_.updates[next_update_] : nullptr;
}

Replay::Part Replay::part(int shard) const {
  const std::size_t count = parameters_.size();
  const std::size_t shards = at(log_.shards);
  return {count * at(shard) / shards, count * (at(shard) + 1) / shards};
}

void Replay::next() {
  const ShardUpdate& update = log_.updates[next_update_++];
  for (; next_read_ < update.reads_before; ++next_read_) read(log_.reads[next_read_]);
  assert(update.version == versions_[at(update.shard)] + 1);
  apply(update, part(update.shard));
  versions_[at(update.shard)] = update.version;
  ++totals_.shard_updates;
  for (std::size_t i = update.first_use; i < update.last_use; ++i) release(log_.uses[i]);
}

void Replay::read(const ShardRead& read) {
  compute(read.worker, read.step);
  const bool keeps_start = settings_.starts == WorkerStarts::different && versions_[at(read.shard)] == 0;
  if (keeps_start) return;
  Worker& worker = workers_[at(read.worker)];
  const Part own = part(read.shard);
  std::copy(parameters_.begin() + static_cast<long>(own.begin),
            parameters_.begin() + static_cast<long>(own.end),
            worker.copy.begin() + static_cast<long>(own.begin));
  worker.versions[at(read.shard)] = versions_[at(read.shard)];
  if (worker.rates.empty()) return;
  const double rate = scheduled_rate();
  for (std::size_t i = own.begin; i < own.end; ++i)
    worker.rates[i] = squares_[i] > 0 ? rate / std::sqrt(squares_[i]) : 0;
}

void Replay::compute(int number, std::int32_t limit) {
  Worker& worker = workers_[at(number)];
  for (; worker.next < worker.needed.size(); ++worker.next) {
    const Needed& needed = worker.needed[worker.next];
    if (needed.first >= limit) return;
    const bool is_begun = !worker.gradients.empty() && worker.gradients.back().needed.first == needed.first;
    if (!is_begun) {
      if (unused_.empty()) unused_.emplace_back();
      worker.gradients.push_back(std::move(unused_.back()));
      unused_.pop_back();
      Gradient& gradient = worker.gradients.back();
      gradient.needed = needed;
      gradient.computed = 0;
      gradient.versions = worker.versions;
      if (settings_.rate.rule == RateRule::by_distance) gradient.from = worker.copy;
    }
    Gradient& gradient = worker.gradients.back();
    while (gradient.computed < needed.steps && needed.first + gradient.computed < limit)
      compute_step(number, gradient);
    if (gradient.computed < needed.steps) return;
  }
}

void Replay::compute_step(int number, Gradient& gradient) {
  Worker& worker = workers_[at(number)];
  const std::int32_t step = gradient.needed.first + gradient.computed;
  const bool is_first = gradient.computed++ == 0;
  if (is_first) gradient.sum.resize(parameters_.size());
  std::vector<double>& own = is_first ? gradient.sum : step_gradient_;
  objective_.gradient(number, step, worker.copy, own);
  if (has_local_steps_) {
    const double rate = scheduled_rate();
    for (std::size_t i = 0; i < own.size(); ++i)
      worker.copy[i] -= (worker.rates.empty() ? rate : worker.rates[i]) * own[i];
  }
  if (is_first) return;
  for (std::size_t i = 0; i < own.size(); ++i) gradient.sum[i] += own[i];
}

Replay::Gradient& Replay::gradient_of(const GradientUse& use) {
  compute(use.worker, use.first_step + use.steps);
  const auto found = std::ranges::find(workers_[at(use.worker)].gradients, use.first_step,
                                       [](const Gradient& gradient) { return gradient.needed.first; });
  assert(found != workers_[at(use.worker)].gradients.end());
  return *found;
}

std::span<const double> Replay::sent(int worker, const Gradient& gradient) {
  assert(log_.shards == 1 || !settings_.sent);  // only peers send parts
  const std::size_t count = gradient.sum.size();
  const auto most = std::max(1.0, std::round(settings_.sent.value_or(1) * static_cast<double>(count)));
  auto left = static_cast<std::size_t>(most);
  if (left >= count) return gradient.sum;
  std::vector<double>& rest = workers_[at(worker)].rest;
  rest.resize(count);
  sent_.assign(count, 0.0);
  sizes_.resize(count);
  for (std::size_t i = 0; i < count; ++i) sizes_[i] = std::abs(rest[i] += gradient.sum[i]);
  std::ranges::nth_element(sizes_, sizes_.begin() + static_cast<long>(left - 1), std::greater<>());
  const double least = sizes_[left - 1];
  const auto send = [&](const auto& is_chosen) {
    for (std::size_t i = 0; i < count && left > 0; ++i) {
      if (rest[i] == 0 || !is_chosen(std::abs(rest[i]))) continue;
      sent_[i] = std::exchange(rest[i], 0.0);
      --left;
    }
  };
  send([&](double size) { return size > least; });
  send([&](double size) { return size == least; });
  return sent_;
}

double Replay::scheduled_rate() const {
  const LearningRate& rate = settings_.rate;
  if (rate.rule != RateRule::linear_scaling) return rate.base;
  const double scale = static_cast<double>(gradients_per_update_) * batch_ / *rate.base_batch;
  const double warmup = rate.warmup_epochs.value_or(0);
  if (warmup <= 0) return rate.base * scale;
  const double epochs = static_cast<double>(samples()) / *objective_.train_samples();
  return rate.base * (1 + (scale - 1) * std::min(1.0, epochs / warmup));
}

double Replay::rate_of(const Gradient& gradient, const ShardUpdate& update, Part own) const {
  const double rate = scheduled_rate();
  if (settings_.rate.rule == RateRule::by_staleness)
    return rate / static_cast<double>(update.version - gradient.versions[at(update.shard)]);
  if (settings_.rate.rule != RateRule::by_distance) return rate;
  double distance = 0;
  for (std::size_t i = own.begin; i < own.end; ++i) {
    const double moved = parameters_[i] - gradient.from[i];
    distance += moved * moved;
  }
  // C is of the whole model: a shard sees its share of the distance.
  const double share = static_cast<double>(own.end - own.begin) / static_cast<double>(parameters_.size());
  const double most = *settings_.rate.distance * share;
  return most < rate * distance ? most / distance : rate;
}

void Replay::apply(const ShardUpdate& update, Part own) {
  gradients_per_update_ = update.last_use - update.first_use;
  const auto uses = static_cast<double>(gradients_per_update_);
  std::fill(change_.begin() + static_cast<long>(own.begin), change_.begin() + static_cast<long>(own.end),
            0.0);
  const bool is_adagrad = settings_.rate.rule == RateRule::adagrad;
  double batches = 0;
  UpdateNoise noise;
  for (std::size_t i = update.first_use; i < update.last_use; ++i) {
    const GradientUse& use = log_.uses[i];
    const Gradient& gradient = gradient_of(use);
    const double factor = (is_adagrad ? 1 : rate_of(gradient, update, own)) / uses;
    const std::span<const double> values = sent(use.worker, gradient);
    for (std::size_t j = own.begin; j < own.end; ++j) change_[j] += factor * values[j];
    const std::int64_t staleness = update.version - gradient.versions[at(update.shard)];
    totals_.staleness_sum += static_cast<double>(staleness);
    noise.is_fresh = noise.is_fresh && staleness == 1;
    if (measures_noise(update) && noise.is_fresh) {
      noise.squares += squared_norm(gradient.sum, own.begin, own.end);
      noise.factor = factor * uses;
    }
    totals_.rate_sum += is_adagrad ? 0 : factor * use.steps;
    totals_.batches += use.steps;
    batches += use.steps;
  }
  totals_.uses += static_cast<std::int64_t>(update.last_use - update.first_use);
  if (measures_noise(update) && noise.is_fresh) add_noise(noise, own);
  if (is_adagrad) {
    const double before = totals_.rate_sum;
    apply_adagrad(own);
    totals_.rate_sum = before + (totals_.rate_sum - before) * batches / uses;
  }
  if (settings_.momentum > 0) {
    for (std::size_t i = own.begin; i < own.end; ++i)
      change_[i] = velocity_[i] = settings_.momentum * velocity_[i] + change_[i];
  }
  for (std::size_t i = own.begin; i < own.end; ++i) parameters_[i] -= change_[i];
}

/// Replaces the mean gradient by the change of the parameters; adds the mean of the rates to the totals.
void Replay::apply_adagrad(Part own) {
  const double base = scheduled_rate();
  double rates = 0;
  std::size_t moved = 0;
  for (std::size_t i = own.begin; i < own.end; ++i) {
    squares_[i] += change_[i] * change_[i];
    if (squares_[i] <= 0) continue;
    const double rate = base / std::sqrt(squares_[i]);
    change_[i] *= rate;
    rates += rate;
    ++moved;
  }
  if (moved > 0) totals_.rate_sum += rates / static_cast<double>(moved);
}

bool Replay::measures_noise(const ShardUpdate& update) const {
  return update.last_use - update.first_use > 1 && !has_local_steps_ && !settings_.sent;
}

/// Gradients that are all fresh have the same rate, so that `change_` is proportional to their mean.
void Replay::add_noise(const UpdateNoise& noise, Part own) {
  const auto count = static_cast<double>(gradients_per_update_);
  const double single = noise.squares / count;
  const double all = squared_norm(change_, own.begin, own.end) / (noise.factor * noise.factor);
  const double batch = batch_;
  totals_.gradient_squared += (count * all - single) / (count - 1);
  totals_.covariance_trace += (single - all) * batch * count / (count - 1);
}

void Replay::release(const GradientUse& use) {
  Worker& worker = workers_[at(use.worker)];
  const auto found = std::ranges::find(worker.gradients, use.first_step,
                                       [](const Gradient& gradient) { return gradient.needed.first; });
  if (--found->needed.shards > 0) return;
  unused_.push_back(std::move(*found));
  worker.gradients.erase(found);
}

}  // namespace trainyard
