#include "cli/help.hpp"
#include "cli/offers.hpp"
#include "cli/options.hpp"
#include "cli/other_commands.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "compute/gpu_profile.hpp"
#include "config/catalogue.hpp"
#include "config/file_format.hpp"
#include "config/other_names.hpp"
#include "config/read_file.hpp"
#include "config/same_gpu.hpp"
#include "convert/commands.hpp"
#include "convert/simgrid_draft.hpp"
#include "convert/simgrid_file.hpp"
#include "interchange/questions.hpp"
#include "interchange/recognise.hpp"
#include "io/out_files.hpp"
#include "platform/load.hpp"
#include "units/shell_word.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

namespace trainyard {

namespace {

namespace fs = std::filesystem;

struct InitPlatformOptions {
  std::vector<std::string> files, peaks;
  std::optional<std::string> name, gpu, gpus, nodes, nvlink, nvlink_kind, pcie, nics, nic, transport, memory,
      bandwidth, tdp, like, out;
  bool force = false;
};

/// The value of an option with a unit.
template <class Q>
std::optional<Q> quantity(const std::string& option, const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const auto parsed = parse_quantity<Q>(*text);
  if (!parsed) throw CLI::ValidationError(option, parsed.error().message + "; " + parsed.error().hint);
  if (parsed->si() <= 0) throw CLI::ValidationError(option, "has to be above 0");
  return *parsed;
}

std::optional<int> count(const std::string& option, const std::optional<std::string>& text, int least,
                         int most) {
  return text ? std::optional(whole_number(option, *text, least, most)) : std::nullopt;
}

bool is_gpu_profile(const config::Catalogue& catalogue, const std::string& name) {
  if (config::is_path(name)) return true;  // finding it reports the error
  return std::ranges::binary_search(config::names(catalogue, config::Kind::gpu), name) ||
         !config::name_meant(catalogue, config::Kind::gpu, name).empty();
}

/// The name of the profile, or the path as given. Throws InputError if there is none.
std::string profile_named(const config::Catalogue& catalogue, const std::string& name) {
  const fs::path file = config::find(catalogue, config::Kind::gpu, name);
  return config::is_path(name) ? name : file.stem().string();
}

PlatformAnswers answers_in(const InitPlatformOptions& options) {
  PlatformAnswers answers;
  answers.gpus = count("--gpus", options.gpus, 1, 256);
  answers.nvlink = count("--nvlink", options.nvlink, 0, 256);
  if (options.nvlink_kind) answers.nvlink_kind = choice<LinkKind>(*options.nvlink_kind);
  if (answers.nvlink_kind && !is_nvlink(*answers.nvlink_kind))
    throw CLI::ValidationError("--nvlink-kind", *options.nvlink_kind + " is no NVLink");
  answers.pcie = count("--pcie", options.pcie, 1, 6);
  answers.nics = count("--nics", options.nics, 0, 256);
  answers.nic_rate = quantity<Bandwidth>("--nic", options.nic);
  if (options.transport) answers.transport = choice<Transport>(*options.transport);
  answers.nodes = count("--nodes", options.nodes, 1, 1'000'000).value_or(1);
  if (answers.gpus && !options.files.empty())
    throw CLI::ValidationError("--gpus", "the files say how many GPUs a node has");
  return answers;
}

GpuAnswers gpu_in(const InitPlatformOptions& options, const config::Catalogue& catalogue,
                  PlatformAnswers& answers) {
  GpuAnswers gpu;
  gpu.memory = quantity<Bytes>("--gpu-memory", options.memory);
  gpu.bandwidth = quantity<Bandwidth>("--gpu-bandwidth", options.bandwidth);
  gpu.tdp = quantity<Watts>("--gpu-power", options.tdp);
  for (const std::string& peak : options.peaks) gpu.peaks.push_back(peak_in(peak));
  if (options.like) gpu.like = *options.like;
  if (gpu.is_data_sheet()) {
    gpu.profile = options.gpu.value_or("");
    if (is_gpu_profile(catalogue, gpu.profile))
      throw CLI::ValidationError("--gpu-memory",
                                 gpu.profile + " has a profile; give the new one another name");
    if (!gpu.memory) throw CLI::RequiredError("--gpu-memory SIZE");
    if (gpu.peaks.empty()) throw CLI::RequiredError("--gpu-peak RATE");
  } else {
    for (const auto& [name, text] :
         {std::pair("--gpu-bandwidth", options.bandwidth), std::pair("--gpu-power", options.tdp),
          std::pair("--gpu-like", options.like)}) {
      if (text) throw CLI::ValidationError(name, "needs --gpu-memory and --gpu-peak");
    }
    answers.gpu = options.gpu.value_or("");
    if (!answers.gpu.empty()) answers.gpu = profile_named(catalogue, answers.gpu);
  }
  return gpu;
}

InputText read_input(const std::string& file) {
  return plain_input(file, config::read_file(file, largest_interchange_file));
}

std::string name_of_platform(const InitPlatformOptions& options) {
  const std::string name = options.name  ? *options.name
                           : options.out ? fs::path(*options.out).stem().string()
                                         : std::string("my_cluster");
  if (name.empty() ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") !=
          std::string::npos) {
    throw CLI::ValidationError("--name", in_quotes(name) + " is not a name: use letters, digits, _ and -");
  }
  if (options.out && fs::path(*options.out).stem().string() != name) {
    throw CLI::ValidationError(
        "--name", fmt::format("a platform has the name of its file: -o {}.yaml, or --name {}", name,
                              fs::path(*options.out).stem().string()));
  }
  return name;
}

/// Where it is, and what to try with it.
std::string next_steps(const std::string& file, const std::optional<std::string>& profile, int nodes) {
  const std::string word = shell_word(file);
  const std::string collective = nodes > 1 ? fmt::format(" --nodes {}", nodes) : std::string();
  const std::string set = nodes > 1 ? fmt::format(" --set nodes={}", nodes) : std::string();
  std::string text = fmt::format("wrote {}\n", file);
  if (profile)
    text += fmt::format("wrote {}: a short GPU profile, whose missing figures are assumed\n", *profile);
  return text + fmt::format(
                    "next:  trainyard topology {0}\n"
                    "       trainyard collective all_reduce --platform {0}{1}\n"
                    "       trainyard init experiment --platform {0} -o job.yaml\n"
                    "       trainyard run job.yaml{2}",
                    word, collective, set);
}

/// The node by its files, or by answers alone.
NodeLayout layout_from(const std::vector<InputText>& files, const PlatformAnswers& answers) {
  return files.empty() ? layout_of(answers) : read_node(files);
}

/// What nvidia-smi says that the driver leaves of the memory.
std::optional<Bytes> usable_of(const NodeLayout& layout, Bytes memory) {
  return layout.gpu_memory && *layout.gpu_memory <= memory ? layout.gpu_memory : std::nullopt;
}

struct GpuFile {
  std::string path, text;
};

/// The profile of a GPU of which a data sheet is all that is known, written next to the platform, which gets
/// its name in `answers`. `product`: its name in the files.
GpuFile data_sheet_file(const InitPlatformOptions& options, const config::Catalogue& catalogue,
                        const std::string& product, const GpuAnswers& gpu, NodeLayout& layout,
                        PlatformAnswers& answers) {
  if (!options.out) throw CLI::RequiredError("-o FILE, since a GPU profile is written next to the platform");
  const std::string title = !gpu.profile.empty() ? gpu.profile
                            : !product.empty()   ? product
                                                 : answers.name + " GPU";
  std::string name = file_name_of(title);
  if (name.empty() || name == fs::path(*options.out).stem().string()) name += "_gpu";
  const fs::path file = fs::path(*options.out).parent_path() / (name + ".yaml");
  check_out_file(file, options.force);
  const std::string text =
      short_profile_text({.name = name,
                          .title = title,
                          .memory = as_sold(*gpu.memory),
                          .bandwidth = gpu.bandwidth,
                          .peaks = gpu.peaks,
                          .like = gpu.like,
                          .tdp = gpu.tdp,
                          .usable = usable_of(layout, as_sold(*gpu.memory))},
                         config::shipped_file(catalogue, "platforms/schema/gpu.json").string());
  load_gpu_profile(config::parse(file.string(), text));
  answers.gpu = name + ".yaml";
  if (layout.products.empty()) layout.products.push_back(title);
  return {file.string(), text};
}

/// The platform of SimGrid among the files; it stands alone.
std::optional<engine::SimgridPlatform> simgrid_in(const std::vector<InputText>& files) {
  for (const InputText& file : files) {
    if (config::format_of(file.text) != config::FileFormat::simgrid_platform) continue;
    if (files.size() > 1)
      throw input_error(file.name, 0, "a platform of SimGrid is a whole machine", "give it alone");
    return read_simgrid(file);
  }
  return std::nullopt;
}

/// A host has a speed and no more: with a GPU's memory, the speed is its peak.
void add_speed(const engine::SimgridPlatform& simgrid, InitPlatformOptions& options) {
  for (const auto& [name, text] : {std::pair("--gpus", options.gpus), std::pair("--nvlink", options.nvlink),
                                   std::pair("--nvlink-kind", options.nvlink_kind),
                                   std::pair("--pcie", options.pcie), std::pair("--nodes", options.nodes),
                                   std::pair("--nics", options.nics), std::pair("--nic", options.nic)}) {
    if (text) throw CLI::ValidationError(name, "a platform of SimGrid says how hosts are joined");
  }
  const std::string speed = exact(least_speed(simgrid));
  if (!options.gpu && !options.memory)
    throw CLI::RequiredError(fmt::format(
        "a host has {} and no memory: --gpu PROFILE in its place, or --gpu-memory \"16 GB\"", speed));
  if (options.memory && options.peaks.empty())
    options.peaks.push_back("fp32=" + speed);
  else
    print_message("trainyard: warning: the hosts' speed is not used: kernels have the rates of the GPU");
}

void init_platform(InitPlatformOptions options) {
  const config::Catalogue catalogue = config::find_catalogue();
  PlatformAnswers answers = answers_in(options);
  answers.name = name_of_platform(options);
  if (options.out) check_out_file(*options.out, options.force);
  std::vector<InputText> files;
  for (const std::string& file : options.files) files.push_back(read_input(file));
  const std::optional<engine::SimgridPlatform> simgrid = simgrid_in(files);
  if (simgrid) add_speed(*simgrid, options);
  GpuAnswers gpu = gpu_in(options, catalogue, answers);

  const bool is_terminal = ::isatty(STDIN_FILENO) == 1;
  const auto is_profile = [&](const std::string& name) { return is_gpu_profile(catalogue, name); };
  const auto ask_rest = [&](bool has_layout) {
    ask(std::cin, std::cerr, has_layout, is_profile, answers, gpu);
  };
  if (files.empty()) {
    const bool is_answered = answers.gpus && (!answers.gpu.empty() || gpu.is_data_sheet());
    if (!is_answered && is_terminal) ask_rest(false);
    if (!answers.gpus) throw CLI::RequiredError("FILE, or --gpus N with --gpu PROFILE");
  }
  NodeLayout layout = simgrid ? NodeLayout{} : layout_from(files, answers);
  if (answers.gpu.empty() && !gpu.is_data_sheet())
    answers.gpu = config::recorded_profile(profile_of_gpus(layout));
  if (answers.gpu.empty() && !gpu.is_data_sheet() && is_terminal) ask_rest(true);
  const std::string product = layout.products.empty() ? std::string() : layout.products.front();
  if (answers.gpu.empty() && !gpu.is_data_sheet()) {
    throw CLI::RequiredError(fmt::format(
        "{}: --gpu PROFILE ('trainyard list gpus'), or --gpu-memory \"24 GB\" --gpu-peak \"165 TFLOP/s\"",
        product.empty() ? "the files do not name the GPU" : "no profile of " + product));
  }

  std::optional<GpuFile> gpu_file;
  if (gpu.is_data_sheet())
    gpu_file = data_sheet_file(options, catalogue, product, gpu, layout, answers);
  else
    answers.gpu = config::seen_from(options.out.value_or(""), profile_named(catalogue, answers.gpu));

  // the links of a GPU are known by the profile of its data sheet
  const std::string profile = answers.gpu;
  answers.gpu = config::data_sheet_profile(profile);
  PlatformDraft draft = simgrid ? draft_of_simgrid(files.front(), *simgrid, answers)
                                : make_platform(std::move(layout), answers);
  if (draft.file.node.gpus) draft.file.node.gpus->profile = profile;
  for (const std::string& warning : draft.warnings) print_message("trainyard: warning: " + warning);
  const std::string text =
      platform_text(draft, config::shipped_file(catalogue, "platforms/schema/platform.json").string());
  const std::string file = options.out.value_or(answers.name + ".yaml");
  std::vector<Diagnostic> warnings;
  load_platform(config::parse(file, text), &warnings);
  print_diagnostics(warnings);
  if (!options.out) {
    print_result(text);
    return;
  }
  if (gpu_file) write_out_file(gpu_file->path, gpu_file->text, options.force);
  write_out_file(file, text, options.force);
  const int nodes = simgrid ? static_cast<int>(simgrid->hosts.size()) : answers.nodes;
  print_message(next_steps(file, gpu_file ? std::optional(gpu_file->path) : std::nullopt, nodes));
}

}  // namespace

void add_init_platform(CLI::App& init) {
  auto options = std::make_shared<InitPlatformOptions>();
  CLI::App& command = add_command(init, init_platform_command);
  command.add_option(
      "FILE", options->files,
      "output of nvidia-smi topo -m, together with that of nvidia-smi -q (-x); or NCCL's topology "
      "(NCCL_TOPO_DUMP_FILE); or a platform of SimGrid, whose hosts become nodes with one GPU. Without a "
      "file: --gpus, or questions on a terminal");
  add_value(command, "--name", options->name, "NAME", "name of the platform (default: that of the file)");
  add_value(command, "--gpu", options->gpu, "GPU",
            "profile of the GPUs, if the files do not tell; with --gpu-memory, the name of a new one");
  add_value(command, "--gpus", options->gpus, "N", "GPUs of a node, without files");
  add_value(command, "--nvlink", options->nvlink, "LANES",
            "NVLinks of each GPU, if the files do not tell: to the other of two, or to NVSwitches; 0: none");
  offer_names_of<LinkKind>(add_value(command, "--nvlink-kind", options->nvlink_kind, "KIND",
                                     "their generation, if the GPU is not known: nvlink1 to nvlink5"));
  add_value(command, "--pcie", options->pcie, "GENERATION",
            "generation of links whose speed no file states (default: that of the GPU)");
  add_value(command, "--nodes", options->nodes, "N", "nodes of the cluster (default: 1)");
  add_value(command, "--nics", options->nics, "N", "network cards of a node, if the files have none");
  add_value(command, "--nic", options->nic, "RATE", "rate of a network card: \"200 Gbps\"");
  add_choice<Transport>(command, "--transport", options->transport, "TRANSPORT", "the network: {}");
  add_value(command, "--gpu-memory", options->memory, "SIZE",
            "memory of a GPU without a profile, as on its data sheet: \"24 GB\" (whole GB are GiB, as makers "
            "count)");
  add_repeatable(command, "--gpu-peak", options->peaks, "RATE",
                 "its dense peak in fp16 with sums in fp32, \"165 TFLOP/s\", or of a data type, repeatable: "
                 "\"fp32=82.6 TFLOP/s\"");
  add_value(command, "--gpu-bandwidth", options->bandwidth, "RATE",
            "its memory bandwidth, \"1008 GB/s\" (default: in proportion to the peak)");
  add_value(command, "--gpu-power", options->tdp, "POWER", "its power limit, \"450 W\", for energy");
  add_value(command, "--gpu-like", options->like, "GPU",
            "profile from which the rest is scaled (default: a100_sxm4_80gb)");
  add_value(command, "-o,--out", options->out, "FILE", "write to this file (default: stdout)");
  command.add_flag("--force", options->force, "replace existing files");
  add_examples(
      command,
      {"trainyard init platform topo.txt --gpu a100_sxm4_80gb -o my_cluster.yaml",
       "trainyard init platform --gpus 8 --gpu h100_sxm_80gb --nvlink 18 --nics 8 --nic \"400 Gbps\"",
       "trainyard init platform --gpus 2 --gpu-memory \"24 GB\" --gpu-peak \"165 TFLOP/s\" -o own.yaml",
       "trainyard init platform cluster.xml --gpu-memory \"16 GB\" -o cluster.yaml"},
      "topo.txt is the output of nvidia-smi topo -m on a node.");
  command.callback([options] { init_platform(*options); });
}

}  // namespace trainyard
