#include "workload/layer_list.hpp"

#include "config/document.hpp"
#include "workload/feature_tables.hpp"
#include "workload/layer_graph.hpp"
#include "workload/recurrent_layers.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace trainyard {
namespace {

constexpr std::size_t most_layers = 100'000;
constexpr int most_steps = 100'000;                    // of all recurrences: each step has ops of its own
constexpr std::size_t most_entries = 3 * most_layers;  // some have no layers: groups, crops
constexpr double most_values = std::numeric_limits<int>::max();
constexpr std::string_view name_of_input = "input";
constexpr std::string_view name_of_previous = "previous";

/// Values that pass between entries: a shape and the tensor in which they lie. Shapes have one dimension
/// (features, or tokens of a model's input), two (tokens, features) or three (channels, height, width).
struct Values {
  std::vector<int> shape;
  int tensor = 0;
};

std::string text_of(const std::vector<int>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

bool is_map(const Values& values) { return values.shape.size() == 3; }
bool is_tokens(const Values& values) { return values.shape.size() == 2; }

FeatureMap map_of(const Values& values) { return {values.shape[0], values.shape[1], values.shape[2]}; }

Window window_of(const Extent& kernel, int stride, const Padding& padding, bool round_up = false) {
  return {kernel.height, kernel.width, stride, padding.height, padding.width, round_up};
}

/// Whether a key of this type is a kind of layer, and not the name of one or a number.
template <class T>
constexpr bool is_kind = false;
template <class T>
constexpr bool is_kind<std::optional<T>> = !std::same_as<T, std::string> && !std::same_as<T, int>;

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

/// Whether traces can hold the name and rules can match it: other signs separate or stand for others there.
bool is_name(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && std::ranges::all_of(name, is_allowed);
}

/// The names of a list of entries.
struct Scope {
  std::string prefix;  ///< of the layers' names
  std::map<std::string, Values, std::less<>> values;
  std::map<std::string, int, std::less<>> numbers;  ///< by kind: the last one given
};

class Builder {
public:
  LayerList build(const std::vector<ListedLayer>& list) {
    if (list.empty() || !list.front().input)
      refuse_key("layers", "the list does not begin with the shape of a sample",
                 "begin with '- input: [3, 224, 224]'");
    append_list(list, "layers", {.prefix = "", .values = {}, .numbers = {}});
    graph_.require_readers();
    return {graph_.finished(), sequence_length_};
  }

private:
  void append_list(const std::vector<ListedLayer>& list, const std::string& path, Scope scope) {
    reserve_names(list, path, scope);
    scopes_.push_back(std::move(scope));
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string at = config::join(path, i);
      path_ = at;
      if (++entries_ > most_entries) refuse_size(most_entries, "entries");
      append_entry(list[i], at);
    }
    scopes_.pop_back();
  }

  /// Names that the user gives are not given to other layers.
  static void reserve_names(const std::vector<ListedLayer>& list, const std::string& path, Scope& scope) {
    std::map<std::string, bool, std::less<>> seen;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].name) continue;
      const std::string& name = *list[i].name;
      const std::string at = config::join(config::join(path, i), "name");
      if (name == name_of_input || name == name_of_previous)
        refuse_key(at, fmt::format("'{}' always has another meaning", name), "use another name");
      if (!is_name(name))
        refuse_key(at, fmt::format("'{}' cannot be a name", name), "use letters, digits, '_' and '-'");
      if (!seen.insert({name, true}).second)
        refuse_key(at, fmt::format("two layers of this list are called '{}'", name), "use another name");
      scope.numbers.insert({name, 0});
    }
  }

  void append_entry(const ListedLayer& entry, const std::string& path) {
    require_one_kind(entry, path);
    path_ = path;
    if (entry.input) {
      append_input(entry, path);
      return;
    }
    const std::string own = entry.name ? *entry.name : next_name(entry.layers ? "block" : kinds_of(entry)[0]);
    const Values in = entry.from ? named(*entry.from, config::join(path, "from")) : previous_;
    if (entry.layers) {
      previous_ = in;
      append_group(entry, path, own);
    } else {
      for_each_kind(entry, [&](std::string_view kind, const auto& keys) {
        path_ = config::join(path, kind);
        is_normalised_ = !entry.then.empty() && entry.then.front() == FollowingLayer::batch_norm;
        previous_ = appended(full_name(own), keys, kind, in);
      });
      path_ = config::join(path, "then");
      for (const FollowingLayer following : entry.then) append_following(following);
    }
    scopes_.back().values.insert_or_assign(own, previous_);
  }

  void require_one_kind(const ListedLayer& entry, const std::string& path) const {
    const std::vector<std::string_view> kinds = kinds_of(entry);
    if (kinds.empty())
      refuse_key(path, "the entry has no layer", "add a kind of layer, for example 'relu: {}'");
    if (kinds.size() > 1)
      refuse_key(config::join(path, kinds[1]),
                 fmt::format("the entry has two kinds of layer, '{}' and '{}'", kinds[0], kinds[1]),
                 "make two entries of them");
    if (entry.repeat && !entry.layers)
      refuse_key(config::join(path, "repeat"), "'repeat' needs a list of layers",
                 fmt::format("write 'layers: [{{{}: ...}}]' beside it", kinds[0]));
    if (!entry.then.empty() && (entry.layers || entry.input))
      refuse_key(config::join(path, "then"), "only a single layer can have 'then'", "make entries of them");
    const bool names_inputs =
        entry.add || entry.multiply || entry.concat || entry.dot_interaction || entry.additive_attention;
    if (entry.from && names_inputs)
      refuse_key(config::join(path, "from"), fmt::format("'{}' names all its inputs", kinds[0]),
                 "move the name into its list");
  }

  void append_input(const ListedLayer& entry, const std::string& path) {
    const bool is_first = !graph_.has_tensors();
    if (scopes_.size() > 1)
      refuse_key(config::join(path, "input"), "a group does not give the shape of a sample",
                 "remove it; 'from: input' reads the input of the group");
    if (!is_first && !entry.name)
      refuse_key(config::join(path, "input"), "only the first input of a model can be without a name",
                 "remove it, 'from: input' reads the sample; or add 'name: NAME' for a second input");
    if (entry.from)
      refuse_key(config::join(path, "from"), "the input has no input of its own", "remove 'from'");
    if (entry.input->empty() || entry.input->size() > 3)
      refuse_key(config::join(path, "input"), fmt::format("a sample of shape {}", text_of(*entry.input)),
                 "[channels, height, width], [tokens, features], [tokens] or [features]");
    require_size(*entry.input);
    double values = 1;
    for (const int size : *entry.input) values *= size;
    previous_ = {*entry.input, graph_.add_input(values)};
    if (is_first) scopes_.back().values.insert_or_assign(std::string(name_of_input), previous_);
    if (entry.name) scopes_.back().values.insert_or_assign(*entry.name, previous_);
  }

  void append_group(const ListedLayer& entry, const std::string& path, const std::string& own) {
    if (entry.layers->empty())
      refuse_key(config::join(path, "layers"), "the group has no layers", "add layers, or remove the group");
    const int times = entry.repeat.value_or(1);
    const bool is_outermost = scopes_.size() == 1;
    for (int i = 0; i < times; ++i) {
      const std::string prefix = full_name(own) + (entry.repeat ? fmt::format(".{}.", i) : ".");
      const std::size_t first = graph_.size();
      append_list(*entry.layers, config::join(path, "layers"),
                  {.prefix = prefix, .values = {{std::string(name_of_input), previous_}}, .numbers = {}});
      if (is_outermost) graph_.add_group(first);
    }
  }

  void append_following(FollowingLayer following) {
    const std::string_view kind = config::name_of(following);
    const std::string own = next_name(kind);
    const std::string name = full_name(own);
    const Values in = previous_;
    switch (following) {
      case FollowingLayer::batch_norm:
        previous_ = appended(name, ListedBatchNorm{}, kind, in);
        break;
      case FollowingLayer::layer_norm:
        previous_ = appended(name, ListedLayerNorm{}, kind, in);
        break;
      default:
        previous_ = appended(name, NoKeys{}, kind, in);
    }
    scopes_.back().values.insert_or_assign(own, previous_);
  }

  // Names

  std::string full_name(const std::string& own) const { return scopes_.back().prefix + own; }

  std::string next_name(std::string_view kind) {
    Scope& scope = scopes_.back();
    int& number = scope.numbers[std::string(kind)];
    std::string name;
    do {
      name = fmt::format("{}{}", kind, ++number);
    } while (scope.numbers.contains(name));
    return name;
  }

  /// The values of a name: those of the innermost list that has it.
  Values named(std::string_view name, const std::string& path) const {
    if (name == name_of_previous) return previous_;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->values.find(name); found != scope->values.end()) return found->second;
    }
    refuse_key(path, fmt::format("no earlier layer is called '{}'", name),
               "name a layer above, in this list or around it; 'input' is what enters the list");
  }

  // Checks

  /// Reports that a layer cannot read values of this shape.
  [[noreturn]] void refuse_shape(std::string_view kind, const Values& in, std::string_view expected,
                                 std::string hint) const {
    refuse_key(
        path_,
        fmt::format("'{}' reads {}, but its input has the shape {}", kind, expected, text_of(in.shape)),
        std::move(hint));
  }

  void require_map(std::string_view kind, const Values& in) const {
    if (!is_map(in))
      refuse_shape(kind, in, "a map of three dimensions", "[channels, height, width], before any 'flatten'");
  }

  void require_size(const std::vector<int>& shape) const {
    double values = 1;
    for (const int size : shape) values *= size;
    if (values > most_values)
      refuse_key(path_,
                 fmt::format("a tensor of shape {} has more than 2^31 values per sample", text_of(shape)),
                 "reduce its size");
  }

  void require_window(const Values& in, const Window& window) const {
    const FeatureMap map = map_of(in);
    if (map.height + 2 * window.pad_h < window.kernel_h || map.width + 2 * window.pad_w < window.kernel_w)
      refuse_key(path_,
                 fmt::format("a window of {} x {} does not fit into {} with {} and {} zeros on each side",
                             window.kernel_h, window.kernel_w, text_of(in.shape), window.pad_h, window.pad_w),
                 "a smaller kernel, more padding or a larger input");
  }

  /// Weights that an output value (or an input value of a transposed convolution) needs.
  void require_weights(double weights) const {
    if (weights > most_values) refuse_key(path_, "a value needs more than 2^31 weights", "a smaller kernel");
  }

  bool has_bias(const std::optional<bool>& stated) const { return stated.value_or(!is_normalised_); }

  [[noreturn]] void refuse_size(std::size_t most, std::string_view what) const {
    refuse_key(path_, fmt::format("the list has more than {} {}", most, what), "smaller 'repeat'");
  }

  /// A loss ends a model, or a branch of it.
  void require_values(const Values& in) const {
    if (graph_.is_loss(in.tensor))
      refuse_key(path_, "a layer cannot read a loss", "read the layer before the loss: add 'from: NAME'");
  }

  /// Adds a layer that reads `in`; returns its output.
  Values add(Layer layer, std::vector<int> shape, const std::vector<Values>& in) {
    require_size(shape);
    if (graph_.size() >= most_layers) refuse_size(most_layers, "layers");
    for (const Values& values : in) require_values(values);
    std::vector<int> tensors;
    for (const Values& values : in) tensors.push_back(values.tensor);
    return {std::move(shape), graph_.add(std::move(layer), tensors, path_)};
  }

  Values add_same(Layer layer, const Values& in) { return add(std::move(layer), in.shape, {in}); }

  Values add_map(Layer layer, const Values& in) {
    std::vector<int> shape = layer.out_shape;
    return add(std::move(layer), std::move(shape), {in});
  }

  // One function per kind: the layer and its output.

  Values appended(const std::string& name, const ListedConv& conv, std::string_view kind, const Values& in) {
    require_map(kind, in);
    const Window window = window_of(conv.kernel, conv.stride, conv.padding);
    require_window(in, window);
    if (in.shape[0] % conv.groups != 0 || conv.out % conv.groups != 0)
      refuse_key(config::join(path_, "groups"),
                 fmt::format("{} groups cannot share {} channels of the input and {} of the output equally",
                             conv.groups, in.shape[0], conv.out),
                 "use a divisor of both");
    return add_conv(name, in, conv.out, window, conv.groups, has_bias(conv.bias));
  }

  Values appended(const std::string& name, const ListedDepthwiseConv& conv, std::string_view kind,
                  const Values& in) {
    require_map(kind, in);
    const Window window = window_of(conv.kernel, conv.stride, conv.padding);
    require_window(in, window);
    return add_conv(name, in, in.shape[0], window, in.shape[0], has_bias(conv.bias));
  }

  Values add_conv(const std::string& name, const Values& in, int out, const Window& window, int groups,
                  bool with_bias) {
    require_weights(1.0 * in.shape[0] / groups * window.kernel_h * window.kernel_w);
    return add_map(grouped_conv_layer(name, map_of(in), out, window, groups, with_bias), in);
  }

  Values appended(const std::string& name, const ListedConvTranspose& conv, std::string_view kind,
                  const Values& in) {
    require_map(kind, in);
    const Window window = window_of(conv.kernel, conv.stride, conv.padding);
    const FeatureMap map = map_of(in);
    const auto size = [&](int values, int kernel, int padding) {
      return (values - 1.0) * conv.stride - 2.0 * padding + kernel;
    };
    const double height = size(map.height, window.kernel_h, window.pad_h);
    const double width = size(map.width, window.kernel_w, window.pad_w);
    if (height < 1 || width < 1)
      refuse_key(path_,
                 fmt::format("nothing is left of {} with {} and {} values cut off on each side",
                             text_of(in.shape), window.pad_h, window.pad_w),
                 "less padding");
    if (height * width > most_values)
      refuse_key(path_, fmt::format("a map of {} x {} values", height, width), "a smaller stride");
    require_weights(1.0 * conv.out * window.kernel_h * window.kernel_w);
    return add_map(conv_transpose_layer(name, map, conv.out, window, has_bias(conv.bias)), in);
  }

  Values appended(const std::string& name, const ListedLinear& linear, std::string_view kind,
                  const Values& in) {
    if (is_map(in) && (in.shape[1] != 1 || in.shape[2] != 1))
      refuse_shape(kind, in, "a vector or tokens", "'flatten', 'global_pool' or 'tokens' before it");
    const LinearSize size = is_tokens(in) ? LinearSize{in.shape[0], in.shape[1], linear.out}
                                          : LinearSize{1, in.shape[0], linear.out};
    const bool with_bias = has_bias(linear.bias);
    if (linear.tied) require_table(*linear.tied, {.rows = 0, .entries = size.out, .features = size.in});
    Layer layer =
        linear.tied ? tied_linear_layer(name, size, with_bias) : linear_layer(name, size, with_bias);
    if (linear.tied) layer.tied_to = name_of_table(*linear.tied);
    if (linear.tied && linear.normalised)
      refuse_key(config::join(path_, "normalised"), "the weights are those of an embedding",
                 "remove it, or 'tied'");
    layer.normalises_weights = linear.normalised;
    return add(std::move(layer), is_tokens(in) ? std::vector{size.rows, size.out} : std::vector{size.out},
               {in});
  }

  /// Requires that `tied` names an embedding with such a table.
  void require_table(const std::string& tied, const EmbeddingSize& size) const {
    const std::string path = config::join(path_, "tied");
    const auto table = embeddings_.find(named(tied, path).tensor);
    if (table == embeddings_.end())
      refuse_key(path, fmt::format("'{}' is not an embedding", tied),
                 "name an embedding without 'tied' and 'then'");
    const EmbeddingSize& whole = table->second.size;
    if (whole.entries != size.entries || whole.features != size.features)
      refuse_key(path,
                 fmt::format("the table of '{}' has {} x {} values, but {} x {} are needed", tied,
                             whole.entries, whole.features, size.entries, size.features),
                 "use equal sizes, or leave 'tied' out");
  }

  /// The layer that `tied` names, after require_table().
  const std::string& name_of_table(const std::string& tied) const {
    return embeddings_.at(named(tied, config::join(path_, "tied")).tensor).layer;
  }

  Values appended(const std::string& name, const ListedBatchNorm& norm, std::string_view kind,
                  const Values& in) {
    if (is_tokens(in)) refuse_shape(kind, in, "a map or a vector", "'layer_norm' for tokens");
    const FeatureMap map = is_map(in) ? map_of(in) : FeatureMap{in.shape[0], 1, 1};
    return add_same(batch_norm_layer(name, map, norm.scale), in);
  }

  /// Rows that a normalisation reads, and their features.
  static LinearSize rows_of(const Values& in) {
    if (is_map(in)) return {in.shape[1] * in.shape[2], in.shape[0], in.shape[0]};
    if (is_tokens(in)) return {in.shape[0], in.shape[1], in.shape[1]};
    return {1, in.shape[0], in.shape[0]};
  }

  Values appended(const std::string& name, const ListedLayerNorm& norm, std::string_view, const Values& in) {
    const LinearSize size = rows_of(in);
    return add_same(layer_norm_layer(name, size.rows, size.in, norm.bias), in);
  }

  Values appended(const std::string& name, const ListedPool& pool, std::string_view kind, const Values& in) {
    require_map(kind, in);
    const Window window =
        window_of(pool.kernel, pool.stride.value_or(pool.kernel.height), pool.padding, pool.round_up);
    if (!pool.stride && pool.kernel.height != pool.kernel.width)
      refuse_key(path_,
                 fmt::format("the stride is missing, and a window of {} x {} does not give one",
                             pool.kernel.height, pool.kernel.width),
                 "add 'stride: 2'");
    require_window(in, window);
    if (window.pad_h >= window.kernel_h || window.pad_w >= window.kernel_w)
      refuse_key(path_,
                 fmt::format("padding of {} and {} hides a window of {} x {}", window.pad_h, window.pad_w,
                             window.kernel_h, window.kernel_w),
                 "padding below the kernel's size");
    return add_map(kind == "max_pool" ? max_pool_layer(name, map_of(in), window)
                                      : average_pool_layer(name, map_of(in), window),
                   in);
  }

  Values appended(const std::string& name, const ListedEmbedding& table, std::string_view kind,
                  const Values& in) {
    if (in.shape.size() != 1 || !graph_.is_input(in.tensor))
      refuse_shape(kind, in, "the tokens of the model's input", "begin the model with '- input: [128]'");
    const EmbeddingSize size{in.shape[0], table.entries, table.features};
    if (!sequence_length_) sequence_length_ = size.rows;
    if (table.tied) require_table(*table.tied, size);
    Layer layer = table.tied ? tied_embedding_layer(name, size) : embedding_layer(name, size);
    if (table.tied) layer.tied_to = name_of_table(*table.tied);
    const Values out = add(std::move(layer), {size.rows, size.features}, {in});
    if (!table.tied) embeddings_.emplace(out.tensor, Table{name, size});
    return out;
  }

  Values appended(const std::string& name, const ListedTables& tables, std::string_view kind,
                  const Values& in) {
    if (in.shape.size() != 1 || !graph_.is_input(in.tensor))
      refuse_shape(kind, in, "the indices of an input of the model",
                   "'from' the name of an input: '- {name: indices, input: [26]}'");
    const auto count = static_cast<int>(tables.entries.size());
    if (count == 0) refuse_key(config::join(path_, "entries"), "there is no table", "entries: [100000]");
    const double lookups = 1.0 * count * tables.lookups;
    if (lookups != in.shape[0])
      refuse_key(path_,
                 fmt::format("{} tables of {} look-ups each need {} indices, but a sample has {}", count,
                             tables.lookups, lookups, in.shape[0]),
                 fmt::format("input: [{}]", lookups));
    if (tables.sum && tables.lookups == 1)
      refuse_key(config::join(path_, "sum"), "the sum of one row is the row",
                 "remove it, or raise 'lookups'");
    Layer layer = tables_layer(name, {.entries = {tables.entries.begin(), tables.entries.end()},
                                      .features = tables.features,
                                      .lookups = tables.lookups,
                                      .is_summed = tables.sum,
                                      .is_sparse = tables.sparse});
    return add_map(std::move(layer), in);
  }

  Values appended(const std::string& name, const ListedPositions& table, std::string_view kind,
                  const Values& in) {
    if (!is_tokens(in)) refuse_shape(kind, in, "[tokens, features]", "an 'embedding' or 'tokens' before it");
    const int entries = table.entries.value_or(in.shape[0]);
    if (entries < in.shape[0])
      refuse_key(path_, fmt::format("{} tokens, but the table has {} positions", in.shape[0], entries),
                 fmt::format("entries: {}", in.shape[0]));
    return add_same(added_embedding_layer(name, {in.shape[0], entries, in.shape[1]}), in);
  }

  Values appended(const std::string& name, const ListedAttention& attention, std::string_view kind,
                  const Values& in) {
    if (!is_tokens(in)) refuse_shape(kind, in, "[tokens, features]", "a 'linear' layer before it");
    const int kv = attention.kv_heads.value_or(attention.heads);
    const int parts = attention.heads + 2 * kv;
    if (attention.heads % kv != 0)
      refuse_key(
          path_,
          fmt::format("{} heads cannot share {} heads of keys and values equally", attention.heads, kv),
          "use a divisor of heads");
    if (in.shape[1] % parts != 0)
      refuse_key(path_,
                 fmt::format("{} features are not queries, keys and values of {} + 2 x {} heads", in.shape[1],
                             attention.heads, kv),
                 fmt::format("a multiple of {} from the 'linear' layer before it", parts));
    if (attention.dropout && attention.kernel == AttentionKernel::flash)
      refuse_key(config::join(path_, "dropout"), "dropout inside a flash kernel is not modelled",
                 "kernel: unfused, or leave it out");
    return add_attention(name, attention, in);
  }

  Values add_attention(const std::string& name, const ListedAttention& attention, const Values& in) {
    const int kv = attention.kv_heads.value_or(attention.heads);
    const int width = in.shape[1] / (attention.heads + 2 * kv);
    const TransformerSize size{.sequence = in.shape[0],
                               .hidden = attention.heads * width,
                               .heads = attention.heads,
                               .intermediate = 0,
                               .kv_heads = kv,
                               .head_dim = width};
    Values values = in;
    for (Layer& layer : attention_core(
             name, size,
             {.dropout = attention.dropout, .attention = attention.kernel, .causal = attention.causal})) {
      std::vector<int> shape = layer.out_shape;
      std::vector<Values> reads{values};
      if (layer.kind == LayerKind::batched_matmul && values.tensor != in.tensor)
        reads.push_back(in);  // values
      values = add(std::move(layer), std::move(shape), reads);
    }
    return {{in.shape[0], size.hidden}, values.tensor};
  }

  Values appended(const std::string& name, const ListedLstm& lstm, std::string_view kind, const Values& in) {
    if (!is_tokens(in)) refuse_shape(kind, in, "[tokens, features]", "an 'embedding' or 'tokens' before it");
    if (!lstm.bidirectional) return add_lstm(name, lstm.hidden, in);
    const Values forwards = add_lstm(name + ".forward", lstm.hidden, in);
    const Values backwards = add_lstm(name + ".backward", lstm.hidden, in);
    Layer joined = concat_layer(name + ".concat", {in.shape[0], 2 * lstm.hidden});
    std::vector<int> shape = joined.out_shape;
    return add(std::move(joined), std::move(shape), {forwards, backwards});
  }

  Values add_lstm(const std::string& name, int hidden, const Values& in) {
    steps_ += in.shape[0];
    if (steps_ > most_steps)
      refuse_key(path_, fmt::format("the recurrent layers of the list have more than {} steps", most_steps),
                 "fewer tokens or layers: each direction of an lstm has a step per token");
    Values values = in;
    for (Layer& layer : lstm_layers(name, in.shape[0], in.shape[1], hidden)) {
      std::vector<int> shape = layer.out_shape;
      values = add(std::move(layer), std::move(shape), {values});
    }
    return values;
  }

  Values appended(const std::string& name, const ListedAdditiveAttention& attention, std::string_view kind,
                  const Values&) {
    const std::vector<Values> in = named_inputs(attention.inputs);
    if (in.size() != 2)
      refuse_key(path_, fmt::format("'{}' of {} inputs", kind, in.size()),
                 "write two names: 'inputs: [previous, encoder]'");
    for (const Values& values : in) {
      if (!is_tokens(values)) refuse_shape(kind, values, "[tokens, features]", "tokens for both inputs");
    }
    const auto project = [&](std::string_view what, const Values& values) {
      Layer layer = linear_layer(fmt::format("{}.{}", name, what),
                                 {values.shape[0], values.shape[1], attention.features}, false);
      return add(std::move(layer), {values.shape[0], attention.features}, {values});
    };
    const Values queries = project("q", in[0]);
    const Values keys = project("k", in[1]);
    const std::vector<int> scores{in[0].shape[0], in[1].shape[0]};
    const Values raw = add(additive_scores_layer(name + ".scores", scores[0], scores[1], attention.features),
                           scores, {queries, keys});
    const Values weights = add(softmax_layer(name + ".softmax", scores), scores, {raw});
    return add(weighted_tokens_layer(name + ".context", scores[0], scores[1], in[1].shape[1]),
               {scores[0], in[1].shape[1]}, {weights, in[1]});
  }

  /// The values of a layer's list `inputs`.
  std::vector<Values> named_inputs(const std::vector<std::string>& names) const {
    std::vector<Values> in;
    for (std::size_t i = 0; i < names.size(); ++i)
      in.push_back(named(names[i], config::join(config::join(path_, "inputs"), i)));
    return in;
  }

  Values appended(const std::string& name, const ListedJoin& join, std::string_view kind, const Values&) {
    const std::vector<Values> in = named_inputs(join.inputs);
    if (kind == "dot_interaction") return add_interaction(name, join, in);
    const bool is_sum = kind == "add" || kind == "multiply";
    if (in.size() < 2 || (is_sum && in.size() > 2))
      refuse_key(path_, fmt::format("'{}' of {} inputs", kind, in.size()),
                 is_sum ? "write two names: [previous, input]" : "write two names or more");
    if (is_sum) {
      if (in[0].shape != in[1].shape)
        refuse_key(path_,
                   fmt::format("'{}' and '{}' have the shapes {} and {}", join.inputs[0], join.inputs[1],
                               text_of(in[0].shape), text_of(in[1].shape)),
                   "both must have the same shape");
      return add(kind == "add" ? add_layer(name, in[0].shape) : multiply_layer(name, in[0].shape),
                 in[0].shape, in);
    }
    std::vector<int> shape = joined_shape(join, in);
    return add(concat_layer(name, shape), shape, in);
  }

  /// The concatenated vectors of all inputs, their products, and one of each pair of products.
  Values add_interaction(const std::string& name, const ListedJoin& join, const std::vector<Values>& in) {
    double vectors = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (is_map(in[i]) || in[i].shape.back() != in[0].shape.back())
        refuse_key(path_,
                   fmt::format("'{}' and '{}' have the shapes {} and {}", join.inputs[0], join.inputs[i],
                               text_of(in[0].shape), text_of(in[i].shape)),
                   "vectors, or [tables, features], with equally many features");
      vectors += is_tokens(in[i]) ? in[i].shape[0] : 1;
    }
    if (vectors < 2)
      refuse_key(path_, fmt::format("{} vectors have no pairs", vectors), "name the tables and a vector");
    require_size({static_cast<int>(std::min(vectors, most_values)), in[0].shape.back()});
    const auto count = static_cast<int>(vectors);
    require_size({count, count});
    const std::vector<int> all{count, in[0].shape.back()};
    const Values joined = add(concat_layer(name + ".concat", all), all, in);
    const Values products =
        add(pair_products_layer(name + ".products", count, all[1]), {count, count}, {joined});
    Layer pairs = pairs_layer(name + ".pairs", count);
    std::vector<int> shape = pairs.out_shape;
    return add(std::move(pairs), std::move(shape), {products});
  }

  /// The channels or features of all inputs; all other dimensions must be equal.
  std::vector<int> joined_shape(const ListedJoin& join, const std::vector<Values>& in) const {
    std::vector<int> shape = in[0].shape;
    const std::size_t joined = is_tokens(in[0]) ? 1 : 0;
    double sum = shape[joined];
    for (std::size_t i = 1; i < in.size(); ++i) {
      std::vector<int> other = in[i].shape;
      const bool fits = other.size() == shape.size();
      if (fits) {
        sum += other[joined];
        other[joined] = shape[joined];
      }
      if (!fits || other != shape)
        refuse_key(path_,
                   fmt::format("'{}' and '{}' have the shapes {} and {}", join.inputs[0], join.inputs[i],
                               text_of(in[0].shape), text_of(in[i].shape)),
                   joined == 0 ? "all but the channels must be equal: 'crop' the larger map"
                               : "all but the features must be equal");
    }
    if (sum > most_values) refuse_key(path_, "the joined tensor has more than 2^31 values", "fewer inputs");
    shape[joined] = static_cast<int>(sum);
    return shape;
  }

  Values appended(const std::string&, const Extent& middle, std::string_view kind, const Values& in) {
    require_map(kind, in);
    if (middle.height > in.shape[1] || middle.width > in.shape[2])
      refuse_key(
          path_,
          fmt::format("{} x {} values are no part of {}", middle.height, middle.width, text_of(in.shape)),
          "at most the height and width of its input");
    return {{in.shape[0], middle.height, middle.width}, in.tensor};
  }

  Values appended(const std::string& name, const NoKeys&, std::string_view kind, const Values& in) {
    if (kind == "relu") return add_same(relu_layer(name, in.shape), in);
    if (kind == "prelu") return add_same(prelu_layer(name, in.shape), in);
    if (kind == "gelu") return add_same(gelu_layer(name, in.shape), in);
    if (kind == "silu") return add_same(swish_layer(name, in.shape), in);
    if (kind == "margin") return add_same(margin_layer(name, in.shape), in);
    if (kind == "dropout") return add_same(dropout_layer(name, in.shape), in);
    if (kind == "rms_norm") return add_same(rms_norm_layer(name, rows_of(in).rows, rows_of(in).in), in);
    if (kind == "swiglu" || kind == "geglu") return add_gate(name, kind, in);
    if (kind == "softmax_cross_entropy") return add_loss(name, in);
    if (kind == "sigmoid_cross_entropy") {
      if (in.shape.size() != 1) refuse_shape(kind, in, "a vector", "'flatten' before it");
      return add(sigmoid_cross_entropy_layer(name, in.shape[0]), {1}, {in});
    }
    if (kind == "flatten" && is_tokens(in)) return {{in.shape[0] * in.shape[1]}, in.tensor};
    require_map(kind, in);
    if (kind == "global_pool") return add_map(average_pool_layer(name, map_of(in)), in);
    if (kind == "flatten") return {{in.shape[0] * in.shape[1] * in.shape[2]}, in.tensor};
    if (kind == "tokens") return {{in.shape[1] * in.shape[2], in.shape[0]}, in.tensor};
    throw std::logic_error(fmt::format("kind '{}' without keys has no function that adds it", kind));
  }

  Values add_gate(const std::string& name, std::string_view kind, const Values& in) {
    if (!is_tokens(in) || in.shape[1] % 2 != 0)
      refuse_shape(kind, in, "tokens with two halves of features",
                   "twice as many outputs of the layer before");
    const int features = in.shape[1] / 2;
    return add(kind == "swiglu" ? silu_product_layer(name, in.shape[0], features)
                                : gelu_product_layer(name, in.shape[0], features),
               {in.shape[0], features}, {in});
  }

  /// Of a vector, of each token, or of each pixel.
  Values add_loss(const std::string& name, const Values& in) {
    const LinearSize size = rows_of(in);
    const bool has_rows = in.shape.size() > 1 && size.rows > 1;
    return add(has_rows ? softmax_cross_entropy_layer(name, size.rows, size.in)
                        : softmax_cross_entropy_layer(name, size.in),
               {1}, {in});
  }

  // Refused by append_entry, which handles them itself.
  static Values appended(const std::string&, const std::vector<int>&, std::string_view, const Values& in) {
    return in;
  }
  static Values appended(const std::string&, const std::vector<ListedLayer>&, std::string_view,
                         const Values& in) {
    return in;
  }

  struct Table {
    std::string layer;
    EmbeddingSize size;
  };

  LayerGraph graph_;
  std::vector<Scope> scopes_;
  Values previous_;
  std::optional<int> sequence_length_;
  std::size_t entries_ = 0;          ///< visited, also those that have no layer
  double steps_ = 0;                 ///< of all recurrences
  std::map<int, Table> embeddings_;  ///< by the tensor that they write
  std::string path_ = "layers";      ///< of the key that is worked on, for errors
  bool is_normalised_ = false;       ///< whether batch_norm follows the layer in its entry
};

}  // namespace

LayerList listed_layers(const std::vector<ListedLayer>& list) { return Builder().build(list); }

}  // namespace trainyard
