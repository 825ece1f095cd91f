/*
  The coarsest level of PCPATCHMG by algebraic multigrid: its matrix is assembled, in double precision whatever the vectors are, and left to
  a KSP of PETSc, by default two cycles of PCGAMG.  Many small kernels and messages make cycles on several GPUs slower than on one: there
  each process has a level of a moderate size for itself.
*/
#include <petsc/private/pcimpl.h>
#include <petsc/private/matimpl.h>
#include <patchfd/private/degrees.h>
#include <patchfd/private/kernels.h>
#include <petscvecsingle.h>

typedef struct {
  KSP        ksp;          /* of all processes or, with toall, of each one */
  Vec        b, x;         /* of all processes, in double precision */
  VecScatter toall, own;   /* NULL, or b to all_b; what this process owns of all_x to x */
  Vec        all_b, all_x; /* what the KSP of a process solves */
} Assembled;

static PetscErrorCode PCReset_Assembled(Assembled *s)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&s->b));
  PetscCall(VecDestroy(&s->x));
  PetscCall(VecDestroy(&s->all_b));
  PetscCall(VecDestroy(&s->all_x));
  PetscCall(VecScatterDestroy(&s->toall));
  PetscCall(VecScatterDestroy(&s->own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a vector of the level as the KSP has it */
static PetscErrorCode Bring(Assembled *s, Vec from, Vec *b)
{
  PetscFunctionBegin;
  PetscCall(VecSingleConvert(from, 1, s->b));
  *b = s->b;
  if (!s->toall) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecScatterBegin(s->toall, s->b, s->all_b, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(s->toall, s->b, s->all_b, INSERT_VALUES, SCATTER_FORWARD));
  *b = s->all_b;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* that of a level, for the vectors of the KSP: set()'s */
static PetscErrorCode SetNullSpace(Assembled *s, MatNullSpace from, PetscErrorCode (*set)(Mat, MatNullSpace), Mat A)
{
  MatNullSpace null;
  const Vec   *v;
  Vec         *w, b = NULL;
  PetscInt     n;
  PetscBool    constants;

  PetscFunctionBegin;
  PetscCall(MatNullSpaceGetVecs(from, &constants, &n, &v));
  PetscCall(VecDuplicateVecs(s->toall ? s->all_x : s->x, n, &w));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(Bring(s, v[i], &b));
    PetscCall(VecCopy(b, w[i]));
    PetscCall(VecNormalize(w[i], NULL));
  }
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), constants, n, w, &null));
  PetscCall(VecDestroyVecs(n, &w));
  PetscCall((*set)(A, null));
  PetscCall(MatNullSpaceDestroy(&null));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the coarsest level of PCGAMG on a GPU: products with the inverse, where triangular solves take a kernel for each few rows ---- */

static PetscErrorCode PCSetUp_Inverse(PC pc)
{
  Mat *inverse, A, unit;
  IS   zero; /* what aggregates with fewer unknowns than the near null space has vectors leave; PCGAMG has a shift for them */

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &inverse));
  PetscCall(MatDestroy(inverse));
  PetscCall(MatConvert(pc->pmat, MATSEQDENSE, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &unit));
  PetscCall(MatDuplicate(unit, MAT_DO_NOT_COPY_VALUES, inverse));
  PetscCall(MatShift(unit, 1));
  PetscCall(MatFindZeroDiagonals(pc->pmat, &zero));
  if (zero) PetscCall(MatZeroRowsIS(A, zero, 1, NULL, NULL));
  PetscCall(ISDestroy(&zero));
  PetscCall(MatLUFactor(A, NULL, NULL, NULL));
  PetscCall(MatMatSolve(A, unit, *inverse));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&unit));
#if PetscDefined(HAVE_CUDA)
  PetscCall(MatConvert(*inverse, MATSEQDENSECUDA, MAT_INPLACE_MATRIX, inverse));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_Inverse(PC pc, Vec b, Vec x)
{
  Mat *inverse;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &inverse));
  PetscCall(MatMult(*inverse, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_Inverse(PC pc)
{
  Mat *inverse;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &inverse));
  PetscCall(MatDestroy(inverse));
  PetscCall(PetscFree(inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* in place of PCGAMG's default, the factors that one process has */
static PetscErrorCode SetInverse(KSP ksp)
{
  const PetscInt most = 2000;
  PetscBool      is;
  PetscInt       n;
  KSP           *block;
  PC             pc;
  Mat            A, *inverse;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCGAMG, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCMGGetCoarseSolve(pc, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCBJACOBI, &is));
  if (!is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCBJacobiGetSubKSP(pc, &n, NULL, &block));
  PetscCall(KSPGetPC(block[0], &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCLU, &is));
  PetscCall(KSPGetOperators(block[0], NULL, &A));
  PetscCall(MatGetSize(A, &n, NULL));
  if (!is || !n || n > most) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&inverse));
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetName(pc, "the inverse, a dense matrix"));
  PetscCall(PCShellSetContext(pc, inverse));
  PetscCall(PCShellSetSetUp(pc, PCSetUp_Inverse));
  PetscCall(PCShellSetApply(pc, PCApply_Inverse));
  PetscCall(PCShellSetApplyTranspose(pc, PCApply_Inverse));
  PetscCall(PCShellSetDestroy(pc, PCDestroy_Inverse));
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- set-up ---- */

static PetscErrorCode CreateSolver(PC pc, MPI_Comm comm, KSP *ksp)
{
  const char *prefix;
  PC          inner;

  PetscFunctionBegin;
  PetscCall(KSPCreate(comm, ksp));
  PetscCall(PetscObjectIncrementTabLevel((PetscObject)*ksp, (PetscObject)pc, 1));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPAppendOptionsPrefix(*ksp, "assembled_"));
  PetscCall(KSPSetType(*ksp, KSPRICHARDSON)); /* two cycles */
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(*ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(*ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 2));
  PetscCall(KSPGetPC(*ksp, &inner));
  PetscCall(PCSetType(inner, PCGAMG));
  /* its own defaults cost up to three times the iterations of an exact solver in two dimensions */
  PetscCall(PCGAMGSetAggressiveLevels(inner, 0));
  PetscCall(PCGAMGSetCoarseEqLim(inner, 1000));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* does each process solve for itself? */
static PetscErrorCode IsRedundant(PC pc, PetscBool gpu, PetscBool *redundant)
{
  const PetscInt most = 500000; /* takes about as long as the messages of a cycle that is shared */
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  *redundant = (PetscBool)(gpu && pc->pmat->rmap->N <= most);
  PetscOptionsBegin(PetscObjectComm((PetscObject)pc), ((PetscObject)pc)->prefix, "Coarsest level of PCPATCHMG", "PCPATCHMG");
  PetscCall(PetscOptionsBool("-assembled_redundant", "Each process solves all of it", "PCPATCHMG", *redundant, redundant, NULL));
  PetscOptionsEnd();
  *redundant = (PetscBool)(*redundant && size > 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetRedundant(Assembled *s, Mat *A)
{
  PetscMPIInt size;
  PetscInt    first, end;
  Mat         all;
  IS          own;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)*A), &size));
  PetscCall(MatCreateRedundantMatrix(*A, size, MPI_COMM_NULL, MAT_INITIAL_MATRIX, &all));
  PetscCall(MatDestroy(A));
  *A = all;
  PetscCall(VecScatterCreateToAll(s->b, &s->toall, &s->all_b));
  PetscCall(VecDuplicate(s->all_b, &s->all_x));
  PetscCall(VecGetOwnershipRange(s->x, &first, &end));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, end - first, first, 1, &own));
  PetscCall(VecScatterCreate(s->all_x, own, s->x, own, &s->own));
  PetscCall(ISDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Galerkin products on a GPU are left to the host, whatever PETSc's default is: MatProductSymbolic() of MATSEQAIJCUSPARSE multiplies values
  that nobody has set, and where memory has a NaN among them cusparseSpGEMM_compute() does not end (PETSc 3.26, CUDA 13.0)
*/
static PetscErrorCode SetUpSolver(KSP ksp, PetscBool gpu)
{
  const char *const name = "-matptap_backend_cpu"; /* there is no routine for it */
  PetscBool         set;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(PetscOptionsHasName(NULL, NULL, name, &set));
  if (gpu && !set) PetscCall(PetscOptionsSetValue(NULL, name, NULL));
  ierr = KSPSetUp(ksp);
  if (gpu && !set) PetscCall(PetscOptionsClearValue(NULL, name));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So that there are factors of the coarsest matrix of PCGAMG, where a pivot may be zero, or NaN, otherwise.  What solutions have of the
   null space their KSP removes */
static PetscErrorCode MakeDefinite(Mat A)
{
  const PetscReal more = 1e-10;
  Vec             d;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &d));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(VecScale(d, 1 + more));
  PetscCall(MatDiagonalSet(A, d, INSERT_VALUES));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_Assembled(PC pc)
{
  Assembled   *s;
  Mat          A;
  MatNullSpace nullspace, near;
  PetscBool    gpu, redundant;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &s));
  PetscCall(PCReset_Assembled(s));
  PetscCall(PetscStrcmpAny(pc->pmat->defaultvectype, &gpu, VECCUDA, VECSEQCUDA, VECMPICUDA, VECSINGLECUDA, ""));
  PetscCall(IsRedundant(pc, gpu, &redundant));
  PetscCall(MatConvert(pc->pmat, MATAIJ, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatGetNullSpace(pc->pmat, &nullspace));
  if (nullspace) PetscCall(MakeDefinite(A));
  if (gpu) PetscCall(MatConvert(A, MATAIJCUSPARSE, MAT_INPLACE_MATRIX, &A));
  PetscCall(MatCreateVecs(A, &s->x, &s->b));
  PetscCall(MatGetNearNullSpace(A, &near));
  PetscCall(PetscObjectReference((PetscObject)near));
  if (redundant) PetscCall(SetRedundant(s, &A));
  if (near) PetscCall(SetNullSpace(s, near, MatSetNearNullSpace, A));
  PetscCall(MatNullSpaceDestroy(&near));
  if (nullspace) PetscCall(SetNullSpace(s, nullspace, MatSetNullSpace, A));
  PetscCall(MatSetOption(A, MAT_SPD, (PetscBool)!nullspace));
  if (!s->ksp) PetscCall(CreateSolver(pc, PetscObjectComm((PetscObject)A), &s->ksp));
  PetscCall(KSPSetOperators(s->ksp, A, A));
  PetscCall(MatDestroy(&A));
  PetscCall(KSPSetFromOptions(s->ksp));
  PetscCall(SetUpSolver(s->ksp, gpu));
  if (gpu && !nullspace) PetscCall(SetInverse(s->ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the PC ---- */

static PetscErrorCode PCApply_Assembled(PC pc, Vec b, Vec x)
{
  Assembled *s;
  Vec        in = NULL, out;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &s));
  PetscCall(Bring(s, b, &in));
  out = s->own ? s->all_x : s->x;
  PetscCall(KSPSolve(s->ksp, in, out));
  PetscCall(KSPCheckSolve(s->ksp, pc, out));
  if (s->own) {
    PetscCall(VecScatterBegin(s->own, s->all_x, s->x, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(s->own, s->all_x, s->x, INSERT_VALUES, SCATTER_FORWARD));
  }
  PetscCall(VecSingleConvert(s->x, 1, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_Assembled(PC pc, PetscViewer viewer)
{
  Assembled  *s;
  PetscViewer mine;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &s));
  if (!s->ksp) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPushTab(viewer));
  if (s->toall) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "every process solves all of it:\n"));
    PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)pc), &rank));
    PetscCall(PetscViewerGetSubViewer(viewer, PETSC_COMM_SELF, &mine));
    if (!rank) PetscCall(KSPView(s->ksp, mine));
    PetscCall(PetscViewerRestoreSubViewer(viewer, PETSC_COMM_SELF, &mine));
  } else PetscCall(KSPView(s->ksp, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_Assembled(PC pc)
{
  Assembled *s;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &s));
  PetscCall(PCReset_Assembled(s));
  PetscCall(KSPDestroy(&s->ksp));
  PetscCall(PetscFree(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPatchMGSetAssembled(PC pc)
{
  Assembled *s;

  PetscFunctionBegin;
  PetscCall(PetscNew(&s));
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetName(pc, "the assembled matrix"));
  PetscCall(PCShellSetContext(pc, s));
  PetscCall(PCShellSetSetUp(pc, PCSetUp_Assembled));
  PetscCall(PCShellSetApply(pc, PCApply_Assembled));
  PetscCall(PCShellSetApplyTranspose(pc, PCApply_Assembled));
  PetscCall(PCShellSetView(pc, PCView_Assembled));
  PetscCall(PCShellSetDestroy(pc, PCDestroy_Assembled));
  PetscFunctionReturn(PETSC_SUCCESS);
}
