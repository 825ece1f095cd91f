/*
  On which level should multigrid end and the direct solve of the whole box begin?  By a model of set-up and one solve, a few numbers that
  were measured (benchmarks/levels) on one H200 (ranks: joined by NVLink) and on one core of an AMD EPYC (Zen 3).  What matters is the
  choice, not the time: near equal costs either is good.
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/vecimpl.h>

/* seconds, for double precision; float takes half of all but launches and latency */
typedef struct {
  PetscLogDouble multiply; /* an addition and a multiplication in a product of large matrices */
  PetscLogDouble pass;     /* everything else in a direct solve, an unknown */
  PetscLogDouble direct;   /* a direct solve of next to nothing */
  PetscLogDouble point;    /* a V-cycle's work, an unknown of a level: patches of one unknown, */
  PetscLogDouble patch[3]; /* and larger ones, in one, two and three dimensions */
  PetscLogDouble graded;   /* times these, where cells are not equal */
  PetscLogDouble krylov;   /* the rest of an iteration, an unknown of the finest mesh */
  PetscLogDouble level;    /* a level of next to nothing */
  PetscLogDouble setup;    /* of a level of next to nothing */
  PetscLogDouble latency;  /* an exchange of next to nothing */
  PetscLogDouble number;   /* a number of 8 bytes to another rank */
} Costs;

static const Costs gpu = {.multiply = 3.1e-14,
                          .pass     = 3e-11,
                          .direct   = 6e-5,
                          .point    = 2e-10,
                          .patch    = {2e-10, 2e-10, 2e-10},
                          .graded   = 1,
                          .level    = 6e-5,
                          .setup    = 1.2e-3,
                          .latency  = 5e-6,
                          .number   = 3.5e-11};
static const Costs cpu = {.multiply = 7e-11,
                          .pass     = 2e-8,
                          .direct   = 1e-5,
                          .point    = 1.8e-8,
                          .patch    = {8e-8, 8e-8, 1.4e-7},
                          .graded   = 2,
                          .krylov   = 2e-8,
                          .level    = 5e-6,
                          .setup    = 1e-4,
                          .latency  = 2e-6,
                          .number   = 1e-9};

/* an eigenproblem of size n, on every rank, on the host: seconds for n^2, and for n^3 where lines are mirrored and where not */
static const PetscLogDouble eigen2 = 8e-8, eigen3[2] = {4.5e-10, 1.4e-10};

enum {
  EXCHANGES = 16, /* of a rank on a level, on a process grid of two directions */
  DIGITS    = 8   /* the residual's, of the solve that is estimated */
};

typedef struct {
  DM             dm;
  const DM_Box  *box;
  Costs          c;
  PetscMPIInt    ranks;
  PetscLogDouble steps;    /* iterations that rounding alone asks for */
  PetscInt (*halvings)[3]; /* of each direction, after so many coarsenings */
} Model;

/* do two directions share an eigenproblem? */
static PetscBool LinesAreEqual(const DM_Box *box, PetscInt d, PetscInt e)
{
  const PatchFDLine *a = &box->field[0].line[d], *b = &box->field[0].line[e];
  const PetscReal   *c     = box->op->coefficient;
  PetscBool          equal = (PetscBool)(a->ncells == b->ncells && c[d] == c[e] && (!c[3] || (d && e)));

  for (int end = 0; end < 2; end++) equal = (PetscBool)(equal && a->dirichlet[end] == b->dirichlet[end]);
  for (PetscInt i = 0; i <= a->ncells && equal; i++)
    equal = (PetscBool)(a->vertices[i] - a->vertices[0] == b->vertices[i] - b->vertices[0]);
  return equal;
}

/*
  Rounding in float leaves an error of high frequency of its resolution times the ratio of the eigenvalues, which are at most about (k^2 /
  h)^2 and some numbers for a line of length one.  What an iteration leaves of residuals was measured: 2e-3 of that, in V-cycles as in
  direct solves
*/
static PetscLogDouble RoundingSteps(DM dm, const DM_Box *box, PatchFDKernels kern)
{
  PetscLogDouble ratio = 1;

  if (kern->size == sizeof(double)) return 1;
  for (PetscInt d = 0; d < dm->dim; d++) {
    const PatchFDLine *l = &box->field[0].line[d];

    for (PetscInt i = 0; i < l->ncells; i++)
      ratio = PetscMax(ratio, PetscSqr((PetscReal)l->degree * l->degree * (l->vertices[l->ncells] - l->vertices[0]) /
                                       (l->vertices[i + 1] - l->vertices[i])));
  }
  return PetscMax(2, PetscCeilReal(DIGITS / -PetscLog10Real(PetscMin(0.5, 1.2e-10 * ratio))));
}

static PetscLogDouble MeshNodes(const Model *m, PetscInt coarsenings, PetscInt d)
{
  return DMBoxCoarseNodes(&m->box->field[0].line[d], m->halvings[coarsenings][d]);
}

static PetscLogDouble MeshUnknowns(const Model *m, PetscInt coarsenings)
{
  PetscLogDouble N = 1;

  for (PetscInt d = 0; d < m->dm->dim; d++) N *= MeshNodes(m, coarsenings, d);
  return N;
}

/* nodes of the lines that a rank diagonalizes: all, but for the last direction where ranks share a direct solve */
static PetscLogDouble LineNodes(const Model *m, PetscInt coarsenings, PetscInt d, PetscBool shared)
{
  return MeshNodes(m, coarsenings, d) / (shared && d == m->dm->dim - 1 ? m->ranks : 1);
}

static PetscLogDouble DirectSetUpCost(const Model *m, PetscInt coarsenings, PetscBool shared)
{
  PetscLogDouble time = 0;

  for (PetscInt d = 0; d < m->dm->dim; d++) {
    const PetscLogDouble n    = LineNodes(m, coarsenings, d, shared);
    PetscBool            done = PETSC_FALSE;

    for (PetscInt e = 0; e < d && !(shared && d == m->dm->dim - 1); e++) done = (PetscBool)(done || LinesAreEqual(m->box, d, e));
    if (!done) time += n * n * (eigen2 + n * eigen3[DMBoxIsMirrored(m->box, d)]);
  }
  return time;
}

/* on every rank, which hears of all others' right-hand side; or shared by ranks, which send planes of ends and back, and where a mesh has
   no slabs what they own before and after it */
static PetscLogDouble DirectCost(const Model *m, PetscInt coarsenings, PetscBool shared)
{
  const Costs         *c    = &m->c;
  const PetscInt       last = m->dm->dim - 1;
  const PetscLogDouble N = MeshUnknowns(m, coarsenings), plane = N / MeshNodes(m, coarsenings, last);
  PetscLogDouble       products = 0, work; /* multiplications an unknown of the transforms to modes and back */

  /* in halves */
  for (PetscInt d = 0; d <= last; d++) products += (DMBoxIsMirrored(m->box, d) ? 1 : 2) * LineNodes(m, coarsenings, d, shared);
  work = N * (products * c->multiply + c->pass);
  if (!shared) return c->direct + work + (m->ranks > 1 ? c->latency + N * c->number : 0);
  work = work / m->ranks + 2 * (c->latency + 2 * plane * c->number);
  for (PetscInt d = 0; d < last; d++)
    if (m->box->processes[d] > 1) return c->direct + work + 2 * (c->latency + N / m->ranks * c->number);
  return c->direct + work;
}

static PetscLogDouble LevelCost(const Model *m, PetscInt coarsenings)
{
  const PatchFDLine   *line   = &m->box->field[0].line[0];
  const Costs         *c      = &m->c;
  const PetscLogDouble N      = MeshUnknowns(m, coarsenings);
  const PetscBool      graded = (PetscBool)(m->box->nvertices[0] || m->box->nvertices[1] || m->box->nvertices[2]);

  return c->level +
         N * (graded ? c->graded : 1) *
           (line->degree == 1 && line->continuity == PATCHFD_CONTINUOUS ? c->point : c->patch[m->dm->dim - 1]) / m->ranks +
         (m->ranks > 1 ? EXCHANGES * c->latency : 0);
}

/* set-up and a solve with the direct solver after so many coarsenings.  In one dimension patches leave nothing of the error but on the mesh
   below: a V-cycle is exact */
static PetscLogDouble SolveCost(const Model *m, PetscInt coarsenings)
{
  const PetscLogDouble cycles = m->dm->dim == 1 || !coarsenings ? 1 : (m->box->degree == 1 ? 6 : 4), steps = PetscMax(cycles, m->steps);
  const PetscBool      shared = (PetscBool)(m->ranks > 1 && m->dm->dim > 1 &&
                                       DirectCost(m, coarsenings, PETSC_TRUE) < DirectCost(m, coarsenings, PETSC_FALSE));
  PetscLogDouble       time   = DirectCost(m, coarsenings, shared) + MeshUnknowns(m, 0) * m->c.krylov / m->ranks;

  for (PetscInt l = 0; l < coarsenings; l++) time += LevelCost(m, l);
  return DirectSetUpCost(m, coarsenings, shared) + coarsenings * m->c.setup + steps * time;
}

PetscErrorCode MatBoxChooseCoarsenings(DM dm, PetscInt *n, PetscLogDouble *chosen, PetscLogDouble *cycles)
{
  Model          m        = {.dm = dm, .box = (const DM_Box *)dm->data};
  const PetscInt coarsest = *n;
  PetscBool      poisson;
  PatchFDKernels kern;

  PetscFunctionBegin;
  *chosen = *cycles = 0;
  PetscCall(PetscStrcmp(m.box->op->name, "poisson", &poisson));
  if (!poisson || !dm->setupcalled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)dm), &m.ranks));
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  m.c     = PetscMemTypeHost(kern->memtype) ? cpu : gpu;
  m.steps = RoundingSteps(dm, m.box, kern);
  if (kern->size < sizeof(double)) {
    m.c.multiply /= 2;
    m.c.pass /= 2;
    m.c.point /= 2;
    for (int d = 0; d < 3; d++) m.c.patch[d] /= 2;
  }
  PetscCall(PetscMalloc1(coarsest + 1, &m.halvings));
  PetscCall(DMBoxGetHalvings(dm, coarsest, m.halvings));
  *chosen = *cycles = SolveCost(&m, coarsest);
  for (PetscInt fewer = coarsest - 1; fewer >= 0; fewer--) {
    const PetscLogDouble time = SolveCost(&m, fewer);

    if (time > *chosen) continue;
    *chosen = time;
    *n      = fewer;
  }
  PetscCall(PetscFree(m.halvings));
  PetscCall(PetscInfo(dm,
                      "Set-up and a solve with a direct solve after %" PetscInt_FMT " coarsenings of %" PetscInt_FMT
                      " are estimated to take %.3g ms, after all of them %.3g ms\n",
                      *n, coarsest, *chosen * 1e3, *cycles * 1e3));
  PetscFunctionReturn(PETSC_SUCCESS);
}
