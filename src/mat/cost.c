/*
  How long do a direct solve of the whole box and a V-cycle take?  A model of a few numbers, measured on one H200 (ranks: joined by NVLink) and on one core with AVX-512, by
  which PCPATCHMG may choose the level on which it solves directly.  What matters is the choice, not the time: near equal costs either is good.
*/
#include <patchfd/private/matimpl.h>
#include <patchfd/private/vecimpl.h>

/* seconds, for double precision; float takes half of all but launches and latency */
typedef struct {
  PetscLogDouble multiply; /* an addition and a multiplication in a product of large matrices */
  PetscLogDouble pass;     /* everything else in a direct solve, an unknown */
  PetscLogDouble direct;   /* a direct solve of next to nothing */
  PetscLogDouble cycle;    /* a V-cycle's work, an unknown of a level */
  PetscLogDouble level;    /* a level of next to nothing */
  PetscLogDouble latency;  /* an exchange of next to nothing */
  PetscLogDouble number;   /* a number of 8 bytes to another rank */
} Costs;

static const Costs gpu = {.multiply = 3.1e-14, .pass = 3e-11, .direct = 6e-5, .cycle = 2e-10, .level = 6e-5, .latency = 5e-6, .number = 3.5e-11};
static const Costs cpu = {.multiply = 6e-11, .pass = 8e-9, .direct = 1e-5, .cycle = 5e-8, .level = 5e-6, .latency = 2e-6, .number = 1e-9};

enum {
  EXCHANGES = 16, /* of a rank on a level, on a process grid of two directions */
  CYCLES    = 4   /* of the finest level, until a solver is content */
};

/* the mesh whose directions have been halved so often: unknowns, and multiplications an unknown of the transforms to modes and back */
static PetscLogDouble MeshUnknowns(DM dm, const PetscInt halvings[3], PetscLogDouble *products)
{
  const DM_Box  *box = (const DM_Box *)dm->data;
  PetscLogDouble N   = 1;

  *products = 0;
  for (PetscInt d = 0; d < dm->dim; d++) {
    const PetscLogDouble n = DMBoxCoarseNodes(&box->field[0].line[d], halvings[d]);

    N *= n;
    *products += DMBoxIsMirrored(box, d) ? n : 2 * n; /* in halves */
  }
  return N;
}

static PetscLogDouble DirectCost(DM dm, const Costs *c, PetscMPIInt ranks, const PetscInt halvings[3])
{
  PetscLogDouble       products;
  const PetscLogDouble N = MeshUnknowns(dm, halvings, &products), work = N * (products * c->multiply + c->pass);
  const PetscLogDouble all = work + (ranks > 1 ? c->latency + N * c->number : 0), shared = work / ranks + 4 * (c->latency + N / ranks * c->number);

  return c->direct + (dm->dim > 1 ? PetscMin(all, shared) : all);
}

static PetscLogDouble CycleCost(DM dm, const Costs *c, PetscMPIInt ranks, PetscInt levels, PetscInt (*halvings)[3])
{
  PetscLogDouble time = 0, products;

  for (PetscInt l = 0; l < levels; l++) time += c->level + MeshUnknowns(dm, halvings[l], &products) * c->cycle / ranks + (ranks > 1 ? EXCHANGES * c->latency : 0);
  return time;
}

PetscErrorCode MatBoxDirectCoarsenings(DM dm, PetscInt *n)
{
  const DM_Box  *box      = (const DM_Box *)dm->data;
  const PetscInt coarsest = *n;
  PetscInt     (*halvings)[3];
  PetscBool      poisson;
  PetscMPIInt    ranks;
  PatchFDKernels kern;
  const Costs   *c;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(box->op->name, "poisson", &poisson));
  if (!poisson) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)dm), &ranks));
  PetscCall(PatchFDVecTypeGetKernels(dm->vectype, &kern));
  c = PetscMemTypeHost(kern->memtype) ? &cpu : &gpu;
  PetscCall(PetscMalloc1(coarsest + 1, &halvings));
  PetscCall(DMBoxGetHalvings(dm, coarsest, halvings));
  for (PetscInt fewer = 0; fewer < coarsest; fewer++) {
    const PetscLogDouble direct = DirectCost(dm, c, ranks, halvings[fewer]), cycles = CycleCost(dm, c, ranks, coarsest - fewer + 1, &halvings[fewer]) * (fewer ? 1 : CYCLES);

    if (direct > cycles) continue;
    PetscCall(PetscInfo(dm, "After %" PetscInt_FMT " coarsenings of %" PetscInt_FMT " a direct solve is estimated to take %.3g ms, %s %.3g ms: it is the coarsest level\n", fewer, coarsest, direct * 1e3,
                        fewer ? "a V-cycle" : "V-cycles", cycles * 1e3));
    *n = fewer;
    break;
  }
  PetscCall(PetscFree(halvings));
  PetscFunctionReturn(PETSC_SUCCESS);
}
