#include "workload/model_file.hpp"

#include "config/read.hpp"
#include "units/text.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

// Memory and traffic are counted in doubles; below this they are exact with any factor in use.
constexpr double most_parameters = 1e13;

/// Whether the file has the mapping of a family, and an example for a file without it.
struct FamilyMapping {
  bool is_present;
  std::string_view example;
};

FamilyMapping mapping_of(const ModelFile& file, ModelFamily family) {
  switch (family) {
    case ModelFamily::resnet:
      return {file.resnet.has_value(), "resnet: {blocks: [3, 4, 6, 3]}"};
    case ModelFamily::vgg:
      return {file.vgg.has_value(), "vgg: {convs: [2, 2, 3, 3, 3]}"};
    case ModelFamily::alexnet:
      return {file.alexnet.has_value(), "alexnet: {convs: [64, 192, 384, 256, 256]}"};
    case ModelFamily::inception_v3:
      return {file.inception_v3.has_value(), "inception_v3: {image_size: 299}"};
    case ModelFamily::bert:
      return {file.bert.has_value(), "bert: {layers: 12, hidden: 768, heads: 12}"};
    case ModelFamily::gpt2:
      return {file.gpt2.has_value(), "gpt2: {layers: 12, hidden: 768, heads: 12}"};
  }
  return {};
}

void validate_family(const ModelFile& file, config::Problems& problems) {
  if (!problems.readable("family")) return;
  for (const auto& name : config::Names<ModelFamily>::table) {
    const std::string text(name.text);
    const FamilyMapping mapping = mapping_of(file, name.value);
    if (name.value == file.family && !mapping.is_present) {
      problems.error("family", "the hyper-parameters of the family are missing",
                     "add '" + std::string(mapping.example) + "'");
    } else if (name.value != file.family && mapping.is_present) {
      problems.error(text, "these are hyper-parameters of another family",
                     "remove them, or write 'family: " + text + "'");
    }
  }
}

/// Errors found only when making layers from hyper-parameters that are valid one by one.
void validate_layers(std::string_view key, const std::function<std::vector<Layer>()>& layers,
                     config::Problems& problems) {
  if (!problems.readable(key)) return;
  try {
    if (totals(layers()).parameters > most_parameters) {
      problems.error(key, "the model has more than 1e13 parameters", "reduce its hyper-parameters");
    }
  } catch (const InputError& error) {
    problems.error(key, error.diagnostics().front().message, error.diagnostics().front().hint);
  }
}

void validate_resnet(const ResnetHyperparameters& resnet, config::Problems& problems) {
  if (!problems.readable("resnet.blocks")) return;
  if (resnet.blocks.size() != 4) {
    problems.error("resnet.blocks", std::to_string(resnet.blocks.size()) + " stages, but a ResNet has four",
                   "write four numbers: [3, 4, 6, 3] is ResNet-50");
    return;
  }
  validate_layers(
      "resnet", [&] { return resnet_layers(resnet); }, problems);
}

void validate_vgg(const VggHyperparameters& vgg, config::Problems& problems) {
  if (!problems.readable("vgg.convs")) return;
  if (vgg.convs.empty()) {
    problems.error("vgg.convs", "the list of stages is empty",
                   "write the convolutions of each stage: [2, 2, 3, 3, 3] is VGG-16");
    return;
  }
  validate_layers(
      "vgg", [&] { return vgg_layers(vgg); }, problems);
}

void validate_alexnet(const AlexnetHyperparameters& alexnet, config::Problems& problems) {
  if (!problems.readable("alexnet.convs")) return;
  if (alexnet.convs.size() != 5) {
    problems.error("alexnet.convs",
                   std::to_string(alexnet.convs.size()) + " convolutions, but an AlexNet has five",
                   "write five numbers of channels: [64, 192, 384, 256, 256]");
    return;
  }
  validate_layers(
      "alexnet", [&] { return alexnet_layers(alexnet); }, problems);
}

void validate_inception_v3(const InceptionV3Hyperparameters& inception_v3, config::Problems& problems) {
  validate_layers(
      "inception_v3", [&] { return inception_v3_layers(inception_v3); }, problems);
}

/// Heads share the features of a token; a token has a position. True if no error was found.
template <class Transformer>
bool validate_transformer(const std::string& key, const Transformer& parameters, config::Problems& problems) {
  if (!problems.readable(key)) return false;
  if (parameters.hidden % parameters.heads != 0) {
    problems.error(key + ".heads",
                   std::to_string(parameters.heads) + " heads cannot share " +
                       std::to_string(parameters.hidden) + " features equally",
                   "use a divisor of hidden");
    return false;
  }
  if (parameters.sequence_length > parameters.positions) {
    problems.error(key + ".sequence_length",
                   std::to_string(parameters.sequence_length) + " tokens, but the model has " +
                       std::to_string(parameters.positions) + " positions",
                   "raise " + key + ".positions");
    return false;
  }
  return true;
}

bool validate_predictions(const BertHyperparameters& bert, config::Problems& problems) {
  for (const auto& [length, count] : bert.predictions) {
    const auto tokens = parse_integer(length);
    const long long* whole = std::get_if<long long>(&tokens);
    if (whole == nullptr || std::to_string(*whole) != length || *whole < 1) {
      problems.error("bert.predictions", "'" + length + "' is not a sequence length",
                     "write '{128: 20}' to predict 20 of 128 tokens");
      return false;
    }
    if (count > *whole) {
      problems.error("bert.predictions." + length, "more predictions than tokens", "write at most " + length);
      return false;
    }
  }
  return true;
}

void validate_bert(const BertHyperparameters& bert, config::Problems& problems) {
  if (!validate_transformer("bert", bert, problems) || !validate_predictions(bert, problems)) return;
  validate_layers(
      "bert", [&] { return bert_layers(bert); }, problems);
}

void validate_gpt2(const Gpt2Hyperparameters& gpt2, config::Problems& problems) {
  if (!validate_transformer("gpt2", gpt2, problems)) return;
  validate_layers(
      "gpt2", [&] { return gpt2_layers(gpt2); }, problems);
}

void validate_input(const ModelFile& file, config::Problems& problems) {
  if (!problems.readable("input") || !problems.readable("family")) return;
  const bool has_sequences = file.family == ModelFamily::bert || file.family == ModelFamily::gpt2;
  if (file.input->bytes && file.input->bytes_per_token)
    problems.error("input.bytes_per_token", "bytes and bytes_per_token both give the size of a sample",
                   "keep one of them");
  if (!file.input->bytes && !file.input->bytes_per_token)
    problems.error("input", "the size of a stored sample is missing",
                   has_sequences ? "add bytes_per_token: 2 B" : "add bytes: 110 KB");
  if (file.input->bytes_per_token && !has_sequences)
    problems.error("input.bytes_per_token", "the model's samples have no tokens", "use bytes");
}

void validate(const ModelFile& file, config::Problems& problems) {
  problems.check_name(file.name);
  validate_family(file, problems);
  if (file.input) validate_input(file, problems);
  if (file.resnet) validate_resnet(*file.resnet, problems);
  if (file.vgg) validate_vgg(*file.vgg, problems);
  if (file.alexnet) validate_alexnet(*file.alexnet, problems);
  if (file.inception_v3) validate_inception_v3(*file.inception_v3, problems);
  if (file.bert) validate_bert(*file.bert, problems);
  if (file.gpt2) validate_gpt2(*file.gpt2, problems);
}

template <class Hyperparameters>
const Hyperparameters& given(const std::optional<Hyperparameters>& hyperparameters) {
  if (!hyperparameters) throw InputError("the model has no hyper-parameters of its family");
  return *hyperparameters;
}

}  // namespace

Model make_model(const ModelFile& file) {
  Model model{file.name, file.title.empty() ? file.name : file.title, {}, file.samples_per_epoch};
  model.input = file.input;
  switch (file.family) {
    case ModelFamily::resnet:
      model.layers = resnet_layers(given(file.resnet));
      break;
    case ModelFamily::vgg:
      model.layers = vgg_layers(given(file.vgg));
      break;
    case ModelFamily::alexnet:
      model.layers = alexnet_layers(given(file.alexnet));
      break;
    case ModelFamily::inception_v3:
      model.layers = inception_v3_layers(given(file.inception_v3));
      break;
    case ModelFamily::bert:
      model.layers = bert_layers(given(file.bert));
      model.sequence_length = file.bert->sequence_length;
      break;
    case ModelFamily::gpt2:
      model.layers = gpt2_layers(given(file.gpt2));
      model.sequence_length = file.gpt2->sequence_length;
      break;
  }
  return model;
}

Model load_model(const config::Document& document, std::vector<Diagnostic>* warnings) {
  return make_model(config::read<ModelFile>(document, validate, warnings));
}

}  // namespace trainyard
