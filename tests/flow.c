static char help[] = "Velocities and pressures (-dm_box_space rt): functions, errors, loads, boundary data, fields, files.\n\
  -test errors | residual | flux | fields | vtk\n\n";

#include <patchfd/private/boximpl.h>
#include "catch.h"
#include "vtkfile.h"

/*
  A flow in the space of degree k: u_i = 1 + i + x_i^(k+1) + prod_d x_d and p = 1 + x^k y, with all derivatives.  Its divergence grows in
  all directions where coordinates are positive, and is not zero.
*/
typedef struct {
  DM        dm;
  PetscInt  k;
  PetscReal offset; /* added to all components of Flow() */
} Context;

static PetscReal Power(PetscReal x, PetscInt n)
{
  return n < 0 ? 0 : PetscPowRealInt(x, (int)n);
}

static PetscReal ProductWithout(PetscInt dim, const PetscReal x[], PetscInt j)
{
  PetscReal p = 1;

  for (PetscInt d = 0; d < dim; d++) p *= d == j ? 1 : x[d];
  return p;
}

static PetscErrorCode Flow(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  const Context *c = (const Context *)ctx;

  PetscFunctionBeginUser;
  PetscCheck(Nc == dim + 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " components", Nc);
  for (PetscInt i = 0; i < dim; i++) u[i] = c->offset + 1 + i + Power(x[i], c->k + 1) + ProductWithout(dim, x, -1);
  u[dim] = c->offset + 1 + Power(x[0], c->k) * x[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* with the offset added to each derivative */
static PetscErrorCode Gradient(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  const Context *c = (const Context *)ctx;

  PetscFunctionBeginUser;
  PetscCheck(Nc == dim * dim, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " components", Nc);
  for (PetscInt i = 0; i < dim; i++)
    for (PetscInt j = 0; j < dim; j++)
      u[i * dim + j] = c->offset + (i == j ? (c->k + 1) * Power(x[i], c->k) : 0) + ProductWithout(dim, x, j);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the force, and -div u */
static PetscErrorCode Force(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar f[], void *ctx)
{
  const Context *c = (const Context *)ctx;
  PetscReal      nu, s;
  PetscScalar    du[9];

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetStokes(c->dm, &nu, &s));
  PetscCall(Flow(dim, 0, x, Nc, f, ctx));
  PetscCall(Gradient(dim, 0, x, dim * dim, du, ctx));
  for (PetscInt i = 0; i < dim; i++) f[i] = s * f[i] - nu * (c->k + 1) * c->k * Power(x[i], c->k - 1);
  f[0] += c->k * Power(x[0], c->k - 1) * x[1];
  f[1] += Power(x[0], c->k);
  f[dim] = 0;
  for (PetscInt i = 0; i < dim; i++) f[dim] -= du[i * dim + i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Stress(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar t[], void *ctx)
{
  const Context *c = (const Context *)ctx;
  PetscReal      lower[3], upper[3], nu;
  PetscScalar    u[4], du[9];

  PetscFunctionBeginUser;
  PetscCheck(Nc == dim, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " components", Nc);
  PetscCall(DMBoxGetBounds(c->dm, lower, upper));
  PetscCall(DMBoxGetStokes(c->dm, &nu, NULL));
  PetscCall(Flow(dim, 0, x, dim + 1, u, ctx));
  PetscCall(Gradient(dim, 0, x, dim * dim, du, ctx));
  for (PetscInt i = 0; i < dim; i++) t[i] = 0;
  for (PetscInt d = 0; d < dim; d++) {
    const PetscReal n = x[d] == lower[d] ? -1 : (x[d] == upper[d] ? 1 : 0);

    for (PetscInt i = 0; i < dim; i++) t[i] += n * (nu * du[i * dim + d] - (i == d ? u[dim] : 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const PetscReal lower[3] = {0.5, 0.25, 1}, upper[3] = {1.5, 1, 2};

static const DMBoxBoundaryType closed[6], open[6] = {DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN,   DMBOX_BOUNDARY_NEUMANN,
                                                     DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN};

static const PetscInt uneven[3] = {4, 3, 2}, even[3] = {4, 4, 4};

/* graded in the direction x */
static PetscErrorCode CreateFlow(PetscInt dim, PetscInt degree, const PetscInt cells[], const DMBoxBoundaryType boundary[], Context *c)
{
  const PetscReal graded[] = {0.5, 0.625, 0.75, 1, 1.5};

  PetscFunctionBeginUser;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, cells, degree, &c->dm));
  PetscCall(DMBoxSetSpace(c->dm, DMBOX_SPACE_RT));
  PetscCall(DMBoxSetOperator(c->dm, "stokes"));
  PetscCall(DMBoxSetBounds(c->dm, lower, upper));
  PetscCall(DMBoxSetVertices(c->dm, 0, 5, graded));
  PetscCall(DMBoxSetBoundary(c->dm, boundary));
  PetscCall(DMBoxSetStokes(c->dm, 0.75, 2));
  PetscCall(DMSetFromOptions(c->dm));
  PetscCall(DMSetUp(c->dm));
  c->k      = degree;
  c->offset = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckNumber(const char what[], const Context *c, PetscReal found, PetscReal expected)
{
  PetscInt dim;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(c->dm, &dim));
  PetscCheck(PetscAbsReal(found - expected) <= 1e-12 * PetscMax(1, PetscAbsReal(expected)), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s, %" PetscInt_FMT "D, degree %" PetscInt_FMT ": %.16g, not %.16g", what, dim, c->k, (double)found, (double)expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* for 2D and 3D, degrees 1 to 3, closed and open boxes */
static PetscErrorCode ForAll(const char name[], PetscErrorCode (*check)(Context *, PetscBool))
{
  PetscFunctionBeginUser;
  for (PetscInt dim = 2; dim <= 3; dim++)
    for (PetscInt degree = 1; degree <= 3; degree++)
      for (int isopen = 0; isopen < 2; isopen++) {
        Context c;

        PetscCall(CreateFlow(dim, degree, uneven, isopen ? open : closed, &c));
        PetscCall((*check)(&c, (PetscBool)isopen));
        PetscCall(DMDestroy(&c.dm));
      }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: right\n", name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- errors ---- */

/* the interpolant is the function, and differs from one that is larger by the offset in all components by known norms */
static PetscErrorCode CheckErrors(Context *c, PetscBool isopen)
{
  Vec         x;
  PetscReal   u, h1, p, div, l2, largest, volume = 1;
  PetscScalar du[9];
  PetscInt    dim;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(c->dm, &dim));
  for (PetscInt d = 0; d < dim; d++) volume *= upper[d] - lower[d];
  PetscCall(DMCreateGlobalVector(c->dm, &x));
  PetscCall(DMBoxInterpolateFunction(c->dm, 0, Flow, c, x));
  PetscCall(Gradient(dim, 0, upper, dim * dim, du, c));
  for (c->offset = 0; c->offset < 4; c->offset += 3) {
    PetscCall(DMBoxComputeStokesError(c->dm, 0, Flow, Gradient, c, x, &u, &h1, &p, &div));
    PetscCall(DMBoxComputeError(c->dm, 0, Flow, c, x, &l2, &largest));
    PetscCall(CheckNumber("L2 error of u", c, u, c->offset * PetscSqrtReal(dim * volume)));
    PetscCall(CheckNumber("H1 error of u", c, h1, c->offset * dim * PetscSqrtReal(volume)));
    PetscCall(CheckNumber("L2 error of p", c, p, isopen ? c->offset * PetscSqrtReal(volume) : 0));
    PetscCall(CheckNumber("largest divergence", c, div, PetscRealPart(du[0] + du[dim + 1] + (dim == 3 ? du[8] : 0))));
    PetscCall(CheckNumber("error of all fields", c, l2, c->offset * PetscSqrtReal((dim + 1) * volume)));
    PetscCall(CheckNumber("largest error", c, largest, c->offset));
  }
  PetscCall(VecSet(x, 0));
  PetscCall(VecSetValue(x, 0, NAN, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  PetscCall(DMBoxComputeStokesError(c->dm, 0, NULL, NULL, NULL, x, &u, &h1, NULL, &div));
  PetscCheck(PetscIsNanReal(u) && PetscIsNanReal(h1) && PetscIsNanReal(div), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Norms of NaN are %g, %g, %g",
             (double)u, (double)h1, (double)div);
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- loads and boundary data ---- */

/* the interpolant solves the discrete problem: forces, sources, stresses, and normal and tangential velocities are all brought in */
static PetscErrorCode CheckResidual(Context *c, PETSC_UNUSED PetscBool isopen)
{
  Mat       A;
  Vec       x, b;
  PetscReal norm, rnorm;

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(c->dm, &A));
  PetscCall(DMCreateGlobalVector(c->dm, &x));
  PetscCall(VecDuplicate(x, &b));
  PetscCall(DMBoxInterpolateFunction(c->dm, 0, Flow, c, x));
  PetscCall(DMBoxAddLoad(c->dm, 0, Force, c, b));
  PetscCall(DMBoxAddNeumannLoad(c->dm, 0, Stress, c, b));
  PetscCall(DMBoxLiftDirichlet(c->dm, x, b));
  PetscCall(VecNorm(b, NORM_INFINITY, &norm));
  PetscCall(MatResidual(A, b, x, b));
  PetscCall(VecNorm(b, NORM_INFINITY, &rnorm));
  PetscCheck(rnorm <= 1e-13 * norm, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Degree %" PetscInt_FMT ": residual %g of %g", c->k, (double)rnorm,
             (double)norm);
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the net flux ---- */

/* what flows in at x lower, and out, times 1 + *ctx, at x upper */
static PetscErrorCode Through(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                              void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < Nc; i++) u[i] = 0;
  u[0] = x[0] == upper[0] ? 1 + *(PetscReal *)ctx : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -div u = the number, and no force */
static PetscErrorCode Sink(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[], PetscInt Nc,
                           PetscScalar f[], void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < Nc; i++) f[i] = i == Nc - 1 ? *(PetscReal *)ctx : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* data that do not balance are refused by name; of a small rest nothing is left in the right-hand side, and the divergence is what is asked
   for */
static PetscErrorCode CheckFlux(PetscInt dim, PetscReal excess, PetscReal sink, PetscBool good)
{
  Context        c;
  Vec            b, g, x;
  KSP            ksp;
  PC             pc;
  PetscReal      div;
  PetscErrorCode ierr;
  char          *word;

  PetscFunctionBeginUser;
  PetscCall(CreateFlow(dim, 2, even, closed, &c));
  PetscCall(DMCreateGlobalVector(c.dm, &b));
  PetscCall(VecDuplicate(b, &g));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(DMBoxInterpolateFunction(c.dm, 0, Through, &excess, g));
  PetscCall(DMBoxAddLoad(c.dm, 0, Sink, &sink, b));
  CATCH(ierr, DMBoxLiftDirichlet(c.dm, g, b));
  PetscCall(PetscStrstr(lastmessage, "net flux", &word));
  PetscCheck(good ? !ierr : lastcode == PETSC_ERR_ARG_INCOMP && word, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Excess %g, sink %g: code %d, %s",
             (double)excess, (double)sink, (int)lastcode, lastmessage);
  if (good) {
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetDM(ksp, c.dm));
    PetscCall(KSPSetType(ksp, KSPFGMRES));
    PetscCall(KSPSetTolerances(ksp, 1e-13, PETSC_CURRENT, PETSC_CURRENT, 60));
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCPATCHMG));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(DMBoxComputeStokesError(c.dm, 0, NULL, NULL, NULL, x, NULL, NULL, NULL, &div));
    PetscCheck(PetscAbsReal(div - PetscAbsReal(sink)) < 1e-10, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Excess %g, sink %g: divergence %g",
               (double)excess, (double)sink, (double)div);
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&g));
  PetscCall(VecDestroy(&b));
  PetscCall(DMDestroy(&c.dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a load that nobody has compared with a flux, since no data were lifted: KSP takes the constants out of the rows of the pressure, and
   converges to something */
static PetscErrorCode CheckUnbalanced(void)
{
  Context            c;
  Vec                b, x;
  KSP                ksp;
  PC                 pc;
  KSPConvergedReason reason;
  PetscReal          sink = 0.1;
  PetscInt           its;

  PetscFunctionBeginUser;
  PetscCall(CreateFlow(2, 2, even, closed, &c));
  PetscCall(DMCreateGlobalVector(c.dm, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(DMBoxAddLoad(c.dm, 0, Sink, &sink, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, c.dm));
  PetscCall(KSPSetType(ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, 20));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCheck(reason > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s after %" PetscInt_FMT " iterations", KSPConvergedReasons[reason], its);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(DMDestroy(&c.dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFlux(void)
{
  PetscFunctionBeginUser;
  for (PetscInt dim = 2; dim <= 3; dim++) {
    PetscCall(CheckFlux(dim, 0, 0, PETSC_TRUE));
    PetscCall(CheckFlux(dim, 0.015, 0, PETSC_TRUE));
    PetscCall(CheckFlux(dim, -0.015, 0, PETSC_TRUE));
    PetscCall(CheckFlux(dim, 0.025, 0, PETSC_FALSE));
    PetscCall(CheckFlux(dim, -1, 0, PETSC_FALSE));
    PetscCall(CheckFlux(dim, NAN, 0, PETSC_FALSE));
    PetscCall(CheckFlux(dim, 0, 0.1, PETSC_FALSE));
    /* the box is 1 long: what is lost in it does not leave it */
    PetscCall(CheckFlux(dim, -0.5, 0.5, PETSC_TRUE));
    PetscCall(CheckFlux(dim, 0.5, 0.5, PETSC_FALSE));
  }
  PetscCall(CheckUnbalanced());
  PetscCall(PetscOptionsClearValue(NULL, "-malloc_dump")); /* calls that fail do not free what they had allocated */
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "flux: balanced or refused\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- fields ---- */

/* by name and by what is in them: the coordinates are those of the pressure, and the matrix has no block of the pressure */
static PetscErrorCode CheckFields(Context *c, PetscBool isopen)
{
  Vec                x, sub, at;
  Mat                A, B, D;
  IS                *is;
  char             **name;
  const PetscScalar *p, *y;
  PetscObject        null;
  PetscScalar        u[4];
  PetscReal          norm;
  PetscBool          same[2];
  PetscInt           n, m, dim;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(c->dm, &dim));
  PetscCall(DMCreateFieldIS(c->dm, &n, &name, &is));
  PetscCheck(n == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " fields", n);
  PetscCall(PetscStrcmp(name[0], "velocity", &same[0]));
  PetscCall(PetscStrcmp(name[1], "pressure", &same[1]));
  PetscCheck(same[0] && same[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "The fields are %s and %s", name[0], name[1]);
  PetscCall(PetscObjectQuery((PetscObject)is[1], "nullspace", &null));
  PetscCheck(isopen == !null, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Constant pressures of a box that is%s open", isopen ? "" : " not");

  PetscCall(DMCreateGlobalVector(c->dm, &x));
  PetscCall(DMBoxInterpolateFunction(c->dm, 0, Flow, c, x));
  PetscCall(VecGetSubVector(x, is[1], &sub));
  PetscCall(DMGetCoordinates(c->dm, &at));
  PetscCall(VecGetLocalSize(sub, &n));
  PetscCall(VecGetLocalSize(at, &m));
  PetscCheck(m == dim * n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " coordinates for %" PetscInt_FMT " pressures", m, n);
  PetscCall(VecGetArrayRead(sub, &p));
  PetscCall(VecGetArrayRead(at, &y));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(Flow(dim, 0, &y[dim * i], dim + 1, u, c));
    PetscCall(CheckNumber("pressure", c, PetscRealPart(p[i]), PetscRealPart(u[dim])));
  }
  PetscCall(VecRestoreArrayRead(at, &y));
  PetscCall(VecRestoreArrayRead(sub, &p));
  PetscCall(VecRestoreSubVector(x, is[1], &sub));
  PetscCall(VecDestroy(&x));

  PetscCall(DMCreateMatrix(c->dm, &A));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatCreateSubMatrix(B, is[1], is[1], MAT_INITIAL_MATRIX, &D));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &norm));
  PetscCheck(norm == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The block of the pressure is %g", (double)norm);
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscFree(name[i]));
    PetscCall(ISDestroy(&is[i]));
  }
  PetscCall(PetscFree(name));
  PetscCall(PetscFree(is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- VTK ---- */

/* the points of a piece are Gauss-Lobatto nodes of the degree k + 1 in each cell, and the flow has its values there; in 2D a velocity has
   the third component zero */
static PetscErrorCode CheckPiece(const VTKFile *f, char *piece, Context *c, const PatchFDLine line[3], PetscReal *const nodes[3],
                                 PetscInt *visited)
{
  long long   e[6];
  PetscInt    n[3], size, dim;
  PetscReal  *x, *u, *p;
  PetscScalar value[4];

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(c->dm, &dim));
  PetscCheck(sscanf(piece, "<Piece Extent=\"%lld %lld %lld %lld %lld %lld\">", &e[0], &e[1], &e[2], &e[3], &e[4], &e[5]) == 6,
             PETSC_COMM_SELF, PETSC_ERR_PLIB, "No extent");
  for (PetscInt d = 0; d < 3; d++) n[d] = (PetscInt)(e[2 * d + 1] - e[2 * d] + 1);
  for (PetscInt d = 0; d < dim; d++)
    PetscCheck(e[2 * d + 1] < line[d].nnodes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Point %d in direction %" PetscInt_FMT, (int)e[2 * d + 1],
               d);
  size = n[0] * n[1] * n[2];
  PetscCall(PetscMalloc3(3 * size, &x, 3 * size, &u, size, &p));
  PetscCall(VTKFileArray(f, piece, "Name=\"Position\"", 3 * size, x));
  PetscCall(VTKFileArray(f, piece, "Name=\"flow_velocity\" NumberOfComponents=\"3\"", 3 * size, u));
  PetscCall(VTKFileArray(f, piece, "Name=\"flow_pressure\" NumberOfComponents=\"1\"", size, p));
  for (PetscInt i = 0; i < size; i++) {
    const PetscInt at[3] = {i % n[0] + (PetscInt)e[0], i / n[0] % n[1] + (PetscInt)e[2], i / n[0] / n[1] + (PetscInt)e[4]};

    for (PetscInt d = 0; d < 3; d++) PetscCall(CheckNumber("coordinate", c, x[3 * i + d], d < dim ? nodes[d][at[d]] : 0));
    PetscCall(Flow(dim, 0, &x[3 * i], dim + 1, value, c));
    for (PetscInt d = 0; d < 3; d++) PetscCall(CheckNumber("velocity in a file", c, u[3 * i + d], d < dim ? PetscRealPart(value[d]) : 0));
    PetscCall(CheckNumber("pressure in a file", c, p[i], PetscRealPart(value[dim])));
  }
  *visited += size;
  PetscCall(PetscFree3(x, u, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckVTK(Context *c, PETSC_UNUSED PetscBool isopen)
{
  const DM_Box *box    = (const DM_Box *)c->dm->data;
  const char    name[] = "flow_test.vts";
  PatchFDLine   line[3];
  PetscReal    *nodes[3];
  PetscViewer   viewer;
  Vec           x;
  PetscMPIInt   rank;
  PetscInt      expected = 1, visited = 0, dim;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(c->dm, &dim));
  PetscCall(DMCreateGlobalVector(c->dm, &x));
  PetscCall(DMBoxInterpolateFunction(c->dm, 0, Flow, c, x));
  PetscCall(PetscObjectSetName((PetscObject)x, "flow"));
  PetscCall(PetscViewerVTKOpen(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &viewer));
  PetscCall(VecView(x, viewer));
  PetscCall(VecDestroy(&x));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) {
    VTKFile f;

    for (PetscInt d = 0; d < dim; d++) {
      PetscCall(PatchFDLineCreate(PATCHFD_DISCONTINUOUS, c->k + 1, box->cells[d], box->field[0].line[d].vertices,
                                  box->field[0].line[d].dirichlet, &line[d]));
      PetscCall(PetscMalloc1(line[d].nnodes, &nodes[d]));
      PetscCall(PatchFDLineNodes(&line[d], nodes[d]));
      expected *= line[d].nnodes;
    }
    PetscCall(VTKFileRead(name, &f));
    for (char *piece = strstr(f.text, "<Piece "); piece && piece < f.data; piece = strstr(piece + 1, "<Piece "))
      PetscCall(CheckPiece(&f, piece, c, line, nodes, &visited));
    PetscCheck(visited == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " points, not %" PetscInt_FMT, visited, expected);
    PetscCall(PetscFree(f.text));
    remove(name);
    for (PetscInt d = 0; d < dim; d++) {
      PetscCall(PetscFree(nodes[d]));
      PetscCall(PatchFDLineDestroy(&line[d]));
    }
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const tests[] = {"errors", "residual", "flux", "fields", "vtk"};
  PetscInt          test    = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-test", tests, 5, &test, NULL));
  if (test == 0) PetscCall(ForAll(tests[test], CheckErrors));
  if (test == 1) PetscCall(ForAll(tests[test], CheckResidual));
  if (test == 2) PetscCall(TestFlux());
  if (test == 3) PetscCall(ForAll(tests[test], CheckFields));
  if (test == 4) PetscCall(ForAll(tests[test], CheckVTK));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    nsize: {{1 2 4}}
    test:
      suffix: errors
      args: -test errors
    test:
      suffix: residual
      args: -test residual
    test:
      suffix: fields
      args: -test fields
    test:
      suffix: vtk
      args: -test vtk
  test:
    suffix: flux
    nsize: {{1 3}}
    args: -test flux

TEST*/
