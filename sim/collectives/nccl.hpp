#pragma once
// The versions of NCCL whose choices are known (nccl_tuning.hpp). Their estimates of a step's cost differ by
// a factor of three, so each stack names its version.

#include "config/keys.hpp"

#include <array>
#include <string_view>

namespace trainyard {

enum class NcclVersion { none, v2_4, v2_6, v2_7_8, v2_12, v2_27, v2_28, v2_29, v2_30 };

namespace config {

template <>
struct Names<NcclVersion> {
  static constexpr std::string_view what = "NCCL version";
  static constexpr std::array table{
      Name{"none", NcclVersion::none, "no software costs: only latency and bandwidth of the links"},
      Name{"2.4", NcclVersion::v2_4, "2019"},
      Name{"2.6", NcclVersion::v2_6, "2.5 and 2.6, end of 2019 to 2020"},
      Name{"2.7.8", NcclVersion::v2_7_8, "2020; most published V100 runs"},
      Name{"2.12", NcclVersion::v2_12, "2022"},
      Name{"2.27", NcclVersion::v2_27,
           "2.22 to 2.27, 2024 and 2025: single messages are LL up to larger sizes than in 2.29"},
      Name{"2.28", NcclVersion::v2_28, "end of 2025: as 2.27 with lower limits of trees on Blackwell GPUs"},
      Name{"2.29", NcclVersion::v2_29,
           "2.29.2 and 2.29.3, early 2026: lower limits of LL128 on Blackwell GPUs"},
      Name{"2.30", NcclVersion::v2_30,
           "2.29.7 and later, 2026; stands for 2.18 to 2.21 too, whose messages are alike"}};
};

}  // namespace config
}  // namespace trainyard
