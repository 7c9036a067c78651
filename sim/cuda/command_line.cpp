#include "command_line.hpp"

#include "csv_line.hpp"
#include "ops.hpp"

#include <charconv>
#include <optional>
#include <system_error>

namespace trainyard::cuda {
namespace {

int whole_number(std::string_view option, std::string_view text, int at_least) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < at_least) {
    throw UsageError(std::string(option) + " needs a whole number of at least " + std::to_string(at_least) +
                     ", not '" + std::string(text) + "'");
  }
  return value;
}

void set_option(CommandLine& line, std::string_view option, const std::string& value) {
  if (option == "--seconds") {
    const auto seconds = parse_number(value);
    if (!seconds || *seconds <= 0) throw UsageError("--seconds needs a number above 0, not '" + value + "'");
    line.seconds = *seconds;
  } else if (option == "--device") {
    line.device = whole_number(option, value, 0);
  } else {
    for (const std::string& each : split_cells(value)) line.left_out.insert(whole_number(option, each, 1));
  }
}

bool takes_value(std::string_view option) {
  return option == "--seconds" || option == "--device" || option == "--skip";
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
  CommandLine line;
  std::vector<std::string> files;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--help" || argument == "-h")
      return {.plan = {}, .recording = {}, .left_out = {}, .help = true};
    if (!argument.starts_with('-') || argument == "-") {
      files.push_back(argument);
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string option = argument.substr(0, equals);
    if (!takes_value(option)) throw UsageError("unknown option '" + option + "'");
    if (equals == std::string::npos && i + 1 == arguments.size()) throw UsageError(option + " needs a value");
    set_option(line, option, equals == std::string::npos ? arguments[++i] : argument.substr(equals + 1));
  }
  if (files.size() != 2) {
    throw UsageError("it takes two files, PLAN and RECORDING, not " + std::to_string(files.size()));
  }
  line.plan = files[0];
  line.recording = files[1];
  return line;
}

std::string help_text() {
  return R"(usage: trainyard_gpu_kernels PLAN RECORDING [--seconds N] [--device I] [--skip LINE[,LINE...]]

Measures the rows of PLAN on a GPU and appends them to RECORDING, in the plan's order. Rows that RECORDING
already has are not measured again: the same command goes on where the last one ended.

  PLAN          CSV: op,variant,dtype,shape,bytes ('trainyard calibrate gpu' writes it)
  RECORDING     CSV, made if it is not there
  --seconds N   begin no row that would end later (default 520)
  --device I    the GPU, as CUDA counts them (default 0)
  --skip LINE   leave out the plan's rows on these lines
  --help        this text

exit: 0 all measured or skipped; 2 wrong command line; 3 wrong plan, or a recording of another GPU or library;
4 no usable GPU; 5 cannot read or write; 70 a kernel's result was wrong; 75 time was up and rows are left;
130 interrupted (what was measured is kept)

ops: )" + op_names() +
         "\n";
}

}  // namespace trainyard::cuda
