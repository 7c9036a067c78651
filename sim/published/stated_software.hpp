#pragma once
// What a published row says in words about the software it ran: the version of NCCL, and which of NCCL's
// algorithms and protocols an environment variable left it. collective_curves.hpp makes curves by it.

#include "collectives/algorithm.hpp"
#include "collectives/costs.hpp"
#include "collectives/nccl.hpp"
#include "published/published_rows.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// The text with A-Z as a-z.
std::string in_small_letters(std::string_view text);

/// The version of the tables that a stated version of NCCL had ("NCCL 2.6.4", "NCCL version 2.18.5+cuda12",
/// "nccl2.10.3", "libnccl2=2.7.8-1" in the framework, else in the detail of the source, else in the notes);
/// nothing if none is stated. A version of aws-ofi-nccl or of nccl-tests is none.
std::optional<NcclVersion> stated_nccl(const PublishedRow& row);

/// What NCCL was told to use.
struct StatedChoice {
  Algorithm algorithm = Algorithm::automatic;
  std::optional<Protocol> protocol;  ///< none: as NCCL chooses
  std::string not_simulated;  ///< "nccl_algo=nvls": a demand that has no counterpart here; usually empty
};

/// NCCL_ALGO, NCCL_PROTO and NCCL_TREE_THRESHOLD=0 (rings alone) in the detail of the source or the notes.
StatedChoice stated_choice(const PublishedRow& row);

}  // namespace trainyard
