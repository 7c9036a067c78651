#pragma once
// The bytes of a file that another program wrote, plain or compressed by gzip, from its beginning to its end.
// A compressed one is inflated on a second thread while its bytes are read, so that neither waits for the
// other; on the thread that reads where others read more files meanwhile.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace trainyard {

class ByteStream {
public:
  /// Opens a file; its content says whether it is compressed, not its name. Throws FileError. With
  /// `may_be_cut_off` a compressed file that is cut off ends where its bytes do. `inflates_ahead`: on a
  /// second thread.
  explicit ByteStream(const std::filesystem::path& file, bool may_be_cut_off = false,
                      bool inflates_ahead = true);
  ~ByteStream();
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;

  /// The number of bytes read into `into`, fewer than its size only at the end of the file. Throws InputError
  /// with the place if a compressed file is damaged or cut off, or inflates to more than 2^40 bytes.
  std::size_t read(std::span<char> into);

private:
  struct Source;
  std::unique_ptr<Source> source_;
};

/// All bytes of a file, or the first `most` + 1. Throws as ByteStream.
std::string all_bytes(const std::filesystem::path& file, std::size_t most);

}  // namespace trainyard
