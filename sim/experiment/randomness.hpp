#pragma once
// The random quantities of an experiment: factors of ops, steps, nodes and GPUs, slow nodes, pauses, delays
// of communication.

#include "compute/gpu_profile.hpp"
#include "config/keys.hpp"
#include "platform/plausible_limits.hpp"
#include "random/distribution.hpp"
#include "units/quantity.hpp"

#include <array>
#include <concepts>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace trainyard {

/// A node that is always slower (or faster) than the others.
struct SlowNode {
  int node = 0;
  double factor = 1;
};

/// Interruptions of a worker by other processes.
struct Pauses {
  Seconds every;     ///< mean compute time between two, exponentially distributed
  Seconds duration;  ///< of one pause
};

/// A random delay before a worker's gradients are sent, besides the time that the network takes: jitter of
/// the software and of networks that others use. One draw for each push of a worker to servers, and for each
/// of its exchanges without servers (a step's collectives, or the averaging of local_sgd): all messages of a
/// push go out that much later, and collectives begin when the last rank joins them. So a step of time X
/// whose delay is D counts like one of X + D in the update rules' closed forms: with P workers of equal steps
/// and exponential delays of mean m, a synchronous update takes H_P m longer (H_P: harmonic number), an
/// asynchronous one m / P. Source: the random communication delay D of Wang and Joshi, arXiv 1810.08313,
/// here one for each worker.
struct CommunicationDelay {
  Seconds delay;                ///< times the factor
  random::Distribution factor;  ///< drawn anew each time
};

/// How GPUs of one kind differ in speed.
enum class GpuSpread { none, slowest, profile };

/// The random quantities of an experiment.
struct Randomness {
  long long seed = 1;
  std::optional<random::Distribution> op;        ///< factor of every op, drawn anew each time
  std::optional<random::Distribution> step;      ///< factor of a worker's step
  std::optional<random::Distribution> node;      ///< factor of a node, drawn once per repeat
  std::optional<random::Distribution> gpu = {};  ///< factor of a GPU, drawn likewise
  std::optional<GpuSpread> gpus = {};            ///< default: slowest_gpu.hpp
  std::vector<SlowNode> slow;
  std::optional<Pauses> pauses;
  std::optional<CommunicationDelay> communication = {};
};

/// The randomness with `gpu` and `step` from this GPU's profile, if the experiment requests that.
Randomness with_variation(Randomness randomness, const std::optional<GpuVariation>& variation);

/// Writes a mean of 1 into distributions that state none, so that it is recorded with every result.
void fill_in_means(Randomness& randomness);

/// Throws InputError if GPUs are to differ and the profile does not state by how much.
void check_variation(const Randomness& randomness, const GpuProfile& gpu);

/// True if two steps may have different times.
bool is_random(const Randomness& randomness);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<GpuSpread> {
  static constexpr std::string_view what = "spread of GPUs";
  static constexpr std::array table{
      Name{"none", GpuSpread::none, "GPUs differ only as the other keys say"},
      Name{"slowest", GpuSpread::slowest,
           "GPUs vary as the GPU profile says (variation); kernels take as long as on the slowest, on "
           "average"},
      Name{"profile", GpuSpread::profile, "GPUs and steps vary as the GPU profile says (variation)"}};
};

template <>
struct Keys<SlowNode> {
  static auto table() {
    return keys(required("node", &SlowNode::node, "number of the node, from 0").between(0, most_nodes),
                required("factor", &SlowNode::factor, "factor on its compute time").positive(1e6));
  }
};

template <>
struct Keys<Pauses> {
  static auto table() {
    return keys(required("every", &Pauses::every,
                         "mean compute time of a rank between two pauses, exponentially distributed")
                    .between(1e-3, 1e9),
                required("duration", &Pauses::duration, "length of each pause").positive(1e9));
  }
};

template <>
struct Keys<CommunicationDelay> {
  static auto table() {
    return keys(required("delay", &CommunicationDelay::delay,
                         "delay before a rank sends its gradients, multiplied by 'factor'")
                    .positive(1e6),
                required("factor", &CommunicationDelay::factor,
                         "a distribution: factor of the delay, drawn anew for every push and exchange"));
  }
};

template <>
struct Keys<Randomness> {
  static auto table() {
    return keys(
        optional("seed", &Randomness::seed, "the same seed gives the same run").between(0, 9e15),
        optional("op", &Randomness::op, "factor on the time of every op, drawn anew each time"),
        optional("step", &Randomness::step, "factor on every rank's step, drawn anew each time"),
        optional("node", &Randomness::node,
                 "factor on the compute time of every node, drawn once per repeat"),
        optional("gpu", &Randomness::gpu, "factor on the compute time of every GPU, drawn once per repeat"),
        optional(
            "gpus", &Randomness::gpus,
            "how GPUs of one kind differ in speed; default: slowest if updates wait for ranks, otherwise "
            "none; none with software: ideal and if 'gpu' is given"),
        optional("slow", &Randomness::slow, "nodes that are always slower than the others"),
        optional("pauses", &Randomness::pauses, "random interruptions of ranks by other processes"),
        optional("communication", &Randomness::communication,
                 "random delay of every rank's push to servers, or of its part in a step's collectives"));
  }
};

}  // namespace trainyard::config

namespace trainyard {

/// Calls use(key, distribution) for every factor that is given. The key table lists the factors: a new one is
/// read, checked and recorded wherever the others are.
template <class Any, class Use>
requires std::same_as<std::remove_const_t<Any>, Randomness>
void for_each_factor(Any& randomness, const Use& use) {
  const auto visit = [&](const auto& key) {
    auto& value = randomness.*key.member;
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::same_as<Value, std::optional<random::Distribution>>) {
      if (value) use(std::string_view(key.name), *value);
    } else if constexpr (std::same_as<Value, std::optional<CommunicationDelay>>) {
      if (value) use(std::string_view("communication.factor"), value->factor);
    }
  };
  config::Keys<Randomness>::table()([&](const auto&... key) { (visit(key), ...); });
}

}  // namespace trainyard
