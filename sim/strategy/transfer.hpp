#pragma once
// The collectives that a divided layer adds to the passes of a micro-batch. strategy/shard.hpp makes them
// with the layers; add_transfers() attaches them to the ops of a trace.

#include "collectives/axis.hpp"
#include "collectives/operation.hpp"
#include "workload/layer.hpp"
#include "workload/trace.hpp"

#include <vector>

namespace trainyard {

/// When a collective of a layer's forward or backward pass is launched, and which kernels may overlap it.
enum class TransferPlace {
  before,              ///< launched before the layer's first op, which waits for it
  beside_input_grad,   ///< launched before the gradient of the layer's input; the gradient of its weights
                       ///< waits for it
  beside_weight_grad,  ///< launched after the gradient of the layer's input; ops after the layer wait for it
  after,               ///< launched after the layer's last op; the next op waits for it
  beside_next          ///< likewise, but the ops of the next layers of the pass may run meanwhile
};

/// The type of the values sent.
enum class TransferDtype { activation, fp32 };

struct Transfer {
  int layer = -1;  ///< index in the rank's layers
  Phase phase = Phase::forward;
  TransferPlace place = TransferPlace::after;
  Operation operation = Operation::all_reduce;
  Axis axis = Axis::tensor;
  double elements = 0;  ///< per sample, as nccl-tests counts the size (collectives/operation.hpp)
  TransferDtype of = TransferDtype::activation;
  Bytes fixed = {};     ///< besides, whatever the batch
  int next_layers = 0;  ///< of beside_next: how many
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

/// Attaches each transfer to an op of a one-micro-batch trace made from `layers` (after fuse_elementwise and
/// add_layer_work). Sizes are those of the whole batch. A transfer before a layer begins when the op before
/// has ended and holds up the layer's op; one that overlaps with a gradient counts the ops that may run
/// meanwhile: the input's gradient, or the weights' gradient with its cast; beside the next layers all
/// theirs.
void add_transfers(Trace& trace, const std::vector<Layer>& layers, const std::vector<Transfer>& transfers);

}  // namespace trainyard
