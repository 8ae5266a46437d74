// Everything of Tenon's public API.
#pragma once

#include "tenon/algebra.h"        // IWYU pragma: export
#include "tenon/autograd.h"       // IWYU pragma: export
#include "tenon/creation.h"       // IWYU pragma: export
#include "tenon/cuda.h"           // IWYU pragma: export
#include "tenon/data.h"           // IWYU pragma: export
#include "tenon/dlpack.h"         // IWYU pragma: export
#include "tenon/error.h"          // IWYU pragma: export
#include "tenon/indexing.h"       // IWYU pragma: export
#include "tenon/inspect.h"        // IWYU pragma: export
#include "tenon/io.h"             // IWYU pragma: export
#include "tenon/neural.h"         // IWYU pragma: export
#include "tenon/nn/functional.h"  // IWYU pragma: export
#include "tenon/nn/init.h"        // IWYU pragma: export
#include "tenon/nn/layers.h"      // IWYU pragma: export
#include "tenon/nn/module.h"      // IWYU pragma: export
#include "tenon/ops.h"            // IWYU pragma: export
#include "tenon/ordered_dict.h"   // IWYU pragma: export
#include "tenon/optim.h"          // IWYU pragma: export
#include "tenon/out.h"            // IWYU pragma: export
#include "tenon/print.h"          // IWYU pragma: export
#include "tenon/random.h"         // IWYU pragma: export
#include "tenon/tensor.h"         // IWYU pragma: export
#include "tenon/warning.h"        // IWYU pragma: export
