#include "compute/processor_profile.hpp"

#include "compute/short_profile.hpp"
#include "config/read.hpp"
#include "config/suggest.hpp"
#include "units/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace trainyard {

namespace {

const MemoryMode& mode_named(const ProcessorFile& file, const std::string& name) {
  if (name.empty()) return file.memory_modes.front().second;
  std::vector<std::string> known;
  for (const auto& [mode, memory] : file.memory_modes) {
    if (mode == name) return memory;
    known.push_back(mode);
  }
  throw InputError(fmt::format("{} has no memory mode '{}'", file.name, name),
                   fmt::format("memory_mode: {}", fmt::join(known, ", ")));
}

}  // namespace

GpuProfile load_processor_profile(const config::Document& document, const std::string& memory_mode,
                                  std::vector<Diagnostic>* warnings) {
  auto file = config::read<ProcessorFile>(
      document,
      [](const ProcessorFile& read, config::Problems& problems) {
        problems.check_name(read.name);
        if (problems.readable("memory_modes") && read.memory_modes.empty())
          problems.error("memory_modes", "no mode is named", "memory_modes: {ddr4: {capacity: ...}}");
        for (const std::string& figure : missing_figures(read.matrix, read.vector)) {
          const std::size_t dot = figure.find('.');
          problems.error(figure.substr(0, dot), "key " + in_quotes(figure.substr(dot + 1)) + " is missing");
        }
      },
      warnings);
  const MemoryMode& memory = mode_named(file, memory_mode);
  GpuProfile profile;
  profile.is_processor = true;
  profile.memory = {.capacity = memory.capacity, .usable = {}, .bandwidth = memory.bandwidth, .context = {}};
  // the operating system's share is not known: none, where a GPU's context would have an assumed size
  profile.memory.context = {.value = Bytes(), .provenance = Provenance::assumed, .source = "no context"};
  profile.name = std::move(file.name);
  profile.title = std::move(file.title);
  profile.year = file.year;
  profile.sms = file.cores;
  profile.tdp = file.tdp;
  profile.power = file.power;
  if (profile.power && memory.vector) profile.power->vector = *memory.vector;
  profile.memory_power = memory.power;
  profile.reading = file.reading;
  profile.variation = memory.variation;
  profile.matrix = std::move(file.matrix);
  profile.vector = std::move(file.vector);
  profile.roofline = std::move(file.roofline);
  profile.sums = file.sums;
  profile.source = std::move(file.source);
  return profile;
}

}  // namespace trainyard
