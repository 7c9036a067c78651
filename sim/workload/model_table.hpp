#pragma once
// A model as a table for people: `trainyard model MODEL --batch B`.

#include "units/print_style.hpp"
#include "workload/model.hpp"

#include <string>

namespace trainyard {

/// One line per layer, grouped as the names are ("layer1.0.conv1"), with shapes and multiply-accumulates
/// (MACs) for `batch` samples, parameters, and the totals below. Throws InputError if batch < 1.
std::string model_table(const Model& model, int batch, const PrintStyle& style = {});

}  // namespace trainyard
