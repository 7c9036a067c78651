#include "workload/model_table.hpp"

#include "config/diagnostic.hpp"
#include "units/lines.hpp"
#include "units/plural.hpp"
#include "units/table.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {
namespace {

/// Name, kind, input, output, window, parameters, multiply-accumulates.
using Line = std::array<std::string, 7>;

std::string grouped(double whole) { return trainyard::grouped(std::llround(whole)); }

std::string grouped_or_dash(double whole) { return whole > 0 ? grouped(whole) : "-"; }

std::string shape_text(int batch, const std::vector<int>& shape) {
  return fmt::format("[{}, {}]", batch, fmt::join(shape, ", "));
}

std::string window_text(const Layer& layer) {
  const Window& window = layer.window;
  return window.kernel_h == 0 ? ""
                              : fmt::format("{}x{} /{}", window.kernel_h, window.kernel_w, window.stride);
}

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t dot = std::min(name.find('.'), name.size());
    parts.push_back(name.substr(0, dot));
    if (dot == name.size()) return parts;
    name.remove_prefix(dot + 1);
  }
}

std::string indented(std::size_t depth, std::string_view name) {
  return std::string(2 * depth, ' ') + std::string(name);
}

/// The totals of the layers from `first` on whose names start with `prefix`.
Line group_line(const std::vector<Layer>& layers, std::size_t first, const std::string& prefix,
                std::size_t depth, std::string_view name, int batch) {
  double parameters = 0;
  double macs = 0;
  for (std::size_t i = first; i < layers.size() && layers[i].name.starts_with(prefix); ++i) {
    parameters += parameter_elements(layers[i]);
    macs += layers[i].forward_macs;
  }
  return {indented(depth, name), "", "", "", "", grouped_or_dash(parameters), grouped_or_dash(batch * macs)};
}

std::vector<Line> lines_of(const std::vector<Layer>& layers, int batch) {
  std::vector<Line> lines;
  std::vector<std::string_view> open;  // the groups of the previous layer
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const auto parts = parts_of(layer.name);
    std::string prefix;
    bool is_same = true;
    for (std::size_t depth = 0; depth + 1 < parts.size(); ++depth) {
      prefix += std::string(parts[depth]) + ".";
      is_same = is_same && depth + 1 < open.size() && open[depth] == parts[depth];
      if (!is_same) lines.push_back(group_line(layers, i, prefix, depth, parts[depth], batch));
    }
    open = parts;
    lines.push_back({indented(parts.size() - 1, parts.back()), std::string(config::name_of(layer.kind)),
                     shape_text(batch, layer.in_shape), shape_text(batch, layer.out_shape),
                     window_text(layer), grouped_or_dash(parameter_elements(layer)),
                     grouped_or_dash(batch * layer.forward_macs)});
  }
  return lines;
}

std::string totals_text(const Model& model, int batch, const PrintStyle& style) {
  const ModelTotals sum = totals(model.layers);
  const Bytes single = saved_activations(sum, Bytes(4));
  const Bytes half = saved_activations(sum, Bytes(2));
  std::string text;
  const auto add = [&](std::string_view what, const std::string& value) {
    text += hanging(fmt::format("{:<26}", what), value, style.width);
  };
  add("parameters", fmt::format("{} in {} tensors, {} in fp32", grouped(sum.parameters), sum.tensors,
                                human(sum.parameters * Bytes(4))));
  std::map<std::string, int> more_uses;  // of the weights of convolutions
  for (const Layer& layer : model.layers) {
    if (layer.tied_elements > 0 && is_convolution(layer)) ++more_uses[layer.tied_to];
  }
  for (const Layer& layer : model.layers) {
    if (const auto uses = more_uses.find(layer.name); uses != more_uses.end())
      add("tied weights", fmt::format("{} of {}, also used by {}", grouped(parameter_elements(layer)),
                                      layer.name, plural(uses->second, "layer")));
    if (layer.tied_elements > 0 && !is_convolution(layer))
      add("tied weights",
          fmt::format("{} of the embedding, also used by {}", grouped(layer.tied_elements), layer.name));
  }
  add("forward per sample", fmt::format("{} MACs of matrix work, {} in total", grouped(sum.forward_macs),
                                        human(sum.forward_flops)));
  add("backward per sample", human(sum.backward_flops));
  add("forward per batch", grouped(batch * sum.forward_macs) + " MACs");
  add("saved activations",
      fmt::format("{} per sample, {} per batch in fp32", human(single), human(batch * single)));
  add("", fmt::format("{} per sample, {} per batch in 16 bits", human(half), human(batch * half)));
  if (model.sequence_length) {
    const double tokens = *model.sequence_length;
    add("tokens", fmt::format("{} per sample, {} per batch", grouped(tokens), grouped(batch * tokens)));
  }
  if (model.samples_per_epoch) add("samples per epoch", grouped(model.samples_per_epoch->value));
  return text;
}

}  // namespace

std::string model_table(const Model& model, int batch, const PrintStyle& style) {
  if (batch < 1) throw InputError("batch is " + std::to_string(batch), "a batch has at least one sample");
  const bool has_windows =
      std::ranges::any_of(model.layers, [](const Layer& l) { return l.window.kernel_h > 0; });
  Table table({text_column().wraps(14), text_column().drops(4), text_column().drops(1),
               text_column().drops(3), text_column().drops(2), number_column(), number_column()},
              {.indent = 0, .gap = 2});
  table.row("layer", "kind", "input", "output", has_windows ? "window" : "", "parameters", "MACs");
  table.rule();
  for (const Line& line : lines_of(model.layers, batch)) table.add({line.begin(), line.end()});
  table.rule();
  return fitted_lines(fmt::format("{} ({}), batch {}", model.title, model.name, batch), style.width) +
         "\n\n" + table.text(style.width) + totals_text(model, batch, style);
}

}  // namespace trainyard
