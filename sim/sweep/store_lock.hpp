#pragma once
// Lets only one process at a time use a store.

#include <filesystem>

namespace trainyard {

/// An advisory lock on FILE.lock, which is created for it and removed at the end: no other process gets the
/// lock while this object exists. It is released if the process dies.
class StoreLock {
public:
  /// Throws FileError if another process has the lock, or the file cannot be created.
  explicit StoreLock(const std::filesystem::path& file);
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

private:
  std::filesystem::path lock_;
  int descriptor_ = -1;
};

}  // namespace trainyard
