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

/// The function that makes a network, from the module. Never closed: SimGrid's engine lives until the process
/// ends. Found by the program's run path; its name has the version, so that another version's is not taken.
MakeSimgridNetwork* loaded() {
  static const std::string file = fmt::format("libtrainyard_simgrid-{}.so", version());
  static void* const module = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  static void* const make = module == nullptr ? nullptr : ::dlsym(module, simgrid_module_function);
  static const std::string reason = make == nullptr ? ::dlerror() : "";
  if (make == nullptr) {
    throw FileError(fmt::format(
        "cannot load SimGrid: {} (put {} into the folder of the program, or run 'cmake --install')", reason,
        file));
  }
  return reinterpret_cast<MakeSimgridNetwork*>(make);
}

}  // namespace

std::unique_ptr<ChangingNetwork> make_simgrid_network(const std::vector<Bandwidth>& links) {
  MakeSimgridNetwork* const make = loaded();
  is_made = true;
  return std::unique_ptr<ChangingNetwork>(make(links));
}

void load_simgrid() { loaded(); }

bool has_simgrid_network() { return is_made; }

}  // namespace trainyard::engine
