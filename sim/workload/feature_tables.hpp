#pragma once
// Layers of recommendation models, per sample: tables of features, of which a sample looks up some rows, and
// the products of their vectors. Cost rules as in layer.hpp.

#include "workload/layer.hpp"

#include <string>
#include <vector>

namespace trainyard {

/// Tables with rows of equal length. A sample looks up equally many rows of each.
struct FeatureTables {
  std::vector<double> entries = {};  ///< rows of each table
  int features = 0;                  ///< values of a row
  int lookups = 1;                   ///< rows of each table per sample
  bool is_summed = false;            ///< whether the rows of a table are added up (an embedding bag)
  bool is_sparse = false;  ///< whether only gradients of these rows are computed: Layer::sparse_elements
  /// Part of the samples that look up the most frequent row of all tables: Layer::repeated_rows.
  double most_frequent = 0;
  int samples = 1;  ///< samples whose rows a rank looks up for each of its own
};

/// One gather from all tables: reads indices, table after table, and writes [rows, features], a row for each
/// look-up, or one for each table if `is_summed`. Forward reads every row and writes the output, with an
/// addition per value after a sum's first. Backward reads the output's gradient and adds one row for each
/// look-up to the gradient: of the whole tables, which are written once (mostly zeros), or, if `is_sparse`,
/// of these rows. Keeps nothing but the indices, which are the sample. Tensors: "name.weight", of several
/// tables "name.0.weight" and so on. Source: Naumov et al. 2019, DLRM, arXiv 1906.00091, section 2.1.
Layer tables_layer(std::string name, const FeatureTables& tables);

/// The tables of such a layer, or of embedding_layer().
FeatureTables tables_of(const Layer& layer);

/// Products of each pair of `vectors` vectors of `features` values: one matrix product with the transposed
/// matrix of all vectors, which is kept. Source: as above, section 2.1.3.
Layer pair_products_layer(std::string name, int vectors, int features);

/// Picks the products of different vectors from the square of all: (n^2 - n) / 2 values. Backward writes the
/// gradient of the square.
Layer pairs_layer(std::string name, int vectors);

}  // namespace trainyard
