#pragma once
// Random variation of times: distributions of a factor, as in YAML.

#include "config/document.hpp"
#include "config/keys.hpp"
#include "config/problems.hpp"
#include "random/generator.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard::random {

enum class Kind {
  constant,
  uniform,
  normal,
  log_normal,
  exponential,
  shifted_exponential,
  gamma,
  pareto,
  empirical
};

/// The distribution of a factor without unit: 1 leaves a time unchanged.
struct Distribution {
  Kind kind = Kind::constant;
  std::optional<double> mean = {};  ///< 1 if not given; for shifted_exponential: of the part above the shift
  std::optional<double> low = {};   ///< for uniform: the least value
  std::optional<double> high = {};  ///< for uniform: the largest value
  std::optional<double> sd;         ///< for normal and log_normal: standard deviation
  std::optional<double> shift;      ///< for shifted_exponential: the least value
  std::optional<double> shape;      ///< for gamma and pareto
  std::optional<std::string> file;  ///< for empirical: CSV with the observed factors in column `factor`

  std::vector<double> seen;  ///< the factors in that file, ascending; not a key
};

/// Whether the kind has a mean of its own; others follow from their values.
bool has_mean(Kind kind);

/// Draws one value above 0, or for uniform from `low` on. For normal, values below 1 % of the mean are drawn
/// again.
double draw(const Distribution& distribution, Generator& generator);

/// Reports errors at the keys of the distribution at `path` ("random.step").
void check(const Distribution& distribution, const std::string& path, config::Problems& problems);

}  // namespace trainyard::random

namespace trainyard::config {

template <>
struct Names<random::Kind> {
  static constexpr std::string_view what = "distribution";
  static constexpr std::array table{
      Name{"constant", random::Kind::constant, "always the mean"},
      Name{"uniform", random::Kind::uniform, "equally likely between low and high"},
      Name{"normal", random::Kind::normal, "normal, cut off: draws below 1 % of the mean are repeated"},
      Name{"log_normal", random::Kind::log_normal, "the logarithm is normally distributed"},
      Name{"exponential", random::Kind::exponential, "memoryless"},
      Name{"shifted_exponential", random::Kind::shifted_exponential, "shift plus an exponential part"},
      Name{"gamma", random::Kind::gamma, "shape 1 is exponential; larger shapes are narrower"},
      Name{"pareto", random::Kind::pareto,
           "heavy tail: the probability of values above x falls as x to the power of -shape"},
      Name{"empirical", random::Kind::empirical, "one of the values in a file, all equally likely"}};
};

template <>
struct Keys<random::Distribution> {
  static auto table() {
    using random::Distribution;
    return keys(
        required("kind", &Distribution::kind, "kind of distribution"),
        optional(
            "mean", &Distribution::mean,
            "mean of the factor, 1 by default; for shifted_exponential, mean of the part above the shift; "
            "not for uniform and empirical")
            .positive(1e6),
        optional("low", &Distribution::low, "for uniform: the least value").between(0, 1e6),
        optional("high", &Distribution::high, "for uniform: the largest value").positive(1e6),
        optional("sd", &Distribution::sd, "for normal and log_normal: standard deviation").positive(1e6),
        optional("shift", &Distribution::shift, "for shifted_exponential: the least value").between(0, 1e6),
        optional("shape", &Distribution::shape, "for gamma and pareto: shape parameter").between(0.1, 1e6),
        optional("file", &Distribution::file,
                 "for empirical: a CSV with a column 'factor', relative to the experiment's file"));
  }
};

}  // namespace trainyard::config
