#pragma once
// Software as fast as it was: factors on the times of kernels, fitted to published runs on one GPU
// (workloads/software/*.yaml). An experiment names a file; `ideal` has no factors.

#include "config/document.hpp"
#include "config/keys.hpp"
#include "strategy/op_slowdown.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// The properties of a job that a factor depends on. In a SoftwareFactor an empty text stands for any.
struct SoftwareUse {
  std::string framework = {};   ///< of the stack: "pytorch"
  std::string stack = {};       ///< "apex_ddp"
  std::string generation = {};  ///< of the GPU: "volta"; of_processors
  std::string gpu = {};         ///< the profile's name
  std::string model = {};       ///< with the sequence length where it has one: "bert_large@384"
  std::string precision = {};   ///< of matrix work: "fp32", "tf32" or "16bit"
  friend auto operator<=>(const SoftwareUse&, const SoftwareUse&) = default;
};

/// The generation of processors that hold ranks in place of GPUs.
inline constexpr std::string_view of_processors = "processor";

/// A column of the table and the member it fills.
struct SoftwareColumn {
  std::string_view name;
  std::string SoftwareUse::*text;
};
inline constexpr std::array software_columns{SoftwareColumn{"framework", &SoftwareUse::framework},
                                             SoftwareColumn{"stack", &SoftwareUse::stack},
                                             SoftwareColumn{"generation", &SoftwareUse::generation},
                                             SoftwareColumn{"gpu", &SoftwareUse::gpu},
                                             SoftwareColumn{"model", &SoftwareUse::model},
                                             SoftwareColumn{"precision", &SoftwareUse::precision}};

/// The ops that a factor holds for: one group, all kernels, or the launch of every op.
enum class FactorOps { convolution, matrix_product, batch_norm, other, attention, kernels, launch };

/// Whether a factor for `ops` holds for a group of kernels.
constexpr bool holds_for(FactorOps ops, OpGroup group) {
  return ops == FactorOps::kernels || static_cast<int>(ops) == static_cast<int>(group);
}

/// A line of the table. All lines that match a job are multiplied.
struct SoftwareFactor {
  SoftwareUse use = {};
  FactorOps ops = FactorOps::kernels;
  double factor = 1;
  double sd = 0;          ///< standard deviation of its logarithm after the fit
  int runs = 0;           ///< published runs that it rests on
  std::string rows = {};  ///< where they are: "dlperf.csv 2-9; lambda.csv 20"
};

/// Errors of the throughput of one GPU for runs that the fit has not seen.
struct LeftOutError {
  std::string left_out;  ///< "series": the runs of one series at a time; "gpu", "stack", "model"
  int runs = 0;
  double mape = 0;             ///< mean of |predicted / measured - 1|
  double median = 0, p90 = 0;  ///< of the same errors
  double bias = 0;             ///< mean of predicted / measured - 1
};

struct Software {
  std::string name;
  std::string title;
  std::optional<Sourced<Seconds>> launch;  ///< cost of each op before the factors for launches
  std::optional<std::string> factors;      ///< CSV in the file's folder
  std::vector<LeftOutError> left_out;
  std::vector<std::string> source;

  std::vector<SoftwareFactor> table;  ///< the contents of that file; not a key
};

/// Reads and checks a file and its table. Throws InputError with every problem found, FileError.
Software load_software(const config::Document& document, std::vector<Diagnostic>* warnings = nullptr);

/// The lines of a table called `name`: columns as software_columns, ops, factor, and optionally sd, runs and
/// rows, in any order. Throws InputError with every problem found.
std::vector<SoftwareFactor> read_software_factors(const std::string& name, std::string_view text);

/// The table as CSV, in the same form.
std::string software_factors_text(const std::vector<SoftwareFactor>& table);

/// The product of all factors that match.
OpSlowdown slowdown_of(const Software& software, const SoftwareUse& use);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<FactorOps> {
  static constexpr std::string_view what = "ops of a factor";
  static constexpr std::array table{Name{"convolution", FactorOps::convolution, "convolutions"},
                                    Name{"matrix_product", FactorOps::matrix_product, "matrix products"},
                                    Name{"batch_norm", FactorOps::batch_norm, "batch normalisation"},
                                    Name{"other", FactorOps::other, "all other kernels"},
                                    Name{"attention", FactorOps::attention, "fused attention"},
                                    Name{"kernels", FactorOps::kernels, "every kernel"},
                                    Name{"launch", FactorOps::launch, "the launch of every op"}};
};

template <>
struct Keys<LeftOutError> {
  static auto table() {
    constexpr double most_error = 1e3;
    const auto error = [](auto key) { return key.between(0, most_error); };
    return keys(required("left_out", &LeftOutError::left_out,
                         "property whose runs were left out together: series, gpu"),
                required("runs", &LeftOutError::runs, "number of runs, each left out once").at_least(1),
                error(required("mape", &LeftOutError::mape, "mean absolute relative error, as a ratio")),
                error(required("median", &LeftOutError::median, "median of the same errors")),
                error(required("p90", &LeftOutError::p90, "90th percentile of the same errors")),
                required("bias", &LeftOutError::bias, "mean relative error: above 0 if predicted too fast")
                    .between(-1, most_error));
  }
};

template <>
struct Keys<Software> {
  static auto table() {
    return keys(
        required("name", &Software::name, "the file's name without .yaml"),
        optional("title", &Software::title, "one line for people"),
        optional("launch", &Software::launch, "cost of each op, in addition to its kernel; default: none")
            .between(0, 1),
        optional("factors", &Software::factors,
                 "CSV in the same folder with factors on kernel times; default: kernels alone"),
        optional("left_out", &Software::left_out, "errors on runs that the fit has not seen"),
        optional("source", &Software::source, "origin of the factors"));
  }
};

}  // namespace trainyard::config
