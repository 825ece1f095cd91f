/*
  The local solvers of an operator on vertex patches: their parts and their set-up.  sweep.c applies them to distributed arrays.
*/
#include <patchfd/private/assembly.h>
#include <patchfd/private/matimpl.h>
#include <patchfd/private/sysimpl.h>

/* ---- set-up ---- */

/*
  A colour is the parity of a patch's first cell in each direction, x fastest, and its phase, where neighbouring patches of one parity are
  coupled.
  Directions with one patch have one parity, and there is a second phase only where a parity has two patches in some direction.  Around a
  ring they alternate, too; where its number of cells is no multiple of their period, the patches that remain are colours of their own
  (sweep.c).
*/
static PetscErrorCode MatBoxMakeColors(DM dm, const MatBoxForm *form, MatBoxLocal *l)
{
  const DM_Box *box = (const DM_Box *)dm->data;
  PetscInt      n[3];

  PetscFunctionBegin;
  l->ncolor = 0;
  l->nphase = 1;
  for (int d = 0; d < 3; d++)
    for (PetscInt f = 0; f < box->nfield; f++)
      if (form->A[f][d]->reach && form->A[f][d]->stride) l->nphase = 2;
  for (int d = 0; d < 3; d++) n[d] = MatBoxLocalLineColors(l, d);
  for (PetscInt c = 0; c < n[0] * n[1] * n[2]; c++) {
    const PetscInt parity[3] = {c % n[0], c / n[0] % n[1], c / n[0] / n[1]};
    PetscBool      second    = MatBoxLocalHasSingles(l);

    for (int d = 0; d < 3; d++) second = (PetscBool)(second || parity[d] + 2 < l->patches[0][d].npatch);
    for (PetscInt phase = 0; phase < (second ? l->nphase : 1); phase++)
      l->color[l->ncolor++] = (PatchFDColor){.parity = {parity[0], parity[1], parity[2]}, .phase = phase};
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool SameLine(const DM_Box *box, PetscInt f, PetscInt g, int d)
{
  const PatchFDLine *a = &box->field[f].line[d], *b = &box->field[g].line[d];

  return (PetscBool)(a->continuity == b->continuity && a->degree == b->degree && a->dirichlet[0] == b->dirichlet[0] &&
                     a->dirichlet[1] == b->dirichlet[1]);
}

/* Terms with the same band in a direction, between fields whose lines are the same there, have the same rows */
static PetscErrorCode LocalNumberRows(const Mat_Box *m, MatBoxLocal *l)
{
  const DM_Box      *box  = (const DM_Box *)m->dm->data;
  const PatchFDTerm *term = m->form.term;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    for (PetscInt t = 0, s; t < m->form.nterm; t++) {
      for (s = 0; s < t; s++)
        if (term[s].dir[d] == term[t].dir[d] && SameLine(box, term[s].row, term[t].row, d) && SameLine(box, term[s].col, term[t].col, d))
          break;
      PetscCheck(s < t || l->nrows < MATBOX_MAX_ROWS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "More than %d rows of bands", MATBOX_MAX_ROWS);
      l->term[t].dir[d] = s < t ? l->term[s].dir[d] : &l->rows[l->nrows++];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the number of the rows that term t has in direction d */
static PetscInt TermRows(const MatBoxLocal *l, PetscInt t, int d)
{
  return (PetscInt)(l->term[t].dir[d] - l->rows);
}

/* and whether no term before it has them */
static PetscBool TermIsFirst(const MatBoxLocal *l, PetscInt t, int d)
{
  for (PetscInt s = 0; s < t; s++)
    if (l->term[s].dir[d] == l->term[t].dir[d]) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* a patch of class c in direction d */
static PetscInt ClassPatch(const MatBoxLocal *l, int d, PetscInt c)
{
  PetscInt i = 0;

  while (l->cls[d][i] != c) i++;
  return i;
}

/* The classes of patches in which no field sees a difference */
static PetscErrorCode LocalClassesCreate(const DM_Box *box, MatBoxLocal *l, int d)
{
  const PetscInt n = l->patches[0][d].npatch;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &l->cls[d]));
  for (PetscInt i = 0; i < n; i++) {
    PetscBool same = (PetscBool)(i > 0);

    for (PetscInt f = 0; f < box->nfield && same; f++) same = (PetscBool)(l->patches[f][d].cls[i] == l->patches[f][d].cls[i - 1]);
    if (!same) l->nclass[d]++;
    l->cls[d][i] = l->nclass[d] - 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residual of the patches, where it is not that of the sum that is diagonalized */
static PetscErrorCode LocalRowsCreate(const Mat_Box *m, MatBoxLocal *l)
{
  const DM_Box *box = (const DM_Box *)m->dm->data;

  PetscFunctionBegin;
  l->nterm = m->form.nterm;
  for (PetscInt t = 0; t < l->nterm; t++) {
    const PatchFDTerm *term = &m->form.term[t];

    l->term[t].row  = term->row;
    l->term[t].col  = term->col;
    l->term[t].coef = term->coef;
    for (int d = 0; d < 3; d++)
      if (TermIsFirst(l, t, d))
        PetscCall(PatchFDRowsCreate(term->dir[d], &box->field[term->row].line[d], &l->patches[term->row][d], &box->field[term->col].line[d],
                                    &l->patches[term->col][d], &l->rows[TermRows(l, t, d)]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrices of the classes of patches of one direction, X[class * nrows + number of the rows]: the columns for the patches' own nodes */
typedef struct {
  PetscReal **X;
} DirectionMatrices;

static PetscErrorCode DirectionMatricesCreate(const DM_Box *box, const MatBoxLocal *l, int d, DirectionMatrices *x)
{
  const PetscInt count = l->nclass[d] * l->nrows;
  PetscReal     *data;
  size_t         size = 0;

  PetscFunctionBegin;
  for (PetscInt f = 0; f < box->nfield; f++)
    for (PetscInt i = 0; i < l->patches[f][d].npatch; i++) size = PetscMax(size, (size_t)l->patches[f][d].n[i]);
  PetscCall(PetscMalloc1(count, &x->X));
  PetscCall(PetscMalloc1((size_t)count * size * size, &data));
  for (PetscInt i = 0; i < count; i++) x->X[i] = data + (size_t)i * size * size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DirectionMatricesDestroy(DirectionMatrices *x)
{
  PetscFunctionBegin;
  if (x->X) PetscCall(PetscFree(x->X[0]));
  PetscCall(PetscFree(x->X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* those that the patches have in the mesh, whose rows are there */
static PetscErrorCode DirectionMatricesFill(const MatBoxForm *form, const MatBoxLocal *l, int d, DirectionMatrices *x)
{
  PetscFunctionBegin;
  for (PetscInt c = 0; c < l->nclass[d]; c++) {
    const PetscInt i = ClassPatch(l, d, c);

    for (PetscInt t = 0; t < form->nterm; t++)
      if (TermIsFirst(l, t, d))
        PetscCall(PatchFDRowsBlock(l->term[t].dir[d], l->patches[form->term[t].row][d].n[i], l->patches[form->term[t].col][d].n[i], i,
                                   x->X[c * l->nrows + TermRows(l, t, d)]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* those of class c, a patch that is all of a line; `form` has the terms of the mesh with bands of the fields' lines `line`, whose covers
   are that one patch */
static PetscErrorCode DirectionMatricesFillAlone(const MatBoxForm *form, const MatBoxLocal *l, PatchFDLine *const line[],
                                                 const PatchFDPatches one[], int d, PetscInt c, DirectionMatrices *x)
{
  PetscFunctionBegin;
  for (PetscInt t = 0; t < form->nterm; t++) {
    const PatchFDTerm *term = &form->term[t];
    PatchFDRows        rows;

    if (!TermIsFirst(l, t, d)) continue;
    PetscCall(PatchFDRowsCreate(term->dir[d], line[term->row], &one[term->row], line[term->col], &one[term->col], &rows));
    PetscCall(PatchFDRowsBlock(&rows, one[term->row].n[0], one[term->col].n[0], 0, x->X[c * l->nrows + TermRows(l, t, d)]));
    PetscCall(PatchFDRowsDestroy(&rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The lines of a mesh that is a patch of class c in direction d: with its cells in all directions, since only the bands of direction d are
  looked at.  A field has in direction e the kind of line that some field has in direction d.
*/
static void LinesAlone(DM dm, const PatchFDLinesAlone alone[], PetscInt c, int d, PatchFDLine line[][3])
{
  const DM_Box *box = (const DM_Box *)dm->data;

  for (PetscInt f = 0; f < box->nfield; f++) {
    for (int e = 0; e < 3; e++) {
      PetscInt g = f;

      line[f][e] = box->field[f].line[e];
      for (PetscInt i = 0; i < box->nfield && e != d; i++)
        if (box->field[i].line[d].continuity == line[f][e].continuity && box->field[i].line[d].degree == line[f][e].degree) g = i;
      if ((e < dm->dim && d < dm->dim) || e == d) line[f][e] = alone[g].line[c];
    }
  }
}

/* Patches of direction d with the matrices of meshes of their own */
static PetscErrorCode LocalPatchesAlone(const Mat_Box *m, MatBoxLocal *l, int d, PetscBool dense, DirectionMatrices *x)
{
  const DM_Box     *box = (const DM_Box *)m->dm->data;
  PatchFDLinesAlone alone[DMBOX_MAX_FIELDS];
  PatchFDEigen     *eigen[DMBOX_MAX_FIELDS];

  PetscFunctionBegin;
  for (PetscInt f = 0; f < box->nfield; f++) {
    PetscCall(PatchFDLinesAloneCreate(&box->field[f].line[d], m->form.M[f][d], &alone[f]));
    PetscCall(PetscCalloc1(alone[f].nclass, &eigen[f]));
    PetscCall(PatchFDPatchesCreateAlone(&box->field[f].line[d], &alone[f], eigen[f], &l->patches[f][d]));
  }
  PetscCall(LocalClassesCreate(box, l, d));
  if (dense) PetscCall(DirectionMatricesCreate(box, l, d, x));
  for (PetscInt c = 0; c < alone[0].nclass; c++) {
    MatBoxForm     form = {.nband = 0};
    PatchFDLine    line[DMBOX_MAX_FIELDS][3], *own[DMBOX_MAX_FIELDS];
    PatchFDPatches one[DMBOX_MAX_FIELDS];

    LinesAlone(m->dm, alone, c, d, line);
    PetscCall((*box->op->ops.form)(m->dm, box->op, m->c.operator,(const PatchFDLine(*)[3]) line, &form));
    for (PetscInt f = 0; f < box->nfield; f++) {
      own[f] = &line[f][d];
      PetscCall(PatchFDPatchesCreate(own[f], form.M[f][d], form.A[f][d], &one[f]));
    }
    if (dense) PetscCall(DirectionMatricesFillAlone(&form, l, own, one, d, c, x));
    for (PetscInt f = 0; f < box->nfield; f++) {
      l->patches[f][d].eigen[c] = one[f].eigen[0];
      PetscCall(PetscMemzero(&one[f].eigen[0], sizeof(one[f].eigen[0])));
      PetscCall(PatchFDPatchesDestroy(&one[f]));
    }
    PetscCall(MatBoxFormDestroy(&form));
  }
  for (PetscInt f = 0; f < box->nfield; f++) {
    PetscCall(PetscFree(eigen[f]));
    PetscCall(PatchFDLinesAloneDestroy(&alone[f]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the matrices of the terms in the patch class (c[0], c[1], c[2]), and what is known of its inverse */
static void DenseDescribe(const Mat_Box *m, const MatBoxLocal *l, const DirectionMatrices x[3], const PetscInt c[3],
                          PatchFDMatrixTerm term[], PatchFDDense *dense)
{
  const MatBoxForm *form = &m->form;

  dense->nfield = ((const DM_Box *)m->dm->data)->nfield;
  for (int d = 0; d < 3; d++) {
    const PetscInt i = ClassPatch(l, d, c[d]);

    for (PetscInt f = 0; f < dense->nfield; f++) {
      dense->n[f][d]   = l->patches[f][d].n[i];
      dense->odd[f][d] = form->odd[f][d];
    }
    for (PetscInt t = 0; t < form->nterm; t++) term[t].X[d] = x[d].X[c[d] * l->nrows + TermRows(l, t, d)];
  }
  for (PetscInt t = 0; t < form->nterm; t++) {
    term[t].row  = form->term[t].row;
    term[t].col  = form->term[t].col;
    term[t].coef = form->term[t].coef;
  }
}

static PetscErrorCode LocalDenseCreate(const Mat_Box *m, MatBoxLocal *l, const DirectionMatrices x[3])
{
  const PetscLogDouble limit = 8.0 * 1073741824.0;
  const PetscInt      *n     = l->nclass;
  PatchFDMatrixTerm    term[MATBOX_MAX_TERMS];
  PetscLogDouble       bytes = 0;

  PetscFunctionBegin;
  l->ndense = n[0] * n[1] * n[2];
  PetscCall(PetscCalloc1(l->ndense, &l->dense));
  for (int create = 0; create < 2; create++) {
    for (PetscInt i = 0; i < l->ndense; i++) {
      const PetscInt c[3]    = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
      PetscBool      regular = PETSC_TRUE;

      DenseDescribe(m, l, x, c, term, &l->dense[i]);
      if (create) PetscCall(PatchFDHostDenseCreate(m->form.nterm, term, m->form.spd, m->form.constants, &l->dense[i], &regular));
      else {
        PetscCall(PatchFDHostDenseParity(m->form.nterm, term, &l->dense[i]));
        bytes += 8.0 * (PetscLogDouble)PatchFDHostDenseSizes(&l->dense[i]);
      }
      if (!regular && !l->singular)
        PetscCall(PetscInfo(m->dm,
                            "The matrix of a patch is %s: too small a penalty (-dm_box_penalty), or a negative shift (-dm_box_shift)\n",
                            m->form.spd ? "not positive definite" : "singular"));
      l->singular = (PetscBool)(l->singular || !regular);
    }
    PetscCheck(bytes <= limit, PetscObjectComm((PetscObject)m->dm), PETSC_ERR_MEM,
               "-pc_patchfd_local dense: the inverses of %" PetscInt_FMT
               " classes of patches take %.3g GiB; allowed are %g. A uniform mesh has one class, %s needs little",
               l->ndense, bytes / 1073741824.0, limit / 1073741824.0,
               MatBoxIsSaddlePoint(m) ? "-pc_patchfd_local schur" : "-pc_patchfd_local fd or fd_inexact");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LocalCreate(const Mat_Box *m, MatBoxLocalType type, MatBoxLocal *l)
{
  const DM_Box   *box        = (const DM_Box *)m->dm->data;
  const PetscBool alone      = (PetscBool)(type == MATBOX_LOCAL_FD_ALONE || type == MATBOX_LOCAL_DENSE_ALONE ||
                                      type == MATBOX_LOCAL_SCHUR_ALONE),
                  whole      = (PetscBool)(type == MATBOX_LOCAL_WHOLE);
  const PetscBool   dense    = (PetscBool)(whole || type == MATBOX_LOCAL_DENSE || type == MATBOX_LOCAL_DENSE_ALONE);
  const PetscBool   weighted = (PetscBool)(m->form.points && type == MATBOX_LOCAL_FD);
  const MatBoxForm *form     = weighted ? &l->weighted : &m->form;
  DirectionMatrices x[3]     = {{NULL}, {NULL}, {NULL}};

  PetscFunctionBegin;
  PetscCall(LocalNumberRows(m, l));
  if (weighted) PetscCall(MatBoxFormCreate(m, PETSC_TRUE, &l->weighted));
  for (int d = 0; d < 3; d++) {
    if (alone) PetscCall(LocalPatchesAlone(m, l, d, dense, &x[d]));
    else {
      for (PetscInt f = 0; f < box->nfield; f++) {
        if (whole) PetscCall(PatchFDPatchesCreateWhole(&box->field[f].line[d], &l->patches[f][d]));
        else PetscCall(PatchFDPatchesCreate(&box->field[f].line[d], form->M[f][d], form->A[f][d], &l->patches[f][d]));
      }
      PetscCall(LocalClassesCreate(box, l, d));
    }
  }
  if (m->form.points) {
    if (dense) {
      PetscCall(LocalRowsCreate(m, l)); /* of constants: nobody asks for residuals by them */
      PetscCall(MatBoxPointsClasses(m, l));
    }
    PetscCall(MatBoxMakeColors(m->dm, &m->form, l));
    l->havepatches = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (dense || alone || !m->form.separable) PetscCall(LocalRowsCreate(m, l));
  for (int d = 0; d < 3 && dense && !alone; d++) {
    PetscCall(DirectionMatricesCreate(box, l, d, &x[d]));
    PetscCall(DirectionMatricesFill(&m->form, l, d, &x[d]));
  }
  if (dense) PetscCall(LocalDenseCreate(m, l, x));
  for (int d = 0; d < 3; d++) PetscCall(DirectionMatricesDestroy(&x[d]));
  PetscCall(MatBoxMakeColors(m->dm, &m->form, l));
  l->havepatches = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool LocalRuleIs(const MatBoxLocalRule *a, const MatBoxLocalRule *b)
{
  const PatchFDFitRule *f = &a->fit, *g = &b->fit;

  if (a->type != b->type || a->rtol != b->rtol || a->maxit != b->maxit || f->lanczos != g->lanczos || f->maxsteps != g->maxsteps)
    return PETSC_FALSE;
  return (PetscBool)(f->reduction == g->reduction && f->stable == g->stable && f->exact == g->exact && f->rows == g->rows &&
                     f->packed == g->packed);
}

PetscErrorCode MatBoxLocalGet(Mat_Box *m, const MatBoxLocalRule *rule, MatBoxLocal **local)
{
  MatBoxLocal *l = m->locals;

  PetscFunctionBegin;
  while (l && !LocalRuleIs(&l->rule, rule)) l = l->next;
  if (!l) {
    PetscCall(PetscNew(&l));
    l->rule   = *rule;
    l->m      = m;
    l->next   = m->locals;
    m->locals = l;
    m->holders++;
  }
  l->refct++;
  *local = l;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatBoxLocalRelease(MatBoxLocal **local)
{
  MatBoxLocal *l = *local, **at;

  PetscFunctionBegin;
  *local = NULL;
  if (!l || --l->refct) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++)
    for (int p = 0; p < PATCHFD_NUM_PRECISIONS && PatchFDKernelTables[i]; p++)
      PetscCall(PatchFDKernelTables[i]->localdestroy(&l->plan[i][p]));
  for (int i = 0; i < PATCHFD_NUM_KERNELS; i++) {
    PetscCall(MatBoxFitDestroy(PatchFDKernelTables[i], &l->fit[i]));
    PetscCall(VecDestroy(&l->scaling[i]));
  }
  for (int d = 0; d < 3; d++) {
    for (int f = 0; f < DMBOX_MAX_FIELDS; f++) PetscCall(PatchFDPatchesDestroy(&l->patches[f][d]));
    PetscCall(PetscFree(l->cls[d]));
  }
  for (PetscInt b = 0; b < l->nrows; b++) PetscCall(PatchFDRowsDestroy(&l->rows[b]));
  for (PetscInt i = 0; i < l->ndense; i++) PetscCall(PatchFDHostDenseDestroy(&l->dense[i]));
  PetscCall(PetscFree(l->dense));
  PetscCall(MatBoxFormDestroy(&l->weighted));
  for (at = &l->m->locals; *at != l;) at = &(*at)->next;
  *at = l->next;
  PetscCall(MatBoxRelease(&l->m));
  PetscCall(PetscFree(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const char *MatBoxLocalKernels(const MatBoxLocal *l, PatchFDKernels kern, PatchFDPrecision precision)
{
  void *plan = l->plan[kern->id][precision];

  return kern->localname && plan ? kern->localname(plan) : NULL;
}

/* a field in the patches of a plan.  Around a ring all nodes of its line exist */
static void LocalFieldDescribe(const MatBoxLocal *l, PetscInt f, PetscBool wraps, PatchFDLocalField *p)
{
  const DMBoxField *field = &((const DM_Box *)l->m->dm->data)->field[f];

  *p = (PatchFDLocalField){.dir = {&l->patches[f][0], &l->patches[f][1], &l->patches[f][2]},
                           .box = wraps ? field->global : field->local,
                           .x0  = wraps ? field->global0 : field->local0};
  DMBoxFreeNodes(field, (PetscBool)!wraps, p->read);
  for (int d = 0; d < 3; d++)
    if (wraps && field->line[d].turn) PatchFDLineFree(&field->line[d], &p->read[d][0], &p->read[d][1]);
}

PetscErrorCode MatBoxLocalSetUp(MatBoxLocal *l, PatchFDKernels kern, PatchFDPrecision precision)
{
  const MatBoxLocalType type = l->rule.type;
  Mat_Box              *m    = l->m;
  const DM_Box         *box  = (const DM_Box *)m->dm->data;
  const PetscBool       ring = DMBoxIsAround(box);
  PatchFDLocalDesc      desc;

  PetscFunctionBegin;
  if (l->plan[kern->id][precision] || l->fit[kern->id]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatBoxCheckRegular(m));
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, m->dm, 0, 0, 0));
  if (!l->havepatches) PetscCall(LocalCreate(m, type, l));
  if (type == MATBOX_LOCAL_OWN || type == MATBOX_LOCAL_SHARED) {
    PetscBool regular;

    PetscCall(MatBoxFitSetUp(m, l, (PetscBool)(type == MATBOX_LOCAL_SHARED), kern, &l->fit[kern->id], &regular));
    l->singular = (PetscBool)(l->singular || !regular);
    PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt f = 0; f < box->nfield; f++)
    for (int wraps = 0; wraps <= (int)ring; wraps++) LocalFieldDescribe(l, f, (PetscBool)wraps, &l->field[wraps][f]);
  desc = (PatchFDLocalDesc){.kind      = PATCHFD_LOCAL_FD,
                            .rtol      = l->rule.rtol,
                            .maxit     = l->rule.maxit,
                            .nphase    = l->nphase,
                            .nfield    = box->nfield,
                            .field     = l->field[0],
                            .dense     = l->dense,
                            .precision = precision,
                            .nterm     = l->nterm,
                            .term      = l->term};
  if (l->dense) desc.kind = PATCHFD_LOCAL_DENSE;
  if (type == MATBOX_LOCAL_SCHUR || type == MATBOX_LOCAL_SCHUR_ALONE) desc.kind = PATCHFD_LOCAL_SCHUR;
  for (int d = 0; d < 3; d++) {
    desc.nclass[d] = l->nclass[d];
    desc.cls[d]    = l->cls[d];
  }
  l->wraps[kern->id] = (PetscBool)(ring && kern->localrings(&desc));
  if (l->wraps[kern->id]) desc.field = l->field[1];
  if (m->form.points && l->dense) PetscCall(MatBoxPointsLocalCreate(m, l, kern, &desc, &l->plan[kern->id][precision]));
  else PetscCall(kern->localcreate(&desc, &l->plan[kern->id][precision]));
  PetscCall(DMBoxInfoKernels(m->dm, kern, "patches", MatBoxLocalKernels(l, kern, precision)));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, m->dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On four cells in each direction every patch may hold all of a jump that crosses in it, which matrices that are fitted do not have */
static PetscBool LocalIsSmall(const Mat_Box *m)
{
  const DM_Box  *box  = (const DM_Box *)m->dm->data;
  const PetscInt high = m->dm->dim == 3 ? 4 : 8;

  for (PetscInt d = 0; d < m->dm->dim; d++)
    if (box->cells[d] > 4) return PETSC_FALSE;
  return (PetscBool)(box->degree <= high);
}

/*
  Without their couplings the components of a vector field are not worth solving with (Numerics of elasticity: twice the iterations and
  more).  Graded meshes have too many inverses.  On a GPU small ones are bound by memory, and fast diagonalization takes a quarter of their
  time, while it needs about as many iterations at low degrees.
*/
PetscBool MatBoxLocalIsDenseBest(const Mat_Box *m, PatchFDKernels kern)
{
  const PetscInt low = m->dm->dim == 3 ? 3 : 2;

  if (MatBoxIsCoupled(m)) return PETSC_TRUE;
  if (m->form.points) return LocalIsSmall(m);
  for (int d = 0; d < 3; d++)
    for (PetscInt c = 1; c < m->form.M[0][d]->ncells; c++)
      if (m->form.M[0][d]->cls[c] != m->form.M[0][d]->cls[0]) return PETSC_FALSE;
  return (PetscBool)(MatBoxIsSaddlePoint(m) || PetscMemTypeHost(kern->memtype) || m->form.M[0][0]->nloc - 1 > low);
}

/* From degree 6 on the patches' matrices are too badly conditioned for 11 bits, and products in single precision take as long as those in
   double */
PatchFDPrecision MatBoxLocalBestPrecision(const Mat_Box *m, PatchFDKernels kern)
{
  const PetscInt high = 5;

  return PetscMemTypeHost(kern->memtype) || MatBoxIsCoupled(m) || m->form.M[0][0]->nloc - 1 > high ? PATCHFD_PRECISION_DOUBLE
                                                                                                   : PATCHFD_PRECISION_TF32;
}

PetscInt MatBoxLocalColors(const MatBoxLocal *l, PetscBool residual, PatchFDColor colors[])
{
  PetscInt n = 0;

  for (PetscInt i = 0; i < l->ncolor; i++) {
    if (!l->nterm || !residual) colors[n++] = l->color[i];
    else if (l->color[i].phase == 0) {
      colors[n]         = l->color[i];
      colors[n++].phase = PATCHFD_ALL_PHASES;
    }
  }
  return n;
}

PetscBool MatBoxLocalHasTerms(const MatBoxLocal *l)
{
  return (PetscBool)(l->nterm > 0);
}

/* matrices and vectors of all classes of patches, in the kernels' precision */
PetscLogDouble MatBoxLocalBytes(const MatBoxLocal *l, PatchFDKernels kern)
{
  PetscLogDouble numbers = 0;

  if (l->fit[kern->id]) return MatBoxFitBytes(l, kern);
  for (int f = 0; f < DMBOX_MAX_FIELDS; f++) {
    for (int d = 0; d < 3; d++) {
      for (PetscInt c = 0; c < l->patches[f][d].nclass && !l->dense; c++) {
        const PetscLogDouble n = l->patches[f][d].eigen[c].n, ext = l->patches[f][d].eigen[c].ext;

        numbers += 3 * n * n + 2 * n * (n + 2 * ext) + 5 * n;
      }
    }
  }
  for (PetscInt b = 0; b < l->nrows; b++)
    if (l->rows[b].X) numbers += (PetscLogDouble)l->rows[b].at[l->rows[b].nclass];
  for (PetscInt i = 0; i < l->ndense; i++)
    for (int b = 0; b < 8; b++) numbers += (PetscLogDouble)l->dense[i].size[b] * l->dense[i].size[b];
  return numbers * (PetscLogDouble)kern->size;
}

PetscErrorCode MatBoxLocalView(const MatBoxLocal *l, PatchFDKernels kern, PetscViewer viewer)
{
  const DM_Box *box = (const DM_Box *)l->m->dm->data;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " patches of ",
                                   l->patches[0][0].npatch, l->patches[0][1].npatch, l->patches[0][2].npatch));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  for (PetscInt f = 0; f < box->nfield; f++) {
    PetscInt n[3] = {0, 0, 0};

    for (int d = 0; d < 3; d++)
      for (PetscInt i = 0; i < l->patches[f][d].npatch; i++) n[d] = PetscMax(n[d], l->patches[f][d].n[i]);
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s%" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT, f ? ", " : "", n[0], n[1], n[2]));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, " unknowns in %" PetscInt_FMT " colours", l->ncolor));
  if (!l->fit[kern->id])
    PetscCall(PetscViewerASCIIPrintf(viewer, ", %.0f bytes of %s", MatBoxLocalBytes(l, kern),
                                     l->dense ? "inverses and 1D matrices" : "1D matrices"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (l->fit[kern->id]) PetscCall(MatBoxFitView(l->m, l, kern, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
