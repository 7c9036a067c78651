#pragma once
// A folder for files that only this process reads. It ends with its content.

#include <filesystem>

namespace trainyard {

class ScratchFolder {
public:
  /// Makes it among the temporary files. Throws FileError.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

}  // namespace trainyard
