// Shipped profiles of the A100, Hopper, Ada and Blackwell against published times of single kernels: of the
// products with all sides of 512 and more, and of the causal forward attention of 1,024 tokens and more with
// 128 values a head, the middle of each eighth in order of their time. A100: products by TensorRT-LLM 1.0,
// attention by vLLM 0.14; H100: TensorRT-LLM 1.3; others: vLLM 0.24, but 8 bits on an H200 TensorRT-LLM 1.3.
// Source: ai-dynamo/aiconfigurator 095f58a, systems/data (Apache-2.0, NVIDIA).

#include "compute/op_time.hpp"
#include "compute/work.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <span>
#include <string>

using namespace trainyard;

namespace {

struct TimedProduct {
  int m, n, k;
  double microseconds;
};

/// The cast of a call's input of m x k values to 8 bits, fitted with the profile's figures (their source).
struct Cast {
  double microseconds;
  double terabytes_per_s;  ///< for 3 bytes a value
  double ns_per_row, ns_per_column;
};

struct TimedAttention {
  int batch, tokens, heads, kv_heads;
  double microseconds;
};

constexpr TimedProduct h100_bf16[] = {{3840, 768, 1024, 11.605},   {2048, 768, 5120, 27.78},
                                      {2561, 1024, 7168, 50.989},  {513, 7168, 8192, 90.208},
                                      {2048, 51200, 512, 175.05},  {2560, 10240, 5120, 342.01},
                                      {4352, 4096, 16384, 758.09}, {1025, 10240, 65536, 2846.7}};
constexpr TimedProduct h100_fp8[] = {{3329, 1536, 512, 20.783},   {512, 2560, 8192, 34.558},
                                     {4096, 1024, 3072, 60.182},  {3328, 8192, 1536, 91.882},
                                     {4097, 3072, 5120, 152.98},  {3584, 1536, 16384, 272.18},
                                     {1025, 65536, 6144, 607.21}, {16384, 10240, 7168, 1883.9}};
constexpr TimedProduct a100_bf16[] = {{2048, 512, 1536, 24.03},   {4096, 1536, 1024, 61.542},
                                      {512, 4096, 6144, 121.86},  {8192, 768, 4096, 206.85},
                                      {2048, 8192, 2560, 332.39}, {512, 10240, 16384, 613.99},
                                      {8192, 7168, 3072, 1368.8}, {8192, 12288, 6144, 4816.1}};
constexpr TimedAttention a100_attention[] = {{4, 2048, 8, 8, 345.14},    {4, 1536, 48, 4, 835.49},
                                             {2, 6144, 12, 12, 1547.3},  {2, 6144, 24, 8, 2808.8},
                                             {32, 1536, 32, 32, 4930.9}, {1, 10240, 64, 1, 9567.5},
                                             {64, 2048, 40, 1, 17872},   {4, 12288, 48, 1, 41314}};
constexpr TimedProduct h200_bf16[] = {{2049, 2560, 512, 11.096},   {1536, 768, 8192, 28.188},
                                      {4353, 3072, 1536, 56.5},    {4353, 2560, 3584, 100.95},
                                      {8192, 1536, 6144, 197.05},  {1792, 5120, 16384, 404.57},
                                      {2816, 65536, 2048, 1057.3}, {2048, 65536, 12288, 4285.8}};
constexpr TimedProduct h200_fp8[] = {{513, 4096, 2048, 20.502},   {768, 2560, 6144, 36.747},
                                     {3841, 2048, 2560, 61.598},  {2304, 512, 12288, 96.361},
                                     {3840, 768, 12288, 164.19},  {2049, 5120, 16384, 305.81},
                                     {32768, 3584, 3072, 720.45}, {2561, 65536, 10240, 2427.2}};
constexpr TimedAttention h200_attention[] = {{8, 1024, 5, 1, 52.245},   {2, 1024, 64, 1, 106.37},
                                             {8, 1024, 48, 2, 294.89},  {4, 8192, 4, 4, 611.07},
                                             {1, 8192, 40, 8, 1173.4},  {1, 10240, 48, 8, 2089.9},
                                             {16, 4096, 32, 2, 3808.7}, {8, 10240, 24, 1, 9014.2}};
constexpr TimedProduct b200_bf16[] = {{1536, 1024, 2048, 6.9867},  {3328, 512, 6144, 15.343},
                                      {769, 3584, 8192, 30.927},   {513, 12288, 6144, 58.852},
                                      {2049, 3584, 12288, 109.8},  {3584, 16384, 2560, 196.74},
                                      {3073, 2048, 51200, 432.94}, {2304, 65536, 10240, 1978.2}};
constexpr TimedProduct b200_fp8[] = {{1537, 2560, 512, 19.277},   {2304, 512, 4096, 32.626},
                                     {1281, 16384, 2048, 46.643}, {2304, 4096, 5120, 68.121},
                                     {1537, 65536, 768, 104.57},  {16384, 768, 2560, 185.49},
                                     {3841, 65536, 1536, 372.78}, {3328, 51200, 10240, 1031}};
constexpr TimedAttention b200_attention[] = {{1, 1024, 64, 4, 41.872},  {1, 1536, 96, 8, 103.59},
                                             {8, 1536, 40, 1, 241.85},  {1, 16384, 6, 1, 411.48},
                                             {32, 1536, 32, 4, 877.28}, {64, 1536, 32, 2, 1436.6},
                                             {2, 16384, 24, 1, 2557.3}, {4, 8192, 96, 8, 5666.1}};
constexpr TimedProduct b300_bf16[] = {{4096, 512, 1536, 6.3138},   {4097, 1024, 2560, 14.141},
                                      {32768, 768, 768, 27.025},   {1281, 2048, 16384, 51.214},
                                      {4352, 8192, 2048, 89.101},  {2817, 7168, 7168, 167.35},
                                      {3840, 12288, 7168, 376.81}, {2304, 10240, 51200, 1316.5}};
constexpr TimedProduct b300_fp8[] = {{512, 3072, 5120, 18.97},    {1793, 2048, 3584, 31.735},
                                     {3841, 1024, 2560, 46.978},  {3329, 4096, 3584, 68.505},
                                     {1793, 10240, 6144, 102.37}, {4096, 768, 16384, 170.42},
                                     {1281, 5120, 51200, 365.88}, {2817, 65536, 10240, 1144.1}};
constexpr TimedAttention b300_attention[] = {
    {1, 2048, 10, 2, 31.733},  {16, 1536, 5, 1, 74.864}, {8, 1536, 20, 4, 140.31},  {8, 2048, 40, 2, 318.2},
    {2, 10240, 12, 2, 481.62}, {4, 16384, 4, 4, 912.29}, {32, 4096, 12, 4, 1525.6}, {8, 8192, 40, 8, 3803.3}};
constexpr TimedProduct gb200_bf16[] = {{512, 2560, 2560, 7.6578},    {4352, 3584, 512, 16.004},
                                       {1025, 16384, 1024, 30.179},  {4353, 12288, 768, 50.736},
                                       {1536, 6144, 8192, 85.947},   {3329, 4096, 10240, 161.43},
                                       {2049, 12288, 10240, 403.56}, {2049, 65536, 10240, 2652.8}};
constexpr TimedProduct gb200_fp8[] = {{1024, 10240, 512, 19.193},  {768, 5120, 6144, 32.225},
                                      {3329, 1024, 4096, 46.29},   {2304, 1024, 10240, 65.826},
                                      {3841, 512, 10240, 96.836},  {2305, 10240, 8192, 158.7},
                                      {512, 12288, 65536, 337.87}, {2304, 51200, 16384, 1068.6}};
constexpr TimedAttention gb200_attention[] = {{1, 1024, 64, 2, 38.651},  {2, 4096, 8, 1, 99.701},
                                              {4, 2048, 24, 24, 184.96}, {32, 1024, 24, 2, 321.49},
                                              {32, 1536, 24, 1, 541.79}, {2, 16384, 8, 8, 976.55},
                                              {2, 10240, 40, 8, 2214.9}, {16, 6144, 48, 1, 6605.4}};
constexpr TimedProduct gb300_bf16[] = {{769, 6144, 512, 6.2684},    {2048, 1024, 4096, 12.602},
                                       {3584, 1536, 3584, 23.524},  {1280, 3584, 8192, 41.136},
                                       {1793, 6144, 6144, 74.786},  {8192, 1536, 10240, 144.27},
                                       {32768, 12288, 768, 328.63}, {1280, 16384, 65536, 1321.2}};
constexpr TimedProduct gb300_fp8[] = {{1025, 8192, 512, 18.674},   {768, 5120, 6144, 31.404},
                                      {2305, 10240, 1536, 43.481}, {3840, 2560, 3584, 62.123},
                                      {2816, 12288, 3584, 96.638}, {16384, 512, 3072, 169.87},
                                      {1793, 3072, 51200, 342.19}, {3840, 65536, 8192, 1035.3}};
constexpr TimedAttention gb300_attention[] = {{2, 1536, 8, 2, 29.125},    {4, 1024, 20, 4, 45.92},
                                              {4, 3072, 8, 2, 87.099},    {16, 1536, 16, 8, 221.7},
                                              {2, 8192, 16, 2, 380.49},   {2, 16384, 8, 2, 703.06},
                                              {1, 16384, 32, 32, 1376.6}, {32, 4096, 32, 8, 3064.6}};
constexpr TimedProduct l40s_bf16[] = {{768, 10240, 512, 40.448},   {2305, 1024, 4096, 108.23},
                                      {2049, 16384, 512, 224.09},  {2305, 12288, 1536, 412.61},
                                      {16384, 4096, 1024, 796.33}, {1025, 12288, 12288, 1545.8},
                                      {3841, 7168, 16384, 3623.7}, {4096, 6144, 65536, 14444}};
constexpr TimedProduct l40s_fp8[] = {{2049, 768, 3072, 51.2},      {3073, 1536, 2560, 119.72},
                                     {3329, 3584, 2560, 225.79},   {3584, 2560, 6144, 372.28},
                                     {2816, 8192, 3072, 608.48},   {512, 5120, 65536, 1079.5},
                                     {3585, 12288, 10240, 2383.9}, {3585, 65536, 7168, 8749.1}};
constexpr TimedAttention l40s_attention[] = {
    {4, 1024, 16, 16, 156.5},  {2, 6144, 6, 1, 627.03},   {1, 4096, 40, 40, 1189}, {2, 10240, 8, 2, 2125.3},
    {64, 1024, 32, 1, 3692.7}, {2, 6144, 64, 64, 7449.1}, {8, 6144, 32, 1, 14851}, {16, 6144, 40, 2, 36253}};
constexpr TimedProduct rtx_pro_6000_bf16[] = {{768, 7168, 768, 26.224},    {3585, 5120, 512, 70.78},
                                              {1281, 1536, 10240, 130.28}, {2560, 4096, 4096, 229.4},
                                              {2817, 8192, 3584, 412.29},  {512, 4096, 65536, 737.34},
                                              {769, 65536, 6144, 1686.5},  {1537, 16384, 51200, 6556.1}};
constexpr TimedProduct rtx_pro_6000_fp8[] = {{2304, 512, 2048, 26.73},    {2561, 7168, 768, 59.467},
                                             {3329, 2048, 3584, 102.5},   {1537, 10240, 3584, 175.25},
                                             {4096, 6144, 4096, 300.62},  {1536, 65536, 2048, 546.14},
                                             {3073, 16384, 8192, 1076.6}, {1536, 16384, 51200, 3425}};
constexpr TimedAttention rtx_pro_6000_attention[] = {
    {1, 1024, 32, 8, 59.419}, {8, 3072, 1, 1, 129.59}, {32, 1536, 3, 1, 285.62}, {1, 8192, 12, 2, 788.95},
    {32, 1536, 16, 4, 1534},  {8, 3072, 40, 2, 2828},  {8, 16384, 3, 1, 5588.7}, {8, 12288, 12, 4, 12694}};

/// Empty: the GPU has no such units, or the profile's rates are those of other kernels.
struct PublishedGpu {
  std::string name;
  std::span<const TimedProduct> bf16, fp8;
  Cast cast;
  std::span<const TimedAttention> attention;
  double most_bf16 = 0.12, most_attention = 0.12;  ///< largest mean error
};

/// On GB200, kernels of 0.5 ms and more ran at 0.6 of the rate of shorter ones, which no curve by shape
/// follows.
const PublishedGpu published_gpus[] = {
    {"a100_sxm4_80gb", a100_bf16, {}, {}, a100_attention},
    {"h100_sxm_80gb", h100_bf16, h100_fp8, {9.264, 1.409, 0.002069, 0}, {}},
    {"h200_sxm_141gb", h200_bf16, h200_fp8, {9.222, 1.573, 0, 0}, h200_attention},
    {"b200_sxm_180gb", b200_bf16, b200_fp8, {2.922, 1.862, 4.845, 0.3301}, b200_attention},
    {"b300_sxm_270gb", b300_bf16, b300_fp8, {2.865, 2.014, 5.266, 0.2575}, b300_attention},
    {"gb200_186gb", gb200_bf16, gb200_fp8, {3.141, 2.109, 5.381, 0.316}, gb200_attention, 0.17, 0.15},
    {"gb300_279gb", gb300_bf16, gb300_fp8, {3.03, 2.174, 5.112, 0.2728}, gb300_attention},
    {"l40s_48gb", l40s_bf16, l40s_fp8, {3.03, 1.132, 4.107, 2.085}, l40s_attention},
    {"rtx_pro_6000_server_96gb",
     rtx_pro_6000_bf16,
     rtx_pro_6000_fp8,
     {2.391, 1.512, 2.61, 1.22},
     rtx_pro_6000_attention}};

GpuProfile profile_of(const std::string& name) {
  return load_gpu_profile(config::load(TRAINYARD_SOURCE_DIR "/platforms/gpus/" + name + ".yaml"));
}

double microseconds_of(const GpuProfile& gpu, Precision precision, const TimedProduct& product) {
  const GemmShape shape{1, product.m, product.n, product.k, false, true};
  const Work work = work_of(shape, dtype_of(precision));
  Op op;
  op.kind = OpKind::gemm;
  op.shape = shape;
  op.flops = work.flops;
  op.bytes = work.bytes;
  op.in_8_bits = precision == Precision::fp8;
  return op_time(gpu, precision, op).duration.si() * 1e6;
}

double microseconds_of(const Cast& cast, const TimedProduct& product) {
  constexpr double bytes_per_value = 3;
  const double values = static_cast<double>(product.m) * product.k;
  return cast.microseconds + bytes_per_value * values / cast.terabytes_per_s * 1e-6 +
         1e-3 * (cast.ns_per_row * product.m + cast.ns_per_column * product.k);
}

/// Of the forward pass alone: the profile's rate holds for a step, in which backward is slower.
double microseconds_of(const GpuProfile& gpu, const TimedAttention& one) {
  constexpr int head = 128;
  constexpr double forward_over_step = 1 / 0.9;
  GpuProfile forward = gpu;
  forward.matrix.bf16->attention->value *= forward_over_step;
  Op op;
  op.kind = OpKind::attention;
  op.shape = GemmShape{one.batch * one.heads, one.tokens, one.tokens, head, false, true};
  op.flops = Flops(2.0 * one.batch * one.heads * one.tokens * one.tokens * head);
  op.bytes = Bytes(4.0 * one.batch * one.tokens * head * (one.heads + one.kv_heads));
  return op_time(forward, Precision::bf16, op).duration.si() * 1e6;
}

/// Mean of |predicted / measured - 1|; 0 of none.
template <class Kernel, class Predict>
double mean_error(std::span<const Kernel> kernels, const Predict& predict) {
  if (kernels.empty()) return 0;
  double sum = 0;
  for (const Kernel& kernel : kernels) sum += std::abs(predict(kernel) / kernel.microseconds - 1);
  return sum / static_cast<double>(kernels.size());
}

}  // namespace

TEST_CASE(
    "products of each GPU with published kernels take their times within 12 % on average, on GB200 17 %") {
  for (const PublishedGpu& published : published_gpus) {
    CAPTURE(published.name);
    const GpuProfile gpu = profile_of(published.name);
    const auto predict = [&](const TimedProduct& product) {
      return microseconds_of(gpu, Precision::bf16, product);
    };
    CHECK(mean_error(published.bf16, predict) < published.most_bf16);
  }
}

TEST_CASE("linear layers of each of these GPUs in 8 bits take their times within 15 % on average") {
  for (const PublishedGpu& published : published_gpus) {
    CAPTURE(published.name);
    const GpuProfile gpu = profile_of(published.name);
    const auto predict = [&](const TimedProduct& product) {
      return microseconds_of(gpu, Precision::fp8, product) + microseconds_of(published.cast, product);
    };
    CHECK(mean_error(published.fp8, predict) < 0.15);
  }
}

TEST_CASE("fused attention of each of these GPUs takes its times within 12 % on average, on GB200 15 %") {
  for (const PublishedGpu& published : published_gpus) {
    CAPTURE(published.name);
    const GpuProfile gpu = profile_of(published.name);
    const auto predict = [&](const TimedAttention& one) { return microseconds_of(gpu, one); };
    CHECK(mean_error(published.attention, predict) < published.most_attention);
  }
}
