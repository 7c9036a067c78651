#pragma once
// Workloads of ASTRA-sim as text: a layer a line, with the times of its three passes and what is communicated
// after each. https://astra-sim.github.io/astra-sim-docs, "Workload layer"; SimAI writes the same form.

#include "collectives/operation.hpp"
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

/// No file says which one its times have.
enum class WorkloadTime { ns, us, ms, s };

Seconds length_of(WorkloadTime unit);

/// A pass of a layer and the collective behind it.
struct WorkloadPass {
  std::int64_t time = 0;  ///< in the file's unit
  std::optional<Operation> operation = {};
  std::int64_t size = 0;  ///< bytes
};

struct WorkloadLayer {
  std::string name = {};
  WorkloadPass forward, input_gradient, weight_gradient;
  std::int64_t update = 0;  ///< in the file's unit
  int line = 0;
};

struct AstraWorkload {
  std::string file;
  std::string parallelism;  ///< "DATA"
  std::vector<WorkloadLayer> layers;
};

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

/// Throws InputError at the line that is wrong: a parallelism of groups of ranks, collectives that hold up
/// the forward pass or the backward pass, a number of layers other than the stated one.
AstraWorkload read_astra_workload(const InputText& input);

/// Forward, then backward from the last layer on, weight gradient first as ASTRA-sim does, then the updates.
/// `gradient`: bytes of a gradient's value, for the sizes of tensors; without it the trace has none.
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
