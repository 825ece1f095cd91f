/*
  Discontinuous fields: cells have nodes of their own, M_d are block diagonal, A_d couple a cell with the cells beside it.

    operator.cu       the interior penalty operator (formula and mapping there), and the generic kernel
    smoother.cu       vertex patches: what is chosen when; the generic kernel (1D, 2D, lines of one cell, high degrees)
    smoother_fast.cu  the kernel for 3D patches of two cells a direction, any meshes, degree 1 to 8
    transfer.cu       grid transfer, cells to cells

  With n = k + 1 nodes of a cell, the neighbour across a face enters by two functionals of each of its lines: its value at the common
  vertex and its derivative there.  Both are written in the order of the distance from the vertex, in which the two sides of a face differ
  by the sign of the derivative only.
*/
#pragma once
#include "base/color.cuh"
#include "base/dispatch.cuh"

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
  static PetscErrorCode apply(void *, PatchFDPatchOp, PetscInt, const PatchFDColor[], const PatchFDRange, PetscReal, PetscBool, void *,
                              const void *, void *);
  static PetscErrorCode destroy(void **);
};

template <typename T>
struct DGTransfer {
  static PetscErrorCode create(const PatchFDTransferDesc *, void **);
  static PetscErrorCode apply(void *, bool restriction, const void *from, void *to);
  static PetscErrorCode destroy(void **);
};

/* a fast kernel for one degree, or none */
struct DGSmootherFast {
  virtual ~DGSmootherFast() { }
  /* op: RESIDUAL, SOLVE or BOUNDARY.  x = beta x + omega u; u = A_II^{-1} b_I in SOLVE, A_II^{-1} (b_I - A_IB x_B) in BOUNDARY */
  virtual PetscErrorCode apply(const ColorPatches &, PatchFDPatchOp op, PetscReal omega, PetscReal beta, bool zero, void *x, const void *b,
                               void *r, cudaStream_t) const = 0;
  virtual PetscErrorCode destroy()                          = 0;
  virtual PetscLogDouble flops(PatchFDPatchOp) const        = 0; /* of one patch */
};

template <typename T>
PetscErrorCode DGSmootherFastCreate(int K, const PatchFDLocalDesc *, DGSmootherFast **);

/* does the direction exist? */
static inline bool DGDirection(const PatchFDLocalDesc *desc, int d)
{
  return desc->field->dir[d]->eigen[0].value[0] != NULL;
}

} // namespace patchfd
