#include "cli/cost.hpp"

#include <chrono>
#include <sys/resource.h>

namespace trainyard {

namespace {

using Clock = std::chrono::steady_clock;

const Clock::time_point process_start = Clock::now();

Seconds seconds(const timeval& time) {
  return Seconds(static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec));
}

}  // namespace

ResourceUsage usage_so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {.wall = Seconds(std::chrono::duration<double>(Clock::now() - process_start).count()),
          .cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .peak_rss = Bytes(1024.0 * static_cast<double>(usage.ru_maxrss))};
}

}  // namespace trainyard
