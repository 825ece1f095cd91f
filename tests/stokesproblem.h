#pragma once
/* The operator stokes as sums of Kronecker products of one-dimensional matrices, and smoothing steps with the pseudo-inverses of the
   patches' parts of it.  No code of the library */
#include <petscblaslapack.h>
#include <petscmat.h>
#include "lines.h"

/* ---- the reference ---- */

/* rows of field `row` += A times field `col` */
typedef struct {
  PetscInt row, col;
  Mat      A;
} Term;

/*
  Component f of the velocity is continuous of degree k + 1 in direction f, and as the pressure (f = dim) discontinuous of degree k in all
  other directions. Natural numbers: field by field, x fastest.
*/
typedef struct {
  PetscInt   dim, k, N, nterm;
  PetscInt   first[5];   /* where the fields begin */
  Line       C[3], D[3]; /* continuous and discontinuous line of each direction */
  PetscReal  viscosity, shift, penalty[2];
  Term       term[16];   /* and a place to work in */
  Mat        natural, K; /* without conditions on the normal velocity, and with them */
  PetscBool *fixed;      /* [N] */
  PetscBool  slip[3][2]; /* ends where the normal velocity alone is given */
} Problem;

static const Line *FieldLine(const Problem *p, PetscInt f, PetscInt d)
{
  return f == d ? &p->C[d] : &p->D[d];
}

/* place of the numbers lo .. hi - 1 in each direction of a field, around rings modulo those there are, x fastest; returns how many */
static PetscInt FieldNodes(const Problem *p, PetscInt f, const PetscInt lo[3], const PetscInt hi[3], PetscInt node[])
{
  const PetscInt n[3]  = {FieldLine(p, f, 0)->n, FieldLine(p, f, 1)->n, p->dim > 2 ? FieldLine(p, f, 2)->n : 1};
  PetscInt       count = 0;

  for (PetscInt k = p->dim > 2 ? lo[2] : 0; k < (p->dim > 2 ? hi[2] : 1); k++)
    for (PetscInt j = lo[1]; j < hi[1]; j++)
      for (PetscInt i = lo[0]; i < hi[0]; i++) node[count++] = p->first[f] + (k % n[2] * n[1] + j % n[1]) * n[0] + i % n[0];
  return count;
}

static PetscErrorCode SparseMat(PetscInt n, PetscInt m, const PetscReal X[], Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, m, m, NULL, A));
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt j = 0; j < m; j++)
      if (X[i * m + j] != 0) PetscCall(MatSetValue(*A, i, j, X[i * m + j], INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X[dim - 1] (x) .. (x) X[0]; these are dense matrices of n[d] rows and m[d] columns */
static PetscErrorCode Kronecker(PetscInt dim, const PetscInt n[], const PetscInt m[], const PetscReal *const X[], Mat *K)
{
  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) {
    Mat A, inner = *K;

    PetscCall(SparseMat(n[d], m[d], X[d], &A));
    if (d == 0) *K = A;
    else {
      PetscCall(MatSeqAIJKron(A, inner, MAT_INITIAL_MATRIX, K));
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&inner));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* int v u' (or its transpose), v of the discontinuous line, u of the continuous one with the same cells */
static PetscErrorCode LineDerivative(const Line *D, const Line *C, PetscBool transpose, PetscReal X[])
{
  const PetscInt nq = C->k + 1;
  PetscReal     *q, *w;

  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(X, D->n * C->n));
  PetscCall(PetscMalloc2(nq, &q, nq, &w));
  for (PetscInt c = 0; c < C->cells; c++) {
    PetscCall(PetscDTGaussQuadrature(nq, C->v[c], C->v[c + 1], q, w));
    for (PetscInt p = 0; p < nq; p++) {
      for (PetscInt i = 0; i <= D->k; i++) {
        for (PetscInt j = 0; j <= C->k; j++) {
          const PetscInt row = (c * D->stride + i) % D->n, col = (c * C->stride + j) % C->n;
          PetscReal      v[3], u[3];

          Lagrange(D->k, D->x + c * D->stride, i, q[p], v);
          Lagrange(C->k, C->x + c * C->stride, j, q[p], u);
          X[transpose ? col * D->n + row : row * C->n + col] += w[p] * v[0] * u[1];
        }
      }
    }
  }
  PetscCall(PetscFree2(q, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* masses, but X in direction d if that is one */
static PetscErrorCode AddTerm(Problem *p, PetscInt row, PetscInt col, PetscReal coef, PetscInt d, const PetscReal *X)
{
  Term            *t = &p->term[p->nterm++];
  PetscInt         n[3], m[3];
  const PetscReal *dir[3];

  PetscFunctionBeginUser;
  t->row = row;
  t->col = col;
  for (PetscInt e = 0; e < p->dim; e++) {
    n[e]   = FieldLine(p, row, e)->n;
    m[e]   = FieldLine(p, col, e)->n;
    dir[e] = e == d ? X : FieldLine(p, row, e)->M;
  }
  PetscCall(Kronecker(p->dim, n, m, dir, &t->A));
  PetscCall(MatScale(t->A, coef));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the Laplacians of each direction, the first one with the shift; gradient; divergence */
static PetscErrorCode AddTerms(Problem *p)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < p->dim; i++) {
    PetscReal *G;

    for (PetscInt d = 0; d < p->dim; d++) {
      PetscCall(AddTerm(p, i, i, p->viscosity, d, FieldLine(p, i, d)->A));
      if (d == 0 && p->shift != 0) {
        Mat mass;

        PetscCall(AddTerm(p, i, i, p->shift, -1, NULL));
        mass = p->term[--p->nterm].A;
        PetscCall(MatAXPY(p->term[p->nterm - 1].A, 1, mass, DIFFERENT_NONZERO_PATTERN));
        PetscCall(MatDestroy(&mass));
      }
    }
    PetscCall(PetscMalloc1(p->C[i].n * p->D[i].n, &G));
    PetscCall(LineDerivative(&p->D[i], &p->C[i], PETSC_TRUE, G));
    PetscCall(AddTerm(p, i, p->dim, -1, i, G));
    PetscCall(LineDerivative(&p->D[i], &p->C[i], PETSC_FALSE, G));
    PetscCall(AddTerm(p, p->dim, i, -1, i, G));
    PetscCall(PetscFree(G));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Assemble(Problem *p)
{
  Mat      block[16] = {NULL}, nest;
  PetscInt nf = p->dim + 1, nfixed = 0, *fixed;

  PetscFunctionBeginUser;
  for (PetscInt t = 0; t < p->nterm; t++) {
    Mat *b = &block[p->term[t].row * nf + p->term[t].col];

    if (*b) PetscCall(MatAXPY(*b, 1, p->term[t].A, DIFFERENT_NONZERO_PATTERN));
    else PetscCall(MatDuplicate(p->term[t].A, MAT_COPY_VALUES, b));
  }
  PetscCall(MatCreateNest(PETSC_COMM_SELF, nf, NULL, nf, NULL, block, &nest));
  PetscCall(MatConvert(nest, MATAIJ, MAT_INITIAL_MATRIX, &p->natural));
  PetscCall(MatDestroy(&nest));
  for (int i = 0; i < 16; i++) PetscCall(MatDestroy(&block[i]));
  PetscCall(PetscMalloc1(p->N, &fixed));
  for (PetscInt i = 0; i < p->N; i++)
    if (p->fixed[i]) fixed[nfixed++] = i;
  PetscCall(MatDuplicate(p->natural, MAT_COPY_VALUES, &p->K));
  PetscCall(MatSetOption(p->K, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE)); /* 3.25 would miss the diagonal that these rows have */
  PetscCall(MatZeroRowsColumns(p->K, nfixed, fixed, 1, NULL, NULL));
  PetscCall(PetscFree(fixed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of a mesh with these vertices; at each end the normal velocity is given or not, the others are too unless it slips; or of rings */
static PetscErrorCode ProblemCreate(PetscInt dim, PetscInt k, PetscReal viscosity, PetscReal shift, const PetscReal penalty[2],
                                    const PetscInt cells[], PetscReal *const v[], const PetscBool given[][2], const PetscBool slip[][2],
                                    const PetscBool ring[], Problem *p)
{
  const PetscReal scaled[2] = {penalty[0] * (k + 2) / k, penalty[1] * (k + 2) / k}; /* LineCreate() takes factors of k (k + 1) */

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->dim       = dim;
  p->k         = k;
  p->viscosity = viscosity;
  p->shift     = shift;
  for (int i = 0; i < 2; i++) p->penalty[i] = penalty[i];
  for (PetscInt d = 0; d < dim; d++) {
    const PetscBool noslip[2] = {(PetscBool)(given[d][0] && !slip[d][0]), (PetscBool)(given[d][1] && !slip[d][1])};

    PetscCall(PetscArraycpy(p->slip[d], slip[d], 2));
    PetscCall(LineCreate(k + 1, PETSC_TRUE, cells[d], v[d], ring[d] ? NULL : given[d], NULL, scaled, &p->C[d]));
    PetscCall(LineCreate(k, PETSC_FALSE, cells[d], v[d], ring[d] ? NULL : noslip, NULL, scaled, &p->D[d]));
  }
  for (PetscInt f = 0; f <= dim; f++) {
    p->first[f + 1] = 1;
    for (PetscInt d = 0; d < dim; d++) p->first[f + 1] *= FieldLine(p, f, d)->n;
    p->first[f + 1] += p->first[f];
  }
  p->N = p->first[dim + 1];
  PetscCall(PetscCalloc1(p->N, &p->fixed));
  for (PetscInt f = 0; f < dim; f++) { /* the first and the last layer of a component in its own direction */
    PetscInt *node;

    PetscCall(PetscMalloc1(p->N, &node));
    for (int e = 0; e < 2; e++) {
      PetscInt lo[3] = {0, 0, 0}, hi[3] = {0, 0, 0}, n;

      if (!given[f][e]) continue;
      for (PetscInt d = 0; d < dim; d++) hi[d] = FieldLine(p, f, d)->n;
      if (e) lo[f] = hi[f] - 1;
      else hi[f] = 1;
      n = FieldNodes(p, f, lo, hi, node);
      for (PetscInt i = 0; i < n; i++) p->fixed[node[i]] = PETSC_TRUE;
    }
    PetscCall(PetscFree(node));
  }
  PetscCall(AddTerms(p));
  PetscCall(Assemble(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < p->dim; d++) {
    PetscCall(LineDestroy(&p->C[d]));
    PetscCall(LineDestroy(&p->D[d]));
  }
  for (PetscInt t = 0; t < p->nterm; t++) PetscCall(MatDestroy(&p->term[t].A));
  PetscCall(MatDestroy(&p->natural));
  PetscCall(MatDestroy(&p->K));
  PetscCall(PetscFree(p->fixed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y += A x, or A' x */
static PetscErrorCode MultiplyAdd(Mat A, PetscBool transpose, const PetscReal x[], PetscReal y[])
{
  PetscInt n, m;
  Vec      vx, vy;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, &m));
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, transpose ? n : m, x, &vx));
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, transpose ? m : n, y, &vy));
  if (transpose) PetscCall(MatMultTransposeAdd(A, vx, vy, vy));
  else PetscCall(MatMultAdd(A, vx, vy, vy));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x */
static PetscErrorCode Multiply(Mat A, const PetscReal x[], PetscReal y[])
{
  PetscInt n;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(PetscArrayzero(y, n));
  PetscCall(MultiplyAdd(A, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- reference smoother ---- */

typedef struct {
  PetscInt      cell[3], n, *node;
  PetscBLASInt  m; /* size of LU: one more with a null space */
  PetscBLASInt *pivot;
  PetscReal    *LU;
} Patch;

/* the unknowns of all fields in the cells cell .. end - 1: no normal velocities at their sides, but at open sides of the mesh */
static PetscErrorCode PatchNodes(const Problem *p, const PetscInt cell[3], const PetscInt end[3], PetscInt *n, PetscInt **node)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(p->N, node));
  *n = 0;
  for (PetscInt f = 0; f <= p->dim; f++) {
    PetscInt lo[3], hi[3];

    for (PetscInt d = 0; d < p->dim; d++) {
      const Line *l = FieldLine(p, f, d);

      lo[d] = cell[d] * l->stride;
      hi[d] = end[d] * l->stride;
      if (f != d) continue;
      if (cell[d] > 0 || l->fixed[0] || l->ring) lo[d]++;
      if (end[d] == l->cells && !l->fixed[1] && !l->ring) hi[d]++;
    }
    *n += FieldNodes(p, f, lo, hi, *node + *n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The pseudo-inverse of a symmetric K whose null space is spanned by z: x of K x + mu z = r, z' x = 0.  Here z is one for pressures, zero
  for velocities; if it is no null space, the inverse of K
*/
static PetscErrorCode PatchFactor(const Problem *p, const PetscInt node[], Patch *q)
{
  PetscReal   *K, *z, norm = 0, defect = 0;
  PetscBLASInt info;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(q->n * q->n, &K, q->n, &z));
  PetscCall(MatGetValues(p->K, q->n, node, q->n, node, K));
  for (PetscInt i = 0; i < q->n; i++) z[i] = node[i] >= p->first[p->dim] ? 1 : 0;
  for (PetscInt i = 0; i < q->n; i++) {
    PetscReal sum = 0;

    for (PetscInt j = 0; j < q->n; j++) {
      sum += K[i * q->n + j] * z[j];
      if (z[j] != 0) norm = PetscMax(norm, PetscAbsReal(K[i * q->n + j]));
    }
    defect = PetscMax(defect, PetscAbsReal(sum));
  }
  PetscCall(PetscBLASIntCast(defect < 1e-10 * norm ? q->n + 1 : q->n, &q->m));
  PetscCall(PetscCalloc1(q->m * q->m, &q->LU));
  PetscCall(PetscMalloc1(q->m, &q->pivot));
  for (PetscInt i = 0; i < q->n; i++) {
    PetscCall(PetscArraycpy(&q->LU[i * q->m], &K[i * q->n], q->n));
    if (q->m > q->n) q->LU[i * q->m + q->n] = q->LU[q->n * q->m + i] = z[i];
  }
  LAPACKgetrf_(&q->m, &q->m, q->LU, &q->m, q->pivot, &info);
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "the reference's patch matrix is singular");
  PetscCall(PetscFree2(K, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the same for the cells of a patch as a mesh of their own: no slip where they end inside the mesh */
static PetscErrorCode PatchFactorAlone(const Problem *p, const PetscInt end[3], Patch *q)
{
  const PetscBool ring[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};
  PetscReal       at[3][3], *v[3] = {at[0], at[1], at[2]};
  PetscBool       given[3][2], slip[3][2];
  PetscInt        cells[3], zero[3] = {0, 0, 0}, *node, n;
  Problem         own;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < p->dim; d++) {
    const Line *l = &p->C[d];

    cells[d]    = end[d] - q->cell[d];
    given[d][0] = (PetscBool)(q->cell[d] > 0 || l->fixed[0] || l->ring);
    given[d][1] = (PetscBool)(end[d] < l->cells || l->fixed[1] || l->ring);
    slip[d][0]  = (PetscBool)(q->cell[d] == 0 && p->slip[d][0]);
    slip[d][1]  = (PetscBool)(end[d] == l->cells && p->slip[d][1]);
    for (PetscInt i = 0, c = q->cell[d]; i <= cells[d]; i++, c++)
      at[d][i] = c <= l->cells ? l->v[c] : l->v[c - l->cells] + l->v[l->cells] - l->v[0];
  }
  PetscCall(ProblemCreate(p->dim, p->k, p->viscosity, p->shift, p->penalty, cells, v, given, slip, ring, &own));
  PetscCall(PatchNodes(&own, zero, cells, &n, &node));
  PetscCheck(n == q->n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "sizes");
  PetscCall(PatchFactor(&own, node, q));
  PetscCall(PetscFree(node));
  PetscCall(ProblemDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PatchesCreate(const Problem *p, PetscBool alone, PetscInt *np, Patch **patches)
{
  PetscInt n[3] = {1, 1, 1};

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < p->dim; d++) n[d] = PetscMax(1, p->C[d].cells - !p->C[d].ring);
  *np = n[0] * n[1] * n[2];
  PetscCall(PetscCalloc1(*np, patches));
  for (PetscInt i = 0; i < *np; i++) {
    Patch   *q       = &(*patches)[i];
    PetscInt cell[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]}, end[3];

    for (PetscInt d = 0; d < 3; d++) q->cell[d] = cell[d];
    for (PetscInt d = 0; d < p->dim; d++) end[d] = p->C[d].ring ? cell[d] + 2 : PetscMin(cell[d] + 2, p->C[d].cells);
    PetscCall(PatchNodes(p, cell, end, &q->n, &q->node));
    if (alone) PetscCall(PatchFactorAlone(p, end, q));
    else PetscCall(PatchFactor(p, q->node, q));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PatchesDestroy(PetscInt np, Patch **patches)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < np; i++) {
    PetscCall(PetscFree((*patches)[i].node));
    PetscCall(PetscFree((*patches)[i].LU));
    PetscCall(PetscFree((*patches)[i].pivot));
  }
  PetscCall(PetscFree(*patches));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x += omega K_j^+ r on one patch */
static PetscErrorCode PatchSolve(const Patch *q, PetscReal omega, const PetscReal r[], PetscReal x[])
{
  PetscBLASInt one = 1, info;
  PetscReal   *u;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(q->m, &u));
  for (PetscInt i = 0; i < q->n; i++) u[i] = r[q->node[i]];
  LAPACKgetrs_("N", &q->m, &one, q->LU, &q->m, q->pivot, u, &q->m, &info);
  for (PetscInt i = 0; i < q->n; i++) x[q->node[i]] += omega * u[i];
  PetscCall(PetscFree(u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the parity of a patch's cells, x fastest, and with phases red before black */
static PetscInt PatchColor(const Patch *q, PetscBool phases)
{
  return 2 * (q->cell[0] % 2 + 2 * (q->cell[1] % 2) + 4 * (q->cell[2] % 2)) +
         (phases ? (q->cell[0] / 2 + q->cell[1] / 2 + q->cell[2] / 2) % 2 : 0);
}

/* all patches of a colour see the state before it */
static PetscErrorCode ReferenceStep(const Problem *p, PetscInt np, const Patch q[], PetscBool phases, PCPatchFDType type,
                                    PCPatchFDOrder order, PetscReal omega, const PetscReal b[], PetscReal x[])
{
  PetscReal *r;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(p->N, &r));
  for (PetscInt s = 0; s < (type == PC_PATCHFD_TYPE_ADDITIVE ? 1 : (order == PC_PATCHFD_ORDER_SYMMETRIC ? 32 : 16)); s++) {
    const PetscInt color = order == PC_PATCHFD_ORDER_BACKWARD || s >= 16 ? 15 - s % 16 : s;

    PetscCall(Multiply(p->K, x, r));
    for (PetscInt i = 0; i < p->N; i++) r[i] = b[i] - r[i];
    for (PetscInt i = 0; i < np; i++)
      if (type == PC_PATCHFD_TYPE_ADDITIVE || PatchColor(&q[i], phases) == color) PetscCall(PatchSolve(&q[i], omega, r, x));
  }
  for (PetscInt i = 0; i < p->N; i++)
    if (p->fixed[i]) x[i] += omega * (b[i] - x[i]);
  PetscCall(PetscFree(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}
