static char help[] = "Operators by quadrature behind the door: the host kernels against reference numbers, identities and each other, in both precisions.\n\
  -part <reference,variants,coefficients,plane,errors>\n\n";

#include "catch.h"
#include "ceed.h"
#include <patchfd/private/kernels.h>

/* ---- meshes: a box of cells with moved vertices ---- */

typedef struct {
  PetscInt   dim, n[3], degree;
  PetscCount ncells, nnodes; /* nodes of polynomials of that degree, x fastest */
  PetscInt   size;           /* nodes of a cell */
  PetscInt  *index, *inner;  /* [ncells][size]; the same with -1 for nodes of the boundary */
  PetscInt  *corner;         /* [ncells][2^dim] */
  PetscReal *vertex;
} Mesh;

static PetscErrorCode MeshIndex(const Mesh *m, PetscInt degree, PetscBool inner, PetscInt **index)
{
  const PetscInt k = degree + 1, third = m->dim == 3 ? k : 1, size = k * k * third;
  PetscInt       n[3], at = 0;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) n[d] = d < m->dim ? m->n[d] * degree + 1 : 1;
  PetscCall(PetscMalloc1(m->ncells * size, index));
  for (PetscInt c = 0; c < m->ncells; c++) {
    const PetscInt cell[3] = {c % m->n[0], c / m->n[0] % m->n[1], c / m->n[0] / m->n[1]};

    for (PetscInt i = 0; i < size; i++, at++) {
      const PetscInt x[3] = {cell[0] * degree + i % k, cell[1] * degree + i / k % k, cell[2] * degree + i / k / k};
      PetscBool      edge = PETSC_FALSE;

      for (int d = 0; d < m->dim; d++)
        if (x[d] == 0 || x[d] == n[d] - 1) edge = PETSC_TRUE;
      (*index)[at] = inner && edge ? -1 : (x[2] * n[1] + x[1]) * n[0] + x[0];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeshCreate(PetscInt dim, const PetscInt n[3], PetscInt degree, Mesh *m)
{
  PetscInt vertices = 1, at = 0;

  PetscFunctionBeginUser;
  *m = (Mesh){.dim = dim, .degree = degree, .ncells = 1, .nnodes = 1, .size = 1};
  for (int d = 0; d < 3; d++) {
    m->n[d] = d < dim ? n[d] : 1;
    m->ncells *= m->n[d];
    m->nnodes *= d < dim ? n[d] * degree + 1 : 1;
    m->size *= d < dim ? degree + 1 : 1;
    vertices *= d < dim ? n[d] + 1 : 1;
  }
  PetscCall(MeshIndex(m, degree, PETSC_FALSE, &m->index));
  PetscCall(MeshIndex(m, degree, PETSC_TRUE, &m->inner));
  PetscCall(MeshIndex(m, 1, PETSC_FALSE, &m->corner));
  PetscCall(PetscMalloc1(vertices * dim, &m->vertex));
  for (PetscInt k = 0; k <= (dim == 3 ? n[2] : 0); k++) {
    for (PetscInt j = 0; j <= n[1]; j++) {
      for (PetscInt i = 0; i <= n[0]; i++) {
        PetscReal x[3] = {(PetscReal)i / n[0], (PetscReal)j / n[1], dim == 3 ? (PetscReal)k / n[2] : 0};

        Sine(dim, x);
        for (int d = 0; d < dim; d++) m->vertex[at++] = x[d];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeshDestroy(Mesh *m)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(m->index));
  PetscCall(PetscFree(m->inner));
  PetscCall(PetscFree(m->corner));
  PetscCall(PetscFree(m->vertex));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the image of a point of a cell */
static void MeshPoint(const Mesh *m, PetscInt cell, const PetscReal r[3], PetscReal x[3])
{
  x[0] = x[1] = x[2] = 0;
  for (PetscInt i = 0; i < 1 << m->dim; i++) {
    PetscReal f = 1;

    for (int d = 0; d < m->dim; d++) f *= i >> d & 1 ? r[d] : 1 - r[d];
    for (int d = 0; d < m->dim; d++) x[d] += f * m->vertex[m->corner[(cell << m->dim) + i] * m->dim + d];
  }
}

/* coordinates of all nodes */
static PetscErrorCode MeshNodes(const Mesh *m, PetscInt degree, const PetscInt index[], PetscCount nnodes, PetscReal **x)
{
  const PetscInt  k = degree + 1, size = m->dim == 3 ? k * k * k : k * k;
  const PetscBool dirichlet[2] = {PETSC_FALSE, PETSC_FALSE};
  const PetscReal ends[2]      = {0, 1};
  PatchFDLine     line;
  PetscReal      *r;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(nnodes * m->dim, x));
  PetscCall(PetscMalloc1(k, &r));
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, degree, 1, ends, dirichlet, &line));
  PetscCall(PatchFDLineNodes(&line, r));
  PetscCall(PatchFDLineDestroy(&line));
  for (PetscInt c = 0; c < m->ncells; c++) {
    for (PetscInt i = 0; i < size; i++) {
      PetscReal at[3] = {r[i % k], r[i / k % k], m->dim == 3 ? r[i / k / k] : 0}, X[3];

      MeshPoint(m, c, at, X);
      for (int d = 0; d < m->dim; d++) (*x)[index[c * size + i] * m->dim + d] = X[d];
    }
  }
  PetscCall(PetscFree(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- operators ---- */

static const PetscReal one = 1;

/* problem 0, 1, 2: BP1, BP3, BP5 */
static PatchFDPoints Describe(const Mesh *m, int problem, PatchFDNodes nodes, PatchFDFactors factors, PetscBool shift)
{
  PatchFDPoints p = {.nodes = nodes, .dim = m->dim, .degree = m->degree, .ncomp = 1, .gauss = (PetscBool)(problem < 2), .ncells = m->ncells, .geodegree = 1, .factors = factors};

  p.nnodes     = nodes == PATCHFD_NODES_CELL ? m->ncells * m->size : m->nnodes;
  p.index      = m->index;
  p.geoindex   = m->corner;
  p.coordinate = m->vertex;
  if (problem) {
    p.kappa         = &one;
    p.nkappa        = 1;
    p.kappaconstant = PETSC_TRUE;
  }
  if (!problem || shift) {
    p.shift         = &one;
    p.shiftconstant = PETSC_TRUE;
  }
  return p;
}

/* y = y0 + alpha A x, in doubles whatever the table; and the diagonal, which may be NULL */
static PetscErrorCode Apply(PatchFDKernels k, const PatchFDPoints *p, const PatchFDField *field, PetscReal alpha, const PetscReal x[], const PetscReal y0[], PetscReal y[], PetscReal diagonal[])
{
  PatchFDOperatorDesc desc = {.nfield = field ? 1 : 0, .field = field, .points = p};
  const size_t        n    = field ? PatchFDBoxSize(&field->ybox) : (size_t)(p->nnodes * p->ncomp);
  const PetscBool     dbl  = (PetscBool)(k->size == sizeof(double));
  void               *plan = NULL, *a[3];

  PetscFunctionBeginUser;
  if (field) { /* all cells of the box */
    for (int d = 0; d < 3; d++) {
      desc.cells[d][0] = 0;
      desc.cells[d][1] = d < p->dim ? (field->xbox.n[d] - 1) / p->degree : 1;
    }
  }
  for (int i = 0; i < 3; i++) PetscCall(k->malloc(n, &a[i]));
  for (size_t i = 0; i < n; i++) {
    if (dbl) {
      ((double *)a[0])[i] = x[i];
      ((double *)a[1])[i] = y0 ? y0[i] : 0;
    } else {
      ((float *)a[0])[i] = (float)x[i];
      ((float *)a[1])[i] = (float)(y0 ? y0[i] : 0);
    }
  }
  PetscCall(k->operatorcreate(&desc, &plan));
  PetscCall(k->operatorapply(plan, alpha, a[0], y0 ? a[1] : NULL, a[2]));
  for (size_t i = 0; i < n; i++) y[i] = dbl ? ((double *)a[2])[i] : ((float *)a[2])[i];
  if (diagonal) {
    PetscCall(k->operatordiagonal(plan, a[2]));
    for (size_t i = 0; i < n; i++) diagonal[i] = dbl ? ((double *)a[2])[i] : ((float *)a[2])[i];
  }
  PetscCall(k->operatordestroy(&plan));
  for (int i = 0; i < 3; i++) PetscCall(k->free(a[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Dot(PetscCount n, const PetscReal x[], const PetscReal y[])
{
  PetscReal s = 0;

  for (PetscCount i = 0; i < n; i++) s += x[i] * y[i];
  return s;
}

static PetscInt failures = 0;

static PetscErrorCode Check(const char *what, int problem, PetscInt degree, PetscReal found, PetscReal wanted, PetscReal tolerance)
{
  const char *const name[] = {"BP1", "BP3", "BP5"};

  PetscFunctionBeginUser;
  if (PetscAbsReal(found - wanted) <= tolerance) PetscFunctionReturn(PETSC_SUCCESS); /* not for NaN */
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, degree %" PetscInt_FMT ", %s: %.12g, not %.12g\n", name[problem], degree, what, (double)found, (double)wanted));
  failures++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the largest difference of two vectors, relative to the largest number */
static PetscErrorCode Compare(const char *what, int problem, PetscInt degree, PetscCount n, const PetscReal found[], const PetscReal wanted[], PetscReal tolerance)
{
  PetscReal diff = 0, max = 0;

  PetscFunctionBeginUser;
  for (PetscCount i = 0; i < n; i++) {
    if (!(PetscAbsReal(found[i] - wanted[i]) <= diff)) diff = PetscAbsReal(found[i] - wanted[i]);
    max = PetscMax(max, PetscAbsReal(wanted[i]));
  }
  if (max == 0) PetscCall(Check("the largest number", problem, degree, 0, 1, 0));
  PetscCall(Check(what, problem, degree, diff / max, 0, tolerance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- against the reference ---- */

static const PetscInt box[3] = {2, 3, 4};

static PetscErrorCode ReferenceCells(PatchFDKernels k, PetscInt degree)
{
  const PetscReal eps = k->size == sizeof(double) ? 1e-10 : 2e-4;
  PetscReal      *q, *y;
  PetscCount      n;
  Mesh            m;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(3, box, degree, &m));
  n = m.ncells * m.size;
  PetscCall(PetscMalloc2(n, &q, n, &y));
  for (PetscCount i = 0; i < n; i++) q[i] = PetscSinReal(1.0 + i);
  for (int problem = 0; problem < 3; problem++) {
    for (PatchFDFactors f = PATCHFD_FACTORS_AUTO; f <= PATCHFD_FACTORS_COMPUTED; f++) {
      PatchFDPoints    p    = Describe(&m, problem, PATCHFD_NODES_CELL, f, PETSC_TRUE);
      const PetscReal *want = cellnumbers[degree - 1][problem];
      PetscReal        sum  = 0;

      PetscCall(Apply(k, &p, NULL, 1, q, NULL, y, NULL));
      for (PetscCount i = 0; i < n; i++) sum += y[i] * PetscSinReal(2.0 + i);
      PetscCall(Check("|A q|", problem, degree, PetscSqrtReal(Dot(n, y, y)), want[0], eps * want[0]));
      PetscCall(Check("checksum of A q", problem, degree, sum, want[1], 10 * eps * PetscAbsReal(want[1])));
    }
  }
  PetscCall(PetscFree2(q, y));
  PetscCall(MeshDestroy(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReferenceNodes(PatchFDKernels k, PetscInt degree)
{
  const PetscReal eps = k->size == sizeof(double) ? 2e-9 : 1e-4;
  PetscReal      *x, *y, *d, *X;
  PetscCount      vertex;
  Mesh            m;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(3, box, degree, &m));
  PetscCall(PetscMalloc3(m.nnodes, &x, m.nnodes, &y, m.nnodes, &d));
  PetscCall(MeshNodes(&m, degree, m.index, m.nnodes, &X));
  for (PetscCount i = 0; i < m.nnodes; i++) x[i] = PetscCosReal(2 * X[3 * i] + 3 * X[3 * i + 1] + 5 * X[3 * i + 2]);
  vertex = ((PetscCount)(2 * degree) * (3 * degree + 1) + degree) * (2 * degree + 1) + degree;
  for (int problem = 0; problem < 3; problem++) {
    for (PatchFDFactors f = PATCHFD_FACTORS_STORED; f <= PATCHFD_FACTORS_COMPUTED; f++) {
      PatchFDPoints    p    = Describe(&m, problem, PATCHFD_NODES_INDEX, f, PETSC_FALSE);
      const PetscReal *want = nodenumbers[degree - 1][problem];

      if (problem) p.index = m.inner;
      PetscCall(Apply(k, &p, NULL, 1, x, NULL, y, d));
      for (PetscCount i = 0; i < m.nnodes && problem; i++) {
        PetscBool edge = PETSC_FALSE;

        for (int a = 0; a < 3; a++)
          if (X[3 * i + a] < 1e-12 || X[3 * i + a] > 1 - 1e-12) edge = PETSC_TRUE;
        if (!edge) continue;
        PetscCall(Check("a row of the boundary", problem, degree, PetscAbsReal(y[i]) + PetscAbsReal(d[i]), 0, 0));
        y[i] = x[i];
      }
      PetscCall(Check("|A x|", problem, degree, PetscSqrtReal(Dot(m.nnodes, y, y)), want[0], eps * want[0]));
      PetscCall(Check("x.A x", problem, degree, Dot(m.nnodes, x, y), want[1], 10 * eps * want[1]));
      PetscCall(Check("a diagonal entry", problem, degree, d[vertex], want[2], 10 * eps * want[2]));
    }
  }
  PetscCall(PetscFree3(x, y, d));
  PetscCall(PetscFree(X));
  PetscCall(MeshDestroy(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char part[32] = "reference";

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-part", part, sizeof(part), NULL));
  for (int i = 0; i < 2; i++) {
    const PatchFDKernels k = i ? &PatchFDKernelsHostFloat : &PatchFDKernelsHostDouble;

    if (!strcmp(part, "reference")) {
      for (PetscInt degree = 1; degree <= 15; degree++) PetscCall(ReferenceCells(k, degree));
      for (PetscInt degree = 1; degree <= 8; degree++) PetscCall(ReferenceNodes(k, degree));
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, failures ? "%" PetscInt_FMT " failures\n" : "ok\n", failures));
  PetscCall(PetscFinalize());
  return 0;
}
