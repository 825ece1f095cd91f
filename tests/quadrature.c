static char help[] =
  "Operators by quadrature behind the door: the host kernels against reference numbers, identities and each other, in both precisions.\n\
  -part <reference,variants,entries,coefficients,straight,rule,errors>\n\
  -time <n> -degrees <k,...> : in place of tests, the time of a product on about n nodes\n\n";

#include "catch.h"
#include "ceed.h"
#include <patchfd/private/kernels.h>
#include <petsctime.h>

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

/* problem 0, 1, 2: BP1, BP3, BP5; 3: BP3 with degree + 1 Gauss points */
static PatchFDPoints Describe(const Mesh *m, int problem, PatchFDNodes nodes, PatchFDFactors factors, PetscBool shift)
{
  PatchFDPoints p = {.nodes     = nodes,
                     .dim       = m->dim,
                     .degree    = m->degree,
                     .ncomp     = 1,
                     .gauss     = problem == 2 ? 0 : m->degree + (problem == 3 ? 1 : 2),
                     .ncells    = m->ncells,
                     .geodegree = 1,
                     .factors   = factors};

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
static PetscErrorCode Apply(PatchFDKernels k, const PatchFDPoints *p, const PatchFDField *field, PetscReal alpha, const PetscReal x[],
                            const PetscReal y0[], PetscReal y[], PetscReal diagonal[])
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
  const char *const name[] = {"BP1", "BP3", "BP5", "few points"};

  PetscFunctionBeginUser;
  if (PetscAbsReal(found - wanted) <= tolerance) PetscFunctionReturn(PETSC_SUCCESS); /* not for NaN */
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, degree %" PetscInt_FMT ", %s: %.12g, not %.12g\n", name[problem], degree, what, (double)found,
                        (double)wanted));
  failures++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the largest difference of two vectors, relative to the largest number */
static PetscErrorCode Compare(const char *what, int problem, PetscInt degree, PetscCount n, const PetscReal found[],
                              const PetscReal wanted[], PetscReal tolerance)
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

/* ---- against each other ---- */

/* Nodes on a box, by index and in cells; factors stored and computed; one component and three; y0 and alpha; geometry of higher degree */
typedef struct {
  PatchFDKernels k;
  Mesh           m;
  PatchFDPoints  p;
  int            problem;
  PetscReal      eps, *x, *y, *z, *d, *e; /* y = A x, d the diagonal; z and e to compare with these */
} Variant;

static PetscErrorCode Same(const Variant *v, const char *what, const PatchFDPoints *p, const PatchFDField *field)
{
  PetscFunctionBeginUser;
  PetscCall(Apply(v->k, p, field, 1, v->x, NULL, v->z, v->e));
  PetscCall(Compare(what, v->problem, v->m.degree, v->m.nnodes, v->z, v->y, v->eps));
  PetscCall(Compare(what, v->problem, v->m.degree, v->m.nnodes, v->e, v->d, v->eps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fixed nodes by ranges */
static PetscErrorCode VariantBox(const Variant *v)
{
  PatchFDPoints p     = v->p;
  PatchFDField  field = {.x0 = 0};

  PetscFunctionBeginUser;
  for (int a = 0; a < 3; a++) {
    const PetscInt edge = a < v->m.dim, nodes = edge ? box[a] * v->m.degree + 1 : 1;

    field.xbox.n[a]  = nodes;
    field.read[a][0] = edge;
    field.read[a][1] = nodes - edge;
  }
  field.ybox = field.xbox;
  PetscCall(PetscArraycpy(field.write, field.read, 3));
  p.nodes = PATCHFD_NODES_BOX;
  PetscCall(Same(v, "nodes of a box", &p, &field));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x scattered to cells, y summed */
static PetscErrorCode VariantCells(const Variant *v)
{
  const PetscCount n = v->m.ncells * v->m.size;
  PatchFDPoints    p = v->p;
  PetscReal       *x, *y;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(n, &x, n, &y));
  for (PetscCount i = 0; i < n; i++) x[i] = v->m.inner[i] < 0 ? 0 : v->x[v->m.inner[i]];
  p.nodes  = PATCHFD_NODES_CELL;
  p.nnodes = n;
  PetscCall(Apply(v->k, &p, NULL, 1, x, NULL, y, NULL));
  PetscCall(PetscArrayzero(v->z, v->m.nnodes));
  for (PetscCount i = 0; i < n; i++)
    if (v->m.inner[i] >= 0) v->z[v->m.inner[i]] += y[i];
  PetscCall(Compare("nodes of cells", v->problem, v->m.degree, v->m.nnodes, v->z, v->y, v->eps));
  PetscCall(PetscFree2(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a geometry of degree 2 and 3 that is multilinear */
static PetscErrorCode VariantGeometry(const Variant *v)
{
  PetscFunctionBeginUser;
  for (PetscInt g = 2; g <= 3; g++) {
    PatchFDPoints p = v->p;
    PetscInt     *index;
    PetscReal    *X;

    PetscCall(MeshIndex(&v->m, g, PETSC_FALSE, &index));
    PetscCall(MeshNodes(&v->m, g, index, (box[0] * g + 1) * (box[1] * g + 1) * (v->m.dim == 3 ? box[2] * g + 1 : 1), &X));
    p.geodegree  = g;
    p.geoindex   = index;
    p.coordinate = X;
    p.factors    = PATCHFD_FACTORS_AUTO;
    PetscCall(Same(v, "geometry of higher degree", &p, NULL));
    PetscCall(PetscFree(index));
    PetscCall(PetscFree(X));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VariantComponents(const Variant *v)
{
  const PetscCount n = v->m.nnodes;
  PatchFDPoints    p = v->p;
  PetscReal       *x, *y, *z;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(3 * n, &x, 3 * n, &y, 3 * n, &z));
  for (PetscCount i = 0; i < 3 * n; i++) x[i] = PetscSinReal(1 + i * i);
  p.ncomp = 3;
  PetscCall(Apply(v->k, &p, NULL, 1, x, NULL, y, NULL));
  for (PetscInt c = 0; c < 3; c++) {
    for (PetscCount i = 0; i < n; i++) v->z[i] = x[3 * i + c];
    PetscCall(Apply(v->k, &v->p, NULL, 1, v->z, NULL, v->e, NULL));
    for (PetscCount i = 0; i < n; i++) z[3 * i + c] = v->e[i];
  }
  PetscCall(Compare("three components", v->problem, v->m.degree, 3 * n, y, z, v->eps));
  PetscCall(PetscFree3(x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Variants(PatchFDKernels k, PetscInt dim, PetscInt degree, int problem)
{
  Variant       v = {.k = k, .problem = problem, .eps = k->size == sizeof(double) ? 1e-12 : 2e-5};
  PatchFDPoints computed;
  PetscCount    n;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(dim, box, degree, &v.m));
  n = v.m.nnodes;
  PetscCall(PetscMalloc5(2 * n, &v.x, n, &v.y, n, &v.z, n, &v.d, n, &v.e));
  for (PetscCount i = 0; i < 2 * n; i++) v.x[i] = PetscSinReal(1 + i * i);
  v.p       = Describe(&v.m, problem, PATCHFD_NODES_INDEX, PATCHFD_FACTORS_STORED, PETSC_TRUE);
  v.p.index = v.m.inner;
  PetscCall(Apply(k, &v.p, NULL, 1, v.x, NULL, v.y, v.d));
  computed         = v.p;
  computed.factors = PATCHFD_FACTORS_COMPUTED;
  PetscCall(Same(&v, "computed factors", &computed, NULL));
  PetscCall(VariantBox(&v));
  PetscCall(VariantCells(&v));
  PetscCall(VariantGeometry(&v));
  PetscCall(VariantComponents(&v));
  /* y0 and alpha; z is y0 */
  for (PetscCount i = 0; i < n; i++) v.z[i] = v.x[n + i] - 2 * v.y[i];
  PetscCall(Apply(k, &v.p, NULL, -2, v.x, v.x + n, v.e, NULL));
  PetscCall(Compare("y0 + alpha A x", problem, degree, n, v.e, v.z, v.eps));
  PetscCall(PetscFree5(v.x, v.y, v.z, v.d, v.e));
  PetscCall(MeshDestroy(&v.m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Symmetry, and the diagonal entry by entry */
static PetscErrorCode Entries(PatchFDKernels k, PetscInt dim, PetscInt degree, int problem, PatchFDFactors factors)
{
  const PetscInt  cells[3] = {2, 1, 2};
  const PetscReal eps      = k->size == sizeof(double) ? 1e-13 : 1e-5;
  PetscReal      *x, *A, *d, max = 0;
  PetscCount      n;
  Mesh            m;
  PatchFDPoints   p;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(dim, cells, degree, &m));
  n = m.nnodes;
  p = Describe(&m, problem, PATCHFD_NODES_INDEX, factors, PETSC_TRUE);
  PetscCall(PetscMalloc3(n, &x, n * n, &A, n, &d));
  PetscCall(PetscArrayzero(x, n));
  for (PetscCount i = 0; i < n; i++) {
    x[i] = 1;
    PetscCall(Apply(k, &p, NULL, 1, x, NULL, A + i * n, d));
    x[i] = 0;
    max  = PetscMax(max, d[i]);
  }
  for (PetscCount i = 0; i < n; i++) {
    PetscCall(Check("a diagonal entry", problem, degree, d[i], A[i * n + i], eps * max));
    for (PetscCount j = 0; j < i; j++) PetscCall(Check("symmetry", problem, degree, A[i * n + j], A[j * n + i], eps * max));
  }
  PetscCall(PetscFree3(x, A, d));
  PetscCall(MeshDestroy(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Integrals that are known: 1'M1 = volume, S 1 = 0, and x'S x for a linear function with gradient a is the integral of a'K a.  Coefficients:
  a number; a tensor; the same at each point; and, at the points of cells, numbers that differ from cell to cell and change with the cells'
  volumes.
*/
static PetscErrorCode Coefficients(PatchFDKernels k, PetscInt dim, PetscInt degree)
{
  const PetscReal eps = k->size == sizeof(double) ? 1e-12 : 2e-5, gradient[3] = {1, -2, 0.5}, volume = 1;
  const PetscReal full[2][6] = {{2, 0.5, 3, 0, 0, 0}, {2, 0.5, -0.25, 3, 0.75, 1.5}}, *K = full[dim - 2];
  const PetscInt  nK = dim * (dim + 1) / 2;
  PetscReal      *x, *y, *z, *X, *values, energy = 0, norm = 0, number = 3;
  PetscInt        npoint;
  Mesh            m;
  PatchFDPoints   p;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(dim, box, degree, &m));
  PetscCall(MeshNodes(&m, degree, m.index, m.nnodes, &X));
  npoint = (degree + 2) * (degree + 2) * (dim == 3 ? degree + 2 : 1);
  PetscCall(PetscMalloc4(m.nnodes, &x, m.nnodes, &y, m.nnodes, &z, m.ncells * npoint * nK, &values));
  for (PetscCount i = 0; i < m.nnodes; i++) {
    x[i] = 0.7;
    for (int d = 0; d < dim; d++) x[i] += gradient[d] * X[i * dim + d];
  }
  for (int a = 0, i = 0; a < dim; a++) {
    norm += gradient[a] * gradient[a];
    for (int b = a; b < dim; b++, i++) energy += (a == b ? 1 : 2) * gradient[a] * K[i] * gradient[b];
  }
  for (PatchFDFactors f = PATCHFD_FACTORS_STORED; f <= PATCHFD_FACTORS_COMPUTED; f++) {
    p       = Describe(&m, 1, PATCHFD_NODES_INDEX, f, PETSC_FALSE);
    p.kappa = &number;
    PetscCall(Apply(k, &p, NULL, 1, x, NULL, y, NULL));
    PetscCall(Check("energy", 1, degree, Dot(m.nnodes, x, y), number * norm * volume, 10 * eps * norm));
    p.kappa  = K;
    p.nkappa = nK;
    PetscCall(Apply(k, &p, NULL, 1, x, NULL, z, NULL));
    PetscCall(Check("energy of a tensor", 1, degree, Dot(m.nnodes, x, z), energy * volume, 10 * eps * energy));
    p       = Describe(&m, 0, PATCHFD_NODES_INDEX, f, PETSC_FALSE);
    p.shift = &number;
    for (PetscCount i = 0; i < m.nnodes; i++) y[i] = 1;
    PetscCall(Apply(k, &p, NULL, 1, y, NULL, z, NULL));
    PetscCall(Check("mass", 0, degree, Dot(m.nnodes, y, z), number * volume, 10 * eps));
  }
  /* constants at every point */
  p        = Describe(&m, 1, PATCHFD_NODES_INDEX, PATCHFD_FACTORS_COMPUTED, PETSC_TRUE);
  p.kappa  = K;
  p.nkappa = nK;
  p.shift  = &number;
  PetscCall(Apply(k, &p, NULL, 1, x, NULL, y, NULL));
  for (PetscCount i = 0; i < m.ncells * npoint * nK; i++) values[i] = K[i % nK];
  p.factors       = PATCHFD_FACTORS_AUTO;
  p.kappa         = values;
  p.kappaconstant = PETSC_FALSE;
  PetscCall(Apply(k, &p, NULL, 1, x, NULL, z, NULL));
  PetscCall(Compare("a tensor at each point", 1, degree, m.nnodes, z, y, eps));
  /* a number for each cell: the sum over cells of number times volume, which the mass matrix gives with such a shift */
  for (PetscCount i = 0; i < m.ncells * npoint; i++) values[i] = 1 + i / npoint;
  p               = Describe(&m, 1, PATCHFD_NODES_INDEX, PATCHFD_FACTORS_AUTO, PETSC_FALSE);
  p.kappa         = values;
  p.kappaconstant = PETSC_FALSE;
  PetscCall(Apply(k, &p, NULL, 1, x, NULL, y, NULL));
  energy          = Dot(m.nnodes, x, y);
  p               = Describe(&m, 0, PATCHFD_NODES_INDEX, PATCHFD_FACTORS_AUTO, PETSC_FALSE);
  p.shift         = values;
  p.shiftconstant = PETSC_FALSE;
  for (PetscCount i = 0; i < m.nnodes; i++) y[i] = 1;
  PetscCall(Apply(k, &p, NULL, 1, y, NULL, z, NULL));
  PetscCall(Check("energy by cells", 1, degree, energy, norm * Dot(m.nnodes, y, z), 10 * eps * energy));
  PetscCall(PetscFree4(x, y, z, values));
  PetscCall(PetscFree(X));
  PetscCall(MeshDestroy(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a box with straight cells BP3 is the Kronecker sum of stiffness and mass matrices */
static PetscErrorCode Straight(PatchFDKernels k, PetscInt dim, PetscInt degree)
{
  const PetscReal     eps = k->size == sizeof(double) ? 1e-12 : 2e-5, length[3] = {1, 2, 0.5};
  const PetscBool     free[2] = {PETSC_FALSE, PETSC_FALSE};
  PatchFDBand         M[3], A[3];
  PatchFDTerm         term[3];
  PatchFDField        field = {.x0 = 0};
  PatchFDOperatorDesc desc  = {.nfield = 1, .nterm = 3, .field = &field, .term = term};
  PetscReal          *x, *y, *z;
  void               *plan = NULL;
  Mesh                m;
  PatchFDPoints       p;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(dim, box, degree, &m));
  for (PetscInt v = 0, n = (box[0] + 1) * (box[1] + 1) * (dim == 3 ? box[2] + 1 : 1); v < n; v++) {
    const PetscInt at[3] = {v % (box[0] + 1), v / (box[0] + 1) % (box[1] + 1), v / (box[0] + 1) / (box[1] + 1)};

    for (int d = 0; d < dim; d++) m.vertex[v * dim + d] = length[d] * at[d] / box[d];
  }
  for (int d = 0; d < 3; d++) {
    const PetscInt n     = d < dim ? box[d] : 1;
    PetscReal      at[5] = {0, 0, 0, 0, 0};
    PatchFDLine    line;

    for (PetscInt i = 0; i <= n && d < dim; i++) at[i] = length[d] * i / n;
    PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, d < dim ? degree : 0, n, at, free, &line));
    PetscCall(PatchFDBandMass(&line, &M[d]));
    PetscCall(PatchFDBandLaplace(&line, 1, 0, 0, 0, &A[d]));
    field.xbox.n[d]  = line.nnodes;
    field.read[d][1] = line.nnodes;
    desc.cells[d][1] = n;
    PetscCall(PatchFDLineDestroy(&line));
  }
  field.ybox = field.xbox;
  PetscCall(PetscArraycpy(field.write, field.read, 3));
  for (int t = 0; t < 3; t++) {
    term[t]        = (PatchFDTerm){0, 0, 1, {&M[0], &M[1], &M[2]}};
    term[t].dir[t] = &A[t];
  }
  PetscCall(PetscMalloc3(m.nnodes, &x, m.nnodes, &y, m.nnodes, &z));
  for (PetscCount i = 0; i < m.nnodes; i++) x[i] = PetscSinReal(1 + i * i);
  PetscCall((*PatchFDKernelsHostDouble.operatorcreate)(&desc, &plan));
  PetscCall((*PatchFDKernelsHostDouble.operatorapply)(plan, 1, x, NULL, z));
  PetscCall((*PatchFDKernelsHostDouble.operatordestroy)(&plan));
  for (int problem = 1; problem < 4; problem += 2) {
    p = Describe(&m, problem, PATCHFD_NODES_BOX, PATCHFD_FACTORS_AUTO, PETSC_FALSE);
    PetscCall(Apply(k, &p, &field, 1, x, NULL, y, NULL));
    PetscCall(Compare("Kronecker sum", problem, degree, m.nnodes, y, z, eps));
  }
  for (int d = 0; d < 3; d++) {
    PetscCall(PatchFDBandDestroy(&M[d]));
    PetscCall(PatchFDBandDestroy(&A[d]));
  }
  PetscCall(PetscFree3(x, y, z));
  PetscCall(MeshDestroy(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- one direction ---- */

/* of constants and of x: B 1 = 1, D 1 = 0, D x = 1; D = C B; mirror images; and the integrals of powers up to the last that the points have
   exactly */
static PetscErrorCode Rule(PetscInt degree, PetscInt gauss)
{
  const int       problem = !gauss ? 2 : (gauss == degree + 1 ? 3 : 1);
  const PetscReal eps     = 1e-12;
  PetscReal       nodes[16], ends[2] = {0, 1};
  PetscBool       none[2] = {PETSC_FALSE, PETSC_FALSE};
  PatchFDLine     line;
  PatchFDRule     r;

  PetscFunctionBeginUser;
  PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, degree, 1, ends, none, &line));
  PetscCall(PatchFDLineNodes(&line, nodes));
  PetscCall(PatchFDLineDestroy(&line));
  PetscCall(PatchFDRuleCreate(degree, gauss, &r));
  PetscCall(Check("number of points", problem, degree, r.points, gauss ? gauss : degree + 1, 0));
  for (PetscInt q = 0; q < r.points; q++) {
    PetscReal sum[3] = {0, 0, 0};

    for (PetscInt i = 0; i < r.nodes; i++) {
      const PetscInt here = q * r.nodes + i, mirror = (r.points - 1 - q) * r.nodes + r.nodes - 1 - i;
      PetscReal      CB = 0;

      sum[0] += r.B[here];
      sum[1] += r.D[here];
      sum[2] += r.D[here] * nodes[i];
      for (PetscInt s = 0; s < r.points; s++) CB += r.C[q * r.points + s] * r.B[s * r.nodes + i];
      PetscCall(Check("D = C B", problem, degree, CB, r.D[here], 100 * eps));
      PetscCall(Check("mirror image of B", problem, degree, r.B[mirror], r.B[here], eps));
      PetscCall(Check("mirror image of D", problem, degree, -r.D[mirror], r.D[here], 100 * eps));
    }
    PetscCall(Check("B 1", problem, degree, sum[0], 1, eps));
    PetscCall(Check("D 1", problem, degree, sum[1], 0, 100 * eps));
    PetscCall(Check("D x", problem, degree, sum[2], 1, 100 * eps));
  }
  for (PetscInt power = 0; power <= 2 * r.points - (gauss ? 1 : 3); power++) {
    PetscReal integral = 0;

    for (PetscInt q = 0; q < r.points; q++) integral += r.w[q] * PetscPowRealInt(r.x[q], power);
    PetscCall(Check("an integral", problem, degree, integral, 1 / (PetscReal)(power + 1), eps));
  }
  PetscCall(PatchFDRuleDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what is refused ---- */

static PetscErrorCode Refuse(PatchFDKernels k, const PatchFDPoints *p, const char *message)
{
  PatchFDOperatorDesc desc = {.points = p};
  PetscErrorCode      ierr;
  void               *plan = NULL;

  PetscFunctionBeginUser;
  CATCH(ierr, k->operatorcreate(&desc, &plan));
  if (!ierr || !strstr(lastmessage, message)) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "\"%s\" in place of \"%s\"\n", lastmessage, message));
    failures++;
  }
  PetscCall(k->operatordestroy(&plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Errors(PatchFDKernels k)
{
  const PetscReal zero = 0, indefinite[6] = {1, 2, 0, 1, 0, 1};
  PetscReal      *values, keep;
  Mesh            m;
  PatchFDPoints   p, good;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(3, box, 3, &m));
  good = Describe(&m, 1, PATCHFD_NODES_INDEX, PATCHFD_FACTORS_AUTO, PETSC_TRUE);
#define REFUSE(change, message) \
  do { \
    p = good; \
    change; \
    PetscCall(Refuse(k, &p, message)); \
  } while (0)
  REFUSE(p.degree = 0, "Degree 0 of an operator by quadrature; it has to be 1 to 15");
  REFUSE(p.degree = 16, "Degree 16 of an operator by quadrature; it has to be 1 to 15");
  REFUSE(p.dim = 1, "in 1 dimensions");
  REFUSE(p.geodegree = 0, "Degree 0 of the geometry");
  REFUSE(p.ncomp = 0, "0 components");
  REFUSE(p.nkappa = 3, "3 numbers for the coefficient of the stiffness; there have to be 0, 1 or 6");
  REFUSE((p.nkappa = 0, p.shift = NULL), "without stiffness and mass");
  REFUSE((p.kappaconstant = PETSC_FALSE, p.factors = PATCHFD_FACTORS_COMPUTED), "constant coefficients");
  REFUSE(p.kappa = &zero, "The coefficient of the stiffness is 0. in cell 0; it has to be positive");
  REFUSE((p.kappa = indefinite, p.nkappa = 6), "it has to be positive definite");
  PetscCall(PetscMalloc1(m.ncells * 125, &values));
  for (PetscCount i = 0; i < m.ncells * 125; i++) values[i] = i / 125 == 17 ? -3 : 1;
  REFUSE((p.kappa = values, p.kappaconstant = PETSC_FALSE), "The coefficient of the stiffness is -3. in cell 17");
  PetscCall(PetscFree(values));
  keep             = m.vertex[3 * 59]; /* the last corner of the last cell, which is moved to the other side of it */
  m.vertex[3 * 59] = 0;
  for (PatchFDFactors f = PATCHFD_FACTORS_STORED; f <= PATCHFD_FACTORS_COMPUTED; f++) REFUSE(p.factors = f, "Cell 23 is inverted");
  m.vertex[3 * 59] = NAN;
  REFUSE(p.factors = PATCHFD_FACTORS_AUTO, "Cell 23 is inverted");
  m.vertex[3 * 59] = keep;
#undef REFUSE
  PetscCall(MeshDestroy(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- times ---- */

/* of a product on a mesh of about n nodes, in ns a node: the fastest of 20 */
static PetscErrorCode Time(PatchFDKernels k, PetscInt degree, PetscInt n)
{
  const char *const nodes[] = {"box", "index", "cell"};
  const PetscInt    e = PetscMax(1, (PetscInt)(PetscPowReal((PetscReal)n, 1. / 3) / degree + 0.5)), cells[3] = {e, e, e};
  Mesh              m;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(3, cells, degree, &m));
  for (int problem = 0; problem < 3; problem++) {
    for (PatchFDNodes layout = PATCHFD_NODES_INDEX; layout <= PATCHFD_NODES_CELL; layout++) {
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s degree %2" PetscInt_FMT " BP%d %-5s", k->name, degree, 2 * problem + 1, nodes[layout]));
      for (PatchFDFactors f = PATCHFD_FACTORS_STORED; f <= PATCHFD_FACTORS_COMPUTED; f++) {
        PatchFDPoints       p    = Describe(&m, problem, layout, f, PETSC_FALSE);
        PatchFDOperatorDesc desc = {.points = &p};
        PetscLogDouble      from, to, t = PETSC_MAX_REAL;
        void               *plan = NULL, *x, *y;

        PetscCall(k->malloc(p.nnodes, &x));
        PetscCall(k->malloc(p.nnodes, &y));
        PetscCall(k->operatorcreate(&desc, &plan));
        for (int i = 0; i < 20; i++) {
          PetscCall(PetscTime(&from));
          PetscCall(k->operatorapply(plan, 1, x, NULL, y));
          PetscCall(PetscTime(&to));
          t = PetscMin(t, to - from);
        }
        PetscCall(PetscPrintf(PETSC_COMM_SELF, "  %s %7.3f", f == PATCHFD_FACTORS_STORED ? "stored" : "computed", 1e9 * t / m.nnodes));
        PetscCall(k->operatordestroy(&plan));
        PetscCall(k->free(x));
        PetscCall(k->free(y));
      }
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "\n"));
    }
  }
  PetscCall(MeshDestroy(&m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char     part[32] = "reference";
  PetscInt time = 0, degrees[15], ndegree = 15;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-part", part, sizeof(part), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-time", &time, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &ndegree, NULL));
  for (int i = 0; i < 2; i++) {
    const PatchFDKernels k = i ? &PatchFDKernelsHostFloat : &PatchFDKernelsHostDouble;

    if (time) {
      for (PetscInt d = 0; d < ndegree; d++) PetscCall(Time(k, degrees[d], time));
    } else if (!strcmp(part, "reference")) {
      for (PetscInt degree = 1; degree <= 15; degree++) PetscCall(ReferenceCells(k, degree));
      for (PetscInt degree = 1; degree <= 8; degree++) PetscCall(ReferenceNodes(k, degree));
    } else if (!strcmp(part, "variants")) {
      for (PetscInt dim = 2; dim <= 3; dim++)
        for (PetscInt degree = 1; degree <= (dim == 3 ? 10 : 15); degree++)
          for (int problem = 0; problem < 4; problem++) PetscCall(Variants(k, dim, degree, problem));
    } else if (!strcmp(part, "entries")) {
      for (PetscInt dim = 2; dim <= 3; dim++)
        for (PetscInt degree = 1; degree <= 3; degree++)
          for (int problem = 0; problem < 4; problem++)
            for (PatchFDFactors f = PATCHFD_FACTORS_STORED; f <= PATCHFD_FACTORS_COMPUTED; f++)
              PetscCall(Entries(k, dim, degree, problem, f));
    } else if (!strcmp(part, "coefficients")) {
      for (PetscInt dim = 2; dim <= 3; dim++)
        for (PetscInt degree = 1; degree <= 9; degree += 2) PetscCall(Coefficients(k, dim, degree));
    } else if (!strcmp(part, "straight")) {
      for (PetscInt dim = 2; dim <= 3; dim++)
        for (PetscInt degree = 1; degree <= 9; degree++) PetscCall(Straight(k, dim, degree));
    } else if (!strcmp(part, "rule")) {
      for (PetscInt degree = 1; degree <= 15; degree++)
        for (PetscInt extra = 0; extra < 3; extra++) PetscCall(Rule(degree, extra ? degree + extra : 0));
    } else if (!strcmp(part, "errors")) PetscCall(Errors(k));
    else SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-part %s", part);
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, failures ? "%" PetscInt_FMT " failures\n" : "ok\n", failures));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: reference
    output_file: output/ok.out

  test:
    suffix: variants
    args: -part variants
    output_file: output/ok.out

  test:
    suffix: entries
    args: -part entries
    output_file: output/ok.out

  test:
    suffix: coefficients
    args: -part coefficients
    output_file: output/ok.out

  test:
    suffix: straight
    args: -part straight
    output_file: output/ok.out

  test:
    suffix: rule
    args: -part rule
    output_file: output/ok.out

  test:
    suffix: errors
    args: -part errors -malloc_dump 0
    output_file: output/ok.out

TEST*/
