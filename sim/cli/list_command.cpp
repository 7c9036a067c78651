#include "cli/commands.hpp"
#include "cli/file_kind.hpp"
#include "cli/help.hpp"
#include "cli/list_entries.hpp"
#include "cli/offers.hpp"
#include "cli/terminal.hpp"
#include "config/catalogue.hpp"
#include "report/json_text.hpp"
#include "report/text_layout.hpp"
#include "units/version.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

struct ListOptions {
  std::optional<std::string> kind;
  bool json = false;
};

/// The meaning of a table's columns and signs; empty for tables without any.
std::string legend(config::Kind kind) {
  if (kind == config::Kind::gpu)
    return hanging(
        "",
        "fitted: curves fitted to times of kernels, with their mean error over kernels held out of the fit "
        "(9-14 %: over the data types). scaled from: the rates of another GPU, with the mean error over "
        "other GPUs scaled in the same way. assumed: no times are known. A kind of kernel without an "
        "error has too few kernels to hold some out.");
  if (kind == config::Kind::platform)
    return hanging(
        "",
        "GPUs: per node, or CPU sockets that hold ranks; the title ends with their profile (trainyard list "
        "gpus). kernels: the origin of the rates of the GPU's matrix products: measured by shape, fitted to "
        "times, scaled from another GPU or assumed. error (runs): mean error of predictions of published "
        "training runs on the machine, and how many there are; -: none.");
  if (kind == config::Kind::model)
    return hanging(
        "",
        "size: parameters in millions (M) or billions (B). error (runs): mean error of predictions of "
        "published training runs of the model, and how many there are; -: none.");
  return {};
}

/// Width of each column, name first.
std::vector<std::size_t> widths_of(const ListTable& table) {
  std::vector<std::size_t> widths{table.columns.empty() ? 0 : std::string_view("name").size()};
  for (const std::string& heading : table.columns) widths.push_back(heading.size());
  for (const ListEntry& entry : table.entries) {
    widths[0] = std::max(widths[0], entry.name.size());
    for (std::size_t i = 0; i < entry.cells.size(); ++i)
      widths[i + 1] = std::max(widths[i + 1], entry.cells[i].size());
  }
  return widths;
}

/// Everything of a line that stands before the title.
std::string label(std::string_view indent, std::string_view name, const std::vector<std::string>& cells,
                  const std::vector<std::size_t>& widths) {
  std::string text = fmt::format("{}{:<{}}  ", indent, name, widths[0]);
  for (std::size_t i = 0; i < cells.size(); ++i) text += fmt::format("{:<{}}  ", cells[i], widths[i + 1]);
  return text;
}

std::string without_blanks_at_end(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string table_text(const ListTable& table, std::string_view indent) {
  const std::vector<std::size_t> widths = widths_of(table);
  std::string text;
  if (!table.columns.empty()) text += label(indent, "name", table.columns, widths) + "title\n";
  for (const ListEntry& entry : table.entries) {
    const std::string before = label(indent, entry.name, entry.cells, widths);
    const std::string title =
        entry.gpu.empty() ? entry.title : fmt::format("{} ({})", entry.title, entry.gpu);
    text += title.empty() ? without_blanks_at_end(before) + '\n' : hanging(before, title);
    if (!entry.note.empty()) text += hanging(std::string(before.size(), ' '), entry.note);
  }
  return text;
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
    text += table_text(table, is_one ? "" : "  ");
    if (const std::string meaning = legend(known.kind); !meaning.empty()) text += '\n' + meaning;
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
