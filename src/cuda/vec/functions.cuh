/* What the loops of VECSINGLE in GPU memory (vec.cu) compute of each number */
#pragma once
#include "base/cuda.cuh"

namespace patchfd
{

/* what is computed */
struct Set {
  float            a;
  __device__ float operator()() const { return a; }
};
struct Identity {
  __device__ float operator()(float x) const { return x; }
};
template <typename To>
struct Convert {
  double        a;
  __device__ To operator()(double x) const { return (To)(a * x); }
};
struct AddConverted {
  double            a;
  __device__ double operator()(float x, double y) const { return y + a * (double)x; }
};
struct Times {
  float            a;
  __device__ float operator()(float x) const { return a * x; }
};
struct Plus {
  float            a;
  __device__ float operator()(float x) const { return a + x; }
};
struct AXPlusBY {
  float            a, b;
  __device__ float operator()(float x, float y) const { return a * x + b * y; }
};
struct AXPlusY {
  float            a;
  __device__ float operator()(float x, float y) const { return a * x + y; }
};
struct AXPlusBYPlusCZ {
  float            a, b, c;
  __device__ float operator()(float x, float y, float z) const { return a * x + b * y + c * z; }
};
struct Product {
  __device__ float operator()(float x, float y) const { return x * y; }
};
struct Quotient {
  __device__ float operator()(float x, float y) const { return y == 0.0f ? (x == 0.0f ? 1.0f : 0.0f) : x / y; }
};
struct Larger {
  __device__ float operator()(float x, float y) const { return x < y ? y : x; }
};
struct Smaller {
  __device__ float operator()(float x, float y) const { return x < y ? x : y; }
};
struct LargerAbs {
  __device__ float operator()(float x, float y) const { return Larger()(fabsf(x), fabsf(y)); }
};
struct Inverse {
  __device__ float operator()(float x) const { return x == 0.0f ? 0.0f : 1.0f / x; }
};
struct SqrtAbs {
  __device__ float operator()(float x) const { return sqrtf(fabsf(x)); }
};
struct Abs {
  __device__ float operator()(float x) const { return fabsf(x); }
};
struct Exp {
  __device__ float operator()(float x) const { return expf(x); }
};
struct Log {
  __device__ float operator()(float x) const { return logf(x); }
};

} // namespace patchfd
