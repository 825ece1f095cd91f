/*
  The local solvers of an operator, on distributed arrays: vertex patches, and the whole box as one patch.

  On several ranks the work is done on ghosted arrays: each rank solves all patches that touch its unknowns, and the ghosts are refreshed between
  two colours, so that the iterates do not depend on the number of ranks.
*/
#include <patchfd/private/assembly.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>

/* ---- set-up ---- */

/*
  A colour is the parity of a patch's first cell in each direction, x fastest, and its phase, where neighbouring patches of one parity are coupled.
  Directions with one patch have one parity, and there is a second phase only where a parity has two patches in some direction.
*/
static void MatBoxMakeColors(const MatBoxForm *form, MatBoxLocal *l)
{
  PetscInt n[3];

  l->ncolor = 0;
  l->nphase = 1;
  for (int d = 0; d < 3; d++) {
    n[d] = PetscMin(2, l->patches[d].npatch);
    if (form->A[d]->reach && form->A[d]->stride) l->nphase = 2;
  }
  for (PetscInt c = 0; c < n[0] * n[1] * n[2]; c++) {
    const PetscInt parity[3] = {c % n[0], c / n[0] % n[1], c / n[0] / n[1]};
    PetscBool      second    = PETSC_FALSE;

    for (int d = 0; d < 3; d++) second = (PetscBool)(second || parity[d] + 2 < l->patches[d].npatch);
    for (PetscInt phase = 0; phase < (second ? l->nphase : 1); phase++) l->color[l->ncolor++] = (PatchFDColor){.parity = {parity[0], parity[1], parity[2]}, .phase = phase};
  }
}

/* the number of the band that term t has in direction d */
static PetscInt TermBand(const MatBoxForm *form, PetscInt t, int d)
{
  return (PetscInt)(form->term[t].dir[d] - form->band);
}

/* The residual of the patches, where it is not that of the sum that is diagonalized */
static PetscErrorCode LocalRowsCreate(const Mat_Box *m, MatBoxLocal *l)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  PetscFunctionBegin;
  l->nterm = m->form.nterm;
  for (PetscInt t = 0; t < l->nterm; t++) {
    l->term[t].coef = m->form.term[t].coef;
    for (int d = 0; d < 3; d++) {
      const PetscInt b = TermBand(&m->form, t, d);

      if (!l->rows[b].X) PetscCall(PatchFDRowsCreate(&box->field[0].line[d], &m->form.band[b], &l->patches[d], &l->rows[b]));
      l->term[t].dir[d] = &l->rows[b];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrices of the classes of patches of one direction: n[class] nodes, X[class * nband + band] their columns for the patches' own nodes */
typedef struct {
  PetscInt   *n;
  PetscReal **X;
} DirectionMatrices;

static PetscErrorCode DirectionMatricesCreate(const MatBoxForm *form, const MatBoxLocal *l, int d, DirectionMatrices *x)
{
  const PatchFDPatches *p = &l->patches[d];
  PetscReal            *data;
  size_t                size = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(p->nclass, &x->n, p->nclass * form->nband, &x->X));
  for (PetscInt i = 0; i < p->npatch; i++) {
    x->n[p->cls[i]] = p->n[i];
    size            = PetscMax(size, (size_t)(p->n[i] * p->n[i]));
  }
  PetscCall(PetscMalloc1((size_t)(p->nclass * form->nband) * size, &data));
  for (PetscInt i = 0; i < p->nclass * form->nband; i++) x->X[i] = data + (size_t)i * size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DirectionMatricesDestroy(DirectionMatrices *x)
{
  PetscFunctionBegin;
  if (x->X) PetscCall(PetscFree(x->X[0]));
  PetscCall(PetscFree2(x->n, x->X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* those that the patches have in the mesh, whose rows are there */
static PetscErrorCode DirectionMatricesFill(const MatBoxForm *form, const MatBoxLocal *l, int d, DirectionMatrices *x)
{
  const PatchFDPatches *p = &l->patches[d];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < p->npatch; i++) {
    const PetscInt c = p->cls[i];

    if (i > 0 && c == p->cls[i - 1]) continue;
    for (PetscInt b = 0; b < form->nband; b++)
      if (MatBoxTermsHave(form->nterm, form->term, d, &form->band[b])) PetscCall(PatchFDRowsBlock(&l->rows[b], x->n[c], i, x->X[c * form->nband + b]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* those of class c, a patch that is all of a line; `form` has the bands of that line */
static PetscErrorCode DirectionMatricesFillAlone(const MatBoxForm *form, const PatchFDLine *line, const PatchFDPatches *one, int d, PetscInt c, DirectionMatrices *x)
{
  PetscFunctionBegin;
  for (PetscInt b = 0; b < form->nband; b++) {
    PatchFDRows rows;

    if (!MatBoxTermsHave(form->nterm, form->term, d, &form->band[b])) continue;
    PetscCall(PatchFDRowsCreate(line, &form->band[b], one, &rows));
    PetscCall(PatchFDRowsBlock(&rows, x->n[c], 0, x->X[c * form->nband + b]));
    PetscCall(PatchFDRowsDestroy(&rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Patches of direction d with the matrices of meshes of their own */
static PetscErrorCode LocalPatchesAlone(const Mat_Box *m, MatBoxLocal *l, int d, PetscBool dense, DirectionMatrices *x)
{
  const DM_Box     *box = (const DM_Box *)m->dm->data;
  PatchFDLinesAlone alone;
  PatchFDLine       line[DMBOX_MAX_FIELDS][3];
  PatchFDEigen     *eigen;

  PetscFunctionBegin;
  PetscCall(PatchFDLinesAloneCreate(&box->field[0].line[d], m->form.M[d], &alone));
  PetscCall(PetscCalloc1(alone.nclass, &eigen));
  PetscCall(PatchFDPatchesCreateAlone(&box->field[0].line[d], &alone, eigen, &l->patches[d]));
  if (dense) PetscCall(DirectionMatricesCreate(&m->form, l, d, x));
  for (PetscInt c = 0; c < alone.nclass; c++) {
    MatBoxForm     form = {.nband = 0};
    PatchFDPatches one;

    for (int e = 0; e < 3; e++) line[0][e] = e < m->dm->dim ? alone.line[c] : box->field[0].line[e];
    if (d >= m->dm->dim) line[0][d] = alone.line[c];
    PetscCall((*box->op->ops.form)(m->dm, box->op, m->c.operator, (const PatchFDLine(*)[3])line, &form));
    PetscCall(PatchFDPatchesCreate(&alone.line[c], form.M[d], form.A[d], &one));
    if (dense) PetscCall(DirectionMatricesFillAlone(&form, &alone.line[c], &one, d, c, x));
    l->patches[d].eigen[c] = one.eigen[0];
    PetscCall(PetscMemzero(&one.eigen[0], sizeof(one.eigen[0])));
    PetscCall(PatchFDPatchesDestroy(&one));
    for (PetscInt i = 0; i < form.nband; i++) PetscCall(PatchFDBandDestroy(&form.band[i]));
  }
  PetscCall(PetscFree(eigen));
  PetscCall(PatchFDLinesAloneDestroy(&alone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the matrices of term t in the patch class (c[0], c[1], c[2]) */
static void TermMatrices(const MatBoxForm *form, const DirectionMatrices x[3], const PetscInt c[3], const PetscReal *X[][3])
{
  for (PetscInt t = 0; t < form->nterm; t++)
    for (int d = 0; d < 3; d++) X[t][d] = x[d].X[c[d] * form->nband + TermBand(form, t, d)];
}

static PetscErrorCode LocalDenseCreate(const Mat_Box *m, MatBoxLocal *l, const DirectionMatrices x[3])
{
  const PetscLogDouble limit = 8.0 * 1073741824.0;
  const PetscInt       nclass[3] = {l->patches[0].nclass, l->patches[1].nclass, l->patches[2].nclass};
  const PetscReal     *X[MATBOX_MAX_TERMS][3];
  PetscReal            coef[MATBOX_MAX_TERMS];
  PetscLogDouble       bytes = 0;

  PetscFunctionBegin;
  l->ndense = nclass[0] * nclass[1] * nclass[2];
  PetscCall(PetscCalloc1(l->ndense, &l->dense));
  for (PetscInt t = 0; t < m->form.nterm; t++) coef[t] = m->form.term[t].coef;
  for (int create = 0; create < 2; create++) {
    for (PetscInt i = 0; i < l->ndense; i++) {
      const PetscInt c[3]     = {i % nclass[0], i / nclass[0] % nclass[1], i / nclass[0] / nclass[1]};
      const PetscInt n[3]     = {x[0].n[c[0]], x[1].n[c[1]], x[2].n[c[2]]};
      PetscBool      definite = PETSC_TRUE;

      TermMatrices(&m->form, x, c, X);
      if (create) PetscCall(PatchFDHostDenseCreate(m->form.nterm, coef, (const PetscReal *const(*)[3])X, &l->dense[i], &definite));
      else {
        PetscCall(PatchFDHostDenseParity(m->form.nterm, (const PetscReal *const(*)[3])X, n, &l->dense[i]));
        bytes += 8.0 * PatchFDHostDenseSizes(&l->dense[i]);
      }
      PetscCheck(definite, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT, "The matrix of a patch is not positive definite: too small a penalty (-dm_box_penalty), or a negative shift (-dm_box_shift)");
    }
    PetscCheck(bytes <= limit, PetscObjectComm((PetscObject)m->dm), PETSC_ERR_MEM,
               "-pc_patchfd_local dense: the inverses of %" PetscInt_FMT " classes of patches take %.3g GiB; allowed are %g. A uniform mesh has one class, -pc_patchfd_local fd or fd_inexact needs little",
               l->ndense, bytes / 1073741824.0, limit / 1073741824.0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LocalCreate(const Mat_Box *m, MatBoxLocalType type, MatBoxLocal *l)
{
  const DM_Box     *box = (const DM_Box *)m->dm->data;
  const PetscBool   dense = (PetscBool)(type == MATBOX_LOCAL_DENSE || type == MATBOX_LOCAL_DENSE_ALONE), alone = (PetscBool)(type == MATBOX_LOCAL_FD_ALONE || type == MATBOX_LOCAL_DENSE_ALONE);
  DirectionMatrices x[3] = {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}};

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    if (alone) PetscCall(LocalPatchesAlone(m, l, d, dense, &x[d]));
    else PetscCall(PatchFDPatchesCreate(&box->field[0].line[d], m->form.M[d], m->form.A[d], &l->patches[d]));
  }
  if (dense || alone || !m->form.separable) PetscCall(LocalRowsCreate(m, l));
  for (int d = 0; d < 3 && dense && !alone; d++) {
    PetscCall(DirectionMatricesCreate(&m->form, l, d, &x[d]));
    PetscCall(DirectionMatricesFill(&m->form, l, d, &x[d]));
  }
  if (dense) PetscCall(LocalDenseCreate(m, l, x));
  for (int d = 0; d < 3; d++) PetscCall(DirectionMatricesDestroy(&x[d]));
  MatBoxMakeColors(&m->form, l);
  l->havepatches = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxLocalReset(MatBoxLocal *l)
{
  PetscFunctionBegin;
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++)
    for (int p = 0; p < PATCHFD_NUM_PRECISIONS && PatchFDKernelTables[i]; p++) PetscCall(PatchFDKernelTables[i]->localdestroy(&l->plan[i][p]));
  for (int d = 0; d < 3; d++) PetscCall(PatchFDPatchesDestroy(&l->patches[d]));
  for (int b = 0; b < MATBOX_MAX_BANDS; b++) PetscCall(PatchFDRowsDestroy(&l->rows[b]));
  for (PetscInt i = 0; i < l->ndense; i++) PetscCall(PatchFDHostDenseDestroy(&l->dense[i]));
  PetscCall(PetscFree(l->dense));
  PetscCall(PetscMemzero(l, sizeof(*l)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxLocalSetUp(Mat_Box *m, MatBoxLocalType type, PatchFDKernels kern, PatchFDPrecision precision)
{
  const DM_Box    *box = (const DM_Box *)m->dm->data;
  MatBoxLocal     *l   = &m->local[type];
  PatchFDLocalDesc desc;

  PetscFunctionBegin;
  if (l->plan[kern->id][precision]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxCheckRegular(m));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, m->dm, 0, 0, 0));
  if (!l->havepatches) PetscCall(LocalCreate(m, type, l));
  desc.kind   = l->dense ? PATCHFD_LOCAL_DENSE : PATCHFD_LOCAL_FD;
  desc.nphase = l->nphase;
  desc.dense  = l->dense;
  desc.precision = precision;
  desc.nterm  = l->nterm;
  desc.term   = l->term;
  desc.box    = box->field[0].local;
  for (int d = 0; d < 3; d++) desc.dir[d] = &l->patches[d];
  DMBoxFreeNodes(&box->field[0], PETSC_TRUE, desc.read);
  PetscCall(kern->localcreate(&desc, &l->plan[kern->id][precision]));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Graded meshes have too many inverses.  On a GPU small ones are bound by memory, and fast diagonalization takes a quarter of their time, while it needs
  about as many iterations at low degrees.
*/
PetscBool MatBoxLocalIsDenseBest(const Mat_Box *m, PatchFDKernels kern)
{
  const PetscInt low = m->dm->dim == 3 ? 3 : 2;

  for (int d = 0; d < 3; d++)
    for (PetscInt c = 1; c < m->form.M[d]->ncells; c++)
      if (m->form.M[d]->cls[c] != m->form.M[d]->cls[0]) return PETSC_FALSE;
  return (PetscBool)(PetscMemTypeHost(kern->memtype) || m->form.M[0]->nloc - 1 > low);
}

/* From degree 6 on the patches' matrices are too badly conditioned for 11 bits, and products in single precision take as long as those in double */
PatchFDPrecision MatBoxLocalBestPrecision(const Mat_Box *m, PatchFDKernels kern)
{
  const PetscInt high = 5;

  return PetscMemTypeHost(kern->memtype) || m->form.M[0]->nloc - 1 > high ? PATCHFD_PRECISION_DOUBLE : PATCHFD_PRECISION_TF32;
}

PetscBool MatBoxIsOnePatch(const Mat_Box *m)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  for (int d = 0; d < 3; d++)
    if (box->cells[d] > 2) return PETSC_FALSE;
  return PETSC_TRUE;
}

PetscInt MatBoxLocalColors(const Mat_Box *m, MatBoxLocalType type, PetscBool residual, PatchFDColor colors[])
{
  const MatBoxLocal *l = &m->local[type];
  PetscInt           n = 0;

  for (PetscInt i = 0; i < l->ncolor; i++) {
    if (!l->nterm || !residual) colors[n++] = l->color[i];
    else if (l->color[i].phase == 0) {
      colors[n]         = l->color[i];
      colors[n++].phase = PATCHFD_ALL_PHASES;
    }
  }
  return n;
}

PetscBool MatBoxLocalHasTerms(const Mat_Box *m, MatBoxLocalType type)
{
  return (PetscBool)(m->local[type].nterm > 0);
}

PetscBool MatBoxLocalIsPointwise(const Mat_Box *m, MatBoxLocalType type)
{
  const MatBoxLocal *l = &m->local[type];

  for (int d = 0; d < 3; d++)
    for (PetscInt i = 0; i < l->patches[d].npatch; i++)
      if (l->patches[d].n[i] > 2) return PETSC_FALSE; /* two at a free end */
  return PETSC_TRUE;
}

/* ---- colours on ghosted arrays ---- */

typedef struct {
  Mat_Box       *m;
  MatBoxLocal   *local;
  PatchFDKernels kern;
  void          *plan;
  PatchFDPatchOp operation;
  PetscReal      omega;
  PetscBool      zero; /* x is known to be zero */
  void          *x, *r;
  const void    *b;
} LocalStep;

/* the patches that touch this rank's unknowns */
static void LocalPatchRange(const LocalStep *s, PatchFDRange r)
{
  const DM_Box *box = (const DM_Box *)s->m->dm->data;

  for (int d = 0; d < 3; d++) {
    r[d][0] = PetscMax(0, box->owncells[d][0] - 1);
    r[d][1] = box->owncells[d][1] > box->owncells[d][0] ? PetscMin(s->local->patches[d].npatch, box->owncells[d][1]) : r[d][0];
  }
}

/*
  How many of these colours need no exchange between them: those that only differ in directions that are not split over ranks.  A rank has all the
  patches that its patches overlap in these directions; with two phases patches also see others beside them, so that nothing can be said.
*/
static PetscInt LocalColorsTogether(const LocalStep *s, PetscInt n, const PatchFDColor colors[])
{
  const DM_Box *box = (const DM_Box *)s->m->dm->data;

  if (!box->halo) return n;
  if (s->local->nphase > 1) return 1;
  for (PetscInt i = 1; i < n; i++)
    for (int d = 0; d < 3; d++)
      if (box->processes[d] > 1 && colors[i].parity[d] != colors[0].parity[d]) return i;
  return n;
}

static PetscErrorCode LocalApply(const LocalStep *s, PetscInt n, const PatchFDColor colors[], const PatchFDRange patches)
{
  PetscFunctionBegin;
  PetscCall(s->kern->localapply(s->plan, s->operation, n, colors, patches, s->omega, s->zero, s->x, s->b, s->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LocalApplyAll(const LocalStep *s, PetscInt n, const PatchFDColor colors[])
{
  PatchFDRange all;

  PetscFunctionBegin;
  LocalPatchRange(s, all);
  PetscCall(LocalApply(s, n, colors, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same with an exchange of x: first the patches whose unknowns other ranks wait for (those that touch the outermost layers of cells on each side
  with a neighbour, as many as there are layers of ghosts), then, while those values travel, the others.
*/
static PetscErrorCode LocalApplyExchange(const LocalStep *s, PetscInt n, const PatchFDColor colors[])
{
  const DM_Box *box = (const DM_Box *)s->m->dm->data;
  PatchFDRange  inner;

  PetscFunctionBegin;
  LocalPatchRange(s, inner);
  for (int d = 0; d < 3; d++) {
    for (int side = 0; side < 2; side++) {
      PatchFDRange slab;

      if (side ? box->owncells[d][1] == box->cells[d] : box->owncells[d][0] == 0) continue;
      PetscCall(PetscMemcpy(slab, inner, sizeof(slab)));
      if (side) slab[d][0] = inner[d][1] = PetscMax(inner[d][0], inner[d][1] - box->ghost - 1);
      else slab[d][1] = inner[d][0] = PetscMin(inner[d][1], inner[d][0] + box->ghost + 1);
      PetscCall(LocalApply(s, n, colors, slab));
    }
  }
  PetscCall(DMBoxHaloBegin(s->m->dm, s->kern, s->x));
  PetscCall(LocalApply(s, n, colors, inner));
  PetscCall(DMBoxHaloEnd(s->m->dm, s->kern, s->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- sweeps ---- */

PetscErrorCode MatBoxLocalSweep(Mat_Box *m, MatBoxLocalType type, PatchFDKernels kern, PatchFDPrecision precision, PatchFDPatchOp operation, PetscInt64 its, PetscInt n, const PatchFDColor colors[], PetscReal omega,
                                PetscBool zero, const void *b, void *x)
{
  DM_Box   *box      = (DM_Box *)m->dm->data;
  PetscBool separate = (PetscBool)(operation == PATCHFD_OP_SOLVE);
  LocalStep s        = {.m = m, .local = &m->local[type], .kern = kern, .plan = m->local[type].plan[kern->id][precision], .operation = operation, .omega = omega, .zero = zero};
  void     *bl;

  PetscFunctionBegin;
  if (separate) PetscCall(DMBoxGetWork(m->dm, kern, DMBOX_WORK_R, &s.r));
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, b, DMBOX_WORK_B, &bl));
  if (zero && box->halo) {
    PetscCall(DMBoxGetWork(m->dm, kern, DMBOX_WORK_X, &s.x));
    PetscCall(kern->zero(box->nlocal, s.x));
  } else {
    PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, x, DMBOX_WORK_X, &s.x));
    PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, x, DMBOX_WORK_X, &s.x));
  }
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, b, DMBOX_WORK_B, &bl));
  s.b = bl;
  for (PetscInt64 it = 0; it < its; it++) {
    for (PetscInt i = 0, step; i < n; i += step, s.zero = PETSC_FALSE) {
      step = separate ? 1 : LocalColorsTogether(&s, n - i, &colors[i]);
      if (separate) {
        s.operation = PATCHFD_OP_RESIDUAL;
        PetscCall(LocalApplyAll(&s, step, &colors[i]));
        s.operation = PATCHFD_OP_SOLVE;
      }
      if (box->halo && (i + step < n || it + 1 < its)) PetscCall(LocalApplyExchange(&s, step, &colors[i]));
      else PetscCall(LocalApplyAll(&s, step, &colors[i]));
    }
  }
  PetscCall(DMBoxLocalToGlobal(m->dm, kern, s.x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxLocalCorrect(Mat_Box *m, MatBoxLocalType type, PatchFDKernels kern, PatchFDPrecision precision, PetscInt n, const PatchFDColor colors[], PetscReal omega, const void *r, void *x)
{
  LocalStep s = {.m = m, .local = &m->local[type], .kern = kern, .plan = m->local[type].plan[kern->id][precision], .operation = PATCHFD_OP_SOLVE, .omega = omega};

  PetscFunctionBegin;
  PetscCall(DMBoxGlobalToLocalBegin(m->dm, kern, r, DMBOX_WORK_R, &s.r));
  PetscCall(DMBoxGlobalToLocalEnd(m->dm, kern, r, DMBOX_WORK_R, &s.r));
  PetscCall(DMBoxGlobalToLocalOwned(m->dm, kern, x, DMBOX_WORK_X, &s.x)); /* updates only add to x: its ghosts need no values */
  PetscCall(LocalApplyAll(&s, n, colors));
  PetscCall(DMBoxLocalToGlobal(m->dm, kern, s.x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bytes of the matrices and vectors of all classes of patches, in the kernels' precision */
static PetscLogDouble LocalBytes(const MatBoxLocal *l, PatchFDKernels kern)
{
  PetscLogDouble numbers = 0;

  for (int d = 0; d < 3; d++) {
    for (PetscInt c = 0; c < l->patches[d].nclass && !l->dense; c++) {
      const PetscLogDouble n = l->patches[d].eigen[c].n, ext = l->patches[d].eigen[c].ext;

      numbers += 3 * n * n + 2 * n * (n + 2 * ext) + 5 * n;
    }
  }
  for (int b = 0; b < MATBOX_MAX_BANDS; b++)
    if (l->rows[b].X) numbers += (PetscLogDouble)l->rows[b].at[l->rows[b].nclass];
  for (PetscInt i = 0; i < l->ndense; i++)
    for (int b = 0; b < 8; b++) numbers += (PetscLogDouble)l->dense[i].size[b] * l->dense[i].size[b];
  return numbers * (PetscLogDouble)kern->size;
}

PetscErrorCode MatBoxLocalView(Mat_Box *m, MatBoxLocalType type, PatchFDKernels kern, PetscViewer viewer)
{
  const MatBoxLocal *l    = &m->local[type];
  PetscInt           n[3] = {0, 0, 0};

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++)
    for (PetscInt i = 0; i < l->patches[d].npatch; i++) n[d] = PetscMax(n[d], l->patches[d].n[i]);
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "  %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " patches of %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " unknowns "
                                   "in %" PetscInt_FMT " colours, %.0f bytes of %s\n",
                                   l->patches[0].npatch, l->patches[1].npatch, l->patches[2].npatch, n[0], n[1], n[2], l->ncolor, LocalBytes(l, kern), l->dense ? "inverses and 1D matrices" : "1D matrices"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the whole box ---- */

static void DirectDescribe(const Mat_Box *m, PatchFDBoxSolveDesc *desc)
{
  const DMBoxField *f = &((const DM_Box *)m->dm->data)->field[0];

  for (int d = 0; d < 3; d++) {
    desc->dir[d]    = &m->whole[d];
    desc->first[d]  = f->free[d][0];
    desc->box.lo[d] = 0;
    desc->box.n[d]  = f->line[d].nnodes;
  }
}

PetscErrorCode MatBoxDirectSetUp(Mat_Box *m, PatchFDKernels kern)
{
  const DM_Box       *box = (const DM_Box *)m->dm->data;
  PatchFDBoxSolveDesc desc;

  PetscFunctionBegin;
  if (m->boxsolve[kern->id]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxCheckRegular(m));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, m->dm, 0, 0, 0));
  if (!m->havewhole) {
    for (int d = 0; d < 3; d++) PetscCall(PatchFDLineEigenCreate(&box->field[0].line[d], m->form.M[d], m->form.A[d], &m->whole[d]));
    if (box->halo && !m->natural) PetscCall(DMBoxCreateNaturalSF(m->dm, &m->natural));
    m->havewhole = PETSC_TRUE;
  }
  DirectDescribe(m, &desc);
  if (box->halo) {
    PetscCall(kern->malloc(PatchFDBoxSize(&desc.box), &m->whole_b[kern->id]));
    PetscCall(kern->malloc(PatchFDBoxSize(&desc.box), &m->whole_x[kern->id]));
  }
  PetscCall(kern->boxsolvecreate(&desc, &m->boxsolve[kern->id]));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse problems are small: every rank gathers the right-hand side, solves, and keeps what it owns */
PetscErrorCode MatBoxDirectSolve(Mat_Box *m, PatchFDKernels kern, const void *b, void *x)
{
  const DM_Box       *box = (const DM_Box *)m->dm->data;
  PatchFDBoxSolveDesc desc;
  PatchFDRange        own;
  void               *whole_b = m->whole_b[kern->id], *whole_x = m->whole_x[kern->id];

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  if (box->halo) {
    DirectDescribe(m, &desc);
    DMBoxFreeNodes(&box->field[0], PETSC_FALSE, own);
    PetscCall(PetscSFBcastWithMemTypeBegin(m->natural, kern->datatype(), kern->memtype, b, kern->memtype, whole_b, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(m->natural, kern->datatype(), b, whole_b, MPI_REPLACE));
    PetscCall(kern->boxsolveapply(m->boxsolve[kern->id], whole_b, whole_x));
    PetscCall(kern->copy(own, &desc.box, whole_x, &box->field[0].global, x));
  } else PetscCall(kern->boxsolveapply(m->boxsolve[kern->id], b, x));
  PetscCall(PetscLogEventEnd(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The work of PCREDUNDANT and its factorization, on the host */
PetscErrorCode MatBoxFactorSetUp(Mat A, Mat_Box *m)
{
  Mat assembled;
  PetscFunctionBegin;
  if (m->factors) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxCheckRegular(m));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &assembled));
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), &m->factors));
  PetscCall(PCSetOperators(m->factors, assembled, assembled));
  PetscCall(PCSetType(m->factors, PCREDUNDANT));
  PetscCall(PCSetUp(m->factors));
  PetscCall(MatDestroy(&assembled));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxFactorSolve(Mat_Box *m, Vec b, Vec x)
{
  const PetscScalar *ab;
  PetscScalar       *ax;
  Vec                hb, hx;
  Mat                assembled;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  PetscCall(PCGetOperators(m->factors, NULL, &assembled));
  PetscCall(MatCreateVecs(assembled, &hx, &hb));
  PetscCall(VecGetArrayRead(b, &ab)); /* on the host, in double precision, whatever the type */
  PetscCall(VecGetArrayWrite(x, &ax));
  PetscCall(VecPlaceArray(hb, ab));
  PetscCall(VecPlaceArray(hx, ax));
  PetscCall(PCApply(m->factors, hb, hx));
  PetscCall(VecResetArray(hx));
  PetscCall(VecResetArray(hb));
  PetscCall(VecRestoreArrayWrite(x, &ax));
  PetscCall(VecRestoreArrayRead(b, &ab));
  PetscCall(VecDestroy(&hb));
  PetscCall(VecDestroy(&hx));
  PetscCall(PetscLogEventEnd(PATCHFD_BoxSolve, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- rows of fixed nodes, zero ---- */

PetscErrorCode MatBoxSolveFixed(Mat_Box *m, PatchFDKernels kern, PetscReal omega, const void *b, void *x)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < box->nfield; i++) {
    const DMBoxField *f  = &box->field[i];
    const size_t      at = f->global0 * kern->size;

    PetscCall(kern->fixed(f->own, f->free, 1 - omega, &f->global, (char *)x + at, omega / m->c.identity, &f->global, (const char *)b + at));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxZero(Mat_Box *m, PatchFDKernels kern, void *x)
{
  PetscFunctionBegin;
  PetscCall(kern->zero(((const DM_Box *)m->dm->data)->nglobal, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}
