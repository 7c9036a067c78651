#pragma once
// Everything that depends on the kind of a fabric, except its links: one definition per kind, in the source
// of the kind's network.

#include "config/problems.hpp"
#include "platform/fabric_file.hpp"
#include "platform/fabric_network.hpp"
#include "platform/footnotes.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// A key that only some kinds of fabric have.
struct KindKey {
  std::string_view name;
  std::string_view required = {};  ///< hint if the key is missing; empty: the key is optional
  std::string_view instead = {};   ///< hint for a key that does not apply; empty: the key applies
};

/// A drawing for Graphviz: the text so far, and the switch or router of each NIC of the drawn node.
struct FabricDrawing {
  std::string colour;
  std::vector<std::string> entries;
  std::string text = {};

  void box(const std::string& name, const std::string& label);
  void rest(const std::string& name, const std::string& label);
  void line(const std::string& from, const std::string& to, const std::string& label = "",
            const std::string& more = "");
  void enter(const std::string& name) { entries.assign(entries.size(), name); }
};

struct FabricDefinition {
  std::vector<KindKey> keys;
  /// Copies the shape from the file, also if errors were found, and reports errors of its meaning. `nics`:
  /// the number of NICs of a node; negative if unknown.
  void (*read)(const FabricFile& file, int nics, Fabric& fabric, config::Problems& problems);
  /// The links between `nodes` nodes with `nics` NICs each, at most as many nodes as the fabric has places
  /// for.
  Network (*network)(const Fabric& fabric, int nodes, int nics);
  /// The shape for people, one line per figure or two, indented by two blanks. One statement per figure: the
  /// order of the notes must not depend on the compiler.
  std::string (*lines)(const Fabric& fabric, Footnotes& notes);
  /// Draws the part near one node: a few switches, routers or groups stand for all.
  void (*draw)(const Fabric& fabric, FabricDrawing& drawing);
};

FabricDefinition single_switch();
FabricDefinition fat_tree();
FabricDefinition rail_optimised();
FabricDefinition torus();
FabricDefinition dragonfly();
FabricDefinition custom_fabric();
FabricDefinition listed_routes();

inline FabricDefinition definition(FabricKind kind) {
  switch (kind) {
    case FabricKind::none:
    case FabricKind::single_switch:
      return single_switch();
    case FabricKind::fat_tree:
      return fat_tree();
    case FabricKind::rail_optimised:
      return rail_optimised();
    case FabricKind::torus2d:
    case FabricKind::torus3d:
      return torus();
    case FabricKind::dragonfly:
      return dragonfly();
    case FabricKind::custom:
      return custom_fabric();
    case FabricKind::routes:
      return listed_routes();
  }
  return single_switch();
}

// Parts of definitions.

template <class Class>
Network network_of(const Fabric& fabric, int nodes, int nics) {
  return std::make_shared<const Class>(fabric, nodes, nics);
}

/// Replaces the default by the file's value, if there is one.
template <class T>
void take(T& target, const std::optional<T>& given) {
  if (given) target = *given;
}

/// The `read` of a custom fabric: its switches and links, with lists written out. Leaves out entries with
/// errors.
void read_custom(const FabricFile& file, int nics, Fabric& fabric, config::Problems& problems);

/// The `read` of listed routes, in the same way.
void read_routes(const FabricFile& file, int nics, Fabric& fabric, config::Problems& problems);

}  // namespace trainyard
