#pragma once
// Source of an experiment's samples: generated on the GPU, or read, decoded and copied during training.

#include "config/keys.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <tuple>

namespace trainyard {

enum class InputData { synthetic, real };
enum class DecodeOn { cpu, gpu };
enum class Loader { framework, dali };

struct InputSettings {
  InputData data = InputData::synthetic;
  std::optional<Loader> loader = {};    ///< for real data; default: framework
  std::optional<DecodeOn> decode = {};  ///< for real data; default: cpu
  std::optional<bool> prefetch = {};    ///< for real data; default: true
  std::optional<int> workers = {};      ///< for real data decoded by CPUs; default: all cores
};

constexpr bool is_prefetched(const InputSettings& input) { return input.prefetch.value_or(true); }
constexpr bool decodes_on_gpu(const InputSettings& input) {
  return input.decode.value_or(DecodeOn::cpu) == DecodeOn::gpu;
}

constexpr bool is_dali(const InputSettings& input) {
  return input.loader.value_or(Loader::framework) == Loader::dali;
}

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<InputData> {
  static constexpr std::string_view what = "kind of input";
  static constexpr std::array table{
      Name{"synthetic", InputData::synthetic, "samples are generated and always ready"},
      Name{"real", InputData::real, "samples are read from storage and decoded"}};
};

template <>
struct Names<DecodeOn> {
  static constexpr std::string_view what = "place of decoding";
  static constexpr std::array table{
      Name{"cpu", DecodeOn::cpu, "on the cores of the node"},
      Name{
          "gpu", DecodeOn::gpu,
          "on the hardware decoders of its GPUs, in parallel with kernels; with loader: dali where a GPU has "
          "none: Huffman codes on the cores, the rest in kernels of the GPU, which the step's kernels wait "
          "for"}};
};

template <>
struct Names<Loader> {
  static constexpr std::string_view what = "loader";
  static constexpr std::array table{
      Name{"framework", Loader::framework,
           "the framework's own, such as tf.data: the model's input.decode is its time for a sample"},
      Name{"dali", Loader::dali, "NVIDIA DALI: the model's input.dali has the cost of a sample"}};
  static constexpr std::array other_words{
      OtherWord{"tf_data", "framework"}, OtherWord{"tf.data", "framework"},
      OtherWord{"pytorch", "framework, with --set model.input.decode=\"7.1 ms\" for one in Python"},
      OtherWord{"nvjpeg", "dali, with decode: gpu"},
      OtherWord{"ffcv", "framework, with --set model.input.decode=\"1.5 ms\" for images cut to 512 pixels"}};
};

template <>
struct Keys<InputSettings> {
  static auto table() {
    return keys(
        optional("data", &InputSettings::data, "source of the samples"),
        optional("loader", &InputSettings::loader,
                 "for real data: software that reads and decodes samples; default: framework"),
        optional("decode", &InputSettings::decode, "for real data: where samples are decoded; default: cpu"),
        optional("prefetch", &InputSettings::prefetch,
                 "for real data: true (default): the next batches are prepared during a step; false: every "
                 "step waits for its own batch"),
        optional("workers", &InputSettings::workers,
                 "for real data: cores that decode for each rank; default: all cores of the node, shared by "
                 "its ranks")
            .between(1, 4096));
  }
};

}  // namespace trainyard::config
