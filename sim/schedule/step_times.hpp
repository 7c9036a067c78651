#pragma once
// How long each step of each worker takes when steps do not always take the same: the modelled time of the
// ops times random factors. Every factor depends on the seed, the repeat, the worker and the step alone, so
// that two update rules are compared on the same draws.

#include "compute/gpu_profile.hpp"
#include "config/problems.hpp"
#include "random/distribution.hpp"
#include "units/quantity.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A node that is always slower (or faster) than the others.
struct SlowNode {
  int node = 0;
  double factor = 1;
};

/// Something else takes the worker's time now and then.
struct Pauses {
  Seconds every;     ///< mean compute time between two, exponential
  Seconds duration;  ///< of each
};

/// Whether GPUs and their steps vary as their profile says.
enum class GpuSpread { none, profile };

/// What is random in an experiment.
struct Randomness {
  long long seed = 1;
  std::optional<random::Distribution> op;        ///< factor of every op, drawn anew each time
  std::optional<random::Distribution> step;      ///< factor of a worker's step
  std::optional<random::Distribution> node;      ///< factor of a node, drawn once for a repeat
  std::optional<random::Distribution> gpu = {};  ///< the same of a GPU
  GpuSpread gpus = GpuSpread::none;              ///< profile: `gpu` and `step` are the GPU profile's
  std::vector<SlowNode> slow;
  std::optional<Pauses> pauses;
};

class StepTimes {
public:
  /// `ops`: durations of one step without noise. `node_of_worker`: by worker. `repeat`: other draws for each.
  StepTimes(std::vector<Seconds> ops, std::vector<int> node_of_worker, Randomness randomness, int repeat);

  /// From now on so many of these workers, one after the other, are one that waits for its slowest.
  void join(int workers) { joined_ = workers; }

  /// The duration of a worker's step; asked once for each, in order of the steps (pauses count what was
  /// computed before).
  Seconds next(int worker);

  /// A step without noise.
  [[nodiscard]] Seconds nominal() const { return nominal_; }

private:
  Seconds next_of_one(int worker);
  [[nodiscard]] double op_seconds(std::uint64_t worker, std::uint64_t step) const;
  double with_pauses(int worker, double seconds);

  std::vector<Seconds> ops_;
  Seconds nominal_;
  Randomness randomness_;
  std::uint64_t repeat_;
  int joined_ = 1;
  std::vector<double> factors_;  ///< by worker: its node's
  std::vector<std::uint64_t> steps_;
  std::vector<random::Generator> step_streams_;  ///< by worker, to which its step is added
  struct PauseClock {
    double until_next = 0;
    std::uint64_t drawn = 0;
  };
  std::vector<PauseClock> pause_clocks_;
};

/// The same with `gpu` and `step` as this kind of GPU has them, where the experiment asks for it.
Randomness with_variation(Randomness randomness, const std::optional<GpuVariation>& variation);

/// True if two steps need not take the same.
bool is_random(const Randomness& randomness);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<GpuSpread> {
  static constexpr std::string_view what = "spread of GPUs";
  static constexpr std::array table{
      Name{"none", GpuSpread::none, "all are alike, but for what the other keys say"},
      Name{"profile", GpuSpread::profile, "as far apart as the GPU profile says (variation)"}};
};

template <>
struct Keys<SlowNode> {
  static auto table() {
    return keys(required("node", &SlowNode::node, "its number, from 0").at_least(0).at_most(1e6),
                required("factor", &SlowNode::factor, "its compute takes so many times as long")
                    .above(0)
                    .at_most(1e6));
  }
};

template <>
struct Keys<Pauses> {
  static auto table() {
    return keys(required("every", &Pauses::every,
                         "mean compute time of a rank between two, exponentially distributed")
                    .at_least(1e-3)
                    .at_most(1e9),
                required("duration", &Pauses::duration, "how long each lasts").above(0).at_most(1e9));
  }
};

template <>
struct Keys<Randomness> {
  static auto table() {
    return keys(
        optional("seed", &Randomness::seed, "the same seed gives the same run").at_least(0).at_most(9e15),
        optional("op", &Randomness::op, "factor of every op, drawn anew each time"),
        optional("step", &Randomness::step, "factor of every rank's step, drawn anew each time"),
        optional("node", &Randomness::node, "factor of every node, drawn once for a repeat"),
        optional("gpu", &Randomness::gpu, "factor of every GPU, drawn once for a repeat"),
        optional("gpus", &Randomness::gpus, "profile: gpu and step as the GPU profile has them (variation)"),
        optional("slow", &Randomness::slow, "nodes that are always slower than the others"),
        optional("pauses", &Randomness::pauses, "what else takes a rank's time now and then"));
  }
};

}  // namespace trainyard::config
