static char help[] =
  "A block of compressible neo-Hookean material, clamped below, whose upper side is turned and lifted: large strains, with SNES, DMPLEX\n\
and PetscDS.  Newton's method without a matrix: the tangent is evaluated at quadrature points.\n\
  -degree <2>          : polynomial degree\n\
  -young <1>, -ratio <0.3> : Young's modulus and Poisson's ratio for small strains\n\
  -turn <1>, -lift <0.2>   : of the upper side, right angles and a part of the height\n\
  -dm_plex_*           : the mesh, by default 3 x 3 x 6 cells of a block of 1 x 1 x 2\n\n";

#include <petscdmplex.h>
#include <petscds.h>
#include <petscpatchfd.h>
#include <petscsnes.h>

/* what PETSc calls at the points of cells; constants are lambda and mu */
#define POINT \
  PetscInt dim, PETSC_UNUSED PetscInt Nf, PETSC_UNUSED PetscInt NfAux, PETSC_UNUSED const PetscInt uOff[], \
    PETSC_UNUSED const PetscInt uOff_x[], PETSC_UNUSED const PetscScalar u[], PETSC_UNUSED const PetscScalar u_t[], \
    PETSC_UNUSED const PetscScalar u_x[], PETSC_UNUSED const PetscInt aOff[], PETSC_UNUSED const PetscInt aOff_x[], \
    PETSC_UNUSED const PetscScalar a[], PETSC_UNUSED const PetscScalar a_t[], PETSC_UNUSED const PetscScalar a_x[], \
    PETSC_UNUSED PetscReal t
#define CONSTANTS PETSC_UNUSED const PetscReal x[], PETSC_UNUSED PetscInt n, PETSC_UNUSED const PetscScalar constants[]

/* C = the cofactors of F = 1 + grad u, which is returned as F; J = det F */
static PetscScalar Deformation(const PetscScalar u_x[], PetscScalar F[3][3], PetscScalar C[3][3])
{
  for (PetscInt a = 0; a < 3; a++)
    for (PetscInt b = 0; b < 3; b++) F[a][b] = u_x[a * 3 + b] + (a == b);
  for (PetscInt a = 0; a < 3; a++)
    for (PetscInt b = 0; b < 3; b++)
      C[a][b] = F[(a + 1) % 3][(b + 1) % 3] * F[(a + 2) % 3][(b + 2) % 3] - F[(a + 1) % 3][(b + 2) % 3] * F[(a + 2) % 3][(b + 1) % 3];
  return F[0][0] * C[0][0] + F[0][1] * C[0][1] + F[0][2] * C[0][2];
}

/* W = mu / 2 (tr F'F - 3) - mu log J + lambda / 2 log^2 J; folded cells have no energy, which ends a step of the line search */
static void Energy(POINT, CONSTANTS, PetscScalar W[])
{
  PetscScalar       F[3][3], C[3][3], trace = -dim;
  const PetscScalar J = Deformation(u_x, F, C), logJ = PetscLogScalar(J);

  for (PetscInt i = 0; i < dim * dim; i++) trace += PetscSqr(F[i / dim][i % dim]);
  W[0] = constants[1] * (trace / 2 - logJ) + constants[0] / 2 * logJ * logJ;
}

/* its derivative, the first Piola-Kirchhoff stress P = mu (F - F^-T) + lambda log J F^-T */
static void Stress(POINT, CONSTANTS, PetscScalar P[])
{
  PetscScalar       F[3][3], C[3][3];
  const PetscScalar J = Deformation(u_x, F, C), pressure = (constants[0] * PetscLogScalar(J) - constants[1]) / J;

  for (PetscInt i = 0; i < dim * dim; i++) P[i] = constants[1] * F[i / dim][i % dim] + pressure * C[i / dim][i % dim];
}

/* dP / dF = mu 1 + lambda F^-T F^-T and the change of F^-T itself: g[component][component][direction][direction] */
static void Tangent(POINT, PETSC_UNUSED PetscReal shift, CONSTANTS, PetscScalar g[])
{
  PetscScalar       F[3][3], C[3][3];
  const PetscScalar J = Deformation(u_x, F, C), bulk = constants[0] / (J * J),
                    turn = (constants[1] - constants[0] * PetscLogScalar(J)) / (J * J);

  for (PetscInt c = 0; c < dim; c++)
    for (PetscInt d = 0; d < dim; d++)
      for (PetscInt a = 0; a < dim; a++)
        for (PetscInt b = 0; b < dim; b++)
          g[((c * dim + d) * dim + a) * dim + b] += (c == d && a == b ? constants[1] : 0) + bulk * C[c][a] * C[d][b] +
                                                    turn * C[c][b] * C[d][a];
}

/* ---- the problem ---- */

typedef struct {
  PetscReal young, ratio, turn, lift, low, height;
} Problem;

/* horizontal planes are turned and lifted the more the higher they are: what is held at both ends, and where Newton's method begins */
static PetscErrorCode Twist(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                            PetscScalar *u, void *ctx)
{
  const Problem  *p    = (const Problem *)ctx;
  const PetscReal part = (x[2] - p->low) / p->height, s = PetscSinReal(part * p->turn * PETSC_PI / 2);
  const PetscReal c = PetscCosReal(part * p->turn * PETSC_PI / 2) - 1;

  u[0] = c * (x[0] - 0.5) - s * (x[1] - 0.5);
  u[1] = s * (x[0] - 0.5) + c * (x[1] - 0.5);
  u[2] = part * p->lift * p->height;
  return PETSC_SUCCESS;
}

/* nodes of the sides at the lower and upper end of z */
static PetscErrorCode HoldEnds(DM dm, Problem *p)
{
  const PetscInt one = 1;
  PetscReal      low[3], high[3];
  PetscInt       first, end;
  DMLabel        label;

  PetscFunctionBeginUser;
  PetscCall(DMGetBoundingBox(dm, low, high));
  p->low    = low[2];
  p->height = high[2] - low[2];
  PetscCall(DMCreateLabel(dm, "ends"));
  PetscCall(DMGetLabel(dm, "ends", &label));
  PetscCall(DMPlexGetHeightStratum(dm, 1, &first, &end));
  for (PetscInt f = first; f < end; f++) {
    PetscReal volume, centre[3], normal[3];

    PetscCall(DMPlexComputeCellGeometryFVM(dm, f, &volume, centre, normal));
    if (PetscMin(centre[2] - low[2], high[2] - centre[2]) < 1e-6 * p->height) PetscCall(DMLabelSetValue(label, f, 1));
  }
  PetscCall(DMPlexLabelComplete(dm, label));
  PetscCall(DMAddBoundary(dm, DM_BC_ESSENTIAL, "ends", label, 1, &one, 0, 0, NULL, (PetscVoidFn *)Twist, NULL, p, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUpProblem(DM dm, PetscInt degree, Problem *p)
{
  PetscScalar constants[2];
  PetscFE     fe;
  PetscDS     ds;

  PetscFunctionBeginUser;
  constants[1] = p->young / (2 * (1 + p->ratio));
  constants[0] = 2 * PetscRealPart(constants[1]) * p->ratio / (1 - 2 * p->ratio);
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, 3, 3, PETSC_FALSE, degree, PETSC_DETERMINE, &fe));
  PetscCall(DMSetField(dm, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(dm));
  PetscCall(DMGetDS(dm, &ds));
  PetscCall(PetscDSSetObjective(ds, 0, Energy));
  PetscCall(PetscDSSetResidual(ds, 0, NULL, Stress));
  PetscCall(PetscDSSetJacobian(ds, 0, 0, NULL, NULL, NULL, Tangent));
  PetscCall(PetscDSSetConstants(ds, 2, constants));
  PetscCall(HoldEnds(dm, p));
  PetscCall(DMSetMatType(dm, MATPATCHFD));
  PetscCall(DMPlexSetSNESLocalFEM(dm, PETSC_FALSE, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMesh(DM *dm)
{
  static const PetscInt  cells[3] = {3, 3, 6};
  static const PetscReal lower[3] = {0, 0, 0}, upper[3] = {1, 1, 2};

  PetscFunctionBeginUser;
  PetscCall(DMPlexCreateBoxMesh(PETSC_COMM_WORLD, 3, PETSC_FALSE, cells, lower, upper, NULL, PETSC_TRUE, 0, PETSC_FALSE, dm));
  PetscCall(DMSetFromOptions(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscErrorCode (*twist[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {Twist};
  Problem             p      = {.young = 1, .ratio = 0.3, .turn = 1, .lift = 0.2};
  void               *ctx[]  = {&p};
  PetscInt            degree = 2, its, linear, N;
  PetscScalar         energy;
  SNESConvergedReason reason;
  SNES                snes;
  KSP                 ksp;
  PC                  pc;
  DM                  dm;
  Vec                 u;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "A block that is turned", NULL);
  PetscCall(PetscOptionsInt("-degree", "Polynomial degree", NULL, degree, &degree, NULL));
  PetscCall(PetscOptionsReal("-young", "Young's modulus", NULL, p.young, &p.young, NULL));
  PetscCall(PetscOptionsReal("-ratio", "Poisson's ratio", NULL, p.ratio, &p.ratio, NULL));
  PetscCall(PetscOptionsReal("-turn", "Right angles that the upper side is turned by", NULL, p.turn, &p.turn, NULL));
  PetscCall(PetscOptionsReal("-lift", "Part of the height that it is lifted by", NULL, p.lift, &p.lift, NULL));
  PetscOptionsEnd();
  PetscCall(CreateMesh(&dm));
  PetscCall(SetUpProblem(dm, degree, &p));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMProjectFunction(dm, 0, twist, ctx, INSERT_VALUES, u));
  PetscCall(VecGetSize(u, &N));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, dm));
  PetscCall(SNESSetTolerances(snes, PETSC_CURRENT, 1e-8, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-4, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(DMPlexComputeIntegralFEM(dm, u, &energy, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "neo-Hookean block, Q%" PetscInt_FMT ", %" PetscInt_FMT " unknowns, energy %.6f as it is turned\n", degree, N,
                        (double)PetscRealPart(energy)));
  PetscCall(SNESSolve(snes, NULL, u));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESGetIterationNumber(snes, &its));
  PetscCall(SNESGetLinearSolveIterations(snes, &linear));
  PetscCall(DMPlexComputeIntegralFEM(dm, u, &energy, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%s after %" PetscInt_FMT " steps of Newton's method with %" PetscInt_FMT " iterations, energy %.6f\n",
                        reason > 0 ? "at rest" : SNESConvergedReasons[reason], its, linear, (double)PetscRealPart(energy)));
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST
  test:
    suffix: twist
    nsize: {{1 2}}
    args: -turn 0.5
    filter: sed "s/with [0-9]* iterations/with N iterations/"
TEST*/
