/*
  Local solvers of continuous fields whose residual is that of an operator's terms, and whose solve is a fast diagonalization of a part of
  the operator or a product with inverses: PatchFDLocalDesc with nterm > 0.  With X_d the rows of a patch in direction d,

    A x = sum coef X_2 X_1 X_0 x:   P_a = X_0a x,   Q_c = sum coef X_1b P_a,   sum X_2c Q_c

  as on the host (src/host/rows.h).  x is needed on the patch and its rim, the nodes that all matrices of a direction see; some see slabs
  of nodes beyond the rim as well.

    terms.cu     what is chosen when: which patches the fast kernels can do, and their matrices
    generic.cuh  the generic kernel (1D, graded meshes, supported sides, high degrees)
    fast.cu      2D and 3D, patches of two equal cells a direction, degree 2 to 6: residual, and solve by fast diagonalization
    dense.cuh    the solve by inverses for the same patches
*/
#pragma once
#include "base/dispatch.cuh"
#include "base/lines.cuh"
#include "base/patches.cuh"
#include "dg/dg.cuh"

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
};

/* NULL if this GPU cannot do it */
template <typename T>
PetscErrorCode TermsFastCreate(const TermsForm &, const PatchFDLocalDesc *, TermsFast **);

template <typename T>
struct TermsSmoother {
  static PetscErrorCode create(const PatchFDLocalDesc *, void **);
  static PetscErrorCode apply(void *, PatchFDPatchOp, PetscInt, const PatchFDColor[], const PatchFDRange, PetscReal, PetscBool, void *,
                              const void *, void *);
};

/*
  y = y0 + alpha A x for any sum of terms, each a product of bands, in several fields.

    operator.cu              what is chosen when; from terms to what operator_fast.cu computes; is it the Stokes
                             operator?
    operator_fast.cu         the kernel for continuous fields of one degree on uniform meshes, 2D and 3D, degree 1 to 6
    stokes/operator_fast.cu  the kernel for that, degree 1 to 6, 2D and 3D, any meshes; stokes_operator_double_2d.cu and the like
    instantiate it
    stokes/lines.cuh         lines and tiles of that; another one for degree 1 in 2D
    base/products.cu         the generic kernel
*/

template <typename T>
struct TermsOperator {
  static PetscErrorCode create(const PatchFDOperatorDesc *, void **);
  static PetscErrorCode apply(void *, PetscReal, const void *, const void *, void *);
  /* r = b - A x, at least at the nodes inside the patches of the colour; other numbers of r may become anything */
  static PetscErrorCode residual(void *, const PatchFDColor *, const void *, const void *, void *);
};

/* a fast kernel */
struct TermsOperatorFast {
  virtual ~TermsOperatorFast() { }
  virtual PetscErrorCode apply(PetscReal alpha, const void *x, const void *y0, void *y, cudaStream_t) const = 0;
  /* patches, which are two cells a direction */
  virtual PetscErrorCode residual(const PatchFDColor &, const void *x, const void *b, void *r, cudaStream_t stream) const
  {
    return apply(-1, x, b, r, stream);
  }
};

/* ---- continuous fields of one degree on a uniform mesh ---- */

static constexpr int terms_lines_degrees = 6, terms_lines_matrices = 10, terms_lines_sums = 24, terms_lines_terms = 40; /* at most */

/* sums of products of a matrix and the lines of an array: sum q has the terms first[q] .. first[q + 1] - 1.  Terms of one array follow each
   other where that can be */
struct TermsStage {
  int nsum, first[terms_lines_sums + 1], from[terms_lines_terms], matrix[terms_lines_terms];
};

/* a term with matrices of a list */
struct TermsLinesTerm {
  int       row, col, X[3];
  PetscReal coef;
};

/*
  The terms as stages, one a direction.  Stage 0 reads the fields, each stage the sums of the one before, and the sums of the last stage are
  the rows.  Coefficients are in the matrices.
*/
struct TermsLines {
  int                                 dim, degree, nfield;
  std::vector<std::vector<PetscReal>> X[3]; /* of cells, [matrix][nloc][nloc] */
  TermsStage                          stage[3];
  const PatchFDField                 *field;
  const PetscInt (*cells)[2];
  bool           end[3][2]; /* are there rows at this end of the mesh, which are not inside of patches? */
  PetscLogDouble flops;

  /* false if the terms have another form.  patches: of the rows of nodes inside patches */
  bool create(const PatchFDOperatorDesc *, bool patches);

private:
  bool gather(const PatchFDOperatorDesc *, bool patches, std::vector<TermsLinesTerm> &);
  bool stages(std::vector<TermsLinesTerm>);
  void count(bool patches);
};

/* lines: of all nodes, of patches */
template <typename T, int DIM>
PetscErrorCode TermsLinesCreate(const TermsLines lines[2], TermsOperatorFast **);

/* ---- Stokes ---- */

static constexpr int stokes_fast_degrees = 6; /* from 1 on */

/*
  What the bands of a component of the velocity are made of: in a direction without shared nodes the numbers DG_A and so on of a cell, in
  its own one those of K and M of a cell of degree K + 1.
*/
enum {
  STOKES_K,
  STOKES_M,
  STOKES_CELL
};

struct StokesForm {
  int                    dim, degree;
  DGReference            cell; /* of degree k */
  std::vector<PetscReal> K, M; /* stiffness and mass of degree k + 1 */
  std::vector<PetscReal> D;    /* [k + 1][k + 2]: the derivative at the nodes of degree k of a function of degree k + 1 */
  std::vector<PetscReal> G;    /* [k + 1][k + 2]: the integral of v u', v of degree k */
  std::vector<PetscReal> h[3]; /* lengths of cells, by direction */
  const PatchFDBand     *mass[3] = {NULL, NULL, NULL}; /* without shared nodes */
  std::vector<PetscReal> numbers[3][3];                /* [component][direction] */
  /* the multiples of G' in direction c and masses, of G and masses */
  PetscReal           gradient[3] = {0, 0, 0}, divergence[3] = {0, 0, 0};
  const PatchFDField *field;
  const PetscInt (*cells)[2];

  PetscErrorCode create(const PatchFDOperatorDesc *, bool *is);
};

template <typename T, int DIM>
PetscErrorCode StokesFastCreate(const StokesForm *, TermsOperatorFast **);

} // namespace patchfd
