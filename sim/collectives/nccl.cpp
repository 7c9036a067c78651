#include "collectives/nccl.hpp"

namespace trainyard {

RingCosts nccl_ring_costs(NcclVersion version) {
  const Seconds base{8.4e-6};
  const Seconds nvlink{3.4e-6};
  const Seconds pcie{5.7e-6};
  const bool is_2020 = version == NcclVersion::v2_7_8;
  return {.base = base, .nvlink = nvlink, .pcie = pcie, .network = Seconds{is_2020 ? 9.6e-6 : 14.0e-6}};
}

}  // namespace trainyard
