#pragma once
// `trainyard calibrate stack`: one compute_scale for a stack, from published runs on one GPU.

#include "config/catalogue.hpp"
#include "published/case.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace trainyard {

/// A run that the scale was fitted to.
struct FittedRun {
  Case run;
  double measured = 0;   ///< samples per second
  double predicted = 0;  ///< with the stack as it was
  double scale = 0;      ///< with which the prediction equals the row
  double error =
      0;  ///< predicted / measured - 1 with the scale of all rows, as if kernels were all of a step
};

struct StackFit {
  Stack stack;  ///< with the fitted compute_scale
  std::vector<FittedRun> runs;
  std::map<std::string, int> excluded;  ///< rows that were not fitted to, by reason
};

/// The geometric mean of the scales with which the stack predicts each row. Allowed are rows on one GPU with
/// split calibrate that the rules find to have run the stack. Throws InputError if there is none.
StackFit fit_stack(const config::Catalogue& catalogue, const std::shared_ptr<const PublishedData>& data,
                   const std::string& stack, int parallel);

}  // namespace trainyard
