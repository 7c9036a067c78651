#pragma once
// The recording: comment lines with the facts of the GPU and its libraries, a header, one row per
// measurement. A later run of the same command reads it and continues, and each row is written to disk before
// the next is measured: no finished row is lost.

#include "measurement.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::cuda {

inline constexpr std::string_view recording_header =
    "op,variant,dtype,shape,bytes,time_us,spread_us,repetitions,error,power_w,clock_mhz";

/// "# gpu: NVIDIA H100 80GB HBM3" in a recording. Facts that cannot be read are omitted.
struct Fact {
  std::string key;
  std::string value;

  bool operator==(const Fact&) const = default;
};

/// The content of a recording on disk.
struct RecordedText {
  std::vector<Fact> facts;
  std::set<std::string> rows;     ///< to_csv() of each recorded request
  bool has_header = false;        ///< false: nothing has been measured into it
  std::size_t complete_size = 0;  ///< bytes up to the last line break: the rest was torn by a crash
};

/// Throws InputError if the text is not a recording, with every problem found.
RecordedText parse_recording(const std::string& name, std::string_view text);

/// Throws InputError if rows measured under `now` must not be mixed with those recorded under `then`: another
/// GPU, or another version of a library that chooses kernels.
void require_same_setup(const std::string& name, const std::vector<Fact>& then, const std::vector<Fact>& now);

/// One row, without line break: "gemm,-,fp32,m8 n8 k8 nn,768,12.5,0.25,100,1.2e-07,,".
std::string to_csv(const Request& request, const Measurement& measurement);

/// A recording to which rows are appended. Only one process at a time can have it open.
class Recording {
public:
  /// Opens `path`, or creates it, with the facts of this GPU. Removes an incomplete last line, and `notes`
  /// then says so. Throws FileError if it cannot be opened, read or written, InputError if it is not a
  /// recording, or from another setup.
  Recording(std::string path, const std::vector<Fact>& facts);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  [[nodiscard]] bool has(const Request& request) const { return rows_.count(key(request)) > 0; }

  /// Returns when the row is on disk. Throws FileError.
  void append(const Request& request, const Measurement& measurement);

  /// Findings and corrections at the opening, one line each, for the user.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

private:
  static std::string key(const Request& request);
  [[noreturn]] void fail(const std::string& what) const;
  void write(std::string_view text);
  void cut_at(std::size_t size);
  void open(const std::vector<Fact>& facts);

  std::string path_;
  int file_ = -1;
  std::set<std::string> rows_;
  std::vector<std::string> notes_;
};

}  // namespace trainyard::cuda
