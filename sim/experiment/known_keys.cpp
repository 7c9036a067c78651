#include "experiment/known_keys.hpp"

#include "compute/gpu_profile.hpp"
#include "compute/processor_profile.hpp"
#include "config/schema.hpp"
#include "experiment/experiment.hpp"
#include "experiment/overrides.hpp"
#include "platform/platform_file.hpp"
#include "strategy/stack_keys.hpp"
#include "workload/model_file.hpp"

namespace trainyard {

config::UnknownKey unknown_experiment_key(std::string_view path) {
  const std::string_view file = file_named_by(path);
  if (file.empty()) return config::unknown_key(config::shape_of<Experiment>({}), path);
  const std::string_view rest = path.substr(file.size() + 1);
  if (file == "platform") return config::unknown_key(config::shape_of<PlatformFile>({}), rest);
  if (file == "gpu") return config::unknown_key(config::shape_of<GpuProfile>({}), rest);
  if (file == "processor") return config::unknown_key(config::shape_of<ProcessorFile>({}), rest);
  if (file == "model") return config::unknown_key(config::shape_of<ModelFile>({}), rest);
  return config::unknown_key(config::shape_of<Stack>({}), rest);
}

}  // namespace trainyard
