/*
  y = y0 + alpha A x,  A = A0 (x) M1 (x) M2 + M0 (x) A1 (x) M2 + M0 (x) M1 (x) A2  summed over cells (direction 0 is x).

    operator.cu         what is chosen when; the generic kernel (any degrees, split cells, 1D)
    operator_march.cuh  the kernel for equal cells of one degree in 3D: every uniform mesh
    operator_plane.cuh  the same in 2D

  The fast kernels are templates of the precision and the degree.  The last template of their header is the door: it has the degree as an
  argument, and ForDegree() (dispatch.cuh) chooses.  operator_march_double.cu and the like instantiate it, a precision each.
*/
#pragma once
#include "march.cuh"

namespace patchfd
{

/* the operator on equal cells of one degree */
struct OperatorFast {
  virtual ~OperatorFast() { }
  virtual PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t) const = 0;
};

static constexpr int operator_march_degrees = 8, operator_plane_degrees = 10; /* from 1 on */

template <typename T>
PetscErrorCode OperatorMarchCreate(const SumDesc *, OperatorFast **);
template <typename T>
PetscErrorCode OperatorPlaneCreate(const SumDesc *, OperatorFast **);

} // namespace patchfd
