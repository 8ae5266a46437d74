// Plans as text and as drawings: dump, explain and draw_svg of the public API.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/plan/analysis.h"

namespace tenon::runtime {

// The same plan as text, without running: what `dump` and `explain` of the public API print. For roots that are all
// computed it is the plan that computed them. `kernel`: only kernels with this in their name, below Fused.
enum class Stage : uint8_t { Graph, Fused, Kernel, LoopTree, LLVM, Assembly, CUDA, PTX };
std::string dump(std::span<const ir::NodeRef> roots, Stage stage, std::string_view kernel = {});
std::string explain(std::span<const ir::NodeRef> roots);
std::string draw_svg(std::span<const ir::NodeRef> roots);  // kernels as boxes

// Pieces that they share.
std::string type_text(const ir::Node& node);                  // "f32[128,64]"
std::string svg_of(const Analysis& analysis);

}  // namespace tenon::runtime
