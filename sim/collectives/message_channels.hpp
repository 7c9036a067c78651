#pragma once
// NCCL's point-to-point messages inside one NVLink domain, of which an all-to-all consists: one kernel
// carries out all messages of a rank at once. Its channels, thread blocks, each carry parts of some messages,
// and a rank's message to itself, a copy, takes as many as any other. A channel is slower than the links, so
// that the fewer GPUs exchange data, the fewer channels are at work and the less of the links is used.
//
// Sources: NVIDIA/nccl v2.22.3-1 to v2.30.7-1, src/graph/paths.cc (ncclTopoComputeP2pChannels),
// src/enqueue.cc (addP2pToPlan, scheduleP2pTasksToPlan), src/device/sendrecv.h, src/init.cc
// (P2P_NVL_CHUNKSIZE).

#include "collectives/protocol_overheads.hpp"
#include "platform/cluster.hpp"
#include "units/quantity.hpp"

#include <span>

namespace trainyard {

/// The channels of each message of a phase.
struct MessageChannels {
  double most = 0;  ///< per message; below 1 where several messages share a channel; 0: the links alone count
  Bytes least_part;  ///< a message takes fewer channels rather than smaller parts
  Bandwidth each;    ///< rate of one channel
  /// Extra cost of a channel's first chunk, in chunks' worth of bytes: until it has arrived, receivers have
  /// nothing to copy from their buffers to the user's.
  double startup = 0;
};

/// Bandwidth of a message over its channels.
Bandwidth message_rate(const MessageChannels& channels, Bytes message);

/// The first chunks of a message on all its channels together. Chunks are of 512 KiB.
Bytes first_chunks(const MessageChannels& channels, Bytes message);

/// Channels that NCCL allows a message between two ranks of the group: two for every NVLink lane between the
/// ranks with the fewest, rounded up to a power of two, and at most 32, which GPUs since the A100 have; two
/// over other links and between nodes.
int channels_per_pair(const Cluster& cluster, std::span<const Rank> group);

/// Channels of each message of an all-to-all in the group, if NVLinks of a generation with costs of messages
/// between pairs join all its ranks; otherwise `most` is 0. With more ranks than channels, these carry
/// several messages. Left out: the doubling of channels for parts above 16 MiB, which then share the same
/// blocks.
MessageChannels all_to_all_channels(const Cluster& cluster, const ProtocolOverheads& overheads,
                                    std::span<const Rank> group, Protocol protocol);

}  // namespace trainyard
