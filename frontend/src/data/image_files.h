// The readers of labelled images on any source, as the fuzzer calls them.
#pragma once

#include "frontend/src/io/file.h"
#include "tenon/data/image_datasets.h"

namespace tenon::data::datasets::detail {

// An IDX file of bytes with so many dims: [samples] labels below `classes`, or [samples, height, width]
// pixels. Compressed by gzip if its first bytes say so.
Tensor read_idx(io::Source& source, int dims, int classes);
// Records of CIFAR; pixels and targets of all of them are appended.
struct CifarRecords {
  std::string pixels;
  std::vector<int64_t> targets;
};
void read_cifar_file(io::Source& source, int labels, int classes, CifarRecords& out);

}  // namespace tenon::data::datasets::detail
