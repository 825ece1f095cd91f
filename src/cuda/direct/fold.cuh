/* Of the direct solve of the whole box (boxsolve.cu) the kernel that folds mirrored lines, and unfolds them */
#pragma once
#include "base/lines.cuh"
#include <patchfd/private/boxsolve.h>

namespace patchfd
{

/* ---- folds ---- */

/* what a thread has: node i of each direction and, where lines are folded, its image */
struct FoldShape {
  int    n[3], shift[3], size[3], begin[3] = {0, 0, 0}, bits; /* nodes; threads, and the first of a launch; bit d: direction d is folded */
  Layout nodes, blocks; /* node 0 of the lines is at (0, 0, 0), as is the first number of the first blocks */

  FoldShape(const PatchFDBoxFold *f)
  {
    PatchFDBox in = {};

    bits = 0;
    for (int d = 0; d < 3; d++) {
      n[d]     = (int)f->line[d].n;
      shift[d] = (int)f->line[d].shift;
      size[d]  = (int)f->line[d].size;
      in.n[d]  = PatchFDBoxLineLength(&f->line[d]);
      if (f->line[d].blocks == 2) bits |= 1 << d;
    }
    blocks = Layout(in);
    nodes  = Layout(f->box);
    nodes.offset += f->first[0] + f->first[1] * nodes.row + f->first[2] * nodes.plane;
  }
  size_t threads() const { return (size_t)size[0] * (size_t)size[1] * (size_t)size[2]; }

  /* the node of a corner, bit d of which is its image in direction d; false if it does not exist, or is that image itself */
  __device__ __forceinline__ bool node(const int i[3], int corner, ptrdiff_t *at) const
  {
    int at3[3];

#pragma unroll
    for (int d = 0; d < 3; d++) {
      const int image = corner >> d & 1;

      if (i[d] >= (bits >> d & 1 ? (n[d] + 1 - image) / 2 : n[d])) return false;
      at3[d] = !image ? i[d] : shift[d] ? i[d] + shift[d] : n[d] - 1 - i[d];
    }
    *at = nodes.at(at3[0], at3[1], at3[2]);
    return true;
  }
  __device__ __forceinline__ ptrdiff_t number(const int i[3], int corner) const
  {
    return blocks.at(i[0] + (corner & 1 ? size[0] : 0), i[1] + (corner & 2 ? size[1] : 0), i[2] + (corner & 4 ? size[2] : 0));
  }
};

/* sums and differences in the directions that are folded */
template <typename T>
static __device__ __forceinline__ void Butterfly(int bits, T a[8])
{
#pragma unroll
  for (int d = 0; d < 3; d++) {
#pragma unroll
    for (int c = 0; c < 8; c++) {
      if ((c >> d & 1) || !(bits >> d & 1)) continue;
      const T even = a[c], odd = a[c | 1 << d];

      a[c]          = even + odd;
      a[c | 1 << d] = even - odd;
    }
  }
}

/* the differences of a node with itself, which would not be zero, meet rows of zeros */
template <typename T, bool BACK>
static __global__ void FoldKernel(FoldShape s, const T *__restrict__ from, T *__restrict__ to)
{
  const int i[3] = {(int)(blockIdx.x * blockDim.x + threadIdx.x), s.begin[1] + (int)(blockIdx.y * blockDim.y + threadIdx.y),
                    s.begin[2] + (int)blockIdx.z};

  if (i[0] >= s.size[0] || i[1] >= s.size[1]) return;
  T         a[8];
  ptrdiff_t at = 0;

#pragma unroll
  for (int c = 0; c < 8; c++) {
    a[c] = 0;
    if (c & ~s.bits) continue;
    if constexpr (BACK) a[c] = from[s.number(i, c)];
    else if (s.node(i, c, &at)) a[c] = from[at];
  }
  Butterfly(s.bits, a);
#pragma unroll
  for (int c = 0; c < 8; c++) {
    if (c & ~s.bits) continue;
    if constexpr (!BACK) to[s.number(i, c)] = a[c];
    else if (s.node(i, c, &at)) to[at] = a[c];
  }
}

} // namespace patchfd
