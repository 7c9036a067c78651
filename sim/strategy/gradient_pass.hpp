#pragma once
// Work of a framework on all gradients besides reducing them: unscaling, norms, clipping, copies. Keys of a
// stack; strategy/stack_ops.hpp adds them to a step.

#include "config/keys.hpp"
#include "units/quantity.hpp"
#include "workload/trace.hpp"

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace trainyard {

/// The type of the values in a pass.
enum class PassDtype { gradient, fp32 };

/// Jobs with this pass: all, or those of several ranks.
enum class PassRanks { all, many };

/// Before or after the reduction.
enum class PassTime { before, after };

/// One pass over all gradients, as a kernel limited by memory bandwidth.
struct GradientPass {
  std::string name;  ///< "unscale"
  double reads = 1;  ///< values of type `of` read per gradient; 0.5 stands for a value half as wide
  double writes = 1;
  PassDtype of = PassDtype::gradient;
  std::vector<Precision> only = {};  ///< precisions with this pass; empty: all
  PassRanks ranks = PassRanks::all;
  PassTime when = PassTime::after;
  bool fusible = false;     ///< fused_elementwise removes it
  std::string source = {};  ///< its documentation
};

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<PassDtype> {
  static constexpr std::string_view what = "type of a pass";
  static constexpr std::array table{
      Name{"gradient", PassDtype::gradient, "type of the reduced gradients (gradient_dtype)"},
      Name{"fp32", PassDtype::fp32, "4 bytes per value"}};
};

template <>
struct Names<PassRanks> {
  static constexpr std::string_view what = "ranks of a pass";
  static constexpr std::array table{
      Name{"all", PassRanks::all,
           "every job, also with one rank: on the compute stream, over all gradients at once"},
      Name{"many", PassRanks::many,
           "only jobs of several ranks: with each collective, over the gradients it reduces"}};
};

template <>
struct Names<PassTime> {
  static constexpr std::string_view what = "time of a pass";
  static constexpr std::array table{
      Name{"before", PassTime::before,
           "before the reduction; with 'ranks: all' no gradient is reduced until the pass has ended"},
      Name{"after", PassTime::after,
           "after the reduction; with 'ranks: all' between the last collective and the update"}};
};

template <>
struct Keys<GradientPass> {
  static auto table() {
    constexpr double most_passes = 100;
    return keys(
        required("name", &GradientPass::name, "name of the pass: unscale, norm, clip, copy"),
        optional("reads", &GradientPass::reads, "values read per gradient").at_least(0).at_most(most_passes),
        optional("writes", &GradientPass::writes, "values written per gradient")
            .at_least(0)
            .at_most(most_passes),
        optional("of", &GradientPass::of, "type of these values"),
        optional("only", &GradientPass::only, "precisions that have the pass; default: all"),
        optional("ranks", &GradientPass::ranks, "jobs that have the pass"),
        optional("when", &GradientPass::when, "before or after the reduction"),
        optional("fusible", &GradientPass::fusible, "true: fused_elementwise removes the pass"),
        optional("source", &GradientPass::source, "documentation of the pass, or why it is assumed"));
  }
};

}  // namespace trainyard::config
