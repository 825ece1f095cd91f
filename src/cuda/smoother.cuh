/*
  Vertex patches: local problems by fast diagonalization; formula and notation as in src/host/smoother.h.

    smoother.cu             what is chosen when; the generic kernel (any sizes, graded meshes, free ends, 1D, all operations) and one for
                            patches of one unknown (degree 1)
    smoother_stencil.cu     patches of one unknown on a uniform mesh, several colours at once
    smoother_fast.cuh       the kernel for equal, mirror-symmetric patches of 2 K - 1 unknowns a direction in 3D: the interior of every
                            uniform mesh, all of it with Dirichlet conditions
    smoother_fast_high.cuh  the same on tensor instructions, for the degrees at which that is faster
    smoother_row.cuh        the same for two colours in one pass, where they differ in x only
    smoother_plane.cuh      the same in 2D
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
  int  run[3][2]; /* the equal patches of each direction, first and end */
  int  step[3];   /* nodes from a patch to the next of its colour */
  bool rows = false; /* has `pair` */

  virtual ~SmootherFast() { }
  /*
    x = beta x + omega u with u = A_II^{-1} (b_I - A_IB x_B); without `boundary` u = A_II^{-1} b_I.  Boundary values outside g.read are
    zero; all unknowns of the patches lie inside.
  */
  virtual PetscErrorCode apply(const FastGeometry &g, PetscReal omega, PetscReal beta, bool boundary, void *x, const void *b, cudaStream_t) = 0;
  /*
    x = A_II^{-1} (b_I - A_IB x_B) on patches of one colour, then of another one that differs in x only: the same run of patches.  Without
    `boundary` x was zero before the first of these colours.
  */
  virtual PetscErrorCode pair(const FastGeometry &, const FastGeometry &, bool, void *, const void *, cudaStream_t) { SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "These patches have no kernel for two colours at once"); }
  virtual PetscErrorCode destroy() = 0;
  virtual PetscLogDouble flops(bool boundary, bool pair) const = 0; /* of one patch */
};

/* one of the kernels' classes: S has a create(e).  *fast is there before its arrays, so that it can be destroyed after an error */
template <class S>
static PetscErrorCode SmootherFastNew(const PatchFDEigen *const e[3], SmootherFast **fast)
{
  S *p = new S;

  PetscFunctionBegin;
  *fast = p;
  PetscCall(p->create(e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For patches of 2 K - 1 unknowns a direction; *fast stays as it is if there is no kernel for this degree.  In 2D the third direction is a point */
template <typename T>
PetscErrorCode SmootherVolumeCreate(int K, const PatchFDEigen *const e[3], SmootherFast **fast);
template <typename T>
PetscErrorCode SmootherPlaneCreate(int K, const PatchFDEigen *const e[3], SmootherFast **fast);

/* equal patches of one unknown: several colours in one pass.  PATCHFD_OP_BOUNDARY and PATCHFD_OP_FUSED are the same for them */
template <typename T>
struct Stencil {
  T         w[2][2][2]; /* weights by distance in x, y, z */
  PetscReal scale;      /* 1 / w[0][0][0] */
  int       first[3];   /* node of the first patch */
  Layout    l;
  Range     read;
  int       multiprocessors;

  PetscErrorCode create(const PatchFDSmootherDesc *, bool *exists);
  PetscInt       colors(PetscInt n, const PetscInt colors[][3], const PatchFDRange patches) const; /* so many of these colours can be taken at once: 4, 2, 1, or 0 for none */
  PetscErrorCode apply(PetscInt n, const PetscInt color[3], const PatchFDRange patches, PetscReal omega, void *x, const void *b, cudaStream_t) const; /* 4, 2 or 1 */

private:
  void nodes(int d, const PatchFDRange patches, const PetscInt color[3], int *lo, int *hi, int *base) const;
};

} // namespace patchfd
