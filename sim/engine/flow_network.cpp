#include "engine/flow_network.hpp"

#include "config/diagnostic.hpp"
#include "engine/simgrid_module.hpp"
#include "units/version.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <string>

namespace trainyard::engine {

namespace {

bool is_made = false;

/// A function of the module. Never closed: SimGrid's engine lives until the process ends. Found by the
/// program's run path; its name has the version, so that another version's is not taken.
template <class Function>
Function* loaded(const char* name) {
  static const std::string file = fmt::format("libtrainyard_simgrid-{}.so", version());
  static void* const module = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  static void* const function = module == nullptr ? nullptr : ::dlsym(module, name);
  static const std::string reason = function == nullptr ? ::dlerror() : "";
  if (function == nullptr) {
    throw FileError(fmt::format(
        "cannot load SimGrid: {} (put {} into the folder of the program, or run 'cmake --install')", reason,
        file));
  }
  return reinterpret_cast<Function*>(function);
}

}  // namespace

std::unique_ptr<ChangingNetwork> make_simgrid_network(const std::vector<Bandwidth>& links) {
  const auto make = loaded<MakeSimgridNetwork>(simgrid_network_function);
  is_made = true;
  return std::unique_ptr<ChangingNetwork>(make(links));
}

void load_simgrid() { loaded<MakeSimgridNetwork>(simgrid_network_function); }

bool has_simgrid_network() { return is_made; }

SimgridPlatform read_simgrid_platform(const std::string& file) {
  SimgridPlatform platform;
  loaded<ReadSimgridPlatform>(simgrid_platform_function)(file.c_str(), platform);
  return platform;
}

}  // namespace trainyard::engine
