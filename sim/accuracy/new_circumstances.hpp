#pragma once
// The expected error where nobody measured: which properties of a job no published run has, and the interval
// of runs that were predicted as if theirs had been new too (fitted without their stack, GPU generation or
// kind of model). Method: quantile regression (Koenker and Bassett 1978) of log(measured / predicted) of runs
// whose group was left out; tests/validation/left_out.py.

#include "accuracy/circumstances.hpp"
#include "config/keys.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct PublishedError;  // published_errors.hpp

/// A property that no published run has, or `kernels`: kernel times that no run was fitted to.
enum class NewProperty { stack, framework, generation, gpu, kind, model, kernels };
inline constexpr std::size_t new_property_count = 7;

/// Bounds of log(measured / predicted) of the throughput: -(slower + log(1 + slower_op / op)) and
/// faster + log(1 + faster_op / op), where `op` is the job's mean kernel. The second terms are time of every
/// op that predictions lack: hosts that launch, small kernels.
struct PropertyBounds {
  double slower = 0, faster = 0;
  Seconds slower_op, faster_op;
};

struct LogBounds {
  double low = 0, high = 0;
};

struct NewCircumstances {
  PropertyBounds known = {};  ///< of jobs without a new property
  std::array<PropertyBounds, new_property_count> by_property = {};

  /// The bounds of a job with these properties. Their additions to `slower` and `faster` of known jobs add up
  /// in squares, as independent errors do; the longest of the times of an op counts.
  [[nodiscard]] LogBounds bounds(const std::vector<NewProperty>& properties, Seconds op) const;
};

/// Reads a table called `name` with the columns new, slower, slower_op_us, faster, faster_op_us and runs.
/// Throws InputError with every problem found.
NewCircumstances read_new_circumstances(const std::string& name, std::string_view text);

/// The properties that no run has, without those of `without_series`. Empty: all were measured. A GPU counts
/// in a known generation, a model in a known kind and in tables without layouts, whose models are often made
/// from sizes.
std::vector<NewProperty> new_properties(std::span<const PublishedError> runs, const Circumstances& of,
                                        std::optional<int> without_series = std::nullopt);

/// The properties that the interval comes from: `kernels` alone if the job has a new property and no factor
/// of the fit holds for its kernels.
std::vector<NewProperty> bounding_properties(std::string_view fit, const Circumstances& of,
                                             const std::vector<NewProperty>& properties);

/// Whether only the errors of predictions from kernels alone say anything about the job.
inline bool is_of_kernels_alone(const std::vector<NewProperty>& bounding) {
  return bounding.size() == 1 && bounding.front() == NewProperty::kernels;
}

/// "horovod on hopper", "a decoder": the property of a job that no run has.
std::string property_in_words(NewProperty property, const Circumstances& of);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<NewProperty> {
  static constexpr std::string_view what = "new property";
  static constexpr std::array table{
      Name{"stack", NewProperty::stack, "no run of the stack on the GPU's generation"},
      Name{"framework", NewProperty::framework, "no run of the framework on the GPU's generation"},
      Name{"generation", NewProperty::generation, "no run on the GPU's generation"},
      Name{"gpu", NewProperty::gpu, "no run on the GPU"},
      Name{"kind", NewProperty::kind, "no run of the kind of model"},
      Name{"model", NewProperty::model, "no run of the model, with any length of sequences"},
      Name{"kernels", NewProperty::kernels, "no factor fitted to runs holds for the kernels"}};
};

}  // namespace trainyard::config
