/* Patches of a line: the whole line as one, the cover of a line by small patches, their classes and their rows */
#include <patchfd/private/fe.h>

/* The band assembled from the cells first .. end - 1 for rows row .. row + nrows - 1 and columns col .. col + ncols - 1, or, where `ring`
   holds, for those modulo their number */
static void Assemble(const PatchFDBand *b, PetscInt first, PetscInt end, PetscInt row, PetscInt nrows, PetscInt col, PetscInt ncols,
                     PetscBool ring, PetscReal X[])
{
  const PetscInt n = b->nloc, m = b->ncol, width = PatchFDBandWidth(b);

  for (PetscCount i = 0; i < (PetscCount)nrows * ncols; i++) X[i] = 0.0;
  for (PetscInt c = first; c < end; c++) {
    const PetscReal *Xc = b->X + b->cls[c] * n * width;

    for (PetscInt a = 0; a < n; a++) {
      PetscInt i = c * b->stride + a - row;

      if (ring) i %= nrows;
      if (i < 0 || i >= nrows) continue;
      for (PetscInt l = 0; l < width; l++) {
        PetscInt j = (c - b->reach + l / m) * b->cstride + l % m - col;

        if (ring) j = (j + ncols) % ncols;
        if (j >= 0 && j < ncols) X[(PetscCount)i * ncols + j] += Xc[a * width + l];
      }
    }
  }
}

PetscErrorCode PatchFDLineEigenCreate(const PatchFDLine *line, const PatchFDBand *M, const PatchFDBand *A, PatchFDEigen *e)
{
  const PetscBool ring = (PetscBool)(line->turn > 0);
  PetscInt        first, end, n;
  PetscReal      *MI, *AI;

  PetscFunctionBegin;
  PatchFDLineUnknowns(line, &first, &end);
  n = end - first;
  PetscCall(PatchFDEigenCheckSize(n));
  PetscCall(PetscMalloc2((size_t)n * n, &MI, (size_t)n * n, &AI));
  Assemble(M, line->turn, line->ncells - line->turn, first, n, first, n, ring, MI);
  Assemble(A, line->turn, line->ncells - line->turn, first, n, first, n, ring, AI);
  if (ring && M->nclass == 1 && A->nclass == 1) {
    PetscCall(PatchFDEigenAllocate(n, 0, line->continuity, e));
    e->halfturn = (PetscBool)(line->turn % 2 == 0);
    PetscCall(PatchFDRingModes(line->turn, M, A, e->lambda, e->S));
    PetscCall(PatchFDEigenFinish(e, MI, AI, n));
  } else PetscCall(PatchFDEigenCreate(n, MI, AI, e));
  PetscCall(PetscFree2(MI, AI));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A patch while the cover is made: its cells first .. end - 1, its free nodes row .. row + n - 1, and whether there are nodes below and
   above them */
typedef struct {
  PetscInt  first, end, row, n;
  PetscBool neighbour[2];
} Patch;

/* Does the line end with the patch of the cells first .. end - 1?  A ring does not */
static PetscBool EndsHere(const PatchFDLine *line, PetscInt first, PetscInt end, int e)
{
  return (PetscBool)(!line->turn && (e ? end == line->ncells : first == 0));
}

/* The patch of the cells c .. end - 1.  In a continuous line it ends before the nodes that it shares with other cells */
static Patch GetPatch(const PatchFDLine *line, PetscInt c, PetscInt end)
{
  const PetscInt stride = line->stride, shared = line->continuity == PATCHFD_CONTINUOUS ? 1 : 0;
  PetscInt       free[2], rowend;
  Patch          p;

  PatchFDLineFree(line, &free[0], &free[1]);
  p.first        = c;
  p.end          = end;
  p.row          = EndsHere(line, c, end, 0) ? free[0] : c * stride + shared;
  rowend         = EndsHere(line, c, end, 1) ? free[1] : end * stride;
  p.n            = rowend - p.row;
  p.neighbour[0] = (PetscBool)(line->turn || p.row > 0);
  p.neighbour[1] = (PetscBool)(line->turn || rowend < line->nnodes);
  return p;
}

/* The patch that starts at cell c: two cells, or the only one of the line */
static Patch GetVertexPatch(const PatchFDLine *line, PetscInt c)
{
  return GetPatch(line, c, PetscMin(c + 2, line->ncells));
}

/* A patch of a cover: one alone has the whole line */
static Patch GetCovered(const PatchFDLine *line, const PatchFDPatches *cover, PetscInt i)
{
  return cover->npatch == 1 ? GetPatch(line, 0, line->ncells) : GetVertexPatch(line, cover->cell[i]);
}

/* Patches with equal cells and equal neighbours have the same matrices */
static PetscBool SameClass(const PatchFDBand *b, const Patch *p, const Patch *q)
{
  return (PetscBool)(b->cls[p->first] == b->cls[q->first] && b->cls[p->end - 1] == b->cls[q->end - 1] &&
                     p->neighbour[0] == q->neighbour[0] && p->neighbour[1] == q->neighbour[1]);
}

static PetscErrorCode PatchEigenCreate(const PatchFDLine *line, const PatchFDBand *M, const PatchFDBand *A, const Patch *p, PatchFDEigen *e)
{
  const PetscInt ext = line->continuity == PATCHFD_CONTINUOUS ? 1 : line->stride, ld = p->n + 2 * ext;

  PetscFunctionBegin;
  PetscCall(PatchFDEigenAllocate(p->n, ext, line->continuity, e));
  Assemble(M, p->first, p->end, p->row, p->n, p->row - ext, ld, PETSC_FALSE, e->MI);
  Assemble(A, p->first, p->end, p->row, p->n, p->row - ext, ld, PETSC_FALSE, e->AI);
  e->parity = (PetscBool)(p->neighbour[0] == p->neighbour[1] && PatchFDMirrored(p->n, ld, 1, e->MI) && PatchFDMirrored(p->n, ld, 1, e->AI));
  PetscCall(PatchFDEigenDiagonalize(e, e->MI + ext, e->AI + ext, ld));
  PetscCall(PatchFDEigenCouple(e, line->continuity));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void PatchFDPieceFree(const PatchFDLine *line, PetscInt first, PetscInt end, PetscInt *row, PetscInt *n)
{
  const Patch p = GetPatch(line, first, end);

  *row = p.row;
  *n   = p.n;
}

PetscErrorCode PatchFDPieceEigenCreate(const PatchFDLine *line, const PatchFDBand *M, const PatchFDBand *A, PetscInt first, PetscInt end,
                                       PatchFDEigen *e)
{
  const Patch p = GetPatch(line, first, end);

  PetscFunctionBegin;
  PetscCall(PatchEigenCreate(line, M, A, &p, e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* only in a line of one cell can there be nothing free */
static PetscInt CountPatches(const PatchFDLine *line)
{
  return GetVertexPatch(line, 0).n ? PetscMax(line->ncells - 1, 1) : 0;
}

/* The cover without classes */
static PetscErrorCode CoverCreate(const PatchFDLine *line, PatchFDPatches *patches)
{
  const PetscInt npatch = CountPatches(line);

  PetscFunctionBegin;
  PetscCall(PetscMemzero(patches, sizeof(*patches)));
  patches->npatch = npatch;
  PetscCall(PetscMalloc4(npatch, &patches->cell, npatch, &patches->first, npatch, &patches->n, npatch, &patches->cls));
  for (PetscInt i = 0; i < npatch; i++) {
    const Patch p = GetVertexPatch(line, i);

    patches->cell[i]  = p.first;
    patches->first[i] = p.row;
    patches->n[i]     = p.n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A patch has the class of the patch before it or a new one: a uniform line has one in its interior, a graded line one a patch */
PetscErrorCode PatchFDPatchesCreate(const PatchFDLine *line, const PatchFDBand *M, const PatchFDBand *A, PatchFDPatches *patches)
{
  PetscInt npatch;
  Patch    p, last = {0};

  PetscFunctionBegin;
  PetscCall(CoverCreate(line, patches));
  npatch = patches->npatch;
  for (PetscInt i = 0; i < npatch; i++, last = p) {
    p = GetVertexPatch(line, i);
    if (i == 0 || !SameClass(M, &p, &last) || !SameClass(A, &p, &last)) patches->nclass++;
    patches->cls[i] = patches->nclass - 1;
  }
  PetscCall(PetscCalloc1(patches->nclass, &patches->eigen));
  for (PetscInt i = 0; i < npatch; i++) {
    if (i > 0 && patches->cls[i] == patches->cls[i - 1]) continue;
    p = GetVertexPatch(line, i);
    PetscCall(PatchEigenCreate(line, M, A, &p, &patches->eigen[patches->cls[i]]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDPatchesCreateWhole(const PatchFDLine *line, PatchFDPatches *patches)
{
  const Patch p = GetPatch(line, 0, line->ncells);

  PetscFunctionBegin;
  PetscCall(PetscMemzero(patches, sizeof(*patches)));
  PetscCall(PetscMalloc4(1, &patches->cell, 1, &patches->first, 1, &patches->n, 1, &patches->cls));
  patches->npatch  = p.n ? 1 : 0;
  patches->nclass  = patches->npatch;
  patches->cell[0] = patches->cls[0] = 0;
  patches->first[0]                  = p.row;
  patches->n[0]                      = p.n;
  PetscCall(PetscCalloc1(patches->nclass, &patches->eigen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDPatchesDestroy(PatchFDPatches *patches)
{
  PetscFunctionBegin;
  for (PetscInt r = 0; r < patches->nclass; r++) PetscCall(PatchFDEigenDestroy(&patches->eigen[r]));
  PetscCall(PetscFree(patches->eigen));
  PetscCall(PetscFree4(patches->cell, patches->first, patches->n, patches->cls));
  PetscCall(PetscMemzero(patches, sizeof(*patches)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- patches as meshes of their own ---- */

/* What tells the patch that begins at cell c from others: its lengths, and the ends of the line that it has */
typedef struct {
  PetscInt  cells[2];
  PetscBool end[2];
} AloneKey;

static AloneKey GetAloneKey(const PatchFDLine *line, const PatchFDBand *M, PetscInt c)
{
  const Patch p   = GetVertexPatch(line, c);
  AloneKey    key = {.cells = {M->cls[p.first], M->cls[p.end - 1]}};

  for (int e = 0; e < 2; e++) key.end[e] = (PetscBool)(!(line->dirichlet[e] && line->clamped[e]) && EndsHere(line, p.first, p.end, e));
  return key;
}

static PetscErrorCode LineAloneCreate(const PatchFDLine *line, const Patch *p, PatchFDLine *alone)
{
  const PetscBool inside[2]    = {(PetscBool)!EndsHere(line, p->first, p->end, 0), (PetscBool)!EndsHere(line, p->first, p->end, 1)};
  const PetscBool dirichlet[2] = {(PetscBool)(inside[0] || line->dirichlet[0]), (PetscBool)(inside[1] || line->dirichlet[1])};

  PetscFunctionBegin;
  PetscCall(PatchFDLineCreate(line->continuity, line->degree, p->end - p->first, line->vertices + p->first, dirichlet, alone));
  for (int e = 0; e < 2; e++) alone->clamped[e] = (PetscBool)(inside[e] || line->clamped[e]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDLinesAloneCreate(const PatchFDLine *line, const PatchFDBand *M, PatchFDLinesAlone *l)
{
  AloneKey key, last = {0};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(l, sizeof(*l)));
  l->npatch = CountPatches(line);
  PetscCall(PetscMalloc1(l->npatch, &l->cls));
  PetscCall(PetscMalloc1(l->npatch, &l->line));
  for (PetscInt i = 0; i < l->npatch; i++, last = key) {
    const Patch p = GetVertexPatch(line, i);

    key = GetAloneKey(line, M, i);
    if (i == 0 || key.cells[0] != last.cells[0] || key.cells[1] != last.cells[1] || key.end[0] != last.end[0] || key.end[1] != last.end[1])
      PetscCall(LineAloneCreate(line, &p, &l->line[l->nclass++]));
    l->cls[i] = l->nclass - 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDLinesAloneDestroy(PatchFDLinesAlone *l)
{
  PetscFunctionBegin;
  for (PetscInt c = 0; c < l->nclass; c++) PetscCall(PatchFDLineDestroy(&l->line[c]));
  PetscCall(PetscFree(l->line));
  PetscCall(PetscFree(l->cls));
  PetscCall(PetscMemzero(l, sizeof(*l)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDPatchesCreateAlone(const PatchFDLine *line, const PatchFDLinesAlone *alone, PatchFDEigen eigen[],
                                         PatchFDPatches *patches)
{
  PetscFunctionBegin;
  PetscCall(CoverCreate(line, patches));
  patches->nclass = alone->nclass;
  PetscCall(PetscArraycpy(patches->cls, alone->cls, patches->npatch));
  PetscCall(PetscMalloc1(patches->nclass, &patches->eigen));
  PetscCall(PetscArraycpy(patches->eigen, eigen, patches->nclass));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- rows ---- */

PetscErrorCode PatchFDRowsCreate(const PatchFDBand *b, const PatchFDLine *row, const PatchFDPatches *rowcover, const PatchFDLine *col,
                                 const PatchFDPatches *colcover, PatchFDRows *rows)
{
  Patch      p, q, last[2] = {{0}, {0}};
  PetscCount size = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(rows, sizeof(*rows)));
  rows->ext    = b->reach * col->stride + (col->continuity == PATCHFD_CONTINUOUS && col->stride ? 1 : 0);
  rows->npatch = rowcover->npatch;
  PetscCall(PetscMalloc1(rows->npatch, &rows->cls));
  PetscCall(PetscMalloc1(rows->npatch + 1, &rows->at));
  for (PetscInt i = 0; i < rows->npatch; i++, last[0] = p, last[1] = q) {
    p = GetCovered(row, rowcover, i);
    q = GetCovered(col, colcover, i);
    if (i == 0 || !SameClass(b, &p, &last[0]) || q.n != last[1].n) {
      rows->at[rows->nclass++] = size;
      size += (PetscCount)p.n * (q.n + 2 * rows->ext);
    }
    rows->cls[i] = rows->nclass - 1;
  }
  rows->at[rows->nclass] = size;
  PetscCall(PetscMalloc1(size, &rows->X));
  for (PetscInt i = 0; i < rows->npatch; i++) {
    if (i > 0 && rows->cls[i] == rows->cls[i - 1]) continue;
    p = GetCovered(row, rowcover, i);
    q = GetCovered(col, colcover, i);
    Assemble(b, p.first, p.end, p.row, p.n, q.row - rows->ext, q.n + 2 * rows->ext, PETSC_FALSE, rows->X + rows->at[rows->cls[i]]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDRowsDestroy(PatchFDRows *rows)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(rows->cls));
  PetscCall(PetscFree(rows->at));
  PetscCall(PetscFree(rows->X));
  PetscCall(PetscMemzero(rows, sizeof(*rows)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDRowsBlock(const PatchFDRows *rows, PetscInt n, PetscInt ncol, PetscInt patch, PetscReal X[])
{
  const PetscReal *from = rows->X + rows->at[rows->cls[patch]];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) PetscCall(PetscArraycpy(X + i * ncol, from + i * (ncol + 2 * rows->ext) + rows->ext, ncol));
  PetscFunctionReturn(PETSC_SUCCESS);
}
