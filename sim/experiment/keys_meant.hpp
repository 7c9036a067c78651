#pragma once
// Keys of overrides as users say them: other words for keys ("tp"), and totals of the job ("global_batch")
// that follow from several keys. Both become keys of the experiment before it is read.

#include "config/catalogue.hpp"
#include "experiment/input_files.hpp"
#include "experiment/overrides.hpp"
#include "experiment/resolved_experiment.hpp"

#include <string>
#include <string_view>

namespace trainyard {

/// Keys that other keys stand for once an experiment is resolved. `ranks`: total number of GPUs, on as few
/// nodes as possible. `data_parallel`: the replicas; together with the ranks that share a model they give
/// `ranks`. `global_batch`: samples per step of all ranks. `sequence_length` and `attention`: those of the
/// model's family.
inline constexpr const char* ranks_key = "ranks";
inline constexpr const char* data_parallel_key = "data_parallel";
inline constexpr const char* global_batch_key = "global_batch";
inline constexpr const char* sequence_length_key = "sequence_length";
inline constexpr const char* attention_key = "attention";

/// Whether the key is one of these.
bool is_total(std::string_view key);

/// The key that a path names by one of the other words of its tables: "parallelism.tensor" for "tp" and for
/// "parallelism.tp"; the path itself if there is none.
std::string key_meant(std::string_view path);

/// The overrides with keys of the experiment in place of totals, which come last. GPUs without a number of
/// nodes, neither here nor in the file, are the total that `ranks` is. Throws like resolve, and InputError if
/// a global batch cannot be split evenly or keys contradict each other.
Overrides without_totals(const config::Catalogue& catalogue, const std::string& experiment,
                         Overrides overrides, InputFiles& files);

/// resolve() with overrides that may be totals. `changed` keeps them as they are: titles show the user's
/// words.
ResolvedExperiment resolve_with_totals(const config::Catalogue& catalogue, const std::string& experiment,
                                       const Overrides& asked, InputFiles& files);

}  // namespace trainyard
