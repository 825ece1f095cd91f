/*
  y = y0 + alpha A x for operators by quadrature (PatchFDPoints in kernels.h): a batch is VL cells, one in each lane.

  With u the block of a cell's n^3 nodes, B and D = C B values and derivatives of its polynomials at c points in a direction (B = 1, c = n
  if the nodes are the points), and G the factors of the points,

    a = (B (x) B) u            n slices of c^2: directions x and y
    q = B a,  t = D a          direction z: values, and their derivatives in z, at the c^3 points
    r = C q,  s = C q          slice by slice: derivatives in x and y
    (r, s, t) = G (r, s, t)
    q = g q + C' r + C' s
    a = B' q + D' t,  u = (B' (x) B') a

  In two dimensions there is one slice, and no t.  With a mass matrix alone q = g q, with B in all directions.  The factors are read, or
  computed from the coefficients of the multilinear map of the cell (Swirydowicz, Chalmers, Karakus and Warburton 2017).
*/
#pragma once
#include "solid.h"

static PetscErrorCode PointsDestroy(PointsPlan *p)
{
  PetscFunctionBegin;
  PetscCall(IndexDestroy(&p->index));
  PetscCall(PetscFree(p->B));
  PetscCall(PetscFree(p->Bt));
  PetscCall(PetscFree(p->D));
  PetscCall(PetscFree(p->Dt));
  PetscCall(PetscFree(p->C));
  PetscCall(PetscFree(p->Ct));
  PetscCall(PetscFree(p->L));
  PetscCall(PetscFree(p->Lt));
  PetscCall(PetscFree(p->Nbase));
  PetscCall(PetscFree(p->x));
  PetscCall(PetscFree(p->w));
  PetscCall(PetscFree(p->base));
  PetscCall(PetscFree(p->factorbase));
  PetscCall(PetscFree(p->mapbase));
  PetscCall(PetscFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- create ---- */

/* where nodes of cells lie: indices, or rows of a box */
static PetscErrorCode PointsNodes(const PatchFDOperatorDesc *desc, PointsPlan *p)
{
  const PatchFDPoints *points = desc->points;

  PetscFunctionBegin;
  p->ncells = points->ncells;
  for (int d = 0; d < 3; d++) {
    p->block[d]  = d < p->dim ? p->n : 1;
    p->stride[d] = d < p->dim ? points->degree : 0;
  }
  if (points->nodes == PATCHFD_NODES_BOX) {
    PetscCheck(desc->nfield == p->ncomp && (p->solid || p->ncomp == 1), PETSC_COMM_SELF, PETSC_ERR_SUP,
               "%" PetscInt_FMT " fields for %" PetscInt_FMT
               " components; operators by quadrature on a box of nodes have 1 of 1, those of solids one for each",
               desc->nfield, p->ncomp);
    PetscCall(PetscArraycpy(p->field, desc->field, p->ncomp));
    PetscCall(PetscArraycpy(p->cells, desc->cells, 3));
    p->ncells = PatchFDRangeSize(p->cells);
  } else if (points->nodes == PATCHFD_NODES_CELL && p->ncomp == 1) { /* a row of nodes, `size` from one cell to the next */
    PetscInt     nodes;
    PatchFDRange all = {{0, 0}, {0, 1}, {0, 1}}, cells = {{0, (PetscInt)p->ncells}, {0, 1}, {0, 1}};

    PetscCall(PetscIntCast(points->nnodes, &nodes));
    all[0][1] = nodes;
    for (int d = 0; d < 3; d++) {
      p->block[d]  = d ? 1 : p->size;
      p->stride[d] = d ? 0 : p->size;
    }
    p->field[0].xbox = p->field[0].ybox = (PatchFDBox){{0, 0, 0}, {nodes, 1, 1}};
    PetscCall(PetscArraycpy(p->field[0].read, all, 3));
    PetscCall(PetscArraycpy(p->field[0].write, all, 3));
    PetscCall(PetscArraycpy(p->cells, cells, 3));
    p->covers = (PetscBool)(points->nnodes == p->ncells * p->size);
  } else PetscCall(IndexCreate(p->ncells, p->size, points->nodes == PATCHFD_NODES_CELL ? NULL : points->index, &p->index));
  p->nbatch = (p->ncells + VL - 1) / VL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the coefficients of the map of a cell, from its corners */
static void PointsMap(const PatchFDPoints *points, PetscCount cell, int lane, V *map)
{
  const int dim = (int)points->dim, corners = 1 << dim;

  for (int a = 0; a < dim; a++) {
    PetscReal m[8];

    for (int i = 0; i < corners; i++) m[i] = points->coordinate[(size_t)points->geoindex[cell * corners + i] * dim + a];
    for (int bit = 1; bit < corners; bit *= 2)
      for (int i = 0; i < corners; i++)
        if (i & bit) m[i] -= m[i ^ bit];
    for (int i = 1; i < corners; i++) ((REAL *)&map[(i - 1) * dim + a])[lane] = (REAL)m[i];
  }
}

/* factors of all cells, which are checked even where they are computed anew; empty lanes are the last cell once more */
static PetscErrorCode PointsFactors(const PatchFDPoints *points, PatchFDGeometry *geometry, PointsPlan *p)
{
  const PetscInt size = p->npoint * p->nfactor, map = ((1 << p->dim) - 1) * p->dim;
  PatchFDLanes  *factor = NULL;

  PetscFunctionBegin;
  if (p->computed) PetscCall(VMalloc((size_t)p->nbatch * map, &p->map, &p->mapbase));
  else PetscCall(VMalloc((size_t)p->nbatch * size, &p->factor, &p->factorbase));
  PetscCall(PetscMalloc1(size, &factor));
  for (PetscCount first = 0; first < p->nbatch * VL; first += PATCHFD_LANES) {
    if (first < p->ncells) PetscCall(PatchFDGeometryCells(geometry, first, factor));
    for (PetscCount l = 0, i = first; l < PATCHFD_LANES && i < p->nbatch * VL; l++, i++) {
      /* behind the last cell that is still there */
      const PetscCount cell = PetscMin(i, p->ncells - 1), batch = i / VL, from = cell < first ? PATCHFD_LANES - 1 : cell - first;
      const int        lane = (int)(i % VL);

      if (p->computed) PointsMap(points, cell, lane, p->map + batch * map);
      else {
        REAL *to = (REAL *)(p->factor + (size_t)batch * size) + lane;

        for (PetscInt q = 0; q < size; q++) to[q * VL] = (REAL)factor[q][from];
      }
    }
  }
  PetscCall(PetscFree(factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Six factors take at least as long to be read as to be computed, at low degrees longer; one does not (tests/quadrature -time) */
static PetscBool PointsIsComputed(const PatchFDPoints *points)
{
  if (points->factors != PATCHFD_FACTORS_AUTO) return (PetscBool)(points->factors == PATCHFD_FACTORS_COMPUTED);
  return (PetscBool)(points->nkappa && PatchFDPointsCanCompute(points));
}

/* room for a batch, and what a product costs */
static PetscErrorCode PointsWork(PointsPlan *p)
{
  const size_t         slice = (size_t)(p->c * p->c), cube = (size_t)p->npoint;
  const PetscLogDouble n = p->n, c = p->c, third = p->dim == 3 ? c : 1;
  V                   *v = NULL;

  PetscFunctionBegin;
  if (p->solid) {
    PetscCall(SolidWork(p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VMalloc(4 * cube + 2 * slice, &v, &p->base));
  p->u     = v;
  p->a     = v + cube;
  p->q     = v + 2 * cube;
  p->t     = v + 3 * cube;
  p->r     = v + 4 * cube;
  p->s     = p->r + slice;
  p->flops = p->stiff ? (p->dim == 3 ? 12 : 8) * third * c * c * c + (p->dim == 3 ? 15 : 6) * third * c * c : 0;
  if (p->mass) p->flops += (p->stiff ? 2 : 1) * third * c * c;
  if (p->gauss) p->flops += 4 * (p->dim == 3 ? c * n * n * n + c * c * n * n + c * c * c * n : c * n * n + c * c * n);
  p->flops *= (PetscLogDouble)p->ncells * p->ncomp;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PointsCreate(const PatchFDOperatorDesc *desc, PointsPlan **plan)
{
  const PatchFDPoints *points = desc->points;
  PatchFDGeometry      geometry;
  PointsPlan          *p;

  PetscFunctionBegin;
  PetscCall(PatchFDPointsCheck(points));
  PetscCall(PatchFDGeometryCreate(points, &geometry));
  PetscCall(PetscNew(&p));
  *plan       = p;
  p->dim      = points->dim;
  p->n        = geometry.rule.nodes;
  p->c        = geometry.rule.points;
  p->ncomp    = points->ncomp;
  p->size     = p->n * p->n * (p->dim == 3 ? p->n : 1);
  p->npoint   = geometry.npoint;
  p->nfactor  = geometry.nfactor;
  p->gauss    = (PetscBool)(points->gauss > 0);
  p->stiff    = (PetscBool)(points->nkappa > 0);
  p->mass     = (PetscBool)(points->shift != NULL);
  p->solid    = points->solid;
  p->nkappa   = points->nkappa;
  p->computed = PointsIsComputed(points);
  p->tensor   = (PetscBool)(points->nkappa > 1);
  for (PetscInt i = 0; i < points->nkappa && p->computed; i++) p->K[i] = (REAL)points->kappa[i];
  if (p->mass && p->computed) p->shift = (REAL)points->shift[0];
  PetscCall(PointsMatrix(p->c, p->n, geometry.rule.B, &p->B, &p->Bt));
  PetscCall(PointsMatrix(p->c, p->n, geometry.rule.D, &p->D, &p->Dt));
  PetscCall(PointsMatrix(p->c, p->c, geometry.rule.C, &p->C, &p->Ct));
  PetscCall(RealCopy((size_t)p->c, geometry.rule.x, &p->x));
  PetscCall(RealCopy((size_t)p->c, geometry.rule.w, &p->w));
  PetscCall(PointsNodes(desc, p));
  if (p->ncells) PetscCall(PointsFactors(points, &geometry, p));
  if (p->solid) PetscCall(SolidProjection(points, &geometry.rule, p));
  PetscCall(PatchFDGeometryDestroy(&geometry));
  if (p->solid) SolidChoose(p);
  else PointsChoose(p);
  PetscCall(PointsWork(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* `size` vectors of each batch of cells, picked lane by lane */
static PetscErrorCode PointsPickLanes(PetscCount ncells, const PetscCount cells[], PetscInt size, const V *from, V **to, void **base)
{
  const PetscCount nbatch = (ncells + VL - 1) / VL;

  PetscFunctionBegin;
  PetscCall(VMalloc((size_t)(nbatch * size), to, base));
  for (PetscCount i = 0; i < nbatch * VL; i++) {
    const PetscCount cell = cells[PetscMin(i, ncells - 1)];
    const V         *in   = from + cell / VL * size;
    V               *out  = *to + i / VL * size;

    for (PetscInt q = 0; q < size; q++) ((REAL *)&out[q])[i % VL] = ((const REAL *)&in[q])[cell % VL];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the operator of some of the cells */
static PetscErrorCode PointsPick(const PointsPlan *from, PetscCount ncells, const PetscCount cells[], const PetscInt index[],
                                 PointsPlan **plan)
{
  const PetscInt c = from->c, n = from->n;
  PointsPlan    *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan         = p;
  *p            = *from;
  p->base       = NULL;
  p->covers     = PETSC_FALSE;
  p->ncells     = ncells;
  p->nbatch     = (ncells + VL - 1) / VL;
  p->factorbase = p->mapbase = NULL;
  PetscCall(RealDuplicate((size_t)(c * n), from->B, &p->B));
  PetscCall(RealDuplicate((size_t)(c * n), from->Bt, &p->Bt));
  PetscCall(RealDuplicate((size_t)(c * n), from->D, &p->D));
  PetscCall(RealDuplicate((size_t)(c * n), from->Dt, &p->Dt));
  PetscCall(RealDuplicate((size_t)(c * c), from->C, &p->C));
  PetscCall(RealDuplicate((size_t)(c * c), from->Ct, &p->Ct));
  PetscCall(RealDuplicate((size_t)c, from->x, &p->x));
  PetscCall(RealDuplicate((size_t)c, from->w, &p->w));
  PetscCall(IndexCreate(ncells, p->size, index, &p->index));
  if (p->computed) PetscCall(PointsPickLanes(ncells, cells, ((1 << p->dim) - 1) * p->dim, from->map, &p->map, &p->mapbase));
  else PetscCall(PointsPickLanes(ncells, cells, p->npoint * p->nfactor, from->factor, &p->factor, &p->factorbase));
  PetscCall(PointsWork(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- apply ---- */

static void PointsBatchAt(const PointsPlan *p, PetscCount batch, const PatchFDRange clip, Batch *b)
{
  PetscInt cell[3][VL] = {{0}};

  b->count = RangeBatch(p->cells, batch * VL, cell);
  for (int d = 0; d < 3; d++)
    for (int l = 0; l < VL; l++) b->first[d][l] = cell[d][l] * p->stride[d];
  BatchClip(b, p->block, clip);
}

/* u = component `comp` of x in the cells of a batch */
static void PointsGather(const PointsPlan *p, PetscCount batch, PetscInt comp, const REAL *x, V *u)
{
  const PatchFDField *f = &p->field[p->solid ? comp : 0];
  Batch               b;

  if (p->index.node) {
    IndexGather(&p->index, batch, p->ncomp, x + comp, u);
    return;
  }
  PointsBatchAt(p, batch, f->read, &b);
  Gather(&b, p->block, &f->xbox, x + f->x0, u);
}

/* y = beta y + alpha u there; beta is 1 where cells share nodes */
static void PointsScatter(const PointsPlan *p, PetscCount batch, PetscInt comp, REAL alpha, const V *u, REAL beta, REAL *y)
{
  const PatchFDField *f = &p->field[p->solid ? comp : 0];
  Batch               b;

  if (p->index.node) {
    IndexScatter(&p->index, batch, p->ncomp, alpha, u, y + comp);
    return;
  }
  PointsBatchAt(p, batch, f->write, &b);
  Scatter(&b, p->block, alpha, u, beta, &f->ybox, y + f->y0);
}

static PetscErrorCode PointsApply(PointsPlan *p, PetscReal alpha, const REAL *x, REAL beta, REAL *y)
{
  PetscFunctionBegin;
  for (PetscCount batch = 0; batch < p->nbatch; batch++) {
    for (PetscInt first = 0, n = p->solid ? p->ncomp : 1; first < p->ncomp; first += n) {
      for (PetscInt c = 0; c < n; c++) PointsGather(p, batch, first + c, x, p->u + c * p->size);
      (*p->apply)(p, batch);
      for (PetscInt c = 0; c < n; c++) PointsScatter(p, batch, first + c, (REAL)alpha, p->u + c * p->size, beta, y);
    }
  }
  PetscCall(PetscLogFlops(p->flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- diagonal ---- */

/* g[0 .. nfactor - 1] of point q of the cells: columns of what becomes of the derivatives of unit vectors, where they are computed */
static void PointsFactorsAt(const PointsPlan *p, PetscCount batch, PetscInt q, V g[7])
{
  const int      dim = (int)p->dim;
  const PetscInt c = p->c, i = q % c, j = q / c % c, k = q / c / c;
  const REAL     weight = p->w[i] * p->w[j] * (dim == 3 ? p->w[k] : 1);
  PointsSlice    slice;
  PetscInt       at  = 0;
  V              det = {0};

  if (!p->computed) {
    for (PetscInt f = 0; f < p->nfactor; f++) g[f] = p->factor[((size_t)batch * p->npoint + q) * p->nfactor + f];
    return;
  }
  PointsSliceAt(dim, p->map + batch * ((1 << dim) - 1) * dim, p->x[k], &slice);
  for (int l = 0; l < dim; l++) {
    V d[3] = {{0}};

    d[l] = Splat(1);
    det  = PointsCompute(dim, &slice, p->x[i], p->x[j], weight * (p->tensor ? 1 : p->K[0]), p->tensor ? p->K : NULL, d);
    for (int m = l; m < dim && p->stiff; m++) g[at++] = d[m];
  }
  if (p->mass) g[at] = weight * p->shift * det;
}

/* u += factor (M[2]' (x) M[1]' (x) M[0]') q, M[d] the products of entries of two of the matrices B (0) and D (1) of direction d */
static void PointsDiagonalTerm(const PointsPlan *p, const int deriv[2][3], REAL factor)
{
  const PetscInt n = p->n, c = p->c;
  PetscInt       size[3] = {c, c, p->dim == 3 ? c : 1};
  V             *in = p->q, *out = p->t;
  REAL           M[POINTS_MAX_POINTS * POINTS_MAX_POINTS];

  for (int d = 0; d < p->dim; d++) {
    const REAL *X = deriv[0][d] ? p->Dt : p->Bt, *Y = deriv[1][d] ? p->Dt : p->Bt;

    for (PetscInt i = 0; i < n * c; i++) M[i] = X[i] * Y[i];
    Contract(d, size, n, (Coef){M, NULL}, in, out, PETSC_FALSE);
    size[d] = n;
    in      = out;
    out     = out == p->t ? p->a : p->t;
  }
  for (PetscInt i = 0; i < p->size; i++) p->u[i] += factor * in[i];
}

static PetscErrorCode PointsDiagonal(PointsPlan *p, REAL *diagonal)
{
  PetscFunctionBegin;
  for (PetscCount batch = 0; batch < p->nbatch && p->solid; batch++) {
    SolidDiagonal(p, batch);
    for (PetscInt comp = 0; comp < p->ncomp; comp++) PointsScatter(p, batch, comp, 1, p->diagonal + comp * p->size, 1, diagonal);
  }
  if (p->solid) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscCount batch = 0; batch < p->nbatch; batch++) {
    PetscInt f = 0;

    for (PetscInt i = 0; i < p->size; i++) p->u[i] = (V){0};
    for (int l = 0; l <= p->dim; l++) {
      for (int m = l; m <= p->dim; m++) { /* derivatives l and m; dim is the value */
        const int deriv[2][3] = {{l == 0, l == 1, l == 2 && p->dim == 3}, {m == 0, m == 1, m == 2 && p->dim == 3}};
        V         g[7];

        if (l == p->dim ? !p->mass : (m == p->dim || !p->stiff)) continue;
        for (PetscInt q = 0; q < p->npoint; q++) {
          PointsFactorsAt(p, batch, q, g);
          p->q[q] = g[f];
        }
        PointsDiagonalTerm(p, deriv, l == m ? 1 : 2);
        f++;
      }
    }
    for (PetscInt comp = 0; comp < p->ncomp; comp++) PointsScatter(p, batch, comp, 1, p->u, 1, diagonal);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
