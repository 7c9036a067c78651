#include "jobs/job.hpp"

#include "config/plain_text.hpp"
#include "config/read_file.hpp"
#include "config/write.hpp"
#include "jobs/meaning.hpp"
#include "jobs/places.hpp"
#include "jobs/script.hpp"
#include "jobs/tool_defaults.hpp"
#include "jobs/tree_settings.hpp"
#include "jobs/words.hpp"
#include "units/control_characters.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace trainyard::jobs {
namespace {

namespace fs = std::filesystem;
using config::FileFormat;

struct ToolTable {
  Tool tool;
  FileFormat format;
  std::string_view words;
  std::span<const KeyRule> (*keys)();
};

constexpr std::array tools{
    ToolTable{Tool::megatron, FileFormat::megatron, "arguments of Megatron-LM", megatron_keys},
    ToolTable{Tool::nemo, FileFormat::nemo, "a job of NeMo or Megatron-Bridge", megatron_keys},
    ToolTable{Tool::torchtitan, FileFormat::torchtitan, "a job of torchtitan", torchtitan_keys},
    ToolTable{Tool::deepspeed, FileFormat::deepspeed, "a configuration of DeepSpeed", deepspeed_keys},
    ToolTable{Tool::trainer, FileFormat::hugging_face_trainer,
              "a training job of Hugging Face's Trainer, or of a tool on top of it", trainer_keys},
    ToolTable{Tool::accelerate, FileFormat::accelerate, "a configuration of Hugging Face Accelerate",
              accelerate_keys},
    ToolTable{Tool::torchtune, FileFormat::torchtune, "a recipe of torchtune", torchtune_keys},
    ToolTable{Tool::maxtext, FileFormat::maxtext, "a job of MaxText", maxtext_keys},
    ToolTable{Tool::nanotron, FileFormat::nanotron, "a job of nanotron", nanotron_keys},
    ToolTable{Tool::llmc, FileFormat::script, "a command of llm.c", llmc_keys}};

const ToolTable& table_of(Tool tool) { return *std::ranges::find(tools, tool, &ToolTable::tool); }

/// The table that knows most of a script's options.
const ToolTable& tool_of(const Script& script) {
  const std::vector<Setting>& settings = script.settings;
  constexpr std::array of_scripts{Tool::megatron, Tool::trainer, Tool::torchtitan, Tool::torchtune,
                                  Tool::nemo,     Tool::maxtext, Tool::llmc};
  if (std::ranges::find(settings, "recipe", &Setting::key) != settings.end())
    return table_of(Tool::nemo);  // scripts/training/run_recipe.py of Megatron-Bridge
  if (std::ranges::find(settings, "job.config_file", &Setting::key) != settings.end())
    return table_of(Tool::torchtitan);
  if (std::ranges::find(script.programs, "tune", &Program::name) != script.programs.end())
    return table_of(Tool::torchtune);
  const ToolTable* best = &table_of(Tool::megatron);
  std::ptrdiff_t most = -1;
  for (const Tool tool : of_scripts) {
    const ToolTable& table = table_of(tool);
    const auto known = std::ranges::count_if(settings, [&](const Setting& setting) {
      const KeyRule* const rule = rule_for(table.keys(), setting.key);
      return rule_for(launcher_keys(), setting.key) == nullptr && rule != nullptr &&
             rule->fate == Fate::taken;
    });
    if (known > most) {
      most = known;
      best = &table;
    }
  }
  const auto is_override = [](const Setting& setting) {  // "train.global_batch_size=512"
    return setting.key.starts_with("model.") || setting.key.starts_with("train.");
  };
  return best->tool == Tool::megatron && std::ranges::any_of(settings, is_override) ? table_of(Tool::nemo)
                                                                                    : *best;
}

bool is_job(FileFormat format) {
  return format == FileFormat::script || std::ranges::find(tools, format, &ToolTable::format) != tools.end();
}

/// A file's name in a comment: a line break would end it.
std::string comment_of(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '\n' || c == '\r'; }, '?');
  return without_controls(name);
}

class JobReader {
public:
  JobReader(const config::Catalogue& catalogue, const fs::path& file, const fs::path& out)
      : catalogue_(catalogue), file_(file), out_(out) {}

  ImportedJob read() {
    const std::string text = text_of(file_);
    const FileFormat format = config::format_of(text);
    if (!is_job(format))
      throw InputError({Diagnostic{.file = file_.string(),
                                   .key_path = {},
                                   .message = fmt::format("this is {}, not a job", config::words_of(format)),
                                   .hint = "trainyard import job --help names the files it reads",
                                   .source_line = {}}});
    const ToolTable& table = format == FileFormat::megatron || format == FileFormat::script
                                 ? read_script_file(text)
                                 : read_tree(format, text);
    read_named_files(table);
    refuse_mistakes();
    assume_tool_defaults(draft_, table.tool);
    complete_layout(draft_, table.tool);
    complete_model(draft_, table.tool, catalogue_, file_.parent_path());
    complete_software(draft_, table.tool, catalogue_);
    refuse_mistakes();
    if (const auto model = draft_.text("model"); model && config::is_path(*model) && !out_.empty())
      draft_.set("model", config::seen_from(out_, (file_.parent_path() / *model).string()));
    ImportedJob job{.tool = words_,
                    .account = draft_.account(),
                    .assumptions = draft_.assumptions(),
                    .warnings = {},
                    .contradictions = placed(draft_.contradictions()),
                    .experiment = {}};
    add_warnings(job);
    job.gpu = draft_.text("@gpu_name").value_or("");
    job.document = document();
    job.experiment = fmt::format("# {}: {}\n{}", comment_of(file_.filename().string()), words_,
                                 config::emit(job.document.root));
    return job;
  }

private:
  /// Settings of a file that the job names give way to the job's own.
  void add(const std::vector<Setting>& settings, std::span<const KeyRule> keys, bool is_named = false) {
    for (const Setting& setting : settings) draft_.add(setting, rule_for(keys, setting.key), is_named);
  }

  const std::string& text_of(const fs::path& file) {
    return texts_[file.string()] = config::read_file(file, config::largest_file);
  }

  [[nodiscard]] std::vector<Diagnostic> placed(const std::vector<Mistake>& mistakes) const {
    std::vector<Diagnostic> errors;
    for (const auto& [setting, message] : mistakes) {
      const auto text = texts_.find(setting.file);
      if (text == texts_.end())
        errors.push_back(
            {.file = file_.string(), .key_path = {}, .message = message, .hint = {}, .source_line = {}});
      else
        errors.push_back(diagnostic_at(setting, text->second, message));
    }
    return errors;
  }

  void refuse_mistakes() const {
    std::vector<Diagnostic> errors = placed(draft_.mistakes());
    if (!errors.empty()) throw InputError(std::move(errors));
  }

  /// A document whose repeated keys, tags and aliases are errors: one of two values would be lost.
  static config::Document whole(config::Document document) {
    if (!document.errors.empty()) throw InputError(std::move(document.errors));
    return document;
  }

  /// A script may start several trainings. The first one is the job, since their options do not fit together.
  void leave_out_other_commands(Script& script, const ToolTable& table) {
    std::vector<Setting>& settings = script.settings;
    std::map<int, std::pair<int, int>> known;  // command -> line, settings of the tool
    for (const Setting& setting : settings) {
      if (rule_for(launcher_keys(), setting.key) != nullptr) continue;
      const KeyRule* const rule = rule_for(table.keys(), setting.key);
      if (rule == nullptr || rule->fate != Fate::taken) continue;
      auto& [line, count] = known[setting.command];
      if (count++ == 0) line = setting.line;
    }
    int most = 0;
    for (const auto& [command, one] : known) most = std::max(most, one.second);
    const auto is_training = [&](const auto& one) { return one.second.second >= std::max(2, most / 2); };
    const auto job = std::ranges::find_if(known, is_training);
    if (job == known.end()) return;
    const int number = job->first;
    for (const auto& other : known) {
      if (other.first == number || (!is_training(other) && !script.with_program.contains(other.first)))
        continue;
      const int line = other.second.first;
      const std::string name = file_.filename().string();
      if (line == job->second.first)
        draft_.warn(
            fmt::format("{}:{}: several trainings have these options: the first is the job", name, line));
      else
        draft_.warn(fmt::format("{}:{}: {}: the one in line {} is the job", name, line,
                                is_training(other) ? "a second training" : "another program",
                                job->second.first));
      std::erase_if(settings, [&](const Setting& setting) { return setting.command == other.first; });
    }
    if (!script.with_program.contains(number)) return;
    const auto is_tool = [&](const auto& part) {  // before the training or after it
      return part.command != number && script.with_program.contains(part.command);
    };
    std::erase_if(settings, is_tool);
    std::erase_if(script.programs, is_tool);
  }

  const ToolTable& read_script_file(const std::string& text) {
    Script script = read_script(file_.string(), text);
    const ToolTable& table = tool_of(script);
    leave_out_other_commands(script, table);
    words_ = std::string(table.words);
    if (!script.programs.empty()) words_ += fmt::format(", started by {}", script.programs.front().name);
    for (const Setting& setting : script.settings) {
      const KeyRule* rule = rule_for(launcher_keys(), setting.key);
      if (rule == nullptr) rule = rule_for(table.keys(), setting.key);
      draft_.add(setting, rule);
    }
    for (std::string& warning : script.warnings) draft_.warn(std::move(warning));
    for (const Program& program : script.programs)
      if (program.name.starts_with("pretrain_") || program.name.starts_with("finetune_"))
        draft_.set("@program", program.name);
    if (std::ranges::find(script.programs, "fabric", &Program::name) != script.programs.end())
      draft_.set("@fabric", "true");
    written_ = std::move(script.files);
    return table;
  }

  const ToolTable& read_tree(FileFormat format, const std::string& text) {
    const ToolTable& table = *std::ranges::find(tools, format, &ToolTable::format);
    words_ = std::string(table.words);
    const config::Document document = whole(
        format == FileFormat::torchtitan ? parse_toml(file_.string(), text)
                                         : config::parse(file_.string(), text, {format, FileFormat::json}));
    std::vector<Setting> settings = settings_of(document.root, file_.string());
    put_in_references(settings);
    if (table.tool == Tool::trainer) take_inner_deepspeed(settings);
    add(settings, table.keys());
    return table;
  }

  /// "deepspeed" of TrainingArguments may be a configuration itself.
  void take_inner_deepspeed(std::vector<Setting>& settings) {
    constexpr std::string_view section = "deepspeed.";
    std::vector<Setting> inner;
    for (const Setting& setting : settings) {
      if (!setting.key.starts_with(section)) continue;
      inner.push_back(setting);
      inner.back().key.erase(0, section.size());
    }
    if (inner.empty()) return;
    std::erase_if(settings, [&](const Setting& setting) { return setting.key.starts_with(section); });
    add(inner, deepspeed_keys());
    draft_.set("@has_deepspeed", "true");
  }

  /// "${model.micro_batch_size}" and "${.seq_length}" of OmegaConf are the values of other keys.
  static void put_in_references(std::vector<Setting>& settings) {
    for (Setting& setting : settings) {
      if (!setting.value.starts_with("${") || !setting.value.ends_with('}')) continue;
      std::string key = setting.value.substr(2, setting.value.size() - 3);
      std::string_view folder = setting.key;
      while (key.starts_with('.')) {
        folder = folder.substr(0, folder.find_last_of('.') == std::string_view::npos ? 0 : folder.rfind('.'));
        key.erase(0, 1);
        if (!key.starts_with('.') && !folder.empty()) key = fmt::format("{}.{}", folder, key);
      }
      const auto found = std::ranges::find(settings, key, &Setting::key);
      if (found != settings.end()) setting.value = found->value;
    }
  }

  /// A job's configuration of DeepSpeed or Accelerate stands in a file of its own, or in the script.
  void read_named_files(const ToolTable& table) {
    if (const auto name = draft_.text("@tool_file")) read_tool_file(table, *name);
    if (const auto name = draft_.text("@accelerate_file"))
      read_named("@accelerate_file", *name, accelerate_keys());
    if (const auto name = draft_.text("@fsdp_file")) read_fsdp_file(*name);
    if (const auto name = draft_.text("@maxtext_file")) take_model_by_file("@maxtext_file", *name);
    if (const auto name = draft_.text("@deepspeed_file")) {
      draft_.set("@has_deepspeed", "true");
      if (*name == "true")  // a switch: the program has its own settings
        draft_.ignore("@deepspeed_file");
      else
        read_named("@deepspeed_file", *name, deepspeed_keys());
    }
  }

  /// Keys of a file that the command does not set itself.
  void add_below_command(const ToolTable& table, const fs::path& path) {
    std::set<std::string> in_script;
    for (const Account& entry : draft_.account()) in_script.insert(entry.setting.key);
    const std::string& text = text_of(path);
    const config::Document document =
        whole(table.tool == Tool::torchtitan ? parse_toml(path.string(), text)
                                             : config::parse(path.string(), text, {table.format}));
    std::vector<Setting> settings = settings_of(document.root, path.string());
    put_in_references(settings);
    std::erase_if(settings, [&](const Setting& setting) { return in_script.contains(setting.key); });
    add(settings, table.keys());
  }

  /// The job of torchtitan or the recipe of torchtune that a command starts. Recipes that torchtune ships
  /// have names such as "llama3/8B_full".
  void read_tool_file(const ToolTable& table, const std::string& name) {
    const fs::path path = file_.parent_path() / name;
    if (std::error_code error; fs::is_regular_file(path, error)) {
      add_below_command(table, path);
    } else if (const fs::path recipe = name;
               table.tool == Tool::torchtune && !recipe.has_extension() && recipe.has_parent_path()) {
      const std::string size = recipe.filename().string();
      draft_.become(
          "@tool_file", "@model",
          fmt::format("{}_{}", recipe.parent_path().filename().string(), size.substr(0, size.find('_'))));
      draft_.warn(
          fmt::format("{} is not in the job's folder: its name says the model alone", in_quotes(name)));
    } else {
      draft_.warn(fmt::format("{} is not in the job's folder: its settings are not part of the experiment",
                              in_quotes(name)));
    }
    draft_.ignore("@tool_file");
  }

  /// MaxText's scripts name a configuration of the model and set some of its keys.
  void take_model_by_file(const char* key, const std::string& name) {
    const fs::path path = file_.parent_path() / name;
    if (std::error_code error; fs::exists(path, error)) {
      add_below_command(table_of(Tool::maxtext), path);
    } else if (!draft_.has("@model")) {
      draft_.become(key, "@model", fs::path(name).stem().string());
      draft_.warn(fmt::format("{} is not here: its name says the model alone", in_quotes(name)));
    }
    draft_.ignore(key);
  }

  /// FSDP of TrainingArguments may stand in a file of its own, whose keys are those of fsdp_config.
  void read_fsdp_file(const std::string& name) {
    const fs::path path = file_.parent_path() / name;
    if (std::error_code error; fs::is_regular_file(path, error)) {
      const config::Document document =
          whole(config::parse(path.string(), text_of(path), {FileFormat::json}));
      std::vector<Setting> settings = settings_of(document.root, path.string());
      for (Setting& setting : settings) setting.key.insert(0, "fsdp_config.");
      add(settings, trainer_keys(), true);
    } else {
      draft_.warn(fmt::format("{} is not in the job's folder: its settings are not part of the experiment",
                              in_quotes(name)));
    }
    draft_.ignore("@fsdp_file");
  }

  void read_named(const char* key, const std::string& name, std::span<const KeyRule> keys) {
    const auto written = std::ranges::find_if(written_, [&](const WrittenFile& file) {
      return fs::path(file.name).filename() == fs::path(name).filename();
    });
    const fs::path path = file_.parent_path() / name;
    if (written != written_.end()) {
      add(settings_of(document_in_script(*written).root, file_.string(), written->line), keys, true);
    } else if (std::error_code error; fs::exists(path, error)) {
      const config::Document document = whole(config::parse(
          path.string(), text_of(path), {FileFormat::deepspeed, FileFormat::accelerate, FileFormat::json}));
      add(settings_of(document.root, path.string()), keys, true);
    } else {
      take_stage_by_name(key, name);
      return;
    }
    draft_.ignore(key);
  }

  /// Errors in it have the lines of the script.
  [[nodiscard]] config::Document document_in_script(const WrittenFile& written) const {
    try {
      return whole(config::parse(file_.string(), written.text,
                                 {FileFormat::deepspeed, FileFormat::accelerate, FileFormat::json}));
    } catch (const InputError& error) {
      std::vector<Diagnostic> moved = error.diagnostics();
      for (Diagnostic& one : moved)
        if (one.line > 0) one.line += written.line - 1;
      throw InputError(std::move(moved));
    }
  }

  /// "ds_z3_config.json", "zero2.json": the usual names say the stage.
  void take_stage_by_name(const char* key, const std::string& name) {
    constexpr std::array stages{
        Meaning{"z0", "none"},          Meaning{"z1", "optimizer"},      Meaning{"z2", "gradients"},
        Meaning{"z3", "parameters"},    Meaning{"zero0", "none"},        Meaning{"zero1", "optimizer"},
        Meaning{"zero2", "gradients"},  Meaning{"zero3", "parameters"},  Meaning{"zero_1", "optimizer"},
        Meaning{"zero_2", "gradients"}, Meaning{"zero_3", "parameters"}, Meaning{"stage1", "optimizer"},
        Meaning{"stage2", "gradients"}, Meaning{"stage3", "parameters"}};
    const std::string word = small_letters(fs::path(name).filename().string());
    const auto found =
        std::ranges::find_if(stages, [&](const Meaning& stage) { return contains(word, stage.word); });
    if (found == stages.end()) {
      draft_.warn(fmt::format("{} is not in the job's folder: its settings are not part of the experiment",
                              in_quotes(name)));
      draft_.ignore(key);
      return;
    }
    draft_.become(key, "parallelism.shard", std::string(found->value));
    draft_.warn(fmt::format("{} is not in the job's folder: the stage of ZeRO is taken from its name",
                            in_quotes(name)));
    if (contains(word, "offload"))
      draft_.warn(fmt::format("{} moves state to the host: {}", in_quotes(name), longer_and_less_memory));
  }

  void add_warnings(ImportedJob& job) {
    std::set<std::string> named;
    for (const Account& entry : job.account) {
      if (entry.fate != Fate::unknown || !named.insert(entry.setting.key).second) continue;
      job.warnings.push_back(fmt::format("{}:{}: {} {}", fs::path(entry.setting.file).filename().string(),
                                         entry.setting.line, in_quotes(entry.setting.key),
                                         entry.text.empty() ? "is not known: it may matter" : entry.text));
    }
    job.warnings.insert(job.warnings.end(), draft_.warnings().begin(), draft_.warnings().end());
  }

  /// The experiment, in the order of its keys.
  [[nodiscard]] config::Document document() const {
    constexpr std::array<std::string_view, 13> order{
        "platform",  "nodes",     "gpus",         "gpus_per_node", "model",        "sequence_length", "stack",
        "precision", "optimizer", "global_batch", "batch_per_gpu", "accumulation", "parallelism"};
    auto values = draft_.values();
    std::ranges::stable_sort(values, {}, [&](const auto& value) {
      const std::string_view block = std::string_view(value.first).substr(0, value.first.find('.'));
      const bool is_set = value.first != block && (block == "model" || block == "stack");
      return is_set ? order.size() + 1
                    : static_cast<std::size_t>(std::ranges::find(order, block) - order.begin());
    });
    config::Document document{.name = file_.string()};
    document.root = config::make_node(config::Node::Kind::mapping);
    for (const auto& [key, value] : values) {
      const bool is_default = value == "none" || (value == "1" && key != "parallelism.expert_tensor");
      if (key.starts_with("parallelism.") && is_default) continue;
      const bool is_set = key.starts_with("model.") || key.starts_with("stack.");
      config::set(document, is_set ? config::join("set", key) : key, value);
    }
    document.overrides.clear();  // its values stand in the job
    if (const auto text = texts_.find(file_.string()); text != texts_.end())
      for (std::string_view rest = text->second; !rest.empty();) {
        document.lines.push_back(line_of(rest, 1));
        const std::size_t end = rest.find('\n');
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      }
    place(document, document.root, "");
    return document;
  }

  /// Values without a setting of the file are nowhere in it.
  void place(const config::Document& document, config::Node& node, const std::string& path) const {
    const bool is_set = path == "set";
    node.mark = {};
    if (const Setting* const setting = draft_.setting_of(path);
        setting != nullptr && setting->file == document.name &&
        setting->line <= static_cast<int>(document.lines.size()))
      node.mark = mark_of(*setting, document.lines[static_cast<std::size_t>(std::max(setting->line, 1) - 1)]);
    for (config::Node& item : node.items) place(document, item, path);
    for (config::Node::Entry& entry : node.entries) {
      place(document, entry.value, is_set || path.empty() ? entry.key : path + "." + entry.key);
      entry.mark = entry.value.mark;
    }
  }

  const config::Catalogue& catalogue_;
  const fs::path& file_;
  const fs::path& out_;
  std::map<std::string, std::string> texts_;  ///< of the files read
  JobDraft draft_;
  std::string words_;
  std::vector<WrittenFile> written_;
};

}  // namespace

bool is_job_file(const fs::path& file) {
  try {
    return is_job(config::format_of(config::read_file(file, config::largest_file)));
  } catch (const FileError&) {
    return false;
  }
}

ImportedJob read_job(const config::Catalogue& catalogue, const std::filesystem::path& file,
                     const std::filesystem::path& out) {
  return JobReader(catalogue, file, out).read();
}

}  // namespace trainyard::jobs
