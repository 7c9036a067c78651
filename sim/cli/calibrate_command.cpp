#include "calibration/calibrate_gpu.hpp"
#include "calibration/measurement_plan.hpp"
#include "cli/commands.hpp"
#include "cli/kernel_program.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "config/catalogue.hpp"
#include "config/read_file.hpp"
#include "report/calibration_table.hpp"
#include "report/out_files.hpp"
#include "workload/csv.hpp"
#include "workload/model_file.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

namespace trainyard {

namespace {

namespace fs = std::filesystem;

struct CalibrateOptions {
  std::vector<std::string> recordings;
  std::optional<std::string> specification, scale_from, name, out, plan, seconds;
  bool quick = false;
  bool force = false;
};

GpuProfile load_profile(const config::Catalogue& catalogue, const std::string& name) {
  std::vector<Diagnostic> warnings;
  GpuProfile gpu =
      load_gpu_profile(config::load(config::find(catalogue, config::Kind::gpu, name)), &warnings);
  print_warnings(warnings);
  return gpu;
}

/// Every other profile that can be read: what a scaling is checked against.
std::vector<GpuProfile> shipped_profiles(const config::Catalogue& catalogue) {
  std::vector<GpuProfile> profiles;
  for (const std::string& name : config::names(catalogue, config::Kind::gpu)) {
    try {
      profiles.push_back(load_gpu_profile(config::load(config::find(catalogue, config::Kind::gpu, name))));
    } catch (const InputError&) {  // `trainyard check` says what is wrong with it
    }
  }
  return profiles;
}

std::string measurement_plan_text(const config::Catalogue& catalogue, bool quick) {
  std::vector<Model> models;
  for (const std::string_view name : planned_models) {
    models.push_back(
        load_model(config::load(config::find(catalogue, config::Kind::model, std::string(name)))));
  }
  return plan_text(measurement_plan(models, quick ? PlanSize::quick : PlanSize::full));
}

/// Where profiles lie: --out, else the first folder of profiles that can be written to.
fs::path folder_for(const CalibrateOptions& options, const config::Catalogue& catalogue) {
  if (options.out) {
    std::error_code error;
    fs::create_directories(*options.out, error);  // writing into it says what is wrong
    return *options.out;
  }
  for (const fs::path& root : catalogue.roots) {
    fs::path folder = root / config::folder_of(config::Kind::gpu);
    if (::access(folder.c_str(), W_OK) == 0) return folder;
  }
  throw FileError(
      "no folder of profiles can be written to\n  give one with --out DIR; its profiles are used by path: "
      "--set platform.node.gpus.profile=DIR/NAME.yaml");
}

/// A recording by path, or by name among those beside the shipped profiles.
fs::path find_recording(const config::Catalogue& catalogue, const std::string& text) {
  std::error_code error;
  if (fs::exists(text, error)) return text;
  for (const fs::path& root : catalogue.roots) {
    fs::path file = root / config::folder_of(config::Kind::gpu) / text;
    if (text.find('/') == std::string::npos && fs::exists(file, error)) return file;
  }
  return text;  // reading it says what is wrong
}

Recording read_recording_file(const fs::path& file) {
  return read_recording(file.string(), config::read_file(file, largest_csv));
}

/// Measures into FOLDER/NAME.csv, or goes on with it.
std::optional<fs::path> measure(const CalibrateOptions& options, const config::Catalogue& catalogue,
                                const std::string& name, const fs::path& folder) {
  const auto seconds = options.seconds
                           ? std::optional(whole_number("--seconds", *options.seconds, 10, 100'000))
                           : std::nullopt;
  const fs::path plan = folder / (name + ".plan.csv");
  fs::path recording = folder / (name + ".csv");
  write_out_file(plan, measurement_plan_text(catalogue, options.quick), true);
  const bool is_done = run_kernel_program(plan, recording, seconds);
  if (is_done) return recording;
  print_message(
      fmt::format("trainyard: rows are left: the same command goes on; 'trainyard calibrate gpu {}' "
                  "fits what is there",
                  recording.string()));
  return std::nullopt;
}

/// The recordings, the scaling or both on top of the specification.
GpuProfile make_profile(const CalibrateOptions& options, const config::Catalogue& catalogue,
                        const std::string& name, const std::vector<Recording>& recordings) {
  GpuProfile gpu = options.specification ? load_profile(catalogue, *options.specification)
                                         : specification_of(recordings.front().facts, name);
  gpu.name = name;
  if (options.scale_from) {
    gpu = scale(gpu, load_profile(catalogue, *options.scale_from), shipped_profiles(catalogue));
  }
  return recordings.empty() ? gpu : calibrate(gpu, recordings);
}

/// The recordings must lie beside the profile; those that do not are copied there.
void copy_beside(const std::vector<fs::path>& files, const fs::path& folder, bool force) {
  for (const fs::path& file : files) {
    const fs::path copy = folder / file.filename();
    std::error_code error;
    if (fs::equivalent(file, copy, error)) continue;
    const std::string text = config::read_file(file, largest_csv);
    if (fs::exists(copy, error) && config::read_file(copy, largest_csv) == text) continue;
    write_out_file(copy, text, force);
  }
}

void calibrate_gpu(const CalibrateOptions& options) {
  const config::Catalogue catalogue = config::find_catalogue();
  if (options.plan) {
    write_out_file(*options.plan, measurement_plan_text(catalogue, options.quick), options.force);
    return;
  }
  const std::optional<std::string> named = options.name ? options.name : options.specification;
  if (!named) {
    throw CLI::RequiredError("--name NAME (or --specification PROFILE)");
  }
  const std::string name = fs::path(*named).stem().string();
  const fs::path folder = folder_for(options, catalogue);
  const fs::path profile = folder / (name + ".yaml");
  check_out_file(profile, options.force);

  std::vector<fs::path> files;
  for (const std::string& text : options.recordings) files.push_back(find_recording(catalogue, text));
  if (files.empty() && !options.scale_from) {
    const auto measured = measure(options, catalogue, name, folder);
    if (!measured) return;
    files.push_back(*measured);
  }
  if (files.empty() && !options.specification) throw CLI::RequiredError("--specification PROFILE");
  std::vector<Recording> recordings;
  for (const fs::path& file : files) recordings.push_back(read_recording_file(file));

  const GpuProfile gpu = make_profile(options, catalogue, name, recordings);
  copy_beside(files, folder, options.force);
  write_out_file(profile, profile_text(gpu), options.force);
  print_result(
      calibration_table(gpu) +
      fmt::format("\nwrote {}\nuse it: trainyard run EXPERIMENT --set platform.node.gpus.profile={}\n",
                  profile.string(), options.out ? profile.string() : name));
}

void add_gpu(CLI::App& calibrate) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App& command = *calibrate.add_subcommand(
      "gpu", "measure a GPU's kernels, or read recordings of them, and write its profile");
  command.add_option(
      "RECORDING", options->recordings,
      "CSVs of measured kernels, by path or by name among those shipped; without any, this computer's GPU is "
      "measured");
  command
      .add_option("--specification", options->specification,
                  "profile with the memory, peaks and power of this GPU (default: what the recording says)")
      ->type_name("PROFILE");
  command
      .add_option("--scale-from", options->scale_from,
                  "take what no recording covers from this profile: the same parts of the peaks")
      ->type_name("PROFILE");
  command.add_option("--name", options->name, "of the new profile (default: that of the specification)")
      ->type_name("NAME");
  command
      .add_option("--out", options->out, "folder for NAME.yaml and the recordings (default: platforms/gpus)")
      ->type_name("DIR");
  command.add_flag("--quick", options->quick, "measure the most important kernels only, under two minutes");
  command.add_option("--seconds", options->seconds, "stop measuring after this time; run again to go on")
      ->type_name("N");
  command
      .add_option("--plan", options->plan,
                  "only write what would be measured, for trainyard_gpu_kernels on another computer")
      ->type_name("FILE");
  command.add_flag("--force", options->force, "replace files that exist");
  command.footer("Example: trainyard calibrate gpu --name my_gpu --quick");
  command.callback([options] { calibrate_gpu(*options); });
}

}  // namespace

void add_calibrate(CLI::App& program) {
  CLI::App& command =
      *program.add_subcommand("calibrate", "fit what the simulation rests on to measurements");
  command.require_subcommand(1);
  command.footer("Example: trainyard calibrate gpu --name my_gpu");
  add_gpu(command);
}

}  // namespace trainyard
