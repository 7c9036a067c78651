#include "calibration/calibrate_gpu.hpp"
#include "calibration/measurement_plan.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/other_commands.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "config/catalogue.hpp"
#include "config/read_file.hpp"
#include "config/same_gpu.hpp"
#include "document/writers.hpp"
#include "io/out_files.hpp"
#include "lab/commands.hpp"
#include "lab/kernel_program.hpp"
#include "lab/pages.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

namespace fs = std::filesystem;

struct CalibrateOptions {
  std::vector<std::string> recordings;
  std::optional<std::string> specification, scale_from, name, out, plan, seconds, keep;
  bool quick = false;
  bool force = false;
};

GpuProfile load_profile(const config::Catalogue& catalogue, const std::string& name) {
  std::vector<Diagnostic> warnings;
  GpuProfile gpu =
      load_gpu_profile(config::load(config::find(catalogue, config::Kind::gpu, name)), &warnings);
  print_diagnostics(warnings);
  return gpu;
}

/// Profiles with measured rates, against which a scaling is checked.
std::vector<GpuProfile> load_checked_profiles(const config::Catalogue& catalogue) {
  std::vector<GpuProfile> profiles;
  for (const std::string_view name : checked_profiles) {
    profiles.push_back(load_profile(catalogue, std::string(name)));
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

/// The folder for profiles: --out, else the first writable folder of profiles.
fs::path folder_for(const CalibrateOptions& options, const config::Catalogue& catalogue) {
  if (options.out) return *options.out;
  for (const fs::path& root : catalogue.roots) {
    fs::path folder = root / config::folder_of(config::Kind::gpu);
    if (::access(folder.c_str(), W_OK) == 0) return folder;
  }
  throw FileError(
      "no folder of GPU profiles is writable\n  name one with --out DIR, and use its profiles by path: --set "
      "platform.node.gpus.profile=DIR/NAME.yaml");
}

/// The name of the new profile: names are looked up as files, so they must not contain special characters of
/// paths or YAML.
std::string name_of_profile(const CalibrateOptions& options) {
  if (!options.name && !options.specification) {
    throw CLI::RequiredError("--name NAME (or --specification GPU)");
  }
  std::string name = options.name ? *options.name : fs::path(*options.specification).stem().string();
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.empty() || !std::ranges::all_of(name, is_plain)) {
    throw CLI::ValidationError("--name", in_quotes(name) + " is not a name: use letters, digits, _ and -");
  }
  return name;
}

/// A recording by path, or by name among those next to the shipped profiles.
fs::path find_recording(const config::Catalogue& catalogue, const std::string& text) {
  std::error_code error;
  if (fs::exists(text, error)) return text;
  for (const fs::path& root : catalogue.roots) {
    fs::path file = root / config::folder_of(config::Kind::gpu) / text;
    if (text.find('/') == std::string::npos && fs::exists(file, error)) return file;
  }
  return text;  // reading it reports the error
}

Recording read_recording_file(const fs::path& file) {
  return read_recording(file.string(), config::read_file(file, largest_csv));
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);  // writing into it reports the error
}

/// Measures into FOLDER/NAME.csv, or continues it.
std::optional<fs::path> measure(const CalibrateOptions& options, const config::Catalogue& catalogue,
                                const std::string& name, const fs::path& folder) {
  const auto seconds = options.seconds
                           ? std::optional(whole_number("--seconds", *options.seconds, 10, 100'000))
                           : std::nullopt;
  const fs::path program = find_kernel_program();  // before anything is written
  const fs::path plan = folder / (name + ".plan.csv");
  fs::path recording = folder / (name + ".csv");
  make_folder(folder);
  write_out_file(plan, measurement_plan_text(catalogue, options.quick), true);
  if (run_kernel_program(program, plan, recording, seconds)) {
    std::error_code ignored;
    fs::remove(plan, ignored);
    return recording;
  }
  print_message(fmt::format(
      "trainyard: warning: some kernels are not measured yet: repeat the command to go on, or fit those "
      "measured with 'trainyard calibrate gpu {} --name {}{}'",
      recording.string(), name, options.out ? " --out " + *options.out : ""));
  return std::nullopt;
}

/// The profiles that the options name, read before anything is measured.
struct Bases {
  std::optional<GpuProfile> specification, scale_from;
};

Bases load_bases(const CalibrateOptions& options, const config::Catalogue& catalogue) {
  const auto load = [&](const std::optional<std::string>& name) {
    return name ? std::optional(load_profile(catalogue, *name)) : std::nullopt;
  };
  if (options.scale_from && options.recordings.empty() && !options.specification) {
    throw CLI::RequiredError("--specification GPU");
  }
  return {load(options.specification), load(options.scale_from)};
}

/// Applies the recordings, the scaling or both to the specification.
GpuProfile make_profile(const Bases& bases, const config::Catalogue& catalogue, const std::string& name,
                        const std::vector<Recording>& recordings, std::size_t keep) {
  GpuProfile gpu =
      bases.specification ? *bases.specification : specification_of(recordings.front().facts, name);
  gpu.name = name;
  gpu.like.reset();  // a short profile is complete by now
  if (bases.scale_from) gpu = scale(gpu, *bases.scale_from, load_checked_profiles(catalogue));
  return recordings.empty() ? gpu : calibrate(gpu, recordings, keep);
}

/// Recordings must be next to the profile, so others are copied there. Never overwrites a different file of
/// the same name: other profiles may use it.
void copy_beside(const std::vector<fs::path>& files, const fs::path& folder) {
  for (const fs::path& file : files) {
    const fs::path copy = folder / file.filename();
    std::error_code error;
    if (fs::equivalent(file, copy, error)) continue;
    const std::string text = config::read_file(file, largest_csv);
    if (fs::exists(copy, error)) {
      if (config::read_file(copy, largest_csv) == text) continue;
      throw FileError(fmt::format("'{}' exists with other content\n  rename your recording", copy.string()));
    }
    write_out_file(copy, text, false);
  }
}

/// The tables of the specification's kernels that the new profile still uses.
std::vector<fs::path> tables_kept(const CalibrateOptions& options, const config::Catalogue& catalogue,
                                  const GpuProfile& gpu, const std::vector<Recording>& recordings) {
  if (!options.specification) return {};
  const fs::path folder = config::find(catalogue, config::Kind::gpu, *options.specification).parent_path();
  std::vector<fs::path> kept;
  for (const std::optional<std::string>& table : {gpu.kernels, gpu.vector_kernels}) {
    const auto is_new = [&](const Recording& recording) {
      return recording.name == table || part_name(recording) == table;
    };
    if (table && std::ranges::none_of(recordings, is_new)) kept.push_back(folder / *table);
  }
  return kept;
}

/// Leaves out the recording if only a part of it stays with the profile.
std::vector<fs::path> without_whole(std::vector<fs::path> files, const std::vector<Recording>& recordings,
                                    const Recording& part) {
  const auto is_whole = [&](const fs::path& file) {
    const auto recording = std::ranges::find(recordings, file.filename().string(), &Recording::name);
    return recording != recordings.end() && part_name(*recording) == part.name;
  };
  std::erase_if(files, is_whole);
  return files;
}

/// The part of a recording is made again by each run, so --force replaces it.
void write_part(const fs::path& file, const std::string& text, bool force) {
  std::error_code error;
  if (fs::exists(file, error) && config::read_file(file, largest_csv) == text) return;
  write_out_file(file, text, force);
}

/// Writes the profile after checking that it can be read again.
void write_profile(const GpuProfile& gpu, const fs::path& file, bool force) {
  const std::string text = profile_text(gpu);
  load_gpu_profile(config::parse(file.string(), text));
  write_out_file(file, text, force);
}

void calibrate_gpu(const CalibrateOptions& options) {
  const config::Catalogue catalogue = config::find_catalogue();
  if (options.plan) {
    write_out_file(*options.plan, measurement_plan_text(catalogue, options.quick), options.force);
    return;
  }
  const std::string name = name_of_profile(options);
  if (options.keep && options.scale_from && options.recordings.empty()) {
    throw CLI::ValidationError("--keep", "limits the products of a recording, and there is none");
  }
  const std::size_t keep = options.keep
                               ? static_cast<std::size_t>(whole_number("--keep", *options.keep, 1, 100'000))
                               : most_kept_products;
  const Bases bases = load_bases(options, catalogue);
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
  std::vector<Recording> recordings;
  for (const fs::path& file : files) recordings.push_back(read_recording_file(file));

  const GpuProfile gpu = make_profile(bases, catalogue, name, recordings, keep);
  make_folder(folder);
  std::ranges::copy(tables_kept(options, catalogue, gpu, recordings), std::back_inserter(files));
  if (const std::optional<Recording> part = table_beside(gpu, recordings)) {
    files = without_whole(std::move(files), recordings, *part);
    write_part(folder / part->name, recording_text(*part), options.force);
  }
  copy_beside(files, folder);
  write_profile(gpu, profile, options.force);
  std::string report = doc::text(calibration_document(gpu, recordings), print_style());
  if (!report.empty()) report += '\n';
  print_result(report +
               fmt::format("wrote {}\nuse it: trainyard run EXPERIMENT --set platform.node.gpus.profile={}\n",
                           profile.string(), options.out ? profile.string() : name));
}

void add_gpu(CLI::App& calibrate) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App& command = *calibrate.add_subcommand(
      "gpu", "measure a GPU's kernels, or read recordings of them, and write its profile");
  CLI::Option* recordings = command.add_option("RECORDING", options->recordings,
                                               "CSV files of measured kernels: paths, or names of shipped "
                                               "ones (default: measure this computer's GPU)");
  CLI::Option* specification =
      add_value(command, "--specification", options->specification, "GPU",
                "profile with the memory, peaks and power of this GPU (default: those in the recording)");
  CLI::Option* scale_from =
      add_value(command, "--scale-from", options->scale_from, "GPU",
                "profile for kernels that no recording covers; its rates are scaled with the peaks");
  CLI::Option* name = add_value(command, "--name", options->name, "NAME",
                                "name of the new profile (default: that of the specification)");
  CLI::Option* out = add_value(command, "--out", options->out, "DIR",
                               "write NAME.yaml and the recordings to this folder (default: platforms/gpus)");
  CLI::Option* keep = add_value(
      command, "--keep", options->keep, "N",
      fmt::format("keep at most N matrix products of each data type next to the profile, spread evenly over "
                  "their sizes; curves are fitted to all (default: {})",
                  most_kept_products));
  command
      .add_flag("--quick", options->quick, "measure only the most important kernels; takes about two minutes")
      ->excludes(recordings, scale_from);
  CLI::Option* seconds = add_value(command, "--seconds", options->seconds, "N",
                                   "stop measuring after this time; repeat the command to go on")
                             ->excludes(recordings, scale_from);
  add_value(command, "--plan", options->plan, "FILE",
            "only write the list of kernels to measure, for trainyard_gpu_kernels on another computer")
      ->excludes(recordings, specification, scale_from, name, out, seconds, keep);
  command.add_flag("--force", options->force, "replace the profile, or the plan, if it exists");
  add_examples(command,
               {"trainyard calibrate gpu --name my_gpu --quick",
                "trainyard calibrate gpu my_gpu.csv --specification t4 --name my_t4 --out .",
                "trainyard calibrate gpu my_gpu.csv --name my_gpu --keep 500",
                "trainyard calibrate gpu --specification t4 --scale-from v100_sxm2_16gb --name scaled_t4"});
  command.callback([options] {
    if (options->specification)
      options->specification = config::data_sheet_named(config::find_catalogue(), *options->specification);
    calibrate_gpu(*options);
  });
}

}  // namespace

void add_calibrate(CLI::App& program) {
  CLI::App& command = add_command(program, calibrate_command);
  command.require_subcommand(1);
  add_examples(command,
               {"trainyard calibrate gpu --name my_gpu", "trainyard calibrate collectives -o nccl.yaml"});
  add_gpu(command);
  add_calibrate_host(command);
  add_calibrate_collectives(command);
  add_calibrate_stack(command);
}

}  // namespace trainyard
