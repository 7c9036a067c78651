#pragma once
// The dates of a job's faults.

#include "random/functions.hpp"
#include "random/generator.hpp"
#include "run/faulty_job.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace trainyard {

inline constexpr double no_date = std::numeric_limits<double>::infinity();

/// Faults in order of their dates, both random and given ones.
class FaultClock {
public:
  FaultClock(const FaultyJob& job, std::uint64_t seed, int repeat)
      : job_(job), generator_(seed, {key, static_cast<std::uint64_t>(repeat)}) {
    for (const FaultSource& source : job.rates) {
      total_ += static_cast<double>(source.parts.size()) / source.between.si();
      rate_up_to_.push_back(total_);
    }
    draw();
  }

  [[nodiscard]] double date() const { return std::min(drawn_date_, dated()); }

  /// The fault at date(); moves on to the next one.
  const FaultyPart& take() {
    if (dated() <= drawn_date_) return job_.dates[next_++].part;
    const FaultyPart& part = *drawn_;
    draw();
    return part;
  }

private:
  static constexpr std::uint64_t key = 0xfau;  // of this stream of random numbers

  [[nodiscard]] double dated() const {
    return next_ < job_.dates.size() ? job_.dates[next_].date.si() : no_date;
  }

  void draw() {
    if (total_ <= 0) return;
    drawn_date_ = (drawn_date_ == no_date ? 0 : drawn_date_) - random::log(generator_.uniform()) / total_;
    const double which = generator_.uniform() * total_;
    const auto found = std::ranges::upper_bound(rate_up_to_, which);
    const auto source =
        std::min(static_cast<std::size_t>(found - rate_up_to_.begin()), rate_up_to_.size() - 1);
    const std::vector<FaultyPart>& parts = job_.rates[source].parts;
    const auto number = static_cast<std::size_t>(generator_.uniform() * static_cast<double>(parts.size()));
    drawn_ = &parts[std::min(number, parts.size() - 1)];
  }

  const FaultyJob& job_;
  random::Generator generator_;
  std::vector<double> rate_up_to_;  ///< by source: faults per second of this and all earlier sources
  double total_ = 0;
  double drawn_date_ = no_date;
  const FaultyPart* drawn_ = nullptr;
  std::size_t next_ = 0;  ///< index in job_.dates
};

}  // namespace trainyard
