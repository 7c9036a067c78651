#pragma once
// One process at a time works on a store.

#include <filesystem>

namespace trainyard {

/// For its life no other process gets one for the same file: an advisory lock on FILE.lock, which is made and
/// at the end removed. A process that dies gives it back.
class StoreLock {
public:
  /// Throws FileError if another process has it, or it cannot be made.
  explicit StoreLock(const std::filesystem::path& file);
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

private:
  std::filesystem::path lock_;
  int descriptor_ = -1;
};

}  // namespace trainyard
