static char
  help[] = "Bad input to matrices and preconditioners: each ends in a PetscError that names what was found and what is allowed.\n\n";

#include <petscpatchfd.h>
#include "catch.h"

/* the call must fail with this code and a message that contains both words */
#define REFUSES(name, call, code, word1, word2) \
  do { \
    PetscErrorCode ierr; \
    char          *w1, *w2; \
    CATCH(ierr, call); \
    PetscCall(PetscStrstr(lastmessage, word1, &w1)); \
    PetscCall(PetscStrstr(lastmessage, word2, &w2)); \
    if (ierr && lastcode == code && w1 && w2) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: refused\n", name)); \
    else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: WRONG, code %d, message %s\n", name, (int)lastcode, lastmessage)); \
  } while (0)

static PetscErrorCode NewPC(Mat A, PCType type, const char *options, PC *pc)
{
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* setting the option, or set-up with it, must fail */
static PetscErrorCode SetUp(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOption(Mat A, PCType type, const char *option, const char *value, PetscErrorCode code, const char *word1,
                                 const char *word2)
{
  char name[256], options[256];
  PC   pc;

  PetscFunctionBeginUser;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s %s %s", type, option, value));
  PetscCall(PetscSNPrintf(options, sizeof(options), "%s %s", option, value));
  PetscCall(NewPC(A, type, options, &pc));
  REFUSES(name, SetUp(pc), code, word1, word2);
  PetscCall(PCDestroy(&pc));
  PetscCall(PetscOptionsClearValue(NULL, option));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUpBox(DM dm)
{
  PetscFunctionBegin;
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a mesh of four cells in each of two directions with these options must fail */
static PetscErrorCode TestBox(const char *options, PetscErrorCode code, const char *word1, const char *word2)
{
  const PetscInt cells[] = {4, 4};
  PetscOptions   own;
  DM             dm;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsCreate(&own));
  PetscCall(PetscOptionsInsertString(own, options));
  PetscCall(PetscOptionsPush(own));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  REFUSES(options, SetUpBox(dm), code, word1, word2);
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode One(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[], PetscInt Nc,
                          PetscScalar u[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < Nc; i++) u[i] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* materials that vary, on a box */
static PetscErrorCode TestMaterials(DM dm)
{
  DM  line;
  Mat A;
  Vec v, stress;

  PetscFunctionBeginUser;
  PetscCall(DMBoxSetElasticModuliFunction(dm, One, NULL, DMBOX_PLANE_STRAIN, NULL));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_local", "fd_inexact", PETSC_ERR_ARG_INCOMP, "-pc_patchfd_local fd_inexact", "dense"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_fit", "own", PETSC_ERR_ARG_INCOMP, "-pc_patchfd_fit own", "dense"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_variant", "fused", PETSC_ERR_ARG_INCOMP, "-pc_patchfd_variant fused", "global"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_patch", "cell", PETSC_ERR_SUP, "-pc_patchfd_patch cell", "elasticity"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMBoxSetElasticModuliFunction(dm, NULL, One, DMBOX_PLANE_STRAIN, NULL));
  REFUSES("Poisson's ratio 1", DMCreateMatrix(dm, &A), PETSC_ERR_ARG_OUTOFRANGE, "DMBoxSetElasticModuliFunction()", "less than 0.5");
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, 5, PETSC_DETERMINE, &v));
  REFUSES("a Vec of another size", DMBoxSetElasticModuliVec(dm, v, NULL, DMBOX_PLANE_STRAIN), PETSC_ERR_ARG_SIZ,
          "DMBoxSetElasticModuliVec()", "local size");
  PetscCall(VecDestroy(&v));
  PetscCall(DMBoxCreateDiffusionVec(dm, PETSC_FALSE, 1, &v));
  PetscCall(VecSet(v, -1));
  PetscCall(DMBoxSetElasticModuliVec(dm, v, NULL, DMBOX_PLANE_STRAIN));
  REFUSES("Young's modulus -1", DMCreateMatrix(dm, &A), PETSC_ERR_ARG_OUTOFRANGE, "DMBoxSetElasticModuliVec()", "not positive and finite");
  PetscCall(VecDestroy(&v));
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 1, (const PetscInt[]){4}, 2, &line));
  PetscCall(DMBoxSetSpace(line, DMBOX_SPACE_VQ));
  PetscCall(DMBoxSetOperator(line, "elasticity"));
  REFUSES("a material that varies in 1D", DMBoxSetElasticModuliFunction(line, One, NULL, DMBOX_PLANE_STRAIN, NULL), PETSC_ERR_SUP,
          "2 or 3 dimensions", "is 1");
  PetscCall(DMSetUp(line));
  PetscCall(DMCreateGlobalVector(line, &v));
  REFUSES("stresses in 1D", DMBoxComputeStresses(line, v, &stress), PETSC_ERR_ARG_OUTOFRANGE, "2 or 3 dimensions", "they are 1");
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestElasticity(void)
{
#define SOLID "-dm_box_operator elasticity -dm_box_space vq "
  const PetscInt cells[] = {4, 4};
  DM             dm[2];
  Mat            A[2];

  PetscFunctionBeginUser;
  PetscCall(TestBox("-dm_box_operator elasticity", PETSC_ERR_ARG_INCOMP, "-dm_box_space (DMBoxSetSpace()) is q", "takes vq"));
  PetscCall(TestBox("-dm_box_boundary symmetry", PETSC_ERR_ARG_INCOMP, "symmetry at the lower side of direction 0", "-dm_box_space vq"));
  PetscCall(TestBox(SOLID "-dm_box_boundary supported", PETSC_ERR_ARG_INCOMP, "supported at the lower side of direction 0",
                    "dirichlet (clamped), neumann (free or loaded), symmetry and periodic"));
  PetscCall(TestBox(SOLID "-dm_box_mu 0", PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_mu (DMBoxSetElasticity()) are 0.576923 and 0", "positive"));
  PetscCall(TestBox(SOLID "-dm_box_lambda -1 -dm_box_mu 1", PETSC_ERR_ARG_OUTOFRANGE, "are -1. and 1", "dim lambda + 2 mu"));
  PetscCall(TestBox(SOLID "-dm_box_shift -1", PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_shift (DMBoxSetElasticity()) is -1", "not negative"));
  PetscCall(TestBox(SOLID "-dm_box_young -1", PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_young (DMBoxSetElasticModuli()) is -1", "positive"));
  PetscCall(TestBox(SOLID "-dm_box_poisson_ratio 0.5", PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_poisson_ratio (DMBoxSetElasticModuli()) is 0.5",
                    "less than 0.5"));
  PetscCall(TestBox(SOLID "-dm_box_young 1 -dm_box_mu 1", PETSC_ERR_ARG_INCOMP, "-dm_box_lambda and -dm_box_mu", "use one"));
  PetscCall(TestBox(SOLID "-dm_box_lambda_degree -3", PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_lambda_degree (DMBoxSetLambdaDegree()) is -3",
                    "0 or more"));
  PetscCall(TestBox(SOLID "-dm_box_degree 1 -dm_box_poisson_ratio 0.46", PETSC_ERR_ARG_OUTOFRANGE, "Poisson's ratio is 0.46", "lock"));
  PetscCall(TestBox(SOLID "-dm_box_degree 1 -dm_box_cells 4,1 -dm_box_boundary dirichlet,dirichlet,symmetry,dirichlet",
                    PETSC_ERR_ARG_INCOMP, "symmetry in direction 1", "no free nodes"));
  PetscCall(TestBox(SOLID "-dm_box_mapping annulus -dm_box_boundary dirichlet,dirichlet,periodic,periodic", PETSC_ERR_SUP,
                    "periodic in direction 1 of a box with a map", "does not take both"));
  PetscCall(TestBox(SOLID "-dm_box_dim 1 -dm_box_mapping sine", PETSC_ERR_ARG_INCOMP, "takes 2 or 3 dimensions with a map", "is 1"));
  PetscCall(
    TestBox(SOLID "-dm_box_symmetry_components 2", PETSC_ERR_ARG_OUTOFRANGE, "DMBoxSetSymmetryComponents()) is 2 for side 0", "0 to 1"));
  PetscCall(TestBox(SOLID "-dm_box_symmetry_components 1,-1,-1,-1", PETSC_ERR_ARG_INCOMP, "is 1 at the lower side of direction 0",
                    "which is dirichlet"));
#undef SOLID
  for (int i = 0; i < 2; i++) {
    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm[i]));
    PetscCall(DMBoxSetSpace(dm[i], DMBOX_SPACE_VQ));
    PetscCall(DMBoxSetOperator(dm[i], "elasticity"));
    PetscCall(DMBoxSetElasticModuli(dm[i], 1, i ? 0.3 : 0.4999, DMBOX_PLANE_STRAIN));
    PetscCall(DMCreateMatrix(dm[i], &A[i]));
  }
  REFUSES("a sum with another projection", MatAXPY(A[0], 1, A[1], SAME_NONZERO_PATTERN), PETSC_ERR_ARG_INCOMP, "MatAXPY()",
          "-dm_box_lambda_degree");
  for (int i = 0; i < 2; i++) PetscCall(MatDestroy(&A[i]));
  PetscCall(TestMaterials(dm[1]));
  for (int i = 0; i < 2; i++) PetscCall(DMDestroy(&dm[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* plates; b is a vector of the DMBOX poisson, whose operator is poisson, as that of the matrix A */
static PetscErrorCode TestBiharmonic(DM poisson, Mat A, Vec b)
{
  const PetscInt  cells[] = {4, 4};
  const PetscReal D[] = {1, 1}, graded[] = {0, 0.1, 0.3, 0.6, 1};
  PetscReal       h2;
  DM              dm;
  Mat             B;

  PetscFunctionBeginUser;
  PetscCall(
    TestBox("-dm_box_operator plate", PETSC_ERR_ARG_UNKNOWN_TYPE, "plate", "poisson, diffusion, biharmonic, stokes, elasticity and heat"));
  PetscCall(TestBox("-dm_box_operator biharmonic -dm_box_degree 1", PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_degree (DMBoxSetDegree()) is 1",
                    "2 or more"));
  PetscCall(
    TestBox("-dm_box_operator biharmonic -dm_box_space dgq", PETSC_ERR_ARG_INCOMP, "-dm_box_space (DMBoxSetSpace()) is dgq", "takes q"));
  PetscCall(TestBox("-dm_box_operator biharmonic -dm_box_boundary dirichlet,dirichlet,supported,neumann", PETSC_ERR_ARG_INCOMP,
                    "neumann at the upper side of direction 1", "supported"));
  PetscCall(TestBox("-dm_box_operator biharmonic -dm_box_penalty 0.16", PETSC_ERR_ARG_OUTOFRANGE,
                    "-dm_box_penalty (DMBoxSetPenalty()) is 0.16,0.16", "above 0.166667"));
  PetscCall(TestBox("-dm_box_operator biharmonic -dm_box_degree 4 -dm_box_penalty 1,0.2", PETSC_ERR_ARG_OUTOFRANGE,
                    "-dm_box_penalty (DMBoxSetPenalty()) is 1.,0.2", "above 0.3"));
  PetscCall(TestBox("-dm_box_operator biharmonic -dm_box_bending 0", PETSC_ERR_ARG_OUTOFRANGE,
                    "-dm_box_bending (DMBoxSetBiharmonic()) is 0", "positive"));
  PetscCall(TestBox("-dm_box_operator biharmonic -dm_box_bending -2", PETSC_ERR_ARG_OUTOFRANGE,
                    "-dm_box_bending (DMBoxSetBiharmonic()) is -2", "positive"));
  PetscCall(TestBox("-dm_box_boundary supported", PETSC_ERR_ARG_INCOMP, "supported at the lower side of direction 0",
                    "poisson takes dirichlet, neumann and periodic"));
  PetscCall(TestBox("-dm_box_boundary dirichlet,periodic,dirichlet,dirichlet", PETSC_ERR_ARG_INCOMP,
                    "dirichlet at the lower and periodic at the upper side of direction 0", "both sides of a direction are periodic"));
  PetscCall(TestBox("-dm_box_cells 4,1 -dm_box_boundary dirichlet,dirichlet,periodic,periodic", PETSC_ERR_ARG_INCOMP,
                    "periodic in direction 1, which has 1 cell", "2 or more"));
  PetscCall(TestBox("-dm_box_robin 2,2,0,0 -dm_box_boundary periodic,periodic,neumann,neumann", PETSC_ERR_ARG_INCOMP,
                    "-dm_box_robin (DMBoxSetRobin()) would have no effect on side 0", "which is periodic"));
  PetscCall(TestBox("-dm_box_operator diffusion -dm_box_robin 2,0,0,0", PETSC_ERR_ARG_INCOMP,
                    "-dm_box_robin (DMBoxSetRobin()) would have no effect on side 0", "which is dirichlet"));
  PetscCall(TestBox("-dm_box_operator diffusion -dm_box_mapping annulus -dm_box_boundary dirichlet,dirichlet,periodic,periodic",
                    PETSC_ERR_ARG_OUTOFRANGE, "periodic in direction 1, but the map", "does not bring one side to the other"));

  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  PetscCall(DMBoxSetOperator(dm, "biharmonic"));
  PetscCall(DMBoxSetVertices(dm, 1, 5, graded));
  PetscCall(DMBoxSetPenalty(dm, 0.3, 1));
  REFUSES("penalty 0.3 on a graded mesh", DMSetUp(dm), PETSC_ERR_ARG_OUTOFRANGE, "is 0.3,1", "above 0.333333");
  PetscCall(DMBoxSetPenalty(dm, 1, 1));
  REFUSES("DMBoxSetPoisson of biharmonic", DMBoxSetPoisson(dm, D, 0), PETSC_ERR_ARG_WRONG, "DMBoxSetPoisson()", "biharmonic");
  REFUSES("infinite shift", DMBoxSetBiharmonic(dm, 1, INFINITY), PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_shift (DMBoxSetBiharmonic()) is inf",
          "finite");
  PetscCall(DMSetUp(dm));
  REFUSES("DMBoxSetPenalty after set-up", DMBoxSetPenalty(dm, 2, 2), PETSC_ERR_ARG_WRONGSTATE, "DMBoxSetPenalty", "DMSetUp");
  REFUSES("DMBoxAddBendingLoad with a vector of another mesh", DMBoxAddBendingLoad(dm, 0, One, NULL, NULL, b), PETSC_ERR_ARG_SIZ,
          "local size", "DMCreateGlobalVector");
  REFUSES("DMBoxComputeBendingError with a vector of another mesh", DMBoxComputeBendingError(dm, 0, One, NULL, b, &h2), PETSC_ERR_ARG_SIZ,
          "local size", "DMCreateGlobalVector");
  REFUSES("DMBoxAddBendingLoad of poisson", DMBoxAddBendingLoad(poisson, 0, One, One, NULL, b), PETSC_ERR_ARG_WRONG,
          "DMBoxAddBendingLoad()", "poisson");
  REFUSES("DMBoxSetBiharmonic of poisson", DMBoxSetBiharmonic(poisson, 1, 0), PETSC_ERR_ARG_WRONG, "DMBoxSetBiharmonic()", "poisson");
  PetscCall(DMCreateMatrix(dm, &B));
  PetscCall(TestOption(B, PCPATCHFD, "-pc_patchfd_local", "fd", PETSC_ERR_ARG_INCOMP, "-pc_patchfd_local fd", "fd_inexact"));
  PetscCall(TestOption(B, PCPATCHFD, "-pc_patchfd_variant", "boundary", PETSC_ERR_ARG_INCOMP, "-pc_patchfd_variant boundary",
                       "fused, separate or global"));
  PetscCall(TestOption(B, PCPATCHFD, "-pc_patchfd_precision", "tf32", PETSC_ERR_ARG_INCOMP, "-pc_patchfd_precision tf32",
                       "-pc_patchfd_local dense"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_precision", "bf16", PETSC_ERR_ARG_INCOMP, "-pc_patchfd_precision bf16",
                       "-pc_patchfd_local dense"));
  PetscCall(
    TestOption(A, PCPATCHFD, "-pc_patchfd_precision", "fp16", PETSC_ERR_ARG_INCOMP, "-pc_patchfd_precision fp16", "use auto or same"));
  PetscCall(TestOption(B, PCPATCHFD, "-pc_patchfd_update", "atomic", PETSC_ERR_ARG_INCOMP, "-pc_patchfd_update atomic",
                       "-pc_patchfd_type additive"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_local", "fd_inexact", PETSC_ERR_ARG_INCOMP, "-pc_patchfd_local fd_inexact", "use fd"));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* conjugate gradients need a definite matrix, others a definite preconditioner: A is the matrix of a flow */
static PetscErrorCode TestMethods(DM dm, Mat A)
{
  static const struct {
    const char *ksp, *pc, *what, *needs;
  } refused[] = {
    {KSPCG, PCPATCHMG, "KSPCG for stokes", "-ksp_type cg needs a positive definite matrix"},
    {KSPMINRES, PCPATCHMG, "KSPMINRES for stokes", "-ksp_type minres needs a positive definite preconditioner; -pc_type patchmg"},
    {KSPMINRES, PCSINGLE, "KSPMINRES and PCSINGLE for stokes",
     "-ksp_type minres needs a positive definite preconditioner; -pc_type single"},
    {KSPSYMMLQ, PCPATCHFD, "KSPSYMMLQ for stokes", "-ksp_type symmlq needs a positive definite preconditioner; -pc_type patchfd"},
  };
  Vec x, b;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(refused); i++) {
    KSP ksp;
    PC  pc;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetDM(ksp, dm));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, refused[i].ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, refused[i].pc));
    REFUSES(refused[i].what, KSPSolve(ksp, b, x), PETSC_ERR_ARG_INCOMP, refused[i].needs, "use fgmres");
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestStokesOptions(void)
{
  PetscFunctionBeginUser;
  PetscCall(TestBox("-dm_box_operator stokes", PETSC_ERR_ARG_INCOMP, "-dm_box_space (DMBoxSetSpace()) is q", "stokes takes rt"));
  PetscCall(TestBox("-dm_box_operator stokes -dm_box_space dgq", PETSC_ERR_ARG_INCOMP, "-dm_box_space (DMBoxSetSpace()) is dgq",
                    "stokes takes rt"));
  PetscCall(TestBox("-dm_box_space rt", PETSC_ERR_ARG_INCOMP, "-dm_box_space (DMBoxSetSpace()) is rt", "poisson takes q and dgq"));
  PetscCall(TestBox("-dm_box_space rt -dm_box_operator biharmonic", PETSC_ERR_ARG_INCOMP, "-dm_box_space (DMBoxSetSpace()) is rt",
                    "biharmonic takes q"));
  PetscCall(TestBox("-dm_box_space rt -dm_box_operator stokes -dm_box_dim 1", PETSC_ERR_ARG_INCOMP, "is rt, which has 2 or 3 dimensions",
                    "-dm_box_dim (DMSetDimension()) is 1"));
  PetscCall(TestBox("-dm_box_space rt -dm_box_operator stokes -dm_box_degree 0", PETSC_ERR_ARG_OUTOFRANGE,
                    "-dm_box_degree (DMBoxSetDegree()) is 0", "at least 1"));
  PetscCall(TestBox("-dm_box_space rt -dm_box_operator stokes -dm_box_boundary dirichlet,supported,neumann,neumann", PETSC_ERR_ARG_INCOMP,
                    "supported at the upper side of direction 0", "stokes takes dirichlet"));
  PetscCall(TestBox("-dm_box_space rt -dm_box_operator stokes -dm_box_penalty 0.25", PETSC_ERR_ARG_OUTOFRANGE,
                    "-dm_box_penalty (DMBoxSetPenalty()) is 0.25,0.25", "above 0.25"));
  PetscCall(TestBox("-dm_box_space rt -dm_box_operator stokes -dm_box_penalty 1,0.2", PETSC_ERR_ARG_OUTOFRANGE,
                    "-dm_box_penalty (DMBoxSetPenalty()) is 1.,0.2", "above 0.25"));
  PetscCall(TestBox("-dm_box_space rt -dm_box_operator stokes -dm_box_viscosity 0", PETSC_ERR_ARG_OUTOFRANGE,
                    "-dm_box_viscosity (DMBoxSetStokes()) is 0", "positive"));
  PetscCall(TestBox("-dm_box_space rt -dm_box_operator stokes -dm_box_viscosity -2", PETSC_ERR_ARG_OUTOFRANGE,
                    "-dm_box_viscosity (DMBoxSetStokes()) is -2", "positive"));
  PetscCall(TestBox("-dm_box_space rt -dm_box_operator stokes -dm_box_shift -1", PETSC_ERR_ARG_OUTOFRANGE,
                    "-dm_box_shift (DMBoxSetStokes()) is -1", "not negative"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* no velocity is given anywhere */
static PetscErrorCode TestStokesOpen(void)
{
  const DMBoxBoundaryType open[]  = {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN};
  const PetscInt          cells[] = {4, 4};
  DM                      dm;
  Mat                     B;
  PC                      pc;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 1, &dm));
  PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_RT));
  PetscCall(DMBoxSetOperator(dm, "stokes"));
  PetscCall(DMBoxSetBoundary(dm, open));
  PetscCall(DMCreateMatrix(dm, &B));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(PCSetType(pc, PCPATCHFD));
  REFUSES("stokes with open sides only", PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "no side of -dm_box_boundary", "-dm_box_shift");
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* flows; A is the matrix of the DMBOX poisson, whose operator is poisson, and other one of its vectors */
static PetscErrorCode TestStokes(DM poisson, Mat A, Vec other)
{
  const PetscInt  cells[] = {4, 4};
  const PetscReal D[] = {1, 1}, graded[] = {0, 0.1, 0.3, 0.6, 1};
  PetscReal       e;
  DM              dm;
  Mat             B;

  PetscFunctionBeginUser;
  PetscCall(TestStokesOptions());
  REFUSES("DMBoxSetStokes of poisson", DMBoxSetStokes(poisson, 1, 0), PETSC_ERR_ARG_WRONG, "DMBoxSetStokes()", "poisson");
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_RT));
  PetscCall(DMBoxSetOperator(dm, "stokes"));
  PetscCall(DMBoxSetVertices(dm, 1, 5, graded));
  PetscCall(DMBoxSetPenalty(dm, 0.4, 1));
  REFUSES("penalty 0.4 for stokes on a graded mesh", DMSetUp(dm), PETSC_ERR_ARG_OUTOFRANGE, "is 0.4,1", "above 0.5");
  PetscCall(DMBoxSetPenalty(dm, 1, 1));
  REFUSES("DMBoxSetPoisson of stokes", DMBoxSetPoisson(dm, D, 0), PETSC_ERR_ARG_WRONG, "DMBoxSetPoisson()", "stokes");
  REFUSES("infinite viscosity", DMBoxSetStokes(dm, INFINITY, 0), PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_viscosity (DMBoxSetStokes()) is inf",
          "finite");
  REFUSES("a shift that is not a number", DMBoxSetStokes(dm, 1, NAN), PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_shift (DMBoxSetStokes()) is nan",
          "finite");
  REFUSES("DMBoxComputeStokesError before set-up", DMBoxComputeStokesError(dm, 0, One, One, NULL, other, &e, &e, &e, &e),
          PETSC_ERR_ARG_WRONGSTATE, "DMSetUp()", "first");
  PetscCall(DMSetUp(dm));
  REFUSES("DMBoxComputeStokesError with a vector of another mesh", DMBoxComputeStokesError(dm, 0, One, One, NULL, other, &e, &e, &e, &e),
          PETSC_ERR_ARG_SIZ, "local size", "DMCreateGlobalVector");
  REFUSES("DMBoxComputeStokesError of poisson", DMBoxComputeStokesError(poisson, 0, One, One, NULL, other, &e, &e, &e, &e),
          PETSC_ERR_ARG_WRONG, "-dm_box_space rt", "has q");
  REFUSES("DMBoxComputeBendingError of rt", DMBoxComputeBendingError(dm, 0, One, NULL, other, &e), PETSC_ERR_ARG_WRONG, "one field",
          "is rt");
  PetscCall(DMCreateMatrix(dm, &B));
  PetscCall(TestOption(B, PCPATCHFD, "-pc_patchfd_local", "fd", PETSC_ERR_ARG_INCOMP, "-pc_patchfd_local fd is not for saddle points",
                       "stokes takes dense or schur"));
  PetscCall(TestOption(B, PCPATCHFD, "-pc_patchfd_local", "fd_inexact", PETSC_ERR_ARG_INCOMP,
                       "-pc_patchfd_local fd_inexact is not for saddle points", "stokes takes dense or schur"));
  PetscCall(
    TestOption(A, PCPATCHFD, "-pc_patchfd_local", "schur", PETSC_ERR_ARG_INCOMP, "-pc_patchfd_local schur", "poisson takes fd or dense"));
  PetscCall(TestOption(B, PCPATCHFD, "-pc_patchfd_variant", "boundary", PETSC_ERR_ARG_INCOMP, "-pc_patchfd_variant boundary",
                       "fused, separate or global"));
  PetscCall(TestOption(B, PCPATCHFD, "-pc_patchfd_schur_rtol", "0", PETSC_ERR_ARG_OUTOFRANGE, "-pc_patchfd_schur_rtol", "(0, 1)"));
  PetscCall(TestOption(B, PCPATCHFD, "-pc_patchfd_schur_max_it", "0", PETSC_ERR_ARG_OUTOFRANGE, "-pc_patchfd_schur_max_it", "at least 1"));

  PetscCall(TestMethods(dm, B));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&dm));
  PetscCall(TestStokesOpen());
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSC_HAVE_CUDA)
/* vectors of 8 GB until one does not fit */
static PetscErrorCode FillGPU(PetscInt n, Vec v[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(VecCreate(PETSC_COMM_SELF, &v[i]));
    PetscCall(VecSetSizes(v[i], 2000000000, 2000000000));
    PetscCall(VecSetType(v[i], VECSINGLECUDA));
    PetscCall(VecSet(v[i], 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMemory(void)
{
  Vec v[256] = {NULL};

  PetscFunctionBeginUser;
  REFUSES("more vectors than the GPU can hold", FillGPU(256, v), PETSC_ERR_MEM, "8.000 GB", "out of memory");
  for (int i = 0; i < 256; i++) PetscCall(VecDestroy(&v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetOne(Vec v)
{
  PetscFunctionBegin;
  PetscCall(VecSetType(v, VECSINGLECUDA));
  PetscCall(VecSet(v, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* with -root_device_context_stream_type nonblocking, which PETSc's own vectors in GPU memory do not stand: they would be read before they
   are written */
static PetscErrorCode TestStream(void)
{
  const PetscInt cells[] = {4, 4, 4};
  DM             dm;
  Mat            A;
  Vec            v, x, y;

  PetscFunctionBeginUser;
  PetscCall(VecCreate(PETSC_COMM_SELF, &v));
  PetscCall(VecSetSizes(v, 10, 10));
  REFUSES("vectors on a stream that does not wait", SetOne(v), PETSC_ERR_SUP, "stream of type nonblocking", "default_with_barrier");
  PetscCall(VecDestroy(&v));
  PetscCall(DMBoxCreate(PETSC_COMM_SELF, 3, cells, 3, &dm));
  PetscCall(DMSetVecType(dm, VECCUDA));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(x, 1));
  REFUSES("an operator on a stream that does not wait", MatMult(A, x, y), PETSC_ERR_SUP, "stream of type nonblocking",
          "default_with_barrier");
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* loads and errors from nodal values, for a DMBOX with the operator poisson, two of its vectors and that of another mesh */
static PetscErrorCode TestLoads(DM poisson, Vec x, Vec b, Vec small)
{
  const PetscInt    cells[]  = {4, 4};
  DMBoxBoundaryType sides[4] = {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_DIRICHLET};
  DM                dm;
  Vec               single, v, w;
  PetscReal         e, D[3], shift;
  PetscInt          n;

  PetscFunctionBeginUser;
  REFUSES("a load from a vector of another mesh", DMBoxAddLoadVec(poisson, small, b), PETSC_ERR_ARG_SIZ, "local size",
          "DMCreateGlobalVector");
  REFUSES("a load into a vector of another mesh", DMBoxAddLoadVec(poisson, x, small), PETSC_ERR_ARG_SIZ, "local size",
          "DMCreateGlobalVector");
  REFUSES("a load in place", DMBoxAddLoadVec(poisson, x, x), PETSC_ERR_ARG_IDN, "DMBoxAddLoadVec()", "two different ones");
  REFUSES("an error of a vector of another mesh", DMBoxComputeErrorVec(poisson, x, small, &e, NULL), PETSC_ERR_ARG_SIZ, "local size",
          "DMCreateGlobalVector");
  REFUSES("a flux on a Dirichlet side", DMBoxAddNeumannLoadVec(poisson, 1, x, b), PETSC_ERR_ARG_INCOMP, "dirichlet on side 1", "neumann");
  REFUSES("a flux on side 6", DMBoxAddNeumannLoadVec(poisson, 6, x, b), PETSC_ERR_ARG_OUTOFRANGE, "side 6", "from 0 to 5");
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &single));
  PetscCall(VecSetSizes(single, n, PETSC_DETERMINE));
  PetscCall(VecSetType(single, VECSINGLE));
  REFUSES("a load from single precision into double", DMBoxAddLoadVec(poisson, single, b), PETSC_ERR_ARG_INCOMP, "another precision",
          "VecSingleConvert()");
  REFUSES("an error in single precision for a DM with double", DMBoxComputeErrorVec(poisson, single, NULL, &e, NULL), PETSC_ERR_ARG_INCOMP,
          "type single", "DMCreateGlobalVector");
  PetscCall(VecDestroy(&single));
  PetscCall(DMBoxGetPoisson(poisson, D, &shift));
  PetscCall(DMBoxSetPoisson(poisson, D, -1));
  REFUSES("an energy with a negative shift", DMBoxComputeErrorVec(poisson, x, NULL, NULL, &e), PETSC_ERR_SUP,
          "poisson is not positive semidefinite", "NULL for the energy");
  PetscCall(DMBoxSetPoisson(poisson, D, shift));

  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 1, &dm));
  REFUSES("DMBoxAddLoadVec before set-up", DMBoxAddLoadVec(dm, x, b), PETSC_ERR_ARG_WRONGSTATE, "DMSetUp()", "first");
  PetscCall(DMBoxSetOperator(dm, "diffusion"));
  PetscCall(DMBoxSetBoundary(dm, sides));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateGlobalVector(dm, &v));
  PetscCall(VecDuplicate(v, &w));
  REFUSES("a flux from nodal values for diffusion", DMBoxAddNeumannLoadVec(dm, 0, v, w), PETSC_ERR_SUP, "diffusion",
          "DMBoxAddNeumannLoadBatch()");
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&dm));

  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 1, &dm));
  PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_P1));
  PetscCall(DMBoxSetOperator(dm, "heat"));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateGlobalVector(dm, &v));
  PetscCall(VecDuplicate(v, &w));
  REFUSES("a load from nodal values for heat", DMBoxAddLoadVec(dm, v, w), PETSC_ERR_SUP, "this DMBOX has heat", "DMBoxAddHeatLoad()");
  REFUSES("an error from nodal values for heat", DMBoxComputeErrorVec(dm, v, w, &e, NULL), PETSC_ERR_SUP, "this DMBOX has heat",
          "DMBoxComputeErrorBatch()");
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* functions that are not there; b is a vector of poisson */
static PetscErrorCode TestFunctions(DM poisson, Vec b)
{
  PetscReal l2, norm, h2;

  PetscFunctionBeginUser;
  REFUSES("DMBoxInterpolateFunction of NULL", DMBoxInterpolateFunction(poisson, 0, NULL, NULL, b), PETSC_ERR_ARG_NULL,
          "DMBoxInterpolateFunction() has no function", "argument 3, f");
  REFUSES("DMBoxInterpolateFunctionBatch of NULL", DMBoxInterpolateFunctionBatch(poisson, 0, NULL, NULL, b), PETSC_ERR_ARG_NULL,
          "DMBoxInterpolateFunctionBatch() has no function", "argument 3, f");
  REFUSES("DMBoxAddLoad of NULL", DMBoxAddLoad(poisson, 0, NULL, NULL, b), PETSC_ERR_ARG_NULL, "DMBoxAddLoad() has no function",
          "argument 3, f");
  REFUSES("DMBoxAddLoadBatch of NULL", DMBoxAddLoadBatch(poisson, 0, NULL, NULL, b), PETSC_ERR_ARG_NULL,
          "DMBoxAddLoadBatch() has no function", "argument 3, f");
  REFUSES("DMBoxAddNeumannLoad of NULL", DMBoxAddNeumannLoad(poisson, 0, NULL, NULL, b), PETSC_ERR_ARG_NULL,
          "DMBoxAddNeumannLoad() has no function", "argument 3, flux");
  /* zero in place of a function that something is compared with */
  PetscCall(DMBoxInterpolateFunction(poisson, 0, One, NULL, b));
  PetscCall(DMBoxComputeError(poisson, 0, NULL, NULL, b, &l2, NULL));
  PetscCall(DMBoxComputeErrorBatch(poisson, 0, NULL, NULL, b, NULL, &norm));
  PetscCall(DMBoxComputeBendingError(poisson, 0, NULL, NULL, b, &h2));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "norms of 1: %.3f %.3f %.3f\n", (double)l2, (double)norm, (double)PetscAbsReal(h2)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |A 1| with a new matrix */
static PetscErrorCode Product(DM dm, PetscReal *norm)
{
  Mat A;
  Vec x, y;

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecNorm(y, NORM_2, norm));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what would have no effect, or be other than what was asked for; and numbers that PetscInt cannot hold */
static PetscErrorCode TestRobinSides(void)
{
  const PetscInt          cells[]  = {4, 4};
  const DMBoxBoundaryType sides[4] = {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_DIRICHLET};
  DM                      dm;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 1, &dm));
  PetscCall(DMBoxSetBoundary(dm, sides));
  PetscCall(DMBoxSetRobin(dm, 1, 2));
  REFUSES("DMBoxSetRobin on a Dirichlet side", DMSetUp(dm), PETSC_ERR_ARG_INCOMP,
          "-dm_box_robin (DMBoxSetRobin()) would have no effect on side 1, which is dirichlet", "must be neumann");
  REFUSES("DMBoxSetRobin, negative", DMBoxSetRobin(dm, 2, -1), PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_robin (DMBoxSetRobin()) is -1. at side 2",
          "must not be negative");
  REFUSES("DMBoxSetRobin, no such side", DMBoxSetRobin(dm, 4, 1), PETSC_ERR_ARG_OUTOFRANGE, "DMBoxSetRobin() is for side 4", "0 to 3");
  PetscCall(DMDestroy(&dm));

  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 1, &dm));
  PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_P1));
  PetscCall(DMBoxSetOperator(dm, "heat"));
  PetscCall(DMBoxSetBoundary(dm, sides));
  PetscCall(DMBoxSetHeatRobin(dm, 1, 2, 0));
  REFUSES("DMBoxSetHeatRobin on a Dirichlet side", DMSetUp(dm), PETSC_ERR_ARG_INCOMP, "DMBoxSetHeatRobin()) would have no effect on side 1",
          "must be neumann");
  PetscCall(DMBoxSetHeatRobin(dm, 1, 0, 0));
  PetscCall(DMSetUp(dm));
  PetscCall(DMBoxSetHeatRobin(dm, 2, 2, 0));
  REFUSES("DMBoxSetHeatRobin on a Dirichlet side after set-up", DMBoxSetHeatRobin(dm, 3, 2, 0), PETSC_ERR_ARG_INCOMP,
          "DMBoxSetHeatRobin()) would have no effect on side 3", "must be neumann");
  REFUSES("DMBoxSetHeatFlux on a Dirichlet side", DMBoxSetHeatFlux(dm, 3, One, NULL), PETSC_ERR_ARG_INCOMP,
          "DMBoxSetHeatFlux() would have no effect on side 3", "must be neumann");
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMesh(void)
{
  const PetscInt cells[] = {4, 4}, many[] = {40000, 30000};
  PetscReal      norm[2];
  PetscInt       M, x, m;
  PetscViewer    viewer;
  Mat            A;
  Vec            c, v;
  DM             dm;
  void          *array;
  const char    *numbers;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  REFUSES("DMBoxGetCorners before set-up", DMBoxGetCorners(dm, 0, &x, NULL, NULL, &m, NULL, NULL), PETSC_ERR_ARG_WRONGSTATE, "DMSetUp()",
          "first");
  PetscCall(DMBoxSetOperator(dm, "diffusion"));
  PetscCall(DMSetUp(dm));
  REFUSES("DMBoxGetCorners of field 1", DMBoxGetCorners(dm, 1, &x, NULL, NULL, &m, NULL, NULL), PETSC_ERR_ARG_OUTOFRANGE, "Field 1",
          "0 to 0, or DMBOX_CELLS");
  REFUSES("DMBoxGetNodes of cells", DMBoxGetNodes(dm, DMBOX_CELLS, 0, norm), PETSC_ERR_ARG_OUTOFRANGE, "Field -1", "0 to 0");
  REFUSES("DMBoxGetNodes of direction 2", DMBoxGetNodes(dm, 0, 2, norm), PETSC_ERR_ARG_OUTOFRANGE, "Direction is 2", "less than 2");
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, 7, PETSC_DETERMINE, &v));
  REFUSES("DMBoxVecGetArray of another Vec", DMBoxVecGetArray(dm, v, 0, &array), PETSC_ERR_ARG_SIZ, "local size 7",
          "DMCreateLocalVector()");
  PetscCall(VecDestroy(&v));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, "errors_mesh.bin", FILE_MODE_WRITE, &viewer));
  REFUSES("DMView into a binary file", DMView(dm, viewer), PETSC_ERR_SUP, "type binary", "ascii and vtk");
  PetscCall(PetscViewerDestroy(&viewer));

  /* coordinates with which cells are inverted leave the mesh as it is */
  PetscCall(DMGetCoordinates(dm, &c));
  PetscCall(VecDuplicate(c, &v));
  PetscCall(VecCopy(c, v));
  PetscCall(Product(dm, &norm[0]));
  PetscCall(VecScale(v, 0));
  REFUSES("coordinates that are all zero", DMBoxSetMappingCoordinates(dm, v), PETSC_ERR_ARG_OUTOFRANGE, "is inverted",
          "DMBoxSetMappingCoordinates()");
  PetscCall(Product(dm, &norm[1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the mesh after that: %s\n", norm[0] == norm[1] ? "as before" : "ANOTHER"));
  PetscCall(DMSetCoordinates(dm, v));
  REFUSES("DMSetCoordinates", DMCreateMatrix(dm, &A), PETSC_ERR_SUP, "DMSetCoordinates()", "DMBoxSetMappingCoordinates()");
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&dm));

  /* more coordinates than 32 bits count, and more numbers at points */
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, many, 1, &dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMBoxGetGlobalSizes(dm, 0, &M, NULL, NULL));
  PetscCall(DMGetCoordinates(dm, &c));
  numbers = PetscDefined(USE_64BIT_INDICES) ? (c ? "there" : "MISSING") : (c ? "WRONG" : "there");
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " x 30001 nodes: %s\n", M, numbers));
  PetscCall(DMDestroy(&dm));
  if (!PetscDefined(USE_64BIT_INDICES)) {
    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
    PetscCall(DMBoxSetOperator(dm, "diffusion"));
    PetscCall(DMSetUp(dm));
    REFUSES("2^32 numbers at points", DMBoxCreateDiffusionVec(dm, PETSC_TRUE, 1 << 28, &v), PETSC_ERR_ARG_OUTOFRANGE,
            "too big for PetscInt", "64-bit");
    PetscCall(DMDestroy(&dm));
  } else {
    PetscCall(TestBox("-dm_refine 4294967297", PETSC_ERR_ARG_OUTOFRANGE, "refined 4294967297 times", "as small as rounding errors"));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "2^32 numbers at points: refused\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define RING2 "-dm_box_boundary periodic,periodic,dirichlet,dirichlet "
#define RING3 "-dm_box_boundary periodic,periodic,dirichlet,dirichlet,dirichlet,dirichlet "

/* a mesh that cannot be halved, around an odd ring, and is too large to be factored on every process: the error comes before the memory is
   taken */
static PetscErrorCode TestFactors(void)
{
  const struct {
    PetscInt    dim, cells[3], degree;
    PCType      type;
    const char *options, *limit, *found;
  } all[] = {
    {3, {17, 17, 17}, 2, PCPATCHMG, RING3 "-dm_box_operator biharmonic -pc_patchmg_symmetric", "30000", "17 x 17 x 17"},
    {3, {17, 17, 17}, 2, PCPATCHMG, RING3 "-dm_box_operator biharmonic -pc_patchmg_coarse_eq_limit 0", "30000", "17 x 17 x 17"},
    {3, {17, 19, 17}, 2, PCPATCHFD, "-dm_box_operator diffusion -pc_patchfd_patch box", "30000", "17 x 19 x 17"},
    {2, {275, 277}, 2, PCPATCHMG, RING2 "-dm_box_operator biharmonic -pc_patchmg_coarse_eq_limit 0", "300000", "275 x 277 x 1"},
    {2, {65, 63}, 1, PCPATCHMG, RING2 "-dm_box_space rt -dm_box_operator stokes -pc_patchmg_coarse_eq_limit 0", "dense", "65 x 63 x 1"},
  };

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(all); i++) {
    DM  dm;
    Mat A;
    PC  pc;

    PetscCall(PetscOptionsInsertString(NULL, all[i].options));
    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, all[i].dim, all[i].cells, all[i].degree, &dm));
    PetscCall(DMSetFromOptions(dm));
    PetscCall(DMSetUp(dm));
    PetscCall(DMCreateMatrix(dm, &A));
    PetscCall(NewPC(A, all[i].type, "", &pc));
    REFUSES(all[i].options, SetUp(pc), PETSC_ERR_SUP, all[i].limit, all[i].found);
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
    for (const char *const *name = (const char *const[]){"-dm_box_operator", "-dm_box_space", "-dm_box_boundary",
                                                         "-pc_patchmg_coarse_eq_limit", "-pc_patchfd_patch", "-pc_patchmg_symmetric", NULL};
         *name; name++)
      PetscCall(PetscOptionsClearValue(NULL, *name));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOptions(Mat A)
{
  PetscFunctionBeginUser;
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_damping", "0", PETSC_ERR_ARG_OUTOFRANGE, "-pc_patchfd_damping", "(0, 2)"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_damping", "-0.5", PETSC_ERR_ARG_OUTOFRANGE, "-pc_patchfd_damping", "-0.5"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_damping", "2", PETSC_ERR_ARG_OUTOFRANGE, "-pc_patchfd_damping", "(0, 2)"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_sweeps", "0", PETSC_ERR_ARG_OUTOFRANGE, "-pc_patchfd_sweeps", "at least 1"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_type", "jacobi", PETSC_ERR_USER, "pc_patchfd_type", "jacobi"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_patch", "edge", PETSC_ERR_USER, "pc_patchfd_patch", "edge"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_variant", "fast", PETSC_ERR_USER, "pc_patchfd_variant", "fast"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_order", "random", PETSC_ERR_USER, "pc_patchfd_order", "random"));
  PetscCall(PetscOptionsInsertString(NULL, "-pc_patchfd_type additive"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_variant", "boundary", PETSC_ERR_ARG_INCOMP, "additive", "boundary"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_patchfd_type"));
  PetscCall(PetscOptionsInsertString(NULL, "-pc_patchfd_patch box"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_damping", "0.5", PETSC_ERR_ARG_INCOMP, "box", "0.5"));
  PetscCall(TestOption(A, PCPATCHFD, "-pc_patchfd_variant", "fused", PETSC_ERR_ARG_INCOMP, "box", "fused"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_patchfd_patch"));
  PetscCall(PetscOptionsInsertString(NULL, "-mg_levels_ksp_type richardson"));
  PetscCall(TestOption(A, PCPATCHMG, "-pc_mg_levels", "5", PETSC_ERR_ARG_OUTOFRANGE, "coarse", "2"));
  PetscCall(PetscOptionsClearValue(NULL, "-mg_levels_ksp_type"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* matrices that are not ours, and what ours refuse */
static PetscErrorCode TestForeign(Mat A)
{
  Mat B;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(NewPC(B, PCPATCHFD, "", &pc));
  REFUSES("PCPATCHFD on an AIJ matrix", PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "PCPATCHFD", "aij");
  PetscCall(PCDestroy(&pc));
  PetscCall(NewPC(B, PCPATCHMG, "", &pc));
  REFUSES("PCPATCHMG on an AIJ matrix", PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "PCPATCHMG", "aij");
  PetscCall(PCDestroy(&pc));
  REFUSES("conversion in place", MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A), PETSC_ERR_SUP, "in place", "DMBOX");
  REFUSES("MatShift", MatShift(A, 2), PETSC_ERR_SUP, "MatShift", "-dm_mat_type aij");
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NaN in the right-hand side: no loop, no wrong answer */
static PetscErrorCode TestNaN(DM dm, Mat A, Vec b, Vec x)
{
  KSP                ksp;
  PC                 pc;
  KSPConvergedReason reason;
  PetscInt           first, end;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(VecSet(b, 1));
  PetscCall(VecGetOwnershipRange(b, &first, &end));
  if (first == 0) PetscCall(VecSetValue(b, 0, NAN, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "NaN in the right-hand side: %s\n", KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt cells[] = {4, 4, 4}, odd[] = {6, 4, 4};
  DM             dm, other;
  Mat            A, P;
  Vec            x, b, small;
  PC             pc;
  PetscBool      memory = PETSC_FALSE, stream = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-memory", &memory, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-stream", &stream, NULL));
#if defined(PETSC_HAVE_CUDA)
  if (memory) PetscCall(TestMemory());
  if (stream) PetscCall(TestStream());
#endif
  if (memory || stream) return PetscFinalize();
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, cells, 2, &dm));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &x));
  PetscCall(VecDuplicate(x, &b));

  PetscCall(TestOptions(A));
  PetscCall(TestForeign(A));
  /* meshes that are not nested, vectors of another layout */
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 3, odd, 2, &other));
  PetscCall(DMSetUp(other));
  REFUSES("interpolation from 4 to 6 cells", DMCreateInterpolation(dm, other, &P, NULL), PETSC_ERR_ARG_INCOMP, "4", "6");
  PetscCall(DMCreateGlobalVector(other, &small));
  REFUSES("DMBoxLiftDirichlet with a vector of another mesh", DMBoxLiftDirichlet(dm, x, small), PETSC_ERR_ARG_SIZ, "local entries",
          "DMBOX");
  REFUSES("MatMult with a vector of another mesh", MatMult(A, small, b), PETSC_ERR_ARG_SIZ, "Mat", "729");
  PetscCall(NewPC(A, PCPATCHFD, "", &pc));
  REFUSES("PCApply with a vector of another mesh", PCApply(pc, small, b), PETSC_ERR_ARG_SIZ, "Preconditioner", "vec");
  PetscCall(PCDestroy(&pc));
  PetscCall(TestLoads(dm, x, b, small));
  PetscCall(VecDestroy(&small));
  PetscCall(DMDestroy(&other));

  PetscCall(TestElasticity());
  PetscCall(TestBiharmonic(dm, A, x));
  PetscCall(TestStokes(dm, A, x));
  PetscCall(TestFunctions(dm, b));
  PetscCall(TestMesh());
  PetscCall(TestRobinSides());
  PetscCall(TestFactors());

  PetscCall(TestNaN(dm, A, b, x));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
     suffix: 1
     nsize: {{1 2}}
     output_file: output/errors_1.out
     args: -malloc_dump 0
     # which only 64-bit indices have: there it must not be WRONG
     filter: grep -v "^-dm_refine 4294967297: refused$"

   test:
     suffix: memory
     requires: cuda gpu
     args: -memory

   test:
     suffix: stream
     requires: cuda gpu
     args: -stream -root_device_context_stream_type {{nonblocking nonblocking_with_barrier}} -malloc_dump 0

TEST*/
