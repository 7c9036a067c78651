#include "shapes.hpp"

#include "workload/shape_text.hpp"

#include <charconv>
#include <cmath>
#include <system_error>

namespace trainyard::cuda {
namespace {

template <class T>
std::optional<T> parse_as(std::string_view text) {
  const std::optional<Shape> shape = parse_shape(text);
  const T* found = shape ? std::get_if<T>(&*shape) : nullptr;
  return found == nullptr ? std::nullopt : std::optional<T>(*found);
}

bool possible(const ConvShape& s) {
  return s.in_channels % s.groups == 0 && s.out_channels % s.groups == 0 &&
         s.kernel_h <= s.height + 2 * s.pad_h && s.kernel_w <= s.width + 2 * s.pad_w;
}

}  // namespace

std::optional<GemmShape> parse_gemm_shape(std::string_view text) { return parse_as<GemmShape>(text); }

std::optional<ConvShape> parse_conv_shape(std::string_view text) {
  const auto shape = parse_as<ConvShape>(text);
  return shape && possible(*shape) ? shape : std::nullopt;
}

std::optional<std::int64_t> parse_elements(std::string_view text) {
  const auto shape = parse_as<VectorShape>(text);
  if (!shape || shape->row != 0) return std::nullopt;  // rows belong to the variant
  if (shape->elements < 1 || shape->elements > 0x1p53 || shape->elements != std::floor(shape->elements)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(shape->elements);
}

std::optional<WordAndSize> parse_word_and_size(std::string_view text, char letter) {
  const std::size_t space = text.find(' ');
  if (space == 0 || space == std::string_view::npos) return std::nullopt;
  const std::string_view number = text.substr(space + 1);
  // "007" would be another text for the same size, and rows are identified by their text
  if (number.size() < 2 || number[0] != letter || number[1] == '0') return std::nullopt;
  int size = 0;
  const auto [end, error] = std::from_chars(number.data() + 1, number.data() + number.size(), size);
  if (error != std::errc() || end != number.data() + number.size() || size < 1) return std::nullopt;
  return WordAndSize{std::string(text.substr(0, space)), size};
}

}  // namespace trainyard::cuda
