#include "ops.hpp"

#include "dtype.hpp"
#include "shapes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

namespace trainyard::cuda {
namespace {

enum class ShapeKind { none, gemm, conv, elements, gemm_or_elements };

struct OpRule {
  std::string_view op;
  std::string_view variants;  ///< a list "a|b"; an entry that ends in a letter and # accepts a number there
  std::string_view dtypes;    ///< likewise a list
  ShapeKind shape;
};

constexpr std::string_view any_dtype = "fp32|tf32|fp16|bf16";
constexpr std::string_view stored_dtype = "fp32|fp16|bf16";
constexpr std::string_view no_dtype = "-|fp32|tf32|fp16|bf16";  // if it makes no difference

constexpr std::array rules{
    OpRule{"gemm", "-", any_dtype, ShapeKind::gemm},
    OpRule{"conv_forward", "nchw|nhwc", any_dtype, ShapeKind::conv},
    OpRule{"conv_dgrad", "nchw|nhwc", any_dtype, ShapeKind::conv},
    OpRule{"conv_wgrad", "nchw|nhwc", any_dtype, ShapeKind::conv},
    OpRule{"elementwise", "add", stored_dtype, ShapeKind::elements},
    OpRule{"reduction", "sum", stored_dtype, ShapeKind::elements},
    OpRule{"embedding", "forward w#", stored_dtype, ShapeKind::elements},
    OpRule{"launch", "latency|rate|graph", no_dtype, ShapeKind::none},
    OpRule{"copy", "h2d_pinned|h2d_pageable|d2h_pinned|d2h_pageable|d2d|peer", no_dtype, ShapeKind::none},
    OpRule{"all_reduce", "nccl", "fp32", ShapeKind::none},
    OpRule{"overlap", "gemm h2d|gemm d2h|vector h2d|vector d2d", any_dtype, ShapeKind::gemm_or_elements},
    OpRule{"power", "idle|gemm|vector", no_dtype, ShapeKind::none},
};

/// The entries of a list "a|b".
std::vector<std::string_view> entries(std::string_view list) {
  std::vector<std::string_view> found;
  for (;;) {
    const std::size_t bar = list.find('|');
    found.push_back(list.substr(0, bar));
    if (bar == std::string_view::npos) return found;
    list.remove_prefix(bar + 1);
  }
}

/// "one of a, b, c", with an example's number if an entry accepts one.
std::string one_of(std::string_view list) {
  std::string text;
  for (const std::string_view entry : entries(list)) {
    text += text.empty() ? "" : ", ";
    text += "'" + std::string(entry.substr(0, entry.find('#'))) + (entry.ends_with('#') ? "64'" : "'");
  }
  return list.find('|') == std::string_view::npos ? text : "one of " + text;
}

bool matches(std::string_view text, std::string_view entry) {
  if (!entry.ends_with('#')) return text == entry;
  const std::size_t space = entry.find(' ');
  const auto found = parse_word_and_size(text, entry[space + 1]);
  return found && found->word == entry.substr(0, space);
}

bool in_list(std::string_view text, std::string_view list) {
  const std::vector<std::string_view> all = entries(list);
  return std::any_of(all.begin(), all.end(), [&](std::string_view entry) { return matches(text, entry); });
}

bool is_overlap_of_gemm(const Request& request) { return request.variant.starts_with("gemm"); }

/// The expected form of a shape, nothing if it has that form.
std::optional<std::string> shape_hint(const Request& request, ShapeKind kind) {
  if (kind == ShapeKind::gemm_or_elements) {
    kind = is_overlap_of_gemm(request) ? ShapeKind::gemm : ShapeKind::elements;
  }
  switch (kind) {
    case ShapeKind::none:
      if (request.shape == "-") return std::nullopt;
      return "this op has none: '-'";
    case ShapeKind::gemm:
      if (parse_gemm_shape(request.shape)) return std::nullopt;
      return "for example 'm128 n1000 k2048 nt' or 'b16 m128 n128 k64 nn'";
    case ShapeKind::conv:
      if (parse_conv_shape(request.shape)) return std::nullopt;
      return "for example 'n128 c64 h56 w56 k256 r1x1 s1 p0x0', a window that fits, groups that divide the "
             "channels";
    default:
      if (parse_elements(request.shape)) return std::nullopt;
      return "for example 'e1048576'";
  }
}

/// The values must fill whole rows.
std::optional<CellProblem> division_problem(const Request& request) {
  const auto elements = parse_elements(request.shape);
  const std::size_t space = request.variant.find(' ');
  if (!elements || space == std::string::npos || space + 1 == request.variant.size()) return std::nullopt;
  const auto found = parse_word_and_size(request.variant, request.variant[space + 1]);
  if (!found || *elements % found->size == 0) return std::nullopt;
  return CellProblem{"shape '" + request.shape + "' is no multiple of the " + std::to_string(found->size) +
                         " in variant '" + request.variant + "'",
                     "a multiple of it"};
}

bool needs_bytes(const OpRule& rule) { return rule.op == "copy" || rule.op == "all_reduce"; }

}  // namespace

std::string op_names() {
  std::string text;
  for (const OpRule& rule : rules) text += (text.empty() ? "" : ", ") + std::string(rule.op);
  return text;
}

std::vector<CellProblem> problems_of(const Request& request) {
  const auto* const rule =
      std::find_if(rules.begin(), rules.end(), [&](const OpRule& each) { return each.op == request.op; });
  if (rule == rules.end()) return {{"unknown op '" + request.op + "'", "one of " + op_names()}};

  std::vector<CellProblem> found;
  const auto unless = [&](bool right, std::string_view what, const std::string& text, std::string hint) {
    if (!right)
      found.push_back({std::string(what) + " '" + text + "' is none of " + request.op + "'s", hint});
  };
  unless(in_list(request.variant, rule->variants), "variant", request.variant, one_of(rule->variants));
  const bool of_vector = rule->shape == ShapeKind::gemm_or_elements && !is_overlap_of_gemm(request);
  const std::string_view dtypes = of_vector ? stored_dtype : rule->dtypes;
  unless(in_list(request.dtype, dtypes), "dtype", request.dtype, one_of(dtypes));
  const std::optional<std::string> hint = shape_hint(request, rule->shape);
  unless(!hint, "shape", request.shape, hint.value_or(""));
  if (const auto problem = division_problem(request)) found.push_back(*problem);

  if (request.bytes < 0) found.push_back({"bytes must be at least 0", "0 where nothing is counted"});
  if (needs_bytes(*rule) && (request.bytes < 1 || request.bytes != std::floor(request.bytes))) {
    found.push_back({request.op + " needs a whole number of bytes, at least 1",
                     "the size of the buffer, for example 1048576"});
  }
  return found;
}

}  // namespace trainyard::cuda
