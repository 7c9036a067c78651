#include "lowering/lowering_rules.hpp"

#include "config/read.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace trainyard {
namespace {

class Checker {
public:
  Checker(const Lowering& rules, config::Problems& problems) : rules_(rules), problems_(problems) {}

  void check() {
    problems_.check_name(rules_.name);
    for (std::size_t i = 0; i < rules_.layers.size(); ++i) {
      const std::string path = fmt::format("layers[{}]", i);
      check(rules_.layers[i].forward, path + ".forward");
      check(rules_.layers[i].backward, path + ".backward");
      if (rules_.layers[i].compiled) {
        check(rules_.layers[i].compiled->forward, path + ".compiled.forward");
        check(rules_.layers[i].compiled->backward, path + ".compiled.backward");
      }
    }
    check_sum();
    if (!rules_.clear.empty()) check_class(rules_.clear, "clear");
    for (std::size_t i = 0; i < rules_.optimizers.size(); ++i) {
      const auto& passes = rules_.optimizers[i].passes;
      for (std::size_t k = 0; k < passes.size(); ++k)
        check_class(passes[k].kernel, fmt::format("optimizers[{}].passes[{}].kernel", i, k));
    }
    for (std::size_t i = 0; i < rules_.scaler.size(); ++i)
      check_class(rules_.scaler[i].kernel, fmt::format("scaler[{}].kernel", i));
    for (std::size_t i = 0; i < rules_.attention.size(); ++i) {
      if (rules_.attention[i].shares.empty())
        problems_.error(fmt::format("attention[{}].shares", i), "no shares of the peak", "give one or more");
    }
  }

private:
  void check(const std::vector<KernelRule>& all, const std::string& path) {
    for (std::size_t i = 0; i < all.size(); ++i) check(all[i], fmt::format("{}[{}]", path, i));
  }

  void check(const KernelRule& rule, const std::string& path) {
    if (rule.kernel.empty() == (rule.matrix == MatrixKernel::none))
      problems_.error(path, "a kernel is either of a class or work of matrix units", "give kernel or matrix");
    else if (!rule.kernel.empty())
      check_class(rule.kernel, path + ".kernel");
    if (!rule.kernel.empty() && rule.pads != 1)
      problems_.error(path + ".pads", "only a product has columns to pad", "leave it out");
    const bool has_traffic = rule.passes != 0 || rule.bytes != 0 || rule.fixed_bytes != 0 || rule.above != 0;
    if (rule.matrix != MatrixKernel::none &&
        (has_traffic || rule.count != 1 || rule.synchronises || rule.per_tensor))
      problems_.error(path, "the layer says what its work of matrix units moves",
                      "keep matrix, type, pads, when");
  }

  /// Of the gradients of a tensor that several layers read: passes over them by one class of kernels.
  void check_sum() {
    const KernelRule& sum = rules_.gradient_sum;
    check_class(sum.kernel, "gradient_sum.kernel");
    const bool has_more = sum.matrix != MatrixKernel::none || sum.of != KernelValues::output ||
                          sum.type != PassType::result || sum.bytes != 0 || sum.fixed_bytes != 0 ||
                          sum.above != 0 || sum.synchronises || sum.per_tensor || sum.pads != 1 ||
                          sum.count != 1 || !sum.when.empty();
    if (has_more)
      problems_.error("gradient_sum", "a sum has a class and passes alone", "keep kernel and passes");
  }

  void check_class(const std::string& name, const std::string& path) {
    if (std::ranges::find(rules_.kernels, name, &KernelClass::name) != rules_.kernels.end()) return;
    problems_.error(path, fmt::format("no class of kernels has the name '{}'", name), "add it to kernels");
  }

  const Lowering& rules_;
  config::Problems& problems_;
};

}  // namespace

Lowering load_lowering(const config::Document& document) {
  return config::read<Lowering>(
      document, [](const Lowering& rules, config::Problems& problems) { Checker(rules, problems).check(); });
}

}  // namespace trainyard
