/*
  y = y0 + alpha A x for linear elements on a lattice of cubes, each cut into the simplices whose corners are a monotone path from corner 0 to the opposite
  one (Kuhn 1960).  Every node gathers its row: nothing is assembled or stored.

  A node v has neighbours v + e and v - e, e a corner of the unit cube written as a mask of directions: 14 in three dimensions.  A simplex with the mean
  capacity c and conductivity k of its corners adds

    mass V c / ((dim + 1) (dim + 2)) to each edge and twice that to each corner,   stiffness V k / h_d^2 to the edge in direction d, no other

  so that rows need the sums of c around their edges (LatticeEdge()), and of k around those along axes.  That is the fast kernel, for VL consecutive nodes
  of a row at a time all of whose cubes exist.  All other nodes (sides of the box or of the body) go, VL of them wherever they are, through a loop over simplices.
*/
#pragma once
#include "lines.h"

enum {
  LATTICE_NEAR  = 15, /* a node and its neighbours: 0, then the masks of v + e, then 7 + the masks of v - e */
  LATTICE_TILE  = 1 << 20, /* bytes that the rows of a tile may take, so that planes are still in cache when the next one wants them */
  LATTICE_NONE  = 0,  /* what a node touches of existing cubes: none, some, all */
  LATTICE_SOME  = 1,
  LATTICE_WHOLE = 2
};

/* the simplices of a cube: orders of directions, [dim - 1] */
static const int LatticeCount[3]      = {1, 2, 6};
static const int LatticePath[3][6][3] = {{{0}}, {{0, 1}, {1, 0}}, {{0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {0, 2, 1}, {1, 2, 0}, {2, 1, 0}}};

typedef struct {
  PatchFDLatticeDesc desc;
  unsigned char     *active; /* a copy of the description's */
  unsigned char     *touch;  /* of the nodes of ybox, with `active` only */
  ptrdiff_t          near[LATTICE_NEAR]; /* from a node of xbox to its neighbours */
  PetscInt           fast[3][2];         /* nodes all of whose neighbours are in xbox and read */
  PetscBool          robin;
} LatticePlan;

/* one apply: the materials in this precision, x = NULL for the diagonal */
typedef struct {
  const REAL *capacity, *conductivity[3];
  REAL        constcapacity, constconductivity[3];
  REAL        mass, stiffness[3], side[6]; /* factors of an edge's sum, of a simplex without its mean */
  PetscBool   same; /* one conductivity for all directions */
  REAL        identity, alpha;
  const REAL *x, *y0;
  REAL       *y;
} LatticeCall;

/* VL nodes at most, wherever they are; or `row`: VL nodes of a row, whose neighbours in direction 0 are all there and read */
typedef struct {
  int       count;
  PetscInt  node[VL][3];
  PetscBool row;
} LatticeBlock;

/* the number of the neighbour v + sign m */
static inline __attribute__((always_inline)) int LatticeIndex(int sign, int m)
{
  return sign > 0 || !m ? m : 7 + m;
}

/* ---- plans ---- */

static PetscErrorCode LatticeDestroy(void **plan)
{
  LatticePlan *p = (LatticePlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(p->active));
  PetscCall(PetscFree(p->touch));
  PetscCall(PetscFree(p));
  *plan = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* does the cube exist of which the node is corner a? */
static inline PetscBool LatticeHasCube(const LatticePlan *p, const PetscInt node[3], int a)
{
  const PatchFDLatticeDesc *desc = &p->desc;
  PetscInt                  at   = 0;

  for (int d = desc->dim - 1; d >= 0; d--) {
    const PetscInt cube = node[d] - (a >> d & 1);

    if (cube < 0 || cube >= desc->n[d]) return PETSC_FALSE;
    at = at * (desc->xbox.n[d] - 1) + cube - desc->xbox.lo[d];
  }
  return (PetscBool)(!p->active || p->active[at]);
}

static void LatticeTouch(LatticePlan *p)
{
  const PatchFDBox *box = &p->desc.ybox;
  const int         all = 1 << p->desc.dim;
  unsigned char    *t   = p->touch;

  for (PetscInt k = box->lo[2]; k < box->lo[2] + box->n[2]; k++) {
    for (PetscInt j = box->lo[1]; j < box->lo[1] + box->n[1]; j++) {
      for (PetscInt i = box->lo[0]; i < box->lo[0] + box->n[0]; i++) {
        const PetscInt node[3] = {i, j, k};
        int            n       = 0;

        for (int a = 0; a < all; a++) n += LatticeHasCube(p, node, a);
        *t++ = n == 0 ? LATTICE_NONE : (n < all ? LATTICE_SOME : LATTICE_WHOLE);
      }
    }
  }
}

static PetscErrorCode LatticeCreate(const PatchFDLatticeDesc *desc, void **plan)
{
  const PatchFDBox *box = &desc->xbox;
  LatticePlan      *p;
  size_t            ncubes = 1;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan          = p;
  p->desc        = *desc;
  p->desc.active = NULL;
  for (int d = 0; d < 3; d++) {
    const PetscBool exists = (PetscBool)(d < desc->dim);

    p->fast[d][0] = exists ? PetscMax(PetscMax(1, box->lo[d] + 1), desc->read[d][0] + 1) : box->lo[d];
    p->fast[d][1] = exists ? PetscMin(PetscMin(desc->n[d], box->lo[d] + box->n[d] - 1), desc->read[d][1] - 1) : box->lo[d] + 1;
    if (exists) ncubes *= (size_t)PetscMax(box->n[d] - 1, 0);
  }
  for (int m = 0; m < 8; m++) {
    p->near[m] = ((m >> 2 & 1) * (ptrdiff_t)box->n[1] + (m >> 1 & 1)) * box->n[0] + (m & 1);
    if (m) p->near[7 + m] = -p->near[m];
  }
  for (int s = 0; s < 6; s++) p->robin = (PetscBool)(p->robin || desc->robin[s] != 0);
  if (desc->active) {
    PetscCall(PetscMalloc1(ncubes, &p->active));
    PetscCall(PetscMemcpy(p->active, desc->active, ncubes));
    PetscCall(PetscMalloc1(PatchFDBoxSize(&desc->ybox), &p->touch));
    LatticeTouch(p);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a row's nodes with all cubes ---- */

typedef REAL LatticeRow __attribute__((vector_size(VBYTES), aligned(REAL_BYTES), may_alias)); /* VL numbers anywhere in memory */

/*
  The sum over the simplices around the edge from v to v + sign e of the sums over their corners of c, times 1/2 in three dimensions: v and v + e are in all
  of them, corners between, behind and before the two in as many each.  For the edge to v - e all is reflected.
*/
static inline __attribute__((always_inline)) V LatticeEdge(const int dim, const int e, const int sign, const V c[])
{
  const int all = (1 << dim) - 1;
  V         sum = (c[0] + c[LatticeIndex(sign, e)]) * (REAL)(dim < 3 ? dim : (e == 3 || e == 5 || e == 6 ? 2 : 3));

  _Pragma("GCC unroll 8") for (int q = 1; q <= all; q++)
  {
    if ((q & e) == q && q != e) sum += c[LatticeIndex(sign, q)];
    if (!(q & e)) sum += c[LatticeIndex(sign, e | q)] + c[LatticeIndex(-sign, q)];
  }
  return sum;
}

static inline __attribute__((always_inline)) V LatticeValue(const REAL *from, REAL constant)
{
  V v;

  if (from) v = *(const LatticeRow *)from;
  else v = Splat(constant);
  return v;
}

/* the nodes' values and those of their neighbours; from = NULL for a constant */
static inline __attribute__((always_inline)) void LatticeLoad(const int dim, const LatticePlan *p, const REAL *from, REAL constant, V c[])
{
  const int all = (1 << dim) - 1;

  c[0] = LatticeValue(from, constant);
  _Pragma("GCC unroll 8") for (int m = 1; m <= all; m++)
  {
    c[m]     = LatticeValue(from ? from + p->near[m] : NULL, constant);
    c[7 + m] = LatticeValue(from ? from - p->near[m] : NULL, constant);
  }
}

/* rows of A x for the VL nodes from `at` on; mass, conductivity: which fields there are, 1 or 3 conductivities */
static inline __attribute__((always_inline)) V LatticeNodes(const int dim, const PetscBool mass, const int conductivity, const PetscBool diagonal, const LatticePlan *p, const LatticeCall *call,
                                                            const REAL *const capacity, const REAL *const k[3], ptrdiff_t at)
{
  const int all = (1 << dim) - 1, ndir = conductivity ? dim : 0;
  V         c[LATTICE_NEAR], x[LATTICE_NEAR], y = {0};

  if (diagonal) {
    for (int m = 0; m < LATTICE_NEAR; m++) x[m] = (V){0};
    x[0] += 1;
  } else LatticeLoad(dim, p, call->x + at, 0, x);
  if (mass) {
    V sum = {0}, row = {0};

    LatticeLoad(dim, p, capacity ? capacity + at : NULL, call->constcapacity, c);
    _Pragma("GCC unroll 8") for (int e = 1; e <= all; e++)
    {
      _Pragma("GCC unroll 2") for (int sign = -1; sign <= 1; sign += 2)
      {
        const V w = LatticeEdge(dim, e, sign, c);

        sum += w;
        row += w * x[LatticeIndex(sign, e)];
      }
    }
    y = (row + sum * x[0] * ((REAL)2 / (REAL)dim)) * call->mass;
  }
  _Pragma("GCC unroll 3") for (int d = 0; d < ndir; d++)
  {
    V row = {0};

    if (d == 0 || conductivity == 3) LatticeLoad(dim, p, k[d] ? k[d] + at : NULL, call->constconductivity[d], c);
    _Pragma("GCC unroll 2") for (int sign = -1; sign <= 1; sign += 2) row += LatticeEdge(dim, 1 << d, sign, c) * (x[0] - x[LatticeIndex(sign, 1 << d)]);
    y += row * call->stiffness[d];
  }
  return y;
}

/* n >= VL nodes of a row, which lie at x and y: the last VL nodes may be some of which the first were done before */
static inline __attribute__((always_inline)) void LatticeRun(const int dim, const PetscBool mass, const int conductivity, const PetscBool constant, const PetscBool diagonal, const LatticePlan *p,
                                                             const LatticeCall *call, ptrdiff_t x, ptrdiff_t y, PetscInt n)
{
  const REAL *const  capacity = constant ? NULL : call->capacity;
  const REAL *const  k[3]     = {constant ? NULL : call->conductivity[0], constant ? NULL : call->conductivity[1], constant ? NULL : call->conductivity[2]};
  const LatticeCall  c        = *call; /* numbers that stores cannot change */
  PetscInt           i        = 0;

  for (; i + VL <= n; i += VL) {
    V r = LatticeNodes(dim, mass, conductivity, diagonal, p, &c, capacity, k, x + i) * c.alpha;

    if (c.y0) r += *(const LatticeRow *)(c.y0 + y + i);
    *(LatticeRow *)(c.y + y + i) = r;
  }
  if (i < n) {
    const V r = LatticeNodes(dim, mass, conductivity, diagonal, p, &c, capacity, k, x + n - VL);

    for (; i < n; i++) c.y[y + i] = (c.y0 ? c.y0[y + i] : 0) + c.alpha * r[i - n + VL];
  }
}

typedef void LatticeRunFn(const LatticePlan *, const LatticeCall *, ptrdiff_t, ptrdiff_t, PetscInt);

#define RUN(DIM, MASS, CONDUCTIVITY, CONSTANT, DIAGONAL) \
  static void LatticeRun_##DIM##MASS##CONDUCTIVITY##CONSTANT##DIAGONAL(const LatticePlan *p, const LatticeCall *call, ptrdiff_t x, ptrdiff_t y, PetscInt n) \
  { \
    LatticeRun(DIM, (PetscBool)MASS, CONDUCTIVITY, (PetscBool)CONSTANT, (PetscBool)DIAGONAL, p, call, x, y, n); \
  }
#define RUNS(DIM, DIAGONAL) RUN(DIM, 1, 0, 0, DIAGONAL) RUN(DIM, 0, 1, 0, DIAGONAL) RUN(DIM, 0, 3, 0, DIAGONAL) RUN(DIM, 1, 1, 0, DIAGONAL) RUN(DIM, 1, 3, 0, DIAGONAL) RUN(DIM, 1, 3, 1, DIAGONAL)
#define LIST(DIM, DIAGONAL) \
  {LatticeRun_##DIM##100##DIAGONAL, LatticeRun_##DIM##010##DIAGONAL, LatticeRun_##DIM##030##DIAGONAL, LatticeRun_##DIM##110##DIAGONAL, LatticeRun_##DIM##130##DIAGONAL, LatticeRun_##DIM##131##DIAGONAL}
RUNS(1, 0)
RUNS(1, 1)
RUNS(2, 0)
RUNS(2, 1)
RUNS(3, 0)
RUNS(3, 1)
static LatticeRunFn *const LatticeRuns[3][2][6] = {{LIST(1, 0), LIST(1, 1)}, {LIST(2, 0), LIST(2, 1)}, {LIST(3, 0), LIST(3, 1)}};
#undef RUN
#undef RUNS
#undef LIST

/* which of the runs above, in their order, has no work that is multiplied by zero */
static LatticeRunFn *LatticeChooseRun(const LatticePlan *p, const LatticeCall *call)
{
  const int dim  = (int)p->desc.dim;
  PetscBool constant = (PetscBool)!call->capacity, stiffness = PETSC_FALSE;
  int       which;

  for (int d = 0; d < dim; d++) {
    constant  = (PetscBool)(constant && !call->conductivity[d]);
    stiffness = (PetscBool)(stiffness || call->stiffness[d] != 0);
  }
  if (constant) which = 5;
  else if (call->mass == 0) which = call->same ? 1 : 2;
  else which = !stiffness ? 0 : (call->same ? 3 : 4);
  return LatticeRuns[dim - 1][!call->x][which];
}

/* ---- all other nodes ---- */

/* a block's values: neighbours that do not exist may have any finite material, their cubes do not exist either */
typedef struct {
  V c[LATTICE_NEAR], k[3][LATTICE_NEAR], x[LATTICE_NEAR];
  V cube[8], side[6]; /* 1 or 0: does the cube exist of which the node is this corner; is it on this side? */
} LatticeValues;

/* the directions in which node - 1, node, node + 1 are not in xbox, and not read */
static inline void LatticeMissing(const int dim, const PatchFDLatticeDesc *desc, const PetscInt node[3], int out[3], int unread[3])
{
  const PatchFDBox *box = &desc->xbox;

  for (int s = 0; s < 3; s++) {
    out[s] = unread[s] = 0;
    for (int d = 0; d < dim; d++) {
      const PetscInt i = node[d] + s - 1;

      out[s] |= (i < box->lo[d] || i >= box->lo[d] + box->n[d]) << d;
      unread[s] |= (i < desc->read[d][0] || i >= desc->read[d][1]) << d;
    }
  }
}

static inline __attribute__((always_inline)) void LatticeGatherRow(const int dim, const int conductivity, const LatticePlan *p, const LatticeCall *call, const LatticeBlock *b, LatticeValues *v)
{
  const PetscInt *node = b->node[0];
  const ptrdiff_t at   = PatchFDBoxNode(&p->desc.xbox, node[0], node[1], node[2]);
  const int       all  = (1 << dim) - 1;
  int             out[3], unread[3];

  LatticeMissing(dim, &p->desc, node, out, unread);
  for (int d = 0; d < dim; d++) {
    v->side[2 * d]     = Splat(d && node[d] == 0);
    v->side[2 * d + 1] = Splat(d && node[d] == p->desc.n[d]);
  }
  for (int a = 0; a <= all; a++) {
    if (!p->active) v->cube[a] = Splat(LatticeHasCube(p, node, a));
    else
      for (int l = 0; l < VL; l++) v->cube[a][l] = LatticeHasCube(p, b->node[l], a);
  }
  for (int m = 0; m <= all; m++) {
    for (int sign = m ? -1 : 1; sign <= 1; sign += 2) {
      const int       u    = LatticeIndex(sign, m);
      const PetscBool in   = (PetscBool)!(m & out[1 + sign]);
      const PetscBool read = (PetscBool)(in && !(m & unread[1 + sign]) && !(~m & unread[1] & all));
      const ptrdiff_t from = in ? at + p->near[u] : at;

      v->c[u] = LatticeValue(call->capacity ? call->capacity + from : NULL, call->constcapacity);
      for (int d = 0; d < conductivity; d++) v->k[d][u] = LatticeValue(call->conductivity[d] ? call->conductivity[d] + from : NULL, call->constconductivity[d]);
      v->x[u] = LatticeValue(call->x && read ? call->x + from : NULL, (REAL)(!call->x && !m));
    }
  }
}

static inline __attribute__((always_inline)) void LatticeGather(const int dim, const int conductivity, const LatticePlan *p, const LatticeCall *call, const LatticeBlock *b, LatticeValues *v)
{
  const PatchFDLatticeDesc *desc = &p->desc;
  const int                 all  = (1 << dim) - 1;

  for (int l = 0; l < VL; l++) {
    const PetscInt *node = b->node[l < b->count ? l : 0];
    const ptrdiff_t at   = PatchFDBoxNode(&desc->xbox, node[0], node[1], node[2]);
    int             out[3], unread[3];

    LatticeMissing(dim, desc, node, out, unread);
    for (int d = 0; d < dim; d++) {
      v->side[2 * d][l]     = node[d] == 0;
      v->side[2 * d + 1][l] = node[d] == desc->n[d];
    }
    for (int a = 0; a <= all; a++) v->cube[a][l] = LatticeHasCube(p, node, a);
    for (int m = 0; m <= all; m++) {
      for (int sign = m ? -1 : 1; sign <= 1; sign += 2) {
        const int       u    = LatticeIndex(sign, m);
        const PetscBool in   = (PetscBool)!(m & out[1 + sign]);
        const PetscBool read = (PetscBool)(in && !(m & unread[1 + sign]) && !(~m & unread[1] & all));
        const ptrdiff_t from = in ? at + p->near[u] : at;

        v->c[u][l] = call->capacity ? call->capacity[from] : call->constcapacity;
        for (int d = 0; d < conductivity; d++) v->k[d][u][l] = call->conductivity[d] ? call->conductivity[d][from] : call->constconductivity[d];
        v->x[u][l] = call->x ? (read ? call->x[from] : 0) : !m;
      }
    }
  }
}

/* what a simplex with these directions, of which the node is the corner number t, adds to the node's row */
static inline __attribute__((always_inline)) V LatticeSimplex(const int dim, const int conductivity, const LatticePlan *p, const LatticeCall *call, const LatticeValues *v, const int path[3], const int t)
{
  int corner[4], u[4];
  V   c = {0}, x = {0}, k[3] = {{0}}, y;

  corner[0] = 0;
  _Pragma("GCC unroll 3") for (int s = 0; s < dim; s++) corner[s + 1] = corner[s] | 1 << path[s];
  _Pragma("GCC unroll 4") for (int s = 0; s <= dim; s++)
  {
    u[s] = LatticeIndex(s < t ? -1 : 1, corner[s] ^ corner[t]);
    c += v->c[u[s]];
    x += v->x[u[s]];
    _Pragma("GCC unroll 3") for (int d = 0; d < conductivity; d++) k[d] += v->k[d][u[s]];
  }
  y = c * (x + v->x[0]) * call->mass;
  /* the edges before and after the node */
  if (t > 0) y += k[conductivity > 1 ? path[t - 1] : 0] * (v->x[0] - v->x[u[t - 1]]) * call->stiffness[path[t - 1]];
  if (t < dim) y += k[conductivity > 1 ? path[t] : 0] * (v->x[0] - v->x[u[t + 1]]) * call->stiffness[path[t]];
  if (p->robin && t < dim) y += v->side[2 * path[dim - 1]] * (x - v->x[u[dim]] + v->x[0]) * call->side[2 * path[dim - 1]];
  if (p->robin && t > 0) y += v->side[2 * path[0] + 1] * (x - v->x[u[0]] + v->x[0]) * call->side[2 * path[0] + 1];
  return y;
}

static inline __attribute__((always_inline)) void LatticeBlockRows(const int dim, const int conductivity, const LatticePlan *p, const LatticeCall *call, const LatticeBlock *b)
{
  LatticeValues v;
  LatticeCall   simplex = *call; /* edges' sums are half the sums over simplices in three dimensions */
  V             y = {0}, touched = {0};

  if (b->row) LatticeGatherRow(dim, conductivity, p, call, b, &v);
  else LatticeGather(dim, conductivity, p, call, b, &v);
  if (dim == 3) {
    simplex.mass *= (REAL)0.5;
    for (int d = 0; d < dim; d++) simplex.stiffness[d] *= (REAL)0.5;
  }
  _Pragma("GCC unroll 6") for (int i = 0; i < LatticeCount[dim - 1]; i++)
  {
    int a = 0;

    _Pragma("GCC unroll 4") for (int t = 0; t <= dim; t++)
    {
      y += v.cube[a] * LatticeSimplex(dim, conductivity, p, &simplex, &v, LatticePath[dim - 1][i], t);
      touched += v.cube[a];
      if (t < dim) a |= 1 << LatticePath[dim - 1][i][t];
    }
  }
  for (int l = 0; l < b->count; l++) {
    const ptrdiff_t at = PatchFDBoxNode(&p->desc.ybox, b->node[l][0], b->node[l][1], b->node[l][2]);

    call->y[at] = (call->y0 ? call->y0[at] : 0) + call->alpha * (touched[l] != 0 ? y[l] : call->identity * v.x[0][l]);
  }
}

static void LatticeFlush(const LatticePlan *p, const LatticeCall *call, LatticeBlock *b)
{
  if (b->count == 0) return;
  if (p->desc.dim == 1) LatticeBlockRows(1, 1, p, call, b);
  else if (p->desc.dim == 2) LatticeBlockRows(2, 2, p, call, b);
  else if (call->same) LatticeBlockRows(3, 1, p, call, b);
  else LatticeBlockRows(3, 3, p, call, b);
  b->count = 0;
}

static inline void LatticePush(const LatticePlan *p, const LatticeCall *call, LatticeBlock *b, PetscInt i, PetscInt j, PetscInt k)
{
  b->node[b->count][0]   = i;
  b->node[b->count][1]   = j;
  b->node[b->count++][2] = k;
  if (b->count == VL) LatticeFlush(p, call, b);
}

/* VL nodes of a row from node i on */
static void LatticePushRow(const LatticePlan *p, const LatticeCall *call, PetscInt i, PetscInt j, PetscInt k)
{
  LatticeBlock b = {.count = VL, .row = PETSC_TRUE};

  for (int l = 0; l < VL; l++) {
    b.node[l][0] = i + l;
    b.node[l][1] = j;
    b.node[l][2] = k;
  }
  LatticeFlush(p, call, &b);
}

/* ---- rows ---- */

/* nodes that are not written: y = y0, or `fixed` without y0 */
static inline void LatticeSkip(const LatticeCall *call, ptrdiff_t y, PetscInt n, REAL fixed)
{
  for (PetscInt i = 0; i < n; i++) call->y[y + i] = call->y0 ? call->y0[y + i] : fixed;
}

static void LatticeRowApply(const LatticePlan *p, const LatticeCall *call, LatticeRunFn *run, PetscInt j, PetscInt k, LatticeBlock *b)
{
  const PatchFDLatticeDesc *desc = &p->desc;
  const PatchFDBox         *box  = &desc->ybox;
  const ptrdiff_t           y = PatchFDBoxNode(box, 0, j, k), x = PatchFDBoxNode(&desc->xbox, 0, j, k); /* of node 0 of the row, which may not be there */
  const PetscInt            lo = box->lo[0], hi = lo + box->n[0];
  const PetscBool           written = (PetscBool)(j >= desc->write[1][0] && j < desc->write[1][1] && k >= desc->write[2][0] && k < desc->write[2][1]);
  const PetscBool           fast    = (PetscBool)(j >= p->fast[1][0] && j < p->fast[1][1] && k >= p->fast[2][0] && k < p->fast[2][1]);
  const PetscInt            first   = written ? PetscMin(PetscMax(lo, desc->write[0][0]), hi) : hi, end = written ? PetscMax(first, PetscMin(hi, desc->write[0][1])) : hi;
  const REAL                fixed   = call->x ? 0 : call->identity;

  LatticeSkip(call, y + lo, first - lo, fixed);
  for (PetscInt i = first; i < end;) {
    const PetscInt stop = i >= p->fast[0][0] ? PetscMin(end, p->fast[0][1]) : i; /* up to where neighbours in the row are there */
    PetscInt       next = fast ? stop : i;

    if (fast && p->touch)
      for (next = i; next < stop && p->touch[y + next] == LATTICE_WHOLE;) next++;
    if (next - i >= VL) {
      (*run)(p, call, x + i, y + i, next - i);
      i = next;
    } else if (stop - i >= VL) {
      LatticePushRow(p, call, i, j, k);
      i += VL;
    } else LatticePush(p, call, b, i++, j, k);
  }
  LatticeSkip(call, y + end, hi - end, fixed);
}

static void LatticeRows(const LatticePlan *p, const LatticeCall *call)
{
  const PatchFDBox   *box    = &p->desc.ybox;
  const size_t        bytes  = 3 * 3 * (size_t)p->desc.xbox.n[0] * sizeof(REAL); /* a row in three planes of three fields */
  const PetscInt      height = PetscMax(8, (PetscInt)(LATTICE_TILE / bytes));
  LatticeRunFn *const run    = LatticeChooseRun(p, call);
  LatticeBlock        b      = {.count = 0};

  for (PetscInt tile = 0; tile < box->n[1]; tile += height) {
    for (PetscInt k = 0; k < box->n[2]; k++) {
      for (PetscInt j = tile; j < PetscMin(tile + height, box->n[1]); j++) LatticeRowApply(p, call, run, box->lo[1] + j, box->lo[2] + k, &b);
    }
  }
  LatticeFlush(p, call, &b);
}

/* the factors, and the materials that are not multiplied by zero */
static void LatticePrepare(const LatticePlan *p, const PatchFDMaterial *m, LatticeCall *call)
{
  const PatchFDLatticeDesc *desc  = &p->desc;
  const int                 dim   = (int)desc->dim;
  const PetscReal           twice = dim == 3 ? 2 : 1;
  PetscReal                 V = 1; /* volume of a simplex */

  for (int d = 0; d < dim; d++) V *= desc->h[d] / (d + 1);
  call->mass          = (REAL)(m->mass * V * twice / ((dim + 1) * (dim + 1) * (dim + 2)));
  call->capacity      = (const REAL *)m->capacity;
  call->constcapacity = (REAL)m->constcapacity;
  call->identity      = (REAL)m->identity;
  call->same          = PETSC_TRUE;
  for (int d = 0; d < dim; d++) {
    const PetscReal area = V * dim / desc->h[d]; /* of a simplex on the side */

    call->stiffness[d]         = (REAL)(m->stiffness * V * twice / (desc->h[d] * desc->h[d] * (dim + 1)));
    call->conductivity[d]      = (const REAL *)m->conductivity[d];
    call->constconductivity[d] = (REAL)m->constconductivity[d];
    call->same                 = (PetscBool)(call->same && m->conductivity[d] == m->conductivity[0] && (m->conductivity[d] || m->constconductivity[d] == m->constconductivity[0]));
    for (int e = 0; e < 2; e++) call->side[2 * d + e] = (REAL)(m->side * desc->robin[2 * d + e] * area / (dim * (dim + 1)));
  }
}

static PetscErrorCode LatticeApply(void *plan, const PatchFDMaterial *material, PetscReal alpha, const void *x, const void *y0, void *y)
{
  const LatticePlan *p    = (const LatticePlan *)plan;
  LatticeCall        call = {.alpha = (REAL)alpha, .x = (const REAL *)x, .y0 = (const REAL *)y0, .y = (REAL *)y};

  PetscFunctionBegin;
  LatticePrepare(p, material, &call);
  LatticeRows(p, &call);
  PetscCall(PetscLogFlops(160.0 * (PetscLogDouble)PatchFDBoxSize(&p->desc.ybox)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LatticeDiagonal(void *plan, const PatchFDMaterial *material, void *diagonal)
{
  const LatticePlan *p    = (const LatticePlan *)plan;
  LatticeCall        call = {.alpha = 1, .y = (REAL *)diagonal};

  PetscFunctionBegin;
  LatticePrepare(p, material, &call);
  LatticeRows(p, &call);
  PetscFunctionReturn(PETSC_SUCCESS);
}
