// gpu_smoke list: the names of the rows. gpu_smoke compile ROW: runs its part on the GPU once and compares nothing, so that its kernels
// are in the disk cache. gpu_smoke run ROW: a line, and the end is 1 if it is wrong:
//
//   softmax_f32 ok bits | rows, split | compiled 0
//   mma_f16_a ok error 3.1e-04, bound 4.0e-03 | contraction mma | compiled 0
//   scans wrong: output 2, run 1: 17 of 24000 elements differ, the first at 31: 0.5 for 0.25 | scan | compiled 3
//
// with the schedules of the kernels that ran on the GPU, and how many of them were compiled for it. Without a GPU it says why and
// ends with 77.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>

#include "gpu/smoke.h"

namespace tenon::test {
namespace {

constexpr int kRuns = 4;

// The elements in row-major order, every nan alike: which sign and payload a nan has is the processor's choice.
Tensor canonical(const Tensor& x) {
  const Tensor dense = x.detach().contiguous();
  return dense.is_floating_point() ? where(dense.isnan(), full_like(dense, NAN), dense).contiguous() : dense;
}

std::string first_difference(const Tensor& a, const Tensor& b) {
  const auto* left = static_cast<const char*>(a.const_data_ptr());
  const auto* right = static_cast<const char*>(b.const_data_ptr());
  const int64_t size = a.itemsize();
  int64_t count = 0, first = -1;
  for (int64_t i = 0; i < a.numel(); ++i) {
    if (std::memcmp(left + i * size, right + i * size, static_cast<size_t>(size)) == 0) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return "";
  const auto number = [&](const Tensor& x) { return x.flatten().slice(0, first, first + 1).to(kDouble).item<double>(); };
  std::ostringstream text;
  text.precision(9);
  text << count << " of " << a.numel() << " elements differ, the first at " << first << ": " << number(a) << " for " << number(b);
  return text.str();
}

// As a share of the largest magnitude wanted; infinite where one is no number and the other is.
double error_of(const Tensor& got, const Tensor& want) {
  const Tensor a = got.detach().to(kDouble), b = want.detach().to(kDouble);
  if (!equal(a.isnan(), b.isnan())) return INFINITY;
  const Tensor gap = where(a.eq(b).logical_or(a.isnan()), zeros_like(a), (a - b).abs());
  const double largest = a.numel() ? b.nan_to_num(0, 0, 0).abs().max().item<double>() : 0;
  return a.numel() ? gap.max().item<double>() / std::max(largest, 1e-30) : 0;
}

double worst = 0;  // of the row that runs

std::string compare(const SmokeRow& row, const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  for (size_t i = 0; i < want.size(); ++i) {
    const Tensor here = got[i].detach().cpu();
    if (const std::string where = difference(here, want[i], row.bound); !where.empty()) return "output " + std::to_string(i) + where;
    if (row.bound > 0) worst = std::max(worst, error_of(here, want[i]));
  }
  return "";
}

std::string run_smoke(const SmokeRow& row) {
  std::vector<Tensor> want;
  for (const Tensor& x : row.run(kCPU)) want.push_back(x.detach().contiguous());
  eval(want);
  clear_kernel_history();
  for (int run = 1; run <= kRuns; ++run) {
    std::vector<Tensor> got = row.run(Device("cuda:0"));
    eval(got);
    if (const std::string wrong = compare(row, got, want); !wrong.empty()) return wrong + " (run " + std::to_string(run) + ")";
  }
  return "";
}

// Schedules of the kernels since the history was cleared, and how many were compiled. The host's copies of results are no kernels.
std::string kernels_text() {
  std::set<std::string> schedules;
  int compiled = 0;
  for (const KernelRecord& record : kernel_history()) {
    schedules.insert(record.schedule);
    compiled += record.cache == KernelRecord::Cache::Compiled;
  }
  std::string text = " | ";
  for (const std::string& name : schedules) text += (text.size() > 3 ? ", " : "") + name;
  return text + " | compiled " + std::to_string(compiled);
}

// Prints a row's line; whether it was right.
bool report(const std::string& name, double bound, const std::function<std::string()>& run) {
  std::string wrong;
  worst = 0;
  try {
    wrong = run();
    cuda::synchronize();
  } catch (const std::exception& e) {
    wrong = std::string("error: ") + e.what();
  }
  char result[64] = "ok";
  if (bound > 0) std::snprintf(result, sizeof result, "ok error %.1e, bound %.1e", worst, bound);
  else if (bound == 0) std::snprintf(result, sizeof result, "ok bits");
  std::printf("%s %s%s\n", name.c_str(), wrong.empty() ? result : ("wrong: " + wrong).c_str(), kernels_text().c_str());
  std::fflush(stdout);
  return wrong.empty();
}

int list() {
  for (const SmokeRow& row : smoke_rows()) std::printf("%s\n", row.name.c_str());
  for (const RuntimeRow& row : runtime_rows()) std::printf("%s\n", row.name.c_str());
  return 0;
}

int run(const std::string& name, bool compile) {
  const std::vector<SmokeRow> rows = smoke_rows();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const SmokeRow& row) { return row.name == name; });
  if (found != rows.end() && found->generated) setenv("TENON_CUBLAS", "none", 1);  // read when the library is first looked for
  if (!cuda::is_available()) {
    std::printf("skipped: there is no GPU\n%s\n", info().c_str());
    return 77;
  }
  if (found != rows.end()) {
    if (compile) return eval(found->run(Device("cuda:0"))), 0;
    return report(name, found->bound, [&] { return run_smoke(*found); }) ? 0 : 1;
  }
  for (const RuntimeRow& row : runtime_rows()) {
    if (row.name == name) return report(name, -1, row.run) || compile ? 0 : 1;
  }
  std::printf("%s: no such row\n", name.c_str());
  return 2;
}

}  // namespace

int64_t large(int64_t size) {
  static const bool small = std::getenv("TENON_SMOKE_SMALL") != nullptr;
  return small ? size / 4 : size;
}

std::string difference(const Tensor& got, const Tensor& want, double bound) {
  if (got.sizes() != want.sizes() || got.dtype() != want.dtype()) return ": another size or type";
  if (bound > 0) {
    const double error = error_of(got, want);
    std::ostringstream text;
    text << ": error " << error << ", bound " << bound;
    return error <= bound ? "" : text.str();
  }
  const std::string where = first_difference(canonical(got), canonical(want));
  return where.empty() ? "" : ": " + where;
}

}  // namespace tenon::test

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "list") return tenon::test::list();
  if (argc == 3 && (what == "run" || what == "compile")) return tenon::test::run(argv[2], what == "compile");
  std::printf("usage: gpu_smoke list | run ROW | compile ROW\n");
  return 2;
}
