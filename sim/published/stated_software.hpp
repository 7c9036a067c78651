#pragma once
// Software named in the text of a published row: the version of NCCL, and the algorithms and protocols
// allowed by NCCL's environment variables. Used by collective_curves.hpp.

#include "collectives/algorithm.hpp"
#include "collectives/nccl.hpp"
#include "collectives/protocol_overheads.hpp"
#include "published/published_rows.hpp"

#include <optional>
#include <string>

namespace trainyard {

/// The version of the tables for the stated version of NCCL ("NCCL 2.6.4", "NCCL version 2.18.5+cuda12",
/// "nccl2.10.3", "libnccl2=2.7.8-1" in the framework, else in the detail of the source, else in the notes);
/// nothing if none is stated. Versions of aws-ofi-nccl and nccl-tests do not count.
std::optional<NcclVersion> stated_nccl(const PublishedRow& row);

/// Settings that NCCL was given.
struct StatedChoice {
  Algorithm algorithm = Algorithm::automatic;
  std::optional<Protocol> protocol;  ///< none: NCCL's choice
  std::string not_simulated;         ///< "nccl_algo=nvls": a setting that cannot be simulated; usually empty
};

/// NCCL_ALGO, NCCL_PROTO and NCCL_TREE_THRESHOLD=0 (only rings) in the detail of the source or the notes.
StatedChoice stated_choice(const PublishedRow& row);

}  // namespace trainyard
