// Pieces of text that dump, explain and the drawing share.
#pragma once

#include <string>

#include "runtime/analysis.h"
#include "runtime/evaluate.h"

namespace tenon::runtime {

std::string type_text(const ir::Node& node);                  // "f32[128,64]"
std::string op_list(const passes::FusedKernel& fused);        // "sub, exp, reduce.sum, div"
KernelRecord kernel_facts(const passes::FusedKernel& fused);  // name, ops, bytes, flops
// "f32[64,128], f32[128] -> f32[64]", as the program knows them
std::string shapes_of(const passes::FusedKernel& fused, const Analysis& analysis);
std::string svg_of(const Analysis& analysis);

}  // namespace tenon::runtime
