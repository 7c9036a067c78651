#include "commands/result_store.hpp"

#include "config/diagnostic.hpp"

#include <fmt/format.h>
#include <system_error>

namespace trainyard {

void create_folder_of(const std::filesystem::path& store) {
  std::error_code error;
  std::filesystem::create_directories(store.parent_path(), error);
  if (error)
    throw FileError(fmt::format("cannot write '{}': {}", store.parent_path().string(), error.message()));
}

void refuse_earlier_store(const std::filesystem::path& store) {
  throw FileError(
      fmt::format("'{}' exists: continue it with --resume, or replace it with --force", store.string()));
}

}  // namespace trainyard
