#pragma once
// The ways to carry out a collective, one per fidelity: by formula, by macro rounds, message by message.

#include "engine/replay.hpp"

#include <optional>
#include <vector>

namespace trainyard::engine {

/// Fidelity::closed: without SimGrid, every collective alone on the network.
Timeline run_closed(const TaskGraph& graph, const EngineOptions& options);

/// run_closed(), if no two collectives that run at the same time share a link, so that flows on the network
/// would take the times of the closed form; otherwise nothing. Jobs alone on links that do not change.
std::optional<Timeline> run_undisturbed(const TaskGraph& graph, const EngineOptions& options);

/// Fidelity::flow and Fidelity::rounds: a round is one flow over the union of its edges' links.
Timeline run_macro(const TaskGraph& graph, const EngineOptions& options);

/// Fidelity::messages: one flow per message.
Timeline run_messages(const TaskGraph& graph, const EngineOptions& options);

/// Adds the bytes on each link of a pattern (or a part of one) whose every edge carried `bytes`.
void add_link_bytes(Bytes bytes, const LinkUses& uses, LinkValues<double>& bytes_by_link);
void add_link_bytes(Bytes bytes, const LinkUses& uses, std::vector<double>& bytes_by_link);
inline void add_link_bytes(Bytes bytes, std::span<const LinkUse> uses, std::vector<double>& bytes_by_link) {
  for (const LinkUse& use : uses) bytes_by_link[index(use.link)] += bytes.si() * use.times;
}

}  // namespace trainyard::engine
