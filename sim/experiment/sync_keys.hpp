#pragma once
// Which keys of `sync` belong to which kind of synchronisation and which update rule: what checks refuse
// elsewhere, and what an override of the kind or the rule leaves out.

#include "experiment/experiment.hpp"

#include <array>
#include <string_view>

namespace trainyard {

/// The keys that only some update rules have.
inline constexpr std::array<std::string_view, 6> keys_of_rules{"k",          "adaptive_k",  "bound",
                                                               "push_every", "fetch_every", "backups"};

/// Whether a rule has one of these keys.
bool has_key(UpdateRule rule, std::string_view key);

/// Whether a rule lets ranks go on without each other, so that gradients go through servers.
bool needs_servers(UpdateRule rule);

}  // namespace trainyard
