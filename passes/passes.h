// The passes over graphs and kernels, by name and in order. compiler/pipeline.h has what runs before, between and after them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"
#include "ir/op/target.h"

namespace tenon::passes {

// Graph -> graph. Each is pure; each file in passes/ opens with what it does and a small before/after.
ir::Graph expand_attention(const ir::Graph& graph, const ir::Targets& targets);  // attention that no schedule takes becomes products
ir::Graph simplify(const ir::Graph& graph);                                      // algebraic identities (the rules of ir/graph/fold.cpp)
ir::Graph fold_constants(const ir::Graph& graph);                                // ops on constants, up to kFoldLimit elements of work
ir::Graph fold_views(const ir::Graph& graph);                                    // chains of movement ops become one or none
ir::Graph lay_out_products(const ir::Graph& graph);                              // products are stored as they are read
ir::Graph lay_out_joins(const ir::Graph& graph);                                 // parts are laid side by side as they are read
ir::Graph lay_out_attention(const ir::Graph& graph);                             // so are the results of attention
ir::Graph lay_out_operands(const ir::Graph& graph, const ir::Targets& targets);  // operands of large products lie as these read them
ir::Graph lay_out_windows(const ir::Graph& graph, const ir::Targets& targets);   // and windows for tensor cores
ir::Graph late_reshapes(const ir::Graph& graph);  // contractions take their readers in before they are reshaped
ir::Graph common_subexpressions(const ir::Graph& graph);
ir::Graph dead_code(const ir::Graph& graph);
inline constexpr int64_t kFoldLimit = 4096;

struct GraphPass {
  std::string_view name;  // "expand-attention", "simplify", ...
  std::string_view summary;
  ir::Graph (*run)(const ir::Graph&, const ir::Targets&);
  bool is_needed = false;  // without it some graphs cannot be computed: it also runs where graphs are not simplified
};
std::span<const GraphPass> graph_passes();  // in the order in which they run

// Kernel -> kernel, before scheduling.
ir::Kernel expand_half(ir::Kernel kernel);      // f16/bf16 arithmetic: widen, compute in f32, round after each op
ir::Kernel widen_products(ir::Kernel kernel);   // products of exponentials in f64, where denormal numbers are slow
ir::Kernel expand_math(ir::Kernel kernel);      // ops marked Expands become basic ops: our own polynomials
ir::Kernel divide_integers(ir::Kernel kernel);  // as floats, which a CPU divides a vector at a time
ir::Kernel clean(ir::Kernel kernel);            // shared pure instructions, no dead ones
ir::Kernel merge_axes(ir::Kernel kernel);       // parallel axes that lie one behind the other in every index

struct KernelPass {
  std::string_view name;  // "expand-half", "widen-products", "expand-math", "clean", "merge-axes"
  std::string_view summary;
  ir::Kernel (*run)(ir::Kernel);
  bool (*is_for)(const ir::Target&) = [](const ir::Target&) { return true; };
};
std::span<const KernelPass> kernel_passes();

// Asked by a schedule: the kernel with parallel axes that an index divides (l / 2, l mod 2) split into parts (l = 2*i + j),
// wherever it then divides less; nothing if there is none. Maps walk the same points, in another order.
std::optional<ir::Kernel> split_axes(const ir::Kernel& kernel);

// Whether a product goes chain by chain of its k on a CPU, since a panel of all k of its right operand would leave the second cache. Then
// it turns a left operand that lies along its rows itself.
bool product_goes_by_chains(const ir::CpuTarget& target, ir::DType dtype, int64_t depth, int64_t columns);

// Writes f(axis, extent) in the place of each axis, in all indices and guards.
void substitute_axes(ir::Kernel& kernel, const std::function<ir::Index(int axis, int64_t extent)>& f);

// Called with each stage's name and text provider when a dump is wanted.
using PassObserver = std::function<void(std::string_view pass, const std::function<std::string()>& text)>;
// All that are for the target; the kernel is verified in the end, and after each pass for an observer.
ir::Kernel run_kernel_passes(ir::Kernel kernel, const PassObserver& observer = {}, const ir::Target& target = {});

// Before both: lets buffers that are read or updated begin at the first element that the kernel touches, and end at the
// last. Gives, for each buffer, how many elements later it begins now.
std::vector<int64_t> begin_at_first(ir::Kernel& kernel);

}  // namespace tenon::passes
