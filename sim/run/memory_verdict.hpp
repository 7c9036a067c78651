#pragma once
// Whether an experiment's step fits into the memory of its GPUs; if not, why, and which batch would fit.

#include "experiment/resolve.hpp"
#include "run/server_memory.hpp"
#include "workload/memory.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// The memory needed by each rank of a class (strategy/rank_class.hpp), of its fullest stage if it stands for
/// several, and the memory of its GPU.
struct MemoryReport {
  std::string ranks;  ///< name of the class
  MemoryTerms terms;
  MemoryTerms of_least_batch;
  Bytes peak;       ///< the sum of the terms
  Bytes capacity;   ///< of the GPU
  Bytes available;  ///< the part of it that the driver and the framework's allocator leave
  double utilization = 0;
  bool fits = true;
  int batch_per_gpu = 0;
  int least_batch = 1;    ///< batches are multiples of it: 1, or slices of layers that take turns
  int largest_batch = 0;  ///< the largest batch_per_gpu that fits; 0 if not even the least one does
  std::string gpu;        ///< name of the profile
  std::vector<std::string> assumptions;
  std::optional<ServerMemory> server = {};  ///< with parameter servers: of the place with most of it
};

/// A step that does not fit into its GPUs.
class OutOfMemory : public JobImpossible {
  using JobImpossible::JobImpossible;
};

/// The memory of one rank of each class. Besides the layers' terms (workload/memory.hpp):
/// - gradient_buckets: DDP keeps a flat copy of all gradients in the type that is reduced (PyTorch's default;
///   gradient_as_bucket_view would save it); Horovod one fusion buffer. None for one rank, or with servers.
/// - communication_buffers: of NCCL's connections (collectives/nccl_buffers.hpp), in as many channels as it
///   makes of the rings through all ranks. None for one rank, or if the step has no collectives.
/// - server: of the shards on GPUs (server_memory.hpp): the report is that of the GPU with most of them.
///   Otherwise they are in the memory of hosts, whose size is not known: nothing is checked there.
/// A trace has one term, the whole that it states. Throws InputError if a trace does not state its memory;
/// and like ring_channels.
std::vector<MemoryReport> memory_reports(const ResolvedExperiment& resolved, bool has_collectives = true);

/// Bytes of NCCL's connections among all ranks; 0 with other libraries or one rank, and with servers unless
/// the ranks of a replica share the model.
Bytes communication_buffers(const ResolvedExperiment& resolved);

/// The need of the fullest GPU alone.
struct MemoryPeak {
  Bytes needed;
  Bytes available;
};

/// The peak of the reports, in a tenth of their time. `buffers`: communication_buffers(), which all layouts
/// of a job have alike. Requires a model.
MemoryPeak memory_peak(const ResolvedExperiment& resolved, Bytes buffers);

/// The peak without the allocator's rounding. It is never above the real peak, and never falls with larger
/// micro-batches of the same samples, as the real peak may.
Bytes memory_of_values(const ResolvedExperiment& resolved, Bytes buffers);

/// Whether the memory is known: of a model, or stated by all traces.
bool has_memory(const ResolvedExperiment& resolved);

/// The report of the class whose GPUs are fullest: the one that decides whether the step fits.
const MemoryReport& fullest(const std::vector<MemoryReport>& reports);

/// One or two sentences: that it fits and the largest batch that would, or by how much it does not, the
/// largest term and the batch that would fit.
std::string verdict(const MemoryReport& report);

/// Throws OutOfMemory with the verdict, followed by `hint`, if it does not fit.
void require_fit(const MemoryReport& report, std::string_view hint = {});

/// The warning of a run that goes on although it does not fit (memory: ignore). Requires that it does not.
std::string ignored_verdict(const MemoryReport& report);

}  // namespace trainyard
