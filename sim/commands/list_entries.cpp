#include "commands/list_entries.hpp"

#include "accuracy/published_errors.hpp"
#include "compute/processor_profile.hpp"
#include "config/diagnostic.hpp"
#include "config/document.hpp"
#include "config/read_file.hpp"
#include "experiment/prediction_error.hpp"
#include "platform/load.hpp"
#include "report/gpu_basis.hpp"
#include "units/text_layout.hpp"
#include "workload/csv.hpp"
#include "workload/model_file.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string_view>

namespace trainyard {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view unknown_cell = "-";

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

/// The runs of validate's total with some property, and the sum of their errors.
struct ListedErrors {
  int runs = 0;
  double sum = 0;

  [[nodiscard]] std::optional<double> mean() const {
    return runs == 0 ? std::nullopt : std::optional(sum / runs);
  }
};

/// By platform and by model, over the fit from which `run` takes its expected error.
struct ErrorsByFile {
  std::map<std::string, ListedErrors, std::less<>> platform, model;
};

void add_errors(const PublishedErrors& errors, ErrorsByFile& totals) {
  for (const PublishedError& run : errors.runs) {
    if (!run.is_scored) continue;
    const double error = std::abs(run.predicted / run.measured - 1);
    // "bert_base@128" is the model with sequences of 128
    const std::string model = run.of.use.model.substr(0, run.of.use.model.find('@'));
    for (ListedErrors* of : {&totals.platform[run.of.platform], &totals.model[model]}) {
      ++of->runs;
      of->sum += error;
    }
  }
}

ErrorsByFile known_errors(const config::Catalogue& catalogue) {
  ErrorsByFile totals;
  for (const bool of_layouts : {false, true}) {
    const auto file = published_errors_file(catalogue, "software", of_layouts);
    if (!file.empty())
      add_errors(read_published_errors(file.string(), config::read_file(file, largest_csv)), totals);
  }
  return totals;
}

/// "9 % (114)"; no digits of a percent, as the errors scatter by more.
std::string error_cell(const ListedErrors& errors) {
  if (errors.runs == 0) return std::string(unknown_cell);
  return fmt::format("{:.0f} % ({})", 100 * *errors.mean(), errors.runs);
}

void add_error(const ListedErrors& errors, ListEntry& entry) {
  entry.cells.push_back(error_cell(errors));
  entry.facts["published_runs"] = errors.runs;
  entry.facts["published_error"] = errors.runs == 0 ? Json() : Json(*errors.mean());
}

void add_year(std::optional<int> year, ListEntry& entry) {
  entry.cells.push_back(year ? std::to_string(*year) : std::string(unknown_cell));
  entry.facts["year"] = year ? Json(*year) : Json();
}

/// "25.6 M", "175 B", as papers print the sizes of models.
std::string size_cell(double parameters) {
  constexpr double billion = 1e9;
  constexpr double million = 1e6;
  return parameters >= billion ? rounded(parameters / billion) + " B" : rounded(parameters / million) + " M";
}

/// Fills entries of one kind, and keeps what several of them need.
class Lister {
public:
  Lister(const config::Catalogue& catalogue, config::Kind kind) : catalogue_(catalogue), kind_(kind) {
    if (kind == config::Kind::platform || kind == config::Kind::model) errors_ = known_errors(catalogue);
  }

  [[nodiscard]] std::vector<std::string> columns() const {
    if (kind_ == config::Kind::platform) return {"year", "GPUs", "kernels", "error (runs)"};
    if (kind_ == config::Kind::gpu || kind_ == config::Kind::processor) return {"year"};
    if (kind_ == config::Kind::model) return {"family", "size", "error (runs)"};
    return {};
  }

  ListEntry entry(const std::string& name) {
    ListEntry listed{.name = name, .title = {}, .gpu = {}, .cells = {}, .note = {}, .facts = Json::object()};
    try {
      fill(config::load(config::find(catalogue_, kind_, name)), listed);
    } catch (const InputError&) {
      return unreadable(name);
    } catch (const FileError&) {  // a profile whose kernels are missing
      return unreadable(name);
    }
    return listed;
  }

private:
  [[nodiscard]] ListEntry unreadable(const std::string& name) const {
    return {.name = name,
            .title = "(not a valid file)",
            .gpu = {},
            .cells = std::vector(columns().size(), std::string(unknown_cell)),
            .note = {},
            .facts = Json::object()};
  }

  void fill(const config::Document& document, ListEntry& entry) {
    entry.title = text_of(document, "title");
    if (kind_ == config::Kind::experiment) entry.title = experiment_title(document);
    if (kind_ == config::Kind::platform) fill_platform(load_platform(document), entry);
    if (kind_ == config::Kind::gpu) fill_gpu(load_gpu_profile(document), entry);
    if (kind_ == config::Kind::processor) fill_gpu(load_processor_profile(document), entry);
    if (kind_ == config::Kind::model) fill_model(document, entry);
  }

  void fill_platform(const Platform& platform, ListEntry& entry) {
    add_year(platform.year, entry);
    entry.cells.push_back(std::to_string(platform.gpus.size()));
    entry.facts["gpus_per_node"] = platform.gpus.size();
    entry.gpu = platform.gpu_profile;
    entry.facts["gpu"] = platform.gpu_profile;
    const std::string basis = kernels_of(platform);
    entry.cells.push_back(basis);
    entry.facts["kernels"] = basis;
    add_error(errors_.platform[platform.name], entry);
  }

  static void fill_gpu(const GpuProfile& gpu, ListEntry& entry) {
    add_year(gpu.year, entry);
    entry.note = calibration_line(gpu);
    entry.facts["kernels"] = kernel_basis(gpu);
    entry.facts["rates"] = entry.note;
  }

  void fill_model(const config::Document& document, ListEntry& entry) {
    const std::string family = text_of(document, "family");
    entry.cells.push_back(family.empty() ? "layers" : family);
    entry.facts["family"] = entry.cells.back();
    const double parameters = totals(load_model(document).layers).parameters;
    entry.cells.push_back(size_cell(parameters));
    entry.facts["parameters"] = parameters;
    add_error(errors_.model[entry.name], entry);
  }

  /// Of a GPU or processor that several platforms may have.
  std::string kernels_of(const Platform& platform) {
    std::string& basis = kernels_[platform.gpu_profile];
    if (basis.empty()) {
      const auto profile =
          config::load(config::find(catalogue_, profile_kind(platform), platform.gpu_profile));
      basis = kernel_basis(platform.ranks_on_processors ? load_processor_profile(profile)
                                                        : load_gpu_profile(profile));
    }
    return basis;
  }

  const config::Catalogue& catalogue_;
  config::Kind kind_;
  ErrorsByFile errors_;
  std::map<std::string, std::string> kernels_;
};

}  // namespace

ListTable list_entries(const config::Catalogue& catalogue, config::Kind kind) {
  Lister lister(catalogue, kind);
  ListTable table{.columns = lister.columns(), .entries = {}};
  for (const std::string& name : config::names(catalogue, kind)) table.entries.push_back(lister.entry(name));
  return table;
}

}  // namespace trainyard
