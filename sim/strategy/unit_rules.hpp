#pragma once
// How software gathers the parameters that replicas share unit by unit, and reduces their gradients: the key
// `units` of a stack. strategy/shard_units.hpp makes the units, schedule/unit_program.hpp runs them.

#include "config/keys.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace trainyard {

/// The layers that are gathered together.
enum class UnitOf { block, size, model };

/// The place of a unit's parameters and gradients, from which its copies follow.
enum class UnitBuffers { none, flat, tensors, modules };

/// When the parameters of the unit before are gathered in backward.
enum class BackwardPrefetch { pre, post, none };

/// Units that may be gathered before their turn.
enum class GatheredAhead { any, block };

/// Units whose parameters are freed after forward.
enum class ReshardAfterForward { always, except_last, node, never };

struct UnitRules {
  UnitOf of = UnitOf::block;
  double parameters = 1e8;   ///< of a unit by size: it closes when it has so many
  bool splits_root = false;  ///< layers before the first block and after the last one are units of their own
  UnitBuffers buffers = UnitBuffers::none;
  bool divides_gradients = false;  ///< before they are reduced, by a kernel
  BackwardPrefetch backward_prefetch = BackwardPrefetch::pre;
  bool forward_prefetch = false;          ///< the host launches the next gather before the unit's kernels
  bool limit_gathers = true;              ///< a unit is gathered once the one two before it has ended
  std::optional<double> live_parameters;  ///< at most so many are gathered, in place of limit_gathers
  ReshardAfterForward reshard_after_forward = ReshardAfterForward::except_last;
  double whole_below = 0;  ///< tensors of fewer parameters are not divided
  GatheredAhead ahead = GatheredAhead::any;
  bool each_tensor = false;   ///< a tensor is gathered, and its gradient reduced, by a collective of its own
  bool synchronises = false;  ///< the host waits for the GPU before each unit
  std::optional<Sourced<Seconds>> part = {};  ///< of the host, for a rank's part of a collective
  std::optional<double> reduced_parameters;   ///< units are reduced together up to so many
  std::string source = {};
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<UnitOf> {
  static constexpr std::string_view what = "unit of sharded parameters";
  static constexpr std::array table{
      Name{"block", UnitOf::block, "each block of the model is one; all other layers are the root"},
      Name{"size", UnitOf::size, "consecutive layers, until they have unit_parameters"},
      Name{"model", UnitOf::model, "the whole model is one: nothing is wrapped"}};
};

template <>
struct Names<UnitBuffers> {
  static constexpr std::string_view what = "buffers of sharded parameters";
  static constexpr std::array table{
      Name{"none", UnitBuffers::none, "no copies"},
      Name{"flat", UnitBuffers::flat,
           "parameters are views of one gathered tensor (FSDP1): the shard is cast before it is gathered; "
           "gradients are joined, and cast to gradient_dtype on the communication stream"},
      Name{"tensors", UnitBuffers::tensors,
           "each parameter is a tensor of its own (FSDP2): shards are cast and copied before they are "
           "gathered, and gathered parameters are copied out; gradients are copied into one tensor of "
           "gradient_dtype, once the reduction of the unit before has ended"},
      Name{"modules", UnitBuffers::modules,
           "each parameter is put together from the ranks' parts (ZeRO-3): gathered parameters are copied "
           "out, gradients copied into a bucket"}};
};

template <>
struct Names<BackwardPrefetch> {
  static constexpr std::string_view what = "prefetch in backward";
  static constexpr std::array table{
      Name{"pre", BackwardPrefetch::pre,
           "the host launches the gathering of the next unit before this one's kernels (BACKWARD_PRE)"},
      Name{"post", BackwardPrefetch::post,
           "after them, before their reduction (BACKWARD_POST): later where the host is late, else the same"},
      Name{"none", BackwardPrefetch::none,
           "before the next unit's kernels, after this one's reduction, which hides neither"},
      Name{"backward_pre", BackwardPrefetch::pre, ""},
      Name{"backward_post", BackwardPrefetch::post, ""},
      Name{"no_prefetch", BackwardPrefetch::none, ""}};
};

template <>
struct Names<GatheredAhead> {
  static constexpr std::string_view what = "units gathered ahead";
  static constexpr std::array table{
      Name{"any", GatheredAhead::any, "the next ones, whichever they are"},
      Name{"block", GatheredAhead::block,
           "those of the same block alone, before whose end all reductions have ended: a loop of layers that "
           "XLA does not pipeline"}};
};

template <>
struct Names<ReshardAfterForward> {
  static constexpr std::string_view what = "freeing of parameters after forward";
  static constexpr std::array table{
      Name{"true", ReshardAfterForward::always, "all units but the root"},
      Name{"except_last", ReshardAfterForward::except_last, "nor the last one, which backward needs first"},
      Name{"node", ReshardAfterForward::node,
           "all units but the root, down to a part that the GPUs of a node gather again (FSDP2's integer)"},
      Name{"false", ReshardAfterForward::never, "none (SHARD_GRAD_OP): backward gathers nothing"},
      Name{"always", ReshardAfterForward::always, ""},
      Name{"never", ReshardAfterForward::never, ""}};
};

template <>
struct Keys<UnitRules> {
  static auto table() {
    constexpr double most = 1e15;
    return keys(
        optional("unit", &UnitRules::of, "the layers whose parameters are gathered together"),
        optional("unit_parameters", &UnitRules::parameters, "size of a unit, with unit: size")
            .at_least(1)
            .at_most(most),
        optional("splits_root", &UnitRules::splits_root,
                 "true: layers before the first block and those after the last one are units of their own, "
                 "the first freed after forward, the other not"),
        optional("buffers", &UnitRules::buffers, "the place of parameters and gradients, and their copies"),
        optional("divides_gradients", &UnitRules::divides_gradients,
                 "true: a kernel divides gradients by a part of the number of ranks before the reduction"),
        optional("backward_prefetch", &UnitRules::backward_prefetch,
                 "when the parameters of the next unit are gathered in backward"),
        optional("forward_prefetch", &UnitRules::forward_prefetch,
                 "true: the host launches the gathering of the next unit before the kernels of this one, "
                 "which matters where the host is late"),
        optional("limit_gathers", &UnitRules::limit_gathers,
                 "true: a unit is gathered in forward once the unit two before it has ended (with buffers: "
                 "tensors, has begun), for which the host waits; false: as soon as the network is free, with "
                 "as much memory as the model"),
        optional("live_parameters", &UnitRules::live_parameters,
                 "units are gathered ahead as long as no more parameters than these are whole, and units "
                 "used again before as many are stay whole; in place of limit_gathers")
            .at_least(1)
            .at_most(most),
        optional("reshard_after_forward", &UnitRules::reshard_after_forward,
                 "units whose parameters are freed after forward and gathered again for backward"),
        optional("whole_below", &UnitRules::whole_below,
                 "tensors of fewer values are not gathered unit by unit, but together after the update")
            .at_least(0)
            .at_most(most),
        optional("reduced_parameters", &UnitRules::reduced_parameters,
                 "gradients of several units are reduced together, up to so many; default: of each unit")
            .at_least(1)
            .at_most(most),
        optional("ahead", &UnitRules::ahead,
                 "units that are gathered before their turn; default: any, or block where the stack says "
                 "overlap: false"),
        optional("each_tensor", &UnitRules::each_tensor,
                 "true: each tensor is gathered, and its gradient reduced, by a collective of its own"),
        optional("synchronises", &UnitRules::synchronises,
                 "true: the host waits for the GPU before each unit, whose kernels it launches once it has "
                 "launched the gathering of the next one: reductions are not hidden"),
        optional(
            "part", &UnitRules::part,
            "time of the host for each rank's part of each collective, where it copies these one by one, "
            "with synchronises: true")
            .at_least(0)
            .at_most(1e-3),
        optional("source", &UnitRules::source, "documentation of these rules"));
  }
};

}  // namespace trainyard::config
