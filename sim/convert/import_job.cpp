#include "cli/help.hpp"
#include "cli/page_options.hpp"
#include "cli/terminal.hpp"
#include "config/catalogue.hpp"
#include "config/file_paths.hpp"
#include "convert/commands.hpp"
#include "convert/import_input.hpp"
#include "document/json_text.hpp"
#include "experiment/keys_meant.hpp"
#include "io/out_files.hpp"
#include "jobs/job.hpp"
#include "platform/load.hpp"
#include "units/letters.hpp"
#include "units/plural.hpp"
#include "units/shell_word.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace trainyard {
namespace {

struct JobCommandOptions {
  std::string file, out;
  PageOptions page = {};
};

std::vector<const jobs::Account*> of_fate(const jobs::ImportedJob& job, jobs::Fate fate) {
  std::vector<const jobs::Account*> found;
  for (const jobs::Account& entry : job.account) {
    if (entry.fate == fate) found.push_back(&entry);
  }
  return found;
}

std::string place_of(const jobs::Setting& setting) {
  return fmt::format("{}:{}", std::filesystem::path(setting.file).filename().string(), setting.line);
}

/// Lists of data files may be long.
std::string beginning_of(const std::string& value) {
  constexpr std::size_t most = 400;
  if (value.size() <= most) return value;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0U) == 0x80U) --end;  // whole characters
  return value.substr(0, end) + "...";
}

void add_table(doc::Section& section, const std::vector<const jobs::Account*>& entries, std::string key,
               std::string last_column) {
  if (entries.empty()) return;
  doc::Table table{.key = std::move(key),
                   .columns = {doc::texts("place"), doc::texts("key"), doc::texts("value"),
                               doc::texts(std::move(last_column), "text")}};
  for (const jobs::Account* const entry : entries) {
    const jobs::Setting& setting = entry->setting;
    table.rows.push_back({.cells = {place_of(setting), setting.key,
                                    setting.is_switch ? "on" : beginning_of(setting.value), entry->text}});
  }
  section.parts.emplace_back(std::move(table));
}

doc::Document job_document(const jobs::ImportedJob& job, const std::string& file) {
  doc::Document document{
      .title = fmt::format("{}: {}", std::filesystem::path(file).filename().string(), job.tool)};
  document.section("head", "")
      .add(doc::Sentence{.text = document.title, .indent = 0, .shown = doc::Shown::text});
  doc::Section taken{.title = "taken"};
  add_table(taken, of_fate(job, jobs::Fate::taken), "taken", "as");
  document.sections.push_back(std::move(taken));
  if (!job.assumptions.empty()) {
    doc::Section assumed{.title = "not in the job"};
    doc::Table table{.key = "assumed",
                     .columns = {doc::texts("key"), doc::texts("value"), doc::texts("reason")}};
    for (const jobs::Assumption& one : job.assumptions)
      table.rows.push_back({.cells = {one.key, one.value, one.reason}});
    assumed.parts.emplace_back(std::move(table));
    document.sections.push_back(std::move(assumed));
  }
  if (const auto entries = of_fate(job, jobs::Fate::not_modelled); !entries.empty()) {
    doc::Section differs{.title = "not modelled"};
    add_table(differs, entries, "not_modelled", "effect");
    document.sections.push_back(std::move(differs));
  }
  if (const auto entries = of_fate(job, jobs::Fate::no_effect); !entries.empty()) {
    std::set<std::string> names;
    for (const jobs::Account* const entry : entries) names.insert(entry->setting.key);
    doc::Section without{.title = "without effect on a step"};
    without.parts.emplace_back(doc::Sentence{.text = fmt::format("{}", fmt::join(names, ", "))});
    document.sections.push_back(std::move(without));
  }
  return document;
}

nlohmann::ordered_json job_json(const jobs::ImportedJob& job) {
  nlohmann::ordered_json json{{"job", job.tool}};
  const auto list = [&](const char* key, jobs::Fate fate) {
    json[key] = nlohmann::ordered_json::array();
    for (const jobs::Account* const entry : of_fate(job, fate)) {
      const jobs::Setting& setting = entry->setting;
      json[key].push_back({{"file", std::filesystem::path(setting.file).filename().string()},
                           {"line", setting.line},
                           {"key", setting.key},
                           {"value", setting.is_switch ? nlohmann::ordered_json(true)
                                                       : nlohmann::ordered_json(setting.value)},
                           {"text", entry->text}});
    }
  };
  list("taken", jobs::Fate::taken);
  list("not_modelled", jobs::Fate::not_modelled);
  list("no_effect", jobs::Fate::no_effect);
  list("unknown", jobs::Fate::unknown);
  json["assumed"] = nlohmann::ordered_json::array();
  for (const jobs::Assumption& one : job.assumptions)
    json["assumed"].push_back({{"key", one.key}, {"value", one.value}, {"reason", one.reason}});
  json["warnings"] = job.warnings;
  json["contradictions"] = nlohmann::ordered_json::array();
  for (const Diagnostic& one : job.contradictions) json["contradictions"].push_back(one.message);
  json["experiment"] = job.experiment;
  return json;
}

/// The DGX with the GPU that the job asks for, or the most common one.
std::string platform_of(const config::Catalogue& catalogue, const std::string& gpu) {
  const std::vector<std::string> names = config::names(catalogue, config::Kind::platform);
  const std::string dgx = fmt::format("dgx_{}", small_letters(gpu.substr(0, gpu.find_first_of("-_"))));
  return std::ranges::find(names, dgx) == names.end() ? "dgx_h100" : dgx;
}

/// The options, besides the machine, that a run needs.
std::string missing_options(const jobs::ImportedJob& job) {
  const auto has = [&](const char* key) { return job.document.root.find(key) != nullptr; };
  std::string options;
  if (!has("model")) options += " --model NAME";
  if (!has("batch_per_gpu") && !has("global_batch")) options += " --batch N";
  return options;
}

/// Throws InputError for a job that a run would refuse, as far as it says enough: a model, a batch and GPUs.
/// The machine is the one that the next command names.
void refuse_contradictions(const config::Catalogue& catalogue, const jobs::ImportedJob& job,
                           const std::string& file) {
  const auto text_of = [&](const char* key) -> std::string {
    const config::Node* const value = job.document.root.find(key);
    return value == nullptr ? std::string() : value->scalar;
  };
  const auto has = [&](const char* key) { return job.document.root.find(key) != nullptr; };
  if (!job.contradictions.empty()) throw InputError(job.contradictions);
  if (!missing_options(job).empty() || !(has("gpus") || has("nodes") || has("gpus_per_node"))) return;
  Overrides machine;
  if (!has("platform")) machine.emplace_back("platform", platform_of(catalogue, job.gpu));
  InputFiles files;
  files.wants_published_errors = false;
  if (!machine.empty()) {
    const auto platform =
        load_platform(load_once(files, config::find(catalogue, config::Kind::platform, machine[0].second)));
    const Parsed<long long> on_node = parse_integer(text_of("gpus_per_node"));
    if (on_node && *on_node > static_cast<long long>(platform.gpus.size())) return;  // another machine
  }
  try {
    std::ignore = resolve_with_totals(catalogue, config::absolute_path(file).string(), machine, files);
  } catch (const JobImpossible&) {  // another machine may run it
  }
}

void import_job(const JobCommandOptions& options) {
  check_page_options(options.page);
  if (!options.out.empty()) {
    if (std::filesystem::path(options.out).extension() != ".yaml")
      throw CLI::ValidationError("--output", "an experiment ends in .yaml");
    check_out_file(options.out, options.page.force);
  }
  const config::Catalogue catalogue = config::find_catalogue();
  const jobs::ImportedJob job = jobs::read_job(catalogue, options.file, options.out);
  const std::string page = printed_page(options.page, job_document(job, options.file));
  for (const std::string& warning : job.warnings) print_message("warning: " + warning);
  if (!options.out.empty()) write_out_file(options.out, job.experiment, options.page.force);
  print_result(options.page.json ? json_text(job_json(job)) : page);
  refuse_contradictions(catalogue, job, options.file);
  if (!options.out.empty())
    print_message(fmt::format("wrote {}\nnext:  trainyard run {} --platform {}{}", options.out,
                              shell_word(options.out), platform_of(catalogue, job.gpu),
                              missing_options(job)));
}

}  // namespace

void add_import_job(CLI::App& import) {
  auto options = std::make_shared<JobCommandOptions>();
  options->page.has_other_files = true;
  CLI::App& command = *import.add_subcommand(
      "job",
      "read a job of another framework: Megatron-LM, NeMo, torchtitan, "
      "DeepSpeed, Accelerate, Hugging Face's Trainer, axolotl, "
      "LLaMA-Factory, torchtune, MaxText, nanotron, llm.c, or a script that starts it");
  add_input_file(command, options->file, "the script, command line or configuration");
  command.add_option("-o,--output", options->out, "write it as an experiment: NAME.yaml")->type_name("FILE");
  add_page_options(command, options->page, "print the account as JSON, with the experiment");
  add_examples(command,
               {"trainyard import job pretrain.sh", "trainyard import job llama3_8b.toml -o experiment.yaml",
                "trainyard import job llama3_8b.toml --json"});
  command.callback([options] { import_job(*options); });
}

}  // namespace trainyard
