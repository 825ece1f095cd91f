static char help
  [] = "What the form of an operator says, PETSc's matrices say, too: symmetric, definite or indefinite, and the null space, also one of \
several vectors.\n\
  -test known | stripes\n\n";

#include <patchfd/private/matimpl.h> /* what an operator is made of */

/* ---- the operators of the library ---- */

static const char *Known(PetscBool known, PetscBool is)
{
  return known ? (is ? "yes" : "no") : "unknown";
}

/* (A x, y) = (x, A y), and A z = 0 for all z of the null space */
static PetscErrorCode Verify(Mat A, PetscBool *symmetric, PetscBool *null)
{
  MatNullSpace nullspace;
  PetscScalar  a, b;
  PetscReal    norm;
  Vec          x, y, z;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(VecSetRandom(y, NULL));
  PetscCall(MatMult(A, x, z));
  PetscCall(VecDot(z, y, &a));
  PetscCall(VecNorm(z, NORM_2, &norm));
  PetscCall(MatMult(A, y, z));
  PetscCall(VecDot(x, z, &b));
  *symmetric = (PetscBool)(PetscAbsScalar(a - b) <= 1e-12 * (norm + PetscAbsScalar(a)));
  *null      = PETSC_TRUE;
  PetscCall(MatGetNullSpace(A, &nullspace));
  if (nullspace) PetscCall(MatNullSpaceTest(nullspace, A, null));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Print(const char name[], Mat A)
{
  PetscBool    known[2], is[2], constant = PETSC_FALSE, symmetric = PETSC_FALSE, null = PETSC_FALSE;
  PetscInt     n = 0;
  MatNullSpace nullspace;

  PetscFunctionBeginUser;
  PetscCall(MatIsSymmetricKnown(A, &known[0], &is[0]));
  PetscCall(MatIsSPDKnown(A, &known[1], &is[1]));
  PetscCall(MatGetNullSpace(A, &nullspace));
  if (nullspace) PetscCall(MatNullSpaceGetVecs(nullspace, &constant, &n, NULL));
  PetscCall(Verify(A, &symmetric, &null));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: symmetric %s, definite %s, null space of dimension %" PetscInt_FMT "%s%s%s\n", name,
                        Known(known[0], is[0]), Known(known[1], is[1]), n + (constant ? 1 : 0), constant ? ", constants" : "",
                        symmetric ? "" : ", NOT SYMMETRIC", null ? "" : ", NO NULL SPACE"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestKnown(MatType type)
{
  const struct {
    const char *name, *options;
    PetscReal   factor; /* diffusion takes none that are negative */
  } all[]                 = {{"poisson", "-dm_box_operator poisson", -1},
                             {"poisson, insulated", "-dm_box_operator poisson -dm_box_boundary neumann", -1},
                             {"poisson, insulated, shift", "-dm_box_operator poisson -dm_box_boundary neumann -dm_box_shift 1", -1},
                             {"poisson, negative shift", "-dm_box_operator poisson -dm_box_shift -1", -1},
                             {"poisson, dgq, insulated", "-dm_box_operator poisson -dm_box_space dgq -dm_box_boundary neumann", -1},
                             {"biharmonic", "-dm_box_operator biharmonic", -1},
                             {"diffusion", "-dm_box_operator diffusion", 2},
                             {"diffusion, insulated", "-dm_box_operator diffusion -dm_box_boundary neumann -dm_box_shift 0", 2},
                             {"stokes", "-dm_box_operator stokes -dm_box_space rt", -1},
                             {"stokes, open", "-dm_box_operator stokes -dm_box_space rt -dm_box_boundary neumann,dirichlet,dirichlet,dirichlet", -1}};
  const PetscInt cells[3] = {4, 6, 4};

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(all); i++) {
    PetscOptions options;
    DM           dm;
    Mat          A;

    PetscCall(PetscOptionsCreate(&options));
    PetscCall(PetscOptionsInsertString(options, all[i].options));
    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
    PetscCall(PetscObjectSetOptions((PetscObject)dm, options));
    PetscCall(DMSetFromOptions(dm));
    PetscCall(DMSetMatType(dm, type));
    PetscCall(DMSetUp(dm));
    PetscCall(DMCreateMatrix(dm, &A));
    PetscCall(Print(all[i].name, A));
    if (!strcmp(type, MATSHELL)) {
      for (int j = 0; j < 2; j++) { /* as a Newton step does; nobody can have written into it */
        PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      }
      PetscCall(Print("  told that it is new", A));
      PetscCall(MatScale(A, all[i].factor));
      PetscCall(Print(all[i].factor < 0 ? "  times -1" : "  times 2", A));
    }
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
    PetscCall(PetscOptionsDestroy(&options));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- an operator of the test, -u_yy with natural conditions: all functions of x are its null space ---- */

static PetscErrorCode NullSpace_Stripes(const Mat_Box *m, PetscBool near, MatNullSpace *nullspace)
{
  const DMBoxField *f = &((const DM_Box *)m->dm->data)->field[0];
  const PetscInt    n = f->line[0].nnodes;
  Vec              *z;

  PetscFunctionBeginUser;
  if (near) *nullspace = NULL;
  if (near) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, &z));
  for (PetscInt i = 0; i < n; i++) {
    PetscScalar *a;

    PetscCall(DMCreateGlobalVector(m->dm, &z[i]));
    PetscCall(VecSet(z[i], 0));
    PetscCall(VecGetArrayWrite(z[i], &a));
    for (size_t j = 0; j < PatchFDBoxSize(&f->global); j++)
      if (f->global.lo[0] + (PetscInt)(j % (size_t)f->global.n[0]) == i) a[j] = 1;
    PetscCall(VecRestoreArrayWrite(z[i], &a));
    PetscCall(VecNormalize(z[i], NULL));
  }
  PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)m->dm), PETSC_FALSE, n, z, nullspace));
  for (PetscInt i = 0; i < n; i++) PetscCall(VecDestroy(&z[i]));
  PetscCall(PetscFree(z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Form_Stripes(PETSC_UNUSED DM dm, PETSC_UNUSED DMBoxOperator op, const PetscReal c[], const PatchFDLine lines[][3],
                                   MatBoxForm *form)
{
  PatchFDBand *A = form->band, *M = A + 3;

  PetscFunctionBeginUser;
  form->nband     = 6;
  form->nterm     = 1;
  form->spd       = PETSC_TRUE;
  form->constants = -1;
  form->nullspace = NullSpace_Stripes;
  for (int d = 0; d < 3; d++) {
    PetscCall(PatchFDBandLaplace(&lines[0][d], d == 1 ? c[0] : 0, 0, 0, 0, &A[d]));
    PetscCall(PatchFDBandMass(&lines[0][d], &M[d]));
    form->A[0][d] = &A[d];
    form->M[0][d] = &M[d];
  }
  form->term[0] = (PatchFDTerm){.coef = 1, .dir = {&M[0], &A[1], &M[2]}};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View_Stripes(PETSC_UNUSED PetscInt dim, PETSC_UNUSED const PetscReal c[], PetscViewer viewer)
{
  PetscFunctionBeginUser;
  PetscCall(PetscViewerASCIIPrintf(viewer, "-u_yy"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_Stripes(DMBoxOperator op)
{
  PetscFunctionBeginUser;
  PetscCall(DMBoxOperatorSetMatBox(op));
  op->ops.form       = Form_Stripes;
  op->ops.view       = View_Stripes;
  op->coefficient[0] = 1;
  op->mass           = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the solution without what it has of the null space, by the box as one patch, and by two levels */
static PetscErrorCode TestStripes(void)
{
  const PetscInt          cells[3]   = {4, 4, 4};
  const DMBoxBoundaryType neumann[4] = {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN};

  PetscFunctionBeginUser;
  for (PetscInt degree = 1; degree <= 3; degree++) {
    DM           dm;
    Mat          A;
    Vec          b, x, u;
    PetscReal    error, norm;
    MatNullSpace nullspace;

    PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, degree, &dm));
    PetscCall(DMBoxSetBoundary(dm, neumann));
    PetscCall(DMBoxSetOperator(dm, "stripes"));
    PetscCall(DMSetFromOptions(dm));
    PetscCall(DMSetUp(dm));
    PetscCall(DMCreateMatrix(dm, &A));
    PetscCall(Print("stripes", A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(x, &u));
    PetscCall(VecSetRandom(u, NULL));
    PetscCall(MatMult(A, u, b));
    PetscCall(MatGetNullSpace(A, &nullspace));
    PetscCall(MatNullSpaceRemove(nullspace, u));
    PetscCall(VecNorm(u, NORM_2, &norm));
    for (int s = 0; s < 2; s++) {
      PetscInt its;
      KSP      ksp;
      PC       pc;

      PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
      PetscCall(KSPSetOperators(ksp, A, A));
      PetscCall(KSPSetType(ksp, KSPFGMRES));
      PetscCall(KSPSetTolerances(ksp, 1e-12, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
      PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(PCSetType(pc, s ? PCPATCHMG : PCPATCHFD));
      if (s == 0) PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_BOX));
      PetscCall(KSPSetFromOptions(ksp));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetIterationNumber(ksp, &its));
      PetscCall(MatNullSpaceRemove(nullspace, x));
      PetscCall(VecAXPY(x, -1, u));
      PetscCall(VecNorm(x, NORM_2, &error));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  k = %" PetscInt_FMT ", %s: %s, %s iterations\n", degree, s ? "patchmg" : "box",
                            error < 1e-9 * norm ? "solved" : "WRONG", its <= (s ? 15 : 2) ? "few" : "many"));
      PetscCall(PetscInfo(NULL, "error %g, %" PetscInt_FMT " iterations\n", (double)(error / norm), its));
      PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(VecDestroy(&u));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&dm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      test[64] = "known", type[64] = MATSHELL;
  PetscBool stripes;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(DMBoxOperatorRegister("stripes", Create_Stripes));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-test", test, sizeof(test), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", type, sizeof(type), NULL));
  PetscCall(PetscStrcmp(test, "stripes", &stripes));
  PetscCheck(stripes || !strcmp(test, "known"), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-test is %s; it must be known or stripes", test);
  if (stripes) PetscCall(TestStripes());
  else PetscCall(TestKnown(type));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
     suffix: known
     nsize: {{1 2}}
   test:
     suffix: known_aij
     nsize: {{1 2}}
     args: -type aij
   test:
     suffix: stripes
     nsize: {{1 2}}
     args: -test stripes

TEST*/
