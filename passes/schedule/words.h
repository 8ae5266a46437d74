// The IR's names that every schedule is written in. Private to passes/schedule/.
#pragma once

#include "ir/call/call.h"
#include "ir/kernel/kernel.h"
#include "ir/looptree/looptree.h"

namespace tenon::passes {

using ir::AxisKind, ir::Call, ir::DType, ir::Index, ir::Instr, ir::Level, ir::Op, ir::Space, ir::Value, ir::ValueId, ir::VType;

}  // namespace tenon::passes
