#pragma once
// A processor that holds a rank (platforms/processors/*.yaml): the same rates as a GPU's, of all cores of a
// socket together, and memory that may be used in several modes.

#include "compute/gpu_profile.hpp"
#include "config/fields.hpp"

#include <optional>
#include <string>
#include <vector>

namespace trainyard {

/// One way to use the memory of a socket, which a machine is set to: the memory on the package alone, that
/// memory as a cache of the other, or the other alone.
struct MemoryMode {
  Sourced<Bytes> capacity;
  Sourced<Bandwidth> bandwidth;
  std::optional<GpuVariation> variation;
  std::optional<MemoryPower> power;
  std::optional<Sourced<double>> vector;
};

struct ProcessorFile {
  std::string name;
  std::string title;
  std::optional<int> year;
  Sourced<int> cores;
  config::Ordered<MemoryMode> memory_modes;
  Sourced<Watts> tdp;
  std::optional<GpuPower> power;
  std::optional<Sourced<double>> reading;
  MatrixUnits matrix;
  VectorRates vector;
  Sourced<Roofline> roofline;
  std::optional<Sourced<Bandwidth>> sums;
  std::vector<std::string> source;
};

/// The processor in one of its memory modes; empty: the first. Throws InputError with every problem found, or
/// if there is no such mode. Warnings are appended to `warnings`.
GpuProfile load_processor_profile(const config::Document& document, const std::string& memory_mode = {},
                                  std::vector<Diagnostic>* warnings = nullptr);

namespace config {

template <>
struct Keys<MemoryPower> {
  static auto table() {
    return keys(required("idle", &MemoryPower::idle, "while the processor waits").between(0, 1e4),
                required("active", &MemoryPower::active, "while ops run").between(0, 1e4));
  }
};

template <>
struct Keys<MemoryMode> {
  static auto table() {
    return keys(required("capacity", &MemoryMode::capacity, "memory of a socket").positive(1e14),
                required("bandwidth", &MemoryMode::bandwidth, "bandwidth, reads and writes together")
                    .between(1e8, 1e14),
                optional("variation", &MemoryMode::variation,
                         "differences between processors in this mode, for the key random.gpus of "
                         "experiments"),
                optional("power", &MemoryMode::power,
                         "power of the memory modules that the TDP does not include; default: part of the "
                         "node's other power"),
                optional("vector", &MemoryMode::vector,
                         "power.vector of the processor in this mode; default: that of all modes")
                    .between(0, 1.5));
  }
};

template <>
struct Keys<ProcessorFile> {
  static auto table() {
    return keys(
        required("name", &ProcessorFile::name, "the file's name without .yaml"),
        optional("title", &ProcessorFile::title, "name for people"),
        optional("year", &ProcessorFile::year, "year in which the processor came out; only listed")
            .between(1990, 2100),
        required("cores", &ProcessorFile::cores,
                 "cores of a socket; a collective takes one of them from the kernels")
            .between(1, 4096),
        required("memory_modes", &ProcessorFile::memory_modes,
                 "memory by mode (flat, cache, ...); the platform names one"),
        optional("tdp", &ProcessorFile::tdp, "thermal design power; 0 if it is not known").between(0, 1e5),
        optional("power", &ProcessorFile::power,
                 "power in each state; without this key, energy is not modelled"),
        optional("reading", &ProcessorFile::reading,
                 "power while a rank reads and parses the data of job.load, as a part of the TDP; default: "
                 "power.idle")
            .between(0, 1.5),
        required("matrix", &ProcessorFile::matrix, "matrix products and convolutions by data type"),
        required("vector", &ProcessorFile::vector, "ops limited by memory bandwidth"),
        required("roofline", &ProcessorFile::roofline, "curve for all matrix work without a fit"),
        optional("sums", &ProcessorFile::sums,
                 "rate at which the communication library adds received data to a rank's own, once it has "
                 "arrived; default: that of element-wise ops over the cores")
            .positive(1e14),
        optional("source", &ProcessorFile::source, "sources of the figures"));
  }
};

}  // namespace config
}  // namespace trainyard
