static char help[] = "Semicoarsening: meshes that are halved only in directions of strong coupling (DMBoxSetSemicoarsening()).\n\
  -test meshes     : which meshes follow from each other, back to the finest one by DMRefine()\n\
  -test turned     : couplings of a turned mesh\n\
  -test iterations : FGMRES to 1e-9 takes at most 1.5 times the iterations of isotropic problems for aspects of 10 and 100\n\
  -test odd        : FGMRES to 1e-9 takes at most one iteration more on -odd 15,13,11 cells than on 16 a direction\n\
  -test cycle      : one V-cycle is the same on any number of ranks\n\
  -test update     : coefficients that change between two solves\n\
  -test errors     : bad input\n\
  -problem <box|diffusion|tensor|mapped|turned>, -dim, -cells, -degree : of iterations and cycle\n\
  -aspects <1,10,100> : of iterations; -semicoarsening <-1> : the threshold of those with it\n\n";

#include <patchfd/private/boximpl.h>
#include "catch.h"
#include "convergence.h"
#include "runtest.h"

typedef enum {
  PROBLEM_BOX,       /* poisson on a box that is short in the last direction */
  PROBLEM_DIFFUSION, /* poisson with a large coefficient there */
  PROBLEM_TENSOR,    /* diffusion with a diagonal K that is large there */
  PROBLEM_MAPPED,    /* diffusion on the unit box, mapped to a short one, with cells that grow in the first direction */
  PROBLEM_TURNED     /* the same, turned in space by 90 degrees */
} ProblemType;
static const char *const ProblemTypes[] = {"box", "diffusion", "tensor", "mapped", "turned", "ProblemType", "PROBLEM_", NULL};

typedef struct {
  ProblemType type;
  PetscInt    dim, cells, degree;
} Problem;

static PetscErrorCode GetProblem(Problem *p)
{
  PetscFunctionBeginUser;
  *p = (Problem){PROBLEM_BOX, 2, 16, 2};
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-problem", ProblemTypes, (PetscEnum *)&p->type, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &p->dim, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cells", &p->cells, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-degree", &p->degree, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Map(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar y[],
                          void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) y[d] = x[d];
  y[0] = (PetscPowReal(3, x[0]) - 1) / 2;
  y[dim - 1] /= *(const PetscReal *)ctx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Turn(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar y[], void *ctx)
{
  PetscScalar first;

  PetscFunctionBeginUser;
  PetscCall(Map(dim, time, x, Nc, y, ctx));
  first      = y[0];
  y[0]       = -y[dim - 1];
  y[dim - 1] = first;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* aspect must live as long as the DM */
static PetscErrorCode CreateDM(MPI_Comm comm, const Problem *p, PetscReal *aspect, DM *dm)
{
  const PetscInt  last = p->dim - 1, cells[3] = {p->cells, p->cells, p->cells};
  const PetscReal lower[3] = {0, 0, 0};
  PetscReal       upper[3] = {1, 1, 1}, K[3] = {1, 1, 1};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(comm, p->dim, cells, p->degree, dm));
  if (p->type == PROBLEM_BOX) upper[last] /= *aspect;
  PetscCall(DMBoxSetBounds(*dm, lower, upper));
  if (p->type >= PROBLEM_TENSOR) PetscCall(DMBoxSetOperator(*dm, "diffusion"));
  K[last] = PetscSqr(*aspect);
  if (p->type == PROBLEM_DIFFUSION) PetscCall(DMBoxSetPoisson(*dm, K, 0));
  if (p->type == PROBLEM_TENSOR) PetscCall(DMBoxSetDiffusion(*dm, p->dim, K, 0));
  if (p->type >= PROBLEM_MAPPED) PetscCall(DMBoxSetMapping(*dm, p->type == PROBLEM_TURNED ? Turn : Map, aspect));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- meshes ---- */

static PetscErrorCode PrintCells(DM dm)
{
  PetscInt dim, cells[3];

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetCells(dm, cells));
  for (PetscInt d = 0; d < dim; d++) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s%" PetscInt_FMT, d ? "x" : " ", cells[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMeshes(void)
{
  DM             dm, at, next;
  PetscInt       n, cells[3], again[3];
  PetscBool      same;
  PetscErrorCode ierr;

  PetscFunctionBeginUser;
  PetscCall(DMCreate(PETSC_COMM_WORLD, &dm));
  PetscCall(DMSetType(dm, DMBOX));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMBoxGetNumCoarsenings(dm, &n));
  PetscCall(PetscObjectReference((PetscObject)dm));
  at = dm;
  PetscCall(PrintCells(at));
  for (PetscInt l = 0; l < n; l++) {
    PetscCall(DMCoarsen(at, MPI_COMM_NULL, &next));
    PetscCall(DMDestroy(&at));
    at = next;
    PetscCall(PrintCells(at));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  CATCH(ierr, DMCoarsen(at, MPI_COMM_NULL, &next));
  if (ierr != PETSC_ERR_ARG_OUTOFRANGE)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "DMBoxGetNumCoarsenings() says %" PetscInt_FMT ", but there is one more\n", n));
  for (PetscInt l = 0; l < n; l++) {
    PetscCall(DMRefine(at, MPI_COMM_NULL, &next));
    PetscCall(DMDestroy(&at));
    at = next;
  }
  PetscCall(DMBoxGetCells(dm, cells));
  PetscCall(DMBoxGetCells(at, again));
  PetscCall(PetscArraycmp(cells, again, dm->dim, &same));
  if (!same) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "DMRefine() does not lead back to the finest mesh\n"));
  PetscCall(DMViewFromOptions(dm, NULL, "-fine_view"));
  PetscCall(DMDestroy(&at));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* couplings, which also choose the patches on GPUs, are as the squares of the lengths of cells, whichever way a map turns them */
static PetscErrorCode TestTurned(void)
{
  PetscReal       aspect = 10;
  Problem         p;
  DM              dm;
  DMBoxCoarsening c;

  PetscFunctionBeginUser;
  PetscCall(GetProblem(&p));
  for (p.type = PROBLEM_MAPPED; p.type <= PROBLEM_TURNED; p.type++) {
    PetscCall(CreateDM(PETSC_COMM_WORLD, &p, &aspect, &dm));
    PetscCall(DMBoxCoarseningBegin(dm, &c));
    PetscCall(DMDestroy(&dm));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: cells are %.4g times as long as wide\n", ProblemTypes[p.type],
                          (double)PetscSqrtReal(c.coupling[p.dim - 1] / c.coupling[0])));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- iterations ---- */

static PetscErrorCode TestIterations(void)
{
  PetscBool verbose   = PETSC_FALSE;
  PetscReal aspect[3] = {1, 10, 100}, nu[3][2], threshold = PETSC_DETERMINE;
  PetscInt  n = 3;
  Problem   p;

  PetscFunctionBeginUser;
  PetscCall(GetProblem(&p));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCall(PetscOptionsGetRealArray(NULL, NULL, "-aspects", aspect, &n, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-semicoarsening", &threshold, NULL));
  for (int i = 0; i < 3; i++) {
    for (int semi = 0; semi < 2; semi++) {
      DM  dm;
      KSP ksp;

      PetscCall(CreateDM(PETSC_COMM_WORLD, &p, &aspect[i], &dm));
      PetscCall(DMBoxSetSemicoarsening(dm, semi ? threshold : 0));
      PetscCall(CreateKSP(dm, &ksp));
      PetscCall(SolveKSP(ksp, NULL, &nu[i][semi]));
      PetscCall(KSPDestroy(&ksp));
      PetscCall(DMDestroy(&dm));
    }
    if (verbose)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %" PetscInt_FMT "D k = %" PetscInt_FMT " aspect %g: nu %.1f, with semicoarsening %.1f\n",
                            ProblemTypes[p.type], p.dim, p.degree, (double)aspect[i], (double)nu[i][0], (double)nu[i][1]));
    if (i == 0) continue;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "aspect %g: %s than 1.5 times the isotropic count, %s with semicoarsening\n", (double)aspect[i],
                          nu[i][0] > 1.5 * nu[0][0] ? "more" : "LESS", nu[i][1] > 1.5 * nu[0][0] ? "MORE" : "less"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- cells that cannot be halved ---- */

/* with a random solution */
static PetscErrorCode CountIterations(const PetscInt cells[3], PetscInt *its)
{
  DM  dm;
  KSP ksp;
  Mat A;
  Vec x, b;

  PetscFunctionBeginUser;
  PetscCall(DMCreate(PETSC_COMM_WORLD, &dm));
  PetscCall(DMSetType(dm, DMBOX));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMBoxSetCells(dm, cells));
  PetscCall(DMSetUp(dm));
  PetscCall(CreateKSP(dm, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOdd(void)
{
  const PetscInt even[3] = {16, 16, 16};
  PetscInt       odd[3] = {15, 13, 11}, n = 3, its[2];

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-odd", odd, &n, NULL));
  PetscCall(CountIterations(odd, &its[0]));
  PetscCall(CountIterations(even, &its[1]));
  if (its[0] <= its[1] + 1) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "odd numbers of cells: as many iterations\n"));
  else
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "odd numbers of cells: %" PetscInt_FMT " iterations, even ones %" PetscInt_FMT "\n", its[0], its[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- ranks ---- */

/* without a pattern, the same on every mesh that it is evaluated on */
static PetscErrorCode Rough(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar f[],
                            PETSC_UNUSED void *ctx)
{
  PetscReal s = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) s += (PetscReal)(3 + 5 * d) * x[d];
  f[0] = PetscSinReal(17 * s) + PetscExpReal(x[0]) * PetscCosReal(90 * x[dim - 1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a V-cycle on this communicator: all nodes, in natural order, on every rank of it */
static PetscErrorCode Cycle(MPI_Comm comm, const Problem *p, PetscReal *aspect, PetscInt *n, PetscScalar **all)
{
  DM                 dm;
  KSP                ksp;
  PC                 pc;
  Vec                b, x;
  PetscSF            sf;
  const PetscScalar *ax;

  PetscFunctionBeginUser;
  PetscCall(CreateDM(comm, p, aspect, &dm));
  PetscCall(CreateKSP(dm, &ksp));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(DMCreateGlobalVector(dm, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Rough, NULL, b));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecGetSize(x, n));
  PetscCall(PetscMalloc1(*n, all));
  PetscCall(DMBoxCreateNaturalSF(dm, &sf));
  PetscCall(VecGetArrayRead(x, &ax));
  PetscCall(PetscSFBcastBegin(sf, MPIU_SCALAR, ax, *all, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, MPIU_SCALAR, ax, *all, MPI_REPLACE));
  PetscCall(VecRestoreArrayRead(x, &ax));
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCycle(void)
{
  PetscReal    aspect = 6, largest = 0, difference = 0;
  PetscInt     n;
  PetscScalar *here, *there;
  Problem      p;

  PetscFunctionBeginUser;
  PetscCall(GetProblem(&p));
  PetscCall(Cycle(PETSC_COMM_SELF, &p, &aspect, &n, &here));
  PetscCall(Cycle(PETSC_COMM_WORLD, &p, &aspect, &n, &there));
  for (PetscInt i = 0; i < n; i++) {
    largest    = PetscMax(largest, PetscAbsScalar(here[i]));
    difference = PetscMax(difference, PetscAbsScalar(here[i] - there[i]));
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &difference, 1, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "a V-cycle: %s\n",
                        largest > 0 && difference <= 1e-10 * largest ? "as on one rank" : "NOT as on one rank"));
  PetscCall(PetscFree(here));
  PetscCall(PetscFree(there));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- coefficients that change ---- */

static PetscErrorCode TestUpdate(void)
{
  const PetscReal isotropic[2] = {1, 1}, strong[2] = {1, 1e4};
  PetscReal       aspect = 1, nu[4];
  Problem         p;
  DM              dm;
  KSP             ksp;
  Mat             A;

  PetscFunctionBeginUser;
  PetscCall(GetProblem(&p));
  p.type = PROBLEM_TENSOR;
  PetscCall(CreateDM(PETSC_COMM_WORLD, &p, &aspect, &dm));
  for (int i = 0; i < 4; i++) { /* a kept solver halves the directions that a new one halves */
    PetscCall(DMBoxSetDiffusion(dm, 2, i % 3 == 0 ? isotropic : strong, 0));
    if (i % 2 == 0) PetscCall(CreateKSP(dm, &ksp));
    else {
      PetscCall(KSPGetOperators(ksp, &A, NULL));
      PetscCall(KSPSetOperators(ksp, A, A));
    }
    PetscCall(SolveKSP(ksp, NULL, &nu[i]));
    if (i % 2) PetscCall(KSPDestroy(&ksp));
  }
  for (int i = 0; i < 4; i++)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %s: %s\n", i % 3 == 0 ? "isotropic" : "anisotropic", i % 2 ? "kept" : "new",
                          nu[i] < 1.5 * nu[0] ? "as many iterations" : "MORE ITERATIONS"));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- errors ---- */

static PetscErrorCode TestErrors(void)
{
  static const char *const operators[] = {"poisson", "diffusion", "biharmonic", "stokes", "heat"};
  static const DMBoxSpace  spaces[]    = {DMBOX_SPACE_Q, DMBOX_SPACE_Q, DMBOX_SPACE_Q, DMBOX_SPACE_RT, DMBOX_SPACE_P1};
  const PetscReal          bad[]       = {-0.5, 1.5};
  const PetscInt           cells[2]    = {4, 4};
  PetscReal                threshold;
  DM                       dm;
  PetscErrorCode           ierr;

  PetscFunctionBeginUser;
  for (int i = 0; i < 5; i++) {
    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, i == 2 ? 2 : 1, &dm));
    PetscCall(DMBoxSetOperator(dm, operators[i]));
    PetscCall(DMBoxSetSpace(dm, spaces[i]));
    PetscCall(DMBoxGetSemicoarsening(dm, &threshold));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %g\n", operators[i], (double)threshold));
    for (int j = 0; j < 2 && i == 0; j++) {
      CATCH(ierr, DMBoxSetSemicoarsening(dm, bad[j]));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", ierr == PETSC_ERR_ARG_OUTOFRANGE ? "ok" : "NO ERROR", lastmessage));
    }
    PetscCall(DMBoxSetSemicoarsening(dm, 0.5));
    CATCH(ierr, DMSetUp(dm));
    if (i < 2) {
      PetscCall(ierr);
      PetscCall(DMBoxGetSemicoarsening(dm, &threshold));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %g\n", operators[i], (double)threshold));
    } else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", ierr == PETSC_ERR_SUP ? "ok" : "NO ERROR", lastmessage));
    PetscCall(DMDestroy(&dm));
  }
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  PetscCall(DMBoxSetOperator(dm, "biharmonic"));
  PetscCall(DMSetUp(dm));
  PetscCall(DMBoxSetSemicoarsening(dm, 0));
  CATCH(ierr, DMBoxSetSemicoarsening(dm, 0.2));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", ierr == PETSC_ERR_SUP ? "ok" : "NO ERROR", lastmessage));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("iterations", {"meshes", TestMeshes}, {"iterations", TestIterations}, {"odd", TestOdd}, {"cycle", TestCycle},
          {"update", TestUpdate}, {"errors", TestErrors}, {"turned", TestTurned})

/*TEST

  # the same meshes on any number of ranks
  testset:
    nsize: {{1 2 4}}
    args: -test meshes -dm_box_dim 2
    test:
      suffix: isotropic
      args: -dm_box_cells 16 -each_dm_box_upper 1,1:1,0.5 -each_dm_box_semicoarsening -1:0.25
    test:
      suffix: meshes
      args: -dm_box_cells 16 -dm_box_upper 1,0.1 -fine_view
      filter: grep -v process
    test:
      suffix: threshold
      args: -dm_box_cells 16 -dm_box_upper 1,0.5 -dm_box_semicoarsening 0.3
    test:
      suffix: off
      args: -dm_box_cells 16 -dm_box_upper 1,0.1 -dm_box_semicoarsening 0
    test:
      suffix: odd
      args: -dm_box_cells 17,11 -dm_box_upper 0.1,1
    test:
      suffix: mapped
      args: -dm_box_cells 8 -dm_box_degree 2 -dm_box_operator diffusion -dm_box_mapping annulus -dm_box_mapping_parameter 0.95
    test:
      suffix: mapped_cuda
      requires: cuda gpu
      output_file: output/semicoarsening_mapped.out
      args: -dm_box_cells 8 -dm_box_degree 2 -dm_box_operator diffusion -dm_box_mapping annulus -dm_box_mapping_parameter 0.95 -dm_vec_type cuda
  testset:
    args: -test meshes -dm_box_dim 3
    test:
      suffix: three
      args: -dm_box_cells 8 -dm_box_diffusion 1,0.01,0.0001 -each_dm_box_space q:dgq
    test:
      suffix: thin
      args: -dm_box_cells 8,8,2 -dm_box_upper 1,1,0.01
    test:
      suffix: plate
      args: -dm_box_cells 8,8,2 -dm_box_upper 1,1,0.25
    test:
      suffix: others
      args: -dm_box_cells 4 -dm_box_degree 2 -dm_box_operator biharmonic -dm_box_upper 1,1,0.01

  testset:
    output_file: output/semicoarsening_iterations.out
    test:
      suffix: iterations
      args: -each_problem box:diffusion:tensor:mapped:turned -each_degree 2:4
    test:
      suffix: iterations_shared
      args: -problem mapped -degree 4 -mg_levels_pc_patchfd_fit shared
    test:
      suffix: iterations_dgq
      args: -problem box -dm_box_space dgq
    test:
      suffix: iterations_single
      args: -problem box -degree 4 -pc_type single -single_pc_type patchmg -single_pc_patchmg_coarse_eq_limit 0
    test:
      suffix: iterations_3d
      nsize: {{1 2}}
      args: -each_problem box:mapped -dim 3 -cells 8
  testset:
    args: -aspects 1,0.1,0.01
    output_file: output/semicoarsening_weak.out
    test:
      suffix: weak
      args: -each_problem box:tensor -each_degree 2:4
    test:
      suffix: weak_3d
      args: -problem tensor -dim 3 -cells 8

  testset:
    args: -test odd
    output_file: output/semicoarsening_odd_iterations.out
    test:
      suffix: odd_poisson
      nsize: {{1 3}}
      args: -each_dm_box_dim 2:3 -each_dm_box_degree 1:2:3 -each_dm_box_space q:dgq
    test:
      suffix: odd_diffusion
      nsize: {{1 2}}
      args: -each_dm_box_dim 2:3 -dm_box_degree 2 -dm_box_operator diffusion -dm_box_mapping sine -each_dm_box_galerkin false:true
    test:
      suffix: odd_single
      args: -dm_box_dim 3 -dm_box_degree 2 -dm_box_operator diffusion -pc_type single -single_pc_type patchmg
    test:
      suffix: odd_plate
      nsize: {{1 2}}
      args: -dm_box_dim 2 -dm_box_degree 3 -dm_box_operator biharmonic
    test:
      suffix: odd_flow
      nsize: {{1 2}}
      args: -each_dm_box_dim 2:3 -dm_box_operator stokes -dm_box_space rt -dm_box_degree 1
    test:
      suffix: odd_solid
      args: -dm_box_dim 3 -dm_box_degree 2 -dm_box_operator elasticity -dm_box_space vq

  testset:
    nsize: {{1 2 3 4}}
    args: -test cycle
    output_file: output/semicoarsening_cycle.out
    test:
      suffix: cycle
      args: -each_problem box:mapped -each_degree 1:3
    test:
      suffix: cycle_3d
      args: -each_problem diffusion:mapped -dim 3 -cells 8
    test:
      suffix: cycle_odd
      args: -problem mapped -dim 3 -cells 7 -degree 2 -dm_box_semicoarsening 0 -each_dm_box_galerkin false:true
    # degree 1 on the same cells, by PCPATCHMG
    test:
      suffix: cycle_lowering
      args: -problem mapped -dim 3 -cells 6 -degree 4 -dm_box_mapping kershaw -dm_box_galerkin false -pc_patchmg_coarse_eq_limit decide
    test:
      suffix: cycle_dgq
      args: -problem box -dim 3 -cells 8 -dm_box_space dgq -degree 1
    test:
      suffix: cycle_symmetric
      args: -problem box -pc_patchmg_symmetric -dm_box_processes 1,-1

  test:
    suffix: turned
    nsize: {{1 3}}
    args: -test turned -dim {{2 3}} -cells 8
  test:
    suffix: update
    nsize: {{1 2}}
    args: -test update
  # which directions were halved
  test:
    suffix: view
    args: -problem box -aspects 10,10,10 -cells 8 -ksp_view -info :dm
    filter: sed -n -e "s/.*Semicoarsening/Semicoarsening/p" -e "s/.*semicoarsening:/semicoarsening:/p" | sort -u
  test:
    suffix: errors
    args: -test errors -malloc_dump 0

  testset:
    requires: cuda gpu
    args: -dm_vec_type cuda
    test:
      suffix: cuda
      output_file: output/semicoarsening_iterations.out
      args: -problem {{box diffusion}} -degree {{2 4}}
    test:
      suffix: cuda_3d
      output_file: output/semicoarsening_iterations.out
      args: -problem {{box mapped}} -dim 3 -cells 8
    test:
      suffix: cuda_cycle
      nsize: {{1 2}}
      output_file: output/semicoarsening_cycle.out
      args: -test cycle -problem {{box diffusion}} -degree {{1 3}}
TEST*/
