#include "sweep/read_point.hpp"

#include "experiment/keys_meant.hpp"
#include "experiment/one_gpu.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace trainyard {
namespace {

constexpr const char* one_gpu_scale_key = "one_gpu_scale";

PointSource asked_of(const Sweep& sweep, const PointValues& values) {
  PointSource asked{.experiment = sweep.experiment, .overrides = {}};
  const auto take = [&](const std::string& key, const std::string& value) {
    if (value == default_value || key == group_key) return;
    if (key == experiment_key)
      asked.experiment = value;
    else
      asked.overrides.emplace_back(key, value);
  };
  for (const auto& [key, value] : sweep.set) take(key, value);
  for (std::size_t i = 0; i < values.size(); ++i) take(sweep.keys[i], values[i]);
  return asked;
}

ResolvedExperiment read_asked(const config::Catalogue& catalogue, const PointSource& asked,
                              InputFiles& files) {
  return resolve_with_totals(catalogue, asked.experiment, asked.overrides, files);
}

}  // namespace

PointSource source_of_point(const config::Catalogue& catalogue, const Sweep& sweep, const PointValues& values,
                            InputFiles& files) {
  PointSource asked = asked_of(sweep, values);
  if (const std::optional<double> scale = kept_one_gpu_scale(catalogue, sweep, values, files))
    asked.overrides.emplace_back(one_gpu_scale_key, shortest(*scale));
  return asked;
}

ResolvedExperiment read_point(const config::Catalogue& catalogue, const Sweep& sweep,
                              const PointValues& values, InputFiles& files) {
  return read_asked(catalogue, source_of_point(catalogue, sweep, values, files), files);
}

std::optional<double> kept_one_gpu_scale(const config::Catalogue& catalogue, const Sweep& sweep,
                                         const PointValues& values, InputFiles& files) {
  PointValues unvaried = values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == default_value || sweep.keys[i] == experiment_key) continue;
    if (sweep.keys[i] == one_gpu_key || sweep.keys[i] == one_gpu_scale_key) return std::nullopt;
    unvaried[i] = default_value;
  }
  const PointSource asked = asked_of(sweep, unvaried);
  if (!has_one_gpu(catalogue, asked.experiment, asked.overrides, files)) return std::nullopt;
  try {
    return read_asked(catalogue, asked, files).settings.one_gpu_scale;
  } catch (const InputError& error) {
    throw InputError(fmt::format("one_gpu, without the varied keys: {}", error.diagnostics().front().message),
                     error.diagnostics().front().hint);
  }
}

}  // namespace trainyard
