static char help[] =
  "Operators by quadrature: the kernels of all tables against those of the host in double precision with stored factors, on deformed cells \
and random data.\n\
  -dim <d>, -degrees <k,...>, -cells <n,...> : the meshes\n\
  -errors : what is to be refused\n\
  -gpu : the kernels of the GPU, otherwise those of the host\n\
  -time <n> : no comparison, but the times of the CUDA kernels on a mesh of about n nodes, as many cells in each direction; -nodes \
<box,index,cell> : where cells have their nodes;\n\
              -components <n>, -precision <double,float>\n\n";

#include "catch.h"
#include "ceed.h"
#include <patchfd/private/kernels.h>
#if defined(PETSC_HAVE_CUDA)
  #include "twins.h"
#endif

/* ---- meshes: a box of cells with moved vertices ---- */

typedef struct {
  PetscInt   dim, n[3], degree, geodegree;
  PetscCount ncells, nnodes; /* nodes of polynomials of that degree, x fastest */
  PetscInt   size;           /* nodes of a cell */
  PetscInt  *index, *inner;  /* [ncells][size], nodes in an order of their own; the same with -1 for nodes of the boundary */
  PetscInt  *geoindex;
  PetscReal *coordinate;
} Mesh;

static PetscInt Power(PetscInt n, PetscInt dim)
{
  return dim == 3 ? n * n * n : n * n;
}

/* x fastest; with a stride the nodes are numbered in another order */
static PetscErrorCode MeshIndex(const Mesh *m, PetscInt degree, PetscBool inner, PetscCount stride, PetscInt **index)
{
  const PetscInt k = degree + 1, size = Power(k, m->dim);
  PetscCount     n[3], nodes, at = 0;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) n[d] = d < m->dim ? m->n[d] * degree + 1 : 1;
  nodes = n[0] * n[1] * n[2];
  PetscCall(PetscMalloc1(m->ncells * size, index));
  for (PetscCount c = 0; c < m->ncells; c++) {
    const PetscInt cell[3] = {(PetscInt)(c % m->n[0]), (PetscInt)(c / m->n[0] % m->n[1]), (PetscInt)(c / m->n[0] / m->n[1])};

    for (PetscInt i = 0; i < size; i++, at++) {
      const PetscInt x[3] = {cell[0] * degree + i % k, cell[1] * degree + i / k % k, cell[2] * degree + i / k / k};
      PetscBool      edge = PETSC_FALSE;

      for (int d = 0; d < m->dim; d++)
        if (x[d] == 0 || x[d] == n[d] - 1) edge = PETSC_TRUE;
      (*index)[at] = inner && edge ? -1 : (PetscInt)(((x[2] * n[1] + x[1]) * n[0] + x[0]) * stride % nodes);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the map of a cell has degree `geodegree`; for 2 it is curved */
static PetscErrorCode MeshCreate(PetscInt dim, const PetscInt n[3], PetscInt degree, PetscInt geodegree, PetscBool permute,
                                 PetscBool indices, Mesh *m)
{
  PetscInt   nodes[3], at = 0;
  PetscCount stride = 1;

  PetscFunctionBeginUser;
  *m = (Mesh){.dim = dim, .degree = degree, .geodegree = geodegree, .ncells = 1, .nnodes = 1, .size = Power(degree + 1, dim)};
  for (int d = 0; d < 3; d++) {
    m->n[d] = d < dim ? n[d] : 1;
    m->ncells *= m->n[d];
    m->nnodes *= d < dim ? n[d] * degree + 1 : 1;
    nodes[d] = d < dim ? n[d] * geodegree + 1 : 1;
  }
  if (permute) { /* some number without a common factor */
    PetscCount a, b;

    do {
      stride += 12;
      for (a = stride, b = m->nnodes; b;) {
        const PetscCount r = a % b;

        a = b;
        b = r;
      }
    } while (a != 1);
  }
  if (indices) {
    PetscCall(MeshIndex(m, degree, PETSC_FALSE, stride, &m->index));
    PetscCall(MeshIndex(m, degree, PETSC_TRUE, stride, &m->inner));
  }
  PetscCall(MeshIndex(m, geodegree, PETSC_FALSE, 1, &m->geoindex));
  PetscCall(PetscMalloc1((PetscCount)nodes[0] * nodes[1] * nodes[2] * dim, &m->coordinate));
  for (PetscInt k = 0; k < nodes[2]; k++) {
    for (PetscInt j = 0; j < nodes[1]; j++) {
      for (PetscInt i = 0; i < nodes[0]; i++) {
        PetscReal x[3] = {(PetscReal)i / (nodes[0] - 1), (PetscReal)j / (nodes[1] - 1), dim == 3 ? (PetscReal)k / (nodes[2] - 1) : 0};

        Sine(dim, x);
        for (int d = 0; d < dim; d++) m->coordinate[at++] = x[d];
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
  PetscCall(PetscFree(m->geoindex));
  PetscCall(PetscFree(m->coordinate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- operators ---- */

/* what there is at the points of a cell */
typedef struct {
  const char *name;
  PetscInt    extra; /* Gauss points in a direction, more than the degree; 0: the nodes */
  PetscBool   stiff, mass;
} Problem;

static const Problem problems[] = {{"mass, Gauss", 2, PETSC_FALSE, PETSC_TRUE},      {"stiffness, Gauss", 2, PETSC_TRUE, PETSC_FALSE},
                                   {"stiffness, nodes", 0, PETSC_TRUE, PETSC_FALSE}, {"stiffness, few", 1, PETSC_TRUE, PETSC_FALSE},
                                   {"both, Gauss", 2, PETSC_TRUE, PETSC_TRUE},       {"both, nodes", 0, PETSC_TRUE, PETSC_TRUE},
                                   {"both, few", 1, PETSC_TRUE, PETSC_TRUE},         {"mass, nodes", 0, PETSC_FALSE, PETSC_TRUE},
                                   {"mass, few", 1, PETSC_FALSE, PETSC_TRUE}};

enum {
  BOX_PART = PATCHFD_NODES_CELL + 1, /* the upper cells of each direction, y without their first nodes */
  INDEX_INNER,
  NUM_NODES
};
static const char *const nodenames[] = {"box", "index", "cell", "part of a box", "index with gaps"};

/* an operator with everything that it points to */
typedef struct {
  PatchFDPoints       points;
  PatchFDField        field;
  PatchFDOperatorDesc desc;
  PetscReal          *kappa, *shift;
  size_t              nx, ny; /* numbers of x and y */
  char                name[256];
} Case;

static PetscErrorCode CaseCoefficients(const Mesh *m, const Problem *problem, PetscInt nkappa, PetscBool constant, Case *c)
{
  const PetscCount all = constant ? 1 : m->ncells * Power(m->degree + PetscMax(1, problem->extra), m->dim);

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(all * nkappa, &c->kappa, all, &c->shift));
  for (PetscCount q = 0; q < all; q++) {
    const PetscReal k  = 1.5 + PetscSinReal(0.1 * (PetscReal)q);
    PetscInt        at = 0;

    for (PetscInt a = 0; a < (nkappa > 1 ? m->dim : 1); a++)
      for (PetscInt b = a; b < (nkappa > 1 ? m->dim : 1); b++) c->kappa[q * nkappa + at++] = a == b ? k + 0.3 * a : 0.1 * k + 0.05 * b;
    c->shift[q] = 2 + PetscCosReal(0.3 * (PetscReal)q);
  }
  c->points.kappa         = problem->stiff ? c->kappa : NULL;
  c->points.nkappa        = problem->stiff ? nkappa : 0;
  c->points.shift         = problem->mass ? c->shift : NULL;
  c->points.kappaconstant = c->points.shiftconstant = constant;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void CaseBox(const Mesh *m, PetscBool part, Case *c)
{
  for (int d = 0; d < 3; d++) {
    const PetscInt k = d < m->dim ? m->degree : 0, lo = part ? m->n[d] / 2 : 0, first = part && d < m->dim ? 1 : 0;

    c->desc.cells[d][0]  = lo;
    c->desc.cells[d][1]  = m->n[d];
    c->field.xbox.lo[d]  = lo * k;
    c->field.xbox.n[d]   = (m->n[d] - lo) * k + 1;
    c->field.ybox.lo[d]  = lo * k + first;
    c->field.ybox.n[d]   = (m->n[d] - lo) * k + 1 - first;
    c->field.read[d][0]  = lo * k;
    c->field.write[d][0] = lo * k + first;
    c->field.read[d][1] = c->field.write[d][1] = (m->n[d]) * k + (d == 1 && !part ? 0 : 1); /* Dirichlet conditions on one side */
    if (k == 0) c->field.read[d][1] = c->field.write[d][1] = 1;
  }
  c->desc.nfield = 1;
  c->desc.field  = &c->field;
  c->nx          = PatchFDBoxSize(&c->field.xbox);
  c->ny          = PatchFDBoxSize(&c->field.ybox);
}

/* `nodes` from the list above */
static PetscErrorCode CaseCreate(const Mesh *m, const Problem *problem, int nodes, PetscInt ncomp, PetscInt nkappa, PetscBool constant,
                                 Case *c)
{
  PatchFDPoints *p = &c->points;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  *p             = (PatchFDPoints){.dim        = m->dim,
                                   .degree     = m->degree,
                                   .ncomp      = ncomp,
                                   .gauss      = problem->extra ? m->degree + problem->extra : 0,
                                   .ncells     = m->ncells,
                                   .nnodes     = m->nnodes,
                                   .geodegree  = m->geodegree,
                                   .geoindex   = m->geoindex,
                                   .coordinate = m->coordinate};
  p->nodes       = nodes == BOX_PART ? PATCHFD_NODES_BOX : (nodes == INDEX_INNER ? PATCHFD_NODES_INDEX : (PatchFDNodes)nodes);
  p->index       = nodes == INDEX_INNER ? m->inner : m->index;
  c->desc.points = p;
  PetscCall(CaseCoefficients(m, problem, nkappa, constant, c));
  if (p->nodes == PATCHFD_NODES_CELL) p->nnodes = m->ncells * m->size;
  c->nx = c->ny = (size_t)(p->nnodes * ncomp);
  if (p->nodes == PATCHFD_NODES_BOX) CaseBox(m, (PetscBool)(nodes == BOX_PART), c);
  if (nodes == BOX_PART)
    p->ncells = (c->desc.cells[0][1] - c->desc.cells[0][0]) * (c->desc.cells[1][1] - c->desc.cells[1][0]) *
                (c->desc.cells[2][1] - c->desc.cells[2][0]);
  PetscCall(PetscSNPrintf(c->name, sizeof(c->name),
                          "degree %" PetscInt_FMT ", %s, %s, %" PetscInt_FMT " components, geometry of degree %" PetscInt_FMT ", %s%s",
                          m->degree, problem->name, nodenames[nodes], ncomp, m->geodegree, constant ? "constant" : "variable",
                          nkappa > 1 ? " tensor" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree2(c->kappa, c->shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- arrays of a table ---- */

static PetscErrorCode Move(PatchFDKernels k, size_t bytes, void *to, const void *from)
{
  PetscFunctionBeginUser;
#if defined(PETSC_HAVE_CUDA)
  if (PetscMemTypeDevice(k->memtype)) {
    PetscCallCUDA(cudaDeviceSynchronize());
    PetscCallCUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
#endif
  (void)k;
  PetscCall(PetscMemcpy(to, from, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* numbers go to a new array of the table */
static PetscErrorCode Put(PatchFDKernels k, size_t n, const PetscReal x[], void **a)
{
  char *h;

  PetscFunctionBeginUser;
  PetscCall(k->malloc(n, a));
  PetscCall(PetscMalloc1(n * k->size, &h));
  for (size_t i = 0; i < n; i++) {
    if (k->size == sizeof(double)) ((double *)h)[i] = x[i];
    else ((float *)h)[i] = (float)x[i];
  }
  PetscCall(Move(k, n * k->size, *a, h));
  PetscCall(PetscFree(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Get(PatchFDKernels k, size_t n, const void *a, PetscReal x[])
{
  char *h;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n * k->size, &h));
  PetscCall(Move(k, n * k->size, h, a));
  for (size_t i = 0; i < n; i++) x[i] = k->size == sizeof(double) ? ((double *)h)[i] : ((float *)h)[i];
  PetscCall(PetscFree(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- comparisons ---- */

/* numbers of one kernel table */
typedef struct {
  PetscReal *apply[3], *diagonal, *p, *w, pw; /* y = y0 + alpha A x, alpha A x, y + alpha A x */
} Result;

static PetscErrorCode ResultCreate(const Case *c, Result *r)
{
  PetscFunctionBeginUser;
  for (int i = 0; i < 3; i++) PetscCall(PetscMalloc1(c->ny, &r->apply[i]));
  PetscCall(PetscMalloc3(c->ny, &r->diagonal, c->nx, &r->p, c->ny, &r->w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ResultDestroy(Result *r)
{
  PetscFunctionBeginUser;
  for (int i = 0; i < 3; i++) PetscCall(PetscFree(r->apply[i]));
  PetscCall(PetscFree3(r->diagonal, r->p, r->w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const PetscReal alpha = -0.7, beta = 0.4;

static PetscErrorCode RunApply(PatchFDKernels k, const Case *c, void *plan, const PetscReal x[], const PetscReal y0[], Result *r)
{
  void *dx, *dy0, *dy;

  PetscFunctionBeginUser;
  PetscCall(Put(k, c->nx, x, &dx));
  PetscCall(Put(k, c->ny, y0, &dy0));
  for (int i = 0; i < 3; i++) {
    PetscCall(Put(k, c->ny, y0 + (i < 2 ? 1 : 0), &dy)); /* other numbers */
    PetscCall(k->operatorapply(plan, alpha, dx, i == 0 ? dy0 : (i == 1 ? NULL : dy), dy));
    PetscCall(Get(k, c->ny, dy, r->apply[i]));
    PetscCall(k->free(dy));
  }
  PetscCall(Put(k, c->ny, y0, &dy));
  PetscCall(k->operatordiagonal(plan, dy));
  PetscCall(Get(k, c->ny, dy, r->diagonal));
  PetscCall(k->free(dy));
  PetscCall(k->free(dx));
  PetscCall(k->free(dy0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* p = d r + beta q, w = A p */
static PetscErrorCode RunSweep(PatchFDKernels k, const Case *c, void *plan, const PetscReal x[], size_t n, Result *r)
{
  const PatchFDSweep numbers = {.b = beta, .pw = 17};
  PatchFDSweep       found;
  void              *a[3], *p, *w, *sweep;

  PetscFunctionBeginUser;
  for (int i = 0; i < 3; i++) PetscCall(Put(k, c->nx, x + i * n, &a[i]));
  PetscCall(Put(k, c->nx, x + 1, &p));
  PetscCall(Put(k, c->ny, x + 2, &w));
  PetscCall(k->malloc((sizeof(numbers) + k->size - 1) / k->size, &sweep));
  PetscCall(Move(k, sizeof(numbers), sweep, &numbers));
  PetscCall(k->operatorsweep(plan, a[0], a[1], a[2], p, w, (PatchFDSweep *)sweep));
  PetscCall(Get(k, c->nx, p, r->p));
  PetscCall(Get(k, c->ny, w, r->w));
  PetscCall(Move(k, sizeof(found), &found, sweep));
  r->pw = found.pw;
  for (int i = 0; i < 3; i++) PetscCall(k->free(a[i]));
  PetscCall(k->free(p));
  PetscCall(k->free(w));
  PetscCall(k->free(sweep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what a sweep is to find: rows that the operator does not have are those of the identity.  They are the rows that are zero for a random
   vector */
static PetscErrorCode WantSweep(const Case *c, void *plan, const PetscReal x[], size_t n, Result *r)
{
  const PatchFDKernels k = &PatchFDKernelsHostDouble;
  void                *p, *w;

  PetscFunctionBeginUser;
  for (size_t i = 0; i < c->nx; i++) r->p[i] = x[i] * x[n + i] + beta * x[2 * n + i];
  PetscCall(Put(k, c->nx, r->p, &p));
  PetscCall(k->malloc(c->ny, &w));
  PetscCall(k->operatorapply(plan, 1, p, NULL, w));
  PetscCall(Get(k, c->ny, w, r->w));
  r->pw = 0;
  for (size_t i = 0; i < c->ny; i++) {
    if (r->w[i] == 0) r->w[i] = r->p[i];
    r->pw += r->p[i] * r->w[i];
  }
  PetscCall(k->free(p));
  PetscCall(k->free(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(PatchFDKernels k, const Case *c, const char *what, size_t n, const PetscReal found[],
                              const PetscReal wanted[], PetscInt *failures)
{
  PetscReal diff = 0, max = 0;

  PetscFunctionBeginUser;
  for (size_t i = 0; i < n; i++) {
    if (!(PetscAbsReal(found[i] - wanted[i]) <= diff)) diff = PetscAbsReal(found[i] - wanted[i]);
    max = PetscMax(max, PetscAbsReal(wanted[i]));
  }
  if (max > 0 && diff <= (k->size == sizeof(double) ? 1e-12 : 1e-5) * max) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s, %s, %s: difference %g of %g\n", k->name, c->name,
                        c->points.factors == PATCHFD_FACTORS_COMPUTED ? "computed" : "stored", what, (double)diff, (double)max));
  (*failures)++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* those that are compared: of the host, or with -gpu of the GPU */
static PetscErrorCode Tables(PatchFDKernels tables[2])
{
  PetscBool gpu = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gpu", &gpu, NULL));
  tables[0] = &PatchFDKernelsHostDouble;
  tables[1] = &PatchFDKernelsHostFloat;
  if (!gpu) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(PETSC_HAVE_CUDA)
  tables[0] = &PatchFDKernelsCUDADouble;
  tables[1] = &PatchFDKernelsCUDAFloat;
#else
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "-gpu: this PETSc has no CUDA");
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one operator with both tables and both kinds of factors */
static PetscErrorCode TestCase(Case *c, PetscRandom rnd, PetscInt *failures)
{
  const size_t   n = PetscMax(c->nx, c->ny) + 1;
  PatchFDKernels tables[2];
  PetscReal     *x;
  Result         want, found;
  void          *plan   = NULL;
  PetscBool      square = (PetscBool)(c->nx == c->ny);

  PetscFunctionBeginUser;
  PetscCall(Tables(tables));
  PetscCall(PetscMalloc1(3 * n, &x));
  for (size_t i = 0; i < 3 * n; i++) PetscCall(PetscRandomGetValueReal(rnd, &x[i]));
  PetscCall(ResultCreate(c, &want));
  PetscCall(ResultCreate(c, &found));
  c->points.factors = PATCHFD_FACTORS_STORED;
  PetscCall(PatchFDKernelsHostDouble.operatorcreate(&c->desc, &plan));
  PetscCall(RunApply(&PatchFDKernelsHostDouble, c, plan, x, x + n, &want));
  if (square) PetscCall(WantSweep(c, plan, x, n, &want));
  PetscCall(PatchFDKernelsHostDouble.operatordestroy(&plan));
  for (int t = 0; t < 2; t++) {
    const PatchFDKernels k = tables[t];

    for (int f = PATCHFD_FACTORS_AUTO; f <= PATCHFD_FACTORS_COMPUTED; f++) {
      c->points.factors = (PatchFDFactors)f;
      if (f == PATCHFD_FACTORS_COMPUTED && !(c->points.geodegree == 1 && c->points.kappaconstant && c->points.shiftconstant)) continue;
      if (f == PATCHFD_FACTORS_COMPUTED && PetscMemTypeDevice(k->memtype) && c->points.dim == 3 && c->points.gauss == c->points.degree + 1)
        continue; /* there they are stored */
      PetscCall(k->operatorcreate(&c->desc, &plan));
      PetscCall(RunApply(k, c, plan, x, x + n, &found));
      PetscCall(Compare(k, c, "y = y0 + a A x", c->ny, found.apply[0], want.apply[0], failures));
      PetscCall(Compare(k, c, "y = a A x", c->ny, found.apply[1], want.apply[1], failures));
      PetscCall(Compare(k, c, "y += a A x", c->ny, found.apply[2], want.apply[2], failures));
      PetscCall(Compare(k, c, "the diagonal", c->ny, found.diagonal, want.diagonal, failures));
      if (k->operatorsweep && square) {
        PetscCall(RunSweep(k, c, plan, x, n, &found));
        PetscCall(Compare(k, c, "p of a sweep", c->nx, found.p, want.p, failures));
        PetscCall(Compare(k, c, "A p of a sweep", c->ny, found.w, want.w, failures));
        PetscCall(Compare(k, c, "p.A p of a sweep", 1, &found.pw, &want.pw, failures));
      }
      PetscCall(k->operatordestroy(&plan));
    }
  }
  PetscCall(ResultDestroy(&want));
  PetscCall(ResultDestroy(&found));
  PetscCall(PetscFree(x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDegree(PetscInt dim, const PetscInt cells[3], PetscInt degree, PetscRandom rnd, PetscInt *failures)
{
  PetscFunctionBeginUser;
  for (int variant = 0; variant < 4;
       variant++) { /* trilinear with constants: a number, a tensor; a tensor at each point; curved with a number at each point */
    const PetscInt nkappa = variant == 1 || variant == 2 ? dim * (dim + 1) / 2 : 1;
    Mesh           mesh;

    if (degree > 8 && variant % 2 == 0) continue; /* to save time */
    PetscCall(MeshCreate(dim, cells, degree, variant == 3 ? 2 : 1, PETSC_TRUE, PETSC_TRUE, &mesh));
    for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(problems); p++) {
      for (int nodes = 0; nodes < NUM_NODES; nodes++) {
        if (nodes == BOX_PART && variant != 1) continue; /* geometry and coefficients of the first cells are good enough for the part's */
        for (PetscInt ncomp = 1; ncomp <= (nodes == PATCHFD_NODES_BOX || nodes == BOX_PART ? 1 : 3); ncomp += 2) {
          Case c;

          PetscCall(CaseCreate(&mesh, &problems[p], nodes, ncomp, nkappa, (PetscBool)(variant < 2), &c));
          PetscCall(TestCase(&c, rnd, failures));
          PetscCall(CaseDestroy(&c));
        }
      }
    }
    PetscCall(MeshDestroy(&mesh));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- errors ---- */

/* create of every table has to fail with these words */
static PetscErrorCode TestError(const Case *c, const char *words, PetscInt *failures)
{
  PatchFDKernels tables[2];

  PetscFunctionBeginUser;
  PetscCall(Tables(tables));
  for (int t = 0; t < 2; t++) {
    void          *plan = NULL;
    char          *found;
    PetscErrorCode ierr;

    CATCH(ierr, tables[t]->operatorcreate(&c->desc, &plan));
    PetscCall(PetscStrstr(lastmessage, words, &found));
    if (!ierr || !found) {
      PetscCall(
        PetscPrintf(PETSC_COMM_SELF, "%s, %s: error %d, \"%s\", not \"%s\"\n", tables[t]->name, c->name, (int)ierr, lastmessage, words));
      (*failures)++;
    }
    PetscCall(tables[t]->operatordestroy(&plan));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an inverted cell, a coefficient that is not positive, factors that cannot be computed */
static PetscErrorCode TestErrors(PetscInt dim, const PetscInt cells[3], PetscInt *failures)
{
  const PetscReal none = 0;
  Mesh            mesh;
  Case            c;
  PetscReal       x;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(dim, cells, 3, 1, PETSC_FALSE, PETSC_TRUE, &mesh));
  for (int p = 0; p < 3; p++) {
    const PetscInt last = (PetscInt)mesh.ncells - 1, a = mesh.geoindex[(last << dim)] * dim, b = mesh.geoindex[(last << dim) + 1] * dim;

    PetscCall(CaseCreate(&mesh, &problems[p], PATCHFD_NODES_INDEX, 1, 1, (PetscBool)(p > 0), &c));
    if (p) { /* the first corners of the last cell change places */
      x                  = mesh.coordinate[a];
      mesh.coordinate[a] = mesh.coordinate[b];
      mesh.coordinate[b] = x;
      PetscCall(TestError(&c, "is inverted or degenerate", failures));
      mesh.coordinate[b] = mesh.coordinate[a];
      mesh.coordinate[a] = x;
      c.points.kappa     = &none;
      PetscCall(TestError(&c, "has to be positive", failures));
    } else {
      c.points.factors = PATCHFD_FACTORS_COMPUTED;
      PetscCall(TestError(&c, "constant coefficients", failures));
    }
    PetscCall(CaseDestroy(&c));
  }
  PetscCall(MeshDestroy(&mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- times ---- */

#if defined(PETSC_HAVE_CUDA)
/* operations of a cell as in Swirydowicz, Chalmers, Karakus and Warburton 2017, with whole matrices */
static PetscReal Flops(PetscInt degree, const Problem *problem)
{
  const PetscReal n = (PetscReal)degree + 1, c = (PetscReal)(degree + PetscMax(1, problem->extra)),
                  interpolation = problem->extra ? 4 * (c * n * n * n + c * c * n * n + c * c * c * n) : 0;

  return interpolation + (problem->stiff ? 12 * c * c * c * c + 17 * c * c * c : c * c * c);
}

/* a line: the product, y += the product, a sweep, beside the floors of the memory and of what the processors can multiply */
static PetscErrorCode TimeCase(PatchFDKernels k, Case *c, const Mesh *m, const Problem *problem, PetscReal copy)
{
  const PetscBool computed = (PetscBool)(c->points.factors == PATCHFD_FACTORS_COMPUTED);
  const PetscReal unknowns = (PetscReal)c->nx, cells = (PetscReal)m->ncells,
                  points = (PetscReal)Power(m->degree + PetscMax(1, problem->extra), 3);
  const PetscReal words  = computed ? 21 : points * ((problem->stiff ? 6 : 0) + (problem->mass ? 1 : 0));
  const PetscReal bytes  = ((2 * unknowns + words * cells) * (PetscReal)k->size +
                           (c->points.nodes == PATCHFD_NODES_INDEX ? 4 * cells * (PetscReal)m->size : 0)) /
                          unknowns;
  const PetscReal dofs = c->points.nodes == PATCHFD_NODES_CELL ? cells * m->degree * m->degree * m->degree * c->points.ncomp
                                                               : unknowns; /* as if cells shared nodes */
  PetscReal       t, s;
  void           *v[5], *plan = NULL, *sweep;

  PetscFunctionBeginUser;
  for (int i = 0; i < 5; i++) PetscCall(Numbers(k, c->nx, i, &v[i]));
  PetscCall(k->malloc(64 / k->size, &sweep));
  PetscCall(k->zero(64 / k->size, sweep));
  PetscCall(k->operatorcreate(&c->desc, &plan));
  TIME(t, k->operatorapply(plan, 1, v[0], NULL, v[1]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-11s %2" PetscInt_FMT " %-17s %-8s | %8.2f %7.2f %6.2f  %4.0f %%", k->name, m->degree,
                        problem->name, computed ? "computed" : "stored", (double)(t * 1e3), (double)(dofs / unknowns / t),
                        (double)(Flops(m->degree, problem) * cells * c->points.ncomp / unknowns / t * 1e-3),
                        (double)(100 * bytes / copy / t)));
  TIME(s, k->operatorapply(plan, 1, v[0], v[1], v[1]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " | %8.2f", (double)(s * 1e3)));
  TIME(s, k->operatorsweep(plan, v[0], v[1], v[2], v[3], v[4], (PatchFDSweep *)sweep));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " | %8.2f\n", (double)(s * 1e3)));
  PetscCall(k->operatordestroy(&plan));
  for (int i = 0; i < 5; i++) PetscCall(k->free(v[i]));
  PetscCall(k->free(sweep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bytes a nanosecond of a copy */
static PetscErrorCode TimeCopy(PetscReal *copy)
{
  const PetscReal unknowns = 1e8;
  PetscReal       t;
  void           *v[2];

  PetscFunctionBeginUser;
  for (int i = 0; i < 2; i++) PetscCall(Numbers(&PatchFDKernelsCUDADouble, (size_t)unknowns, i, &v[i]));
  TIME(t, CopyOnDevice(v[1], v[0], (size_t)unknowns * sizeof(double)));
  *copy = 2 * sizeof(double) / t;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "copy %.2f TB/s\n", (double)(*copy * 1e-3)));
  for (int i = 0; i < 2; i++) PetscCall(PatchFDKernelsCUDADouble.free(v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimeAll(PetscReal unknowns, const PetscInt degrees[], PetscInt nd, PatchFDNodes nodes, PetscInt ncomp,
                              const PatchFDKernels tables[], int ntables)
{
  PetscReal copy = 1;

  PetscFunctionBeginUser;
  PetscCall(TimeCopy(&copy));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%s, %" PetscInt_FMT " components, picoseconds an unknown\ntable        k problem           factors  |      A x  "
                        "GDoF/s TFLOP/s  memory |  y + A x |    sweep\n",
                        nodenames[nodes], ncomp));
  for (PetscInt i = 0; i < nd; i++) {
    const PetscInt n = PetscMax(1, (PetscInt)(PetscPowReal(unknowns / ncomp, 1. / 3) / degrees[i] + 0.5)), cells[] = {n, n, n};
    Mesh           mesh;

    PetscCall(MeshCreate(3, cells, degrees[i], 1, PETSC_FALSE, (PetscBool)(nodes == PATCHFD_NODES_INDEX), &mesh));
    for (int t = 0; t < ntables; t++) {
      for (int p = 0; p < 4; p++) {
        for (int f = PATCHFD_FACTORS_STORED; f <= (problems[p].extra == 1 ? PATCHFD_FACTORS_STORED : PATCHFD_FACTORS_COMPUTED); f++) {
          Case c;

          PetscCall(CaseCreate(&mesh, &problems[p], (int)nodes, ncomp, 1, PETSC_TRUE, &c));
          c.points.factors = (PatchFDFactors)f;
          PetscCall(TimeCase(tables[t], &c, &mesh, &problems[p], copy));
          PetscCall(CaseDestroy(&c));
        }
      }
    }
    PetscCall(MeshDestroy(&mesh));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscReal   unknowns = 0;
  PetscInt    dim = 3, degrees[16], nd = 16, cells[3] = {3, 2, 4}, nc = 3, failures = 0, ncomp = 1, nodes = PATCHFD_NODES_BOX;
  PetscBool   set, table, errors = PETSC_FALSE;
  char        precision[16];
  PetscRandom rnd;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &nd, &set));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-errors", &errors, NULL));
  if (errors) {
    PetscCall(TestErrors(dim, cells, &failures));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", failures ? "other errors" : "errors as they should be"));
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCheck(set, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-degrees is needed: a list of degrees");
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cells", cells, &nc, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-time", &unknowns, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-nodes", nodenames, 3, &nodes, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-components", &ncomp, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-precision", precision, sizeof(precision), &table));
  if (unknowns > 0) {
#if defined(PETSC_HAVE_CUDA)
    const PatchFDKernels tables[] = {&PatchFDKernelsCUDADouble, &PatchFDKernelsCUDAFloat};

    PetscCall(TimeAll(unknowns, degrees, nd, (PatchFDNodes)nodes, ncomp, tables + (table && !strcmp(precision, "float")), table ? 1 : 2));
#else
    SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_SUP, "-time is for CUDA kernels; this PETSc has no CUDA");
#endif
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rnd));
  for (PetscInt i = 0; i < nd; i++) {
    const PetscInt before = failures;

    PetscCall(TestDegree(dim, cells, degrees[i], rnd, &failures));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "degree %" PetscInt_FMT ": %s\n", degrees[i], failures == before ? "agrees" : "DEVIATES"));
  }
  PetscCall(PetscRandomDestroy(&rnd));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
     test:
       suffix: 3d
       args: -degrees 1,2,3,4
     test:
       suffix: 3d_high
       args: -degrees 5,6,7,8 -cells 2,2,1
     test:
       suffix: 3d_higher
       args: -degrees 9,12,15 -cells 2,1,1
     test:
       suffix: 3d_thin
       args: -degrees 2,3 -cells 1,17,2
     test:
       suffix: 3d_rows
       args: -degrees 2,3 -cells 11,2,1
     test:
       suffix: errors
       args: -errors -malloc_dump 0
     test:
       suffix: errors_2d
       args: -errors -dim 2 -malloc_dump 0
     test:
       suffix: 2d
       args: -dim 2 -degrees 1,2,3,4,5,6,7,8,9,15 -cells 4,5

   testset:
     requires: cuda gpu
     args: -gpu
     test:
       suffix: cuda_3d_1
       output_file: output/points_cuda.out
       args: -degrees 1
       filter: grep -o "agrees\|DEVIATES"
     test:
       suffix: cuda_3d_2
       output_file: output/points_cuda.out
       args: -degrees 2
       filter: grep -o "agrees\|DEVIATES"
     test:
       suffix: cuda_3d_3
       output_file: output/points_cuda.out
       args: -degrees 3
       filter: grep -o "agrees\|DEVIATES"
     test:
       suffix: cuda_3d_4
       output_file: output/points_cuda.out
       args: -degrees 4
       filter: grep -o "agrees\|DEVIATES"
     test:
       suffix: cuda_3d_5
       output_file: output/points_cuda.out
       args: -degrees 5 -cells 2,2,1
       filter: grep -o "agrees\|DEVIATES"
     test:
       suffix: cuda_3d_6
       output_file: output/points_cuda.out
       args: -degrees 6 -cells 2,2,1
       filter: grep -o "agrees\|DEVIATES"
     test:
       suffix: cuda_3d_7
       output_file: output/points_cuda.out
       args: -degrees 7 -cells 2,2,1
       filter: grep -o "agrees\|DEVIATES"
     test:
       suffix: cuda_3d_8
       output_file: output/points_cuda.out
       args: -degrees 8 -cells 2,2,1
       filter: grep -o "agrees\|DEVIATES"
     test:
       suffix: cuda_3d_higher
       output_file: output/points_3d_higher.out
       args: -degrees 9,12,15 -cells 2,1,1
     test:
       suffix: cuda_3d_thin
       output_file: output/points_3d_thin.out
       args: -degrees 2,3 -cells 1,17,2
     test:
       suffix: cuda_3d_rows
       output_file: output/points_3d_rows.out
       args: -degrees 2,3 -cells 11,2,1
     test:
       suffix: cuda_errors
       output_file: output/points_errors.out
       args: -errors -malloc_dump 0
     test:
       suffix: cuda_2d
       output_file: output/points_2d.out
       args: -dim 2 -degrees 1,2,3,4,5,6,7,8,9,15 -cells 4,5
     # as on GPUs that have less shared memory
     test:
       suffix: limit
       args: -patchfd_cuda_shared_limit 101376 -degrees 7,8,15 -cells 2,1,1

TEST*/
