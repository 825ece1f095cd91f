/* what set-up does in one cell: small matrices along lines of numbers, derivatives of maps, and tensors.  In double precision */
#pragma once
#include <petscsys.h>

/* out[o][i][s] = sum over j of X(i, j) in[o][j][s], where X(i, j) = X[i * row + j * col] */
static inline void Contract(PetscInt outer, PetscInt ni, PetscInt nj, PetscInt stride, const PetscReal X[], PetscInt row, PetscInt col,
                            const PetscReal in[], PetscReal out[])
{
  for (PetscInt o = 0; o < outer; o++) {
    for (PetscInt i = 0; i < ni; i++) {
      PetscReal *y = &out[(o * ni + i) * stride];

      for (PetscInt s = 0; s < stride; s++) y[s] = 0;
      for (PetscInt j = 0; j < nj; j++) {
        const PetscReal *x = &in[(o * nj + j) * stride];
        const PetscReal  a = X[i * row + j * col];

        for (PetscInt s = 0; s < stride; s++) y[s] += a * x[s];
      }
    }
  }
}

static inline PetscReal Determinant(PetscInt dim, const PetscReal J[3][3])
{
  if (dim == 1) return J[0][0];
  if (dim == 2) return J[0][0] * J[1][1] - J[0][1] * J[1][0];
  return J[0][0] * (J[1][1] * J[2][2] - J[1][2] * J[2][1]) - J[0][1] * (J[1][0] * J[2][2] - J[1][2] * J[2][0]) +
         J[0][2] * (J[1][0] * J[2][1] - J[1][1] * J[2][0]);
}

/* column e of the matrix of cofactors, the normal of the surfaces X_e = constant where J[a][e] = dx_a / dX_e: det J times row e of the
   inverse of J */
static inline void Cofactors(PetscInt dim, const PetscReal J[3][3], PetscInt e, PetscReal c[3])
{
  const PetscInt f = (e + 1) % 3, g = (e + 2) % 3;

  if (dim == 1) c[0] = 1;
  else if (dim == 2) {
    c[0] = e == 0 ? J[1][1] : -J[1][0];
    c[1] = e == 0 ? -J[0][1] : J[0][0];
  } else
    for (PetscInt a = 0; a < 3; a++) c[a] = J[(a + 1) % 3][f] * J[(a + 2) % 3][g] - J[(a + 2) % 3][f] * J[(a + 1) % 3][g];
}

/* the symmetric matrix of n numbers: a multiple of the identity, a diagonal, or xx xy xz yy yz zz */
static inline void FillTensor(PetscInt dim, PetscInt n, const PetscReal k[], PetscReal K[3][3])
{
  PetscInt next = 0;

  for (PetscInt a = 0; a < dim; a++) {
    for (PetscInt b = a; b < dim; b++) {
      PetscReal value = 0;

      if (n > dim) value = k[next++];
      else if (a == b) value = k[n == 1 ? 0 : a];
      K[a][b] = K[b][a] = value;
    }
  }
}

/* by its leading minors (Sylvester's criterion); not a number is not positive.  It is divided by its trace, so that they do not overflow */
static inline PetscBool TensorIsPositive(PetscInt dim, PetscReal K[3][3], PetscReal *trace)
{
  *trace = 0;
  for (PetscInt a = 0; a < dim; a++) *trace += K[a][a];
  if (!(*trace > 0 && *trace < PETSC_MAX_REAL)) return PETSC_FALSE;
  for (PetscInt i = 0; i < dim * dim; i++) K[i / dim][i % dim] /= *trace;
  for (PetscInt n = 1; n <= dim; n++)
    if (!(Determinant(n, (const PetscReal(*)[3])K) > 0)) return PETSC_FALSE;
  return PETSC_TRUE;
}
