#pragma once
// How a layer of the model becomes kernels.

#include "config/keys.hpp"

#include <array>
#include <string_view>

namespace trainyard {

/// `fused`: one kernel per layer and pass, as the software of 2017 to 2021 and NVIDIA's examples had by their
/// own fused kernels. All others follow the rules of a lowering: each operation in kernels of its own,
/// kernels that a compiler fuses, or these launched as one graph in forward and one in backward.
enum class Runtime { fused, eager, compiled, cuda_graph };

/// The scales of tensors in 8 bits. `delayed`: one per tensor, of its largest values in earlier steps.
/// `current`: one per tensor, of its values, which are read once more for it. `block`: one for each block of
/// values, as MXFP8 has them, found by the kernel that writes them.
enum class Scaling { delayed, current, block };

namespace config {

template <>
struct Names<Runtime> {
  static constexpr std::string_view what = "runtime";
  static constexpr std::array table{
      Name{"fused", Runtime::fused, "one kernel per layer and pass"},
      Name{"eager", Runtime::eager,
           "every operation of a layer as kernels of its own, by the rules of `lowering`"},
      Name{"compiled", Runtime::compiled, "operations between two products as one kernel: torch.compile"},
      Name{"cuda_graph", Runtime::cuda_graph,
           "the same, launched as graphs: torch.compile with mode reduce-overhead"}};
};

template <>
struct Names<Scaling> {
  static constexpr std::string_view what = "scaling of values in 8 bits";
  static constexpr std::array table{
      Name{"delayed", Scaling::delayed, "one scale per tensor, from earlier steps"},
      Name{"current", Scaling::current, "one scale per tensor, from its own values: a further reading"},
      Name{"block", Scaling::block, "one scale per block of values"},
      Name{"tensorwise", Scaling::current, ""},
      Name{"blockwise", Scaling::block, ""},
      Name{"mxfp8", Scaling::block, ""}};
};

}  // namespace config
}  // namespace trainyard
