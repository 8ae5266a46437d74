// Pieces of text that dump, explain and the drawing share.
#pragma once

#include <string>

#include "runtime/plan/analysis.h"

namespace tenon::runtime {

std::string type_text(const ir::Node& node);                  // "f32[128,64]"
std::string svg_of(const Analysis& analysis);

}  // namespace tenon::runtime
