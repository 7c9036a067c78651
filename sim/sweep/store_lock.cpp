#include "sweep/store_lock.hpp"

#include "config/diagnostic.hpp"
#include "units/text.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trainyard {
namespace {

/// Whether the file of this descriptor still has its name: the previous owner of the lock may have removed
/// it.
bool is_in_place(int descriptor, const std::filesystem::path& path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino;
}

}  // namespace

StoreLock::StoreLock(const std::filesystem::path& file) : lock_(file.string() + ".lock") {
  while (true) {
    descriptor_ = ::open(lock_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
      throw FileError(fmt::format("cannot write {}: {}", in_quotes(lock_.string()), std::strerror(errno)));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      ::close(descriptor_);
      if (error == EWOULDBLOCK)
        throw FileError(fmt::format("another trainyard process is using {}", in_quotes(file.string())));
      throw FileError(fmt::format("cannot lock {}: {}", in_quotes(lock_.string()), std::strerror(error)));
    }
    if (is_in_place(descriptor_, lock_)) return;
    ::close(descriptor_);
  }
}

StoreLock::~StoreLock() {
  ::unlink(lock_.c_str());
  ::close(descriptor_);
}

}  // namespace trainyard
