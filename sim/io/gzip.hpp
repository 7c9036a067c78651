#pragma once
// Files compressed by gzip, of any number of members.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

class Inflater {
public:
  /// `name` is printed in errors. With `may_be_cut_off` the end of the file is the end of its bytes, wherever
  /// it is.
  Inflater(std::FILE* file, std::string name, bool may_be_cut_off);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// The next bytes, at most 1 MiB; empty at the end. Throws InputError with the place if the file is damaged
  /// or cut off, or inflates to more than 1 TiB.
  std::vector<char> next_block();

private:
  struct State;
  void step();

  std::unique_ptr<State> state_;
};

/// `bytes` if they are not compressed, otherwise their content. Throws InputError, with `name`, if they are
/// damaged or cut off, or hold more than `largest` bytes.
std::string uncompressed(const std::string& name, std::string bytes, std::uintmax_t largest);

/// The same bytes whenever and wherever it runs: without a date and a file's name.
std::string compressed_by_gzip(std::string_view text);

}  // namespace trainyard
