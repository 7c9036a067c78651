// The recording as text; recording.cpp handles the file.

#include "csv_line.hpp"
#include "input_error.hpp"
#include "recording.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace trainyard::cuda {
namespace {

/// Nothing if the line is an ordinary comment.
std::optional<Fact> parse_fact(std::string_view line) {
  const std::size_t colon = line.find(": ");
  if (!line.starts_with("# ") || colon == std::string_view::npos) return std::nullopt;
  return Fact{std::string(line.substr(2, colon - 2)), std::string(line.substr(colon + 2))};
}

/// The key of a recorded row, or nothing after reporting its error.
std::optional<std::string> parse_row(std::string_view line, int number, Problems& problems) {
  const std::size_t expected = split_cells(recording_header).size();
  const std::vector<std::string> cells = split_cells(line);
  if (cells.size() != expected) {
    problems.add(number,
                 std::to_string(cells.size()) + " cells where the header has " + std::to_string(expected),
                 "remove the line, and its row is measured again");
    return std::nullopt;
  }
  const auto bytes = parse_number(cells[4]);
  const auto time = parse_number(cells[5]);
  if (!bytes || !time || *time < 0) {
    problems.add(number,
                 !bytes ? "bytes '" + cells[4] + "' is no number" : "time_us '" + cells[5] + "' is no time",
                 "remove the line, and its row is measured again");
    return std::nullopt;
  }
  return to_csv(Request{cells[0], cells[1], cells[2], cells[3], *bytes});
}

std::string optional_text(const std::optional<double>& value) { return value ? six_digits(*value) : ""; }

const Fact* find_fact(const std::vector<Fact>& facts, std::string_view key) {
  const auto found =
      std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.key == key; });
  return found == facts.end() ? nullptr : &*found;
}

}  // namespace

RecordedText parse_recording(const std::string& name, std::string_view text) {
  Problems problems(name);
  RecordedText found;
  const std::size_t last_break = text.rfind('\n');
  found.complete_size = last_break == std::string_view::npos ? 0 : last_break + 1;
  std::string_view rest = text.substr(0, found.complete_size);
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = take_line(rest);
    if (line.starts_with('#')) {
      if (auto fact = parse_fact(line)) found.facts.push_back(std::move(*fact));
    } else if (!found.has_header) {
      if (line != recording_header) {
        problems.add(number, "the header is not a recording's",
                     "name a new file, or one that begins with '# gpu: ...' and has the header '" +
                         std::string(recording_header) + "'");
        problems.finish();
      }
      found.has_header = true;
    } else if (auto key = parse_row(line, number, problems)) {
      found.rows.insert(std::move(*key));
    }
  }
  const std::string_view torn = text.substr(found.complete_size);
  if (!found.has_header && !torn.empty() && !torn.starts_with('#') && !recording_header.starts_with(torn)) {
    problems.add(0, "it is no recording", "name a new file");
  }
  problems.finish();
  return found;
}

void require_same_setup(const std::string& name, const std::vector<Fact>& then,
                        const std::vector<Fact>& now) {
  // without the driver: its effect on launches is small, and rented machines may have a different one every
  // time
  constexpr std::array<std::string_view, 6> decisive{"gpu", "compute_capability", "cuda", "cublaslt", "cudnn",
                                                     "nccl"};
  Problems problems(name);
  for (const std::string_view key : decisive) {
    const Fact* const old_fact = find_fact(then, key);
    const Fact* const new_fact = find_fact(now, key);
    const std::string old_value = old_fact != nullptr ? "'" + old_fact->value + "'" : "none";
    const std::string new_value = new_fact != nullptr ? "'" + new_fact->value + "'" : "none";
    if (old_value != new_value) {
      std::string message = "its rows were measured with ";
      message.append(key).append(" ").append(old_value).append(", this run has ").append(new_value);
      problems.add(0, message, "name another file for the recording");
    }
  }
  problems.finish();
}

std::string to_csv(const Request& request, const Measurement& measurement) {
  return to_csv(request) + ',' + six_digits(measurement.time_us) + ',' + six_digits(measurement.spread_us) +
         ',' + std::to_string(measurement.repetitions) + ',' + optional_text(measurement.error) + ',' +
         optional_text(measurement.power_w) + ',' + optional_text(measurement.clock_mhz);
}

}  // namespace trainyard::cuda
