#pragma once
// The source of an op's duration that a stack states.

#include "units/sourced.hpp"
#include "workload/trace.hpp"

namespace trainyard {

constexpr ComputeSource source_of(Provenance provenance) {
  if (provenance == Provenance::measured) return ComputeSource::measured;
  return provenance == Provenance::fitted ? ComputeSource::fitted : ComputeSource::roofline;
}

}  // namespace trainyard
