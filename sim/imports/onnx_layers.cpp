#include "imports/onnx_layers.hpp"

#include "imports/onnx_layer_list.hpp"
#include "interchange/input_text.hpp"
#include "units/plural.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <string_view>
#include <utility>

namespace trainyard {
namespace {

/// The two operands of a sum or product, in both orders.
constexpr std::pair<std::size_t, std::size_t> both_orders[] = {{0, 1}, {1, 0}};

class LayerWriter : OnnxListBuilder {
public:
  LayerWriter(const OnnxGraph& model, const OnnxOptions& options)
      : OnnxListBuilder(model, options.sample), name_(options.name) {}

  OnnxModel write() {
    for (const OnnxNode* const node : nodes) {
      ++result_.kinds[node->kind];
      at.take(node);
      const auto layer = activations.find(at.operand(0));
      if (!constants.fold(at, layer == activations.end() ? nullptr : &layer->second.shape)) add(*node);
    }
    at.take(nullptr);
    end();
    result_.layers = static_cast<int>(entries.size()) - 1;
    result_.parameters = parameters;
    result_.notes = std::move(notes);
    result_.yaml = text(name_);
    return std::move(result_);
  }

private:
  /// An operator, the layer that it becomes, and the member that checks its form and adds the layer.
  struct Rule {
    std::string_view kind;
    void (LayerWriter::*add)(const char* layer);
    const char* layer;
  };

  void add(const OnnxNode& node) {
    static constexpr Rule rules[] = {{"Conv", &LayerWriter::add_conv, "conv"},
                                     {"Gemm", &LayerWriter::add_gemm, "linear"},
                                     {"MatMul", &LayerWriter::add_matmul, "linear"},
                                     {"BatchNormalization", &LayerWriter::add_batch_norm, "batch_norm"},
                                     {"LayerNormalization", &LayerWriter::add_layer_norm, "layer_norm"},
                                     {"LRN", &LayerWriter::add_on_map, "local_response_norm"},
                                     {"MaxPool", &LayerWriter::add_pool, "max_pool"},
                                     {"AveragePool", &LayerWriter::add_pool, "average_pool"},
                                     {"GlobalAveragePool", &LayerWriter::add_global_pool, "global_pool"},
                                     {"ReduceMean", &LayerWriter::add_mean, "global_pool"},
                                     {"Relu", &LayerWriter::add_elementwise, "relu"},
                                     {"Clip", &LayerWriter::add_elementwise, "relu"},
                                     {"Gelu", &LayerWriter::add_elementwise, "gelu"},
                                     {"Dropout", &LayerWriter::add_elementwise, "dropout"},
                                     {"PRelu", &LayerWriter::add_prelu, "prelu"},
                                     {"Sigmoid", &LayerWriter::add_sigmoid, "sigmoid_cross_entropy"},
                                     {"Add", &LayerWriter::add_sum, "add"},
                                     {"Sum", &LayerWriter::add_sum, "add"},
                                     {"Mul", &LayerWriter::add_product, "multiply"},
                                     {"Concat", &LayerWriter::add_concat, "concat"},
                                     {"Flatten", &LayerWriter::add_flatten, "flatten"},
                                     {"Reshape", &LayerWriter::add_reshape, "flatten"},
                                     {"Squeeze", &LayerWriter::add_squeeze, "flatten"},
                                     {"Transpose", &LayerWriter::add_transpose, ""},
                                     {"Identity", &LayerWriter::add_nothing, ""},
                                     {"Cast", &LayerWriter::add_nothing, ""},
                                     {"Gather", &LayerWriter::add_embedding, "embedding"},
                                     {"Softmax", &LayerWriter::add_loss, "softmax_cross_entropy"},
                                     {"LogSoftmax", &LayerWriter::add_loss, "softmax_cross_entropy"}};
    const auto* const rule = std::ranges::find(rules, node.kind, &Rule::kind);
    const bool is_standard = node.domain.empty() || node.domain == "ai.onnx" || node.kind == "Gelu";
    if (rule == std::end(rules) || !is_standard)
      at.refuse("a list of layers has no such layer",
                "write the model by hand: docs/models.md, \"Write your own model\"");
    (this->*rule->add)(rule->layer);
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
    at.refuse("its padding is asymmetric, and no symmetric one has the same output");
  }

  static std::string window_text(const OnnxWindowSide& height, const OnnxWindowSide& width, std::int64_t top,
                                 std::int64_t left) {
    const auto pair = [](std::int64_t a, std::int64_t b) {
      return a == b ? fmt::format("{}", a) : fmt::format("[{}, {}]", a, b);
    };
    std::string text =
        fmt::format("kernel: {}, stride: {}", pair(height.kernel, width.kernel), height.stride);
    if (top > 0 || left > 0) text += ", padding: " + pair(top, left);
    return text;
  }

  void add_conv(const char* layer) {
    const OnnxActivation in = map();
    const OnnxSizes weights = weight(1);
    if (weights.size() != 4) at.refuse("its weight is not that of a two-dimensional convolution");
    const std::int64_t groups = at.number("group", 1);
    if (groups < 1 || groups > in.shape[0] || weights[1] * groups != in.shape[0])
      at.refuse("its weight does not fit the map's channels");
    const auto [height, width] = at.window(in.shape, {weights[2], weights[3]});
    const std::int64_t top = padding(height, false);
    const std::int64_t left = padding(width, false);
    const bool has_bias = take_bias(weights[0]);
    has_convolution_bias_ = has_convolution_bias_ || has_bias;
    has_convolution_ = true;
    const bool is_depthwise = groups > 1 && groups == in.shape[0] && weights[0] == groups;
    std::string keys = is_depthwise ? "{" : fmt::format("{{out: {}, ", weights[0]);
    keys += window_text(height, width, top, left);
    if (groups > 1 && !is_depthwise) keys += fmt::format(", groups: {}", groups);
    keys += fmt::format(", bias: {}}}", has_bias);
    add_entry(is_depthwise ? "depthwise_conv" : layer, keys, {in.entry},
              {weights[0], height.out(2 * top), width.out(2 * left)});
  }

  void add_pool(const char* layer) {
    const OnnxActivation in = map();
    const auto [height, width] = at.window(in.shape, at.numbers("kernel_shape", {}));
    if (at.node().outputs.size() > 1 && uses.contains(at.node().outputs[1]))
      at.refuse("its second output is used");
    bool rounds_up = at.number("ceil_mode", 0) != 0;
    // Padding after the map alone gives the sizes of rounding up.
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
    add_entry(layer, keys + "}", {in.entry},
              {in.shape[0], height.out(2 * top, rounds_up), width.out(2 * left, rounds_up)});
  }

  void add_global_pool(const char* layer) {
    const OnnxActivation in = map();
    add_entry(layer, {}, {in.entry}, {in.shape[0]});
  }

  void add_mean(const char* layer) {
    OnnxSizes axes = at.numbers("axes", {});
    if (const OnnxSizes* const given = constants.values_of(at.operand(1)); axes.empty() && given != nullptr)
      axes = *given;
    for (std::int64_t& axis : axes) axis += axis < 0 ? 4 : 0;
    std::ranges::sort(axes);
    if (!is_activation(0) || activation(0).shape.size() != 3 || axes != OnnxSizes{2, 3})
      at.refuse("only the mean over height and width is supported");
    add_global_pool(layer);
  }

  void add_gemm(const char* layer) {
    const OnnxActivation in = activation(0);
    if (in.shape.size() != 1) at.refuse("its input is no vector", "Flatten before it");
    if (at.number("transA", 0) != 0) at.refuse("it transposes the samples");
    OnnxSizes weights = weight(1);
    if (weights.size() != 2) at.refuse("its weight is no matrix");
    if (at.number("transB", 0) == 0) std::swap(weights[0], weights[1]);
    if (weights[1] != in.shape[0]) at.refuse("its weight does not fit its input");
    add_entry(layer, fmt::format("{{out: {}, bias: {}}}", weights[0], take_bias(weights[0])), {in.entry},
              {weights[0]});
  }

  void add_matmul(const char* layer) {
    if (is_activation(0) && is_activation(1))
      at.refuse("it multiplies the outputs of two layers",
                "write attention by hand: {attention: {heads: 12}}");
    const OnnxActivation in = activation(0);
    const OnnxSizes weights = weight(1);
    if (weights.size() != 2 || in.shape.empty() || in.shape.size() > 2 || weights[0] != in.shape.back())
      at.refuse("its weight does not fit its input");
    OnnxSizes shape = in.shape;
    shape.back() = weights[1];
    add_entry(layer, fmt::format("{{out: {}, bias: false}}", weights[1]), {in.entry}, shape);
  }

  void add_batch_norm(const char* layer) {
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      if (product(weight(i)) != activation(0).shape.front()) at.refuse("its weights do not fit the channels");
    }
    for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
      if (at.has_operand(i)) result_.running_values += static_cast<double>(product(shape_of_weight(i)));
    }
    has_batch_norm_ = true;
    add_same(layer);
  }

  void add_layer_norm(const char* layer) {
    const OnnxActivation in = activation(0);
    const std::int64_t axis = at.number("axis", -1);
    if (in.shape.size() > 2 || (axis != -1 && axis != static_cast<std::int64_t>(in.shape.size())))
      at.refuse("it normalises other axes than the last");
    if (product(weight(1)) != in.shape.back()) at.refuse("its weight does not fit the features");
    add_same(layer, fmt::format("{{bias: {}}}", take_bias(in.shape.back())));
  }

  void add_on_map(const char* layer) {
    (void)map();
    add_same(layer);
  }

  void add_elementwise(const char* layer) {
    if (at.kind() == "Clip") note("Clip is written as relu, which costs as much");
    add_same(layer);
  }
  void add_prelu(const char* layer) {
    if (product(weight(1)) != activation(0).shape.front()) at.refuse("it has no slope for each channel");
    add_same(layer);
  }
  void add_nothing(const char* = "") {
    OnnxActivation in = activation(0);
    activations[at.output()] = std::move(in);
  }

  /// x times its sigmoid is SiLU; the sigmoid of the model's output is a loss.
  void add_sigmoid(const char* layer) {
    const OnnxActivation in = activation(0);
    if (is_last()) {
      add_loss(layer);
      return;
    }
    sigmoids_[at.output()] = at.operand(0);
    pass_on(in.shape, in.entry);
  }

  void add_product(const char* layer) {
    for (const auto& [a, b] : both_orders) {
      const auto sigmoid = sigmoids_.find(at.operand(a));
      if (sigmoid == sigmoids_.end()) continue;
      if (sigmoid->second != at.operand(b) || uses[at.operand(a)] != 1)
        at.refuse("it multiplies a sigmoid with something else");
      const OnnxActivation in = activation(b);
      sigmoids_.erase(sigmoid);
      add_entry("silu", {}, {in.entry}, in.shape);
      return;
    }
    if (takes_affine_of_norm()) return;
    add_join(layer);
  }

  /// Caffe's batch normalisation has no scale and bias: a layer of a Mul and an Add behind it has them. Here
  /// they are those of the batch normalisation, whose own are constants.
  bool takes_affine_of_norm() {
    for (const auto& [a, b] : both_orders) {
      if (!is_activation(a) || is_activation(b)) continue;
      const OnnxActivation in = activation(a);
      const OnnxSizes* const weights = constants.shape_of(at.operand(b));
      if (weights == nullptr || entries[in.entry].kind != "batch_norm" || uses[at.operand(a)] != 1 ||
          product(*weights) != in.shape.front())
        return false;
      note("a scale and a bias behind a batch normalisation are its own");
      pass_on(in.shape, in.entry);
      return true;
    }
    return false;
  }

  /// A bias behind a product or a convolution without one, or the sum of layers.
  void add_sum(const char* layer) {
    if (takes_affine_of_norm()) return;
    for (const auto& [a, b] : both_orders) {
      if (!is_activation(a) || is_activation(b)) continue;
      const OnnxActivation in = activation(a);
      OnnxEntry& entry = entries[in.entry];
      const bool is_map = entry.kind == "conv" || entry.kind == "depthwise_conv";
      const bool is_bias = in.entry + 1 == entries.size() && (entry.kind == "linear" || is_map) &&
                           uses[at.operand(a)] == 1 && entry.keys.ends_with("bias: false}") &&
                           constants.shape_of(at.operand(b)) != nullptr &&
                           product(shape_of_weight(b)) == (is_map ? in.shape.front() : in.shape.back());
      if (!is_bias)
        at.refuse("it adds a constant to a layer", "a list of layers adds outputs of layers alone");
      (void)weight(b);
      has_convolution_bias_ = has_convolution_bias_ || is_map;
      entry.keys.replace(entry.keys.size() - 6, 5, "true");
      pass_on(in.shape, in.entry);
      return;
    }
    add_join(layer);
  }

  /// Two layers of equal shape at a time.
  void add_join(const char* layer) {
    if (at.node().inputs.size() == 1) {
      add_nothing();
      return;
    }
    OnnxActivation sum = activation(0);
    for (std::size_t i = 1; i < at.node().inputs.size(); ++i) {
      const OnnxActivation next = activation(i);
      if (next.shape != sum.shape) at.refuse("its inputs have unequal shapes");
      add_entry(layer, {}, {sum.entry, next.entry}, sum.shape, true);
      sum = activations[at.output()];
    }
  }

  void add_concat(const char* layer) {
    OnnxActivation all = activation(0);
    const std::int64_t axis = at.number("axis", 1);
    const std::int64_t place = axis < 0 ? axis + std::ssize(all.shape) + 1 : axis;
    const std::size_t channels = all.shape.size() == 2 ? 1 : 0;  // without the batch
    if (place != static_cast<std::int64_t>(channels) + 1)
      at.refuse("it does not concatenate channels or features");
    std::vector<std::size_t> inputs{all.entry};
    for (std::size_t i = 1; i < at.node().inputs.size(); ++i) {
      const OnnxActivation& next = activation(i);
      OnnxSizes same = next.shape;
      if (same.size() != all.shape.size()) at.refuse("its inputs have unequal shapes");
      all.shape[channels] += std::exchange(same[channels], all.shape[channels] + same[channels]);
      if (same != all.shape) at.refuse("its inputs have unequal shapes");
      inputs.push_back(next.entry);
    }
    if (inputs.size() == 1)
      add_nothing();
    else
      add_entry(layer, {}, std::move(inputs), all.shape, true);
  }

  void flatten(const char* layer) {
    const OnnxActivation in = activation(0);
    if (in.shape.size() == 1)
      add_nothing();
    else
      add_entry(layer, {}, {in.entry}, {product(in.shape)});
  }

  void add_flatten(const char* layer) {
    if (at.number("axis", 1) != 1) at.refuse("it flattens samples into each other");
    flatten(layer);
  }

  void add_reshape(const char* layer) {
    const OnnxSizes* const target = constants.values_of(at.operand(1));
    const OnnxSizes to = target == nullptr ? at.numbers("shape", {}) : *target;
    const OnnxActivation in = activation(0);
    if (to.empty()) at.refuse("its shape is unknown");
    OnnxSizes rest(to.begin() + 1, to.end());
    for (std::size_t i = 0; i < std::min(rest.size(), in.shape.size()); ++i)
      rest[i] = rest[i] == 0 ? in.shape[i] : rest[i];
    fill_open_size(rest, in.shape);
    const bool is_in_groups = in.shape.size() == 3 && rest.size() == 4 && rest[0] * rest[1] == in.shape[0] &&
                              rest[2] == in.shape[1] && rest[3] == in.shape[2];
    if (rest == in.shape) {
      add_nothing();
    } else if (is_in_groups) {
      activations[at.output()] = {.shape = rest, .entry = in.entry, .map_before = in.shape};
    } else if (rest == in.map_before) {
      note("shuffles of channels are left out: they copy maps");
      pass_on(rest, in.entry);
    } else if (rest.size() == 1 && rest.front() == product(in.shape)) {
      flatten(layer);
    } else {
      at.refuse(fmt::format("it makes [{}] of [{}]", fmt::join(rest, ", "), fmt::join(in.shape, ", ")),
                "a list of layers flattens alone");
    }
  }

  /// The groups of channels change places with the channels of a group, as in ShuffleNet.
  void add_transpose(const char*) {
    OnnxActivation in = activation(0);
    if (in.map_before.empty() || at.numbers("perm", {}) != OnnxSizes{0, 2, 1, 3, 4})
      at.refuse("it changes the order of sizes", "a list of layers shuffles groups of channels alone");
    std::swap(in.shape[0], in.shape[1]);
    activations[at.output()] = in;
  }

  void add_squeeze(const char* layer) {
    const OnnxActivation in = activation(0);
    if (in.shape.size() != 1 && (in.shape.size() != 3 || in.shape[1] != 1 || in.shape[2] != 1))
      at.refuse("it takes sizes away");
    flatten(layer);
  }

  /// Rows of a table that is a weight.
  void add_embedding(const char* layer) {
    if (constants.shape_of(at.operand(0)) == nullptr || !is_activation(1) || !activation(1).is_tokens)
      at.refuse("it is no look-up of the input's tokens in a table");
    const OnnxActivation in = activation(1);
    const OnnxSizes table = weight(0);
    if (table.size() != 2 || at.number("axis", 0) != 0) at.refuse("its table is no matrix");
    add_entry(layer, fmt::format("{{entries: {}, features: {}}}", table[0], table[1]), {in.entry},
              {in.shape[0], table[1]});
  }

  void add_loss(const char* layer) {
    if (!is_last())
      at.refuse("it is not the model's output", "write attention by hand: {attention: {heads: 12}}");
    add_entry(layer, {}, {activation(0).entry}, {1});
    has_loss_ = true;
  }

  void end() {
    if (graph.outputs.size() != 1)
      at.refuse(fmt::format("the model has {} outputs", graph.outputs.size()), "export it with one output");
    if (!sigmoids_.empty()) at.refuse("a sigmoid is not multiplied with its input, and is no output");
    const auto last = activations.find(graph.outputs.front());
    if (last == activations.end()) at.refuse("the model's output is computed from no input");
    if (!has_loss_) {
      if (last->second.entry == 0) at.refuse("the model has no layers");
      entries.push_back({.kind = "softmax_cross_entropy", .keys = {}, .inputs = {last->second.entry}});
      note("the model has no loss: softmax_cross_entropy is assumed");
    }
    if (asymmetric_ > 0)
      note(fmt::format("asymmetric padding of {} is written as symmetric, with the same shapes and FLOPs",
                       plural(asymmetric_, "side or pooling")));
    if (has_convolution_ && has_convolution_bias_ && !has_batch_norm_)
      result_.warnings.emplace_back(
          "convolutions have a bias and no batch normalisation follows: if the model has some, the export "
          "folded it into them. For training export with training=torch.onnx.TrainingMode.TRAINING");
    if (result_.running_values > 0)
      note(fmt::format("running means and variances are no parameters: {} values",
                       grouped(static_cast<std::int64_t>(result_.running_values))));
  }

  std::string name_;
  std::map<std::string, std::string> sigmoids_;  // not multiplied yet, and their inputs
  bool has_loss_ = false, has_batch_norm_ = false, has_convolution_ = false, has_convolution_bias_ = false;
  int asymmetric_ = 0;
  OnnxModel result_;
};

}  // namespace

OnnxModel onnx_layers(const OnnxGraph& graph, const OnnxOptions& options) {
  return LayerWriter(graph, options).write();
}

}  // namespace trainyard
