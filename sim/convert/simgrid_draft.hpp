#pragma once
// A platform of SimGrid as one of ours: each host is a node with one GPU, the fabric has SimGrid's routes.

#include "engine/simgrid_platform.hpp"
#include "interchange/input_text.hpp"
#include "interchange/make_platform.hpp"

namespace trainyard {

/// The rate of the nodes' GPUs: all cores of the slowest host, for which the others would wait.
FlopRate least_speed(const engine::SimgridPlatform& read);

/// The hosts by name are nodes 0, 1, ... Links that all routes of a host share at one end are its `ends`, and
/// hosts with the same other links are one list, so that clusters need few entries. A warning, with line and
/// effect, names each part that a platform cannot say. `answers` has the name, the profile and the transport.
PlatformDraft draft_of_simgrid(const InputText& input, const engine::SimgridPlatform& read,
                               const PlatformAnswers& answers);

}  // namespace trainyard
