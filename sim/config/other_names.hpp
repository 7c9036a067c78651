#pragma once
// Users' names for a shipped file: other capitals and punctuation ("DGX-H100"), a GPU as nvidia-smi prints
// it ("NVIDIA L40S"), the beginning of a name that only one file has ("p4d"), or another word for it
// ("ddp"). Names of files go first: catalogue.hpp asks only if no file has the name as written.

#include "config/catalogue.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::config {

/// The name that this text means; empty if there is none, or several. A GPU with two profiles means the
/// recorded one (same_gpu.hpp).
std::string name_meant(const Catalogue& catalogue, Kind kind, std::string_view text);

/// The names that a GPU or platform called so may be, sorted: "h100" is h100_measured or h100_pcie_80gb.
std::vector<std::string> names_possible(const Catalogue& catalogue, Kind kind, std::string_view text);

/// The one of these profiles, each of another GPU, that a driver's product means, by the same rules; empty if
/// there is none, or several.
std::string gpu_meant(const std::vector<std::string>& profiles, std::string_view product);

/// A word for the file of this name that has nothing in common with it. Compared by letters and digits.
struct OtherName {
  Kind kind;
  std::string_view word;
  std::string_view name;
};

/// All of them, for searches.
std::span<const OtherName> other_names();

/// Advice on a word that is no name of this kind but says something close to one: "zero3" as a stack. Empty
/// if there is none.
std::string_view advice_on(Kind kind, std::string_view word);

}  // namespace trainyard::config
