#pragma once
// Workloads of ASTRA-sim as text: a layer a line, with the times of its three passes and what is communicated
// after each. https://astra-sim.github.io/astra-sim-docs, "Workload layer"; SimAI writes the same form.

#include "collectives/axis.hpp"
#include "collectives/operation.hpp"
#include "config/fields.hpp"
#include "interchange/input_text.hpp"
#include "workload/trace.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// No file says which one its times have.
enum class WorkloadTime { ns, us, ms, s };

Seconds length_of(WorkloadTime unit);

/// A pass of a layer and the collective behind it.
struct WorkloadPass {
  std::int64_t time = 0;  ///< in the file's unit
  std::optional<Operation> operation = {};
  std::int64_t size = 0;  ///< bytes, as in the file
  Axis axis = Axis::all;  ///< whose groups take part
};

struct WorkloadLayer {
  std::string name = {};
  WorkloadPass forward, input_gradient, weight_gradient;
  std::int64_t update = 0;  ///< in the file's unit
  int line = 0;
};

/// The words behind a transformer's parallelism, as SimAI writes them; 0 where one is missing.
struct WorkloadGroups {
  std::int64_t tensor = 0;    ///< model_parallel_NPU_group: ranks that share each layer
  std::int64_t expert = 0;    ///< ep: ranks that share the experts
  std::int64_t pipeline = 0;  ///< pp: stages, of which the file is one
  std::int64_t ranks = 0;     ///< all_gpus, of all stages
};

struct AstraWorkload {
  std::string file;
  std::string parallelism;                                   ///< "DATA"
  std::vector<std::pair<std::string, std::int64_t>> header;  ///< "ga" and 24, in the order of the file
  WorkloadGroups groups;                                     ///< those of the header that make groups
  std::vector<WorkloadLayer> layers;

  /// Whether it names groups: tensor groups wait in forward and for the input gradient, replicas sum weight
  /// gradients.
  [[nodiscard]] bool is_transformer() const { return parallelism.starts_with("HYBRID_TRANSFORMER"); }
};

/// Ranks of a group; empty if the file does not say it.
std::optional<std::int64_t> group_size(const WorkloadGroups& groups, Axis axis);

/// A collective and its word in the file.
struct WorkloadWord {
  std::string_view text;
  Operation operation;
};
inline constexpr std::string_view no_collective = "NONE";
inline constexpr std::array workload_words{
    WorkloadWord{"ALLREDUCE", Operation::all_reduce}, WorkloadWord{"ALLGATHER", Operation::all_gather},
    WorkloadWord{"REDUCESCATTER", Operation::reduce_scatter}, WorkloadWord{"ALLTOALL", Operation::all_to_all},
    WorkloadWord{"BROADCAST", Operation::broadcast}};

/// Groups of a transformer's collectives: in forward and behind input gradients the tensor group, behind
/// weight gradients the replicas; `_EP` behind a collective's word the expert group, `_DP_EP` the replicas of
/// experts. Source: aliyun/SimAI astra-sim-alibabacloud/astra-sim/workload/Workload.cc. Throws InputError at
/// the line that is wrong: other parallelisms of groups, recomputation, a number of layers other than the
/// stated one; with DATA and MICRO collectives that hold up a pass, and those of groups.
AstraWorkload read_astra_workload(const InputText& input);

/// Forward, then backward from the last layer on, then the updates. In backward ASTRA-sim computes a weight
/// gradient before the input gradient, of transformers after it. Collectives of weight gradients run beside
/// the rest of backward, the others hold up the next op. `gradient`: bytes of a gradient's value, for the
/// sizes of tensors; without it the trace has none. Throws InputError at the line of an all-gather whose size
/// is that of one rank's part of an unknown number.
Trace trace_of(const AstraWorkload& workload, WorkloadTime unit, std::optional<Bytes> gradient);

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
