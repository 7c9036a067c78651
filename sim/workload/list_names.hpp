#pragma once
// The names in a list of layers (layer_list.hpp): those that users give, those made of kinds and numbers, and
// the values that each stands for, list by list as groups open and close.

#include "workload/layer_list.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// Values that pass between entries: a shape and the tensor in which they lie. Shapes have one dimension
/// (features, or tokens of a model's input), two (tokens, features) or three (channels, height, width).
struct ListedValues {
  std::vector<int> shape;
  int tensor = 0;  ///< of the LayerGraph
};

class ListNames {
public:
  static constexpr std::string_view input = "input";        ///< input of the list
  static constexpr std::string_view previous = "previous";  ///< the output of the entry before

  /// Begins a list inside those that are open. `prefix`: of the names of its layers. Throws InputError for
  /// names that cannot be given.
  void open(const std::vector<ListedLayer>& list, const std::string& path, std::string prefix);
  void close() { scopes_.pop_back(); }
  /// Whether no group is open.
  [[nodiscard]] bool is_outermost() const { return scopes_.size() == 1; }

  /// The first free name of a kind: conv1, conv2 ...
  std::string next(std::string_view kind);
  /// With the names of the groups around it.
  [[nodiscard]] std::string full(const std::string& own) const { return scopes_.back().prefix + own; }

  /// From now on the name stands for these values, in the innermost list.
  void set(std::string_view name, ListedValues values);
  void set_previous(ListedValues values) { previous_ = std::move(values); }
  [[nodiscard]] const ListedValues& get_previous() const { return previous_; }
  /// The values of a name: those of the innermost list that has it. Throws InputError for the key at `path`
  /// if none has it.
  [[nodiscard]] const ListedValues& find(std::string_view name, const std::string& path) const;

private:
  struct Scope {
    std::string prefix;
    std::map<std::string, ListedValues, std::less<>> values;
    std::map<std::string, int, std::less<>> numbers;  ///< by kind: the last one given
  };

  static void reserve(const std::vector<ListedLayer>& list, const std::string& path, Scope& scope);

  std::vector<Scope> scopes_;
  ListedValues previous_;
};

}  // namespace trainyard
