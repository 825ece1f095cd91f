static char help[] =
  "-div(K grad u) + s u on a DMPLEX of quadrilaterals or hexahedra, or on a DMBOX, and the corrections of its closed cells (PCPATCHFD),\n\
against dense matrices made here from the formulas: the metric at Gauss points, its profiles, what face neighbours add, and inverses.\n\
\n\
  cells -dim 3 -degree 3 -cells 3,2,2 -numbers 6 -natural\n\n";

#include <petscpatchfd.h>
#include <petscds.h>
#include <petscsnes.h>
#include <patchfd/private/bakeoffimpl.h>
#include <patchfd/private/cellspace.h>
#include <lapacke.h>
#include "catch.h"
#include "runtest.h"

enum {
  MAX_POINTS = 9
};

typedef struct {
  PetscInt  dim, degree, cells[3], numbers, ncomp;
  PetscBool natural, turned; /* one side is natural; cells list their vertices in other orders */
  PetscBool box, cuda;       /* a DMBOX; vectors are on a GPU */
} Case;

/* K: numbers of a positive definite matrix, with a jump; s >= 0 */
static PetscErrorCode Conductivity(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PetscInt n, PetscReal k[],
                                   PETSC_UNUSED void *ctx)
{
  const PetscReal base = PetscExpReal(PetscSinReal(3 * x[0] + 2 * x[1])) * (x[1] > 0.5 ? 50 : 1);

  for (PetscInt i = 0; i < n; i++) k[i] = n <= dim ? base * (1 + i) : 0;
  for (PetscInt a = 0, next = 0; a < dim && n > dim; a++)
    for (PetscInt b = a; b < dim; b++, next++) k[next] = base * (a == b ? 1 + a : 0.3);
  return PETSC_SUCCESS;
}

static PetscErrorCode Shift(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                            PetscReal s[], PETSC_UNUSED void *ctx)
{
  s[0] = 5 + x[0];
  return PETSC_SUCCESS;
}

/* ---- the mesh ---- */

/* the corners of cell c in PETSC's order, from one that turns with c: rotations keep the volume positive */
static void Corners(const Case *c, const PetscInt at[3], PetscInt number, PetscInt corner[8])
{
  static const PetscInt quad[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  const PetscInt        turn = c->turned ? number % 4 : 0, stride[3] = {1, c->cells[0] + 1, (c->cells[0] + 1) * (c->cells[1] + 1)};

  for (PetscInt i = 0; i < (c->dim == 3 ? 8 : 4); i++) {
    const PetscInt v = (i % 4 + turn) % 4, z = i / 4;
    PetscInt       place[3];

    for (PetscInt d = 0; d < 3; d++) { /* and the directions themselves */
      const PetscInt axis = c->turned && c->dim == 3 ? (d + number) % 3 : d;

      place[axis] = at[axis] + (d < 2 ? quad[v][d] : z);
    }
    corner[i < 4 ? i : 4 + i % 4] = place[0] * stride[0] + place[1] * stride[1] + (c->dim == 3 ? place[2] * stride[2] : 0);
  }
  if (c->dim == 3) { /* PETSc lists the lower quadrilateral the other way round */
    const PetscInt swap = corner[1];

    corner[1] = corner[3];
    corner[3] = swap;
  }
}

static PetscErrorCode CreateMesh(const Case *c, DM *mesh)
{
  const PetscInt n[3] = {c->cells[0], c->cells[1], c->dim == 3 ? c->cells[2] : 1}, nz = c->dim == 3 ? n[2] + 1 : 1;
  const PetscInt nvertex = (n[0] + 1) * (n[1] + 1) * nz, ncell = n[0] * n[1] * n[2], corners = c->dim == 3 ? 8 : 4;
  PetscInt      *cell;
  PetscReal     *x;
  PetscMPIInt    rank;
  DM             parallel;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscMalloc2(ncell * corners, &cell, nvertex * c->dim, &x));
  for (PetscInt i = 0; i < ncell; i++) Corners(c, (const PetscInt[]){i % n[0], i / n[0] % n[1], i / n[0] / n[1]}, i, cell + i * corners);
  for (PetscInt i = 0; i < nvertex; i++) {
    const PetscInt at[3] = {i % (n[0] + 1), i / (n[0] + 1) % (n[1] + 1), i / (n[0] + 1) / (n[1] + 1)};

    for (PetscInt d = 0; d < c->dim; d++) x[i * c->dim + d] = (PetscReal)at[d] / n[d];
    for (PetscInt d = 0; d < c->dim; d++) x[i * c->dim + d] += 0.06 * PetscSinReal(5.0 * at[(d + 1) % c->dim] + 2 * at[d]) / n[d];
  }
  PetscCall(DMPlexCreateFromCellListPetsc(PETSC_COMM_WORLD, c->dim, rank ? 0 : ncell, rank ? 0 : nvertex, corners, PETSC_TRUE, cell, c->dim,
                                          x, mesh));
  PetscCall(PetscFree2(cell, x));
  PetscCall(DMPlexDistribute(*mesh, 0, NULL, &parallel));
  if (parallel) {
    PetscCall(DMDestroy(mesh));
    *mesh = parallel;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the boundary but, where that is natural, the faces at x = 0 */
static PetscErrorCode MarkSides(const Case *c, DM dm)
{
  PetscInt first, end;
  DMLabel  label;

  PetscFunctionBeginUser;
  PetscCall(DMCreateLabel(dm, "sides"));
  PetscCall(DMGetLabel(dm, "sides", &label));
  PetscCall(DMPlexMarkBoundaryFaces(dm, 1, label));
  PetscCall(DMPlexGetHeightStratum(dm, 1, &first, &end));
  for (PetscInt f = first; f < end && c->natural; f++) {
    PetscReal volume, centre[3], normal[3];

    PetscCall(DMPlexComputeCellGeometryFVM(dm, f, &volume, centre, normal));
    if (PetscAbsReal(centre[0]) < 0.06 / c->cells[0]) PetscCall(DMLabelClearValue(label, f, 1));
  }
  PetscCall(DMPlexLabelComplete(dm, label));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(const Case *c, DM *dm, Mat *A)
{
  const PetscInt id = 1;
  PetscFE        fe;
  DMLabel        label;

  PetscFunctionBeginUser;
  PetscCall(CreateMesh(c, dm));
  if (c->cuda) PetscCall(DMSetVecType(*dm, VECCUDA));
  PetscCall(PetscFECreateLagrange(PETSC_COMM_SELF, c->dim, c->ncomp, PETSC_FALSE, c->degree, PETSC_DETERMINE, &fe));
  PetscCall(DMSetField(*dm, 0, NULL, (PetscObject)fe));
  PetscCall(PetscFEDestroy(&fe));
  PetscCall(DMCreateDS(*dm));
  PetscCall(MarkSides(c, *dm));
  PetscCall(DMGetLabel(*dm, "sides", &label));
  PetscCall(DMAddBoundary(*dm, DM_BC_ESSENTIAL, "sides", label, 1, &id, 0, 0, NULL, NULL, NULL, NULL, NULL));
  PetscCall(MatCreateDiffusionPlex(*dm, A));
  PetscCall(MatDiffusionPlexSetFunction(*A, c->numbers, Conductivity, Shift, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Bend(PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n, PetscReal y[],
                           PETSC_UNUSED void *ctx)
{
  for (PetscInt d = 0; d < dim; d++) y[d] = x[d] + 0.05 * PetscSinReal(3 * x[(d + 1) % dim] + 2 * x[d]);
  return PETSC_SUCCESS;
}

static PetscErrorCode CreateBox(const Case *c, DM *dm, Mat *A)
{
  DMBoxBoundaryType side[6] = {c->natural ? DMBOX_BOUNDARY_NEUMANN : DMBOX_BOUNDARY_DIRICHLET};

  PetscFunctionBeginUser;
  for (int i = 1; i < 6; i++) side[i] = DMBOX_BOUNDARY_DIRICHLET;
  PetscCall(DMBoxCreate(PETSC_COMM_WORLD, c->dim, c->cells, c->degree, dm));
  PetscCall(DMBoxSetBoundary(*dm, side));
  PetscCall(DMBoxSetOperator(*dm, "diffusion"));
  PetscCall(DMBoxSetExtraPoints(*dm, 1, 1));
  PetscCall(DMBoxSetMapping(*dm, Bend, NULL));
  PetscCall(DMBoxSetMappingDegree(*dm, 1));
  PetscCall(DMBoxSetDiffusionFunction(*dm, c->numbers, Conductivity, Shift, NULL));
  if (c->cuda) PetscCall(DMSetVecType(*dm, VECCUDA));
  PetscCall(DMSetFromOptions(*dm));
  PetscCall(DMSetUp(*dm));
  PetscCall(DMCreateMatrix(*dm, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- one-dimensional objects, in [0, 1] ---- */

typedef struct {
  PetscInt  n, q;                                                                               /* nodes, points */
  PetscReal w[MAX_POINTS], x[MAX_POINTS], B[MAX_POINTS][MAX_POINTS], D[MAX_POINTS][MAX_POINTS]; /* [point][node] */
} Rule;

static PetscErrorCode RuleCreate(PetscInt degree, Rule *r)
{
  PetscReal node[MAX_POINTS], unused[MAX_POINTS];

  PetscFunctionBeginUser;
  r->n = r->q = degree + 1;
  PetscCall(PetscDTGaussLobattoLegendreQuadrature(r->n, PETSCGAUSSLOBATTOLEGENDRE_VIA_LINEAR_ALGEBRA, node, unused));
  PetscCall(PetscDTGaussQuadrature(r->q, 0, 1, r->x, r->w));
  for (PetscInt i = 0; i < r->n; i++) node[i] = (node[i] + 1) / 2;
  for (PetscInt q = 0; q < r->q; q++) {
    for (PetscInt i = 0; i < r->n; i++) {
      r->B[q][i] = 1;
      r->D[q][i] = 0;
      for (PetscInt j = 0; j < r->n; j++) {
        PetscReal term = 1 / (node[i] - node[j]);

        if (j == i) continue;
        r->B[q][i] *= (r->x[q] - node[j]) / (node[i] - node[j]);
        for (PetscInt k = 0; k < r->n; k++)
          if (k != i && k != j) term *= (r->x[q] - node[k]) / (node[i] - node[k]);
        r->D[q][i] += term;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a cell ---- */

/* G = |J| J^{-1} K J^{-T} and |J| s at point r of a multilinear cell */
static void Metric(const Case *c, const PlexCells *p, PetscInt cell, const PetscReal r[3], PetscReal G[3][3], PetscReal *det)
{
  PetscReal J[3][3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, c->dim == 2}}, C[3][3], K[3][3], x[3] = {0}, k[6];

  for (PetscInt i = 0; i < 1 << c->dim; i++) {
    const PetscReal *v = p->coordinate + p->geoindex[cell * (1 << c->dim) + i] * c->dim;

    for (PetscInt a = 0; a < c->dim; a++) {
      PetscReal value = 1;

      for (PetscInt b = 0; b < c->dim; b++) {
        PetscReal slope = 1;

        value *= i >> b & 1 ? r[b] : 1 - r[b];
        for (PetscInt e = 0; e < c->dim; e++) slope *= e == b ? (i >> e & 1 ? 1 : -1) : (i >> e & 1 ? r[e] : 1 - r[e]);
        J[a][b] += v[a] * slope;
      }
      x[a] += v[a] * value;
    }
  }
  for (PetscInt a = 0; a < 3; a++) /* cofactors: C = |J| J^{-1} */
    for (PetscInt b = 0; b < 3; b++)
      C[b][a] = J[(a + 1) % 3][(b + 1) % 3] * J[(a + 2) % 3][(b + 2) % 3] - J[(a + 1) % 3][(b + 2) % 3] * J[(a + 2) % 3][(b + 1) % 3];
  *det = J[0][0] * C[0][0] + J[0][1] * C[1][0] + J[0][2] * C[2][0];
  (void)Conductivity(c->dim, 0, x, c->numbers, k, NULL);
  for (PetscInt a = 0, next = 0; a < c->dim; a++)
    for (PetscInt b = a; b < c->dim; b++, next++)
      K[a][b] = K[b][a] = c->numbers > c->dim ? k[next] : (a == b ? k[c->numbers == 1 ? 0 : a] : 0);
  for (PetscInt a = 0; a < c->dim; a++) {
    for (PetscInt b = 0; b < c->dim; b++) {
      G[a][b] = 0;
      for (PetscInt e = 0; e < c->dim; e++)
        for (PetscInt f = 0; f < c->dim; f++) G[a][b] += C[a][e] * K[e][f] * C[b][f] / *det;
    }
  }
  (void)Shift(c->dim, 0, x, 1, x, NULL);
  *det *= x[0]; /* |J| s */
}

/* the fit to a cell: one-dimensional matrices, exp T, mean of |J| s, size of K in each direction */
typedef struct {
  PetscReal A[3][MAX_POINTS][MAX_POINTS], M[3][MAX_POINTS][MAX_POINTS], T[3], shift, K[3];
} Fit;

static void FitCell(const Case *c, const PlexCells *p, const Rule *rule, PetscInt cell, Fit *f)
{
  const PetscInt q                      = rule->q;
  PetscReal      mean[3][3][MAX_POINTS] = {{{0}}}, total[3] = {0}; /* mean[a][b][i]: of log G_aa over all but direction b */

  f->shift = 0;
  for (PetscInt i = 0; i < PetscPowInt(q, c->dim); i++) {
    const PetscInt at[3] = {i % q, i / q % q, i / q / q};
    PetscReal      r[3] = {0}, G[3][3], s, w = 1;

    for (PetscInt d = 0; d < c->dim; d++) {
      r[d] = rule->x[at[d]];
      w *= rule->w[at[d]];
    }
    Metric(c, p, cell, r, G, &s);
    for (PetscInt a = 0; a < c->dim; a++) {
      for (PetscInt b = 0; b < c->dim; b++) mean[a][b][at[b]] += w / rule->w[at[b]] * PetscLogReal(G[a][a]);
      total[a] += w * PetscLogReal(G[a][a]);
    }
    f->shift += w * s;
  }
  for (PetscInt b = 0; b < c->dim; b++) {
    PetscReal T = 0;

    for (PetscInt a = 0; a < c->dim; a++) T += a == b ? 0 : total[a] / (c->dim - 1);
    f->T[b] = PetscExpReal(T);
    f->K[b] = PetscSqrtReal(PetscExpReal(total[b]) * f->T[b]);
    for (PetscInt i = 0; i < rule->n; i++) {
      for (PetscInt j = 0; j < rule->n; j++) {
        f->A[b][i][j] = f->M[b][i][j] = 0;
        for (PetscInt k = 0; k < q; k++) {
          PetscReal mu = 0;

          for (PetscInt a = 0; a < c->dim; a++) mu += a == b ? 0 : (mean[a][b][k] - total[a]) / (c->dim - 1);
          f->A[b][i][j] += rule->w[k] * PetscExpReal(mean[b][b][k]) * rule->D[k][i] * rule->D[k][j];
          f->M[b][i][j] += rule->w[k] * PetscExpReal(mu) * rule->B[k][i] * rule->B[k][j];
        }
      }
    }
  }
}

/* the numbers of the nodes inside of a side, which only its two cells have, in increasing order */
static PetscInt SideNodes(const Case *c, const PlexCells *p, PetscInt cell, PetscInt side, PetscInt node[])
{
  const PetscInt n = c->degree + 1, d = side / 2, end = side % 2 ? c->degree : 0;
  PetscInt       count = 0;

  for (PetscInt i = 0; i < p->size; i++) {
    const PetscInt at[3] = {i % n, i / n % n, i / n / n};
    PetscBool      in    = (PetscBool)(at[d] == end);

    for (PetscInt e = 0; e < c->dim; e++) in = (PetscBool)(in && (e == d || (at[e] > 0 && at[e] < c->degree)));
    if (in && p->index[cell * p->size + i] >= 0) node[count++] = p->index[cell * p->size + i];
  }
  PetscCallAbort(PETSC_COMM_SELF, PetscSortInt(count, node));
  return count;
}

static PetscBool SideIsFixed(const Case *c, const PlexCells *p, PetscInt cell, PetscInt side)
{
  const PetscInt n = c->degree + 1, stride = side / 2 == 0 ? 1 : (side / 2 == 1 ? n : n * n);

  for (PetscInt i = 0; i < p->size; i++)
    if (i / stride % n == (side % 2 ? c->degree : 0) && p->index[cell * p->size + i] >= 0) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* what neighbours add, or a side with Dirichlet conditions; on one rank */
static void AddNeighbours(const Case *c, const PlexCells *p, const Fit fit[], PetscInt cell, Fit *own)
{
  const PetscInt n = c->degree + 1;
  PetscInt       mine[MAX_POINTS * MAX_POINTS], theirs[MAX_POINTS * MAX_POINTS];

  for (PetscInt side = 0; side < 2 * c->dim; side++) {
    const PetscInt d = side / 2, at = side % 2 ? c->degree : 0, count = SideNodes(c, p, cell, side, mine);

    if (SideIsFixed(c, p, cell, side)) {
      for (PetscInt i = 0; i < n; i++) {
        own->A[d][i][at] = own->A[d][at][i] = i == at;
        own->M[d][i][at] = own->M[d][at][i] = i == at;
      }
      continue;
    }
    if (c->degree == 1) { /* without nodes inside of sides neighbours are taken to be like the cell */
      own->A[d][at][at] += fit[cell].A[d][at][at];
      own->M[d][at][at] += fit[cell].M[d][at][at];
    }
    for (PetscInt other = 0; other < p->ncells; other++) {
      for (PetscInt s = 0; s < 2 * c->dim; s++) {
        const PetscInt e = s % 2 ? c->degree : 0;
        PetscReal      f;

        if (!count || other == cell || SideNodes(c, p, other, s, theirs) != count || theirs[0] != mine[0]) continue;
        f = PetscMax(1, fit[cell].K[d] / fit[other].K[s / 2]);
        own->A[d][at][at] += f * fit[other].A[s / 2][e][e];
        own->M[d][at][at] += f * fit[other].M[s / 2][e][e] * fit[other].T[s / 2] / fit[cell].T[d];
      }
    }
  }
}

/* B += the correction of a cell, from the inverse of the sum of products, weights and scaling */
static PetscErrorCode AddCell(const Case *c, const PlexCells *p, const Fit *f, PetscInt cell, const PetscScalar diagonal[],
                              const PetscInt count[], Mat B)
{
  const PetscInt n = c->degree + 1, size = p->size, *index = p->index + cell * size;
  PetscReal     *T, *C;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(size * size, &T, size, &C));
  for (PetscInt i = 0; i < size; i++) {
    for (PetscInt j = 0; j < size; j++) {
      const PetscInt a[3] = {i % n, i / n % n, i / n / n}, b[3] = {j % n, j / n % n, j / n / n};
      PetscReal      mass = 1;

      T[i * size + j] = 0;
      for (PetscInt d = 0; d < c->dim; d++) {
        PetscReal term = 1;

        for (PetscInt e = 0; e < c->dim; e++) term *= e == d ? f->A[e][a[e]][b[e]] : f->M[e][a[e]][b[e]];
        T[i * size + j] += term;
        mass *= f->M[d][a[d]][b[d]];
      }
      T[i * size + j] += f->shift * mass;
    }
    C[i] = index[i] < 0 ? 0 : PetscSqrtReal(T[i * size + i] / PetscRealPart(diagonal[index[i] * c->ncomp]) / count[index[i]]);
  }
  PetscCheck(!LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'U', (lapack_int)size, T, (lapack_int)size), PETSC_COMM_SELF, PETSC_ERR_PLIB, "dpotrf");
  PetscCheck(!LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'U', (lapack_int)size, T, (lapack_int)size), PETSC_COMM_SELF, PETSC_ERR_PLIB, "dpotri");
  for (PetscInt i = 0; i < size; i++)
    for (PetscInt j = 0; j < size && index[i] >= 0; j++)
      for (PetscInt k = 0; k < c->ncomp && index[j] >= 0; k++)
        PetscCall(MatSetValue(B, index[i] * c->ncomp + k, index[j] * c->ncomp + k, C[i] * T[PetscMin(i, j) * size + PetscMax(i, j)] * C[j],
                              ADD_VALUES));
  PetscCall(PetscFree2(T, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cells with the geometry of their images; the nodes that no cell has are fixed */
static PetscErrorCode GetCells(const Case *c, DM dm, Mat A, CellSpace *space, PatchFDPoints *points, PlexCells *p)
{
  PatchFDCellsDesc desc;
  Mat_Box         *m;

  PetscFunctionBeginUser;
  if (!c->box) {
    PetscCall(PlexCellsCreate(dm, p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetCellSpace_Box(A, space));
  PetscCall((*space->describe)(space, &PatchFDKernelsHostDouble, &desc));
  PetscCall(MatBoxFind(A, &m));
  PetscCall(MatBoxGetPoints(m, (const PetscInt(*)[2])desc.cells, PETSC_FALSE, points));
  *p = (PlexCells){.dim        = space->dim,
                   .degree     = space->degree,
                   .ncomp      = space->ncomp,
                   .ncells     = space->ncells,
                   .size       = PetscPowInt(space->degree + 1, space->dim),
                   .index      = (PetscInt *)desc.points.index,
                   .coordinate = (PetscReal *)points->coordinate,
                   .geoindex   = (PetscInt *)points->geoindex};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RestoreCells(const Case *c, DM dm, CellSpace *space, PatchFDPoints *points, PlexCells *p)
{
  PetscFunctionBeginUser;
  if (!c->box) {
    PetscCall(PlexCellsDestroy(p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall((*((const DM_Box *)dm->data)->op->ops.pointsdestroy)(points));
  PetscCall((*space->destroy)(space));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateCorrection(const Case *c, DM dm, Mat A, Vec diagonal, Mat *B)
{
  const PetscInt     nnodes = A->rmap->n / c->ncomp;
  CellSpace          space;
  PatchFDPoints      points;
  PlexCells          p;
  Rule               rule;
  Fit               *fit;
  PetscInt          *count;
  const PetscScalar *d;

  PetscFunctionBeginUser;
  PetscCall(GetCells(c, dm, A, &space, &points, &p));
  PetscCall(RuleCreate(c->degree, &rule));
  PetscCall(PetscCalloc2(p.ncells, &fit, nnodes, &count));
  for (PetscInt i = 0; i < p.ncells; i++) FitCell(c, &p, &rule, i, &fit[i]);
  for (PetscInt i = 0; i < p.ncells * p.size; i++)
    if (p.index[i] >= 0) count[p.index[i]]++;
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, A->rmap->n, A->rmap->n, NULL, B));
  PetscCall(VecGetArrayRead(diagonal, &d));
  for (PetscInt i = 0; i < p.ncells; i++) {
    Fit own = fit[i];

    AddNeighbours(c, &p, fit, i, &own);
    PetscCall(AddCell(c, &p, &own, i, d, count, *B));
  }
  for (PetscInt i = 0; i < nnodes; i++)
    if (!count[i]) PetscCall(MatSetValue(*B, i, i, 1, ADD_VALUES));
  PetscCall(VecRestoreArrayRead(diagonal, &d));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscFree2(fit, count));
  PetscCall(RestoreCells(c, dm, &space, &points, &p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- tests ---- */

static PetscErrorCode Compare(const char *what, Vec found, Vec wanted, PetscReal tolerance)
{
  PetscReal norm, error;

  PetscFunctionBeginUser;
  PetscCall(VecNorm(wanted, NORM_2, &norm));
  PetscCall(VecAXPY(found, -1, wanted));
  PetscCall(VecNorm(found, NORM_2, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what, norm > 0 && error <= tolerance * norm ? "equal" : "DIFFERENT"));
  if (!(error <= tolerance * norm)) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %g of %g\n", (double)error, (double)norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one application, also in single precision, against the dense correction */
static PetscErrorCode TestCorrection(const Case *c, DM dm, Mat A)
{
  Vec x, y, wanted, diagonal, single[2];
  Mat B;
  PC  pc;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &wanted));
  PetscCall(VecDuplicate(x, &diagonal));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(CreateCorrection(c, dm, A, diagonal, &B));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(B, x, wanted));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCPATCHFD));
  PetscCall(PCPatchFDSetPatch(pc, PC_PATCHFD_PATCH_CELL));
  PetscCall(PCApply(pc, x, y));
  PetscCall(Compare("correction of closed cells", y, wanted, 1e-10));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecCreate(PETSC_COMM_WORLD, &single[i]));
    PetscCall(VecSetSizes(single[i], A->rmap->n, A->rmap->N));
    PetscCall(VecSetType(single[i], c->cuda ? VECSINGLECUDA : VECSINGLE));
  }
  PetscCall(VecSingleConvert(x, 1, single[0]));
  PetscCall(PCApply(pc, single[0], single[1]));
  PetscCall(VecSingleConvert(single[1], 1, y));
  PetscCall(Compare("in single precision", y, wanted, 1e-5));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&single[i]));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&wanted));
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the bound of the eigenvalues that a polynomial of degree 1 has: it is a multiple of the correction */
static PetscErrorCode GetBound(PC pc, PetscReal factor, Vec x, Vec correction, Vec y, PetscReal *bound)
{
  PetscReal norm[2];

  PetscFunctionBeginUser;
  PetscCall(PCPatchFDSetSweeps(pc, 1));
  PetscCall(PCApply(pc, x, y));
  PetscCall(VecNorm(correction, NORM_2, &norm[0]));
  PetscCall(VecNorm(y, NORM_2, &norm[1]));
  *bound = factor * norm[0] / norm[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* polynomials, from zero and from another guess, against KSPCHEBYSHEV */
static PetscErrorCode TestPolynomials(Mat A)
{
  const PCPatchFDType    type[2]   = {PC_PATCHFD_TYPE_CHEBYSHEV_FOURTH, PC_PATCHFD_TYPE_CHEBYSHEV_FIRST};
  const KSPChebyshevKind kind[2]   = {KSP_CHEBYSHEV_FOURTH, KSP_CHEBYSHEV_FIRST};
  const PetscReal        factor[2] = {4. / 3, 1 / 0.55};
  Vec                    x, y, b, wanted;
  PetscReal              bound = 1;
  KSP                    ksp[2];
  PC                     pc[2];

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &wanted));
  PetscCall(VecSetRandom(b, NULL));
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < 2; i++) {
      PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp[i]));
      PetscCall(KSPSetOperators(ksp[i], A, A));
      PetscCall(KSPSetType(ksp[i], i ? KSPRICHARDSON : KSPCHEBYSHEV));
      PetscCall(KSPSetNormType(ksp[i], KSP_NORM_NONE));
      PetscCall(KSPSetConvergenceTest(ksp[i], KSPConvergedSkip, NULL, NULL));
      PetscCall(KSPGetPC(ksp[i], &pc[i]));
      PetscCall(PCSetType(pc[i], PCPATCHFD));
      PetscCall(PCPatchFDSetPatch(pc[i], PC_PATCHFD_PATCH_CELL));
      PetscCall(KSPSetTolerances(ksp[i], PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, i ? 1 : 4));
    }
    PetscCall(PCApply(pc[0], b, wanted));
    PetscCall(PCPatchFDSetType(pc[1], type[k]));
    PetscCall(GetBound(pc[1], factor[k], b, wanted, y, &bound));
    PetscCall(PCPatchFDSetSweeps(pc[1], 4));
    PetscCall(KSPChebyshevSetKind(ksp[0], kind[k]));
    PetscCall(KSPChebyshevSetEigenvalues(ksp[0], bound, 0.1 * bound));
    for (int guess = 0; guess < 2; guess++) {
      for (int i = 0; i < 2; i++) {
        PetscCall(VecSet(i ? y : wanted, guess ? 0.3 : 0));
        PetscCall(KSPSetInitialGuessNonzero(ksp[i], (PetscBool)guess));
        PetscCall(KSPSolve(ksp[i], b, i ? y : wanted));
      }
      PetscCall(Compare(PCPatchFDTypes[type[k]], y, wanted, 1e-10));
    }
    for (int i = 0; i < 2; i++) PetscCall(KSPDestroy(&ksp[i]));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&wanted));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* iterations of CG with PCPATCHMG, on any number of ranks the same */
static PetscErrorCode TestSolve(Mat A)
{
  KSPConvergedReason reason;
  PetscInt           its;
  Vec                x, b, r;
  PetscReal          norm, residual;
  KSP                ksp;
  PC                 pc;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-9, 0, PETSC_CURRENT, 30));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPATCHMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s in %" PetscInt_FMT " iterations\n",
                        reason > 0 && residual <= 1.01e-9 * norm ? "solved" : "NOT SOLVED", its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refused(const char *what, PetscErrorCode ierr, const char *word)
{
  char *at = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscStrstr(lastmessage, word, &at));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what, ierr && at ? "refused" : "NOT REFUSED"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Negative(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, PETSC_UNUSED const PetscReal x[],
                               PETSC_UNUSED PetscInt n, PetscReal k[], PETSC_UNUSED void *ctx)
{
  k[0] = -1;
  return PETSC_SUCCESS;
}

static PetscErrorCode TestErrors(DM dm, Mat A)
{
  const char *const option[][2] = {{"-pc_patchfd_patch", "vertex"},
                                   {"-pc_patchfd_local", "dense"},
                                   {"-pc_patchfd_order", "backward"},
                                   {"-pc_patchfd_brick_size", "4"},
                                   {"-pc_patchfd_update", "atomic"}};
  PetscErrorCode    ierr;
  Mat               mass;
  PC                pc;

  PetscFunctionBeginUser;
  CATCH(ierr, MatDiffusionPlexSetFunction(A, 5, Conductivity, NULL, NULL));
  PetscCall(Refused("K with 5 numbers", ierr, "K has 5 numbers"));
  CATCH(ierr, MatDiffusionPlexSetFunction(A, 1, Negative, NULL, NULL));
  PetscCall(Refused("negative K", ierr, "has to be positive"));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(option); i++) {
    PetscCall(PetscOptionsSetValue(NULL, option[i][0], option[i][1]));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetType(pc, PCPATCHFD));
    PetscCall(PCSetFromOptions(pc));
    CATCH(ierr, PCSetUp(pc));
    PetscCall(Refused(option[i][0], ierr, option[i][0]));
    PetscCall(PetscOptionsClearValue(NULL, option[i][0]));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(MatCreateBakeoff(dm, MAT_BAKEOFF_BP1, MAT_BAKEOFF_LAYOUT_GLOBAL, &mass));
  CATCH(ierr, MatDiffusionPlexSetFunction(mass, 1, Conductivity, NULL, NULL));
  PetscCall(Refused("a bake-off problem", ierr, "MatCreateDiffusionPlex()"));
  PetscCall(MatDestroy(&mass));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the Jacobian of a PetscDS ---- */

#define POINT \
  PetscInt dim, PETSC_UNUSED PetscInt Nf, PETSC_UNUSED PetscInt NfAux, PETSC_UNUSED const PetscInt uOff[], \
    PETSC_UNUSED const PetscInt uOff_x[], PETSC_UNUSED const PetscScalar u[], PETSC_UNUSED const PetscScalar u_t[], \
    PETSC_UNUSED const PetscScalar u_x[], PETSC_UNUSED const PetscInt aOff[], PETSC_UNUSED const PetscInt aOff_x[], \
    PETSC_UNUSED const PetscScalar a[], PETSC_UNUSED const PetscScalar a_t[], PETSC_UNUSED const PetscScalar a_x[], \
    PETSC_UNUSED PetscReal t, PETSC_UNUSED PetscReal shift, const PetscReal x[], PETSC_UNUSED PetscInt n, \
    PETSC_UNUSED const PetscScalar constants[]

static void G0(POINT, PetscScalar g[])
{
  g[0] = 1 + PetscSqr(u[0]) + x[dim - 1];
}

static void G3(POINT, PetscScalar g[])
{
  for (PetscInt a = 0; a < dim; a++)
    for (PetscInt b = 0; b < dim; b++) g[a * dim + b] = (a == b ? 1 + x[0] + PetscSqr(u[0]) : 0) + u_x[a] * u_x[b];
}

static PetscErrorCode Boundary(PETSC_UNUSED PetscInt dim, PETSC_UNUSED PetscReal time, const PetscReal x[], PETSC_UNUSED PetscInt n,
                               PetscScalar *u, PETSC_UNUSED void *ctx)
{
  u[0] = x[0];
  return PETSC_SUCCESS;
}

/* the matrix-free one, by MATPATCHFD of a clone, against the one that PETSc assembles, at a random point */
static PetscErrorCode TestJacobian(DM dm)
{
  const PetscInt id = 1;
  PetscDS        ds;
  DMLabel        label;
  DM             clone;
  Mat            A, J;
  Vec            u, local, x, y, wanted;

  PetscFunctionBeginUser;
  PetscCall(DMClone(dm, &clone));
  PetscCall(DMCopyFields(dm, PETSC_DETERMINE, PETSC_DETERMINE, clone));
  PetscCall(DMCreateDS(clone));
  PetscCall(DMGetDS(clone, &ds));
  PetscCall(PetscDSSetJacobian(ds, 0, 0, G0, NULL, NULL, G3));
  PetscCall(DMGetLabel(clone, "sides", &label));
  PetscCall(DMAddBoundary(clone, DM_BC_ESSENTIAL, "sides", label, 1, &id, 0, 0, NULL, (PetscVoidFn *)Boundary, NULL, NULL, NULL));
  PetscCall(DMCreateGlobalVector(clone, &u));
  PetscCall(VecSetRandom(u, NULL));
  PetscCall(VecDuplicate(u, &x));
  PetscCall(VecDuplicate(u, &y));
  PetscCall(VecDuplicate(u, &wanted));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(DMCreateLocalVector(clone, &local));
  PetscCall(DMPlexInsertBoundaryValues(clone, PETSC_TRUE, local, 0, NULL, NULL, NULL));
  PetscCall(DMGlobalToLocal(clone, u, INSERT_VALUES, local));
  PetscCall(DMCreateMatrix(clone, &J));
  PetscCall(DMPlexSNESComputeJacobianFEM(clone, local, J, J, NULL));
  PetscCall(MatMult(J, x, wanted));
  PetscCall(DMSetMatType(clone, MATPATCHFD));
  PetscCall(DMCreateMatrix(clone, &A));
  PetscCall(MatDiffusionPlexSetJacobian(A, clone, u, 0, 0));
  PetscCall(MatMult(A, x, y));
  PetscCall(Compare("Jacobian of a PetscDS", y, wanted, 1e-12));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&J));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&wanted));
  PetscCall(VecDestroy(&local));
  PetscCall(DMDestroy(&clone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tests(void)
{
  Case        c      = {.dim = 3, .degree = 3, .cells = {3, 2, 2}, .numbers = 1, .ncomp = 1};
  PetscInt    n      = 3;
  PetscBool   errors = PETSC_FALSE, solve = PETSC_FALSE, jacobian = PETSC_FALSE, polynomials = PETSC_FALSE;
  PetscMPIInt size;
  DM          dm;
  Mat         A;

  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &c.dim, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-degree", &c.degree, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cells", c.cells, &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-numbers", &c.numbers, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-components", &c.ncomp, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-natural", &c.natural, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-turned", &c.turned, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-box", &c.box, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cuda", &c.cuda, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-errors", &errors, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solve, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-jacobian", &jacobian, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-polynomials", &polynomials, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (c.box) PetscCall(CreateBox(&c, &dm, &A));
  else PetscCall(CreateMatrix(&c, &dm, &A));
  if (polynomials) PetscCall(TestPolynomials(A));
  else if (jacobian) PetscCall(TestJacobian(dm));
  else if (size == 1 && !errors) PetscCall(TestCorrection(&c, dm, A));
  if (solve) PetscCall(TestSolve(A));
  if (errors) PetscCall(TestErrors(dm, A));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

TEST_MAIN("all", {"all", Tests})

/*TEST
  testset:
    output_file: output/cells_correction.out

    test:
      suffix: 2d
      args: -dim 2 -each_degree 1:3:8 -each_numbers 1:3 -turned -natural
    test:
      suffix: 3d
      args: -each_degree 1:3 -each_numbers 3:6 -each_turned 0:1
    test:
      suffix: natural
      args: -degree 4 -numbers 6 -cells 2,2,1 -natural
    test:
      suffix: components
      args: -each_dim 2:3 -degree 2 -each_components 2:3
    test:
      suffix: one
      args: -dim 2 -degree 4 -cells 1,1 -natural
    test:
      suffix: cuda
      requires: cuda gpu
      args: -cuda -dim {{2 3}} -degree {{1 2 3 4 5 6 7 8}} -cells 3,2,2 -turned -natural
    test:
      suffix: cuda_components
      requires: cuda gpu
      args: -cuda -dim {{2 3}} -degree 3 -components 3

  testset:
    output_file: output/cells_correction.out

    test:
      suffix: box
      args: -box -each_dim 2:3 -each_degree 1:2:4 -each_numbers 1:3 -natural -cells 3,2,2
    test:
      suffix: box_cuda
      requires: cuda gpu
      args: -box -cuda -dim {{2 3}} -degree {{1 2 4}} -numbers {{1 3}} -natural -cells 3,2,2

  testset:
    output_file: output/cells_polynomials.out
    args: -polynomials -degree 3 -cells 3,2,2 -natural -turned

    test:
      suffix: polynomials
      nsize: {{1 2}}
    test:
      suffix: polynomials_cuda
      requires: cuda gpu
      args: -cuda

  testset:
    output_file: output/cells_ranks_box.out
    args: -box -degree 3 -numbers 3 -natural -cells 8,4,4 -solve -mg_levels_pc_patchfd_patch cell -dm_box_galerkin false -dm_box_semicoarsening 0

    test:
      suffix: ranks_box
      nsize: {{2 3 5 8}}
    test:
      suffix: ranks_box_cuda
      requires: cuda gpu
      nsize: {{2 4}}
      args: -cuda

  test:
    suffix: ranks
    nsize: {{2 5 8}}
    args: -degree 3 -cells 4,3,3 -turned -natural -solve -mg_coarse_assembled_redundant
  test:
    suffix: ranks_2d
    nsize: {{2 4}}
    args: -dim 2 -degree 6 -numbers 3 -cells 7,6 -turned -solve -mg_coarse_assembled_pc_type redundant
  test:
    suffix: ranks_cuda
    requires: cuda gpu
    nsize: {{2 5}}
    output_file: output/cells_ranks.out
    args: -cuda -degree 3 -cells 4,3,3 -turned -natural -solve
  test:
    suffix: fewer
    nsize: 3
    args: -dim 2 -degree 4 -cells 2,1 -solve
  test:
    suffix: single
    args: -degree 4 -cells 3,3,3 -solve -pc_type single -ksp_type fcg
  test:
    suffix: single_cuda
    requires: cuda gpu
    output_file: output/cells_single.out
    args: -cuda -degree 4 -cells 3,3,3 -solve -pc_type single -ksp_type fcg
  test:
    suffix: jacobian
    nsize: {{1 3}}
    args: -jacobian -each_degree 2:3 -each_dim 2:3 -natural -turned
  test:
    suffix: jacobian_cuda
    requires: cuda gpu
    output_file: output/cells_jacobian.out
    args: -cuda -jacobian -degree {{2 3}} -dim {{2 3}} -natural -turned
  test:
    suffix: errors
    args: -errors
TEST*/
