static char help[] =
  "Iteration counts of multigrid with vertex patches for elasticity against those of the NumPy reference, nu to 0.1, or 2 % above 10.\n\
mu = 1, 2^L cells a direction of the unit cube, f_0 = 1 + x_1, f_c = 1 - 2 x_(c+1); a beam of 12 x 2 (x 2) with f = -e_(d-1).\n\
Solvers: FGMRES to 1e-9 of the true residual with the same order of colours before and after the coarse correction (options with the\n\
prefix fgmres_), the same with the V-cycle in single precision (float_), and CG with symmetric cycles (cg_).\n\
nu = -9 / log10(mean reduction of the residual an iteration).\n\
  -dim <d>, -max_unknowns <n>, -sides <clamped|cantilever|symmetry|mixed|beam|waves|higher_waves|annulus> : which rows\n\n";

#include <petscpatchfd.h>

enum {
  FGMRES,
  FLOAT,
  CG,
  SOLVERS
};
static const char *const prefixes[] = {"fgmres_", "float_", "cg_"};

typedef enum {
  CLAMPED,
  CANTILEVER, /* lower x clamped, else free */
  SYMMETRY,
  MIXED, /* x clamped and symmetry, y symmetry and free, z u_0 fixed alone and clamped */
  BEAM,  /* a cantilever of 3 2^L x 2^(L - 1) (x 2^(L - 1)) cells */
  WAVES, /* clamped and mapped, by sine2 with 0.05 and 0.1, and an annulus: on the host, if one asks for them */
  HIGHER_WAVES,
  ANNULUS
} Sides;
static const char *const SidesNames[] = {"clamped",      "cantilever", "symmetry", "mixed", "beam", "waves",
                                         "higher_waves", "annulus",    "Sides",    "",      NULL};

/* degree, level, Poisson's ratio, whether lambda terms are projected to degree k - 2, nu of FGMRES and, where the reference has it, CG */
static const struct {
  PetscInt  d, k, L;
  Sides     sides;
  PetscReal ratio;
  PetscBool projected;
  PetscReal fgmres, cg;
} reference[] = {
  {2, 1, 4, CLAMPED, 0, PETSC_FALSE, 7.08, 0},
  {2, 1, 4, CLAMPED, 0.3, PETSC_FALSE, 9.51, 0},
  {2, 1, 4, CLAMPED, 0.45, PETSC_FALSE, 15.3, 0},
  {2, 2, 4, CLAMPED, 0, PETSC_FALSE, 4.22, 0},
  {2, 2, 4, CLAMPED, 0.3, PETSC_FALSE, 4.78, 5.51},
  {2, 2, 4, CLAMPED, 0.45, PETSC_FALSE, 6.65, 0},
  {2, 2, 4, CLAMPED, 0.49, PETSC_FALSE, 12.8, 16.0},
  {2, 3, 4, CLAMPED, 0, PETSC_FALSE, 3.77, 0},
  {2, 3, 4, CLAMPED, 0.3, PETSC_FALSE, 3.91, 4.52},
  {2, 3, 4, CLAMPED, 0.45, PETSC_FALSE, 4.37, 0},
  {2, 3, 4, CLAMPED, 0.49, PETSC_FALSE, 5.70, 6.84},
  {2, 4, 4, CLAMPED, 0.3, PETSC_FALSE, 2.98, 0},
  {2, 4, 4, CLAMPED, 0.45, PETSC_FALSE, 3.50, 0},
  {2, 5, 4, CLAMPED, 0.3, PETSC_FALSE, 2.92, 0},
  {2, 6, 4, CLAMPED, 0.3, PETSC_FALSE, 2.51, 0},
  {2, 7, 3, CLAMPED, 0.3, PETSC_FALSE, 2.26, 0},
  {2, 8, 3, CLAMPED, 0.3, PETSC_FALSE, 2.13, 0},
  {3, 1, 3, CLAMPED, 0.3, PETSC_FALSE, 8.89, 0},
  {3, 2, 3, CLAMPED, 0, PETSC_FALSE, 4.59, 0},
  {3, 2, 3, CLAMPED, 0.3, PETSC_FALSE, 4.71, 0},
  {3, 2, 3, CLAMPED, 0.45, PETSC_FALSE, 6.08, 0},
  {3, 3, 2, CLAMPED, 0.3, PETSC_FALSE, 3.22, 0},
  {3, 3, 2, CLAMPED, 0.45, PETSC_FALSE, 3.63, 0},
  {3, 4, 2, CLAMPED, 0.3, PETSC_FALSE, 2.97, 0},
  {2, 1, 4, CANTILEVER, 0.3, PETSC_FALSE, 10.2, 0},
  {2, 2, 4, CANTILEVER, 0.3, PETSC_FALSE, 5.39, 0},
  {2, 3, 4, CANTILEVER, 0.3, PETSC_FALSE, 4.16, 0},
  {2, 4, 3, CANTILEVER, 0.3, PETSC_FALSE, 3.27, 0},
  {2, 2, 4, CANTILEVER, 0.45, PETSC_FALSE, 7.15, 0},
  {2, 3, 4, CANTILEVER, 0.45, PETSC_FALSE, 5.23, 0},
  {2, 1, 4, SYMMETRY, 0.3, PETSC_FALSE, 9.4, 0},
  {2, 2, 4, SYMMETRY, 0.3, PETSC_FALSE, 4.85, 0},
  {2, 3, 4, SYMMETRY, 0.3, PETSC_FALSE, 3.96, 0},
  {2, 4, 3, SYMMETRY, 0.3, PETSC_FALSE, 2.91, 0},
  {2, 2, 4, SYMMETRY, 0.45, PETSC_FALSE, 6.13, 0},
  {2, 1, 4, MIXED, 0.3, PETSC_FALSE, 9.6, 0},
  {2, 2, 4, MIXED, 0.3, PETSC_FALSE, 4.88, 0},
  {2, 3, 4, MIXED, 0.3, PETSC_FALSE, 3.98, 0},
  {2, 2, 4, MIXED, 0.45, PETSC_FALSE, 6.71, 0},
  {3, 1, 3, CANTILEVER, 0.3, PETSC_FALSE, 10.4, 0},
  {3, 2, 3, CANTILEVER, 0.3, PETSC_FALSE, 5.23, 0},
  {3, 3, 2, CANTILEVER, 0.3, PETSC_FALSE, 3.73, 0},
  {3, 2, 3, CANTILEVER, 0.45, PETSC_FALSE, 6.97, 0},
  {3, 3, 2, CANTILEVER, 0.45, PETSC_FALSE, 4.52, 0},
  {3, 1, 3, BEAM, 0.3, PETSC_FALSE, 10.0, 0},
  {3, 2, 3, BEAM, 0.3, PETSC_FALSE, 5.82, 0},
  {3, 2, 3, BEAM, 0.45, PETSC_FALSE, 6.86, 0},
  {2, 2, 4, CLAMPED, 0.3, PETSC_TRUE, 5.58, 5.95},
  {2, 2, 4, CLAMPED, 0.49, PETSC_TRUE, 9.90, 9.64},
  {2, 2, 4, CLAMPED, 0.4999, PETSC_TRUE, 10.65, 10.23},
  {2, 2, 4, CLAMPED, 0.499999, PETSC_TRUE, 10.66, 10.24},
  {2, 3, 4, CLAMPED, 0.3, PETSC_TRUE, 3.88, 4.49},
  {2, 3, 4, CLAMPED, 0.49, PETSC_TRUE, 5.10, 5.61},
  {2, 3, 4, CLAMPED, 0.4999, PETSC_TRUE, 5.37, 5.64},
  {2, 3, 4, CLAMPED, 0.499999, PETSC_TRUE, 5.38, 5.70},
  {2, 4, 3, CLAMPED, 0.49, PETSC_TRUE, 4.07, 4.41},
  {2, 4, 3, CLAMPED, 0.4999, PETSC_TRUE, 4.23, 4.49},
  {2, 5, 3, CLAMPED, 0.4999, PETSC_TRUE, 3.17, 2.92},
  {2, 6, 3, CLAMPED, 0.4999, PETSC_TRUE, 3.01, 2.69},
  {2, 2, 3, CLAMPED, 0.4999, PETSC_TRUE, 8.6, 9.4},
  {2, 2, 5, CLAMPED, 0.4999, PETSC_TRUE, 11.8, 10.9},
  {2, 3, 5, CLAMPED, 0.4999, PETSC_TRUE, 5.59, 5.63},
  {2, 2, 4, CANTILEVER, 0.3, PETSC_TRUE, 6.40, 6.81},
  {2, 2, 4, CANTILEVER, 0.49, PETSC_TRUE, 10.1, 11.6},
  {2, 2, 4, CANTILEVER, 0.4999, PETSC_TRUE, 10.7, 12.5},
  {2, 3, 4, CANTILEVER, 0.49, PETSC_TRUE, 5.53, 6.00},
  {2, 3, 4, CANTILEVER, 0.4999, PETSC_TRUE, 5.82, 6.28},
  {2, 2, 4, MIXED, 0.49, PETSC_TRUE, 9.56, 10.6},
  {2, 2, 4, MIXED, 0.4999, PETSC_TRUE, 10.1, 11.6},
  {2, 3, 4, MIXED, 0.49, PETSC_TRUE, 5.19, 5.77},
  {2, 3, 4, MIXED, 0.4999, PETSC_TRUE, 5.45, 6.03},
  {3, 2, 3, CLAMPED, 0.49, PETSC_TRUE, 9.33, 9.11},
  {3, 2, 3, CLAMPED, 0.4999, PETSC_TRUE, 10.3, 9.70},
  {3, 3, 2, CLAMPED, 0.49, PETSC_TRUE, 4.55, 5.03},
  {3, 3, 2, CLAMPED, 0.4999, PETSC_TRUE, 4.72, 4.95},
  {3, 2, 3, CANTILEVER, 0.49, PETSC_TRUE, 8.31, 10.1},
  {3, 2, 3, CANTILEVER, 0.4999, PETSC_TRUE, 9.20, 10.7},
  {3, 3, 2, CANTILEVER, 0.4999, PETSC_TRUE, 4.58, 5.57},
  {3, 2, 3, BEAM, 0.3, PETSC_TRUE, 6.96, 7.09},
  {3, 2, 3, BEAM, 0.49, PETSC_TRUE, 8.85, 9.97},
  {3, 2, 3, BEAM, 0.4999, PETSC_TRUE, 9.18, 10.3},
  {3, 1, 3, MIXED, 0.3, PETSC_FALSE, 9.7, 0},
  {3, 2, 3, MIXED, 0.3, PETSC_FALSE, 4.93, 0},
  {3, 3, 2, MIXED, 0.3, PETSC_FALSE, 3.42, 0},
  {3, 2, 3, MIXED, 0.45, PETSC_FALSE, 6.26, 0},
  {3, 3, 2, MIXED, 0.45, PETSC_FALSE, 3.99, 0},
  {3, 2, 3, MIXED, 0.49, PETSC_TRUE, 9.34, 10.1},
  {3, 2, 3, MIXED, 0.4999, PETSC_TRUE, 10.2, 11.1},
  {3, 3, 2, MIXED, 0.49, PETSC_TRUE, 4.65, 5.32},
  {3, 3, 2, MIXED, 0.4999, PETSC_TRUE, 4.89, 5.51},
  {2, 2, 4, WAVES, 0.3, PETSC_FALSE, 5.7, 0},
  {2, 4, 3, WAVES, 0.3, PETSC_FALSE, 3.1, 0},
  {2, 2, 4, WAVES, 0.45, PETSC_FALSE, 8.0, 0},
  {2, 4, 3, WAVES, 0.45, PETSC_FALSE, 3.8, 0},
  {2, 2, 4, HIGHER_WAVES, 0.3, PETSC_FALSE, 8.0, 0},
  {2, 4, 3, HIGHER_WAVES, 0.3, PETSC_FALSE, 4.1, 0},
  {2, 2, 4, HIGHER_WAVES, 0.45, PETSC_FALSE, 12.2, 0},
  {2, 4, 3, HIGHER_WAVES, 0.45, PETSC_FALSE, 5.2, 0},
  {2, 2, 4, ANNULUS, 0.3, PETSC_FALSE, 8.3, 0},
  {2, 4, 3, ANNULUS, 0.3, PETSC_FALSE, 4.5, 0},
  {2, 2, 4, ANNULUS, 0.45, PETSC_FALSE, 12.3, 0},
  {2, 4, 3, ANNULUS, 0.45, PETSC_FALSE, 5.5, 0},
  {2, 2, 4, HIGHER_WAVES, 0.3, PETSC_TRUE, 7.8, 8.8},
  {2, 2, 4, HIGHER_WAVES, 0.49, PETSC_TRUE, 12.9, 15.9},
  {2, 3, 3, HIGHER_WAVES, 0.3, PETSC_TRUE, 5.2, 5.7},
  {2, 3, 3, HIGHER_WAVES, 0.49, PETSC_TRUE, 7.3, 7.9},
  {2, 4, 3, HIGHER_WAVES, 0.3, PETSC_TRUE, 4.1, 4.5},
  {2, 4, 3, HIGHER_WAVES, 0.49, PETSC_TRUE, 5.8, 5.9},
  {2, 2, 4, ANNULUS, 0.3, PETSC_TRUE, 8.5, 10.4},
  {2, 2, 4, ANNULUS, 0.49, PETSC_TRUE, 17.1, 25.0},
  {2, 3, 3, ANNULUS, 0.3, PETSC_TRUE, 5.3, 6.6},
  {2, 3, 3, ANNULUS, 0.49, PETSC_TRUE, 8.8, 11.1},
  /* near 1/2 the geometry counts: of the reference, too, with images of cells that are polynomials of degree k */
  {2, 2, 4, HIGHER_WAVES, 0.4999, PETSC_TRUE, 23.66, 18.81},
  {2, 3, 3, HIGHER_WAVES, 0.4999, PETSC_TRUE, 7.98, 8.91},
  {2, 4, 3, HIGHER_WAVES, 0.4999, PETSC_TRUE, 6.08, 5.89},
  {2, 2, 4, ANNULUS, 0.4999, PETSC_TRUE, 20.16, 31.90},
  {2, 3, 3, ANNULUS, 0.4999, PETSC_TRUE, 9.49, 10.89},
};

static PetscErrorCode Force(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar f[], void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < Nc; c++) f[c] = *(const Sides *)ctx == BEAM ? (c == dim - 1 ? -1 : 0) : 1 + x[(c + 1) % dim] * (c == 0 ? 1 : -2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemCreate(size_t row, DM *dm, Mat *A, Vec *b)
{
  static const DMBoxBoundaryType boundary[][6] = {[MIXED] = {DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_SYMMETRY, DMBOX_BOUNDARY_SYMMETRY,
                                                             DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_SYMMETRY, DMBOX_BOUNDARY_DIRICHLET},
                                                  [CANTILEVER] = {DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN,
                                                                  DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN},
                                                  [BEAM]       = {DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN,
                                                                  DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN},
                                                  [SYMMETRY]   = {DMBOX_BOUNDARY_SYMMETRY, DMBOX_BOUNDARY_SYMMETRY, DMBOX_BOUNDARY_SYMMETRY,
                                                                  DMBOX_BOUNDARY_SYMMETRY},
                                                  [CLAMPED]    = {DMBOX_BOUNDARY_DIRICHLET}};
  const PetscInt                 n = (PetscInt)1 << reference[row].L, k = reference[row].k;
  Sides                          sides       = reference[row].sides;
  const PetscInt                 cells[2][3] = {{n, n, n}, {3 * n, n / 2, n / 2}};
  const PetscInt                 component[] = {PETSC_DETERMINE, PETSC_DETERMINE, PETSC_DETERMINE, PETSC_DETERMINE, 0, PETSC_DETERMINE};
  const PetscReal                parameter[] = {0.05, 0.1, 0.5};
  const PetscReal                ratio = reference[row].ratio, lower[] = {0, 0, 0}, upper[2][3] = {{1, 1, 1}, {12, 2, 2}};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, reference[row].d, cells[sides == BEAM], k, dm));
  PetscCall(DMBoxSetBounds(*dm, lower, upper[sides == BEAM]));
  PetscCall(DMBoxSetSpace(*dm, DMBOX_SPACE_VQ));
  PetscCall(DMBoxSetOperator(*dm, "elasticity"));
  PetscCall(DMBoxSetElasticity(*dm, 2 * ratio / (1 - 2 * ratio), 1, 0));
  PetscCall(DMBoxSetLambdaDegree(*dm, reference[row].projected ? k - 2 : k));
  PetscCall(DMBoxSetBoundary(*dm, boundary[sides >= WAVES ? CLAMPED : sides]));
  if (sides >= WAVES)
    PetscCall(DMBoxSetMappingType(*dm, sides == ANNULUS ? DMBOX_MAPPING_ANNULUS : DMBOX_MAPPING_SINE2, parameter[sides - WAVES]));
  if (sides == MIXED && reference[row].d == 3) PetscCall(DMBoxSetSymmetryComponents(*dm, component));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMCreateMatrix(*dm, A));
  PetscCall(DMCreateGlobalVector(*dm, b));
  PetscCall(DMBoxAddLoad(*dm, 0, Force, &sides, *b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(DM dm, Mat A, Vec b, int solver, PetscReal ratio, PetscInt *its, PetscReal *nu)
{
  KSP       ksp;
  PC        pc;
  Vec       x, r;
  PetscReal r0, rn;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefixes[solver]));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, solver == CG ? KSPCG : KSPFGMRES));
  PetscCall(KSPSetNormType(ksp, solver == CG ? KSP_NORM_UNPRECONDITIONED : KSP_NORM_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, solver == FLOAT ? "single" : PCPATCHMG));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPGMRESSetRestart(ksp, 100));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetResidualNorm(ksp, &rn));
  PetscCall(VecNorm(b, NORM_2, &r0));
  *nu = -9 * *its / PetscLog10Real(rn / r0);
  PetscCall(MatMult(A, x, r)); /* what the solver believes must be true, as far as rounding lets it */
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &rn));
  if (!(rn <= (ratio > 0.49 ? 1e-7 : 1.1e-9) * r0))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "    true relative residual %g\n", (double)(rn / r0)));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CompareRow(size_t row, PetscInt *deviations)
{
  /* closer to 1/2, residuals in single precision cost iterations: no float_ there */
  const PetscReal expected[SOLVERS] = {reference[row].fgmres, reference[row].ratio > 0.49 ? 0 : reference[row].fgmres, reference[row].cg};
  PetscInt        its[SOLVERS]      = {0}, N;
  PetscReal       nu[SOLVERS];
  DM              dm;
  Mat             A;
  Vec             b;

  PetscFunctionBeginUser;
  PetscCall(ProblemCreate(row, &dm, &A, &b));
  PetscCall(VecGetSize(b, &N));
  for (int s = 0; s < SOLVERS; s++)
    if (s != FLOAT || expected[s]) PetscCall(Solve(dm, A, b, s, reference[row].ratio, &its[s], &nu[s]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%3" PetscInt_FMT " %3" PetscInt_FMT " %7" PetscInt_FMT " %-10s %8g %s |", reference[row].k,
                        reference[row].L, N, SidesNames[reference[row].sides], (double)reference[row].ratio,
                        reference[row].projected ? "projected" : "         "));
  for (int s = 0; s < SOLVERS; s++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %6" PetscInt_FMT " |", its[s]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  for (int s = 0; s < SOLVERS; s++) {
    if (!expected[s] || PetscAbsReal(nu[s] - expected[s]) <= PetscMax(0.1, 0.02 * expected[s])) continue;
    (*deviations)++;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "    DEVIATES: %snu is %.2f, not %.2f\n", prefixes[s], (double)nu[s], (double)expected[s]));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const options[] = {"-fgmres_pc_mg_type",    "multiplicative", "-float_single_pc_mg_type", "multiplicative",
                                        "-cg_pc_mg_type",        "multiplicative", "-cg_pc_patchmg_symmetric", "true",
                                        "-float_single_pc_type", PCPATCHMG};
  PetscInt                 dim = 2, compared = 0, deviations = 0;
  PetscReal                max   = 20000;
  PetscEnum                sides = (PetscEnum)0;
  PetscBool                one, set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-max_unknowns", &max, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-sides", SidesNames, &sides, &one));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(options); i += 2) { /* the references have V-cycles */
    PetscCall(PetscOptionsHasName(NULL, NULL, options[i], &set));
    if (!set) PetscCall(PetscOptionsSetValue(NULL, options[i], options[i + 1]));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  k   L unknowns sides       ratio           | fgmres |  float |     cg |\n"));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(reference); i++) {
    const PetscReal nodes = PetscPowReal((PetscReal)(reference[i].k << reference[i].L), (PetscReal)reference[i].d);

    if (reference[i].d != dim || (one ? reference[i].sides != (Sides)sides : reference[i].sides >= WAVES) ||
        (PetscReal)reference[i].d * nodes > max)
      continue;
    PetscCall(CompareRow(i, &deviations));
    compared++;
  }
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " compared with the reference, %" PetscInt_FMT " deviate\n", compared, deviations));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
     suffix: 2d
     args: -max_unknowns 50000
   test:
     suffix: 3d
     args: -dim 3
   test:
     suffix: waves
     nsize: {{1 2}}
     args: -sides waves
   test:
     suffix: higher_waves
     args: -sides higher_waves
   test:
     suffix: annulus
     args: -sides annulus
   test:
     suffix: ranks
     nsize: {{2 3 4}}
     output_file: output/elasticityiterations_ranks.out
     args: -sides mixed -max_unknowns 6000
   test:
     suffix: ranks_3d
     nsize: {{2 8}}
     output_file: output/elasticityiterations_ranks_3d.out
     args: -dim 3 -sides cantilever -max_unknowns 10000
   testset:
     requires: cuda gpu
     test:
       suffix: cuda
       args: -max_unknowns 50000 -dm_vec_type cuda
       output_file: output/elasticityiterations_2d.out
     test:
       suffix: cuda_3d
       args: -dim 3 -dm_vec_type cuda
       output_file: output/elasticityiterations_3d.out

TEST*/
