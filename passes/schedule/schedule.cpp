// The table of schedules, and who takes what.
#include "passes/schedule/schedule.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "passes/schedule/cpu/context.h"
#include "passes/schedule/gpu/call.h"
#include "passes/schedule/gpu/context.h"
#include "passes/schedule/gpu/scan.h"
#include "passes/schedule/gpu/tiles.h"

namespace tenon::passes {
namespace {

using ir::CpuTarget, ir::GpuTarget, ir::Op, ir::Target, ir::TargetKind;
using Answer = Schedule::Answer;

constexpr Answer kTakes{Schedule::Fit::Takes}, kNotApplicable{Schedule::Fit::NotApplicable};
constexpr Answer refuses(std::string_view reason) { return {Schedule::Fit::Refuses, reason}; }

// --- what each kind of schedule accepts

Answer takes_maps(const Form& form, const Target&) {
  return !form.call && form.lanes + form.columns + form.scans + form.contractions == 0 ? kTakes : kNotApplicable;
}

Answer takes_scans(const Form& form, const Target&) {
  if (form.scans == 0) return kNotApplicable;
  if (form.lanes + form.columns + form.contractions > 0)
    return refuses("a scan stands beside no reduction or contraction: it walks its lines in order");
  return kTakes;
}

Answer takes_reductions(const Form& form, int wanted, int others) {
  if (wanted == 0 || form.scans + form.contractions > 0) return kNotApplicable;
  if (others > 0) return refuses("reductions that combine in different orders run in different loops");
  return kTakes;
}

// A row of values has a quarter of the second cache, beside what is read and written.
Answer keeps(const Form& form, const Target& target, int64_t rows) {
  const auto* cpu = std::get_if<CpuTarget>(&target);
  if (cpu && form.kept_bytes * rows > cpu->l2_bytes / 4)
    return refuses("the values of a row that would be kept from one reduction to the next are too many for the cache");
  return kTakes;
}

Answer takes_lanes(const Form& form, const Target& target) {
  const Answer answer = takes_reductions(form, form.lanes, form.columns);
  return answer.fit == Schedule::Fit::Takes ? keeps(form, target, 1) : answer;
}

Answer takes_maps_or_lanes(const Form& form, const Target& target) {
  const Answer maps = takes_maps(form, target);
  return maps.fit == Schedule::Fit::Takes ? maps : takes_lanes(form, target);
}

Answer takes_columns(const Form& form, const Target& target) {
  const Answer answer = takes_reductions(form, form.columns, form.lanes);
  return answer.fit == Schedule::Fit::Takes ? keeps(form, target, cpu::kColumnsKept) : answer;
}

// A GPU's contraction evaluates its operands as it stages them, once for each tile of the other side.
Answer takes_staged(const Form& form) {
  constexpr int kStagedCost = 12;
  if (std::max(form.left, form.right) == Form::Operand::Picked) return refuses("a contraction reads at fixed places only");
  if (form.operand_cost > kStagedCost)
    return refuses("the operand of a contraction is computed again for every tile: that costs more than a load");
  return kTakes;
}

Answer takes_contraction(const Form& form, const Target& target) {
  if (form.contractions == 0) return kNotApplicable;
  if (form.contractions > 1 || form.scans + form.lanes + form.columns > 0)
    return refuses("a contraction stands alone: no reduction, scan or other contraction beside it");
  if (form.contract_axes > 1) return refuses("a contraction runs along one axis");
  if (ir::kind(target) == TargetKind::Cuda) return takes_staged(form);
  if (form.left != Form::Operand::Loaded) return refuses("the left operand of a contraction is read in its innermost loop: from memory");
  // Also what a pad adds: a window is read at each of its taps, and would ask about the border each time. What has 16 bits is widened as
  // it is packed.
  if (form.right > Form::Operand::Widened) return refuses("the right operand of a contraction is read for every row: from memory");
  return kTakes;
}

// --- what calls compute

template <Op... ops>
Answer calls(const Form& form, const Target&) {
  return ((form.call == ops) || ...) ? kTakes : kNotApplicable;
}

template <ir::OpClass cls>
Answer calls_class(const Form& form, const Target&) {
  if (!form.call || *form.call == Op::Gather || *form.call == Op::Update) return kNotApplicable;
  return ir::info(*form.call).cls == cls ? kTakes : kNotApplicable;
}

Answer calls_scatters(const Form& form, const Target&) { return form.call && ir::is_scatter(*form.call) ? kTakes : kNotApplicable; }

Answer calls_attention(const Form& form, const Target& target) {
  if (!form.call || !ir::is_attention(*form.call)) return kNotApplicable;
  if (!ir::compiles(target)) return refuses("its kernels are interpreted, and no code is generated");
  if (ir::kind(target) == TargetKind::Cpu) {
    if (form.attention && !cpu::takes_attention(*form.attention)) return refuses("vectors lie along the queries, which are few");
    return kTakes;
  }
  if (form.attention && !gpu::takes_heads(*form.attention, std::get<GpuTarget>(target)))
    return refuses("heads are so large that a block's shared memory has no room for tiles of a good size");
  return kTakes;
}

Answer calls_attention_of_warps(const Form& form, const Target& target) {
  const Answer answer = calls_attention(form, target);
  const bool is_for_threads = form.attention && !gpu::warps_take(*form.attention, std::get<GpuTarget>(target));
  return answer.fit == Schedule::Fit::Takes && is_for_threads ? kNotApplicable : answer;
}

Answer calls_products(const Form& form, const Target& target) {
  const auto& gpu = std::get<GpuTarget>(target);
  if (!form.call || std::ranges::find(gpu.library, *form.call) == gpu.library.end()) return kNotApplicable;
  if (form.product && !gpu::library_is_faster(*form.product, gpu))
    return refuses("a kernel of its own is faster than a call of the library");
  return kTakes;
}

// --- how each is called

template <typename Run>
void build_on_cpu(const ir::Kernel& kernel, const Target& target, std::any plan, KnownLowered known, Lowered& lowered, const Run& run) {
  cpu::Context context(kernel, lowered, std::get<CpuTarget>(target), known);
  context.plan = std::move(plan);
  run(context);
  if (!lowered.known) lowered.known = context.builder.finish();
}

template <void (*run)(cpu::Context&)>
void kernel_on_cpu(const ir::Kernel& kernel, const Target& target, std::any plan, KnownLowered known, Lowered& lowered) {
  build_on_cpu(kernel, target, std::move(plan), known, lowered, [&](cpu::Context& context) {
    run(context);
    lowered.better_often = lowered.better_often || context.nest.hides_power();
    lowered.donations = in_place_pairs(kernel, context.loops());
  });
}

template <void (*run)(cpu::Context&)>
void on_cpu(const ir::Work& work, const Target& target, std::any plan, KnownLowered known, Lowered& lowered) {
  kernel_on_cpu<run>(std::get<ir::Kernel>(work), target, std::move(plan), known, lowered);
}

template <void (*run)(cpu::Context&)>
void split_on_cpu(const ir::Work&, const Target& target, std::any plan, KnownLowered known, Lowered& lowered) {
  const auto split = std::any_cast<cpu::SplitAxes>(std::move(plan));
  kernel_on_cpu<run>(split.kernel, target, split.plan, known, lowered);
}

void windows_on_cpu(const ir::Work&, const Target& target, std::any plan, KnownLowered known, Lowered& lowered) {
  const ir::Kernel kernel = cpu::kernel_of_windows(plan);
  kernel_on_cpu<cpu::lower_windows>(kernel, target, std::move(plan), known, lowered);
}

void contraction_on_cpu(const ir::Work& work, const Target& target, std::any plan, KnownLowered known, Lowered& lowered) {
  const ir::Kernel kernel = cpu::laid_out_contraction(std::get<ir::Kernel>(work), std::get<CpuTarget>(target));
  kernel_on_cpu<cpu::lower_contraction>(kernel, target, std::move(plan), known, lowered);
}

void check_shared(const ir::Kernel& kernel, const GpuTarget& target, const Lowered& lowered) {
  int64_t shared = 0;
  for (const ir::TreeBuffer& buffer : lowered.tree.buffers) {
    if (buffer.space == ir::Space::Shared) shared += buffer.count * ir::item_size(buffer.dtype);
  }
  if (shared > target.shared_bytes)
    throw ir::IrError("no GPU schedule takes kernel '" + kernel.name + "': a block would need " + std::to_string(shared) +
                      " bytes of shared memory, and may have " + std::to_string(target.shared_bytes));
}

template <typename Run>
void build_on_gpu(const ir::Kernel& kernel, const Target& target, std::any plan, KnownLowered known, Lowered& lowered, const Run& run) {
  gpu::Context context(kernel, lowered, std::get<GpuTarget>(target), known);
  context.plan = std::move(plan);
  run(context);
  check_shared(kernel, context.target, lowered);
  lowered.known = context.builder.finish();
}

using Donations = std::vector<std::pair<int, int>> (*)(const gpu::Context&);
std::vector<std::pair<int, int>> no_donations(const gpu::Context&) { return {}; }
// Each result's thread reads the elements at its place before it stores it.
std::vector<std::pair<int, int>> result_donations(const gpu::Context& c) { return in_place_results(c.kernel, c.loops); }
// Each thread reads its own elements before it writes them.
std::vector<std::pair<int, int>> element_donations(const gpu::Context& c) { return in_place_pairs(c.kernel, plan_loops(c.kernel)); }

template <void (*run)(gpu::Context&), Donations donations = result_donations>
void on_gpu(const ir::Work& work, const Target& target, std::any plan, KnownLowered known, Lowered& lowered) {
  build_on_gpu(std::get<ir::Kernel>(work), target, std::move(plan), known, lowered, [&](gpu::Context& context) {
    run(context);
    lowered.donations = donations(context);
    for (const auto& [out, in] : lowered.donations) {  // the text must not promise that no two of these buffers overlap
      for (int buffer : {out, in}) lowered.tree.buffers[static_cast<size_t>(buffer)].aliased = true;
    }
  });
}

// A kernel with the call's parameters alone, which the context of a schedule is made for.
ir::Kernel parameters_of(const Call& call) {
  ir::Kernel kernel;
  static_cast<ir::Signature&>(kernel) = call;
  std::replace(kernel.name.begin(), kernel.name.end(), '.', '_');
  return kernel;
}

template <void (*run)(cpu::Context&, const Call&)>
void call_on_cpu(const ir::Work& work, const Target& target, std::any plan, KnownLowered known, Lowered& lowered) {
  const auto& call = std::get<Call>(work);
  build_on_cpu(parameters_of(call), target, std::move(plan), known, lowered, [&](cpu::Context& context) { run(context, call); });
}

template <void (*run)(gpu::Context&, const Call&)>
void call_on_gpu(const ir::Work& work, const Target& target, std::any plan, KnownLowered known, Lowered& lowered) {
  const auto& call = std::get<Call>(work);
  build_on_gpu(parameters_of(call), target, std::move(plan), known, lowered, [&](gpu::Context& context) { run(context, call); });
}

// --- what each takes of what it accepts

template <auto choose>
Choice chosen_by(const ir::Work& work, const Target& target) {
  const auto& kernel = std::get<ir::Kernel>(work);
  if constexpr (std::is_invocable_v<decltype(choose), const ir::Kernel&, const CpuTarget&>) {
    return choose(kernel, std::get<CpuTarget>(target));
  } else if constexpr (std::is_invocable_v<decltype(choose), const ir::Kernel&, const GpuTarget&>) {
    return choose(kernel, std::get<GpuTarget>(target));
  } else {
    return choose(kernel);
  }
}
template <auto choose, auto program = true>
constexpr Schedule::Pick pick{chosen_by<choose>, static_cast<int>(program)};
template <cpu::ColumnProgram program>
constexpr Schedule::Pick column_pick = pick<cpu::choose_columns, program>;
template <gpu::ContractionProgram program>
constexpr Schedule::Pick contraction_pick = pick<gpu::choose_contraction, program>;
template <gpu::ScanProgram program>
constexpr Schedule::Pick scan_pick = pick<gpu::choose_scan, program>;
template <gpu::RowProgram program>
constexpr Schedule::Pick row_pick = pick<gpu::choose_rows, program>;

constexpr TargetKind kCpu = TargetKind::Cpu, kGpu = TargetKind::Cuda;

// In the order in which they are asked.
constexpr Schedule kSchedules[] = {
    {"contraction", kCpu, takes_contraction, {}, contraction_on_cpu},
    {"scan lines", kCpu, takes_scans, pick<cpu::scans_along_lines>, on_cpu<cpu::lower_scan_lines>},
    {"scan columns", kCpu, takes_scans, {}, on_cpu<cpu::lower_scan_columns>},
    {"short rows of split axes", kCpu, takes_maps, pick<cpu::choose_split_rows>, split_on_cpu<cpu::lower_short_rows>},
    {"short rows", kCpu, takes_maps_or_lanes, pick<cpu::choose_short_rows>, on_cpu<cpu::lower_short_rows>},
    {"transpose", kCpu, takes_maps, pick<cpu::choose_transpose>, on_cpu<cpu::lower_transpose>},
    {"transpose of split axes", kCpu, takes_maps, pick<cpu::choose_split_transpose>, split_on_cpu<cpu::lower_transpose>},
    {"pointwise", kCpu, takes_maps, {}, on_cpu<cpu::lower_pointwise>},
    {"windows", kCpu, takes_columns, pick<cpu::choose_windows>, windows_on_cpu},
    {"columns in runs", kCpu, takes_columns, column_pick<cpu::ColumnProgram::Runs>, on_cpu<cpu::lower_columns_in_runs>},
    {"columns split", kCpu, takes_columns, column_pick<cpu::ColumnProgram::Split>, on_cpu<cpu::lower_columns_split>},
    {"columns", kCpu, takes_columns, column_pick<cpu::ColumnProgram::Whole>, on_cpu<cpu::lower_columns>},
    {"rows split", kCpu, takes_lanes, pick<cpu::splits_rows>, on_cpu<cpu::lower_rows_split>},
    {"rows", kCpu, takes_lanes, {}, on_cpu<cpu::lower_rows>},
    {"sort", kCpu, calls_class<ir::OpClass::Sort>, {}, nullptr},
    {"indexed", kCpu, calls_class<ir::OpClass::Indexed>, {}, nullptr},
    {"recurrence", kCpu, calls_class<ir::OpClass::Recurrence>, {}, nullptr},
    {"join", kCpu, calls<Op::Cat>, {}, nullptr},
    {"attention", kCpu, calls_attention, {}, call_on_cpu<cpu::call_attention>},

    {"contraction mma", kGpu, takes_contraction, contraction_pick<gpu::ContractionProgram::TilesOfWarps>,
     on_gpu<gpu::lower_contraction_tiles>},
    {"contraction windows", kGpu, takes_contraction, contraction_pick<gpu::ContractionProgram::Windows>,
     on_gpu<gpu::lower_contraction_windows>},
    {"contraction", kGpu, takes_contraction, contraction_pick<gpu::ContractionProgram::TilesOfThreads>,
     on_gpu<gpu::lower_contraction_tiles>},
    {"contraction outputs", kGpu, takes_contraction, contraction_pick<gpu::ContractionProgram::Outputs>,
     on_gpu<gpu::lower_contraction_outputs>},
    {"scan columns split", kGpu, takes_scans, scan_pick<gpu::ScanProgram::ColumnsSplit>, on_gpu<gpu::scan_columns, no_donations>},
    {"scan columns", kGpu, takes_scans, scan_pick<gpu::ScanProgram::Columns>, on_gpu<gpu::scan_columns, no_donations>},
    {"scan groups split", kGpu, takes_scans, scan_pick<gpu::ScanProgram::GroupsSplit>, on_gpu<gpu::scan_in_groups, no_donations>},
    {"scan groups", kGpu, takes_scans, scan_pick<gpu::ScanProgram::Groups>, on_gpu<gpu::scan_in_groups, no_donations>},
    {"scan tiles split", kGpu, takes_scans, scan_pick<gpu::ScanProgram::TilesSplit>, on_gpu<gpu::scan_in_tiles, no_donations>},
    {"scan tiles", kGpu, takes_scans, scan_pick<gpu::ScanProgram::Tiles>, on_gpu<gpu::scan_in_tiles, no_donations>},
    {"rows in blocks", kGpu, takes_lanes, row_pick<gpu::RowProgram::InBlock>, on_gpu<gpu::lower_rows_in_block>},
    {"rows split", kGpu, takes_lanes, row_pick<gpu::RowProgram::Split>, on_gpu<gpu::lower_rows_split>},
    {"long rows", kGpu, takes_lanes, row_pick<gpu::RowProgram::Long>, on_gpu<gpu::lower_long_rows>},
    {"rows", kGpu, takes_lanes, row_pick<gpu::RowProgram::Short>, on_gpu<gpu::lower_short_rows>},
    {"columns split", kGpu, takes_columns, pick<gpu::splits_columns>, on_gpu<gpu::lower_columns_split>},
    {"columns", kGpu, takes_columns, {}, on_gpu<gpu::lower_columns>},
    {"transpose", kGpu, takes_maps, pick<gpu::choose_transpose>, on_gpu<gpu::lower_transpose, element_donations>},
    {"pointwise", kGpu, takes_maps, {}, on_gpu<gpu::lower_pointwise, element_donations>},
    {"sort", kGpu, calls_class<ir::OpClass::Sort>, {}, call_on_gpu<gpu::call_sort>},
    {"scatter", kGpu, calls_scatters, {}, call_on_gpu<gpu::call_scatter>},
    {"mask", kGpu, calls<Op::Nonzero, Op::Compress, Op::ScatterMask>, {}, call_on_gpu<gpu::call_mask>},
    {"indexed", kGpu, calls_class<ir::OpClass::Indexed>, {}, nullptr},
    {"recurrence", kGpu, calls_class<ir::OpClass::Recurrence>, {}, nullptr},
    {"join", kGpu, calls<Op::Cat>, {}, call_on_gpu<gpu::call_join>},
    {"attention mma", kGpu, calls_attention_of_warps, {}, call_on_gpu<gpu::call_attention_of_warps>},
    {"attention", kGpu, calls_attention, {}, call_on_gpu<gpu::call_attention_of_threads>},
    {"product", kGpu, calls_products, {}, nullptr},
};

}  // namespace

std::span<const Schedule> schedules() { return kSchedules; }

WindowOrder window_order(const Form::Product& product, int64_t copied_bytes, const Target& target) {
  const auto* gpu = std::get_if<GpuTarget>(&target);
  return gpu ? gpu::window_order(product, copied_bytes, *gpu) : WindowOrder::ByChannel;
}

std::optional<ProductCosts> product_costs(const Form::Product& product, const Target& target) {
  const auto* gpu = std::get_if<GpuTarget>(&target);
  if (!gpu || !ir::is_float(product.dtype)) return std::nullopt;
  if (std::ranges::find(gpu->library, Op::Dot) == gpu->library.end()) return std::nullopt;
  return gpu::product_costs(product, *gpu);
}

Acceptance accepts(const Form& form, const Target& target) {
  std::string_view reason = form.call ? "the library has no such operation" : "the device has no schedule for this kind of kernel";
  bool found_reason = false;
  for (const Schedule& s : kSchedules) {
    if (s.device != ir::kind(target)) continue;
    const Answer answer = s.accepts(form, target);
    if (answer.fit == Schedule::Fit::Takes) return {true, s.name, {}};
    if (answer.fit == Schedule::Fit::NotApplicable || std::exchange(found_reason, true)) continue;
    reason = answer.reason;
  }
  return {false, {}, reason};
}

namespace {

// In the order of the table, the first that takes the work, null if none does; and what its program takes over.
std::pair<const Schedule*, std::any> schedule_of(const ir::Work& work, const Target& target) {
  const Form form = form_of(work);
  decltype(Schedule::Pick::choose) choose = nullptr;
  std::optional<Choice> choice;
  for (const Schedule& s : kSchedules) {
    if (s.device != ir::kind(target) || s.accepts(form, target).fit != Schedule::Fit::Takes) continue;
    if (!s.pick.choose) return {&s, {}};
    if (std::exchange(choose, s.pick.choose) != s.pick.choose) choice = choose(work, target);
    if (choice->program == s.pick.program) return {&s, std::move(choice->plan)};
  }
  return {};
}

// Whether code that runs often has another schedule; what differs within a schedule it says itself.
bool is_better_often(const ir::Work& work, const Schedule& schedule, const Target& target) {
  const auto* cpu = std::get_if<CpuTarget>(&target);
  if (!cpu || cpu->often) return false;
  CpuTarget often = *cpu;
  often.often = true;
  return schedule_of(work, often).first != &schedule;
}

// Whether the code of calls reads such views: operand by operand a buffer of its own, as fusion makes them.
bool has_plain_views(const Call& call) {
  int32_t buffer = 0;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const ir::View& view = call.operands[i];
    if (view.scalar >= 0 || view == call.stored[0] || call.is_in_place(i)) continue;
    if (view.buffer != buffer++) return false;
    if (call.op() == Op::Cat || (ir::is_attention(call.op()) && (view.strides.back() == 1 || call.shape(i).back() == 1))) continue;
    ir::Dims stored = call.shape(i);
    for (size_t d = 0; d < stored.size(); ++d) {
      if (view.strides[d] == 0 && ir::is_scatter(call.op()) && i == 1) stored[d] = 1;
    }
    if (view.offset != 0 || view.strides != ir::row_major_strides(stored)) return false;
  }
  return true;
}

}  // namespace

bool generates(const ir::Work& work, const Target& target) {
  if (std::holds_alternative<ir::Kernel>(work)) return true;
  const Schedule* schedule = schedule_of(work, target).first;
  return schedule && schedule->lower;
}

Lowered lower(const ir::Work& work, const Target& target, KnownLowered known) {
  const auto* call = std::get_if<Call>(&work);
  const auto fail = [&](const std::string& reason) {
    throw ir::IrError("no " + std::string(ir::name(ir::kind(target))) + " schedule takes " + (call ? "call '" : "kernel '") +
                      ir::signature(work).name + "': " + reason);
  };
  try {
    ir::check(target);
  } catch (const ir::IrError& error) {
    fail(error.what());
  }
  auto [schedule, plan] = schedule_of(work, target);
  if (!schedule) fail(std::string(accepts(form_of(work), target).reason));
  if (!schedule->lower) fail("the library computes it");
  if (call && !has_plain_views(*call)) fail("its operands do not lie as its code reads them");
  Lowered lowered;
  lowered.schedule = schedule->name;
  schedule->lower(work, target, std::move(plan), known, lowered);
  lowered.better_often = lowered.better_often || is_better_often(work, *schedule, target);
  return lowered;
}

}  // namespace tenon::passes
