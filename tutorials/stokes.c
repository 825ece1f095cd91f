static char help[] =
  "Flow of viscous fluids: s u - nu laplace u + grad p = f, div u = 0 on a box, with RT_k x DGQ_k elements, whose velocities are free of \
divergence\n\
at every point, and multigrid with vertex patches.\n\
  -problem curl : a velocity that is a curl, and a pressure; errors and their orders\n\
  -problem cavity : a fluid that a sliding lid, the upper side of direction y, drags along\n\
  -problem channel : flow between two plates to an open end, x upper: a parabola, which the elements have from k = 2 on\n\
  -levels n : on n meshes, each with half the cell size of the one before (default 3)\n\
  -steps n -time_step dt : n steps of the implicit Euler method for u_t - nu laplace u + grad p = f instead, from rest\n\
  -dm_box_dim, -dm_box_cells, -dm_box_degree, -dm_box_viscosity, -dm_box_shift, ... : the first mesh, the element, nu and s\n\
  -dm_box_boundary dirichlet, neumann, ... : sides where the velocity is given, and open ones, where the stress is given\n\
  -ksp_*, -pc_*  : the solver (default: FGMRES, PCPATCHMG)\n\
  -view_solution vtk:flow.vts : write velocity and pressure on the finest mesh for ParaView\n\n";

#include <petscpatchfd.h>

/* A problem: what u and p are, or on sides only, where they are not known */
typedef struct {
  DMBoxFunctionFn *flow;             /* u and p; zero inside where they are not known */
  DMBoxFunctionFn *gradient, *force; /* NULL if they are not known or zero */
  PetscBool        known;
} Problem;

/* ---- curl ---- */

/* s(x) = x^2 (1 - x)^2 times the density of the normal distribution of mean 0.65 and variance 1/3, differentiated `order` times, by
   Leibniz' rule */
static PetscReal Bump(PetscReal x, PetscInt order)
{
  const PetscReal binomial[4][4] = {{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}}, v = 1. / 3, t = x - 0.65;
  const PetscReal P[4] = {x * x * (1 - x) * (1 - x), 2 * x - 6 * x * x + 4 * x * x * x, 2 - 12 * x + 12 * x * x, 24 * x - 12};
  const PetscReal G[4] = {1, -t / v, t * t / (v * v) - 1 / v, 3 * t / (v * v) - t * t * t / (v * v * v)};
  PetscReal       sum  = 0;

  for (PetscInt i = 0; i <= order; i++) sum += binomial[order][i] * P[i] * G[order - i];
  return sum * PetscExpReal(-t * t / (2 * v)) / PetscSqrtReal(2 * PETSC_PI * v);
}

/* phi = s(x) s(y) s(z), differentiated order[d] times in direction d */
static PetscReal Potential(PetscInt dim, const PetscReal x[], const PetscInt order[])
{
  PetscReal phi = 1;

  for (PetscInt d = 0; d < dim; d++) phi *= Bump(x[d], order[d]);
  return phi;
}

/* the component i of u = curl (0, 0, phi) in 2D or curl (phi, phi, phi) in 3D, differentiated a times in direction j */
static PetscReal Velocity(PetscInt dim, const PetscReal x[], PetscInt i, PetscInt j, PetscInt a)
{
  PetscReal u = 0;

  for (PetscInt s = 1; s <= 2; s++) { /* d phi / dx_{i+1} - d phi / dx_{i+2} */
    const PetscInt d        = (i + s) % 3;
    PetscInt       order[3] = {0, 0, 0};

    if (d >= dim) continue;
    order[d]++;
    order[j] += a;
    u += (s == 1 ? 1 : -1) * Potential(dim, x, order);
  }
  return u;
}

/* p = prod cos(2 pi x_d), or its derivative in direction j */
static PetscReal Pressure(PetscInt dim, const PetscReal x[], PetscInt j)
{
  PetscReal p = 1;

  for (PetscInt d = 0; d < dim; d++) p *= d == j ? -2 * PETSC_PI * PetscSinReal(2 * PETSC_PI * x[d]) : PetscCosReal(2 * PETSC_PI * x[d]);
  return p;
}

static PetscErrorCode CurlFlow(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar u[],
                               PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < dim; i++) u[i] = Velocity(dim, x, i, 0, 0);
  u[dim] = Pressure(dim, x, -1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CurlGradient(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[],
                                   PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < Nc; i++) u[i] = Velocity(dim, x, i / dim, i % dim, 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CurlForce(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar f[],
                                void *ctx)
{
  PetscReal nu, s;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetStokes((DM)ctx, &nu, &s));
  for (PetscInt i = 0; i < dim; i++) {
    f[i] = s * Velocity(dim, x, i, 0, 0) + Pressure(dim, x, i);
    for (PetscInt j = 0; j < dim; j++) f[i] -= nu * Velocity(dim, x, i, j, 2);
  }
  f[dim] = 0; /* -div u */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- cavity ---- */

/* the lid is the upper side of direction y, without its edges, where the other sides hold the fluid */
static PetscErrorCode CavityFlow(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  PetscReal lower[3], upper[3];

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetBounds((DM)ctx, lower, upper));
  for (PetscInt i = 0; i < Nc; i++) u[i] = 0;
  if (x[1] == upper[1] && x[0] > lower[0] && x[0] < upper[0] && (dim == 2 || (x[2] > lower[2] && x[2] < upper[2]))) u[0] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- channel ---- */

/* u = (4 t (1 - t), 0, 0), where t is 0 and 1 on the plates, is driven by a pressure that is zero at the open end; a shift has no such
   solution */
static PetscErrorCode ChannelFlow(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  PetscReal lower[3], upper[3], nu, t;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetBounds((DM)ctx, lower, upper));
  PetscCall(DMBoxGetStokes((DM)ctx, &nu, NULL));
  t = (x[1] - lower[1]) / (upper[1] - lower[1]);
  for (PetscInt i = 0; i < Nc; i++) u[i] = 0;
  u[0]   = 4 * t * (1 - t);
  u[dim] = 8 * nu * (upper[0] - x[0]) / PetscSqr(upper[1] - lower[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChannelGradient(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt Nc,
                                      PetscScalar u[], void *ctx)
{
  PetscReal lower[3], upper[3];

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetBounds((DM)ctx, lower, upper));
  for (PetscInt i = 0; i < Nc; i++) u[i] = 0;
  u[1] = 4 * (upper[1] + lower[1] - 2 * x[1]) / PetscSqr(upper[1] - lower[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const Problem problems[] = {{CurlFlow, CurlGradient, CurlForce, PETSC_TRUE},
                                   {CavityFlow, NULL, NULL, PETSC_FALSE},
                                   {ChannelFlow, ChannelGradient, NULL, PETSC_TRUE}};

/* ---- all ---- */

typedef struct {
  const Problem *problem;
  DM             dm;
} Context;

/* the fluid is at rest, but for what is given on the sides */
static PetscErrorCode Start(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar u[], void *ctx)
{
  const Context *c = (const Context *)ctx;
  PetscReal      lower[3], upper[3];
  PetscBool      inside = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetBounds(c->dm, lower, upper));
  PetscCall((*c->problem->flow)(dim, time, x, Nc, u, c->dm));
  for (PetscInt d = 0; d < dim; d++) inside = (PetscBool)(inside && x[d] > lower[d] && x[d] < upper[d]);
  for (PetscInt i = 0; i < Nc && inside; i++) u[i] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the stress nu du/dn - p n on open sides: a Gauss point of a side lies on one bound of the box */
static PetscErrorCode Stress(PetscInt dim, PetscReal time, const PetscReal x[], PetscInt Nc, PetscScalar t[], void *ctx)
{
  const Context *c = (const Context *)ctx;
  PetscReal      lower[3], upper[3], nu;
  PetscScalar    u[4], du[9];

  PetscFunctionBeginUser;
  PetscCall(DMBoxGetBounds(c->dm, lower, upper));
  PetscCall(DMBoxGetStokes(c->dm, &nu, NULL));
  PetscCall((*c->problem->flow)(dim, time, x, dim + 1, u, c->dm));
  PetscCall((*c->problem->gradient)(dim, time, x, dim * dim, du, c->dm));
  for (PetscInt i = 0; i < Nc; i++) t[i] = 0;
  for (PetscInt d = 0; d < dim; d++) {
    const PetscReal n = x[d] == lower[d] ? -1 : (x[d] == upper[d] ? 1 : 0);

    for (PetscInt i = 0; i < dim; i++) t[i] += n * (nu * du[i * dim + d] - (i == d ? u[dim] : 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the right-hand side, with the data of all sides: loads come first, given velocities last */
static PetscErrorCode RightHandSide(DM dm, const Problem *problem, Vec b)
{
  Context c = {problem, dm};
  Vec     g;

  PetscFunctionBeginUser;
  if (problem->force) PetscCall(DMBoxAddLoad(dm, 0, problem->force, dm, b));
  if (problem->known) PetscCall(DMBoxAddNeumannLoad(dm, 0, Stress, &c, b));
  PetscCall(VecDuplicate(b, &g));
  PetscCall(DMBoxInterpolateFunction(dm, 0, problem->flow, dm, g));
  PetscCall(DMBoxLiftDirichlet(dm, g, b));
  PetscCall(VecDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(DM dm, KSP *ksp)
{
  PC pc;

  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)dm), ksp));
  PetscCall(KSPSetDM(*ksp, dm)); /* the DM makes the operator and the coarser levels */
  PetscCall(KSPSetType(*ksp, KSPFGMRES));
  PetscCall(KSPSetTolerances(*ksp, 1e-13, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetErrorIfNotConverged(*ksp, PETSC_TRUE));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(DM dm, const Problem *problem, Vec u, PetscInt *its)
{
  KSP ksp;
  Vec b;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(u, &b));
  PetscCall(RightHandSide(dm, problem, b));
  PetscCall(CreateSolver(dm, &ksp));
  PetscCall(KSPSolve(ksp, b, u));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Implicit Euler: the change d of u (and of p) in a step is the solution of (M / dt + A) d = b - A u, with A and b of the steady problem.
  At the start the velocities that are given are there already, and d is zero at their nodes: d has no data of its own.
*/
static PetscErrorCode Steps(DM dm, const Problem *problem, PetscInt steps, PetscReal dt, Vec u, PetscInt *its)
{
  Context   c = {problem, dm};
  KSP       ksp;
  Mat       A, steady;
  Vec       b, r, d;
  PetscReal nu;

  PetscFunctionBeginUser;
  PetscCall(DMBoxInterpolateFunction(dm, 0, Start, &c, u));
  PetscCall(DMBoxGetStokes(dm, &nu, NULL));
  PetscCall(DMBoxSetStokes(dm, nu, 0));
  PetscCall(DMCreateMatrix(dm, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &steady)); /* a copy keeps these coefficients */
  PetscCall(VecDuplicate(u, &b));
  PetscCall(VecDuplicate(u, &r));
  PetscCall(VecDuplicate(u, &d));
  PetscCall(RightHandSide(dm, problem, b));
  PetscCall(DMBoxSetStokes(dm, nu, 1 / dt));
  PetscCall(CreateSolver(dm, &ksp));
  *its = 0;
  for (PetscInt i = 0; i < steps; i++) {
    PetscInt n;

    PetscCall(MatResidual(steady, b, u, r));
    PetscCall(KSPSolve(ksp, r, d));
    PetscCall(VecAXPY(u, 1, d));
    PetscCall(KSPGetIterationNumber(ksp, &n));
    *its = PetscMax(*its, n);
  }
  PetscCall(DMBoxSetStokes(dm, nu, 0));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&steady));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* "<= 1e-12", for example, or the number if it is larger */
static PetscErrorCode PrintSmall(PetscReal a, PetscReal bound)
{
  PetscFunctionBeginUser;
  if (a <= bound) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  <= %.0e", (double)bound));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %8.1e", (double)a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* an error beside that of the mesh before, zero if there is none, and becomes that of this one */
static PetscErrorCode PrintError(PetscReal e, PetscReal *before)
{
  PetscFunctionBeginUser;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %.2e", (double)e));
  if (*before > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %5.1f", (double)PetscLog2Real(*before / e)));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "      "));
  *before = e;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a line of the table; the divergence is relative to the means of the velocity's gradient or of p / nu, whichever is larger */
static PetscErrorCode Print(DM dm, const Problem *problem, Vec u, PetscReal before[3])
{
  PetscReal lower[3], upper[3], e[3], norm[3], nu, div, volume = 1;
  PetscInt  dim;

  PetscFunctionBeginUser;
  PetscCall(DMGetDimension(dm, &dim));
  PetscCall(DMBoxGetBounds(dm, lower, upper));
  PetscCall(DMBoxGetStokes(dm, &nu, NULL));
  for (PetscInt d = 0; d < dim; d++) volume *= upper[d] - lower[d];
  PetscCall(DMBoxComputeStokesError(dm, 0, NULL, NULL, NULL, u, &norm[0], &norm[1], &norm[2], &div)); /* of zero: the norms */
  PetscCall(DMBoxComputeStokesError(dm, 0, problem->flow, problem->gradient, dm, u, &e[0], &e[1], &e[2], NULL));
  if (problem->flow == CurlFlow) {
    for (int i = 0; i < 3; i++) PetscCall(PrintError(e[i], &before[i]));
  } else if (problem->known) {
    for (int i = 0; i < 3; i++) PetscCall(PrintSmall(e[i] / norm[i], 1e-11));
  } else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %.6f", (double)norm[0]));
  PetscCall(PrintSmall(div * PetscSqrtReal(volume) / PetscMax(norm[1], norm[2] / nu), 1e-13));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const names[] = {"curl", "cavity", "channel"}, *const heads[] = {"u: L2 order  u: H1 order  p: L2 order", "|u|",
                                                                               "u: L2  u: H1  p: L2 errors"};
  const DMBoxBoundaryType open[6]   = {DMBOX_BOUNDARY_DIRICHLET, DMBOX_BOUNDARY_NEUMANN};
  const PetscInt          cells[]   = {4, 4, 4};
  PetscReal               before[3] = {0, 0, 0}, dt = 0.01;
  PetscInt                problem = 0, levels = 3, steps = 0, degree;
  DM                      dm;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-problem", names, 3, &problem, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-levels", &levels, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &steps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-time_step", &dt, NULL));
  PetscCheck(dt > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-time_step is %g; it must be positive", (double)dt);

  /* the mesh carries the element and the operator */
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, 2, cells, 2, &dm));
  PetscCall(DMBoxSetSpace(dm, DMBOX_SPACE_RT));
  PetscCall(DMBoxSetOperator(dm, "stokes"));
  if (problems[problem].flow == ChannelFlow) PetscCall(DMBoxSetBoundary(dm, open));
  PetscCall(DMSetFromOptions(dm));
  PetscCall(DMSetUp(dm));

  PetscCall(DMBoxGetDegree(dm, &degree));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, RT_%" PetscInt_FMT "\n", names[problem], degree));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "cells  unknowns  %s  divergence  iterations\n", heads[problem]));
  for (PetscInt l = 0; l < levels; l++) {
    PetscInt n[3], N, its;
    DM       fine;
    Vec      u;

    PetscCall(DMCreateGlobalVector(dm, &u));
    PetscCall(PetscObjectSetName((PetscObject)u, "flow"));
    if (steps) PetscCall(Steps(dm, &problems[problem], steps, dt, u, &its));
    else PetscCall(Solve(dm, &problems[problem], u, &its));
    PetscCall(DMBoxGetCells(dm, n));
    PetscCall(VecGetSize(u, &N));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%5" PetscInt_FMT " %9" PetscInt_FMT, n[0], N));
    PetscCall(Print(dm, &problems[problem], u, before));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %11" PetscInt_FMT "\n", its));
    if (l == levels - 1) PetscCall(VecViewFromOptions(u, NULL, "-view_solution"));
    else {
      PetscCall(DMRefine(dm, PETSC_COMM_WORLD, &fine));
      PetscCall(DMDestroy(&dm));
      dm = fine;
    }
    PetscCall(VecDestroy(&u));
  }
  PetscCall(DMDestroy(&dm));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   # orders k + 1 for u and p, k for the derivatives of u
   testset:
     output_file: output/stokes_curl.out
     test:
       suffix: curl
       nsize: {{1 2 3}}
     test:
       suffix: curl_cuda
       requires: cuda gpu
       nsize: {{1 2}}
       args: -dm_vec_type cuda
   test:
     suffix: curl_rt1
     args: -dm_box_degree 1 -levels 4
   test:
     suffix: curl_rt3
     nsize: 2
     args: -dm_box_degree 3
   test:
     suffix: curl_3d
     nsize: 2
     args: -dm_box_dim 3 -dm_box_cells 2
   # velocities and stresses that are not zero on the sides, closed and open; another operator
   test:
     suffix: curl_sides
     nsize: {{1 3}}
     output_file: output/stokes_curl_sides.out
     args: -dm_box_lower 0.1 -dm_box_upper 0.9
   test:
     suffix: curl_open
     nsize: {{1 3}}
     output_file: output/stokes_curl_open.out
     args: -dm_box_lower 0.1 -dm_box_upper 0.9 -dm_box_boundary dirichlet,neumann,neumann,dirichlet -dm_box_viscosity 0.01 -dm_box_shift 3
   test:
     suffix: curl_open_3d
     args: -dm_box_dim 3 -dm_box_degree 1 -dm_box_lower 0.1,0,0.2 -dm_box_cells 2 -levels 2
     args: -dm_box_boundary neumann,neumann,dirichlet,neumann,dirichlet,dirichlet

   # other solvers: the same errors
   testset:
     filter: cut -c -73
     output_file: output/stokes_errors.out
     # the V-cycle in single precision
     test:
       suffix: single
       nsize: {{1 2}}
       args: -pc_type single
     test:
       suffix: single_cuda
       requires: cuda gpu
       args: -dm_vec_type cuda -pc_type single
   # PETSc's Schur complements, with the fields of the DM
   test:
     suffix: fieldsplit
     nsize: {{1 2}}
     args: -levels 2 -dm_mat_type aij -pc_type fieldsplit -pc_fieldsplit_type schur -pc_fieldsplit_schur_fact_type full
     args: -pc_fieldsplit_schur_precondition selfp
     args: -fieldsplit_velocity_pc_type gamg -fieldsplit_velocity_ksp_type gmres -fieldsplit_velocity_ksp_rtol 1e-8
     args: -fieldsplit_pressure_pc_type jacobi

   testset:
     args: -problem cavity
     filter: cut -c -35
     output_file: output/stokes_cavity.out
     test:
       suffix: cavity
       nsize: {{1 2}}
       args: -view_solution vtk:flow.vts
     test:
       suffix: cavity_single
       args: -pc_type single
     # until nothing changes any more
     test:
       suffix: cavity_steps
       args: -steps 20 -time_step 0.1
   test:
     suffix: cavity_3d
     nsize: 2
     args: -problem cavity -dm_box_dim 3 -dm_box_cells 4 -dm_box_degree 1 -levels 2
   # not at rest yet: a few steps
   test:
     suffix: cavity_start
     args: -problem cavity -steps 3 -time_step 0.01 -levels 2

   # exact
   testset:
     args: -problem channel -levels 2
     filter: cut -c -55
     test:
       suffix: channel
       nsize: {{1 3}}
       output_file: output/stokes_channel.out
       args: -dm_box_upper 2,1 -dm_box_viscosity 0.1
     test:
       suffix: channel_steps
       output_file: output/stokes_channel.out
       args: -dm_box_upper 2,1 -dm_box_viscosity 0.1 -steps 10 -time_step 100
     # closed: the given velocity at the end is what flows in
     test:
       suffix: channel_closed
       output_file: output/stokes_channel.out
       args: -dm_box_boundary dirichlet
     test:
       suffix: channel_3d
       args: -dm_box_dim 3 -dm_box_cells 2

TEST*/
