static char help[] =
  "The CUDA kernels for several fields, velocity in RT_k and pressure in DGQ_k or displacements in Q_k, against their host twins, in both \
precisions, on random data.\n\
  -dim <d>, -degrees <k,...>, -cells <n,...>, -graded : the meshes\n\
  -open : some sides are open, the others no-slip; or free, sliding and clamped\n\
  -solid : displacements, -projected : with a part of lower degree\n\
  -time <n> : no comparison, but the time of each kernel on a mesh of about n unknowns, as many cells in each direction\n\n";

#include <patchfd/private/kernels.h>
#include "twinsmain.h"
#if defined(PETSC_HAVE_CUDA)
  #include "twins.h"

enum {
  MAX_TERMS = 24
};

typedef struct {
  PetscBool graded, open, solid, projected;
} Kind;

/* the lines of cells of each direction, and their matrices: cells share nodes in the direction of a velocity's component (own), and nowhere
   else (other); those of solids share them everywhere, and have other ends */
typedef struct {
  Kind        kind;
  PetscInt    dim, nfield, degree, cells[3];
  PatchFDLine own[3], other[3];
  PatchFDBand ownmass[3], ownstiffness[3], mass[3], penalty[3], derivative[3], transpose[3], part[3][4]; /* part: the projected ones */
} Mesh;

static const PatchFDLine *FieldLine(const Mesh *m, PetscInt field, int d)
{
  return field == d && d < m->dim ? &m->own[d] : &m->other[d];
}

static PetscErrorCode SolidBandsCreate(const PatchFDLine *line, PetscReal kappa, PetscReal shift, int d, Mesh *m)
{
  const PetscInt degree = PetscMax(0, line->degree - 2);

  PetscFunctionBeginUser;
  PetscCall(PatchFDBandLaplace(line, 3 * kappa, shift, 0, 0, &m->ownstiffness[d]));
  PetscCall(PatchFDBandLaplace(line, kappa, shift, 0, 0, &m->penalty[d]));
  PetscCall(PatchFDBandProjected(line, line->degree, 1, 0, &m->derivative[d]));
  PetscCall(PatchFDBandProjected(line, line->degree, 0, 1, &m->transpose[d]));
  for (int i = 0; i < 4; i++) PetscCall(PatchFDBandProjected(line, degree, i / 2, i % 2, &m->part[d][i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeshCreate(PetscInt dim, PetscInt degree, const PetscInt cells[3], const Kind *kind, PetscInt ratio, Mesh *m)
{
  const PetscBool graded = kind->graded, open = kind->open;
  const PetscReal penalty = (PetscReal)((degree + 1) * (degree + 2)), nu = 0.7;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(m, sizeof(*m)));
  m->kind   = *kind;
  m->dim    = dim;
  m->nfield = kind->solid ? dim : dim + 1;
  m->degree = degree;
  for (int d = 0; d < 3; d++) {
    const PetscInt  refine = d < dim ? ratio : 1, n = d < dim ? cells[d] * refine : 1;
    const PetscBool noslip[2] = {(PetscBool)(d < dim && !(open && d == 1)), (PetscBool)(d < dim && !(open && d != 1))};
    PetscReal      *v;

    m->cells[d] = n;
    PetscCall(PetscMalloc1(n + 1, &v));
    for (PetscInt i = 0; i <= n; i++) {
      const PetscReal s = (PetscReal)(i / refine) / (n / refine), t = (PetscReal)(i / refine + 1) / (n / refine);
      const PetscReal a = graded ? s + 0.3 * s * s : s * (1 + d), b = graded ? t + 0.3 * t * t : t * (1 + d);

      v[i] = a + (b - a) * (i % refine) / refine;
    }
    PetscCall(PatchFDLineCreate(d < dim && !kind->solid ? PATCHFD_DISCONTINUOUS : PATCHFD_CONTINUOUS, d < dim ? degree : 0, n, v, noslip,
                                &m->other[d]));
    PetscCall(PatchFDBandMass(&m->other[d], &m->mass[d]));
    if (d < dim) {
      const PetscReal kappa = nu * (1 + 0.1 * d), shift = d ? 0 : 30;
      const PetscBool ends[2] = {(PetscBool)(noslip[0] || kind->solid), noslip[1]}; /* a solid slides there */

      PetscCall(PatchFDLineCreate(PATCHFD_CONTINUOUS, kind->solid ? degree : degree + 1, n, v, ends, &m->own[d]));
      PetscCall(PatchFDBandMass(&m->own[d], &m->ownmass[d]));
      if (kind->solid) PetscCall(SolidBandsCreate(&m->other[d], kappa, shift, d, m));
      else {
        PetscCall(PatchFDBandLaplace(&m->own[d], kappa, shift, 0, 0, &m->ownstiffness[d]));
        PetscCall(PatchFDBandLaplace(&m->other[d], kappa, shift, penalty, 2 * penalty, &m->penalty[d]));
        PetscCall(PatchFDBandDerivative(&m->other[d], &m->own[d], 1, PETSC_FALSE, &m->derivative[d]));
        PetscCall(PatchFDBandDerivative(&m->other[d], &m->own[d], 1, PETSC_TRUE, &m->transpose[d]));
      }
    }
    PetscCall(PetscFree(v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeshDestroy(Mesh *m)
{
  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    PetscCall(PatchFDBandDestroy(&m->mass[d]));
    PetscCall(PatchFDBandDestroy(&m->penalty[d]));
    PetscCall(PatchFDBandDestroy(&m->ownmass[d]));
    PetscCall(PatchFDBandDestroy(&m->ownstiffness[d]));
    PetscCall(PatchFDBandDestroy(&m->derivative[d]));
    PetscCall(PatchFDBandDestroy(&m->transpose[d]));
    for (int i = 0; i < 4; i++) PetscCall(PatchFDBandDestroy(&m->part[d][i]));
    PetscCall(PatchFDLineDestroy(&m->own[d]));
    PetscCall(PatchFDLineDestroy(&m->other[d]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the operator ---- */

typedef struct {
  PatchFDField        field[4];
  PatchFDTerm         term[MAX_TERMS];
  PatchFDOperatorDesc desc;
  size_t              nx, ny; /* numbers of x and y */
} Fields;

/* the masses of a term in which the bands of direction c are those of component c */
static PatchFDTerm *AddTerm(const Mesh *m, Fields *s, PetscInt row, PetscInt col, PetscInt c, PetscReal coef)
{
  PatchFDTerm *t = &s->term[s->desc.nterm++];

  *t = (PatchFDTerm){.row = row, .col = col, .coef = coef};
  for (int d = 0; d < 3; d++) t->dir[d] = d == c && !m->kind.solid ? &m->ownmass[d] : &m->mass[d];
  return t;
}

/* a coupling of two components, with bands i and j of their directions: value (0) or derivative (1) of rows times 2, and of columns */
static void AddCoupling(const Mesh *m, Fields *s, PetscInt row, PetscInt col, int i, int j, PetscBool part, PetscReal coef)
{
  PatchFDTerm *t = AddTerm(m, s, row, col, -1, coef);

  for (int d = 0; d < m->dim && part; d++) t->dir[d] = &m->part[d][0];
  t->dir[row] = part ? &m->part[row][i] : (i == 1 ? &m->transpose[row] : &m->derivative[row]);
  t->dir[col] = part ? &m->part[col][j] : (j == 1 ? &m->transpose[col] : &m->derivative[col]);
}

static void SolidTerms(const Mesh *m, Fields *s)
{
  const PetscBool part = m->kind.projected;

  for (PetscInt c = 0; c < m->dim; c++) {
    for (int e = 0; e < m->dim; e++) AddTerm(m, s, c, c, -1, 1)->dir[e] = e == c ? &m->ownstiffness[e] : &m->penalty[e];
    if (part) AddCoupling(m, s, c, c, 3, 3, part, 0.7);
    for (PetscInt f = 0; f < m->dim; f++) {
      if (f == c) continue;
      AddCoupling(m, s, c, f, 2, 1, part, 0.7);
      AddCoupling(m, s, c, f, 1, 2, PETSC_FALSE, 0.3);
    }
  }
}

/* part: the whole box, or what a rank would own: 1 the upper half in each direction, 2 the lower half, each with a layer of ghost cells
   around it */
static void FieldBoxes(const Mesh *m, PetscInt f, int part, PatchFDField *field)
{
  for (int d = 0; d < 3; d++) {
    const PatchFDLine *line = FieldLine(m, f, d);
    const PetscInt     n = line->nnodes, half = m->cells[d] / 2, c = part == 1 ? half : 0, end = part == 2 && half ? half : m->cells[d],
                   last = PetscMin(m->cells[d], end + 1);
    PetscInt first, free;

    PatchFDLineFree(line, &first, &free);
    field->xbox.lo[d]  = part == 1 ? PetscMax(0, c - 1) * line->stride : 0;
    field->xbox.n[d]   = (last == m->cells[d] ? n : (last - 1) * line->stride + line->degree + 1) - field->xbox.lo[d];
    field->ybox.lo[d]  = c * line->stride;
    field->ybox.n[d]   = (end == m->cells[d] ? n : end * line->stride) - field->ybox.lo[d];
    field->read[d][0]  = PetscMax(first, field->xbox.lo[d]);
    field->read[d][1]  = PetscMin(free, field->xbox.lo[d] + field->xbox.n[d]);
    field->write[d][0] = PetscMax(first, field->ybox.lo[d]);
    field->write[d][1] = PetscMin(free, field->ybox.lo[d] + field->ybox.n[d]);
  }
}

static void Describe(const Mesh *m, int part, Fields *s)
{
  s->desc = (PatchFDOperatorDesc){.nfield = m->nfield, .field = s->field, .term = s->term};
  s->nx = s->ny = 0;
  if (m->kind.solid) SolidTerms(m, s);
  for (PetscInt c = 0; c < m->dim && !m->kind.solid; c++) {
    for (int e = 0; e < m->dim; e++) AddTerm(m, s, c, c, c, 1 + 0.5 * (PetscReal)c)->dir[e] = e == c ? &m->ownstiffness[e] : &m->penalty[e];
    AddTerm(m, s, c, m->dim, c, -1)->dir[c]   = &m->transpose[c];
    AddTerm(m, s, m->dim, c, c, -0.8)->dir[c] = &m->derivative[c];
  }
  for (PetscInt f = 0; f < m->nfield; f++) {
    PatchFDField *field = &s->field[f];

    FieldBoxes(m, f, part, field);
    field->x0 = s->nx;
    field->y0 = s->ny;
    s->nx += PatchFDBoxSize(&field->xbox);
    s->ny += PatchFDBoxSize(&field->ybox);
  }
  for (int d = 0; d < 3; d++) {
    s->desc.cells[d][0] = part == 1 ? PetscMax(0, m->cells[d] / 2 - 1) : 0;
    s->desc.cells[d][1] = part == 2 && m->cells[d] / 2 ? m->cells[d] / 2 : m->cells[d];
  }
}

/* is the node a free one of a patch with this parity? */
static PetscBool InPatch(const PatchFDLine *line, PetscInt parity, PetscInt node)
{
  const PetscInt shared = line->continuity == PATCHFD_CONTINUOUS;
  PetscInt       first, end;

  PatchFDLineFree(line, &first, &end);
  for (PetscInt p = parity; p <= PetscMax(0, line->ncells - 2); p += 2) {
    const PetscInt lo = p ? p * line->stride + shared : first, hi = p + 2 < line->ncells ? (p + 2) * line->stride : end;

    if (node >= lo && node < hi) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* zero where nothing is said about the residual of a colour */
static PetscErrorCode MaskColor(const Mesh *m, const Fields *s, const PatchFDColor *color, Array *y)
{
  char *d;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(y->n * y->host->size, &d));
  PetscCallCUDA(cudaMemcpy(d, y->d, y->n * y->host->size, cudaMemcpyDeviceToHost));
  for (PetscInt f = 0; f < m->nfield; f++) {
    const PatchFDBox *box = &s->field[f].ybox;

    for (size_t i = 0; i < PatchFDBoxSize(box); i++) {
      const size_t at   = (s->field[f].y0 + i) * y->host->size;
      size_t       rest = i;
      PetscBool    in   = PETSC_TRUE;

      for (int e = 0; e < 3; e++) {
        in = (PetscBool)(in && InPatch(FieldLine(m, f, e), color->parity[e], box->lo[e] + (PetscInt)(rest % (size_t)box->n[e])));
        rest /= (size_t)box->n[e];
      }
      if (in) continue;
      memset((char *)y->h + at, 0, y->host->size);
      memset(d + at, 0, y->host->size);
    }
  }
  PetscCallCUDA(cudaMemcpy(y->d, d, y->n * y->host->size, cudaMemcpyHostToDevice));
  PetscCall(PetscFree(d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what the patches of each colour read */
static PetscErrorCode TestColors(const Mesh *m, const Fields *s, const char *part, void *hp, void *cp, const Array *x, const Array *b,
                                 Array *r, PetscInt *failures)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 1 << m->dim; i++) {
    const PatchFDColor color = {.parity = {i % 2, i / 2 % 2, i / 4}, .phase = PATCHFD_ALL_PHASES};
    char               name[80];

    PetscCall(r->host->operatorresidual(hp, &color, x->h, b->h, r->h));
    PetscCall(r->cuda->operatorresidual(cp, &color, x->d, b->d, r->d));
    PetscCall(MaskColor(m, s, &color, r));
    PetscCall(PetscSNPrintf(name, sizeof(name), "residual of colour %" PetscInt_FMT "%s", i, part));
    PetscCall(ArrayCompare(name, r, m->degree, failures));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* general: without its last term, a divergence, no kernel is made for the sum */
static PetscErrorCode TestOperator(const Mesh *m, int part, PetscBool general, PatchFDKernels h, PatchFDKernels c, PetscRandom rnd,
                                   PetscInt *failures)
{
  static const char *names[] = {"operator, y = y0 + a A x", "operator, y = a A x", "operator, y += a A x"},
                    *parts[] = {"", ", upper part", ", lower part"};
  Fields s;
  Array  x, y0, y;
  void  *hp = NULL, *cp = NULL;

  PetscFunctionBeginUser;
  Describe(m, part, &s);
  PetscCall(ArrayCreate(h, c, s.nx, &x));
  PetscCall(ArrayCreate(h, c, s.ny, &y0));
  PetscCall(ArrayCreate(h, c, s.ny, &y));
  PetscCall(ArrayRandom(&x, rnd));
  PetscCall(ArrayRandom(&y0, rnd));
  PetscCall(ArrayRandom(&y, rnd));
  if (general) s.desc.nterm--;
  PetscCall(h->operatorcreate(&s.desc, &hp));
  PetscCall(c->operatorcreate(&s.desc, &cp));
  for (int i = 0; i < 3; i++) {
    char name[80];

    PetscCall(h->operatorapply(hp, -1.5, x.h, i == 0 ? y0.h : (i == 1 ? NULL : y.h), y.h));
    PetscCall(c->operatorapply(cp, -1.5, x.d, i == 0 ? y0.d : (i == 1 ? NULL : y.d), y.d));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s%s", general ? "general " : "", names[i], parts[part]));
    PetscCall(ArrayCompare(name, &y, m->degree, failures));
  }
  PetscCall(TestColors(m, &s, parts[part], hp, cp, &x, &y0, &y, failures));
  PetscCall(h->operatordestroy(&hp));
  PetscCall(c->operatordestroy(&cp));
  PetscCall(ArrayDestroy(&x));
  PetscCall(ArrayDestroy(&y0));
  PetscCall(ArrayDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- transfers ---- */

static void FieldLines(const Mesh *m, PetscInt f, PatchFDLine line[3])
{
  for (int d = 0; d < 3; d++) line[d] = *FieldLine(m, f, d);
}

static PetscErrorCode TestTransfers(const Mesh *coarse, const Mesh *fine, PatchFDKernels h, PatchFDKernels c, PetscRandom rnd,
                                    PetscInt *failures)
{
  PetscFunctionBeginUser;
  for (PetscInt f = 0; f < coarse->nfield; f++) {
    for (int part = 0; part < 3; part++) {
      PatchFDLine from[3], to[3];

      FieldLines(coarse, f, from);
      FieldLines(fine, f, to);
      PetscCall(TestTransfer(from, to, part, h, c, rnd, failures));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAll(PetscInt dim, PetscInt degree, const PetscInt cells[3], const Kind *kind, const PatchFDKernels tables[2][2],
                              PetscRandom rnd, PetscInt *failures)
{
  Mesh mesh, fine, higher;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(dim, degree, cells, kind, 1, &mesh));
  PetscCall(MeshCreate(dim, degree, cells, kind, 2, &fine));
  PetscCall(MeshCreate(dim, degree + 1, cells, kind, 1, &higher));
  for (int t = 0; t < 2; t++) {
    const PatchFDKernels h = tables[t][0], c = tables[t][1];

    for (int part = 0; part < 3; part++)
      for (int general = 0; general < 2; general++) PetscCall(TestOperator(&mesh, part, (PetscBool)general, h, c, rnd, failures));
    PetscCall(TestTransfers(&mesh, &fine, h, c, rnd, failures));
    PetscCall(TestTransfers(&mesh, &higher, h, c, rnd, failures));
  }
  PetscCall(MeshDestroy(&mesh));
  PetscCall(MeshDestroy(&fine));
  PetscCall(MeshDestroy(&higher));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- times, on events of the device ---- */

static PetscErrorCode TimeTransfer(PatchFDKernels k, const Mesh *coarse, const Mesh *fine, PetscInt f, PetscReal unknowns,
                                   PetscReal *prolong, PetscReal *restriction)
{
  PatchFDTransferDesc desc = {.mesh = NULL};
  PatchFDEmbedding    e[3];
  void               *xc, *xf, *plan = NULL;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    const PatchFDLine *from = FieldLine(coarse, f, d), *to = FieldLine(fine, f, d);

    PetscCall(PatchFDEmbeddingCreate(from, to, &e[d]));
    desc.dir[d]      = &e[d];
    desc.cells[d][0] = 0;
    desc.cells[d][1] = from->ncells;
    desc.cbox.lo[d] = desc.fbox.lo[d] = 0;
    desc.cbox.n[d]                    = from->nnodes;
    desc.fbox.n[d]                    = to->nnodes;
    PatchFDLineFree(from, &desc.coarse[d][0], &desc.coarse[d][1]);
    PatchFDLineFree(to, &desc.fine[d][0], &desc.fine[d][1]);
  }
  PetscCall(Numbers(k, PatchFDBoxSize(&desc.cbox), 3, &xc));
  PetscCall(Numbers(k, PatchFDBoxSize(&desc.fbox), 4, &xf));
  PetscCall(k->transfercreate(&desc, &plan));
  TIME(*prolong, k->transferprolong(plan, xc, xf));
  TIME(*restriction, k->transferrestrict(plan, xf, xc));
  PetscCall(k->transferdestroy(&plan));
  PetscCall(k->free(xc));
  PetscCall(k->free(xf));
  for (int d = 0; d < 3; d++) PetscCall(PatchFDEmbeddingDestroy(&e[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Time(PatchFDKernels k, const Mesh *coarse, const Mesh *m)
{
  const PatchFDColor color = {.parity = {0, 0, 0}, .phase = PATCHFD_ALL_PHASES};
  PetscReal          unknowns, t, transfer[2] = {0, 0}, pressure[2] = {0, 0};
  Fields             s;
  void              *v[3], *plan = NULL;

  PetscFunctionBeginUser;
  Describe(m, 0, &s);
  unknowns = (PetscReal)s.nx;
  for (int i = 0; i < 3; i++) PetscCall(Numbers(k, s.nx, i, &v[i]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-11s %2" PetscInt_FMT " %10.0f |", k->name, m->degree, (double)unknowns));
  PetscCall(k->operatorcreate(&s.desc, &plan));
  TIME(t, k->operatorapply(plan, 1, v[0], NULL, v[2]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.2f", (double)(t * 1e3)));
  TIME(t, k->operatorapply(plan, -1, v[0], v[1], v[2]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.2f", (double)(t * 1e3)));
  TIME(t, k->operatorresidual(plan, &color, v[0], v[1], v[2]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.2f", (double)(t * 1e3)));
  PetscCall(k->operatordestroy(&plan));
  s.desc.nterm--; /* no divergence of the last component: not an operator with a kernel of its own */
  PetscCall(k->operatorcreate(&s.desc, &plan));
  TIME(t, k->operatorapply(plan, 1, v[0], NULL, v[2]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.1f", (double)(t * 1e3)));
  PetscCall(k->operatordestroy(&plan));
  for (PetscInt f = 0; f < m->nfield; f++) {
    PetscReal up = 0, down = 0;

    PetscCall(TimeTransfer(k, coarse, m, f, unknowns / m->nfield, &up, &down));
    if (f < m->dim) {
      transfer[0] += up / m->dim;
      transfer[1] += down / m->dim;
    } else {
      pressure[0] = up;
      pressure[1] = down;
    }
  }
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " | %7.2f %8.2f %7.2f %8.2f", (double)(transfer[0] * 1e3), (double)(transfer[1] * 1e3),
                        (double)(pressure[0] * 1e3), (double)(pressure[1] * 1e3)));
  TIME(t, CopyOnDevice(v[1], v[0], s.nx * k->size));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " | %7.2f  %5.2f\n", (double)(t * 1e3), (double)(2 * k->size / t * 1e-3)));
  for (int i = 0; i < 3; i++) PetscCall(k->free(v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(void)
{
  PetscReal   unknowns = 0;
  PetscInt    dim = 3, degrees[16], nd, cells[3] = {5, 4, 3}, nc = 3, failures = 0;
  Kind        kind = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};
  PetscRandom rnd;

  PetscFunctionBeginUser;
  PetscCall(GetDegrees(&dim, &nd, degrees));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cells", cells, &nc, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-graded", &kind.graded, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-open", &kind.open, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solid", &kind.solid, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-projected", &kind.projected, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-time", &unknowns, NULL));
  if (unknowns > 0) {
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "picoseconds an unknown; transfers: of a velocity component, of the pressure\ntable        k   "
                          "unknowns |      A x  b - A x   colour  general | prolong restrict prolong restrict |    copy  TB/s\n"));
    for (int t = 0; t < 2; t++) {
      for (PetscInt i = 0; i < nd; i++) {
        const PetscInt n      = PetscMax(1, (PetscInt)(PetscPowReal(unknowns / (dim + 1), 1. / dim) / (degrees[i] + 1) / 2 + 0.5)),
                       half[] = {n, n, n};
        Mesh coarse, mesh;

        PetscCall(MeshCreate(dim, degrees[i], half, &kind, 1, &coarse));
        PetscCall(MeshCreate(dim, degrees[i], half, &kind, 2, &mesh));
        PetscCall(Time(tables[t][1], &coarse, &mesh));
        PetscCall(MeshDestroy(&coarse));
        PetscCall(MeshDestroy(&mesh));
      }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rnd));
  for (PetscInt i = 0; i < nd; i++) {
    const PetscInt before = failures;

    PetscCall(TestAll(dim, degrees[i], cells, &kind, tables, rnd, &failures));
    PetscCall(PrintDegree(degrees[i], (PetscBool)(failures == before)));
  }
  PetscCall(PetscRandomDestroy(&rnd));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/*TEST

   testset:
     requires: cuda gpu
     test:
       suffix: 2d
       args: -dim 2 -cells 35,13 -degrees 1,2,3,4,5,6,7
     # tiles away from the sides
     test:
       suffix: 2d_inner
       args: -dim 2 -cells 70,33 -degrees 1
     test:
       suffix: 2d_graded
       args: -dim 2 -cells 9,16 -degrees 1,2,3,4,5,6 -graded -open
     test:
       suffix: 3d
       args: -cells 21,7,5 -degrees 1,2,3
     test:
       suffix: 3d_high
       args: -cells 9,5,3 -degrees 4,5,6,7
     test:
       suffix: 3d_open
       args: -cells 10,6,4 -degrees 1,2,3,4 -open
     test:
       suffix: 3d_graded
       args: -cells 7,9,4 -degrees 1,2,3,4,5,6 -graded -open
     test:
       suffix: 3d_thin
       args: -cells 1,4,2 -degrees 1,2,3
     test:
       suffix: solid_2d
       args: -solid -dim 2 -cells 53,38 -degrees 1,2,3,4,5,6,7 -open {{0 1}}
       output_file: output/fields_2d.out
     test:
       suffix: solid_3d
       args: -solid -cells 19,17,9 -degrees 1,2 -open {{0 1}}
       output_file: output/fields_solid_3d.out
     test:
       suffix: solid_3d_high
       args: -solid -cells 9,7,8 -degrees 3,4 -open {{0 1}}
       output_file: output/fields_solid_3d_high.out
     test:
       suffix: solid_3d_higher
       args: -solid -cells 3,5,4 -degrees 5,6,7
       output_file: output/fields_solid_3d_higher.out
     test:
       suffix: solid_projected
       args: -solid -projected -cells 5,4,7 -degrees 2,3,4 -open {{0 1}}
       output_file: output/fields_solid_projected.out
     test:
       suffix: solid_graded
       args: -solid -cells 5,4,3 -degrees 1,2,3 -graded -open
       output_file: output/fields_3d.out

   # as on GPUs that have less shared memory
   test:
     suffix: limit
     requires: cuda gpu
     args: -patchfd_cuda_shared_limit 101376 -cells 5,4,3 -degrees 4,5,6

TEST*/
