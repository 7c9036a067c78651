#include "engine/flow_network.hpp"

#include "config/diagnostic.hpp"
#include "engine/simgrid_module.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <string>

namespace trainyard::engine {

std::unique_ptr<FlowNetwork> make_flow_network(const std::vector<Bandwidth>& links) {
  // Never closed: SimGrid's engine lives until the process ends. Found by the program's run path.
  static void* const module = ::dlopen(simgrid_module_file, RTLD_LAZY | RTLD_LOCAL);
  static void* const make = module == nullptr ? nullptr : ::dlsym(module, simgrid_module_function);
  if (make == nullptr) {
    const char* const reason = ::dlerror();
    throw FileError(fmt::format(
        "cannot load SimGrid: {} ({} belongs beside the program, or where 'cmake --install' puts it)",
        reason == nullptr ? "no such function" : reason, simgrid_module_file));
  }
  return std::unique_ptr<FlowNetwork>(reinterpret_cast<MakeSimgridNetwork*>(make)(links));
}

}  // namespace trainyard::engine
