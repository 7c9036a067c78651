#pragma once
// A published run on one GPU in the parts that software slows down: the input of software_fit.hpp.

#include "accuracy/circumstances.hpp"
#include "config/catalogue.hpp"
#include "published/published_rows.hpp"
#include "strategy/software.hpp"

#include <memory>
#include <string>
#include <vector>

namespace trainyard {

struct KernelTimes {
  const PublishedRow* row = nullptr;
  std::string series = {};
  Circumstances of = {};
  ByOpGroup kernels = {};  ///< seconds of a step, kernels alone
  double ops = 0;          ///< launched in a step
  double rest = 0;         ///< seconds of a step in which no kernel runs: hosts, samples
  double measured = 0;     ///< seconds of a step
  double rounding = 0;     ///< of the published value, as a ratio
};

/// Kernel times of all rows on one GPU with split calibrate to which the rules apply and that can be
/// simulated. `data` must outlive the result.
std::vector<KernelTimes> kernel_times(const config::Catalogue& catalogue,
                                      const std::shared_ptr<const PublishedData>& data,
                                      const std::vector<PublishedRow>& rows, int parallel);

}  // namespace trainyard
