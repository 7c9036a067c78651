#pragma once
// What `trainyard topology` says about a fabric: lines for people and a drawing for Graphviz.

#include "platform/footnotes.hpp"
#include "platform/platform.hpp"

#include <string>

namespace trainyard {

/// The shape of the fabric and how nodes use it, a line for each figure or two, indented by two blanks; empty
/// without a fabric.
std::string fabric_lines(const Platform& platform, Footnotes& notes);

/// The fabric below the NICs of one node in Graphviz's dot language, its part near that node: a few switches,
/// routers or groups of each sort stand for all. Colour of every line: `colour`.
std::string fabric_dot(const Platform& platform, const std::string& colour);

}  // namespace trainyard
