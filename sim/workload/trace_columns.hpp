#pragma once
// The columns of a trace CSV in the order of writing, shared by its reader and its writer.

#include "config/keys.hpp"
#include "units/quantity.hpp"

#include <array>
#include <string_view>

namespace trainyard {

inline constexpr int trace_format_version = 1;

/// `parameter_bytes` counts fp32 parameters in every precision.
inline constexpr Bytes parameter_size{4};

enum class TraceColumn {
  phase,
  layer,
  kind,
  shape,
  flops,
  bytes,
  parameter_bytes,
  gradients,
  duration_s,
  duration_source,
  communication,
  communication_bytes,
  group,
  waits,
  launch,
  peer,
  dtype,
  kernel_s
};

/// Columns that are written only if some collective needs them, and if there are messages.
constexpr bool is_for_groups(TraceColumn column) {
  return column >= TraceColumn::group && column <= TraceColumn::launch;
}
constexpr bool is_for_messages(TraceColumn column) { return column == TraceColumn::peer; }

/// In column `communication`: the two ends of a message, besides the names of collectives.
inline constexpr std::string_view message_sent = "send";
inline constexpr std::string_view message_received = "recv";

/// In column `dtype`: a matrix product in 8 bits. The column is written only if there is one.
inline constexpr std::string_view eight_bits = "fp8";

/// Column `kernel_s` is written only if some op has one.

/// In column `waits`: no op of the backward pass waits.
inline constexpr std::string_view only_optimizer_waits = "optimizer";

inline constexpr std::array trace_columns{
    config::Name{"phase", TraceColumn::phase, "forward, backward or optimizer, in this order"},
    config::Name{"layer", TraceColumn::layer, "name of the op in reports"},
    config::Name{"kind", TraceColumn::kind, "kind of op; default: measured"},
    config::Name{"shape", TraceColumn::shape, "sizes, to find the op in the table of measured kernels"},
    config::Name{"flops", TraceColumn::flops, "FLOP of the op for the whole batch"},
    config::Name{"bytes", TraceColumn::bytes, "bytes the op reads from and writes to device memory"},
    config::Name{"parameter_bytes", TraceColumn::parameter_bytes,
                 "4 bytes per parameter whose gradient the op completes"},
    config::Name{"gradients", TraceColumn::gradients,
                 "gradients the op completes, as tensor:elements, separated by semicolons"},
    config::Name{"duration_s", TraceColumn::duration_s,
                 "duration of the op in seconds; replaces flops and bytes"},
    config::Name{"duration_source", TraceColumn::duration_source, "measured (default), fitted or roofline"},
    config::Name{"communication", TraceColumn::communication,
                 "collectives launched at the op: all_reduce or all_gather;reduce_scatter; send and recv: "
                 "messages to and from another rank"},
    config::Name{"communication_bytes", TraceColumn::communication_bytes,
                 "size of each collective launched: 1000 or 1000;2000"},
    config::Name{"group", TraceColumn::group,
                 "ranks that take part in each: all (default), data, tensor, context, expert, expert_data, "
                 "layer, layer_data or pipeline"},
    config::Name{"waits", TraceColumn::waits,
                 "number of ops that may run before one waits for each: 0, the next op; optimizer: only the "
                 "optimizer waits. Default: optimizer for reductions in backward, otherwise 0"},
    config::Name{
        "launch", TraceColumn::launch,
        "when each begins: end of the op (default, but for recv), or its start, when the op before has "
        "ended"},
    config::Name{
        "peer", TraceColumn::peer,
        "other rank of each message, by its place in the group: +1, the next one (from the last one to "
        "the first); 0, the first one"},
    config::Name{"dtype", TraceColumn::dtype,
                 "fp8: a matrix product in 8 bits; default: as the step's precision says"},
    config::Name{"kernel_s", TraceColumn::kernel_s,
                 "part of duration_s that takes longer on the slowest of several GPUs; default: none"}};

}  // namespace trainyard
