// The main example: a trained network of three layers (4-8-9-3, relu) tells the species of iris flowers from
// four measurements. Reads 150 flowers from a CSV file and the weights from .npy files, prints the accuracy
// on the 30 test rows, and then what the library made of the program: which kernels, what each fused, and how
// long they took.
//
//   iris_predict [--device cpu|cuda] [FOLDER]    FOLDER holds iris.csv, test_indices.npy and final.*.npy (default: examples/data)
#include <cstdio>
#include <iostream>
#include <string>

#include "data.h"
#include "device.h"

#ifndef TENON_EXAMPLE_DATA
#define TENON_EXAMPLE_DATA "examples/data"
#endif

namespace {

// One linear layer: y = x W^T + b, as PyTorch stores it.
struct Linear {
  tenon::Tensor weight, bias;
  Linear(const std::string& folder, const std::string& name, tenon::Device device)
      : weight(tenon::io::load_npy(examples::data_file(folder, "final." + name + ".weight.npy")).to(device)),
        bias(tenon::io::load_npy(examples::data_file(folder, "final." + name + ".bias.npy")).to(device)) {}
  tenon::Tensor operator()(const tenon::Tensor& x) const { return tenon::matmul(x, weight.t()) + bias; }
};

const char* cache_name(tenon::KernelRecord::Cache cache) {
  switch (cache) {
    case tenon::KernelRecord::Cache::Memory: return "in memory";
    case tenon::KernelRecord::Cache::Disk: return "from disk";
    default: return "compiled";
  }
}

void print_kernels() {
  std::printf("\n%-38s %-12s %4s %9s  %-10s %11s %9s\n", "kernel", "schedule", "ops", "bytes", "code", "compile ms", "run us");
  for (const tenon::KernelRecord& k : tenon::kernel_history())
    std::printf("%-38s %-12s %4d %9lld  %-10s %11.2f %9.1f\n", k.name.c_str(), k.schedule.c_str(), k.ops, static_cast<long long>(k.bytes),
                cache_name(k.cache), k.compile_ms, k.run_us);
  std::printf("\nlook at the column 'code': a second run of this program compiles nothing\n");
}

void run(const std::string& folder, tenon::Device device) {
  const std::string flowers = examples::data_file(folder, "iris.csv");
  std::cout << "iris_predict: a trained network tells the species of 150 iris flowers; then the kernels that "
               "the library made of it\n";
  tenon::io::Csv csv = tenon::io::read_csv(flowers);
  tenon::Tensor measurements = csv.matrix().slice(1, 0, 4).to(tenon::kFloat32);                    // [150, 4], cm
  tenon::Tensor species = csv["target"].to(tenon::kInt64);                                         // [150], 0 to 2
  tenon::Tensor test_rows = tenon::io::load_npy(examples::data_file(folder, "test_indices.npy"));  // [30]
  std::cout << "read " << csv.rows() << " flowers; the first: " << measurements[0] << "\n";

  Linear fc1(folder, "fc1", device), fc2(folder, "fc2", device), out(folder, "out", device);
  tenon::Tensor hidden = tenon::relu(fc2(tenon::relu(fc1(measurements.to(device)))));
  tenon::Tensor probability = tenon::softmax(out(hidden), 1);  // [150, 3]
  tenon::Tensor guess = probability.argmax(1);                 // [150]

  // Nothing has run yet: everything above is a graph, and this is the plan for it.
  std::string plan = tenon::explain(tenon::TensorList({probability, guess}));
  tenon::clear_kernel_history();
  tenon::eval(probability, guess);

  int64_t right = 0, count = test_rows.size(0);
  auto row = test_rows.accessor<int64_t, 1>();
  const tenon::Tensor guess_here = guess.cpu();
  auto guessed = guess_here.accessor<int64_t, 1>(), truth = species.accessor<int64_t, 1>();
  for (int64_t i = 0; i < count; ++i) right += guessed[row[i]] == truth[row[i]];
  std::cout << "probabilities of the first: " << probability[0] << "\n" << right << " of " << count << " right\n\n" << plan;
  print_kernels();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const tenon::Device device = examples::take_device(argc, argv);
    run(argc > 1 ? argv[1] : TENON_EXAMPLE_DATA, device);
  } catch (const tenon::Error& error) {
    std::cerr << "iris_predict: " << error.what() << "\n";
    return 1;
  }
}
