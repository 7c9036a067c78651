#include "config/document.hpp"
#include "workload/feature_tables.hpp"
#include "workload/listed_kinds.hpp"
#include "workload/vision_layers.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace trainyard {

std::vector<ListedValues> ListedKinds::named_inputs(const std::vector<std::string>& names) const {
  std::vector<Values> in;
  for (std::size_t i = 0; i < names.size(); ++i)
    in.push_back(names_.find(names[i], config::join(config::join(path_, "inputs"), i)));
  return in;
}

ListedValues ListedKinds::append(const std::string& name, const ListedJoin& join, std::string_view kind,
                                 const Values&) {
  const std::vector<Values> in = named_inputs(join.inputs);
  if (kind == "dot_interaction") return add_interaction(name, join, in);
  const bool is_sum = kind == "add" || kind == "multiply" || kind == "modulate";
  if (in.size() < 2 || (is_sum && in.size() > 2))
    refuse_key(path_, fmt::format("'{}' of {} inputs", kind, in.size()),
               is_sum ? "write two names: [previous, input]" : "write two names or more");
  if (is_sum) {
    if (in[0].shape != in[1].shape || kind == "modulate") return add_with_channels(name, kind, join, in);
    return add(kind == "add" ? add_layer(name, in[0].shape) : multiply_layer(name, in[0].shape), in[0].shape,
               in);
  }
  std::vector<int> shape = joined_shape(kind, join, in);
  Layer joined = concat_layer(name, shape);
  for (const Values& values : in) joined.joins += graph_.joined_in(values.tensor);
  return add(std::move(joined), shape, in);
}

ListedValues ListedKinds::add_interaction(const std::string& name, const ListedJoin& join,
                                          const std::vector<Values>& in) {
  double vectors = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (is_map(in[i]) || in[i].shape.back() != in[0].shape.back())
      refuse_join(join, in, i, "vectors, or [tables, features], with equally many features");
    vectors += is_tokens(in[i]) ? in[i].shape[0] : 1;
  }
  if (vectors < 2)
    refuse_key(path_, fmt::format("{} vectors have no pairs", vectors), "name the tables and a vector");
  require_size({static_cast<int>(std::min(vectors, most_listed_values)), in[0].shape.back()});
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

ListedValues ListedKinds::add_with_channels(const std::string& name, std::string_view kind,
                                            const ListedJoin& join, const std::vector<Values>& in) {
  const std::vector<int>& shape = in[0].shape;
  const int channels = is_map(in[0]) ? shape.front() : shape.back();
  double values = 1;  // of the second: a vector, or a map of one pixel
  for (const int size : in[1].shape) values *= size;
  const bool is_vector = in[1].shape.size() == 1 || (is_map(in[1]) && in[1].shape[0] == values);
  const double needed = kind == "modulate" ? 2.0 * channels : channels;
  if (!is_vector || values != needed)
    refuse_join(join, in, 1,
                kind == "modulate" ? "the second has to be a vector of twice the first's channels"
                                   : "both must have the same shape, or the second one value per channel");
  return add(kind == "add"        ? channel_sum_layer(name, shape)
             : kind == "multiply" ? channel_product_layer(name, shape)
                                  : modulate_layer(name, shape),
             shape, in);
}

std::vector<int> ListedKinds::joined_shape(std::string_view kind, const ListedJoin& join,
                                           const std::vector<Values>& in) const {
  std::vector<int> shape = in[0].shape;
  if (kind == "join_tokens" && !is_tokens(in[0])) refuse_shape(kind, in[0], "tokens", "'concat' for others");
  const std::size_t joined = is_tokens(in[0]) && kind == "concat" ? 1 : 0;
  double sum = shape[joined];
  for (std::size_t i = 1; i < in.size(); ++i) {
    std::vector<int> other = in[i].shape;
    const bool fits = other.size() == shape.size();
    if (fits) {
      sum += other[joined];
      other[joined] = shape[joined];
    }
    if (!fits || other != shape)
      refuse_join(join, in, i,
                  kind == "join_tokens" ? "all must have as many features"
                  : joined == 0         ? "all but the channels must be equal: 'crop' the larger map"
                                        : "all but the features must be equal");
  }
  if (sum > most_listed_values)
    refuse_key(path_, "the joined tensor has more than 2^31 values", "fewer inputs");
  shape[joined] = static_cast<int>(sum);
  return shape;
}

void ListedKinds::refuse_join(const ListedJoin& join, const std::vector<Values>& in, std::size_t i,
                              std::string hint) const {
  refuse_key(path_,
             fmt::format("'{}' and '{}' have the shapes {} and {}", join.inputs[0], join.inputs[i],
                         shape_text(in[0].shape), shape_text(in[i].shape)),
             std::move(hint));
}

}  // namespace trainyard
