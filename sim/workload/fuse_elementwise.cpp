#include "workload/fuse_elementwise.hpp"

#include "workload/make_trace.hpp"

#include <optional>
#include <utility>

namespace trainyard {
namespace {

constexpr std::string_view joint = " + ";

bool is_elementwise(const Layer& layer) { return traits(layer.kind).is_elementwise; }

/// Whether the values between two layers are written even if fused.
bool is_kept(const Layer& writer, const Layer& reader) {
  return traits(writer.kind).rereads_output || traits(reader.kind).keeps_input;
}

/// Values that the op of layer `from` passes on to that of layer `to`, the next in the trace.
struct Handover {
  double read = 0, written = 0;  ///< reads and writes saved
};

std::optional<Handover> forward_handover(const std::vector<Layer>& layers, int from, int to) {
  const Layer& writer = layers[static_cast<std::size_t>(from)];
  const Layer& reader = layers[static_cast<std::size_t>(to)];
  if (to != from + 1 || !reader.continues_previous || !is_elementwise(reader) ||
      writer.out_elements != reader.in_elements)
    return std::nullopt;
  if (!is_elementwise(writer) && !traits(writer.kind).ends_elementwise) return std::nullopt;
  return Handover{reader.in_elements, is_kept(writer, reader) ? 0 : reader.in_elements};
}

/// Additions have no op in backward: their gradient goes to both inputs, so it is written.
std::optional<Handover> backward_handover(const std::vector<Layer>& layers, int from, int to) {
  const Layer& writer = layers[static_cast<std::size_t>(from)];
  const Layer& reader = layers[static_cast<std::size_t>(to)];
  if (to >= from || !is_elementwise(reader) || !is_elementwise(writer) ||
      writer.in_elements != reader.out_elements) {
    return std::nullopt;
  }
  for (int after = to + 1; after <= from; ++after) {
    const Layer& layer = layers[static_cast<std::size_t>(after)];
    if (!layer.continues_previous || (after < from && layer.kind != LayerKind::add)) return std::nullopt;
  }
  return Handover{reader.out_elements, from - to > 1 ? 0 : reader.out_elements};
}

/// The op's layer; empty for casts and other ops without a layer.
std::optional<int> fusible_layer(const Op& op, const std::vector<Layer>& layers) {
  if (op.of_layer < 0 || is_cast(op, layers[static_cast<std::size_t>(op.of_layer)])) return std::nullopt;
  return op.of_layer;
}

}  // namespace

void fuse_elementwise(Trace& trace, const std::vector<Layer>& layers) {
  const Bytes value = element_sizes(trace.precision.value_or(Precision::fp32)).activation;
  const auto batch = static_cast<double>(trace.batch_per_gpu);
  std::vector<Op> ops;
  std::optional<int> last;  // the previous op's layer
  for (Op& op : trace.ops) {
    const std::optional<int> layer = fusible_layer(op, layers);
    std::optional<Handover> handover;
    if (layer && last && ops.back().phase == op.phase) {
      handover = op.phase == Phase::forward ? forward_handover(layers, *last, *layer)
                                            : backward_handover(layers, *last, *layer);
    }
    last = layer;
    if (!handover) {
      ops.push_back(std::move(op));
      continue;
    }
    Op& fused = ops.back();
    fused.layer.append(joint).append(op.layer);
    fused.flops += op.flops;
    fused.bytes += op.bytes - batch * (handover->read + handover->written) * value;
    fused.gradients.insert(fused.gradients.end(), op.gradients.begin(), op.gradients.end());
  }
  trace.ops = std::move(ops);
}

std::string_view first_layer(std::string_view layer) { return layer.substr(0, layer.find(joint)); }

}  // namespace trainyard
