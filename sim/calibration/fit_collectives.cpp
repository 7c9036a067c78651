#include "calibration/fit_collectives.hpp"

#include "calibration/fit_constants.hpp"
#include "calibration/least_squares.hpp"
#include "published/curve_errors.hpp"
#include "published/curve_model.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace trainyard {
namespace {

// A point that is off by more than this pulls no harder the further it is off.
constexpr double error_scale = 0.05;
// Below 1 MiB the floor of launches hides much: such points count less.
constexpr double small_weight = 0.6;
constexpr double full_sizes = 2;  // half octaves
// Pull towards NCCL's own figures: decides where no curve does, and hardly moves the rest.
constexpr double prior_weight = 1e-3;
constexpr double rate_prior_weight = 1e-4;
constexpr double least_ratio = 0.02;

/// The rate of a platform's links of a kind.
using RateKey = std::pair<std::string, PathType>;

struct Member {
  CurveModel model;
  std::size_t rate = 0;              ///< index among the rates
  std::vector<double> root_weights;  ///< of its points in the sum of squares
};

RateKey rate_key(const CurveModel& model) { return {model.curve().machine->platform, model.worst()}; }

const std::string& kin_of(const CollectiveCurve& curve) {
  return curve.machine->kin.empty() ? curve.machine->platform : curve.machine->kin;
}

std::vector<SizedError> errors_of(Member& member, const Protocols& constants, double rate_factor) {
  const std::vector<Seconds>& times = member.model.times(constants, rate_factor);
  const CollectiveCurve& curve = member.model.curve();
  std::vector<SizedError> errors;
  for (std::size_t i = 0; i < times.size(); ++i)
    errors.push_back({curve.points[i].size(), times[i].si() / curve.points[i].measured - 1});
  return errors;
}

/// The large sizes of a curve weigh 1 together where they are many, the small ones less.
std::vector<double> root_weights(const CollectiveCurve& curve) {
  std::vector<SizedError> sizes;
  for (const CurvePoint& point : curve.points) sizes.push_back({point.size(), 0});
  std::vector<double> weights = octave_weights(sizes);
  double sums[2] = {0, 0};
  for (std::size_t i = 0; i < sizes.size(); ++i) sums[sizes[i].size >= large_size ? 1 : 0] += weights[i];
  // A part of a curve with few sizes says less, and may be one slip.
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool is_large = sizes[i].size >= large_size;
    const double all = std::max(full_sizes, sums[is_large ? 1 : 0]);
    weights[i] = std::sqrt(weights[i] / all) * (is_large ? 1 : small_weight);
  }
  return weights;
}

/// A fit in progress: the constants as ratios to their priors, then the rates as ratios to the files'.
class RateFit {
public:
  RateFit(std::vector<Member>& members, std::size_t rates, std::string left_out,
          std::vector<FitConstant> constants = fit_constants(), Protocols base = assumed_protocols())
      : members_(members),
        rates_(rates),
        left_out_(std::move(left_out)),
        constants_(std::move(constants)),
        base_(std::move(base)) {}

  std::vector<double> run(std::vector<double> start) {
    const auto residuals = [this](const std::vector<double>& point) { return residuals_at(point); };
    return least_squares(residuals, std::move(start), least_ratio);
  }

  [[nodiscard]] std::vector<double> start() const {
    return std::vector<double>(constants_.size() + rates_, 1.0);
  }

  [[nodiscard]] const std::vector<FitConstant>& constants() const { return constants_; }

  [[nodiscard]] Protocols protocols(const std::vector<double>& point) const {
    Protocols all = base_;
    for (std::size_t i = 0; i < constants_.size(); ++i)
      constants_[i].set(all, point[i] * constants_[i].prior, Provenance::fitted, "");
    copy_to_relatives(all);
    return all;
  }

private:
  std::vector<double> residuals_at(const std::vector<double>& point) {
    const Protocols all = protocols(point);
    std::vector<double> residuals;
    for (Member& member : members_) {
      if (kin_of(member.model.curve()) == left_out_) continue;
      const auto errors = errors_of(member, all, point[constants_.size() + member.rate]);
      for (std::size_t i = 0; i < errors.size(); ++i)
        residuals.push_back(member.root_weights[i] * softened(errors[i].error, error_scale));
    }
    for (std::size_t i = 0; i < point.size(); ++i)
      residuals.push_back((i < constants_.size() ? prior_weight : rate_prior_weight) * (point[i] - 1));
    return residuals;
  }

  std::vector<Member>& members_;
  std::size_t rates_;
  std::string left_out_;
  std::vector<FitConstant> constants_;
  Protocols base_;
};

/// The machines whose curves notice a change of a constant, "dgx2, dgx1v", and how many curves these are.
std::string told_by(std::vector<Member>& members, const std::vector<double>& point, const RateFit& fit,
                    std::size_t constant) {
  std::vector<double> other = point;
  other[constant] += 0.5;  // of the prior: also where the fit came down to next to nothing
  const Protocols here = fit.protocols(point);
  const Protocols there = fit.protocols(other);
  std::set<std::string> machines;
  int curves = 0;
  for (Member& member : members) {
    const double rate = point[fit.constants().size() + member.rate];
    const std::vector<Seconds> before = member.model.times(here, rate);
    const std::vector<Seconds>& after = member.model.times(there, rate);
    double most = 0;
    for (std::size_t i = 0; i < before.size(); ++i) most = std::max(most, std::abs(after[i] / before[i] - 1));
    if (most < 1e-3) continue;
    ++curves;
    machines.insert(member.model.curve().machine->platform);
  }
  if (curves == 0) return {};
  std::string names;
  for (const std::string& machine : machines) names += (names.empty() ? "" : ", ") + machine;
  return fmt::format("calibrate collectives, {} {} of {}", curves, curves == 1 ? "curve" : "curves", names);
}

/// Curves that the constants of all machines are fitted to, and those of channels between nodes, which are
/// fitted after them.
struct MembersOfFits {
  std::vector<Member> usual, turning;
  std::vector<RateKey> usual_rates, turning_rates;
};

MembersOfFits make_members(const config::Catalogue& catalogue, const CollectiveCurves& curves,
                           std::map<std::string, int>& excluded) {
  const Protocols assumed = assumed_protocols();
  MembersOfFits members;
  for (const CollectiveCurve& curve : curves.curves) {
    const auto count = static_cast<int>(curve.points.size());
    if (curve.split != "calibrate") {
      excluded["column split is not 'calibrate'"] += count;
      continue;
    }
    const auto is_time = [](const CurvePoint& point) { return point.figure == CollectiveFigure::time; };
    if (!std::ranges::all_of(curve.points, is_time)) {
      excluded["bus bandwidth averaged over several sizes"] += count;
      continue;
    }
    Member member{CurveModel(catalogue, curve), 0, root_weights(curve)};
    const bool takes_turns = member.model.takes_turns(assumed);
    std::vector<RateKey>& rates = takes_turns ? members.turning_rates : members.usual_rates;
    const RateKey key = rate_key(member.model);
    const auto found = std::ranges::find(rates, key);
    member.rate = static_cast<std::size_t>(found - rates.begin());
    if (found == rates.end()) rates.push_back(key);
    (takes_turns ? members.turning : members.usual).push_back(std::move(member));
  }
  return members;
}

struct MeanErrors {
  std::optional<double> large, small;
};

MeanErrors mean_errors(const std::vector<SizedError>& errors) {
  return {mean_error(part_of(errors, true)), mean_error(part_of(errors, false))};
}

/// Fits without each kin in turn and predicts its curves at the rates NCCL plans with.
void add_left_out(std::vector<Member>& members, std::size_t rates, const std::vector<double>& start,
                  std::vector<FittedCurve>& curves) {
  std::set<std::string> kins;
  for (const Member& member : members) kins.insert(kin_of(member.model.curve()));
  for (const std::string& kin : kins) {
    RateFit fit(members, rates, kin);
    const Protocols constants = fit.protocols(fit.run(start));
    for (std::size_t i = 0; i < members.size(); ++i) {
      Member& member = members[i];
      if (kin_of(member.model.curve()) != kin) continue;
      const double factor = member.model.planned_rate() / member.model.ring_rate();
      const MeanErrors errors = mean_errors(errors_of(member, constants, factor));
      curves[i].large_left_out = errors.large;
      curves[i].small_left_out = errors.small;
    }
  }
}

/// Fits and puts the constants into the result, then rates and curves.
void add_fit(CollectiveFit& result, RateFit& fit, std::vector<Member>& members,
             const std::vector<RateKey>& rates) {
  const std::vector<double> best = fit.run(fit.start());
  const std::vector<FitConstant>& constants = fit.constants();
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const std::string source = told_by(members, best, fit, i);
    if (source.empty()) continue;
    // Curves that want less than the least say only that it is small.
    const bool is_told = best[i] > least_ratio;
    constants[i].set(result.constants,
                     rounded_constant(best[i] * constants[i].prior, constants[i].resolution),
                     is_told ? Provenance::fitted : Provenance::assumed,
                     is_told ? source : "the smallest value allowed; " + source + " would fit a smaller one");
  }
  round_shared_steps(result.constants);
  copy_to_relatives(result.constants);

  for (std::size_t i = 0; i < rates.size(); ++i) {
    FittedRate rate{.platform = rates[i].first, .path = rates[i].second, .in_file = {}, .fitted = {}};
    for (const Member& member : members) {
      if (member.rate == i) rate.in_file = member.model.ring_rate();
    }
    rate.fitted = rate.in_file * best[constants.size() + i];
    result.rates.push_back(rate);
  }
  for (Member& member : members) {
    const double factor = best[constants.size() + member.rate];
    const MeanErrors errors = mean_errors(errors_of(member, result.constants, factor));
    result.curves.push_back({.name = member.model.curve().name,
                             .path = member.model.worst(),
                             .large = errors.large,
                             .small = errors.small,
                             .large_left_out = {},
                             .small_left_out = {}});
  }
}

}  // namespace

CollectiveFit fit_collectives(const config::Catalogue& catalogue, const CollectiveCurves& curves,
                              bool leaves_out) {
  CollectiveFit result;
  result.excluded = curves.excluded;
  result.constants = assumed_protocols();
  MembersOfFits members = make_members(catalogue, curves, result.excluded);
  if (members.usual.empty() && members.turning.empty()) {
    throw InputError("no row is a collective with split 'calibrate' on a machine that the rules cover",
                     "'trainyard validate' lists why rows are left out");
  }
  RateFit usual(members.usual, members.usual_rates.size(), "");
  add_fit(result, usual, members.usual, members.usual_rates);
  if (leaves_out) add_left_out(members.usual, members.usual_rates.size(), usual.start(), result.curves);
  if (members.turning.empty()) return result;
  RateFit turning(members.turning, members.turning_rates.size(), "", turn_constants(), result.constants);
  add_fit(result, turning, members.turning, members.turning_rates);
  return result;
}

}  // namespace trainyard
