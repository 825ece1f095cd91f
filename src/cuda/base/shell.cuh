/* Boxes without a box inside them */
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

} // namespace patchfd
