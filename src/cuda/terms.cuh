/*
  Local solvers of continuous fields whose residual is that of an operator's terms, and whose solve is a fast diagonalization of a part of the
  operator or a product with inverses: PatchFDLocalDesc with nterm > 0.  With X_d the rows of a patch in direction d,

    A x = sum coef X_2 X_1 X_0 x:   P_a = X_0a x,   Q_c = sum coef X_1b P_a,   sum X_2c Q_c

  as on the host (src/host/rows.h).  x is needed on the patch and its rim, the nodes that all matrices of a direction see; some see slabs of nodes
  beyond the rim as well.

    terms.cu          what is chosen when; the generic kernel (1D, boundaries and graded meshes, high degrees)
    terms_fast.cuh    the kernels for patches of two equal cells a direction inside the mesh; terms_double.cu, terms_float.cu
*/
#pragma once
#include "color.cuh"
#include "dispatch.cuh"
#include "lines.cuh"

namespace patchfd
{

template <typename T>
struct TermsSmoother {
  static PetscErrorCode create(const PatchFDLocalDesc *, void **);
  static PetscErrorCode apply(void *, PatchFDPatchOp, PetscInt, const PatchFDColor[], const PatchFDRange, PetscReal, PetscBool, void *, const void *, void *);
  static PetscErrorCode destroy(void **);
};

} // namespace patchfd
