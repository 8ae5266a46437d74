// The printed forms of LibTorch 2.15, as its own programs wrote them.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "tenon/tenon.h"

using namespace tenon;
using namespace tenon::indexing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <typename T>
std::string printed(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// The style for the rest of a test.
struct LibTorchForms {
  LibTorchForms() { set_print_style(PrintStyle::LibTorch); }
  ~LibTorchForms() { set_print_style(PrintStyle::Python); }
};

#define PRINTS(value, text) CHECK(printed(value) == text)
#define PRINTS_IN(width, value, text) \
  do {                                \
    std::ostringstream out;           \
    print(out, value, width);         \
    CHECK(out.str() == text);         \
  } while (false)

}  // namespace

TEST_CASE("a vector of sizes prints as sizes do") {
  PRINTS((std::vector<int64_t>{1, 2, 3}), "[1, 2, 3]");
  PRINTS(std::vector<int64_t>(), "[]");
  PRINTS(TensorData({1, 2}), "{1, 2}");
}

TEST_CASE("LibTorch's forms: tensors and what belongs to them") {
  const LibTorchForms forms;
  PRINTS(Tensor(), R"([ Tensor (undefined) ])");
  PRINTS(tensor(1.0), R"(1
[ CPUFloatType{} ])");
  PRINTS(tensor(3), R"(3
[ CPULongType{} ])");
  PRINTS(tensor(true), R"(1
[ CPUBoolType{} ])");
  PRINTS(tensor(0.1), R"(0.10000000149011612
[ CPUFloatType{} ])");
  PRINTS(tensor(1e-5), R"(9.999999747378752e-06
[ CPUFloatType{} ])");
  PRINTS(tensor(1e10), R"(10000000000
[ CPUFloatType{} ])");
  PRINTS(tensor(-2.5f), R"(-2.5
[ CPUFloatType{} ])");
  PRINTS(tensor(7, kByte), R"(7
[ CPUByteType{} ])");
  PRINTS(tensor(1.0 / 3, kDouble), R"(0.3333333333333333
[ CPUDoubleType{} ])");
  PRINTS(tensor(kInf), R"(inf
[ CPUFloatType{} ])");
  PRINTS(tensor(123456789), R"(123456789
[ CPULongType{} ])");
  PRINTS(tensor(2.5).to(kHalf), R"(2.5
[ CPUHalfType{} ])");
  PRINTS(tensor(int64_t(9007199254740993)), R"(9007199254740992
[ CPULongType{} ])");
  PRINTS(tensor(1e16), R"(1.0000000272564224e+16
[ CPUFloatType{} ])");
  PRINTS(tensor(1e15, kDouble), R"(1000000000000000
[ CPUDoubleType{} ])");
  PRINTS(tensor(123456.789e-9, kDouble), R"(0.000123456789
[ CPUDoubleType{} ])");
  PRINTS(tensor({int64_t(9007199254740993)}), R"( 9.0072e+15
[ CPULongType{1} ])");
  PRINTS(tensor({-1e-7}), R"(1e-07 *
-1.0000
[ CPUFloatType{1} ])");
  PRINTS(tensor({{-5.0, -1000000.5}}), R"(-5.0000e+00 -1.0000e+06
[ CPUFloatType{1,2} ])");
  PRINTS(tensor({-0.5, 0.25}), R"(-0.5000
 0.2500
[ CPUFloatType{2} ])");
  PRINTS(tensor({1e6, -1.5}), R"( 1.0000e+06
-1.5000e+00
[ CPUFloatType{2} ])");
  PRINTS(tensor({-1.5, 1e3}), R"(   -1.5000
 1000.0000
[ CPUFloatType{2} ])");
  PRINTS(tensor({1e3, -1e7, 0.5}), R"( 1.0000e+03
-1.0000e+07
 5.0000e-01
[ CPUFloatType{3} ])");
  PRINTS(tensor({0.5, 1e-4}), R"( 0.5000
 0.0001
[ CPUFloatType{2} ])");
  PRINTS(tensor({0.0, 0.25}), R"( 0.0000
 0.2500
[ CPUFloatType{2} ])");
  PRINTS(tensor({0.0, 1e-7}), R"(1e-07 *
 0.0000
 1.0000
[ CPUFloatType{2} ])");
  PRINTS(tensor({0.0, 1e7 + 0.5}), R"(        0
    1e+07
[ CPUFloatType{2} ])");
  PRINTS(tensor(2.0).to(kBFloat16), R"(2
[ CPUBFloat16Type{} ])");
  PRINTS(zeros({0}), R"([ CPUFloatType{0} ])");
  PRINTS(zeros({2, 0}), R"([ CPUFloatType{2,0} ])");
  PRINTS(zeros({0, 3}, kLong), R"([ CPULongType{0,3} ])");
  PRINTS(zeros({1, 0, 2}), R"([ CPUFloatType{1,0,2} ])");
  PRINTS(arange(1, 5).reshape({2, 2}).to(kFloat), R"( 1  2
 3  4
[ CPUFloatType{2,2} ])");
  PRINTS(tensor({1, 2, 3}), R"( 1
 2
 3
[ CPULongType{3} ])");
  PRINTS(tensor({1.5, 2.0}), R"( 1.5000
 2.0000
[ CPUFloatType{2} ])");
  PRINTS(tensor({0.01, 0.02}), R"(0.01 *
 1.0000
 2.0000
[ CPUFloatType{2} ])");
  PRINTS(tensor({1e-3, 1.0}), R"( 0.0010
 1.0000
[ CPUFloatType{2} ])");
  PRINTS(tensor({1e-4, 1.0}), R"( 1.0000e-04
 1.0000e+00
[ CPUFloatType{2} ])");
  PRINTS(tensor({1e-5, 1e-6}), R"(1e-06 *
10.0000
 1.0000
[ CPUFloatType{2} ])");
  PRINTS(tensor({100000.0, 1.5}), R"( 1.0000e+05
 1.5000e+00
[ CPUFloatType{2} ])");
  PRINTS(tensor({1e5, 1e6}), R"(  100000
   1e+06
[ CPUFloatType{2} ])");
  PRINTS(tensor({1e10, 1.0}), R"( 1.0000e+10
 1.0000e+00
[ CPUFloatType{2} ])");
  PRINTS(tensor({1e-10, 1.0}), R"( 1.0000e-10
 1.0000e+00
[ CPUFloatType{2} ])");
  PRINTS(tensor({0.0, 0.0}), R"( 0
 0
[ CPUFloatType{2} ])");
  PRINTS(tensor({-1.5, 2.25, 1000.0}), R"(   -1.5000
    2.2500
 1000.0000
[ CPUFloatType{3} ])");
  PRINTS(tensor({true, false}), R"( 1
 0
[ CPUBoolType{2} ])");
  PRINTS(tensor({{true, false}, {false, true}}), R"( 1  0
 0  1
[ CPUBoolType{2,2} ])");
  PRINTS(tensor({kInf}), R"(inf
[ CPUFloatType{1} ])");
  PRINTS(tensor({99999.0, 1.0}), R"( 99999
     1
[ CPUFloatType{2} ])");
  PRINTS(tensor({100000.0, 1.0}), R"( 100000
      1
[ CPUFloatType{2} ])");
  PRINTS(tensor({-100000.0, 1.0}), R"(-100000
      1
[ CPUFloatType{2} ])");
  PRINTS(tensor({1234567.0}), R"(1.23457e+06
[ CPUFloatType{1} ])");
  PRINTS(tensor({1234.5678}), R"( 1234.5677
[ CPUFloatType{1} ])");
  PRINTS(tensor({12345.678}), R"( 12345.6777
[ CPUFloatType{1} ])");
  PRINTS(tensor({123456.78}), R"(100000 *
 1.2346
[ CPUFloatType{1} ])");
  PRINTS(tensor({0.00012345}), R"(0.0001 *
 1.2345
[ CPUFloatType{1} ])");
  PRINTS(tensor({1, -100, 100000}), R"(      1
   -100
 100000
[ CPULongType{3} ])");
  PRINTS(tensor({int64_t(123456789012)}), R"( 1.2346e+11
[ CPULongType{1} ])");
  PRINTS(tensor({-1}), R"(-1
[ CPULongType{1} ])");
  PRINTS(tensor({1, 2, 255}, kByte), R"(   1
   2
 255
[ CPUByteType{3} ])");
  PRINTS(tensor({1, -2}, kChar), R"( 1
-2
[ CPUCharType{2} ])");
  PRINTS(tensor({1, -2}, kShort), R"( 1
-2
[ CPUShortType{2} ])");
  PRINTS(tensor({1, -2}, kInt), R"( 1
-2
[ CPUIntType{2} ])");
  PRINTS(tensor({1.5, -2.5}, kHalf), R"( 1.5000
-2.5000
[ CPUHalfType{2} ])");
  PRINTS(tensor({1.5, -2.5}, kBFloat16), R"( 1.5000
-2.5000
[ CPUBFloat16Type{2} ])");
  PRINTS(tensor({1.5, -2.25}, kDouble), R"( 1.5000
-2.2500
[ CPUDoubleType{2} ])");
  PRINTS(tensor({1e-300, 1.0}, kDouble), R"( 1.0000e-300
  1.0000e+00
[ CPUDoubleType{2} ])");
  PRINTS(arange(6).reshape({2, 3}).to(kFloat) / 3, R"( 0.0000  0.3333  0.6667
 1.0000  1.3333  1.6667
[ CPUFloatType{2,3} ])");
  PRINTS(arange(6).reshape({2, 3}).to(kFloat) * 0.001, R"(0.001 *
 0.0000  1.0000  2.0000
  3.0000  4.0000  5.0000
[ CPUFloatType{2,3} ])");
  PRINTS(arange(6).reshape({2, 3}).to(kFloat) * 12345.678, R"(     0.0000  12345.6777  24691.3555
 37037.0312  49382.7109  61728.3906
[ CPUFloatType{2,3} ])");
  PRINTS(arange(6).reshape({2, 3}).to(kFloat) * -1234567.8, R"(-0.0000e+00 -1.2346e+06 -2.4691e+06
-3.7037e+06 -4.9383e+06 -6.1728e+06
[ CPUFloatType{2,3} ])");
  PRINTS(arange(6).reshape({2, 3}), R"( 0  1  2
 3  4  5
[ CPULongType{2,3} ])");
  PRINTS(arange(6).reshape({2, 3}) * -1000, R"(    0 -1000 -2000
-3000 -4000 -5000
[ CPULongType{2,3} ])");
  PRINTS(arange(40).reshape({2, 20}).to(kFloat), R"(  0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15  16  17  18  19
 20  21  22  23  24  25  26  27  28  29  30  31  32  33  34  35  36  37  38  39
[ CPUFloatType{2,20} ])");
  PRINTS(arange(40).reshape({2, 20}).to(kFloat) / 7,
         R"(Columns 1 to 10 0.0000  0.1429  0.2857  0.4286  0.5714  0.7143  0.8571  1.0000  1.1429  1.2857
 2.8571  3.0000  3.1429  3.2857  3.4286  3.5714  3.7143  3.8571  4.0000  4.1429

Columns 11 to 20 1.4286  1.5714  1.7143  1.8571  2.0000  2.1429  2.2857  2.4286  2.5714  2.7143
 4.2857  4.4286  4.5714  4.7143  4.8571  5.0000  5.1429  5.2857  5.4286  5.5714
[ CPUFloatType{2,20} ])");
  PRINTS(arange(60).reshape({2, 30}) * 1000, R"(Columns 1 to 11     0   1000   2000   3000   4000   5000   6000   7000   8000   9000  10000
 30000  31000  32000  33000  34000  35000  36000  37000  38000  39000  40000

Columns 12 to 22 11000  12000  13000  14000  15000  16000  17000  18000  19000  20000  21000
 41000  42000  43000  44000  45000  46000  47000  48000  49000  50000  51000

Columns 23 to 30 22000  23000  24000  25000  26000  27000  28000  29000
 52000  53000  54000  55000  56000  57000  58000  59000
[ CPULongType{2,30} ])");
  PRINTS(arange(60).reshape({2, 30}).to(kFloat) * 1e-7, R"(Columns 1 to 101e-06 *
 0.0000  0.1000  0.2000  0.3000  0.4000  0.5000  0.6000  0.7000  0.8000  0.9000
  3.0000  3.1000  3.2000  3.3000  3.4000  3.5000  3.6000  3.7000  3.8000  3.9000

Columns 11 to 201e-06 *
 1.0000  1.1000  1.2000  1.3000  1.4000  1.5000  1.6000  1.7000  1.8000  1.9000
  4.0000  4.1000  4.2000  4.3000  4.4000  4.5000  4.6000  4.7000  4.8000  4.9000

Columns 21 to 301e-06 *
 2.0000  2.1000  2.2000  2.3000  2.4000  2.5000  2.6000  2.7000  2.8000  2.9000
  5.0000  5.1000  5.2000  5.3000  5.4000  5.5000  5.6000  5.7000  5.8000  5.9000
[ CPUFloatType{2,30} ])");
  PRINTS(arange(50).reshape({1, 50}), R"(Columns 1 to 20  0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15  16  17  18  19

Columns 21 to 40 20  21  22  23  24  25  26  27  28  29  30  31  32  33  34  35  36  37  38  39

Columns 41 to 50 40  41  42  43  44  45  46  47  48  49
[ CPULongType{1,50} ])");
  PRINTS(arange(12).reshape({2, 2, 3}), R"((1,.,.) = 
 0  1  2
  3  4  5

(2,.,.) = 
  6   7   8
   9  10  11
[ CPULongType{2,2,3} ])");
  PRINTS(arange(12).reshape({2, 2, 3}).to(kFloat) / 7, R"((1,.,.) = 
 0.0000  0.1429  0.2857
  0.4286  0.5714  0.7143

(2,.,.) = 
 0.8571  1.0000  1.1429
  1.2857  1.4286  1.5714
[ CPUFloatType{2,2,3} ])");
  PRINTS(arange(12).reshape({2, 1, 2, 3}).to(kFloat), R"((1,1,.,.) = 
 0  1  2
  3  4  5

(2,1,.,.) = 
  6   7   8
   9  10  11
[ CPUFloatType{2,1,2,3} ])");
  PRINTS(arange(8).reshape({1, 2, 2, 2}).to(kFloat) * 1e-6, R"((1,1,.,.) = 
1e-06 *
  0.0000  1.0000
   2.0000  3.0000

(1,2,.,.) = 
1e-06 *
  4.0000  5.0000
   6.0000  7.0000
[ CPUFloatType{1,2,2,2} ])");
  PRINTS(arange(100).reshape({1, 2, 50}), R"((1,.,.) = 
Columns 1 to 19   0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15  16  17  18
  50  51  52  53  54  55  56  57  58  59  60  61  62  63  64  65  66  67  68

Columns 20 to 38  19  20  21  22  23  24  25  26  27  28  29  30  31  32  33  34  35  36  37
  69  70  71  72  73  74  75  76  77  78  79  80  81  82  83  84  85  86  87

Columns 39 to 50  38  39  40  41  42  43  44  45  46  47  48  49
  88  89  90  91  92  93  94  95  96  97  98  99
[ CPULongType{1,2,50} ])");
  PRINTS(arange(4).reshape({1, 1, 1, 4}), R"((1,1,.,.) = 
 0  1  2  3
[ CPULongType{1,1,1,4} ])");
  PRINTS(arange(6).reshape({3, 2}).t(), R"( 0  2  4
 1  3  5
[ CPULongType{2,3} ])");
  PRINTS(zeros({2, 2}), R"( 0  0
 0  0
[ CPUFloatType{2,2} ])");
  PRINTS(eye(3), R"( 1  0  0
 0  1  0
 0  0  1
[ CPUFloatType{3,3} ])");
  PRINTS(ones({2, 2}, kInt), R"( 1  1
 1  1
[ CPUIntType{2,2} ])");
  PRINTS(ones({3, 1}), R"( 1
 1
 1
[ CPUFloatType{3,1} ])");
  PRINTS(full({2, 2}, 0.5), R"( 0.5000  0.5000
 0.5000  0.5000
[ CPUFloatType{2,2} ])");
  PRINTS(full({2, 2}, 1e-8), R"(1e-09 *
10.0000 10.0000
 10.0000 10.0000
[ CPUFloatType{2,2} ])");
  PRINTS(full({1, 1}, 1e38), R"( 1.0000e+38
[ CPUFloatType{1,1} ])");
  PRINTS(tensor({{1.0, 1e-9}, {1e9, 2.0}}), R"( 1.0000e+00  1.0000e-09
 1.0000e+09  2.0000e+00
[ CPUFloatType{2,2} ])");
  PRINTS(tensor({{1e20, 1.0}}), R"( 1.0000e+20  1.0000e+00
[ CPUFloatType{1,2} ])");
  PRINTS(tensor({{-0.0, 1.0}}), R"(-0  1
[ CPUFloatType{1,2} ])");
  PRINTS(tensor({{0.0, -1.5}}), R"( 0.0000 -1.5000
[ CPUFloatType{1,2} ])");
  PRINTS(ones({2}, requires_grad()), R"( 1
 1
[ CPUFloatType{2} ])");
  PRINTS(ones({2, 2}, requires_grad()) * 2, R"( 2  2
 2  2
[ CPUFloatType{2,2} ])");
  PRINTS(ones({2}, requires_grad()), R"( 1
 1
[ CPUFloatType{2} ])");
  PRINTS(TensorList({tensor({1, 2}), tensor(3)}), R"([ 1
 2
[ CPULongType{2} ], 3
[ CPULongType{} ]])");
  PRINTS_IN(20, arange(12).reshape({2, 6}).to(kFloat) / 7, R"(Columns 1 to 2 0.0000  0.1429
 0.8571  1.0000

Columns 3 to 4 0.2857  0.4286
 1.1429  1.2857

Columns 5 to 6 0.5714  0.7143
 1.4286  1.5714
[ CPUFloatType{2,6} ])");
  PRINTS_IN(40, arange(24).reshape({2, 12}), R"(Columns 1 to 10  0   1   2   3   4   5   6   7   8   9
 12  13  14  15  16  17  18  19  20  21

Columns 11 to 12 10  11
 22  23
[ CPULongType{2,12} ])");
  PRINTS_IN(30, arange(6).reshape({2, 3}) * 100000, R"(      0  100000  200000
 300000  400000  500000
[ CPULongType{2,3} ])");
  PRINTS_IN(80, tensor({1.5}), R"( 1.5000
[ CPUFloatType{1} ])");
  PRINTS_IN(
      120, arange(60).reshape({2, 30}) * 1000,
      R"(Columns 1 to 17     0   1000   2000   3000   4000   5000   6000   7000   8000   9000  10000  11000  12000  13000  14000  15000  16000
 30000  31000  32000  33000  34000  35000  36000  37000  38000  39000  40000  41000  42000  43000  44000  45000  46000

Columns 18 to 30 17000  18000  19000  20000  21000  22000  23000  24000  25000  26000  27000  28000  29000
 47000  48000  49000  50000  51000  52000  53000  54000  55000  56000  57000  58000  59000
[ CPULongType{2,30} ])");
  PRINTS(IntArrayRef({1, 2}), R"([1, 2])");
  PRINTS(ones(2).sizes(), R"([2])");
  PRINTS(Scalar(1.5), R"(1.5)");
  PRINTS(Scalar(2), R"(2)");
  PRINTS(Scalar(true), R"(true)");
  PRINTS(kFloat, R"(Float)");
  PRINTS(ones(2).dtype(), R"(float)");
  PRINTS(ones(2).device(), R"(cpu)");
  PRINTS(kCUDA, R"(cuda)");
  PRINTS(kStrided, R"(Strided)");
  PRINTS(Slice(), R"(0:4611686018427387903:1)");
  PRINTS(Slice(1, 2, 3), R"(1:2:3)");
  PRINTS(Slice(None, 5), R"(0:5:1)");
  PRINTS(TensorIndex(None), R"(None)");
  PRINTS(TensorIndex("..."), R"(...)");
  PRINTS(TensorIndex(true), R"(true)");
  PRINTS(TensorIndex(3), R"(3)");
  PRINTS(TensorIndex(tensor({1})), R"( 1
[ CPULongType{1} ])");
  PRINTS((std::vector<TensorIndex>{None, "...", 1, Slice(), tensor({1, 2})}), R"((None, ..., 1, 0:4611686018427387903:1,  1
 2
[ CPULongType{2} ]))");
  PRINTS(ExpandingArray<2>({1, 2}), R"([1, 2])");
  PRINTS(ExpandingArray<1>(4), R"(4)");
}

TEST_CASE("LibTorch's forms: nan, and numbers beside it") {
  const LibTorchForms forms;
  const double nan = std::nan("");
  PRINTS(tensor(nan), "nan\n[ CPUFloatType{} ]");
  PRINTS(tensor({1.5, nan, kInf, -kInf}), " 1.5000\n    nan\n    inf\n   -inf\n[ CPUFloatType{4} ]");
  PRINTS(tensor({{nan, 1.0}, {kInf, 2.0}}), "nan  1\ninf  2\n[ CPUFloatType{2,2} ]");
}

TEST_CASE("LibTorch's forms: modules") {
  const LibTorchForms forms;
  PRINTS(*nn::Linear(3, 4), R"(torch::nn::Linear(in_features=3, out_features=4, bias=true))");
  PRINTS(nn::Linear(3, 4), R"(torch::nn::Linear(in_features=3, out_features=4, bias=true))");
  PRINTS(nn::Linear(nn::LinearOptions(3, 4).bias(false)), R"(torch::nn::Linear(in_features=3, out_features=4, bias=false))");
  PRINTS(nn::Bilinear(2, 3, 4), R"(torch::nn::Bilinear(in1_features=2, in2_features=3, out_features=4, bias=true))");
  PRINTS(nn::Identity(), R"(torch::nn::Identity())");
  PRINTS(nn::Flatten(), R"(torch::nn::Flatten(start_dim=1, end_dim=-1))");
  PRINTS(nn::Flatten(nn::FlattenOptions().start_dim(2).end_dim(3)), R"(torch::nn::Flatten(start_dim=2, end_dim=3))");
  PRINTS(nn::Unflatten(nn::UnflattenOptions(1, {2, 3})), R"(torch::nn::Unflatten(dim=1, unflattened_size={2, 3}))");
  PRINTS(nn::Conv1d(3, 4, 5), R"(torch::nn::Conv1d(3, 4, kernel_size=5, stride=1))");
  PRINTS(nn::Conv2d(3, 4, 5), R"(torch::nn::Conv2d(3, 4, kernel_size=[5, 5], stride=[1, 1]))");
  PRINTS(
      nn::Conv2d(nn::Conv2dOptions(4, 8, {3, 5}).stride(2).padding({1, 2}).dilation(2).groups(2).bias(false).padding_mode(kReflect)),
      R"(torch::nn::Conv2d(4, 8, kernel_size=[3, 5], stride=[2, 2], padding=[1, 2], dilation=[2, 2], groups=2, bias=false, padding_mode=kReflect))");
  PRINTS(nn::Conv2d(nn::Conv2dOptions(4, 8, 3).padding(kSame)),
         R"(torch::nn::Conv2d(4, 8, kernel_size=[3, 3], stride=[1, 1], padding='same'))");
  PRINTS(nn::Conv2d(nn::Conv2dOptions(4, 8, 3).padding(kValid).padding_mode(kCircular)),
         R"(torch::nn::Conv2d(4, 8, kernel_size=[3, 3], stride=[1, 1], padding='valid', padding_mode=kCircular))");
  PRINTS(nn::Conv3d(nn::Conv3dOptions(3, 4, {1, 2, 3})), R"(torch::nn::Conv3d(3, 4, kernel_size=[1, 2, 3], stride=[1, 1, 1]))");
  PRINTS(nn::Conv2d(nn::Conv2dOptions(4, 8, 3).padding_mode(kReplicate)),
         R"(torch::nn::Conv2d(4, 8, kernel_size=[3, 3], stride=[1, 1], padding_mode=kReplicate))");
  PRINTS(nn::Conv1d(nn::Conv1dOptions(4, 8, 3).stride(2).padding(1).dilation(2)),
         R"(torch::nn::Conv1d(4, 8, kernel_size=3, stride=2, padding=1, dilation=2))");
  PRINTS(nn::ConvTranspose1d(3, 4, 5), R"(torch::nn::ConvTranspose1d(3, 4, kernel_size=5, stride=1))");
  PRINTS(
      nn::ConvTranspose2d(nn::ConvTranspose2dOptions(4, 8, 3).stride(2).padding(1).output_padding(1).groups(2).dilation(2).bias(false)),
      R"(torch::nn::ConvTranspose2d(4, 8, kernel_size=[3, 3], stride=[2, 2], padding=[1, 1], dilation=[2, 2], output_padding=[1, 1], groups=2, bias=false))");
  PRINTS(nn::ConvTranspose3d(3, 4, 5), R"(torch::nn::ConvTranspose3d(3, 4, kernel_size=[5, 5, 5], stride=[1, 1, 1]))");
  PRINTS(nn::MaxPool1d(3), R"(torch::nn::MaxPool1d(kernel_size=3, stride=3, padding=0, dilation=1, ceil_mode=false))");
  PRINTS(nn::MaxPool2d(nn::MaxPool2dOptions({3, 2}).stride({2, 1}).padding(1).dilation(2).ceil_mode(true)),
         R"(torch::nn::MaxPool2d(kernel_size=[3, 2], stride=[2, 1], padding=[1, 1], dilation=[2, 2], ceil_mode=true))");
  PRINTS(nn::MaxPool3d(2),
         R"(torch::nn::MaxPool3d(kernel_size=[2, 2, 2], stride=[2, 2, 2], padding=[0, 0, 0], dilation=[1, 1, 1], ceil_mode=false))");
  PRINTS(nn::AvgPool1d(3), R"(torch::nn::AvgPool1d(kernel_size=3, stride=3, padding=0))");
  PRINTS(nn::AvgPool2d(nn::AvgPool2dOptions({3, 2}).stride(2).padding(1).ceil_mode(true).count_include_pad(false).divisor_override(3)),
         R"(torch::nn::AvgPool2d(kernel_size=[3, 2], stride=[2, 2], padding=[1, 1]))");
  PRINTS(nn::AvgPool3d(2), R"(torch::nn::AvgPool3d(kernel_size=[2, 2, 2], stride=[2, 2, 2], padding=[0, 0, 0]))");
  PRINTS(nn::AdaptiveAvgPool1d(3), R"(torch::nn::AdaptiveAvgPool1d(output_size=3))");
  PRINTS(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({3, 5})), R"(torch::nn::AdaptiveAvgPool2d(output_size=[3, 5]))");
  PRINTS(nn::AdaptiveAvgPool2d(1), R"(torch::nn::AdaptiveAvgPool2d(output_size=[1, 1]))");
  PRINTS(nn::AdaptiveMaxPool1d(3), R"(torch::nn::AdaptiveMaxPool1d(output_size=3))");
  PRINTS(nn::AdaptiveMaxPool2d(3), R"(torch::nn::AdaptiveMaxPool2d(output_size=[3, 3]))");
  PRINTS(nn::AdaptiveMaxPool3d(3), R"(torch::nn::AdaptiveMaxPool3d(output_size=[3, 3, 3]))");
  PRINTS(nn::ReLU(), R"(torch::nn::ReLU())");
  PRINTS(nn::ReLU(nn::ReLUOptions(true)), R"(torch::nn::ReLU(inplace=true))");
  PRINTS(nn::ReLU6(), R"(torch::nn::ReLU6())");
  PRINTS(nn::ReLU6(true), R"(torch::nn::ReLU6(inplace=true))");
  PRINTS(nn::SELU(), R"(torch::nn::SELU())");
  PRINTS(nn::SELU(true), R"(torch::nn::SELU(inplace=true))");
  PRINTS(nn::ELU(), R"(torch::nn::ELU(alpha=1))");
  PRINTS(nn::ELU(nn::ELUOptions().alpha(0.5).inplace(true)), R"(torch::nn::ELU(alpha=0.5, inplace=true))");
  PRINTS(nn::CELU(), R"(torch::nn::CELU(alpha=1))");
  PRINTS(nn::CELU(nn::CELUOptions().alpha(0.5).inplace(true)), R"(torch::nn::CELU(alpha=0.5, inplace=true))");
  PRINTS(nn::GELU(), R"(torch::nn::GELU())");
  PRINTS(nn::GELU(nn::GELUOptions().approximate("tanh")), R"(torch::nn::GELU())");
  PRINTS(nn::GLU(), R"(torch::nn::GLU(dim=-1))");
  PRINTS(nn::GLU(1), R"(torch::nn::GLU(dim=1))");
  PRINTS(nn::LeakyReLU(), R"(torch::nn::LeakyReLU(negative_slope=0.01))");
  PRINTS(nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2).inplace(true)),
         R"(torch::nn::LeakyReLU(negative_slope=0.2, inplace=true))");
  PRINTS(nn::Hardtanh(), R"(torch::nn::Hardtanh(min_val=-1, max_val=1))");
  PRINTS(nn::Hardtanh(nn::HardtanhOptions().min_val(-2).max_val(3).inplace(true)),
         R"(torch::nn::Hardtanh(min_val=-2, max_val=3, inplace=true))");
  PRINTS(nn::Hardshrink(), R"(torch::nn::Hardshrink(0.5))");
  PRINTS(nn::Hardshrink(0.25), R"(torch::nn::Hardshrink(0.25))");
  PRINTS(nn::Softshrink(), R"(torch::nn::Softshrink(0.5))");
  PRINTS(nn::Softplus(), R"(torch::nn::Softplus(beta=1, threshold=20))");
  PRINTS(nn::Softplus(nn::SoftplusOptions().beta(0.5).threshold(3)), R"(torch::nn::Softplus(beta=0.5, threshold=3))");
  PRINTS(nn::Sigmoid(), R"(torch::nn::Sigmoid())");
  PRINTS(nn::Tanh(), R"(torch::nn::Tanh())");
  PRINTS(nn::SiLU(), R"(torch::nn::SiLU())");
  PRINTS(nn::Mish(), R"(torch::nn::Mish())");
  PRINTS(nn::Softsign(), R"(torch::nn::Softsign())");
  PRINTS(nn::Tanhshrink(), R"(torch::nn::Tanhshrink())");
  PRINTS(nn::LogSigmoid(), R"(torch::nn::LogSigmoid())");
  PRINTS(nn::Softmax(1), R"(torch::nn::Softmax(dim=1))");
  PRINTS(nn::LogSoftmax(1), R"(torch::nn::LogSoftmax(dim=1))");
  PRINTS(nn::Softmin(1), R"(torch::nn::Softmin(dim=1))");
  PRINTS(nn::PReLU(), R"(torch::nn::PReLU(num_parameters=1))");
  PRINTS(nn::PReLU(nn::PReLUOptions().num_parameters(3)), R"(torch::nn::PReLU(num_parameters=3))");
  PRINTS(nn::Dropout(), R"(torch::nn::Dropout(p=0.5, inplace=false))");
  PRINTS(nn::Dropout(0.25), R"(torch::nn::Dropout(p=0.25, inplace=false))");
  PRINTS(nn::Dropout(nn::DropoutOptions(0.1).inplace(true)), R"(torch::nn::Dropout(p=0.1, inplace=true))");
  PRINTS(nn::Dropout2d(), R"(torch::nn::Dropout2d(p=0.5, inplace=false))");
  PRINTS(nn::Dropout3d(), R"(torch::nn::Dropout3d(p=0.5, inplace=false))");
  PRINTS(nn::AlphaDropout(), R"(torch::nn::AlphaDropout(p=0.5, inplace=false))");
  PRINTS(nn::BatchNorm1d(3), R"(torch::nn::BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=true, track_running_stats=true))");
  PRINTS(nn::BatchNorm2d(nn::BatchNorm2dOptions(3).eps(1e-3).momentum(0.2).affine(false).track_running_stats(false)),
         R"(torch::nn::BatchNorm2d(3, eps=0.001, momentum=0.2, affine=false, track_running_stats=false))");
  PRINTS(nn::BatchNorm2d(nn::BatchNorm2dOptions(3).momentum(nullopt)),
         R"(torch::nn::BatchNorm2d(3, eps=1e-05, momentum=None, affine=true, track_running_stats=true))");
  PRINTS(nn::BatchNorm3d(3), R"(torch::nn::BatchNorm3d(3, eps=1e-05, momentum=0.1, affine=true, track_running_stats=true))");
  PRINTS(nn::LayerNorm(nn::LayerNormOptions({3, 4})), R"(torch::nn::LayerNorm([3, 4], eps=1e-05, elementwise_affine=true))");
  PRINTS(nn::LayerNorm(nn::LayerNormOptions({3}).eps(1e-6).elementwise_affine(false)),
         R"(torch::nn::LayerNorm([3], eps=1e-06, elementwise_affine=false))");
  PRINTS(nn::GroupNorm(2, 4), R"(torch::nn::GroupNorm(2, 4, eps=1e-05, affine=true))");
  PRINTS(nn::GroupNorm(nn::GroupNormOptions(2, 4).eps(0.1).affine(false)), R"(torch::nn::GroupNorm(2, 4, eps=0.1, affine=false))");
  PRINTS(nn::Embedding(5, 3), R"(torch::nn::Embedding(num_embeddings=5, embedding_dim=3))");
  PRINTS(nn::Embedding(nn::EmbeddingOptions(5, 3).padding_idx(1)),
         R"(torch::nn::Embedding(num_embeddings=5, embedding_dim=3, padding_idx=1))");
  PRINTS(nn::RNN(3, 4),
         R"(torch::nn::RNN(input_size=3, hidden_size=4, num_layers=1, bias=true, batch_first=false, dropout=0, bidirectional=false))");
  PRINTS(nn::RNN(nn::RNNOptions(3, 4).num_layers(2).bias(false).batch_first(true).dropout(0.5).bidirectional(true).nonlinearity(kReLU)),
         R"(torch::nn::RNN(input_size=3, hidden_size=4, num_layers=2, bias=false, batch_first=true, dropout=0.5, bidirectional=true))");
  PRINTS(nn::LSTM(3, 4),
         R"(torch::nn::LSTM(input_size=3, hidden_size=4, num_layers=1, bias=true, batch_first=false, dropout=0, bidirectional=false))");
  PRINTS(nn::LSTM(nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true)),
         R"(torch::nn::LSTM(input_size=3, hidden_size=4, num_layers=2, bias=true, batch_first=false, dropout=0, bidirectional=true))");
  PRINTS(nn::GRU(3, 4),
         R"(torch::nn::GRU(input_size=3, hidden_size=4, num_layers=1, bias=true, batch_first=false, dropout=0, bidirectional=false))");
  PRINTS(nn::MultiheadAttention(4, 2), R"(torch::nn::MultiheadAttention(
  (out_proj): torch::nn::Linear(in_features=4, out_features=4, bias=true)
))");
  PRINTS(nn::CrossEntropyLoss(), R"(torch::nn::CrossEntropyLoss())");
  PRINTS(nn::NLLLoss(), R"(torch::nn::NLLLoss())");
  PRINTS(nn::MSELoss(), R"(torch::nn::MSELoss())");
  PRINTS(nn::L1Loss(), R"(torch::nn::L1Loss())");
  PRINTS(nn::SmoothL1Loss(), R"(torch::nn::SmoothL1Loss)");
  PRINTS(nn::HuberLoss(), R"(torch::nn::HuberLoss)");
  PRINTS(nn::HuberLoss(nn::HuberLossOptions().delta(0.5)), R"(torch::nn::HuberLoss)");
  PRINTS(nn::BCELoss(), R"(torch::nn::BCELoss())");
  PRINTS(nn::BCEWithLogitsLoss(), R"(torch::nn::BCEWithLogitsLoss())");
  PRINTS(nn::KLDivLoss(), R"(torch::nn::KLDivLoss())");
  PRINTS(nn::Functional(relu), R"(torch::nn::Functional())");
  PRINTS(
      TensorOptions(),
      R"(TensorOptions(dtype=float (default), device=cpu (default), layout=Strided (default), requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt)))");
  PRINTS(
      TensorOptions(kHalf).device(Device(kCPU)).requires_grad(true).layout(kStrided),
      R"(TensorOptions(dtype=c10::Half, device=cpu, layout=Strided, requires_grad=true, pinned_memory=false (default), memory_format=(nullopt)))");
  PRINTS(
      TensorOptions().dtype(kLong).device(Device("cuda:1")).layout(kSparse).requires_grad(false),
      R"(TensorOptions(dtype=long int, device=cuda:1, layout=Sparse, requires_grad=false, pinned_memory=false (default), memory_format=(nullopt)))");
  PRINTS(nn::Sequential(), R"(torch::nn::Sequential)");
  PRINTS(nn::Sequential(nn::Linear(1, 2), nn::ReLU()), R"(torch::nn::Sequential(
  (0): torch::nn::Linear(in_features=1, out_features=2, bias=true)
  (1): torch::nn::ReLU()
))");
  PRINTS(nn::Sequential(nn::Linear(1, 2), nn::Dropout(0.1), nn::Conv2d(1, 1, 1)), R"(torch::nn::Sequential(
  (0): torch::nn::Linear(in_features=1, out_features=2, bias=true)
  (1): torch::nn::Dropout(p=0.1, inplace=false)
  (2): torch::nn::Conv2d(1, 1, kernel_size=[1, 1], stride=[1, 1])
))");
  PRINTS(nn::ModuleList(), R"(torch::nn::ModuleList)");
  PRINTS(nn::ModuleList(nn::Linear(1, 2), nn::ReLU()), R"(torch::nn::ModuleList(
  (0): torch::nn::Linear(in_features=1, out_features=2, bias=true)
  (1): torch::nn::ReLU()
))");
  nn::Sequential named;
  named->push_back("fc", nn::Linear(1, 2));
  named->push_back(nn::ReLU());
  PRINTS(named, R"(torch::nn::Sequential(
  (fc): torch::nn::Linear(in_features=1, out_features=2, bias=true)
  (1): torch::nn::ReLU()
))");
  struct Given : nn::Module {
    Given() : nn::Module("MyNet") { register_module("fc", nn::Linear(1, 2)); }
  };
  PRINTS(Given(), R"(MyNet(
  (fc): torch::nn::Linear(in_features=1, out_features=2, bias=true)
))");
  PRINTS(nn::Module("Leaf"), "Leaf");
  CHECK(nn::Linear(1, 2)->name() == "torch::nn::LinearImpl");
}

TEST_CASE("the print style is a switch") {
  CHECK(get_print_style() == PrintStyle::Python);
  CHECK(printed(tensor({1, 2})) == "tensor([1, 2])");
  {
    const LibTorchForms forms;
    CHECK(repr(tensor({1, 2})) == "tensor([1, 2])");  // Python's whatever the style
    CHECK(printed(tensor({1, 2})) == " 1\n 2\n[ CPULongType{2} ]");
  }
  CHECK(printed(nn::Linear(1, 2)) == "Linear(in_features=1, out_features=2, bias=True)");
}
