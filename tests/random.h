/* Cases drawn at random: a box, an operator, a solver with the twin that it is compared with, as options and as what no option says */
#pragma once
#include <petscpatchfd.h>

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

static PetscBool ongpu; /* vectors are on a GPU */

typedef enum {
  POISSON,
  DGQ,
  DIFFUSION,
  BIHARMONIC,
  STOKES,
  HEAT
} Kind;
typedef enum {
  CYCLES,
  DIRECT,
  SMOOTHER,
  JACOBI
} Method;
typedef enum {
  DOUBLE,
  MIXED,
  SINGLE
} Precision;

typedef struct {
  PetscInt          number, dim, cells[3], degree, limit; /* limit: of unknowns */
  Kind              kind;
  Precision         precision;
  Method            method;
  DMBoxBoundaryType side[6];
  PetscReal         ratio[3];                     /* of the lengths of cells that follow each other */
  PetscReal         K[6], shift, scale, contrast; /* coefficients; scale is in both; contrast: 1, or K varies by it */
  PetscInt          nK;
  PetscBool         changed;                              /* the coefficients are those of the second solve */
  PetscBool         symmetric, additive, dmalone, deep;   /* deep: with a prefix */
  PetscReal         rounding;                             /* what sums in another order make of a cycle: by the condition */
  PetscReal         rtol, same;                           /* tolerances of the solve, and of what should be the same: 0 where it need not */
  PetscInt          most;                                 /* iterations */
  char              mesh[1024], solver[1024], twin[1024]; /* options */
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

  for (PetscInt i = 0; i < n; i++)
    (void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%.17g", i ? "," : " ", (double)value[i]);
  Add(text, prefix, "%s%s", option, list);
}

static PetscReal Unknowns(const Case *c)
{
  PetscReal n = 1;

  for (PetscInt d = 0; d < c->dim; d++)
    n *= (PetscReal)(c->cells[d] * (c->kind == DGQ || c->kind == STOKES ? c->degree + 1 : c->degree) + 1);
  return c->kind == STOKES ? n * (PetscReal)(c->dim + 1) : n;
}

/* three cases in a row have kernels in common: other sizes of the same kernels live at the same time */
static void DrawFamily(Dice *d, Case *c)
{
  static const PetscInt kinds[] = {50, 11, 14, 9, 8, 8, 0}, dims[] = {10, 35, 55, 0}, precisions[] = {60, 30, 10, 0},
                        degrees[] = {14, 23, 21, 9, 6, 5, 7, 10, 4, 3, 3, 0};
  static const PetscInt most[][4] = {{0, 11, 11, 11}, {0, 9, 8, 8}, {0, 0, 8, 5}, {0, 8, 8, 6}, {0, 0, 5, 3}, {0, 1, 1, 1}};

  c->kind      = (Kind)Weighted(d, kinds);
  c->dim       = 1 + Weighted(d, dims);
  c->precision = (Precision)Weighted(d, precisions);
  c->degree    = 1 + Weighted(d, degrees);
  if (c->dim == 1 && !most[c->kind][1]) c->dim = 2;
  while (c->degree > most[c->kind][c->dim]) c->degree = (c->degree + 1) / 2;
  if (c->kind == BIHARMONIC) c->degree = PetscMax(c->degree, 2);
  if (c->precision == SINGLE && (c->kind == BIHARMONIC || c->kind == STOKES)) c->precision = MIXED;
}

static void DrawCells(Dice *d, PetscBool even, Case *c)
{
  static const PetscInt limits[] = {20000, 8000, 3000, 4000, 2500, 10000}, few[] = {1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12, 12},
                        evens[] = {4, 4, 4, 6, 8, 8, 10, 12, 16};

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
}

/* open: no side has Dirichlet conditions */
static void DrawCoefficients(Dice *d, PetscBool open, Case *c)
{
  c->scale = c->kind != HEAT && c->kind != STOKES && c->precision != SINGLE && Chance(d, 0.25) ? PetscPowRealInt(10, (int)Below(d, 17) - 8)
                                                                                               : 1;
  c->contrast = c->kind == DIFFUSION && Chance(d, 0.5) ? (Chance(d, 0.5) ? 10 : 100) : 1;
  c->shift    = Chance(d, 0.6) ? 0 : c->scale * (Chance(d, 0.5) ? 1 : 100);
  if (c->kind == STOKES && open) c->shift = 1;
  c->nK = c->kind == POISSON || c->kind == DGQ || c->kind == HEAT ? c->dim : 1;
  if (c->kind == DIFFUSION && Chance(d, 0.5)) c->nK = Chance(d, 0.5) ? c->dim : c->dim * (c->dim + 1) / 2;
  for (PetscInt i = 0; i < c->nK; i++) c->K[i] = c->scale * (Chance(d, 0.8) ? 1 : (Chance(d, 0.5) ? 0.3 : 0.03));
  if (c->nK > c->dim) /* xx, xy, yy or xx, xy, xz, yy, yz, zz */
    for (PetscInt i = 0, a = 0; a < c->dim; a++)
      for (PetscInt b = a; b < c->dim; b++) c->K[i++] = c->scale * (a == b ? 1 + 0.5 * (PetscReal)a : 0.3);
}

static void DrawMapping(Dice *d, const char prefix[], Case *c)
{
  static const char *const maps[]       = {"none", "none", "sine", "sine1", "sine2", "annulus", "kershaw_smooth"};
  static const char *const parameters[] = {"", "", "", "", "0.05", "", "0.6"};
  const PetscInt           map          = Below(d, PETSC_STATIC_ARRAY_LENGTH(maps));

  Add(c->mesh, prefix, "dm_box_mapping %s", maps[map]);
  if (parameters[map][0]) Add(c->mesh, prefix, "dm_box_mapping_parameter %s", parameters[map]);
  if (map > 1 && Chance(d, 0.2)) Add(c->mesh, prefix, "dm_box_mapping_degree 1");
  Add(c->mesh, prefix, "dm_box_extra_points %s", Chance(d, 0.5) ? "1" : "2"); /* in PCSINGLE the same */
  Add(c->mesh, prefix, "dm_box_galerkin %s", Chance(d, 0.2) ? "true" : "false");
}

static void DrawMesh(Dice *d, Case *c)
{
  static const char *const operators[] = {"poisson", "poisson", "diffusion", "biharmonic", "stokes", "heat"}, *const spaces[] = {"q",
                                                                                                                                 "dgq",
                                                                                                                                 "q",
                                                                                                                                 "q",
                                                                                                                                 "rt",
                                                                                                                                 "p1"};
  const DMBoxBoundaryType other     = c->kind == BIHARMONIC ? DMBOX_BOUNDARY_SUPPORTED : DMBOX_BOUNDARY_NEUMANN;
  const PetscReal         others    = Chance(d, 0.25) ? 0 : (Chance(d, 0.1) ? 1 : 0.4);
  const char             *prefix    = c->deep ? "outer_" : "";
  char                    list[256] = "";
  const PetscBool         even = Chance(d, 0.75), graded = (PetscBool)(c->kind != HEAT && Chance(d, 0.25)); /* even: for several levels */
  PetscBool               open = PETSC_TRUE;

  DrawCells(d, even, c);
  for (PetscInt i = 0; i < 2 * c->dim; i++) {
    c->side[i] = Chance(d, others) ? other : DMBOX_BOUNDARY_DIRICHLET;
    open       = (PetscBool)(open && c->side[i] == DMBOX_BOUNDARY_NEUMANN);
  }
  for (PetscInt i = 0; i < c->dim; i++) c->ratio[i] = graded && Chance(d, 0.6) ? 0.8 + 0.45 * Uniform(d) : 1;
  DrawCoefficients(d, open, c);
  c->mesh[0] = 0;
  Add(c->mesh, prefix, "dm_box_dim %" PetscInt_FMT, c->dim);
  Add(c->mesh, prefix, "dm_box_degree %" PetscInt_FMT, c->degree);
  Add(c->mesh, prefix, "dm_box_space %s", spaces[c->kind]);
  Add(c->mesh, prefix, "dm_box_operator %s", operators[c->kind]);
  for (PetscInt i = 0; i < 2 * c->dim; i++)
    (void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? "," : "", DMBoxBoundaryTypes[c->side[i]]);
  Add(c->mesh, prefix, "dm_box_boundary %s", list);
  if (Chance(d, 0.3)) {
    PetscReal upper[3];

    for (PetscInt i = 0; i < 3; i++) upper[i] = 0.5 + (PetscReal)Below(d, 4) / 2;
    AddReals(c->mesh, prefix, "dm_box_upper", c->dim, upper);
  }
  AddReals(c->mesh, prefix,
           c->kind == BIHARMONIC
             ? "dm_box_bending"
             : (c->kind == STOKES ? "dm_box_viscosity" : (c->kind == HEAT ? "dm_box_conductivity" : "dm_box_diffusion")),
           c->nK, c->K);
  AddReals(c->mesh, prefix, "dm_box_shift", 1, &c->shift);
  if (c->kind == DGQ && Chance(d, 0.3)) Add(c->mesh, prefix, "dm_box_penalty 2,1.5");
  if (c->kind == POISSON || c->kind == DIFFUSION)
    Add(c->mesh, prefix, "dm_box_semicoarsening %s", Chance(d, 0.3) ? "0" : "0.17"); /* the default is another one on GPUs */
  if (c->kind == DIFFUSION) DrawMapping(d, prefix, c);
}

/* what the patches do */
typedef struct {
  const char *variant, *order, *local, *fit, *damping;
  PetscInt    sweeps;
} Patches;

static void DrawPatches(Dice *d, PetscBool symmetric, Case *c, Patches *p)
{
  static const char *const        variants[] = {"auto", "boundary", "fused", "separate", "global"},
                           *const orders[] = {"auto", "forward", "backward", "symmetric"}, *const fits[] = {"own", "shared", "line"};

  const PetscBool graded = (PetscBool)(c->ratio[0] != 1 || c->ratio[1] != 1 || c->ratio[2] != 1);

  *p = (Patches){.variant = "auto", .order = "auto", .local = "auto", .fit = "auto", .damping = NULL, .sweeps = Chance(d, 0.2) ? 2 : 1};
  c->additive = Chance(d, 0.15);
  if (!c->additive) {
    const PetscBool separable = (PetscBool)(c->kind == POISSON || c->kind == DGQ);

    if (c->kind != DIFFUSION && !Chance(d, 0.4)) p->variant = variants[separable ? 1 + Below(d, 4) : 2 + Below(d, 3)];
    if (c->kind == DIFFUSION && Chance(d, 0.3)) p->variant = "global";
    if (c->kind == STOKES && ongpu && strcmp(p->variant, "auto")) p->variant = "global"; /* there the others do not exist */
    p->order = symmetric ? "symmetric" : orders[Below(d, 4)];
    if (Chance(d, 0.2) && c->kind != DIFFUSION) p->damping = Chance(d, 0.5) ? "0.9" : "0.8"; /* there set-up finds what is needed */
  }
  /* the choice of `auto` is another one on GPUs */
  if (c->kind == BIHARMONIC) p->local = graded || c->dim == 3 || Chance(d, 0.5) ? "fd_inexact" : "dense";
  if (c->kind == STOKES) p->local = graded || Chance(d, 0.4) ? "schur" : "dense";
  if (c->kind == DIFFUSION) {
    p->local = "fd_inexact";
    p->fit   = fits[Below(d, c->additive || symmetric ? 2 : 3)]; /* `line` may need more damping than it gets */
  }
}

static void AddPatches(const Case *c, const Patches *p, PetscBool twin, const char prefix[], char text[1024])
{
  const PetscBool separable = (PetscBool)(c->kind == POISSON || c->kind == DGQ), dense = (PetscBool)!strcmp(p->local, "dense");
  const char     *variant = twin && separable ? "global" : p->variant;

  if (c->additive) Add(text, prefix, "pc_patchfd_type additive");
  else {
    if (strcmp(variant, "auto")) Add(text, prefix, "pc_patchfd_variant %s", variant);
    if (strcmp(p->order, "auto")) Add(text, prefix, "pc_patchfd_order %s", p->order);
    if (p->damping) Add(text, prefix, "pc_patchfd_damping %s", p->damping);
  }
  if (p->sweeps > 1) Add(text, prefix, "pc_patchfd_sweeps %" PetscInt_FMT, p->sweeps);
  if (strcmp(p->local, "auto")) Add(text, prefix, "pc_patchfd_local %s", p->local);
  if (strcmp(p->fit, "auto")) Add(text, prefix, "pc_patchfd_fit %s", p->fit);
  if (dense) Add(text, prefix, "pc_patchfd_precision same");
}

/* the Krylov method and what the preconditioner does, of which each case uses a part; asked: for symmetry */
typedef struct {
  const char *ksp;
  PetscBool   asked, graph;
  PetscInt    direct, steps, cycle;
  Patches     p;
} Settings;

static void SetTolerances(const Settings *s, Case *c)
{
  c->rtol = c->precision == SINGLE ? 1e-3 : (c->method == SMOOTHER && c->kind == BIHARMONIC ? 1e-6 : 1e-9);
  c->same = c->precision == DOUBLE ? 1e-10 : (c->dim > 1 && c->contrast == 1 ? 1e-3 : 1e-2);
  if (c->rounding > c->same) c->same = c->rounding < 0.1 ? c->rounding : 0;
  c->most = c->method == SMOOTHER || c->method == JACOBI || c->kind == HEAT
            ? 1000
            : (c->additive || (c->kind == BIHARMONIC && s->p.local[0] == 'f') ? 300 : 60);
  for (PetscInt i = 0; i < c->dim; i++)
    if ((i < c->nK && c->K[i] != c->K[0]) || c->contrast != 1 || c->ratio[i] != 1)
      c->most = PetscMax(c->most, 150); /* anisotropic, in parts of the box */
  if (c->kind == HEAT && c->method == CYCLES) c->same = 0;
  if (c->method == DIRECT && s->direct == 2) c->same = 0; /* whether it is the direct solve depends on the kind of vectors */
}

static void AddSolver(const Settings *s, PetscBool twin, Case *c)
{
  char       *text  = twin ? c->twin : c->solver, prefix[64], levels[80];
  const char *outer = c->deep ? "outer_" : "";

  text[0] = 0;
  (void)snprintf(prefix, sizeof(prefix), "%s%s", outer, !twin && c->precision == MIXED ? "single_" : "");
  (void)snprintf(levels, sizeof(levels), "%smg_levels_", prefix);
  Add(text, outer, "ksp_type %s", s->ksp);
  Add(text, outer, "ksp_rtol %g", (double)c->rtol);
  Add(text, outer, "ksp_max_it %" PetscInt_FMT, c->most);
  if (!strcmp(s->ksp, "cg") || !strcmp(s->ksp, "fusedcg") || !strcmp(s->ksp, "gmres"))
    Add(text, outer, strcmp(s->ksp, "gmres") ? "ksp_norm_type unpreconditioned" : "ksp_pc_side right");
  if (!strcmp(s->ksp, "fgmres") || !strcmp(s->ksp, "gmres")) Add(text, outer, "ksp_gmres_restart 300");
  if (!twin && c->precision == MIXED) Add(text, outer, "pc_type single");
  if (c->method == JACOBI) Add(text, prefix, "pc_type jacobi");
  if (c->method == SMOOTHER) {
    Add(text, prefix, "pc_type patchfd");
    AddPatches(c, &s->p, twin, prefix, text);
  }
  if (c->method == DIRECT) {
    Add(text, prefix, "pc_type %s", s->direct == 0 ? "patchfd" : "patchmg");
    if (s->direct == 0) Add(text, prefix, "pc_patchfd_patch box");
    if (s->direct == 1) Add(text, prefix, "pc_patchmg_coarse_eq_limit unlimited");
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
    if (s->asked) Add(text, prefix, "pc_patchmg_symmetric");
    else if (s->cycle == 9) Add(text, prefix, "pc_mg_type full");
    else if (c->kind == STOKES) Add(text, prefix, "pc_mg_type multiplicative");
    if (s->cycle == 8) Add(text, prefix, "pc_mg_cycle_type w");
    if (!s->graph) Add(text, prefix, "pc_patchmg_graph 0");
    if (s->steps > 1) Add(text, levels, "ksp_max_it %" PetscInt_FMT, s->steps);
    AddPatches(c, &s->p, twin, levels, text);
  }
}

/* no patch changes what flows from one open side to another */
static PetscBool IsThroughFlow(const Case *c)
{
  PetscInt open = 0;

  for (PetscInt i = 0; i < 2 * c->dim; i++) open += c->side[i] == DMBOX_BOUNDARY_NEUMANN;
  return (PetscBool)(c->kind == STOKES && open > 1);
}

/* the solver in the case's precision, and the twin in double */
static void DrawSolver(Dice *d, Case *c)
{
  static const PetscInt methods[] = {66, 18, 16, 0};
  const PetscBool definite = (PetscBool)(c->kind != STOKES), big = (PetscBool)(c->kind != POISSON && c->kind != DGQ && Unknowns(c) > 1500);
  Settings        s = {.ksp = "fgmres"};
  PetscInt        krylov;

  s.asked   = (PetscBool)(definite && Chance(d, 0.4));
  s.graph   = Chance(d, 0.8);
  s.direct  = Below(d, 3);
  s.steps   = Chance(d, 0.25) ? 2 : 1;
  s.cycle   = Below(d, 10);
  krylov    = Below(d, 10);
  c->method = c->kind == HEAT ? (Chance(d, 0.5) ? CYCLES : JACOBI) : (Method)Weighted(d, methods);
  if (c->method == DIRECT && big) c->method = CYCLES;
  if (c->method == SMOOTHER && IsThroughFlow(c)) c->method = CYCLES;
  c->rounding = 0;
  for (PetscInt i = 0; i < c->dim; i++)
    c->rounding = PetscMax(c->rounding, PetscPowRealInt((PetscReal)(c->cells[i] * c->degree), c->kind == BIHARMONIC ? 4 : 2));
  c->rounding *= c->contrast * 1e-7;
  if (c->rounding > 1) c->precision = DOUBLE; /* of such a matrix single precision sees nothing */
  if (c->precision == DOUBLE) c->rounding *= 1e-8;
  DrawPatches(d, (PetscBool)(s.asked && c->method == SMOOTHER), c, &s.p);
  c->symmetric = (PetscBool)(definite && (s.asked || c->method != CYCLES || (c->additive && s.cycle < 9)) &&
                             (c->method != SMOOTHER || c->additive || !strcmp(s.p.order, "symmetric")));
  if (c->kind == HEAT) c->symmetric = (PetscBool)(c->method == JACOBI);
  if (c->symmetric && krylov < 7) s.ksp = krylov < 4 || c->precision == SINGLE ? "cg" : "fusedcg";
  else if (krylov == 9 && c->precision == DOUBLE && c->kind != STOKES && c->kind != HEAT) s.ksp = "gmres"; /* those iterate inside */
  else if (krylov == 8 && c->kind == POISSON && c->method != SMOOTHER && !c->additive && !s.p.damping) s.ksp = "richardson";
  SetTolerances(&s, c);
  AddSolver(&s, PETSC_FALSE, c);
  AddSolver(&s, PETSC_TRUE, c);
}

/* what no option says */
static void Describe(const Case *c, char text[1024])
{
  text[0] = 0;
  if (c->contrast != 1) Add(text, "", "contrast %g", (double)c->contrast);
  for (PetscInt d = 0; d < c->dim; d++)
    if (c->ratio[d] != 1) Add(text, "", "graded_%c %.3f", "xyz"[d], (double)c -> ratio[d]);
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
  c->number   = number;
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
  PetscCall(PetscSNPrintf(text, sizeof(text), " -%sdm_box_cells %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT,
                          c->deep ? "outer_" : "", c->cells[0], c->cells[1], c->cells[2]));
  for (PetscInt d = c->dim; d < 3; d++) *strrchr(text, ',') = 0;
  PetscCall(PetscStrlcat(c->mesh, text, sizeof(c->mesh)));
  if (size > 1) {
    PetscCall(PetscSNPrintf(text, sizeof(text), " -%sdm_box_processes %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT,
                            c->deep ? "outer_" : "", processes[0], processes[1], processes[2]));
    for (PetscInt d = c->dim; d < 3; d++) *strrchr(text, ',') = 0;
    PetscCall(PetscStrlcat(c->solver, text, sizeof(c->solver)));
    if (ongpu) Add(c->solver, c->deep ? "outer_" : "", "dm_box_halo %s", Chance(&grid, 0.5) ? "peer" : "host");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
