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

struct InputSettings {
  InputData data = InputData::synthetic;
  std::optional<DecodeOn> decode = {};  ///< for real data; default: cpu
  std::optional<bool> prefetch = {};    ///< for real data; default: true
  std::optional<int> workers = {};      ///< for real data decoded by CPUs; default: all cores
};

constexpr bool is_prefetched(const InputSettings& input) { return input.prefetch.value_or(true); }
constexpr bool decodes_on_gpu(const InputSettings& input) {
  return input.decode.value_or(DecodeOn::cpu) == DecodeOn::gpu;
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
      Name{"gpu", DecodeOn::gpu, "on the hardware decoders of its GPUs, in parallel with kernels"}};
};

template <>
struct Keys<InputSettings> {
  static auto table() {
    return keys(
        optional("data", &InputSettings::data, "source of the samples"),
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
