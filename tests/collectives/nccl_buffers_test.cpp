#include "collectives/nccl_buffers.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

constexpr double mebibyte = 1024.0 * 1024;

}  // namespace

TEST_CASE("a receiver of NCCL has 9.19 MiB of buffers in units of 2 MiB, a sender one unit") {
  CHECK(nccl_buffers(NcclVersion::v2_7_8, 1) == Bytes(2 * (10 + 2) * mebibyte));
  CHECK(nccl_buffers(NcclVersion::v2_7_8, 12) == Bytes(288 * mebibyte));  // a DGX-1V
  CHECK(nccl_buffers(NcclVersion::v2_6, 12) == nccl_buffers(NcclVersion::v2_12, 12));
}

TEST_CASE("NCCL 2.4 has no buffers for LL128") {
  CHECK(nccl_buffers(NcclVersion::v2_4, 1) == Bytes(2 * 6 * mebibyte));
}

TEST_CASE("without NCCL or without channels there are no buffers") {
  CHECK(nccl_buffers(NcclVersion::none, 12) == Bytes());
  CHECK(nccl_buffers(NcclVersion::v2_7_8, 0) == Bytes());
}
