#include "document/html.hpp"
#include "platform/cluster.hpp"
#include "platform/connection.hpp"
#include "report/group_table.hpp"
#include "report/run_page.hpp"
#include "run/group_links.hpp"
#include "run/step.hpp"
#include "units/text_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <set>
#include <span>

namespace trainyard {

namespace {

constexpr double rate_unit = 1e9;

/// A node with its GPUs side by side, and below them a line for every group, through the ranks that are in
/// it. Horizontal coordinates are percent of the width, vertical ones pixels.
class NodePicture {
public:
  NodePicture(const Cluster& cluster, const std::vector<GroupsOfKind>& kinds, const NodeKind& node)
      : cluster_(cluster), kinds_(kinds), node_(node), ranks_(cluster.gpus_on_node[at(node.node)]) {}

  Html html() {
    draw_gpus();
    double top = first_lane;
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) top = draw_lane(kind, top);
    const std::string name = fmt::format("groups of the ranks on node {}", node_.node);
    return {
        fmt::format("<div class=\"scroll\"><svg class=\"groups\" role=\"img\" width=\"100%\" "
                    "height=\"{:.0f}\"{}>\n{}</svg></div>\n",
                    top + margin, attribute("aria-label", name), svg_)};
  }

private:
  static constexpr double left = 13;   ///< percent: where the node begins
  static constexpr double right = 64;  ///< and where it ends
  static constexpr double outside = 67;
  static constexpr double words = 69;
  static constexpr double gpu_top = 24, gpu_height = 22;
  static constexpr double first_lane = 66;
  static constexpr double line_gap = 11;
  static constexpr double least_height = 34;  ///< two lines of text
  static constexpr double lane_gap = 12;
  static constexpr double margin = 4;

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Args>(args)...);
  }

  [[nodiscard]] double width() const { return (right - left) / ranks_; }
  [[nodiscard]] double middle(int rank) const { return left + (rank + 0.5) * width(); }

  void draw_text(double x, double y, std::string_view kind, std::string_view text) {
    add("<text class=\"{}\" x=\"{:.2f}%\" y=\"{:.1f}\">{}</text>\n", kind, x, y, as_text(text).markup);
  }

  void draw_gpus() {
    const int first = cluster_.first_rank[at(node_.node)];
    const auto socket = [&](int i) {
      return nearest_cpu(cluster_.platform, cluster_.gpu_of(Rank{first + i}));
    };
    for (int begin = 0; begin < ranks_;) {
      int end = begin + 1;
      while (end < ranks_ && socket(end) == socket(begin)) ++end;
      constexpr double inset = 0.2;
      add("<rect class=\"socket\" x=\"{:.2f}%\" y=\"1\" width=\"{:.2f}%\" height=\"52\" rx=\"4\"/>\n",
          left + begin * width() + inset, (end - begin) * width() - 2 * inset);
      if (socket(begin) >= 0)
        draw_text(left + (begin + end) * width() / 2, 16, "middle", fmt::format("socket {}", socket(begin)));
      begin = end;
    }
    constexpr double share = 0.8;  // of the width of a GPU's column
    for (int i = 0; i < ranks_; ++i) {
      add("<rect class=\"gpu\" x=\"{:.2f}%\" y=\"{}\" width=\"{:.2f}%\" height=\"{}\" rx=\"3\"/>\n",
          middle(i) - share * width() / 2, gpu_top, share * width(), gpu_height);
      draw_text(middle(i), gpu_top + 15, "middle rank", std::to_string(first + i));
    }
    draw_text(0, gpu_top + 15, "name", "rank");
  }

  /// Returns where the next lane begins.
  double draw_lane(std::size_t number, double top) {
    const GroupsOfKind& kind = kinds_[number];
    const std::vector<int>& group_of = node_.group_of[number];
    const int groups = group_of.empty() ? 0 : std::ranges::max(group_of) + 1;
    if (groups == 0) return top;
    const double lines = groups * line_gap;
    const double height = std::max(least_height, lines);
    const double begin = top + (height - lines) / 2 + line_gap / 2;
    constexpr std::size_t colours = 7;
    add("<g class=\"group{}\">\n", number % colours);
    for (int group = 0; group < groups; ++group) draw_group(number, group, begin + group * line_gap);
    svg_ += "</g>\n";
    draw_text(0, top + height / 2 + 4, "name", kind.name);
    std::set<std::string> media;
    for (const GroupLinks& links : kind.links) media.insert(links.medium);
    draw_text(
        words, top + height / 2 - 3, "rank",
        fmt::format("{} of {}, {}", count(kind.groups, "group"), grouped(kind.size), place_in_words(kind)));
    draw_text(words, top + height / 2 + 13, "rank",
              fmt::format("{}; {:.1f} GB/s a rank", fmt::join(media, ", "), kind.rate.si() / rate_unit));
    return top + height + lane_gap;
  }

  void draw_group(std::size_t kind, int group, double y) {
    const std::vector<int>& group_of = node_.group_of[kind];
    std::vector<int> members;
    for (int i = 0; i < ranks_; ++i) {
      if (group_of[at(i)] == group) members.push_back(i);
    }
    const double end = node_.leaves[kind] ? outside : middle(members.back());
    add("<line x1=\"{0:.2f}%\" x2=\"{1:.2f}%\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>\n", middle(members.front()),
        end, y);
    for (const int member : members)
      add("<circle cx=\"{:.2f}%\" cy=\"{:.1f}\" r=\"3.6\"/>\n", middle(member), y);
    if (node_.leaves[kind])
      add("<svg x=\"{:.2f}%\" y=\"{:.1f}\" width=\"10\" height=\"10\"><path d=\"M0 1L8 5L0 9Z\"/></svg>\n",
          end, y - 5);
  }

  const Cluster& cluster_;
  const std::vector<GroupsOfKind>& kinds_;
  const NodeKind& node_;
  int ranks_;
  std::string svg_;
};

}  // namespace

void add_groups(doc::Document& page, const Run& run) {
  const Step* step = std::get_if<Step>(&run.what);
  if (step == nullptr || !run.experiment.layout) return;
  const std::vector<GroupsOfKind> kinds = group_links(run.experiment, step->plan.graph);
  if (kinds.empty()) return;
  const Cluster& cluster = *run.experiment.cluster;
  const std::vector<NodeKind> nodes = node_kinds(cluster, kinds);
  doc::Section& section = page.section("groups", "groups and links");
  section.add(doc::Sentence{
      "A line is a group of ranks, which a dot marks; an arrow goes on to other nodes. GB/s: sent by a rank "
      "while all these groups of a stage send and nothing else uses the network."});
  constexpr std::size_t most_nodes = 4;
  for (const NodeKind& node : std::span(nodes).first(std::min(most_nodes, nodes.size()))) {
    section.add(doc::Heading{node.nodes == 1
                                 ? fmt::format("node {}", node.node)
                                 : fmt::format("node {} (x {})", node.node, grouped(node.nodes))});
    section.add(doc::Drawing{"node", NodePicture(cluster, kinds, node).html()});
  }
  if (nodes.size() > most_nodes)
    section.add(doc::Sentence{fmt::format("On {} more kinds of nodes groups lie in other ways.",
                                          grouped(static_cast<std::int64_t>(nodes.size() - most_nodes)))});
  section.add(doc::Heading{
      "links of these groups",
      "Each direction of a link counts. Groups on one: most groups of a kind that share a link."});
  section.add(group_links_table(kinds));
}

}  // namespace trainyard
