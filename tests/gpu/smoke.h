// Rows of gpu_smoke: small programs, each for one way in which a GPU can be wrong. A row runs alone in a process, so that an error
// that ends the GPU's context costs one row.
#pragma once

#include <tenon/tenon.h>

#include <functional>
#include <string>
#include <vector>

namespace tenon::test {

// What it computes on the GPU is held against what it computes on the CPU, four times: from the third on a plan is a CUDA graph.
struct SmokeRow {
  std::string name;
  double bound;  // 0: the CPU's bits; else the largest difference, as a share of the largest magnitude
  std::function<std::vector<Tensor>(const Device&)> run;
  bool generated = false;  // without cuBLAS
};
std::vector<SmokeRow> smoke_rows();

// Graphs, training, faults, threads, the end of a process. Empty if all was well, else what was not.
struct RuntimeRow {
  std::string name;
  std::function<std::string()> run;
};
std::vector<RuntimeRow> runtime_rows();

// A size on hardware; a quarter of it with TENON_SMOKE_SMALL=1, for the simulator.
int64_t large(int64_t size);

// Where two results of a row differ; empty if they do not.
std::string difference(const Tensor& got, const Tensor& want, double bound);

}  // namespace tenon::test
