#pragma once
// A validation of two curves, made by hand, for the tests of its table and its picture.

#include "published/validate.hpp"

#include <string>

namespace trainyard {

/// Two curves of three sizes each, 10 and 40 % off.
struct SampleValidation {
  PublishedRow row;
  MachineRule machine{.when = {}, .platform = "dgx2", .set = {}, .kin = {}, .note = "a <note>"};
  OutlierRule outlier{.when = {}, .reason = "a <reason>", .always_named = true};
  CollectiveValidation validation;

  SampleValidation() {
    row.file = "rows.csv";
    row.metric = "allreduce_time";
    const CollectiveCurve one = curve("8 V100, all_reduce: one & only", "calibrate");
    CollectiveCurve other = curve("16 V100, all_reduce: other", "validate");
    other.outlier = &outlier;
    validation.curves = {scored(one, 0.1), scored(other, 0.4)};
    validation.excluded = {{"another library than NCCL", 3}};
    validation.missed = {{CurveFamily::pcie, 2}};
    validation.scored = 6;
  }

  CollectiveCurve curve(const std::string& name, const std::string& split) {
    CollectiveCurve made;
    made.name = name;
    made.machine = &machine;
    made.nccl = NcclVersion::v2_12;
    made.gpus = 8;
    made.split = split;
    for (const double size : {1024.0, 65536.0, 16777216.0}) {
      CurvePoint point;
      point.row = &row;
      point.sizes = {Bytes{size}};
      point.measured = size / 1e10 + 1e-5;
      made.points.push_back(point);
    }
    return made;
  }

  static ScoredCurve scored(const CollectiveCurve& curve, double error) {
    ScoredCurve made;
    made.curve = curve;
    made.large = error;
    made.small = error;
    for (const CurvePoint& point : curve.points)
      made.points.push_back({point, point.measured * (1 + error), error, "ring", "LL"});
    return made;
  }
};

}  // namespace trainyard
