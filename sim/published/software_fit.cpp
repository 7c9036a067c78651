#include "published/software_fit.hpp"

#include "config/diagnostic.hpp"
#include "units/statistics.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace trainyard {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

using Columns = std::vector<std::string SoftwareUse::*>;

/// Factors that depend on the same columns.
struct Level {
  Columns columns;
  std::vector<FactorOps> ops;
  double sd;  ///< of a factor's logarithm before the fit
};

/// The standard deviations are near those that maximise the likelihood of the shipped runs, found by a search
/// over each in turn. Halving or doubling one changes the mean error of series left out by at most 6 % of it.
const std::vector<Level>& levels() {
  using U = SoftwareUse;
  static const std::vector<FactorOps> each{FactorOps::convolution, FactorOps::matrix_product,
                                           FactorOps::batch_norm, FactorOps::other};
  static const std::vector<FactorOps> kernels{FactorOps::kernels};
  static const std::vector<FactorOps> launch{FactorOps::launch};
  static const std::vector<Level> all{
      {{&U::precision}, each, 0.3},
      {{&U::generation, &U::precision}, each, 0.1},
      {{&U::framework, &U::precision}, each, 0.1},
      {{&U::stack, &U::precision}, kernels, 0.1},
      {{&U::model, &U::precision}, kernels, 0.1},
      {{&U::gpu, &U::precision}, kernels, 0.1},
      {{&U::stack, &U::model, &U::precision}, kernels, 0.15},
      {{&U::framework, &U::generation, &U::model, &U::precision}, kernels, 0.08},
      {{&U::framework}, launch, 1},
      {{&U::stack}, launch, 1}};
  return all;
}

/// Scatter of runs that agree in all columns, of the logarithm of their times: found in the same search.
constexpr double noise = 0.08;

/// Cost of an op before the fit.
constexpr double usual_launch_cost = 5e-6;
constexpr const char* launch_source =
    "launches of empty kernels follow each other in 3 to 10 us; the factors for launches correct it";

SoftwareUse part_of(const SoftwareUse& use, const Columns& columns) {
  SoftwareUse part;
  for (const auto column : columns) part.*column = use.*column;
  return part;
}

bool has_all(const SoftwareUse& use, const Columns& columns) {
  return std::ranges::none_of(columns, [&](auto column) { return (use.*column).empty(); });
}

/// Parts into which all series are divided: each is predicted by a fit to the others.
constexpr std::size_t fold_count = 10;

/// Without any factor.
Software unfitted_software() {
  Software software;
  software.launch = {Seconds{usual_launch_cost}, Provenance::assumed, launch_source};
  return software;
}

/// A factor to fit.
struct FittedFactor {
  SoftwareUse use;
  FactorOps ops{};
  double sd = 0;  ///< of its logarithm after the fit to all
  std::vector<const PublishedRow*> rows;
};

std::string property_of(GroupLeftOut left_out, const KernelTimes& run) {
  return property_of(left_out, run.of, run.row->source, run.series);
}

double rounded(double value, int digits) {
  return value == 0 ? 0 : std::stod(fmt::format("{:.{}g}", value, digits));
}

/// "2-4 7": lines in order.
std::string lines_text(const std::set<int>& lines) {
  std::string text;
  for (auto line = lines.begin(); line != lines.end();) {
    auto last = line;
    while (std::next(last) != lines.end() && *std::next(last) == *last + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : " ", *line);
    if (last != line) text += fmt::format("-{}", *last);
    line = std::next(last);
  }
  return text;
}

/// The most probable factors of runs, where logarithms of times have normal noise.
class Solution {
public:
  explicit Solution(std::vector<KernelTimes> runs) : runs_(std::move(runs)) {
    find_parameters();
    fitted_ = VectorXd::Zero(prior_.size());
    fit(most_steps);
    const VectorXd variances = posterior().variances();
    for (std::size_t j = 0; j < parameters_.size(); ++j)
      parameters_[j].sd = std::sqrt(variances[static_cast<Index>(j)]);
  }

  /// The `most_factors` factors that predict nearly the same as all do, for the runs and for jobs like them
  /// with another stack, model or GPU, which fewer factors match. They are fitted to predictions by all
  /// factors (predictive projection, Piironen and Vehtari 2017), so measured times do not choose them
  /// directly.
  [[nodiscard]] Solution projected() const {
    using U = SoftwareUse;
    static const std::vector<Columns> unknown{
        {}, {&U::stack}, {&U::model}, {&U::gpu}, {&U::stack, &U::model}, {&U::stack, &U::model, &U::gpu}};
    std::vector<KernelTimes> jobs;
    jobs.reserve(unknown.size() * runs_.size());
    for (const KernelTimes& run : runs_) {
      for (const Columns& columns : unknown) {
        KernelTimes& job = jobs.emplace_back(run);
        job.rounding = 0;
        for (const auto column : columns) (job.of.use.*column).clear();
      }
    }
    return Solution(std::move(jobs), *this);
  }

  /// The factors as a table; a launch is `usual_launch_cost` before its factors.
  [[nodiscard]] Software software() const {
    Software software = unfitted_software();
    for (std::size_t j = 0; j < parameters_.size(); ++j) {
      software.table.push_back({.use = parameters_[j].use,
                                .ops = parameters_[j].ops,
                                .factor = std::exp(fitted_[static_cast<Index>(j)])});
    }
    return software;
  }

  /// The software with the standard deviations of the factors and the rows that they rest on, rounded.
  [[nodiscard]] Software described() const {
    constexpr int digits = 4;
    Software result = software();
    for (std::size_t j = 0; j < parameters_.size(); ++j) {
      SoftwareFactor& line = result.table[j];
      line.factor = rounded(line.factor, digits);
      line.sd = rounded(parameters_[j].sd, 2);
      line.runs = static_cast<int>(parameters_[j].rows.size());
      line.rows = places_of(parameters_[j].rows);
    }
    return result;
  }

private:
  /// A solution for jobs whose times are predicted by the factors of `all`.
  Solution(std::vector<KernelTimes> jobs, const Solution& all) : runs_(std::move(jobs)) {
    find_parameters();
    parameters_ = all.parameters_;  // the same, in the same order, with their rows
    fitted_ = all.fitted_;
    for (std::size_t i = 0; i < runs_.size(); ++i) runs_[i].measured = derivatives(runs_[i], of_run_[i]).time;
    while (drop_factors()) fit(steps_of_choice);
    fit(most_steps);
  }

  std::vector<KernelTimes> runs_;
  std::vector<FittedFactor> parameters_;
  std::vector<std::vector<std::size_t>> of_run_;  ///< the parameters that match each run
  VectorXd prior_;                                ///< variance of each parameter
  VectorXd fitted_;                               ///< logarithm of each factor

  /// The normal distribution of the factors' logarithms in the linearised problem.
  struct Posterior {
    Eigen::LLT<MatrixXd> precision;  ///< inverse covariance
    VectorXd mean;

    [[nodiscard]] VectorXd variances() const {
      const MatrixXd identity = MatrixXd::Identity(mean.size(), mean.size());
      return precision.matrixL().solve(identity).colwise().squaredNorm().transpose();
    }
  };

  static constexpr int most_steps = 100;
  static constexpr int steps_of_choice = 2;
  static constexpr double enough = 1e-6;
  static constexpr std::size_t most_factors = 150;
  static constexpr std::size_t fewest_dropped = 20;

  /// Moves the factors to the maximum by Newton steps, by half ones when whole ones jump to and fro across
  /// it.
  void fit(int steps) {
    double part = 1;
    double before = std::numeric_limits<double>::infinity();
    for (int step = 0; step < steps; ++step) {
      const VectorXd move = posterior().mean - fitted_;
      const double largest = move.cwiseAbs().maxCoeff();
      if (largest > 0.5 * before) part = 0.5;
      before = largest;
      fitted_ += part * move;
      if (largest < enough) break;
    }
  }

  /// Removes the factors without which the marginal likelihood is greatest: some at a time, since a neighbour
  /// can take over the effect of a factor. Returns whether there were too many.
  bool drop_factors() {
    if (parameters_.size() <= most_factors) return false;
    const Posterior at = posterior();
    const VectorXd variances = at.variances();
    std::vector<std::pair<double, std::size_t>> losses;  // of twice the logarithm of the likelihood
    for (Index j = 0; j < prior_.size(); ++j) {
      losses.emplace_back(std::log(variances[j] / prior_[j]) + at.mean[j] * at.mean[j] / variances[j],
                          static_cast<std::size_t>(j));
    }
    std::ranges::sort(losses);
    const std::size_t surplus = parameters_.size() - most_factors;
    std::vector<bool> kept(parameters_.size(), true);
    for (std::size_t i = 0; i < std::max(std::min(surplus, fewest_dropped), surplus / 3); ++i)
      kept[losses[i].second] = false;
    keep(kept);
    return true;
  }

  void keep(const std::vector<bool>& kept) {
    std::vector<FittedFactor> factors;
    std::vector<Index> old;
    std::map<std::size_t, std::size_t> renumbered;
    for (std::size_t j = 0; j < parameters_.size(); ++j) {
      if (!kept[j]) continue;
      renumbered[j] = factors.size();
      factors.push_back(std::move(parameters_[j]));
      old.push_back(static_cast<Index>(j));
    }
    parameters_ = std::move(factors);
    prior_ = VectorXd(prior_(old));
    fitted_ = VectorXd(fitted_(old));
    for (std::vector<std::size_t>& indices : of_run_) {
      std::vector<std::size_t> still;
      for (const std::size_t j : indices) {
        if (const auto found = renumbered.find(j); found != renumbered.end()) still.push_back(found->second);
      }
      indices = std::move(still);
    }
  }

  void find_parameters() {
    std::map<std::tuple<std::size_t, SoftwareUse, FactorOps>, std::size_t> found;
    for (const KernelTimes& run : runs_) {
      for (std::size_t level = 0; level < levels().size(); ++level) {
        const Level& factors = levels()[level];
        if (!has_all(run.of.use, factors.columns)) continue;
        for (const FactorOps ops : factors.ops) found[{level, part_of(run.of.use, factors.columns), ops}] = 0;
      }
    }
    prior_.resize(static_cast<Index>(found.size()));
    for (auto& [key, index] : found) {
      index = parameters_.size();
      const double sd = levels()[std::get<0>(key)].sd;
      prior_[static_cast<Index>(index)] = sd * sd;
      parameters_.push_back({.use = std::get<1>(key), .ops = std::get<2>(key), .sd = 0, .rows = {}});
    }
    for (const KernelTimes& run : runs_) {
      std::vector<std::size_t>& indices = of_run_.emplace_back();
      for (std::size_t level = 0; level < levels().size(); ++level) {
        if (!has_all(run.of.use, levels()[level].columns)) continue;
        for (const FactorOps ops : levels()[level].ops) {
          if (time_of(run, ops) <= 0) continue;  // the run says nothing about it
          indices.push_back(found.at({level, part_of(run.of.use, levels()[level].columns), ops}));
          parameters_[indices.back()].rows.push_back(run.row);
        }
      }
    }
  }

  /// Time of the run that a factor for `ops` changes, before all factors.
  static double time_of(const KernelTimes& run, FactorOps ops) {
    if (ops == FactorOps::launch) return run.ops * usual_launch_cost;
    double time = 0;
    for (const OpGroup group : all_op_groups) time += holds_for(ops, group) ? run.kernels[group] : 0;
    return time;
  }

  /// At the present factors.
  [[nodiscard]] Posterior posterior() const {
    const auto n = static_cast<Index>(runs_.size());
    Eigen::SparseMatrix<double, Eigen::RowMajor> jacobian(n, prior_.size());  // over the sd of the noise
    VectorXd seen(n);  // logarithms of times over it, as seen from 0
    for (Index i = 0; i < n; ++i) {
      const KernelTimes& run = runs_[static_cast<std::size_t>(i)];
      const std::vector<std::size_t>& indices = of_run_[static_cast<std::size_t>(i)];
      const Derivatives at = derivatives(run, indices);
      const double sd = std::sqrt(noise * noise + run.rounding * run.rounding);
      seen[i] = std::log(run.measured / at.time) / sd;
      for (std::size_t k = 0; k < indices.size(); ++k) {
        const auto j = static_cast<Index>(indices[k]);
        const double derivative = at.by_factor[k] / at.time / sd;
        jacobian.coeffRef(i, j) = derivative;
        seen[i] += derivative * fitted_[j];
      }
    }
    const Eigen::SparseMatrix<double> transposed = jacobian.transpose();
    MatrixXd precision = transposed * Eigen::SparseMatrix<double>(jacobian);
    precision.diagonal() += prior_.cwiseInverse();
    Posterior result{precision.llt(), {}};
    result.mean = result.precision.solve(transposed * seen);
    return result;
  }

  struct Derivatives {
    double time = 0;                ///< of a run
    std::vector<double> by_factor;  ///< derivatives of it by the logarithms
  };

  [[nodiscard]] Derivatives derivatives(const KernelTimes& run,
                                        const std::vector<std::size_t>& indices) const {
    ByOpGroup kernels = run.kernels;
    double launches = run.ops * usual_launch_cost;
    for (const std::size_t j : indices) {
      const double factor = std::exp(fitted_[static_cast<Index>(j)]);
      if (parameters_[j].ops == FactorOps::launch) launches *= factor;
      for (const OpGroup group : all_op_groups) {
        if (holds_for(parameters_[j].ops, group)) kernels[group] *= factor;
      }
    }
    Derivatives result{.time = run.rest + launches, .by_factor = {}};
    for (const double group : kernels.values) result.time += group;
    for (const std::size_t j : indices) {
      double& derivative = result.by_factor.emplace_back(0);
      if (parameters_[j].ops == FactorOps::launch) derivative = launches;
      for (const OpGroup group : all_op_groups) {
        if (holds_for(parameters_[j].ops, group)) derivative += kernels[group];
      }
    }
    return result;
  }
};

}  // namespace

std::string places_of(std::span<const PublishedRow* const> rows) {
  std::map<std::string, std::set<int>> lines;
  for (const PublishedRow* row : rows)
    lines[std::filesystem::path(row->file).filename().string()].insert(row->line);
  std::string text;
  for (const auto& [file, numbers] : lines)
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", file, lines_text(numbers));
  return text;
}

double step_time(const KernelTimes& run, const Software& software) {
  const OpSlowdown slowdown = slowdown_of(software, run.of.use);
  double time = run.rest + run.ops * slowdown.launch.si();
  for (const OpGroup group : all_op_groups) time += slowdown.factor[group] * run.kernels[group];
  return time;
}

SoftwareFit::SoftwareFit(std::vector<KernelTimes> runs) : runs_(std::move(runs)) {
  if (runs_.empty()) {
    throw InputError("no published one-GPU run can be fitted to",
                     "needed are runs with split 'calibrate' and gpus_total 1 that the rules in "
                     "workloads/published/runs cover");
  }
  software_ = Solution(runs_).projected().described();
  for (const KernelTimes& run : runs_) fold_of_series_[run.series];
  std::size_t next = 0;
  for (auto& [series, fold] : fold_of_series_) fold = next++ % fold_count;
  for (std::size_t fold = 0; fold < std::min(fold_count, fold_of_series_.size()); ++fold) {
    without_fold_.push_back(
        fitted_without([&](const KernelTimes& run) { return fold_of_series_.at(run.series) == fold; }));
  }
}

const std::vector<KernelTimes>& SoftwareFit::runs() const { return runs_; }

Software SoftwareFit::software() const { return software_; }

Software SoftwareFit::without(GroupLeftOut left_out, const std::string& property) const {
  if (left_out == GroupLeftOut::series) {
    const auto found = fold_of_series_.find(property);
    return found == fold_of_series_.end() ? software_ : without_fold_[found->second];
  }
  const auto has_property = [&](const KernelTimes& run) { return property_of(left_out, run) == property; };
  return std::ranges::none_of(runs_, has_property) ? software_ : fitted_without(has_property);
}

Software SoftwareFit::fitted_without(const std::function<bool(const KernelTimes&)>& is_left_out) const {
  std::vector<KernelTimes> remaining;
  std::ranges::remove_copy_if(runs_, std::back_inserter(remaining), is_left_out);
  return remaining.empty() ? unfitted_software() : Solution(std::move(remaining)).projected().software();
}

LeftOutError SoftwareFit::left_out_error(GroupLeftOut left_out) const {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < runs_.size(); ++i) groups[property_of(left_out, runs_[i])].push_back(i);
  std::vector<double> errors;
  double sum = 0;
  for (const auto& [name, members] : groups) {
    const Software software = without(left_out, name);
    for (const std::size_t i : members) {
      const double error = runs_[i].measured / step_time(runs_[i], software) - 1;
      sum += error;
      errors.push_back(std::abs(error));
    }
  }
  const auto count = static_cast<double>(errors.size());
  LeftOutError result{.left_out = std::string(config::name_of(left_out)),
                      .runs = static_cast<int>(errors.size())};
  for (const double error : errors) result.mape += error / count;
  result.median = rounded(quantile(errors, 0.5), 3);
  result.p90 = rounded(quantile(errors, 0.9), 3);
  result.mape = rounded(result.mape, 3);
  result.bias = rounded(sum / count, 3);
  return result;
}

}  // namespace trainyard
