#pragma once
// The fabric in `trainyard topology`: lines for people and a drawing for Graphviz.

#include "platform/footnotes.hpp"
#include "platform/platform.hpp"

#include <string>

namespace trainyard {

/// The shape of the fabric and how nodes use it, one line per figure or two, indented by two blanks; empty
/// without a fabric.
std::string fabric_lines(const Platform& platform, Footnotes& notes);

/// The fabric below the NICs of one node in Graphviz's dot language, only near that node: a few switches,
/// routers or groups stand for all. Colour of every line: `colour`.
std::string fabric_dot(const Platform& platform, const std::string& colour);

}  // namespace trainyard
