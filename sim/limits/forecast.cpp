#include "limits/forecast.hpp"

#include "units/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace trainyard {
namespace {

/// The cost of one piece of work.
struct UnitCost {
  double Work::*work;
  double microseconds;
  double bytes;
};

// Measured, see README.md.
constexpr UnitCost unit_costs[] = {
    {&Work::listed_ops, 0.2, 220},      {&Work::simulated_ops, 2.6, 2900},
    {&Work::traced_ops, 0.8, 620},      {&Work::messages, 6, 0},
    {&Work::crowding, 0.005, 0},        {&Work::rounds, 5, 0},
    {&Work::server_flows, 0.5, 0},      {&Work::server_ways, 0.045, 0},
    {&Work::worker_steps, 0.25, 0},     {&Work::drawn_ops, 0.05, 0},
    {&Work::explained_ranks, 10, 1200}, {&Work::page_ranks, 10, 0},  // in other processes
    {&Work::written_ranks, 8, 1500},    {&Work::written_bars, 5, 1500},
    {&Work::judged_layouts, 300, 0},    {&Work::judged_ranks, 0.02, 0},
    {&Work::predicted_runs, 3'000, 0},  {&Work::predicted_layouts, 12'000, 0},
};

/// With two digits.
double two_digits(double number) {
  double unit = 1;
  while (number >= 100 * unit) unit *= 10;
  return unit * std::round(number / unit);
}

}  // namespace

Cost cost_of(const Work& work) {
  Cost cost;
  for (const UnitCost& unit : unit_costs) {
    cost.time += Seconds(1e-6 * unit.microseconds * work.*unit.work);
    cost.memory += Bytes(unit.bytes * work.*unit.work);
  }
  return cost;
}

std::string in_words(const Cost& cost) {
  std::string text = "about " + human(Seconds(std::max(1.0, two_digits(cost.time.si()))));
  const double gigabytes = cost.memory.si() / 1e9;
  if (gigabytes >= 1)
    text += gigabytes < 10 ? fmt::format(" and {:.1f} GB", gigabytes)
                           : fmt::format(" and {:.0f} GB", two_digits(gigabytes));
  return text;
}

}  // namespace trainyard
