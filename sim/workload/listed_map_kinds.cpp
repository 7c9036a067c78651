#include "config/document.hpp"
#include "workload/listed_kinds.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace trainyard {

namespace {

Window window_of(const Extent& kernel, int stride, const Padding& padding, bool round_up = false) {
  return {kernel.height, kernel.width, stride, padding.height, padding.width, round_up};
}

}  // namespace

ListedValues ListedKinds::append(const std::string& name, const ListedConv& conv, std::string_view kind,
                                 const Values& in) {
  require_map(kind, in);
  const Window window = window_of(conv.kernel, conv.stride, conv.padding);
  require_window(in, window);
  if (in.shape[0] % conv.groups != 0 || conv.out % conv.groups != 0)
    refuse_key(config::join(path_, "groups"),
               fmt::format("{} groups cannot share {} channels of the input and {} of the output equally",
                           conv.groups, in.shape[0], conv.out),
               "use a divisor of both");
  require_weights(1.0 * in.shape[0] / conv.groups * window.kernel_h * window.kernel_w);
  Layer layer = grouped_conv_layer(name, map_of(in), conv.out, window, conv.groups, has_bias(conv.bias));
  if (conv.tied) tie(layer, *conv.tied);
  const Layer own = layer;
  const Values out = add_shaped(std::move(layer), in);
  if (!conv.tied) convs_.emplace(out.tensor, own);
  return out;
}

void ListedKinds::tie(Layer& conv, const std::string& tied) const {
  const std::string path = config::join(path_, "tied");
  const auto found = convs_.find(names_.find(tied, path).tensor);
  if (found == convs_.end())
    refuse_key(path, fmt::format("'{}' is not a convolution", tied),
               "name one without 'tied' and 'then': give its 'then' entries of their own");
  const Layer& other = found->second;
  const bool is_equal =
      std::ranges::equal(other.parameters, conv.parameters, {}, &Parameter::elements, &Parameter::elements);
  if (!is_equal || other.groups != conv.groups)
    refuse_key(path, fmt::format("the weights of '{}' have other sizes", tied),
               "use equal channels, kernels, groups and biases");
  conv.tied_to = other.name;
  conv.tied_elements = parameter_elements(conv);
  conv.tied_bias = conv.parameters.size() > 1 ? conv.parameters.back().elements : 0;
  conv.parameters.clear();
  conv.forward_rw_elements -= conv.weight_rw_elements;
  conv.backward_rw_elements = 2 * conv.forward_rw_elements;
  conv.weight_rw_elements = 0;
}

ListedValues ListedKinds::append(const std::string& name, const ListedDepthwiseConv& conv,
                                 std::string_view kind, const Values& in) {
  require_map(kind, in);
  const Window window = window_of(conv.kernel, conv.stride, conv.padding);
  require_window(in, window);
  require_weights(1.0 * window.kernel_h * window.kernel_w);
  return add_shaped(
      grouped_conv_layer(name, map_of(in), in.shape[0], window, in.shape[0], has_bias(conv.bias)), in);
}

ListedValues ListedKinds::append(const std::string& name, const ListedConvTranspose& conv,
                                 std::string_view kind, const Values& in) {
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
                           shape_text(in.shape), window.pad_h, window.pad_w),
               "less padding");
  if (height * width > most_listed_values)
    refuse_key(path_, fmt::format("a map of {} x {} values", height, width), "a smaller stride");
  require_weights(1.0 * conv.out * window.kernel_h * window.kernel_w);
  return add_shaped(conv_transpose_layer(name, map, conv.out, window, has_bias(conv.bias)), in);
}

ListedValues ListedKinds::append(const std::string& name, const ListedLocal& local, std::string_view kind,
                                 const Values& in) {
  require_map(kind, in);
  const Window window = window_of(local.kernel, local.stride, local.padding);
  require_window(in, window);
  require_weights(1.0 * in.shape[0] * window.kernel_h * window.kernel_w);
  return add_shaped(local_layer(name, map_of(in), local.out, window, has_bias(local.bias)), in);
}

ListedValues ListedKinds::append(const std::string& name, const ListedPool& pool, std::string_view kind,
                                 const Values& in) {
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
  return add_shaped(kind == "max_pool" ? max_pool_layer(name, map_of(in), window)
                                       : average_pool_layer(name, map_of(in), window),
                    in);
}

ListedValues ListedKinds::append(const std::string&, const Extent& middle, std::string_view kind,
                                 const Values& in) {
  if (kind == "map") {
    const double pixels = 1.0 * middle.height * middle.width;
    if (!is_tokens(in) || in.shape[0] != pixels)
      refuse_shape(kind, in, fmt::format("{} tokens", pixels), "height times width as many as tokens");
    return {{in.shape[1], middle.height, middle.width}, in.tensor};
  }
  require_map(kind, in);
  if (middle.height > in.shape[1] || middle.width > in.shape[2])
    refuse_key(
        path_,
        fmt::format("{} x {} values are no part of {}", middle.height, middle.width, shape_text(in.shape)),
        "at most the height and width of its input");
  const double values = 1.0 * in.shape[0] * middle.height * middle.width;
  return {{in.shape[0], middle.height, middle.width}, graph_.add_slice(in.tensor, values)};
}

}  // namespace trainyard
