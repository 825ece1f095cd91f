static char help[] = "Every CUDA kernel against its host twin, in both precisions, on random data.\n\
  -dim <d>, -degrees <k,...>, -cells <n,...>, -graded, -neumann, -dg : the meshes; -dg: cells do not share nodes\n\
  -fixed <d>       : with -neumann a direction without free sides\n\
  -together : between the creation of plans and their use those of another mesh are made and used\n\
  -biharmonic : the fourth-order operator and its local solvers; its sides are clamped, or, with -neumann, some of them supported\n\
  -time <n> : no comparison, but the time of each kernel on a mesh of about n unknowns, as many cells in each direction\n\n";

#include <patchfd/private/assembly.h>
#include <patchfd/private/boxsolve.h>
#include "twinsmain.h"
#if defined(PETSC_HAVE_CUDA)
  #include <petscpatchfd.h>
  #include "cudamesh.h"

/* what a rank in the middle of the box would own: the upper half in each direction, with its layers of ghost cells around it */
static void SubBox(const Mesh *m, PatchFDRange cells, PatchFDBox *local, PatchFDBox *own, PatchFDRange read, PatchFDRange write)
{
  for (int d = 0; d < 3; d++) {
    const PetscInt c = m->cells[d] / 2, n = m->box.n[d];

    cells[d][0]  = PetscMax(0, c - 1);
    cells[d][1]  = m->cells[d];
    local->lo[d] = PetscMax(0, c - m->nphase) * m->stride[d];
    local->n[d]  = n - local->lo[d];
    own->lo[d]   = c * m->stride[d];
    own->n[d]    = n - own->lo[d];
    read[d][0]   = PetscMax(local->lo[d], m->free[d][0]);
    write[d][0]  = PetscMax(own->lo[d], m->free[d][0]);
    read[d][1] = write[d][1] = m->free[d][1];
  }
}

/* and of one that owns the lower half */
static void LowerBox(const Mesh *m, PatchFDRange cells, PatchFDBox *local, PatchFDBox *own, PatchFDRange read, PatchFDRange write)
{
  for (int d = 0; d < 3; d++) {
    const PetscInt c = PetscMax(1, m->cells[d] / 2), n = m->box.n[d];

    cells[d][0]  = 0;
    cells[d][1]  = c;
    local->lo[d] = own->lo[d] = 0;
    local->n[d]               = PetscMin(n, (c + m->nphase - 1) * m->stride[d] + 1);
    own->n[d]                 = c == m->cells[d] ? n : c * m->stride[d];
    read[d][0] = write[d][0] = m->free[d][0];
    read[d][1]               = PetscMin(local->n[d], m->free[d][1]);
    write[d][1]              = PetscMin(own->n[d], m->free[d][1]);
  }
}

static PetscErrorCode TestGrid(const Mesh *m, PatchFDKernels h, PatchFDKernels c, PetscRandom rnd, PetscInt *failures)
{
  const size_t n = PatchFDBoxSize(&m->box);
  PatchFDRange cells, read, write, own;
  PatchFDBox   local, global;
  Array        x, y, s;

  PetscFunctionBeginUser;
  SubBox(m, cells, &local, &global, read, write);
  for (int d = 0; d < 3; d++) {
    own[d][0] = global.lo[d];
    own[d][1] = global.lo[d] + global.n[d];
  }
  PetscCall(ArrayCreate(h, c, n, &x));
  PetscCall(ArrayCreate(h, c, n, &y));
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&global), &s));
  PetscCall(ArrayRandom(&x, rnd));
  PetscCall(ArrayRandom(&y, rnd));
  PetscCall(ArrayRandom(&s, rnd));
  PetscCall(h->fixed(m->all, m->free, 0.5, &m->box, y.h, -2, &m->box, x.h));
  PetscCall(c->fixed(m->all, m->free, 0.5, &m->box, y.d, -2, &m->box, x.d));
  PetscCall(ArrayCompare("fixed", &y, m->degree, failures));
  PetscCall(h->fixed(own, m->free, 0, &m->box, y.h, 1, &global, s.h));
  PetscCall(c->fixed(own, m->free, 0, &m->box, y.d, 1, &global, s.d));
  PetscCall(ArrayCompare("fixed, part", &y, m->degree, failures));
  PetscCall(h->copy(own, &m->box, x.h, &global, s.h));
  PetscCall(c->copy(own, &m->box, x.d, &global, s.d));
  PetscCall(ArrayCompare("copy", &s, m->degree, failures));
  PetscCall(h->zero(n, y.h));
  PetscCall(c->zero(n, y.d));
  PetscCall(ArrayCompare("zero", &y, m->degree, failures));
  PetscCall(ArrayDestroy(&x));
  PetscCall(ArrayDestroy(&y));
  PetscCall(ArrayDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* part: the whole box, or one of the halves */
/* is node i of a direction inside of a patch of this parity? */
static PetscBool InPatch(const PatchFDPatches *p, PetscInt parity, PetscInt i)
{
  PetscBool in = PETSC_FALSE;

  for (PetscInt q = parity; q < p->npatch; q += 2) in = (PetscBool)(in || (i >= p->first[q] && i < p->first[q] + p->n[q]));
  return in;
}

/* zeros where the patches of a colour do not read, on host and device */
static PetscErrorCode ArrayMask(const Mesh *m, const PatchFDBox *box, const PatchFDColor *color, Array *a)
{
  const size_t bytes = a->host->size;
  char        *d;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc(a->n * bytes, &d));
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaMemcpy(d, a->d, a->n * bytes, cudaMemcpyDeviceToHost));
  for (size_t q = 0; q < a->n; q++) {
    const PetscInt node[3] = {(PetscInt)(q % (size_t)box->n[0]), (PetscInt)(q / (size_t)box->n[0] % (size_t)box->n[1]),
                              (PetscInt)(q / (size_t)(box->n[0] * box->n[1]))};
    PetscBool      in      = PETSC_TRUE;

    for (int e = 0; e < 3; e++) in = (PetscBool)(in && InPatch(&m->patch[e], color->parity[e], box->lo[e] + node[e]));
    if (in) continue;
    PetscCall(PetscMemzero(d + q * bytes, bytes));
    PetscCall(PetscMemzero((char *)a->h + q * bytes, bytes));
  }
  PetscCallCUDA(cudaMemcpy(a->d, d, a->n * bytes, cudaMemcpyHostToDevice));
  PetscCall(PetscFree(d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOperator(const Mesh *m, int part, PatchFDKernels h, PatchFDKernels c, PetscRandom rnd, PetscInt *failures)
{
  PatchFDOperatorDesc desc;
  PatchFDField        field;
  PatchFDTerm         term[6];
  Array               x, y0, y;
  void               *hp = NULL, *cp = NULL;

  PetscFunctionBeginUser;
  Describe(m, &field, term, &desc);
  if (part == 1) SubBox(m, desc.cells, &field.xbox, &field.ybox, field.read, field.write);
  if (part == 2) LowerBox(m, desc.cells, &field.xbox, &field.ybox, field.read, field.write);
  for (int d = 0; d < 3 && part == 1; d++)
    if (m->line[d].continuity == PATCHFD_DISCONTINUOUS) desc.cells[d][0] = m->cells[d] / 2; /* nothing is shared with the cell below */
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&field.xbox), &x));
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&field.ybox), &y0));
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&field.ybox), &y));
  PetscCall(ArrayRandom(&x, rnd));
  PetscCall(ArrayRandom(&y0, rnd));
  PetscCall(ArrayRandom(&y, rnd));
  PetscCall(h->operatorcreate(&desc, &hp));
  PetscCall(c->operatorcreate(&desc, &cp));
  PetscCall(Meanwhile());
  for (int i = 0; i < 3; i++) {
    static const char *names[] = {"operator, y = y0 + a A x", "operator, y = a A x", "operator, y += a A x"};
    static const char *parts[] = {"", ", part", ", lower part"};
    char               name[64];

    PetscCall(h->operatorapply(hp, -1.5, x.h, i == 0 ? y0.h : (i == 1 ? NULL : y.h), y.h));
    PetscCall(c->operatorapply(cp, -1.5, x.d, i == 0 ? y0.d : (i == 1 ? NULL : y.d), y.d));
    PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s", names[i], parts[part]));
    PetscCall(ArrayCompare(name, &y, m->degree, failures));
  }
  for (PetscInt i = 0; i < 8; i++) {
    const PatchFDColor color = {.parity = {i % 2, i / 2 % 2, i / 4}, .phase = PATCHFD_ALL_PHASES};
    char               name[64];

    PetscCall(h->operatorresidual(hp, &color, x.h, y0.h, y.h));
    PetscCall(c->operatorresidual(cp, &color, x.d, y0.d, y.d));
    PetscCall(ArrayMask(m, &field.ybox, &color, &y));
    PetscCall(PetscSNPrintf(name, sizeof(name), "residual of colour %" PetscInt_FMT ", part %d", i, part));
    PetscCall(ArrayCompare(name, &y, m->degree, failures));
  }
  PetscCall(h->operatordestroy(&hp));
  PetscCall(c->operatordestroy(&cp));
  PetscCall(ArrayDestroy(&x));
  PetscCall(ArrayDestroy(&y0));
  PetscCall(ArrayDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a step in 3D, in 2D and 1D, too: a colour without patches does nothing.  all: both phases of a parity at once */
static void Colors(PetscInt nphase, PetscBool all, PetscInt *n, PatchFDColor colors[16])
{
  const PetscInt phases = all ? 1 : nphase;

  *n = 8 * phases;
  for (PetscInt i = 0; i < *n; i++) {
    const PetscInt c = i / phases;

    colors[i] = (PatchFDColor){.parity = {c % 2, c / 2 % 2, c / 4}, .phase = all ? PATCHFD_ALL_PHASES : i % phases};
  }
}

/* the local solvers of all patches, which are those of `patch`; desc points to `field` */
static void LocalDescribe(const Mesh *m, const PatchFDPatches patch[3], PatchFDLocalField *field, PatchFDLocalDesc *desc)
{
  *field = (PatchFDLocalField){.box = m->box};
  *desc  = (PatchFDLocalDesc){.nphase = m->nphase, .nfield = 1, .field = field};
  for (int d = 0; d < 3; d++) {
    field->dir[d]   = &patch[d];
    desc->nclass[d] = patch[d].nclass;
    desc->cls[d]    = patch[d].cls;
    for (int e = 0; e < 2; e++) field->read[d][e] = m->free[d][e];
  }
}

/* plate: NULL where patches are diagonalized */
static PetscErrorCode TestSmoother(const Mesh *m, const Plate *plate, PetscBool sub, PatchFDKernels h, PatchFDKernels c, PetscRandom rnd,
                                   PetscInt *failures)
{
  static const char *names[] = {"residual", "solve", "fused", "boundary"};
  PatchFDLocalField  field;
  PatchFDLocalDesc   desc;
  PatchFDColor       colors[16];
  PetscInt           ncolors;
  PatchFDRange       patches, write;
  PatchFDBox         own;
  Array              x, b, r;
  void              *hp = NULL, *cp = NULL;

  PetscFunctionBeginUser;
  LocalDescribe(m, plate ? plate->patch : m->patch, &field, &desc);
  for (int d = 0; d < 3; d++) {
    patches[d][0] = 0;
    patches[d][1] = m->patch[d].npatch;
  }
  if (plate) PlateDescribe(plate, &desc);
  if (sub) {
    SubBox(m, patches, &field.box, &own, field.read, write);
    for (int d = 0; d < 3; d++) patches[d][1] = m->patch[d].npatch;
  }
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&field.box), &x));
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&field.box), &b));
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&field.box), &r));
  PetscCall(ArrayRandom(&b, rnd));
  if (plate) x.tolerance *= PetscPowReal(2.5, m->degree - 1); /* conditions of the matrices of patches */
  PetscCall(h->localcreate(&desc, &hp));
  PetscCall(c->localcreate(&desc, &cp));
  PetscCall(Meanwhile());
  for (int op = 0; op < (plate ? PATCHFD_OP_BOUNDARY : 4); op++) {
    for (int zero = 0; zero < 2; zero++) {
      for (int w = 0; w < 2; w++) {
        const PetscReal omega = w ? 0.7 : 1;
        char            name[64];

        Colors(m->nphase, (PetscBool)(plate && w && op != PATCHFD_OP_FUSED), &ncolors, colors);
        PetscCall(ArrayRandom(&r, rnd));
        PetscCall(ArrayRandom(&x, rnd));
        if (zero) {
          PetscCall(h->zero(x.n, x.h));
          PetscCall(c->zero(x.n, x.d));
        }
        PetscCall(h->localapply(hp, (PatchFDPatchOp)op, ncolors, colors, patches, omega, (PetscBool)zero, x.h, b.h, r.h));
        PetscCall(c->localapply(cp, (PatchFDPatchOp)op, ncolors, colors, patches, omega, (PetscBool)zero, x.d, b.d, r.d));
        PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s%s%s, omega %g%s", plate ? plate->name : "", plate ? ", " : "", names[op],
                                zero ? " from zero" : "", (double)omega, sub ? ", part" : ""));
        PetscCall(ArrayCompare(name, op == PATCHFD_OP_RESIDUAL ? &r : &x, m->degree, failures));
      }
    }
  }
  PetscCall(h->localdestroy(&hp));
  PetscCall(c->localdestroy(&cp));
  PetscCall(ArrayDestroy(&x));
  PetscCall(ArrayDestroy(&b));
  PetscCall(ArrayDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sums of all patches' corrections: by atomics, and in lower precisions */
static PetscErrorCode TestSums(const Mesh *m, const Plate *plate, PatchFDKernels h, PatchFDKernels c, PetscRandom rnd, PetscInt *failures)
{
  static const char *const names[]      = {"", "single", "tf32", "bf16"};
  static const PetscReal   tolerances[] = {0, 1e-4, 5e-3, 5e-2};
  const PatchFDColor all = {.parity = {PATCHFD_ALL_PARITIES, PATCHFD_ALL_PARITIES, PATCHFD_ALL_PARITIES}, .phase = PATCHFD_ALL_PHASES};
  PatchFDLocalField  field;
  PatchFDLocalDesc   desc;
  PatchFDColor       colors[16];
  PetscInt           ncolors;
  PatchFDRange       patches;
  Array              x, r;
  void              *hp = NULL, *cp = NULL;

  PetscFunctionBeginUser;
  Colors(m->nphase, PETSC_TRUE, &ncolors, colors);
  LocalDescribe(m, plate->patch, &field, &desc);
  for (int d = 0; d < 3; d++) {
    patches[d][0] = 0;
    patches[d][1] = m->patch[d].npatch;
  }
  PlateDescribe(plate, &desc);
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&field.box), &x));
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&field.box), &r));
  PetscCall(ArrayRandom(&r, rnd));
  x.tolerance *= PetscPowReal(2.5, m->degree - 1);
  PetscCall(h->localcreate(&desc, &hp));
  for (int p = 0; p < (plate->dense ? PATCHFD_NUM_PRECISIONS : 1); p++) {
    desc.precision = (PatchFDPrecision)p;
    x.tolerance    = PetscMax(x.tolerance, tolerances[p]);
    PetscCall(c->localcreate(&desc, &cp));
    for (int atomic = 0; atomic < 2; atomic++) {
      char name[64];

      PetscCall(ArrayRandom(&x, rnd));
      PetscCall(h->zero(x.n, x.h));
      PetscCall(c->zero(x.n, x.d));
      PetscCall(h->localapply(hp, PATCHFD_OP_SOLVE, ncolors, colors, patches, 0.7, PETSC_FALSE, x.h, NULL, r.h));
      PetscCall(
        c->localapply(cp, PATCHFD_OP_SOLVE, atomic ? 1 : ncolors, atomic ? &all : colors, patches, 0.7, PETSC_FALSE, x.d, NULL, r.d));
      PetscCall(PetscSNPrintf(name, sizeof(name), "%s, %s%s", plate->name, atomic ? "atomic " : "sum ", names[p]));
      PetscCall(ArrayCompare(name, &x, m->degree, failures));
    }
    PetscCall(c->localdestroy(&cp));
  }
  PetscCall(h->localdestroy(&hp));
  PetscCall(ArrayDestroy(&x));
  PetscCall(ArrayDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBoxSolve(const Mesh *m, PatchFDKernels h, PatchFDKernels c, PetscRandom rnd, PetscInt *failures)
{
  PatchFDBoxSolveDesc desc = {.box = m->box};
  Array               x, b;
  PatchFDBoxSolve     hs, cs;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    desc.dir[d]   = &m->whole[d];
    desc.first[d] = m->free[d][0];
  }
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&m->box), &x));
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&m->box), &b));
  PetscCall(ArrayRandom(&x, rnd));
  PetscCall(ArrayRandom(&b, rnd));
  PetscCall(PatchFDBoxSolveCreate(h, m->dim, &desc, NULL, &hs));
  PetscCall(PatchFDBoxSolveCreate(c, m->dim, &desc, NULL, &cs));
  PetscCall(PatchFDBoxSolveApply(hs, b.h, x.h));
  PetscCall(PatchFDBoxSolveApply(cs, b.d, x.d));
  PetscCall(ArrayCompare("box solve", &x, m->degree, failures));
  PetscCall(PatchFDBoxSolveDestroy(&hs));
  PetscCall(PatchFDBoxSolveDestroy(&cs));
  PetscCall(ArrayDestroy(&x));
  PetscCall(ArrayDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the steps of a rank that has the middle one of three pieces of the last direction */
static PetscErrorCode TestBoxPiece(const Mesh *m, PatchFDKernels h, PatchFDKernels c, PetscRandom rnd, PetscInt *failures)
{
  const PetscBool         dbl = (PetscBool)(h->size == sizeof(double));
  const PatchFDBoxKernels hk = dbl ? &PatchFDBoxHostDouble : &PatchFDBoxHostFloat, ck = dbl ? &PatchFDBoxCUDADouble : &PatchFDBoxCUDAFloat;
  const int               last = (int)m->dim - 1;
  const PetscInt          n = m->cells[last], cell[] = {0, n / 3, n - 1, n};
  PatchFDBoxLine          line[3];
  PatchFDEigen            piece[3];
  PatchFDCut              cut;
  PatchFDBoxSteps         steps = {.line = line, .last = last, .cut = &cut};
  PetscInt                inner = 1;
  Array                   u, ends, all;
  void                   *hp, *cp;

  PetscFunctionBeginUser;
  if (m->dim == 1 || n < 3) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PatchFDCutCreate(&m->line[last], &m->A[last], 3, cell, &cut));
  for (PetscInt r = 0; r < 3; r++) PetscCall(PatchFDCutSetPiece(&cut, &m->line[last], &m->M[last], &m->A[last], r, &piece[r]));
  for (int d = 0; d < 3; d++) {
    const PatchFDEigen *e = d == last ? &piece[1] : &m->whole[d];

    line[d] = (PatchFDBoxLine){.n = e->n, .blocks = 1, .size = e->n, .S = e->S, .lambda = e->lambda};
    if (d != last) inner *= e->n;
  }
  steps.nend  = 2 * cut.nend;
  steps.nkeep = PatchFDCutCopies(&cut) - 1;
  steps.alpha = cut.alpha + cut.first[1] * steps.nend;
  steps.mass  = cut.mass + cut.first[1] * steps.nend;
  steps.first = inner / 3;
  steps.n     = inner - steps.first;
  PetscCall(hk->create(&steps, &hp));
  PetscCall(ck->create(&steps, &cp));
  PetscCall(ArrayCreate(h, c, (size_t)(inner * piece[1].n), &u));
  PetscCall(ArrayCreate(h, c, (size_t)(inner * steps.nend), &ends));
  PetscCall(ArrayCreate(h, c, (size_t)(steps.n * PatchFDCutEnds(&cut)), &all));
  PetscCall(ArrayRandom(&u, rnd));
  PetscCall(ArrayRandom(&ends, rnd));
  PetscCall(ArrayRandom(&all, rnd));
  PetscCall(hk->ends(hp, u.h, ends.h));
  PetscCall(ck->ends(cp, u.d, ends.d));
  PetscCall(ArrayCompare("ends of a piece", &ends, m->degree, failures));
  PetscCall(hk->join(hp, all.h));
  PetscCall(ck->join(cp, all.d));
  PetscCall(ArrayCompare("equations of ends", &all, m->degree, failures));
  PetscCall(hk->divide(hp, ends.h, u.h));
  PetscCall(ck->divide(cp, ends.d, u.d));
  PetscCall(ArrayCompare("modes of a piece", &u, m->degree, failures));
  PetscCall(hk->destroy(&hp));
  PetscCall(ck->destroy(&cp));
  PetscCall(ArrayDestroy(&u));
  PetscCall(ArrayDestroy(&ends));
  PetscCall(ArrayDestroy(&all));
  for (PetscInt r = 0; r < 3; r++) PetscCall(PatchFDEigenDestroy(&piece[r]));
  PetscCall(PatchFDCutDestroy(&cut));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- times, on events of the device ---- */

static PetscErrorCode Step(PatchFDKernels k, void *plan, PatchFDPatchOp op, const Mesh *m, void *x, void *b, void *r)
{
  PatchFDRange patches;
  PatchFDColor colors[16];
  PetscInt     ncolors;

  PetscFunctionBeginUser;
  Colors(m->nphase, (PetscBool)(m->plates && op != PATCHFD_OP_FUSED), &ncolors, colors);
  for (int d = 0; d < 3; d++) {
    patches[d][0] = 0;
    patches[d][1] = m->patch[d].npatch;
  }
  PetscCall(k->localapply(plan, op, ncolors, colors, patches, 1, PETSC_FALSE, x, b, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what a multiplicative step takes from the operator */
static PetscErrorCode ColorResiduals(PatchFDKernels k, void *plan, const Mesh *m, void *v[3])
{
  PatchFDColor colors[16];
  PetscInt     ncolors;

  PetscFunctionBeginUser;
  Colors(m->nphase, PETSC_TRUE, &ncolors, colors);
  for (PetscInt i = 0; i < ncolors; i++)
    if (m->dim == 3 || !colors[i].parity[2]) PetscCall(k->operatorresidual(plan, &colors[i], v[0], v[1], v[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimeOperator(PatchFDKernels k, const Mesh *m, void *v[3])
{
  const PetscReal     unknowns = (PetscReal)PatchFDBoxSize(&m->box);
  PatchFDOperatorDesc desc;
  PatchFDField        field;
  PatchFDTerm         term[6];
  PetscReal           t;
  void               *plan = NULL;

  PetscFunctionBeginUser;
  Describe(m, &field, term, &desc);
  PetscCall(k->operatorcreate(&desc, &plan));
  TIME(t, k->operatorapply(plan, 1, v[0], NULL, v[2]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " | %8.2f", (double)(t * 1e3)));
  TIME(t, k->operatorapply(plan, -1, v[0], v[1], v[2]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.2f", (double)(t * 1e3)));
  if (m->biharmonic) {
    TIME(t, ColorResiduals(k, plan, m, v));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.2f", (double)(t * 1e3)));
  }
  PetscCall(k->operatordestroy(&plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what the memory can do */
static PetscErrorCode TimeCopy(PatchFDKernels k, const Mesh *m, void *v[3])
{
  const PetscReal unknowns = (PetscReal)PatchFDBoxSize(&m->box);
  PetscReal       t;

  PetscFunctionBeginUser;
  TIME(t, CopyOnDevice(v[1], v[0], PatchFDBoxSize(&m->box) * k->size));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " | %7.2f  %5.2f\n", (double)(t * 1e3), (double)(2 * k->size / t * 1e-3)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintMesh(PatchFDKernels k, const Mesh *m)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-11s %2" PetscInt_FMT " %10.0f |", k->name, m->degree, (double)PatchFDBoxSize(&m->box)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Time(PatchFDKernels k, const Mesh *m, const Mesh *coarse)
{
  static const PatchFDPatchOp ops[]    = {PATCHFD_OP_BOUNDARY, PATCHFD_OP_FUSED, PATCHFD_OP_SOLVE, PATCHFD_OP_RESIDUAL};
  const PetscReal             unknowns = (PetscReal)PatchFDBoxSize(&m->box);
  PatchFDLocalField           field;
  PatchFDLocalDesc            sm;
  PatchFDTransferDesc         tr = {.cbox = coarse->box, .fbox = m->box};
  PatchFDEmbedding            e[3];
  void                       *v[3], *c, *plan = NULL;
  PetscReal                   t;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    PetscCall(PatchFDEmbeddingCreate(&coarse->line[d], &m->line[d], &e[d]));
    tr.dir[d]      = &e[d];
    tr.cells[d][0] = 0;
    tr.cells[d][1] = coarse->cells[d];
    for (int i = 0; i < 2; i++) {
      tr.fine[d][i]   = m->free[d][i];
      tr.coarse[d][i] = coarse->free[d][i];
    }
  }
  PetscCall(k->malloc(PatchFDBoxSize(&coarse->box), &c));
  for (int i = 0; i < 3; i++) PetscCall(Numbers(k, PatchFDBoxSize(&m->box), i, &v[i]));
  PetscCall(PrintMesh(k, m));
  LocalDescribe(m, m->patch, &field, &sm);
  PetscCall(k->localcreate(&sm, &plan));
  for (int i = 0; i < 4; i++) {
    TIME(t, Step(k, plan, ops[i], m, v[0], v[1], v[2]));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.2f", (double)(t * 1e3)));
  }
  PetscCall(k->localdestroy(&plan));
  PetscCall(TimeOperator(k, m, v));
  PetscCall(k->transfercreate(&tr, &plan));
  TIME(t, k->transferprolong(plan, c, v[0]));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.2f", (double)(t * 1e3)));
  TIME(t, k->transferrestrict(plan, v[0], c));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.2f", (double)(t * 1e3)));
  PetscCall(k->transferdestroy(&plan));
  PetscCall(TimeCopy(k, m, v));
  for (int i = 0; i < 3; i++) PetscCall(k->free(v[i]));
  PetscCall(k->free(c));
  for (int d = 0; d < 3; d++) PetscCall(PatchFDEmbeddingDestroy(&e[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* steps with one class of matrices of patches: of the diagonalized ones, then of dense inverses */
static PetscErrorCode TimePlates(PatchFDKernels k, const Mesh *m, void *v[3])
{
  static const PatchFDPatchOp ops[]    = {PATCHFD_OP_FUSED, PATCHFD_OP_SOLVE, PATCHFD_OP_RESIDUAL};
  const PetscReal             unknowns = (PetscReal)PatchFDBoxSize(&m->box);
  PetscReal                   t;

  PetscFunctionBeginUser;
  for (int dense = 0; dense < 2; dense++) {
    const PatchFDColor all = {.parity = {PATCHFD_ALL_PARITIES, PATCHFD_ALL_PARITIES, PATCHFD_ALL_PARITIES}, .phase = PATCHFD_ALL_PHASES};
    PatchFDRange       patches;
    Plate              plate;
    PatchFDLocalField  field;
    PatchFDLocalDesc   desc;
    void              *plan = NULL;

    PetscCall(PlateCreate(m, m->dim, (PetscBool)dense, PETSC_TRUE, &plate));
    LocalDescribe(m, plate.patch, &field, &desc);
    PlateDescribe(&plate, &desc);
    PetscCall(k->localcreate(&desc, &plan));
    for (int i = dense; i < 3 - dense; i++) {
      TIME(t, Step(k, plan, ops[i], m, v[0], v[1], v[2]));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.2f", (double)(t * 1e3)));
    }
    for (int d = 0; d < 3; d++) {
      patches[d][0] = 0;
      patches[d][1] = m->patch[d].npatch;
    }
    TIME(t, k->localapply(plan, PATCHFD_OP_SOLVE, 1, &all, patches, 1, PETSC_FALSE, v[0], v[1], v[2]));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.2f", (double)(t * 1e3)));
    PetscCall(k->localdestroy(&plan));
    for (int p = 1; p < PATCHFD_NUM_PRECISIONS && dense; p++) {
      desc.precision = (PatchFDPrecision)p;
      PetscCall(k->localcreate(&desc, &plan));
      TIME(t, Step(k, plan, PATCHFD_OP_SOLVE, m, v[0], v[1], v[2]));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, " %8.2f", (double)(t * 1e3)));
      PetscCall(k->localdestroy(&plan));
    }
    PetscCall(PlateDestroy(&plate));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the fourth-order operator and its local solvers */
static PetscErrorCode TimeBiharmonic(PatchFDKernels k, const Mesh *m)
{
  void *v[3];

  PetscFunctionBeginUser;
  for (int i = 0; i < 3; i++) PetscCall(Numbers(k, PatchFDBoxSize(&m->box), i, &v[i]));
  PetscCall(PrintMesh(k, m));
  PetscCall(TimePlates(k, m, v));
  PetscCall(TimeOperator(k, m, v));
  PetscCall(TimeCopy(k, m, v));
  for (int i = 0; i < 3; i++) PetscCall(k->free(v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all local solvers; dense ones where the inverses of all classes have less than 2e7 entries without parity */
static PetscErrorCode TestPlates(const Mesh *m, PatchFDKernels h, PatchFDKernels c, PetscRandom rnd, PetscInt *failures)
{
  PetscFunctionBeginUser;
  for (int alone = 0; alone < 2; alone++) {
    PetscReal entries = 0;

    for (int dense = 0; dense < 2 && entries < 2e7; dense++) {
      Plate plate;

      PetscCall(PlateCreate(m, m->dim, (PetscBool)dense, (PetscBool)alone, &plate));
      for (int sub = 0; sub < 2; sub++) PetscCall(TestSmoother(m, &plate, (PetscBool)sub, h, c, rnd, failures));
      PetscCall(TestSums(m, &plate, h, c, rnd, failures));
      entries = 1;
      for (int d = 0; d < 3; d++) entries *= (PetscReal)(plate.patch[d].nclass * plate.patch[d].n[0] * plate.patch[d].n[0]);
      PetscCall(PlateDestroy(&plate));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBiharmonic(PetscInt dim, PetscInt degree, const PetscInt cells[3], const Kind *kind,
                                     const PatchFDKernels tables[2][2], PetscRandom rnd, PetscInt *failures)
{
  Mesh mesh;

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(dim, degree, cells, kind, 1, &mesh));
  for (int t = 0; t < 2; t++) {
    for (int part = 0; part < 3; part++) PetscCall(TestOperator(&mesh, part, tables[t][0], tables[t][1], rnd, failures));
    PetscCall(TestPlates(&mesh, tables[t][0], tables[t][1], rnd, failures));
  }
  PetscCall(MeshDestroy(&mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the lines of a mesh of halved cells but for a cell at the lower or upper end, which is whole */
static PetscErrorCode OddLines(const Mesh *fine, PatchFDLine line[3])
{
  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    const PatchFDLine *f = &fine->line[d];
    const PetscInt     n = f->ncells, lower = f->degree && d % 2 == 0;
    PetscReal         *v;

    PetscCall(PetscMalloc1(n + 1, &v));
    PetscCall(PetscArraycpy(v, f->vertices, n + 1));
    if (lower) v[1] = v[0];
    else if (f->degree) v[n - 1] = v[n];
    PetscCall(PatchFDLineCreate(f->continuity, f->degree, n - (f->degree > 0), v + lower, f->dirichlet, &line[d]));
    PetscCall(PetscFree(v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* every kernel on second-order problems */
static PetscErrorCode TestAll(PetscInt dim, PetscInt degree, const PetscInt cells[3], const Kind *kind, const PatchFDKernels tables[2][2],
                              PetscRandom rnd, PetscInt *failures)
{
  Mesh        mesh, fine, higher;
  PatchFDLine odd[3];

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(dim, degree, cells, kind, 1, &mesh));
  PetscCall(MeshCreate(dim, degree, cells, kind, 2, &fine));
  PetscCall(OddLines(&fine, odd));
  PetscCall(MeshCreate(dim, degree + 1, cells, kind, 1, &higher));
  for (int t = 0; t < 2; t++) {
    const PatchFDKernels h = tables[t][0], c = tables[t][1];

    PetscCall(TestGrid(&mesh, h, c, rnd, failures));
    for (int part = 0; part < 3; part++) PetscCall(TestOperator(&mesh, part, h, c, rnd, failures));
    for (int sub = 0; sub < 2; sub++) PetscCall(TestSmoother(&mesh, NULL, (PetscBool)sub, h, c, rnd, failures));
    for (int part = 0; part < 3; part++) {
      PetscCall(TestTransfer(mesh.line, fine.line, part, h, c, rnd, failures));
      PetscCall(TestTransfer(mesh.line, higher.line, part, h, c, rnd, failures));
    }
    PetscCall(TestTransfer(mesh.line, odd, 0, h, c, rnd, failures));
    PetscCall(TestBoxSolve(&mesh, h, c, rnd, failures));
    PetscCall(TestBoxPiece(&mesh, h, c, rnd, failures));
  }
  PetscCall(MeshDestroy(&mesh));
  PetscCall(MeshDestroy(&fine));
  PetscCall(MeshDestroy(&higher));
  for (int d = 0; d < 3; d++) PetscCall(PatchFDLineDestroy(&odd[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static struct {
  const Mesh        *mesh;
  const PatchFDLine *fine;
  PatchFDKernels     h, c;
  PetscRandom        rnd;
  PetscInt          *failures;
} others;

static PetscErrorCode TestOthers(void)
{
  PetscFunctionBeginUser;
  PetscCall(TestOperator(others.mesh, 0, others.h, others.c, others.rnd, others.failures));
  PetscCall(TestSmoother(others.mesh, NULL, PETSC_FALSE, others.h, others.c, others.rnd, others.failures));
  PetscCall(TestTransfer(others.mesh->line, others.fine, 0, others.h, others.c, others.rnd, others.failures));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Plans of meshes that differ live together.  Of the others all sides are Dirichlet, so that patches are smaller, and cells are halved in
  fewer directions, so that they have fewer nodes
*/
static PetscErrorCode TestTogether(PetscInt dim, PetscInt degree, const PetscInt cells[3], const Kind *kind,
                                   const PatchFDKernels tables[2][2], PetscRandom rnd, PetscInt *failures)
{
  const Kind  dirichlet = {.graded = kind->graded, .dg = kind->dg};
  Mesh        mesh, fine, other, otherfine;
  PatchFDLine two[3], one[3];

  PetscFunctionBeginUser;
  PetscCall(MeshCreate(dim, degree, cells, kind, 1, &mesh));
  PetscCall(MeshCreate(dim, degree, cells, kind, 2, &fine));
  PetscCall(MeshCreate(dim, degree, cells, &dirichlet, 1, &other));
  PetscCall(MeshCreate(dim, degree, cells, &dirichlet, 2, &otherfine));
  for (int d = 0; d < 3; d++) {
    two[d] = d < 2 ? fine.line[d] : mesh.line[d];
    one[d] = d < 1 ? otherfine.line[d] : other.line[d];
  }
  for (int t = 0; t < 2; t++) {
    const PatchFDKernels h = tables[t][0], c = tables[t][1];

    others.mesh     = &other;
    others.fine     = one;
    others.h        = h;
    others.c        = c;
    others.rnd      = rnd;
    others.failures = failures;
    meanwhile       = TestOthers;
    PetscCall(TestOperator(&mesh, 0, h, c, rnd, failures));
    PetscCall(TestSmoother(&mesh, NULL, PETSC_FALSE, h, c, rnd, failures));
    PetscCall(TestTransfer(mesh.line, two, 0, h, c, rnd, failures));
    meanwhile = NULL;
  }
  PetscCall(MeshDestroy(&mesh));
  PetscCall(MeshDestroy(&fine));
  PetscCall(MeshDestroy(&other));
  PetscCall(MeshDestroy(&otherfine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(void)
{
  PetscReal   unknowns = 0;
  PetscInt    dim = 3, degrees[16], nd, cells[3] = {5, 4, 3}, nc = 3, failures = 0;
  PetscBool   together = PETSC_FALSE;
  Kind        kind     = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, -1};
  PetscRandom rnd;

  PetscFunctionBeginUser;
  PetscCall(GetDegrees(&dim, &nd, degrees));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cells", cells, &nc, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-graded", &kind.graded, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-neumann", &kind.neumann, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-fixed", &kind.fixed, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-dg", &kind.dg, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-biharmonic", &kind.biharmonic, NULL));
  PetscCheck(!kind.biharmonic || !kind.dg, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-biharmonic is for cells that share nodes, without -dg");
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-together", &together, NULL));
  PetscCheck(!kind.biharmonic || !together, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "-together is for second-order problems, without -biharmonic");
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-time", &unknowns, NULL));
  if (unknowns > 0) {
    PetscCall(
      PetscPrintf(PETSC_COMM_SELF, kind.biharmonic
                                     ? "picoseconds an unknown, all colours\ntable        k   unknowns | fd fused    solve residual   "
                                       "atomic    dense   atomic   single     tf32     bf16 |      A x  b - A x  colours |    copy  TB/s\n"
                                     : "picoseconds an unknown, all colours\ntable        k   unknowns | boundary    fused    solve "
                                       "residual |      A x  b - A x  prolong restrict |    copy  TB/s\n"));
    for (int t = 0; t < 2; t++) {
      for (PetscInt i = 0; i < nd; i++) {
        const PetscInt n      = 2 * PetscMax(1, (PetscInt)(PetscPowReal(unknowns, 1. / dim) / (degrees[i] + (kind.dg ? 1 : 0)) / 4 + 0.5)),
                       half[] = {n, n, n};
        Mesh coarse, mesh;

        PetscCall(MeshCreate(dim, degrees[i], half, &kind, 1, &coarse));
        PetscCall(MeshCreate(dim, degrees[i], half, &kind, 2, &mesh));
        if (kind.biharmonic) PetscCall(TimeBiharmonic(tables[t][1], &mesh));
        else PetscCall(Time(tables[t][1], &mesh, &coarse));
        PetscCall(MeshDestroy(&coarse));
        PetscCall(MeshDestroy(&mesh));
      }
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rnd));
  for (PetscInt i = 0; i < nd; i++) {
    const PetscInt before = failures;

    PetscCall((kind.biharmonic ? TestBiharmonic
               : together      ? TestTogether
                               : TestAll)(dim, degrees[i], cells, &kind, tables, rnd, &failures));
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
       suffix: 1d
       args: -dim 1 -cells 7 -degrees 1,2,3,5,8
     test:
       suffix: 2d
       args: -dim 2 -cells 13,6 -degrees 1,2,3,4,5,6,7,8,9,10
     test:
       suffix: 2d_graded
       args: -dim 2 -cells 19,5 -degrees 1,2,3,4,5,6,9,10 -graded -neumann
     test:
       suffix: 2d_graded_rows
       args: -dim 2 -cells 830,800 -degrees 2 -graded -neumann
     test:
       suffix: 2d_higher
       args: -dim 2 -cells 9,3 -degrees 11,12,13,14,15,16 -graded -neumann
     test:
       suffix: 3d
       args: -cells 19,6,5 -degrees 1,2,3,4
     test:
       suffix: 3d_rows
       args: -cells 25,190,180 -degrees 1
     test:
       suffix: 2d_rows
       args: -dim 2 -cells 2100,27 -degrees 1
     test:
       suffix: 3d_high
       args: -cells 7,4,5 -degrees 5,6,7,8
     test:
       suffix: 3d_higher
       args: -cells 3,3,2 -degrees 9,10,11,12
     test:
       suffix: 3d_higher_graded
       args: -cells 3,2,2 -degrees 9,12 -graded -neumann
     test:
       suffix: 3d_graded
       args: -cells 22,4,5 -degrees 1,2,3,4,5 -graded
     test:
       suffix: 3d_graded_rows
       args: -cells 41,40,70 -degrees 1 -graded
     test:
       suffix: 3d_graded_high
       args: -cells 4,3,3 -degrees 4,6,7,8 -graded -neumann
     test:
       suffix: 3d_neumann
       args: -cells 21,6,7 -degrees 1,2,3,4,5 -neumann
     # enough rows for four colours at once
     test:
       suffix: 3d_neumann_rows
       args: -cells 12,96,97 -degrees 1 -neumann -fixed 0
     test:
       suffix: 3d_neumann_high
       args: -cells 2,3,2 -degrees 7,8,9 -neumann
     test:
       suffix: 3d_thin
       args: -cells 1,4,2 -degrees 2,3,4
     test:
       suffix: dg_1d
       args: -dg -dim 1 -cells 7 -degrees 1,2,3,5,8
     test:
       suffix: dg_2d
       args: -dg -dim 2 -cells 7,6 -degrees 1,2,3,4,5,6,7,8,9
     test:
       suffix: dg_3d
       args: -dg -cells 7,6,5 -degrees 1,2,3,4
     test:
       suffix: dg_3d_high
       args: -dg -cells 3,4,2 -degrees 5,6,7,8,9
     test:
       suffix: dg_3d_graded
       args: -dg -cells 5,4,3 -degrees 1,2,3,5 -graded -neumann
     test:
       suffix: dg_3d_thin
       args: -dg -cells 1,4,2 -degrees 2,3,4
     test:
       suffix: biharmonic_1d
       args: -biharmonic -dim 1 -cells 7 -degrees 2,3,4,5,6,7,8
     test:
       suffix: biharmonic_2d
       args: -biharmonic -dim 2 -cells 37,9 -degrees 2,3,4,5,6,7,8,9,10
     test:
       suffix: biharmonic_2d_graded
       args: -biharmonic -dim 2 -cells 7,35 -degrees 2,3,4,5,6,7,8 -graded -neumann
     test:
       suffix: biharmonic_3d
       args: -biharmonic -cells 17,6,5 -degrees 2,3,4
     test:
       suffix: biharmonic_3d_high
       args: -biharmonic -cells 6,4,5 -degrees 5,6,7,8
     test:
       suffix: biharmonic_3d_higher
       args: -biharmonic -cells 3,3,2 -degrees 9,10
     test:
       suffix: biharmonic_3d_graded
       args: -biharmonic -cells 9,4,5 -degrees 2,3,4,5,6,7,8 -graded -neumann
     test:
       suffix: biharmonic_3d_thin
       args: -biharmonic -cells 1,4,2 -degrees 2,3,4,5 -neumann
     test:
       suffix: biharmonic_2d_supported
       args: -biharmonic -dim 2 -cells 7,8 -degrees 2,3,4,5,6 -neumann
     test:
       suffix: biharmonic_3d_supported
       args: -biharmonic -cells 5,6,7 -degrees 2,3,4 -neumann

   # in the order in which plans were made kernels once lost the shared memory that the first one needs
   testset:
     requires: cuda gpu
     args: -together -neumann -cells 3,2,2
     test:
       suffix: together
       args: -degrees 2,8,11
     test:
       suffix: together_graded
       args: -degrees 4,8,10 -graded
     test:
       suffix: together_dg
       args: -degrees 7,9 -dg

   # as on GPUs that have less shared memory: kernels that do not fit there have to be others
   testset:
     requires: cuda gpu
     args: -patchfd_cuda_shared_limit 101376
     test:
       suffix: limit_3d
       args: -cells 3,3,2 -degrees 8,9,10,11,12
     test:
       suffix: limit_3d_graded
       args: -cells 22,4,5 -degrees 4 -graded
     test:
       suffix: limit_3d_graded_high
       args: -cells 3,2,2 -degrees 7,8,12 -graded -neumann
     test:
       suffix: limit_dg
       args: -dg -cells 3,4,2 -degrees 6,8,9
     test:
       suffix: limit_biharmonic
       args: -biharmonic -cells 3,3,2 -degrees 4,5,6,8
     test:
       suffix: limit_together
       args: -together -neumann -cells 3,2,2 -degrees 8,11
   test:
     suffix: limit_163
     requires: cuda gpu
     args: -patchfd_cuda_shared_limit 166912 -cells 3,2,2 -degrees 11,12

TEST*/
