#include "experiment/sync_keys.hpp"

namespace trainyard {

bool has_key(UpdateRule rule, std::string_view key) {
  if (key == "k" || key == "adaptive_k") return takes_k(rule);
  if (key == "bound") return rule == UpdateRule::ssp;
  if (key == "push_every") return rule == UpdateRule::local_sgd || rule == UpdateRule::downpour;
  if (key == "fetch_every") return rule == UpdateRule::downpour;
  return rule == UpdateRule::sync;  // backups
}

bool needs_servers(UpdateRule rule) { return rule != UpdateRule::sync && rule != UpdateRule::local_sgd; }

}  // namespace trainyard
