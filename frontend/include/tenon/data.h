// Data: datasets, transforms, samplers and loaders in LibTorch's shape, with torchvision's readers and transforms.
//
//   auto set = data::datasets::PairDataset(x, y).map(data::transforms::Stack<>());
//   auto loader = data::make_data_loader<data::samplers::RandomSampler>(std::move(set), 64);
//   for (auto& batch : *loader) { batch.data; batch.target; }
#pragma once

#include "tenon/data/datasets.h"        // IWYU pragma: export
#include "tenon/data/example.h"         // IWYU pragma: export
#include "tenon/data/image_datasets.h"  // IWYU pragma: export
#include "tenon/data/loader.h"          // IWYU pragma: export
#include "tenon/data/samplers.h"        // IWYU pragma: export
#include "tenon/data/split.h"           // IWYU pragma: export
#include "tenon/data/transforms.h"      // IWYU pragma: export
#include "tenon/data/vision.h"          // IWYU pragma: export
