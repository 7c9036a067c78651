#pragma once
// The runs without which a published run is predicted: those with which it shares a property. Neither the
// factors of its software nor its interval have seen them.

#include "accuracy/circumstances.hpp"
#include "config/keys.hpp"

#include <array>
#include <string>

namespace trainyard {

enum class GroupLeftOut { series, publication, stack, framework, generation, gpu, kind, model };

/// The property of a run: runs with the same text are left out together. `publication` and `series`: of its
/// row (of a layout its family in place of a series).
std::string property_of(GroupLeftOut left_out, const Circumstances& of, const std::string& publication,
                        const std::string& series);

}  // namespace trainyard

namespace trainyard::config {

template <>
struct Names<GroupLeftOut> {
  static constexpr std::string_view what = "property left out";
  static constexpr std::array table{
      Name{"series", GroupLeftOut::series,
           "of runs that differ in the number of GPUs alone; a layout's family"},
      Name{"publication", GroupLeftOut::publication, "source"},
      Name{"stack", GroupLeftOut::stack, "stack of software"},
      Name{"framework", GroupLeftOut::framework, "framework, with all its stacks"},
      Name{"generation", GroupLeftOut::generation, "generation of the GPU"},
      Name{"gpu", GroupLeftOut::gpu, "GPU"},
      Name{"kind", GroupLeftOut::kind, "kind of model"},
      Name{"model", GroupLeftOut::model, "model, with any length of sequences"}};
};

}  // namespace trainyard::config
