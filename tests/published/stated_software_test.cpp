#include "published/stated_software.hpp"

#include <doctest/doctest.h>

using namespace trainyard;

namespace {

std::optional<NcclVersion> version_of(const std::string& detail) {
  PublishedRow row;
  row.framework = "NCCL";
  row.source_detail = detail;
  return stated_nccl(row);
}

StatedChoice choice_of(const std::string& notes) {
  PublishedRow row;
  row.notes = notes;
  return stated_choice(row);
}

}  // namespace

TEST_CASE("a stated version of NCCL means the tables that it had") {
  CHECK_FALSE(version_of(""));
  CHECK(version_of("nccl-tests, NCCL 2.4.8, ring") == NcclVersion::v2_4);
  CHECK(version_of("NCCL 2.6.4") == NcclVersion::v2_6);
  CHECK(version_of("NCCL 2.5.6") == NcclVersion::v2_6);
  CHECK(version_of("NCCL 2.7.3") == NcclVersion::v2_7_8);
  CHECK(version_of("nccl-2.9.9") == NcclVersion::v2_7_8);
  CHECK(version_of("NCCL v2.10.3") == NcclVersion::v2_12);
  CHECK(version_of("NCCL 2.17.1") == NcclVersion::v2_12);
  CHECK(version_of("NCCL version 2.26 is not said, NCCL 2.26.2 is") == NcclVersion::v2_27);
  CHECK(version_of("NCCL 2.21.5") == NcclVersion::v2_30);  // LL as in 2.30
  CHECK(version_of("NCCL 2.22.3") == NcclVersion::v2_27);
  CHECK(version_of("NCCL 2.28.9") == NcclVersion::v2_28);
  CHECK(version_of("NCCL 2.29.2") == NcclVersion::v2_29);
  CHECK(version_of("nccl 2.29.7, 64 GPUs") == NcclVersion::v2_30);
  CHECK(version_of("NCCL 2.30") == NcclVersion::v2_30);
  PublishedRow row;
  row.framework = "NCCL 2.0 MPI";
  row.source_detail = "NCCL 2.26.2";
  CHECK(stated_nccl(row) == NcclVersion::v2_4);
}

TEST_CASE("a version of NCCL is found however people write it") {
  CHECK(version_of("NCCL version 2.18.5+cuda12") == NcclVersion::v2_30);
  CHECK(version_of("NCCL: 2.18.5") == NcclVersion::v2_30);
  CHECK(version_of("NCCL v2.7.8-1") == NcclVersion::v2_7_8);
  CHECK(version_of("nccl2.10.3") == NcclVersion::v2_12);
  CHECK(version_of("nccl_2.4.8") == NcclVersion::v2_4);
  CHECK(version_of("NCCL_VERSION=2.12.10-1") == NcclVersion::v2_12);
  CHECK(version_of("libnccl2=2.7.8-1+cuda11.0") == NcclVersion::v2_7_8);
  CHECK(version_of("nvidia-nccl-cu11 2.14.3") == NcclVersion::v2_12);
  CHECK(version_of("NCCL library version: 2.4") == NcclVersion::v2_4);
  CHECK(version_of("8 GPUs (NCCL 2.12)") == NcclVersion::v2_12);
}

TEST_CASE("versions of plugins and tests and rates are no versions of NCCL") {
  CHECK_FALSE(version_of("aws-ofi-nccl 1.3.0"));
  CHECK_FALSE(version_of("nccl-tests 2.13.6"));
  CHECK_FALSE(version_of("NCCL: 2.5 GB/s"));
  CHECK_FALSE(version_of("NCCL 2"));
  CHECK_FALSE(version_of("NCCL 10.4 times faster"));
  CHECK(version_of("aws-ofi-nccl 1.3.0, NCCL 2.4.8") == NcclVersion::v2_4);
  CHECK(version_of("NCCL 2.4 used with rings") == NcclVersion::v2_4);
}

TEST_CASE("variables that leave NCCL one algorithm or protocol are heard") {
  CHECK(choice_of("").algorithm == Algorithm::automatic);
  CHECK(choice_of("NCCL_TREE_THRESHOLD=0 (ring)").algorithm == Algorithm::ring);
  CHECK(choice_of("NCCL_TREE_THRESHOLD=04096").algorithm == Algorithm::automatic);
  CHECK(choice_of("NCCL_ALGO=Ring, two nodes").algorithm == Algorithm::ring);
  CHECK(choice_of("nccl_algo: tree").algorithm == Algorithm::tree);
  CHECK(choice_of("NCCL_ALGO=^Tree").algorithm == Algorithm::ring);
  CHECK(choice_of("NCCL_ALGO=Ring,Tree").algorithm == Algorithm::automatic);
  CHECK(choice_of("NCCL_ALGO was not set").algorithm == Algorithm::automatic);
  CHECK(choice_of("NCCL_ALGO=NVLS").not_simulated == "NCCL_ALGO=nvls");
  CHECK(choice_of("NCCL_PROTO=Simple").protocol == Protocol::simple);
  CHECK(choice_of("NCCL_PROTO=^LL,LL128").protocol == Protocol::simple);
  CHECK_FALSE(choice_of("NCCL_PROTO=LL,LL128,Simple").protocol);
  CHECK(choice_of("NCCL_PROTO=^LL128").not_simulated == "NCCL_PROTO=^ll128");
}
