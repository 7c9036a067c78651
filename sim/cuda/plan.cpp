#include "plan.hpp"

#include "csv_line.hpp"
#include "input_error.hpp"
#include "ops.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace trainyard::cuda {
namespace {

Request parse_row(const std::vector<std::string>& cells, int line, Problems& problems) {
  Request request{.op = cells[0], .variant = cells[1], .dtype = cells[2], .shape = cells[3], .bytes = 0};
  const auto bytes = parse_number(cells[4]);
  if (!bytes) problems.add(line, "bytes '" + cells[4] + "' is no number", "0 where nothing is counted");
  // a missing size is not also reported as too small
  request.bytes = bytes.value_or(1);
  for (const CellProblem& problem : problems_of(request)) problems.add(line, problem.message, problem.hint);
  return request;
}

}  // namespace

std::vector<PlanRow> parse_plan(const std::string& name, std::string_view text) {
  Problems problems(name);
  std::vector<PlanRow> rows;
  bool header_seen = false;
  for (int line = 1; !text.empty(); ++line) {
    const std::string_view content = take_line(text);
    if (content.starts_with('#')) continue;
    if (!header_seen) {
      header_seen = true;
      if (content == plan_header) continue;
      problems.add(line, "the header is not a plan's", "it must be '" + std::string(plan_header) + "'");
      problems.finish();  // with another order of columns every row would be wrong
    }
    const std::vector<std::string> cells = split_cells(content);
    if (cells.size() != 5) {
      problems.add(
          line,
          std::to_string(cells.size()) + (cells.size() == 1 ? " cell" : " cells") + " where the header has 5",
          std::string(plan_header));
      continue;
    }
    rows.push_back({parse_row(cells, line, problems), line});
  }
  if (!header_seen)
    problems.add(0, "it holds no plan", "its first line must be '" + std::string(plan_header) + "'");
  problems.finish();
  return rows;
}

std::string read_text(const std::string& path) {
  constexpr std::size_t most = std::size_t{64} << 20U;
  const auto refuse = [&](const std::string& why) { throw FileError("cannot read '" + path + "': " + why); };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(std::strerror(errno));
  std::string text;
  char block[65536];
  while (file.read(block, sizeof block) || file.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(file.gcount()));
    if (text.size() > most) refuse("it is larger than 64 MiB");
  }
  if (file.bad() || (!file.eof() && file.fail()))
    refuse(errno != 0 ? std::strerror(errno) : "reading failed");
  return text;
}

std::vector<PlanRow> read_plan(const std::string& path) { return parse_plan(path, read_text(path)); }

}  // namespace trainyard::cuda
