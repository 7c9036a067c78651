#include "schedule/launch_program.hpp"

#include "units/ids.hpp"

#include <algorithm>
#include <utility>

namespace trainyard {

LaunchProgram::LaunchProgram(std::vector<LaunchedOp> ops, const LaunchingHost& host, ProgramWriter& writer)
    : writer_(writer), ops_(std::move(ops)), host_(host) {
  const auto is_launched = [](const LaunchedOp& op) { return op.host > Seconds(); };
  if (std::ranges::none_of(ops_, is_launched)) ops_.clear();
  if (!has_host()) return;
  lead_ = steady_launches(ops_, host_).lead;
  before_launch_ = ops_before_launch(ops_, host_);
  is_awaited_.resize(ops_.size());
  begun_.resize(ops_.size(), -1);
  for (std::size_t i = 0; i < before_launch_.size(); ++i) {
    if (is_launched(ops_[i]) && before_launch_[i] >= 0) is_awaited_[at(before_launch_[i])] = true;
  }
  add_work({.duration = host_.between_steps, .op = 0});
}

void LaunchProgram::before(int op) {
  if (!has_host()) return;
  number_ = op;
  const Seconds time = ops_[next_].host;
  if (time > Seconds()) {
    constexpr double rounding = 1e-9;
    const bool is_done = (1 - rounding) * time <= lead_;
    add_work({.duration = is_done ? std::min(time, lead_) : time, .op = op});
    const int awaited = before_launch_.empty() ? -1 : before_launch_[next_];
    if (awaited >= 0) writer_.wait(Stream::launch, begun_[at(awaited)]);
    if (!is_done || awaited >= 0) writer_.order(Stream::launch, Stream::compute);
  }
  if (is_awaited_[next_]) begun_[next_] = writer_.record(Stream::compute);
  if (ops_[next_].awaits_start) start_ = is_awaited_[next_] ? begun_[next_] : writer_.record(Stream::compute);
}

void LaunchProgram::after() {
  if (!has_host()) return;
  const LaunchedOp& op = ops_[next_++];
  if (!op.synchronises && !op.awaits_start) return;
  lead_ = {};
  if (op.synchronises)
    writer_.order(Stream::compute, Stream::launch);
  else
    writer_.wait(Stream::launch, start_);
  add_work({.duration = host_.synchronise, .op = number_});
}

void LaunchProgram::join(Stream stream, const Join& collective) {
  launch_for(stream, collective.collective);
  writer_.add(stream, collective);
}

void LaunchProgram::launch(Stream stream, const Compute& kernel) {
  launch_for(stream, kernel.collective);
  writer_.add(stream, kernel);
}

void LaunchProgram::wait(int event) {
  if (!has_host()) return;
  lead_ = {};
  writer_.wait(Stream::launch, event);
}

void LaunchProgram::launch_for(Stream stream, int collective) {
  if (!has_host() || host_.collective <= Seconds()) return;
  const bool is_done = host_.collective <= lead_;
  add_work({.duration = host_.collective, .collective = collective});
  if (!is_done) writer_.order(Stream::launch, stream);
}

void LaunchProgram::add_work(const Compute& work) {
  const Seconds done = std::min(work.duration, lead_);
  lead_ -= done;
  if (work.duration <= done) return;
  Compute left = work;
  left.duration -= done;
  writer_.add(Stream::launch, left);
}

}  // namespace trainyard
