static char help[] =
  "The operator elasticity, its smoothers and null spaces against references that share no code with the library: cell matrices from the\n\
bilinear form at quadrature points, with moments of Legendre polynomials where the divergence is projected, assembled, and dense solves.\n\
  -dm_box_*       : the mesh and the material (see DMBOX); -graded : random cell lengths; -bent : mapped\n\
  -vary <kind>    : the material, function or cells\n\
  -degrees <k,..> : of the displacement\n\
  -motions <n>    : dimension of the null space\n\
  -solve <b>      : with multigrid\n\
  -tolerance <t>  : allowed deviation of each component, relative to its maximum\n\n";

#include <petscpatchfd.h>
#include "elasticityproblem.h"

/* ---- the operator ---- */

static PetscErrorCode TestOperator(DM dm, const Problem *p, Mat A, const PetscReal x[], const PetscReal b[])
{
  PetscReal *y, *z, *g;
  Vec        vx, vb, vy;
  Mat        B;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(p->N, &y, p->N, &z, p->N, &g));
  PetscCall(MatCreateVecs(A, &vx, &vy));
  PetscCall(VecDuplicate(vx, &vb));
  PetscCall(ToVec(p, x, vx));
  PetscCall(ToVec(p, b, vb));
  Multiply(p, p->K, x, y);
  PetscCall(MatMult(A, vx, vy));
  PetscCall(Compare(p, "MatMult", vy, y));
  for (PetscInt i = 0; i < p->N; i++) z[i] = b[i] - y[i];
  PetscCall(MatResidual(A, vb, vx, vy));
  PetscCall(Compare(p, "MatResidual", vy, z));
  for (PetscInt i = 0; i < p->N; i++) z[i] = p->K[i * p->N + i];
  PetscCall(MatGetDiagonal(A, vy));
  PetscCall(Compare(p, "MatGetDiagonal", vy, z));
  for (PetscInt i = 0; i < p->N; i++) g[i] = p->fixed[i] ? x[i] : 0;
  Multiply(p, p->natural, g, z);
  for (PetscInt i = 0; i < p->N; i++) z[i] = p->fixed[i] ? x[i] : b[i] - z[i];
  PetscCall(DMBoxLiftDirichlet(dm, vx, vb));
  PetscCall(Compare(p, "DMBoxLiftDirichlet", vb, z));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(VecDestroy(&vy));
  PetscCall(MatCreateVecs(B, NULL, &vy));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDuplicate(vy, &vx));
  PetscCall(ToVec(p, x, vx));
  PetscCall(MatMult(B, vx, vy));
  PetscCall(CompareTo(p, "MatConvert", vy, y, 1e-12));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree3(y, z, g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* materials changed after the matrix was made, also to where the divergence is projected, and back */
static PetscErrorCode TestChange(DM dm, Problem *p, Mat A, const PetscReal x[])
{
  const PetscReal lambda[] = {0.1, 70 * p->mu, p->lambda};
  const PetscReal mu = p->mu, shift = p->shift;
  PetscInt        n = 0;
  PetscReal      *y;
  Vec             vx, vy;
  MatNullSpace    motions;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-motions", &n, NULL));
  PetscCall(PetscMalloc1(p->N, &y));
  PetscCall(MatCreateVecs(A, &vx, &vy));
  PetscCall(ToVec(p, x, vx));
  for (int i = p->k > 1 ? 0 : 2; i < 3; i++) {
    PetscCall(DMBoxSetElasticity(dm, lambda[i], mu, i < 2 ? shift + 3 : shift));
    PetscCall(SetMaterial(dm, p));
    PetscCall(MatGetNullSpace(A, &motions)); /* before the matrix is used */
    if (!motions != (i < 2 || !n)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "DMBoxSetElasticity: the null space is of another shift\n"));
    if (!motions != (i < 2 || !n)) (*p->failures)++;
    PetscCall(MatMult(A, vx, vy));
    Multiply(p, p->K, x, y);
    PetscCall(Compare(p, "DMBoxSetElasticity", vy, y));
  }
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* orthonormal vectors, which the reference maps to zero */
static PetscErrorCode TestMotions(const Problem *p, const char name[], MatNullSpace motions, PetscInt expected, PetscBool zero)
{
  PetscInt   n = 0;
  const Vec *v = NULL;
  PetscBool  constant;

  PetscFunctionBeginUser;
  if (motions) PetscCall(MatNullSpaceGetVecs(motions, &constant, &n, &v));
  if (n != expected) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s of dimension %" PetscInt_FMT ", not %" PetscInt_FMT "\n", name, n, expected));
    (*p->failures)++;
  }
  for (PetscInt i = 0; i < n; i++) {
    const PetscScalar *a;
    PetscReal         *z, *y, largest = 0;
    PetscScalar        dot[6];

    PetscCall(VecMDot(v[i], n, v, dot));
    for (PetscInt j = 0; j < n; j++) largest = PetscMax(largest, PetscAbsScalar(dot[j] - (i == j)));
    PetscCall(PetscCalloc2(p->N, &z, p->N, &y));
    PetscCall(VecGetArrayRead(v[i], &a));
    for (PetscInt j = 0; j < p->nown; j++) z[p->number[j]] = PetscRealPart(a[j]);
    PetscCall(VecRestoreArrayRead(v[i], &a));
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, z, (PetscMPIInt)p->N, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
    Multiply(p, p->natural, z, y);
    for (PetscInt j = 0; j < p->N && zero; j++)
      largest = PetscMax(largest, PetscMax(PetscAbsReal(y[j]) / (p->lambda + p->mu), p->fixed[j] ? PetscAbsReal(z[j]) : 0));
    if (!(largest <= p->tol)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: vector %" PetscInt_FMT ": %g\n", name, i, (double)largest));
    if (!(largest <= p->tol)) (*p->failures)++;
    PetscCall(PetscFree2(z, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestNullSpaces(DM dm, const Problem *p, Mat A)
{
  PetscInt     motions = 0, all = p->dim;
  PetscBool    is = PETSC_TRUE;
  MatNullSpace nullspace;
  Mat          B;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < p->dim; d++) /* and rotations, which no ring lets */
    for (PetscInt e = 0; e < d; e++) all += !p->ring[d] && !p->ring[e];
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-motions", &motions, NULL));
  PetscCall(MatGetNullSpace(A, &nullspace));
  PetscCall(TestMotions(p, "null space", nullspace, motions, PETSC_TRUE));
  if (nullspace) PetscCall(MatNullSpaceTest(nullspace, A, &is));
  if (!is) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "MatNullSpaceTest() says that the null space is none\n"));
  if (!is) (*p->failures)++;
  PetscCall(DMSetMatType(dm, MATAIJ));
  PetscCall(DMCreateMatrix(dm, &B));
  PetscCall(DMSetMatType(dm, MATSHELL));
  PetscCall(MatGetNearNullSpace(B, &nullspace));
  PetscCall(TestMotions(p, "near null space", nullspace, all, (PetscBool)(motions == all)));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- smoothers ---- */

/* solves with the rows and columns `at` of K, by Cholesky's factors: x[at] += omega K^{-1} r */
static PetscErrorCode SolvePatch(const Problem *p, PetscInt n, const PetscInt at[], PetscReal omega, PetscReal r[], PetscReal x[])
{
  PetscReal *L;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(n * n, &L));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j <= i; j++) {
      PetscReal sum = p->K[at[i] * p->N + at[j]];

      for (PetscInt l = 0; l < j; l++) sum -= L[i * n + l] * L[j * n + l];
      L[i * n + j] = i == j ? PetscSqrtReal(sum) : sum / L[j * n + j];
    }
    for (PetscInt l = 0; l < i; l++) r[i] -= L[i * n + l] * r[l];
    r[i] /= L[i * n + i];
  }
  for (PetscInt i = n - 1; i >= 0; i--) {
    for (PetscInt l = i + 1; l < n; l++) r[i] -= L[l * n + i] * r[l];
    r[i] /= L[i * n + i];
    x[at[i]] += omega * r[i];
  }
  PetscCall(PetscFree(L));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the free nodes of the two cells from cell c on in each direction, but for those on its ends inside the mesh */
static PetscInt PatchNodes(const Problem *p, const PetscInt c[3], PetscInt at[])
{
  PetscInt n = 0;

  for (PetscInt i = 0; i < p->N; i++) {
    PetscBool in = (PetscBool)!p->fixed[i];
    PetscInt  node[3];

    Split(i % p->nodes, p->n, node);
    for (PetscInt d = 0; d < p->dim; d++) {
      const PetscInt  first  = p->ring[d] ? (node[d] - c[d] * p->k + p->n[d]) % p->n[d] : node[d] - c[d] * p->k;
      const PetscInt  size   = PetscMin(2, p->cells[d]) * p->k;
      const PetscBool ends[] = {(PetscBool)(!p->ring[d] && c[d] == 0), (PetscBool)(!p->ring[d] && c[d] + 2 >= p->cells[d])};

      in = (PetscBool)(in && (ends[0] ? first >= 0 : first > 0) && (ends[1] ? first <= size : first < size));
    }
    if (in) at[n++] = i;
  }
  return n;
}

/* a sweep over the colours, backward if it is to be the adjoint */
static PetscErrorCode Sweep(const Problem *p, PetscBool backward, PetscReal omega, const PetscReal b[], PetscReal x[])
{
  PetscInt   np[3] = {1, 1, 1}, *at;
  PetscReal *r, *Ax;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < p->dim; d++) np[d] = p->ring[d] ? p->cells[d] : PetscMax(1, p->cells[d] - 1);
  PetscCall(PetscMalloc3(p->N, &at, p->N, &r, p->N, &Ax));
  for (PetscInt s = 0; s < 8; s++) {
    const PetscInt color = backward ? 7 - s : s;

    Multiply(p, p->K, x, Ax);
    for (PetscInt i = 0; i < np[0] * np[1] * np[2]; i++) {
      PetscInt c[3], n;

      Split(i, np, c);
      if (c[0] % 2 + 2 * (c[1] % 2) + 4 * (c[2] % 2) != color) continue;
      n = PatchNodes(p, c, at);
      for (PetscInt j = 0; j < n; j++) r[j] = b[at[j]] - Ax[at[j]];
      PetscCall(SolvePatch(p, n, at, omega, r, x));
    }
  }
  for (PetscInt i = 0; i < p->N; i++)
    if (p->fixed[i]) x[i] += omega * (b[i] - x[i]);
  PetscCall(PetscFree3(at, r, Ax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSmoothers(const Problem *p, Mat A, const PetscReal x[], const PetscReal b[])
{
  static const struct {
    PCPatchFDVariant variant;
    PCPatchFDOrder   order;
    PetscReal        omega;
  } kinds[] = {
    {PC_PATCHFD_VARIANT_AUTO, PC_PATCHFD_ORDER_FORWARD, 1},
    {PC_PATCHFD_VARIANT_FUSED, PC_PATCHFD_ORDER_FORWARD, 1},
    {PC_PATCHFD_VARIANT_GLOBAL, PC_PATCHFD_ORDER_BACKWARD, 0.8},
  };
  PetscReal *y;
  VecType    type;
  PetscBool  gpu;
  Vec        vx, vb;
  KSP        ksp;
  PC         pc;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(p->N, &y));
  PetscCall(MatCreateVecs(A, &vx, &vb));
  PetscCall(VecGetType(vx, &type));
  PetscCall(PetscStrendswith(type, "cuda", &gpu)); /* seqcuda, mpicuda, singlecuda */
  PetscCall(ToVec(p, b, vb));
  PetscCall(SmootherCreate(A, KSPRICHARDSON, &ksp, &pc));
  PetscCall(PCPatchFDSetPrecision(pc, PC_PATCHFD_PRECISION_SAME));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(kinds); i++) {
    char name[64];

    if ((gpu || p->bent || p->vary) && kinds[i].variant == PC_PATCHFD_VARIANT_FUSED) continue;
    PetscCall(PCPatchFDSetVariant(pc, kinds[i].variant));
    PetscCall(PCPatchFDSetOrder(pc, kinds[i].order));
    PetscCall(PCPatchFDSetDamping(pc, kinds[i].omega));
    for (int zero = 0; zero < 2; zero++) {
      PetscCall(PetscSNPrintf(name, sizeof(name), "smoother %s%s", PCPatchFDVariants[kinds[i].variant], zero ? ", zero guess" : ""));
      for (PetscInt j = 0; j < p->N; j++) y[j] = zero ? 0 : x[j];
      PetscCall(Sweep(p, (PetscBool)(kinds[i].order == PC_PATCHFD_ORDER_BACKWARD), kinds[i].omega, b, y));
      PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)!zero));
      PetscCall(ToVec(p, x, vx));
      PetscCall(KSPSolve(ksp, vb, vx));
      PetscCall(CompareTo(p, name, vx, y, 100 * p->tol));
    }
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* by multigrid, and with the whole box as one patch: what the reference makes of the solution is the right-hand side */
static PetscErrorCode TestSolvers(DM dm, const Problem *p, Mat A, const PetscReal x[])
{
  PetscBool  solve = PETSC_TRUE;
  PetscReal *y, norm, error;
  Vec        vx, vb, vy;
  KSP        ksp;
  PC         pc;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solve, NULL));
  PetscCall(PetscMalloc1(p->N, &y));
  PetscCall(MatCreateVecs(A, &vx, &vb));
  PetscCall(VecDuplicate(vx, &vy));
  Multiply(p, p->K, x, y);
  PetscCall(ToVec(p, y, vb));
  PetscCall(SmootherCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_BOX));
  PetscCall(KSPSolve(ksp, vb, vx));
  PetscCall(MatMult(A, vx, vy));
  PetscCall(CompareTo(p, "whole box", vy, y, 1000 * p->tol));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_OPERATOR, PETSC_FALSE));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, 40));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(PCPatchMGSetSymmetric(pc, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  if (solve) {
    PetscCall(KSPSolve(ksp, vb, vx));
    PetscCall(MatMult(A, vx, vy));
    PetscCall(VecAXPY(vy, -1, vb));
    PetscCall(VecNorm(vy, NORM_2, &error));
    PetscCall(VecNorm(vb, NORM_2, &norm));
    if (!(error <= 1e-9 * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "multigrid: relative residual %g\n", (double)(error / norm)));
    if (!(error <= 1e-9 * norm)) (*p->failures)++;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscCall(VecDestroy(&vb));
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDegree(PetscInt degree, PetscBool graded, PetscReal tol, PetscRandom rnd, PetscInt *failures)
{
  Problem           p       = {.tol = tol, .failures = failures};
  PetscReal        *v[3]    = {NULL, NULL, NULL}, *vf[3], *x, *b;
  const char *const kinds[] = {"same", "function", "cells"};
  PetscInt          dim, vary = SAME;
  DM                dm;
  Mat               A;

  PetscFunctionBeginUser;
  PetscCall(BoxCreate(PETSC_FALSE, degree, &dm));
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(VerticesCreate(dm, graded, 1, rnd, v, vf));
  PetscCall(DMDestroy(&dm));
  PetscCall(BoxCreateOf(PETSC_FALSE, degree, graded, v, &dm));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bent", &p.bent, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-vary", kinds, 3, &vary, NULL));
  p.vary = vary;
  PetscCall(ProblemCreate(dm, v, &p));
  PetscCall(Number(dm, &p));
  PetscCall(Vary(dm, &p));
  PetscCall(Random(rnd, p.N, &x));
  PetscCall(Random(rnd, p.N, &b));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(TestOperator(dm, &p, A, x, b));
  if (vary == SAME) PetscCall(TestChange(dm, &p, A, x));
  PetscCall(TestNullSpaces(dm, &p, A));
  PetscCall(TestSolvers(dm, &p, A, x));
  PetscCall(MatSetNullSpace(A, NULL)); /* a KSP would remove it from what a smoother makes */
  PetscCall(TestSmoothers(&p, A, x, b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFree(x));
  PetscCall(PetscFree(b));
  PetscCall(ProblemDestroy(&p));
  for (PetscInt d = 0; d < dim; d++) PetscCall(PetscFree2(v[d], vf[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(RunDegrees(TestDegree));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
     args: -dm_box_space vq -dm_box_operator elasticity -dm_box_dim 2 -dm_box_cells 4,6
     nsize: {{1 2 3}}
     test:
       suffix: clamped
       args: -degrees 1,2,3,4
     test:
       suffix: projected
       args: -degrees 2,3,4 -dm_box_poisson_ratio 0.499 -dm_box_boundary dirichlet,neumann,symmetry,dirichlet
     test:
       suffix: mixed
       args: -degrees 1,2,3 -graded -dm_box_boundary dirichlet,symmetry,symmetry,neumann -dm_box_shift 2
     test:
       suffix: sliding
       args: -degrees 1,2 -graded -dm_box_boundary symmetry,neumann,neumann,neumann -motions 1
     test:
       suffix: free
       args: -degrees 1,2,3 -dm_box_boundary neumann -motions 3
     test:
       suffix: ring
       args: -degrees 1,2,3 -dm_box_boundary periodic,periodic,neumann,neumann -motions 2
     test:
       suffix: hinged
       args: -degrees 1,2,3 -graded -dm_box_boundary neumann,neumann,symmetry,neumann -dm_box_symmetry_components -1,-1,0,-1 -motions 2
       output_file: output/elasticity_free.out
   test:
     suffix: line
     args: -dm_box_space vq -dm_box_operator elasticity -dm_box_dim 1 -dm_box_cells 4 -degrees 1,2,3 -dm_box_boundary dirichlet,neumann
   test:
     suffix: odd
     args: -dm_box_space vq -dm_box_operator elasticity -dm_box_dim 2 -dm_box_cells 3,1 -degrees 1,2,3 -dm_box_boundary neumann,symmetry,neumann,dirichlet
   testset:
     args: -dm_box_space vq -dm_box_operator elasticity -dm_box_dim 2 -dm_box_cells 4,6
     nsize: {{1 3}}
     test:
       suffix: bent
       args: -bent -degrees 1,2,3,4 -vary {{same function cells}}
       output_file: output/elasticity_clamped.out
     test:
       suffix: bent_mixed
       args: -bent -degrees 1,2,3 -graded -vary cells -dm_box_shift 2 -dm_box_boundary dirichlet,symmetry,symmetry,neumann
       output_file: output/elasticity_mixed.out
     test:
       suffix: bent_projected
       args: -bent -degrees 2,3,4 -dm_box_poisson_ratio 0.499 -dm_box_boundary dirichlet,neumann,symmetry,dirichlet
       output_file: output/elasticity_projected.out
     test:
       suffix: bent_degree
       args: -bent -degrees 2,3,4 -vary function -dm_box_lambda_degree 1 -dm_box_boundary neumann,dirichlet,neumann,neumann
       output_file: output/elasticity_projected.out
     test:
       suffix: bent_free
       args: -bent -degrees 1,2,3 -dm_box_boundary neumann -motions 3
       output_file: output/elasticity_free.out
     test:
       suffix: bent_components
       args: -bent -degrees 1,2,3 -dm_box_boundary neumann,neumann,symmetry,symmetry -dm_box_symmetry_components -1,-1,1,0
       output_file: output/elasticity_free.out
     test:
       suffix: vary_ring
       args: -degrees 1,2,3 -vary {{function cells}} -dm_box_boundary periodic,periodic,neumann,neumann -motions 2
       output_file: output/elasticity_ring.out
   testset:
     args: -dm_box_space vq -dm_box_operator elasticity -dm_box_dim 3 -bent
     nsize: {{1 2}}
     test:
       suffix: bent_3d
       args: -dm_box_cells 4,2,2 -degrees 1,2 -vary function -dm_box_boundary dirichlet,neumann,symmetry,neumann,symmetry,symmetry
       output_file: output/elasticity_3d.out
     test:
       suffix: bent_3d_projected
       args: -dm_box_cells 2,3,2 -degrees 2 -graded -dm_box_poisson_ratio 0.4999 -dm_box_boundary dirichlet,neumann,neumann,symmetry,neumann,neumann
       output_file: output/elasticity_3d_projected.out
   testset:
     args: -dm_box_space vq -dm_box_operator elasticity -dm_box_dim 3
     nsize: {{1 2}}
     test:
       suffix: 3d
       args: -dm_box_cells 4,2,2 -degrees 1,2 -dm_box_boundary dirichlet,neumann,symmetry,neumann,symmetry,symmetry
     test:
       suffix: 3d_projected
       args: -dm_box_cells 2,3,2 -degrees 2 -graded -dm_box_poisson_ratio 0.4999 -dm_box_boundary dirichlet,neumann,neumann,symmetry,neumann,neumann
     test:
       suffix: 3d_free
       args: -dm_box_cells 4,3,3 -degrees 1 -dm_box_boundary neumann -motions 6
   testset:
     args: -dm_box_space vq -dm_box_operator elasticity -dm_box_dim 3 -degrees 1,2 -graded
     nsize: {{1 3}}
     output_file: output/elasticity_3d.out
     test:
       suffix: 3d_hinged
       args: -dm_box_cells 4,3,2 -dm_box_boundary symmetry,neumann,symmetry,neumann,symmetry,neumann -dm_box_symmetry_components 1,-1,0,-1,2,-1 -motions 1
     test:
       suffix: 3d_ring
       args: -dm_box_cells 4,3,4 -dm_box_boundary neumann,neumann,neumann,neumann,periodic,periodic -motions 4
   testset:
     args: -dm_box_space vq -dm_box_operator elasticity -dm_vec_type single -tolerance 1e-5 -solve 0
     output_file: output/elasticity_single.out
     test:
       suffix: single
       args: -dm_box_dim 2 -dm_box_cells 4,6 -degrees 1,2,3 -dm_box_boundary dirichlet,symmetry,symmetry,neumann
     test:
       suffix: single_bent
       args: -bent -vary function -dm_box_dim 2 -dm_box_cells 4,6 -degrees 1,2,3 -dm_box_boundary dirichlet,symmetry,symmetry,neumann
     test:
       suffix: singlecuda
       requires: cuda gpu
       args: -dm_vec_type singlecuda -dm_box_dim 2 -dm_box_cells 5,6 -degrees 1,2,3
     test:
       suffix: singlecuda_bent
       requires: cuda gpu
       args: -dm_vec_type singlecuda -bent -vary function -dm_box_dim 3 -dm_box_cells 4,3,2 -degrees 1,2,3 -dm_box_boundary dirichlet,symmetry,symmetry,neumann,neumann,neumann
     test:
       suffix: singlecuda_3d
       requires: cuda gpu
       args: -dm_vec_type singlecuda -dm_box_dim 3 -dm_box_cells 5,3,2 -degrees 1,2,3
     test:
       suffix: single_3d
       args: -dm_box_dim 3 -dm_box_cells 3,3,2 -degrees 1,2,3 -dm_box_boundary dirichlet,neumann,dirichlet,dirichlet,dirichlet,dirichlet
   testset:
     requires: cuda gpu
     args: -dm_box_space vq -dm_box_operator elasticity -dm_vec_type cuda
     test:
       suffix: cuda
       args: -dm_box_dim 2 -dm_box_cells 4,6 -degrees 2,3,4 -graded {{false true}} -dm_box_poisson_ratio {{0.3 0.499}} -dm_box_boundary dirichlet,neumann,symmetry,dirichlet
       output_file: output/elasticity_projected.out
     test:
       suffix: cuda_clamped
       nsize: {{1 3}}
       args: -dm_box_dim 2 -dm_box_cells 5,6 -degrees 1,2,3,4 -dm_box_shift 2
       output_file: output/elasticity_clamped.out
     test:
       suffix: cuda_clamped_projected
       args: -dm_box_dim 2 -dm_box_cells 9,3 -degrees 2,3,4 -dm_box_poisson_ratio 0.499
       output_file: output/elasticity_projected.out
     test:
       suffix: cuda_ring
       nsize: {{1 2}}
       args: -dm_box_dim 2 -dm_box_cells 4,6 -degrees 1,2,3 -dm_box_boundary periodic,periodic,neumann,neumann -motions 2
       output_file: output/elasticity_ring.out
     test:
       suffix: cuda_free
       args: -dm_box_dim 2 -dm_box_cells 4,6 -degrees 1,2,3 -dm_box_boundary neumann -motions 3
       output_file: output/elasticity_free.out
     test:
       suffix: cuda_3d
       args: -dm_box_dim 3 -dm_box_cells 4,2,2 -degrees 1,2 -dm_box_boundary dirichlet,neumann,symmetry,neumann,symmetry,symmetry
       output_file: output/elasticity_3d.out
     test:
       suffix: cuda_3d_clamped
       nsize: {{1 2}}
       args: -dm_box_dim 3 -dm_box_cells 4,3,2 -degrees 1,2,3
       output_file: output/elasticity_ring.out
     test:
       suffix: cuda_3d_high
       args: -dm_box_dim 3 -dm_box_cells 2,2,3 -degrees 2,3,4 -dm_box_poisson_ratio 0.499
       output_file: output/elasticity_projected.out
     test:
       suffix: cuda_ranks
       nsize: 2
       args: -dm_box_dim 3 -dm_box_cells 4,3,3 -degrees 1 -dm_box_boundary neumann -motions 6
       output_file: output/elasticity_3d_free.out
     test:
       suffix: cuda_bent
       nsize: {{1 3}}
       args: -bent -dm_box_dim 2 -dm_box_cells 4,6 -degrees 1,2,3,4 -vary {{same function cells}}
       output_file: output/elasticity_clamped.out
     test:
       suffix: cuda_bent_projected
       args: -bent -dm_box_dim 2 -dm_box_cells 4,6 -degrees 2,3,4 -dm_box_poisson_ratio 0.499 -dm_box_shift {{0 2}} -dm_box_boundary dirichlet,neumann,symmetry,dirichlet
       output_file: output/elasticity_projected.out
     test:
       suffix: cuda_bent_3d
       nsize: {{1 2}}
       args: -bent -dm_box_dim 3 -dm_box_cells 4,2,2 -degrees 1,2 -vary function -dm_box_boundary dirichlet,neumann,symmetry,neumann,symmetry,symmetry
       output_file: output/elasticity_3d.out
     # inverses made on the GPU: rounding errors grow as 1 / (1 - 2 nu), and 2e-10 has been seen
     test:
       suffix: cuda_bent_3d_projected
       args: -tolerance 1e-9 -bent -dm_box_dim 3 -dm_box_cells 2,3,2 -degrees 2 -graded -dm_box_poisson_ratio 0.4999 -dm_box_boundary dirichlet,neumann,neumann,symmetry,neumann,neumann
       output_file: output/elasticity_3d_projected.out

TEST*/
