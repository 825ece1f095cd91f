static char help[] = "An operator that a program registers: -laplace u = f with Robin conditions du/dn + beta u = 0 on all \
sides.\n\
The solution, prod (1 + beta x_d (1 - x_d)), lies in the finite element space from degree 2 on, so that nodal values are exact.\n\
  -test solve | errors\n\
  -dm_box_robin <beta> : the coefficient\n\n";

#include <patchfd/private/matimpl.h> /* what an operator is made of */

/* ---- the operator ---- */

enum {
  BETA /* its place among the coefficients */
};

/*
  On a product of lines a side belongs to one direction, and an integral over it is a product of masses of the others.  So the sum is a
  Kronecker sum as Poisson's is, and beta enters the one-dimensional stiffness at the nodes at the ends.
*/
static PetscErrorCode Form_Robin(DM dm, DMBoxOperator op, const PetscReal c[], const PatchFDLine lines[][3], MatBoxForm *form)
{
  const PetscReal penalty = DMBoxPenalty(dm);
  PatchFDBand    *A = form->band, *M = A + 3;

  PetscFunctionBegin;
  (void)op;
  form->nband     = 6;
  form->nterm     = 3;
  form->separable = PETSC_TRUE;
  form->nullspace = c[BETA] == 0 ? MatBoxConstants : NULL;
  form->spd       = (PetscBool)(c[BETA] >= 0);
  for (PetscInt d = 0; d < 3; d++) {
    const PatchFDLine *line = &lines[0][d];

    PetscCall(PatchFDBandLaplace(line, 1, 0, penalty, 2 * penalty, &A[d]));
    PetscCall(PatchFDBandMass(line, &M[d]));
    for (int e = 0; e < 2 && d < dm->dim; e++) PetscCall(PatchFDBandAddEnd(e, c[BETA], &A[d]));
    form->A[0][d] = &A[d];
    form->M[0][d] = &M[d];
  }
  for (int d = 0; d < 3; d++) {
    form->term[d]        = (PatchFDTerm){.coef = 1, .dir = {&M[0], &M[1], &M[2]}};
    form->term[d].dir[d] = &A[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetFromOptions_Robin(DM dm, DMBoxOperator op, PatchFDOptionItems PetscOptionsObject)
{
  PetscFunctionBegin;
  (void)dm;
  PetscCall(
    PetscOptionsReal("-dm_box_robin", "Coefficient of the Robin condition", NULL, op->coefficient[BETA], &op->coefficient[BETA], NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View_Robin(PetscInt dim, const PetscReal c[], PetscViewer viewer)
{
  PetscFunctionBegin;
  (void)dim;
  PetscCall(PetscViewerASCIIPrintf(viewer, "-laplace u, du/dn + %g u = 0 on the sides", (double)c[BETA]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create_Robin(DMBoxOperator op)
{
  PetscFunctionBegin;
  PetscCall(DMBoxOperatorSetMatBox(op));
  op->ops.setfromoptions = SetFromOptions_Robin;
  op->ops.view           = View_Robin;
  op->ops.form           = Form_Robin;
  op->coefficient[BETA]  = 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solves ---- */

static PetscErrorCode Exact(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                            void *ctx)
{
  const PetscReal beta = *(const PetscReal *)ctx;

  PetscFunctionBeginUser;
  u[0] = 1;
  for (PetscInt d = 0; d < dim; d++) u[0] *= 1 + beta * x[d] * (1 - x[d]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Force(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar f[], void *ctx)
{
  const PetscReal beta = *(const PetscReal *)ctx;
  PetscReal       sum  = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) sum += 2 * beta / (1 + beta * x[d] * (1 - x[d]));
  PetscCall(Exact(dim, time, x, Nc, f, ctx));
  f[0] *= sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateBox(PetscInt dim, PetscInt degree, DMBoxSpace space, const char op[], DM *dm)
{
  const PetscInt          cells[3]   = {8, 4, 4};
  const DMBoxBoundaryType neumann[6] = {DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN,
                                        DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, degree, dm));
  PetscCall(DMBoxSetBoundary(*dm, neumann));
  PetscCall(DMBoxSetSpace(*dm, space));
  PetscCall(DMBoxSetOperator(*dm, op));
  PetscCall(DMSetFromOptions(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* by multigrid, in double precision and in single inside, and by the direct solver */
static PetscErrorCode Solve(PetscInt dim, PetscInt degree, DMBoxSpace space)
{
  const char *const solvers[] = {"patchmg", "single", "direct"};
  DM                dm;
  Mat               A;
  Vec               b, u;
  PetscReal         beta;

  PetscFunctionBeginUser;
  PetscCall(CreateBox(dim, degree, space, "robin", &dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMViewFromOptions(dm, NULL, "-dm_view"));
  beta = ((DM_Box *)dm->data)->op->coefficient[BETA];
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(DMCreateGlobalVector(dm, &b));
  PetscCall(VecDuplicate(b, &u));
  PetscCall(DMBoxAddLoad(dm, 0, Force, &beta, b));
  for (int s = 0; s < 3; s++) {
    KSP       ksp;
    PC        pc, inner;
    PetscInt  its;
    PetscReal error;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetDM(ksp, dm));
    PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPFGMRES));
    PetscCall(KSPSetTolerances(ksp, 1e-12, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetDM(pc, dm));
    PetscCall(PCSetType(pc, s == 0 ? PCPATCHMG : (s == 1 ? PCSINGLE : PCPATCHFD)));
    if (s == 1) {
      PetscCall(PCSingleGetPC(pc, &inner));
      PetscCall(PCSetType(inner, PCPATCHMG));
    }
    if (s == 2) PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_BOX));
    PetscCall(KSPSolve(ksp, b, u));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(DMBoxComputeError(dm, 0, Exact, &beta, u, NULL, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "D, %s, k = %" PetscInt_FMT ", %s: %s, %s iterations\n", dim,
                          DMBoxSpaces[space], degree, solvers[s], error < 1e-9 ? "exact" : "WRONG",
                          its <= (s < 2 ? 10 : 2) ? "few" : "many"));
    PetscCall(PetscInfo(NULL, "error %g, %" PetscInt_FMT " iterations\n", (double)error, its));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- errors ---- */

static PetscErrorCode lastcode;
static char           lastmessage[1024];

static PetscErrorCode Catch(PETSC_UNUSED MPI_Comm comm, PETSC_UNUSED int line, PETSC_UNUSED const char *fn, PETSC_UNUSED const char *file,
                            PetscErrorCode n, PetscErrorType p, const char *mess, PETSC_UNUSED void *ctx)
{
  if (p == PETSC_ERROR_INITIAL) {
    lastcode = n;
    (void)PetscStrncpy(lastmessage, mess ? mess : "", sizeof(lastmessage));
  }
  return n;
}

/* the call must fail with this code and a message that contains both words */
#define FAILS(call, code, word1, word2) \
  do { \
    PetscErrorCode ierr; \
    char          *w1, *w2; \
    lastcode       = PETSC_SUCCESS; \
    lastmessage[0] = 0; \
    PetscCall(PetscPushErrorHandler(Catch, NULL)); \
    ierr = (call); \
    PetscCall(PetscPopErrorHandler()); \
    PetscCall(PetscStrstr(lastmessage, word1, &w1)); \
    PetscCall(PetscStrstr(lastmessage, word2, &w2)); \
    if (!(ierr && lastcode == code && w1 && w2)) \
      PetscCall( \
        PetscPrintf(PETSC_COMM_WORLD, "%s is not refused as it should be: code %d, message %s\n", #call, (int)lastcode, lastmessage)); \
  } while (0)

/* set-up with these options must fail */
static PetscErrorCode SetUpWith(const char options[])
{
  const PetscInt cells[3] = {4, 4, 4};
  DM             dm;

  PetscFunctionBegin;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  PetscCall(DMSetOptionsPrefix(dm, "bad_"));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOptions(void)
{
  const struct {
    const char    *option, *value, *word;
    PetscErrorCode code;
  } bad[] = {
    {"-bad_dm_box_operator", "navier", "poisson", PETSC_ERR_ARG_UNKNOWN_TYPE},
    {"-bad_dm_box_penalty", "0", "positive and finite", PETSC_ERR_ARG_OUTOFRANGE},
    {"-bad_dm_box_penalty", "-1", "positive and finite", PETSC_ERR_ARG_OUTOFRANGE},
    {"-bad_dm_box_penalty", "1,0", "positive and finite", PETSC_ERR_ARG_OUTOFRANGE},
    {"-bad_dm_box_penalty", "nan", "positive and finite", PETSC_ERR_ARG_OUTOFRANGE},
    {"-bad_dm_box_penalty", "1,inf", "positive and finite", PETSC_ERR_ARG_OUTOFRANGE},
    {"-bad_dm_box_penalty", "1,2,3", "one for all faces", PETSC_ERR_ARG_OUTOFRANGE},
    {"-bad_dm_box_degree", "0", "degree", PETSC_ERR_ARG_OUTOFRANGE},
    {"-bad_dm_box_space", "cg", "cg", PETSC_ERR_USER},
  };

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(bad); i++) {
    char options[128];

    PetscCall(PetscSNPrintf(options, sizeof(options), "-bad_dm_box_space dgq %s %s", bad[i].option, bad[i].value));
    FAILS(SetUpWith(options), bad[i].code, bad[i].option + 5, bad[i].word);
    PetscCall(PetscOptionsClearValue(NULL, bad[i].option));
    PetscCall(PetscOptionsClearValue(NULL, "-bad_dm_box_space"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestErrors(void)
{
  const DMBoxBoundaryType rings[4] = {DMBOX_BOUNDARY_PERIODIC, DMBOX_BOUNDARY_PERIODIC, DMBOX_BOUNDARY_NEUMANN, DMBOX_BOUNDARY_NEUMANN};
  const PetscReal         D[3]     = {1, 1, 1};
  DM                      q, dgq, robin, penalized, bad;
  Mat                     Aq, Adgq, Arobin, Apenalized, P;
  Vec                     xq, xdgq;

  PetscFunctionBeginUser;
  PetscCall(TestOptions());
  PetscCall(CreateBox(2, 2, DMBOX_SPACE_Q, "poisson", &q));
  PetscCall(CreateBox(2, 2, DMBOX_SPACE_DGQ, "poisson", &dgq));
  PetscCall(CreateBox(2, 2, DMBOX_SPACE_DGQ, "poisson", &penalized));
  PetscCall(CreateBox(2, 2, DMBOX_SPACE_DGQ, "robin", &robin));
  PetscCall(CreateBox(2, 2, DMBOX_SPACE_DGQ, "poisson", &bad));
  PetscCall(DMBoxSetSpace(bad, (DMBoxSpace)7));
  FAILS(DMSetUp(bad), PETSC_ERR_ARG_OUTOFRANGE, "DMBoxSetSpace()", "q, dgq, rt, p1 or vq");
  PetscCall(DMDestroy(&bad));
  PetscCall(CreateBox(2, 2, DMBOX_SPACE_Q, "robin", &bad));
  PetscCall(DMBoxSetBoundary(bad, rings));
  FAILS(DMSetUp(bad), PETSC_ERR_SUP, "periodic in direction 0", "robin has no periodic sides");
  PetscCall(DMDestroy(&bad));
  FAILS(DMBoxSetPenalty(dgq, 0, 1), PETSC_ERR_ARG_OUTOFRANGE, "DMBoxSetPenalty()", "positive and finite");
  PetscCall(DMBoxSetPenalty(penalized, 2, 2));
  PetscCall(DMSetUp(q));
  PetscCall(DMSetUp(dgq));
  PetscCall(DMSetUp(penalized));
  PetscCall(DMSetUp(robin));
  FAILS(DMBoxSetPenalty(dgq, 1, 1), PETSC_ERR_ARG_WRONGSTATE, "DMBoxSetPenalty()", "before DMSetUp()");
  FAILS(DMBoxSetSpace(dgq, DMBOX_SPACE_Q), PETSC_ERR_ARG_WRONGSTATE, "cannot be changed", "after DMSetUp()");
  FAILS(DMBoxSetOperator(dgq, "robin"), PETSC_ERR_ARG_WRONGSTATE, "DMBoxSetOperator()", "before DMSetUp()");
  /* the routines of one operator on another */
  FAILS(DMBoxSetPoisson(robin, D, 0), PETSC_ERR_ARG_WRONG, "DMBoxSetPoisson()", "this DMBOX has robin");
  FAILS(DMBoxGetPoisson(robin, NULL, NULL), PETSC_ERR_ARG_WRONG, "DMBoxGetPoisson()", "this DMBOX has robin");
  FAILS(DMBoxSetPenalty(robin, 1, 1), PETSC_ERR_ARG_WRONG, "DMBoxSetPenalty()", "this DMBOX has robin");
  /* sums of unlike operators */
  PetscCall(DMCreateMatrix(q, &Aq));
  PetscCall(DMCreateMatrix(dgq, &Adgq));
  PetscCall(DMCreateMatrix(robin, &Arobin));
  PetscCall(DMCreateMatrix(penalized, &Apenalized));
  FAILS(MatAXPY(Adgq, 1, Arobin, SAME_NONZERO_PATTERN), PETSC_ERR_ARG_INCOMP, "same kind", "robin");
  FAILS(MatAXPY(Adgq, 1, Apenalized, SAME_NONZERO_PATTERN), PETSC_ERR_ARG_INCOMP, "-dm_box_penalty", "2.");
  FAILS(MatAXPY(Adgq, 1, Aq, SAME_NONZERO_PATTERN), PETSC_ERR_ARG_SIZ, "Non conforming", "sizes");
  /* spaces that are not nested, vectors of the other space */
  FAILS(DMCreateInterpolation(q, dgq, &P, NULL), PETSC_ERR_ARG_INCOMP, "not nested", "discontinuous");
  FAILS(DMCreateInterpolation(dgq, q, &P, NULL), PETSC_ERR_ARG_INCOMP, "not nested", "discontinuous");
  PetscCall(DMCreateGlobalVector(q, &xq));
  PetscCall(DMCreateGlobalVector(dgq, &xdgq));
  FAILS(MatMult(Adgq, xq, xdgq), PETSC_ERR_ARG_SIZ, "Mat", "global dim");
  FAILS(DMBoxLiftDirichlet(dgq, xq, xdgq), PETSC_ERR_ARG_SIZ, "local entries", "nodes on this rank");
  FAILS(DMBoxAddLoad(dgq, 0, Force, NULL, xq), PETSC_ERR_ARG_SIZ, "", "");
  PetscCall(VecDestroy(&xq));
  PetscCall(VecDestroy(&xdgq));
  PetscCall(MatDestroy(&Aq));
  PetscCall(MatDestroy(&Adgq));
  PetscCall(MatDestroy(&Arobin));
  PetscCall(MatDestroy(&Apenalized));
  PetscCall(DMDestroy(&q));
  PetscCall(DMDestroy(&dgq));
  PetscCall(DMDestroy(&robin));
  PetscCall(DMDestroy(&penalized));
  PetscCall(PetscOptionsClearValue(NULL, "-malloc_dump")); /* calls that fail do not free what they had allocated */
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "errors: done\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char      test[64] = "solve";
  PetscBool errors;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(DMBoxOperatorRegister("robin", Create_Robin));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-test", test, sizeof(test), NULL));
  PetscCall(PetscStrcmp(test, "errors", &errors));
  PetscCheck(errors || !strcmp(test, "solve"), PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-test is %s; it must be solve or errors", test);
  if (errors) PetscCall(TestErrors());
  else {
    for (PetscInt dim = 1; dim <= 3; dim++)
      for (PetscInt degree = 2; degree <= 3; degree++)
        for (int space = 0; space < 2; space++) PetscCall(Solve(dim, degree, (DMBoxSpace)space));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
     suffix: solve
     nsize: {{1 3}}
   test:
     suffix: view
     filter: grep laplace
     args: -dm_view -dm_box_robin 0.5

   test:
     suffix: solve_cuda
     requires: cuda gpu
     output_file: output/operator_solve.out
     args: -dm_vec_type cuda

   test:
     suffix: errors
     nsize: {{1 2}}
     args: -test errors

TEST*/
