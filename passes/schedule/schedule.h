// Schedules: a kernel (after run_kernel_passes) or a call becomes a loop tree for one device. Shapes turn into size
// parameters. All schedules stand in one table, and beside them what the runtime's library computes. Fusion asks
// the table before it merges; lower() takes the first schedule that accepts and picks the work.
#pragma once

#include <any>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/call/work.h"
#include "ir/op/target.h"
#include "passes/schedule/form.h"
#include "passes/schedule/lowered.h"

namespace tenon::passes {

// None if only one of the two can compute it.
std::optional<ProductCosts> product_costs(const Form::Product& product, const ir::Target& target);

WindowOrder window_order(const Form::Product& product, int64_t copied_bytes, const ir::Target& target);

// Whether something takes a form: its name, or why nothing does.
struct Acceptance {
  bool accepted;
  std::string_view by, reason;
};

struct Choice;
struct Schedule {
  enum class Fit : uint8_t { Takes, NotApplicable, Refuses };
  struct Answer {
    Fit fit;
    std::string_view reason = {};  // of a refusal
  };
  std::string_view name;  // no other of the device has it
  ir::TargetKind device;
  Answer (*accepts)(const Form&, const ir::Target&);
  // The row takes accepted work for which choose() gives this program, or all of it if `choose` is null. Neighbouring rows with the same
  // function share its choice: it is made once, and its plan is handed to the program.
  struct Pick {
    Choice (*choose)(const ir::Work&, const ir::Target&) = nullptr;
    int program = 0;
  };
  Pick pick;
  void (*lower)(const ir::Work&, const ir::Target&, std::any plan, KnownLowered, Lowered&);  // null: the device's library computes it
};
std::span<const Schedule> schedules();  // of all devices

Acceptance accepts(const Form& form, const ir::Target& target);
// Whether it is generated code on the target: all kernels are, and some calls.
bool generates(const ir::Work& work, const ir::Target& target);
// That code. Throws IrError with the kernel's or call's name if there is none. Where the tree is one of `known`, that is given.
Lowered lower(const ir::Work& work, const ir::Target& target, KnownLowered known = {});

}  // namespace tenon::passes
