#include "recording.hpp"

#include "csv_line.hpp"
#include "input_error.hpp"
#include "plan.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace trainyard::cuda {

Recording::Recording(std::string path, const std::vector<Fact>& facts) : path_(std::move(path)) {
  try {
    open(facts);
  } catch (...) {
    if (file_ >= 0) ::close(file_);
    throw;
  }
}

Recording::~Recording() { ::close(file_); }

void Recording::open(const std::vector<Fact>& facts) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) fail("cannot write");
  struct stat status {};
  if (::fstat(file_, &status) != 0) fail("cannot read");
  if (!S_ISREG(status.st_mode)) throw FileError("cannot write '" + path_ + "': it is no ordinary file");
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      throw FileError("cannot write '" + path_ + "': another process is measuring into it");
    fail("cannot lock");
  }

  const std::string text = read_text(path_);
  RecordedText recorded = parse_recording(path_, text);
  if (!recorded.has_header) {
    cut_at(0);
    std::string head;
    for (const Fact& fact : facts) head += "# " + fact.key + ": " + fact.value + "\n";
    write(head + std::string(recording_header) + "\n");
    return;
  }
  require_same_setup(path_, recorded.facts, facts);
  if (recorded.complete_size < text.size()) {
    notes_.push_back("the last line of '" + path_ + "' was torn and is cut off; its row is measured again");
    cut_at(recorded.complete_size);
  }
  rows_ = std::move(recorded.rows);
}

void Recording::append(const Request& request, const Measurement& measurement) {
  write(to_csv(request, measurement) + "\n");
  rows_.insert(key(request));
}

std::string Recording::key(const Request& request) { return to_csv(request); }

void Recording::fail(const std::string& what) const {
  throw FileError(what + " '" + path_ + "': " + std::strerror(errno));
}

void Recording::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fsync(file_) != 0 && errno != EINVAL) fail("cannot write");  // EINVAL: a file system without fsync
}

void Recording::cut_at(std::size_t size) {
  if (::ftruncate(file_, static_cast<off_t>(size)) != 0) fail("cannot write");
}

}  // namespace trainyard::cuda
