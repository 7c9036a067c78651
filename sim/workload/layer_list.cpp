#include "workload/layer_list.hpp"

#include "config/document.hpp"
#include "workload/layer_graph.hpp"
#include "workload/list_names.hpp"
#include "workload/listed_kinds.hpp"

#include <concepts>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <type_traits>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t most_entries = 3 * most_listed_layers;  // some have no layers: groups, crops

/// Whether a key of this type decides the kind of the entry, and is not a name or a number.
template <class T>
constexpr bool is_kind = false;
template <class T>
constexpr bool is_kind<std::optional<T>> = !std::same_as<T, std::string> && !std::same_as<T, int>;
/// Whether it is a layer: not the shape of an input, nor the layers of a group.
template <class T>
constexpr bool is_layer = is_kind<T> && !std::same_as<T, std::optional<std::vector<int>>> &&
                          !std::same_as<T, std::optional<std::vector<ListedLayer>>>;

/// Calls `visit` with key and value of each kind that an entry has.
template <class Visit>
void for_each_kind(const ListedLayer& entry, Visit visit) {
  config::Keys<ListedLayer>::table()([&](const auto&... key) {
    const auto visit_kind = [&](const auto& one) {
      if constexpr (is_kind<std::remove_cvref_t<decltype(entry.*one.member)>>) {
        if (entry.*one.member) visit(one.name, *(entry.*one.member));
      }
    };
    (visit_kind(key), ...);
  });
}

/// The kinds of an entry, which should be one.
std::vector<std::string_view> kinds_of(const ListedLayer& entry) {
  std::vector<std::string_view> kinds;
  for_each_kind(entry, [&](std::string_view kind, const auto&) { kinds.push_back(kind); });
  return kinds;
}

/// Walks through the list and its groups.
class ListBuilder {
public:
  LayerList build(const std::vector<ListedLayer>& list) {
    if (list.empty() || !list.front().input)
      refuse_key("layers", "the list does not begin with the shape of a sample",
                 "begin with '- input: [3, 224, 224]'");
    names_.open(list, "layers", "");
    append_list(list, "layers");
    graph_.require_readers();
    return {graph_.finished(), kinds_.sequence_length()};
  }

private:
  /// The names of the list are open; closes them.
  void append_list(const std::vector<ListedLayer>& list, const std::string& path) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string at = config::join(path, i);
      kinds_.begin(at, false);
      if (++entries_ > most_entries) kinds_.refuse_length(most_entries, "entries");
      append_entry(list[i], at);
    }
    names_.close();
  }

  void append_entry(const ListedLayer& entry, const std::string& path) {
    require_one_kind(entry, path);
    if (entry.input) {
      append_input(entry, path);
      return;
    }
    const std::string own =
        entry.name ? *entry.name : names_.next(entry.layers ? "block" : kinds_of(entry)[0]);
    const ListedValues in =
        entry.from ? names_.find(*entry.from, config::join(path, "from")) : names_.get_previous();
    if (entry.layers) {
      names_.set_previous(in);
      append_group(entry, path, own);
    } else {
      append_layer(entry, path, own, in);
      kinds_.begin(config::join(path, "then"), false);
      for (const FollowingLayer following : entry.then) append_following(following);
    }
    names_.set(own, names_.get_previous());
  }

  static void require_one_kind(const ListedLayer& entry, const std::string& path) {
    const std::vector<std::string_view> kinds = kinds_of(entry);
    if (kinds.empty())
      refuse_key(path, "the entry has no layer", "add a kind of layer, for example 'relu: {}'");
    if (kinds.size() > 1)
      refuse_key(config::join(path, kinds[1]),
                 fmt::format("the entry has two kinds of layer, '{}' and '{}'", kinds[0], kinds[1]),
                 "make two entries of them");
    if (entry.repeat && !entry.layers)
      refuse_key(config::join(path, "repeat"), "'repeat' needs a list of layers",
                 fmt::format("add 'layers: [{{{}: ...}}]' next to it", kinds[0]));
    if (!entry.then.empty() && (entry.layers || entry.input))
      refuse_key(config::join(path, "then"), "only a single layer can have 'then'", "make entries of them");
    const bool names_inputs = entry.add || entry.multiply || entry.modulate || entry.concat ||
                              entry.join_tokens || entry.dot_interaction || entry.additive_attention ||
                              entry.cross_attention;
    if (entry.from && names_inputs)
      refuse_key(config::join(path, "from"), fmt::format("'{}' names all its inputs", kinds[0]),
                 "move the name into its list");
  }

  void append_input(const ListedLayer& entry, const std::string& path) {
    const bool is_first = !graph_.has_tensors();
    require_place_of_input(entry, path, is_first);
    kinds_.require_size(*entry.input);
    double values = 1;
    for (const int size : *entry.input) values *= size;
    names_.set_previous({*entry.input, graph_.add_input(values)});
    if (is_first) names_.set(ListNames::input, names_.get_previous());
    if (entry.name) names_.set(*entry.name, names_.get_previous());
  }

  void require_place_of_input(const ListedLayer& entry, const std::string& path, bool is_first) const {
    if (!names_.is_outermost())
      refuse_key(config::join(path, "input"), "a group does not give the shape of a sample",
                 "remove it; 'from: input' reads the input of the group");
    if (!is_first && !entry.name)
      refuse_key(config::join(path, "input"), "only the first input of a model can be without a name",
                 "remove it, 'from: input' reads the sample; or add 'name: NAME' for a second input");
    if (entry.from)
      refuse_key(config::join(path, "from"), "the input has no input of its own", "remove 'from'");
    if (entry.input->empty() || entry.input->size() > 3)
      refuse_key(config::join(path, "input"), fmt::format("a sample of shape {}", shape_text(*entry.input)),
                 "[channels, height, width], [tokens, features], [tokens] or [features]");
  }

  void append_group(const ListedLayer& entry, const std::string& path, const std::string& own) {
    if (entry.layers->empty())
      refuse_key(config::join(path, "layers"), "the group has no layers", "add layers, or remove the group");
    const std::string layers = config::join(path, "layers");
    const int times = entry.repeat.value_or(1);
    for (int i = 0; i < times; ++i) {
      const bool is_outermost = names_.is_outermost();
      const std::size_t first = graph_.size();
      names_.open(*entry.layers, layers, names_.full(own) + (entry.repeat ? fmt::format(".{}.", i) : "."));
      names_.set(ListNames::input, names_.get_previous());
      append_list(*entry.layers, layers);
      if (is_outermost) graph_.add_group(first);
    }
  }

  void append_layer(const ListedLayer& entry, const std::string& path, const std::string& own,
                    const ListedValues& in) {
    const bool is_normalised = !entry.then.empty() && entry.then.front() == FollowingLayer::batch_norm;
    for_each_kind(entry, [&](std::string_view kind, const auto& keys) {
      if constexpr (is_layer<std::optional<std::remove_cvref_t<decltype(keys)>>>) {
        kinds_.begin(config::join(path, kind), is_normalised);
        names_.set_previous(kinds_.append(names_.full(own), keys, kind, in));
      }
    });
  }

  void append_following(FollowingLayer following) {
    const std::string_view kind = config::name_of(following);
    const std::string own = names_.next(kind);
    const std::string name = names_.full(own);
    const ListedValues in = names_.get_previous();
    const auto append = [&](const auto& keys) { return kinds_.append(name, keys, kind, in); };
    names_.set_previous(following == FollowingLayer::batch_norm   ? append(ListedBatchNorm{})
                        : following == FollowingLayer::layer_norm ? append(ListedLayerNorm{})
                                                                  : append(NoKeys{}));
    names_.set(own, names_.get_previous());
  }

  LayerGraph graph_;
  ListNames names_;
  ListedKinds kinds_{graph_, names_};
  std::size_t entries_ = 0;  ///< visited, also those that have no layer
};

}  // namespace

LayerList listed_layers(const std::vector<ListedLayer>& list) { return ListBuilder().build(list); }

}  // namespace trainyard
