#include "cli/commands.hpp"
#include "cli/file_kind.hpp"
#include "cli/help.hpp"
#include "cli/offers.hpp"
#include "cli/terminal.hpp"
#include "config/catalogue.hpp"
#include "config/diagnostic.hpp"
#include "config/document.hpp"
#include "report/calibration_tables.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

namespace {

/// The text of a key at the top of a file; empty if the key is missing.
std::string text_of(const config::Document& document, std::string_view key) {
  const config::Node* const node = document.root.find(key);
  return node == nullptr ? std::string() : node->scalar;
}

/// An experiment in words: "resnet50 on 4 x dgx2, pytorch_ddp, fp32".
std::string experiment_title(const config::Document& document) {
  const std::string model = text_of(document, "model");
  const std::string nodes = text_of(document, "nodes");
  const std::string precision = text_of(document, "precision");
  return fmt::format("{} on {}{}, {}{}", model.empty() ? text_of(document, "trace") : model,
                     nodes.empty() ? "" : nodes + " x ", text_of(document, "platform"),
                     text_of(document, "stack"), precision.empty() ? "" : ", " + precision);
}

constexpr std::string_view gpu_legend =
    "\nErrors are means over kernels held out of the fit; for scaled rates, over other GPUs scaled in the "
    "same way.\n";

/// A GPU, the sources of its rates and their errors on kernels that were not used in fits.
std::string gpu_title(const config::Document& document) {
  const GpuProfile gpu = load_gpu_profile(document);
  return gpu.title + (gpu.title.empty() ? "" : ": ") + calibration_line(gpu);
}

/// A file that does not parse is listed nevertheless: `trainyard check` reports its errors.
std::string title_of(const config::Catalogue& catalogue, config::Kind kind, const std::string& name) {
  try {
    const config::Document document = config::load(config::find(catalogue, kind, name));
    if (kind == config::Kind::experiment) return experiment_title(document);
    if (kind == config::Kind::gpu) return gpu_title(document);
    return text_of(document, "title");
  } catch (const InputError&) {
    return "(not a valid file)";
  } catch (const FileError&) {  // a profile whose kernels are missing
    return "(not a valid file)";
  }
}

std::string listing(const config::Catalogue& catalogue, config::Kind kind, std::string_view indent) {
  const std::vector<std::string> names = config::names(catalogue, kind);
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string text;
  for (const std::string& name : names) {
    std::string line = fmt::format("{}{:<{}}  {}", indent, name, width, title_of(catalogue, kind, name));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

void list_files(const std::optional<std::string>& word) {
  const config::Catalogue catalogue = config::find_catalogue();
  if (word) {
    const config::Kind kind = kind_named(*word, &KindWord::plural);
    print_result(listing(catalogue, kind, "") + (kind == config::Kind::gpu ? std::string(gpu_legend) : ""));
    return;
  }
  std::string text;
  for (const KindWord& known : kind_words) {
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", known.plural);
    text += listing(catalogue, known.kind, "  ");
  }
  print_result(text);
}

}  // namespace

void add_list(CLI::App& program) {
  auto word = std::make_shared<std::optional<std::string>>();
  CLI::App& command =
      *program.add_subcommand("list", "print the names and titles of shipped files, and of your own");
  offer(
      command.add_option(
          "KIND", *word,
          "platforms, gpus, protocols, machines, models, stacks, experiments, sweeps or runs (default: all)"),
      kind_texts(&KindWord::plural));
  add_examples(command, {"trainyard list", "trainyard list gpus"});
  command.callback([word] { list_files(*word); });
}

}  // namespace trainyard
