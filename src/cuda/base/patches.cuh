/* Sets of cells and of patches: boxes without a box inside them, and colours */
#pragma once
#include "base/cuda.cuh"

namespace patchfd
{

/*
  A range without a smaller one inside it (the hole), as up to six boxes: below and above the hole in z, then in y, then in x.  Items are
  numbered from 0 to size() - 1, box by box, x fastest.
*/
struct Shell {
  Range  part[6];
  size_t end[6]; /* items up to and including this part */

  Shell() = default;
  Shell(Range whole, const Range &hole)
  {
    size_t total = 0;

    for (int d = 2; d >= 0; d--) {
      const int lo = PetscMin(PetscMax(hole.lo[d], whole.lo[d]), whole.hi[d]), hi = PetscMax(PetscMin(hole.hi[d], whole.hi[d]), lo);

      part[4 - 2 * d] = part[5 - 2 * d] = whole;
      part[4 - 2 * d].hi[d]             = lo;
      part[5 - 2 * d].lo[d]             = hi;
      whole.lo[d]                       = lo;
      whole.hi[d]                       = hi;
    }
    for (int i = 0; i < 6; i++) end[i] = total += part[i].size();
  }
  explicit Shell(const Range &whole) : Shell(whole, Range::none()) { } /* without a hole */

  __host__ __device__ size_t size() const { return end[5]; }
  /* where is this item?  Index: a type that holds size(); 64 bits take their time */
  template <typename Index>
  __device__ __forceinline__ void find(size_t item, int at[3]) const
  {
    int i = 0;

    while (item >= end[i]) i++;
    if (i) item -= end[i - 1];
    const Range &r  = part[i];
    const Index  n0 = r.hi[0] - r.lo[0], n1 = r.hi[1] - r.lo[1], row = (Index)item / n0;

    at[0] = r.lo[0] + (int)((Index)item - row * n0);
    at[1] = r.lo[1] + (int)(row % n1);
    at[2] = r.lo[2] + (int)(row / n1);
  }
};

/* which patches belong to a colour, for kernels of patches that may have two phases */

/*
  The patches of one colour in a range of patches.  Those of its parity have numbers start + 2 q, 0 <= q_d < count_d; with two phases only
  every second one in x counts: slot s of row (q_1, q_2) has q_0 = 2 s or 2 s + 1.  The last slot of a row may be empty.  All parities:
  start + q, which overlap.
*/
struct ColorPatches {
  int    start[3], count[3], step, phases, phase; /* phase: of patch q = 0, relative to the colour's */
  Layout l;
  Range  read;

  ColorPatches() = default;
  ColorPatches(const PatchFDColor &color, int phases, const PatchFDRange patches, const Layout &l, const Range &read) :
    step(color.parity[0] == PATCHFD_ALL_PARITIES ? 1 : 2), phases(color.phase == PATCHFD_ALL_PHASES ? 1 : phases), phase((int)color.phase),
    l(l), read(read)
  {
    for (int d = 0; d < 3; d++) {
      start[d] = (int)(patches[d][0] + (step == 2 ? (patches[d][0] + color.parity[d]) % 2 : 0));
      count[d] = PetscMax(0, (int)(patches[d][1] - start[d] + step - 1) / step);
      phase += start[d] / 2;
    }
  }
  __device__ __forceinline__ bool overlap() const { return step == 1; }
  __host__ __device__ int         slots() const { return (count[0] + phases - 1) / phases; }
  __device__ __forceinline__ int  q0(int slot, int q1, int q2) const { return phases == 2 ? 2 * slot + ((phase + q1 + q2) & 1) : slot; }
  /* the slots of all rows one after another: the patch in one of them, if there is one */
  __host__ __device__ size_t      items() const { return (size_t)slots() * count[1] * count[2]; }
  __device__ __forceinline__ bool find(size_t item, int number[3]) const
  {
    const size_t rows = (size_t)slots() * count[1];
    const int    q1 = (int)(item % rows) / slots(), q2 = (int)(item / rows), q = q0((int)(item % slots()), q1, q2);
    const bool   there = item < items() && q < count[0];

    number[0] = start[0] + step * (there ? q : 0);
    number[1] = start[1] + step * (there ? q1 : 0);
    number[2] = start[2] + step * (there ? q2 : 0);
    return there;
  }
  bool           empty() const { return !count[0] || !count[1] || !count[2]; }
  PetscLogDouble patches() const { return (PetscLogDouble)count[0] * count[1] * count[2] / phases; } /* about */
};

} // namespace patchfd
