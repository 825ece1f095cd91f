static char help[] = "What matrices and solvers of a DMBOX are after its coefficients or coordinates have changed, against new ones.\n\n";

#include <petscpatchfd.h>
#include <petscts.h>
#include <petsc/private/petscimpl.h>
#include "catch.h"
#include "runtest.h"

typedef struct {
  const char *name, *oper;
  DMBoxSpace  space;
  PetscInt    degree;
  PetscBool   spd, patches, algebra, data; /* data: coefficients belong to the DM, what does not follow cannot keep them */
} Problem;

static const Problem problems[] = {{"poisson", "poisson", DMBOX_SPACE_Q, 3, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE},
                                   {"dgq", "poisson", DMBOX_SPACE_DGQ, 2, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE},
                                   {"diffusion", "diffusion", DMBOX_SPACE_Q, 2, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE},
                                   {"biharmonic", "biharmonic", DMBOX_SPACE_Q, 2, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE},
                                   {"stokes", "stokes", DMBOX_SPACE_RT, 1, PETSC_FALSE, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE},
                                   {"heat", "heat", DMBOX_SPACE_P1, 1, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}};

enum {
  STATES = 3 /* of a DM: sets of coefficients */
};

static PetscInt failures;

#define EXPECT(condition, ...) \
  do { \
    if (!(condition)) { \
      failures++; \
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, __VA_ARGS__)); \
    } \
  } while (0)

static PetscErrorCode Conductivity(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc,
                                   PetscScalar f[], PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < Nc; i++) f[i] = 3 + PetscSinReal(3 * x[0] + x[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all nodes, moved: the third state of the operator diffusion */
static PetscErrorCode Move(DM dm, PetscReal by)
{
  Vec          x, old;
  PetscScalar *a;
  PetscInt     n;

  PetscFunctionBeginUser;
  PetscCall(DMGetCoordinates(dm, &old));
  PetscCall(VecDuplicate(old, &x));
  PetscCall(VecCopy(old, x));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArray(x, &a));
  for (PetscInt i = 0; i < n; i += 2) a[i] += by * PetscSqr(a[i + 1]);
  PetscCall(VecRestoreArray(x, &a));
  PetscCall(DMBoxSetMappingCoordinates(dm, x));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Set(DM dm, const Problem *p, int state)
{
  const PetscReal d[STATES][2] = {{1, 1}, {20, 30}, {3, 2}}, s[STATES] = {0.5, 0.25, 40};
  PetscBool       isop;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmp(p->oper, "poisson", &isop));
  if (isop) PetscCall(DMBoxSetPoisson(dm, d[state], s[state]));
  PetscCall(PetscStrcmp(p->oper, "biharmonic", &isop));
  if (isop) PetscCall(DMBoxSetBiharmonic(dm, d[state][0], s[state]));
  PetscCall(PetscStrcmp(p->oper, "stokes", &isop));
  if (isop) PetscCall(DMBoxSetStokes(dm, d[state][0], s[state]));
  PetscCall(PetscStrcmp(p->oper, "heat", &isop));
  if (isop) {
    PetscCall(DMBoxSetHeat(dm, 1, d[state], s[state]));
    if (state == 2) PetscCall(DMBoxSetHeatFunctions(dm, 0, Conductivity, Conductivity, NULL));
  }
  PetscCall(PetscStrcmp(p->oper, "diffusion", &isop));
  if (isop) {
    if (state == 1) PetscCall(DMBoxSetDiffusionFunction(dm, 1, Conductivity, NULL, NULL));
    else PetscCall(DMBoxSetDiffusion(dm, 1, d[state], s[state]));
    if (state == 2) PetscCall(Move(dm, 0.25));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* from the first state on: a state follows from the one before, as fields of the operator heat and coordinates do not go away */
static PetscErrorCode NewDM(const Problem *p, int state, DM *dm)
{
  const PetscInt cells[] = {8, 4};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, p->degree, dm));
  PetscCall(DMBoxSetSpace(*dm, p->space));
  PetscCall(DMBoxSetOperator(*dm, p->oper));
  PetscCall(DMSetUp(*dm));
  for (int s = 0; s <= state; s++) PetscCall(Set(*dm, p, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode New(const Problem *p, int state, DM *dm, Mat *A)
{
  PetscFunctionBeginUser;
  PetscCall(NewDM(p, state, dm));
  PetscCall(DMCreateMatrix(*dm, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* numbers that depend on nothing but the global index */
static PetscErrorCode Fill(Vec x)
{
  PetscInt     first, end;
  PetscScalar *a;

  PetscFunctionBeginUser;
  PetscCall(VecGetOwnershipRange(x, &first, &end));
  PetscCall(VecGetArrayWrite(x, &a));
  for (PetscInt i = first; i < end; i++) a[i - first] = PetscSinReal(1 + 0.7 * (PetscReal)i);
  PetscCall(VecRestoreArrayWrite(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the product with these numbers in each state */
static PetscErrorCode Products(const Problem *p, Vec y[STATES], Vec *x)
{
  PetscFunctionBeginUser;
  for (int s = 0; s < STATES; s++) {
    DM  dm;
    Mat A;

    PetscCall(New(p, s, &dm, &A));
    PetscCall(MatCreateVecs(A, s ? NULL : x, &y[s]));
    if (!s) PetscCall(Fill(*x));
    PetscCall(MatMult(A, *x, y[s]));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsProduct(Mat A, Vec x, PetscReal factor, Vec y, PetscBool *is)
{
  Vec       z;
  PetscReal norm, difference;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(y, &z));
  PetscCall(MatMult(A, x, z));
  PetscCall(VecAXPY(z, -factor, y));
  PetscCall(VecNorm(z, NORM_2, &difference));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCall(VecDestroy(&z));
  *is = (PetscBool)(difference <= 1e-12 * factor * norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define CHECK(A, factor, y, ...) \
  do { \
    PetscBool is_; \
    PetscCall(IsProduct(A, x, factor, y, &is_)); \
    EXPECT(is_, __VA_ARGS__); \
  } while (0)

/* the call, which needs data that the DM has no more, is an error that says what to do; and its result, if there is one */
#define REFUSES(p, call) \
  do { \
    PetscErrorCode ierr; \
    char          *w; \
    CATCH(ierr, call); \
    PetscCall(PetscStrstr(lastmessage, "MatBoxUpdate", &w)); \
    EXPECT(ierr &&w, "%s: not refused: %s: %d, %s\n", (p)->name, #call, (int)ierr, lastmessage); \
  } while (0)

/* ---- matrices ---- */

/* whatever comes first after a change: a product, the diagonal, an assembled matrix, a copy */
static PetscErrorCode TestFollow(const Problem *p, Vec x, Vec y[])
{
  PetscFunctionBeginUser;
  for (int first = 0; first < (p->algebra ? 4 : 3); first++) {
    DM  dm;
    Mat A;

    PetscCall(New(p, 0, &dm, &A));
    CHECK(A, 1, y[0], "%s: a new matrix is not like another one\n", p->name);
    for (int s = 1; s < STATES; s++) {
      PetscObjectState before, after;
      DM               newdm;
      Mat              B, N;
      Vec              d, e;
      PetscBool        same;

      PetscCall(PetscObjectStateGet((PetscObject)A, &before));
      PetscCall(Set(dm, p, s));
      PetscCall(PetscObjectStateGet((PetscObject)A, &after));
      EXPECT(after != before, "%s, state %d: the object state of the matrix is as before\n", p->name, s);
      if (first == 0) CHECK(A, 1, y[s], "%s, state %d: the matrix has another product\n", p->name, s);
      if (first == 1) {
        PetscCall(New(p, s, &newdm, &N));
        PetscCall(VecDuplicate(x, &d));
        PetscCall(VecDuplicate(x, &e));
        PetscCall(MatGetDiagonal(A, d));
        PetscCall(MatGetDiagonal(N, e));
        PetscCall(VecEqual(d, e, &same));
        EXPECT(same, "%s, state %d: the matrix has another diagonal\n", p->name, s);
        PetscCall(VecDestroy(&d));
        PetscCall(VecDestroy(&e));
        PetscCall(MatDestroy(&N));
        PetscCall(DMDestroy(&newdm));
      }
      if (first >= 2) {
        PetscCall(first == 2 ? MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B) : MatDuplicate(A, MAT_COPY_VALUES, &B));
        CHECK(B, 1, y[s], "%s, state %d: %s has another product\n", p->name, s, first == 2 ? "the assembled matrix" : "a copy");
        PetscCall(MatDestroy(&B));
      }
      CHECK(A, 1, y[s], "%s, state %d: the matrix has another product later\n", p->name, s);
    }
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* copies and what was scaled stay what they are, until MatBoxUpdate() */
static PetscErrorCode TestOwn(const Problem *p, Vec x, Vec y[])
{
  DM  dm;
  Mat A, C, S, B;
  KSP ksp;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(New(p, 0, &dm, &A));
  PetscCall(DMCreateMatrix(dm, &S));
  PetscCall(MatScale(S, 2));
  CHECK(S, 2, y[0], "%s: a scaled matrix has another product\n", p->name);
  if (p->algebra) {
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
    CHECK(C, 1, y[0], "%s: a copy has another product\n", p->name);
    PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &B));
    PetscCall(MatAXPY(B, 3, A, SAME_NONZERO_PATTERN));
    CHECK(B, 3, y[0], "%s: a sum has another product\n", p->name);
  }
  PetscCall(Set(dm, p, 1));
  CHECK(A, 1, y[1], "%s: the matrix does not follow\n", p->name);
  CHECK(S, 2, y[0], "%s: a scaled matrix does not stay\n", p->name);
  if (p->algebra) {
    CHECK(C, 1, y[0], "%s: a copy does not stay\n", p->name);
    CHECK(B, 3, y[0], "%s: a sum does not stay\n", p->name);
    PetscCall(MatDestroy(&B));
    if (p->data) {
      REFUSES(p, MatDuplicate(C, MAT_COPY_VALUES, &B));
      REFUSES(p, MatConvert(C, MATAIJ, MAT_INITIAL_MATRIX, &B));
      REFUSES(p, MatScale(C, 2));
      REFUSES(p, MatAXPY(C, 2, C, SAME_NONZERO_PATTERN));
    } else {
      PetscCall(MatDuplicate(C, MAT_COPY_VALUES, &B));
      CHECK(B, 1, y[0], "%s: a copy of a copy has another product\n", p->name);
      PetscCall(MatDestroy(&B));
    }
    PetscCall(MatBoxUpdate(C));
    CHECK(C, 1, y[1], "%s: MatBoxUpdate() of a copy\n", p->name);
  }
  PetscCall(MatBoxUpdate(S));
  CHECK(S, 1, y[1], "%s: MatBoxUpdate() of a scaled matrix\n", p->name);
  PetscCall(MatScale(S, 2));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  for (int s = 1; s < STATES; s++) {
    if (s == 2) PetscCall(Set(dm, p, s));
    PetscCall(KSPSetOperators(ksp, S, S));
    PetscCall(KSPSetUp(ksp));
    CHECK(S, s == 1 ? 2 : 1, y[s], "%s: KSPSetUp() with a scaled matrix, %s change\n", p->name, s == 1 ? "no" : "after a");
  }
  if (p->algebra) CHECK(C, 1, y[2], "%s: a copy after MatBoxUpdate() does not follow\n", p->name);
  PetscCall(KSPDestroy(&ksp));
  if (p->algebra) PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&S));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a matrix that is assembled follows, too, until somebody writes into it */
static PetscErrorCode TestAssembled(const Problem *p, Vec x, Vec y[])
{
  DM  dm;
  Mat A, C;

  PetscFunctionBeginUser;
  PetscCall(NewDM(p, 0, &dm));
  PetscCall(DMSetMatType(dm, MATAIJ));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(Set(dm, p, 1));
  CHECK(A, 1, y[1], "%s: an assembled matrix does not follow\n", p->name);
  CHECK(C, 1, y[0], "%s: a copy of an assembled matrix does not stay\n", p->name);
  PetscCall(MatScale(A, 2));
  PetscCall(Set(dm, p, 2));
  CHECK(A, 2, y[1], "%s: a scaled assembled matrix does not stay\n", p->name);
  PetscCall(MatBoxUpdate(A));
  CHECK(A, 1, y[2], "%s: MatBoxUpdate() of a scaled assembled matrix\n", p->name);
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coefficients that are refused, in the setter or where they are used, leave nothing behind that could be used */
static PetscErrorCode TestRefused(const Problem *p, Vec x, Vec y[])
{
  const PetscReal negative[] = {-1};

  PetscFunctionBeginUser;
  for (int aij = 0; aij < 2; aij++) {
    PetscErrorCode ierr;
    DM             dm;
    Mat            A;
    Vec            z;

    PetscCall(NewDM(p, 0, &dm));
    if (aij) PetscCall(DMSetMatType(dm, MATAIJ));
    PetscCall(DMCreateMatrix(dm, &A));
    PetscCall(VecDuplicate(x, &z));
    for (int i = 0; i < 2; i++) {
      CATCH(ierr, DMBoxSetDiffusion(dm, 1, negative, 0.5));
      EXPECT(!ierr == !aij, "%s: a negative coefficient and %s matrix: error %d\n", p->name, aij ? "an assembled" : "a matrix-free",
             (int)ierr);
      CATCH(ierr, MatMult(A, x, z));
      EXPECT(ierr, "%s: a product with a negative coefficient\n", p->name);
      PetscCall(Set(dm, p, i));
      CHECK(A, 1, y[i], "%s: another product after a negative coefficient, %s matrix, state %d\n", p->name,
            aij ? "an assembled" : "a matrix-free", i);
    }
    PetscCall(VecDestroy(&z));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* other DMs keep what they have, and what sets nothing new changes nothing */
static PetscErrorCode TestRelatives(const Problem *p, Vec x, Vec y[])
{
  PetscObjectState before[3], after;
  DM               dm[4];
  Mat              A[4];

  PetscFunctionBeginUser;
  PetscCall(NewDM(p, 0, &dm[0]));
  PetscCall(DMClone(dm[0], &dm[1]));
  PetscCall(DMRefine(dm[0], PETSC_COMM_WORLD, &dm[2]));
  PetscCall(DMCoarsen(dm[0], PETSC_COMM_WORLD, &dm[3]));
  for (int i = 0; i < 4; i++) PetscCall(DMCreateMatrix(dm[i], &A[i]));
  for (int i = 1; i < 4; i++) PetscCall(PetscObjectStateGet((PetscObject)A[i], &before[i - 1]));
  PetscCall(Set(dm[0], p, 1));
  for (int i = 1; i < 4; i++) {
    PetscCall(PetscObjectStateGet((PetscObject)A[i], &after));
    EXPECT(after == before[i - 1], "%s: the matrix of a %s DM changes\n", p->name, i == 1 ? "cloned" : i == 2 ? "refined" : "coarsened");
  }
  CHECK(A[0], 1, y[1], "%s: the matrix of a DM with relatives does not follow\n", p->name);
  CHECK(A[1], 1, y[0], "%s: the matrix of a clone has another product\n", p->name);
  for (int i = 1; i < 4; i++) {
    PetscCall(Set(dm[i], p, 1));
    PetscCall(PetscObjectStateGet((PetscObject)A[i], &after));
    EXPECT(after != before[i - 1], "%s: the matrix of a %s DM does not change\n", p->name,
           i == 1   ? "cloned"
           : i == 2 ? "refined"
                    : "coarsened");
  }
  CHECK(A[1], 1, y[1], "%s: the matrix of a clone does not follow\n", p->name);
  PetscCall(PetscObjectStateGet((PetscObject)A[0], &before[0]));
  if (!p->data) PetscCall(Set(dm[0], p, 1));
  PetscCall(PetscObjectStateGet((PetscObject)A[0], &after));
  EXPECT(after == before[0], "%s: the same coefficients change the matrix\n", p->name);
  for (int i = 3; i >= 0; i--) PetscCall(MatDestroy(&A[i]));
  for (int i = 0; i < 4; i++) PetscCall(DMDestroy(&dm[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solvers ---- */

static PetscErrorCode NewKSP(PCType type, DM dm, Mat A, KSP *ksp)
{
  PetscBool krylov;
  PC        pc;

  PetscFunctionBeginUser;
  PetscCall(PetscStrcmpAny(type, &krylov, PCNONE, PCJACOBI, ""));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  if (dm) PetscCall(KSPSetDM(*ksp, dm));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, krylov ? KSPCG : KSPFGMRES));
  PetscCall(KSPSetTolerances(*ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, 3000));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* solves with b = A x of the state, and returns how many iterations that took; x is found but for its null space */
static PetscErrorCode Solve(KSP ksp, Mat N, Vec b, PetscInt *its, PetscReal *residual)
{
  KSPConvergedReason reason;
  PetscReal          norm;
  Vec                u, r;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &u));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(MatMult(N, u, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  *residual /= norm;
  if (reason < 0) *residual = PETSC_INFINITY;
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a KSP for all states against a new one: with the DM or without, told or not that operators are new, matrix-free or assembled */
static PetscErrorCode TestSolver(const Problem *p, PCType type, MatType mattype, int knows, int told, Vec y[])
{
  DM  dm;
  Mat A;
  KSP ksp;

  PetscFunctionBeginUser;
  PetscCall(NewDM(p, 0, &dm));
  PetscCall(DMSetMatType(dm, mattype));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(NewKSP(type, knows ? dm : NULL, A, &ksp));
  for (int s = 0; s < STATES; s++) {
    DM        newdm;
    Mat       N;
    KSP       newksp;
    PetscInt  its[2];
    PetscReal residual[2];

    if (s) PetscCall(Set(dm, p, s));
    if (s && told == 1) PetscCall(KSPSetOperators(ksp, A, A));
    if (s && told == 2) PetscCall(MatBoxUpdate(A));
    PetscCall(NewDM(p, s, &newdm));
    PetscCall(DMSetMatType(newdm, mattype));
    PetscCall(DMCreateMatrix(newdm, &N));
    PetscCall(NewKSP(type, knows ? newdm : NULL, N, &newksp));
    PetscCall(Solve(newksp, N, y[s], &its[1], &residual[1]));
    PetscCall(Solve(ksp, N, y[s], &its[0], &residual[0]));
    EXPECT(residual[0] < 1e-8 && residual[1] < 1e-8 && PetscAbs(its[0] - its[1]) <= 1,
           "%s, state %d, %s, %s, %s the DM, %s: a kept solver takes %" PetscInt_FMT
           " iterations, relative residual %g; a new one %" PetscInt_FMT ", %g\n",
           p->name, s, type, mattype, knows ? "with" : "without",
           told == 2 ? "MatBoxUpdate()"
           : told    ? "KSPSetOperators()"
                     : "nothing said",
           its[0], (double)residual[0], its[1], (double)residual[1]);
    PetscCall(KSPDestroy(&newksp));
    PetscCall(MatDestroy(&N));
    PetscCall(DMDestroy(&newdm));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolvers(const Problem *p, Vec y[])
{
  PetscFunctionBeginUser;
  for (int knows = 0; knows < 2; knows++) {
    for (int told = 0; told < 3; told++) {
      if (p->patches) PetscCall(TestSolver(p, PCPATCHMG, MATSHELL, knows, told, y));
      PetscCall(TestSolver(p, PCSINGLE, MATSHELL, knows, told, y));
    }
    if (!p->spd) continue;
    PetscCall(TestSolver(p, PCJACOBI, MATSHELL, knows, 0, y));
    PetscCall(TestSolver(p, PCJACOBI, MATAIJ, knows, !knows, y));
    PetscCall(TestSolver(p, PCNONE, MATSHELL, knows, 0, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a solver of a copy has the copy's coefficients on all levels, whatever the DM has */
static PetscErrorCode TestCopySolver(const Problem *p, Vec y[])
{
  DM        dm[2];
  Mat       A, C[2];
  PetscInt  its[2];
  PetscReal residual[2];

  PetscFunctionBeginUser;
  PetscCall(New(p, 0, &dm[0], &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C[0]));
  PetscCall(Set(dm[0], p, 2));
  PetscCall(New(p, 0, &dm[1], &C[1]));
  for (int i = 0; i < 2; i++) {
    KSP ksp;
    PC  pc;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, C[i], C[i]));
    PetscCall(KSPSetType(ksp, KSPFGMRES));
    PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, 3000));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCPATCHMG));
    PetscCall(PCPatchMGSetCoarseEqLim(pc, 0));
    PetscCall(Solve(ksp, C[1], y[0], &its[i], &residual[i]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&C[i]));
    PetscCall(DMDestroy(&dm[i]));
  }
  EXPECT(residual[0] < 1e-8 && residual[1] < 1e-8 && PetscAbs(its[0] - its[1]) <= 1,
         "%s: a solver of a copy takes %" PetscInt_FMT " iterations, relative residual %g; of the original %" PetscInt_FMT ", %g\n",
         p->name, its[0], (double)residual[0], its[1], (double)residual[1]);
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* without Dirichlet sides the null space comes and goes with the shift, before anybody has used the matrix */
static PetscErrorCode TestNullSpace(const Problem *p)
{
  const PetscInt          cells[] = {8, 4};
  const DMBoxBoundaryType side[]  = {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN};
  const PetscReal         one[]   = {1, 1};
  DM                      dm;
  Mat                     A;
  KSP                     ksp;
  Vec                     b;
  PetscInt                its;
  PetscReal               residual;

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, p->degree, &dm));
  PetscCall(DMBoxSetSpace(dm, p->space));
  PetscCall(DMBoxSetOperator(dm, p->oper));
  PetscCall(DMBoxSetBoundary(dm, side));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatCreateVecs(A, NULL, &b));
  PetscCall(NewKSP(PCNONE, NULL, A, &ksp));
  for (int s = 0; s < 3; s++) {
    MatNullSpace null;

    if (s) PetscCall(p->data ? DMBoxSetDiffusion(dm, 1, one, s % 2) : DMBoxSetPoisson(dm, one, s % 2));
    PetscCall(MatGetNullSpace(A, &null));
    EXPECT((!null) == s % 2, "%s, shift %d: there is %s null space\n", p->name, s % 2, null ? "a" : "no");
    PetscCall(VecSet(b, s % 2));
    if (!(s % 2)) PetscCall(Fill(b));
    if (null) PetscCall(MatNullSpaceRemove(null, b));
    PetscCall(Solve(ksp, A, b, &its, &residual));
    EXPECT(residual < 1e-8, "%s, shift %d: relative residual %g\n", p->name, s % 2, (double)residual);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a Jacobian is what it was when it was computed */
static PetscErrorCode TestTS(const Problem *p, Vec x, Vec y[])
{
  Vec z[2];
  DM  dm;
  Mat J;
  TS  ts;

  PetscFunctionBeginUser;
  for (int aij = 0; aij < 2; aij++) {
    PetscCall(NewDM(p, 0, &dm));
    if (aij) PetscCall(DMSetMatType(dm, MATAIJ));
    PetscCall(DMCreateMatrix(dm, &J));
    PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
    PetscCall(TSSetDM(ts, dm));
    for (int s = 0; s < 2; s++) {
      DM  newdm;
      Mat N;
      TS  newts;

      PetscCall(New(p, s, &newdm, &N));
      PetscCall(TSCreate(PETSC_COMM_WORLD, &newts));
      PetscCall(TSSetDM(newts, newdm));
      PetscCall(DMBoxTSComputeIJacobian(newts, 0, x, x, 5, N, N, NULL));
      PetscCall(VecDuplicate(x, &z[s]));
      PetscCall(MatMult(N, x, z[s]));
      if (s) {
        PetscCall(Set(dm, p, s));
        CHECK(J, 1, z[0], "%s, %s: the Jacobian of a TS does not stay\n", p->name, aij ? "assembled" : "matrix-free");
        if (p->data && !aij) REFUSES(p, MatConvert(J, MATAIJ, MAT_INITIAL_MATRIX, &N));
      }
      PetscCall(DMBoxTSComputeIJacobian(ts, 0, x, x, 5, J, J, NULL));
      CHECK(J, 1, z[s], "%s, state %d, %s: the Jacobian of a TS has another product\n", p->name, s, aij ? "assembled" : "matrix-free");
      if (!s) PetscCall(MatScale(J, 2));
      if (!s) PetscCall(DMBoxTSComputeIJacobian(ts, 0, x, x, 5, J, J, NULL));
      CHECK(J, 1, z[s], "%s, state %d, %s: the Jacobian of a TS has another product after MatScale()\n", p->name, s,
            aij ? "assembled" : "matrix-free");
      PetscCall(TSDestroy(&newts));
      PetscCall(MatDestroy(&N));
      PetscCall(DMDestroy(&newdm));
    }
    PetscCall(MatBoxUpdate(J));
    PetscCall(Set(dm, p, 2));
    CHECK(J, 1, y[2], "%s, %s: a Jacobian after MatBoxUpdate() does not follow\n", p->name, aij ? "assembled" : "matrix-free");
    PetscCall(TSDestroy(&ts));
    PetscCall(MatDestroy(&J));
    PetscCall(DMDestroy(&dm));
    for (int s = 0; s < 2; s++) PetscCall(VecDestroy(&z[s]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a SNES computes a new Jacobian in each solve */
static PetscErrorCode TestSNES(const Problem *p, Vec x, Vec y[])
{
  DM   dm;
  SNES snes;

  PetscFunctionBeginUser;
  PetscCall(NewDM(p, 0, &dm));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, dm));
  PetscCall(SNESSetType(snes, SNESKSPONLY));
  PetscCall(SNESSetFromOptions(snes));
  for (int s = 0; s < STATES; s++) {
    KSP       ksp;
    PC        pc;
    DM        newdm;
    Mat       N;
    Vec       u, r;
    PetscReal norm[2];

    PetscCall(SNESGetKSP(snes, &ksp));
    PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, 3000));
    PetscCall(KSPSetType(ksp, p->patches ? KSPFGMRES : KSPCG));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, p->patches ? PCPATCHMG : PCJACOBI));
    if (s) PetscCall(Set(dm, p, s));
    PetscCall(New(p, s, &newdm, &N));
    PetscCall(VecDuplicate(x, &u));
    PetscCall(VecDuplicate(x, &r));
    PetscCall(SNESSolve(snes, y[s], u));
    PetscCall(MatMult(N, u, r));
    PetscCall(VecAXPY(r, -1, y[s]));
    PetscCall(VecNorm(r, NORM_2, &norm[0]));
    PetscCall(VecNorm(y[s], NORM_2, &norm[1]));
    EXPECT(norm[0] < 1e-8 * norm[1], "%s, state %d: the solution of a SNES has relative residual %g\n", p->name, s,
           (double)(norm[0] / norm[1]));
    PetscCall(VecDestroy(&u));
    PetscCall(VecDestroy(&r));
    PetscCall(MatDestroy(&N));
    PetscCall(DMDestroy(&newdm));
  }
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tests(void)
{
  char name[64] = "poisson";

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-operator", name, sizeof(name), NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
    const Problem *p = &problems[i];
    PetscBool      same;
    Vec            x, y[STATES];

    PetscCall(PetscStrcmp(p->name, name, &same));
    if (!same) continue;
    PetscCall(Products(p, y, &x));
    PetscCall(TestFollow(p, x, y));
    PetscCall(TestOwn(p, x, y));
    PetscCall(TestAssembled(p, x, y));
    if (p->data) PetscCall(TestRefused(p, x, y));
    PetscCall(TestRelatives(p, x, y));
    PetscCall(TestTS(p, x, y));
    PetscCall(TestSNES(p, x, y));
    PetscCall(TestSolvers(p, y));
    if (p->patches && !p->data) PetscCall(TestCopySolver(p, y));
    PetscCall(PetscStrcmpAny(name, &same, "poisson", "diffusion", ""));
    if (same) PetscCall(TestNullSpace(p));
    for (int s = 0; s < STATES; s++) PetscCall(VecDestroy(&y[s]));
    PetscCall(VecDestroy(&x));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " failures\n", failures));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("all", {"all", Tests})

/*TEST

   test:
     suffix: 1
     nsize: {{1 2}}
     args: -each_operator poisson:dgq:diffusion:biharmonic:stokes:heat

   test:
     suffix: levels
     output_file: output/state_1.out
     args: -each_operator poisson:diffusion -pc_patchmg_coarse_eq_limit 0 -single_pc_patchmg_coarse_eq_limit 0

TEST*/
