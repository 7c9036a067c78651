#include "imports/group_layout.hpp"

#include "interchange/input_text.hpp"
#include "strategy/grid.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace trainyard {
namespace {

using Axes = std::vector<Axis>;

/// The words of a description, in small letters: "mesh_dp_shard" has three.
std::set<std::string> description_words(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      word += static_cast<char>(std::tolower(letter));
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.insert(word);
  return words;
}

/// The axes that a framework's description of a group allows: of Megatron-LM
/// (megatron/core/parallel_state.py, group_desc) and of the dimensions of PyTorch's DeviceMesh. Empty if it
/// says nothing.
Axes described_axes(std::string_view description) {
  const std::set<std::string> words = description_words(description);
  const auto has = [&](std::initializer_list<const char*> any) {
    return std::ranges::any_of(any, [&](const char* word) { return words.contains(word); });
  };
  const bool tensor = has({"tensor", "tp"});
  const bool expert = has({"expert", "ep"});
  const bool context = has({"context", "cp"});
  const bool pipeline = has({"pipeline", "pp"});
  const bool data = has({"data", "dp", "ddp", "fsdp", "replicate", "shard"});
  if (pipeline) return tensor || expert || data ? Axes() : Axes{Axis::pipeline};
  if (tensor) return expert || data || context ? Axes() : Axes{Axis::tensor};
  if (expert) return data ? Axes{Axis::expert_data} : Axes{Axis::expert};
  if (has({"layer"}))
    return data ? Axes{Axis::layer_data} : Axes{Axis::layer};  // as this program exports them
  if (has({"shard"})) return {Axis::layer, Axis::data};
  if (has({"replicate"})) return {Axis::layer_data, Axis::data};
  if (data) return {Axis::data};
  return context ? Axes{Axis::context} : Axes();
}

/// The axes that a group may have, the most usual first.
Axes likely_axes(const UsedGroup& group) {
  Axes described = described_axes(group.description);
  if (!described.empty()) return described;
  if (group.exchanges) return {Axis::expert, Axis::context, Axis::tensor};
  if (group.sums_in_forward) return {Axis::tensor, Axis::data, Axis::context};
  if (group.gathers_in_forward) return {Axis::data, Axis::layer, Axis::context};
  if (group.sums_behind_forward) return {Axis::data, Axis::layer_data, Axis::expert_data};
  return {Axis::data, Axis::tensor, Axis::context, Axis::layer, Axis::layer_data, Axis::expert};
}

std::vector<int> divisors(int number) {
  std::vector<int> result;
  for (int i = 1; i <= number; ++i) {
    if (number % i == 0) result.push_back(i);
  }
  return result;
}

bool has_group(const Grid& grid, Axis axis, const std::vector<int>& ranks) {
  if (group_size(grid, axis) != static_cast<int>(ranks.size())) return false;
  const RankGroups all = groups(grid, axis);
  return std::ranges::any_of(all, [&](const std::vector<Rank>& group) {
    return std::ranges::equal(group, ranks, {}, [](Rank rank) { return index(rank); });
  });
}

class LayoutSearch {
public:
  LayoutSearch(std::span<const UsedGroup> groups, int ranks, std::span<const std::vector<int>> other_groups)
      : groups_(groups), others_(other_groups), ranks_(ranks) {
    for (const UsedGroup& one : groups) choices_.push_back(likely_axes(one));
  }

  /// The best layout with as many stages.
  std::optional<GroupLayout> find(int pipeline) {
    pipeline_ = pipeline;
    found_.reset();
    Axes order = Parallelism{}.order;
    try_order(order);
    // other orders of those within a stage
    std::sort(order.begin(), order.end() - 1);
    do {
      if (found_) break;
      try_order(order);
    } while (std::next_permutation(order.begin(), order.end() - 1));
    return found_;
  }

private:
  void try_order(const Axes& order) {
    order_ = order;
    least_ = std::numeric_limits<std::size_t>::max();
    axes_.clear();
    assign(0);
  }

  /// Tries all axes of the groups from this one on. `cost`: how unusual those before it are.
  void assign(std::size_t cost) {
    if (cost >= least_) return;
    const std::size_t group = axes_.size();
    if (group == groups_.size()) {
      if (auto layout = fitting()) {
        found_ = std::move(layout);
        least_ = cost;
      }
      return;
    }
    for (std::size_t i = 0; i < choices_[group].size(); ++i) {
      const Axis axis = choices_[group][i];
      bool is_other = false;  // the axis is that of other ranks already
      for (std::size_t before = 0; before < group; ++before)
        is_other = is_other || (axes_[before] == axis && groups_[before].ranks != groups_[group].ranks);
      if (is_other) continue;
      axes_.push_back(axis);
      assign(cost + i);
      axes_.pop_back();
    }
  }

  /// Ranks of the group of an axis; 0 if none has it.
  [[nodiscard]] int assigned(Axis axis) const {
    const auto found = std::ranges::find(axes_, axis);
    return found == axes_.end() ? 0 : static_cast<int>(groups_[found - axes_.begin()].ranks.size());
  }

  [[nodiscard]] std::optional<GroupLayout> fitting() const {
    if (assigned(Axis::pipeline) > 0 && assigned(Axis::pipeline) != pipeline_) return std::nullopt;
    const bool is_usual = order_ == Parallelism{}.order;
    if (!is_usual && (assigned(Axis::tensor) == 0 || assigned(Axis::data) == 0)) return std::nullopt;
    if (const int tensor = assigned(Axis::tensor); tensor > 0) return layout_with(tensor);
    for (const int tensor : divisors(ranks_ / pipeline_)) {
      if (auto layout = layout_with(tensor)) return layout;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<GroupLayout> layout_with(int tensor) const {
    Parallelism layout{.tensor = tensor,
                       .pipeline = pipeline_,
                       .context = std::max(1, assigned(Axis::context)),
                       .order = order_};
    const int replicas = ranks_ / (tensor * pipeline_);
    const auto part = [&](Axis of_parts, Axis of_replicas) {
      if (const int size = assigned(of_parts); size > 0) return size;
      return assigned(of_replicas) > 0 ? replicas / assigned(of_replicas) : 0;
    };
    layout.expert = std::max(1, part(Axis::expert, Axis::expert_data));
    if (const int layer = part(Axis::layer, Axis::layer_data); layer > 0) layout.layer_group = layer;
    if (grid_refusal(layout, ranks_)) return std::nullopt;
    const Grid grid = make_grid(layout, ranks_);
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (!has_group(grid, axes_[i], groups_[i].ranks)) return std::nullopt;
    }
    for (const std::vector<int>& other : others_) {
      if (std::ranges::none_of(axes_, [&](Axis axis) { return has_group(grid, axis, other); }))
        return std::nullopt;
    }
    return GroupLayout{std::move(layout), axes_};
  }

  std::span<const UsedGroup> groups_;
  std::span<const std::vector<int>> others_;
  int ranks_;
  int pipeline_ = 1;
  std::vector<Axes> choices_;
  Axes order_, axes_;
  std::size_t least_ = 0;
  std::optional<GroupLayout> found_;
};

std::string in_words(const UsedGroup& group) {
  return group.name.empty() ? "a group" : "group " + shown(group.name, 40);
}

}  // namespace

Known<GroupLayout> layout_of_groups(std::span<const UsedGroup> groups, int ranks,
                                    std::span<const std::vector<int>> other_groups) {
  constexpr int most_ranks = 100'000;
  constexpr std::size_t most_groups = 8;
  for (const UsedGroup& one : groups) {
    if (one.ranks.empty())
      return unknown(fmt::format("the profile does not say the ranks of {}", in_words(one)));
    if (one.ranks.back() >= ranks)
      return unknown(fmt::format("{} has rank {} of {}", in_words(one), one.ranks.back(), ranks));
  }
  if (ranks > most_ranks || groups.size() > most_groups)
    return unknown(fmt::format("layouts of up to {} ranks and {} groups are recognised", grouped(most_ranks),
                               most_groups));
  LayoutSearch search(groups, ranks, other_groups);
  if (auto layout = search.find(1)) return *std::move(layout);
  for (const int stages : divisors(ranks)) {
    if (stages == 1 || !search.find(stages)) continue;
    return unknown(
        fmt::format("their groups are those of {} stages of a pipeline, which need a trace each", stages));
  }
  if (!other_groups.empty() && LayoutSearch(groups, ranks, {}).find(1))
    return unknown(
        "the groups of the profile's rank are those of a layout, but not those of the other ranks");
  std::string list;
  for (const UsedGroup& one : groups) {
    std::string members;
    constexpr std::size_t most = 4;
    for (std::size_t i = 0; i < std::min(one.ranks.size(), most); ++i)
      members += fmt::format("{}{}", i > 0 ? ", " : "", one.ranks[i]);
    list += fmt::format("{}{} of ranks {}{}", list.empty() ? "" : "; ", in_words(one), members,
                        one.ranks.size() > most ? ", ..." : "");
  }
  return unknown(fmt::format("no layout of 'parallelism' has their groups ({})", list));
}

std::vector<std::pair<std::string, std::string>> layout_settings(const Parallelism& layout) {
  std::vector<std::pair<std::string, std::string>> settings;
  const auto add = [&](const char* key, std::string value) {
    settings.emplace_back(fmt::format("parallelism.{}", key), std::move(value));
  };
  for (const auto& [key, size] : {std::pair("tensor", layout.tensor), std::pair("context", layout.context),
                                  std::pair("expert", layout.expert)}) {
    if (size > 1) add(key, std::to_string(size));
  }
  if (layout.layer_group) add("layer_group", std::to_string(*layout.layer_group));
  if (layout.order != Parallelism{}.order) {
    std::string order;
    for (const Axis axis : layout.order)
      order += fmt::format("{}{}", order.empty() ? "" : ", ", config::name_of(axis));
    add("order", "[" + order + "]");
  }
  return settings;
}

std::optional<std::vector<int>> listed_ranks(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array()) return std::nullopt;
  std::vector<int> ranks;
  for (const auto& one : json) {
    constexpr std::uint64_t most = 1'000'000'000;
    if (!one.is_number_unsigned() || one.get<std::uint64_t>() > most) return std::nullopt;
    ranks.push_back(one.get<int>());
  }
  std::ranges::sort(ranks);
  return ranks;
}

}  // namespace trainyard
