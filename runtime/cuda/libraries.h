// Finds and loads NVIDIA's libraries, each at its first use and once a process. Nothing is linked: what is missing is an answer.
//
//   where, in this order        the file that TENON_CUDA_DRIVER, TENON_NVRTC or TENON_CUBLAS names, and then no other
//                               what the process has loaded already (a program's PyTorch shares its copy)
//                               the dynamic linker's own search for the soname
//                               the folders of NVIDIA's Python wheels beside this library
//                               $CUDA_HOME, $CUDA_PATH, $CONDA_PREFIX, /usr/local/cuda: lib64, lib, targets/x86_64-linux/lib
//   versions                    sonames of CUDA 13, then 12; the driver has only libcuda.so.1
#pragma once

#include <string>
#include <vector>

#include "runtime/cuda/api.h"

namespace tenon::runtime::cuda {

struct Library {
  std::string file;                // that was loaded; empty: none
  std::vector<std::string> tried;  // a line for each file that did not do, with the linker's reason
  bool found() const { return !file.empty(); }
  std::string why() const;  // why it was not found, in one sentence
};

// Null if the library is missing or lacks a function.
const Driver* driver();
const Graphs* graphs();  // of the driver
const Nvrtc* nvrtc();
const Cublas* cublas();

const Library& driver_library();
const Library& nvrtc_library();
const Library& cublas_library();

// Whether there is a file that looks like cuBLAS, without loading it: it is large, and most programs multiply no large matrices.
bool cublas_is_there();

}  // namespace tenon::runtime::cuda
