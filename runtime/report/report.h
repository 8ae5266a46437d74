// Plans as text and as drawings: dump, explain, draw_dot and draw_svg of the public API.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/history/record.h"
#include "runtime/plan/analysis.h"

namespace tenon::runtime {

// The same plan as text, without running: what `dump` and `explain` of the public API print. For roots that are all
// computed it is the plan that computed them. `kernel`: only kernels with this in their name, below Fused.
enum class Stage : uint8_t { Graph, Fused, Kernel, LoopTree, LLVM, Assembly, CUDA, PTX };
std::string dump(std::span<const ir::NodeRef> roots, Stage stage, std::string_view kernel = {});
std::string explain(std::span<const ir::NodeRef> roots);
std::string draw_dot(std::span<const ir::NodeRef> roots);  // kernels as boxes, in DOT, the language of Graphviz
std::string draw_svg(std::span<const ir::NodeRef> roots);  // the same as Graphviz's program `dot` lays it out

// Pieces of these. `asked`: the first so many outputs are those that were asked for. `launches`: each kernel's last one, or null.
// The names of nodes and kernels begin with `prefix`.
std::string dot_of(const Analysis& analysis, size_t asked, std::span<const KernelRecord* const> launches, const std::string& prefix);
// What `dot` makes of this text. Error if it cannot be run, refuses or takes longer.
std::string svg_of(std::string_view dot_text, std::chrono::milliseconds limit);

}  // namespace tenon::runtime
