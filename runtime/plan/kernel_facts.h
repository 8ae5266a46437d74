// What is known of a kernel before it runs: for the history of launches, the profile and explain.
#pragma once

#include <string>

#include "runtime/history/record.h"
#include "runtime/plan/analysis.h"

namespace tenon::runtime {

KernelRecord kernel_facts(const passes::FusedKernel& fused);  // name, ops, bytes, flops
// Bytes that the kernel or call loads (or stores), each once: no more of a buffer than it has.
int64_t moved_bytes(const ir::Work& work, ir::Op access);
std::string op_list(const passes::FusedKernel& fused);  // "sub, exp, reduce.sum, div"
// "f32[64,128], f32[128] -> f32[64]", as the program knows them
std::string shapes_of(const passes::FusedKernel& fused, const Analysis& analysis);

}  // namespace tenon::runtime
