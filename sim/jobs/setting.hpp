#pragma once
// A job of another framework as it is written: keys with values, where each stands.

#include <string>
#include <string_view>

namespace trainyard::jobs {

struct Setting {
  std::string key;    ///< words joined by '_', nested ones by '.': "training.local_batch_size"
  std::string value;  ///< as written, without quotes; a list as [a, b]
  std::string file;
  int line = 0;
  bool is_switch = false;  ///< an option without a value
  int command = 0;         ///< number of its command in a script, from 1
};

/// Whether a value switches something off: false, 0, none, null, off, or nothing at all.
bool is_off(const Setting& setting);

/// "--tensor-model-parallel-size" as a key: "tensor_model_parallel_size".
std::string as_key(std::string_view option);

}  // namespace trainyard::jobs
