static char help[] = "What GPUs need plans for: products, smoothers, transfers, direct solves, on boxes of all operators and spaces.\n\
Each is set up, used, set up again after a change, used again, and destroyed, on sizes that are even, odd and one, and around rings.\n\
Numbers must be finite; whether they are right is other programs' concern, so that it also runs where kernels do nothing.\n\
  -dm_vec_type : cuda or singlecuda\n\
  -first <i>, -count <n> : some of the boxes\n\n";

#include <petscpatchfd.h>

/* the options of a box, and of the preconditioners that it can have */
typedef struct {
  const char *box, *solver[5];
} Case;

#define SMOOTHER "-pc_type patchfd"
#define CYCLE    "-pc_type patchmg -pc_patchmg_coarse_eq_limit 0"
#define DIRECT   "-pc_type patchmg -pc_patchmg_coarse_eq_limit unlimited"
#define LOWERED  "-pc_type patchmg -pc_patchmg_coarse_eq_limit 0 -pc_mg_levels 2"
#define FUSED    "-ksp_type fusedcg -pc_type jacobi"
#define SINGLED  "-pc_type single -single_pc_type patchmg"

#define P2(cells, degree) "-dm_box_dim 2 -dm_box_cells " cells " -dm_box_degree " degree " "
#define P3(cells, degree) "-dm_box_dim 3 -dm_box_cells " cells " -dm_box_degree " degree " "
#define DGQ               "-dm_box_space dgq "
#define RINGS             "-dm_box_boundary periodic "
#define OPEN              "-dm_box_shift 1 -dm_box_boundary neumann "
#define PLATE             "-dm_box_operator biharmonic "
#define VARIABLE          "-dm_box_operator diffusion -dm_box_mapping sine "
#define FLOW              "-dm_box_operator stokes -dm_box_space rt "
#define SOLID             "-dm_box_operator elasticity -dm_box_space vq "
#define HEAT              "-dm_box_operator heat -dm_box_space p1 -dm_box_shift 1 "

static const Case cases[] = {
  {"-dm_box_dim 1 -dm_box_cells 37 -dm_box_degree 2", {SMOOTHER, CYCLE, DIRECT, SINGLED}},
  {P2("7,4", "1"), {SMOOTHER, CYCLE, DIRECT, SINGLED}},
  {P2("7,1", "1"), {SMOOTHER, CYCLE, DIRECT, SINGLED}},
  {P2("1,9", "5") OPEN, {SMOOTHER, CYCLE, DIRECT, LOWERED}},
  {P2("9,6", "3") RINGS, {FUSED, CYCLE, DIRECT, SINGLED}},
  {P2("33,5", "8"), {SMOOTHER " -pc_patchfd_type additive", CYCLE, LOWERED}},
  {P3("20,17,9", "1"), {SMOOTHER, CYCLE, DIRECT, SINGLED}},
  {P3("8,8,8", "1") RINGS, {SMOOTHER, CYCLE, DIRECT, SINGLED}},
  {P3("9,5,7", "2") OPEN, {SMOOTHER " -pc_patchfd_variant fused", CYCLE, DIRECT, SINGLED}},
  {P3("8,4,5", "3") RINGS, {SMOOTHER " -pc_patchfd_variant global", CYCLE, DIRECT, SINGLED}},
  {P3("5,1,4", "4"), {SMOOTHER, CYCLE, DIRECT, LOWERED}},
  {P3("3,2,4", "7"), {SMOOTHER, CYCLE, SINGLED, LOWERED}},
  {P3("2,3,2", "9"), {SMOOTHER, CYCLE, LOWERED}},
  {P3("4,4,4", "2") "-dm_box_boundary periodic,periodic,dirichlet,neumann,periodic,periodic", {SMOOTHER, CYCLE, DIRECT}},
  {P2("8,6", "2") DGQ, {SMOOTHER, CYCLE, DIRECT, SINGLED}},
  {P3("5,4,3", "3") DGQ, {SMOOTHER, CYCLE, DIRECT}},
  {P3("6,4,4", "2") DGQ RINGS, {SMOOTHER, CYCLE, SINGLED}},
  {P2("8,5", "3") PLATE, {SMOOTHER " -pc_patchfd_local dense -pc_patchfd_precision tf32", CYCLE, SINGLED}},
  {P3("3,2,4", "2") PLATE, {SMOOTHER, CYCLE}},
  {P2("8,5", "4") VARIABLE, {SMOOTHER, CYCLE, SINGLED}},
  {P3("6,4,5", "2") VARIABLE, {SMOOTHER " -pc_patchfd_patch cell", CYCLE, SINGLED}},
  {P3("4,4,4", "3") VARIABLE "-dm_box_mapping none -dm_box_galerkin true", {SMOOTHER " -pc_patchfd_fit shared", CYCLE}},
  {P2("8,4", "2") FLOW, {SMOOTHER " -pc_patchfd_local dense", CYCLE, SINGLED}},
  {P3("4,2,3", "1") FLOW, {SMOOTHER " -pc_patchfd_local schur", CYCLE}},
  {P2("8,4", "2") FLOW RINGS "-dm_box_shift 1", {SMOOTHER, CYCLE}},
  {P2("7,4", "3") SOLID, {SMOOTHER, CYCLE, SINGLED}},
  {P3("4,3,2", "2") SOLID "-dm_box_mapping sine", {SMOOTHER, CYCLE}},
  {P2("40,31", "1") HEAT, {"-pc_type jacobi", FUSED}},
  {P3("12,9,10", "1") HEAT OPEN "-dm_box_robin 2", {"-pc_type jacobi", FUSED}},
};

/* these options, and no others, until they are popped */
static PetscErrorCode Push(const char *text, PetscOptions *options)
{
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsCreate(options));
  PetscCall(PetscOptionsInsertString(*options, text));
  PetscCall(PetscOptionsPush(*options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Pop(PetscOptions *options)
{
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Finite(const char *what, Vec x)
{
  PetscReal norm;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCheck(!PetscIsInfOrNanReal(norm), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s is not finite", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* two iterations; again, which may be recorded; again after the operator has changed */
static PetscErrorCode Solve(const char *solver, DM dm, Mat A, Vec b, Vec x)
{
  KSP          ksp;
  PetscOptions options;

  PetscFunctionBeginUser;
  PetscCall(Push(solver, &options));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 2));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  for (int i = 0; i < 4; i++) {
    if (i == 3) PetscCall(MatScale(A, 2));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Finite(solver, x));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(Pop(&options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Case *c, const char *vectors)
{
  const PetscInt cells[] = {2, 2, 2};
  DM             dm;
  Mat            A;
  Vec            x, y;
  PetscOptions   options;

  PetscFunctionBeginUser;
  PetscCall(Push(c->box, &options));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 1, &dm));
  PetscCall(DMSetVecType(dm, vectors));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, y));
  PetscCall(Finite("A x", y));
  PetscCall(MatMultTranspose(A, x, y));
  PetscCall(Finite("A' x", y));
  PetscCall(MatMultAdd(A, x, x, y));
  PetscCall(Finite("x + A x", y));
  PetscCall(MatGetDiagonal(A, y));
  PetscCall(Finite("the diagonal of A", y));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(c->solver) && c->solver[i]; i++) PetscCall(Solve(c->solver[i], dm, A, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscCall(Pop(&options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt all   = PETSC_STATIC_ARRAY_LENGTH(cases);
  PetscInt       first = 0, count = all;
  char           vectors[64] = VECCUDA;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_vec_type", vectors, sizeof(vectors), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  for (PetscInt i = first; i < PetscMin(first + count, all); i++) {
    PetscCall(PetscInfo(NULL, "%" PetscInt_FMT ": %s\n", i, cases[i].box));
    PetscCall(Run(&cases[i], vectors));
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "ok\n"));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda gpu
    nsize: {{1 2}}
    args: -dm_vec_type {{cuda singlecuda}} -use_gpu_aware_mpi 0

TEST*/
