#pragma once
// System configurations of ASTRA-sim (sys_input): which collective algorithms a job runs, and constants of
// ASTRA-sim's own. Source: astra-sim/astra-sim astra-sim/system/Sys.cc, initialize_sys.

#include "collectives/algorithm.hpp"
#include "interchange/input_text.hpp"

#include <string>
#include <utility>
#include <vector>

namespace trainyard {

struct AstraSystem {
  std::string file;                     ///< as the user named it
  std::vector<std::string> all_reduce;  ///< the algorithm of each dimension: "ring", "halvingDoubling" ...
  bool is_by_dimension =
      false;  ///< scatters along the first dimensions and gathers there again (localBWAware)
  std::vector<std::pair<std::string, std::string>> keys;  ///< all of the file with their values, in its order
};

/// Reads 2.0's JSON or the lines of 1.0. Throws InputError with the line of an unknown algorithm.
AstraSystem read_astra_system(const InputText& input);

/// What an experiment takes from a system configuration.
struct AstraSettings {
  Algorithm algorithm = Algorithm::automatic;
  std::string why;                    ///< the keys that it is from, or why there is none like it
  std::vector<std::string> used;      ///< "scheduling-policy: FIFO", with their effect here
  std::vector<std::string> not_used;  ///< "endpoint-delay: 10"
};

/// The algorithm of all-reduces, where one here is the same over all dimensions; all else counts as not used.
AstraSettings settings_of(const AstraSystem& system);

}  // namespace trainyard
