#include "imports/onnx_layers.hpp"

#include "imports/onnx_constants.hpp"
#include "imports/onnx_layer_list.hpp"
#include "imports/onnx_node.hpp"
#include "imports/onnx_window.hpp"
#include "interchange/input_text.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

using Sizes = OnnxSizes;

/// The output of a layer, without the batch.
struct OnnxActivation {
  Sizes shape;             ///< channels, height, width; tokens, features; features; or tokens of an input
  std::size_t entry = 0;   ///< of the list, that it comes from; 0: the input
  bool is_tokens = false;  ///< of an input: indices of a table
  Sizes map_before = {};   ///< of channels in groups, on their way to another order: the map that they were
};

class LayerWriter {
public:
  LayerWriter(const OnnxGraph& graph, const OnnxOptions& options)
      : graph_(graph), options_(options), at_(graph), constants_(graph) {}

  OnnxModel write() {
    find_nodes();
    count_uses();
    add_input();
    for (const OnnxNode* const node : nodes_) {
      ++result_.kinds[node->kind];
      at_.take(node);
      const auto layer = activations_.find(at_.operand(0));
      if (!constants_.fold(at_, layer == activations_.end() ? nullptr : &layer->second.shape)) add(*node);
    }
    at_.take(nullptr);
    end();
    result_.layers = static_cast<int>(entries_.size()) - 1;
    result_.yaml = layer_list_text(graph_, options_.name, std::move(entries_));
    return std::move(result_);
  }

private:
  /// The nodes that lead to an output, in the order of the file.
  void find_nodes() {
    std::set<std::string_view> needed(graph_.outputs.begin(), graph_.outputs.end());
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      at_.take(&*node);
      if (node->outputs.empty()) at_.refuse("it has no output");
      if (std::ranges::none_of(node->outputs, [&](const auto& one) { return needed.contains(one); }))
        continue;
      needed.insert(node->inputs.begin(), node->inputs.end());
      nodes_.push_back(&*node);
    }
    at_.take(nullptr);
    std::ranges::reverse(nodes_);
    if (const std::size_t others = graph_.nodes.size() - nodes_.size(); others > 0)
      note(
          fmt::format("left out: {} without effect on the output", plural(static_cast<int>(others), "node")));
  }

  void count_uses() {
    for (const OnnxNode* const node : nodes_) {
      for (const std::string& input : node->inputs) {
        if (!input.empty()) ++uses_[input];
      }
    }
    for (const std::string& output : graph_.outputs) ++uses_[output];
  }

  void add_input() {
    if (graph_.inputs.size() != 1) {
      constexpr std::size_t most = 8;
      const std::size_t named = std::min(graph_.inputs.size(), most);
      std::string names;
      for (std::size_t i = 0; i < named; ++i)
        names += (names.empty() ? "" : ", ") + shown(graph_.inputs[i].name);
      if (graph_.inputs.size() > named)
        names +=
            fmt::format(" and {} more", grouped(static_cast<std::int64_t>(graph_.inputs.size() - named)));
      at_.refuse(
          fmt::format("the model has {} inputs{}", graph_.inputs.size(), names.empty() ? "" : ": " + names),
          "export it with one input, or write the list of layers by hand");
    }
    const OnnxInput& input = graph_.inputs.front();
    OnnxActivation sample;
    if (!options_.sample.empty()) {
      sample.shape = options_.sample;
      if (!input.dims.empty() && input.dims.size() != options_.sample.size() + 1)
        at_.refuse(fmt::format("the input {} has {} sizes with the batch, not {}", shown(input.name),
                               input.dims.size(), options_.sample.size() + 1));
      for (std::size_t i = 1; i < input.dims.size(); ++i) {
        if (input.dims[i] && *input.dims[i] != options_.sample[i - 1])
          at_.refuse(fmt::format("size {} of the input {} is {}, not {}", i, shown(input.name),
                                 *input.dims[i], options_.sample[i - 1]));
      }
    } else {
      if (input.dims.size() < 2)
        at_.refuse(fmt::format("the input {} has no shape", shown(input.name)),
                   "--sample 3x224x224 gives it");
      for (std::size_t i = 1; i < input.dims.size(); ++i) {
        if (!input.dims[i])
          at_.refuse(fmt::format("size {} of the input {} is dynamic{}", i, shown(input.name),
                                 input.symbols[i].empty() ? "" : ": " + shown(input.symbols[i])),
                     "--sample 3x224x224 gives all sizes of a sample");
        sample.shape.push_back(*input.dims[i]);
      }
    }
    constexpr std::int64_t largest = 10'000'000;
    if (sample.shape.size() > 3 ||
        std::ranges::any_of(sample.shape, [](auto size) { return size < 1 || size > largest; }))
      at_.refuse(fmt::format("the input {} is no map, tokens or vector", shown(input.name)));
    sample.is_tokens = sample.shape.size() == 1;
    entries_.push_back(
        {.kind = "input", .keys = fmt::format("[{}]", fmt::join(sample.shape, ", ")), .inputs = {}});
    activations_[input.name] = sample;
  }

  [[nodiscard]] bool is_activation(std::size_t i) const { return activations_.contains(at_.operand(i)); }

  [[nodiscard]] const OnnxActivation& activation(std::size_t i) const {
    const auto found = activations_.find(at_.operand(i));
    if (found == activations_.end()) at_.refuse(fmt::format("input {} is no output of a layer", i));
    return found->second;
  }
  [[nodiscard]] const OnnxActivation& map(std::size_t i) const {
    const OnnxActivation& its = activation(i);
    if (its.shape.size() != 3)
      at_.refuse("the input is no map of channels, height and width", "two-dimensional ones alone are read");
    return its;
  }

  /// The shape of a weight that is learnt; counted once.
  const Sizes& weight(std::size_t i) {
    const Sizes& shape = shape_of_weight(i);
    if (!learnt_.insert(constants_.origin_of(at_.operand(i))).second)
      at_.refuse(fmt::format("the weight {} belongs to another layer, too", shown(at_.operand(i))),
                 "a list of layers shares weights of embeddings alone");
    result_.parameters += static_cast<double>(product(shape));
    return shape;
  }
  /// Counts the weight of a bias for an output of so many features.
  void bias(std::size_t i, std::int64_t size) {
    if (product(weight(i)) != size)
      at_.refuse("its bias does not fit the output", "a bias has a value for each channel or feature");
  }
  [[nodiscard]] const Sizes& shape_of_weight(std::size_t i) const {
    const Sizes* const shape = constants_.shape_of(at_.operand(i));
    if (shape == nullptr) at_.refuse(fmt::format("input {} is no weight: {}", i, shown(at_.operand(i))));
    return *shape;
  }

  void add_entry(std::string kind, std::string keys, std::vector<std::size_t> inputs, Sizes shape,
                 bool is_join = false) {
    constexpr std::int64_t largest = 10'000'000'000;
    if (product(shape) > largest || std::ranges::any_of(shape, [](std::int64_t size) { return size < 1; }))
      at_.refuse(fmt::format("its output [{}] is too large, or empty", fmt::join(shape, ", ")));
    entries_.push_back(
        {.kind = std::move(kind), .keys = std::move(keys), .inputs = std::move(inputs), .is_join = is_join});
    activations_[at_.output()] = {.shape = std::move(shape), .entry = entries_.size() - 1};
  }
  void pass_on(Sizes shape, std::size_t entry) {
    activations_[at_.output()] = {.shape = std::move(shape), .entry = entry};
  }
  void add_same(std::string kind, std::string keys = {}) {
    const OnnxActivation in = activation(0);
    add_entry(std::move(kind), std::move(keys), {in.entry}, in.shape);
  }

  void add(const OnnxNode& node) {
    using Add = void (LayerWriter::*)();
    static const std::map<std::string_view, Add> kinds{{"Conv", &LayerWriter::add_conv},
                                                       {"Gemm", &LayerWriter::add_gemm},
                                                       {"MatMul", &LayerWriter::add_matmul},
                                                       {"BatchNormalization", &LayerWriter::add_batch_norm},
                                                       {"LayerNormalization", &LayerWriter::add_layer_norm},
                                                       {"MaxPool", &LayerWriter::add_pool},
                                                       {"AveragePool", &LayerWriter::add_pool},
                                                       {"GlobalAveragePool", &LayerWriter::add_global_pool},
                                                       {"ReduceMean", &LayerWriter::add_mean},
                                                       {"LRN", &LayerWriter::add_response_norm},
                                                       {"Relu", &LayerWriter::add_relu},
                                                       {"Clip", &LayerWriter::add_clip},
                                                       {"PRelu", &LayerWriter::add_prelu},
                                                       {"Gelu", &LayerWriter::add_gelu},
                                                       {"Sigmoid", &LayerWriter::add_sigmoid},
                                                       {"Dropout", &LayerWriter::add_dropout},
                                                       {"Add", &LayerWriter::add_sum},
                                                       {"Sum", &LayerWriter::add_sum},
                                                       {"Mul", &LayerWriter::add_product},
                                                       {"Concat", &LayerWriter::add_concat},
                                                       {"Flatten", &LayerWriter::add_flatten},
                                                       {"Reshape", &LayerWriter::add_reshape},
                                                       {"Squeeze", &LayerWriter::add_squeeze},
                                                       {"Transpose", &LayerWriter::add_transpose},
                                                       {"Identity", &LayerWriter::add_identity},
                                                       {"Cast", &LayerWriter::add_identity},
                                                       {"Gather", &LayerWriter::add_embedding},
                                                       {"Softmax", &LayerWriter::add_softmax},
                                                       {"LogSoftmax", &LayerWriter::add_softmax}};
    const auto found = kinds.find(node.kind);
    const bool is_standard = node.domain.empty() || node.domain == "ai.onnx" || node.kind == "Gelu";
    if (found == kinds.end() || !is_standard)
      at_.refuse("a list of layers has no such layer",
                 "write the model by hand: workloads/README.md, \"Write your own model\"");
    (this->*found->second)();
  }

  /// The padding of each side of a list's layers, which is symmetric.
  std::int64_t padding(const OnnxWindowSide& side, bool rounds_up) {
    if (side.before == side.after) return side.before;
    const std::int64_t both = side.before + side.after;
    const std::int64_t out = side.out(both, rounds_up);
    for (const std::int64_t symmetric :
         {std::min(side.before, side.after), std::max(side.before, side.after), both / 2, (both + 1) / 2}) {
      if (side.out(2 * symmetric, rounds_up) != out) continue;
      ++asymmetric_;
      return symmetric;
    }
    at_.refuse("its padding is asymmetric, and no symmetric one has the same output");
  }

  static std::string pair_text(std::int64_t height, std::int64_t width) {
    return height == width ? fmt::format("{}", height) : fmt::format("[{}, {}]", height, width);
  }

  std::string window_text(const OnnxWindowSide& height, const OnnxWindowSide& width, std::int64_t top,
                          std::int64_t left) const {
    std::string text = fmt::format("kernel: {}", pair_text(height.kernel, width.kernel));
    text += fmt::format(", stride: {}", height.stride);
    if (top > 0 || left > 0) text += fmt::format(", padding: {}", pair_text(top, left));
    return text;
  }

  void add_conv() {
    const OnnxActivation in = map(0);
    const Sizes weights = weight(1);
    if (weights.size() != 4) at_.refuse("its weight is not that of a two-dimensional convolution");
    const std::int64_t groups = at_.number("group", 1);
    if (groups < 1 || groups > in.shape[0] || weights[1] * groups != in.shape[0])
      at_.refuse("its weight does not fit the map's channels");
    const auto [height, width] = window_of(at_, in.shape, {weights[2], weights[3]});
    const std::int64_t top = padding(height, false);
    const std::int64_t left = padding(width, false);
    const bool has_bias = at_.has_operand(2);
    if (has_bias) bias(2, weights[0]);
    has_convolution_bias_ = has_convolution_bias_ || has_bias;
    has_convolution_ = true;
    const bool is_depthwise = groups > 1 && groups == in.shape[0] && weights[0] == groups;
    std::string keys = is_depthwise ? "{" : fmt::format("{{out: {}, ", weights[0]);
    keys += window_text(height, width, top, left);
    if (groups > 1 && !is_depthwise) keys += fmt::format(", groups: {}", groups);
    keys += fmt::format(", bias: {}}}", has_bias);
    add_entry(is_depthwise ? "depthwise_conv" : "conv", keys, {in.entry},
              {weights[0], height.out(2 * top), width.out(2 * left)});
  }

  void add_pool() {
    const OnnxActivation in = map(0);
    const auto [height, width] = window_of(at_, in.shape, at_.numbers("kernel_shape", {}));
    if (at_.node().outputs.size() > 1 && uses_.contains(at_.node().outputs[1]))
      at_.refuse("its second output is used");
    const bool is_max = at_.kind() == "MaxPool";
    bool rounds_up = at_.number("ceil_mode", 0) != 0;
    // Padding behind the map alone is, in sizes, what rounding up does.
    const auto pads_behind = [](const OnnxWindowSide& side) {
      return side.before == 0 && side.after > 0 && side.out(side.after) == side.out(0, true);
    };
    std::int64_t top = 0;
    std::int64_t left = 0;
    if (!rounds_up && pads_behind(height) && pads_behind(width)) {
      rounds_up = true;
      ++asymmetric_;
    } else {
      top = padding(height, rounds_up);
      left = padding(width, rounds_up);
    }
    std::string keys = "{" + window_text(height, width, top, left);
    if (rounds_up) keys += ", round_up: true";
    add_entry(is_max ? "max_pool" : "average_pool", keys + "}", {in.entry},
              {in.shape[0], height.out(2 * top, rounds_up), width.out(2 * left, rounds_up)});
  }

  void add_global_pool() {
    const OnnxActivation in = map(0);
    add_entry("global_pool", {}, {in.entry}, {in.shape[0]});
  }

  void add_mean() {
    Sizes axes = at_.numbers("axes", {});
    if (const Sizes* const given = constants_.values_of(at_.operand(1)); axes.empty() && given != nullptr)
      axes = *given;
    for (std::int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
    std::ranges::sort(axes);
    if (!is_activation(0) || activation(0).shape.size() != 3 || axes != Sizes{2, 3})
      at_.refuse("only the mean over height and width is supported");
    add_global_pool();
  }

  void add_gemm() {
    const OnnxActivation in = activation(0);
    if (in.shape.size() != 1) at_.refuse("its input is no vector", "Flatten before it");
    if (at_.number("transA", 0) != 0) at_.refuse("it transposes the samples");
    Sizes weights = weight(1);
    if (weights.size() != 2) at_.refuse("its weight is no matrix");
    if (at_.number("transB", 0) == 0) std::swap(weights[0], weights[1]);
    if (weights[1] != in.shape[0]) at_.refuse("its weight does not fit its input");
    if (at_.has_operand(2)) bias(2, weights[0]);
    add_entry("linear", fmt::format("{{out: {}, bias: {}}}", weights[0], at_.has_operand(2)), {in.entry},
              {weights[0]});
  }

  void add_matmul() {
    if (is_activation(0) && is_activation(1))
      at_.refuse("it multiplies the outputs of two layers",
                 "write attention by hand: {attention: {heads: 12}}");
    const OnnxActivation in = activation(0);
    const Sizes weights = weight(1);
    if (weights.size() != 2 || in.shape.empty() || in.shape.size() > 2 || weights[0] != in.shape.back())
      at_.refuse("its weight does not fit its input");
    Sizes shape = in.shape;
    shape.back() = weights[1];
    add_entry("linear", fmt::format("{{out: {}, bias: false}}", weights[1]), {in.entry}, shape);
  }

  void add_batch_norm() {
    const OnnxActivation in = activation(0);
    const std::int64_t channels = in.shape.front();
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      if (product(weight(i)) != channels) at_.refuse("its weights do not fit the channels");
    }
    for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
      if (at_.has_operand(i)) result_.running_values += static_cast<double>(product(shape_of_weight(i)));
    }
    has_batch_norm_ = true;
    add_entry("batch_norm", {}, {in.entry}, in.shape);
  }

  void add_layer_norm() {
    const OnnxActivation in = activation(0);
    const std::int64_t axis = at_.number("axis", -1);
    if (in.shape.size() > 2 || (axis != -1 && axis != static_cast<std::int64_t>(in.shape.size())))
      at_.refuse("it normalises other axes than the last");
    if (product(weight(1)) != in.shape.back()) at_.refuse("its weight does not fit the features");
    if (at_.has_operand(2)) bias(2, in.shape.back());
    add_entry("layer_norm", fmt::format("{{bias: {}}}", at_.has_operand(2)), {in.entry}, in.shape);
  }

  void add_response_norm() {
    (void)map(0);
    add_same("local_response_norm");
  }

  void add_relu() { add_same("relu"); }
  void add_clip() {
    note("Clip is written as relu, which costs as much");
    add_same("relu");
  }
  void add_prelu() {
    if (product(weight(1)) != activation(0).shape.front()) at_.refuse("it has no slope for each channel");
    add_same("prelu");
  }
  void add_gelu() { add_same("gelu"); }
  void add_dropout() { add_same("dropout"); }
  void add_identity() {
    const OnnxActivation in = activation(0);
    activations_[at_.output()] = in;
  }

  /// x times its sigmoid is SiLU; the sigmoid of the model's output is a loss.
  void add_sigmoid() {
    const OnnxActivation in = activation(0);
    const std::string& out = at_.output();
    if (is_output(out) && uses_[out] == 1) {
      add_entry("sigmoid_cross_entropy", {}, {in.entry}, {1});
      has_loss_ = true;
      return;
    }
    sigmoids_[out] = at_.operand(0);
    pass_on(in.shape, in.entry);
  }

  void add_product() {
    for (const auto& [a, b] : {std::pair{std::size_t{0}, std::size_t{1}}, {std::size_t{1}, std::size_t{0}}}) {
      const auto sigmoid = sigmoids_.find(at_.operand(a));
      if (sigmoid == sigmoids_.end()) continue;
      if (sigmoid->second != at_.operand(b) || uses_[at_.operand(a)] != 1)
        at_.refuse("it multiplies a sigmoid with something else");
      const OnnxActivation in = activation(b);
      sigmoids_.erase(sigmoid);
      add_entry("silu", {}, {in.entry}, in.shape);
      return;
    }
    if (takes_affine_of_norm()) return;
    add_join("multiply");
  }

  /// Caffe's batch normalisation has no scale and bias: a layer of a Mul and an Add behind it has them. Here
  /// they are those of the batch normalisation, whose own are constants.
  bool takes_affine_of_norm() {
    for (const auto& [a, b] : {std::pair{std::size_t{0}, std::size_t{1}}, {std::size_t{1}, std::size_t{0}}}) {
      if (!is_activation(a) || is_activation(b)) continue;
      const OnnxActivation in = activation(a);
      const Sizes* const weights = constants_.shape_of(at_.operand(b));
      if (weights == nullptr || entries_[in.entry].kind != "batch_norm" || uses_[at_.operand(a)] != 1 ||
          product(*weights) != in.shape.front())
        return false;
      note("a scale and a bias behind a batch normalisation are its own");
      pass_on(in.shape, in.entry);
      return true;
    }
    return false;
  }

  /// A bias behind a product or a convolution without one, or the sum of layers.
  void add_sum() {
    if (takes_affine_of_norm()) return;
    for (const auto& [a, b] : {std::pair{std::size_t{0}, std::size_t{1}}, {std::size_t{1}, std::size_t{0}}}) {
      if (!is_activation(a) || is_activation(b)) continue;
      const OnnxActivation in = activation(a);
      OnnxEntry& entry = entries_[in.entry];
      const bool is_map = entry.kind == "conv" || entry.kind == "depthwise_conv";
      const bool is_bias = in.entry + 1 == entries_.size() && (entry.kind == "linear" || is_map) &&
                           uses_[at_.operand(a)] == 1 && entry.keys.ends_with("bias: false}") &&
                           constants_.shape_of(at_.operand(b)) != nullptr &&
                           product(shape_of_weight(b)) == (is_map ? in.shape.front() : in.shape.back());
      if (!is_bias)
        at_.refuse("it adds a constant to a layer", "a list of layers adds outputs of layers alone");
      (void)weight(b);
      has_convolution_bias_ = has_convolution_bias_ || is_map;
      entry.keys.replace(entry.keys.size() - 6, 5, "true");
      pass_on(in.shape, in.entry);
      return;
    }
    add_join("add");
  }

  /// Two layers of equal shape at a time.
  void add_join(const std::string& kind) {
    if (at_.node().inputs.size() == 1) {
      add_identity();
      return;
    }
    OnnxActivation sum = activation(0);
    for (std::size_t i = 1; i < at_.node().inputs.size(); ++i) {
      const OnnxActivation other = activation(i);
      if (other.shape != sum.shape) at_.refuse("its inputs have unequal shapes");
      add_entry(kind, {}, {sum.entry, other.entry}, sum.shape, true);
      sum = activations_[at_.output()];
    }
  }

  void add_concat() {
    OnnxActivation all = activation(0);
    const std::int64_t axis = at_.number("axis", 1);
    const auto rank = static_cast<std::int64_t>(all.shape.size()) + 1;
    const std::int64_t place = axis < 0 ? axis + rank : axis;
    const std::int64_t channels = all.shape.size() == 2 ? 2 : 1;
    if (place != channels) at_.refuse("it does not concatenate channels or features");
    std::vector<std::size_t> inputs{all.entry};
    for (std::size_t i = 1; i < at_.node().inputs.size(); ++i) {
      const OnnxActivation& other = activation(i);
      Sizes same = other.shape;
      if (same.size() != all.shape.size()) at_.refuse("its inputs have unequal shapes");
      const auto at = static_cast<std::size_t>(channels - 1);
      all.shape[at] += same[at];
      same[at] = all.shape[at];
      if (same != all.shape) at_.refuse("its inputs have unequal shapes");
      inputs.push_back(other.entry);
    }
    if (inputs.size() == 1) {
      add_identity();
    } else {
      add_entry("concat", {}, std::move(inputs), all.shape, true);
    }
  }

  void flatten() {
    const OnnxActivation in = activation(0);
    if (in.shape.size() == 1) {
      add_identity();
    } else {
      add_entry("flatten", {}, {in.entry}, {product(in.shape)});
    }
  }

  void add_flatten() {
    if (at_.number("axis", 1) != 1) at_.refuse("it flattens samples into each other");
    flatten();
  }

  void add_reshape() {
    const Sizes* const target = constants_.values_of(at_.operand(1));
    const Sizes to = target == nullptr ? at_.numbers("shape", {}) : *target;
    const OnnxActivation in = activation(0);
    if (to.empty()) at_.refuse("its shape is unknown");
    Sizes rest(to.begin() + 1, to.end());
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (rest[i] == 0 && i < in.shape.size()) rest[i] = in.shape[i];
    }
    const auto open = std::ranges::find(rest, -1);
    if (open != rest.end()) {
      *open = 1;
      const std::int64_t known = product(rest);
      *open = known > 0 ? product(in.shape) / known : 0;
    }
    const bool is_in_groups = in.shape.size() == 3 && rest.size() == 4 && rest[0] * rest[1] == in.shape[0] &&
                              rest[2] == in.shape[1] && rest[3] == in.shape[2];
    if (rest == in.shape) {
      add_identity();
    } else if (is_in_groups) {
      activations_[at_.output()] = {.shape = rest, .entry = in.entry, .map_before = in.shape};
    } else if (rest == in.map_before) {
      note("shuffles of channels are left out: they copy maps");
      pass_on(rest, in.entry);
    } else if (rest.size() == 1 && rest.front() == product(in.shape)) {
      flatten();
    } else {
      at_.refuse(fmt::format("it makes [{}] of [{}]", fmt::join(rest, ", "), fmt::join(in.shape, ", ")),
                 "a list of layers flattens alone");
    }
  }

  /// The groups of channels change places with the channels of a group, as in ShuffleNet.
  void add_transpose() {
    OnnxActivation in = activation(0);
    if (in.map_before.empty() || at_.numbers("perm", {}) != Sizes{0, 2, 1, 3, 4})
      at_.refuse("it changes the order of sizes", "a list of layers shuffles groups of channels alone");
    std::swap(in.shape[0], in.shape[1]);
    activations_[at_.output()] = in;
  }

  void add_squeeze() {
    const OnnxActivation in = activation(0);
    if (in.shape.size() == 3 && in.shape[1] == 1 && in.shape[2] == 1) {
      flatten();
    } else if (in.shape.size() == 1) {
      add_identity();
    } else {
      at_.refuse("it takes sizes away");
    }
  }

  /// Rows of a table that is a weight.
  void add_embedding() {
    if (constants_.shape_of(at_.operand(0)) == nullptr || !is_activation(1) || !activation(1).is_tokens)
      at_.refuse("it is no look-up of the input's tokens in a table");
    const OnnxActivation in = activation(1);
    const Sizes table = weight(0);
    if (table.size() != 2 || at_.number("axis", 0) != 0) at_.refuse("its table is no matrix");
    add_entry("embedding", fmt::format("{{entries: {}, features: {}}}", table[0], table[1]), {in.entry},
              {in.shape[0], table[1]});
  }

  void add_softmax() {
    const std::string& out = at_.output();
    if (!is_output(out) || uses_[out] != 1)
      at_.refuse("it is not the model's output", "write attention by hand: {attention: {heads: 12}}");
    const OnnxActivation in = activation(0);
    add_entry("softmax_cross_entropy", {}, {in.entry}, {1});
    has_loss_ = true;
  }

  [[nodiscard]] bool is_output(const std::string& name) const {
    return std::ranges::find(graph_.outputs, name) != graph_.outputs.end();
  }

  void note(std::string text) {
    if (std::ranges::find(result_.notes, text) == result_.notes.end())
      result_.notes.push_back(std::move(text));
  }

  void end() {
    if (graph_.outputs.size() != 1)
      at_.refuse(fmt::format("the model has {} outputs", graph_.outputs.size()), "export it with one output");
    if (!sigmoids_.empty()) at_.refuse("a sigmoid is not multiplied with its input, and is no output");
    const auto last = activations_.find(graph_.outputs.front());
    if (last == activations_.end()) at_.refuse("the model's output is computed from no input");
    if (!has_loss_) {
      if (last->second.entry == 0) at_.refuse("the model has no layers");
      entries_.push_back({.kind = "softmax_cross_entropy", .keys = {}, .inputs = {last->second.entry}});
      note("the model has no loss: softmax_cross_entropy is assumed");
    }
    if (asymmetric_ > 0)
      note(fmt::format("asymmetric padding of {} is written as symmetric, with the same shapes and FLOPs",
                       plural(asymmetric_, "side or pooling")));
    if (has_convolution_ && has_convolution_bias_ && !has_batch_norm_)
      result_.warnings.emplace_back(
          "convolutions have a bias and no batch normalisation follows: if the model has some, the export "
          "folded it "
          "into them. For training export with training=torch.onnx.TrainingMode.TRAINING");
    if (result_.running_values > 0)
      note(fmt::format("running means and variances are no parameters: {} values",
                       grouped(static_cast<std::int64_t>(result_.running_values))));
  }

  const OnnxGraph& graph_;
  const OnnxOptions& options_;
  OnnxNodeAtHand at_;
  OnnxConstants constants_;
  std::vector<const OnnxNode*> nodes_;
  std::map<std::string, int> uses_;
  std::map<std::string, OnnxActivation> activations_;
  std::map<std::string, std::string> sigmoids_;  // outputs that nothing has multiplied yet, and their inputs
  std::set<std::string> learnt_;
  std::vector<OnnxEntry> entries_;
  bool has_loss_ = false, has_batch_norm_ = false, has_convolution_ = false, has_convolution_bias_ = false;
  int asymmetric_ = 0;
  OnnxModel result_;
};

}  // namespace

OnnxModel onnx_layers(const OnnxGraph& graph, const OnnxOptions& options) {
  return LayerWriter(graph, options).write();
}

}  // namespace trainyard
