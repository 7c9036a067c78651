#include "cli/file_kind.hpp"
#include "cli/help.hpp"
#include "cli/offers.hpp"
#include "cli/terminal.hpp"
#include "commands/commands.hpp"
#include "commands/list_entries.hpp"
#include "commands/word_search.hpp"
#include "config/catalogue.hpp"
#include "config/diagnostic.hpp"
#include "config/fields.hpp"
#include "config/other_names.hpp"
#include "config/same_gpu.hpp"
#include "config/suggest.hpp"
#include "document/json_text.hpp"
#include "units/lines.hpp"
#include "units/table.hpp"
#include "units/text.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {

namespace {

struct ListOptions {
  std::optional<std::string> kind, pattern;
  bool json = false;
};

/// The meaning of a table's columns and signs; empty for tables without any.
std::string legend(config::Kind kind, std::size_t width) {
  if (kind == config::Kind::gpu)
    return hanging(
        "",
        "fitted: curves fitted to times of kernels, with their mean error over kernels held out of the fit "
        "(9-14 %: over the data types). scaled from: the rates of another GPU, with the mean error over "
        "other GPUs scaled in the same way. assumed: no times are known. A kind of kernel without an "
        "error has too few kernels to hold some out.",
        width);
  if (kind == config::Kind::platform)
    return hanging(
        "",
        "GPUs: per node, or CPU sockets that hold ranks; the title ends with their profile (trainyard list "
        "gpus). kernels: the origin of the rates of the GPU's matrix products: measured by shape, fitted to "
        "times, scaled from another GPU or assumed. error (runs): mean error of predictions of published "
        "training runs on the machine, and how many there are; -: none.",
        width);
  if (kind == config::Kind::model)
    return hanging(
        "",
        "size: parameters in millions (M) or billions (B). error (runs): mean error of predictions of "
        "published training runs of the model, and how many there are; -: none.",
        width);
  return {};
}

/// Narrow pages leave out what is known of the files before their names and titles.
std::string table_text(const ListTable& table, std::size_t indent, std::size_t width) {
  std::vector<TableColumn> layout{text_column()};
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    layout.push_back(text_column().drops(static_cast<int>(i) + 1));
  layout.push_back(text_column().wraps(20));
  Table text(std::move(layout), {.indent = indent, .gap = 2, .elsewhere = "--json"});
  std::vector<std::string> cells{"name"};
  cells.insert(cells.end(), table.columns.begin(), table.columns.end());
  cells.emplace_back("title");
  if (!table.columns.empty()) text.add(std::move(cells));
  for (const ListEntry& entry : table.entries) {
    cells = {entry.name};
    cells.insert(cells.end(), entry.cells.begin(), entry.cells.end());
    const std::string title =
        entry.title.substr(std::min(entry.title.find_first_not_of(' '), entry.title.size()));
    cells.push_back(entry.gpu.empty() ? title : fmt::format("{} ({})", title, entry.gpu));
    text.add(std::move(cells));
    if (entry.note.empty()) continue;
    cells.assign(table.columns.size() + 1, "");
    cells.push_back(entry.note);
    text.add(std::move(cells));
  }
  return text.text(width);
}

nlohmann::ordered_json table_json(const ListTable& table) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ListEntry& entry : table.entries) {
    nlohmann::ordered_json object{{"name", entry.name}, {"title", entry.title}};
    object.update(entry.facts);
    list.push_back(std::move(object));
  }
  return list;
}

/// The kind by its word, in the plural or not; none for any other text.
std::optional<config::Kind> kind_meant(const std::string& text) {
  for (const KindWord& known : kind_words) {
    if (config::is_same_word(known.plural, text) || config::is_same_word(known.word, text)) return known.kind;
  }
  return std::nullopt;
}

/// Whether the pattern is the file by another name, or its words are in what is known of it.
bool is_asked_for(const config::Catalogue& catalogue, config::Kind kind, const ListEntry& entry,
                  const std::string& pattern) {
  std::string text = fmt::format("{} {} {}", entry.name, entry.title, entry.gpu);
  if (kind == config::Kind::model && !entry.cells.empty()) text += ' ' + entry.cells.front();
  for (const config::OtherName& other : config::other_names()) {
    if (other.kind == kind && other.name == entry.name) text.append(" ").append(other.word);
  }
  if (has_all_words(text, pattern)) return true;
  if (config::name_meant(catalogue, kind, pattern) == entry.name) return true;
  const std::string gpu = config::name_meant(catalogue, config::Kind::gpu, pattern);
  return !gpu.empty() && config::is_same_gpu(kind == config::Kind::gpu ? entry.name : entry.gpu, gpu);
}

[[noreturn]] void nothing_listed(const std::string& pattern) {
  std::vector<std::string> plurals = kind_texts(&KindWord::plural);
  std::string hint = config::did_you_mean(pattern, plurals);
  if (hint.empty()) hint = "'trainyard list' shows all names; 'trainyard keys' searches settings";
  throw InputError(fmt::format("no name or title contains {}", in_quotes(pattern)), hint);
}

void list_files(const ListOptions& options) {
  const config::Catalogue catalogue = config::find_catalogue();
  const std::optional<config::Kind> wanted = options.kind ? kind_meant(*options.kind) : std::nullopt;
  const std::optional<std::string>& pattern = wanted ? options.pattern : options.kind;
  if (options.pattern && !wanted) (void)kind_named(*options.kind, &KindWord::plural);  // reports it
  const std::size_t width = print_style().width;
  std::string text;
  nlohmann::ordered_json json{{"trainyard_version", version()}};
  bool has_any = false;
  for (const KindWord& known : kind_words) {
    if (wanted && *wanted != known.kind) continue;
    ListTable table = list_entries(catalogue, known.kind);
    if (pattern)
      std::erase_if(table.entries, [&](const ListEntry& entry) {
        return !is_asked_for(catalogue, known.kind, entry, *pattern);
      });
    has_any = has_any || !table.entries.empty();
    if (options.json) {
      json[std::string(known.plural)] = table_json(table);
      continue;
    }
    if (pattern && table.entries.empty()) continue;
    if (!wanted) text += fmt::format("{}{}\n", text.empty() ? "" : "\n", known.plural);
    text += table_text(table, wanted ? 0 : 2, width);
    if (const std::string meaning = legend(known.kind, width); !meaning.empty() && !pattern)
      text += '\n' + meaning;
  }
  if (pattern && !has_any) nothing_listed(*pattern);
  print_result(options.json ? json_text(json) : text);
}

}  // namespace

void add_list(CLI::App& program) {
  auto options = std::make_shared<ListOptions>();
  CLI::App& command = *program.add_subcommand(
      "list", "print names and titles of shipped files and your own, and facts about them");
  offer(
      command.add_option(
          "KIND", options->kind,
          "platforms, gpus, protocols, machines, models, stacks, experiments, sweeps or runs (default: all); "
          "any other word is searched in names and titles"),
      kind_texts(&KindWord::plural));
  command.add_option("PATTERN", options->pattern,
                     "only files with these words in their name, title, GPU or other names");
  command.add_flag("--json", options->json,
                   "print JSON: trainyard_version, and for each kind a list of files with their facts");
  add_examples(command, {"trainyard list", "trainyard list gpus", "trainyard list h100",
                         "trainyard list platforms --json"});
  command.callback([options] { list_files(*options); });
}

}  // namespace trainyard
