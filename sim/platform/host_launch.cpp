#include "platform/host_launch.hpp"

#include <cmath>
#include <fmt/format.h>

namespace trainyard {

Sourced<double> host_launch(const Platform& platform) {
  if (platform.host_launch) return *platform.host_launch;
  constexpr int reference_year = 2022;
  constexpr double yearly_gain = 1.035;
  Sourced<double> assumed{
      .value = 1, .provenance = Provenance::assumed, .source = "like the host that was measured"};
  if (!platform.year || *platform.year == reference_year) return assumed;
  assumed.value = std::pow(yearly_gain, reference_year - *platform.year);
  assumed.source = fmt::format("3.5 % a year between {} and {}", reference_year, *platform.year);
  return assumed;
}

}  // namespace trainyard
