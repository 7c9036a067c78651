#include "dtype.hpp"

namespace trainyard::cuda {

std::optional<Dtype> parse_dtype(std::string_view text) {
  if (text == "fp32") return Dtype::fp32;
  if (text == "tf32") return Dtype::tf32;
  if (text == "fp16") return Dtype::fp16;
  if (text == "bf16") return Dtype::bf16;
  return std::nullopt;
}

std::string_view name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return "fp32";
    case Dtype::tf32:
      return "tf32";
    case Dtype::fp16:
      return "fp16";
    case Dtype::bf16:
      return "bf16";
  }
  return "?";
}

std::size_t size_of(Dtype dtype) { return dtype == Dtype::fp32 || dtype == Dtype::tf32 ? 4 : 2; }

double tolerance_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return 1e-5;
    case Dtype::tf32:
    case Dtype::fp16:
      return 2e-3;
    case Dtype::bf16:
      return 1.6e-2;
  }
  return 0;
}

double rounding_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
    case Dtype::tf32:
      return 0x1p-24;
    case Dtype::fp16:
      return 0x1p-11;
    case Dtype::bf16:
      return 0x1p-8;
  }
  return 0;
}

int capability_needed(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return 0;
    case Dtype::fp16:
      return 53;
    case Dtype::tf32:
    case Dtype::bf16:
      return 80;
  }
  return 0;
}

}  // namespace trainyard::cuda
