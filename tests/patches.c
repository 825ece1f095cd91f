static char help
  [] = "Local solvers of several fields, those of Raviart-Thomas spaces: the CUDA kernels against their host twins, in both precisions, on \
random data, in all precisions of products, colour by colour and by atomic\n\
additions. Dense inverses are random symmetric matrices, too: kernels know nothing of an operator.\n\
  -dim <d>, -degrees <k,...>, -cells <n,...> : the meshes\n\
  -graded <0 or 1,...> : a class of its own for each patch of this direction, without parity\n\
  -open <0 or 1,...> : the nodes at the upper end of this direction are free; the last patch has a class of its own, without parity\n\
  -schur : conjugate gradients on the Schur complement of the pressure in place of inverses\n\
  -time <n> : no comparison, but the time of a sweep over all colours of a mesh of about n unknowns, as many cells in each direction\n\n";

#include <patchfd/private/assembly.h>
#include <patchfd/private/kernels.h>
#include "twinsmain.h"
#if defined(PETSC_HAVE_CUDA)
  #include "twins.h"
  #include <petscpatchfd.h>

typedef struct {
  PetscInt  dim, cells[3];
  PetscBool graded[3], open[3], schur;
} Kind;

/* a velocity in RT_k and a pressure */
typedef struct {
  PetscInt          nfield, npatch[3], nclass[3], *cls[3], ndense;
  PatchFDLine       line[PATCHFD_MAX_FIELDS][3];
  PatchFDPatches    patch[PATCHFD_MAX_FIELDS][3];
  PatchFDLocalField field[PATCHFD_MAX_FIELDS]; /* on the whole mesh */
  PatchFDDense     *dense;
  PatchFDRows       M[3], G[3]; /* of the pressure: mass; derivatives of the component of that direction */
  PatchFDRowTerm    term[3];    /* the divergence */
  size_t            size;       /* of x and r */
} Space;

/* fields one after another */
static size_t Place(PetscInt nfield, PatchFDLocalField field[])
{
  size_t size = 0;

  for (PetscInt f = 0; f < nfield; f++) {
    field[f].x0 = size;
    size += PatchFDBoxSize(&field[f].box);
  }
  return size;
}

static PetscErrorCode CreateLine(const Kind *kind, PetscInt k, PetscInt f, PetscInt d, Space *s)
{
  const PetscBool exists = (PetscBool)(d < kind->dim), fixed[2] = {exists, (PetscBool)(exists && !kind->open[d])};
  const PetscInt  n    = exists ? kind->cells[d] : 1;
  PatchFDLine    *line = &s->line[f][d];
  PatchFDBand     M, A;
  PetscReal      *v;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n + 1, &v));
  for (PetscInt i = 0; i <= n; i++) v[i] = (PetscReal)(kind->graded[d] ? 20 * i + i * i : 20 * i) / 20;
  PetscCall(PatchFDLineCreate(exists && f != d ? PATCHFD_DISCONTINUOUS : PATCHFD_CONTINUOUS, !exists ? 0 : (f == d ? k + 1 : k), n, v,
                              fixed, line));
  PetscCall(PatchFDBandMass(line, &M));
  PetscCall(PatchFDBandLaplace(line, 1, 0, (PetscReal)((k + 1) * (k + 2)), (PetscReal)(2 * (k + 1) * (k + 2)), &A));
  PetscCall(PatchFDPatchesCreate(line, &M, f < kind->dim ? &A : &M, &s->patch[f][d]));
  if (f == kind->dim) PetscCall(PatchFDRowsCreate(&M, line, &s->patch[f][d], line, &s->patch[f][d], &s->M[d]));
  PetscCall(PatchFDBandDestroy(&M));
  PetscCall(PatchFDBandDestroy(&A));
  PetscCall(PetscFree(v));
  s->field[f].dir[d]    = &s->patch[f][d];
  s->field[f].box.lo[d] = 0;
  s->field[f].box.n[d]  = line->nnodes;
  PatchFDLineFree(line, &s->field[f].read[d][0], &s->field[f].read[d][1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -div u in the rows of the pressure */
static PetscErrorCode CreateTerms(const Kind *kind, Space *s)
{
  const PetscInt p = kind->dim;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < p; d++) {
    PatchFDBand G;

    PetscCall(PatchFDBandDerivative(&s->line[p][d], &s->line[d][d], 1, PETSC_FALSE, &G));
    PetscCall(PatchFDRowsCreate(&G, &s->line[p][d], &s->patch[p][d], &s->line[d][d], &s->patch[d][d], &s->G[d]));
    PetscCall(PatchFDBandDestroy(&G));
    s->term[d]        = (PatchFDRowTerm){.row = p, .col = d, .coef = -1, .dir = {&s->M[0], &s->M[1], &s->M[2]}};
    s->term[d].dir[d] = &s->G[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one class where the mesh is uniform, with another one for the patch at an open end; or one a patch */
static PetscErrorCode CreateClasses(const Kind *kind, PetscInt d, Space *s)
{
  const PetscInt n = s->patch[0][d].npatch;

  PetscFunctionBeginUser;
  s->npatch[d] = n;
  PetscCall(PetscMalloc1(n, &s->cls[d]));
  for (PetscInt i = 0; i < n; i++) s->cls[d][i] = kind->graded[d] ? i : (kind->open[d] && i > 0 && i == n - 1);
  s->nclass[d] = s->cls[d][n - 1] + 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the random inverse of the class with number c */
static PetscErrorCode CreateInverse(const Kind *kind, PetscInt c, PetscRandom rnd, Space *s)
{
  PatchFDDense *dense = &s->dense[c];
  PetscCount    total;

  PetscFunctionBeginUser;
  dense->nfield = s->nfield;
  for (int d = 0; d < 3; d++) {
    const PetscInt own = c % s->nclass[d], last = s->npatch[d] - 1;
    PetscInt       i = 0;

    while (s->cls[d][i] != own) i++;
    dense->parity[d] = (PetscBool)(d < kind->dim && !kind->graded[d] && !(kind->open[d] && i == last));
    for (PetscInt f = 0; f < s->nfield; f++) {
      dense->n[f][d]   = s->patch[f][d].n[i];
      dense->odd[f][d] = (PetscBool)(f == d);
    }
    c /= s->nclass[d];
  }
  total = PatchFDHostDenseSizes(dense);
  PetscCall(PetscMalloc1(total, &dense->block[0]));
  for (int b = 0; b < 8; b++) {
    const PetscInt n = dense->size[b];
    PetscReal     *X = dense->block[b];

    for (PetscInt i = 0; i < n; i++) {
      for (PetscInt j = 0; j <= i; j++) {
        PetscCall(PetscRandomGetValueReal(rnd, &X[i * n + j]));
        X[j * n + i] = X[i * n + j] -= 0.5;
      }
    }
    if (b < 7) dense->block[b + 1] = X + (PetscCount)n * n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpaceCreate(const Kind *kind, PetscInt k, PetscRandom rnd, Space *s)
{
  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  s->nfield = kind->dim + 1;
  s->ndense = 1;
  for (PetscInt f = 0; f < s->nfield; f++)
    for (PetscInt d = 0; d < 3; d++) PetscCall(CreateLine(kind, k, f, d, s));
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(CreateClasses(kind, d, s));
    s->ndense *= s->nclass[d];
  }
  PetscCall(CreateTerms(kind, s));
  s->size = Place(s->nfield, s->field);
  if (kind->schur) s->ndense = 0;
  PetscCall(PetscCalloc1(s->ndense, &s->dense));
  for (PetscInt c = 0; c < s->ndense; c++) PetscCall(CreateInverse(kind, c, rnd, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SpaceDestroy(Space *s)
{
  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < s->ndense; c++) PetscCall(PatchFDHostDenseDestroy(&s->dense[c]));
  PetscCall(PetscFree(s->dense));
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(PetscFree(s->cls[d]));
    PetscCall(PatchFDRowsDestroy(&s->M[d]));
    PetscCall(PatchFDRowsDestroy(&s->G[d]));
    for (PetscInt f = 0; f < s->nfield; f++) {
      PetscCall(PatchFDPatchesDestroy(&s->patch[f][d]));
      PetscCall(PatchFDLineDestroy(&s->line[f][d]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* as many iterations whatever rounding does */
static void Describe(const Kind *kind, const Space *s, const PatchFDLocalField field[], PatchFDLocalDesc *desc)
{
  *desc = (PatchFDLocalDesc){.kind   = kind->schur ? PATCHFD_LOCAL_SCHUR : PATCHFD_LOCAL_DENSE,
                             .nphase = 2,
                             .nfield = s->nfield,
                             .field  = field,
                             .dense  = s->dense,
                             .nterm  = kind->dim,
                             .term   = s->term,
                             .maxit  = 4};
  for (int d = 0; d < 3; d++) {
    desc->nclass[d] = s->nclass[d];
    desc->cls[d]    = s->cls[d];
  }
}

/* all parities, each phase by itself or both at once */
static PetscInt Colors(PetscInt dim, PetscInt phases, PatchFDColor colors[16])
{
  const PetscInt n = phases << dim;

  for (PetscInt i = 0; i < n; i++) {
    const PetscInt c = i / phases;

    colors[i] = (PatchFDColor){.parity = {c % 2, c / 2 % 2, c / 4}, .phase = phases == 1 ? PATCHFD_ALL_PHASES : i % 2};
  }
  return n;
}

/* all patches, or those that a rank with the upper or the lower half of the cells would have; they reach beyond its nodes */
typedef struct {
  const char       *name;
  PatchFDLocalField field[PATCHFD_MAX_FIELDS];
  PatchFDRange      patches;
  size_t            size; /* of x and r */
} Part;

static void PartOf(const Kind *kind, const Space *s, int part, Part *p)
{
  static const char *names[] = {"all", "upper half", "lower half"};

  p->name = names[part];
  memcpy(p->field, s->field, sizeof(p->field));
  for (int d = 0; d < 3; d++) {
    const PetscInt n = s->npatch[d], half = d < kind->dim ? kind->cells[d] / 2 : 0;

    p->patches[d][0] = part == 1 ? PetscMax(0, half - 1) : 0;
    p->patches[d][1] = part == 2 ? PetscMin(n, PetscMax(half, 1)) : n;
    for (PetscInt f = 0; f < s->nfield && half; f++) {
      PatchFDLocalField *field = &p->field[f];
      const PetscInt     cut = half * s->line[f][d].stride, end = field->box.n[d];

      if (part == 1) field->box.lo[d] = cut;
      if (part) field->box.n[d] = part == 1 ? end - cut : cut;
      field->read[d][0] = PetscMax(field->read[d][0], field->box.lo[d]);
      field->read[d][1] = PetscMin(field->read[d][1], field->box.lo[d] + field->box.n[d]);
    }
  }
  p->size = Place(s->nfield, p->field);
}

/* a sweep by both plans, from zero or from a given state; atomic: on the device all patches at once, which is the same sum */
static PetscErrorCode Sweep(const Kind *kind, const Part *p, PetscInt phases, PetscBool zero, PetscBool atomic, void *hp, void *cp,
                            Array *x, Array *r, PetscRandom rnd)
{
  const PatchFDColor all = {.parity = {PATCHFD_ALL_PARITIES, PATCHFD_ALL_PARITIES, PATCHFD_ALL_PARITIES}, .phase = PATCHFD_ALL_PHASES};
  PatchFDColor       colors[16];
  PetscInt           n = Colors(kind->dim, phases, colors);

  PetscFunctionBeginUser;
  PetscCall(ArrayRandom(x, rnd));
  PetscCall(ArrayRandom(r, rnd));
  if (zero) {
    PetscCall(x->host->zero(p->size, x->h));
    PetscCall(x->cuda->zero(p->size, x->d));
  }
  PetscCall(x->host->localapply(hp, PATCHFD_OP_SOLVE, n, colors, p->patches, 0.7, zero, x->h, NULL, r->h));
  PetscCall(x->cuda->localapply(cp, PATCHFD_OP_SOLVE, atomic ? 1 : n, atomic ? &all : colors, p->patches, 0.7, zero, x->d, NULL, r->d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sweeps in all precisions of the products, colour by colour and by atomics */
static PetscErrorCode Test(const Kind *kind, const Space *s, PetscInt k, int part, PatchFDKernels host, PatchFDKernels cuda,
                           PetscRandom rnd, PetscInt *failures)
{
  static const char *const precisions[] = {"", ", single", ", tf32", ", bf16"};
  static const PetscReal   tolerances[] = {0, 3e-5, 5e-3, 5e-2};
  PatchFDLocalDesc         desc;
  Part                     p;
  Array                    x, r;
  void                    *hp = NULL, *cp = NULL;

  PetscFunctionBeginUser;
  PartOf(kind, s, part, &p);
  Describe(kind, s, p.field, &desc);
  PetscCall(ArrayCreate(host, cuda, p.size, &x));
  PetscCall(ArrayCreate(host, cuda, p.size, &r));
  x.tolerance = (kind->schur ? 100 : 1) * (host->size == sizeof(double) ? 1e-13 : 3e-5);
  PetscCall(host->localcreate(&desc, &hp));
  for (int precision = 0; precision < (kind->schur ? 1 : PATCHFD_NUM_PRECISIONS); precision++) {
    desc.precision = (PatchFDPrecision)precision;
    x.tolerance    = PetscMax(x.tolerance, tolerances[precision]);
    PetscCall(cuda->localcreate(&desc, &cp));
    for (int i = 0; i < 6; i++) {
      const PetscInt  phases = 1 + i / 2 % 2;
      const PetscBool zero = (PetscBool)(i % 2), atomic = (PetscBool)(i >= 4);
      char            what[64];

      PetscCall(Sweep(kind, &p, phases, zero, atomic, hp, cp, &x, &r, rnd));
      PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %" PetscInt_FMT " phases%s%s%s", p.name, phases, zero ? ", from zero" : "",
                              atomic ? ", atomic" : "", precisions[precision]));
      PetscCall(ArrayCompare(what, &x, k, failures));
    }
    PetscCall(cuda->localdestroy(&cp));
  }
  PetscCall(host->localdestroy(&hp));
  PetscCall(ArrayDestroy(&x));
  PetscCall(ArrayDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Time(const Kind *kind, const Space *s, PetscInt k, PatchFDKernels cuda)
{
  const PetscReal  unknowns = (PetscReal)s->size;
  PatchFDLocalDesc desc;
  PatchFDColor     colors[16];
  PatchFDRange     patches;
  PetscReal        t, copy;
  void            *plan = NULL, *x, *r;

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    patches[d][0] = 0;
    patches[d][1] = s->npatch[d];
  }
  Describe(kind, s, s->field, &desc);
  PetscCall(Numbers(cuda, s->size, 0, &x));
  PetscCall(Numbers(cuda, s->size, 1, &r));
  PetscCall(cuda->localcreate(&desc, &plan));
  TIME(t, cuda->localapply(plan, PATCHFD_OP_SOLVE, Colors(kind->dim, 1, colors), colors, patches, 1e-6, PETSC_FALSE, x, NULL, r));
  TIME(copy, CopyOnDevice(x, r, s->size * cuda->size));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-11s %2" PetscInt_FMT " %10.0f | %8.2f | %7.2f  %5.2f\n", cuda->name, k, (double)s->size,
                        (double)(t * 1e3), (double)(copy * 1e3), (double)(2 * cuda->size / copy * 1e-3)));
  PetscCall(cuda->localdestroy(&plan));
  PetscCall(cuda->free(x));
  PetscCall(cuda->free(r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a mesh of about so many unknowns */
static void Choose(PetscReal unknowns, PetscInt k, Kind *kind)
{
  const PetscReal cell = (kind->dim + 1) * PetscPowReal((PetscReal)(k + 1), (PetscReal)kind->dim);

  for (int d = 0; d < 3; d++)
    kind->cells[d] = 2 * PetscMax(1, (PetscInt)(PetscPowReal(unknowns / cell, 1. / (PetscReal)kind->dim) / 2 + 0.5));
}

static PetscErrorCode Run(void)
{
  Kind        kind     = {.dim = 3, .cells = {5, 4, 3}};
  PetscReal   unknowns = 0;
  PetscInt    degrees[16], nd, n[3] = {3, 3, 3};
  PetscRandom rnd;

  PetscFunctionBeginUser;
  PetscCall(GetDegrees(&kind.dim, &nd, degrees));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cells", kind.cells, &n[0], NULL));
  PetscCall(PetscOptionsGetBoolArray(NULL, NULL, "-graded", kind.graded, &n[1], NULL));
  PetscCall(PetscOptionsGetBoolArray(NULL, NULL, "-open", kind.open, &n[2], NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-schur", &kind.schur, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-time", &unknowns, NULL));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rnd));
  if (unknowns > 0)
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "picoseconds an unknown, all colours\ntable        k   unknowns |    solve |    copy  TB/s\n"));
  for (PetscInt i = 0; i < nd; i++) {
    PetscInt failures = 0;
    Space    space;

    if (unknowns > 0) Choose(unknowns, degrees[i], &kind);
    PetscCall(SpaceCreate(&kind, degrees[i], rnd, &space));
    for (int t = 0; t < 2; t++) {
      if (unknowns > 0) PetscCall(Time(&kind, &space, degrees[i], tables[t][1]));
      else
        for (int part = 0; part < 3; part++) PetscCall(Test(&kind, &space, degrees[i], part, tables[t][0], tables[t][1], rnd, &failures));
    }
    PetscCall(SpaceDestroy(&space));
    if (unknowns <= 0) PetscCall(PrintDegree(degrees[i], (PetscBool)!failures));
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
       args: -dim 1 -cells 7 -degrees 1,2,3
     test:
       suffix: 2d
       args: -dim 2 -cells 13,38 -degrees 1,2,3,4,5,6,7
     test:
       suffix: 2d_graded
       args: -dim 2 -cells 5,6 -degrees 1,2,3,4,5 -graded 1,1
     test:
       suffix: 2d_mixed
       args: -dim 2 -cells 7,9 -degrees 1,2,3,4,5,6 -graded 0,1 -open 1
     test:
       suffix: 3d
       args: -cells 14,5,7 -degrees 1,2,3
     test:
       suffix: 3d_high
       args: -cells 5,4,4 -degrees 4,5,6
     test:
       suffix: 3d_graded
       args: -cells 3,4,3 -degrees 1,2 -graded 1,1,1
     test:
       suffix: 3d_mixed
       args: -cells 6,3,5 -degrees 1,2,3 -graded 0,1,0 -open 0,0,1
     test:
       suffix: 3d_open
       args: -cells 6,5,4 -degrees 1,2,3,4 -open 1,1,1
     test:
       suffix: 3d_thin
       args: -cells 1,4,2 -degrees 1,2,3
     # the coarsest mesh, by all threads
     test:
       suffix: 2d_one
       args: -dim 2 -cells 2,2 -degrees 1,2,3,4,5,6,7
     test:
       suffix: 3d_one
       args: -cells 2,2,2 -degrees 1,2,3,4,5
     test:
       suffix: 3d_one_open
       args: -cells 2,1,2 -degrees 1,2,3 -open 1,0,0
     test:
       suffix: schur_2d
       args: -schur -dim 2 -cells 7,6 -degrees 1,2,3,4,5,6
     test:
       suffix: schur_2d_graded
       args: -schur -dim 2 -cells 5,6 -degrees 1,2,3,4 -graded 1,1 -open 0,1
     test:
       suffix: schur_3d
       args: -schur -cells 5,4,3 -degrees 1,2,3,4
     test:
       suffix: schur_3d_open
       args: -schur -cells 3,4,3 -degrees 1,2,3 -graded 0,1,0 -open 1,0,0

   # as on GPUs that have less shared memory
   test:
     suffix: limit
     requires: cuda gpu
     args: -patchfd_cuda_shared_limit 101376 -cells 4,3,3 -degrees 3,4,5

TEST*/
