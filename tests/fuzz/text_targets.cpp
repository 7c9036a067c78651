// Readers of texts that are no YAML: units, CSV files, saved runs, plans and samples.

#include "accuracy/published_errors.hpp"
#include "compute/kernel_table.hpp"
#include "compute/recording.hpp"
#include "config/catalogue.hpp"
#include "experiment/read_factors.hpp"
#include "fuzz/targets.hpp"
#include "learn/samples.hpp"
#include "plan.hpp"
#include "published/published_rows.hpp"
#include "published/table_forms.hpp"
#include "recording.hpp"
#include "report/summary_json.hpp"
#include "strategy/software.hpp"
#include "units/quantity.hpp"
#include "units/text.hpp"
#include "workload/shape_text.hpp"
#include "workload/trace_csv.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace trainyard::fuzz {
namespace {

/// A number reads back to the same bits from its exact form; its forms for people have a digit.
template <class Q>
void read_quantity(const std::string& input) {
  const Parsed<Q> parsed = parse_quantity<Q>(input);
  if (!parsed) return;
  if (!std::isfinite(parsed->si())) broken(fmt::format("'{}' is not finite", input));
  const std::string text = exact(*parsed);
  const Parsed<Q> again = parse_quantity<Q>(text);
  if (!again || again->si() != parsed->si()) broken(fmt::format("'{}' became '{}'", input, text));
  for (const std::string& words : {human(*parsed), estimate(*parsed), human_like(*parsed, *parsed)})
    if (words.find_first_of("0123456789") == std::string::npos)
      broken(fmt::format("'{}': '{}'", input, words));
}

template <class... Q>
void read_quantities(const std::string& input) {
  (read_quantity<Q>(input), ...);
}

void read_units(const std::string& input) {
  read_quantities<Seconds, Bytes, Bandwidth, Flops, FlopRate, Joules, Watts, Dollars>(input);
  if (const auto number = parse_number(input)) {
    const std::string text = shortest(*number);
    const auto again = parse_number(text);
    if (!again || *again != *number) broken(fmt::format("'{}' became '{}'", input, text));
    (void)digits12(*number);
  }
  if (const auto whole = parse_integer(input)) {
    const auto again = parse_integer(std::to_string(*whole));
    if (!again || *again != *whole) broken(fmt::format("whole number '{}'", input));
  }
  (void)parse_sample_rate(input);
  if (const auto shape = parse_shape(input)) {
    const auto again = parse_shape(to_string(*shape));
    if (!again || to_string(*again) != to_string(*shape)) broken(fmt::format("shape '{}'", input));
  }
  (void)in_quotes(input);
}

void read_trace_file(const std::string& input) {
  const std::string text = write_trace(read_trace("t.csv", input));
  require_equal("the trace", text, write_trace(read_trace("t.csv", text)));
}

void read_recording_file(const std::string& input) { (void)kernel_table(read_recording("r.csv", input)); }

void read_software_table(const std::string& input) {
  const std::string text = software_factors_text(read_software_factors("s.csv", input));
  require_equal("the table", text, software_factors_text(read_software_factors("s.csv", text)));
}

/// The first half is the file of images, the second that of labels.
void read_idx_files(const std::string& input) {
  const std::string_view text = input;
  (void)read_idx("images", text.substr(0, text.size() / 2), "labels", text.substr(text.size() / 2));
}

std::string idx_files() {
  const std::string images(
      "\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02"
      "abcdefgh",
      24);
  return images + std::string("\0\0\x08\x01\0\0\0\x02\0\x01", 10) + std::string(14, '\0');
}

void read_table_in_form(const std::string& input) {
  static const TableForms forms = shipped_table_forms(config::find_catalogue());
  (void)read_published_rows("p.csv", input, forms);
}

constexpr std::array of_texts{
    Target{"units", read_units, "tests/fuzz/corpus/units/*"},
    Target{"trace", read_trace_file, "workloads/traces/*.csv tests/validation/gpu/h200_traces/vgg16*.csv"},
    Target{"recording", read_recording_file, "platforms/gpus/*.csv"},
    Target{"measured", [](const std::string& input) { (void)cuda::parse_recording("r.csv", input); },
           "platforms/gpus/*measured.csv platforms/gpus/*pytorch.csv"},
    Target{"plan", [](const std::string& input) { (void)cuda::parse_plan("p.csv", input); }, ""},
    Target{"published", [](const std::string& input) { (void)read_published_rows("p.csv", input); },
           "workloads/published/*.csv"},
    Target{"tables_in_forms", read_table_in_form,
           "workloads/published/memory_outcomes.csv tests/validation/gpu/*_steps.csv"},
    Target{"published_errors", [](const std::string& input) { (void)read_published_errors("e.csv", input); },
           "workloads/published/errors/*.csv"},
    Target{"software_table", read_software_table, "workloads/software/*.csv"},
    Target{"factors", [](const std::string& input) { (void)read_factors("f.csv", input); },
           "tests/fuzz/corpus/factors/*"},
    Target{"samples", [](const std::string& input) { (void)read_samples_csv("s.csv", input); },
           "tests/fuzz/corpus/samples/*"},
    Target{"idx", read_idx_files, "", {}, idx_files},
    Target{"summary", [](const std::string& input) { (void)read_summary("summary.json", input); }, ""}};

}  // namespace

std::span<const Target> text_targets() { return of_texts; }

}  // namespace trainyard::fuzz
