/*
  Vertex patches: local problems by fast diagonalization; formula and notation as in src/host/smoother.h.

    smoother.cu        what is chosen when; the generic kernel (any sizes, graded meshes, free ends, 1D and 2D, all operations) and the
                       kernel for patches of one unknown (degree 1)
    smoother_fast.cuh  the kernel for equal, mirror-symmetric patches of 2 K - 1 unknowns a direction in 3D: the interior of every uniform
                       mesh, all of it with Dirichlet conditions
    smoother_fast_high.cuh  the same on tensor instructions, for the degrees at which that is faster
*/
#pragma once
#include "cuda.cuh"

namespace patchfd
{

/* equal patches of one colour: number (p0, p1, p2) begins (node below its unknowns) at first[d] + 2 K p_d */
struct FastGeometry {
  int    first[3], count[3];
  Layout l;
  Range  read;
};

struct SmootherFast {
  int run[3][2]; /* the equal patches of each direction, first and end */
  int degree; /* K */

  virtual ~SmootherFast() { }
  /*
    x = beta x + omega u with u = A_II^{-1} (b_I - A_IB x_B); without `boundary` u = A_II^{-1} b_I.  Boundary values outside g.read are
    zero; all unknowns of the patches lie inside.
  */
  virtual PetscErrorCode apply(const FastGeometry &g, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b, cudaStream_t) = 0;
  virtual PetscErrorCode destroy() = 0;
  virtual PetscLogDouble flops(bool boundary) const = 0; /* of one patch */
};

/* NULL where the mesh has no such patches */
template <typename T>
PetscErrorCode SmootherFastCreate(const PatchFDSmootherDesc *, SmootherFast **);
/* one degree */
template <typename T, int K>
PetscErrorCode SmootherFastCreateDegree(const PatchFDEigen *const e[3], SmootherFast **);

} // namespace patchfd
