#include "calibration/least_squares.hpp"

#include <algorithm>
#include <cmath>

namespace trainyard {
namespace {

using Vector = std::vector<double>;

double sum_of_squares(const Vector& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

/// By parameter: the change of each residual with it.
std::vector<Vector> derivatives(const Residuals& residuals, const Vector& point, const Vector& now) {
  std::vector<Vector> rows;
  rows.reserve(point.size());
  for (std::size_t i = 0; i < point.size(); ++i) {
    const double step = 1e-6 * std::max(1e-3, std::abs(point[i]));
    Vector above = point;
    above[i] += step;
    Vector row = residuals(above);
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = (row[k] - now[k]) / step;
    rows.push_back(std::move(row));
  }
  return rows;
}

double dot(const Vector& one, const Vector& other) {
  double sum = 0;
  for (std::size_t k = 0; k < one.size(); ++k) sum += one[k] * other[k];
  return sum;
}

/// Solves a symmetric positive definite system by Cholesky decomposition, in place.
Vector solve(std::vector<Vector> matrix, Vector right) {
  const std::size_t n = right.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) matrix[j][j] -= matrix[j][k] * matrix[j][k];
    matrix[j][j] = std::sqrt(matrix[j][j]);
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k) matrix[i][j] -= matrix[i][k] * matrix[j][k];
      matrix[i][j] /= matrix[j][j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= matrix[i][k] * right[k];
    right[i] /= matrix[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) right[i] -= matrix[k][i] * right[k];
    right[i] /= matrix[i][i];
  }
  return right;
}

}  // namespace

Vector least_squares(const Residuals& residuals, Vector start, double least) {
  constexpr int most_steps = 200;
  constexpr double good_enough = 1e-7;
  Vector point = std::move(start);
  Vector now = residuals(point);
  double loss = sum_of_squares(now);
  double damping = 1e-3;
  for (int step = 0; step < most_steps; ++step) {
    const std::vector<Vector> rows = derivatives(residuals, point, now);
    bool is_better = false;
    double moved = 0;
    while (!is_better && damping < 1e12) {
      std::vector<Vector> matrix(point.size(), Vector(point.size()));
      Vector right(point.size());
      const auto is_held = [&](std::size_t i) { return point[i] <= least && dot(rows[i], now) > 0; };
      for (std::size_t i = 0; i < point.size(); ++i) {
        // a coordinate that would leave the bound stays on it and does not hold back the others
        if (is_held(i)) {
          matrix[i][i] = 1;
          continue;
        }
        for (std::size_t j = 0; j <= i; ++j) matrix[i][j] = is_held(j) ? 0 : dot(rows[i], rows[j]);
        right[i] = -dot(rows[i], now);
        // the second term keeps parameters without effect unchanged
        matrix[i][i] += damping * matrix[i][i] + 1e-12;
      }
      const Vector change = solve(std::move(matrix), std::move(right));
      Vector next = point;
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = std::max(least, next[i] + change[i]);
      const Vector next_residuals = residuals(next);
      const double next_loss = sum_of_squares(next_residuals);
      is_better = next_loss <= loss;
      if (is_better) {
        moved = 0;
        for (std::size_t i = 0; i < next.size(); ++i)
          moved = std::max(moved, std::abs(next[i] - point[i]) / std::max(1e-3, std::abs(point[i])));
        point = next;
        now = next_residuals;
        loss = next_loss;
        damping = std::max(1e-12, damping / 10);
      } else {
        damping *= 10;
      }
    }
    if (!is_better || moved < good_enough) break;
  }
  return point;
}

double softened(double residual, double scale) {
  const double ratio = residual / scale;

  return scale * ratio * std::sqrt(2 / (1 + std::sqrt(1 + ratio * ratio)));
}

}  // namespace trainyard
