// The walk shared by kernel -> kernel passes that replace instructions one by one.
#pragma once

#include <functional>
#include <span>

#include "ir/kernel/kernel_builder.h"

namespace tenon::passes {

inline constexpr ir::Value kKeep = -1;

// Given an instruction of the old kernel and its operands in the new one: the value that takes its place, or
// kKeep to copy it as it is.
using RewriteInstr = std::function<ir::Value(ir::KernelBuilder& builder, const ir::Instr& instr, std::span<const ir::Value> args)>;

// The same axes, buffers and scalars with each instruction rewritten, in order.
ir::Kernel rewrite_kernel(const ir::Kernel& kernel, const RewriteInstr& rewrite);

// Appends a copy of `instr` on other operands.
ir::Value copy_instr(ir::KernelBuilder& builder, const ir::Instr& instr, std::span<const ir::Value> args);

}  // namespace tenon::passes
