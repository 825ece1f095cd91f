static char help[] = "Cases that nobody listed: boxes, operators and solvers are drawn at random, and each is solved and checked.\n\
Four solvers live at a time and are used in turns.  The reference is a twin of each on one rank, on the host and in double precision.\n\
  -seed s     : another seed, other cases (default 1)\n\
  -first i    : the number of the first case (default 0); a case depends on the seed, its number and the number of ranks\n\
  -count n    : number of cases (default 40)\n\
  -gpu        : vectors are on a GPU\n\
  -options s  : more options for all solvers, the first one without its dash, to look at a case\n\
  -verbose    : a line for each case\n\
  -dry        : cases are drawn and printed, not solved\n\n";

#include <petscpatchfd.h>
#include <petsc/private/petscimpl.h>
#include <petsctime.h>
#include <unistd.h>
#include "catch.h"

/* ---- numbers that are the same on every machine (splitmix64, Steele, Lea and Flood) ---- */

typedef uint64_t Dice;

static uint64_t Roll(Dice *d)
{
  uint64_t z = (*d += 0x9e3779b97f4a7c15u);

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static Dice NewDice(PetscInt seed, PetscInt number, PetscInt use)
{
  Dice d = (uint64_t)seed;

  d = Roll(&d) + (uint64_t)number;
  d = Roll(&d) + (uint64_t)use;
  (void)Roll(&d);
  return d;
}

static PetscReal Uniform(Dice *d)
{
  return (PetscReal)(Roll(d) >> 11) / 9007199254740992.0;
}

static PetscInt Below(Dice *d, PetscInt n)
{
  return (PetscInt)(Roll(d) % (uint64_t)n);
}

static PetscBool Chance(Dice *d, PetscReal p)
{
  return (PetscBool)(Uniform(d) < p);
}

static PetscInt Weighted(Dice *d, const PetscInt weights[]) /* the first one that is not positive ends them */
{
  PetscInt sum = 0, i = 0;

  for (i = 0; weights[i] > 0; i++) sum += weights[i];
  sum = Below(d, sum);
  for (i = 0; sum >= weights[i]; i++) sum -= weights[i];
  return i;
}

/* ---- a case ---- */

typedef enum { POISSON, DGQ, DIFFUSION, BIHARMONIC, STOKES, HEAT } Kind;
typedef enum { CYCLES, DIRECT, SMOOTHER, JACOBI } Method;
typedef enum { DOUBLE, MIXED, SINGLE } Precision;

typedef struct {
  PetscInt  number, dim, cells[3], degree, limit; /* limit: of unknowns */
  Kind      kind;
  Precision precision;
  Method    method;
  DMBoxBoundaryType side[6];
  PetscReal ratio[3];                               /* of the lengths of cells that follow each other */
  PetscReal K[6], shift, scale, contrast;           /* coefficients; scale is in both; contrast: 1, or K varies by it */
  PetscInt  nK;
  PetscBool changed;                                /* the coefficients are those of the second solve */
  PetscBool symmetric, additive, dmalone, deep;     /* deep: with a prefix */
  PetscReal rtol, same;                             /* tolerances of the solve, and of what should be the same: 0 where it need not */
  PetscInt  most;                                   /* iterations */
  char      mesh[1024], solver[1024], twin[1024];   /* options */
} Case;

/* " -" prefix option */
static void Add(char text[1024], const char prefix[], const char format[], ...)
{
  const size_t n = strlen(text);
  va_list      args;
  char         option[256];

  va_start(args, format);
  (void)vsnprintf(option, sizeof(option), format, args);
  va_end(args);
  (void)snprintf(text + n, 1024 - n, " -%s%s", prefix, option);
}

static void AddReals(char text[1024], const char prefix[], const char option[], PetscInt n, const PetscReal value[])
{
  char list[256] = "";

  for (PetscInt i = 0; i < n; i++) (void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%.17g", i ? "," : " ", (double)value[i]);
  Add(text, prefix, "%s%s", option, list);
}

static PetscReal Unknowns(const Case *c)
{
  PetscReal n = 1;

  for (PetscInt d = 0; d < c->dim; d++) n *= (PetscReal)(c->cells[d] * (c->kind == DGQ || c->kind == STOKES ? c->degree + 1 : c->degree) + 1);
  return c->kind == STOKES ? n * (PetscReal)(c->dim + 1) : n;
}

/* three cases in a row have kernels in common: other sizes of the same kernels live at the same time */
static void DrawFamily(Dice *d, Case *c)
{
  static const PetscInt kinds[] = {50, 11, 14, 9, 8, 8, 0}, dims[] = {10, 35, 55, 0}, precisions[] = {60, 30, 10, 0}, degrees[] = {14, 23, 21, 9, 6, 5, 7, 10, 4, 3, 3, 0};
  static const PetscInt most[][4] = {
    {0, 11, 11, 11},
    {0, 9,  8,  8 },
    {0, 0,  8,  5 },
    {0, 8,  8,  6 },
    {0, 0,  5,  3 },
    {0, 1,  1,  1 }
  };

  c->kind      = (Kind)Weighted(d, kinds);
  c->dim       = 1 + Weighted(d, dims);
  c->precision = (Precision)Weighted(d, precisions);
  c->degree    = 1 + Weighted(d, degrees);
  if (c->dim == 1 && !most[c->kind][1]) c->dim = 2;
  while (c->degree > most[c->kind][c->dim]) c->degree = (c->degree + 1) / 2;
  if (c->kind == BIHARMONIC) c->degree = PetscMax(c->degree, 2);
  if (c->precision == SINGLE && (c->kind == BIHARMONIC || c->kind == STOKES)) c->precision = MIXED;
}

static void DrawMesh(Dice *d, Case *c)
{
  static const PetscInt limits[] = {20000, 8000, 3000, 4000, 2500, 10000}, few[] = {1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12, 12}, evens[] = {4, 4, 4, 6, 8, 8, 10, 12, 16};
  static const char *const operators[] = {"poisson", "poisson", "diffusion", "biharmonic", "stokes", "heat"}, *const spaces[] = {"q", "dgq", "q", "q", "rt", "p1"};
  const DMBoxBoundaryType  other  = c->kind == BIHARMONIC ? DMBOX_BOUNDARY_SUPPORTED : DMBOX_BOUNDARY_NEUMANN;
  const PetscReal          others = Chance(d, 0.25) ? 0 : (Chance(d, 0.1) ? 1 : 0.4);
  const char              *prefix = c->deep ? "outer_" : "";
  char                     list[256] = "";
  const PetscBool          even = Chance(d, 0.75), graded = (PetscBool)(c->kind != HEAT && Chance(d, 0.25)); /* even: for several levels */
  PetscBool                open = PETSC_TRUE;

  c->limit = even && c->kind == POISSON && c->degree > 6 ? 50000 : limits[c->kind]; /* two levels */
  for (PetscInt i = 0; i < c->dim; i++) {
    c->cells[i] = even ? evens[Below(d, PETSC_STATIC_ARRAY_LENGTH(evens))] : few[Below(d, PETSC_STATIC_ARRAY_LENGTH(few))];
    if (c->dim == 1) c->cells[i] *= 1 << Below(d, 5);
    if (c->kind == HEAT || (c->kind == POISSON && c->degree == 1)) c->cells[i] *= 1 + Below(d, 3);
    if (!even && (c->kind == STOKES || c->kind == DIFFUSION)) c->cells[i] = PetscMin(c->cells[i], 5);
  }
  while (Unknowns(c) > c->limit) {
    PetscInt longest = 0;

    for (PetscInt i = 1; i < c->dim; i++)
      if (c->cells[i] > c->cells[longest]) longest = i;
    c->cells[longest] = even && c->cells[longest] > 5 ? c->cells[longest] / 4 * 2 : c->cells[longest] / 2;
  }
  for (PetscInt i = 0; i < 2 * c->dim; i++) {
    c->side[i] = Chance(d, others) ? other : DMBOX_BOUNDARY_DIRICHLET;
    open       = (PetscBool)(open && c->side[i] == DMBOX_BOUNDARY_NEUMANN);
  }
  for (PetscInt i = 0; i < c->dim; i++) c->ratio[i] = graded && Chance(d, 0.6) ? 0.8 + 0.45 * Uniform(d) : 1;
  c->scale    = c->kind != HEAT && c->kind != STOKES && c->precision != SINGLE && Chance(d, 0.25) ? PetscPowRealInt(10, (int)Below(d, 17) - 8) : 1;
  c->contrast = c->kind == DIFFUSION && Chance(d, 0.5) ? (Chance(d, 0.5) ? 10 : 100) : 1;
  c->shift    = Chance(d, 0.6) ? 0 : c->scale * (Chance(d, 0.5) ? 1 : 100);
  if (c->kind == STOKES && open) c->shift = 1;
  c->nK = c->kind == POISSON || c->kind == DGQ || c->kind == HEAT ? c->dim : 1;
  if (c->kind == DIFFUSION && Chance(d, 0.5)) c->nK = Chance(d, 0.5) ? c->dim : c->dim * (c->dim + 1) / 2;
  for (PetscInt i = 0; i < c->nK; i++) c->K[i] = c->scale * (Chance(d, 0.8) ? 1 : (Chance(d, 0.5) ? 0.3 : 0.03));
  if (c->nK > c->dim) /* xx, xy, yy or xx, xy, xz, yy, yz, zz */
    for (PetscInt i = 0, a = 0; a < c->dim; a++)
      for (PetscInt b = a; b < c->dim; b++) c->K[i++] = c->scale * (a == b ? 1 + 0.5 * (PetscReal)a : 0.3);
  c->mesh[0] = 0;
  Add(c->mesh, prefix, "dm_box_dim %" PetscInt_FMT, c->dim);
  Add(c->mesh, prefix, "dm_box_degree %" PetscInt_FMT, c->degree);
  Add(c->mesh, prefix, "dm_box_space %s", spaces[c->kind]);
  Add(c->mesh, prefix, "dm_box_operator %s", operators[c->kind]);
  for (PetscInt i = 0; i < 2 * c->dim; i++) (void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? "," : "", DMBoxBoundaryTypes[c->side[i]]);
  Add(c->mesh, prefix, "dm_box_boundary %s", list);
  if (Chance(d, 0.3)) {
    PetscReal upper[3];

    for (PetscInt i = 0; i < 3; i++) upper[i] = 0.5 + (PetscReal)Below(d, 4) / 2;
    AddReals(c->mesh, prefix, "dm_box_upper", c->dim, upper);
  }
  AddReals(c->mesh, prefix, c->kind == BIHARMONIC ? "dm_box_bending" : (c->kind == STOKES ? "dm_box_viscosity" : (c->kind == HEAT ? "dm_box_conductivity" : "dm_box_diffusion")), c->nK, c->K);
  AddReals(c->mesh, prefix, "dm_box_shift", 1, &c->shift);
  if (c->kind == DGQ && Chance(d, 0.3)) Add(c->mesh, prefix, "dm_box_penalty 2,1.5");
  if (c->kind == POISSON || c->kind == DIFFUSION) Add(c->mesh, prefix, "dm_box_semicoarsening %s", Chance(d, 0.3) ? "0" : "0.17"); /* the default is another one on GPUs */
  if (c->kind == DIFFUSION) {
    static const char *const maps[] = {"none", "none", "sine", "sine1", "sine2", "annulus", "kershaw_smooth"};
    static const char *const parameters[] = {"", "", "", "", "0.05", "", "0.6"};
    const PetscInt           map = Below(d, PETSC_STATIC_ARRAY_LENGTH(maps));

    Add(c->mesh, prefix, "dm_box_mapping %s", maps[map]);
    if (parameters[map][0]) Add(c->mesh, prefix, "dm_box_mapping_parameter %s", parameters[map]);
    if (map > 1 && Chance(d, 0.2)) Add(c->mesh, prefix, "dm_box_mapping_degree 1");
    Add(c->mesh, prefix, "dm_box_extra_points %s", Chance(d, 0.5) ? "1" : "2"); /* in PCSINGLE the same */
    Add(c->mesh, prefix, "dm_box_galerkin %s", Chance(d, 0.2) ? "true" : "false");
  }
}

/* what the patches do */
typedef struct {
  const char *variant, *order, *local, *fit, *damping;
  PetscInt    sweeps;
} Patches;

static void DrawPatches(Dice *d, PetscBool symmetric, Case *c, Patches *p)
{
  static const char *const variants[] = {"auto", "boundary", "fused", "separate", "global"}, *const orders[] = {"forward", "backward", "symmetric"}, *const fits[] = {"own", "shared", "line"};

  const PetscBool graded = (PetscBool)(c->ratio[0] != 1 || c->ratio[1] != 1 || c->ratio[2] != 1);

  *p          = (Patches){.variant = "auto", .order = "forward", .local = "auto", .fit = "auto", .damping = NULL, .sweeps = Chance(d, 0.2) ? 2 : 1};
  c->additive = Chance(d, 0.15);
  if (!c->additive) {
    const PetscBool separable = (PetscBool)(c->kind == POISSON || c->kind == DGQ);

    if (c->kind != DIFFUSION && !Chance(d, 0.4)) p->variant = variants[separable ? 1 + Below(d, 4) : 2 + Below(d, 3)];
    if (c->kind == DIFFUSION && Chance(d, 0.3)) p->variant = "global";
    p->order = symmetric ? "symmetric" : orders[Below(d, 3)];
    if (Chance(d, 0.2) && c->kind != DIFFUSION) p->damping = Chance(d, 0.5) ? "0.9" : "0.8"; /* there set-up finds what is needed */
  }
  /* the choice of `auto` is another one on GPUs */
  if (c->kind == BIHARMONIC) p->local = graded || c->dim == 3 || Chance(d, 0.5) ? "fd_inexact" : "dense";
  if (c->kind == BIHARMONIC && c->dim == 3 && !c->additive) p->damping = "0.6"; /* the default, 0.7, is too much for symmetric sweeps: what the patches leave out is up to twice what they have */
  if (c->kind == STOKES) p->local = graded || Chance(d, 0.4) ? "schur" : "dense";
  if (c->kind == DIFFUSION) {
    p->local = "fd_inexact";
    p->fit   = fits[Below(d, c->additive || symmetric ? 2 : 3)]; /* `line` may need more damping than it gets */
  }
}

static void AddPatches(const Case *c, const Patches *p, PetscBool twin, const char prefix[], char text[1024])
{
  const PetscBool separable = (PetscBool)(c->kind == POISSON || c->kind == DGQ), dense = (PetscBool)!strcmp(p->local, "dense");
  const char     *variant   = twin && separable ? "global" : p->variant;

  if (c->additive) Add(text, prefix, "pc_patchfd_type additive");
  else {
    if (strcmp(variant, "auto")) Add(text, prefix, "pc_patchfd_variant %s", variant);
    if (strcmp(p->order, "forward")) Add(text, prefix, "pc_patchfd_order %s", p->order);
    if (p->damping) Add(text, prefix, "pc_patchfd_damping %s", p->damping);
  }
  if (p->sweeps > 1) Add(text, prefix, "pc_patchfd_sweeps %" PetscInt_FMT, p->sweeps);
  if (strcmp(p->local, "auto")) Add(text, prefix, "pc_patchfd_local %s", p->local);
  if (strcmp(p->fit, "auto")) Add(text, prefix, "pc_patchfd_fit %s", p->fit);
  if (dense) Add(text, prefix, "pc_patchfd_precision same");
}

/* the solver in the case's precision, and the twin in double */
static void DrawSolver(Dice *d, Case *c)
{
  static const PetscInt methods[] = {66, 18, 16, 0};
  const PetscBool       definite = (PetscBool)(c->kind != STOKES), big = (PetscBool)(c->kind != POISSON && c->kind != DGQ && Unknowns(c) > 1500);
  const PetscBool       asked = (PetscBool)(definite && Chance(d, 0.4)), graph = Chance(d, 0.8);
  const PetscInt        direct = Below(d, 3), steps = Chance(d, 0.25) ? 2 : 1, cycle = Below(d, 10), krylov = Below(d, 10);
  const char           *ksp = "fgmres";
  Patches               p;

  c->method = c->kind == HEAT ? (Chance(d, 0.5) ? CYCLES : JACOBI) : (Method)Weighted(d, methods);
  if (c->method == DIRECT && big) c->method = CYCLES;
  DrawPatches(d, (PetscBool)(asked && c->method == SMOOTHER), c, &p);
  c->symmetric = (PetscBool)(definite && (asked || c->method != CYCLES || (c->additive && cycle < 9)) && (c->method != SMOOTHER || c->additive || !strcmp(p.order, "symmetric")));
  if (c->kind == HEAT) c->symmetric = (PetscBool)(c->method == JACOBI);
  if (c->symmetric && krylov < 7) ksp = krylov < 4 || c->precision == SINGLE ? "cg" : "fusedcg";
  else if (krylov == 9 && c->precision == DOUBLE && c->kind != STOKES && c->kind != HEAT) ksp = "gmres"; /* those iterate inside */
  else if (krylov == 8 && c->kind == POISSON && c->method != SMOOTHER && !c->additive && !p.damping) ksp = "richardson";
  c->rtol = c->precision == SINGLE ? 1e-3 : 1e-9;
  c->same = c->precision == DOUBLE ? 1e-10 : (c->dim > 1 && c->kind != BIHARMONIC && c->contrast == 1 ? 1e-3 : 1e-2); /* the worse conditioned ones in single precision */
  c->most = c->method == SMOOTHER || c->kind == HEAT ? 400 : (c->additive ? 150 : 60);
  for (PetscInt i = 0; i < c->dim; i++)
    if ((i < c->nK && c->K[i] != c->K[0]) || c->contrast != 1 || c->ratio[i] != 1) c->most = PetscMax(c->most, 150); /* anisotropic, in parts of the box */
  if (c->kind == HEAT && c->method == CYCLES) c->same = 0;
  if (c->method == DIRECT && direct == 2) c->same = 0; /* whether it is the direct solve depends on the kind of vectors */
  for (int twin = 0; twin < 2; twin++) {
    char       *text = twin ? c->twin : c->solver, prefix[64], levels[80];
    const char *outer = c->deep ? "outer_" : "";

    text[0] = 0;
    (void)snprintf(prefix, sizeof(prefix), "%s%s", outer, !twin && c->precision == MIXED ? "single_" : "");
    (void)snprintf(levels, sizeof(levels), "%smg_levels_", prefix);
    Add(text, outer, "ksp_type %s", ksp);
    Add(text, outer, "ksp_rtol %g", (double)c->rtol);
    Add(text, outer, "ksp_max_it %" PetscInt_FMT, c->most);
    if (!strcmp(ksp, "cg") || !strcmp(ksp, "fusedcg") || !strcmp(ksp, "gmres")) Add(text, outer, strcmp(ksp, "gmres") ? "ksp_norm_type unpreconditioned" : "ksp_pc_side right");
    if (!strcmp(ksp, "fgmres") || !strcmp(ksp, "gmres")) Add(text, outer, "ksp_gmres_restart 100");
    if (!twin && c->precision == MIXED) Add(text, outer, "pc_type single");
    if (c->method == JACOBI) Add(text, prefix, "pc_type jacobi");
    if (c->method == SMOOTHER) {
      Add(text, prefix, "pc_type patchfd");
      AddPatches(c, &p, (PetscBool)twin, prefix, text);
    }
    if (c->method == DIRECT) {
      Add(text, prefix, "pc_type %s", direct == 0 ? "patchfd" : "patchmg");
      if (direct == 0) Add(text, prefix, "pc_patchfd_patch box");
      if (direct == 1) Add(text, prefix, "pc_patchmg_coarse_eq_limit unlimited");
    }
    if (c->method == CYCLES && c->kind == HEAT) {
      Add(text, prefix, "pc_type mg");
      Add(text, levels, "ksp_type chebyshev");
      Add(text, levels, "pc_type jacobi");
      Add(text, prefix, "mg_coarse_ksp_type fusedcg");
      Add(text, prefix, "mg_coarse_pc_type jacobi");
      Add(text, prefix, "mg_coarse_ksp_rtol 1e-2");
    } else if (c->method == CYCLES) {
      Add(text, prefix, "pc_type patchmg");
      Add(text, prefix, "pc_patchmg_coarse_eq_limit 0");
      if (asked) Add(text, prefix, "pc_patchmg_symmetric");
      else if (cycle == 9) Add(text, prefix, "pc_mg_type full");
      else if (c->kind == STOKES) Add(text, prefix, "pc_mg_type multiplicative");
      if (cycle == 8) Add(text, prefix, "pc_mg_cycle_type w");
      if (!graph) Add(text, prefix, "pc_patchmg_graph 0");
      if (steps > 1) Add(text, levels, "ksp_max_it %" PetscInt_FMT, steps);
      AddPatches(c, &p, (PetscBool)twin, levels, text);
    }
  }
}

/* what no option says */
static void Describe(const Case *c, char text[1024])
{
  text[0] = 0;
  if (c->contrast != 1) Add(text, "", "contrast %g", (double)c->contrast);
  for (PetscInt d = 0; d < c->dim; d++)
    if (c->ratio[d] != 1) Add(text, "", "graded_%c %.3f", "xyz"[d], (double)c->ratio[d]);
  if (c->dmalone) Add(text, "", "dm_alone");
  if (c->changed) Add(text, "", "changed");
}

static PetscErrorCode Draw(PetscInt seed, PetscInt number, Case *c)
{
  Dice        family = NewDice(seed, number / 3, 1), own = NewDice(seed, number, 2), grid = NewDice(seed, number, 3);
  PetscInt    processes[3] = {1, 1, 1};
  PetscMPIInt size, rest;
  char        text[256];

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  c->number = number;
  c->ratio[0] = c->ratio[1] = c->ratio[2] = 1;
  DrawFamily(&family, c);
  c->deep    = Chance(&own, 0.2);
  c->dmalone = Chance(&own, 0.3);
  DrawMesh(&own, c);
  DrawSolver(&own, c);
  /* every rank has a cell */
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  rest = size;
  for (PetscMPIInt p = 2; rest > 1; p++) {
    for (; rest % p == 0; rest /= p) processes[Below(&grid, c->dim)] *= p;
  }
  for (PetscInt d = 0; d < c->dim; d++) c->cells[d] = PetscMax(c->cells[d], processes[d]);
  PetscCall(PetscSNPrintf(text, sizeof(text), " -%sdm_box_cells %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT, c->deep ? "outer_" : "", c->cells[0], c->cells[1], c->cells[2]));
  for (PetscInt d = c->dim; d < 3; d++) *strrchr(text, ',') = 0;
  PetscCall(PetscStrlcat(c->mesh, text, sizeof(c->mesh)));
  if (size > 1) {
    PetscCall(PetscSNPrintf(text, sizeof(text), " -%sdm_box_processes %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT, c->deep ? "outer_" : "", processes[0], processes[1], processes[2]));
    for (PetscInt d = c->dim; d < 3; d++) *strrchr(text, ',') = 0;
    PetscCall(PetscStrlcat(c->solver, text, sizeof(c->solver)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  const Case *c = (const Case *)ctx;
  PetscReal   wave = 0;

  PetscFunctionBeginUser;
  for (PetscInt d = 0; d < dim; d++) wave += (PetscReal)(3 * (d + 1)) * x[d];
  for (PetscInt i = 0; i < Nc; i++) K[i] = (c->changed ? 3 : 1) * c->K[i] * PetscPowReal(c->contrast, (1 + PetscSinReal(wave)) / 2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Shift(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar s[], void *ctx)
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
static PetscBool wrong, verbose;   /* wrong: something in this case */
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

/* the cycle and the solve once more, into vectors that are full of NaN: are they what they were, to the last bit on the host? */
static PetscErrorCode Again(const char when[], PetscBool first, Solver *s)
{
  PetscMemType memtype;
  PetscReal    same, difference[2];
  PC           pc;
  const PetscScalar *array;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayReadAndMemType(s->b, &array, &memtype));
  PetscCall(VecRestoreArrayReadAndMemType(s->b, &array));
  same = PetscMemTypeHost(memtype) && s->c.precision != SINGLE ? 0 : (s->c.precision == DOUBLE ? 1e-12 : 1e-5);
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
    }
  }
  PetscCall(Pop());
  if (!first) PetscCall(Check((PetscBool)(difference[0] <= same && difference[1] <= same), "case %" PetscInt_FMT " once more, %s: another cycle by %g, another solution by %g", s->c.number, when, (double)difference[0], (double)difference[1]));
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
  PetscCall(Check((PetscBool)(reason > 0 && its <= c->most && distance <= 5 * c->rtol), "%s after %" PetscInt_FMT " iterations, residual %g", KSPConvergedReasons[reason], its, (double)distance));
  if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %" PetscInt_FMT " iterations, residual %.1e,", its, (double)distance));
  PetscCall(Again("at once", PETSC_FALSE, s));
  PetscCall(Again("the third time", PETSC_FALSE, s));
  PetscCall(PetscObjectStateGet((PetscObject)s->b, &state[1]));
  PetscCall(Check((PetscBool)(state[0] == state[1]), "the right-hand side was changed"));
  PetscCall(MatMult(s->A, s->u, s->y));
  PetscCall(VecNorm(s->y, NORM_2, &norm[1]));
  PetscCall(Check((PetscBool)(PetscAbsReal(norm[1] - norm[0]) <= 1e-14 * norm[0]), "the matrix was changed: |A u| was %.17g, is %.17g", (double)norm[0], (double)norm[1]));
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
  PetscInt      seed = 1, first = 0, count = 40, refused = 0;
  PetscMPIInt   size;
  PetscBool     gpu = PETSC_FALSE, dry = PETSC_FALSE;
  char          tmp[PETSC_MAX_PATH_LEN];
  int           process = (int)getpid();

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PatchFDInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-options", additional + 1, sizeof(additional) - 1, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gpu", &gpu, NULL));
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
    if (verbose || dry) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "case %" PetscInt_FMT ":%s%s%s%s", i, more, s->c.mesh, s->c.solver, dry ? "\n" : ""));
    if (dry) continue;
    wrong = PETSC_FALSE;
    PetscCall(PetscTime(&start));
    CATCH(ierr, Run(seed, gpu, s, ring));
    PetscCall(PetscTime(&end));
    if (verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "   %.2f s\n", end - start));
    if (ierr) {
      const PetscBool clean = (PetscBool)(!s->alive && (lastcode == PETSC_ERR_ARG_INCOMP || lastcode == PETSC_ERR_SUP || lastcode == PETSC_ERR_ARG_OUTOFRANGE));

      while (pushed) PetscCall(Pop());
      PetscCall(PetscMemzero(&ring[i % 4].alive, sizeof(PetscBool))); /* what is left of it may be in any state */
      if (clean) refused++;
      if (clean && verbose) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "   REFUSED: %s\n", lastmessage));
      if (!clean) PetscCall(Check(PETSC_FALSE, "error %d: %s", (int)lastcode, lastmessage));
    }
    if (!wrong) continue;
    failures++;
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s\n  mpiexec -n %d random -seed %" PetscInt_FMT " -first %" PetscInt_FMT " -count %" PetscInt_FMT "%s\n  %s%s%s\n", "repeat:", size, seed, PetscMax(first, i - 3), i - PetscMax(first, i - 3) + 1,
                          gpu ? " -gpu" : "", more, s->c.mesh, s->c.solver));
  }
  for (int i = 0; i < 4; i++) PetscCall(Destroy(&ring[i]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seed %" PetscInt_FMT ": %" PetscInt_FMT " cases, %" PetscInt_FMT " failed%s\n", seed, count, failures, 10 * refused > count ? ", TOO MANY refused" : ""));
  (void)remove(file);
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/random_1.out
    test:
      suffix: 1
      nsize: {{1 2 3}}
      args: -count 40
    test:
      suffix: gpu
      requires: cuda gpu
      output_file: output/random_gpu.out
      args: -count 300 -gpu -use_gpu_aware_mpi 0

TEST*/
