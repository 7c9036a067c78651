#pragma once
// `trainyard calibrate stack` without the name of a stack: factors on kernel times for all stacks, from
// published runs on one GPU (published/software_fit.hpp).

#include "config/catalogue.hpp"
#include "published/published_rows.hpp"
#include "strategy/software.hpp"

#include <memory>

namespace trainyard {

/// The factors fitted to the data's rows, with their errors leaving out series, GPUs, stacks and models in
/// turn, and their sources. Throws InputError if no row can be fitted to.
Software fit_software(const config::Catalogue& catalogue, const std::shared_ptr<const PublishedData>& data,
                      int parallel);

}  // namespace trainyard
