#include "commands/values_in_force.hpp"

#include "cli/experiment_keys.hpp"
#include "cli/file_kind.hpp"
#include "config/document.hpp"
#include "config/path.hpp"
#include "config/write.hpp"
#include "experiment/overrides.hpp"
#include "run/run.hpp"
#include "workload/hugging_face.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <variant>
#include <vector>

namespace trainyard {

namespace {

namespace fs = std::filesystem;
using config::Document;
using config::Node;

/// The value of a node in the form of experiment.resolved.yaml; none for mappings, unless they state a value
/// and its source.
std::optional<std::string> text_of(const Node& node) {
  Node holder = config::make_node(Node::Kind::mapping);
  holder.entries.push_back({"value", {}, node});
  const std::map<std::string, std::string> values = config::values_by_path(holder);
  for (const char* const path : {"value", "value.value"}) {
    if (const auto found = values.find(path); found != values.end()) return found->second;
  }
  return std::nullopt;
}

std::map<std::string, std::string> keys_by_path(const Experiment& settings) {
  const auto keys = resolved_keys(settings);
  return {keys.begin(), keys.end()};
}

/// A place in a file and the type of its value. Where the file ends, defaults continue.
struct KeyPlace {
  config::Shape shape;
  std::optional<Node> node;
};

/// The place one step below; none if neither the file nor a default has it.
std::optional<KeyPlace> below(const KeyPlace& place, const config::PathStep& step) {
  const config::Shape& shape = place.shape;
  const Node* const node = place.node ? &*place.node : nullptr;
  if (const auto* const index = std::get_if<std::size_t>(&step)) {
    if (shape.kind != config::Shape::Kind::list || node == nullptr || *index >= node->items.size())
      return std::nullopt;
    return KeyPlace{shape.element.at(0), node->items[*index]};
  }
  const std::string& name = std::get<std::string>(step);
  const Node* const its = node == nullptr ? nullptr : node->find(name);
  if (shape.is_sourced && name == "value") return KeyPlace{shape, its == nullptr ? place.node : *its};
  if (shape.kind == config::Shape::Kind::map)
    return its == nullptr ? std::nullopt : std::optional(KeyPlace{shape.element.at(0), *its});
  if (shape.kind == config::Shape::Kind::reference) return below({shape.definition(), place.node}, step);
  if (node != nullptr && node->kind != Node::Kind::mapping) return std::nullopt;  // a short form
  const auto key = std::ranges::find(shape.keys, name, &config::Shape::Key::name);
  if (key == shape.keys.end()) return std::nullopt;
  if (its != nullptr) return KeyPlace{key->shape, *its};
  if (!key->default_value) return std::nullopt;
  return KeyPlace{key->shape, key->default_value};
}

std::optional<std::string> value_at(KeyPlace place, std::string_view path) {
  const auto steps = config::parse_path(path);
  if (!std::holds_alternative<std::vector<config::PathStep>>(steps)) return std::nullopt;
  for (const config::PathStep& step : std::get<std::vector<config::PathStep>>(steps)) {
    std::optional<KeyPlace> next = below(place, step);
    if (!next) return std::nullopt;
    place = *std::move(next);
  }
  return place.node ? text_of(*place.node) : std::nullopt;
}

}  // namespace

class ValuesInForce::Files {
public:
  Files(const config::Catalogue& catalogue, std::map<std::string, std::string> keys, long ranks, long nodes)
      : catalogue_(catalogue), keys_(std::move(keys)), ranks_(ranks), nodes_(nodes) {}

  std::optional<std::string> value(const std::string& path) {
    if (const auto given = key(path)) return given;
    const std::string_view file = file_named_by(path);
    if (file.empty()) return value_of_experiment(path);
    const KeyGroup& group = group_of(path);
    const std::optional<Document>& document = document_of(std::string(file), group.kind);
    if (!document) return std::nullopt;
    return value_at({shape_of(group.kind), document->root}, path.substr(group.prefix.size()));
  }

private:
  [[nodiscard]] std::optional<std::string> key(const std::string& path) const {
    const auto found = keys_.find(path);
    return found == keys_.end() ? std::nullopt : std::optional(found->second);
  }

  /// An experiment's defaults are among its keys, except those that follow from others.
  [[nodiscard]] std::optional<std::string> value_of_experiment(const std::string& path) const {
    if (path == "gpus") return std::to_string(ranks_);
    if (path == "gpus_per_node" && ranks_ % nodes_ == 0) return std::to_string(ranks_ / nodes_);
    constexpr std::string_view block = "parallelism.";
    if (!path.starts_with(block)) return std::nullopt;
    // Without the block every rank holds the whole model, as with a block of defaults.
    const config::Shape experiment = shape_of(config::Kind::experiment);
    const auto its = std::ranges::find(experiment.keys, "parallelism", &config::Shape::Key::name);
    return value_at({its->shape, Node{config::make_node(Node::Kind::mapping)}}, path.substr(block.size()));
  }

  const std::optional<Document>& document_of(const std::string& file, config::Kind kind) {
    const auto known = documents_.find(file);
    if (known != documents_.end()) return known->second;
    std::optional<Document>& document = documents_[file];
    try {
      document = read(file, kind);
    } catch (const InputError&) {  // moved, removed or changed since a saved run
    } catch (const FileError&) {
    }
    return document;
  }

  /// With the overrides of the run.
  Document read(const std::string& file, config::Kind kind) {
    Document document = load_document(path_of(file, kind));
    const std::string prefix = file + ".";
    for (const auto& [path, value] : keys_) {
      if (path.starts_with(prefix)) config::set(document, path.substr(prefix.size()), value, prefix);
    }
    return document;
  }

  /// GPUs and processors are named by the platform, everything else by the experiment.
  fs::path path_of(const std::string& file, config::Kind kind) {
    if (kind != config::Kind::gpu && kind != config::Kind::processor)
      return config::find(catalogue_, kind, key(file).value_or(""));
    const std::string profile = kind == config::Kind::gpu ? "gpus" : "processors";
    return config::find(catalogue_, kind, value("platform.node." + profile + ".profile").value_or(""),
                        config::find(catalogue_, config::Kind::platform, key("platform").value_or("")));
  }

  const config::Catalogue& catalogue_;
  std::map<std::string, std::string> keys_;
  long ranks_, nodes_;
  std::map<std::string, std::optional<Document>> documents_;
};

ValuesInForce::ValuesInForce(const config::Catalogue& catalogue, const RunSummary& run)
    : files_(std::make_unique<Files>(catalogue, run.experiment_keys, std::lround(number_of(run, "ranks")),
                                     std::lround(number_of(run, "nodes")))) {}

ValuesInForce::ValuesInForce(const config::Catalogue& catalogue, const ResolvedExperiment& resolved)
    : files_(std::make_unique<Files>(catalogue, keys_by_path(resolved.settings), resolved.cluster->ranks(),
                                     resolved.cluster->nodes)) {}

ValuesInForce::~ValuesInForce() = default;

std::optional<std::string> ValuesInForce::value(const std::string& path) { return files_->value(path); }

}  // namespace trainyard
