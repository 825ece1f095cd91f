static char help[] = "Cases that nobody listed: boxes, operators and solvers are drawn at random, and each is solved and checked.\n\
Four solvers live at a time and are used in turns.  The reference is a twin of each on one rank, on the host and in double precision.\n\
  -seed s     : another seed, other cases (default 1)\n\
  -first i    : the number of the first case (default 0); a case depends on the seed, its number and the number of ranks, and on -gpu\n\
  -count n    : number of cases (default 40)\n\
  -gpu        : vectors are on a GPU\n\
  -options s  : more options for all solvers, the first one without its dash, to look at a case\n\
  -patchfd_cuda_shared_limit n : as on another GPU\n\
  -verbose    : a line for each case\n\
  -dry        : cases are drawn and printed, not solved\n\n";

#include <petsc/private/petscimpl.h>
#include <petsctime.h>
#include <unistd.h>
#include "catch.h"
#include "random.h"

/* ---- a solver ---- */

typedef struct {
  Case         c;
  PetscBool    alive;
  PetscOptions options;
  DM           dm;
  Mat          A;
  KSP          ksp;
  Vec          u, b, x, y, z, solution, cycle; /* u: A u = b; the last two: of the first use */
} Solver;

static PetscErrorCode Conductivity(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar K[], void *ctx)
{
  const Case *c    = (const Case *)ctx;
  PetscReal   wave = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) wave += (PetscReal)(3 * (d + 1)) * x[d];
  for (PetscInt i = 0; i < Nc; i++) K[i] = (c->changed ? 3 : 1) * c->K[i] * PetscPowReal(c->contrast, (1 + PetscSinReal(wave)) / 2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Shift(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[],
                            PETSC_UNUSED PetscInt Nc, PetscScalar s[], void *ctx)
{
  const Case *c = (const Case *)ctx;

  PetscFunctionBeginUser;
  s[0] = c->shift + (c->changed ? c->scale : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* those that functions give, or others than those of the options */
static PetscErrorCode SetCoefficients(Case *c, DM dm)
{
  const PetscReal shift = c->shift + c->scale;
  PetscReal       K[6];

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < c->nK; i++) K[i] = 3 * c->K[i];
  if (c->contrast != 1) PetscCall(DMBoxSetDiffusionFunction(dm, c->nK, Conductivity, Shift, c));
  else if (!c->changed) PetscFunctionReturn(PETSC_SUCCESS);
  else if (c->kind == POISSON || c->kind == DGQ) PetscCall(DMBoxSetPoisson(dm, K, shift));
  else if (c->kind == DIFFUSION) PetscCall(DMBoxSetDiffusion(dm, c->nK, K, shift));
  else if (c->kind == BIHARMONIC) PetscCall(DMBoxSetBiharmonic(dm, K[0], shift));
  else if (c->kind == STOKES) PetscCall(DMBoxSetStokes(dm, K[0], shift));
  else PetscCall(DMBoxSetHeat(dm, 1, K, shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetVertices(const Case *c, DM dm)
{
  PetscReal lower[3], upper[3], v[1025];

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < c->dim; d++) {
    const PetscInt n   = c->cells[d];
    PetscReal      sum = 0, h = 1;

    if (c->ratio[d] == 1) continue;
    PetscCall(DMBoxGetBounds(dm, lower, upper));
    for (PetscInt i = 0; i < n; i++, h *= n < 32 ? c->ratio[d] : 1 + (c->ratio[d] - 1) / 8) {
      v[i] = sum;
      sum += h;
    }
    for (PetscInt i = 0; i < n; i++) v[i] = lower[d] + (upper[d] - lower[d]) * (v[i] / sum);
    v[n] = upper[d];
    PetscCall(DMBoxSetVertices(dm, d, n + 1, v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* options in use; errors leave some */
static int pushed;

/* options for all solvers but the twins */
static char additional[256] = "-";

static PetscErrorCode Push(PetscOptions options)
{
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsPush(options));
  pushed++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Pop(void)
{
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsPop());
  pushed--;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUp(MPI_Comm comm, PetscBool twin, const char type[], Solver *s)
{
  Case *c = &s->c;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsCreate(&s->options));
  PetscCall(PetscOptionsInsertString(s->options, c->mesh));
  PetscCall(PetscOptionsInsertString(s->options, twin ? c->twin : c->solver));
  if (!twin && additional[1]) PetscCall(PetscOptionsInsertString(s->options, additional));
  PetscCall(Push(s->options));
  PetscCall(DMCreate(comm, &s->dm));
  PetscCall(DMSetType(s->dm, DMBOX));
  if (c->deep) PetscCall(DMSetOptionsPrefix(s->dm, "outer_"));
  if (type[0]) PetscCall(DMSetVecType(s->dm, type));
  PetscCall(DMSetFromOptions(s->dm));
  PetscCall(SetVertices(c, s->dm));
  PetscCall(DMSetUp(s->dm));
  PetscCall(SetCoefficients(c, s->dm));
  PetscCall(KSPCreate(comm, &s->ksp));
  PetscCall(KSPSetDM(s->ksp, s->dm));
  if (!c->dmalone) {
    PetscCall(DMCreateMatrix(s->dm, &s->A));
    PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
  }
  if (c->deep) PetscCall(KSPSetOptionsPrefix(s->ksp, "outer_"));
  if (c->kind == HEAT && c->method == CYCLES) {
    PetscInt n;
    PC       pc;

    PetscCall(DMBoxGetNumCoarsenings(s->dm, &n));
    PetscCall(KSPGetPC(s->ksp, &pc));
    if (!twin && c->precision == MIXED) {
      PetscCall(PCSetType(pc, PCSINGLE));
      PetscCall(PCSingleGetPC(pc, &pc));
    }
    PetscCall(PCSetType(pc, PCMG));
    PetscCall(PCMGSetLevels(pc, n + 1, NULL));
  }
  PetscCall(KSPSetFromOptions(s->ksp));
  PetscCall(KSPSetUp(s->ksp));
  if (c->dmalone) {
    PetscCall(KSPGetOperators(s->ksp, &s->A, NULL));
    PetscCall(PetscObjectReference((PetscObject)s->A));
  }
  PetscCall(DMCreateGlobalVector(s->dm, &s->b));
  PetscCall(VecDuplicate(s->b, &s->u));
  PetscCall(VecDuplicate(s->b, &s->x));
  PetscCall(VecDuplicate(s->b, &s->y));
  PetscCall(VecDuplicate(s->b, &s->z));
  PetscCall(VecDuplicate(s->b, &s->solution));
  PetscCall(VecDuplicate(s->b, &s->cycle));
  PetscCall(Pop());
  s->alive = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Solver *s)
{
  PetscFunctionBeginUser;
  if (s->alive) {
    PetscCall(KSPDestroy(&s->ksp));
    PetscCall(MatDestroy(&s->A));
    PetscCall(VecDestroy(&s->u));
    PetscCall(VecDestroy(&s->b));
    PetscCall(VecDestroy(&s->x));
    PetscCall(VecDestroy(&s->y));
    PetscCall(VecDestroy(&s->z));
    PetscCall(VecDestroy(&s->solution));
    PetscCall(VecDestroy(&s->cycle));
    PetscCall(DMDestroy(&s->dm));
    PetscCall(PetscOptionsDestroy(&s->options));
  }
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- checks ---- */

static PetscInt  failures;
static PetscBool wrong, verbose; /* wrong: something in this case */
static char      file[PETSC_MAX_PATH_LEN];

static PetscErrorCode Check(PetscBool ok, const char format[], ...)
{
  char    text[1024];
  va_list args;

  PetscFunctionBeginUser;
  if (ok) PetscFunctionReturn(PETSC_SUCCESS);
  va_start(args, format);
  PetscCall(PetscVSNPrintf(text, sizeof(text), format, NULL, args));
  va_end(args);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s  %s\n", wrong ? "" : "FAILED\n", text));
  wrong = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* by a file, which has values in an order that does not depend on ranks; a Vec is NULL on ranks that have no part of it */
static PetscErrorCode Move(Vec from, Vec to)
{
  PetscFunctionBeginUser;
  for (int i = 0; i < 2; i++) {
    PetscViewer viewer;
    const Vec   v = i ? to : from;

    if (v) {
      PetscCall(PetscViewerCreate(PetscObjectComm((PetscObject)v), &viewer));
      PetscCall(PetscViewerSetType(viewer, PETSCVIEWERBINARY));
      PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
      PetscCall(PetscViewerFileSetMode(viewer, i ? FILE_MODE_READ : FILE_MODE_WRITE));
      PetscCall(PetscViewerFileSetName(viewer, file));
      if (i) PetscCall(VecLoad(v, viewer));
      else PetscCall(VecView(v, viewer));
      PetscCall(PetscViewerDestroy(&viewer));
    }
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |v - w| / |w|, without what a null space of the twin has; v becomes v - w.  They may be on some ranks alone; all get the distance */
static PetscErrorCode Distance(const Solver *t, Vec v, Vec w, PetscReal *distance)
{
  MatNullSpace nullspace = NULL;
  PetscReal    norm;

  PetscFunctionBeginUser;
  *distance = 0;
  if (v) {
    if (t) PetscCall(MatGetNullSpace(t->A, &nullspace));
    if (nullspace) {
      PetscCall(MatNullSpaceRemove(nullspace, v));
      PetscCall(MatNullSpaceRemove(nullspace, w));
    }
    PetscCall(VecNorm(w, NORM_2, &norm));
    PetscCall(VecAXPY(v, -1, w));
    PetscCall(VecNorm(v, NORM_2, distance));
    *distance /= norm > 0 ? norm : 1;
    if (PetscIsInfOrNanReal(*distance)) *distance = PETSC_MAX_REAL;
  }
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, distance, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the cycle and the solve once more, into vectors that are full of NaN: are they what they were, to the last bit on the host?  Some kernels
   of a GPU add with atomics, so do those that sum over ranks, and many iterations make much of little: the residual says what can be
   said */
static PetscErrorCode Again(const char when[], PetscBool first, Solver *s)
{
  PetscMemType       memtype;
  PetscMPIInt        size;
  PetscReal          same, difference[2];
  PetscBool          amplified; /* may iterations have made much of little? */
  PC                 pc;
  const PetscScalar *array;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayReadAndMemType(s->b, &array, &memtype));
  PetscCall(VecRestoreArrayReadAndMemType(s->b, &array));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  same      = PetscMemTypeHost(memtype) && s->c.precision != SINGLE ? 0 : PetscMax(s->c.precision == DOUBLE ? 1e-12 : 1e-5, s->c.rounding);
  amplified = (PetscBool)((size > 1 && PetscMemTypeDevice(memtype)) || s->c.method == SMOOTHER || s->c.method == JACOBI);
  PetscCall(Push(s->options));
  PetscCall(KSPGetPC(s->ksp, &pc));
  for (int i = 0; i < 2; i++) {
    const Vec v = i ? s->x : s->z, w = i ? s->solution : s->cycle;

    PetscCall(VecSet(v, NAN));
    if (i) PetscCall(KSPSolve(s->ksp, s->b, v));
    else PetscCall(PCApply(pc, s->b, v));
    if (first) PetscCall(VecCopy(v, w));
    else {
      PetscCall(VecCopy(v, s->y));
      PetscCall(Distance(NULL, s->y, w, &difference[i]));
      if (i && same > 0 && difference[i] > same && amplified) {
        PetscCall(MatMult(s->A, v, s->y));
        PetscCall(Distance(NULL, s->y, s->b, &difference[i]));
        difference[i] *= same / (50 * s->c.rtol);
      }
    }
  }
  PetscCall(Pop());
  if (!first)
    PetscCall(Check((PetscBool)(difference[0] <= same && difference[1] <= same),
                    "case %" PetscInt_FMT " once more, %s: another cycle by %g, another solution by %g", s->c.number, when,
                    (double)difference[0], (double)difference[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a case ---- */

/* u and A u of the twin; values at fixed nodes are not of the size of the coefficients */
static PetscErrorCode Problem(PetscInt seed, Solver *t, Vec u, Vec *assembled)
{
  const Case  *c = &t->c;
  Dice         d = NewDice(seed, c->number, 5 + c->changed);
  PetscScalar *a;
  PetscInt     n;
  Mat          A;

  PetscFunctionBeginUser;
  PetscCall(VecGetLocalSize(u, &n));
  PetscCall(VecGetArrayWrite(u, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = 2 * Uniform(&d) - 1;
  PetscCall(VecRestoreArrayWrite(u, &a));
  if (c->scale != 1) {
    PetscCall(VecSet(t->y, 0));
    PetscCall(DMBoxLiftDirichlet(t->dm, t->y, u));
  }
  PetscCall(MatMult(t->A, u, t->b));
  if (n * PetscPowRealInt(2 * (double)c->degree + 1, (int)c->dim) < 1e6) {
    PetscCall(VecDuplicate(u, assembled));
    PetscCall(MatConvert(t->A, MATAIJ, MAT_INITIAL_MATRIX, &A));
    PetscCall(MatMult(A, u, *assembled));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* on the first rank; an error ends the case everywhere */
#define ON_TWIN(...) \
  do { \
    PetscErrorCode ierr_ = PETSC_SUCCESS; \
    int            failed_; \
    if (t) CATCH(ierr_, __VA_ARGS__); \
    failed_ = (int)ierr_; \
    PetscCallMPI(MPI_Bcast(&failed_, 1, MPI_INT, 0, PETSC_COMM_WORLD)); \
    PetscCheck(!failed_, PETSC_COMM_WORLD, PETSC_ERR_LIB, "The twin, on one rank: %s", lastmessage); \
  } while (0)

/* all that is checked of a solver that is set up; t: its twin on the first rank */
static PetscErrorCode Compare(PetscInt seed, Solver *s, Solver *t)
{
  const Case        *c   = &s->c;
  const PetscReal    eps = c->precision == SINGLE ? 1e-5 : 1e-11;
  KSPConvergedReason reason;
  PetscObjectState   state[2];
  PetscReal          distance, norm[2];
  PetscInt           its;
  PC                 pc        = NULL;
  Vec                assembled = NULL;

  PetscFunctionBeginUser;
  /* the operator */
  ON_TWIN(Problem(seed, t, t->x, &assembled));
  PetscCall(Distance(NULL, assembled, t ? t->b : NULL, &distance));
  PetscCall(VecDestroy(&assembled));
  PetscCall(Check((PetscBool)(distance <= 1e-11), "the assembled matrix is another one: %g", (double)distance));
  PetscCall(Move(t ? t->x : NULL, s->u));
  PetscCall(VecSet(s->y, NAN));
  PetscCall(MatMult(s->A, s->u, s->y));
  PetscCall(VecNorm(s->y, NORM_2, &norm[0]));
  PetscCall(VecSet(s->z, NAN));
  PetscCall(MatMultTranspose(s->A, s->u, s->z));
  PetscCall(Distance(NULL, s->z, s->y, &distance));
  PetscCall(Check((PetscBool)(distance <= eps), "A' x is not A x: %g", (double)distance));
  PetscCall(Move(s->y, t ? t->y : NULL));
  PetscCall(Distance(NULL, t ? t->y : NULL, t ? t->b : NULL, &distance));
  PetscCall(Check((PetscBool)(distance <= eps), "A x is another one: %g", (double)distance));
  PetscCall(Move(t ? t->b : NULL, s->b));
  if (c->precision == SINGLE) PetscCall(Move(s->b, t ? t->b : NULL)); /* as it was rounded */
  /* solves */
  PetscCall(PetscObjectStateGet((PetscObject)s->b, &state[0]));
  PetscCall(Again("", PETSC_TRUE, s));
  PetscCall(KSPGetConvergedReason(s->ksp, &reason));
  PetscCall(KSPGetIterationNumber(s->ksp, &its));
  PetscCall(Move(s->solution, t ? t->x : NULL));
  ON_TWIN(MatMult(t->A, t->x, t->y));
  PetscCall(Distance(NULL, t ? t->y : NULL, t ? t->b : NULL, &distance));
  PetscCall(Check((PetscBool)(reason > 0 && its <= c->most && distance <= (its > 100 ? 50 : 5) * c->rtol),
                  "%s after %" PetscInt_FMT " iterations, residual %g", KSPConvergedReasons[reason], its, (double)distance));
  if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %" PetscInt_FMT " iterations, residual %.1e,", its, (double)distance));
  PetscCall(Again("at once", PETSC_FALSE, s));
  PetscCall(Again("the third time", PETSC_FALSE, s));
  PetscCall(PetscObjectStateGet((PetscObject)s->b, &state[1]));
  PetscCall(Check((PetscBool)(state[0] == state[1]), "the right-hand side was changed"));
  PetscCall(MatMult(s->A, s->u, s->y));
  PetscCall(VecNorm(s->y, NORM_2, &norm[1]));
  PetscCall(Check((PetscBool)(PetscAbsReal(norm[1] - norm[0]) <= (c->precision == SINGLE ? 1e-7 : 1e-14) * norm[0]),
                  "the matrix was changed: |A u| was %.17g, is %.17g", (double)norm[0], (double)norm[1]));
  /* one cycle */
  PetscCall(Move(s->cycle, t ? t->x : NULL));
  if (t) PetscCall(KSPGetPC(t->ksp, &pc));
  ON_TWIN(PCApply(pc, t->b, t->z));
  PetscCall(Distance(t, t ? t->x : NULL, t ? t->z : NULL, &distance));
  PetscCall(Check((PetscBool)(!c->same || distance <= c->same), "one cycle is another one: %g", (double)distance));
  if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " cycle %.1e\n", (double)distance));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a solver with the twin of its present coefficients */
static PetscErrorCode CompareWithTwin(PetscInt seed, Solver *s)
{
  Solver      twin, *t = NULL;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&twin, sizeof(twin)));
  twin.c = s->c;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) t = &twin;
  ON_TWIN(SetUp(PETSC_COMM_SELF, PETSC_TRUE, "", t));
  PetscCall(Compare(seed, s, t));
  PetscCall(Destroy(&twin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the others: all, or one that dice choose */
static PetscErrorCode AgainOthers(Dice *d, const char when[], const Solver *s, Solver ring[4])
{
  const PetscInt one = d ? Below(d, 4) : 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < 4; i++)
    if (&ring[i] != s && ring[i].alive && (!d || i == one)) PetscCall(Again(when, PETSC_FALSE, &ring[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(PetscInt seed, PetscBool gpu, Solver *s, Solver ring[4])
{
  static const char *const types[2][3] = {{"", "", VECSINGLE}, {VECCUDA, VECCUDA, VECSINGLECUDA}};
  Dice                     d           = NewDice(seed, s->c.number, 4);
  const PetscBool          change      = Chance(&d, 0.25);

  PetscFunctionBeginUser;
  PetscCall(SetUp(PETSC_COMM_WORLD, PETSC_FALSE, types[gpu][s->c.precision], s));
  PetscCall(AgainOthers(NULL, "after another set-up", s, ring));
  PetscCall(CompareWithTwin(seed, s));
  PetscCall(AgainOthers(&d, "after another solve", s, ring));
  if (change) {
    s->c.changed = PETSC_TRUE;
    PetscCall(SetCoefficients(&s->c, s->dm));
    PetscCall(Push(s->options));
    PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
    PetscCall(KSPSetUp(s->ksp));
    PetscCall(Pop());
    PetscCall(CompareWithTwin(seed, s));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static Solver ring[4];
  PetscInt      seed = 1, first = 0, count = 40, refused = 0, limit;
  PetscMPIInt   size;
  PetscBool     gpu = PETSC_FALSE, dry = PETSC_FALSE, limited;
  char          tmp[PETSC_MAX_PATH_LEN];
  int           process = (int)getpid();
  size_t        used;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-options", additional + 1, sizeof(additional) - 1, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-patchfd_cuda_shared_limit", &limit, &limited));
  used = additional[1] ? strlen(additional) : 0;
  if (limited)
    PetscCall(PetscSNPrintf(additional + used, sizeof(additional) - used, " -patchfd_cuda_shared_limit %" PetscInt_FMT,
                            limit)); /* read with theirs */
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gpu", &gpu, NULL));
  ongpu = gpu;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-dry", &dry, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Bcast(&process, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  PetscCall(PetscGetTmp(PETSC_COMM_WORLD, tmp, sizeof(tmp)));
  PetscCall(PetscSNPrintf(file, sizeof(file), "%s/patchfd_random_%d", tmp, process));
  for (PetscInt i = first; i < first + count; i++) {
    Solver        *s = &ring[i % 4];
    PetscErrorCode ierr;
    PetscLogDouble start, end;
    char           more[1024];

    PetscCall(Destroy(s));
    PetscCall(Draw(seed, i, &s->c));
    Describe(&s->c, more);
    if (verbose || dry)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "case %" PetscInt_FMT ":%s%s%s%s", i, more, s->c.mesh, s->c.solver, dry ? "\n" : ""));
    if (dry) continue;
    wrong = PETSC_FALSE;
    PetscCall(PetscTime(&start));
    CATCH(ierr, Run(seed, gpu, s, ring));
    PetscCall(PetscTime(&end));
    if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "   %.2f s\n", end - start));
    if (ierr) {
      const PetscBool clean = (PetscBool)(!s->alive && (lastcode == PETSC_ERR_ARG_INCOMP || lastcode == PETSC_ERR_SUP ||
                                                        lastcode == PETSC_ERR_ARG_OUTOFRANGE));

      while (pushed) PetscCall(Pop());
      PetscCall(PetscMemzero(&ring[i % 4].alive, sizeof(PetscBool))); /* what is left of it may be in any state */
      if (clean) refused++;
      if (clean && verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "   REFUSED: %s\n", lastmessage));
      if (!clean) PetscCall(Check(PETSC_FALSE, "error %d: %s", (int)lastcode, lastmessage));
    }
    if (!wrong) continue;
    failures++;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "  %s\n  mpiexec -n %d random -seed %" PetscInt_FMT " -first %" PetscInt_FMT " -count %" PetscInt_FMT
                          "%s\n  %s%s%s\n",
                          "repeat:", size, seed, PetscMax(first, i - 3), i - PetscMax(first, i - 3) + 1, gpu ? " -gpu" : "", more,
                          s->c.mesh, s->c.solver));
  }
  for (int i = 0; i < 4; i++) PetscCall(Destroy(&ring[i]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seed %" PetscInt_FMT ": %" PetscInt_FMT " cases, %" PetscInt_FMT " failed%s\n", seed, count,
                        failures, 10 * refused > count ? ", TOO MANY refused" : ""));
  (void)remove(file);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    suffix: 1
    args: -count 40
  test:
    suffix: ranks
    output_file: output/random_1.out
    nsize: 3
    args: -count 40

  # patches that share matrices, of coefficients that vary
  test:
    suffix: line
    args: -seed 4 -first 120 -count 22

  testset:
    requires: cuda gpu
    args: -gpu -count 50 -use_gpu_aware_mpi 0
    output_file: output/random_gpu.out
    test:
      suffix: gpu_0
      args: -first 0
    test:
      suffix: gpu_50
      args: -first 50
    test:
      suffix: gpu_100
      args: -first 100
    test:
      suffix: gpu_150
      args: -first 150
    test:
      suffix: gpu_200
      args: -first 200
    test:
      suffix: gpu_250
      args: -first 250
    # the shared memory of other GPUs
    test:
      suffix: gpu_limit
      args: -patchfd_cuda_shared_limit {{101376 166912}} -first {{0 50 100 150 200 250}}

  # several ranks, some of them without unknowns on coarse meshes
  testset:
    requires: cuda gpu
    args: -gpu -count 20 -use_gpu_aware_mpi 0
    test:
      suffix: gpu_3
      nsize: 3
      args: -seed 44
    test:
      suffix: gpu_4
      nsize: 4
      args: -seed 22 -first 10

TEST*/
