// The IR's names that every schedule is written in. Private to passes/schedule/.
#pragma once

#include "ir/call/call.h"
#include "ir/kernel/kernel.h"
#include "ir/looptree/looptree.h"

namespace tenon::passes {

using ir::AxisKind, ir::Call, ir::DType, ir::Index, ir::Instr, ir::Level, ir::Op, ir::Space, ir::Value, ir::ValueId, ir::VType;

// What may stand in the place of a number, and is tested as less than 0.
inline constexpr ValueId kNone = -1;    // there is no such value, or buffer
inline constexpr ValueId kAlways = -1;  // of a condition, or a mask of lanes: it holds, and nothing asks
inline constexpr ValueId kZero = -1;    // of a place: 0, which nothing adds
inline constexpr int kNoAxis = -1;

}  // namespace tenon::passes
