#include "experiment/namesake.hpp"

#include "workload/layer.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

/// The kinds of the layers with parameters, and how many they have.
std::vector<std::pair<LayerKind, double>> sizes(const Model& model) {
  std::vector<std::pair<LayerKind, double>> all;
  for (const Layer& layer : model.layers) {
    if (const double elements = parameter_elements(layer); elements > 0)
      all.emplace_back(layer.kind, elements);
  }
  return all;
}

}  // namespace

bool is_namesake(const ExperimentReading& in, const std::filesystem::path& path) {
  if (!config::is_path(*in.resolved.settings.model)) return false;  // found by its name
  const Model& model = *in.resolved.model;
  const std::vector<std::string> shipped = config::names(in.catalogue, config::Kind::model);
  if (std::ranges::find(shipped, model.name) == shipped.end()) return false;
  const std::filesystem::path own = config::find(in.catalogue, config::Kind::model, model.name);
  return own != path && sizes(model) != sizes(load_model(load_once(in.files, own)));
}

}  // namespace trainyard
