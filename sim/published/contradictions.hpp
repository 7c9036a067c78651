#pragma once
// Published rows that contradict themselves or that nobody measured, found by their own figures alone. No
// prediction is looked at.

#include "published/published_rows.hpp"

#include <set>
#include <string>
#include <vector>

namespace trainyard {

/// Why the row's batch cannot be right: the FLOP/s printed with the time of a step (column stated_flops)
/// are more than a factor of 1.5 from those that batch, time and sizes give by equation 3 of Narayanan et al.
/// 2021, with and without a repeated forward pass. Empty if they agree, or if the row states too little.
std::string flops_contradiction(const PublishedRow& row);

/// Rows with more than one replica whose times of a step were computed and not measured: between two numbers
/// of replicas of one layout, the time grows by the same constant, to 1e-8 s, in at least five pairs of rows
/// with the same work for a replica, and in all such pairs.
std::set<const PublishedRow*> rows_with_a_constant_added(const std::vector<PublishedRow>& rows);

}  // namespace trainyard
