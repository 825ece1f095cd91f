static char help[] =
  "Solids on a DMPLEX: bodies that a traction stretches, and bars between planes of symmetry; stresses of a known displacement; a box\n\
against a DMBOX; messages.  Operators and iterations: tests/elasticityplex.c\n\
  -test traction, tension, stresses, box, errors\n\n";

#include "elasticityplex.h"
#include "catch.h"
#include "runtest.h"

typedef void Side(RESIDUAL, const PetscReal normal[], PetscInt n, const PetscScalar constants[], PetscScalar f[]);

/* a solid on a mesh with a traction on the faces of a label */
static PetscErrorCode CreateLoaded(const Case *c, DM dm, DMLabel label, Side *traction, DMBoxPlaneType plane, Mat *A, Vec *x, Vec *b)
{
  const PetscInt id = 1;
  const char    *name;
  PetscInt       bd;
  PetscDS        ds;
  PetscWeakForm  wf;

  PetscFunctionBeginUser;
  PetscCall(SetSpace(c, -1, dm));
  PetscCall(DMGetDS(dm, &ds));
  PetscCall(PetscObjectGetName((PetscObject)label, &name));
  PetscCall(DMAddBoundary(dm, DM_BC_NATURAL, name, label, 1, &id, 0, 0, NULL, NULL, NULL, NULL, &bd));
  PetscCall(PetscDSGetBoundary(ds, bd, &wf, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(PetscWeakFormSetIndexBdResidual(wf, label, id, 0, 0, 0, traction, 0, NULL));
  PetscCall(MatCreateElasticityPlex(dm, A));
  PetscCall(MatElasticityPlexSetModuli(*A, 1, c->ratio, plane, 0));
  PetscCall(MatCreateVecs(*A, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- tests ---- */

static void Traction(RESIDUAL, const PetscReal normal[], PETSC_UNUSED PetscInt n, PETSC_UNUSED const PetscScalar constants[],
                     PetscScalar f[])
{
  for (PetscInt c = 0; c < dim; c++) f[c] = -normal[c];
}

/* a free body of volume 1 that a traction of n stretches: u = x / (dim lambda + 2 mu) */
static PetscErrorCode TestTraction(Case *c)
{
  const PetscReal mu = 0.5 / (1 + c->ratio), lambda = 2 * mu * c->ratio / (1 - 2 * c->ratio);
  PetscReal       iterations;
  PetscScalar     energy;
  DM              dm;
  DMLabel         label;
  Mat             A;
  Vec             x, b;

  PetscFunctionBeginUser;
  c->free = PETSC_TRUE;
  PetscCall(CreateMesh(c, &dm));
  PetscCall(DMCreateLabel(dm, "sides"));
  PetscCall(DMGetLabel(dm, "sides", &label));
  PetscCall(DMPlexMarkBoundaryFaces(dm, 1, label));
  PetscCall(CreateLoaded(c, dm, label, Traction, DMBOX_PLANE_STRAIN, &A, &x, &b));
  PetscCall(GetLoad(dm, b));
  PetscCall(Solve(A, KSPCG, b, x, &iterations));
  PetscCall(VecDot(b, x, &energy));
  PetscCall(Check("energy of a body that is stretched", PetscAbsScalar(energy - c->dim / (c->dim * lambda + 2 * mu)), 1, 1e-10));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of the side x = 1, in direction x */
static void Pull(RESIDUAL, PETSC_UNUSED const PetscReal normal[], PETSC_UNUSED PetscInt n, PETSC_UNUSED const PetscScalar constants[],
                 PetscScalar f[])
{
  for (PetscInt c = 0; c < dim; c++) f[c] = c == 0 ? -1 : 0;
}

static PetscErrorCode Stretched(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscScalar u[],
                                void *ctx)
{
  for (PetscInt c = 0; c < n; c++) u[c] = (c ? -*(const PetscReal *)ctx : 1) * x[c];
  return PETSC_SUCCESS;
}

/* xx 1, von Mises' stress 1, nothing else */
static PetscErrorCode CheckBar(Mat A, Vec x)
{
  PetscReal    error = 0;
  PetscInt     n, size;
  PetscScalar *a;
  Vec          stress;

  PetscFunctionBeginUser;
  PetscCall(MatElasticityPlexComputeStresses(A, x, &stress));
  PetscCall(VecGetBlockSize(stress, &n));
  PetscCall(VecGetLocalSize(stress, &size));
  PetscCall(VecGetArray(stress, &a));
  for (PetscInt i = 0; i < size; i++) error = PetscMax(error, PetscAbsScalar(a[i] - (i % n == 0 || i % n == n - 1)));
  PetscCall(VecRestoreArray(stress, &a));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &error, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(Check("stresses of a bar", error, 1, 1e-7));
  PetscCall(VecDestroy(&stress));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a part of a bar, between planes of symmetry; and iterations with any load, of the bar and where these sides are clamped */
static PetscErrorCode TestTension(Case *c)
{
  PetscErrorCode (*stretched[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {Stretched};
  void     *ctx[]                                                                                        = {&c->ratio};
  PetscReal iterations[3], error;
  DM        dm;
  DMLabel   label;
  Mat       A;
  Vec       x, b;

  PetscFunctionBeginUser;
  for (int clamped = 0; clamped < 2; clamped++) {
    c->planes  = c->dim;
    c->clamped = clamped ? c->dim : 0;
    PetscCall(CreateMesh(c, &dm));
    PetscCall(MarkSide(dm, "end", 0, 1, &label));
    PetscCall(CreateLoaded(c, dm, label, Pull, DMBOX_PLANE_STRESS, &A, &x, &b));
    if (!clamped) {
      PetscCall(GetLoad(dm, b));
      PetscCall(Solve(A, KSPCG, b, x, &iterations[2]));
      PetscCall(DMComputeL2Diff(dm, 0, stretched, ctx, x, &error));
      PetscCall(Check("displacement of a bar", error, 1, 1e-8));
      PetscCall(CheckBar(A, x));
    }
    PetscCall(VecSetRandom(b, NULL));
    PetscCall(Solve(A, KSPCG, b, x, &iterations[clamped]));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  if (iterations[0] > iterations[1] + 1 || iterations[2] > iterations[1] + 1)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%.1f and %.1f iterations, clamped %.1f\n", (double)iterations[0], (double)iterations[2],
                          (double)iterations[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u_c = (c + 1) y^2 + 0.3 x_c y, y the next coordinate */
static PetscErrorCode Quadratic(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscScalar u[],
                                PETSC_UNUSED void *ctx)
{
  for (PetscInt c = 0; c < n; c++) u[c] = (c + 1) * PetscSqr(x[(c + 1) % dim]) + 0.3 * x[c] * x[(c + 1) % dim];
  return PETSC_SUCCESS;
}

/* its stresses, with Young's modulus 1, in plane strain, and von Mises' stress by the deviator */
static PetscErrorCode QuadraticStress(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                                      PetscScalar s[], void *ctx)
{
  const PetscReal nu = *(const PetscReal *)ctx, mu = 0.5 / (1 + nu), lambda = 2 * mu * nu / (1 - 2 * nu);
  PetscReal       H[3][3] = {{0}}, trace = 0, square = 0;
  PetscInt        k = 0;

  for (PetscInt c = 0; c < dim; c++) {
    const PetscInt next = (c + 1) % dim;

    H[c][next] = 2 * (PetscReal)(c + 1) * x[next] + 0.3 * x[c];
    H[c][c]    = 0.3 * x[next];
    trace += H[c][c];
  }
  for (PetscInt i = 0; i < 3; i++) {
    for (PetscInt j = i; j < 3; j++) {
      const PetscReal shear = mu * (H[i][j] + H[j][i]);

      if (j < dim || i == j) s[k++] = shear + (i == j ? lambda * trace : 0);
      square += (i == j ? 1 : 2) * PetscSqr(shear - (i == j ? 2 * mu * trace / 3 : 0));
    }
  }
  s[k] = PetscSqrtReal(1.5 * square);
  return PETSC_SUCCESS;
}

/* at all nodes, those on clamped sides, too, which have values */
static PetscErrorCode TestStresses(Case *c)
{
  PetscErrorCode (*quadratic[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {Quadratic};
  PetscErrorCode (*exact[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *)     = {QuadraticStress};
  const PetscInt id = 1, y = 1;
  void          *ctx[] = {&c->ratio};
  const char    *name;
  DM             dm, nodes;
  DMLabel        label;
  PetscSection   section;
  Mat            A;
  Vec            u, stress, wanted;

  PetscFunctionBeginUser;
  c->bend = 0;
  c->free = PETSC_TRUE;
  PetscCall(CreateMesh(c, &dm));
  PetscCall(SetSpace(c, -1, dm));
  for (int side = 0; side < 2; side++) { /* one of them moves in y only */
    PetscCall(MarkSide(dm, side ? "right" : "left", 0, side, &label));
    PetscCall(
      DMAddBoundary(dm, DM_BC_ESSENTIAL, side ? "right" : "left", label, 1, &id, 0, side, &y, (PetscVoidFn *)Quadratic, NULL, NULL, NULL));
  }
  PetscCall(MatCreateElasticityPlex(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMProjectFunction(dm, 0, quadratic, NULL, INSERT_VALUES, u));
  PetscCall(MatElasticityPlexComputeStresses(A, u, &stress));
  PetscCall(VecGetDM(stress, &nodes));
  PetscCall(VecDuplicate(stress, &wanted));
  PetscCall(DMProjectFunction(nodes, 0, exact, ctx, INSERT_VALUES, wanted));
  PetscCall(Compare("stresses", stress, wanted, 1e-11));
  PetscCall(DMGetLocalSection(nodes, &section));
  PetscCall(PetscSectionGetComponentName(section, 0, c->dim, &name));
  if (strcmp(name, "yy") && c->dim == 2) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "component %s\n", name));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&stress));
  PetscCall(VecDestroy(&wanted));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Polynomial(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscScalar u[],
                                 PETSC_UNUSED void *ctx)
{
  for (PetscInt c = 0; c < n; c++) u[c] = (1 + x[c]) * (0.5 + c + x[(c + 1) % dim]) - x[dim - 1] * x[c];
  return PETSC_SUCCESS;
}

/* norms of the matrix, and an energy: those of a DMBOX of the same cells */
static PetscErrorCode Norms(DM dm, Mat A, Vec u, PetscReal norm[3])
{
  Mat         B;
  Vec         y;
  PetscScalar energy;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(u, &y));
  PetscCall(MatMult(A, u, y));
  PetscCall(VecDot(u, y, &energy));
  norm[0] = PetscRealPart(energy);
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatNorm(B, NORM_FROBENIUS, &norm[1]));
  PetscCall(MatNorm(B, NORM_1, &norm[2]));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBox(Case *c)
{
  PetscErrorCode (*polynomial[])(PetscInt, PetscReal, const PetscReal[], PetscInt, PetscScalar *, void *) = {Polynomial};
  static const char *const what[3]  = {"energy", "Frobenius norm", "largest column"};
  const PetscInt           cells[3] = {c->cells, c->cells, c->cells};
  DMBoxBoundaryType        side[6];
  DM                       dm;
  Mat                      A;
  Vec                      u;
  PetscReal                plex[3], box[3];

  PetscFunctionBeginUser;
  c->bend = 0;
  c->free = PETSC_TRUE;
  PetscCall(CreateSolid(c, &dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMProjectFunction(dm, 0, polynomial, NULL, INSERT_VALUES, u));
  PetscCall(Norms(dm, A, u, plex));
  for (int i = 0; i < 6; i++) side[i] = DMBOX_BOUNDARY_NEUMANN;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, c->dim, cells, c->degree, &dm));
  PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_VQ));
  PetscCall(DMBoxSetBoundary(dm, side));
  PetscCall(DMBoxSetOperator(dm, "elasticity"));
  PetscCall(DMBoxSetElasticModuli(dm, 1, c->ratio, DMBOX_PLANE_STRAIN));
  PetscCall(DMSetUp(dm));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &u));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Polynomial, NULL, u));
  PetscCall(Norms(dm, A, u, box));
  for (int i = 0; i < 3; i++) PetscCall(Check(what[i], PetscAbsReal(plex[i] - box[i]), box[i], 1e-12));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- errors ---- */

static PetscErrorCode Refused(const char *what, PetscErrorCode ierr, const char *word)
{
  const char *found;

  PetscFunctionBeginUser;
  PetscCall(PetscStrstr(lastmessage, word, (char **)&found));
  if (!ierr || !found) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what, ierr ? lastmessage : "no error"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Rubber(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                             PetscReal m[], PETSC_UNUSED void *ctx)
{
  m[0] = 1;
  m[1] = 0.5 * (x[0] > 0.5);
  return PETSC_SUCCESS;
}

/* as that of a solid, but for one entry */
static void Bad(POINT, PetscScalar g[])
{
  G3(dim, Nf, NfAux, uOff, uOff_x, u, u_t, u_x, aOff, aOff_x, a, a_t, a_x, t, shift, x, n, constants, g);
  g[dim * dim] += 0.1;
}

static PetscErrorCode TestErrors(Case *c)
{
  PetscErrorCode ierr;
  PetscDS        ds;
  DM             dm;
  Mat            A;
  Vec            moduli, stress;

  PetscFunctionBeginUser;
  PetscCall(CreateSolid(c, &dm, &A));
  CATCH(ierr, MatElasticityPlexSetModuli(A, -1, 0.3, DMBOX_PLANE_STRAIN, 0));
  PetscCall(Refused("negative modulus", ierr, "-mat_elasticity_young is -1"));
  CATCH(ierr, MatElasticityPlexSetModuli(A, 1, 0.5, DMBOX_PLANE_STRAIN, 0));
  PetscCall(Refused("incompressible", ierr, "less than 0.5"));
  CATCH(ierr, MatElasticityPlexSetModuli(A, 1, 0.3, (DMBoxPlaneType)7, 0));
  PetscCall(Refused("plane", ierr, "strain or stress"));
  CATCH(ierr, MatElasticityPlexSetFunction(A, NULL, NULL, DMBOX_PLANE_STRAIN, NULL));
  PetscCall(Refused("no function", ierr, "no function"));
  CATCH(ierr, MatElasticityPlexSetFunction(A, Rubber, NULL, DMBOX_PLANE_STRAIN, NULL));
  PetscCall(Refused("incompressible function", ierr, "The material of the solid is none in cell"));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, 3, PETSC_DETERMINE, &moduli));
  CATCH(ierr, MatElasticityPlexSetVec(A, moduli, NULL, DMBOX_PLANE_STRAIN));
  PetscCall(Refused("size", ierr, "Young's modulus and Poisson's ratio has 3 entries"));
  PetscCall(VecDestroy(&moduli));
  PetscCall(DMGetDS(dm, &ds));
  PetscCall(PetscDSSetJacobian(ds, 0, 0, NULL, NULL, NULL, Bad));
  CATCH(ierr, MatDiffusionPlexSetJacobian(A, dm, NULL, 0, 0));
  PetscCall(Refused("PetscDS", ierr, "couples components, and is not symmetric"));
  CATCH(ierr, MatElasticityPlexSetFunction(A, Moduli, Shift, DMBOX_PLANE_STRAIN, NULL));
  PetscCall(ierr); /* is as good as new */
  CATCH(ierr, MatElasticityPlexGetModuli(A, NULL, NULL, NULL, NULL));
  PetscCall(Refused("getter", ierr, "no material that is the same everywhere"));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, 3, PETSC_DETERMINE, &moduli));
  CATCH(ierr, MatElasticityPlexComputeStresses(A, moduli, &stress));
  PetscCall(Refused("size of a displacement", ierr, "The displacement has 3 entries"));
  PetscCall(VecDestroy(&moduli));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  c->degree = 1;
  PetscCall(CreateSolid(c, &dm, &A));
  CATCH(ierr, MatElasticityPlexSetModuli(A, 1, 0.46, DMBOX_PLANE_STRAIN, 0));
  PetscCall(Refused("locking", ierr, "above 0.45"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscCall(CreateMesh(c, &dm));
  PetscCall(SetSpace(c, 0, dm));
  CATCH(ierr, MatCreateElasticityPlex(dm, &A));
  PetscCall(Refused("components", ierr, "with as many components as dimensions"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  c->planes = 1;
  PetscCall(CreateMesh(c, &dm));
  PetscCall(SetSpace(c, -1, dm));
  CATCH(ierr, MatCreateBakeoff(dm, MAT_BAKEOFF_BP4, MAT_BAKEOFF_LAYOUT_ELEMENT, &A));
  PetscCall(Refused("vectors of elements", ierr, "in the layout element they have to be for none or all"));
  PetscCall(MatCreateBakeoff(dm, MAT_BAKEOFF_BP4, MAT_BAKEOFF_LAYOUT_GLOBAL, &A));
  PetscCall(MatCreateVecs(A, &moduli, NULL));
  CATCH(ierr, MatElasticityPlexComputeStresses(A, moduli, &stress));
  PetscCall(Refused("stresses", ierr, "The matrix is that of no solid"));
  PetscCall(VecDestroy(&moduli));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

CASE_TEST(Traction)
CASE_TEST(Tension)
CASE_TEST(Stresses)
CASE_TEST(Box)
CASE_TEST(Errors)

TEST_MAIN("traction", {"traction", RunTraction}, {"tension", RunTension}, {"stresses", RunStresses}, {"box", RunBox}, {"errors", RunErrors})

/*TEST

  testset:
    output_file: output/elasticityplexloads_ok.out

    test:
      suffix: traction
      nsize: {{1 2}}
      args: -test traction -each_dim 2:3 -turned

    test:
      suffix: tension
      nsize: {{1 2 3}}
      args: -test tension -each_dim 2:3 -each_degree 1:2:3:4 -turned

    test:
      suffix: tension_single
      nsize: {{1 2}}
      args: -test tension -degree 3 -turned -pc_type single -ksp_type fcg

    test:
      suffix: stresses
      nsize: {{1 3}}
      args: -test stresses -each_dim 2:3 -each_degree 2:3 -turned

    test:
      suffix: box
      nsize: {{1 2}}
      args: -test box -each_dim 2:3 -each_degree 1:2:3

    test:
      suffix: errors
      args: -test errors -each_dim 2:3 -malloc_dump 0

    test:
      suffix: cuda
      requires: cuda gpu
      args: -cuda -test traction -each_dim 2:3 -each_degree 1:2:3:5 -cells 2 -turned

    test:
      suffix: planes_cuda
      requires: cuda gpu
      nsize: {{1 2}}
      args: -cuda -test tension -planes 2 -each_dim 2:3 -each_degree 2:5 -cells 2 -turned

    test:
      suffix: planes_single_cuda
      requires: cuda gpu
      args: -cuda -test tension -each_dim 2:3 -degree 3 -turned -pc_type single -ksp_type fcg

    # memory begins with NaN: products of matrices on a GPU must not read it
    test:
      suffix: large_cuda
      requires: cuda gpu
      args: -cuda -test tension -dim 3 -degree 2 -cells 8 -malloc_debug

TEST*/
