#include "experiment/read_machine.hpp"

#include "compute/op_time.hpp"
#include "compute/processor_profile.hpp"
#include "experiment/scaled_trace.hpp"
#include "experiment/swapped_gpus.hpp"
#include "platform/load.hpp"

#include <fmt/format.h>

namespace trainyard {
namespace {

namespace fs = std::filesystem;

/// The profile's file. An unknown name is reported where it is written: in the platform's file, the
/// experiment's block `set` or on the command line; then empty.
fs::path profile_of(ExperimentReading& in, const fs::path& platform_file) {
  const Platform& platform = in.resolved.platform;
  try {
    return find_once(in.files, in.catalogue, profile_kind(platform), platform.gpu_profile, platform_file);
  } catch (const InputError& error) {
    const char* const key = platform.ranks_on_processors ? "node.processors.profile" : "node.gpus.profile";
    in.errors.run(load_with(in.files, platform_file, "platform", in.set), key,
                  [&] { throw InputError(error); });
    return {};
  }
}

void read_gpu(ExperimentReading& in, const fs::path& path) {
  in.resolved.gpu = in.read(in.files.gpus, path, "gpu", [](const config::Document& file, auto* warnings) {
    GpuProfile profile = load_gpu_profile(file, warnings);
    keep_op_times(profile);
    return profile;
  });
  for (const auto& table : {in.resolved.gpu.kernels, in.resolved.gpu.vector_kernels}) {
    if (table) in.files.paths.insert((path.parent_path() / *table).string());
  }
  if (!in.resolved.gpu.like_file.empty()) in.files.paths.insert(in.resolved.gpu.like_file);
}

}  // namespace

void read_machine(ExperimentReading& in, std::optional<Machine>& machine) {
  const fs::path path = in.find(config::Kind::platform, in.resolved.settings.platform);
  in.resolved.platform = in.read(in.files.platforms, path, "platform", load_platform);
  machine.emplace();
  const Platform& platform = in.resolved.platform;
  const fs::path gpu = profile_of(in, path);
  if (gpu.empty()) return;
  machine->profile = gpu;
  if (!config::is_path(platform.gpu_profile)) {
    in.resolved.platform.gpu_profile = gpu.stem().string();
    const auto given = in.resolved.settings.set.find("platform.node.gpus.profile");
    if (given != in.resolved.settings.set.end()) given->second = platform.gpu_profile;
  }
  if (!in.files.machines_exist)
    machine->note = leave_out_price_of_other_gpus(load_once(in.files, path), in.set, in.resolved.platform,
                                                  in.resolved.settings.set);
  const char* const other = platform.ranks_on_processors ? "gpu" : "processor";
  for (const auto& [key, item] : in.set) {
    if (file_named_by(key) == other)
      in.errors.run(in.document, "platform",
                    [&] { throw InputError({unused_profile_key(platform, key, item)}); });
  }
  if (platform.ranks_on_processors) {
    in.errors.run(in.document, "platform", [&] {
      in.resolved.gpu = load_processor_profile(load_with(in.files, gpu, "processor", in.set),
                                               platform.memory_mode, &in.resolved.warnings);
      keep_op_times(in.resolved.gpu);
    });
  } else {
    read_gpu(in, gpu);
  }
  if (in.resolved.gpu.name.empty()) return;
  if (in.resolved.settings.trace_times == TraceTimes::scaled)
    in.resolved.settings.precision = precision_on(in.resolved.gpu, in.resolved.settings.precision);
  in.errors.run(in.document, "precision",
                [&] { matrix_dtype(in.resolved.gpu, in.resolved.settings.precision); });
}

void take_profile_of_framework(ExperimentReading& in, const fs::path& profile) {
  const std::string& framework = in.resolved.stack.framework;
  if (!in.resolved.gpu.outside_pytorch || framework.empty() || framework == "pytorch") return;
  if (in.resolved.stack.runtime != Runtime::fused) return;  // rules of a lowering: libraries' products alone
  const std::string recorded = in.resolved.gpu.name;
  read_gpu(in,
           find_once(in.files, in.catalogue, config::Kind::gpu, *in.resolved.gpu.outside_pytorch, profile));
  in.resolved.notes.push_back(fmt::format("{} has recorded ops of PyTorch: {} is predicted with {}", recorded,
                                          in.resolved.stack.name, in.resolved.gpu.name));
}

}  // namespace trainyard
