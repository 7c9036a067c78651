#pragma once
// A file with a platform of SimGrid: read by SimGrid, and refused at its line.

#include "engine/simgrid_platform.hpp"
#include "interchange/input_text.hpp"
#include "interchange/xml.hpp"

#include <string_view>

namespace trainyard {

/// Has SimGrid read the file of `input`. Throws InputError at a line for files that are no XML, that SimGrid
/// refuses, that have no host, more than most_simgrid_hosts, speeds, rates or latencies that no machine has,
/// or links whose bandwidth depends on the load.
engine::SimgridPlatform read_simgrid(const InputText& input);

/// act(element) for `element` and, where it returns true, for the elements within.
void visit_xml(const XmlElement& element, const auto& act) {
  if (!act(element)) return;
  for (const XmlElement& child : element.children) visit_xml(child, act);
}

/// The line of the element that a text of SimGrid names: the one whose attributes have the most of its words
/// as values, or their start for the hosts and links of a cluster. The last of several; that of
/// `root` if there is none.
int line_of(const XmlElement& root, std::string_view text);

}  // namespace trainyard
