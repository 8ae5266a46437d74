#!/usr/bin/env bash
# check_absent.sh: what LibTorch has and Tenon has not yet must fail to compile with a sentence that says so, however it is called.
cd "$(dirname "$0")/../.." || exit 1
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
compiler=${CXX:-c++}
failures=0
# Read once: g++ finds it before the header itself, other compilers pass it over.
mkdir "$folder/tenon"
echo '#include <tenon/tenon.h>' >"$folder/all.h"
"$compiler" -std=c++20 -x c++-header -Ifrontend/include "$folder/all.h" -o "$folder/tenon/tenon.h.gch"

# refuses STATEMENT SENTENCE
refuses() {
  printf '#include <tenon/tenon.h>\nusing namespace tenon;\nvoid f(Tensor x, Tensor y, optim::SGD& sgd) { %s }\n' "$1" >"$folder/absent.cpp"
  if "$compiler" -std=c++20 -fsyntax-only -I"$folder" -Ifrontend/include "$folder/absent.cpp" 2>"$folder/errors"; then
    echo "compiles: $1"; failures=1
  elif ! grep -q -F "$2" "$folder/errors"; then
    echo "does not say '$2': $1"; head -5 "$folder/errors"; failures=1
  fi
}

refuses 'stft(x, 400);' 'stft: Tenon has no complex numbers and no Fourier transforms yet'
refuses 'fft::rfft(x);' 'rfft: Tenon has no complex numbers and no Fourier transforms yet'
refuses 'linalg::solve(x, y);' 'solve: Tenon has no matrix decompositions, inverses and solvers yet'
refuses 'linalg_inv(x);' 'linalg_inv: Tenon has no matrix decompositions, inverses and solvers yet'
refuses 'inverse(x);' 'inverse: Tenon has no matrix decompositions, inverses and solvers yet'
refuses 'unique(x);' 'unique: LibTorch has this in Python only; use unique_dim, unique_consecutive or _unique2'
refuses 'unique(x * 2, true);' 'unique: LibTorch has this in Python only'
refuses 'x.unique();' 'Tensor::unique: LibTorch has this in Python only'
refuses 'sparse_coo_tensor(x, y);' 'sparse_coo_tensor: Tenon has no sparse tensors'
refuses 'quantize_per_tensor(x, 0.1, 10, kByte);' 'quantize_per_tensor: Tenon has no quantised tensors'
refuses 'special::gammainc(x, y);' 'gammainc: Tenon does not have this function yet'
refuses 'jit::load("model.pt");' 'load: Tenon reads no TorchScript'
refuses 'x.svd();' 'Tensor::svd: Tenon has no matrix decompositions, inverses and solvers yet'
refuses 'auto [q, r] = x.qr(true);' 'Tensor::qr: Tenon has no matrix decompositions, inverses and solvers yet'
refuses '(x * 2).inverse();' 'Tensor::inverse: Tenon has no matrix decompositions, inverses and solvers yet'
refuses 'x.stft(400);' 'Tensor::stft: Tenon has no complex numbers and no Fourier transforms yet'
refuses 'x.to_sparse();' 'Tensor::to_sparse: Tenon has no sparse tensors'
refuses 'fft_rfft(x);' 'fft_rfft: Tenon has no complex numbers and no Fourier transforms yet'
refuses 'auto [u, s, v] = svd(x);' 'svd: Tenon has no matrix decompositions, inverses and solvers yet'
refuses 'jit::script::Module module = jit::load("model.pt");' 'jit::script::Module: Tenon reads no TorchScript'
refuses 'optim::Adadelta optimizer({x});' 'optim::Adadelta: LibTorch has this in Python only'
refuses 'nn::DataParallel net(x);' 'nn::DataParallel: Tenon spreads no module over several devices'
[ $failures = 0 ] && echo "check_absent: all refused with a sentence"
exit $failures
