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
  for (const auto& each : config::Names<GroupLeftOut>::table)
    software.left_out.push_back(fit.left_out_error(each.value));
  software.source = {
      fmt::format("trainyard calibrate stack: {}; every line of the table names its rows in "
                  "workloads/published",
                  software.title)};
  return software;
}

}  // namespace trainyard
