#include "lowering/lowering_rules.hpp"

#include "config/read.hpp"
#include "lowering/lowering_keys.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace trainyard {
namespace {

class Checker {
public:
  Checker(const Lowering& rules, const Lowering* base, config::Problems& problems)
      : rules_(rules), base_(base), problems_(problems) {}

  void check() {
    problems_.check_name(rules_.name);
    for (const char* const key : {"kernels", "layers", "host", "gradient_sum"}) {
      if (!rules_.like && !problems_.written(key))
        problems_.error(key, fmt::format("key '{}' is missing", key), "add it, or like: pytorch_2_11");
    }
    for (std::size_t i = 0; i < rules_.layers.size(); ++i) {
      const std::string path = fmt::format("layers[{}]", i);
      check(rules_.layers[i].forward, path + ".forward");
      check(rules_.layers[i].backward, path + ".backward");
      if (rules_.layers[i].compiled) {
        check(rules_.layers[i].compiled->forward, path + ".compiled.forward");
        check(rules_.layers[i].compiled->backward, path + ".compiled.backward");
      }
    }
    check_layers();
    check_single_kernels();
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

  void check_layers() {
    for (auto one = rules_.layers.begin(); one != rules_.layers.end(); ++one) {
      const auto is_same = [&](const LayerRules& other) {
        return other.layer == one->layer && other.variant == one->variant;
      };
      if (std::find_if(rules_.layers.begin(), one, is_same) != one)
        problems_.error(fmt::format("layers[{}].layer", one - rules_.layers.begin()),
                        fmt::format("the layer '{}' has rules above", config::name_of(one->layer)),
                        "keep one of them, or another 'variant'");
    }
  }

  /// The rule for summing the gradients of a tensor that several layers read, and that for casting weights.
  void check_single_kernels() {
    if (problems_.written("gradient_sum")) {
      check_single(rules_.gradient_sum, "gradient_sum");
      if (rules_.gradient_sum.bytes != 0)
        problems_.error("gradient_sum", "a sum has a class and passes alone", "keep kernel and passes");
    }
    for (const auto& [key, rule] :
         {std::pair{"slice_zeros", &rules_.slice_zeros}, std::pair{"slice_copy", &rules_.slice_copy},
          std::pair{"slice_join", &rules_.slice_join}}) {
      if (!*rule) continue;
      check_single(**rule, key);
      if ((*rule)->bytes != 0)
        problems_.error(key, "it has a class and passes alone", "keep kernel and passes");
    }
    if (!rules_.weight_cast) return;
    check_single(*rules_.weight_cast, "weight_cast");
    if (rules_.weight_cast->passes != 0)
      problems_.error("weight_cast", "a cast has a class and bytes per value alone", "keep kernel and bytes");
  }

  /// One class of kernels.
  void check_single(const KernelRule& rule, const std::string& key) {
    check_class(rule.kernel, key + ".kernel");
    const bool has_more = rule.matrix != MatrixKernel::none || rule.of != KernelValues::output ||
                          rule.type != PassType::result || rule.fixed_bytes != 0 || rule.above != 0 ||
                          rule.synchronises || rule.per_tensor || rule.pads != 1 || rule.count != 1 ||
                          !rule.when.empty();
    if (has_more)
      problems_.error(key, "it has a class and its traffic alone", "keep kernel and passes or bytes");
  }

  void check_class(const std::string& name, const std::string& path) {
    const auto has = [&](const Lowering& rules) {
      return std::ranges::find(rules.kernels, name, &KernelClass::name) != rules.kernels.end();
    };
    const bool is_of_unread_base = rules_.like && base_ == nullptr;
    if (is_of_unread_base || has(rules_) || (base_ != nullptr && has(*base_))) return;
    problems_.error(path, fmt::format("no class of kernels has the name '{}'", name), "add it to kernels");
  }

  const Lowering& rules_;
  const Lowering* base_;
  config::Problems& problems_;
};

template <class T>
void append(const std::vector<T>& more, std::vector<T>& all) {
  all.insert(all.end(), more.begin(), more.end());
}

/// Takes the keys that the file leaves out from the base.
void complete(Lowering& rules, const Lowering& base, const config::Document& document) {
  const auto take = [&](const char* key, auto Lowering::*member) {
    if (document.root.find(key) == nullptr) rules.*member = base.*member;
  };
  append(base.kernels, rules.kernels);
  append(base.layers, rules.layers);
  append(base.optimizers, rules.optimizers);
  take("joined_projections", &Lowering::joined_projections);
  take("activations_cast", &Lowering::activations_cast);
  take("attention", &Lowering::attention);
  take("products", &Lowering::products);
  take("host", &Lowering::host);
  take("gradient_sum", &Lowering::gradient_sum);
  take("slice_zeros", &Lowering::slice_zeros);
  take("slice_copy", &Lowering::slice_copy);
  take("slice_join", &Lowering::slice_join);
  take("weight_cast", &Lowering::weight_cast);
  take("compiler", &Lowering::compiler);
  take("clear", &Lowering::clear);
  take("largest_kernel", &Lowering::largest_kernel);
  take("scaler", &Lowering::scaler);
  take("workspace", &Lowering::workspace);
}

}  // namespace

namespace {

bool has_condition(const Lowering& rules, LaunchCondition condition) {
  return std::ranges::any_of(rules.layers, [&](const LayerRules& layer) {
    return std::ranges::any_of(layer.forward, [&](const KernelRule& rule) {
      return std::ranges::find(rule.when, condition) != rule.when.end();
    });
  });
}

}  // namespace

bool has_8_bits(const Lowering& rules) { return has_condition(rules, LaunchCondition::casts_input); }

bool has_4_bits(const Lowering& rules) { return has_condition(rules, LaunchCondition::in_4_bits); }

Lowering load_lowering(const config::Document& document, const Lowering* base) {
  Lowering rules = config::read<Lowering>(document, [&](const Lowering& read, config::Problems& problems) {
    Checker(read, base, problems).check();
  });
  if (base != nullptr) complete(rules, *base, document);
  return rules;
}

}  // namespace trainyard
