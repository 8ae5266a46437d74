// Printed from frontend/functions.def by scripts/print/make_functions.py.
// The methods that write into their tensor, as declared in the class Tensor: like the operation without the underscore,
// into this tensor. Its shape and dtype stay, so the operands must broadcast to its shape, and the result's type must not
// be of a higher category than its own (bool < integer < float). All tensors that share its memory see the write; what was
// recorded before it keeps the old values. Memory that data_ptr() or from_blob() made known to others is written before the
// call returns; any other write is recorded like an operation, and evaluated in place where nothing else needs the old value.

  // --- elementwise
  Tensor& abs_() const;
  Tensor& absolute_() const;
  Tensor& neg_() const;
  Tensor& negative_() const;
  Tensor& sign_() const;
  Tensor& sgn_() const;
  Tensor& square_() const;
  Tensor& sqrt_() const;
  Tensor& rsqrt_() const;
  Tensor& reciprocal_() const;
  Tensor& exp_() const;
  Tensor& exp2_() const;
  Tensor& expm1_() const;
  Tensor& log_() const;
  Tensor& log2_() const;
  Tensor& log10_() const;
  Tensor& log1p_() const;
  Tensor& sin_() const;
  Tensor& cos_() const;
  Tensor& tan_() const;
  Tensor& asin_() const;
  Tensor& arcsin_() const;
  Tensor& acos_() const;
  Tensor& arccos_() const;
  Tensor& atan_() const;
  Tensor& arctan_() const;
  Tensor& sinh_() const;
  Tensor& cosh_() const;
  Tensor& tanh_() const;
  Tensor& asinh_() const;
  Tensor& arcsinh_() const;
  Tensor& acosh_() const;
  Tensor& arccosh_() const;
  Tensor& atanh_() const;
  Tensor& arctanh_() const;
  Tensor& sigmoid_() const;
  Tensor& erf_() const;
  Tensor& erfc_() const;
  Tensor& erfinv_() const;
  Tensor& lgamma_() const;
  Tensor& floor_() const;
  Tensor& ceil_() const;
  Tensor& trunc_() const;
  Tensor& fix_() const;
  Tensor& round_() const;
  Tensor& frac_() const;
  Tensor& logical_not_() const;
  Tensor& bitwise_not_() const;
  Tensor& relu_() const;
  Tensor& deg2rad_() const;
  Tensor& rad2deg_() const;
  Tensor& digamma_() const;
  Tensor& i0_() const;
  Tensor& sinc_() const;
  Tensor& conj_physical_() const;
  Tensor& atan2_(const Operand& other) const;
  Tensor& arctan2_(const Operand& other) const;
  Tensor& hypot_(const Operand& other) const;
  Tensor& logical_and_(const Operand& other) const;
  Tensor& logical_or_(const Operand& other) const;
  Tensor& logical_xor_(const Operand& other) const;
  Tensor& heaviside_(const Operand& other) const;
  Tensor& nextafter_(const Operand& other) const;
  Tensor& ldexp_(const Operand& other) const;
  Tensor& gcd_(const Operand& other) const;
  Tensor& lcm_(const Operand& other) const;
  Tensor& mul_(const Operand& other) const;
  Tensor& mul_(const Scalar& other) const;
  Tensor& multiply_(const Operand& other) const;
  Tensor& multiply_(const Scalar& other) const;
  Tensor& remainder_(const Operand& other) const;
  Tensor& remainder_(const Scalar& other) const;
  Tensor& fmod_(const Operand& other) const;
  Tensor& fmod_(const Scalar& other) const;
  Tensor& floor_divide_(const Operand& other) const;
  Tensor& floor_divide_(const Scalar& other) const;
  Tensor& true_divide_(const Operand& other) const;
  Tensor& true_divide_(const Scalar& other) const;
  Tensor& copysign_(const Operand& other) const;
  Tensor& copysign_(const Scalar& other) const;
  Tensor& xlogy_(const Operand& other) const;
  Tensor& xlogy_(const Scalar& other) const;
  Tensor& eq_(const Operand& other) const;
  Tensor& eq_(const Scalar& other) const;
  Tensor& ne_(const Operand& other) const;
  Tensor& ne_(const Scalar& other) const;
  Tensor& lt_(const Operand& other) const;
  Tensor& lt_(const Scalar& other) const;
  Tensor& le_(const Operand& other) const;
  Tensor& le_(const Scalar& other) const;
  Tensor& gt_(const Operand& other) const;
  Tensor& gt_(const Scalar& other) const;
  Tensor& ge_(const Operand& other) const;
  Tensor& ge_(const Scalar& other) const;
  Tensor& not_equal_(const Operand& other) const;
  Tensor& not_equal_(const Scalar& other) const;
  Tensor& less_(const Operand& other) const;
  Tensor& less_(const Scalar& other) const;
  Tensor& less_equal_(const Operand& other) const;
  Tensor& less_equal_(const Scalar& other) const;
  Tensor& greater_(const Operand& other) const;
  Tensor& greater_(const Scalar& other) const;
  Tensor& greater_equal_(const Operand& other) const;
  Tensor& greater_equal_(const Scalar& other) const;
  Tensor& bitwise_and_(const Operand& other) const;
  Tensor& bitwise_and_(const Scalar& other) const;
  Tensor& bitwise_or_(const Operand& other) const;
  Tensor& bitwise_or_(const Scalar& other) const;
  Tensor& bitwise_xor_(const Operand& other) const;
  Tensor& bitwise_xor_(const Scalar& other) const;
  Tensor& bitwise_left_shift_(const Operand& other) const;
  Tensor& bitwise_left_shift_(const Scalar& other) const;
  Tensor& bitwise_right_shift_(const Operand& other) const;
  Tensor& bitwise_right_shift_(const Scalar& other) const;
  Tensor& round_(int64_t decimals) const;
  Tensor& add_(const Operand& other, const Scalar& alpha = 1) const;
  Tensor& add_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor& sub_(const Operand& other, const Scalar& alpha = 1) const;
  Tensor& sub_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor& div_(const Operand& other) const;
  Tensor& div_(const Scalar& other) const;
  Tensor& div_(const Operand& other, optional<std::string_view> rounding_mode) const;
  Tensor& div_(const Scalar& other, optional<std::string_view> rounding_mode) const;
  Tensor& pow_(const Operand& exponent) const;
  Tensor& pow_(const Scalar& exponent) const;
  Tensor& clamp_(const optional<Scalar>& min, const optional<Scalar>& max = nullopt) const;
  Tensor& clamp_(const optional<Tensor>& min, const optional<Tensor>& max) const;
  Tensor& clamp_min_(const Scalar& min) const;
  Tensor& clamp_min_(const Operand& min) const;
  Tensor& clamp_max_(const Scalar& max) const;
  Tensor& clamp_max_(const Operand& max) const;
  Tensor& lerp_(const Operand& end, const Scalar& weight) const;
  Tensor& lerp_(const Operand& end, const Operand& weight) const;
  Tensor& addcmul_(const Operand& tensor1, const Operand& tensor2, const Scalar& value = 1) const;
  Tensor& addcdiv_(const Operand& tensor1, const Operand& tensor2, const Scalar& value = 1) const;
  Tensor& nan_to_num_(optional<double> nan = nullopt, optional<double> posinf = nullopt,
                      optional<double> neginf = nullopt) const;
  Tensor& logit_(optional<double> eps = nullopt) const;

  // --- shape: views where PyTorch makes views
  Tensor& transpose_(int64_t dim0, int64_t dim1) const;
  Tensor& swapaxes_(int64_t axis0, int64_t axis1) const;
  Tensor& t_() const;
  Tensor& squeeze_() const;
  Tensor& squeeze_(int64_t dim) const;
  Tensor& squeeze_(IntArrayRef dims) const;
  Tensor& unsqueeze_(int64_t dim) const;

  // --- matrix products
  Tensor& addmm_(const Operand& mat1, const Operand& mat2, const Scalar& beta = 1,
                 const Scalar& alpha = 1) const;
  Tensor& addmv_(const Operand& mat, const Operand& vec, const Scalar& beta = 1,
                 const Scalar& alpha = 1) const;
  Tensor& baddbmm_(const Operand& batch1, const Operand& batch2, const Scalar& beta = 1,
                   const Scalar& alpha = 1) const;

  // --- other names
  Tensor& subtract_(const Operand& other, const Scalar& alpha = 1) const;
  Tensor& subtract_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor& divide_(const Operand& other) const;
  Tensor& divide_(const Scalar& other) const;
  Tensor& divide_(const Operand& other, optional<std::string_view> rounding_mode) const;
  Tensor& divide_(const Scalar& other, optional<std::string_view> rounding_mode) const;
  Tensor& clip_(const optional<Scalar>& min, const optional<Scalar>& max = nullopt) const;
  Tensor& clip_(const optional<Tensor>& min, const optional<Tensor>& max) const;

  // --- of the gamma function
  Tensor& polygamma_(int64_t n) const;
  Tensor& mvlgamma_(int64_t p) const;

  // --- bounds on norms
  Tensor& renorm_(const Scalar& p, int64_t dim, const Scalar& maxnorm) const;

  // --- products
  Tensor& addr_(const Operand& vec1, const Operand& vec2, const Scalar& beta = 1,
                const Scalar& alpha = 1) const;
  Tensor& addbmm_(const Operand& batch1, const Operand& batch2, const Scalar& beta = 1,
                  const Scalar& alpha = 1) const;

  // --- diagonals and triangles
  Tensor& tril_(int64_t diagonal = 0) const;
  Tensor& triu_(int64_t diagonal = 0) const;

  // --- places
  Tensor& index_reduce_(int64_t dim, const Operand& index, const Operand& source, std::string_view reduce,
                        bool include_self = true) const;

  // --- writing: copies of self with some elements replaced or combined, in order where places repeat
  Tensor& scatter_(int64_t dim, const Operand& index, const Operand& src) const;
  Tensor& scatter_(int64_t dim, const Operand& index, const Scalar& value) const;
  Tensor& scatter_(int64_t dim, const Operand& index, const Operand& src, std::string_view reduce) const;
  Tensor& scatter_(int64_t dim, const Operand& index, const Scalar& value, std::string_view reduce) const;
  Tensor& scatter_add_(int64_t dim, const Operand& index, const Operand& src) const;
  Tensor& scatter_reduce_(int64_t dim, const Operand& index, const Operand& src, std::string_view reduce,
                          bool include_self = true) const;
  Tensor& index_add_(int64_t dim, const Operand& index, const Operand& source, const Scalar& alpha = 1) const;
  Tensor& index_copy_(int64_t dim, const Operand& index, const Operand& source) const;
  Tensor& index_fill_(int64_t dim, const Operand& index, const Scalar& value) const;
  Tensor& index_fill_(int64_t dim, const Operand& index, const Operand& value) const;
  Tensor& put_(const Operand& index, const Operand& source, bool accumulate = false) const;

  // --- views.h
  Tensor& swapdims_(int64_t dim0, int64_t dim1) const;

  // --- values from elsewhere
  Tensor& copy_(const Operand& src, bool non_blocking = false) const;  // of any dtype; broadcast to this shape
  Tensor& fill_(const Scalar& value) const;
  Tensor& fill_(const Operand& value) const;  // 0-dim
  Tensor& zero_() const;
  Tensor& fill_diagonal_(const Scalar& fill_value, bool wrap = false) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Operand& value,
                     bool accumulate = false) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value,
                     bool accumulate = false) const;

  // --- with a check or a default of their own
  Tensor& float_power_(const Operand& exponent) const;
  Tensor& float_power_(const Scalar& exponent) const;
  Tensor& cumsum_(int64_t dim, optional<ScalarType> dtype = nullopt) const;
  Tensor& cumprod_(int64_t dim, optional<ScalarType> dtype = nullopt) const;
  Tensor& masked_fill_(const Operand& mask, const Scalar& value) const;
  Tensor& masked_fill_(const Operand& mask, const Operand& value) const;
  Tensor& masked_scatter_(const Operand& mask, const Operand& source) const;

  // --- the memory that a tensor shows
  const Tensor& resize_(IntArrayRef size) const;
  const Tensor& resize_as_(const Tensor& the_template) const;
  Tensor& set_(const Tensor& source) const;
  Tensor& set_(const Tensor& source, int64_t storage_offset, IntArrayRef size, IntArrayRef stride = {}) const;
  Tensor& set_() const;
  Tensor& as_strided_(IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset = nullopt) const;

  // --- random values; the generator is the default one unless given
  Tensor& uniform_(double from = 0, double to = 1, const optional<Generator>& generator = nullopt) const;
  Tensor& normal_(double mean = 0, double std = 1, const optional<Generator>& generator = nullopt) const;
  Tensor& random_(int64_t from, optional<int64_t> to, const optional<Generator>& generator = nullopt) const;
  Tensor& random_(int64_t to, const optional<Generator>& generator = nullopt) const;
  Tensor& random_(const optional<Generator>& generator = nullopt) const;  // from 0 to the largest of the dtype
  Tensor& bernoulli_(double p = 0.5, const optional<Generator>& generator = nullopt) const;
  Tensor& bernoulli_(const Operand& p, const optional<Generator>& generator = nullopt) const;
  Tensor& exponential_(double lambd = 1, const optional<Generator>& generator = nullopt) const;
  Tensor& log_normal_(double mean = 1, double std = 2, const optional<Generator>& generator = nullopt) const;
  Tensor& cauchy_(double median = 0, double sigma = 1, const optional<Generator>& generator = nullopt) const;
  Tensor& geometric_(double p, const optional<Generator>& generator = nullopt) const;
