#include "cli/error_limit.hpp"

#include "cli/commands.hpp"
#include "config/keys.hpp"
#include "published/run_errors.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {
namespace {

/// Why the mean error of some rows misses the limit; empty if it does not.
std::string missed(const std::string& one, const std::string& many, const std::optional<double>& error,
                   double limit) {
  if (!error) {
    return fmt::format("no {} could be scored, so that nothing keeps the limit of {:.1f} %", one,
                       100 * limit);
  }
  if (*error <= limit) return {};
  return fmt::format("the mean error over {} is {:.1f} %, above the limit of {:.1f} %", many, 100 * *error,
                     100 * limit);
}

}  // namespace

void check_limit(const Validation& collectives, const TrainingValidation& training, FitKind fit,
                 double limit) {
  const bool has_runs = !training.runs.empty() || !training.missed.empty();
  std::string all;
  if (!collectives.curves.empty() || !has_runs) {
    all = missed("row from 1 MiB on", "curves from 1 MiB on", summary_of(collectives).large.mape, limit);
  }
  if (has_runs) {
    const std::string_view under = config::name_of(fit);
    const std::string its =
        missed(fmt::format("clean training run under {}", under),
               fmt::format("clean training runs under {}", under), errors_of(training, fit, {}).mape, limit);
    all += (all.empty() || its.empty() ? "" : "\n") + its;
  }
  if (!all.empty()) throw LimitMissed(all);
}

}  // namespace trainyard
