#pragma once
// The state of batch norms besides parameters, which PyTorch DDP sends from rank 0 to all ranks.

#include "workload/trace.hpp"

#include <vector>

namespace trainyard {

/// Channels of each batch norm that a trace trains, in the order in which backward meets them. A batch norm
/// keeps a running mean and a running variance, one fp32 value each per channel, and a counter of 8 bytes
/// (PyTorch torch/nn/modules/batchnorm.py: running_mean, running_var, num_batches_tracked).
std::vector<double> batch_norm_channels(const Trace& trace);

}  // namespace trainyard
