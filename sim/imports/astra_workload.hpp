#pragma once
// Workloads of ASTRA-sim as text: a layer a line, with the times of its three passes and what is communicated
// after each. https://astra-sim.github.io/astra-sim-docs, "Workload layer"; SimAI writes the same form.

#include "collectives/axis.hpp"
#include "config/fields.hpp"
#include "interchange/input_text.hpp"
#include "workload/trace.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// No file says which unit its times have. The value is the number of units in a second.
enum class WorkloadTime : std::int64_t { ns = 1'000'000'000, us = 1'000'000, ms = 1'000, s = 1 };

/// The words behind a transformer's parallelism, as SimAI writes them; 0 where one is missing.
struct WorkloadGroups {
  std::int64_t tensor = 0;    ///< model_parallel_NPU_group: ranks that share each layer
  std::int64_t expert = 0;    ///< ep: ranks that share the experts
  std::int64_t pipeline = 0;  ///< pp: stages, of which the file is one
  std::int64_t ranks = 0;     ///< all_gpus, of all stages

  /// Ranks of a group; empty if the file does not say it.
  [[nodiscard]] std::optional<std::int64_t> size(Axis axis) const;
};

struct AstraWorkload {
  Trace trace;
  std::int64_t layers = 0;
  WorkloadGroups groups;
  std::vector<std::string> not_used;  ///< words of the head with their numbers: "vpp 1"
  std::vector<std::string> warnings;
};

/// Forward, then backward from the last layer on, then the updates. In backward ASTRA-sim computes a weight
/// gradient before the input gradient, of transformers after it. Collectives of weight gradients overlap with
/// the rest of backward, the others hold up the next op.
/// Groups of a transformer's collectives: in forward and behind input gradients the tensor group, behind
/// weight gradients the replicas; `_EP` behind a collective's word the expert group, `_DP_EP` the replicas of
/// experts. Source: aliyun/SimAI astra-sim-alibabacloud/astra-sim/workload/Workload.cc.
/// `gradient`: bytes of a gradient's value, for the sizes of tensors; without it the trace has none.
/// Throws InputError at the line that is wrong: other parallelisms of groups, recomputation, a number of
/// layers other than the stated one; with DATA and MICRO collectives that hold up a pass, and those of
/// groups; an all-gather whose size is the part of one rank of an unknown number.
AstraWorkload read_astra_workload(const InputText& input, WorkloadTime unit, std::optional<Bytes> gradient);

namespace config {

template <>
struct Names<WorkloadTime> {
  static constexpr std::string_view what = "unit of time";
  static constexpr std::array table{
      Name{"ns", WorkloadTime::ns, "nanoseconds"}, Name{"us", WorkloadTime::us, "microseconds"},
      Name{"ms", WorkloadTime::ms, "milliseconds"}, Name{"s", WorkloadTime::s, "seconds"}};
};

}  // namespace config
}  // namespace trainyard
