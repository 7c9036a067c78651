#include "random/distribution.hpp"

#include "random/functions.hpp"
#include "units/text.hpp"
#include "workload/csv.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

namespace trainyard::random {

namespace {

constexpr double least_part = 0.01;  // of the mean: a time is never nothing or less

double exponential(double mean, Generator& generator) { return -mean * log(generator.uniform()); }

double normal(Generator& generator) { return normal_quantile(generator.uniform()); }

/// Mean 1 of the scale; Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26
/// (2000), with their step for shapes below 1.
double gamma(double shape, Generator& generator) {
  if (shape < 1) {
    const double power = exp(log(generator.uniform()) / shape);
    return gamma(shape + 1, generator) * power;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(generator);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double cube = root * root * root;
    if (log(generator.uniform()) < 0.5 * x * x + d - d * cube + d * log(cube)) return d * cube;
  }
}

struct LogScale {
  double mean, sd;  ///< of the logarithm
};

LogScale log_scale(const Distribution& distribution) {
  const double ratio = *distribution.sd / distribution.mean;
  const double variance = log(1 + ratio * ratio);
  return {log(distribution.mean) - variance / 2, std::sqrt(variance)};
}

/// The least value of a Pareto distribution with this mean; the mean itself where there is no mean.
double pareto_least(const Distribution& distribution) {
  const double shape = *distribution.shape;
  return shape > 1 ? distribution.mean * (shape - 1) / shape : distribution.mean;
}

}  // namespace

double draw(const Distribution& distribution, Generator& generator) {
  const double mean = distribution.mean;
  switch (distribution.kind) {
    case Kind::constant:
      break;
    case Kind::normal:
      while (true) {
        const double value = mean + *distribution.sd * normal(generator);
        if (value >= least_part * mean) return value;
      }
    case Kind::log_normal: {
      const LogScale scale = log_scale(distribution);
      return exp(scale.mean + scale.sd * normal(generator));
    }
    case Kind::exponential:
      return exponential(mean, generator);
    case Kind::shifted_exponential:
      return *distribution.shift + exponential(mean, generator);
    case Kind::gamma:
      return mean / *distribution.shape * gamma(*distribution.shape, generator);
    case Kind::pareto:
      return pareto_least(distribution) * exp(-log(generator.uniform()) / *distribution.shape);
    case Kind::empirical: {
      const auto count = distribution.seen.size();
      const auto index = static_cast<std::size_t>(generator.uniform() * static_cast<double>(count));
      return distribution.seen[std::min(index, count - 1)];
    }
  }
  return mean;
}

std::optional<double> mean(const Distribution& distribution) {
  switch (distribution.kind) {
    case Kind::shifted_exponential:
      return *distribution.shift + distribution.mean;
    case Kind::pareto:
      if (*distribution.shape <= 1) return std::nullopt;
      break;
    case Kind::empirical: {
      double sum = 0;
      for (const double value : distribution.seen) sum += value;
      return sum / static_cast<double>(distribution.seen.size());
    }
    default:
      break;
  }
  return distribution.mean;
}

void check(const Distribution& distribution, const std::string& path, config::Problems& problems) {
  const Kind kind = distribution.kind;
  const auto belongs = [&](std::string_view key, bool is_given, bool is_needed) {
    if (is_given == is_needed) return;
    std::string message = is_needed ? "a distribution of kind " : "there is no ";
    if (!is_needed) message += std::string(key) + " of the kind ";
    message += std::string(config::name_of(kind));
    if (is_needed) message += " needs " + std::string(key);
    problems.error(is_needed ? path : path + "." + std::string(key), message);
  };
  belongs("sd", distribution.sd.has_value(), kind == Kind::normal || kind == Kind::log_normal);
  belongs("shift", distribution.shift.has_value(), kind == Kind::shifted_exponential);
  belongs("shape", distribution.shape.has_value(), kind == Kind::gamma || kind == Kind::pareto);
  belongs("file", distribution.file.has_value(), kind == Kind::empirical);
  if (kind == Kind::normal && distribution.sd && *distribution.sd > distribution.mean)
    problems.error(path + ".sd", "a normal distribution as wide as this has many times below 0",
                   "log_normal or gamma have none");
}

std::vector<double> read_factors(const std::string& name, std::string_view text) {
  CsvProblems problems(name, text);
  const CsvFile file = parse_csv(text, problems);
  problems.finish();
  const auto& header = file.header.cells;
  const auto is_factor = [](const CsvCell& cell) { return cell.text == "factor"; };
  const auto found = std::find_if(header.begin(), header.end(), is_factor);
  std::vector<double> factors;
  if (found == header.end()) {
    problems.error(file.header.line, "the column 'factor' is missing");
  } else {
    for (const CsvRow& row : file.rows) {
      const CsvCell& cell = row.cells[static_cast<std::size_t>(found - header.begin())];
      const Parsed<double> parsed = parse_number(cell.text);
      const auto* number = std::get_if<double>(&parsed);
      if (number != nullptr && *number > 0)
        factors.push_back(*number);
      else
        problems.error(row.line, cell, "factor", "a number above 0 is needed, not " + in_quotes(cell.text));
    }
    if (file.rows.empty()) problems.error(0, "there is no factor in it");
  }
  problems.finish();
  std::ranges::sort(factors);
  return factors;
}

}  // namespace trainyard::random
