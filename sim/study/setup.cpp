#include "study/setup.hpp"

#include "config/read.hpp"
#include "platform/load.hpp"
#include "workload/make_trace.hpp"
#include "workload/model_file.hpp"
#include "workload/trace_csv.hpp"

#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace trainyard {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view named_files[] = {"platform", "gpu", "model", "stack"};

/// The file whose keys an override path names, or empty for the experiment's own.
std::string_view file_of(std::string_view path) {
  const std::string_view first = path.substr(0, path.find('.'));
  if (first.size() == path.size()) return {};
  for (const std::string_view file : named_files) {
    if (first == file) return file;
  }
  return {};
}

config::Document load_with(const fs::path& path, std::string_view file,
                           const std::map<std::string, std::string>& set) {
  config::Document document = config::load(path);
  for (const auto& [key, value] : set) {
    if (file_of(key) == file)
      config::set(document, key.substr(file.size() + 1), value, key.substr(0, file.size() + 1));
  }
  return document;
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) throw FileError(fmt::format("cannot read {}", path.string()));
  return text.str();
}

Trace load_trace(const fs::path& path, const Experiment& experiment) {
  const Trace trace = read_trace(path.string(), read_text(path));
  if (trace.batch_per_gpu != 0 && trace.batch_per_gpu != experiment.batch_per_gpu) {
    throw InputError(fmt::format("{} is a step of {} samples, the experiment has batch_per_gpu: {}",
                                 path.string(), trace.batch_per_gpu, experiment.batch_per_gpu),
                     "a trace cannot be stretched: record one for each batch");
  }
  if (trace.precision && *trace.precision != experiment.precision) {
    throw InputError(fmt::format("{} is a step in {}, the experiment has precision: {}", path.string(),
                                 config::name_of(*trace.precision), config::name_of(experiment.precision)),
                     "record a trace for each precision");
  }
  return trace;
}

}  // namespace

Inputs read_inputs(const config::Catalogue& catalogue, const std::string& name, const Overrides& overrides) {
  const fs::path file = config::find(catalogue, config::Kind::experiment, name);
  config::Document document = config::load(file);
  std::map<std::string, std::string> set;
  for (const auto& [key, value] : overrides) {
    if (file_of(key).empty()) {
      config::set(document, key, value);
    } else {
      set[key] = value;
    }
  }

  Inputs inputs;
  inputs.name = file.stem().string();
  inputs.experiment = load_experiment(document);
  for (const auto& [key, value] : set) inputs.experiment.set[key] = value;
  Experiment& experiment = inputs.experiment;

  // A path is written into the resolved experiment so that it means the same file from any folder.
  const auto find = [&](config::Kind kind, std::string& what) {
    const fs::path found = config::find(catalogue, kind, what, file);
    if (what.find('/') != std::string::npos || what.ends_with(".yaml"))
      what = fs::weakly_canonical(found).string();
    return found;
  };
  const fs::path platform = find(config::Kind::platform, experiment.platform);
  inputs.platform = load_platform(load_with(platform, "platform", experiment.set), &inputs.warnings);
  const fs::path gpu = config::find(catalogue, config::Kind::gpu, inputs.platform.gpu_profile, platform);
  inputs.gpu = load_gpu_profile(load_with(gpu, "gpu", experiment.set));
  const fs::path stack = find(config::Kind::stack, experiment.stack);
  inputs.stack = load_stack(load_with(stack, "stack", experiment.set));

  if (experiment.trace) {
    fs::path path = *experiment.trace;
    if (path.is_relative() && fs::exists(file.parent_path() / path)) path = file.parent_path() / path;
    inputs.trace = load_trace(path, experiment);
    inputs.trace.precision = experiment.precision;
    experiment.trace = fs::weakly_canonical(path).string();
  } else {
    const fs::path model_file = find(config::Kind::model, *experiment.model);
    const Model model = load_model(load_with(model_file, "model", experiment.set));
    inputs.trace = make_trace(model, experiment.batch_per_gpu, experiment.precision, experiment.optimizer);
    if (model.samples_per_epoch) inputs.samples_per_epoch = model.samples_per_epoch->value;
  }
  return inputs;
}

}  // namespace trainyard
