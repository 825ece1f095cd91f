static char help[] = "The CUDA kernels for linear elements on a lattice against their host twins, in both precisions, on random data.\n\
  -dim <d>, -count <n> : the dimension, and how many random problems\n\
  -cubes <n,...>       : at most so many cubes in each direction\n\
  -time <n>            : no comparison, but the time of products on a mesh of about n nodes, as many in each direction, and the ratio to \
that of a copy of as much memory\n\n";

#include <patchfd/private/kernels.h>
#include <petscpatchfd.h>
#include "twinsmain.h"
#if defined(PETSC_HAVE_CUDA)
  #include "twins.h"

/* a lattice or a part of it, and materials of which the fields are in both memories */
typedef struct {
  PatchFDLatticeDesc desc;
  PatchFDMaterial    material; /* its constants */
  unsigned char     *active;
  Array              c, k[3];        /* n = 0: constant */
  PetscBool          tensor, square; /* square: sweeps are possible */
} Problem;

static PetscReal Random(PetscRandom rnd, PetscReal lo, PetscReal hi)
{
  PetscReal v;

  PetscCallAbort(PETSC_COMM_SELF, PetscRandomGetValueReal(rnd, &v));
  return lo + v * (hi - lo);
}

static PetscInt RandomInt(PetscRandom rnd, PetscInt lo, PetscInt hi)
{
  return PetscMin(hi, lo + (PetscInt)Random(rnd, 0, (PetscReal)(hi - lo + 1)));
}

/* what a rank has of direction d: nodes of y, and of x with a layer around them where there are more; square: all, and those that are
   written are those that are read */
static void ProblemPart(PetscRandom rnd, PetscInt d, PetscInt square, PatchFDLatticeDesc *desc)
{
  const PetscInt n = desc->n[d], whole = square || RandomInt(rnd, 0, 1), lo = whole ? 0 : RandomInt(rnd, 0, n),
                 hi = whole ? n + 1 : RandomInt(rnd, lo + 1, n + 1);

  desc->ybox.lo[d]  = lo;
  desc->ybox.n[d]   = hi - lo;
  desc->xbox.lo[d]  = PetscMax(0, lo - 1);
  desc->xbox.n[d]   = PetscMin(n + 1, hi + 1) - desc->xbox.lo[d];
  desc->read[d][0]  = RandomInt(rnd, 0, 1);
  desc->read[d][1]  = n + RandomInt(rnd, 0, 1);
  desc->write[d][0] = square ? desc->read[d][0] : RandomInt(rnd, 0, 1);
  desc->write[d][1] = square ? desc->read[d][1] : n + RandomInt(rnd, 0, 1);
}

/* positive numbers */
static PetscErrorCode FieldCreate(const Problem *p, const PatchFDKernels tables[2], PetscRandom rnd, Array *f)
{
  PetscFunctionBeginUser;
  PetscCall(ArrayCreate(tables[0], tables[1], PatchFDBoxSize(&p->desc.xbox), f));
  PetscCall(ArrayRandom(f, rnd));
  for (size_t i = 0; i < f->n; i++) {
    if (tables[0]->size == sizeof(double)) ((double *)f->h)[i] += 1;
    else ((float *)f->h)[i] += 1;
  }
  PetscCallCUDA(cudaMemcpy(f->d, f->h, f->n * tables[0]->size, cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bodies, tensors, fields and constants of all kinds */
static PetscErrorCode ProblemCreate(PetscInt dim, const PetscInt cubes[3], const PatchFDKernels tables[2], PetscRandom rnd, Problem *p)
{
  const PetscInt square = RandomInt(rnd, 0, 2) == 0, kind = RandomInt(rnd, 0, 3),
                 cube = RandomInt(rnd, 0, 1); /* kind: materials are constants, mass alone, stiffness alone or both */
  size_t ncubes       = 1;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->desc.dim = dim;
  p->square   = (PetscBool)square;
  for (PetscInt d = 0; d < 3; d++) {
    p->desc.n[d]      = d < dim ? RandomInt(rnd, PetscMax(1, cubes[d] / 2), cubes[d]) : 1;
    p->desc.h[d]      = cube ? 0.5 : Random(rnd, 0.5, 2);
    p->desc.ybox.n[d] = p->desc.xbox.n[d] = p->desc.read[d][1] = p->desc.write[d][1] = 1;
    if (d < dim) ProblemPart(rnd, d, square, &p->desc);
    if (d < dim) ncubes *= (size_t)(p->desc.xbox.n[d] - 1);
  }
  p->material.mass      = kind == 2 ? 0 : Random(rnd, 0.5, 2);
  p->material.stiffness = kind == 1 ? 0 : Random(rnd, 0.5, 2);
  p->material.side      = RandomInt(rnd, 0, 1) ? Random(rnd, 0.5, 2) : 0;
  p->material.identity  = Random(rnd, 0.5, 2);
  for (int s = 0; s < 6; s++) p->desc.robin[s] = RandomInt(rnd, 0, 1) ? Random(rnd, 0, 3) : 0;
  p->tensor                 = (PetscBool)(RandomInt(rnd, 0, 2) == 0);
  p->material.constcapacity = Random(rnd, 0.5, 2);
  if (kind && RandomInt(rnd, 0, 3)) PetscCall(FieldCreate(p, tables, rnd, &p->c));
  for (int d = 0; d < 3; d++) {
    p->material.constconductivity[d] = d && !p->tensor ? p->material.constconductivity[0] : Random(rnd, 0.5, 2);
    if (kind && (d == 0 || p->tensor) && RandomInt(rnd, 0, 3)) PetscCall(FieldCreate(p, tables, rnd, &p->k[d]));
  }
  if (RandomInt(rnd, 0, 1)) {
    const PetscInt holes = RandomInt(rnd, 1, 10);

    PetscCall(PetscMalloc1(ncubes, &p->active));
    for (size_t i = 0; i < ncubes; i++) p->active[i] = (unsigned char)(RandomInt(rnd, 0, holes) > 0);
  }
  p->desc.active = p->active;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(p->active));
  if (p->c.n) PetscCall(ArrayDestroy(&p->c));
  for (int d = 0; d < 3; d++)
    if (p->k[d].n) PetscCall(ArrayDestroy(&p->k[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PatchFDMaterial ProblemMaterial(const Problem *p, PetscBool device)
{
  PatchFDMaterial m = p->material;

  m.capacity = device ? p->c.d : p->c.h;
  for (int d = 0; d < 3; d++) {
    const Array *k = &p->k[p->tensor ? d : 0];

    m.conductivity[d] = device ? k->d : k->h;
  }
  return m;
}

static double Number(const Array *a, size_t i)
{
  return a->host->size == sizeof(double) ? ((double *)a->h)[i] : ((float *)a->h)[i];
}

static void SetNumber(Array *a, size_t i, double v)
{
  if (a->host->size == sizeof(double)) ((double *)a->h)[i] = v;
  else ((float *)a->h)[i] = (float)v;
}

/* p = z + b q, w = A p on the host, where rows that are not written are those of the identity; p'w */
static PetscErrorCode HostSweep(const Problem *p, PatchFDKernels h, void *plan, const PatchFDMaterial *m, const Array *d, double b,
                                const Array v[4], Array *dir, Array *w, double *pw)
{
  const PatchFDBox *box = &p->desc.xbox;
  size_t            l   = 0;

  PetscFunctionBeginUser;
  for (size_t i = 0; i < dir->n; i++) SetNumber(dir, i, (d ? Number(d, i) : 1) * Number(&v[0], i) + (b != 0 ? b * Number(&v[1], i) : 0));
  PetscCall(h->latticeapply(plan, m, 1, dir->h, NULL, w->h));
  *pw = 0;
  for (PetscInt k = box->lo[2]; k < box->lo[2] + box->n[2]; k++) {
    for (PetscInt j = box->lo[1]; j < box->lo[1] + box->n[1]; j++) {
      for (PetscInt i = box->lo[0]; i < box->lo[0] + box->n[0]; i++, l++) {
        const PetscInt node[3] = {i, j, k};

        for (int e = 0; e < 3; e++)
          if (node[e] < p->desc.write[e][0] || node[e] >= p->desc.write[e][1]) SetNumber(w, l, Number(dir, l));
        *pw += Number(dir, l) * Number(w, l);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* with a diagonal and without one, with b = 0, too */
static PetscErrorCode SweepCompare(const Problem *p, const PatchFDKernels tables[2], void *hp, void *cp, PetscRandom rnd,
                                   PetscInt *failures)
{
  const PatchFDKernels  h = tables[0], c = tables[1];
  const PatchFDMaterial hm = ProblemMaterial(p, PETSC_FALSE), cm = ProblemMaterial(p, PETSC_TRUE);
  const double          tolerance = h->size == sizeof(double) ? 1e-12 : 1e-5;
  Array                 v[5]; /* r, q, d; p and w */
  PatchFDSweep          sweep, *state;

  PetscFunctionBeginUser;
  PetscCallCUDA(cudaMalloc((void **)&state, sizeof(*state)));
  for (int i = 0; i < 5; i++) PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&p->desc.xbox), &v[i]));
  v[3].tolerance = v[4].tolerance = h->size == sizeof(double) ? 1e-13 : 2e-6;
  for (int mode = 0; mode < 3; mode++) {
    double pw = 0;

    for (int i = 0; i < 5; i++) PetscCall(ArrayRandom(&v[i], rnd));
    sweep = (PatchFDSweep){.b = mode == 2 ? 0 : 0.7, .pw = 3};
    PetscCall(HostSweep(p, h, hp, &hm, mode == 1 ? NULL : &v[2], sweep.b, v, &v[3], &v[4], &pw));
    PetscCallCUDA(cudaMemcpy(state, &sweep, sizeof(sweep), cudaMemcpyHostToDevice));
    PetscCall(c->latticesweep(cp, &cm, mode == 1 ? NULL : v[2].d, v[0].d, v[1].d, v[3].d, v[4].d, state));
    PetscCall(ArrayCompare("sweep, p", &v[3], 1, failures));
    PetscCall(ArrayCompare("sweep, w", &v[4], 1, failures));
    PetscCallCUDA(cudaMemcpy(&sweep, state, sizeof(sweep), cudaMemcpyDeviceToHost));
    if (!(PetscAbsReal(sweep.pw - pw) <= tolerance * PetscAbsReal(pw))) {
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, sweep: p'w is %g, not %g\n", c->name, sweep.pw, pw));
      (*failures)++;
    }
  }
  for (int i = 0; i < 5; i++) PetscCall(ArrayDestroy(&v[i]));
  PetscCallCUDA(cudaFree(state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y without y0, with one, in place; the diagonal; sweeps */
static PetscErrorCode ProblemCompare(const Problem *p, const PatchFDKernels tables[2], PetscRandom rnd, PetscInt *failures)
{
  const PatchFDKernels  h = tables[0], c = tables[1];
  const PatchFDMaterial hm = ProblemMaterial(p, PETSC_FALSE), cm = ProblemMaterial(p, PETSC_TRUE);
  const PetscReal       alpha  = Random(rnd, -2, 2);
  const PetscInt        before = *failures;
  void                 *hp = NULL, *cp = NULL;
  Array                 x, y, y0;

  PetscFunctionBeginUser;
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&p->desc.xbox), &x));
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&p->desc.ybox), &y));
  PetscCall(ArrayCreate(h, c, PatchFDBoxSize(&p->desc.ybox), &y0));
  PetscCall(ArrayRandom(&x, rnd));
  PetscCall(ArrayRandom(&y0, rnd));
  y.tolerance = h->size == sizeof(double) ? 1e-13 : 2e-6;
  PetscCall(h->latticecreate(&p->desc, &hp));
  PetscCall(c->latticecreate(&p->desc, &cp));
  for (int mode = 0; mode < 3; mode++) {
    PetscCall(ArrayRandom(&y, rnd));
    PetscCall(h->latticeapply(hp, &hm, alpha, x.h, mode == 0 ? NULL : (mode == 1 ? y0.h : y.h), y.h));
    PetscCall(c->latticeapply(cp, &cm, alpha, x.d, mode == 0 ? NULL : (mode == 1 ? y0.d : y.d), y.d));
    PetscCall(ArrayCompare(mode == 0 ? "alpha A x" : (mode == 1 ? "y0 + alpha A x" : "y + alpha A x"), &y, 1, failures));
  }
  PetscCall(h->latticediagonal(hp, &hm, y.h));
  PetscCall(c->latticediagonal(cp, &cm, y.d));
  PetscCall(ArrayCompare("diagonal", &y, 1, failures));
  if (p->square) PetscCall(SweepCompare(p, tables, hp, cp, rnd, failures));
  if (*failures > before)
    PetscCall(PetscPrintf(PETSC_COMM_SELF,
                          "  dim %" PetscInt_FMT ", cubes %" PetscInt_FMT " %" PetscInt_FMT " %" PetscInt_FMT
                          ", body %d, tensor %d, capacity %d, conductivity %d, mass %g, stiffness %g, side %g\n",
                          p->desc.dim, p->desc.n[0], p->desc.n[1], p->desc.n[2], (int)!!p->active, (int)p->tensor, (int)!!p->c.n,
                          (int)!!p->k[0].n, (double)p->material.mass, (double)p->material.stiffness, (double)p->material.side));
  PetscCall(h->latticedestroy(&hp));
  PetscCall(c->latticedestroy(&cp));
  PetscCall(ArrayDestroy(&x));
  PetscCall(ArrayDestroy(&y));
  PetscCall(ArrayDestroy(&y0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* picoseconds a node, and the ratio to a copy of as many numbers: words of each node are read or written */
static PetscErrorCode TimeApply(PatchFDKernels k, const char *what, const PatchFDLatticeDesc *desc, const PatchFDMaterial *m,
                                PetscReal words, const void *x, const void *y0, void *y, PetscReal copy)
{
  const PetscReal unknowns = (PetscReal)PatchFDBoxSize(&desc->ybox);
  void           *plan     = NULL;
  PetscReal       t;

  PetscFunctionBeginUser;
  PetscCall(k->latticecreate(desc, &plan));
  TIME(t, k->latticeapply(plan, m, 1, x, y0, y));
  PetscCall(k->latticedestroy(&plan));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-11s %dD %-28s %8.2f ps a node, %5.2f copies\n", k->name, (int)desc->dim, what,
                        (double)(t * 1e3), (double)(t / (copy * words / 2))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the first half of an iteration of conjugate gradients */
static PetscErrorCode TimeSweep(PatchFDKernels k, const char *what, const PatchFDLatticeDesc *desc, const PatchFDMaterial *m,
                                PetscReal words, void *const v[], PetscReal copy)
{
  const PetscReal    unknowns = (PetscReal)PatchFDBoxSize(&desc->ybox);
  const PatchFDSweep sweep    = {.b = 0.5};
  PatchFDSweep      *state;
  void              *plan = NULL;
  PetscReal          t;

  PetscFunctionBeginUser;
  PetscCallCUDA(cudaMalloc((void **)&state, sizeof(*state)));
  PetscCallCUDA(cudaMemcpy(state, &sweep, sizeof(sweep), cudaMemcpyHostToDevice));
  PetscCall(k->latticecreate(desc, &plan));
  TIME(t, k->latticesweep(plan, m, v[4], v[0], v[5], v[1], v[6], state));
  PetscCall(k->latticedestroy(&plan));
  PetscCallCUDA(cudaFree(state));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-11s %dD %-28s %8.2f ps a node, %5.2f copies\n", k->name, (int)desc->dim, what,
                        (double)(t * 1e3), (double)(t / (copy * words / 2))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Time(PatchFDKernels k, PetscInt dim, PetscReal nodes)
{
  const PetscInt     n    = (PetscInt)PetscPowReal(nodes, 1. / (PetscReal)dim);
  PatchFDLatticeDesc desc = {.dim = dim};
  PatchFDMaterial    m    = {.mass = 1, .stiffness = 1, .constcapacity = 1, .constconductivity = {1, 1, 1}}, f, t;
  unsigned char     *active;
  PetscReal          copy, unknowns;
  size_t             size, ncubes = 1;
  void              *v[7];

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    desc.n[d]      = d < dim ? n : 1;
    desc.h[d]      = 1;
    desc.xbox.n[d] = desc.ybox.n[d] = desc.read[d][1] = desc.write[d][1] = d < dim ? n + 1 : 1;
    if (d < dim) ncubes *= (size_t)n;
  }
  size     = PatchFDBoxSize(&desc.xbox);
  unknowns = (PetscReal)size;
  for (int i = 0; i < 7; i++) PetscCall(Numbers(k, size, i, &v[i]));
  TIME(copy, CopyOnDevice(v[1], v[0], size * k->size));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%-11s %dD %.0f nodes, copy %8.2f ps a node, %5.2f TB/s\n", k->name, (int)dim, (double)size,
                        (double)(copy * 1e3), (double)(2 * k->size / copy * 1e-3)));
  f          = m;
  f.capacity = v[2];
  for (int d = 0; d < 3; d++) f.conductivity[d] = v[3];
  t = f;
  for (int d = 0; d < 3; d++) t.conductivity[d] = v[3 + d];
  PetscCall(TimeApply(k, "constants", &desc, &m, 2, v[0], NULL, v[1], copy));
  PetscCall(TimeApply(k, "constants, y0", &desc, &m, 3, v[0], v[6], v[1], copy));
  PetscCall(TimeApply(k, "two fields", &desc, &f, 4, v[0], NULL, v[1], copy));
  PetscCall(TimeApply(k, "two fields, y0", &desc, &f, 5, v[0], v[6], v[1], copy));
  PetscCall(TimeApply(k, "tensor", &desc, &t, dim + 3, v[0], NULL, v[1], copy));
  PetscCall(TimeSweep(k, "sweep, constants", &desc, &m, 5, v, copy));
  PetscCall(TimeSweep(k, "sweep, two fields", &desc, &f, 7, v, copy));
  desc.h[0] = 2;
  PetscCall(TimeApply(k, "two fields, bricks", &desc, &f, 4, v[0], NULL, v[1], copy));
  desc.h[0]   = 1;
  f.stiffness = 0;
  PetscCall(TimeApply(k, "mass", &desc, &f, 3, v[0], NULL, v[1], copy));
  f.stiffness = 1;
  f.mass      = 0;
  PetscCall(TimeApply(k, "stiffness", &desc, &f, 3, v[0], NULL, v[1], copy));
  f.mass = 1;
  for (int s = 0; s < 6; s++) desc.robin[s] = 1;
  f.side = 1;
  PetscCall(TimeApply(k, "two fields, six Robin sides", &desc, &f, 4, v[0], NULL, v[1], copy));
  f.side = 0;
  PetscCall(PetscMalloc1(ncubes, &active));
  for (size_t i = 0; i < ncubes; i++) active[i] = (unsigned char)(i % 97 > 0);
  desc.active = active;
  PetscCall(TimeApply(k, "two fields, body", &desc, &f, 4, v[0], NULL, v[1], copy));
  PetscCall(TimeApply(k, "constants, body", &desc, &m, 2, v[0], NULL, v[1], copy));
  PetscCall(PetscFree(active));
  for (int i = 0; i < 7; i++) PetscCall(k->free(v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(void)
{
  PetscInt    dim = 3, count = 10, cubes[3] = {40, 30, 20}, nc = 3, failures = 0;
  PetscReal   nodes = 0;
  PetscRandom rnd;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCheck(dim >= 1 && dim <= 3, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-dim must be 1, 2 or 3, found %" PetscInt_FMT, dim);
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cubes", cubes, &nc, NULL));
  for (int d = 0; d < 3; d++)
    PetscCheck(cubes[d] > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-cubes must be positive, found %" PetscInt_FMT, cubes[d]);
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-time", &nodes, NULL));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &rnd));
  for (int t = 0; t < 2; t++) {
    const PetscInt before = failures;

    if (nodes > 0) {
      PetscCall(Time(tables[t][1], dim, nodes));
      continue;
    }
    for (PetscInt i = 0; i < count; i++) {
      Problem p;

      PetscCall(ProblemCreate(dim, cubes, tables[t], rnd, &p));
      PetscCall(ProblemCompare(&p, tables[t], rnd, &failures));
      PetscCall(ProblemDestroy(&p));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, dimension %" PetscInt_FMT ": %s\n", tables[t][1]->name, dim,
                          failures == before ? "agrees" : "DEVIATES"));
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
       args: -dim 1 -cubes 300 -count 40
     test:
       suffix: 2d
       args: -dim 2 -cubes 100,80 -count 100
     test:
       suffix: 2d_thin
       args: -dim 2 -cubes 3,2 -count 100
     test:
       suffix: 3d
       args: -cubes 70,60,20 -count 60
     test:
       suffix: 3d_thin
       args: -cubes 2,3,2 -count 200
     test:
       suffix: 3d_long
       args: -cubes 33,10,150 -count 30

TEST*/
