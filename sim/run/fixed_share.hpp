#pragma once
// A share of the time that depends on itself, such as how much of it replicas send: the more they use of the
// links, the longer they wait for servers, and so the less they send.

#include <functional>

namespace trainyard {

struct FixedShare {
  double share = 0;
  double off = 0;  ///< the function's value less the share there: below 0 where it jumps over the share
};

/// The share x in 0 to 1 with of(x) = x, to `tolerance`. `of` gives values in 0 to 1 and does not grow. It
/// may jump, as the counts of a simulation do: then x is the upper end of an interval of `tolerance` squared
/// in which it jumps from above x to below. At most 12 + 2 log2(1 / tolerance) evaluations: first by regula
/// falsi (Illinois), then by halving.
FixedShare fixed_share(const std::function<double(double)>& of, double tolerance);

}  // namespace trainyard
