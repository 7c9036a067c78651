#pragma once
// A GPU, or a processor that holds a rank (processor_profile.hpp): its memory, its peak rates and the
// fractions of them that kernels reach (platforms/gpus/*.yaml). op_time turns ops into seconds with it.

#include "compute/kernel_table.hpp"
#include "config/document.hpp"
#include "config/keys.hpp"
#include "units/quantity.hpp"
#include "units/sourced.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// time = max(FLOPs / (efficiency x peak), bytes / (bandwidth_fraction x memory bandwidth)) + t0
struct Roofline {
  double efficiency = 0;
  double bandwidth_fraction = 0;
  Seconds t0;
};

/// The curve of matrix products: a roofline whose two limits overlap in part, and whose kernels take time to
/// start and to end their sums over k. Without the optional figures it is that roofline.
struct GemmCurve {
  double efficiency = 0;
  double bandwidth_fraction = 0;
  Seconds t0;
  /// p of (arithmetic^p + memory^p)^(1/p): 1 if nothing overlaps; default: the longer of the two.
  std::optional<double> overlap = {};
  std::optional<double> fill = {};    ///< a sum over k takes the arithmetic of k + fill; default: 0
  std::optional<Seconds> t_sum = {};  ///< further time of sums over gemm_sum_length values; default: 0
};

/// The k of `t_sum`, which grows as the square root of k: a kernel may divide a long sum over s
/// multiprocessors and add their parts, in a time like k / s + s, which is least at s = sqrt(k).
inline constexpr double gemm_sum_length = 4096;

/// The fit of convolutions: one efficiency per class. Above 1 if the algorithm (Winograd) needs fewer
/// operations than are counted.
struct ConvFit {
  std::optional<double> first_layer;  ///< at most 3 input channels
  double pointwise = 0;               ///< 1x1, stride 1
  double pointwise_strided = 0;       ///< 1x1, larger stride
  double spatial_3x3 = 0;             ///< 3x3, stride 1
  double other = 0;
  double bandwidth_fraction = 0;
  Seconds t0;
};

struct ConvPasses {
  Sourced<ConvFit> forward;
  Sourced<ConvFit> dgrad;
  Sourced<ConvFit> wgrad;
};

/// Rates of matrix work in one data type.
struct MatrixRates {
  Sourced<FlopRate> peak;
  std::optional<Sourced<GemmCurve>> gemm;
  std::optional<Sourced<double>> attention;  ///< efficiency of fused attention; default: see op_time
  /// Length of a sequence at which causal attention takes twice the time that `attention` gives: tiles on the
  /// diagonal are computed whole, and short rows of tiles are uneven. Default: none.
  std::optional<Sourced<double>> attention_tokens;
  std::optional<Sourced<Seconds>> attention_t0;  ///< fixed time of fused attention; default: that of gemm
  /// Further time of fused attention per key of a sequence: a tile of queries takes the keys one after the
  /// other, and the kernel ends with its last tiles. Default: none.
  std::optional<Sourced<Seconds>> attention_key_time;
  std::optional<ConvPasses> conv;
  std::optional<ConvPasses> conv_nhwc;  ///< if the layout matters; otherwise `conv` holds for both
};

struct MatrixUnits {
  MatrixRates fp32;
  std::optional<MatrixRates> tf32;
  std::optional<MatrixRates> fp16;
  std::optional<MatrixRates> bf16;
  std::optional<MatrixRates> fp8;
  std::optional<MatrixRates> mxfp8;  ///< products take as long as in fp8
  std::optional<MatrixRates> nvfp4;
};

/// Longer softmax rows use another kernel: frameworks keep a row of up to 1,024 values in the registers of
/// one warp. Source: PyTorch, aten/src/ATen/native/cuda/SoftMax.cu, host_softmax.
inline constexpr int widest_warp_row = 1024;

/// Fractions of the memory bandwidth reached by ops limited by it, and the fixed time of each op.
struct VectorRates {
  Sourced<double> elementwise;
  Sourced<double> batch_norm;
  Sourced<double> layer_norm;
  Sourced<double> pooling;
  Sourced<double> softmax;
  std::optional<Sourced<double>> softmax_wide;  ///< rows above widest_warp_row; default: softmax
  Sourced<double> embedding;
  Sourced<double> optimizer;
  Sourced<Seconds> t0;
};

struct GpuMemory {
  Sourced<Bytes> capacity;
  std::optional<Sourced<Bytes>>
      usable;  ///< the capacity without the memory of the driver; default: all of it
  Sourced<Bandwidth> bandwidth;
  std::optional<Sourced<Bytes>> context;  ///< used by the CUDA context and its libraries
};

/// Power of the board in each state, as a fraction of its thermal design power.
struct GpuPower {
  Sourced<double> idle;    ///< idle, or waiting for the network
  Sourced<double> vector;  ///< ops limited by memory bandwidth
  Sourced<double> matrix;  ///< matrix products and convolutions
};

/// Power of the memory modules that a processor's TDP does not include, those of one socket.
struct MemoryPower {
  Sourced<Watts> idle;    ///< while the processor waits
  Sourced<Watts> active;  ///< while ops run
};

/// Variation between GPUs of this kind, and between steps on one of them: standard deviations relative to the
/// mean time.
struct GpuVariation {
  std::optional<Sourced<double>> gpu;   ///< of the speeds of GPUs
  std::optional<Sourced<double>> step;  ///< of steps on one GPU
};

/// Error of a fit on kernels left out of it.
struct HeldOutError {
  std::string kernels;         ///< "gemm fp16", "conv_dgrad fp32 nhwc", "softmax"
  int count = 0;               ///< kernels, each left out once
  double mape = 0;             ///< mean of |predicted / measured - 1|
  double median = 0, p90 = 0;  ///< of the same errors
  double curve_mape = 0;       ///< error of the curve alone, without correction by the nearest kernels
};

/// Origin of the figures of a profile, from `calibrate gpu`.
struct Calibration {
  std::vector<std::string> recordings;     ///< in the profile's folder, unless only a part is kept
  std::vector<std::string> measured_with;  ///< by recording: GPU, driver, library versions, date
  std::vector<HeldOutError> held_out;
  std::optional<std::string> scaled_from;  ///< another profile, whose fractions of the peaks fill the rest
  std::vector<HeldOutError> scaling;       ///< errors of the same scaling on GPUs that have kernels
};

struct OpTimeMemo;  // op_time.hpp

struct GpuProfile {
  static constexpr double highest_speed = 100;

  std::string name;
  std::string title;
  std::optional<int> year;  ///< in which the GPU came out
  Sourced<double> compute_capability;
  std::optional<Sourced<int>> sms;  ///< streaming multiprocessors; of a processor: its cores
  std::optional<std::string> like;  ///< profile that missing figures are scaled from (short_profile.hpp)
  std::optional<double> speed;      ///< what-if (gpu_speed.hpp); empty once the rates below include it
  std::optional<Sourced<double>> kernel_share;  ///< `kept` of GpuUse (gpu_use.hpp)
  GpuMemory memory;
  Sourced<Watts> tdp;
  std::optional<GpuPower> power;
  std::optional<MemoryPower> memory_power;  ///< of a processor's modules
  std::optional<Sourced<double>> reading;   ///< part of the TDP while a processor reads and parses files
  std::optional<GpuVariation> variation;
  std::optional<Sourced<Seconds>> image_decoder;  ///< time per image of a hardware decoder
  MatrixUnits matrix;
  VectorRates vector;
  Sourced<Roofline> roofline;          ///< for matrix work without a fit
  std::optional<std::string> kernels;  ///< recording in the profile's folder: times by shape
  std::optional<std::string>
      vector_kernels;  ///< another, whose vector ops stand in place of those of `kernels`
  /// Profile in place of this one for stacks of other frameworks than PyTorch, whose ops were recorded.
  std::optional<std::string> outside_pytorch;
  std::optional<Calibration> calibration;
  std::vector<std::string> source;

  KernelTable kernel_table;                ///< contents of those files; not a key
  bool is_processor = false;               ///< processor_profile.hpp; not a key
  std::optional<Sourced<Bandwidth>> sums;  ///< of a processor; not a key
  double has_speed = 1;                    ///< the speed included in the rates; not a key
  std::string like_file;                   ///< of a short profile: the file of `like`; not a key
  /// Times of ops that were computed with this profile (keep_op_times); null: none are kept. Not a key.
  std::shared_ptr<OpTimeMemo> known_times = {};
};

/// Reads and checks a profile and its kernel table. Throws InputError with every problem found, FileError if
/// the table cannot be read. Warnings are appended to `warnings`.
GpuProfile load_gpu_profile(const config::Document& document, std::vector<Diagnostic>* warnings = nullptr);

/// The profile without the kernel table, which takes most of the reading time. Throws InputError.
GpuProfile load_gpu_facts(const config::Document& document, std::vector<Diagnostic>* warnings = nullptr);

/// As CUDA writes it without the point: 75 for 7.5.
int compute_capability(const GpuProfile& gpu);

/// "volta" and so on, by compute capability; empty if it is 0. Source: CUDA C++ Programming Guide, compute
/// capabilities.
std::string_view generation(const GpuProfile& gpu);

namespace config {

inline constexpr double largest_flop_rate = 1e17;  // 100 PFLOP/s; no GPU is near it
inline constexpr double largest_efficiency = 4;    // Winograd F(4x4, 3x3) saves a factor of 4
inline constexpr double longest_t0 = 1e-2;
inline constexpr double longest_key_time = 1e-6;

template <>
struct Keys<Roofline> {
  static auto table() {
    return keys(
        required("efficiency", &Roofline::efficiency, "fraction of the peak rate reached").positive(1),
        required("bandwidth_fraction", &Roofline::bandwidth_fraction,
                 "fraction of the memory bandwidth reached")
            .positive(1),
        required("t0", &Roofline::t0, "fixed time of each kernel").between(0, longest_t0));
  }
};

template <>
struct Keys<GemmCurve> {
  static auto table() {
    constexpr double no_overlap = 1;
    constexpr double full_overlap = 100;
    constexpr double longest_fill = 1e4;
    return keys(
        required("efficiency", &GemmCurve::efficiency, "fraction of the peak rate reached").positive(1),
        required("bandwidth_fraction", &GemmCurve::bandwidth_fraction,
                 "fraction of the memory bandwidth reached")
            .positive(1),
        required("t0", &GemmCurve::t0, "fixed time of each kernel").between(0, longest_t0),
        optional("overlap", &GemmCurve::overlap,
                 "p of (arithmetic^p + memory^p)^(1/p), their time together; 1: one after the other; "
                 "default: the longer of the two")
            .between(no_overlap, full_overlap),
        optional("fill", &GemmCurve::fill,
                 "a product m x n x k takes the arithmetic of k + fill: its kernel starts and ends a "
                 "pipeline for each tile. Default: 0")
            .between(0, longest_fill),
        optional("t_sum", &GemmCurve::t_sum,
                 "further time of a product with k = 4,096, which grows as the square root of k. Default: 0")
            .between(0, longest_t0));
  }
};

template <>
struct Keys<ConvFit> {
  static auto table() {
    const auto efficiency = [](auto key) { return key.positive(largest_efficiency); };
    return keys(
        efficiency(
            optional("first_layer", &ConvFit::first_layer, "fraction of the peak, at most 3 input channels")),
        efficiency(required("pointwise", &ConvFit::pointwise, "fraction of the peak, 1x1 with stride 1")),
        efficiency(required("pointwise_strided", &ConvFit::pointwise_strided,
                            "fraction of the peak, 1x1 with a larger stride")),
        efficiency(required("spatial_3x3", &ConvFit::spatial_3x3, "fraction of the peak, 3x3 with stride 1")),
        efficiency(required("other", &ConvFit::other, "fraction of the peak, all other windows")),
        required("bandwidth_fraction", &ConvFit::bandwidth_fraction,
                 "fraction of the memory bandwidth reached")
            .positive(1),
        required("t0", &ConvFit::t0, "fixed time of each kernel").between(0, longest_t0));
  }
};

template <>
struct Keys<ConvPasses> {
  static auto table() {
    return keys(required("forward", &ConvPasses::forward, "forward pass"),
                required("dgrad", &ConvPasses::dgrad, "gradient of the input"),
                required("wgrad", &ConvPasses::wgrad, "gradient of the weights"));
  }
};

template <>
struct Keys<MatrixRates> {
  static auto table() {
    return keys(
        required("peak", &MatrixRates::peak, "peak rate, multiplications and additions counted separately")
            .between(1e9, largest_flop_rate),
        optional("gemm", &MatrixRates::gemm, "curve for matrix products"),
        optional(
            "attention", &MatrixRates::attention,
            "part of the peak that fused attention reaches, forward and backward; default: 0.6 of gemm's "
            "efficiency")
            .between(0.01, 1),
        optional(
            "attention_tokens", &MatrixRates::attention_tokens,
            "tokens of a sequence for which causal attention takes twice as long as that; with n tokens 1 "
            "+ attention_tokens / n times as long. Default: 0")
            .between(0, 1e5),
        optional("attention_t0", &MatrixRates::attention_t0,
                 "fixed time of each kernel of fused attention; default: t0 of gemm")
            .between(0, longest_t0),
        optional("attention_key_time", &MatrixRates::attention_key_time,
                 "further time of fused attention per key of a sequence, whose keys a tile of queries takes "
                 "one after the other. Default: 0")
            .between(0, longest_key_time),
        optional("conv", &MatrixRates::conv, "curves for convolutions"),
        optional("conv_nhwc", &MatrixRates::conv_nhwc,
                 "the same for activations in layout nhwc; default: as conv"));
  }
};

template <>
struct Keys<MatrixUnits> {
  static auto table() {
    return keys(
        optional(
            "fp32", &MatrixUnits::fp32,
            "fp32 without tensor cores; also the rate of vector work; default for GPUs: scaled, see like"),
        optional("tf32", &MatrixUnits::tf32, "TF32 tensor cores; without this key tf32 runs as fp32"),
        optional("fp16", &MatrixUnits::fp16, "fp16 with fp32 accumulation, for fp16 and amp"),
        optional("bf16", &MatrixUnits::bf16,
                 "bfloat16 with fp32 accumulation, for bf16, amp_bf16 and pure_bf16"),
        optional("fp8", &MatrixUnits::fp8, "products of 8-bit operands, for fp8, which also needs bf16"),
        optional(
            "mxfp8", &MatrixUnits::mxfp8,
            "peak of such products with a scale for each 32 operands, for mxfp8; they take as long as in "
            "fp8, which it needs"),
        optional("nvfp4", &MatrixUnits::nvfp4,
                 "products of 4-bit operands with a scale for each 16, for nvfp4, which also needs bf16"));
  }
};

template <>
struct Keys<VectorRates> {
  static auto table() {
    const auto fraction = [](auto key) { return key.positive(1); };
    return keys(
        fraction(
            optional("elementwise", &VectorRates::elementwise, "fraction of the bandwidth, elementwise ops")),
        fraction(optional("batch_norm", &VectorRates::batch_norm,
                          "fraction of the bandwidth, batch normalisation (3 passes forward, 5 backward)")),
        fraction(optional("layer_norm", &VectorRates::layer_norm,
                          "fraction of the bandwidth, layer normalisation (2 passes forward, 3 backward)")),
        fraction(optional("pooling", &VectorRates::pooling, "fraction of the bandwidth, pooling")),
        fraction(optional("softmax", &VectorRates::softmax, "fraction of the bandwidth, softmax")),
        fraction(optional("softmax_wide", &VectorRates::softmax_wide,
                          "the same over rows of more than 1,024 values; default: as softmax")),
        fraction(
            optional("embedding", &VectorRates::embedding, "fraction of the bandwidth, embedding look-ups")),
        fraction(
            optional("optimizer", &VectorRates::optimizer, "fraction of the bandwidth, parameter updates")),
        optional("t0", &VectorRates::t0, "fixed time of each of these ops").between(0, longest_t0));
  }
};

template <>
struct Keys<GpuMemory> {
  static auto table() {
    return keys(required("capacity", &GpuMemory::capacity, "device memory").positive(1e14),
                optional("usable", &GpuMemory::usable,
                         "the part of the capacity that the driver leaves to processes: the total that "
                         "nvidia-smi shows")
                    .positive(1e14),
                optional("bandwidth", &GpuMemory::bandwidth,
                         "peak bandwidth, reads and writes together; default: scaled, see like")
                    .between(1e8, 1e14),
                optional("context", &GpuMemory::context, "memory used by the CUDA context and its libraries")
                    .between(0, 1e11));
  }
};

template <>
struct Keys<GpuPower> {
  static auto table() {
    const auto fraction = [](auto key) { return key.positive(1.5); };
    return keys(fraction(required("idle", &GpuPower::idle, "fraction of the TDP while nothing runs")),
                fraction(required("vector", &GpuPower::vector,
                                  "fraction of the TDP in ops limited by memory bandwidth")),
                fraction(required("matrix", &GpuPower::matrix,
                                  "fraction of the TDP in matrix products and convolutions")));
  }
};

template <>
struct Keys<GpuVariation> {
  static auto table() {
    const auto deviation = [](auto key) { return key.positive(0.3); };
    return keys(
        deviation(optional("gpu", &GpuVariation::gpu,
                           "standard deviation between GPUs, relative to the mean time")),
        deviation(optional("step", &GpuVariation::step,
                           "standard deviation between steps on one GPU, relative to the mean time")));
  }
};

template <>
struct Keys<HeldOutError> {
  static auto table() {
    constexpr double most_error = 1e3;
    const auto error = [](auto key) { return key.between(0, most_error); };
    return keys(required("kernels", &HeldOutError::kernels, "kind of kernels"),
                required("count", &HeldOutError::count, "number of kernels, each held out once").at_least(1),
                error(required("mape", &HeldOutError::mape, "mean absolute relative error, as a ratio")),
                error(required("median", &HeldOutError::median, "median of the same errors")),
                error(required("p90", &HeldOutError::p90, "90th percentile of the same errors")),
                error(required("curve_mape", &HeldOutError::curve_mape,
                               "mean error of the curve alone, without correction by the nearest kernels")));
  }
};

template <>
struct Keys<Calibration> {
  static auto table() {
    return keys(optional("recordings", &Calibration::recordings,
                         "recordings (CSV) in the profile's folder that were fitted"),
                optional("measured_with", &Calibration::measured_with,
                         "GPU, driver, libraries and date of each recording"),
                optional("held_out", &Calibration::held_out, "errors on kernels that the fit has not seen"),
                optional("scaled_from", &Calibration::scaled_from,
                         "profile from which rates without a fit take their fractions of the peaks"),
                optional("scaling", &Calibration::scaling,
                         "errors of the same scaling on GPUs that have measured kernels"));
  }
};

template <>
struct Keys<GpuProfile> {
  static auto table() {
    return keys(
        required("name", &GpuProfile::name, "the file's name without .yaml"),
        optional("title", &GpuProfile::title, "name for people"),
        optional("year", &GpuProfile::year, "year in which the GPU came out; only listed")
            .between(1990, 2100),
        optional("compute_capability", &GpuProfile::compute_capability,
                 "CUDA compute capability, for example 7.0; 0 if there is none: collectives then choose by "
                 "NCCL's tables as on a Hopper, and a note says so")
            .between(0, 100),
        optional("sms", &GpuProfile::sms,
                 "number of streaming multiprocessors, of which each ring of a collective occupies two; "
                 "without this key, communication takes none from kernels")
            .between(1, 10'000),
        optional("kernel_share", &GpuProfile::kernel_share,
                 "fraction of the multiprocessors and of the memory bandwidth that a kernel always keeps "
                 "while communication runs; default: 0.5")
            .positive(1),
        optional("like", &GpuProfile::like,
                 "profile that figures missing here are scaled from, as assumed; default if any is missing: "
                 "a100_sxm4_80gb"),
        optional("speed", &GpuProfile::speed,
                 "for what-ifs: factor on the speed of every kernel: peak rates, memory bandwidth, fixed and "
                 "measured times; not on memory capacity, power and image decoder; default: 1")
            .between(0.01, GpuProfile::highest_speed),
        required("memory", &GpuProfile::memory, "device memory"),
        optional("tdp", &GpuProfile::tdp, "thermal design power; 0 if it is not known").between(0, 1e5),
        optional("power", &GpuProfile::power,
                 "power in each state; without this key, energy is not modelled"),
        optional("variation", &GpuProfile::variation,
                 "differences between GPUs of this kind, for the key random.gpus of experiments"),
        optional("image_decoder", &GpuProfile::image_decoder,
                 "time per JPEG image of the hardware decoder, which runs in parallel with kernels; for "
                 "experiments that decode on the GPU")
            .positive(1),
        required("matrix", &GpuProfile::matrix,
                 "matrix products and convolutions by data type; one peak is enough"),
        optional("vector", &GpuProfile::vector, "ops limited by memory bandwidth; default: scaled, see like"),
        optional("roofline", &GpuProfile::roofline,
                 "curve for all work without a measured kernel or a fit; default: scaled, see like"),
        optional("kernels", &GpuProfile::kernels, "CSV of measured kernels in the same folder"),
        optional("vector_kernels", &GpuProfile::vector_kernels,
                 "another CSV, whose vector ops replace those of 'kernels'"),
        optional("outside_pytorch", &GpuProfile::outside_pytorch,
                 "profile in place of this one for stacks of other frameworks than PyTorch"),
        optional("calibration", &GpuProfile::calibration, "how `trainyard calibrate gpu` made this profile"),
        optional("source", &GpuProfile::source, "sources of the figures"));
  }
};

}  // namespace config
}  // namespace trainyard
