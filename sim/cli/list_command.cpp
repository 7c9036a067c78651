#include "cli/commands.hpp"
#include "cli/file_kind.hpp"
#include "cli/help.hpp"
#include "cli/list_entries.hpp"
#include "cli/offers.hpp"
#include "cli/terminal.hpp"
#include "config/catalogue.hpp"
#include "report/json_text.hpp"
#include "units/lines.hpp"
#include "units/table.hpp"
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
  std::optional<std::string> kind;
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

void list_files(const ListOptions& options) {
  const config::Catalogue catalogue = config::find_catalogue();
  const bool is_one = options.kind.has_value();
  const config::Kind wanted = is_one ? kind_named(*options.kind, &KindWord::plural) : config::Kind{};
  const std::size_t width = print_style().width;
  std::string text;
  nlohmann::ordered_json json{{"trainyard_version", version()}};
  for (const KindWord& known : kind_words) {
    if (is_one && wanted != known.kind) continue;
    const ListTable table = list_entries(catalogue, known.kind);
    if (options.json) {
      json[std::string(known.plural)] = table_json(table);
      continue;
    }
    if (!is_one) text += fmt::format("{}{}\n", text.empty() ? "" : "\n", known.plural);
    text += table_text(table, is_one ? 0 : 2, width);
    if (const std::string meaning = legend(known.kind, width); !meaning.empty()) text += '\n' + meaning;
  }
  print_result(options.json ? json_text(json) : text);
}

}  // namespace

void add_list(CLI::App& program) {
  auto options = std::make_shared<ListOptions>();
  CLI::App& command = *program.add_subcommand(
      "list", "print names and titles of shipped files and your own, and what is known of them");
  offer(
      command.add_option(
          "KIND", options->kind,
          "platforms, gpus, protocols, machines, models, stacks, experiments, sweeps or runs (default: all)"),
      kind_texts(&KindWord::plural));
  command.add_flag("--json", options->json,
                   "print JSON: trainyard_version, and for each kind a list of files with their facts");
  add_examples(command, {"trainyard list", "trainyard list gpus", "trainyard list platforms --json"});
  command.callback([options] { list_files(*options); });
}

}  // namespace trainyard
