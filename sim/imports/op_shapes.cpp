#include "imports/op_shapes.hpp"

#include "imports/op_names.hpp"
#include "imports/operands.hpp"

#include <charconv>
#include <cmath>
#include <string>
#include <system_error>
#include <vector>

namespace trainyard {
namespace {

using Shapes = std::vector<std::vector<TensorShape>>;

constexpr double largest_size = 2147483647;

std::optional<int> whole(double value) {
  const bool fits = value >= 1 && value <= largest_size;
  if (!fits || value != std::floor(value)) return std::nullopt;
  return static_cast<int>(value);
}

/// The shape of a tensor among the operands; empty if the operand is none.
TensorShape tensor(const Shapes& shapes, std::size_t operand) {
  return operand < shapes.size() && shapes[operand].size() == 1 ? shapes[operand].front() : TensorShape{};
}

/// "[2, 2]" or "2" as up to two numbers; nothing if they are something else.
std::optional<std::pair<int, int>> pair_in(std::string_view text) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c >= '0' && c <= '9') {
      int number = 0;
      const auto [end, problem] = std::from_chars(text.data() + at, text.data() + text.size(), number);
      if (problem != std::errc()) return std::nullopt;
      numbers.push_back(number);
      at = static_cast<std::size_t>(end - text.data());
    } else {
      ++at;
    }
  }
  if (numbers.empty() || numbers.size() > 2) return std::nullopt;
  return std::pair(numbers.front(), numbers.back());
}

/// Places of a convolution's operands: those of conv2d, of convolution and of convolution_backward differ.
struct ConvOperands {
  std::size_t input, weight, stride, padding, dilation;
  std::size_t transposed = none;
  static constexpr std::size_t none = 99;
};

std::optional<ConvOperands> conv_operands(std::string_view name) {
  if (name == "conv2d") return ConvOperands{0, 1, 3, 4, 5};
  if (name == "convolution" || name == "_convolution") return ConvOperands{0, 1, 3, 4, 5, 6};
  if (name == "cudnn_convolution") return ConvOperands{0, 1, 3, 2, 4};
  if (name == "miopen_convolution") return ConvOperands{0, 1, 4, 3, 5};
  if (name == "convolution_backward") return ConvOperands{1, 2, 4, 5, 6, 7};
  return std::nullopt;
}

std::optional<Shape> conv_shape(std::string_view name, const Shapes& shapes,
                                const std::vector<std::string>& values) {
  const auto places = conv_operands(name);
  if (!places) return std::nullopt;
  const TensorShape input = tensor(shapes, places->input);
  const TensorShape weight = tensor(shapes, places->weight);
  if (input.size() != 4 || weight.size() != 4) return std::nullopt;
  ConvShape shape;
  const auto put = [](int& field, double value) {
    const auto number = whole(value);
    field = number.value_or(0);
    return number.has_value();
  };
  if (!put(shape.batch, input[0]) || !put(shape.in_channels, input[1]) || !put(shape.height, input[2]) ||
      !put(shape.width, input[3]) || !put(shape.out_channels, weight[0]) || !put(shape.kernel_h, weight[2]) ||
      !put(shape.kernel_w, weight[3]) || !put(shape.groups, input[1] / weight[1]))
    return std::nullopt;
  const auto value = [&](std::size_t place) {
    return place < values.size() ? pair_in(values[place]) : std::nullopt;
  };
  const auto stride = value(places->stride);
  const auto padding = value(places->padding);
  if (!stride || !padding || stride->first != stride->second || stride->first < 1) return std::nullopt;
  if (const auto dilation = value(places->dilation); dilation && *dilation != std::pair(1, 1))
    return std::nullopt;
  if (places->transposed < values.size() && values[places->transposed] == "True") return std::nullopt;
  shape.stride = stride->first;
  shape.pad_h = padding->first;
  shape.pad_w = padding->second;
  return shape;
}

/// Whether the matrices of an operand are stored by columns, which strides say.
bool is_transposed(const Shapes& strides, std::size_t operand) {
  const TensorShape steps = tensor(strides, operand);
  return steps.size() >= 2 && steps.back() != 1 && steps[steps.size() - 2] == 1;
}

std::optional<Shape> gemm_shape(std::string_view name, const Shapes& shapes, const Shapes& strides) {
  const bool adds = name == "addmm" || name == "_addmm_activation" || name == "baddbmm";
  const TensorShape a = tensor(shapes, adds ? 1 : 0);
  const TensorShape b = tensor(shapes, adds ? 2 : 1);
  if (a.empty() || b.size() < 2) return std::nullopt;
  GemmShape shape;
  shape.transpose_a = is_transposed(strides, adds ? 1 : 0);
  shape.transpose_b = is_transposed(strides, adds ? 2 : 1);
  double rows = 1;
  double batch = 1;
  double columns = b.back();
  const double inner = a.back();
  if (name == "linear") {  // the weight is stored transposed
    columns = b.front();
    shape.transpose_b = true;
    if (b.back() != inner) return std::nullopt;
    for (std::size_t i = 0; i + 1 < a.size(); ++i) rows *= a[i];
  } else if (b.size() == 2) {
    if (b.front() != inner) return std::nullopt;
    for (std::size_t i = 0; i + 1 < a.size(); ++i) rows *= a[i];
  } else {
    if (a.size() != b.size() || b[b.size() - 2] != inner) return std::nullopt;
    rows = a[a.size() - 2];
    for (std::size_t i = 0; i + 2 < a.size(); ++i) batch *= a[i];
  }
  const auto m = whole(rows);
  const auto n = whole(columns);
  const auto k = whole(inner);
  const auto b_count = whole(batch);
  if (!m || !n || !k || !b_count) return std::nullopt;
  shape.m = *m;
  shape.n = *n;
  shape.k = *k;
  shape.batch = *b_count;
  return shape;
}

std::optional<Shapes> shapes_of(const Profile& profile, const ProfileEvent& op) {
  if (op.operands == no_event) return std::nullopt;
  return operand_shapes(profile.texts[profile.operands[op.operands].dims]);
}

}  // namespace

std::optional<Shape> shape_of(const Profile& profile, const ProfileEvent& op, OpKind kind) {
  const auto shapes = shapes_of(profile, op);
  if (!shapes || shapes->empty()) return std::nullopt;
  const std::string_view name = plain_name(profile.texts[op.name]);
  if (kind == OpKind::conv_forward || kind == OpKind::conv_dgrad || kind == OpKind::conv_wgrad) {
    const auto values = operand_texts(profile.texts[profile.operands[op.operands].values]);
    return values ? conv_shape(name, *shapes, *values) : std::nullopt;
  }
  if (kind == OpKind::gemm) {
    const auto strides = operand_shapes(profile.texts[profile.operands[op.operands].strides]);
    return gemm_shape(name, *shapes, strides.value_or(Shapes()));
  }
  if (kind == OpKind::attention || kind == OpKind::measured) return std::nullopt;
  const TensorShape first = tensor(*shapes, 0);
  if (first.empty()) return std::nullopt;
  const bool gathers = name.starts_with("embedding") && first.size() == 2;  // rows of a table, by indices
  const double values = gathers ? values_of(tensor(*shapes, 1)) * first.back() : values_of(first);
  if (!(values >= 1)) return std::nullopt;
  return VectorShape{.elements = values};
}

std::optional<Layout> layout_of(const Profile& profile, const ProfileEvent& op) {
  const auto places = conv_operands(plain_name(profile.texts[op.name]));
  if (!places || op.operands == no_event) return std::nullopt;
  const auto strides = operand_shapes(profile.texts[profile.operands[op.operands].strides]);
  const auto shapes = shapes_of(profile, op);
  if (!strides || !shapes) return std::nullopt;
  const TensorShape steps = tensor(*strides, places->input);
  const TensorShape sizes = tensor(*shapes, places->input);
  constexpr std::size_t dimensions = 4;
  if (steps.size() != dimensions || sizes.size() != dimensions) return std::nullopt;
  // with one channel, or one pixel, both are the same
  return steps[1] == 1 && sizes[1] > 1 ? Layout::nhwc : Layout::nchw;
}

int leading_size(const Profile& profile, const ProfileEvent& op) {
  const auto shapes = shapes_of(profile, op);
  if (!shapes) return 0;
  const std::string_view name = plain_name(profile.texts[op.name]);
  const bool is_image = name.starts_with("conv") || name.ends_with("convolution");
  if (is_image) {
    const TensorShape input = tensor(*shapes, 0);
    return input.size() == 4 ? whole(input.front()).value_or(0) : 0;
  }
  if (!name.starts_with("embedding")) return 0;
  const TensorShape indices = tensor(*shapes, 1);  // the table is the first operand
  return indices.size() == 2 ? whole(indices.front()).value_or(0) : 0;
}

}  // namespace trainyard
