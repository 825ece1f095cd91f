/*
  Lines of cells that share no nodes, by the numbers of a cell: B = M^{-1} A of interior penalties (operator.cu has the formula), and
  the mass of the reference cell.
*/
#pragma once
#include "base/dispatch.cuh"
#include "base/patches.cuh"
#include "base/plan.cuh"
#include "base/reference.cuh"

namespace patchfd
{

/* numbers of a cell in one direction: a, b, h, and at each end vv, vg, p, q, s.  All but h are divided by h */
enum {
  DG_A,
  DG_B,
  DG_H,
  DG_END,
  DG_VV = 0,
  DG_VG,
  DG_P,
  DG_Q,
  DG_S,
  DG_PER_END,
  DG_CELL = DG_END + 2 * DG_PER_END
};

/* vectors belong to the lower end, and from back to front to the upper one */
struct DGReference : CellReference {
  std::vector<PetscReal> MK, Mv, Mg; /* M^{-1} K, M^{-1} v, M^{-1} g */

  PetscErrorCode create(PetscInt degree)
  {
    const PetscInt         n = degree + 1;
    std::vector<PetscReal> factor, X(n * (n + 2));
    std::vector<int>       pivot(n);
    lapack_int             info;

    PetscFunctionBegin;
    PetscCall(CellReference::create(degree));
    /* M (MK Mv Mg) = (K v g), rows of X */
    for (PetscInt i = 0; i < n; i++) {
      std::copy(K.begin() + i * n, K.begin() + (i + 1) * n, X.begin() + i * (n + 2));
      X[i * (n + 2) + n]     = v[i];
      X[i * (n + 2) + n + 1] = g[i];
    }
    factor = M;
    info   = LAPACKE_dgesv(LAPACK_ROW_MAJOR, (lapack_int)n, (lapack_int)(n + 2), factor.data(), (lapack_int)n, pivot.data(), X.data(),
                           (lapack_int)(n + 2));
    PetscCheck(info == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "The mass matrix of degree %" PetscInt_FMT " is singular", degree);
    for (PetscInt i = 0; i < n; i++) {
      MK.insert(MK.end(), X.begin() + i * (n + 2), X.begin() + i * (n + 2) + n);
      Mv.push_back(X[i * (n + 2) + n]);
      Mg.push_back(X[i * (n + 2) + n + 1]);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* ---- from bands to the numbers of cells ---- */

/* the numbers of a cell with matrices M and A; false if they have other forms */
static bool DGCellNumbers(const DGReference &ref, PetscInt n, const PetscReal *M, const PetscReal *A, PetscReal number[DG_CELL])
{
  const PetscReal                     h       = M[0] / ref.M[0];
  std::vector<std::vector<PetscReal>> columns = {ref.K, ref.M};
  PetscReal                           scale   = 0, coef[6];

  for (PetscInt i = 0; i < n * n; i++)
    if (!(PetscAbsReal(M[i] - h * ref.M[i]) <= 1e-12 * M[0])) return false;
  for (PetscInt i = 0; i < 3 * n * n; i++) scale = PetscMax(scale, PetscAbsReal(A[i]));
  for (int e = 0; e < 2; e++) {
    columns.push_back(EndProduct(n, e, ref.v, e, ref.v));
    columns.push_back(MatrixSum(EndProduct(n, e, ref.v, e, ref.g), EndProduct(n, e, ref.g, e, ref.v)));
  }
  if (!Combination(n, A + n, 3 * n, columns, scale, coef)) return false;
  number[DG_A] = coef[0] / h;
  number[DG_B] = coef[1] / h;
  number[DG_H] = h;
  for (int e = 0; e < 2; e++) {
    PetscReal *end = number + DG_END + e * DG_PER_END, beside[3];

    if (!Combination(n, A + 2 * e * n, 3 * n,
                     {EndProduct(n, e, ref.v, 1 - e, ref.v), EndProduct(n, e, ref.v, 1 - e, ref.g), EndProduct(n, e, ref.g, 1 - e, ref.v)},
                     scale, beside))
      return false;
    end[DG_VV] = coef[2 + 2 * e] / h;
    end[DG_VG] = coef[3 + 2 * e] / h;
    end[DG_P]  = beside[0] / h;
    end[DG_Q]  = beside[1] / h;
    end[DG_S]  = beside[2] / h;
  }
  return true;
}

/* numbers of all cells of a line, classes of A once */
static bool DGLineNumbers(const DGReference &ref, const PatchFDBand *M, const PatchFDBand *A, std::vector<PetscReal> &numbers)
{
  const PetscInt n = A->nloc;

  numbers.resize((size_t)A->ncells * DG_CELL);
  for (PetscInt c = 0; c < A->ncells; c++) {
    PetscReal *number = numbers.data() + c * DG_CELL;

    if (c && A->cls[c] == A->cls[c - 1] && M->cls[c] == M->cls[c - 1]) std::copy(number - DG_CELL, number, number);
    else if (!DGCellNumbers(ref, n, M->X + M->cls[c] * n * n, A->X + A->cls[c] * 3 * n * n, number)) return false;
  }
  return true;
}

/* ---- lines ---- */

/* those of the reference cell: kernel parameters, operands from the constant bank */
template <typename T, int K>
struct DGLineMatrices {
  T MK[(K + 1) * (K + 1)], M[(K + 1) * (K + 1)], Mv[K + 1], Mg[K + 1], g[K + 1];

  void create(const DGReference &ref)
  {
    std::copy(ref.MK.begin(), ref.MK.end(), MK);
    std::copy(ref.M.begin(), ref.M.end(), M);
    std::copy(ref.Mv.begin(), ref.Mv.end(), Mv);
    std::copy(ref.Mg.begin(), ref.Mg.end(), Mg);
    std::copy(ref.g.begin(), ref.g.end(), g);
  }
};

/* inward derivative at end e of the cell with values v */
template <typename T, int n>
__device__ __forceinline__ T DGDerivative(const T g[n], const T v[n], int e)
{
  T sum = 0;

#pragma unroll
  for (int i = 0; i < n; i++) sum += g[i] * v[e ? n - 1 - i : i];
  return sum;
}

/* w += B u; below and above are lines of the cells beside it, as functors; c the cell's numbers */
template <typename T, int K, typename Below, typename Above>
__device__ __forceinline__ void DGCellLine(const DGLineMatrices<T, K> &m, const T *__restrict__ c, const T u[K + 1], Below below,
                                           Above above, T w[K + 1])
{
  constexpr int n = K + 1;
  T             v[2], g[2]; /* coefficients of v and g at both ends */

#pragma unroll
  for (int e = 0; e < 2; e++) {
    const T *a = c + DG_END + e * DG_PER_END;
    T        beside[n];

#pragma unroll
    for (int i = 0; i < n; i++) beside[i] = e ? above(i) : below(i);
    const T own = u[e ? n - 1 : 0], other = beside[e ? 0 : n - 1];

    v[e] = a[DG_VV] * own + a[DG_VG] * DGDerivative<T, n>(m.g, u, e) + a[DG_P] * other + a[DG_Q] * DGDerivative<T, n>(m.g, beside, 1 - e);
    g[e] = a[DG_VG] * own + a[DG_S] * other;
  }
#pragma unroll
  for (int i = 0; i < n; i++) {
    T sum = 0;

#pragma unroll
    for (int j = 0; j < n; j++) sum += m.MK[i * n + j] * u[j];
    w[i] += c[DG_A] * sum + c[DG_B] * u[i] + m.Mv[i] * v[0] + m.Mv[n - 1 - i] * v[1] + m.Mg[i] * g[0] + m.Mg[n - 1 - i] * g[1];
  }
}

template <typename T, int n>
__device__ __forceinline__ void DGMassLine(const T *M, const T w[n], T out[n])
{
#pragma unroll
  for (int i = 0; i < n; i++) {
    out[i] = 0;
#pragma unroll
    for (int j = 0; j < n; j++) out[i] += M[i * n + j] * w[j];
  }
}

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

static constexpr int dg_fast_degrees = 8; /* of the fast operator and smoother, from 1 on */

template <typename T>
struct DGOperator {
  static PetscErrorCode create(const PatchFDOperatorDesc *, void **);
  static PetscErrorCode apply(void *, PetscReal, const void *, const void *, void *);
};

template <typename T>
struct DGSmoother {
  static PetscErrorCode create(const PatchFDLocalDesc *, void **);
  static PetscErrorCode apply(void *, PatchFDPatchOp, PetscInt, const PatchFDColor[], const PatchFDRange, PetscReal, PetscBool, void *,
                              const void *, void *);
};

template <typename T>
struct DGTransfer {
  static PetscErrorCode create(const PatchFDTransferDesc *, void **);
  static PetscErrorCode apply(void *, bool restriction, const void *from, void *to);
};

/* a fast kernel for one degree, or none */
struct DGSmootherFast {
  virtual ~DGSmootherFast() { }
  /* op: RESIDUAL, SOLVE or BOUNDARY.  x = beta x + omega u; u = A_II^{-1} b_I in SOLVE, A_II^{-1} (b_I - A_IB x_B) in BOUNDARY */
  virtual PetscErrorCode apply(const ColorPatches &, PatchFDPatchOp op, PetscReal omega, PetscReal beta, bool zero, void *x, const void *b,
                               void *r, cudaStream_t) const = 0;
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
