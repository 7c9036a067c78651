#include "calibration/fit_software.hpp"

#include "published/kernel_times.hpp"
#include "published/software_fit.hpp"

#include <fmt/format.h>

namespace trainyard {

Software fit_software(const config::Catalogue& catalogue, const std::shared_ptr<const PublishedData>& data,
                      int parallel) {
  const SoftwareFit fit(kernel_times(catalogue, data, data->rows, parallel));
  Software software = fit.software();
  software.title = fmt::format("{} published runs on one GPU", fit.runs().size());
  software.left_out = {fit.left_out_error("series", [](const KernelTimes& run) { return run.series; }),
                       fit.left_out_error("gpu", [](const KernelTimes& run) { return run.use.gpu; }),
                       fit.left_out_error("stack", [](const KernelTimes& run) { return run.use.stack; }),
                       fit.left_out_error("model", [](const KernelTimes& run) { return run.use.model; })};
  software.source = {
      fmt::format("trainyard calibrate stack: {}; every line of the table names its rows in "
                  "workloads/published",
                  software.title)};
  return software;
}

}  // namespace trainyard
