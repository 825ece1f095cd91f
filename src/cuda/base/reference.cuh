/*
  The reference cell [0, 1], and what blocks of bands are made of: its matrices, and products of functionals at its ends.  Cells of all
  meshes differ by the numbers of these combinations only, which are found by least squares; fast kernels keep the matrices in the constant
  bank.
*/
#pragma once
#include "base/cuda.cuh"
#include <lapacke.h>

namespace patchfd
{

/* functionals belong to the lower end, and from back to front to the upper one: value, derivative inward and second derivative there */
struct CellReference {
  std::vector<PetscReal> M, K, H, v, g, b; /* mass, stiffness and bending stiffness */

  PetscErrorCode create(PetscInt degree)
  {
    const PetscReal        ends[] = {0.0, 1.0};
    const PetscBool        free[] = {PETSC_FALSE, PETSC_FALSE};
    const PetscInt         n      = degree + 1;
    std::vector<PetscReal> B(n);
    PatchFDLine            line;
    PatchFDBand            band;

    PetscFunctionBegin;
    PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, degree, 1, ends, free, &line));
    PetscCall(PatchFDBandMass(&line, &band));
    M.assign(band.X, band.X + n * n);
    PetscCall(PatchFDBandDestroy(&band));
    PetscCall(PatchFDBandLaplace(&line, 1, 0, 0, 0, &band));
    K.assign(band.X, band.X + n * n);
    PetscCall(PatchFDBandDestroy(&band));
    PetscCall(PatchFDBandBilaplace(&line, 1, 0, 0, 0, &band));
    for (PetscInt i = 0; i < n; i++) H.insert(H.end(), band.X + (3 * i + 1) * n, band.X + (3 * i + 2) * n);
    PetscCall(PatchFDBandDestroy(&band));
    v.resize(n);
    g.resize(n);
    b.resize(n);
    v[0] = 1; /* nodes are Gauss-Lobatto points */
    PetscCall(PatchFDBasis(degree, 1, ends, B.data(), g.data(), b.data()));
    PetscCall(PatchFDLineDestroy(&line));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* rows r at end e of a cell, columns c at end f of the same or another one */
static std::vector<PetscReal> EndProduct(PetscInt n, int e, const std::vector<PetscReal> &r, int f, const std::vector<PetscReal> &c)
{
  std::vector<PetscReal> X(n * n);

  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < n; j++) X[(e ? n - 1 - i : i) * n + (f ? n - 1 - j : j)] = r[i] * c[j];
  return X;
}

static std::vector<PetscReal> MatrixSum(std::vector<PetscReal> a, const std::vector<PetscReal> &b)
{
  for (size_t i = 0; i < a.size(); i++) a[i] += b[i];
  return a;
}

/* coef: the block (rows of length ld) as a combination of `columns` n x n matrices, the shortest one; false if it is none, up to rounding
   of numbers of size `scale` */
static bool Combination(PetscInt n, const PetscReal *block, PetscInt ld, const std::vector<std::vector<PetscReal>> &columns,
                        PetscReal scale, PetscReal coef[])
{
  const size_t           rows = (size_t)(n * n), nc = columns.size();
  std::vector<PetscReal> A(rows * nc), b(PetscMax(rows, nc)), s(nc), size(nc);
  lapack_int             rank;

  for (size_t i = 0; i < rows; i++) b[i] = block[i / n * ld + i % n];
  for (size_t c = 0; c < nc; c++) {
    for (size_t i = 0; i < rows; i++) size[c] = PetscMax(size[c], PetscAbsReal(columns[c][i]));
    for (size_t i = 0; i < rows; i++) A[c * rows + i] = columns[c][i] / size[c];
  }
  if (LAPACKE_dgelss(LAPACK_COL_MAJOR, (lapack_int)rows, (lapack_int)nc, 1, A.data(), (lapack_int)rows, b.data(), (lapack_int)b.size(),
                     s.data(), 1e-12, &rank))
    return false;
  for (size_t c = 0; c < nc; c++) coef[c] = b[c] / size[c];
  for (size_t i = 0; i < rows; i++) {
    PetscReal r = block[i / n * ld + i % n];

    for (size_t c = 0; c < nc; c++) r -= coef[c] * columns[c][i];
    if (!(PetscAbsReal(r) <= 1e-11 * scale)) return false;
  }
  return true;
}

} // namespace patchfd
