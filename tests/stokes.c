static char help[] =
  "The operator stokes, its smoothers and transfers against references that share no code with the library: sums of Kronecker products of\n\
one-dimensional matrices by quadrature, and the pseudo-inverses of the patches' parts of them.\n\
  -dm_box_*       : the mesh (see DMBOX); -graded : random cell lengths\n\
  -degrees <k,..> : of the pressure\n\
  -smoothers <b>  : with smoothing steps; -box <b>: with the whole box as one patch\n\
  -tolerance <t>  : allowed deviation of each field, relative to its maximum\n\n";

#include <petscpatchfd.h>
#include <petscblaslapack.h>
#include <patchfd/private/matimpl.h> /* to take terms out of an operator */
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

/* of a mesh with these vertices and, at each end, no slip or not, or of rings */
static PetscErrorCode ProblemCreate(PetscInt dim, PetscInt k, PetscReal viscosity, PetscReal shift, const PetscReal penalty[2],
                                    const PetscInt cells[], PetscReal *const v[], const PetscBool noslip[][2], const PetscBool ring[],
                                    Problem *p)
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
    PetscCall(LineCreate(k + 1, PETSC_TRUE, cells[d], v[d], ring[d] ? NULL : noslip[d], NULL, scaled, &p->C[d]));
    PetscCall(LineCreate(k, PETSC_FALSE, cells[d], v[d], ring[d] ? NULL : noslip[d], NULL, scaled, &p->D[d]));
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

      if (!noslip[f][e]) continue;
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
  PetscBool       noslip[3][2];
  PetscInt        cells[3], zero[3] = {0, 0, 0}, *node, n;
  Problem         own;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < p->dim; d++) {
    const Line *l = &p->C[d];

    cells[d]     = end[d] - q->cell[d];
    noslip[d][0] = (PetscBool)(q->cell[d] > 0 || l->fixed[0] || l->ring);
    noslip[d][1] = (PetscBool)(end[d] < l->cells || l->fixed[1] || l->ring);
    for (PetscInt i = 0, c = q->cell[d]; i <= cells[d]; i++, c++)
      at[d][i] = c <= l->cells ? l->v[c] : l->v[c - l->cells] + l->v[l->cells] - l->v[0];
  }
  PetscCall(ProblemCreate(p->dim, p->k, p->viscosity, p->shift, p->penalty, cells, v, noslip, ring, &own));
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

/* ---- between the library's numbering and the natural one ---- */

typedef struct {
  DM        dm;
  Problem  *p;
  PetscInt  n, *number; /* natural numbers of the rank's entries */
  PetscReal tol;
  PetscInt *failures;
} Layout;

/* as the manual page says: the fields one after another, the rank's cells with x fastest; a node that cells of two ranks share belongs to
   the upper one */
static PetscErrorCode LayoutCreate(DM dm, Problem *p, PetscReal tol, PetscInt *failures, Layout *l)
{
  PetscReal lower[3], upper[3];
  PetscInt  first[3] = {0, 0, 0}, end[3] = {1, 1, 1};
  PetscBool empty = PETSC_FALSE;

  PetscFunctionBeginUser;
  *l = (Layout){.dm = dm, .p = p, .tol = tol, .failures = failures};
  PetscUseTypeMethod(dm, getlocalboundingbox, lower, upper, first, end);
  for (PetscInt d = 0; d < p->dim; d++) empty = (PetscBool)(empty || first[d] >= end[d]);
  PetscCall(PetscMalloc1(p->N, &l->number));
  for (PetscInt f = 0; f <= p->dim && !empty; f++) {
    PetscInt lo[3], hi[3];

    for (PetscInt d = 0; d < p->dim; d++) {
      const Line *line = FieldLine(p, f, d);

      lo[d] = first[d] * line->stride;
      hi[d] = end[d] == line->cells ? line->n : end[d] * line->stride;
    }
    l->n += FieldNodes(p, f, lo, hi, l->number + l->n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LayoutDestroy(Layout *l)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(l->number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ToVec(const Layout *l, const PetscReal a[], Vec v)
{
  PetscScalar *x;
  PetscInt     n;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCheck(n == l->n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " entries, not %" PetscInt_FMT, n, l->n);
  PetscCall(VecGetArrayWrite(v, &x));
  for (PetscInt j = 0; j < n; j++) x[j] = a[l->number[j]];
  PetscCall(VecRestoreArrayWrite(v, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* each field by itself; up to constant pressures if `constants` */
static PetscErrorCode CompareTo(const Layout *l, const char *name, Vec v, const PetscReal a[], PetscReal tol, PetscBool constants)
{
  const Problem     *p = l->p;
  const PetscScalar *x;
  PetscReal          err[4] = {0, 0, 0, 0}, shift = 0;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayRead(v, &x));
  for (PetscInt j = 0; j < l->n && constants; j++)
    if (l->number[j] >= p->first[p->dim]) shift += (x[j] - a[l->number[j]]) / (p->first[p->dim + 1] - p->first[p->dim]);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &shift, 1, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  for (PetscInt j = 0, f = 0; j < l->n; j++) {
    PetscReal e;

    while (l->number[j] >= p->first[f + 1]) f++;
    e      = PetscAbsScalar(x[j] - a[l->number[j]] - (f == p->dim ? shift : 0));
    err[f] = e > err[f] || PetscIsNanReal(e) ? e : err[f];
  }
  PetscCall(VecRestoreArrayRead(v, &x));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, err, 4, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  for (PetscInt f = 0; f <= p->dim; f++) {
    PetscReal max = 0;

    for (PetscInt i = p->first[f]; i < p->first[f + 1]; i++) max = PetscMax(max, PetscAbsReal(a[i]));
    if (err[f] <= tol * max) continue;
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "%s: field %" PetscInt_FMT " deviates by %g, maximum %g\n", name, f, (double)err[f], (double)max));
    (*l->failures)++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const Layout *l, const char *name, Vec v, const PetscReal a[])
{
  PetscFunctionBeginUser;
  PetscCall(CompareTo(l, name, v, a, l->tol, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of a mesh with these vertices, whose coefficients and conditions are those of the DM */
static PetscErrorCode ProblemCreateOfDM(DM dm, PetscReal *const vertices[3], Problem *p)
{
  PetscReal         penalty[2], viscosity, shift;
  PetscInt          dim, cells[3], k;
  PetscBool         noslip[3][2], ring[3];
  DMBoxBoundaryType bc[6];

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetCells(dm, cells));
  PetscCall(DMBoxGetDegree(dm, &k));
  PetscCall(DMBoxGetBoundary(dm, bc));
  PetscCall(DMBoxGetStokes(dm, &viscosity, &shift));
  PetscCall(DMBoxGetPenalty(dm, &penalty[0], &penalty[1]));
  for (PetscInt i = 0; i < 2 * dim; i++) noslip[i / 2][i % 2] = (PetscBool)(bc[i] == DMBOX_BOUNDARY_DIRICHLET);
  for (PetscInt d = 0; d < dim; d++) ring[d] = (PetscBool)(bc[2 * d] == DMBOX_BOUNDARY_PERIODIC);
  PetscCall(ProblemCreate(dim, k, viscosity, shift, penalty, cells, vertices, noslip, ring, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Random(PetscRandom rnd, PetscInt n, PetscReal **a)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n, a));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(PetscRandomGetValueReal(rnd, &(*a)[i]));
    (*a)[i] = 2 * (*a)[i] - 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the operator ---- */

/* every way to apply it, its diagonal, its conversion */
static PetscErrorCode TestOperator(const Layout *l, Mat A, const PetscReal x[], const PetscReal b[])
{
  const Problem *p = l->p;
  PetscReal     *y, *z;
  Vec            vx, vb, vy, wx, wy;
  Mat            B;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(p->N, &y, p->N, &z));
  PetscCall(MatCreateVecs(A, &vx, &vy));
  PetscCall(VecDuplicate(vx, &vb));
  PetscCall(ToVec(l, x, vx));
  PetscCall(ToVec(l, b, vb));
  PetscCall(Multiply(p->K, x, y));
  PetscCall(MatMult(A, vx, vy));
  PetscCall(Compare(l, "MatMult", vy, y));
  PetscCall(MatMultTranspose(A, vx, vy));
  PetscCall(Compare(l, "MatMultTranspose", vy, y));
  for (PetscInt i = 0; i < p->N; i++) z[i] = b[i] + y[i];
  PetscCall(MatMultAdd(A, vx, vb, vy));
  PetscCall(Compare(l, "MatMultAdd", vy, z));
  for (PetscInt i = 0; i < p->N; i++) z[i] = b[i] - y[i];
  PetscCall(MatResidual(A, vb, vx, vy));
  PetscCall(Compare(l, "MatResidual", vy, z));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatCreateVecs(B, &wx, &wy));
  PetscCall(ToVec(l, x, wx));
  PetscCall(MatMult(B, wx, wy));
  PetscCall(CompareTo(l, "MatConvert", wy, y, 1e-12, PETSC_FALSE));
  PetscCall(VecDestroy(&wx));
  PetscCall(VecDestroy(&wy));
  PetscCall(MatDestroy(&B));
  for (PetscInt i = 0; i < p->N; i++) PetscCall(MatGetValues(p->K, 1, &i, 1, &i, &z[i]));
  PetscCall(MatGetDiagonal(A, vy));
  PetscCall(Compare(l, "MatGetDiagonal", vy, z));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree2(y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* each term by itself; the rows of fixed unknowns stay */
static PetscErrorCode TestTerms(const Layout *l, const PetscReal x[])
{
  const Problem *p = l->p;
  PetscReal     *y, *free;
  Vec            vx, vy;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(p->N, &y, p->N, &free));
  for (PetscInt i = 0; i < p->N; i++) free[i] = p->fixed[i] ? 0 : x[i];
  PetscCall(DMCreateGlobalVector(l->dm, &vx));
  PetscCall(VecDuplicate(vx, &vy));
  PetscCall(ToVec(l, x, vx));
  for (PetscInt t = 0; t < p->nterm; t++) {
    char     name[64];
    Mat      A;
    Mat_Box *m;

    PetscCall(DMCreateMatrix(l->dm, &A));
    PetscCall(MatBoxGet(A, "stokes", &m));
    PetscCheck(m->form.nterm == p->nterm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " terms, not %" PetscInt_FMT, m->form.nterm,
               p->nterm);
    for (PetscInt j = 0; j < p->nterm; j++)
      if (j != t) m->form.term[j].coef = 0;
    PetscCall(PetscArrayzero(y, p->N));
    PetscCall(MultiplyAdd(p->term[t].A, PETSC_FALSE, free + p->first[p->term[t].col], y + p->first[p->term[t].row]));
    for (PetscInt i = 0; i < p->N; i++) y[i] = p->fixed[i] ? x[i] : y[i];
    PetscCall(MatMult(A, vx, vy));
    PetscCall(PetscSNPrintf(name, sizeof(name), "term %" PetscInt_FMT, t));
    PetscCall(Compare(l, name, vy, y));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscCall(PetscFree2(y, free));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool Closed(const Problem *p)
{
  PetscBool closed = PETSC_TRUE;

  for (PetscInt d = 0; d < p->dim; d++) closed = (PetscBool)(closed && (p->C[d].ring || (p->C[d].fixed[0] && p->C[d].fixed[1])));
  return closed;
}

/* constant pressures are the null space if there is no open side, and there is no other */
static PetscErrorCode TestNullSpace(const Layout *l, Mat A)
{
  const Problem *p  = l->p;
  PetscBool      is = PETSC_TRUE, constant;
  PetscInt       n  = 0;
  PetscReal     *z, norm = 0;
  const Vec     *v = NULL;
  MatNullSpace   nullspace;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(p->N, &z));
  for (PetscInt i = p->first[p->dim]; i < p->N; i++) z[i] = 1 / PetscSqrtReal((PetscReal)(p->N - p->first[p->dim]));
  PetscCall(MatGetNullSpace(A, &nullspace));
  if (nullspace) PetscCall(MatNullSpaceGetVecs(nullspace, &constant, &n, &v));
  if (n != (Closed(p) ? 1 : 0)) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "null space of dimension %" PetscInt_FMT "\n", n));
    (*l->failures)++;
  }
  if (n) {
    Vec w;

    PetscCall(Compare(l, "null space", v[0], z));
    PetscCall(VecDuplicate(v[0], &w));
    PetscCall(MatMult(A, v[0], w));
    PetscCall(VecNorm(w, NORM_INFINITY, &norm));
    is = (PetscBool)(norm < l->tol);
    PetscCall(VecDestroy(&w));
    if (!is || constant) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "that is no null space: %g\n", (double)norm));
    if (!is || constant) (*l->failures)++;
  }
  PetscCall(PetscFree(z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* given normal velocities strongly, tangential ones by penalties; without open sides the divergence that is asked for is what flows out */
static PetscErrorCode TestLift(const Layout *l, Mat A, const PetscReal g[], PetscReal b[])
{
  Problem   *p = l->p;
  PetscReal *z, *gd, sum = 0;
  Vec        vg, vb;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(p->N, &z, p->N, &gd));
  for (PetscInt i = 0; i < p->N; i++) gd[i] = p->fixed[i] ? -g[i] : 0;
  PetscCall(Multiply(p->natural, gd, z));
  for (PetscInt i = p->first[p->dim]; i < p->N; i++) sum += b[i] + z[i];
  for (PetscInt i = p->first[p->dim]; i < p->N && Closed(p); i++) b[i] -= sum / (p->N - p->first[p->dim]);
  for (PetscInt i = 0; i < p->dim; i++) {
    for (PetscInt d = 0; d < p->dim; d++) {
      if (d == i) continue;
      PetscCall(AddTerm(p, i, i, p->viscosity, d, p->D[d].G));
      p->nterm--;
      PetscCall(MultiplyAdd(p->term[p->nterm].A, PETSC_FALSE, g + p->first[i], z + p->first[i]));
      PetscCall(MatDestroy(&p->term[p->nterm].A));
    }
  }
  for (PetscInt i = 0; i < p->N; i++) z[i] = p->fixed[i] ? g[i] : b[i] + z[i];
  PetscCall(MatCreateVecs(A, &vg, &vb));
  PetscCall(ToVec(l, g, vg));
  PetscCall(ToVec(l, b, vb));
  PetscCall(DMBoxLiftDirichlet(l->dm, vg, vb));
  PetscCall(Compare(l, "DMBoxLiftDirichlet", vb, z));
  PetscCall(VecDestroy(&vg));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree2(z, gd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coefficients changed after the matrices were made, and changed back */
static PetscErrorCode TestUpdate(const Layout *l, Mat A, const PetscReal x[])
{
  const Problem *p = l->p;
  PetscBool      noslip[3][2], ring[3];
  PetscInt       cells[3];
  PetscReal     *v[3], *y;
  Vec            vx, vy;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(p->N, &y));
  PetscCall(MatCreateVecs(A, &vx, &vy));
  PetscCall(ToVec(l, x, vx));
  for (PetscInt d = 0; d < p->dim; d++) {
    for (int e = 0; e < 2; e++) noslip[d][e] = p->C[d].fixed[e];
    cells[d] = p->C[d].cells;
    ring[d]  = p->C[d].ring;
    v[d]     = p->C[d].v;
  }
  for (int i = 0; i < 2; i++) {
    const PetscReal viscosity = i ? p->viscosity : 0.3, shift = i ? p->shift : p->shift + 7;
    Problem         changed;

    PetscCall(ProblemCreate(p->dim, p->k, viscosity, shift, p->penalty, cells, v, noslip, ring, &changed));
    PetscCall(DMBoxSetStokes(l->dm, viscosity, shift));
    PetscCall(MatBoxUpdate(A));
    PetscCall(MatMult(A, vx, vy));
    PetscCall(Multiply(changed.K, x, y));
    PetscCall(Compare(l, "MatBoxUpdate", vy, y));
    PetscCall(ProblemDestroy(&changed));
  }
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- smoothers ---- */

static PetscErrorCode SmootherCreate(Mat A, KSPType type, KSP *ksp, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(*ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(*ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 1));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCPATCHFD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VecGetMemory(Vec v, PetscMemType *memory)
{
  const PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayReadAndMemType(v, &a, memory));
  PetscCall(VecRestoreArrayReadAndMemType(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one smoothing step of every kind, from a given and from the zero guess, and as a preconditioner */
static PetscErrorCode TestSmoother(const Layout *l, Mat A, PCPatchFDLocal local, PCPatchFDClassesType classes, const PetscReal x[],
                                   const PetscReal b[])
{
  static const struct {
    PCPatchFDType    type;
    PCPatchFDOrder   order;
    PCPatchFDVariant variant;
    PetscReal        omega;
    PetscBool        schur; /* the iterations take long */
  } kinds[] = {
    {PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_FORWARD, PC_PATCHFD_VARIANT_SEPARATE, 1, PETSC_TRUE},
    {PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_FORWARD, PC_PATCHFD_VARIANT_GLOBAL, 1, PETSC_FALSE},
    {PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_FORWARD, PC_PATCHFD_VARIANT_FUSED, 1, PETSC_FALSE},
    {PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_BACKWARD, PC_PATCHFD_VARIANT_AUTO, 0.8, PETSC_FALSE},
    {PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_BACKWARD, PC_PATCHFD_VARIANT_FUSED, 0.8, PETSC_TRUE},
    {PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_SYMMETRIC, PC_PATCHFD_VARIANT_SEPARATE, 1, PETSC_FALSE},
    {PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_SYMMETRIC, PC_PATCHFD_VARIANT_FUSED, 1, PETSC_TRUE},
    {PC_PATCHFD_TYPE_MULTIPLICATIVE, PC_PATCHFD_ORDER_SYMMETRIC, PC_PATCHFD_VARIANT_FUSED, 1.1, PETSC_FALSE},
    {PC_PATCHFD_TYPE_ADDITIVE, PC_PATCHFD_ORDER_FORWARD, PC_PATCHFD_VARIANT_AUTO, 0.25, PETSC_TRUE},
  };
  static const PCPatchFDOrder reverse[] = {[PC_PATCHFD_ORDER_FORWARD]   = PC_PATCHFD_ORDER_BACKWARD,
                                           [PC_PATCHFD_ORDER_BACKWARD]  = PC_PATCHFD_ORDER_FORWARD,
                                           [PC_PATCHFD_ORDER_SYMMETRIC] = PC_PATCHFD_ORDER_SYMMETRIC};
  const Problem              *p         = l->p;
  const PetscReal             tol       = (local == PC_PATCHFD_LOCAL_SCHUR ? 1e5 : 100) * l->tol;
  PetscReal                  *y;
  PetscInt                    np;
  Patch                      *q;
  Vec                         vx, vb;
  KSP                         ksp;
  PC                          pc;
  PetscMemType                memory; /* on a GPU residuals are those of the whole mesh */

  PetscFunctionBeginUser;
  PetscCall(PatchesCreate(p, (PetscBool)(classes == PC_PATCHFD_CLASSES_SINGLE), &np, &q));
  PetscCall(PetscMalloc1(p->N, &y));
  PetscCall(MatCreateVecs(A, &vx, &vb));
  PetscCall(ToVec(l, b, vb));
  PetscCall(VecGetMemory(vb, &memory));
  PetscCall(SmootherCreate(A, KSPRICHARDSON, &ksp, &pc));
  PetscCall(PCPatchFDSetLocal(pc, local));
  PetscCall(PCPatchFDSetPrecision(pc, PC_PATCHFD_PRECISION_SAME));
  PetscCall(PCPatchFDSetSchurTolerances(pc, l->tol, 1000));
  PetscCall(PCPatchFDSetClasses(pc, classes));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(kinds); i++) {
    const PetscBool phases = (PetscBool)(kinds[i].variant == PC_PATCHFD_VARIANT_FUSED);
    char            name[256];

    if (PetscMemTypeHost(memory) ? local == PC_PATCHFD_LOCAL_SCHUR && !kinds[i].schur
                                 : phases || kinds[i].variant == PC_PATCHFD_VARIANT_SEPARATE)
      continue;
    PetscCall(PCPatchFDSetType(pc, kinds[i].type));
    PetscCall(PCPatchFDSetOrder(pc, kinds[i].order));
    PetscCall(PCPatchFDSetDamping(pc, kinds[i].omega));
    PetscCall(PCPatchFDSetVariant(pc, kinds[i].variant));
    PetscCall(PetscSNPrintf(name, sizeof(name), "smoother %s %s %s %s %s %g", PCPatchFDLocals[local], PCPatchFDClassesTypes[classes],
                            PCPatchFDTypes[kinds[i].type], PCPatchFDOrders[kinds[i].order], PCPatchFDVariants[kinds[i].variant],
                            (double)kinds[i].omega));
    PetscCall(PetscArraycpy(y, x, p->N));
    PetscCall(ReferenceStep(p, np, q, phases, kinds[i].type, kinds[i].order, kinds[i].omega, b, y));
    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
    PetscCall(ToVec(l, x, vx));
    PetscCall(KSPSolve(ksp, vb, vx));
    PetscCall(CompareTo(l, name, vx, y, tol, PETSC_FALSE));
    PetscCall(PetscArrayzero(y, p->N));
    PetscCall(ReferenceStep(p, np, q, phases, kinds[i].type, kinds[i].order, kinds[i].omega, b, y));
    PetscCall(PetscStrlcat(name, ", zero guess", sizeof(name)));
    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));
    PetscCall(KSPSolve(ksp, vb, vx));
    PetscCall(CompareTo(l, name, vx, y, tol, PETSC_FALSE));
    PetscCall(PetscStrlcat(name, ", PCApply", sizeof(name)));
    PetscCall(PCApply(pc, vb, vx));
    PetscCall(CompareTo(l, name, vx, y, tol, PETSC_FALSE));
    PetscCall(PetscStrlcat(name, "Transpose", sizeof(name)));
    PetscCall(PetscArrayzero(y, p->N));
    PetscCall(ReferenceStep(p, np, q, phases, kinds[i].type, reverse[kinds[i].order], kinds[i].omega, b, y));
    PetscCall(PCApplyTranspose(pc, vb, vx));
    PetscCall(CompareTo(l, name, vx, y, tol, PETSC_FALSE));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PatchesDestroy(np, &q));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the whole box as one patch solves, up to constant pressures where they are a null space */
static PetscErrorCode TestBox(const Layout *l, Mat A, const PetscReal x[])
{
  PetscReal *y;
  Vec        vx, vb;
  KSP        ksp;
  PC         pc;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(l->p->N, &y));
  PetscCall(MatCreateVecs(A, &vx, &vb));
  PetscCall(SmootherCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_BOX));
  PetscCall(Multiply(l->p->K, x, y));
  PetscCall(ToVec(l, y, vb));
  PetscCall(KSPSolve(ksp, vb, vx));
  PetscCall(CompareTo(l, "whole box", vx, x, 1000 * l->tol, PETSC_TRUE));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- transfers ---- */

/* values of the coarse polynomials at the fine nodes, field by field */
static PetscErrorCode Interpolate(const Problem *c, const Problem *f, PetscBool transpose, const PetscReal x[], PetscReal y[])
{
  const Problem *from = transpose ? f : c, *to = transpose ? c : f;
  PetscReal     *free;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(from->N, &free));
  for (PetscInt i = 0; i < from->N; i++) free[i] = from->fixed[i] ? 0 : x[i];
  PetscCall(PetscArrayzero(y, to->N));
  for (PetscInt i = 0; i <= c->dim; i++) {
    PetscReal *X[3];
    PetscInt   n[3], m[3];
    Mat        P;

    for (PetscInt d = 0; d < c->dim; d++) {
      PetscCall(LineInterpolation(FieldLine(c, i, d), FieldLine(f, i, d), &X[d]));
      n[d] = FieldLine(f, i, d)->n;
      m[d] = FieldLine(c, i, d)->n;
    }
    PetscCall(Kronecker(c->dim, n, m, (const PetscReal *const *)X, &P));
    PetscCall(MultiplyAdd(P, transpose, free + from->first[i], y + to->first[i]));
    PetscCall(MatDestroy(&P));
    for (PetscInt d = 0; d < c->dim; d++) PetscCall(PetscFree(X[d]));
  }
  for (PetscInt i = 0; i < to->N; i++) y[i] = to->fixed[i] ? 0 : y[i];
  PetscCall(PetscFree(free));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  u = curl A, at the nodes: A_k is continuous in all directions but its own, and vanishes on the sides without slip that it is parallel to,
  so that u has no normal component there.  In 2D there is A_2 alone.
*/
static PetscErrorCode RandomCurl(const Problem *p, PetscRandom rnd, PetscReal u[])
{
  PetscFunctionBeginUser;
  PetscCall(PetscArrayzero(u, p->N));
  for (PetscInt k = p->dim == 2 ? 2 : 0; k < 3; k++) {
    PetscInt   n[3] = {1, 1, 1}, N = 1;
    PetscReal *A;

    for (PetscInt d = 0; d < p->dim; d++) N *= n[d] = d == k ? p->D[d].n : p->C[d].n;
    PetscCall(Random(rnd, N, &A));
    for (PetscInt i = 0; i < N; i++) {
      const PetscInt at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};

      for (PetscInt d = 0; d < p->dim; d++)
        if (d != k && ((at[d] == 0 && p->C[d].fixed[0]) || (at[d] == n[d] - 1 && p->C[d].fixed[1]))) A[i] = 0;
    }
    for (PetscInt s = 1; s <= 2; s++) { /* u_i += dA_k / dx_j for (i, j, k) a rotation of (0, 1, 2), and -= for the others */
      const PetscInt i = (k + s) % 3, j = 3 - i - k;
      PetscReal     *X[3];
      PetscInt       row[3];
      Mat            E;

      for (PetscInt d = 0; d < p->dim; d++) {
        const Line *to = FieldLine(p, i, d), *from = d == k ? &p->D[d] : &p->C[d];

        row[d] = to->n;
        PetscCall(PetscCalloc1(row[d] * n[d], &X[d]));
        for (PetscInt r = 0; r < row[d]; r++) {
          const PetscInt c = PetscMin(r / to->stride, to->cells - 1);

          for (PetscInt m = 0; m <= from->k; m++) {
            PetscReal phi[3];

            Lagrange(from->k, from->x + c * from->stride, m, to->x[r], phi);
            X[d][r * n[d] + (c * from->stride + m) % n[d]] = d == j ? phi[1] : (c * from->stride + m == r ? 1 : 0);
          }
        }
      }
      PetscCall(Kronecker(p->dim, row, n, (const PetscReal *const *)X, &E));
      PetscCall(MatScale(E, s == 1 ? 1 : -1));
      PetscCall(MultiplyAdd(E, PETSC_FALSE, A, u + p->first[i]));
      PetscCall(MatDestroy(&E));
      for (PetscInt d = 0; d < p->dim; d++) PetscCall(PetscFree(X[d]));
    }
    PetscCall(PetscFree(A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what is orthogonal to all pressures in the space of the divergence is zero at every point */
static PetscErrorCode TestDivergence(const Layout *l, const char *name, Vec v)
{
  const Problem     *p = l->p;
  const PetscScalar *x;
  PetscReal          max[2] = {0, 0}, norm;
  Mat                A;
  Vec                y;

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(l->dm, &A));
  PetscCall(VecDuplicate(v, &y));
  PetscCall(MatMult(A, v, y));
  PetscCall(VecNorm(v, NORM_INFINITY, &norm));
  PetscCall(VecGetArrayRead(y, &x));
  for (PetscInt j = 0; j < l->n; j++) {
    PetscReal *m = &max[l->number[j] >= p->first[p->dim] ? 1 : 0];

    *m = PetscMax(*m, PetscAbsScalar(x[j]));
  }
  PetscCall(VecRestoreArrayRead(y, &x));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, max, 2, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  if (!(norm > 0 && max[0] > 0 && max[1] <= 10 * l->tol * norm)) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: divergence %g of a velocity up to %g\n", name, (double)max[1], (double)norm));
    (*l->failures)++;
  }
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P from the coarse to the fine problem and its transpose */
static PetscErrorCode TestTransfer(const Layout *lc, const Layout *lf, PetscRandom rnd, const PetscReal xc[], const PetscReal xf[])
{
  const Problem *c = lc->p, *f = lf->p;
  PetscReal     *yf, *yc, *u;
  Vec            vc, vf, scale;
  Mat            interp;

  PetscFunctionBeginUser;
  PetscCall(DMCreateInterpolation(lc->dm, lf->dm, &interp, &scale));
  PetscCall(VecDestroy(&scale));
  PetscCall(MatCreateVecs(interp, &vc, &vf));
  PetscCall(PetscMalloc3(f->N, &yf, c->N, &yc, c->N, &u));
  PetscCall(Interpolate(c, f, PETSC_FALSE, xc, yf));
  PetscCall(Interpolate(c, f, PETSC_TRUE, xf, yc));
  PetscCall(ToVec(lc, xc, vc));
  PetscCall(MatInterpolate(interp, vc, vf));
  PetscCall(Compare(lf, "MatInterpolate", vf, yf));
  PetscCall(ToVec(lf, xf, vf));
  PetscCall(MatRestrict(interp, vf, vc));
  PetscCall(Compare(lc, "MatRestrict", vc, yc));
  for (PetscInt i = 0; i < c->N; i++) yc[i] += xc[i];
  PetscCall(ToVec(lc, xc, vc));
  PetscCall(MatMultTransposeAdd(interp, vf, vc, vc));
  PetscCall(Compare(lc, "MatMultTransposeAdd", vc, yc));
  for (PetscInt i = 0; i < f->N; i++) yf[i] += xf[i];
  PetscCall(ToVec(lc, xc, vc));
  PetscCall(MatInterpolateAdd(interp, vc, vf, vf));
  PetscCall(Compare(lf, "MatInterpolateAdd", vf, yf));
  PetscCall(RandomCurl(c, rnd, u));
  PetscCall(ToVec(lc, u, vc));
  PetscCall(TestDivergence(lc, "coarse curl", vc));
  PetscCall(MatInterpolate(interp, vc, vf));
  PetscCall(TestDivergence(lf, "interpolated curl", vf));
  PetscCall(PetscFree3(yf, yc, u));
  PetscCall(VecDestroy(&vc));
  PetscCall(VecDestroy(&vf));
  PetscCall(MatDestroy(&interp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to the twice refined mesh, or to the next degree */
static PetscErrorCode TestTransferTo(const Layout *l, DM fine, PetscReal *const v[3], PetscRandom rnd, const PetscReal x[])
{
  PetscReal *xf;
  Problem    p;
  Layout     lf;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreateOfDM(fine, v, &p));
  PetscCall(LayoutCreate(fine, &p, l->tol, l->failures, &lf));
  PetscCall(Random(rnd, p.N, &xf));
  PetscCall(TestTransfer(l, &lf, rnd, x, xf));
  PetscCall(LayoutDestroy(&lf));
  PetscCall(ProblemDestroy(&p));
  PetscCall(PetscFree(xf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- all of it ---- */

static PetscErrorCode BoxCreate(PetscInt degree, DM *dm)
{
  PetscFunctionBeginUser;
  PetscCall(DMCreate(PETSC_COMM_WORLD, dm));
  PetscCall(DMSetType(*dm, DMBOX));
  PetscCall(DMBoxSetSpace(*dm, DMBOX_SPACE_RT));
  PetscCall(DMBoxSetOperator(*dm, "stokes"));
  PetscCall(DMBoxSetDegree(*dm, degree));
  PetscCall(DMSetFromOptions(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDegree(PetscInt k, PetscBool graded, PetscBool smoothers, PetscBool whole, PetscReal tol, PetscRandom rnd,
                                 PetscInt *failures)
{
  DM         dm, fine, higher;
  Mat        A;
  PetscReal *v[3] = {NULL, NULL, NULL}, *vf[3], *x, *b, lower[3], upper[3];
  PetscInt   dim, cells[3];
  Problem    p;
  Layout     l;

  PetscFunctionBeginUser;
  PetscCall(BoxCreate(k, &dm));
  PetscCall(BoxCreate(k + 1, &higher));
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetCells(dm, cells));
  PetscCall(DMBoxGetBounds(dm, lower, upper));
  for (PetscInt d = 0; d < dim; d++) {
    PetscReal span;

    PetscCall(PetscMalloc2(cells[d] + 1, &v[d], 2 * cells[d] + 1, &vf[d]));
    v[d][0] = 0;
    for (PetscInt c = 0; c < cells[d]; c++) {
      PetscReal h = 0;

      if (graded) PetscCall(PetscRandomGetValueReal(rnd, &h));
      v[d][c + 1] = v[d][c] + 1 + h;
    }
    span = v[d][cells[d]];
    for (PetscInt c = 0; c <= cells[d]; c++) v[d][c] = lower[d] + v[d][c] * (upper[d] - lower[d]) / span;
    for (PetscInt c = 0; c <= 2 * cells[d]; c++) vf[d][c] = (v[d][c / 2] + v[d][(c + 1) / 2]) / 2;
    if (graded) PetscCall(DMBoxSetVertices(dm, d, cells[d] + 1, v[d]));
    if (graded) PetscCall(DMBoxSetVertices(higher, d, cells[d] + 1, v[d]));
  }
  PetscCall(DMSetUp(dm));
  PetscCall(DMSetUp(higher));
  PetscCall(ProblemCreateOfDM(dm, v, &p));
  PetscCall(LayoutCreate(dm, &p, tol, failures, &l));
  PetscCall(Random(rnd, p.N, &x));
  PetscCall(Random(rnd, p.N, &b));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(TestOperator(&l, A, x, b));
  PetscCall(TestTerms(&l, x));
  PetscCall(TestNullSpace(&l, A));
  PetscCall(TestLift(&l, A, x, b));
  PetscCall(TestUpdate(&l, A, x));
  if (smoothers) {
    for (int i = 0; i < 4; i++)
      PetscCall(TestSmoother(&l, A, i / 2 ? PC_PATCHFD_LOCAL_SCHUR : PC_PATCHFD_LOCAL_DENSE,
                             i % 2 ? PC_PATCHFD_CLASSES_EXACT : PC_PATCHFD_CLASSES_SINGLE, x, b));
  }
  if (whole) PetscCall(TestBox(&l, A, x));
  PetscCall(DMRefine(dm, PETSC_COMM_WORLD, &fine));
  PetscCall(TestTransferTo(&l, fine, vf, rnd, x));
  PetscCall(TestTransferTo(&l, higher, v, rnd, x));
  PetscCall(LayoutDestroy(&l));
  PetscCall(ProblemDestroy(&p));
  for (PetscInt d = 0; d < dim; d++) PetscCall(PetscFree2(v[d], vf[d]));
  PetscCall(PetscFree(x));
  PetscCall(PetscFree(b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&fine));
  PetscCall(DMDestroy(&higher));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt    degrees[16], nd = 16, failures = 0;
  PetscBool   graded = PETSC_FALSE, smoothers = PETSC_TRUE, box = PETSC_TRUE, set;
  PetscReal   tol = 1e-12;
  PetscRandom rnd;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &nd, &set));
  PetscCheck(set, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-degrees is needed: a list of degrees");
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-graded", &graded, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-smoothers", &smoothers, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-box", &box, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &tol, NULL));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rnd)); /* the same numbers on every rank */
  for (PetscInt i = 0; i < nd; i++) {
    const PetscInt before = failures;

    PetscCall(TestDegree(degrees[i], graded, smoothers, box, tol, rnd, &failures));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "degree %" PetscInt_FMT ": %s\n", degrees[i], failures == before ? "agrees" : "DEVIATES"));
  }
  PetscCall(PetscRandomDestroy(&rnd));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
     test:
       suffix: 2d
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2,3,4
     test:
       suffix: 2d_graded
       args: -dm_box_dim 2 -dm_box_cells 4,7 -degrees 1,2,3 -graded -dm_box_lower 0.3,-1 -dm_box_upper 2,7 -dm_box_viscosity 0.01 -dm_box_shift 2 -dm_box_penalty 1.5,2
     test:
       suffix: 2d_open
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2 -graded {{false true}} -dm_box_boundary dirichlet,neumann,neumann,dirichlet -dm_box_penalty 1.5,2
     test:
       suffix: 3d
       args: -dm_box_cells 3,4,3 -degrees 1
     test:
       suffix: 3d_2
       args: -dm_box_cells 3,2,2 -degrees 2
     test:
       suffix: 3d_graded
       args: -dm_box_cells 3,4,2 -degrees 1 -graded -dm_box_boundary dirichlet,neumann,neumann,dirichlet,neumann,neumann -dm_box_lower 0.3,-1,5 -dm_box_upper 2,7,6 -dm_box_viscosity 0.1 -dm_box_shift 3 -dm_box_penalty 2,1.5
     test:
       suffix: periodic
       nsize: {{1 2 4}}
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 4,3 -degrees 1,2 -dm_box_boundary {{periodic,periodic,dirichlet,dirichlet periodic,periodic,dirichlet,neumann}}
     test:
       suffix: periodic_graded
       nsize: {{1 2 4}}
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 4,8 -degrees 1,2 -dm_box_boundary periodic -dm_box_shift 2 -graded
     test:
       suffix: periodic_3d
       output_file: output/stokes_3d.out
       args: -dm_box_cells 3,4,2 -degrees 1 -dm_box_boundary dirichlet,dirichlet,periodic,periodic,dirichlet,dirichlet
     # lines of one and of two cells
     test:
       suffix: thin
       output_file: output/stokes_2d_graded.out
       args: -dm_box_dim 2 -dm_box_cells {{1,1 2,1 1,3 2,2}} -degrees 1,2,3 -dm_box_boundary {{dirichlet neumann dirichlet,dirichlet,neumann,neumann}} -dm_box_shift 0.5
     test:
       suffix: thin_3d
       args: -dm_box_cells {{1,1,2 2,2,2}} -degrees 1,2 -dm_box_boundary neumann,dirichlet,dirichlet,neumann,dirichlet,dirichlet -smoothers 0
       output_file: output/stokes_thin_3d.out
     test:
       suffix: ranks
       nsize: {{2 3 4}}
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 7,5 -degrees 1,2
     test:
       suffix: ranks_3d
       nsize: {{2 4}}
       output_file: output/stokes_3d.out
       args: -dm_box_cells 3,4,3 -degrees 1
     test:
       suffix: ranks_8
       nsize: 8
       output_file: output/stokes_3d.out
       args: -dm_box_cells 4,4,3 -degrees 1 -smoothers 0
     test:
       suffix: ranks_open
       nsize: {{2 3 4}}
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 7,5 -degrees 1,2 -graded -dm_box_boundary neumann,dirichlet,dirichlet,neumann

   testset:
     args: -dm_vec_type single -tolerance 1e-5
     test:
       suffix: single_2d
       output_file: output/stokes_2d.out
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2,3,4
     test:
       suffix: single_3d
       nsize: {{1 4}}
       output_file: output/stokes_3d.out
       args: -dm_box_cells 3,3,3 -degrees 1 -dm_box_boundary dirichlet,dirichlet,dirichlet,neumann,dirichlet,dirichlet -graded

   testset:
     requires: cuda gpu
     args: -dm_vec_type cuda
     test:
       suffix: cuda_2d
       output_file: output/stokes_2d.out
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2,3,4
     test:
       suffix: cuda_2d_open
       output_file: output/stokes_ranks.out
       args: -dm_box_dim 2 -dm_box_cells 5,4 -degrees 1,2 -graded {{false true}} -dm_box_boundary dirichlet,neumann,neumann,dirichlet -dm_box_penalty 1.5,2
     test:
       suffix: cuda_3d
       nsize: {{1 2}}
       output_file: output/stokes_3d.out
       args: -dm_box_cells 3,4,3 -degrees 1
     test:
       suffix: cuda_3d_2
       output_file: output/stokes_3d_2.out
       args: -dm_box_cells 3,2,2 -degrees 2
   test:
     requires: cuda gpu
     suffix: cuda_periodic
     nsize: {{1 2}}
     output_file: output/stokes_ranks.out
     args: -dm_vec_type cuda -use_gpu_aware_mpi 0 -dm_box_dim 2 -dm_box_cells 4,3 -degrees 1,2
     args: -dm_box_boundary periodic,periodic,dirichlet,dirichlet

TEST*/
