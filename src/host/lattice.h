/*
  y = y0 + alpha A x for linear elements on a lattice of cubes, each cut into the simplices whose corners are a monotone path from corner 0
  to the opposite one (Kuhn 1960).  A simplex with the mean capacity c and conductivity k of its corners adds

    mass V c / ((dim + 1) (dim + 2)) to each edge and twice that to each corner,
    stiffness V k / h_d^2 to the edge in direction d, and to no other,

  so that with the entries a_e of edges the rows of A are sums of a_e (x_w - x_v) over the edges from v to w, and x_v times that of the row
  of M.  Rows of cubes are worked on one after the other, layer by layer (latticerow.h): entries of the edges from each first corner, then
  what these give to the rows of both ends.  Rows of numbers wait in between in memory that caches should hold, so that each number of a
  field is read once: there all nodes of a row are there, with zeros for those that do not exist.
*/
#pragma once
#include "cg.h"
#include "latticerow.h"

enum {
  LATTICE_TILE   = 1 << 20, /* bytes that the waiting rows of a tile may take */
  LATTICE_FIELDS = 5        /* x, capacities, what edges in axes have in each direction */
};

typedef struct {
  PatchFDLatticeDesc desc;
  unsigned char     *active; /* a copy of the description's */
  unsigned char     *empty;  /* with it: the nodes of ybox that touch no cube */
  PetscBool          robin;
  PetscInt           n, length, height; /* numbers of a row that are worked on, and that it has; rows of ybox in a tile */
  PetscInt           cubes[3][2];       /* those between the nodes of xbox */
  PetscInt           there[2], read[2]; /* nodes of a row that are copied, of materials and of x */
  void              *memory;
  REAL              *field[LATTICE_FIELDS][2], *sum[2], *below[LATTICE_BELOW]; /* rows of a tile, of two planes */
  REAL              *before[LATTICE_BEFORE], *edge, *none, *all, *body;        /* rows */
  REAL              *constant;                                                 /* edges of constant materials, for each kind of row */
} LatticePlan;

/* one apply: the materials in this precision; x = NULL for the diagonal */
typedef struct {
  const REAL *capacity, *conductivity[3];
  REAL        constcapacity, constconductivity[3];
  REAL        mass, stiffness[3], side[6]; /* factors of sums over the corners of a simplex; of a triangle on a side */
  int         ndir;                        /* conductivities that are copied */
  PetscBool   constant, robin;
  unsigned    have; /* bits of the kinds of rows whose edges of constants are there */
  REAL        identity, alpha;
  const REAL *x, *y0;
  REAL       *y;
  /* of a sweep: x = d r + b q is written to p, and p'y is summed */
  const REAL *d, *r, *q;
  REAL       *p, b;
  double      energy;
} LatticeCall;

/* ---- plans ---- */

static PetscErrorCode LatticeDestroy(void **plan)
{
  LatticePlan *p = (LatticePlan *)*plan;

  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(p->active));
  PetscCall(PetscFree(p->empty));
  PetscCall(PetscFree(p->memory));
  PetscCall(PetscFree(p));
  *plan = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscBool LatticeInside(const PetscInt range[2], PetscInt i)
{
  return (PetscBool)(i >= range[0] && i < range[1]);
}

/* `active` from the first cube of a row that exists on */
static inline const unsigned char *LatticeBodyRow(const LatticePlan *p, PetscInt j, PetscInt k)
{
  const PatchFDBox *b  = &p->desc.xbox;
  const PetscInt    n1 = p->desc.dim > 1 ? b->n[1] - 1 : 1;

  return p->active + ((k - b->lo[2]) * n1 + j - b->lo[1]) * (b->n[0] - 1) + p->cubes[0][0] - b->lo[0];
}

/* does the cube exist of which the node is corner a? */
static inline PetscBool LatticeHasCube(const LatticePlan *p, const PetscInt node[3], int a)
{
  PetscInt cube[3];

  for (int d = 0; d < 3; d++) {
    cube[d] = node[d] - (a >> d & 1);
    if (!LatticeInside(p->cubes[d], cube[d])) return PETSC_FALSE;
  }
  return (PetscBool)(!p->active || LatticeBodyRow(p, cube[1], cube[2])[cube[0] - p->cubes[0][0]]);
}

static PetscErrorCode LatticeSetBody(LatticePlan *p, const unsigned char *active)
{
  const PatchFDBox *box    = &p->desc.ybox;
  size_t            ncubes = 1;
  unsigned char    *empty;

  PetscFunctionBegin;
  for (int d = 0; d < p->desc.dim; d++) ncubes *= (size_t)PetscMax(p->desc.xbox.n[d] - 1, 0);
  PetscCall(PetscMalloc1(ncubes, &p->active));
  PetscCall(PetscMemcpy(p->active, active, ncubes));
  PetscCall(PetscMalloc1(PatchFDBoxSize(box), &p->empty));
  empty = p->empty;
  for (PetscInt k = box->lo[2]; k < box->lo[2] + box->n[2]; k++) {
    for (PetscInt j = box->lo[1]; j < box->lo[1] + box->n[1]; j++) {
      for (PetscInt i = box->lo[0]; i < box->lo[0] + box->n[0]; i++) {
        const PetscInt node[3] = {i, j, k};
        PetscBool      touches = PETSC_FALSE;

        for (int a = 0; a < 1 << p->desc.dim; a++) touches = (PetscBool)(touches || LatticeHasCube(p, node, a));
        *empty++ = !touches;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LatticeSetMemory(LatticePlan *p)
{
  const PatchFDBox *box   = &p->desc.ybox;
  const size_t      kinds = (size_t)1 << (2 * (p->desc.dim - 1)), planes = 2 * LATTICE_FIELDS + 2 + LATTICE_BELOW;
  size_t            rows, plane;
  V                *memory = NULL;
  REAL             *at;

  PetscFunctionBegin;
  p->n      = (box->n[0] + 1 + VL - 1) / VL * VL;
  p->length = p->n + VL;
  p->height = PetscMin(PetscMax(box->n[1], 1), PetscMax(8, (PetscInt)(LATTICE_TILE / (planes * (size_t)p->length * sizeof(REAL)))));
  plane     = (size_t)(p->height + 2) * (size_t)p->length;
  rows      = LATTICE_BEFORE + LATTICE_EDGES + 3 + kinds * LATTICE_EDGES;
  PetscCall(VMalloc((planes * plane + rows * (size_t)p->length) / VL, &memory, &p->memory));
  at = (REAL *)memory;
  for (int s = 0; s < 2; s++) {
    for (int f = 0; f < LATTICE_FIELDS; f++, at += plane) p->field[f][s] = at;
    p->sum[s] = at;
    at += plane;
  }
  for (int i = 0; i < LATTICE_BELOW; i++, at += plane) p->below[i] = at;
  for (int i = 0; i < LATTICE_BEFORE; i++, at += p->length) p->before[i] = at;
  p->edge     = at;
  p->none     = p->edge + LATTICE_EDGES * p->length;
  p->all      = p->none + p->length;
  p->body     = p->all + p->length;
  p->constant = p->body + p->length;
  for (PetscInt i = p->cubes[0][0]; i < p->cubes[0][1]; i++)
    if (i >= box->lo[0] - 1 && i < box->lo[0] + box->n[0]) p->all[i - box->lo[0] + 1] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LatticeCreate(const PatchFDLatticeDesc *desc, void **plan)
{
  const PatchFDBox *x = &desc->xbox, *y = &desc->ybox;
  LatticePlan      *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan          = p;
  p->desc        = *desc;
  p->desc.active = NULL;
  for (int d = 0; d < 3; d++) {
    const PetscBool exists = (PetscBool)(d < desc->dim);

    p->cubes[d][0] = exists ? PetscMax(0, x->lo[d]) : x->lo[d];
    p->cubes[d][1] = exists ? PetscMin(desc->n[d], x->lo[d] + x->n[d] - 1) : x->lo[d] + x->n[d];
  }
  p->there[0] = PetscMax(x->lo[0], y->lo[0] - 1);
  p->there[1] = PetscMin(x->lo[0] + x->n[0], y->lo[0] + y->n[0] + 1);
  p->read[0]  = PetscMax(p->there[0], desc->read[0][0]);
  p->read[1]  = PetscMin(p->there[1], desc->read[0][1]);
  for (int s = 0; s < 2 * desc->dim; s++) p->robin = (PetscBool)(p->robin || desc->robin[s] != 0);
  if (desc->active) PetscCall(LatticeSetBody(p, desc->active));
  PetscCall(LatticeSetMemory(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- rows of nodes, copied ---- */

/* a row of a tile */
static inline REAL *LatticeRow(const LatticePlan *p, REAL *rows, PetscInt row)
{
  return rows + row * p->length;
}

/* where node i is in a row */
static inline PetscInt LatticePlace(const LatticePlan *p, PetscInt i)
{
  return i - p->desc.ybox.lo[0] + 1;
}

static void LatticeZero(const LatticePlan *p, REAL *row, PetscInt rows)
{
  (void)memset(row, 0, (size_t)(rows * p->length) * sizeof(REAL));
}

static inline REAL LatticeValue(const REAL *from, REAL constant, PetscInt i)
{
  return from ? from[i] : constant;
}

/* p = d r + b q of a whole row */
static void LatticeDirection(const LatticePlan *p, const LatticeCall *call, ptrdiff_t at)
{
  const REAL *const d = call->d ? call->d + at : NULL, *const r = call->r + at, *const q = call->b != 0 ? call->q + at : NULL, b = call->b;
  REAL *const to = call->p + at;

  for (PetscInt i = 0; i < p->desc.xbox.n[0]; i++) to[i] = LatticeValue(d, 1, i) * r[i] + (q ? b * q[i] : 0);
}

static void LatticeCopyX(const LatticePlan *p, const LatticeCall *call, PetscInt j, PetscInt k, REAL *to)
{
  const PatchFDLatticeDesc *desc = &p->desc;
  const PatchFDBox         *box  = &desc->xbox;
  const PetscInt            n    = p->read[1] - p->read[0];

  if (!call->x) return;
  if (j < box->lo[1] || j >= box->lo[1] + box->n[1] || k < box->lo[2] || k >= box->lo[2] + box->n[2]) LatticeZero(p, to, 1);
  else {
    const ptrdiff_t at = PatchFDBoxNode(box, box->lo[0], j, k);

    if (call->p) LatticeDirection(p, call, at);
    if (!LatticeInside(desc->read[1], j) || !LatticeInside(desc->read[2], k)) LatticeZero(p, to, 1);
    else if (n > 0) (void)memcpy(to + LatticePlace(p, p->read[0]), call->x + at + p->read[0] - box->lo[0], (size_t)n * sizeof(REAL));
  }
}

/* with their factors, so that the sums over the corners of a simplex are entries */
static void LatticeCopyMaterials(const LatticePlan *p, const LatticeCall *call, PetscInt j, PetscInt k, REAL *const to[])
{
  const PatchFDBox *box   = &p->desc.xbox;
  const PetscInt    place = LatticePlace(p, p->there[0]), n = p->there[1] - p->there[0];

  if (call->constant) return;
  if (j < box->lo[1] || j >= box->lo[1] + box->n[1] || k < box->lo[2] || k >= box->lo[2] + box->n[2]) {
    for (int f = 0; f <= call->ndir; f++) LatticeZero(p, to[f], 1);
    return;
  }
  const ptrdiff_t   at   = PatchFDBoxNode(box, p->there[0], j, k);
  const REAL *const c    = call->capacity ? call->capacity + at : NULL;
  REAL *const       toc  = to[0] + place;
  const REAL        mass = call->mass, constant = call->constcapacity;

  for (PetscInt i = 0; i < n; i++) toc[i] = mass * LatticeValue(c, constant, i);
  for (int d = 0; d < call->ndir; d++) {
    const REAL *const kd        = call->conductivity[d] ? call->conductivity[d] + at : NULL;
    REAL *const       tok       = to[1 + d] + place;
    const REAL        stiffness = call->stiffness[d], constk = call->constconductivity[d];

    INDEPENDENT for (PetscInt i = 0; i < n; i++) tok[i] = toc[i] - stiffness * LatticeValue(kd, constk, i);
  }
}

/* row j of plane k becomes row `row` of a tile */
static void LatticeCopy(const LatticePlan *p, const LatticeCall *call, PetscInt j, PetscInt k, PetscInt row)
{
  REAL *to[LATTICE_FIELDS];

  for (int f = 0; f < LATTICE_FIELDS; f++) to[f] = LatticeRow(p, p->field[f][k & 1], row);
  LatticeCopyX(p, call, j, k, to[0]);
  LatticeCopyMaterials(p, call, j, k, to + 1);
}

/* ---- rows of cubes ---- */

static inline PetscBool LatticeHasRow(const LatticePlan *p, PetscInt j, PetscInt k)
{
  return (PetscBool)(LatticeInside(p->cubes[1], j) && LatticeInside(p->cubes[2], k));
}

/* which cubes exist */
static const REAL *LatticeExists(const LatticePlan *p, PetscInt j, PetscInt k)
{
  if (!LatticeHasRow(p, j, k)) return p->none;
  if (!p->active) return p->all;
  const unsigned char *active = LatticeBodyRow(p, j, k);

  for (PetscInt i = PetscMax(p->cubes[0][0], p->desc.ybox.lo[0] - 1); i < p->cubes[0][1] && LatticePlace(p, i) < p->n; i++)
    p->body[LatticePlace(p, i)] = (REAL)(active[i - p->cubes[0][0]] != 0);
  return p->body;
}

/* edges of constants, which depend on what rows of cubes exist around those of nodes */
static void LatticeConstants(const LatticePlan *p, LatticeCall *call, PetscInt j, PetscInt k, REAL *edge[])
{
  const int  dim = (int)p->desc.dim;
  const REAL c   = (REAL)(dim + 1) * call->mass * call->constcapacity;
  REAL       y[2], z[2], axis[3] = {0};
  int        kind = 0;

  for (int i = 0; i < 2; i++) {
    y[i] = LatticeInside(p->cubes[1], j - 1 + i);
    z[i] = LatticeInside(p->cubes[2], k - 1 + i);
    if (dim > 1 && y[i] != 0) kind |= 1 << i;
    if (dim > 2 && z[i] != 0) kind |= 4 << i;
  }
  for (int e = 0; e < LATTICE_EDGES; e++) edge[e] = p->constant + (kind * LATTICE_EDGES + e) * p->length;
  if (call->have >> kind & 1) return;
  call->have |= 1u << kind;
  for (int d = 0; d < dim; d++) axis[d] = c - (REAL)(dim + 1) * call->stiffness[d] * call->constconductivity[d];
  LatticeEdgesConstant(dim, p->n, p->all, y, z, axis, c, edge);
}

static void LatticeEdges(int dim, const LatticeCall *call, const LatticeRows *rows)
{
  if (dim == 1) LatticeEdges1(rows);
  else if (dim == 2) LatticeEdges2(rows);
  else if (call->mass != 0) {
    if (call->ndir == 1) LatticeEdges3(PETSC_TRUE, 1, rows);
    else LatticeEdges3(PETSC_TRUE, 3, rows);
  } else if (call->ndir == 1) LatticeEdges3(PETSC_FALSE, 1, rows);
  else LatticeEdges3(PETSC_FALSE, 3, rows);
}

static void LatticeFlows(int dim, const LatticeCall *call, const LatticeRows *rows)
{
  const PetscBool diagonal = (PetscBool)!call->x;

  if (dim == 1) {
    if (diagonal) LatticeFlows2(1, PETSC_TRUE, rows);
    else LatticeFlows2(1, PETSC_FALSE, rows);
  } else if (dim == 2) {
    if (diagonal) LatticeFlows2(2, PETSC_TRUE, rows);
    else LatticeFlows2(2, PETSC_FALSE, rows);
  } else if (diagonal) LatticeFlows3(PETSC_TRUE, PETSC_TRUE, rows);
  else if (call->mass != 0) LatticeFlows3(PETSC_TRUE, PETSC_FALSE, rows);
  else LatticeFlows3(PETSC_FALSE, PETSC_FALSE, rows);
}

/* row `row` of a tile; now: which of the sums are those of plane k */
static void LatticeRowOfCubes(const LatticePlan *p, LatticeCall *call, PetscInt j, PetscInt k, PetscInt row, int now)
{
  LatticeRows r = {.n = p->n};

  for (int a = 0; a < 4; a++) { /* in less than three dimensions there are no rows above, and these are not looked at */
    const int      s  = (int)((k + a / 2) & 1);
    const PetscInt at = row + a % 2;

    r.x[a] = LatticeRow(p, p->field[0][s], at);
    r.c[a] = LatticeRow(p, p->field[1][s], at);
    for (int d = 0; d < 3; d++) r.k[d][a] = LatticeRow(p, p->field[2 + d][s], at);
  }
  for (int i = 0; i < 2; i++) {
    r.now[i] = LatticeRow(p, p->sum[now], row + i);
    r.up[i]  = LatticeRow(p, p->sum[1 - now], row + i);
  }
  if (call->constant) LatticeConstants(p, call, j, k, r.edge);
  else {
    r.exists = LatticeExists(p, j, k);
    for (int i = 0; i < LATTICE_BEFORE; i++) r.before[i] = p->before[i];
    for (int i = 0; i < LATTICE_BELOW; i++) r.below[i] = LatticeRow(p, p->below[i], row);
    for (int e = 0; e < LATTICE_EDGES; e++) r.edge[e] = p->edge + e * p->length;
    LatticeEdges((int)p->desc.dim, call, &r);
  }
  LatticeFlows((int)p->desc.dim, call, &r);
}

/* ---- rows of A x ---- */

/* n nodes of a row that are written */
static void LatticeWrite(const LatticeCall *call, const REAL *sum, ptrdiff_t at, PetscInt n)
{
  const REAL *const y0    = call->y0 ? call->y0 + at : NULL;
  REAL *const       y     = call->y + at;
  const REAL        alpha = call->alpha;

  INDEPENDENT for (PetscInt i = 0; i < n; i++) y[i] = LatticeValue(y0, 0, i) + alpha * sum[i];
}

/* nodes that are not: y = y0, the identity's rows in a sweep and on the diagonal */
static void LatticeSkip(const LatticeCall *call, ptrdiff_t at, PetscInt n)
{
  for (PetscInt i = 0; i < n; i++)
    call->y[at + i] = call->p ? call->p[at + i] : (!call->x ? call->identity : LatticeValue(call->y0, 0, at + i));
}

/* row j of plane k, whose sums are complete; x is the copied row */
static void LatticeFinish(const LatticePlan *p, LatticeCall *call, PetscInt j, PetscInt k, REAL *sum, const REAL *x)
{
  const PatchFDLatticeDesc *desc  = &p->desc;
  const PatchFDBox         *box   = &desc->ybox;
  const ptrdiff_t           at    = PatchFDBoxNode(box, box->lo[0], j, k);
  const PetscInt            n     = box->n[0];
  PetscInt                  first = 0, end = 0;

  if (LatticeInside(desc->write[1], j) && LatticeInside(desc->write[2], k)) {
    first = PetscMin(PetscMax(desc->write[0][0] - box->lo[0], 0), n);
    end   = PetscMax(first, PetscMin(desc->write[0][1] - box->lo[0], n));
  }
  for (PetscInt i = first; i < end && p->empty; i++)
    if (p->empty[at + i]) sum[i + 1] = call->identity * (call->x ? x[i + 1] : 1);
  LatticeSkip(call, at, first);
  LatticeWrite(call, sum + 1 + first, at + first, end - first);
  LatticeSkip(call, at + end, n - end);
  if (call->p) call->energy += CGDot(n, call->p + at, call->y + at);
}

/* ---- marches ---- */

/* rows from first to end */
static void LatticeTile(const LatticePlan *p, LatticeCall *call, PetscInt first, PetscInt end)
{
  const PatchFDBox *box    = &p->desc.ybox;
  const PetscInt    behind = p->desc.dim > 1, above = p->desc.dim > 2, rows = end - first + behind + 1; /* of nodes */

  for (int s = 0; s < 2; s++) LatticeZero(p, p->sum[s], rows);
  for (int i = 0; i < LATTICE_BELOW; i++) LatticeZero(p, p->below[i], rows);
  for (PetscInt r = 0; above && r < rows; r++) LatticeCopy(p, call, first - 1 + r, box->lo[2] - 1, r);
  for (PetscInt k = box->lo[2] - above, now = 0; k < box->lo[2] + box->n[2]; k++, now = 1 - now) {
    for (int i = 0; i < LATTICE_BEFORE; i++) LatticeZero(p, p->before[i], 1);
    LatticeZero(p, p->sum[1 - now], 1);
    LatticeCopy(p, call, first - behind, k + above, 0);
    for (PetscInt j = first - behind, r = 0; j < end; j++, r++) {
      if (behind) LatticeCopy(p, call, j + 1, k + above, r + 1);
      LatticeRowOfCubes(p, call, j, k, r, (int)now);
      if (j >= first && k >= box->lo[2]) LatticeFinish(p, call, j, k, LatticeRow(p, p->sum[now], r), LatticeRow(p, p->field[0][k & 1], r));
    }
  }
}

/* ---- Robin terms ---- */

/* x at the node, or zero; for the diagonal it is one at the node itself */
static inline REAL LatticeRead(const LatticePlan *p, const LatticeCall *call, const PetscInt node[3], int d, int i, int e, int j)
{
  const PatchFDLatticeDesc *desc  = &p->desc;
  PetscInt                  at[3] = {node[0], node[1], node[2]};

  if (!call->x) return (REAL)(!i && !j);
  at[d] += i;
  at[e] += j;
  for (int s = 0; s < 3; s++)
    if (!LatticeInside(desc->read[s], at[s]) || at[s] < desc->xbox.lo[s] || at[s] >= desc->xbox.lo[s] + desc->xbox.n[s]) return 0;
  return call->x[PatchFDBoxNode(&desc->xbox, at[0], at[1], at[2])];
}

/* the mass matrices of the triangles (segments, points) around a node of a side; in 2D the other direction e of a side is z, of one node */
static void LatticeRobinNode(const LatticePlan *p, LatticeCall *call, const PetscInt node[3], int side)
{
  const int       s = side / 2, high = side % 2, d = s == 0 ? 1 : 0, e = s == 2 ? 1 : 2;
  const REAL      x   = LatticeRead(p, call, node, 0, 0, 1, 0);
  const ptrdiff_t at  = PatchFDBoxNode(&p->desc.ybox, node[0], node[1], node[2]);
  REAL            sum = 0;

  for (int a = 0; a < 1 << (p->desc.dim - 1); a++) { /* the square of which the node is corner a */
    const int i = a & 1, j = a >> 1;

    if (!LatticeHasCube(p, node, high << s | i << d | j << e)) continue;
    if (p->desc.dim == 1) sum += 2 * x;
    else if (p->desc.dim == 2) sum += 2 * x + LatticeRead(p, call, node, d, i ? -1 : 1, e, 0);
    else if (i == j)
      sum += 4 * x + LatticeRead(p, call, node, d, i ? -1 : 1, e, 0) + LatticeRead(p, call, node, d, 0, e, i ? -1 : 1) +
             2 * LatticeRead(p, call, node, d, i ? -1 : 1, e, i ? -1 : 1);
    else sum += 2 * x + LatticeRead(p, call, node, d, i ? -1 : 1, e, 0) + LatticeRead(p, call, node, d, 0, e, j ? -1 : 1);
  }
  call->y[at] += call->alpha * call->side[side] * sum;
  call->energy += (double)(call->side[side] * sum * x);
}

static void LatticeRobin(const LatticePlan *p, LatticeCall *call)
{
  const PatchFDLatticeDesc *desc = &p->desc;
  const PatchFDBox         *box  = &desc->ybox;

  for (int side = 0; side < 2 * desc->dim; side++) {
    PetscInt range[3][2], i[3];

    if (call->side[side] == 0) continue;
    for (int d = 0; d < 3; d++) {
      const PetscInt on = side % 2 ? desc->n[d] : 0;

      range[d][0] = PetscMax(PetscMax(box->lo[d], desc->write[d][0]), d == side / 2 ? on : box->lo[d]);
      range[d][1] = PetscMin(PetscMin(box->lo[d] + box->n[d], desc->write[d][1]), d == side / 2 ? on + 1 : box->lo[d] + box->n[d]);
    }
    for (i[2] = range[2][0]; i[2] < range[2][1]; i[2]++)
      for (i[1] = range[1][0]; i[1] < range[1][1]; i[1]++)
        for (i[0] = range[0][0]; i[0] < range[0][1]; i[0]++) LatticeRobinNode(p, call, i, side);
  }
}

/* ---- products ---- */

static void LatticeRun(const LatticePlan *p, LatticeCall *call)
{
  const PatchFDBox *box = &p->desc.ybox;

  if (!PatchFDBoxSize(box)) return;
  for (PetscInt j = 0; j < box->n[1]; j += p->height) LatticeTile(p, call, box->lo[1] + j, box->lo[1] + PetscMin(j + p->height, box->n[1]));
  LatticeRobin(p, call);
}

/* the factors, and the materials that are not multiplied by zero */
static void LatticePrepare(const LatticePlan *p, const PatchFDMaterial *m, LatticeCall *call)
{
  const PatchFDLatticeDesc *desc = &p->desc;
  const int                 dim  = (int)desc->dim;
  PetscReal                 V    = 1; /* volume of a simplex */
  PetscBool                 same = (PetscBool)(dim == 3);

  for (int d = 0; d < dim; d++) V *= desc->h[d] / (d + 1);
  call->mass          = (REAL)(m->mass * V / ((dim + 1) * (dim + 1) * (dim + 2)));
  call->capacity      = m->mass != 0 ? (const REAL *)m->capacity : NULL;
  call->constcapacity = (REAL)m->constcapacity;
  call->identity      = (REAL)m->identity;
  call->constant      = (PetscBool)(!p->active && !call->capacity);
  for (int d = 0; d < dim; d++) {
    const PetscReal area = V * dim / desc->h[d]; /* of the side of a simplex */

    call->stiffness[d]         = (REAL)(m->stiffness * V / (desc->h[d] * desc->h[d] * (dim + 1)));
    call->conductivity[d]      = m->stiffness != 0 ? (const REAL *)m->conductivity[d] : NULL;
    call->constconductivity[d] = (REAL)m->constconductivity[d];
    call->constant             = (PetscBool)(call->constant && !call->conductivity[d]);
    same                       = (PetscBool)(same && call->stiffness[d] == call->stiffness[0] && m->conductivity[d] == m->conductivity[0] &&
                       (m->conductivity[d] || m->constconductivity[d] == m->constconductivity[0]));
    for (int e = 0; e < 2; e++) call->side[2 * d + e] = (REAL)(m->side * desc->robin[2 * d + e] * area / (dim * (dim + 1)));
  }
  call->ndir = same ? 1 : dim;
}

static PetscErrorCode LatticeApply(void *plan, const PatchFDMaterial *material, PetscReal alpha, const void *x, const void *y0, void *y)
{
  const LatticePlan *p    = (const LatticePlan *)plan;
  LatticeCall        call = {.alpha = (REAL)alpha, .x = (const REAL *)x, .y0 = (const REAL *)y0, .y = (REAL *)y};

  PetscFunctionBegin;
  LatticePrepare(p, material, &call);
  LatticeRun(p, &call);
  PetscCall(PetscLogFlops(90.0 * (PetscLogDouble)PatchFDBoxSize(&p->desc.ybox)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LatticeDiagonal(void *plan, const PatchFDMaterial *material, void *diagonal)
{
  const LatticePlan *p    = (const LatticePlan *)plan;
  LatticeCall        call = {.alpha = 1, .y = (REAL *)diagonal};

  PetscFunctionBegin;
  LatticePrepare(p, material, &call);
  LatticeRun(p, &call);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LatticeSweep(void *plan, const PatchFDMaterial *material, const void *d, const void *r, const void *q, void *dir,
                                   void *w, PatchFDSweep *sweep)
{
  const LatticePlan *p    = (const LatticePlan *)plan;
  LatticeCall        call = {.alpha = 1,
                             .x     = (const REAL *)dir,
                             .y     = (REAL *)w,
                             .d     = (const REAL *)d,
                             .r     = (const REAL *)r,
                             .q     = (const REAL *)q,
                             .p     = (REAL *)dir,
                             .b     = (REAL)sweep->b};

  PetscFunctionBegin;
  if (sweep->stop) PetscFunctionReturn(PETSC_SUCCESS);
  LatticePrepare(p, material, &call);
  LatticeRun(p, &call);
  sweep->pw = call.energy;
  PetscCall(PetscLogFlops(96.0 * (PetscLogDouble)PatchFDBoxSize(&p->desc.ybox)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
