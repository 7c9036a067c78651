#include "workload/hugging_face.hpp"

#include "config/file_paths.hpp"
#include "config/plain_text.hpp"
#include "config/read_file.hpp"
#include "config/suggest.hpp"
#include "units/text.hpp"
#include "workload/hugging_face_config.hpp"
#include "workload/hugging_face_kinds.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

namespace fs = std::filesystem;
using config::Node;

[[noreturn]] void refuse(const config::Document& document, config::Mark mark, std::string message,
                         std::string hint) {
  throw InputError({config::diagnostic_at(document, mark, 1, std::move(message), std::move(hint))});
}

const HuggingFaceKind* kind_called(std::string_view model_type) {
  const auto kinds = hugging_face_kinds();
  const auto found = std::ranges::find(kinds, model_type, &HuggingFaceKind::model_type);
  return found == kinds.end() ? nullptr : &*found;
}

/// The kind of a model of transformers, or the class of one of diffusers.
const Node* type_of(const Node& keys) {
  const Node* const type = keys.find("model_type");
  return type == nullptr ? keys.find("_class_name") : type;
}

/// `keys`: those of the model, which may leave its kind to the root's.
const HuggingFaceKind& kind_of(const config::Document& document, const Node& keys) {
  const Node* type = type_of(keys);
  if (type == nullptr) type = document.root.find("model_type");
  if (type == nullptr)
    refuse(document, keys.mark, "'model_type' is missing", "add \"model_type\": \"llama\"");
  if (const HuggingFaceKind* const kind = kind_called(type->scalar)) return *kind;
  if (const HuggingFaceKind* const kind = kind_called(type->scalar + "_text")) return *kind;
  std::vector<std::string_view> names;
  for (const HuggingFaceKind& kind : hugging_face_kinds()) names.push_back(kind.model_type);
  const std::string near = config::did_you_mean(type->scalar, names);
  refuse(document, type->mark, fmt::format("models of the kind {} are not known", in_quotes(type->scalar)),
         near.empty() ? "docs/models.md lists those that are; other sizes go into a model file" : near);
}

/// The mapping that describes the model: of one for images and texts its decoder of texts.
const Node& model_keys(const config::Document& document, std::vector<Diagnostic>& warnings) {
  const Node* const text = document.root.find("text_config");
  if (text == nullptr || text->kind != Node::Kind::mapping) return document.root;
  warnings.push_back(
      config::diagnostic_at(document, text->mark, 1,
                            "only the text decoder is simulated; encoders of images and sound are left out",
                            "parameters and steps with such samples are larger"));
  warnings.back().severity = Severity::warning;
  warnings.back().key_path = "text_config";
  return *text;
}

/// The last part of the name on the hub, of the folder, or of the file.
std::string name_of(const config::Document& document) {
  const Node* const written = document.root.find("_name_or_path");
  if (written != nullptr && written->scalar.size() > 1) {
    const std::string name = fs::path(written->scalar).filename().string();
    if (!name.empty() && name != ".") return name;
  }
  const fs::path file = config::absolute_path(document.name);
  const std::string stem = file.stem().string();
  const std::string folder = file.parent_path().filename().string();
  return stem == "config" && !folder.empty() ? folder : stem;
}

void convert(HuggingFaceConfig& config, const HuggingFaceKind& kind) {
  if (kind.family == "decoder") convert_decoder(config, kind.model_type);
  if (kind.family == "bert") convert_bert(config, kind.model_type);
  if (kind.family == "encoder_decoder") convert_encoder_decoder(config);
  if (kind.family == "vit") convert_vit(config);
  if (kind.family == "swin") convert_swin(config);
  if (kind.family == "convnext" || kind.family == "regnet") convert_stages(config, kind.model_type);
  if (kind.family == "resnet") convert_resnet(config);
  if (kind.family == "diffusion_unet") convert_diffusion_unet(config);
}

}  // namespace

config::Document from_hugging_face(const config::Document& config) {
  config::Document model{.name = config.name, .lines = config.lines, .errors = config.errors};
  const Node& keys = model_keys(config, model.warnings);
  const HuggingFaceKind& kind = kind_of(config, keys);
  HuggingFaceConfig settings(config, keys, kind);
  convert(settings, kind);
  warn_of_further_parts(settings);
  std::vector<Diagnostic> found = settings.finish();
  model.warnings.insert(model.warnings.end(), found.begin(), found.end());
  model.called = name_of(config);
  const auto text = [](std::string value) {
    Node node = config::make_node(Node::Kind::scalar);
    node.scalar = std::move(value);
    node.quoted = true;
    return node;
  };
  model.root = config::make_node(Node::Kind::mapping, {1, 1});
  model.root.entries = {{"name", {1, 1}, text(model.called)},
                        {"family", {1, 1}, text(std::string(kind.family))},
                        {std::string(kind.family), {1, 1}, settings.take_family()}};
  return model;
}

config::Document load_document(const fs::path& file) {
  const std::string text = config::read_file(file, config::largest_file);
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  const std::size_t begin = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  const std::size_t first = text.find_first_not_of(" \t\r\n", begin);
  const bool may_be_json = first != std::string::npos && text[first] == '{';
  if (!may_be_json || config::format_of(text) != config::FileFormat::hugging_face_model)
    return config::parse(file.string(), text);
  return from_hugging_face(config::parse(file.string(), text, {config::FileFormat::hugging_face_model}));
}

}  // namespace trainyard
