static char help[] =
  "The bake-off problems on a box of hexahedra: time of a product in ns an unknown, the fastest of several, and of one with the assembled \
matrix.\n\
  -degrees <k,...>, -unknowns <n>  : about n unknowns (default 1,2,4,8 and 25000)\n\
  -assembled <true>                : MatMult() of the AIJ matrix on the same mesh, too; its memory grows as the sixth power of the degree\n\
  -iterations <n>                  : no products alone, but unknowns x iterations a second of n iterations of KSPCG and of KSPFUSEDCG in \
three passes and in two,\n\
                                     without preconditioner; bp3 and bp5 with Dirichlet conditions\n\
  -runs <n>                        : the median of n solves (default 5), with -iterations\n\
  -problems <bp1,bp3,bp5>          : which of them, with -iterations\n\
  -dm_vec_type <standard,cuda>     : where vectors live\n\n";

#include <petscdevice.h>
#include <petscdmplex.h>
#include <petscfe.h>
#include <petscpatchfd.h>
#include <petsctime.h>

static PetscErrorCode Now(PetscLogDouble *t)
{
  PetscFunctionBeginUser;
  if (PetscDeviceInitialized(PETSC_DEVICE_CUDA)) { /* kernels run on after a call returns */
    PetscDeviceContext device;

    PetscCall(PetscDeviceContextGetCurrentContext(&device));
    PetscCall(PetscDeviceContextSynchronize(device));
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ns an unknown */
static PetscErrorCode Time(Mat A, PetscInt N, PetscReal *ns)
{
  PetscLogDouble t[2], total = 0;
  Vec            x, y;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSetRandom(x, NULL));
  *ns = PETSC_MAX_REAL;
  for (int rep = 0; rep < 50 && (rep < 5 || total < 0.5); rep++) {
    PetscCall(Now(&t[0]));
    PetscCall(MatMult(A, x, y));
    PetscCall(Now(&t[1]));
    if (rep) *ns = PetscMin(*ns, 1e9 * (t[1] - t[0]) / N); /* the first one makes plans */
    total += t[1] - t[0];
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GDoF/s of conjugate gradients, kinds as in Iterations(), the median of some runs */
static PetscErrorCode TimeSolve(Mat A, PetscInt N, PetscInt n, PetscInt runs, int kind, PetscReal *gdofs)
{
  PetscLogDouble t[2];
  PetscReal     *all;
  PetscInt       its;
  Vec            b, x;
  KSP            ksp;
  PC             pc;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, kind ? KSPFUSEDCG : KSPCG));
  PetscCall(KSPFusedCGSetSweep(ksp, (PetscBool)(kind == 2)));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, n));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x)); /* makes plans */
  PetscCall(PetscMalloc1(runs, &all));
  for (PetscInt i = 0; i < runs; i++) {
    PetscCall(Now(&t[0]));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Now(&t[1]));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    all[i] = 1e-9 * N * its / (t[1] - t[0]);
  }
  PetscCall(PetscSortReal(runs, all));
  *gdofs = all[runs / 2];
  PetscCall(PetscFree(all));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMesh(PetscInt degree, PetscInt unknowns, DM *dm)
{
  const PetscInt n = PetscMax(1, (PetscInt)(PetscPowReal((PetscReal)unknowns, 1. / 3) / degree + 0.5)), faces[3] = {n, n, n};
  DM             parallel;

  PetscFunctionBeginUser;
  PetscCall(DMPlexCreateBoxMesh(PETSC_COMM_WORLD, 3, PETSC_FALSE, faces, NULL, NULL, NULL, PETSC_TRUE, 0, PETSC_FALSE, dm));
  PetscCall(DMPlexDistribute(*dm, 0, NULL, &parallel));
  if (parallel) {
    PetscCall(DMDestroy(dm));
    *dm = parallel;
  }
  PetscCall(DMSetFromOptions(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Q_k: not by PetscFECreateLagrange(), which inverts a matrix of all nodes of a cell */
static PetscErrorCode CreateElement(PetscInt degree, PetscFE *fe)
{
  PetscDualSpace dual;
  DM             cell;

  PetscFunctionBeginUser;
  PetscCall(DMPlexCreateReferenceCell(PETSC_COMM_SELF, DM_POLYTOPE_HEXAHEDRON, &cell));
  PetscCall(PetscDualSpaceCreate(PETSC_COMM_SELF, &dual));
  PetscCall(PetscDualSpaceSetType(dual, PETSCDUALSPACELAGRANGE));
  PetscCall(PetscDualSpaceSetDM(dual, cell));
  PetscCall(PetscDualSpaceSetNumComponents(dual, 1));
  PetscCall(PetscDualSpaceSetOrder(dual, degree));
  PetscCall(PetscDualSpaceLagrangeSetTensor(dual, PETSC_TRUE));
  PetscCall(PetscDualSpaceSetUp(dual));
  PetscCall(PetscFECreate(PETSC_COMM_SELF, fe));
  PetscCall(PetscFESetNumComponents(*fe, 1));
  PetscCall(PetscFESetDualSpace(*fe, dual));
  PetscCall(PetscDualSpaceDestroy(&dual));
  PetscCall(DMDestroy(&cell));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* polynomials on a mesh; with Dirichlet conditions on its whole boundary, or on none of it */
static PetscErrorCode CreateSpace(DM mesh, PetscInt degree, PetscBool dirichlet, DM *dm)
{
  const PetscInt one = 1, field = 0, *ndof;
  PetscDualSpace dual;
  PetscSection   section;
  PetscFE        fe;
  DMLabel        wall;
  IS             points;

  PetscFunctionBeginUser;
  PetscCall(DMClone(mesh, dm));
  PetscCall(CreateElement(degree, &fe));
  PetscCall(DMSetField(*dm, 0, NULL, (PetscObject)fe));
  PetscCall(DMCreateLabel(*dm, "wall"));
  PetscCall(DMGetLabel(*dm, "wall", &wall));
  PetscCall(DMPlexMarkBoundaryFaces(*dm, one, wall));
  PetscCall(DMPlexLabelComplete(*dm, wall));
  PetscCall(DMLabelGetStratumIS(wall, one, &points));
  PetscCall(PetscFEGetDualSpace(fe, &dual));
  PetscCall(PetscDualSpaceGetNumDof(dual, &ndof));
  PetscCall(DMPlexCreateSection(*dm, NULL, &one, ndof, dirichlet && points ? 1 : 0, &field, NULL, &points, NULL, &section));
  PetscCall(DMSetLocalSection(*dm, section));
  PetscCall(PetscSectionDestroy(&section));
  PetscCall(ISDestroy(&points));
  PetscCall(PetscFEDestroy(&fe));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Iterations(PetscInt degree, PetscInt unknowns, PetscInt n, PetscInt runs, const MatBakeoffProblem problems[],
                                 PetscInt np)
{
  PetscLogDouble t[2];
  DM             mesh, dm;

  PetscFunctionBeginUser;
  PetscCall(Now(&t[0]));
  PetscCall(CreateMesh(degree, unknowns, &mesh));
  PetscCall(Now(&t[1]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.1f s for the mesh\n", t[1] - t[0]));
  for (PetscInt p = 0; p < np; p++) {
    const MatBakeoffProblem problem = problems[p];
    PetscReal               gdofs[3];
    PetscInt                N;
    Mat                     A;

    PetscCall(Now(&t[0]));
    PetscCall(CreateSpace(mesh, degree, (PetscBool)(problem > MAT_BAKEOFF_BP1), &dm));
    PetscCall(MatCreateBakeoff(dm, problem, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
    PetscCall(MatSetFromOptions(A));
    PetscCall(MatGetSize(A, &N, NULL));
    for (int kind = 0; kind < 3; kind++) PetscCall(TimeSolve(A, N, n, runs, kind, &gdofs[kind]));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
    PetscCall(Now(&t[1]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %2" PetscInt_FMT " %9" PetscInt_FMT " %9.2f %9.2f %9.2f   (%.1f s in all)\n",
                          MatBakeoffProblems[problem], degree, N, (double)gdofs[0], (double)gdofs[1], (double)gdofs[2], t[1] - t[0]));
  }
  PetscCall(DMDestroy(&mesh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Degree(PetscInt degree, PetscInt unknowns, PetscBool assembled)
{
  DM mesh, dm;

  PetscFunctionBeginUser;
  PetscCall(CreateMesh(degree, unknowns, &mesh));
  PetscCall(CreateSpace(mesh, degree, PETSC_FALSE, &dm));
  PetscCall(DMDestroy(&mesh));
  for (MatBakeoffProblem problem = MAT_BAKEOFF_BP1; problem <= MAT_BAKEOFF_BP5; problem += 2) {
    PetscReal stored, computed, element, aij = 0;
    PetscInt  N;
    Mat       A, B;

    PetscCall(MatCreateBakeoff(dm, problem, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
    PetscCall(MatGetSize(A, &N, NULL));
    PetscCall(MatBakeoffSetFactors(A, MAT_BAKEOFF_FACTORS_STORED));
    PetscCall(Time(A, N, &stored));
    PetscCall(MatBakeoffSetFactors(A, MAT_BAKEOFF_FACTORS_COMPUTED));
    PetscCall(Time(A, N, &computed));
    if (assembled) {
      PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
      PetscCall(Time(B, N, &aij));
      PetscCall(MatDestroy(&B));
    }
    PetscCall(MatDestroy(&A));
    PetscCall(MatCreateBakeoff(dm, problem, MAT_BAKEOFF_LAYOUT_ELEMENT, &A));
    PetscCall(Time(A, N, &element));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %2" PetscInt_FMT " %9" PetscInt_FMT " %9.3f %9.3f %9.3f", MatBakeoffProblems[problem],
                          degree, N, (double)stored, (double)computed, (double)element));
    if (assembled) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %9.3f %7.1f", (double)aij, (double)(aij / PetscMin(stored, computed))));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  }
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt          degrees[15] = {1, 2, 4, 8}, n = 15, iterations = 0, runs = 5, np = 3;
  PetscReal         unknowns    = 25000;
  MatBakeoffProblem problems[3] = {MAT_BAKEOFF_BP1, MAT_BAKEOFF_BP3, MAT_BAKEOFF_BP5};
  PetscBool         assembled   = PETSC_TRUE, set;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-degrees", degrees, &n, &set));
  if (!set) n = 4;
  PetscCall(PetscOptionsGetEnumArray(NULL, NULL, "-problems", MatBakeoffProblems, (PetscEnum *)problems, &np, &set));
  if (!set) np = 3;
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-unknowns", &unknowns, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-assembled", &assembled, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-iterations", &iterations, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-runs", &runs, NULL));
  PetscCheck(runs > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-runs %" PetscInt_FMT " has to be positive", runs);
  if (iterations) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "GDoF/s\n      k  unknowns        cg   fusedcg     sweep\n"));
  else
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "      k  unknowns    stored  computed   element%s\n", assembled ? "       AIJ   ratio" : ""));
  for (PetscInt i = 0; i < n; i++) {
    if (iterations) PetscCall(Iterations(degrees[i], (PetscInt)unknowns, iterations, runs, problems, np));
    else PetscCall(Degree(degrees[i], (PetscInt)unknowns, assembled));
  }
  PetscCall(PetscFinalize());
  return 0;
}
