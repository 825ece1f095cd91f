/*
  y += alpha sum of terms, each a product of three matrices of lines, in any fields: what operators and grid transfers are that have no
  kernel of their own.  Each node of y belongs to one cell, whose team of threads computes all that is added to it: no atomics, two runs
  agree to the last bit.
*/
#pragma once
#include "base/cuda.cuh"
#include "base/lines.cuh"
#include "base/plan.cuh"

namespace patchfd
{

/*
  A matrix of a line by owners: cell c has the rows c * stride .. c * stride + own - 1, or, if it is the cell `closing`, all `rows`, and
  their columns begin at node c * cstride - low.
*/
struct OwnerLine {
  int                    rows, own, closing, cols, stride, cstride, low;
  std::vector<int>       number; /* of the matrix of each cell */
  std::vector<PetscReal> X;      /* [matrix][rows][cols] */

  /* rows of the cells from cells[0] to cells[1] - 1; what cells share is summed */
  static OwnerLine band(const PatchFDBand *, const PetscInt cells[2]);
  /* a fine node that cells share belongs to the last of them */
  static OwnerLine prolongation(const PatchFDEmbedding *, const PetscInt cells[2]);
  static OwnerLine restriction(const PatchFDEmbedding *, const PetscInt cells[2]);
};

struct ProductTerm {
  int       row, col;
  PetscReal coef;
  OwnerLine dir[3];
};

/* a term on the device; the coefficient is in X[2] */
template <typename T>
struct ProductTermData {
  const T   *X[3];
  const int *number[3];
  int        row, col, rows[3], own[3], closing[3], cols[3], stride[3], cstride[3], low[3];
  bool       first, last; /* of its row */
};

template <typename T>
struct ProductField {
  Layout xl, yl;
  Range  read, write;
  size_t x0, y0;
};

template <typename T>
struct ProductsData {
  int                 first[3], count[3], nterm; /* the cells to visit */
  ProductTermData<T> *term;
  ProductField<T>    *field;
  size_t              cells;
  int                 size[2]; /* numbers of the two blocks between contractions */
  Team<T>             team;
};

template <typename T>
struct Products {
  ProductsData<T> data = {};
  PlanMemory      memory;
  PetscLogDouble  flops = 0;

  PetscErrorCode create(PetscInt nfield, const PatchFDField field[], std::vector<ProductTerm> terms, const PatchFDRange cells);
  PetscErrorCode add(PetscReal alpha, const T *x, T *y, cudaStream_t stream) const;
};

} // namespace patchfd
