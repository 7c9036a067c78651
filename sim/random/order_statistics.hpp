#pragma once
// The cost of waiting for the slowest: the expected maximum of several draws, by its integral instead of
// drawing. Bits are equal on every machine, as in functions.hpp.

namespace trainyard::random {

/// Mean of the largest of `draws` independent normal variables with mean 0 and standard deviation `sd`: the
/// excess over the mean of a synchronous step of that many ranks whose own steps vary by `sd`. In the unit of
/// `sd`; 0 for one draw. Within 1e-10 of sd up to a million draws. Source: sd n * integral of x phi(x)
/// Phi(x)^(n-1) dx; David and Nagaraja, "Order Statistics" (3rd edition, 2003), section 3.1. Throws
/// std::invalid_argument if draws < 1 or sd < 0.
double expected_maximum(int draws, double sd);

/// Mean of the `rank`-th smallest of `draws` such variables: of the last that a step waits for if it waits
/// for `rank` of them. For rank == draws the maximum; otherwise Blom's approximation, within 2 % of sd: the
/// value below which (rank - 3/8) / (draws + 1/4) of the distribution lies (G. Blom, "Statistical estimates
/// and transformed beta-variables", 1958). Throws std::invalid_argument unless 1 <= rank <= draws and sd >=
/// 0.
double expected_order_statistic(int rank, int draws, double sd);

/// The value that the largest of `draws` such variables is below with `probability`: the root of Phi(x)^draws
/// = probability. A uniform random probability draws the largest at once. Throws
/// std::invalid_argument if draws < 1, sd < 0 or the probability is not between 0 and 1.
double maximum_quantile(int draws, double sd, double probability);

}  // namespace trainyard::random
