#include "convert/scratch_folder.hpp"

#include "config/diagnostic.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

namespace trainyard {

ScratchFolder::ScratchFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string name = (parent / "trainyard.XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr)
    throw FileError(name + ": " + (error ? error.message() : std::strerror(errno)));
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace trainyard
