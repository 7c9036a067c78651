// A fat tree: leaf switches, any number of levels of spines above them, one core that joins the highest
// level. The cables from a switch upwards are one link with their total bandwidth: adaptive routing spreads
// over them, and collisions are not modelled.

#include "platform/fabric_definition.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {
namespace {

/// A switch has an uplink and a downlink only if they can limit traffic: if its level is
/// oversubscribed and some node lies outside the switch.
class FatTree final : public FabricNetwork {
public:
  FatTree(const Fabric& fabric, int nodes, int nics) : FabricNetwork(fabric) {
    double narrowed = 1;  // product over the levels so far
    const bool is_assumed =
        fabric.nic.is_assumed() || std::ranges::any_of(fabric.levels, [](const TreeLevel& level) {
          return level.oversubscription.is_assumed();
        });
    for (const TreeLevel& level : fabric.levels) {
      const int under = level.nodes_per_switch.value;
      narrowed *= level.oversubscription.value;
      const int switches = (nodes + under - 1) / under;
      levels_.push_back(
          {.nodes_per_switch = under,
           .has_links = level.oversubscription.value > 1 && switches > 1,
           .first_link = links_,
           .rates = link_rates(fabric, fabric.nic.value * (nics * (under / narrowed)), is_assumed)});
      if (levels_.back().has_links) links_ += 2 * unsigned_of(switches);
    }
  }
  [[nodiscard]] std::uint32_t links() const override { return links_; }
  [[nodiscard]] LinkRates rates(std::uint32_t link) const override { return level_of(link).rates; }

  [[nodiscard]] std::string name(std::uint32_t link) const override {
    const Level& level = level_of(link);
    const auto below = static_cast<std::size_t>(&level - levels_.data());
    const std::uint32_t lower = (link - level.first_link) / 2;
    std::uint32_t upper = 0;
    if (below + 1 < levels_.size()) {
      upper = lower * unsigned_of(level.nodes_per_switch) / unsigned_of(levels_[below + 1].nodes_per_switch);
    }
    const std::string down_there = switch_name(below, lower);
    const std::string up_there = switch_name(below + 1, upper);
    return (link - level.first_link) % 2 == 0 ? down_there + "->" + up_there : up_there + "->" + down_there;
  }

  std::optional<Seconds> append_route(Port from, Port to, std::uint32_t first,
                                      std::vector<LinkId>& links) const override {
    const auto add = [&](const Level& level, int node, std::uint32_t direction) {
      const std::uint32_t switch_number = unsigned_of(node / level.nodes_per_switch);
      if (level.has_links) links.push_back(LinkId{first + level.first_link + 2 * switch_number + direction});
    };
    std::size_t top = 0;  // number of levels that the route climbs
    while (top < levels_.size() &&
           from.node / levels_[top].nodes_per_switch != to.node / levels_[top].nodes_per_switch)
      add(levels_[top++], from.node, 0);
    for (std::size_t below = top; below-- > 0;) add(levels_[below], to.node, 1);
    return latency(2 * static_cast<int>(top));
  }

  [[nodiscard]] std::optional<std::vector<std::int64_t>> all_to_all_counts(
      std::span<const std::int64_t> ranks) const override {
    std::vector<std::int64_t> counts(links_, 0);
    std::int64_t all = 0;
    for (const std::int64_t below : ranks) all += below;
    for (const Level& level : levels_) {
      if (!level.has_links) continue;
      std::vector<std::int64_t> below;
      for (std::size_t leaf = 0; leaf < ranks.size(); ++leaf) {
        below.resize(at(switch_over(level, static_cast<int>(leaf))) + 1, 0);
        below.back() += ranks[leaf];
      }
      for (std::size_t i = 0; i < below.size(); ++i) {
        const std::size_t up = level.first_link + 2 * i;
        counts[up] = counts[up + 1] = below[i] * (all - below[i]);
      }
    }
    return counts;
  }
  /// A route climbs to the level below which both ends have one switch.
  [[nodiscard]] std::vector<Seconds> longest_routes(const std::vector<bool>& from) const override {
    std::vector<Seconds> longest(from.size(), latency(0));
    const auto first = std::ranges::find(from, true) - from.begin();
    const auto last = from.rend() - std::find(from.rbegin(), from.rend(), true) - 1;
    for (std::size_t leaf = 0; leaf < from.size(); ++leaf) {
      int top = 0;
      for (const Level& level : levels_) {
        const int here = switch_over(level, static_cast<int>(leaf));
        const bool differs = switch_over(level, static_cast<int>(first)) != here ||
                             switch_over(level, static_cast<int>(last)) != here;
        if (differs) ++top;
      }
      longest[leaf] = latency(2 * top);
    }
    return longest;
  }
  [[nodiscard]] std::uint32_t links_of_switch() const override { return 2; }
  [[nodiscard]] int first_switch(Port port) const override {
    return port.node / levels_.front().nodes_per_switch;
  }
  [[nodiscard]] std::vector<NarrowCut> narrow_cuts() const override {
    std::vector<NarrowCut> cuts;
    for (const Level& level : levels_) {
      if (!level.has_links) continue;
      cuts.push_back(
          {[under = level.nodes_per_switch](int node) { return node / under; }, level.rates.specified});
    }
    return cuts;
  }

private:
  struct Level {
    int nodes_per_switch = 1;
    bool has_links = false;
    std::uint32_t first_link = 0;  ///< up from switch 0, then down to it, then those of switch 1
    LinkRates rates;
  };

  [[nodiscard]] int switch_over(const Level& level, int leaf) const {
    return leaf / (level.nodes_per_switch / levels_.front().nodes_per_switch);
  }

  [[nodiscard]] const Level& level_of(std::uint32_t link) const {
    return *std::find_if(levels_.rbegin(), levels_.rend(),
                         [&](const Level& level) { return level.has_links && level.first_link <= link; });
  }

  [[nodiscard]] std::string switch_name(std::size_t level, std::uint32_t number) const {
    if (level == levels_.size()) return "core";
    if (level == 0) return "leaf" + std::to_string(number);
    // levels between leaves and core are numbered if there are several
    const std::string spine = levels_.size() > 2 ? "spine" + std::to_string(level) + "." : "spine";
    return spine + std::to_string(number);
  }

  std::vector<Level> levels_;
  std::uint32_t links_ = 0;
};

void read_tree(const FabricFile& file, int /*nics*/, Fabric& fabric, config::Problems& problems) {
  fabric.levels = file.levels;
  if (file.levels.empty()) {
    TreeLevel& leaves = fabric.levels.emplace_back();
    take(leaves.nodes_per_switch, file.nodes_per_leaf);
    take(leaves.oversubscription, file.oversubscription);
    return;
  }
  if (!problems.readable("fabric.levels")) return;
  if (file.nodes_per_leaf || file.oversubscription) {
    problems.error(file.nodes_per_leaf ? "fabric.nodes_per_leaf" : "fabric.oversubscription",
                   "'levels' already states this for each level",
                   "levels: [{nodes_per_switch: 16, oversubscription: 2}], or nodes_per_leaf and "
                   "oversubscription alone");
  }
  for (std::size_t i = 1; i < fabric.levels.size(); ++i) {
    const int below = fabric.levels[i - 1].nodes_per_switch.value;
    const int here = fabric.levels[i].nodes_per_switch.value;
    if (here > below && here % below == 0) continue;
    problems.error(
        fmt::format("fabric.levels[{}].nodes_per_switch", i),
        fmt::format("{} nodes are no multiple of the {} nodes per switch of the level below", here, below),
        fmt::format("nodes_per_switch: {}, {}, ...", 2LL * below, 3LL * below));
  }
}

std::string tree_lines(const Fabric& fabric, Footnotes& notes) {
  std::string text;
  for (std::size_t i = 0; i < fabric.levels.size(); ++i) {
    const TreeLevel& level = fabric.levels[i];
    const std::string spine = fabric.levels.size() > 2 ? fmt::format("spine{}", i) : "spine";
    text += fmt::format("  {} switches of {} nodes {},", i == 0 ? "leaf" : spine,
                        level.nodes_per_switch.value, notes.mark(level.nodes_per_switch));
    text += " oversubscription " + counted(level.oversubscription, notes) + '\n';
  }
  return text;
}

void draw_tree(const Fabric& fabric, FabricDrawing& drawing) {
  const std::vector<TreeLevel>& levels = fabric.levels;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::string kind = i == 0 ? "leaf" : levels.size() > 2 ? fmt::format("spine{}.", i) : "spine";
    const std::string above = i + 1 == levels.size() ? "core" : fmt::format("level{}_0", i + 1);
    const double over = levels[i].oversubscription.value;
    const std::string label = over > 1 ? fmt::format("{} : 1", shortest(over)) : "";
    for (int k = 0; k < 2; ++k) {
      const std::string name = fmt::format("level{}_{}", i, k);
      drawing.box(name, fmt::format("{}{}\\n{} nodes", kind, k, levels[i].nodes_per_switch.value));
      drawing.line(name, above, label);
    }
    const std::string more = fmt::format("level{}_more", i);
    drawing.rest(more, "...");
    drawing.line(more, above);
  }
  drawing.box("core", "core");
  drawing.enter("level0_0");
}

}  // namespace

FabricDefinition fat_tree() {
  return {.keys = {{"nodes_per_leaf"}, {"levels"}, {"oversubscription"}, {"hop_latency"}},
          .read = read_tree,
          .network = network_of<FatTree>,
          .lines = tree_lines,
          .draw = draw_tree};
}

}  // namespace trainyard
