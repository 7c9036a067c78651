#pragma once
// A model as described in a YAML file (workloads/models/*.yaml): a family and its hyper-parameters, or a list
// of layers.

#include "config/document.hpp"
#include "config/keys.hpp"
#include "units/sourced.hpp"
#include "workload/alexnet.hpp"
#include "workload/bert.hpp"
#include "workload/convergence.hpp"
#include "workload/convnext.hpp"
#include "workload/decoder.hpp"
#include "workload/diffusion_unet.hpp"
#include "workload/efficientnet.hpp"
#include "workload/encoder_decoder.hpp"
#include "workload/fixed_epochs.hpp"
#include "workload/gpt2.hpp"
#include "workload/inception_v3.hpp"
#include "workload/layer_list.hpp"
#include "workload/model.hpp"
#include "workload/regnet.hpp"
#include "workload/resnet.hpp"
#include "workload/sample_input.hpp"
#include "workload/swin.hpp"
#include "workload/vgg.hpp"
#include "workload/vit.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class ModelFamily {
  resnet,
  vgg,
  alexnet,
  inception_v3,
  convnext,
  efficientnet,
  regnet,
  vit,
  swin,
  diffusion_unet,
  bert,
  gpt2,
  decoder,
  encoder_decoder
};

struct ModelFile {
  std::string name;
  std::string title;
  std::optional<ModelFamily> family;
  std::optional<std::vector<ListedLayer>> layers = {};
  std::optional<ResnetHyperparameters> resnet;
  std::optional<VggHyperparameters> vgg;
  std::optional<AlexnetHyperparameters> alexnet;
  std::optional<InceptionV3Hyperparameters> inception_v3;
  std::optional<ConvnextHyperparameters> convnext = {};
  std::optional<EfficientnetHyperparameters> efficientnet = {};
  std::optional<RegnetHyperparameters> regnet = {};
  std::optional<VitHyperparameters> vit = {};
  std::optional<SwinHyperparameters> swin = {};
  std::optional<DiffusionUnetHyperparameters> diffusion_unet = {};
  std::optional<BertHyperparameters> bert;
  std::optional<Gpt2Hyperparameters> gpt2;
  std::optional<DecoderHyperparameters> decoder;
  std::optional<EncoderDecoderHyperparameters> encoder_decoder = {};
  std::optional<Sourced<double>> samples_per_epoch;
  std::optional<SampleInput> input;
  std::optional<Optimizer> optimizer = {};
  std::vector<Convergence> convergence = {};
  std::vector<FixedEpochs> fixed_epochs = {};
  std::vector<std::string> source;
};

/// The layers of a file's family with its hyper-parameters, or of its list. Throws InputError if these do not
/// fit together.
Model make_model(const ModelFile& file);

/// Reads and checks a model file. Throws InputError with every problem found. Warnings are appended to
/// `warnings`.
Model load_model(const config::Document& document, std::vector<Diagnostic>* warnings = nullptr);

namespace config {

template <>
struct Names<ModelFamily> {
  static constexpr std::string_view what = "model family";
  static constexpr std::array table{
      Name{"resnet", ModelFamily::resnet, "residual network of bottlenecks or basic blocks"},
      Name{"vgg", ModelFamily::vgg, "stages of 3x3 convolutions and three fully connected layers"},
      Name{"alexnet", ModelFamily::alexnet, "five convolutions and three fully connected layers"},
      Name{"inception_v3", ModelFamily::inception_v3, "blocks of parallel branches of convolutions"},
      Name{"convnext", ModelFamily::convnext, "ConvNeXt: stages of depthwise convolutions and linear layers"},
      Name{"efficientnet", ModelFamily::efficientnet,
           "EfficientNet: inverted bottlenecks with squeeze-and-excitation"},
      Name{"regnet", ModelFamily::regnet, "RegNet: bottlenecks with convolutions in groups"},
      Name{"vit", ModelFamily::vit, "Vision Transformer: an encoder of the patches of an image"},
      Name{"swin", ModelFamily::swin, "Swin: an encoder with attention inside shifted windows"},
      Name{"diffusion_unet", ModelFamily::diffusion_unet,
           "U-Net of latent diffusion: Stable Diffusion, SDXL"},
      Name{"bert", ModelFamily::bert, "transformer encoder with BERT's pre-training heads"},
      Name{"gpt2", ModelFamily::gpt2, "GPT-2: a decoder with learned positions"},
      Name{"decoder", ModelFamily::decoder, "transformer decoder that predicts every next token: GPT, Llama"},
      Name{"encoder_decoder", ModelFamily::encoder_decoder,
           "transformer whose decoder attends to an encoder's output: T5"}};
};

template <>
struct Keys<ModelFile> {
  static auto table() {
    return keys(
        required("name", &ModelFile::name, "the file's name without .yaml"),
        optional("title", &ModelFile::title, "name for reports"),
        optional("family", &ModelFile::family,
                 "model family; its hyper-parameters stand under a key of the same name"),
        optional("layers", &ModelFile::layers, "in place of a family: the model's layers in forward order"),
        optional("resnet", &ModelFile::resnet, "hyper-parameters of the family resnet"),
        optional("vgg", &ModelFile::vgg, "hyper-parameters of the family vgg"),
        optional("alexnet", &ModelFile::alexnet, "hyper-parameters of the family alexnet"),
        optional("inception_v3", &ModelFile::inception_v3, "hyper-parameters of the family inception_v3"),
        optional("convnext", &ModelFile::convnext, "hyper-parameters of the family convnext"),
        optional("efficientnet", &ModelFile::efficientnet, "hyper-parameters of the family efficientnet"),
        optional("regnet", &ModelFile::regnet, "hyper-parameters of the family regnet"),
        optional("vit", &ModelFile::vit, "hyper-parameters of the family vit"),
        optional("swin", &ModelFile::swin, "hyper-parameters of the family swin"),
        optional("diffusion_unet", &ModelFile::diffusion_unet,
                 "hyper-parameters of the family diffusion_unet"),
        optional("bert", &ModelFile::bert, "hyper-parameters of the family bert"),
        optional("gpt2", &ModelFile::gpt2, "hyper-parameters of the family gpt2"),
        optional("decoder", &ModelFile::decoder, "hyper-parameters of the family decoder"),
        optional("encoder_decoder", &ModelFile::encoder_decoder,
                 "hyper-parameters of the family encoder_decoder"),
        optional("samples_per_epoch", &ModelFile::samples_per_epoch,
                 "samples in the training set; needed for the time per epoch")
            .at_least(1)
            .at_most(1e15),
        optional("input", &ModelFile::input,
                 "size of a stored sample and cost of decoding it; for experiments with data loading"),
        optional(
            "optimizer", &ModelFile::optimizer,
            "rule that experiments use which name none; default: adam for transformers, otherwise momentum"),
        optional("convergence", &ModelFile::convergence,
                 "published numbers of samples to a target by batch, a list with an item for each recipe"),
        optional("fixed_epochs", &ModelFile::fixed_epochs,
                 "published accuracies after a fixed number of epochs by batch, a list with an item for each "
                 "recipe"),
        optional("source", &ModelFile::source, "publications of the hyper-parameters"));
  }
};

}  // namespace config
}  // namespace trainyard
