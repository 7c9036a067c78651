#pragma once
// The parts of the step time, which add up to it. For one steady step along the compute stream of a
// rank: its kernels, and for every moment without one the concurrent activity of the communication stream.
// For runs of many updates, the mean over the ranks. For `compare` and summary.json.

#include "config/keys.hpp"
#include "run/run.hpp"
#include "units/quantity.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace trainyard {

enum class StepPart {
  forward,
  backward,
  recompute,
  optimizer,
  host,
  kernel_slowdown,
  compute,
  wasted_compute,
  layers,
  messages,
  communication,
  framework,
  waiting,
  bubble,
  decoding,
  input,
  other
};

struct PartTime {
  StepPart part{};
  Seconds time;
};

/// The time for which a collective kept the rank from computing.
struct ExposedCollective {
  int collective = -1;  ///< index in the step's collectives
  Seconds exposed;
};

struct StepParts {
  std::vector<PartTime> parts;                 ///< in the order of StepPart; they add up to the step time
  std::vector<ExposedCollective> collectives;  ///< in order; they add up to `communication`
  Seconds launch_waits = {};  ///< of layout_parts(): the part of `host` in which kernels wait for launches
};

/// The parts of a steady step for the first rank of a class; they add up to the step time except for
/// rounding. Without a timeline all of it is waiting, except kernels that decode and if the ranks share a
/// model.
StepParts step_parts(const Run& run, const ClassStep& one);

/// The parts for the class that ends last. Runs of many updates have no collectives here: their exchange is
/// one figure.
StepParts step_parts(const Run& run);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<StepPart> {
  static constexpr std::string_view what = "part of a step";
  static constexpr std::array table{
      Name{"forward", StepPart::forward, "kernels of the forward pass, each alone"},
      Name{"backward", StepPart::backward, "kernels of the backward pass, each alone"},
      Name{"recompute", StepPart::recompute,
           "kernels of backward that compute activations again, each alone"},
      Name{"optimizer", StepPart::optimizer, "kernels of the optimizer, each alone"},
      Name{"update", StepPart::optimizer, "the former name of optimizer"},
      Name{"host", StepPart::host, "the GPU waits for the software on the host"},
      Name{"kernel_slowdown", StepPart::kernel_slowdown, "delay of kernels by concurrent communication"},
      Name{"slowed_kernels", StepPart::kernel_slowdown, "the former name of kernel_slowdown"},
      Name{"compute", StepPart::compute, "runs of many updates: all useful computing"},
      Name{"wasted_compute", StepPart::wasted_compute, "computing that the update rule cancelled"},
      Name{"layers", StepPart::layers, "tensor-parallel collectives while no kernel runs"},
      Name{"messages", StepPart::messages, "messages between stages of a pipeline while no kernel runs"},
      Name{"communication", StepPart::communication, "collectives while no kernel runs"},
      Name{"framework", StepPart::framework, "cycles, negotiation and copies around collectives, exposed"},
      Name{"waiting", StepPart::waiting, "waiting for other ranks or for the update rule"},
      Name{"bubble", StepPart::bubble, "waiting for other stages of a pipeline"},
      Name{"decoding", StepPart::decoding,
           "kernels that decode or resize samples for the next step, each alone; only where a GPU runs such"},
      Name{"input", StepPart::input, "waiting for samples"},
      Name{"other", StepPart::other, "work unfinished at the end of the measurement"}};
};

}  // namespace trainyard::config
