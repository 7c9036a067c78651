#include "workload/model_file.hpp"

#include "config/read.hpp"
#include "units/text.hpp"
#include "workload/decoder_checks.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

// Memory and traffic are counted in doubles; below this they are exact with any factor in use.
constexpr double most_parameters = 1e13;

/// Calls `visit` with each family: its value, the file's hyper-parameters for it, an example for a file
/// without them, and the function that makes its layers.
template <class Visit>
void for_each_family(const ModelFile& file, Visit visit) {
  visit(ModelFamily::resnet, file.resnet, "resnet: {blocks: [3, 4, 6, 3]}", resnet_layers);
  visit(ModelFamily::vgg, file.vgg, "vgg: {convs: [2, 2, 3, 3, 3]}", vgg_layers);
  visit(ModelFamily::alexnet, file.alexnet, "alexnet: {convs: [64, 192, 384, 256, 256]}", alexnet_layers);
  visit(ModelFamily::inception_v3, file.inception_v3, "inception_v3: {image_size: 299}", inception_v3_layers);
  visit(ModelFamily::convnext, file.convnext, "convnext: {depths: [3, 3, 9, 3], widths: [96, 192, 384, 768]}",
        convnext_layers);
  visit(ModelFamily::efficientnet, file.efficientnet, "efficientnet: {width: 1, depth: 1}",
        efficientnet_layers);
  visit(ModelFamily::regnet, file.regnet,
        "regnet: {depths: [2, 4, 11, 1], widths: [224, 448, 1232, 3024], group_width: 112}", regnet_layers);
  visit(ModelFamily::vit, file.vit, "vit: {layers: 12, hidden: 768, heads: 12}", vit_layers);
  visit(ModelFamily::swin, file.swin, "swin: {depths: [2, 2, 6, 2], hidden: 96, heads: [3, 6, 12, 24]}",
        swin_layers);
  visit(
      ModelFamily::diffusion_unet, file.diffusion_unet,
      "diffusion_unet: {channels: [320, 640, 1280, 1280], transformer_layers: [1, 1, 1, 0], heads: [8, 8, 8, "
      "8]}",
      diffusion_unet_layers);
  visit(ModelFamily::bert, file.bert, "bert: {layers: 12, hidden: 768, heads: 12}", bert_layers);
  visit(ModelFamily::gpt2, file.gpt2, "gpt2: {layers: 12, hidden: 768, heads: 12}", gpt2_layers);
  visit(ModelFamily::decoder, file.decoder,
        "decoder: {layers: 32, hidden: 4096, heads: 32, vocabulary: 32000, sequence_length: 4096}",
        decoder_layers);
  visit(ModelFamily::encoder_decoder, file.encoder_decoder,
        "encoder_decoder: {layers: 12, hidden: 768, heads: 12, vocabulary: 32128, sequence_length: 512}",
        encoder_decoder_layers);
}

void validate_family(const ModelFile& file, config::Problems& problems) {
  if (!problems.readable("family") || !problems.readable("layers")) return;
  if (!file.family && !file.layers)
    problems.error("", "the model has neither a family nor layers",
                   "add 'family: resnet', or a list 'layers'");
  if (file.family && file.layers)
    problems.error("layers", "the layers of a family follow from its hyper-parameters",
                   "remove them, or 'family'");
  for_each_family(file, [&](ModelFamily family, const auto& given, const char* example, auto) {
    const std::string name(config::name_of(family));
    if (family == file.family && !given) {
      problems.error("family", "the hyper-parameters of the family are missing",
                     "add '" + std::string(example) + "'");
    } else if (family != file.family && given) {
      problems.error(name, "these are hyper-parameters of another family",
                     "remove them, or write 'family: " + name + "'");
    }
  });
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
    const Diagnostic& first = error.diagnostics().front();
    problems.error(first.key_path.empty() ? key : first.key_path, first.message, first.hint);
  }
}

// One function per family checks its keys together; true if the layers can be made.

bool is_valid(const std::string& key, const ResnetHyperparameters& resnet, config::Problems& problems) {
  if (!problems.readable(key + ".blocks")) return false;
  if (resnet.blocks.size() != 4) {
    problems.error(key + ".blocks", std::to_string(resnet.blocks.size()) + " stages, but a ResNet has four",
                   "write four numbers: [3, 4, 6, 3] is ResNet-50");
    return false;
  }
  if (resnet.block == ResidualBlock::basic && resnet.stride_on) {
    problems.error(key + ".stride_on", "the first convolution of a basic block always halves the image",
                   "remove it, or write 'block: bottleneck'");
    return false;
  }
  return true;
}

bool is_valid(const std::string& key, const VggHyperparameters& vgg, config::Problems& problems) {
  if (!problems.readable(key + ".convs")) return false;
  if (!vgg.convs.empty()) return true;
  problems.error(key + ".convs", "the list of stages is empty",
                 "write the convolutions of each stage: [2, 2, 3, 3, 3] is VGG-16");
  return false;
}

bool is_valid(const std::string& key, const AlexnetHyperparameters& alexnet, config::Problems& problems) {
  if (!problems.readable(key + ".convs")) return false;
  if (alexnet.convs.size() == 5) return true;
  problems.error(key + ".convs",
                 std::to_string(alexnet.convs.size()) + " convolutions, but an AlexNet has five",
                 "write five numbers of channels: [64, 192, 384, 256, 256]");
  return false;
}

bool is_valid(const std::string&, const InceptionV3Hyperparameters&, config::Problems&) { return true; }

/// Heads share the features of a token; a token has a position. True if no error was found.
template <class Transformer>
bool is_valid_transformer(const std::string& key, const Transformer& parameters, config::Problems& problems) {
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

bool is_valid(const std::string& key, const Gpt2Hyperparameters& gpt2, config::Problems& problems) {
  return is_valid_transformer(key, gpt2, problems);
}

/// Whether a list has a number for each stage; `other`: the list that has.
template <class T>
bool has_all(const std::string& key, const std::vector<T>& list, std::string_view name, std::size_t stages,
             std::string_view other, config::Problems& problems) {
  if (list.size() == stages && stages > 0) return true;
  problems.error(fmt::format("{}.{}", key, name),
                 fmt::format("{} numbers, but {} has {}", list.size(), other, stages),
                 stages > 0 ? "write a number for each stage" : "write at least one");
  return false;
}

bool is_valid(const std::string& key, const ConvnextHyperparameters& convnext, config::Problems& problems) {
  return problems.readable(key) &&
         has_all(key, convnext.widths, "widths", convnext.depths.size(), "depths", problems);
}

bool is_valid(const std::string& key, const EfficientnetHyperparameters&, config::Problems& problems) {
  return problems.readable(key);
}

bool is_valid(const std::string& key, const RegnetHyperparameters& regnet, config::Problems& problems) {
  if (!problems.readable(key) ||
      !has_all(key, regnet.widths, "widths", regnet.depths.size(), "depths", problems))
    return false;
  for (const int width : regnet.widths) {
    if (width <= regnet.group_width || width % regnet.group_width == 0) continue;
    problems.error(key + ".group_width",
                   fmt::format("groups of {} channels do not divide {}", regnet.group_width, width),
                   "use a divisor of all widths above it");
    return false;
  }
  return true;
}

bool is_valid(const std::string& key, const SwinHyperparameters& swin, config::Problems& problems) {
  return problems.readable(key) && has_all(key, swin.heads, "heads", swin.depths.size(), "depths", problems);
}

bool is_valid(const std::string& key, const DiffusionUnetHyperparameters& unet, config::Problems& problems) {
  if (!problems.readable(key) ||
      !has_all(key, unet.transformer_layers, "transformer_layers", unet.channels.size(), "channels",
               problems) ||
      !has_all(key, unet.heads, "heads", unet.channels.size(), "channels", problems))
    return false;
  for (const int channels : unet.channels) {
    if (channels % unet.norm_groups == 0) continue;
    problems.error(key + ".norm_groups",
                   fmt::format("{} groups cannot share {} channels equally", unet.norm_groups, channels),
                   "use a divisor of the channels of all levels");
    return false;
  }
  return true;
}

bool is_valid(const std::string& key, const VitHyperparameters& vit, config::Problems& problems) {
  if (!problems.readable(key)) return false;
  if (vit.hidden % vit.heads != 0) {
    problems.error(key + ".heads",
                   fmt::format("{} heads cannot share {} features equally", vit.heads, vit.hidden),
                   "use a divisor of hidden");
    return false;
  }
  if (vit.image_size % vit.patch != 0) {
    problems.error(
        key + ".patch",
        fmt::format("patches of {} pixels do not divide an image of {} pixels", vit.patch, vit.image_size),
        "use a divisor of image_size");
    return false;
  }
  return true;
}

bool is_valid(const std::string& key, const DecoderHyperparameters& decoder, config::Problems& problems) {
  return problems.readable(key) && is_valid_decoder(key, decoder, problems);
}

bool is_valid(const std::string& key, const EncoderDecoderHyperparameters& parameters,
              config::Problems& problems) {
  if (!problems.readable(key)) return false;
  if (parameters.style != EncoderDecoderStyle::t5 && parameters.position_buckets) {
    problems.error(key + ".position_buckets", "only the style t5 has a bias by relative position",
                   "remove it, or write 'style: t5'");
    return false;
  }
  if (parameters.head_dim || parameters.hidden % parameters.heads == 0) return true;
  problems.error(
      key + ".heads",
      fmt::format("{} heads cannot share {} features equally", parameters.heads, parameters.hidden),
      "use a divisor of hidden, or give head_dim");
  return false;
}

bool is_valid(const std::string& key, const BertHyperparameters& bert, config::Problems& problems) {
  if (!is_valid_transformer(key, bert, problems)) return false;
  if (bert.head == BertHead::question_answering && !bert.predictions.empty()) {
    problems.error(key + ".predictions", "the head of answers predicts no masked tokens",
                   "remove it, or write 'head: pretraining'");
    return false;
  }
  for (const auto& [length, count] : bert.predictions) {
    const Parsed<long long> whole = parse_integer(length);
    if (!whole || std::to_string(*whole) != length || *whole < 1) {
      problems.error(key + ".predictions", "'" + length + "' is not a sequence length",
                     "write '{128: 20}' to predict 20 of 128 tokens");
      return false;
    }
    if (count > *whole) {
      problems.error(fmt::format("{}.predictions.{}", key, length), "more predictions than tokens",
                     "write at most " + length);
      return false;
    }
  }
  return true;
}

/// Whether an embedding reads an input of listed layers; true if the list has an error of its own.
bool reads_tokens(const std::vector<ListedLayer>& layers) {
  try {
    return listed_layers(layers).sequence_length.has_value();
  } catch (const InputError&) {
    return true;
  }
}

void validate_input(const ModelFile& file, config::Problems& problems) {
  if (!problems.readable("input") || !problems.readable("family") || !problems.readable("layers")) return;
  const bool has_sequences = (file.layers && reads_tokens(*file.layers)) ||
                             file.family == ModelFamily::bert || file.family == ModelFamily::gpt2 ||
                             file.family == ModelFamily::decoder ||
                             file.family == ModelFamily::encoder_decoder;
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
  if (problems.readable("convergence")) check_convergence(file.convergence, problems);
  if (problems.readable("fixed_epochs")) check_fixed_epochs(file.fixed_epochs, problems);
  if (file.layers)
    validate_layers(
        "layers", [&] { return listed_layers(*file.layers).layers; }, problems);
  for_each_family(file, [&](ModelFamily family, const auto& given, const char*, auto make_layers) {
    const std::string key(config::name_of(family));
    if (given && is_valid(key, *given, problems))
      validate_layers(
          key, [&] { return make_layers(*given); }, problems);
  });
}

/// Transformers, ConvNeXt and the U-Net are published with Adam, other convolutional networks with SGD and
/// momentum; a file may say otherwise.
Optimizer usual_optimizer(std::optional<ModelFamily> family) {
  constexpr std::array transformers{
      ModelFamily::convnext, ModelFamily::swin, ModelFamily::diffusion_unet, ModelFamily::vit,
      ModelFamily::bert,     ModelFamily::gpt2, ModelFamily::decoder,        ModelFamily::encoder_decoder};
  const bool is_transformer = family && std::ranges::find(transformers, *family) != transformers.end();
  return is_transformer ? Optimizer::adam : Optimizer::momentum;
}

}  // namespace

Model make_model(const ModelFile& file) {
  Model model{file.name, file.title.empty() ? file.name : file.title, {}, file.samples_per_epoch};
  model.input = file.input;
  model.optimizer = file.optimizer.value_or(usual_optimizer(file.family));
  model.convergence = file.convergence;
  model.fixed_epochs = file.fixed_epochs;
  if (file.layers) {
    LayerList list = listed_layers(*file.layers);
    model.layers = std::move(list.layers);
    model.sequence_length = list.sequence_length;
  }
  for_each_family(file, [&](ModelFamily family, const auto& given, const char*, auto make_layers) {
    if (family != file.family) return;
    if (!given) throw InputError("the model has no hyper-parameters of its family");
    model.layers = make_layers(*given);
    if constexpr (requires { given->sequence_length; }) model.sequence_length = given->sequence_length;
  });
  return model;
}

Model load_model(const config::Document& document, std::vector<Diagnostic>* warnings) {
  return make_model(config::read<ModelFile>(document, validate, warnings));
}

}  // namespace trainyard
