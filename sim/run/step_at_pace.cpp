#include "run/step_at_pace.hpp"

#include "engine/makespan.hpp"
#include "run/step.hpp"
#include "schedule/step_variants.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trainyard {

namespace {

/// The numbers of 6 bits (below 1/64: 0 and 1/64) on both sides of a pace.
std::pair<double, double> knots(double pace) {
  constexpr int parts = 64;
  if (pace < 1.0 / parts) return {0, 1.0 / parts};
  int exponent = 0;
  const double mantissa = std::frexp(pace, &exponent);
  const double below = std::floor(mantissa * parts);
  return {std::ldexp(below / parts, exponent), std::ldexp((below + 1) / parts, exponent)};
}

}  // namespace

StepAtPace::StepAtPace(StepPlan plan, std::vector<Seconds> collectives, std::vector<bool> is_paced)
    : plan_(std::move(plan)), collectives_(std::move(collectives)), is_paced_(std::move(is_paced)) {
  const std::vector<OpTime>& times = plan_.op_times.front();
  for (std::size_t op = 0; op < times.size(); ++op) {
    if (is_paced_[op]) nominal_ += times[op].duration;
  }
}

Seconds StepAtPace::step(double pace) {
  if (const auto found = known_.find(pace); found != known_.end()) return found->second;
  return known_.emplace(pace, closed_makespan(paced_step(plan_, collectives_, is_paced_, pace)))
      .first->second;
}

Seconds StepAtPace::beyond(Seconds compute) {
  const double pace = nominal_ > Seconds{} ? compute / nominal_ : 1;
  const auto [below, above] = knots(pace);
  Seconds time = step(below);
  if (pace != below) time += (step(above) - time) * ((pace - below) / (above - below));
  return std::max(Seconds{}, time - compute);
}

Seconds StepAtPace::least() const {
  return closed_makespan(paced_step(plan_, bounds_of(plan_), is_paced_, 0));
}

}  // namespace trainyard
