#pragma once
/* Sums of Kronecker products of one-dimensional matrices, their entries one by one, and smoothing steps with the inverses of the patches'
   parts of them.  No code of the library */
#include <petscblaslapack.h>
#include "lines.h"

/* ---- the reference: one-dimensional matrices of whole lines, entries of the operator as products of theirs ---- */

typedef struct {
  PetscInt  dim, N; /* N nodes in all */
  Line      line[3];
  PetscBool bending; /* the operator biharmonic, not poisson */
  PetscReal D[3], shift, robin[6];
  PetscReal twist[3]; /* of the directions 1 and 0, 2 and 0, 2 and 1 */
} Problem;

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) PetscCall(LineDestroy(&p->line[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void Node(const Problem *p, PetscInt i, PetscInt at[3])
{
  at[0] = i % p->line[0].n;
  at[1] = i / p->line[0].n % p->line[1].n;
  at[2] = i / p->line[0].n / p->line[1].n;
}

static inline PetscBool Fixed(const Problem *p, const PetscInt at[3])
{
  for (PetscInt d = 0; d < p->dim; d++)
    if ((p->line[d].fixed[0] && at[d] == 0) || (p->line[d].fixed[1] && at[d] == p->line[d].n - 1)) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* a Robin condition is the value at an end of direction d times that of another function */
static inline PetscReal Robin(const Problem *p, int d, PetscInt i, PetscInt j)
{
  return i != j ? 0 : (i == 0 ? p->robin[2 * d] : 0) + (i == p->line[d].n - 1 ? p->robin[2 * d + 1] : 0);
}

static PetscReal Entry(const Problem *p, const PetscInt i[3], const PetscInt j[3])
{
  PetscReal M[3], A[3], L[3];

  if (Fixed(p, i) || Fixed(p, j)) return i[0] == j[0] && i[1] == j[1] && i[2] == j[2];
  for (int d = 0; d < 3; d++) {
    M[d] = p->line[d].M[i[d] * p->line[d].n + j[d]];
    A[d] = p->D[d] * p->line[d].A[i[d] * p->line[d].n + j[d]] + Robin(p, d, i[d], j[d]);
    L[d] = p->line[d].L[i[d] * p->line[d].n + j[d]];
  }
  return A[0] * M[1] * M[2] + M[0] * A[1] * M[2] + M[0] * M[1] * A[2] + p->shift * M[0] * M[1] * M[2] + p->twist[0] * L[0] * L[1] * M[2] +
         p->twist[1] * L[0] * M[1] * L[2] + p->twist[2] * M[0] * L[1] * L[2];
}

/*
  A row of A x, with the entries of Entry(), whose common factors in a line of columns are taken out.  Only the nodes that share a cell with
  the row's node can contribute, and, where there are face terms, those of the cells beside it
*/
static PetscReal MultiplyRow(const Problem *p, PetscInt r, const PetscReal x[])
{
  const Line *l = p->line;
  PetscInt    i[3], lo[3], hi[3];
  PetscReal   y = 0;

  Node(p, r, i);
  if (Fixed(p, i)) return x[r];
  for (int d = 0; d < 3; d++) {
    lo[d] = PetscMax(l[d].fixed[0] ? 1 : 0, l[d].ring ? 0 : i[d] - l[d].reach);
    hi[d] = PetscMin(l[d].n - (l[d].fixed[1] ? 2 : 1), l[d].ring ? l[d].n : i[d] + l[d].reach);
  }
  for (PetscInt k = lo[2]; k <= hi[2]; k++) {
    for (PetscInt j = lo[1]; j <= hi[1]; j++) {
      const PetscInt  at1 = i[1] * l[1].n + j, at2 = i[2] * l[2].n + k;
      const PetscReal M1 = l[1].M[at1], A1 = p->D[1] * l[1].A[at1] + Robin(p, 1, i[1], j), L1 = l[1].L[at1], M2 = l[2].M[at2],
                      A2 = p->D[2] * l[2].A[at2] + Robin(p, 2, i[2], k), L2 = l[2].L[at2];
      const PetscReal a = p->D[0] * M1 * M2, m = A1 * M2 + M1 * A2 + p->shift * M1 * M2 + p->twist[2] * L1 * L2,
                      t  = p->twist[0] * L1 * M2 + p->twist[1] * M1 * L2;
      const PetscReal *A = &l[0].A[i[0] * l[0].n], *M = &l[0].M[i[0] * l[0].n], *L = &l[0].L[i[0] * l[0].n],
                      *xj = &x[(k * l[1].n + j) * l[0].n];

      for (PetscInt c = lo[0]; c <= hi[0]; c++) y += (a * A[c] + m * M[c] + t * L[c]) * xj[c];
      y += M1 * M2 * Robin(p, 0, i[0], i[0]) * xj[i[0]];
    }
  }
  return y;
}

static void Multiply(const Problem *p, const PetscReal x[], PetscReal y[])
{
  for (PetscInt r = 0; r < p->N; r++) y[r] = MultiplyRow(p, r, x);
}

/* ---- reference smoother: dense Cholesky on each patch ---- */

typedef struct {
  PetscInt   color, n, *node;
  PetscReal *L;
} Patch;

/* the unknowns of direction d of the patch of vertex v: strictly inside its two cells, and a Neumann end of the line; all of them without
   continuity.  Around a ring they go on beyond its last one */
static void PatchExtent(const Line *l, PetscInt v, PetscInt *lo, PetscInt *hi)
{
  const PetscInt first = l->cells == 1 ? 0 : v - 1, last = l->cells == 1 ? 1 : v + 1; /* in cells */

  if (l->k == 0) *lo = *hi = 0;
  else if (l->stride > l->k) {
    *lo = first * l->stride;
    *hi = last * l->stride - 1;
  } else {
    *lo = first == 0 && !l->fixed[0] && !l->ring ? 0 : first * l->k + 1;
    *hi = last == l->cells && !l->fixed[1] && !l->ring ? l->n - 1 : last * l->k - 1;
  }
}

/* the cells of the patch of vertices v as a plate of its own: clamped inside the mesh, as the mesh is where they end with it; first[] is
   its first node */
static PetscErrorCode AloneCreate(const Problem *p, const PetscInt v[3], Problem *alone, PetscInt first[3])
{
  PetscFunctionBeginUser;
  *alone = *p;
  for (int d = 0; d < 3; d++) {
    const Line     *l      = &p->line[d];
    const PetscInt  cells  = PetscMin(2, l->cells);
    const PetscBool end[2] = {(PetscBool)(v[d] == 0), (PetscBool)(v[d] + cells == l->cells)}, fixed[2] = {PETSC_TRUE, PETSC_TRUE};
    const PetscBool clamped[2] = {(PetscBool)(!end[0] || l->clamped[0] || l->ring), (PetscBool)(!end[1] || l->clamped[1] || l->ring)};
    PetscReal       at[3];

    for (PetscInt i = 0; i <= cells; i++)
      at[i] = v[d] + i <= l->cells ? l->v[v[d] + i] : l->v[v[d] + i - l->cells] + l->v[l->cells] - l->v[0];
    PetscCall(PetscMemzero(&alone->line[d], sizeof(Line)));
    PetscCall(LineCreate(l->k, PETSC_TRUE, cells, at, fixed, clamped, l->penalty, &alone->line[d]));
    first[d] = v[d] * l->stride;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

enum {
  COLORS = 250
};

static PetscBool HasPhases(const Problem *p)
{
  return (PetscBool)(p->line[0].reach > p->line[0].k);
}

/* that of a vertex, or, for each of the last ones that are too many around a ring, a number of its own */
static PetscInt Parity(const Problem *p, PetscInt d, PetscInt v)
{
  const PetscInt cells = p->line[d].cells, last = p->line[d].ring ? cells - cells % (HasPhases(p) ? 4 : 2) : cells;

  return v < last ? v % 2 : 2 + v - last;
}

/* alone: with the matrices of patches as plates of their own */
static PetscErrorCode PatchesCreate(const Problem *p, PetscBool alone, PetscInt *np, Patch **patches)
{
  PetscInt nv[3], total = 1;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) total *= nv[d] = PetscMax(1, p->line[d].cells - !p->line[d].ring);
  PetscCall(PetscCalloc1(total, patches));
  *np = 0;
  for (PetscInt t = 0; t < total; t++) {
    const PetscInt v[3] = {t % nv[0], t / nv[0] % nv[1], t / nv[0] / nv[1]};
    Patch         *q    = &(*patches)[*np];
    PetscInt       lo[3], hi[3], at[3], first[3] = {0, 0, 0}, n = 0;
    Problem        own;

    for (int d = 0; d < 3; d++) PatchExtent(&p->line[d], v[d] + 1, &lo[d], &hi[d]);
    q->n     = (hi[0] - lo[0] + 1) * (hi[1] - lo[1] + 1) * (hi[2] - lo[2] + 1);
    q->color = 2 * (Parity(p, 0, v[0]) + 5 * (Parity(p, 1, v[1]) + 5 * Parity(p, 2, v[2]))); /* twice the parity, plus the phase */
    if (HasPhases(p)) q->color += (v[0] / 2 + v[1] / 2 + v[2] / 2) % 2;
    if (q->n <= 0) continue;
    PetscCall(PetscMalloc2(q->n, &q->node, q->n * q->n, &q->L));
    for (at[2] = lo[2]; at[2] <= hi[2]; at[2]++)
      for (at[1] = lo[1]; at[1] <= hi[1]; at[1]++)
        for (at[0] = lo[0]; at[0] <= hi[0]; at[0]++)
          q->node[n++] = (at[2] % p->line[2].n * p->line[1].n + at[1] % p->line[1].n) * p->line[0].n + at[0] % p->line[0].n;
    if (alone) PetscCall(AloneCreate(p, v, &own, first));
    for (PetscInt i = 0; i < n; i++) {
      PetscInt ai[3], aj[3];

      Node(p, q->node[i], ai);
      for (int d = 0; d < 3; d++) ai[d] = (ai[d] - first[d] + p->line[d].n) % p->line[d].n;
      for (PetscInt j = 0; j < n; j++) {
        Node(p, q->node[j], aj);
        for (int d = 0; d < 3; d++) aj[d] = (aj[d] - first[d] + p->line[d].n) % p->line[d].n;
        q->L[i * n + j] = Entry(alone ? &own : p, ai, aj);
      }
    }
    if (alone) PetscCall(ProblemDestroy(&own));
    {
      PetscBLASInt bn, info;

      PetscCall(PetscBLASIntCast(n, &bn));
      LAPACKpotrf_("L", &bn, q->L, &bn, &info);
      PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "the reference's patch matrix is not positive definite");
    }
    (*np)++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x += omega A_j^{-1} r on one patch */
static PetscErrorCode PatchSolve(const Patch *q, PetscReal omega, const PetscReal r[], PetscReal x[])
{
  PetscBLASInt n, one = 1, info;
  PetscReal   *u;

  PetscFunctionBeginUser;
  PetscCall(PetscBLASIntCast(q->n, &n));
  PetscCall(PetscMalloc1(q->n, &u));
  for (PetscInt i = 0; i < q->n; i++) u[i] = r[q->node[i]];
  LAPACKpotrs_("L", &n, &one, q->L, &n, u, &n, &info);
  for (PetscInt i = 0; i < q->n; i++) x[q->node[i]] += omega * u[i];
  PetscCall(PetscFree(u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* phases: a colour has two, and the patches of the second see what the first has done */
static PetscErrorCode ReferenceStep(const Problem *p, PetscInt np, const Patch q[], PetscBool phases, PetscBool exact, PCPatchFDType type,
                                    PCPatchFDOrder order, PetscReal omega, const PetscReal b[], PetscReal x[])
{
  PetscReal *r;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(p->N, &r));
  for (PetscInt s = 0; s < (type == PC_PATCHFD_TYPE_ADDITIVE ? 1 : (order == PC_PATCHFD_ORDER_SYMMETRIC ? 2 * COLORS : COLORS)); s++) {
    const PetscInt color = order == PC_PATCHFD_ORDER_BACKWARD || s >= COLORS ? COLORS - 1 - s % COLORS : s;
    const PetscInt mask  = phases ? ~0 : ~1;
    PetscBool      last  = PETSC_TRUE; /* of the first half */

    for (PetscInt i = 0; i < np; i++) last = (PetscBool)(last && (q[i].color & mask) <= color);
    if (s >= COLORS && last && omega == 1 && exact) continue; /* an exact solve repeated */
    /* the residual of all patches of the colour, then their solves; patches of a colour have no common nodes */
    if (type == PC_PATCHFD_TYPE_ADDITIVE) {
      for (PetscInt i = 0; i < p->N; i++) r[i] = b[i] - MultiplyRow(p, i, x);
    }
    for (PetscInt i = 0; i < np && type == PC_PATCHFD_TYPE_MULTIPLICATIVE; i++)
      for (PetscInt n = 0; n < q[i].n && (q[i].color & mask) == color; n++)
        r[q[i].node[n]] = b[q[i].node[n]] - MultiplyRow(p, q[i].node[n], x);
    for (PetscInt i = 0; i < np; i++)
      if (type == PC_PATCHFD_TYPE_ADDITIVE || (q[i].color & mask) == color) PetscCall(PatchSolve(&q[i], omega, r, x));
  }
  for (PetscInt i = 0; i < p->N; i++) {
    PetscInt at[3];

    Node(p, i, at);
    if (Fixed(p, at)) x[i] += omega * (b[i] - x[i]);
  }
  PetscCall(PetscFree(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
