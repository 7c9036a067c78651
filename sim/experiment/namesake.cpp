#include "experiment/namesake.hpp"

#include "workload/layer.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace trainyard {

bool is_namesake(const ExperimentReading& in, const std::filesystem::path& path) {
  const Model& model = *in.resolved.model;
  const std::vector<std::string> shipped = config::names(in.catalogue, config::Kind::model);
  if (std::ranges::find(shipped, model.name) == shipped.end()) return false;
  const std::filesystem::path own = config::find(in.catalogue, config::Kind::model, model.name);
  if (own == path) return false;
  FileOverrides set = in.set;
  if (const config::Node* const family = load_once(in.files, own).root.find("family");
      family != nullptr && model.sequence_length)
    set[fmt::format("model.{}.sequence_length", family->scalar)] = {
        .value = std::to_string(*model.sequence_length), .written_at = {}};
  try {
    const Model other = load_model(load_with(in.files, own, "model", set));
    return !std::ranges::equal(model.layers, other.layers, do_the_same);
  } catch (const InputError&) {
    return true;  // it has no key that is set
  }
}

}  // namespace trainyard
