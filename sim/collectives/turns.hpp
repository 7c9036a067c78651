#pragma once
// What NCCL's channels between nodes cost besides latency and bytes. Every channel's turn on the network,
// one step of a ring or one chunk of a tree, takes a fixed time: a processor's thread posts and polls each
// message and the GPU waits for its flag. NCCL's own estimate has it ("Inter-node rings still have to launch
// nsteps * net overhead", src/graph/tuning.cc). The channels of one NIC take their turns at the same time, so
// the NIC is idle only while all of them wait: the fewer channels share a NIC, the longer.
//
// Sources: NVIDIA/nccl v2.30.7-1, src/graph/search.cc (ncclTopoDupChannels), src/graph/connect.cc
// (ncclTopoPostset), src/enqueue.cc (calcCollChunking), src/graph/tuning.cc (ncclTopoTuneModel); the times
// are fitted (platforms/protocols/nccl.yaml).

#include "collectives/protocol_overheads.hpp"
#include "units/quantity.hpp"

namespace trainyard {

/// The turns of a phase whose edges lead between nodes, for rounds (rings).
struct RingTurns {
  Seconds turn;           ///< of a channel, besides its bytes; 0: none
  double channels = 1;    ///< that share an edge of the pattern
  double part = 1;        ///< of a ring's edges that lead between nodes
  Bandwidth rate;         ///< of an edge when all send
  bool is_ll128 = false;  ///< small messages take shorter turns
};

/// For chunks (trees).
struct TreeTurns {
  Seconds chunk;        ///< of a channel per chunk, besides its bytes; 0: none
  Bandwidth rate;       ///< at which one channel sends and adds
  double channels = 1;  ///< that share an edge of the pattern
  int all_channels = 0;
  int nodes = 0;
  double per_node = 1;  ///< ranks
  bool is_ll128 = false;
};

/// How much longer than latency + bytes / rate a step of a ring takes on average. A step ends when the
/// slowest edge has had its turn, which carries the channel's own bytes at the NIC's rate, and when the mean
/// edge has passed its message on, whichever is later; both smoothly (the fourth-power mean). Not negative
/// enough to make a step shorter than its bytes.
Seconds beyond_latency(const RingTurns& turns, Seconds latency, Bytes message);

/// The chunk of NCCL's trees for a collective of `size`: with Simple a slot of the buffer, with LL128 smaller
/// for small sizes.
Bytes tree_chunk(const TreeTurns& turns, Bytes size);

/// The rate of an edge of a tree when its channels take turns, at most `rate`.
Bandwidth rate_with_turns(const TreeTurns& turns, Bytes size, Bandwidth rate);

/// Channels over several nodes as NCCL's search finds them: `rings` with one NIC each, divided in two where
/// they are fast and few.
struct SearchedChannels {
  int planned = 0;  ///< of the search, which the tables know
  int started = 0;  ///< of the kernels
};

/// `nic`: GB/s that NCCL counts for each. Since Hopper up to four channels are divided, more only from 50
/// GB/s on. Kernels have two channels for each, since Hopper four if they are faster than 45 GB/s and fewer
/// than eight.
SearchedChannels channels_between(int rings, double nic, int compute_capability);

}  // namespace trainyard
