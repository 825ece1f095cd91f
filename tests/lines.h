#pragma once
/* One-dimensional matrices of whole lines from their definitions: what dense references are made of.  No code of the library. */
#include <petscsys.h>
#include <petscdt.h>

typedef struct {
  PetscInt   n, k, cells; /* nodes, degree, cells */
  PetscInt   stride;      /* nodes from a cell to the next: k, or k + 1 without continuity */
  PetscInt   reach;       /* so far away are the nodes that A couples with one */
  PetscReal *x, *v;       /* nodes, vertices */
  PetscReal *M, *A;       /* [n][n] */
  PetscReal *L;           /* [n][n], products of first derivatives: the mixed second derivatives of plates are products of these */
  PetscReal *G;           /* [n][n], what weak data bring into the right-hand side */
  PetscBool  ring;        /* the last vertex is the first one */
  PetscBool  fixed[2];    /* Dirichlet nodes */
  PetscBool  clamped[2];
  PetscReal  penalty[2];
} Line;

/* Lagrange polynomial j of the nodes z[0..k], its first and its second derivative at x, from the definition by the product rule */
static inline void Lagrange(PetscInt k, const PetscReal z[], PetscInt j, PetscReal x, PetscReal l[3])
{
  l[0] = 1;
  l[1] = l[2] = 0;
  for (PetscInt m = 0; m <= k; m++) {
    if (m == j) continue;
    l[2] = l[2] * (x - z[m]) / (z[j] - z[m]) + 2 * l[1] / (z[j] - z[m]);
    l[1] = l[1] * (x - z[m]) / (z[j] - z[m]) + l[0] / (z[j] - z[m]);
    l[0] *= (x - z[m]) / (z[j] - z[m]);
  }
}

/* values, first and second derivatives at the lower or upper end of cell c of all functions of a line; none in cells that do not exist */
static inline void Traces(const Line *l, const PetscReal z[], int end, PetscInt c, PetscReal *const t[3])
{
  for (int m = 0; m < 3; m++)
    for (PetscInt i = 0; i < l->n; i++) t[m][i] = 0;
  if (l->ring) c %= l->cells;
  if (c < 0 || c >= l->cells) return;
  for (PetscInt i = 0; i <= l->k; i++) {
    PetscReal u[3];

    Lagrange(l->k, z, i, end ? 1 : -1, u);
    for (int m = 0; m < 3; m++) t[m][(c * l->stride + i) % l->n] = u[m] * PetscPowRealInt(2 / (l->v[c + 1] - l->v[c]), m);
  }
}

/*
  The terms of interior penalty methods at the vertices, from their definitions: - {u'} [v] - {v'} [u] + sigma [u] [v] in a discontinuous
  line, [u] = u- - u+ (o = 0); the same one derivative higher for the C0 method for plates (o = 1).  At ends with weak conditions,
  one-sided; the data there are u, or n u' for plates, which have u'' at the other ends.
*/
static inline PetscErrorCode LineAddFaces(const PetscReal z[], int o, const PetscBool weak[2], const PetscReal penalty[2], Line *l)
{
  const PetscInt n = l->n;
  PetscReal     *t[2][3];

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc6(n, &t[0][0], n, &t[0][1], n, &t[0][2], n, &t[1][0], n, &t[1][1], n, &t[1][2]));
  for (PetscInt v = l->ring ? 1 : 0; v <= l->cells; v++) {
    const PetscBool  end = (PetscBool)(!l->ring && (v == 0 || v == l->cells)), terms = (PetscBool)(!end || weak[v == 0 ? 0 : 1]);
    const PetscReal  mean = end ? 1 : 0.5, normal = v == 0 ? -1 : 1;
    const PetscInt   next   = l->ring ? v % l->cells : v;
    const PetscReal *val[2] = {t[0][o], t[1][o]}, *der[2] = {t[0][o + 1], t[1][o + 1]};
    PetscReal        sigma;

    Traces(l, z, 1, v - 1, t[0]);
    Traces(l, z, 0, v, t[1]);
    if (end) sigma = penalty[1] * 2 * l->k * (l->k + 1) / (v == 0 ? l->v[1] - l->v[0] : l->v[v] - l->v[v - 1]);
    else sigma = penalty[0] * 0.5 * l->k * (l->k + 1) * (1 / (l->v[v] - l->v[v - 1]) + 1 / (l->v[next + 1] - l->v[next]));
    for (PetscInt i = 0; i < n; i++) {
      const PetscReal ji = val[0][i] - val[1][i], mi = mean * (der[0][i] + der[1][i]);

      for (PetscInt j = 0; j < n; j++) {
        const PetscReal jj = val[0][j] - val[1][j], mj = mean * (der[0][j] + der[1][j]);

        if (terms) l->A[i * n + j] += -mj * ji - mi * jj + sigma * ji * jj;
        if (end && o == 0 && terms) l->G[i * n + j] += (t[0][0][j] + t[1][0][j]) * (sigma * ji * normal - normal * mi);
        if (end && o == 1) l->G[i * n + j] += (t[0][0][j] + t[1][0][j]) * (terms ? sigma * ji - mi : ji);
      }
    }
  }
  PetscCall(PetscFree6(t[0][0], t[0][1], t[0][2], t[1][0], t[1][1], t[1][2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* dirichlet: NULL for a ring; clamped: for plates, else NULL */
static inline PetscErrorCode LineCreate(PetscInt k, PetscBool continuous, PetscInt cells, const PetscReal v[], const PetscBool dirichlet[2],
                                        const PetscBool clamped[2], const PetscReal penalty[2], Line *l)
{
  PetscReal *z, *wz, *q, *w;

  PetscFunctionBeginUser;
  l->k        = k;
  l->cells    = cells;
  l->stride   = continuous ? k : k + 1;
  l->reach    = continuous && !clamped ? k : 2 * l->stride;
  l->ring     = (PetscBool)!dirichlet;
  l->n        = cells * l->stride + (continuous && !l->ring ? 1 : 0);
  l->fixed[0] = (PetscBool)(continuous && !l->ring && dirichlet[0]);
  l->fixed[1] = (PetscBool)(continuous && !l->ring && dirichlet[1]);
  for (int e = 0; e < 2; e++) {
    l->clamped[e] = (PetscBool)(clamped && clamped[e]);
    l->penalty[e] = penalty[e];
  }
  PetscCall(
    PetscCalloc6(l->n + 1, &l->x, cells + 1, &l->v, l->n * l->n, &l->M, l->n * l->n, &l->A, l->n * l->n, &l->L, l->n * l->n, &l->G));
  PetscCall(PetscArraycpy(l->v, v, cells + 1));
  if (k == 0) { /* a direction that does not exist */
    l->M[0] = 1;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc4(k + 1, &z, k + 1, &wz, k + 1, &q, k + 1, &w));
  PetscCall(PetscDTGaussLobattoLegendreQuadrature(k + 1, PETSCGAUSSLOBATTOLEGENDRE_VIA_LINEAR_ALGEBRA, z, wz));
  PetscCall(PetscDTGaussQuadrature(k + 1, -1, 1, q, w));
  for (PetscInt c = 0; c < cells; c++) {
    const PetscReal h = v[c + 1] - v[c];

    for (PetscInt i = 0; i <= k; i++) {
      l->x[c * l->stride + i] = v[c] + h * (z[i] + 1) / 2;
      for (PetscInt j = 0; j <= k; j++) {
        for (PetscInt p = 0; p <= k; p++) {
          const PetscInt ij = (c * l->stride + i) % l->n * l->n + (c * l->stride + j) % l->n;
          PetscReal      li[3], lj[3];

          Lagrange(k, z, i, q[p], li);
          Lagrange(k, z, j, q[p], lj);
          l->M[ij] += w[p] * h / 2 * li[0] * lj[0];
          l->L[ij] += w[p] * 2 / h * li[1] * lj[1];
          l->A[ij] += clamped ? w[p] * 8 / (h * h * h) * li[2] * lj[2] : w[p] * 2 / h * li[1] * lj[1];
        }
      }
    }
  }
  if (clamped) PetscCall(LineAddFaces(z, 1, clamped, penalty, l));
  else if (!continuous) PetscCall(LineAddFaces(z, 0, dirichlet, penalty, l));
  PetscCall(PetscFree4(z, wz, q, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode LineDestroy(Line *l)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree6(l->x, l->v, l->M, l->A, l->L, l->G));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* interpolation from line a to line b at b's nodes */
static inline PetscErrorCode LineInterpolation(const Line *a, const Line *b, PetscReal **P)
{
  PetscReal *z;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(a->n * b->n, P));
  if (a->k == 0) {
    (*P)[0] = 1;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(a->k + 1, &z));
  for (PetscInt i = 0; i < b->n; i++) {
    const PetscInt c = PetscMin(i / b->stride, b->cells - 1) / (b->cells / a->cells);

    for (PetscInt j = 0; j <= a->k; j++) {
      PetscReal l[3];

      Lagrange(a->k, a->x + c * a->stride, j, b->x[i], l);
      (*P)[i * a->n + (c * a->stride + j) % a->n] = l[0];
    }
  }
  PetscCall(PetscFree(z));
  PetscFunctionReturn(PETSC_SUCCESS);
}
