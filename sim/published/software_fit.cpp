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

/// A factor to fit.
struct FittedFactor {
  SoftwareUse use;
  FactorOps ops{};
  double sd = 0;
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

}  // namespace

std::string places_of(std::span<const PublishedRow* const> rows) {
  std::map<std::string, std::set<int>> lines;
  for (const PublishedRow* row : rows)
    lines[std::filesystem::path(row->file).filename().string()].insert(row->line);
  std::string text;
  for (const auto& [file, its] : lines)
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", file, lines_text(its));
  return text;
}

double step_time(const KernelTimes& run, const Software& software) {
  const OpSlowdown slowdown = slowdown_of(software, run.of.use);
  double time = run.rest + run.ops * slowdown.launch.si();
  for (const OpGroup group : all_op_groups) time += slowdown.factor[group] * run.kernels[group];
  return time;
}

/// The linearised problem at the fit: logarithms of times = jacobian x logarithms of factors + noise.
struct SoftwareFit::Solution {
  std::vector<FittedFactor> parameters;
  std::vector<std::vector<std::size_t>> of_run;  ///< the parameters that match each run
  VectorXd prior;                                ///< variance of each parameter
  VectorXd noise_variance;                       ///< of each run
  VectorXd fitted;                               ///< logarithm of each factor
  MatrixXd jacobian;
  MatrixXd weights;   ///< inverse covariance of the runs
  VectorXd weighted;  ///< weights x (logarithms of times, as seen from 0)

  explicit Solution(const std::vector<KernelTimes>& runs) {
    find_parameters(runs);
    const auto n = static_cast<Index>(runs.size());
    noise_variance.resize(n);
    for (Index i = 0; i < n; ++i) {
      const double rounding = runs[static_cast<std::size_t>(i)].rounding;
      noise_variance[i] = noise * noise + rounding * rounding;
    }
    fitted = VectorXd::Zero(prior.size());
    for (int step = 0; step < most_steps; ++step) {
      const Linearised at = linearised(runs);
      weighted = at.covariance.solve(at.seen);
      const VectorXd next = prior.cwiseProduct(jacobian.transpose() * weighted);
      const double moved = (next - fitted).cwiseAbs().maxCoeff();
      fitted = next;
      if (moved < enough) break;
    }
    const Linearised at = linearised(runs);
    weights = at.covariance.solve(MatrixXd::Identity(n, n));
    weighted = weights * at.seen;
  }

  [[nodiscard]] VectorXd without(const std::vector<std::size_t>& left_out) const {
    // Removing runs from a normal distribution: the weights of the others follow from a block inverse.
    VectorXd others = weighted;
    if (!left_out.empty()) {
      const std::vector<Index> out(left_out.begin(), left_out.end());
      const MatrixXd block = weights(out, out);
      others -= weights(Eigen::all, out) * block.llt().solve(VectorXd(weighted(out)));
      for (const Index i : out) others[i] = 0;
    }
    return prior.cwiseProduct(jacobian.transpose() * others);
  }

  [[nodiscard]] VectorXd deviations() const {
    VectorXd variance = prior;
    const MatrixXd weighted_jacobian = weights * jacobian;
    for (Index j = 0; j < prior.size(); ++j)
      variance[j] -= prior[j] * prior[j] * jacobian.col(j).dot(weighted_jacobian.col(j));
    return variance.cwiseMax(0).cwiseSqrt();
  }

  /// The factors as a table; a launch is `usual_launch_cost` before its factors.
  [[nodiscard]] Software software(const VectorXd& logarithms) const {
    Software software;
    software.launch = {Seconds{usual_launch_cost}, Provenance::assumed, launch_source};
    for (std::size_t j = 0; j < parameters.size(); ++j) {
      software.table.push_back({.use = parameters[j].use,
                                .ops = parameters[j].ops,
                                .factor = std::exp(logarithms[static_cast<Index>(j)])});
    }
    return software;
  }

private:
  static constexpr int most_steps = 50;
  static constexpr double enough = 1e-12;

  void find_parameters(const std::vector<KernelTimes>& runs) {
    std::map<std::tuple<std::size_t, SoftwareUse, FactorOps>, std::size_t> found;
    for (const KernelTimes& run : runs) {
      for (std::size_t level = 0; level < levels().size(); ++level) {
        const Level& its = levels()[level];
        if (!has_all(run.of.use, its.columns)) continue;
        for (const FactorOps ops : its.ops) found[{level, part_of(run.of.use, its.columns), ops}] = 0;
      }
    }
    prior.resize(static_cast<Index>(found.size()));
    for (auto& [key, index] : found) {
      index = parameters.size();
      const double sd = levels()[std::get<0>(key)].sd;
      prior[static_cast<Index>(index)] = sd * sd;
      parameters.push_back({.use = std::get<1>(key), .ops = std::get<2>(key), .sd = sd, .rows = {}});
    }
    for (const KernelTimes& run : runs) {
      std::vector<std::size_t>& its = of_run.emplace_back();
      for (std::size_t level = 0; level < levels().size(); ++level) {
        if (!has_all(run.of.use, levels()[level].columns)) continue;
        for (const FactorOps ops : levels()[level].ops) {
          if (time_of(run, ops) <= 0) continue;  // the run says nothing about it
          its.push_back(found.at({level, part_of(run.of.use, levels()[level].columns), ops}));
          parameters[its.back()].rows.push_back(run.row);
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

  struct Linearised {
    Eigen::LLT<MatrixXd> covariance;  ///< of the runs
    VectorXd seen;                    ///< logarithms of times, as seen from 0
  };

  /// At the present factors; sets the jacobian.
  Linearised linearised(const std::vector<KernelTimes>& runs) {
    const auto n = static_cast<Index>(runs.size());
    jacobian = MatrixXd::Zero(n, prior.size());
    VectorXd seen(n);
    for (Index i = 0; i < n; ++i) {
      const KernelTimes& run = runs[static_cast<std::size_t>(i)];
      const double time = add_derivatives(run, of_run[static_cast<std::size_t>(i)], i);
      jacobian.row(i) /= time;
      seen[i] = std::log(run.measured / time) + jacobian.row(i).dot(fitted);
    }
    // A run matches few of the parameters.
    const Eigen::SparseMatrix<double, Eigen::RowMajor> few = jacobian.sparseView();
    MatrixXd covariance = few * prior.asDiagonal() * Eigen::SparseMatrix<double>(few.transpose());
    covariance.diagonal() += noise_variance;
    return {covariance.llt(), seen};
  }

  /// Derivatives of a run's time by the logarithms of its factors, into a row of the jacobian; the time.
  double add_derivatives(const KernelTimes& run, const std::vector<std::size_t>& its, Index row) {
    ByOpGroup kernels = run.kernels;
    double launches = run.ops * usual_launch_cost;
    for (const std::size_t j : its) {
      const double factor = std::exp(fitted[static_cast<Index>(j)]);
      if (parameters[j].ops == FactorOps::launch) launches *= factor;
      for (const OpGroup group : all_op_groups) {
        if (holds_for(parameters[j].ops, group)) kernels[group] *= factor;
      }
    }
    for (const std::size_t j : its) {
      double& derivative = jacobian(row, static_cast<Index>(j));
      if (parameters[j].ops == FactorOps::launch) derivative = launches;
      for (const OpGroup group : all_op_groups) {
        if (holds_for(parameters[j].ops, group)) derivative += kernels[group];
      }
    }
    double time = run.rest + launches;
    for (const double group : kernels.values) time += group;
    return time;
  }
};

SoftwareFit::SoftwareFit(std::vector<KernelTimes> runs) : runs_(std::move(runs)) {
  if (runs_.empty()) {
    throw InputError("no published one-GPU run can be fitted to",
                     "needed are runs with split 'calibrate' and gpus_total 1 that the rules in "
                     "workloads/published/runs cover");
  }
  solution_ = std::make_unique<Solution>(runs_);
}
SoftwareFit::~SoftwareFit() = default;
SoftwareFit::SoftwareFit(SoftwareFit&&) noexcept = default;
SoftwareFit& SoftwareFit::operator=(SoftwareFit&&) noexcept = default;

const std::vector<KernelTimes>& SoftwareFit::runs() const { return runs_; }

Software SoftwareFit::software() const {
  constexpr int digits = 4;
  Software software = solution_->software(solution_->fitted);
  const VectorXd deviations = solution_->deviations();
  for (std::size_t j = 0; j < software.table.size(); ++j) {
    SoftwareFactor& line = software.table[j];
    const std::vector<const PublishedRow*>& rows = solution_->parameters[j].rows;
    line.factor = rounded(line.factor, digits);
    line.sd = rounded(deviations[static_cast<Index>(j)], 2);
    line.runs = static_cast<int>(rows.size());
    line.rows = places_of(rows);
  }
  return software;
}

Software SoftwareFit::without(const std::vector<std::size_t>& left_out) const {
  return solution_->software(solution_->without(left_out));
}

Software SoftwareFit::without(GroupLeftOut left_out, const std::string& property) const {
  std::vector<std::size_t> its;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (property_of(left_out, runs_[i]) == property) its.push_back(i);
  }
  return without(its);
}

LeftOutError SoftwareFit::left_out_error(GroupLeftOut left_out) const {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < runs_.size(); ++i) groups[property_of(left_out, runs_[i])].push_back(i);
  std::vector<double> errors;
  double sum = 0;
  for (const auto& [name, its] : groups) {
    const Software software = without(its);
    for (const std::size_t i : its) {
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
