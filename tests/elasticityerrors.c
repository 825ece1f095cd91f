static char help
  [] = "L2 errors of displacements: those of the NumPy reference, of a clamped square that is compressible or nearly not, with the lambda\n\
terms projected or not; and orders k + 1 of solutions with given displacements and tractions, in 1 to 3 dimensions.\n\n";

#include <petscpatchfd.h>

static PetscErrorCode Solve(DM dm, Vec b, Vec *x)
{
  KSP ksp;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, dm));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-11, PETSC_CURRENT, PETSC_CURRENT, 100));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecDuplicate(b, x));
  PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_RHS | KSP_DMACTIVE_INITIAL_GUESS, PETSC_FALSE));
  PetscCall(KSPSolve(ksp, b, *x));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the unit cube to itself, each side to itself */
static PetscErrorCode Map(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal s[], PETSC_UNUSED PetscInt Nc, PetscScalar x[],
                          PETSC_UNUSED void *ctx)
{
  PetscReal bump = 0.05;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) bump *= PetscSinReal(PETSC_PI * s[d]);
  for (PetscInt d = 0; d < dim; d++) x[d] = s[d] + (s[d] > 0 && s[d] < 1 ? (d + 1) * bump : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BoxCreate(PetscInt dim, PetscInt k, PetscInt n, const DMBoxBoundaryType boundary[], PetscReal ratio, PetscInt degree,
                                PetscBool mapped, DM *dm)
{
  const PetscInt cells[] = {n, n, n};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, k, dm));
  PetscCall(DMBoxSetSpace(*dm, DMBOX_SPACE_VQ));
  PetscCall(DMBoxSetOperator(*dm, "elasticity"));
  PetscCall(DMBoxSetBoundary(*dm, boundary));
  PetscCall(DMBoxSetElasticModuli(*dm, 2 * (1 + ratio), ratio, DMBOX_PLANE_STRAIN)); /* mu = 1 */
  PetscCall(DMBoxSetLambdaDegree(*dm, degree));
  if (mapped) PetscCall(DMBoxSetMapping(*dm, Map, NULL));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a clamped square: u = curl (sin^2 pi x sin^2 pi y) + 1 / (1 + lambda) sin pi x sin pi y (1, 1) ---- */

static const struct {
  PetscInt  k;
  PetscBool projected; /* to degree k - 2 */
  PetscReal ratio, error[3];
} reference[] = {
  {1, PETSC_FALSE, 0.3, {8.0e-2, 2.0e-2, 5.1e-3}},   {2, PETSC_FALSE, 0.3, {3.1e-3, 4.0e-4, 5.0e-5}},
  {2, PETSC_FALSE, 0.49, {6.8e-3, 6.2e-4, 6.0e-5}},  {2, PETSC_TRUE, 0.3, {3.8e-3, 6.6e-4, 1.4e-4}},
  {2, PETSC_TRUE, 0.4999, {4.7e-3, 1.0e-3, 2.4e-4}}, {3, PETSC_FALSE, 0.3, {1.4e-4, 9.0e-6, 5.6e-7}},
  {3, PETSC_FALSE, 0.49, {2.7e-4, 1.3e-5, 6.6e-7}},  {3, PETSC_TRUE, 0.49, {1.7e-4, 1.4e-5, 1.5e-6}},
  {3, PETSC_TRUE, 0.4999, {1.7e-4, 1.4e-5, 1.5e-6}}, {4, PETSC_FALSE, 0.3, {5.4e-6, 1.7e-7, 5.3e-9}},
  {4, PETSC_TRUE, 0.49, {5.8e-6, 2.1e-7, 9.5e-9}},
};

static PetscErrorCode Curl(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                           void *ctx)
{
  const PetscReal s[] = {PetscSinReal(PETSC_PI * x[0]), PetscSinReal(PETSC_PI * x[1])}, a = 1 / (1 + *(PetscReal *)ctx);

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < Nc; c++) u[c] = (c ? -1 : 1) * PETSC_PI * s[c] * s[c] * PetscSinReal(2 * PETSC_PI * x[1 - c]) + a * s[0] * s[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CurlForce(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar f[],
                                void *ctx)
{
  const PetscReal a = 1 / (1 + *(PetscReal *)ctx), pi2 = PETSC_PI * PETSC_PI;
  const PetscReal sum = 2 * pi2 * a * PetscSinReal(PETSC_PI * x[0]) * PetscSinReal(PETSC_PI * x[1]) -
                        pi2 * PetscCosReal(PETSC_PI * (x[0] + x[1]));

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < Nc; c++)
    f[c] = (c ? 2 : -2) * PETSC_PI * pi2 * PetscSinReal(2 * PETSC_PI * x[1 - c]) * (2 * PetscCosReal(2 * PETSC_PI * x[c]) - 1) + sum;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestReference(void)
{
  const DMBoxBoundaryType clamped[] = {DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET,
                                       DMBOX_BOUNDARY_DIRICHLET};

  PetscFunctionBeginUser;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(reference); i++) {
    const PetscInt k      = reference[i].k;
    PetscBool      agrees = PETSC_TRUE;

    for (int l = 0; l < 3; l++) {
      PetscReal lambda, error, norm;
      DM        dm;
      Vec       b, x;

      PetscCall(BoxCreate(2, k, 8 << l, clamped, reference[i].ratio, reference[i].projected ? k - 2 : k, PETSC_FALSE, &dm));
      PetscCall(DMBoxGetElasticity(dm, &lambda, NULL, NULL));
      PetscCall(DMCreateGlobalVector(dm, &b));
      PetscCall(VecSet(b, 0));
      PetscCall(DMBoxAddLoad(dm, 0, CurlForce, &lambda, b));
      PetscCall(Solve(dm, b, &x));
      PetscCall(DMBoxComputeError(dm, 0, Curl, &lambda, x, &error, NULL));
      PetscCall(VecSet(x, 0));
      PetscCall(DMBoxComputeError(dm, 0, Curl, &lambda, x, &norm, NULL));
      if (!(PetscAbsReal(error / norm - reference[i].error[l]) <= 0.06 * reference[i].error[l])) {
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "error %g, not %g\n", (double)(error / norm), (double)reference[i].error[l]));
        agrees = PETSC_FALSE;
      }
      PetscCall(VecDestroy(&b));
      PetscCall(VecDestroy(&x));
      PetscCall(DMDestroy(&dm));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "degree %" PetscInt_FMT ", ratio %g%s: %s\n", k, (double)reference[i].ratio,
                          reference[i].projected ? ", projected" : "", agrees ? "agrees" : "DEVIATES"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- given displacements and tractions: u_c = prod cos((d + 1) x_d + 1/2 + c) ---- */

typedef struct {
  PetscReal lambda, mu, shift;
} Material;

/* of component c in the directions i and j, -1: not */
static PetscReal Derivative(PetscInt dim, const PetscReal x[], PetscInt c, PetscInt i, PetscInt j)
{
  PetscReal u = 1;

  for (PetscInt d = 0; d < dim; d++) {
    const PetscInt order = (i == d) + (j == d);

    u *= PetscPowRealInt(d + 1, order) * PetscCosReal((d + 1) * x[d] + 0.5 + c + order * PETSC_PI / 2);
  }
  return u;
}

static PetscErrorCode Exact(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                            PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < Nc; c++) u[c] = Derivative(dim, x, c, -1, -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Force(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar f[], void *ctx)
{
  const Material *m = (const Material *)ctx;

  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < Nc; c++) {
    f[c] = m->shift * Derivative(dim, x, c, -1, -1);
    for (PetscInt d = 0; d < dim; d++) f[c] -= m->mu * Derivative(dim, x, c, d, d) + (m->lambda + m->mu) * Derivative(dim, x, d, c, d);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* on upper sides and the lower side of the last direction */
static PetscErrorCode Traction(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar t[], void *ctx)
{
  const Material *m   = (const Material *)ctx;
  PetscReal       div = 0, normal = 1;
  PetscInt        n = 0;

  PetscFunctionBeginUser;
  while (n < dim - 1 && x[n] < 1 - 1e-9) n++;
  if (x[n] < 1e-9) normal = -1;
  for (PetscInt d = 0; d < dim; d++) div += Derivative(dim, x, d, d, -1);
  for (PetscInt c = 0; c < Nc; c++) {
    t[c] = m->mu * (Derivative(dim, x, c, n, -1) + Derivative(dim, x, n, c, -1)) + (c == n ? m->lambda * div : 0);
    t[c] *= normal;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Error(PetscInt dim, PetscInt k, PetscInt n, PetscBool mapped, PetscReal *error)
{
  DMBoxBoundaryType boundary[6] = {DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN,   DMBOX_BOUNDARY_DIRICHLET,
                                   DMBOX_BOUNDARY_NEUMANN,   DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN};
  Material          m;
  DM                dm;
  Vec               b, x, g;

  PetscFunctionBeginUser;
  if (dim > 1) boundary[2 * dim - 2] = DMBOX_BOUNDARY_NEUMANN;
  PetscCall(BoxCreate(dim, k, n, boundary, 0.3, PETSC_DETERMINE, mapped, &dm));
  PetscCall(DMBoxGetElasticity(dm, &m.lambda, &m.mu, NULL));
  m.shift = 2;
  PetscCall(DMBoxSetElasticity(dm, m.lambda, m.mu, m.shift));
  PetscCall(DMCreateGlobalVector(dm, &b));
  PetscCall(VecDuplicate(b, &g));
  PetscCall(VecSet(b, 0));
  PetscCall(DMBoxAddLoad(dm, 0, Force, &m, b));
  PetscCall(DMBoxAddNeumannLoad(dm, 0, Traction, &m, b));
  PetscCall(DMBoxInterpolateFunction(dm, 0, Exact, NULL, g));
  PetscCall(DMBoxLiftDirichlet(dm, g, b));
  PetscCall(Solve(dm, b, &x));
  PetscCall(DMBoxComputeError(dm, 0, Exact, NULL, x, error, NULL));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&g));
  PetscCall(VecDestroy(&x));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOrder(PetscInt dim, PetscInt k, PetscBool mapped)
{
  PetscReal error[2], order;

  PetscFunctionBeginUser;
  for (int l = 0; l < 2; l++) PetscCall(Error(dim, k, 4 << l, mapped, &error[l]));
  order = PetscLog2Real(error[0] / error[1]);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "D%s, degree %" PetscInt_FMT ": ", dim, mapped ? ", mapped" : "", k));
  if (PetscAbsReal(order - (PetscReal)(k + 1)) <= (mapped ? 0.35 : 0.25))
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "order %" PetscInt_FMT "\n", k + 1));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "DEVIATES: order %g, errors %g %g\n", (double)order, (double)error[0], (double)error[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(TestReference());
  for (int mapped = 0; mapped < 2; mapped++)
    for (PetscInt dim = 1 + mapped; dim <= 3; dim++)
      for (PetscInt k = 1; k <= (dim == 3 ? 2 : 4); k++) PetscCall(TestOrder(dim, k, (PetscBool)mapped));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
     nsize: {{1 2}}

TEST*/
