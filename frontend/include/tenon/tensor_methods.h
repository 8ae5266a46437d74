// Printed from frontend/functions.def by scripts/print/make_functions.py.
// The methods of a tensor that record an operation, as declared in the class Tensor. tensor.h includes this file twice:
// for tensors with a name, and for temporaries, whose values nobody will want again (see Operand there). TENON_KIND is
// the kind of object, `const&` or `&&`. Each method is the function of its name, whose header says what it does.

  // --- elementwise
  Tensor abs() TENON_KIND;
  Tensor absolute() TENON_KIND;
  Tensor neg() TENON_KIND;
  Tensor negative() TENON_KIND;
  Tensor sign() TENON_KIND;
  Tensor sgn() TENON_KIND;
  Tensor square() TENON_KIND;
  Tensor sqrt() TENON_KIND;
  Tensor rsqrt() TENON_KIND;
  Tensor reciprocal() TENON_KIND;
  Tensor exp() TENON_KIND;
  Tensor exp2() TENON_KIND;
  Tensor expm1() TENON_KIND;
  Tensor log() TENON_KIND;
  Tensor log2() TENON_KIND;
  Tensor log10() TENON_KIND;
  Tensor log1p() TENON_KIND;
  Tensor sin() TENON_KIND;
  Tensor cos() TENON_KIND;
  Tensor tan() TENON_KIND;
  Tensor asin() TENON_KIND;
  Tensor arcsin() TENON_KIND;
  Tensor acos() TENON_KIND;
  Tensor arccos() TENON_KIND;
  Tensor atan() TENON_KIND;
  Tensor arctan() TENON_KIND;
  Tensor sinh() TENON_KIND;
  Tensor cosh() TENON_KIND;
  Tensor tanh() TENON_KIND;
  Tensor asinh() TENON_KIND;
  Tensor arcsinh() TENON_KIND;
  Tensor acosh() TENON_KIND;
  Tensor arccosh() TENON_KIND;
  Tensor atanh() TENON_KIND;
  Tensor arctanh() TENON_KIND;
  Tensor sigmoid() TENON_KIND;
  Tensor erf() TENON_KIND;
  Tensor erfc() TENON_KIND;
  Tensor erfinv() TENON_KIND;
  Tensor lgamma() TENON_KIND;
  Tensor floor() TENON_KIND;
  Tensor ceil() TENON_KIND;
  Tensor trunc() TENON_KIND;
  Tensor fix() TENON_KIND;
  Tensor round() TENON_KIND;
  Tensor frac() TENON_KIND;
  Tensor logical_not() TENON_KIND;
  Tensor bitwise_not() TENON_KIND;
  Tensor relu() TENON_KIND;
  Tensor deg2rad() TENON_KIND;
  Tensor rad2deg() TENON_KIND;
  Tensor digamma() TENON_KIND;
  Tensor i0() TENON_KIND;
  Tensor sinc() TENON_KIND;
  Tensor conj_physical() TENON_KIND;
  Tensor positive() TENON_KIND;
  Tensor signbit() TENON_KIND;
  Tensor isnan() TENON_KIND;
  Tensor isinf() TENON_KIND;
  Tensor isfinite() TENON_KIND;
  Tensor isposinf() TENON_KIND;
  Tensor isneginf() TENON_KIND;
  Tensor isreal() TENON_KIND;
  Tensor angle() TENON_KIND;
  Tensor atan2(const Operand& other) TENON_KIND;
  Tensor arctan2(const Operand& other) TENON_KIND;
  Tensor hypot(const Operand& other) TENON_KIND;
  Tensor logical_and(const Operand& other) TENON_KIND;
  Tensor logical_or(const Operand& other) TENON_KIND;
  Tensor logical_xor(const Operand& other) TENON_KIND;
  Tensor heaviside(const Operand& other) TENON_KIND;
  Tensor nextafter(const Operand& other) TENON_KIND;
  Tensor ldexp(const Operand& other) TENON_KIND;
  Tensor gcd(const Operand& other) TENON_KIND;
  Tensor lcm(const Operand& other) TENON_KIND;
  Tensor maximum(const Operand& other) TENON_KIND;
  Tensor minimum(const Operand& other) TENON_KIND;
  Tensor fmax(const Operand& other) TENON_KIND;
  Tensor fmin(const Operand& other) TENON_KIND;
  Tensor logaddexp(const Operand& other) TENON_KIND;
  Tensor logaddexp2(const Operand& other) TENON_KIND;
  Tensor mul(const Operand& other) TENON_KIND;
  Tensor mul(const Scalar& other) TENON_KIND;
  Tensor multiply(const Operand& other) TENON_KIND;
  Tensor multiply(const Scalar& other) TENON_KIND;
  Tensor remainder(const Operand& other) TENON_KIND;
  Tensor remainder(const Scalar& other) TENON_KIND;
  Tensor fmod(const Operand& other) TENON_KIND;
  Tensor fmod(const Scalar& other) TENON_KIND;
  Tensor floor_divide(const Operand& other) TENON_KIND;
  Tensor floor_divide(const Scalar& other) TENON_KIND;
  Tensor true_divide(const Operand& other) TENON_KIND;
  Tensor true_divide(const Scalar& other) TENON_KIND;
  Tensor copysign(const Operand& other) TENON_KIND;
  Tensor copysign(const Scalar& other) TENON_KIND;
  Tensor xlogy(const Operand& other) TENON_KIND;
  Tensor xlogy(const Scalar& other) TENON_KIND;
  Tensor eq(const Operand& other) TENON_KIND;
  Tensor eq(const Scalar& other) TENON_KIND;
  Tensor ne(const Operand& other) TENON_KIND;
  Tensor ne(const Scalar& other) TENON_KIND;
  Tensor lt(const Operand& other) TENON_KIND;
  Tensor lt(const Scalar& other) TENON_KIND;
  Tensor le(const Operand& other) TENON_KIND;
  Tensor le(const Scalar& other) TENON_KIND;
  Tensor gt(const Operand& other) TENON_KIND;
  Tensor gt(const Scalar& other) TENON_KIND;
  Tensor ge(const Operand& other) TENON_KIND;
  Tensor ge(const Scalar& other) TENON_KIND;
  Tensor not_equal(const Operand& other) TENON_KIND;
  Tensor not_equal(const Scalar& other) TENON_KIND;
  Tensor less(const Operand& other) TENON_KIND;
  Tensor less(const Scalar& other) TENON_KIND;
  Tensor less_equal(const Operand& other) TENON_KIND;
  Tensor less_equal(const Scalar& other) TENON_KIND;
  Tensor greater(const Operand& other) TENON_KIND;
  Tensor greater(const Scalar& other) TENON_KIND;
  Tensor greater_equal(const Operand& other) TENON_KIND;
  Tensor greater_equal(const Scalar& other) TENON_KIND;
  Tensor bitwise_and(const Operand& other) TENON_KIND;
  Tensor bitwise_and(const Scalar& other) TENON_KIND;
  Tensor bitwise_or(const Operand& other) TENON_KIND;
  Tensor bitwise_or(const Scalar& other) TENON_KIND;
  Tensor bitwise_xor(const Operand& other) TENON_KIND;
  Tensor bitwise_xor(const Scalar& other) TENON_KIND;
  Tensor bitwise_left_shift(const Operand& other) TENON_KIND;
  Tensor bitwise_left_shift(const Scalar& other) TENON_KIND;
  Tensor bitwise_right_shift(const Operand& other) TENON_KIND;
  Tensor bitwise_right_shift(const Scalar& other) TENON_KIND;
  Tensor round(int64_t decimals) TENON_KIND;
  Tensor add(const Operand& other, const Scalar& alpha = 1) TENON_KIND;
  Tensor add(const Scalar& other, const Scalar& alpha = 1) TENON_KIND;
  Tensor sub(const Operand& other, const Scalar& alpha = 1) TENON_KIND;
  Tensor sub(const Scalar& other, const Scalar& alpha = 1) TENON_KIND;
  Tensor div(const Operand& other) TENON_KIND;
  Tensor div(const Scalar& other) TENON_KIND;
  Tensor div(const Operand& other, optional<std::string_view> rounding_mode) TENON_KIND;
  Tensor div(const Scalar& other, optional<std::string_view> rounding_mode) TENON_KIND;
  Tensor pow(const Operand& exponent) TENON_KIND;
  Tensor pow(const Scalar& exponent) TENON_KIND;
  Tensor float_power(const Operand& exponent) TENON_KIND;
  Tensor float_power(const Scalar& exponent) TENON_KIND;
  Tensor where(const Operand& condition, const Operand& other) TENON_KIND;
  Tensor where(const Operand& condition, const Scalar& other) TENON_KIND;
  Tensor masked_fill(const Operand& mask, const Scalar& value) TENON_KIND;
  Tensor masked_fill(const Operand& mask, const Operand& value) TENON_KIND;
  Tensor clamp(const optional<Scalar>& min, const optional<Scalar>& max = nullopt) TENON_KIND;
  Tensor clamp(const optional<Tensor>& min, const optional<Tensor>& max) TENON_KIND;
  Tensor clamp_min(const Scalar& min) TENON_KIND;
  Tensor clamp_min(const Operand& min) TENON_KIND;
  Tensor clamp_max(const Scalar& max) TENON_KIND;
  Tensor clamp_max(const Operand& max) TENON_KIND;
  Tensor lerp(const Operand& end, const Scalar& weight) TENON_KIND;
  Tensor lerp(const Operand& end, const Operand& weight) TENON_KIND;
  Tensor addcmul(const Operand& tensor1, const Operand& tensor2, const Scalar& value = 1) TENON_KIND;
  Tensor addcdiv(const Operand& tensor1, const Operand& tensor2, const Scalar& value = 1) TENON_KIND;
  Tensor nan_to_num(optional<double> nan = nullopt, optional<double> posinf = nullopt,
                    optional<double> neginf = nullopt) TENON_KIND;
  Tensor logit(optional<double> eps = nullopt) TENON_KIND;
  Tensor prelu(const Operand& weight) TENON_KIND;
  Tensor hardshrink(const Scalar& lambd = 0.5) TENON_KIND;

  // --- shape: views where PyTorch makes views
  Tensor reshape(IntArrayRef shape) TENON_KIND;
  Tensor view(IntArrayRef shape) TENON_KIND;
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) TENON_KIND;
  Tensor unflatten(int64_t dim, IntArrayRef sizes) TENON_KIND;
  Tensor ravel() TENON_KIND;
  Tensor permute(IntArrayRef dims) TENON_KIND;
  Tensor transpose(int64_t dim0, int64_t dim1) TENON_KIND;
  Tensor swapaxes(int64_t axis0, int64_t axis1) TENON_KIND;
  Tensor t() TENON_KIND;
  Tensor movedim(IntArrayRef source, IntArrayRef destination) TENON_KIND;
  Tensor expand(IntArrayRef size) TENON_KIND;
  Tensor broadcast_to(IntArrayRef size) TENON_KIND;
  Tensor squeeze() TENON_KIND;
  Tensor squeeze(int64_t dim) TENON_KIND;
  Tensor squeeze(IntArrayRef dims) TENON_KIND;
  Tensor unsqueeze(int64_t dim) TENON_KIND;
  Tensor select(int64_t dim, int64_t index) TENON_KIND;
  Tensor slice(int64_t dim = 0, optional<int64_t> start = nullopt, optional<int64_t> end = nullopt,
               int64_t step = 1) TENON_KIND;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) TENON_KIND;
  Tensor index(ArrayRef<indexing::TensorIndex> indices) TENON_KIND;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) TENON_KIND;
  std::vector<Tensor> split(int64_t split_size, int64_t dim = 0) TENON_KIND;
  std::vector<Tensor> split(IntArrayRef split_sizes, int64_t dim = 0) TENON_KIND;
  std::vector<Tensor> split_with_sizes(IntArrayRef split_sizes, int64_t dim = 0) TENON_KIND;
  std::vector<Tensor> unbind(int64_t dim = 0) TENON_KIND;

  // --- shape: new tensors
  Tensor clone() TENON_KIND;
  Tensor flip(IntArrayRef dims) TENON_KIND;
  Tensor fliplr() TENON_KIND;
  Tensor flipud() TENON_KIND;
  Tensor roll(IntArrayRef shifts, IntArrayRef dims = {}) TENON_KIND;
  Tensor tile(IntArrayRef dims) TENON_KIND;

  // --- reductions
  Tensor sum(optional<ScalarType> dtype = nullopt) TENON_KIND;
  Tensor sum(OptionalIntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) TENON_KIND;
  Tensor nansum(OptionalIntArrayRef dim = nullopt, bool keepdim = false,
                optional<ScalarType> dtype = nullopt) TENON_KIND;
  Tensor prod(optional<ScalarType> dtype = nullopt) TENON_KIND;
  Tensor prod(int64_t dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) TENON_KIND;
  Tensor mean(optional<ScalarType> dtype = nullopt) TENON_KIND;
  Tensor mean(OptionalIntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) TENON_KIND;
  Tensor var(bool unbiased = true) TENON_KIND;
  Tensor var(OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false) TENON_KIND;
  Tensor var(OptionalIntArrayRef dim, const optional<Scalar>& correction, bool keepdim = false) TENON_KIND;
  Tensor std(bool unbiased = true) TENON_KIND;
  Tensor std(OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false) TENON_KIND;
  Tensor std(OptionalIntArrayRef dim, const optional<Scalar>& correction, bool keepdim = false) TENON_KIND;
  Tensor var(DimList dim, bool unbiased = true, bool keepdim = false) TENON_KIND;
  Tensor std(DimList dim, bool unbiased = true, bool keepdim = false) TENON_KIND;
  Tensor var(int dim) TENON_KIND;
  Tensor var(int64_t dim) TENON_KIND;
  Tensor std(int dim) TENON_KIND;
  Tensor std(int64_t dim) TENON_KIND;
  Tensor max() TENON_KIND;
  Tensor max(const Operand& other) TENON_KIND;
  std::tuple<Tensor, Tensor> max(int64_t dim, bool keepdim = false) TENON_KIND;
  Tensor min() TENON_KIND;
  Tensor min(const Operand& other) TENON_KIND;
  std::tuple<Tensor, Tensor> min(int64_t dim, bool keepdim = false) TENON_KIND;
  Tensor amax(IntArrayRef dim = {}, bool keepdim = false) TENON_KIND;
  Tensor amin(IntArrayRef dim = {}, bool keepdim = false) TENON_KIND;
  std::tuple<Tensor, Tensor> aminmax(optional<int64_t> dim = nullopt, bool keepdim = false) TENON_KIND;
  Tensor argmax(optional<int64_t> dim = nullopt, bool keepdim = false) TENON_KIND;
  Tensor argmin(optional<int64_t> dim = nullopt, bool keepdim = false) TENON_KIND;
  Tensor any() TENON_KIND;
  Tensor any(int64_t dim, bool keepdim = false) TENON_KIND;
  Tensor all() TENON_KIND;
  Tensor all(int64_t dim, bool keepdim = false) TENON_KIND;
  Tensor norm(const Scalar& p = 2) TENON_KIND;
  Tensor norm(const optional<Scalar>& p, IntArrayRef dim, bool keepdim = false) TENON_KIND;
  Tensor logsumexp(IntArrayRef dim, bool keepdim = false) TENON_KIND;
  Tensor count_nonzero(IntArrayRef dim = {}) TENON_KIND;
  Tensor softmax(int64_t dim, optional<ScalarType> dtype = nullopt) TENON_KIND;
  Tensor log_softmax(int64_t dim, optional<ScalarType> dtype = nullopt) TENON_KIND;

  // --- matrix products
  Tensor matmul(const Operand& other) TENON_KIND;
  Tensor mm(const Operand& mat2) TENON_KIND;
  Tensor mv(const Operand& vec) TENON_KIND;
  Tensor bmm(const Operand& mat2) TENON_KIND;
  Tensor dot(const Operand& tensor) TENON_KIND;
  Tensor outer(const Operand& vec2) TENON_KIND;
  Tensor addmm(const Operand& mat1, const Operand& mat2, const Scalar& beta = 1, const Scalar& alpha = 1) TENON_KIND;
  Tensor addmv(const Operand& mat, const Operand& vec, const Scalar& beta = 1, const Scalar& alpha = 1) TENON_KIND;
  Tensor baddbmm(const Operand& batch1, const Operand& batch2, const Scalar& beta = 1,
                 const Scalar& alpha = 1) TENON_KIND;

  // --- comparing whole tensors: these evaluate
  bool equal(const Operand& other) TENON_KIND;
  bool allclose(const Operand& other, double rtol = 1e-05, double atol = 1e-08, bool equal_nan = false) TENON_KIND;
  Tensor isclose(const Operand& other, double rtol = 1e-05, double atol = 1e-08, bool equal_nan = false) TENON_KIND;

  // --- other names
  Tensor subtract(const Operand& other, const Scalar& alpha = 1) TENON_KIND;
  Tensor subtract(const Scalar& other, const Scalar& alpha = 1) TENON_KIND;
  Tensor divide(const Operand& other) TENON_KIND;
  Tensor divide(const Scalar& other) TENON_KIND;
  Tensor divide(const Operand& other, optional<std::string_view> rounding_mode) TENON_KIND;
  Tensor divide(const Scalar& other, optional<std::string_view> rounding_mode) TENON_KIND;
  Tensor clip(const optional<Scalar>& min, const optional<Scalar>& max = nullopt) TENON_KIND;
  Tensor clip(const optional<Tensor>& min, const optional<Tensor>& max) TENON_KIND;

  // --- a number first
  std::tuple<Tensor, Tensor> frexp() TENON_KIND;

  // --- of the gamma function
  Tensor polygamma(int64_t n) TENON_KIND;
  Tensor mvlgamma(int64_t p) TENON_KIND;

  // --- bounds on norms
  Tensor renorm(const Scalar& p, int64_t dim, const Scalar& maxnorm) TENON_KIND;

  // --- products
  Tensor kron(const Operand& other) TENON_KIND;
  Tensor inner(const Operand& other) TENON_KIND;
  Tensor vdot(const Operand& other) TENON_KIND;
  Tensor ger(const Operand& vec2) TENON_KIND;
  Tensor addr(const Operand& vec1, const Operand& vec2, const Scalar& beta = 1, const Scalar& alpha = 1) TENON_KIND;
  Tensor addbmm(const Operand& batch1, const Operand& batch2, const Scalar& beta = 1,
                const Scalar& alpha = 1) TENON_KIND;
  Tensor cross(const Operand& other, optional<int64_t> dim = nullopt) TENON_KIND;

  // --- diagonals and triangles
  Tensor diag(int64_t diagonal = 0) TENON_KIND;
  Tensor diag_embed(int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) TENON_KIND;
  Tensor diagflat(int64_t offset = 0) TENON_KIND;
  Tensor trace() TENON_KIND;
  Tensor tril(int64_t diagonal = 0) TENON_KIND;
  Tensor triu(int64_t diagonal = 0) TENON_KIND;

  // --- rearranging and repeating
  Tensor rot90(int64_t k = 1, IntArrayRef dims = {0, 1}) TENON_KIND;
  Tensor repeat_interleave(int64_t repeats, optional<int64_t> dim = nullopt) TENON_KIND;
  Tensor repeat_interleave(const Operand& repeats, optional<int64_t> dim = nullopt,
                           optional<int64_t> output_size = nullopt) TENON_KIND;
  Tensor sum_to_size(IntArrayRef size) TENON_KIND;

  // --- statistics
  Tensor nanmean(OptionalIntArrayRef dim = nullopt, bool keepdim = false,
                 optional<ScalarType> dtype = nullopt) TENON_KIND;
  Tensor cov(int64_t correction = 1, const optional<Tensor>& fweights = nullopt,
             const optional<Tensor>& aweights = nullopt) TENON_KIND;
  Tensor corrcoef() TENON_KIND;
  Tensor diff(int64_t n = 1, int64_t dim = -1, const optional<Tensor>& prepend = nullopt,
              const optional<Tensor>& append = nullopt) TENON_KIND;
  Tensor dist(const Operand& other, const Scalar& p = 2) TENON_KIND;

  // --- reductions, with more ways to say what
  Tensor any(OptionalIntArrayRef dim, bool keepdim = false) TENON_KIND;
  Tensor all(OptionalIntArrayRef dim, bool keepdim = false) TENON_KIND;
  Tensor norm(const optional<Scalar>& p, ScalarType dtype) TENON_KIND;
  Tensor norm(const optional<Scalar>& p, IntArrayRef dim, bool keepdim, ScalarType dtype) TENON_KIND;

  // --- sets and counts
  Tensor nonzero_static(int64_t size, int64_t fill_value = -1) TENON_KIND;

  // --- choices and grids
  Tensor matrix_power(int64_t n) TENON_KIND;

  // --- places
  Tensor as_strided_scatter(const Operand& src, IntArrayRef size, IntArrayRef stride,
                            optional<int64_t> storage_offset = nullopt) TENON_KIND;
  Tensor index_reduce(int64_t dim, const Operand& index, const Operand& source, std::string_view reduce,
                      bool include_self = true) TENON_KIND;
  Tensor movedim(int64_t source, int64_t destination) TENON_KIND;
  Tensor moveaxis(int64_t source, int64_t destination) TENON_KIND;
  Tensor narrow(int64_t dim, const Operand& start, int64_t length) TENON_KIND;
  Tensor clone(MemoryFormat format) TENON_KIND;

  // --- running along a dim; sums and products of bools and integers are int64
  Tensor cumsum(int64_t dim, optional<ScalarType> dtype = nullopt) TENON_KIND;
  Tensor cumprod(int64_t dim, optional<ScalarType> dtype = nullopt) TENON_KIND;
  std::tuple<Tensor, Tensor> cummax(int64_t dim) TENON_KIND;
  std::tuple<Tensor, Tensor> cummin(int64_t dim) TENON_KIND;
  Tensor logcumsumexp(int64_t dim) TENON_KIND;

  // --- sorting: always stable; nan is greater than every number
  std::tuple<Tensor, Tensor> sort(int64_t dim = -1, bool descending = false) TENON_KIND;
  std::tuple<Tensor, Tensor> sort(optional<bool> stable, int64_t dim = -1, bool descending = false) TENON_KIND;
  Tensor argsort(int64_t dim = -1, bool descending = false) TENON_KIND;
  Tensor argsort(bool stable, int64_t dim, bool descending = false) TENON_KIND;
  Tensor msort() TENON_KIND;
  std::tuple<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true) TENON_KIND;
  std::tuple<Tensor, Tensor> kthvalue(int64_t k, int64_t dim = -1, bool keepdim = false) TENON_KIND;
  Tensor median() TENON_KIND;
  std::tuple<Tensor, Tensor> median(int64_t dim, bool keepdim = false) TENON_KIND;
  Tensor nanmedian() TENON_KIND;
  std::tuple<Tensor, Tensor> nanmedian(int64_t dim, bool keepdim = false) TENON_KIND;
  std::tuple<Tensor, Tensor> mode(int64_t dim = -1, bool keepdim = false) TENON_KIND;
  Tensor quantile(double q, optional<int64_t> dim = nullopt, bool keepdim = false,
                  std::string_view interpolation = "linear") TENON_KIND;
  Tensor quantile(const Operand& q, optional<int64_t> dim = nullopt, bool keepdim = false,
                  std::string_view interpolation = "linear") TENON_KIND;
  Tensor nanquantile(double q, optional<int64_t> dim = nullopt, bool keepdim = false,
                     std::string_view interpolation = "linear") TENON_KIND;

  // --- sets and counts. The sizes of these results depend on values: the operand is evaluated at the call.
  Tensor histc(int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0) TENON_KIND;
  std::tuple<Tensor, Tensor> histogram(const Operand& bins, const optional<Tensor>& weight = nullopt,
                                       bool density = false) TENON_KIND;
  std::tuple<Tensor, Tensor> histogram(int64_t bins = 100, optional<ArrayRef<double>> range = nullopt,
                                       const optional<Tensor>& weight = nullopt, bool density = false) TENON_KIND;
  Tensor bincount(const optional<Tensor>& weights = nullopt, int64_t minlength = 0) TENON_KIND;

  // --- reading
  Tensor gather(int64_t dim, const Operand& index, bool sparse_grad = false) TENON_KIND;
  Tensor index_select(int64_t dim, const Operand& index) TENON_KIND;
  Tensor take(const Operand& index) TENON_KIND;
  Tensor take_along_dim(const Operand& indices, optional<int64_t> dim = nullopt) TENON_KIND;

  // --- where something holds: these sizes depend on values, so the mask is evaluated at the call
  Tensor masked_select(const Operand& mask) TENON_KIND;
  Tensor nonzero() TENON_KIND;
  std::vector<Tensor> nonzero_numpy() TENON_KIND;
  Tensor argwhere() TENON_KIND;

  // --- writing: copies of self with some elements replaced or combined, in order where places repeat
  Tensor scatter(int64_t dim, const Operand& index, const Operand& src) TENON_KIND;
  Tensor scatter(int64_t dim, const Operand& index, const Scalar& value) TENON_KIND;
  Tensor scatter(int64_t dim, const Operand& index, const Operand& src, std::string_view reduce) TENON_KIND;
  Tensor scatter(int64_t dim, const Operand& index, const Scalar& value, std::string_view reduce) TENON_KIND;
  Tensor scatter_add(int64_t dim, const Operand& index, const Operand& src) TENON_KIND;
  Tensor scatter_reduce(int64_t dim, const Operand& index, const Operand& src, std::string_view reduce,
                        bool include_self = true) TENON_KIND;
  Tensor index_add(int64_t dim, const Operand& index, const Operand& source, const Scalar& alpha = 1) TENON_KIND;
  Tensor index_copy(int64_t dim, const Operand& index, const Operand& source) TENON_KIND;
  Tensor index_fill(int64_t dim, const Operand& index, const Scalar& value) TENON_KIND;
  Tensor index_fill(int64_t dim, const Operand& index, const Operand& value) TENON_KIND;
  Tensor put(const Operand& index, const Operand& source, bool accumulate = false) TENON_KIND;
  Tensor masked_scatter(const Operand& mask, const Operand& source) TENON_KIND;

  // --- views.h
  Tensor as_strided(IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset = nullopt) TENON_KIND;
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) TENON_KIND;
  Tensor moveaxis(IntArrayRef source, IntArrayRef destination) TENON_KIND;
  Tensor swapdims(int64_t dim0, int64_t dim1) TENON_KIND;
  Tensor adjoint() TENON_KIND;
  Tensor conj() TENON_KIND;
  Tensor resolve_conj() TENON_KIND;
  std::vector<Tensor> tensor_split(int64_t sections, int64_t dim = 0) TENON_KIND;
  std::vector<Tensor> tensor_split(IntArrayRef indices, int64_t dim = 0) TENON_KIND;
  std::vector<Tensor> tensor_split(const Operand& indices_or_sections, int64_t dim = 0) TENON_KIND;
  std::vector<Tensor> hsplit(int64_t sections) TENON_KIND;
  std::vector<Tensor> hsplit(IntArrayRef indices) TENON_KIND;
  std::vector<Tensor> vsplit(int64_t sections) TENON_KIND;
  std::vector<Tensor> vsplit(IntArrayRef indices) TENON_KIND;
  std::vector<Tensor> dsplit(int64_t sections) TENON_KIND;
  std::vector<Tensor> dsplit(IntArrayRef indices) TENON_KIND;
  std::vector<Tensor> unsafe_chunk(int64_t chunks, int64_t dim = 0) TENON_KIND;
  std::vector<Tensor> unsafe_split(int64_t split_size, int64_t dim = 0) TENON_KIND;
  std::vector<Tensor> unsafe_split_with_sizes(IntArrayRef split_sizes, int64_t dim = 0) TENON_KIND;
  Tensor select_scatter(const Operand& src, int64_t dim, int64_t index) TENON_KIND;
  Tensor slice_scatter(const Operand& src, int64_t dim = 0, optional<int64_t> start = nullopt,
                       optional<int64_t> end = nullopt, int64_t step = 1) TENON_KIND;
  Tensor diagonal_scatter(const Operand& src, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) TENON_KIND;

  // --- draws that depend on tensors: those whose checks need values evaluate them
  Tensor bernoulli(const optional<Generator>& generator = nullopt) TENON_KIND;
  Tensor bernoulli(double p, const optional<Generator>& generator = nullopt) TENON_KIND;
  Tensor multinomial(int64_t num_samples, bool replacement = false,
                     const optional<Generator>& generator = nullopt) TENON_KIND;

  // --- more methods: they have no function of their own
  Tensor contiguous() TENON_KIND;  // itself when contiguous
  Tensor contiguous(MemoryFormat format) TENON_KIND;
  Tensor view(ScalarType dtype) TENON_KIND;  // the same bits; the last dim shrinks or grows if the item size changes
  Tensor mT() TENON_KIND;  // the last two dims swapped
  Tensor mH() TENON_KIND;
  Tensor H() TENON_KIND;
  Tensor numpy_T() TENON_KIND;  // all dims reversed: Python's x.T
  Tensor unfold(int64_t dimension, int64_t size, int64_t step) TENON_KIND;  // windows; their elements as a new last dim
  Tensor repeat(IntArrayRef repeats) TENON_KIND;
  Tensor index_put(ArrayRef<indexing::TensorIndex> indices, const Operand& value, bool accumulate = false) TENON_KIND;
