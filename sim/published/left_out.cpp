#include "published/left_out.hpp"

namespace trainyard {

std::string property_of(GroupLeftOut left_out, const Circumstances& of, const std::string& publication,
                        const std::string& series) {
  switch (left_out) {
    case GroupLeftOut::series:
      return series;
    case GroupLeftOut::publication:
      return publication;
    case GroupLeftOut::stack:
      return of.use.framework + '/' + of.use.stack;
    case GroupLeftOut::framework:
      return of.use.framework;
    case GroupLeftOut::generation:
      return of.use.generation;
    case GroupLeftOut::gpu:
      return of.use.gpu;
    case GroupLeftOut::kind:
      return std::string(config::name_of(of.kind));
    case GroupLeftOut::model:
      return std::string(without_length(of.use.model));
  }
  return {};
}

}  // namespace trainyard
