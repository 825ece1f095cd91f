/*
  Local solvers of continuous fields whose residual is that of an operator's terms, and whose solve is a fast diagonalization of a part of
  the operator or a product with inverses: PatchFDLocalDesc with nterm > 0.  With X_d the rows of a patch in direction d,

    A x = sum coef X_2 X_1 X_0 x:   P_a = X_0a x,   Q_c = sum coef X_1b P_a,   sum X_2c Q_c

  as on the host (src/host/rows.h).  x is needed on the patch and its rim, the nodes that all matrices of a direction see; some see slabs
  of nodes beyond the rim as well.

    terms.cu     what is chosen when
    generic.cuh  the generic kernel (1D, graded meshes, supported sides, high degrees)
    form.cu      which patches the fast kernels can do, and their matrices
    fast.cu      2D and 3D, patches of two equal cells a direction, degree 2 to 6: residual, and solve by fast diagonalization
    dense.cuh    the solve by inverses for the same patches
*/
#pragma once
#include "base/color.cuh"
#include "base/dispatch.cuh"
#include "base/lines.cuh"

namespace patchfd
{

/*
  A = B M M + M B M + M M B + c (L L M + L M L + M L L) on patches of N = 2 K - 1 nodes, all with the same mirrored matrices: see
  fast.cu.  Of the range of patches that are so, those at a boundary of the mesh (`edge`) have functionals of their own nodes in
  place of those of the cell beside.
*/
struct TermsForm {
  static constexpr int low = 2, high = 6; /* degrees */

  int                    K = 0, dim = 0;                  /* K = 0: no such patches */
  PetscInt               range[3][2], edge[3][2], cls[3]; /* cls: of the solver */
  std::vector<PetscReal> M[3], B[3], L[3];                /* [N][N + 2]; L with the square root of c */
  std::vector<PetscReal> ends[3];                         /* [N][2], columns of the upper end's functionals */
  std::vector<PetscReal> beyond[3], own[3][2];            /* [2][K], [2][K + 1], by distance from the rim */

  void create(const PatchFDLocalDesc *);
};

/* x = beta x + omega v at a node; patches that overlap add with atomics */
template <typename T>
__device__ __forceinline__ void TermsUpdate(const ColorPatches &g, T omega, T beta, T v, T *x)
{
  if (g.overlap()) atomicAdd(x, omega * v);
  else *x = beta == 0 ? omega * v : beta * *x + omega * v;
}

/* flops of a patch */
struct TermsFlops {
  PetscLogDouble residual, solve;
};

/* the fast kernels for one degree, for patches in the form's range all of whose nodes exist */
struct TermsFast {
  TermsFlops flops;

  virtual ~TermsFast() { }
  /* r = b - A x */
  virtual PetscErrorCode residual(const ColorPatches &, const void *x, const void *b, void *r, cudaStream_t) const = 0;
  /* x = beta x + omega A_j^{-1} r */
  virtual PetscErrorCode solve(const ColorPatches &, PetscReal omega, PetscReal beta, const void *r, void *x, cudaStream_t) const = 0;
  virtual PetscErrorCode destroy()                                                                                                = 0;
};

/* NULL if this GPU cannot do it */
template <typename T>
PetscErrorCode TermsFastCreate(const TermsForm &, const PatchFDLocalDesc *, TermsFast **);

template <typename T>
struct TermsSmoother {
  static PetscErrorCode create(const PatchFDLocalDesc *, void **);
  static PetscErrorCode apply(void *, PatchFDPatchOp, PetscInt, const PatchFDColor[], const PatchFDRange, PetscReal, PetscBool, void *,
                              const void *, void *);
  static PetscErrorCode destroy(void **);
};

} // namespace patchfd
