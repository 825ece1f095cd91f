/*
  Discontinuous fields: cells have nodes of their own, M_d are block diagonal, A_d couple a cell with the cells beside it.

    dg_operator.cu         the interior penalty operator (formula and mapping there), and the generic kernel
    dg_smoother.cu         vertex patches: what is chosen when; the generic kernel (1D, 2D, lines of one cell, high degrees)
    dg_smoother_fast.cuh   the kernel for 3D patches of two cells a direction, any meshes, degree 1 to 8; dg_smoother_double.cu, dg_smoother_float.cu
    dg_transfer.cu         grid transfer, cells to cells

  With n = k + 1 nodes of a cell, the neighbour across a face enters by two functionals of each of its lines: its value at the common vertex and
  its derivative there.  Both are written in the order of the distance from the vertex, in which the two sides of a face differ by the sign of the
  derivative only.
*/
#pragma once
#include "cuda.cuh"
#include "dispatch.cuh"

namespace patchfd
{

static constexpr int dg_fast_degrees = 8; /* of the fast operator and smoother, from 1 on */

template <typename T>
struct DGOperator {
  static PetscErrorCode create(const PatchFDOperatorDesc *, void **);
  static PetscErrorCode apply(void *, PetscReal, const void *, const void *, void *);
  static PetscErrorCode destroy(void **);
};

template <typename T>
struct DGSmoother {
  static PetscErrorCode create(const PatchFDLocalDesc *, void **);
  static PetscErrorCode apply(void *, PatchFDPatchOp, PetscInt, const PatchFDColor[], const PatchFDRange, PetscReal, PetscBool, void *, const void *, void *);
  static PetscErrorCode destroy(void **);
};

template <typename T>
struct DGTransfer {
  static PetscErrorCode create(const PatchFDTransferDesc *, void **);
  static PetscErrorCode prolong(void *, const void *, void *);
  static PetscErrorCode restrict_(void *, const void *, void *);
  static PetscErrorCode destroy(void **);
};

/*
  The patches of one colour in a range of patches.  Those of its parity have numbers start + 2 q, 0 <= q_d < count_d; with two phases only every
  second one in x counts: slot s of row (q_1, q_2) has q_0 = 2 s or 2 s + 1.  The last slot of a row may be empty.
*/
struct DGColor {
  int    start[3], count[3], phases, phase; /* phase: of patch q = 0, relative to the colour's */
  Layout l;
  Range  read;

  DGColor() = default;
  DGColor(const PatchFDColor &color, int phases, const PatchFDRange patches, const Layout &l, const Range &read) : phases(phases), phase((int)color.phase), l(l), read(read)
  {
    for (int d = 0; d < 3; d++) {
      start[d] = (int)(patches[d][0] + (patches[d][0] + color.parity[d]) % 2);
      count[d] = PetscMax(0, (int)(patches[d][1] - start[d] + 1) / 2);
      phase += start[d] / 2;
    }
  }
  __host__ __device__ int slots() const { return (count[0] + phases - 1) / phases; }
  __device__ __forceinline__ int q0(int slot, int q1, int q2) const { return phases == 2 ? 2 * slot + ((phase + q1 + q2) & 1) : slot; }
  bool                           empty() const { return !count[0] || !count[1] || !count[2]; }
  PetscLogDouble                 patches() const { return (PetscLogDouble)count[0] * count[1] * count[2] / phases; } /* about */
};

/* a fast kernel for one degree, or none */
struct DGSmootherFast {
  virtual ~DGSmootherFast() { }
  /* op: RESIDUAL, SOLVE or BOUNDARY.  x = beta x + omega u; u = A_II^{-1} b_I in SOLVE, A_II^{-1} (b_I - A_IB x_B) in BOUNDARY */
  virtual PetscErrorCode apply(const DGColor &, PatchFDPatchOp op, PetscReal omega, PetscReal beta, bool zero, void *x, const void *b, void *r, cudaStream_t) const = 0;
  virtual PetscErrorCode destroy()                       = 0;
  virtual PetscLogDouble flops(PatchFDPatchOp) const = 0; /* of one patch */
};

template <typename T>
PetscErrorCode DGSmootherFastCreate(int K, const PatchFDLocalDesc *, DGSmootherFast **);

/* does the direction exist? */
static inline bool DGDirection(const PatchFDLocalDesc *desc, int d)
{
  return desc->dir[d]->eigen[0].value[0] != NULL;
}

} // namespace patchfd
