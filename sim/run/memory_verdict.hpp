#pragma once
// Whether an experiment's step fits into the memory of its GPUs, and if not, why and what would.

#include "experiment/resolve.hpp"
#include "workload/memory.hpp"

#include <string>
#include <utility>
#include <vector>

namespace trainyard {

/// The memory of one rank (all ranks are alike) against that of its GPU.
struct MemoryReport {
  MemoryTerms terms;
  MemoryTerms of_one_sample;  ///< with a batch_per_gpu of 1
  Bytes peak;                 ///< the sum of the terms
  Bytes capacity;             ///< of the GPU
  double utilization = 0;
  bool fits = true;
  int batch_per_gpu = 0;
  int largest_batch = 0;  ///< batch_per_gpu that would still fit; 0 if not even one sample does
  std::string gpu;        ///< name of the profile
  std::vector<std::string> assumptions;
};

/// A step that does not fit into its GPUs.
class OutOfMemory : public JobImpossible {
  using JobImpossible::JobImpossible;
};

/// The memory of a rank that talks over `channels` ring channels (channels.hpp) with the others, of `ranks`
/// in all. Besides the layers' terms (workload/memory.hpp):
/// - gradient_buckets: DDP keeps a flat copy of all gradients in the type that is reduced (PyTorch's default;
///   gradient_as_bucket_view would save it); Horovod one fusion buffer. None for one rank.
/// - communication_buffers: 4 MiB for each connection, a send and a receive per channel. Source: NVIDIA/nccl
///   src/init.cc, DEFAULT_BUFFSIZE, protocol Simple.
/// Throws InputError if the experiment replays a trace, which does not say what it keeps.
MemoryReport memory_report(const ResolvedExperiment& resolved, int ranks, int channels);

/// The same for the experiment's own cluster. Throws as cluster_of, ring_channels and the above.
MemoryReport memory_report(const ResolvedExperiment& resolved);

/// One or two sentences: that it fits and which batch still would, or by how much it does not, which term is
/// the largest and which batch would fit.
std::string verdict(const MemoryReport& report);

/// Throws OutOfMemory with the verdict if it does not fit.
void require_fit(const MemoryReport& report);

}  // namespace trainyard
