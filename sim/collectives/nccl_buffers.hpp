#pragma once
// Device memory of NCCL's connections: a communicator's memory on a GPU besides the tensors
// (run/memory_verdict.hpp).

#include "collectives/nccl.hpp"
#include "units/quantity.hpp"

namespace trainyard {

/// Buffers of one rank with `channels` channels (nccl_channels). In each channel it has two neighbours, and
/// for each of them a connection to receive and one to send: the ring uses one direction and the trees both;
/// a connection that exists is used again. A receiver holds the buffers of all protocols, a sender its flags.
/// Every allocation is a multiple of 2 MiB. Trees over more than two nodes have further neighbours, and their
/// order inside a node may differ from the ring's: so this is the least. Version none has no buffers.
/// Source: NVIDIA/nccl, default sizes and computeBuffSizes of src/init.cc, p2pSendSetup and p2pRecvSetup of
/// src/transport/p2p.cc (CUDA_IPC_MIN), ncclTransportP2pSetup of src/transport.cc, v2.4.8-1 to v2.12.10-1.
Bytes nccl_buffers(NcclVersion version, int channels);

}  // namespace trainyard
