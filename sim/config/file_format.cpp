#include "config/file_format.hpp"

#include "config/diagnostic.hpp"
#include "units/shell_word.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <initializer_list>

namespace trainyard::config {
namespace {

constexpr std::size_t examined = std::size_t{64} << 10U;

struct Format {
  FileFormat format;
  std::string_view words;
  std::string_view command = {};  ///< that reads it, or advice; {} is the file
};

constexpr std::string_view as_job = "trainyard import job {} -o experiment.yaml";
constexpr std::string_view from_rccl =
    "RCCL writes the topology of any job: NCCL_TOPO_DUMP_FILE=topo.xml, then trainyard init platform "
    "topo.xml";

constexpr std::array formats{
    Format{FileFormat::pytorch_profile, "a profile of PyTorch (torch.profiler)",
           "trainyard import kineto {} -o step.csv"},
    Format{FileFormat::chrome_trace, "a Chrome trace"},
    Format{FileFormat::memory_timeline, "a memory timeline of PyTorch's profiler"},
    Format{FileFormat::horovod_timeline, "a timeline of Horovod", "trainyard import horovod {}"},
    Format{FileFormat::execution_trace, "an execution trace of PyTorch",
           "trainyard import et {} -o step.csv"},
    Format{FileFormat::chakra_json, "a Chakra trace as JSON", "trainyard import chakra {} -o step.csv"},
    Format{FileFormat::chakra, "a Chakra trace", "trainyard import chakra {} -o step.csv"},
    Format{FileFormat::onnx, "an ONNX model", "trainyard import onnx {} -o model.yaml"},
    Format{FileFormat::zip, "a ZIP archive, such as a checkpoint of PyTorch"},
    Format{FileFormat::xplane, "an XPlane profile of TensorFlow or JAX (.xplane.pb)",
           "trainyard reads profiles of PyTorch and Nsight Systems: trainyard import --help"},
    Format{FileFormat::xz, "compressed by xz", "xz -d {}"},
    Format{FileFormat::zstd, "compressed by Zstandard", "zstd -d {}"},
    Format{FileFormat::bzip2, "compressed by bzip2", "bunzip2 {}"},
    Format{FileFormat::python_pickle, "a Python pickle, such as a memory snapshot of PyTorch"},
    Format{FileFormat::sqlite, "an SQLite database, such as an export of Nsight Systems",
           "trainyard import nsys {} -o step.csv"},
    Format{FileFormat::gzip, "compressed by gzip",
           "gunzip {}; a profile of PyTorch: trainyard import kineto {} -o step.csv"},
    Format{FileFormat::nccl_tests, "output of nccl-tests", "trainyard import nccl-tests {} -o rows.csv"},
    Format{FileFormat::nccl_tests_json, "JSON of nccl-tests or rccl-tests",
           "trainyard import nccl-tests {} -o rows.csv"},
    Format{FileFormat::nccl_topology, "a topology of NCCL", "trainyard init platform {} -o machine.yaml"},
    Format{FileFormat::nccl_graph, "a graph dump of NCCL (NCCL_GRAPH_DUMP_FILE), not its topology",
           "NCCL writes its topology with NCCL_TOPO_DUMP_FILE=topo.xml: trainyard init platform topo.xml"},
    Format{FileFormat::smi_overview, "the overview of nvidia-smi, which shows no links"},
    Format{FileFormat::lstopo, "a topology of lstopo",
           "nvidia-smi topo -m > topo.txt, then trainyard init platform topo.txt"},
    Format{FileFormat::simgrid_platform, "a platform of SimGrid",
           "trainyard init platform {} --gpu PROFILE -o machine.yaml"},
    Format{FileFormat::web_page, "a web page"},
    Format{FileFormat::drawing, "a drawing"},
    Format{FileFormat::astra_sim_workload, "a workload of ASTRA-sim or SimAI",
           "trainyard import astra-sim {} --time-unit ns -o step.csv"},
    Format{FileFormat::astra_sim_config, "a network or system configuration of ASTRA-sim",
           "state the machine yourself: trainyard init platform --gpus 8 --gpu PROFILE -o machine.yaml; "
           "algorithms of collectives: 'trainyard keys sync.algorithm'"},
    Format{FileFormat::htsim_topology, "a topology of htsim"},
    Format{FileFormat::simai_bandwidths, "the bus bandwidths of SimAI's analytical mode"},
    Format{FileFormat::aicb_workload, "a workload of AICB for GPUs; SimAI's own workloads can be imported"},
    Format{FileFormat::rocm_smi, "output of rocm-smi, which does not say how fast links are", from_rccl},
    Format{FileFormat::amd_smi, "output of amd-smi, which does not say how fast PCIe links are", from_rccl},
    Format{FileFormat::hugging_face_model, "a model of Hugging Face (config.json)",
           "trainyard model {}; it is a model, for --model or 'model:' of an experiment"},
    Format{FileFormat::hugging_face_trainer,
           "a training job of Hugging Face's Trainer or a tool on top of it", as_job},
    Format{FileFormat::deepspeed, "a configuration of DeepSpeed", as_job},
    Format{FileFormat::accelerate, "a configuration of Hugging Face Accelerate", as_job},
    Format{FileFormat::nemo, "a job of NeMo", as_job},
    Format{FileFormat::megatron, "arguments of Megatron-LM", as_job},
    Format{FileFormat::torchtitan, "a job of torchtitan (TOML)", as_job},
    Format{FileFormat::torchtune, "a recipe of torchtune", as_job},
    Format{FileFormat::maxtext, "a job of MaxText", as_job},
    Format{FileFormat::nanotron, "a job of nanotron", as_job},
    Format{FileFormat::mlperf_log, "a log of MLPerf",
           "its step time goes into a table of measurements: workloads/published/README.md; then trainyard "
           "validate rows.csv"},
    Format{FileFormat::slurm, "a configuration of Slurm, which does not say how fast links are",
           "its switches are the fabric of a platform: docs/network.md; trainyard init platform -o "
           "machine.yaml"},
    Format{FileFormat::script, "a script that starts a job", as_job},
    Format{FileFormat::trainyard_trace, "a trace of trainyard",
           "trainyard run --platform NAME --set trace={}"},
    Format{FileFormat::trainyard_yaml, "a YAML file of trainyard"},
    Format{FileFormat::json, "JSON"}};

const Format* found(FileFormat format) {
  const auto row = std::ranges::find(formats, format, &Format::format);
  return row == formats.end() ? nullptr : &*row;
}

/// The first 64 KiB, with searches.
class Head {
public:
  explicit Head(std::string_view bytes) : text_(bytes.substr(0, examined)) {
    const std::size_t begin = text_.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
    text_.remove_prefix(std::min(begin, text_.size()));
  }
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] bool has(std::string_view part) const { return text_.find(part) != std::string_view::npos; }
  [[nodiscard]] bool begins(std::string_view part) const { return text_.starts_with(part); }
  [[nodiscard]] bool has_line(std::string_view beginning) const {
    return begins(beginning) || has(std::string("\n").append(beginning));
  }
  /// An object, or a list of objects, lists or texts: "[1,0]<stdout>: ..." is the output of mpirun.
  [[nodiscard]] bool is_json() const {
    if (!begins("{") && !begins("[")) return false;
    const std::size_t next = text_.find_first_not_of(" \t\r\n", 1);
    const std::string_view allowed = begins("{") ? "\"}" : "{[\"]";
    return next != std::string_view::npos && allowed.find(text_[next]) != std::string_view::npos;
  }
  [[nodiscard]] bool is_number_at(std::size_t place) const {
    return place < text_.size() &&
           std::string_view("-0123456789").find(text_[place]) != std::string_view::npos;
  }
  /// Whether JSON has a key `"name":`, with or without a blank.
  [[nodiscard]] bool has_key(std::string_view name) const {
    const std::string key = fmt::format("\"{}\"", name);
    return has(key + ":") || has(key + " :");
  }
  [[nodiscard]] std::string_view line(int number) const {
    std::string_view rest = text_;
    for (int i = 0; i < number; ++i) rest.remove_prefix(std::min(rest.find('\n') + 1, rest.size()));
    return rest.substr(0, rest.find('\n'));
  }

private:
  std::string_view text_;
};

/// A configuration of a framework as JSON.
FileFormat json_job_format(const Head& head) {
  const auto has_any = [&](std::initializer_list<std::string_view> keys) {
    return std::ranges::any_of(keys, [&](std::string_view key) { return head.has_key(key); });
  };
  if (has_any({"platform", "batch_per_gpu"}) || (head.has_key("name") && head.has_key("layers")))
    return FileFormat::json;  // of ours
  if (head.has_key("per_device_train_batch_size")) return FileFormat::hugging_face_trainer;
  if (has_any({"zero_optimization", "train_micro_batch_size_per_gpu"}) ||
      (head.has_key("train_batch_size") &&
       has_any({"fp16", "bf16", "optimizer", "gradient_accumulation_steps"})))
    return FileFormat::deepspeed;
  const bool is_of_trainer = has_any({"per_device_train_batch_size", "model_name_or_path"});
  const bool is_model = has_any({"transformers_version", "_diffusers_version"}) ||
                        (has_any({"architectures", "model_type"}) && !is_of_trainer);
  if (is_model) return FileFormat::hugging_face_model;
  if (is_of_trainer) return FileFormat::hugging_face_trainer;
  return head.has_key("distributed_type") && head.has_key("num_processes") ? FileFormat::accelerate
                                                                           : FileFormat::json;
}

FileFormat json_format(const Head& head) {
  if (head.begins("[[") && head.is_number_at(2)) return FileFormat::memory_timeline;
  if (head.has_key("busBw") || (head.has_key("results") && head.has_key("bus_bw")))
    return FileFormat::nccl_tests_json;
  if (head.has("\"(Topology)")) return FileFormat::rocm_smi;
  if (head.has_key("link_type") && head.has_key("num_hops")) return FileFormat::amd_smi;
  if (head.begins("[")) {
    if (head.has("NEGOTIATE_")) return FileFormat::horovod_timeline;
    return head.has_key("ph") ? FileFormat::chrome_trace : FileFormat::json;
  }
  if (head.has_key("workload_graph")) return FileFormat::chakra_json;
  if (head.has_key("schemaVersion")) return FileFormat::pytorch_profile;
  if (head.has_key("topologies-per-dim") || head.has_key("all-reduce-implementation") ||
      head.has_key("scheduling-policy"))
    return FileFormat::astra_sim_config;
  if (head.has_key("traceEvents"))
    return head.has("\"cpu_op\"") ? FileFormat::pytorch_profile : FileFormat::chrome_trace;
  if (head.has_key("schema") && head.has_key("nodes")) return FileFormat::execution_trace;
  return json_job_format(head);
}

FileFormat xml_format(const Head& head) {
  const auto is_root = [&](std::string_view name) {
    const std::string tag = std::string("<").append(name);
    return head.has(tag + " ") || head.has(tag + ">") || head.has(tag + "/");
  };
  if (is_root("system") && head.has("<cpu ")) return FileFormat::nccl_topology;
  if (is_root("graphs")) return FileFormat::nccl_graph;
  if (is_root("topology")) return FileFormat::lstopo;
  if (is_root("platform")) return FileFormat::simgrid_platform;
  if (is_root("html") || is_root("HTML")) return FileFormat::web_page;
  return is_root("mxfile") || is_root("svg") ? FileFormat::drawing : FileFormat::unknown;
}

/// Whether a message of Chakra's GlobalMetadata follows its length: the version, or an attribute "schema".
bool begins_as_chakra(std::string_view bytes) {
  std::size_t at = 0;
  while (at < 4 && at < bytes.size() && static_cast<unsigned char>(bytes[at]) >= 0x80) ++at;
  const std::string_view message = bytes.substr(std::min(at + 1, bytes.size()));
  if (message.size() < 4) return false;
  if (message.starts_with('\x0A')) {
    const std::string_view version = message.substr(2, static_cast<unsigned char>(message[1]));
    return version.size() >= 3 && version.size() <= 12 &&
           version.find_first_not_of("0123456789.") == std::string_view::npos;
  }
  return message[0] == '\x12' && message[2] == '\x0A' && message.substr(4).starts_with("schema");
}

bool is_astra_sim_workload(const Head& head) {
  const std::string_view first = head.line(0);
  const std::string_view word = first.substr(0, first.find_first_of(" \t\r"));
  const std::string_view second = head.line(1);
  const bool has_count =
      !second.empty() && second.find_first_not_of("0123456789 \t\r") == std::string_view::npos;
  const bool is_alone = first.find_first_not_of(" \t\r", word.size()) == std::string_view::npos;
  return has_count && ((is_alone && (word == "DATA" || word == "MODEL" || word == "MICRO")) ||
                       word.starts_with("HYBRID_"));
}

/// The text without comments and texts in quotes: our own files may name scripts and options of other tools
/// there. Keeps "#!", and the quotes of a script.
std::string without_remarks(std::string_view text) {
  const bool is_script = text.starts_with("#!");
  std::string rest;
  for (std::size_t at = is_script ? 2 : 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool begins = at == 0 || std::string_view(" \t\n[{,").find(text[at - 1]) != std::string_view::npos;
    std::size_t end = std::string_view::npos;  // of the part that is left out
    if (begins && c == '#') {
      end = std::min(text.find('\n', at), text.size()) - 1;
    } else if (begins && !is_script && (c == '"' || c == '\'')) {
      end = text.find(c, at + 1);
      if (text.substr(at, end - at).find('\n') != std::string_view::npos) end = std::string_view::npos;
    }
    if (end == std::string_view::npos)
      rest += c;
    else
      at = end;
  }
  return is_script ? "#!" + rest : rest;
}

/// A command without the words that stand before any command: "uv run", "nohup", assignments of variables.
std::string_view without_prefixes(std::string_view line) {
  constexpr std::array<std::string_view, 4> prefixes{"uv run ", "nohup ", "exec ", "time "};
  constexpr std::string_view of_variables = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  for (std::size_t cut = std::string_view::npos; cut != 0;) {
    cut = 0;
    for (const std::string_view prefix : prefixes) {
      if (line.starts_with(prefix)) cut = prefix.size();
    }
    const std::size_t name = line.find_first_not_of(of_variables);
    const bool is_assignment = name > 0 && name < line.size() && line[name] == '=';
    if (const std::size_t blank = line.find(' ');
        is_assignment && blank != std::string_view::npos && line[name + 1] != '"')
      cut = blank + 1;
    line.remove_prefix(cut);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  }
  return line;
}

/// Whether a line of a script starts a program that starts training, also in quotes: CMD="deepspeed ...".
bool has_launcher(std::string_view text) {
  constexpr std::array<std::string_view, 13> launchers{"torchrun ",
                                                       "srun ",
                                                       "mpirun ",
                                                       "deepspeed ",
                                                       "accelerate launch ",
                                                       "tune run ",
                                                       "fabric run ",
                                                       "python3 -m MaxText",
                                                       "python3 -m maxtext",
                                                       "python -m maxtext",
                                                       "python -m torch.distributed.",
                                                       "python3 -m torch.distributed.",
                                                       "#SBATCH "};
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = without_prefixes(line);
    const std::size_t quote = line.find("=\"");
    const std::string_view quoted = quote < line.find(' ') ? line.substr(quote + 2) : std::string_view();
    for (const std::string_view launcher : launchers)
      if (line.starts_with(launcher) || quoted.starts_with(launcher)) return true;
  }
  return false;
}

/// A job of another framework as YAML, TOML, a script or a log.
FileFormat job_format(std::string_view text) {
  const std::string bare = without_remarks(text.substr(0, examined));
  const Head head(bare);
  const auto has_any_line = [&](std::initializer_list<std::string_view> beginnings) {
    return std::ranges::any_of(beginnings, [&](std::string_view begin) { return head.has_line(begin); });
  };
  if (head.has(":::MLLOG ") || head.has(":::MLPv0")) return FileFormat::mlperf_log;
  if (has_any_line({"SwitchName=", "BlockName="}) ||
      (head.has_line("PartitionName=") && head.has("NodeName=")))
    return FileFormat::slurm;
  if (head.has_line("[training]") &&
      has_any_line({"[model]", "[job]", "[parallelism]", "[experimental]", "[optimizer]"}))
    return FileFormat::torchtitan;
  if (has_any_line({"compute_environment:"}) ||
      (head.has_line("distributed_type:") &&
       has_any_line({"num_processes:", "mixed_precision:", "fsdp_config:", "deepspeed_config:"})))
    return FileFormat::accelerate;
  if (head.has_line("tokens:") && head.has_line("parallelism:") && head.has("model_config:"))
    return FileFormat::nanotron;
  if (head.has("_component_: torchtune.")) return FileFormat::torchtune;
  if (has_any_line({"ici_", "dcn_", "base_emb_dim:", "per_device_batch_size:"}) ||
      (head.has_line("base_config:") && has_any_line({"model_name:", "run_name:"})))
    return FileFormat::maxtext;
  if (has_any_line({"zero_optimization:", "train_micro_batch_size_per_gpu:"})) return FileFormat::deepspeed;
  if (has_any_line({"per_device_train_batch_size:", "model_name_or_path:"}) ||
      (head.has_line("base_model:") && has_any_line({"micro_batch_size:", "sequence_len:"})) ||
      (head.has_line("model:") && has_any_line({"model_class:", "dist_config:"})))
    return FileFormat::hugging_face_trainer;
  if (head.has("pretrain_gpt.py") || head.has("--tensor-model-parallel-size") ||
      (head.has("--num-layers") && head.has("--hidden-size")))
    return FileFormat::megatron;
  if (has_any_line({"exp_manager:", "language_model:"}) || head.has("_target_: nemo.") ||
      head.has("_target_: megatron.") || (head.has_line("trainer:") && head.has_line("model:")) ||
      (head.has_line("model:") && head.has_line("train:") && head.has("tensor_model_parallel_size:")))
    return FileFormat::nemo;
  return head.begins("#!") || has_launcher(bare) ? FileFormat::script : FileFormat::unknown;
}

/// Keys that only files of ours have, at the beginning of a line.
bool has_own_keys(const Head& head) {
  return head.has_line("batch_per_gpu:") || (head.has_line("platform:") && head.has_line("model:")) ||
         (head.has_line("name:") && head.has_line("layers:"));
}

/// The own formats first: their comments may name other tools.
FileFormat text_format(const Head& head) {
  if (head.begins("# trainyard trace:")) return FileFormat::trainyard_trace;
  if (head.has_line("node:") || head.has("yaml-language-server: $schema=")) return FileFormat::trainyard_yaml;
  if (head.has("# nThread ") || (head.has("out-of-place ") && head.has(" in-place")))
    return FileFormat::nccl_tests;
  if (head.has("| NVIDIA-SMI ") && head.has("Driver Version")) return FileFormat::smi_overview;
  if (is_astra_sim_workload(head)) return FileFormat::astra_sim_workload;
  if (head.has_line("npus_count:") || head.has_line("all-reduce-implementation:") ||
      head.has_line("scheduling-policy:"))
    return FileFormat::astra_sim_config;
  if (head.begins("Nodes ") && head.has_line("Tiers ")) return FileFormat::htsim_topology;
  if (head.has_line("TP:") && head.has_line("busbw:")) return FileFormat::simai_bandwidths;
  if (head.has_line("comm_type,comm_group,")) return FileFormat::aicb_workload;
  if (head.has("ROCm System Management Interface") || head.has(" between two GPUs ="))
    return FileFormat::rocm_smi;
  if (head.has_line("LINK TYPE TABLE:") || head.has_line("ACCESS TABLE:") || head.has_line("WEIGHT TABLE:"))
    return FileFormat::amd_smi;
  if (has_own_keys(head)) return FileFormat::trainyard_yaml;
  return head.begins("{") ? FileFormat::unknown : job_format(head.text());
}

/// XSpace of TensorFlow's profiler: planes with these names. A text may begin with the same byte, a line end.
bool is_xplane(std::string_view bytes) {
  if (!bytes.starts_with('\x0A')) return false;
  const std::string_view head = bytes.substr(0, examined);
  const std::string_view first = head.substr(0, 16);
  const bool is_binary = std::ranges::any_of(first, [](char c) { return c >= 0 && c < '\t'; });
  return is_binary && std::ranges::any_of(
                          std::initializer_list<std::string_view>{"/host:", "/device:", "Task Environment"},
                          [&](std::string_view name) { return head.find(name) != std::string_view::npos; });
}

}  // namespace

FileFormat binary_format_of(std::string_view bytes) {
  const auto byte = [&](std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
  };
  if (bytes.starts_with("SQLite format 3")) return FileFormat::sqlite;
  if (byte(0) == 0x1F && byte(1) == 0x8B) return FileFormat::gzip;
  if (bytes.starts_with("\xFD"
                        "7zXZ"))
    return FileFormat::xz;
  if (bytes.starts_with("\x28\xB5\x2F\xFD")) return FileFormat::zstd;
  if (bytes.size() > 4 && bytes.starts_with("BZh") && bytes.substr(4).starts_with("1AY&SY"))
    return FileFormat::bzip2;
  if (bytes.starts_with("PK\x03\x04")) return FileFormat::zip;
  if (is_xplane(bytes)) return FileFormat::xplane;
  if (byte(0) == 0x80 && byte(1) >= 2 && byte(1) <= 5) return FileFormat::python_pickle;
  // the version, then the producer or the graph (fields 1 and 2 or 7 of onnx.ModelProto)
  if (byte(0) == 0x08 && byte(1) < 0x20 && (byte(2) == 0x12 || byte(2) == 0x3A)) return FileFormat::onnx;
  return begins_as_chakra(bytes) ? FileFormat::chakra : FileFormat::unknown;
}

FileFormat format_of(std::string_view bytes) {
  if (const FileFormat binary = binary_format_of(bytes); binary != FileFormat::unknown) return binary;
  const Head head(bytes);
  if (head.is_json()) return json_format(head);
  return head.begins("<") ? xml_format(head) : text_format(head);
}

std::string_view words_of(FileFormat format) {
  const Format* const row = found(format);
  return row == nullptr ? "a file of unknown format" : row->words;
}

std::string command_for(FileFormat format, std::string_view file) {
  const Format* const row = found(format);
  if (row == nullptr || row->command.empty()) return {};
  std::string command(row->command);
  for (std::size_t at = command.find("{}"); at != std::string::npos; at = command.find("{}"))
    command.replace(at, 2, shell_word(file));
  return command;
}

namespace {

[[noreturn]] void refuse_format(const std::string& file, FileFormat format) {
  throw InputError({Diagnostic{.file = file,
                               .key_path = {},
                               .message = fmt::format("this is {}", words_of(format)),
                               .hint = command_for(format, file),
                               .source_line = {}}});
}

}  // namespace

void refuse_foreign(const std::string& file, std::string_view text, std::initializer_list<FileFormat> own) {
  const FileFormat format = format_of(text);
  if (format != FileFormat::unknown && std::ranges::find(own, format) == own.end())
    refuse_format(file, format);
}

void refuse_job(const std::string& file, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    if (text.size() >= examined) break;
    text.append(line) += '\n';
  }
  if (const FileFormat format = job_format(text); format != FileFormat::unknown) refuse_format(file, format);
}

}  // namespace trainyard::config
