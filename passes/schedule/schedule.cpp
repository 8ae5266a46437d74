// The table of schedules, and who takes what.
#include "passes/schedule/schedule.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "passes/passes.h"
#include "passes/schedule/cpu/context.h"
#include "passes/schedule/gpu/call.h"
#include "passes/schedule/gpu/context.h"
#include "passes/schedule/gpu/scan.h"
#include "passes/schedule/gpu/tiles.h"

namespace tenon::passes {
namespace {

using ir::CpuTarget;
using ir::GpuTarget;
using ir::Op;
using ir::Target;
using ir::TargetKind;
using Answer = Schedule::Answer;

constexpr Answer kTakes{Schedule::Fit::Takes}, kOtherKind{Schedule::Fit::OtherKind};
constexpr Answer refuses(std::string_view reason) { return {Schedule::Fit::Refuses, reason}; }

// --- what each kind of schedule accepts

Answer takes_maps(const Form& form, const Target&) {
  return !form.call && form.lanes + form.columns + form.scans + form.contractions == 0 ? kTakes : kOtherKind;
}

Answer takes_scans(const Form& form, const Target&) {
  if (form.scans == 0) return kOtherKind;
  if (form.lanes + form.columns + form.contractions > 0)
    return refuses("a scan stands beside no reduction or contraction: it walks its lines in order");
  return kTakes;
}

Answer takes_reductions(const Form& form, int wanted, int others) {
  if (wanted == 0 || form.scans + form.contractions > 0) return kOtherKind;
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
  if (form.contractions == 0) return kOtherKind;
  if (form.contractions > 1 || form.scans + form.lanes + form.columns > 0)
    return refuses("a contraction stands alone: no reduction, scan or other contraction beside it");
  if (form.contract_axes > 1) return refuses("a contraction runs along one axis");
  if (ir::kind(target) == TargetKind::Cuda) return takes_staged(form);
  if (form.left != Form::Operand::Loaded) return refuses("the left operand of a contraction is read in its innermost loop: from memory");
  // Also what a pad adds: a window is read at each of its taps, and would ask about the border each time.
  if (form.right != Form::Operand::Loaded) return refuses("the right operand of a contraction is read for every row: from memory");
  return kTakes;
}

// --- what calls compute

template <Op... ops>
Answer calls(const Form& form, const Target&) {
  return ((form.call == ops) || ...) ? kTakes : kOtherKind;
}

template <ir::OpClass cls>
Answer calls_class(const Form& form, const Target&) {
  if (!form.call || *form.call == Op::Gather || *form.call == Op::Update) return kOtherKind;
  return ir::info(*form.call).cls == cls ? kTakes : kOtherKind;
}

Answer calls_scatters(const Form& form, const Target&) { return form.call && ir::is_scatter(*form.call) ? kTakes : kOtherKind; }

Answer calls_attention(const Form& form, const Target& target) {
  if (!form.call || !ir::is_attention(*form.call)) return kOtherKind;
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
  return answer.fit == Schedule::Fit::Takes && is_for_threads ? kOtherKind : answer;
}

Answer calls_products(const Form& form, const Target& target) {
  const auto& gpu = std::get<GpuTarget>(target);
  if (!form.call || std::find(gpu.library.begin(), gpu.library.end(), *form.call) == gpu.library.end()) return kOtherKind;
  if (form.product && !gpu::library_is_faster(*form.product, gpu))
    return refuses("a kernel of its own is faster than a call of the library");
  return kTakes;
}

// --- how each is called

template <void (*run)(cpu::Context&)>
void kernel_on_cpu(const ir::Kernel& kernel, const Target& target, KnownLowered known, Lowered& lowered) {
  cpu::Context context(kernel, lowered, std::get<CpuTarget>(target), known);
  run(context);
  if (!lowered.known) lowered.known = context.builder.finish();
  lowered.better_often = lowered.better_often || context.nest.hides_power();
  lowered.donations = in_place_pairs(kernel, context.loops());
}

template <void (*run)(cpu::Context&)>
void on_cpu(const ir::Work& work, const Target& target, KnownLowered known, Lowered& lowered) {
  kernel_on_cpu<run>(std::get<ir::Kernel>(work), target, known, lowered);
}

void split_on_cpu(const ir::Work& work, const Target& target, KnownLowered known, Lowered& lowered) {
  kernel_on_cpu<cpu::lower_short_rows>(*split_axes(std::get<ir::Kernel>(work)), target, known, lowered);
}

void contraction_on_cpu(const ir::Work& work, const Target& target, KnownLowered known, Lowered& lowered) {
  kernel_on_cpu<cpu::lower_contraction>(cpu::with_axes_of_one(std::get<ir::Kernel>(work)), target, known, lowered);
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

template <void (*run)(gpu::Context&)>
void on_gpu(const ir::Work& work, const Target& target, KnownLowered known, Lowered& lowered) {
  const auto& kernel = std::get<ir::Kernel>(work);
  gpu::Context context(kernel, lowered, std::get<GpuTarget>(target), known);
  run(context);
  check_shared(kernel, context.target, lowered);
  lowered.known = context.builder.finish();
}

// The text must not promise that no two of these buffers overlap.
void donate(gpu::Context& c, std::vector<std::pair<int, int>> pairs) {
  for (const auto& [out, in] : pairs) {
    for (int buffer : {out, in}) c.out.tree.buffers[static_cast<size_t>(buffer)].aliased = true;
  }
  c.out.donations = std::move(pairs);
}

// Each result's thread reads the elements at its place before it stores it.
template <void (*run)(gpu::Context&)>
void results_in_place(gpu::Context& c) {
  run(c);
  donate(c, in_place_results(c.kernel, c.loops));
}
template <void (*run)(gpu::Context&)>
constexpr auto on_gpu_in_place = on_gpu<results_in_place<run>>;

// A kernel with the call's parameters alone, which the context of a schedule is made for.
ir::Kernel parameters_of(const Call& call) {
  ir::Kernel kernel;
  static_cast<ir::Signature&>(kernel) = call;
  std::replace(kernel.name.begin(), kernel.name.end(), '.', '_');
  return kernel;
}

template <void (*run)(cpu::Context&, const Call&)>
void call_on_cpu(const ir::Work& work, const Target& target, KnownLowered known, Lowered& lowered) {
  const auto& call = std::get<Call>(work);
  const ir::Kernel kernel = parameters_of(call);
  cpu::Context context(kernel, lowered, std::get<CpuTarget>(target), known);
  run(context, call);
  lowered.known = context.builder.finish();
}

template <void (*run)(gpu::Context&, const Call&)>
void call_on_gpu(const ir::Work& work, const Target& target, KnownLowered known, Lowered& lowered) {
  const auto& call = std::get<Call>(work);
  const ir::Kernel kernel = parameters_of(call);
  gpu::Context context(kernel, lowered, std::get<GpuTarget>(target), known);
  run(context, call);
  check_shared(kernel, context.target, lowered);
  lowered.known = context.builder.finish();
}

// Each thread reads its own elements before it writes them.
template <void (*run)(gpu::Context&)>
void map_in_place(gpu::Context& c) {
  run(c);
  donate(c, in_place_pairs(c.kernel, plan_loops(c.kernel, [](ir::Value) { return false; })));
}

// --- what suits each

template <bool (*suits)(const ir::Kernel&)>
bool suits_kernel(const ir::Work& work, const Target&) {
  return suits(std::get<ir::Kernel>(work));
}

bool rows_are_short(const ir::Kernel& kernel, bool often) { return cpu::short_rows(kernel, often).has_value(); }
bool splits_into_short_rows(const ir::Kernel& kernel, bool often) {
  constexpr int64_t kFewestLanes = 6;  // with fewer rows to a line a gather along it is faster
  const std::optional<ir::Kernel> split = split_axes(kernel);
  const std::optional<cpu::ShortRows> rows = split ? cpu::short_rows(*split, often) : std::nullopt;
  return rows && split->extent(rows->lane) >= kFewestLanes;
}
template <bool (*suits)(const ir::Kernel&, bool often)>
bool suits_rows(const ir::Work& work, const Target& target) {
  return suits(std::get<ir::Kernel>(work), std::get<CpuTarget>(target).often);
}
bool is_transposed(const ir::Kernel& kernel) { return cpu::transposed_axis(kernel) >= 0; }
bool is_transposed_on_gpu(const ir::Work& work, const Target& target) {
  const auto& gpu = std::get<GpuTarget>(target);
  return gpu.threads == 8 * gpu.warp && gpu::transposed_axis(std::get<ir::Kernel>(work), gpu) >= 0;
}

// Whether the function that chooses among the programs for a kind of kernels chooses this one.
template <auto choose, auto program>
bool suits_program(const ir::Work& work, const Target& target) {
  const auto& kernel = std::get<ir::Kernel>(work);
  if constexpr (std::is_invocable_v<decltype(choose), const ir::Kernel&, const CpuTarget&>) {
    return choose(kernel, std::get<CpuTarget>(target)) == program;
  } else {
    return choose(kernel, std::get<GpuTarget>(target)) == program;
  }
}
template <cpu::ColumnProgram program>
constexpr auto suits_columns = suits_program<cpu::column_program, program>;
template <gpu::ContractionProgram program>
constexpr auto suits_contraction = suits_program<gpu::contraction_program, program>;
template <gpu::RowProgram program>
constexpr auto suits_rows_on_gpu = suits_program<gpu::row_program, program>;
template <gpu::ScanWay way, bool split>
bool suits_scan(const ir::Work& work, const Target& target) {
  return gpu::scan_program(std::get<ir::Kernel>(work), std::get<GpuTarget>(target)) == gpu::ScanProgram{way, split};
}

bool suits_warps(const ir::Work& work, const Target& target) {
  return gpu::warps_take(*form_of_attention(std::get<Call>(work).node()).attention, std::get<GpuTarget>(target));
}

constexpr TargetKind kCpu = TargetKind::Cpu, kGpu = TargetKind::Cuda;

// In the order in which they are asked.
constexpr Schedule kSchedules[] = {
    {"contraction", kCpu, takes_contraction, nullptr, contraction_on_cpu},
    {"scan lines", kCpu, takes_scans, suits_kernel<cpu::scans_along_lines>, on_cpu<cpu::lower_scan_lines>},
    {"scan columns", kCpu, takes_scans, nullptr, on_cpu<cpu::lower_scan_columns>},
    {"short rows of split axes", kCpu, takes_maps, suits_rows<splits_into_short_rows>, split_on_cpu},
    {"short rows", kCpu, takes_maps_or_lanes, suits_rows<rows_are_short>, on_cpu<cpu::lower_short_rows>},
    {"transpose", kCpu, takes_maps, suits_kernel<is_transposed>, on_cpu<cpu::lower_transpose>},
    {"pointwise", kCpu, takes_maps, nullptr, on_cpu<cpu::lower_pointwise>},
    {"columns in runs", kCpu, takes_columns, suits_columns<cpu::ColumnProgram::Runs>, on_cpu<cpu::lower_columns_in_runs>},
    {"columns split", kCpu, takes_columns, suits_columns<cpu::ColumnProgram::Split>, on_cpu<cpu::lower_columns_split>},
    {"columns", kCpu, takes_columns, nullptr, on_cpu<cpu::lower_columns>},
    {"rows split", kCpu, takes_lanes, suits_rows<cpu::splits_rows>, on_cpu<cpu::lower_rows_split>},
    {"rows", kCpu, takes_lanes, nullptr, on_cpu<cpu::lower_rows>},
    {"sort", kCpu, calls_class<ir::OpClass::Sort>, nullptr, nullptr},
    {"indexed", kCpu, calls_class<ir::OpClass::Indexed>, nullptr, nullptr},
    {"recurrence", kCpu, calls_class<ir::OpClass::Recurrence>, nullptr, nullptr},
    {"join", kCpu, calls<Op::Cat>, nullptr, nullptr},
    {"attention", kCpu, calls_attention, nullptr, call_on_cpu<cpu::call_attention>},

    {"contraction mma", kGpu, takes_contraction, suits_contraction<gpu::ContractionProgram::TilesOfWarps>,
     on_gpu_in_place<gpu::lower_contraction_tiles>},
    {"contraction windows", kGpu, takes_contraction, suits_contraction<gpu::ContractionProgram::Windows>,
     on_gpu_in_place<gpu::lower_contraction_windows>},
    {"contraction", kGpu, takes_contraction, suits_contraction<gpu::ContractionProgram::TilesOfThreads>,
     on_gpu_in_place<gpu::lower_contraction_tiles>},
    {"contraction outputs", kGpu, takes_contraction, nullptr, on_gpu_in_place<gpu::lower_contraction_outputs>},
    {"scan columns split", kGpu, takes_scans, suits_scan<gpu::ScanWay::Columns, true>, on_gpu<gpu::scan_columns>},
    {"scan columns", kGpu, takes_scans, suits_scan<gpu::ScanWay::Columns, false>, on_gpu<gpu::scan_columns>},
    {"scan groups split", kGpu, takes_scans, suits_scan<gpu::ScanWay::Groups, true>, on_gpu<gpu::scan_in_groups>},
    {"scan groups", kGpu, takes_scans, suits_scan<gpu::ScanWay::Groups, false>, on_gpu<gpu::scan_in_groups>},
    {"scan tiles split", kGpu, takes_scans, suits_scan<gpu::ScanWay::Tiles, true>, on_gpu<gpu::scan_in_tiles>},
    {"scan tiles", kGpu, takes_scans, nullptr, on_gpu<gpu::scan_in_tiles>},
    {"rows in blocks", kGpu, takes_lanes, suits_rows_on_gpu<gpu::RowProgram::InBlock>, on_gpu_in_place<gpu::lower_rows_in_block>},
    {"rows split", kGpu, takes_lanes, suits_rows_on_gpu<gpu::RowProgram::Split>, on_gpu_in_place<gpu::lower_rows_split>},
    {"long rows", kGpu, takes_lanes, suits_rows_on_gpu<gpu::RowProgram::Long>, on_gpu_in_place<gpu::lower_long_rows>},
    {"rows", kGpu, takes_lanes, nullptr, on_gpu_in_place<gpu::lower_short_rows>},
    {"columns split", kGpu, takes_columns, suits_kernel<gpu::splits_columns>, on_gpu_in_place<gpu::lower_columns_split>},
    {"columns", kGpu, takes_columns, nullptr, on_gpu_in_place<gpu::lower_columns>},
    {"transpose", kGpu, takes_maps, is_transposed_on_gpu, on_gpu<map_in_place<gpu::lower_transpose>>},
    {"pointwise", kGpu, takes_maps, nullptr, on_gpu<map_in_place<gpu::lower_pointwise>>},
    {"sort", kGpu, calls_class<ir::OpClass::Sort>, nullptr, call_on_gpu<gpu::call_sort>},
    {"scatter", kGpu, calls_scatters, nullptr, call_on_gpu<gpu::call_scatter>},
    {"mask", kGpu, calls<Op::Nonzero, Op::Compress, Op::ScatterMask>, nullptr, call_on_gpu<gpu::call_mask>},
    {"indexed", kGpu, calls_class<ir::OpClass::Indexed>, nullptr, nullptr},
    {"recurrence", kGpu, calls_class<ir::OpClass::Recurrence>, nullptr, nullptr},
    {"join", kGpu, calls<Op::Cat>, nullptr, call_on_gpu<gpu::call_join>},
    {"attention mma", kGpu, calls_attention_of_warps, suits_warps, call_on_gpu<gpu::call_attention_of_warps>},
    {"attention", kGpu, calls_attention, nullptr, call_on_gpu<gpu::call_attention_of_threads>},
    {"product", kGpu, calls_products, nullptr, nullptr},
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
  if (std::find(gpu->library.begin(), gpu->library.end(), Op::Dot) == gpu->library.end()) return std::nullopt;
  return gpu::product_costs(product, *gpu);
}

Acceptance accepts(const Form& form, const Target& target) {
  std::string_view reason = form.call ? "the library has no such operation" : "the device has no schedule for this kind of kernel";
  bool found_reason = false;
  for (const Schedule& s : kSchedules) {
    if (s.device != ir::kind(target)) continue;
    const Answer answer = s.accepts(form, target);
    if (answer.fit == Schedule::Fit::Takes) return {true, s.name, {}};
    if (answer.fit == Schedule::Fit::OtherKind || std::exchange(found_reason, true)) continue;
    reason = answer.reason;
  }
  return {false, {}, reason};
}

namespace {

// In the order of the table, the first that takes the work; null if none does.
const Schedule* schedule_of(const ir::Work& work, const Target& target) {
  const Form form = form_of(work);
  for (const Schedule& s : kSchedules) {
    if (s.device != ir::kind(target) || s.accepts(form, target).fit != Schedule::Fit::Takes) continue;
    if (!s.suits || s.suits(work, target)) return &s;
  }
  return nullptr;
}

// Whether code that runs often has another schedule; what differs within a schedule it says itself.
bool is_better_often(const ir::Work& work, const Schedule& schedule, const Target& target) {
  const auto* cpu = std::get_if<CpuTarget>(&target);
  if (!cpu || cpu->often) return false;
  CpuTarget often = *cpu;
  often.often = true;
  return schedule_of(work, often) != &schedule;
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
  const Schedule* schedule = schedule_of(work, target);
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
  const Schedule* schedule = schedule_of(work, target);
  if (!schedule) fail(std::string(accepts(form_of(work), target).reason));
  if (!schedule->lower) fail("the library computes it");
  if (call && !has_plain_views(*call)) fail("its operands do not lie as its code reads them");
  Lowered lowered;
  lowered.schedule = schedule->name;
  lowered.better_often = is_better_often(work, *schedule, target);
  schedule->lower(work, target, known, lowered);
  return lowered;
}

}  // namespace tenon::passes
