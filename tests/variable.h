/*
  Problems for the operator diffusion on the unit square or cube, by names "kind:number": what varies (smooth, contrast, check, finecheck,
  random, inclusions in one cell of twenty, layers one cell wide, circle, tensor) or how the box is bent (sine1, sine2, kershaw, annulus, graded, aspect, shear), or both (mix; bent, with K a
  function of space, which is quicker to evaluate)
*/
#pragma once
#include <petscpatchfd.h>

typedef enum {
  CONSTANT,
  SMOOTH,
  CONTRAST,
  CHECK,
  FINECHECK,
  RANDOM,
  INCLUSIONS,
  LAYERS,
  CIRCLE,
  TENSOR,
  SINE1,
  SINE2,
  KERSHAW,
  ANNULUS,
  GRADED,
  ASPECT,
  SHEAR,
  MIX,
  BENT,
  OTHER
} ProblemKind;
static const char *const problems[] = {"const",  "smooth", "contrast", "check", "finecheck", "random",  "inclusions",
                                       "layers", "circle", "tensor",   "sine1", "sine2",     "kershaw", "annulus",
                                       "graded", "aspect", "shear",    "mix",   "bent"};

typedef struct {
  char        name[32];
  ProblemKind kind;
  PetscReal   value, angle;
  PetscInt    cells; /* of the finest mesh, in each direction */
} Problem;

static PetscReal Waves(PetscInt dim, PetscReal frequency, const PetscReal x[])
{
  PetscReal product = 1;

  for (PetscInt d = 0; d < dim; d++) product *= PetscSinReal(frequency * PETSC_PI * x[d]);
  return product;
}

/* six layers that lean to one side and the other (Kershaw) */
static PetscReal KershawStep(PetscReal a, PetscReal b, PetscReal t)
{
  if (t <= 0) return a;
  if (t >= 1) return b;
  return a + (b - a) * t * t * t * (t * (6 * t - 15) + 10);
}

static PetscReal KershawRight(PetscReal eps, PetscReal t)
{
  return t <= 0.5 ? (2 - eps) * t : 1 + eps * (t - 1);
}

static PetscReal Kershaw(PetscReal eps, PetscReal x, PetscReal y)
{
  const PetscInt  layer = PetscMin(5, (PetscInt)(6 * x));
  const PetscReal t = 6 * x - (PetscReal)layer, left = 1 - KershawRight(eps, 1 - y), right = KershawRight(eps, y);

  if (layer == 0) return left;
  if (layer == 1 || layer == 4) return KershawStep(left, right, t);
  if (layer == 2) return KershawStep(right, left, t / 2);
  if (layer == 3) return KershawStep(right, left, (1 + t) / 2);
  return right;
}

static PetscErrorCode Map(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc, PetscScalar y[],
                          void *ctx)
{
  const Problem *p     = (const Problem *)ctx;
  PetscReal      shift = 0;

  PetscFunctionBeginUser;
  if (p->kind == SINE2) shift = p->value * Waves(dim, 2, x);
  if (p->kind == SINE1) shift = p->value * Waves(dim, 1, x);
  if (p->kind == MIX || p->kind == BENT) shift = 0.08 * Waves(dim, 2, x);
  for (PetscInt d = 0; d < dim; d++) y[d] = x[d] + shift;
  if (p->kind == KERSHAW)
    for (PetscInt d = 1; d < dim; d++) y[d] = Kershaw(p->value, x[0], x[d]);
  if (p->kind == GRADED) y[dim - 1] = (PetscPowReal(p->value, x[dim - 1]) - 1) / (p->value - 1);
  if (p->kind == ASPECT) y[dim - 1] = x[dim - 1] / p->value;
  if (p->kind == SHEAR) y[0] = x[0] + p->value * x[1];
  if (p->kind == ANNULUS) {
    const PetscReal r = p->value + (1 - p->value) * x[0], angle = 0.5 * PETSC_PI * x[1];

    y[0] = r * PetscCosReal(angle);
    y[1] = r * PetscSinReal(angle);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the point of the box that the map of `mix` takes to x */
static void Inverse(PetscInt dim, const PetscReal x[], PetscReal y[])
{
  PetscReal lower = -0.1, upper = 0.1; /* the shift */

  for (PetscInt i = 0; i < 60; i++) {
    const PetscReal middle = 0.5 * (lower + upper);

    for (PetscInt d = 0; d < dim; d++) y[d] = x[d] - middle;
    if (middle < 0.08 * Waves(dim, 2, y)) lower = middle;
    else upper = middle;
  }
}

/* a number in (0, 1) without a pattern for each cell of the finest mesh */
static PetscReal CellNoise(PetscInt dim, PetscInt cells, const PetscReal x[])
{
  unsigned h = 1;

  for (PetscInt d = 0; d < dim; d++) {
    h += (unsigned)PetscMin(cells - 1, (PetscInt)((PetscReal)cells * x[d]));
    for (int round = 0; round < 2; round++) {
      h = h * 747796405u + 2891336453u;
      h = ((h >> ((h >> 28) + 4)) ^ h) * 277803737u;
      h = (h >> 22) ^ h;
    }
  }
  return h / 4294967296.0;
}

/* R diag(1, value, 1) R', R the rotation by the angle in the plane of x and y and, in 3D, before that in the plane of y and z */
static void Rotated(PetscInt dim, const Problem *p, PetscScalar K[])
{
  const PetscReal c = PetscCosReal(p->angle * PETSC_PI / 180), s = PetscSinReal(p->angle * PETSC_PI / 180);
  const PetscReal v[3] = {-s * (dim == 3 ? c : 1), c * (dim == 3 ? c : 1), dim == 3 ? s : 0}; /* where the second axis goes */

  for (PetscInt a = 0; a < dim; a++)
    for (PetscInt b = a; b < dim; b++) *K++ = (a == b) + (p->value - 1) * v[a] * v[b];
}

static PetscErrorCode Conductivity(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt Nc,
                                   PetscScalar K[], void *ctx)
{
  const Problem *p = (const Problem *)ctx;
  PetscReal      y[3];
  PetscInt       blocks = 0, parity = 0;

  PetscFunctionBeginUser;
  K[0] = 1;
  if (p->kind == CONSTANT) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < dim; d++) blocks += PetscMin(3, (PetscInt)(4 * x[d] + 1e-9)); /* coarse meshes have points where blocks meet */
  for (PetscInt d = 0; d < dim; d++) parity += (PetscInt)((PetscReal)p->cells * x[d]);
  if (p->kind == SMOOTH) K[0] = 1 + p->value * Waves(dim, 2, x);
  if (p->kind == CONTRAST || p->kind == BENT) K[0] = PetscPowReal(p->value, 0.5 * (1 + Waves(dim, 2, x) * PetscCosReal(PETSC_PI * x[0])));
  if (p->kind == CHECK && blocks % 2) K[0] = p->value;
  if (p->kind == FINECHECK && parity % 2) K[0] = p->value;
  if (p->kind == RANDOM) K[0] = PetscPowReal(p->value, CellNoise(dim, p->cells, x));
  if (p->kind == INCLUSIONS && CellNoise(dim, p->cells, x) < 0.05) K[0] = p->value;
  if (p->kind == LAYERS && (PetscInt)((PetscReal)p->cells * x[dim - 1]) % 4 == 1) K[0] = p->value;
  if (p->kind == CIRCLE) {
    const PetscReal centre[3] = {0.46, 0.53, 0.49};
    PetscReal       square    = 0;

    for (PetscInt d = 0; d < dim; d++) square += PetscSqr(x[d] - centre[d]);
    if (square < PetscSqr(0.31)) K[0] = p->value;
  }
  if (p->kind == TENSOR) Rotated(dim, p, K);
  if (p->kind == MIX) {
    Inverse(dim, x, y);
    K[0] = PetscPowReal(p->value, 0.5 * (1 + Waves(dim, 2, y)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* again and again, as if they were others */
static PetscErrorCode SetConductivity(PetscInt dim, Problem *p, DM dm)
{
  PetscFunctionBeginUser;
  PetscCall(DMBoxSetDiffusionFunction(dm, p->kind != TENSOR ? 1 : dim * (dim + 1) / 2, Conductivity, NULL, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateDM(PetscInt dim, PetscInt cells, PetscInt degree, Problem *p, DM *dm)
{
  const PetscInt n[3] = {cells, cells, cells};

  PetscFunctionBeginUser;
  p->cells = cells;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, dim, n, degree, dm));
  PetscCall(DMBoxSetOperator(*dm, "diffusion"));
  PetscCall(DMBoxSetMapping(*dm, Map, p));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(SetConductivity(dim, p, *dm));
  PetscCall(DMSetUp(*dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetProblem(const char name[], Problem *p)
{
  char *colon;

  PetscFunctionBeginUser;
  PetscCall(PetscStrncpy(p->name, name, sizeof(p->name)));
  colon    = strchr(p->name, ':');
  p->angle = 0;
  p->value = colon ? strtod(colon + 1, NULL) : 0;
  if (colon) {
    const char *angle = strchr(colon + 1, ':');

    if (angle) p->angle = strtod(angle + 1, NULL);
    *colon = 0;
  }
  p->kind = CONSTANT;
  while (p->kind < OTHER && strcmp(p->name, problems[p->kind])) p->kind++;
  PetscFunctionReturn(PETSC_SUCCESS);
}
